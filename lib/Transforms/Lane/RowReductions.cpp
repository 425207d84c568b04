//===- RowReductions.cpp - What steps of a row's sum share ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums over a wave, and the memory that waves and workgroups exchange theirs
// through.
//
//===----------------------------------------------------------------------===//

#include "RowReductions.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Analysis/ScheduleLimits.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

/// Each kind over whole slots, of which each sum takes its element.
SmallVector<Value> lane::combineSlots(ImplicitLocOpBuilder &b, ReduceOp op,
                                      ValueRange slots) {
  size_t count = op.getPartials().size();
  Value total[2];
  for (Value slot : slots)
    for (bool isMaximum : {false, true})
      if (llvm::any_of(llvm::seq<size_t>(0, count), [&](size_t i) {
            return lane::isMaximum(op.getKinds(), i) == isMaximum;
          })) {
        Value &known = total[isMaximum];
        known = known ? combinePartials(b, isMaximum, known, slot) : slot;
      }
  SmallVector<Value> results;
  for (size_t i = 0; i < count; ++i)
    results.push_back(vector::ExtractOp::create(
        b, total[isMaximum(op.getKinds(), i)], ArrayRef<int64_t>{int64_t(i)}));
  return results;
}

Value lane::loadSlot(IndexBuilder &b, const ExchangeMemory &exchange,
                     Value first, const Slots &slots, int64_t i) {
  auto type = VectorType::get({slots.numbers}, b.getF32Type());
  return vector::LoadOp::create(b, type, exchange.memory,
                                ValueRange{b(first) + i * slots.distance},
                                /*nontemporal=*/false, slots.aligned);
}

SmallVector<Value> lane::loadSlots(IndexBuilder &b,
                                   const ExchangeMemory &exchange, Value first,
                                   const Slots &slots) {
  return llvm::map_to_vector(llvm::seq(slots.count), [&](int64_t i) {
    return loadSlot(b, exchange, first, slots, i);
  });
}

void lane::exchangeSlot(IndexBuilder &b, const ExchangeMemory &exchange,
                        Value slot, Value place, const Slots &slots) {
  vector::StoreOp::create(b, slot, exchange.memory, ValueRange{place},
                          /*nontemporal=*/false, slots.aligned);
  BarrierOp::create(b);
}

Value lane::makeSlot(IndexBuilder &b, ValueRange numbers) {
  auto type = VectorType::get({int64_t(numbers.size())}, b.getF32Type());
  return vector::FromElementsOp::create(b, type, numbers);
}

SmallVector<Value> lane::reduceInWave(ImplicitLocOpBuilder &b, ReduceOp op,
                                      int64_t waveSize, ValueRange values) {
  LayoutType layout = op.getLayout().getType();
  int64_t lanes = std::min(layout.getLanes(), layout.getLanesInWave(waveSize));
  SmallVector<Value> reduced(values);
  if (lanes == 1)
    return reduced;
  std::optional<uint32_t> size;
  if (lanes < waveSize)
    size = uint32_t(lanes);
  for (auto [i, value] : llvm::enumerate(reduced))
    value = gpu::SubgroupReduceOp::create(
        b, value,
        isMaximum(op.getKinds(), i) ? gpu::AllReduceOperation::MAXIMUMF
                                    : gpu::AllReduceOperation::ADD,
        /*uniform=*/false, size,
        /*clusterStride=*/layout.getAcross() ? uint32_t(layout.getGroups())
                                             : 1);
  return reduced;
}

int64_t lane::ExchangeMemory::getOffset(uint64_t phase) const {
  int64_t offset = 0;
  for (int64_t sums : ArrayRef(sumsOfPhase).take_front(phase))
    offset += sums * groups * slots;
  return offset;
}

Value lane::ExchangeMemory::getSlots(IndexBuilder &b, ReduceOp op,
                                     int64_t first) const {
  Value begin = iteration;
  if (op.isShared())
    begin = b(begin) % 2 * half;
  Value group = GroupOp::create(b, b.getIndexType(), op.getLayout());
  auto count = int64_t(op.getSums().size());
  bool isAcross = op.getLayout().getType().getAcross();
  Value ofGroup = b(group) * (isAcross ? count : slots * count);
  return b(begin) + (getOffset(op.getPhase()) + first) + ofGroup;
}

int64_t lane::ExchangeMemory::getSlotDistance(ReduceOp op,
                                              int64_t count) const {
  return op.getLayout().getType().getAcross() ? groups * count : count;
}

/// Slots of a group.
static int64_t countSlots(lane::ReduceOp op, int64_t waveSize) {
  lane::LayoutType layout = op.getLayout().getType();
  if (op.getSlices())
    return countCanonicalSlots(layout.getRowLength(),
                               layout.getWorkgroupColumns(), layout.getLanes(),
                               waveSize, op.getPeers());
  return countExchangeSlots(layout.getLanes(), layout.getGroups(),
                            layout.getAcross(), op.getPeers(), waveSize);
}

llvm::MaybeAlign lane::ExchangeMemory::getAlignment(uint64_t phase,
                                                    int64_t count) const {
  auto unit = uint64_t(count | half | getOffset(phase));
  return llvm::MaybeAlign(std::min<uint64_t>(16, 4 * (unit & -unit)));
}

LogicalResult lane::ExchangeMemory::layOut(gpu::GPUFuncOp kernel) {
  int64_t waveSize = chip.waveSize;
  ReduceOp first;
  WalkResult result = kernel.walk([&](ReduceOp op) {
    LayoutType layout = op.getLayout().getType();
    if (layout.getLanes() <= layout.getLanesInWave(waveSize) && !op.isShared())
      return WalkResult::advance();
    int64_t needed = countSlots(op, waveSize);
    auto phase = size_t(op.getPhase());
    if (sumsOfPhase.size() <= phase)
      sumsOfPhase.resize(phase + 1);
    int64_t &sums = sumsOfPhase[phase];
    auto count = int64_t(op.getSums().size());
    bool isOther = first && (slots != needed || groups != layout.getGroups() ||
                             op.getPeers() != first.getPeers());
    if (isOther || (sums && sums != count)) {
      op.emitOpError("expected the layout, and the number of sums, of the "
                     "kernel's other reductions of phase ")
          << phase;
      return WalkResult::interrupt();
    }
    if (op.isShared() && !layout.getAcross() &&
        layout.getLanes() % waveSize != 0) {
      op.emitOpError("expected whole waves where workgroups share a row, got ")
          << layout.getLanes() << " lanes and waves of " << waveSize;
      return WalkResult::interrupt();
    }
    if (!first)
      first = op;
    slots = needed;
    groups = layout.getGroups();
    sums = count;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (!isNeeded())
    return success();
  half = getOffset(sumsOfPhase.size());
  memory = addWorkgroupMemory(kernel, 2 * half,
                              Float32Type::get(kernel.getContext()));
  if (first.isShared())
    meetPeers(kernel, first);
  return success();
}

/// Nobody may send to a workgroup that has not started. Each says that it has
/// as early as it can, and waits for the others as late.
void lane::ExchangeMemory::meetPeers(gpu::GPUFuncOp kernel, ReduceOp first) {
  barriers = addWorkgroupMemory(kernel, 2 * getBarriersOfRow(),
                                IntegerType::get(kernel.getContext(), 64));
  ImplicitLocOpBuilder b(first.getLayout().getLoc(), kernel.getContext());
  b.setInsertionPointAfterValue(first.getLayout());
  InitByteBarriersOp::create(b, barriers);
  NVVM::ClusterArriveOp::create(b, /*aligned=*/b.getUnitAttr());
  b.setInsertionPoint(
      kernel.getBody().front().findAncestorOpInBlock(*first.getOperation()));
  NVVM::ClusterWaitOp::create(b, /*aligned=*/b.getUnitAttr());
}
