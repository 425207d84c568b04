//===- CodeFile.cpp - What a file on the command line is ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodeFile.h"

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>

#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELFObjectFile.h"

#include <optional>

using namespace llvm;

/// The name of the chip that a code object is for, by the ELF header's flags,
/// if the number there is that of a chip. LLVM's own answer is undefined for
/// the others.
static std::optional<StringRef> chipName(const object::ELFObjectFileBase &O) {
  switch (O.getPlatformFlags() & ELF::EF_AMDGPU_MACH) {
  case ELF::EF_AMDGPU_MACH_NONE:
  case ELF::EF_AMDGPU_MACH_AMDGCN_RESERVED_0X27:
  case ELF::EF_AMDGPU_MACH_AMDGCN_RESERVED_0X40:
  case ELF::EF_AMDGPU_MACH_AMDGCN_RESERVED_0X4B:
  case ELF::EF_AMDGPU_MACH_AMDGCN_RESERVED_0X4D:
  case ELF::EF_AMDGPU_MACH_AMDGCN_RESERVED_0X50:
  case ELF::EF_AMDGPU_MACH_AMDGCN_RESERVED_0X56:
  case ELF::EF_AMDGPU_MACH_AMDGCN_RESERVED_0X57:
  // Numbers that have no name either.
  case 0x5b:
  case 0x5c:
  case 0x5d:
  case 0x5e:
    return std::nullopt;
  default:
    return O.tryGetCPUName();
  }
}

int lnbwd::simtool::deviceFor(MemoryBufferRef File) {
  // What is behind the header is the loader's to check.
  auto Object =
      object::ObjectFile::createELFObjectFile(File, /*InitContent=*/false);
  if (!Object) {
    consumeError(Object.takeError());
    return -1;
  }
  if ((*Object)->getArch() != Triple::amdgcn)
    return -1;
  auto Chip = chipName(cast<object::ELFObjectFileBase>(**Object));
  int Count = 0;
  if (hipGetDeviceCount(&Count) != hipSuccess)
    return -1;
  for (int D = 0; D < Count; ++D) {
    hipDeviceProp_t P;
    if (hipGetDeviceProperties(&P, D) == hipSuccess &&
        Chip == StringRef(P.gcnArchName).split(':').first)
      return D;
  }
  return -1;
}

std::string lnbwd::simtool::describeFile(MemoryBufferRef File) {
  StringRef Bytes = File.getBuffer();
  if (Bytes.starts_with("__CLANG_OFFLOAD_BUNDLE__") ||
      Bytes.starts_with("CCOB"))
    return "a bundle of code objects, of which clang-offload-bundler -unbundle "
           "takes one out";
  auto Object = object::ObjectFile::createELFObjectFile(File);
  if (!Object) {
    consumeError(Object.takeError());
    return "no ELF file";
  }
  if ((*Object)->getArch() != Triple::amdgcn)
    return "an ELF file for " +
           Triple::getArchTypeName((*Object)->getArch()).str();
  auto &Elf = cast<object::ELFObjectFileBase>(**Object);
  if (auto Name = chipName(Elf))
    return "a code object for " + Name->str();
  return "a code object for an unknown chip (machine number 0x" +
         utohexstr(Elf.getPlatformFlags() & ELF::EF_AMDGPU_MACH,
                   /*LowerCase=*/true) +
         ")";
}
