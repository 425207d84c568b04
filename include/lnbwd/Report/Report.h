//===- Report.h - What a compiled kernel costs ------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Figures of a compiled function for a number of rows: what its kernels take,
// what they execute, what they move, and what that allows at best. All of it
// is read off the code, its launch plan and the chip table; nothing is run.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_REPORT_REPORT_H
#define LNBWD_REPORT_REPORT_H

#include "lnbwd/Target/KernelResources.h"
#include "lnbwd/Target/TargetBackend.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

namespace lnbwd {

/// Instructions that the waves of a launch execute, by class.
struct InstructionCounts {
  /// Sums of products over the lanes of a wave; not among `vectorALU`.
  double matrix = 0;
  double vectorALU = 0;
  /// Those of the above that do two operations at once (`v_dual_`).
  double dualIssue = 0;
  double scalarALU = 0;
  double vectorMemory = 0;
  double scalarMemory = 0;
  double lds = 0;
  double barrier = 0;
  double wait = 0;
  double other = 0;
};

/// What the machine code of one kernel does in one launch.
struct CodeFigures {
  InstructionCounts instructions;
  /// Bytes that lanes ask for; a wave's scalar loads count once.
  double bytesRead = 0;
  double bytesWritten = 0;
  /// Bytes of a lane's accesses to row blocks: the narrowest and the widest.
  int64_t narrowestRowAccess = 0;
  int64_t widestRowAccess = 0;
  /// Of the loop of a kernel with a ProductReport.
  InstructionCounts loopInstructions;
  /// Multiplications and additions by matrix instructions, in pairs.
  double matrixMultiplyAdds = 0;
  /// Bytes of workgroup memory that lanes ask for.
  double sharedBytesRead = 0;
  double sharedBytesWritten = 0;
  /// Barriers of the row loop, a set of rows.
  double barriersPerSet = 0;
  /// Bytes of row blocks that a lane has asked for before it waits for them.
  int64_t bytesAhead = 0;
};

/// What a kernel goes around over that is no row program of its own: the tiles
/// of a product, the parts of its sums, or, in one workgroup, some rows at
/// once.
struct ProductReport {
  /// Elements of a tile of the result; 0 rows: one workgroup takes a whole row
  /// program.
  int64_t tileRows = 0;
  int64_t tileColumns = 0;
  /// Tiles of the result, and in how many parts each is summed up.
  int64_t tiles = 1;
  int64_t parts = 1;
  /// Elements of the sum, or rows, of a turn, and the turns of a tile over all
  /// its parts; both 0 where a kernel only adds the parts.
  int64_t step = 0;
  int64_t turns = 0;
  /// The share of the tiles' elements that the result has.
  double covered = 1;
  /// The fewest multiplications and additions, in pairs.
  double multiplyAdds = 0;
};

struct KernelReport {
  std::string name;
  /// The schedule as the IR has it; empty for a kernel of another origin.
  std::string schedule;
  std::optional<ProductReport> product;
  /// Workgroups of the launch, over all dimensions of the grid.
  int64_t workgroups = 0;
  int64_t threads = 0;
  int64_t dynamicSharedMemoryBytes = 0;
  /// Nothing where no machine code was made.
  std::optional<KernelResources> resources;
  std::optional<Occupancy> occupancy;
  /// Nothing for targets whose machine code is not read.
  std::optional<CodeFigures> code;
  /// Bytes by the plan: each operand once, columns once a workgroup, partial
  /// sums as they are written or read, matrices once for each tile of the
  /// other.
  double plannedBytes = 0;
  /// Bytes in flight on a compute unit.
  std::optional<double> bytesInFlight;
  /// The busiest compute unit's share of the work over the mean.
  double imbalance = 1;
  /// Least time, in seconds, by what bounds it; nothing that is not known.
  double memoryTime = 0;
  std::optional<double> vectorTime;
  std::optional<double> latencyTime;
  /// The longest of them, and its name.
  double time = 0;
  llvm::StringRef bound;
};

struct Report {
  std::string name;
  const ChipInfo *chip = nullptr;
  int64_t rows = 0;
  /// Elements of the longest row of a row block.
  int64_t rowLength = 0;
  /// The fewest bytes that the operation can move.
  double minimalBytes = 0;
  std::vector<KernelReport> kernels;

  /// Over all kernels: bytes asked for (by the plan, where code is not read),
  /// vector instructions of lanes an element, time, and the share of the chip's
  /// peak bandwidth that the operation would reach.
  double getBytes() const;
  std::optional<double> getVectorPerElement() const;
  double getTime() const;
  double getShareOfPeak() const;

  void printText(llvm::raw_ostream &os) const;
  void printJSON(llvm::raw_ostream &os) const;
};

/// The report of a module that was lowered and emitted, for `rows` rows; 0: the
/// number that its row blocks have, which is an error if they have none. What
/// `options` say of the emission is what was asked for then.
mlir::FailureOr<Report> buildReport(mlir::ModuleOp lowered,
                                    const Emission &emission,
                                    const EmitOptions &options, int64_t rows);

} // namespace lnbwd

#endif // LNBWD_REPORT_REPORT_H
