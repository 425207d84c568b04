//===- LNBwdSchedule.td - The fields of a schedule ---------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one table of the schedule's fields. From it come the parameters and the
// description of `#lnbwd.schedule` (LNBwdAttrs.td); and, by
// scripts/generate-tables.py, what C++ (LNBwdSchedule.h) and Python
// (lnbwd.schedule) know of them: names, values and defaults.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_LNBWDSCHEDULE_TD
#define LNBWD_DIALECT_LNBWD_IR_LNBWDSCHEDULE_TD

/// What a field may be on any chip, for any program: `allowed`, or, where that
/// is empty, all whole numbers from `least`. `text` ends the sentence "expected
/// the field to be ...".
class LNBwd_FieldValues<string words, int from, list<int> finite = []> {
  string text = words;
  int least = from;
  list<int> allowed = finite;
}

class LNBwd_AtLeast<int n> : LNBwd_FieldValues<"at least " # n, n>;
class LNBwd_OneOf<string words, list<int> finite>
    : LNBwd_FieldValues<words, !head(finite), finite>;
def LNBwd_PowerOfTwoTo16
    : LNBwd_OneOf<"a power of two from 1 to 16", [1, 2, 4, 8, 16]>;
def LNBwd_From1To16
    : LNBwd_OneOf<"from 1 to 16", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
                                   14, 15, 16]>;
def LNBwd_Flag : LNBwd_OneOf<"0 or 1", [0, 1]>;

/// A field. In the text of all fields a name in backquotes is that of a field.
class LNBwd_ScheduleField<string fieldName, LNBwd_FieldValues fieldValues> {
  /// As the attribute's syntax and a user's override spell it.
  string name = fieldName;
  /// What it counts; "" for flags.
  string unit = "";
  LNBwd_FieldValues values = fieldValues;
  bit isFlag = !eq(!cast<string>(fieldValues), "LNBwd_Flag");
  /// The value where it is left out; "" where it must be given.
  string defaultValue = "";
  /// One sentence on what it is, without a full stop.
  string text = ?;
  /// What 0, or the default, means beside that; may be "".
  string defaultText = "";
  /// Whether it is chosen after the others, of which it follows.
  bit follows = 0;
  /// Vendors that have chips where it may be other than its default.
  list<string> vendors = ["amd", "nvidia"];

  // What follows is computed.
  string shownDefault =
      !if(!empty(defaultValue), "",
          !if(isFlag, !if(!eq(defaultValue, "1"), "true", "false"),
              defaultValue));
  string row = "    | `" # name # "` | " # unit # " | "
      # !if(isFlag, "a flag", values.text) # " | " # shownDefault # " | "
      # !interleave(!foreach(vendor, vendors,
                             !if(!eq(vendor, "amd"), "AMD", "NVIDIA")), ", ")
      # " | " # text
      # !if(!empty(defaultText), "", "; " # defaultText) # " |";
}

defset list<LNBwd_ScheduleField> LNBwd_ScheduleFields = {

def LNBwd_ThreadsPerRow
    : LNBwd_ScheduleField<"threads_per_row", LNBwd_AtLeast<1>> {
  let unit = "lanes";
  let text = "lanes that share one row: a power of two up to the wave size, or "
             "a multiple of the wave size";
}

def LNBwd_RowGroups : LNBwd_ScheduleField<"row_groups", LNBwd_AtLeast<1>> {
  let unit = "rows";
  let text = "rows that a workgroup works on side by side; a workgroup has "
             "`threads_per_row` times `row_groups` work-items";
}

def LNBwd_VectorWidth
    : LNBwd_ScheduleField<"vector_width", LNBwd_PowerOfTwoTo16> {
  let unit = "elements";
  let text = "elements of one access; aligns accesses where it does not divide the row length";
}

def LNBwd_RowsPerWorkgroup
    : LNBwd_ScheduleField<"rows_per_workgroup", LNBwd_AtLeast<0>> {
  let unit = "rows";
  let text = "rows that a workgroup processes at least; 0: one workgroup "
             "processes all rows";
}

def LNBwd_WorkgroupsPerComputeUnit
    : LNBwd_ScheduleField<"workgroups_per_compute_unit", LNBwd_AtLeast<0>> {
  let unit = "workgroups";
  let text = "persistent workgroups for each compute unit of the device: the "
             "grid has at most as many, each of which loops over its rows; 0: "
             "no bound. A cluster of `workgroups_per_row` counts as one "
             "workgroup on as many compute units";
}

def LNBwd_WorkgroupsPerRow
    : LNBwd_ScheduleField<"workgroups_per_row", LNBwd_From1To16> {
  let unit = "workgroups";
  let defaultValue = "1";
  let text = "workgroups of a cluster that split the columns of a row and "
             "exchange partial sums through distributed shared memory, up to "
             "the chip's cluster size";
  let vendors = ["nvidia"];
}

def LNBwd_ColumnTile : LNBwd_ScheduleField<"column_tile", LNBwd_AtLeast<0>> {
  let unit = "columns";
  let defaultValue = "0";
  let text = "columns that one workgroup covers, a multiple of "
             "`threads_per_row` times `vector_width`";
  let defaultText = "0: the whole row. Only for programs without row sums";
}

def LNBwd_Prefetch
    : LNBwd_ScheduleField<"prefetch", LNBwd_OneOf<"0 or 1", [0, 1]>> {
  let unit = "tiles of rows";
  let defaultValue = "0";
  let text = "tiles of rows whose loads into registers are in flight while the "
             "current tile is processed";
}

def LNBwd_Unroll
    : LNBwd_ScheduleField<"unroll", LNBwd_OneOf<"1, 2, 4 or 8", [1, 2, 4, 8]>> {
  let unit = "tiles of rows";
  let defaultValue = "1";
  let text = "tiles of rows that one iteration of the row loop processes: 1; "
             "with `prefetch` also 2, which uses prefetched registers where "
             "they were loaded instead of copying them; without it, for "
             "programs without row sums, also 2, 4 or 8, all of which are "
             "loaded before the first is processed. Not with `stages` or "
             "`reload`";
}

def LNBwd_Stages
    : LNBwd_ScheduleField<"stages", LNBwd_OneOf<"0, or from 2 to 16",
          [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]>> {
  let unit = "tiles of rows";
  let defaultValue = "0";
  let text = "pipeline depth: tiles of rows that asynchronous bulk copies keep "
             "in flight to a multi-buffer in shared memory";
  let defaultText = "0: rows are loaded to registers. Only for chips with such "
                    "copies";
  let vendors = ["nvidia"];
}

def LNBwd_DependentLaunch
    : LNBwd_ScheduleField<"dependent_launch", LNBwd_Flag> {
  let defaultValue = "0";
  let text = "programmatic dependent launch: the kernel may start before the "
             "preceding kernel of the stream has ended, and waits for it before "
             "its first access to memory. Only for chips with such launches, "
             "where a kernel triggers the launch of the next one of its program "
             "when its own rows are done";
  let vendors = ["nvidia"];
}

def LNBwd_Reload : LNBwd_ScheduleField<"reload", LNBwd_Flag> {
  let defaultValue = "0";
  let text = "rows are not kept in registers: each phase between two row sums "
             "loads them again, so that rows may have any length. Only for "
             "programs without column sums";
}

def LNBwd_RowSplits : LNBwd_ScheduleField<"row_splits", LNBwd_AtLeast<0>> {
  let unit = "splits";
  let defaultValue = "0";
  let text = "split-row reduction: parts into which a row's columns are split, "
             "for each of which a kernel of its own writes partial row sums to "
             "memory. The other fields then are those of a program without row "
             "sums. Few long rows so fill the chip, but are read once more";
  let defaultText = "0: row sums stay in the kernel. Only for programs with row "
                    "sums, none of which is a maximum";
}

def LNBwd_PrefetchBeforeDependency
    : LNBwd_ScheduleField<"prefetch_before_dependency", LNBwd_Flag> {
  let defaultValue = "0";
  let follows = 1;
  let text = "the first rows of a workgroup are prefetched to the L2 cache "
             "while it waits for the preceding kernel. Only with "
             "`dependent_launch`, not with `reload`";
  let vendors = ["nvidia"];
}

def LNBwd_SumBlock : LNBwd_ScheduleField<"sum_block", LNBwd_AtLeast<0>> {
  let unit = "iterations";
  let defaultValue = "0";
  let follows = 1;
  let text = "iterations of the row loop that a lane sums up before it adds "
             "the column sums to totals, so that the error of a sum does not "
             "grow with the rows of a lane: another order of additions, which "
             "rounds in another way";
  let defaultText = "0: one sum of all iterations";
}

def LNBwd_CombineRadix
    : LNBwd_ScheduleField<"combine_radix",
                          LNBwd_OneOf<"2, 4, 8 or 16", [2, 4, 8, 16]>> {
  let unit = "row groups";
  let defaultValue = "8";
  let follows = 1;
  let text = "row groups whose column sums one of them adds up in one step: "
             "another order of additions, which rounds in another way; fewer "
             "take less shared memory";
}

def LNBwd_LateColumns : LNBwd_ScheduleField<"late_columns", LNBwd_Flag> {
  let defaultValue = "0";
  let follows = 1;
  let text = "columns are loaded where a row first needs them, by each row "
             "group for itself, and not once for all rows";
}

def LNBwd_WidenColumns : LNBwd_ScheduleField<"widen_columns", LNBwd_Flag> {
  let defaultValue = "0";
  let follows = 1;
  let text = "columns are widened once, ahead of the row loop, also for the "
             "rows after it that do not fill a tile";
}

def LNBwd_MostRegisters
    : LNBwd_ScheduleField<"most_registers", LNBwd_AtLeast<0>> {
  let unit = "registers";
  let defaultValue = "0";
  let follows = 1;
  let vendors = ["nvidia"];
  let text = "registers of a lane, at most, so that as many workgroups as the "
             "schedule counts on run on a compute unit at once";
  let defaultText = "0: as many as the code generator takes";
}

def LNBwd_LanesAcross : LNBwd_ScheduleField<"lanes_across", LNBwd_Flag> {
  let defaultValue = "0";
  let text = "neighbouring lanes have neighbouring rows: `row_groups` lanes side "
             "by side have an element each of as many rows, whose elements lie "
             "side by side in memory. Only with `vector_width` 1 and `row_groups` "
             "a power of two above 1";
}

} // defset LNBwd_ScheduleFields

#endif // LNBWD_DIALECT_LNBWD_IR_LNBWDSCHEDULE_TD
