//===- PipelineTail.cpp - The rest of a pipeline --------------------------===//
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

#include "lnbwd/Pipelines/PipelineTail.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace lnbwd;

std::string lnbwd::getStageName(StringRef pass, unsigned time) {
  return time == 1 ? pass.str() : (pass + "-" + Twine(time)).str();
}

namespace {
/// Goes through the text of a pipeline once.
class TailReader {
public:
  TailReader(StringRef pipeline, StringRef stage)
      : rest(pipeline), stage(stage) {}

  std::string readList();
  bool hasFound() const { return isBehind; }
  ArrayRef<std::string> getStages() const { return stages; }

private:
  StringRef takeOptions();

  StringRef rest;
  StringRef stage;
  bool isBehind = false;
  SmallVector<std::string> stages;
  llvm::StringMap<unsigned> times;
};
} // namespace

/// "{...}", or nothing. Within, braces come in pairs.
StringRef TailReader::takeOptions() {
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

/// Reads up to the end, or up to the parenthesis that closes a nested pipeline.
std::string TailReader::readList() {
  SmallVector<std::string> kept;
  while (!rest.empty() && rest.front() != ')') {
    StringRef name =
        rest.take_until([](char c) { return StringRef(",(){").contains(c); });
    rest = rest.drop_front(name.size());
    if (rest.consume_front("(")) {
      std::string nested = readList();
      rest.consume_front(")");
      if (!nested.empty())
        kept.push_back((name + "(" + nested + ")").str());
    } else {
      StringRef options = takeOptions();
      stages.push_back(getStageName(name, ++times[name]));
      if (isBehind)
        kept.push_back((name + options).str());
      isBehind = isBehind || stages.back() == stage;
    }
    rest.consume_front(",");
  }
  return llvm::join(kept, ",");
}

llvm::Expected<std::string> lnbwd::keepPassesBehind(StringRef pipeline,
                                                    StringRef stage) {
  TailReader reader(pipeline, stage);
  std::string tail = reader.readList();
  if (reader.hasFound())
    return tail;
  return llvm::createStringError(
      "the pipeline has no pass '" + stage + "', expected one of: " +
      (reader.getStages().empty() ? "none, there is no pipeline"
                                  : llvm::join(reader.getStages(), ", ")));
}
