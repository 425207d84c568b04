//===- CheckerRaceTest.cpp - Kernels whose waves race ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that break a rule of races and barriers are caught whatever the order
// of waves, and their repaired twins run clean.
//
//===----------------------------------------------------------------------===//

#include "CheckerTester.h"

using namespace lnbwd::sim;

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

// `x += 1` of one element: all waves load it, and one lane stores it.
TEST_P(CheckerTest, OneElementInPlace) {
  const std::string Load =
      "SLOAD1 s8, s[4:5], 0x0\nWAITS\ns_add_u32 s8, s8, 1\n"
      "v_mov_b32 v2, s8\n";
  const std::string Store =
      "v_cmp_eq_u32 VCC, 0, v0\nWAITX\nSMOVMASK EXEC, VCC\n"
      "GSTORE1 v1, v2, s[4:5]";
  for (uint64_t Seed = 0; Seed < 8; ++Seed) {
    lnbwdSimSetShuffle(Seed);
    EXPECT_CLEAN(run(Load + Store, 1, 128));
    EXPECT_SAYS(run(Load + "GSTORE1 v1, v2, s[6:7]\n" + Store, 1, 128),
                "a race: of this workgroup wave ");
    EXPECT_SAYS(
        run(Load + "s_cmp_eq_u32 s8, 5\ns_cbranch_scc1 skip\nskip:\n" + Store,
            1, 128),
        "a race: of this workgroup wave ");
  }
}

TEST_P(CheckerTest, ErrorsPartByPart) {
  lnbwdSimSetChecks(LNBWD_SIM_CHECK_RACES);
  run(exchange("WAITL\n"), 1, 128);
  const std::string Json = lnbwdSimGetErrorsJson();
  EXPECT_SAYS(Json, "\"check\":\"races\"");
  EXPECT_SAYS(Json, "\"chip\":\"" + Chip + "\"");
  EXPECT_SAYS(Json, "\"other\":{\"at\":\"k+0x");
  EXPECT_SAYS(Json, "\"where\":{\"at\":\"k+0x");
  EXPECT_SAYS(Json, "\"workgroup\":[0,0,0]");
  EXPECT_CLEAN(run(exchange("WAITL\nBARRIER\n"), 1, 128));
  EXPECT_STREQ(lnbwdSimGetErrorsJson(), "[]");
}

TEST_P(CheckerTest, LdsWriteAfterRead) {
  // One wave writes, whose place the wave before it in time has read.
  std::string Again = std::string("\nv_readfirstlane_b32 s8, v0\n") +
                      "s_cmp_lg_u32 s8, " + (isGfx9(Chip) ? "0" : "64") +
                      "\ns_cbranch_scc1 out\nDSWRITE1 v1, v0\nout:";
  std::string Text = run(exchange("WAITL\nBARRIER\n") + Again, 1, 128);
  EXPECT_SAYS(Text, "LDS write of 4 bytes");
  EXPECT_SAYS(Text, "a race: wave ");
  EXPECT_SAYS(Text, "has read it, with ds_");
  EXPECT_SAYS(Text, "and no barrier that both waves have reached");
  EXPECT_CLEAN(run(exchange("WAITL\nBARRIER\n") + "\nBARRIER" + Again, 1, 128));
}

TEST_P(CheckerTest, LdsStoreNotFinishedAtTheBarrier) {
  EXPECT_SAYS(run(exchange("BARRIER\n"), 1, 128),
              "the access was still in flight when that wave signalled the "
              "barrier between the two");
}

TEST_P(CheckerTest, LdsReadNotFinishedAtTheBarrier) {
  // The second barrier comes before the reads of the other wave are done.
  std::string Read = "DSWRITE1 v1, v0\nWAITL\nBARRIER\n"
                     "v_xor_b32 v3, 64, v0\nv_lshlrev_b32 v3, 2, v3\n"
                     "DSREAD1 v2, v3\n";
  std::string Write = "BARRIER\nDSWRITE1 v1, v0\nWAITL";
  EXPECT_SAYS(run(Read + Write, 1, 128), "the access was still in flight when");
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

TEST_P(CheckerTest, OnlyWhatIsUsedOfARacingRead) {
  // All waves load what the first one then stores; Others: what the others do.
  auto With = [&](const char *Others) {
    return run("v_lshrrev_b32 v2, WAVESHIFT, v0\nv_readfirstlane_b32 s8, v2\n"
               "v_and_b32 v3, " +
                   std::to_string(waveItems() - 1) +
                   ", v0\nv_lshlrev_b32 v3, 2, v3\n"
                   "GLOAD1 v2, v3, s[4:5]\nWAITV\nADDV v2, 1, v2\n"
                   "s_cmp_lg_u32 s8, 0\ns_cbranch_scc1 other\n"
                   "GSTORE1 v3, v2, s[4:5]\ns_endpgm\nother:\n" +
                   Others,
               1, 2 * waveItems());
  };
  EXPECT_CLEAN(With("v_mov_b32 v4, v2\nv_and_b32 v2, 0, v2\n"
                    "GSTORE1 v3, v2, s[6:7]"));
  for (const char *Use :
       {"GSTORE1 v3, v2, s[6:7]", "DSWRITE1 v3, v2",
        "v_lshlrev_b32 v2, 2, v2\nGLOAD1 v2, v2, s[4:5]\nWAITV",
        "v_readfirstlane_b32 s8, v2\ns_cmp_eq_u32 s8, 7\n"
        "s_cbranch_scc1 out\nout:",
        "v_cmp_eq_u32 VCC, 7, v2\nSMOVMASK EXEC, VCC"}) {
    EXPECT_SAYS(With(Use), "a race: of this workgroup wave 0 has written it");
    EXPECT_SAYS(lnbwdSimGetErrorsJson(), "\"check\":\"races\"");
  }
}

TEST_P(CheckerTest, OnlyWhatIsUsedOfAReadBeforeAStore) {
  // All waves load what the last one then stores; First: what the first does.
  auto With = [&](const char *First) {
    return run("v_lshrrev_b32 v2, WAVESHIFT, v0\nv_readfirstlane_b32 s8, v2\n"
               "v_and_b32 v3, " +
                   std::to_string(waveItems() - 1) +
                   ", v0\nv_lshlrev_b32 v3, 2, v3\n"
                   "GLOAD1 v2, v3, s[4:5]\nWAITV\nADDV v2, 1, v2\n"
                   "s_cmp_lg_u32 s8, 0\ns_cbranch_scc0 first\n"
                   "s_cmp_lg_u32 s8, 1\ns_cbranch_scc0 out\n"
                   "GSTORE1 v3, v2, s[4:5]\ns_endpgm\nfirst:\n" +
                   First + "\nout:",
               1, 3 * waveItems());
  };
  EXPECT_CLEAN(With("v_mov_b32 v4, v2\nv_and_b32 v2, 0, v2\n"
                    "GSTORE1 v3, v2, s[6:7]"));
  for (const char *Use : {"GSTORE1 v3, v2, s[6:7]", "DSWRITE1 v3, v2",
                          "v_readfirstlane_b32 s8, v2\ns_cmp_eq_u32 s8, 7\n"
                          "s_cbranch_scc1 out"}) {
    EXPECT_SAYS(With(Use), "a race: of this workgroup wave 2 writes it later "
                           "in the same launch");
    EXPECT_SAYS(lnbwdSimGetErrorsJson(), "\"check\":\"races\"");
  }
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
  std::string Text = run("v_mov_b32 v2, s3\nGSTORE1 v1, v2, s[4:5]", 4);
  EXPECT_SAYS(Text, "a race: workgroup (");
  EXPECT_SAYS(Text, "has written it in the same launch, with global_store_");
  EXPECT_SAYS(Text, "and no atomic orders the two");
  // That changes nothing where all of them write the same.
  EXPECT_CLEAN(run("GSTORE1 v1, v0, s[4:5]", 4));
  EXPECT_CLEAN(run("GADD v1, v0, s[4:5] OFALL", 4));
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
    EXPECT_CLEAN(run(Read + "GCAS v1, v[2:3], s[4:5] OFALL", 4));
    // Another atomic does not check it: a race with one reader, with several,
    // or with the writer, whichever comes first.
    EXPECT_SAYS(run(Read + "GADD v1, v2, s[4:5]", 4), "a race: ");
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
  std::string Byte = chipNamed(Chip).Generation <= 10 ? "global_store_byte"
                                                      : "global_store_b8";
  std::string One = "SMOVMASK EXEC, 1\n";
  EXPECT_CLEAN(run(One + Own + Byte + " v2, v2, s[4:5]", 8));
  EXPECT_SAYS(
      run(One + Own + "v_mov_b32 v3, 0\n" + Byte + " v3, v2, s[4:5]", 8),
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
  RELEASE
  v_mov_b32 v4, 0
  v_mov_b32 v5, 1
  TICKET
  ACQUIRE
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
  EXPECT_CLEAN(
      run(With("GADD v6, v4, v5, s[6:7] RETURN OFALL\n  WAITV"), 4, Wave));
  // The ticket must not be drawn before the store has been waited for.
  std::string Early = With("GADD v6, v4, v5, s[6:7] RETURN OFALL\n  WAITV");
  Early.erase(Early.find("RELEASE"), 7);
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  EXPECT_SAYS(run(Early, 4, Wave), "and the store was still in flight");
  // The write-back of the store is waited for, too, as is the ticket before the
  // caches are dropped.
  if (chipNamed(Chip).isCdna5()) {
    auto Waiting = [&](const std::string &Release, const std::string &Acquire) {
      std::string S = With("GADD v6, v4, v5, s[6:7] RETURN OFALL\n");
      S.replace(S.find("RELEASE"), 7,
                "WAITST\nGLOAD1 v8, v2, s[4:5]\nglobal_wb scope:SCOPE_DEV\n" +
                    Release);
      S.replace(S.find("ACQUIRE"), 7, Acquire + "ACQUIRE\nWAITV");
      EXPECT_HIP(hipMemset(B, 0, Bytes));
      return run(S, 4, Wave);
    };
    EXPECT_CLEAN(Waiting("WAITST\n", "WAITV\n"));
    EXPECT_SAYS(Waiting("", "WAITV\n"), "or not written back");
    EXPECT_SAYS(Waiting("WAITST\n", ""), "a stale read");
  }
  // Unless another one is drawn after that.
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  Early.replace(
      Early.find("GADD"), 4,
      "GADD v8, v4, v5, s[6:7] offset:64 RETURN OFALL\n RELEASE\n GADD");
  EXPECT_CLEAN(run(Early, 4, Wave));
  // Nor is anything wrong with a store that nobody else reads.
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  EXPECT_CLEAN(run(With("GSTORE1 v2, v3, s[6:7] offset:1024\n"
                        "GADD v6, v4, v5, s[6:7] RETURN OFALL\n  WAITV"),
                   4, Wave));
  // Without it the same accesses race.
  EXPECT_SAYS(run(With("v_mov_b32 v6, 3"), 4, Wave), "a race");
}

TEST_P(CheckerTest, ChainOfAtomics) {
  // Every workgroup writes its dword, puts its number in place of that of the
  // workgroup before it in the chain, and reads that one's dword. With as many
  // workgroups, host threads come between each other's checks and accesses.
  EXPECT_HIP(hipMemset(B, 0xff, Bytes));
  EXPECT_CLEAN(run(R"(
  SMOVMASK EXEC, 1
  s_lshl_b32 s8, s3, 2
  v_mov_b32 v2, s8
  v_mov_b32 v3, s3
  GSTORE1 v2, v3, s[4:5]
  RELEASE
  v_mov_b32 v4, 0
  GSWAP v6, v4, v3, s[6:7] RETURN OFALL
  WAITV
  ACQUIRE
  v_readfirstlane_b32 s9, v6
  s_cmp_eq_u32 s9, -1
  s_cbranch_scc1 out
  v_lshlrev_b32 v6, 2, v6
  GLOAD1 v7, v6, s[4:5]
  WAITV
out:)",
                   Bytes / 4, waveItems()));
}

TEST_P(CheckerTest, OtherOrdersOfLongLaunches) {
  // What an atomic gives back decides something, so that the launch is executed
  // in other orders, too; but of so many instructions not to the end.
  EXPECT_HIP(hipMemset(B, 0xff, Bytes));
  EXPECT_CLEAN(run(R"(
  SMOVMASK EXEC, 1
  v_mov_b32 v3, s3
  v_mov_b32 v4, 0
  GSWAP v6, v4, v3, s[6:7] RETURN OFALL
  WAITV
  v_readfirstlane_b32 s9, v6
  s_cmp_eq_u32 s9, -1
  s_cbranch_scc1 out
  s_movk_i32 s9, 0x7000
again:
  s_sub_i32 s9, s9, 1
  s_cmp_lg_u32 s9, 0
  s_cbranch_scc1 again
out:)",
                   4, waveItems()));
  const std::string Summary = lnbwdSimGetCheckSummary();
  EXPECT_NE(Summary.find("in 8 other orders, too, of which 8 were cut after "
                         "their first instructions"),
            std::string::npos)
      << Summary;
}

TEST_P(CheckerTest, LoopsThatWalkDoNotWait) {
  // What a loop loads is added up and given to other waves, who might decide by
  // it. That the loop waits for it can be so only where it reads the same place
  // again; alone what waits is executed in other orders.
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  const auto IsTakenForWaiting = [&](const std::string &MakeAddress,
                                     const std::string &Step) {
    EXPECT_CLEAN(run("s_mov_b32 s8, s6\ns_mov_b32 s9, s7\ns_mov_b32 s10, 4\n"
                     "s_mov_b32 s11, 0\nv_mov_b32 v3, 0\nv_mov_b32 v4, v1\n"
                     "round:\n" +
                         MakeAddress +
                         "\nGLOAD1 v2, v4, s[8:9]\nWAITV\nADDV v3, v3, v2\n" +
                         Step +
                         "\ns_sub_u32 s10, s10, 1\ns_cmp_lg_u32 s10, 0\n"
                         "s_cbranch_scc1 round\nDSWRITE1 v1, v3\nWAITL",
                     4, waveItems()));
    return llvm::StringRef(lnbwdSimGetCheckSummary()).contains("other orders");
  };
  // The base moves on, is made of what moves on, or gives the lanes' part.
  EXPECT_FALSE(
      IsTakenForWaiting("", "s_add_u32 s8, s8, 4\ns_addc_u32 s9, s9, 0"));
  EXPECT_FALSE(IsTakenForWaiting("s_add_u32 s8, s6, s11\ns_addc_u32 s9, s7, 0",
                                 "s_add_u32 s11, s11, 4"));
  EXPECT_FALSE(IsTakenForWaiting("v_mov_b32 v4, s11", "s_add_u32 s11, s11, 4"));
  // The same place, also where the registers are written each time: by what
  // does not change, before or after the load, whatever they held in between.
  EXPECT_TRUE(IsTakenForWaiting("", ""));
  EXPECT_TRUE(IsTakenForWaiting(
      "s_add_u32 s8, s6, 4\ns_addc_u32 s9, s7, 0\nv_mov_b32 v4, 8", ""));
  EXPECT_TRUE(IsTakenForWaiting("", "s_add_u32 s8, s8, s10\ns_mov_b32 s8, s6"));
}

TEST_P(CheckerTest, LoopsThatStoreDoNotWait) {
  // A store through a descriptor is one to scratch only if there is any.
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  const std::string Width =
      chipNamed(Chip).Generation >= 11 ? "_b32 " : "_dword ";
  const std::string Rest = isGfx12(Chip) ? ", null offen" : ", 0 offen";
  EXPECT_CLEAN(run(bufferOf(Chip, 12, 4, 0x10000) +
                       bufferOf(Chip, 16, 6, 0x10000) +
                       "s_lshl_b32 s8, s3, 8\nv_mov_b32 v4, s8\n"
                       "ADDV v4, v4, v1\ns_mov_b32 s10, 4\n"
                       "round:\nbuffer_load" +
                       Width + "v2, v4, s[16:19]" + Rest +
                       "\nWAITV\nADDV v2, v2, v2\nbuffer_store" + Width +
                       "v2, v4, s[12:15]" + Rest +
                       "\ns_sub_u32 s10, s10, 1\ns_cmp_lg_u32 s10, 0\n"
                       "s_cbranch_scc1 round",
                   4, waveItems()));
  EXPECT_FALSE(
      llvm::StringRef(lnbwdSimGetCheckSummary()).contains("other orders"));
}

TEST_P(CheckerTest, FlagsOfOtherWorkgroups) {
  // Every other workgroup writes its dword and, a while later, its flag; the
  // next one waits for the flag, its first lane's, and reads the dword.
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  EXPECT_CLEAN(run(R"(
  s_lshr_b32 s8, s3, 1
  s_lshl_b32 s8, s8, 2
  v_mov_b32 v2, s8
  v_mov_b32 v3, 1
  s_bitcmp1_b32 s3, 0
  s_cbranch_scc1 reads
  SMOVMASK EXEC, 1
  GSTORE1 v2, v3, s[4:5]
  RELEASE
  s_mov_b32 s9, 16
again:
  s_sub_i32 s9, s9, 1
  s_cmp_lg_u32 s9, 0
  s_cbranch_scc1 again
  GSTORE1 v2, v3, s[6:7] FLAGBIT
  s_endpgm
reads:
  v_lshlrev_b32 v4, 3, v0
  ADDV v4, v2, v4
wait:
  GLOAD1 v6, v4, s[6:7] COHERENT
  WAITV
  v_readfirstlane_b32 s9, v6
  s_cmp_eq_u32 s9, 0
  s_cbranch_scc1 wait
  ACQUIRE
  SMOVMASK EXEC, 1
  GLOAD1 v7, v2, s[4:5]
  WAITV)",
                   2048, waveItems()));
}

TEST_P(CheckerTest, BarrierThatNotAllReach) {
  std::string Text = "v_lshrrev_b32 v2, WAVESHIFT, v0\n"
                     "v_readfirstlane_b32 s8, v2\ns_cmp_eq_u32 s8, 1\n"
                     "s_cbranch_scc1 out\nBARRIER\nout:";
  // Hardware does not wait for waves that have left, whatever they do first.
  // Waves that come to a barrier less often: CheckerOrderTest.
  EXPECT_CLEAN(run(Text, 1, 256));
  EXPECT_CLEAN(run(Text + "\nGSTORE1 v1, v0, s[4:5]", 1, 256));
  EXPECT_CLEAN(run("BARRIER", 1, 256));
}

// gfx12 signals and waits by two instructions.
TEST_P(CheckerTest, SignalsAndWaitsOfBarriers) {
  if (!isGfx12(Chip))
    GTEST_SKIP();
  const std::string Signal = "s_barrier_signal -1\n",
                    Wait = "s_barrier_wait -1\n";
  for (unsigned Checks : {AllButHazards, 0u}) {
    lnbwdSimSetChecks(Checks);
    EXPECT_CLEAN(run(Signal + Wait + Signal + Wait, 1, 128));
    // What is complete need not be waited for.
    EXPECT_CLEAN(run(Signal + Wait + Signal, 1, 128));
    EXPECT_CLEAN(run(Signal + Signal + Wait, 1, 32));
    EXPECT_SAYS(run(Wait, 1, 64),
                "the wave waits for a barrier that it has not signalled");
    EXPECT_SAYS(run(Signal + Wait + Wait, 1, 64),
                "the wave waits for a barrier that it has not signalled");
    EXPECT_SAYS(run(Signal + Signal + Wait + Wait, 1, 64),
                "the wave signals the barrier again before that is complete");
  }
}

// Flat addresses lead to LDS, too.
TEST_P(CheckerTest, FlatStoresToLds) {
  if (!isGfx9(Chip))
    GTEST_SKIP();
  auto Store = [&](const std::string &Offset, const std::string &Value) {
    return run("v_mov_b32 v3, 0x10000\nv_mov_b32 v2, " + Offset +
               "\nflat_store_dword v[2:3], " + Value +
               "\nWAITV\nWAITL\nDSREAD1 v5, v2\nWAITL\nADDV v5, v5, v0\n"
               "GSTORE1 v1, v5, s[6:7]");
  };
  EXPECT_CLEAN(Store("v1", "v0"));
  EXPECT_SAYS(Store("0", "v0"), "store different values at one address");
  EXPECT_SAYS(Store("v1", "v4"), "the value stored is not defined");
}

TEST_P(CheckerTest, ValuesThatDifferInRounding) {
  // Lanes of two waves store what they compute of their numbers at one address.
  auto Store = [&](const std::string &Compute) {
    return run("v_cvt_f32_u32_e32 v2, v0\n" + Compute +
                   "v_mov_b32 v1, 0\nDSWRITE1 v1, v2\nWAITL",
               1, 2 * waveItems());
  };
  auto OnePlus = [&](const std::string &Factor) {
    return Store("v_mov_b32 v3, " + Factor + "\nv_fma_f32 v2, v2, v3, 1.0\n");
  };
  const char *Says = "store different values at one address";
  EXPECT_CLEAN(OnePlus("0x31000000"));
  // Rounding changes nothing here, so what differs by 8 millionths differs.
  EXPECT_SAYS(OnePlus("0x34000000"), Says);
  EXPECT_SAYS(OnePlus("0x39000000"), Says);
  // (n + 0.1) - n: in f32 the sum of both is 0.1 but for rounding, which is
  // more than that of the result.
  const std::string Cancels = "v_add_f32_e32 v3, 0x3dcccccd, v2\n"
                              "v_sub_f32_e32 v2, v3, v2\n";
  EXPECT_CLEAN(Store(Cancels));
  // Of 10 n two neighbours are rounded up already.
  EXPECT_CLEAN(Store("v_mul_f32_e32 v2, 0x41200001, v2\n" + Cancels));
  EXPECT_SAYS(Store(Cancels + "v_cvt_f32_u32_e32 v3, v0\n"
                              "v_mov_b32 v4, 0x38800000\n"
                              "v_fma_f32 v2, v3, v4, v2\n"),
              Says);
  // NaNs of both signs, and infinities.
  auto SignsOf = [&](const std::string &Number) {
    return Store("v_lshlrev_b32_e32 v2, 31, v0\nv_or_b32_e32 v2, " + Number +
                 ", v2\n");
  };
  EXPECT_CLEAN(SignsOf("0x7fc00000"));
  EXPECT_SAYS(SignsOf("0x7f800000"), Says);
  // Numbers of another instruction, or of a wave that is elsewhere.
  EXPECT_SAYS(run("v_mov_b32 v1, 0\nv_mov_b32 v3, 0x3f800001\n"
                  "v_mov_b32 v2, 1.0\nv_readfirstlane_b32 s8, v0\n"
                  "s_cmp_eq_u32 s8, 0\ns_cbranch_scc1 first\n"
                  "DSWRITE1 v1, v3\ns_branch over\n"
                  "first:\nDSWRITE1 v1, v2\nover:\nWAITL",
                  1, 2 * waveItems()),
              "a race");
}

// Triton 3.6 has all lanes read the results of a reduction and write them to
// LDS anew, in another layout: they store one value where they have read it.
TEST_P(CheckerTest, LanesThatCountWithoutAnAtomic) {
  auto Kernel = [](const std::string &Between) {
    return "v_mov_b32 v3, 0\nv_mov_b32 v4, 1\nDSWRITE1 v3, v4\nWAITL\n"
           "DSREAD1 v2, v3\nWAITL\n" +
           Between + "DSWRITE1 v3, v2\nWAITL";
  };
  const std::string Add = "ADDV v2, v2, v4\n";
  const unsigned Lanes = waveItems();
  EXPECT_SAYS(run(Kernel(Add), 1, Lanes), "one of the changes is lost");
  EXPECT_CLEAN(run(Kernel(Add + "BARRIER\n"), 1, Lanes));
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
