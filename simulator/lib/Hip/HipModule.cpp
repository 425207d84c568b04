//===- HipModule.cpp - HIP: code objects ----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loading of code objects, alone or in a bundle for several chips, and what is
// asked of them.
//
//===----------------------------------------------------------------------===//

#include "Hip/HipState.h"

#include "Load/OffloadBundle.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unistd.h>

#if defined(__linux__)
#include <dlfcn.h>
#include <sys/uio.h>
#endif

using namespace lnbwd::sim;

/// Copies bytes that may not be there, which a plain access would not survive.
static bool readUnknown(const void *From, size_t Bytes, void *To) {
#if defined(__linux__)
  iovec Local = {To, Bytes};
  iovec Remote = {const_cast<void *>(From), Bytes};
  ssize_t Done = process_vm_readv(getpid(), &Local, 1, &Remote, 1, 0);
  if (Done >= 0)
    return size_t(Done) == Bytes;
  if (errno == EFAULT)
    return false;
#endif
  std::memcpy(To, From, Bytes);
  return true;
}

/// How to have a device for code that is for `Chip`; null: there is none.
static std::string remedyFor(const SimulatedChip *Chip) {
  if (!Chip)
    return "";
  const char *Set = std::getenv("LNBWD_SIM_CHIP");
  return std::string("; LNBWD_SIM_CHIP=") + Chip->Chip +
         " in the environment, or --chip of lnbwd-sim --program, has the "
         "program see a device for it" +
         (Set && *Set ? std::string(" (LNBWD_SIM_CHIP is ") + Set + ")" : "");
}

static hipError_t loadModule(hipModule_t *Module, llvm::ArrayRef<uint8_t> Bytes,
                             const std::string &Origin) {
  int Device = currentDevice();
  auto M = std::make_unique<ihipModule_t>();
  M->Device = Device;
  HipState &S = state();
  auto Allocate = [&](uint64_t Size) {
    std::lock_guard<std::mutex> Guard(S.Lock);
    M->Image = S.Memory.allocate(Size, Device, BufferKind::Code);
    return M->Image;
  };
  std::string Error;
  M->Object = CodeObject::create(Bytes, Chips[Device], Allocate, Error);
  std::lock_guard<std::mutex> Guard(S.Lock);
  if (!M->Object) {
    if (M->Image)
      S.Memory.release(M->Image, BufferKind::Code);
    bool WrongChip = Error.find("but the device is") != std::string::npos;
    std::string Unknown;
    if (WrongChip)
      Error += remedyFor(chooseChip(Bytes, nullptr, Unknown));
    return finish(WrongChip ? hipErrorNoBinaryForGpu : hipErrorInvalidImage,
                  Origin + ": " + Error);
  }
  for (const auto &Part : M->Object->readOnlyParts())
    S.Shadows.protect(Part.first, Part.second, "code object");
  *Module = M.release();
  S.Modules.insert(*Module);
  return finish(hipSuccess);
}

/// Loads the current device's object of a bundle.
static hipError_t loadBundle(hipModule_t *Module, const ObjectBytes &Read,
                             const std::string &Origin) {
  std::string Error;
  const std::vector<BundledObject> Objects = readOffloadBundle(Read, Error);
  if (!Error.empty())
    return finish(hipErrorInvalidImage, Origin + ": " + Error);
  const BundledObject *Object =
      findObject(Objects, Chips[currentDevice()], Error);
  if (!Object) {
    const SimulatedChip *Other = nullptr;
    for (const BundledObject &O : Objects) {
      // Code for this chip, too, with other settings of the device.
      if (isForChip(O.Target, Chips[currentDevice()])) {
        Other = nullptr;
        break;
      }
      if (!Other)
        Other = firstChipOf(O.Target);
    }
    return finish(hipErrorNoBinaryForGpu,
                  Origin + ": " + Error + remedyFor(Other));
  }
  return loadModule(Module, Object->Bytes, Origin);
}

/// All of a file; none if it cannot be read, as a folder, which opens.
static std::optional<std::vector<uint8_t>> readFile(const char *Path) {
  std::ifstream File(Path, std::ios::binary);
  File.peek();
  if (File.bad() || !File.is_open())
    return std::nullopt;
  return std::vector<uint8_t>((std::istreambuf_iterator<char>(File)),
                              std::istreambuf_iterator<char>());
}

ObjectBytes lnbwd::sim::bytesFrom(const void *Image) {
  return [Image](uint64_t Offset, uint64_t Size, void *Out) {
    return readUnknown(static_cast<const uint8_t *>(Image) + Offset,
                       size_t(Size), Out);
  };
}

hipError_t lnbwd::sim::loadImage(hipModule_t *Module, const void *Image,
                                 const std::string &Origin) {
  const ObjectBytes Read = bytesFrom(Image);
  if (isOffloadBundle(Read))
    return loadBundle(Module, Read, Origin);
  std::string Error;
  uint64_t Size = CodeObject::extent(Read, Error);
  std::vector<uint8_t> Bytes(size_t(Size), 0);
  if (Size && !Read(0, Size, Bytes.data())) {
    Error = "the code object is truncated: its headers describe " +
            std::to_string(Size) + " bytes, which cannot be read";
    Size = 0;
  }
  if (!Size)
    return finish(hipErrorInvalidImage, Origin + ": " + Error);
  return loadModule(Module, Bytes, Origin);
}

const ihipModuleSymbol_t *lnbwd::sim::checkFunction(hipFunction_t F) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  return state().Functions.count(F) ? F : nullptr;
}

/// Says why a module for another chip was refused: most programs show no more
/// than the number of the error.
static hipError_t explained(hipError_t Code) {
  if (Code == hipErrorNoBinaryForGpu)
    reportAlways("refused", lnbwdSimLastErrorMessage());
  return Code;
}

extern "C" {

hipError_t hipModuleLoadData(hipModule_t *Module, const void *Image) {
  if (!Module || !Image)
    return refuse(__func__, "null pointer");
  return explained(loadImage(Module, Image, "hipModuleLoadData"));
}

hipError_t hipModuleLoadDataEx(hipModule_t *Module, const void *Image,
                               unsigned int, hipJitOption *, void **) {
  return hipModuleLoadData(Module, Image);
}

hipError_t hipModuleLoad(hipModule_t *Module, const char *Path) {
  if (!Module || !Path)
    return refuse(__func__, "null pointer");
  const std::optional<std::vector<uint8_t>> Bytes = readFile(Path);
  if (!Bytes)
    return finish(hipErrorFileNotFound,
                  std::string("hipModuleLoad: cannot open '") + Path + "'");
  const ObjectBytes Read = bytesOf(*Bytes);
  return explained(isOffloadBundle(Read) ? loadBundle(Module, Read, Path)
                                         : loadModule(Module, *Bytes, Path));
}

int lnbwdSimChooseDevice(const char *Path, const char *ChipName) {
  auto Fail = [](const std::string &Message) {
    (void)finish(hipErrorInvalidValue, Message);
    return -1;
  };
  const int Only = state().OnlyDevice;
  const SimulatedChip *Wanted = Only < 0 ? nullptr : &Chips[Only];
  if (ChipName && *ChipName) {
    const SimulatedChip *Named = chipByName(ChipName);
    if (!Named)
      return Fail("expected one of the chips " + namesOfChips() + ", got '" +
                  ChipName + "'");
    if (Wanted && Named != Wanted)
      return Fail("expected " + std::string(Wanted->Chip) +
                  ", the chip that LNBWD_SIM_CHIP leaves, got '" + ChipName +
                  "'");
    Wanted = Named;
  }
  errno = 0;
  const std::optional<std::vector<uint8_t>> Bytes = readFile(Path);
  if (!Bytes)
    return Fail("cannot read '" + std::string(Path) +
                "': " + std::strerror(errno));
  std::string Error;
  const SimulatedChip *Chip = chooseChip(*Bytes, Wanted, Error);
  if (!Chip)
    return Fail("'" + std::string(Path) + "' " + Error);
  return numberOf(int(Chip - Chips));
}

hipError_t
hipModuleLaunchCooperativeKernel(hipFunction_t Function, unsigned int GridX,
                                 unsigned int GridY, unsigned int GridZ,
                                 unsigned int BlockX, unsigned int BlockY,
                                 unsigned int BlockZ, unsigned int DynamicLds,
                                 hipStream_t Stream, void **Parameters) {
  const ihipModuleSymbol_t *F = checkFunction(Function);
  if (!F)
    return refuse(__func__, "the function does not exist",
                  hipErrorInvalidDeviceFunction);
  const SimulatedChip &Chip = Chips[F->Owner->Device];
  const uint64_t Most =
      uint64_t(occupancy(Chip, *F->TheKernel, BlockX * BlockY * BlockZ,
                         DynamicLds)) *
      (Chip.ComputeUnits / unitsOfMultiprocessor(Chip));
  if (uint64_t(GridX) * GridY * GridZ > Most)
    return finishFault(hipErrorCooperativeLaunchTooLarge,
                       "hipModuleLaunchCooperativeKernel: the device holds " +
                           std::to_string(Most) +
                           " workgroups of this kernel at a time");
  return hipModuleLaunchKernel(Function, GridX, GridY, GridZ, BlockX, BlockY,
                               BlockZ, DynamicLds, Stream, Parameters, nullptr);
}

hipError_t hipModuleUnload(hipModule_t Module) {
  HipState &S = state();
  std::lock_guard<std::mutex> Guard(S.Lock);
  if (!S.Modules.erase(Module))
    return refuse(__func__, "the module does not exist", hipErrorInvalidHandle);
  for (auto &Entry : Module->Functions)
    S.Functions.erase(Entry.second.get());
  S.Memory.release(Module->Image, BufferKind::Code);
  if (S.CheckedModule == Module)
    S.CheckedModule = nullptr;
  delete Module;
  return finish(hipSuccess);
}

hipError_t hipModuleGetFunction(hipFunction_t *Function, hipModule_t Module,
                                const char *Name) {
  if (!Function || !Name)
    return refuse(__func__, "null pointer");
  *Function = nullptr;
  HipState &S = state();
  std::lock_guard<std::mutex> Guard(S.Lock);
  if (!S.Modules.count(Module))
    return refuse(__func__, "the module does not exist", hipErrorInvalidHandle);
  const Kernel *K = Module->Object->kernel(Name);
  if (!K) {
    std::string List;
    for (const std::string &Known : Module->Object->kernelNames())
      List += (List.empty() ? "" : ", ") + Known;
    return finish(
        hipErrorNotFound,
        std::string("hipModuleGetFunction: there is no kernel '") + Name +
            "'; the code object has: " + (List.empty() ? "none" : List));
  }
  auto &F = Module->Functions[Name];
  if (!F) {
    F = std::make_unique<ihipModuleSymbol_t>();
    F->TheKernel = K;
    F->Owner = Module;
    S.Functions.insert(F.get());
  }
  *Function = F.get();
  return finish(hipSuccess);
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t *Pointer, size_t *Bytes,
                              hipModule_t Module, const char *Name) {
  if (!Name)
    return refuse(__func__, "null name");
  HipState &S = state();
  std::lock_guard<std::mutex> Guard(S.Lock);
  if (!S.Modules.count(Module))
    return refuse(__func__, "the module does not exist", hipErrorInvalidHandle);
  const GlobalVariable *G = Module->Object->global(Name);
  if (!G)
    return finish(hipErrorNotFound,
                  std::string("hipModuleGetGlobal: there is no variable '") +
                      Name + "'");
  if (Pointer)
    *Pointer = reinterpret_cast<hipDeviceptr_t>(G->Address);
  if (Bytes)
    *Bytes = size_t(G->Size);
  return finish(hipSuccess);
}

hipError_t hipFuncGetAttribute(int *Value, hipFunction_attribute Attribute,
                               hipFunction_t Function) {
  if (!Value)
    return refuse(__func__, "null pointer");
  const ihipModuleSymbol_t *F = checkFunction(Function);
  if (!F)
    return refuse(__func__, "the function does not exist",
                  hipErrorInvalidDeviceFunction);
  const Kernel &K = *F->TheKernel;
  const SimulatedChip &Chip = Chips[F->Owner->Device];
  switch (Attribute) {
  case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    return give(__func__, Value, int(K.MaxFlatWorkgroupSize));
  case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    return give(__func__, Value, int(K.LdsSize));
  case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    return give(__func__, Value, int(K.ScratchSize));
  case HIP_FUNC_ATTRIBUTE_NUM_REGS:
    return give(__func__, Value, int(K.VgprCount));
  case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    return give(__func__, Value, 0);
  case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
  case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
    return give(__func__, Value, int(Chip.Generation) * 10);
  case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    return give(__func__, Value, int(Chip.LdsBytes - K.LdsSize));
  default:
    return refuse(__func__, "the simulator does not have this attribute");
  }
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
    int *Blocks, hipFunction_t Function, int BlockSize, size_t DynamicLds) {
  if (!Blocks || BlockSize <= 0)
    return refuse(__func__, "null pointer or block size below 1");
  const ihipModuleSymbol_t *F = checkFunction(Function);
  if (!F)
    return refuse(__func__, "the function does not exist",
                  hipErrorInvalidDeviceFunction);
  *Blocks = occupancy(Chips[F->Owner->Device], *F->TheKernel,
                      unsigned(BlockSize), DynamicLds);
  return finish(hipSuccess);
}

int64_t lnbwdSimKernelArgument(void *Function, unsigned Index, int *IsBuffer) {
  const ihipModuleSymbol_t *F =
      checkFunction(static_cast<hipFunction_t>(Function));
  if (!F)
    return -1;
  if (!F->TheKernel->HasMetadata)
    return -2;
  for (const KernelArgument &A : F->TheKernel->Arguments) {
    if (A.hidden() || Index--)
      continue;
    if (IsBuffer)
      *IsBuffer = A.Kind == "global_buffer";
    return A.Size;
  }
  return -1;
}

} // extern "C"

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
