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
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(cast<VectorType>(type), lowest.getValue()));
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

/// Makes the row sums of a phase known to all lanes of the row: within a wave
/// by a subgroup reduction, between waves through workgroup memory, all sums in
/// one exchange with one barrier. The memory's halves are used in turn, so that
/// a wave that is a row ahead does not overwrite what another still reads.
void RowKernelEmitter::exchange(Row &row, unsigned phase, ValueRange partials) {
  ArrayRef<Operation *> phaseSums = sumsOfPhase[phase];
  if (phaseSums.empty())
    return;
  int64_t perRow = schedule.getThreadsPerRow();
  int64_t cluster = std::min(perRow, chip.waveSize);
  SmallVector<Value> reduced;
  for (auto [sum, partial] : llvm::zip_equal(phaseSums, partials)) {
    if (cluster == 1) {
      reduced.push_back(partial);
      continue;
    }
    std::optional<uint32_t> size;
    if (cluster < chip.waveSize)
      size = uint32_t(cluster);
    auto kind = isRowMaximum(sum) ? gpu::AllReduceOperation::MAXIMUMF
                                  : gpu::AllReduceOperation::ADD;
    reduced.push_back(gpu::SubgroupReduceOp::create(b, partial, kind,
                                                    /*uniform=*/false, size,
                                                    /*clusterStride=*/1));
  }

  if (exchangeBuffer) {
    int64_t waves = perRow / chip.waveSize;
    auto count = int64_t(phaseSums.size());
    int64_t offset = 0;
    for (unsigned before = 0; before < phase; ++before)
      offset +=
          int64_t(sumsOfPhase[before].size()) * schedule.getRowGroups() * waves;
    auto slotType = VectorType::get({count}, b.getF32Type());
    Value wave = arith::DivUIOp::create(b, lane, index(chip.waveSize));
    Value base = addIndex(addIndex(parity, index(offset)),
                          mulIndex(group, waves * count));
    Value all = vector::FromElementsOp::create(b, slotType, reduced);
    vector::StoreOp::create(b, all, exchangeBuffer,
                            ValueRange{addIndex(base, mulIndex(wave, count))});
    gpu::BarrierOp::create(b);
    // All lanes have taken their vectors out of the stage: its next rows may
    // come in.
    if (staging && !staging->refilled)
      refillStage();
    // Sums and maxima share the slots; each is combined in its own way.
    Value total[2];
    for (int64_t i = 0; i < waves; ++i) {
      Value slot =
          vector::LoadOp::create(b, slotType, exchangeBuffer,
                                 ValueRange{addIndex(base, index(i * count))});
      for (bool maximum : {false, true})
        if (llvm::any_of(phaseSums, [&](Operation *sum) {
              return isRowMaximum(sum) == maximum;
            })) {
          Value &known = total[maximum];
          known = known ? combine(maximum, known, slot) : slot;
        }
    }
    for (auto [i, sum] : llvm::enumerate(phaseSums))
      reduced[i] = vector::ExtractOp::create(b, total[isRowMaximum(sum)],
                                             ArrayRef<int64_t>{int64_t(i)});
  }
  for (auto [sum, value] : llvm::zip_equal(phaseSums, reduced))
    row.scalars[sum->getResult(0)] = value;
}

//===----------------------------------------------------------------------===//
// Column sums
//===----------------------------------------------------------------------===//

/// Adds the row to the column sums that are complete in this phase.
void RowKernelEmitter::accumulate(Row &row, unsigned phase) {
  size_t firstSum = op.getRowOuts().size() + op.getScalarOuts().size();
  for (size_t s = 0; s < op.getColumnSums().size(); ++s) {
    Value yielded = op.getYielded(firstSum + s);
    if (phaseOf.lookup(yielded) != phase)
      continue;
    for (auto [c, chunk] : llvm::enumerate(chunks)) {
      Value &sum = sums[s * chunks.size() + c];
      Value added = add(sum, getVector(row, yielded, chunk, row.vectors[c]));
      sum = row.valid ? Value(arith::SelectOp::create(b, row.valid, added, sum))
                      : added;
    }
  }
}

/// Adds up the column sums of a workgroup's groups, as a tree over workgroup
/// memory: a fixed order. The first group ends with the totals.
void RowKernelEmitter::combineGroups() {
  int64_t groups = schedule.getRowGroups();
  int64_t width = schedule.getChunkColumns();
  auto numSums = int64_t(op.getColumnSums().size());
  auto half = int64_t(llvm::PowerOf2Ceil(groups) / 2);
  Value memory = addWorkgroupMemory(half * numSums * width, b.getF32Type());
  Value column = mulIndex(lane, schedule.getVectorWidth());
  auto type = laneVector(b.getF32Type());

  for (size_t c = 0; c < chunks.size(); ++c)
    for (int64_t stride = half; stride >= 1; stride /= 2) {
      auto slot = [&](Value owner, int64_t s) {
        Value base = addIndex(mulIndex(owner, numSums * width), column);
        return addIndex(base, index(s * width));
      };
      auto sumOf = [&](int64_t s) -> Value & {
        return sums[s * chunks.size() + c];
      };
      // What was read in the step before must not be overwritten yet.
      gpu::BarrierOp::create(b);
      Value upper = both(arith::CmpIOp::create(b, arith::CmpIPredicate::uge,
                                               group, index(stride)),
                         lessThan(group, index(2 * stride)));
      ifTrue(upper, [&] {
        Value owner = arith::SubIOp::create(b, group, index(stride));
        for (int64_t s = 0; s < numSums; ++s)
          vector::StoreOp::create(b, sumOf(s), memory,
                                  ValueRange{slot(owner, s)});
      });
      gpu::BarrierOp::create(b);
      Value lower = lessThan(group, index(std::min(stride, groups - stride)));
      SmallVector<Type> types(numSums, type);
      auto step = scf::IfOp::create(b, types, lower, /*withElseRegion=*/true);
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(step.thenBlock());
        SmallVector<Value> added, kept;
        for (int64_t s = 0; s < numSums; ++s) {
          Value other = vector::LoadOp::create(b, type, memory,
                                               ValueRange{slot(group, s)});
          added.push_back(add(sumOf(s), other));
          kept.push_back(sumOf(s));
        }
        scf::YieldOp::create(b, added);
        b.setInsertionPointToStart(step.elseBlock());
        scf::YieldOp::create(b, kept);
      }
      for (int64_t s = 0; s < numSums; ++s)
        sumOf(s) = step.getResult(s);
    }
}

/// Writes the column sums: a row of partial sums, or the rounded totals.
void RowKernelEmitter::storeColumnSums() {
  Value isFirstGroup;
  if (schedule.getRowGroups() > 1)
    isFirstGroup =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, group, index(0));
  size_t firstSum = op.getRowOuts().size() + op.getScalarOuts().size();
  for (size_t s = 0; s < op.getColumnSums().size(); ++s)
    for (size_t c = 0; c < chunks.size(); ++c) {
      const Chunk &chunk = chunks[c];
      Value buffer = buffers[outputOperand(firstSum + s)];
      auto type = cast<MemRefType>(buffer.getType());
      Value value = sums[s * chunks.size() + c];
      ifTrue(both(isFirstGroup, chunk.valid), [&] {
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
