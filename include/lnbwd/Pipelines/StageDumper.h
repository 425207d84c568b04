//===- StageDumper.h - Keep the IR after each stage -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the IR to a folder after every pass that changed it: what
// `lnbwd-opt --save-temps` does.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_PIPELINES_STAGEDUMPER_H
#define LNBWD_PIPELINES_STAGEDUMPER_H

#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace lnbwd {

/// Numbers and writes the stages of one compilation: "01-input.mlir", ...
class StageWriter {
public:
  explicit StageWriter(std::string folder) : folder(std::move(folder)) {}

  /// Creates the folder. The error says why it cannot be used.
  llvm::Error prepare();
  /// Writes the next stage; `name` has the suffix, e.g. "kernel.ll". A failure
  /// to write is remembered for takeError().
  void write(llvm::StringRef name, llvm::StringRef contents);
  llvm::Error takeError();

private:
  std::string folder;
  unsigned count = 0;
  std::string firstError;
};

/// Writes the root operation after each pass that changed it. Passes of
/// operations within it, each of which goes through all of them at once, are
/// written when all are done: one after another, each as if it had run on all
/// operations before the next.
std::unique_ptr<mlir::PassInstrumentation>
createStageDumper(std::shared_ptr<StageWriter> writer);

} // namespace lnbwd

#endif // LNBWD_PIPELINES_STAGEDUMPER_H
