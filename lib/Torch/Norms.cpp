//===- Norms.cpp - PyTorch's norms ----------------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operators of named operations, from the dispatcher to the launch: ours
// (python/lnbwd/ops/norms.py), and the same kernels in the places of PyTorch's
// own on a kind of device, when Python asks for it (python/lnbwd/ops/aten.py).
// All that surrounds a kernel is PyTorch's then, derivatives in C++ included.
// What no kernel that is loaded computes goes on to Python: for PyTorch's
// operators to lnbwd::_original_*, which load a kernel of ours or call
// PyTorch's. Which of them it is to be is decided here alone. Arguments and
// results follow from the declaration of an operation.
//
//===----------------------------------------------------------------------===//

#include "KernelTable.h"
#include "lnbwd/Operations/Operations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace lnbwd::torch_operators {

/// What PyTorch's kernels need an epsilon for that was not given, by the
/// lnbwd_element of the rows; below 0: not known.
static std::array<double, LNBWD_ELEMENT_F32 + 1> defaultEpsilons = {-1, -1, -1};

/// Whether an lnbwd_element is one that norms compute.
static bool isFloat(int32_t element) {
  return element >= 0 && static_cast<size_t>(element) < defaultEpsilons.size();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static bool isDefined(const Tensor &tensor) {
  bool answer = false;
  TORCH_ERROR_CODE_CHECK(aoti_torch_is_defined(tensor.get(), &answer));
  return answer;
}

namespace {

/// All that decides a program, as bytes, by which it is found
/// (python/lnbwd/ops/norms.py). Without padding.
struct NormKey {
  int64_t rowLength;
  int64_t rows;
  double epsilon;
  uint32_t wants;
  uint8_t operation;
  int8_t elements[3];
};
static_assert(sizeof(NormKey) == 3 * 8 + 4 + 4);

/// A call of an operator: its arguments by what they are. Those that the
/// operator does not have, or that were not given, are null.
struct NormCall {
  /// Takes the arguments off the operator's stack. PyTorch's own operators
  /// (`isAten`) have normalized_shape at another place in a backward pass, and
  /// the epsilon of one without a mean may be absent.
  NormCall(NamedOperation operation, bool isAten, StableIValue *stack);

  /// Puts the arguments back, for another operator that takes the same; where
  /// the stack goes on.
  StableIValue *giveBack(StableIValue *stack);

  /// The key of the row program that computes it; nothing if no program takes
  /// the arguments. Python has the words for what is wrong, and PyTorch
  /// computes what no kernel does.
  std::optional<NormKey> findKey() const;

  /// Launches the program, and puts the results on the stack. For a gradient
  /// that is not wanted that is a tensor without elements, or for PyTorch's
  /// operators one that is not defined.
  void run(const RowProgram &program, StableIValue *stack) &&;

  const NamedOperationInfo &info;
  bool isAten;
  bool hasMean;
  size_t resultCount; ///< 3, or without a mean 2
  Device device;      ///< that of x

private:
  template <typename Visitor> void visitArguments(Visitor visit);

  Tensor dy;
  Tensor x;
  Tensor mean;
  Tensor rstd;
  Tensor weight;
  Tensor bias;
  std::vector<int64_t> shape;
  std::vector<bool> mask;
  std::optional<double> givenEpsilon;
  /// What a kernel of a forward pass adds; below 0 it is not known.
  double epsilon = -1;

  int32_t element;       ///< that of x (elementOf)
  int64_t rowLength = 0; ///< N; 0 if x's shape does not end in `shape`, too
  int64_t rows = 0;      ///< M
  /// A bit for each result that is asked for: y and the statistics are, and of
  /// x, weight and bias the gradients in the mask, of what is there.
  uint32_t wants = 0;
};

/// Takes each argument off a stack. All are taken before anything can throw:
/// PyTorch does not free what is left.
struct Taker {
  StableIValue *&place;
  void operator()(Tensor &tensor, bool isOptional = false) const {
    using Handle = AtenTensorHandle;
    tensor.reset(isOptional
                     ? to<std::optional<Handle>>(*place++).value_or(nullptr)
                     : to<Handle>(*place++));
    // PyTorch's derivatives pass a parameter that was not given on as a tensor
    // that is not defined.
    if (isOptional && tensor && !isDefined(tensor))
      tensor.reset();
  }
  void operator()(std::optional<double> &value, bool isOptional) const {
    value =
        isOptional ? to<std::optional<double>>(*place++) : to<double>(*place++);
  }
  template <typename Value> void operator()(std::vector<Value> &value) const {
    value = to<std::vector<Value>>(*place++);
  }
};

/// Puts each argument on a stack.
struct Giver {
  StableIValue *&place;
  void operator()(Tensor &tensor, bool isOptional = false) const {
    *place++ = !isOptional ? give(std::move(tensor))
               : tensor    ? from(std::optional(give(std::move(tensor))))
                           : from(std::nullopt);
  }
  void operator()(const std::optional<double> &value, bool isOptional) const {
    *place++ = isOptional ? from(value) : from(*value);
  }
  void operator()(const std::vector<int64_t> &sizes) const {
    *place++ = from(sizes);
  }
  void operator()(const std::vector<bool> &mask) const {
    auto values = std::make_unique<bool[]>(mask.size());
    std::copy_n(mask.begin(), mask.size(), values.get());
    *place++ = from(
        torch::headeronly::HeaderOnlyArrayRef<bool>(values.get(), mask.size()));
  }
};

} // namespace

/// The most arguments of an operator: those of LayerNorm's backward pass.
static constexpr size_t kMostArguments = 8;

/// Visits the arguments in the order of the operator's schema.
template <typename Visitor> void NormCall::visitArguments(Visitor visit) {
  constexpr bool isOptional = true;
  if (!info.isForward)
    visit(dy);
  visit(x);
  if (info.isForward || isAten)
    visit(shape);
  if (!info.isForward) {
    if (hasMean)
      visit(mean);
    visit(rstd);
  }
  visit(weight, isOptional);
  if (hasMean)
    visit(bias, isOptional);
  if (info.isForward)
    return visit(givenEpsilon, isAten && !hasMean);
  if (!isAten)
    visit(shape);
  visit(mask);
}

NormCall::NormCall(NamedOperation operation, bool isAten, StableIValue *stack)
    : info(getInfo(operation)), isAten(isAten), hasMean(info.hasMean()),
      resultCount(hasMean ? 3 : 2) {
  visitArguments(Taker{stack});
  element = elementOf(x);
  device = deviceOf(x);
  epsilon =
      givenEpsilon.value_or(isFloat(element) ? defaultEpsilons[element] : -1);
  const Sizes sizes = sizesOf(x);
  if (!shape.empty() && shape.size() <= sizes.size() &&
      sizes.slice(sizes.size() - shape.size()).equals(shape))
    rowLength = std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                std::multiplies<>());
  if (rowLength > 0)
    rows = elementCount(x) / rowLength;
  const Tensor *likes[] = {&x, &weight, &bias};
  for (size_t i = 0; i < resultCount; ++i)
    if (info.isForward || (i < mask.size() && mask[i] && *likes[i]))
      wants |= 1u << i;
}

StableIValue *NormCall::giveBack(StableIValue *stack) {
  visitArguments(Giver{stack});
  return stack;
}

//===----------------------------------------------------------------------===//
// From the arguments to a launch
//===----------------------------------------------------------------------===//

std::optional<NormKey> NormCall::findKey() const {
  if (rowLength == 0 || (isAten && rows == 0) || !isFloat(element))
    return std::nullopt;
  if (info.isForward ? !std::isfinite(epsilon) || epsilon < 0
                     : wants == 0 || mask.size() != resultCount)
    return std::nullopt;
  NormKey key = {rowLength,
                 rowsHint(rows),
                 info.isForward ? epsilon : -1,
                 info.isForward ? 0 : wants,
                 static_cast<uint8_t>(info.operation),
                 {static_cast<int8_t>(element), -1, -1}};
  const int32_t where = device.number();
  const Tensor *parameters[] = {&weight, &bias};
  for (size_t i = 0; i < std::size(parameters); ++i) {
    const Tensor &parameter = *parameters[i];
    if (!parameter)
      continue;
    int32_t type = elementOf(parameter);
    // PyTorch's operators take parameters of x's type alone.
    bool isTaken =
        type == element || (!isAten && type == int32_t(LNBWD_ELEMENT_F32));
    if (!isTaken || !sizesOf(parameter).equals(shape) ||
        deviceOf(parameter).number() != where)
      return std::nullopt;
    key.elements[1 + i] = static_cast<int8_t>(type);
  }
  auto fits = [where](const Tensor &tensor, int32_t type, int64_t count) {
    return !tensor ||
           (elementOf(tensor) == type && elementCount(tensor) == count &&
            deviceOf(tensor).number() == where);
  };
  if (!fits(dy, element, rows * rowLength) ||
      !fits(mean, LNBWD_ELEMENT_F32, rows) ||
      !fits(rstd, LNBWD_ELEMENT_F32, rows))
    return std::nullopt;
  return key;
}

/// A tensor that is not defined, as PyTorch's C++ has them.
static Tensor makeUndefined() {
  AtenTensorHandle undefined = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_new_uninitialized_tensor(&undefined));
  return Tensor(undefined);
}

void NormCall::run(const RowProgram &program, StableIValue *stack) && {
  const Sizes sizes = sizesOf(x);
  // PyTorch's statistics have 1 for what was normalised.
  std::vector<Tensor> outputs =
      makeOutputs(program, sizes.slice(0, sizes.size() - shape.size()), device,
                  shape, isAten ? shape.size() : 0);
  std::vector<void *> addresses;
  addresses.reserve(program.inputs.size() + outputs.size());
  for (Tensor *input : {&dy, &x, &weight, &bias, &mean, &rstd})
    if (*input && (info.isForward || input != &bias))
      addresses.push_back(makeDense(*input));
  for (const Tensor &output : outputs)
    addresses.push_back(dataOf(output));
  launch(program, rows, addresses, device);
  auto output = outputs.begin();
  for (size_t i = 0; i < resultCount; ++i)
    *stack++ = wants >> i & 1 ? give(std::move(*output++))
               : isAten       ? give(makeUndefined())
                              : give(allocate({0}, dtypeOf(element), device));
}

//===----------------------------------------------------------------------===//
// The operators
//===----------------------------------------------------------------------===//

template <NamedOperation operation, bool isAten>
static void normalise(StableIValue *stack, uint64_t, uint64_t) {
  NormCall call(operation, isAten, stack);
  const std::optional<NormKey> key = call.findKey();
  if (key)
    if (const RowProgram *program =
            lookUpProgram({reinterpret_cast<const char *>(&*key), sizeof(*key)},
                          findPlace(call.device.number())))
      return std::move(call).run(*program, stack);
  std::string name = getName(operation);
  if constexpr (!isAten) {
    call.giveBack(stack);
    return callPython("lnbwd::_" + name + "_in_python", stack,
                      call.resultCount);
  }
  // The key, as whole numbers, follows the arguments; none: the call is
  // PyTorch's.
  std::array<StableIValue, kMostArguments + 1> arguments;
  std::vector<int64_t> numbers(key ? sizeof(NormKey) / sizeof(int64_t) : 0);
  if (key)
    std::memcpy(numbers.data(), &*key, sizeof(*key));
  *call.giveBack(arguments.data()) = from(numbers);
  callPython("lnbwd::_original_" + name, arguments.data(), call.resultCount);
  std::copy_n(arguments.begin(), call.resultCount, stack);
}

/// A kernel for each operation.
template <bool isAten, size_t... operations>
static constexpr auto makeKernels(std::index_sequence<operations...>) {
  return std::array{
      &normalise<static_cast<NamedOperation>(operations), isAten>...};
}

} // namespace lnbwd::torch_operators

//===----------------------------------------------------------------------===//
// Python's side. C's names and typedefs, not those of the C++ code:
// NOLINTBEGIN(readability-identifier-naming)
//===----------------------------------------------------------------------===//

using namespace lnbwd::torch_operators;

/// Registers kernels for a dispatch key, "CUDA" or "CPU": of our operators
/// ("lnbwd") or in the places of PyTorch's ("aten"), by the name of each
/// NamedOperation, null where there is none. Null takes them out again.
/// `epsilons`, of PyTorch's alone, stand for those that are not given, for each
/// lnbwd_element of rows; below 0: not known. 0: done; else PyTorch refused it.
extern "C" __attribute__((visibility("default"))) int
lnbwd_torch_register_norms(const char *space, const char *dispatch_key,
                           const char *const *names, const double *epsilons) {
  using torch::stable::detail::StableLibrary;
  static std::mutex mutex;
  static auto *libraries = new std::map<std::pair<std::string, std::string>,
                                        std::unique_ptr<StableLibrary>>();
  std::lock_guard lock(mutex);
  auto &library = (*libraries)[{space, dispatch_key}];
  library.reset();
  if (!names)
    return 0;
  constexpr auto operations =
      std::make_index_sequence<std::size(lnbwd::kOperations)>();
  try {
    library = std::make_unique<StableLibrary>(StableLibrary::Kind::IMPL, space,
                                              dispatch_key, __FILE__, __LINE__);
    if (epsilons)
      std::copy_n(epsilons, defaultEpsilons.size(), defaultEpsilons.begin());
    const auto kernels = epsilons ? makeKernels<true>(operations)
                                  : makeKernels<false>(operations);
    for (size_t i = 0; i < kernels.size(); ++i)
      if (names[i])
        library->impl(names[i], kernels[i]);
  } catch (const std::exception &) {
    library.reset();
    return 1;
  }
  return 0;
}

// NOLINTEND(readability-identifier-naming)
