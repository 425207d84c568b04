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

#include "lnbwd/Analysis/ScheduleFeatures.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

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

/// ScheduleTrees.FAMILY.trees.
static constexpr StringLiteral nvidiaTrees =
#include "lnbwd/Analysis/ScheduleTrees.nvidia.inc"
    ;
static constexpr StringLiteral amdTrees =
#include "lnbwd/Analysis/ScheduleTrees.amd.inc"
    ;

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

/// Adds the nodes of the trees in `line`. Whether all are some, and no walk
/// from the root leaves them.
static bool readTree(StringRef line, SmallVectorImpl<Node> &nodes) {
  size_t first = nodes.size();
  for (StringRef text : llvm::split(line, ' ')) {
    Node &node = nodes.emplace_back();
    auto [feature, rest] = text.split(',');
    auto [value, skip] = rest.split(',');
    auto [end, error] = std::from_chars(value.begin(), value.end(), node.value);
    if (feature.getAsInteger(10, node.feature) || error != std::errc() ||
        end != value.end() || skip.getAsInteger(10, node.skip))
      return false;
  }
  return llvm::all_of(llvm::seq(first, nodes.size()), [&](size_t i) {
    size_t next = i + nodes[i].skip;
    return next > i && (nodes[i].feature == leaf
                            ? next <= nodes.size()
                            : nodes[i].feature < size_t(Feature::count) &&
                                  next < nodes.size());
  });
}

namespace {
/// The trees of a family, and why LNBWD_MODEL's file has none.
struct Model {
  Model(StringRef family, StringRef text);

  /// Takes the trees of `text`. Returns what is wrong with them.
  std::string read(StringRef family, StringRef text);

  SmallVector<Node, 0> times, registers;
  std::string error;
};
} // namespace

std::string Model::read(StringRef family, StringRef text) {
  SmallVectorImpl<Node> *nodes = nullptr;
  bool isOfFeatures = false;
  for (StringRef line : llvm::split(text.rtrim(), '\n')) {
    auto [word, what] = line.split(' ');
    if (word == "features") {
      isOfFeatures = what == scheduleFeatureNames;
    } else if (isOfFeatures && (what == "times" || what == "registers")) {
      // Another family's leave this one its own.
      if (word != family)
        return "";
      nodes = what == "times" ? &times : &registers;
      nodes->clear();
    } else if (nodes && !readTree(line, *nodes)) {
      // Passes ask for predictions before one reports the error.
      nodes->clear();
      return ("expected a tree, got '" + line.take_front(40) + "'").str();
    }
  }
  return nodes ? ""
               : "expected trees of this compiler's features; train them again";
}

Model::Model(StringRef family, StringRef text) {
  error = read(family, text);
  const char *path = std::getenv("LNBWD_MODEL");
  if (!path || !*path)
    return;
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  error = file ? read(family, (*file)->getBuffer()) : file.getError().message();
  if (!error.empty())
    error = (Twine("LNBWD_MODEL names '") + path + "': " + error).str();
}

/// Read at the first use.
static const Model &getModel(const ChipInfo &chip) {
  if (chip.backend == Backend::AMDGPU) {
    static const Model amd("amd", amdTrees);
    return amd;
  }
  static const Model nvidia("nvidia", nvidiaTrees);
  return nvidia;
}

StringRef lnbwd::getModelError(const ChipInfo &chip) {
  return getModel(chip).error;
}

SmallVector<double, 0>
lnbwd::predictMicroseconds(const ProgramFacts &program,
                           ArrayRef<ScheduleFeatures> schedules,
                           const ChipInfo &chip) {
  SmallVector<double, 0> times = sumTrees(getModel(chip).times, schedules);
  for (double &time : times)
    time = (program.getRooflineMicroseconds(chip) + launchMicroseconds) *
           std::exp(time);
  return times;
}

double lnbwd::predictRegisterShare(const ScheduleFeatures &schedule,
                                   const ChipInfo &chip) {
  return std::exp(sumTrees(getModel(chip).registers, schedule).front());
}
