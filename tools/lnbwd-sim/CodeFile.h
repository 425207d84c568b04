//===- CodeFile.h - What a file on the command line is ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_SIM_CODEFILE_H
#define LNBWD_TOOLS_LNBWD_SIM_CODEFILE_H

#include "llvm/Support/MemoryBufferRef.h"

#include <string>

namespace lnbwd::simtool {

/// The device whose chip the code object is for, or -1.
int deviceFor(llvm::MemoryBufferRef File);

/// What a file is that is not a code object for one of the chips.
std::string describeFile(llvm::MemoryBufferRef File);

} // namespace lnbwd::simtool

#endif // LNBWD_TOOLS_LNBWD_SIM_CODEFILE_H
