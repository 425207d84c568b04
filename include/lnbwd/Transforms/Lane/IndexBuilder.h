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
  mlir::Value less(mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(*this, mlir::arith::CmpIPredicate::slt,
                                       x, y);
  }
  mlir::Value below(mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(*this, mlir::arith::CmpIPredicate::ult,
                                       x, y);
  }
  mlir::Value isZero(mlir::Value x) {
    return mlir::arith::CmpIOp::create(*this, mlir::arith::CmpIPredicate::eq, x,
                                       index(0));
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return mlir::arith::SelectOp::create(*this, condition, x, y);
  }
  mlir::Value both(mlir::Value x, mlir::Value y) {
    return mlir::arith::AndIOp::create(*this, x, y);
  }
  mlir::Value zero(mlir::Type type) {
    return mlir::arith::ConstantOp::create(*this, getZeroAttr(type));
  }
  mlir::Value blockId(mlir::gpu::Dimension dimension) {
    return mlir::gpu::BlockIdOp::create(*this, dimension);
  }
};

} // namespace lnbwd

#endif // LNBWD_TRANSFORMS_LANE_INDEXBUILDER_H
