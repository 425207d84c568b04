//===- LaunchArguments.h - HIP: the arguments of a launch -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two ways in which hipModuleLaunchKernel is given arguments, kernelParams
// and extra, for launches and for captures of launches.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_HIP_LAUNCHARGUMENTS_H
#define LNBWD_LIB_SIMULATOR_HIP_LAUNCHARGUMENTS_H

#include "Core/Kernel.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>
#include <string>

namespace lnbwd::sim {

/// The explicit arguments as the kernel has them in memory.
struct PackedArguments {
  const void *Bytes = nullptr;
  size_t Size = 0; ///< 0 where there are no Bytes
};

/// Reads HIP's array `extra`: pairs of a kind and a pointer, in any order, up
/// to HIP_LAUNCH_PARAM_END. Empty if all is well; otherwise what is wrong.
std::string readExtra(void **Extra, PackedArguments &Packed);

/// Gives each explicit argument and where kernelParams has its value, in order.
/// Empty if all is well; otherwise what is wrong.
std::string readParameters(
    const Kernel &K, void **Parameters,
    llvm::function_ref<void(const KernelArgument &A, const void *Value)> Take);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_HIP_LAUNCHARGUMENTS_H
