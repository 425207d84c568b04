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

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"

#include <tuple>

using namespace mlir;
using namespace lnbwd;

ScheduleFields::ScheduleFields(ScheduleAttr schedule) {
#define LNBWD_SCHEDULE_FIELD(type, member, getter, start)                      \
  member = schedule.getter();
#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h.inc"
}

SmallVector<int64_t *> ScheduleFields::getValues() {
  return {
#define LNBWD_SCHEDULE_FIELD(type, member, getter, start) &member,
#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h.inc"
  };
}

ScheduleAttr
ScheduleFields::get(MLIRContext *context,
                    function_ref<InFlightDiagnostic()> emitError) const {
  std::tuple parameters{
#define LNBWD_SCHEDULE_FIELD(type, member, getter, start) type(member),
#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h.inc"
  };
  return std::apply(
      [&](auto... values) {
        return emitError
                   ? ScheduleAttr::getChecked(emitError, context, values...)
                   : ScheduleAttr::get(context, values...);
      },
      parameters);
}

/// The fields that `overrides` names, and to what it sets each.
static auto splitOverrides(StringRef overrides) {
  SmallVector<StringRef> texts;
  overrides.split(texts, ',', -1, /*KeepEmpty=*/false);
  return llvm::map_to_vector(
      texts, [](StringRef text) { return text.trim().split('='); });
}

std::optional<int64_t> lnbwd::findOverride(StringRef overrides,
                                           StringRef field) {
  int64_t value = 0;
  for (auto [name, text] : splitOverrides(overrides))
    if (name == field && !text.getAsInteger(10, value))
      return value;
  return {};
}

FailureOr<ScheduleAttr>
lnbwd::overrideSchedule(ScheduleAttr schedule, StringRef overrides,
                        function_ref<InFlightDiagnostic()> emitError) {
  ScheduleFields fields(schedule);
  SmallVector<int64_t *> values = fields.getValues();
  SmallPtrSet<const int64_t *, 4> set;
  for (auto [name, text] : splitOverrides(overrides)) {
    const auto *info =
        llvm::find_if(kScheduleFields, [&, name = name](const auto &known) {
          return known.name == name;
        });
    if (info == std::end(kScheduleFields)) {
      InFlightDiagnostic diag = emitError() << "unknown schedule field '"
                                            << name << "', expected one of: ";
      llvm::interleaveComma(
          llvm::map_range(kScheduleFields,
                          [](const auto &known) { return known.name; }),
          diag);
      return diag;
    }
    int64_t *value = values[info - std::begin(kScheduleFields)];
    if (text.getAsInteger(10, *value))
      return emitError() << "expected schedule field '" << name
                         << "' to be a whole number, got '" << text << "'";
    if (!set.insert(value).second)
      return emitError() << "expected schedule field '" << name
                         << "' once, got it twice";
  }
  bool setThreads = set.contains(&fields.threadsPerRow);
  bool setGroups = set.contains(&fields.rowGroups);
  // Fields that nobody set follow the ones that somebody did.
  if (setThreads && !setGroups && fields.threadsPerRow > 0)
    fields.rowGroups = int64_t(llvm::bit_floor(uint64_t(
        std::max<int64_t>(1, schedule.getThreads() / fields.threadsPerRow))));
  if ((setThreads || setGroups) && !set.contains(&fields.rowsPerWorkgroup) &&
      fields.rowsPerWorkgroup)
    fields.rowsPerWorkgroup =
        std::max(fields.rowsPerWorkgroup, fields.rowGroups);
  if (fields.reload && !set.contains(&fields.prefetch))
    fields.prefetch = 0;
  if (!set.contains(&fields.unroll) &&
      (fields.prefetch != schedule.getPrefetch() || fields.stages ||
       fields.reload))
    fields.unroll = 1;
  if (!set.contains(&fields.prefetchBeforeDependency) &&
      (!fields.dependentLaunch || fields.reload))
    fields.prefetchBeforeDependency = 0;
  if (fields.columnTile && !set.contains(&fields.columnTile) &&
      (setThreads || set.contains(&fields.vectorWidth)) &&
      fields.threadsPerRow > 0 && fields.vectorWidth > 0)
    fields.columnTile = fields.threadsPerRow * fields.vectorWidth;
  // The attribute checks numbers, and has a flag as what is not 0.
  for (auto [info, value] : llvm::zip_equal(kScheduleFields, values))
    if (info.isFlag && !info.takes(*value))
      return emitError() << "expected schedule field '" << info.name
                         << "' to be " << info.values << ", got " << *value;
  ScheduleAttr result = fields.get(schedule.getContext(), emitError);
  if (!result)
    return failure();
  return result;
}
