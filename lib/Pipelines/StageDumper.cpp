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

#include "lnbwd/Pipelines/PipelineTail.h"
#include "lnbwd/Support/OutputFile.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <optional>
#include <vector>

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

static std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os);
  os << "\n";
  return text;
}

namespace {
/// What became of the operations within the root, pass by pass. Each of them
/// goes through its passes on its own, and perhaps beside others: what the root
/// would be after each pass is put together when all are done.
class NestedStages {
public:
  explicit NestedStages(Operation *root) : root(root->clone(copies)) {}

  /// Keeps `op` as the pass has left it.
  void keep(StringRef pass, Operation *op) {
    size_t time = timesRun[{op, pass.str()}]++;
    auto *stage = llvm::find_if(stages, [&](const Stage &stage) {
      return stage.pass == pass && stage.time == time;
    });
    if (stage == stages.end())
      stage = &stages.emplace_back(Stage{pass.str(), time, {}});
    auto mapping = std::make_unique<IRMapping>();
    OwningOpRef<Operation *> copy = op->clone(*mapping);
    stage->kept.push_back({op, std::move(copy), std::move(mapping)});
  }

  /// Calls `write` with each run of a pass and the root after it, in order.
  void write(function_ref<void(StringRef, Operation *)> write) {
    for (Stage &stage : stages) {
      for (Kept &kept : stage.kept)
        if (Operation *before = copies.lookupOrNull(kept.original)) {
          before->getBlock()->getOperations().insert(before->getIterator(),
                                                     kept.copy.release());
          before->erase();
          for (auto [original, copy] : kept.mapping->getOperationMap())
            copies.map(original, copy);
        }
      write(stage.pass, root.get());
    }
  }

private:
  struct Kept {
    Operation *original;
    OwningOpRef<Operation *> copy;
    std::unique_ptr<IRMapping> mapping;
  };
  /// A pass, which may run several times: for the `time`-th time.
  struct Stage {
    std::string pass;
    size_t time;
    std::vector<Kept> kept;
  };

  IRMapping copies;
  OwningOpRef<Operation *> root;
  SmallVector<Stage, 0> stages;
  std::map<std::pair<Operation *, std::string>, size_t> timesRun;
};

class StageDumper : public PassInstrumentation {
public:
  explicit StageDumper(std::shared_ptr<StageWriter> writer)
      : writer(std::move(writer)) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (op->getParentOp())
      return;
    // The same passes run again on another copy of the input.
    if (!first)
      first = pass;
    if (pass == first)
      timesRun.clear();
    if (last.empty()) {
      last = print(op);
      writer->write("input.mlir", last);
    }
    // The adaptor that runs nested passes has no argument of its own.
    if (pass->getArgument().empty())
      nested.emplace(op);
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    StringRef argument = pass->getArgument();
    if (op->getParentOp()) {
      if (nested && !argument.empty())
        nested->keep(argument, op);
      return;
    }
    if (nested)
      nested->write([&](StringRef pass, Operation *root) {
        writeIfChanged(countRun(pass), print(root));
      });
    nested.reset();
    writeIfChanged(argument.empty() ? "nested-passes" : countRun(argument),
                   print(op));
  }

private:
  std::string countRun(StringRef pass) {
    return getStageName(pass, ++timesRun[pass]);
  }
  void writeIfChanged(StringRef stage, std::string text) {
    if (text == last)
      return;
    writer->write((stage + ".mlir").str(), text);
    last = std::move(text);
  }

  std::shared_ptr<StageWriter> writer;
  std::string last;
  std::optional<NestedStages> nested;
  /// The first pass, and how often each has run since it last did.
  Pass *first = nullptr;
  llvm::StringMap<unsigned> timesRun;
};
} // namespace

std::unique_ptr<PassInstrumentation>
lnbwd::createStageDumper(std::shared_ptr<StageWriter> writer) {
  return std::make_unique<StageDumper>(std::move(writer));
}
