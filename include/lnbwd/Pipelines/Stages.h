//===- Stages.h - A pipeline, pass by pass ----------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What --save-temps keeps after each pass.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_PIPELINES_STAGES_H
#define LNBWD_PIPELINES_STAGES_H

#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace lnbwd {

/// Writes files into a folder, numbered in the order in which they come.
class StageWriter {
public:
  explicit StageWriter(std::string folder) : folder(std::move(folder)) {}

  /// Writes the next stage; `name` has the suffix, e.g. "kernel.ll". A failure
  /// is remembered for getError().
  void write(llvm::StringRef name, llvm::StringRef contents);
  /// Creates the folder, runs the passes of `pm` one by one, and writes what
  /// the first gets and what each leaves, if it is another module. All kernels
  /// have been through a pass before the next one runs. `configure` is called
  /// for the pass manager of each pass.
  mlir::LogicalResult
  run(mlir::PassManager &pm, mlir::Operation *root,
      llvm::function_ref<mlir::LogicalResult(mlir::PassManager &)> configure);
  /// The first failure to create the folder or to write; empty: none.
  llvm::StringRef getError() const { return firstError; }

private:
  void writeIfChanged(llvm::StringRef stage, mlir::Operation *root);

  std::string folder, last, firstError;
  unsigned count = 0;
};

} // namespace lnbwd

#endif // LNBWD_PIPELINES_STAGES_H
