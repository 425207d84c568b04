//===- OffloadBundle.h - Reading a file for several chips -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clang's offload bundle format: a magic text, the number of entries, and for
// each its offset, size and name, all numbers 64 bits, little-endian.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_RUNTIME_OFFLOADBUNDLE_H
#define LNBWD_LIB_RUNTIME_OFFLOADBUNDLE_H

#include "Program.h"

#include <string>
#include <string_view>

namespace lnbwd::runtime {

bool isOffloadBundle(std::string_view bytes);

/// Takes the entry for a device's chip out of a bundle; what is no bundle is a
/// program itself. Throws an Error that says what is wrong with the bytes, or
/// which entries there are if none is for the chip.
std::shared_ptr<const Program> parseProgramForChip(std::string_view bytes,
                                                   const std::string &chip);

} // namespace lnbwd::runtime

#endif // LNBWD_LIB_RUNTIME_OFFLOADBUNDLE_H
