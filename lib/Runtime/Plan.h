//===- Plan.h - The launch plan ---------------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launch plan of docs/abi.md as data, and its parser. What the parser lets
// through obeys the limits below, so that a launch can work in arrays of fixed
// size and needs no memory of its own.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_RUNTIME_PLAN_H
#define LNBWD_LIB_RUNTIME_PLAN_H

#include "lnbwd/Runtime/lnbwd_runtime.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lnbwd::runtime {

constexpr size_t kMaxArguments = 64;
constexpr size_t kMaxWorkgroupCounts = 16;
constexpr size_t kMaxWorkspaces = 16;
constexpr size_t kMaxKernels = 64;
constexpr size_t kMaxParameters = 64;

/// Bytes of one element.
int64_t elementSize(lnbwd_element element);

struct PlanArgument {
  std::string name;
  lnbwd_access access;
  lnbwd_argument_kind kind;
  lnbwd_element element;
  int64_t rowLength;
  /// Elements from one row of a row block to the next.
  int64_t rowStride;
};

/// What the kernels compute together, if the plan says so.
struct PlanOperation {
  /// Empty: it does not.
  std::string name;
  /// Where they compute statistics; otherwise below 0.
  double epsilon = -1;
  bool zeroCentredGamma = false;
  /// The operands by name, each with the argument that it is.
  std::vector<std::pair<std::string, size_t>> operands;
};

struct PlanWorkgroupCount {
  int64_t rowsPerWorkgroup;
  /// 0: no upper bound.
  int64_t workgroupsPerComputeUnit;
  /// Whatever the device; 0: no upper bound.
  int64_t maxWorkgroups = 0;
  /// Workgroups side by side that the count takes for one.
  int64_t workgroupsPerRow = 1;
};

/// A number, or the workgroup count of an index; of a workspace also M.
struct PlanExtent {
  bool isWorkgroupCount;
  int64_t value;
  bool isRows = false;
};

struct PlanWorkspace {
  lnbwd_element element;
  int64_t rowLength;
  PlanExtent rows;
};

struct PlanParameter {
  enum class Kind { Argument, Workspace, Rows, WorkgroupCount, Constant };
  Kind kind;
  /// Of the argument, workspace or workgroup count; 0 for Rows; the number
  /// itself for Constant.
  size_t index;
};

struct PlanKernel {
  std::string name;
  std::array<PlanExtent, 3> grid;
  std::array<uint32_t, 3> block;
  /// Whether it may start before the kernel before it has ended.
  bool earlyStart = false;
  uint32_t dynamicSharedBytes;
  std::vector<PlanParameter> parameters;
};

struct Plan {
  std::string text;
  std::string producer;
  std::string name;
  std::string chip;
  int64_t waveSize;
  PlanOperation operation;
  std::vector<PlanArgument> arguments;
  std::vector<PlanWorkgroupCount> workgroupCounts;
  std::vector<PlanWorkspace> workspaces;
  std::vector<PlanKernel> kernels;

  /// The number of workgroups by rule `index` for M = `rows` on a device of
  /// `computeUnits`.
  int64_t workgroupCount(size_t index, int64_t rows,
                         int64_t computeUnits) const;
  /// Bytes of argument `index` for M = `rows`; throws if over 63 bits.
  int64_t argumentBytes(size_t index, int64_t rows) const;
  /// Bytes of workspace `index` for M = `rows`, given the workgroup counts.
  int64_t workspaceBytes(size_t index, int64_t rows,
                         const int64_t *workgroupCounts) const;
};

/// Reads a plan. Throws an Error that says where the text departs from
/// docs/abi.md and what was expected there.
Plan parsePlan(const std::string &text);

} // namespace lnbwd::runtime

#endif // LNBWD_LIB_RUNTIME_PLAN_H
