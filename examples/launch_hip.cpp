//===- launch_hip.cpp - A kernel on an AMD card, by its ABI alone ---------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches examples/layer_norm_bwd.mlir, compiled for gfx942, with HIP and
// docs/runtime.md, without any library of this project. With dy = 1 each
// element of dbeta has to be the number of rows.
//
//   lnbwd-opt examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942
//       --emit=hsaco -o k.hsaco
//   hipcc examples/launch_hip.cpp -o launch_hip
//   ./launch_hip k.hsaco 8192    # and the number of a device, unless it is 0
//
//===----------------------------------------------------------------------===//

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

// From the launch plan, which `llvm-readelf -p .lnbwd.plan k.hsaco` prints.
constexpr int64_t rowLength = 1024;
constexpr int64_t rowsPerWorkgroup = 8, workgroupsPerComputeUnit = 1;
constexpr unsigned block = 256, finalizeBlock = 320, finalizeGrid[] = {1, 32};

static void check(hipError_t error, const char *what) {
  if (error == hipSuccess)
    return;
  std::fprintf(stderr, "%s: %s\n", what, hipGetErrorName(error));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

/// Device memory of so many 16-bit words, all of one value.
static void *fill(int64_t words, uint16_t value) {
  std::vector<uint16_t> host(size_t(words), value);
  void *device = nullptr;
  CHECK(hipMalloc(&device, std::max<size_t>(2, 2 * host.size())));
  CHECK(hipMemcpy(device, host.data(), 2 * host.size(), hipMemcpyHostToDevice));
  return device;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s k.hsaco ROWS [DEVICE]\n", argv[0]);
    return 2;
  }
  int64_t m = std::atoll(argv[2]), n = rowLength, one = 1;
  int device = argc > 3 ? std::atoi(argv[3]) : 0, units = 0;
  hipModule_t module;
  hipFunction_t rows, finalize;
  CHECK(hipSetDevice(device));
  CHECK(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount,
                              device)); // twice that on gfx10 to gfx12
  CHECK(hipModuleLoad(&module, argv[1]));
  CHECK(hipModuleGetFunction(&rows, module, "layer_norm_bwd"));
  CHECK(hipModuleGetFunction(&finalize, module, "layer_norm_bwd_finalize"));

  int64_t workgroups = (m + rowsPerWorkgroup - 1) / rowsPerWorkgroup;
  workgroups = std::max<int64_t>(
      1, std::min(workgroups, workgroupsPerComputeUnit * units));
  const uint16_t oneAsBf16 = 0x3f80;
  void *dy = fill(m * n, oneAsBf16), *x = fill(m * n, oneAsBf16);
  void *gamma = fill(n, oneAsBf16), *dx = fill(m * n, 0);
  void *mean = fill(2 * m, 0), *rstd = fill(2 * m, 0); // float32: two words
  void *dgamma = fill(n, 0), *dbeta = fill(n, 0);
  void *part0 = fill(2 * workgroups * n, 0),
       *part1 = fill(2 * workgroups * n, 0);
  void *rowArguments[] = {&dy, &x,     &gamma, &mean, &rstd,
                          &dx, &part0, &part1, &m,    &workgroups};
  CHECK(hipModuleLaunchKernel(rows, unsigned(workgroups), 1, 1, block, 1, 1, 0,
                              nullptr, rowArguments, nullptr));
  void *sumArguments[] = {&part0, &part1, &dgamma, &dbeta, &workgroups, &one};
  CHECK(hipModuleLaunchKernel(finalize, finalizeGrid[0], finalizeGrid[1], 1,
                              finalizeBlock, 1, 1, 0, nullptr, sumArguments,
                              nullptr));
  uint16_t sum = 0;
  CHECK(hipMemcpy(&sum, dbeta, sizeof(sum), hipMemcpyDeviceToHost));
  union {
    uint32_t bits;
    float value;
  } asFloat = {uint32_t(sum) << 16};
  std::printf("dbeta[0] = %g for %lld rows\n", double(asFloat.value),
              static_cast<long long>(m));
  return 0;
}
