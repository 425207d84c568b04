//===- Launch.cpp - Execution of one kernel launch ------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Workgroups are handed out to host threads. The waves of a workgroup run one
// after the other, each until it ends, waits at a barrier, or has had its
// slice. A thread that sees its workgroups run for very long starts further
// ones beside them, as many as the chip could hold, so that kernels whose
// workgroups wait for each other make progress.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "Interrupt.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

using namespace lnbwd::sim;

/// Instructions of one wave before another one gets its turn.
constexpr uint64_t Slice = 65536;
/// Instructions of a wave between two looks at whether to stop: how long a
/// launch goes on after SIGINT, on each host thread.
constexpr uint64_t Stretch = 1024;
/// Instructions of a workgroup before its thread adds them to the launch's.
constexpr uint64_t ReportedTogether = 4096;
/// Turns of a workgroup before its thread starts another one beside it.
constexpr unsigned PatientTurns = 8;
/// Content of registers and LDS before the kernel writes them: a NaN in every
/// floating-point format, so that a use shows.
constexpr uint32_t Poison = 0x7ff5fff5;

namespace {
struct FreeDeleter {
  void operator()(void *P) const { std::free(P); }
};
template <typename T> using Storage = std::unique_ptr<T, FreeDeleter>;
} // namespace

template <typename T> static Storage<T> allocate(size_t Count) {
  size_t Bytes = std::max<size_t>((Count * sizeof(T) + 63) / 64 * 64, 64);
  return Storage<T>(static_cast<T *>(std::aligned_alloc(64, Bytes)));
}

static void fillPoison(void *P, size_t Bytes) {
  auto *D = static_cast<uint8_t *>(P);
  for (size_t I = 0; I + 4 <= Bytes; I += 4)
    std::memcpy(D + I, &Poison, 4);
}

namespace {
/// The state of one workgroup; reused for the next one.
class Context {
public:
  Context(Launch &L, LaneTemps &Temps);
  void start(uint64_t Number);
  /// One turn for each wave that can run. False: the launch has been stopped.
  bool turn();
  /// Not enough memory for the workgroup's registers, LDS and scratch.
  bool failed() const { return OutOfMemory; }
  bool done() const { return !WG.Alive; }
  void collect(lnbwd_sim_counters &C, CheckCounts &Checked);

  unsigned Turns = 0;

private:
  void startWave(unsigned Index);
  template <bool Checked> void runWave(Wave &W);
  /// Adds what was executed to the launch's total, and stops the launch if
  /// that is too much; W has executed the last of it, At comes next if it runs.
  void reportExecuted(const Wave &W, const Inst *At);

  Launch &L;
  std::unique_ptr<WorkgroupChecker> Check;
  std::vector<std::unique_ptr<WaveChecker>> WaveChecks;
  uint64_t Random = 0;     ///< state of the shuffled order
  uint64_t Unreported = 0; ///< instructions executed since the last report
  bool OutOfMemory = false;
  Workgroup WG;
  Storage<uint8_t> Lds;
  std::vector<Storage<uint32_t>> Registers;
  Storage<uint8_t> Scratch;
  size_t ScratchPerWave;
};
} // namespace

Context::Context(Launch &L, LaneTemps &Temps) : L(L) {
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
  if (!L.Checker)
    return;
  Check = std::make_unique<WorkgroupChecker>(*L.Checker, L.LdsSize);
  for (auto &W : WG.Waves) {
    WaveChecks.push_back(std::make_unique<WaveChecker>(*L.Checker, *Check, *W));
    W->Check = WaveChecks.back().get();
  }
}

void Context::start(uint64_t Number) {
  Turns = 0;
  WG.Id[0] = uint32_t(Number % L.Grid[0]);
  WG.Id[1] = uint32_t(Number / L.Grid[0] % L.Grid[1]);
  WG.Id[2] = uint32_t(Number / L.Grid[0] / L.Grid[1]);
  WG.Alive = WG.NumWaves;
  WG.Signalled = 0;
  WG.Generation = 0;
  fillPoison(WG.Lds, WG.LdsSize);
  if (Check)
    Check->start(WorkgroupMark(Number + 1));
  Random = L.Shuffle * 0x9e3779b97f4a7c15ull + Number;
  for (unsigned K = 0; K < WG.NumWaves; ++K)
    startWave(K);
}

/// Sets the registers that the kernel descriptor asks for.
void Context::startWave(unsigned Index) {
  Wave &W = *WG.Waves[Index];
  const Kernel &K = *L.TheKernel;
  const unsigned N = W.N;
  for (uint32_t &S : W.S)
    S = Poison;
  fillPoison(W.V, size_t(std::min(K.VgprCount, 256u)) * N * 4);
  fillPoison(W.row(RowAGPR0), size_t(std::min(K.AgprCount, 256u)) * N * 4);
  if (L.ScratchSize)
    fillPoison(W.Scratch, ScratchPerWave);
  W.Status = WaveStatus::Running;
  W.PC = L.Code->at(K.Entry);
  W.BarrierGeneration = 0;
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
  W.setScalar64(SlotFlatScratch, reinterpret_cast<uint64_t>(W.Scratch));

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
  // System SGPRs start behind the number of user SGPRs the descriptor states.
  S = std::max(S, K.Rsrc2 >> 1 & 0x1f);
  if (L.Chip->Generation >= 12) {
    W.S[SlotTTMP0 + 9] = WG.Id[0];
    W.S[SlotTTMP0 + 7] = (WG.Id[1] & 0xffff) | WG.Id[2] << 16;
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
  if (W.Check)
    W.Check->start(S, L.Chip->PackedWorkItemIds ? 1 : Dimensions + 1);

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

void Context::reportExecuted(const Wave &W, const Inst *At) {
  const uint64_t Total = L.Executed.fetch_add(Unreported) + Unreported;
  Unreported = 0;
  const uint64_t Begun =
      std::min(L.NextWorkgroup.load(), L.NumWorkgroups) * L.WavesPerWorkgroup;
  const uint64_t Most = L.Limit.after(Begun);
  if (Total <= Most)
    return;
  std::string Text = std::string(L.Chip->Chip) + ": kernel '" +
                     L.TheKernel->Name + "' was stopped after " +
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
    Text += " is at " + L.Object->symbolize(At->Address);
  else if (W.Status == WaveStatus::AtBarrier)
    Text += " waits at a barrier before " + L.Object->symbolize(W.PC->Address);
  else
    Text += " has ended";
  L.fail(LaunchFailure::TimeOut, Text);
}

template <bool Checked> void Context::runWave(Wave &W) {
  const Inst *I = W.PC;
  uint64_t Left = L.Shuffle ? 1 + nextRandom(Random) % 256 : Slice;
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
      if (Checked) {
        const Effects &E = L.Checker->TheEffects.of(I);
        const Inst *This = I;
        if (!W.Check->before(I, E)) {
          I = nullptr;
          break;
        }
        I = I->Run(W, I);
        if (W.Status == WaveStatus::Running)
          W.Check->after(E, This);
        else if (W.Status == WaveStatus::Ended)
          W.Check->ended(This);
      } else {
        I = I->Run(W, I);
      }
    }
    Left -= Steps;
    Unreported += Instructions;
    if (Unreported >= ReportedTogether)
      reportExecuted(W, I);
    if (L.stopped())
      break;
  }
  if (I)
    W.PC = I; // The slice is over; otherwise the instruction has set it.
}

bool Context::turn() {
  ++Turns;
  bool Ran = false;
  const unsigned Count = WG.NumWaves;
  const uint64_t R = L.Shuffle ? nextRandom(Random) : 0;
  const bool Backward = R >> 32 & 1;
  for (unsigned K = 0; K < Count; ++K) {
    unsigned Place = unsigned((K + R % Count) % Count);
    Wave &W = *WG.Waves[Backward ? Count - 1 - Place : Place];
    if (W.Status == WaveStatus::AtBarrier &&
        int(WG.Generation - W.BarrierGeneration) >= 0)
      W.Status = WaveStatus::Running;
    if (W.Status != WaveStatus::Running)
      continue;
    Ran = true;
    if (W.Check)
      runWave<true>(W);
    else
      runWave<false>(W);
    if (L.stopped())
      return false;
    if (W.Status == WaveStatus::Ended) {
      --WG.Alive;
      if (!WG.Alive)
        reportExecuted(W, nullptr);
      // The others need not wait for a wave that has ended.
      if (WG.Alive && WG.Signalled == WG.Alive) {
        WG.Signalled = 0;
        ++WG.Generation;
      }
    }
  }
  if (!Ran && WG.Alive) {
    L.fail(LaunchFailure::BadInstruction,
           std::string(L.Chip->Chip) + ": kernel '" + L.TheKernel->Name +
               "', workgroup (" + std::to_string(WG.Id[0]) + ", " +
               std::to_string(WG.Id[1]) + ", " + std::to_string(WG.Id[2]) +
               "): all waves wait at a barrier that cannot complete");
    return false;
  }
  return true;
}

void Context::collect(lnbwd_sim_counters &C, CheckCounts &Checked) {
  for (auto &W : WaveChecks) {
    Checked.add(W->Counts);
    W->Counts = CheckCounts();
  }
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

/// What one host thread does.
static void work(Launch &L, size_t MostResident) {
  auto Temps = std::make_unique<LaneTemps>();
  std::vector<std::unique_ptr<Context>> Active, Idle;
  lnbwd_sim_counters Counters = {};
  CheckCounts Checked;
  auto StartOne = [&] {
    if (L.NextWorkgroup.load() >= L.NumWorkgroups)
      return false;
    if (Idle.empty())
      Idle.push_back(std::make_unique<Context>(L, *Temps));
    // Beside others it can wait for one of them to end.
    if (Idle.back()->failed()) {
      Idle.pop_back();
      if (Active.empty())
        L.fail(LaunchFailure::OutOfMemory,
               std::string(L.Chip->Chip) + ": kernel '" + L.TheKernel->Name +
                   "': the host has no memory for the registers, LDS and "
                   "scratch of a workgroup");
      return false;
    }
    uint64_t Number = L.NextWorkgroup.fetch_add(1);
    if (Number >= L.NumWorkgroups)
      return false;
    // Any number without a common divisor leads to every workgroup once.
    if (L.Shuffle)
      Number = (Number * L.ShuffleStep + L.Shuffle) % L.NumWorkgroups;
    Active.push_back(std::move(Idle.back()));
    Idle.pop_back();
    Active.back()->start(Number);
    return true;
  };
  while (!L.Stop.load(std::memory_order_relaxed)) {
    if (Active.empty() && !StartOne())
      break;
    bool Patient = true;
    for (size_t K = 0; K < Active.size();) {
      if (!Active[K]->turn())
        break;
      Patient &= Active[K]->Turns < PatientTurns;
      if (Active[K]->done()) {
        Active[K]->collect(Counters, Checked);
        Idle.push_back(std::move(Active[K]));
        Active.erase(Active.begin() + ptrdiff_t(K));
        Patient = true;
      } else {
        ++K;
      }
    }
    if (!Patient && Active.size() < MostResident)
      StartOne();
  }
  for (auto &C : Active)
    C->collect(Counters, Checked);
  std::lock_guard<std::mutex> Guard(L.Lock);
  add(L.Counters, Counters);
  L.CheckedCounts.add(Checked);
}

/// The same, for a thread that an exception must not leave.
static void workOrFail(Launch &L, size_t MostResident) {
  try {
    work(L, MostResident);
  } catch (const std::bad_alloc &) {
    L.fail(LaunchFailure::OutOfMemory, std::string(L.Chip->Chip) +
                                           ": kernel '" + L.TheKernel->Name +
                                           "': the host's memory does not "
                                           "suffice for the launch");
  }
}

unsigned lnbwd::sim::hostThreads() {
  if (const char *Text = std::getenv("LNBWD_SIM_THREADS")) {
    int Number = std::atoi(Text);
    if (Number > 0)
      return unsigned(std::min(Number, 256));
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

std::string InstructionLimit::fromEnvironment(InstructionLimit &Limit) {
  const char *Text = std::getenv("LNBWD_SIM_MAX_INSTRUCTIONS");
  if (!Text)
    return "";
  uint64_t Number;
  if (llvm::StringRef(Text).getAsInteger(10, Number))
    return "LNBWD_SIM_MAX_INSTRUCTIONS: expected a number of instructions, or "
           "0 for no limit, got '" +
           std::string(Text) + "'";
  Limit = Number ? of(Number) : none();
  return "";
}

bool Launch::stopped() {
  if (interrupts() != InterruptsBefore)
    fail(LaunchFailure::Interrupted, std::string(Chip->Chip) + ": kernel '" +
                                         TheKernel->Name +
                                         "' was stopped by SIGINT");
  return Stop.load(std::memory_order_relaxed);
}

void Launch::fail(LaunchFailure Kind, const std::string &Text) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (Failure == LaunchFailure::None) {
    Failure = Kind;
    Error = Text;
  }
  Stop.store(true);
}

void Launch::sortRegions() {
  std::sort(Regions.begin(), Regions.end(),
            [](const Region &A, const Region &B) { return A.Begin < B.Begin; });
  for (size_t K = 0; K < Regions.size(); ++K)
    Regions[K].Index = uint32_t(K);
}

void Launch::addCounters(lnbwd_sim_counters &Totals) const {
  add(Totals, Counters);
}

void Launch::addCounts(NamedCounts &Totals) const {
  Totals.Total.add(CheckedCounts);
  Totals.Total.Buffers.clear();
  for (size_t K = 0; K < CheckedCounts.Buffers.size(); ++K) {
    if (!CheckedCounts.Buffers[K].Accesses)
      continue;
    const Region &R = Regions[K];
    char Name[32];
    std::snprintf(Name, sizeof(Name), "0x%llx", (unsigned long long)R.Begin);
    std::string Text = Name;
    if (R.Shadow && !R.Shadow->Name.empty())
      Text = R.Shadow->Name;
    else if (R.Begin == Kernarg)
      Text = "kernel arguments";
    Totals.Buffers[Text].add(CheckedCounts.Buffers[K]);
  }
}

static uint64_t commonDivisor(uint64_t A, uint64_t B) {
  while (B) {
    uint64_t C = A % B;
    A = B;
    B = C;
  }
  return A;
}

bool Launch::run() {
  const Kernel &K = *TheKernel;
  Chip = &Object->chip();
  WaveSize = K.WaveSize;
  Code = &Object->program(WaveSize);
  NumWorkgroups = uint64_t(Grid[0]) * Grid[1] * Grid[2];
  uint32_t Items = Block[0] * Block[1] * Block[2];
  WavesPerWorkgroup = (Items + WaveSize - 1) / WaveSize;
  ScratchSize = (K.ScratchSize + 3) & ~3u;
  // How deep calls go is not known to the compiler then.
  if (K.DynamicStack)
    ScratchSize += 16384;
  if (!NumWorkgroups)
    return true;
  if (!Code->at(K.Entry)) {
    fail(LaunchFailure::BadInstruction, std::string(Chip->Chip) + ": kernel '" +
                                            K.Name +
                                            "' has no instruction at its "
                                            "entry");
    return false;
  }
  // Of other launches too: whoever interrupts the process means all of them.
  const InterruptScope Interruptible;
  InterruptsBefore = interrupts();
  if (Checks)
    Checker = std::make_unique<LaunchChecker>(*this, Code->effects(), Checks);
  if (Shuffle) {
    // Small enough that the product with a workgroup's number does not wrap.
    Shuffle = Shuffle % 0x7fffffff + 1;
    ShuffleStep = Shuffle;
    while (commonDivisor(ShuffleStep, NumWorkgroups) != 1)
      ++ShuffleStep;
  }
  unsigned Threads = unsigned(std::min<uint64_t>(hostThreads(), NumWorkgroups));
  unsigned PerCU = std::max(1u, Chip->SimdsPerCU * Chip->MaxWavesPerSimd /
                                    WavesPerWorkgroup);
  size_t MostResident =
      std::max<size_t>(1, size_t(Chip->ComputeUnits) * PerCU / Threads);
  std::vector<std::thread> Pool;
  for (unsigned T = 1; T < Threads; ++T)
    Pool.emplace_back(
        [this, MostResident] { workOrFail(*this, MostResident); });
  workOrFail(*this, MostResident);
  for (std::thread &T : Pool)
    T.join();
  return Failure == LaunchFailure::None;
}
