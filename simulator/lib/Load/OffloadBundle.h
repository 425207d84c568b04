//===- OffloadBundle.h - Code objects for several chips ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What hipcc and clang put into a program or a file: clang-offload-bundler's
// format, plain or compressed, with a code object for each chip; and the chip
// that a file's code is for.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_LOAD_OFFLOADBUNDLE_H
#define LNBWD_LIB_SIMULATOR_LOAD_OFFLOADBUNDLE_H

#include "Load/CodeObject.h"
#include "SimulatedChip.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lnbwd::sim {

/// One code object of a bundle.
struct BundledObject {
  /// As compilers name the target, "gfx942:sramecc+:xnack-"; what is not set
  /// there fits either way.
  std::string Target;
  std::vector<uint8_t> Bytes;
};

/// Whether an image of unknown size begins as a bundle does.
bool isOffloadBundle(const ObjectBytes &Read);

/// The AMD code objects of a bundle, in its order. None and an Error if the
/// bytes are no whole bundle.
std::vector<BundledObject> readOffloadBundle(const ObjectBytes &Read,
                                             std::string &Error);

/// Whether code for a target, "gfx942:xnack-" or "gfx9-4-generic", is for the
/// chip, whatever the settings of the device are.
bool isForChip(const std::string &Target, const SimulatedChip &Chip);

/// The first simulated chip that code for a target is for, or null.
const SimulatedChip *firstChipOf(const std::string &Target);

/// The object for the chip with the settings of its device, before one for a
/// generic target that the chip belongs to, or null; Error says for which
/// targets there are objects.
const BundledObject *findObject(const std::vector<BundledObject> &Objects,
                                const SimulatedChip &Chip, std::string &Error);

/// `Wanted` if the file has code for it; if that is null, the only chip that it
/// has code for. Otherwise null and an Error, which begins after the file's
/// name. Whether the code can be loaded is not looked at.
const SimulatedChip *chooseChip(llvm::ArrayRef<uint8_t> File,
                                const SimulatedChip *Wanted,
                                std::string &Error);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_LOAD_OFFLOADBUNDLE_H
