//===- LaunchFilter.h - Which launches are checked --------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LNBWD_SIM_KERNELS and LNBWD_SIM_SKIP_LAUNCHES: launches of other kernels, and
// the first ones, are executed without checks.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_HIP_LAUNCHFILTER_H
#define LNBWD_LIB_SIMULATOR_HIP_LAUNCHFILTER_H

#include <string>

namespace lnbwd::sim {

struct Kernel;

/// Whether the launch that begins is to be checked; counts it if its kernel is
/// one of those to check.
bool passesFilter(const Kernel &K);

/// What is wrong with the two variables, or "".
std::string problemOfFilter();

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_HIP_LAUNCHFILTER_H
