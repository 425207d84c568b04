//===- PeerReductions.cpp - Sums of rows that workgroups share ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each wave sends its sums to all workgroups that share the row, and there are
// too many slots for each lane to read them all: the wave reads and adds them
// together. A workgroup waits until the bytes of all waves have come, on
// barriers of two rows alternately: a peer that is a row ahead must not be
// counted for this one. None is two ahead, since it waits for all waves here,
// too.
//
//===----------------------------------------------------------------------===//

#include "RowReductions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace lnbwd;

/// A vector that changes nothing when it is combined with.
static Value makeNeutral(IndexBuilder &b, lane::ReduceOp op) {
  SmallVector<float> numbers(op.getPartials().size());
  for (auto [i, number] : llvm::enumerate(numbers))
    if (lane::isMaximum(op.getKinds(), i))
      number = -std::numeric_limits<float>::infinity();
  auto type = VectorType::get({int64_t(numbers.size())}, b.getF32Type());
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, ArrayRef<float>(numbers)));
}

lane::PeerSlots lane::exchangeWithPeers(IndexBuilder &b, ReduceOp op,
                                        const ExchangeMemory &exchange,
                                        ValueRange numbers, int64_t first) {
  LayoutType layout = op.getLayout().getType();
  auto count = int64_t(numbers.size());
  int64_t waveSize = exchange.chip.waveSize;
  int64_t waves = layout.getAcross() ? 1 : layout.getLanes() / waveSize;
  Value iteration = exchange.iteration;
  Value base = exchange.getSlots(b, op, first);
  Value sent = makeSlot(b, numbers);
  Value laneOfRow = LaneOp::create(b, b.getIndexType(), op.getLayout());
  Value waveOfRow = b(laneOfRow) / waveSize;
  Value laneOfWave = b(laneOfRow) % waveSize;
  // The workgroups of a row are neighbours in the grid's second dimension.
  Value slot = gpu::BlockIdOp::create(b, gpu::Dimension::y);
  if (!layout.getAcross())
    slot = b(slot) * waves + waveOfRow;
  Value place = b(base) + b(slot) * exchange.getSlotDistance(op, count);
  Value ofRow = b(iteration) % 2;
  Value phaseOfOp = b.index(int64_t(op.getPhase()));
  Value barrier = b(ofRow) * exchange.getBarriersOfRow() + phaseOfOp;
  int64_t bytes = 4 * count * waves * op.getPeers() * layout.getGroups();
  ExpectBytesOp::create(b, exchange.barriers, barrier, uint32_t(bytes));
  SendToPeersOp::create(b, sent, exchange.memory, place, exchange.barriers,
                        barrier, op.getLayout());
  Value phase = b(iteration) / 2 % 2;
  AwaitBytesOp::create(b, exchange.barriers, barrier,
                       arith::IndexCastOp::create(b, b.getI32Type(), phase));
  return {base, laneOfWave};
}

SmallVector<Value> lane::reduceOverPeers(IndexBuilder &b, ReduceOp op,
                                         const ExchangeMemory &exchange,
                                         ValueRange sums) {
  int64_t waveSize = exchange.chip.waveSize;
  auto count = int64_t(sums.size());
  // The workgroup has added up its sums before, and sends one for each row.
  if (op.getLayout().getType().getAcross()) {
    int64_t ofWaves = exchange.slots - op.getPeers();
    int64_t distance = exchange.getSlotDistance(op, count);
    Value first =
        exchangeWithPeers(b, op, exchange, sums, ofWaves * distance).base;
    return combineSlots(
        b, op, loadSlots(b, exchange, first, {op.getPeers(), count, distance}));
  }
  auto slotType = VectorType::get({count}, b.getF32Type());
  auto [base, laneOfWave] =
      exchangeWithPeers(b, op, exchange, sums, /*first=*/0);
  SmallVector<Value> slots;
  for (int64_t i = 0; i < exchange.slots; i += waveSize) {
    Value number = b(laneOfWave) + i;
    Value last = b.index(exchange.slots - 1);
    bool mayExceed = i + waveSize > exchange.slots;
    Value readable = mayExceed ? b.atMost(number, last) : number;
    Value slot =
        vector::LoadOp::create(b, slotType, exchange.memory,
                               ValueRange{b(base) + b(readable) * count});
    if (mayExceed) {
      Value inBounds =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ule, number, last);
      slot = b.select(inBounds, slot, makeNeutral(b, op));
    }
    slots.push_back(slot);
  }
  return reduceInWave(b, op, waveSize, combineSlots(b, op, slots));
}
