//===- Stages.cpp - A pipeline, pass by pass ------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass manager gives no pass away again. Its text does, nested pipelines
// included, and upstream's parser makes passes of it, options and all.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Pipelines/Pipelines.h"

#include "lnbwd/Support/OutputFile.h"

#include "mlir/IR/Operation.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace lnbwd;

namespace {
/// A pass of a pipeline.
struct Stage {
  /// The pass, with a number where it runs again: "cse", "cse-2".
  std::string name;
  /// The pipeline of this pass alone, nested as it is in the whole.
  std::string pipeline;
};

/// Reads the text of a pipeline.
struct StageReader {
  StringRef rest;
  std::vector<Stage> stages;
  llvm::StringMap<unsigned> runs;

  /// "{...}", or nothing. Within, braces come in pairs.
  StringRef takeOptions() {
    size_t depth = 0, length = 0;
    do {
      if (length == rest.size() || (length == 0 && rest[length] != '{'))
        break;
      depth += rest[length] == '{';
      depth -= rest[length] == '}';
      ++length;
    } while (depth != 0);
    StringRef options = rest.take_front(length);
    rest = rest.drop_front(length);
    return options;
  }

  /// Up to the end, or to the parenthesis that closes a nested pipeline.
  void read(const std::string &before = "", const std::string &after = "") {
    while (!rest.empty() && rest.front() != ')') {
      StringRef name =
          rest.take_until([](char c) { return StringRef(",(){").contains(c); });
      rest = rest.drop_front(name.size());
      if (rest.consume_front("(")) {
        read((before + name + "(").str(), ")" + after);
        rest.consume_front(")");
      } else {
        unsigned run = ++runs[name];
        std::string number = run == 1 ? "" : "-" + std::to_string(run);
        stages.push_back({name.str() + number,
                          (before + name + takeOptions() + after).str()});
      }
      rest.consume_front(",");
    }
  }
};
} // namespace

/// The passes of `pm` in order. They have to be registered to be parsed again.
static std::vector<Stage> listStages(OpPassManager &pm) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // Without what the pipeline is run on, which `pm` is.
  llvm::interleave(
      pm.getPasses(), os, [&](Pass &pass) { pass.printAsTextualPipeline(os); },
      ",");
  StageReader reader{text, {}, {}};
  reader.read();
  return std::move(reader.stages);
}

void StageWriter::write(StringRef name, StringRef contents) {
  SmallString<128> path(folder);
  llvm::sys::path::append(path,
                          llvm::formatv("{0,0+2}-{1}", ++count, name).str());
  std::error_code error = writeOutputFile(path.str().str(), contents);
  if (error && firstError.empty())
    firstError = ("cannot write '" + path + "': " + error.message()).str();
}

void StageWriter::writeIfChanged(StringRef stage, Operation *root) {
  std::string text;
  llvm::raw_string_ostream os(text);
  root->print(os);
  os << "\n";
  if (text == last)
    return;
  write((stage + ".mlir").str(), text);
  last = std::move(text);
}

LogicalResult
StageWriter::run(PassManager &pm, Operation *root,
                 function_ref<LogicalResult(PassManager &)> configure) {
  if (std::error_code error = llvm::sys::fs::create_directories(folder)) {
    firstError =
        "cannot create the folder '" + folder + "': " + error.message();
    return failure();
  }
  // The same passes may run again on another copy of the input.
  if (last.empty())
    writeIfChanged("input", root);
  for (const Stage &stage : listStages(pm)) {
    PassManager one(pm.getContext(), pm.getOpAnchorName());
    if (failed(configure(one)) ||
        failed(parsePassPipeline(stage.pipeline, one)) || failed(one.run(root)))
      return failure();
    writeIfChanged(stage.name, root);
  }
  return success();
}
