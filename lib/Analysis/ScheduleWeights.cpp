//===- ScheduleWeights.cpp - What the rules hold against a schedule -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The weights of the rules, and what they are applied to. What differs between
// chips is in the chip table; what is a constant here was measured on an H200,
// or counted, and the weights of getCost were set by hand.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ScheduleWeights.h"

#include "lnbwd/Analysis/ScheduleLimits.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace lnbwd;

/// Registers by which the estimate may fall short where one more would cost a
/// workgroup.
static constexpr int64_t spareRegisters = 4;
/// Accesses of a lane to its part of a row, at most, before a row that several
/// workgroups share takes more lanes.
static constexpr int64_t sharedAccesses = 4;
/// Accesses of a lane to its part of a row, at least, before getCost counts
/// that it has too little to do: within a wave, and where waves exchange sums,
/// which each lane should have more of its own to add up for.
static constexpr double leastAccesses = 1, leastExchangedAccesses = 2;
/// Bits of a partial sum, a float32, that are written and read.
static constexpr double partialBits = 2 * 32;
/// Bytes of partial sums are this much dearer than those of rows: they travel
/// when nothing else is under way.
static constexpr double partialWeight = 1.6;
/// The weights of getCost, set by hand and not fitted. All are in the unit of
/// its result, a share of the ideal time of a program: for each time that a
/// lane has as much or as little to do again,
static constexpr double ratioWeight = 0.25;
/// for a row that waves exchange sums of,
static constexpr double exchangeCost = 0.1;
/// for each doubling of the workgroups that share a row, with rows of less than
/// 32 bits and with others,
static constexpr double narrowSharingCost = 0.25, wideSharingCost = 0.35;
/// for each doubling of an exchange beyond the chip's short ones,
static constexpr double longExchangeCost = 0.45;
/// for a staged narrow row that is alone on its compute unit,
static constexpr double aloneCost = 0.3;
/// for staging with no lanes at all of the `stagedThreads` that it aims at,
static constexpr double quietWeight = 0.3;
/// and for no row in flight while another is worked on.
static constexpr double notInFlightCost = 0.5;
/// Where iterations are weighed (modelsIterations), by predicted times of an
/// MI300X (docs/schedules.md): for lanes that are idle,
static constexpr double iterationIdleWeight = 0.3;
/// for a row that waves exchange sums of,
static constexpr double iterationExchangeCost = 0.05;
/// for each halving of the work-items of a compute unit below a wave for each
/// of its SIMDs,
static constexpr double fewItemsCost = 0.02;
/// for the first rows of a workgroup, which come while nothing else is done,
/// over all of its rows,
static constexpr double fillWeight = 0.1;
/// and at most, for rows that do not come out even: with very few rows all
/// schedules leave compute units without any.
static constexpr double mostUneven = 0.5;

double lnbwd::getResident(RowwiseOp op, ScheduleAttr schedule,
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

bool lnbwd::modelsIterations(RowwiseOp op, const ChipInfo &chip) {
  return chip.model.registerBytesInFlight && op.hasRowSums() &&
         !op.getAllSums().empty() && op.getStaticRowCount().value_or(0) > 0;
}

/// Bytes of rows that the workgroups on a compute unit have in flight, or on
/// hand, in registers.
static double getBytesInFlight(RowwiseOp op, ScheduleAttr schedule,
                               const ChipInfo &chip) {
  double workgroups = std::min(getResident(op, schedule, chip),
                               double(schedule.getWorkgroupsPerComputeUnit()));
  int64_t rowTiles = modelsIterations(op, chip) ? schedule.getUnroll() : 1;
  return workgroups * double(schedule.getThreads() * getChunks(op, schedule) *
                             schedule.getVectorWidth() *
                             getColumnBits(op.getRows()) / 8 * rowTiles);
}

bool lnbwd::isStarved(RowwiseOp op, ScheduleAttr schedule,
                      const ChipInfo &chip) {
  return chip.model.registerBytesInFlight && !schedule.getReload() &&
         getBytesInFlight(op, schedule, chip) <
             double(chip.model.registerBytesInFlight);
}

/// Bytes of partial column sums that are written and read, over those of the
/// rows; 0 where the number of rows is not known.
static double getPartialShare(RowwiseOp op, ScheduleAttr schedule,
                              const ChipInfo &chip) {
  int64_t rows = op.getStaticRowCount().value_or(0);
  int64_t groups = op.getStaticGroupCount().value_or(0);
  if (rows == 0 || groups == 0 || !schedule.getRowsPerWorkgroup() ||
      !schedule.getWorkgroupsPerComputeUnit())
    return 0;
  int64_t partialRows =
      groups *
      std::min(
          llvm::divideCeil(rows / groups, schedule.getRowsPerWorkgroup()),
          llvm::divideCeil(uint64_t(chip.computeUnits *
                                    schedule.getWorkgroupsPerComputeUnit()),
                           uint64_t(schedule.getWorkgroupsPerRow() * groups)));
  int64_t rowBits =
      getColumnBits(op.getRows()) + getColumnBits(op.getRowOuts());
  return partialBits * double(op.getAllSums().size()) * double(partialRows) /
         (double(rows) * double(rowBits));
}

/// Tiles of rows that a workgroup works on in an iteration of its loop.
static int64_t getTilesPerIteration(ScheduleAttr schedule) {
  return schedule.getPrefetch() ? schedule.getUnroll() : 1;
}

/// Rows that come first to a compute unit, over all of its rows; there are
/// `rows` in all.
static double getFillShare(ScheduleAttr schedule, const ChipInfo &chip,
                           int64_t rows) {
  int64_t first = schedule.getRowGroups() * getTilesPerIteration(schedule) *
                  schedule.getWorkgroupsPerComputeUnit() * chip.computeUnits;
  return std::min(1.0, double(first) / double(rows));
}

/// Rows that the compute unit with the most has to do, over an equal share of
/// all `rows`, less 1. An iteration of several tiles of rows that is not full
/// costs about half of what is missing.
static double getUnevenShare(ScheduleAttr schedule, const ChipInfo &chip,
                             int64_t rows) {
  int64_t workgroups =
      chip.computeUnits * schedule.getWorkgroupsPerComputeUnit();
  if (int64_t least = schedule.getRowsPerWorkgroup())
    workgroups = std::min(workgroups, int64_t(llvm::divideCeil(rows, least)));
  auto ofBusiest = [&](int64_t atOnce) {
    return double(llvm::divideCeil(rows, workgroups * atOnce) * atOnce *
                  llvm::divideCeil(workgroups, chip.computeUnits));
  };
  int64_t groups = schedule.getRowGroups();
  double most =
      (ofBusiest(groups) + ofBusiest(groups * getTilesPerIteration(schedule))) /
      2;
  return std::min(mostUneven,
                  most * double(chip.computeUnits) / double(rows) - 1);
}

double lnbwd::getCost(RowwiseOp op, ScheduleAttr schedule,
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
  bool turnsCount = modelsIterations(op, chip);
  double fewest =
      fitsWave || turnsCount ? leastAccesses : leastExchangedAccesses;
  bool isShared = schedule.getWorkgroupsPerRow() > 1;
  double ratio = std::max(
      {1.0, fewest / accesses,
       fitsWave ? elements / double(chip.model.waveElements)
                : accesses / double(isShared ? sharedAccesses
                                             : chip.model.exchangeAccesses)});
  bool inFlight = schedule.getPrefetch() || schedule.getStages();
  // Sharing a row costs a longer exchange, and gains room for a second row
  // beside it, which halves the barriers. Lanes with rows of float32 have half
  // as much to do between two of those, and did not gain on an H200.
  bool isNarrow = op.getRowElementBits() < 32;
  auto doublings = double(llvm::Log2_64(schedule.getWorkgroupsPerRow()));
  double sharing = (isNarrow ? narrowSharingCost : wideSharingCost) * doublings;
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
  int64_t shortExchange = chip.model.shortExchange;
  double longExchange =
      shortExchange && exchanged > shortExchange
          ? longExchangeCost *
                std::log2(double(exchanged) / double(shortExchange))
          : 0;
  double iterations = 0;
  if (turnsCount) {
    idle *= iterationIdleWeight;
    int64_t rows = *op.getStaticRowCount();
    auto items =
        double(schedule.getThreads() * schedule.getWorkgroupsPerComputeUnit());
    iterations =
        getUnevenShare(schedule, chip, rows) +
        fillWeight * getFillShare(schedule, chip, rows) +
        fewItemsCost * std::max(0.0, std::log2(double(fewItems) / items));
  }
  double starved = 0;
  if (isStarved(op, schedule, chip))
    starved = double(chip.model.registerBytesInFlight) /
                  std::max(1.0, getBytesInFlight(op, schedule, chip)) -
              1;
  return starved + iterations + idle + ratioWeight * (ratio - 1) +
         (fitsWave     ? 0
          : turnsCount ? iterationExchangeCost
                       : exchangeCost) +
         sharing + longExchange + (isAlone ? aloneCost : 0) +
         quietWeight * quiet +
         partialWeight * getPartialShare(op, schedule, chip) +
         (inFlight ? 0 : notInFlightCost);
}
