//===- CostModel.cpp - What a schedule costs ------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The terms of the model. Their parameters are in CostParameters.json.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/CostModel.h"

#include "CostTable.h"
#include "CostTerms.h"
#include "lnbwd/Analysis/ScheduleLimits.h"
#include "lnbwd/Analysis/StageLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace lnbwd;

/// Schedulers of a compute unit, among which its registers are divided and each
/// of which issues one instruction of a wave a clock.
static constexpr double schedulers = 4;
/// What of the groups' sums lies in shared memory while they are combined.
static constexpr double combinedShare = 0.75;
/// Bytes that a compute unit stages, of which `crowding` is the cost: a unit,
/// not fitted.
static constexpr double crowdingBytes = 128 * 1024;
/// A partial sum of a column is written, and read.
static constexpr double partialAccesses = 2;
/// A unit of the parameters.
static constexpr double bytesOfKib = 1024;
/// Bytes of a line of the first-level cache, which handles one at a time.
static constexpr double lineBytes = 128;
/// Bytes that the second-level cache holds.
static constexpr double cachedBytes = 50e6;
/// Parts of the chip within which a cluster lies, by their compute units: the
/// runtime starts no more clusters than these have room for.
static constexpr std::pair<double, double> clusterParts[] = {{6, 16}, {2, 18}};
/// Errors of the estimate of registers, over which residency is averaged.
static constexpr double registerErrors[] = {-6, 0, 6};
/// Registers of a lane, at least, whatever the estimate comes to; not fitted.
static constexpr double leastRegisters = 24;
/// Registers over which the cost of too many sets in.
static constexpr double spillScale = 8;
/// Workgroups that a compute unit takes at once, whatever they need.
static constexpr double mostResident = 32;
/// Part of an iteration that is neglected where averages are rounded up.
static constexpr double iterationTolerance = 0.0503;

//===----------------------------------------------------------------------===//
// The parameters
//===----------------------------------------------------------------------===//

static constexpr std::pair<llvm::StringLiteral, double CostParameters::*>
    parameterNames[] = {
        {"launch_us", &CostParameters::launchUs},
        {"late_us", &CostParameters::lateUs},
        {"finalize_us", &CostParameters::finalizeUs},
        {"bandwidth_tb_per_s", &CostParameters::bandwidth},
        {"partial_bandwidth_tb_per_s", &CostParameters::partialBandwidth},
        {"column_share", &CostParameters::columnShare},
        {"load_us", &CostParameters::loadUs},
        {"staged_us", &CostParameters::stagedUs},
        {"copy_us", &CostParameters::copyUs},
        {"fetched_us", &CostParameters::fetchedUs},
        {"unrolled_share", &CostParameters::unrolledShare},
        {"iteration_us", &CostParameters::iterationUs},
        {"independent_iteration_us", &CostParameters::independentIterationUs},
        {"issue_share", &CostParameters::issueShare},
        {"exchanged_us", &CostParameters::exchangedUs},
        {"cluster_us", &CostParameters::clusterUs},
        {"row_instructions", &CostParameters::rowInstructions},
        {"shuffle_instructions", &CostParameters::shuffleInstructions},
        {"access_instructions", &CostParameters::accessInstructions},
        {"line_instructions", &CostParameters::lineInstructions},
        {"independent_line_instructions",
         &CostParameters::independentLineInstructions},
        {"element_instructions", &CostParameters::elementInstructions},
        {"function_instructions", &CostParameters::functionInstructions},
        {"shifted_instructions", &CostParameters::shiftedInstructions},
        {"spill_share", &CostParameters::spillShare},
        {"workgroup_us", &CostParameters::workgroupUs},
        {"thread_us", &CostParameters::threadUs},
        {"dispatch_us", &CostParameters::dispatchUs},
        {"apart_share", &CostParameters::apartShare},
        {"apart_kib", &CostParameters::apartKib},
        {"late_load_us", &CostParameters::lateLoadUs},
        {"late_load_share", &CostParameters::lateLoadShare},
        {"late_load_exponent", &CostParameters::lateLoadExponent},
        {"apart_threads", &CostParameters::apartThreads},
        {"apart_columns", &CostParameters::apartColumns},
        {"late_load_columns", &CostParameters::lateLoadColumns},
        {"apart_narrow_columns", &CostParameters::apartNarrowColumns},
        {"stage_us", &CostParameters::stageUs},
        {"unrolled_us", &CostParameters::unrolledUs},
        {"cluster_start_us", &CostParameters::clusterStartUs},
        {"combine_us", &CostParameters::combineUs},
        {"crowding", &CostParameters::crowding},
        {"stream_share", &CostParameters::streamShare},
        {"stay_share", &CostParameters::stayShare},
        {"limit_exponent", &CostParameters::limitExponent},
        {"iteration_exponent", &CostParameters::iterationExponent},
        {"registers", &CostParameters::registers},
        {"element_registers", &CostParameters::elementRegisters},
        {"sum_registers", &CostParameters::sumRegisters},
        {"column_registers", &CostParameters::columnRegisters},
        {"summed_column_registers", &CostParameters::summedColumnRegisters},
        {"widened_registers", &CostParameters::widenedRegisters},
        {"prefetched_registers", &CostParameters::prefetchedRegisters},
        {"unrolled_registers", &CostParameters::unrolledRegisters},
        {"grouped_registers", &CostParameters::groupedRegisters},
        {"exchanged_registers", &CostParameters::exchangedRegisters},
        {"staged_registers", &CostParameters::stagedRegisters},
        {"apart_registers", &CostParameters::apartRegisters},
        {"apart_element_registers", &CostParameters::apartElementRegisters},
        {"apart_column_registers", &CostParameters::apartColumnRegisters},
        {"late_load_registers", &CostParameters::lateLoadRegisters},
        {"late_load_element_registers",
         &CostParameters::lateLoadElementRegisters},
        {"late_load_phase_registers", &CostParameters::lateLoadPhaseRegisters},
        {"late_load_grouped_registers",
         &CostParameters::lateLoadGroupedRegisters},
        {"register_squeeze", &CostParameters::registerSqueeze},
};

const CostParameters *lnbwd::getCostParameters(const ChipInfo &chip) {
  static const llvm::StringMap<CostParameters> chips =
      readCostSection("chips", parameterNames);
  auto found = chips.find(chip.name);
  return found == chips.end() ? nullptr : &found->second;
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// Whether an operation takes one instruction for each element or so.
static bool isOperation(Operation *op) {
  if (isa<vector::FMAOp>(op))
    return true;
  return isa<arith::ArithDialect>(op->getDialect()) &&
         !isa<arith::ConstantOp, arith::ExtFOp, arith::TruncFOp,
              arith::BitcastOp>(op);
}

/// Whether a row needs `column` before it waits for its first sum. `after` has
/// how many sums each value waits for.
static bool isNeededAtFirst(BlockArgument column,
                            const DenseMap<Value, int64_t> &behind) {
  SetVector<Value> needing;
  needing.insert(column);
  for (size_t i = 0; i < needing.size(); ++i)
    for (Operation *user : needing[i].getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>() || getSummedRow(user))
        return true;
      for (Value result : user->getResults())
        if (behind.lookup(result) == 0)
          needing.insert(result);
    }
  return false;
}

ProgramCosts ProgramCosts::of(RowwiseOp op, int64_t rows) {
  ProgramCosts costs = {};
  costs.length = double(op.getRowLength());
  costs.rows = double(rows);
  costs.rowsRead = double(op.getRows().size());
  costs.rowsWritten = double(op.getRowOuts().size());
  costs.columns = double(op.getAllColumns().size());
  costs.sums = double(op.getAllSums().size());
  costs.bytesRead = double(getColumnBits(op.getRows())) / 8;
  costs.bytesWritten = double(getColumnBits(op.getRowOuts())) / 8;
  costs.columnBytes = double(getColumnBits(op.getAllColumns())) / 8;
  // How many row sums a value waits for, one after the other.
  DenseMap<Value, int64_t> behind;
  for (Operation &bodyOp : op.getBody().front()) {
    int64_t depth = 0;
    for (Value operand : bodyOp.getOperands())
      depth = std::max(depth, behind.lookup(operand));
    if (getSummedRow(&bodyOp)) {
      ++costs.rowSums;
      ++depth;
      costs.phases = std::max(costs.phases, double(depth));
    }
    for (Value result : bodyOp.getResults())
      behind[result] = depth;
    if (bodyOp.getNumResults() != 1 ||
        !isa<VectorType>(bodyOp.getResult(0).getType()))
      continue;
    if (isOperation(&bodyOp))
      ++costs.operations;
    else if (isa<math::MathDialect>(bodyOp.getDialect()) &&
             !isa<math::AbsFOp, math::FmaOp, math::CopySignOp, math::SqrtOp,
                  math::RsqrtOp>(bodyOp))
      ++costs.functions;
  }
  Block::BlockArgListType columns = op.getBody().front().getArguments().slice(
      op.getRows().size(), op.getAllColumns().size());
  for (BlockArgument column : columns)
    if (!isNeededAtFirst(column, behind))
      costs.lateColumnBytes +=
          double(cast<VectorType>(column.getType()).getElementTypeBitWidth()) /
          8;
  return costs;
}

//===----------------------------------------------------------------------===//
// The terms
//===----------------------------------------------------------------------===//

namespace {
/// What follows from a schedule.
struct Shape {
  double threads, waves, wavesOfScheduler, wavesPerRow, columns, chunks,
      elements;
  bool isStaged, isPrefetched, isUnrolled, isExchanged;

  Shape(const ProgramCosts &program, const ScheduleFields &schedule,
        const ChipInfo &chip)
      : threads(double(schedule.threadsPerRow * schedule.rowGroups)),
        waves(std::ceil(threads / double(chip.waveSize))),
        wavesOfScheduler(std::ceil(waves / schedulers)),
        wavesPerRow(
            std::ceil(double(schedule.threadsPerRow) / double(chip.waveSize))),
        columns(double(getSharedColumns(int64_t(program.length),
                                        schedule.workgroupsPerRow,
                                        schedule.vectorWidth))),
        chunks(std::ceil(
            columns / double(schedule.threadsPerRow * schedule.vectorWidth))),
        elements(chunks * double(schedule.vectorWidth)),
        isStaged(schedule.stages > 0),
        isPrefetched(!isStaged && schedule.prefetch > 0),
        isUnrolled(isPrefetched && schedule.unroll == 2),
        isExchanged(schedule.threadsPerRow > chip.waveSize ||
                    schedule.workgroupsPerRow > 1) {}
};

/// The workgroups of a launch: tiles of rows at once, workgroups that share a
/// compute unit, and how often these fill the chip: whole, and what the last
/// time lacks to be whole.
struct Residency {
  double grid = 0, resident = 0, waves = 0, rest = 0;
};
} // namespace

/// Whether workgroups share rows that do not all begin where a copy can.
static bool sharesApart(const ProgramCosts &program,
                        const ScheduleFields &schedule, double elementBytes) {
  return schedule.workgroupsPerRow > 1 &&
         std::fmod(program.length * elementBytes, double(bulkCopyUnit)) != 0;
}

/// Cache lines that an access of a wave to a row block touches. A slice of a
/// row begins no better than the row.
static double countLines(const ProgramCosts &program, const Shape &shape,
                         const ScheduleFields &schedule, const ChipInfo &chip,
                         double elementBytes) {
  auto wave = double(chip.waveSize);
  double lanes = std::min(double(schedule.threadsPerRow), wave);
  double share =
      lanes * double(schedule.vectorWidth) * elementBytes / lineBytes;
  bool isApart = std::fmod(shape.columns * elementBytes, lineBytes) != 0 ||
                 sharesApart(program, schedule, elementBytes);
  return wave / lanes *
         std::max(std::ceil(share), share + (isApart ? 1.0 : 0.0));
}

/// Whether the rows of a workgroup do not all begin where a copy can.
static bool isShifted(const ProgramCosts &program, const Shape &shape,
                      const ScheduleFields &schedule) {
  double elementBytes = program.bytesRead / std::max(program.rowsRead, 1.0);
  return std::fmod(shape.columns * elementBytes, double(bulkCopyUnit)) != 0 ||
         sharesApart(program, schedule, elementBytes);
}

/// Registers of a compute unit's scheduler, for each lane of a wave.
static double getRegistersOfScheduler(const ChipInfo &chip) {
  return double(chip.registersPerComputeUnit) / schedulers /
         double(chip.waveSize);
}

/// Bytes of a column in the vectors that a kernel of one iteration loads after
/// the first sum over the row (lnbwd-sink-columns).
static double getLateColumnBytes(const ProgramCosts &program,
                                 const ScheduleFields &schedule,
                                 const ChipInfo &chip) {
  bool isLate = !schedule.workgroupsPerComputeUnit &&
                schedule.threadsPerRow > chip.waveSize;
  return isLate ? program.lateColumnBytes : 0;
}

/// Registers of a kernel of one iteration: nothing goes from row to row, and
/// vectors stay as they were loaded until they are needed, or come when they
/// are.
static double estimateApartRegisters(const ProgramCosts &program,
                                     const ScheduleFields &schedule,
                                     const ChipInfo &chip,
                                     const CostParameters &p,
                                     const Shape &shape) {
  if (getLateColumnBytes(program, schedule, chip) == 0)
    return p.apartRegisters +
           shape.elements *
               (p.apartElementRegisters +
                p.apartColumnRegisters * program.columnBytes / floatBytes);
  double perElement =
      p.lateLoadElementRegisters +
      p.lateLoadPhaseRegisters * std::max(program.phases - 1, 0.0);
  if (schedule.rowGroups > 1)
    perElement += p.lateLoadGroupedRegisters;
  return p.lateLoadRegisters + shape.elements * perElement;
}

RegisterEstimate lnbwd::estimateRegisters(const ProgramCosts &program,
                                          const ScheduleFields &schedule,
                                          const ChipInfo &chip,
                                          const CostParameters &p) {
  Shape shape(program, schedule, chip);
  // Without rows after it in flight a row is read when it is needed: in parts,
  // which go as soon as they are widened.
  double perPacked = shape.isUnrolled     ? p.unrolledRegisters
                     : shape.isPrefetched ? p.prefetchedRegisters
                                          : 0;
  double perElement =
      p.elementRegisters + p.sumRegisters * program.sums +
      (program.sums > 0 ? p.summedColumnRegisters : p.columnRegisters) *
          program.columns +
      perPacked * program.bytesRead / floatBytes;
  if (program.bytesRead == double(halfBytes) * program.rowsRead)
    perElement += p.widenedRegisters * program.rowsRead;
  if (schedule.rowGroups > 1)
    perElement += p.groupedRegisters;
  double needed = p.registers + shape.elements * perElement;
  if (shape.isExchanged)
    needed += p.exchangedRegisters;
  if (shape.isStaged && !isShifted(program, shape, schedule))
    needed += p.stagedRegisters;
  if (!schedule.workgroupsPerComputeUnit)
    needed = estimateApartRegisters(program, schedule, chip, p, shape);
  auto granule = double(chip.limits.registerGranule);
  double limit = std::floor(getRegistersOfScheduler(chip) /
                            shape.wavesOfScheduler / granule) *
                 granule;
  return {std::max(needed, leastRegisters),
          std::min(limit, double(chip.maxRegistersPerLane))};
}

/// What ptxas makes of `needed` registers: where one wave more would lie on a
/// scheduler with a little fewer, it finds these few.
static double squeezeRegisters(double needed, const ChipInfo &chip,
                               const CostParameters &p) {
  auto granule = double(chip.limits.registerGranule);
  double mostWaves = double(chip.limits.computeUnitThreads) /
                     double(chip.waveSize) / schedulers;
  for (double waves = mostWaves; waves > 1; --waves) {
    double step =
        std::floor(getRegistersOfScheduler(chip) / waves / granule) * granule;
    if (needed > step && needed <= p.registerSqueeze * step)
      return step;
  }
  return needed;
}

/// Averages over the errors of the estimate of registers.
static Residency estimateResidency(const ProgramCosts &program,
                                   const ScheduleFields &schedule,
                                   const ChipInfo &chip,
                                   const CostParameters &p, const Shape &shape,
                                   RegisterEstimate registers,
                                   double stageBytes) {
  auto computeUnits = double(chip.computeUnits);
  auto groups = double(schedule.rowGroups);
  auto split = double(schedule.workgroupsPerRow);
  auto granule = double(chip.limits.registerGranule);
  double shared = reservedSharedBytes + stageBytes;
  if (shape.isExchanged)
    shared +=
        exchangedRows * floatBytes * shape.waves * program.rowSums * split;
  if (schedule.rowGroups > 1)
    shared += shape.chunks * double(schedule.threadsPerRow) *
              double(schedule.vectorWidth) *
              (floatBytes * program.sums * groups * combinedShare +
               program.columnBytes);
  double byShared = std::max(
      1.0,
      std::floor(double(chip.limits.computeUnitSharedMemoryBytes) / shared));
  double byThreads =
      std::floor(double(chip.limits.computeUnitThreads) / shape.threads);
  double most = std::ceil(program.rows / double(schedule.rowsPerWorkgroup));
  double together = mostResident;
  if (schedule.workgroupsPerComputeUnit) {
    auto perComputeUnit = double(schedule.workgroupsPerComputeUnit);
    most = std::max(
        1.0, std::min(most, std::floor(perComputeUnit * computeUnits / split)));
    together = perComputeUnit;
  }

  // A kernel that loads vectors late keeps what it has, and so do rows of 32
  // bits that workgroups share: nothing of them is packed that could wait to be
  // widened.
  bool isSqueezed =
      getLateColumnBytes(program, schedule, chip) == 0 &&
      (split == 1 || program.bytesRead <= double(halfBytes) * program.rowsRead);
  Residency mean;
  constexpr double share = 1.0 / std::size(registerErrors);
  for (double error : registerErrors) {
    double needed = registers.needed + error;
    if (isSqueezed)
      needed = squeezeRegisters(needed, chip, p);
    double taken =
        granule *
        std::ceil(std::max(leastRegisters, std::min(needed, registers.limit)) /
                  granule);
    double byRegisters = std::max(
        1.0, std::floor(schedulers *
                        std::floor(getRegistersOfScheduler(chip) / taken) /
                        shape.waves));
    double room = std::min({byRegisters, byThreads, byShared, together});
    double grid = most;
    if (split > 1) {
      double clusters = 0;
      for (auto [count, units] : clusterParts)
        clusters += count * std::floor(units * room / split);
      grid = std::min(grid, std::max(1.0, clusters));
    }
    double workgroups = grid * split;
    double resident = std::min(room, std::ceil(workgroups / computeUnits));
    double waves = workgroups / (computeUnits * resident);
    if (split > 1)
      waves = std::min(1.0, waves);
    mean.grid += share * grid;
    mean.resident += share * resident;
    mean.waves += share * std::max(waves, 1.0);
    mean.rest += waves < 1 ? 0 : share * (std::ceil(waves) - waves);
  }
  return mean;
}

double lnbwd::predictMicroseconds(const ProgramCosts &program,
                                  const ScheduleFields &schedule,
                                  const ChipInfo &chip,
                                  const CostParameters &p) {
  Shape shape(program, schedule, chip);
  auto computeUnits = double(chip.computeUnits);
  auto threadsPerRow = double(schedule.threadsPerRow);
  auto groups = double(schedule.rowGroups);
  auto split = double(schedule.workgroupsPerRow);
  auto stages = double(schedule.stages);
  auto wave = double(chip.waveSize);
  auto megahertz = double(chip.limits.megahertz);

  // The grid, its waves, and the iterations of a workgroup.
  double rowBytes = groups * shape.columns * program.bytesRead;
  double stageBytes = stages * rowBytes;
  RegisterEstimate registers = estimateRegisters(program, schedule, chip, p);
  Residency residency = estimateResidency(program, schedule, chip, p, shape,
                                          registers, stageBytes);
  double workgroups = residency.grid * split;
  double waves = residency.waves + residency.rest;
  double iterations =
      std::ceil(program.rows / (residency.grid * groups) - iterationTolerance);

  // Instructions of a wave for its part of a row.
  double steps = std::log2(std::min(threadsPerRow, wave));
  double lines =
      program.rowsWritten *
      countLines(program, shape, schedule, chip,
                 program.bytesWritten / std::max(program.rowsWritten, 1.0));
  double readBytes = program.bytesRead / std::max(program.rowsRead, 1.0);
  if (!shape.isStaged)
    lines += program.rowsRead *
             countLines(program, shape, schedule, chip, readBytes);
  double perElement = p.elementInstructions * (program.operations +
                                               program.sums + program.rowSums) +
                      p.functionInstructions * program.functions;
  if (shape.isStaged && isShifted(program, shape, schedule))
    perElement += p.shiftedInstructions * program.rowsRead;
  double instructions = p.rowInstructions +
                        p.shuffleInstructions * steps * program.rowSums +
                        p.accessInstructions * shape.chunks *
                            (program.rowsRead + program.rowsWritten) +
                        (program.rowSums > 0 ? p.lineInstructions
                                             : p.independentLineInstructions) *
                            shape.chunks * lines +
                        shape.elements * perElement;
  instructions *=
      1 + p.spillShare *
              std::log1p(
                  std::exp((registers.needed - registers.limit) / spillScale));

  // The work of one iteration, and what it waits for.
  double work =
      (program.rowSums > 0 ? p.iterationUs : p.independentIterationUs) +
      p.issueShare * instructions * shape.wavesOfScheduler / megahertz;
  if (shape.isExchanged)
    work += program.phases * p.exchangedUs * shape.wavesPerRow * split;
  if (split > 1)
    work += program.phases * p.clusterUs;
  double fetch = p.fetchedUs * rowBytes / bytesOfKib;
  double iteration;
  if (shape.isStaged) {
    double staged = p.stagedUs + p.copyUs * groups * program.rowsRead + fetch;
    iteration = overlap(p.iterationExponent, {work, (staged + work) / stages});
  } else if (shape.isPrefetched) {
    iteration = overlap(
        p.iterationExponent,
        {work, (p.loadUs + fetch) * (shape.isUnrolled ? p.unrolledShare : 1)});
  } else {
    iteration = work + p.loadUs + fetch;
  }
  // Where each tile of rows has a workgroup of its own, others start while it
  // waits.
  bool isBounded = schedule.workgroupsPerComputeUnit != 0;
  double lateColumnBytes = getLateColumnBytes(program, schedule, chip);
  bool loadsColumnsLate = lateColumnBytes > 0;
  double waiting = waves * iterations * iteration *
                   (isBounded          ? 1
                    : loadsColumnsLate ? p.lateLoadShare
                                       : p.apartShare);

  // Instructions over all schedulers.
  double busy = std::min(workgroups, computeUnits);
  double issuing = program.rows * split * threadsPerRow / wave * instructions /
                   (busy * schedulers * megahertz);

  // The memory. Vectors that come after the sums come while others wait.
  double each = workgroups / computeUnits;
  double crowd = p.crowding * residency.resident * std::min(1.0, each) *
                 stageBytes / crowdingBytes;
  if (isBounded)
    crowd += p.streamShare *
             std::log2(std::max(1.0, std::min(residency.resident, each)));
  double bytes = program.rows * (program.bytesRead + program.bytesWritten);
  if (isBounded && program.sums == 0 && program.phases == 1)
    crowd +=
        p.stayShare * std::max(0.0, 1 - cachedBytes / (program.length * bytes));
  if (!isBounded)
    bytes += p.columnShare * residency.grid *
             (program.columnBytes - lateColumnBytes);
  double moved = program.length * bytes / (p.bandwidth * bytesPerMicrosecond) *
                 (1 + crowd);
  // What comes in a time is what is on the way, and nothing is loaded ahead.
  if (!isBounded)
    moved *= std::max(1.0, p.apartKib * bytesOfKib /
                               (residency.resident * rowBytes));

  double start = p.workgroupUs + p.threadUs * shape.wavesOfScheduler;
  // Prefetched rows fill the stages while the kernel waits.
  if (shape.isStaged &&
      !(schedule.prefetchBeforeDependency && schedule.earlyTrigger))
    start += p.stageUs * std::log2(1 + std::min(stages, iterations));
  if (shape.isUnrolled)
    start += p.unrolledUs;
  if (split > 1)
    start += p.clusterStartUs;
  if (isBounded)
    start *= waves;
  double total =
      p.launchUs + start +
      overlap(loadsColumnsLate ? p.lateLoadExponent : p.limitExponent,
              {moved, issuing, waiting, p.dispatchUs * each});
  if (!schedule.dependentLaunch)
    total += p.lateUs;
  if (loadsColumnsLate)
    total += p.lateLoadUs * program.phases;
  if (program.sums > 0)
    total +=
        p.finalizeUs +
        p.combineUs * shape.elements * program.sums * std::log2(groups + 1) +
        partialAccesses * floatBytes * program.sums * program.length *
            residency.grid / (p.partialBandwidth * bytesPerMicrosecond);
  return total;
}
