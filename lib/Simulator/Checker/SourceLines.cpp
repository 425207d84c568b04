//===- SourceLines.cpp - Source locations of machine code -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's DWARF reader does it; the bytes are kept, because it reads on demand.
//
//===----------------------------------------------------------------------===//

#include "SourceLines.h"

#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/Decompressor.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

#include <mutex>

using namespace llvm;
using namespace lnbwd::sim;

/// Compressed sections may unfold to so many bytes, all of them together.
constexpr uint64_t MostDecompressedBytes = 256ull << 20;

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
  std::unique_ptr<DWARFContext> Dwarf;
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
  I.Dwarf = DWARFContext::create(*I.File,
                                 DWARFContext::ProcessDebugRelocations::Process,
                                 nullptr, "", Ignore, Ignore);
  return Lines;
}

std::string SourceLines::at(uint64_t Address) const {
  std::lock_guard<std::mutex> Guard(TheImpl->Lock);
  DILineInfoSpecifier How(
      DILineInfoSpecifier::FileLineInfoKind::RelativeFilePath,
      DINameKind::None);
  for (const object::SectionRef &S : TheImpl->File->sections()) {
    if (!S.isText() || Address < S.getAddress() ||
        Address - S.getAddress() >= S.getSize())
      continue;
    std::optional<DILineInfo> Line =
        TheImpl->Dwarf->getLineInfoForAddress({Address, S.getIndex()}, How);
    if (!Line || Line->Line == 0 || Line->FileName == DILineInfo::BadString)
      return "";
    std::string Text = Line->FileName + ":" + std::to_string(Line->Line);
    return Line->Column ? Text + ":" + std::to_string(Line->Column) : Text;
  }
  return "";
}
