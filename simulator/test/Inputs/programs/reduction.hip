//===- reduction.hip - A sum by a tree in LDS -----------------------------===//
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

constexpr int Items = 256;
__constant__ float Scale[2];
__device__ float Total;

// BARRIER is what makes it right.
#ifndef BARRIER
#define BARRIER __syncthreads()
#endif

__global__ void sum(const float *X, float *Partial) {
  __shared__ float Tree[Items];
  const int T = threadIdx.x;
  Tree[T] = X[blockIdx.x * Items + T] * Scale[1];
  __syncthreads();
  for (int Step = Items / 2; Step; Step /= 2) {
    if (T < Step)
      Tree[T] += Tree[T + Step];
    BARRIER;
  }
  if (T == 0) {
    Partial[blockIdx.x] = Tree[0];
    atomicAdd(&Total, Tree[0]);
  }
}

int main() {
  const int Blocks = 6;
  std::vector<float> X(Blocks * Items, 1.0f);
  const float Factors[2] = {100.0f, 0.5f}, Zero = 0;
  float *Input, *Partial, Result;
  check(hipMalloc((void **)&Input, X.size() * sizeof(float)));
  check(hipMalloc((void **)&Partial, Blocks * sizeof(float)));
  check(hipMemcpy(Input, X.data(), X.size() * sizeof(float),
                  hipMemcpyHostToDevice));
  check(hipMemcpyToSymbol(Scale, Factors, sizeof(Factors), 0,
                          hipMemcpyHostToDevice));
  check(
      hipMemcpyToSymbol(Total, &Zero, sizeof(Zero), 0, hipMemcpyHostToDevice));
  int Resident = 0;
  check(hipOccupancyMaxActiveBlocksPerMultiprocessor(
      &Resident, (const void *)sum, Items, 0));
  if (Resident < 1)
    return 4;
  sum<<<Blocks, Items>>>(Input, Partial);
  // Nobody looks at what the launch says.
  (void)hipMemcpyFromSymbol(&Result, Total, sizeof(Result), 0,
                            hipMemcpyDeviceToHost);
  std::printf("sum %g\n", Result);
  return 0;
}
