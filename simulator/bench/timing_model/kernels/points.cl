//===- points.cl - Distances and forces between points --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device.h"

/// The nearest of some centres to a point. Features lie in columns: lanes are
/// next to each other; the centres are uniform.
KERNEL nearest_centre(global int *nearest, global const float *features,
                      global const float *centres, uint points,
                      uint centreCount, uint featureCount) {
  uint i = globalX();
  if (i >= points)
    return;
  float best = 3.40282347e38f;
  int at = 0;
  for (uint c = 0; c < centreCount; ++c) {
    float distance = 0;
    for (uint f = 0; f < featureCount; ++f) {
      float d = features[f * points + i] - centres[c * featureCount + f];
      distance += d * d;
    }
    if (distance < best) {
      best = distance;
      at = (int)c;
    }
  }
  nearest[i] = at;
}

/// A step of bodies that attract each other. Tiles of a workgroup's size are
/// staged in a global buffer that all workgroups share: a race, which is part
/// of what is timed. The results are right with one workgroup.
KERNEL attract(global float4 *newPositions, global float4 *newVelocities,
               global const float4 *positions, global const float4 *velocities,
               global float4 *tile, uint count, float step, float softening) {
  uint i = globalX(), item = localX();
  float4 self = positions[i], force = 0;
  for (uint first = 0; first < count; first += sizeX()) {
    tile[item] = positions[first + item];
    synchronize();
    for (uint k = 0; k < sizeX(); ++k) {
      float4 other = tile[k], d = other - self;
      float square = d.x * d.x + d.y * d.y + d.z * d.z + softening;
      float inverse = 1.0f / __builtin_sqrtf(square);
      force.xyz += other.w * inverse * inverse * inverse * d.xyz;
    }
    synchronize();
  }
  float4 velocity = velocities[i];
  self.xyz += velocity.xyz * step + force.xyz * (0.5f * step * step);
  velocity.xyz += force.xyz * step;
  newPositions[i] = self;
  newVelocities[i] = velocity;
}
