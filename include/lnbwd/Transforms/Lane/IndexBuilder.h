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

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace lnbwd {

/// All values are of the type index and not negative, but for conditions.
class IndexBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  mlir::Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(*this, value);
  }
  mlir::Value int32(int64_t value) {
    return mlir::arith::ConstantIntOp::create(*this, value, 32);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return mlir::arith::AddIOp::create(*this, x, y);
  }
  mlir::Value add(mlir::Value x, int64_t y) { return add(x, index(y)); }
  mlir::Value subtract(mlir::Value x, mlir::Value y) {
    return mlir::arith::SubIOp::create(*this, x, y);
  }
  mlir::Value multiply(mlir::Value x, mlir::Value y) {
    return mlir::arith::MulIOp::create(*this, x, y);
  }
  mlir::Value multiply(mlir::Value x, int64_t y) {
    return y == 1 ? x : multiply(x, index(y));
  }
  mlir::Value divide(mlir::Value x, int64_t y) {
    return mlir::arith::DivUIOp::create(*this, x, index(y));
  }
  mlir::Value remainder(mlir::Value x, int64_t y) {
    return mlir::arith::RemUIOp::create(*this, x, index(y));
  }
  mlir::Value exclusiveOr(mlir::Value x, mlir::Value y) {
    return mlir::arith::XOrIOp::create(*this, x, y);
  }
  mlir::Value smaller(mlir::Value x, mlir::Value y) {
    return mlir::arith::MinSIOp::create(*this, x, y);
  }
  mlir::Value atMost(mlir::Value x, mlir::Value bound) {
    return mlir::arith::MinUIOp::create(*this, x, bound);
  }
  mlir::Value atLeast(mlir::Value x, mlir::Value bound) {
    return mlir::arith::MaxUIOp::create(*this, x, bound);
  }
  mlir::Value less(mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(*this, mlir::arith::CmpIPredicate::slt,
                                       x, y);
  }
  mlir::Value below(mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(*this, mlir::arith::CmpIPredicate::ult,
                                       x, y);
  }
  mlir::Value equal(mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(*this, mlir::arith::CmpIPredicate::eq, x,
                                       y);
  }
  mlir::Value isZero(mlir::Value x) { return equal(x, index(0)); }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return mlir::arith::SelectOp::create(*this, condition, x, y);
  }
  /// The conjunction of two conditions, each of which may be null for true.
  mlir::Value both(mlir::Value x, mlir::Value y) {
    if (!x || !y)
      return x ? x : y;
    return mlir::arith::AndIOp::create(*this, x, y);
  }
  mlir::Value zero(mlir::Type type) {
    return mlir::arith::ConstantOp::create(*this, getZeroAttr(type));
  }
  mlir::Value blockId(mlir::gpu::Dimension dimension) {
    return mlir::gpu::BlockIdOp::create(*this, dimension);
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

} // namespace lnbwd

#endif // LNBWD_TRANSFORMS_LANE_INDEXBUILDER_H
