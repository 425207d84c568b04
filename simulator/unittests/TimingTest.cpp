//===- TimingTest.cpp - The timing model ------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of a few instructions, whose clocks can be worked out by hand.
// Parameters that matter are set by the tests, so that a new fit changes none
// of the expected numbers.
//
//===----------------------------------------------------------------------===//

#include "HipTester.h"

#include "Assembler/Assembler.h"
#include "Timing/ClockInfo.h"
#include "Timing/TimedLaunch.h"

#include "llvm/Support/JSON.h"

#include <string>

using namespace lnbwd::sim;

namespace {
constexpr const char *Chip = "gfx942";

/// The parameters that the tests rest on.
constexpr const char *Parameters =
    "megahertz=1000;vectorClocks=4;wideClocks=8;transcendentalClocks=16;"
    "longProductClocks=12;matrixFlopsPerClock=512;"
    "matrixByteFlopsPerClock=1024;matrixSingleFlopsPerClock=64;"
    "matrixDoubleFlopsPerClock=32;matrixXF32FlopsPerClock=256;"
    "matrixSmallFlopsPerClock=2048;"
    "scalarClocks=4;branchClocks=20;vectorResultClocks=4;ldsClocks=60;"
    "permuteClocks=50;ldsStoreClocks=30;ldsTurnClocks=0;fetchClocks=0;"
    "storeClocks=300;barrierClocks=8;scalarHitClocks=50;scalarL2Clocks=200;"
    "scalarFarClocks=400;scalarMemoryClocks=700;vectorExtraClocks=100;"
    "vectorHitClocks=120;l1BytesPerClock=64;linesInFlight=256;"
    "dispatchClocks=1;dispatchGroupClocks=4;waveStartClocks=0;replaceClocks=0;";

/// A predicted launch.
struct Predicted {
  llvm::json::Value All = nullptr;
  const llvm::json::Object &first() const {
    return *All.getAsObject()->getArray("launches")->front().getAsObject();
  }
  /// At the 1000 MHz of the tests.
  double clocks() const {
    return first().getNumber("predicted_us").value_or(-1) * 1000;
  }
  /// Wave-clocks of a kind, over all.
  double share(const char *Reason) const {
    return first().getObject("wave_time")->getNumber(Reason).value_or(-1);
  }
};
} // namespace

static std::string repeated(const std::string &Text, unsigned Count) {
  std::string All;
  for (unsigned K = 0; K < Count; ++K)
    All += Text;
  return All;
}

/// Predicts a kernel of these instructions, whose one argument is a buffer.
static Predicted predicted(const std::string &Body, unsigned Waves = 1,
                           unsigned Grid = 1, const std::string &More = "",
                           size_t BufferBytes = 1 << 20) {
  useChip(Chip);
  KernelText K;
  K.Body = Body;
  K.KernargBytes = 8;
  K.LdsBytes = 16384;
  if (Body.find("ds_") == std::string::npos)
    K.LdsBytes = 0;
  std::string Error;
  const std::vector<uint8_t> Bytes =
      assembleCodeObject(kernelText(K, Chip), Chip, 5, Error);
  EXPECT_FALSE(Bytes.empty()) << Error;
  Predicted P;
  if (Bytes.empty())
    return P;
  LoadedModule M(Bytes);
  Buffer<uint8_t> B(BufferBytes);
  EXPECT_EQ(lnbwdSimSetTiming((Parameters + More).c_str()), 0)
      << lnbwdSimLastErrorMessage();
  EXPECT_HIP(launch(M.function("k"), dim3(Grid), dim3(Waves * 64), 0, B.get()));
  auto Parsed = llvm::json::parse(lnbwdSimGetTimingJson());
  EXPECT_TRUE(bool(Parsed));
  P.All = std::move(*Parsed);
  lnbwdSimSetTiming(nullptr);
  return P;
}

/// The clocks that Body adds between Before and After.
static double added(const std::string &Before, const std::string &Body,
                    unsigned Waves = 1) {
  return predicted(Before + Body, Waves).clocks() -
         predicted(Before, Waves).clocks();
}

TEST(Timing, VectorInstructionsTakeFourClocks) {
  EXPECT_DOUBLE_EQ(added("", repeated("v_add_f32 v1, v2, v3\n", 100)), 400);
  // A result can be used at once.
  EXPECT_DOUBLE_EQ(added("", repeated("v_add_f32 v1, v1, v3\n", 100)), 400);
}

TEST(Timing, TranscendentalFunctionsTakeSixteenClocks) {
  EXPECT_DOUBLE_EQ(added("", repeated("v_exp_f32 v1, v2\n", 10)), 160);
}

TEST(Timing, ProductsTakeLongerThanSums) {
  EXPECT_DOUBLE_EQ(added("", repeated("v_mul_lo_u32 v1, v2, v3\n", 10)), 160);
  EXPECT_DOUBLE_EQ(
      added("", repeated("v_mad_u64_u32 v[4:5], vcc, v2, v3, v[6:7]\n", 10)),
      120);
}

TEST(Timing, MatrixUnitsHaveARateForEachType) {
  // Four of each, of which none waits for another's result: each of the first
  // three keeps the unit busy for 2 * M * M * K operations, and the last one is
  // not waited for.
  auto Four = [](const char *Name, const char *A, const char *B,
                 unsigned Size) {
    std::string Text;
    for (unsigned K = 0; K < 4; ++K)
      Text += std::string(Name) + " a[" + std::to_string(K * Size) + ":" +
              std::to_string(K * Size + Size - 1) + "], " + A + ", " + B +
              ", 0\n";
    return added("", Text);
  };
  EXPECT_DOUBLE_EQ(Four("v_mfma_f32_16x16x16_f16", "v[2:3]", "v[4:5]", 4),
                   3 * 16 + 4);
  EXPECT_DOUBLE_EQ(Four("v_mfma_f32_16x16x16_bf16", "v[2:3]", "v[4:5]", 4),
                   3 * 16 + 4);
  // With numbers of half the width twice as many in the same time.
  for (const char *Name :
       {"v_mfma_f32_16x16x32_fp8_fp8", "v_mfma_f32_16x16x32_bf8_fp8",
        "v_mfma_i32_16x16x32_i8"})
    EXPECT_DOUBLE_EQ(Four(Name, "v[2:3]", "v[4:5]", 4), 3 * 16 + 4) << Name;
  EXPECT_DOUBLE_EQ(Four("v_mfma_f32_16x16x4_f32", "v2", "v4", 4), 3 * 32 + 4);
  EXPECT_DOUBLE_EQ(Four("v_mfma_f64_16x16x4_f64", "v[2:3]", "v[4:5]", 8),
                   3 * 64 + 4);
}

TEST(Timing, OneWaveIssuesWideInstructionsAtHalfTheRate) {
  const std::string Body =
      repeated("v_fma_f64 v[2:3], v[2:3], v[4:5], v[6:7]\n", 64);
  EXPECT_DOUBLE_EQ(added("", Body), 512);
  // Two waves of a SIMD fill it: a second one costs nothing.
  EXPECT_NEAR(added("", Body, 8), 512, 8);
}

TEST(Timing, WavesOfASimdShareIt) {
  const std::string Body = repeated("v_add_f32 v1, v2, v3\n", 100);
  // Four waves have a SIMD each, eight have half of one.
  EXPECT_NEAR(added("", Body, 4), 400, 1e-6);
  EXPECT_NEAR(added("", Body, 8), 800, 8);
}

TEST(Timing, ScalarAndVectorInstructionsIssueSideBySide) {
  // Of one wave they follow each other; two waves take turns.
  const std::string Body =
      repeated("v_add_f32 v1, v2, v3\ns_add_i32 s4, s4, 1\n", 50);
  EXPECT_DOUBLE_EQ(added("", Body), 400);
  EXPECT_NEAR(added("", Body, 8), 400, 16);
}

TEST(Timing, TakenBranchesCostMore) {
  const std::string Loop = "s_mov_b32 s4, 10\nloop:\ns_sub_i32 s4, s4, 1\n"
                           "s_cmp_lg_u32 s4, 0\ns_cbranch_scc1 loop\n";
  // The first instruction; ten times two, nine taken branches, one not taken.
  EXPECT_DOUBLE_EQ(added("", Loop), 4 + 10 * 8 + 9 * 20 + 4);
}

TEST(Timing, WaitCountersCountDownInOrder) {
  const std::string Set = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                          "v_lshlrev_b32_e32 v0, 2, v0\n"
                          "s_waitcnt lgkmcnt(0)\n";
  const std::string Load = "global_load_dword v1, v0, s[4:5]\n";
  const std::string Far = "global_load_dword v2, v0, s[4:5] offset:1024\n";
  const double One = added(Set, Load + "s_waitcnt vmcnt(0)\n");
  // Two lines of 128 bytes from memory: 700 and 100 clocks, and those that the
  // path takes for 256 bytes.
  EXPECT_NEAR(One, 804 + 2 * 128 / 64, 16);
  // Side by side, and one after the other.
  const double Both = added(Set, Load + Far + "s_waitcnt vmcnt(0)\n");
  EXPECT_NEAR(Both, One, 16);
  EXPECT_NEAR(
      added(Set, Load + "s_waitcnt vmcnt(0)\n" + Far + "s_waitcnt vmcnt(0)\n"),
      2 * One, 16);
  // With one under way the wave goes on to 200 additions; the second wait has
  // nothing left to do.
  const std::string Additions = repeated("v_add_f32 v5, v6, v7\n", 300);
  EXPECT_NEAR(added(Set, Load + Far + "s_waitcnt vmcnt(1)\n" + Additions +
                             "s_waitcnt vmcnt(0)\n"),
              One + 1200, 16);
  EXPECT_NEAR(added(Set, Load + Additions + "s_waitcnt vmcnt(0)\n"), 1208, 16);
}

TEST(Timing, AReloadedLineComesFromTheL1) {
  const std::string Set = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                          "v_lshlrev_b32_e32 v0, 2, v0\n"
                          "s_waitcnt lgkmcnt(0)\n"
                          "global_load_dword v1, v0, s[4:5]\n"
                          "s_waitcnt vmcnt(0)\n";
  EXPECT_NEAR(added(Set, "global_load_dword v1, v0, s[4:5]\n"
                         "s_waitcnt vmcnt(0)\n"),
              120 + 4 + 4, 8);
}

/// Lines that come to the L1 from the L2, and scalar ones.
static double linesFromL2(const Predicted &P) {
  return P.first().getObject("bytes")->getNumber("l1_to_l2").value_or(-1) / 128;
}

TEST(Timing, WavesReplaceWhatOthersFetched) {
  // A lane has a line to itself and loads it twice; no barrier keeps the waves
  // together. An L1 of 64 lines has room for those of one wave.
  const std::string Load = "global_load_dword v1, v0, s[4:5]\n"
                           "s_waitcnt vmcnt(0)\n";
  const std::string Twice = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                            "v_lshlrev_b32_e32 v0, 7, v0\n"
                            "s_waitcnt lgkmcnt(0)\n" +
                            Load + Load;
  EXPECT_NEAR(linesFromL2(predicted(Twice, 1, 1, "l1KiB=8;")), 64, 2);
  EXPECT_NEAR(linesFromL2(predicted(Twice, 4, 1, "l1KiB=8;")), 2 * 4 * 64, 2);
  EXPECT_NEAR(linesFromL2(predicted(Twice, 4, 1, "l1KiB=32;")), 4 * 64, 2);
}

TEST(Timing, LinesOfASetReplaceEachOther) {
  // 32 times 8 lines of 128 bytes, 4 KiB apart, twice: they fill 4 sets of 64
  // lines; of 16 sets of 16 they fill a half twice over.
  const std::string Round = repeated("global_load_dwordx4 v[4:7], v0, s[4:5]\n"
                                     "s_waitcnt vmcnt(0)\n"
                                     "v_add_u32_e32 v0, s6, v0\n",
                                     32);
  const std::string Body = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                           "s_mov_b32 s6, 0x1000\n"
                           "s_mov_b32 s7, 0xfffe0000\n"
                           "v_lshlrev_b32_e32 v0, 4, v0\n"
                           "s_waitcnt lgkmcnt(0)\n" +
                           Round + "v_add_u32_e32 v0, s7, v0\n" + Round;
  EXPECT_NEAR(linesFromL2(predicted(Body, 1, 1, "l1KiB=32;l1Ways=64;")), 256,
              2);
  EXPECT_NEAR(linesFromL2(predicted(Body, 1, 1, "l1KiB=32;l1Ways=16;")), 512,
              2);
}

TEST(Timing, BankConflictsTakeTurns) {
  const std::string Linear = "v_lshlrev_b32_e32 v1, 2, v0\n";
  // All 64 lanes in one bank.
  const std::string OneBank = "v_lshlrev_b32_e32 v1, 7, v0\n";
  const std::string Reads =
      repeated("ds_read_b32 v2, v1\n", 8) + "s_waitcnt lgkmcnt(0)\n";
  // One read at a time: an issue, two groups of 32 lanes, 60 clocks.
  EXPECT_DOUBLE_EQ(added(Linear, "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\n"),
                   2 + 60);
  EXPECT_DOUBLE_EQ(added(OneBank, "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\n"),
                   64 + 60);
  // Eight of them: issue is the limit, or the bank.
  EXPECT_DOUBLE_EQ(added(Linear, Reads), 7 * 4 + 2 + 60);
  EXPECT_DOUBLE_EQ(added(OneBank, Reads), 8 * 64 + 60);
}

TEST(Timing, ALineOfCodeIsFetchedOnce) {
  // 128 additions of 4 bytes are 8 lines of 64 bytes beside that of the
  // kernel's end; a second wave finds them there.
  const std::string Body = repeated("v_add_f32 v1, v2, v3\n", 128);
  const double Whole = predicted(Body, 1, 1, "fetchClocks=100;").clocks() -
                       predicted("", 1, 1, "fetchClocks=100;").clocks();
  EXPECT_NEAR(Whole, 128 * 4 + 8 * 100, 8);
  EXPECT_NEAR(predicted(Body, 2, 1, "fetchClocks=100;").clocks(),
              predicted(Body, 1, 1, "fetchClocks=100;").clocks(), 8);
}

TEST(Timing, WavesWaitForTheLastOneAtABarrier) {
  // Wave 0 does 100 additions more than the others.
  const std::string Late = "v_readfirstlane_b32 s4, v0\n"
                           "s_cmp_lg_u32 s4, 0\n"
                           "s_cbranch_scc1 skip\n" +
                           repeated("v_add_f32 v1, v2, v3\n", 100) + "skip:\n";
  const Predicted P = predicted(Late + "s_barrier\n", 4);
  EXPECT_NEAR(P.clocks(), predicted(Late, 4).clocks() + 8, 8);
  EXPECT_GT(P.share("barrier"), 0.6);
}

TEST(Timing, AStreamTakesItsBytesOverTheRate) {
  // 4096 workgroups of 256 work-items load 16 bytes each: 16 MiB.
  const std::string Body = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                           "s_lshl_b32 s6, s2, 12\n"
                           "v_lshlrev_b32_e32 v0, 4, v0\n"
                           "v_add_u32_e32 v0, s6, v0\n"
                           "s_waitcnt lgkmcnt(0)\n"
                           "global_load_dwordx4 v[4:7], v0, s[4:5]\n"
                           "s_waitcnt vmcnt(0)\n";
  const size_t Bytes = 16 << 20;
  const Predicted P = predicted(Body, 4, 4096, "memoryGigabytes=500;", Bytes);
  const double Expected = double(Bytes) / 500; // ns, which are clocks
  EXPECT_NEAR(P.clocks(), Expected, 0.08 * Expected);
  const llvm::json::Object &B = *P.first().getObject("bytes");
  EXPECT_NEAR(B.getNumber("memory").value_or(0), double(Bytes), 0.02 * Bytes);
  // What fits the memory-side cache comes from there a second time.
  const Predicted Warm =
      predicted(Body, 4, 4096,
                "memoryGigabytes=500;farGigabytes=2000;caches=warm;", Bytes);
  EXPECT_NEAR(Warm.clocks(), Expected / 4, 0.15 * Expected);
}

TEST(Timing, PartsOfALineReachMemoryOnce) {
  // Lanes store 16 bytes each, 32 apart: half of 16 lines; then the other half;
  // then what is written already.
  const std::string First = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                            "v_lshlrev_b32_e32 v0, 5, v0\n"
                            "s_waitcnt lgkmcnt(0)\n"
                            "global_store_dwordx4 v0, v[4:7], s[4:5]\n";
  const std::string Second =
      "global_store_dwordx4 v0, v[4:7], s[4:5] offset:16\n";
  auto Written = [](const std::string &Body) {
    const Predicted P = predicted(Body);
    const llvm::json::Object &B = *P.first().getObject("bytes");
    return B.getNumber("memory").value_or(-1);
  };
  const double Half = Written(First);
  EXPECT_DOUBLE_EQ(Written(First + Second) - Half, 64 * 16);
  EXPECT_DOUBLE_EQ(Written(First + Second + Second), Half + 64 * 16);
}

TEST(Timing, ALongWaveGoesOnWithWhatItsCachesHold) {
  // One line after the other of 256 KiB, round and round; 100,000 instructions
  // are recorded, of which the first 2,048 loads come from memory.
  const unsigned Passes = 40000;
  const Predicted P = predicted("s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                                "s_mov_b32 s6, 0\n"
                                "s_mov_b32 s7, " +
                                std::to_string(Passes) +
                                "\ns_waitcnt lgkmcnt(0)\n"
                                "again:\n"
                                "s_load_dword s8, s[4:5], s6\n"
                                "s_add_u32 s6, s6, 64\n"
                                "s_and_b32 s6, s6, 0x3ffff\n"
                                "s_sub_u32 s7, s7, 1\n"
                                "s_waitcnt lgkmcnt(0)\n"
                                "s_cmp_lg_u32 s7, 0\n"
                                "s_cbranch_scc1 again\n");
  // 200 clocks from the L2, then a comparison and a branch.
  EXPECT_NEAR(P.clocks() / Passes, 200 + 4 + 20, 8);
}

TEST(Timing, FewLinesInFlightWaitForEachOther) {
  const std::string Set = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                          "v_lshlrev_b32_e32 v0, 7, v0\n"
                          "s_waitcnt lgkmcnt(0)\n";
  const std::string Load = "global_load_dword v1, v0, s[4:5]\n"
                           "s_waitcnt vmcnt(0)\n";
  // 64 lines, one after the other or in four groups.
  EXPECT_NEAR(predicted(Set + Load, 1, 1, "linesInFlight=1;").clocks() -
                  predicted(Set).clocks(),
              64 * 802, 400);
  EXPECT_NEAR(predicted(Set + Load, 1, 1, "linesInFlight=16;").clocks() -
                  predicted(Set).clocks(),
              4 * 802, 200);
}

TEST(Timing, AtomicsOnOneLineWaitForEachOther) {
  // 1024 waves add to one line: a turn of 10 ns each, and a fifth of one for
  // each further lane up to the eighth.
  const std::string Body = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                           "v_mov_b32_e32 v0, 0\n"
                           "v_mov_b32_e32 v1, 1\n"
                           "s_waitcnt lgkmcnt(0)\n";
  const std::string Add = "global_atomic_add v0, v1, s[4:5]\n";
  const char *More = "atomicNanoseconds=10;";
  EXPECT_NEAR(predicted(Body + Add, 1, 1024, More, 128).clocks(),
              1024 * (1 + 7 * 0.2) * 10, 1);
  EXPECT_NEAR(predicted(Body + "s_mov_b64 exec, 1\n" + Add, 1, 1024, More, 128)
                  .clocks(),
              1024 * 10, 1);
}

TEST(Timing, EmptyKernelsTakeTheDispatchersTime) {
  // A die needs 4 clocks for a workgroup and 1 for each of its 4 waves.
  const Predicted P = predicted("", 4, 1 << 20);
  const double Expected = double(1 << 20) / 8 * (4 + 4);
  EXPECT_NEAR(P.clocks(), Expected, 0.02 * Expected);
}

TEST(Timing, PredictionsAreTheSameInEveryRun) {
  const std::string Body = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                           "v_lshlrev_b32_e32 v0, 2, v0\n"
                           "s_waitcnt lgkmcnt(0)\n"
                           "global_load_dword v1, v0, s[4:5]\n"
                           "s_waitcnt vmcnt(0)\n";
  const double First = predicted(Body, 4, 5000).clocks();
  EXPECT_DOUBLE_EQ(predicted(Body, 4, 5000).clocks(), First);
}

TEST(Timing, ProductsAndParametersAreNamed) {
  useChip(Chip);
  EXPECT_EQ(lnbwdSimSetTiming("product=MI300A"), 0);
  EXPECT_NE(std::string(lnbwdSimGetTimingJson()).find("MI300A"),
            std::string::npos);
  lnbwdSimSetTiming(nullptr);
  EXPECT_EQ(lnbwdSimSetTiming("product=MI9"), -1);
  EXPECT_NE(std::string(lnbwdSimLastErrorMessage()).find("MI300X"),
            std::string::npos);
  EXPECT_EQ(lnbwdSimSetTiming("caches=hot"), -1);
  useChip("gfx1250");
  EXPECT_EQ(lnbwdSimSetTiming(""), -1);
  EXPECT_NE(std::string(lnbwdSimLastErrorMessage())
                .find("times of gfx1250 are not predicted"),
            std::string::npos);
  useChip(Chip);
  EXPECT_EQ(lnbwdSimSetTiming("flux=1"), -1);
  EXPECT_EQ(lnbwdSimSetTiming("dies=-1"), -1);
}

TEST(Timing, ChipsThatWereNotMeasuredSaySo) {
  for (const SimulatedChip &C : Chips) {
    const ClockInfo *Found = clockOf(C.Chip);
    if (C.isCdna5()) { // Nothing is known of its clocks.
      EXPECT_EQ(Found, nullptr);
      continue;
    }
    ASSERT_NE(Found, nullptr) << C.Chip;
    EXPECT_EQ(Found->Calibrated, std::string(C.Chip) == Chip) << C.Chip;
  }
}

TEST(Timing, RegistersAndLdsLimitWhatIsResident) {
  const SimulatedChip &C = *chipByName(Chip);
  Kernel K;
  K.WaveSize = 64;
  K.Rsrc1 = 3; // 32 registers
  EXPECT_EQ(residentWorkgroups(C, K, 4, 0), 8u);
  EXPECT_EQ(residentWorkgroups(C, K, 4, 20000), 3u);
  EXPECT_EQ(residentWorkgroups(C, K, 1, 0), 32u);
  EXPECT_EQ(residentWorkgroups(C, K, 2, 0), 16u);
  K.Rsrc1 = 31; // 256 registers: two waves a SIMD
  EXPECT_EQ(residentWorkgroups(C, K, 4, 0), 2u);
  EXPECT_EQ(residentWorkgroups(C, K, 16, 0), 1u);
}
