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
//
//===----------------------------------------------------------------------===//

#include "Assembler/Assembler.h"
#include "HipTester.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

using namespace lnbwd::sim;

static const std::vector<std::string> AllChips = {"gfx90a", "gfx942", "gfx950",
                                                  "gfx1100", "gfx1201"};
static bool isGfx9(const std::string &Chip) { return Chip[3] == '9'; }
static bool isGfx12(const std::string &Chip) { return Chip == "gfx1201"; }

/// Replaces the names in capitals, which stand for what each generation calls
/// an instruction.
static std::string spell(std::string S, const std::string &Chip) {
  const bool Cdna3 = Chip == "gfx942" || Chip == "gfx950";
  struct Word {
    const char *Name, *Gfx9, *Gfx11, *Gfx12;
  };
  const Word Words[] = {
      {"GLOAD1", "global_load_dword", "global_load_b32", "global_load_b32"},
      {"GLOAD2", "global_load_dwordx2", "global_load_b64", "global_load_b64"},
      {"GSTORE1", "global_store_dword", "global_store_b32", "global_store_b32"},
      {"GADD", "global_atomic_add", "global_atomic_add_u32",
       "global_atomic_add_u32"},
      {"GCAS", "global_atomic_cmpswap", "global_atomic_cmpswap_b32",
       "global_atomic_cmpswap_b32"},
      {"RETURN", Cdna3 ? "sc0" : "glc", "glc", "th:TH_ATOMIC_RETURN"},
      {"SCLOAD", "scratch_load_dword", "scratch_load_b32", "scratch_load_b32"},
      {"SCSTORE", "scratch_store_dword", "scratch_store_b32",
       "scratch_store_b32"},
      {"SLOAD1", "s_load_dword", "s_load_b32", "s_load_b32"},
      {"SLOAD2", "s_load_dwordx2", "s_load_b64", "s_load_b64"},
      {"SLOAD4", "s_load_dwordx4", "s_load_b128", "s_load_b128"},
      {"DSWRITE1", "ds_write_b32", "ds_store_b32", "ds_store_b32"},
      {"DSWRITE4", "ds_write_b128", "ds_store_b128", "ds_store_b128"},
      {"DSREAD1", "ds_read_b32", "ds_load_b32", "ds_load_b32"},
      {"DSREAD2", "ds_read_b64", "ds_load_b64", "ds_load_b64"},
      {"ADDV", "v_add_u32", "v_add_nc_u32", "v_add_nc_u32"},
      {"WAITV", "s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(0)",
       "s_wait_loadcnt 0x0"},
      {"WAITST", "s_waitcnt vmcnt(0)", "s_waitcnt_vscnt null, 0x0",
       "s_wait_storecnt 0x0"},
      {"WAIT1V", "s_waitcnt vmcnt(1)", "s_waitcnt vmcnt(1)",
       "s_wait_loadcnt 0x1"},
      {"WAITL", "s_waitcnt lgkmcnt(0)", "s_waitcnt lgkmcnt(0)",
       "s_wait_dscnt 0x0"},
      {"WAIT1L", "s_waitcnt lgkmcnt(1)", "s_waitcnt lgkmcnt(1)",
       "s_wait_dscnt 0x1"},
      {"WAITS", "s_waitcnt lgkmcnt(0)", "s_waitcnt lgkmcnt(0)",
       "s_wait_kmcnt 0x0"},
      {"WAIT1S", "s_waitcnt lgkmcnt(1)", "s_waitcnt lgkmcnt(1)",
       "s_wait_kmcnt 0x1"},
      {"BARRIER", "s_barrier", "s_barrier",
       "s_barrier_signal -1\ns_barrier_wait -1"},
      {"WORKGROUP", "s2", "s2", "ttmp9"},
      {"EXEC", "exec", "exec_lo", "exec_lo"},
      {"SMOVMASK", "s_mov_b64", "s_mov_b32", "s_mov_b32"},
      {"VCC", "vcc", "vcc_lo", "vcc_lo"},
      // Longer than any wave: the number of a work-item's wave.
      {"WAVESHIFT", "6", "5", "5"},
      {"IDMASK", "0x3ff", "0x3ff", "0x3ff"},
  };
  // The longest names first, as some begin with others.
  std::vector<const Word *> Order;
  for (const Word &W : Words)
    Order.push_back(&W);
  llvm::sort(Order, [](const Word *A, const Word *B) {
    return std::strlen(A->Name) > std::strlen(B->Name);
  });
  for (const Word *W : Order) {
    const char *To = isGfx9(Chip)    ? W->Gfx9
                     : isGfx12(Chip) ? W->Gfx12
                                     : W->Gfx11;
    for (size_t At = 0; (At = S.find(W->Name, At)) != std::string::npos;
         At += std::strlen(To))
      S.replace(At, std::strlen(W->Name), To);
  }
  return S;
}

/// s[4:5] and s[6:7] are the two arguments, s3 the workgroup's number, v0 the
/// work-item's x, v1 = 4 * v0.
static const char *const Prologue = R"(
  SLOAD4 s[4:7], s[0:1], 0x0
  s_mov_b32 s3, WORKGROUP
  v_and_b32 v0, IDMASK, v0
  v_lshlrev_b32 v1, 2, v0
  WAITS
)";

namespace {
/// Two buffers of 16 KiB; checks on while it lives.
class CheckerTest : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    Chip = GetParam();
    useChip(Chip);
    lnbwdSimSetChecks(LNBWD_SIM_CHECK_ALL);
    EXPECT_HIP(hipMalloc(&A, Bytes));
    EXPECT_HIP(hipMalloc(&B, Bytes));
    EXPECT_HIP(hipMemset(A, 0, Bytes));
    K.KernargBytes = 16;
    K.LdsBytes = 1024;
    K.Body = Prologue;
  }
  void TearDown() override {
    (void)hipFree(A);
    (void)hipFree(B);
    lnbwdSimSetChecks(0);
    lnbwdSimSetShuffle(0);
  }
  /// Runs the body behind the prologue; the message of the error, or "".
  std::string run(const std::string &Text, dim3 Grid = 1, dim3 Block = 64) {
    KernelText Whole = K;
    Whole.Body = spell(K.Body + Text + "\n", Chip);
    std::string Error;
    auto Code = assembleCodeObject(kernelText(Whole, Chip), Chip, 5, Error);
    EXPECT_FALSE(Code.empty()) << Error << Whole.Body;
    if (Code.empty())
      return "does not assemble";
    LoadedModule M(Code);
    Launched = launch(M.function("k"), Grid, Block, 0, A, B);
    return Launched == hipSuccess ? "" : lnbwdSimLastErrorMessage();
  }
  unsigned waveItems() const { return isGfx9(Chip) ? 64 : 32; }

  static constexpr size_t Bytes = 16384;
  std::string Chip;
  void *A = nullptr, *B = nullptr;
  KernelText K;
  hipError_t Launched = hipSuccess;
};
} // namespace

#define EXPECT_SAYS(TEXT, PART)                                                \
  do {                                                                         \
    const std::string &Said = (TEXT);                                          \
    EXPECT_NE(Said.find(PART), std::string::npos) << Said;                     \
  } while (0)
#define EXPECT_CLEAN(TEXT) EXPECT_EQ((TEXT), "")

INSTANTIATE_TEST_SUITE_P(Chips, CheckerTest, ::testing::ValuesIn(AllChips),
                         [](const auto &Info) { return Info.param; });

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST_P(CheckerTest, GlobalMemoryNeverWritten) {
  const char *Read = "GLOAD1 v2, v1, s[6:7]\nWAITV\nGSTORE1 v1, v2, s[4:5]";
  std::string Text = run(Read);
  EXPECT_SAYS(Text, "kernel 'k', workgroup (0, 0, 0), wave 0, lane 0: read of "
                    "4 bytes");
  EXPECT_SAYS(Text, "byte 0 of the buffer at");
  EXPECT_SAYS(Text, "the memory was never written; at k+0x");
  EXPECT_SAYS(Text, spell("GLOAD1 v2, v1, s[6:7]", Chip));
  EXPECT_EQ(Launched, hipErrorLaunchFailure);
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  EXPECT_CLEAN(run(Read));
}

TEST_P(CheckerTest, ContentsMoveWithCopies) {
  const char *Read = "GLOAD1 v2, v1, s[6:7]\nWAITV\nGSTORE1 v1, v2, s[4:5]";
  void *C = nullptr;
  ASSERT_HIP(hipMalloc(&C, Bytes));
  // Byte 130 of C, which lane 32 reads in B, is the first without contents.
  EXPECT_HIP(hipMemset(C, 1, 130));
  EXPECT_HIP(hipMemcpy(B, C, Bytes, hipMemcpyDeviceToDevice));
  EXPECT_SAYS(run(Read, 1, 32), "");
  EXPECT_SAYS(run(Read, 1, 64), "byte 130 of the buffer");
  EXPECT_HIP(hipFree(C));
}

TEST_P(CheckerTest, ScalarLoadOfMemoryNeverWritten) {
  const char *Read = "SLOAD2 s[8:9], s[6:7], 0x40\nWAITS\nv_mov_b32 v2, s8\n"
                     "GSTORE1 v1, v2, s[4:5]";
  EXPECT_SAYS(run(Read), "the memory was never written");
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  EXPECT_CLEAN(run(Read));
}

TEST_P(CheckerTest, UseAfterFree) {
  void *Old = B;
  EXPECT_HIP(hipFree(B));
  EXPECT_HIP(hipMalloc(&B, Bytes));
  std::swap(Old, B); // Launch with the freed one.
  std::string Text = run("GLOAD1 v2, v1, s[6:7]\nWAITV");
  std::swap(Old, B);
  EXPECT_SAYS(Text, "is a use after free: it was in a buffer of 16384 bytes");
  EXPECT_EQ(Launched, hipErrorIllegalAddress);
}

TEST_P(CheckerTest, UseAfterFreeNamesTheBuffer) {
  EXPECT_EQ(lnbwdSimDescribeBuffer(B, Bytes, "gamma", 0), 0);
  void *Old = B;
  EXPECT_HIP(hipFree(B));
  EXPECT_HIP(hipMalloc(&B, Bytes));
  std::swap(Old, B); // Launch with the freed one.
  std::string Text = run("GLOAD1 v2, v1, s[6:7]\nWAITV");
  std::swap(Old, B);
  EXPECT_SAYS(Text, "it was in the buffer 'gamma' of 16384 bytes");
}

TEST_P(CheckerTest, NullPointer) {
  EXPECT_SAYS(run("s_mov_b32 s4, 0\ns_mov_b32 s5, 0\n"
                  "GLOAD1 v2, v1, s[4:5] offset:64\nWAITV"),
              "read of 4 bytes at 0x40 is outside of every buffer: the address "
              "is, or is near, a null pointer");
}

TEST_P(CheckerTest, KernelArgumentsAndCode) {
  EXPECT_SAYS(run("SLOAD2 s[8:9], s[0:1], 0x10\nWAITS"),
              "byte 16 of the buffer 'kernel arguments'");
  // A wider load than the arguments that are left, as compilers make them.
  EXPECT_CLEAN(run("SLOAD4 s[8:11], s[0:1], 0x8\nWAITS"));
  EXPECT_SAYS(
      run("v_mov_b32 v2, 0\nGSTORE1 v2, v0, s[0:1]"),
      "byte 0 of the buffer 'kernel arguments' of 128 bytes: the buffer "
      "is read-only to kernels");
  EXPECT_SAYS(run("s_getpc_b64 s[8:9]\nv_mov_b32 v2, 0\n"
                  "GSTORE1 v2, v0, s[8:9]"),
              "this part of it is read-only to kernels");
}

TEST_P(CheckerTest, OutOfBoundsNamesTheBuffer) {
  EXPECT_EQ(lnbwdSimDescribeBuffer(B, 128, "dgamma", 0), 0);
  std::string Text = run("GSTORE1 v1, v0, s[6:7]");
  EXPECT_SAYS(Text, isGfx9(Chip) ? "wave 0, lane 32: write of 4 bytes"
                                 : "wave 1, lane 0: write of 4 bytes");
  EXPECT_SAYS(Text, "the nearest buffer 'dgamma' is at");
  EXPECT_SAYS(Text, "0 bytes past its end");
  EXPECT_CLEAN(run("GSTORE1 v1, v0, s[6:7]", 1, 32));
  EXPECT_EQ(lnbwdSimDescribeBuffer(B, Bytes + 1, "dgamma", 0), -1);
}

TEST_P(CheckerTest, WriteToReadOnlyInput) {
  EXPECT_EQ(lnbwdSimDescribeBuffer(A, Bytes, "x", LNBWD_SIM_BUFFER_READ_ONLY),
            0);
  EXPECT_SAYS(run("GSTORE1 v1, v0, s[4:5] offset:8"), "write of 4 bytes");
  EXPECT_SAYS(run("GSTORE1 v1, v0, s[4:5] offset:8"),
              "byte 8 of the buffer 'x' of 16384 bytes: the buffer is "
              "read-only to kernels");
  EXPECT_SAYS(run("GADD v1, v0, s[4:5]"), "read-only");
  EXPECT_CLEAN(run("GLOAD1 v2, v1, s[4:5]\nWAITV\nGSTORE1 v1, v2, s[6:7]"));
}

TEST_P(CheckerTest, ForgottenContents) {
  const char *Read = "GLOAD1 v2, v1, s[4:5]\nWAITV\nGSTORE1 v1, v2, s[6:7]";
  EXPECT_CLEAN(run(Read));
  EXPECT_EQ(
      lnbwdSimDescribeBuffer(A, Bytes, "workspace", LNBWD_SIM_BUFFER_UNWRITTEN),
      0);
  EXPECT_SAYS(run(Read), "byte 0 of the buffer 'workspace'");
}

TEST_P(CheckerTest, Alignment) {
  // Hardware performs misaligned global accesses, so that they are an error
  // only when that is asked for.
  const char *Global = "ADDV v1, 2, v1\nGLOAD1 v2, v1, s[4:5]\nWAITV";
  EXPECT_CLEAN(run(Global));
  lnbwdSimSetChecks(LNBWD_SIM_CHECK_ALL | LNBWD_SIM_CHECK_ALIGNMENT);
  EXPECT_SAYS(run(Global), "the address is not aligned to 4");
  lnbwdSimSetChecks(LNBWD_SIM_CHECK_ALL);
  EXPECT_SAYS(run("ADDV v1, 2, v1\nDSWRITE1 v1, v0"),
              "LDS write of 4 bytes at 2 of 1024: the address is not aligned "
              "to 4");
  EXPECT_SAYS(run("s_or_b32 s4, s4, 2\nSLOAD1 s8, s[4:5], 0x0\nWAITS"),
              "the address is not aligned to 4, and hardware ignores");
  EXPECT_SAYS(run("ADDV v1, 2, v1\nGADD v1, v0, s[4:5]"),
              "an atomic access is not aligned");
}

TEST_P(CheckerTest, LdsNeverWritten) {
  EXPECT_SAYS(run("DSREAD1 v2, v1\nWAITL"),
              "lane 0: LDS read of 4 bytes at 0 of 1024: the memory was never "
              "written by this workgroup");
  // Not by the one before either.
  const char *OnlyTheFirst = R"(
  s_cmp_lg_u32 s3, 0
  s_cbranch_scc1 later
  DSWRITE1 v1, v0
  WAITL
later:
  DSREAD1 v2, v1
  WAITL)";
  EXPECT_CLEAN(run(OnlyTheFirst, 1));
  EXPECT_SAYS(run(OnlyTheFirst, 2), "workgroup (1, 0, 0)");
}

TEST_P(CheckerTest, Scratch) {
  K.ScratchBytes = 64;
  K.Body += "v_mov_b32 v3, 4\n";
  EXPECT_CLEAN(run("SCSTORE v3, v0, off\nWAITST\n"
                   "SCLOAD v2, v3, off\nWAITV\n"
                   "GSTORE1 v1, v2, s[4:5]"));
  // A spilled register may be undefined, a stored value not.
  EXPECT_CLEAN(run("SCLOAD v2, v3, off\nWAITV"));
  EXPECT_SAYS(run("SCLOAD v2, v3, off\nWAITV\n"
                  "GSTORE1 v1, v2, s[4:5]"),
              "the value stored is not defined: v2 depends on v2, which was "
              "loaded from scratch memory that was never written, at k+0x");
  EXPECT_SAYS(run("SCSTORE v3, v0, off offset:60"), "outside of the lane's");
  EXPECT_SAYS(run("v_mov_b32 v3, 2\nSCSTORE v3, v0, off"),
              "is not aligned to 4");
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

TEST_P(CheckerTest, VectorRegisterNeverWritten) {
  std::string Text = run("ADDV v2, v9, v0\nGSTORE1 v1, v2, s[4:5]");
  EXPECT_SAYS(Text, "the value stored is not defined: v2 depends on v9, which "
                    "was never written before it was read at k+0x");
  EXPECT_SAYS(run("GLOAD1 v2, v9, s[4:5]"),
              "the address is not defined: v9 was never written");
  // Moving it about does not matter.
  EXPECT_CLEAN(run("v_mov_b32 v2, v9\nADDV v3, v2, v0"));
}

TEST_P(CheckerTest, OnlyLanesThatMatter) {
  const char *Store = "v_mov_b32 v2, 1\nGSTORE1 v1, v2, s[4:5]\n";
  EXPECT_CLEAN(run(Store));
  std::string Half = "SMOVMASK EXEC, 0xffff\nv_mov_b32 v2, 1\n";
  EXPECT_CLEAN(run(Half + "GSTORE1 v1, v2, s[4:5]"));
  EXPECT_SAYS(run(Half + "SMOVMASK EXEC, 0x1ffff\nGSTORE1 v1, v2, s[4:5]"),
              "lane 16: the value stored is not defined: v2 was never written");
  // A select that does not choose it.
  EXPECT_CLEAN(run(Half + "SMOVMASK EXEC, 0x1ffff\nSMOVMASK VCC, 0xffff\n"
                          "v_cndmask_b32 v3, v0, v2, VCC\n"
                          "GSTORE1 v1, v3, s[4:5]"));
  EXPECT_SAYS(run(Half + "SMOVMASK EXEC, 0x1ffff\nSMOVMASK VCC, 0x1ffff\n"
                         "v_cndmask_b32 v3, v0, v2, VCC\n"
                         "GSTORE1 v1, v3, s[4:5]"),
              "lane 16: the value stored");
}

TEST_P(CheckerTest, LaneExchange) {
  // Lanes 0 to 15 of v2 exist; a mirror takes the rest from lanes that do not.
  std::string Half = "SMOVMASK EXEC, 0x5555\nv_mov_b32 v2, 1\n"
                     "SMOVMASK EXEC, 0xffff\n";
  EXPECT_SAYS(run(Half + "v_mov_b32_dpp v3, v2 row_mirror row_mask:0xf "
                         "bank_mask:0xf\nSMOVMASK EXEC, 0x5555\n"
                         "GSTORE1 v1, v3, s[4:5]"),
              "lane 0: the value stored is not defined: v3 depends on v2");
  EXPECT_CLEAN(run(Half + "v_mov_b32_dpp v3, v2 row_mirror row_mask:0xf "
                          "bank_mask:0xf\nSMOVMASK EXEC, 0xaaaa\n"
                          "GSTORE1 v1, v3, s[4:5]"));
  EXPECT_SAYS(run(Half + "v_readlane_b32 s8, v2, 1\nv_mov_b32 v3, s8\n"
                         "GSTORE1 v1, v3, s[4:5]"),
              "the value stored");
  EXPECT_CLEAN(run(Half + "v_readlane_b32 s8, v2, 2\nv_mov_b32 v3, s8\n"
                          "GSTORE1 v1, v3, s[4:5]"));
}

TEST_P(CheckerTest, LaneExchangeThroughLds) {
  // Lanes 0 to 15 of v2 exist: which lane of v4 does depends on the addresses.
  std::string Half = "SMOVMASK EXEC, 0xffff\nv_mov_b32 v2, 1\n"
                     "SMOVMASK EXEC, 0xffffffff\n";
  std::string Store = "\nWAITL\nGSTORE1 v1, v4, s[4:5]";
  auto From = [&](const char *Lane) {
    return Half + "v_mov_b32 v3, 4*" + Lane + "\n";
  };
  EXPECT_CLEAN(run(From("15") + "ds_bpermute_b32 v4, v3, v2" + Store));
  EXPECT_SAYS(run(From("16") + "ds_bpermute_b32 v4, v3, v2" + Store),
              "v4 depends on v2, which was never written before");
  EXPECT_SAYS(run(Half + "ds_permute_b32 v4, v1, v2" + Store),
              "lane 16: the value stored is not defined: v4 depends on v2");
  EXPECT_SAYS(run(Half + "v_mov_b32 v5, 1\nds_permute_b32 v4, v9, v5" + Store),
              "lane 0: the value stored is not defined: v4 depends on v9");
  EXPECT_CLEAN(run(Half + "ds_swizzle_b32 v4, v2 offset:0x0" + Store));
  EXPECT_SAYS(run(Half + "ds_swizzle_b32 v4, v2 offset:0x401f" + Store),
              "lane 0: the value stored is not defined: v4 depends on v2");
}

TEST_P(CheckerTest, Permlane) {
  if (isGfx9(Chip))
    GTEST_SKIP();
  std::string Half = "SMOVMASK EXEC, 0xffff\nv_mov_b32 v2, 1\n"
                     "SMOVMASK EXEC, 0xffffffff\n";
  std::string Store = "SMOVMASK EXEC, 0xffff\nGSTORE1 v1, v4, s[4:5]";
  EXPECT_CLEAN(run(Half + "v_permlane16_b32 v4, v2, 0, 0\n" + Store));
  EXPECT_SAYS(run(Half + "v_permlanex16_b32 v4, v2, 0, 0\n" + Store),
              "lane 0: the value stored is not defined: v4 depends on v2");
  EXPECT_SAYS(run(Half + "v_permlane16_b32 v4, v2, s9, s9\n" + Store),
              "v4 depends on s9");
}

TEST_P(CheckerTest, PermlaneSwap) {
  if (Chip != "gfx950")
    GTEST_SKIP();
  // After the exchange the lower half of v3 has the upper one of v2.
  std::string Half = "s_mov_b32 exec_lo, -1\ns_mov_b32 exec_hi, 0\n"
                     "v_mov_b32 v2, 1\ns_mov_b32 exec_hi, -1\n"
                     "v_mov_b32 v3, 1\nv_permlane32_swap_b32 v2, v3\n";
  EXPECT_CLEAN(run(Half + "GSTORE1 v1, v2, s[4:5]"));
  EXPECT_SAYS(run(Half + "GSTORE1 v1, v3, s[4:5]"),
              "lane 0: the value stored is not defined: v3 depends on v2");
}

TEST_P(CheckerTest, MatrixElements) {
  // Lanes 0 to 15 of v2 hold the columns that lanes 0 to 15 of the result
  // belong to.
  if (!isGfx9(Chip))
    GTEST_SKIP();
  std::string Product =
      "s_mov_b64 exec, 0xffff\nv_mov_b32 v2, 1.0\ns_mov_b64 exec, -1\n"
      "v_mov_b32 v3, 1.0\nv_mfma_f32_4x4x1f32 v[12:15], v3, v2, 0\n"
      "s_nop 15\n";
  EXPECT_CLEAN(
      run(Product + "s_mov_b64 exec, 0xffff\nGSTORE1 v1, v12, s[4:5]"));
  EXPECT_SAYS(run(Product + "GSTORE1 v1, v15, s[4:5]"),
              "lane 16: the value stored is not defined: v15 depends on v2");
}

TEST_P(CheckerTest, ScalarRegisterNeverWritten) {
  EXPECT_SAYS(run("s_add_i32 s8, s9, 1\nv_mov_b32 v2, s8\n"
                  "GSTORE1 v1, v2, s[4:5]"),
              "v2 depends on s9, which was never written");
  EXPECT_SAYS(run("GLOAD1 v2, v1, s[8:9]"),
              "the address is not defined: s8 was never written");
  EXPECT_SAYS(run("SLOAD1 s12, s[8:9], 0x0"), "the address is not defined");
  EXPECT_SAYS(run("s_cmp_eq_u32 s9, 0\ns_cbranch_scc1 out\nout:"),
              "the branch's condition is not defined: scc depends on s9");
  EXPECT_SAYS(run("s_cbranch_scc0 out\nout:"),
              "the branch's condition is not defined: scc was never written");
  EXPECT_SAYS(run("s_cbranch_vccnz out\nout:"),
              "the branch's condition is not defined: vcc_lo was never");
  EXPECT_SAYS(run("SMOVMASK EXEC, VCC"), "the new EXEC is not defined");
  EXPECT_CLEAN(run("s_cmp_eq_u32 s3, 0\ns_cbranch_scc1 out\nout:"));
}

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

/// Each wave writes its own dwords and reads those of a neighbouring wave.
static std::string exchange(const std::string &Between) {
  return "DSWRITE1 v1, v0\n" + Between +
         "v_xor_b32 v3, 64, v0\nv_lshlrev_b32 v3, 2, v3\n"
         "DSREAD1 v2, v3\nWAITL\nGSTORE1 v1, v2, s[4:5]";
}

TEST_P(CheckerTest, LdsRace) {
  EXPECT_CLEAN(run(exchange("WAITL\nBARRIER\n"), 1, 128));
  // Without a barrier, whatever the order of execution is: the memory check,
  // which depends on it, is off.
  lnbwdSimSetChecks(LNBWD_SIM_CHECK_RACES);
  for (uint64_t Seed = 0; Seed < 8; ++Seed) {
    lnbwdSimSetShuffle(Seed);
    EXPECT_SAYS(run(exchange("WAITL\n"), 1, 128), "a race: wave");
  }
}

TEST_P(CheckerTest, LdsWriteAfterRead) {
  // One wave writes, whose place the wave before it in time has read.
  std::string Again = std::string("\nv_readfirstlane_b32 s8, v0\n") +
                      "s_cmp_lg_u32 s8, " + (isGfx9(Chip) ? "0" : "64") +
                      "\ns_cbranch_scc1 out\nDSWRITE1 v1, v0\nout:";
  std::string Text = run(exchange("WAITL\nBARRIER\n") + Again, 1, 128);
  EXPECT_SAYS(Text, "LDS write of 4 bytes");
  EXPECT_SAYS(Text, "has read it, and no barrier");
  EXPECT_CLEAN(run(exchange("WAITL\nBARRIER\n") + "\nBARRIER" + Again, 1, 128));
}

TEST_P(CheckerTest, LdsStoreNotFinishedAtTheBarrier) {
  EXPECT_SAYS(run(exchange("BARRIER\n"), 1, 128),
              "with their accesses waited for");
}

TEST_P(CheckerTest, LdsReadNotFinishedAtTheBarrier) {
  // The second barrier comes before the reads of the other wave are done.
  std::string Read = "DSWRITE1 v1, v0\nWAITL\nBARRIER\n"
                     "v_xor_b32 v3, 64, v0\nv_lshlrev_b32 v3, 2, v3\n"
                     "DSREAD1 v2, v3\n";
  std::string Write = "BARRIER\nDSWRITE1 v1, v0\nWAITL";
  EXPECT_SAYS(run(Read + Write, 1, 128), "has read it, and no barrier");
  EXPECT_CLEAN(run(Read + "WAITL\n" + Write, 1, 128));
}

TEST_P(CheckerTest, OnlyWhatIsNotFinishedAtTheBarrier) {
  // The first wave's dwords 4 to 67 are there; its stores to dwords 0 and 75,
  // on both sides of them, are not when the barrier is passed.
  std::string Text = R"(
  v_lshrrev_b32 v2, WAVESHIFT, v0
  v_readfirstlane_b32 s8, v2
  v_mov_b32 v5, 0
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 other
  DSWRITE1 v1, v0 offset:16
  WAITL
  BARRIER
  SMOVMASK EXEC, 3
  v_mul_u32_u24 v6, 300, v0
  DSWRITE1 v6, v5
  BARRIER
  s_endpgm
other:
  BARRIER
  BARRIER
  v_subrev_co_u32 v7, VCC, ITEMS, v0
  v_lshlrev_b32 v7, 2, v7
  DSREAD1 v2, v7 offset:PLACE
  WAITL)";
  auto At = [&](const char *Place) {
    std::string S = Text;
    S.replace(S.find("PLACE"), 5, Place);
    S.replace(S.find("ITEMS"), 5, std::to_string(waveItems()));
    if (!isGfx9(Chip))
      S.replace(S.find("v_subrev_co_u32 v7, VCC,"), 24, "v_subrev_nc_u32 v7,");
    return run(S, 1, 2 * waveItems());
  };
  EXPECT_CLEAN(At("16"));
  EXPECT_SAYS(At("0"), "a race: wave 0 has written it");
}

TEST_P(CheckerTest, LdsAtomicsOfSeveralWaves) {
  // A wave reads what it and others have added to: a race whoever was last.
  std::string Text = R"(
  v_lshrrev_b32 v2, WAVESHIFT, v0
  v_readfirstlane_b32 s8, v2
  v_mov_b32 v5, 0
  v_mov_b32 v6, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 later
  DSWRITE1 v5, v5
  WAITL
later:
  BARRIER
  ds_add_u32 v5, v6
  WAITL
  s_cmp_lg_u32 s8, READER
  s_cbranch_scc1 out
  DSREAD1 v7, v5
  WAITL
out:)";
  for (const char *Reader : {"0", "1", "2"})
    for (uint64_t Seed = 0; Seed < 6; ++Seed) {
      std::string S = Text;
      S.replace(S.find("READER"), 6, Reader);
      lnbwdSimSetShuffle(Seed);
      EXPECT_SAYS(run(S, 1, 3 * waveItems()), "a race: wave");
    }
}

TEST_P(CheckerTest, LdsAtomicsDoNotRace) {
  std::string Init = "DSWRITE1 v1, v0\nWAITL\nBARRIER\nv_mov_b32 v2, 0\n";
  EXPECT_CLEAN(run(Init + "ds_add_u32 v2, v0\nWAITL", 1, 256));
  EXPECT_SAYS(
      run(Init + "ds_add_u32 v2, v0\nWAITL\nDSREAD1 v3, v2\nWAITL", 1, 256),
      "a race");
}

TEST_P(CheckerTest, GlobalRaceBetweenWorkgroups) {
  // All workgroups write the same dwords.
  std::string Text = run("GSTORE1 v1, v0, s[4:5]", 4);
  EXPECT_SAYS(Text, "a race: workgroup (");
  EXPECT_SAYS(Text, "has written it in the same launch, and no atomic orders");
  EXPECT_CLEAN(run("GADD v1, v0, s[4:5]", 4));
  // Each its own.
  std::string Own = "s_lshl_b32 s8, s3, 8\nADDV v2, s8, v1\n";
  EXPECT_CLEAN(run(Own + "GSTORE1 v2, v0, s[4:5]", 4));
  // One reads what another one writes.
  std::string Neighbour = Own + "v_xor_b32 v3, 0x100, v2\n"
                                "GLOAD1 v4, v3, s[4:5]\nWAITV\n"
                                "GSTORE1 v2, v0, s[4:5]";
  for (uint64_t Seed = 0; Seed < 4; ++Seed) {
    lnbwdSimSetShuffle(Seed);
    EXPECT_SAYS(run(Neighbour, 2), "a race: workgroup (");
  }
}

TEST_P(CheckerTest, ReadCheckedByACompareSwap) {
  // What an atomic that the chip lacks becomes: all workgroups read the dwords,
  // and a compare-and-swap finds out whether what they read is still there.
  std::string Read = "GLOAD1 v3, v1, s[4:5]\nWAITV\nADDV v2, 1, v3\n";
  for (uint64_t Seed = 0; Seed < 4; ++Seed) {
    lnbwdSimSetShuffle(Seed);
    EXPECT_CLEAN(run(Read + "GCAS v1, v[2:3], s[4:5]", 4));
    // Another atomic does not check it.
    EXPECT_SAYS(run(Read + "GADD v1, v2, s[4:5]", 4), "a race: workgroup (");
  }
}

TEST_P(CheckerTest, CompareSwapOfOnesOwnDword) {
  // A plain store is not excused by the compare-and-swap that follows it.
  std::string Text = R"(
  v_mov_b32 v2, 1
  v_mov_b32 v3, 0
  s_cmp_lg_u32 s3, 0
  s_cbranch_scc1 other
  GSTORE1 v1, v0, s[4:5]
  WAITST
  GCAS v1, v[2:3], s[4:5]
  s_endpgm
other:
  GLOAD1 v5, v1, s[4:5]
  WAITV)";
  for (uint64_t Seed = 0; Seed < 4; ++Seed) {
    lnbwdSimSetShuffle(Seed);
    EXPECT_SAYS(run(Text, 2), "a race: workgroup (");
  }
}

TEST_P(CheckerTest, SmallerThanADword) {
  // Bytes of one dword by different workgroups are no race.
  std::string Own = "s_lshl_b32 s8, s3, 0\nv_mov_b32 v2, s8\n";
  std::string Byte = isGfx9(Chip) ? "global_store_byte" : "global_store_b8";
  std::string One = "SMOVMASK EXEC, 1\n";
  EXPECT_CLEAN(run(One + Own + Byte + " v2, v0, s[4:5]", 8));
  EXPECT_SAYS(run(One + "v_mov_b32 v2, 0\n" + Byte + " v2, v0, s[4:5]", 8),
              "a race");
}

TEST_P(CheckerTest, OrderedByATicket) {
  // Every workgroup writes its dword, takes a ticket, and the last one reads
  // all of them.
  std::string Text = R"(
  SMOVMASK EXEC, 1
  s_lshl_b32 s8, s3, 2
  v_mov_b32 v2, s8
  v_mov_b32 v3, s3
  GSTORE1 v2, v3, s[4:5]
  WAITST
  v_mov_b32 v4, 0
  v_mov_b32 v5, 1
  TICKET
  v_readfirstlane_b32 s9, v6
  s_cmp_lg_u32 s9, 3
  s_cbranch_scc1 out
  SMOVMASK EXEC, 15
  GLOAD1 v7, v1, s[4:5]
  WAITV
out:)";
  const dim3 Wave(waveItems()); // One ticket for a workgroup.
  auto With = [&](const std::string &Ticket) {
    std::string S = Text;
    S.replace(S.find("TICKET"), 6, Ticket);
    return S;
  };
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  EXPECT_CLEAN(run(With("GADD v6, v4, v5, s[6:7] RETURN\n  WAITV"), 4, Wave));
  // The ticket must not be drawn before the store has been waited for.
  std::string Early = With("GADD v6, v4, v5, s[6:7] RETURN\n  WAITV");
  Early.erase(Early.find("WAITST"), 6);
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  EXPECT_SAYS(run(Early, 4, Wave),
              "was issued before the store had been waited for");
  // Unless another one is drawn after that.
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  Early.replace(Early.find("GADD"), 4,
                "GADD v6, v4, v5, s[6:7] offset:64 RETURN\n WAITST\n GADD");
  EXPECT_CLEAN(run(Early, 4, Wave));
  // Nor is anything wrong with a store that nobody else reads.
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  EXPECT_CLEAN(run(With("GSTORE1 v2, v3, s[6:7] offset:1024\n"
                        "GADD v6, v4, v5, s[6:7] RETURN\n  WAITV"),
                   4, Wave));
  // Without it the same accesses race.
  EXPECT_SAYS(run(With("v_mov_b32 v6, 3"), 4, Wave), "a race");
}

TEST_P(CheckerTest, BarrierThatNotAllReach) {
  std::string Text = "v_lshrrev_b32 v2, WAVESHIFT, v0\n"
                     "v_readfirstlane_b32 s8, v2\ns_cmp_eq_u32 s8, 1\n"
                     "s_cbranch_scc1 out\nBARRIER\nout:";
  EXPECT_SAYS(run(Text, 1, 256), "without reaching");
  EXPECT_CLEAN(run("BARRIER", 1, 256));
}

TEST_P(CheckerTest, ShuffledOrderReachesEverything) {
  std::string Own = "s_lshl_b32 s8, s3, 8\nADDV v2, s8, v1\n"
                    "v_mov_b32 v3, s3\nGSTORE1 v2, v3, s[4:5]";
  for (uint64_t Seed : {1ull, 7ull, 12345678901ull}) {
    lnbwdSimSetShuffle(Seed);
    EXPECT_HIP(hipMemset(A, 0xff, Bytes));
    EXPECT_CLEAN(run(Own, 60));
    std::vector<uint32_t> Data(Bytes / 4);
    EXPECT_HIP(hipMemcpy(Data.data(), A, Bytes, hipMemcpyDeviceToHost));
    for (unsigned N = 0; N < 60 * 64; ++N)
      ASSERT_EQ(Data[N], N / 64);
  }
}

//===----------------------------------------------------------------------===//
// Waits
//===----------------------------------------------------------------------===//

TEST_P(CheckerTest, LoadNotWaitedFor) {
  std::string Counter = isGfx12(Chip) ? "loadcnt" : "vmcnt";
  std::string Text = run("GLOAD1 v2, v1, s[4:5]\nADDV v3, v2, v0");
  EXPECT_SAYS(Text, "v2 is read before the result of " +
                        spell("GLOAD1 v2, v1, s[4:5]", Chip) + " at k+0x");
  EXPECT_SAYS(Text, "a wait for " + Counter + " of 0 is missing");
  EXPECT_SAYS(run("GLOAD1 v2, v1, s[4:5]\nv_mov_b32 v2, 0"),
              "v2 is overwritten before");
  EXPECT_CLEAN(run("GLOAD1 v2, v1, s[4:5]\nWAITV\nADDV v3, v2, v0"));
  // Waiting for something else does not help.
  EXPECT_SAYS(run("GLOAD1 v2, v1, s[4:5]\nWAITL\nADDV v3, v2, v0"),
              "is read before");
  // Nor does it matter in an address or as data.
  EXPECT_SAYS(run("GLOAD1 v2, v1, s[4:5]\nGSTORE1 v1, v2, s[6:7]"),
              "is read before");
}

TEST_P(CheckerTest, LoadsFinishInOrder) {
  std::string Two = "GLOAD1 v2, v1, s[4:5]\nGLOAD1 v3, v1, s[4:5] offset:4\n"
                    "WAIT1V\n";
  EXPECT_CLEAN(run(Two + "ADDV v4, v2, v0"));
  std::string Text = run(Two + "ADDV v4, v3, v0");
  EXPECT_SAYS(Text, "v3 is read before");
  EXPECT_SAYS(Text, "of 0 is missing");
  EXPECT_SAYS(run("GLOAD1 v2, v1, s[4:5]\nGLOAD1 v3, v1, s[4:5] offset:4\n"
                  "ADDV v4, v2, v0"),
              "of at most 1 is missing");
  // A younger load of the same kind may overwrite the older one's register.
  EXPECT_CLEAN(run("GLOAD1 v2, v1, s[4:5]\nGLOAD1 v2, v1, s[4:5] offset:4\n"
                   "WAITV"));
  // Only gfx9 counts stores together with loads.
  std::string Store = "GLOAD1 v2, v1, s[4:5]\nGSTORE1 v1, v0, s[6:7]\nWAIT1V\n"
                      "ADDV v4, v2, v0";
  if (isGfx9(Chip))
    EXPECT_CLEAN(run(Store));
  else
    EXPECT_SAYS(run(Store), "is read before");
}

TEST_P(CheckerTest, LdsAndScalarWaits) {
  std::string Write = "DSWRITE1 v1, v0\nDSWRITE1 v1, v0 offset:256\nWAITL\n";
  EXPECT_SAYS(run(Write + "DSREAD1 v2, v1\nADDV v3, v2, v0"),
              isGfx12(Chip) ? "a wait for dscnt" : "a wait for lgkmcnt");
  std::string Two = Write + "DSREAD1 v2, v1\nDSREAD1 v3, v1 offset:256\n"
                            "WAIT1L\n";
  EXPECT_CLEAN(run(Two + "ADDV v4, v2, v0"));
  EXPECT_SAYS(run(Two + "ADDV v4, v3, v0"), "v3 is read before");
  EXPECT_SAYS(run(Write + "ds_swizzle_b32 v2, v0 offset:0x1f\nADDV v3, v2, v0"),
              "v2 is read before");
  // Scalar loads finish in any order.
  std::string Scalar = "SLOAD1 s8, s[4:5], 0x0\nSLOAD1 s9, s[4:5], 0x40\n";
  EXPECT_SAYS(run(Scalar + "s_add_i32 s10, s8, 1"), "s8 is read before");
  EXPECT_SAYS(run(Scalar + "WAIT1S\ns_add_i32 s10, s8, 1"),
              "s8 is read before");
  EXPECT_SAYS(run(Scalar + "s_mov_b32 s8, 1"), "s8 is overwritten before");
  EXPECT_CLEAN(run(Scalar + "WAITS\ns_add_i32 s10, s8, 1"));
  EXPECT_SAYS(run("SLOAD2 s[8:9], s[4:5], 0x0\nGLOAD1 v2, v1, s[8:9]"),
              "s8 is read before");
}

TEST_P(CheckerTest, CombinedWaitsOfGfx12) {
  if (!isGfx12(Chip))
    GTEST_SKIP();
  std::string Text = "DSWRITE1 v1, v0\nWAITL\nGLOAD1 v2, v1, s[4:5]\n"
                     "DSREAD1 v3, v1\n";
  EXPECT_CLEAN(run(Text + "s_wait_loadcnt_dscnt 0x0\nADDV v4, v2, v3"));
  EXPECT_SAYS(run(Text + "s_wait_loadcnt_dscnt 0x100\nADDV v4, v2, v3"),
              "v2 is read before");
  EXPECT_SAYS(run(Text + "s_wait_storecnt_dscnt 0x0\nADDV v4, v2, v3"),
              "v2 is read before");
}

TEST_P(CheckerTest, LoadToLdsNotWaitedFor) {
  if (Chip != "gfx942" && Chip != "gfx950")
    GTEST_SKIP();
  K.MaxFlatWorkgroupSize = 64;
  std::string Load = "s_mov_b32 m0, 0\ns_nop 0\n"
                     "global_load_lds_dword v1, s[4:5]\n";
  EXPECT_SAYS(run(Load + "DSREAD1 v2, v1\nWAITL"),
              "before what global_load_lds_dword");
  EXPECT_CLEAN(run(Load + "WAITV\nDSREAD1 v2, v1\nWAITL"));
  EXPECT_SAYS(run("global_load_lds_dword v1, s[4:5]"), "m0 was never written");
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

TEST_P(CheckerTest, RegistersBeyondTheDescriptor) {
  K.Vgprs = 24;
  EXPECT_CLEAN(run("v_mov_b32 v23, 0"));
  EXPECT_SAYS(run("v_mov_b32 v40, 0"),
              "v40 is used, but the kernel descriptor allocates only 24");
  if (!isGfx9(Chip))
    return;
  K.Sgprs = 16;
  EXPECT_SAYS(run("s_mov_b32 s60, 0"), "s60 is used, but");
}

TEST_P(CheckerTest, BlockThatTheRegistersDoNotFit) {
  K.Vgprs = 256;
  K.Directives = "";
  std::string Text = run("v_mov_b32 v2, 0", 1, 1024);
  if (isGfx9(Chip)) {
    EXPECT_SAYS(Text, "does not fit on " + Chip);
    EXPECT_EQ(Launched, hipErrorInvalidConfiguration);
    EXPECT_CLEAN(run("v_mov_b32 v2, 0", 1, 512));
  }
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
                   "SMOVMASK EXEC, 0xff\n"
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
  EXPECT_EQ(Lds->getInteger("bank_conflict_cycles"), Chip == "gfx950" ? 3 : 7);
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
