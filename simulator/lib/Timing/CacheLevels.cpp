//===- CacheLevels.cpp - Where accesses find their lines ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// L1 and scalar cache of each unit and the L2 of the die are sets of 16 lines,
// of which the one that was not used for longest is replaced. Lines that only
// part of the die's units touch are there in full; the L2 is smaller in
// proportion if only part of the units was recorded. The memory-side cache is a
// share: of the lines that leave the L2, those that have been fetched before by
// any die.
//
//===----------------------------------------------------------------------===//

#include "Timing/CacheLevels.h"

#include "lnbwd/ISA/InstructionRecord.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <vector>

using namespace lnbwd::sim;

/// Lines of a set of the L2 and of the scalar cache.
constexpr size_t UsualWays = 16;

/// How fast the memory-side cache forgets what comes round again as the
/// footprint grows beyond it: at a quarter more nothing is left.
constexpr double ForgottenBeyond = 4;

/// From how many times the recorded part on a wave is long: what it does first
/// is then nothing beside the rest.
constexpr double LongWaves = 2;
/// A few lines beside what just fits replace next to nothing.
constexpr double JustFits = 1.02;

/// Of a turn, for each further lane that asks for the same line.
constexpr double AtomicLanePasses = 0.2;

namespace {
class Cache {
public:
  Cache(double Lines, size_t Ways)
      : Ways(Ways), Sets(std::max<size_t>(1, size_t(Lines) / Ways)),
        Content(Sets * Ways) {}
  /// How a line was before an access.
  struct Found {
    bool Present;
    bool Read;      ///< since it came
    double Written; ///< of its bytes, since it came
  };
  /// How the line is found. It is there then, read or, with bytes that are
  /// stored, written.
  Found access(uint64_t Line, double Stored = 0) {
    Entry *Set = &Content[size_t(Line % Sets) * Ways];
    size_t K = 0;
    while (K < Ways && Set[K].Line != Line)
      ++K;
    Found F = {false, false, 0};
    if (K != Ways)
      F = {true, Set[K].Read, Set[K].Written};
    for (K = std::min(K, Ways - 1); K > 0; --K)
      Set[K] = Set[K - 1];
    Set[0] = {Line, float(F.Written + Stored), F.Read || Stored == 0};
    return F;
  }

private:
  struct Entry {
    uint64_t Line = ~0ull;
    float Written = 0;
    bool Read = false;
  };
  size_t Ways, Sets;
  std::vector<Entry> Content;
};

/// What was recorded of a buffer.
struct RegionTraffic {
  llvm::DenseSet<uint64_t> Lines;
  llvm::DenseSet<uint64_t> LinesRead;
  double Fetched = 0; ///< lines that came to the L2
  double Written = 0; ///< lines that left it, parts of lines as parts
  llvm::DenseMap<uint64_t, double> Atomics;
};

struct WaveOnItsWay;

class Hierarchy {
public:
  Hierarchy(const CacheConditions &Q, const Launch &L, const ClockInfo &C)
      : C(C), LinesOfScalar(C.LineBytes / C.ScalarLineBytes),
        L2(C.L2KiB * 1024 / C.LineBytes * Q.Units / Q.UnitsOfDie, UsualWays),
        Regions(L.Regions.size()),
        Waits(unsigned(L.Code->instructions().size())) {
    for (const auto &[K, I] : llvm::enumerate(L.Code->instructions()))
      if (I.Record && I.Record->Facts.Waits != lnbwd::isa::WaitKind::None)
        Waits.set(unsigned(K));
    for (unsigned K = 0; K < Q.Units; ++K) {
      L1.emplace_back(C.L1KiB * 1024 / C.LineBytes,
                      std::max<size_t>(1, size_t(C.L1Ways)));
      Scalar.emplace_back(C.ScalarCacheKiB * 1024 / C.ScalarLineBytes,
                          UsualWays);
    }
  }
  void access(WorkgroupTrace &T, const Access &X, unsigned Unit);
  bool accessUpToWait(WaveOnItsWay &W);
  void access(llvm::ArrayRef<PlacedWorkgroup> Workgroups, size_t Together);
  /// Bytes of the lines that were touched, as many times as there are; of no
  /// buffer more than all.
  double footprint(const Launch &L, double Times) const;
  /// Counts anew, with the caches as they are.
  void restart();

  const ClockInfo &C;
  double LinesOfScalar;
  std::vector<Cache> L1, Scalar;
  Cache L2;
  std::vector<RegionTraffic> Regions;
  llvm::BitVector Waits; ///< instructions of the program that may wait
  double L2Lines = 0;
};
} // namespace

/// What an access costs a line: a turn, and a part of one for each further lane
/// as long as lanes are few, relative to which a line's dwords pass together.
static double atomicPasses(const Access &X) {
  const double Lanes = double(X.Lanes) / std::max(1u, X.NumLines);
  return 1 + std::clamp(Lanes - 1, 0.0, 7.0) * AtomicLanePasses;
}

void Hierarchy::access(WorkgroupTrace &T, const Access &X, unsigned Unit) {
  for (uint32_t K = X.FirstLine; K < X.FirstLine + X.NumLines; ++K) {
    TouchedLine &Line = T.Lines[K];
    RegionTraffic &R = Regions[Line.Region];
    uint64_t Number = Line.Number;
    bool Near = false;
    if (X.Kind == AccessKind::ScalarLoad) {
      Near = Scalar[Unit].access(Number).Present;
      Number = uint64_t(double(Number) / LinesOfScalar);
    } else if (X.Kind == AccessKind::VectorLoad) {
      Near = L1[Unit].access(Number).Present;
    }
    R.Lines.insert(Number);
    if (X.Kind != AccessKind::VectorStore)
      R.LinesRead.insert(Number);
    if (Near) {
      Line.Level = CacheLevel::L1;
      continue;
    }
    ++L2Lines;
    if (X.Kind == AccessKind::Atomic) {
      // Dies have to agree, which they do after their caches.
      Line.Level = CacheLevel::Far;
      R.Atomics[Number] += atomicPasses(X);
      ++R.Fetched;
      continue;
    }
    const bool Store = X.Kind == AccessKind::VectorStore;
    const double Bytes = Store ? X.storedBytes(C.LineBytes) : 0;
    const Cache::Found F = L2.access(Number, Bytes);
    // What is written leaves once, however often it was: stores fill a line
    // before they write any of it again.
    if (Store ? F.Written + Bytes > C.LineBytes : F.Present) {
      Line.Level = CacheLevel::L2;
      continue;
    }
    Line.Rewritten = Store && F.Read;
    Line.Level = CacheLevel::Memory;
    if (Store)
      R.Written += Bytes / C.LineBytes;
    else
      ++R.Fetched;
  }
}

namespace {
/// How far a wave has come.
struct WaveOnItsWay {
  WorkgroupTrace *Of;
  const std::vector<TraceStep> *Steps;
  unsigned Unit;
  size_t Next = 0; ///< step
};
} // namespace

/// What a wave accesses up to its next wait. Whether it accessed anything.
bool Hierarchy::accessUpToWait(WaveOnItsWay &W) {
  bool Any = false;
  for (; W.Next < W.Steps->size(); ++W.Next) {
    const TraceStep &Step = (*W.Steps)[W.Next];
    if (Any && Waits.test(Step.Instruction))
      break;
    if (!Step.Access)
      continue;
    const Access &X = W.Of->Accesses[Step.Access - 1];
    access(*W.Of, X, W.Unit);
    Any |= X.NumLines != 0;
  }
  return Any;
}

/// All accesses, of as many workgroups at a time as there is room for. Their
/// waves take turns, each up to a wait: the simulator's core executes a wave up
/// to its next barrier before the next wave, but on a card all of them are
/// under way, and what one has fetched others have replaced before it comes
/// again.
void Hierarchy::access(llvm::ArrayRef<PlacedWorkgroup> Workgroups,
                       size_t Together) {
  for (size_t Begin = 0; Begin < Workgroups.size(); Begin += Together) {
    std::vector<WaveOnItsWay> Waves;
    for (const PlacedWorkgroup &P :
         Workgroups.slice(Begin, std::min(Together, Workgroups.size() - Begin)))
      for (const WaveTrace &W : P.Trace->Waves)
        Waves.push_back({P.Trace, &W.Steps, P.Unit});
    while (!Waves.empty())
      llvm::erase_if(Waves,
                     [&](WaveOnItsWay &W) { return !accessUpToWait(W); });
  }
}

/// Lines of a buffer.
static double linesOf(const Region &R, const ClockInfo &C) {
  return double(R.End - R.Begin) / C.LineBytes + 1;
}

double Hierarchy::footprint(const Launch &L, double Times) const {
  double Lines = 0;
  for (size_t K = 0; K < Regions.size(); ++K)
    Lines += std::min(linesOf(L.Regions[K], C),
                      double(Regions[K].Lines.size()) * Times);
  return Lines * C.LineBytes;
}

void Hierarchy::restart() {
  for (RegionTraffic &R : Regions) {
    R.Fetched = R.Written = 0;
    R.Atomics.clear();
  }
  L2Lines = 0;
}

Traffic lnbwd::sim::assignLevels(llvm::ArrayRef<PlacedWorkgroup> Workgroups,
                                 const CacheConditions &Q, const Launch &L,
                                 const ClockInfo &C) {
  Hierarchy H(Q, L, C);
  const size_t Together = size_t(Q.Units) * std::max(1u, Q.Resident);
  H.access(Workgroups, Together);
  // Long waves go on with what they have left in the caches, if all that they
  // will touch has room there.
  if (Q.Continued >= LongWaves &&
      H.footprint(L, Q.Continued * Q.UnitsOfDie / Q.Units) <=
          C.L2KiB * 1024 * JustFits) {
    H.restart();
    H.access(Workgroups, Together);
  }

  // To the whole launch.
  const double Scale =
      double(Q.Workgroups) / double(std::max<size_t>(1, Workgroups.size()));
  std::vector<double> ReadOnce(H.Regions.size()), FarShare(H.Regions.size());
  Traffic All;
  All.Footprint = H.footprint(L, Scale * Q.Continued);
  for (size_t K = 0; K < H.Regions.size(); ++K) {
    const RegionTraffic &R = H.Regions[K];
    const double Whole = linesOf(L.Regions[K], C);
    ReadOnce[K] = std::min(Whole, double(R.LinesRead.size()) * Scale);
    for (auto &Entry : R.Atomics)
      All.HottestLine =
          std::max(All.HottestLine,
                   Entry.second *
                       (Whole < double(R.Lines.size()) * Scale ? Scale : 1.0));
  }
  const double FarBytes = C.FarCacheMiB * (1 << 20);
  // The part of a footprint that is still there when it comes round again, and
  // of that of the launch before.
  const double Room =
      FarBytes == 0 ? 0
      : All.Footprint <= FarBytes
          ? 1
          : std::max(0.0, 1 - (All.Footprint / FarBytes - 1) * ForgottenBeyond);
  const double Kept = Q.Warm ? Room : 0;
  for (size_t K = 0; K < H.Regions.size(); ++K) {
    const double Fetched = H.Regions[K].Fetched * Scale,
                 Written = H.Regions[K].Written * Scale;
    const double Again =
        Fetched > ReadOnce[K] && FarBytes > 0 ? 1 - ReadOnce[K] / Fetched : 0;
    // Long waves come round by themselves.
    const double Lines = double(H.Regions[K].LinesRead.size()) * Scale;
    const double Rounds = Lines * Q.Continued / linesOf(L.Regions[K], C);
    const double Stays =
        Rounds > 1 ? std::max(Kept, Room * (1 - 1 / Rounds)) : Kept;
    FarShare[K] = Again + (1 - Again) * Stays;
    All.Far += (Fetched + Written) * Q.Continued * C.LineBytes;
    All.Memory += (Fetched * (1 - FarShare[K]) + Written * (1 - Kept)) *
                  Q.Continued * C.LineBytes;
  }
  All.L2 = H.L2Lines * Scale * Q.Continued * C.LineBytes;
  // By the line's number, so that the choice is the same in every run.
  auto Choose = [&](TouchedLine &Line, double Share) {
    const uint64_t Hash = Line.Number * 0x9e3779b97f4a7c15ull >> 40;
    if (Line.Level == CacheLevel::Memory &&
        double(Hash) < Share * double(1 << 24))
      Line.Level = CacheLevel::Far;
  };
  for (const PlacedWorkgroup &P : Workgroups)
    for (const Access &X : P.Trace->Accesses)
      for (uint32_t K = X.FirstLine; K < X.FirstLine + X.NumLines; ++K) {
        TouchedLine &Line = P.Trace->Lines[K];
        Choose(Line, X.Kind == AccessKind::VectorStore ? Kept
                                                       : FarShare[Line.Region]);
      }
  return All;
}
