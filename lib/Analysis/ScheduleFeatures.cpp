//===- ScheduleFeatures.cpp - What the learned model sees -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quotients that trees, which compare one number at a time, cannot form. The
// constants make units of them and were not fitted.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ScheduleFeatures.h"

#include "lnbwd/Analysis/RowPhases.h"
#include "lnbwd/Analysis/ScheduleLimits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace lnbwd;

/// Rows of an operand whose number is not known: as many as move so many bytes.
static constexpr double usualBytes = 128 * 1024 * 1024;
/// Groups of rows, where nothing says how many there are.
static constexpr double usualGroups = 8;
/// Instructions of a wave for a function, and for a step of a reduction.
static constexpr double functionInstructions = 8, stepInstructions = 3;
/// From a load to its value, and an exchange between waves, in microseconds.
static constexpr double loadMicroseconds = 0.6, exchangeMicroseconds = 0.3;
/// Workgroups of a compute unit where the grid has no bound, at most.
static constexpr double mostResident = 32;
static constexpr double floatSize = sizeof(float);

/// Whether an operation takes one instruction for each element or so.
static bool isOperation(Operation *op) {
  if (isa<vector::FMAOp>(op))
    return true;
  return isa<arith::ArithDialect>(op->getDialect()) &&
         !isa<arith::ConstantOp, arith::ExtFOp, arith::TruncFOp,
              arith::BitcastOp>(op);
}

ProgramFacts ProgramFacts::of(RowwiseOp op, int64_t rows) {
  ProgramFacts facts = {};
  facts.length = double(op.getRowLength());
  facts.rowsRead = double(op.getRows().size() + op.getTables().size());
  facts.sums = double(op.getAllSums().size());
  facts.bytesRead =
      double(getColumnBits(op.getRows()) + getColumnBits(op.getTables())) / 8;
  facts.bytesWritten = double(getColumnBits(op.getRowOuts())) / 8;
  facts.across = getAcrossBlocks(op);
  facts.hasOddPieces = lnbwd::hasOddPieces(op);
  for (const AcrossBlock &block : facts.across)
    facts.bytesAcross += double(block.elementBytes);
  facts.columnBytes = double(getColumnBits(op.getAllColumns())) / 8;
  if (std::optional<int64_t> count = op.getStaticRowCount())
    rows = std::max<int64_t>(1, *count);
  if (rows <= 0)
    rows = std::max<int64_t>(
        1, int64_t(usualBytes /
                   (std::max(facts.bytesRead + facts.bytesWritten, 1.0) *
                    facts.length)));
  facts.rows = double(rows);
  facts.groups = 1;
  if (op.hasGroups())
    facts.groups = double(op.getStaticGroupCount().value_or(usualGroups));
  RowPhases phases(op);
  facts.phases = double(phases.getCount() - 1);
  for (Operation &bodyOp : op.getBody().front()) {
    facts.rowSums += double(bool(getSummedRow(&bodyOp)));
    if (bodyOp.getNumResults() != 1 ||
        !isa<VectorType>(bodyOp.getResult(0).getType()))
      continue;
    if (isOperation(&bodyOp))
      ++facts.operations;
    else if (isa<math::MathDialect>(bodyOp.getDialect()) &&
             !isa<math::AbsFOp, math::FmaOp, math::CopySignOp, math::SqrtOp,
                  math::RsqrtOp>(bodyOp))
      ++facts.functions;
  }
  for (BlockArgument column : op.getBody().front().getArguments().slice(
           op.getRows().size(), op.getAllColumns().size()))
    if (!phases.isNeededAtFirst(column))
      facts.lateColumnBytes +=
          double(cast<VectorType>(column.getType()).getElementTypeBitWidth()) /
          8;
  return facts;
}

double ProgramFacts::getRooflineMicroseconds(const ChipInfo &chip) const {
  return rows * length * std::max(bytesRead + bytesWritten, 1.0) /
         (double(chip.limits.gigabytesPerSecond) * 1e3);
}

static float log2Of(double value) {
  return float(std::log2(std::max(value, 1e-6)));
}

namespace {
/// What the features are computed from: each number from those above it.
struct FeatureTerms {
  const ProgramFacts &program;
  const Schedule &schedule;
  const ChipInfo &chip;

  double units = double(chip.computeUnits), wave = double(chip.waveSize);
  double lanes = double(schedule.threadsPerRow);
  double groups = double(schedule.rowGroups);
  double width = double(schedule.vectorWidth);
  double split = double(schedule.workgroupsPerRow);
  double bytes = std::max(program.bytesRead + program.bytesWritten, 1.0);
  double elementBytes = program.rowsRead > 0
                            ? program.bytesRead / program.rowsRead
                            : std::max(program.bytesWritten, floatSize);
  double roofline = program.getRooflineMicroseconds(chip);

  // A workgroup: its lanes and their elements of a row.
  double columns = double(
      schedule.columnTile
          ? schedule.columnTile
          : getSharedColumns(getCoveredColumns(int64_t(program.length),
                                               schedule.vectorWidth),
                             schedule.workgroupsPerRow, schedule.vectorWidth));
  double tiles = schedule.columnTile ? std::ceil(program.length / columns) : 1;
  double waves = std::ceil(lanes * groups / wave);
  double accesses = std::ceil(columns / (lanes * width));
  double elements = accesses * width;
  double rowWaves = std::ceil(lanes / wave);
  bool isExchanged = program.rowSums > 0 &&
                     countExchangeSlots(schedule.threadsPerRow,
                                        schedule.rowGroups,
                                        schedule.lanesAcross,
                                        schedule.workgroupsPerRow,
                                        chip.waveSize) > 1;
  bool isShifted =
      schedule.stages &&
      (std::fmod(columns * elementBytes, 16) != 0 ||
       (split > 1 && std::fmod(program.length * elementBytes, 16) != 0));

  // What of it a compute unit has room for.
  double packed =
      schedule.prefetch && !schedule.stages ? 1 + double(schedule.unroll) : 1;
  double inFlight = schedule.stages ? double(schedule.stages) : packed;
  double registers =
      double(fixedRegisters) +
      elements *
          (double(liveRows) + program.sums +
           (program.columnBytes + packed * program.bytesRead) / floatSize);
  double granule = double(chip.limits.registerGranule);
  double ofUnit = wave * double(chip.registersPerSimdLane) *
                  double(chip.limits.simdsTogether);
  double limit = double(getMeanRegisterLimit(int64_t(lanes * groups), chip));
  double taken =
      std::ceil(std::min(registers, std::max(limit, 1.0)) / granule) * granule;
  double rowBytes = groups * columns * program.bytesRead;
  double combinedBytes =
      groups > 1
          ? columns *(floatSize *program.sums * groups * 0.75 +
                      program.columnBytes +
                      (schedule.lanesAcross ? 0 : groups * program.bytesAcross))
          : 0;
  double sharedShare = (double(reservedSharedBytes) +
                        double(schedule.stages) * rowBytes + combinedBytes) /
                       double(chip.limits.computeUnitSharedMemoryBytes);
  double room = std::max(
      1.0, std::min({std::floor(ofUnit / (taken * waves * wave)) /
                         double(chip.limits.computeUnitsTogether),
                     double(chip.limits.computeUnitThreads) / (waves * wave),
                     std::floor(1 / sharedShare)}));

  // The grid, and how often it fills the chip.
  double ofWorkgroup = schedule.rowsPerWorkgroup
                           ? double(schedule.rowsPerWorkgroup)
                           : program.rows / program.groups;
  bool isBounded =
      schedule.workgroupsPerComputeUnit && schedule.rowsPerWorkgroup;
  double together =
      isBounded ? double(schedule.workgroupsPerComputeUnit) : mostResident;
  double wanted = std::ceil(program.rows / ofWorkgroup);
  double grid =
      isBounded
          ? std::max(1.0, std::min(wanted, std::floor(together *units / split)))
          : wanted;
  double workgroups = grid * split * tiles;
  double resident = std::min({room, together, std::ceil(workgroups / units)});
  double rounds = std::max(1.0, workgroups / (units * resident));
  double iterations = std::ceil(program.rows / (grid * groups));
  double busiest = std::ceil(workgroups / units) * iterations * groups * units /
                   (program.rows * split * tiles);

  // What it issues and waits for, over the time of its bytes.
  double perRow =
      accesses * (program.rowsRead + 1) +
      elements * (program.operations + program.sums + program.rowSums +
                  functionInstructions * program.functions) +
      program.rowSums * stepInstructions * std::log2(std::min(lanes, wave));
  double issue =
      program.rows * split * tiles * std::max(lanes / wave, 1 / groups) *
      perRow /
      (std::min(workgroups, units) * double(chip.limits.simdsTogether) *
       double(chip.limits.megahertz));
  double latency =
      std::ceil(rounds) * iterations *
      (loadMicroseconds / inFlight +
       (isExchanged ? exchangeMicroseconds * std::max(1.0, program.phases)
                    : 0));
  double launched = roofline + launchMicroseconds;
  double turns =
      std::ceil(iterations / (schedule.prefetch ? 1 : double(schedule.unroll)));
  double estimate = std::max(roofline * std::clamp(busiest, 1.0, 50.0), issue) +
                    latency + launchMicroseconds;
  double accessLanes = std::min(schedule.lanesAcross ? groups : lanes, wave) *
                       width * elementBytes / double(lineBytes);
  bool isApart = std::fmod(columns * elementBytes, double(lineBytes)) != 0;
  // A workgroup that has all rows of its columns leaves no partial sums.
  double partials = schedule.rowsPerWorkgroup ? grid : 0;

  int64_t countAcross(RowAccess access) const {
    return schedule.lanesAcross
               ? 0
               : countBlocks(program.across, access, schedule.threadsPerRow,
                             schedule.rowGroups, chip);
  }
  ScheduleFeatures get() const {
    return {
#define LNBWD_FEATURE(name, value) float(value),
#include "lnbwd/Analysis/ScheduleFeatures.def"
    };
  }
};
} // namespace

int64_t lnbwd::countResidentWorkgroups(RowwiseOp op, const Schedule &schedule,
                                       const ChipInfo &chip) {
  ProgramFacts program = ProgramFacts::of(op, /*rows=*/0);
  return int64_t(FeatureTerms{program, schedule, chip}.room);
}

ScheduleFeatures lnbwd::getFeatures(const ProgramFacts &program,
                                    const Schedule &schedule,
                                    const ChipInfo &chip) {
  return FeatureTerms{program, schedule, chip}.get();
}
