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
#include <cmath>

using namespace lnbwd::sim;

static const char *const Chip = "gfx1250";

namespace {
/// Memory that a wave may access: 100, 101 and so on.
struct Numbers {
  uint32_t Dwords[64];
  explicit Numbers(WaveTester &T) {
    for (unsigned K = 0; K < 64; ++K)
      Dwords[K] = 100 + K;
    T.allow(Dwords, sizeof(Dwords));
  }
  uint64_t at(unsigned K) const {
    return reinterpret_cast<uint64_t>(&Dwords[K]);
  }
};
} // namespace

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

// Hints and waits change no results.
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
  Numbers Data(T);
  T.setS64(2, Data.at(32));
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
  Numbers Data(T);
  const uint64_t Base = Data.at(0), Bytes = 64;
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
  Numbers Data(T);
  T.setS64(2, Data.at(0));
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
  // The sum has 32 bits.
  std::fill_n(T.v(1), 32, uint32_t(-64));
  ASSERT_TRUE(T.run("global_load_async_to_lds_b32 v1, v2, s[2:3] offset:64"))
      << T.error();
  uint32_t Wrapped;
  std::memcpy(&Wrapped, &T.lds()[0], 4);
  EXPECT_EQ(Wrapped, 116u);
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
  T.v(1)[1] = 0x7fffffff - 4; // with the offset
  T.setExec(2);
  EXPECT_TRUE(T.run("ds_store_b32 v1, v4 offset:4")) << T.error();
  EXPECT_FALSE(T.run("ds_store_b32 v1, v4"));
  // Others say that they are not modelled.
  for (const char *Text :
       {"v_wmma_scale_f32_32x16x128_f4 v[0:15], v[16:31], v[32:39], "
        "v[40:55], v56, v57",
        "v_swmmac_f32_16x16x64_f16 v[0:7], v[8:15], v[16:31], v40"}) {
    EXPECT_FALSE(T.run(Text)) << Text;
    const std::string Name =
        std::string(Text).substr(0, std::string(Text).find(' '));
    EXPECT_NE(T.error().find(Name), std::string::npos) << T.error();
  }
}

TEST(Cdna5, AsynchronousStores) {
  WaveTester T(Chip);
  Numbers Data(T);
  T.setS64(2, Data.at(0));
  for (unsigned K = 0; K < 1024; ++K)
    T.lds()[K] = uint8_t(K * 7);
  for (unsigned L = 0; L < 32; ++L) {
    T.v(1)[L] = 512 - 8 * L; // where it comes from
    T.v(2)[L] = 8 * L;
  }
  T.setExec(0xffff);
  ASSERT_TRUE(T.run("global_store_async_from_lds_b64 v2, v1, s[2:3] offset:8\n"
                    "s_wait_asynccnt 0x0"))
      << T.error();
  for (unsigned K = 0; K < 64; ++K) {
    uint32_t Expected = 100 + K;
    if (K >= 2 && K < 34)
      std::memcpy(&Expected, &T.lds()[520 - 8 * (K / 2 - 1) + K % 2 * 4], 4);
    EXPECT_EQ(Data.Dwords[K], Expected) << K;
  }
  T.setExec(1);
  ASSERT_TRUE(T.run("global_store_async_from_lds_b8 v2, v1, s[2:3]"))
      << T.error();
  EXPECT_EQ(Data.Dwords[0], T.lds()[512]);
  std::fill_n(T.v(1), 32, 4094u);
  EXPECT_FALSE(T.run("global_store_async_from_lds_b32 v2, v1, s[2:3]"));
}

namespace {
/// The descriptor of a tensor's tile in s[8:27], with elements of two bytes,
/// and memory and LDS to copy between.
struct TensorCase {
  WaveTester T{Chip};
  std::vector<uint16_t> Memory = std::vector<uint16_t>(256);
  unsigned Lds = 16; ///< bytes

  TensorCase() {
    for (unsigned K = 0; K < Memory.size(); ++K)
      Memory[K] = uint16_t(1000 + K);
    T.allow(Memory.data(), Memory.size() * 2);
    std::fill(T.lds().begin(), T.lds().end(), 0xee);
    T.setExec(0); // is ignored
    const uint64_t Base = reinterpret_cast<uint64_t>(Memory.data());
    T.s(8) = 1;
    T.s(9) = Lds;
    T.s(10) = uint32_t(Base);
    T.s(11) = uint32_t(Base >> 32) | 2u << 30;
    for (unsigned K = 12; K < 28; ++K)
      T.s(K) = 0;
    T.s(12) = 1 << 16;
  }
  /// Extents of tile and tensor, and strides, from the innermost one on.
  void shape(const std::vector<unsigned> &Tile,
             const std::vector<unsigned> &Tensor,
             const std::vector<unsigned> &Strides) {
    auto At = [](const std::vector<unsigned> &V, unsigned K) {
      return K < V.size() ? V[K] : 0;
    };
    T.s(13) = At(Tensor, 0) << 16;
    T.s(14) = At(Tensor, 0) >> 16 | At(Tensor, 1) << 16;
    T.s(15) = At(Tensor, 1) >> 16 | At(Tile, 0) << 16;
    T.s(16) = At(Tile, 1) | At(Tile, 2) << 16;
    T.s(17) = At(Strides, 0);
    T.s(18) = At(Strides, 1) << 16;
    T.s(19) = At(Strides, 1) >> 16;
    T.s(20) = At(Tensor, 2);
    T.s(21) = At(Tensor, 3);
    T.s(22) = At(Strides, 2);
    T.s(23) = At(Tile, 3) << 16;
    T.s(24) = At(Strides, 3);
    T.s(25) = At(Tensor, 4) << 16;
    T.s(26) = At(Tensor, 4) >> 16 | At(Tile, 4) << 16;
  }
  unsigned lds(unsigned K) {
    return T.lds()[Lds + 2 * K] | T.lds()[Lds + 2 * K + 1] << 8;
  }
  bool run(const char *Name) {
    return T.run(std::string(Name) + " s[8:11], s[12:19], s[20:23], s[24:27]");
  }
  bool load() { return run("tensor_load_to_lds"); }
  bool store() { return run("tensor_store_from_lds"); }
};
} // namespace

TEST(Cdna5, TensorLoads) {
  // Three rows of five elements are left of the tensor.
  TensorCase C;
  C.shape({6, 4}, {5, 3}, {20});
  ASSERT_TRUE(C.T.run("tensor_load_to_lds s[8:11], s[12:19]")) << C.T.error();
  for (unsigned K = 0; K < 24; ++K)
    EXPECT_EQ(C.lds(K), K % 6 < 5 && K < 18 ? 1000 + K / 6 * 20 + K % 6 : 0);
  EXPECT_EQ(C.lds(24), 0xeeeeu);

  // Behind each 8 bytes 4 are left as they are, whatever the rows are.
  TensorCase Padded;
  Padded.shape({6, 2}, {6, 2}, {20});
  Padded.T.s(12) |= 1 << 20;
  ASSERT_TRUE(Padded.load()) << Padded.T.error();
  for (unsigned K = 0; K < 18; ++K) {
    const unsigned E = K / 6 * 4 + K % 6;
    EXPECT_EQ(Padded.lds(K), K % 6 < 4 ? 1000 + E / 6 * 20 + E % 6 : 0xeeeeu);
  }

  TensorCase Five;
  Five.shape({2, 2, 2, 2, 2}, {2, 2, 2, 2, 2}, {3, 10, 30, 100});
  ASSERT_TRUE(Five.load()) << Five.T.error();
  for (unsigned K = 0; K < 32; ++K)
    EXPECT_EQ(Five.lds(K), 1000 + K % 2 + K / 2 % 2 * 3 + K / 4 % 2 * 10 +
                               K / 8 % 2 * 30 + K / 16 * 100);

  // Three rounds, each seven rows further on, and 4 in LDS. The last ones end
  // with row 15.
  for (unsigned Rows : {16u, 15u}) {
    TensorCase Rounds;
    Rounds.shape({2, 2}, {2, Rows, 0, 4}, {7, 0, 49});
    Rounds.T.s(12) |= 1 << 19;
    Rounds.T.s(23) = 2 << 16;
    ASSERT_EQ(Rounds.load(), Rows == 16) << Rounds.T.error();
    for (unsigned K = 0; K < 12 && Rows == 16; ++K)
      EXPECT_EQ(Rounds.lds(K), 1000 + K / 4 * 49 + K / 2 % 2 * 7 + K % 2);
  }

  for (unsigned Bytes : {1u, 4u, 8u}) {
    TensorCase Size;
    Size.T.s(12) = unsigned(__builtin_ctz(Bytes)) << 16;
    Size.shape({16 / Bytes}, {16 / Bytes}, {});
    ASSERT_TRUE(Size.load()) << Size.T.error();
    EXPECT_EQ(std::memcmp(&Size.T.lds()[16], Size.Memory.data(), 16), 0);
    EXPECT_EQ(Size.lds(8), 0xeeeeu);
  }
}

TEST(Cdna5, TensorStores) {
  TensorCase C;
  for (unsigned K = 0; K < 24; ++K) {
    C.T.lds()[16 + 2 * K] = uint8_t(K);
    C.T.lds()[17 + 2 * K] = 0;
  }
  C.T.s(12) |= 1 << 20; // padding, which stores ignore
  C.shape({6, 4}, {5, 3}, {20});
  ASSERT_TRUE(C.store()) << C.T.error();
  for (unsigned K = 0; K < 80; ++K)
    EXPECT_EQ(C.Memory[K],
              K % 20 < 5 && K < 60 ? K / 20 * 6 + K % 20 : 1000 + K);
}

TEST(Cdna5, TensorRows) {
  for (bool Wide : {false, true}) {
    TensorCase C;
    C.T.s(8) |= 1u << 31 | unsigned(Wide) << 30;
    C.shape({3, 4}, {3, 9}, {20});
    const unsigned Rows[] = {2, 2, 7, 9}; // the last one is outside
    for (unsigned K = 0; K < 4; ++K)
      C.T.s(20 + (Wide ? K : K / 2)) =
          Wide ? Rows[K] : Rows[K / 2 * 2] | Rows[K / 2 * 2 + 1] << 16;
    ASSERT_TRUE(C.load()) << C.T.error();
    for (unsigned K = 0; K < 12; ++K)
      EXPECT_EQ(C.lds(K), K < 9 ? 1000 + Rows[K / 3] * 20 + K % 3 : 0);
    C.T.s(20) = Wide ? 0 : 5 << 16;
    C.T.s(21) = Wide ? 5 : 7 | 9 << 16;
    ASSERT_TRUE(C.store()) << C.T.error();
    EXPECT_EQ(C.Memory[1], 1041);
    EXPECT_EQ(C.Memory[101], 1041);
    EXPECT_EQ(C.Memory[141], 1141);
    // Bounds hold where indices ascend.
    C.T.s(20) = Wide ? 9 : 9 | 5 << 16;
    EXPECT_FALSE(C.load());
    EXPECT_NE(C.T.error().find("do not ascend"), std::string::npos);
  }
}

TEST(Cdna5, TensorDescriptors) {
  struct Case {
    const char *Message; ///< null: nothing is copied
    unsigned Register;
    uint32_t Value;
  };
  for (const Case &X :
       {Case{nullptr, 8, 0}, Case{nullptr, 15, 0},
        Case{"restores a context", 8, 2}, Case{"restores a context", 8, 9},
        Case{"is not 2", 11, 0}, Case{"workgroups of a cluster", 12, 0x10001},
        Case{"is outside of every buffer", 17, 1000},
        Case{"is outside of the workgroup's 4096", 9, 4090},
        Case{"more rows than indices", 8, 1u << 31 | 1u}}) {
    TensorCase C;
    C.shape({6, X.Register == 8 ? 17u : 2u}, {6, 2}, {20});
    C.T.s(X.Register) = X.Value;
    EXPECT_EQ(C.load(), !X.Message);
    if (X.Message)
      EXPECT_NE(C.T.error().find(X.Message), std::string::npos) << C.T.error();
    else
      EXPECT_EQ(C.lds(0), 0xeeeeu);
  }
}

// A barrier in LDS has 29 bits of what is pending, 3 of the phase, and 16 of
// what is pending at first: one less than the arrivals of a phase.
TEST(Cdna5, BarriersInLds) {
  WaveTester T(Chip);
  const uint64_t Two = 1ull << 32 | 1;
  std::memcpy(&T.lds()[64], &Two, 8);
  T.setExec(1);
  T.v(1)[0] = 64;
  auto Arrive = [&](uint32_t Count) {
    T.v(4)[0] = Count;
    EXPECT_TRUE(T.run("ds_atomic_barrier_arrive_rtn_b64 v[2:3], v1, v[4:5]"))
        << T.error();
    uint64_t New;
    std::memcpy(&New, &T.lds()[64], 8);
    return New;
  };
  EXPECT_EQ(Arrive(1), 1ull << 32);
  EXPECT_EQ(T.v(2)[0] | uint64_t(T.v(3)[0]) << 32, Two);
  EXPECT_EQ(Arrive(1), 0x1e0000001);
  EXPECT_EQ(Arrive(2), 0x1c0000001);
  EXPECT_EQ(Arrive(5), 0x180000000); // two phases, and one arrival

  TensorCase C;
  C.shape({4}, {4}, {});
  std::memcpy(&C.T.lds()[256], &Two, 8);
  C.T.s(12) |= 1 << 18;
  C.T.s(13) |= 256 / 8;
  ASSERT_TRUE(C.load() && C.load()) << C.T.error();
  uint64_t After;
  std::memcpy(&After, &C.T.lds()[256], 8);
  EXPECT_EQ(After, 0x1e0000001);
  C.T.s(8) = 0; // no tensor: nobody arrives
  ASSERT_TRUE(C.load()) << C.T.error();
  EXPECT_EQ(std::memcmp(&After, &C.T.lds()[256], 8), 0);
}

TEST(Cdna5, NamedBarriers) {
  WaveTester T(Chip);
  // Two members. The wave signals for both.
  ASSERT_TRUE(T.run("s_mov_b32 m0, 0x20003\ns_barrier_init m0\n"
                    "s_barrier_join 3\n"
                    "s_barrier_signal_isfirst 3\ns_cselect_b32 s5, 1, 0\n"
                    "s_get_barrier_state s6, 3\n"
                    "s_barrier_signal_isfirst 3\ns_cselect_b32 s7, 1, 0\n"
                    "s_get_barrier_state s8, 3\n"
                    "s_barrier_leave\ns_cselect_b32 s9, 1, 0\n"
                    "s_barrier_leave\ns_cselect_b32 s10, 1, 0\n"
                    "s_barrier_signal m0\n" // sets two members again
                    "s_get_barrier_state s11, m0\n"
                    "s_barrier_wait 1\n" // has not joined
                    "s_barrier_signal 0\ns_wakeup_barrier 3"))
      << T.error();
  EXPECT_EQ(T.s(5), 1u);
  EXPECT_EQ(T.s(6), 1u | 2 << 4 | 1 << 16);
  EXPECT_EQ(T.s(7), 0u);
  EXPECT_EQ(T.s(8), 1u | 2 << 4);
  EXPECT_EQ(T.s(9), 0u); // one member is left
  EXPECT_EQ(T.s(10), 1u);
  EXPECT_EQ(T.s(11), 1u | 2 << 4 | 1 << 16);
  EXPECT_FALSE(T.run("s_barrier_signal 4"));
  EXPECT_NE(T.error().find("has no members yet"), std::string::npos)
      << T.error();
  for (const char *Text : {"s_barrier_signal 17", "s_barrier_signal -4",
                           "s_barrier_wait -4", "s_barrier_init 0"}) {
    EXPECT_FALSE(T.run(Text));
    EXPECT_NE(T.error().find("is not modelled"), std::string::npos)
        << T.error();
  }
}

// Lane L gets element L % Columns of lane Row as its element E.
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
  // Without an active lane there is nothing to transpose.
  WaveTester None(Chip);
  None.setExec(0);
  None.v(1)[0] = 1u << 30;
  None.v(4)[0] = 7;
  ASSERT_TRUE(None.run("ds_load_tr16_b128 v[4:7], v1")) << None.error();
  EXPECT_EQ(None.v(4)[0], 7u);
}

// Widened elements are multiplied by a power of two. Lane L takes it from the
// first byte of lane L % 16; an upper lane whose elements have less than 8 bits
// takes the second byte.
TEST(Cdna5, ConversionsOfEight) {
  WaveTester T(Chip);
  for (unsigned L = 0; L < 32; ++L) {
    T.v(20)[L] = 0x76543210; // as fp4: 0, 0.5, 1, 1.5, 2, 3, 4, 6
    T.v(22)[L] = 0xb8403830; // as fp8: 0.5, 1, 2, -1
    T.v(23)[L] = 0x7e3c3800; // 0, 0.5, 1, NaN
    T.v(24)[L] = L < 16 ? 127 + L % 4 + (120 + L) * 256 : 0xffff;
  }
  ASSERT_TRUE(T.run("v_cvt_scale_pk8_f32_fp4 v[0:7], v20, v24\n"
                    "v_cvt_scale_pk8_bf16_fp8 v[8:11], v[22:23], v24\n"
                    "v_cvt_scale_pk8_f16_bf8 v[12:15], v[22:23], v24\n"))
      << T.error();
  const float Fp4[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  const float Fp8[] = {0.5f, 1, 2, -1};
  for (unsigned L = 0; L < 32; ++L) {
    const unsigned Low = L % 16;
    for (unsigned K = 0; K < 8; ++K)
      EXPECT_EQ(T.v(K)[L],
                f32(std::ldexp(Fp4[K], L < 16 ? int(Low % 4) : int(Low) - 7)));
    for (unsigned K = 0; K < 4; ++K)
      EXPECT_EQ(T.v(8 + K / 2)[L] >> K % 2 * 16 & 0xffff,
                f32(std::ldexp(Fp8[K], int(Low % 4))) >> 16);
    EXPECT_EQ(T.v(15)[L] >> 16 & 0x7c00, 0x7c00u);            // NaN or infinity
    EXPECT_EQ(T.v(12)[L] & 0xffff, 0x3000 + Low % 4 * 0x400); // 0x30: 0.125
  }
  EXPECT_FALSE(T.run("v_cvt_scale_pk8_f32_fp4 v[0:7], v20, v24 scale_sel:1"));
  EXPECT_NE(T.error().find("scale_sel"), std::string::npos) << T.error();

  // 16 elements of 6 bits, and back. The scale of what is narrowed divides.
  for (unsigned L = 0; L < 32; ++L) {
    for (unsigned R = 0; R < 3; ++R)
      T.v(20 + R)[L] = 0x9e3779b1u * (L * 3 + R + 1);
    T.v(24)[L] = 0x8282; // 8
    T.v(25)[L] = f32(8.0f);
  }
  for (const std::string &Type : {"fp6", "bf6"}) {
    ASSERT_TRUE(T.run("v_cvt_scale_pk16_f32_" + Type +
                      " v[0:15], v[20:22], v24\nv_cvt_scalef32_pk16_" + Type +
                      "_f32 v[30:32], v[0:15], v25\n" +
                      "v_cvt_scale_pk16_f16_" + Type +
                      " v[0:7], v[20:22], v24\nv_cvt_scalef32_sr_pk16_" + Type +
                      "_f16 v[34:36], v[0:7], v1, v25\n"))
        << T.error();
    for (unsigned L = 0; L < 32; ++L)
      for (unsigned R = 0; R < 3; ++R) {
        EXPECT_EQ(T.v(30 + R)[L], T.v(20 + R)[L]) << Type;
        EXPECT_EQ(T.v(34 + R)[L], T.v(20 + R)[L]) << Type;
      }
  }
  for (unsigned K = 0; K < 8; ++K)
    T.v(K)[3] = f32(8 * Fp4[K]);
  ASSERT_TRUE(T.run("v_cvt_scalef32_pk8_fp4_f32 v20, v[0:7], v25\n"
                    "v_cvt_scalef32_pk8_fp8_f32 v[30:31], v[0:7], v25"))
      << T.error();
  EXPECT_EQ(T.v(20)[3], 0x76543210u);
  EXPECT_EQ(T.v(30)[3], 0x3c383000u); // 1.5, 1, 0.5, 0
  EXPECT_EQ(T.v(31)[3], 0x4c484440u); // 6, 4, 3, 2
}

namespace {
/// A factor of 16 x 128 elements of a type, whose codes mean Values.
struct Factor {
  const char *Format;
  unsigned Bits;
  std::vector<std::pair<uint32_t, float>> Values;

  /// Runs of bytes and of smaller elements, along K, go round-robin over the
  /// two halves of the lanes.
  unsigned run() const { return Bits == 8 ? 16 : 32; }
  const std::pair<uint32_t, float> &at(unsigned I, unsigned K) const {
    return Values[(I * 7 + K * 5 + I * K) % Values.size()];
  }
  unsigned dwords() const { return Bits * 2; }
  void fill(WaveTester &T, unsigned First) const {
    for (unsigned R = 0; R < dwords(); ++R)
      std::fill_n(T.v(First + R), 32, 0);
    for (unsigned I = 0; I < 16; ++I)
      for (unsigned K = 0; K < 128; ++K) {
        const unsigned Lane = I + K / run() % 2 * 16;
        const unsigned Bit = (K / run() / 2 * run() + K % run()) * Bits;
        const uint64_t X = uint64_t(at(I, K).first) << Bit % 32;
        T.v(First + Bit / 32)[Lane] |= uint32_t(X);
        if (X >> 32)
          T.v(First + Bit / 32 + 1)[Lane] |= uint32_t(X >> 32);
      }
  }
};
} // namespace

static const Factor Factors[] = {
    {"FP8", 8, {{0x38, 1}, {0x40, 2}, {0xb8, -1}, {0x30, 0.5f}, {0x45, 3.25f}}},
    {"BF8", 8, {{0x3c, 1}, {0x40, 2}, {0xbc, -1}, {0x38, 0.5f}, {0x43, 3.5f}}},
    {"FP6", 6, {{0x08, 1}, {0x10, 2}, {0x28, -1}, {0x04, 0.5f}, {0x15, 3.25f}}},
    {"BF6", 6, {{0x0c, 1}, {0x10, 2}, {0x2c, -1}, {0x08, 0.5f}, {0x13, 3.5f}}},
    {"FP4", 4, {{2, 1}, {4, 2}, {10, -1}, {1, 0.5f}, {7, 6}}},
};

// Each row and block of 32 (or 16) elements has a byte as its scale, in the
// lower or upper lanes.
TEST(Cdna5, ProductsOfFewBits) {
  for (const Factor &A : Factors)
    for (const Factor &B : Factors)
      for (unsigned Block : {0u, 32u, 16u})
        for (unsigned UpperRow : {0u, 1u}) {
          if (!Block && (UpperRow || A.Bits != B.Bits))
            continue;
          WaveTester T(Chip);
          A.fill(T, 8);
          B.fill(T, 24);
          auto ScaleBits = [](unsigned Which, unsigned I, unsigned K) {
            return 126 + (I + 3 * K + Which) % 4;
          };
          for (unsigned Which = 0; Which < 2; ++Which)
            for (unsigned R = 0; R < 2; ++R)
              for (unsigned L = 0; L < 32; ++L) {
                uint32_t &X = T.v(48 + 2 * Which + R)[L] = ~0u;
                for (unsigned K = 0; K < 4; ++K)
                  if ((L >= 16) == (UpperRow && !Which))
                    X = (X & ~(0xffu << 8 * K)) |
                        ScaleBits(Which, L % 16, 4 * R + K) << 8 * K;
              }
          for (unsigned L = 0; L < 32; ++L)
            for (unsigned R = 0; R < 8; ++R)
              T.v(40 + R)[L] = f32(float(L) + 0.25f * float(R));
          auto Registers = [](unsigned First, unsigned Count) {
            return "v[" + std::to_string(First) + ":" +
                   std::to_string(First + Count - 1) + "]";
          };
          std::string Text =
              std::string("v_wmma_") +
              (Block == 32   ? "scale_"
               : Block == 16 ? "scale16_"
                             : "") +
              "f32_16x16x128_f8f6f4 v[0:7], " + Registers(8, A.dwords()) +
              ", " + Registers(24, B.dwords()) + ", v[40:47]" +
              (Block == 32   ? ", v48, v50"
               : Block == 16 ? ", v[48:49], v[50:51]"
                             : "") +
              " matrix_a_fmt:MATRIX_FMT_" + A.Format +
              " matrix_b_fmt:MATRIX_FMT_" + B.Format +
              (UpperRow ? " matrix_a_scale:MATRIX_SCALE_ROW1" : "");
          ASSERT_TRUE(T.run(Text)) << Text << T.error();
          for (unsigned I = 0; I < 16; ++I)
            for (unsigned J = 0; J < 16; ++J) {
              const unsigned Lane = J + I / 8 * 16, R = I % 8;
              double Sum = Lane + 0.25 * R;
              for (unsigned K = 0; K < 128; ++K)
                Sum += std::ldexp(double(A.at(I, K).second) *
                                      double(B.at(J, K).second),
                                  Block ? int(ScaleBits(0, I, K / Block) +
                                              ScaleBits(1, J, K / Block)) -
                                              254
                                        : 0);
              ASSERT_EQ(T.v(R)[Lane], f32(float(Sum)))
                  << Text << " " << I << " " << J;
            }
        }
  // Sources differ on these, or they are not modelled.
  for (const char *Text :
       {"v_wmma_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:31], v[40:47] "
        "matrix_b_fmt:MATRIX_FMT_FP4",
        "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:39], "
        "v[40:47], v1, v2 matrix_a_scale_fmt:MATRIX_SCALE_FMT_E4M3"}) {
    WaveTester T(Chip);
    EXPECT_FALSE(T.run(Text));
    EXPECT_NE(T.error().find("f8f6f4"), std::string::npos) << T.error();
  }
  // A constant addend.
  WaveTester T(Chip);
  for (unsigned R = 8; R < 52; ++R)
    std::fill_n(T.v(R), 32, 0);
  ASSERT_TRUE(T.run("v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:23], "
                    "v[24:39], 2.0, v48, v50"))
      << T.error();
  EXPECT_EQ(T.v(7)[31], f32(2.0f));
  // The same, with 0 as the source of the scales that is not read.
  T.v(7)[31] = 0;
  ASSERT_TRUE(T.run(".long 0xcc350000, 0x02026530, 0xcc330000, 0x03d23108"))
      << T.error();
  EXPECT_EQ(T.v(7)[31], f32(2.0f));
}

// An f32 addend and a result of bf16, packed as others of 16 bits are.
TEST(Cdna5, ProductsWithAWideAddend) {
  WaveTester T(Chip);
  for (unsigned R = 0; R < 8; ++R)
    for (unsigned L = 0; L < 32; ++L) {
      T.v(8 + R)[L] = 0x3f803f80; // ones
      T.v(16 + R)[L] = 0x40004000 + (L % 16 < 8 ? 0x10000 * L : 0);
      T.v(24 + R)[L] = f32(float(L) + 0.375f * float(R));
    }
  const std::string Rest =
      "_16x16x32_bf16 v[32:39], v[8:15], v[16:23], v[24:31]";
  ASSERT_TRUE(T.run("v_wmma_f32" + Rest)) << T.error();
  ASSERT_TRUE(T.run("v_wmma_bf16f32_16x16x32_bf16 v[0:3], v[8:15], v[16:23], "
                    "v[24:31]"))
      << T.error();
  for (unsigned R = 0; R < 8; ++R)
    for (unsigned L = 0; L < 32; ++L) {
      const uint32_t Wide = T.v(32 + R)[L];
      EXPECT_EQ(T.v(R / 2)[L] >> R % 2 * 16 & 0xffff,
                (Wide + 0x7fff + (Wide >> 16 & 1)) >> 16);
    }
  ASSERT_TRUE(T.run("v_wmma_bf16f32_16x16x32_bf16 v[0:3], v[8:15], v[16:23], "
                    "1.0"))
      << T.error();
  EXPECT_EQ(T.v(0)[15], 0x42824282u); // 32 * 2 + 1
}
