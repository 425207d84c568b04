//===- SimulatedChip.cpp - The simulated devices --------------------------===//
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

#include "SimulatedChip.h"

#include "llvm/BinaryFormat/ELF.h"

#include <cstdlib>
#include <cstring>

using namespace lnbwd::sim;

const SimulatedChip lnbwd::sim::Chips[NumChips] = {
#define GET_CHIP_ROWS
#include "lnbwd/Chips/SimulatorChips.inc"
};

bool lnbwd::sim::isXnackOn() {
  static const bool IsOn = [] {
    const char *Text = std::getenv("HSA_XNACK");
    return Text && std::strcmp(Text, "1") == 0;
  }();
  return IsOn;
}

std::string SimulatedChip::archName() const {
  std::string Name = Chip;
  if (CanHaveSramEcc)
    Name += ":sramecc+";
  if (CanHaveXnack)
    Name += isXnackOn() ? ":xnack+" : ":xnack-";
  return Name;
}

const SimulatedChip *lnbwd::sim::chipByName(const std::string &Name) {
  for (const SimulatedChip &C : Chips)
    if (Name == C.Chip)
      return &C;
  return nullptr;
}

std::string lnbwd::sim::namesOfChips() {
  std::string Names;
  for (const SimulatedChip &C : Chips)
    Names += (Names.empty() ? "" : ", ") + std::string(C.Chip);
  return Names;
}

const SimulatedChip *lnbwd::sim::chipByMachine(unsigned Machine) {
  for (const SimulatedChip &C : Chips)
    if (C.ElfMachine == Machine)
      return &C;
  return nullptr;
}
