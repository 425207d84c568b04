//===- stencil.cl - Stencils and filters ----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device.h"

/// 3 x 3 neighbours with fixed coefficients, in the inside of an n x n matrix.
KERNEL convolve_3x3(global float *result, global const float *x, uint n) {
  uint j = globalX(), i = globalY();
  if (i < 1 || j < 1 || i + 1 >= n || j + 1 >= n)
    return;
#define AT(di, dj) x[(i + di) * n + j + dj]
  result[i * n + j] = 0.2f * AT(-1, -1) + 0.5f * AT(-1, 0) - 0.8f * AT(-1, 1) -
                      0.3f * AT(0, -1) + 0.6f * AT(0, 0) - 0.9f * AT(0, 1) +
                      0.4f * AT(1, -1) + 0.7f * AT(1, 0) + 0.1f * AT(1, 1);
}

/// A fifth of a point and its four neighbours.
KERNEL five_points(global float *result, global const float *x, uint n) {
  uint j = globalX(), i = globalY();
  if (i < 1 || j < 1 || i + 1 >= n || j + 1 >= n)
    return;
  result[i * n + j] =
      0.2f * (AT(0, 0) + AT(0, -1) + AT(0, 1) + AT(1, 0) + AT(-1, 0));
}
#undef AT

/// One wave makes 16 rows of 64 columns of a stencil of nine points out of an
/// LDS tile with a border of one. `x` has n rows of n and a border, too;
/// `stride` is the length of its rows.
KERNEL nine_points(global float *result, global const float *x, float centre,
                   float side, float corner, uint stride) {
  local float tile[18][66];
  uint item = localY();
  uint row = groupX() * 16, column = groupY() * 64;
  for (uint i = 0; i < 18; ++i)
    tile[i][item + 1] = x[(row + i) * stride + column + item + 1];
  // The columns beside the tile, by the first and the last work-item.
  if (item == 0)
    for (uint i = 0; i < 18; ++i)
      tile[i][0] = x[(row + i) * stride + column];
  else if (item == 63)
    for (uint i = 0; i < 18; ++i)
      tile[i][65] = x[(row + i) * stride + column + 65];
  synchronize();
  for (uint i = 1; i <= 16; ++i) {
    float sides = tile[i - 1][item + 1] + tile[i + 1][item + 1] +
                  tile[i][item] + tile[i][item + 2];
    float corners = tile[i - 1][item] + tile[i - 1][item + 2] +
                    tile[i + 1][item] + tile[i + 1][item + 2];
    result[(row + i) * stride + column + item + 1] =
        centre * tile[i][item + 1] + side * sides + corner * corners;
  }
}

/// Each output is the sum of the elements to its left times uniform
/// coefficients; before the first element there is nothing.
KERNEL fir(global float *result, global const float *coefficients,
           global const float *x, uint taps, uint count) {
  uint i = globalX();
  if (i >= count)
    return;
  float sum = 0;
  for (uint k = 0; k < taps; ++k)
    if (k <= i)
      sum += coefficients[k] * x[i - k];
  result[i] = sum;
}

/// A square mask on an image of integers that has a border of zeros on its far
/// sides; rounded to an integer.
KERNEL convolve_image(global int *result, global const uint *image,
                      global const float *mask, uint width, uint height,
                      uint maskWidth, uint paddedWidth) {
  uint i = globalX();
  if (i >= width * height)
    return;
  uint column = i % width, row = i / width;
  float sum = 0;
  for (uint r = 0; r < maskWidth; ++r)
    for (uint c = 0; c < maskWidth; ++c)
      sum += (float)image[(row + r) * paddedWidth + column + c] *
             mask[r * maskWidth + c];
  result[i] = (int)(sum + 0.5f);
}

/// A work-item copies the neighbours of a position, k x k of each channel, into
/// a column of the result. Which one is next is worked out by divisions, and
/// what lies outside of the image is 0.
KERNEL image_to_columns(global float *result, global const float *image,
                        uint width, uint height, uint channels,
                        uint outputWidth, uint outputHeight, uint k) {
  uint i = globalX();
  uint count = outputWidth * outputHeight;
  if (i >= count)
    return;
  uint top = i / outputWidth, left = i % outputWidth;
  for (uint e = 0; e < channels * k * k; ++e) {
    uint channel = e / (k * k), rest = e % (k * k);
    uint row = top + rest / k, column = left + rest % k;
    float value = 0;
    if (row < height && column < width)
      value = image[(channel * height + row) * width + column];
    result[e * count + i] = value;
  }
}
