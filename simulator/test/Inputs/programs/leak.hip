//===- leak.hip - Device memory that is not freed -------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Frees one of three buffers itself, and one in a destructor after main.
//
//===----------------------------------------------------------------------===//

#include <hip/hip_runtime.h>

__global__ void fill(int *Data) { Data[threadIdx.x] = int(threadIdx.x); }

struct Owner {
  void *Buffer = nullptr;
  ~Owner() { (void)hipFree(Buffer); }
};
static Owner Last;

int main() {
  int *Kept = nullptr, *Freed = nullptr;
  void *Other = nullptr;
  if (hipMalloc((void **)&Kept, 256) != hipSuccess ||
      hipMalloc((void **)&Freed, 512) != hipSuccess ||
      hipMalloc(&Other, 128) != hipSuccess ||
      hipMalloc(&Last.Buffer, 1024) != hipSuccess)
    return 3;
  fill<<<1, 64>>>(Kept);
  return hipDeviceSynchronize() == hipSuccess && hipFree(Freed) == hipSuccess
             ? 0
             : 4;
}
