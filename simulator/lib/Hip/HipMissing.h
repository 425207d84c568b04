//===- HipMissing.h - A function that the simulator does not have *- C++
//-*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_HIP_HIPMISSING_H
#define LNBWD_LIB_SIMULATOR_HIP_HIPMISSING_H

namespace lnbwd::sim {

/// What a function of HIP that is not there returns: hipErrorNotSupported, with
/// its name in the thread's message and in the report.
int missingFunction(const char *Name);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_HIP_HIPMISSING_H
