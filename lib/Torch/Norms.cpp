//===- Norms.cpp - PyTorch's norms ----------------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operators of LayerNorm and RMSNorm, from the dispatcher to the launch:
// ours (python/lnbwd/ops.py), and the same kernels in the places of PyTorch's
// own on a kind of device, when Python asks for it (python/lnbwd/aten.py). All
// that surrounds a kernel is PyTorch's then, derivatives in C++ included. What
// no kernel that is loaded computes goes on to Python: for PyTorch's operators
// to lnbwd::_original_*, which hold PyTorch's kernels.
//
//===----------------------------------------------------------------------===//

#include "KernelTable.h"
#include "lnbwd/Operations/Operations.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>

namespace lnbwd::torch_operators {

/// What PyTorch's kernels need an epsilon for that was not given, by the
/// lnbwd_element of the rows, which masks are none of; below 0: not known.
static std::array<double, LNBWD_ELEMENT_F32 + 1> defaultEpsilons = {-1, -1, -1};

static int64_t product(const std::vector<int64_t> &sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

namespace {

/// A call of an operator: its arguments by what they are. Those that the
/// operator does not have, or that were not given, are null.
struct NormCall {
  /// Takes the arguments off the operator's stack. PyTorch's own operators
  /// (`isAten`) have normalized_shape at another place in a backward pass, and
  /// RMSNorm's epsilon may be absent.
  NormCall(NamedOperation operation, bool isAten, StableIValue *stack);

  /// Puts the arguments back, for another operator that takes the same.
  void giveBack(StableIValue *stack);

  /// Whether a kernel may read the arguments as they are. Python has the words
  /// for what is wrong, and PyTorch computes what no kernel does.
  bool isSound() const;

  /// The row program that computes it, or null if it is not loaded yet.
  const RowProgram *findProgram() const;

  /// Launches the program, and puts the results on the stack. For a gradient
  /// that is not wanted that is a tensor without elements, or for PyTorch's
  /// operators one that is not defined.
  void run(const RowProgram &program, StableIValue *stack) &&;

  const NamedOperationInfo &info;
  bool isAten;
  bool hasMean;
  size_t resultCount; ///< 3, or without a mean 2
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
  /// Which results are asked for: y and the statistics are, and of x, weight
  /// and bias the gradients in the mask, of what is there.
  std::array<bool, 3> isWanted{};

private:
  template <typename Visitor> void visitArguments(Visitor visit);
};

/// Takes each argument off a stack.
struct Taker {
  StableIValue *&place;
  void operator()(Tensor &tensor, bool isOptional = false) const {
    tensor = isOptional ? takeOptionalTensor(*place++) : takeTensor(*place++);
  }
  void operator()(std::optional<double> &number, bool isOptional) const {
    using torch::stable::detail::to;
    number =
        isOptional ? to<std::optional<double>>(*place++) : to<double>(*place++);
  }
  template <typename Value> void operator()(Value &value) const {
    value = torch::stable::detail::to<Value>(*place++);
  }
};

/// Puts each argument on a stack.
struct Giver {
  StableIValue *&place;
  void operator()(Tensor &tensor, bool isOptional = false) const {
    *place++ =
        isOptional ? giveOptional(std::move(tensor)) : give(std::move(tensor));
  }
  void operator()(const std::optional<double> &number, bool isOptional) const {
    *place++ = isOptional ? torch::stable::detail::from(number)
                          : torch::stable::detail::from(*number);
  }
  void operator()(const std::vector<int64_t> &sizes) const {
    *place++ = torch::stable::detail::from(sizes);
  }
  void operator()(const std::vector<bool> &mask) const {
    auto values = std::make_unique<bool[]>(mask.size());
    std::copy(mask.begin(), mask.end(), values.get());
    *place++ = torch::stable::detail::from(
        torch::headeronly::HeaderOnlyArrayRef<bool>(values.get(), mask.size()));
  }
};

} // namespace

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
  element = elementOf(x.get());
  bool hasDefault =
      element >= 0 && static_cast<size_t>(element) < defaultEpsilons.size();
  epsilon = givenEpsilon.value_or(hasDefault ? defaultEpsilons[element] : -1);
  if (!shape.empty() && endsIn(x.get(), shape))
    rowLength = product(shape);
  if (rowLength > 0)
    rows = elementCount(x.get()) / rowLength;
  const Tensor *likes[] = {&x, &weight, &bias};
  for (size_t i = 0; i < resultCount; ++i)
    isWanted[i] = info.isForward || (i < mask.size() && mask[i] && *likes[i]);
}

void NormCall::giveBack(StableIValue *stack) { visitArguments(Giver{stack}); }

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

bool NormCall::isSound() const {
  if (element < 0 || element > LNBWD_ELEMENT_F32 || rowLength == 0)
    return false;
  const int32_t device = deviceIndexOf(x.get());
  for (const Tensor *parameter : {&weight, &bias}) {
    if (!*parameter)
      continue;
    int32_t type = elementOf(parameter->get());
    // PyTorch's operators take parameters of x's type alone.
    if (!hasShape(parameter->get(), shape) ||
        deviceIndexOf(parameter->get()) != device ||
        (type != element && (isAten || type != LNBWD_ELEMENT_F32)))
      return false;
  }
  if (info.isForward)
    return epsilon >= 0 && (rows != 0 || !isAten);
  auto fits = [&](const Tensor &tensor, int32_t type, int64_t count) {
    return !tensor || (elementOf(tensor.get()) == type &&
                       elementCount(tensor.get()) == count &&
                       deviceIndexOf(tensor.get()) == device);
  };
  return mask.size() == resultCount &&
         std::count(isWanted.begin(), isWanted.end(), true) != 0 &&
         (rows != 0 || !isAten) && fits(dy, element, elementCount(x.get())) &&
         fits(mean, LNBWD_ELEMENT_F32, rows) &&
         fits(rstd, LNBWD_ELEMENT_F32, rows);
}

namespace {
/// All that decides a program, as bytes, by which it is found
/// (python/lnbwd/norm_programs.py). Without padding.
struct NormKey {
  int64_t rowLength;
  int64_t rows;
  double epsilon;
  uint32_t wants;
  uint8_t operation;
  int8_t elements[3];
};
} // namespace

const RowProgram *NormCall::findProgram() const {
  NormKey key = {rowLength,
                 rowsHint(rows),
                 info.isForward ? epsilon : -1,
                 0,
                 static_cast<uint8_t>(info.operation),
                 {-1, -1, -1}};
  static_assert(sizeof(key) == 3 * 8 + 4 + 4);
  if (!info.isForward)
    for (size_t result = 0; result < resultCount; ++result)
      key.wants |= isWanted[result] << result;
  const Tensor *tensors[] = {&x, &weight, &bias};
  for (size_t i = 0; i < std::size(tensors); ++i)
    if (*tensors[i])
      key.elements[i] = static_cast<int8_t>(elementOf(tensors[i]->get()));
  return lookUpProgram({reinterpret_cast<const char *>(&key), sizeof(key)},
                       findPlace(deviceIndexOf(x.get())));
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

void NormCall::run(const RowProgram &program, StableIValue *stack) && {
  const Device device = deviceOf(x.get());
  std::vector<int64_t> statistics;
  if (info.isForward) {
    statistics = leadingSizes(x.get(), shape.size());
    if (isAten) // 1 for what was normalised.
      statistics.insert(statistics.end(), shape.size(), 1);
  }
  const Tensor *likes[] = {&x, &weight, &bias};
  std::array<Tensor, 3> results;
  for (size_t i = 0; i < resultCount; ++i) {
    if (info.isForward && i > 0)
      results[i] = allocate(statistics, dtypeOf(LNBWD_ELEMENT_F32), device);
    else if (isWanted[i])
      results[i] = allocateLike(*likes[i]);
    else if (!isAten)
      results[i] = allocateEmpty(x);
  }
  if (!info.isForward)
    bias.reset();
  std::vector<void *> addresses;
  // Those that are there, in the order of the program's inputs.
  for (Tensor *input : {&dy, &x, &weight, &bias, &mean, &rstd})
    if (*input) {
      *input = makeDense(std::move(*input));
      addresses.push_back(dataOf(input->get()));
    }
  for (size_t i = 0; i < resultCount; ++i)
    if (isWanted[i])
      addresses.push_back(dataOf(results[i].get()));
  launch(program, rows, addresses, device);
  for (size_t i = 0; i < resultCount; ++i)
    *stack++ = giveOrUndefined(std::move(results[i]));
}

//===----------------------------------------------------------------------===//
// The operators
//===----------------------------------------------------------------------===//

template <NamedOperation operation, bool isAten>
static void normalise(StableIValue *stack, uint64_t, uint64_t) {
  NormCall call(operation, isAten, stack);
  if (call.isSound())
    if (const RowProgram *program = call.findProgram())
      return std::move(call).run(*program, stack);
  call.giveBack(stack);
  std::string name = getName(operation);
  callPython(isAten ? "lnbwd::_original_" + name
                    : "lnbwd::_" + name + "_in_python",
             stack, call.resultCount);
}

template <bool isAten>
static void registerNorms(torch::stable::detail::StableLibrary &library,
                          const std::array<std::string, 4> &names) {
  library.impl(names[0].c_str(), normalise<NamedOperation::LayerNorm, isAten>)
      .impl(names[1].c_str(), normalise<NamedOperation::RmsNorm, isAten>)
      .impl(names[2].c_str(), normalise<NamedOperation::LayerNormBwd, isAten>)
      .impl(names[3].c_str(), normalise<NamedOperation::RmsNormBwd, isAten>);
}

static void registerOurs(torch::stable::detail::StableLibrary &library) {
  auto name = [](NamedOperation operation) {
    return std::string("_") + getName(operation);
  };
  registerNorms<false>(library, {name(NamedOperation::LayerNorm),
                                 name(NamedOperation::RmsNorm),
                                 name(NamedOperation::LayerNormBwd),
                                 name(NamedOperation::RmsNormBwd)});
}

} // namespace lnbwd::torch_operators

STABLE_TORCH_LIBRARY_IMPL(lnbwd, CUDA, library) {
  lnbwd::torch_operators::registerOurs(library);
}

STABLE_TORCH_LIBRARY_IMPL(lnbwd, CPU, library) {
  lnbwd::torch_operators::registerOurs(library);
}

//===----------------------------------------------------------------------===//
// Python's side. C's names and typedefs, not those of the C++ code:
// NOLINTBEGIN(readability-identifier-naming)
//===----------------------------------------------------------------------===//

using namespace lnbwd::torch_operators;

#define LNBWD_TORCH_API extern "C" __attribute__((visibility("default")))

/// Overrides PyTorch's kernels for a dispatch key, "CUDA" or "CPU": of the
/// operators of these names, in the order of NamedOperation. Null takes ours
/// out again. `epsilons` stand for those that are not given, for each
/// lnbwd_element of rows; below 0: not known. 0: done; else PyTorch refused it.
LNBWD_TORCH_API int lnbwd_torch_override_aten(const char *dispatch_key,
                                              const char *const *names,
                                              const double *epsilons) {
  using torch::stable::detail::StableLibrary;
  static std::mutex mutex;
  static auto *libraries =
      new std::map<std::string, std::unique_ptr<StableLibrary>>();
  std::lock_guard lock(mutex);
  auto &library = (*libraries)[dispatch_key];
  library.reset();
  if (!names)
    return 0;
  std::copy_n(epsilons, defaultEpsilons.size(), defaultEpsilons.begin());
  try {
    library = std::make_unique<StableLibrary>(StableLibrary::Kind::IMPL, "aten",
                                              dispatch_key, __FILE__, __LINE__);
    registerNorms<true>(*library, {names[0], names[1], names[2], names[3]});
  } catch (const std::exception &) {
    library.reset();
    return 1;
  }
  return 0;
}

// NOLINTEND(readability-identifier-naming)
