//===- CheckedRun.h - A whole HIP program under the checks ------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_SIM_CHECKEDRUN_H
#define LNBWD_TOOLS_LNBWD_SIM_CHECKEDRUN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace lnbwd::simtool {

/// Runs a program, found as a shell finds it, with the simulator in the place
/// of libamdhip64.so, and says on stderr what was found and checked. Checks and
/// chip are those of the environment. Returns what the tool exits with: 1 if
/// something was found; 2 if the program cannot be run, or called a function
/// of HIP that the simulator does not have; otherwise the program's exit code,
/// or 128 and the number of the signal that ended it.
int runUnderChecks(llvm::StringRef Program,
                   llvm::ArrayRef<const char *> Arguments);

} // namespace lnbwd::simtool

#endif // LNBWD_TOOLS_LNBWD_SIM_CHECKEDRUN_H
