//===- CheckerEscapeTest.cpp - Published faults of shipped code -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Faults that docs/checker.md lists: the broken code is caught, the mended
// code runs clean. Faults of source code are those of Inputs/escapes.c, skipped
// where there is no clang beside LLVM's tools; faults of compilers are spelt
// here.
//
//===----------------------------------------------------------------------===//

#include "CheckedKernels.h"
#include "CheckerTester.h"

using namespace lnbwd::sim;

namespace {
struct Escape {
  const char *Name;
  unsigned Workgroups;
  const char *Says;
  /// Chips of generation 9 have no such fault.
  bool NotOnGfx9 = false;
};

constexpr Escape Escapes[] = {
    {"scratch_behind_a_local_barrier", 1, "a race: ", true},
    {"two_loops_one_buffer", 1, "a race: "},
    {"root_of_the_diagonal", 1, "a race: "},
    {"residual_of_the_last_sweep", 1, "a race: "},
    {"payload_of_a_look_back", 2, "a stale read: ", true},
    {"broadcast_then_reuse", 1, "a race: "},
    {"counters_of_a_radix_select", 1, "a race: "},
    {"scalar_without_mask", 1, "a race: "},
    {"fence_as_a_barrier", 1, "a barrier between the two is missing"},
    {"look_back_states_misaligned", 1, "is not aligned to its size"},
    {"partial_sums_of_two_dimensions", 1, "is outside of every buffer"},
    {"store_moved_behind_a_bare_barrier", 1,
     "a barrier between the two is missing"},
};

class CheckerEscapes : public CheckedKernels<std::string> {
protected:
  static constexpr unsigned Items = 256;
  void SetUp() override { load("escapes", GetParam(), "O2"); }
  void prepare() {
    for (unsigned K = 0; K < 2; ++K)
      EXPECT_HIP(hipMemset(Buffers[K], 0, Bytes));
    EXPECT_EQ(lnbwdSimDescribeBuffer(Buffers[2], Bytes, "out",
                                     LNBWD_SIM_BUFFER_UNWRITTEN),
              0);
  }
  std::string run(const std::string &Name, unsigned Workgroups = 1) {
    return launchOnBuffers(Name, Workgroups, Items / (isGfx9(Chip) ? 64 : 32));
  }
};

/// Faults of a compiler, at the chips that have the instructions.
class CheckerCompilerEscapes : public CheckerTest {};
} // namespace

TEST_P(CheckerEscapes, AreReported) {
  for (const Escape &E : Escapes) {
    prepare();
    const std::string Said = run(std::string(E.Name) + "_fault", E.Workgroups);
    if (E.NotOnGfx9 && isGfx9(Chip))
      EXPECT_EQ(Said, "") << E.Name;
    else
      EXPECT_NE(Said.find(E.Says), std::string::npos) << E.Name << ": " << Said;
    prepare();
    EXPECT_EQ(run(std::string(E.Name) + "_clean", E.Workgroups), "") << E.Name;
  }
}

TEST_P(CheckerEscapes, HalfOfTheGradientsMissing) {
  prepare();
  EXPECT_CLEAN(run("gamma_beta_of_wave_32_clean"));
  EXPECT_CLEAN(run("read_gradients"));
  prepare();
  EXPECT_CLEAN(run("gamma_beta_of_wave_32_fault"));
  if (isGfx9(Chip))
    EXPECT_CLEAN(run("read_gradients"));
  else
    EXPECT_SAYS(run("read_gradients"), "never written");
}

// llvm-project #220356: the wait of a fence at the head of a loop is dropped,
// although the loop ends with a store.
TEST_P(CheckerCompilerEscapes, WaitForTheStoreOfTheLastTrip) {
  auto Loop = [](const std::string &Fence) {
    return "v_xor_b32 v3, 64, v0\nv_lshlrev_b32 v3, 2, v3\n"
           "DSWRITE1 v1, v0\nWAITL\ns_mov_b32 s8, 0\nloop:\n" +
           Fence +
           "\nBARRIER\nDSREAD1 v2, v3\nWAITL\nBARRIER\nDSWRITE1 v1, v2\n"
           "s_add_u32 s8, s8, 1\ns_cmp_lt_u32 s8, 3\ns_cbranch_scc1 loop";
  };
  EXPECT_CLEAN(run(Loop("WAITL"), 1, 128));
  EXPECT_SAYS(run(Loop(""), 1, 128), "the access was still in flight when");
}

// llvm-project #75245: no wait between a load to LDS and the read there.
TEST_P(CheckerCompilerEscapes, LoadToLdsThenRead) {
  if (Chip != "gfx942" && Chip != "gfx950")
    GTEST_SKIP();
  auto Kernel = [](const std::string &Wait) {
    return "s_mov_b32 m0, 0\ns_nop 0\nglobal_load_lds_dword v1, s[4:5]\n" +
           Wait + "\nDSREAD1 v2, v1\nWAITL\nWAITV";
  };
  EXPECT_CLEAN(run(Kernel("WAITV")));
  EXPECT_SAYS(run(Kernel("")), "before what global_load_lds_dword");
}

// llvm-project #178316: the flag is stored while the L2 is still writing back.
// Not caught: what is written back counts as done at once.
TEST_P(CheckerCompilerEscapes, FlagBeforeTheWriteBackIsDone) {
  if (Chip != "gfx942")
    GTEST_SKIP();
  auto Kernel = [](const std::string &Wait) {
    return "s_cmp_eq_u32 s3, 0\ns_cbranch_scc0 reader\n"
           "v_mov_b32 v2, 1\nv_mov_b32 v3, 0\n"
           "global_store_dword v1, v0, s[6:7]\ns_waitcnt vmcnt(0)\n"
           "buffer_wbl2 sc1\n" +
           Wait +
           "\nglobal_store_dword v3, v2, s[4:5] sc1\ns_endpgm\nreader:\n"
           "v_mov_b32 v3, 0\npoll:\nglobal_load_dword v2, v3, s[4:5] sc1\n"
           "s_waitcnt vmcnt(0)\nv_readfirstlane_b32 s8, v2\n"
           "s_cmp_eq_u32 s8, 1\ns_cbranch_scc0 poll\nbuffer_inv sc1\n"
           "global_load_dword v4, v1, s[6:7]\ns_waitcnt vmcnt(0)";
  };
  EXPECT_CLEAN(run(Kernel("s_waitcnt vmcnt(0)"), 2));
  EXPECT_HIP(hipMemset(A, 0, Bytes));
  EXPECT_CLEAN(run(Kernel(""), 2));
}

// llvm-project #202333: no wait states between a wide store in a branch and
// what overwrites its data. As in #213394, the pass that places waits relies on
// a branch that another pass removes.
TEST_P(CheckerCompilerEscapes, DataOfAWideStoreIsOverwritten) {
  if (Chip != "gfx942" && Chip != "gfx950")
    GTEST_SKIP();
  lnbwdSimSetChecks(LNBWD_SIM_CHECK_ALL);
  auto Kernel = [](const std::string &Between) {
    return "s_mov_b64 s[8:9], exec\nv_lshlrev_b32 v8, 4, v0\n"
           "v_mov_b32 v2, 1.0\nv_mov_b32 v3, 1.0\n"
           "v_mov_b32 v4, 1.0\nv_mov_b32 v5, 1.0\n"
           "global_store_dwordx4 v8, v[2:5], s[6:7]\n" +
           Between + "\nv_pk_mul_f32 v[2:3], v[4:5], v[4:5]\nend:";
  };
  EXPECT_CLEAN(run(Kernel("s_or_b64 exec, exec, s[8:9]\ns_nop 0")));
  EXPECT_SAYS(run(Kernel("s_or_b64 exec, exec, s[8:9]")), "wait state");
  EXPECT_CLEAN(run(Kernel("s_nop 0\ns_cbranch_execz end")));
  EXPECT_SAYS(run(Kernel("s_nop 0")), "wait state");
}

// llvm-project #213394: the pass that places waits for xcnt relies on a branch
// that another pass removes.
TEST_P(CheckerCompilerEscapes, BranchAfterWhichNoAddressIsTranslated) {
  if (Chip != "gfx1250")
    GTEST_SKIP();
  auto Kernel = [](const std::string &Branch) {
    return "s_load_b32 s8, s[4:5], 0x0\n" + Branch +
           "\nnext: s_mov_b32 s4, 0\ns_wait_kmcnt 0x0";
  };
  EXPECT_CLEAN(run(Kernel("s_cbranch_execz next")));
  EXPECT_SAYS(run(Kernel("")), "a wait for xcnt of 0 is missing");
}

// llvm-project #222040: wait states are counted 19 instructions back, and a
// product of 16 passes on gfx950 needs 20.
TEST_P(CheckerCompilerEscapes, ResultOfALongProduct) {
  if (Chip != "gfx950")
    GTEST_SKIP();
  lnbwdSimSetChecks(LNBWD_SIM_CHECK_ALL);
  auto Kernel = [](unsigned Between) {
    std::string Text =
        "v_mov_b32 v2, 0\nv_mov_b32 v3, 0\ns_nop 1\n"
        "v_mfma_f32_32x32x4_2b_bf16 v[32:63], v[2:3], v[2:3], 0\n";
    for (unsigned K = 0; K < Between; ++K)
      Text += "s_nop 0\n";
    return Text + "v_mov_b32 v4, v32";
  };
  EXPECT_CLEAN(run(Kernel(20)));
  EXPECT_SAYS(run(Kernel(19)), "needs 20 wait states");
}

// llvm-project #183546: no vector instructions between a matrix instruction and
// a dual one that overwrites one of its factors.
TEST_P(CheckerCompilerEscapes, FactorIsOverwrittenByADualInstruction) {
  if (Chip != "gfx1250")
    GTEST_SKIP();
  lnbwdSimSetChecks(LNBWD_SIM_CHECK_HAZARDS);
  const std::string First =
      "v_wmma_f32_16x16x32_f16 v[8:15], v[16:23], v[24:31], v[8:15]\n"
      "v_nop\nv_nop\nv_nop\n";
  for (const char *Second :
       {"v_dual_mov_b32 v32, 0 :: v_dual_mov_b32 v31, 0",
        "v_dual_mov_b32 v30, 0 :: v_dual_mov_b32 v33, 0"}) {
    EXPECT_CLEAN(run(First + "v_nop\n" + Second));
    EXPECT_SAYS(run(First + Second), "3 vector instructions later of 4");
  }
}

// FlyDSL #1087: a spilled pair of scalar registers is never written, and is the
// base of a buffer descriptor.
TEST_P(CheckerCompilerEscapes, BaseOfADescriptorIsNotDefined) {
  if (!isGfx9(Chip))
    GTEST_SKIP();
  auto Kernel = [](const std::string &Base) {
    return Base + "s_mov_b32 s10, 0x4000\ns_mov_b32 s11, 0x20000\n"
                  "buffer_load_dword v2, v1, s[8:11], 0 offen\nWAITV";
  };
  EXPECT_CLEAN(run(Kernel("s_mov_b64 s[8:9], s[4:5]\n")));
  EXPECT_SAYS(run(Kernel("")), "is not defined");
}

INSTANTIATE_TEST_SUITE_P(Families, CheckerEscapes,
                         ::testing::Values("gfx90a", "gfx942", "gfx1100",
                                           "gfx1201"),
                         [](const auto &Info) { return Info.param; });
INSTANTIATE_TEST_SUITE_P(Families, CheckerCompilerEscapes,
                         ::testing::Values("gfx90a", "gfx942", "gfx950",
                                           "gfx1100", "gfx1201", "gfx1250"),
                         [](const auto &Info) { return Info.param; });
