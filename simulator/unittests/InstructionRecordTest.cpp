//===- InstructionRecordTest.cpp - What is known of instructions ----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/ISA/InstructionRecord.h"
#include "Assembler/Assembler.h"
#include "Core/Environment.h"
#include "WaveTester.h"
#include "lnbwd/ISA/Disassembler.h"
#include "lnbwd/ISA/FactTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"

#include <initializer_list>
#include <set>
#include <vector>

using namespace lnbwd;
using namespace lnbwd::sim;

TEST(InstructionRecord, CanonicalNames) {
  EXPECT_EQ(isa::canonicalMnemonic("v_add_f32_e32"), "v_add_f32");
  EXPECT_EQ(isa::canonicalMnemonic("v_add_nc_u32_e64"), "v_add_u32");
  EXPECT_EQ(isa::canonicalMnemonic("v_add_f32_e64_dpp"), "v_add_f32");
  EXPECT_EQ(isa::canonicalMnemonic("v_mov_b32_sdwa"), "v_mov_b32");
  EXPECT_EQ(isa::canonicalMnemonic("v_dual_add_nc_u32"), "v_add_u32");
  EXPECT_EQ(isa::canonicalMnemonic("v_dual_dot2acc_f32_bf16"),
            "v_dot2c_f32_bf16");
  EXPECT_EQ(isa::canonicalMnemonic("s_and_not1_b32"), "s_andn2_b32");
}

TEST(InstructionRecord, Classes) {
  auto Class = [](const char *Name) { return isa::factsOf(Name).Class; };
  EXPECT_EQ(Class("v_add_f32_e32"), isa::CountClass::VectorAlu);
  EXPECT_EQ(Class("v_rcp_f32_e64"), isa::CountClass::Transcendental);
  EXPECT_EQ(Class("v_mfma_f32_16x16x32_bf16"), isa::CountClass::Matrix);
  EXPECT_EQ(Class("ds_bpermute_b32"), isa::CountClass::CrossLane);
  EXPECT_EQ(Class("s_add_co_u32"), isa::CountClass::ScalarAlu);
  EXPECT_EQ(Class("s_wait_loadcnt"), isa::CountClass::Wait);
  EXPECT_EQ(Class("s_wait_alu"), isa::CountClass::Wait);
  EXPECT_EQ(Class("s_barrier_signal"), isa::CountClass::Barrier);
  EXPECT_EQ(Class("s_nop"), isa::CountClass::OtherScalar);
  EXPECT_EQ(Class("s_buffer_load_dwordx4"), isa::CountClass::ScalarLoad);
  EXPECT_EQ(Class("buffer_store_b128"), isa::CountClass::GlobalStore);
  EXPECT_EQ(Class("flat_atomic_add_u32"), isa::CountClass::GlobalAtomic);
  EXPECT_EQ(Class("scratch_load_dword"), isa::CountClass::ScratchLoad);
  EXPECT_EQ(isa::factsOf("export").Where, isa::Unit::Other);
}

TEST(InstructionRecord, Memory) {
  isa::MemoryFacts M = isa::factsOf("global_load_short_d16_hi").Memory;
  EXPECT_EQ(M.bytes(), 2u);
  EXPECT_TRUE(M.KeepsHalf && M.HighHalf && !M.Signed && !M.Descriptor);
  M = isa::factsOf("buffer_load_lds_dwordx4").Memory;
  EXPECT_EQ(M.bytes(), 16u);
  EXPECT_TRUE(M.ToLds && M.Descriptor);
  M = isa::factsOf("ds_store_2addr_stride64_b64").Memory;
  EXPECT_EQ(M.bytes(), 16u);
  EXPECT_TRUE(M.Pair && M.Stride64);
  M = isa::factsOf("ds_read_b64_tr_b16").Memory;
  EXPECT_EQ(M.TransposedBits, 16u);
  // Of 64 bits those of bytes.
  M = isa::factsOf("global_load_tr_b64").Memory;
  EXPECT_EQ(M.TransposedBits, 8u);
  M = isa::factsOf("ds_cmpst_rtn_b64").Memory;
  EXPECT_EQ(M.Atomic, isa::AtomicOp::CompareSwap);
  EXPECT_TRUE(M.Returns && M.CompareFirst);
  // Of a kind that is not known: no bytes, but an access all the same.
  M = isa::factsOf("global_load_block").Memory;
  EXPECT_EQ(M.Access, isa::MemoryAccess::Load);
  EXPECT_EQ(M.bytes(), 0u);
}

// What goes across families, with the exceptions.
TEST(InstructionRecord, Traits) {
  auto Has = [](const char *Name, uint32_t Flag) {
    return (isa::factsOf(Name).Flags & Flag) == Flag;
  };
  EXPECT_TRUE(Has("v_dot2_f32_f16", isa::FactDot));
  EXPECT_TRUE(Has("s_sendmsg_rtn_b32", isa::FactUsesM0));
  EXPECT_TRUE(Has("s_add_f16", isa::FactSourcesF16));
  EXPECT_TRUE(Has("s_cvt_f32_f16", isa::FactSourcesF16));
  EXPECT_FALSE(Has("s_cvt_hi_f32_f16", isa::FactSourcesF16));
  EXPECT_TRUE(Has("v_lshl_add_u64", isa::FactKeepsAddress));
  EXPECT_FALSE(Has("v_mul_lo_u32", isa::FactKeepsAddress));
  // A trait is added to what the name's own entry says.
  EXPECT_TRUE(
      Has("v_permlane32_swap_b32", isa::FactPermutes | isa::FactExchanges));
  EXPECT_TRUE(Has("s_setreg_b32", isa::FactWritesHardware));
  EXPECT_EQ(isa::factsOf("s_setreg_b32").Form, isa::OperandForm::SetRegister);

  auto Takes = [](const char *Name) { return isa::factsOf(Name).Takes; };
  EXPECT_EQ(Takes("v_add_f32"), isa::Pace::Plain);
  EXPECT_EQ(Takes("v_pk_fma_f32"), isa::Pace::Wide);
  EXPECT_EQ(Takes("v_pk_mov_b32"), isa::Pace::Plain);
  EXPECT_EQ(Takes("v_cmp_lt_f64_e32"), isa::Pace::Wide);
  EXPECT_EQ(Takes("v_cvt_f32_f64_e32"), isa::Pace::Plain);
  EXPECT_EQ(Takes("v_mul_lo_i32"), isa::Pace::Product);
  EXPECT_EQ(Takes("v_mad_co_u64_u32"), isa::Pace::LongProduct);

  auto Cache = [](const char *Name) { return isa::factsOf(Name).Cache; };
  EXPECT_EQ(Cache("buffer_wbinvl1_vol"), isa::CacheControl::Drop);
  EXPECT_EQ(Cache("buffer_inv"), isa::CacheControl::DropMarked);
  EXPECT_EQ(Cache("s_dcache_inv"), isa::CacheControl::DropScalar);
  EXPECT_EQ(Cache("global_wbinv"), isa::CacheControl::DropScope);
  EXPECT_EQ(Cache("global_load_dword"), isa::CacheControl::None);
}

// What the decoder takes from LLVM's descriptions, whose numbers are private.
TEST(InstructionRecord, DescriptionsOfLLVM) {
  struct Case {
    const char *Chip, *Text;
    isa::Encoding Coded;
    bool IsDpp;
    std::vector<isa::OperandRole> Roles;
  };
  using Role = isa::OperandRole;
  constexpr Role Result = Role::Result, Source = Role::Source,
                 Register = Role::Register, Tied = Role::Tied,
                 Modifiers = Role::Modifiers, Immediate = Role::Immediate;
  for (const Case &C : std::initializer_list<Case>{
           {"gfx942",
            "v_add_f32_e32 v0, v1, v2",
            isa::Encoding::Other,
            false,
            {Result, Source, Register}},
           {"gfx942",
            "v_fmac_f32_e32 v0, v1, v2",
            isa::Encoding::Other,
            false,
            {Result, Source, Register, Tied}},
           {"gfx942",
            "v_add_f32_e64 v0, -v1, v2",
            isa::Encoding::Vop3,
            false,
            {Result, Modifiers, Source, Modifiers, Source, Immediate,
             Immediate}},
           {"gfx942",
            "v_pk_add_f16 v0, v1, v2",
            isa::Encoding::Vop3P,
            false,
            {Result, Modifiers, Source, Modifiers, Source, Immediate}},
           {"gfx942",
            "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]",
            isa::Encoding::Mai,
            false,
            {Result, Register, Register, Source, Immediate, Immediate,
             Immediate}},
           {"gfx942",
            "v_mov_b32_sdwa v0, v1 dst_sel:BYTE_1 dst_unused:UNUSED_PAD "
            "src0_sel:DWORD",
            isa::Encoding::Sdwa,
            false,
            {Result, Modifiers, Source}},
           {"gfx942",
            "v_mov_b32_dpp v0, v1 row_mirror",
            isa::Encoding::Other,
            true,
            {Result, Tied, Register, Immediate}},
           {"gfx1100",
            "v_fmamk_f32 v0, v1, 0x11213141, v2",
            isa::Encoding::Other,
            false,
            {Result, Source, Source, Register}},
           {"gfx1100",
            "v_dual_add_f32 v0, v1, v2 :: v_dual_mov_b32 v3, v4",
            isa::Encoding::Vopd,
            false,
            {Result, Result, Source, Register, Source}}}) {
    std::string Error;
    const std::vector<uint8_t> Code =
        assembleText(std::string(C.Text) + "\n", C.Chip, 0, Error);
    ASSERT_FALSE(Code.empty()) << Error;
    auto D = isa::Disassembler::create(C.Chip, 0);
    ASSERT_TRUE(bool(D));
    isa::Disassembled Read;
    ASSERT_TRUE((*D)->read(Code, 0, Read)) << C.Text;
    const isa::InstructionDescription Description =
        (*D)->describe(Read.Code.getOpcode());
    EXPECT_EQ(Description.Coded, C.Coded) << C.Text;
    EXPECT_EQ(Description.IsDpp, C.IsDpp) << C.Text;
    for (size_t K = 0; K < C.Roles.size(); ++K)
      EXPECT_EQ(Description.Roles[K], C.Roles[K]) << C.Text << ": " << K;
  }
}

// Where a program goes on, and how long matrix instructions take.
TEST(InstructionRecord, FlowAndPassesOfLLVM) {
  auto Describe = [](const char *Chip, const std::string &Text) {
    std::string Error;
    const std::vector<uint8_t> Code = assembleText(Text + "\n", Chip, 0, Error);
    EXPECT_FALSE(Code.empty()) << Error;
    auto D = isa::Disassembler::create(Chip, 0);
    isa::Disassembled Read;
    EXPECT_TRUE(bool(D) && (*D)->read(Code, 0, Read)) << Text;
    return (*D)->describe(Read.Code.getOpcode());
  };
  for (const char *Chip : {"gfx942", "gfx1201"}) {
    isa::InstructionDescription D = Describe(Chip, "s_branch 4");
    EXPECT_TRUE(D.IsBranch && D.IsDirect && D.IsBarrier && !D.EndsWave);
    D = Describe(Chip, "s_cbranch_vccnz 4");
    EXPECT_TRUE(D.IsBranch && D.IsDirect && !D.IsBarrier && !D.EndsWave);
    D = Describe(Chip, "s_setpc_b64 s[0:1]");
    EXPECT_TRUE(D.IsBranch && !D.IsDirect && D.IsBarrier && !D.EndsWave);
    D = Describe(Chip, "s_endpgm");
    EXPECT_TRUE(!D.IsBranch && D.IsBarrier && D.EndsWave);
    D = Describe(Chip, "s_nop 0");
    EXPECT_TRUE(!D.IsBranch && !D.IsBarrier && !D.EndsWave);
  }
  struct Case {
    const char *Chip, *Text;
    unsigned Passes;
    bool Vary;
  };
  for (const Case &C : std::initializer_list<Case>{
           {"gfx908", "v_mfma_f32_4x4x1f32 a[0:3], v1, v2, a[0:3]", 2, false},
           {"gfx90a", "v_mfma_f32_16x16x16f16 v[0:3], v[4:5], v[6:7], v[0:3]",
            8, false},
           {"gfx942", "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]",
            4, false},
           {"gfx942", "v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7]",
            8, false},
           {"gfx950", "v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7]",
            16, false},
           {"gfx950",
            "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3]", 4,
            true}}) {
    const isa::InstructionDescription D = Describe(C.Chip, C.Text);
    EXPECT_EQ(D.Passes, C.Passes) << C.Chip << ": " << C.Text;
    EXPECT_EQ(D.PassesVary, C.Vary) << C.Chip << ": " << C.Text;
  }
}

/// All that LLVM's printer has for AMD, without encodings, and its own names.
static std::set<std::string> namesOfLLVM() {
  auto Made = isa::Machine::create("gfx1201", 0);
  EXPECT_TRUE(bool(Made));
  const isa::Machine &M = **Made;
  const std::unique_ptr<llvm::MCInstPrinter> Printer(
      M.Target->createMCInstPrinter(M.TT, 0, *M.Assembly, *M.Instructions,
                                    *M.Registers));
  std::set<std::string> Known;
  for (unsigned Opcode = 0; Opcode < M.Instructions->getNumOpcodes();
       ++Opcode) {
    llvm::MCInst Instruction;
    Instruction.setOpcode(Opcode);
    if (const char *Printed = Printer->getMnemonic(Instruction).first) {
      llvm::StringRef Name =
          isa::withoutEncoding(llvm::StringRef(Printed).trim());
      Known.insert(Name.str());
      // Some of a dual-issue pair have their newer name there only.
      if (Name.consume_front("v_dual_"))
        Known.insert("v_" + Name.split(' ').first.str());
    }
    const std::string Own = M.Instructions->getName(Opcode).lower();
    Known.insert(Own);
    // And some are the second one of a pair only.
    if (llvm::StringRef(Own).contains("_x_"))
      Known.insert("v_" + llvm::StringRef(Own).split("_x_").second.str());
  }
  return Known;
}

// A name that is misspelt in the table would silently be like its family.
TEST(InstructionRecord, ListedNamesExist) {
  const std::set<std::string> Known = namesOfLLVM();
  for (llvm::StringRef Name : isa::listedNames()) {
    const std::string Canonical = isa::canonicalMnemonic(Name);
    EXPECT_EQ(isa::canonicalMnemonic(Canonical), Canonical);
    auto It = Known.lower_bound(Name.str());
    EXPECT_TRUE(It != Known.end() && llvm::StringRef(*It).starts_with(Name))
        << Name.str();
  }
}

// A trait whose pattern is misspelt would be nobody's.
TEST(InstructionRecord, ListedPatternsFindSomething) {
  const std::set<std::string> Known = namesOfLLVM();
  for (llvm::StringRef Pattern : isa::listedPatterns()) {
    const bool Found = llvm::any_of(Known, [&](llvm::StringRef Name) {
      return isa::matchesPattern(Pattern, isa::canonicalMnemonic(Name));
    });
    EXPECT_TRUE(Found) << Pattern.str();
  }
  EXPECT_TRUE(isa::matchesPattern("s_*_f16", "s_add_f16"));
  EXPECT_FALSE(isa::matchesPattern("s_*_f16", "s_add_f16_f32"));
  EXPECT_FALSE(isa::matchesPattern("s_nop", "s_nope"));
}

TEST(InstructionRecord, UnknownChip) {
  auto D = isa::Disassembler::create("gfx1", 0);
  EXPECT_FALSE(bool(D));
  llvm::consumeError(D.takeError());
}

// What names say of memory and what LLVM's tables say is the same.
TEST(InstructionRecord, NamesAgreeWithLLVM) {
  uint32_t State = 1;
  auto Random = [&State] {
    State = State * 1664525 + 1013904223;
    return State ^ State >> 15;
  };
  // Scalar loads, LDS, flat and buffer instructions of the generations.
  constexpr uint32_t Encodings[] = {0xc0000000, 0xf4000000, 0xd8000000,
                                    0xdc000000, 0xe0000000, 0xec000000,
                                    0xc4000000};
  for (const SimulatedChip &C : Chips) {
    auto D = isa::Disassembler::create(C.Chip, C.WaveSize);
    ASSERT_TRUE(bool(D));
    CrashGuard Guard;
    unsigned Compared = 0;
    for (unsigned N = 0; N < 40000; ++N) {
      const uint32_t Words[3] = {Encodings[N % 7] | (Random() & 0x03ffffff),
                                 Random(), Random()};
      isa::Disassembled Read;
      bool Valid = false;
      if (!Guard.survives([&] {
            Valid = (*D)->read({reinterpret_cast<const uint8_t *>(Words), 12},
                               0, Read);
          }) ||
          !Valid)
        continue;
      llvm::StringRef Text = llvm::StringRef(Read.Text).trim();
      const isa::InstructionRecord R(Read.Mnemonic,
                                     (*D)->describe(Read.Code.getOpcode()));
      const isa::MemoryFacts &M = R.Facts.Memory;
      if (!M.ElementBytes)
        continue;
      ++Compared;
      const bool ToLds = M.ToLds || Text.ends_with(" lds");
      EXPECT_EQ(M.Access != isa::MemoryAccess::Store || M.FromLds,
                R.Description.MayLoad)
          << Text.str();
      EXPECT_EQ(M.Access != isa::MemoryAccess::Load || ToLds,
                R.Description.MayStore)
          << Text.str();
      // The registers of what is loaded; one more where a load of a texture
      // says which part of it is there.
      if (M.Access == isa::MemoryAccess::Load && !ToLds &&
          !Text.ends_with(" tfe")) {
        ASSERT_EQ(R.Description.Results, 1u) << Text.str();
        EXPECT_EQ(R.Description.OperandDwords[0], (M.bytes() + 3) / 4)
            << Text.str();
      }
    }
    // How many of the words are such instructions hangs on the encodings that
    // the generation has; gfx1030 has the fewest, 823.
    EXPECT_GT(Compared, 500u) << C.Chip;
  }
}
