//===- LaunchArguments.cpp - HIP: the arguments of a launch ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Hip/HipState.h"

using namespace lnbwd::sim;

/// Of an array that nothing ends, no more are looked at.
constexpr unsigned MostEntries = 8;

std::string lnbwd::sim::readExtra(void **Extra, PackedArguments &Packed) {
  for (unsigned I = 0; Extra[I] != HIP_LAUNCH_PARAM_END; I += 2) {
    if (I >= MostEntries)
      return "extra is not ended by HIP_LAUNCH_PARAM_END";
    if (Extra[I] == HIP_LAUNCH_PARAM_BUFFER_POINTER)
      Packed.Bytes = Extra[I + 1];
    else if (Extra[I] != HIP_LAUNCH_PARAM_BUFFER_SIZE)
      return "extra has an unknown entry";
    else if (!Extra[I + 1])
      return "extra has a null pointer after HIP_LAUNCH_PARAM_BUFFER_SIZE; "
             "expected one to a size_t";
    else
      Packed.Size = *static_cast<const size_t *>(Extra[I + 1]);
  }
  if (!Packed.Bytes)
    Packed.Size = 0;
  return "";
}

std::string lnbwd::sim::readParameters(
    const Kernel &K, void **Parameters,
    llvm::function_ref<void(const KernelArgument &, const void *)> Take) {
  if (!K.HasMetadata)
    return "the kernel has no metadata that describes its arguments; pass "
           "them as a buffer (HIP_LAUNCH_PARAM_BUFFER_POINTER)";
  unsigned Next = 0;
  for (const KernelArgument &A : K.Arguments) {
    if (A.hidden())
      continue;
    if (!Parameters[Next])
      return "kernelParams[" + std::to_string(Next) + "] is null";
    Take(A, Parameters[Next++]);
  }
  return "";
}
