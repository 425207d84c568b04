//===- RowKernelLoops.cpp - Which rows a workgroup takes, and when --------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of RowKernelEmitter that walks over the rows: loads them ahead, in
// one of several loops that the schedule chooses, and masks the last set where
// it is not full.
//
//===----------------------------------------------------------------------===//

#include "RowKernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// Loads a row's part of the row blocks, chunk by chunk. With `reload` they are
/// left for the phases.
SmallVector<Value> RowKernelEmitter::loadVectors(Value rowIndex) {
  SmallVector<Value> vectors;
  for (const Chunk &chunk : chunks)
    for (size_t i = 0; i < op.getRows().size(); ++i)
      vectors.push_back(pack(load(i, {rowIndex, chunk.loadColumn})));
  return vectors;
}

SmallVector<Value> RowKernelEmitter::loadScalars(Value rowIndex) {
  PartScope part(*this, [](KernelPart &around) { around.scalars = true; });
  SmallVector<Value> scalars;
  for (size_t i = 0; i < op.getScalars().size(); ++i)
    scalars.push_back(
        load(op.getRows().size() + op.getAllColumns().size() + i, rowIndex));
  return scalars;
}

/// What a row brings along through registers: its vectors, unless they are
/// staged, and its scalars.
SmallVector<Value> RowKernelEmitter::loadAhead(Value rowIndex) {
  SmallVector<Value> inputs;
  if (!schedule.getStages())
    inputs = loadVectors(rowIndex);
  llvm::append_range(inputs, loadScalars(rowIndex));
  return inputs;
}

/// The same for the set of rows that begins with row `set`, or nothing that may
/// be used where `condition` says that there is none. It is the same for the
/// whole workgroup.
SmallVector<Value> RowKernelEmitter::loadAheadIf(Value condition, Value set) {
  if (target.canDropLoads())
    return loadDropped(
        set, arith::SelectOp::create(b, condition,
                                     index(schedule.getRowGroups()), index(0)));
  Value rowIndex = addIndex(set, group);
  SmallVector<Type> types;
  if (!schedule.getStages())
    for (size_t c = 0; c < chunks.size(); ++c)
      for (Value value : op.getRows())
        types.push_back(
            getPackedType(laneVector(getElementTypeOrSelf(value.getType()))));
  for (Value value : op.getScalars())
    types.push_back(getElementTypeOrSelf(value.getType()));
  if (types.empty())
    return {};
  auto guarded =
      scf::IfOp::create(b, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(guarded.thenBlock());
  scf::YieldOp::create(b, loadAhead(rowIndex));
  b.setInsertionPointToStart(guarded.elseBlock());
  SmallVector<Value> unused;
  for (Type type : types)
    unused.push_back(LLVM::PoisonOp::create(b, type));
  scf::YieldOp::create(b, unused);
  return llvm::to_vector_of<Value>(guarded.getResults());
}

/// The same without a branch, for a set of which the first `count` rows exist:
/// loads of the others are dropped. Row scalars are loaded once a wave where it
/// has but one row; its other lanes' loads are dropped as well. They come
/// first: packed arithmetic reads pairs of registers even where it uses one of
/// them, and so may wait for a scalar's register; the rows stay on their way
/// then.
SmallVector<Value> RowKernelEmitter::loadDropped(Value set, Value count) {
  SmallVector<Value> scalars;
  if (!op.getScalars().empty()) {
    PartScope part(*this, [](KernelPart &around) { around.scalars = true; });
    Value place = group;
    if (hasUniformRows()) {
      Value laneInWave = arith::RemUIOp::create(b, lane, index(chip.waveSize));
      Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                            laneInWave, index(0));
      place = arith::SelectOp::create(b, isFirst, group,
                                      index(schedule.getRowGroups()));
    }
    size_t first = op.getRows().size() + op.getAllColumns().size();
    for (auto [i, operand] : llvm::enumerate(op.getScalars()))
      scalars.push_back(
          target.loadWithin(b, getElementTypeOrSelf(operand.getType()),
                            buffers[first + i], set, count, place));
    target.keepOrder(b);
  }
  SmallVector<Value> inputs;
  for (const Chunk &chunk : chunks)
    for (auto [i, operand] : llvm::enumerate(op.getRows())) {
      int64_t stride = op.getRowStride(i);
      inputs.push_back(pack(target.loadWithin(
          b, laneVector(getElementTypeOrSelf(operand.getType())), buffers[i],
          mulIndex(set, stride), mulIndex(count, stride),
          addIndex(mulIndex(group, stride), chunk.loadColumn))));
    }
  llvm::append_range(inputs, scalars);
  return inputs;
}

/// A row that was loaded ahead.
RowKernelEmitter::Row
RowKernelEmitter::makeRowAhead(Value rowIndex, Value valid, ValueRange inputs) {
  SmallVector<Value> values(inputs);
  if (target.canDropLoads() && hasUniformRows())
    for (Value &scalar :
         MutableArrayRef(values).take_back(op.getScalars().size()))
      scalar = target.makeUniform(b, scalar);
  return makeRow(rowIndex, valid, values);
}

RowKernelEmitter::Row RowKernelEmitter::makeRow(Value rowIndex, Value valid,
                                                ValueRange inputs) {
  Row row;
  row.index = rowIndex;
  row.valid = valid;
  Block &body = op.getBody().front();
  size_t numRows = op.getRows().size();
  size_t numColumns = op.getAllColumns().size();
  for (size_t c = 0; c < chunks.size(); ++c) {
    row.vectors.emplace_back();
    for (size_t i = 0; i < numRows; ++i)
      row.vectors[c][body.getArgument(i)] =
          unpack(inputs[c * numRows + i],
                 getElementTypeOrSelf(op.getRows()[i].getType()));
    for (size_t i = 0; i < numColumns; ++i)
      row.vectors[c][body.getArgument(numRows + i)] = columnOperands[c][i];
  }
  for (size_t i = 0; i < op.getScalars().size(); ++i)
    row.scalars[body.getArgument(numRows + numColumns + i)] =
        inputs[chunks.size() * numRows + i];
  return row;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The rows of the sets that the loop works on. All of them have all their
/// rows; and where copies reach beyond a set's last row, a row follows.
Value RowKernelEmitter::getFullRows() {
  int64_t groups = schedule.getRowGroups();
  Value available = rows;
  if (needsShift(op, schedule))
    available = arith::SubIOp::create(
        b, arith::MaxUIOp::create(b, rows, index(1)), index(1));
  if (groups == 1)
    return available;
  Value sets = arith::DivUIOp::create(b, available, index(groups));
  return mulIndex(sets, groups);
}

/// Emits the row loop over the sets from `begin` on, `step` apart from turn to
/// turn: by `emitLoop`, which is given where to begin and to end and what to
/// carry along, returns the latter, and adds to `sums`. A sum's rounding errors
/// are of the size that it has grown to; so, where there are registers for
/// totals, there is a loop for each block of turns, which begins with sums of
/// 0, and one around it. `isEntered` says that there surely is a first turn.
SmallVector<Value> RowKernelEmitter::emitInBlocks(
    Value begin, Value end, Value step, ValueRange carried, bool isEntered,
    function_ref<SmallVector<Value>(Value, Value, ValueRange)> emitLoop) {
  // Staged rows have their totals in the one loop (foldSums).
  if (!hasSumTotals(op, schedule, chip) || staging)
    return emitLoop(begin, end, carried);
  SmallVector<Value> zeros = sums;
  SmallVector<Value> state = sums;
  llvm::append_range(state, carried);
  Value blockStep = mulIndex(step, getSumBlockTurns(schedule));
  auto emitBlock = [&](Value first, Value next, ValueRange before) {
    sums = zeros;
    Value last = arith::MinUIOp::create(b, next, end);
    SmallVector<Value> left =
        emitLoop(first, last, before.drop_front(zeros.size()));
    SmallVector<Value> after;
    for (auto [sum, total] : llvm::zip(sums, before))
      after.push_back(add(total, sum));
    llvm::append_range(after, left);
    return after;
  };

  OpBuilder::InsertionGuard guard(b);
  PartScope part(*this, {KernelPart::SumBlock});
  ValueRange results;
  if (isEntered) {
    state.insert(state.begin(), begin);
    TypeRange types{ValueRange(state)};
    auto loop = scf::WhileOp::create(b, types, state);
    SmallVector<Location> locations(state.size(), b.getLoc());
    Block *again = b.createBlock(&loop.getAfter(), {}, types, locations);
    scf::YieldOp::create(b, again->getArguments());
    Block *block = b.createBlock(&loop.getBefore(), {}, types, locations);
    Value first = block->getArgument(0);
    Value next = addIndex(first, blockStep);
    SmallVector<Value> after =
        emitBlock(first, next, ValueRange(block->getArguments()).drop_front());
    after.insert(after.begin(), next);
    scf::ConditionOp::create(b, lessThan(next, end), after);
    results = loop.getResults().drop_front();
  } else {
    auto loop = scf::ForOp::create(b, begin, end, blockStep, state);
    b.setInsertionPointToStart(loop.getBody());
    Value first = loop.getInductionVar();
    scf::YieldOp::create(b, emitBlock(first, addIndex(first, blockStep),
                                      loop.getRegionIterArgs()));
    results = loop.getResults();
  }
  llvm::copy(results.take_front(zeros.size()), sums.begin());
  return llvm::to_vector(results.drop_front(zeros.size()));
}

/// Workgroup w takes the row sets w, w + workgroups, ... as long as all rows of
/// a set exist, so that the loop needs no masks.
void RowKernelEmitter::emitRowLoop() {
  int64_t groups = schedule.getRowGroups();
  Value begin = mulIndex(workgroup, groups);
  Value step = mulIndex(workgroups, groups);
  Value fullRows = getFullRows();
  if (schedule.getUnroll() == 2) {
    if (exchangeBarriers)
      target.waitForCluster(b);
    return emitPairedRowLoop(begin, step, fullRows);
  }

  // Carried from row to row beside the column sums: the exchange's half, the
  // stage and its phase, and what was loaded ahead.
  SmallVector<Value> carried{parity};
  if (schedule.getStages()) {
    startStaging();
    staging->step = step;
    staging->end = fullRows;
    for (int64_t i = 0; i < schedule.getStages(); ++i)
      startCopies(addIndex(begin, i == 0 ? index(0) : mulIndex(step, i)),
                  index(i));
    carried.push_back(index(0));
    carried.push_back(arith::ConstantIntOp::create(b, 0, 32));
  }
  // Staged rows: the turns of the block and the totals.
  size_t firstTotal = carried.size();
  bool folds = staging && hasSumTotals(op, schedule, chip);
  if (folds) {
    carried.push_back(arith::ConstantIntOp::create(b, 0, 32));
    llvm::append_range(carried, sums);
  }
  size_t numState = carried.size();
  if (schedule.getPrefetch()) {
    PartScope part(*this, {KernelPart::FirstLoad});
    llvm::append_range(carried, loadAheadIf(lessThan(begin, fullRows), begin));
  }

  if (exchangeBarriers)
    target.waitForCluster(b);
  auto emitLoop = [&](Value from, Value to, ValueRange before) {
    SmallVector<Value> initial = sums;
    llvm::append_range(initial, before);
    auto loop = scf::ForOp::create(b, from, to, step, initial);
    OpBuilder::InsertionGuard guard(b);
    PartScope part(*this, {KernelPart::Row});
    b.setInsertionPointToStart(loop.getBody());
    ValueRange state = loop.getRegionIterArgs();
    llvm::copy(state.take_front(sums.size()), sums.begin());
    state = state.drop_front(sums.size());
    parity = state[0];
    Value rowIndex = addIndex(loop.getInductionVar(), group);

    SmallVector<Value> inputs, next;
    if (staging) {
      staging->stage = state[1];
      staging->phase = state[2];
      staging->firstRow = loop.getInductionVar();
      staging->refilled = false;
      inputs = receiveStaged();
      // Rows that wait for no sum have no other barrier: the place is free as
      // soon as all lanes have taken their part, ahead of the arithmetic.
      if (!op.hasRowSums()) {
        target.barrier(b);
        refillStage();
      }
    }
    if (schedule.getPrefetch()) {
      llvm::append_range(inputs, state.drop_front(numState));
      if (target.avoidsRepeatedReads()) {
        Value nextSet = addIndex(loop.getInductionVar(), step);
        PartScope loads(*this, {KernelPart::NextLoad});
        next = loadAheadIf(lessThan(nextSet, fullRows), nextSet);
        target.keepOrder(b);
      } else {
        Value nextRow = addIndex(rowIndex, step);
        Value last = arith::SubIOp::create(b, rows, index(1));
        next = loadAhead(arith::MinUIOp::create(b, nextRow, last));
      }
    } else {
      llvm::append_range(inputs, loadAhead(rowIndex));
    }
    Row row = schedule.getPrefetch() ? makeRowAhead(rowIndex, Value(), inputs)
                                     : makeRow(rowIndex, Value(), inputs);
    emitRow(row);

    SmallVector<Value> results = sums;
    results.push_back(parity);
    if (staging) {
      if (!staging->refilled) {
        target.barrier(b);
        refillStage();
      }
      Value following = addIndex(staging->stage, index(1));
      Value wraps = arith::CmpIOp::create(
          b, arith::CmpIPredicate::eq, following, index(schedule.getStages()));
      results.push_back(arith::SelectOp::create(b, wraps, index(0), following));
      Value flip = arith::ExtUIOp::create(b, b.getI32Type(), wraps);
      results.push_back(arith::XOrIOp::create(b, staging->phase, flip));
    }
    if (folds) {
      ValueRange before = state.slice(firstTotal, 1 + sums.size());
      llvm::append_range(results,
                         foldSums(before.front(), before.drop_front()));
      llvm::copy(sums, results.begin());
    }
    // What is copied from turn to turn is waited for behind the work.
    if (schedule.getPrefetch())
      target.keepOrder(b);
    llvm::append_range(results, next);
    scf::YieldOp::create(b, results);
    llvm::copy(loop.getResults().take_front(sums.size()), sums.begin());
    return llvm::to_vector_of<Value>(loop.getResults().drop_front(sums.size()));
  };
  SmallVector<Value> left = emitInBlocks(begin, fullRows, step, carried,
                                         /*isEntered=*/false, emitLoop);
  parity = left.front();
  if (folds)
    for (auto [sum, total] :
         llvm::zip(sums, ArrayRef(left).drop_front(firstTotal + 1)))
      sum = add(total, sum);
  staging.reset();
}

/// Adds the sums to `totals` and begins new ones, where `turn` is the last of a
/// block: in a branch of the one row loop, since a loop around it would cost
/// the alignment of what is exchanged, and have the next row's scalars waited
/// for before the next copies start. Returns the next turn of the block and the
/// totals.
SmallVector<Value> RowKernelEmitter::foldSums(Value turn, ValueRange totals) {
  Value one = arith::ConstantIntOp::create(b, 1, 32);
  Value next = arith::AddIOp::create(b, turn, one);
  Value count = arith::ConstantIntOp::create(b, getSumBlockTurns(schedule), 32);
  Value isLast =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next, count);
  SmallVector<Value> kept = sums, folded;
  kept.push_back(next);
  llvm::append_range(kept, totals);
  auto fold = scf::IfOp::create(b, TypeRange(ValueRange(kept)), isLast,
                                /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    PartScope part(*this, {KernelPart::SumBlock});
    b.setInsertionPointToStart(fold.thenBlock());
    // Zeros that come of the branch: constants would be selected in every turn.
    // An infinite sum leaves NaN, as its column's infinite total may be, too.
    for (Value sum : sums)
      folded.push_back(arith::SubFOp::create(b, sum, sum));
    folded.push_back(arith::ConstantIntOp::create(b, 0, 32));
    for (auto [sum, total] : llvm::zip(sums, totals))
      folded.push_back(add(total, sum));
    scf::YieldOp::create(b, folded);
    b.setInsertionPointToStart(fold.elseBlock());
    scf::YieldOp::create(b, kept);
  }
  llvm::copy(fold.getResults().take_front(sums.size()), sums.begin());
  return llvm::to_vector_of<Value>(fold.getResults().drop_front(sums.size()));
}

/// The same with two sets of rows a turn, the second under a condition that is
/// the same for the whole workgroup. While one set is worked on, the other is
/// on its way into registers of its own: nothing is copied from turn to turn.
/// Both sets of the next turn are loaded at the same place of each turn, behind
/// the work that frees their registers, so that all ways to a turn's beginning
/// have the same loads on their way, in the same order.
void RowKernelEmitter::emitPairedRowLoop(Value begin, Value step,
                                         Value fullRows) {
  auto getState = [&] {
    SmallVector<Value> state{parity};
    llvm::append_range(state, sums);
    return state;
  };
  auto setState = [&](ValueRange state) {
    parity = state.front();
    llvm::copy(state.slice(1, sums.size()), sums.begin());
    return state.drop_front(1 + sums.size());
  };
  auto loadSet = [&](KernelPart::Kind kind, Value set) {
    PartScope part(*this, {kind});
    target.keepOrder(b);
    SmallVector<Value> inputs = loadAheadIf(lessThan(set, fullRows), set);
    target.keepOrder(b);
    return inputs;
  };
  auto workOn = [&](Value set, ValueRange inputs) {
    Row row = makeRowAhead(addIndex(set, group), Value(), inputs);
    emitRow(row);
  };

  // A loop that tests at its end, under its condition: the optimiser moves
  // loads from before a condition behind it, and does not keep their order.
  SmallVector<Value> before = getState();
  auto any = scf::IfOp::create(b, TypeRange(ValueRange(before)),
                               lessThan(begin, fullRows),
                               /*withElseRegion=*/true);
  b.setInsertionPointToStart(any.elseBlock());
  scf::YieldOp::create(b, before);
  b.setInsertionPointToStart(any.thenBlock());
  SmallVector<Value> carried{parity};
  llvm::append_range(carried, loadSet(KernelPart::FirstLoad, begin));
  llvm::append_range(
      carried, loadSet(KernelPart::FirstSecondLoad, addIndex(begin, step)));
  Value stride = mulIndex(step, 2);
  auto emitLoop = [&](Value from, Value to, ValueRange given) {
    parity = given.front();
    SmallVector<Value> initial{from};
    llvm::append_range(initial, getState());
    llvm::append_range(initial, given.drop_front());
    TypeRange types{ValueRange(initial)};
    auto loop = scf::WhileOp::create(b, types, initial);
    OpBuilder::InsertionGuard guard(b);
    PartScope part(*this, {KernelPart::Row});
    SmallVector<Location> locations(initial.size(), b.getLoc());
    Block *next = b.createBlock(&loop.getAfter(), {}, types, locations);
    scf::YieldOp::create(b, next->getArguments());
    Block *turn = b.createBlock(&loop.getBefore(), {}, types, locations);
    Value first = turn->getArgument(0);
    Value second = addIndex(first, step);
    Value third = addIndex(first, stride);
    SmallVector<Value> inputs(
        setState(ValueRange(turn->getArguments()).drop_front()));
    size_t count = inputs.size() / 2;
    workOn(first, ValueRange(inputs).take_front(count));
    SmallVector<Value> nextFirst = loadSet(KernelPart::NextLoad, third);

    SmallVector<Value> without = getState();
    auto ifSecond =
        scf::IfOp::create(b, TypeRange(ValueRange(without)),
                          lessThan(second, fullRows), /*withElseRegion=*/true);
    b.setInsertionPointToStart(ifSecond.elseBlock());
    scf::YieldOp::create(b, without);
    b.setInsertionPointToStart(ifSecond.thenBlock());
    {
      PartScope secondPart(*this, {KernelPart::SecondRow});
      workOn(second, ValueRange(inputs).drop_front(count));
      scf::YieldOp::create(b, getState());
    }
    b.setInsertionPointAfter(ifSecond);
    setState(ifSecond.getResults());
    SmallVector<Value> results{third};
    llvm::append_range(results, getState());
    llvm::append_range(results, nextFirst);
    llvm::append_range(
        results, loadSet(KernelPart::SecondLoad, addIndex(second, stride)));
    scf::ConditionOp::create(b, lessThan(third, to), results);
    ValueRange loads = setState(loop.getResults().drop_front());
    SmallVector<Value> left{parity};
    llvm::append_range(left, loads);
    return left;
  };
  parity = emitInBlocks(begin, fullRows, stride, carried, /*isEntered=*/true,
                        emitLoop)
               .front();
  scf::YieldOp::create(b, getState());
  b.setInsertionPointAfter(any);
  setState(any.getResults());
}

/// The loop of a program whose rows wait for nothing but their own loads: all
/// sets of a turn are loaded before the first is worked on, so that few rows
/// cost no more than one round trip to memory. Rows beyond the last are masked.
void RowKernelEmitter::emitIndependentRowLoop() {
  int64_t groups = schedule.getRowGroups();
  Value begin = mulIndex(workgroup, groups);
  Value step = mulIndex(workgroups, groups);
  Value stride = mulIndex(step, schedule.getUnroll());
  auto emitLoop = [&](Value from, Value to, ValueRange) {
    auto loop = scf::ForOp::create(b, from, to, stride, sums);
    OpBuilder::InsertionGuard guard(b);
    PartScope part(*this, {KernelPart::Row});
    b.setInsertionPointToStart(loop.getBody());
    llvm::copy(loop.getRegionIterArgs(), sums.begin());
    Value last = arith::SubIOp::create(b, rows, index(1));
    Value set = loop.getInductionVar();
    Value rowIndex = addIndex(set, group);
    SmallVector<Row> turn;
    for (int64_t i = 0; i < schedule.getUnroll(); ++i) {
      Value valid = lessThan(rowIndex, rows);
      if (target.canDropLoads()) {
        Value left = arith::SubIOp::create(b, rows, set);
        Value count = arith::SelectOp::create(
            b, lessThan(set, rows),
            arith::MinUIOp::create(b, left, index(groups)), index(0));
        turn.push_back(makeRowAhead(rowIndex, valid, loadDropped(set, count)));
        set = addIndex(set, step);
      } else {
        turn.push_back(
            makeRow(rowIndex, valid,
                    loadAhead(arith::MinUIOp::create(b, rowIndex, last))));
      }
      rowIndex = addIndex(rowIndex, step);
    }
    for (Row &row : turn)
      emitRow(row);
    if (!sums.empty())
      scf::YieldOp::create(b, sums);
    llvm::copy(loop.getResults(), sums.begin());
    return SmallVector<Value>();
  };
  emitInBlocks(begin, rows, stride, ValueRange(), /*isEntered=*/false,
               emitLoop);
}

/// What the loop leaves, a set that is not full or that no copy may read
/// behind, goes to the last workgroup, which never has more full sets than
/// another. Groups without a row work on the last row, or on what a dropped
/// load gives, and keep nothing of it.
void RowKernelEmitter::emitTailRow() {
  Value fullRows = getFullRows();
  Value turn = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                     addIndex(workgroup, index(1)), workgroups);
  Value hasTail = both(lessThan(fullRows, rows), turn);
  SmallVector<Type> types;
  for (Value sum : sums)
    types.push_back(sum.getType());
  auto tail = scf::IfOp::create(b, types, hasTail, !types.empty());
  {
    OpBuilder::InsertionGuard guard(b);
    PartScope part(*this, {KernelPart::Tail});
    SmallVector<Value> before = sums;
    if (!types.empty()) {
      b.setInsertionPointToStart(tail.elseBlock());
      scf::YieldOp::create(b, before);
    }
    b.setInsertionPointToStart(tail.thenBlock());
    Value rowIndex = addIndex(fullRows, group);
    Value last = arith::SubIOp::create(b, rows, index(1));
    Value valid = lessThan(rowIndex, rows);
    Value loadIndex = arith::MinUIOp::create(b, rowIndex, last);
    Row row;
    if (dropsLoads(schedule, target)) {
      Value count = arith::SubIOp::create(b, rows, fullRows);
      row = makeRowAhead(loadIndex, valid, loadDropped(fullRows, count));
    } else {
      SmallVector<Value> inputs = loadVectors(loadIndex);
      llvm::append_range(inputs, loadScalars(loadIndex));
      row = makeRow(loadIndex, valid, inputs);
    }
    emitRow(row);
    if (!types.empty())
      scf::YieldOp::create(b, sums);
  }
  sums.assign(tail.result_begin(), tail.result_end());
}
