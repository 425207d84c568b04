//===- CodeFigures.h - What the code of a kernel comes to -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Figures of one kernel in one launch: instructions, bytes, and the loop of a
// product. The report has them of each kernel.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_REPORT_CODEFIGURES_H
#define LNBWD_REPORT_CODEFIGURES_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/EnumeratedArray.h"

#include <cstdint>

namespace lnbwd {

enum class InstructionClass {
  Matrix, ///< sums of products over the lanes of a wave; not the vector ALU's
  VectorALU,
  DualIssue, ///< those of the vector ALU that do two operations (`v_dual_`),
             ///< which are counted twice
  ScalarALU,
  VectorMemory,
  ScalarMemory,
  LDS,
  Barrier,
  Wait,
  Other,
};

/// Instructions that the waves of a launch execute, by class.
using InstructionCounts =
    llvm::EnumeratedArray<double, InstructionClass, InstructionClass::Other>;

/// What the machine code of one kernel does in one launch.
struct CodeFigures {
  InstructionCounts instructions = InstructionCounts(0);
  /// Bytes that lanes ask for; a wave's scalar loads count once.
  double bytesRead = 0;
  double bytesWritten = 0;
  /// Bytes of a lane's accesses to row blocks: the narrowest and the widest.
  int64_t narrowestRowAccess = 0;
  int64_t widestRowAccess = 0;
  /// Of the loop of a kernel with a ProductReport.
  InstructionCounts loopInstructions = InstructionCounts(0);
  /// Multiplications and additions by matrix instructions, in pairs.
  double matrixMultiplyAdds = 0;
  /// Bytes of workgroup memory that lanes ask for.
  double sharedBytesRead = 0;
  double sharedBytesWritten = 0;
  /// Barriers of the row loop, a tile of rows.
  double barriersPerTile = 0;
  /// Bytes of row blocks that a lane has asked for before it waits for them.
  int64_t bytesAhead = 0;
};

/// The loop of a kernel that is no row program of its own: the tiles of a
/// product, or the parts of its sums.
struct ProductReport {
  /// Elements of a tile of the result.
  int64_t tileRows = 0;
  int64_t tileColumns = 0;
  /// Tiles of the result, and in how many parts each is summed up.
  int64_t tiles = 1;
  int64_t parts = 1;
  /// Elements of the sum of an iteration, and the iterations of a tile over all
  /// its parts; both 0 where a kernel only adds the parts.
  int64_t step = 0;
  int64_t iterations = 0;
  /// The share of the tiles' elements that the result has.
  double covered = 1;
  /// The fewest multiplications and additions, in pairs.
  double multiplyAdds = 0;
  /// What matrix instructions multiply as; null where there are none.
  mlir::Type multiplied;
};

} // namespace lnbwd

#endif // LNBWD_REPORT_CODEFIGURES_H
