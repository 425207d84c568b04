//===- LaunchTest.cpp - Launches through HIP ----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The exported functions: modules, launch limits, the start state of kernels,
// barriers, counters, and what happens when a kernel goes wrong.
//
//===----------------------------------------------------------------------===//

#include "LaunchTester.h"

#include "LoadedObject.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <unistd.h>

using namespace lnbwd::sim;

TEST(Launch, IdsOfWorkgroupsAndWorkItems) {
  // Every work-item stores group.x | group.y | group.z and its own id.
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    useChip(Chip);
    KernelText K;
    K.KernargBytes = 8;
    K.Directives = "\t.amdhsa_system_sgpr_workgroup_id_y 1\n"
                   "\t.amdhsa_system_sgpr_workgroup_id_z 1\n";
    bool Gfx12 = isGfx12(Chip);
    std::string Y =
        Gfx12 ? "s_and_b32 s6, ttmp7, 0xffff\n" : "s_mov_b32 s6, s3\n";
    std::string Z = Gfx12 ? "s_lshr_b32 s7, ttmp7, 16\n" : "s_mov_b32 s7, s4\n";
    std::string Load = isGfx9(Chip) ? "s_load_dwordx2 s[8:9], s[0:1], 0x0\n"
                                    : "s_load_b64 s[8:9], s[0:1], 0x0\n";
    // Index: ((z * 3 + y) * 2 + x) * 24 + item, with a block of 4 x 3 x 2.
    K.Body =
        Y + Z + Load +
        (Gfx12 ? "s_wait_kmcnt 0x0\ns_mov_b32 s2, ttmp9\n"
               : "s_waitcnt lgkmcnt(0)\n") +
        "s_mul_i32 s10, s7, 3\n" +
        (Gfx12 ? "s_add_co_i32 s10, s10, s6\n" : "s_add_i32 s10, s10, s6\n") +
        "s_mul_i32 s10, s10, 2\n" +
        (Gfx12 ? "s_add_co_i32 s10, s10, s2\n" : "s_add_i32 s10, s10, s2\n") +
        "s_mul_i32 s10, s10, 24\n"
        "v_and_b32 v1, 0x3ff, v0\n"
        "v_bfe_u32 v2, v0, 10, 10\n"
        "v_bfe_u32 v3, v0, 20, 10\n"
        "v_mul_u32_u24 v4, 3, v3\n" +
        add(Chip) +
        "v4, v4, v2\n"
        "v_lshlrev_b32 v4, 2, v4\n" +
        add(Chip) + "v4, v4, v1\n" + add(Chip) +
        "v4, s10, v4\n"
        "v_lshlrev_b32 v4, 2, v4\n"
        "s_lshl_b32 s14, s6, 4\ns_lshl_b32 s15, s7, 8\n"
        "s_or_b32 s14, s14, s15\ns_or_b32 s14, s14, s2\n"
        "s_lshl_b32 s14, s14, 16\n"
        "v_lshlrev_b32 v2, 4, v2\nv_lshlrev_b32 v3, 8, v3\n"
        "v_or3_b32 v1, v1, v2, v3\nv_or_b32 v1, s14, v1\n" +
        storeDword(Chip) + "v4, v1, s[8:9]\n";
    LoadedModule M(build(K, Chip));
    Buffer<uint32_t> Out(2 * 3 * 2 * 24);
    ASSERT_HIP(
        launch(M.function("k"), dim3(2, 3, 2), dim3(4, 3, 2), 0, Out.get()));
    std::vector<uint32_t> Expected;
    for (unsigned Gz = 0; Gz < 2; ++Gz)
      for (unsigned Gy = 0; Gy < 3; ++Gy)
        for (unsigned Gx = 0; Gx < 2; ++Gx)
          for (unsigned Iz = 0; Iz < 2; ++Iz)
            for (unsigned Iy = 0; Iy < 3; ++Iy)
              for (unsigned Ix = 0; Ix < 4; ++Ix)
                Expected.push_back((Gx | Gy << 4 | Gz << 8) << 16 | Ix |
                                   Iy << 4 | Iz << 8);
    EXPECT_EQ(Out.read(), Expected);
  }
}

TEST(Launch, BarriersOrderLds) {
  // Each wave writes its number, after the barrier each reads its neighbour's.
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    useChip(Chip);
    KernelText K;
    K.KernargBytes = 8;
    K.LdsBytes = 1024 * 4;
    std::string Write = isGfx9(Chip) ? "ds_write_b32 " : "ds_store_b32 ";
    std::string Read = isGfx9(Chip) ? "ds_read_b32 " : "ds_load_b32 ";
    K.Body =
        prologue(Chip) + "v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v1, 2, v0\n" +
        Write + "v1, v0\n" + waitLds(Chip) + barrier(Chip) + "v_sub" +
        (isGfx9(Chip) ? "_u32" : "_nc_u32") +
        " v2, 0x3ff, v0\nv_lshlrev_b32 v2, 2, v2\n" + Read + "v3, v2\n" +
        waitLds(Chip) + barrier(Chip) + storeDword(Chip) + "v1, v3, s[4:5]\n";
    LoadedModule M(build(K, Chip));
    Buffer<uint32_t> Out(1024);
    lnbwdSimResetCounters();
    ASSERT_HIP(launch(M.function("k"), dim3(1), dim3(1024), 0, Out.get()));
    std::vector<uint32_t> Got = Out.read();
    for (unsigned I = 0; I < 1024; ++I)
      EXPECT_EQ(Got[I], 1023 - I);
    lnbwd_sim_counters C;
    lnbwdSimGetCounters(&C);
    const unsigned Waves = 1024 / chipNamed(Chip).WaveSize;
    EXPECT_EQ(C.workgroups, 1u);
    EXPECT_EQ(C.waves, Waves);
    EXPECT_EQ(C.barriers, 2 * Waves);
    EXPECT_EQ(C.lds_bytes, 2u * 4096);
    EXPECT_EQ(C.lds_lane_instructions, 2u * 1024);
    EXPECT_EQ(C.memory_lane_instructions, 1024u);
    EXPECT_EQ(C.vector_lane_instructions, 4u * 1024);
    EXPECT_EQ(C.global_bytes_written, 4096u);
    EXPECT_EQ(C.global_bytes_read, 8u * Waves); // the argument
    unsigned Lines = 0;
    for (char Ch : K.Body)
      Lines += Ch == '\n';
    EXPECT_EQ(C.wave_instructions, uint64_t(Lines + 1) * Waves);
    // All but 4 vector ALU, 2 LDS, 1 store and 1 scalar load.
    EXPECT_EQ(C.scalar_instructions, uint64_t(Lines + 1 - 8) * Waves);
  }
}

TEST(Launch, EndedWavesDoNotHoldABarrier) {
  const unsigned Before = lnbwdSimGetChecks();
  lnbwdSimSetChecks(0); // Checked launches report it, though hardware goes on.
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    useChip(Chip);
    // Only the first wave reaches the barrier.
    KernelText K;
    K.KernargBytes = 8;
    K.Body = std::string("v_and_b32 v0, 0x3ff, v0\n") +
             "v_readfirstlane_b32 s6, v0\ns_cmp_lg_u32 s6, 0\n"
             "s_cbranch_scc1 end\n" +
             prologue(Chip) + barrier(Chip) +
             "v_mov_b32 v1, 5\nv_mov_b32 v2, 0\n" + storeDword(Chip) +
             "v2, v1, s[4:5]\nend:\n";
    LoadedModule M(build(K, Chip));
    Buffer<uint32_t> Out(1);
    ASSERT_HIP(launch(M.function("k"), dim3(1), dim3(256), 0, Out.get()));
    EXPECT_EQ(Out.read()[0], 5u);
  }
  lnbwdSimSetChecks(Before);
}

TEST(Launch, PartialWaves) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    useChip(Chip);
    KernelText K;
    K.KernargBytes = 8;
    K.Body = prologue(Chip) +
             "v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v1, 2, v0\n"
             "v_mov_b32 v2, 1\n" +
             storeDword(Chip) + "v1, v2, s[4:5]\n";
    LoadedModule M(build(K, Chip));
    Buffer<uint32_t> Out(128);
    ASSERT_HIP(launch(M.function("k"), dim3(1), dim3(71), 0, Out.get()));
    std::vector<uint32_t> Got = Out.read();
    for (unsigned I = 0; I < 128; ++I)
      EXPECT_EQ(Got[I], I < 71 ? 1u : 0u);
  }
}

TEST(Launch, Limits) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    useChip(Chip);
    KernelText K;
    K.KernargBytes = 8;
    K.LdsBytes = 1024;
    K.MaxFlatWorkgroupSize = 256;
    LoadedModule M(build(K, Chip));
    hipFunction_t F = M.function("k");
    Buffer<uint32_t> Out(1);
    void *P = Out.get();
    auto Refused = [&](dim3 Grid, dim3 Block, unsigned Lds, const char *Why) {
      EXPECT_EQ(launch(F, Grid, Block, Lds, P), hipErrorInvalidConfiguration);
      EXPECT_NE(std::string(lnbwdSimLastErrorMessage()).find(Why),
                std::string::npos)
          << lnbwdSimLastErrorMessage();
    };
    EXPECT_HIP(launch(F, dim3(1), dim3(256), 0, P));
    Refused(dim3(1), dim3(257), 0, "above the 256 that the kernel");
    Refused(dim3(1), dim3(32, 33), 0, "above the chip's limit of 1024");
    Refused(dim3(1), dim3(1025), 0, "dimension above 1024");
    Refused(dim3(0), dim3(64), 0, "dimension of 0");
    Refused(dim3(1, 65536), dim3(64), 0, "65535 workgroups in y");
    Refused(dim3(1u << 31), dim3(64), 0, "2^32");
    unsigned Most = chipNamed(Chip).LdsBytes;
    EXPECT_HIP(launch(F, dim3(1), dim3(64), Most - 1024, P));
    Refused(dim3(1), dim3(64), Most - 1023, "bytes of LDS");
    // No arguments, both forms, the wrong size.
    EXPECT_EQ(hipModuleLaunchKernel(F, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr,
                                    nullptr),
              hipErrorInvalidValue);
    size_t Size = 8;
    void *Extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &P,
                     HIP_LAUNCH_PARAM_BUFFER_SIZE, &Size, HIP_LAUNCH_PARAM_END};
    EXPECT_HIP(hipModuleLaunchKernel(F, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr,
                                     Extra));
    Size = 4;
    EXPECT_EQ(
        hipModuleLaunchKernel(F, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, Extra),
        hipErrorInvalidValue);
    int Value = 0;
    EXPECT_HIP(hipFuncGetAttribute(
        &Value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, F));
    EXPECT_EQ(Value, 256);
    EXPECT_HIP(
        hipFuncGetAttribute(&Value, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, F));
    EXPECT_EQ(Value, 1024);
    EXPECT_HIP(
        hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&Value, F, 256, 0));
    // 2048 work-items, of a compute unit or of the two of a workgroup
    // processor.
    EXPECT_EQ(Value, 8);
    hipFunction_t Missing;
    EXPECT_EQ(hipModuleGetFunction(&Missing, M.get(), "nope"),
              hipErrorNotFound);
    EXPECT_NE(std::string(lnbwdSimLastErrorMessage()).find("has: k"),
              std::string::npos);
  }
}

TEST(Launch, IllegalAddress) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    useChip(Chip);
    KernelText K;
    K.KernargBytes = 8;
    K.Body = prologue(Chip) +
             "v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v1, 2, v0\n" +
             storeDword(Chip) + "v1, v0, s[4:5]\n";
    LoadedModule M(build(K, Chip));
    Buffer<uint32_t> Out(100);
    EXPECT_EQ(launch(M.function("k"), dim3(1), dim3(128), 0, Out.get()),
              hipErrorIllegalAddress);
    std::string Message = lnbwdSimLastErrorMessage();
    unsigned Wave = 100 / chipNamed(Chip).WaveSize;
    unsigned Lane = 100 % chipNamed(Chip).WaveSize;
    std::string Place = Chip + ": kernel 'k', workgroup (0, 0, 0), wave " +
                        std::to_string(Wave) + ", lane " +
                        std::to_string(Lane) + ": write of 4 bytes at 0x";
    EXPECT_EQ(Message.compare(0, Place.size(), Place), 0) << Message;
    EXPECT_NE(Message.find("400 bytes long; the address lies 0 bytes past"),
              std::string::npos)
        << Message;
    EXPECT_NE(Message.find("at k+0x"), std::string::npos) << Message;
    EXPECT_NE(Message.find("global_store"), std::string::npos) << Message;
    // The device works on.
    EXPECT_HIP(launch(M.function("k"), dim3(1), dim3(64), 0, Out.get()));
    // Memory that was freed is no longer there.
    void *Freed;
    ASSERT_HIP(hipMalloc(&Freed, 4096));
    ASSERT_HIP(hipFree(Freed));
    EXPECT_EQ(launch(M.function("k"), dim3(1), dim3(64), 0, Freed),
              hipErrorIllegalAddress);
  }
}

TEST(Launch, UnknownInstruction) {
  useChip("gfx942");
  KernelText K;
  K.Body = "v_cubeid_f32 v0, v1, v2, v3";
  LoadedModule M(build(K, "gfx942"));
  EXPECT_EQ(hipModuleLaunchKernel(M.function("k"), 1, 1, 1, 64, 1, 1, 0,
                                  nullptr, nullptr, nullptr),
            hipErrorLaunchFailure);
  EXPECT_STREQ(lnbwdSimLastErrorMessage(),
               "gfx942: kernel 'k', workgroup (0, 0, 0), wave 0: "
               "v_cubeid_f32 v0, v1, v2, v3 cannot be "
               "executed: the instruction is not implemented; at k+0x0: "
               "v_cubeid_f32 v0, v1, v2, v3");
}

// Clocks count instructions, so that they read the same in every run.
TEST(Launch, ClocksCountInstructions) {
  struct Clock {
    unsigned Chips;
    const char *Text;
  };
  const Clock Clocks[] = {
      {GFX9, "s_memtime s[8:9]\ns_waitcnt lgkmcnt(0)\n"},
      {GFX9, "s_memrealtime s[8:9]\ns_waitcnt lgkmcnt(0)\n"},
      {GFX1100, "s_getreg_b32 s8, hwreg(HW_REG_SHADER_CYCLES)\n"},
      {GFX1201, "s_getreg_b32 s8, hwreg(HW_REG_SHADER_CYCLES_LO)\n"
                "s_wait_alu 0xfffe\n"},
      {GFX1100, "s_sendmsg_rtn_b64 s[8:9], sendmsg(MSG_RTN_GET_REALTIME)\n"
                "s_waitcnt lgkmcnt(0)\n"}};
  for (const Clock &Each : Clocks)
    for (const std::string &Chip : chipsIn(Each.Chips)) {
      SCOPED_TRACE(Chip + ": " + Each.Text);
      useChip(Chip);
      KernelText K;
      K.KernargBytes = 8;
      const std::string Read = Each.Text;
      K.Body = prologue(Chip) + Read + "v_mov_b32 v1, 0\nv_mov_b32 v2, s8\n" +
               Read + "v_mov_b32 v3, s8\n" + storeDword(Chip) +
               "v1, v2, s[4:5]\n" + storeDword(Chip) +
               "v1, v3, s[4:5] offset:4\n";
      LoadedModule M(build(K, Chip));
      Buffer<uint32_t> Out(2);
      std::vector<uint32_t> Times[2];
      lnbwdSimResetCounters();
      for (std::vector<uint32_t> &Got : Times) {
        ASSERT_HIP(launch(M.function("k"), dim3(1), dim3(1), 0, Out.get()));
        Got = Out.read();
      }
      lnbwd_sim_counters C;
      lnbwdSimGetCounters(&C);
      // A reading follows the one before it by the moves and what reads.
      const auto Lines = uint32_t(std::count(Read.begin(), Read.end(), '\n'));
      EXPECT_EQ(Times[0][1] - Times[0][0], 2 + Lines);
      EXPECT_EQ(Times[1][0] - Times[0][0], C.wave_instructions / 2);
      EXPECT_EQ(Times[1][1] - Times[1][0], 2 + Lines);
    }
}

// Workgroups that wait for each other: none may starve.
// Not checked for races, under which the first one polls alone for a million
// instructions; CheckerOrderTest has such kernels.
TEST(Launch, WorkgroupsThatWaitForEachOther) {
  const unsigned Before = lnbwdSimGetChecks();
  lnbwdSimSetChecks(Before & ~unsigned(LNBWD_SIM_CHECK_RACES));
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    useChip(Chip);
    KernelText K;
    K.KernargBytes = 8;
    std::string Return = Chip == "gfx90a" || Chip == "gfx1100" ? " glc"
                         : isGfx9(Chip) ? " sc0"
                                        : " th:TH_ATOMIC_RETURN";
    std::string AtomicAdd =
        isGfx9(Chip) ? "global_atomic_add" : "global_atomic_add_u32";
    std::string Scope = isGfx12(Chip) ? " scope:SCOPE_DEV" : "";
    std::string WaitLoad =
        isGfx12(Chip) ? "s_wait_loadcnt 0x0\n" : "s_waitcnt vmcnt(0)\n";
    // Count up, then spin until all sixteen have done so.
    K.Body = prologue(Chip) + "v_mov_b32 v1, 0\nv_mov_b32 v2, 1\n" +
             (isGfx9(Chip) ? "s_mov_b64 exec, 1\n" : "s_mov_b32 exec_lo, 1\n") +
             AtomicAdd + " v1, v2, s[4:5]" + Scope +
             "\nspin:\nv_mov_b32 v3, 0\n" + AtomicAdd + " v4, v1, v3, s[4:5]" +
             Return + Scope + "\n" + WaitLoad +
             "v_readfirstlane_b32 s6, v4\ns_cmp_lt_u32 s6, 16\n"
             "s_cbranch_scc1 spin\n";
    LoadedModule M(build(K, Chip));
    Buffer<uint32_t> Count(1);
    setenv("LNBWD_SIM_MAX_INSTRUCTIONS", "1000000000", 1);
    EXPECT_HIP(launch(M.function("k"), dim3(16), dim3(64), 0, Count.get()));
    unsetenv("LNBWD_SIM_MAX_INSTRUCTIONS");
    EXPECT_EQ(Count.read()[0], chipNamed(Chip).WaveSize == 32 ? 32u : 16u);
  }
  lnbwdSimSetChecks(Before);
}

TEST(Launch, ModulesAndFiles) {
  useChip("gfx950");
  std::vector<uint8_t> Bytes = build(KernelText(), "gfx950");
  std::string Path = ::testing::TempDir() + "lnbwd-sim-test-" +
                     std::to_string(getpid()) + ".hsaco";
  std::FILE *F = std::fopen(Path.c_str(), "wb");
  ASSERT_TRUE(F);
  std::fwrite(Bytes.data(), 1, Bytes.size(), F);
  std::fclose(F);
  hipModule_t M;
  ASSERT_HIP(hipModuleLoad(&M, Path.c_str()));
  hipFunction_t Function;
  ASSERT_HIP(hipModuleGetFunction(&Function, M, "k"));
  ASSERT_HIP(hipModuleUnload(M));
  EXPECT_EQ(hipModuleUnload(M), hipErrorInvalidHandle);
  EXPECT_EQ(hipModuleLaunchKernel(Function, 1, 1, 1, 64, 1, 1, 0, nullptr,
                                  nullptr, nullptr),
            hipErrorInvalidDeviceFunction);
  // Half a file.
  F = std::fopen(Path.c_str(), "wb");
  std::fwrite(Bytes.data(), 1, Bytes.size() / 2, F);
  std::fclose(F);
  EXPECT_EQ(hipModuleLoad(&M, Path.c_str()), hipErrorInvalidImage);
  EXPECT_NE(std::string(lnbwdSimLastErrorMessage()).find("truncated"),
            std::string::npos);
  std::remove(Path.c_str());
  EXPECT_EQ(hipModuleLoad(&M, Path.c_str()), hipErrorFileNotFound);
  useChip("gfx942");
  EXPECT_EQ(hipModuleLoadData(&M, Bytes.data()), hipErrorNoBinaryForGpu);
  EXPECT_NE(std::string(lnbwdSimLastErrorMessage())
                .find("is for gfx950, but the device is gfx942"),
            std::string::npos);
}

TEST(Launch, PreloadedArguments) {
  for (const std::string &Chip : chipsIn(GFX9)) {
    SCOPED_TRACE(Chip);
    useChip(Chip);
    KernelText K;
    K.KernargBytes = 16;
    K.Directives = "\t.amdhsa_user_sgpr_kernarg_preload_length 4\n"
                   "\t.amdhsa_user_sgpr_kernarg_preload_offset 0\n";
    // Hardware without preloading starts at the beginning and would trap.
    K.Body = "s_trap 2\n.p2alignl 8, 0xbf800000\n"
             "v_mov_b32 v1, s4\nv_mov_b32 v2, 0\n"
             "global_store_dword v2, v1, s[2:3]\n";
    LoadedModule M(build(K, Chip));
    Buffer<uint32_t> Out(1);
    uint64_t Second = 1234;
    ASSERT_HIP(
        launch(M.function("k"), dim3(1), dim3(64), 0, Out.get(), Second));
    EXPECT_EQ(Out.read()[0], 1234u);
  }
}

TEST(Launch, HiddenArguments) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    useChip(Chip);
    KernelText K;
    K.KernargBytes = 64;
    auto Arg = [](unsigned Offset, unsigned Size, const char *Kind) {
      return "      - .offset: " + std::to_string(Offset) +
             "\n        .size: " + std::to_string(Size) +
             "\n        .value_kind: " + Kind + "\n";
    };
    K.Arguments =
        Arg(0, 8, "global_buffer") + Arg(8, 4, "hidden_block_count_x") +
        Arg(12, 4, "hidden_block_count_y") +
        Arg(16, 4, "hidden_block_count_z") + Arg(20, 2, "hidden_group_size_x") +
        Arg(22, 2, "hidden_group_size_y") + Arg(24, 2, "hidden_group_size_z") +
        Arg(26, 2, "hidden_remainder_x") + Arg(28, 2, "hidden_grid_dims") +
        Arg(32, 4, "hidden_dynamic_lds_size");
    // Copies 32 bytes from offset 8 of the segment; every workgroup does, so
    // with atomics.
    std::string Swap =
        isGfx9(Chip) ? "global_atomic_swap" : "global_atomic_swap_b32";
    std::string Scope = isGfx12(Chip) ? " scope:SCOPE_DEV" : "";
    K.Body = prologue(Chip) +
             (isGfx9(Chip) ? "s_load_dwordx8 s[8:15], s[0:1], 0x8\n"
                           : "s_load_b256 s[8:15], s[0:1], 0x8\n") +
             (isGfx12(Chip) ? "s_wait_kmcnt 0x0\n" : "s_waitcnt lgkmcnt(0)\n") +
             "v_mov_b32 v2, 0\n";
    for (unsigned I = 0; I < 8; ++I)
      K.Body += "v_mov_b32 v1, s" + std::to_string(8 + I) + "\n" + Swap +
                " v2, v1, s[4:5] offset:" + std::to_string(4 * I) + Scope +
                (chipNamed(Chip).isCdna5() ? "\ns_wait_xcnt 0x0\n" : "\n");
    LoadedModule M(build(K, Chip));
    Buffer<uint32_t> Out(8);
    ASSERT_HIP(
        launch(M.function("k"), dim3(3, 2), dim3(32, 4), 256, Out.get()));
    std::vector<uint32_t> Got = Out.read();
    EXPECT_EQ(Got[0], 3u);
    EXPECT_EQ(Got[1], 2u);
    EXPECT_EQ(Got[2], 1u);
    EXPECT_EQ(Got[3], 32u | 4u << 16);
    EXPECT_EQ(Got[4], 1u);
    EXPECT_EQ(Got[5], 2u);
    EXPECT_EQ(Got[6], 256u);
  }
}

TEST(Launch, Wave64OnGfx1100) {
  useChip("gfx1100");
  KernelText K;
  K.WaveSize = 64;
  K.KernargBytes = 8;
  K.Body = prologue("gfx1100") +
           "v_mbcnt_lo_u32_b32 v1, -1, 0\nv_mbcnt_hi_u32_b32 v1, -1, v1\n"
           "v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v2, 2, v0\n"
           "v_cmp_gt_u32_e32 vcc, 40, v1\nv_cndmask_b32_e32 v1, 0, v1, vcc\n"
           "global_store_b32 v2, v1, s[4:5]\n";
  LoadedModule M(build(K, "gfx1100"));
  Buffer<uint32_t> Out(128);
  ASSERT_HIP(launch(M.function("k"), dim3(1), dim3(128), 0, Out.get()));
  std::vector<uint32_t> Got = Out.read();
  for (unsigned I = 0; I < 128; ++I)
    EXPECT_EQ(Got[I], I % 64 < 40 ? I % 64 : 0);
}
