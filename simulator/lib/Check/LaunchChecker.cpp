//===- LaunchChecker.cpp - The checks of a launch -------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One checker for each wave.
//
//===----------------------------------------------------------------------===//

#include "Check/LaunchChecker.h"

#include "Check/CodeAnalysis.h"
#include "Check/WaveChecker.h"

#include "lnbwd/Simulator/CheckNames.h"

#include <cstdio>
#include <string>
#include <vector>

using namespace lnbwd::sim;

namespace {
class WorkgroupChecker final : public WorkgroupObserver {
public:
  WorkgroupChecker(LaunchShadow &L, const Workgroup &WG)
      : Shadow(L, WG.NumWaves, WG.LdsSize) {}
  void started(uint64_t Number) override { Shadow.start(Number); }
  WaveObserver &observe(Wave &W) override {
    Waves.push_back(std::make_unique<WaveChecker>(Shadow, W));
    return *Waves.back();
  }

private:
  WorkgroupShadow Shadow;
  std::vector<std::unique_ptr<WaveChecker>> Waves;
};
} // namespace

LaunchChecker::LaunchChecker(const Launch &L, unsigned Checks)
    : L(L), Shadow(L, CodeAnalysis::of(*L.Code), Checks) {
  AccessesOf = Shadow.Epoch;
}

bool LaunchChecker::dependsOnOrder() const {
  return Shadow.races() &&
         mayTake(*L.Code, Shadow.TheEffects, L.Code->at(L.TheKernel->Entry));
}

std::unique_ptr<WorkgroupObserver> LaunchChecker::observe(Workgroup &WG) {
  return std::make_unique<WorkgroupChecker>(Shadow, WG);
}

void LaunchChecker::addCounts(NamedCounts &Totals) const {
  Totals.Total.add(Shadow.Counts);
  Totals.Total.Buffers.clear();
  for (size_t K = 0; K < Shadow.Counts.Buffers.size(); ++K) {
    if (!Shadow.Counts.Buffers[K].Accesses)
      continue;
    const Region &R = L.Regions[K];
    char Name[32];
    std::snprintf(Name, sizeof(Name), "0x%llx", (unsigned long long)R.Begin);
    std::string Text = Name;
    if (R.Notes && !R.Notes->Name.empty())
      Text = R.Notes->Name;
    else if (R.Begin == L.Kernarg)
      Text = "kernel arguments";
    Totals.Buffers[Text].add(Shadow.Counts.Buffers[K]);
  }
}

std::string LaunchChecker::summary(const RegionTable &Buffers) const {
  std::string On, Off;
  for (const CheckName &Check : CheckNames) {
    if (Check.Bit == LNBWD_SIM_CHECK_COUNTS)
      continue; // That is none.
    std::string &List = Shadow.Checks & Check.Bit ? On : Off;
    List += (List.empty() ? "" : ", ") + Check.Name.str();
  }
  std::string Text = "kernel '" + L.TheKernel->shownName() + "', " +
                     std::to_string(L.Counters.workgroups) + " of " +
                     std::to_string(L.NumWorkgroups) +
                     " workgroups: checked for " +
                     (On.empty() ? "nothing" : On);
  if (!Off.empty())
    Text += "; not for " + Off;
  if (!Shadow.races())
    return Text;
  if (OtherOrders)
    Text += "; in " + std::to_string(OtherOrders) + " other orders, too";
  if (OtherOrdersCut)
    Text += ", of which " + std::to_string(OtherOrdersCut) +
            " were cut after their first instructions";
  if (OtherOrdersLeftOut)
    Text += "; not in other orders, since it stores to more memory than can be "
            "restored";
  if (OtherOrdersUnwanted)
    Text += "; not in other orders, which were not requested";
  if (RoundingLeftOut)
    Text +=
        "; not whether stores to one place of LDS differ in rounding alone, "
        "since it stores to more memory than can be restored";
  if (EarlyReadsLeftOut)
    Text += "; not whether loads matter that come before a store of another "
            "wave without an order, since it stores to more memory than can be "
            "restored";
  for (const Region &R : Buffers) {
    const auto *Shadow = static_cast<const BufferShadow *>(R.Notes);
    if (!Shadow || Shadow->Name.empty())
      continue;
    if (const BufferShadow::Gaps G = Shadow->gaps(AccessesOf); G.Bytes)
      Text += "; of the bytes " + std::to_string(G.Begin) + " to " +
              std::to_string(G.End - 1) + " of '" + Shadow->Name + "' " +
              std::to_string(G.Bytes) + " are not " +
              (G.Writes ? "written" : "read");
  }
  if (const uint64_t Pages = Shadow.PagesLeftOut.load())
    Text += "; races were not checked in " + std::to_string(Pages) +
            " pages of " + std::to_string(CellPage::PageBytes) +
            " bytes of global memory, beyond the limit of LNBWD_SIM_RACES_MB";
  if (const uint64_t Waves = Shadow.WavesLeftOut.load())
    Text += "; nor in " + std::to_string(Waves) + " waves, beyond the first " +
            std::to_string(Moment::LastWave);
  return Text;
}
