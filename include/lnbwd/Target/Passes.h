//===- Passes.h - Passes of code emission -----------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declares what the backends need beside upstream's conversions. Passes.td
// describes it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TARGET_PASSES_H
#define LNBWD_TARGET_PASSES_H

#include "mlir/Pass/Pass.h"

namespace lnbwd {

#define GEN_PASS_DECL
#include "lnbwd/Target/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "lnbwd/Target/Passes.h.inc"

} // namespace lnbwd

#endif // LNBWD_TARGET_PASSES_H
