//===- ScheduleChoice.cpp - Which schedule a program gets -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One loop over families of schedules: the first family with a schedule that
// can run and has not been rejected decides. The learned model ranks the
// largest family; exceptions to the model are the rows of one table.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ScheduleChoice.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Analysis/FollowingFields.h"
#include "lnbwd/Analysis/ScheduleCandidates.h"
#include "lnbwd/Analysis/ScheduleLimits.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>
#include <tuple>

using namespace mlir;
using namespace lnbwd;

/// Registers of a lane over those that it can have, by the model, up to which
/// schedules are taken in the canonical order, whose best schedules the model
/// rules out, and where nothing takes fewer, if compiling always says whether a
/// kernel spills.
static constexpr double mostTriedRegisters = 1.05,
                        mostUncertainRegisters = 1.15;
/// The least difference of registers that counts, as a share: a schedule breaks
/// one rule for each by which it has too few, and one that is tried after a
/// spill takes less than the spilled one by as much.
static constexpr double registerStep = 0.125;
/// On AMD's chips, accesses of a lane to a row, which are added one after
/// another, so that four of a constant are still added exactly; bytes of
/// columns that all workgroups load, and of partial sums, over those of rows;
/// work-items of a compute unit for which one clock does an instruction; and
/// instructions of a wave that reduces a row.
static constexpr double mostAccesses = 4, mostColumnShare = 1.0 / 32,
                        mostPartialShare = 1.0 / 12;
static constexpr int64_t vectorLanes = 64, reductionInstructions = 24;
/// In the canonical order, leaves that clusters of so many workgroups add up
/// before they store them, at most: four took 1.3 times as long as two. How
/// many times as long as rows sums of leaves of as many bytes take.
static constexpr int64_t largeCluster = 4, mostLeavesOfCluster = 2;
static constexpr double leafSumCost = 2;

//===----------------------------------------------------------------------===//
// Two passes and held rows, where they were measured
//===----------------------------------------------------------------------===//

/// Of 23 programs within these limits two passes took 0.78 times as long, in
/// the mean on an H200, and 1.02 times at most; with more rows up to 1.16
/// times. Of 68 of float32 up to 7 MiB 0.80, 1.03 at most, of 8 from 9 MiB on
/// 1.02. From 16 to 22 MiB they took 1.11 times as long, whatever the type.
static constexpr int64_t mostTwoPassRows = 384;
static constexpr double mostTwoPassBytes = 16.0 * 1024 * 1024,
                        mostWideTwoPassBytes = 7.0 * 1024 * 1024;
/// Rows of 14928 to 53475 columns took 1.24 to 1.45 times as long.
static constexpr int64_t mostTwoPassColumns = 12288;

/// The same in the canonical order, of short rows. Of 35 programs within this
/// limit 33 took 0.28 to 0.99 times as long on an H200, the others 1.0 and 1.1.
/// Longer rows took 1.2 times as long in the mean.
static constexpr double mostTwoPassBytesInOrder = 5.0 * 1024 * 1024;

/// Whether a cache holds all rows that are read.
static bool areFewRows(const ProgramFacts &program) {
  bool isWide = program.bytesRead >= sizeof(float) * program.rowsRead;
  return program.rows <= mostTwoPassRows &&
         program.rows * program.length * program.bytesRead <
             (isWide ? mostWideTwoPassBytes : mostTwoPassBytes);
}

/// Whether `op`, which has few rows, was measured to take less time in two
/// passes: its columns are read again from the cache, beside its rows, and
/// leave no partial sums.
static bool isFasterInTwo(RowwiseOp op, const ChipInfo &chip, int64_t rows) {
  if (!chip.workgroups.hasBulkCopy || !op.hasRowSums() ||
      op.getColumnSums().empty() || op.getRowOuts().empty() || op.hasGroups())
    return false;
  ProgramFacts program = ProgramFacts::of(op, rows);
  if (hasLeaves(op))
    return op.getRowLength() <= shortRowInOrder &&
           program.rows * program.length * program.bytesRead <
               mostTwoPassBytesInOrder;
  return op.getRowLength() <= mostTwoPassColumns && areFewRows(program);
}

/// Of sums of gathered rows, the bytes of a row, and the sums for each compute
/// unit and for each row of a table, at least, where small workgroups were
/// measured to be faster; and how many of them a compute unit has at least.
/// Most of these are sums of nothing, and take as long as a workgroup waits to
/// know it. On an H200 32000 to 256000 such sums of 4 to 16 KiB took 0.53 to
/// 0.75 times as long; 32000 of as many rows took 1.4 times.
static constexpr double leastGatheredBytes = 4096, leastGatheredSums = 64,
                        leastSumsOfRow = 4;
static constexpr int64_t leastGatheredWorkgroups = 6;

/// Whether rows are such sums, by that measurement.
static bool areGatheredSums(const ScheduleSpace &space) {
  const ProgramFacts &program = space.program;
  RowwiseOp op = space.op;
  auto sums = op.getBody().getOps<GatherSumOp>();
  return !space.isAMD && !sums.empty() &&
         program.length * program.bytesWritten >= leastGatheredBytes &&
         program.rows >= leastGatheredSums * double(space.chip.computeUnits) &&
         llvm::all_of(sums, [&](GatherSumOp sum) {
           auto table = cast<VectorType>(sum.getTable().getType());
           return program.rows >= leastSumsOfRow * double(table.getDimSize(0));
         });
}

//===----------------------------------------------------------------------===//
// Exceptions to the model
//===----------------------------------------------------------------------===//

static bool canRun(RowwiseOp op, const Schedule &fields, const ChipInfo &chip) {
  return getObstacle(op, fields, chip).empty();
}

namespace {
/// Schedules of a program, what the model sees of each, and its registers by
/// the model over those that a lane can have.
struct Candidates {
  SmallVector<Schedule, 0> fields;
  SmallVector<ScheduleFeatures, 0> features;
  SmallVector<double, 0> registerShares;
};

/// The schedules of a program as the model ranks them.
struct Ranking : ScheduleSpace {
  Ranking(RowwiseOp op, const ChipInfo &chip, int64_t rows)
      : ScheduleSpace{op, chip, rows} {}

  /// Calls `take` with schedules that have registers enough by the model, the
  /// surest first, until it returns true.
  void findCandidates(function_ref<bool(Candidates &)> take);
  /// Puts `found` into the order in which they are offered: what breaks rules
  /// comes last. Sets their times.
  SmallVector<size_t> sort(Candidates &found, SmallVectorImpl<double> &times);

  double mostShare = hasLeaves ? mostTriedRegisters : 1;
  bool isOfGatheredSums = areGatheredSums(*this);

private:
  double getSpillingShare();
  double takeLeaves(Schedule &fields);
  double getAddedMicroseconds(const Schedule &fields);
};

/// A schedule that a rule judges.
struct Candidate {
  Ranking &ranking;
  const Schedule &fields;
  const ScheduleFeatures &features;
  double registerShare;

  double get(Feature feature) const {
    return double(features[size_t(feature)]);
  }
  /// On AMD's chips, blocks apart, which keep a row in one wave.
  bool isOfAMDWave() const { return ranking.isAMD && ranking.isOfWave; }
};
} // namespace

/// How often a schedule breaks each rule that the model does not know. The
/// sweeps that it is trained on have too few programs of each kind.
using Exception = double (*)(const Candidate &);
static constexpr Exception exceptions[] = {
    // Registers: what the model counts beyond those of a lane may spill.
    [](const Candidate &c) {
      return std::max(0.0, c.registerShare - c.ranking.mostShare) /
             registerStep;
    },
    // Accesses to rows apart waste most of each sector: of 35 measured programs
    // that have other schedules, 32 are slower with the best of these.
    [](const Candidate &c) { return c.get(Feature::apart_blocks); },
    // A long sum without totals would be off by many roundings.
    [](const Candidate &c) {
      RowwiseOp op = c.ranking.op;
      if (!c.ranking.hasSums || c.ranking.isInOrder)
        return 0.0;
      return double(hasLongNarrowSums(op, c.fields, c.ranking.chip) &&
                    !chooseSumBlock(op, c.fields, c.ranking.chip));
    },
    // Workgroups that stay would keep the columns' from the compute units that
    // they work beside: 384 rows of 4736 took 10.7 us on an H200 so, and 8.4
    // with one workgroup for each.
    [](const Candidate &c) {
      bool isBeside =
          c.ranking.op.getIndependent() && areFewRows(c.ranking.program);
      return double((c.ranking.tilesTogether || isBeside) &&
                    c.fields.workgroupsPerComputeUnit != 0);
    },
    // Sums of many gathered rows.
    [](const Candidate &c) {
      return c.ranking.isOfGatheredSums
                 ? double(c.fields.threadsPerRow * c.fields.rowGroups >
                          2 * smallWorkgroup) +
                       double(c.fields.workgroupsPerComputeUnit <
                              leastGatheredWorkgroups)
                 : 0.0;
    },
    // On AMD's chips tiles of a wave are accessed a little more than once when
    // they are loaded ahead (test/Bench/test_quantized_counts.py),
    [](const Candidate &c) {
      return c.isOfAMDWave() ? double(c.fields.prefetch) : 0.0;
    },
    // the trees give workgroups one wave, which spills on gfx1100,
    [](const Candidate &c) {
      return double(c.isOfAMDWave() && c.fields.rowGroups == 1);
    },
    // and compute units several tiles each where others have none.
    [](const Candidate &c) {
      auto rows = double(c.fields.rowsPerWorkgroup);
      return double(
          c.isOfAMDWave() && c.fields.rowsPerWorkgroup > c.fields.rowGroups &&
          rows * double(c.ranking.chip.computeUnits) > c.ranking.program.rows);
    },
    // On NVIDIA's as many tiles of a wave as were measured best.
    [](const Candidate &c) {
      return double(!c.ranking.isAMD && c.ranking.isOfWave &&
                    c.fields.rowGroups != c.ranking.tilesTogether);
    },
    // On AMD's chips accesses of a lane to a row are added one after another,
    // four of a constant still exactly.
    [](const Candidate &c) {
      return c.ranking.isAMD
                 ? std::max(0.0, c.get(Feature::accesses) - mostAccesses)
                 : 0.0;
    },
    // There, each workgroup loads the columns, where as few as compute units
    // could: the clock does not know how caches serve them.
    [](const Candidate &c) {
      double columns = c.get(Feature::column_share);
      double rowsOfWorkgroup = double(c.fields.rowGroups) *
                               std::exp2(c.get(Feature::iterations_log));
      return double(c.ranking.isAMD &&
                    columns > mostColumnShare * rowsOfWorkgroup &&
                    columns * double(c.ranking.chip.computeUnits) <=
                        mostColumnShare * c.ranking.program.rows);
    },
    // Nor does it know what partial sums cost where memory is fast: they are
    // few if there are as many workgroups as compute units.
    [](const Candidate &c) {
      const ProgramFacts &program = c.ranking.program;
      double ofUnits =
          2 * sizeof(float) * program.sums *
          double(c.ranking.chip.computeUnits) /
          (program.rows * (program.bytesRead + program.bytesWritten));
      return double(c.ranking.isAMD && ofUnits <= mostPartialShare &&
                    c.get(Feature::partial_share) > mostPartialShare);
    },
};

/// Rules that a candidate breaks.
static int64_t countBrokenRules(const Candidate &candidate) {
  double broken = 0;
  for (Exception exception : exceptions)
    broken += exception(candidate);
  return int64_t(broken);
}

//===----------------------------------------------------------------------===//
// The model's ranking
//===----------------------------------------------------------------------===//

/// Microseconds of the vector instructions that `schedule` adds to those of the
/// elements: the clock of AMD's trees hides all behind memory, no chip does.
double Ranking::getAddedMicroseconds(const Schedule &fields) {
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
double Ranking::takeLeaves(Schedule &fields) {
  if (!fields.rowsPerWorkgroup)
    return predictMicroseconds(program, getFeatures(program, fields, chip),
                               chip)[0];
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
    Schedule whole = fields;
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
  Schedule tried = fields;
  for (int64_t together = 2;
       double((together - 1) * leafRows) < program.rows &&
       (split < largeCluster || together <= mostLeavesOfCluster);
       together *= 2) {
    tried.rowsPerWorkgroup = together * leafRows;
    ScheduleResources resources = getResources(op, tried, chip);
    if (std::max<int64_t>(1, workgroups) *
                (resources.sharedMemoryBytes + resources.stagingBytes +
                 reservedSharedBytes) >
            chip.limits.computeUnitSharedMemoryBytes ||
        !canRun(op, tried, chip))
      break;
    if (double each = predictHint(together); each < best) {
      best = each;
      fields.rowsPerWorkgroup = tried.rowsPerWorkgroup;
    }
  }
  return best;
}

/// The registers of what has spilled, by the model: no schedule that takes
/// nearly as many is tried.
double Ranking::getSpillingShare() {
  double spilling = std::numeric_limits<double>::infinity();
  // Tiles of what is left when splits are summed say nothing of whole rows.
  for (const Schedule &rejected : getRejected(op))
    if (!op.hasRowSums() || !rejected.columnTile)
      spilling = std::min(
          spilling,
          (1 - registerStep) *
              predictRegisterShare(getFeatures(program, rejected, chip), chip));
  return spilling;
}

void Ranking::findCandidates(function_ref<bool(Candidates &)> take) {
  constexpr double any = std::numeric_limits<double>::infinity();
  double spilling = getSpillingShare();
  // Rows of 17 accesses leave many lanes idle unless a few have all columns,
  // for which there are no registers: then accesses are as wide as a register.
  // In the canonical order there are no two passes over rows: the model of
  // registers, which is no more than that, then only says what comes first.
  // Of blocks apart, which one wave has, it counts what repeats along the row
  // as if each element were another.
  SmallVector<std::pair<int64_t, double>> bounds{
      {accessBytes, isOfWave ? any : mostShare},
      {int64_t(sizeof(float)), mostShare}};
  if (isAMD)
    bounds.insert(bounds.begin() + 1, {accessBytes, mostUncertainRegisters});
  if (hasLeaves)
    bounds.push_back({accessBytes, any});
  for (auto [bytes, bound] : bounds) {
    Candidates found;
    auto add = [&, bound = bound](const Schedule &each) {
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
      Schedule &fields = found.fields.emplace_back(each);
      fields.combineRadix = chooseCombineRadix(op, fields);
      // A tile of all rows has all leaves of its columns.
      bool isWhole = each.columnTile && !each.rowsPerWorkgroup &&
                     !each.workgroupsPerComputeUnit;
      if (hasLeaves && !isWhole)
        fields.rowsPerWorkgroup =
            getLeastLeafRows(op.getRowLength(), fields.rowGroups);
    };
    forEachOfWholeRows(bytes, add);
    // Sums of columns that no row holds together.
    if (hasSums && !op.hasRowSums() && op.getScalarOuts().empty())
      forEachOfTiles(add);
    if (take(found))
      return;
  }
}

SmallVector<size_t> Ranking::sort(Candidates &found,
                                  SmallVectorImpl<double> &times) {
  times.assign(found.fields.size(), 0);
  if (!hasLeaves)
    times = predictMicroseconds(program, found.features, chip);
  // Rules that each breaks, its time, and its number: of those that are as good
  // the first, whatever the last bits of a double say.
  SmallVector<std::tuple<int64_t, float, size_t>, 0> order;
  for (auto [i, fields] : llvm::enumerate(found.fields)) {
    if (hasLeaves)
      times[i] = takeLeaves(fields);
    times[i] += getAddedMicroseconds(fields);
    order.emplace_back(countBrokenRules({*this, fields, found.features[i],
                                         found.registerShares[i]}),
                       float(times[i]), i);
  }
  llvm::sort(order);
  return llvm::map_to_vector(order,
                             [](auto &each) { return std::get<2>(each); });
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

namespace {
/// The schedules that are chosen of those that are offered.
struct Choice {
  Choice(const ScheduleRequest &request, size_t count)
      : request(request), op(request.op), count(count) {}

  /// Takes `fields` if they can run and were not rejected. Returns whether
  /// there are enough.
  bool offer(const Schedule &fields, double microseconds = 0);
  void offerRanked(int64_t rows);
  /// Offers schedules of one kind after another, until there are some.
  void run();

  ScheduleRequest request;
  RowwiseOp op;
  size_t count;
  SmallVector<RankedSchedule> chosen;
  /// The last that was offered, whether it can run or not.
  std::optional<Schedule> last;
};
} // namespace

bool Choice::offer(const Schedule &fields, double microseconds) {
  last = fields;
  // What is left when splits are summed is what may have spilled.
  Schedule ofRest = fields;
  ofRest.rowSplits = 0;
  if (canRun(op, fields, request.chip) && !isRejected(op, ofRest))
    chosen.push_back({microseconds, fields});
  return chosen.size() >= count;
}

void Choice::offerRanked(int64_t rows) {
  Ranking ranking(op, request.chip, rows);
  ranking.findCandidates([&](Candidates &found) {
    SmallVector<double, 0> times;
    for (size_t i : ranking.sort(found, times))
      if (offer(found.fields[i], times[i]))
        break;
    return !chosen.empty();
  });
}

void Choice::run() {
  ScheduleSpace space{op, request.chip, request.rows};
  auto take = [&](const Schedule &each) { return offer(each); };
  // Such a program has no others: if none can run, the last is taken, and
  // checkSchedule says why it cannot.
  if (request.summed || request.splits > 0) {
    if (request.summed)
      forEachOfSummedParts(space, request.summed, take);
    else
      forEachOfSplits(space, request.splits, take);
    if (chosen.empty())
      chosen.push_back({0, *last});
    return;
  }
  forEachOfSplits(space, /*splits=*/0, take);
  if (chosen.empty())
    forEachOfPieces(space, take);
  if (chosen.empty())
    forEachOfHeldRows(space, take);
  // Whole rows and tiles of columns.
  if (chosen.empty())
    offerRanked(request.rows);
  // Whether rows take two passes was decided for a usual number of them.
  if (chosen.empty() && request.rows > 0)
    offerRanked(/*rows=*/0);
  if (chosen.empty())
    forEachOfLongRows(space, take);
}

std::optional<Schedule> lnbwd::chooseSchedule(const ScheduleRequest &request) {
  Choice choice(request, /*count=*/1);
  choice.run();
  if (choice.chosen.empty())
    return std::nullopt;
  return choice.chosen.front().schedule;
}

SmallVector<RankedSchedule> lnbwd::rankSchedules(const ScheduleRequest &request,
                                                 int64_t count) {
  Choice choice(request, size_t(std::max<int64_t>(count, 0)));
  if (count > 0)
    choice.offerRanked(request.rows);
  return choice.chosen;
}

std::optional<Schedule>
ScheduleChoices::choose(const ScheduleRequest &request) {
  if (request.rows || request.splits || request.summed)
    return chooseSchedule(request);
  auto [known, isNew] = ofUsualRows.try_emplace(request.op);
  if (isNew)
    known->second = chooseSchedule(request);
  return known->second;
}

bool ScheduleChoices::takesTwoPasses(const ScheduleRequest &request,
                                     bool mayBeFaster) {
  return (mayBeFaster &&
          isFasterInTwo(request.op, request.chip, request.rows)) ||
         !choose({request.op, request.chip});
}
