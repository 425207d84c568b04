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
  /// Found by the first call, and again where another chip is simulated.
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

static const RowProgram &find(RegionCall &call) {
  int32_t number = call.device.isGPU() ? call.device.index : simulatedDevice();
  if (!call.program || call.foundFor != number) {
    call.program = &findProgram(call.text, number);
    call.foundFor = number;
  }
  return *call.program;
}

/// Has PyTorch's operations compute the region, for which there is no kernel:
/// `arguments` are the tensors.
static PyObject *computeByTorch(const RegionCall &call,
                                PyObject *const *arguments, Py_ssize_t count) {
  Object module(PyImport_ImportModule("lnbwd.regions_op"));
  Object function(module
                      ? PyObject_GetAttrString(module.get(), "compute_by_torch")
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

/// Reads a number; false: Python has an exception.
static bool readNumber(PyObject *object, int64_t &number) {
  number = PyLong_AsLongLong(object);
  return number != -1 || !PyErr_Occurred();
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
    const RowProgram &program = find(*call);
    size_t inputs = program.inputs.size();
    size_t tensors = inputs + program.outputs.size();
    size_t numbers = program.hasGroups() ? 2 : 1;
    if (static_cast<size_t>(count) != numbers + tensors) {
      PyErr_Format(
          PyExc_TypeError,
          "lnbwd: a region's call: expected the %s, %zu inputs and %zu "
          "outputs, got %zd arguments",
          numbers == 2 ? "numbers of rows and groups" : "number of rows",
          inputs, tensors - inputs, count);
      return nullptr;
    }
    if (program.isByTorch)
      return computeByTorch(*call, arguments + numbers,
                            static_cast<Py_ssize_t>(tensors));
    int64_t rows = 0, groups = 1;
    if (!readNumber(arguments[0], rows) ||
        (numbers == 2 && !readNumber(arguments[1], groups)))
      return nullptr;
    std::vector<void *> addresses(tensors);
    std::vector<Object> copies;
    for (size_t i = 0; i < tensors; ++i) {
      PyObject *tensor = arguments[numbers + i];
      if (!addressOf(tensor, addresses[i]))
        return nullptr;
      if (isAligned(addresses[i]))
        continue;
      if (i >= inputs) {
        PyErr_SetString(PyExc_ValueError,
                        "lnbwd: a region's call: expected outputs at addresses "
                        "that are multiples of 16");
        return nullptr;
      }
      // A view into the middle of another tensor: a copy is where kernels
      // take it.
      copies.emplace_back(PyObject_CallMethod(tensor, "clone", nullptr));
      if (!copies.back() || !addressOf(copies.back().get(), addresses[i]))
        return nullptr;
    }
    WithoutInterpreterLock unlocked;
    launch(program.kernel, rows, addresses, call->device, groups);
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
