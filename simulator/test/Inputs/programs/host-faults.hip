//===- host-faults.hip - What the host's side of a program does wrong -----===//
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

__global__ void nothing() {}

int main(int, char **Argv) {
  char *Buffer;
  if (hipMalloc((void **)&Buffer, 100) != hipSuccess)
    return 4;
  std::vector<char> Host(200);
  switch (Argv[1][0]) {
  case 'c': // a copy that is too long
    (void)hipMemcpy(Buffer, Host.data(), 101, hipMemcpyHostToDevice);
    break;
  case 'f': // twice freed
    (void)hipFree(Buffer);
    (void)hipFree(Buffer);
    break;
  case 'm': { // a function that the simulator does not have
    hipPitchedPtr Pitched;
    (void)hipMalloc3D(&Pitched, hipExtent{1, 1, 1});
    break;
  }
  case 'b': // too large a block
    nothing<<<1, 2048>>>();
    break;
  case 's': // killed
    std::abort();
  }
  return 0;
}
