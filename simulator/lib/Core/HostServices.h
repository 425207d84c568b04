//===- HostServices.h - What kernels ask the host for -----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that print, or allocate memory, do so through buffers that the host
// serves while they run. The simulator has none. A kernel that could use them
// and does not runs; one that does gets a report of what it has reached for.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_HOSTSERVICES_H
#define LNBWD_LIB_SIMULATOR_CORE_HOSTSERVICES_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <iterator>

namespace lnbwd::sim {

/// The buffer of a service: 4 GiB at an address where nothing is.
struct HostService {
  const char *Argument; ///< the hidden argument that points to it
  const char *What;     ///< in the source
};
constexpr HostService HostServices[] = {
    {"hidden_hostcall_buffer", "printf, assert or another call of the host"},
    {"hidden_printf_buffer", "printf"},
    {"hidden_heap_v1", "malloc or free"},
};

constexpr uint64_t FirstHostService = 0x0003000000000000ull;

/// The address for a hidden argument; 0: it is none of these.
inline uint64_t hostServiceAddress(llvm::StringRef Argument) {
  uint64_t Address = FirstHostService;
  for (const HostService &S : HostServices) {
    if (Argument == S.Argument)
      return Address;
    Address += 1ull << 32;
  }
  return 0;
}

/// The service that an address belongs to, or null.
inline const HostService *hostServiceAt(uint64_t Address) {
  const uint64_t Number = (Address - FirstHostService) >> 32;
  return Address >= FirstHostService && Number < std::size(HostServices)
             ? &HostServices[Number]
             : nullptr;
}

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_HOSTSERVICES_H
