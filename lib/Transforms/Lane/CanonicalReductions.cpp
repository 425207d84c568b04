//===- CanonicalReductions.cpp - Sums that no schedule changes ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of docs/numerics.md: of the index of an access in a slice
// the highest bit is added first. A lane has added its own accesses; waves
// exchange the number of each lane, and the lanes of a wave come last, so that
// the size of a wave changes nothing.
//
//===----------------------------------------------------------------------===//

#include "RowReductions.h"

#include "lnbwd/Transforms/Lane/IndexBuilder.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lnbwd;

/// What the lane has that differs from this one in the bit `distance` of its
/// index, if all higher bits of a row of DPP have been combined.
static Value getOther(IndexBuilder &b, const ChipInfo &chip, Value value,
                      int64_t distance, int64_t lanes) {
  auto move = [&](amdgpu::DPPPerm kind, Attribute argument) -> Value {
    return amdgpu::DPPOp::create(b, value.getType(), value, value, kind,
                                 argument, /*row_mask=*/0xf, /*bank_mask=*/0xf,
                                 /*bound_ctrl=*/true);
  };
  if (chip.backend == Backend::AMDGPU) {
    if (distance == 1)
      return move(amdgpu::DPPPerm::quad_perm, b.getI32ArrayAttr({1, 0, 3, 2}));
    if (distance == 2)
      return move(amdgpu::DPPPerm::quad_perm, b.getI32ArrayAttr({2, 3, 0, 1}));
    // Rotating by `distance` differs in higher bits only, which are the same.
    if (distance < dppRowLanes && lanes >= dppRowLanes)
      return move(amdgpu::DPPPerm::row_ror,
                  b.getI32IntegerAttr(int32_t(distance)));
  }
  return gpu::ShuffleOp::create(b, value, int32_t(distance),
                                int32_t(chip.waveSize), gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

/// Combines `slots`, which begin at `first`, number by number in the order of
/// `combine`; each sum has so many of the numbers.
static SmallVector<Value> combineSlotsBy(
    IndexBuilder &b, lane::ReduceOp op, const lane::ExchangeMemory &exchange,
    Value first, const lane::Slots &slots, int64_t ofSum,
    Value (*combine)(ImplicitLocOpBuilder &, bool, SmallVector<Value>)) {
  SmallVector<SmallVector<Value>> ofSlots(size_t(slots.numbers));
  for (int64_t i = 0; i < slots.count; ++i) {
    Value slot = lane::loadSlot(b, exchange, first, slots, i);
    for (auto [j, numbers] : llvm::enumerate(ofSlots))
      numbers.push_back(vector::ExtractOp::create(b, slot, int64_t(j)));
  }
  SmallVector<Value> combined;
  for (auto [j, numbers] : llvm::enumerate(ofSlots))
    combined.push_back(
        combine(b, lane::isMaximum(op.getKinds(), j / size_t(ofSum)), numbers));
  return combined;
}

/// Each of `values` combined with those of the lanes at the same place of the
/// other waves.
static SmallVector<Value> combineWaves(IndexBuilder &b, lane::ReduceOp op,
                                       const lane::ExchangeMemory &exchange,
                                       ValueRange values) {
  int64_t waveSize = exchange.chip.waveSize;
  int64_t waves = op.getLayout().getType().getLanes() / waveSize;
  auto count = int64_t(values.size());
  int64_t ofGroup = exchange.slots * int64_t(op.getSums().size());
  Value base = exchange.getSlots(b, op);
  Value mine = lane::makeSlot(b, values);
  Value laneOfRow = lane::LaneOp::create(b, b.getIndexType(), op.getLayout());
  Value laneOfWave = b(laneOfRow) % waveSize;
  Value place = b(base) + b(laneOfRow) * count;
  lane::Slots slots{waves, count, waveSize * count,
                    exchange.getAlignment(op.getPhase(), count | ofGroup)};
  lane::exchangeSlot(b, exchange, mine, place, slots);
  Value first = b(base) + b(laneOfWave) * count;
  return combineSlotsBy(b, op, exchange, first, slots, int64_t(*op.getSlices()),
                        lane::combineByHalves);
}

static SmallVector<Value> combinePeers(IndexBuilder &b, lane::ReduceOp op,
                                       const lane::ExchangeMemory &exchange,
                                       ValueRange values) {
  auto count = int64_t(values.size());
  int64_t waves = op.getLayout().getType().getLanes() / exchange.chip.waveSize;
  int64_t first = count * (exchange.slots - waves * op.getPeers());
  Value base = lane::exchangeWithPeers(b, op, exchange, values, first).base;
  // All waves of a workgroup have sent the same.
  lane::Slots slots{op.getPeers(), count, waves * count};
  return combineSlotsBy(b, op, exchange, base, slots, /*ofSum=*/1,
                        lane::combineByPairs);
}

SmallVector<Value> lane::reduceSlices(IndexBuilder &b, ReduceOp op,
                                      const ExchangeMemory &exchange) {
  const ChipInfo &chip = exchange.chip;
  auto slices = size_t(*op.getSlices());
  int64_t lanes = op.getLayout().getType().getLanes();
  SmallVector<Value> values(op.getPartials());
  if (lanes > chip.waveSize)
    values = combineWaves(b, op, exchange, values);
  int64_t together = std::min(lanes, chip.waveSize);
  for (auto [i, value] : llvm::enumerate(values))
    for (int64_t distance = together / 2; distance; distance /= 2)
      value = combinePartials(b, isMaximum(op.getKinds(), i / slices), value,
                              getOther(b, chip, value, distance, together));
  SmallVector<Value> sums;
  for (size_t i = 0; i < op.getSums().size(); ++i)
    sums.push_back(combineByPairs(
        b, isMaximum(op.getKinds(), i),
        SmallVector<Value>(ArrayRef(values).slice(i * slices, slices))));
  if (op.isShared())
    sums = combinePeers(b, op, exchange, sums);
  // Elements that are not there are 0, and so a sum of -0 may be 0.
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  for (auto [i, sum] : llvm::enumerate(sums))
    if (!isMaximum(op.getKinds(), i))
      sum = arith::AddFOp::create(b, sum, zero);
  return sums;
}
