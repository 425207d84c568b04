//===- KernelRuns.h - How often the parts of a kernel run -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a launch of a kernel executes and moves: each instruction counts as
// often as its part of the kernel runs, which the schedule, or the loop of a
// product, and the launch plan say exactly; docs/report.md has the formulas.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_REPORT_KERNELRUNS_H
#define LNBWD_LIB_REPORT_KERNELRUNS_H

#include "MachineCode.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Report/CodeFigures.h"

#include <optional>

namespace lnbwd {

/// What the loop of `info` comes to in a kernel of so many launched rows, whose
/// result has `elements` elements.
ProductReport getProductReport(KernelInfoAttr info, int64_t launchedRows,
                               double elements);

/// One kernel's launch: how often its parts run.
struct KernelRuns {
  ScheduleAttr schedule;
  int64_t waveSize;
  int64_t rows;
  int64_t rowLength;
  /// The grid.
  int64_t workgroups;
  int64_t tiles;
  /// The loop of a kernel over something else than tiles of rows.
  std::optional<ProductReport> product;

  int64_t getThreads() const { return schedule.getThreads(); }
  int64_t getRowTiles() const { return rows / schedule.getRowGroups(); }
  bool hasTail() const { return rows % schedule.getRowGroups() != 0; }
  /// The share of the rows of an iteration that are in bounds, in a
  /// loop without prefetch that processes several tiles per iteration and masks
  /// the others.
  double getLoaded() const {
    bool masks = schedule.getUnroll() > 1 && !schedule.getPrefetch();
    double places = getRuns({lane::PartKind::Row}) / double(tiles) *
                    double(schedule.getUnroll() * schedule.getRowGroups());
    return masks && places > 0 ? double(rows) / places : 1;
  }
  int64_t getStarted() const { return std::min(workgroups, getRowTiles()); }

  /// Workgroups times tiles of rows, or whatever the part is run for.
  double getRuns(const KernelPart &part) const;
  /// getRuns, and the runs whose loads are dropped, since there is no such
  /// tile.
  double getIssues(const KernelPart &part) const;
  /// The share of the bytes of a run that a bounded load brings, where rows
  /// of a tile are out of bounds.
  double getBounded(const KernelPart &part) const {
    if (part.kind == lane::PartKind::Tail)
      return double(rows % schedule.getRowGroups()) /
             double(schedule.getRowGroups());
    return 1;
  }
  /// Waves, and lanes, of one workgroup that take part.
  double getLanes(const KernelPart &part) const {
    return double(part.groups
                      ? int64_t(part.groups) * schedule.getThreadsPerRow()
                      : getThreads());
  }
  double getWaves(const KernelPart &part) const {
    return double(llvm::divideCeil(uint64_t(getLanes(part)), waveSize));
  }
};

/// What the instructions of a kernel come to in a launch.
CodeFigures evaluate(llvm::ArrayRef<Instruction> code,
                     const KernelRuns &launch);

} // namespace lnbwd

#endif // LNBWD_LIB_REPORT_KERNELRUNS_H
