//===- Passes.h - Passes from level to level --------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declares the passes into the lane level, out of it, of products of matrices,
// and to a vendor's operations. Passes.td describes each, docs/lowering.md
// the level.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_CONVERSION_PASSES_H
#define LNBWD_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace lnbwd {

#define GEN_PASS_DECL
#include "lnbwd/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "lnbwd/Conversion/Passes.h.inc"

} // namespace lnbwd

#endif // LNBWD_CONVERSION_PASSES_H
