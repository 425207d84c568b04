//===- PeelLastRows.cpp - Take the set that is not full out of the loop ---===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The row loop so needs no masks: they are in a copy of its body behind it.
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"

#include "lnbwd/Transforms/Lane/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace lnbwd {
#define GEN_PASS_DEF_PEELLASTROWSPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// Writes the body of `loop` for the rows from `set` up to `rows`, which are
/// not all of a set, going on from `state`. Returns what the body yields.
static SmallVector<Value> writeLastRows(ImplicitLocOpBuilder &b,
                                        lane::ForRowsOp loop, Value set,
                                        Value rows, ValueRange state) {
  Value own = lane::RowOp::create(b, set, loop.getPlace());
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value last = arith::SubIOp::create(b, rows, one);
  Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, own, rows);
  Value row = arith::MinUIOp::create(b, own, last);

  IRMapping mapping;
  mapping.map(loop.getSet(), set);
  mapping.map(ValueRange(loop.getStateArguments()), state);
  lane::mapRow(loop, mapping, row);
  return lane::writeBody(b, loop, mapping, exists);
}

static void peel(lane::ForRowsOp loop) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Value rows = loop.getEnd();
  Value groups =
      arith::ConstantIndexOp::create(b, loop.getPlace().getType().getGroups());
  Value sets = arith::DivUIOp::create(b, rows, groups);
  Value fullRows = arith::MulIOp::create(b, sets, groups);
  loop.getEndMutable().assign(fullRows);
  loop.setWhole(true);

  b.setInsertionPointAfter(loop);
  Value behind = arith::AddIOp::create(b, loop.getWorkgroup(),
                                       arith::ConstantIndexOp::create(b, 1));
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, behind,
                                       loop.getWorkgroups());
  Value isLeft =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, fullRows, rows);
  Value hasRows = arith::AndIOp::create(b, isLeft, isLast);
  auto tail = scf::IfOp::create(b, loop.getResultTypes(), hasRows,
                                /*withElseRegion=*/loop.getNumResults() != 0);
  tail->setAttr(lane::partAttr,
                lane::PartKindAttr::get(b.getContext(), lane::PartKind::Tail));
  loop.getResults().replaceAllUsesWith(tail.getResults());
  b.setInsertionPointToStart(tail.thenBlock());
  SmallVector<Value> left =
      writeLastRows(b, loop, fullRows, rows, loop.getResults());
  if (loop.getNumResults() == 0)
    return;
  scf::YieldOp::create(b, left);
  b.setInsertionPointToStart(tail.elseBlock());
  scf::YieldOp::create(b, loop.getResults());
}

namespace {
class PeelLastRows : public lnbwd::impl::PeelLastRowsPassBase<PeelLastRows> {
public:
  using PeelLastRowsPassBase::PeelLastRowsPassBase;

  void runOnOperation() override {
    SmallVector<lane::ForRowsOp> loops;
    getOperation()->walk([&](lane::ForRowsOp loop) { loops.push_back(loop); });
    for (lane::ForRowsOp loop : loops) {
      if (!loop.getWhole() && loop.getPlace().getType().getGroups() > 1) {
        peel(loop);
        ++numPeeled;
      }
      // Which workgroup it is was needed for the set that is not whole.
      loop.setWhole(true);
      loop.getWorkgroupMutable().clear();
      loop.getWorkgroupsMutable().clear();
    }
  }
};
} // namespace
