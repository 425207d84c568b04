//===- ComputeUnit.cpp - A compute unit in time ---------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A SIMD has a turn every few clocks, in which it issues one instruction to
// each port at most, from different waves, the oldest first. Waves issue in
// order. Nothing happens between turns in which a wave is ready, so these are
// the events. Paths to memory are servers: a request occupies them for its
// bytes over the unit's share of their rate, and its line is there a latency
// later.
//
//===----------------------------------------------------------------------===//

#include "Timing/ComputeUnit.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace lnbwd::sim;

constexpr double Never = std::numeric_limits<double>::infinity();
/// How far the paths to L1 and LDS may be booked ahead before a wave that wants
/// to issue has to wait.
constexpr double BookedAhead = 64;
/// Lanes whose addresses the path to the L1 takes in a clock.
constexpr double LanesPerClock = 16;
/// Lines in flight that are remembered, for others that want them.
constexpr size_t MostFilling = 1 << 16;

double WaitTimes::total() const {
  double Sum = 0;
  for (double T : By)
    Sum += T;
  return Sum;
}

void WaitTimes::add(const WaitTimes &Other, double Times) {
  for (unsigned K = 0; K < unsigned(WaitReason::Count); ++K)
    By[K] += Other.By[K] * Times;
}

struct ComputeUnit::WaveInTime {
  const WaveTrace *Steps;
  size_t Group;
  uint32_t Index;
  size_t Pos = 0;
  double FreeAt = 0;   ///< when the last instruction is over
  double NextAt = 0;   ///< and what it waits for is there
  double Operands = 0; ///< and the registers of the next one can be read
  double Ready = 0;    ///< and what it needs beside that may be free
  WaitReason Waited = WaitReason::Issue; ///< for, between FreeAt and NextAt
  struct Pending {
    double At;
    WaitReason Reason;
  };
  std::deque<Pending> Counters[NumWaits];
  std::vector<double> Registers; ///< when they can be read
};

struct ComputeUnit::Simd {
  std::vector<std::unique_ptr<WaveInTime>> Waves; ///< the oldest first
  double Next = Never;
  double VectorFree = 0;
};

struct ComputeUnit::Group {
  const WorkgroupTrace *Trace = nullptr;
  WorkgroupTimes Times;
  unsigned Alive = 0;
  std::vector<WaveInTime *> AtBarrier;
};

ComputeUnit::ComputeUnit(const IssueTable &Table, const ClockInfo &C,
                         const SimulatedChip &Chip, const UnitShare &Share,
                         Timeline *Into)
    : ByInstruction(Table.List.size()), Table(Table), C(C), Chip(Chip),
      Share(Share), Into(Into),
      InFlight(std::max<size_t>(1, size_t(C.LinesInFlight))) {
  for (unsigned K = 0; K < Chip.SimdsPerCU; ++K)
    Simds.push_back(std::make_unique<Simd>());
}

ComputeUnit::~ComputeUnit() = default;

/// A workgroup has room from then on.
void ComputeUnit::start(size_t Number, double At) {
  Group &G = Groups[Number];
  G.Trace = Todo[Number];
  G.Times.Start = std::max(At, Dispatch[Number]);
  G.Alive = unsigned(G.Trace->Waves.size());
  for (uint32_t K = 0; K < G.Trace->Waves.size(); ++K) {
    auto W = std::make_unique<WaveInTime>();
    W->Steps = &G.Trace->Waves[K];
    W->Group = Number;
    W->Index = K;
    W->Registers.assign(NumVectorRows + NumScalarSlots, 0.0);
    W->FreeAt = W->NextAt =
        G.Times.Start + C.WaveStartClocks + K * C.DispatchClocks;
    prepare(*W);
    Simd &S = **llvm::min_element(Simds, [](const auto &A, const auto &B) {
      return A->Waves.size() < B->Waves.size();
    });
    S.Next = std::min(S.Next, W->Ready);
    S.Waves.push_back(std::move(W));
  }
}

std::vector<WorkgroupTimes>
ComputeUnit::run(llvm::ArrayRef<const WorkgroupTrace *> Workgroups,
                 llvm::ArrayRef<double> Starts, unsigned Resident) {
  Todo = Workgroups;
  Dispatch = Starts;
  Groups.resize(Todo.size());
  for (Next = 0; Next < Todo.size() && Next < Resident; ++Next)
    start(Next, 0);
  while (true) {
    Simd &S = **llvm::min_element(
        Simds, [](const auto &A, const auto &B) { return A->Next < B->Next; });
    if (S.Next == Never)
      break;
    const double Now = S.Next;
    unsigned Ports = 0;
    // Waves may start on this SIMD while it is looked at.
    for (size_t K = 0; K < S.Waves.size(); ++K)
      if (S.Waves[K]->Ready <= Now)
        issue(*S.Waves[K], S, Now, Ports);
    llvm::erase_if(S.Waves, [](const auto &W) {
      return W->Pos >= W->Steps->Steps.size();
    });
    S.Next = Never;
    for (auto &W : S.Waves)
      S.Next = std::min(S.Next, W->Ready);
    S.Next = std::max(S.Next, Now + C.VectorClocks);
  }
  std::vector<WorkgroupTimes> Times;
  Times.reserve(Groups.size());
  for (const Group &G : Groups)
    Times.push_back(G.Times);
  return Times;
}

/// When the wave's next instruction has its registers.
void ComputeUnit::prepare(WaveInTime &W) {
  W.Operands = W.Ready = W.NextAt;
  if (W.Pos >= W.Steps->Steps.size())
    return;
  const Effects &E = Table.effects(W.Steps->Steps[W.Pos].Instruction);
  for (const RegisterSpan &S : E.VectorRead)
    for (unsigned K = 0; K < S.Count; ++K)
      W.Ready = std::max(W.Ready, W.Registers[S.First + K]);
  for (const RegisterSpan &S : E.ScalarRead)
    for (unsigned K = 0; K < S.Count; ++K)
      W.Ready = std::max(W.Ready, W.Registers[NumVectorRows + S.First + K]);
  W.Operands = W.Ready;
}

bool ComputeUnit::issue(WaveInTime &W, Simd &S, double Now, unsigned &Ports) {
  const TraceStep &Step = W.Steps->Steps[W.Pos];
  const IssueFacts &F = Table.of(Step.Instruction);
  // A line of code is in flight from when the first wave comes to it.
  const double Fetched =
      CodeLines
          .try_emplace(Table.codeLine(Step.Instruction), Now + C.FetchClocks)
          .first->second;
  if (Fetched > Now) {
    W.Ready = Fetched;
    return false;
  }
  const unsigned Bit = 1u << unsigned(F.To);
  if (F.To != Port::Internal && (Ports & Bit))
    return false;
  double Free = 0;
  if (F.To == Port::Vector)
    Free = S.VectorFree;
  else if (F.To == Port::VectorMemory)
    Free = PipeFree - BookedAhead;
  else if (F.To == Port::Lds)
    Free = LdsFree - BookedAhead;
  if (Free > Now) {
    W.Ready = Free;
    return false;
  }
  Ports |= Bit;
  if (F.To == Port::Vector)
    S.VectorFree = Now + F.Busy;
  account(W, Step.Instruction, Now);
  step(W, Step, F, Now);
  return true;
}

/// Adds to the timeline, if there is one.
void ComputeUnit::show(const WaveInTime &W, uint32_t Instruction, WaitReason R,
                       double Begin, double End) {
  if (Into && End > Begin)
    Into->add({uint32_t(W.Group), W.Index, Instruction, R, Begin, End});
}

/// What the wave's last instruction made it wait for.
void ComputeUnit::accountWait(const WaveInTime &W) {
  Waits.By[unsigned(W.Waited)] += W.NextAt - W.FreeAt;
  if (!W.Pos)
    return;
  const uint32_t Last = W.Steps->Steps[W.Pos - 1].Instruction;
  ByInstruction[Last] += W.NextAt - W.FreeAt;
  show(W, Last, W.Waited, W.FreeAt, W.NextAt);
}

/// Where the wave's time since its last instruction went.
void ComputeUnit::account(const WaveInTime &W, uint32_t Instruction,
                          double Now) {
  const double Registers = W.Operands - W.NextAt;
  const double IssueDelay = Now - W.Operands;
  accountWait(W);
  Waits.By[unsigned(WaitReason::Registers)] += Registers;
  Waits.By[unsigned(WaitReason::Issue)] += IssueDelay;
  ByInstruction[Instruction] += Registers + IssueDelay;
  show(W, Instruction, WaitReason::Registers, W.NextAt, W.Operands);
  show(W, Instruction, WaitReason::Issue, W.Operands, Now);
}

/// The instruction is issued: what follows from it.
void ComputeUnit::step(WaveInTime &W, const TraceStep &Step,
                       const IssueFacts &F, double Now) {
  const WorkgroupTrace &T = *Groups[W.Group].Trace;
  const Effects &E = Table.effects(Step.Instruction);
  ++W.Pos;
  const bool IsLast = W.Pos >= W.Steps->Steps.size();
  double Gap = F.Gap;
  if (F.IsBranch && !IsLast) {
    const uint32_t To = W.Steps->Steps[W.Pos].Instruction;
    if (To < Step.Instruction || To > Step.Instruction + 2)
      Gap = C.BranchClocks;
  }
  W.FreeAt = W.NextAt = Now + Gap;
  Waits.By[unsigned(WaitReason::Working)] += Gap;
  show(W, Step.Instruction, WaitReason::Working, Now, W.FreeAt);
  W.Waited = WaitReason::Issue;

  const unsigned Generation = Chip.Generation;
  auto Push = [&](WaitCounter Counter, double At, WaitReason Reason) {
    std::deque<WaveInTime::Pending> &Q = W.Counters[Counter];
    // Counters count down in order.
    if (!Q.empty() && Q.back().At > At)
      At = Q.back().At;
    Q.push_back({At, Reason});
    if (Q.size() > counterMaximum(Counter, Generation)) {
      W.NextAt = std::max(W.NextAt, Q.front().At);
      W.Waited = Q.front().Reason;
      Q.pop_front();
    }
  };
  const Access *X = Step.Access ? &T.Accesses[Step.Access - 1] : nullptr;
  const WaitCounter Stores = Generation == 9 ? WaitLoad : WaitStore;
  if (F.To == Port::Vector) {
    for (const RegisterSpan &S : E.VectorWrite)
      for (unsigned K = 0; K < S.Count; ++K)
        W.Registers[S.First + K] = Now + F.Result;
    for (const RegisterSpan &S : E.ScalarWrite)
      for (unsigned K = 0; K < S.Count; ++K)
        W.Registers[NumVectorRows + S.First + K] = Now + F.Result;
  } else if (F.To == Port::VectorMemory && X) {
    const double Done = access(*X, T, Now);
    const bool IsLoad = X->Kind == AccessKind::VectorLoad || E.Returns;
    Push(IsLoad ? WaitLoad : Stores, Done, WaitReason::Memory);
    if (E.Space == MemorySpace::Flat)
      Push(WaitLds, Done, WaitReason::Memory);
  } else if (F.To == Port::ScalarMemory) {
    const double Done = X ? scalarLoaded(*X, T, Now) : Now + C.ScalarHitClocks;
    Push(Generation >= 12 ? WaitScalar : WaitLds, Done, WaitReason::Scalar);
  } else if (F.To == Port::Lds) {
    const double Latency = F.Permutes                        ? C.PermuteClocks
                           : E.Access == MemoryAccess::Store ? C.LdsStoreClocks
                                                             : C.LdsClocks;
    Push(WaitLds, ldsDone(X, Latency, Now), WaitReason::Lds);
  } else if (F.IsWait) {
    for (unsigned K = 0; K < NumWaits; ++K) {
      std::deque<WaveInTime::Pending> &Q = W.Counters[K];
      while (Q.size() > F.Waits.Most[K]) {
        if (Q.front().At > W.NextAt) {
          W.NextAt = Q.front().At;
          W.Waited = Q.front().Reason;
        }
        Q.pop_front();
      }
    }
  }
  if (F.IsEnd || IsLast) {
    // The registers of stores are needed until the stores are done.
    for (const auto &Q : W.Counters)
      if (!Q.empty() && Q.back().At > W.NextAt) {
        W.NextAt = Q.back().At;
        W.Waited = Q.back().Reason;
      }
    accountWait(W);
    return finish(W, W.NextAt);
  }
  if (F.IsBarrier)
    return barrier(W, Now);
  prepare(W);
}

void ComputeUnit::barrier(WaveInTime &W, double Now) {
  W.NextAt = W.Ready = Never;
  Groups[W.Group].AtBarrier.push_back(&W);
  meet(W.Group, Now);
}

/// Lets the waves of a workgroup pass if all that live have arrived.
void ComputeUnit::meet(size_t Number, double Now) {
  Group &G = Groups[Number];
  if (G.AtBarrier.empty() || G.AtBarrier.size() < G.Alive)
    return;
  for (WaveInTime *W : G.AtBarrier) {
    W->NextAt = std::max(W->FreeAt, Now + C.BarrierClocks);
    W->Waited = WaitReason::Barrier;
    prepare(*W);
    for (auto &S : Simds)
      for (auto &Other : S->Waves)
        if (Other.get() == W)
          S->Next = std::min(S->Next, W->Ready);
  }
  G.AtBarrier.clear();
}

void ComputeUnit::finish(WaveInTime &W, double At) {
  W.Pos = W.Steps->Steps.size();
  W.Ready = Never;
  Group &G = Groups[W.Group];
  G.Times.End = std::max(G.Times.End, At);
  --G.Alive;
  meet(W.Group, At);
  if (!G.Alive && Next < Todo.size())
    start(Next++, At + C.ReplaceClocks);
}

/// When a line that is not in the L1 is there.
double ComputeUnit::lineLoaded(const TouchedLine &Line, double At) {
  double &Slot = InFlight[NextInFlight];
  NextInFlight = (NextInFlight + 1) % InFlight.size();
  At = std::max({At, Slot, L2Free});
  L2Free = At + C.LineBytes / Share.L2Bytes;
  double Done = L2Free + C.ScalarL2Clocks + C.VectorExtraClocks;
  if (Line.Level >= CacheLevel::Far) {
    At = std::max(At, FarFree);
    FarFree = At + C.LineBytes / Share.FarBytes;
    Done = FarFree + C.ScalarFarClocks + C.VectorExtraClocks;
  }
  if (Line.Level == CacheLevel::Memory) {
    At = std::max(At, MemoryFree);
    MemoryFree = At + C.LineBytes / Share.MemoryBytes;
    Done = MemoryFree + C.ScalarMemoryClocks + C.VectorExtraClocks;
  }
  Slot = Done;
  return Done;
}

/// When a write is acknowledged.
double ComputeUnit::lineStored(const TouchedLine &Line, double Bytes,
                               double At) {
  At = std::max(At, L2Free);
  L2Free = At + Bytes / Share.L2Bytes;
  double Done = L2Free + C.StoreClocks;
  if (Line.Rewritten)
    Bytes *= C.RewriteFactor;
  if (Line.Level >= CacheLevel::Far)
    FarFree = std::max(At, FarFree) + Bytes / Share.FarBytes;
  if (Line.Level == CacheLevel::Memory) {
    MemoryFree = std::max(At, MemoryFree) + Bytes / Share.MemoryBytes;
    // The L2 holds what memory cannot take yet, as long as it has room.
    Done = std::max(Done, MemoryFree - Share.WriteBuffer / Share.MemoryBytes);
  }
  return Done;
}

double ComputeUnit::access(const Access &X, const WorkgroupTrace &T,
                           double Now) {
  const double Lines = X.NumLines;
  const double Clocks = std::max(
      {X.Lanes / LanesPerClock, Lines, X.Bytes / C.L1BytesPerClock, 1.0});
  const double Start = std::max(Now, PipeFree);
  PipeFree = Start + Clocks;
  double Done = PipeFree + C.VectorHitClocks;
  for (uint32_t K = 0; K < X.NumLines; ++K) {
    const TouchedLine &Line = T.Lines[X.FirstLine + K];
    const double At = Start + Clocks * (K + 1) / Lines;
    if (X.Kind == AccessKind::VectorStore) {
      Done = std::max(Done, lineStored(Line, X.storedBytes(C.LineBytes), At));
      continue;
    }
    if (X.Kind == AccessKind::Atomic) {
      Done = std::max(Done, lineLoaded(Line, At));
      continue;
    }
    if (Line.Level == CacheLevel::L1) {
      // It may be in flight still.
      if (auto It = Filling.find(Line.Number); It != Filling.end())
        Done = std::max(Done, It->second);
      continue;
    }
    const double Loaded = lineLoaded(Line, At);
    Done = std::max(Done, Loaded);
    if (Filling.size() > MostFilling)
      Filling.clear();
    Filling[Line.Number] = Loaded;
  }
  if (X.BankCycles)
    Done = std::max(Done, ldsDone(&X, C.LdsStoreClocks, Done));
  return Done;
}

double ComputeUnit::scalarLoaded(const Access &X, const WorkgroupTrace &T,
                                 double Now) {
  const double Start = std::max(Now, ScalarFree);
  ScalarFree = Start + X.NumLines;
  double Done = Start;
  for (uint32_t K = 0; K < X.NumLines; ++K) {
    double Clocks = C.ScalarHitClocks;
    switch (T.Lines[X.FirstLine + K].Level) {
    case CacheLevel::L1:
      break;
    case CacheLevel::L2:
      Clocks = C.ScalarL2Clocks;
      break;
    case CacheLevel::Far:
      Clocks = C.ScalarFarClocks;
      break;
    case CacheLevel::Memory:
      Clocks = C.ScalarMemoryClocks;
      break;
    }
    Done = std::max(Done, Start + Clocks);
  }
  return Done;
}

double ComputeUnit::ldsDone(const Access *X, double Latency, double Now) {
  const double Clocks = X && X->BankCycles ? X->BankCycles : 2;
  LdsFree = std::max(Now, LdsFree) + Clocks + C.LdsTurnClocks;
  return LdsFree + Latency;
}
