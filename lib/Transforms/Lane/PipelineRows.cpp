//===- PipelineRows.cpp - Have the loads of several sets on their way -----===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"
#include "lnbwd/Transforms/Lane/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace lnbwd {
#define GEN_PASS_DEF_PIPELINEROWSPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
/// One set of a turn: what its rows' values are, and whether they exist.
struct Set {
  IRMapping mapping;
  Value exists;
};

/// Rewrites one loop so that a turn takes several sets.
class Unroller {
public:
  Unroller(lane::ForRowsOp loop, int64_t sets, const ChipInfo &chip)
      : loop(loop), sets(sets), chip(chip), b(loop.getLoc(), loop) {}

  void run();

private:
  void load(Set &set, Value row);
  void loadDropped(Set &set, Value first);
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  lane::ForRowsOp loop;
  int64_t sets;
  const ChipInfo &chip;
  ImplicitLocOpBuilder b;
};
} // namespace

void Unroller::run() {
  Value end = loop.getEnd(), step = loop.getStep();
  Value stride = arith::MulIOp::create(b, step, index(sets));
  // No row is worked on that does not exist: all sets are whole.
  auto unrolled = lane::ForRowsOp::create(
      b, loop.getBegin(), end, stride, loop.getPlace(), /*workgroup=*/Value(),
      /*workgroups=*/Value(), loop.getSums(), loop.getCarried());
  unrolled.setSumBlockAttr(loop.getSumBlockAttr());
  unrolled.setWhole(true);

  b.setInsertionPointToStart(&unrolled.getBody().front());
  Value last = arith::SubIOp::create(b, end, index(1));
  Value first = unrolled.getSet();
  Value row = lane::RowOp::create(b, first, loop.getPlace());
  SmallVector<Set> turn(static_cast<size_t>(sets));
  for (auto [i, set] : llvm::enumerate(turn)) {
    if (i) {
      first = arith::AddIOp::create(b, first, step);
      row = arith::AddIOp::create(b, row, step);
    }
    set.exists = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, row, end);
    set.mapping.map(loop.getSet(), first);
    // NVIDIA's chips may read the last row once more.
    if (chip.backend == Backend::AMDGPU)
      loadDropped(set, first);
    else
      load(set, arith::MinUIOp::create(b, row, last));
    lane::mapRow(loop, set.mapping, row);
  }
  SmallVector<Value> state(unrolled.getStateArguments());
  for (Set &set : turn) {
    set.mapping.map(ValueRange(loop.getStateArguments()), ValueRange(state));
    state = lane::writeBody(b, loop, set.mapping, set.exists);
  }
  lane::YieldOp::create(b, state);
  loop.replaceAllUsesWith(unrolled.getResults());
  loop.erase();
}

/// Loads a row that exists.
void Unroller::load(Set &set, Value row) {
  lane::mapRow(loop, set.mapping, row);
  for (Operation &op : loop.getBody().front())
    if (isa<lane::LoadOp, lane::LoadScalarOp>(op))
      b.clone(op, set.mapping);
}

/// Loads the rows of a set as far as they exist. The scalars come first: packed
/// arithmetic reads pairs of registers even where it uses one of them, and so
/// may wait for a scalar's register; the rows stay on their way then.
void Unroller::loadDropped(Set &set, Value first) {
  Value groups = index(loop.getPlace().getType().getGroups());
  Value left = arith::SubIOp::create(b, loop.getEnd(), first);
  Value atMost = arith::MinUIOp::create(b, left, groups);
  Value isThere =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, first, loop.getEnd());
  Value count = arith::SelectOp::create(b, isThere, atMost, index(0));
  SmallVector<lane::LoadScalarOp> scalars;
  SmallVector<lane::LoadOp> rows;
  for (Operation &op : loop.getBody().front()) {
    if (auto scalar = dyn_cast<lane::LoadScalarOp>(op))
      scalars.push_back(scalar);
    else if (auto load = dyn_cast<lane::LoadOp>(op))
      rows.push_back(load);
  }
  SmallVector<Value> loaded;
  for (lane::LoadScalarOp scalar : scalars)
    loaded.push_back(lane::LoadScalarWithinOp::create(
        b, scalar.getScalar().getType(), scalar.getMemory(), first, count,
        loop.getPlace()));
  if (!scalars.empty())
    lane::KeepOrderOp::create(b);
  for (lane::LoadOp load : rows) {
    auto within = lane::LoadWithinOp::create(
        b, load.getResultTypes(), load.getMemories(), first, count,
        load.getPlace(), load.getAccessAttr());
    set.mapping.map(load.getResults(), within.getResults());
  }
  for (auto [scalar, value] : llvm::zip_equal(scalars, loaded))
    set.mapping.map(scalar.getScalar(),
                    lane::ShareScalarOp::create(b, value, loop.getPlace()));
}

namespace {
class PipelineRows : public lnbwd::impl::PipelineRowsPassBase<PipelineRows> {
public:
  using PipelineRowsPassBase::PipelineRowsPassBase;

  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    FailureOr<const ChipInfo *> found =
        lookupChip(chip, [&] { return emitError(kernel.getLoc()); });
    if (failed(found))
      return signalPassFailure();
    auto info = kernel->getAttrOfType<KernelInfoAttr>(kernelInfoAttr);
    if (!info || info.getSchedule().getUnroll() == 1 ||
        info.getSchedule().getPrefetch())
      return;
    SmallVector<lane::ForRowsOp> loops;
    kernel.walk([&](lane::ForRowsOp loop) { loops.push_back(loop); });
    for (lane::ForRowsOp loop : loops) {
      if (loop.getWhole()) {
        loop.emitOpError("expected sets that may not be whole; run "
                         "lnbwd-pipeline-rows before lnbwd-peel-last-rows");
        return signalPassFailure();
      }
      WalkResult result = loop.walk([&](lane::ReduceOp reduce) {
        reduce.emitOpError("cannot be in a loop that loads several sets before "
                           "it works on the first: expected no row sums");
        return WalkResult::interrupt();
      });
      if (result.wasInterrupted())
        return signalPassFailure();
      Unroller(loop, info.getSchedule().getUnroll(), **found).run();
      ++numPipelined;
    }
  }
};
} // namespace
