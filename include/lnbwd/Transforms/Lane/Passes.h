//===- Passes.h - Passes over kernels of the lane level ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declares the passes that stay on the lane level. Passes.td describes each,
// docs/lowering.md the level.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TRANSFORMS_LANE_PASSES_H
#define LNBWD_TRANSFORMS_LANE_PASSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace lnbwd {

#define GEN_PASS_DECL
#include "lnbwd/Transforms/Lane/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "lnbwd/Transforms/Lane/Passes.h.inc"

} // namespace lnbwd

#endif // LNBWD_TRANSFORMS_LANE_PASSES_H
