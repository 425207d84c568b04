//===- ScheduleSearch.cpp - The schedule that is predicted fastest --------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Goes through the schedules of whole rows, and of tiles of columns where no
// row holds them together, has the learned model predict the time of each, and
// takes the fastest that can run.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ScheduleSearch.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Analysis/RowAccess.h"
#include "lnbwd/Analysis/RowPhases.h"
#include "lnbwd/Analysis/ScheduleFeatures.h"
#include "lnbwd/Analysis/ScheduleFields.h"
#include "lnbwd/Analysis/ScheduleLimits.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

using namespace mlir;
using namespace lnbwd;

/// Bytes of an access where those of `accessBytes` leave too many lanes idle.
static constexpr int64_t narrowBytes = 4;
/// Columns of a workgroup, at least, where several share a row, and where lanes
/// go across rows as well.
static constexpr int64_t leastPartColumns = 1024, leastPartColumnsAcross = 64;
/// Columns of a lane, and idle lanes over busy ones, beyond which nothing is
/// good. In the canonical order slices leave more of them idle, and on AMD's
/// chips some rows of a wave have nothing better.
static constexpr int64_t mostLaneColumns = 64;
static constexpr double mostIdle = 0.34, mostIdleInOrder = 0.5,
                        mostIdleOfWave = 0.5;
/// Work-items of a compute unit where workgroups are persistent, and those for
/// which a workgroup has rows at once, at least.
static constexpr int64_t leastComputeUnitThreads = 128,
                         mostComputeUnitThreads = 2048, leastThreads = 32;
/// Work-items of a workgroup and columns of a lane, at most, where each tile of
/// rows has a workgroup of its own.
static constexpr int64_t mostUnboundedThreads = 512, mostUnboundedColumns = 48;
/// Rows of a group where the types do not say it, or there are no groups.
static constexpr int64_t unbounded = std::numeric_limits<int64_t>::max();
/// What is tried, in this order: iterations of a workgroup at least, workgroups
/// of a compute unit.
static constexpr int64_t triedIterations[] = {2, 1, 4, 8, 16};
static constexpr int64_t mostWorkgroups = 16;
static constexpr int64_t triedWorkgroups[] = {1, 2, 3,  4,
                                              6, 8, 12, mostWorkgroups};
/// Ways to keep rows in flight that are tried: `stages`, `prefetch`, `unroll`.
/// Rows of a multi-buffer are loaded to registers ahead and one by one, and two
/// tiles an iteration are tried only with prefetched ones.
static constexpr std::array<int64_t, 3> pipelineDepths[] = {
    {0, 0, 1}, {0, 1, 1}, {0, 1, 2}, {2, 1, 1}, {3, 1, 1},
    {4, 1, 1}, {5, 1, 1}, {6, 1, 1}, {8, 1, 1}};
/// Of column tiles: lanes of a row, work-items of a workgroup at least, tiles
/// of rows that a lane loads at once, and columns of a lane, at most.
static constexpr int64_t triedTileLanes[] = {2, 4, 8, 16, 32, 64, 128};
static constexpr int64_t leastTileThreads = 64;
static constexpr int64_t triedTileUnrolls[] = {8, 4, 2, 1};
static constexpr int64_t narrowTileWidth = 2;
/// Rows, or rows of a group, up to which a workgroup may have all rows of its
/// columns, and where it writes row blocks as well.
static constexpr int64_t mostRowsOfTile = 8192, mostRowsOfWrittenTile = 256;
/// Registers of a lane over those that it can have, by the model, up to which
/// schedules are taken; in the canonical order, whose best schedules the model
/// rules out; and where nothing takes fewer, if compiling always says whether a
/// kernel spills.
static constexpr double mostRegisters = 1, mostTriedRegisters = 1.05,
                        mostUncertainRegisters = 1.15;
/// Registers of a schedule that is tried after one that has spilled, over that
/// one's, by the model: less than so many.
static constexpr double rejectedShare = 0.875;
/// Rules that a schedule counts as breaking for each time as many registers
/// that it has too few of.
static constexpr double doubtsOfRegisters = 8;
/// On AMD's chips, accesses of a lane to a row, which are added one after
/// another, so that four of a constant are still added exactly; bytes of
/// columns that all workgroups load over those of rows; work-items of a compute
/// unit for which one clock does an instruction; and instructions of a wave
/// that reduces a row.
static constexpr double mostAccesses = 4, mostColumnShare = 1.0 / 32;
static constexpr int64_t vectorLanes = 64, reductionInstructions = 24;
/// Times are compared in steps of a tenth of a nanosecond.
static constexpr double stepsPerMicrosecond = 1e4;
/// Workgroups that share a row too long for anything else, and lanes of each.
static constexpr int64_t longRowCluster = 8, longRowThreads = 512;
/// Where no row of such a length is summed: lanes of a tile of columns, and
/// columns of each, at least.
static constexpr int64_t elementwiseThreads = 128, elementwiseColumns = 16;
/// In the canonical order, leaves that clusters of so many workgroups add up
/// before they store them, at most: four took 1.3 times as long as two. How
/// many times as long as rows sums of leaves of as many bytes take.
static constexpr int64_t largeCluster = 4, mostLeavesOfCluster = 2;
static constexpr double leafSumCost = 2;
/// Rows that are added up before they are added to a total. A lane has 30 to
/// 130 where there are many: the error is least where both sums have as many
/// terms.
static constexpr int64_t sumBlockRows = 8;
/// The same of rows of 16 bits, and how many rows a lane has from which on
/// their sums have totals: sums of 6422528 rows of 64 were off by 1e-5 without,
/// and by 4e-7 with them.
static constexpr int64_t narrowSumBlockRows = 16, leastNarrowSum = 64;
/// Registers by which the estimate may fall short where totals are added.
static constexpr int64_t spareTotalRegisters = 8;
/// Phases of a program none of whose row sums waits for another: the sums, and
/// what needs them.
static constexpr unsigned phasesOfOneSum = 2;
/// Staged rows side by side from which on totals were measured to cost nothing,
/// on an H200.
static constexpr int64_t stagedTotalGroups = 4;

/// `fields` with rows prefetched before the dependency, where kernels of `op`
/// have them.
static ScheduleFields addPrefetchBeforeDependency(RowwiseOp op,
                                                  ScheduleFields fields) {
  bool isShared =
      fields.workgroupsPerRow > 1 || fields.columnTile || fields.rowSplits;
  // A workgroup for each tile of rows begins and ends all the time, and where a
  // row has few lanes, the instructions cost more than they bring.
  bool isShort = !fields.workgroupsPerComputeUnit && fields.threadsPerRow <= 32;
  if (fields.dependentLaunch && !fields.reload && !isShared && !isShort &&
      op.getAllSums().empty())
    fields.prefetchBeforeDependency = true;
  return fields;
}

/// Whether a program computes nothing but float32 sums of rows of 16 bits,
/// whose number is known, of which a lane adds up many.
static bool hasLongNarrowSums(RowwiseOp op, ScheduleAttr schedule,
                              const ChipInfo &chip) {
  std::optional<int64_t> rows = op.getStaticRowCount();
  int64_t workgroups =
      chip.computeUnits * schedule.getWorkgroupsPerComputeUnit();
  bool isWide = llvm::all_of(op.getAllSums().getTypes(), [](Type type) {
    return cast<MemRefType>(type).getElementTypeBitWidth() == 32;
  });
  return rows && workgroups && isWide && op.getRowElementBits() < 32 &&
         !op.hasRowSums() && op.getRowOuts().empty() &&
         *rows >= leastNarrowSum * workgroups * schedule.getRowGroups();
}

/// Not where short sums of rows of 16 bits or the few rows of partial sums need
/// no totals, where these would cost a workgroup its registers, or where few
/// staged rows lie side by side: an iteration is short, and the branch at its
/// end was measured to cost (docs/numerics.md).
static int64_t chooseSumBlock(RowwiseOp op, ScheduleAttr schedule,
                              const ChipInfo &chip) {
  bool sumsPartials =
      schedule.getColumnTile() && !schedule.getRowsPerWorkgroup();
  bool isNarrow = op.getRowElementBits() < 32;
  if (op.getAllSums().empty() || op.takesMaxima() || sumsPartials ||
      hasLeaves(op) || (isNarrow && !hasLongNarrowSums(op, schedule, chip)) ||
      schedule.takesOneTile(int64_t(op.getFixedWorkgroups())) ||
      (schedule.getStages() && schedule.getRowGroups() < stagedTotalGroups))
    return 0;
  ScheduleFields fields(schedule);
  fields.sumBlock = std::max<int64_t>(
      1, (isNarrow ? narrowSumBlockRows : sumBlockRows) / schedule.getUnroll());
  int64_t registers =
      getResources(op, fields.get(op.getContext()), chip).registersPerLane;
  int64_t needed = llvm::alignTo(uint64_t(registers + spareTotalRegisters),
                                 chip.limits.registerGranule);
  // With as many workgroups on a compute unit as before.
  int64_t workgroups =
      std::max<int64_t>(1, chip.limits.computeUnitsTogether *
                               schedule.getWorkgroupsPerComputeUnit());
  return needed <= getRegisterLimit(schedule.getThreads(), chip, workgroups)
             ? fields.sumBlock
             : 0;
}

/// The code generator widens columns ahead of the loop in any case, and kept
/// what the rows after it widen for themselves in registers as well. Measured
/// on an H200, fewer registers are of use where a sum waits for another, and
/// columns for both; with one sum, or with column sums, kernels took up to a
/// fourth longer so. AMD's are as they were counted and predicted.
static bool widensColumns(RowwiseOp op, ScheduleAttr schedule,
                          const ChipInfo &chip) {
  return chip.backend == Backend::NVPTX && op.getAllSums().empty() &&
         keepsRowSums(op, schedule) &&
         RowPhases(op).getCount() > phasesOfOneSum &&
         (schedule.getRowGroups() > 1 || needsShift(op, schedule));
}

ScheduleAttr lnbwd::followOthers(RowwiseOp op, ScheduleAttr schedule,
                                 StringRef overrides, const ChipInfo &chip) {
  auto isFree = [&](StringRef name) { return !findOverride(overrides, name); };
  ScheduleFields fields(schedule);
  if (isFree(field::prefetchBeforeDependency))
    fields = addPrefetchBeforeDependency(op, fields);
  if (isFree(field::combineRadix))
    fields.combineRadix = chooseCombineRadix(op, fields);
  schedule = fields.get(op.getContext());
  if (isFree(field::sumBlock))
    fields.sumBlock = chooseSumBlock(op, schedule, chip);
  // Workgroups that stay load columns once for all rows, and where a wave has a
  // row to itself, its sums are too short to hide a load.
  bool isOneTile = schedule.takesOneTile(int64_t(op.getFixedWorkgroups()));
  if (isFree(field::lateColumns))
    fields.lateColumns = isOneTile && fields.threadsPerRow > chip.waveSize;
  if (isFree(field::widenColumns))
    fields.widenColumns = !isOneTile && widensColumns(op, schedule, chip);
  return fields.get(op.getContext());
}

namespace {
/// Schedules of a row program, what the model sees of each, and its registers
/// by the model over those that a lane can have.
struct Candidates {
  SmallVector<ScheduleFields, 0> fields;
  SmallVector<ScheduleFeatures, 0> features;
  SmallVector<double, 0> registerShares;
};

/// The search through the schedules of a row program on a chip.
struct Search {
  using Visitor = function_ref<void(const ScheduleFields &)>;
  void forEachOfWholeRows(int64_t mostBytes, Visitor visit);
  void forEachGrid(ScheduleFields fields, int64_t laneColumns, Visitor visit);
  void forEachOfTiles(Visitor visit);
  bool findCandidates(function_ref<bool(Candidates &)> take);
  double takeLeaves(ScheduleFields &fields);
  double getAddedMicroseconds(const ScheduleFields &fields);
  int64_t countDoubts(const Candidates &found, size_t i);
  /// All rows of a group are one workgroup's: its sums are the group's.
  int64_t boundRows(int64_t rows) const { return rows < mostRows ? rows : 0; }
  bool canRun(const ScheduleFields &fields) {
    return getObstacle(op, fields.get(op.getContext()), chip).empty();
  }

  RowwiseOp op;
  const ChipInfo &chip;
  int64_t rows;
  ProgramFacts program = ProgramFacts::of(op, rows);
  bool isAMD = chip.backend == Backend::AMDGPU, isInOrder = op.getCanonical();
  bool hasSums = !op.getAllSums().empty(), hasLeaves = isInOrder && hasSums;
  /// Nothing says the number of rows: workgroups have few, since there would
  /// not be enough of fewer rows for all compute units.
  bool isAnyCount = hasLeaves || (rows <= 0 && !op.getStaticRowCount());
  /// Rows of a group, of which a workgroup has no more.
  int64_t mostRows =
      op.hasGroups() ? op.getStaticGroupRows().value_or(unbounded) : unbounded;
  /// Blocks of elements that lie apart keep each row in one wave.
  bool isOfWave =
      llvm::any_of(op.getBody().getOps<BlockMaxOp>(),
                   [](BlockMaxOp blocks) { return blocks.getStride() != 1; });
  /// How many such rows a workgroup of NVIDIA's has best. Of 27 programs and
  /// shapes they take 0.94 of the time of what the trees choose on an H200,
  /// with one layout, of values and scales, 0.92. Those that write several have
  /// few waves on a compute unit, which end together in one workgroup.
  int64_t tilesTogether = isAMD || !isOfWave           ? 0
                          : op.getRowOuts().size() > 2 ? 1
                                                       : 4;
  double mostShare = hasLeaves ? mostTriedRegisters : mostRegisters;
};
} // namespace

/// Visits the schedules of rows that are whole in a workgroup or a cluster, but
/// for hopeless ones: with accesses of so many bytes at most.
void Search::forEachOfWholeRows(int64_t mostBytes, Visitor visit) {
  int64_t length = op.getRowLength(), bits = op.getRowElementBits();
  int64_t width = std::min(chooseAccessWidth(op, chip),
                           std::max<int64_t>(mostBytes * 8 / bits, 1));
  int64_t leastColumns = leastPartColumns, leastGroups = 1;
  ScheduleFields fields;
  fields.dependentLaunch = chip.workgroups.hasDependentLaunch;
  if (op.hasRowSums() && mayTakeLanesAcross(op)) {
    fields.lanesAcross = width = 1;
    leastColumns = leastPartColumnsAcross;
    leastGroups = leastBytesAcross * 8 / bits;
  }
  fields.vectorWidth = width;
  // A leaf of the canonical order bounds the rows side by side.
  int64_t mostGroups = hasLeaves ? getLeafChains(length)
                       : isInOrder
                           ? chip.maxThreadsPerWorkgroup
                           : int64_t(llvm::bit_floor(uint64_t(mostRows)));
  double idle = isInOrder ? mostIdleInOrder : mostIdle;
  double idleOfWave = isAMD ? mostIdleOfWave : idle;
  for (int64_t most = 1; most <= chip.workgroups.clusterWorkgroups; most *= 2) {
    if (most > 1 && (!op.hasRowSums() || length / most < leastColumns))
      break;
    // In the canonical order as many as get some of the slices.
    int64_t split = most;
    if (isInOrder && most > 1)
      split = llvm::divideCeil(length, getSharedSlices(length, most));
    if (split == std::exchange(fields.workgroupsPerRow, split) && most > 1)
      continue;
    int64_t columns = getWorkgroupColumns(op, fields.get(op.getContext()));
    int64_t accessesBefore = 0;
    for (int64_t threads = split > 1 && !fields.lanesAcross ? chip.waveSize : 1;
         threads <= chip.maxThreadsPerWorkgroup;
         threads += threads < chip.waveSize ? threads : chip.waveSize) {
      int64_t accesses = llvm::divideCeil(columns, threads * width);
      // More lanes for as many accesses would only idle, but in the canonical
      // order they may have to divide a slice.
      bool isOfOrder =
          isInOrder && getSliceColumns(length) % (threads * width) == 0;
      if ((accesses == std::exchange(accessesBefore, accesses) && !isOfOrder) ||
          (accesses > 1 && accesses * width > mostLaneColumns) ||
          double(accesses * width * threads * split) >
              double(length) *
                  (1 + (threads <= chip.waveSize ? idleOfWave : idle)))
        continue;
      fields.threadsPerRow = threads;
      for (int64_t groups = std::max<int64_t>(1, leastThreads / threads);
           threads * groups <= chip.maxThreadsPerWorkgroup; groups *= 2) {
        fields.rowGroups = std::min(groups, mostGroups);
        if (fields.rowGroups >= leastGroups)
          forEachGrid(fields, accesses * width, visit);
        if (groups >= mostGroups)
          break;
      }
    }
  }
}

/// Visits the ways to keep rows of such lanes and groups in flight, and to
/// share them out among workgroups.
void Search::forEachGrid(ScheduleFields fields, int64_t laneColumns,
                         Visitor visit) {
  int64_t workgroup = fields.threadsPerRow * fields.rowGroups;
  for (auto [stages, prefetch, unroll] : pipelineDepths) {
    if (stages && !chip.workgroups.hasBulkCopy)
      continue;
    fields.stages = stages;
    fields.prefetch = prefetch;
    fields.unroll = unroll;
    SmallVector<int64_t, 16> grids;
    for (int64_t workgroups : triedWorkgroups) {
      // As many as are tried, where a group has few rows.
      int64_t threads = workgroup * workgroups;
      if ((threads < leastComputeUnitThreads && workgroups < mostWorkgroups) ||
          threads > mostComputeUnitThreads)
        continue;
      fields.workgroupsPerComputeUnit = workgroups;
      for (int64_t iterations : triedIterations) {
        if (isAnyCount && iterations != triedIterations[0])
          break;
        // Each workgroup has partial sums for its group of rows.
        if (iterations == 1 && op.hasGroups())
          continue;
        fields.rowsPerWorkgroup = boundRows(iterations * fields.rowGroups);
        int64_t grid = std::min(
            llvm::divideCeil(int64_t(program.rows),
                             std::max<int64_t>(1, fields.rowsPerWorkgroup)),
            uint64_t(workgroups * chip.computeUnits / fields.workgroupsPerRow));
        // Of those with the same grid the first.
        if (llvm::is_contained(grids, grid))
          continue;
        grids.push_back(grid);
        visit(fields);
      }
    }
    // A workgroup for each tile of rows, which has no others to keep in flight,
    // and would have partial sums of columns.
    if (!hasSums && !op.getOwnRows() && fields.workgroupsPerRow == 1 &&
        !stages && !prefetch && workgroup <= mostUnboundedThreads &&
        (laneColumns <= mostUnboundedColumns || tilesTogether)) {
      fields.workgroupsPerComputeUnit = 0;
      fields.rowsPerWorkgroup = fields.rowGroups;
      visit(fields);
    }
  }
}

/// Visits the schedules of column tiles, of rows that hold no columns together.
void Search::forEachOfTiles(Visitor visit) {
  bool isWritten = !op.getRowOuts().empty();
  bool hasAcross = !getAcrossBlocks(op).empty();
  // Each group has its workgroups: sums of all of them are partial ones.
  int64_t allRows = op.hasGroups() ? mostRows : int64_t(program.rows);
  bool isWhole =
      allRows > 0 && (!op.hasGroups() || op.getColumnSums().empty()) &&
      allRows <= (isWritten ? mostRowsOfWrittenTile : mostRowsOfTile);
  int64_t width = chooseVectorWidth(op);
  SmallVector<int64_t, 2> widths = {width};
  // Groups are workgroups enough.
  if (width > narrowTileWidth && !op.hasGroups())
    widths.push_back(narrowTileWidth);
  ScheduleFields fields;
  fields.dependentLaunch = chip.workgroups.hasDependentLaunch;
  for (int64_t lanes : triedTileLanes)
    for (int64_t tileWidth : widths) {
      fields.threadsPerRow = lanes;
      fields.vectorWidth = tileWidth;
      fields.columnTile = lanes * tileWidth;
      // A row of a tile fills a sector of memory.
      if (fields.columnTile * op.getRowElementBits() < leastBytesAcross * 8)
        continue;
      for (int64_t threads = std::max(leastTileThreads, lanes);
           threads <= chip.maxThreadsPerWorkgroup; threads *= 2) {
        fields.rowGroups = threads / lanes;
        for (int64_t unroll : triedTileUnrolls) {
          fields.unroll = unroll;
          if (isWhole) {
            // All rows of its columns: no partial sums are left.
            fields.rowsPerWorkgroup = fields.workgroupsPerComputeUnit = 0;
            visit(fields);
          }
          // Whole rows of tiles that are transposed are too many at once.
          if (isWritten && !isInOrder && !hasAcross)
            continue;
          for (int64_t workgroups : triedWorkgroups) {
            if (threads * workgroups > mostComputeUnitThreads)
              break;
            fields.workgroupsPerComputeUnit = workgroups;
            fields.rowsPerWorkgroup = boundRows(fields.rowGroups * unroll);
            visit(fields);
          }
        }
      }
    }
}

/// Microseconds of the vector instructions that `schedule` adds to those of the
/// elements: the clock of AMD's trees hides all behind memory, no chip does.
double Search::getAddedMicroseconds(const ScheduleFields &fields) {
  if (!isAMD)
    return 0;
  // Each wave of a row reduces; of rows that share one, each lane also loads
  // the scalars. A loop that is not unrolled copies what it has prefetched.
  int64_t lanes = fields.threadsPerRow;
  if (lanes < chip.waveSize)
    lanes += chip.waveSize;
  double added = double(lanes) * program.rowSums * reductionInstructions;
  if (fields.prefetch && fields.unroll == 1)
    added += program.length * program.bytesRead / 4;
  return program.rows * added /
         double(vectorLanes * chip.computeUnits * chip.limits.megahertz);
}

/// Gives `fields` the rows of a workgroup in the canonical order. Returns the
/// microseconds: those of the default order with as many workgroups, each of
/// which has as many rows, and of sums of leaves that are written and read.
double Search::takeLeaves(ScheduleFields &fields) {
  int64_t length = op.getRowLength(), leafRows = getLeafRows(length);
  int64_t parts = getLeafParts(length, fields.rowGroups);
  int64_t split = fields.workgroupsPerRow,
          workgroups = fields.workgroupsPerComputeUnit;
  double sumBytes = leafSumCost * 2 * sizeof(float) * program.sums;
  auto predict = [&](int64_t together, double share) {
    ProgramFacts some = program;
    some.rows = std::ceil(share * program.rows);
    int64_t leaves = llvm::divideCeil(int64_t(some.rows), leafRows);
    int64_t most =
        workgroups ? chip.computeUnits * workgroups / split / parts : leaves;
    int64_t each = llvm::divideCeil(leaves, std::max<int64_t>(1, most));
    each = llvm::divideCeil(each, together) * together;
    int64_t sets = llvm::divideCeil(leaves, each);
    ScheduleFields whole = fields;
    whole.rowsPerWorkgroup = std::max<int64_t>(1, each * leafRows / parts);
    // A workgroup with one leaf stores one sum, as in the default order.
    int64_t sums = (llvm::divideCeil(leaves, together) - sets) * parts;
    double bytes = some.rows * (program.bytesRead + program.bytesWritten);
    return predictMicroseconds(some, getFeatures(some, whole, chip), chip)[0] *
           (1 + sumBytes * double(sums) / bytes);
  };
  // The number of rows is a hint, unless the types have it: some rows more may
  // leave half of the workgroups that add up many leaves without any.
  auto predictHint = [&](int64_t together) {
    double exact = predict(together, 1);
    if (op.getStaticRowCount())
      return exact;
    return (4 * exact + predict(together, 0.875) + predict(together, 1.25)) / 6;
  };
  double best = predictHint(1);
  ScheduleFields tried = fields;
  for (int64_t together = 2;
       double((together - 1) * leafRows) < program.rows &&
       (split < largeCluster || together <= mostLeavesOfCluster);
       together *= 2) {
    tried.rowsPerWorkgroup = together * leafRows;
    ScheduleResources resources =
        getResources(op, tried.get(op.getContext()), chip);
    if (std::max<int64_t>(1, workgroups) *
                (resources.sharedMemoryBytes + resources.stagingBytes +
                 reservedSharedBytes) >
            chip.limits.computeUnitSharedMemoryBytes ||
        !canRun(tried))
      break;
    if (double each = predictHint(together); each < best) {
      best = each;
      fields.rowsPerWorkgroup = tried.rowsPerWorkgroup;
    }
  }
  return best;
}

/// Rules that a candidate breaks, of those that hold where no sweep has enough
/// programs.
int64_t Search::countDoubts(const Candidates &found, size_t i) {
  const ScheduleFields &fields = found.fields[i];
  auto get = [&](Feature feature) {
    return double(found.features[i][size_t(feature)]);
  };
  // A long sum without totals would be off by many roundings.
  ScheduleAttr schedule = fields.get(op.getContext());
  bool isLong = !op.getAllSums().empty() && !isInOrder &&
                hasLongNarrowSums(op, schedule, chip);
  // Accesses to rows apart waste most of each sector: of 35 measured programs
  // that have other schedules, 32 are slower with the best of these.
  double doubts =
      std::max(0.0, found.registerShares[i] - mostShare) * doubtsOfRegisters +
      get(Feature::apart_blocks) +
      double(isLong && !chooseSumBlock(op, schedule, chip));
  // Workgroups that stay would keep the columns' from the compute units that
  // they work beside: 384 rows of 4736 took 10.7 us on an H200 so, and 8.4 with
  // one workgroup for each.
  if (tilesTogether || (op.getIndependent() && areFewRows(program)))
    doubts += double(fields.workgroupsPerComputeUnit != 0);
  // On AMD's chips tiles of a wave are accessed a little more than once when
  // they are loaded ahead (test/Bench/test_quantized_counts.py), and the trees
  // give compute units several tiles each where others have none, and
  // workgroups one wave, which spills on gfx1100.
  auto units = double(chip.computeUnits);
  if (isOfWave)
    doubts +=
        isAMD
            ? double(fields.prefetch) + double(fields.rowGroups == 1) +
                  double(fields.rowsPerWorkgroup > fields.rowGroups &&
                         double(fields.rowsPerWorkgroup) * units > program.rows)
            : double(fields.rowGroups != tilesTogether);
  // There, each workgroup loads the columns, where as few as compute units
  // could: the clock does not know how caches serve them.
  double columns = get(Feature::column_share);
  double rowsOfWorkgroup =
      double(fields.rowGroups) * std::exp2(get(Feature::iterations_log));
  if (isAMD)
    doubts += std::max(0.0, get(Feature::accesses) - mostAccesses) +
              double(columns > mostColumnShare * rowsOfWorkgroup &&
                     columns * units <= mostColumnShare * program.rows);
  return int64_t(doubts);
}

/// Calls `take` with schedules that have registers enough by the model, the
/// surest first, until it returns true. Returns whether it did.
bool Search::findCandidates(function_ref<bool(Candidates &)> take) {
  constexpr double any = std::numeric_limits<double>::infinity();
  double spilling = any;
  // Tiles of what is left when splits are summed say nothing of whole rows.
  for (ScheduleAttr rejected : getRejected(op))
    if (!op.hasRowSums() || !rejected.getColumnTile())
      spilling = std::min(
          spilling,
          rejectedShare *
              predictRegisterShare(
                  getFeatures(program, ScheduleFields(rejected), chip), chip));
  // Rows of 17 accesses leave many lanes idle unless a few have all columns,
  // for which there are no registers: then accesses are as wide as a register.
  // In the canonical order there are no two passes over rows: the model of
  // registers, which is no more than that, then only says what comes first.
  // Of blocks apart, which one wave has, it counts what repeats along the row
  // as if each element were another.
  SmallVector<std::pair<int64_t, double>> bounds{
      {accessBytes, isOfWave ? any : mostShare}, {narrowBytes, mostShare}};
  if (isAMD)
    bounds.insert(bounds.begin() + 1, {accessBytes, mostUncertainRegisters});
  if (hasLeaves)
    bounds.push_back({accessBytes, any});
  for (auto [bytes, bound] : bounds) {
    Candidates found;
    auto add = [&, bound = bound](const ScheduleFields &each) {
      ScheduleFeatures features =
          getFeatures(program, addPrefetchBeforeDependency(op, each), chip);
      // Leaves of workgroups that do not fit beside each other wait.
      if (hasLeaves && float(each.workgroupsPerComputeUnit) *
                               features[size_t(Feature::workgroup_waves)] >
                           features[size_t(Feature::resident_waves)])
        return;
      double share = predictRegisterShare(features, chip);
      if (share > bound || share >= spilling)
        return;
      found.registerShares.push_back(share);
      found.features.push_back(features);
      ScheduleFields &fields = found.fields.emplace_back(each);
      fields.combineRadix = chooseCombineRadix(op, fields);
      if (hasLeaves)
        fields.rowsPerWorkgroup =
            getLeastLeafRows(op.getRowLength(), fields.rowGroups);
    };
    forEachOfWholeRows(bytes, add);
    // Sums of columns that no row holds together.
    if (hasSums && !op.hasRowSums() && op.getScalarOuts().empty())
      forEachOfTiles(add);
    if (take(found))
      return true;
  }
  return false;
}

SmallVector<RankedSchedule> lnbwd::rankSchedules(RowwiseOp op,
                                                 const ChipInfo &chip,
                                                 int64_t count, int64_t rows) {
  SmallVector<RankedSchedule> result;
  if (count <= 0)
    return result;
  Search search{op, chip, rows};
  search.findCandidates([&](Candidates &found) {
    SmallVector<double, 0> times(found.fields.size());
    if (!search.hasLeaves)
      times = predictMicroseconds(search.program, found.features, chip);
    // Rules that each breaks, its time in steps, and its number: what breaks
    // rules comes last, and of those that are as good the first, whatever the
    // last bits say.
    SmallVector<std::tuple<int64_t, double, size_t>, 0> order;
    for (auto [i, fields] : llvm::enumerate(found.fields)) {
      if (search.hasLeaves)
        times[i] = search.takeLeaves(fields);
      times[i] += search.getAddedMicroseconds(fields);
      order.emplace_back(search.countDoubts(found, i),
                         std::round(times[i] * stepsPerMicrosecond), i);
    }
    llvm::sort(order);
    for (auto [doubts, steps, i] : order) {
      if (int64_t(result.size()) == count)
        break;
      if (search.canRun(found.fields[i]))
        result.push_back({times[i], found.fields[i].get(op.getContext())});
    }
    return !result.empty();
  });
  return result;
}

/// A schedule of rows that no workgroup and no cluster has the registers for by
/// the model, and that no column sums keep with a lane.
static ScheduleAttr chooseForLongRows(RowwiseOp op, const ChipInfo &chip) {
  ScheduleFields fields;
  auto getAllowed = [&] {
    ScheduleAttr schedule = fields.get(op.getContext());
    return isRejected(op, schedule) || !getObstacle(op, schedule, chip).empty()
               ? ScheduleAttr()
               : schedule;
  };
  fields.dependentLaunch = chip.workgroups.hasDependentLaunch;
  fields.vectorWidth = chooseAccessWidth(op, chip);
  fields.rowsPerWorkgroup = 1;
  // Where no sum needs all of a row, tiles of columns. A lane has several
  // accesses of one row, so that its scalars are loaded once: the gradient of a
  // cross entropy of 50257 bfloat16 took 88 us so on an H100, and 234 with a
  // wave's accesses to each of several rows.
  if (!op.hasRowSums() && op.getScalarOuts().empty()) {
    fields.threadsPerRow = elementwiseThreads;
    fields.columnTile =
        elementwiseThreads * std::max(fields.vectorWidth, elementwiseColumns);
    return getAllowed();
  }
  // A cluster, where the rows themselves leave registers: the model counts
  // values that are worked through as held, and compiling says whether it
  // spills. Read again, rows of 256000 elements took 1.9 times as long on an
  // H100.
  fields.threadsPerRow = longRowThreads;
  fields.workgroupsPerRow = longRowCluster;
  if (ScheduleAttr schedule = getAllowed();
      schedule && 2 * getResources(op, schedule, chip).leastRegistersPerLane <=
                      getRegisterLimit(schedule.getThreads(), chip))
    return schedule;
  // Rows are read again for each row sum, by as many lanes as have registers
  // for an access to each row block.
  fields.vectorWidth = chooseVectorWidth(op);
  fields.workgroupsPerRow = 1;
  fields.rowsPerWorkgroup = 2;
  fields.reload = 1;
  for (fields.threadsPerRow = chip.maxThreadsPerWorkgroup;
       fields.threadsPerRow >= chip.waveSize; fields.threadsPerRow /= 2)
    if (ScheduleAttr schedule = getAllowed();
        schedule && getResources(op, schedule, chip).registersPerLane <=
                        getRegisterLimit(schedule.getThreads(), chip))
      return schedule;
  return {};
}

/// Splits of rows where they are faster and can run.
static ScheduleAttr chooseSplits(RowwiseOp op, const ChipInfo &chip,
                                 int64_t rows) {
  ScheduleAttr splits = chooseSplitsWhereFaster(op, chip, rows);
  return splits && getObstacle(op, splits, chip).empty() ? splits
                                                         : ScheduleAttr();
}

bool lnbwd::hasSchedule(RowwiseOp op, const ChipInfo &chip) {
  Search search{op, chip, /*rows=*/0};
  return chooseSplits(op, chip, /*rows=*/0) ||
         search.findCandidates([&](Candidates &found) {
           return llvm::any_of(found.fields, [&](const ScheduleFields &fields) {
             return search.canRun(fields);
           });
         });
}

ScheduleAttr lnbwd::chooseSchedule(RowwiseOp op, const ChipInfo &chip,
                                   int64_t rows) {
  if (ScheduleAttr splits = chooseSplits(op, chip, rows))
    return splits;
  auto best = rankSchedules(op, chip, /*count=*/1, rows);
  // Whether rows take two passes was decided for a usual number of them.
  if (best.empty() && rows > 0)
    best = rankSchedules(op, chip, /*count=*/1, /*rows=*/0);
  if (!best.empty())
    return best.front().schedule;
  return op.getAllSums().empty() ? chooseForLongRows(op, chip) : ScheduleAttr();
}
