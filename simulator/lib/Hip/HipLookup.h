//===- HipLookup.h - HIP's functions that ROCm 5's header lacks -*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Their declarations as in newer headers, enumerations as int.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_HIP_HIPLOOKUP_H
#define LNBWD_LIB_SIMULATOR_HIP_HIPLOOKUP_H

#include "Hip/HipState.h"

#include <cstdint>

#pragma GCC visibility push(default)
extern "C" {
hipError_t hipGetProcAddress(const char *Name, void **Function, int Version,
                             uint64_t Flags, int *Status);
hipError_t
hipModuleLaunchCooperativeKernel(hipFunction_t Function, unsigned int GridX,
                                 unsigned int GridY, unsigned int GridZ,
                                 unsigned int BlockX, unsigned int BlockY,
                                 unsigned int BlockZ, unsigned int DynamicLds,
                                 hipStream_t Stream, void **Parameters);
}
#pragma GCC visibility pop

#endif // LNBWD_LIB_SIMULATOR_HIP_HIPLOOKUP_H
