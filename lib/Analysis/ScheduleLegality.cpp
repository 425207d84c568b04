//===- ScheduleLegality.cpp - What forbids a schedule ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each field that LNBwdSchedule.td says has limits (hasLegalityCheck) a
// function that says which of them a schedule breaks. What a field may be on
// any chip, for any program, the attribute's verifier has checked before.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ScheduleLegality.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Analysis/RowSplits.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdProduct.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace lnbwd;

/// Slices of a row, at most: what is added up anew in each column tile.
static constexpr int64_t mostRowSplits = 64;
/// Workgroups that a grid can have in its second dimension.
static constexpr int64_t maxColumnTiles = 65535;

namespace {
/// The checks of one schedule. Each writes to `os` why the field cannot be what
/// it is, or nothing.
class LegalityChecks {
public:
  LegalityChecks(RowwiseOp op, ScheduleAttr schedule, const ChipInfo &chip,
                 llvm::raw_string_ostream &os)
      : op(op), schedule(schedule), chip(chip), os(os),
        length(op.getRowLength()) {}

#define LNBWD_SCHEDULE_CHECK(Name) void check##Name();
#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h.inc"
#undef LNBWD_SCHEDULE_CHECK
  void checkResources();

private:
  /// Calls `visit` with each row block's number among the operands, its type
  /// and the elements between its rows, until something was found.
  void forEachRowBlock(function_ref<void(unsigned, ShapedType, int64_t)> visit);

  RowwiseOp op;
  ScheduleAttr schedule;
  const ChipInfo &chip;
  llvm::raw_string_ostream &os;
  int64_t length;
};
} // namespace

void LegalityChecks::forEachRowBlock(
    function_ref<void(unsigned, ShapedType, int64_t)> visit) {
  uint64_t before = os.tell();
  for (OperandRange rows : {op.getRows(), op.getRowOuts()})
    for (auto [index, value] : llvm::enumerate(rows)) {
      unsigned operand = rows.getBeginOperandIndex() + unsigned(index);
      visit(operand, cast<ShapedType>(value.getType()),
            op.getRowStride(operand));
      if (os.tell() != before)
        return;
    }
}

void LegalityChecks::checkThreadsPerRow() {
  int64_t threads = schedule.getThreadsPerRow();
  bool fitsWave = threads <= chip.waveSize && llvm::isPowerOf2_64(threads);
  if (!fitsWave && threads % chip.waveSize != 0)
    os << "expected " << field::threadsPerRow
       << " to be a power of two up to the wave size of " << chip.name << ", "
       << chip.waveSize << ", or a multiple of it, got " << threads;
  // Lanes of a wave take the largest of a block: of one access, or where its
  // elements lie apart, of all that a lane has. (Sizes are powers of two: an
  // access has whole blocks or is within one.)
  for (BlockMaxOp blocks : op.getBody().getOps<BlockMaxOp>()) {
    int64_t span = blocks.getSpan(), stride = int64_t(blocks.getStride());
    int64_t width = schedule.getVectorWidth(), access = threads * width;
    int64_t inAccess = stride == 1 ? span : std::min(span, access);
    bool isApartWhole =
        stride == 1 || (stride % width == 0 && llvm::isPowerOf2_64(threads) &&
                        !schedule.getReload());
    if (os.str().empty() &&
        (!isApartWhole || inAccess > chip.waveSize * width ||
         access % inAccess != 0 ||
         getWorkgroupColumns(op, schedule) %
                 (stride == 1 ? span : std::max(span, access)) !=
             0))
      os << "expected " << field::threadsPerRow << " times "
         << field::vectorWidth << " to be a multiple of a block of " << inAccess
         << ", and a block to be that of at most " << chip.waveSize
         << " work-items, got " << threads << " times " << width;
  }
}

void LegalityChecks::checkRowGroups() {
  if (schedule.getThreads() > chip.maxThreadsPerWorkgroup)
    os << "expected at most " << chip.maxThreadsPerWorkgroup
       << " threads in a workgroup on " << chip.name << ", got "
       << field::threadsPerRow << " * " << field::rowGroups << " = "
       << schedule.getThreads() << "; lower one of them";
}

void LegalityChecks::checkVectorWidth() {
  int64_t width = schedule.getVectorWidth();
  int64_t bytes = width * op.getRowElementBits() / 8;
  bool isAligned = length % width != 0;
  if (isAligned && (!canAlignRows(op) || schedule.getReload()))
    os << "expected " << field::vectorWidth << " to divide the row length, "
       << length << ", got " << width;
  else if (bytes > accessBytes)
    os << "expected accesses of at most " << accessBytes << " bytes, got "
       << field::vectorWidth << " " << width << " of " << op.getRowElementBits()
       << "-bit elements: " << bytes << " bytes";
  else
    forEachRowBlock([&](unsigned operand, ShapedType, int64_t stride) {
      // What is no row in memory takes accesses of its own.
      if (op.getPlace(operand).isPlain() && stride % width != 0 && !isAligned)
        os << "expected " << field::vectorWidth
           << " to divide the distance between rows, " << stride << ", got "
           << width;
    });
}

void LegalityChecks::checkRowsPerWorkgroup() {
  int64_t rows = schedule.getRowsPerWorkgroup();
  if (rows && rows < schedule.getRowGroups())
    os << "expected " << field::rowsPerWorkgroup << " to be 0 or at least "
       << field::rowGroups << ", " << schedule.getRowGroups() << ", got "
       << rows;
}

void LegalityChecks::checkWorkgroupsPerRow() {
  int64_t workgroups = schedule.getWorkgroupsPerRow();
  if (workgroups > chip.workgroups.clusterWorkgroups)
    os << "expected " << field::workgroupsPerRow << " of at most "
       << chip.workgroups.clusterWorkgroups << " on " << chip.name << ", got "
       << workgroups;
  else if (workgroups > 1 && schedule.getThreadsPerRow() % chip.waveSize != 0)
    os << "expected " << field::threadsPerRow
       << " to be a multiple of the wave size of " << chip.name << ", "
       << chip.waveSize << ", where " << field::workgroupsPerRow
       << " is above 1, got " << schedule.getThreadsPerRow();
  else if (int64_t columns = getWorkgroupColumns(op, schedule);
           workgroups > 1 && (workgroups - 1) * columns >= length)
    os << "expected each of the " << workgroups
       << " workgroups of a row to have some of its " << length
       << " columns, got " << columns << " for each but the last; lower "
       << field::workgroupsPerRow;
}

void LegalityChecks::checkColumnTile() {
  int64_t tile = schedule.getColumnTile();
  bool isSplit = op.hasSplitScalarOuts();
  if (tile && keepsRowSums(op, schedule) && !isSplit)
    os << "expected " << field::columnTile
       << " 0: a row sum needs the whole row in one workgroup; set "
       << field::rowSplits << " to have row sums computed before";
  else if (tile && llvm::divideCeil(length, tile) > maxColumnTiles)
    os << "expected at most " << maxColumnTiles
       << " column tiles, got row length " << length << " in tiles of " << tile
       << "; raise " << field::columnTile;
  if (!isSplit || !os.str().empty())
    return;
  int64_t tiles = tile ? llvm::divideCeil(length, tile) : 1;
  OperandRange outs = op.getScalarOuts();
  for (unsigned i = 0; i < outs.size() && os.str().empty(); ++i) {
    unsigned index = outs.getBeginOperandIndex() + i;
    if (int64_t parts = op.getScalarSplits(index); parts != tiles)
      os << "expected as many column tiles as the row scalar '"
         << op.getOperandName(index) << "' has parts, "
         << std::max<int64_t>(1, parts) << ", got " << tiles;
  }
}

void LegalityChecks::checkRowSplits() {
  int64_t splits = schedule.getRowSplits();
  if (!splits)
    return;
  if (!op.hasRowSums() || op.hasSplitScalarOuts())
    os << "expected " << field::rowSplits
       << " 0: the program has no row sums that could be computed before";
  else if (llvm::any_of(op.getBody().front(), [](Operation &bodyOp) {
             return isRowMaximum(&bodyOp);
           }))
    os << "expected " << field::rowSplits
       << " 0: the program takes a row's largest element, and only sums can be "
          "split";
  else if (op.getRows().empty() ||
           (!op.getTables().empty() &&
            !llvm::is_contained(op.getRows(), op.getRowBlock())))
    os << "expected " << field::rowSplits
       << " 0 for a program that reads no row block";
  else if (hasOwnRows(op))
    os << "expected " << field::rowSplits
       << " 0 for a program whose rows no launch chooses";
  else if (splits > mostRowSplits)
    os << "expected " << field::rowSplits << " of at most " << mostRowSplits
       << ", got " << splits;
  else if (!getSplitSchedule(op, splits, chip))
    os << "expected splits of a row length of " << length
       << " that a workgroup can hold and that all have some of its columns, "
          "got "
       << field::rowSplits << " " << splits << "; try another number of them";
}

void LegalityChecks::checkUnroll() {
  if (schedule.getUnroll() > 1 && !schedule.getPrefetch() &&
      keepsRowSums(op, schedule))
    os << "expected " << field::prefetch << " 1 where " << field::unroll
       << " is above 1 and the program has row sums, got " << field::unroll
       << " " << schedule.getUnroll();
}

void LegalityChecks::checkStages() {
  if (!schedule.getStages())
    return;
  if (!chip.workgroups.hasBulkCopy) {
    os << "expected " << field::stages << " 0 on " << chip.name
       << ", which has no asynchronous bulk copies";
    return;
  }
  uint64_t before = os.tell();
  int64_t workgroups = schedule.getWorkgroupsPerRow();
  bool areRowsAligned = true;
  forEachRowBlock([&](unsigned operand, ShapedType type, int64_t stride) {
    // A view is loaded as it is.
    if (!op.getPlace(operand).isPlain())
      return;
    int64_t rowBytes = stride * type.getElementTypeBitWidth() / 8;
    if (stride != length)
      os << "expected " << field::stages
         << " 0 for rows that lie apart: a bulk copy takes neighbouring rows";
    else if (op.hasGroups() && rowBytes % bulkCopyUnit != 0)
      os << "expected " << field::stages << " 0 for groups of rows of "
         << rowBytes << " bytes: a bulk copy begins at a multiple of "
         << bulkCopyUnit << ", and not every group does";
    areRowsAligned &= rowBytes % bulkCopyUnit == 0;
  });
  if (os.tell() != before || !needsShift(op, schedule))
    return;
  // Rows that all begin where a copy can are shared out where one can.
  if (workgroups > 1 && areRowsAligned)
    os << "expected each workgroup's part of a row to be a multiple of "
       << bulkCopyUnit << " bytes where " << field::stages
       << " is set, got row length " << length << " over " << workgroups
       << " workgroups; lower " << field::workgroupsPerRow << ", or set "
       << field::stages << " to 0";
  // A copy that ends after its tile ends within the row that follows.
  else if (length * op.getRowElementBits() / 8 < 2 * bulkCopyUnit)
    os << "expected rows of at least " << 2 * bulkCopyUnit << " bytes where "
       << field::stages << " is set, got row length " << length;
}

void LegalityChecks::checkDependentLaunch() {
  if (schedule.getDependentLaunch() && !chip.workgroups.hasDependentLaunch)
    os << "expected " << field::dependentLaunch << " to be unset on "
       << chip.name
       << ", which starts a kernel when the one before it has ended";
}

/// The kernel after one that writes split row sums loads rows before it
/// waits: all that is before this one has to be done when it starts.
void LegalityChecks::checkEarlyTrigger() {
  if (!schedule.getEarlyTrigger())
    return;
  if (!chip.workgroups.hasDependentLaunch)
    os << "expected " << field::earlyTrigger << " to be unset on " << chip.name
       << ", which starts a kernel when the one before it has ended";
  else if (op.hasSplitScalarOuts())
    os << "expected " << field::earlyTrigger
       << " to be unset for a program that writes split row sums: the "
          "kernel "
          "after it reads rows as soon as it starts, and what is before both "
          "may write them";
}

void LegalityChecks::checkReload() {
  if (schedule.getReload() &&
      (!op.getAllSums().empty() || schedule.getColumnTile()))
    os << "expected " << field::reload
       << " to be unset: column sums and column tiles need their columns to "
          "stay with a lane; split the program into two passes to reload";
}

/// Lanes beyond these are swapped by rows of a wave, all of which are there.
static constexpr int64_t dppRowLanes = 16;

static void checkRowSums(RowwiseOp op, ScheduleAttr schedule,
                         const ChipInfo &chip, llvm::raw_string_ostream &os) {
  int64_t length = op.getRowLength(), lanes = schedule.getThreadsPerRow();
  int64_t width = chooseVectorWidth(op);
  int64_t slice = getSliceColumns(length);
  bool isSliced = length > slice;
  bool hasManyAccesses =
      isSliced ? slice > lanes * width : getChunks(op, schedule) > 1;
  if (int64_t splits = schedule.getRowSplits()) {
    int64_t tile = getSplitSchedule(op, splits, chip).getColumnTile();
    if (tile % slice != 0 || !llvm::isPowerOf2_64(uint64_t(tile / slice)))
      os << "expected " << field::rowSplits << " of whole slices of " << slice
         << " columns, a power of two, got splits of " << tile;
  } else if (schedule.getReload())
    os << "expected " << field::reload
       << " to be unset: the elements of a row are added by halves, which "
          "takes "
          "all of them at once; rows of this length have no such schedule if "
          "they do not fit the registers";
  else if (schedule.getVectorWidth() != width)
    os << "expected " << field::vectorWidth << " " << width << ", got "
       << schedule.getVectorWidth();
  else if (hasManyAccesses && !llvm::isPowerOf2_64(uint64_t(lanes)))
    os << "expected " << field::threadsPerRow
       << " to be a power of two where a lane has several accesses of a slice, "
          "got "
       << lanes;
  else if (lanes > dppRowLanes && schedule.getThreads() < chip.waveSize)
    os << "expected whole waves where a row has more than " << dppRowLanes
       << " lanes, got " << schedule.getThreads() << " work-items";
  else if (isSliced && slice % (lanes * width) != 0)
    os << "expected " << field::threadsPerRow << " to divide the "
       << slice / width << " accesses of a slice, got " << lanes;
}

static void checkColumnSums(RowwiseOp op, ScheduleAttr schedule,
                            llvm::raw_string_ostream &os) {
  int64_t length = op.getRowLength();
  auto expect = [&](StringRef name, int64_t expected, int64_t actual) {
    if (expected != actual && os.str().empty())
      os << "expected " << name << " " << expected << " for rows of " << length
         << " columns, got " << actual;
  };
  if (op->hasAttr(leavesAttr)) {
    expect(field::rowsPerWorkgroup, 0, schedule.getRowsPerWorkgroup());
    return;
  }
  if (op.hasGroups() && !op.getColumnSums().empty())
    os << "expected no column sums beside groups of rows: their tree would "
          "depend on the number of groups";
  int64_t groups = schedule.getRowGroups(), chains = getLeafChains(length);
  // Numbers of partial sums that no launch counts.
  bool isWhole = op.hasGroups() || hasOwnRows(op);
  if (os.str().empty() &&
      (isWhole ? groups != chains
               : groups > chains || !llvm::isPowerOf2_64(uint64_t(groups))))
    os << "expected " << field::rowGroups << " "
       << (isWhole ? "" : "to be a power of two, at most ") << chains
       << " for rows of " << length << " columns, got " << groups;
  expect(field::rowsPerWorkgroup, getLeastLeafRows(length, groups),
         schedule.getRowsPerWorkgroup());
}

/// Why `schedule` cannot keep to the canonical order of sums; empty if it can,
/// or need not.
static std::string getOrderObstacle(RowwiseOp op, ScheduleAttr schedule,
                                    const ChipInfo &chip) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!isCanonical(op))
    return text;
  if (keepsRowSums(op, schedule) ||
      (op.hasRowSums() && schedule.getRowSplits()))
    checkRowSums(op, schedule, chip, os);
  if (text.empty() && !op.getAllSums().empty())
    checkColumnSums(op, schedule, os);
  if (!text.empty())
    text = "order=canonical: " + text;
  return text;
}

void LegalityChecks::checkResources() {
  ScheduleResources resources = getResources(op, schedule, chip);
  int64_t registers = getRegisterLimit(schedule, chip);
  int64_t needed = resources.leastRegistersPerLane;
  if (needed > registers)
    os << "row length " << length
       << " is too large for this schedule: it needs at least " << needed
       << " registers a lane, and " << chip.name << " has " << registers
       << " for workgroups of " << resources.threads << " threads; raise "
       << field::threadsPerRow << ", or split the program into two passes";
  else if (resources.stagingBytes &&
           resources.sharedMemoryBytes + resources.stagingBytes >
               chip.dynamicSharedMemoryBytes)
    os << "this schedule needs "
       << resources.sharedMemoryBytes + resources.stagingBytes
       << " bytes of shared memory, and " << chip.name << " has "
       << chip.dynamicSharedMemoryBytes << " for a workgroup; lower "
       << field::stages << " or " << field::rowGroups;
  else if (resources.sharedMemoryBytes > chip.sharedMemoryBytes)
    os << "this schedule needs " << resources.sharedMemoryBytes
       << " bytes of shared memory, and " << chip.name << " has "
       << chip.sharedMemoryBytes << " for a workgroup; lower "
       << field::rowGroups;
}

std::string lnbwd::getObstacle(RowwiseOp op, ScheduleAttr schedule,
                               const ChipInfo &chip) {
  std::string text;
  llvm::raw_string_ostream os(text);
  LegalityChecks checks(op, schedule, chip, os);
#define LNBWD_SCHEDULE_CHECK(Name)                                             \
  checks.check##Name();                                                        \
  if (!text.empty())                                                           \
    return text;
#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h.inc"
#undef LNBWD_SCHEDULE_CHECK
  text = getOrderObstacle(op, schedule, chip);
  if (text.empty())
    checks.checkResources();
  return text;
}

LogicalResult
lnbwd::checkSchedule(RowwiseOp op, ScheduleAttr schedule, const ChipInfo &chip,
                     function_ref<InFlightDiagnostic()> emitError) {
  std::string obstacle = getObstacle(op, schedule, chip);
  if (!obstacle.empty())
    return emitError() << obstacle;
  return success();
}
