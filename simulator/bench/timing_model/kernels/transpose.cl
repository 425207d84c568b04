//===- transpose.cl - Transposes, with and without LDS --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device.h"

/// Rows are read along, columns written with a stride of `n`; a block of 32 x 8
/// makes 32 x 32 elements.
KERNEL transpose_plain(global float *result, global const float *x, uint n) {
  uint column = groupX() * 32 + localX(), row = groupY() * 32 + localY();
  for (uint k = 0; k < 32; k += 8)
    if (column < n && row + k < n)
      result[(ulong)column * n + row + k] = x[(ulong)(row + k) * n + column];
}

/// The same through LDS, whose rows are one element longer than the tile.
KERNEL transpose_tile(global float *result, global const float *x, uint n) {
  local float tile[32][33];
  uint column = groupX() * 32 + localX(), row = groupY() * 32 + localY();
  for (uint k = 0; k < 32; k += 8)
    if (column < n && row + k < n)
      tile[localY() + k][localX()] = x[(ulong)(row + k) * n + column];
  synchronize();
  column = groupY() * 32 + localX();
  row = groupX() * 32 + localY();
  for (uint k = 0; k < 32; k += 8)
    if (column < n && row + k < n)
      result[(ulong)(row + k) * n + column] = tile[localX()][localY() + k];
}

/// Each of 16 x 16 work-items turns 4 x 4 elements, in vectors of four, through
/// 16 KiB of LDS. Workgroups are taken along diagonals. `n` counts vectors in a
/// row; the grid is n / 16 wide and high.
KERNEL transpose_vectors(global float4 *result, global const float4 *x,
                         uint n) {
  local float4 tile[64][16];
  uint groups = n / 16;
  uint tileX = (groupX() + groupY()) % groups, tileY = groupX();
  uint column = tileX * 16 + localX(), row = tileY * 16 + localY();
  for (uint k = 0; k < 4; ++k)
    tile[4 * localY() + k][localX()] = x[(row * 4 + k) * n + column];
  synchronize();
  // The block of the work-item on the other side of the diagonal.
  uint top = 4 * localX(), left = localY();
  float4 a = tile[top][left], b = tile[top + 1][left];
  float4 c = tile[top + 2][left], d = tile[top + 3][left];
  column = tileY * 16 + localX();
  row = (tileX * 16 + localY()) * 4;
  result[row * n + column] = (float4)(a.x, b.x, c.x, d.x);
  result[(row + 1) * n + column] = (float4)(a.y, b.y, c.y, d.y);
  result[(row + 2) * n + column] = (float4)(a.z, b.z, c.z, d.z);
  result[(row + 3) * n + column] = (float4)(a.w, b.w, c.w, d.w);
}
