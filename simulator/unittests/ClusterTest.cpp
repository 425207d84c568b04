//===- ClusterTest.cpp - Workgroups that are launched together ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clusters of gfx1250. Where their numbers are, and that one wave of each
// workgroup signals the cluster's barrier, follows from the code that LLVM
// makes of llvm.amdgcn.cluster.* and llvm.amdgcn.s.cluster.barrier; the mask of
// loads from composable_kernel's test/ck_tile/multicast_load.
//
//===----------------------------------------------------------------------===//

#include "CheckerTester.h"
#include "LaunchTester.h"

#include "Hip/HipState.h"

#include <optional>

using namespace lnbwd::sim;

namespace {
class Clusters : public ::testing::Test {
protected:
  void SetUp() override {
    useChip("gfx1250");
    Before = lnbwdSimGetChecks();
    lnbwdSimSetChecks(AllButHazards);
    A.emplace(numbers());
    B.emplace(numbers());
    K.KernargBytes = 16;
    K.LdsBytes = 2048;
    K.WorkItemDimensions = 1;
    K.Directives = "\t.amdhsa_system_sgpr_workgroup_id_y 1\n"
                   "\t.amdhsa_system_sgpr_workgroup_id_z 1\n";
  }
  void TearDown() override { lnbwdSimSetChecks(Before); }

  /// Buffers at s[4:5] and s[6:7], the rank in s3, the work-item's number in
  /// v0, and times 4 in v1. The message of the error, or "".
  std::string run(const std::string &Text, dim3 Grid, dim3 Block, dim3 Dims) {
    KernelText Whole = K;
    Whole.Body = "s_load_b128 s[4:7], s[0:1], 0x0\n"
                 "v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v1, 2, v0\n"
                 "s_getreg_b32 s3, hwreg(HW_REG_IB_STS2, 21, 4)\n"
                 "s_wait_kmcnt 0x0\n" +
                 Text + "\n";
    LoadedModule M(build(Whole, "gfx1250"));
    LaunchAttribute Attribute = {
        LaunchAttribute::ClusterDimension, 0, {Dims.x, Dims.y, Dims.z}};
    const LaunchConfig Config = {{Grid.x, Grid.y, Grid.z},
                                 {Block.x, Block.y, Block.z},
                                 0,
                                 nullptr,
                                 &Attribute,
                                 Dims.x != 0};
    void *Arguments[] = {A->get(), B->get()};
    void *Parameters[] = {&Arguments[0], &Arguments[1], nullptr};
    return hipDrvLaunchKernelEx(&Config, M.function("k"), Parameters,
                                nullptr) == hipSuccess
               ? ""
               : lnbwdSimLastErrorMessage();
  }
  std::string run(const std::string &Text) { return run(Text, 4, 64, 2); }
  static std::vector<uint32_t> numbers() {
    std::vector<uint32_t> V(2048);
    for (unsigned N = 0; N < V.size(); ++N)
      V[N] = 1000 + N;
    return V;
  }

  unsigned Before = 0;
  KernelText K;
  std::optional<Buffer<uint32_t>> A, B;
};
} // namespace

static const char *const Barrier = R"(
  s_barrier_signal -1
  s_barrier_wait -1
  v_readfirstlane_b32 s8, v0
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc0 1
  s_barrier_signal -3
  s_barrier_wait -3
)";

TEST_F(Clusters, Numbers) {
  // As LLVM has the workgroup's number follow from the cluster's.
  const char *const Text = R"(
  s_and_b32 s8, ttmp7, 0xffff
  s_lshr_b32 s9, ttmp7, 16
  s_bfe_u32 s10, ttmp6, 0x4000c
  s_bfe_u32 s11, ttmp6, 0x40010
  s_bfe_u32 s12, ttmp6, 0x40014
  s_add_co_i32 s10, s10, 1
  s_add_co_i32 s11, s11, 1
  s_add_co_i32 s12, s12, 1
  s_mul_i32 s10, s10, ttmp9
  s_mul_i32 s11, s11, s8
  s_mul_i32 s12, s12, s9
  s_and_b32 s13, ttmp6, 15
  s_add_co_i32 s10, s10, s13
  s_bfe_u32 s13, ttmp6, 0x40004
  s_add_co_i32 s11, s11, s13
  s_bfe_u32 s13, ttmp6, 0x40008
  s_add_co_i32 s12, s12, s13
  s_lshl_b32 s12, s12, 4
  s_lshl2_add_u32 s11, s11, s12
  s_add_co_i32 s10, s10, s11
  s_getreg_b32 s14, hwreg(HW_REG_IB_STS2, 6, 4)
  v_mov_b32 v2, s3
  v_mov_b32 v3, s14
  v_mov_b32 v4, ttmp6
  v_mov_b32 v5, ttmp9
  s_lshl_b32 s10, s10, 4
  v_mov_b32 v6, s10
  v_mov_b32 v7, 0
  s_get_barrier_state s15, -3
  s_wait_kmcnt 0x0
  v_mov_b32 v8, s15
  s_mov_b32 exec_lo, 1
  global_store_b128 v6, v[2:5], s[6:7]
  global_store_b32 v7, v8, s[4:5]
)";
  EXPECT_CLEAN(run(Text, dim3(4, 4, 2), 32, dim3(2, 2, 1)));
  const std::vector<uint32_t> Got = B->read();
  for (unsigned Z = 0; Z < 2; ++Z)
    for (unsigned Y = 0; Y < 4; ++Y)
      for (unsigned X = 0; X < 4; ++X) {
        const uint32_t *V = &Got[(X + 4 * Y + 16 * Z) * 4];
        EXPECT_EQ(V[0], X % 2 + Y % 2 * 2);
        EXPECT_NE(V[1], 0u);
        EXPECT_EQ(V[2], X % 2 | Y % 2 << 4 | 0x3011000);
        EXPECT_EQ(V[3], X / 2);
      }
  EXPECT_EQ(A->read()[0], 1u | 4 << 4);
  // Without clusters.
  EXPECT_CLEAN(run(Text, dim3(4, 1, 1), 32, 0));
  EXPECT_EQ(B->read()[12], 0u);
  EXPECT_EQ(B->read()[13], 0u);
  EXPECT_EQ(B->read()[14], 0u);
  EXPECT_EQ(B->read()[15], 3u);
  EXPECT_EQ(A->read()[0], 0u);
}

TEST_F(Clusters, Launches) {
  EXPECT_SAYS(run("", 3, 32, 2), "a cluster of (2, 1, 1) workgroups");
  EXPECT_SAYS(run("", 32, 32, 32), "at most 16");
  K.Arguments = "      - .offset: 0\n        .size: 8\n"
                "        .value_kind: global_buffer\n"
                "      - .offset: 8\n        .size: 8\n"
                "        .value_kind: global_buffer\n"
                "    .cluster_dims: [2, 1, 1]\n";
  const char *const Text = "s_barrier_signal -3\ns_barrier_wait -3\n"
                           "s_get_barrier_state s8, -3\ns_wait_kmcnt 0x0\n"
                           "v_mov_b32 v2, s8\n"
                           "global_store_b32 v1, v2, s[6:7]";
  EXPECT_CLEAN(run(Text, 2, 32, 0)); // as the kernel states
  EXPECT_EQ(B->read()[0], 1u | 2 << 4);
  EXPECT_SAYS(run(Text, 4, 32, 4), "was compiled for (2, 1, 1)");
}

// Every workgroup stores, and loads what the other one of its cluster has
// stored. LLVM makes the same of a fence for the cluster on either side.
TEST_F(Clusters, Barriers) {
  const std::string Store = "s_lshl1_add_u32 s9, ttmp9, s3\n"
                            "s_lshl_b32 s10, s9, 8\ns_lshl_b32 s11, s9, 6\n"
                            "v_add_nc_u32 v2, s10, v1\n"
                            "v_add_nc_u32 v3, s11, v0\n"
                            "global_store_b32 v2, v3, s[4:5]\n",
                    Release = "s_wait_storecnt 0x0\n",
                    Acquire = "global_inv scope:SCOPE_SE\n",
                    Load = "v_xor_b32 v4, 0x100, v2\n"
                           "global_load_b32 v5, v4, s[4:5]\n"
                           "s_wait_loadcnt 0x0\n"
                           "global_store_b32 v2, v5, s[6:7]\n",
                    Again = "global_store_b32 v2, v5, s[4:5]\n";
  EXPECT_CLEAN(
      run(Store + Release + Barrier + Acquire + Load + Barrier + Again));
  for (unsigned N = 0; N < 256; ++N)
    EXPECT_EQ(B->read()[N], N ^ 64);
  EXPECT_SAYS(run(Store + Release + Acquire + Load), "a race");
  EXPECT_SAYS(run(Store + Barrier + Acquire + Load), "storecnt of 0");
  EXPECT_SAYS(run(Store + Release + Barrier + Load), "a stale read");
  EXPECT_SAYS(run(Store + Release + Barrier + Acquire + Load + Again),
              "a race");
  // The barrier is that of the cluster.
  EXPECT_SAYS(run(Store + Release + Barrier + Acquire +
                  "v_xor_b32 v4, 0x200, v2\nglobal_load_b32 v5, v4, s[4:5]\n"
                  "s_wait_loadcnt 0x0\n"),
              "a race");
  EXPECT_SAYS(run("s_barrier_signal -3", 2, 64, 2), "signals the cluster's");
  EXPECT_SAYS(run("s_cmp_eq_u32 s3, 0\ns_cbranch_scc1 1\n"
                  "s_barrier_signal -3\ns_barrier_wait -3",
                  2, 32, 2),
              "cannot complete");
  EXPECT_SAYS(run("s_barrier_signal_isfirst -3", 2, 32, 2), "no first signal");
}

TEST_F(Clusters, Atomics) {
  const std::string Add = "v_mov_b32 v2, 1\n"
                          "global_atomic_add_u32 v1, v2, s[4:5] ";
  EXPECT_CLEAN(run(Add + "scope:SCOPE_SE", 2, 32, 2));
  EXPECT_EQ(A->read()[5], 1007u);
  EXPECT_SAYS(run(Add, 2, 32, 2), "does not have device scope");
  EXPECT_SAYS(run(Add + "scope:SCOPE_SE", 4, 32, 2),
              "does not have device scope");
}

// Of one load each workgroup gets its part where it has asked for it.
TEST_F(Clusters, Loads) {
  const std::string Addresses = "v_lshlrev_b32 v2, 4, v0\n"
                                "s_lshl_b32 s9, s3, 9\n"
                                "v_add_nc_u32 v3, s9, v2\n",
                    Loads = "cluster_load_b32 v4, v2, s[4:5] offset:8\n"
                            "cluster_load_b64 v[6:7], v2, s[4:5]\n"
                            "cluster_load_b128 v[8:11], v2, s[4:5]\n"
                            "cluster_load_async_to_lds_b128 v3, v2, s[4:5]\n"
                            "s_wait_loadcnt 0x0\n",
                    Wait = "s_wait_asynccnt 0x0\n",
                    Use = "ds_load_b128 v[12:15], v3\n"
                          "v_add3_u32 v4, v4, v6, v11\ns_wait_dscnt 0x0\n"
                          "v_mov_b32 v12, v4\n"
                          "global_store_b128 v3, v[12:15], s[6:7]\n";
  auto Masked = [](unsigned Mask) {
    return "s_mov_b32 m0, " + std::to_string(Mask) + "\n";
  };
  for (unsigned Mask : {0u, 3u, 0x1000fu}) {
    EXPECT_CLEAN(run(Addresses + Masked(Mask) + Loads + Wait + Use, 2, 32, 2));
    const std::vector<uint32_t> Got = B->read();
    for (unsigned N = 0; N < 256; ++N) {
      const unsigned First = 1000 + N % 128 / 4 * 4;
      EXPECT_EQ(Got[N], N % 4 ? First + N % 4 : 3 * First + 5);
    }
  }
  // Alone, and where the others do not load: nobody waits for them for ever.
  EXPECT_CLEAN(run(Addresses + Masked(3) + Loads + Wait + Use, 1, 32, 0));
  EXPECT_CLEAN(run(Addresses + Masked(7) +
                       "s_cmp_eq_u32 s3, 0\n"
                       "s_cbranch_scc1 3\n"
                       "cluster_load_b32 v4, v2, s[4:5]\n",
                   2, 32, 2));
  EXPECT_SAYS(run(Addresses + Masked(3) + Loads + Use, 2, 32, 2), "asynccnt");
  EXPECT_SAYS(run(Addresses + Masked(2) + Loads, 2, 32, 2),
              "than the wave's own");
  EXPECT_SAYS(run(Addresses + Loads, 2, 32, 2), "m0");
}

// A row of four dwords, for both workgroups.
TEST_F(Clusters, Tensors) {
  auto Text = [](unsigned Mask) {
    return "s_mov_b32 s8, 1\ns_lshl_b32 s9, s3, 8\ns_mov_b32 s10, s4\n"
           "s_or_b32 s11, s5, 0x80000000\ns_mov_b32 s12, " +
           std::to_string(Mask | 2 << 16) +
           "\ns_mov_b32 s13, 0x40000\ns_mov_b32 s14, 0x10000\n"
           "s_mov_b32 s15, 0x40000\ns_mov_b32 s16, 1\ns_mov_b32 s17, 4\n"
           "s_mov_b32 s18, 0\ns_mov_b32 s19, 0\n"
           "tensor_load_to_lds s[8:11], s[12:19]\ns_wait_tensorcnt 0x0\n"
           "s_mov_b32 exec_lo, 1\nv_mov_b32 v2, s9\nds_load_b128 v[4:7], v2\n"
           "s_wait_dscnt 0x0\nglobal_store_b128 v2, v[4:7], s[6:7]\n";
  };
  EXPECT_CLEAN(run(Text(3), 2, 32, 2));
  for (unsigned N = 0; N < 4; ++N) {
    EXPECT_EQ(B->read()[N], 1000 + N);
    EXPECT_EQ(B->read()[64 + N], 1000 + N);
  }
  EXPECT_SAYS(run(Text(1), 2, 32, 2), "than the wave's own");
  EXPECT_SAYS(run(Text(3), 2, 32, 0), "the launch has none");
}
