//===- RegionCall.cpp - A row program as a function of Python -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the code that Inductor generates, and what row functions call for a row
// program, in the place of the operator lnbwd::_region (python/lnbwd/inductor/
// scheduling.py, python/lnbwd/ops/regions.py). Types and shapes were settled
// before: what is left is to make outputs, if the caller has none, to ask each
// tensor for its address, to compare the order of its memory with the declared
// one (ops/launching.py, memory_of, does the same in Python) and to launch. No
// dispatcher, no lists, no text in a call.
//
// In Python's stable interface of 3.10 and later, whose symbols the process has
// that loads this library.
//
//===----------------------------------------------------------------------===//

#define Py_LIMITED_API 0x030a0000
#include <Python.h>

#include "KernelTable.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <numeric>

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
  Object inPython;
  Device device;
  /// The dimensions of each tensor from the outermost in memory to the
  /// innermost; empty: it is row-major. No entries: all are.
  std::vector<std::vector<Py_ssize_t>> orders;
  /// Found once it is loaded, and again where another chip is simulated, or the
  /// order of additions is another.
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

/// The value of an attribute, or the result of a method without arguments.
static Object getTuple(PyObject *tensor, const char *name, bool isMethod) {
  Object found(PyObject_GetAttrString(tensor, name));
  if (found && isMethod)
    found.reset(PyObject_CallNoArgs(found.get()));
  return found;
}

/// Whether a tensor has no gaps and its dimensions lie in an order; below 0:
/// Python has an exception.
static int hasOrder(PyObject *tensor, const std::vector<Py_ssize_t> &order) {
  if (order.empty()) {
    static PyObject *const method = PyUnicode_InternFromString("is_contiguous");
    Object answer(PyObject_CallMethodObjArgs(tensor, method, nullptr));
    return answer ? answer.get() == Py_True : -1;
  }
  Object sizes = getTuple(tensor, "shape", /*isMethod=*/false);
  Object strides =
      sizes ? getTuple(tensor, "stride", /*isMethod=*/true) : nullptr;
  if (!strides)
    return -1;
  const auto rank = static_cast<Py_ssize_t>(order.size());
  if (PyTuple_Size(sizes.get()) != rank || PyTuple_Size(strides.get()) != rank)
    return 0;
  bool isDense = true;
  long long expected = 1;
  for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
    long long size = PyLong_AsLongLong(PyTuple_GetItem(sizes.get(), *dim));
    if (size == 0)
      return 1;
    if (size != 1)
      isDense &=
          PyLong_AsLongLong(PyTuple_GetItem(strides.get(), *dim)) == expected;
    expected *= size;
  }
  return PyErr_Occurred() ? -1 : isDense;
}

static const RowProgram *find(RegionCall &call) {
  int32_t place = findPlace(call.device.number());
  if (!call.program || call.foundFor != place) {
    call.program = lookUpProgram(call.text, place);
    call.foundFor = place;
  }
  return call.program;
}

static PyObject *callInPython(const RegionCall &call,
                              PyObject *const *arguments, Py_ssize_t count) {
  Object list(PyTuple_New(count));
  for (Py_ssize_t i = 0; list && i < count; ++i) {
    Py_INCREF(arguments[i]);
    PyTuple_SetItem(list.get(), i, arguments[i]);
  }
  return list ? PyObject_CallObject(call.inPython.get(), list.get()) : nullptr;
}

/// What makes tensors of handles, which AOTInductor's wrappers call; null: this
/// PyTorch has none.
static PyObject *findTensorMaker() {
  static PyObject *const maker = [] {
    Object torch(PyImport_ImportModule("torch._C._aoti"));
    PyObject *found =
        torch ? PyObject_GetAttrString(
                    torch.get(), "alloc_tensors_by_stealing_from_void_ptrs")
              : nullptr;
    if (!found)
      PyErr_Clear();
    return found;
  }();
  return maker;
}

/// Gives tensors to Python; null: Python has an exception.
static PyObject *giveToPython(std::vector<Tensor> tensors) {
  Object handles(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; handles && i < tensors.size(); ++i) {
    PyObject *handle = PyCapsule_New(tensors[i].get(), nullptr, nullptr);
    if (!handle)
      return nullptr;
    PyList_SetItem(handles.get(), static_cast<Py_ssize_t>(i), handle);
  }
  if (!handles)
    return nullptr;
  for (Tensor &tensor : tensors)
    tensor.release();
  return PyObject_CallFunctionObjArgs(findTensorMaker(), handles.get(),
                                      nullptr);
}

/// Reads whole numbers, one or a tuple of them; false: Python has an exception.
static bool readNumbers(PyObject *argument, std::vector<int64_t> &numbers) {
  const bool isTuple = PyTuple_Check(argument);
  const Py_ssize_t count = isTuple ? PyTuple_Size(argument) : 1;
  for (Py_ssize_t i = 0; i < count; ++i) {
    numbers.push_back(
        PyLong_AsLongLong(isTuple ? PyTuple_GetItem(argument, i) : argument));
    if (numbers.back() == -1 && PyErr_Occurred())
      return false;
  }
  return true;
}

/// (rows, *inputs, *outputs) -> None, with the number of groups behind that of
/// rows where the program has such; without them (rows, *inputs) -> outputs.
/// With the dimensions of the rows for their number, these outputs have them,
/// and those without columns have one of size 1 in the place of columns.
static PyObject *callRegion(PyObject *self, PyObject *const *arguments,
                            Py_ssize_t count) {
  auto *call =
      static_cast<RegionCall *>(PyCapsule_GetPointer(self, kCapsuleName));
  if (!call)
    return nullptr;
  try {
    const RowProgram *program = find(*call);
    size_t numbers = program && program->hasGroups() ? 2 : 1;
    size_t given = static_cast<size_t>(count) - numbers;
    bool isWhole =
        program && given == program->inputs.size() + program->outputs.size();
    bool makesOutputs = program && numbers == 1 &&
                        given == program->inputs.size() && findTensorMaker();
    if (!isWhole && !makesOutputs)
      return callInPython(*call, arguments, count);
    std::vector<int64_t> dims;
    std::vector<int64_t> groups;
    if (!readNumbers(arguments[0], dims) ||
        (numbers == 2 && !readNumbers(arguments[1], groups)))
      return nullptr;
    const int64_t rows = std::accumulate(dims.begin(), dims.end(), int64_t(1),
                                         std::multiplies<>());
    std::vector<void *> addresses(program->inputs.size() +
                                  program->outputs.size());
    for (size_t i = 0; i < given; ++i) {
      if (!addressOf(arguments[numbers + i], addresses[i]))
        return nullptr;
      static const std::vector<Py_ssize_t> rowMajor;
      const int isDeclared =
          hasOrder(arguments[numbers + i],
                   i < call->orders.size() ? call->orders[i] : rowMajor);
      if (isDeclared < 0)
        return nullptr;
      // A view into the middle of another tensor.
      const size_t inputs = program->inputs.size();
      const Operand &operand =
          i < inputs ? program->inputs[i] : program->outputs[i - inputs];
      if (!isDeclared || !isAligned(addresses[i], operand.alignment))
        return callInPython(*call, arguments, count);
    }
    std::vector<Tensor> outputs;
    if (makesOutputs)
      outputs = makeOutputs(*program, dims, call->device, {},
                            PyTuple_Check(arguments[0]) ? 1 : 0);
    for (size_t i = 0; i < outputs.size(); ++i)
      addresses[given + i] = dataOf(outputs[i]);
    {
      WithoutInterpreterLock unlocked;
      launch(*program, rows, addresses, call->device,
             groups.empty() ? 1 : groups.front());
    }
    if (makesOutputs)
      return giveToPython(std::move(outputs));
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
/// yet; `in_python` does what is not done here, or says what is wrong, and
/// `orders` is a tuple with the order of each tensor's memory, a tuple too.
/// Null: Python has an exception. The interpreter's lock is held.
// NOLINTBEGIN(readability-identifier-naming): C's names, as in KernelTable.cpp.
extern "C" __attribute__((visibility("default"))) PyObject *
lnbwd_torch_region_call(const char *text, int32_t is_gpu, int32_t index,
                        PyObject *in_python, PyObject *orders) {
  // NOLINTEND(readability-identifier-naming)
  static PyMethodDef method = {
      "region_call",
      reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(callRegion)),
      METH_FASTCALL,
      "Runs a row program: (rows, *inputs, *outputs) -> None, or (rows, "
      "*inputs) -> outputs."};
  Device device{is_gpu ? aoti_torch_device_type_cuda()
                       : aoti_torch_device_type_cpu(),
                index};
  std::vector<std::vector<Py_ssize_t>> declared(
      static_cast<size_t>(std::max<Py_ssize_t>(PyTuple_Size(orders), 0)));
  for (size_t i = 0; i < declared.size(); ++i) {
    PyObject *order = PyTuple_GetItem(orders, static_cast<Py_ssize_t>(i));
    for (Py_ssize_t j = 0; j < PyTuple_Size(order); ++j)
      declared[i].push_back(PyLong_AsSsize_t(PyTuple_GetItem(order, j)));
  }
  if (PyErr_Occurred())
    return nullptr;
  Py_INCREF(in_python);
  auto call = std::make_unique<RegionCall>(
      RegionCall{text, Object(in_python), device, std::move(declared)});
  Object capsule(PyCapsule_New(call.get(), kCapsuleName, deleteCall));
  if (!capsule)
    return nullptr;
  call.release();
  return PyCFunction_New(&method, capsule.get());
}
