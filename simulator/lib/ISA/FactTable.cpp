//===- FactTable.cpp - The table of instructions --------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a name says of an instruction. Most follow from their family: vector ALU
// instructions do the same in each lane, scalar ones need all their sources.
// Those that do not are listed by name, once, with all that is different about
// them. What only a check, the clock or a decoder asks for is a trait, in a
// table of its own after these.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/ISA/FactTable.h"

#include "MemoryNames.h"

#include "lnbwd/ISA/Mnemonics.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cassert>
#include <string>

using namespace llvm;
using namespace lnbwd::isa;

static InstructionFacts facts(Unit Where, CountClass Class, Flow How,
                              unsigned Flags = 0,
                              OperandForm Form = OperandForm::Listed) {
  InstructionFacts F;
  F.Where = Where;
  F.Class = Class;
  F.How = How;
  F.Flags = Flags;
  F.Form = Form;
  return F;
}
static InstructionFacts vector(CountClass Class, Flow How, unsigned Flags = 0) {
  return facts(Unit::Vector, Class, How, Flags);
}
static InstructionFacts lds(Flow How, unsigned Flags = 0) {
  return facts(Unit::Lds, CountClass::CrossLane, How, Flags);
}
static InstructionFacts scalar(Flow How, unsigned Flags = 0,
                               OperandForm Form = OperandForm::Listed) {
  return facts(Unit::Scalar, CountClass::ScalarAlu, How, Flags, Form);
}
static InstructionFacts otherScalar(unsigned Flags,
                                    OperandForm Form = OperandForm::Ignored) {
  return facts(Unit::Scalar, CountClass::OtherScalar, Flow::ScalarAll, Flags,
               Form);
}
static InstructionFacts barrier(BarrierKind Kind, OperandForm Form) {
  InstructionFacts F =
      facts(Unit::Scalar, CountClass::Barrier, Flow::None, 0, Form);
  F.Barrier = Kind;
  return F;
}
static InstructionFacts wait(WaitKind Kind) {
  InstructionFacts F = facts(Unit::Scalar, CountClass::Wait, Flow::None, 0,
                             OperandForm::Ignored);
  F.Waits = Kind;
  return F;
}
static InstructionFacts answered(OperandForm Form) {
  InstructionFacts F = scalar(Flow::ScalarAll, 0, Form);
  F.Memory.Space = MemorySpace::Scalar;
  F.Memory.Access = MemoryAccess::Load;
  return F;
}

namespace {
struct Entry {
  InstructionFacts Facts;
  const char *Names; ///< separated by spaces
};
} // namespace

/// Instructions by name.
static ArrayRef<Entry> entries() {
  static const Entry Table[] = {
      // One result of a slower unit.
      {vector(CountClass::Transcendental, Flow::Lane),
       "v_rcp_f32 v_rcp_iflag_f32 v_rsq_f32 v_sqrt_f32 v_exp_f32 "
       "v_log_f32 v_sin_f32 v_cos_f32 v_rcp_f64 v_rsq_f64 v_sqrt_f64 "
       "v_rcp_f16 v_rsq_f16 v_sqrt_f16 v_exp_f16 v_log_f16 v_sin_f16 "
       "v_cos_f16"},
      // Bits of the sources moved, combined and put beside each other: a bit of
      // the result depends on few of theirs.
      {vector(CountClass::VectorAlu, Flow::Bits, FactCopies),
       "v_mov_b32 v_mov_b16 v_mov_b64 v_pk_mov_b32 v_accvgpr_read_b32 "
       "v_accvgpr_write_b32 v_accvgpr_mov_b32 v_or_b32 v_or3_b32 "
       "v_and_or_b32 v_lshl_or_b32 v_bfi_b32 v_alignbit_b32 v_alignbyte_b32 "
       "v_perm_b32 v_pack_b32_f16"},
      {vector(CountClass::VectorAlu, Flow::Bits),
       "v_not_b32 v_not_b16 v_and_b32 v_xor_b32 v_xnor_b32 v_and_b16 "
       "v_or_b16 v_xor_b16 v_xor3_b32 v_bfe_u32 v_bfe_i32 v_bfrev_b32 "
       "v_bitop3_b32 v_bitop3_b16 v_cndmask_b16 v_cvt_u32_u16 v_cvt_i32_i16 "
       "v_lshlrev_b16 v_lshrrev_b16 v_ashrrev_i16 v_lshlrev_b32 "
       "v_lshrrev_b32 v_ashrrev_i32 v_lshlrev_b64 v_lshrrev_b64 "
       "v_ashrrev_i64 v_pk_lshlrev_b16 v_pk_lshrrev_b16 v_pk_ashrrev_i16"},
      {vector(CountClass::VectorAlu, Flow::Select), "v_cndmask_b32"},
      // Between lanes.
      {vector(CountClass::CrossLane, Flow::ReadLane),
       "v_readfirstlane_b32 v_readlane_b32"},
      {vector(CountClass::CrossLane, Flow::WriteLane), "v_writelane_b32"},
      {vector(CountClass::CrossLane, Flow::Lane),
       "v_mbcnt_lo_u32_b32 v_mbcnt_hi_u32_b32"},
      {vector(CountClass::CrossLane, Flow::Moves),
       "v_permlane16_b32 v_permlanex16_b32 v_permlane16_var_b32 "
       "v_permlanex16_var_b32 v_permlane64_b32"},
      {vector(CountClass::CrossLane, Flow::Moves, FactExchanges),
       "v_permlane16_swap_b32 v_permlane32_swap_b32"},
      {vector(CountClass::CrossLane, Flow::Swap, FactExchanges),
       "v_swap_b32 v_swap_b16"},
      // Registers at a distance of M0: any may be meant.
      {vector(CountClass::CrossLane, Flow::None),
       "v_movrels_b32 v_movreld_b32 v_movrelsd_b32"},
      {vector(CountClass::CrossLane, Flow::None, FactNoEffect),
       "v_nop v_pipeflush v_clrexcp"},
      {lds(Flow::Moves), "ds_bpermute_b32 ds_bpermute_fi_b32 ds_swizzle_b32"},
      {lds(Flow::Moves, FactScatters), "ds_permute_b32"},
      {lds(Flow::None, FactNoEffect), "ds_nop"},
      // Scalar.
      {scalar(Flow::ScalarBits),
       "s_mov_b32 s_mov_b64 s_not_b32 s_not_b64 s_cselect_b32 s_cselect_b64 "
       "s_xor_b32 s_xor_b64 s_xnor_b32 s_xnor_b64 s_brev_b32 s_brev_b64 "
       "s_lshl_b32 s_lshl_b64 s_lshr_b32 s_lshr_b64 s_ashr_i32 s_ashr_i64 "
       "s_bfe_u32 s_bfe_i32 s_bfe_u64 s_bfe_i64 s_sext_i32_i8 s_sext_i32_i16 "
       "s_and_saveexec_b32 s_and_saveexec_b64 s_or_saveexec_b32 "
       "s_or_saveexec_b64 s_xor_saveexec_b32 s_xor_saveexec_b64 "
       "s_andn2_saveexec_b32 s_andn2_saveexec_b64 s_orn2_saveexec_b32 "
       "s_orn2_saveexec_b64 s_nand_saveexec_b32 s_nand_saveexec_b64 "
       "s_nor_saveexec_b32 s_nor_saveexec_b64 s_xnor_saveexec_b32 "
       "s_xnor_saveexec_b64 s_andn1_saveexec_b32 s_andn1_saveexec_b64 "
       "s_orn1_saveexec_b32 s_orn1_saveexec_b64 s_andn1_wrexec_b32 "
       "s_andn1_wrexec_b64 s_andn2_wrexec_b32 s_andn2_wrexec_b64 "
       "s_and_b32 s_and_b64 s_or_b32 s_or_b64 s_andn2_b32 s_andn2_b64 "
       "s_orn2_b32 s_orn2_b64 s_nand_b32 s_nand_b64 s_nor_b32 s_nor_b64 "
       "s_pack_ll_b32_b16 s_pack_lh_b32_b16 s_pack_hh_b32_b16 "
       "s_pack_hl_b32_b16"},
      {scalar(Flow::ScalarIndexed), "s_movrels_b32 s_movrels_b64"},
      {scalar(Flow::ScalarIndexed, FactIndexedResult,
              OperandForm::FirstWritten),
       "s_movreld_b32 s_movreld_b64"},
      // LLVM does not say of these that they keep a part of the result.
      {scalar(Flow::ScalarBits, FactKeepsResult),
       "s_bitset0_b32 s_bitset0_b64 s_bitset1_b32 s_bitset1_b64 "
       "s_cmov_b32 s_cmov_b64"},
      // The last source is in the instruction.
      {scalar(Flow::ScalarAll, 0, OperandForm::Immediate),
       "s_movk_i32 s_addk_i32 s_mulk_i32 s_cmpk_eq_i32 s_cmpk_lg_i32 "
       "s_cmpk_gt_i32 s_cmpk_ge_i32 s_cmpk_lt_i32 s_cmpk_le_i32"},
      {scalar(Flow::ScalarAll, FactKeepsResult, OperandForm::Immediate),
       "s_cmovk_i32"},
      {scalar(Flow::ScalarAll, 0, OperandForm::Unsigned),
       "s_cmpk_eq_u32 s_cmpk_lg_u32 s_cmpk_gt_u32 s_cmpk_ge_u32 "
       "s_cmpk_lt_u32 s_cmpk_le_u32"},
      {scalar(Flow::ScalarAll, 0, OperandForm::ResultOnly), "s_call_b64"},
      {scalar(Flow::ScalarAll, 0, OperandForm::GprIndex), "s_set_gpr_idx_on"},
      {scalar(Flow::ScalarAll, FactKeepsM0, OperandForm::GprIndex),
       "s_set_gpr_idx_idx"},
      // Nothing but the immediate.
      {scalar(Flow::ScalarAll, 0, OperandForm::Ignored),
       "s_set_gpr_idx_off s_branch s_trap s_sethalt s_setkill "
       "s_round_mode s_denorm_mode s_version s_ttracedata "
       "s_ttracedata_imm"},
      // Answers, counted like a scalar load: the time, the state of a barrier,
      // and those to messages, whose number is in the instruction.
      {answered(OperandForm::Listed),
       "s_memtime s_memrealtime s_get_barrier_state"},
      {answered(OperandForm::ResultOnly),
       "s_sendmsg_rtn_b32 s_sendmsg_rtn_b64"},
      // Barriers of newer chips are an arrival and a wait.
      {barrier(BarrierKind::Full, OperandForm::Ignored), "s_barrier"},
      {barrier(BarrierKind::Wait, OperandForm::Ignored), "s_barrier_wait"},
      {barrier(BarrierKind::Signal, OperandForm::Listed),
       "s_barrier_signal s_barrier_signal_isfirst"},
      // Waits.
      {wait(WaitKind::Combined), "s_waitcnt"},
      {wait(WaitKind::Load), "s_wait_loadcnt s_waitcnt_vmcnt"},
      {wait(WaitKind::Store), "s_wait_storecnt s_waitcnt_vscnt"},
      {wait(WaitKind::Lds), "s_wait_dscnt s_waitcnt_lgkmcnt"},
      {wait(WaitKind::Scalar), "s_wait_kmcnt"},
      {wait(WaitKind::LoadLds), "s_wait_loadcnt_dscnt"},
      {wait(WaitKind::StoreLds), "s_wait_storecnt_dscnt"},
      {wait(WaitKind::Idle), "s_wait_idle"},
      // Hardware registers.
      {otherScalar(0, OperandForm::SetRegister),
       "s_setreg_b32 s_setreg_imm32_b32"},
      {otherScalar(0, OperandForm::ResultOnly), "s_getreg_b32"},
      // Hints, messages and the end.
      {otherScalar(FactNoEffect),
       "s_nop s_wakeup s_sleep s_sleep_var s_clause s_delay_alu s_setprio "
       "s_inst_prefetch s_gl1_inv"},
      {otherScalar(0), "s_endpgm s_endpgm_saved s_code_end"},
      // Cache control.
      {otherScalar(0),
       "buffer_inv buffer_invl2 buffer_wbinvl1 buffer_wbinvl1_vol "
       "buffer_gl0_inv buffer_gl1_inv"},
      {otherScalar(FactCacheWrite), "buffer_wbl2 global_wb global_wbinv"},
      {otherScalar(FactCacheLoad), "global_inv"},
  };
  return Table;
}

/// What the others are by the first part of their name; the first that fits.
static ArrayRef<Entry> families() {
  static const Entry Table[] = {
      {vector(CountClass::Matrix, Flow::Matrix),
       "v_mfma_ v_smfmac_ v_wmma_ v_swmmac_"},
      {vector(CountClass::ScalarAlu, Flow::ScalarAll), "v_s_"},
      {vector(CountClass::VectorAlu, Flow::Lane), "v_"},
      {wait(WaitKind::None), "s_waitcnt s_wait_"},
      {otherScalar(FactNoEffect),
       "s_prefetch_ s_buffer_prefetch_ s_dcache_ s_icache_"},
      {otherScalar(0), "s_sendmsg s_getreg_ s_setreg_"},
      {scalar(Flow::ScalarAll, 0, OperandForm::Ignored), "s_cbranch_"},
      {scalar(Flow::ScalarAll), "s_"},
  };
  return Table;
}

namespace {
/// What a name says whatever its family is.
struct Trait {
  unsigned Flags;
  Pace Takes;
  CacheControl Cache;
  const char *Names;  ///< with "*" for anything
  const char *Except; ///< of these, those that do not have it
};
} // namespace

static constexpr Trait flag(unsigned Flags, const char *Names,
                            const char *Except = "") {
  return {Flags, Pace::Plain, CacheControl::None, Names, Except};
}
static constexpr Trait pace(Pace Takes, const char *Names,
                            const char *Except = "") {
  return {0, Takes, CacheControl::None, Names, Except};
}
static constexpr Trait cache(CacheControl Cache, const char *Names) {
  return {0, Pace::Plain, Cache, Names, ""};
}

static constexpr Trait Traits[] = {
    // What the hardware does not wait for by itself.
    flag(FactIdles, "s_nop v_nop"),
    flag(FactAwaitsAlu, "s_waitcnt_depctr s_wait_alu"),
    flag(FactWritesHardware, "s_setreg_*"),
    flag(FactReadsHardware, "s_getreg_b32"),
    flag(FactUsesM0, "s_sendmsg* s_movrel* ds_*addtid*"),
    flag(FactSelectsLane, "v_readlane_b32 v_writelane_b32"),
    flag(FactPermutes, "v_permlane*"),
    flag(FactDot, "v_dot*"),
    flag(FactDivides, "v_div_fmas_*"),
    flag(FactFusesF64, "v_fma_f64 v_fmac_f64"),
    flag(FactReadsAccumulator, "v_accvgpr_read_b32"),
    flag(FactWritesAccumulator, "v_accvgpr_write_b32"),
    // Caches.
    cache(CacheControl::Drop, "buffer_wbinvl1 buffer_wbinvl1_vol"),
    cache(CacheControl::DropMarked, "buffer_inv"),
    cache(CacheControl::DropNear, "buffer_gl0_inv"),
    cache(CacheControl::DropFar, "buffer_gl1_inv"),
    cache(CacheControl::DropScope, "global_inv global_wbinv"),
    cache(CacheControl::DropScalar, "s_dcache_inv s_dcache_inv_vol"),
    cache(CacheControl::WriteBack, "buffer_wbl2"),
    // Values.
    flag(FactFetchesInactive, "ds_bpermute_fi_b32 v_permlane64_b32"),
    flag(FactKeepsAddress, "*_add* *_sub* *_mov_* *_mad_u64* *cndmask* "
                           "*cselect* *readfirstlane* *_accvgpr_*"),
    // What its operands mean.
    flag(FactSourcesF16, "s_*_f16 v_s_*_f16", "s_cvt_hi*"),
    flag(FactSignsByNegLo, "v_dot4_i32_iu8 v_dot8_i32_iu4"),
    flag(FactBitTable, "v_bitop3_*"),
    flag(FactIndexesOn, "s_set_gpr_idx_on"),
    flag(FactIndexesOff, "s_set_gpr_idx_off"),
    // Time: a product of 32 bits takes as long as a transcendental function.
    pace(Pace::Product, "v_mul_lo_u32 v_mul_hi_*"),
    pace(Pace::LongProduct, "v_mad_u64_u32 v_mad_i64_i32"),
    pace(Pace::Wide, "v_pk_* v_*_f64*", "v_pk_mov* v_cvt_*"),
};

/// A star of the pattern stands for any part of the name.
static bool matches(StringRef Pattern, StringRef Name) {
  const auto [Head, Tail] = Pattern.split('*');
  if (!Name.consume_front(Head))
    return false;
  if (Head.size() == Pattern.size())
    return Name.empty();
  if (Tail.empty())
    return true;
  for (size_t K = 0; K <= Name.size(); ++K)
    if (matches(Tail, Name.drop_front(K)))
      return true;
  return false;
}
static bool matchesOne(StringRef Patterns, StringRef Name) {
  while (!Patterns.empty()) {
    const auto [First, Others] = Patterns.split(' ');
    if (matches(First, Name))
      return true;
    Patterns = Others;
  }
  return false;
}

static void addTraits(InstructionFacts &F, StringRef Name) {
  for (const Trait &T : Traits) {
    if (!matchesOne(T.Names, Name) || matchesOne(T.Except, Name))
      continue;
    F.Flags |= T.Flags;
    if (T.Takes != Pace::Plain)
      F.Takes = T.Takes;
    if (T.Cache != CacheControl::None)
      F.Cache = T.Cache;
  }
}

/// Of a matrix instruction, whose name says its sizes: "16x16x32".
static uint32_t multiplyAdds(StringRef Name) {
  for (StringRef Part : llvm::split(Name, '_')) {
    uint32_t Product = 1;
    unsigned Sizes = 0;
    for (StringRef Size : llvm::split(Part, 'x')) {
      uint32_t Value = 0;
      if (Size.consumeInteger(/*Radix=*/10, Value))
        break;
      Product *= Value;
      ++Sizes;
    }
    if (Sizes == 3)
      return Product;
  }
  return 0;
}

/// Class and unit of a memory instruction.
static InstructionFacts memory(const MemoryFacts &M) {
  const bool Store = M.Access == MemoryAccess::Store,
             Load = M.Access == MemoryAccess::Load;
  InstructionFacts F;
  switch (M.Space) {
  case MemorySpace::Scalar:
    F = facts(Unit::ScalarMemory, CountClass::ScalarLoad, Flow::ScalarAll);
    break;
  case MemorySpace::Lds:
    F = facts(Unit::Lds,
              Store  ? CountClass::LdsStore
              : Load ? CountClass::LdsLoad
                     : CountClass::LdsAtomic,
              Flow::None);
    break;
  case MemorySpace::Scratch:
    F = facts(Unit::VectorMemory,
              Store ? CountClass::ScratchStore : CountClass::ScratchLoad,
              Flow::None);
    break;
  default:
    F = facts(Unit::VectorMemory,
              Store  ? CountClass::GlobalStore
              : Load ? CountClass::GlobalLoad
                     : CountClass::GlobalAtomic,
              Flow::None);
    break;
  }
  F.Memory = M;
  return F;
}

/// What a name's own entry, the grammar of memory or its family says.
static InstructionFacts mainFacts(StringRef Name) {
  static const StringMap<const InstructionFacts *> ByName = [] {
    StringMap<const InstructionFacts *> Map;
    for (const Entry &E : entries()) {
      SmallVector<StringRef, 64> Names;
      StringRef(E.Names).split(Names, ' ');
      for (StringRef Name : Names) {
        assert(!Map.count(Name) && "listed twice");
        Map[Name] = &E.Facts;
      }
    }
    return Map;
  }();
  if (auto It = ByName.find(Name); It != ByName.end())
    return *It->second;
  if (MemoryFacts M = memoryFacts(Name); M.Space != MemorySpace::None)
    return memory(M);
  for (const Entry &E : families()) {
    SmallVector<StringRef, 8> Prefixes;
    StringRef(E.Names).split(Prefixes, ' ');
    for (StringRef Prefix : Prefixes)
      if (Name.starts_with(Prefix))
        return E.Facts;
  }
  return {};
}

InstructionFacts lnbwd::isa::factsOf(StringRef Mnemonic) {
  const std::string Name = canonicalMnemonic(Mnemonic);
  InstructionFacts F = mainFacts(Name);
  addTraits(F, Name);
  if (F.Class == CountClass::Matrix)
    F.MultiplyAdds = multiplyAdds(Name);
  return F;
}

std::vector<StringRef> lnbwd::isa::listedNames() {
  std::vector<StringRef> All;
  for (const Entry &E : entries()) {
    SmallVector<StringRef, 64> Names;
    StringRef(E.Names).split(Names, ' ');
    All.insert(All.end(), Names.begin(), Names.end());
  }
  return All;
}

std::vector<StringRef> lnbwd::isa::listedPatterns() {
  std::vector<StringRef> All;
  for (const Trait &T : Traits)
    for (StringRef Patterns : {StringRef(T.Names), StringRef(T.Except)}) {
      SmallVector<StringRef, 8> Names;
      Patterns.split(Names, ' ', -1, /*KeepEmpty=*/false);
      All.insert(All.end(), Names.begin(), Names.end());
    }
  return All;
}

bool lnbwd::isa::matchesPattern(StringRef Pattern, StringRef Name) {
  return matches(Pattern, Name);
}
