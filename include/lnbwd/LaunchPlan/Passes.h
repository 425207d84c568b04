//===- Passes.h - Passes that make the launch plan --------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declares the pass that sends the plan along with the code. Passes.td
// describes it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LAUNCHPLAN_PASSES_H
#define LNBWD_LAUNCHPLAN_PASSES_H

#include "mlir/Pass/Pass.h"

namespace lnbwd {

#define GEN_PASS_DECL
#include "lnbwd/LaunchPlan/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "lnbwd/LaunchPlan/Passes.h.inc"

} // namespace lnbwd

#endif // LNBWD_LAUNCHPLAN_PASSES_H
