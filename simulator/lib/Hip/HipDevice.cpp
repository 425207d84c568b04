//===- HipDevice.cpp - HIP: devices and their properties ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program asks before it launches: which devices there are, and what the
// table of chips says of each.
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Hip/HipState.h"

#include "Core/Environment.h"
#include "Hip/DeviceProperties.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

using namespace lnbwd::sim;

static int countDevices() { return state().OnlyDevice < 0 ? int(NumChips) : 1; }

int lnbwd::sim::deviceNumbered(int Number) {
  if (Number < 0 || Number >= countDevices())
    return -1;
  return std::max(Number, state().OnlyDevice);
}

int lnbwd::sim::numberOf(int Device) {
  return state().OnlyDevice < 0 ? Device : 0;
}

static hipError_t wrongDevice(int Number) {
  const int Last = countDevices() - 1;
  return finish(hipErrorInvalidDevice,
                "device " + std::to_string(Number) +
                    " does not exist; the simulator has " +
                    (Last ? "devices 0 to " + std::to_string(Last)
                          : std::string("device 0")));
}

size_t lnbwd::sim::deviceMemoryBytes() {
  static const size_t Bytes = [] {
    return size_t(MemoryVariable.read().value_or(4096)) << 20;
  }();
  return Bytes;
}

/// What a device is called.
static std::string deviceName(const SimulatedChip &Chip) {
  return std::string(Chip.Name) + " (simulated)";
}

unsigned lnbwd::sim::unitsOfMultiprocessor(const SimulatedChip &Chip) {
  const char *Mode = std::getenv("GPU_ENABLE_WGP_MODE");
  const bool OneByOne =
      Mode && (std::strcmp(Mode, "0") == 0 || std::strcmp(Mode, "false") == 0);
  return OneByOne ? 1 : Chip.unitsTogether();
}

int lnbwd::sim::occupancy(const SimulatedChip &Chip, const Kernel &K,
                          unsigned BlockSize, size_t DynamicLds) {
  unsigned Waves = (BlockSize + K.WaveSize - 1) / K.WaveSize;
  if (!Waves)
    return 0;
  unsigned Registers = Chip.VgprsPerLane;
  // The file of the wave32 chips is counted in wave32 registers.
  if (Chip.WaveSize == 32 && K.WaveSize == 64)
    Registers /= 2;
  unsigned Granule = Chip.VgprGranule;
  unsigned Used = std::max(1u, K.VgprCount);
  Used = (Used + Granule - 1) / Granule * Granule;
  unsigned PerSimd = std::min(Chip.MaxWavesPerSimd, Registers / Used);
  const unsigned Units = unitsOfMultiprocessor(Chip);
  unsigned ByWaves = PerSimd * Chip.SimdsPerCU * Units / Waves;
  size_t Lds = K.LdsSize + DynamicLds;
  if (Lds > Chip.LdsBytes)
    return 0;
  unsigned ByLds = Lds ? unsigned(Units * Chip.LdsBytes / Lds) : ByWaves;
  return int(std::min(ByWaves, ByLds));
}

/// A program begins by asking for the devices: it gets none before the
/// environment is right.
static hipError_t finishInitialization() {
  std::string Problem = problemOfEnvironment();
  return finish(Problem.empty() ? hipSuccess : hipErrorInvalidValue, Problem);
}

/// The version of HIP that programs are told: 6.4, the oldest whose functions
/// current clients ask for. The headers' own may be older.
constexpr int OfferedVersion = 60400000;

/// An attribute of the device with those properties; nothing if the simulator
/// does not have it.
static std::optional<int> attributeOf(const hipDeviceProp_t &P,
                                      hipDeviceAttribute_t Attribute) {
  const std::pair<hipDeviceAttribute_t, int> Known[] = {
      {hipDeviceAttributeWarpSize, P.warpSize},
      {hipDeviceAttributeMultiprocessorCount, P.multiProcessorCount},
      {hipDeviceAttributePhysicalMultiProcessorCount, P.multiProcessorCount},
      {hipDeviceAttributeMaxThreadsPerBlock, P.maxThreadsPerBlock},
      {hipDeviceAttributeMaxBlockDimX, P.maxThreadsDim[0]},
      {hipDeviceAttributeMaxBlockDimY, P.maxThreadsDim[0]},
      {hipDeviceAttributeMaxBlockDimZ, P.maxThreadsDim[0]},
      {hipDeviceAttributeMaxGridDimX, P.maxGridSize[0]},
      {hipDeviceAttributeMaxGridDimY, P.maxGridSize[1]},
      {hipDeviceAttributeMaxGridDimZ, P.maxGridSize[1]},
      {hipDeviceAttributeMaxSharedMemoryPerBlock, int(P.sharedMemPerBlock)},
      {hipDeviceAttributeMaxSharedMemoryPerMultiprocessor,
       int(P.sharedMemPerBlock)},
      {hipDeviceAttributeSharedMemPerBlockOptin, int(P.sharedMemPerBlock)},
      {hipDeviceAttributeSharedMemPerMultiprocessor, int(P.sharedMemPerBlock)},
      {hipDeviceAttributeMaxRegistersPerBlock, P.regsPerBlock},
      {hipDeviceAttributeMaxThreadsPerMultiProcessor,
       P.maxThreadsPerMultiProcessor},
      {hipDeviceAttributeClockRate, P.clockRate},
      {hipDeviceAttributeMemoryClockRate, P.memoryClockRate},
      {hipDeviceAttributeMemoryBusWidth, P.memoryBusWidth},
      {hipDeviceAttributeL2CacheSize, P.l2CacheSize},
      {hipDeviceAttributeComputeCapabilityMajor, P.major},
      {hipDeviceAttributeComputeCapabilityMinor, P.minor},
      {hipDeviceAttributeConcurrentKernels, 1},
      {hipDeviceAttributeCanMapHostMemory, 1},
      {hipDeviceAttributeUnifiedAddressing, 1},
      {hipDeviceAttributeIsLargeBar, 1},
      {hipDeviceAttributeEccEnabled, P.ECCEnabled},
      {hipDeviceAttributeClockInstructionRate, P.clockInstructionRate},
      {hipDeviceAttributePciBusId, P.pciBusID},
      {hipDeviceAttributeComputeMode, 0},
      {hipDeviceAttributeCooperativeLaunch, 0},
      {hipDeviceAttributeCooperativeMultiDeviceLaunch, 0},
      {hipDeviceAttributeIntegrated, 0},
      {hipDeviceAttributeIsMultiGpuBoard, 0},
      {hipDeviceAttributeKernelExecTimeout, 0},
      {hipDeviceAttributeManagedMemory, 0},
      {hipDeviceAttributeConcurrentManagedAccess, 0},
      {hipDeviceAttributePageableMemoryAccess, 0},
      {hipDeviceAttributeMemoryPoolsSupported, 0},
      {hipDeviceAttributePciDeviceId, 0},
      {hipDeviceAttributePciDomainID, 0},
      {hipDeviceAttributeImageSupport, 0},
  };
  for (const auto &[Name, Value] : Known)
    if (Name == Attribute)
      return Value;
  return std::nullopt;
}

extern "C" {

hipError_t hipInit(unsigned int Flags) {
  if (Flags)
    return refuse(__func__, "expected flags 0");
  return finishInitialization();
}

hipError_t hipDriverGetVersion(int *Version) {
  return give(__func__, Version, OfferedVersion);
}

hipError_t hipRuntimeGetVersion(int *Version) {
  return give(__func__, Version, OfferedVersion);
}

hipError_t hipGetDeviceCount(int *Count) {
  if (!Count)
    return refuse(__func__, "null pointer");
  *Count = countDevices();
  return finishInitialization();
}

hipError_t hipGetDevice(int *Device) {
  return give(__func__, Device, numberOf(currentDevice()));
}

hipError_t hipSetDevice(int Number) {
  const int Device = deviceNumbered(Number);
  if (Device < 0)
    return wrongDevice(Number);
  currentDevice() = Device;
  return finish(hipSuccess);
}

hipError_t hipDeviceGet(hipDevice_t *Device, int Ordinal) {
  if (!Device)
    return refuse(__func__, "null pointer");
  if (deviceNumbered(Ordinal) < 0)
    return wrongDevice(Ordinal);
  *Device = Ordinal;
  return finish(hipSuccess);
}

hipError_t hipDeviceGetName(char *Name, int Length, hipDevice_t Device) {
  if (!Name || Length <= 0)
    return refuse(__func__, "no room for a name");
  if (deviceNumbered(Device) < 0)
    return wrongDevice(Device);
  std::strncpy(Name, deviceName(Chips[deviceNumbered(Device)]).c_str(),
               size_t(Length) - 1);
  Name[Length - 1] = 0;
  return finish(hipSuccess);
}

hipError_t hipDeviceTotalMem(size_t *Bytes, hipDevice_t Device) {
  if (!Bytes)
    return refuse(__func__, "null pointer");
  if (deviceNumbered(Device) < 0)
    return wrongDevice(Device);
  *Bytes = deviceMemoryBytes();
  return finish(hipSuccess);
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t *Properties, int Device) {
  if (!Properties)
    return refuse(__func__, "null pointer");
  if (deviceNumbered(Device) < 0)
    return wrongDevice(Device);
  const SimulatedChip &C = Chips[deviceNumbered(Device)];
  hipDeviceProp_t &P = *Properties;
  std::memset(&P, 0, sizeof(P));
  std::strncpy(P.name, deviceName(C).c_str(), sizeof(P.name) - 1);
  std::strncpy(P.gcnArchName, C.archName().c_str(), sizeof(P.gcnArchName) - 1);
  P.totalGlobalMem = deviceMemoryBytes();
  P.sharedMemPerBlock = C.LdsBytes;
  P.maxSharedMemoryPerMultiProcessor = C.LdsBytes;
  P.regsPerBlock = 65536;
  P.warpSize = int(C.WaveSize);
  P.maxThreadsPerBlock = 1024;
  for (int &D : P.maxThreadsDim)
    D = 1024;
  P.maxGridSize[0] = 2147483647;
  P.maxGridSize[1] = P.maxGridSize[2] = 65535;
  P.clockRate = int(C.ClockKHz);
  P.memoryClockRate = int(C.MemoryClockKHz);
  P.memoryBusWidth = int(C.MemoryBusBits);
  P.totalConstMem = deviceMemoryBytes();
  P.major = int(C.Generation);
  // gfx942 is 9.4; the last digit is the stepping.
  P.minor = int(*std::prev(llvm::StringRef(C.Chip).end(), 2) - '0');
  const unsigned Units = unitsOfMultiprocessor(C);
  P.multiProcessorCount = int(C.ComputeUnits / Units);
  P.l2CacheSize = int(C.L2Bytes);
  P.maxThreadsPerMultiProcessor =
      int(C.MaxWavesPerSimd * C.SimdsPerCU * C.WaveSize * Units);
  P.clockInstructionRate = 100000;
  P.concurrentKernels = 1;
  P.pciBusID = Device;
  P.canMapHostMemory = 1;
  P.memPitch = 2147483647;
  P.textureAlignment = 256;
  P.ECCEnabled = C.CanHaveSramEcc;
  P.isLargeBar = 1;
  return finish(hipSuccess);
}

hipError_t hipDeviceGetAttribute(int *Value, hipDeviceAttribute_t Attribute,
                                 int Device) {
  if (!Value)
    return refuse(__func__, "null pointer");
  hipDeviceProp_t P;
  if (const hipError_t Code = hipGetDeviceProperties(&P, Device))
    return Code;
  const std::optional<int> Known = attributeOf(P, Attribute);
  if (!Known)
    return finish(hipErrorInvalidValue,
                  "hipDeviceGetAttribute: the simulator does not have "
                  "attribute " +
                      std::to_string(int(Attribute)));
  *Value = *Known;
  return finish(hipSuccess);
}

hipError_t hipGetDevicePropertiesR0600(DevicePropertiesR0600 *Properties,
                                       int Device) {
  if (!Properties)
    return finish(hipErrorInvalidValue, "hipGetDeviceProperties: null pointer");
  hipDeviceProp_t P;
  if (const hipError_t Code = hipGetDeviceProperties(&P, Device))
    return Code;
  *Properties = newLayout(P);
  return finish(hipSuccess);
}

hipError_t hipDeviceComputeCapability(int *Major, int *Minor,
                                      hipDevice_t Device) {
  hipDeviceProp_t P;
  if (!Major || !Minor)
    return refuse(__func__, "null pointer");
  if (const hipError_t Code = hipGetDeviceProperties(&P, Device))
    return Code;
  *Major = P.major;
  *Minor = P.minor;
  return finish(hipSuccess);
}

hipError_t hipDeviceCanAccessPeer(int *Can, int, int) {
  return give(__func__, Can, 0);
}

// Everything has happened when a call returns, and there is nothing to prefer.
hipError_t hipDeviceSynchronize() { return finish(hipSuccess); }
hipError_t hipSetDeviceFlags(unsigned) { return finish(hipSuccess); }
hipError_t hipDeviceSetCacheConfig(hipFuncCache_t) {
  return finish(hipSuccess);
}
hipError_t hipDeviceSetSharedMemConfig(hipSharedMemConfig) {
  return finish(hipSuccess);
}
hipError_t hipProfilerStart() { return finish(hipSuccess); }
hipError_t hipProfilerStop() { return finish(hipSuccess); }

/// Buffers of the program stay as they are: it has ended its use of them.
hipError_t hipDeviceReset() { return finish(hipSuccess); }

} // extern "C"
