//===- HipMissing.cpp - HIP's functions that the simulator does not have --===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each of HIP's functions exists: where no other file here defines it, by a
// weak definition that says its name and fails, so that a program that never
// gets there runs, and one that does gets a report of what is missing. The
// names are those of the header (HipNames.inc, made by CMake), and some newer
// ones. The header is not included, since the definitions have no arguments.
//
//===----------------------------------------------------------------------===//

namespace lnbwd::sim {
int missingFunction(const char *Name); // HipState.h has HIP's header.
} // namespace lnbwd::sim

#define MISSING(NAME)                                                          \
  extern "C" __attribute__((weak, visibility("default"))) int NAME() {         \
    return lnbwd::sim::missingFunction(#NAME);                                 \
  }

#include "HipNames.inc"
