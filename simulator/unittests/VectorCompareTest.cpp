//===- VectorCompareTest.cpp - Compares -----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// v_cmp, v_cmpx and v_cmp_class into VCC, scalar pairs and EXEC.
//
//===----------------------------------------------------------------------===//

#include "WaveTester.h"

using namespace lnbwd::sim;

/// Lane masks of the compare for each condition name, on the given inputs.
static void
checkCompare(const std::string &Type, const std::vector<LaneRow> &Rows,
             const std::vector<std::pair<std::string, uint64_t>> &Expected,
             bool Wide, unsigned Set = AllChips) {
  for (const ExecTable *Table : runnableExecTables())
    for (const std::string &Chip : chipsIn(Set))
      for (auto &[Name, Mask] : Expected) {
        SCOPED_TRACE(Chip + " v_cmp_" + Name + "_" + Type);
        WaveTester T(Chip, 0, *Table);
        for (unsigned L = 0; L < T.lanes(); ++L) {
          const LaneRow &R = Rows[L % Rows.size()];
          T.v(2)[L] = uint32_t(R.A);
          T.v(3)[L] = uint32_t(R.A >> 32);
          T.v(4)[L] = uint32_t(R.B);
          T.v(5)[L] = uint32_t(R.B >> 32);
        }
        T.setExec((1ull << Rows.size()) - 1);
        T.setS64(10, ~0ull);
        std::string Sources = Wide ? "v[2:3], v[4:5]" : "v2, v4";
        std::string Mask64 = T.lanes() == 64 ? "s[10:11]" : "s10";
        ASSERT_TRUE(T.run("v_cmp_" + Name + "_" + Type + "_e64 " + Mask64 +
                          ", " + Sources))
            << T.error();
        EXPECT_EQ(T.wave().mask(10), Mask);
      }
}

TEST(VectorCompare, Integers) {
  const std::vector<LaneRow> Rows = {
      {1, 2, 0, 0}, {2, 2, 0, 0}, {0xffffffff, 1, 0, 0}};
  checkCompare("i32", Rows,
               {{"lt", 0b101},
                {"eq", 0b010},
                {"le", 0b111},
                {"gt", 0b000},
                {"ne", 0b101},
                {"ge", 0b010}},
               false);
  checkCompare("u32", Rows,
               {{"lt", 0b001},
                {"eq", 0b010},
                {"le", 0b011},
                {"gt", 0b100},
                {"ne", 0b101},
                {"ge", 0b110}},
               false);
  const std::vector<LaneRow> Long = {
      {1ull << 40, 2, 0, 0}, {7, 7, 0, 0}, {~0ull, 1ull << 33, 0, 0}};
  checkCompare("i64", Long, {{"lt", 0b100}, {"eq", 0b010}, {"gt", 0b001}},
               true);
  checkCompare("u64", Long, {{"lt", 0b000}, {"ne", 0b101}, {"ge", 0b111}},
               true);
  checkCompare("i16", {{0xffff, 1, 0, 0}, {0x10001, 1, 0, 0}},
               {{"lt", 0b01}, {"eq", 0b10}}, false, GFX9);
  checkCompare("u16", {{0xffff, 1, 0, 0}, {0x10001, 1, 0, 0}},
               {{"gt", 0b01}, {"eq", 0b10}}, false, GFX9);
}

TEST(VectorCompare, Floats) {
  const std::vector<LaneRow> Rows = {{f32(1.0f), f32(2.0f), 0, 0},
                                     {f32(0.0f), f32(-0.0f), 0, 0},
                                     {f32(3.0f), f32(2.0f), 0, 0},
                                     {NaN32, f32(2.0f), 0, 0}};
  checkCompare("f32", Rows,
               {{"lt", 0b0001},
                {"eq", 0b0010},
                {"le", 0b0011},
                {"gt", 0b0100},
                {"lg", 0b0101},
                {"ge", 0b0110},
                {"o", 0b0111},
                {"u", 0b1000},
                {"nge", 0b1001},
                {"nlg", 0b1010},
                {"ngt", 0b1011},
                {"nle", 0b1100},
                {"neq", 0b1101},
                {"nlt", 0b1110}},
               false);
  checkCompare("f64", {{f64(1.0), f64(2.0), 0, 0}, {NaN64, f64(2.0), 0, 0}},
               {{"lt", 0b01}, {"nlt", 0b10}, {"u", 0b10}, {"o", 0b01}}, true);
  checkCompare("f16", {{0x3c00, 0x4000, 0, 0}, {0x7e00, 0x4000, 0, 0}},
               {{"lt", 0b01}, {"u", 0b10}}, false, GFX9);
}

TEST(VectorCompare, Class) {
  // One input of each class, in the order of the mask's bits.
  const uint32_t Inputs[10] = {0x7f800001, NaN32,      0xff800000, f32(-1.0f),
                               0x80000001, 0x80000000, 0,          1,
                               f32(1.0f),  Inf32};
  for (const std::string &Chip : chipsIn(AllChips)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    for (unsigned L = 0; L < 10; ++L) {
      T.v(2)[L] = Inputs[L];
      T.v(3)[L] = 1u << L;
      T.v(4)[L] = 0x3ff ^ (1u << L);
    }
    T.setExec(0x3ff);
    std::string Vcc = T.lanes() == 64 ? "vcc" : "vcc_lo";
    ASSERT_TRUE(T.run("v_cmp_class_f32 " + Vcc + ", v2, v3")) << T.error();
    EXPECT_EQ(T.vcc(), 0x3ffu);
    ASSERT_TRUE(T.run("v_cmp_class_f32 " + Vcc + ", v2, v4")) << T.error();
    EXPECT_EQ(T.vcc(), 0u);
  }
}

TEST(VectorCompare, WritesExec) {
  for (const std::string &Chip : chipsIn(AllChips)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    for (unsigned L = 0; L < T.lanes(); ++L)
      T.v(2)[L] = L;
    T.setExec(0xff0);
    T.setVcc(5);
    bool Gfx9 = Chip[3] == '9';
    ASSERT_TRUE(T.run(Gfx9 ? "v_cmpx_gt_u32_e32 vcc, 8, v2"
                           : "v_cmpx_gt_u32_e32 8, v2"))
        << T.error();
    EXPECT_EQ(T.exec(), 0xf0u);
    // Only gfx9 writes the scalar destination, too.
    EXPECT_EQ(T.vcc(), Gfx9 ? 0xf0u : 5u);
  }
}

TEST(VectorCompare, InlineConstantsFollowTheType) {
  for (const std::string &Chip : chipsIn(AllChips)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    for (unsigned L = 0; L < T.lanes(); ++L) {
      T.v(2)[L] = 0;
      T.v(3)[L] = 0x3ff00000;
    }
    std::string Vcc = T.lanes() == 64 ? "vcc" : "vcc_lo";
    ASSERT_TRUE(T.run("v_cmp_eq_f64 " + Vcc + ", 1.0, v[2:3]")) << T.error();
    EXPECT_EQ(T.vcc(), T.wave().FullMask);
    ASSERT_TRUE(T.run("v_cmp_eq_i64 " + Vcc + ", 0, v[2:3]")) << T.error();
    EXPECT_EQ(T.vcc(), 0u);
    ASSERT_TRUE(T.run("v_mov_b32 v2, -1\nv_mov_b32 v3, -1\nv_cmp_eq_i64 " +
                      Vcc + ", -1, v[2:3]"))
        << T.error();
    EXPECT_EQ(T.vcc(), T.wave().FullMask);
  }
}
