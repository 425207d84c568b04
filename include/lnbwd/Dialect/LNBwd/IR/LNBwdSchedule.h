//===- LNBwdSchedule.h - What a schedule's fields are -----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What LNBwdSchedule.td declares, for C++: the names of the fields, which
// messages have from here, and what each may be. scripts/generate-schedule.py
// writes the tables in the build. Beside them, LNBwdSchedule.h.inc has
//
//   LNBWD_SCHEDULE_PARAMETERS   the attribute's parameters as those of a
//   function LNBWD_SCHEDULE_FIELD(type, member, getter, start)
//                               for each field its type, int64_t or bool; its
//                               name as a member's; the attribute's function;
//                               the default, or the least value where there is
//                               none
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_LNBWDSCHEDULE_H
#define LNBWD_DIALECT_LNBWD_IR_LNBWDSCHEDULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace lnbwd {

/// A field of a schedule.
struct ScheduleFieldInfo {
  /// As the attribute's syntax and a user's override spell it.
  llvm::StringLiteral name;
  /// 0 or 1 as a number.
  bool isFlag;
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

} // namespace lnbwd

#endif // LNBWD_DIALECT_LNBWD_IR_LNBWDSCHEDULE_H
