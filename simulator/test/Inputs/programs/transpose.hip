//===- transpose.hip - A matrix with padded rows, through LDS -------------===//
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

constexpr int Tile = 16;

__global__ void transpose(const float *From, size_t FromPitch, float *To,
                          size_t ToPitch, int Width, int Height) {
  __shared__ float Part[Tile][Tile + 1];
  int X = blockIdx.x * Tile + threadIdx.x, Y = blockIdx.y * Tile + threadIdx.y;
  if (X < Width && Y < Height)
    Part[threadIdx.y][threadIdx.x] =
        ((const float *)((const char *)From + Y * FromPitch))[X];
  __syncthreads();
  X = blockIdx.y * Tile + threadIdx.x;
  Y = blockIdx.x * Tile + threadIdx.y;
  if (X < Height && Y < Width)
    ((float *)((char *)To + Y * ToPitch))[X] = Part[threadIdx.x][threadIdx.y];
}

int main() {
  const int Width = 50, Height = 37;
  std::vector<float> A(Width * Height), B(Width * Height);
  for (int I = 0; I < Width * Height; ++I)
    A[I] = I;
  float *From, *To;
  size_t FromPitch, ToPitch;
  check(hipMallocPitch((void **)&From, &FromPitch, Width * 4, Height));
  check(hipMallocPitch((void **)&To, &ToPitch, Height * 4, Width));
  check(hipMemcpy2D(From, FromPitch, A.data(), Width * 4, Width * 4, Height,
                    hipMemcpyHostToDevice));
  transpose<<<dim3((Width + Tile - 1) / Tile, (Height + Tile - 1) / Tile),
              dim3(Tile, Tile)>>>(From, FromPitch, To, ToPitch, Width, Height);
  check(hipMemcpy2D(B.data(), Height * 4, To, ToPitch, Height * 4, Width,
                    hipMemcpyDeviceToHost));
  for (int Y = 0; Y < Height; ++Y)
    for (int X = 0; X < Width; ++X)
      if (B[X * Height + Y] != A[Y * Width + X])
        return 4;
  std::puts("right");
  return 0;
}
