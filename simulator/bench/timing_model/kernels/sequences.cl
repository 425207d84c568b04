//===- sequences.cl - Alignment of sequences along diagonals --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device.h"

#define TILE 64

/// Scores of the best alignments, by dynamic programming: a workgroup of 64
/// makes a tile of 64 x 64, in LDS, along its diagonals. `scores` and
/// `matches` are (n + 1) x (n + 1). The tiles of a launch lie on a diagonal of
/// the matrix: tile (firstRow + group, diagonal - firstRow - group).
KERNEL align_tiles(global int *scores, global const int *matches, uint n,
                   int penalty, uint diagonal, uint firstRow) {
  local int here[TILE + 1][TILE + 1];
  local int match[TILE][TILE];
  uint item = localX(), tileRow = firstRow + groupX();
  uint stride = n + 1;
  uint top = tileRow * TILE, left = (diagonal - tileRow) * TILE;
  if (item == 0)
    here[0][0] = scores[top * stride + left];
  for (uint row = 0; row < TILE; ++row)
    match[row][item] = matches[(top + row + 1) * stride + left + item + 1];
  synchronize();
  here[item + 1][0] = scores[(top + item + 1) * stride + left];
  synchronize();
  here[0][item + 1] = scores[top * stride + left + item + 1];
  synchronize();
  for (uint step = 0; step < 2 * TILE - 1; ++step) {
    uint column = step - item;
    if (item <= step && column < TILE) {
      int best = here[item][column] + match[item][column];
      int over = here[item + 1][column] - penalty;
      int down = here[item][column + 1] - penalty;
      best = over > best ? over : best;
      here[item + 1][column + 1] = down > best ? down : best;
    }
    synchronize();
  }
  for (uint row = 0; row < TILE; ++row)
    scores[(top + row + 1) * stride + left + item + 1] =
        here[row + 1][item + 1];
}
