//===- Cdna5Test.cpp - What only CDNA5 has --------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions, register banks and addresses of gfx1250. Expected values follow
// from the operations as LLVM and rocjitsu define them.
//
//===----------------------------------------------------------------------===//

#include "WaveTester.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace lnbwd::sim;

static const char *const Chip = "gfx1250";

TEST(Cdna5, WholeNumbers) {
  runLaneCases({
      {"v_mad_u32 v0, v2, v4, v6", GFX1250, {{0x10001, 0x10001, 5, 0x20006}}},
      {"v_mad_nc_u64_u32 v[0:1], v2, v4, v[6:7]",
       GFX1250,
       {{0xffffffff, 2, 0x100000003, 0x300000001}}},
      {"v_mad_nc_i64_i32 v[0:1], v2, v4, v[6:7]",
       GFX1250,
       {{0xffffffff, 2, 3, 1}, {0xfffffffe, 2, 3, ~0ull}}},
      {"v_add_nc_u64 v[0:1], v[2:3], v[4:5]",
       GFX1250,
       {{0xffffffff, 1, 0, 0x100000000}}},
      {"v_sub_nc_u64 v[0:1], v[2:3], v[4:5]", GFX1250, {{0, 1, 0, ~0ull}}},
      {"v_mul_u64 v[0:1], v[2:3], v[4:5]",
       GFX1250,
       {{0x100000001, 0x200000003, 0, 0x500000003}}},
      {"v_min_i64 v[0:1], v[2:3], v[4:5]", GFX1250, {{~0ull, 1, 0, ~0ull}}},
      {"v_max_u64 v[0:1], v[2:3], v[4:5]", GFX1250, {{~0ull, 1, 0, ~0ull}}},
      {"v_add_max_u32 v0, v2, v4, v6", GFX1250, {{3, 4, 9, 9}, {3, 4, 5, 7}}},
      {"v_add_min_i32 v0, v2, v4, v6", GFX1250, {{3, 4, ~0u, ~0u}}},
      {"v_pk_max3_i16 v0, v2, v4, v6",
       GFX1250,
       {{0x0001ffff, 0x0002fffe, 0x0003fffd, 0x0003ffff}}},
      {"v_pk_min3_u16 v0, v2, v4, v6",
       GFX1250,
       {{0x0001ffff, 0x0002fffe, 0x0003fffd, 0x0001fffd}}},
  });
}

TEST(Cdna5, Bfloat) {
  // 1 + 2^-8 lies halfway between two values: the even one is 1.
  runLaneCases({
      {"v_pk_add_bf16 v0, v2, v4",
       GFX1250,
       {{0x40003f80, 0x3f803b80, 0, 0x40403f80}}},
      {"v_pk_mul_bf16 v0, v2, v4",
       GFX1250,
       {{0x40003fc0, 0x40404000, 0, 0x40c04040}}},
      {"v_pk_fma_bf16 v0, v2, v4, v6",
       GFX1250,
       {{0x40003f80, 0x40403f80, 0x3f803f80, 0x40e04000}}},
      {"v_pk_add_bf16 v0, v2, v4 neg_lo:[0,1] neg_hi:[1,0]",
       GFX1250,
       {{0x3f803f80, 0x40004040, 0, 0x3f80c000}}},
      {"v_pk_max_num_bf16 v0, v2, v4",
       GFX1250,
       {{0x7fc03f80, 0x40004000, 0, 0x40004000}}},
      {"v_pk_min_num_bf16 v0, v2, v4",
       GFX1250,
       {{0xbf803f80, 0x40007fc0, 0, 0xbf803f80}}},
      // The square of 1 + 2^-7 is 1 + 2^-6 + 2^-14, which the sum still has.
      {"v_pk_fma_bf16 v0, v2, v4, v6",
       GFX1250,
       {{0x3f813f81, 0x3f813f81, 0xbf80bf82, 0x3c803880}}},
      {"v_fma_mix_f32_bf16 v0, v2, v4, v6 op_sel:[0,1,0] op_sel_hi:[1,1,0]",
       GFX1250,
       {{0x4000, 0x40400000, f32(1.0f), f32(7.0f)}}},
      {"v_fma_mixlo_bf16 v0, v2, v4, v6",
       GFX1250,
       {{f32(2.0f), f32(3.0f), f32(1.0f), 0xdddd40e0}}},
      {"v_fma_mixhi_bf16 v0, v2, v4, 1.0 op_sel:[0,0,1] op_sel_hi:[0,0,1]",
       GFX1250,
       {{f32(2.0f), f32(3.0f), 0, 0x40e0dddd}}},
      {"v_rcp_bf16 v0.l, v2.l", GFX1250, {{0x4080, 0, 0, 0xdddd3e80}}},
      {"v_exp_bf16 v0.l, v2.l", GFX1250, {{0x4040, 0, 0, 0xdddd4100}}},
      {"v_tanh_f32 v0, v2", GFX1250, {{0, 0, 0, 0}, {Inf32, 0, 0, f32(1.0f)}}},
      {"v_tanh_f16 v0.l, v2.l", GFX1250, {{0xfc00, 0, 0, 0xddddbc00}}},
  });
}

TEST(Cdna5, Pairs) {
  runLaneCases({
      {"v_dual_add_nc_u32 v1, v2, v4 :: v_dual_bitop2_b32 v0, v5, v6 "
       "bitop3:0x3c",
       GFX1250,
       {{1, 0xf000000000, 0xff, 0xf}}},
      {"v_dual_fma_f32 v0, -v2, v4, v6 :: v_dual_mul_f32 v9, v3, -v5",
       GFX1250,
       {{f32(2.0f), f32(3.0f), f32(1.0f), f32(-5.0f)}}},
      {"s_mov_b32 s5, 0xaaaaaaaa\nv_dual_mov_b32 v9, v3 :: "
       "v_dual_cndmask_b32 v0, v6, v4, s5",
       GFX1250,
       {{0, 7, 9, 9}, {0, 7, 9, 7}}},
  });
}

TEST(Cdna5, RegisterBanks) {
  WaveTester T(Chip);
  for (unsigned L = 0; L < 32; ++L) {
    T.v(257)[L] = 100 + L;
    T.v(514)[L] = 1000;
    T.v(1)[L] = T.v(2)[L] = 1;
  }
  // Two bits each: the sources, then the result.
  ASSERT_TRUE(T.run("s_set_vgpr_msb 0xc9\n"
                    "v_add_nc_u32 v3, v1, v2\n"
                    "s_getreg_b32 s0, hwreg(HW_REG_WAVE_MODE, 12, 8)\n"
                    "s_set_vgpr_msb 0\n"
                    "v_add_nc_u32 v3, v1, v2"))
      << T.error();
  EXPECT_EQ(T.v(768 + 3)[5], 1105u);
  EXPECT_EQ(T.v(3)[5], 2u);
  EXPECT_EQ(T.s(0), 0x27u); // MODE has the result's bits first

  // Memory instructions: the address is the first operand, what is stored the
  // second one.
  std::fill_n(T.v(256 + 4), 32, 16u);
  std::fill_n(T.v(512 + 5), 32, 77u);
  ASSERT_TRUE(T.run("s_set_vgpr_msb 0xc9\n"
                    "ds_store_b32 v4, v5\n"
                    "ds_load_b32 v6, v4\n"
                    "s_set_vgpr_msb 0"))
      << T.error();
  EXPECT_EQ(T.v(768 + 6)[3], 77u);
  // The tied source of a fused multiply-add is where its result is.
  std::fill_n(T.v(256), 32, f32(2.0f));
  std::fill_n(T.v(1), 32, f32(3.0f));
  ASSERT_TRUE(T.run("s_set_vgpr_msb 0x40\nv_fmac_f32 v0, v1, v1")) << T.error();
  EXPECT_EQ(T.v(256)[0], f32(11.0f));
}

// Code whose banks a jump does not set back is not modelled, and says so.
TEST(Cdna5, BanksAcrossJumps) {
  for (const char *Text :
       {"s_set_vgpr_msb 0x40\ns_branch l\nl: v_mov_b32 v0, 1",
        "s_set_vgpr_msb 0x40\ns_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 0, "
        "4), 0",
        "s_setreg_b32 hwreg(HW_REG_WAVE_MODE, 12, 8), s0"}) {
    WaveTester T(Chip);
    EXPECT_FALSE(T.run(Text));
    EXPECT_NE(T.error().find("another use of register banks is not modelled"),
              std::string::npos)
        << T.error();
  }
  WaveTester T(Chip);
  EXPECT_TRUE(T.run("s_set_vgpr_msb 0x40\ns_setreg_imm32_b32 "
                    "hwreg(HW_REG_WAVE_MODE, 0, 4), 0x1000"))
      << T.error();
}

// A hint, and where waves are scheduled: nothing that results depend on.
TEST(Cdna5, WithoutEffect) {
  WaveTester T(Chip);
  ASSERT_TRUE(
      T.run("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 2\n"
            "global_prefetch_b8 v0, s[64:65] scope:SCOPE_SE\n"
            "s_wait_xcnt 0x0\ns_wait_tensorcnt 0x0"))
      << T.error();
}

TEST(Cdna5, Addresses) {
  WaveTester T(Chip);
  uint32_t Data[64];
  for (unsigned K = 0; K < 64; ++K)
    Data[K] = 100 + K;
  T.allow(Data, sizeof(Data));
  T.setS64(2, reinterpret_cast<uint64_t>(&Data[32]));
  T.s(4) = 3;
  for (unsigned L = 0; L < 32; ++L)
    T.v(1)[L] = L - 16;
  // The offset beside a scalar address is signed, and may count accesses.
  ASSERT_TRUE(T.run("global_load_b32 v2, v1, s[2:3] offset:4 scale_offset\n"
                    "global_load_b64 v[4:5], v1, s[2:3] scale_offset\n"
                    "s_load_b32 s5, s[2:3], s4 offset:8 scale_offset"))
      << T.error();
  for (unsigned L = 0; L < 32; ++L) {
    EXPECT_EQ(T.v(2)[L], 100 + 17 + L);
    EXPECT_EQ(T.v(5)[L], 100 + 2 * L + 1);
  }
  EXPECT_EQ(T.s(5), 137u);
}

// Private memory behind a flat address has the number of the lane in bits 56:52
// of it.
TEST(Cdna5, PrivateAddresses) {
  WaveTester T(Chip);
  T.setScratch(64);
  T.wave().setScalar64(SlotFlatScratch, LanePrivateBase);
  const char *Store = "v_mbcnt_lo_u32_b32 v1, -1, 0\n"
                      "v_lshlrev_b32 v3, 20, v1\n"
                      "v_mov_b32 v2, 8\n"
                      "v_add_nc_u64 v[2:3], v[2:3], src_flat_scratch_base_lo\n"
                      "flat_store_b32 v[2:3], v1\n"
                      "scratch_load_b32 v4, off, off offset:8\n";
  ASSERT_TRUE(T.run(Store)) << T.error();
  EXPECT_EQ(T.v(4)[7], 7u);
  EXPECT_FALSE(T.run("v_add_nc_u32 v3, 0x100000, v3\n"
                     "flat_load_b32 v4, v[2:3]"));
  EXPECT_NE(T.error().find("private memory of another lane"), std::string::npos)
      << T.error();
}

// A base of 57 bits, a size of 45 in bytes, and a stride in the last dword.
TEST(Cdna5, Buffers) {
  WaveTester T(Chip);
  uint32_t Data[32];
  for (unsigned K = 0; K < 32; ++K)
    Data[K] = 100 + K;
  T.allow(Data, sizeof(Data));
  const uint64_t Base = reinterpret_cast<uint64_t>(Data), Bytes = 64;
  T.setS64(4, Base | Bytes << 57);
  T.setS64(6, Bytes >> 7);
  for (unsigned L = 0; L < 32; ++L)
    T.v(1)[L] = L * 4;
  ASSERT_TRUE(T.run("buffer_load_b64 v[2:3], v1, s[4:7], null offen\n"
                    "s_buffer_load_b32 s8, s[4:7], 0x3c\n"
                    "s_buffer_load_b32 s9, s[4:7], 0x40"))
      << T.error();
  for (unsigned L = 0; L < 32; ++L) {
    EXPECT_EQ(T.v(2)[L], L < 16 ? 100 + L : 0);
    EXPECT_EQ(T.v(3)[L], L < 15 ? 101 + L : 0);
  }
  EXPECT_EQ(T.s(8), 115u);
  EXPECT_EQ(T.s(9), 0u);
  T.s(7) |= 4 << 12;
  for (const char *Text : {"buffer_load_b32 v2, v1, s[4:7], null offen",
                           "s_buffer_load_b32 s8, s[4:7], 0x0"}) {
    EXPECT_FALSE(T.run(Text));
    EXPECT_NE(T.error().find("a buffer with a stride is not modelled"),
              std::string::npos)
        << T.error();
  }
}

TEST(Cdna5, AsynchronousLoads) {
  WaveTester T(Chip);
  uint32_t Data[64];
  for (unsigned K = 0; K < 64; ++K)
    Data[K] = 100 + K;
  T.allow(Data, sizeof(Data));
  T.setS64(2, reinterpret_cast<uint64_t>(Data));
  for (unsigned L = 0; L < 32; ++L) {
    T.v(1)[L] = 512 - 8 * L; // where it goes
    T.v(2)[L] = 4 * L;
  }
  // The offset counts on both sides.
  ASSERT_TRUE(T.run("global_load_async_to_lds_b64 v1, v2, s[2:3] offset:8\n"
                    "s_wait_asynccnt 0x0"))
      << T.error();
  for (unsigned L = 0; L < 32; ++L)
    for (unsigned K = 0; K < 2; ++K) {
      uint32_t Got;
      std::memcpy(&Got, &T.lds()[520 - 8 * L + 4 * K], 4);
      EXPECT_EQ(Got, 102 + L + K);
    }
  T.lds()[700] = 9;
  std::fill_n(T.v(1), 32, 699u);
  T.setExec(1);
  ASSERT_TRUE(T.run("global_load_async_to_lds_b8 v1, v2, s[2:3]")) << T.error();
  EXPECT_EQ(T.lds()[699], 100);
  EXPECT_EQ(T.lds()[700], 9);
  std::fill_n(T.v(1), 32, 4094u);
  EXPECT_FALSE(T.run("global_load_async_to_lds_b32 v1, v2, s[2:3]"));
  EXPECT_FALSE(
      T.run("global_load_async_to_lds_b32 v1, v2, s[2:3] offset:-8192"));
  // Lanes whose address is this one do nothing.
  for (unsigned L = 0; L < 32; ++L)
    T.v(1)[L] = L % 2 ? 0x7fffffff : 4 * L;
  T.v(2)[3] = 1u << 30; // nothing is read there
  T.v(4)[0] = 1;
  T.setExec(0xff);
  ASSERT_TRUE(T.run("global_load_async_to_lds_b32 v1, v2, s[2:3] offset:4\n"
                    "ds_store_b32 v1, v4"))
      << T.error();
  EXPECT_EQ(T.lds()[12], 103);
  EXPECT_EQ(T.lds()[0], 1);
  EXPECT_FALSE(T.run("ds_load_b32 v5, v1"));
  // Others say that they are not modelled.
  for (const char *Text :
       {"global_store_async_from_lds_b32 v2, v1, s[2:3]",
        "cluster_load_async_to_lds_b32 v1, v2, s[2:3]",
        "tensor_load_to_lds s[0:3], s[4:11]", "s_barrier_init m0",
        "s_barrier_signal 1",
        "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:39], "
        "v[40:47], v1, v2",
        "v_swmmac_f32_16x16x64_f16 v[0:7], v[8:15], v[16:31], v40",
        "v_cvt_scale_pk8_f32_fp4 v[0:7], v8, v9"}) {
    EXPECT_FALSE(T.run(Text)) << Text;
    const std::string Name =
        std::string(Text).substr(0, std::string(Text).find(' '));
    EXPECT_NE(T.error().find(Name), std::string::npos) << T.error();
  }
}

// Lane L's element E is element L % Columns of lane Row.
TEST(Cdna5, TransposingLoads) {
  struct Case {
    const char *Load;
    unsigned Bits, Dwords, Columns;
    unsigned (*Row)(unsigned L, unsigned E);
  };
  auto Eight = [](unsigned L, unsigned E) { return L / 8 * 8 + E; };
  auto Sixteen = [](unsigned L, unsigned E) {
    return L / 16 * 16 + L / 8 % 2 * 4 + E / 4 * 8 + E % 4;
  };
  auto ByFours = [](unsigned L, unsigned E) {
    return L / 16 * 4 + E / 4 * 8 + E % 4;
  };
  auto ByEights = [](unsigned L, unsigned E) {
    return L / 16 * 8 + E / 8 * 16 + E % 8;
  };
  for (const Case &C : {Case{"load_tr16_b128 v[4:7], v1", 16, 4, 8, Eight},
                        Case{"load_tr8_b64 v[4:5], v1", 8, 2, 8, Sixteen},
                        Case{"load_tr6_b96 v[4:6], v1", 6, 3, 16, ByFours},
                        Case{"load_tr4_b64 v[4:5], v1", 4, 2, 16, ByEights}})
    for (unsigned Seed = 0; Seed < 4; ++Seed) {
      SCOPED_TRACE(C.Load);
      WaveTester T(Chip);
      const unsigned Count = C.Dwords * 32 / C.Bits;
      // In bits 0 to C.Bits of a product, all of the number count for some
      // seed.
      auto Element = [&](unsigned L, unsigned E) {
        return (L * 16 + E) * 0x9e3779b1u >> (3 + 6 * Seed) &
               ((1u << C.Bits) - 1);
      };
      auto Bit = [&](unsigned E, unsigned B) { return E * C.Bits + B; };
      for (unsigned L = 0; L < 32; ++L) {
        T.v(1)[L] = 16 * L;
        for (unsigned E = 0; E < Count; ++E)
          for (unsigned B = 0; B < C.Bits; ++B)
            T.lds()[16 * L + Bit(E, B) / 8] |=
                uint8_t((Element(L, E) >> B & 1) << Bit(E, B) % 8);
      }
      T.allow(T.lds().data(), T.lds().size());
      T.setS64(2, reinterpret_cast<uint64_t>(T.lds().data()));
      for (const std::string &Text :
           {"ds_" + std::string(C.Load),
            "global_" + std::string(C.Load) + ", s[2:3]"}) {
        for (unsigned R = 0; R < C.Dwords; ++R)
          std::fill_n(T.v(4 + R), 32, ~0u);
        ASSERT_TRUE(T.run(Text)) << T.error();
        for (unsigned L = 0; L < 32; ++L)
          for (unsigned E = 0; E < Count; ++E) {
            unsigned Got = 0;
            for (unsigned B = 0; B < C.Bits; ++B)
              Got |= (T.v(4 + Bit(E, B) / 32)[L] >> Bit(E, B) % 32 & 1) << B;
            EXPECT_EQ(Got, Element(C.Row(L, E), L % C.Columns))
                << Text << " " << L << " " << E;
          }
      }
    }
}
