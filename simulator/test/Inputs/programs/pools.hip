//===- pools.hip - Memory in the order of a stream, from pools ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "late" uses memory that has been freed; "captured" allocates where a graph is
// made; "prints" calls the host from the kernel, as printf does.
//
//===----------------------------------------------------------------------===//

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

static void check(hipError_t Code) {
  if (Code == hipSuccess)
    return;
  std::printf("HIP: %s\n", hipGetErrorString(Code));
  std::exit(3);
}

__global__ void fill(int *X, int Value) { X[threadIdx.x] = Value; }

// The first thing that the device library's printf does.
__global__ void prints() {
  auto **Hidden =
      (unsigned long long volatile **)__builtin_amdgcn_implicitarg_ptr();
  *Hidden[10] = 1;
}

static unsigned long long attribute(hipMemPool_t Pool, hipMemPoolAttr Which) {
  unsigned long long Value = 0;
  check(hipMemPoolGetAttribute(Pool, Which, &Value));
  return Value;
}

int main(int Count, char **Arguments) {
  const char *What = Count > 1 ? Arguments[1] : "";
  if (!std::strcmp(What, "prints")) {
    prints<<<1, 64>>>();
    return hipDeviceSynchronize() != hipSuccess ? 0 : 4;
  }
  hipStream_t Stream;
  check(hipStreamCreate(&Stream));
  hipMemPool_t Default, Mine, Current;
  check(hipDeviceGetDefaultMemPool(&Default, 0));
  unsigned long long Threshold = ~0ull;
  check(hipMemPoolSetAttribute(Default, hipMemPoolAttrReleaseThreshold,
                               &Threshold));
  hipMemPoolProps Of = {};
  Of.allocType = hipMemAllocationTypePinned;
  Of.location = {hipMemLocationTypeDevice, 0};
  check(hipMemPoolCreate(&Mine, &Of));
  check(hipDeviceSetMemPool(0, Mine));
  check(hipDeviceGetMemPool(&Current, 0));

  int *A, *B, Host[64];
  if (!std::strcmp(What, "captured")) {
    check(hipStreamBeginCapture(Stream, hipStreamCaptureModeGlobal));
    check(hipMallocAsync((void **)&A, 256, Stream));
  }
  check(hipMallocAsync((void **)&A, 256, Stream));
  check(hipMallocFromPoolAsync((void **)&B, 512, Default, Stream));
  std::printf("%d, used %llu and %llu\n", Current == Mine,
              attribute(Mine, hipMemPoolAttrUsedMemCurrent),
              attribute(Default, hipMemPoolAttrUsedMemCurrent));
  fill<<<1, 64, 0, Stream>>>(A, 5);
  check(hipMemcpyAsync(Host, A, 256, hipMemcpyDeviceToHost, Stream));
  check(hipFreeAsync(A, Stream));
  check(hipFreeAsync(B, Stream));
  if (!std::strcmp(What, "late"))
    fill<<<1, 64, 0, Stream>>>(A, 6);
  check(hipStreamSynchronize(Stream));
  std::printf("%d, used %llu, at most %llu\n", Host[63],
              attribute(Mine, hipMemPoolAttrUsedMemCurrent),
              attribute(Mine, hipMemPoolAttrUsedMemHigh));
  check(hipMemPoolTrimTo(Default, 0));
  check(hipMemPoolDestroy(Mine));
  return hipStreamDestroy(Stream);
}
