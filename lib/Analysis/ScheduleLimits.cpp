//===- ScheduleLimits.cpp - What a schedule takes of a compute unit -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The registers and the shared memory that a scheduled row program takes.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ScheduleLimits.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Analysis/RowAccess.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

/// Bytes of a sum.
static constexpr int64_t floatBytes = sizeof(float);
/// Rows whose sums, and barriers, have places of their own in shared memory, in
/// iteration.
static constexpr int64_t exchangedRows = 2;
/// Bytes of a barrier in shared memory.
static constexpr int64_t barrierBytes = 8;
/// The schedule that fields which follow from others were chosen for.
static Schedule dropFollowing(Schedule schedule) {
  for (const ScheduleFieldInfo &field : kScheduleFields)
    if (field.follows)
      schedule.*field.member = Schedule().*field.member;
  return schedule;
}

SmallVector<Schedule> lnbwd::getRejected(RowwiseOp op, bool isBounded) {
  auto module = op->getParentOfType<ModuleOp>();
  auto lists =
      module ? module->getAttrOfType<DictionaryAttr>(rejectedSchedulesAttr)
             : DictionaryAttr();
  auto list = lists ? lists.getAs<ArrayAttr>(op.getEntry()) : ArrayAttr();
  if (!list)
    return {};
  SmallVector<Schedule> rejected;
  for (auto each : list.getAsRange<ScheduleAttr>())
    if (bool(each->mostRegisters) == isBounded)
      rejected.push_back(dropFollowing(each));
  return rejected;
}

bool lnbwd::isRejected(RowwiseOp op, const Schedule &schedule) {
  return llvm::is_contained(getRejected(op, bool(schedule.mostRegisters)),
                            dropFollowing(schedule));
}

/// Shared memory of the tiles that are transposed: of those that are read, or
/// of those that are written, which are there after them.
static int64_t countTransposedBytes(RowwiseOp op, const Schedule &schedule,
                                    const ChipInfo &chip) {
  int64_t read = 0, written = 0;
  for (auto [operand, elementBytes] : getAcrossBlocks(op))
    if (getRowAccess(op, operand, schedule, chip) == RowAccess::Transposed)
      (operand < op.getRows().size() ? read : written) += getTransposedBytes(
          getWorkgroupColumns(op, schedule), schedule.vectorWidth,
          schedule.rowGroups, elementBytes);
  return std::max(read, written);
}

/// The registers that `operands` take where a lane has so many accesses: what
/// is narrower than a register takes a whole one, and what repeats along the
/// row, within an access or from one to the next, is there once.
static int64_t countRegisters(RowwiseOp op, OperandRange operands,
                              int64_t accesses, const Schedule &schedule) {
  int64_t bits = 0, width = schedule.vectorWidth;
  int64_t columns = schedule.getChunkColumns();
  for (auto [i, value] : llvm::enumerate(operands)) {
    unsigned index = operands.getBeginOperandIndex() + unsigned(i);
    SmallVector<IndexTerm> terms = op.getForm(index).getColumnTerms();
    int64_t elements = accesses * width;
    if (!terms.empty() && llvm::all_of(terms, [&](auto &term) {
          return term.divisor % width == 0;
        }))
      elements /= width;
    if (!terms.empty() && llvm::all_of(terms, [&](auto &term) {
          return term.modulus && columns % (term.divisor * term.modulus) == 0;
        }))
      elements /= accesses;
    int64_t elementBits =
        cast<ShapedType>(value.getType()).getElementTypeBitWidth();
    bits += elements * std::max(elementBits, 32 / width);
  }
  return llvm::divideCeil(bits, 32);
}

static StageLayout getStageLayout(RowwiseOp op, const Schedule &schedule) {
  SmallVector<Type> elements;
  for (auto [i, rows] : llvm::enumerate(op.getRows()))
    if (op.getForm(unsigned(i)).isPlain())
      elements.push_back(getElementTypeOrSelf(rows));
  return {op.getRowLength(), getWorkgroupColumns(op, schedule),
          schedule.rowGroups, elements};
}

bool lnbwd::needsShift(RowwiseOp op, const Schedule &schedule) {
  return schedule.stages && getStageLayout(op, schedule).needsShift();
}

ScheduleResources lnbwd::getResources(RowwiseOp op, const Schedule &schedule,
                                      const ChipInfo &chip) {
  ScheduleResources resources;
  resources.threads = schedule.getThreads();
  int64_t lanes = schedule.threadsPerRow, groups = schedule.rowGroups;
  int64_t peers = schedule.workgroupsPerRow, stages = schedule.stages;
  auto columnSums = int64_t(op.getAllSums().size());
  int64_t rowSums =
      llvm::count_if(op.getBody().front(), [&](Operation &bodyOp) {
        return getSummedRow(&bodyOp) && keepsRowSums(op, schedule);
      });
  bool isInOrder = op.getCanonical();

  int64_t chunks = schedule.reload ? 1 : getChunks(op, schedule);
  int64_t elements = chunks * schedule.vectorWidth;
  // Tiles of rows that lie in registers as they came.
  int64_t held = 1;
  if (!stages)
    held = schedule.prefetch ? 2 : schedule.unroll;
  int64_t packed = countRegisters(op, op.getRows(), chunks, schedule) * held +
                   countRegisters(op, op.getTables(), chunks, schedule) +
                   countRegisters(op, op.getAllColumns(), chunks, schedule);
  int64_t live =
      std::min<int64_t>(stages && op.getRowElementBits() == 32 ? 1 : liveRows,
                        int64_t(op.getRows().size() + op.getRowOuts().size()));
  // The next row is worked on in the same iteration.
  if (schedule.unroll == 2 && schedule.prefetch)
    live += liveRows;
  // With `sum_block` each sum has a total.
  int64_t sums = columnSums * (schedule.sumBlock ? 2 : 1);
  resources.registersPerLane =
      fixedRegisters + (sums + live) * elements + packed;
  resources.leastRegistersPerLane = sums * elements + packed;

  int64_t slots = countExchangeSlots(lanes, groups, schedule.lanesAcross, peers,
                                     chip.waveSize);
  if (slots == 1)
    slots = 0;
  else if (isInOrder)
    slots = countCanonicalSlots(op.getRowLength(),
                                getWorkgroupColumns(op, schedule), lanes,
                                chip.waveSize, peers);
  int64_t exchange = exchangedRows * floatBytes * slots * groups * rowSums;
  // Barriers that count what peers send: at most one more phase than there are
  // sums.
  if (peers > 1 && op.hasRowSums())
    exchange += exchangedRows * barrierBytes * (rowSums + 1);
  int64_t given =
      columnSums * (groups - llvm::divideCeil(groups, schedule.combineRadix));
  int64_t together = 1;
  if (isInOrder && groups > 1) {
    together = shareAccesses(groups, schedule.vectorWidth, chunks).accesses;
    given = groups * together *
            countSharedSums(columnSums, groups,
                            together * schedule.getChunkColumns());
  }
  int64_t covered = int64_t(llvm::alignTo(uint64_t(chunks), together)) *
                    schedule.getChunkColumns();
  int64_t columns = groups > 1 && !schedule.reload
                        ? covered * getColumnBits(op.getAllColumns()) / 8
                        : 0;
  resources.sharedMemoryBytes =
      exchange + floatBytes * given * schedule.getChunkColumns() + columns +
      barrierBytes * stages + countTransposedBytes(op, schedule, chip);
  resources.stagingBytes =
      stages * getStageLayout(op, schedule).getStageBytes();
  // Sums of leaves that wait for their neighbours.
  if (isInOrder)
    (stages ? resources.stagingBytes : resources.sharedMemoryBytes) +=
        floatBytes * columnSums * covered *
        (op.getLeaves() ? groupLevels * groups
                        : countWaitingLevels(op.getRowLength(),
                                             schedule.rowsPerWorkgroup));
  return resources;
}

/// Registers of a lane where `waves` share those of `simds`.
static int64_t shareRegisters(int64_t simds, int64_t waves,
                              const ChipInfo &chip) {
  return std::min<int64_t>(
      chip.maxRegistersPerLane,
      llvm::alignDown(uint64_t(simds * chip.registersPerSimdLane / waves),
                      chip.limits.registerGranule));
}

int64_t lnbwd::getMeanRegisterLimit(int64_t threads, const ChipInfo &chip) {
  return shareRegisters(chip.limits.simdsTogether,
                        llvm::divideCeil(threads, chip.waveSize), chip);
}

int64_t lnbwd::getRegisterLimit(int64_t threads, const ChipInfo &chip,
                                int64_t workgroups) {
  int64_t waves = workgroups * llvm::divideCeil(threads, chip.waveSize);
  return shareRegisters(1, llvm::divideCeil(waves, chip.limits.simdsTogether),
                        chip);
}

int64_t lnbwd::chooseCombineRadix(RowwiseOp op, const Schedule &fields) {
  int64_t radix = Schedule().combineRadix;
  int64_t slotBytes = int64_t(sizeof(float) * op.getAllSums().size()) *
                      fields.threadsPerRow * fields.vectorWidth;
  while (radix > 2 && !hasLeaves(op) &&
         (fields.rowGroups - llvm::divideCeil(fields.rowGroups, radix)) *
                 slotBytes >
             combineBytes)
    radix /= 2;
  return radix;
}
