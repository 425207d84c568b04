//===- Plan.h - The launch plan ---------------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launch plan of docs/runtime.md as data, and its parser. What the parser
// lets through obeys the limits below, so that a launch can work in arrays of
// fixed size and needs no memory of its own.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_RUNTIME_PLAN_H
#define LNBWD_RUNTIME_PLAN_H

#include "lnbwd/Operations/Operations.h"
#include "lnbwd/Runtime/lnbwd_runtime.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lnbwd::runtime {

constexpr size_t kMaxArguments = 64;
constexpr size_t kMaxWorkgroupCounts = 16;
constexpr size_t kMaxWorkspaces = 16;
constexpr size_t kMaxKernels = 64;
constexpr size_t kMaxParameters = 64;

/// The two numbers that a launch is free to choose.
struct LaunchSize {
  /// Implicit: most programs have but one of them.
  LaunchSize(int64_t rows, int64_t groups = 0) : rows(rows), groups(groups) {}

  /// M / B.
  int64_t rowsPerGroup() const { return groups > 0 ? rows / groups : 0; }

  /// M.
  int64_t rows;
  /// B; of no meaning to programs without groups.
  int64_t groups;
};

/// Bytes of one element.
int64_t elementSize(lnbwd_element element);

struct PlanArgument {
  std::string name;
  lnbwd_access access;
  lnbwd_argument_kind kind;
  lnbwd_element element;
  int64_t rowLength;
  /// Elements from one row to the next.
  int64_t rowStride;
  /// What its address is a multiple of: a power of two.
  int64_t alignment;

  const Dims &dims() const { return kKinds[kind].dims; }
};

/// Numbers of rows of a kernel and of the launch, of which one follows from the
/// other.
struct RowRatio {
  int64_t times = 1, over = 1;

  /// The kernel's rows, where the launch has `rows`.
  int64_t scale(int64_t rows) const;
};

struct PlanWorkgroupCount {
  int64_t rowsPerWorkgroup;
  /// 0: no upper bound.
  int64_t workgroupsPerComputeUnit;
  /// Whatever the device; 0: no upper bound.
  int64_t maxWorkgroups = 0;
  /// Whatever bounds it, as far as there are rows for so many.
  int64_t leastWorkgroups = 1;
  /// Workgroups side by side that the count takes for one.
  int64_t workgroupsPerRow = 1;
  /// Whether it is the number of workgroups of each group of rows.
  bool perGroup = false;
  RowRatio ratio;
};

/// What a launch passes or counts by: a buffer, or a number that is known then.
struct PlanValue {
  enum class Kind {
    Argument,
    Workspace,
    Rows,
    RowsPerGroup,
    WorkgroupCount,
    Constant
  };
  Kind kind = Kind::Constant;
  /// Of the argument, workspace or workgroup count; 0 for Rows and
  /// RowsPerGroup; the number itself for Constant.
  int64_t index = 0;
  /// Of a workgroup count or constant: times the number of groups.
  bool timesGroups = false;
  /// Of rows.
  RowRatio ratio = {};

  /// The number that it is, given the workgroup counts; `what` it counts, for
  /// the message if that is over 63 bits.
  int64_t evaluate(LaunchSize size, const int64_t *workgroupCounts,
                   const char *what) const;
};

struct PlanWorkspace {
  lnbwd_element element;
  int64_t rowLength;
  PlanValue rows;
};

struct PlanKernel {
  std::string name;
  std::array<PlanValue, 3> grid;
  std::array<uint32_t, 3> block;
  /// Whether it may start before the preceding kernel has ended.
  bool dependentLaunch = false;
  uint32_t dynamicSharedBytes;
  std::vector<PlanValue> parameters;
};

struct Plan {
  std::string text;
  std::string name;
  std::string chip;
  int64_t waveSize;
  /// Whether no written argument may overlap another one, not even a row block
  /// that lies over another.
  bool separateBuffers = false;
  std::vector<PlanArgument> arguments;
  std::vector<PlanWorkgroupCount> workgroupCounts;
  std::vector<PlanWorkspace> workspaces;
  std::vector<PlanKernel> kernels;

  /// An argument that has a row for each group of rows; null if there is none,
  /// and so no groups.
  const PlanArgument *groupArgument() const;
  /// Throws if no launch can be of that size: M below 0 or no multiple of B, or
  /// a B that is missing.
  void checkSize(LaunchSize size) const;
  /// The number of workgroups by rule `index` on a device of `computeUnits`,
  /// which holds `clusters` at once; 0: there is no such bound.
  int64_t workgroupCount(size_t index, LaunchSize size, int64_t computeUnits,
                         int64_t clusters = 0) const;
  /// Bytes of argument `index`; throws if over 63 bits.
  int64_t argumentBytes(size_t index, LaunchSize size) const;
  /// Bytes of workspace `index`, given the workgroup counts.
  int64_t workspaceBytes(size_t index, LaunchSize size,
                         const int64_t *workgroupCounts) const;
};

/// Reads a plan. Throws an Error that says where the text departs from
/// docs/runtime.md and what was expected there.
Plan parsePlan(const std::string &text);

} // namespace lnbwd::runtime

#endif // LNBWD_RUNTIME_PLAN_H
