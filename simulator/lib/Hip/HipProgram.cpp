//===- HipProgram.cpp - HIP: what compiled programs call ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that clang compiled as HIP registers its code objects, kernels and
// variables before main begins, and names them by addresses of the host from
// then on. A code object is loaded when a device first needs it. Unless
// LNBWD_SIM_CHIP names a chip, such a program sees one device, of the first
// chip that it has code for.
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Hip/HipState.h"

#include "Load/OffloadBundle.h"

#include <algorithm>
#include <climits>
#include <cstring>

using namespace lnbwd::sim;

namespace {
/// A variable that host and device share: the device has a pointer to it.
struct ManagedVariable {
  std::string Name;
  void *Pointer;
};
/// What __hipRegisterFatBinary gets. HIP's compiler gives one for each file of
/// a program, or one for all.
struct FatBinary {
  const void *Image;
  std::map<int, hipModule_t> Modules; ///< by device
  std::vector<ManagedVariable> Managed;
};
struct Symbol {
  FatBinary *Owner;
  std::string Name;
};
/// All that the process has registered; Lock guards it.
struct Registrations {
  std::mutex Lock;
  std::map<FatBinary *, std::unique_ptr<FatBinary>> Binaries;
  std::map<const void *, Symbol> Functions, Variables;
};
struct CallConfiguration {
  dim3 Grid, Block;
  size_t DynamicLds;
  hipStream_t Stream;
};
} // namespace

static Registrations &registrations() {
  // Never destroyed: programs unregister when static objects are destroyed.
  static Registrations *All = new Registrations;
  return *All;
}

static std::vector<CallConfiguration> &configurations() {
  static thread_local std::vector<CallConfiguration> Pushed;
  return Pushed;
}

/// The module of the current device, loaded if it has not been.
static hipError_t moduleOf(FatBinary &Binary, hipModule_t *Module) {
  const int Device = currentDevice();
  if (const auto It = Binary.Modules.find(Device); It != Binary.Modules.end()) {
    *Module = It->second;
    return hipSuccess;
  }
  if (const hipError_t Code =
          loadImage(Module, Binary.Image, "the program's code"))
    return Code;
  for (const ManagedVariable &V : Binary.Managed) {
    hipDeviceptr_t Where;
    size_t Bytes;
    if (const hipError_t Code =
            hipModuleGetGlobal(&Where, &Bytes, *Module, V.Name.c_str()))
      return Code;
    std::memcpy(Where, &V.Pointer, std::min(Bytes, sizeof(V.Pointer)));
  }
  Binary.Modules[Device] = *Module;
  return hipSuccess;
}

static hipError_t functionOf(const char *Caller, const void *Host,
                             hipFunction_t *Function) {
  std::lock_guard<std::mutex> Guard(registrations().Lock);
  const auto It = registrations().Functions.find(Host);
  if (It == registrations().Functions.end())
    return finish(hipErrorInvalidDeviceFunction,
                  std::string(Caller) + ": the program has registered no "
                                        "kernel with this address");
  hipModule_t Module;
  if (const hipError_t Code = moduleOf(*It->second.Owner, &Module)) {
    reportAlways("error", lnbwdSimLastErrorMessage());
    return Code;
  }
  return hipModuleGetFunction(Function, Module, It->second.Name.c_str());
}

static hipError_t variableOf(const char *Caller, const void *Host,
                             hipDeviceptr_t *Where, size_t *Bytes) {
  std::lock_guard<std::mutex> Guard(registrations().Lock);
  const auto It = registrations().Variables.find(Host);
  if (It == registrations().Variables.end())
    return finish(hipErrorInvalidSymbol, std::string(Caller) +
                                             ": the program has registered no "
                                             "variable with this address");
  hipModule_t Module;
  if (const hipError_t Code = moduleOf(*It->second.Owner, &Module)) {
    reportAlways("error", lnbwdSimLastErrorMessage());
    return Code;
  }
  return hipModuleGetGlobal(Where, Bytes, Module, It->second.Name.c_str());
}

/// Part of a variable; what lies outside of it is a fault.
static hipError_t partOf(const char *Caller, const void *Host, size_t Offset,
                         size_t Bytes, void **Where) {
  hipDeviceptr_t Begin;
  size_t Size;
  if (const hipError_t Code = variableOf(Caller, Host, &Begin, &Size))
    return Code;
  if (Offset > Size || Bytes > Size - Offset)
    return finishFault(hipErrorInvalidValue,
                       std::string(Caller) + ": " + std::to_string(Bytes) +
                           " bytes from byte " + std::to_string(Offset) +
                           " on run over the end of the variable, which has " +
                           std::to_string(Size) + " bytes");
  *Where = static_cast<char *>(Begin) + Offset;
  return hipSuccess;
}

/// The devices that a program sees are chosen when it registers its first code.
static void chooseDevice(const void *Image) {
  if (state().OnlyDevice >= 0)
    return;
  std::string Error;
  const ObjectBytes Read = bytesFrom(Image);
  if (!isOffloadBundle(Read))
    return;
  for (const BundledObject &Object : readOffloadBundle(Read, Error))
    if (const SimulatedChip *Chip = firstChipOf(Object.Target)) {
      state().OnlyDevice = int(Chip - Chips);
      currentDevice() = state().OnlyDevice;
      return;
    }
}

extern "C" {

// What clang's code calls, by clang's names; no header declares it.
// NOLINTBEGIN(readability-identifier-naming)
#pragma GCC visibility push(default)
void **__hipRegisterFatBinary(const void *Data);
void __hipUnregisterFatBinary(void **Handle);
void __hipRegisterFunction(void **Handle, const void *Host, char *Stub,
                           const char *Name, unsigned, void *, void *, void *,
                           void *, int *);
void __hipRegisterVar(void **Handle, void *Host, char *HostName,
                      const char *Name, int, size_t, int, int);
void __hipRegisterManagedVar(void **Handle, void **Pointer, void *Initial,
                             const char *Name, size_t Bytes, unsigned);
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)

void **__hipRegisterFatBinary(const void *Data) {
  // Magic, version, the image, and a pointer that is not used.
  struct Wrapper {
    uint32_t Magic, Version;
    const void *Image;
    const void *Unused;
  };
  const auto *W = static_cast<const Wrapper *>(Data);
  auto Binary = std::make_unique<FatBinary>();
  Binary->Image = W->Image;
  FatBinary *Handle = Binary.get();
  std::lock_guard<std::mutex> Guard(registrations().Lock);
  chooseDevice(W->Image);
  registrations().Binaries[Handle] = std::move(Binary);
  return reinterpret_cast<void **>(Handle);
}

void __hipUnregisterFatBinary(void **Handle) {
  auto *Binary = reinterpret_cast<FatBinary *>(Handle);
  std::lock_guard<std::mutex> Guard(registrations().Lock);
  const auto It = registrations().Binaries.find(Binary);
  if (It == registrations().Binaries.end())
    return;
  for (auto &Module : Binary->Modules)
    (void)hipModuleUnload(Module.second);
  for (auto *Names : {&registrations().Functions, &registrations().Variables})
    for (auto Name = Names->begin(); Name != Names->end();)
      Name =
          Name->second.Owner == Binary ? Names->erase(Name) : std::next(Name);
  registrations().Binaries.erase(It);
}

void __hipRegisterFunction(void **Handle, const void *Host, char *,
                           const char *Name, unsigned, void *, void *, void *,
                           void *, int *) {
  std::lock_guard<std::mutex> Guard(registrations().Lock);
  registrations().Functions[Host] = {reinterpret_cast<FatBinary *>(Handle),
                                     Name};
}

void __hipRegisterVar(void **Handle, void *Host, char *, const char *Name, int,
                      size_t, int, int) {
  std::lock_guard<std::mutex> Guard(registrations().Lock);
  registrations().Variables[Host] = {reinterpret_cast<FatBinary *>(Handle),
                                     Name};
}

void __hipRegisterManagedVar(void **Handle, void **Pointer, void *Initial,
                             const char *Name, size_t Bytes, unsigned) {
  *Pointer = nullptr;
  if (hipMallocManaged(Pointer, Bytes, hipMemAttachGlobal) != hipSuccess)
    return;
  std::memcpy(*Pointer, Initial, Bytes);
  std::lock_guard<std::mutex> Guard(registrations().Lock);
  reinterpret_cast<FatBinary *>(Handle)->Managed.push_back({Name, *Pointer});
}

hipError_t __hipPushCallConfiguration(dim3 Grid, dim3 Block, size_t DynamicLds,
                                      hipStream_t Stream) {
  configurations().push_back({Grid, Block, DynamicLds, Stream});
  return hipSuccess;
}

hipError_t __hipPopCallConfiguration(dim3 *Grid, dim3 *Block,
                                     size_t *DynamicLds, hipStream_t *Stream) {
  if (configurations().empty())
    return refuse(__func__, "nothing was pushed", hipErrorMissingConfiguration);
  const CallConfiguration C = configurations().back();
  configurations().pop_back();
  *Grid = C.Grid;
  *Block = C.Block;
  *DynamicLds = C.DynamicLds;
  *Stream = C.Stream;
  return hipSuccess;
}

hipError_t hipLaunchKernel(const void *Host, dim3 Grid, dim3 Block,
                           void **Arguments, size_t DynamicLds,
                           hipStream_t Stream) {
  hipFunction_t Function;
  if (const hipError_t Code = functionOf("hipLaunchKernel", Host, &Function))
    return Code;
  if (DynamicLds > UINT_MAX)
    return finishFault(hipErrorInvalidConfiguration,
                       "hipLaunchKernel: more than 4 GiB of LDS");
  return hipModuleLaunchKernel(Function, Grid.x, Grid.y, Grid.z, Block.x,
                               Block.y, Block.z, unsigned(DynamicLds), Stream,
                               Arguments, nullptr);
}

hipError_t hipLaunchCooperativeKernel(const void *Host, dim3 Grid, dim3 Block,
                                      void **Arguments, unsigned DynamicLds,
                                      hipStream_t Stream) {
  int Blocks;
  if (const hipError_t Code = hipOccupancyMaxActiveBlocksPerMultiprocessor(
          &Blocks, Host, int(Block.x * Block.y * Block.z), DynamicLds))
    return Code;
  const SimulatedChip &Chip = Chips[currentDevice()];
  const uint64_t Most =
      uint64_t(Blocks) * (Chip.ComputeUnits / unitsOfMultiprocessor(Chip));
  if (uint64_t(Grid.x) * Grid.y * Grid.z > Most)
    return finishFault(hipErrorCooperativeLaunchTooLarge,
                       "hipLaunchCooperativeKernel: the device holds " +
                           std::to_string(Most) +
                           " workgroups of this kernel at a time");
  return hipLaunchKernel(Host, Grid, Block, Arguments, DynamicLds, Stream);
}

hipError_t hipGetSymbolAddress(void **Pointer, const void *Host) {
  if (!Pointer)
    return refuse(__func__, "null pointer");
  return variableOf("hipGetSymbolAddress", Host, Pointer, nullptr);
}

hipError_t hipGetSymbolSize(size_t *Bytes, const void *Host) {
  if (!Bytes)
    return refuse(__func__, "null pointer");
  return variableOf("hipGetSymbolSize", Host, nullptr, Bytes);
}

hipError_t hipMemcpyToSymbolAsync(const void *Host, const void *From,
                                  size_t Bytes, size_t Offset,
                                  hipMemcpyKind Kind, hipStream_t Stream) {
  void *To;
  if (const hipError_t Code =
          partOf("hipMemcpyToSymbol", Host, Offset, Bytes, &To))
    return Code;
  return hipMemcpyAsync(To, From, Bytes, Kind, Stream);
}

hipError_t hipMemcpyToSymbol(const void *Host, const void *From, size_t Bytes,
                             size_t Offset, hipMemcpyKind Kind) {
  return hipMemcpyToSymbolAsync(Host, From, Bytes, Offset, Kind, nullptr);
}

hipError_t hipMemcpyFromSymbolAsync(void *To, const void *Host, size_t Bytes,
                                    size_t Offset, hipMemcpyKind Kind,
                                    hipStream_t Stream) {
  void *From;
  if (const hipError_t Code =
          partOf("hipMemcpyFromSymbol", Host, Offset, Bytes, &From))
    return Code;
  return hipMemcpyAsync(To, From, Bytes, Kind, Stream);
}

hipError_t hipMemcpyFromSymbol(void *To, const void *Host, size_t Bytes,
                               size_t Offset, hipMemcpyKind Kind) {
  return hipMemcpyFromSymbolAsync(To, Host, Bytes, Offset, Kind, nullptr);
}

hipError_t hipFuncGetAttributes(hipFuncAttributes *Attributes,
                                const void *Host) {
  if (!Attributes)
    return refuse(__func__, "null pointer");
  hipFunction_t F;
  if (const hipError_t Code = functionOf("hipFuncGetAttributes", Host, &F))
    return Code;
  const Kernel &K = *F->TheKernel;
  const SimulatedChip &Chip = Chips[F->Owner->Device];
  *Attributes = hipFuncAttributes();
  Attributes->binaryVersion = Attributes->ptxVersion =
      int(Chip.Generation) * 10;
  Attributes->localSizeBytes = K.ScratchSize;
  Attributes->maxDynamicSharedSizeBytes = int(Chip.LdsBytes - K.LdsSize);
  Attributes->maxThreadsPerBlock = int(K.MaxFlatWorkgroupSize);
  Attributes->numRegs = int(K.VgprCount);
  Attributes->sharedSizeBytes = K.LdsSize;
  return finish(hipSuccess);
}

// A launch says itself what it needs, and the chip's LDS can all be asked for.
hipError_t hipFuncSetAttribute(const void *, hipFuncAttribute, int) {
  return finish(hipSuccess);
}
hipError_t hipFuncSetCacheConfig(const void *, hipFuncCache_t) {
  return finish(hipSuccess);
}
hipError_t hipFuncSetSharedMemConfig(const void *, hipSharedMemConfig) {
  return finish(hipSuccess);
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *Blocks,
                                                        const void *Host,
                                                        int BlockSize,
                                                        size_t DynamicLds) {
  hipFunction_t F;
  if (const hipError_t Code =
          functionOf("hipOccupancyMaxActiveBlocksPerMultiprocessor", Host, &F))
    return Code;
  return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
      Blocks, F, BlockSize, DynamicLds);
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *Blocks, const void *Host, int BlockSize, size_t DynamicLds, unsigned) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(Blocks, Host, BlockSize,
                                                      DynamicLds);
}

hipError_t hipModuleOccupancyMaxPotentialBlockSize(int *GridSize,
                                                   int *BlockSize,
                                                   hipFunction_t Function,
                                                   size_t DynamicLds,
                                                   int Limit) {
  const ihipModuleSymbol_t *F = checkFunction(Function);
  if (!F || !GridSize || !BlockSize)
    return finish(F ? hipErrorInvalidValue : hipErrorInvalidDeviceFunction,
                  "hipModuleOccupancyMaxPotentialBlockSize: null pointer or no "
                  "function");
  const SimulatedChip &Chip = Chips[F->Owner->Device];
  const Kernel &K = *F->TheKernel;
  unsigned Most = K.MaxFlatWorkgroupSize;
  if (Limit > 0)
    Most = std::min(Most, unsigned(Limit));
  // The block with which most work-items are resident; the largest of those.
  uint64_t Best = 0;
  *BlockSize = *GridSize = 0;
  for (unsigned Size = K.WaveSize; Size <= Most; Size += K.WaveSize) {
    const uint64_t Blocks = uint64_t(occupancy(Chip, K, Size, DynamicLds));
    if (!Blocks || Blocks * Size < Best)
      continue;
    Best = Blocks * Size;
    *BlockSize = int(Size);
    *GridSize = int(Blocks * (Chip.ComputeUnits / unitsOfMultiprocessor(Chip)));
  }
  return finish(hipSuccess);
}

hipError_t hipOccupancyMaxPotentialBlockSize(int *GridSize, int *BlockSize,
                                             const void *Host,
                                             size_t DynamicLds, int Limit) {
  hipFunction_t F;
  if (const hipError_t Code =
          functionOf("hipOccupancyMaxPotentialBlockSize", Host, &F))
    return Code;
  return hipModuleOccupancyMaxPotentialBlockSize(GridSize, BlockSize, F,
                                                 DynamicLds, Limit);
}

} // extern "C"
