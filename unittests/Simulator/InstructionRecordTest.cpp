//===- InstructionRecordTest.cpp - What is known of instructions ----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/ISA/InstructionRecord.h"
#include "Core/CrashGuard.h"
#include "WaveTester.h"
#include "lnbwd/ISA/Disassembler.h"
#include "lnbwd/ISA/FactTable.h"
#include "lnbwd/ISA/Mnemonics.h"

#include <set>

using namespace lnbwd;
using namespace lnbwd::sim;

TEST(InstructionRecord, CanonicalNames) {
  EXPECT_EQ(isa::canonicalMnemonic("v_add_f32_e32"), "v_add_f32");
  EXPECT_EQ(isa::canonicalMnemonic("v_add_nc_u32_e64"), "v_add_u32");
  EXPECT_EQ(isa::canonicalMnemonic("v_add_f32_e64_dpp"), "v_add_f32");
  EXPECT_EQ(isa::canonicalMnemonic("v_mov_b32_sdwa"), "v_mov_b32");
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
  M = isa::factsOf("ds_cmpst_rtn_b64").Memory;
  EXPECT_EQ(M.Atomic, isa::AtomicOp::CompareSwap);
  EXPECT_TRUE(M.Returns && M.CompareFirst);
  // Of a kind that is not known: no bytes, but an access all the same.
  M = isa::factsOf("global_load_block").Memory;
  EXPECT_EQ(M.Access, isa::MemoryAccess::Load);
  EXPECT_EQ(M.bytes(), 0u);
}

// A name that is misspelt in the table would silently be like its family.
TEST(InstructionRecord, ListedNamesExist) {
  auto Machine = isa::Machine::create("gfx1201", 0);
  ASSERT_TRUE(bool(Machine));
  std::set<std::string> Known;
  const llvm::MCInstrInfo &All = *(*Machine)->Instructions;
  for (unsigned Opcode = 0; Opcode < All.getNumOpcodes(); ++Opcode)
    Known.insert(All.getName(Opcode).lower());
  for (llvm::StringRef Name : isa::listedNames()) {
    EXPECT_EQ(isa::canonicalMnemonic(Name), Name.str());
    auto It = Known.lower_bound(Name.str());
    EXPECT_TRUE(It != Known.end() && llvm::StringRef(*It).starts_with(Name))
        << Name.str();
  }
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
      const isa::InstructionRecord R(
          Text.take_until([](char X) { return X == ' ' || X == '\t'; }),
          (*D)->describe(Read.Opcode));
      const isa::MemoryFacts &M = R.Facts.Memory;
      if (!M.ElementBytes)
        continue;
      ++Compared;
      const bool ToLds = M.ToLds || Text.ends_with(" lds");
      EXPECT_EQ(M.Access != isa::MemoryAccess::Store, R.Description.MayLoad)
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
