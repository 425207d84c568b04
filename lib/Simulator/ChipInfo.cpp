//===- ChipInfo.cpp - The simulated devices -------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of devices, in the order of their HIP ordinals.
//
//===----------------------------------------------------------------------===//

#include "ChipInfo.h"

using namespace lnbwd::sim;

const ChipInfo lnbwd::sim::Chips[NumChips] = {
    // One of the two dies of an MI250, which is one HIP device.
    {"gfx90a", "gfx90a:sramecc+:xnack-", "AMD Instinct MI250 (simulated)", 9,
     0x3f, 64, 104, 65536, 512, 8, 8, 4, 1700000, 1600000, 4096, 8u << 20,
     false, true},
    {"gfx942", "gfx942:sramecc+:xnack-", "AMD Instinct MI300X (simulated)", 9,
     0x4c, 64, 304, 65536, 512, 8, 8, 4, 2100000, 2600000, 8192, 4u << 20, true,
     true},
    {"gfx950", "gfx950:sramecc+:xnack-", "AMD Instinct MI355X (simulated)", 9,
     0x4f, 64, 256, 163840, 512, 8, 8, 4, 2400000, 2000000, 8192, 4u << 20,
     true, true},
    {"gfx1100", "gfx1100", "AMD Radeon RX 7900 XTX (simulated)", 11, 0x41, 32,
     96, 65536, 1536, 24, 16, 2, 2500000, 1249000, 384, 6u << 20, true, false},
    {"gfx1201", "gfx1201", "AMD Radeon RX 9070 XT (simulated)", 12, 0x4e, 32,
     64, 65536, 1536, 24, 16, 2, 2970000, 1258000, 256, 8u << 20, true, false},
};

const ChipInfo *lnbwd::sim::chipByMachine(unsigned Machine) {
  for (const ChipInfo &C : Chips)
    if (C.ElfMachine == Machine)
      return &C;
  return nullptr;
}
