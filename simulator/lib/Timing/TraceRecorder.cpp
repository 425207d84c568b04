//===- TraceRecorder.cpp - The observer that records traces ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes' addresses become lines, in the order of the lanes.
//
//===----------------------------------------------------------------------===//

#include "Timing/TraceRecorder.h"

#include "Check/Resources.h"
#include "Core/Wave.h"

#include "lnbwd/ISA/InstructionRecord.h"

using namespace lnbwd;
using namespace lnbwd::sim;

namespace {
class WaveRecorder final : public WaveObserver {
public:
  WaveRecorder(const Launch &L, const ClockInfo &C, size_t MostSteps,
               const Wave &W)
      : L(L), MostSteps(MostSteps), First(L.Code->instructions().data()), W(W),
        LineBytes(uint64_t(C.LineBytes)),
        ScalarLineBytes(uint64_t(C.ScalarLineBytes)) {}

  void start(WorkgroupTrace &T) {
    Into = &T;
    T.Waves.resize(std::max<size_t>(T.Waves.size(), W.Index + 1));
  }
  void started(unsigned, unsigned) override {}
  bool before(const Inst *I) override {
    if (I->Class == InstClass::Uncounted)
      return true;
    WaveTrace &T = Into->Waves[W.Index];
    ++T.Executed;
    Recording = T.Steps.size() < MostSteps;
    if (Recording)
      T.Steps.push_back({uint32_t(I - First), 0});
    return true;
  }
  void after(const Inst *) override {}
  void ended(const Inst *) override {}

  bool globalAccess(const Inst *I, const uint64_t *A, uint64_t Mask,
                    unsigned Bytes) override {
    if (!Recording)
      return true;
    Access &X = access(I);
    X.Bytes += unsigned(__builtin_popcountll(Mask)) * Bytes;
    X.Lanes += unsigned(__builtin_popcountll(Mask));
    for (uint64_t Left = Mask; Left; Left &= Left - 1)
      touch(X, A[__builtin_ctzll(Left)], Bytes, LineBytes);
    return true;
  }
  bool ldsAccess(const Inst *I, const uint32_t *A, uint64_t Mask,
                 unsigned Bytes) override {
    if (!Recording || isFlat(I))
      return true;
    unsigned Least;
    access(I).BankCycles +=
        bankCycles(A, Mask, Bytes, W.N, L.Code->chip().LdsBanks, Least);
    return true;
  }
  bool scratchAccess(const Inst *I, const uint64_t *, uint64_t Mask,
                     unsigned Bytes) override {
    // Scratch memory of a wave lies together and stays in its caches.
    if (Recording && !isFlat(I))
      access(I).Bytes += unsigned(__builtin_popcountll(Mask)) * Bytes;
    return true;
  }
  bool scalarLoad(const Inst *I, uint64_t Address, unsigned Bytes,
                  uint64_t) override {
    if (!Recording)
      return true;
    Access &X = access(I);
    X.Kind = AccessKind::ScalarLoad;
    X.Bytes += Bytes;
    touch(X, Address, Bytes, ScalarLineBytes);
    return true;
  }

private:
  /// Whether flat addressing finds LDS or scratch memory, which is left out.
  static bool isFlat(const Inst *I) {
    return I->Record->Facts.Memory.Space == isa::MemorySpace::Flat;
  }
  /// The access of the present instruction, which may take several calls.
  Access &access(const Inst *I) {
    uint32_t &Number = Into->Waves[W.Index].Steps.back().Access;
    if (Number)
      return Into->Accesses[Number - 1];
    Into->Accesses.emplace_back();
    Number = uint32_t(Into->Accesses.size());
    Access &X = Into->Accesses.back();
    X.FirstLine = uint32_t(Into->Lines.size());
    const isa::MemoryAccess How = I->Record->Facts.Memory.Access;
    X.Kind = How == isa::MemoryAccess::Atomic  ? AccessKind::Atomic
             : How == isa::MemoryAccess::Store ? AccessKind::VectorStore
                                               : AccessKind::VectorLoad;
    return X;
  }
  /// The number of the line that the address is in.
  uint64_t lineOf(uint64_t Address, uint64_t Bytes) {
    if (Address - Last.Begin >= Last.End - Last.Begin)
      if (const Region *R = findRegion(L.Regions, Address))
        Last = *R;
    // Where the host has a buffer does not matter; it lies in a place of its
    // own that does not begin at the first set of every cache.
    const uint64_t Place =
        (uint64_t(Last.Index) << 36) + Last.Index * uint64_t(977);
    return Place * (LineBytes / Bytes) + (Address - Last.Begin) / Bytes;
  }
  void touch(Access &X, uint64_t Address, unsigned Bytes, uint64_t LineSize) {
    const uint64_t First = lineOf(Address, LineSize);
    const uint64_t End =
        First + (Address % LineSize + Bytes + LineSize - 1) / LineSize;
    for (uint64_t N = First; N < End; ++N) {
      auto Begin = Into->Lines.begin() + X.FirstLine;
      // The latest first: neighbouring lanes have neighbouring addresses.
      bool Known = false;
      for (auto It = Into->Lines.end(); It != Begin && !Known;)
        Known = (--It)->Number == N;
      if (Known)
        continue;
      Into->Lines.push_back(
          {N, uint16_t(Last.Index), CacheLevel::Memory, false});
      ++X.NumLines;
    }
  }

  const Launch &L;
  size_t MostSteps;
  const Inst *First;
  const Wave &W;
  uint64_t LineBytes, ScalarLineBytes;
  WorkgroupTrace *Into = nullptr;
  bool Recording = false;
  Region Last = {0, 0};
};
} // namespace

namespace lnbwd::sim {
class WorkgroupRecorder final : public WorkgroupObserver {
public:
  explicit WorkgroupRecorder(TraceRecorder &R) : R(R) {}
  bool started(uint64_t Number) override {
    auto T = std::make_unique<WorkgroupTrace>();
    T->Number = Number;
    for (auto &W : Waves)
      W->start(*T);
    std::lock_guard<std::mutex> Guard(R.Lock);
    R.Traces[Number] = std::move(T);
    return true;
  }
  WaveObserver &observe(Wave &W) override {
    Waves.push_back(std::make_unique<WaveRecorder>(R.L, R.C, R.MostSteps, W));
    return *Waves.back();
  }

private:
  TraceRecorder &R;
  std::vector<std::unique_ptr<WaveRecorder>> Waves;
};
} // namespace lnbwd::sim

std::unique_ptr<WorkgroupObserver> TraceRecorder::observe(Workgroup &) {
  return std::make_unique<WorkgroupRecorder>(*this);
}
