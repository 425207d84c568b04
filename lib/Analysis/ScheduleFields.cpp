//===- ScheduleFields.cpp - A schedule to vary ----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between a schedule's attribute, its fields as numbers, and the text in which
// a user overrides some of them.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ScheduleFields.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"

#include <tuple>
#include <type_traits>

using namespace mlir;
using namespace lnbwd;

ScheduleFields::ScheduleFields(ScheduleAttr schedule) {
#define LNBWD_SCHEDULE_FIELD(type, member, getter, name, start)                \
  member = schedule.getter();
#include "lnbwd/Analysis/ScheduleFields.def"
}

SmallVector<ScheduleFields::Named> ScheduleFields::getNamed() {
  return {
#define LNBWD_SCHEDULE_FIELD(type, member, getter, name, start)                \
  {name, &member, std::is_same_v<type, bool>},
#include "lnbwd/Analysis/ScheduleFields.def"
  };
}

/// Calls `build` with the attribute's parameters.
template <typename Build>
static ScheduleAttr buildFrom(const ScheduleFields &fields, Build build) {
  std::tuple parameters{
#define LNBWD_SCHEDULE_FIELD(type, member, getter, name, start)                \
  type(fields.member),
#include "lnbwd/Analysis/ScheduleFields.def"
  };
  return std::apply(build, parameters);
}

ScheduleAttr ScheduleFields::get(MLIRContext *context) const {
  return buildFrom(*this, [&](auto... parameters) {
    return ScheduleAttr::get(context, parameters...);
  });
}

ScheduleAttr
ScheduleFields::getChecked(function_ref<InFlightDiagnostic()> emitError,
                           MLIRContext *context) const {
  return buildFrom(*this, [&](auto... parameters) {
    return ScheduleAttr::getChecked(emitError, context, parameters...);
  });
}

FailureOr<ScheduleAttr>
lnbwd::overrideSchedule(ScheduleAttr schedule, StringRef overrides,
                        function_ref<InFlightDiagnostic()> emitError) {
  ScheduleFields fields(schedule);
  SmallVector<ScheduleFields::Named> named = fields.getNamed();
  bool setThreads = false, setRows = false, setGroups = false,
       setPrefetch = false, setUnroll = false;
  SmallVector<StringRef> assignments;
  overrides.split(assignments, ',', -1, /*KeepEmpty=*/false);
  for (StringRef assignment : assignments) {
    auto [name, text] = assignment.trim().split('=');
    const auto *field =
        llvm::find_if(named, [&, name = name](const auto &entry) {
          return entry.name == name;
        });
    if (field == named.end()) {
      InFlightDiagnostic diag = emitError() << "unknown schedule field '"
                                            << name << "', expected one of: ";
      llvm::interleaveComma(
          llvm::map_range(named, [](const auto &entry) { return entry.name; }),
          diag);
      return diag;
    }
    if (text.getAsInteger(10, *field->value))
      return emitError() << "expected schedule field '" << name
                         << "' to be a whole number, got '" << text << "'";
    setThreads |= name == "threads_per_row";
    setRows |= name == "rows_per_workgroup";
    setGroups |= name == "row_groups";
    setPrefetch |= name == "prefetch";
    setUnroll |= name == "unroll";
  }
  // Fields that nobody set follow the ones that somebody did.
  if (setThreads && !setGroups && fields.threadsPerRow > 0)
    fields.rowGroups = int64_t(llvm::bit_floor(uint64_t(
        std::max<int64_t>(1, schedule.getThreads() / fields.threadsPerRow))));
  if ((setThreads || setGroups) && !setRows && fields.rowsPerWorkgroup)
    fields.rowsPerWorkgroup =
        std::max(fields.rowsPerWorkgroup, fields.rowGroups);
  if (fields.reload && !setPrefetch)
    fields.prefetch = 0;
  if (!setUnroll && (fields.prefetch != schedule.getPrefetch() ||
                     fields.stages || fields.reload))
    fields.unroll = 1;
  if (fields.columnTile && fields.columnTile == schedule.getColumnTile() &&
      fields.threadsPerRow > 0 && fields.vectorWidth > 0)
    fields.columnTile = fields.threadsPerRow * fields.vectorWidth;
  for (auto [name, value, isFlag] : named)
    if (isFlag && *value != 0 && *value != 1)
      return emitError() << "expected schedule field '" << name
                         << "' to be 0 or 1, got " << *value;
  ScheduleAttr result = fields.getChecked(emitError, schedule.getContext());
  if (!result)
    return failure();
  return result;
}
