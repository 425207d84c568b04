//===- Numbers.h - Expansions as operations ---------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers of expansions (MathExpansions.h) that are values of operations,
// elementwise, and the functions that the chips compute in one instruction.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_GPUTOVENDOR_NUMBERS_H
#define LNBWD_LIB_CONVERSION_GPUTOVENDOR_NUMBERS_H

#include "BitExpansions.h"

#include "lnbwd/Dialect/LNBwd/IR/BuiltValue.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace lnbwd {

/// The intrinsics of LLVM for functions of one float32 that every chip computes
/// in one instruction, nearly. Each is that instruction and nothing else:
/// subnormal numbers are 0 to it.
struct HardwareFunctions {
  /// In the order of expansions::Function.
  llvm::StringLiteral names[5];
  /// A division of any numbers that is off by two units in the last place;
  /// empty where IEEE's is the cheapest.
  llvm::StringLiteral division;
  /// Whether log2 is off by some units in the last place of its result near 1
  /// as well, where that is near 0.
  bool isLog2RelativelyAccurate;
};

inline constexpr HardwareFunctions amdFunctions = {
    {"llvm.amdgcn.exp2", "llvm.amdgcn.log", "llvm.amdgcn.rcp",
     "llvm.amdgcn.rsq", "llvm.amdgcn.sqrt"},
    "",
    true};

/// From 1/2 to 2 the error of log2 is an absolute one, 2^-22.
inline constexpr HardwareFunctions nvidiaFunctions = {
    {"llvm.nvvm.ex2.approx.ftz", "llvm.nvvm.lg2.approx.ftz.f",
     "llvm.nvvm.rcp.approx.ftz.f", "llvm.nvvm.rsqrt.approx.ftz.f",
     "llvm.nvvm.sqrt.approx.ftz.f"},
    "llvm.nvvm.div.full",
    false};

inline llvm::SmallVector<mlir::Value> getElements(mlir::ImplicitLocOpBuilder &b,
                                                  mlir::Value value) {
  if (!llvm::isa<mlir::VectorType>(value.getType()))
    return {value};
  return llvm::to_vector(mlir::ValueRange(
      mlir::vector::ToElementsOp::create(b, value).getResults()));
}

/// A scalar or vector type of other elements.
inline mlir::Type cloneType(mlir::Type type, mlir::Type element) {
  auto vector = llvm::dyn_cast<mlir::VectorType>(type);
  return vector ? vector.clone(element) : element;
}

namespace expansions {

/// The state that numbers of one expansion share. No operation may be fused or
/// reordered: an expansion says itself where it rounds.
struct Context : mlir::ImplicitLocOpBuilder {
  Context(mlir::Operation *op, const HardwareFunctions &functions,
          bool isApproximate = false, bool isPortable = false)
      : ImplicitLocOpBuilder(op->getLoc(), op), functions(functions),
        isApproximate(isApproximate), isPortable(isPortable) {}

  const HardwareFunctions &functions;
  bool isApproximate, isPortable;
};

struct ValueBits;
struct ValueReal : BuiltValue<Context> {
  using Number = double;
  using Condition = mlir::Value;
  using Bits = ValueBits;
  static constexpr auto flags = mlir::arith::FastMathFlags::none;
  using BuiltValue::BuiltValue;
  ValueReal like(double number) const;
};
struct ValueBits : BuiltValue<Context> {
  using Number = uint32_t;
  using Real = ValueReal;
  using BuiltValue::BuiltValue;
  ValueBits like(uint32_t number) const;
};

template <typename T> T makeConstant(T like, mlir::TypedAttr number) {
  if (auto vector = llvm::dyn_cast<mlir::VectorType>(like.value.getType()))
    number = mlir::DenseElementsAttr::get(vector, number);
  return {like.b, mlir::arith::ConstantOp::create(*like.b, number)};
}
inline ValueReal ValueReal::like(double number) const {
  return makeConstant(*this, b->getF32FloatAttr(float(number)));
}
inline ValueBits ValueBits::like(uint32_t number) const {
  return makeConstant(*this, b->getI32IntegerAttr(int32_t(number)));
}

/// Calls an intrinsic that LLVM has for vectors as well. Upstream's
/// conversion for NVIDIA would turn the operation of the same name, be it
/// arith's, math's or LLVM's, into a call of the library.
template <typename... Rest>
ValueReal call(llvm::StringRef intrinsic, mlir::LLVM::FastmathFlags flags,
               ValueReal x, Rest... rest) {
  mlir::ImplicitLocOpBuilder &b = *x.b;
  return {x.b,
          mlir::LLVM::CallIntrinsicOp::create(
              b, mlir::TypeRange(x.value.getType()), b.getStringAttr(intrinsic),
              mlir::ValueRange{x.value, rest.value...},
              mlir::LLVM::FastmathFlagsAttr::get(b.getContext(), flags))
              .getResult(0)};
}
template <typename... Rest>
ValueReal call(llvm::StringRef intrinsic, ValueReal x, Rest... rest) {
  return call(intrinsic, mlir::LLVM::FastmathFlags::none, x, rest...);
}

inline ValueReal fma(ValueReal x, ValueReal y, ValueReal z) {
  return applyOp<mlir::math::FmaOp>(x, y.value, z.value);
}
inline ValueReal abs(ValueReal x) { return call("llvm.fabs", x); }
inline ValueReal copySign(ValueReal magnitude, ValueReal sign) {
  return call("llvm.copysign", magnitude, sign);
}
inline ValueReal roundedSqrt(ValueReal x) { return call("llvm.sqrt", x); }
inline ValueReal min(ValueReal x, ValueReal y) {
  return call("llvm.minnum", mlir::LLVM::FastmathFlags::nnan, x, y);
}
inline ValueReal minNum(ValueReal x, ValueReal y) {
  return call("llvm.minnum", x, y);
}
inline ValueReal maxNum(ValueReal x, ValueReal y) {
  return call("llvm.maxnum", x, y);
}
inline mlir::Value lessOrNaN(ValueReal x, ValueReal y) {
  return compare(mlir::arith::CmpFPredicate::ULT, x, y);
}
inline mlir::Value isNaN(ValueReal x) {
  return compare(mlir::arith::CmpFPredicate::UNO, x, x);
}
inline ValueBits mulHigh(ValueBits x, ValueBits y) {
  auto product = mlir::arith::MulUIExtendedOp::create(*x.b, x, y);
  return {x.b, product.getHigh()};
}
inline ValueBits funnelShift(ValueBits high, ValueBits low, ValueBits count) {
  return applyOp<mlir::LLVM::FshrOp>(high, low.value, count.value);
}

/// `value` by a conversion to elements of another type.
template <typename Op, typename To, typename From>
To convert(From x, mlir::Type element) {
  mlir::Type type = cloneType(x.value.getType(), element);
  return {x.b, Op::create(*x.b, type, x)};
}
inline ValueBits toBits(ValueReal x) {
  return convert<mlir::arith::BitcastOp, ValueBits>(x, x.b->getI32Type());
}
inline ValueReal fromBits(ValueBits x) {
  return convert<mlir::arith::BitcastOp, ValueReal>(x, x.b->getF32Type());
}
inline ValueReal toReal(ValueBits x) {
  return convert<mlir::arith::SIToFPOp, ValueReal>(x, x.b->getF32Type());
}

inline bool isApproximate(ValueReal x) { return x.b->isApproximate; }
inline bool isPortable(ValueReal x) { return x.b->isPortable; }
inline bool isLog2RelativelyAccurate(ValueReal x) {
  return x.b->functions.isLog2RelativelyAccurate;
}

/// Calls the chip's function for each element.
template <typename... Rest>
ValueReal callForEach(llvm::StringRef function, ValueReal x, Rest... rest) {
  mlir::ImplicitLocOpBuilder &b = *x.b;
  mlir::StringAttr intrinsic = b.getStringAttr(function);
  auto one = [&](mlir::ValueRange elements) -> mlir::Value {
    return mlir::LLVM::CallIntrinsicOp::create(b, b.getF32Type(), intrinsic,
                                               elements)
        .getResult(0);
  };
  mlir::Value operands[] = {x.value, rest.value...};
  auto vector = llvm::dyn_cast<mlir::VectorType>(x.value.getType());
  if (!vector)
    return {x.b, one(operands)};
  llvm::SmallVector<mlir::Value> elements;
  for (int64_t i = 0; i < vector.getNumElements(); ++i)
    elements.push_back(one(llvm::map_to_vector(
        llvm::ArrayRef(operands), [&](mlir::Value operand) -> mlir::Value {
          return mlir::vector::ExtractOp::create(b, operand, i);
        })));
  return {x.b, mlir::vector::FromElementsOp::create(b, vector, elements)};
}
inline ValueReal approximate(Function function, ValueReal x) {
  return callForEach(x.b->functions.names[size_t(function)], x);
}

/// The result of `compute` if the condition holds, else `otherwise`.
inline Angle<ValueReal>
branchRarely(mlir::Value condition,
             llvm::function_ref<Angle<ValueReal>()> compute,
             Angle<ValueReal> otherwise) {
  Context *context = otherwise.first.b;
  mlir::ImplicitLocOpBuilder &b = *context;
  condition = mlir::LLVM::ExpectOp::create(
      b, condition, mlir::arith::ConstantIntOp::create(b, 0, /*width=*/1));
  mlir::Value values[] = {otherwise.first, otherwise.second};
  auto branch =
      mlir::scf::IfOp::create(b, mlir::ValueRange(values).getTypes(), condition,
                              /*withElseRegion=*/true);
  mlir::OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  auto [real, bits] = compute();
  mlir::scf::YieldOp::create(b, mlir::ValueRange{real, bits});
  b.setInsertionPointToStart(branch.elseBlock());
  mlir::scf::YieldOp::create(b, values);
  return {{context, branch.getResult(0)}, {context, branch.getResult(1)}};
}
/// A branch that a lane takes if the condition holds for any of its elements.
/// In it each of those has a branch of its own, so that no registers hold what
/// several of them need.
inline Angle<ValueReal>
whereRare(mlir::Value condition, ValueReal x,
          llvm::function_ref<Angle<ValueReal>(ValueReal)> compute,
          Angle<ValueReal> otherwise) {
  Context *context = x.b;
  mlir::ImplicitLocOpBuilder &b = *context;
  llvm::SmallVector<mlir::Value> conditions = getElements(b, condition);
  mlir::Value any = conditions.front();
  for (mlir::Value one : llvm::ArrayRef(conditions).drop_front())
    any = mlir::arith::OrIOp::create(b, any, one);
  auto computeEach = [&]() -> Angle<ValueReal> {
    if (!llvm::isa<mlir::VectorType>(x.value.getType()))
      return compute(x);
    llvm::SmallVector<mlir::Value> reals = getElements(b, otherwise.first);
    llvm::SmallVector<mlir::Value> bits = getElements(b, otherwise.second);
    llvm::SmallVector<mlir::Value> each = getElements(b, x);
    for (size_t i = 0; i < each.size(); ++i)
      std::tie(reals[i], bits[i]) = branchRarely(
          conditions[i], [&] { return compute({context, each[i]}); },
          {{context, reals[i]}, {context, bits[i]}});
    auto join = [&](mlir::Value like, mlir::ValueRange elements) {
      return mlir::vector::FromElementsOp::create(b, like.getType(), elements);
    };
    return {{context, join(otherwise.first, reals)},
            {context, join(otherwise.second, bits)}};
  };
  return branchRarely(any, computeEach, otherwise);
}

} // namespace expansions
} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_GPUTOVENDOR_NUMBERS_H
