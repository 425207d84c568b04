//===- StageMemory.h - Where stages lie -------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory and the barriers of each lane.stages of a kernel: laid out once,
// where the operation stands, for all that ask. A cast carries them there.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_LANETOGPU_STAGEMEMORY_H
#define LNBWD_LIB_CONVERSION_LANETOGPU_STAGEMEMORY_H

#include "lnbwd/Analysis/StageLayout.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"

#include <optional>

namespace lnbwd {

/// The stages of a `lane.stages`.
struct Stages {
  StageLayout stageLayout;
  /// For each row operand the memory of all stages, [stages, elements].
  llvm::SmallVector<mlir::Value> memories;
  /// For each stage a barrier that counts the bytes that arrive.
  mlir::Value barriers;
};

/// What layOutStages() noted for the stages `value`; nothing where it did not.
std::optional<Stages> lookupStages(mlir::Value value);

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_LANETOGPU_STAGEMEMORY_H
