//===- Effects.cpp - What an instruction reads and writes -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector ALU instructions follow from the table that executes them. Of the
// others, LLVM's description says what is read and written beside the operands
// (SCC, VCC, M0, EXEC, the old destination), whether memory is loaded or stored
// and what branches. Names decide what no description has: which kind of
// instruction it is, and how definedness goes through it.
//
//===----------------------------------------------------------------------===//

#include "Check/Effects.h"

#include "Core/Operation.h"
#include "Decode/AsmText.h"
#include "Decode/Mnemonics.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>

using namespace llvm;
using namespace lnbwd::sim;

const char *lnbwd::sim::countClassName(CountClass C) {
  switch (C) {
  case CountClass::VectorAlu:
    return "vector_alu";
  case CountClass::Transcendental:
    return "transcendental";
  case CountClass::Matrix:
    return "matrix";
  case CountClass::CrossLane:
    return "cross_lane";
  case CountClass::ScalarAlu:
    return "scalar_alu";
  case CountClass::Branch:
    return "branch";
  case CountClass::Wait:
    return "wait";
  case CountClass::Barrier:
    return "barrier";
  case CountClass::OtherScalar:
    return "other_scalar";
  case CountClass::ScalarLoad:
    return "scalar_load";
  case CountClass::GlobalLoad:
    return "global_load";
  case CountClass::GlobalStore:
    return "global_store";
  case CountClass::GlobalAtomic:
    return "global_atomic";
  case CountClass::ScratchLoad:
    return "scratch_load";
  case CountClass::ScratchStore:
    return "scratch_store";
  case CountClass::LdsLoad:
    return "lds_load";
  case CountClass::LdsStore:
    return "lds_store";
  case CountClass::LdsAtomic:
    return "lds_atomic";
  case CountClass::Count:
    break;
  }
  return "unknown";
}

static bool startsWithAny(StringRef Name,
                          std::initializer_list<StringRef> Prefixes) {
  return llvm::any_of(Prefixes,
                      [&](StringRef P) { return Name.starts_with(P); });
}

/// Instructions that put bits of several sources side by side. Compilers leave
/// a source undefined where its bits are not wanted.
static bool combinesBits(StringRef Name) {
  return startsWithAny(Name, {"v_perm_b32", "v_and_b32", "v_or_b32",
                              "v_or3_b32", "v_and_or", "v_lshl_or", "v_bfi",
                              "v_alignb", "v_pack", "v_pk_", "v_cvt_pk",
                              "v_bitop3", "v_fma_mix", "v_mad_mix", "v_dot2",
                              "v_cndmask_b16", "v_and_b16", "v_or_b16"});
}

namespace {
class Finder {
public:
  Finder(const Program &P, const Inst &I) : P(P), I(I) {}
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
  void crossLane(StringRef Name);
  void memory(StringRef Name, StringRef Text);
  void scalar(StringRef Name);
  void wait(StringRef Name);
  void limits();

  const Program &P;
  const Inst &I;
  InstDescription Description; ///< not of vector ALU instructions
  Effects E;
};
} // namespace

void Finder::lane() {
  const LaneOpInfo &Info = *I.Lane;
  StringRef Name = Info.Name;
  E.Counted = startsWithAny(Name, {"v_rcp", "v_rsq", "v_sqrt", "v_exp_",
                                   "v_log_", "v_sin", "v_cos"})
                  ? CountClass::Transcendental
                  : CountClass::VectorAlu;
  if (I.Inner)
    return; // Registers by index: any may be meant.
  E.How = Flow::Lane;
  if (combinesBits(Name) || (I.Flags & FlagSdwa))
    E.How = Flow::Pack;
  if (Info.Dst == OperandType::B64 && !Name.contains("shrrev") &&
      !Name.contains("ashr"))
    E.How = Flow::Wide;
  if (Name.starts_with("v_cndmask_b32"))
    E.How = Flow::Select;
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

void Finder::crossLane(StringRef Name) {
  E.Counted = CountClass::CrossLane;
  if (Name.contains("movrel") || I.NumSrc == 0)
    return;
  for (unsigned K = 0; K < I.NumSrc; ++K)
    vectorRead(K, std::max<unsigned>(I.Src[K].Dwords, 1));
  if (Name.starts_with("v_read")) {
    E.How = Flow::ReadLane;
    scalarWrite(0, I.Dst, 1);
    return;
  }
  E.VectorWrite[0] = {I.Dst.Reg, std::max<uint8_t>(I.Dst.Dwords, 1)};
  E.How = Flow::AnyLane;
  if (Name.starts_with("v_writelane"))
    E.How = Flow::WriteLane;
  else if (Name.starts_with("v_mbcnt"))
    E.How = Flow::Lane;
  else if (Name.starts_with("v_swap") || Name.contains("_swap_")) {
    E.How = Name.starts_with("v_swap") ? Flow::Swap : Flow::Moves;
    E.VectorWrite[1] = E.VectorRead[0];
    E.VectorRead[1] = E.VectorWrite[0];
  } else if (startsWithAny(Name, {"v_permlane", "ds_bpermute", "ds_permute",
                                  "ds_swizzle"}) &&
             !I.Inner) {
    E.How = Flow::Moves;
    E.Scatters = Name.starts_with("ds_permute");
  } else if (Name.starts_with("v_mfma") || Name.starts_with("v_smfma") ||
             Name.starts_with("v_wmma") || Name.starts_with("v_swmma")) {
    E.Counted = CountClass::Matrix;
    if (I.Matrix && I.Matrix->Source != MatrixType::I8)
      E.How = Flow::Matrix;
  }
}

void Finder::memory(StringRef Name, StringRef Text) {
  AsmText Asm = AsmText::parse(Text);
  auto Has = [&](StringRef M) { return is_contained(Asm.Modifiers, M); };
  E.NeedsScalars = true;
  if (I.Class == InstClass::ScalarMemory) {
    E.Space = MemorySpace::Scalar;
    E.Access = MemoryAccess::Load;
    E.Counted = CountClass::ScalarLoad;
    E.ScalarRead[0] = {I.Src[0].Reg, I.Src[0].Dwords};
    if (I.Src[1].Kind == OperandKind::SGPR)
      E.ScalarRead[1] = {I.Src[1].Reg, 1};
    scalarWrite(0, I.Dst,
                I.ElementBytes == 4 ? std::max<unsigned>(I.Elements, 1) : 1);
    return;
  }
  for (unsigned K = 0; K < I.NumSrc && K < 4; ++K)
    vectorRead(K, std::max<unsigned>(I.Src[K].Dwords, 1));
  // A load to LDS stores there.
  bool Load =
      Description.MayLoad && (!Description.MayStore || (I.Flags & FlagLds));
  bool Store = Description.MayStore && !Description.MayLoad;
  E.Access = Store  ? MemoryAccess::Store
             : Load ? MemoryAccess::Load
                    : MemoryAccess::Atomic;
  E.ToLds = Load && (I.Flags & FlagLds);
  E.Returns = E.Access == MemoryAccess::Atomic && (I.Flags & FlagReturn);
  E.CompareSwap = Name.contains("_cmpswap");
  if ((Load && !E.ToLds) || E.Returns)
    E.VectorWrite[0] = {I.Dst.Reg, std::max<uint8_t>(I.Dst.Dwords, 1)};
  // LDS accesses read it on chips before gfx9, whose descriptions gfx9 shares.
  if (E.ToLds && Description.ReadsM0)
    E.ScalarRead[4] = {SlotM0, 1};
  if (Load)
    E.VectorRead[1] = {};
  if (Name.starts_with("ds_")) {
    E.Space = MemorySpace::Lds;
    E.Counted = Store  ? CountClass::LdsStore
                : Load ? CountClass::LdsLoad
                       : CountClass::LdsAtomic;
    return;
  }
  E.Space = Name.starts_with("flat_")      ? MemorySpace::Flat
            : Name.starts_with("scratch_") ? MemorySpace::Scratch
                                           : MemorySpace::Global;
  if (E.Space == MemorySpace::Scratch)
    E.Counted = Store ? CountClass::ScratchStore : CountClass::ScratchLoad;
  else
    E.Counted = Store  ? CountClass::GlobalStore
                : Load ? CountClass::GlobalLoad
                       : CountClass::GlobalAtomic;
  E.Coherent = (Has("glc") && !Has("slc")) || Has("sc1") ||
               Has("scope:SCOPE_DEV") || Has("scope:SCOPE_SYS");
}

void Finder::wait(StringRef Name) {
  E.Counted = CountClass::Wait;
  if (Name == "s_waitcnt")
    E.Waits = WaitKind::Combined;
  else if (Name == "s_wait_loadcnt" || Name == "s_waitcnt_vmcnt")
    E.Waits = WaitKind::Load;
  else if (Name == "s_wait_storecnt" || Name == "s_waitcnt_vscnt")
    E.Waits = WaitKind::Store;
  else if (Name == "s_wait_dscnt" || Name == "s_waitcnt_lgkmcnt")
    E.Waits = WaitKind::Lds;
  else if (Name == "s_wait_kmcnt")
    E.Waits = WaitKind::Scalar;
  else if (Name == "s_wait_loadcnt_dscnt")
    E.Waits = WaitKind::LoadLds;
  else if (Name == "s_wait_storecnt_dscnt")
    E.Waits = WaitKind::StoreLds;
  else if (Name == "s_wait_idle")
    E.Waits = WaitKind::Idle;
}

void Finder::scalar(StringRef Name) {
  if (Name.starts_with("s_wait"))
    return wait(Name);
  if (Name.starts_with("buffer_") || Name.starts_with("global_")) {
    // Cache control. Write-backs are counted like stores.
    E.Counted = CountClass::OtherScalar;
    E.CacheWrite =
        Name == "buffer_wbl2" || Name == "global_wb" || Name == "global_wbinv";
    E.CacheLoad = Name == "global_inv";
    return;
  }
  if (Name.starts_with("s_barrier")) {
    E.Counted = CountClass::Barrier;
    E.Barrier = Name == "s_barrier"        ? BarrierKind::Full
                : Name == "s_barrier_wait" ? BarrierKind::Wait
                                           : BarrierKind::Signal;
    E.WritesScc = Description.WritesScc;
    return;
  }
  const bool Jump = Description.IsBranch || Description.IsCall;
  E.Counted = Jump ? CountClass::Branch : CountClass::ScalarAlu;
  E.BranchOnScc = Description.IsBranch && Description.ReadsScc;
  E.BranchOnVcc = Description.IsBranch && Description.ReadsVcc;
  E.NeedsScalars = Jump;
  for (unsigned K = 0; K < I.NumSrc && K < 4; ++K)
    if (I.Src[K].Kind == OperandKind::SGPR && I.Src[K].Reg < SlotNull)
      E.ScalarRead[K] = {I.Src[K].Reg, I.Src[K].Dwords};
  scalarWrite(0, I.Dst, std::max<unsigned>(I.Dst.Dwords, 1));
  // The descriptions of the last two do not say that they keep a part of it.
  if (Description.ReadsResult || Name.starts_with("s_bitset") ||
      Name.starts_with("s_cmov"))
    E.ScalarRead[4] = E.ScalarWrite[0];
  const bool Save = Description.WritesExec;
  if (Save) {
    E.ScalarWrite[1] = {SlotExec, I.Dst.Dwords};
    E.WritesExec = true;
  }
  // What its parts mean (the index and what is indexed) is all set at once.
  if (Description.WritesM0) {
    E.ScalarWrite[1] = {SlotM0, 1};
    if (Name == "s_set_gpr_idx_idx")
      E.ScalarRead[4] = {SlotM0, 1};
  }
  E.ReadsScc = Description.ReadsScc;
  E.WritesScc = Description.WritesScc;
  E.How = Flow::ScalarAll;
  if (Name == "s_mov_b32" || Name == "s_mov_b64" || Name.starts_with("s_not_"))
    E.How = Flow::ScalarCopy;
  else if (!Save && startsWithAny(Name, {"s_and_b", "s_or_b", "s_andn", "s_orn",
                                         "s_nand", "s_nor", "s_pack"}))
    E.How = Flow::ScalarBits;
  else if (Name.starts_with("s_cselect"))
    E.How = Flow::ScalarSelect;
  else if (Name.starts_with("s_movrel")) {
    E.How = Flow::ScalarIndexed;
    E.IndexedDst = Name.starts_with("s_movreld");
  }
  if (Name == "s_memtime" || Name == "s_memrealtime") {
    // Counted like a scalar load.
    E.Space = MemorySpace::Scalar;
    E.Access = MemoryAccess::Load;
  }
  if (!startsWithAny(Name, {"s_nop", "s_sleep", "s_clause", "s_delay_alu",
                            "s_setprio", "s_sendmsg", "s_endpgm", "s_getreg",
                            "s_setreg", "s_icache", "s_dcache", "s_gl1",
                            "s_prefetch", "s_set_inst", "s_inst_prefetch"}))
    return;
  E.Counted = CountClass::OtherScalar;
}

void Finder::limits() {
  auto Vector = [&](RegisterSpan S) {
    if (!S.Count || S.First >= RowTemp0)
      return;
    unsigned End = S.First + S.Count;
    if (S.First >= RowAGPR0)
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

Effects Finder::find() {
  if (I.Lane) {
    lane();
  } else {
    std::string Text = P.text(&I);
    Description = P.description(&I);
    StringRef First = StringRef(Text).take_until(
        [](char C) { return C == ' ' || C == '\t'; });
    std::string Name = canonicalMnemonic(First);
    switch (I.Class) {
    case InstClass::Vector:
      crossLane(Name);
      break;
    case InstClass::LDS:
      if (I.ElementBytes)
        memory(Name, Text);
      else
        crossLane(Name);
      break;
    case InstClass::VectorMemory:
    case InstClass::ScalarMemory:
      memory(Name, Text);
      break;
    default:
      scalar(Name);
      break;
    }
  }
  limits();
  return E;
}

ProgramEffects::ProgramEffects(const Program &P)
    : Begin(P.instructions().data()), Covered(Coverage::create(P)) {
  List.reserve(P.instructions().size());
  for (const Inst &I : P.instructions()) {
    if (!I.Size) {
      List.emplace_back(); // the end of the code
      continue;
    }
    List.push_back(Finder(P, I).find());
    const Effects &E = List.back();
    bool Writes =
        E.Access == MemoryAccess::Store || E.Access == MemoryAccess::Atomic;
    unsigned Log = I.ElementBytes == 1 ? 0 : I.ElementBytes == 2 ? 1 : 2;
    if (Writes &&
        (E.Space == MemorySpace::Global || E.Space == MemorySpace::Flat))
      GlobalGranule = std::min(GlobalGranule, Log);
    if (Writes && (E.Space == MemorySpace::Lds || E.Space == MemorySpace::Flat))
      LdsGranule = std::min(LdsGranule, Log);
    if (E.Space == MemorySpace::Global || E.Space == MemorySpace::Flat)
      Synchronises |=
          E.Returns || (E.Coherent && E.Access == MemoryAccess::Load);
  }
}

const ProgramEffects &ProgramEffects::of(const Program &P) {
  // Nobody else makes notes.
  return static_cast<const ProgramEffects &>(
      P.notes([&] { return std::make_unique<ProgramEffects>(P); }));
}
