//===- ScheduleLegality.cpp - What forbids a schedule ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules that a schedule has to keep on a chip, for a program, in the order
// of its fields: each is a condition and the sentence to say where it does not
// hold. What a field may be on any chip, for any program, the attribute's
// verifier has checked before.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Analysis/RowAccess.h"
#include "lnbwd/Analysis/ScheduleCandidates.h"
#include "lnbwd/Analysis/ScheduleLimits.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

/// Slices of a row, at most: what is added up anew in each column tile.
static constexpr int64_t mostRowSplits = 64;
/// Workgroups that a grid can have in its second dimension.
static constexpr int64_t maxColumnTiles = 65535;

namespace {
/// The first rule that a schedule breaks is its obstacle.
struct Rules {
  void checkLanes();
  void checkLanesAcross();
  void checkGrid();
  void checkStages();
  void checkSplits();
  void checkOrderOfRowSums();
  void checkOrderOfColumnSums();
  void checkResources();

  template <typename... Args>
  void expect(bool holds, const char *sentence, const Args &...args) {
    if (!holds && obstacle.empty())
      obstacle = llvm::formatv(sentence, args...).str();
  }

  RowwiseOp op;
  const Schedule &schedule;
  const ChipInfo &chip;
  int64_t length = op.getRowLength(), width = schedule.vectorWidth;
  int64_t threads = schedule.threadsPerRow;
  int64_t groups = schedule.rowGroups;
  int64_t workgroups = schedule.workgroupsPerRow;
  std::string obstacle = {};
};
} // namespace

void Rules::checkLanes() {
  expect((threads <= chip.waveSize && llvm::isPowerOf2_64(threads)) ||
             threads % chip.waveSize == 0,
         "expected {3} to be a power of two up to the wave size of {0}, {1}, "
         "or a multiple of it, got {2}",
         chip.name, chip.waveSize, threads, field::threadsPerRow);
  // Lanes of a wave take the largest of a block: of one access, or where its
  // elements lie apart, of all that a lane has. (Sizes are powers of two: an
  // access has whole blocks or is within one.)
  for (BlockMaxOp blocks : op.getBody().getOps<BlockMaxOp>()) {
    int64_t span = blocks.getSpan(), stride = int64_t(blocks.getStride());
    int64_t access = threads * width;
    int64_t inAccess = stride == 1 ? span : std::min(span, access);
    bool isApartWhole =
        stride == 1 || (stride % width == 0 && llvm::isPowerOf2_64(threads) &&
                        !schedule.reload);
    expect(isApartWhole && inAccess <= chip.waveSize * width &&
               access % inAccess == 0 &&
               getWorkgroupColumns(op, schedule) %
                       (stride == 1 ? span : std::max(span, access)) ==
                   0,
           "expected {4} times {5} to be a multiple of a block of {0}, and a "
           "block to be that of at most {1} work-items, got {2} times {3}",
           inAccess, chip.waveSize, threads, width, field::threadsPerRow,
           field::vectorWidth);
  }
  expect(schedule.getThreads() <= chip.maxThreadsPerWorkgroup,
         "expected at most {0} threads in a workgroup on {1}, got {3} * {4} = "
         "{2}; lower one of them",
         chip.maxThreadsPerWorkgroup, chip.name, schedule.getThreads(),
         field::threadsPerRow, field::rowGroups);
  bool isWhole = length % width == 0;
  int64_t bits = op.getRowElementBits();
  expect(isWhole || (canAlignRows(op, chip) && !schedule.reload &&
                     !schedule.rowSplits),
         "expected {2} to divide the row length, {0}, got {1}", length, width,
         field::vectorWidth);
  expect(width * bits / 8 <= accessBytes,
         "expected accesses of at most {0} bytes, got {4} {1} of {2}-bit "
         "elements: {3} bytes",
         accessBytes, width, bits, width * bits / 8, field::vectorWidth);
  for (unsigned operand : getRowOperands(op))
    if (isWhole && op.getForm(operand).isPlain())
      expect(op.getForm(operand).getRowStride() % width == 0,
             "expected {2} to divide the distance between rows, {0}, got {1}",
             op.getForm(operand).getRowStride(), width, field::vectorWidth);
}

void Rules::checkLanesAcross() {
  if (!schedule.lanesAcross)
    return;
  expect(
      mayTakeLanesAcross(op),
      "expected {0} to be unset: most rows of the program do not have their "
      "neighbours' elements beside theirs in memory, or block maxima or sums "
      "in the canonical order take lanes along the row",
      field::lanesAcross);
  expect(workgroups <= threads,
         "expected at least as many lanes of a row as workgroups where {0} is "
         "set: a lane sends to each of {1}, got {2}; raise {3}",
         field::lanesAcross, workgroups, threads, field::threadsPerRow);
}

void Rules::checkGrid() {
  int64_t rows = schedule.rowsPerWorkgroup;
  expect(!rows || rows >= groups,
         "expected {2} to be 0 or at least {3}, {0}, got {1}", groups, rows,
         field::rowsPerWorkgroup, field::rowGroups);
  expect(workgroups <= chip.workgroups.clusterWorkgroups,
         "expected {3} of at most {0} on {1}, got {2}",
         chip.workgroups.clusterWorkgroups, chip.name, workgroups,
         field::workgroupsPerRow);
  expect(workgroups == 1 || schedule.lanesAcross ||
             threads % chip.waveSize == 0,
         "expected {3} to be a multiple of the wave size of {0}, {1}, where "
         "{4} is above 1, got {2}",
         chip.name, chip.waveSize, threads, field::threadsPerRow,
         field::workgroupsPerRow);
  int64_t columns = getWorkgroupColumns(op, schedule);
  expect(workgroups == 1 || (workgroups - 1) * columns < length,
         "expected each of the {0} workgroups of a row to have some of its {1} "
         "columns, got {2} for each but the last; lower {3}",
         workgroups, length, columns, field::workgroupsPerRow);
  int64_t tile = schedule.columnTile;
  int64_t tiles = tile ? llvm::divideCeil(length, tile) : 1;
  expect(!tile || !keepsRowSums(op, schedule) || op.hasSplitScalarOuts(),
         "expected {0} 0: a row sum needs the whole row in one workgroup; set "
         "{1} to have row sums computed before",
         field::columnTile, field::rowSplits);
  expect(tiles <= maxColumnTiles,
         "expected at most {0} column tiles, got row length {1} in tiles of "
         "{2}; raise {3}",
         maxColumnTiles, length, tile, field::columnTile);
  expect(!schedule.mostRegisters || chip.backend == Backend::NVPTX,
         "expected {0} 0 on {1}, got {2}", field::mostRegisters, chip.name,
         schedule.mostRegisters);
  expect(!schedule.dependentLaunch || chip.workgroups.hasDependentLaunch,
         "expected {0} to be unset on {1}, which starts a kernel when the one "
         "before it has ended",
         field::dependentLaunch, chip.name);
  expect(
      !schedule.reload || (op.getAllSums().empty() && !schedule.columnTile),
      "expected {0} to be unset: column sums and column tiles need their "
      "columns to stay with a lane; split the program into two passes to {0}",
      field::reload);
  expect(!schedule.sumBlock ||
             (!op.getAllSums().empty() && !op.takesMaxima() &&
              !schedule.takesOneTile(int64_t(op.getFixedWorkgroups()))),
         "expected {0} 0: no lane adds up column sums of several iterations",
         field::sumBlock);
  if (!op.hasSplitScalarOuts())
    return;
  OperandRange outs = op.getScalarOuts();
  for (unsigned i = 0; i < outs.size(); ++i) {
    unsigned index = outs.getBeginOperandIndex() + i;
    expect(op.getForm(index).getParts() == tiles,
           "expected as many column tiles as the row scalar '{0}' has parts, "
           "{1}, got {2}",
           op.getOperandName(index),
           std::max<int64_t>(1, op.getForm(index).getParts()), tiles);
  }
}

void Rules::checkStages() {
  expect(schedule.unroll == 1 || schedule.prefetch ||
             !keepsRowSums(op, schedule),
         "expected {1} 1 where {2} is above 1 and the program has row sums, "
         "got {2} {0}",
         schedule.unroll, field::prefetch, field::unroll);
  if (!schedule.stages)
    return;
  expect(chip.workgroups.hasBulkCopy,
         "expected {1} 0 on {0}, which has no asynchronous bulk copies",
         chip.name, field::stages);
  bool areRowsAligned = true, areRowsTogether = false;
  for (unsigned operand : getRowOperands(op)) {
    if (!op.getForm(operand).isPlain())
      continue;
    areRowsTogether |= operand < op.getRows().size();
    auto type = cast<ShapedType>(op->getOperand(operand).getType());
    int64_t rowBytes =
        op.getForm(operand).getRowStride() * type.getElementTypeBitWidth() / 8;
    areRowsAligned &= rowBytes % bulkCopyUnit == 0;
    expect(op.getForm(operand).getRowStride() == length,
           "expected {0} 0 for rows that lie apart: a bulk copy takes "
           "neighbouring rows",
           field::stages);
    expect(rowBytes % bulkCopyUnit == 0 || !op.hasGroups(),
           "expected {2} 0 for groups of rows of {0} bytes: a bulk copy begins "
           "at a multiple of {1}, and not every group does",
           rowBytes, bulkCopyUnit, field::stages);
  }
  expect(areRowsTogether,
         "expected {0} 0 for a program that reads no rows that lie together: a "
         "bulk copy takes neighbouring rows",
         field::stages);
  if (!needsShift(op, schedule))
    return;
  // Rows that all begin where a copy can are shared out where one can.
  expect(workgroups == 1 || !areRowsAligned,
         "expected each workgroup's part of a row to be a multiple of {0} "
         "bytes where {3} is set, got row length {1} over {2} workgroups; "
         "lower {4}, or set {3} to 0",
         bulkCopyUnit, length, workgroups, field::stages,
         field::workgroupsPerRow);
  // A copy that ends after its tile ends within the row that follows.
  expect(length * op.getRowElementBits() / 8 >= 2 * bulkCopyUnit,
         "expected rows of at least {0} bytes where {2} is set, got row length "
         "{1}",
         2 * bulkCopyUnit, length, field::stages);
}

void Rules::checkSplits() {
  int64_t splits = schedule.rowSplits;
  if (!splits)
    return;
  expect(op.hasRowSums() && !op.hasSplitScalarOuts(),
         "expected {0} 0: the program has no row sums that could be computed "
         "before",
         field::rowSplits);
  expect(llvm::none_of(op.getBody().front(),
                       [](Operation &bodyOp) { return isRowMaximum(&bodyOp); }),
         "expected {0} 0: the program takes a row's largest element, and only "
         "sums can be split",
         field::rowSplits);
  expect(!op.getRows().empty() &&
             (op.getTables().empty() ||
              llvm::is_contained(op.getRows(), op.getRowBlock())),
         "expected {0} 0 for a program that reads no row block",
         field::rowSplits);
  expect(!op.getOwnRows(),
         "expected {0} 0 for a program whose rows no launch chooses",
         field::rowSplits);
  expect(splits <= mostRowSplits, "expected {2} of at most {0}, got {1}",
         mostRowSplits, splits, field::rowSplits);
  expect(getSplitSchedule(op, splits, chip).has_value(),
         "expected splits of a row length of {0} that a workgroup can hold and "
         "that all have some of its columns, got {2} {1}; try another number "
         "of them",
         length, splits, field::rowSplits);
}

void Rules::checkOrderOfRowSums() {
  int64_t slice = getSliceColumns(length);
  int64_t widest = chooseVectorWidth(op);
  bool isSliced = length > slice;
  bool hasManyAccesses =
      isSliced ? slice > threads * widest : getChunks(op, schedule) > 1;
  expect(!schedule.reload,
         "order=canonical: expected {0} to be unset: the elements of a row are "
         "added by halves, which takes all of them at once; rows of this "
         "length have no such schedule if they do not fit the registers",
         field::reload);
  expect(width == widest, "order=canonical: expected {2} {0}, got {1}", widest,
         width, field::vectorWidth);
  expect(!hasManyAccesses || llvm::isPowerOf2_64(uint64_t(threads)),
         "order=canonical: expected {1} to be a power of two where a lane has "
         "several accesses of a slice, got {0}",
         threads, field::threadsPerRow);
  // Wider rows exchange across the rows of DPP, so waves must be full.
  expect(threads <= dppRowLanes || schedule.getThreads() >= chip.waveSize,
         "order=canonical: expected whole waves where a row has more than {0} "
         "lanes, got {1} work-items",
         dppRowLanes, schedule.getThreads());
  expect(!isSliced || slice % (threads * widest) == 0,
         "order=canonical: expected {2} to divide the {0} accesses of a slice, "
         "got {1}",
         slice / widest, threads, field::threadsPerRow);
}

void Rules::checkOrderOfColumnSums() {
  bool isTree = op.getLeaves().has_value();
  int64_t chains = getLeafChains(length), rows = schedule.rowsPerWorkgroup;
  // Numbers of partial sums that no launch counts.
  bool isWhole = op.hasGroups() || op.getOwnRows();
  // A workgroup that has all rows of its columns has several leaves at once.
  if (!isTree && !isWhole && !rows && schedule.columnTile) {
    expect(groups % chains == 0 && llvm::isPowerOf2_64(uint64_t(groups)),
           "order=canonical: expected {0} to be {1} times a power of two where "
           "a workgroup has all rows of {2} columns, got {3}",
           field::rowGroups, chains, length, groups);
    rows = getLeafRows(length);
    groups = chains;
  }
  expect(isTree || !op.hasGroups() || op.getColumnSums().empty(),
         "order=canonical: expected no column sums beside groups of rows: "
         "their tree would depend on the number of groups");
  expect(
      isTree ||
          (isWhole ? groups == chains
                   : groups <= chains && llvm::isPowerOf2_64(uint64_t(groups))),
      "order=canonical: expected {4} {0}{1} for rows of {2} columns, got {3}",
      isWhole ? "" : "to be a power of two, at most ", chains, length, groups,
      field::rowGroups);
  expect(!schedule.sumBlock,
         "order=canonical: expected {0} 0: rows are added up in leaves",
         field::sumBlock);
  int64_t radix = Schedule().combineRadix;
  expect(schedule.combineRadix == radix,
         "order=canonical: expected {0} {1}, got {2}", field::combineRadix,
         radix, schedule.combineRadix);
  int64_t expected = isTree ? 0 : getLeastLeafRows(length, groups);
  int64_t leaf = getLeafRows(length);
  // A workgroup with all chains may add up neighbouring leaves.
  bool mayBeMore = expected == leaf && !isWhole;
  expect(
      rows == expected || (mayBeMore && rows % leaf == 0 &&
                           llvm::isPowerOf2_64(uint64_t(rows / leaf))),
      "order=canonical: expected {3} {0}{4} for rows of {1} columns, got {2}",
      expected, length, rows, field::rowsPerWorkgroup,
      mayBeMore ? " times a power of two" : "");
}

void Rules::checkResources() {
  ScheduleResources resources = getResources(op, schedule, chip);
  int64_t registers = getRegisterLimit(resources.threads, chip);
  expect(resources.leastRegistersPerLane <= registers,
         "row length {0} is too large for this schedule: it needs at least {1} "
         "registers a lane, and {2} has {3} for workgroups of {4} threads; "
         "raise {5}, or split the program into two passes",
         length, resources.leastRegistersPerLane, chip.name, registers,
         resources.threads, field::threadsPerRow);
  auto expectShared = [&](int64_t needed, int64_t most, StringRef orStages) {
    expect(needed <= most,
           "this schedule needs {0} bytes of shared memory, and {1} has {2} "
           "for a workgroup; lower {3}{4}",
           needed, chip.name, most, orStages, field::rowGroups);
  };
  if (resources.stagingBytes)
    expectShared(resources.sharedMemoryBytes + resources.stagingBytes,
                 chip.dynamicSharedMemoryBytes,
                 (field::stages + Twine(" or ")).str());
  expectShared(resources.sharedMemoryBytes, chip.sharedMemoryBytes, "");
}

std::string lnbwd::getObstacle(RowwiseOp op, const Schedule &schedule,
                               const ChipInfo &chip) {
  Rules rules{op, schedule, chip};
  rules.checkLanes();
  rules.checkLanesAcross();
  rules.checkGrid();
  rules.checkStages();
  rules.checkSplits();
  if (!rules.obstacle.empty())
    return rules.obstacle;
  if (op.getCanonical() && keepsRowSums(op, schedule))
    rules.checkOrderOfRowSums();
  if (hasLeaves(op))
    rules.checkOrderOfColumnSums();
  rules.checkResources();
  return rules.obstacle;
}

LogicalResult
lnbwd::checkSchedule(RowwiseOp op, const Schedule &schedule,
                     const ChipInfo &chip,
                     function_ref<InFlightDiagnostic()> emitError) {
  std::string obstacle = getObstacle(op, schedule, chip);
  return obstacle.empty() ? success() : LogicalResult(emitError() << obstacle);
}
