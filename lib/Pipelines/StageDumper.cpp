//===- StageDumper.cpp - Keep the IR after each stage ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass instrumentation that prints, and the writer of numbered files that it
// shares with code emission.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Pipelines/StageDumper.h"

#include "lnbwd/Support/OutputFile.h"

#include "mlir/IR/Operation.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace lnbwd;

llvm::Error StageWriter::prepare() {
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError(error, "cannot create the folder '%s': %s",
                                   folder.c_str(), error.message().c_str());
  return llvm::Error::success();
}

void StageWriter::write(StringRef name, StringRef contents) {
  SmallString<128> path(folder);
  llvm::sys::path::append(path,
                          llvm::formatv("{0,0+2}-{1}", ++count, name).str());
  std::error_code error = writeOutputFile(path.str().str(), contents);
  if (error && firstError.empty())
    firstError = ("cannot write '" + path + "': " + error.message()).str();
}

llvm::Error StageWriter::takeError() {
  if (firstError.empty())
    return llvm::Error::success();
  return llvm::createStringError(firstError);
}

namespace {
class StageDumper : public PassInstrumentation {
public:
  explicit StageDumper(std::shared_ptr<StageWriter> writer)
      : writer(std::move(writer)) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (op->getParentOp() || !last.empty())
      return;
    last = print(op);
    writer->write("input.mlir", last);
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    if (op->getParentOp())
      return;
    std::string text = print(op);
    if (text == last)
      return;
    // The adaptor that runs nested passes has no argument of its own.
    StringRef argument = pass->getArgument();
    std::string name = argument.empty() ? "nested-passes" : argument.str();
    writer->write(name + ".mlir", text);
    last = std::move(text);
  }

private:
  static std::string print(Operation *op) {
    std::string text;
    llvm::raw_string_ostream os(text);
    op->print(os);
    os << "\n";
    return text;
  }

  std::shared_ptr<StageWriter> writer;
  std::string last;
};
} // namespace

std::unique_ptr<PassInstrumentation>
lnbwd::createStageDumper(std::shared_ptr<StageWriter> writer) {
  return std::make_unique<StageDumper>(std::move(writer));
}
