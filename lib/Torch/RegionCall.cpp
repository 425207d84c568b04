//===- RegionCall.cpp - A row program as a function of Python -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the code that Inductor generates calls for a region, in the place of the
// operator lnbwd::_region (python/lnbwd/inductor/lowering.py). The outputs are
// the caller's, types and shapes were settled when the graph was compiled: what
// is left is to ask each tensor for its address and to launch. No dispatcher,
// no lists, no text in a call.
//
// In Python's stable interface of 3.10 and later, whose symbols the process has
// that loads this library.
//
//===----------------------------------------------------------------------===//

#define Py_LIMITED_API 0x030a0000
#include <Python.h>

#include "TensorLaunch.h"

#include <exception>

using namespace lnbwd::torch_operators;

namespace {

struct ObjectDeleter {
  void operator()(PyObject *object) const { Py_DECREF(object); }
};
/// A reference that is owned.
using Object = std::unique_ptr<PyObject, ObjectDeleter>;

/// A row program for tensors on one device.
struct RegionCall {
  std::string text;
  Device device;
  /// Found once it is loaded, and again where another chip is simulated.
  const RowProgram *program = nullptr;
  int32_t foundFor = 0;
};

/// Other threads of Python run while it lives.
class WithoutInterpreterLock {
public:
  WithoutInterpreterLock() : state(PyEval_SaveThread()) {}
  WithoutInterpreterLock(const WithoutInterpreterLock &) = delete;
  WithoutInterpreterLock &operator=(const WithoutInterpreterLock &) = delete;
  ~WithoutInterpreterLock() { PyEval_RestoreThread(state); }

private:
  PyThreadState *state;
};

} // namespace

static constexpr const char *kCapsuleName = "lnbwd.RegionCall";

/// Asks a tensor for its address; false: Python has an exception.
static bool addressOf(PyObject *tensor, void *&address) {
  static PyObject *const method = PyUnicode_InternFromString("data_ptr");
  Object number(PyObject_CallMethodObjArgs(tensor, method, nullptr));
  if (!number)
    return false;
  address = PyLong_AsVoidPtr(number.get());
  return address || !PyErr_Occurred();
}

static const RowProgram *find(RegionCall &call) {
  int32_t number = call.device.isGPU() ? call.device.index : simulatedDevice();
  if (!call.program || call.foundFor != number) {
    call.program = lookUpProgram(call.text, number);
    call.foundFor = number;
  }
  return call.program;
}

/// Has Python do what is not done here, or say what is wrong.
static PyObject *callInPython(const RegionCall &call,
                              PyObject *const *arguments, Py_ssize_t count) {
  Object module(PyImport_ImportModule("lnbwd.regions_op"));
  Object function(module
                      ? PyObject_GetAttrString(module.get(), "call_in_python")
                      : nullptr);
  Object list(function ? PyTuple_New(1 + count) : nullptr);
  PyObject *text = list ? PyUnicode_FromString(call.text.c_str()) : nullptr;
  if (!text)
    return nullptr;
  PyTuple_SetItem(list.get(), 0, text);
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_INCREF(arguments[i]);
    PyTuple_SetItem(list.get(), 1 + i, arguments[i]);
  }
  return PyObject_CallObject(function.get(), list.get());
}

/// (rows, *inputs, *outputs) -> None, with the number of groups behind that of
/// rows where the program has such.
static PyObject *callRegion(PyObject *self, PyObject *const *arguments,
                            Py_ssize_t count) {
  auto *call =
      static_cast<RegionCall *>(PyCapsule_GetPointer(self, kCapsuleName));
  if (!call)
    return nullptr;
  try {
    const RowProgram *program = find(*call);
    size_t numbers = program && program->hasGroups() ? 2 : 1;
    if (!program || static_cast<size_t>(count) != numbers +
                                                      program->inputs.size() +
                                                      program->outputs.size())
      return callInPython(*call, arguments, count);
    int64_t sizes[] = {0, 1}; // M and B
    for (size_t i = 0; i < numbers; ++i) {
      sizes[i] = PyLong_AsLongLong(arguments[i]);
      if (sizes[i] == -1 && PyErr_Occurred())
        return nullptr;
    }
    std::vector<void *> addresses(static_cast<size_t>(count) - numbers);
    for (size_t i = 0; i < addresses.size(); ++i) {
      if (!addressOf(arguments[numbers + i], addresses[i]))
        return nullptr;
      // A view into the middle of another tensor. Numbers may be one.
      if (!isAligned(addresses[i]) &&
          !(i < program->inputs.size() && program->inputs[i].isNumber()))
        return callInPython(*call, arguments, count);
    }
    WithoutInterpreterLock unlocked;
    launch(*program, sizes[0], addresses, call->device, sizes[1]);
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
  Py_RETURN_NONE;
}

static void deleteCall(PyObject *capsule) {
  delete static_cast<RegionCall *>(PyCapsule_GetPointer(capsule, kCapsuleName));
}

/// Gives the function for a row program on a device, of which nothing is loaded
/// yet; null: Python has an exception. The interpreter's lock is held.
extern "C" __attribute__((visibility("default"))) PyObject *
lnbwd_torch_region_call(const char *text, int32_t is_gpu, int32_t index) {
  static PyMethodDef method = {
      "region_call",
      reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(callRegion)),
      METH_FASTCALL, "Runs a row program: (rows, *inputs, *outputs) -> None."};
  Device device{is_gpu ? aoti_torch_device_type_cuda()
                       : aoti_torch_device_type_cpu(),
                index};
  auto call = std::make_unique<RegionCall>(RegionCall{text, device});
  Object capsule(PyCapsule_New(call.get(), kCapsuleName, deleteCall));
  if (!capsule)
    return nullptr;
  call.release();
  return PyCFunction_New(&method, capsule.get());
}
