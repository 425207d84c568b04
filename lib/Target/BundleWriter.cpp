//===- BundleWriter.cpp - One file for several chips ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Target/BundleWriter.h"

#include "lnbwd/Target/ChipInfo.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/EndianStream.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace lnbwd;

static constexpr llvm::StringLiteral magic = "__CLANG_OFFLOAD_BUNDLE__";
/// The loader maps code where it lies in the file.
static constexpr uint64_t codeAlignment = 4096;

/// What the bundle calls the code of a chip: kind, target triple and target id.
static std::string getEntryId(const TargetId &target) {
  switch (target.chip->backend) {
  case Backend::AMDGPU:
    return "hipv4-amdgcn-amd-amdhsa--" + target.str();
  case Backend::NVPTX:
    return "hip-nvptx64-nvidia-cuda--" + target.str();
  }
  llvm_unreachable("all backends are listed");
}

llvm::Expected<std::string>
lnbwd::writeOffloadBundle(llvm::ArrayRef<BundleEntry> entries) {
  if (entries.empty())
    return llvm::createStringError(
        "an offload bundle: expected one chip or more, got none");
  struct Part {
    std::string id;
    llvm::StringRef code;
  };
  std::vector<Part> parts = {{"host-x86_64-unknown-linux-gnu-", ""}};
  llvm::StringSet<> seen;
  for (const BundleEntry &entry : entries) {
    llvm::Expected<TargetId> target = parseTargetId(entry.chip);
    if (!target)
      return target.takeError();
    if (!seen.insert(target->str()).second)
      return llvm::createStringError(
          "an offload bundle: expected each chip once, got '" + entry.chip +
          "' twice");
    parts.push_back({getEntryId(*target), entry.code});
  }

  constexpr uint64_t number = sizeof(uint64_t);
  uint64_t position = magic.size() + number;
  for (const Part &part : parts)
    position += 3 * number + part.id.size();

  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  llvm::support::endian::Writer writer(os, llvm::endianness::little);
  os << magic;
  writer.write<uint64_t>(parts.size());
  for (const Part &part : parts) {
    position = llvm::alignTo(position, codeAlignment);
    writer.write<uint64_t>(position);
    writer.write<uint64_t>(part.code.size());
    writer.write<uint64_t>(part.id.size());
    os << part.id;
    position += part.code.size();
  }
  for (const Part &part : parts) {
    if (part.code.empty())
      continue;
    os.write_zeros(llvm::alignTo(bytes.size(), codeAlignment) - bytes.size());
    os << part.code;
  }
  return bytes;
}
