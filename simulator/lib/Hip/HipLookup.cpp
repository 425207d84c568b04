//===- HipLookup.cpp - HIP: functions by name -----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hipGetProcAddress, which clients that load HIP themselves ask for the rest.
//
//===----------------------------------------------------------------------===//

#include "Hip/HipState.h"

#include <dlfcn.h>
#include <string>

using namespace lnbwd::sim;

/// This library; null: it is linked into the program.
static void *thisLibrary() {
  static void *const Handle = [] {
    Dl_info Info = {};
    return dladdr(reinterpret_cast<void *>(&hipGetProcAddress), &Info)
               ? dlopen(Info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
               : nullptr;
  }();
  return Handle;
}

extern "C" hipError_t hipGetProcAddress(const char *Name, void **Function,
                                        int Version, uint64_t /*Flags*/,
                                        int *Status) {
  if (!Name || !Function)
    return refuse(__func__, "null pointer");
  std::string Symbol = Name;
  // Up to ROCm 5 the structure was another one. Versions are given as 600 or
  // as 60000000.
  if (Version >= 600 && Symbol == "hipGetDeviceProperties")
    Symbol += "R0600";
  void *Handle = thisLibrary();
  *Function = dlsym(Handle ? Handle : RTLD_DEFAULT, Symbol.c_str());
  // hipDriverProcAddressQueryResult: 0 for success, 1 for an unknown symbol.
  if (Status)
    *Status = *Function ? 0 : 1;
  return *Function ? finish(hipSuccess)
                   : finish(hipErrorInvalidValue,
                            "hipGetProcAddress: there is no function '" +
                                Symbol + "'");
}
