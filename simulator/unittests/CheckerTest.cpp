//===- CheckerTest.cpp - Kernels that break one rule each -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every check of checked launches: a kernel, assembled by hand, that breaks
// exactly that rule is caught with a message that says so, and its repaired
// twin runs clean. On all chips that the rule exists on.
// Here: limits, counts and what else a checked launch says; the other checks
// have files of their own.
//
//===----------------------------------------------------------------------===//

#include "CheckerTester.h"

#include "Check/Resources.h"

#include "llvm/Support/JSON.h"

using namespace lnbwd::sim;

INSTANTIATE_TEST_SUITE_P(Chips, CheckerTest,
                         ::testing::ValuesIn(chipsIn(AllChips)),
                         [](const auto &Info) { return Info.param; });

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

TEST_P(CheckerTest, RegistersBeyondTheDescriptor) {
  K.Vgprs = 24;
  EXPECT_CLEAN(run("v_mov_b32 v23, 0"));
  EXPECT_SAYS(run("v_mov_b32 v40, 0"),
              std::string("v40 is used, but the kernel descriptor allocates "
                          "only ") +
                  (chipNamed(Chip).isCdna5() ? "32" : "24"));
  if (!isGfx9(Chip))
    return;
  K.Sgprs = 16;
  EXPECT_SAYS(run("s_mov_b32 s60, 0"), "s60 is used, but");
}

TEST_P(CheckerTest, BlockThatTheRegistersDoNotFit) {
  if (!isGfx9(Chip))
    GTEST_SKIP() << "newer chips have registers for any block";
  K.Vgprs = 256;
  K.Directives = "";
  std::string Text = run("v_mov_b32 v2, 0", 1, 1024);
  EXPECT_SAYS(Text, "does not fit on " + Chip);
  EXPECT_EQ(Launched, hipErrorInvalidConfiguration);
  // Two waves of a SIMD fit; before gfx90a one.
  EXPECT_CLEAN(run("v_mov_b32 v2, 0", 1, Chip == "gfx908" ? 256 : 512));
}

TEST_P(CheckerTest, ScratchThatNoWaveCanHave) {
  lnbwdSimSetChecks(0); // No chip can run it, checked or not.
  K.ScratchBytes = 100 << 20;
  EXPECT_SAYS(run("v_mov_b32 v2, 0"), "104857600 bytes of scratch for each of");
  EXPECT_EQ(Launched, hipErrorInvalidConfiguration);
}

TEST_P(CheckerTest, MetadataThatContradictsTheDescriptor) {
  std::string Error;
  std::string Text = kernelText(K, Chip);
  std::string From = ".group_segment_fixed_size: 1024";
  size_t At = Text.find(From);
  ASSERT_NE(At, std::string::npos);
  std::string Broken = Text;
  Broken.replace(At, From.size(), ".group_segment_fixed_size: 512");
  auto Build = [&](const std::string &S) {
    auto Code = assembleCodeObject(spell(S, Chip), Chip, 5, Error);
    EXPECT_FALSE(Code.empty()) << Error;
    LoadedModule M(Code);
    Launched = launch(M.function("k"), 1, 64, 0, A, B);
    return Launched == hipSuccess ? std::string() : lnbwdSimLastErrorMessage();
  };
  EXPECT_CLEAN(Build(Text));
  EXPECT_SAYS(Build(Broken), "the metadata's .group_segment_fixed_size is 512, "
                             "but the kernel descriptor's is 1024");
  std::string Short = Text;
  for (std::string Name : {".kernarg_segment_size: ", ".amdhsa_kernarg_size "})
    for (size_t Place = 0;
         (Place = Short.find(Name + "16", Place)) != std::string::npos; ++Place)
      Short.replace(Place, Name.size() + 2, Name + "8");
  ASSERT_NE(Short, Text);
  EXPECT_SAYS(Build(Short),
              "the metadata places an argument of 8 bytes at 8 of "
              "the kernel argument segment, which has only 8");
  std::string Exact = Text;
  Exact.replace(At, From.size(),
                From + "\n    .reqd_workgroup_size: [128, 1, 1]");
  EXPECT_SAYS(Build(Exact), "compiled for exactly (128, 1, 1)");
}

//===----------------------------------------------------------------------===//
// Counts and messages
//===----------------------------------------------------------------------===//

TEST_P(CheckerTest, Counts) {
  const int64_t N = waveItems();
  lnbwdSimResetCounters();
  lnbwdSimDescribeBuffer(A, Bytes, "x", 0);
  lnbwdSimDescribeBuffer(B, Bytes, "y", 0);
  // A consecutive load, a store with a stride of 64 bytes by half of the lanes,
  // and LDS accesses without and with every lane on one bank.
  EXPECT_CLEAN(run("GLOAD1 v2, v1, s[4:5]\nWAITV\nSMOVMASK EXEC, 0xffff\n"
                   "v_lshlrev_b32 v3, 6, v0\nGSTORE1 v3, v2, s[6:7]\n"
                   "WAITX\nSMOVMASK EXEC, 0xff\n"
                   "DSWRITE1 v1, v0\nv_lshlrev_b32 v4, 7, v0\n"
                   "v_mov_b32 v5, 0\nDSWRITE1 v4, v5\nWAITL",
                   1, dim3(unsigned(N))));
  auto Json = llvm::json::parse(lnbwdSimGetCountsJson());
  ASSERT_TRUE(bool(Json)) << lnbwdSimGetCountsJson();
  auto *Root = Json->getAsObject();
  auto *Instructions = Root->getObject("instructions");
  EXPECT_EQ(Instructions->getInteger("global_load"), 1);
  EXPECT_EQ(Instructions->getInteger("global_store"), 1);
  EXPECT_EQ(Instructions->getInteger("lds_store"), 2);
  EXPECT_EQ(Instructions->getInteger("scalar_load"), 1);
  EXPECT_EQ(Instructions->getInteger("vector_alu"), 5);
  auto *Divergence = Root->getObject("divergence");
  EXPECT_EQ(Divergence->getInteger("instructions_with_inactive_lanes"), 6);
  EXPECT_EQ(Divergence->getInteger("possible_lanes"), 9 * N);
  EXPECT_EQ(Divergence->getInteger("active_lanes"), 3 * N + 2 * 16 + 4 * 8);
  // Rows 128 bytes apart: the bank of 32 repeats each time, that of 64 every
  // other time.
  auto *Lds = Root->getObject("lds");
  EXPECT_EQ(Lds->getInteger("bank_conflict_cycles"),
            chipNamed(Chip).LdsBanks == 64 ? 3 : 7);
  const llvm::json::Object *X = nullptr, *Y = nullptr;
  for (auto &Entry : *Root->getArray("buffers")) {
    auto *Buffer = Entry.getAsObject();
    if (Buffer->getString("name") == llvm::StringRef("x"))
      X = Buffer;
    if (Buffer->getString("name") == llvm::StringRef("y"))
      Y = Buffer;
  }
  ASSERT_TRUE(X && Y);
  EXPECT_EQ(X->getInteger("bytes_read"), 4 * N);
  EXPECT_EQ(X->getInteger("lines_64"), 4 * N / 64);
  EXPECT_EQ(X->getInteger("lines_128"), 4 * N / 128);
  EXPECT_EQ(Y->getInteger("bytes_written"), 64);
  EXPECT_EQ(Y->getInteger("lines_64"), 16);
  EXPECT_EQ(Y->getInteger("lines_128"), 8);
}

// Eight dwords of one bank, each asked for by several lanes.
TEST(LdsBanks, RepeatedDwords) {
  uint32_t Addresses[64];
  for (uint32_t L = 0; L < 64; ++L)
    Addresses[L] = L % 8 * 256;
  unsigned Least;
  EXPECT_EQ(bankCycles(Addresses, ~0ull, 4, 64, /*Banks=*/64, Least), 8u);
  EXPECT_EQ(Least, 1u);
  EXPECT_EQ(bankCycles(Addresses, ~0ull, 4, 64, /*Banks=*/32, Least), 16u);
  EXPECT_EQ(Least, 2u);
}

TEST_P(CheckerTest, SourceLocation) {
  // What compilers write with debug information: a unit with a line table.
  const char *const Unit = R"(
  .section .debug_abbrev,"",@progbits
  .byte 1, 0x11, 0, 0x10, 0x17, 0x11, 1, 0x12, 6, 0, 0, 0
  .section .debug_info,"",@progbits
  .long info_end-info_begin
info_begin:
  .short 4
  .long .debug_abbrev
  .byte 8, 1
  .long .debug_line
  .quad k
  .long k_end-k
info_end:
  .section .debug_line,"",@progbits
  .text
)";
  K.Body = "\t.file 1 \"layer_norm.mlir\"\n\t.loc 1 7 3\n" + K.Body +
           "\t.loc 1 42 5\n";
  const std::string AfterEnd = std::string("\n\ts_endpgm\n") + Unit;
  EXPECT_SAYS(run("GLOAD1 v2, v1, s[6:7]\n\t.loc 1 50 1\nWAITV" + AfterEnd),
              "; from layer_norm.mlir:42:5");
}

TEST_P(CheckerTest, ChecksAreChosen) {
  const char *Read = "GLOAD1 v2, v1, s[6:7]\nADDV v3, v2, v0";
  lnbwdSimSetChecks(0);
  EXPECT_EQ(lnbwdSimGetChecks(), 0u);
  EXPECT_CLEAN(run(Read));
  lnbwdSimSetChecks(LNBWD_SIM_CHECK_WAITS);
  EXPECT_SAYS(run(Read), "is read before");
}
