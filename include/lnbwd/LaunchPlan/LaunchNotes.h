//===- LaunchNotes.h - What the launch plan is read off ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands of a row program have a role (row block, row scalar, column, group
// column) and a name. Both are noted on the function's arguments, where the
// launch plan finds them even if no program reads the argument in the end. The
// numbers that are known at launch only are operations.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LAUNCHPLAN_LAUNCHNOTES_H
#define LNBWD_LAUNCHPLAN_LAUNCHNOTES_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace lnbwd {

/// Notes name and kind on those arguments of the enclosing function that are
/// operands of `op`. A name that is noted already stays; a kind or row rank
/// that is noted and is not that of the operand is an error.
mlir::LogicalResult recordArgumentRoles(RowwiseOp op);

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
LaunchCounts makeLaunchCounts(mlir::ImplicitLocOpBuilder &b, RowwiseOp op);

} // namespace lnbwd

#endif // LNBWD_LAUNCHPLAN_LAUNCHNOTES_H
