//===- ObjectReader.cpp - From the bytes of a code object to an image -----===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ELF reader is our own and checks every offset against the bytes there
// are, because a code object comes from outside. The metadata is MessagePack,
// read with LLVM's document after a check that its keys are texts.
//
//===----------------------------------------------------------------------===//

#include "Load/CodeObject.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/BinaryFormat/MsgPackReader.h"
#include "llvm/Support/AMDHSAKernelDescriptor.h"

#include <algorithm>
#include <cstring>
#include <tuple>

using namespace llvm;
using namespace lnbwd::sim;

/// The largest kernel argument segment. Compilers allow 4 KiB of arguments
/// (HIP) to 32 KiB (CUDA); hidden ones add 256 bytes.
constexpr uint32_t MostKernargBytes = 65536;

namespace {

/// Reads one code object; every step returns false with Error set when the
/// bytes are not what they should be.
class ObjectReader {
public:
  ObjectReader(ArrayRef<uint8_t> Bytes, const SimulatedChip &Chip,
               ObjectContents &Result, std::string &Error)
      : Bytes(Bytes), Chip(Chip), Result(Result), Error(Error) {}

  bool read(const ImageAllocator &Allocate) {
    return readHeader() && readSegments(Allocate) && readDynamicSection() &&
           readSymbols() && relocate() && readKernels();
  }

private:
  bool fail(const Twine &Text) {
    Error = Text.str();
    return false;
  }
  bool truncated(const Twine &What) {
    return fail("the code object is truncated: " + What + " lies beyond its " +
                Twine(Bytes.size()) + " bytes");
  }
  bool contains(uint64_t Offset, uint64_t Size) const {
    return Offset <= Bytes.size() && Size <= Bytes.size() - Offset;
  }
  template <typename T> bool get(uint64_t Offset, T &Out) const {
    if (!contains(Offset, sizeof(T)))
      return false;
    std::memcpy(&Out, Bytes.data() + Offset, sizeof(T));
    return true;
  }
  /// Whether the loaded image has those bytes.
  bool inImage(uint64_t Address, uint64_t Size) const {
    return Address <= ImageSize && Size <= ImageSize - Address;
  }
  template <typename T> bool getImage(uint64_t Address, T &Out) const {
    if (!inImage(Address, sizeof(T)))
      return false;
    std::memcpy(&Out, Image + Address, sizeof(T));
    return true;
  }

  bool readHeader();
  bool readSegments(const ImageAllocator &Allocate);
  bool readDynamicSection();
  bool readSymbols();
  bool readSymbolTable(uint64_t Table, uint64_t Count, uint64_t Strings,
                       uint64_t StringsSize, bool Dynamic);
  bool relocate();
  bool readKernels();
  bool readNotes();
  bool readDescriptor(Kernel &K);

  ArrayRef<uint8_t> Bytes;
  const SimulatedChip &Chip;
  ObjectContents &Result;
  std::string &Error;

  ELF::Elf64_Ehdr Header = {};
  std::vector<ELF::Elf64_Phdr> Segments;
  std::map<uint64_t, uint64_t> DynamicSection; // by tag
  uint8_t *Image = nullptr;
  uint64_t ImageSize = 0;
  struct Symbol {
    std::string Name;
    ELF::Elf64_Sym Entry;
  };
  std::vector<Symbol> Symbols;
  std::map<std::string, Kernel> FromMetadata; // by descriptor symbol
};

} // namespace

static bool fits(const SimulatedChip &Chip, unsigned Machine) {
  return Machine &&
         (Machine == Chip.ElfMachine || Machine == Chip.GenericMachine);
}

static std::string machineName(unsigned Machine) {
  for (const SimulatedChip &C : Chips)
    if (Machine && Machine == C.GenericMachine)
      return C.GenericTarget;
  if (const SimulatedChip *C = chipByMachine(Machine))
    return C->Chip;
  return "an AMD GPU with machine number 0x" + utohexstr(Machine);
}

bool ObjectReader::readHeader() {
  if (Bytes.size() >= 24 &&
      std::memcmp(Bytes.data(), "__CLANG_OFFLOAD_BUNDLE__", 24) == 0)
    return fail("expected an AMD code object, got an offload bundle; extract "
                "the code object with clang-offload-bundler");
  if (Bytes.size() < 4 || std::memcmp(Bytes.data(),
                                      "\x7f"
                                      "ELF",
                                      4) != 0)
    return fail("expected an AMD code object, got a file that is not ELF");
  if (!get(0, Header))
    return truncated("the ELF header");
  const unsigned char *Ident = Header.e_ident;
  if (Ident[ELF::EI_CLASS] != ELF::ELFCLASS64 ||
      Ident[ELF::EI_DATA] != ELF::ELFDATA2LSB)
    return fail("expected a little-endian ELF64 code object");
  if (Header.e_machine != ELF::EM_AMDGPU)
    return fail("expected an AMD code object (e_machine " +
                Twine(unsigned(ELF::EM_AMDGPU)) + "), got e_machine " +
                Twine(unsigned(Header.e_machine)));
  if (Ident[ELF::EI_OSABI] != ELF::ELFOSABI_AMDGPU_HSA)
    return fail("expected a code object for HSA (EI_OSABI " +
                Twine(unsigned(ELF::ELFOSABI_AMDGPU_HSA)) + "), got EI_OSABI " +
                Twine(unsigned(Ident[ELF::EI_OSABI])));
  unsigned Abi = Ident[ELF::EI_ABIVERSION];
  if (Abi < ELF::ELFABIVERSION_AMDGPU_HSA_V4 ||
      Abi > ELF::ELFABIVERSION_AMDGPU_HSA_V6)
    return fail("expected code object version 4, 5 or 6, got version " +
                Twine(Abi + 2) + "; compile with -mcode-object-version=5");
  if (Header.e_type != ELF::ET_DYN)
    return fail("expected a linked code object (ET_DYN), got e_type " +
                Twine(unsigned(Header.e_type)) +
                "; link it with ld.lld -shared");
  unsigned Machine = Header.e_flags & ELF::EF_AMDGPU_MACH;
  if (!fits(Chip, Machine))
    return fail("the code object is for " + machineName(Machine) +
                ", but the device is " + Chip.Chip + "; devices exist for " +
                namesOfChips());
  const unsigned Xnack = Header.e_flags & ELF::EF_AMDGPU_FEATURE_XNACK_V4;
  if (Xnack == ELF::EF_AMDGPU_FEATURE_XNACK_ON_V4 && !isXnackOn())
    return fail("the code object requires xnack, which the device has "
                "disabled; set HSA_XNACK=1 in the environment");
  if (Xnack == ELF::EF_AMDGPU_FEATURE_XNACK_OFF_V4 && Chip.CanHaveXnack &&
      isXnackOn())
    return fail("the code object requires xnack to be off, but the device "
                "has it on (HSA_XNACK=1)");
  if ((Header.e_flags & ELF::EF_AMDGPU_FEATURE_SRAMECC_V4) ==
          ELF::EF_AMDGPU_FEATURE_SRAMECC_OFF_V4 &&
      Chip.CanHaveSramEcc)
    return fail("the code object requires sramecc to be off, but the device "
                "has it on");
  return true;
}

bool ObjectReader::readSegments(const ImageAllocator &Allocate) {
  if (Header.e_phentsize != sizeof(ELF::Elf64_Phdr) || !Header.e_phnum)
    return fail("the code object has no program headers");
  for (unsigned K = 0; K < Header.e_phnum; ++K) {
    ELF::Elf64_Phdr P;
    if (!get(Header.e_phoff + K * sizeof(P), P))
      return truncated("its program headers");
    Segments.push_back(P);
  }
  constexpr uint64_t MostBytes = 1ull << 30;
  for (const auto &P : Segments) {
    if (P.p_type != ELF::PT_LOAD)
      continue;
    if (!contains(P.p_offset, P.p_filesz))
      return truncated("a segment");
    if (P.p_filesz > P.p_memsz || P.p_vaddr > MostBytes ||
        P.p_memsz > MostBytes)
      return fail("the code object has a malformed segment");
    // ELF wants them in order; one on top of another would have to be loaded
    // and decoded as often as there are such.
    if (P.p_vaddr < ImageSize)
      return fail("the code object's segments overlap or are not in order");
    ImageSize = P.p_vaddr + P.p_memsz;
  }
  if (!ImageSize)
    return fail("the code object has nothing to load");
  if (Header.e_shnum && !contains(Header.e_shoff, uint64_t(Header.e_shnum) *
                                                      sizeof(ELF::Elf64_Shdr)))
    return truncated("its section table");
  Image = static_cast<uint8_t *>(Allocate(ImageSize));
  if (!Image)
    return fail("there is no memory left for a code object of " +
                Twine(ImageSize) + " bytes");
  std::memset(Image, 0, size_t(ImageSize));
  Result.Base = reinterpret_cast<uint64_t>(Image);
  for (const auto &P : Segments) {
    if (P.p_type != ELF::PT_LOAD)
      continue;
    std::memcpy(Image + P.p_vaddr, Bytes.data() + P.p_offset,
                size_t(P.p_filesz));
    if (!(P.p_flags & ELF::PF_W) && P.p_memsz)
      Result.ReadOnlyParts.push_back({Result.Base + P.p_vaddr, P.p_memsz});
    if ((P.p_flags & ELF::PF_X) && P.p_filesz) {
      if (P.p_vaddr % 4)
        return fail("the code object has misaligned code");
      // Instructions are whole dwords; what is left over is none.
      if (P.p_filesz < 4)
        return fail("the code object has a code segment of " +
                    Twine(P.p_filesz) +
                    " bytes; expected 4, the shortest instruction, or more");
      Result.Code.push_back({Result.Base + P.p_vaddr, P.p_filesz & ~3ull, {}});
    }
  }
  return true;
}

bool ObjectReader::readSymbolTable(uint64_t Table, uint64_t Count,
                                   uint64_t Strings, uint64_t StringsSize,
                                   bool Dynamic) {
  for (uint64_t K = 0; K < Count; ++K) {
    ELF::Elf64_Sym S;
    bool Good = Dynamic ? getImage(Table + K * sizeof(S), S)
                        : get(Table + K * sizeof(S), S);
    if (!Good)
      return truncated("a symbol table");
    std::string Name;
    uint64_t At = S.st_name;
    if (At && At < StringsSize) {
      uint64_t Most = StringsSize - At;
      if (Dynamic ? !inImage(Strings + At, Most)
                  : !contains(Strings + At, Most))
        return truncated("a string table");
      const char *P = reinterpret_cast<const char *>(
          (Dynamic ? Image : Bytes.data()) + Strings + At);
      Name.assign(P, strnlen(P, size_t(Most)));
    }
    if (S.getType() == ELF::STT_OBJECT && S.st_shndx && S.st_size &&
        inImage(S.st_value, S.st_size) && !StringRef(Name).ends_with(".kd"))
      Result.Data.push_back({Result.Base + S.st_value,
                             Result.Base + S.st_value + S.st_size, Name});
    if (Dynamic) {
      Symbols.push_back({Name, S});
    } else if (S.getType() == ELF::STT_FUNC && S.st_shndx &&
               inImage(S.st_value, 0)) {
      Result.Functions[S.st_value] = Name;
    }
  }
  return true;
}

bool ObjectReader::readDynamicSection() {
  for (const auto &P : Segments) {
    if (P.p_type != ELF::PT_DYNAMIC)
      continue;
    for (uint64_t At = P.p_vaddr; At < P.p_vaddr + P.p_memsz;
         At += sizeof(ELF::Elf64_Dyn)) {
      ELF::Elf64_Dyn D;
      if (!getImage(At, D))
        return truncated("the dynamic section");
      if (D.d_tag == ELF::DT_NULL)
        break;
      DynamicSection[D.d_tag] = D.d_un.d_val;
    }
  }
  return true;
}

bool ObjectReader::readSymbols() {
  // The dynamic section says where symbols are in the image; the hash table
  // knows how many.
  const uint64_t Table = DynamicSection[ELF::DT_SYMTAB];
  const uint64_t Strings = DynamicSection[ELF::DT_STRTAB];
  const uint64_t Hash = DynamicSection[ELF::DT_HASH];
  // The symbols lie in the file, not in the zeros after a segment.
  const uint64_t MostSymbols = Bytes.size() / sizeof(ELF::Elf64_Sym);
  uint64_t Count = 0;
  uint32_t Chains = 0;
  if (Hash && getImage(Hash + 4, Chains))
    Count = Chains;
  std::vector<ELF::Elf64_Shdr> Sections;
  if (Header.e_shentsize == sizeof(ELF::Elf64_Shdr))
    for (unsigned K = 0; K < Header.e_shnum; ++K) {
      ELF::Elf64_Shdr S;
      if (!get(Header.e_shoff + K * sizeof(S), S))
        return truncated("its section table");
      Sections.push_back(S);
    }
  for (const auto &S : Sections) {
    if (S.sh_type == ELF::SHT_DYNSYM && !Count)
      Count = S.sh_size / sizeof(ELF::Elf64_Sym);
    // The full symbol table, where there is one, names local functions.
    if (S.sh_type == ELF::SHT_SYMTAB && S.sh_link < Sections.size()) {
      const auto &T = Sections[S.sh_link];
      if (!contains(S.sh_offset, S.sh_size) ||
          !contains(T.sh_offset, T.sh_size))
        return truncated("the symbol table");
      if (!readSymbolTable(S.sh_offset, S.sh_size / sizeof(ELF::Elf64_Sym),
                           T.sh_offset, T.sh_size, false))
        return false;
    }
  }
  if (!Table || !Strings || !Count)
    return fail("the code object has no dynamic symbols");
  if (Count > MostSymbols)
    return truncated("the symbol table");
  if (!readSymbolTable(Table, Count, Strings, DynamicSection[ELF::DT_STRSZ],
                       true))
    return false;
  for (const Symbol &S : Symbols) {
    if (!S.Entry.st_shndx || S.Name.empty())
      continue;
    if (!inImage(S.Entry.st_value, 0))
      return fail("the symbol '" + S.Name + "' lies outside of the image");
    if (S.Entry.getType() == ELF::STT_FUNC)
      Result.Functions[S.Entry.st_value] = S.Name;
    else if (S.Entry.getType() == ELF::STT_OBJECT &&
             !StringRef(S.Name).ends_with(".kd") &&
             inImage(S.Entry.st_value, S.Entry.st_size))
      Result.Globals[S.Name] = {Result.Base + S.Entry.st_value,
                                S.Entry.st_size};
  }
  return true;
}

bool ObjectReader::relocate() {
  const uint64_t Table = DynamicSection[ELF::DT_RELA];
  const uint64_t End = Table + DynamicSection[ELF::DT_RELASZ];
  for (uint64_t At = Table; At < End; At += sizeof(ELF::Elf64_Rela)) {
    ELF::Elf64_Rela R;
    if (!getImage(At, R))
      return truncated("the relocation table");
    uint64_t Value = Result.Base + uint64_t(R.r_addend);
    unsigned Type = R.getType();
    if (Type != ELF::R_AMDGPU_RELATIVE64) {
      if (R.getSymbol() >= Symbols.size())
        return fail("a relocation names a symbol that does not exist");
      const Symbol &S = Symbols[R.getSymbol()];
      if (!S.Entry.st_shndx)
        return fail("the symbol '" + S.Name +
                    "' is not defined in the code "
                    "object");
      Value += S.Entry.st_value;
    }
    uint64_t Place = Result.Base + R.r_offset;
    unsigned Bytes = 8;
    switch (Type) {
    case ELF::R_AMDGPU_RELATIVE64:
    case ELF::R_AMDGPU_ABS64:
      break;
    case ELF::R_AMDGPU_REL64:
      Value -= Place;
      break;
    case ELF::R_AMDGPU_ABS32_LO:
    case ELF::R_AMDGPU_ABS32:
      Bytes = 4;
      break;
    case ELF::R_AMDGPU_ABS32_HI:
      Value >>= 32;
      Bytes = 4;
      break;
    default:
      return fail("relocations of type " + Twine(Type) + " are not supported");
    }
    if (!inImage(R.r_offset, Bytes))
      return fail("a relocation lies outside of the image");
    std::memcpy(Image + R.r_offset, &Value, Bytes);
  }
  return true;
}

bool ObjectReader::readNotes() {
  for (const auto &P : Segments) {
    if (P.p_type != ELF::PT_NOTE)
      continue;
    if (!contains(P.p_offset, P.p_filesz))
      return truncated("the notes");
    uint64_t At = P.p_offset, End = P.p_offset + P.p_filesz;
    while (At + 12 <= End) {
      uint32_t NameSize, Size, Type;
      if (!get(At, NameSize) || !get(At + 4, Size) || !get(At + 8, Type))
        return truncated("the notes");
      uint64_t Name = At + 12;
      uint64_t Data = Name + (uint64_t(NameSize) + 3) / 4 * 4;
      if (Data > End || Size > End - Data)
        return fail("the code object has a malformed note");
      if (Type == ELF::NT_AMDGPU_METADATA && NameSize >= 6 &&
          std::memcmp(Bytes.data() + Name, "AMDGPU", 6) == 0 &&
          !readKernelMetadata(Bytes.slice(size_t(Data), Size), FromMetadata,
                              Error))
        return false;
      At = Data + (uint64_t(Size) + 3) / 4 * 4;
    }
  }
  return true;
}

bool ObjectReader::readDescriptor(Kernel &K) {
  amdhsa::kernel_descriptor_t D;
  uint64_t Offset = K.Descriptor - Result.Base;
  if (!getImage(Offset, D))
    return fail("the descriptor of kernel '" + K.Name +
                "' lies outside of the image");
  K.LdsSize = D.group_segment_fixed_size;
  K.ScratchSize = D.private_segment_fixed_size;
  K.KernargSize = D.kernarg_size;
  if (K.KernargSize > MostKernargBytes)
    return fail("kernel '" + K.Name + "' has a kernel argument segment of " +
                Twine(K.KernargSize) + " bytes; expected " +
                Twine(MostKernargBytes) + " at most");
  K.Rsrc1 = D.compute_pgm_rsrc1;
  K.Rsrc2 = D.compute_pgm_rsrc2;
  K.Rsrc3 = D.compute_pgm_rsrc3;
  K.Properties = D.kernel_code_properties;
  K.PreloadLength = D.kernarg_preload & 0x7f;
  K.PreloadOffset = D.kernarg_preload >> 7;
  K.Entry = K.Descriptor + uint64_t(D.kernel_code_entry_byte_offset);
  constexpr unsigned WaveSize32 = 1u << 10, DynamicStack = 1u << 11;
  K.WaveSize = K.Properties & WaveSize32 ? 32 : 64;
  K.DynamicStack |= (K.Properties & DynamicStack) != 0;
  if (Chip.Generation == 9 && K.WaveSize == 32)
    return fail("kernel '" + K.Name + "' is for waves of 32, which " +
                Chip.Chip + " does not have");
  if (Chip.isCdna5() && K.WaveSize == 64)
    return fail("kernel '" + K.Name + "' is for waves of 64, which " +
                Chip.Chip + " does not have");
  if (K.PreloadLength) {
    if (Chip.Generation != 9 && !Chip.isCdna5())
      return fail("kernel '" + K.Name + "' preloads kernel arguments, which " +
                  Chip.Chip + " does not do");
    // Hardware that preloads arguments starts after the 256 bytes of code
    // that load them for hardware that does not, where there is such.
    K.Entry += Chip.isCdna5() ? 0 : 256;
  }
  bool InCode = false;
  for (CodeRange &C : Result.Code)
    if (K.Entry >= C.Address && K.Entry < C.Address + C.Size &&
        K.Entry % 4 == 0) {
      C.Entries.push_back(K.Entry);
      InCode = true;
    }
  if (!InCode)
    return fail("kernel '" + K.Name + "' starts outside of the code");
  return true;
}

bool ObjectReader::readKernels() {
  if (!readNotes())
    return false;
  // Of several in one place the longest.
  llvm::sort(Result.Data, [](const DataSymbol &A, const DataSymbol &B) {
    return std::tie(A.Begin, B.End, A.Name) < std::tie(B.Begin, A.End, B.Name);
  });
  Result.Data.erase(llvm::unique(Result.Data,
                                 [](const DataSymbol &A, const DataSymbol &B) {
                                   return A.Begin == B.Begin;
                                 }),
                    Result.Data.end());
  for (const Symbol &S : Symbols) {
    StringRef Name = S.Name;
    if (!S.Entry.st_shndx || !Name.consume_back(".kd"))
      continue;
    Kernel K;
    auto It = FromMetadata.find(S.Name);
    if (It != FromMetadata.end())
      K = It->second;
    else
      K.Name = Name.str();
    K.Descriptor = Result.Base + S.Entry.st_value;
    if (!readDescriptor(K))
      return false;
    Result.Kernels[K.Name] = K;
  }
  for (auto &[Address, Name] : Result.Functions)
    for (CodeRange &C : Result.Code)
      if (Result.Base + Address >= C.Address &&
          Result.Base + Address < C.Address + C.Size && Address % 4 == 0)
        C.Entries.push_back(Result.Base + Address);
  return true;
}

bool lnbwd::sim::readObject(ArrayRef<uint8_t> Bytes, const SimulatedChip &Chip,
                            const ImageAllocator &Allocate,
                            ObjectContents &Contents, std::string &Error) {
  return ObjectReader(Bytes, Chip, Contents, Error).read(Allocate);
}

ObjectBytes lnbwd::sim::bytesOf(ArrayRef<uint8_t> Bytes) {
  return [Bytes](uint64_t Offset, uint64_t Size, void *Out) {
    if (Offset > Bytes.size() || Size > Bytes.size() - Offset)
      return false;
    std::memcpy(Out, Bytes.data() + Offset, size_t(Size));
    return true;
  };
}

uint64_t lnbwd::sim::objectExtent(const ObjectBytes &Read, std::string &Error) {
  ELF::Elf64_Ehdr Header;
  if (!Read(0, sizeof(Header), &Header)) {
    Error = "the code object is truncated: its first 64 bytes cannot be read";
    return 0;
  }
  // What is not an ELF file is described by create().
  if (std::memcmp(Header.e_ident,
                  "\x7f"
                  "ELF",
                  4) != 0 ||
      Header.e_ident[ELF::EI_CLASS] != ELF::ELFCLASS64)
    return sizeof(Header);
  constexpr uint64_t MostBytes = 1ull << 30;
  uint64_t Extent = sizeof(Header);
  bool Good = true;
  auto Add = [&](uint64_t Offset, uint64_t Size) {
    Good &= Offset <= MostBytes && Size <= MostBytes;
    if (Good)
      Extent = std::max(Extent, Offset + Size);
  };
  Add(Header.e_phoff, uint64_t(Header.e_phnum) * Header.e_phentsize);
  Add(Header.e_shoff, uint64_t(Header.e_shnum) * Header.e_shentsize);
  if (Good && Header.e_phentsize == sizeof(ELF::Elf64_Phdr))
    for (unsigned K = 0; K < Header.e_phnum; ++K) {
      ELF::Elf64_Phdr P;
      if (!Read(Header.e_phoff + K * sizeof(P), sizeof(P), &P)) {
        Error = "the code object is truncated: its program headers cannot be "
                "read";
        return 0;
      }
      Add(P.p_offset, P.p_filesz);
    }
  if (!Good) {
    Error = "the code object's headers point beyond 1 GiB";
    return 0;
  }
  return Extent;
}

/// Whether all keys of all maps are texts. LLVM's document has undefined
/// behaviour for keys that are lists, maps, bytes or nothing.
static bool hasTextKeys(StringRef Blob) {
  struct Level {
    uint64_t Left; ///< objects; those of a map alternate, a key first
    bool IsMap;
  };
  SmallVector<Level, 8> Stack;
  msgpack::Reader Reader(Blob);
  do {
    msgpack::Object Object;
    Expected<bool> More = Reader.read(Object);
    if (!More) {
      consumeError(More.takeError());
      return false;
    }
    if (!*More)
      return false;
    if (!Stack.empty()) {
      Level &Inner = Stack.back();
      if (Inner.IsMap && Inner.Left % 2 == 0 &&
          Object.Kind != msgpack::Type::String)
        return false;
      --Inner.Left;
    }
    if (Object.Kind == msgpack::Type::Map)
      Stack.push_back({2 * uint64_t(Object.Length), true});
    else if (Object.Kind == msgpack::Type::Array)
      Stack.push_back({uint64_t(Object.Length), false});
    while (!Stack.empty() && !Stack.back().Left)
      Stack.pop_back();
  } while (!Stack.empty());
  return true;
}

bool lnbwd::sim::readKernelMetadata(ArrayRef<uint8_t> Note,
                                    std::map<std::string, Kernel> &BySymbol,
                                    std::string &Error) {
  auto Unreadable = [&] {
    Error = "the code object's metadata cannot be read";
    return false;
  };
  msgpack::Document Doc;
  StringRef Blob(reinterpret_cast<const char *>(Note.data()), Note.size());
  if (!hasTextKeys(Blob) || !Doc.readFromBlob(Blob, /*Multi=*/false) ||
      !Doc.getRoot().isMap())
    return Unreadable();
  auto Root = Doc.getRoot().getMap();
  auto Kernels = Root.find("amdhsa.kernels");
  if (Kernels == Root.end())
    return true;
  if (!Kernels->second.isArray())
    return Unreadable();
  auto Number = [](msgpack::MapDocNode &Map, StringRef Key,
                   uint32_t Otherwise) -> uint32_t {
    auto It = Map.find(Key);
    if (It == Map.end())
      return Otherwise;
    if (It->second.getKind() == msgpack::Type::UInt)
      return uint32_t(It->second.getUInt());
    if (It->second.getKind() == msgpack::Type::Int)
      return uint32_t(It->second.getInt());
    return Otherwise;
  };
  auto Text = [](msgpack::MapDocNode &Map, StringRef Key) -> std::string {
    auto It = Map.find(Key);
    if (It == Map.end() || !It->second.isString())
      return "";
    return It->second.getString().str();
  };
  auto &List = Kernels->second.getArray();
  for (size_t K = 0; K < List.size(); ++K) {
    if (!List[K].isMap())
      return Unreadable();
    auto Map = List[K].getMap();
    Kernel Entry;
    Entry.HasMetadata = true;
    Entry.Name = Text(Map, ".name");
    std::string Symbol = Text(Map, ".symbol");
    if (Entry.Name.empty() || Symbol.empty()) {
      Error = "the code object's metadata has a kernel without a name";
      return false;
    }
    Entry.MaxFlatWorkgroupSize = Number(Map, ".max_flat_workgroup_size", 1024);
    Entry.VgprCount = Number(Map, ".vgpr_count", 256);
    Entry.AgprCount = Number(Map, ".agpr_count", 0);
    Entry.SgprCount = Number(Map, ".sgpr_count", 104);
    auto Stated = [&](StringRef Key) -> int64_t {
      auto It = Map.find(Key);
      return It == Map.end() ? -1 : int64_t(Number(Map, Key, 0));
    };
    Entry.MetadataLds = Stated(".group_segment_fixed_size");
    Entry.MetadataScratch = Stated(".private_segment_fixed_size");
    Entry.MetadataKernarg = Stated(".kernarg_segment_size");
    Entry.MetadataWaveSize = Stated(".wavefront_size");
    auto Sizes = [&](StringRef Key, uint32_t *To) {
      auto It = Map.find(Key);
      if (It == Map.end() || !It->second.isArray())
        return;
      auto &List = It->second.getArray();
      for (size_t D = 0; D < 3 && D < List.size(); ++D)
        if (List[D].getKind() == msgpack::Type::UInt)
          To[D] = uint32_t(List[D].getUInt());
    };
    Sizes(".reqd_workgroup_size", Entry.RequiredBlock);
    Sizes(".cluster_dims", Entry.ClusterDims);
    auto Stack = Map.find(".uses_dynamic_stack");
    if (Stack != Map.end() && Stack->second.getKind() == msgpack::Type::Boolean)
      Entry.DynamicStack = Stack->second.getBool();
    auto Args = Map.find(".args");
    if (Args != Map.end() && Args->second.isArray()) {
      auto &ArgList = Args->second.getArray();
      for (size_t A = 0; A < ArgList.size(); ++A) {
        if (!ArgList[A].isMap())
          return Unreadable();
        auto ArgMap = ArgList[A].getMap();
        KernelArgument Arg;
        Arg.Offset = Number(ArgMap, ".offset", 0);
        Arg.Size = Number(ArgMap, ".size", 0);
        Arg.Kind = Text(ArgMap, ".value_kind");
        Entry.Arguments.push_back(Arg);
      }
    }
    BySymbol[Symbol] = Entry;
  }
  return true;
}
