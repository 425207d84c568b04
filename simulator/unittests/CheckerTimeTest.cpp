//===- CheckerTimeTest.cpp - Host threads between a check and its store ---===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A store is checked, and happens later: a wave on another host thread may look
// in between. Here it does so every time: an observer around the checker's
// makes the second workgroup's check wait for the first one's, and the first
// one's store for the second one's check.
//
//===----------------------------------------------------------------------===//

#include "LoadedObject.h"
#include "WaveTester.h"

#include "Check/LaunchChecker.h"
#include "Check/ShadowMemory.h"
#include "Core/Launch.h"

#include "lnbwd/Simulator/SimulatorAPI.h"

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>

using namespace lnbwd::sim;

namespace {
/// How many of the two workgroups have had their store checked.
class Checked {
public:
  void waitFor(unsigned Number) {
    std::unique_lock<std::mutex> Guard(Lock);
    Changed.wait(Guard, [&] { return Count >= Number; });
  }
  void add() {
    std::lock_guard<std::mutex> Guard(Lock);
    ++Count;
    Changed.notify_all();
  }

private:
  std::mutex Lock;
  std::condition_variable Changed;
  unsigned Count = 0;
};

class WaveInOrder final : public WaveObserver {
public:
  WaveInOrder(WaveObserver &Checker, Checked &C, const uint64_t &Workgroup)
      : Checker(Checker), C(C), Workgroup(Workgroup) {}
  void started(unsigned Scalars, unsigned Vectors) override {
    Checker.started(Scalars, Vectors);
  }
  bool before(const Inst *I) override { return Checker.before(I); }
  void after(const Inst *I) override { Checker.after(I); }
  void ended(const Inst *I) override { Checker.ended(I); }
  bool globalAccess(const Inst *I, const uint64_t *A, uint64_t Mask,
                    unsigned Bytes) override {
    // The only access of each workgroup.
    C.waitFor(unsigned(Workgroup));
    const bool Good = Checker.globalAccess(I, A, Mask, Bytes);
    C.add();
    C.waitFor(2);
    return Good;
  }
  bool ldsAccess(const Inst *I, const uint32_t *A, uint64_t Mask,
                 unsigned Bytes) override {
    return Checker.ldsAccess(I, A, Mask, Bytes);
  }
  bool scratchAccess(const Inst *I, const uint64_t *A, uint64_t Mask,
                     unsigned Bytes) override {
    return Checker.scratchAccess(I, A, Mask, Bytes);
  }
  bool scalarLoad(const Inst *I, uint64_t Address, unsigned Bytes,
                  uint64_t Asked) override {
    return Checker.scalarLoad(I, Address, Bytes, Asked);
  }

private:
  WaveObserver &Checker;
  Checked &C;
  const uint64_t &Workgroup;
};

class WorkgroupInOrder final : public WorkgroupObserver {
public:
  WorkgroupInOrder(std::unique_ptr<WorkgroupObserver> Checker, Checked &C)
      : Checker(std::move(Checker)), C(C) {}
  bool started(uint64_t Which) override {
    Number = Which;
    return Checker->started(Which);
  }
  WaveObserver &observe(Wave &W) override {
    Waves.push_back(
        std::make_unique<WaveInOrder>(Checker->observe(W), C, Number));
    return *Waves.back();
  }

private:
  std::unique_ptr<WorkgroupObserver> Checker;
  Checked &C;
  uint64_t Number = 0;
  std::vector<std::unique_ptr<WaveInOrder>> Waves;
};

class LaunchInOrder final : public LaunchObserver {
public:
  explicit LaunchInOrder(LaunchChecker &Checker) : Checker(Checker) {}
  std::unique_ptr<WorkgroupObserver> observe(Workgroup &WG) override {
    return std::make_unique<WorkgroupInOrder>(Checker.observe(WG), C);
  }

private:
  LaunchChecker &Checker;
  Checked C;
};
} // namespace

/// What is said of two workgroups that store these values to the same place,
/// which holds another one before.
static std::string twoStores(uint32_t First, uint32_t Second, uint32_t Before) {
  KernelText K;
  K.KernargBytes = 8;
  K.Body = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
           "v_lshlrev_b32 v1, 2, v0\n"
           "s_cmp_eq_u32 s2, 0\n"
           "s_cselect_b32 s6, " +
           std::to_string(First) + ", " + std::to_string(Second) +
           "\nv_mov_b32 v2, s6\n"
           "s_waitcnt lgkmcnt(0)\n"
           "global_store_dword v1, v2, s[4:5]\n";
  LoadedObject M(K, "gfx942");
  uint32_t Memory[64];
  std::fill_n(Memory, 64, Before);
  const uint64_t Begin = reinterpret_cast<uint64_t>(Memory);
  uint64_t Kernarg[32] = {Begin};
  BufferShadow Shadow(Begin, sizeof(Memory), true);
  Shadow.mark(Begin, sizeof(Memory), true);
  Launch L;
  L.TheKernel = M.Object->kernel("k");
  L.Code = &M.Object->code(L.TheKernel->WaveSize);
  L.Symbols = M.Object.get();
  L.Grid[0] = 2;
  L.Block[0] = 64;
  L.Kernarg = L.DispatchPacket = L.Queue = reinterpret_cast<uint64_t>(Kernarg);
  L.Regions = {{Begin, Begin + sizeof(Memory), &Shadow},
               {L.Kernarg, L.Kernarg + sizeof(Kernarg)}};
  L.sortRegions();
  const char *Threads = std::getenv("LNBWD_SIM_THREADS");
  const std::string ThreadsBefore = Threads ? Threads : "";
  setenv("LNBWD_SIM_THREADS", "2", 1);
  LaunchChecker Checker(L, LNBWD_SIM_CHECK_RACES);
  LaunchInOrder Observer(Checker);
  L.Observer = &Observer;
  (void)run(L);
  if (Threads)
    setenv("LNBWD_SIM_THREADS", ThreadsBefore.c_str(), 1);
  else
    unsetenv("LNBWD_SIM_THREADS");
  return L.CheckErrors.empty() ? L.Error : L.report();
}

TEST(CheckerTime, SameValuesThatMemoryDoesNotHoldYet) {
  EXPECT_EQ(twoStores(5, 5, 0), "");
  EXPECT_EQ(twoStores(0, 0, 5), "");
}

TEST(CheckerTime, OtherValuesThatMemoryStillHolds) {
  EXPECT_NE(twoStores(5, 3, 3).find("a race: "), std::string::npos);
  EXPECT_NE(twoStores(5, 3, 5).find("a race: "), std::string::npos);
}
