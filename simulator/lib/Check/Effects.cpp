//===- Effects.cpp - What an instruction does -----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector ALU instructions follow from the table that executes them. Of the
// others, LLVM's description says what is read and written beside the operands
// (SCC, VCC, M0, EXEC, the old destination) and what branches. What kind of
// instruction it is, and how definedness goes through it, is in its record.
// Cache bits and the fields of s_waitcnt have other meanings in each family.
//
//===----------------------------------------------------------------------===//

#include "Check/Effects.h"

#include "Core/Instruction.h"
#include "Core/MatrixShape.h"

#include "lnbwd/ISA/FactTable.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <bitset>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

using namespace lnbwd;
using namespace lnbwd::sim;
using llvm::ArrayRef;

CacheModel::CacheModel(const SimulatedChip &Chip, bool WorkgroupProcessors)
    : SharedNear(Chip.Generation == 9 || !WorkgroupProcessors),
      KeepsStores(Chip.HasL2PerDie), HasNear(Chip.Generation >= 10),
      MarksStores(Chip.HasL2PerDie || Chip.Generation >= 12),
      MarksAtomics(Chip.Generation >= 12) {}

CacheUse lnbwd::sim::cacheUse(const Inst &I, const SimulatedChip &Chip) {
  const isa::InstructionFacts &Facts = I.Record->Facts;
  auto Has = [&](unsigned Bit) { return (I.CachePolicy & Bit) != 0; };
  // Of gfx12, from the narrowest on: a compute unit, an engine, the device,
  // all.
  const unsigned Scope =
      Chip.Generation >= 12 ? I.CachePolicy >> PolicyScopeShift & 3 : 0;
  CacheUse Use;
  switch (Facts.Cache) {
  case isa::CacheControl::DropMarked:
    if (!Has(PolicySc1))
      return Use;
    [[fallthrough]];
  case isa::CacheControl::Drop:
    Use.DropsNear = Use.DropsFar = true;
    return Use;
  case isa::CacheControl::DropScalar:
    Use.DropsScalar = true;
    return Use;
  case isa::CacheControl::DropNear:
    Use.DropsNear = true;
    return Use;
  case isa::CacheControl::DropFar:
    Use.DropsFar = true;
    return Use;
  case isa::CacheControl::WriteScope:
    Use.WritesBack = Chip.HasL2PerDie && Scope >= 2;
    return Use;
  case isa::CacheControl::DropScope:
    Use.WritesBack =
        Chip.HasL2PerDie && Scope >= 2 && (Facts.Flags & isa::FactCacheWrite);
    Use.DropsNear = Scope >= 1;
    Use.DropsFar = Scope >= 2;
    return Use;
  case isa::CacheControl::WriteBack:
    Use.WritesBack = Has(PolicySc1);
    return Use;
  case isa::CacheControl::None:
    break;
  }
  if (Chip.Generation >= 12) {
    // Atomics are executed in the L2, whatever their scope. Where LLVM makes
    // one of an atomic of the source, the scope shows how far that orders; in
    // those of intrinsics, which have no order, it shows nothing.
    const bool IsOfIntrinsic = Facts.Memory.Descriptor &&
                               Facts.Memory.Access == isa::MemoryAccess::Atomic;
    Use.PassesNear = Scope >= 1 || IsOfIntrinsic;
    Use.PassesFar = Use.Coherent = Scope >= 2 || IsOfIntrinsic;
    Use.WritesThrough = Chip.HasL2PerDie && Use.Coherent;
  } else if (Chip.HasL2PerDie) {
    Use.PassesNear = true;
    Use.PassesFar = Use.Coherent = Use.WritesThrough = Has(PolicySc1);
  } else if (Chip.Generation == 10) {
    Use.PassesNear = Has(PolicyGlc);
    Use.PassesFar = Use.Coherent = Has(PolicyGlc) && Has(PolicyDlc);
  } else {
    Use.PassesNear = Use.PassesFar = Has(PolicyGlc);
    // Both bits: data that is not worth a place in the caches.
    Use.Coherent = Has(PolicyGlc) && !Has(PolicySlc);
  }
  return Use;
}

static const char *fileName() {
  static const char *Name = std::getenv("LNBWD_SIM_COVERAGE");
  return Name;
}

/// The forms in which operands of a type are read; none if all are read alike.
static ArrayRef<const char *> formsOf(OperandType T) {
  static const char *const Mixed[] = {"f32", "f32-constant", "f16-low",
                                      "f16-high", "f16-constant"};
  static const char *const Packed[] = {"register", "constant"};
  switch (T) {
  case OperandType::Mix:
    return Mixed;
  case OperandType::PkF16:
  case OperandType::PkBF16:
  case OperandType::PkI16:
  case OperandType::PkF32:
    return Packed;
  default:
    return {};
  }
}

/// Which of them an operand has.
static const char *formOf(const Inst &I, unsigned K) {
  const ArrayRef<const char *> Forms = formsOf(I.Lane->Src[K]);
  if (Forms.empty())
    return nullptr;
  const bool Constant = I.Src[K].Kind == OperandKind::Constant;
  if (I.Lane->Src[K] != OperandType::Mix)
    return Forms[Constant];
  if (!(I.OpSelHi >> K & 1))
    return Forms[Constant];
  return Forms[Constant ? 4 : 2 + (I.OpSel >> K & 1)];
}

std::unique_ptr<Coverage> Coverage::create(const InstructionTable &P) {
  return fileName() ? std::make_unique<Coverage>(P) : nullptr;
}

/// Appends lines to the file that are not there yet.
static void append(ArrayRef<std::string> Lines) {
  static std::mutex Lock;
  static std::set<std::string> Written;
  std::lock_guard<std::mutex> Guard(Lock);
  std::string New;
  for (const std::string &Line : Lines)
    if (Written.insert(Line).second)
      New += Line + "\n";
  if (New.empty())
    return;
  // By one call, so that no other process writes into the middle of a line.
  std::error_code Error;
  llvm::raw_fd_ostream File(fileName(), Error, llvm::sys::fs::OF_Append);
  File.SetUnbuffered();
  if (!Error)
    File << New;
  File.clear_error();
}

Coverage::Coverage(const InstructionTable &P)
    : P(P), Begin(P.instructions().data()),
      Seen(new std::atomic<bool>[P.instructions().size()] {}) {
  std::vector<std::string> Declared;
  for (llvm::StringRef Name : isa::listedNames())
    Declared.push_back("* " + Name.str() + " declared " +
                       isa::canonicalMnemonic(Name));
  append(Declared);
  for (const Inst &I : P.instructions())
    if (I.Size && !P.problem(&I).empty())
      write(&I, "missing");
}

/// A line has chip, name without the suffix of its encoding, and state; of what
/// is declared, for any chip, the name and the canonical one. Where
/// operands come in forms that are read in different ways, there is a line for
/// each form that the instruction has, and one for each that was executed.
void Coverage::write(const Inst *I, const char *State) {
  // Words that are no instruction at all, padding or data, have no name.
  const std::string &Name = I->Record->Mnemonic;
  if (!I->Size || Name.empty())
    return;
  const std::string Line = std::string(P.chip().Chip) + " " + Name + " ";
  std::vector<std::string> Lines = {Line + State};
  const bool OfPair =
      I->Class == InstClass::Uncounted || I[1].Address == I->Address;
  for (unsigned K = 0; I->Lane && !OfPair && K < I->NumSrc; ++K) {
    for (const char *Form : formsOf(I->Lane->Src[K]))
      Lines.push_back(Line + "has " + Form);
    if (const char *Form = formOf(*I, K))
      Lines.push_back(Line + State + " " + Form);
  }
  append(Lines);
}

// The largest number that the hardware's counter holds; issuing waits then.
unsigned lnbwd::sim::counterMaximum(WaitCounter C, unsigned Generation) {
  if (Generation == 9)
    return C == WaitLds ? 15 : 63;
  return C == WaitScalar ? 31 : 63;
}

WaitLimits lnbwd::sim::waitLimits(const Inst &I, WaitKind Kind,
                                  unsigned Generation) {
  const unsigned X = unsigned(I.Imm) & 0xffff;
  WaitLimits Limits;
  unsigned *Most = Limits.Most;
  switch (Kind) {
  case WaitKind::None:
    break;
  case WaitKind::Combined:
    if (Generation <= 10) {
      Most[WaitLoad] = (X & 15) | (X >> 14 & 3) << 4;
      Most[WaitLds] = X >> 8 & (Generation == 9 ? 15 : 63);
    } else {
      Most[WaitLoad] = X >> 10 & 63;
      Most[WaitLds] = X >> 4 & 63;
    }
    break;
  case WaitKind::Load:
    Most[WaitLoad] = X;
    break;
  case WaitKind::Store:
    Most[WaitStore] = X;
    break;
  case WaitKind::Lds:
    Most[WaitLds] = X;
    break;
  case WaitKind::Scalar:
    Most[WaitScalar] = X;
    break;
  case WaitKind::LoadLds:
    Most[WaitLoad] = X >> 8 & 63;
    Most[WaitLds] = X & 63;
    break;
  case WaitKind::StoreLds:
    Most[WaitStore] = X >> 8 & 63;
    Most[WaitLds] = X & 63;
    break;
  case WaitKind::Async:
    Most[WaitAsync] = X;
    break;
  case WaitKind::Tensor:
    Most[WaitTensor] = X;
    break;
  case WaitKind::Address:
    Limits.MostTranslations = X;
    break;
  case WaitKind::Idle:
    for (unsigned &M : Limits.Most)
      M = 0;
    Limits.MostTranslations = 0;
    break;
  }
  return Limits;
}

WaitCounter lnbwd::sim::memoryCounter(const Effects &E, unsigned Generation) {
  if (E.Tensor || E.Asynchronous)
    return E.Tensor ? WaitTensor : WaitAsync;
  const bool IsLoad = E.Access == MemoryAccess::Load || E.Returns;
  return IsLoad || Generation == 9 ? WaitLoad : WaitStore;
}

namespace {
class Finder {
public:
  Finder(const InstructionTable &P, const Inst &I) : P(P), I(I) {}
  Effects find();

private:
  void vectorRead(unsigned K, unsigned Count) {
    const Operand &O = I.Src[K];
    if (O.Kind == OperandKind::VGPR)
      E.VectorRead[K] = {O.Reg, uint8_t(Count)};
    else if (O.Kind == OperandKind::SGPR)
      E.ScalarRead[K] = {O.Reg, uint8_t(std::min<unsigned>(Count, O.Dwords))};
    else if (O.Kind == OperandKind::Mask)
      E.ScalarRead[K] = {O.Reg, maskDwords()};
  }
  uint8_t maskDwords() const { return P.waveSize() == 64 ? 2 : 1; }
  void scalarWrite(unsigned K, const Operand &O, unsigned Count) {
    if (O.Kind != OperandKind::SGPR || O.Reg >= SlotNull)
      return;
    E.ScalarWrite[K] = {O.Reg, uint8_t(Count)};
    if (O.Reg <= SlotExec + 1 && O.Reg + Count > SlotExec)
      E.WritesExec = true;
  }
  void lane();
  void crossLane();
  void memory();
  void scalar();
  void limits();
  void summary();

  const InstructionTable &P;
  const Inst &I;
  const isa::InstructionFacts &Facts = I.Record->Facts;
  const isa::InstructionDescription &Description = I.Record->Description;
  Effects E;
};
} // namespace

void Finder::lane() {
  const LaneOpInfo &Info = *I.Lane;
  if (I.Inner)
    return; // Registers by index: any may be meant.
  E.How = Facts.How;
  for (unsigned K = 0; K < I.NumSrc; ++K)
    vectorRead(K, std::max<unsigned>(rowsOf(Info.Src[K]), 1));
  if (!(Info.Flags & LaneMaskResult))
    E.VectorWrite[0] = {I.Dst.Reg, uint8_t(rowsOf(Info.Dst))};
  scalarWrite(0, I.Dst2, maskDwords());
  if (Info.Flags & LaneExecResult) {
    E.ScalarWrite[1] = {SlotExec, maskDwords()};
    E.WritesExec = true;
  }
}

void Finder::crossLane() {
  if (Facts.How == Flow::None || I.NumSrc == 0)
    return;
  E.How = Facts.How;
  for (unsigned K = 0; K < I.NumSrc; ++K)
    vectorRead(K, std::max<unsigned>(I.Src[K].Dwords, 1));
  if (E.How == Flow::ReadLane)
    return scalarWrite(0, I.Dst, 1);
  E.VectorWrite[0] = {I.Dst.Reg, std::max<uint8_t>(I.Dst.Dwords, 1)};
  if (Facts.Flags & isa::FactExchanges) {
    E.VectorWrite[1] = E.VectorRead[0];
    E.VectorRead[1] = E.VectorWrite[0];
  }
  E.Scatters = (Facts.Flags & isa::FactScatters) != 0;
  if (I.Matrix && I.Matrix->Scaled)
    E.VectorRead[4] = {I.Matrix->ScaleB.Reg, I.Matrix->ScaleB.Dwords};
}

void Finder::memory() {
  const isa::MemoryFacts &M = Facts.Memory;
  E.NeedsScalars = true;
  E.Space = M.Space;
  E.Access = M.Access;
  if (I.Class == InstClass::ScalarMemory) {
    E.ScalarRead[0] = {I.Src[0].Reg, I.Src[0].Dwords};
    if (I.Src[1].Kind == OperandKind::SGPR)
      E.ScalarRead[1] = {I.Src[1].Reg, 1};
    return scalarWrite(0, I.Dst, std::max(1u, M.bytes() / 4));
  }
  for (unsigned K = 0; K < I.NumSrc && K < 4; ++K)
    vectorRead(K, std::max<unsigned>(I.Src[K].Dwords, 1));
  const bool Load = M.Access == MemoryAccess::Load;
  E.ToLds = Load && (I.Flags & FlagLds);
  E.FromLds = !Load && (I.Flags & FlagLds);
  E.Asynchronous = M.Asynchronous;
  E.Tensor = M.Tensor;
  E.Returns = M.Access == MemoryAccess::Atomic && (I.Flags & FlagReturn);
  E.CompareSwap = M.Access == MemoryAccess::Atomic &&
                  M.Atomic == isa::AtomicOp::CompareSwap;
  E.Swap = M.Access == MemoryAccess::Atomic && M.Atomic == isa::AtomicOp::Swap;
  if ((Load && !E.ToLds) || E.Returns)
    E.VectorWrite[0] = {I.Dst.Reg, std::max<uint8_t>(I.Dst.Dwords, 1)};
  // LDS accesses read it on chips before gfx9, whose descriptions gfx9 shares.
  if ((E.ToLds || M.Multicast) && Description.ReadsM0)
    E.ScalarRead[4] = {SlotM0, 1};
  if (Load && !E.Asynchronous)
    E.VectorRead[1] = {};
}

void Finder::scalar() {
  E.CacheWrite = (Facts.Flags & isa::FactCacheWrite) != 0;
  E.CacheLoad = (Facts.Flags & isa::FactCacheLoad) != 0;
  if (Facts.Class == CountClass::Wait)
    return;
  if (Facts.Class == CountClass::Barrier) {
    E.WritesScc = Description.WritesScc;
    return;
  }
  // Those that are counted like a load, though they access no memory.
  E.Space = Facts.Memory.Space;
  E.Access = Facts.Memory.Access;
  E.BranchOnScc = Description.IsBranch && Description.ReadsScc;
  E.BranchOnVcc = Description.IsBranch && Description.ReadsVcc;
  E.NeedsScalars = Facts.Class == CountClass::Branch;
  for (unsigned K = 0; K < I.NumSrc && K < 4; ++K)
    if (I.Src[K].Kind == OperandKind::SGPR && I.Src[K].Reg < SlotNull)
      E.ScalarRead[K] = {I.Src[K].Reg, I.Src[K].Dwords};
  scalarWrite(0, I.Dst, std::max<unsigned>(I.Dst.Dwords, 1));
  if (Description.ReadsResult || (Facts.Flags & isa::FactKeepsResult))
    E.ScalarRead[4] = E.ScalarWrite[0];
  E.How = Facts.How;
  if (Description.WritesExec) {
    E.ScalarWrite[1] = {SlotExec, I.Dst.Dwords};
    E.WritesExec = true;
  }
  // What its parts mean (the index and what is indexed) is all set at once.
  if (Description.WritesM0) {
    E.ScalarWrite[1] = {SlotM0, 1};
    if (Facts.Flags & isa::FactKeepsM0)
      E.ScalarRead[4] = {SlotM0, 1};
  }
  E.ReadsScc = Description.ReadsScc;
  E.WritesScc = Description.WritesScc;
  E.IndexedDst = (Facts.Flags & isa::FactIndexedResult) != 0;
}

void Finder::limits() {
  auto Vector = [&](RegisterSpan S) {
    if (!S.Count || S.First >= RowTemp0)
      return;
    unsigned End = S.First + S.Count;
    if (S.First >= RowAGPR0 && P.chip().HasAgprs)
      E.MaxAgpr = std::max<uint16_t>(E.MaxAgpr, uint16_t(End - RowAGPR0));
    else
      E.MaxVgpr = std::max<uint16_t>(E.MaxVgpr, uint16_t(End));
  };
  auto Scalar = [&](RegisterSpan S) {
    if (S.Count && S.First < SlotVCC)
      E.MaxSgpr = std::max<uint16_t>(E.MaxSgpr, uint16_t(S.First + S.Count));
  };
  for (RegisterSpan S : E.VectorRead)
    Vector(S);
  for (RegisterSpan S : E.VectorWrite)
    Vector(S);
  for (RegisterSpan S : E.ScalarRead)
    Scalar(S);
  for (RegisterSpan S : E.ScalarWrite)
    Scalar(S);
}

/// What makes the checks of most instructions short.
void Finder::summary() {
  auto Note = [](uint64_t &Used, ArrayRef<RegisterSpan> Spans) {
    for (RegisterSpan S : Spans)
      Used |= bitsOf(S);
  };
  Note(E.VectorsUsed, E.VectorRead);
  Note(E.VectorsUsed, E.VectorWrite);
  Note(E.ScalarsUsed, E.ScalarRead);
  E.ReadsScalars = E.ReadsScc || E.ScalarsUsed;
  uint64_t Written = 0;
  Note(Written, E.ScalarWrite);
  E.WritesScalars = Written != 0;
  for (const RegisterSpan &S : E.ScalarWrite) {
    E.WritesShared |= S.Count && S.First < NumSharedScalars;
    E.WritesUpper |=
        (S.Count > 1 || (S.Count && S.First % 2)) &&
        (I.Class == InstClass::Scalar || I.Class == InstClass::ScalarMemory);
  }
  E.ScalarsUsed |= Written | (E.BranchOnVcc ? bitsOf({SlotVCC, 1}) : 0) |
                   (E.ReadsScc || E.WritesScc ? bitsOf({SlotSCC, 1}) : 0);
  E.IsScalar =
      !E.VectorsUsed && (E.How == Flow::None || E.How == Flow::ScalarAll ||
                         E.How == Flow::ScalarBits);
  if (I.Lane && E.VectorWrite[0].Count)
    E.KeptBits = bitsKept(&I);
  E.IsPlain = (E.How == Flow::Lane || E.How == Flow::Bits) && I.Lane &&
              !I.Conversion && !I.Inner && !(I.Flags & FlagDpp) &&
              !E.KeptBits && !E.WritesScalars && !E.VectorWrite[1].Count;
  for (unsigned K = 0; K < I.NumSrc && E.IsPlain; ++K)
    for (unsigned R = 0; R < E.VectorRead[K].Count && E.IsPlain; ++R) {
      E.IsPlain = E.PlainCount < std::size(E.PlainRows);
      if (E.IsPlain)
        E.PlainRows[E.PlainCount++] = E.VectorRead[K].First + R;
    }
}

Effects Finder::find() {
  E.Counted = Facts.Class;
  E.Waits = Facts.Waits;
  E.Barrier = Facts.Barrier;
  switch (I.Class) {
  case InstClass::Vector:
  case InstClass::Uncounted:
    I.Lane ? lane() : crossLane();
    break;
  case InstClass::LDS:
    I.ElementBytes ? memory() : crossLane();
    break;
  case InstClass::VectorMemory:
  case InstClass::ScalarMemory:
    memory();
    break;
  default:
    scalar();
    break;
  }
  // What cannot be executed is known by its name alone.
  if (E.How == Flow::Matrix && !I.Matrix)
    E.How = Flow::None;
  limits();
  E.Idles = (Facts.Flags & isa::FactNoEffect) != 0;
  summary();
  E.MayNeed = E.BranchOnScc || E.BranchOnVcc || E.NeedsScalars ||
              E.How == Flow::ScalarIndexed || E.Access != MemoryAccess::None;
  E.IsFollowed = E.Access != MemoryAccess::None || I.Class == InstClass::LDS ||
                 E.CacheWrite || E.CacheLoad;
  return E;
}

CodeEffects::CodeEffects(const InstructionTable &P)
    : Begin(P.instructions().data()), Covered(Coverage::create(P)) {
  List.reserve(P.instructions().size());
  std::bitset<NumScalarSlots> Used;
  Used.set(SlotSCC);
  for (const Inst &I : P.instructions()) {
    if (!I.Size) {
      List.emplace_back(); // the end of the code
      continue;
    }
    const Effects E = Finder(P, I).find();
    MaxVgpr = std::max(MaxVgpr, E.MaxVgpr);
    MaxAgpr = std::max(MaxAgpr, E.MaxAgpr);
    MaxSgpr = std::max(MaxSgpr, E.MaxSgpr);
    for (ArrayRef<RegisterSpan> Spans :
         {ArrayRef(E.ScalarRead), ArrayRef(E.ScalarWrite)})
      for (const RegisterSpan &S : Spans)
        for (unsigned K = 0; K < S.Count; ++K)
          Used.set(S.First + K);
    List.push_back(E);
  }
  for (uint16_t Slot = 0; Slot < NumScalarSlots; ++Slot)
    if (Used[Slot])
      ScalarSlots.push_back(Slot);
}

uint32_t lnbwd::sim::accessedBits(const Inst *I, unsigned Generation,
                                  bool IsStore) {
  const bool IsHalf = IsStore ? I->ElementBytes <= 2 : I->Flags & FlagD16;
  if (Generation < 11 || !IsHalf)
    return ~0u;
  return I->Flags & FlagHigh16 ? 0xffff0000u : 0xffffu;
}
