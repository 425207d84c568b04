//===- CostModel.cpp - What a schedule costs ------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The terms of the model, and the table of parameters, which is part of the
// library: CostParameters.json, as the fit wrote it.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Transforms/CostModel.h"

#include "lnbwd/Transforms/ScheduleLimits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;
using namespace lnbwd;

static constexpr llvm::StringLiteral table =
#include "CostParameters.inc"
    ;

/// Schedulers of a compute unit, among which its registers are divided and each
/// of which issues one instruction of a wave a clock.
static constexpr double schedulers = 4;
/// Shared memory that the driver takes of each workgroup, and what of the
/// groups' sums lies in shared memory while they are combined.
static constexpr double reservedSharedBytes = 1024, combinedShare = 0.75;
static constexpr double crowdingBytes = 128 * 1024;

//===----------------------------------------------------------------------===//
// The parameters
//===----------------------------------------------------------------------===//

static constexpr std::pair<llvm::StringLiteral, double CostParameters::*>
    parameterNames[] = {
        {"launch_us", &CostParameters::launchUs},
        {"finalize_us", &CostParameters::finalizeUs},
        {"bandwidth_tb_per_s", &CostParameters::bandwidth},
        {"partial_bandwidth_tb_per_s", &CostParameters::partialBandwidth},
        {"load_us", &CostParameters::loadUs},
        {"staged_us", &CostParameters::stagedUs},
        {"unrolled_share", &CostParameters::unrolledShare},
        {"turn_us", &CostParameters::turnUs},
        {"shuffle_us", &CostParameters::shuffleUs},
        {"exchange_us", &CostParameters::exchangeUs},
        {"exchanged_us", &CostParameters::exchangedUs},
        {"cluster_us", &CostParameters::clusterUs},
        {"element_us", &CostParameters::elementUs},
        {"row_instructions", &CostParameters::rowInstructions},
        {"shuffle_instructions", &CostParameters::shuffleInstructions},
        {"access_instructions", &CostParameters::accessInstructions},
        {"element_instructions", &CostParameters::elementInstructions},
        {"function_instructions", &CostParameters::functionInstructions},
        {"workgroup_us", &CostParameters::workgroupUs},
        {"stage_us", &CostParameters::stageUs},
        {"unrolled_us", &CostParameters::unrolledUs},
        {"column_us", &CostParameters::columnUs},
        {"combine_us", &CostParameters::combineUs},
        {"wave_share", &CostParameters::waveShare},
        {"crowding", &CostParameters::crowding},
        {"spill_share", &CostParameters::spillShare},
        {"limit_exponent", &CostParameters::limitExponent},
        {"turn_exponent", &CostParameters::turnExponent},
        {"registers", &CostParameters::registers},
        {"sum_registers", &CostParameters::sumRegisters},
        {"staged_registers", &CostParameters::stagedRegisters},
        {"prefetched_registers", &CostParameters::prefetchedRegisters},
        {"plain_registers", &CostParameters::plainRegisters},
        {"row_registers", &CostParameters::rowRegisters},
        {"phase_registers", &CostParameters::phaseRegisters},
        {"unrolled_registers", &CostParameters::unrolledRegisters},
        {"widened_registers", &CostParameters::widenedRegisters},
        {"independent_registers", &CostParameters::independentRegisters},
};

/// Reads the table; what is wrong with it is our own mistake.
static llvm::StringMap<CostParameters> readTable() {
  llvm::Expected<llvm::json::Value> document = llvm::json::parse(table);
  if (!document)
    llvm::report_fatal_error(document.takeError());
  llvm::StringMap<CostParameters> result;
  const llvm::json::Object *chips = document->getAsObject()->getObject("chips");
  for (const auto &[chip, value] : *chips) {
    const llvm::json::Object *values = value.getAsObject();
    CostParameters &parameters = result[StringRef(chip)];
    for (auto [name, field] : parameterNames) {
      std::optional<double> number = values->getNumber(name);
      if (!number)
        llvm::report_fatal_error("CostParameters.json: no " + name);
      parameters.*field = *number;
    }
  }
  return result;
}

const CostParameters *lnbwd::getCostParameters(const ChipInfo &chip) {
  static const llvm::StringMap<CostParameters> chips = readTable();
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
  // How many row sums a value waits for, one behind the other.
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
  return costs;
}

//===----------------------------------------------------------------------===//
// The terms
//===----------------------------------------------------------------------===//

namespace {
/// What follows from a schedule.
struct Shape {
  double threads, waves, wavesPerRow, columns, chunks, elements;
  bool isStaged, isPrefetched, isUnrolled;

  Shape(const ProgramCosts &program, const ScheduleFields &schedule,
        const ChipInfo &chip)
      : threads(double(schedule.threadsPerRow * schedule.rowGroups)),
        waves(std::ceil(threads / double(chip.waveSize))),
        wavesPerRow(
            std::ceil(double(schedule.threadsPerRow) / double(chip.waveSize))),
        columns(program.length / double(schedule.workgroupsPerRow)),
        chunks(std::ceil(
            columns / double(schedule.threadsPerRow * schedule.vectorWidth))),
        elements(chunks * double(schedule.vectorWidth)),
        isStaged(schedule.stages > 0),
        isPrefetched(!isStaged && schedule.prefetch > 0),
        isUnrolled(isPrefetched && schedule.unroll == 2) {}
};
} // namespace

/// The longer of times that overlap, and a bit more.
static double overlap(double exponent, std::initializer_list<double> times) {
  double longest = std::max(times), sum = 0;
  for (double time : times)
    sum += std::pow(time / longest, exponent);
  return longest * std::pow(sum, 1 / exponent);
}

RegisterEstimate lnbwd::estimateRegisters(const ProgramCosts &program,
                                          const ScheduleFields &schedule,
                                          const ChipInfo &chip,
                                          const CostParameters &p) {
  Shape shape(program, schedule, chip);
  double packed = shape.elements * program.bytesRead / 4;
  double perPacked = shape.isStaged       ? p.stagedRegisters
                     : shape.isPrefetched ? p.prefetchedRegisters
                                          : p.plainRegisters;
  double perElement =
      p.sumRegisters * program.sums + p.rowRegisters * program.rowsRead;
  if (program.phases > 1)
    perElement += p.phaseRegisters;
  if (shape.isUnrolled)
    perElement += p.unrolledRegisters * program.rowsRead;
  if (program.bytesRead == 2 * program.rowsRead)
    perElement += p.widenedRegisters;
  if (program.rowSums == 0)
    perElement += p.independentRegisters;
  double needed =
      p.registers + shape.elements * perElement + packed * perPacked;
  double ofScheduler =
      double(chip.registersPerComputeUnit) / schedulers / double(chip.waveSize);
  auto granule = double(chip.limits.registerGranule);
  double limit =
      std::floor(ofScheduler / std::ceil(shape.waves / schedulers) / granule) *
      granule;
  return {std::max(needed, 24.0),
          std::min(limit, double(chip.maxRegistersPerLane))};
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
  auto wave = double(chip.waveSize);
  bool isExchanged = threadsPerRow > wave || split > 1;

  // Workgroups that a compute unit has room for.
  RegisterEstimate registers = estimateRegisters(program, schedule, chip, p);
  auto granule = double(chip.limits.registerGranule);
  double taken =
      std::ceil(std::min(registers.needed, registers.limit) / granule) *
      granule;
  double ofScheduler = double(chip.registersPerComputeUnit) / schedulers / wave;
  double byRegisters =
      std::max(1.0, std::floor(schedulers * std::floor(ofScheduler / taken) /
                               shape.waves));
  double byThreads =
      std::floor(double(chip.limits.computeUnitThreads) / shape.threads);
  double stageBytes =
      double(schedule.stages) * groups * shape.columns * program.bytesRead;
  double shared = reservedSharedBytes + stageBytes;
  if (isExchanged)
    shared += 2 * 4 * shape.waves * program.rowSums * split;
  if (schedule.rowGroups > 1)
    shared += shape.chunks * threadsPerRow * double(schedule.vectorWidth) *
              (4 * program.sums * groups * combinedShare + program.columnBytes);
  double byShared = std::max(
      1.0,
      std::floor(double(chip.limits.computeUnitSharedMemoryBytes) / shared));

  // The grid, its waves, and the turns of a workgroup.
  double sets = std::ceil(program.rows / double(schedule.rowsPerWorkgroup));
  double most = std::floor(double(schedule.workgroupsPerComputeUnit) *
                           computeUnits / split);
  double grid = std::max(1.0, std::min(sets, most));
  double workgroups = grid * split;
  double resident = std::min({byRegisters, byThreads, byShared,
                              double(schedule.workgroupsPerComputeUnit),
                              std::ceil(workgroups / computeUnits)});
  double waves = workgroups / (computeUnits * resident);
  waves = waves < 1
              ? 1
              : waves + (std::ceil(waves) - waves) * std::min(p.waveShare, 1.0);
  double averageTurns = program.rows / (grid * groups);
  double turns = std::ceil(averageTurns);

  // The work of one turn, and what it waits for.
  double work = p.turnUs + p.elementUs * shape.elements *
                               (program.operations + program.sums);
  double steps = std::log2(std::min(threadsPerRow, wave));
  work += program.phases * p.shuffleUs * steps;
  if (isExchanged)
    work += program.phases *
            (p.exchangeUs + p.exchangedUs * shape.wavesPerRow * split);
  if (split > 1)
    work += program.phases * p.clusterUs;
  double turn;
  if (shape.isStaged)
    turn = overlap(p.turnExponent,
                   {work, (p.stagedUs + work) / double(schedule.stages)});
  else if (shape.isPrefetched)
    turn = overlap(p.turnExponent,
                   {work, p.loadUs * (shape.isUnrolled ? p.unrolledShare : 1)});
  else
    turn = work + p.loadUs;
  double waiting = waves * turns * turn;

  // Instructions, over all schedulers.
  double instructions =
      p.rowInstructions + p.shuffleInstructions * steps * program.rowSums +
      p.accessInstructions * shape.chunks *
          (program.rowsRead + program.rowsWritten) +
      shape.elements *
          (p.elementInstructions *
               (program.operations + program.sums + program.rowSums) +
           p.functionInstructions * program.functions);
  double busy = std::min(workgroups, computeUnits);
  double issuing = program.rows * split * threadsPerRow / wave * instructions /
                   (busy * schedulers * double(chip.limits.megahertz)) *
                   (turns / averageTurns);
  issuing *=
      1 + p.spillShare * std::max(0.0, registers.needed - registers.limit);

  // The memory.
  double moved = program.rows * program.length *
                 (program.bytesRead + program.bytesWritten) /
                 (p.bandwidth * 1e6);
  double inFlight =
      resident * std::min(1.0, workgroups / computeUnits) * stageBytes;
  moved *= 1 + p.crowding * inFlight / crowdingBytes;

  double start = p.workgroupUs + p.columnUs * program.columns * shape.elements;
  if (shape.isStaged)
    start +=
        p.stageUs * std::log2(1 + std::min(double(schedule.stages), turns));
  if (shape.isUnrolled)
    start += p.unrolledUs;
  double total = p.launchUs + waves * start +
                 overlap(p.limitExponent, {moved, issuing, waiting});
  if (program.sums > 0)
    total +=
        p.finalizeUs +
        p.combineUs * shape.elements * program.sums * std::log2(groups + 1) +
        2 * 4 * program.sums * program.length * grid /
            (p.partialBandwidth * 1e6);
  return total;
}
