//===- Pipelines.h - From the named operation to machine code ---*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pipelines and their options, and what --save-temps keeps after each pass.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_PIPELINES_PIPELINES_H
#define LNBWD_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

#include <string>

namespace lnbwd {

/// Options of both pipelines.
struct PipelineOptions : mlir::PassPipelineOptions<PipelineOptions> {
  Option<std::string> chip{
      *this, "chip",
      llvm::cl::desc("Chip to compile for; an unknown name is an error that "
                     "lists the known ones")};
  Option<std::string> schedule{
      *this, "schedule",
      llvm::cl::desc("Fields of #lnbwd.schedule to set by hand, "
                     "field=value,...; the learned model chooses the others")};
  Option<int64_t> rows{
      *this, "rows",
      llvm::cl::desc(
          "Number of rows to choose schedules for where the types do "
          "not say it; 0: as many as move 128 MiB"),
      llvm::cl::init(0)};
  Option<int64_t> candidates{
      *this, "candidates",
      llvm::cl::desc("So many of the schedules that the learned model finds "
                     "best are named in remarks, with the microseconds that "
                     "it predicts"),
      llvm::cl::init(0)};
  Option<std::string> twoPass{
      *this, "two-pass",
      llvm::cl::desc("When to split into the textbook's two passes: auto (only "
                     "where a row does not fit the registers), always or "
                     "never"),
      llvm::cl::init("auto")};
  Option<bool> reproducible{
      *this, "reproducible",
      llvm::cl::desc("Gradients of columns with the same bits whatever the "
                     "device's number of compute units"),
      llvm::cl::init(false)};
  Option<std::string> order{
      *this, "order",
      llvm::cl::desc("Order of additions: default (what is fastest), or "
                     "canonical (the same bits for every schedule, chip and "
                     "cut of the batch)"),
      llvm::cl::init("default")};
  Option<bool> debugInfo{
      *this, "debug-info",
      llvm::cl::desc("A line table in the code, which names the places of the "
                     "MLIR source"),
      llvm::cl::init(false)};
};

/// From named operations to GPU kernels in upstream's dialects, with their
/// launch plan: everything that does not depend on a code generator.
void buildGPUPipeline(mlir::OpPassManager &pm, const PipelineOptions &options);

/// From named operations to LLVM's dialect, with the target attached: what
/// `lnbwd-opt --emit` turns into machine code.
void buildPipeline(mlir::OpPassManager &pm, const PipelineOptions &options);

/// Registers `lnbwd-gpu-pipeline`, `lnbwd-pipeline` and all passes, upstream's
/// and this project's own, if that has not been done.
void registerPipelines();

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

#endif // LNBWD_PIPELINES_PIPELINES_H
