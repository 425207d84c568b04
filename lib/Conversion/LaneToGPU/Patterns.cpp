//===- Patterns.cpp - What all targets lower alike ------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "lnbwd/Transforms/Lane/WorkgroupMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

#include <numeric>

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// What patterns share
//===----------------------------------------------------------------------===//

Value lnbwd::emitIndex(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

void lnbwd::emitIf(ImplicitLocOpBuilder &b, Value condition,
                   function_ref<void()> body, int64_t groups) {
  if (!condition)
    return body();
  auto guarded = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  if (groups)
    notePartOfGroups(guarded, groups);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(guarded.thenBlock());
  body();
}

Value lnbwd::emitBoth(ImplicitLocOpBuilder &b, Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::AndIOp::create(b, lhs, rhs);
}

Value lnbwd::emitIsFirstGroup(ImplicitLocOpBuilder &b,
                              const LaneLayout &layout) {
  if (layout.type.getGroups() == 1)
    return {};
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, layout.group,
                               emitIndex(b, 0));
}

/// `expr` of `indices`, which are not negative.
static Value emitIndexExpr(ImplicitLocOpBuilder &b, AffineExpr expr,
                           ValueRange indices) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return indices[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return emitIndex(b, constant.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = emitIndexExpr(b, binary.getLHS(), indices);
  Value rhs = emitIndexExpr(b, binary.getRHS(), indices);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(b, lhs, rhs);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(b, lhs, rhs);
  case AffineExprKind::FloorDiv:
    return arith::DivUIOp::create(b, lhs, rhs);
  default:
    assert(binary.getKind() == AffineExprKind::Mod && "no view has others");
    return arith::RemUIOp::create(b, lhs, rhs);
  }
}

/// How many neighbouring columns of a view are one place after the other, or
/// one place: the columns that begin at a multiple of it.
static int64_t getPiece(AffineMap map) {
  int64_t piece = 0;
  unsigned column = map.getNumDims() - 1;
  map.walkExprs([&](AffineExpr expr) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    auto constant = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS())
                           : AffineConstantExpr();
    if (constant && binary.getKind() != AffineExprKind::Mul &&
        binary.isFunctionOfDim(column))
      piece = std::gcd(piece, constant.getValue());
  });
  return piece;
}

/// How far the place of the second column is behind that of the first.
static int64_t getColumnStep(AffineMap map) {
  auto locate = [&](int64_t column) {
    auto index = IndexType::get(map.getContext());
    SmallVector<Attribute> at(map.getNumDims(), IntegerAttr::get(index, 0));
    at.back() = IntegerAttr::get(index, column);
    SmallVector<Attribute> place;
    (void)map.constantFold(at, place);
    return cast<IntegerAttr>(place.back()).getInt();
  };
  return locate(1) - locate(0);
}

Value lnbwd::emitLoadBy(ImplicitLocOpBuilder &b, Type type, Value memory,
                        ValueRange indices, BufferLoad load) {
  auto view = memory.getDefiningOp<lane::ViewOp>();
  if (!view)
    return load(type, memory, indices);
  AffineMap map = cast<MemRefType>(memory.getType()).getLayout().getAffineMap();
  auto loadAt = [&](Type type, ValueRange indices) {
    SmallVector<Value> place;
    for (AffineExpr expr : map.getResults())
      place.push_back(emitIndexExpr(b, expr, indices));
    return load(type, view.getMemory(), place);
  };
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return loadAt(type, indices);
  Type element = vector.getElementType();
  int64_t width = vector.getNumElements();
  // Side by side, or one for all of them; else one by one.
  if (getPiece(map) % width == 0)
    return getColumnStep(map) == 1 ? loadAt(type, indices)
                                   : vector::BroadcastOp::create(
                                         b, vector, loadAt(element, indices));
  SmallVector<Value> elements, at(indices);
  for (int64_t i = 0; i < width; ++i) {
    at.back() = arith::AddIOp::create(b, indices.back(), emitIndex(b, i));
    elements.push_back(loadAt(element, at));
  }
  return vector::FromElementsOp::create(b, vector, elements);
}

Value lnbwd::emitLoad(ImplicitLocOpBuilder &b, Type type, Value memory,
                      ValueRange indices) {
  return emitLoadBy(b, type, memory, indices,
                    [&](Type type, Value memory, ValueRange indices) -> Value {
                      auto vector = dyn_cast<VectorType>(type);
                      if (!vector)
                        return memref::LoadOp::create(b, memory, indices);
                      return vector::LoadOp::create(
                          b, vector, memory, indices,
                          /*nontemporal=*/false,
                          lane::getAccessAlignment(vector));
                    });
}

void lnbwd::emitStore(ImplicitLocOpBuilder &b, Value vector, Value memory,
                      ValueRange indices) {
  vector::StoreOp::create(
      b, vector, memory, indices, /*nontemporal=*/false,
      lane::getAccessAlignment(cast<VectorType>(vector.getType())));
}

Value lnbwd::emitOffsetInAllocation(ImplicitLocOpBuilder &b, Value memory,
                                    Value offset) {
  auto layout = dyn_cast<StridedLayoutAttr>(
      cast<MemRefType>(memory.getType()).getLayout());
  if (!layout || layout.getOffset() == 0)
    return offset;
  auto metadata = memref::ExtractStridedMetadataOp::create(b, memory);
  return arith::AddIOp::create(b, metadata.getOffset(), offset);
}

void lnbwd::notePartOfGroups(Operation *op, int64_t groups) {
  op->setDiscardableAttr(lane::partAttr,
                         lane::PartAttr::getOfGroups(op->getContext(), groups));
}

namespace {
//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

struct LowerRow : LayoutPattern<lane::RowOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult lower(lane::RowOp op, const LaneLayout &layout,
                      PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<arith::AddIOp>(op, op.getTile(), layout.group);
    return success();
  }
};

struct LowerGroup : LayoutPattern<lane::GroupOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult lower(lane::GroupOp op, const LaneLayout &layout,
                      PatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, layout.group);
    return success();
  }
};

struct LowerLane : LayoutPattern<lane::LaneOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult lower(lane::LaneOp op, const LaneLayout &layout,
                      PatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, layout.lane);
    return success();
  }
};

struct LowerInBounds : LayoutPattern<lane::InBoundsOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult lower(lane::InBoundsOp op, const LaneLayout &layout,
                      PatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, layout.accesses[op.getAccess()].inBounds);
    return success();
  }
};

struct LowerColumnIndex : LayoutPattern<lane::ColumnIndexOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult lower(lane::ColumnIndexOp op, const LaneLayout &layout,
                      PatternRewriter &rewriter) const override {
    if (!op.getAccess())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    VectorType type = op.getType();
    Value first = arith::IndexCastOp::create(
        b, b.getI32Type(), layout.accesses[*op.getAccess()].loadColumn);
    SmallVector<int32_t> steps(size_t(type.getNumElements()));
    std::iota(steps.begin(), steps.end(), 0);
    Value step = arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, ArrayRef<int32_t>(steps)));
    Value spread = vector::BroadcastOp::create(b, type, first);
    rewriter.replaceOpWithNewOp<arith::AddIOp>(op, spread, step);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

struct LowerLoad : LayoutPattern<lane::LoadOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult lower(lane::LoadOp op, const LaneLayout &layout,
                      PatternRewriter &rewriter) const override {
    if (!op.getAccess())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value column = layout.accesses[*op.getAccess()].loadColumn;
    SmallVector<Value> loaded;
    for (auto [memory, fragment] :
         llvm::zip_equal(op.getMemories(), op.getFragments()))
      loaded.push_back(emitLoad(b, cast<VectorType>(fragment.getType()), memory,
                                {op.getRow(), column}));
    rewriter.replaceOp(op, loaded);
    return success();
  }
};

struct LowerLoadColumns : LayoutPattern<lane::LoadColumnsOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult lower(lane::LoadColumnsOp op, const LaneLayout &layout,
                      PatternRewriter &rewriter) const override {
    size_t accesses = layout.accesses.size();
    if (op.getNumResults() != op.getMemories().size() * accesses ||
        cast<VectorType>(op.getResult(0).getType()).getRank() != 1)
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> loaded(op.getNumResults());
    for (size_t c = 0; c < accesses; ++c)
      for (auto [i, memory] : llvm::enumerate(op.getMemories()))
        loaded[i * accesses + c] =
            emitLoad(b, layout.type.getAccessType(getElementTypeOrSelf(memory)),
                     memory, layout.accesses[c].loadColumn);
    rewriter.replaceOp(op, loaded);
    return success();
  }
};

struct LowerLoadScalar : OpRewritePattern<lane::LoadScalarOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(lane::LoadScalarOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(
        op, emitLoad(b, op.getScalar().getType(), op.getMemory(), op.getRow()));
    return success();
  }
};

/// Straight to the LLVM level's operation: no level between has one that says
/// what it is for.
struct LowerUndefinedRow : OpRewritePattern<lane::UndefinedRowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(lane::UndefinedRowOp op,
                                PatternRewriter &rewriter) const override {
    if (!LLVM::isCompatibleType(op.getType()))
      return failure();
    rewriter.replaceOpWithNewOp<LLVM::PoisonOp>(op, op.getType());
    return success();
  }
};

struct LowerStore : LayoutPattern<lane::StoreOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult lower(lane::StoreOp op, const LaneLayout &layout,
                      PatternRewriter &rewriter) const override {
    if (!op.getAccess())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    const AccessColumns &access = layout.accesses[*op.getAccess()];
    emitIf(b, emitBoth(b, access.inBounds, op.getInBounds()), [&] {
      emitStore(b, op.getFragment(), op.getMemory(),
                {op.getRow(), access.column});
    });
    rewriter.eraseOp(op);
    return success();
  }
};

/// The first lane has the first columns, of the row in the first workgroup.
struct LowerStoreScalar : LayoutPattern<lane::StoreScalarOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult lower(lane::StoreScalarOp op, const LaneLayout &layout,
                      PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                          layout.lane, emitIndex(b, 0));
    if (Value first = layout.first; first && !op.getOwnColumns())
      isFirst = emitBoth(b, isFirst,
                         arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                               first, emitIndex(b, 0)));
    emitIf(b, emitBoth(b, isFirst, op.getInBounds()), [&] {
      memref::StoreOp::create(b, op.getScalar(), op.getMemory(), op.getRow());
    });
    rewriter.eraseOp(op);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// The loop over the rows
//===----------------------------------------------------------------------===//

struct LowerForRows : OpRewritePattern<lane::ForRowsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(lane::ForRowsOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getEntered() || op.getOnce())
      return failure();
    auto loop = scf::ForOp::create(rewriter, op.getLoc(), op.getBegin(),
                                   op.getEnd(), op.getStep(), op.getState());
    // A loop without state comes with its terminator.
    Block *body = loop.getBody();
    while (!body->empty())
      rewriter.eraseOp(&body->back());
    lane::YieldOp yield = op.getYield();
    rewriter.mergeBlocks(&op.getBody().front(), body, body->getArguments());
    rewriter.setInsertionPoint(yield);
    rewriter.replaceOpWithNewOp<scf::YieldOp>(yield, yield.getValues());
    rewriter.replaceOp(op, loop);
    return success();
  }
};

/// A single iteration, if there is one. Nothing in it is the same for several
/// iterations, so that nothing is computed ahead and kept in registers until it
/// is needed.
struct LowerSingleIteration : OpRewritePattern<lane::ForRowsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(lane::ForRowsOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getOnce())
      return failure();
    Value inBounds =
        arith::CmpIOp::create(rewriter, op.getLoc(), arith::CmpIPredicate::ult,
                              op.getBegin(), op.getEnd());
    bool hasState = !op.getState().empty();
    auto iteration =
        scf::IfOp::create(rewriter, op.getLoc(), op.getResultTypes(), inBounds,
                          /*withElseRegion=*/hasState);
    if (hasState) {
      rewriter.setInsertionPointToStart(iteration.elseBlock());
      scf::YieldOp::create(rewriter, op.getLoc(), op.getState());
    }
    // An iteration without state comes with its terminator.
    Block *body = iteration.thenBlock();
    while (!body->empty())
      rewriter.eraseOp(&body->back());
    lane::YieldOp yield = op.getYield();
    SmallVector<Value> arguments{op.getBegin()};
    llvm::append_range(arguments, op.getState());
    rewriter.mergeBlocks(&op.getBody().front(), body, arguments);
    rewriter.setInsertionPoint(yield);
    rewriter.replaceOpWithNewOp<scf::YieldOp>(yield, yield.getValues());
    rewriter.replaceOp(op, iteration);
    return success();
  }
};

/// A loop that tests at its end.
struct LowerEnteredForRows : OpRewritePattern<lane::ForRowsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(lane::ForRowsOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getEntered())
      return failure();
    SmallVector<Value> initial{op.getBegin()};
    llvm::append_range(initial, op.getState());
    TypeRange types{ValueRange(initial)};
    auto loop = scf::WhileOp::create(rewriter, op.getLoc(), types, initial);
    SmallVector<Location> locations(initial.size(), op.getLoc());
    Block *again = rewriter.createBlock(&loop.getAfter(), {}, types, locations);
    scf::YieldOp::create(rewriter, op.getLoc(), again->getArguments());
    Block *iteration =
        rewriter.createBlock(&loop.getBefore(), {}, types, locations);
    lane::YieldOp yield = op.getYield();
    rewriter.mergeBlocks(&op.getBody().front(), iteration,
                         iteration->getArguments());
    ImplicitLocOpBuilder b(yield.getLoc(), yield, rewriter.getListener());
    SmallVector<Value> next{
        arith::AddIOp::create(b, iteration->getArgument(0), op.getStep())};
    llvm::append_range(next, yield.getValues());
    Value isNext = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                         next.front(), op.getEnd());
    scf::ConditionOp::create(b, isNext, next);
    rewriter.eraseOp(yield);
    rewriter.replaceOp(op, loop.getResults().drop_front());
    return success();
  }
};

struct LowerAccumulate : OpRewritePattern<lane::AccumulateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(lane::AccumulateOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value added = arith::AddFOp::create(b, op.getSum(), op.getTerm(),
                                        arith::FastMathFlags::contract);
    if (op.getInBounds())
      added = arith::SelectOp::create(b, op.getInBounds(), added, op.getSum());
    rewriter.replaceOp(op, added);
    return success();
  }
};

/// Where a target has no better one.
struct LowerBarrier : OpRewritePattern<lane::BarrierOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(lane::BarrierOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<gpu::BarrierOp>(op);
    return success();
  }
};
} // namespace

void lnbwd::populateLaneToGPUPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerRow, LowerGroup, LowerLane, LowerInBounds, LowerColumnIndex,
               LowerLoad, LowerLoadColumns, LowerStore, LowerStoreScalar,
               LowerLoadScalar, LowerUndefinedRow, LowerForRows,
               LowerSingleIteration, LowerEnteredForRows, LowerAccumulate,
               LowerBarrier>(patterns.getContext());
}
