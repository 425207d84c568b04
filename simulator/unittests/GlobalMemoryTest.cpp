//===- GlobalMemoryTest.cpp - Vector memory and scalar memory -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every width and addressing form of memory instructions outside of LDS, and
// what happens at the end of a buffer.
//
//===----------------------------------------------------------------------===//

#include "WaveTester.h"

using namespace lnbwd::sim;

namespace {
/// A buffer of the given content that the wave may access; its address is in
/// s[2:3] and, in every lane, in v[2:3].
class Memory {
public:
  Memory(WaveTester &T, size_t Dwords) : Data(Dwords) {
    for (size_t I = 0; I < Dwords; ++I)
      Data[I] = uint32_t(0x01010101u * (I + 1) + I * 0x10000);
    T.allow(Data.data(), Dwords * 4);
    uint64_t Address = reinterpret_cast<uint64_t>(Data.data());
    T.setS64(2, Address);
    for (unsigned L = 0; L < T.lanes(); ++L) {
      T.v(2)[L] = uint32_t(Address);
      T.v(3)[L] = uint32_t(Address >> 32);
    }
  }
  uint8_t *bytes() { return reinterpret_cast<uint8_t *>(Data.data()); }
  std::vector<uint32_t> Data;
};
} // namespace

static std::string widthName(const std::string &Chip, unsigned Dwords) {
  if (Chip[3] == '9')
    return Dwords == 1 ? "dword" : "dwordx" + std::to_string(Dwords);
  return "b" + std::to_string(32 * Dwords);
}

static std::string registers(const char *Letter, unsigned First,
                             unsigned Count) {
  if (Count == 1)
    return Letter + std::to_string(First);
  return std::string(Letter) + "[" + std::to_string(First) + ":" +
         std::to_string(First + Count - 1) + "]";
}

TEST(GlobalMemory, LoadsAndStoresOfAllWidths) {
  for (const ExecTable *Table : runnableExecTables())
    for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus))
      for (unsigned Dwords = 1; Dwords <= 4; ++Dwords)
        // Consecutive addresses, the same with holes in EXEC, and scattered.
        for (unsigned Pattern = 0; Pattern < 3; ++Pattern) {
          SCOPED_TRACE(Chip + " x" + std::to_string(Dwords) + " pattern " +
                       std::to_string(Pattern));
          WaveTester T(Chip, 0, *Table);
          const unsigned N = T.lanes();
          Memory In(T, 1024);
          auto Place = [&](unsigned L) {
            return Pattern == 2 ? ((L * 7) % N) * Dwords : L * Dwords;
          };
          for (unsigned L = 0; L < N; ++L) {
            T.v(4)[L] = Place(L) * 4;
            for (unsigned R = 8; R < 12; ++R)
              T.v(R)[L] = 0xdddddddd;
          }
          uint64_t Exec = Pattern == 1 ? 0x5555555511111111ull : ~0ull;
          T.setExec(Exec);
          std::string W = widthName(Chip, Dwords);
          ASSERT_TRUE(T.run("global_load_" + W + " " +
                            registers("v", 8, Dwords) +
                            ", v4, s[2:3] offset:16"))
              << T.error();
          unsigned Active = 0;
          for (unsigned L = 0; L < N; ++L)
            for (unsigned K = 0; K < Dwords; ++K) {
              bool On = Exec >> L & 1;
              Active += On && K == 0;
              EXPECT_EQ(T.v(8 + K)[L],
                        On ? In.Data[4 + Place(L) + K] : 0xddddddddu)
                  << "lane " << L << " dword " << K;
            }
          EXPECT_EQ(T.counters().GlobalRead, Active * Dwords * 4);
          // Store what was loaded elsewhere.
          std::vector<uint32_t> Before = In.Data;
          ASSERT_TRUE(T.run("global_store_" + W + " v4, " +
                            registers("v", 8, Dwords) + ", s[2:3] offset:2048"))
              << T.error();
          EXPECT_EQ(T.counters().GlobalWritten, Active * Dwords * 4);
          for (unsigned L = 0; L < N; ++L)
            for (unsigned K = 0; K < Dwords; ++K)
              if (Exec >> L & 1)
                Before[512 + Place(L) + K] = In.Data[4 + Place(L) + K];
          EXPECT_EQ(In.Data, Before);
        }
}

TEST(GlobalMemory, SmallElements) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    bool Gfx9 = Chip[3] == '9';
    WaveTester T(Chip);
    Memory In(T, 64);
    In.Data[0] = 0x8182f3f4;
    auto Load = [&](const char *Old, const char *New) {
      T.v(0)[0] = 0xdddddddd;
      EXPECT_TRUE(T.run(std::string("global_load_") + (Gfx9 ? Old : New) +
                        " v0, v[2:3], off offset:1"))
          << T.error();
      return T.v(0)[0];
    };
    EXPECT_EQ(Load("ubyte", "u8"), 0xf3u);
    EXPECT_EQ(Load("sbyte", "i8"), 0xfffffff3u);
    EXPECT_EQ(Load("ushort", "u16"), 0x82f3u);
    EXPECT_EQ(Load("sshort", "i16"), 0xffff82f3u);
    EXPECT_EQ(Load("short_d16", "d16_b16"), 0xdddd82f3u);
    EXPECT_EQ(Load("short_d16_hi", "d16_hi_b16"), 0x82f3ddddu);
    EXPECT_EQ(Load("ubyte_d16", "d16_u8"), 0xdddd00f3u);
    EXPECT_EQ(Load("ubyte_d16_hi", "d16_hi_u8"), 0x00f3ddddu);
    EXPECT_EQ(Load("sbyte_d16", "d16_i8"), 0xddddfff3u);
    EXPECT_EQ(Load("sbyte_d16_hi", "d16_hi_i8"), 0xfff3ddddu);
    auto Store = [&](const char *Old, const char *New) {
      In.Data[0] = 0;
      T.v(1)[0] = 0xaabbccdd;
      T.setExec(1);
      EXPECT_TRUE(T.run(std::string("global_store_") + (Gfx9 ? Old : New) +
                        " v[2:3], v1, off offset:1"))
          << T.error();
      return In.Data[0];
    };
    EXPECT_EQ(Store("byte", "b8"), 0x0000dd00u);
    EXPECT_EQ(Store("short", "b16"), 0x00ccdd00u);
    EXPECT_EQ(Store("byte_d16_hi", "d16_hi_b8"), 0x0000bb00u);
    EXPECT_EQ(Store("short_d16_hi", "d16_hi_b16"), 0x00aabb00u);
  }
}

TEST(GlobalMemory, NegativeOffsetAndCacheHints) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    Memory In(T, 64);
    std::string Hint = Chip == "gfx90a"    ? " glc slc"
                       : Chip[3] == '9'    ? " sc0 sc1 nt"
                       : Chip == "gfx1100" ? " glc slc dlc"
                                           : " th:TH_LOAD_NT scope:SCOPE_SYS";
    T.setS64(2, T.s64(2) + 64);
    ASSERT_TRUE(T.run("v_mov_b32 v4, 0\nglobal_load_" + widthName(Chip, 1) +
                      " v0, v4, s[2:3] offset:-64" + Hint))
        << T.error();
    EXPECT_EQ(T.v(0)[0], In.Data[0]);
  }
}

TEST(GlobalMemory, OutOfBounds) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    Memory In(T, 16);
    for (unsigned L = 0; L < T.lanes(); ++L)
      T.v(4)[L] = L * 4;
    EXPECT_FALSE(
        T.run("global_load_" + widthName(Chip, 1) + " v0, v4, s[2:3]"));
    EXPECT_NE(T.error().find("lane 16: read of 4 bytes"), std::string::npos)
        << T.error();
    EXPECT_NE(T.error().find("0 bytes past its end"), std::string::npos)
        << T.error();
    EXPECT_NE(T.error().find("global_load"), std::string::npos);
    // Lanes that are off do not count.
    T.setExec(0xffff);
    EXPECT_TRUE(T.run("global_load_" + widthName(Chip, 1) + " v0, v4, s[2:3]"))
        << T.error();
    // The last lane's access sticks out.
    EXPECT_FALSE(
        T.run("global_store_" + widthName(Chip, 2) + " v4, v[0:1], s[2:3]"));
    EXPECT_NE(T.error().find("write of 8 bytes"), std::string::npos);
    EXPECT_NE(T.error().find("runs over the end"), std::string::npos);
    EXPECT_FALSE(T.run("v_mov_b32 v6, 0\nv_mov_b32 v7, 0\nglobal_load_" +
                       widthName(Chip, 1) + " v0, v[6:7], off"));
  }
}

TEST(GlobalMemory, Atomics) {
  struct Case {
    const char *Gfx9, *Later;
    uint32_t Old, Data, New;
  };
  const Case Cases[] = {
      {"add", "add_u32", 5, 7, 12},
      {"sub", "sub_u32", 5, 7, 0xfffffffe},
      {"smin", "min_i32", 5, 0xffffffff, 0xffffffff},
      {"umin", "min_u32", 5, 0xffffffff, 5},
      {"smax", "max_i32", 5, 0xffffffff, 5},
      {"umax", "max_u32", 5, 0xffffffff, 0xffffffff},
      {"and", "and_b32", 6, 3, 2},
      {"or", "or_b32", 6, 3, 7},
      {"xor", "xor_b32", 6, 3, 5},
      {"swap", "swap_b32", 6, 3, 3},
      {"inc", "inc_u32", 6, 6, 0},
      {"dec", "dec_u32", 0, 9, 9},
  };
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    bool Gfx9 = Chip[3] == '9';
    std::string Return = Chip == "gfx90a" || Chip == "gfx1100" ? " glc"
                         : Gfx9 ? " sc0"
                                : " th:TH_ATOMIC_RETURN";
    for (const Case &C : Cases) {
      std::string Name = Gfx9 ? C.Gfx9 : C.Later;
      SCOPED_TRACE(Chip + " " + Name);
      WaveTester T(Chip);
      Memory In(T, 16);
      T.setExec(1);
      In.Data[1] = C.Old;
      T.v(1)[0] = C.Data;
      ASSERT_TRUE(T.run("global_atomic_" + Name +
                        " v0, v[2:3], v1, off offset:4" + Return))
          << T.error();
      EXPECT_EQ(In.Data[1], C.New);
      EXPECT_EQ(T.v(0)[0], C.Old);
      In.Data[1] = C.Old;
      T.v(0)[0] = 99;
      ASSERT_TRUE(T.run("global_atomic_" + Name + " v[2:3], v1, off offset:4"))
          << T.error();
      EXPECT_EQ(In.Data[1], C.New);
      EXPECT_EQ(T.v(0)[0], 99u);
    }
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    Memory In(T, 16);
    // All lanes add to one place, each sees another old value.
    In.Data[0] = 0;
    for (unsigned L = 0; L < T.lanes(); ++L)
      T.v(1)[L] = 1;
    ASSERT_TRUE(T.run(std::string("global_atomic_") +
                      (Gfx9 ? "add" : "add_u32") + " v0, v[2:3], v1, off" +
                      Return))
        << T.error();
    EXPECT_EQ(In.Data[0], T.lanes());
    EXPECT_EQ(T.v(0)[5], 5u);
    // 64 bits, compare and swap: new value first, then the one to compare.
    T.setExec(1);
    In.Data[0] = 7;
    In.Data[1] = 8;
    T.v(4)[0] = 1, T.v(5)[0] = 2, T.v(6)[0] = 7, T.v(7)[0] = 8;
    ASSERT_TRUE(T.run(std::string("global_atomic_") +
                      (Gfx9 ? "cmpswap_x2" : "cmpswap_b64") +
                      " v[0:1], v[2:3], v[4:7], off" + Return))
        << T.error();
    EXPECT_EQ(In.Data[0], 1u);
    EXPECT_EQ(In.Data[1], 2u);
    EXPECT_EQ(T.v(0)[0], 7u);
    EXPECT_EQ(T.v(1)[0], 8u);
    T.v(4)[0] = 0xffffffff, T.v(5)[0] = 0;
    ASSERT_TRUE(T.run(std::string("global_atomic_") +
                      (Gfx9 ? "add_x2" : "add_u64") + " v[2:3], v[4:5], off"))
        << T.error();
    EXPECT_EQ(In.Data[0], 0u);
    EXPECT_EQ(In.Data[1], 3u);
    // Floating point.
    In.Data[0] = f32(1.5f);
    T.v(1)[0] = f32(2.0f);
    ASSERT_TRUE(T.run("global_atomic_add_f32 v[2:3], v1, off")) << T.error();
    EXPECT_EQ(In.Data[0], f32(3.5f));
    if (Chip != "gfx1100") {
      In.Data[0] = 0x3c004000;
      T.v(1)[0] = 0x3c003c00;
      ASSERT_TRUE(T.run("global_atomic_pk_add_f16 v[2:3], v1, off"))
          << T.error();
      EXPECT_EQ(In.Data[0], 0x40004200u);
    }
    EXPECT_FALSE(T.run(std::string("global_atomic_") +
                       (Gfx9 ? "add" : "add_u32") +
                       " v[2:3], v1, off offset:2"));
    EXPECT_NE(T.error().find("not aligned"), std::string::npos);
  }
}

TEST(FlatMemory, LeadsToEachKindOfMemory) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    Memory In(T, 16);
    T.setScratch(64);
    // Lane 0 global, lane 1 LDS, lane 2 scratch.
    T.setExec(7);
    T.v(2)[1] = 8;
    T.v(3)[1] = uint32_t(SharedAperture >> 32);
    T.v(2)[2] = 12;
    T.v(3)[2] = uint32_t(PrivateAperture >> 32);
    for (unsigned L = 0; L < 3; ++L)
      T.v(1)[L] = 50 + L;
    ASSERT_TRUE(T.run("flat_store_" + widthName(Chip, 1) + " v[2:3], v1\n" +
                      "flat_load_" + widthName(Chip, 1) + " v0, v[2:3]"))
        << T.error();
    EXPECT_EQ(In.Data[0], 50u);
    uint32_t X;
    std::memcpy(&X, &T.lds()[8], 4);
    EXPECT_EQ(X, 51u);
    for (unsigned L = 0; L < 3; ++L)
      EXPECT_EQ(T.v(0)[L], 50 + L);
    // The scratch instruction sees the same place.
    if (Chip != "gfx90a") {
      T.setExec(4);
      ASSERT_TRUE(T.run("scratch_load_" + widthName(Chip, 1) +
                        " v0, off, off offset:12"))
          << T.error();
      EXPECT_EQ(T.v(0)[2], 52u);
    }
    T.setExec(2);
    T.v(2)[1] = 4096;
    EXPECT_FALSE(T.run("flat_load_" + widthName(Chip, 1) + " v0, v[2:3]"));
    EXPECT_NE(T.error().find("LDS access"), std::string::npos);
  }
}

TEST(ScratchMemory, AddressingForms) {
  for (const std::string &Chip : chipsIn(GFX942 | GFX950 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    T.setScratch(128);
    std::string B32 = widthName(Chip, 1), B128 = widthName(Chip, 4);
    for (unsigned L = 0; L < T.lanes(); ++L) {
      T.v(4)[L] = 16;
      for (unsigned K = 0; K < 4; ++K)
        T.v(8 + K)[L] = 1000 * K + L;
    }
    T.s(5) = 16;
    ASSERT_TRUE(T.run(
        "scratch_store_" + B128 + " off, v[8:11], off offset:16\n" +
        "scratch_load_" + B32 + " v0, v4, off offset:4\n" + "scratch_load_" +
        B32 + " v1, off, s5 offset:8\n" + "scratch_load_" +
        (Chip[3] == '9' ? "ushort" : "u16") + " v2, off, s5 offset:5"))
        << T.error();
    for (unsigned L = 0; L < T.lanes(); ++L) {
      EXPECT_EQ(T.v(0)[L], 1000 + L);
      EXPECT_EQ(T.v(1)[L], 2000 + L);
      EXPECT_EQ(T.v(2)[L], (1000 + L) >> 8);
    }
    EXPECT_EQ(T.counters().GlobalRead, 0u);
    EXPECT_FALSE(T.run("scratch_load_" + B32 + " v0, off, off offset:128"));
    EXPECT_NE(T.error().find("outside of the lane's 128 bytes"),
              std::string::npos);
  }
}

TEST(BufferMemory, RawBuffer) {
  // CDNA5's descriptors are another test's.
  for (const std::string &Chip : chipsIn(GFX9 | GFX1100 | GFX1201)) {
    SCOPED_TRACE(Chip);
    bool Gfx9 = Chip[3] == '9';
    WaveTester T(Chip);
    Memory In(T, 32);
    uint64_t Address = T.s64(2);
    T.s(4) = uint32_t(Address);
    T.s(5) = uint32_t(Address >> 32) & 0xffff;
    T.s(6) = 64; // bytes
    T.s(7) = Gfx9 ? 0x00027000 : 0x31016fac;
    T.s(8) = 4;
    for (unsigned L = 0; L < T.lanes(); ++L)
      T.v(4)[L] = L * 4;
    std::string Zero = isGfx12(Chip) ? "null" : "0";
    ASSERT_TRUE(T.run("buffer_load_" + widthName(Chip, 1) +
                      " v0, v4, s[4:7], " + Zero + " offen offset:8\n" +
                      "buffer_load_" + widthName(Chip, 1) +
                      " v1, off, s[4:7], s8 offset:4"))
        << T.error();
    for (unsigned L = 0; L < T.lanes(); ++L) {
      // Beyond num_records loads give 0.
      EXPECT_EQ(T.v(0)[L], L + 2 < 16 ? In.Data[L + 2] : 0) << L;
      EXPECT_EQ(T.v(1)[L], In.Data[2]);
    }
    // Each dword of a wide access is checked by itself.
    ASSERT_TRUE(T.run("buffer_load_" + widthName(Chip, 4) +
                      " v[8:11], off, s[4:7], " + Zero + " offset:56"))
        << T.error();
    EXPECT_EQ(T.v(9)[0], In.Data[15]);
    EXPECT_EQ(T.v(10)[0], 0u);
    // Stores out of range are dropped.
    for (unsigned L = 0; L < T.lanes(); ++L)
      T.v(0)[L] = 500 + L;
    uint32_t Kept = In.Data[16];
    ASSERT_TRUE(T.run("buffer_store_" + widthName(Chip, 1) +
                      " v0, v4, s[4:7], " + Zero + " offen"))
        << T.error();
    EXPECT_EQ(In.Data[15], 515u);
    EXPECT_EQ(In.Data[16], Kept);
    // What the descriptor allows must still be a live buffer.
    T.s(6) = 1024;
    EXPECT_FALSE(T.run("buffer_load_" + widthName(Chip, 1) +
                       " v0, off, s[4:7], " + Zero + " offset:128"));
  }
}

TEST(ScalarMemory, Loads) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    bool Gfx9 = Chip[3] == '9';
    WaveTester T(Chip);
    Memory In(T, 32);
    T.s(4) = 8;
    for (unsigned Count : {1u, 2u, 4u, 8u, 16u}) {
      std::string Name =
          Gfx9 ? widthName(Chip, Count) : "b" + std::to_string(32 * Count);
      ASSERT_TRUE(T.run("s_load_" + Name + " " + registers("s", 16, Count) +
                        ", s[2:3], 0x10"))
          << T.error();
      for (unsigned K = 0; K < Count; ++K)
        EXPECT_EQ(T.s(16 + K), In.Data[4 + K]);
    }
    ASSERT_TRUE(T.run(std::string("s_load_") + (Gfx9 ? "dword" : "b32") +
                      " s16, s[2:3], s4" +
                      (isGfx12(Chip) ? " offset:0x0" : "")))
        << T.error();
    EXPECT_EQ(T.s(16), In.Data[2]);
    if (isGfx12(Chip)) {
      In.Data[0] = 0x8182f3f4;
      ASSERT_TRUE(
          T.run("s_load_u8 s16, s[2:3], 0x1\ns_load_i8 s17, s[2:3], 0x1\n"
                "s_load_u16 s18, s[2:3], 0x2\ns_load_i16 s19, s[2:3], 0x2\n"
                "s_load_b96 s[20:22], s[2:3], 0x4"))
          << T.error();
      EXPECT_EQ(T.s(16), 0xf3u);
      EXPECT_EQ(T.s(17), 0xfffffff3u);
      EXPECT_EQ(T.s(18), 0x8182u);
      EXPECT_EQ(T.s(19), 0xffff8182u);
      EXPECT_EQ(T.s(22), In.Data[3]);
    }
    EXPECT_FALSE(T.run(std::string("s_load_") + (Gfx9 ? "dword" : "b32") +
                       " s16, s[2:3], 0x80"));
    EXPECT_NE(T.error().find("read of 4 bytes"), std::string::npos);
    if (chipNamed(Chip).isCdna5())
      continue; // another test's
    // Through a descriptor: out of range gives 0.
    uint64_t Address = T.s64(2);
    T.s(4) = uint32_t(Address);
    T.s(5) = uint32_t(Address >> 32) & 0xffff;
    T.s(6) = 16;
    T.s(7) = 0;
    ASSERT_TRUE(T.run(std::string("s_buffer_load_") + (Gfx9 ? "dword" : "b32") +
                      " s16, s[4:7], 0xc\ns_buffer_load_" +
                      (Gfx9 ? "dword" : "b32") + " s17, s[4:7], 0x10"))
        << T.error();
    EXPECT_EQ(T.s(16), In.Data[3]);
    EXPECT_EQ(T.s(17), 0u);
  }
}

TEST(GlobalMemory, LoadsToLds) {
  for (const std::string &Chip : chipsIn(GFX9)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    Memory In(T, 512);
    for (unsigned L = 0; L < 64; ++L)
      T.v(4)[L] = (63 - L) * 4;
    T.setExec(~2ull);
    const char *Name = Chip == "gfx90a"
                           ? "global_load_dword v4, s[2:3] offset:4 lds"
                           : "global_load_lds_dword v4, s[2:3] offset:4";
    ASSERT_TRUE(T.run(std::string("s_mov_b32 m0, 256\n") + Name)) << T.error();
    for (unsigned L = 0; L < 64; ++L) {
      uint32_t X;
      std::memcpy(&X, &T.lds()[256 + 4 + L * 4], 4);
      EXPECT_EQ(X, L == 1 ? 0 : In.Data[64 - L]) << L;
    }
    if (Chip != "gfx950")
      continue;
    for (unsigned L = 0; L < 64; ++L)
      T.v(4)[L] = (L % 8) * 16;
    T.setExec(~0ull);
    ASSERT_TRUE(T.run("s_mov_b32 m0, 0\n"
                      "global_load_lds_dwordx4 v4, s[2:3]"))
        << T.error();
    for (unsigned L = 0; L < 64; ++L)
      EXPECT_EQ(std::memcmp(&T.lds()[L * 16], &In.Data[L % 8 * 4], 16), 0);
  }
}

// Matrices of 16 by 16, of which each lane loads eight elements of a row.
TEST(GlobalMemory, TransposedLoads) {
  for (const ExecTable *Table : runnableExecTables()) {
    WaveTester T("gfx1201", 0, *Table);
    Memory In(T, 256);
    for (unsigned L = 0; L < 32; ++L)
      T.v(4)[L] = L * 5 % 32 * 16;
    ASSERT_TRUE(T.run("global_load_tr_b128 v[8:11], v4, s[2:3] offset:32"))
        << T.error();
    // Eight lanes load eight rows, and get eight columns.
    for (unsigned L = 0; L < 32; ++L)
      for (unsigned E = 0; E < 8; ++E) {
        const uint8_t *Row = In.bytes() + T.v(4)[L / 8 * 8 + E] + 32;
        uint16_t Want;
        std::memcpy(&Want, Row + L % 8 * 2, 2);
        ASSERT_EQ(T.v(8 + E / 2)[L] >> E % 2 * 16 & 0xffff, Want)
            << "lane " << L << " element " << E;
      }
    ASSERT_TRUE(T.run("global_load_tr_b64 v[8:9], v4, s[2:3]")) << T.error();
    // Sixteen lanes load eight rows in two halves: four rows' left halves, the
    // right ones, and the other four rows.
    for (unsigned L = 0; L < 32; ++L)
      for (unsigned E = 0; E < 8; ++E) {
        const unsigned From =
            L / 16 * 16 + (E < 4 ? 0 : 8) + (L % 16 < 8 ? 0 : 4) + E % 4;
        ASSERT_EQ(T.v(8 + E / 4)[L] >> E % 4 * 8 & 0xff,
                  In.bytes()[T.v(4)[From] + L % 8])
            << "lane " << L << " element " << E;
      }
  }
  WaveTester T("gfx1201", 64);
  EXPECT_FALSE(T.run("global_load_tr_b64 v8, v4, s[2:3]"));
  EXPECT_NE(T.error().find("waves of 64"), std::string::npos) << T.error();
}
