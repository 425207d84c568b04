//===- SimulatorBench.cpp - The simulator's speed -------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Assembles a kernel that does what LayerNorm backward does to a row (16-byte
// loads, bf16 unpacking, f32 arithmetic, a reduction over lanes and, through
// LDS, over waves, 16-byte stores), runs it on each simulated device, and
// prints million wave-instructions per second of processor time: of wall time
// it is that much for each core, if nothing else runs. With --json, one JSON
// object.
//
//===----------------------------------------------------------------------===//

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include "Assembler/Assembler.h"

#include <hip/hip_runtime_api.h>

#include "lnbwd/Simulator/SimulatorAPI.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

using namespace lnbwd::sim;

/// The instructions of the row loop. Row r of workgroup g is at byte
/// (g * rows + r) * 4096 of x (argument 0); its result goes there in y
/// (argument 1); argument 2 is the number of rows.
static std::string rowLoop(int Generation, bool WaitsForAddress) {
  const bool Gfx9 = Generation == 9;
  const bool Gfx12 = Generation == 12;
  // What memory instructions are called.
  const bool OldNames = Generation <= 10;
  std::string S;
  auto Line = [&](const std::string &L) { S += "\t" + L + "\n"; };
  const std::string Load = OldNames ? "dwordx4" : "b128";
  auto WaitLoads = [&] {
    Line(Gfx12 ? "s_wait_loadcnt 0x0" : "s_waitcnt vmcnt(0)");
  };
  auto WaitLds = [&] {
    Line(Gfx12 ? "s_wait_dscnt 0x0" : "s_waitcnt lgkmcnt(0)");
  };
  auto WaitScalar = [&] {
    Line(Gfx12 ? "s_wait_kmcnt 0x0" : "s_waitcnt lgkmcnt(0)");
  };
  // What gfx9 does not wait for by itself.
  auto WaitAlu = [&] {
    if (Gfx9)
      Line("s_nop 1");
  };
  auto Barrier = [&] {
    if (Gfx12) {
      Line("s_barrier_signal -1");
      Line("s_barrier_wait -1");
    } else {
      Line("s_barrier");
    }
  };
  if (OldNames) {
    Line("s_load_dwordx4 s[4:7], s[0:1], 0x0");
    Line("s_load_dword s8, s[0:1], 0x10");
  } else {
    Line("s_load_b128 s[4:7], s[0:1], 0x0");
    Line("s_load_b32 s8, s[0:1], 0x10");
  }
  WaitScalar();
  Line(std::string("s_mul_i32 s9, ") + (Gfx12 ? "ttmp9" : "s2") + ", s8");
  Line("s_lshl_b32 s9, s9, 12");
  Line(Gfx12 ? "s_add_co_u32 s4, s4, s9" : "s_add_u32 s4, s4, s9");
  Line(Gfx12 ? "s_add_co_ci_u32 s5, s5, 0" : "s_addc_u32 s5, s5, 0");
  Line(Gfx12 ? "s_add_co_u32 s6, s6, s9" : "s_add_u32 s6, s6, s9");
  Line(Gfx12 ? "s_add_co_ci_u32 s7, s7, 0" : "s_addc_u32 s7, s7, 0");
  Line("v_and_b32 v0, 0x3ff, v0");
  Line("v_lshlrev_b32 v1, 4, v0"); // byte of this lane's 16 in the row
  // The LDS place of this wave, which has 64 lanes on gfx9 and 32 later.
  Line(Gfx9 ? "v_and_b32 v2, 0xffffffc0, v0" : "v_and_b32 v2, 0xffffffe0, v0");
  Line(Gfx9 ? "v_lshrrev_b32 v2, 4, v2" : "v_lshrrev_b32 v2, 3, v2");
  for (int K = 0; K < 8; ++K) {
    Line("v_mov_b32 v" + std::to_string(30 + K) + ", 0");
    Line("v_mov_b32 v" + std::to_string(40 + K) + ", 1.0");
  }
  S += "row:\n";
  Line("global_load_" + Load + " v[4:7], v1, s[4:5]");
  WaitLoads();
  for (int K = 0; K < 4; ++K) {
    std::string D = std::to_string(4 + K);
    Line("v_lshlrev_b32 v" + std::to_string(10 + 2 * K) + ", 16, v" + D);
    Line("v_and_b32 v" + std::to_string(11 + 2 * K) + ", 0xffff0000, v" + D);
  }
  Line("v_mov_b32 v3, 0");
  Line("v_mov_b32 v8, 0");
  for (int K = 0; K < 8; ++K) {
    std::string X = "v" + std::to_string(10 + K);
    std::string G = "v" + std::to_string(40 + K);
    std::string T = "v" + std::to_string(20 + K);
    Line("v_mul_f32 " + T + ", " + X + ", " + G);
    Line("v_fma_f32 v3, " + T + ", " + X + ", v3");
    Line("v_add_f32 v8, " + T + ", v8");
    std::string P = "v" + std::to_string(30 + K);
    Line("v_fma_f32 " + P + ", " + X + ", " + T + ", " + P);
  }
  for (const char *V : {"v3", "v8"})
    for (const char *Step :
         {"row_shr:1", "row_shr:2", "row_shr:4", "row_shr:8"}) {
      Line(std::string("v_add_f32_dpp ") + V + ", " + V + ", " + V + " " +
           Step + " row_mask:0xf bank_mask:0xf bound_ctrl:1");
      WaitAlu();
    }
  Line("v_readlane_b32 s10, v3, 15");
  Line("v_readlane_b32 s11, v8, 15");
  WaitAlu();
  Line("v_mov_b32 v9, s10");
  Line(OldNames ? "ds_write_b32 v2, v9" : "ds_store_b32 v2, v9");
  WaitLds();
  Barrier();
  Line(OldNames ? "ds_read_b32 v9, v2" : "ds_load_b32 v9, v2");
  WaitLds();
  for (int K = 0; K < 8; ++K) {
    std::string T = "v" + std::to_string(20 + K);
    Line("v_fma_f32 " + T + ", v9, " + T + ", s11");
    Line("v_mul_f32 " + T + ", 0.5, " + T);
  }
  for (int K = 0; K < 4; ++K) {
    std::string A = "v" + std::to_string(20 + 2 * K);
    std::string B = "v" + std::to_string(21 + 2 * K);
    Line("v_lshrrev_b32 " + A + ", 16, " + A);
    Line("v_and_or_b32 v" + std::to_string(50 + K) + ", " + B +
         ", 0xffff0000, " + A);
  }
  // VOP3 with a literal does not exist on gfx9: the mask goes in a register.
  if (Gfx9) {
    size_t At;
    while ((At = S.find(", 0xffff0000, v2")) != std::string::npos)
      S.replace(At, 14, ", s12, ");
    S.insert(0, "\ts_mov_b32 s12, 0xffff0000\n");
  }
  Line("global_store_" + Load + " v1, v[50:53], s[6:7]");
  if (WaitsForAddress)
    Line("s_wait_xcnt 0x0"); // It is to be translated first.
  Line(Gfx12 ? "s_add_co_u32 s4, s4, 0x1000" : "s_add_u32 s4, s4, 0x1000");
  Line(Gfx12 ? "s_add_co_ci_u32 s5, s5, 0" : "s_addc_u32 s5, s5, 0");
  Line(Gfx12 ? "s_add_co_u32 s6, s6, 0x1000" : "s_add_u32 s6, s6, 0x1000");
  Line(Gfx12 ? "s_add_co_ci_u32 s7, s7, 0" : "s_addc_u32 s7, s7, 0");
  Line(Gfx12 ? "s_sub_co_u32 s8, s8, 1" : "s_sub_u32 s8, s8, 1");
  Line("s_cmp_lg_u32 s8, 0");
  Line("s_cbranch_scc1 row");
  return S;
}

static bool check(hipError_t Code, const char *What) {
  if (Code == hipSuccess)
    return true;
  std::fprintf(stderr, "lnbwd-sim-bench: %s: %s: %s\n", What,
               hipGetErrorName(Code), lnbwdSimLastErrorMessage());
  return false;
}

namespace {
struct Result {
  uint64_t Instructions;
  double Seconds;
};
} // namespace

static bool measure(int Device, const std::string &Chip, int Generation,
                    unsigned Rows, Result &R) {
  KernelText K;
  K.KernargBytes = 24;
  K.LdsBytes = 1024;
  K.MaxFlatWorkgroupSize = 256;
  std::string Error;
  std::vector<uint8_t> Code;
  // A chip that has no such instruction needs none.
  for (bool WaitsForAddress : {true, false}) {
    if (!Code.empty())
      break;
    K.Body = rowLoop(Generation, WaitsForAddress);
    Code = assembleCodeObject(kernelText(K, Chip), Chip, 5, Error);
  }
  if (Code.empty()) {
    std::fprintf(stderr, "lnbwd-sim-bench: %s: %s\n", Chip.c_str(),
                 Error.c_str());
    return false;
  }
  constexpr unsigned Workgroups = 16;
  size_t Bytes = size_t(Workgroups) * Rows * 4096;
  void *X = nullptr, *Y = nullptr;
  hipModule_t Module;
  hipFunction_t Function;
  if (!check(hipSetDevice(Device), "hipSetDevice") ||
      !check(hipModuleLoadData(&Module, Code.data()), "hipModuleLoadData") ||
      !check(hipModuleGetFunction(&Function, Module, "k"),
             "hipModuleGetFunction") ||
      !check(hipMalloc(&X, Bytes), "hipMalloc") ||
      !check(hipMalloc(&Y, Bytes), "hipMalloc") ||
      !check(hipMemset(X, 0x3f, Bytes), "hipMemset") ||
      !check(hipMemset(Y, 0, Bytes), "hipMemset"))
    return false;
  uint64_t RowCount = Rows;
  void *Arguments[] = {&X, &Y, &RowCount};
  R.Seconds = 1e30;
  for (int Run = 0; Run < 3; ++Run) {
    lnbwdSimResetCounters();
    const std::clock_t Start = std::clock();
    if (!check(hipModuleLaunchKernel(Function, Workgroups, 1, 1, 256, 1, 1, 0,
                                     nullptr, Arguments, nullptr),
               "hipModuleLaunchKernel"))
      return false;
    const double Time = double(std::clock() - Start) / CLOCKS_PER_SEC;
    R.Seconds = std::min(R.Seconds, Time);
    lnbwd_sim_counters C;
    lnbwdSimGetCounters(&C);
    R.Instructions = C.wave_instructions;
  }
  (void)hipFree(X);
  (void)hipFree(Y);
  (void)hipModuleUnload(Module);
  return true;
}

int main(int Argc, char **Argv) {
  bool Json = false;
  // Checked launches are only measured when asked for.
  lnbwdSimSetChecks(0);
  unsigned Rows = 500;
  for (int I = 1; I < Argc; ++I) {
    if (!std::strcmp(Argv[I], "--json")) {
      Json = true;
    } else if (!std::strcmp(Argv[I], "--check")) {
      lnbwdSimSetChecks(LNBWD_SIM_CHECK_ALL);
    } else if (!std::strcmp(Argv[I], "--rows") && I + 1 < Argc) {
      Rows = unsigned(std::strtoul(Argv[++I], nullptr, 10));
    } else {
      std::fprintf(stderr,
                   "usage: lnbwd-sim-bench [--json] [--check] [--rows ROWS]\n"
                   "  --check: with all checks on (simulator/docs/checker.md)\n"
                   "  ROWS: rows of each of the 16 workgroups (default 500)\n");
      return 2;
    }
  }
  if (!Rows) {
    std::fprintf(stderr, "lnbwd-sim-bench: expected at least one row\n");
    return 2;
  }
  int Devices = 0;
  if (!check(hipGetDeviceCount(&Devices), "hipGetDeviceCount"))
    return 1;
  double Worst = 1e30;
  if (Json)
    std::printf("{");
  for (int D = 0; D < Devices; ++D) {
    hipDeviceProp_t P;
    if (!check(hipGetDeviceProperties(&P, D), "hipGetDeviceProperties"))
      return 1;
    std::string Chip = P.gcnArchName;
    Chip.resize(std::min(Chip.find(':'), Chip.size()));
    Result R;
    if (!measure(D, Chip, P.major, Rows, R))
      return 1;
    double Rate = double(R.Instructions) / R.Seconds / 1e6;
    Worst = Rate < Worst ? Rate : Worst;
    if (Json)
      std::printf("\"%s\": %.2f, ", Chip.c_str(), Rate);
    else
      std::printf("%-8s %10llu wave-instructions, %7.3f s, %7.1f million/s\n",
                  Chip.c_str(), (unsigned long long)R.Instructions, R.Seconds,
                  Rate);
  }
  if (Json)
    std::printf("\"slowest\": %.2f, \"unit\": \"million wave-instructions per "
                "processor second\"}\n",
                Worst);
  else
    std::printf(
        "slowest: %.1f million wave-instructions per processor second\n",
        Worst);
  return 0;
}
