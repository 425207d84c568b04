//===- IterationModel.cpp - What persistent rows in registers cost --------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The terms of the model. Each compute unit has an equal part of the memory, so
// that the one with the most rows ends last.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/IterationModel.h"

#include "CostTable.h"
#include "CostTerms.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace lnbwd;

/// Waves that a compute unit issues vector instructions of side by side, and
/// the clocks that each of them takes to issue.
static constexpr double simds = 4, issueClocks = 4;
/// What is fetched of memory at least, and the numbers of a float32 in it.
static constexpr double lineBytes = 128, lineNumbers = 32;
/// The kernels of a plan that the columns' partial sums go through are read by
/// workgroups of `lineNumbers` columns. Where these do not begin at a line they
/// fetch two for one, of which a third is still there for the neighbour.
static constexpr double unalignedPartials = 5.0 / 3;

static constexpr std::pair<llvm::StringLiteral, double IterationParameters::*>
    parameterNames[] = {
        {"launch_us", &IterationParameters::launchUs},
        {"element_us", &IterationParameters::elementUs},
        {"bandwidth_tb_per_s", &IterationParameters::bandwidth},
        {"unit_bandwidth_tb_per_s", &IterationParameters::unitBandwidth},
        {"load_us", &IterationParameters::loadUs},
        {"exchange_us", &IterationParameters::exchangeUs},
        {"issue_share", &IterationParameters::issueShare},
        {"beside_exponent", &IterationParameters::besideExponent},
        {"row_instructions", &IterationParameters::rowInstructions},
        {"narrow_instructions", &IterationParameters::narrowInstructions},
        {"wide_instructions", &IterationParameters::wideInstructions},
        {"reached_registers", &IterationParameters::reachedRegisters},
        {"moved_instructions", &IterationParameters::movedInstructions},
        {"combine_us", &IterationParameters::combineUs},
        {"combined_us", &IterationParameters::combinedUs},
        {"partial_us", &IterationParameters::partialUs},
        {"partial_write_tb_per_s", &IterationParameters::partialWriteBandwidth},
        {"partial_read_tb_per_s", &IterationParameters::partialReadBandwidth},
        {"limit_exponent", &IterationParameters::limitExponent},
        {"iteration_exponent", &IterationParameters::iterationExponent},
};

const IterationParameters *lnbwd::getIterationParameters(const ChipInfo &chip) {
  static const llvm::StringMap<IterationParameters> chips =
      readCostSection("iterations", parameterNames);
  auto found = chips.find(chip.name);
  return found == chips.end() ? nullptr : &found->second;
}

double lnbwd::predictMicroseconds(const ProgramCosts &program,
                                  const IterationNeeds &needs,
                                  const ScheduleFields &schedule,
                                  const ChipInfo &chip,
                                  const IterationParameters &p) {
  auto computeUnits = double(chip.computeUnits);
  auto megahertz = double(chip.limits.megahertz);
  auto groups = double(schedule.rowGroups);
  double chunks = std::ceil(
      program.length / double(schedule.threadsPerRow * schedule.vectorWidth));
  double elements = chunks * double(schedule.vectorWidth);
  double waves =
      std::ceil(double(schedule.threadsPerRow) * groups / chip.waveSize);
  bool isExchanged = schedule.threadsPerRow > chip.waveSize;

  // The grid, and the compute unit with the most: its workgroups, how often
  // they fill it, and the tiles of rows of each.
  double workgroups =
      std::min(std::ceil(program.rows / double(schedule.rowsPerWorkgroup)),
               double(schedule.workgroupsPerComputeUnit) * computeUnits);
  double busyUnits = std::min(workgroups, computeUnits);
  double ofUnit = std::ceil(workgroups / computeUnits);
  double together = std::min(ofUnit, needs.room);
  double rounds = std::ceil(ofUnit / needs.room);
  double rowTiles = std::ceil(program.rows / (groups * workgroups));
  double tilesPerIteration = schedule.prefetch ? double(schedule.unroll) : 1;
  double iterations = rounds * std::ceil(rowTiles / tilesPerIteration);

  // Its instructions, those of all waves of a SIMD one after the other.
  double perElement = program.bytesRead < floatBytes * program.rowsRead
                          ? p.narrowInstructions
                          : p.wideInstructions;
  double instructions =
      p.rowInstructions +
      elements * perElement *
          (program.operations + program.sums + program.rowSums) +
      p.movedInstructions * std::max(0.0, needs.registers - p.reachedRegisters);
  double issued = instructions * issueClocks / megahertz;
  double issuing =
      rounds * rowTiles * std::ceil(waves * together / simds) * issued;

  // The lines that tiles of rows touch, which may begin and end within one.
  double rowBytes = program.length * (program.bytesRead + program.bytesWritten);
  double ofElement = program.bytesRead / std::max(1.0, program.rowsRead);
  double lines = needs.scalars * std::max(1.0, groups / lineNumbers);
  if (std::fmod(groups * program.length * ofElement, lineBytes) != 0)
    lines += program.rowsRead;
  double tileBytes = groups * rowBytes + lines * lineBytes;
  double moved = std::min(ofUnit * rowTiles, program.rows / groups) *
                 tileBytes *
                 std::max(busyUnits / (p.bandwidth * bytesPerMicrosecond),
                          1 / (p.unitBandwidth * bytesPerMicrosecond));

  // An iteration: its work, and its rows, which come meanwhile if they were
  // asked for ahead.
  double work = (isExchanged ? p.exchangeUs : 0) + p.issueShare * issued;
  double comes = p.loadUs + moved / iterations;
  double iteration =
      schedule.prefetch
          ? overlap(p.iterationExponent, {tilesPerIteration * work, comes})
          : work * std::pow(together, -p.besideExponent) + comes;

  // The last iteration, and what is left to do then while its rows are written.
  double end = work;
  if (groups > 1)
    end += p.combineUs * std::log2(groups) + p.combinedUs * elements;
  double total = p.launchUs + p.elementUs * elements +
                 overlap(p.limitExponent, {issuing, iterations * iteration}) +
                 end;

  // A row of partial sums of each workgroup, written and read.
  double partialRow = program.sums * program.length * floatBytes;
  double unaligned =
      std::fmod(program.length, lineNumbers) != 0 ? unalignedPartials : 1;
  return total +
         workgroups *
             (partialRow / (p.partialWriteBandwidth * bytesPerMicrosecond) +
              unaligned *
                  std::max(p.partialUs, partialRow / (p.partialReadBandwidth *
                                                      bytesPerMicrosecond)));
}
