//===- StageTable.h - Where stages lie, in numbers --------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory and the barriers of each lane.stages of a kernel: laid out once,
// where the operation stands, for all that ask.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_LANETOGPU_STAGETABLE_H
#define LNBWD_LIB_CONVERSION_LANETOGPU_STAGETABLE_H

#include "lnbwd/Analysis/StageLayout.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace lnbwd {

/// The stages of a `lane.stages`.
struct Stages {
  StageLayout layout;
  /// For each row operand the memory of all stages, [stages, elements].
  llvm::SmallVector<mlir::Value> memories;
  /// For each stage a barrier that counts the bytes that arrive.
  mlir::Value barriers;
};

class StageTable {
public:
  /// Lays out all stages of `kernel`.
  explicit StageTable(mlir::gpu::GPUFuncOp kernel);

  const Stages &lookup(mlir::Value stages) const;
  /// Erases the operations, when nothing asks for their results any more.
  void eraseStages();

private:
  llvm::DenseMap<mlir::Value, Stages> table;
};

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_LANETOGPU_STAGETABLE_H
