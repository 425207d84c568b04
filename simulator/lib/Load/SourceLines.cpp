//===- SourceLines.cpp - Source locations of machine code -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's DWARF reader does it; the bytes are kept, because it reads on demand.
// A table that makes it crash has no locations.
//
//===----------------------------------------------------------------------===//

#include "Load/CodeObject.h"

#include "Core/Environment.h"

#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/DebugInfo/DWARF/DWARFFormValue.h"
#include "llvm/Object/Decompressor.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

#include <mutex>

using namespace llvm;
using namespace lnbwd::sim;

/// Compressed sections may unfold to so many bytes, all of them together.
constexpr uint64_t MostDecompressedBytes = 256ull << 20;

/// The forms that DWARF 5 has for names, directories, times, sizes and sums of
/// files. LLVM's reader has undefined behaviour for some of the others.
static bool isLineTableForm(uint64_t Form) {
  switch (Form) {
  case dwarf::DW_FORM_string:
  case dwarf::DW_FORM_line_strp:
  case dwarf::DW_FORM_strp:
  case dwarf::DW_FORM_udata:
  case dwarf::DW_FORM_data1:
  case dwarf::DW_FORM_data2:
  case dwarf::DW_FORM_data4:
  case dwarf::DW_FORM_data8:
  case dwarf::DW_FORM_data16:
  case dwarf::DW_FORM_block:
    return true;
  default:
    return false;
  }
}

/// Goes over one table of a line table's header, of directories or of files:
/// the formats of an entry, then so many entries. False if a form is not known,
/// or the entries do not end before End.
static bool skipEntries(const DWARFDataExtractor &Data,
                        DataExtractor::Cursor &C, uint64_t End,
                        const dwarf::FormParams &Params) {
  SmallVector<uint64_t, 4> Forms;
  for (unsigned Left = Data.getU8(C); C && Left; --Left) {
    Data.getULEB128(C); // what it is
    Forms.push_back(Data.getULEB128(C));
  }
  if (!all_of(Forms, isLineTableForm))
    return false;
  const uint64_t Entries = Data.getULEB128(C);
  uint64_t At = C.tell();
  for (uint64_t K = 0; C && K < Entries && !Forms.empty(); ++K)
    for (uint64_t Form : Forms) {
      const uint64_t Before = At;
      // What cannot be read is not skipped either.
      if (!DWARFFormValue::skipValue(dwarf::Form(Form), Data, &At, Params) ||
          At == Before || At > End)
        return false;
    }
  C.seek(At);
  return true;
}

/// Whether the headers of all line tables of a section can be read, with known
/// forms only.
static bool hasKnownForms(StringRef Section) {
  DWARFDataExtractor Data(Section, /*IsLittleEndian=*/true, /*AddressSize=*/8);
  for (uint64_t Unit = 0; Unit < Section.size();) {
    DataExtractor::Cursor C(Unit);
    const auto [Length, Format] = Data.getInitialLength(C);
    const uint64_t Begin = C.tell();
    const dwarf::FormParams Params = {Data.getU16(C), 8, Format};
    bool Good = Length <= Section.size() - std::min(Begin, Section.size());
    if (C && Good && Params.Version >= 5) {
      // Sizes of addresses and selectors, the header's length, five bytes.
      Data.skip(C, 2 + Params.getDwarfOffsetByteSize() + 5);
      const uint8_t OpcodeBase = Data.getU8(C);
      Data.skip(C, OpcodeBase ? OpcodeBase - 1 : 0);
      const uint64_t End = Begin + Length;
      // The folders, and after them the files.
      Good = skipEntries(Data, C, End, Params);
      Good = Good && skipEntries(Data, C, End, Params);
    }
    if (Error E = C.takeError()) {
      consumeError(std::move(E));
      return false;
    }
    if (!Good)
      return false;
    Unit = Begin + Length;
  }
  return true;
}

/// Whether the compressed sections have sizes that can be had. The reader
/// allocates what their headers say, and ends the process where that fails.
static bool canDecompress(const object::ObjectFile &File) {
  uint64_t Total = 0;
  for (const object::SectionRef &S : File.sections()) {
    if (!S.isCompressed())
      continue;
    Expected<StringRef> Contents = S.getContents();
    if (!Contents) {
      consumeError(Contents.takeError());
      return false;
    }
    auto Decompressor = object::Decompressor::create(
        "", *Contents, File.isLittleEndian(), File.getBytesInAddress() == 8);
    if (!Decompressor) {
      consumeError(Decompressor.takeError());
      return false;
    }
    const uint64_t Size = Decompressor->getDecompressedSize();
    if (Size > MostDecompressedBytes - Total)
      return false;
    Total += Size;
  }
  return true;
}

struct SourceLines::Impl {
  std::mutex Lock; ///< the reader keeps what it has found
  std::unique_ptr<MemoryBuffer> Bytes;
  std::unique_ptr<object::ObjectFile> File;
  std::unique_ptr<DWARFContext> Dwarf; ///< null once it has crashed

  DIInliningInfo frames(uint64_t Address,
                        DILineInfoSpecifier::FileLineInfoKind Files) const;
  std::string ask(uint64_t Address,
                  function_ref<std::string(const DIInliningInfo &)> Answer,
                  DILineInfoSpecifier::FileLineInfoKind Files =
                      DILineInfoSpecifier::FileLineInfoKind::RelativeFilePath);
};

SourceLines::SourceLines() : TheImpl(std::make_unique<Impl>()) {}
SourceLines::~SourceLines() = default;

std::unique_ptr<SourceLines> SourceLines::load(ArrayRef<uint8_t> Bytes) {
  StringRef Text(reinterpret_cast<const char *>(Bytes.data()), Bytes.size());
  // Without the section's name there is no section.
  if (!Text.contains(".debug_line"))
    return nullptr;
  std::unique_ptr<SourceLines> Lines(new SourceLines());
  Impl &I = *Lines->TheImpl;
  I.Bytes = MemoryBuffer::getMemBufferCopy(Text, "code object");
  auto File =
      object::ObjectFile::createELFObjectFile(I.Bytes->getMemBufferRef());
  if (!File) {
    consumeError(File.takeError());
    return nullptr;
  }
  I.File = std::move(*File);
  if (!canDecompress(*I.File))
    return nullptr;
  // A broken table gives no locations; the code runs without them.
  auto Ignore = [](Error E) { consumeError(std::move(E)); };
  CrashGuard Guard;
  if (!Guard.survives([&] {
        I.Dwarf = DWARFContext::create(
            *I.File, DWARFContext::ProcessDebugRelocations::Process, nullptr,
            "", Ignore, Ignore);
      }) ||
      !hasKnownForms(I.Dwarf->getDWARFObj().getLineSection().Data))
    return nullptr;
  return Lines;
}

DIInliningInfo
SourceLines::Impl::frames(uint64_t Address,
                          DILineInfoSpecifier::FileLineInfoKind Files) const {
  DILineInfoSpecifier How(Files, DINameKind::ShortName);
  for (const object::SectionRef &S : File->sections())
    if (S.isText() && Address >= S.getAddress() &&
        Address - S.getAddress() < S.getSize())
      return Dwarf->getInliningInfoForAddress({Address, S.getIndex()}, How);
  return {};
}

/// How many functions a location names that were inlined into each other.
constexpr unsigned MostFrames = 8;

static std::string locationOf(const DIInliningInfo &Frames) {
  std::string Text;
  unsigned Named = 0;
  const uint32_t Count = Frames.getNumberOfFrames();
  for (uint32_t K = 0; K < Count; ++K) {
    const DILineInfo &Line = Frames.getFrame(K);
    // What the compiler has made up has no line.
    if (Line.Line == 0 || Line.FileName == DILineInfo::BadString)
      continue;
    if (++Named > MostFrames)
      return Text + ", ...";
    Text += (Text.empty() ? "" : ", inlined at ") + Line.FileName + ":" +
            std::to_string(Line.Line);
    if (Line.Column)
      Text += ":" + std::to_string(Line.Column);
    // The outermost one is the function that the address is told by.
    if (K + 1 < Count && Line.FunctionName != DILineInfo::BadString)
      Text += " in " + Line.FunctionName;
  }
  return Text;
}

/// clang names a function by what __builtin_verbose_trap says, and has it
/// inlined where the trap is.
static std::string trapReasonOf(const DIInliningInfo &Frames) {
  for (uint32_t K = 0; K < Frames.getNumberOfFrames(); ++K) {
    StringRef Name = Frames.getFrame(K).FunctionName;
    if (!Name.consume_front("__clang_trap_msg$"))
      continue;
    const auto [Category, Reason] = Name.split('$');
    return (Category + (Category.empty() || Reason.empty() ? "" : ": ") +
            Reason)
        .str();
  }
  return "";
}

std::string
SourceLines::Impl::ask(uint64_t Address,
                       function_ref<std::string(const DIInliningInfo &)> Answer,
                       DILineInfoSpecifier::FileLineInfoKind Files) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (!Dwarf)
    return "";
  std::string Text;
  CrashGuard Crash;
  if (Crash.survives([&] { Text = Answer(frames(Address, Files)); }))
    return Text;
  // It may hold a lock of its own: it is neither asked again nor destroyed.
  (void)Dwarf.release();
  return "";
}

std::string SourceLines::at(uint64_t Address) const {
  return TheImpl->ask(Address, locationOf);
}

std::vector<SourceFrame> SourceLines::frames(uint64_t Address) const {
  std::vector<SourceFrame> List;
  TheImpl->ask(
      Address,
      [&](const DIInliningInfo &Frames) {
        for (uint32_t K = 0; K < Frames.getNumberOfFrames(); ++K) {
          const DILineInfo &F = Frames.getFrame(K);
          if (F.Line && F.FileName != DILineInfo::BadString)
            List.push_back({F.FileName, F.Line, F.Column,
                            F.FunctionName == DILineInfo::BadString
                                ? ""
                                : F.FunctionName});
        }
        return std::string();
      },
      DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath);
  return List;
}

std::string SourceLines::trapReason(uint64_t Address) const {
  return TheImpl->ask(Address, trapReasonOf);
}
