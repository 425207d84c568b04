//===- CodeObjectTest.cpp - Loading of code objects -----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is loaded, and every kind of file that is refused, with its message.
//
//===----------------------------------------------------------------------===//

#include "Load/CodeObject.h"
#include "Assembler/Assembler.h"
#include "WaveTester.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/BinaryFormat/ELF.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace lnbwd::sim;
namespace ELF = llvm::ELF;

namespace {
class Loader {
public:
  ~Loader() { std::free(Image); }
  std::unique_ptr<CodeObject> load(const std::vector<uint8_t> &Bytes,
                                   const std::string &Chip) {
    std::free(Image);
    Image = nullptr;
    Error.clear();
    return CodeObject::create(
        {Bytes.data(), Bytes.size()}, chipNamed(Chip),
        [&](uint64_t Size) { return Image = std::malloc(size_t(Size)); },
        Error);
  }
  std::string Error;

private:
  void *Image = nullptr;
};
} // namespace

static std::vector<uint8_t> simpleObject(const std::string &Chip,
                                         unsigned Version = 5) {
  KernelText K;
  K.Body = "\ts_nop 0";
  K.KernargBytes = 16;
  K.LdsBytes = 512;
  K.MaxFlatWorkgroupSize = 256;
  std::string Error;
  auto Bytes =
      assembleCodeObject(kernelText(K, Chip, Version), Chip, Version, Error);
  EXPECT_FALSE(Bytes.empty()) << Error;
  return Bytes;
}

TEST(CodeObject, KernelsOfAllChips) {
  for (const std::string &Chip : chipsIn(AllChips))
    for (unsigned Version : {4u, 5u, 6u}) {
      SCOPED_TRACE(Chip + " version " + std::to_string(Version));
      Loader L;
      auto Object = L.load(simpleObject(Chip, Version), Chip);
      ASSERT_TRUE(Object) << L.Error;
      const Kernel *K = Object->kernel("k");
      ASSERT_TRUE(K);
      EXPECT_EQ(K->LdsSize, 512u);
      EXPECT_EQ(K->KernargSize, 16u);
      EXPECT_EQ(K->MaxFlatWorkgroupSize, 256u);
      EXPECT_EQ(K->VgprCount, 64u);
      EXPECT_EQ(K->WaveSize, chipNamed(Chip).WaveSize);
      ASSERT_EQ(K->Arguments.size(), 2u);
      EXPECT_EQ(K->Arguments[1].Offset, 8u);
      EXPECT_EQ(K->Arguments[1].Kind, "global_buffer");
      const InstructionTable &P = Object->code(K->WaveSize);
      ASSERT_NE(P.at(K->Entry), nullptr);
      EXPECT_EQ(P.text(P.at(K->Entry)), "s_nop 0");
      EXPECT_EQ(Object->symbolize(K->Entry + 4), "k+0x4");
      EXPECT_EQ(Object->kernel("other"), nullptr);
    }
}

TEST(CodeObject, RefusesOtherChips) {
  Loader L;
  EXPECT_FALSE(L.load(simpleObject("gfx90a"), "gfx942"));
  EXPECT_EQ(L.Error.rfind("the code object is for gfx90a, but the device is "
                          "gfx942; devices exist for gfx908, gfx90a, ",
                          0),
            0u)
      << L.Error;
}

// What is compiled for all chips of a kind runs on each of them.
TEST(CodeObject, GenericTargets) {
  struct Case {
    uint8_t Machine;
    const char *Name;
    std::vector<const char *> Fits, Others;
  };
  for (const Case &C :
       {Case{0x5f, "gfx9-4-generic", {"gfx942", "gfx950"}, {"gfx90a"}},
        Case{0x53, "gfx10-3-generic", {"gfx1030"}, {"gfx1100"}},
        Case{0x54, "gfx11-generic", {"gfx1100", "gfx1151"}, {"gfx1201"}},
        Case{0x59, "gfx12-generic", {"gfx1200", "gfx1201"}, {"gfx1100"}}}) {
    std::vector<uint8_t> Bytes = simpleObject(C.Fits[0], 6);
    Bytes[48] = C.Machine;
    Bytes[51] = 1; // the version of the target
    for (const char *Chip : C.Fits) {
      Loader L;
      EXPECT_TRUE(L.load(Bytes, Chip)) << C.Name << " " << L.Error;
    }
    for (const char *Chip : C.Others) {
      Loader L;
      EXPECT_FALSE(L.load(Bytes, Chip)) << C.Name;
      EXPECT_NE(
          L.Error.find(std::string("is for ") + C.Name + ", but the device is"),
          std::string::npos)
          << L.Error;
    }
  }
}

TEST(CodeObject, RefusesOtherFiles) {
  Loader L;
  EXPECT_FALSE(L.load({}, "gfx942"));
  EXPECT_NE(L.Error.find("not ELF"), std::string::npos);
  std::string Text = "hello, world, this is no code object at all............";
  EXPECT_FALSE(L.load({Text.begin(), Text.end()}, "gfx942"));
  EXPECT_NE(L.Error.find("not ELF"), std::string::npos);
  std::string Bundle = "__CLANG_OFFLOAD_BUNDLE__and more";
  EXPECT_FALSE(L.load({Bundle.begin(), Bundle.end()}, "gfx942"));
  EXPECT_NE(L.Error.find("clang-offload-bundler"), std::string::npos);

  const std::vector<uint8_t> Good = simpleObject("gfx942");
  auto With = [&](size_t Offset, uint8_t Value) {
    std::vector<uint8_t> Bad = Good;
    Bad[Offset] = Value;
    EXPECT_FALSE(L.load(Bad, "gfx942"));
    return L.Error;
  };
  EXPECT_NE(With(4, 1).find("ELF64"), std::string::npos);   // class
  EXPECT_NE(With(7, 0).find("for HSA"), std::string::npos); // OS
  EXPECT_NE(With(8, 1).find("version 4, 5 or 6, got version 3"),
            std::string::npos)
      << L.Error;
  EXPECT_NE(With(16, 1).find("ld.lld"), std::string::npos);        // type
  EXPECT_NE(With(18, 62).find("e_machine 62"), std::string::npos); // x86
  // An unlinked object.
  KernelText K;
  std::string Error;
  auto Relocatable =
      assembleObject(kernelText(K, "gfx942"), "gfx942", 0, Error);
  ASSERT_FALSE(Relocatable.empty()) << Error;
  EXPECT_FALSE(L.load(Relocatable, "gfx942"));
  EXPECT_NE(L.Error.find("ET_DYN"), std::string::npos) << L.Error;
}

TEST(CodeObject, RefusesKeysThatAreNoTexts) {
  // Two keys of one map become byte strings; LLVM's reader cannot compare them.
  std::vector<uint8_t> Bytes = simpleObject("gfx942");
  unsigned Changed = 0;
  for (const char *Name : {".name", ".args"}) {
    const std::string Key = std::string("\xa5") + Name;
    for (size_t At = 0; At + Key.size() <= Bytes.size(); ++At)
      if (std::memcmp(&Bytes[At], Key.data(), Key.size()) == 0) {
        Bytes[At] = 0xc4;
        Bytes[At + 1] = 4;
        ++Changed;
      }
  }
  ASSERT_GE(Changed, 2u);
  Loader L;
  EXPECT_FALSE(L.load(Bytes, "gfx942"));
  EXPECT_EQ(L.Error, "the code object's metadata cannot be read");
}

/// The program headers of a code object, to be changed.
static std::vector<ELF::Elf64_Phdr *> segments(std::vector<uint8_t> &Bytes) {
  auto *Header = reinterpret_cast<ELF::Elf64_Ehdr *>(Bytes.data());
  auto *First =
      reinterpret_cast<ELF::Elf64_Phdr *>(Bytes.data() + Header->e_phoff);
  std::vector<ELF::Elf64_Phdr *> All;
  All.reserve(Header->e_phnum);
  for (unsigned K = 0; K < Header->e_phnum; ++K)
    All.push_back(First + K);
  return All;
}

// Less than an instruction of code: a wave would wait for one for ever.
TEST(CodeObject, RefusesCodeWithoutAnInstruction) {
  Loader L;
  for (unsigned Size : {1u, 2u, 3u}) {
    std::vector<uint8_t> Bytes = simpleObject("gfx942");
    for (ELF::Elf64_Phdr *P : segments(Bytes))
      if (P->p_type == ELF::PT_LOAD && (P->p_flags & ELF::PF_X))
        P->p_filesz = P->p_memsz = Size;
    EXPECT_FALSE(L.load(Bytes, "gfx942"));
    EXPECT_EQ(L.Error, "the code object has a code segment of " +
                           std::to_string(Size) +
                           " bytes; expected 4, the shortest instruction, or "
                           "more");
  }
  // The entry lies in what is left over.
  std::vector<uint8_t> Bytes = simpleObject("gfx942");
  auto Object = L.load(Bytes, "gfx942");
  ASSERT_TRUE(Object) << L.Error;
  const uint64_t Entry = Object->kernel("k")->Entry - Object->imageBase();
  for (ELF::Elf64_Phdr *P : segments(Bytes))
    if (P->p_type == ELF::PT_LOAD && (P->p_flags & ELF::PF_X)) {
      P->p_offset -= 4;
      P->p_vaddr -= 4;
      ASSERT_EQ(P->p_vaddr + 4, Entry);
      P->p_filesz = P->p_memsz = 6;
    }
  EXPECT_FALSE(L.load(Bytes, "gfx942"));
  EXPECT_EQ(L.Error, "kernel 'k' starts outside of the code");
}

TEST(CodeObject, RefusesSegmentsOnTopOfEachOther) {
  std::vector<uint8_t> Bytes = simpleObject("gfx942");
  for (ELF::Elf64_Phdr *P : segments(Bytes))
    if (P->p_type == ELF::PT_LOAD)
      P->p_vaddr = 0;
  Loader L;
  EXPECT_FALSE(L.load(Bytes, "gfx942"));
  EXPECT_EQ(L.Error, "the code object's segments overlap or are not in order");
}

TEST(CodeObject, RefusesAbsurdArgumentSegments) {
  std::vector<uint8_t> Bytes = simpleObject("gfx942");
  Loader L;
  auto Object = L.load(Bytes, "gfx942");
  ASSERT_TRUE(Object) << L.Error;
  const uint64_t At = Object->kernel("k")->Descriptor - Object->imageBase();
  auto With = [&](uint32_t Size) {
    for (ELF::Elf64_Phdr *P : segments(Bytes))
      if (P->p_type == ELF::PT_LOAD && At >= P->p_vaddr &&
          At - P->p_vaddr < P->p_filesz)
        std::memcpy(&Bytes[P->p_offset + (At - P->p_vaddr) + 8], &Size, 4);
    return L.load(Bytes, "gfx942");
  };
  EXPECT_TRUE(With(65536)) << L.Error;
  EXPECT_FALSE(With(65537));
  EXPECT_FALSE(With(0xffffffff));
  EXPECT_EQ(L.Error, "kernel 'k' has a kernel argument segment of 4294967295 "
                     "bytes; expected 65536 at most");
}

// Sections that say that they are compressed, and how large they are.
TEST(CodeObject, CompressedSectionsOfAnySize) {
  for (uint64_t Size : {uint64_t(1) << 62, uint64_t(-1), uint64_t(1) << 34,
                        uint64_t(0), uint64_t(100)}) {
    SCOPED_TRACE(Size);
    KernelText K;
    std::string Error;
    auto Bytes = assembleCodeObject(
        kernelText(K, "gfx942") +
            "\t.section .debug_line,\"\",@progbits\n\t.long 1\n\t.long 0\n"
            "\t.quad " +
            std::to_string(Size) + "\n\t.quad 1\n\t.quad 0\n",
        "gfx942", 5, Error);
    ASSERT_FALSE(Bytes.empty()) << Error;
    auto *Header = reinterpret_cast<ELF::Elf64_Ehdr *>(Bytes.data());
    auto *Sections =
        reinterpret_cast<ELF::Elf64_Shdr *>(Bytes.data() + Header->e_shoff);
    const char *Names = reinterpret_cast<const char *>(
        Bytes.data() + Sections[Header->e_shstrndx].sh_offset);
    unsigned Changed = 0;
    for (unsigned S = 0; S < Header->e_shnum; ++S)
      if (std::strcmp(Names + Sections[S].sh_name, ".debug_line") == 0) {
        Sections[S].sh_flags |= ELF::SHF_COMPRESSED;
        ++Changed;
      }
    ASSERT_EQ(Changed, 1u);
    Loader L;
    auto Object = L.load(Bytes, "gfx942");
    ASSERT_TRUE(Object) << L.Error;
    EXPECT_EQ(Object->sourceLine(Object->kernel("k")->Entry), "");
  }
}

/// Debug information by hand: the kernel's only instruction is from line 7,
/// column 3 of k.c, whose name has the given DWARF form in the table.
static std::string lineTable(unsigned Form) {
  return "\t.section .debug_abbrev,\"\",@progbits\n"
         "\t.byte 1,17,0,16,23,17,1,18,6,0,0,0\n"
         "\t.section .debug_info,\"\",@progbits\n"
         "\t.long .Linfo_end-.Linfo\n"
         ".Linfo:\n\t.short 5\n\t.byte 1,8\n\t.long .debug_abbrev\n"
         "\t.byte 1\n\t.long .debug_line\n\t.quad k\n\t.long 8\n"
         ".Linfo_end:\n"
         "\t.section .debug_line,\"\",@progbits\n"
         "\t.long .Lline_end-.Lline\n"
         ".Lline:\n\t.short 5\n\t.byte 8,0\n"
         "\t.long .Lheader_end-.Lheader\n"
         ".Lheader:\n\t.byte 4,1,1,0xfb,14,13,0,1,1,1,1,0,0,0,1,0,0,1\n"
         // One directory, by its name, and one file: name, directory.
         "\t.byte 1,1,8,1\n\t.asciz \"/source\"\n"
         "\t.byte 2,1," +
         std::to_string(Form) +
         ",2,15,1\n\t.asciz \"k.c\"\n\t.byte 0\n"
         ".Lheader_end:\n"
         // The address of k, file 0, line 7, column 3; two instructions.
         "\t.byte 0,9,2\n\t.quad k\n"
         "\t.byte 4,0,3,6,5,3,1,2,2,0,1,1\n.Lline_end:\n";
}

// LLVM's DWARF reader crashes on some forms where they make no sense.
TEST(CodeObject, DamagedLineTables) {
  constexpr uint8_t String = 8; // DW_FORM_string
  std::string Error;
  std::vector<uint8_t> Bytes =
      assembleCodeObject(kernelText(KernelText(), "gfx942") + lineTable(String),
                         "gfx942", 5, Error);
  ASSERT_FALSE(Bytes.empty()) << Error;
  const uint8_t Formats[] = {2, 1, String, 2, 15, 1, 'k', '.', 'c', 0};
  auto Place = llvm::search(Bytes, Formats);
  ASSERT_NE(Place, Bytes.end());
  for (unsigned Form = 0; Form < 256; ++Form) {
    SCOPED_TRACE(Form);
    Place[2] = uint8_t(Form);
    Loader L;
    auto Object = L.load(Bytes, "gfx942");
    ASSERT_TRUE(Object) << L.Error;
    const std::string Line = Object->sourceLine(Object->kernel("k")->Entry);
    if (Form == String) {
      EXPECT_EQ(Line, "k.c:7:3");
    }
    // It has not changed its mind.
    EXPECT_EQ(Object->sourceLine(Object->kernel("k")->Entry), Line);
  }
  // More files than anybody would wait for.
  Place[2] = String;
  std::fill_n(Place + 5, 8, 0xff);
  Place[13] = 0x7f;
  Loader L;
  auto Object = L.load(Bytes, "gfx942");
  ASSERT_TRUE(Object) << L.Error;
  EXPECT_EQ(Object->sourceLine(Object->kernel("k")->Entry), "");
}

TEST(CodeObject, RefusesEveryTruncation) {
  const std::vector<uint8_t> Good = simpleObject("gfx942");
  Loader L;
  for (size_t Size = 0; Size < Good.size(); Size += 37) {
    std::vector<uint8_t> Cut(Good.begin(), Good.begin() + ptrdiff_t(Size));
    EXPECT_FALSE(L.load(Cut, "gfx942")) << Size;
    if (Size >= 64) {
      EXPECT_NE(L.Error.find("truncated"), std::string::npos)
          << Size << ": " << L.Error;
    }
  }
}

// Flipped bytes give a code object or a message, never a crash.
TEST(CodeObject, SurvivesMutation) {
  const std::vector<uint8_t> Good = simpleObject("gfx1201");
  Loader L;
  uint32_t State = 7;
  auto Next = [&] {
    State = State * 1664525 + 1013904223;
    return State >> 8;
  };
  for (unsigned Round = 0; Round < 3000; ++Round) {
    std::vector<uint8_t> Bad = Good;
    for (unsigned K = 0; K < 1 + Round % 8; ++K)
      Bad[Next() % Bad.size()] = uint8_t(Next());
    auto Object = L.load(Bad, "gfx1201");
    EXPECT_NE(Object == nullptr, L.Error.empty());
  }
}

TEST(CodeObject, Wave64OnGfx1100) {
  KernelText K;
  K.WaveSize = 64;
  std::string Error;
  auto Bytes =
      assembleCodeObject(kernelText(K, "gfx1100"), "gfx1100", 5, Error, 64);
  ASSERT_FALSE(Bytes.empty()) << Error;
  Loader L;
  auto Object = L.load(Bytes, "gfx1100");
  ASSERT_TRUE(Object) << L.Error;
  EXPECT_EQ(Object->kernel("k")->WaveSize, 64u);
}

TEST(CodeObject, VariablesAndRelocations) {
  KernelText K;
  std::string Text = kernelText(K, "gfx942") +
                     "\t.data\n\t.globl number\n\t.type number,@object\n"
                     "\t.p2align 3\nnumber:\n\t.quad 42\n\t.size number, 8\n"
                     "\t.globl pointer\n\t.type pointer,@object\n"
                     "pointer:\n\t.quad number\n\t.size pointer, 8\n";
  std::string Error;
  auto Bytes = assembleCodeObject(Text, "gfx942", 5, Error);
  ASSERT_FALSE(Bytes.empty()) << Error;
  Loader L;
  auto Object = L.load(Bytes, "gfx942");
  ASSERT_TRUE(Object) << L.Error;
  const GlobalVariable *Number = Object->global("number");
  const GlobalVariable *Pointer = Object->global("pointer");
  ASSERT_TRUE(Number && Pointer);
  EXPECT_EQ(Number->Size, 8u);
  EXPECT_EQ(*reinterpret_cast<const uint64_t *>(Number->Address), 42u);
  EXPECT_EQ(*reinterpret_cast<const uint64_t *>(Pointer->Address),
            Number->Address);
}

TEST(CodeObject, Extent) {
  const std::vector<uint8_t> Good = simpleObject("gfx942");
  std::string Error;
  auto Read = [&](uint64_t Offset, uint64_t Size, void *Out) {
    if (Offset + Size > Good.size())
      return false;
    std::memcpy(Out, Good.data() + Offset, size_t(Size));
    return true;
  };
  EXPECT_EQ(CodeObject::extent(Read, Error), Good.size());
  auto Nothing = [](uint64_t, uint64_t, void *) { return false; };
  EXPECT_EQ(CodeObject::extent(Nothing, Error), 0u);
  EXPECT_NE(Error.find("truncated"), std::string::npos);
}
