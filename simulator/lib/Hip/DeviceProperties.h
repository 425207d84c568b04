//===- DeviceProperties.h - hipDeviceProp_t since ROCm 6 --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hipGetDeviceProperties fills the structure that HIP had up to ROCm 5;
// programs compiled with newer headers call hipGetDevicePropertiesR0600 with
// this one. Only the layout matters here, so that what the simulator does not
// say is left together.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_HIP_DEVICEPROPERTIES_H
#define LNBWD_LIB_SIMULATOR_HIP_DEVICEPROPERTIES_H

#include "Hip/HipState.h"

#include <cstddef>
#include <cstring>

namespace lnbwd::sim {

struct DevicePropertiesR0600 {
  char Name[256];
  char IdentityAndLuid[28];
  size_t TotalGlobalMem;
  size_t SharedMemPerBlock;
  int RegsPerBlock;
  int WarpSize;
  size_t MemPitch;
  int MaxThreadsPerBlock;
  int MaxThreadsDim[3];
  int MaxGridSize[3];
  int ClockRate;
  size_t TotalConstMem;
  int Major;
  int Minor;
  size_t TextureAlignments[2];
  int DeviceOverlap;
  int MultiProcessorCount;
  int TimeoutAndIntegrated[2];
  int CanMapHostMemory;
  int ComputeMode;
  int TexturesAndSurfaces[40];
  size_t SurfaceAlignment;
  int ConcurrentKernels;
  int EccEnabled;
  int PciBus;
  int PciAndEngines[4];
  int UnifiedAddressing;
  int MemoryClockRate;
  int MemoryBusWidth;
  int L2CacheSize;
  int PersistingL2CacheMaxSize;
  int MaxThreadsPerMultiProcessor;
  int PrioritiesAndL1Caches[3];
  size_t SharedMemPerMultiprocessor;
  int RegsPerMultiprocessor;
  int MemoryBoardsAndFeatures[11];
  size_t SharedMemPerBlockOptin;
  int PageTablesAndLimits[4];
  size_t ReservedSharedMemPerBlock;
  int MoreFeaturesAndRoom[13 + 63 + 32];
  char GcnArchName[256];
  size_t MaxSharedMemoryPerMultiProcessor;
  int ClockInstructionRate;
  hipDeviceArch_t Arch;
  unsigned *HdpFlushCntl[2];
  int CooperativeUnmatched[4];
  int IsLargeBar;
  int AsicRevision;
};

static_assert(offsetof(DevicePropertiesR0600, TotalGlobalMem) == 288 &&
                  offsetof(DevicePropertiesR0600, SurfaceAlignment) == 568 &&
                  offsetof(DevicePropertiesR0600, GcnArchName) == 1160 &&
                  sizeof(DevicePropertiesR0600) == 1472,
              "the layout of ROCm 6");

inline DevicePropertiesR0600 newLayout(const hipDeviceProp_t &P) {
  DevicePropertiesR0600 N = {};
  std::memcpy(N.Name, P.name, sizeof(N.Name));
  N.TotalGlobalMem = P.totalGlobalMem;
  N.SharedMemPerBlock = P.sharedMemPerBlock;
  N.RegsPerBlock = P.regsPerBlock;
  N.WarpSize = P.warpSize;
  N.MemPitch = P.memPitch;
  N.MaxThreadsPerBlock = P.maxThreadsPerBlock;
  std::memcpy(N.MaxThreadsDim, P.maxThreadsDim, sizeof(N.MaxThreadsDim));
  std::memcpy(N.MaxGridSize, P.maxGridSize, sizeof(N.MaxGridSize));
  N.ClockRate = P.clockRate;
  N.TotalConstMem = P.totalConstMem;
  N.Major = P.major;
  N.Minor = P.minor;
  N.TextureAlignments[0] = P.textureAlignment;
  N.MultiProcessorCount = P.multiProcessorCount;
  N.CanMapHostMemory = P.canMapHostMemory;
  N.ConcurrentKernels = P.concurrentKernels;
  N.EccEnabled = P.ECCEnabled;
  N.PciBus = P.pciBusID;
  N.UnifiedAddressing = 1;
  N.MemoryClockRate = P.memoryClockRate;
  N.MemoryBusWidth = P.memoryBusWidth;
  N.L2CacheSize = P.l2CacheSize;
  N.MaxThreadsPerMultiProcessor = P.maxThreadsPerMultiProcessor;
  N.SharedMemPerMultiprocessor = P.maxSharedMemoryPerMultiProcessor;
  N.RegsPerMultiprocessor = P.regsPerBlock;
  N.SharedMemPerBlockOptin = P.sharedMemPerBlock;
  std::memcpy(N.GcnArchName, P.gcnArchName, sizeof(N.GcnArchName));
  N.MaxSharedMemoryPerMultiProcessor = P.maxSharedMemoryPerMultiProcessor;
  N.ClockInstructionRate = P.clockInstructionRate;
  N.IsLargeBar = P.isLargeBar;
  return N;
}

} // namespace lnbwd::sim

#pragma GCC visibility push(default)
/// hipGetDeviceProperties of programs that were compiled with ROCm 6 or newer.
extern "C" hipError_t
hipGetDevicePropertiesR0600(lnbwd::sim::DevicePropertiesR0600 *Properties,
                            int Device);
#pragma GCC visibility pop

#endif // LNBWD_LIB_SIMULATOR_HIP_DEVICEPROPERTIES_H
