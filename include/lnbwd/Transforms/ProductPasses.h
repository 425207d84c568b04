//===- ProductPasses.h - Products of matrices as kernels --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declares the pass that takes row programs with matrices apart, which
// ProductPasses.td describes.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TRANSFORMS_PRODUCTPASSES_H
#define LNBWD_TRANSFORMS_PRODUCTPASSES_H

#include "mlir/Pass/Pass.h"

namespace lnbwd {

#define GEN_PASS_DECL
#include "lnbwd/Transforms/ProductPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "lnbwd/Transforms/ProductPasses.h.inc"

} // namespace lnbwd

#endif // LNBWD_TRANSFORMS_PRODUCTPASSES_H
