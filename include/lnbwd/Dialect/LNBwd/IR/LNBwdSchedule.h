//===- LNBwdSchedule.h - A schedule and its fields --------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The value of a ScheduleAttr, and a table of its fields. Both are made of
// LNBwdSchedule.td in the build, by scripts/generate-tables.py.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_LNBWDSCHEDULE_H
#define LNBWD_DIALECT_LNBWD_IR_LNBWDSCHEDULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace lnbwd {

/// All choices about one row program. A field begins with its default, or with
/// its least value where it has none.
struct Schedule {
#define LNBWD_SCHEDULE_MEMBERS
#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h.inc"
#undef LNBWD_SCHEDULE_MEMBERS

  /// Work-items of a workgroup.
  int64_t getThreads() const { return threadsPerRow * rowGroups; }
  /// Columns that the lanes of one row cover with one access each.
  int64_t getChunkColumns() const { return threadsPerRow * vectorWidth; }
  /// Whether the grid has a workgroup for each tile of rows, which needs no
  /// loop. Workgroups whose number is fixed otherwise (`fixed`, where it is not
  /// 0) loop over as many tiles as there are.
  bool takesOneTile(int64_t fixed) const {
    return fixed == 0 && workgroupsPerComputeUnit == 0 &&
           workgroupsPerRow == 1 && rowsPerWorkgroup == rowGroups &&
           stages == 0 && prefetch == 0 && unroll == 1;
  }
};

/// A field of a schedule.
struct ScheduleFieldInfo {
  /// As the attribute's syntax and a user's override spell it.
  llvm::StringLiteral name;
  int64_t Schedule::*member;
  /// 0 or 1 as a number.
  bool isFlag;
  /// Whether it has no default.
  bool isRequired;
  /// Whether it is chosen after the others, of which it follows.
  bool follows;
  /// The values it may have on some chip: `allowed`, or, where that is empty,
  /// all from `least`.
  int64_t least;
  llvm::ArrayRef<int64_t> allowed;
  /// Those in words, "at least 1".
  llvm::StringLiteral values;

  bool takes(int64_t value) const {
    return allowed.empty() ? value >= least
                           : llvm::is_contained(allowed, value);
  }
};

// `kScheduleFields`, all fields in the attribute's order; the namespace `field`
// with their names.
#define LNBWD_SCHEDULE_TABLES
#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h.inc"
#undef LNBWD_SCHEDULE_TABLES

/// The field of that name; null if there is none.
inline const ScheduleFieldInfo *findScheduleField(llvm::StringRef name) {
  const auto *found = llvm::find_if(
      kScheduleFields, [&](const auto &field) { return field.name == name; });
  return found == std::end(kScheduleFields) ? nullptr : found;
}

inline bool operator==(const Schedule &lhs, const Schedule &rhs) {
  return llvm::all_of(kScheduleFields, [&](const auto &field) {
    return lhs.*field.member == rhs.*field.member;
  });
}
inline llvm::hash_code hash_value(const Schedule &schedule) {
  llvm::hash_code hash(0);
  for (const ScheduleFieldInfo &field : kScheduleFields)
    hash = llvm::hash_combine(hash, schedule.*field.member);
  return hash;
}

} // namespace lnbwd

#endif // LNBWD_DIALECT_LNBWD_IR_LNBWDSCHEDULE_H
