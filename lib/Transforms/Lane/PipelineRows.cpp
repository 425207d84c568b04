//===- PipelineRows.cpp - Have the loads of several tiles in flight -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two ways: tiles that wait for nothing but their loads are loaded several a
// iteration; others are loaded an iteration ahead, so that their loads are in
// flight while lanes wait for each other.
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"

#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Lane/IndexBuilder.h"
#include "lnbwd/Transforms/Lane/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace lnbwd {
#define GEN_PASS_DEF_PIPELINEROWSPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
/// Rewrites one loop.
class Pipeliner {
public:
  Pipeliner(lane::ForRowsOp loop, lane::RowLoads loads, const ChipInfo &chip)
      : loop(loop), chip(chip), loads(std::move(loads)),
        groups(loop.getLayout().getType().getGroups()), b(loop.getLoc(), loop) {
  }

  /// So that an iteration takes several tiles.
  void unroll(int64_t tiles);
  /// So that an iteration loads what the next one works on.
  void prefetch();
  void prefetchPaired();

private:
  SmallVector<Value> loadPredicated(Value tile);
  void awaitBehindLoads();
  lane::ForRowsOp makeLoop(Value step, ArrayRef<SmallVector<Value>> loaded);
  void writePair(lane::ForRowsOp pipelined);
  SmallVector<Value> loadInOrder(Value tile);
  SmallVector<Value> loadTile(Value tile);
  SmallVector<Value> workOn(Value tile, Value row, ValueRange state,
                            ValueRange loadedAhead);
  /// This lane's row by `of` in the tile that begins with row `tile`; `row` by
  /// the layout of the loop.
  Value getRow(Value tile, Value row, TypedValue<lane::LayoutType> of) {
    if (of == loop.getLayout())
      return row;
    return lane::RowOp::create(b, tile, of);
  }

  lane::ForRowsOp loop;
  const ChipInfo &chip;
  lane::RowLoads loads;
  int64_t groups;
  IndexBuilder b;
};
} // namespace

/// The operation in the body of `loop` that awaits the preceding kernel, if
/// there is one: what is above it needs nothing of that.
static NVVM::GriddepcontrolOp findAwait(lane::ForRowsOp loop) {
  for (auto op : loop.getBody().getOps<NVVM::GriddepcontrolOp>())
    if (op.getKind() == NVVM::GridDepActionKind::wait)
      return op;
  return {};
}

/// A part of bytes as whole registers, where it fills such: the code generators
/// would give each byte that goes from iteration to iteration a register of its
/// own.
static VectorType getPackedType(Type type) {
  auto part = dyn_cast<VectorType>(type);
  if (!part || part.getElementTypeBitWidth() != 8 ||
      part.getShape().back() % 4 != 0)
    return {};
  SmallVector<int64_t> shape(part.getShape());
  shape.back() /= 4;
  return VectorType::get(shape, IntegerType::get(type.getContext(), 32));
}

/// The loaded values, as they go from iteration to iteration.
static SmallVector<Value> pack(IndexBuilder &b, ValueRange loaded) {
  SmallVector<Value> packed(loaded);
  for (Value &value : packed)
    if (VectorType type = getPackedType(value.getType()))
      value = vector::BitCastOp::create(b, type, value);
  return packed;
}

//===----------------------------------------------------------------------===//
// Several tiles an iteration
//===----------------------------------------------------------------------===//

void Pipeliner::unroll(int64_t tiles) {
  /// One tile of an iteration: what its rows' values are, and whether they are
  /// in bounds.
  struct Tile {
    IRMapping mapping;
    Value inBounds;
  };
  Value end = loop.getEnd(), step = loop.getStep();
  Value stride = b(step) * b.index(tiles);
  // No row is worked on out of bounds: all tiles are whole.
  lane::ForRowsOp unrolled =
      lane::makeLoopLike(b, loop, stride, loop.getSums(), loop.getCarried());
  unrolled.setLastRowApart(false);

  b.setInsertionPointToStart(&unrolled.getBody().front());
  Value last = b(end) - 1;
  Value first = unrolled.getTile();
  Value row = lane::RowOp::create(b, first, loop.getLayout());
  SmallVector<Tile> iteration(static_cast<size_t>(tiles));
  for (auto [i, tile] : llvm::enumerate(iteration)) {
    if (i) {
      first = b(first) + step;
      row = b(row) + step;
    }
    tile.inBounds = b(row) < end;
    tile.mapping.map(loop.getTile(), first);
    auto getOwn = [&](TypedValue<lane::LayoutType> of) {
      return getRow(first, row, of);
    };
    // NVIDIA's chips may read the last row once more.
    auto getClamped = [&](TypedValue<lane::LayoutType> of) -> Value {
      return b.atMost(getOwn(of), last);
    };
    tile.mapping.map(loads.getLoaded(), chip.dropsLoads
                                            ? loadPredicated(first)
                                            : loads.load(b, getClamped));
    lane::mapRow(loop, tile.mapping, getOwn);
  }
  awaitBehindLoads();
  SmallVector<Value> state(unrolled.getRegionIterArgs());
  for (Tile &tile : iteration) {
    tile.mapping.map(ValueRange(loop.getRegionIterArgs()), ValueRange(state));
    state = lane::writeBody(b, loop, tile.mapping, tile.inBounds, end);
  }
  lane::YieldOp::create(b, state);
  loop.replaceAllUsesWith(unrolled.getResults());
  loop.erase();
}

/// Where the body awaits the preceding kernel, after some of its loads, an
/// iteration does so once: of all tiles what needs not be awaited is loaded
/// before.
void Pipeliner::awaitBehindLoads() {
  NVVM::GriddepcontrolOp await = findAwait(loop);
  if (!await)
    return;
  DenseSet<Value> awaited;
  for (auto load : loop.getBody().getOps<lane::LoadScalarOp>())
    if (await->isBeforeInBlock(load))
      awaited.insert(load.getMemory());
  SmallVector<lane::LoadScalarOp> late;
  for (auto load : b.getInsertionBlock()->getOps<lane::LoadScalarOp>())
    if (awaited.contains(load.getMemory()))
      late.push_back(load);
  await->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  for (lane::LoadScalarOp load : late)
    load->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
}

/// Loads the rows of a tile as far as they are in bounds.
SmallVector<Value> Pipeliner::loadPredicated(Value tile) {
  Value left = b(loop.getEnd()) - tile;
  Value atMost = b.atMost(left, b.index(groups));
  Value none = b.index(0);
  Value count = b.select(b(tile) < loop.getEnd(), atMost, none);
  SmallVector<Value> loaded = loads.loadPredicated(b, tile, count);
  loads.share(b, loaded);
  return loaded;
}

//===----------------------------------------------------------------------===//
// An iteration ahead
//===----------------------------------------------------------------------===//

/// A loop without a body that carries what `loaded` has as well.
lane::ForRowsOp Pipeliner::makeLoop(Value step,
                                    ArrayRef<SmallVector<Value>> loaded) {
  SmallVector<Value> carried(loop.getCarried());
  for (const SmallVector<Value> &values : loaded)
    llvm::append_range(carried, values);
  return lane::makeLoopLike(b, loop, step, loop.getSums(), carried);
}

void Pipeliner::prefetch() {
  Value rows = loop.getEnd();
  lane::peelLastRows(loop, chip);
  Value step = loop.getStep();
  lane::ForRowsOp pipelined = makeLoop(step, loadTile(loop.getBegin()));

  b.setInsertionPointToStart(&pipelined.getBody().front());
  ValueRange state(pipelined.getRegionIterArgs());
  size_t numState = loop.getNumResults();
  Value row = lane::RowOp::create(b, pipelined.getTile(), loop.getLayout());
  SmallVector<Value> next;
  if (chip.dropsLoads) {
    next = loadTile(b(pipelined.getTile()) + step);
    ROCDL::SchedBarrier::create(b, /*mask=*/0);
  } else {
    next = pack(b, loads.load(b, [&](TypedValue<lane::LayoutType> of) -> Value {
      Value nextRow = b(getRow(pipelined.getTile(), row, of)) + step;
      Value last = b(rows) - 1;
      return b.atMost(nextRow, last);
    }));
  }
  SmallVector<Value> results =
      workOn(pipelined.getTile(), row, state.take_front(numState),
             state.drop_front(numState));
  // What is copied from iteration to iteration is waited for after the work.
  if (chip.dropsLoads)
    ROCDL::SchedBarrier::create(b, /*mask=*/0);
  llvm::append_range(results, next);
  lane::YieldOp::create(b, results);
  loop.replaceAllUsesWith(pipelined.getResults().take_front(numState));
  loop.erase();
}

/// Two tiles an iteration, the second under a condition that is the same for
/// the whole workgroup. While one tile is worked on, the other is in flight
/// into registers of its own: nothing is copied from iteration to iteration.
void Pipeliner::prefetchPaired() {
  lane::peelLastRows(loop, chip);
  Value begin = loop.getBegin(), step = loop.getStep();
  // A loop that tests at its end, under its condition: the optimiser moves
  // loads from before a condition after it, and does not keep their order.
  auto enter = [&] {
    SmallVector<Value> first = loadInOrder(begin);
    SmallVector<Value> second = loadInOrder(b(begin) + step);
    Value stride = b(step) * b.index(2);
    lane::ForRowsOp pipelined = makeLoop(stride, {first, second});
    pipelined.setEntered(true);
    writePair(pipelined);
    return SmallVector<Value>(
        pipelined.getResults().take_front(loop.getNumResults()));
  };
  loop->replaceAllUsesWith(b.choose(b(begin) < loop.getEnd(), enter, [&] {
    return SmallVector<Value>(loop.getInits());
  }));
  loop.erase();
}

/// Writes an iteration of the loop over pairs. Both tiles of the next iteration
/// are loaded at the same place of each iteration, after the work that frees
/// their registers, so that all ways to an iteration's beginning have the same
/// loads in flight, in the same order.
void Pipeliner::writePair(lane::ForRowsOp pipelined) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&pipelined.getBody().front());
  Value step = loop.getStep(), stride = pipelined.getStep();
  Value first = pipelined.getTile();
  Value second = b(first) + step, third = b(first) + stride;
  ValueRange state(pipelined.getRegionIterArgs());
  size_t numState = loop.getNumResults();
  ValueRange loaded = state.drop_front(numState);
  size_t count = loaded.size() / 2;
  Value row = lane::RowOp::create(b, first, loop.getLayout());
  SmallVector<Value> behindFirst =
      workOn(first, row, state.take_front(numState), loaded.take_front(count));
  SmallVector<Value> nextFirst = loadInOrder(third);
  SmallVector<Value> results = b.choose(
      b(second) < loop.getEnd(),
      [&] {
        Value row = lane::RowOp::create(b, second, loop.getLayout());
        return workOn(second, row, behindFirst, loaded.drop_front(count));
      },
      [&] { return behindFirst; });
  llvm::append_range(results, nextFirst);
  llvm::append_range(results, loadInOrder(b(second) + stride));
  lane::YieldOp::create(b, results);
}

/// Loads a tile between what is before and what is after.
SmallVector<Value> Pipeliner::loadInOrder(Value tile) {
  if (!chip.dropsLoads)
    return loadTile(tile);
  ROCDL::SchedBarrier::create(b, /*mask=*/0);
  SmallVector<Value> loaded = loadTile(tile);
  ROCDL::SchedBarrier::create(b, /*mask=*/0);
  return loaded;
}

/// Loads the tile of rows that begins with row `tile`, if there is such a tile;
/// else what comes of it may not be used.
SmallVector<Value> Pipeliner::loadTile(Value tile) {
  Value inBounds = b(tile) < loop.getEnd();
  if (chip.dropsLoads) {
    Value none = b.index(0);
    Value count = b.select(inBounds, b.index(groups), none);
    return pack(b, loads.loadPredicated(b, tile, count));
  }
  Value row = lane::RowOp::create(b, tile, loop.getLayout());
  SmallVector<Value> loaded;
  return b.choose(
      inBounds,
      [&] {
        return loaded = pack(b, loads.load(b, [&](auto of) {
                 return getRow(tile, row, of);
               }));
      },
      [&] {
        return llvm::map_to_vector<0>(loaded, [&](Value there) -> Value {
          return lane::UndefinedRowOp::create(b, there.getType());
        });
      });
}

/// Writes the loop's body for a tile that is loaded, and this lane's row of it,
/// going on from `state`. Returns what it yields.
SmallVector<Value> Pipeliner::workOn(Value tile, Value row, ValueRange state,
                                     ValueRange loadedAhead) {
  IRMapping mapping;
  mapping.map(loop.getTile(), tile);
  mapping.map(ValueRange(loop.getRegionIterArgs()), state);
  lane::mapRow(loop, mapping, [&](TypedValue<lane::LayoutType> of) {
    return getRow(tile, row, of);
  });
  SmallVector<Value> loaded(loadedAhead);
  for (auto [value, own] : llvm::zip_equal(loaded, loads.getLoaded()))
    if (value.getType() != own.getType())
      value =
          vector::BitCastOp::create(b, cast<VectorType>(own.getType()), value);
  if (chip.dropsLoads)
    loads.share(b, loaded);
  mapping.map(loads.getLoaded(), loaded);
  return lane::writeBody(b, loop, mapping);
}

namespace {
struct PipelineRows : lnbwd::impl::PipelineRowsPassBase<PipelineRows> {
  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    FailureOr<const ChipInfo *> found = getChip(kernel);
    if (failed(found))
      return signalPassFailure();
    for (lane::ForRowsOp loop :
         lane::collectLoops(kernel, [](lane::ForRowsOp loop) {
           return loop.getPrefetch() || loop.getUnroll();
         })) {
      if (failed(pipeline(loop, **found)))
        return signalPassFailure();
      ++numPipelined;
    }
    for (lane::ForRowsOp loop :
         lane::collectLoops(kernel, [](lane::ForRowsOp) { return true; }))
      numPeeled += lane::peelLastRows(loop, **found);
  }

  LogicalResult pipeline(lane::ForRowsOp loop, const ChipInfo &chip);
};
} // namespace

/// Whether the loads in `loop` are those of its rows, which all can be moved.
static LogicalResult checkLoads(lane::ForRowsOp loop) {
  auto check = [&](auto load) {
    auto row = load.getRow().template getDefiningOp<lane::RowOp>();
    if (!row || row.getTile() != loop.getTile()) {
      load.emitOpError("expected to load the row that lane.row gives for the "
                       "tile of its loop");
      return WalkResult::interrupt();
    }
    if (load->getParentOp() == loop)
      return WalkResult::advance();
    load.emitOpError("cannot be loaded ahead: expected it in the body of its "
                     "loop itself");
    return WalkResult::interrupt();
  };
  WalkResult result = loop.walk([&](Operation *op) {
    return llvm::TypeSwitch<Operation *, WalkResult>(op)
        .Case<lane::LoadOp, lane::LoadScalarOp>(check)
        .Default(WalkResult::advance());
  });
  return failure(result.wasInterrupted());
}

LogicalResult PipelineRows::pipeline(lane::ForRowsOp loop,
                                     const ChipInfo &chip) {
  if (loop.getWhole())
    return loop.emitOpError("expected tiles that may be partial, since "
                            "lnbwd-pipeline-rows makes them full");
  if (failed(checkLoads(loop)))
    return failure();
  // Rows that are staged are in flight without registers.
  lane::RowLoads loads(loop, /*withRows=*/!loop.getStages());
  if (loop.getPrefetch()) {
    if (loads.isEmpty())
      return success();
    // All that a row needs is loaded an iteration ahead.
    if (NVVM::GriddepcontrolOp await = findAwait(loop);
        await && llvm::any_of(loop.getBody().getOps<lane::LoadScalarOp>(),
                              [&](lane::LoadScalarOp load) {
                                return await->isBeforeInBlock(load);
                              }))
      await->moveBefore(loop);
    Pipeliner pipeliner(loop, loads, chip);
    if (loop.getUnroll())
      pipeliner.prefetchPaired();
    else
      pipeliner.prefetch();
    return success();
  }
  WalkResult result = loop.walk([&](lane::ReduceOp reduce) {
    reduce.emitOpError("cannot be in a loop that loads several tiles before "
                       "it works on the first: expected no row sums");
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  Pipeliner(loop, loads, chip).unroll(int64_t(*loop.getUnroll()));
  return success();
}
