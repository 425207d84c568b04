//===- ScheduleTrees.cpp - The learned model of schedules -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adds up what the trees say, in their order, so that every machine chooses the
// same schedules. Those of a file that LNBWD_MODEL names take the place of the
// family's own.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ScheduleTrees.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <cstdlib>
#include <string_view>

using namespace mlir;
using namespace lnbwd;

namespace {
/// A node of a tree; its children of smaller values come next. `skip`: how far
/// its other child is; of a leaf, how far the next tree is.
struct Node {
  uint8_t feature;
  float value;
  uint16_t skip;
};
} // namespace

static constexpr uint8_t leaf = 255;
/// What train.py adds to the roofline for a launch.
static constexpr double launchMicroseconds = 2;

/// FNV-1a of the features' names.
static constexpr uint64_t hashFeatures() {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : scheduleFeatureNames)
    hash = (hash ^ uint8_t(c)) * 0x100000001b3;
  return hash;
}

// Trees that were trained on other features would predict nonsense.
#define LNBWD_TREES_OF(hash)                                                   \
  static_assert(hash == hashFeatures(),                                        \
                "the features have changed: expected trees that were trained " \
                "on them; run bench/chooser/train.py");

#include "ScheduleTrees.amd.inc"
#include "ScheduleTrees.nvidia.inc"

/// What all trees say of each schedule, added up. A tree at a time, since
/// neighbours go the same way in it.
static SmallVector<double, 0> sumTrees(ArrayRef<Node> nodes,
                                       ArrayRef<ScheduleFeatures> schedules) {
  SmallVector<double, 0> sums(schedules.size());
  const Node *next;
  for (const Node *root = nodes.begin(); root != nodes.end(); root = next) {
    next = nodes.end();
    for (auto [features, sum] : llvm::zip_equal(schedules, sums)) {
      const Node *node = root;
      while (node->feature != leaf)
        node += features[node->feature] <= node->value ? 1 : node->skip;
      sum += double(node->value);
      next = node + node->skip;
    }
  }
  return sums;
}

namespace {
/// The trees of each family, and why LNBWD_MODEL's file has none.
struct Model {
  Model();

  /// Reads the nodes of the table whose first line says `name`.
  void read(StringRef text, StringRef name, ArrayRef<Node> &nodes);

  ArrayRef<Node> times[2] = {nvidiaTimes, amdTimes},
                 registers[2] = {nvidiaRegisters, amdRegisters};
  SmallVector<SmallVector<Node, 0>, 4> owned;
  std::string error;
};
} // namespace

void Model::read(StringRef text, StringRef name, ArrayRef<Node> &nodes) {
  auto [before, table] = text.split((" " + name + "[] = {\n").str());
  if (table.empty())
    return;
  SmallVector<Node, 0> found;
  SmallVector<StringRef, 0> texts;
  bool isRead = table.contains("\n};");
  table.split("\n};").first.split(texts, "},", -1, /*KeepEmpty=*/false);
  for (StringRef each : texts) {
    Node &node = found.emplace_back();
    double number = 0;
    auto [feature, rest] = each.ltrim("\n{").split(',');
    auto [value, skip] = rest.split("f,");
    isRead &= !feature.getAsInteger(10, node.feature) &&
              !value.getAsDouble(number) && !skip.getAsInteger(10, node.skip);
    node.value = float(number);
  }
  // No walk from a root leaves the table.
  for (auto [index, node] : llvm::enumerate(found))
    isRead &= node.skip && index + node.skip <= found.size() &&
              (node.feature == leaf || (node.feature < scheduleFeatureCount &&
                                        index + node.skip < found.size()));
  if (!isRead || found.empty()) {
    error = "expected nodes of trees in " + name.str();
    return;
  }
  owned.push_back(std::move(found));
  nodes = owned.back();
}

Model::Model() {
  const char *path = std::getenv("LNBWD_MODEL");
  if (!path || !*path)
    return;
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file) {
    error = file.getError().message();
  } else {
    StringRef text = (*file)->getBuffer();
    std::string hash =
        llvm::formatv("LNBWD_TREES_OF(0x{0:x-16})", hashFeatures());
    if (text.contains(hash)) {
      read(text, "nvidiaTimes", times[0]);
      read(text, "nvidiaRegisters", registers[0]);
      read(text, "amdTimes", times[1]);
      read(text, "amdRegisters", registers[1]);
      if (owned.empty() && error.empty())
        error = "expected trees of nvidia or amd";
    } else {
      error = "expected trees of this compiler's features, " + hash +
              "; run lnbwd-tune --learn again";
    }
  }
  if (!error.empty())
    error = (Twine("LNBWD_MODEL names '") + path + "': " + error).str();
}

/// Read at the first use.
static const Model &getModel() {
  static const Model model;
  return model;
}

StringRef lnbwd::getModelError() { return getModel().error; }

SmallVector<double, 0>
lnbwd::predictMicroseconds(const ProgramFacts &program,
                           ArrayRef<ScheduleFeatures> schedules,
                           const ChipInfo &chip) {
  bool isAMD = chip.backend == Backend::AMDGPU;
  SmallVector<double, 0> times = sumTrees(getModel().times[isAMD], schedules);
  for (double &time : times)
    time = (program.getRooflineMicroseconds(chip) + launchMicroseconds) *
           std::exp(time);
  return times;
}

double lnbwd::predictRegisterShare(const ScheduleFeatures &schedule,
                                   const ChipInfo &chip) {
  bool isAMD = chip.backend == Backend::AMDGPU;
  return std::exp(sumTrees(getModel().registers[isAMD], schedule).front());
}
