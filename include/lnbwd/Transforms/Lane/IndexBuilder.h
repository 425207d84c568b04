//===- IndexBuilder.h - A builder for address arithmetic --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are mostly sums of products of indices: short names for them. What is
// constant is folded by the canonicaliser.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TRANSFORMS_LANE_INDEXBUILDER_H
#define LNBWD_TRANSFORMS_LANE_INDEXBUILDER_H

#include "lnbwd/Dialect/LNBwd/IR/BuiltValue.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

namespace lnbwd {

class IndexBuilder;

/// An index, or an integer of another type or a vector of such, that is not
/// negative.
struct IndexValue : BuiltValue<IndexBuilder> {
  using Number = int64_t;
  using BuiltValue::BuiltValue;
  operator mlir::ValueRange() const { return value; }
  IndexValue like(int64_t number) const;
};

class IndexBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  IndexValue operator()(mlir::Value value) { return {this, value}; }
  IndexValue index(int64_t value) {
    return make<mlir::arith::ConstantIndexOp>(value);
  }
  IndexValue int32(int64_t value) {
    return make<mlir::arith::ConstantIntOp>(value, 32);
  }
  IndexValue zero(mlir::Type type) {
    return make<mlir::arith::ConstantOp>(getZeroAttr(type));
  }
  IndexValue atMost(mlir::Value x, mlir::Value bound) {
    return make<mlir::arith::MinUIOp>(x, bound);
  }
  IndexValue atLeast(mlir::Value x, mlir::Value bound) {
    return make<mlir::arith::MaxUIOp>(x, bound);
  }
  /// Whether x < y; both may be negative.
  IndexValue less(mlir::Value x, mlir::Value y) {
    return make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::slt, x, y);
  }
  IndexValue select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return make<mlir::arith::SelectOp>(condition, x, y);
  }
  /// The conjunction of two conditions, each of which may be null for true.
  IndexValue both(mlir::Value x, mlir::Value y) {
    if (!x || !y)
      return {this, x ? x : y};
    return make<mlir::arith::AndIOp>(x, y);
  }
  template <typename Op, typename... Args> IndexValue make(Args... args) {
    return {this, Op::create(*this, args...)};
  }
  /// Writes `body` under `condition`, or plainly where that is null for true.
  void when(mlir::Value condition, llvm::function_ref<void()> body) {
    if (!condition)
      return body();
    auto guarded = mlir::scf::IfOp::create(*this, condition,
                                           /*withElseRegion=*/false);
    InsertionGuard guard(*this);
    setInsertionPointToStart(guarded.thenBlock());
    body();
  }
  /// What `then` gives under `condition`, and else `otherwise`.
  using Branch = llvm::function_ref<llvm::SmallVector<mlir::Value>()>;
  llvm::SmallVector<mlir::Value> choose(mlir::Value condition, Branch then,
                                        Branch otherwise) {
    auto yield = [&](Branch branch) {
      return [this, branch](mlir::OpBuilder &, mlir::Location) {
        mlir::scf::YieldOp::create(*this, branch());
      };
    };
    return llvm::SmallVector<mlir::Value>(
        mlir::scf::IfOp::create(*this, condition, yield(then), yield(otherwise))
            .getResults());
  }
};

inline IndexValue IndexValue::like(int64_t number) const {
  mlir::TypedAttr attr =
      b->getIntegerAttr(mlir::getElementTypeOrSelf(value), number);
  if (auto vector = llvm::dyn_cast<mlir::VectorType>(value.getType()))
    attr = mlir::DenseElementsAttr::get(vector, mlir::Attribute(attr));
  return {b, mlir::arith::ConstantOp::create(*b, attr)};
}
inline IndexValue operator*(IndexValue x, int64_t y) {
  return y == 1 ? x : x * x.like(y);
}

} // namespace lnbwd

#endif // LNBWD_TRANSFORMS_LANE_INDEXBUILDER_H
