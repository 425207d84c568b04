//===- AmdCodeObject.h - Checking a code object against its plan *- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a code object is what its launch plan says, and target ids: what a
// code object is for, and what a device is, a chip with settings behind it that
// are on or off ("CHIP:sramecc+:xnack-").
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_RUNTIME_AMDCODEOBJECT_H
#define LNBWD_LIB_RUNTIME_AMDCODEOBJECT_H

#include "ElfFile.h"
#include "Plan.h"

#include <string>

namespace lnbwd::runtime {

/// A chip's name without the settings that may follow it in a target id.
std::string baseChip(const std::string &targetId);

/// Whether AMD code for one target id runs on a device with another, which has
/// to have the chip and each setting that the code names ("xnack+").
bool isCompatible(const std::string &code, const std::string &device);

/// Checks that the AMD code object is for the plan's chip, with the settings
/// that the plan names, and has the plan's kernels with the plan's parameters.
/// A launch that gets these wrong would make the device read what is no
/// argument. Gives the code object's target id.
std::string checkAmdCodeObject(const ElfFile &elf, const Plan &plan);

} // namespace lnbwd::runtime

#endif // LNBWD_LIB_RUNTIME_AMDCODEOBJECT_H
