//===- LdsTest.cpp - LDS instructions -------------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads, stores and atomics of every width, pairs, and the end of the
// workgroup's memory.
//
//===----------------------------------------------------------------------===//

#include "WaveTester.h"

using namespace lnbwd::sim;

static std::string load(const std::string &Chip, const char *Type) {
  return std::string(isGfx9(Chip) ? "ds_read_" : "ds_load_") + Type;
}
static std::string store(const std::string &Chip, const char *Type) {
  return std::string(isGfx9(Chip) ? "ds_write_" : "ds_store_") + Type;
}
static uint32_t ldsWord(WaveTester &T, unsigned Offset) {
  uint32_t X;
  std::memcpy(&X, &T.lds()[Offset], 4);
  return X;
}

TEST(Lds, LoadsAndStores) {
  for (const ExecTable *Table : runnableExecTables())
    for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
      SCOPED_TRACE(Chip);
      WaveTester T(Chip, 0, *Table);
      for (unsigned L = 0; L < T.lanes(); ++L) {
        T.v(1)[L] = L * 16;
        for (unsigned K = 0; K < 4; ++K)
          T.v(4 + K)[L] = 0x01000000 * (K + 1) + L;
      }
      ASSERT_TRUE(T.run(
          store(Chip, "b128") + " v1, v[4:7]\n" + load(Chip, "b32") +
          " v8, v1 offset:4\n" + load(Chip, "b64") +
          " v[10:11], v1 offset:8\n" + load(Chip, "b96") + " v[12:14], v1\n" +
          load(Chip, "u8") + " v15, v1 offset:7\n" + load(Chip, "u16") +
          " v16, v1 offset:6\n" + load(Chip, "i8") + " v17, v1 offset:0"))
          << T.error();
      for (unsigned L = 0; L < T.lanes(); ++L) {
        EXPECT_EQ(ldsWord(T, L * 16 + 12), 0x04000000 + L);
        EXPECT_EQ(T.v(8)[L], 0x02000000 + L);
        EXPECT_EQ(T.v(10)[L], 0x03000000 + L);
        EXPECT_EQ(T.v(11)[L], 0x04000000 + L);
        EXPECT_EQ(T.v(14)[L], 0x03000000 + L);
        EXPECT_EQ(T.v(15)[L], 2u);
        EXPECT_EQ(T.v(16)[L], 0x0200u);
        EXPECT_EQ(T.v(17)[L], L);
      }
      const uint64_t Lanes = T.lanes();
      EXPECT_EQ(T.counters().LdsBytes, Lanes * (16 + 4 + 8 + 12 + 1 + 2 + 1));
      EXPECT_EQ(T.counters().Lanes[unsigned(InstClass::LDS)], 7 * Lanes);
    }
}

TEST(Lds, HalvesOfRegisters) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    T.setExec(1);
    T.v(1)[0] = 0;
    T.v(2)[0] = 0x12345678;
    T.v(3)[0] = T.v(4)[0] = 0xdddddddd;
    ASSERT_TRUE(T.run(store(Chip, "b32") + " v1, v2\n" + load(Chip, "u16_d16") +
                      " v3, v1\n" + load(Chip, "u16_d16_hi") + " v4, v1\n" +
                      store(Chip, "b16_d16_hi") + " v1, v2 offset:8\n" +
                      store(Chip, "b8") + " v1, v2 offset:12\n" +
                      store(Chip, "b8_d16_hi") + " v1, v2 offset:13"))
        << T.error();
    EXPECT_EQ(T.v(3)[0], 0xdddd5678u);
    EXPECT_EQ(T.v(4)[0], 0x5678ddddu);
    EXPECT_EQ(ldsWord(T, 8), 0x1234u);
    EXPECT_EQ(ldsWord(T, 12), 0x3478u);
  }
}

TEST(Lds, Pairs) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    T.setExec(1);
    T.v(1)[0] = 16;
    for (unsigned K = 0; K < 4; ++K)
      T.v(4 + K)[0] = 70 + K;
    bool Gfx9 = isGfx9(Chip);
    std::string Write = Gfx9 ? "ds_write2_" : "ds_store_2addr_";
    std::string Read = Gfx9 ? "ds_read2_" : "ds_load_2addr_";
    std::string WriteFar = Gfx9 ? "ds_write2st64_" : "ds_store_2addr_stride64_";
    std::string ReadFar = Gfx9 ? "ds_read2st64_" : "ds_load_2addr_stride64_";
    ASSERT_TRUE(T.run(Write + "b32 v1, v4, v5 offset0:3 offset1:5\n" + Write +
                      "b64 v1, v[4:5], v[6:7] offset0:8 offset1:9\n" +
                      WriteFar + "b32 v1, v6, v7 offset1:2\n" + Read +
                      "b32 v[8:9], v1 offset0:5 offset1:3\n" + Read +
                      "b64 v[12:15], v1 offset0:9 offset1:8\n" + ReadFar +
                      "b32 v[10:11], v1 offset0:2"))
        << T.error();
    EXPECT_EQ(ldsWord(T, 16 + 12), 70u);
    EXPECT_EQ(ldsWord(T, 16 + 20), 71u);
    EXPECT_EQ(ldsWord(T, 16 + 72), 72u);
    EXPECT_EQ(ldsWord(T, 16 + 512), 73u);
    EXPECT_EQ(T.v(8)[0], 71u);
    EXPECT_EQ(T.v(9)[0], 70u);
    EXPECT_EQ(T.v(12)[0], 72u);
    EXPECT_EQ(T.v(15)[0], 71u);
    EXPECT_EQ(T.v(10)[0], 73u);
    EXPECT_EQ(T.v(11)[0], 72u);
  }
}

TEST(Lds, Atomics) {
  struct Case {
    const char *Name;
    uint32_t Old, Data, New;
  };
  const Case Cases[] = {
      {"add_u32", 5, 7, 12},
      {"sub_u32", 5, 7, 0xfffffffe},
      {"rsub_u32", 5, 7, 2},
      {"inc_u32", 5, 7, 6},
      {"dec_u32", 5, 7, 4},
      {"min_i32", 5, 0xffffffff, 0xffffffff},
      {"max_i32", 5, 0xffffffff, 5},
      {"min_u32", 5, 0xffffffff, 5},
      {"max_u32", 5, 9, 9},
      {"and_b32", 6, 3, 2},
      {"or_b32", 6, 3, 7},
      {"xor_b32", 6, 3, 5},
      {"add_f32", f32(1.0f), f32(2.5f), f32(3.5f)},
  };
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    for (const Case &C : Cases) {
      SCOPED_TRACE(Chip + " " + C.Name);
      std::string Name = C.Name;
      WaveTester T(Chip);
      T.setExec(1);
      T.v(1)[0] = 8;
      T.v(2)[0] = C.Data;
      std::memcpy(&T.lds()[12], &C.Old, 4);
      size_t Underscore = Name.rfind('_');
      std::string Returning =
          "ds_" + Name.substr(0, Underscore) + "_rtn" + Name.substr(Underscore);
      ASSERT_TRUE(T.run(Returning + " v0, v1, v2 offset:4")) << T.error();
      EXPECT_EQ(ldsWord(T, 12), C.New);
      EXPECT_EQ(T.v(0)[0], C.Old);
      std::memcpy(&T.lds()[12], &C.Old, 4);
      ASSERT_TRUE(T.run("ds_" + Name + " v1, v2 offset:4")) << T.error();
      EXPECT_EQ(ldsWord(T, 12), C.New);
    }
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    // Every lane adds one.
    for (unsigned L = 0; L < T.lanes(); ++L)
      T.v(2)[L] = 1;
    ASSERT_TRUE(T.run("ds_add_rtn_u32 v0, v1, v2")) << T.error();
    EXPECT_EQ(ldsWord(T, 0), T.lanes());
    EXPECT_EQ(T.v(0)[7], 7u);
    // Exchange; compare and store (the operands' order differs).
    T.setExec(1);
    bool Gfx9 = isGfx9(Chip);
    T.v(2)[0] = 100;
    ASSERT_TRUE(T.run(Gfx9 ? "ds_wrxchg_rtn_b32 v0, v1, v2"
                           : "ds_storexchg_rtn_b32 v0, v1, v2"))
        << T.error();
    EXPECT_EQ(ldsWord(T, 0), 100u);
    T.v(3)[0] = 200;
    ASSERT_TRUE(T.run(Gfx9 ? "ds_cmpst_rtn_b32 v0, v1, v2, v3"
                           : "ds_cmpstore_rtn_b32 v0, v1, v3, v2"))
        << T.error();
    EXPECT_EQ(T.v(0)[0], 100u);
    EXPECT_EQ(ldsWord(T, 0), 200u);
    // 64 bits.
    T.v(4)[0] = 0xffffffff, T.v(5)[0] = 0;
    ASSERT_TRUE(T.run("ds_add_u64 v1, v[4:5]")) << T.error();
    EXPECT_EQ(ldsWord(T, 0), 199u);
    EXPECT_EQ(ldsWord(T, 4), 1u);
  }
}

TEST(Lds, MaskedOr) {
  for (const std::string &Chip : chipsIn(AllChips)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    T.setExec(1);
    const uint64_t Old = 0x123456789abcdef0, Clear = 0x00ff000000ff000f,
                   Set = 0x0042000000110003;
    const uint64_t New = (Old & ~Clear) | Set;
    auto Start = [&] {
      T.v(1)[0] = 8;
      for (unsigned K = 0; K < 2; ++K) {
        T.v(2 + K)[0] = uint32_t(Clear >> 32 * K);
        T.v(4 + K)[0] = uint32_t(Set >> 32 * K);
      }
      std::memcpy(&T.lds()[16], &Old, 8);
    };
    Start();
    ASSERT_TRUE(T.run("ds_mskor_rtn_b32 v0, v1, v2, v4 offset:8")) << T.error();
    EXPECT_EQ(ldsWord(T, 16), uint32_t(New));
    EXPECT_EQ(ldsWord(T, 20), uint32_t(Old >> 32));
    EXPECT_EQ(T.v(0)[0], uint32_t(Old));
    Start();
    ASSERT_TRUE(T.run("ds_mskor_b32 v1, v2, v4 offset:8")) << T.error();
    EXPECT_EQ(ldsWord(T, 16), uint32_t(New));
    Start();
    ASSERT_TRUE(T.run("ds_mskor_rtn_b64 v[6:7], v1, v[2:3], v[4:5] offset:8"))
        << T.error();
    EXPECT_EQ(ldsWord(T, 16), uint32_t(New));
    EXPECT_EQ(ldsWord(T, 20), uint32_t(New >> 32));
    EXPECT_EQ(T.v(6)[0], uint32_t(Old));
    EXPECT_EQ(T.v(7)[0], uint32_t(Old >> 32));
    Start();
    ASSERT_TRUE(T.run("ds_mskor_b64 v1, v[2:3], v[4:5] offset:8")) << T.error();
    EXPECT_EQ(ldsWord(T, 20), uint32_t(New >> 32));
  }
}

TEST(Lds, OutOfBounds) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    T.lds().resize(64);
    for (unsigned L = 0; L < T.lanes(); ++L)
      T.v(1)[L] = L * 4;
    EXPECT_FALSE(T.run(load(Chip, "b32") + " v0, v1"));
    EXPECT_NE(T.error().find("lane 16: LDS access of 4 bytes at 0x40"),
              std::string::npos)
        << T.error();
    T.setExec(0xffff);
    EXPECT_TRUE(T.run(load(Chip, "b32") + " v0, v1")) << T.error();
  }
}

// Each of sixteen lanes gets a column of a matrix, of which the lanes loaded
// rows.
TEST(Lds, TransposedLoads) {
  struct Case {
    const char *Text;
    unsigned Bits, Dwords;
  };
  for (const ExecTable *Table : runnableExecTables())
    for (const Case &C :
         {Case{"ds_read_b64_tr_b16 v[0:1], v4 offset:16", 16, 2},
          Case{"ds_read_b64_tr_b8 v[0:1], v4 offset:16", 8, 2},
          Case{"ds_read_b64_tr_b4 v[0:1], v4 offset:16", 4, 2},
          Case{"ds_read_b96_tr_b6 v[0:2], v4 offset:16", 6, 3}}) {
      SCOPED_TRACE(C.Text);
      WaveTester T("gfx950", 0, *Table);
      for (size_t K = 0; K < T.lds().size(); ++K)
        T.lds()[K] = uint8_t(K * 37 + K / 256 * 11);
      // Lanes load from places in any order.
      for (unsigned L = 0; L < 64; ++L)
        T.v(4)[L] = (L * 29 % 64) * C.Dwords * 4;
      ASSERT_TRUE(T.run(C.Text)) << T.error();
      const unsigned Count = C.Dwords * 32 / C.Bits, PerRow = 16 / Count;
      for (unsigned L = 0; L < 64; ++L)
        for (unsigned E = 0; E < Count; ++E) {
          const unsigned Column = L % 16;
          const unsigned From = L / 16 * 16 + E * PerRow + Column / Count;
          uint32_t Want = 0, Got = 0;
          for (unsigned B = 0; B < C.Bits; ++B) {
            const unsigned Bit = Column % Count * C.Bits + B,
                           At = E * C.Bits + B;
            const uint8_t Byte = T.lds()[T.v(4)[From] + 16 + Bit / 8];
            Want |= uint32_t(Byte >> Bit % 8 & 1) << B;
            Got |= (T.v(At / 32)[L] >> At % 32 & 1) << B;
          }
          ASSERT_EQ(Got, Want) << "lane " << L << " element " << E;
        }
    }
  WaveTester T("gfx950");
  std::fill_n(T.v(4), 64, 0);
  T.setExec(1);
  EXPECT_FALSE(T.run("ds_read_b64_tr_b16 v[0:1], v4"));
  EXPECT_NE(T.error().find("all lanes to be active"), std::string::npos);
}
