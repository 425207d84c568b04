//===- streams.hip - Two streams with events, and a module ----------------===//
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

__global__ void scale(float *X, int N, float Factor) {
  const int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    X[I] *= Factor;
}

static void called(hipStream_t, hipError_t, void *Data) { ++*(int *)Data; }

int main() {
  const int N = 512;
  float *Host, *Device[2];
  hipStream_t Streams[2];
  hipEvent_t Begin, End;
  int Calls = 0;
  check(hipHostMalloc((void **)&Host, 2 * N * sizeof(float), 0));
  for (int I = 0; I < 2 * N; ++I)
    Host[I] = I;
  check(hipEventCreate(&Begin));
  check(hipEventCreateWithFlags(&End, hipEventDefault));
  for (int S = 0; S < 2; ++S) {
    check(hipStreamCreateWithFlags(&Streams[S], hipStreamNonBlocking));
    check(hipMallocAsync((void **)&Device[S], N * sizeof(float), Streams[S]));
  }
  check(hipEventRecord(Begin, Streams[0]));
  for (int S = 0; S < 2; ++S) {
    check(hipMemcpyAsync(Device[S], Host + S * N, N * sizeof(float),
                         hipMemcpyHostToDevice, Streams[S]));
    scale<<<2, 256, 0, Streams[S]>>>(Device[S], N, S + 2);
    check(hipMemcpyAsync(Host + S * N, Device[S], N * sizeof(float),
                         hipMemcpyDeviceToHost, Streams[S]));
    check(hipStreamAddCallback(Streams[S], called, &Calls, 0));
  }
  check(hipEventRecord(End, Streams[1]));
  check(hipStreamWaitEvent(Streams[0], End, 0));
  check(hipEventSynchronize(End));
  for (int S = 0; S < 2; ++S) {
    check(hipStreamSynchronize(Streams[S]));
    check(hipFreeAsync(Device[S], Streams[S]));
    check(hipStreamDestroy(Streams[S]));
  }
  float Milliseconds = -1;
  check(hipEventElapsedTime(&Milliseconds, Begin, End));
  for (int I = 0; I < 2 * N; ++I)
    if (Host[I] != I * (I < N ? 2 : 3))
      return 4;
  std::printf("%s, %d calls\n", Milliseconds > 0 ? "right" : "no time", Calls);
  return 0;
}
