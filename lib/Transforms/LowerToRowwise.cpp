//===- LowerToRowwise.cpp - Named operations to row programs --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pattern for each named operation, which writes its formula down for one
// row. A new operation of the family is a new pattern here and nothing else.
//
//===----------------------------------------------------------------------===//

#include "ArgumentRoles.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace lnbwd {
#define GEN_PASS_DEF_LOWERTOROWWISEPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {

/// Writes the region of a row program: short names for the operations that the
/// formulas are made of, all on `vector<N x f32>` and float32 scalars.
/// Multiplications and additions may be contracted to fused ones, which round
/// once instead of twice.
class RowBuilder {
public:
  RowBuilder(OpBuilder &builder, Location loc, RowwiseOp op)
      : b(loc, builder), op(op),
        rowType(VectorType::get({op.getRowLength()}, b.getF32Type())),
        contract(arith::FastMathFlags::contract) {}

  /// Widens a row or a scalar to float32.
  Value widen(Value value) {
    if (getElementTypeOrSelf(value.getType()).isF32())
      return value;
    Type wide =
        isa<VectorType>(value.getType()) ? Type(rowType) : Type(b.getF32Type());
    return arith::ExtFOp::create(b, wide, value);
  }
  /// Rounds a float32 row to the element of output `index`.
  Value narrow(Value value, Value output) {
    Type element = getElementTypeOrSelf(output.getType());
    if (element.isF32())
      return value;
    return arith::TruncFOp::create(
        b, VectorType::get({op.getRowLength()}, element), value);
  }
  Value spread(Value scalar) {
    return vector::BroadcastOp::create(b, rowType, scalar);
  }
  Value add(Value lhs, Value rhs) {
    return arith::AddFOp::create(b, lhs, rhs, contract);
  }
  Value negate(Value value) { return arith::NegFOp::create(b, value); }
  Value mul(Value lhs, Value rhs) {
    return arith::MulFOp::create(b, lhs, rhs, contract);
  }
  Value fma(Value x, Value y, Value z) {
    return vector::FMAOp::create(b, x, y, z);
  }
  Value rowSum(Value row) {
    return vector::ReductionOp::create(b, vector::CombiningKind::ADD, row);
  }
  Value constant(double value) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
  }
  void yield(ValueRange values) { YieldOp::create(b, values); }

private:
  ImplicitLocOpBuilder b;
  RowwiseOp op;
  VectorType rowType;
  arith::FastMathFlags contract;
};
} // namespace

/// Appends the region's block, with one argument for each input of `op`.
static Block *addBody(OpBuilder &builder, RowwiseOp op) {
  SmallVector<Type> types;
  SmallVector<Location> locs;
  auto add = [&](OperandRange values, bool scalar) {
    for (Value value : values) {
      Type element = getElementTypeOrSelf(value.getType());
      types.push_back(scalar ? element
                             : VectorType::get({op.getRowLength()}, element));
      locs.push_back(op.getLoc());
    }
  };
  add(op.getRows(), false);
  add(op.getColumns(), false);
  add(op.getScalars(), true);
  return builder.createBlock(&op.getBody(), op.getBody().end(), types, locs);
}

namespace {
struct LowerLayerNormBwd : OpRewritePattern<LayerNormBwdOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LayerNormBwdOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<StringRef> names{"dy", "x"};
    SmallVector<Value> columns, rowOuts, columnSums;
    if (op.getGamma()) {
      columns.push_back(op.getGamma());
      names.push_back("gamma");
    }
    names.append({"mean", "rstd"});
    auto addOutput = [&](Value value, SmallVector<Value> &list,
                         StringRef name) {
      if (!value)
        return;
      list.push_back(value);
      names.push_back(name);
    };
    addOutput(op.getDx(), rowOuts, "dx");
    addOutput(op.getDgamma(), columnSums, "dgamma");
    addOutput(op.getDbeta(), columnSums, "dbeta");

    auto program = RowwiseOp::create(
        rewriter, op.getLoc(), op.getResultTypes(), "layer_norm_bwd",
        ValueRange{op.getDy(), op.getX()}, columns,
        ValueRange{op.getMean(), op.getRstd()}, rowOuts, ValueRange(),
        columnSums, rewriter.getStrArrayAttr(names), ScheduleAttr());
    {
      OpBuilder::InsertionGuard guard(rewriter);
      Block *body = addBody(rewriter, program);
      fillBody(rewriter, op, program, body->getArguments());
    }
    rewriter.replaceOp(op, program.getResults());
    return success();
  }

private:
  /// With xhat = (x - mean) * rstd and wdy = gamma * dy:
  ///   dx = rstd * (wdy - xhat * sum(wdy * xhat) / N - sum(wdy) / N)
  /// written as two fused multiply-adds. The mean is subtracted before the
  /// scaling: folded into the multiply-add it would lose what a large mean
  /// leaves.
  static void fillBody(OpBuilder &builder, LayerNormBwdOp op, RowwiseOp program,
                       ValueRange arguments) {
    RowBuilder b(builder, op.getLoc(), program);
    Value dy = b.widen(arguments[0]);
    Value x = b.widen(arguments[1]);
    Value mean = arguments[arguments.size() - 2];
    Value rstd = arguments.back();
    // The negated mean is added: packed float32 has additions only.
    Value centred = b.add(x, b.spread(b.negate(mean)));
    Value xhat = b.mul(centred, b.spread(rstd));

    SmallVector<Value> outputs;
    if (op.getDx()) {
      Value wdy = op.getGamma() ? b.mul(b.widen(arguments[2]), dy) : dy;
      Value weightedSum = b.rowSum(b.mul(wdy, xhat));
      Value sum = b.rowSum(wdy);
      Value scale = b.mul(rstd, b.constant(-1.0 / program.getRowLength()));
      Value dx = b.fma(xhat, b.spread(b.mul(weightedSum, scale)),
                       b.spread(b.mul(sum, scale)));
      outputs.push_back(b.narrow(b.fma(wdy, b.spread(rstd), dx), op.getDx()));
    }
    if (op.getDgamma())
      outputs.push_back(b.mul(dy, xhat));
    if (op.getDbeta())
      outputs.push_back(dy);
    b.yield(outputs);
  }
};

class LowerToRowwise
    : public lnbwd::impl::LowerToRowwisePassBase<LowerToRowwise> {
public:
  void runOnOperation() override {
    getOperation()->walk([&](LayerNormBwdOp) { ++numLowered; });
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerLayerNormBwd>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    // Now, before an operand that nothing reads is dropped.
    getOperation()->walk([](RowwiseOp op) { recordArgumentRoles(op); });
  }
};

} // namespace
