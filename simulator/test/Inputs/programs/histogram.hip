//===- histogram.hip - Counts in managed memory ---------------------------===//
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

constexpr int Bins = 32;

__managed__ int Launches = 5;

__global__ void count(const unsigned *X, int N, unsigned *Counts) {
  extern __shared__ unsigned Mine[];
  for (int B = threadIdx.x; B < Bins; B += blockDim.x)
    Mine[B] = 0;
  __syncthreads();
  for (int I = blockIdx.x * blockDim.x + threadIdx.x; I < N;
       I += gridDim.x * blockDim.x)
    __hip_atomic_fetch_add(&Mine[X[I] % Bins], 1u, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  for (int B = threadIdx.x; B < Bins; B += blockDim.x)
    atomicAdd(&Counts[B], Mine[B]);
  if (blockIdx.x == 0 && threadIdx.x == 0)
    ++Launches;
}

int main() {
  const int N = 2000;
  unsigned *X, *Counts;
  check(
      hipMallocManaged((void **)&X, N * sizeof(unsigned), hipMemAttachGlobal));
  check(hipMallocManaged((void **)&Counts, Bins * sizeof(unsigned),
                         hipMemAttachGlobal));
  for (int I = 0; I < N; ++I)
    X[I] = I * 7;
  for (int B = 0; B < Bins; ++B)
    Counts[B] = 0;
  count<<<3, 128, Bins * sizeof(unsigned)>>>(X, N, Counts);
  check(hipDeviceSynchronize());
  unsigned Sum = 0;
  for (int B = 0; B < Bins; ++B)
    Sum += Counts[B];
  std::printf("%u values, launches %d\n", Sum, Launches);
  check(hipFree(X));
  check(hipFree(Counts));
  return 0;
}
