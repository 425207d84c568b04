//===- vector-add.hip - Two vectors added ---------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(hipError_t Code) {
  if (Code == hipSuccess)
    return;
  std::printf("HIP: %s\n", hipGetErrorString(Code));
  std::exit(3);
}

__global__ void add(const float *A, const float *B, float *C, int N) {
  const int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    C[I] = A[I] + B[I];
}

int main(int Argc, char **Argv) {
  const int N = Argc > 1 ? std::atoi(Argv[1]) : 1000;
  int Devices = 0;
  check(hipGetDeviceCount(&Devices));
  hipDeviceProp_t Properties;
  check(hipGetDeviceProperties(&Properties, 0));
  std::printf("%d device: %s\n", Devices, Properties.gcnArchName);
  std::vector<float> A(N), B(N), C(N);
  for (int I = 0; I < N; ++I) {
    A[I] = I;
    B[I] = 2 * I;
  }
  float *DeviceA, *DeviceB, *DeviceC;
  check(hipMalloc((void **)&DeviceA, N * sizeof(float)));
  check(hipMalloc((void **)&DeviceB, N * sizeof(float)));
  check(hipMalloc((void **)&DeviceC, N * sizeof(float)));
  check(hipMemcpy(DeviceA, A.data(), N * sizeof(float), hipMemcpyHostToDevice));
  check(hipMemcpy(DeviceB, B.data(), N * sizeof(float), hipMemcpyHostToDevice));
  add<<<(N + 255) / 256, 256>>>(DeviceA, DeviceB, DeviceC, N);
  check(hipGetLastError());
  check(hipDeviceSynchronize());
  check(hipMemcpy(C.data(), DeviceC, N * sizeof(float), hipMemcpyDeviceToHost));
  for (int I = 0; I < N; ++I)
    if (C[I] != 3 * I)
      return 4;
  check(hipFree(DeviceA));
  check(hipFree(DeviceB));
  check(hipFree(DeviceC));
  std::puts("right");
  return Argc > 2 ? 5 : 0;
}
