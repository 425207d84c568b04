//===- KernelRuns.cpp - How often the parts of a kernel run ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRuns.h"

#include "lnbwd/Analysis/ScheduleLimits.h"

#include "llvm/Support/MathExtras.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace lnbwd;

static bool isRowLoop(const KernelPart &part) {
  return part.kind == lane::PartKind::Row ||
         part.kind == lane::PartKind::SecondRow;
}

ProductReport lnbwd::getProductReport(KernelInfoAttr info, int64_t launchedRows,
                                      double elements) {
  ProductLoopAttr loop = info.getProduct();
  ProductReport report;
  report.parts = loop.getParts();
  report.step = loop.getStep();
  int64_t sum = loop.getSum() ? loop.getSum() : launchedRows;
  if (report.step)
    report.iterations = llvm::divideCeil(sum, report.step);
  report.tileColumns = info.getSchedule().getColumnTile();
  report.tileRows = info.getSchedule().getRowsPerWorkgroup();
  int64_t rows = int64_t(elements) / info.getRowLength();
  report.tiles =
      int64_t(llvm::divideCeil(rows, report.tileRows) *
              llvm::divideCeil(info.getRowLength(), report.tileColumns));
  if (report.tiles)
    report.covered = elements / (double(report.tiles) *
                                 double(report.tileRows * report.tileColumns));
  if (report.step)
    report.multiplyAdds = elements * double(sum);
  report.multiplied = loop.getMultiplied();
  return report;
}

double KernelRuns::getRuns(const KernelPart &part) const {
  if (product)
    return isRowLoop(part)
               ? double(product->tiles) * double(product->iterations)
               : double(workgroups) * double(tiles);
  int64_t rowTiles = getRowTiles();
  // With two rowTiles an iteration, a workgroup with an odd number begins one
  // more iteration.
  int64_t least = rowTiles / workgroups, more = rowTiles % workgroups;
  int64_t firsts = more * llvm::divideCeil(least + 1, 2) +
                   (workgroups - more) * llvm::divideCeil(least, 2);
  bool paired = schedule.getUnroll() == 2;
  int64_t runs = 0;
  switch (part.kind) {
  case lane::PartKind::Setup:
    runs = workgroups;
    break;
  case lane::PartKind::FirstLoad:
    runs = getStarted();
    break;
  case lane::PartKind::Row:
    runs = paired ? firsts : rowTiles;
    // An iteration of a loop without prefetch masks the rows that do not exist.
    if (schedule.getUnroll() > 1 && !schedule.getPrefetch()) {
      int64_t all = rowTiles + (hasTail() ? 1 : 0);
      int64_t fewer = all / workgroups, longer = all % workgroups;
      runs =
          longer * llvm::divideCeil(fewer + 1, schedule.getUnroll()) +
          (workgroups - longer) * llvm::divideCeil(fewer, schedule.getUnroll());
    }
    break;
  case lane::PartKind::FirstSecondLoad:
    runs = std::clamp<int64_t>(rowTiles - workgroups, 0, workgroups);
    break;
  case lane::PartKind::SecondRow:
    runs = rowTiles - firsts;
    break;
  case lane::PartKind::SecondLoad:
    runs = rowTiles - firsts -
           std::clamp<int64_t>(rowTiles - workgroups, 0, workgroups);
    break;
  case lane::PartKind::NextLoad:
    runs = (paired ? firsts : rowTiles) - getStarted();
    break;
  case lane::PartKind::Tail:
    runs = hasTail() ? 1 : 0;
    break;
  case lane::PartKind::SumBlock: {
    auto getBlocks = [&](int64_t workgroupSets) {
      return llvm::divideCeil(workgroupSets,
                              schedule.getUnroll() *
                                  getSumBlockIterations(schedule));
    };
    bool masks = schedule.getUnroll() > 1 && !schedule.getPrefetch();
    int64_t all = rowTiles + (masks && hasTail() ? 1 : 0);
    runs = all % workgroups * getBlocks(all / workgroups + 1) +
           (workgroups - all % workgroups) * getBlocks(all / workgroups);
    break;
  }
  }
  int64_t iterations =
      part.reload ? llvm::divideCeil(rowLength, schedule.getChunkColumns()) : 1;
  return double(runs) * double(iterations) * double(tiles);
}

double KernelRuns::getIssues(const KernelPart &part) const {
  KernelPart around = part;
  switch (part.kind) {
  case lane::PartKind::FirstSecondLoad:
    around.kind = lane::PartKind::FirstLoad;
    break;
  case lane::PartKind::SecondLoad:
  case lane::PartKind::NextLoad:
    around.kind = lane::PartKind::Row;
    break;
  default:
    break;
  }
  return getRuns(around);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

constexpr size_t numPartKinds = lane::getMaxEnumValForPartKind() + 1;

/// How many copies of the row loop's body the code generator has made, of which
/// each runs for its share of the rowTiles. There is one copy of the loads
/// before the loop, or after it, to compare with.
static double countCopies(ArrayRef<Instruction> code) {
  std::array<int64_t, numPartKinds> loads{};
  auto getLoads = [&](lane::PartKind kind) { return loads[size_t(kind)]; };
  for (const Instruction &instruction : code)
    if (instruction.kind == InstructionClass::VectorMemory &&
        !instruction.isStore && !instruction.part.scalars)
      ++loads[size_t(instruction.part.kind)];
  int64_t once = getLoads(lane::PartKind::FirstLoad);
  if (!once)
    once = getLoads(lane::PartKind::Tail);
  int64_t inLoop = std::max(getLoads(lane::PartKind::Row),
                            getLoads(lane::PartKind::NextLoad));
  return once && inLoop > once ? double(inLoop) / double(once) : 1;
}

/// Copies of a product's loop in the code: an iteration has the multiply-adds
/// of a tile. Loops without matrix instructions are taken for one copy.
static double countCopies(ArrayRef<Instruction> code,
                          const KernelRuns &launch) {
  const ProductReport &product = *launch.product;
  int64_t found = 0;
  for (const Instruction &instruction : code)
    if (isRowLoop(instruction.part))
      found += instruction.multiplyAdds;
  double expected = double(product.tileRows) * double(product.tileColumns) *
                    double(product.step) / launch.getWaves({});
  return found && expected > 0
             ? std::max(1.0, std::round(double(found) / expected))
             : 1;
}

CodeFigures lnbwd::evaluate(ArrayRef<Instruction> code,
                            const KernelRuns &launch) {
  CodeFigures figures;
  // Stores of columns that do not exist are masked; loads go elsewhere.
  int64_t covered =
      launch.schedule.getColumnTile()
          ? launch.rowLength
          : llvm::alignTo(launch.rowLength, launch.schedule.getChunkColumns());
  double stored = double(launch.rowLength) / double(covered);
  if (launch.product)
    stored = launch.product->covered;
  double rowBarriers = 0;
  std::array<int64_t, numPartKinds> ahead{};
  double copies =
      launch.product ? countCopies(code, launch) : countCopies(code);
  for (const Instruction &instruction : code) {
    const KernelPart &part = instruction.part;
    double runs = launch.getRuns(part), issues = launch.getIssues(part);
    if (part.kind == lane::PartKind::Row ||
        part.kind == lane::PartKind::NextLoad) {
      runs /= copies;
      issues /= copies;
    }
    double waves = issues * launch.getWaves(part);
    auto count = [&](InstructionClass kind) {
      figures.instructions[kind] += waves;
      if (launch.product && isRowLoop(part))
        figures.loopInstructions[kind] += waves;
    };
    count(instruction.kind);
    switch (instruction.kind) {
    case InstructionClass::Matrix:
      figures.matrixMultiplyAdds += waves * double(instruction.multiplyAdds);
      break;
    case InstructionClass::VectorALU:
      if (instruction.isDual)
        count(InstructionClass::DualIssue);
      break;
    case InstructionClass::VectorMemory: {
      // Of a wave that works on one row, one lane loads the row's scalars.
      bool once = part.scalars && instruction.isBounded &&
                  launch.schedule.getThreadsPerRow() % launch.waveSize == 0;
      double lanes = once ? launch.getWaves(part) : launch.getLanes(part);
      double bytes = runs * lanes * double(instruction.bytes);
      if (instruction.isBounded)
        bytes *= launch.getBounded(part);
      if (instruction.isStore)
        figures.bytesWritten += bytes * stored;
      else
        figures.bytesRead +=
            bytes * (part.kind == lane::PartKind::Row ? launch.getLoaded() : 1);
      if (part.scalars || part.kind == lane::PartKind::Setup)
        break;
      if (!instruction.isStore && part.kind != lane::PartKind::Tail)
        ahead[size_t(part.kind)] += instruction.bytes;
      int64_t &narrowest = figures.narrowestRowAccess;
      narrowest = narrowest ? std::min(narrowest, instruction.bytes)
                            : instruction.bytes;
      figures.widestRowAccess =
          std::max(figures.widestRowAccess, instruction.bytes);
      break;
    }
    case InstructionClass::ScalarMemory:
      // Kernel arguments are not what the operation reads.
      if (part.kind != lane::PartKind::Setup)
        figures.bytesRead += waves * double(instruction.bytes);
      break;
    case InstructionClass::LDS:
      (instruction.isStore ? figures.sharedBytesWritten
                           : figures.sharedBytesRead) +=
          runs * launch.getLanes(part) * double(instruction.bytes);
      break;
    case InstructionClass::Barrier:
      if (isRowLoop(part))
        rowBarriers += runs;
      break;
    default:
      break;
    }
  }
  if (int64_t rowTiles = launch.getRowTiles() * launch.tiles)
    figures.barriersPerTile = rowBarriers / double(rowTiles);
  figures.bytesAhead = int64_t(double(*llvm::max_element(ahead)) / copies);
  // What only adds parts reads nothing beyond them either.
  if (launch.product && !launch.product->step)
    figures.bytesRead *= stored;
  return figures;
}
