//===- TunedSchedules.h - Schedules that were measured best -----*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of schedules that lnbwd-tune found on a device: what it is keyed by
// and how it is read. docs/tuning.md describes the file.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_TUNEDSCHEDULES_H
#define LNBWD_ANALYSIS_TUNEDSCHEDULES_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"

#include <optional>
#include <string>
#include <vector>

namespace lnbwd {

/// What distinguishes row programs for the choice of a schedule.
struct ProgramKey {
  /// The widest element among the row blocks: "bf16", "f16" or "f32".
  std::string element;
  int64_t rows;
  int64_t rowOuts;
  int64_t columns;
  int64_t columnSums;
  int64_t rowSums;

  static ProgramKey of(RowwiseOp op);
  bool operator==(const ProgramKey &other) const;
};

/// Numbers from `least` to `most`, both included.
struct NumberRange {
  int64_t least;
  int64_t most;

  bool contains(int64_t value) const { return least <= value && value <= most; }
};

/// One entry of the table.
struct TunedSchedule {
  std::string chip;
  ProgramKey program;
  NumberRange rowLength;
  /// Absent: for any number of rows, known or not.
  std::optional<NumberRange> rowCount;
  ScheduleAttr schedule;
};

/// A table: the first entry that matches a program is its schedule.
class TunedSchedules {
public:
  /// Reads a table from JSON. What is wrong goes to `emitError`, after the name
  /// of the file and the place in it.
  static mlir::FailureOr<TunedSchedules>
  parse(llvm::StringRef text, llvm::StringRef name, mlir::MLIRContext *context,
        llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

  /// The table that the option `tuned-schedules` asks for: "" is the one that
  /// comes with the compiler, "off" is an empty one, anything else a file.
  static mlir::FailureOr<TunedSchedules>
  load(llvm::StringRef option, mlir::MLIRContext *context,
       llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

  /// The place in the table of the entry for `op`, or nothing. `rows`: M where
  /// the types do not say it; 0: it is not known.
  std::optional<size_t> find(RowwiseOp op, const ChipInfo &chip,
                             int64_t rows) const;

  const TunedSchedule &operator[](size_t index) const { return entries[index]; }
  /// How a message calls an entry: "tuned schedules 'FILE', entries[3]".
  std::string describe(size_t index) const;

private:
  std::string name;
  std::vector<TunedSchedule> entries;
};

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_TUNEDSCHEDULES_H
