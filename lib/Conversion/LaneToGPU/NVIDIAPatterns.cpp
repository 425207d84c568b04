//===- NVIDIAPatterns.cpp - What NVIDIA's chips do in their own way -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Barriers that count bytes, workgroups that share rows, bulk copies (of chips
// from sm_90 on), and rows that no cache need keep.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "lnbwd/Analysis/RowAccess.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lnbwd;

Value lnbwd::emitAddress(IndexBuilder &b, Value memory, ValueRange indices,
                         NVVM::NVVMMemorySpace space) {
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<int64_t> strides = type.getStridesAndOffset().first;
  Value offset = b.index(0);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (dim > 0)
      offset = b(offset) * (strides[dim - 1] / strides[dim]);
    offset = b(offset) + index;
  }
  offset = emitOffsetInAllocation(b, memory, offset);
  offset = b(offset) * (type.getElementTypeBitWidth() / 8);
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, memory);
  Value address =
      arith::IndexCastOp::create(b, b.getI64Type(), b(base) + offset);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), unsigned(space));
  return LLVM::IntToPtrOp::create(b, pointer, address);
}

static Value emitSharedAddress(IndexBuilder &b, Value memory,
                               ValueRange indices) {
  return emitAddress(b, memory, indices, NVVM::NVVMMemorySpace::Shared);
}

/// Announces `bytes` (i32) to the barrier at `index`; they may be in flight
/// already.
static void emitExpectBytes(IndexBuilder &b, Value barriers, Value index,
                            Value bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(
      b, TypeRange(), ValueRange{emitSharedAddress(b, barriers, index), bytes});
}

/// How long a wave that waits for bytes may sleep before it looks again, in
/// nanoseconds: long, since it is woken when they have come.
static constexpr int64_t sleepNanoseconds = 10'000'000;

/// Waits until all bytes have come; `phase` (i32) is 0 the first time that the
/// barrier is waited for, then 1, 0, ...
static void emitAwaitBytes(IndexBuilder &b, Value barriers, Value index,
                           Value phase) {
  Value ticks = b.int32(sleepNanoseconds);
  NVVM::MBarrierTryWaitParityOp::create(
      b, emitSharedAddress(b, barriers, index), phase, ticks);
}

static Value emitIsFirstThread(IndexBuilder &b) {
  return b(gpu::ThreadIdOp::create(b, gpu::Dimension::x)) == 0;
}

static Lowered lowerInitByteBarriers(IndexBuilder &b,
                                     lane::InitByteBarriersOp op,
                                     const LaneOperands &) {
  b.when(emitIsFirstThread(b), [&] {
    Value one = b.int32(1);
    int64_t count = op.getBarriers().getType().getDimSize(0);
    for (int64_t i = 0; i < count; ++i) {
      Value index = b.index(i);
      NVVM::MBarrierInitOp::create(
          b, emitSharedAddress(b, op.getBarriers(), index), one,
          /*predicate=*/Value());
    }
    NVVM::FenceMbarrierInitOp::create(b);
  });
  return Values();
}

static Lowered lowerExpectBytes(IndexBuilder &b, lane::ExpectBytesOp op,
                                const LaneOperands &) {
  b.when(emitIsFirstThread(b), [&] {
    emitExpectBytes(b, op.getBarriers(), op.getIndex(),
                    b.int32(int32_t(op.getBytes())));
  });
  return Values();
}

static Lowered lowerAwaitBytes(IndexBuilder &b, lane::AwaitBytesOp op,
                               const LaneOperands &) {
  emitAwaitBytes(b, op.getBarriers(), op.getIndex(), op.getPhase());
  return Values();
}

/// Sends the numbers to the workgroup of the cluster that `peer` (index)
/// numbers, and counts their bytes on the barrier there. For `st.async` MLIR
/// and LLVM 22 have neither an operation nor an intrinsic.
static void emitSend(IndexBuilder &b, lane::SendToPeersOp op, Value peer) {
  auto pointer = LLVM::LLVMPointerType::get(
      b.getContext(), unsigned(NVVM::NVVMMemorySpace::SharedCluster));
  Value rank = arith::IndexCastOp::create(b, b.getI32Type(), peer);
  auto atPeer = [&](Value local, Value layout) -> Value {
    return NVVM::MapaOp::create(b, pointer, emitSharedAddress(b, local, layout),
                                rank);
  };
  Value barrier = atPeer(op.getBarriers(), op.getIndex());
  int64_t count = op.getNumbers().getType().getNumElements();
  // The instruction takes two or four elements at once, or one.
  int64_t width = count % 4 == 0 ? 4 : count % 2 == 0 ? 2 : 1;
  for (int64_t first = 0; first < count; first += width) {
    Value at = op.getSlot();
    if (first)
      at = b(at) + first;
    SmallVector<Value> operands{atPeer(op.getMemory(), at), barrier};
    std::string registers;
    for (int64_t i = 0; i < width; ++i) {
      operands.push_back(
          vector::ExtractOp::create(b, op.getNumbers(), first + i));
      registers += (i ? ", $" : "$") + std::to_string(2 + i);
    }
    std::string code =
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes";
    if (width > 1)
      code += ".v" + std::to_string(width);
    code += ".f32 [$0], " + (width > 1 ? "{" + registers + "}" : registers) +
            ", [$1];";
    NVVM::InlinePtxOp::create(b, TypeRange(), operands, ValueRange(), code,
                              /*predicate=*/Value());
  }
}

static Lowered lowerSendToPeers(IndexBuilder &b, lane::SendToPeersOp op,
                                const LaneOperands &layout) {
  Value peer = layout.lane;
  if (!layout.type.getAcross())
    peer = b(peer) % layout.converter.chip.waveSize;
  Value sends = b(peer) < layout.type.getPeers();
  b.when(sends, [&] { emitSend(b, op, peer); });
  return Values();
}

/// The columns that this workgroup has of a row, as an index, where not all
/// workgroups have as many; else null.
static Value emitOwnColumns(IndexBuilder &b, lane::LayoutType layout,
                            Value firstColumn) {
  if (!layout.mayExceedRow())
    return {};
  Value left = b.index(layout.getRowLength()) - firstColumn;
  return b.atMost(left, b.index(layout.getWorkgroupColumns()));
}

/// Whether a tile of rows is one block of memory.
static bool liesTogether(Value memory, lane::LayoutType layout) {
  return getStride(memory) == layout.getRowLength() && !layout.sharesRows();
}

/// Has `elements` elements of `memory` brought, from the workgroup's first
/// column of row `row` on. The instruction begins and ends where a unit does;
/// a unit that has one element of the memory may be brought whole. `nothing`,
/// if any, is 0 and added to the address.
static void emitPrefetch(IndexBuilder &b, const LaneLayout &layout,
                         Value memory, Value row, Value elements,
                         Value nothing = {}) {
  int64_t elementBytes =
      cast<MemRefType>(memory.getType()).getElementTypeBitWidth() / 8;
  auto fillsUnits = [&](int64_t count) {
    return count * elementBytes % bulkCopyUnit == 0;
  };
  Value column = layout.first ? layout.first : b.index(0);
  Value address =
      emitAddress(b, memory, {row, column}, NVVM::NVVMMemorySpace::Global);
  Value bytes =
      arith::IndexCastOp::create(b, b.getI64Type(), b(elements) * elementBytes);
  if (!fillsUnits(getStride(memory)) ||
      !fillsUnits(layout.type.getWorkgroupColumns()) ||
      !fillsUnits(layout.type.getLastColumns())) {
    Type pointer = address.getType();
    Value begin = LLVM::PtrToIntOp::create(b, b.getI64Type(), address);
    Value rest = arith::ConstantIntOp::create(b, bulkCopyUnit - 1, 64);
    Value units = arith::ConstantIntOp::create(b, -bulkCopyUnit, 64);
    Value behind = b(begin) + bytes + rest;
    begin = b.both(begin, units);
    bytes = b.both(behind, units) - begin;
    address = LLVM::IntToPtrOp::create(b, pointer, begin);
  }
  if (nothing)
    address = LLVM::GEPOp::create(b, address.getType(), b.getI8Type(), address,
                                  nothing);
  NVVM::CpAsyncBulkPrefetchOp::create(
      b, address, arith::TruncIOp::create(b, b.getI32Type(), bytes),
      /*l2CacheHint=*/Value());
}

/// Rows that lie side by side are asked for by the first lane of the workgroup
/// at once, others by the first of each group.
static Lowered lowerPrefetchRows(IndexBuilder &b, lane::PrefetchRowsOp op,
                                 const LaneOperands &layout) {
  SmallVector<Value> together, apart;
  for (Value memory : op.getMemories())
    (liesTogether(memory, layout.type) ? together : apart).push_back(memory);
  auto isBelowEnd = [&](Value row) -> Value { return b(row) < op.getEnd(); };
  if (!together.empty()) {
    Value isFirst = emitIsFirstThread(b);
    b.when(b.both(isFirst, isBelowEnd(op.getTile())), [&] {
      Value rows = b.index(layout.type.getGroups());
      if (layout.type.getGroups() > 1)
        rows = b.atMost(rows, b(op.getEnd()) - op.getTile());
      Value elements = b(rows) * layout.type.getRowLength();
      // ptxas 13.0 loses the high half of an address that is the same for all
      // lanes where another address shares its shift (UR5 of ULEA): what is
      // brought then is nowhere, and takes ten times as long. The number of the
      // first lane keeps such addresses out of the uniform registers.
      Value nothing = NVVM::LaneIdOp::create(b, b.getI32Type());
      for (Value memory : together)
        emitPrefetch(b, layout, memory, op.getTile(), elements, nothing);
    });
  }
  if (!apart.empty()) {
    Value row = b(op.getTile()) + layout.group;
    Value isFirst = b(layout.lane) == 0;
    b.when(b.both(isFirst, isBelowEnd(row)), [&] {
      Value columns = emitOwnColumns(b, layout.type, layout.first);
      if (!columns)
        columns = b.index(layout.type.getWorkgroupColumns());
      for (Value memory : apart)
        emitPrefetch(b, layout, memory, row, columns);
    });
  }
  return Values();
}

//===----------------------------------------------------------------------===//
// Rows that come through workgroup memory
//===----------------------------------------------------------------------===//

/// How many elements the first of the workgroup's in `row` lies after where
/// its copy's room in the stage begins, where a copy begins with that row;
/// null where there is no such distance.
static Value emitOffset(IndexBuilder &b, const StageLayout &stageLayout,
                        const LaneLayout &layout, int64_t elementBytes,
                        Value row) {
  if (!stageLayout.needsOffset())
    return {};
  int64_t unit = bulkAlignment / elementBytes;
  Value first = b(row) * stageLayout.rowLength;
  // Most slices are whole units, so that each begins like its row.
  if (stageLayout.isSlice() && stageLayout.columns % unit != 0)
    first = b(first) + layout.first;
  return b(first) % unit;
}

/// The bytes of one copy of elements of so many bytes, as an i32: fewer where
/// the workgroup has but `columns` of the row.
static Value emitCopyBytes(IndexBuilder &b, const StageLayout &stageLayout,
                           int64_t elementBytes, Value columns) {
  if (!columns)
    return b.int32(stageLayout.getCopyBytes(elementBytes));
  Value bytes = b(columns) * elementBytes;
  if (!stageLayout.needsShift())
    return bytes;
  // As StageLayout rounds those of a whole slice.
  Value unit = b.int32(bulkCopyUnit);
  return (b(bytes) + (2 * bulkCopyUnit - 1)) / unit * unit;
}

/// The bytes of all copies of a tile, as an i32.
static Value emitTileBytes(IndexBuilder &b, const StageLayout &stageLayout,
                           Value columns) {
  int64_t bytes = stageLayout.getCopiedBytes();
  if (!columns)
    return b.int32(bytes);
  if (!stageLayout.needsShift())
    return b(columns) * (bytes / stageLayout.columns);
  Value sum;
  for (int64_t elementBytes : stageLayout.elementBytes) {
    Value bytes = emitCopyBytes(b, stageLayout, elementBytes, columns);
    Value copies = b(bytes) * stageLayout.getBlocks();
    sum = sum ? b(sum) + copies : copies;
  }
  return sum;
}

/// The memory of all stages for row operand `index`, [stages, elements]: it
/// lies behind those of the operands before.
static Value viewStages(IndexBuilder &b, lane::StagesType type, Value memory,
                        const StageLayout &stageLayout, size_t index) {
  auto getElements = [&](size_t i) {
    int64_t bytes = stageLayout.elementBytes[i];
    return stageLayout.getBlocks() * stageLayout.getRoomBytes(bytes) / bytes;
  };
  int64_t offset = 0;
  for (size_t i = 0; i < index; ++i)
    offset += type.getCount() * getElements(i) * stageLayout.elementBytes[i];
  return memref::ViewOp::create(
      b,
      lane::getWorkgroupType({type.getCount(), getElements(index)},
                             type.getElements()[index]),
      memory, b.index(offset), /*sizes=*/ValueRange());
}

static void emitCopies(IndexBuilder &b, lane::StartCopiesOp op,
                       const LaneOperands &of) {
  lane::LayoutType layout = of.type;
  lane::StagesType type = op.getStages().getType();
  StageLayout stageLayout = lane::getStageLayout(layout, type.getElements());
  ValueRange stages = of.get(op.getStages());
  Value firstColumn = of.first;
  Value columns = emitOwnColumns(b, layout, firstColumn);
  if (columns)
    columns = arith::IndexCastOp::create(b, b.getI32Type(), columns);
  // Lanes may have loaded from the stage just now. A barrier alone does not
  // order their loads before what the copies write, which go another way to
  // memory (the async proxy): under load the copies overtake loads.
  NVVM::FenceProxyOp::create(
      b, NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(b.getContext(),
                                 NVVM::SharedSpace::shared_cta));
  emitExpectBytes(b, stages[1], op.getStage(),
                  emitTileBytes(b, stageLayout, columns));
  for (auto [i, memory] : llvm::enumerate(op.getMemories())) {
    int64_t elementBytes = stageLayout.elementBytes[i];
    int64_t room = stageLayout.getRoomBytes(elementBytes);
    Value ofStages = viewStages(b, type, stages[0], stageLayout, i);
    for (int64_t block = 0; block < stageLayout.getBlocks(); ++block) {
      Value to = b.index(block * room / elementBytes);
      Value row = op.getTile();
      if (block)
        row = b(row) + block;
      Value column = firstColumn ? firstColumn : b.index(0);
      if (Value offset = emitOffset(b, stageLayout, of, elementBytes, row)) {
        to = b(to) + offset;
        if (stageLayout.needsShift()) {
          Value shift = b(offset) % (bulkCopyUnit / elementBytes);
          to = b(to) - shift;
          column = b(column) - shift;
        }
      }
      Value size = emitCopyBytes(b, stageLayout, elementBytes, columns);
      Value barrier = emitSharedAddress(b, stages[1], op.getStage());
      Value from =
          emitAddress(b, memory, {row, column}, NVVM::NVVMMemorySpace::Global);
      NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
          b, emitSharedAddress(b, ofStages, {op.getStage(), to}), from, barrier,
          size, /*multicastMask=*/Value(),
          /*l2CacheHint=*/Value());
    }
  }
}

static Lowered lowerStartCopies(IndexBuilder &b, lane::StartCopiesOp op,
                                const LaneOperands &layout) {
  Value isThere = b(op.getTile()) < op.getEnd();
  Value isFirst = emitIsFirstThread(b);
  b.when(b.both(isFirst, isThere), [&] { emitCopies(b, op, layout); });
  return Values();
}

static Lowered lowerAwaitStage(IndexBuilder &b, lane::AwaitStageOp op,
                               const LaneOperands &operands) {
  emitAwaitBytes(b, operands.get(op.getStages())[1], op.getStage(),
                 op.getPhase());
  return Values();
}

static Lowered lowerReceive(IndexBuilder &b, lane::ReceiveOp op,
                            const LaneOperands &layout) {
  lane::StagesType type = op.getStages().getType();
  StageLayout stageLayout =
      lane::getStageLayout(layout.type, type.getElements());
  SmallVector<Value> received;
  Value own = b(op.getTile()) + layout.group;
  Value row =
      stageLayout.needsOffset() && stageLayout.isSlice() ? own : op.getTile();
  Value column =
      locateAccess(b, layout, int64_t(*op.getAccess()), own).loadColumn;
  if (layout.first)
    column = b(column) - layout.first;
  for (auto [i, fragment] : llvm::enumerate(op.getFragments())) {
    int64_t bytes = stageLayout.elementBytes[i];
    Value begin = b(layout.group) * stageLayout.getRowDistance(bytes);
    if (Value offset = emitOffset(b, stageLayout, layout, bytes, row))
      begin = b(begin) + offset;
    Value memory =
        viewStages(b, type, layout.get(op.getStages())[0], stageLayout, i);
    received.push_back(emitLoad(b, fragment.getType(), memory,
                                {op.getStage(), b(begin) + column}));
  }
  return received;
}

//===----------------------------------------------------------------------===//
// Dead rows
//===----------------------------------------------------------------------===//

/// Measured on an H200: with 768 columns and more kernels take 0.95 to 1.01 of
/// the time if partial sums are given up, with 128 to 512 up to 1.07.
static constexpr int64_t leastDiscardedColumns = 768;

/// Whether no line, which one instruction gives up, has columns of other rows
/// or workgroups as well, given that the memory begins with a line.
static bool hasWholeLines(lane::LayoutType layout, MemRefType type) {
  int64_t columns = lineBytes * 8 / type.getElementTypeBitWidth();
  return layout.getRowLength() % columns == 0 &&
         layout.getWorkgroupColumns() % columns == 0 &&
         layout.getRowLength() % layout.getWorkgroupColumns() == 0;
}

static void discardRow(IndexBuilder &b, const LaneLayout &layout, Value memory,
                       Value row, Value bytes) {
  int64_t columns = lineBytes * 8 /
                    cast<MemRefType>(memory.getType()).getElementTypeBitWidth();
  for (int64_t c = 0; c < layout.type.getWorkgroupColumns(); c += columns) {
    Value column = b.index(c);
    if (layout.first)
      column = b(layout.first) + column;
    Value address =
        emitAddress(b, memory, {row, column}, NVVM::NVVMMemorySpace::Global);
    LLVM::CallIntrinsicOp::create(
        b, b.getStringAttr("llvm.nvvm.discard.global.L2"),
        ValueRange{address, bytes});
  }
}

/// Each lane takes rows of its own, from the first line of the workgroup's
/// columns to the last. Short rows stay: there is little of them to bring to
/// memory, and of few columns a workgroup has many rows to give up.
static Lowered lowerDiscard(IndexBuilder &b, lane::DiscardOp op,
                            const LaneOperands &layout) {
  SmallVector<Value> memories;
  if (layout.type.getRowLength() >= leastDiscardedColumns)
    llvm::copy_if(
        op.getMemories(), std::back_inserter(memories), [&](Value memory) {
          return hasWholeLines(layout.type, cast<MemRefType>(memory.getType()));
        });
  if (memories.empty())
    return Values();
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  Value threads = b.index(layout.type.getLanes() * layout.type.getGroups());
  Value bytes = arith::ConstantIntOp::create(b, lineBytes, 64);
  scf::ForOp::create(b, thread, op.getRows(), threads, ValueRange(),
                     [&](OpBuilder &, Location, Value row, ValueRange) {
                       for (Value memory : memories)
                         discardRow(b, layout, memory, row, bytes);
                       scf::YieldOp::create(b);
                     });
  return Values();
}

void lnbwd::populateLaneToNVIDIAPatterns(RewritePatternSet &patterns,
                                         const LaneTypeConverter &converter) {
  addLanePatterns<lowerInitByteBarriers, lowerExpectBytes, lowerAwaitBytes,
                  lowerSendToPeers, lowerPrefetchRows, lowerStartCopies,
                  lowerAwaitStage, lowerReceive, lowerDiscard>(patterns,
                                                               converter);
}
