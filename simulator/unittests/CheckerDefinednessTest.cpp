//===- CheckerDefinednessTest.cpp - Values that are defined in part -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that use a bit, a half, a byte or a lane that nobody has computed,
// each beside one that has such a part and does not use it.
//
//===----------------------------------------------------------------------===//

#include "CheckerTester.h"

using namespace lnbwd::sim;

namespace {
/// A buffer of which nothing has been written is s[6:7]; v9 is never written.
class CheckerDefinedness : public CheckerTest {
protected:
  /// v9 gets a low half, and no high one.
  std::string lowHalf() const {
    return std::string(generation() <= 10 ? "global_load_short_d16"
                                          : "global_load_d16_b16") +
           " v9, v1, s[4:5]\nWAITV\n";
  }
  std::string storeHalf(const std::string &Register) const {
    return std::string(generation() <= 10 ? "global_store_short"
                                          : "global_store_b16") +
           " v1, " + Register + ", s[4:5]\n";
  }
  std::string store(const std::string &Register) const {
    return "GSTORE1 v1, " + Register + ", s[4:5]\n";
  }
  unsigned generation() const { return chipNamed(Chip).Generation; }
};
} // namespace

TEST_P(CheckerDefinedness, AccumulatorOfDotProduct) {
  if (chipNamed(Chip).isCdna5()) // has no such instruction
    GTEST_SKIP();
  const std::string Dot = "v_mov_b32 v2, 1.0\nv_mov_b32 v3, 1.0\n";
  const std::string Text = "v_dot2_f32_f16 v4, v2, v3, v9\n";
  EXPECT_SAYS(run(Dot + Text + store("v4")), "v4 depends on v9");
  EXPECT_CLEAN(run(Dot + "v_mov_b32 v9, 0\n" + Text + store("v4")));
  // One half of a factor.
  EXPECT_SAYS(
      run(Dot + lowHalf() + "v_dot2_f32_f16 v4, v9, v3, v2\n" + store("v4")),
      "v4 depends on v9");
}

TEST_P(CheckerDefinedness, AccumulatorOfMixedMultiplication) {
  const std::string Mad = Chip == "gfx908" || generation() > 9 ||
                                  Chip == "gfx90a" || Chip == "gfx942" ||
                                  Chip == "gfx950"
                              ? "v_fma_mix_f32"
                              : "v_mad_mix_f32";
  const std::string Set = "v_mov_b32 v2, 1.0\nv_mov_b32 v3, 1.0\n";
  EXPECT_SAYS(run(Set + Mad + " v4, v2, v3, v9\n" + store("v4")),
              "v4 depends on v9");
  // The low half of it as f16, and the half that is missing.
  EXPECT_CLEAN(run(Set + lowHalf() + Mad +
                   " v4, v2, v3, v9 op_sel_hi:[0,0,1]\n" + store("v4")));
  EXPECT_SAYS(run(Set + lowHalf() + Mad +
                  " v4, v2, v3, v9 op_sel:[0,0,1] op_sel_hi:[0,0,1]\n" +
                  store("v4")),
              "v4 depends on v9");
}

TEST_P(CheckerDefinedness, PackedHalves) {
  const std::string Add =
      lowHalf() + "v_mov_b32 v3, 0\nv_pk_add_f16 v4, v9, v3\n";
  EXPECT_SAYS(run(Add + store("v4")), "v4 depends on v9");
  EXPECT_CLEAN(run(Add + storeHalf("v4")));
  // Both halves of the result from the low one.
  EXPECT_CLEAN(run(lowHalf() +
                   "v_mov_b32 v3, 0\n"
                   "v_pk_add_f16 v4, v9, v3 op_sel_hi:[0,1]\n" +
                   store("v4")));
}

TEST_P(CheckerDefinedness, PackedDwords) {
  if (Chip != "gfx90a" && Chip != "gfx942" && Chip != "gfx950")
    GTEST_SKIP();
  const std::string Set =
      "v_mov_b32 v2, 1.0\nv_mov_b32 v3, 1.0\nv_mov_b32 v8, 1.0\n";
  for (const std::string Name : {"v_pk_mul_f32", "v_pk_mov_b32"}) {
    auto Run = [&](const char *Select, const char *Stored) {
      return run(Set + Name + " v[4:5], v[8:9], v[2:3]" + Select + "\n" +
                 store(Stored));
    };
    EXPECT_CLEAN(Run(" op_sel_hi:[0,1]", "v4"));
    EXPECT_CLEAN(Run(" op_sel_hi:[0,1]", "v5"));
    EXPECT_SAYS(Run(" op_sel:[1,0]", "v4"), "v4 depends on v9");
  }
  EXPECT_SAYS(run(Set + "v_pk_mul_f32 v[4:5], v[8:9], v[2:3]\n" + store("v5")),
              "v5 depends on v9");
}

TEST_P(CheckerDefinedness, BitsMovedAndMasked) {
  EXPECT_SAYS(run(lowHalf() + "v_lshrrev_b32 v4, 16, v9\n" + store("v4")),
              "v4 depends on v9");
  EXPECT_CLEAN(run(lowHalf() + "v_lshlrev_b32 v4, 16, v9\n" + store("v4")));
  EXPECT_CLEAN(run(lowHalf() + "v_and_b32 v4, 0xffff, v9\n" + store("v4")));
  EXPECT_SAYS(run(lowHalf() + "v_and_b32 v4, 0x1ffff, v9\n" + store("v4")),
              "v4 depends on v9");
  EXPECT_CLEAN(run(lowHalf() + "v_bfe_u32 v4, v9, 8, 8\n" + store("v4")));
  EXPECT_SAYS(run(lowHalf() + "v_bfe_u32 v4, v9, 8, 9\n" + store("v4")),
              "v4 depends on v9");
  // Bytes 1 and 0 of it, and a byte of the half that is missing.
  EXPECT_CLEAN(run(lowHalf() +
                   "s_mov_b32 s8, 0xc0c0001\n"
                   "v_perm_b32 v4, v0, v9, s8\n" +
                   store("v4")));
  EXPECT_SAYS(run(lowHalf() +
                  "s_mov_b32 s8, 0xc0c0002\n"
                  "v_perm_b32 v4, v0, v9, s8\n" +
                  store("v4")),
              "v4 depends on v9");
}

TEST_P(CheckerDefinedness, NumbersThatDoNotDependOnIt) {
  EXPECT_CLEAN(run("v_mul_lo_u32 v4, v9, 0\n" + store("v4")));
  EXPECT_CLEAN(run("v_xor_b32 v4, v9, v9\n" + store("v4")));
  EXPECT_SAYS(run("v_xor_b32 v4, v9, v8\n" + store("v4")), "v4 depends on v9");
  EXPECT_SAYS(run("v_mul_lo_u32 v4, v9, 2\n" + store("v4")),
              "v4 depends on v9");
  // The sum's low half does not know of the high halves.
  EXPECT_CLEAN(run(lowHalf() + "ADDV v4, v9, v0\n" + storeHalf("v4")));
  EXPECT_SAYS(run(lowHalf() + "ADDV v4, v9, v0\n" + store("v4")),
              "v4 depends on v9");
}

TEST_P(CheckerDefinedness, CompareOfNumbersKnownInPart) {
  const std::string Branch = "s_cbranch_" + std::string("vccnz out\nout:");
  const std::string Byte = "v_and_b32 v4, 0xff, v9\n";
  EXPECT_SAYS(run(Byte + "v_cmp_eq_u32 VCC, 5, v4\n" + Branch),
              "the branch's condition is not defined: vcc_lo depends on v9");
  EXPECT_CLEAN(run(Byte +
                   "v_or_b32 v4, 0x100, v4\n"
                   "v_cmp_eq_u32 VCC, 5, v4\n" +
                   Branch));
  EXPECT_CLEAN(run(Byte + "v_cmp_gt_u32 VCC, 0x100, v4\n" + Branch));
  EXPECT_SAYS(run(Byte + "v_cmp_gt_u32 VCC, 0xff, v4\n" + Branch),
              "the branch's condition is not defined");
  EXPECT_SAYS(run("v_cmp_eq_f32 VCC, 0.5, v9\n" + Branch),
              "the branch's condition is not defined");
}

TEST_P(CheckerDefinedness, LanesOfAMask) {
  // Lanes from 16 on compare nothing that is defined.
  const std::string Compare = "SMOVMASK EXEC, 0xffff\nv_mov_b32 v2, v0\n"
                              "SMOVMASK EXEC, -1\n"
                              "v_cmp_gt_u32 VCC, 4, v2\n";
  const bool Wide = isGfx9(Chip);
  const std::string And = Wide ? "s_and_b64" : "s_and_b32",
                    Save = Wide ? "s_and_saveexec_b64 s[8:9], VCC\n"
                                : "s_and_saveexec_b32 s8, VCC\n";
  EXPECT_SAYS(run(Compare + Save), "the new EXEC is not defined");
  EXPECT_CLEAN(run(Compare + And + " VCC, VCC, 0xf\n" + Save));
  // That some lane is active is known; that none is would not be.
  EXPECT_CLEAN(run(Compare + "s_cbranch_vccnz out\nout:", 1, waveItems()));
  EXPECT_SAYS(run("SMOVMASK EXEC, 0xffff\nv_mov_b32 v2, 9\n"
                  "SMOVMASK EXEC, -1\nv_cmp_gt_u32 VCC, 4, v2\n"
                  "s_cbranch_vccnz out\nout:"),
              "the branch's condition is not defined: vcc_lo depends on v2");
  // A select looks at its own lane's bit.
  EXPECT_CLEAN(run(Compare +
                   "SMOVMASK EXEC, 0xffff\n"
                   "v_cndmask_b32 v4, v0, v1, VCC\n" +
                   store("v4")));
  EXPECT_SAYS(run(Compare + "v_cndmask_b32 v4, v0, v1, VCC\n" + store("v4")),
              "lane 16: the value stored is not defined");
}

TEST_P(CheckerDefinedness, ScalarHalves) {
  const std::string Product =
      "s_mov_b32 s8, 3\nv_mad_u64_u32 v[4:5], VCC, v0, v0, s[8:9]\n";
  EXPECT_CLEAN(run(Product + store("v4")));
  EXPECT_SAYS(run(Product + store("v5")), "v5 depends on s9");
  const std::string Shift = "s_mov_b32 s8, 3\ns_lshl_b64 s[8:9], s[8:9], 32\n"
                            "v_mov_b32 v4, s9\n";
  EXPECT_CLEAN(run(Shift + store("v4")));
  EXPECT_SAYS(run("s_mov_b32 s8, 3\ns_lshr_b64 s[8:9], s[8:9], 1\n"
                  "v_mov_b32 v4, s8\n" +
                  store("v4")),
              "v4 depends on s9");
  EXPECT_CLEAN(run("s_and_b32 s8, s9, 0\nv_mov_b32 v4, s8\n" + store("v4")));
  EXPECT_SAYS(run("s_and_b32 s8, s9, 1\ns_cmp_eq_u32 s8, 0\n"
                  "s_cbranch_scc1 out\nout:"),
              "the branch's condition is not defined: scc depends on s9");
  EXPECT_CLEAN(run("s_and_b32 s8, s9, 1\ns_cmp_eq_u32 s8, 2\n"
                   "s_cbranch_scc1 out\nout:"));
}

TEST_P(CheckerDefinedness, ScalarSelect) {
  EXPECT_SAYS(run("s_cselect_b32 s8, 3, 4\nv_mov_b32 v4, s8\n" + store("v4")),
              "v4 depends on scc");
  EXPECT_CLEAN(run("s_cselect_b32 s8, 3, 3\nv_mov_b32 v4, s8\n" + store("v4")));
  EXPECT_CLEAN(run("s_cmp_eq_u32 s3, 0\ns_cselect_b32 s8, 3, s9\n"
                   "v_mov_b32 v4, s8\n" +
                   store("v4")));
}

TEST_P(CheckerDefinedness, ShuffleFromInactiveLanes) {
  const std::string Lower = "v_mov_b32 v2, v0\nSMOVMASK EXEC, 0xffff\n";
  const std::string End = "WAITL\n" + store("v4");
  // Lane L reads lane L + 16, and lane 15 - L.
  EXPECT_SAYS(
      run(Lower + "ADDV v3, 64, v1\nds_bpermute_b32 v4, v3, v2\n" + End),
      "v4 depends on v2 of a lane that was not active when it was "
      "read, at k+0x");
  EXPECT_CLEAN(run(Lower +
                   "v_xor_b32 v3, 60, v1\n"
                   "ds_bpermute_b32 v4, v3, v2\n" +
                   End));
  EXPECT_SAYS(run(Lower + "ds_swizzle_b32 v4, v2 offset:0x401f\n" + End),
              "of a lane that was not active");
  EXPECT_CLEAN(run(Lower + "ds_swizzle_b32 v4, v2 offset:0x1c1f\n" + End));
  // Lanes whose neighbour is not there choose something else.
  EXPECT_CLEAN(run(Lower +
                   "ADDV v3, 4, v1\nds_bpermute_b32 v4, v3, v2\n"
                   "SMOVMASK VCC, 0x7fff\nWAITL\n"
                   "v_cndmask_b32 v4, 0, v4, VCC\n" +
                   store("v4")));
}

TEST_P(CheckerDefinedness, ReadLaneThatIsNotActive) {
  const std::string Read = "v_readlane_b32 s8, v2, 20\nv_mov_b32 v4, s8\n";
  const std::string Lower = "SMOVMASK EXEC, 0xffff\n";
  // What lane 20 holds was there before, and is another value.
  EXPECT_SAYS(run("v_mov_b32 v2, 7\n" + Lower + "ADDV v2, v0, v0\n" + Read +
                  store("v4")),
              "v4 depends on v2 of a lane that was not active");
  EXPECT_CLEAN(run("v_mov_b32 v2, 7\n" + Lower + Read + store("v4")));
  EXPECT_CLEAN(run("v_mov_b32 v2, 7\n" + Lower +
                   "ADDV v2, v0, v0\nv_readlane_b32 s8, v2, 3\n"
                   "v_mov_b32 v4, s8\n" +
                   store("v4")));
  // A scalar register kept in a lane, as compilers do with many.
  EXPECT_CLEAN(run("v_mov_b32 v2, 7\n" + Lower +
                   "ADDV v2, v0, v0\ns_mov_b32 s9, 3\n"
                   "v_writelane_b32 v2, s9, 20\n" +
                   Read + store("v4")));
}

TEST_P(CheckerDefinedness, DppFromInactiveLanes) {
  if (isGfx9(Chip))
    GTEST_SKIP();
  const std::string Set = "v_mov_b32 v2, 7\nv_mov_b32 v4, 0\n"
                          "SMOVMASK EXEC, 0xff\nADDV v2, v0, v0\n";
  const std::string Mirror =
      "v_mov_b32_dpp v4, v2 row_mirror row_mask:0xf bank_mask:0xf";
  EXPECT_SAYS(run(Set + Mirror + " fi:1\n" + store("v4")),
              "v4 depends on v2 of a lane that was not active");
  // Without it nothing comes from there.
  EXPECT_CLEAN(run(Set + Mirror + "\n" + store("v4")));
  EXPECT_CLEAN(run(Set + Mirror + " bound_ctrl:1\n" + store("v4")));
  EXPECT_SAYS(
      run(Set + "v_permlane16_b32 v4, v2, -1, -1 op_sel:[1,0]\n" + store("v4")),
      "v4 depends on v2 of a lane that was not active");
  EXPECT_CLEAN(
      run(Set + "v_permlane16_b32 v4, v2, 0, 0 op_sel:[1,0]\n" + store("v4")));
}

TEST_P(CheckerDefinedness, PaddingThroughScratch) {
  K.ScratchBytes = 64;
  const bool Old = generation() <= 10;
  const std::string Byte = Old ? "scratch_store_byte" : "scratch_store_b8";
  const std::string Set = "v_mov_b32 v3, 4\n" + Byte +
                          " v3, v0, off\nWAITST\n" +
                          "SCLOAD v2, v3, off\nWAITV\n";
  // A copy of a structure with padding, of which nothing is computed.
  EXPECT_CLEAN(run(Set + store("v2")));
  EXPECT_CLEAN(run(Set + "v_and_b32 v4, 0xff, v2\n" + store("v4")));
  EXPECT_SAYS(run(Set + "ADDV v4, v2, v0\n" + store("v4")),
              "v4 depends on v2, which was loaded from scratch memory that was "
              "never written");
  EXPECT_SAYS(run(Set + "v_lshrrev_b32 v4, 8, v2\n" + store("v4")),
              "was never written");
}

TEST_P(CheckerDefinedness, PaddingInLds) {
  const std::string Set = "v_lshlrev_b32 v3, 3, v0\nDSWRITE1 v3, v0\n"
                          "WAITL\nDSREAD2 v[4:5], v3\nWAITL\n";
  EXPECT_CLEAN(run(Set + store("v4")));
  EXPECT_SAYS(run(Set + store("v5")), "byte 0 of LDS was never written");
  // Undefined things may be stored there.
  EXPECT_CLEAN(run("v_lshlrev_b32 v3, 4, v0\nv_mov_b32 v4, 1\n"
                   "v_mov_b32 v5, 1\nv_mov_b32 v7, 1\n"
                   "DSWRITE4 v3, v[4:7]\nWAITL\nDSREAD2 v[4:5], v3\nWAITL\n" +
                       store("v5"),
                   1, waveItems()));
  EXPECT_SAYS(run("v_lshlrev_b32 v3, 4, v0\nv_mov_b32 v4, 1\n"
                  "v_mov_b32 v5, 1\nv_mov_b32 v7, 1\n"
                  "DSWRITE4 v3, v[4:7]\nWAITL\n"
                  "DSREAD2 v[4:5], v3 offset:8\nWAITL\n" +
                      store("v4"),
                  1, waveItems()),
              "was never written");
}

TEST_P(CheckerDefinedness, PaddingInGlobalMemory) {
  // Of every second dword of B.
  for (size_t K = 0; K < 64; ++K)
    EXPECT_HIP(hipMemset(static_cast<char *>(B) + 8 * K, 1, 4));
  const std::string Load = "v_lshlrev_b32 v3, 3, v0\n"
                           "GLOAD2 v[4:5], v3, s[6:7]\nWAITV\n";
  EXPECT_CLEAN(run(Load + store("v4")));
  EXPECT_SAYS(run(Load + store("v5")),
              "v5 depends on v5, which was loaded at k+0x");
  EXPECT_SAYS(run(Load + store("v5")),
              "byte 4 of the buffer was never written");
  EXPECT_SAYS(run("SLOAD2 s[8:9], s[6:7], 0x0\nWAITS\nv_mov_b32 v4, s9\n" +
                  store("v4")),
              "byte 4 of the buffer was never written");
  EXPECT_CLEAN(run("SLOAD2 s[8:9], s[6:7], 0x0\nWAITS\nv_mov_b32 v4, s8\n" +
                   store("v4")));
}

TEST_P(CheckerDefinedness, CopiesLeaveHolesWhereTheyWere) {
  for (size_t K = 0; K < 64; ++K)
    EXPECT_HIP(hipMemset(static_cast<char *>(B) + 8 * K, 1, 4));
  const std::string Store2 =
      generation() <= 10 ? "global_store_dwordx2" : "global_store_b64";
  EXPECT_EQ(lnbwdSimDescribeBuffer(A, Bytes, "a", LNBWD_SIM_BUFFER_UNWRITTEN),
            0);
  EXPECT_CLEAN(run("v_lshlrev_b32 v3, 3, v0\nGLOAD2 v[4:5], v3, s[6:7]\n"
                   "WAITV\n" +
                       Store2 + " v3, v[4:5], s[4:5]\n",
                   1, waveItems()));
  uint64_t First = 99;
  EXPECT_EQ(lnbwdSimCountUnwritten(A, waveItems() * 8, 4, &First),
            int64_t(waveItems()));
  EXPECT_EQ(First, 1u);
}

TEST_P(CheckerDefinedness, VectorOfThree) {
  const std::string Store4 =
      generation() <= 10 ? "global_store_dwordx4" : "global_store_b128";
  const std::string Set = "v_lshlrev_b32 v3, 4, v0\nv_mov_b32 v12, 1\n"
                          "v_mov_b32 v13, 1\n";
  EXPECT_CLEAN(
      run(Set + "v_mov_b32 v14, 1\n" + Store4 + " v3, v[12:15], s[4:5]\n"));
  EXPECT_SAYS(
      run(Set + "v_mov_b32 v15, 1\n" + Store4 + " v3, v[12:15], s[4:5]\n"),
      "the value stored is not defined: v14 was never written");
}

TEST_P(CheckerDefinedness, MatrixOfHalves) {
  if (!isGfx9(Chip) || Chip == "gfx908")
    GTEST_SKIP();
  // Only the low halves of the first factor's registers exist.
  const std::string Halves = "global_load_short_d16 v8, v1, s[4:5]\n"
                             "global_load_short_d16 v9, v1, s[4:5]\nWAITV\n"
                             "v_mov_b32 v2, 1.0\nv_mov_b32 v3, 1.0\n";
  const std::string Product =
      "v_mfma_f32_4x4x4f16 v[12:15], v[8:9], v[2:3], 0\ns_nop 7\ns_nop 3\n";
  EXPECT_SAYS(run(Halves + Product + store("v12")), "v12 depends on v");
  EXPECT_CLEAN(run(Halves +
                   "v_and_b32 v8, 0xffff, v8\n"
                   "v_and_b32 v9, 0xffff, v9\ns_nop 1\n" +
                   Product + store("v12")));
}

TEST_P(CheckerDefinedness, MatrixOfBytes) {
  if (Chip != "gfx942" && Chip != "gfx950")
    GTEST_SKIP();
  const std::string Bytes = "global_load_short_d16 v8, v1, s[4:5]\n"
                            "global_load_short_d16 v9, v1, s[4:5]\nWAITV\n"
                            "v_mov_b32 v2, 0x38383838\n"
                            "v_mov_b32 v3, 0x38383838\n";
  for (const char *Types : {"fp8_bf8", "bf8_fp8"}) {
    const std::string Product = std::string("v_mfma_f32_16x16x32_") + Types +
                                " v[12:15], v[8:9], v[2:3], 0\n"
                                "s_nop 7\ns_nop 3\n";
    EXPECT_SAYS(run(Bytes + Product + store("v12")), "v12 depends on v");
    EXPECT_CLEAN(run(Bytes +
                     "v_and_b32 v8, 0xff, v8\n"
                     "v_and_b32 v9, 0xffff, v9\ns_nop 1\n" +
                     Product + store("v12")));
  }
}

static std::string zeros(unsigned First, unsigned Last) {
  std::string Text;
  for (unsigned R = First; R <= Last; ++R)
    Text += "v_mov_b32 v" + std::to_string(R) + ", 0\n";
  return Text + "s_nop 4\n";
}

// An index of 0 and 1 takes the first two of four: the others need not exist.
TEST_P(CheckerDefinedness, SparseMatrix) {
  if (Chip != "gfx942" && Chip != "gfx950" && !isGfx12(Chip))
    GTEST_SKIP();
  if (chipNamed(Chip).isCdna5()) {
    EXPECT_SAYS(run("v_swmmac_f32_16x16x64_f16 v[0:7], v[8:15], v[16:31], v40"),
                "v_swmmac_f32_16x16x64_f16");
    return;
  }
  const bool Newer = isGfx12(Chip);
  // B is in v[24:27], or of gfx12 in v[24:31].
  const std::string Product =
      Newer ? "v_swmmac_f32_16x16x32_f16 v[12:19], v[20:23], v[24:31], v2\n"
            : "v_smfmac_f32_16x16x32_f16 v[12:15], v[20:21], v[24:27], v2\n"
              "s_nop 7\ns_nop 3\n";
  const std::string Others =
      Newer ? zeros(12, 24) + "v_mov_b32 v26, 0\nv_mov_b32 v28, 0\n"
                              "v_mov_b32 v30, 0\n"
            : zeros(12, 24) + "v_mov_b32 v26, 0\ns_nop 4\n";
  const std::string FirstTwo = "v_mov_b32 v2, 0x4444\ns_nop 2\n",
                    LastTwo = "v_mov_b32 v2, 0xeeee\ns_nop 2\n";
  EXPECT_CLEAN(run(Others + FirstTwo + Product + store("v12")));
  EXPECT_SAYS(run(Others + LastTwo + Product + store("v12")),
              "v12 depends on v25");
  // The index itself.
  EXPECT_SAYS(run(Others + zeros(24, 31) + Product + store("v12")),
              "v12 depends on v2");
}

TEST_P(CheckerDefinedness, MatrixOfIntegers) {
  if (!isGfx9(Chip) || Chip == "gfx908")
    GTEST_SKIP();
  // Of the first factor only the lower bytes exist, in the lanes of 8 rows.
  const std::string Product = "v_mfma_i32_4x4x4i8 v[12:15], v8, v9, 0\n"
                              "s_nop 7\ns_nop 3\n";
  const std::string Bytes =
      "global_load_ubyte_d16 v8, v1, s[4:5]\nv_mov_b32 v9, 0\nWAITV\n";
  EXPECT_SAYS(run(Bytes + Product + store("v12")), "v12 depends on v8");
  EXPECT_CLEAN(run(Bytes + "v_and_b32 v8, 0xffff, v8\ns_nop 1\n" + Product +
                   store("v12")));
  EXPECT_SAYS(run("v_mov_b32 v8, 0\nv_mov_b32 v9, 0\ns_nop 1\n"
                  "v_mfma_i32_4x4x4i8 v[12:15], v8, v9, v[12:15]\n"
                  "s_nop 7\ns_nop 3\n" +
                  store("v12")),
              "v12 depends on v12");
}

TEST_P(CheckerDefinedness, ScalesOfMatrices) {
  if (Chip != "gfx950")
    GTEST_SKIP();
  const std::string Factors = zeros(16, 31);
  const std::string Product =
      "v_mfma_scale_f32_16x16x128_f8f6f4 v[12:15], v[16:23], v[24:31], 0, v8, "
      "v9 op_sel:[1,0,0]\ns_nop 7\ns_nop 7\n";
  // One byte of each scale counts.
  EXPECT_CLEAN(run(Factors +
                   "global_load_ubyte v8, v1, s[4:5]\n"
                   "global_load_short_d16 v8, v1, s[4:5]\n"
                   "v_mov_b32 v9, 0x7f\nWAITV\ns_nop 1\n" +
                   Product + store("v12")));
  EXPECT_SAYS(
      run(Factors + "v_mov_b32 v8, 0\ns_nop 1\n" + Product + store("v12")),
      "v12 depends on v9");
}

// The lower lanes have the scales of all rows.
TEST_P(CheckerDefinedness, ScalesOfLowerLanes) {
  if (!chipNamed(Chip).isCdna5())
    GTEST_SKIP();
  const std::string Product =
      zeros(16, 47) +
      "v_wmma_scale_f32_16x16x128_f8f6f4 v[48:55], v[16:31], "
      "v[32:47], 0, v8, v9\n" +
      store("v48");
  const std::string Convert = "v_mov_b32 v2, 0\n"
                              "v_cvt_scale_pk8_f32_fp4 v[40:47], v2, v9\n" +
                              store("v40");
  const std::string Half = "s_mov_b32 exec_lo, 0xffff\n",
                    All = "s_mov_b32 exec_lo, -1\n";
  EXPECT_CLEAN(run(Half + zeros(8, 9) + All + Product));
  EXPECT_SAYS(run(zeros(8, 8) + Product), "v48 depends on v9");
  // The lower lanes take the first byte, the upper ones the second.
  EXPECT_CLEAN(run(Half + lowHalf() + All + Convert));
  EXPECT_SAYS(run(Convert), "v9");
  EXPECT_SAYS(
      run("s_mov_b32 exec_lo, 0xffff0000\n" + zeros(9, 9) + All + Convert),
      "v9");
}

// Conversions read and write bytes and halves.
TEST_P(CheckerDefinedness, Conversions) {
  if (Chip != "gfx942" && Chip != "gfx950" && !isGfx12(Chip))
    GTEST_SKIP();
  const std::string Low = "v_cvt_pk_fp8_f32 v12, v2, v2\n",
                    High = "v_cvt_pk_fp8_f32 v12, v2, v2 op_sel:[0,0,1]\n",
                    Set = "v_mov_b32 v2, 1.0\n";
  EXPECT_CLEAN(run(Set + Low + High + store("v12")));
  EXPECT_SAYS(run(Set + Low + store("v12")), "v12");
  EXPECT_CLEAN(run(Set + Low + "v_and_b32 v12, 0xffff, v12\n" + store("v12")));
  // The first byte is defined, and nothing else.
  const std::string Byte = isGfx12(Chip) ? "global_load_d16_u8 v8, v1, s[4:5]\n"
                                         : "global_load_ubyte_d16 v8, v1, "
                                           "s[4:5]\n";
  EXPECT_CLEAN(run(Byte + "WAITV\nv_cvt_f32_fp8 v12, v8\n" + store("v12")));
  EXPECT_SAYS(run(Set +
                  "v_cvt_sr_fp8_f32 v12, v2, v9\n"
                  "v_and_b32 v12, 0xff, v12\n" +
                  store("v12")),
              "v9");
  if (Chip != "gfx950")
    return;
  EXPECT_SAYS(run("v_mov_b32 v2, 0\nv_cvt_scalef32_f32_fp8 v12, v2, v9\n" +
                  store("v12")),
              "v9");
  // Of 32 values one is missing.
  EXPECT_CLEAN(run(zeros(16, 30) + Set +
                   "v_cvt_scalef32_pk32_fp6_f16 v[8:13], v[16:31], v2\n" +
                   store("v12")));
  EXPECT_SAYS(run(zeros(16, 30) + Set +
                  "v_cvt_scalef32_pk32_fp6_f16 v[8:13], v[16:31], v2\n" +
                  store("v13")),
              "v31");
}

// gfx11 writes results of 16 bits to half of a register.
TEST_P(CheckerDefinedness, HalvesOfMatrixResults) {
  if (chipNamed(Chip).Generation != 11)
    GTEST_SKIP();
  const std::string Factors = zeros(16, 31);
  const std::string Product =
      "v_wmma_f16_16x16x16_f16 v[8:15], v[16:23], v[24:31], 0";
  EXPECT_SAYS(run(Factors + Product + "\n" + store("v8")), "v8");
  EXPECT_CLEAN(
      run(Factors + Product + "\nv_and_b32 v8, 0xffff, v8\n" + store("v8")));
}

INSTANTIATE_TEST_SUITE_P(Chips, CheckerDefinedness,
                         ::testing::ValuesIn(std::vector<std::string>{
                             "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030",
                             "gfx1100", "gfx1201", "gfx1250"}),
                         [](const auto &Info) { return Info.param; });
