//===- OffloadBundle.cpp - Code objects for several chips -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Load/OffloadBundle.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/OffloadBundle.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>
#include <memory>
#include <optional>

using namespace llvm;
using namespace lnbwd::sim;

constexpr StringRef PlainMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr StringRef CompressedMagic = "CCOB";
/// No bundle comes near these; larger numbers are damage.
constexpr uint64_t MostEntries = 1024, MostIdBytes = 4096,
                   MostBytes = uint64_t(1) << 30;

static bool beginsWith(const ObjectBytes &Read, StringRef Magic) {
  char Begin[PlainMagic.size()];
  return Read(0, Magic.size(), Begin) &&
         StringRef(Begin, Magic.size()) == Magic;
}

bool lnbwd::sim::isOffloadBundle(const ObjectBytes &Read) {
  return beginsWith(Read, PlainMagic) || beginsWith(Read, CompressedMagic);
}

/// The whole of a compressed bundle, unfolded; null and an Error if it is none.
static std::unique_ptr<llvm::MemoryBuffer> unfold(const ObjectBytes &Read,
                                                  std::string &Error) {
  // Magic, version and method of 2 bytes each, the sizes of all of it and of
  // what is folded in it: 4 bytes each in version 2, 8 in version 3. Version 1
  // does not say how long it is.
  uint8_t Header[24];
  if (!Read(0, sizeof(Header), Header)) {
    Error = "the compressed offload bundle is truncated in its header";
    return nullptr;
  }
  const unsigned Version = llvm::support::endian::read16le(Header + 4);
  if (Version < 2 || Version > 3) {
    Error = "expected a compressed offload bundle of version 2 or 3, got "
            "version " +
            std::to_string(Version) + "; bundle without compression";
    return nullptr;
  }
  const uint64_t Size = Version == 2
                            ? llvm::support::endian::read32le(Header + 8)
                            : llvm::support::endian::read64le(Header + 8);
  const uint64_t UnfoldedSize =
      Version == 2 ? llvm::support::endian::read32le(Header + 12)
                   : llvm::support::endian::read64le(Header + 16);
  if (Size < sizeof(Header) || Size > MostBytes || UnfoldedSize > MostBytes) {
    Error = "the compressed offload bundle is damaged: it says that it has " +
            std::to_string(Size) + " bytes, and decompresses to " +
            std::to_string(UnfoldedSize);
    return nullptr;
  }
  auto Folded = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(size_t(Size));
  if (!Folded || !Read(0, Size, Folded->getBufferStart())) {
    Error = "the compressed offload bundle is truncated: its " +
            std::to_string(Size) + " bytes cannot be read";
    return nullptr;
  }
  auto Unfolded = llvm::object::CompressedOffloadBundle::decompress(*Folded);
  if (Unfolded)
    return std::move(*Unfolded);
  Error = "the compressed offload bundle cannot be decompressed: " +
          llvm::toString(Unfolded.takeError());
  return nullptr;
}

static std::vector<BundledObject> readPlain(const ObjectBytes &Read,
                                            std::string &Error) {
  uint64_t At = PlainMagic.size();
  bool Good = true;
  auto Number = [&](uint64_t Most) {
    uint8_t Bytes[8] = {};
    Good = Good && Read(At, sizeof(Bytes), Bytes);
    At += sizeof(Bytes);
    const uint64_t Value = llvm::support::endian::read64le(Bytes);
    Good = Good && Value <= Most;
    return Good ? Value : 0;
  };
  std::vector<BundledObject> Objects;
  const uint64_t Count = Number(MostEntries);
  for (uint64_t K = 0; K < Count && Good; ++K) {
    const uint64_t Offset = Number(MostBytes), Size = Number(MostBytes);
    std::string Id(size_t(Number(MostIdBytes)), '\0');
    Good = Good && Read(At, Id.size(), Id.data());
    At += Id.size();
    // KIND-TRIPLE-TARGET; the triple ends in an empty environment. The host's
    // entry, which is empty, is left out.
    const size_t Begin = StringRef(Id).find("-amdgcn-amd-amdhsa-");
    if (!Good || !Size || Begin == StringRef::npos)
      continue;
    // A size that is damaged should not cost its memory.
    char Last;
    if (!(Good = Read(Offset + Size - 1, 1, &Last)))
      break;
    BundledObject Object;
    Object.Target = StringRef(Id)
                        .substr(Begin + strlen("-amdgcn-amd-amdhsa-"))
                        .ltrim('-')
                        .str();
    Object.Bytes.resize(size_t(Size));
    Good = Read(Offset, Size, Object.Bytes.data());
    Objects.push_back(std::move(Object));
  }
  if (Good)
    return Objects;
  Error = "the offload bundle is truncated or damaged";
  return {};
}

std::vector<BundledObject>
lnbwd::sim::readOffloadBundle(const ObjectBytes &Read, std::string &Error) {
  if (!beginsWith(Read, CompressedMagic))
    return readPlain(Read, Error);
  const auto Unfolded = unfold(Read, Error);
  if (!Unfolded)
    return {};
  return readPlain(bytesOf(llvm::arrayRefFromStringRef(Unfolded->getBuffer())),
                   Error);
}

bool lnbwd::sim::isForChip(const std::string &Target,
                           const SimulatedChip &Chip) {
  const StringRef Name = StringRef(Target).split(':').first;
  return !Name.empty() && (Name == Chip.Chip || Name == Chip.GenericTarget);
}

const SimulatedChip *lnbwd::sim::firstChipOf(const std::string &Target) {
  for (const SimulatedChip &Chip : Chips)
    if (isForChip(Target, Chip))
      return &Chip;
  return nullptr;
}

const BundledObject *
lnbwd::sim::findObject(const std::vector<BundledObject> &Objects,
                       const SimulatedChip &Chip, std::string &Error) {
  // "sramecc+" and "xnack-" of the device contradict "sramecc-" and "xnack+".
  const std::string Device = Chip.archName();
  auto Fits = [&](const BundledObject &Object) {
    llvm::SmallVector<StringRef, 4> Features;
    StringRef(Object.Target).split(Features, ':');
    return isForChip(Object.Target, Chip) &&
           llvm::all_of(llvm::drop_begin(Features), [&](StringRef Feature) {
             return StringRef(Device).contains(Feature);
           });
  };
  std::string Targets;
  const BundledObject *Generic = nullptr;
  for (const BundledObject &Object : Objects) {
    if (Fits(Object)) {
      if (StringRef(Object.Target).split(':').first == Chip.Chip)
        return &Object;
      if (!Generic)
        Generic = &Object;
    }
    Targets += (Targets.empty() ? "" : ", ") + Object.Target;
  }
  if (Generic)
    return Generic;
  Error = "there is no code for " + Device +
          ", but the device is that; there "
          "is code for: " +
          (Targets.empty() ? "no AMD chip" : Targets);
  return nullptr;
}

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
