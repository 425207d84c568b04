//===- ResidentWorkgroup.cpp - A workgroup that is being executed ---------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The waves of a workgroup run one after the other, each until it ends, waits
// at a barrier, or has had its slice.
//
//===----------------------------------------------------------------------===//

#include "Core/ResidentWorkgroup.h"

#include <algorithm>
#include <cstring>
#include <string>

using namespace lnbwd::sim;

/// Instructions of one wave before another one gets its time slice.
constexpr uint64_t Slice = 65536;
/// And where another wave has yielded to it.
constexpr uint64_t SliceForOthers = 1024;
/// Instructions of a wave between two looks at whether to stop: how long a
/// launch goes on after SIGINT, on each host thread.
constexpr uint64_t Stretch = 1024;
/// Instructions of a workgroup before its thread adds them to the launch's.
constexpr uint64_t ReportedTogether = 4096;
/// Content of registers and LDS before the kernel writes them: a NaN in every
/// floating-point format, so that a use shows.
constexpr uint32_t Poison = 0x7ff5fff5;

template <typename T>
ResidentWorkgroup::Storage<T> ResidentWorkgroup::allocate(size_t Count) {
  size_t Bytes = std::max<size_t>((Count * sizeof(T) + 63) / 64 * 64, 64);
  return Storage<T>(static_cast<T *>(std::aligned_alloc(64, Bytes)));
}

static void fillPoison(void *P, size_t Bytes) {
  auto *D = static_cast<uint8_t *>(P);
  for (size_t I = 0; I + 4 <= Bytes; I += 4)
    std::memcpy(D + I, &Poison, 4);
}

ResidentWorkgroup::ResidentWorkgroup(Launch &L, LaneTemps &Temps) : L(L) {
  WG.NumWaves = L.WavesPerWorkgroup;
  WG.LdsSize = L.LdsSize;
  Lds = allocate<uint8_t>(L.LdsSize);
  OutOfMemory |= !Lds;
  WG.Lds = Lds.get();
  ScratchPerWave = size_t(L.ScratchSize) * L.WaveSize;
  Scratch = allocate<uint8_t>(ScratchPerWave * WG.NumWaves);
  OutOfMemory |= !Scratch;
  for (unsigned K = 0; K < WG.NumWaves; ++K) {
    Registers.push_back(allocate<uint32_t>(size_t(NumVectorRows) * L.WaveSize));
    OutOfMemory |= !Registers.back();
    auto W = std::make_unique<Wave>();
    W->N = L.WaveSize;
    W->FullMask = L.WaveSize == 64 ? ~0ull : 0xffffffffull;
    W->V = Registers.back().get();
    W->T = &Temps;
    W->WG = &WG;
    W->L = &L;
    W->Index = K;
    W->Scratch = Scratch.get() + ScratchPerWave * K;
    W->ScratchSize = L.ScratchSize;
    uint64_t ScratchBegin = reinterpret_cast<uint64_t>(W->Scratch);
    W->ScratchRegion = {ScratchBegin, ScratchBegin + ScratchPerWave};
    WG.Waves.push_back(std::move(W));
  }
  if (!L.Observer)
    return;
  Observer = L.Observer->observe(WG);
  for (auto &W : WG.Waves)
    W->Observer = &Observer->observe(*W);
}

void ResidentWorkgroup::startTogether(const Launch &L, uint64_t Number,
                                      List &Idle, List &Active) {
  std::shared_ptr<Cluster> Of;
  if (L.ClusterDims[0]) {
    Of = std::make_shared<Cluster>();
    Of->Number = Number;
  }
  for (unsigned Rank = 0; Rank < L.together(); ++Rank) {
    Active.push_back(std::move(Idle.back()));
    Idle.pop_back();
    if (Of)
      Of->Members.push_back(&Active.back()->WG);
    Active.back()->start(L.memberOf(Number, Rank), Of, Rank);
  }
}

void ResidentWorkgroup::start(uint64_t Number, std::shared_ptr<Cluster> Of,
                              unsigned Rank) {
  Executed = 0;
  WG.Of = std::move(Of);
  WG.Rank = Rank;
  WG.Id[0] = uint32_t(Number % L.Grid[0]);
  WG.Id[1] = uint32_t(Number / L.Grid[0] % L.Grid[1]);
  WG.Id[2] = uint32_t(Number / L.Grid[0] / L.Grid[1]);
  WG.Alive = WG.NumWaves;
  WG.Signalled = 0;
  WG.Generation = 0;
  std::fill(std::begin(WG.Named), std::end(WG.Named), NamedBarrier());
  fillPoison(WG.Lds, WG.LdsSize);
  if (Observer)
    ObservesInstructions = Observer->started(Number);
  Random = L.Shuffle * 0x9e3779b97f4a7c15ull + Number;
  for (unsigned K = 0; K < WG.NumWaves; ++K)
    startWave(K);
}

/// Sets the registers that the kernel descriptor asks for.
void ResidentWorkgroup::startWave(unsigned Index) {
  Wave &W = *WG.Waves[Index];
  const Kernel &K = *L.TheKernel;
  const unsigned N = W.N;
  for (uint32_t &S : W.S)
    S = Poison;
  const unsigned Most = L.Chip->AddressableVgprs;
  fillPoison(W.V, size_t(std::min(K.VgprCount, Most)) * N * 4);
  if (L.Chip->HasAgprs)
    fillPoison(W.row(RowAGPR0), size_t(std::min(K.AgprCount, 256u)) * N * 4);
  if (L.ScratchSize)
    fillPoison(W.Scratch, ScratchPerWave);
  W.Status = WaveStatus::Running;
  W.Yields = false;
  W.Polled = nullptr;
  W.Behind = 0;
  W.PC = L.Code->at(K.Entry);
  W.BarrierGeneration = WG.Generation - 1; // None that it could wait for.
  W.Named = 0;
  W.NamedComplete = W.ClusterComplete = false;
  W.LastRegion = {0, 0};

  W.S[SlotSCC] = 0;
  W.S[SlotM0] = 0;
  W.S[SlotNull] = W.S[SlotNull + 1] = 0;
  W.setScalar64(SlotVCC, 0);
  W.setScalar64(SlotXnackMask, 0);
  W.setScalar64(SlotSharedBase, SharedAperture);
  W.setScalar64(SlotSharedLimit, SharedAperture | 0xffffffff);
  W.setScalar64(SlotPrivateBase, PrivateAperture);
  W.setScalar64(SlotPrivateLimit, PrivateAperture | 0xffffffff);
  W.setScalar64(SlotFlatScratch, L.Chip->isCdna5()
                                     ? LanePrivateBase
                                     : reinterpret_cast<uint64_t>(W.Scratch));

  const uint32_t Items = L.Block[0] * L.Block[1] * L.Block[2];
  const uint32_t First = Index * N;
  const uint32_t Live = std::min(N, Items - First);
  W.setScalar64(SlotExec, Live == 64 ? ~0ull : (1ull << Live) - 1);

  uint32_t Mode = K.Rsrc1 >> 12 & 0xff;
  if (L.Chip->Generation >= 12)
    Mode |= ModeDX10Clamp; // no longer optional
  else
    Mode |= (K.Rsrc1 >> 21 & 1 ? ModeDX10Clamp : 0u) |
            (K.Rsrc1 >> 23 & 1 ? ModeIEEE : 0u);
  W.RoundsUp = L.RoundsUp;
  W.updateMode(Mode);

  // User SGPRs, in the order of the descriptor's bits.
  unsigned S = 0;
  auto Put64 = [&](uint64_t X) {
    W.setScalar64(S, X);
    S += 2;
  };
  enum Property {
    PrivateSegmentBuffer = 1,
    DispatchPtr = 2,
    QueuePtr = 4,
    KernargSegmentPtr = 8,
    DispatchId = 16,
    FlatScratchInit = 32,
    PrivateSegmentSize = 64
  };
  const uint64_t ScratchBase = reinterpret_cast<uint64_t>(Scratch.get());
  if (K.Properties & PrivateSegmentBuffer) {
    // A swizzled resource: 4-byte elements, the wave's lanes interleaved, the
    // lane number added to the index.
    W.S[S] = uint32_t(ScratchBase);
    W.S[S + 1] = uint32_t(ScratchBase >> 32 & 0xffff) | 1u << 31;
    W.S[S + 2] = ~0u;
    W.S[S + 3] = 1u << 23 | (N == 64 ? 3u : 2u) << 21 | 1u << 19;
    S += 4;
  }
  if (K.Properties & DispatchPtr)
    Put64(L.DispatchPacket);
  if (K.Properties & QueuePtr)
    Put64(L.Queue);
  if (K.Properties & KernargSegmentPtr)
    Put64(L.Kernarg);
  if (K.Properties & DispatchId)
    Put64(0);
  if (K.Properties & FlatScratchInit)
    Put64(ScratchBase);
  if (K.Properties & PrivateSegmentSize)
    W.S[S++] = L.ScratchSize;
  for (unsigned D = 0; D < K.PreloadLength && S < 32; ++D) {
    uint64_t Offset = (uint64_t(K.PreloadOffset) + D) * 4;
    if (Offset + 4 <= std::max<uint64_t>(K.KernargSize, 4))
      std::memcpy(&W.S[S], reinterpret_cast<const void *>(L.Kernarg + Offset),
                  4);
    ++S;
  }
  // System SGPRs start after the number of user SGPRs the descriptor states.
  S = std::max(S, K.Rsrc2 >> 1 & (L.Chip->isCdna5() ? 0x3fu : 0x1fu));
  if (L.Chip->Generation >= 12) {
    // Of clusters these are the numbers of the cluster, and one more register
    // has the place in it and the last place, by dimension and by rank.
    uint32_t Id[3], Places = 0;
    for (unsigned D = 0; D < 3; ++D) {
      const uint32_t Size = std::max(1u, L.ClusterDims[D]);
      Id[D] = WG.Id[D] / Size;
      Places |= WG.Id[D] % Size << 4 * D | (Size - 1) << (12 + 4 * D);
    }
    W.S[SlotGroupX] = Id[0];
    // Code of a kernel without the third dimension takes all of it as the
    // second one.
    W.S[SlotGroupYZ] =
        K.Rsrc2 >> 9 & 1 ? (Id[1] & 0xffff) | Id[2] << 16 : Id[1];
    if (L.Chip->isCdna5())
      W.S[SlotCluster] = Places | (L.together() - 1) << 24;
    W.S[SlotWaveId] = (Poison & ~WaveIdBits) | Index << WaveIdShift;
  } else {
    for (unsigned D = 0; D < 3; ++D)
      if (K.Rsrc2 >> (7 + D) & 1)
        W.S[S++] = WG.Id[D];
  }
  if (K.Rsrc2 >> 10 & 1)
    W.S[S++] = 0;
  if ((K.Rsrc2 & 1) && !L.Chip->ArchitectedScratch)
    W.S[S++] = uint32_t(ScratchPerWave * Index);
  const unsigned Dimensions = K.Rsrc2 >> 11 & 3;
  if (W.Observer)
    W.Observer->started(S, L.Chip->PackedWorkItemIds ? 1 : Dimensions + 1);

  for (unsigned Lane = 0; Lane < N; ++Lane) {
    uint32_t Item = std::min(First + Lane, Items - 1);
    uint32_t X = Item % L.Block[0], Y = Item / L.Block[0] % L.Block[1],
             Z = Item / L.Block[0] / L.Block[1];
    if (L.Chip->PackedWorkItemIds) {
      W.row(0)[Lane] =
          X | (Dimensions >= 1 ? Y << 10 : 0) | (Dimensions >= 2 ? Z << 20 : 0);
      continue;
    }
    W.row(0)[Lane] = X;
    if (Dimensions >= 1)
      W.row(1)[Lane] = Y;
    if (Dimensions >= 2)
      W.row(2)[Lane] = Z;
  }
}

/// A step of splitmix64.
static uint64_t nextRandom(uint64_t &State) {
  uint64_t X = State += 0x9e3779b97f4a7c15ull;
  X = (X ^ X >> 30) * 0xbf58476d1ce4e5b9ull;
  X = (X ^ X >> 27) * 0x94d049bb133111ebull;
  return X ^ X >> 31;
}

void ResidentWorkgroup::reportExecuted(const Wave &W, const Inst *At) {
  const uint64_t Total = L.Executed.fetch_add(Unreported) + Unreported;
  Unreported = 0;
  if (L.Interleaving && Total > L.Interleaving->Most) {
    L.Stop.store(true); // That is enough of this order.
    return;
  }
  const uint64_t Begun =
      std::min(L.NextWorkgroup.load(), L.NumWorkgroups) * L.WavesPerWorkgroup;
  const uint64_t Most = L.Limit.after(Begun);
  if (Total <= Most)
    return;
  std::string Text = std::string(L.Chip->Chip) + ": kernel '" +
                     L.TheKernel->shownName() + "' was stopped after " +
                     std::to_string(Most) + " instructions (";
  if (L.Limit.IsDefault)
    Text += "the default is " + std::to_string(L.Limit.Base) + " and " +
            std::to_string(L.Limit.PerWave) +
            " for each wave that has begun; LNBWD_SIM_MAX_INSTRUCTIONS sets "
            "another limit, or none with 0";
  else
    Text += "LNBWD_SIM_MAX_INSTRUCTIONS";
  Text += "); a wave of workgroup (" + std::to_string(WG.Id[0]) + ", " +
          std::to_string(WG.Id[1]) + ", " + std::to_string(WG.Id[2]) + ")";
  if (At)
    Text += " is at " + L.Symbols->symbolize(At->Address);
  else if (W.Status == WaveStatus::AtBarrier)
    Text += " waits at a barrier before " + L.Symbols->symbolize(W.PC->Address);
  else
    Text += " has ended";
  L.fail(LaunchFailure::TimeOut, Text);
}

/// The others come before the wave goes on.
void ResidentWorkgroup::yield(Wave &W) {
  W.Yields = false;
  HasYielded = true;
  W.Behind = ((1ull << WG.NumWaves) - 1) & ~(1ull << W.Index);
}

/// A wave has its time slice; whether another one waits for that.
bool ResidentWorkgroup::hadTimeSlice(const Wave &W) {
  bool Any = false;
  HasYielded = false;
  for (unsigned K = 0; K < WG.NumWaves; ++K) {
    uint64_t &Behind = WG.Waves[K]->Behind;
    Any |= (Behind >> W.Index & 1) != 0;
    Behind &= ~(1ull << W.Index);
    HasYielded |= Behind != 0;
  }
  return Any;
}

/// Whether a wave that can run has to run before this one. The one that
/// has yielded first never waits for another that waits.
bool ResidentWorkgroup::waitsForOthers(const Wave &W) const {
  for (unsigned K = 0; W.Behind >> K; ++K)
    if ((W.Behind >> K & 1) && WG.Waves[K]->Status == WaveStatus::Running)
      return true;
  return false;
}

template <bool Observed>
void ResidentWorkgroup::runWave(Wave &W, uint64_t Left) {
  const Inst *I = W.PC;
  if (W.CountedExec != W.exec())
    W.flushCounts(W.exec());
  while (I && Left) {
    const uint64_t Most = std::min(Left, Stretch);
    uint64_t Steps = 0, Instructions = 0;
    while (I && Steps < Most) {
      ++Steps;
      uint64_t Exec = W.exec();
      if (Exec != W.CountedExec)
        W.flushCounts(Exec);
      ++W.Count.Pending[unsigned(I->Class)];
      Instructions += I->Class != InstClass::Uncounted ? 1 : 0;
      if (Observed) {
        const Inst *This = I;
        if (!W.Observer->before(I)) {
          I = nullptr;
          break;
        }
        I = I->Run(W, I);
        if (__builtin_expect(W.Status == WaveStatus::Ended, 0))
          W.Observer->ended(This);
        else if (W.IsFollowed && W.Status == WaveStatus::Running)
          W.Observer->after(This);
        if (__builtin_expect(W.Yields || I <= W.Polled, 0))
          break;
      } else {
        I = I->Run(W, I);
      }
    }
    Left -= Steps;
    Executed += Steps;
    Unreported += Instructions;
    if (Unreported >= ReportedTogether)
      reportExecuted(W, I);
    if (L.stopped() || (Observed && (W.Yields || I <= W.Polled)))
      break;
  }
  if (I)
    W.PC = I; // The slice is over; otherwise the instruction has set it.
}

bool ResidentWorkgroup::canRun(unsigned Index) {
  Wave &W = *WG.Waves[Index];
  if (W.Status == WaveStatus::AtBarrier &&
      W.BarrierGeneration == WG.Generation) {
    W.Status = WaveStatus::Running;
    --W.BarrierGeneration; // It has been waited for.
  }
  if (W.Status == WaveStatus::AtNamedBarrier && W.NamedComplete) {
    W.Status = WaveStatus::Running;
    W.NamedComplete = false;
  }
  if (W.Status == WaveStatus::AtClusterBarrier && W.ClusterComplete) {
    W.Status = WaveStatus::Running;
    W.ClusterComplete = false;
  }
  return W.Status == WaveStatus::Running;
}

bool ResidentWorkgroup::runTimeSlice(unsigned Index, uint64_t Most) {
  Wave &W = *WG.Waves[Index];
  W.Yields = false;
  if (W.PC <= W.Polled)
    W.Polled = nullptr;
  if (ObservesInstructions)
    runWave<true>(W, Most);
  else
    runWave<false>(W, Most);
  if (L.stopped())
    return false;
  if (W.Status != WaveStatus::Ended)
    return true;
  --WG.Alive;
  // What it has signalled beyond the last barrier does not count for another
  // wave.
  if (W.BarrierGeneration == WG.Generation + 1)
    --WG.Signalled;
  if (!WG.Alive) {
    reportExecuted(W, nullptr);
    leaveCluster();
  }
  // The others need not wait for a wave that has ended.
  if (WG.Alive && WG.Signalled == WG.Alive) {
    WG.Signalled = 0;
    ++WG.Generation;
  }
  return true;
}

/// The last one of a cluster looks whether all that a load was for have issued
/// it, since each one waits for the others.
void ResidentWorkgroup::leaveCluster() {
  if (WG.Of)
    WG.Of->Members[WG.Rank] = nullptr;
}

void ResidentWorkgroup::failStuck() {
  L.fail(LaunchFailure::BadInstruction,
         std::string(L.Chip->Chip) + ": kernel '" + L.TheKernel->shownName() +
             "', workgroup (" + std::to_string(WG.Id[0]) + ", " +
             std::to_string(WG.Id[1]) + ", " + std::to_string(WG.Id[2]) +
             "): all waves wait at a barrier that cannot complete");
}

bool ResidentWorkgroup::runTimeSlices() {
  bool Ran = false;
  const unsigned Count = WG.NumWaves;
  const uint64_t R = L.Shuffle ? nextRandom(Random) : 0;
  const bool Backward = R >> 32 & 1;
  for (unsigned K = 0; K < Count; ++K) {
    unsigned Place = unsigned((K + R % Count) % Count);
    const unsigned Index = Backward ? Count - 1 - Place : Place;
    Wave &W = *WG.Waves[Index];
    if (!canRun(Index) || __builtin_expect(W.Behind && waitsForOthers(W), 0))
      continue;
    Ran = true;
    uint64_t Most = L.Shuffle ? 1 + nextRandom(Random) % 256 : Slice;
    if (HasYielded && hadTimeSlice(W))
      Most = SliceForOthers;
    if (!runTimeSlice(Index, Most))
      return false;
    if (W.Yields)
      yield(W);
  }
  IsHeldUp = !Ran && WG.Alive;
  if (IsHeldUp && !WG.Of) {
    failStuck();
    return false;
  }
  return true;
}

void ResidentWorkgroup::collect(lnbwd_sim_counters &C) {
  for (auto &Pointer : WG.Waves) {
    Wave &W = *Pointer;
    W.flushCounts(0);
    WaveCounters &K = W.Count;
    auto Index = [](InstClass X) { return unsigned(X); };
    for (unsigned X = 0; X < unsigned(InstClass::Uncounted); ++X)
      C.wave_instructions += K.Issued[X];
    C.scalar_instructions += K.Issued[Index(InstClass::Scalar)];
    C.vector_lane_instructions += K.Lanes[Index(InstClass::Vector)];
    C.memory_lane_instructions += K.Lanes[Index(InstClass::VectorMemory)];
    C.lds_lane_instructions += K.Lanes[Index(InstClass::LDS)];
    C.barriers += K.Barriers;
    C.global_bytes_read += K.GlobalRead;
    C.global_bytes_written += K.GlobalWritten;
    C.lds_bytes += K.LdsBytes;
    K = WaveCounters();
  }
  ++C.workgroups;
  C.waves += WG.NumWaves;
}
