//===- Launch.cpp - A launch and how it came out --------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Limits, failures, counters.
//
//===----------------------------------------------------------------------===//

#include "Core/Launch.h"

#include "Core/Environment.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace lnbwd::sim;

std::string InstructionLimit::fromEnvironment(InstructionLimit &Limit) {
  std::string Problem;
  if (std::optional<uint64_t> Number = InstructionsVariable.read(Problem))
    Limit = *Number ? of(*Number) : none();
  return Problem;
}

std::atomic<uint64_t> &lnbwd::sim::executedInAll() {
  static std::atomic<uint64_t> Number{0};
  return Number;
}

bool Launch::stopped() {
  if (interrupts() != InterruptsBefore)
    fail(LaunchFailure::Interrupted, std::string(Chip->Chip) + ": kernel '" +
                                         TheKernel->shownName() +
                                         "' was stopped by SIGINT");
  return Stop.load(std::memory_order_relaxed);
}

void Launch::fail(LaunchFailure Kind, const std::string &Text,
                  const ErrorDetails &Parts, uint64_t LdsNeededForIt) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (Failure == LaunchFailure::None) {
    Failure = Kind;
    LdsNeeded = LdsNeededForIt;
    Error = inThisOrder(Text);
    ErrorParts = Parts;
  }
  Stop.store(true);
}

std::string Launch::placeOf(const Inst *I) {
  std::lock_guard<std::mutex> Guard(Lock);
  std::string &Place = Places[I];
  if (!Place.empty())
    return Place;
  const std::vector<SourceFrame> Frames = Symbols->sourceFrames(I->Address);
  // Line 0 is the compiler's own.
  if (Frames.empty() || !Frames.front().Line)
    return Place = std::to_string(I->Address);
  for (const SourceFrame &F : Frames)
    Place += F.File + ":" + std::to_string(F.Line) + ", ";
  return Place;
}

bool Launch::addError(const std::string &MergeKey,
                      llvm::function_ref<std::string(ErrorDetails &)> Text) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto Known = llvm::find_if(
      CheckErrors, [&](const CheckError &F) { return F.MergeKey == MergeKey; });
  if (Known == CheckErrors.end()) {
    // The others have stopped, or are about to.
    if (CheckErrors.size() >= MostErrors)
      return false;
    ErrorDetails Parts;
    const std::string First = inThisOrder(Text(Parts));
    CheckErrors.push_back({MergeKey, First, std::move(Parts), 0});
    Known = CheckErrors.end() - 1;
    if (CheckErrors.size() == MostErrors)
      Stop.store(true);
  }
  ++Known->Count;
  return CheckErrors.size() < MostErrors;
}

std::string Launch::inThisOrder(std::string Text) const {
  if (Interleaving)
    Text +=
        "; reported in an order in which workgroups overlap in time, not in "
        "one in which they run one after the other";
  return Text;
}

std::string Launch::report() const {
  std::string Text;
  for (const CheckError &F : CheckErrors) {
    Text += (Text.empty() ? "" : "\n") + F.Text;
    if (F.Count > 1)
      Text += " (" + std::to_string(F.Count) + " times)";
  }
  if (!Error.empty())
    Text += (Text.empty() ? "" : "\n") + Error;
  return Text;
}

uint64_t Launch::memberOf(uint64_t Cluster, unsigned Rank) const {
  if (!ClusterDims[0])
    return Cluster;
  uint64_t Number = 0, Below = 1;
  for (unsigned D = 0; D < 3; ++D) {
    const uint64_t Clusters = Grid[D] / ClusterDims[D];
    Number +=
        (Cluster % Clusters * ClusterDims[D] + Rank % ClusterDims[D]) * Below;
    Cluster /= Clusters;
    Rank /= ClusterDims[D];
    Below *= Grid[D];
  }
  return Number;
}

uint64_t Launch::clusterOf(uint64_t Workgroup) const {
  if (!ClusterDims[0])
    return Workgroup;
  uint64_t Number = 0, Below = 1;
  for (unsigned D = 0; D < 3; ++D) {
    Number += Workgroup % Grid[D] / ClusterDims[D] * Below;
    Workgroup /= Grid[D];
    Below *= Grid[D] / ClusterDims[D];
  }
  return Number;
}

void Launch::sortRegions() {
  std::sort(Regions.begin(), Regions.end(),
            [](const Region &A, const Region &B) { return A.Begin < B.Begin; });
  for (size_t K = 0; K < Regions.size(); ++K)
    Regions[K].Index = uint32_t(K);
}

static void add(lnbwd_sim_counters &To, const lnbwd_sim_counters &From) {
  To.wave_instructions += From.wave_instructions;
  To.scalar_instructions += From.scalar_instructions;
  To.vector_lane_instructions += From.vector_lane_instructions;
  To.memory_lane_instructions += From.memory_lane_instructions;
  To.lds_lane_instructions += From.lds_lane_instructions;
  To.barriers += From.barriers;
  To.global_bytes_read += From.global_bytes_read;
  To.global_bytes_written += From.global_bytes_written;
  To.lds_bytes += From.lds_bytes;
  To.workgroups += From.workgroups;
  To.waves += From.waves;
}

void Launch::addCounters(lnbwd_sim_counters &Totals) const {
  add(Totals, Counters);
}

void Launch::count(const lnbwd_sim_counters &Part) {
  std::lock_guard<std::mutex> Guard(Lock);
  add(Counters, Part);
}
