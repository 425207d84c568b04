//===- product.cl - Products of matrices, and of matrices and vectors -----===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device.h"

/// A product of matrices, a result a work-item, in tiles of 16 x 16: 16
/// multiply-adds between two barriers. What a work-item brings of both factors
/// is its element of the row and of the column at k.
#define PRODUCT(elementOfA, elementOfB)                                        \
  local float tileA[16][16], tileB[16][16];                                    \
  uint row = groupY() * 16 + localY(), column = groupX() * 16 + localX();      \
  float sum = 0;                                                               \
  for (uint k = 0; k < n; k += 16) {                                           \
    tileA[localY()][localX()] = elementOfA;                                    \
    tileB[localY()][localX()] = elementOfB;                                    \
    synchronize();                                                             \
    for (uint i = 0; i < 16; ++i)                                              \
      sum += tileA[localY()][i] * tileB[i][localX()];                          \
    synchronize();                                                             \
  }

/// Of n x n matrices.
#define SQUARE_PRODUCT                                                         \
  PRODUCT(a[row * n + k + localX()], b[(k + localY()) * n + column])

KERNEL product(global float *c, global const float *a, global const float *b,
               uint n) {
  SQUARE_PRODUCT
  c[row * n + column] = sum;
}

KERNEL product_scaled(global float *c, global const float *a,
                      global const float *b, float alpha, float beta, uint n) {
  SQUARE_PRODUCT
  c[row * n + column] = alpha * sum + beta * c[row * n + column];
}

/// A product of which one factor has `rows` rows only: c (rows x columns) = a
/// (rows x n) b (n x columns), with sizes that need not fill the tiles.
KERNEL product_of_few_rows(global float *c, global const float *a,
                           global const float *b, uint rows, uint columns,
                           uint n) {
  PRODUCT(row < rows && k + localX() < n ? a[row * n + k + localX()] : 0,
          k + localY() < n && column < columns
              ? b[(k + localY()) * columns + column]
              : 0)
  if (row < rows && column < columns)
    c[row * columns + column] = sum;
}

/// Work-item i adds row i, times the vector, to x: lanes are a row apart.
KERNEL row_product(global float *x, global const float *a,
                   global const float *y, uint n) {
  uint i = globalX();
  if (i >= n)
    return;
  float sum = x[i];
  for (uint k = 0; k < n; ++k)
    sum += a[(ulong)i * n + k] * y[k];
  x[i] = sum;
}

/// The same with column i: lanes are next to each other.
KERNEL column_product(global float *x, global const float *a,
                      global const float *y, uint n) {
  uint i = globalX();
  if (i >= n)
    return;
  float sum = x[i];
  for (uint k = 0; k < n; ++k)
    sum += a[(ulong)k * n + i] * y[k];
  x[i] = sum;
}

/// As above, with the sum kept in global memory and rewritten each step.
KERNEL row_product_in_memory(global float *x, global const float *a,
                             global const float *y, uint n) {
  uint i = globalX();
  if (i >= n)
    return;
  x[i] = 0;
  for (uint k = 0; k < n; ++k)
    x[i] += a[(ulong)i * n + k] * y[k];
}

KERNEL column_product_in_memory(global float *x, global const float *a,
                                global const float *y, uint n) {
  uint i = globalX();
  if (i >= n)
    return;
  x[i] = 0;
  for (uint k = 0; k < n; ++k)
    x[i] += a[(ulong)k * n + i] * y[k];
}

/// 4 x 4 results a work-item, in vectors of four, 8 x 8 work-items. The tile of
/// `a` is staged in a global buffer that all workgroups share: a race, which is
/// part of what is timed. The results are right with one workgroup. `n` counts
/// vectors in a row.
KERNEL product_vectors(global float4 *c, global const float4 *a,
                       global const float4 *b, global float4 *tile, uint n) {
  uint x = globalX(), y = globalY();
  float4 sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
  for (uint first = 0; first < n; first += 8) {
    for (uint r = 0; r < 4; ++r)
      tile[(localY() * 4 + r) * 8 + localX()] =
          a[(y * 4 + r) * n + first + localX()];
    synchronize();
    for (uint k = 0; k < 8; ++k) {
      uint row = (first + k) * 4;
      float4 a0 = tile[localY() * 32 + k], a1 = tile[localY() * 32 + 8 + k];
      float4 a2 = tile[localY() * 32 + 16 + k];
      float4 a3 = tile[localY() * 32 + 24 + k];
      float4 b0 = b[row * n + x], b1 = b[(row + 1) * n + x];
      float4 b2 = b[(row + 2) * n + x], b3 = b[(row + 3) * n + x];
      sum0 += a0.x * b0 + a0.y * b1 + a0.z * b2 + a0.w * b3;
      sum1 += a1.x * b0 + a1.y * b1 + a1.z * b2 + a1.w * b3;
      sum2 += a2.x * b0 + a2.y * b1 + a2.z * b2 + a2.w * b3;
      sum3 += a3.x * b0 + a3.y * b1 + a3.z * b2 + a3.w * b3;
    }
    synchronize();
  }
  c[(y * 4) * n + x] = sum0;
  c[(y * 4 + 1) * n + x] = sum1;
  c[(y * 4 + 2) * n + x] = sum2;
  c[(y * 4 + 3) * n + x] = sum3;
}
