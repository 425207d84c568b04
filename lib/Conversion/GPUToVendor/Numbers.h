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

#include "MathExpansions.h"

#include "lnbwd/Target/ChipInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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

/// What numbers of one expansion share. No operation may be fused or reordered:
/// an expansion says itself where it rounds.
struct Context {
  mlir::ImplicitLocOpBuilder b;
  const HardwareFunctions &functions;
  bool isApproximate = false, isPortable = false;
};

struct ValueBits;
struct ValueReal {
  using Number = double;
  using Condition = mlir::Value;
  using Bits = ValueBits;
  ValueReal like(double number) const;
  operator mlir::Value() const { return value; }

  Context *context;
  mlir::Value value;
};
struct ValueBits {
  using Number = uint32_t;
  using Real = ValueReal;
  ValueBits like(uint32_t number) const;
  operator mlir::Value() const { return value; }

  Context *context;
  mlir::Value value;
};

template <typename T> T makeConstant(T like, mlir::TypedAttr number) {
  if (auto vector = llvm::dyn_cast<mlir::VectorType>(like.value.getType()))
    number = mlir::DenseElementsAttr::get(vector, number);
  return {like.context,
          mlir::arith::ConstantOp::create(like.context->b, number)};
}
inline ValueReal ValueReal::like(double number) const {
  return makeConstant(*this, context->b.getF32FloatAttr(float(number)));
}
inline ValueBits ValueBits::like(uint32_t number) const {
  return makeConstant(*this, context->b.getI32IntegerAttr(int32_t(number)));
}

template <typename Op, typename T, typename... Rest>
T make(T first, Rest... rest) {
  return {first.context,
          Op::create(first.context->b, first.value, rest.value...)};
}
template <typename T>
mlir::Value compare(mlir::arith::CmpFPredicate predicate, T x, T y) {
  return mlir::arith::CmpFOp::create(x.context->b, predicate, x, y);
}
/// Calls an intrinsic that LLVM has for vectors as well. Upstream's
/// conversion for NVIDIA would turn the operation of the same name, be it
/// arith's, math's or LLVM's, into a call of the library.
template <typename... Rest>
ValueReal call(llvm::StringRef intrinsic, mlir::LLVM::FastmathFlags flags,
               ValueReal x, Rest... rest) {
  mlir::ImplicitLocOpBuilder &b = x.context->b;
  return {x.context,
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

inline ValueReal operator+(ValueReal x, ValueReal y) {
  return make<mlir::arith::AddFOp>(x, y);
}
inline ValueReal operator-(ValueReal x, ValueReal y) {
  return make<mlir::arith::SubFOp>(x, y);
}
inline ValueReal operator*(ValueReal x, ValueReal y) {
  return make<mlir::arith::MulFOp>(x, y);
}
inline ValueReal operator/(ValueReal x, ValueReal y) {
  return make<mlir::arith::DivFOp>(x, y);
}
inline ValueReal operator-(ValueReal x) { return make<mlir::arith::NegFOp>(x); }
inline ValueReal fma(ValueReal x, ValueReal y, ValueReal z) {
  return make<mlir::math::FmaOp>(x, y, z);
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
inline mlir::Value operator<(ValueReal x, ValueReal y) {
  return compare(mlir::arith::CmpFPredicate::OLT, x, y);
}
inline mlir::Value lessOrNaN(ValueReal x, ValueReal y) {
  return compare(mlir::arith::CmpFPredicate::ULT, x, y);
}
inline mlir::Value isNaN(ValueReal x) {
  return compare(mlir::arith::CmpFPredicate::UNO, x, x);
}
template <typename T> T select(mlir::Value condition, T x, T y) {
  return {x.context,
          mlir::arith::SelectOp::create(x.context->b, condition, x, y)};
}

inline ValueBits operator+(ValueBits x, ValueBits y) {
  return make<mlir::arith::AddIOp>(x, y);
}
inline ValueBits operator-(ValueBits x, ValueBits y) {
  return make<mlir::arith::SubIOp>(x, y);
}
inline ValueBits operator*(ValueBits x, ValueBits y) {
  return make<mlir::arith::MulIOp>(x, y);
}
inline ValueBits operator&(ValueBits x, ValueBits y) {
  return make<mlir::arith::AndIOp>(x, y);
}
inline ValueBits operator|(ValueBits x, ValueBits y) {
  return make<mlir::arith::OrIOp>(x, y);
}
inline ValueBits operator^(ValueBits x, ValueBits y) {
  return make<mlir::arith::XOrIOp>(x, y);
}
inline ValueBits operator<<(ValueBits x, ValueBits count) {
  return make<mlir::arith::ShLIOp>(x, count);
}
inline ValueBits operator>>(ValueBits x, ValueBits count) {
  return make<mlir::arith::ShRUIOp>(x, count);
}
inline mlir::Value operator<(ValueBits x, ValueBits y) {
  return mlir::arith::CmpIOp::create(x.context->b,
                                     mlir::arith::CmpIPredicate::ult, x, y);
}
inline ValueBits mulHigh(ValueBits x, ValueBits y) {
  auto product = mlir::arith::MulUIExtendedOp::create(x.context->b, x, y);
  return {x.context, product.getHigh()};
}
inline ValueBits funnelShift(ValueBits high, ValueBits low, ValueBits count) {
  return make<mlir::LLVM::FshrOp>(high, low, count);
}

/// `value` by a conversion to elements of another type.
template <typename Op, typename To, typename From>
To convert(From x, mlir::Type element) {
  mlir::Type type = cloneType(x.value.getType(), element);
  return {x.context, Op::create(x.context->b, type, x)};
}
inline ValueBits toBits(ValueReal x) {
  return convert<mlir::arith::BitcastOp, ValueBits>(x,
                                                    x.context->b.getI32Type());
}
inline ValueReal fromBits(ValueBits x) {
  return convert<mlir::arith::BitcastOp, ValueReal>(x,
                                                    x.context->b.getF32Type());
}
inline ValueReal toReal(ValueBits x) {
  return convert<mlir::arith::SIToFPOp, ValueReal>(x,
                                                   x.context->b.getF32Type());
}

inline bool isApproximate(ValueReal x) { return x.context->isApproximate; }
inline bool isPortable(ValueReal x) { return x.context->isPortable; }
inline bool isLog2RelativelyAccurate(ValueReal x) {
  return x.context->functions.isLog2RelativelyAccurate;
}

/// Calls the chip's function for each element.
template <typename... Rest>
ValueReal callForEach(llvm::StringRef function, ValueReal x, Rest... rest) {
  mlir::ImplicitLocOpBuilder &b = x.context->b;
  mlir::StringAttr intrinsic = b.getStringAttr(function);
  auto one = [&](mlir::ValueRange elements) -> mlir::Value {
    return mlir::LLVM::CallIntrinsicOp::create(b, b.getF32Type(), intrinsic,
                                               elements)
        .getResult(0);
  };
  mlir::Value operands[] = {x.value, rest.value...};
  auto vector = llvm::dyn_cast<mlir::VectorType>(x.value.getType());
  if (!vector)
    return {x.context, one(operands)};
  llvm::SmallVector<mlir::Value> elements;
  for (int64_t i = 0; i < vector.getNumElements(); ++i)
    elements.push_back(one(llvm::map_to_vector(
        llvm::ArrayRef(operands), [&](mlir::Value operand) -> mlir::Value {
          return mlir::vector::ExtractOp::create(b, operand, i);
        })));
  return {x.context, mlir::vector::FromElementsOp::create(b, vector, elements)};
}
inline ValueReal approximate(Function function, ValueReal x) {
  return callForEach(x.context->functions.names[size_t(function)], x);
}

/// What `compute` gives if the condition holds, else `otherwise`.
inline Angle<ValueReal>
branchRarely(mlir::Value condition,
             llvm::function_ref<Angle<ValueReal>()> compute,
             Angle<ValueReal> otherwise) {
  Context *context = otherwise.first.context;
  mlir::ImplicitLocOpBuilder &b = context->b;
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
  Context *context = x.context;
  mlir::ImplicitLocOpBuilder &b = context->b;
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
