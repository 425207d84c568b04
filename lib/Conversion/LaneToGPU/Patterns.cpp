//===- Patterns.cpp - What all targets lower alike ------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
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

Value lnbwd::emitIsFirstGroup(IndexBuilder &b, const LaneLayout &layout) {
  if (layout.type.getGroups() == 1)
    return {};
  return b(layout.group) == 0;
}

/// `expr` of `indices`, which are not negative.
static Value emitIndexExpr(IndexBuilder &b, AffineExpr expr,
                           ValueRange indices) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return indices[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return b.index(constant.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = emitIndexExpr(b, binary.getLHS(), indices);
  Value rhs = emitIndexExpr(b, binary.getRHS(), indices);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return b(lhs) + rhs;
  case AffineExprKind::Mul:
    return b(lhs) * rhs;
  case AffineExprKind::FloorDiv:
    return b(lhs) / rhs;
  default:
    assert(binary.getKind() == AffineExprKind::Mod && "no view has others");
    return b(lhs) % rhs;
  }
}

/// Where `indices` of a view are in its memory.
static SmallVector<Value> emitPlace(IndexBuilder &b, const Buffer &view,
                                    ValueRange indices) {
  SmallVector<Value> at(indices), place;
  if (view.first)
    at.front() = b(at.front()) + view.first;
  for (AffineExpr expr : view.type.getLayout().getAffineMap().getResults())
    place.push_back(emitIndexExpr(b, expr, at));
  return place;
}

/// How many neighbouring columns of a view are one place after the other, or
/// one place: the columns that begin at a multiple of it.
static int64_t getPiece(AffineMap map) {
  int64_t piece = 0;
  lane::forEachCut(map,
                   [&](int64_t cut, bool) { piece = std::gcd(piece, cut); });
  return piece;
}

/// How far the place of the second column is behind that of the first.
static int64_t getColumnStep(AffineMap map) {
  return lane::locateColumn(map, 1) - lane::locateColumn(map, 0);
}

/// The bits of a column's number on which its place in a view does not depend.
static int64_t getRepeatedBits(MemRefType view) {
  int64_t bits = 0;
  for (int64_t bit = 1; bit < view.getShape().back(); bit *= 2)
    if (lane::getStep(view.getLayout().getAffineMap(), bit) == 0)
      bits |= bit;
  return bits;
}

/// How many of `width` columns, from a multiple of it on, one access of a view
/// may take: they lie side by side, and begin at a multiple of their number.
static int64_t getAlignedColumns(AffineMap map, int64_t width) {
  if (getPiece(map) % width != 0 || getColumnStep(map) != 1)
    return 1;
  AffineExpr column = getAffineDimExpr(map.getNumDims() - 1, map.getContext());
  AffineExpr first = map.getResults().back().replace(column, column * width);
  first = simplifyAffineExpr(first, map.getNumDims(), /*numSymbols=*/0);
  return std::gcd(width, first.getLargestKnownDivisor());
}

/// Whether one access of a view may take every `piece`th of `width` columns.
static bool takesEvery(AffineMap map, int64_t piece, int64_t width) {
  AffineExpr column = getAffineDimExpr(map.getNumDims() - 1, map.getContext());
  AffineMap pieces = simplifyAffineMap(map.replace(
      column, column * piece, map.getNumDims(), /*numResultSyms=*/0));
  return piece < width && width % piece == 0 &&
         getAlignedColumns(pieces, width / piece) == width / piece;
}

Value lnbwd::emitLoadBy(IndexBuilder &b, Type type, const Buffer &memory,
                        ValueRange indices, BufferLoad load) {
  if (!memory.isView())
    return load(type, memory.memory, indices);
  AffineMap map = memory.type.getLayout().getAffineMap();
  auto loadAt = [&](Type type, ValueRange indices) {
    return load(type, memory.memory, emitPlace(b, memory, indices));
  };
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return loadAt(type, indices);
  Type element = vector.getElementType();
  int64_t width = vector.getNumElements(), piece = getPiece(map);
  bool isRepeated = getColumnStep(map) == 0;
  if (piece % width == 0 && isRepeated)
    return vector::BroadcastOp::create(b, vector, loadAt(element, indices));
  SmallVector<Value> elements, at(indices);
  // Each element is of several columns.
  if (isRepeated && takesEvery(map, piece, width)) {
    Value part = loadAt(VectorType::get(width / piece, element), indices);
    for (Value one : vector::ToElementsOp::create(b, part).getResults())
      elements.append(piece, one);
    return vector::FromElementsOp::create(b, vector, elements);
  }
  // Side by side as far as that is aligned, or one by one.
  int64_t aligned = getAlignedColumns(map, width);
  if (aligned == width)
    return loadAt(type, indices);
  for (int64_t i = 0; i < width; i += aligned) {
    at.back() = b(indices.back()) + i;
    Value part =
        loadAt(aligned == 1 ? element : VectorType::get(aligned, element), at);
    if (aligned == 1)
      elements.push_back(part);
    else
      llvm::append_range(elements,
                         vector::ToElementsOp::create(b, part).getResults());
  }
  return vector::FromElementsOp::create(b, vector, elements);
}

Value lnbwd::emitLoad(IndexBuilder &b, Type type, const Buffer &memory,
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

static void storeAt(IndexBuilder &b, Value value, Value memory,
                    ValueRange indices) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector)
    memref::StoreOp::create(b, value, memory, indices);
  else
    vector::StoreOp::create(b, value, memory, indices, /*nontemporal=*/false,
                            lane::getAccessAlignment(vector));
}

void lnbwd::emitStore(IndexBuilder &b, Value value, const Buffer &memory,
                      ValueRange indices) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!memory.isView())
    return storeAt(b, value, memory.memory, indices);
  AffineMap map = memory.type.getLayout().getAffineMap();
  int64_t width = vector ? vector.getNumElements() : 1;
  bool isRepeated = vector && getColumnStep(map) == 0;
  int64_t part = isRepeated ? getPiece(map)
                 : vector   ? getAlignedColumns(map, width)
                            : 1;
  // The numbers of an access's blocks are one access, if they lie side by side.
  if (isRepeated && takesEvery(map, part, width)) {
    Value first = vector::ShuffleOp::create(
        b, value, value,
        llvm::map_to_vector(llvm::seq(width / part),
                            [&](int64_t i) { return i * part; }));
    return storeAt(b, first, memory.memory, emitPlace(b, memory, indices));
  }
  int64_t repeated = vector && !isRepeated ? getRepeatedBits(memory.type) : 0;
  auto store = [&] {
    SmallVector<Value> at(indices);
    for (int64_t i = 0; i < width; i += part) {
      if (i & repeated)
        continue;
      if (vector)
        at.back() = b(indices.back()) + i;
      SmallVector<Value> place = emitPlace(b, memory, at);
      Value stored = value;
      if (vector && (isRepeated || part == 1))
        stored = vector::ExtractOp::create(b, value, i);
      else if (part != width)
        stored = vector::ShuffleOp::create(
            b, value, value, llvm::to_vector(llvm::seq<int64_t>(i, i + part)));
      storeAt(b, stored, memory.memory, place);
    }
  };
  // A number for each block of columns: the lane that has the first of them
  // writes it.
  Value isFirst;
  if (isRepeated && width < part)
    isFirst = b(indices.back()) % part == 0;
  else if (int64_t others = repeated & -width)
    isFirst = (b(indices.back()) & others) == 0;
  b.when(isFirst, store);
}

Value lnbwd::emitOffsetInAllocation(IndexBuilder &b, Value memory,
                                    Value offset) {
  auto layout = dyn_cast<StridedLayoutAttr>(
      cast<MemRefType>(memory.getType()).getLayout());
  if (!layout || layout.getOffset() == 0)
    return offset;
  auto metadata = memref::ExtractStridedMetadataOp::create(b, memory);
  return b(metadata.getOffset()) + offset;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

static Lowered lowerRow(IndexBuilder &b, lane::RowOp op,
                        const LaneOperands &layout) {
  return Values{b(op.getTile()) + layout.group};
}

template <typename Op, Value LaneLayout::*number>
static Lowered lowerQuery(IndexBuilder &, Op, const LaneOperands &layout) {
  return Values{layout.*number};
}

static Lowered lowerInBounds(IndexBuilder &, lane::InBoundsOp op,
                             const LaneOperands &layout) {
  return Values{layout.accesses[op.getAccess()].inBounds};
}

/// The numbers of the columns of an access, as i32, or what a divisor and a
/// modulus leave of them. Elements of aligned rows that are not in the row, or
/// not the workgroup's, have no column of it. Other accesses begin with a
/// multiple of their elements.
static Lowered lowerColumnIndex(IndexBuilder &b, lane::ColumnIndexOp op,
                                const LaneOperands &layout) {
  AccessColumns columns =
      locateAccess(b, layout, int64_t(*op.getAccess()), op.getRow());
  Value column = columns.loadColumn;
  if (layout.type.isAligned()) {
    column = columns.column;
    if (columns.inBounds)
      column = b.select(columns.inBounds, column,
                        b.index(layout.type.getRowLength()));
  }
  auto type = layout.type.getAccessType(b.getI32Type());
  Value number = arith::IndexCastOp::create(b, b.getI32Type(), column);
  int64_t width = type.getNumElements();
  auto divisor = int64_t(op.getDivisor().value_or(1));
  auto modulus = int64_t(op.getModulus().value_or(0));
  auto getDigit = [&](Value of) {
    if (divisor != 1)
      of = b(of) / divisor;
    return modulus ? Value(b(of) % modulus) : of;
  };
  bool isSame = divisor % width == 0, isNext = modulus % width == 0;
  bool isOfFirst =
      !layout.type.isAligned() && (isSame || (divisor == 1 && isNext));
  if (isOfFirst)
    number = getDigit(number);
  number = vector::BroadcastOp::create(b, type, number);
  if (!isOfFirst || divisor == 1) {
    SmallVector<int32_t> steps(static_cast<size_t>(width));
    std::iota(steps.begin(), steps.end(), 0);
    number = b(number) +
             arith::ConstantOp::create(
                 b, DenseElementsAttr::get(type, ArrayRef<int32_t>(steps)));
  }
  return Values{isOfFirst ? number : getDigit(number)};
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// Where column `column` of row `row` is: of aligned rows, which are one after
/// another, counted from the first row, as it may be less than 0.
static SmallVector<Value> emitIndices(IndexBuilder &b, lane::LayoutType layout,
                                      Value row, Value column) {
  if (!layout.isAligned())
    return {row, column};
  Value begin = b(row) * layout.getRowLength();
  return {b.index(0), b(begin) + column};
}

/// Whether all of the access to an aligned row that begins with `column` may be
/// brought at once; null where it always may. That is what begins and ends in
/// the memory: what other rows have of it is not looked at. (So are bulk
/// copies.)
static Value emitMayLoad(IndexBuilder &b, const LaneLayout &layout,
                         Value memory, Value row, Value column,
                         int64_t access) {
  if (!layout.type.isAligned() || !layout.type.mayExceed(access))
    return {};
  int64_t length = layout.type.getRowLength(), width = layout.type.getWidth();
  Value rows = memref::DimOp::create(b, memory, b.index(0));
  Value left = (b(rows) - row) * length;
  return b.less(b(column) + (width - 1), left);
}

/// What may not be loaded at once is loaded element by element, as far as it is
/// in the row.
Value lnbwd::emitAccessLoad(IndexBuilder &b, const LaneLayout &layout,
                            VectorType type, const Buffer &memory, Value row,
                            int64_t access) {
  Value column = locateAccess(b, layout, access, row).loadColumn;
  auto load = [&](Type type, Value column) {
    return emitLoad(b, type, memory, emitIndices(b, layout.type, row, column));
  };
  Value mayLoad = emitMayLoad(b, layout, memory.memory, row, column, access);
  if (!mayLoad)
    return load(type, column);
  auto loadEach = [&] {
    Type element = type.getElementType();
    Value length = b.index(layout.type.getRowLength());
    Values elements;
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      Value own = b(column) + i;
      elements.append(b.choose(
          b(own) < length, [&] { return Values{load(element, own)}; },
          [&] { return Values{b.zero(element)}; }));
    }
    return Values{vector::FromElementsOp::create(b, type, elements)};
  };
  return b.choose(
      mayLoad, [&] { return Values{load(type, column)}; }, loadEach)[0];
}

template <typename Op>
static Lowered lowerLoad(IndexBuilder &b, Op op, const LaneOperands &layout) {
  SmallVector<Value> loaded;
  for (auto [memory, fragment] :
       llvm::zip_equal(op.getMemories(), op.getFragments()))
    loaded.push_back(emitAccessLoad(
        b, layout, cast<VectorType>(fragment.getType()),
        layout.getBuffer(memory), op.getRow(), int64_t(*op.getAccess())));
  return loaded;
}

static Lowered lowerLoadColumns(IndexBuilder &b, lane::LoadColumnsOp op,
                                const LaneOperands &layout) {
  size_t accesses = layout.accesses.size();
  SmallVector<Value> loaded(op.getNumResults());
  for (size_t c = 0; c < accesses; ++c)
    for (auto [i, memory] : llvm::enumerate(op.getMemories()))
      loaded[i * accesses + c] =
          emitLoad(b, layout.type.getAccessType(getElementTypeOrSelf(memory)),
                   layout.getBuffer(memory), layout.accesses[c].loadColumn);
  return loaded;
}

static Lowered lowerLoadScalar(IndexBuilder &b, lane::LoadScalarOp op,
                               const LaneOperands &operands) {
  return Values{emitLoad(b, op.getScalar().getType(),
                         operands.getBuffer(op.getMemory()), op.getRow())};
}

static Lowered lowerLoadElements(IndexBuilder &b, lane::LoadElementsOp op,
                                 const LaneOperands &operands) {
  auto type = cast<VectorType>(op.getElements().getType());
  Values elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    Value index = vector::ExtractOp::create(b, op.getIndices(), i);
    elements.push_back(emitLoad(
        b, type.getElementType(), operands.getBuffer(op.getMemory()),
        arith::IndexCastUIOp::create(b, b.getIndexType(), index).getResult()));
  }
  return Values{vector::FromElementsOp::create(b, type, elements)};
}

/// Straight to the LLVM level's operation: no level between has one that says
/// what it is for.
static Lowered lowerUndefinedRow(IndexBuilder &b, lane::UndefinedRowOp op,
                                 const LaneOperands &) {
  Type type = op.getType();
  // LLVM has bytes for float8.
  if (auto vector = dyn_cast<VectorType>(type);
      vector && vector.getElementTypeBitWidth() == 8)
    type = vector.clone(b.getI8Type());
  Value poison = LLVM::PoisonOp::create(b, type);
  if (type != op.getType())
    poison = arith::BitcastOp::create(b, op.getType(), poison);
  return Values{poison};
}

/// Stores an access to an aligned row at once if all of it is in the row; else
/// the elements that are.
static void emitPartialStore(IndexBuilder &b, lane::LayoutType layout,
                             Value value, Value column,
                             function_ref<void(Value, Value)> store) {
  int64_t length = layout.getRowLength(), width = layout.getWidth();
  Value wholeEnd = b.index(std::max<int64_t>(0, length - width + 1));
  auto branch = scf::IfOp::create(b, b(column) < wholeEnd,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  store(value, column);
  b.setInsertionPointToStart(branch.elseBlock());
  for (int64_t i = 0; i < width; ++i) {
    Value element = vector::ExtractOp::create(b, value, i);
    Value own = b(column) + i;
    b.when(b(own) < length, [&] { store(element, own); });
  }
}

static Lowered lowerStore(IndexBuilder &b, lane::StoreOp op,
                          const LaneOperands &layout) {
  auto number = int64_t(*op.getAccess());
  AccessColumns access = locateAccess(b, layout, number, op.getRow());
  Buffer memory = layout.getBuffer(op.getMemory());
  auto store = [&](Value value, Value column) {
    emitStore(b, value, memory,
              emitIndices(b, layout.type, op.getRow(), column));
  };
  b.when(b.both(access.inBounds, op.getInBounds()), [&] {
    if (std::optional<uint64_t> element = op.getElement()) {
      Value column = b(access.column) + int64_t(*element);
      storeAt(b, op.getFragment(), memory.memory,
              emitPlace(b, memory, {op.getRow(), column}));
    } else if (layout.type.mayBePartial(number)) {
      emitPartialStore(b, layout.type, op.getFragment(), access.column, store);
    } else {
      store(op.getFragment(), access.column);
    }
  });
  return Values();
}

/// The first lane has the first columns, of the row in the first workgroup.
static Lowered lowerStoreScalar(IndexBuilder &b, lane::StoreScalarOp op,
                                const LaneOperands &layout) {
  Value isFirst = b(layout.lane) == 0;
  if (Value first = layout.first; first && !op.getOwnColumns())
    isFirst = b.both(isFirst, b(first) == 0);
  b.when(b.both(isFirst, op.getInBounds()), [&] {
    emitStore(b, op.getScalar(), layout.getBuffer(op.getMemory()), op.getRow());
  });
  return Values();
}

//===----------------------------------------------------------------------===//
// The loop over the rows
//===----------------------------------------------------------------------===//

/// Moves the body of `op` to `block`, and the rewriter to its end: the yield
/// that it returns.
static lane::YieldOp moveBody(PatternRewriter &rewriter, lane::ForRowsOp op,
                              Block *block, ValueRange arguments) {
  // What carries nothing comes with its terminator.
  while (!block->empty())
    rewriter.eraseOp(&block->back());
  lane::YieldOp yield = op.getYield();
  rewriter.mergeBlocks(&op.getBody().front(), block, arguments);
  rewriter.setInsertionPoint(yield);
  return yield;
}

/// A single iteration, if there is one. Nothing in it is the same for several
/// iterations, so that nothing is computed ahead and kept in registers until it
/// is needed.
static ValueRange lowerSingleIteration(PatternRewriter &rewriter,
                                       lane::ForRowsOp op) {
  Value inBounds =
      arith::CmpIOp::create(rewriter, op.getLoc(), arith::CmpIPredicate::ult,
                            op.getBegin(), op.getEnd());
  bool hasState = !op.getInits().empty();
  auto iteration =
      scf::IfOp::create(rewriter, op.getLoc(), op.getResultTypes(), inBounds,
                        /*withElseRegion=*/hasState);
  if (hasState) {
    rewriter.setInsertionPointToStart(iteration.elseBlock());
    scf::YieldOp::create(rewriter, op.getLoc(), op.getInits());
  }
  SmallVector<Value> arguments{op.getBegin()};
  llvm::append_range(arguments, op.getInits());
  lane::YieldOp yield =
      moveBody(rewriter, op, iteration.thenBlock(), arguments);
  rewriter.replaceOpWithNewOp<scf::YieldOp>(yield, yield.getValues());
  return iteration.getResults();
}

static ValueRange lowerLoop(PatternRewriter &rewriter, lane::ForRowsOp op) {
  auto loop = scf::ForOp::create(rewriter, op.getLoc(), op.getBegin(),
                                 op.getEnd(), op.getStep(), op.getInits());
  lane::YieldOp yield =
      moveBody(rewriter, op, loop.getBody(), loop.getBody()->getArguments());
  rewriter.replaceOpWithNewOp<scf::YieldOp>(yield, yield.getValues());
  return loop.getResults();
}

/// A loop that tests at its end.
static ValueRange lowerEntered(PatternRewriter &rewriter, lane::ForRowsOp op) {
  SmallVector<Value> initial{op.getBegin()};
  llvm::append_range(initial, op.getInits());
  TypeRange types{ValueRange(initial)};
  auto loop = scf::WhileOp::create(rewriter, op.getLoc(), types, initial);
  SmallVector<Location> locations(initial.size(), op.getLoc());
  Block *again = rewriter.createBlock(&loop.getAfter(), {}, types, locations);
  scf::YieldOp::create(rewriter, op.getLoc(), again->getArguments());
  Block *iteration =
      rewriter.createBlock(&loop.getBefore(), {}, types, locations);
  lane::YieldOp yield = op.getYield();
  moveBody(rewriter, op, iteration, iteration->getArguments());
  IndexBuilder b(yield.getLoc(), rewriter);
  SmallVector<Value> next{b(iteration->getArgument(0)) + op.getStep()};
  llvm::append_range(next, yield.getValues());
  Value isNext = b(next.front()) < op.getEnd();
  scf::ConditionOp::create(b, isNext, next);
  rewriter.eraseOp(yield);
  return loop.getResults().drop_front();
}

static LogicalResult lowerForRows(lane::ForRowsOp op,
                                  PatternRewriter &rewriter) {
  auto *lower = op.getOnce()      ? lowerSingleIteration
                : op.getEntered() ? lowerEntered
                                  : lowerLoop;
  rewriter.replaceOp(op, lower(rewriter, op));
  return success();
}

static Lowered lowerAccumulate(IndexBuilder &b, lane::AccumulateOp op,
                               const LaneOperands &) {
  // Elsewhere it is left to the code generator.
  auto product = op.getFused() && !op.getMaximum()
                     ? op.getTerm().getDefiningOp<arith::MulFOp>()
                     : arith::MulFOp();
  Value added = product ? math::FmaOp::create(b, product.getLhs(),
                                              product.getRhs(), op.getSum())
                              .getResult()
                        : lane::combinePartials(b, op.getMaximum(), op.getSum(),
                                                op.getTerm());
  if (op.getInBounds())
    added = b.select(op.getInBounds(), added, op.getSum());
  return Values{added};
}

/// Where a target has no better one.
static Lowered lowerBarrier(IndexBuilder &b, lane::BarrierOp,
                            const LaneOperands &) {
  gpu::BarrierOp::create(b);
  return Values();
}

void lnbwd::populateLaneToGPUPatterns(RewritePatternSet &patterns,
                                      const LaneTypeConverter &converter) {
  patterns.add(lowerForRows);
  addLanePatterns<lowerRow, lowerQuery<lane::GroupOp, &LaneLayout::group>,
                  lowerQuery<lane::LaneOp, &LaneLayout::lane>, lowerInBounds,
                  lowerColumnIndex, lowerLoad<lane::LoadOp>,
                  lowerLoad<lane::GatherOp>, lowerLoadColumns, lowerStore,
                  lowerStoreScalar, lowerLoadScalar, lowerLoadElements,
                  lowerUndefinedRow, lowerAccumulate, lowerBarrier>(patterns,
                                                                    converter);
}
