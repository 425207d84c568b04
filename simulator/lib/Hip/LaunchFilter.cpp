//===- LaunchFilter.cpp - Which launches are checked ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Patterns are those of a shell, for the name in the source or in the code.
//
//===----------------------------------------------------------------------===//

#include "Hip/HipState.h"

#include "Core/Environment.h"
#include "Core/InstructionTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

#include <atomic>
#include <cstdlib>

using namespace llvm;
using namespace lnbwd::sim;

namespace {
struct Filter {
  std::string Problem;
  std::vector<GlobPattern> Kernels; ///< none: all
  uint64_t Skipped = 0;
  std::atomic<uint64_t> Launches = 0;

  Filter();
};
} // namespace

Filter::Filter() {
  Skipped = SkipLaunchesVariable.read().value_or(0);
  const char *Text = std::getenv("LNBWD_SIM_KERNELS");
  for (const StringRef Part : split(Text ? Text : "", ',')) {
    if (Part.trim().empty())
      continue;
    Expected<GlobPattern> Pattern = GlobPattern::create(Part.trim());
    if (Pattern) {
      Kernels.push_back(std::move(*Pattern));
      continue;
    }
    consumeError(Pattern.takeError());
    Problem = "LNBWD_SIM_KERNELS: expected patterns of kernels' names, "
              "separated by commas, got '" +
              Part.trim().str() + "'";
  }
}

static Filter &filter() {
  static Filter TheFilter;
  return TheFilter;
}

std::string lnbwd::sim::problemOfFilter() { return filter().Problem; }

bool lnbwd::sim::passesFilter(const Kernel &K) {
  Filter &F = filter();
  const std::string Shown = K.shownName();
  // A template's arguments, and a function's, are not part of a short name.
  const StringRef Short =
      StringRef(Shown).take_until([](char C) { return C == '(' || C == '<'; });
  const bool IsChosen =
      F.Kernels.empty() || any_of(F.Kernels, [&](const GlobPattern &P) {
        return P.match(K.Name) || P.match(Shown) || P.match(Short);
      });
  return IsChosen && F.Launches++ >= F.Skipped;
}
