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
// What several formulas have in common is a function on rows.
//
//===----------------------------------------------------------------------===//

#include "ArgumentRoles.h"
#include "RowBuilder.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

namespace lnbwd {
#define GEN_PASS_DEF_LOWERTOROWWISEPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {

/// The normalised rows, (x - mean) * rstd (LayerNorm) or x * rstd, and what is
/// known of x.
struct Statistics {
  Value mean;
  Value xhat;
  Value rstd;
};

/// Either saved, or of the row `x` of float32.
///
/// The first sum gives the mean, rounded; what is left of the mean in the
/// centred row is summed with its squares and taken off again. So the variance
/// is that of small numbers, and a mean beside which the deviations are small
/// costs them nothing. Textbooks leave this out.
class StatisticsBuilder {
public:
  StatisticsBuilder(RowBuilder &b, int64_t length, double epsilon,
                    bool textbook = false)
      : b(b), length(length), overN(b.constant(1.0 / double(length))),
        epsilon(b.constant(epsilon)), textbook(textbook) {}

  Statistics saved(Value x, Value mean, Value rstd) {
    // The negated mean is added: packed float32 has additions only.
    Value centred = b.add(x, b.spread(b.negate(mean)));
    return {mean, b.mul(centred, b.spread(rstd)), rstd};
  }
  Statistics computed(Value x) {
    Value sum = b.rowSum(x);
    Value mean = b.mul(sum, overN);
    Value centred = b.add(x, b.spread(b.negate(mean)));
    if (textbook) {
      Value rstd = rstdOf(b.mul(b.rowSum(b.mul(centred, centred)), overN));
      return {mean, b.mul(centred, b.spread(rstd)), rstd};
    }
    Value left = b.mul(b.rowSum(centred), overN);
    Value squares = b.rowSum(b.mul(centred, centred));
    Value square = b.mul(squares, overN);
    // Not below 0 by rounding; and where the squares overflow, so may left^2.
    Value zero = b.constant(0.0);
    Value infinity = b.constant(std::numeric_limits<double>::infinity());
    Value difference =
        b.add(divide(squares, square), b.negate(b.mul(left, left)));
    Value variance =
        b.select(b.less(square, infinity),
                 b.select(b.less(zero, difference), difference, zero), square);
    // (centred - left) * rstd, rounded once.
    Value rstd = rstdOf(variance);
    Value scale = b.spread(rstd);
    Value shift = b.spread(b.mul(b.negate(left), rstd));
    return {chooseMean(sum, mean, left, rstd), b.fma(centred, scale, shift),
            rstd};
  }
  /// Without a mean.
  Statistics computedAroundZero(Value x) {
    Value rstd = rstdOf(b.mul(b.rowSum(b.mul(x, x)), overN));
    return {Value(), b.mul(x, b.spread(rstd)), rstd};
  }

private:
  /// `sum` / N, of which `estimate` is the product with 1/N: without the
  /// rounding of 1/N. Both finite.
  Value divide(Value sum, Value estimate) {
    if (llvm::isPowerOf2_64(uint64_t(length)))
      return estimate;
    Value remainder = b.fma(estimate, b.constant(-double(length)), sum);
    return b.fma(remainder, overN, estimate);
  }
  /// The mean to save. Where it is small beside the deviations, the elements of
  /// x are much coarser than it is, x - mean is rounded alike in all that are
  /// of a size, and `left` is mostly the sum of those roundings: the first sum
  /// is better then. One lane of a row computes this: few operations, lest
  /// NVIDIA's assembler makes them a branch, which all of the row wait for.
  Value chooseMean(Value sum, Value mean, Value left, Value rstd) {
    Value size = b.abs(b.mul(sum, rstd));
    Value isSmall = b.less(size, b.constant(0.25 * double(length)));
    return b.add(mean, b.select(isSmall, b.constant(0.0), left));
  }
  Value rstdOf(Value variance) { return b.rsqrt(b.add(variance, epsilon)); }

  RowBuilder &b;
  int64_t length;
  Value overN;
  Value epsilon;
  bool textbook;
};

} // namespace

/// x, with the residual where there is one.
static Value addResidual(RowBuilder &b, RowProgram &program) {
  Value x = b.widen(program.get("x"));
  if (Value residual = program.get("residual"))
    return b.add(x, b.widen(residual));
  return x;
}

/// gamma * row + beta, of what there is of gamma and beta.
static Value applyColumns(RowBuilder &b, RowProgram &program, Value row,
                          bool zeroCentred) {
  Value gamma = program.get("gamma");
  Value beta = program.get("beta");
  if (gamma) {
    gamma = b.widen(gamma);
    row = zeroCentred ? b.add(b.mul(gamma, row), row) : b.mul(gamma, row);
  }
  return beta ? b.add(row, b.widen(beta)) : row;
}

/// xhat from the output: (y - beta) / gamma, clamped to the sqrt(N) that no
/// xhat exceeds, and 0 where gamma is.
static Value invertColumns(RowBuilder &b, RowProgram &program, bool zeroCentred,
                           int64_t length) {
  Value xhat = b.widen(program.get("y"));
  if (Value beta = program.get("beta"))
    xhat = b.add(xhat, b.negate(b.widen(beta)));
  Value gamma = program.get("gamma");
  if (!gamma)
    return xhat;
  gamma = b.widen(gamma);
  if (zeroCentred)
    gamma = b.add(gamma, b.spread(b.constant(1.0)));
  // Of all but subnormal numbers the reciprocal is finite.
  Value isLost = b.less(
      b.abs(gamma), b.spread(b.constant(std::numeric_limits<float>::min())));
  Value zero = b.spread(b.constant(0.0));
  Value one = b.spread(b.constant(1.0));
  Value inverse = b.div(one, b.select(isLost, one, gamma));
  Value bound = b.spread(b.constant(std::sqrt(double(length))));
  return b.select(isLost, zero, b.clamp(b.mul(xhat, inverse), bound));
}

/// The outputs of a forward pass, in the order of the row program's.
template <typename OpTy>
static void yieldForward(RowBuilder &b, RowProgram &program, OpTy op, Value sum,
                         const Statistics &statistics) {
  SmallVector<Value> outputs;
  if (op.getY())
    outputs.push_back(b.narrow(
        applyColumns(b, program, statistics.xhat, op.getZeroCentredGamma()),
        op.getY()));
  if (op.getSum())
    outputs.push_back(b.narrow(sum, op.getSum()));
  if (program.hasOutput("mean"))
    outputs.push_back(statistics.mean);
  if (op.getRstd())
    outputs.push_back(statistics.rstd);
  b.yield(outputs);
}

/// The outputs of a gradient. With wdy = gamma * dy:
///   dx = rstd * (wdy - xhat * sum(wdy * xhat) / N - sum(wdy) / N) + dsum
/// written as fused multiply-adds; the second sum belongs to the mean. The mean
/// is subtracted before the scaling: folded into the multiply-add it would lose
/// what a large mean leaves.
template <typename OpTy>
static void yieldGradients(RowBuilder &b, RowProgram &program, OpTy op,
                           Value xhat, Value rstd, bool hasMean) {
  Value dy = b.widen(program.get("dy"));
  SmallVector<Value> outputs;
  if (op.getDx() || op.getDresidual()) {
    Value wdy = dy;
    if (Value gamma = program.get("gamma")) {
      gamma = b.widen(gamma);
      wdy = op.getZeroCentredGamma() ? b.fma(gamma, dy, dy) : b.mul(gamma, dy);
    }
    Value weightedSum = b.rowSum(b.mul(wdy, xhat));
    Value sum = hasMean ? b.rowSum(wdy) : Value();
    Value scale =
        b.mul(rstd, b.constant(-1.0 / double(program.getRowLength())));
    Value c1 = b.spread(b.mul(weightedSum, scale));
    Value dx = hasMean ? b.fma(xhat, c1, b.spread(b.mul(sum, scale)))
                       : b.mul(xhat, c1);
    dx = b.fma(wdy, b.spread(rstd), dx);
    if (Value dsum = program.get("dsum"))
      dx = b.add(dx, b.widen(dsum));
    for (Value output : {op.getDx(), op.getDresidual()})
      if (output)
        outputs.push_back(b.narrow(dx, output));
  }
  if (op.getDgamma())
    outputs.push_back(b.mul(dy, xhat));
  if (program.hasOutput("dbeta"))
    outputs.push_back(dy);
  b.yield(outputs);
}

namespace {
struct LowerLayerNorm : OpRewritePattern<LayerNormOp> {
  LowerLayerNorm(MLIRContext *context, bool textbook)
      : OpRewritePattern(context), textbook(textbook) {}

  LogicalResult matchAndRewrite(LayerNormOp op,
                                PatternRewriter &rewriter) const override {
    RowProgram program;
    program.rows({{"x", op.getX()}, {"residual", op.getResidual()}});
    program.columns({{"gamma", op.getGamma()}, {"beta", op.getBeta()}});
    program.rowOutputs({{"y", op.getY()}, {"sum", op.getSum()}});
    program.scalarOutputs({{"mean", op.getMean()}, {"rstd", op.getRstd()}});
    program.replace(rewriter, op, op.getRowRank(), [&](RowBuilder &b) {
      Value sum = addResidual(b, program);
      StatisticsBuilder statistics(b, program.getRowLength(),
                                   op.getEpsilon().convertToDouble(), textbook);
      yieldForward(b, program, op, sum, statistics.computed(sum));
    });
    return success();
  }

  bool textbook;
};

struct LowerRmsNorm : OpRewritePattern<RmsNormOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RmsNormOp op,
                                PatternRewriter &rewriter) const override {
    RowProgram program;
    program.rows({{"x", op.getX()}, {"residual", op.getResidual()}});
    program.columns({{"gamma", op.getGamma()}});
    program.rowOutputs({{"y", op.getY()}, {"sum", op.getSum()}});
    program.scalarOutputs({{"rstd", op.getRstd()}});
    program.replace(rewriter, op, op.getRowRank(), [&](RowBuilder &b) {
      Value sum = addResidual(b, program);
      StatisticsBuilder statistics(b, program.getRowLength(),
                                   op.getEpsilon().convertToDouble());
      yieldForward(b, program, op, sum, statistics.computedAroundZero(sum));
    });
    return success();
  }
};

struct LowerLayerNormBwd : OpRewritePattern<LayerNormBwdOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LayerNormBwdOp op,
                                PatternRewriter &rewriter) const override {
    RowProgram program;
    program.rows({{"dy", op.getDy()},
                  {"x", op.getX()},
                  {"y", op.getY()},
                  {"dsum", op.getDsum()}});
    program.columns({{"gamma", op.getGamma()}, {"beta", op.getBeta()}});
    program.scalars({{"mean", op.getMean()}, {"rstd", op.getRstd()}});
    program.rowOutputs({{"dx", op.getDx()}, {"dresidual", op.getDresidual()}});
    program.columnSums({{"dgamma", op.getDgamma()}, {"dbeta", op.getDbeta()}},
                       op.getAccumulate());
    program.replace(rewriter, op, op.getRowRank(), [&](RowBuilder &b) {
      Value xhat;
      Value rstd = program.get("rstd");
      if (op.getY()) {
        xhat = invertColumns(b, program, op.getZeroCentredGamma(),
                             program.getRowLength());
      } else {
        StatisticsBuilder builder(b, program.getRowLength(),
                                  op.getEpsilon().convertToDouble());
        Value x = b.widen(program.get("x"));
        Statistics statistics =
            rstd ? builder.saved(x, program.get("mean"), rstd)
                 : builder.computed(x);
        rstd = statistics.rstd;
        xhat = statistics.xhat;
      }
      yieldGradients(b, program, op, xhat, rstd, /*hasMean=*/true);
    });
    return success();
  }
};

struct LowerRmsNormBwd : OpRewritePattern<RmsNormBwdOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RmsNormBwdOp op,
                                PatternRewriter &rewriter) const override {
    RowProgram program;
    program.rows({{"dy", op.getDy()},
                  {"x", op.getX()},
                  {"y", op.getY()},
                  {"dsum", op.getDsum()}});
    program.columns({{"gamma", op.getGamma()}});
    program.scalars({{"rstd", op.getRstd()}});
    program.rowOutputs({{"dx", op.getDx()}, {"dresidual", op.getDresidual()}});
    program.columnSums({{"dgamma", op.getDgamma()}}, op.getAccumulate());
    program.replace(rewriter, op, op.getRowRank(), [&](RowBuilder &b) {
      Value xhat;
      Value rstd = program.get("rstd");
      if (op.getY()) {
        xhat = invertColumns(b, program, op.getZeroCentredGamma(),
                             program.getRowLength());
      } else {
        Value x = b.widen(program.get("x"));
        if (!rstd)
          rstd = StatisticsBuilder(b, program.getRowLength(),
                                   op.getEpsilon().convertToDouble())
                     .computedAroundZero(x)
                     .rstd;
        xhat = b.mul(x, b.spread(rstd));
      }
      yieldGradients(b, program, op, xhat, rstd, /*hasMean=*/false);
    });
    return success();
  }
};

} // namespace

void lnbwd::populateLowerToRowwisePatterns(RewritePatternSet &patterns,
                                           bool textbook) {
  patterns.add<LowerLayerNorm>(patterns.getContext(), textbook);
  patterns.add<LowerRmsNorm, LowerLayerNormBwd, LowerRmsNormBwd>(
      patterns.getContext());
}

/// Whether the kernel itself computes the statistics.
static bool computesStatistics(LayerNormOp) { return true; }
static bool computesStatistics(RmsNormOp) { return true; }
template <typename OpTy> static bool computesStatistics(OpTy op) {
  return op.getX() && !op.getRstd();
}

template <typename OpTy> static NamedOperationAttr describeOperation(OpTy op) {
  MLIRContext *context = op.getContext();
  return NamedOperationAttr::get(
      context, StringAttr::get(context, op->getName().stripDialect()),
      computesStatistics(op) ? op.getEpsilonAttr() : FloatAttr(),
      op.getZeroCentredGamma() && op.getGamma());
}

/// The only operation of this dialect in the function, if it is a named one:
/// what several compute together has no name.
static Operation *getOnlyNamedOperation(FunctionOpInterface function) {
  SmallVector<Operation *> operations;
  function->walk([&](Operation *op) {
    if (isa<LayerNormOp, RmsNormOp, LayerNormBwdOp, RmsNormBwdOp, RowwiseOp>(
            op))
      operations.push_back(op);
  });
  if (operations.size() != 1 || isa<RowwiseOp>(operations.front()))
    return nullptr;
  return operations.front();
}

NamedOperationAttr lnbwd::describeNamedOperation(FunctionOpInterface function) {
  Operation *op = getOnlyNamedOperation(function);
  if (!op)
    return {};
  return llvm::TypeSwitch<Operation *, NamedOperationAttr>(op)
      .Case<LayerNormOp, RmsNormOp, LayerNormBwdOp, RmsNormBwdOp>(
          [](auto op) { return describeOperation(op); });
}

/// Has the function of a named operation say which it is.
static LogicalResult recordOperation(FunctionOpInterface function) {
  NamedOperationAttr described = describeNamedOperation(function);
  if (!described)
    return success();
  if (Attribute known = function->getAttr(operationAttr);
      known && known != described)
    return getOnlyNamedOperation(function)->emitOpError(
               "is not what its function's ")
           << operationAttr << " says: expected " << described << ", got "
           << known << "; leave the attribute out, it is set here";
  function->setAttr(operationAttr, described);
  return success();
}

namespace {
class LowerToRowwise
    : public lnbwd::impl::LowerToRowwisePassBase<LowerToRowwise> {
public:
  using LowerToRowwisePassBase::LowerToRowwisePassBase;

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](FunctionOpInterface function) {
      return WalkResult(recordOperation(function));
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    getOperation()->walk([&](Operation *op) {
      if (isa<LayerNormOp, RmsNormOp, LayerNormBwdOp, RmsNormBwdOp>(op))
        ++numLowered;
    });
    RewritePatternSet patterns(&getContext());
    populateLowerToRowwisePatterns(patterns, textbook);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    // Now, before an operand that nothing reads is dropped.
    result = getOperation()->walk(
        [](RowwiseOp op) { return WalkResult(recordArgumentRoles(op)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
