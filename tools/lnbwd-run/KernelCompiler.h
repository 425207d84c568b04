//===- KernelCompiler.h - Calling lnbwd-opt ---------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_KERNELCOMPILER_H
#define LNBWD_TOOLS_LNBWD_RUN_KERNELCOMPILER_H

#include "Options.h"

#include <string>

namespace lnbwd::run {

/// The kernel that the options describe, as MLIR: the text that
/// lnbwd.operations.mlir writes (docs/adding.md says why there are two).
std::string kernelMlir(const Options &options);

/// Whether there is an lnbwd-opt to compile with.
bool hasCompiler();

/// Compiles MLIR by lnbwd-opt for a chip, with a schedule if it is not empty,
/// and returns the bytes of the compiled file.
std::string compileMlir(const std::string &mlir, const std::string &chip,
                        const std::string &schedule);

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_KERNELCOMPILER_H
