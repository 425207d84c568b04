//===- Norms.cpp - Calls of normalisations --------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Norms.h"

#include "TensorLaunch.h"

#include <array>
#include <charconv>
#include <iterator>

namespace lnbwd::torch_operators {

static int64_t product(const std::vector<int64_t> &sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

int32_t deviceNumber(AtenTensorHandle tensor) {
  return isOnGPU(tensor) ? deviceIndexOf(tensor) : simulatedDevice();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

namespace {

/// Takes each argument off a stack.
struct Taker {
  Arguments &arguments;
  void operator()(Tensor &tensor, bool isOptional = false) const {
    tensor =
        isOptional ? arguments.takeOptionalTensor() : arguments.takeTensor();
  }
  void operator()(std::vector<int64_t> &sizes) const {
    sizes = arguments.takeIntegers();
  }
  void operator()(std::vector<bool> &mask) const {
    mask = arguments.takeBooleans();
  }
  void operator()(std::optional<double> &number, bool isOptional) const {
    number = isOptional ? arguments.takeOptionalDouble()
                        : std::optional(arguments.takeDouble());
  }
};

/// Puts each argument on a stack.
struct Giver {
  StableIValue *&place;
  void operator()(Tensor &tensor, bool isOptional = false) const {
    *place++ =
        isOptional ? giveOptional(std::move(tensor)) : give(std::move(tensor));
  }
  void operator()(const std::vector<int64_t> &sizes) const {
    *place++ = give(sizes);
  }
  void operator()(const std::vector<bool> &mask) const {
    *place++ = give(mask);
  }
  void operator()(const std::optional<double> &number, bool isOptional) const {
    *place++ = isOptional ? torch::stable::detail::from(number)
                          : torch::stable::detail::from(*number);
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
  Arguments arguments(stack);
  visitArguments(Taker{arguments});
  epsilon = givenEpsilon.value_or(-1);
  element = elementOf(x.get());
  if (!shape.empty() && endsIn(x.get(), shape))
    rowLength = product(shape);
  if (rowLength > 0)
    rows = elementCount(x.get()) / rowLength;
}

void NormCall::giveBack(StableIValue *stack) { visitArguments(Giver{stack}); }

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

std::string NormCall::findMistake() const {
  const int32_t device = deviceIndexOf(x.get());
  if (shape.empty() || !endsIn(x.get(), shape))
    return "x: expected a shape that ends in normalized_shape";
  if ((element < 0 || element == LNBWD_ELEMENT_I8) && !isFloat64(x.get()))
    return "x: expected float16, bfloat16, float32 or float64";
  for (const Tensor *parameter : {&weight, &bias}) {
    if (!*parameter)
      continue;
    auto fail = [&](const char *words) {
      return std::string(parameter == &weight ? "weight: " : "bias: ") + words;
    };
    if (!hasShape(parameter->get(), shape))
      return fail("expected the shape normalized_shape");
    if (deviceIndexOf(parameter->get()) != device)
      return fail("expected a tensor on the device of x");
    if (!haveSameType(parameter->get(), x.get()) &&
        (isFloat64(x.get()) ||
         elementOf(parameter->get()) != LNBWD_ELEMENT_F32))
      return fail("expected the type of x or float32");
  }
  if (info.isForward)
    return epsilon >= 0 ? "" : "eps: expected a number that is 0 or more";
  if (mask.size() != resultCount)
    return "mask: expected a truth value for each gradient, got " +
           std::to_string(mask.size());
  if (!isComputedByKernels())
    return "";

  // Where a kernel would read or write beyond a tensor's end, or take its bits
  // for another type.
  auto findMistakeOf = [&](const char *name, const Tensor &tensor,
                           int32_t expectedElement,
                           int64_t count) -> std::string {
    if (!tensor)
      return "";
    if (elementOf(tensor.get()) != expectedElement)
      return std::string(name) + ": expected another element type; see lnbwd." +
             getName(NamedOperation::LayerNorm) + ", which converts it";
    if (elementCount(tensor.get()) != count)
      return std::string(name) + ": expected " + std::to_string(count) +
             " elements, got " + std::to_string(elementCount(tensor.get()));
    if (deviceIndexOf(tensor.get()) != device)
      return std::string(name) + ": expected a tensor on the device of x";
    return "";
  };
  std::string mistake = findMistakeOf("dy", dy, element, elementCount(x.get()));
  if (mistake.empty())
    mistake = findMistakeOf("mean", mean, LNBWD_ELEMENT_F32, rows);
  return mistake.empty() ? findMistakeOf("rstd", rstd, LNBWD_ELEMENT_F32, rows)
                         : mistake;
}

bool NormCall::isWanted(size_t result) const {
  if (info.isForward)
    return true;
  const Tensor *parameters[] = {&x, &weight, &bias};
  return mask[result] && *parameters[result];
}

bool NormCall::isAnyWanted() const {
  for (size_t result = 0; result < resultCount; ++result)
    if (isWanted(result))
      return true;
  return false;
}

std::string NormCall::programName() const {
  static const char *const elements[] = {"f16", "bf16", "f32"};
  auto elementName = [&](const Tensor &tensor) {
    return tensor ? elements[elementOf(tensor.get())] : "-";
  };
  std::string name;
  name.reserve(128);
  auto add = [&](auto number) {
    std::array<char, 32> digits;
    auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    name.append(" ").append(digits.data(), end);
  };
  name.append(info.name);
  add(rowLength);
  for (const Tensor *tensor : {&x, &weight, &bias})
    name.append(" ").append(elementName(*tensor));
  if (info.isForward) {
    add(epsilon);
  } else {
    name.append(" ");
    for (size_t result = 0; result < resultCount; ++result)
      name.append(isWanted(result) ? "1" : "0");
  }
  add(rowsHint(rows));
  return name;
}

namespace {
/// All that a program's name says, as bytes: hot calls find the program by
/// these, for a name takes longer to write than to look up. Without padding.
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
                 epsilon,
                 0,
                 static_cast<uint8_t>(info.operation),
                 {-1, -1, -1}};
  static_assert(sizeof(key) == 3 * 8 + 4 + 4);
  for (size_t result = 0; result < resultCount; ++result)
    key.wants |= isWanted(result) << result;
  const Tensor *tensors[] = {&x, &weight, &bias};
  for (size_t i = 0; i < std::size(tensors); ++i)
    if (*tensors[i])
      key.elements[i] = static_cast<int8_t>(elementOf(tensors[i]->get()));
  std::string_view bytes(reinterpret_cast<const char *>(&key), sizeof(key));
  int32_t device = deviceNumber(x.get());
  if (const RowProgram *known = lookUpProgram(bytes, device))
    return known;
  const RowProgram *found =
      isAten ? tryToFindProgram(programName(), device)
             : &torch_operators::findProgram(programName(), device);
  if (found)
    addProgram(std::string(bytes), device, *found);
  return found;
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

void NormCall::run(const RowProgram *program, StableIValue *stack) && {
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
    else if (isWanted(i))
      results[i] = allocateLike(*likes[i]);
    else if (!isAten)
      results[i] = allocateEmpty(x);
  }
  if (program) {
    std::array<bool, 3> areWanted{};
    for (size_t i = 0; i < resultCount; ++i)
      areWanted[i] = isWanted(i);
    LaunchTensors tensors;
    tensors.input(std::move(dy));
    tensors.input(std::move(x));
    tensors.input(std::move(weight));
    if (info.isForward)
      tensors.input(std::move(bias));
    tensors.input(std::move(mean));
    tensors.input(std::move(rstd));
    for (size_t i = 0; i < resultCount; ++i)
      if (areWanted[i])
        tensors.output(results[i]);
    launch(program->kernel, rows, tensors.addresses(), device);
  }
  for (size_t i = 0; i < resultCount; ++i)
    *stack++ = giveOrUndefined(std::move(results[i]));
}

} // namespace lnbwd::torch_operators
