//===- LaunchPlan.h - What a launcher needs to know -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derives the launch plan of docs/runtime.md from a function that launches
// kernels.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LAUNCHPLAN_LAUNCHPLAN_H
#define LNBWD_LAUNCHPLAN_LAUNCHPLAN_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace lnbwd {

/// The name of the symbol that carries the plan in a code object.
inline constexpr llvm::StringLiteral launchPlanSymbol = "lnbwd_plan";

/// The plan of `function` as JSON on one line. The function launches kernels on
/// its arguments and on allocations of its own, one after the other; anything
/// else in it is an error. The plan records the target id that the kernels are
/// compiled for.
mlir::FailureOr<std::string> buildLaunchPlan(mlir::func::FuncOp function,
                                             const TargetId &target);

} // namespace lnbwd

#endif // LNBWD_LAUNCHPLAN_LAUNCHPLAN_H
