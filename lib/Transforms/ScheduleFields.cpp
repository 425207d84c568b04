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

#include "lnbwd/Transforms/ScheduleFields.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace lnbwd;

ScheduleFields::ScheduleFields(ScheduleAttr schedule)
    : threadsPerRow(schedule.getThreadsPerRow()),
      rowGroups(schedule.getRowGroups()),
      vectorWidth(schedule.getVectorWidth()),
      rowsPerWorkgroup(schedule.getRowsPerWorkgroup()),
      workgroupsPerComputeUnit(schedule.getWorkgroupsPerComputeUnit()),
      workgroupsPerRow(schedule.getWorkgroupsPerRow()),
      columnTile(schedule.getColumnTile()), prefetch(schedule.getPrefetch()),
      unroll(schedule.getUnroll()), stages(schedule.getStages()),
      earlyStart(schedule.getEarlyStart()), reload(schedule.getReload()) {}

SmallVector<std::pair<StringRef, int64_t *>> ScheduleFields::getNamed() {
  return {
      {"threads_per_row", &threadsPerRow},
      {"row_groups", &rowGroups},
      {"vector_width", &vectorWidth},
      {"rows_per_workgroup", &rowsPerWorkgroup},
      {"workgroups_per_compute_unit", &workgroupsPerComputeUnit},
      {"workgroups_per_row", &workgroupsPerRow},
      {"column_tile", &columnTile},
      {"prefetch", &prefetch},
      {"unroll", &unroll},
      {"stages", &stages},
      {"early_start", &earlyStart},
      {"reload", &reload},
  };
}

ScheduleAttr ScheduleFields::get(MLIRContext *context) const {
  return ScheduleAttr::get(context, threadsPerRow, rowGroups, vectorWidth,
                           rowsPerWorkgroup, workgroupsPerComputeUnit,
                           workgroupsPerRow, columnTile, prefetch, unroll,
                           stages, earlyStart != 0, reload != 0);
}

ScheduleAttr
ScheduleFields::getChecked(function_ref<InFlightDiagnostic()> emitError,
                           MLIRContext *context) const {
  return ScheduleAttr::getChecked(
      emitError, context, threadsPerRow, rowGroups, vectorWidth,
      rowsPerWorkgroup, workgroupsPerComputeUnit, workgroupsPerRow, columnTile,
      prefetch, unroll, stages, earlyStart != 0, reload != 0);
}

FailureOr<ScheduleAttr>
lnbwd::overrideSchedule(ScheduleAttr schedule, StringRef overrides,
                        function_ref<InFlightDiagnostic()> emitError) {
  ScheduleFields fields(schedule);
  auto named = fields.getNamed();
  bool setThreads = false, setRows = false, setGroups = false,
       setPrefetch = false, setUnroll = false;
  SmallVector<StringRef> assignments;
  overrides.split(assignments, ',', -1, /*KeepEmpty=*/false);
  for (StringRef assignment : assignments) {
    auto [name, text] = assignment.trim().split('=');
    const auto *field =
        llvm::find_if(named, [&, name = name](const auto &entry) {
          return entry.first == name;
        });
    if (field == named.end()) {
      InFlightDiagnostic diag = emitError() << "unknown schedule field '"
                                            << name << "', expected one of: ";
      llvm::interleaveComma(llvm::make_first_range(named), diag);
      return diag;
    }
    if (text.getAsInteger(10, *field->second))
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
  for (auto [name, flag] :
       {std::pair<StringRef, int64_t>("reload", fields.reload),
        std::pair<StringRef, int64_t>("early_start", fields.earlyStart)})
    if (flag != 0 && flag != 1)
      return emitError() << "expected schedule field '" << name
                         << "' to be 0 or 1, got " << flag;
  ScheduleAttr result = fields.getChecked(emitError, schedule.getContext());
  if (!result)
    return failure();
  return result;
}
