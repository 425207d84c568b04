//===- HipDevice.cpp - HIP: devices, errors, streams, events --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of HIP's interface that has to do with neither memory nor code,
// and the functions of SimulatorAPI.h.
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Hip/HipState.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace lnbwd::sim;

namespace {
struct ThreadState {
  int Device = 0;
  hipError_t LastError = hipSuccess;
  std::string Message;
};
} // namespace

static ThreadState &thread() {
  static thread_local ThreadState State;
  return State;
}

namespace {
struct ErrorName {
  hipError_t Code;
  const char *Name;
  const char *Text;
};
} // namespace

constexpr ErrorName ErrorNames[] = {
    {hipSuccess, "hipSuccess", "no error"},
    {hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {hipErrorNotInitialized, "hipErrorNotInitialized", "initialization error"},
    {hipErrorInvalidConfiguration, "hipErrorInvalidConfiguration",
     "invalid configuration argument"},
    {hipErrorInvalidDevicePointer, "hipErrorInvalidDevicePointer",
     "invalid device pointer"},
    {hipErrorInvalidMemcpyDirection, "hipErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {hipErrorInvalidDeviceFunction, "hipErrorInvalidDeviceFunction",
     "invalid device function"},
    {hipErrorNoDevice, "hipErrorNoDevice",
     "no ROCm-capable device is detected"},
    {hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {hipErrorInvalidImage, "hipErrorInvalidImage",
     "device kernel image is invalid"},
    {hipErrorNoBinaryForGpu, "hipErrorNoBinaryForGpu",
     "no kernel image is available for execution on the device"},
    {hipErrorInvalidKernelFile, "hipErrorInvalidKernelFile",
     "invalid kernel file"},
    {hipErrorFileNotFound, "hipErrorFileNotFound", "file not found"},
    {hipErrorInvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    {hipErrorNotFound, "hipErrorNotFound", "named symbol not found"},
    {hipErrorNotReady, "hipErrorNotReady", "device not ready"},
    {hipErrorIllegalAddress, "hipErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {hipErrorLaunchOutOfResources, "hipErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {hipErrorLaunchTimeOut, "hipErrorLaunchTimeOut",
     "the launch timed out and was terminated"},
    {hipErrorLaunchFailure, "hipErrorLaunchFailure",
     "unspecified launch failure"},
    {hipErrorNotSupported, "hipErrorNotSupported", "operation not supported"},
    {hipErrorUnknown, "hipErrorUnknown", "unknown error"},
};

static bool validDevice(int Device) {
  return Device >= 0 && Device < int(NumChips);
}

static hipError_t wrongDevice(int Device) {
  return finish(hipErrorInvalidDevice, "device " + std::to_string(Device) +
                                           " does not exist; the "
                                           "simulator has devices 0 to " +
                                           std::to_string(NumChips - 1));
}

/// Reads LNBWD_SIM_CHECK: "1" or "all", "0" or "none", or names of checks
/// separated by commas.
static unsigned checksFromEnvironment() {
  const char *Text = std::getenv("LNBWD_SIM_CHECK");
  if (!Text)
    return 0;
  struct CheckName {
    const char *Name;
    unsigned Bits;
  };
  constexpr CheckName Names[] = {
      {"", 0},
      {"0", 0},
      {"none", 0},
      {"1", LNBWD_SIM_CHECK_ALL},
      {"all", LNBWD_SIM_CHECK_ALL},
      {"memory", LNBWD_SIM_CHECK_MEMORY},
      {"registers", LNBWD_SIM_CHECK_REGISTERS},
      {"races", LNBWD_SIM_CHECK_RACES},
      {"waits", LNBWD_SIM_CHECK_WAITS},
      {"limits", LNBWD_SIM_CHECK_LIMITS},
      {"counts", LNBWD_SIM_CHECK_COUNTS},
      {"alignment", LNBWD_SIM_CHECK_ALIGNMENT},
  };
  unsigned Checks = 0;
  llvm::SmallVector<llvm::StringRef, 8> Parts;
  llvm::StringRef(Text).split(Parts, ',');
  for (llvm::StringRef Part : Parts) {
    const CheckName *Found = llvm::find_if(
        Names, [&](const CheckName &N) { return Part.trim() == N.Name; });
    if (Found != std::end(Names)) {
      Checks |= Found->Bits;
      continue;
    }
    std::fprintf(stderr,
                 "lnbwd-hip-sim: LNBWD_SIM_CHECK: expected all, none, or some "
                 "of memory, registers, races, waits, limits, counts and "
                 "alignment, got "
                 "'%s'; all checks are on\n",
                 Part.str().c_str());
    return LNBWD_SIM_CHECK_ALL;
  }
  return Checks;
}

HipState::HipState() : Checks(checksFromEnvironment()) {
  Shadows.setChecked(Checks != 0);
  if (const char *Text = std::getenv("LNBWD_SIM_SHUFFLE"))
    Shuffle = std::strtoull(Text, nullptr, 10);
}

HipState &lnbwd::sim::state() {
  // Never destroyed: other static objects may still call HIP functions.
  static HipState *State = new HipState;
  return *State;
}

int &lnbwd::sim::currentDevice() { return thread().Device; }

size_t lnbwd::sim::deviceMemoryBytes() {
  static const size_t Bytes = [] {
    if (const char *Text = std::getenv("LNBWD_SIM_MEMORY_MB")) {
      char *End = nullptr;
      unsigned long long Number = std::strtoull(Text, &End, 10);
      if (End != Text && !*End && Number > 0 && Number < (1ull << 40))
        return size_t(Number) << 20;
    }
    return size_t(4) << 30;
  }();
  return Bytes;
}

hipError_t lnbwd::sim::finish(hipError_t Code, std::string Message) {
  ThreadState &T = thread();
  T.Message = std::move(Message);
  if (Code != hipSuccess)
    T.LastError = Code;
  return Code;
}

bool lnbwd::sim::validStream(hipStream_t Stream) {
  // The default, legacy and per-thread streams are small constants.
  if (reinterpret_cast<uintptr_t>(Stream) <= 2)
    return true;
  std::lock_guard<std::mutex> Guard(state().Lock);
  return state().Streams.count(Stream) != 0;
}

/// What a device is called.
static std::string deviceName(const ChipInfo &Chip) {
  return std::string(Chip.Name) + " (simulated)";
}

unsigned lnbwd::sim::unitsOfMultiprocessor(const ChipInfo &Chip) {
  const char *Mode = std::getenv("GPU_ENABLE_WGP_MODE");
  const bool OneByOne =
      Mode && (std::strcmp(Mode, "0") == 0 || std::strcmp(Mode, "false") == 0);
  return OneByOne ? 1 : Chip.unitsTogether();
}

int lnbwd::sim::occupancy(const ChipInfo &Chip, const Kernel &K,
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

extern "C" {

hipError_t hipInit(unsigned int Flags) {
  if (Flags)
    return finish(hipErrorInvalidValue, "hipInit: expected flags 0");
  return finish(hipSuccess);
}

hipError_t hipDriverGetVersion(int *Version) {
  if (!Version)
    return finish(hipErrorInvalidValue, "hipDriverGetVersion: null pointer");
  *Version = HIP_VERSION;
  return finish(hipSuccess);
}

hipError_t hipRuntimeGetVersion(int *Version) {
  if (!Version)
    return finish(hipErrorInvalidValue, "hipRuntimeGetVersion: null pointer");
  *Version = HIP_VERSION;
  return finish(hipSuccess);
}

hipError_t hipGetDeviceCount(int *Count) {
  if (!Count)
    return finish(hipErrorInvalidValue, "hipGetDeviceCount: null pointer");
  *Count = int(NumChips);
  return finish(hipSuccess);
}

hipError_t hipGetDevice(int *Device) {
  if (!Device)
    return finish(hipErrorInvalidValue, "hipGetDevice: null pointer");
  *Device = currentDevice();
  return finish(hipSuccess);
}

hipError_t hipSetDevice(int Device) {
  if (!validDevice(Device))
    return wrongDevice(Device);
  currentDevice() = Device;
  return finish(hipSuccess);
}

hipError_t hipDeviceGet(hipDevice_t *Device, int Ordinal) {
  if (!Device)
    return finish(hipErrorInvalidValue, "hipDeviceGet: null pointer");
  if (!validDevice(Ordinal))
    return wrongDevice(Ordinal);
  *Device = Ordinal;
  return finish(hipSuccess);
}

hipError_t hipDeviceGetName(char *Name, int Length, hipDevice_t Device) {
  if (!Name || Length <= 0)
    return finish(hipErrorInvalidValue, "hipDeviceGetName: no room for a name");
  if (!validDevice(Device))
    return wrongDevice(Device);
  std::strncpy(Name, deviceName(Chips[Device]).c_str(), size_t(Length) - 1);
  Name[Length - 1] = 0;
  return finish(hipSuccess);
}

hipError_t hipDeviceTotalMem(size_t *Bytes, hipDevice_t Device) {
  if (!Bytes)
    return finish(hipErrorInvalidValue, "hipDeviceTotalMem: null pointer");
  if (!validDevice(Device))
    return wrongDevice(Device);
  *Bytes = deviceMemoryBytes();
  return finish(hipSuccess);
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t *Properties, int Device) {
  if (!Properties)
    return finish(hipErrorInvalidValue, "hipGetDeviceProperties: null pointer");
  if (!validDevice(Device))
    return wrongDevice(Device);
  const ChipInfo &C = Chips[Device];
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
    return finish(hipErrorInvalidValue, "hipDeviceGetAttribute: null pointer");
  if (!validDevice(Device))
    return wrongDevice(Device);
  hipDeviceProp_t P;
  (void)hipGetDeviceProperties(&P, Device);
  switch (Attribute) {
  case hipDeviceAttributeWarpSize:
    *Value = P.warpSize;
    break;
  case hipDeviceAttributeMultiprocessorCount:
  case hipDeviceAttributePhysicalMultiProcessorCount:
    *Value = P.multiProcessorCount;
    break;
  case hipDeviceAttributeMaxThreadsPerBlock:
    *Value = P.maxThreadsPerBlock;
    break;
  case hipDeviceAttributeMaxBlockDimX:
  case hipDeviceAttributeMaxBlockDimY:
  case hipDeviceAttributeMaxBlockDimZ:
    *Value = P.maxThreadsDim[0];
    break;
  case hipDeviceAttributeMaxGridDimX:
    *Value = P.maxGridSize[0];
    break;
  case hipDeviceAttributeMaxGridDimY:
  case hipDeviceAttributeMaxGridDimZ:
    *Value = P.maxGridSize[1];
    break;
  case hipDeviceAttributeMaxSharedMemoryPerBlock:
  case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
  case hipDeviceAttributeSharedMemPerBlockOptin:
  case hipDeviceAttributeSharedMemPerMultiprocessor:
    *Value = int(P.sharedMemPerBlock);
    break;
  case hipDeviceAttributeMaxRegistersPerBlock:
    *Value = P.regsPerBlock;
    break;
  case hipDeviceAttributeMaxThreadsPerMultiProcessor:
    *Value = P.maxThreadsPerMultiProcessor;
    break;
  case hipDeviceAttributeClockRate:
    *Value = P.clockRate;
    break;
  case hipDeviceAttributeMemoryClockRate:
    *Value = P.memoryClockRate;
    break;
  case hipDeviceAttributeMemoryBusWidth:
    *Value = P.memoryBusWidth;
    break;
  case hipDeviceAttributeL2CacheSize:
    *Value = P.l2CacheSize;
    break;
  case hipDeviceAttributeComputeCapabilityMajor:
    *Value = P.major;
    break;
  case hipDeviceAttributeComputeCapabilityMinor:
    *Value = P.minor;
    break;
  case hipDeviceAttributeConcurrentKernels:
  case hipDeviceAttributeCanMapHostMemory:
  case hipDeviceAttributeUnifiedAddressing:
  case hipDeviceAttributeIsLargeBar:
    *Value = 1;
    break;
  case hipDeviceAttributeEccEnabled:
    *Value = P.ECCEnabled;
    break;
  case hipDeviceAttributeClockInstructionRate:
    *Value = P.clockInstructionRate;
    break;
  case hipDeviceAttributePciBusId:
    *Value = P.pciBusID;
    break;
  case hipDeviceAttributeComputeMode:
  case hipDeviceAttributeCooperativeLaunch:
  case hipDeviceAttributeCooperativeMultiDeviceLaunch:
  case hipDeviceAttributeIntegrated:
  case hipDeviceAttributeIsMultiGpuBoard:
  case hipDeviceAttributeKernelExecTimeout:
  case hipDeviceAttributeManagedMemory:
  case hipDeviceAttributeConcurrentManagedAccess:
  case hipDeviceAttributePageableMemoryAccess:
  case hipDeviceAttributeMemoryPoolsSupported:
  case hipDeviceAttributePciDeviceId:
  case hipDeviceAttributePciDomainID:
  case hipDeviceAttributeImageSupport:
    *Value = 0;
    break;
  default:
    return finish(hipErrorInvalidValue,
                  "hipDeviceGetAttribute: the simulator does not have "
                  "attribute " +
                      std::to_string(int(Attribute)));
  }
  return finish(hipSuccess);
}

const char *hipGetErrorName(hipError_t Code) {
  for (const ErrorName &E : ErrorNames)
    if (E.Code == Code)
      return E.Name;
  return "hipErrorUnknown";
}

const char *hipGetErrorString(hipError_t Code) {
  for (const ErrorName &E : ErrorNames)
    if (E.Code == Code)
      return E.Text;
  return "unknown error";
}

hipError_t hipGetLastError() {
  hipError_t Code = thread().LastError;
  thread().LastError = hipSuccess;
  return Code;
}

hipError_t hipPeekAtLastError() { return thread().LastError; }

hipError_t hipDeviceSynchronize() { return finish(hipSuccess); }

hipError_t hipStreamCreateWithFlags(hipStream_t *Stream, unsigned int Flags) {
  if (!Stream || Flags > hipStreamNonBlocking)
    return finish(hipErrorInvalidValue,
                  "hipStreamCreateWithFlags: null pointer or unknown flags");
  auto *S = new ihipStream_t{currentDevice()};
  std::lock_guard<std::mutex> Guard(state().Lock);
  state().Streams.insert(S);
  *Stream = S;
  return finish(hipSuccess);
}

hipError_t hipStreamCreate(hipStream_t *Stream) {
  return hipStreamCreateWithFlags(Stream, hipStreamDefault);
}

hipError_t hipStreamDestroy(hipStream_t Stream) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  if (!state().Streams.erase(Stream))
    return finish(hipErrorInvalidHandle,
                  "hipStreamDestroy: the stream does not exist");
  delete Stream;
  return finish(hipSuccess);
}

hipError_t hipStreamSynchronize(hipStream_t Stream) {
  if (!validStream(Stream))
    return finish(hipErrorInvalidHandle,
                  "hipStreamSynchronize: the stream does not exist");
  return finish(hipSuccess);
}

hipError_t hipStreamQuery(hipStream_t Stream) {
  if (!validStream(Stream))
    return finish(hipErrorInvalidHandle,
                  "hipStreamQuery: the stream does not exist");
  return finish(hipSuccess);
}

static bool validEvent(hipEvent_t Event) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  return state().Events.count(Event) != 0;
}
static hipError_t wrongEvent(const char *Function) {
  return finish(hipErrorInvalidHandle,
                std::string(Function) + ": the event does not exist");
}

hipError_t hipStreamWaitEvent(hipStream_t Stream, hipEvent_t Event,
                              unsigned int) {
  if (!validStream(Stream))
    return finish(hipErrorInvalidHandle,
                  "hipStreamWaitEvent: the stream does not exist");
  if (!validEvent(Event))
    return wrongEvent("hipStreamWaitEvent");
  return finish(hipSuccess);
}

hipError_t hipEventCreateWithFlags(hipEvent_t *Event, unsigned) {
  if (!Event)
    return finish(hipErrorInvalidValue, "hipEventCreate: null pointer");
  auto *E = new ihipEvent_t;
  std::lock_guard<std::mutex> Guard(state().Lock);
  state().Events.insert(E);
  *Event = E;
  return finish(hipSuccess);
}

hipError_t hipEventCreate(hipEvent_t *Event) {
  return hipEventCreateWithFlags(Event, 0);
}

hipError_t hipEventDestroy(hipEvent_t Event) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  if (!state().Events.erase(Event))
    return finish(hipErrorInvalidHandle,
                  "hipEventDestroy: the event does not exist");
  delete Event;
  return finish(hipSuccess);
}

hipError_t hipEventRecord(hipEvent_t Event, hipStream_t Stream) {
  if (!validEvent(Event))
    return wrongEvent("hipEventRecord");
  if (!validStream(Stream))
    return finish(hipErrorInvalidHandle,
                  "hipEventRecord: the stream does not exist");
  Event->Recorded = true;
  Event->When = std::chrono::steady_clock::now();
  return finish(hipSuccess);
}

hipError_t hipEventSynchronize(hipEvent_t Event) {
  return validEvent(Event) ? finish(hipSuccess)
                           : wrongEvent("hipEventSynchronize");
}

hipError_t hipEventQuery(hipEvent_t Event) {
  return validEvent(Event) ? finish(hipSuccess) : wrongEvent("hipEventQuery");
}

hipError_t hipEventElapsedTime(float *Milliseconds, hipEvent_t Start,
                               hipEvent_t Stop) {
  if (!Milliseconds)
    return finish(hipErrorInvalidValue, "hipEventElapsedTime: null pointer");
  if (!validEvent(Start) || !validEvent(Stop))
    return wrongEvent("hipEventElapsedTime");
  if (!Start->Recorded || !Stop->Recorded)
    return finish(hipErrorInvalidHandle,
                  "hipEventElapsedTime: an event has not been recorded");
  *Milliseconds =
      std::chrono::duration<float, std::milli>(Stop->When - Start->When)
          .count();
  return finish(hipSuccess);
}

void lnbwdSimResetCounters(void) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  state().Counters[currentDevice()] = lnbwd_sim_counters();
  state().Counts[currentDevice()] = NamedCounts();
}

void lnbwdSimGetCounters(lnbwd_sim_counters *Counters) {
  if (!Counters)
    return;
  std::lock_guard<std::mutex> Guard(state().Lock);
  *Counters = state().Counters[currentDevice()];
}

void lnbwdSimSetChecks(unsigned Checks) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  state().Checks = Checks & (LNBWD_SIM_CHECK_ALL | LNBWD_SIM_CHECK_ALIGNMENT);
  state().Shadows.setChecked(Checks != 0);
}

unsigned lnbwdSimGetChecks(void) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  return state().Checks;
}

void lnbwdSimSetShuffle(uint64_t Seed) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  state().Shuffle = Seed;
}

int lnbwdSimDescribeBuffer(const void *Pointer, uint64_t Bytes,
                           const char *Name, unsigned Flags) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  bool Good = state().Shadows.describe(
      reinterpret_cast<uint64_t>(Pointer), Bytes, Name ? Name : "",
      (Flags & LNBWD_SIM_BUFFER_READ_ONLY) != 0,
      (Flags & LNBWD_SIM_BUFFER_UNWRITTEN) != 0);
  return Good ? 0 : -1;
}

int64_t lnbwdSimCountUnwritten(const void *Pointer, uint64_t Bytes,
                               uint64_t ElementBytes, uint64_t *First) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  if (!(state().Checks & LNBWD_SIM_CHECK_MEMORY) || !ElementBytes)
    return -1;
  const uint64_t Address = reinterpret_cast<uint64_t>(Pointer);
  const BufferShadow *S = state().Shadows.shadowAt(Address);
  if (!S || Address < S->begin() || Address - S->begin() > S->bytes() ||
      Bytes > S->bytes() - (Address - S->begin()))
    return -1;
  uint64_t None = 0;
  return int64_t(S->countUnwritten(Address, Bytes / ElementBytes, ElementBytes,
                                   First ? *First : None));
}

const char *lnbwdSimGetCountsJson(void) {
  static thread_local std::string Text;
  std::lock_guard<std::mutex> Guard(state().Lock);
  Text = state().Counts[currentDevice()].json();
  return Text.c_str();
}

const char *lnbwdSimLastErrorMessage(void) { return thread().Message.c_str(); }

} // extern "C"
