//===- SubgroupReductions.h - Reductions within a wave ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_GPUTOVENDOR_SUBGROUPREDUCTIONS_H
#define LNBWD_LIB_CONVERSION_GPUTOVENDOR_SUBGROUPREDUCTIONS_H

#include "lnbwd/Target/ChipInfo.h"

#include "mlir/IR/Operation.h"

namespace lnbwd {

/// Lowers each `gpu.subgroup_reduce` of `root` for `chip`, and counts them.
/// Shuffles become moves of AMD's chips.
mlir::FailureOr<int64_t> lowerSubgroupReductions(mlir::Operation *root,
                                                 const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_GPUTOVENDOR_SUBGROUPREDUCTIONS_H
