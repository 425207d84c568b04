//===- LaunchCounts.h - The numbers that a launch depends on ----*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes down the numbers of a scheduled row program that are known at launch
// only, in the form that the launch plan is read off.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LAUNCHPLAN_LAUNCHCOUNTS_H
#define LNBWD_LAUNCHPLAN_LAUNCHCOUNTS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

namespace lnbwd {

/// The numbers of one launch, as index values. Where all rows are one group,
/// `groups` is null and the others are those of the whole launch.
struct LaunchCounts {
  /// B.
  mlir::Value groups;
  /// Rows of a group, M / B.
  mlir::Value rows;
  /// Workgroups of a group.
  mlir::Value workgroups;
};

/// Adds the operations that give the numbers of `op`, which has a schedule.
LaunchCounts makeLaunchCounts(mlir::OpBuilder &builder, RowwiseOp op);

} // namespace lnbwd

#endif // LNBWD_LAUNCHPLAN_LAUNCHCOUNTS_H
