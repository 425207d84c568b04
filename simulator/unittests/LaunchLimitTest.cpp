//===- LaunchLimitTest.cpp - What ends a launch that does not end -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The limit of instructions, its variable of the environment, and SIGINT.
//
//===----------------------------------------------------------------------===//

#include "LaunchTester.h"
#include "LoadedObject.h"

#include "Core/Launch.h"

#include <csignal>
#include <cstdlib>
#include <thread>
#include <unistd.h>

using namespace lnbwd::sim;

TEST(LaunchLimit, InstructionLimit) {
  useChip("gfx942");
  KernelText K;
  K.Body = "loop:\ns_branch loop";
  LoadedModule M(build(K, "gfx942"));
  setenv("LNBWD_SIM_MAX_INSTRUCTIONS", "100000", 1);
  EXPECT_EQ(hipModuleLaunchKernel(M.function("k"), 1, 1, 1, 64, 1, 1, 0,
                                  nullptr, nullptr, nullptr),
            hipErrorLaunchTimeOut);
  unsetenv("LNBWD_SIM_MAX_INSTRUCTIONS");
  EXPECT_NE(std::string(lnbwdSimLastErrorMessage())
                .find("was stopped after 100000 instructions"),
            std::string::npos)
      << lnbwdSimLastErrorMessage();
}

// The budget ends at a barrier most of the time: each of the two waves executes
// two instructions a turn.
TEST(LaunchLimit, InstructionLimitAtABarrier) {
  const unsigned Before = lnbwdSimGetChecks();
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus))
    for (unsigned Checks : {0u, unsigned(LNBWD_SIM_CHECK_ALL)}) {
      SCOPED_TRACE(Chip);
      useChip(Chip);
      KernelText K;
      K.Body = "loop:\n" + barrier(Chip) + "s_branch loop";
      LoadedModule M(build(K, Chip));
      lnbwdSimSetChecks(Checks);
      setenv("LNBWD_SIM_MAX_INSTRUCTIONS", "10000", 1);
      EXPECT_EQ(launch(M.function("k"), dim3(1),
                       dim3(2 * chipNamed(Chip).WaveSize), 0),
                hipErrorLaunchTimeOut);
      unsetenv("LNBWD_SIM_MAX_INSTRUCTIONS");
      lnbwdSimSetChecks(Before);
      EXPECT_NE(std::string(lnbwdSimLastErrorMessage())
                    .find("was stopped after 10000 instructions"),
                std::string::npos)
          << lnbwdSimLastErrorMessage();
    }
}

// No wave executes many, all of them together do.
TEST(LaunchLimit, InstructionLimitAtTheEndOfPrograms) {
  useChip("gfx1100");
  KernelText K;
  K.Body = "s_nop 0";
  LoadedModule M(build(K, "gfx1100"));
  hipFunction_t F = M.function("k");
  // Two instructions in each of 1000 waves.
  setenv("LNBWD_SIM_MAX_INSTRUCTIONS", "2000", 1);
  EXPECT_HIP(launch(F, dim3(1000), dim3(32), 0));
  setenv("LNBWD_SIM_MAX_INSTRUCTIONS", "1999", 1);
  EXPECT_EQ(launch(F, dim3(1000), dim3(32), 0), hipErrorLaunchTimeOut);
  setenv("LNBWD_SIM_MAX_INSTRUCTIONS", "many", 1);
  EXPECT_EQ(launch(F, dim3(1000), dim3(32), 0), hipErrorInvalidValue);
  EXPECT_NE(std::string(lnbwdSimLastErrorMessage())
                .find("LNBWD_SIM_MAX_INSTRUCTIONS: expected a number of "
                      "instructions, or 0 for no limit, got 'many'"),
            std::string::npos)
      << lnbwdSimLastErrorMessage();
  setenv("LNBWD_SIM_MAX_INSTRUCTIONS", "0", 1);
  EXPECT_HIP(launch(F, dim3(1000), dim3(32), 0));
  unsetenv("LNBWD_SIM_MAX_INSTRUCTIONS");
  EXPECT_HIP(launch(F, dim3(1000), dim3(32), 0));
}

TEST(LaunchLimit, WrongEnvironment) {
  struct Wrong {
    const char *Name, *Text, *Expected;
  };
  for (const Wrong &W :
       {Wrong{"LNBWD_SIM_THREADS", "foo",
              "expected a number of host threads from 1 to 256, got 'foo'"},
        Wrong{"LNBWD_SIM_THREADS", "0",
              "expected a number of host threads from 1 to 256, got '0'"},
        Wrong{"LNBWD_SIM_MEMORY_MB", "1.5",
              "expected the memory of a device in MiB, from 1 to 2^40, got "
              "'1.5'"},
        Wrong{"LNBWD_SIM_RACES_MB", "all",
              "expected the memory for the check of races in MiB, from 0 to "
              "2^40, got 'all'"},
        Wrong{"LNBWD_SIM_MAX_ERRORS", "0",
              "expected a number of errors from 1 to 2^32 - 1, got '0'"},
        Wrong{"LNBWD_SIM_SHUFFLE", "-1",
              "expected a seed, or 0 for the usual order, got '-1'"},
        Wrong{"LNBWD_SIM_ISA", "sse", " on this host, got 'sse'"},
        Wrong{"LNBWD_SIM_CHECK", "memory,rases",
              "separated by commas, got 'rases'"}}) {
    const char *Found = std::getenv(W.Name);
    std::string Before = Found ? Found : "";
    setenv(W.Name, W.Text, 1);
    int Count;
    for (hipError_t Error : {hipInit(0), hipGetDeviceCount(&Count)}) {
      EXPECT_EQ(Error, hipErrorInvalidValue) << W.Name;
      std::string Message = lnbwdSimLastErrorMessage();
      EXPECT_EQ(Message.find(std::string(W.Name) + ": expected "), 0u)
          << Message;
      EXPECT_NE(Message.find(W.Expected), std::string::npos) << Message;
    }
    if (Found)
      setenv(W.Name, Before.c_str(), 1);
    else
      unsetenv(W.Name);
    EXPECT_HIP(hipInit(0));
  }
}

// The default has the same form with larger numbers, which nobody waits for.
TEST(LaunchLimit, DefaultInstructionLimit) {
  const InstructionLimit Default;
  EXPECT_TRUE(Default.IsDefault);
  EXPECT_EQ(Default.after(1), 4294967296u + 1048576u);
  EXPECT_EQ(Default.after(1000), 4294967296u + 1048576000u);
  KernelText K;
  K.Body = "s_mov_b32 s8, 0\nloop:\ns_add_u32 s8, s8, 1\n"
           "s_cmp_lg_u32 s8, 1000\ns_cbranch_scc1 loop";
  LoadedObject M(K, "gfx942");
  auto Run = [&](uint64_t Base, uint64_t PerWave, uint32_t Grid) {
    uint64_t Memory[32] = {};
    Launch L;
    L.TheKernel = M.Object->kernel("k");
    L.Code = &M.Object->code(L.TheKernel->WaveSize);
    L.Symbols = M.Object.get();
    L.Grid[0] = Grid;
    L.Block[0] = 64;
    L.Kernarg = L.DispatchPacket = L.Queue = reinterpret_cast<uint64_t>(Memory);
    L.Limit.Base = Base;
    L.Limit.PerWave = PerWave;
    bool Good = run(L);
    EXPECT_EQ(Good, L.Failure == LaunchFailure::None) << L.Error;
    EXPECT_TRUE(Good || L.Failure == LaunchFailure::TimeOut) << L.Error;
    return L.Error;
  };
  // Each wave executes 3002 instructions.
  EXPECT_EQ(Run(2, 3000, 1), "");
  EXPECT_EQ(Run(3000, 2, 1), "");
  EXPECT_EQ(Run(0, 3002, 500), "");
  const std::string Text = Run(1000, 3000, 1000);
  EXPECT_NE(Text.find("was stopped after "), std::string::npos) << Text;
  EXPECT_NE(Text.find("(the default is 1000 and 3000 for each wave that has "
                      "begun; LNBWD_SIM_MAX_INSTRUCTIONS sets another limit, "
                      "or none with 0)"),
            std::string::npos)
      << Text;
}

/// The process's handler of SIGINT in the test below.
static volatile std::sig_atomic_t Interruptions = 0;
static void countInterruption(int) { Interruptions = Interruptions + 1; }

// A launch without a limit ends when the process, which handles SIGINT itself,
// gets one.
TEST(LaunchLimit, InterruptionEndsALaunch) {
  struct sigaction Mine = {}, Old, Now;
  Mine.sa_handler = countInterruption;
  ASSERT_EQ(sigaction(SIGINT, &Mine, &Old), 0);
  setenv("LNBWD_SIM_MAX_INSTRUCTIONS", "0", 1);
  // All workgroups write the flag below.
  const unsigned Before = lnbwdSimGetChecks();
  lnbwdSimSetChecks(Before & ~unsigned(LNBWD_SIM_CHECK_RACES));
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus))
    for (bool AtABarrier : {false, true}) {
      SCOPED_TRACE(Chip);
      useChip(Chip);
      KernelText K;
      K.KernargBytes = 8;
      // Says that it runs, in memory that the host sees.
      K.Body = prologue(Chip) + "v_mov_b32 v1, 0\nv_mov_b32 v2, 1\n" +
               storeDword(Chip) + "v1, v2, s[4:5]\nloop:\n" +
               (AtABarrier ? barrier(Chip) : "s_nop 0\n") + "s_branch loop";
      LoadedModule M(build(K, Chip));
      Buffer<uint32_t> Flag(1);
      Interruptions = 0;
      std::thread Interrupter([&] {
        auto *Seen = static_cast<volatile uint32_t *>(Flag.get());
        while (!*Seen)
          std::this_thread::yield();
        kill(getpid(), SIGINT);
      });
      EXPECT_EQ(launch(M.function("k"), dim3(64), dim3(128), 0, Flag.get()),
                hipErrorLaunchFailure);
      Interrupter.join();
      EXPECT_EQ(std::string(lnbwdSimLastErrorMessage()),
                Chip + ": kernel 'k' was stopped by SIGINT");
      EXPECT_EQ(Interruptions, 1);
      ASSERT_EQ(sigaction(SIGINT, nullptr, &Now), 0);
      EXPECT_EQ(Now.sa_handler, countInterruption);
    }
  unsetenv("LNBWD_SIM_MAX_INSTRUCTIONS");
  lnbwdSimSetChecks(Before);
  sigaction(SIGINT, &Old, nullptr);
}
