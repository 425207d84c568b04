//===- RowLoops.cpp - Copies of a row loop's body -------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

lane::RowLoads::RowLoads(ForRowsOp loop, bool withRows) : loop(loop) {
  for (Operation &op : loop.getBody().front()) {
    if (auto load = dyn_cast<LoadOp>(op); load && withRows)
      rows.push_back(load);
    else if (auto scalar = dyn_cast<LoadScalarOp>(op))
      scalars.push_back(scalar);
  }
}

SmallVector<Value> lane::RowLoads::getLoaded() {
  SmallVector<Value> loaded;
  for (LoadOp load : rows)
    llvm::append_range(loaded, load.getFragments());
  for (LoadScalarOp scalar : scalars)
    loaded.push_back(scalar.getScalar());
  return loaded;
}

SmallVector<Value> lane::RowLoads::load(IndexBuilder &b, RowOfLayout getRow) {
  IRMapping mapping;
  mapRow(loop, mapping, getRow);
  for (LoadOp load : rows)
    b.clone(*load, mapping);
  for (LoadScalarOp scalar : scalars)
    b.clone(*scalar, mapping);
  return llvm::map_to_vector(getLoaded(),
                             [&](Value v) { return mapping.lookup(v); });
}

/// The scalars come first: packed arithmetic reads pairs of registers even
/// where it uses one of them, and so may wait for a scalar's register; the rows
/// stay in flight then.
SmallVector<Value> lane::RowLoads::loadPredicated(IndexBuilder &b, Value tile,
                                                  Value count) {
  SmallVector<Value> ofScalars, loaded;
  for (LoadScalarOp scalar : scalars)
    ofScalars.push_back(LoadScalarPredicatedOp::create(
        b, scalar.getScalar().getType(), scalar.getMemory(), tile, count,
        loop.getLayout()));
  if (!scalars.empty())
    ROCDL::SchedBarrier::create(b, /*mask=*/0);
  for (LoadOp load : rows)
    llvm::append_range(
        loaded, LoadPredicatedOp::create(b, load.getResultTypes(),
                                         load.getMemories(), tile, count,
                                         load.getLayout(), load.getAccessAttr())
                    .getFragments());
  llvm::append_range(loaded, ofScalars);
  return loaded;
}

void lane::RowLoads::share(IndexBuilder &b, MutableArrayRef<Value> loaded) {
  for (Value &scalar : loaded.take_back(scalars.size()))
    scalar = BroadcastScalarOp::create(b, scalar, loop.getLayout());
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

void lane::mapRow(ForRowsOp loop, IRMapping &mapping, RowOfLayout getRow) {
  for (auto asked : loop.getBody().getOps<RowOp>())
    if (asked.getTile() == loop.getTile())
      mapping.map(asked.getRow(), getRow(asked.getLayout()));
}

SmallVector<Value> lane::writeBody(IndexBuilder &b, ForRowsOp loop,
                                   IRMapping &mapping, Value inBounds,
                                   Value end) {
  // A store by another layout is of another row of the tile.
  auto isBelowEnd = [&](Operation *predicated) -> Value {
    auto store = dyn_cast<StoreOp>(predicated);
    if (!store || store.getLayout() == loop.getLayout())
      return inBounds;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(store);
    Value row = RowOp::create(b, mapping.lookupOrDefault(loop.getTile()),
                              store.getLayout());
    return b(row) < end;
  };
  for (Operation &op : loop.getBody().front().without_terminator()) {
    if (op.getNumResults() && mapping.contains(op.getResult(0)))
      continue;
    Operation *copy = b.clone(op, mapping);
    if (inBounds)
      copy->walk([&](PredicatedOpInterface predicated) {
        predicated.getInBoundsMutable().assign(isBelowEnd(predicated));
      });
  }
  return llvm::map_to_vector(loop.getYield().getValues(), [&](Value value) {
    return mapping.lookupOrDefault(value);
  });
}

lane::ForRowsOp lane::makeLoopLike(OpBuilder &b, ForRowsOp loop, Value step,
                                   ValueRange sums, ValueRange carried) {
  auto made = ForRowsOp::create(
      b, loop.getLoc(), loop.getBegin(), loop.getEnd(), step, loop.getLayout(),
      /*workgroup=*/Value(), /*workgroups=*/Value(), sums, carried);
  made.setWhole(true);
  made.setEntered(loop.getEntered());
  made.setSumBlockAttr(loop.getSumBlockAttr());
  made.setLastRowApart(loop.getLastRowApart());
  made.setStagesAttr(loop.getStagesAttr());
  return made;
}

lane::ForRowsOp lane::insertCarried(OpBuilder &b, ForRowsOp loop,
                                    ValueRange sums, size_t at,
                                    ValueRange inserted) {
  SmallVector<Value> carried(loop.getInits());
  carried.insert(carried.begin() + at, inserted.begin(), inserted.end());
  carried.erase(carried.begin(), carried.begin() + sums.size());
  ForRowsOp longer = makeLoopLike(b, loop, loop.getStep(), sums, carried);
  Block &from = loop.getBody().front(), &to = longer.getBody().front();
  to.getOperations().splice(to.end(), from.getOperations());
  for (auto [i, old] : llvm::enumerate(from.getArguments()))
    old.replaceAllUsesWith(
        to.getArgument(unsigned(i > at ? i + inserted.size() : i)));
  for (auto [i, old] : llvm::enumerate(loop.getResults()))
    old.replaceAllUsesWith(
        longer.getResult(unsigned(i >= at ? i + inserted.size() : i)));
  loop.erase();
  return longer;
}

/// Writes the body of `loop` for the rows from `tile` up to `rows`, which are
/// not all of a tile, going on from what the loop leaves. Returns what the body
/// yields.
static SmallVector<Value> writeLastRows(IndexBuilder &b, lane::ForRowsOp loop,
                                        Value tile, Value rows,
                                        const ChipInfo &chip) {
  Value own = lane::RowOp::create(b, tile, loop.getLayout());
  Value last = b(rows) - 1;
  Value inBounds = b(own) < rows;
  Value row = b.atMost(own, last);

  IRMapping mapping;
  mapping.map(loop.getTile(), tile);
  mapping.map(ValueRange(loop.getRegionIterArgs()), loop.getResults());
  lane::mapRow(loop, mapping,
               [&](TypedValue<lane::LayoutType> layout) -> Value {
                 if (layout == loop.getLayout())
                   return row;
                 Value other = lane::RowOp::create(b, tile, layout);
                 return b.atMost(other, last);
               });
  if (chip.dropsLoads) {
    lane::RowLoads loads(loop);
    Value count = b(rows) - tile;
    SmallVector<Value> loaded = loads.loadPredicated(b, tile, count);
    loads.share(b, loaded);
    mapping.map(loads.getLoaded(), loaded);
  }
  return lane::writeBody(b, loop, mapping, inBounds, rows);
}

bool lane::peelLastRows(ForRowsOp loop, const ChipInfo &chip) {
  int64_t numGroups = loop.getLayout().getType().getGroups();
  bool isPeeled = !loop.getWhole() && (numGroups > 1 || loop.getLastRowApart());
  if (isPeeled) {
    IndexBuilder b(loop.getLoc(), loop);
    Value rows = loop.getEnd();
    Value fullRows = rows;
    if (loop.getLastRowApart()) {
      Value one = b.index(1);
      Value any = b.atLeast(rows, one);
      fullRows = b(any) - one;
    }
    if (numGroups > 1)
      fullRows = b(fullRows) / numGroups * numGroups;
    loop.getEndMutable().assign(fullRows);

    b.setInsertionPointAfter(loop);
    Value behind = b(loop.getWorkgroup()) + 1;
    Value isLast = b(behind) == loop.getWorkgroups();
    Value isLeft = b(fullRows) < rows;
    Value hasRows = b.both(isLeft, isLast);
    auto tail = scf::IfOp::create(b, loop.getResultTypes(), hasRows,
                                  /*withElseRegion=*/loop.getNumResults() != 0);
    loop.getResults().replaceAllUsesWith(tail.getResults());
    b.setInsertionPointToStart(tail.thenBlock());
    SmallVector<Value> left = writeLastRows(b, loop, fullRows, rows, chip);
    if (loop.getNumResults() != 0) {
      scf::YieldOp::create(b, left);
      b.setInsertionPointToStart(tail.elseBlock());
      scf::YieldOp::create(b, loop.getResults());
    }
  }
  // Which workgroup it is was needed for the partial tile.
  loop.setWhole(true);
  loop.getWorkgroupMutable().clear();
  loop.getWorkgroupsMutable().clear();
  return isPeeled;
}
