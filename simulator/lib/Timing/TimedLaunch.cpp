//===- TimedLaunch.cpp - A launch in time ---------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Workgroups go to the dies round-robin, and on a die to its compute units in
// turns. If the first unit has many, a few rounds of them are executed in time,
// and the rest follows at the rate of those in the middle.
//
//===----------------------------------------------------------------------===//

#include "Timing/TimedLaunch.h"

#include "Check/Resources.h"
#include "Timing/TraceRecorder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace lnbwd::sim;

/// Instructions of a wave that are recorded.
constexpr size_t MostSteps = 100000;
/// Instructions that are executed in time, unless one round has more.
constexpr double StepsInTime = 1.5e6;
/// Instructions that are executed for the die's cache.
constexpr double StepsBeside = 6e6;
/// Rounds of workgroups that are executed in time.
constexpr uint64_t RoundsInTime = 6;
/// Workgroups of several waves that a compute unit keeps barriers for.
constexpr unsigned MostWithBarriers = 16;
constexpr unsigned LdsGranule = 512;
/// Instructions that a prediction names.
constexpr size_t MostHot = 10;

unsigned lnbwd::sim::residentWorkgroups(const SimulatedChip &Chip,
                                        const Kernel &K, unsigned Waves,
                                        uint64_t LdsBytes) {
  const WaveRoom Room = roomForWaves(Chip, K);
  unsigned Fit = Room.PerSimd * Chip.SimdsPerCU / std::max(1u, Waves);
  if (Waves > 1)
    Fit = std::min(Fit, MostWithBarriers);
  const uint64_t Lds = (LdsBytes + LdsGranule - 1) / LdsGranule * LdsGranule;
  if (Lds)
    Fit = unsigned(std::min<uint64_t>(Fit, Chip.LdsBytes / Lds));
  return std::max(1u, Fit);
}

namespace {
/// Which workgroups stand for the launch.
struct Sample {
  std::vector<uint64_t> Numbers; ///< of the launch, as they start
  std::vector<unsigned> Units;   ///< of the die, for each of them
  unsigned UnitsTaken = 1, UnitsOfDie = 1;
  uint64_t OfUnit = 1; ///< workgroups that the first unit executes
  uint64_t InTime = 1; ///< of these, those that are executed in time
};
} // namespace

static Sample chooseSample(uint64_t Workgroups, unsigned Resident,
                           double Executed, double Steps, const ClockInfo &C) {
  const uint64_t Dies = uint64_t(C.Dies);
  const uint64_t PerDie = uint64_t(C.ComputeUnits) / Dies;
  Sample S;
  const uint64_t OnDie = (Workgroups + Dies - 1) / Dies;
  S.UnitsOfDie = unsigned(std::min(OnDie, PerDie));
  S.OfUnit = (OnDie + PerDie - 1) / PerDie;
  const uint64_t Affordable = uint64_t(StepsInTime / std::max(1.0, Steps));
  S.InTime = std::min({S.OfUnit, Resident * RoundsInTime,
                       std::max<uint64_t>(Resident, Affordable)});
  const double Beside =
      StepsBeside / std::max(1.0, Executed * double(S.InTime));
  S.UnitsTaken = unsigned(std::clamp(Beside, 1.0, double(S.UnitsOfDie)));
  for (uint64_t Round = 0; Round < S.InTime; ++Round)
    for (unsigned Unit = 0; Unit < S.UnitsTaken; ++Unit) {
      const uint64_t Number = (Round * PerDie + Unit) * Dies;
      if (Number >= Workgroups)
        continue;
      S.Numbers.push_back(Number);
      S.Units.push_back(Unit);
    }
  return S;
}

/// Clocks until the first unit's workgroups have ended, all of them.
static double allEnded(llvm::ArrayRef<WorkgroupTimes> Times, uint64_t All,
                       unsigned Resident) {
  std::vector<double> Ends;
  for (const WorkgroupTimes &T : Times)
    Ends.push_back(T.End);
  std::sort(Ends.begin(), Ends.end());
  const size_t Count = Ends.size();
  if (All <= Count)
    return Ends.back();
  const double Rest = double(All - Count);
  // The first round starts at once, and the last one has room to itself.
  if (Count >= 3 * size_t(Resident)) {
    const size_t First = Resident - 1, Last = Count - Resident - 1;
    return Ends.back() +
           Rest * (Ends[Last] - Ends[First]) / double(Last - First);
  }
  return Ends.back() * double(All) / double(Count);
}

static std::vector<HotInstruction> hottest(const Launch &L,
                                           const ComputeUnit &Unit) {
  std::vector<size_t> Order(Unit.ByInstruction.size());
  std::iota(Order.begin(), Order.end(), size_t(0));
  const size_t Count = std::min(MostHot, Order.size());
  auto Middle = Order.begin() + ptrdiff_t(Count);
  std::partial_sort(Order.begin(), Middle, Order.end(),
                    [&](size_t A, size_t B) {
                      return Unit.ByInstruction[A] > Unit.ByInstruction[B];
                    });
  Order.erase(Middle, Order.end());
  std::vector<HotInstruction> Hot;
  const double Total = Unit.Waits.total();
  for (size_t K : Order) {
    const Inst &I = L.Code->instructions()[K];
    if (Unit.ByInstruction[K] > 0)
      Hot.push_back({L.Code->text(&I), L.Symbols->symbolize(I.Address),
                     L.Symbols->sourceLine(I.Address),
                     Unit.ByInstruction[K] / Total});
  }
  return Hot;
}

bool lnbwd::sim::predict(Launch &L, const TimingOptions &Options,
                         double TimelineBegin, unsigned Number,
                         LaunchPrediction &P) {
  const ClockInfo &C = Options.Clock;
  const SimulatedChip &Chip = L.Code->chip();
  const Kernel &K = *L.TheKernel;
  const uint64_t Workgroups = uint64_t(L.Grid[0]) * L.Grid[1] * L.Grid[2];
  const unsigned Items = L.Block[0] * L.Block[1] * L.Block[2];
  const unsigned Waves = (Items + K.WaveSize - 1) / K.WaveSize;
  P.Kernel = K.Name;
  P.Workgroups = Workgroups;
  P.Resident = residentWorkgroups(Chip, K, Waves, L.LdsSize);

  // One workgroup, to learn how much they have to do.
  TraceRecorder Recorder(L, C, MostSteps);
  L.Observer = &Recorder;
  L.Only = {0};
  if (!run(L))
    return false;
  double Executed = 0, Steps = 0;
  for (const WaveTrace &W : Recorder.Traces.at(0)->Waves) {
    Executed += double(W.Executed);
    Steps += double(W.Steps.size());
  }
  const Sample S = chooseSample(Workgroups, P.Resident, Executed, Steps, C);
  // It is the first of the sample, and a long one need not run twice.
  L.Only.assign(S.Numbers.begin() + 1, S.Numbers.end());
  if (!L.Only.empty() && !run(L))
    return false;

  std::vector<PlacedWorkgroup> Placed;
  std::vector<const WorkgroupTrace *> InTime;
  std::vector<double> Dispatch;
  const double PerDie = double(uint64_t(C.ComputeUnits) / uint64_t(C.Dies));
  for (size_t N = 0; N < S.Numbers.size(); ++N) {
    Placed.push_back({Recorder.Traces.at(S.Numbers[N]).get(), S.Units[N]});
    if (S.Units[N])
      continue;
    Dispatch.push_back(double(InTime.size()) * PerDie *
                       (C.DispatchGroupClocks + Waves * C.DispatchClocks));
    InTime.push_back(Placed.back().Trace);
  }
  CacheConditions Q;
  Q.Workgroups = Workgroups;
  Q.Units = S.UnitsTaken;
  Q.UnitsOfDie = S.UnitsOfDie;
  Q.Resident = P.Resident;
  Q.Warm = Options.Warm;
  Q.Continued = std::max(1.0, Executed / std::max(1.0, Steps));
  P.Bytes = assignLevels(Placed, Q, L, C);

  const double Working = std::min(double(Workgroups), C.ComputeUnits);
  UnitShare Share;
  Share.L2Bytes = std::min(C.L1BytesPerClock, C.L2BytesPerClock / S.UnitsOfDie);
  Share.FarBytes =
      std::min(C.L1BytesPerClock, C.bytesPerClock(C.FarGigabytes) / Working);
  Share.MemoryBytes =
      std::min(C.L1BytesPerClock, C.bytesPerClock(C.MemoryGigabytes) / Working);
  Share.WriteBuffer = C.L2KiB * 1024 / 2 / S.UnitsOfDie;
  Timeline Events;
  Events.MostEvents = Options.MostEvents;
  IssueTable Table(*L.Code, C);
  ComputeUnit Unit(Table, C, Chip, Share,
                   Options.WithTimeline ? &Events : nullptr);
  const std::vector<WorkgroupTimes> Times =
      Unit.run(InTime, Dispatch, P.Resident);
  double Clocks =
      std::max(allEnded(Times, S.OfUnit, P.Resident), Unit.drained());
  // A workgroup that was recorded in part goes on as it began.
  Clocks *= Q.Continued;
  P.Microseconds = std::max(C.nanoseconds(Clocks),
                            P.Bytes.HottestLine * C.AtomicNanoseconds) *
                   1e-3;
  P.InDetail = InTime.size();
  P.Recorded = S.Numbers.size();
  P.Waits = Unit.Waits;
  P.Hot = hottest(L, Unit);
  if (!Options.WithTimeline)
    return true;
  P.Events = Events.json(
      *L.Code, *L.Symbols, C,
      "predicted on " + C.label() + ": " + K.Name + ", " +
          std::to_string(P.InDetail) + " of " + std::to_string(P.Workgroups) +
          " workgroups, those of "
          "the first compute unit" +
          (Q.Continued > 1 ? ", the first part of their waves" : ""),
      Number, TimelineBegin);
  P.EventCount = Events.Events.size();
  P.EventsLeftOut = Events.LeftOut;
  return true;
}
