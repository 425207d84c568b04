//===- LaunchPlan.h - What a launcher needs to know -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derives the launch plan of docs/abi.md from a function that launches kernels.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TARGET_LAUNCHPLAN_H
#define LNBWD_TARGET_LAUNCHPLAN_H

#include "lnbwd/Target/ChipInfo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace lnbwd {

/// The name of the symbol that carries the plan in a code object.
inline constexpr llvm::StringLiteral launchPlanSymbol = "lnbwd_plan";
/// The attribute of a GPU module that carries the plan in the IR.
inline constexpr llvm::StringLiteral launchPlanAttr = "lnbwd.plan";

/// Attributes of a function's arguments: the name, kind and access of the plan.
inline constexpr llvm::StringLiteral argumentNameAttr = "lnbwd.name";
inline constexpr llvm::StringLiteral argumentKindAttr = "lnbwd.kind";
inline constexpr llvm::StringLiteral argumentAccessAttr = "lnbwd.access";
/// Of an argument that is several operands: the names of the others.
inline constexpr llvm::StringLiteral argumentAliasesAttr = "lnbwd.aliases";
/// Of an argument whose rows have several dimensions: how many.
inline constexpr llvm::StringLiteral argumentRowRankAttr = "lnbwd.row_rank";
/// The attribute of an allocation of one number for each row.
inline constexpr llvm::StringLiteral rowScalarAttr = "lnbwd.row_scalar";
/// The attribute of a launch whose kernel may start before the one before it
/// has ended.
inline constexpr llvm::StringLiteral earlyStartAttr = "lnbwd.early_start";

/// The plan of `function` as JSON on one line. The function launches kernels on
/// its arguments and on allocations of its own, one after the other; anything
/// else in it is an error.
mlir::FailureOr<std::string> buildLaunchPlan(mlir::func::FuncOp function,
                                             const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_TARGET_LAUNCHPLAN_H
