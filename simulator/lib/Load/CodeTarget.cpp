//===- CodeTarget.cpp - Which chip a file is for --------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Load/CodeTarget.h"

#include "Load/OffloadBundle.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELFObjectFile.h"

#include <optional>

using namespace llvm;
using namespace lnbwd::sim;

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

static std::string expected() {
  return "; expected an AMD code object for a chip that the simulator has (" +
         namesOfChips() + "), or a bundle with one";
}

/// Of the targets for which there is code. `Described` is what the file is.
static const SimulatedChip *choose(ArrayRef<std::string> Targets,
                                   const SimulatedChip *Wanted,
                                   const std::string &Described,
                                   std::string &Error) {
  SmallPtrSet<const SimulatedChip *, 4> Found;
  for (const std::string &Target : Targets) {
    if (Wanted && isForChip(Target, *Wanted))
      return Wanted;
    if (const SimulatedChip *Chip = firstChipOf(Target))
      Found.insert(Chip);
  }
  if (Found.empty())
    Error = Described + expected();
  else if (Wanted)
    Error = Described + "; expected code for " + Wanted->Chip +
            ", the chip that was asked for";
  else if (Found.size() > 1)
    Error = Described + "; choose one of the chips by --chip";
  else
    return *Found.begin();
  return nullptr;
}

static const SimulatedChip *chooseOfBundle(const ObjectBytes &Read,
                                           const SimulatedChip *Wanted,
                                           std::string &Error) {
  const std::vector<BundledObject> Objects = readOffloadBundle(Read, Error);
  if (!Error.empty()) {
    Error = "cannot be read: " + Error;
    return nullptr;
  }
  std::vector<std::string> Targets;
  Targets.reserve(Objects.size());
  for (const BundledObject &Object : Objects)
    Targets.push_back(Object.Target);
  return choose(Targets, Wanted,
                Targets.empty()
                    ? "is a bundle without code for AMD chips"
                    : "is a bundle with code for " + join(Targets, ", "),
                Error);
}

const SimulatedChip *lnbwd::sim::chooseChip(ArrayRef<uint8_t> File,
                                            const SimulatedChip *Wanted,
                                            std::string &Error) {
  const ObjectBytes Read = bytesOf(File);
  if (isOffloadBundle(Read))
    return chooseOfBundle(Read, Wanted, Error);
  // What is after the header is the loader's to check.
  auto Object = object::ObjectFile::createELFObjectFile(
      MemoryBufferRef(toStringRef(File), ""), /*InitContent=*/false);
  if (!Object) {
    consumeError(Object.takeError());
    Error = "is not an ELF file" + expected();
    return nullptr;
  }
  if ((*Object)->getArch() != Triple::amdgcn) {
    Error = "is an ELF file for " +
            Triple::getArchTypeName((*Object)->getArch()).str() + expected();
    return nullptr;
  }
  auto &Elf = cast<object::ELFObjectFileBase>(**Object);
  if (auto Name = chipName(Elf))
    return choose({Name->str()}, Wanted, "is a code object for " + Name->str(),
                  Error);
  Error = "is a code object for an unknown chip (machine number 0x" +
          utohexstr(Elf.getPlatformFlags() & ELF::EF_AMDGPU_MACH,
                    /*LowerCase=*/true) +
          ")" + expected();
  return nullptr;
}
