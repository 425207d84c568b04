//===- TargetId.h - Names of AMD chips with settings ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a code object is for, and what a device is: a chip, and settings behind
// it, each on or off.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_RUNTIME_TARGETID_H
#define LNBWD_LIB_RUNTIME_TARGETID_H

#include <string>

namespace lnbwd::runtime {

/// A chip's name without the settings that may follow it in a target id.
std::string baseChip(const std::string &targetId);

/// Whether AMD code for one target id runs on a device with another: the chip
/// is the same, and no setting that the code names ("xnack+") is the opposite
/// on the device.
bool isCompatible(const std::string &code, const std::string &device);

} // namespace lnbwd::runtime

#endif // LNBWD_LIB_RUNTIME_TARGETID_H
