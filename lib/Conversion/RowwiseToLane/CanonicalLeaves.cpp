//===- CanonicalLeaves.cpp - Sums of rows in the canonical order ----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of a kernel where the order of sums is canonical: chains of them add
// up leaves, and a binary tree those.
//
//===----------------------------------------------------------------------===//

#include "KernelWriters.h"

#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lnbwd;

void LeafWriter::writeLeaves(Value workgroup) {
  int64_t length = op.getRowLength(), groups = schedule.rowGroups;
  int64_t leafRows = getLeafRows(length), chains = getLeafChains(length);
  int64_t parts = getLeafParts(length, groups);
  Value zero = b.index(0), one = b.index(1);
  Value leaves = b.atLeast(
      arith::CeilDivUIOp::create(b, kernel.rows, b.index(leafRows)), one);
  Value sets = b.atLeast(b(kernel.workgroups) / parts, one);
  // As few sets as take no longer: on an H100, clusters that begin when others
  // end took up to a fifth longer.
  Value each = arith::CeilDivUIOp::create(b, leaves, sets);
  int64_t together = getLeavesTogether();
  auto roundUp = [&](Value leaf) {
    Value first = b(leaf) + (together - 1);
    return b(first) / together * together;
  };
  each = roundUp(each);
  Value part = b(workgroup) % parts;
  Value firstRow = b(part) * groups;
  Value first = b.atMost(b(workgroup) / parts * each, leaves);
  Value behind = b.atMost(b(first) + each, leaves);
  Value allRows = b(behind) * leafRows;
  Value end = b.atMost(allRows, kernel.rows);
  Value begin = b.atMost(b(first) * leafRows + firstRow, end);
  // Each workgroup handles its own tail rows.
  Value lastTile = (b.atLeast(end, one) - one) / groups;
  Value hasLast = b.both(b(begin) < end, b(lastTile) % parts - part == 0);
  Value number = b.select(hasLast, zero, one);
  SmallVector<Value> state = columnSums.makeNeutral();
  size_t count = state.size();
  if (op.hasRowSums())
    state.push_back(lane::FirstIterationOp::create(
        b, lane::IterationType::get(op.getContext())));
  auto loop = lane::ForRowsOp::create(b, begin, end, b.index(chains), layout,
                                      number, one,
                                      /*sums=*/ValueRange(), state);
  rows.setTransfers(loop);
  {
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Value> next = rows.writeIteration(loop);
    SmallVector<Value> kept =
        endLeaf(loop.getTile(), part, ArrayRef(next).take_front(count));
    llvm::copy(kept, next.begin());
    lane::YieldOp::create(b, next);
  }
  // The kernel that adds up leaves would wait beside this one: on an H200 that
  // took a twentieth of the time of both.
  context.allowNext();
  // The last leaf, if the last tile of these chains does not exist, and those
  // that are not there of the leaves together.
  Value last = b(allRows) - chains + firstRow;
  Value isOpen = b.both(b(first) < behind, b(kernel.rows) < b(last) + one);
  b.when(isOpen, [&] {
    storeLeaf(b(behind) - one, part, loop.getResults().take_front(count));
  });
  Value all = together > 1
                  ? b.select(b(first) < behind, roundUp(behind), behind)
                  : Value();
  storeMissing(workgroup, behind, all, part);
}

/// Stores the sums of what no workgroup has rows of: the leaves from `behind`
/// to before `all`, which is null where leaves are stored one by one, and other
/// parts.
void LeafWriter::storeMissing(Value workgroup, Value behind, Value all,
                              Value part) {
  int64_t parts = getLeafParts(op.getRowLength(), schedule.rowGroups);
  OpBuilder::InsertionGuard guard(b);
  if (all) {
    auto rest = scf::ForOp::create(b, behind, all, b.index(1));
    b.setInsertionPointToStart(rest.getBody());
    storeLeaf(rest.getInductionVar(), part, columnSums.makeNeutral());
    b.setInsertionPointAfter(rest);
  }
  if (parts == 1)
    return;
  // Chains without rows, of a batch of less than one row for each, have no
  // workgroup.
  Value next = b(workgroup) + kernel.workgroups;
  auto others = scf::ForOp::create(b, next, b.index(parts), kernel.workgroups);
  b.setInsertionPointToStart(others.getBody());
  columnSums.store(columnSums.makeNeutralTotals(), others.getInductionVar());
}

/// Adds `sums` of part `part` of leaf `leaf` to those of the leaves before it
/// and stores what the leaves together have, if it is the last of them.
void LeafWriter::storeLeaf(Value leaf, Value part, ValueRange sums) {
  int64_t together = getLeavesTogether();
  int64_t parts = getLeafParts(op.getRowLength(), schedule.rowGroups);
  SmallVector<Value> totals = columnSums.combineGroups(sums);
  Value row = b(leaf) / together * parts + part;
  if (together == 1) {
    columnSums.store(totals, row);
  } else {
    auto added = lane::AddLeavesOp::create(
        b, ValueRange(totals).getTypes(), columnSums.getKinds(), totals, leaf,
        context.totalLayout, llvm::Log2_64(uint64_t(together)),
        /*last=*/false, /*each=*/false);
    Value isLast = b(leaf) % together == (together - 1);
    b.when(isLast, [&] {
      columnSums.store(SmallVector<Value>(added.getTotals()), row);
    });
  }
  // What groups have exchanged is overwritten by the next leaf's sums.
  if (schedule.rowGroups > 1)
    lane::BarrierOp::create(b);
}

/// Stores `sums` of part `part` of a leaf and begins new ones if the tile that
/// begins with row `tile` is the last of its leaf.
SmallVector<Value> LeafWriter::endLeaf(Value tile, Value part,
                                       ValueRange sums) {
  int64_t length = op.getRowLength(), leafRows = getLeafRows(length);
  Value behind = b.index(leafRows - getLeafChains(length));
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::uge,
                                       b(tile) % leafRows, behind);
  // Of several tiles in an iteration the last may not exist.
  if (schedule.unroll > 1)
    isLast = b.both(isLast, b(tile) < kernel.rows);
  auto store = [&] {
    storeLeaf(b(tile) / leafRows, part, sums);
    // Zeros that come of the branch: constants would be selected in every
    // iteration. There are never so many workgroups. The largest so far may
    // stay: of all leaves it is the same.
    Value none = b(kernel.workgroups) >> 30;
    Value bits = arith::IndexCastOp::create(b, b.getI32Type(), none);
    SmallVector<Value> zeros;
    for (auto [i, sum] : llvm::enumerate(sums)) {
      if (context.isMaximum(i)) {
        zeros.push_back(sum);
        continue;
      }
      auto type = cast<VectorType>(sum.getType()).clone(b.getI32Type());
      Value mask = vector::BroadcastOp::create(b, type, bits);
      Value word = arith::AndIOp::create(
          b, arith::BitcastOp::create(b, type, sum), mask);
      zeros.push_back(arith::BitcastOp::create(b, sum.getType(), word));
    }
    return zeros;
  };
  return b.choose(isLast, store, [&] { return SmallVector<Value>(sums); });
}

void LeafWriter::writeTree(MutableArrayRef<Value> sums) {
  int64_t groups = schedule.rowGroups, leavesAtOnce = schedule.unroll;
  Value last = b.atLeast(kernel.rows, b.index(1)) - 1;
  Value group = lane::GroupOp::create(b, b.getIndexType(), layout);
  auto count = scf::WhileOp::create(
      b, b.getIndexType(), b.index(1),
      [&](OpBuilder &, Location, ValueRange state) {
        Value covered = b(state[0]) * (groups * leavesAtOnce);
        scf::ConditionOp::create(b, b(covered) < kernel.rows, state);
      },
      [&](OpBuilder &, Location, ValueRange state) {
        scf::YieldOp::create(b, b(state[0]) * 2);
      });
  Value ofGroup = count.getResult(0), first = b(group) * ofGroup;
  SmallVector<Value> zeros(sums);
  auto loop =
      scf::ForOp::create(b, b.index(0), ofGroup, b.index(1), ValueRange(zeros));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    Value firstRow = (b(first) + number) * leavesAtOnce;
    SmallVector<SmallVector<Value>> leaves(zeros.size());
    SmallVector<Type> types(zeros.size(), zeros.front().getType());
    for (int64_t i = 0; i < leavesAtOnce; ++i) {
      Value row = b(firstRow) + i;
      Value isRow =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ule, row, last);
      auto load = lane::LoadOp::create(
          b, types, ArrayRef(kernel.buffers).take_front(zeros.size()),
          b.atMost(row, last), layout,
          /*access=*/IntegerAttr());
      for (auto [leaf, value, zero] :
           llvm::zip_equal(leaves, load.getFragments(), zeros))
        leaf.push_back(b.select(isRow, value, zero));
    }
    SmallVector<Value> added;
    for (auto [i, leaf] : llvm::enumerate(leaves))
      added.push_back(lane::combineByPairs(b, context.isMaximum(i), leaf));
    auto all =
        lane::AddLeavesOp::create(b, types, columnSums.getKinds(), added,
                                  number, layout, groupLevels, /*last=*/false,
                                  /*each=*/true);
    scf::YieldOp::create(b, all.getTotals());
  }
  llvm::copy(columnSums.combineGroups(loop.getResults()), sums.begin());
}

void LeafWriter::writeAllLeaves(MutableArrayRef<Value> sums) {
  int64_t length = op.getRowLength(), leafRows = getLeafRows(length);
  int64_t chains = getLeafChains(length);
  int64_t together = schedule.rowGroups / chains;
  int64_t levels = countWaitingLevels(length, /*rowsPerWorkgroup=*/0);
  TypedValue<lane::LayoutType> all = layout, ofLeaf = layout;
  Value leafOfGroup =
      b(lane::GroupOp::create(b, b.getIndexType(), all)) / chains;
  if (together > 1)
    ofLeaf = lane::LayoutOp::create(
        b, context.getLayoutType(chains, /*isAcross=*/false),
        all.getDefiningOp<lane::LayoutOp>().getFirst());
  Value one = b.index(1);
  Value count = b.atLeast(
      arith::CeilDivUIOp::create(b, kernel.rows, b.index(leafRows * together)),
      one);
  auto leaves = scf::ForOp::create(b, b.index(0), count, one);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(leaves.getBody());
    Value number = leaves.getInductionVar();
    Value leaf = b(number) * together + leafOfGroup;
    Value begin = b.atMost(b(leaf) * leafRows, kernel.rows);
    Value end = b.atMost(b(begin) + leafRows, kernel.rows);
    Value noRows = b.select(b(begin) < end, b.index(0), one);
    layout = ofLeaf;
    auto loop =
        lane::ForRowsOp::create(b, begin, end, b.index(chains), layout, noRows,
                                one, sums, /*carried=*/ValueRange());
    rows.setTransfers(loop);
    lane::YieldOp::create(b, rows.writeIteration(loop));
    layout = all;
    b.setInsertionPointAfter(loop);
    SmallVector<Value> added = columnSums.combineGroups(loop.getResults());
    lane::AddLeavesOp::create(b, ValueRange(added).getTypes(),
                              columnSums.getKinds(), added, number,
                              context.totalLayout, levels, /*last=*/false,
                              /*each=*/false);
    // What groups have exchanged is overwritten by the next leaves' sums.
    if (schedule.rowGroups > 1)
      lane::BarrierOp::create(b);
  }
  SmallVector<Value> none = columnSums.makeNeutralTotals();
  auto totals = lane::AddLeavesOp::create(b, ValueRange(none).getTypes(),
                                          columnSums.getKinds(), none, count,
                                          context.totalLayout, levels,
                                          /*last=*/true, /*each=*/false);
  llvm::copy(totals.getTotals(), sums.begin());
}
