//===- RowKernelSums.cpp - Row sums and column sums of a kernel -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of RowKernelEmitter that adds up, each in an order fixed by the
// schedule: the sums of a row over its lanes, and the column sums over a
// workgroup's rows.
//
//===----------------------------------------------------------------------===//

#include "RowKernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// Row sums
//===----------------------------------------------------------------------===//

Value RowKernelEmitter::combine(bool maximum, Value lhs, Value rhs) {
  return maximum ? Value(arith::MaximumFOp::create(b, lhs, rhs))
                 : add(lhs, rhs);
}

/// What changes nothing when it is combined with.
Value RowKernelEmitter::neutral(bool maximum, Type type) {
  if (!maximum)
    return arith::ConstantOp::create(b, b.getZeroAttr(type));
  auto lowest = b.getF32FloatAttr(-std::numeric_limits<float>::infinity());
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return arith::ConstantOp::create(b, lowest);
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(vector, lowest.getValue()));
}

/// Combines the elements of a lane's vector by halves: a fixed order, and short
/// dependence chains.
Value RowKernelEmitter::reduceLane(Operation *sum, Value vector) {
  auto width = cast<VectorType>(vector.getType()).getNumElements();
  while (width > 1) {
    width /= 2;
    Value low = vector::ExtractStridedSliceOp::create(
        b, vector, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{width},
        ArrayRef<int64_t>{1});
    Value high = vector::ExtractStridedSliceOp::create(
        b, vector, ArrayRef<int64_t>{width}, ArrayRef<int64_t>{width},
        ArrayRef<int64_t>{1});
    vector = combine(isRowMaximum(sum), low, high);
  }
  return vector::ExtractOp::create(b, vector, ArrayRef<int64_t>{0});
}

/// `partial` combined over each `lanes` neighbours of a wave, in all of them.
Value RowKernelEmitter::reduceInWave(bool maximum, Value partial,
                                     int64_t lanes) {
  if (lanes == 1)
    return partial;
  std::optional<uint32_t> size;
  if (lanes < chip.waveSize)
    size = uint32_t(lanes);
  auto kind = maximum ? gpu::AllReduceOperation::MAXIMUMF
                      : gpu::AllReduceOperation::ADD;
  return gpu::SubgroupReduceOp::create(b, partial, kind, /*uniform=*/false,
                                       size, /*clusterStride=*/1);
}

/// All of `terms` added up by pairs of neighbours, those pairs likewise, and so
/// on: a fixed order, whose error grows least, and short dependence chains.
Value RowKernelEmitter::addByPairs(SmallVector<Value> terms) {
  while (terms.size() > 1) {
    size_t pairs = terms.size() / 2;
    for (size_t i = 0; i < pairs; ++i)
      terms[i] = add(terms[2 * i], terms[2 * i + 1]);
    if (terms.size() % 2)
      terms[pairs++] = terms.back();
    terms.truncate(pairs);
  }
  return terms.front();
}

/// The slots of several waves combined, each of the phase's sums in its own
/// way: elements of the result.
SmallVector<Value> RowKernelEmitter::combineSlots(unsigned phase,
                                                  ValueRange slots) {
  ArrayRef<Operation *> phaseSums = phases.getSums(phase);
  Value total[2];
  for (Value slot : slots)
    for (bool maximum : {false, true})
      if (llvm::any_of(phaseSums, [&](Operation *sum) {
            return isRowMaximum(sum) == maximum;
          })) {
        Value &known = total[maximum];
        known = known ? combine(maximum, known, slot) : slot;
      }
  SmallVector<Value> results;
  for (auto [i, sum] : llvm::enumerate(phaseSums))
    results.push_back(vector::ExtractOp::create(b, total[isRowMaximum(sum)],
                                                ArrayRef<int64_t>{int64_t(i)}));
  return results;
}

/// Makes the row sums of a phase known to all lanes of the row: within a wave
/// by a subgroup reduction, between waves through workgroup memory, all sums in
/// one exchange with one barrier. The memory's halves are used in turn, so that
/// a wave that is a row ahead does not overwrite what another still reads.
void RowKernelEmitter::exchange(Row &row, unsigned phase, ValueRange partials) {
  ArrayRef<Operation *> phaseSums = phases.getSums(phase);
  if (phaseSums.empty())
    return;
  int64_t lanes = std::min(schedule.getThreadsPerRow(), chip.waveSize);
  SmallVector<Value> reduced;
  for (auto [sum, partial] : llvm::zip_equal(phaseSums, partials))
    reduced.push_back(reduceInWave(isRowMaximum(sum), partial, lanes));

  if (exchangeBuffer) {
    auto count = int64_t(phaseSums.size());
    int64_t offset = 0;
    for (unsigned before = 0; before < phase; ++before)
      offset += int64_t(phases.getSums(before).size()) *
                schedule.getRowGroups() * exchangeSlots;
    Value half = parity;
    if (sharesRows())
      half =
          mulIndex(arith::RemUIOp::create(b, parity, index(2)), exchangeHalf);
    Value base = addIndex(addIndex(half, index(offset)),
                          mulIndex(group, exchangeSlots * count));
    auto slotType = VectorType::get({count}, b.getF32Type());
    Value mine = vector::FromElementsOp::create(b, slotType, reduced);
    reduced = sharesRows() ? exchangeInCluster(phase, base, mine)
                           : exchangeInWorkgroup(phase, base, mine);
  }
  for (auto [sum, value] : llvm::zip_equal(phaseSums, reduced))
    row.scalars[sum->getResult(0)] = value;
}

/// The sums of all waves of the row, a slot each from `base` on, of which
/// `mine` is this wave's: each lane adds them up in the waves' order.
SmallVector<Value>
RowKernelEmitter::exchangeInWorkgroup(unsigned phase, Value base, Value mine) {
  auto slotType = cast<VectorType>(mine.getType());
  int64_t count = slotType.getNumElements();
  Value wave = arith::DivUIOp::create(b, lane, index(chip.waveSize));
  // A slot lies at a multiple of what divides its length, the half's, and the
  // slots of each phase before.
  auto unit = uint64_t(count | exchangeHalf);
  for (unsigned i = 0; i < phases.getCount(); ++i)
    unit |= uint64_t(int64_t(phases.getSums(i).size()) *
                     schedule.getRowGroups() * exchangeSlots);
  llvm::MaybeAlign aligned(std::min<uint64_t>(16, 4 * (unit & -unit)));
  vector::StoreOp::create(b, mine, exchangeBuffer,
                          ValueRange{addIndex(base, mulIndex(wave, count))},
                          /*nontemporal=*/false, aligned);
  target.barrier(b);
  // All lanes have taken their vectors out of the stage: its next rows may
  // come in.
  if (staging && !staging->refilled)
    refillStage();
  SmallVector<Value> slots;
  for (int64_t i = 0; i < exchangeSlots; ++i)
    slots.push_back(
        vector::LoadOp::create(b, slotType, exchangeBuffer,
                               ValueRange{addIndex(base, index(i * count))},
                               /*nontemporal=*/false, aligned));
  return combineSlots(phase, slots);
}

/// The same for a row that several workgroups share: each wave sends its sums
/// to all of them, and there are too many slots for each lane to read them all:
/// the wave reads and adds them together. A workgroup waits until the bytes of
/// all waves have come, on barriers of two rows in turn: a peer that is a row
/// ahead must not be counted for this one. None is two ahead, since it waits
/// for all waves here, too.
SmallVector<Value> RowKernelEmitter::exchangeInCluster(unsigned phase,
                                                       Value base, Value mine) {
  auto slotType = cast<VectorType>(mine.getType());
  int64_t count = slotType.getNumElements();
  int64_t lanes = std::min(schedule.getThreadsPerRow(), chip.waveSize);
  Value wave = arith::DivUIOp::create(b, lane, index(chip.waveSize));
  Value laneInWave = arith::RemUIOp::create(b, lane, index(chip.waveSize));
  int64_t wavesPerRow =
      llvm::divideCeil(schedule.getThreadsPerRow(), chip.waveSize);
  Value slot = addIndex(mulIndex(slice, wavesPerRow), wave);
  Value place = addIndex(base, mulIndex(slot, count));
  Value barrier = addIndex(
      mulIndex(arith::RemUIOp::create(b, parity, index(2)), phases.getCount()),
      index(phase));
  int64_t bytes = 4 * count * exchangeSlots * schedule.getRowGroups();
  ifTrue(isFirstThread(), [&] {
    target.expectBytes(b, exchangeBarriers, barrier,
                       arith::ConstantIntOp::create(b, bytes, 32));
  });
  ifTrue(lessThan(laneInWave, index(schedule.getWorkgroupsPerRow())), [&] {
    target.sendToPeer(b, mine, exchangeBuffer, place, exchangeBarriers, barrier,
                      laneInWave);
  });
  // While the sums are on their way, the stage's next rows may come in, once
  // all lanes have taken their vectors out of it. That the sums were made of
  // them is no order that the memory model, or a compiler, knows.
  if (staging && !staging->refilled) {
    target.barrier(b);
    refillStage();
  }
  Value turn = arith::RemUIOp::create(
      b, arith::DivUIOp::create(b, parity, index(2)), index(2));
  target.waitForBytes(b, exchangeBarriers, barrier,
                      arith::IndexCastOp::create(b, b.getI32Type(), turn));

  SmallVector<Value> slots;
  for (int64_t i = 0; i < exchangeSlots; i += lanes) {
    Value number = addIndex(laneInWave, index(i));
    Value last = index(exchangeSlots - 1);
    bool mayExceed = i + lanes > exchangeSlots;
    Value readable =
        mayExceed ? Value(arith::MinUIOp::create(b, number, last)) : number;
    Value slot = vector::LoadOp::create(
        b, slotType, exchangeBuffer,
        ValueRange{addIndex(base, mulIndex(readable, count))});
    if (mayExceed) {
      SmallVector<Value> nothing;
      for (Operation *sum : phases.getSums(phase))
        nothing.push_back(neutral(isRowMaximum(sum), b.getF32Type()));
      Value exists =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ule, number, last);
      slot = arith::SelectOp::create(
          b, exists, slot,
          vector::FromElementsOp::create(b, slotType, nothing));
    }
    slots.push_back(slot);
  }
  SmallVector<Value> results = combineSlots(phase, slots);
  for (auto [result, sum] : llvm::zip_equal(results, phases.getSums(phase)))
    result = reduceInWave(isRowMaximum(sum), result, lanes);
  return results;
}

//===----------------------------------------------------------------------===//
// Column sums
//===----------------------------------------------------------------------===//

/// Adds the row to the column sums that are complete in this phase.
void RowKernelEmitter::accumulate(Row &row, unsigned phase) {
  size_t firstSum = op.getRowOuts().size() + op.getScalarOuts().size();
  for (size_t s = 0; s < op.getAllSums().size(); ++s) {
    Value yielded = op.getYielded(firstSum + s);
    if (phases.getPhase(yielded) != phase)
      continue;
    for (auto [c, chunk] : llvm::enumerate(chunks)) {
      Value &sum = sums[s * chunks.size() + c];
      Value added = add(sum, getVector(row, yielded, chunk, row.vectors[c]));
      sum = row.valid ? Value(arith::SelectOp::create(b, row.valid, added, sum))
                      : added;
    }
  }
}

/// Adds up the column sums of a workgroup's groups over workgroup memory, as a
/// tree of few levels, since each costs barriers: a fixed order. The first
/// group ends with the totals.
void RowKernelEmitter::combineGroups() {
  int64_t groups = schedule.getRowGroups();
  int64_t width = schedule.getChunkColumns();
  auto numSums = int64_t(op.getAllSums().size());
  int64_t radix = getCombineRadix(op, schedule);
  int64_t slots = groups - llvm::divideCeil(groups, radix);
  Value memory = addWorkgroupMemory(slots * numSums * width, b.getF32Type());
  Value column = mulIndex(lane, schedule.getVectorWidth());
  auto type = laneVector(b.getF32Type());
  auto slot = [&](Value number, int64_t s) {
    Value base = addIndex(mulIndex(number, numSums * width), column);
    return addIndex(base, index(s * width));
  };

  bool isWritten = false;
  for (size_t c = 0; c < chunks.size(); ++c)
    for (int64_t count = groups; count > 1;) {
      int64_t owners = llvm::divideCeil(count, radix);
      auto sumOf = [&](int64_t s) -> Value & {
        return sums[s * chunks.size() + c];
      };
      // What was read in the step before must not be overwritten yet.
      if (isWritten)
        target.barrier(b);
      isWritten = true;
      Value gives = lessThan(arith::SubIOp::create(b, group, index(owners)),
                             index(count - owners));
      ifTrue(gives, [&] {
        PartScope part(*this, {KernelPart::Setup, unsigned(count - owners)});
        Value number = arith::SubIOp::create(b, group, index(owners));
        for (int64_t s = 0; s < numSums; ++s)
          vector::StoreOp::create(b, sumOf(s), memory,
                                  ValueRange{slot(number, s)},
                                  /*nontemporal=*/false, laneAlignment(memory));
      });
      target.barrier(b);
      // An owner takes the sums of the groups that lie multiples of `owners`
      // behind it; the last of them may not have all.
      Value takes = lessThan(group, index(owners));
      SmallVector<Type> types(numSums, type);
      auto step = scf::IfOp::create(b, types, takes, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      PartScope part(*this, {KernelPart::Setup, unsigned(owners)});
      SmallVector<Value> added, kept;
      b.setInsertionPointToStart(step.thenBlock());
      for (int64_t s = 0; s < numSums; ++s) {
        SmallVector<Value> terms{sumOf(s)};
        for (int64_t first = owners; first < count; first += owners) {
          int64_t taking = std::min(owners, count - first);
          Value number = addIndex(group, index(first - owners));
          Value exists;
          if (taking < owners) {
            exists = lessThan(group, index(taking));
            number = arith::SelectOp::create(b, exists, number, index(0));
          }
          Value term = vector::LoadOp::create(
              b, type, memory, ValueRange{slot(number, s)},
              /*nontemporal=*/false, laneAlignment(memory));
          if (exists)
            term = arith::SelectOp::create(
                b, exists, term,
                arith::ConstantOp::create(b, b.getZeroAttr(type)));
          terms.push_back(term);
        }
        added.push_back(addByPairs(terms));
        kept.push_back(sumOf(s));
      }
      scf::YieldOp::create(b, added);
      b.setInsertionPointToStart(step.elseBlock());
      scf::YieldOp::create(b, kept);
      for (int64_t s = 0; s < numSums; ++s)
        sumOf(s) = step.getResult(s);
      count = owners;
    }
}

/// Writes the column sums: a row of partial sums, or the rounded totals.
void RowKernelEmitter::storeColumnSums() {
  Value isFirstGroup;
  if (schedule.getRowGroups() > 1)
    isFirstGroup =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, group, index(0));
  size_t firstSum = op.getRowOuts().size() + op.getScalarOuts().size();
  for (size_t s = 0; s < op.getAllSums().size(); ++s)
    for (size_t c = 0; c < chunks.size(); ++c) {
      const Chunk &chunk = chunks[c];
      Value buffer = buffers[outputOperand(firstSum + s)];
      auto type = cast<MemRefType>(buffer.getType());
      Value value = sums[s * chunks.size() + c];
      ifTrue(both(isFirstGroup, chunk.valid), [&] {
        PartScope part(*this, {KernelPart::Setup, /*groups=*/1});
        SmallVector<Value> indices;
        if (type.getRank() == 2)
          indices.push_back(workgroup);
        indices.push_back(chunk.column);
        int64_t bytes =
            schedule.getVectorWidth() * type.getElementTypeBitWidth() / 8;
        if (op.getAccumulate())
          value =
              add(value, vector::LoadOp::create(
                             b, laneVector(type.getElementType()), buffer,
                             indices, /*nontemporal=*/false,
                             llvm::MaybeAlign(std::min<int64_t>(bytes, 16))));
        if (!type.getElementType().isF32())
          value = arith::TruncFOp::create(b, laneVector(type.getElementType()),
                                          value);
        vector::StoreOp::create(b, value, buffer, indices,
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(std::min<int64_t>(bytes, 16)));
      });
    }
}
