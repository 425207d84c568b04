//===- CodeTarget.h - Which chip a file is for ------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chip on which a file's code can run, before it is loaded: that of a code
// object, the first one that its generic target stands for, or one of those for
// which a bundle has an object.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_LOAD_CODETARGET_H
#define LNBWD_LIB_SIMULATOR_LOAD_CODETARGET_H

#include "SimulatedChip.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>

namespace lnbwd::sim {

/// `Wanted` if the file has code for it; if that is null, the only chip that it
/// has code for. Otherwise null and an Error, which begins after the file's
/// name. Whether the code can be loaded is not looked at.
const SimulatedChip *chooseChip(llvm::ArrayRef<uint8_t> File,
                                const SimulatedChip *Wanted,
                                std::string &Error);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_LOAD_CODETARGET_H
