//===- ScheduleModel.cpp - Which schedule for which row program -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A first cost model. A row program is bound by memory, so the model looks for
// few idle lanes, 16-byte accesses, and enough bytes in flight without running
// out of registers.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Transforms/ScheduleModel.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace lnbwd;

/// Bytes of the widest access of one lane.
static constexpr int64_t accessBytes = 16;
/// Workgroups that a grid can have in its second dimension.
static constexpr int64_t maxColumnTiles = 65535;
/// Registers for addresses, loop counters and the row's scalars.
static constexpr int64_t fixedRegisters = 24;
/// Float32 rows that are live at once while a region is worked through, beside
/// those that lie in registers as they came, one of which may be overwritten;
/// how many more where the next row is worked on in the same turn; and how many
/// more LLVM's register allocator needs than NVIDIA's for rows that are
/// widened.
static constexpr int64_t liveRows = 2;
static constexpr int64_t moreLiveUnrolled = 2;
static constexpr int64_t moreLiveWidened = 2;
/// Work-items of a workgroup, and of all workgroups of a compute unit, that the
/// model aims at where rows are staged: one workgroup leaves the fewest partial
/// sums, and staged rows are in flight whatever its lanes do.
static constexpr int64_t stagedThreads = 512;
static constexpr int64_t stagedComputeUnitThreads = 768;
/// Bytes that staging keeps in flight on a compute unit, at least and at most:
/// fewer leave the memory idle, more crowd each other out of the cache.
/// Measured on an H200 with rows of 3 to 32 KB.
static constexpr int64_t leastStagedBytes = 48 * 1024;
static constexpr int64_t stagedBytesInFlight = 128 * 1024;
/// Bytes of rows that should be in flight on a compute unit of AMD's, by count:
/// what its memory delivers while one load is on its way.
static constexpr int64_t registerBytesInFlight = 32 * 1024;
/// Registers by which the estimate may fall short where one more would cost a
/// workgroup.
static constexpr int64_t spareRegisters = 4;
/// How much of the registers that are estimated may do, in a hundred.
static constexpr int64_t hopedPercent = 80;
/// Sets of rows in flight, at least and at most, and the shortest row, in bytes
/// over all row operands, that is worth a bulk copy.
static constexpr int64_t minStages = 2;
static constexpr int64_t maxStages = 4;
static constexpr int64_t minStagedBytes = 3072;
/// Workgroups that share a row, times those that share a compute unit: more
/// wait for each other.
static constexpr int64_t mostPeers = 8;
/// Bytes of partial sums are this much dearer than those of rows: they travel
/// when nothing else is under way.
static constexpr double partialWeight = 1.6;
/// Shared memory that the driver takes of each workgroup.
static constexpr int64_t reservedSharedBytes = 1024;
/// Numbers that a work-item may add up to a row's sum behind an exchange before
/// they show.
static constexpr int64_t shortExchange = 32;
/// Sets of rows that a program without row sums loads at once.
static constexpr int64_t independentRows = 4;
/// Work-items that finalise a few column sums, at least, and at most as long as
/// `independentRows` partial rows for each suffice.
static constexpr int64_t minFinalizeThreads = 128;
static constexpr int64_t finalizeThreads = 512;
/// Groups whose column sums one of them adds up at once, as long as those that
/// lie in workgroup memory meanwhile take no more bytes than this.
static constexpr int64_t combineRadix = 8;
static constexpr int64_t combineBytes = 32 * 1024;
/// Columns of a workgroup that finalises column sums: two to four cache lines.
static constexpr int64_t finalizeColumns = 32;

ScheduleFields::ScheduleFields(ScheduleAttr schedule)
    : threadsPerRow(schedule.getThreadsPerRow()),
      rowGroups(schedule.getRowGroups()),
      vectorWidth(schedule.getVectorWidth()),
      rowsPerWorkgroup(schedule.getRowsPerWorkgroup()),
      workgroupsPerComputeUnit(schedule.getWorkgroupsPerComputeUnit()),
      workgroupsPerRow(schedule.getWorkgroupsPerRow()),
      columnTile(schedule.getColumnTile()), prefetch(schedule.getPrefetch()),
      unroll(schedule.getUnroll()), stages(schedule.getStages()),
      earlyStart(schedule.getEarlyStart()), reload(schedule.getReload()) {}

SmallVector<std::pair<StringRef, int64_t *>> ScheduleFields::getNamed() {
  return {
      {"threads_per_row", &threadsPerRow},
      {"row_groups", &rowGroups},
      {"vector_width", &vectorWidth},
      {"rows_per_workgroup", &rowsPerWorkgroup},
      {"workgroups_per_compute_unit", &workgroupsPerComputeUnit},
      {"workgroups_per_row", &workgroupsPerRow},
      {"column_tile", &columnTile},
      {"prefetch", &prefetch},
      {"unroll", &unroll},
      {"stages", &stages},
      {"early_start", &earlyStart},
      {"reload", &reload},
  };
}

ScheduleAttr ScheduleFields::get(MLIRContext *context) const {
  return ScheduleAttr::get(context, threadsPerRow, rowGroups, vectorWidth,
                           rowsPerWorkgroup, workgroupsPerComputeUnit,
                           workgroupsPerRow, columnTile, prefetch, unroll,
                           stages, earlyStart != 0, reload != 0);
}

ScheduleAttr
ScheduleFields::getChecked(function_ref<InFlightDiagnostic()> emitError,
                           MLIRContext *context) const {
  return ScheduleAttr::getChecked(
      emitError, context, threadsPerRow, rowGroups, vectorWidth,
      rowsPerWorkgroup, workgroupsPerComputeUnit, workgroupsPerRow, columnTile,
      prefetch, unroll, stages, earlyStart != 0, reload != 0);
}

int64_t lnbwd::getWorkgroupColumns(RowwiseOp op, ScheduleAttr schedule) {
  if (schedule.getColumnTile())
    return schedule.getColumnTile();
  return op.getRowLength() / schedule.getWorkgroupsPerRow();
}

int64_t lnbwd::getChunks(RowwiseOp op, ScheduleAttr schedule) {
  return llvm::divideCeil(getWorkgroupColumns(op, schedule),
                          schedule.getChunkColumns());
}

int64_t lnbwd::getCombineRadix(RowwiseOp op, ScheduleAttr schedule) {
  int64_t groups = schedule.getRowGroups();
  int64_t slotBytes =
      4 * int64_t(op.getColumnSums().size()) * schedule.getChunkColumns();
  int64_t radix = combineRadix;
  while (radix > 2 &&
         (groups - llvm::divideCeil(groups, radix)) * slotBytes > combineBytes)
    radix /= 2;
  return radix;
}

/// Row sums of the program, over all phases.
static int64_t countRowSums(RowwiseOp op) {
  return llvm::count_if(op.getBody().front(), [](Operation &bodyOp) {
    return bool(getSummedRow(&bodyOp));
  });
}

/// Bits that the operands' elements of one column take, as they are in memory.
static int64_t bitsOf(OperandRange values) {
  int64_t bits = 0;
  for (Value value : values)
    bits += cast<ShapedType>(value.getType()).getElementTypeBitWidth();
  return bits;
}

/// The same in registers, for accesses of `width` elements: what is narrower
/// than a register takes a whole one.
static int64_t registerBitsOf(OperandRange values, int64_t width) {
  int64_t bits = 0;
  for (Value value : values)
    bits += std::max<int64_t>(
        cast<ShapedType>(value.getType()).getElementTypeBitWidth(), 32 / width);
  return bits;
}

ScheduleResources lnbwd::getResources(RowwiseOp op, ScheduleAttr schedule,
                                      const ChipInfo &chip) {
  ScheduleResources resources;
  resources.threads = schedule.getThreads();

  int64_t chunks = schedule.getReload() ? 1 : getChunks(op, schedule);
  int64_t elements = chunks * schedule.getVectorWidth();
  // Sets of rows that lie in registers as they came.
  int64_t held = 1;
  if (!schedule.getStages())
    held = schedule.getPrefetch() ? 2 : schedule.getUnroll();
  int64_t width = schedule.getVectorWidth();
  int64_t packedBits = registerBitsOf(op.getRows(), width) * held +
                       registerBitsOf(op.getColumns(), width);
  int64_t live = std::min<int64_t>(
      liveRows, int64_t(op.getRows().size() + op.getRowOuts().size()));
  if (schedule.getStages() && op.getRowElementBits() == 32)
    live = std::min<int64_t>(live, 1);
  if (schedule.getUnroll() == 2 && schedule.getPrefetch())
    live += moreLiveUnrolled;
  if (chip.backend == Backend::AMDGPU && op.getRowElementBits() < 32)
    live += moreLiveWidened;
  int64_t perElement32 = int64_t(op.getColumnSums().size()) + live;
  int64_t packed = llvm::divideCeil(packedBits * elements, 32);
  resources.registersPerLane =
      fixedRegisters + perElement32 * elements + packed;
  resources.leastRegistersPerLane =
      int64_t(op.getColumnSums().size()) * elements + packed;

  int64_t waves = llvm::divideCeil(schedule.getThreads(), chip.waveSize);
  bool isExchanged = schedule.getThreadsPerRow() > chip.waveSize ||
                     schedule.getWorkgroupsPerRow() > 1;
  int64_t exchange = isExchanged ? 2 * 4 * waves * countRowSums(op) *
                                       schedule.getWorkgroupsPerRow()
                                 : 0;
  int64_t groups = schedule.getRowGroups();
  int64_t slots =
      groups - llvm::divideCeil(groups, getCombineRadix(op, schedule));
  int64_t combine = 4 * int64_t(op.getColumnSums().size()) * slots *
                    schedule.getChunkColumns();
  int64_t columns =
      groups > 1 && !schedule.getReload()
          ? chunks * schedule.getChunkColumns() * bitsOf(op.getColumns()) / 8
          : 0;
  resources.sharedMemoryBytes =
      exchange + combine + columns + 8 * schedule.getStages();
  resources.stagingBytes = schedule.getStages() * getStageBytes(op, schedule);
  return resources;
}

int64_t lnbwd::getLaunchedSharedBytes(RowwiseOp op, ScheduleAttr schedule,
                                      const ChipInfo &chip) {
  ScheduleResources resources = getResources(op, schedule, chip);
  int64_t workgroups = schedule.getWorkgroupsPerComputeUnit();
  if (!resources.stagingBytes || !schedule.getEarlyStart() || !workgroups)
    return resources.stagingBytes;
  int64_t room = chip.limits.computeUnitSharedMemoryBytes;
  // More than an equal part of one workgroup too many.
  int64_t crowded = llvm::alignTo(uint64_t(room / (workgroups + 1)), 16) + 16;
  bool fits =
      workgroups *
              (crowded + resources.sharedMemoryBytes + reservedSharedBytes) <=
          room &&
      crowded + resources.sharedMemoryBytes <= chip.dynamicSharedMemoryBytes;
  return fits ? std::max(crowded, resources.stagingBytes)
              : resources.stagingBytes;
}

namespace {
/// How many registers a schedule may take: those that surely exist, for a
/// choice that somebody made; those that the estimate finds, for the model's
/// own; somewhat fewer, where the model has no other and code emission says
/// whether it was right.
enum class RegisterBound { Least, Estimate, Hope };
} // namespace

/// Why `op` cannot run on `chip` as scheduled, and what would help; empty if it
/// can.
static std::string getObstacle(RowwiseOp op, ScheduleAttr schedule,
                               const ChipInfo &chip, RegisterBound bound) {
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t threadsPerRow = schedule.getThreadsPerRow();
  bool fitsWave =
      threadsPerRow <= chip.waveSize && llvm::isPowerOf2_64(threadsPerRow);
  if (!fitsWave && threadsPerRow % chip.waveSize != 0) {
    os << "expected threads_per_row to be a power of two up to the wave size "
          "of "
       << chip.name << ", " << chip.waveSize << ", or a multiple of it, got "
       << threadsPerRow;
    return text;
  }
  if (schedule.getThreads() > chip.maxThreadsPerWorkgroup) {
    os << "expected at most " << chip.maxThreadsPerWorkgroup
       << " threads in a workgroup on " << chip.name
       << ", got threads_per_row * row_groups = " << schedule.getThreads()
       << "; lower one of them";
    return text;
  }
  int64_t length = op.getRowLength();
  if (length % schedule.getVectorWidth() != 0) {
    os << "expected vector_width to divide the row length, " << length
       << ", got " << schedule.getVectorWidth();
    return text;
  }
  int64_t bytes = schedule.getVectorWidth() * op.getRowElementBits() / 8;
  if (bytes > accessBytes) {
    os << "expected accesses of at most " << accessBytes
       << " bytes, got vector_width " << schedule.getVectorWidth() << " of "
       << op.getRowElementBits() << "-bit elements: " << bytes << " bytes";
    return text;
  }
  if (schedule.getRowsPerWorkgroup() &&
      schedule.getRowsPerWorkgroup() < schedule.getRowGroups()) {
    os << "expected rows_per_workgroup to be 0 or at least row_groups, "
       << schedule.getRowGroups() << ", got " << schedule.getRowsPerWorkgroup();
    return text;
  }
  if (schedule.getColumnTile() &&
      (op.hasRowSums() || !op.getScalarOuts().empty())) {
    os << "expected column_tile 0: a row sum or row scalar needs the whole row "
          "in one workgroup";
    return text;
  }
  if (schedule.getWorkgroupsPerRow() > chip.workgroups.clusterWorkgroups) {
    os << "expected workgroups_per_row of at most "
       << chip.workgroups.clusterWorkgroups << " on " << chip.name << ", got "
       << schedule.getWorkgroupsPerRow();
    return text;
  }
  if (schedule.getWorkgroupsPerRow() > 1 &&
      threadsPerRow % chip.waveSize != 0) {
    os << "expected threads_per_row to be a multiple of the wave size of "
       << chip.name << ", " << chip.waveSize
       << ", where workgroups_per_row is above 1, got " << threadsPerRow;
    return text;
  }
  if (length % (schedule.getWorkgroupsPerRow() * schedule.getVectorWidth())) {
    os << "expected workgroups_per_row * vector_width to divide the row "
          "length, "
       << length << ", got " << schedule.getWorkgroupsPerRow() << " * "
       << schedule.getVectorWidth();
    return text;
  }
  if (schedule.getUnroll() > 1 && !schedule.getPrefetch() && op.hasRowSums()) {
    os << "expected prefetch 1 where unroll is above 1 and the program has row "
          "sums, got unroll "
       << schedule.getUnroll();
    return text;
  }
  int64_t tile = schedule.getColumnTile();
  if (tile && llvm::divideCeil(length, tile) > maxColumnTiles) {
    os << "expected at most " << maxColumnTiles
       << " column tiles, got row length " << length << " in tiles of " << tile
       << "; raise column_tile";
    return text;
  }
  if (schedule.getReload() &&
      (!op.getColumnSums().empty() || schedule.getColumnTile())) {
    os << "expected reload to be unset: column sums and column tiles need "
          "their "
          "columns to stay with a lane; split the program into two passes to "
          "reload";
    return text;
  }
  if (schedule.getStages() && !chip.workgroups.hasBulkCopy) {
    os << "expected stages 0 on " << chip.name
       << ", which has no asynchronous bulk copies";
    return text;
  }
  for (OperandRange rows : {op.getRows(), op.getRowOuts()})
    for (unsigned i = 0; i < rows.size(); ++i) {
      int64_t stride = op.getRowStride(rows.getBeginOperandIndex() + i);
      if (stride % schedule.getVectorWidth() != 0) {
        os << "expected vector_width to divide the distance between rows, "
           << stride << ", got " << schedule.getVectorWidth();
        return text;
      }
      if (schedule.getStages() && stride != length) {
        os << "expected stages 0 for rows that lie apart: a bulk copy takes "
              "neighbouring rows";
        return text;
      }
    }
  if (needsShift(op, schedule) && schedule.getWorkgroupsPerRow() > 1) {
    os << "expected each workgroup's part of a row to be a multiple of "
       << accessBytes << " bytes where stages is set, got row length " << length
       << " over " << schedule.getWorkgroupsPerRow()
       << " workgroups; lower workgroups_per_row, or set stages to 0";
    return text;
  }
  // A copy that ends behind its set ends within the row that follows.
  if (needsShift(op, schedule) &&
      length * op.getRowElementBits() / 8 < 2 * accessBytes) {
    os << "expected rows of at least " << 2 * accessBytes
       << " bytes where stages is set, got row length " << length;
    return text;
  }
  if (schedule.getEarlyStart() && !chip.workgroups.hasEarlyStart) {
    os << "expected early_start to be unset on " << chip.name
       << ", which starts a kernel when the one before it has ended";
    return text;
  }
  ScheduleResources resources = getResources(op, schedule, chip);
  int64_t registers =
      std::min(chip.maxRegistersPerLane, chip.limits.computeUnitsTogether *
                                             chip.registersPerComputeUnit /
                                             resources.threads);
  int64_t needed = resources.registersPerLane;
  if (bound == RegisterBound::Least)
    needed = resources.leastRegistersPerLane;
  else if (bound == RegisterBound::Hope)
    needed = needed * hopedPercent / 100;
  if (needed > registers)
    os << "row length " << length
       << " is too large for this schedule: it needs at least " << needed
       << " registers a lane, and " << chip.name << " has " << registers
       << " for workgroups of " << resources.threads
       << " threads; raise threads_per_row, or split the program into two "
          "passes";
  else if (resources.stagingBytes &&
           resources.sharedMemoryBytes + resources.stagingBytes >
               chip.dynamicSharedMemoryBytes)
    os << "this schedule needs "
       << resources.sharedMemoryBytes + resources.stagingBytes
       << " bytes of shared memory, and " << chip.name << " has "
       << chip.dynamicSharedMemoryBytes
       << " for a workgroup; lower stages or row_groups";
  else if (resources.sharedMemoryBytes > chip.sharedMemoryBytes)
    os << "this schedule needs " << resources.sharedMemoryBytes
       << " bytes of shared memory, and " << chip.name << " has "
       << chip.sharedMemoryBytes << " for a workgroup; lower row_groups";
  return text;
}

LogicalResult
lnbwd::checkSchedule(RowwiseOp op, ScheduleAttr schedule, const ChipInfo &chip,
                     function_ref<InFlightDiagnostic()> emitError) {
  std::string obstacle = getObstacle(op, schedule, chip, RegisterBound::Least);
  if (!obstacle.empty())
    return emitError() << obstacle;
  return success();
}

bool lnbwd::isRejected(RowwiseOp op, ScheduleAttr schedule) {
  auto module = op->getParentOfType<ModuleOp>();
  auto lists =
      module ? module->getAttrOfType<DictionaryAttr>(rejectedSchedulesAttr)
             : DictionaryAttr();
  auto list = lists ? lists.getAs<ArrayAttr>(op.getEntry()) : ArrayAttr();
  return list && llvm::is_contained(list, schedule);
}

/// The widest access that all rows are aligned to.
static int64_t chooseVectorWidth(RowwiseOp op) {
  int64_t width = accessBytes * 8 / op.getRowElementBits();
  auto divides = [&](int64_t distance) {
    while (distance % width != 0)
      width /= 2;
  };
  divides(op.getRowLength());
  for (OperandRange rows : {op.getRows(), op.getRowOuts()})
    for (unsigned i = 0; i < rows.size(); ++i)
      divides(op.getRowStride(rows.getBeginOperandIndex() + i));
  return width;
}

namespace {
/// The fields that a candidate varies, before it is an attribute.
struct Candidate {
  int64_t threadsPerRow;
  int64_t vectorWidth;
  int64_t workgroupsPerRow = 1;
  int64_t columnTile = 0;
  int64_t prefetch = 0;
  int64_t unroll = 1;
  int64_t stages = 0;
  bool reload = false;
  /// Rows side by side that are given up, as halvings, to find room for others.
  int64_t fewerGroups = 0;

  ScheduleAttr get(MLIRContext *context, const ChipInfo &chip) const {
    int64_t computeUnit =
        stages ? stagedComputeUnitThreads : chip.computeUnitThreads;
    int64_t groups = getGroups(chip) >> fewerGroups;
    ScheduleFields fields;
    fields.threadsPerRow = threadsPerRow;
    fields.rowGroups = groups;
    fields.vectorWidth = vectorWidth;
    // Two sets of rows at least: partial sums, which are written and read once
    // a workgroup, have to stay small beside the rows.
    fields.rowsPerWorkgroup = 2 * groups;
    fields.workgroupsPerComputeUnit =
        std::max<int64_t>(1, computeUnit / (threadsPerRow * groups));
    fields.workgroupsPerRow = workgroupsPerRow;
    fields.columnTile = columnTile;
    fields.prefetch = prefetch;
    fields.unroll = unroll;
    fields.stages = stages;
    fields.earlyStart = chip.workgroups.hasEarlyStart;
    fields.reload = reload;
    return fields.get(context);
  }

  /// Rows side by side, a power of two.
  int64_t getGroups(const ChipInfo &chip) const {
    int64_t workgroup = stages ? stagedThreads : chip.workgroupThreads;
    return int64_t(llvm::bit_floor(
        uint64_t(std::max<int64_t>(1, workgroup / threadsPerRow))));
  }
};
} // namespace

/// Workgroups of `schedule` that have registers on a compute unit; a fraction
/// where compute units share them.
static double getResident(RowwiseOp op, ScheduleAttr schedule,
                          const ChipInfo &chip) {
  int64_t registers =
      llvm::alignTo(uint64_t(getResources(op, schedule, chip).registersPerLane +
                             spareRegisters),
                    chip.limits.registerGranule);
  int64_t together = chip.limits.computeUnitsTogether;
  int64_t workgroups = std::min(together * chip.registersPerComputeUnit /
                                    (registers * schedule.getThreads()),
                                together * chip.limits.computeUnitThreads /
                                    schedule.getThreads());
  return double(workgroups) / double(together);
}

/// Bytes of rows that the workgroups on a compute unit have in flight, or on
/// hand, in registers.
static double getBytesInFlight(RowwiseOp op, ScheduleAttr schedule,
                               const ChipInfo &chip) {
  double workgroups = std::min(getResident(op, schedule, chip),
                               double(schedule.getWorkgroupsPerComputeUnit()));
  return workgroups *
         double(schedule.getThreads() * getChunks(op, schedule) *
                schedule.getVectorWidth() * bitsOf(op.getRows()) / 8);
}

/// Whether a schedule for AMD that holds rows in registers has too little in
/// flight.
static bool isStarved(RowwiseOp op, ScheduleAttr schedule,
                      const ChipInfo &chip) {
  return chip.backend == Backend::AMDGPU && !schedule.getReload() &&
         getBytesInFlight(op, schedule, chip) < registerBytesInFlight;
}

/// A starved `schedule` with as many workgroups on a compute unit as it takes,
/// or as there are registers for.
static ScheduleAttr addWorkgroups(RowwiseOp op, ScheduleAttr schedule,
                                  const ChipInfo &chip) {
  while (isStarved(op, schedule, chip) &&
         double(schedule.getWorkgroupsPerComputeUnit()) <
             getResident(op, schedule, chip)) {
    ScheduleFields fields(schedule);
    ++fields.workgroupsPerComputeUnit;
    schedule = fields.get(op.getContext());
  }
  return schedule;
}

/// A staged `schedule` with no more workgroups on a compute unit than have
/// registers there, since those that wait for a place start when the others
/// have ended, and no more than keep the bytes in flight that are best.
static ScheduleAttr fitWorkgroups(RowwiseOp op, ScheduleAttr schedule,
                                  const ChipInfo &chip) {
  if (!schedule.getStages())
    return schedule;
  ScheduleResources resources = getResources(op, schedule, chip);
  int64_t fitting =
      std::min({chip.registersPerComputeUnit /
                    (resources.registersPerLane * resources.threads),
                stagedBytesInFlight / resources.stagingBytes,
                mostPeers / schedule.getWorkgroupsPerRow()});
  ScheduleFields fields(schedule);
  fields.workgroupsPerComputeUnit =
      std::clamp<int64_t>(fitting, 1, schedule.getWorkgroupsPerComputeUnit());
  return fields.get(op.getContext());
}

/// Bytes of partial column sums that are written and read, over those of the
/// rows; 0 where the number of rows is not known.
static double getPartialShare(RowwiseOp op, ScheduleAttr schedule,
                              const ChipInfo &chip) {
  int64_t rows = cast<ShapedType>(op.getRows().front().getType()).getDimSize(0);
  if (ShapedType::isDynamic(rows) || rows == 0 ||
      !schedule.getRowsPerWorkgroup() ||
      !schedule.getWorkgroupsPerComputeUnit())
    return 0;
  int64_t partialRows = std::min(
      llvm::divideCeil(rows, schedule.getRowsPerWorkgroup()),
      llvm::divideCeil(
          uint64_t(chip.computeUnits * schedule.getWorkgroupsPerComputeUnit()),
          schedule.getWorkgroupsPerRow()));
  int64_t rowBits = bitsOf(op.getRows()) + bitsOf(op.getRowOuts());
  return 2.0 * 32 * double(op.getColumnSums().size()) * double(partialRows) /
         (double(rows) * double(rowBits));
}

/// What a schedule costs beside the ideal, 0: idle lanes, lanes with too little
/// or too much to do, an exchange between waves, nothing in flight, partial
/// sums.
static double getCost(RowwiseOp op, ScheduleAttr schedule,
                      const ChipInfo &chip) {
  auto chunks = double(getChunks(op, schedule));
  double idle = chunks * double(schedule.getChunkColumns()) /
                    double(getWorkgroupColumns(op, schedule)) -
                1;
  bool fitsWave = schedule.getThreadsPerRow() <= chip.waveSize;
  // A row within a wave needs no exchange through shared memory; longer ones
  // pay for more lanes with a longer exchange, and where a reduction within the
  // wave takes instructions of its own, each lane should have more to reduce.
  double elements = chunks * double(schedule.getVectorWidth());
  double accesses = elements * op.getRowElementBits() / (accessBytes * 8);
  double fewest = fitsWave ? 1 : 2;
  bool isShared = schedule.getWorkgroupsPerRow() > 1;
  double ratio = std::max(
      {1.0, fewest / accesses,
       fitsWave
           ? elements / double(chip.waveElements)
           : accesses / (chip.backend == Backend::AMDGPU || isShared ? 4 : 2)});
  bool inFlight = schedule.getPrefetch() || schedule.getStages();
  // Sharing a row costs a longer exchange, and gains room for a second row
  // beside it, which halves the barriers. Lanes with rows of float32 have half
  // as much to do between two of those, and did not gain on an H200.
  bool isNarrow = op.getRowElementBits() < 32;
  auto doublings = double(llvm::Log2_64(schedule.getWorkgroupsPerRow()));
  double sharing = (isNarrow ? 0.25 : 0.35) * doublings;
  bool isAlone = isNarrow && schedule.getStages() &&
                 schedule.getRowGroups() == 1 &&
                 schedule.getWorkgroupsPerComputeUnit() == 1;
  double quiet = 0;
  if (schedule.getStages())
    quiet = 1 - std::min(1.0, double(schedule.getWorkgroupsPerComputeUnit() *
                                     schedule.getThreads()) /
                                  double(stagedThreads));
  int64_t exchanged =
      llvm::divideCeil(schedule.getThreadsPerRow(), chip.waveSize) *
      schedule.getWorkgroupsPerRow();
  double longExchange =
      chip.workgroups.clusterWorkgroups > 1 && exchanged > shortExchange
          ? 0.45 * std::log2(double(exchanged) / double(shortExchange))
          : 0;
  double starved = 0;
  if (isStarved(op, schedule, chip))
    starved = double(registerBytesInFlight) /
                  std::max(1.0, getBytesInFlight(op, schedule, chip)) -
              1;
  return starved + idle + 0.25 * (ratio - 1) + (fitsWave ? 0 : 0.1) + sharing +
         longExchange + (isAlone ? 0.3 : 0) + 0.3 * quiet +
         partialWeight * getPartialShare(op, schedule, chip) +
         (inFlight ? 0 : 0.5);
}

/// Whether a row sum is made of another one, so that a row is worked through
/// more than twice. With two stages, the next row is late then.
static bool hasDependentRowSums(RowwiseOp op) {
  DenseSet<Value> behindSum;
  for (Operation &bodyOp : op.getBody().front()) {
    bool depends = llvm::any_of(bodyOp.getOperands(), [&](Value operand) {
      return behindSum.contains(operand);
    });
    bool isSum = bool(getSummedRow(&bodyOp));
    if (isSum && depends)
      return true;
    if (isSum || depends)
      behindSum.insert(bodyOp.result_begin(), bodyOp.result_end());
  }
  return false;
}

/// Bytes of rows that staging keeps in flight on a compute unit.
static int64_t getStagedBytes(RowwiseOp op, ScheduleAttr schedule) {
  return schedule.getWorkgroupsPerComputeUnit() * schedule.getStages() *
         getStageBytes(op, schedule);
}

/// The best way to keep rows in flight for so many lanes a row: staged, with as
/// few stages as keep the memory busy; else prefetched to registers; else
/// neither. Null if the row does not fit the registers at all.
static ScheduleAttr fillCandidate(RowwiseOp op, Candidate candidate,
                                  const ChipInfo &chip, RegisterBound bound,
                                  bool allowRejected) {
  int64_t rowBytes = bitsOf(op.getRows()) * op.getRowLength() / 8;
  auto tryCandidate = [&]() -> ScheduleAttr {
    ScheduleAttr schedule = candidate.get(op.getContext(), chip);
    if (!getObstacle(op, schedule, chip, bound).empty())
      return {};
    schedule = addWorkgroups(op, fitWorkgroups(op, schedule, chip), chip);
    return !allowRejected && isRejected(op, schedule) ? ScheduleAttr()
                                                      : schedule;
  };
  candidate.prefetch = 1;
  if (chip.workgroups.hasBulkCopy && rowBytes >= minStagedBytes) {
    ScheduleAttr best;
    for (; candidate.getGroups(chip) >> candidate.fewerGroups > 0;
         ++candidate.fewerGroups) {
      ScheduleAttr schedule;
      for (candidate.stages = hasDependentRowSums(op) ? maxStages : minStages;
           !schedule && candidate.stages >= minStages; --candidate.stages)
        schedule = tryCandidate();
      candidate.stages = schedule ? schedule.getStages() : minStages;
      // More stages where a few keep too little in flight.
      while (schedule && candidate.stages < maxStages &&
             getStagedBytes(op, schedule) < leastStagedBytes) {
        ++candidate.stages;
        ScheduleAttr more = tryCandidate();
        if (!more)
          break;
        schedule = more;
      }
      // Fewer rows side by side leave room for more workgroups.
      if (schedule &&
          (!best || getCost(op, schedule, chip) < getCost(op, best, chip)))
        best = schedule;
    }
    if (best)
      return best;
  }
  candidate.stages = 0;
  candidate.fewerGroups = 0;
  for (candidate.prefetch = 1; candidate.prefetch >= 0; --candidate.prefetch) {
    // The first that keeps enough in flight, else the first.
    ScheduleAttr first;
    // With all groups of rows side by side, then with half of them.
    for (candidate.fewerGroups = 0;
         candidate.fewerGroups <= 1 &&
         candidate.getGroups(chip) >> candidate.fewerGroups > 0;
         ++candidate.fewerGroups) {
      for (candidate.unroll = candidate.prefetch ? chip.prefetchUnroll : 1;
           candidate.unroll >= 1; --candidate.unroll)
        if (ScheduleAttr schedule = tryCandidate()) {
          if (!isStarved(op, schedule, chip))
            return schedule;
          if (!first)
            first = schedule;
        }
    }
    if (first)
      return first;
  }
  return {};
}

ScheduleAttr lnbwd::chooseSchedule(RowwiseOp op, const ChipInfo &chip,
                                   bool allowRejected) {
  MLIRContext *context = op.getContext();
  int64_t length = op.getRowLength();
  int64_t width = chooseVectorWidth(op);

  // Without row sums, workgroups can share a row between them.
  if (!op.hasRowSums() && op.getScalarOuts().empty() &&
      length > chip.waveSize * width) {
    Candidate tile{chip.waveSize, width};
    tile.columnTile = chip.waveSize * width;
    tile.unroll = independentRows;
    return tile.get(context, chip);
  }

  // Lanes a row: powers of two up to a wave, then multiples of it.
  ScheduleAttr best;
  double bestCost = 0;
  auto consider = [&](int64_t threadsPerRow, int64_t workgroupsPerRow,
                      RegisterBound bound) {
    ScheduleAttr schedule =
        fillCandidate(op, Candidate{threadsPerRow, width, workgroupsPerRow},
                      chip, bound, allowRejected);
    if (!schedule)
      return;
    double cost = getCost(op, schedule, chip);
    if (!best || cost < bestCost) {
      best = schedule;
      bestCost = cost;
    }
  };
  auto considerAll = [&](RegisterBound bound) {
    for (int64_t threads = 1; threads <= chip.waveSize; threads *= 2)
      consider(threads, 1, bound);
    // Without column sums, what is shared gains nothing but room.
    for (int64_t split = 1; split <= chip.workgroups.clusterWorkgroups &&
                            (!best || !op.getColumnSums().empty());
         split *= 2)
      for (int64_t threads = 2 * chip.waveSize;
           threads <= chip.maxThreadsPerWorkgroup; threads += chip.waveSize)
        consider(threads, split, bound);
  };
  considerAll(RegisterBound::Estimate);
  // Two passes read everything twice. AMD's objects always say whether a hope
  // was in vain.
  if (!best && !op.getColumnSums().empty() && chip.backend == Backend::AMDGPU)
    considerAll(RegisterBound::Hope);
  if (best || !op.getColumnSums().empty())
    return best;

  // Rows too long for the registers of a workgroup are read once a phase.
  Candidate reload{chip.maxThreadsPerWorkgroup, width};
  reload.reload = true;
  ScheduleAttr schedule = reload.get(context, chip);
  return getObstacle(op, schedule, chip, RegisterBound::Estimate).empty()
             ? schedule
             : ScheduleAttr();
}

ScheduleAttr lnbwd::chooseFinalizeSchedule(RowwiseOp op, ScheduleAttr summed,
                                           const ChipInfo &chip) {
  ScheduleFields fields;
  fields.vectorWidth = chooseVectorWidth(op);
  fields.threadsPerRow = finalizeColumns / fields.vectorWidth;
  fields.columnTile = finalizeColumns;
  fields.earlyStart = chip.workgroups.hasEarlyStart;
  // As many groups as take all partial rows of the chip's usual number of
  // compute units in one turn.
  int64_t partialRows = std::max<int64_t>(
      1, chip.computeUnits * summed.getWorkgroupsPerComputeUnit() /
             summed.getWorkgroupsPerRow());
  int64_t mostGroups = finalizeThreads / fields.threadsPerRow;
  fields.unroll = independentRows;
  if (!summed.getWorkgroupsPerComputeUnit() ||
      partialRows > mostGroups * fields.unroll)
    fields.unroll *= 2;
  int64_t groups = mostGroups;
  if (summed.getWorkgroupsPerComputeUnit())
    groups = llvm::alignTo(
        llvm::divideCeil(partialRows, fields.unroll),
        std::max<int64_t>(1, chip.waveSize / fields.threadsPerRow));
  fields.rowGroups =
      std::clamp(groups, minFinalizeThreads / fields.threadsPerRow,
                 std::min(2 * mostGroups,
                          chip.maxThreadsPerWorkgroup / fields.threadsPerRow));
  // What spills holds fewer rows at once.
  while (fields.unroll > 1 && isRejected(op, fields.get(op.getContext())))
    fields.unroll /= 2;
  return fields.get(op.getContext());
}

FailureOr<ScheduleAttr>
lnbwd::overrideSchedule(ScheduleAttr schedule, StringRef overrides,
                        function_ref<InFlightDiagnostic()> emitError) {
  ScheduleFields fields(schedule);
  auto named = fields.getNamed();
  bool setThreads = false, setRows = false, setGroups = false,
       setPrefetch = false, setUnroll = false;
  SmallVector<StringRef> assignments;
  overrides.split(assignments, ',', -1, /*KeepEmpty=*/false);
  for (StringRef assignment : assignments) {
    auto [name, text] = assignment.trim().split('=');
    const auto *field =
        llvm::find_if(named, [&, name = name](const auto &entry) {
          return entry.first == name;
        });
    if (field == named.end()) {
      InFlightDiagnostic diag = emitError() << "unknown schedule field '"
                                            << name << "', expected one of: ";
      llvm::interleaveComma(llvm::make_first_range(named), diag);
      return diag;
    }
    if (text.getAsInteger(10, *field->second))
      return emitError() << "expected schedule field '" << name
                         << "' to be a whole number, got '" << text << "'";
    setThreads |= name == "threads_per_row";
    setRows |= name == "rows_per_workgroup";
    setGroups |= name == "row_groups";
    setPrefetch |= name == "prefetch";
    setUnroll |= name == "unroll";
  }
  // Fields that nobody set follow the ones that somebody did.
  if (setThreads && !setGroups && fields.threadsPerRow > 0)
    fields.rowGroups = int64_t(llvm::bit_floor(uint64_t(
        std::max<int64_t>(1, schedule.getThreads() / fields.threadsPerRow))));
  if ((setThreads || setGroups) && !setRows && fields.rowsPerWorkgroup)
    fields.rowsPerWorkgroup =
        std::max(fields.rowsPerWorkgroup, fields.rowGroups);
  if (fields.reload && !setPrefetch)
    fields.prefetch = 0;
  if (!setUnroll && (fields.prefetch != schedule.getPrefetch() ||
                     fields.stages || fields.reload))
    fields.unroll = 1;
  if (fields.columnTile && fields.columnTile == schedule.getColumnTile() &&
      fields.threadsPerRow > 0 && fields.vectorWidth > 0)
    fields.columnTile = fields.threadsPerRow * fields.vectorWidth;
  for (auto [name, flag] :
       {std::pair<StringRef, int64_t>("reload", fields.reload),
        std::pair<StringRef, int64_t>("early_start", fields.earlyStart)})
    if (flag != 0 && flag != 1)
      return emitError() << "expected schedule field '" << name
                         << "' to be 0 or 1, got " << flag;
  ScheduleAttr result = fields.getChecked(emitError, schedule.getContext());
  if (!result)
    return failure();
  return result;
}
