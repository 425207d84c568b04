//===- CompileSource.h - From source text to machine code -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One compilation from end to end: parse, run passes, emit. lnbwd-opt and the
// compiler's C interface are two ways to call it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_COMPILER_COMPILESOURCE_H
#define LNBWD_COMPILER_COMPILESOURCE_H

#include "lnbwd/Target/TargetBackend.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"

#include <functional>
#include <string>

namespace lnbwd {

/// What to do with a source.
struct CompileRequest {
  /// Adds the passes to run.
  std::function<mlir::LogicalResult(mlir::PassManager &)> addPasses;
  /// Says what else is wanted of a pass manager; may be empty.
  std::function<mlir::LogicalResult(mlir::PassManager &)> configure;
  /// What to write the module out as, after the passes.
  EmitFormat format = EmitFormat::MLIR;
  EmitOptions emit;
  /// The number of rows that a report is for; 0: the one that the source has.
  int64_t reportRows = 0;
  /// The folder that takes the IR after each stage; empty: it is not kept.
  std::string saveTemps;
  /// Given the parts of the compilation, if there is one.
  mlir::TimingScope *timing = nullptr;
};

/// Adds what a source may contain and what emission needs: upstream's dialects
/// and extensions, and this project's own.
void registerCompilerDialects(mlir::DialectRegistry &registry);

/// Parses `source`, which messages call `name`, runs the passes and emits the
/// module, or its one GPU module, in the format asked for. What is wrong is
/// printed to `diagnostics`, with the source's line.
mlir::FailureOr<std::string>
compileSource(llvm::StringRef source, llvm::StringRef name,
              const mlir::DialectRegistry &registry,
              const CompileRequest &request, llvm::raw_ostream &diagnostics);

} // namespace lnbwd

#endif // LNBWD_COMPILER_COMPILESOURCE_H
