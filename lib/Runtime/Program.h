//===- Program.h - A compiled file with its plan ----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled kernel as it lies in a file: which format it is, the launch plan
// found in it, and the checks that need no device.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_RUNTIME_PROGRAM_H
#define LNBWD_LIB_RUNTIME_PROGRAM_H

#include "lnbwd/Runtime/Plan.h"

#include <memory>
#include <string>
#include <string_view>

namespace lnbwd::runtime {

enum class CodeFormat { Hsaco, Cubin, Ptx };

/// "hsaco", "cubin" or "ptx".
const char *formatName(CodeFormat format);

struct Program {
  CodeFormat format;
  /// The file; std::string so that PTX text ends with the zero that the
  /// driver looks for.
  std::string code;
  Plan plan;
  /// What an AMD code object says that it is for, as a target id; empty: the
  /// plan's chip.
  std::string target;

  const std::string &targetId() const {
    return target.empty() ? plan.chip : target;
  }
};

/// A chip's name without the settings that may follow it in a target id: what a
/// code object is for, or a device is, a chip with settings behind it that are
/// on or off ("CHIP:sramecc+:xnack-").
std::string baseChip(const std::string &targetId);

/// Whether AMD code for one target id runs on a device with another, which has
/// to have the chip and each setting that the code names ("xnack+").
bool isCompatible(const std::string &code, const std::string &device);

/// Takes a file apart. Throws an Error that says what is wrong with it.
std::shared_ptr<const Program> parseProgram(std::string code);

/// Takes the entry for a device's chip out of an offload bundle; what is no
/// bundle is a program itself. Throws an Error that says what is wrong with the
/// bytes, or which entries there are if none is for the chip.
std::shared_ptr<const Program> parseProgramForChip(std::string_view bytes,
                                                   const std::string &chip);

/// Reads a file whole; throws an Error that names it.
std::string readFile(const std::string &path);

/// Whether a program runs on a device of that architecture.
bool runsOn(const Program &program, const std::string &deviceArch);

/// Whether a program runs on a device; throws LNBWD_ERROR_WRONG_CHIP if not.
void checkChip(const Program &program, const std::string &deviceArch,
               const std::string &deviceName);

} // namespace lnbwd::runtime

#endif // LNBWD_LIB_RUNTIME_PROGRAM_H
