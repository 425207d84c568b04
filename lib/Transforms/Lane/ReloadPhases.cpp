//===- ReloadPhases.cpp - Read a row again in each of its phases ----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a phase needs of a row is copied into a loop over the row's columns, on
// demand: no fragment of a row lives longer than an iteration of that loop. It
// is split there already, since it is one access.
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"

#include "lnbwd/Transforms/Lane/IndexBuilder.h"
#include "lnbwd/Transforms/Lane/Passes.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

#include <utility>

namespace lnbwd {
#define GEN_PASS_DEF_RELOADPHASESPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
/// Rewrites the body of one row loop.
class Reloader {
public:
  explicit Reloader(lane::ForRowsOp loop)
      : loop(loop), b(loop.getLoc(), loop) {}

  LogicalResult run();

private:
  void reloadFold(lane::FoldOp fold);
  void reloadStores(ArrayRef<lane::StoreOp> stores);
  Operation *getLayoutOfStores();
  scf::ForOp makeColumnLoop(ValueRange initial);
  /// A value as an iteration of the loop over the columns has it.
  Value get(Value value);
  lane::LayoutType getTileType();

  lane::ForRowsOp loop;
  IndexBuilder b;
  /// Whether something cannot be done again; the first such thing was reported.
  bool hasFailed = false;
  /// The columns at work, and what is known of them.
  TypedValue<lane::LayoutType> tile;
  IRMapping known;
};
} // namespace

/// One access of each lane.
lane::LayoutType Reloader::getTileType() {
  lane::LayoutType layout = loop.getLayout().getType();
  int64_t columns = layout.getAccessColumns();
  return lane::LayoutType::get(b.getContext(), layout.getRowLength(),
                               layout.getLanes(), layout.getGroups(),
                               layout.getWidth(),
                               columns < layout.getRowLength() ? columns : 0,
                               /*span=*/0, layout.getAcross());
}

/// A loop over the columns that carries `initial`; what follows is written into
/// it.
scf::ForOp Reloader::makeColumnLoop(ValueRange initial) {
  lane::LayoutType type = getTileType();
  Value begin = b.index(0), end = b.index(type.getRowLength());
  auto columns = scf::ForOp::create(b, begin, end,
                                    b.index(type.getAccessColumns()), initial);
  b.setInsertionPointToStart(columns.getBody());
  Value first = type.getColumns() ? columns.getInductionVar() : Value();
  tile = lane::LayoutOp::create(b, type, first);
  known.clear();
  return columns;
}

Value Reloader::get(Value value) {
  if (!lane::asFragment(value.getType()))
    return value == loop.getLayout() ? Value(tile) : value;
  if (Value there = known.lookupOrNull(value))
    return there;
  Operation *producer = value.getDefiningOp();
  VectorType type = getTileType().getAccessType(getElementTypeOrSelf(value));
  Value result;
  auto getMemory = [&](auto load) -> Value {
    return load.getMemories()[cast<OpResult>(value).getResultNumber()];
  };
  auto reload = [&](auto load) {
    return decltype(load)::create(b, type, getMemory(load), load.getRow(), tile,
                                  b.getI64IntegerAttr(0))
        .getResult(0);
  };
  if (auto load = dyn_cast_or_null<lane::LoadOp>(producer)) {
    result = reload(load);
  } else if (auto gather = dyn_cast_or_null<lane::GatherOp>(producer)) {
    result = reload(gather);
  } else if (auto load = dyn_cast_or_null<lane::LoadColumnsOp>(producer)) {
    result = lane::LoadColumnsOp::create(b, type, getMemory(load), tile,
                                         /*each=*/true)
                 .getResult(0);
  } else if (producer && producer->getNumResults() == 1 &&
             producer->getNumRegions() == 0 &&
             (isMemoryEffectFree(producer) ||
              isa<lane::LoadElementsOp>(producer))) {
    IRMapping mapping;
    for (Value operand : producer->getOperands())
      mapping.map(operand, get(operand));
    Operation *copy =
        lane::cloneForPart(b, producer, mapping, [&](Type) { return type; });
    if (auto access = dyn_cast<lane::AccessOpInterface>(copy))
      access.setAccess(0);
    result = copy->getResult(0);
  } else {
    if (!hasFailed)
      emitError(value.getLoc(),
                "fragment cannot be made again for each phase of a row: "
                "expected a load, or a pure operation on fragments");
    hasFailed = true;
    result = lane::UndefinedRowOp::create(b, type);
  }
  known.map(value, result);
  return result;
}

/// A lane's partial results of a phase, one after another.
void Reloader::reloadFold(lane::FoldOp fold) {
  b.setInsertionPoint(fold);
  VectorType type = getTileType().getAccessType(b.getF32Type());
  SmallVector<Value> partials;
  for (size_t i = 0; i < fold.getFragments().size(); ++i)
    partials.push_back(
        lane::makeNeutralPartial(b, lane::isMaximum(fold.getKinds(), i), type));
  scf::ForOp columns = makeColumnLoop(partials);
  partials.assign(columns.getRegionIterArgs().begin(),
                  columns.getRegionIterArgs().end());
  for (auto [i, fragment] : llvm::enumerate(fold.getFragments())) {
    Value term = get(fragment);
    bool isMaximum = lane::isMaximum(fold.getKinds(), i);
    Value masked = lane::makeTerm(b, tile, /*row=*/Value(),
                                  /*access=*/0, isMaximum, term);
    partials[i] = lane::combinePartials(b, isMaximum, partials[i], masked);
  }
  scf::YieldOp::create(b, partials);
  fold.replaceAllUsesWith(columns.getResults());
  fold.erase();
}

/// All values are computed before the first is stored: a store may be to a row
/// that is read.
void Reloader::reloadStores(ArrayRef<lane::StoreOp> stores) {
  b.setInsertionPoint(getLayoutOfStores());
  makeColumnLoop(ValueRange());
  auto fragments = llvm::map_to_vector(
      stores, [&](lane::StoreOp store) { return get(store.getFragment()); });
  for (auto [store, fragment] : llvm::zip_equal(stores, fragments)) {
    lane::StoreOp op = store;
    lane::StoreOp::create(b, fragment, op.getMemory(), op.getRow(), tile,
                          op.getInBounds(), b.getI64IntegerAttr(0),
                          /*element=*/IntegerAttr());
    op.erase();
  }
}

/// Where no other phase reads the row any more, and all is known that is
/// stored: at the first store after the last reduction, or at the end.
Operation *Reloader::getLayoutOfStores() {
  Operation *layout = nullptr;
  for (Operation &op : loop.getBody().front()) {
    if (isa<lane::ReduceOp>(op))
      layout = nullptr;
    else if (!layout &&
             isa<lane::StoreOp, lane::NextIterationOp, lane::YieldOp>(op))
      layout = &op;
  }
  return layout;
}

LogicalResult Reloader::run() {
  if (!loop.getSums().empty())
    return loop.emitOpError("expected no column sums where rows are read again "
                            "in each phase: their columns stay with a lane");
  SmallVector<lane::FoldOp> folds(loop.getBody().getOps<lane::FoldOp>());
  // What could have been stored in an earlier phase comes last.
  SmallVector<lane::StoreOp> stores, earlier;
  for (Operation &op : loop.getBody().front()) {
    if (auto store = dyn_cast<lane::StoreOp>(op)) {
      stores.push_back(store);
    } else if (isa<lane::ReduceOp>(op)) {
      stores.append(earlier);
      earlier = std::exchange(stores, {});
    }
  }
  stores.append(earlier);
  for (lane::FoldOp fold : folds)
    reloadFold(fold);
  if (!stores.empty())
    reloadStores(stores);
  if (hasFailed)
    return failure();
  // What was copied is not needed any more.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(loop.getBody().front())))
    if (op.use_empty() && op.getNumResults() &&
        llvm::all_of(op.getResultTypes(), lane::asFragment))
      op.erase();
  return success();
}

namespace {
struct ReloadPhases : lnbwd::impl::ReloadPhasesPassBase<ReloadPhases> {
  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    auto loops = lane::collectLoops(kernel, &lane::ForRowsOp::getReload);
    if (loops.empty())
      return;
    for (lane::ForRowsOp loop : loops) {
      if (failed(Reloader(loop).run()))
        return signalPassFailure();
      loop.setReload(false);
      ++numReloaded;
    }
    for (auto columns : llvm::make_early_inc_range(
             kernel.getBody().getOps<lane::LoadColumnsOp>()))
      if (columns.use_empty())
        columns.erase();
  }
};
} // namespace
