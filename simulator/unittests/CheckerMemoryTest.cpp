//===- CheckerMemoryTest.cpp - Kernels that misuse memory -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks of memory: each is broken by a kernel, assembled by hand, that is
// caught with a message that says so; its repaired twin runs clean.
//
//===----------------------------------------------------------------------===//

#include "CheckerTester.h"

using namespace lnbwd::sim;

TEST_P(CheckerTest, GlobalMemoryNeverWritten) {
  const char *Read = "GLOAD1 v2, v1, s[6:7]\nWAITV\nGSTORE1 v1, v2, s[4:5]";
  std::string Text = run(Read);
  EXPECT_SAYS(Text, "kernel 'k', workgroup (0, 0, 0), wave 0, lane 0: read of "
                    "4 bytes");
  EXPECT_SAYS(Text, "byte 0 of the buffer at");
  EXPECT_SAYS(Text, "the memory was never written; at k+0x");
  EXPECT_SAYS(Text, spell("GLOAD1 v2, v1, s[6:7]", Chip));
  EXPECT_EQ(Launched, hipErrorLaunchFailure);
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  EXPECT_CLEAN(run(Read));
}

TEST_P(CheckerTest, ContentsMoveWithCopies) {
  const char *Read = "GLOAD1 v2, v1, s[6:7]\nWAITV\nADDV v2, v2, v0\n"
                     "GSTORE1 v1, v2, s[4:5]";
  void *C = nullptr;
  ASSERT_HIP(hipMalloc(&C, Bytes));
  // Byte 130 of C, which lane 32 reads in B, is the first without contents.
  EXPECT_HIP(hipMemset(C, 1, 130));
  EXPECT_HIP(hipMemcpy(B, C, Bytes, hipMemcpyDeviceToDevice));
  EXPECT_CLEAN(run(Read, 1, 32));
  // The rest of that dword may be a structure's; the sum needs it.
  EXPECT_SAYS(run(Read, 1, 33), "byte 130 of the buffer");
  EXPECT_SAYS(run(Read, 1, 64), "byte 132 of the buffer");
  EXPECT_HIP(hipFree(C));
}

TEST_P(CheckerTest, ScalarLoadOfMemoryNeverWritten) {
  const char *Read = "SLOAD2 s[8:9], s[6:7], 0x40\nWAITS\nv_mov_b32 v2, s8\n"
                     "GSTORE1 v1, v2, s[4:5]";
  EXPECT_SAYS(run(Read), "the memory was never written");
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  EXPECT_CLEAN(run(Read));
}

TEST_P(CheckerTest, UseAfterFree) {
  void *Old = B;
  EXPECT_HIP(hipFree(B));
  EXPECT_HIP(hipMalloc(&B, Bytes));
  std::swap(Old, B); // Launch with the freed one.
  std::string Text = run("GLOAD1 v2, v1, s[6:7]\nWAITV");
  std::swap(Old, B);
  EXPECT_SAYS(Text, "is a use after free: it was in a buffer of 16384 bytes");
  EXPECT_EQ(Launched, hipErrorIllegalAddress);
}

TEST_P(CheckerTest, UseAfterFreeNamesTheBuffer) {
  EXPECT_EQ(lnbwdSimDescribeBuffer(B, Bytes, "gamma", 0), 0);
  void *Old = B;
  EXPECT_HIP(hipFree(B));
  EXPECT_HIP(hipMalloc(&B, Bytes));
  std::swap(Old, B); // Launch with the freed one.
  std::string Text = run("GLOAD1 v2, v1, s[6:7]\nWAITV");
  std::swap(Old, B);
  EXPECT_SAYS(Text, "it was in the buffer 'gamma' of 16384 bytes");
}

TEST_P(CheckerTest, UseOfWhatIsRegisteredNoLonger) {
  std::vector<char> Host(Bytes);
  EXPECT_HIP(hipHostRegister(Host.data(), Bytes, 0));
  EXPECT_EQ(lnbwdSimDescribeBuffer(Host.data(), Bytes, "beta", 0), 0);
  EXPECT_HIP(hipHostUnregister(Host.data()));
  void *Old = std::exchange(B, Host.data());
  std::string Text = run("GLOAD1 v2, v1, s[6:7]\nWAITV");
  B = Old;
  EXPECT_SAYS(Text, "is a use after free: it was in the buffer 'beta'");
}

TEST_P(CheckerTest, NullPointer) {
  EXPECT_SAYS(run("s_mov_b32 s4, 0\ns_mov_b32 s5, 0\n"
                  "GLOAD1 v2, v1, s[4:5] offset:64\nWAITV"),
              "read of 4 bytes at 0x40 is outside of every buffer: the address "
              "is, or is near, a null pointer");
}

TEST_P(CheckerTest, KernelArgumentsAndCode) {
  EXPECT_SAYS(run("SLOAD2 s[8:9], s[0:1], 0x10\nWAITS"),
              "byte 16 of the buffer 'kernel arguments'");
  // A wider load than the arguments that are left, as compilers make them.
  EXPECT_CLEAN(run("SLOAD4 s[8:11], s[0:1], 0x8\nWAITS"));
  EXPECT_SAYS(
      run("v_mov_b32 v2, 0\nGSTORE1 v2, v0, s[0:1]"),
      "byte 0 of the buffer 'kernel arguments' of 128 bytes: the buffer "
      "is read-only to kernels");
  EXPECT_SAYS(run("s_getpc_b64 s[8:9]\nv_mov_b32 v2, 0\n"
                  "GSTORE1 v2, v0, s[8:9]"),
              "this part of it is read-only to kernels");
}

TEST_P(CheckerTest, OutOfBoundsNamesTheBuffer) {
  EXPECT_EQ(lnbwdSimDescribeBuffer(B, 128, "dgamma", 0), 0);
  std::string Text = run("GSTORE1 v1, v0, s[6:7]");
  EXPECT_SAYS(Text, isGfx9(Chip) ? "wave 0, lane 32: write of 4 bytes"
                                 : "wave 1, lane 0: write of 4 bytes");
  EXPECT_SAYS(Text, "the nearest buffer 'dgamma' is at");
  EXPECT_SAYS(Text, "0 bytes past its end");
  EXPECT_CLEAN(run("GSTORE1 v1, v0, s[6:7]", 1, 32));
  EXPECT_EQ(lnbwdSimDescribeBuffer(B, Bytes + 1, "dgamma", 0), -1);
}

TEST_P(CheckerTest, WriteToReadOnlyInput) {
  EXPECT_EQ(lnbwdSimDescribeBuffer(A, Bytes, "x", LNBWD_SIM_BUFFER_READ_ONLY),
            0);
  EXPECT_SAYS(run("GSTORE1 v1, v0, s[4:5] offset:8"), "write of 4 bytes");
  EXPECT_SAYS(run("GSTORE1 v1, v0, s[4:5] offset:8"),
              "byte 8 of the buffer 'x' of 16384 bytes: the buffer is "
              "read-only to kernels");
  EXPECT_SAYS(run("GADD v1, v0, s[4:5]"), "read-only");
  EXPECT_CLEAN(run("GLOAD1 v2, v1, s[4:5]\nWAITV\nGSTORE1 v1, v2, s[6:7]"));
}

TEST_P(CheckerTest, ForgottenContents) {
  const char *Read = "GLOAD1 v2, v1, s[4:5]\nWAITV\nGSTORE1 v1, v2, s[6:7]";
  EXPECT_CLEAN(run(Read));
  EXPECT_EQ(
      lnbwdSimDescribeBuffer(A, Bytes, "workspace", LNBWD_SIM_BUFFER_UNWRITTEN),
      0);
  EXPECT_SAYS(run(Read), "byte 0 of the buffer 'workspace'");
}

TEST_P(CheckerTest, Alignment) {
  // Hardware performs misaligned global and LDS accesses, so that they are an
  // error only when that is asked for.
  const char *Global = "ADDV v1, 2, v1\nGLOAD1 v2, v1, s[4:5]\nWAITV";
  EXPECT_CLEAN(run(Global));
  lnbwdSimSetChecks(AllButHazards | LNBWD_SIM_CHECK_ALIGNMENT);
  EXPECT_SAYS(run(Global), "the address is not aligned to 4");
  EXPECT_SAYS(run("ADDV v1, 2, v1\nDSWRITE1 v1, v0"),
              "LDS write of 4 bytes at 2 of 1024: the address is not aligned "
              "to 4");
  lnbwdSimSetChecks(AllButHazards);
  EXPECT_CLEAN(run("ADDV v1, 2, v1\nDSWRITE1 v1, v0"));
  EXPECT_SAYS(run("s_or_b32 s4, s4, 2\nSLOAD1 s8, s[4:5], 0x0\nWAITS"),
              "the address is not aligned to 4, and hardware ignores");
  EXPECT_SAYS(run("ADDV v1, 2, v1\nGADD v1, v0, s[4:5]"),
              "an atomic access is not aligned");
}

TEST_P(CheckerTest, LdsNeverWritten) {
  EXPECT_SAYS(
      run("DSREAD1 v2, v1\nWAITL\nGSTORE1 v1, v2, s[4:5]"),
      "lane 0: the value stored is not defined: v2 depends on v2, which "
      "was loaded at ");
  EXPECT_SAYS(run("DSREAD1 v2, v1\nWAITL\nGSTORE1 v1, v2, s[4:5]"),
              "where byte 0 of LDS was never written by this workgroup");
  // What is not used may be loaded: compilers do so ahead of a condition.
  EXPECT_CLEAN(run("DSREAD1 v2, v1\nWAITL\nv_mov_b32 v2, 0\n"
                   "GSTORE1 v1, v2, s[4:5]"));
  // Not by the one before either.
  const char *OnlyTheFirst = R"(
  s_cmp_lg_u32 s3, 0
  s_cbranch_scc1 later
  DSWRITE1 v1, v0
  WAITL
later:
  DSREAD1 v2, v1
  WAITL
  GSTORE1 v1, v2, s[4:5])";
  EXPECT_CLEAN(run(OnlyTheFirst, 1));
  EXPECT_SAYS(run(OnlyTheFirst, 2), "workgroup (1, 0, 0)");
}

TEST_P(CheckerTest, Scratch) {
  K.ScratchBytes = 64;
  K.Body += "v_mov_b32 v3, 4\n";
  EXPECT_CLEAN(run("SCSTORE v3, v0, off\nWAITST\n"
                   "SCLOAD v2, v3, off\nWAITV\n"
                   "GSTORE1 v1, v2, s[4:5]"));
  // A spilled register may be undefined, a stored value not.
  EXPECT_CLEAN(run("SCLOAD v2, v3, off\nWAITV"));
  EXPECT_SAYS(run("SCLOAD v2, v3, off\nWAITV\n"
                  "GSTORE1 v1, v2, s[4:5]"),
              "the value stored is not defined: v2 depends on v2, which was "
              "loaded from scratch memory that was never written, at k+0x");
  EXPECT_SAYS(run("SCSTORE v3, v0, off offset:60"), "outside of the lane's");
  EXPECT_SAYS(run("v_mov_b32 v3, 2\nSCSTORE v3, v0, off"),
              "is not aligned to 4");
}

TEST_P(CheckerTest, ElementsNeverWritten) {
  uint64_t First = 99;
  auto Count = [&](uint64_t At, uint64_t Size, uint64_t Element) {
    First = 99;
    return lnbwdSimCountUnwritten(static_cast<char *>(B) + At, Size, Element,
                                  &First);
  };
  EXPECT_EQ(Count(0, Bytes, 4), int64_t(Bytes / 4));
  EXPECT_EQ(First, 0u);
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  EXPECT_EQ(Count(0, Bytes, 4), 0);
  // What the host has put there does not count after the description.
  EXPECT_EQ(lnbwdSimDescribeBuffer(B, Bytes, "b", LNBWD_SIM_BUFFER_UNWRITTEN),
            0);
  EXPECT_EQ(Count(0, Bytes, 1), int64_t(Bytes));
  // A kernel writes dwords 0 to 31.
  EXPECT_CLEAN(run("GSTORE1 v1, v0, s[6:7]", 1, 32));
  EXPECT_EQ(Count(0, 128, 4), 0);
  EXPECT_EQ(Count(0, Bytes, 4), int64_t(Bytes / 4 - 32));
  EXPECT_EQ(First, 32u);
  EXPECT_EQ(Count(120, 16, 8), 1);
  EXPECT_EQ(First, 1u);
  // Half an element is none: the one in which it ends counts once, and so
  // does the one with two holes.
  EXPECT_HIP(hipMemset(static_cast<char *>(B) + 130, 0, 1));
  EXPECT_HIP(hipMemset(static_cast<char *>(B) + 132, 0, 4));
  EXPECT_EQ(Count(124, 12, 4), 1);
  EXPECT_EQ(First, 1u);
  EXPECT_EQ(Count(128, 4, 1), 3);
  EXPECT_EQ(Count(124, 16, 16), 1);
  // After the first page of the shadow, which is 4096 bytes.
  EXPECT_HIP(hipMemset(static_cast<char *>(B) + 4090, 0, 10));
  EXPECT_EQ(Count(4088, 16, 2), 1 + 2);
  EXPECT_EQ(Count(4090, 10, 10), 0);
  // Not known: no buffer, too many bytes, elements of nothing, no checks.
  EXPECT_EQ(lnbwdSimCountUnwritten(&First, 4, 4, nullptr), -1);
  EXPECT_EQ(Count(Bytes - 4, 8, 4), -1);
  EXPECT_EQ(Count(0, Bytes, 0), -1);
  lnbwdSimSetChecks(LNBWD_SIM_CHECK_RACES);
  EXPECT_EQ(Count(0, Bytes, 4), -1);
}

TEST_P(CheckerTest, ArgumentOfAnAddress) {
  EXPECT_EQ(lnbwdSimDescribeBuffer(A, Bytes, "x", 0), 0);
  EXPECT_EQ(lnbwdSimDescribeBuffer(B, Bytes, "w", 0), 0);
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  // From each to 64 bytes past the end of the other one.
  const uint64_t X = reinterpret_cast<uint64_t>(A);
  const uint64_t W = reinterpret_cast<uint64_t>(B);
  auto Sum = [](const std::string &Pair, uint64_t By) {
    const auto &[Low, High] = llvm::StringRef(Pair).split(':');
    return "s_add_u32 s8, s" + Low.str() + ", " + std::to_string(uint32_t(By)) +
           "\ns_addc_u32 s9, s" + High.str() + ", " +
           std::to_string(uint32_t(By >> 32)) + "\n";
  };
  const std::string FromW = Sum("6:7", X + Bytes + 64 - W);
  const std::string Far = "the address is made from the argument";
  EXPECT_SAYS(run(FromW + "GLOAD1 v2, v1, s[8:9]\nWAITV"), Far + " 'w', which");
  EXPECT_SAYS(run(FromW + "SLOAD1 s10, s[8:9], 0x0\nWAITS"),
              Far + " 'w', which");
  // A copy in lanes.
  EXPECT_SAYS(run(Sum("4:5", W + Bytes + 64 - X) +
                  "v_mov_b32 v4, s8\nv_mov_b32 v5, s9\n"
                  "GLOAD1 v2, v[4:5], off\nWAITV"),
              Far + " 'x', which");
  // An access near its own argument, as before.
  EXPECT_SAYS(run(Sum("6:7", Bytes) + "GLOAD1 v2, v1, s[8:9]\nWAITV"),
              "the nearest buffer 'w' is at");
  // A product is no address, and of two it cannot be told.
  std::string Text = run("v_mul_lo_u32 v4, v1, s6\nv_mov_b32 v5, 0x1000\n"
                         "GLOAD1 v2, v[4:5], off\nWAITV");
  EXPECT_SAYS(Text, "the nearest buffer");
  Text = run("s_add_u32 s8, s6, s4\ns_mov_b32 s9, 0x1000\n"
             "GLOAD1 v2, v1, s[8:9]\nWAITV");
  EXPECT_SAYS(Text, "the nearest buffer");
}

TEST_P(CheckerTest, OffsetsThatOverflow) {
  // As Triton makes them: a descriptor of 2 GiB, and an offset for masked
  // lanes.
  auto Load = [&](const std::string &Offset, const std::string &More = "") {
    return run(bufferOf(Chip, 8, 4, 0x7ffffffe) + "v_mov_b32 v1, " + Offset +
               "\nbuffer_load_" +
               (chipNamed(Chip).Generation < 11 ? "dword" : "b32") +
               " v2, v1, s[8:11], " + (isGfx12(Chip) ? "null" : "0") +
               " offen" + More + "\nWAITV");
  };
  EXPECT_CLEAN(Load("64"));
  EXPECT_CLEAN(Load("0x80000000"));
  EXPECT_CLEAN(Load("0x7ffffff0", " offset:16"));
  EXPECT_CLEAN(Load("0x80000000", " offset:16"));
  // Of rows of 1002240 bytes, numbers 2143 and 2680.
  for (const char *Offset : {"0x80000004", "0x8004d500", "0xa0192800",
                             "0xbffffffc", "0xc0000000", "-8"}) {
    SCOPED_TRACE(Offset);
    EXPECT_SAYS(Load(Offset),
                "from a buffer's base is negative, or has overflowed 32 ");
    EXPECT_EQ(Launched, hipErrorIllegalAddress);
  }
}

TEST_P(CheckerTest, AccessesOfALaunch) {
  uint8_t Ways[136];
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  EXPECT_CLEAN(run("GSTORE1 v1, v0, s[6:7]", 1, 32));
  ASSERT_EQ(lnbwdSimGetAccesses(B, sizeof(Ways), Ways), 0);
  EXPECT_EQ(Ways[0], 2);
  EXPECT_EQ(Ways[127], 2);
  EXPECT_EQ(Ways[128], 0);
  // Those of the launch before it do not count.
  EXPECT_CLEAN(run("GLOAD1 v2, v1, s[6:7]\nWAITV", 1, 32));
  ASSERT_EQ(lnbwdSimGetAccesses(static_cast<char *>(B) + 4, 128, Ways), 0);
  EXPECT_EQ(Ways[0], 1);
  EXPECT_EQ(Ways[123], 1);
  EXPECT_EQ(Ways[124], 0);
  EXPECT_EQ(lnbwdSimGetAccesses(B, Bytes + 1, Ways), -1);
}

TEST_P(CheckerTest, WhoAccessesWhat) {
  uint32_t Groups[40];
  auto Of = [&](bool Writes, uint32_t One = 0) {
    ASSERT_EQ(lnbwdSimGetAccessors(B, 40, 4, Writes, One, Groups), 0);
  };
  EXPECT_HIP(hipMemset(B, 0, Bytes));
  EXPECT_CLEAN(run("GSTORE1 v1, v0, s[6:7]", 1, 32));
  Of(/*Writes=*/true);
  EXPECT_EQ(Groups[0], 1u);
  EXPECT_EQ(Groups[31], 1u);
  EXPECT_EQ(Groups[32], 0u);
  // The module has been unloaded.
  EXPECT_STREQ(lnbwdSimGetAccessJson(B, /*writes=*/1), "null");
  Of(/*Writes=*/false);
  EXPECT_EQ(Groups[0], 0u);
  EXPECT_CLEAN(run("GLOAD1 v2, v1, s[6:7]\nWAITV", 2, 32));
  Of(/*Writes=*/false);
  EXPECT_EQ(Groups[31], UINT32_MAX);
  EXPECT_EQ(Groups[32], 0u);
  // Of several whether one of them is.
  for (uint32_t One : {1, 2, 3}) {
    Of(/*Writes=*/false, One);
    EXPECT_EQ(Groups[31], One == 3 ? UINT32_MAX : One);
    EXPECT_EQ(Groups[32], 0u);
  }
  EXPECT_EQ(lnbwdSimGetAccessors(B, Bytes / 4 + 1, 4, 0, 0, Groups), -1);
  // Of more than are kept one by one, too.
  EXPECT_CLEAN(run("GLOAD1 v2, v1, s[6:7]\nWAITV", 100, 32));
  for (uint32_t One : {1, 100, 101}) {
    Of(/*Writes=*/false, One);
    EXPECT_EQ(Groups[31], One == 101 ? UINT32_MAX : One);
  }
}
