//===- ControlOps.cpp - Branches, barriers, registers, scalar memory ------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions that change where a wave continues, and scalar loads. Waits,
// cache control and scheduling hints do nothing: memory is always up to date
// here.
//
//===----------------------------------------------------------------------===//

#include "Core/Launch.h"
#include "Execute/ScalarOps.h"
#include "SimulatedChip.h"

#include <cstdio>

using namespace lnbwd::sim;

static const Inst *nothing(Wave &, const Inst *I) { return I + 1; }

static const Inst *endProgram(Wave &W, const Inst *I) {
  W.Status = WaveStatus::Ended;
  W.PC = nullptr;
  return nullptr;
}

static const Inst *codeEnd(Wave &W, const Inst *I) {
  return fault(W, I, -1, "the program ran past its end");
}

static const Inst *trap(Wave &W, const Inst *I) {
  return faultTrap(W, I, unsigned(I->Imm & 0xff));
}

static const Inst *halt(Wave &W, const Inst *I) {
  if (!(I->Imm & 1))
    return I + 1;
  return fault(W, I, -1, "the kernel halted itself with s_sethalt");
}

#define BRANCH_IF(CONDITION)                                                   \
  [](Wave &W, const Inst *I) -> const Inst * {                                 \
    (void)W;                                                                   \
    if (!(CONDITION))                                                          \
      return I + 1;                                                            \
    if (!I->Target)                                                            \
      return fault(W, I, -1, "the branch leads out of the program");           \
    return I->Target;                                                          \
  }

static const Inst *jump(Wave &W, const Inst *I, uint64_t Address) {
  if (const Inst *Next = instructionAt(W, Address))
    return Next;
  char Text[96];
  std::snprintf(Text, sizeof(Text),
                "the jump to 0x%llx does not lead to an instruction of the "
                "code object",
                (unsigned long long)Address);
  return fault(W, I, -1, Text);
}

static const Inst *getPC(Wave &W, const Inst *I) {
  W.setScalar64(I->Dst.Reg, I->Address + I->Size);
  return I + 1;
}
static const Inst *setPC(Wave &W, const Inst *I) {
  return jump(W, I, scalar64(W, I->Src[0]));
}
static const Inst *swapPC(Wave &W, const Inst *I) {
  uint64_t To = scalar64(W, I->Src[0]);
  W.setScalar64(I->Dst.Reg, I->Address + I->Size);
  return jump(W, I, To);
}
static const Inst *call(Wave &W, const Inst *I) {
  W.setScalar64(I->Dst.Reg, I->Address + I->Size);
  return jump(W, I, I->Address + 4 + uint64_t(int64_t(int16_t(I->Imm)) * 4));
}

/// The wave reaches the workgroup's barrier. False: the wave has been stopped.
static bool signal(Wave &W, const Inst *I) {
  Workgroup &WG = *W.WG;
  ++W.Count.Barriers;
  // It would count for a wave that has not come.
  if (W.BarrierGeneration == WG.Generation + 1) {
    fault(W, I, -1,
          "the wave signals the barrier again before that is complete; "
          "expected s_barrier_wait between the two");
    return false;
  }
  W.BarrierGeneration = WG.Generation + 1;
  if (++WG.Signalled == WG.Alive) {
    WG.Signalled = 0;
    ++WG.Generation;
  }
  return true;
}
static const Inst *waitForBarrier(Wave &W, const Inst *I) {
  if (W.BarrierGeneration == W.WG->Generation) {
    --W.BarrierGeneration; // It has been waited for.
    return I + 1;
  }
  W.PC = I + 1;
  W.Status = WaveStatus::AtBarrier;
  return nullptr;
}
static const Inst *barrier(Wave &W, const Inst *I) {
  return signal(W, I) ? waitForBarrier(W, I) : nullptr;
}

/// The workgroup reaches the cluster's barrier; one of its waves says so. Where
/// there are no clusters it is alone. False: the wave has been stopped.
static bool signalCluster(Wave &W, const Inst *I) {
  const Workgroup &WG = *W.WG;
  if (!WG.Of)
    return true;
  Cluster &C = *WG.Of;
  ++W.Count.Barriers;
  if (C.Signalled >> WG.Rank & 1) {
    fault(W, I, -1,
          "the workgroup signals the cluster's barrier again before that is "
          "complete; expected a signal of one wave of each workgroup");
    return false;
  }
  C.Signalled |= 1u << WG.Rank;
  if (C.Signalled + 1 != 1u << C.Members.size())
    return true;
  C.Signalled = 0;
  ++C.Generation;
  for (const Workgroup *Other : C.Members)
    if (Other)
      for (const std::unique_ptr<Wave> &Each : Other->Waves)
        Each->ClusterComplete = true;
  return true;
}
static const Inst *waitForCluster(Wave &W, const Inst *I) {
  if (!W.WG->Of || W.ClusterComplete) {
    W.ClusterComplete = false;
    return I + 1;
  }
  W.PC = I + 1;
  W.Status = WaveStatus::AtClusterBarrier;
  return nullptr;
}

/// A named barrier, after which its members that it says are set. Null: the
/// wave has been stopped.
static NamedBarrier *namedBarrier(Wave &W, const Inst *I) {
  unsigned Members = 0;
  const int Number = barrierNumber(W, I, &Members);
  // The descriptor allocates them by fours.
  const unsigned Most = isCdna5(W) ? (W.L->TheKernel->Rsrc3 >> 14 & 7) * 4 : 0;
  if (Number < 1 || unsigned(Number) > Most ||
      unsigned(Number) > Workgroup::MostNamed) {
    char Text[96];
    std::snprintf(Text, sizeof(Text),
                  "barrier %d is not modelled: expected -1, or one of the %u "
                  "named ones of the kernel descriptor",
                  Number, Most);
    fault(W, I, -1, Text);
    return nullptr;
  }
  NamedBarrier &B = W.WG->Named[Number];
  if (Members)
    B.Members = Members;
  return &B;
}
/// Completes the barrier if all its members have signalled it.
static void completeNamed(Wave &W, NamedBarrier &B) {
  if (B.Signalled < B.Members)
    return;
  B.Signalled = 0;
  for (const std::unique_ptr<Wave> &Other : W.WG->Waves)
    if (Other->Named && &W.WG->Named[Other->Named] == &B)
      Other->NamedComplete = true;
}
static const Inst *barrierInit(Wave &W, const Inst *I) {
  NamedBarrier *B = namedBarrier(W, I);
  if (!B)
    return nullptr;
  B->Signalled = 0;
  return I + 1;
}
static const Inst *barrierJoin(Wave &W, const Inst *I) {
  const int Number = barrierNumber(W, I);
  if (Number && !namedBarrier(W, I))
    return nullptr;
  W.Named = unsigned(Number);
  W.NamedComplete = false;
  return I + 1;
}
static const Inst *barrierLeave(Wave &W, const Inst *I) {
  W.S[SlotSCC] = 1;
  if (!W.Named)
    return I + 1;
  NamedBarrier &B = W.WG->Named[W.Named];
  W.Named = 0;
  W.NamedComplete = false;
  B.Members -= B.Members != 0;
  W.S[SlotSCC] = B.Members == 0;
  completeNamed(W, B);
  return I + 1;
}
static const Inst *barrierSignal(Wave &W, const Inst *I) {
  const int Number = barrierNumber(W, I);
  if (Number == -1)
    return signal(W, I) ? I + 1 : nullptr;
  if (Number == ClusterBarrier)
    return signalCluster(W, I) ? I + 1 : nullptr;
  NamedBarrier *B = Number ? namedBarrier(W, I) : nullptr;
  if (!Number || !B)
    return Number ? nullptr : I + 1; // 0: none
  ++W.Count.Barriers;
  if (!B->Members)
    return fault(W, I, -1, "the barrier has no members yet");
  ++B->Signalled;
  completeNamed(W, *B);
  return I + 1;
}
static const Inst *barrierSignalFirst(Wave &W, const Inst *I) {
  const int Number = barrierNumber(W, I);
  if (Number == ClusterBarrier)
    return fault(W, I, -1, "a cluster's barrier has no first signal");
  const NamedBarrier *B = Number > 0 ? namedBarrier(W, I) : nullptr;
  if (Number > 0 && !B)
    return nullptr;
  W.S[SlotSCC] = B ? B->Signalled == 0 : !Number || W.WG->Signalled == 0;
  return barrierSignal(W, I);
}
static const Inst *barrierWait(Wave &W, const Inst *I) {
  const int Number = barrierNumber(W, I);
  // Any other number stands for the barrier that the wave has joined.
  if (Number >= 0) {
    if (!W.Named || W.NamedComplete) {
      W.NamedComplete = false;
      return I + 1;
    }
    W.PC = I + 1;
    W.Status = WaveStatus::AtNamedBarrier;
    return nullptr;
  }
  if (Number == ClusterBarrier)
    return waitForCluster(W, I);
  if (Number != -1)
    return namedBarrier(W, I) ? I + 1 : nullptr;
  // The one that is complete, or the one to come.
  if (W.BarrierGeneration - W.WG->Generation <= 1)
    return waitForBarrier(W, I);
  fault(W, I, -1,
        "the wave waits for a barrier that it has not signalled, so that the "
        "barrier cannot complete; expected s_barrier_signal before it");
  return nullptr;
}

namespace {
// Hardware registers. The immediate has the register's number in bits 5:0, the
// field's offset in 10:6 and its size minus one in 15:11.
enum HardwareRegister {
  HwMode = 1,
  HwIdGfx9 = 4,
  HwXccIdGfx940 = 20,
  HwFlatScratchLow = 20,
  HwFlatScratchHigh = 21,
  HwId1 = 23,
  HwId2 = 24,
  HwSchedulingGfx12 = 26,
  HwInstructionBuffer = 28,
  HwShaderCyclesGfx11 = 29,
  HwShaderCyclesHighGfx12 = 30
};
} // namespace

/// Where a wave runs, as a chip with nothing else to do would place it:
/// workgroups go to the dies round-robin, on each to the compute units
/// round-robin, and their waves to the SIMDs round-robin.
namespace {
struct WavePlace {
  unsigned Die, Unit, Simd, Slot;
  explicit WavePlace(const Wave &W) {
    const Launch &L = *W.L;
    const uint32_t *Id = W.WG->Id;
    const uint64_t Number =
        Id[0] + uint64_t(L.Grid[0]) * (Id[1] + uint64_t(L.Grid[1]) * Id[2]);
    const SimulatedChip &C = *L.Chip;
    // The products of gfx942 and gfx950 have eight.
    const unsigned Dies = C.HasL2PerDie ? 8 : 1;
    Die = unsigned(Number % Dies);
    Unit = unsigned(Number / Dies % (C.ComputeUnits / Dies));
    Simd = W.Index % C.SimdsPerCU;
    Slot = W.Index / C.SimdsPerCU;
  }
};
} // namespace

/// The identity of a wave, for those registers that say something of it.
static bool identity(const Wave &W, unsigned Register, uint32_t &X) {
  const unsigned Generation = generationOf(W);
  const WavePlace P(W);
  // Sixteen units make a shader array or engine.
  const unsigned Unit = P.Unit % 16, Engine = P.Unit / 16;
  if (Generation == 9 && Register == HwIdGfx9) {
    X = P.Slot | P.Simd << 4 | Unit << 8 | (Engine & 7) << 13;
    return true;
  }
  // Of gfx942 on, whose dies are accelerators of their own.
  if (Generation == 9 && Register == HwXccIdGfx940 &&
      W.L->Chip->MatrixGeneration >= 3) {
    X = P.Die;
    return true;
  }
  if (Generation > 9 && Register == HwId1) {
    // Two units make a workgroup processor.
    X = P.Slot | P.Simd << 8 | (Unit / 2) << 10 | (Engine & 7) << 18;
    return true;
  }
  X = 0; // the only queue, pipe and process
  return Generation > 9 && Register == HwId2;
}

/// The base of scratch memory, which generation 10 keeps in hardware registers
/// and kernels set first of all; null for another register or chip.
static uint32_t *flatScratch(Wave &W, unsigned Register) {
  const bool IsKept = generationOf(W) == 10 && (Register == HwFlatScratchLow ||
                                                Register == HwFlatScratchHigh);
  return IsKept ? &W.S[SlotFlatScratch + Register - HwFlatScratchLow] : nullptr;
}

/// What every clock reads: instructions, not the host's time, so that a run can
/// be repeated. Those of earlier launches, and so far of the wave's workgroup.
static uint64_t clockOf(const Wave &W) {
  uint64_t Time = W.L->Began;
  for (const std::unique_ptr<Wave> &Other : W.WG->Waves)
    for (unsigned C = 0; C < unsigned(InstClass::Count); ++C)
      Time += Other->Count.Issued[C] + Other->Count.Pending[C];
  return Time;
}

static const Inst *getRegister(Wave &W, const Inst *I) {
  unsigned Field = unsigned(I->Imm) & 0xffff;
  unsigned Offset = Field >> 6 & 31, Size = (Field >> 11) + 1;
  uint32_t X;
  switch (Field & 63) {
  case HwMode:
    X = W.Mode;
    break;
  case HwInstructionBuffer: // whether there is a cluster, and the rank in it
    X = W.WG->Of ? 1u << 6 | W.WG->Rank << 21 : 0;
    break;
  case HwShaderCyclesGfx11:
    X = uint32_t(clockOf(W));
    break;
  case HwShaderCyclesHighGfx12:
    X = uint32_t(clockOf(W) >> 32);
    break;
  default: {
    if (identity(W, Field & 63, X))
      break;
    if (const uint32_t *Scratch = flatScratch(W, Field & 63)) {
      X = *Scratch;
      break;
    }
    char Text[64];
    std::snprintf(Text, sizeof(Text),
                  "reading hardware register %u is not modelled", Field & 63);
    return fault(W, I, -1, Text);
  }
  }
  uint32_t Mask = Size == 32 ? ~0u : (1u << Size) - 1;
  W.S[I->Dst.Reg] = X >> Offset & Mask;
  return I + 1;
}

static const Inst *setField(Wave &W, const Inst *I, uint32_t Value) {
  unsigned Field = unsigned(I->Imm) & 0xffff;
  unsigned Offset = Field >> 6 & 31, Size = (Field >> 11) + 1;
  uint32_t *Scratch = flatScratch(W, Field & 63);
  // How waves are scheduled, and which waits the hardware leaves to the code.
  if ((Field & 63) == HwSchedulingGfx12 && generationOf(W) >= 12)
    return I + 1;
  if ((Field & 63) != HwMode && !Scratch) {
    char Text[64];
    std::snprintf(Text, sizeof(Text),
                  "writing hardware register %u is not modelled", Field & 63);
    return fault(W, I, -1, Text);
  }
  uint32_t Mask = (Size == 32 ? ~0u : (1u << Size) - 1) << Offset;
  if (Scratch)
    *Scratch = (*Scratch & ~Mask) | (Value << Offset & Mask);
  else
    W.updateMode((W.Mode & ~Mask) | (Value << Offset & Mask));
  return I + 1;
}
static const Inst *setRegister(Wave &W, const Inst *I) {
  return setField(W, I, scalar32(W, I->Src[0]));
}
static const Inst *roundMode(Wave &W, const Inst *I) {
  W.updateMode((W.Mode & ~0xfu) | (uint32_t(I->Imm) & 0xf));
  return I + 1;
}
static const Inst *denormMode(Wave &W, const Inst *I) {
  W.updateMode((W.Mode & ~0xf0u) | (uint32_t(I->Imm) & 0xf) << 4);
  return I + 1;
}

/// MODE has the banks in another order than the instruction, which has the
/// result's last.
static const Inst *setBanks(Wave &W, const Inst *I) {
  const uint32_t New = uint32_t(I->Imm) & 0xff;
  W.updateMode((W.Mode & ~0xff000u) | ((New << 2 | New >> 6) & 0xff) << 12);
  return I + 1;
}

// Register indexing of gfx9. The decoder gives the instructions up to
// s_set_gpr_idx_off their own handler, which reads M0.
static const Inst *setIndexOn(Wave &W, const Inst *I) {
  W.S[SlotM0] = (W.S[SlotM0] & 0xffff0f00) | (scalar32(W, I->Src[0]) & 0xff) |
                (uint32_t(I->Imm) & 0xf) << 12;
  return I + 1;
}
static const Inst *setIndex(Wave &W, const Inst *I) {
  W.S[SlotM0] = (W.S[SlotM0] & ~0xffu) | (scalar32(W, I->Src[0]) & 0xff);
  return I + 1;
}

// Scalar registers at a distance of M0.
template <unsigned Dwords, bool Source>
static const Inst *scalarMoveRelative(Wave &W, const Inst *I) {
  uint64_t From = I->Src[0].Reg, To = I->Dst.Reg;
  (Source ? From : To) += W.S[SlotM0];
  if (From + Dwords > SlotVCC || To + Dwords > SlotVCC ||
      I->Src[0].Kind != OperandKind::SGPR)
    return fault(W, I, -1, "M0 leads to a scalar register that does not exist");
  uint64_t X = Dwords == 2 ? W.scalar64(unsigned(From)) : W.S[From];
  if (Dwords == 2)
    W.setScalar64(unsigned(To), X);
  else
    W.S[To] = uint32_t(X);
  return I + 1;
}

static const Inst *memoryTime(Wave &W, const Inst *I) {
  W.setScalar64(I->Dst.Reg, clockOf(W));
  return I + 1;
}

/// Messages that are answered. The number is the source operand's code.
static const Inst *messageAnswered(Wave &W, const Inst *I) {
  constexpr unsigned GetRealTime = 0x83;
  const unsigned Message = I->Encoding & 0xff;
  if (Message != GetRealTime) {
    char Text[64];
    std::snprintf(Text, sizeof(Text),
                  "the answer to message 0x%x is not modelled", Message);
    return fault(W, I, -1, Text);
  }
  if (I->Dst.Dwords > 1)
    W.setScalar64(I->Dst.Reg, clockOf(W));
  else
    W.S[I->Dst.Reg] = uint32_t(clockOf(W));
  return I + 1;
}

/// The waves of a barrier, or workgroups, and those of them that have arrived.
/// Of no cluster there is no barrier.
static const Inst *barrierState(Wave &W, const Inst *I) {
  const int Number = barrierNumber(W, I);
  NamedBarrier OfAll = {W.WG->Alive, W.WG->Signalled};
  if (Number == ClusterBarrier) {
    const Cluster *C = W.WG->Of.get();
    if (!C) {
      W.S[I->Dst.Reg] = 0;
      return I + 1;
    }
    OfAll = {unsigned(C->Members.size()),
             unsigned(__builtin_popcount(C->Signalled))};
  }
  const bool IsNamed = Number != -1 && Number != ClusterBarrier;
  const NamedBarrier *B = IsNamed ? namedBarrier(W, I) : &OfAll;
  if (!B)
    return nullptr;
  W.S[I->Dst.Reg] = 1 | (B->Members & 0x7f) << 4 | (B->Signalled & 0x7f) << 16;
  return I + 1;
}

static const Inst *setKill(Wave &W, const Inst *I) {
  return I->Imm & 1 ? endProgram(W, I) : I + 1;
}

const HandlerInfo Table[] = {
#include "ISA/Instructions/Control.def"
};

/// Loads dwords, or one smaller element, into scalar registers.
static const Inst *load(Wave &W, const Inst *I, uint64_t Address,
                        unsigned Bytes, uint64_t Asked) {
  if (!inRegion(W.LastRegion, Address, Bytes)) {
    const Region *R = findRegion(W, Address, Bytes);
    if (!R)
      return faultAddress(W, I, -1, Address, Bytes, false);
    W.LastRegion = *R;
  }
  if (W.Observer && !W.Observer->scalarLoad(I, Address, Bytes, Asked))
    return nullptr;
  W.Count.GlobalRead += Bytes;
  const void *P = reinterpret_cast<const void *>(Address);
  if (I->ElementBytes == 4) {
    std::memcpy(&W.S[I->Dst.Reg], P, Bytes);
    return I + 1;
  }
  uint32_t X = 0;
  std::memcpy(&X, P, I->ElementBytes);
  if (I->Flags & FlagSigned)
    X = I->ElementBytes == 1 ? uint32_t(int32_t(int8_t(X)))
                             : uint32_t(int32_t(int16_t(X)));
  W.S[I->Dst.Reg] = X;
  return I + 1;
}

TableRef<HandlerInfo> lnbwd::sim::controlOps() { return Table; }

const Inst *lnbwd::sim::scalarLoad(Wave &W, const Inst *I) {
  uint64_t Address = W.scalar64(I->Src[0].Reg) + uint64_t(I->Imm);
  const unsigned Bytes = unsigned(I->ElementBytes) * I->Elements;
  if (I->Src[1].Kind == OperandKind::SGPR)
    Address +=
        uint64_t(W.S[I->Src[1].Reg]) * (I->Flags & FlagScaleOffset ? Bytes : 1);
  const uint64_t Asked = Address;
  if (I->ElementBytes == 4)
    Address &= ~3ull;
  return load(W, I, Address, Bytes, Asked);
}

const Inst *lnbwd::sim::scalarBufferLoad(Wave &W, const Inst *I) {
  const uint32_t *D = &W.S[I->Src[0].Reg];
  uint64_t Base = D[0] | uint64_t(D[1] & 0xffff) << 32;
  uint32_t Stride = D[1] >> 16 & 0x3fff;
  uint64_t Limit = uint64_t(D[2]) * (Stride ? Stride : 1);
  if (isCdna5(W)) {
    const WideBuffer B(D);
    if (!B.IsPlain)
      return fault(W, I, -1, "a buffer with a stride is not modelled here");
    Base = B.Base;
    Limit = B.Records;
  }
  uint64_t Offset = uint64_t(I->Imm);
  if (I->Src[1].Kind == OperandKind::SGPR)
    Offset += W.S[I->Src[1].Reg];
  unsigned Bytes = unsigned(I->ElementBytes) * I->Elements;
  const uint64_t Asked = Base + Offset;
  if (I->ElementBytes == 4)
    Offset &= ~3ull;
  if (Offset + Bytes > Limit) {
    if (Offset < Limit)
      return fault(W, I, -1,
                   "a scalar buffer load that is partly out of range is not "
                   "modelled");
    for (unsigned K = 0; K < I->Elements; ++K)
      W.S[I->Dst.Reg + K] = 0;
    return I + 1;
  }
  return load(W, I, Base + Offset, Bytes, Asked);
}
