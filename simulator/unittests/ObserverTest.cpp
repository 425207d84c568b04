//===- ObserverTest.cpp - What a launch tells an observer -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Launch.h"
#include "LoadedObject.h"

#include <atomic>
#include <numeric>

using namespace lnbwd::sim;

namespace {
/// Counts what it is told.
struct Counts {
  std::atomic<unsigned> Workgroups{0}, Waves{0}, Before{0}, After{0}, Ended{0};
  std::atomic<unsigned> Global{0}, Lds{0}, Scalar{0};
  std::atomic<uint64_t> Stored{0}; ///< sum of the addresses
  unsigned StopAt = ~0u;           ///< the number of the instruction to stop at
};

class WaveCounter final : public WaveObserver {
public:
  WaveCounter(Counts &C, Wave &W) : C(C), W(W) {}
  void started(unsigned ScalarsSet, unsigned VectorsSet) override {
    EXPECT_EQ(VectorsSet, 1u); // the work-item
    EXPECT_GE(ScalarsSet, 2u); // the argument segment's address
    ++C.Waves;
  }
  bool before(const Inst *I) override {
    if (C.Before++ == C.StopAt)
      return faultCheck(W, "limits", I, 5, "that is enough");
    return true;
  }
  void after(const Inst *) override { ++C.After; }
  void ended(const Inst *) override { ++C.Ended; }
  bool globalAccess(const Inst *I, const uint64_t *A, uint64_t Mask,
                    unsigned Bytes) override {
    EXPECT_EQ(Mask, W.FullMask);
    EXPECT_EQ(Bytes, 4u);
    EXPECT_EQ(I->Class, InstClass::VectorMemory);
    C.Stored += std::accumulate(A, A + W.N, uint64_t(0));
    ++C.Global;
    return true;
  }
  bool ldsAccess(const Inst *, const uint32_t *A, uint64_t,
                 unsigned Bytes) override {
    EXPECT_EQ(A[1] - A[0], Bytes);
    ++C.Lds;
    return true;
  }
  bool scratchAccess(const Inst *, const uint64_t *, uint64_t,
                     unsigned) override {
    ADD_FAILURE();
    return true;
  }
  bool scalarLoad(const Inst *, uint64_t Address, unsigned Bytes,
                  uint64_t Asked) override {
    EXPECT_EQ(Address, Asked);
    EXPECT_EQ(Bytes, 8u);
    ++C.Scalar;
    return true;
  }

private:
  Counts &C;
  Wave &W;
};

class WorkgroupCounter final : public WorkgroupObserver {
public:
  explicit WorkgroupCounter(Counts &C) : C(C) {}
  bool started(uint64_t Number) override {
    EXPECT_LT(Number, 3u);
    ++C.Workgroups;
    return true;
  }
  WaveObserver &observe(Wave &W) override {
    Waves.push_back(std::make_unique<WaveCounter>(C, W));
    return *Waves.back();
  }

private:
  Counts &C;
  std::vector<std::unique_ptr<WaveCounter>> Waves;
};

class LaunchCounter final : public LaunchObserver {
public:
  explicit LaunchCounter(Counts &C) : C(C) {}
  std::unique_ptr<WorkgroupObserver> observe(Workgroup &WG) override {
    EXPECT_EQ(WG.NumWaves, 2u);
    return std::make_unique<WorkgroupCounter>(C);
  }

private:
  Counts &C;
};

/// Three workgroups of two waves, seven instructions each.
struct ObservedLaunch {
  explicit ObservedLaunch(Counts &C) : Observer(C), M(text(), "gfx942") {
    uint64_t Buffer = reinterpret_cast<uint64_t>(Memory);
    Kernarg[0] = Buffer;
    L.TheKernel = M.Object->kernel("k");
    L.Code = &M.Object->code(L.TheKernel->WaveSize);
    L.Symbols = M.Object.get();
    L.Grid[0] = 3;
    L.Block[0] = 128;
    L.LdsSize = 512;
    L.Kernarg = L.DispatchPacket = L.Queue =
        reinterpret_cast<uint64_t>(Kernarg);
    L.Regions = {{Buffer, Buffer + sizeof(Memory)},
                 {L.Kernarg, L.Kernarg + sizeof(Kernarg)}};
    L.sortRegions();
    L.Observer = &Observer;
  }
  static KernelText text() {
    KernelText K;
    K.KernargBytes = 8;
    K.LdsBytes = 512;
    K.Body = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
             "v_lshlrev_b32 v1, 2, v0\n"
             "s_waitcnt lgkmcnt(0)\n"
             "global_store_dword v1, v0, s[4:5]\n"
             "ds_write_b32 v1, v0\n"
             "s_barrier\n";
    return K;
  }
  LaunchCounter Observer;
  LoadedObject M;
  uint32_t Memory[128] = {};
  uint64_t Kernarg[32] = {};
  Launch L;
};
} // namespace

TEST(Observer, IsToldOfEverything) {
  Counts C;
  ObservedLaunch O(C);
  EXPECT_TRUE(run(O.L)) << O.L.Error;
  EXPECT_EQ(C.Workgroups, 3u);
  EXPECT_EQ(C.Waves, 6u);
  EXPECT_EQ(C.Before, 42u);
  // Not of the end, nor of a barrier where the wave waits: the first of two.
  EXPECT_EQ(C.After, 33u);
  EXPECT_EQ(C.Ended, 6u);
  EXPECT_EQ(C.Global, 6u);
  EXPECT_EQ(C.Lds, 6u);
  EXPECT_EQ(C.Scalar, 6u);
  EXPECT_EQ(C.Stored, 3 * (128 * O.Kernarg[0] + 4 * (127 * 128 / 2)));
  EXPECT_EQ(O.Memory[127], 127u);
}

TEST(Observer, StopsALaunch) {
  Counts C;
  C.StopAt = 3;
  ObservedLaunch O(C);
  EXPECT_FALSE(run(O.L));
  EXPECT_EQ(O.L.Failure, LaunchFailure::CheckFailed);
  EXPECT_NE(O.L.Error.find("lane 5: that is enough; at k+0x"),
            std::string::npos)
      << O.L.Error;
}

TEST(Observer, NobodyLooks) {
  Counts C;
  ObservedLaunch O(C);
  O.L.Observer = nullptr;
  EXPECT_TRUE(run(O.L)) << O.L.Error;
  EXPECT_EQ(C.Before, 0u);
  EXPECT_EQ(O.Memory[127], 127u);
}
