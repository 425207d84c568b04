//===- StageRows.cpp - Rows that come through workgroup memory ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Several tiles of rows are in flight to workgroup memory: an iteration waits
// for its own, loads it to registers, and starts the copies of the
// tile that takes over its stage.
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Transforms/Lane/IndexBuilder.h"
#include "lnbwd/Transforms/Lane/Passes.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

namespace lnbwd {
#define GEN_PASS_DEF_STAGEROWSPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
/// Rewrites one loop, whose one `load` can be staged.
class Stager {
public:
  Stager(lane::ForRowsOp loop, lane::LoadOp load, int64_t count)
      : loop(loop), load(load), memories(load.getMemories()), count(count),
        b(loop.getLoc(), loop) {}

  void run();

private:
  void startFirstCopies();
  void carryStage();
  void startCopies(Value tile);
  void refill();

  lane::ForRowsOp loop;
  lane::LoadOp load;
  SmallVector<Value> memories;
  int64_t count;
  IndexBuilder b;
  Value stages;
  /// The stage of the iteration's tile, and the phase in which that is waited
  /// for.
  Value stage;
  Value phase;
};
} // namespace

static SmallVector<Type> getElementTypes(ValueRange memories) {
  return llvm::map_to_vector(memories.getTypes(), [](Type type) {
    return getElementTypeOrSelf(type);
  });
}

void Stager::run() {
  startFirstCopies();
  carryStage();

  Block &body = loop.getBody().front();
  b.setInsertionPoint(&*llvm::find_if(
      body, [](Operation &op) { return !isa<lane::RowOp>(op); }));
  lane::AwaitStageOp::create(b, stages, stage, phase);
  auto received = lane::ReceiveOp::create(
      b, load.getResultTypes(), loop.getTile(), stages, stage, load.getLayout(),
      /*access=*/IntegerAttr());
  load.replaceAllUsesWith(received);
  load.erase();
  b.setInsertionPointAfter(received);
  // Rows that wait for no sum have no other barrier: the stage is free as soon
  // as all lanes have taken their fragment, ahead of the arithmetic.
  bool hasSums =
      loop.walk([](lane::ReduceOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (!hasSums)
    refill();
  lane::YieldOp yield = loop.getYield();
  b.setInsertionPoint(yield);
  if (hasSums)
    refill();
  Value following = b(stage) + 1;
  Value wraps = b(following) == count;
  Value next = b.select(wraps, b.index(0), following);
  Value flip = arith::ExtUIOp::create(b, b.getI32Type(), wraps);
  Value nextPhase = b(phase) ^ flip;
  unsigned number = cast<BlockArgument>(stage).getArgNumber() - 1;
  yield.getValuesMutable().slice(number, 2).assign(
      ArrayRef<Value>{next, nextPhase});
}

/// After what another kernel may write, and ahead of what is loaded into
/// registers before the first iteration, which is waited for sooner.
void Stager::startFirstCopies() {
  for (Value carried : loop.getCarried()) {
    auto ahead = carried.getDefiningOp<scf::IfOp>();
    if (!ahead)
      continue;
    Operation *condition = ahead.getCondition().getDefiningOp();
    b.setInsertionPoint(condition ? condition : ahead);
    break;
  }
  stages = lane::StagesOp::create(
      b,
      lane::StagesType::get(b.getContext(), count, getElementTypes(memories)),
      load.getLayout());
  Value tile = loop.getBegin();
  for (int64_t i = 0; i < count; ++i) {
    if (i) {
      Value distance = b(loop.getStep()) * i;
      tile = b(loop.getBegin()) + distance;
    }
    stage = b.index(i);
    startCopies(tile);
  }
}

/// Has the loop carry the stage and the phase of its tile, after the iteration.
void Stager::carryStage() {
  b.setInsertionPoint(loop);
  size_t behind = loop.getSums().size() +
                  llvm::count_if(loop.getCarried().getTypes(),
                                 llvm::IsaPred<lane::IterationType>);
  SmallVector<Value> begin{b.index(0), b.int32(0)};
  loop = lane::insertCarried(b, loop, loop.getSums(), behind, begin);
  loop.removeStagesAttr();
  stage = loop.getRegionIterArgs()[behind];
  phase = loop.getRegionIterArgs()[behind + 1];
  SmallVector<Value> yielded(loop.getYield().getValues());
  yielded.insert(yielded.begin() + behind, {stage, phase});
  loop.getYield().getValuesMutable().assign(yielded);
}

/// Starts the copies of the tile that begins with row `tile` to the stage.
void Stager::startCopies(Value tile) {
  lane::StartCopiesOp::create(b, memories, tile, loop.getEnd(), stages, stage,
                              loop.getLayout());
}

/// Starts the copies of the tile `count` tiles ahead to the stage of this
/// one, from which all lanes have loaded their fragments.
void Stager::refill() {
  lane::BarrierOp::create(b);
  Value ahead = b(loop.getStep()) * count;
  startCopies(b(loop.getTile()) + ahead);
}

/// The loads of the rows of `loop`; a failure where they cannot be staged.
static FailureOr<lane::LoadOp> getLoad(lane::ForRowsOp loop) {
  SmallVector<lane::LoadOp> loads;
  loop.walk([&](lane::LoadOp load) {
    // What views repeat stays in a cache.
    if (load.getMemories().empty() ||
        !load.getMemories().front().getDefiningOp<lane::ViewOp>())
      loads.push_back(load);
  });
  if (loads.empty())
    return lane::LoadOp();
  lane::LoadOp load = loads.front();
  auto row = load.getRow().getDefiningOp<lane::RowOp>();
  if (loads.size() > 1 || load->getParentOp() != loop || load.getAccess() ||
      !row || row.getTile() != loop.getTile())
    return load.emitOpError(
        "cannot be staged: expected one load in the body of "
        "its loop, of whole fragments of the row that lane.row "
        "gives for the tile");
  if (!loop.getWhole())
    return loop.emitOpError("expected full tiles; run lnbwd-pipeline-rows "
                            "before");
  StageLayout stages = lane::getStageLayout(
      load.getLayout().getType(), getElementTypes(load.getMemories()));
  if (stages.needsShift() && !loop.getLastRowApart())
    return loop.emitOpError(
               "expected last_row_apart: copies of its tiles reach "
               "into the row after, since not all begin at a "
               "multiple of ")
           << bulkCopyUnit << " bytes";
  return load;
}

namespace {
struct StageRows : lnbwd::impl::StageRowsPassBase<StageRows> {
  void runOnOperation() override {
    for (lane::ForRowsOp loop :
         lane::collectLoops(getOperation(), &lane::ForRowsOp::getStages)) {
      FailureOr<lane::LoadOp> load = getLoad(loop);
      if (failed(load))
        return signalPassFailure();
      if (!*load)
        continue;
      Stager(loop, *load, int64_t(*loop.getStages())).run();
      ++numStaged;
    }
  }
};
} // namespace
