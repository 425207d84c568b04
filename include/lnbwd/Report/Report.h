//===- Report.h - What a compiled kernel costs ------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Figures of a compiled function for a number of rows: what its kernels take,
// what they move, and what that allows at best. All of it is read off the
// code's metadata, its launch plan and the chip table; nothing is run.
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

/// The tiles of a kernel that makes a product.
struct ProductReport {
  /// Elements of a tile of the result.
  int64_t tileRows = 0;
  int64_t tileColumns = 0;
  /// Tiles of the result, and in how many parts each is summed up.
  int64_t tiles = 1;
  int64_t parts = 1;
  /// Elements of the sum of an iteration, and the iterations of a tile over all
  /// its parts.
  int64_t step = 0;
  int64_t iterations = 0;
  /// The fewest multiplications and additions, in pairs.
  double multiplyAdds = 0;
  /// What matrix instructions multiply as; null where there are none.
  mlir::Type multiplied;
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
  /// Bytes by the plan: each operand once, columns once a workgroup, partial
  /// sums as they are written or read, matrices once for each tile of the
  /// other.
  double plannedBytes = 0;
  /// The busiest compute unit's share of the work over the mean.
  double imbalance = 1;
  /// Least time, in seconds, by what bounds it; nothing that is not known.
  double memoryTime = 0;
  std::optional<double> matrixTime;
  /// The longest of these times, and its name.
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

  /// Over all kernels: bytes by the plan, and time.
  double bytes = 0, time = 0;

  /// The share of the chip's peak bandwidth that the operation would reach.
  double getShareOfPeak() const;

  void printText(llvm::raw_ostream &os) const;
  void printJSON(llvm::raw_ostream &os) const;
};

/// The report of a module that was lowered and emitted, for `rows` rows; 0: the
/// number that its row blocks have, which is an error if they have none.
mlir::FailureOr<Report> buildReport(mlir::ModuleOp lowered,
                                    const Emission &emission, int64_t rows);

} // namespace lnbwd

#endif // LNBWD_REPORT_REPORT_H
