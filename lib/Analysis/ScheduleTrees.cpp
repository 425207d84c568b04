//===- ScheduleTrees.cpp - The learned model of schedules -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adds up what the trees say, in their order, so that every machine chooses the
// same schedules.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ScheduleTrees.h"

#include <cmath>
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

SmallVector<double, 0>
lnbwd::predictMicroseconds(const ProgramFacts &program,
                           ArrayRef<ScheduleFeatures> schedules,
                           const ChipInfo &chip) {
  bool isAMD = chip.backend == Backend::AMDGPU;
  SmallVector<double, 0> times =
      sumTrees(isAMD ? ArrayRef<Node>(amdTimes) : ArrayRef<Node>(nvidiaTimes),
               schedules);
  for (double &time : times)
    time = (program.getRooflineMicroseconds(chip) + launchMicroseconds) *
           std::exp(time);
  return times;
}

double lnbwd::predictRegisterShare(const ScheduleFeatures &schedule,
                                   const ChipInfo &chip) {
  bool isAMD = chip.backend == Backend::AMDGPU;
  return std::exp(sumTrees(isAMD ? ArrayRef<Node>(amdRegisters)
                                 : ArrayRef<Node>(nvidiaRegisters),
                           schedule)
                      .front());
}
