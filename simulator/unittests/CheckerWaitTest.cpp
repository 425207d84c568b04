//===- CheckerWaitTest.cpp - Kernels that do not wait ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that use a result before they waited for it are caught, and their
// repaired twins run clean.
//
//===----------------------------------------------------------------------===//

#include "CheckerTester.h"

using namespace lnbwd::sim;

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
  // A younger load of the same kind may overwrite the older one's register;
  // not on gfx12, whose loads write registers in any order.
  const std::string Again =
      run("GLOAD1 v2, v1, s[4:5]\nGLOAD1 v2, v1, s[4:5] offset:4\nWAITV");
  if (isGfx12(Chip))
    EXPECT_SAYS(Again, "v2 is overwritten before");
  else
    EXPECT_CLEAN(Again);
  // Only gfx9 counts stores together with loads.
  std::string Store = "GLOAD1 v2, v1, s[4:5]\nGSTORE1 v1, v0, s[6:7]\nWAIT1V\n"
                      "ADDV v4, v2, v0";
  if (isGfx9(Chip))
    EXPECT_CLEAN(run(Store));
  else
    EXPECT_SAYS(run(Store), "is read before");
}

// Code that the launch jumps over is checked on all of its paths.
TEST_P(CheckerTest, WaitsInCodeThatIsNotExecuted) {
  auto Skipped = [&](const std::string &Text) {
    return run("v_mov_b32 v2, 0\ns_cmp_eq_u32 s3, s3\ns_cbranch_scc1 over\n" +
               Text + "\nover:\nADDV v3, v2, v0");
  };
  const std::string Counter = isGfx12(Chip) ? "loadcnt" : "vmcnt";
  const std::string Message =
      Skipped("GLOAD1 v2, v1, s[4:5]\nADDV v3, v2, v0\nWAITV");
  EXPECT_SAYS(Message, "in code that this launch has not executed, v2 is read "
                       "before the result of " +
                           spell("GLOAD1 v2, v1, s[4:5]", Chip) + " at k+0x");
  EXPECT_SAYS(Message, "a wait for " + Counter + " of 0 is missing");
  EXPECT_CLEAN(Skipped("GLOAD1 v2, v1, s[4:5]\nWAITV\nADDV v3, v2, v0"));
  EXPECT_SAYS(Skipped("SLOAD1 s8, s[4:5], 0x0\ns_mov_b32 s9, s8\nWAITS"),
              "s8 is read before");
  EXPECT_SAYS(Skipped("DSREAD1 v4, v1\nADDV v5, v4, v0\nWAITL"),
              "v4 is read before");
  // A wait that leaves one too many.
  const std::string Two = "GLOAD1 v4, v1, s[4:5]\nGLOAD1 v5, v1, s[4:5]\n";
  EXPECT_CLEAN(Skipped(Two + "WAIT1V\nADDV v6, v4, v0\nWAITV"));
  EXPECT_SAYS(Skipped(Two + "WAIT1V\nADDV v6, v5, v0\nWAITV"),
              "v5 is read before");
  // In a loop: what the round before has loaded, and waited for.
  auto Loop = [&](const char *Wait) {
    return Skipped("GLOAD1 v4, v1, s[4:5]\nagain:\n" + std::string(Wait) +
                   "\nADDV v6, v4, v0\nGLOAD1 v4, v1, s[4:5]\n"
                   "s_cmp_lg_u32 s3, s3\ns_cbranch_scc1 again\nWAITV");
  };
  EXPECT_CLEAN(Loop("WAITV"));
  EXPECT_SAYS(Loop("WAIT1V"), "v4 is read before");
  // On the path that is taken nothing is under way, and no path is made up.
  EXPECT_CLEAN(Skipped("GLOAD1 v2, v1, s[4:5]"));
}

// Memory instructions of gfx11 and gfx12 access a half of a register without
// the other; the vector ALU, and all code of earlier chips, waits for both.
TEST_P(CheckerTest, HalvesInFlight) {
  const unsigned Generation = chipNamed(Chip).Generation;
  const bool Halves = Generation >= 11;
  auto Load = [&](bool High) {
    return Halves ? High ? "global_load_d16_hi_b16 v2, v1, s[4:5] offset:2\n"
                         : "global_load_d16_b16 v2, v1, s[4:5]\n"
           : High ? "global_load_short_d16_hi v2, v1, s[4:5] offset:2\n"
                  : "global_load_short_d16 v2, v1, s[4:5]\n";
  };
  auto Store = [&](bool High) {
    return std::string(Halves ? High ? "global_store_d16_hi_b16"
                                     : "global_store_b16"
                       : High ? "global_store_short_d16_hi"
                              : "global_store_short") +
           " v1, v2, s[6:7]";
  };
  for (bool High : {false, true}) {
    const std::string Two =
        std::string("v_mov_b32 v2, 0\n") + Load(High) + Load(!High);
    EXPECT_SAYS(run(Two + Store(High)), "v2 is read before the result of");
    EXPECT_SAYS(run(Two + "WAIT1V\n" + Store(!High)),
                "v2 is read before the result of");
    if (Halves) {
      EXPECT_SAYS(run(Two + Store(High)), "of at most 1 is missing");
      EXPECT_CLEAN(run(Two + "WAIT1V\n" + Store(High)));
    } else {
      EXPECT_SAYS(run(Two + "WAIT1V\n" + Store(High)),
                  "v2 is read before the result of");
    }
    EXPECT_SAYS(run(Two + "WAIT1V\nGSTORE1 v1, v2, s[6:7]"),
                "v2 is read before");
    EXPECT_SAYS(run(Two + "WAIT1V\nADDV v3, v0, v2"), "v2 is read before");
    EXPECT_SAYS(run(Two + "WAIT1V\nv_mov_b32 v2, 0"),
                "v2 is overwritten before");
    EXPECT_CLEAN(run(Two + "WAITV\nGSTORE1 v1, v2, s[6:7]"));
  }
  if (Generation == 11) {
    const std::string High = std::string("v_mov_b32 v2, 0\n") + Load(true);
    EXPECT_SAYS(run(High + "v_mov_b16 v3.l, v2.l"), "v2 is read before");
    EXPECT_SAYS(run(High + "v_mov_b16 v2.l, v0.l"), "v2 is overwritten before");
  }
  // Halves that come from memory and from LDS finish in any order.
  EXPECT_SAYS(run("DSWRITE1 v1, v0\nv_mov_b32 v2, 0\nWAITL\n" +
                  std::string(Halves ? "ds_load_u16_d16" : "ds_read_u16_d16") +
                  " v2, v1\n" + Load(true) + "WAITV\nWAITL"),
              "v2 is overwritten before");
}

TEST_P(CheckerTest, LdsAndScalarWaits) {
  std::string Write = "DSWRITE1 v1, v0\nDSWRITE1 v1, v0 offset:256\nWAITL\n";
  EXPECT_SAYS(run(Write + "DSREAD1 v2, v1\nADDV v3, v2, v0"),
              isGfx12(Chip) ? "a wait for dscnt" : "a wait for lgkmcnt");
  // A scalar load may finish before or after both, which keep their order.
  EXPECT_CLEAN(run(Write + "SLOAD1 s8, s[4:5], 0x0\nDSREAD1 v2, v1\n"
                           "DSREAD1 v2, v1 offset:256"));
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

// The hardware issues no access while the counter is full; the one that has
// made room may be any that keeps no order.
TEST_P(CheckerTest, FullCounterInAnyOrder) {
  if (isGfx12(Chip))
    GTEST_SKIP(); // It counts scalar loads apart.
  K.Vgprs = 128;
  K.Sgprs = 96;
  const std::string Write = "DSWRITE1 v1, v0\nWAITL\n";
  std::string Reads;
  for (unsigned K = 0; K < 70; ++K)
    Reads += "DSREAD1 v" + std::to_string(10 + K) + ", v1\n";
  const std::string Use = "s_add_i32 s10, s8, 1";
  const std::string Scalar = "SLOAD1 s8, s[4:5], 0x0\n";
  EXPECT_SAYS(run(Write + Scalar + Reads + Use), "s8 is read before");
  EXPECT_CLEAN(run(Write + Scalar + Reads + "WAITL\n" + Use));
  // The oldest of 70 accesses to LDS has made room for the youngest.
  EXPECT_CLEAN(run(Write + Scalar + Reads + "ADDV v2, v10, v0"));
  EXPECT_SAYS(run(Write + Scalar + Reads + "ADDV v2, v79, v0"),
              "v79 is read before");
  // None of as many scalar loads is known to have finished.
  std::string Loads;
  for (unsigned K = 0; K < 70; ++K)
    Loads += "SLOAD1 s" + std::to_string(20 + K) + ", s[4:5], 0x0\n";
  EXPECT_SAYS(run(Loads + "s_add_i32 s10, s20, 1"), "s20 is read before");
  EXPECT_CLEAN(run(Loads + "WAITS\ns_add_i32 s10, s20, 1"));
}

// Flat accesses of gfx9 keep no order.
TEST_P(CheckerTest, FullCounterOfFlatAccesses) {
  if (!isGfx9(Chip))
    GTEST_SKIP();
  K.Vgprs = 128;
  const std::string Address = "v_mov_b32 v3, s5\nv_add_co_u32 v2, vcc, s4, v1\n"
                              "v_addc_co_u32 v3, vcc, 0, v3, vcc\n";
  std::string Loads;
  for (unsigned K = 0; K < 70; ++K)
    Loads += "flat_load_dword v" + std::to_string(10 + K) + ", v[2:3]\n";
  EXPECT_SAYS(run(Address + Loads + "ADDV v4, v10, v0"), "v10 is read before");
  EXPECT_CLEAN(
      run(Address + Loads + "s_waitcnt vmcnt(0) lgkmcnt(0)\nADDV v4, v10, v0"));
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

// Asynchronous loads have a counter of their own, in whose order they finish.
TEST_P(CheckerTest, AsynchronousLoads) {
  if (!chipNamed(Chip).isCdna5())
    GTEST_SKIP();
  const std::string Load = "ADDV v3, v1, 0x100\n"
                           "global_load_async_to_lds_b32 v1, v1, s[4:5]\n"
                           "global_load_async_to_lds_b32 v3, v1, s[4:5]\n";
  const char *Missing = "a wait for asynccnt is missing";
  EXPECT_SAYS(run(Load + "s_wait_loadcnt 0x0\nDSREAD1 v2, v1"), Missing);
  EXPECT_CLEAN(run(Load + "s_wait_asynccnt 0x1\nDSREAD1 v2, v1"));
  EXPECT_SAYS(run(Load + "s_wait_asynccnt 0x1\nDSREAD1 v2, v3"), Missing);
  EXPECT_CLEAN(run(Load + "s_wait_asynccnt 0x0\nDSREAD1 v2, v3"));
  // What is stored there meanwhile may be lost.
  EXPECT_SAYS(run(Load + "DSWRITE1 v3, v0"), Missing);
  // The wave that loads waits before the barrier, behind which others read.
  const std::string Other = "v_xor_b32 v4, 0x80, v1\n";
  EXPECT_SAYS(run(Other + Load + "BARRIER\nDSREAD1 v2, v4", 1, 64),
              "a wait for asynccnt of 0 is missing before the barrier");
  EXPECT_CLEAN(run(
      Other + Load + "s_wait_asynccnt 0x0\nBARRIER\nDSREAD1 v2, v4", 1, 64));
}

TEST_P(CheckerTest, AsynchronousStores) {
  if (!chipNamed(Chip).isCdna5())
    GTEST_SKIP();
  const std::string Fill = "DSWRITE1 v1, v0\nWAITL\n",
                    Store = "global_store_async_from_lds_b32 v1, v1, s[6:7]\n",
                    Wait = "s_wait_asynccnt 0x0\n";
  const char *Missing = "a wait for asynccnt is missing";
  EXPECT_CLEAN(run(Fill + Store));
  EXPECT_SAYS(run(Store), "never written by this workgroup");
  EXPECT_CLEAN(run(Fill + Store + "DSREAD1 v2, v1"));
  EXPECT_SAYS(run(Fill + Store + "DSWRITE1 v1, v0"), "stores from there");
  EXPECT_CLEAN(run(Fill + Store + Wait + "DSWRITE1 v1, v0"));
  // Loads and stores finish in any order among each other.
  const std::string Load = "ADDV v3, v1, 0x100\n"
                           "global_load_async_to_lds_b32 v3, v1, s[4:5]\n";
  EXPECT_SAYS(run(Fill + Load + Store + "s_wait_asynccnt 0x1\nDSREAD1 v2, v3"),
              Missing);
  EXPECT_CLEAN(run(Fill + Load + Store + Wait + "DSREAD1 v2, v3"));
  // Another wave overwrites it behind a barrier.
  const std::string Other = "BARRIER\nv_xor_b32 v4, 0x80, v1\nDSWRITE1 v4, v0";
  EXPECT_SAYS(run(Fill + Store + Other, 1, 64),
              "a wait for asynccnt of 0 is missing before the barrier");
  EXPECT_CLEAN(run(Fill + Store + Wait + Other, 1, 64));
}

// Each wave copies 128 bytes. Tensors' copies have a counter of their own.
TEST_P(CheckerTest, TensorCopies) {
  if (!chipNamed(Chip).isCdna5())
    GTEST_SKIP();
  auto Descriptor = [](const char *Address) {
    const std::string A = Address;
    return "v_readfirstlane_b32 s9, v1\ns_mov_b32 s8, 1\n"
           "s_add_co_u32 s10, s" +
           A + ", s9\ns_or_b32 s11, s" + std::to_string(std::stoi(A) + 1) +
           ", 0x80000000\ns_mov_b32 s12, 0x20000\ns_mov_b32 s13, 0x200000\n"
           "s_mov_b32 s14, 0\ns_mov_b32 s15, 0x200000\ns_mov_b32 s16, 0\n"
           "s_mov_b32 s17, 0\ns_mov_b32 s18, 0\ns_mov_b32 s19, 0\n";
  };
  const std::string Load =
      Descriptor("4") + "tensor_load_to_lds s[8:11], s[12:19]\n";
  const std::string Store =
      Descriptor("6") + "tensor_store_from_lds s[8:11], s[12:19]\n";
  const std::string Fill = "DSWRITE1 v1, v0\nWAITL\n",
                    Wait = "s_wait_tensorcnt 0x0\n",
                    Other = "v_xor_b32 v4, 0x80, v1\nBARRIER\n";
  const char *Missing = "a wait for tensorcnt is missing";
  const char *Before =
      "a wait for tensorcnt of 0 is missing before the barrier";
  EXPECT_SAYS(run(Load + "s_wait_asynccnt 0x0\nDSREAD1 v2, v1"), Missing);
  EXPECT_CLEAN(run(Load + Wait + "DSREAD1 v2, v1"));
  EXPECT_SAYS(run(Load + "DSWRITE1 v1, v0"), Missing);
  EXPECT_SAYS(run(Load + Other + "DSREAD1 v2, v4", 1, 64), Before);
  EXPECT_CLEAN(run(Load + Wait + Other + "DSREAD1 v2, v4", 1, 64));
  // One counter's wait does not stand for the other's.
  const std::string Async = "ADDV v3, v1, 0x100\n"
                            "global_load_async_to_lds_b32 v3, v1, s[4:5]\n";
  EXPECT_CLEAN(run(Async + Load + Wait + Other + "DSREAD1 v2, v4", 1, 64));

  EXPECT_CLEAN(run(Fill + Store));
  EXPECT_SAYS(run(Store), "never written by this workgroup");
  EXPECT_SAYS(run(Fill + Store + "DSWRITE1 v1, v0"), "stores from there");
  EXPECT_CLEAN(run(Fill + Store + Wait + "DSWRITE1 v1, v0"));
  EXPECT_SAYS(run(Fill + Store + Other + "DSWRITE1 v4, v0", 1, 64), Before);
  // Two workgroups store different values to one place.
  EXPECT_SAYS(
      run("ADDV v5, v0, WORKGROUP\nDSWRITE1 v1, v5\nWAITL\n" + Store, 2, 32),
      "a race");
  EXPECT_CLEAN(run(Fill + Store, 2, 32));
  EXPECT_SAYS(run(Load + "s_mov_b32 s13, s30\n" +
                  "tensor_load_to_lds s[28:31], s[12:19]"),
              "the address is not defined");
}

// Hardware may repeat an access until its addresses are translated.
TEST_P(CheckerTest, AddressTranslation) {
  if (!chipNamed(Chip).isCdna5())
    GTEST_SKIP();
  const std::string Load = "GLOAD1 v2, v1, s[4:5]\n", Set = "v_mov_b32 v1, 0",
                    Store = "GSTORE1 v1, v0, s[6:7]\n";
  const char *Missing = "a wait for xcnt of 0 is missing";
  EXPECT_SAYS(run(Load + Set), "v1 is overwritten before the addresses of");
  EXPECT_SAYS(run(Load + Set), Missing);
  EXPECT_CLEAN(run(Load + "s_wait_xcnt 0x0\n" + Set));
  EXPECT_CLEAN(run(Load + "WAITV\n" + Set));
  EXPECT_SAYS(run(Store + "v_mov_b32 v0, 1"), Missing);
  EXPECT_SAYS(run(Store + "s_mov_b32 s6, 1"), Missing);
  EXPECT_SAYS(run(Store + "s_mov_b32 exec_lo, 1"), Missing);
  EXPECT_SAYS(run("v_mov_b32 v3, v1\n" + Store + "GLOAD1 v2, v3, s[4:5]\n" +
                  "s_wait_xcnt 0x1\nv_mov_b32 v3, 0"),
              Missing);
  EXPECT_CLEAN(run("v_mov_b32 v3, v1\n" + Store + "GLOAD1 v2, v3, s[4:5]\n" +
                   "s_wait_xcnt 0x1\nv_mov_b32 v0, 0"));
  EXPECT_SAYS(run(Store + "DSWRITE1 v1, v1\nDSREAD1 v0, v1"), Missing);
  // Vector memory is translated in order, and not beside scalar loads.
  EXPECT_CLEAN(run(Store + "GLOAD1 v0, v1, s[4:5]\ns_mov_b32 s6, 0"));
  EXPECT_CLEAN(run(Load + "SLOAD1 s8, s[4:5], 0x0\n" + Set));
  // Nor is it repeated from before a branch or barrier, before other banks, or
  // once its sources are read.
  EXPECT_CLEAN(run(Load + "s_branch next\nnext: " + Set));
  EXPECT_CLEAN(
      run(Load + "s_barrier_signal -1\n" + Set + "\ns_barrier_wait -1"));
  EXPECT_CLEAN(run(Load + "s_set_vgpr_msb 0x0\n" + Set));
  EXPECT_CLEAN(run(Load + "s_wait_alu depctr_vm_vsrc(0)\n" + Set));
  EXPECT_SAYS(run("SLOAD1 s8, s[4:5], 0x0\ns_mov_b32 s4, 0"), Missing);
  EXPECT_CLEAN(run("SLOAD1 s8, s[4:5], 0x0\nWAITS\ns_mov_b32 s4, 0"));
}

TEST_P(CheckerTest, NamedBarriers) {
  if (!chipNamed(Chip).isCdna5())
    GTEST_SKIP();
  K.Directives = "\t.amdhsa_named_barrier_count 1\n";
  // The first wave hands 128 bytes to the second one, the only member.
  auto Kernel = [](const std::string &Signal, const std::string &Wait) {
    return "v_lshrrev_b32 v2, 5, v0\nv_readfirstlane_b32 s8, v2\n"
           "s_mov_b32 m0, 0x10002\ns_barrier_init m0\n"
           "s_cmp_eq_u32 s8, 0\ns_cbranch_scc1 start\ns_barrier_join 2\n"
           "start: BARRIER\ns_cmp_eq_u32 s8, 0\ns_cbranch_scc0 wait\n"
           "DSWRITE1 v1, v0\n" +
           Signal + "\ns_endpgm\nwait: " + Wait +
           "\nv_xor_b32 v4, 0x80, v1\nDSREAD1 v3, v4\nWAITL\n"
           "GSTORE1 v1, v3, s[6:7]";
  };
  EXPECT_CLEAN(
      run(Kernel("WAITL\ns_barrier_signal 2", "s_barrier_wait 1"), 1, 64));
  uint32_t Got = 0;
  EXPECT_HIP(
      hipMemcpy(&Got, static_cast<char *>(B) + 200, 4, hipMemcpyDeviceToHost));
  EXPECT_EQ(Got, 50u - 32);
  EXPECT_SAYS(run(Kernel("s_barrier_signal 2", "s_barrier_wait 1"), 1, 64),
              "a wait for dscnt of 0 is missing before the barrier");
  EXPECT_SAYS(run(Kernel("s_nop 0", "s_barrier_wait 1"), 1, 64),
              "all waves wait at a barrier that cannot complete");
  EXPECT_SAYS(run("s_barrier_signal 5"), "one of the 4 named ones");
  lnbwdSimSetChecks(LNBWD_SIM_CHECK_RACES);
  EXPECT_SAYS(run(Kernel("WAITL\ns_barrier_signal 2", "s_nop 0"), 1, 64),
              "a race");
}

TEST_P(CheckerTest, RegisterBanks) {
  if (!chipNamed(Chip).isCdna5())
    GTEST_SKIP();
  K.Vgprs = 512;
  const std::string Sum = "s_set_vgpr_msb 0x1\nADDV v2, v1, v0\n"
                          "s_set_vgpr_msb 0x0\nGSTORE1 v1, v2, s[6:7]";
  EXPECT_SAYS(run(Sum), "v2 depends on v257, which was never written");
  EXPECT_CLEAN(run("s_set_vgpr_msb 0x40\nv_mov_b32 v1, 1\n" + Sum));
  EXPECT_SAYS(run("s_set_vgpr_msb 0x40\nGLOAD1 v1, v1, s[4:5]\n" + Sum),
              "v257 is read before the result of");
  K.Vgprs = 256;
  EXPECT_SAYS(run(Sum),
              "v257 is used, but the kernel descriptor allocates only 256");
}

TEST_P(CheckerTest, LoadToLdsIsWaitedForApart) {
  if (Chip != "gfx942" && Chip != "gfx950")
    GTEST_SKIP();
  // Each wave fills its own half of the second 512 bytes, and reads the first
  // 512, which the other wave then overwrites.
  auto Kernel = [](const std::string &AtBarrier, const std::string &Last) {
    return "v_xor_b32 v3, 64, v0\nv_lshlrev_b32 v3, 2, v3\n"
           "v_readfirstlane_b32 s8, v1\ns_add_u32 m0, s8, 512\ns_nop 0\n"
           "DSWRITE1 v1, v0\nWAITL\nBARRIER\n"
           "global_load_lds_dword v1, s[4:5]\nDSREAD1 v2, v3\n" +
           AtBarrier + "\nBARRIER\n" + Last;
  };
  const std::string Write = "DSWRITE1 v1, v0\nWAITL\nWAITV";
  const std::string Read = "WAITV\nDSREAD1 v4, v3 offset:512\nWAITL";
  // Neither wait stands for the other.
  EXPECT_CLEAN(run(Kernel("WAITL", Write), 1, 128));
  EXPECT_SAYS(run(Kernel("WAITV", Write), 1, 128),
              "the access was still in flight when");
  EXPECT_CLEAN(run(Kernel("WAITV", Read), 1, 128));
  EXPECT_SAYS(run(Kernel("WAITL", Read), 1, 128),
              "the access was still in flight when");
}
