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
#include "lnbwd/Analysis/ScheduleLimits.h"

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
/// its other child is; 0 of a leaf.
struct Node {
  float value;
  uint32_t feature, skip;
};
using Tree = SmallVector<Node, 0>;
} // namespace

/// ScheduleTrees.FAMILY.trees.
static constexpr StringLiteral nvidiaTrees =
#include "lnbwd/Analysis/ScheduleTrees.nvidia.inc"
    ;
static constexpr StringLiteral amdTrees =
#include "lnbwd/Analysis/ScheduleTrees.amd.inc"
    ;

/// What all trees say of each schedule, added up. A tree at a time, since
/// neighbours go the same way in it.
static SmallVector<double, 0> sumTrees(ArrayRef<Tree> trees,
                                       ArrayRef<ScheduleFeatures> schedules) {
  SmallVector<double, 0> sums(schedules.size());
  for (const Tree &tree : trees)
    for (auto [features, sum] : llvm::zip_equal(schedules, sums)) {
      const Node *node = tree.begin();
      while (node->skip)
        node += features[node->feature] <= node->value ? 1 : node->skip;
      sum += double(node->value);
    }
  return sums;
}

/// The tree in `line`, which has a threshold and a feature of each inner node,
/// before its children, and the value of each leaf. Empty if it is none.
static Tree readTree(StringRef line) {
  Tree tree;
  // Nodes whose other child is yet to come.
  SmallVector<size_t> parents;
  bool isWhole = false;
  for (StringRef text : llvm::split(line, ' ')) {
    auto [value, feature] = text.split(',');
    bool isLeaf = value.size() == text.size();
    Node &node = tree.emplace_back(Node{});
    auto [end, error] = std::from_chars(value.begin(), value.end(), node.value);
    if (isWhole || error != std::errc() || end != value.end() ||
        (!isLeaf && (feature.getAsInteger(10, node.feature) ||
                     node.feature >= size_t(Feature::count))))
      return {};
    if (!isLeaf)
      parents.push_back(tree.size() - 1);
    else if (parents.empty())
      isWhole = true;
    else {
      size_t parent = parents.pop_back_val();
      tree[parent].skip = uint32_t(tree.size() - parent);
    }
  }
  return isWhole ? tree : Tree();
}

namespace {
/// The trees of a family, and why LNBWD_MODEL's file has none.
struct Model {
  Model(StringRef family, StringRef text);

  /// Takes the trees of `text`. Returns what is wrong with them.
  std::string read(StringRef family, StringRef text);

  SmallVector<Tree, 0> times, registers;
  std::string error;
};
} // namespace

std::string Model::read(StringRef family, StringRef text) {
  SmallVectorImpl<Tree> *trees = nullptr;
  bool isOfFeatures = false;
  for (StringRef line : llvm::split(text.rtrim(), '\n')) {
    auto [word, what] = line.split(' ');
    if (word == "features") {
      // They may be older than the last features.
      isOfFeatures = !what.empty() && scheduleFeatureNames.starts_with(what);
    } else if (isOfFeatures && (what == "times" || what == "registers")) {
      // Another family's leave this one its own.
      if (word != family)
        return "";
      trees = what == "times" ? &times : &registers;
      trees->clear();
    } else if (trees && trees->emplace_back(readTree(line)).empty()) {
      // Passes ask for predictions before one reports the error.
      trees->clear();
      return ("expected a tree, got '" + line.take_front(40) + "'").str();
    }
  }
  return trees ? ""
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
  double share = std::exp(sumTrees(getModel(chip).registers, schedule)[0]);
  // Trees count those over the registers of a mean SIMD.
  int64_t threads =
      int64_t(schedule[size_t(Feature::workgroup_waves)]) * chip.waveSize;
  return share * double(getMeanRegisterLimit(threads, chip)) /
         double(getRegisterLimit(threads, chip));
}
