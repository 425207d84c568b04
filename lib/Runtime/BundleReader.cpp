//===- BundleReader.cpp - Reading a file for several chips ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BundleReader.h"

#include "Error.h"

namespace lnbwd::runtime {

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
/// No bundle of ours comes near these; larger numbers are damage.
constexpr uint64_t kMaxEntries = 1024;
constexpr uint64_t kMaxIdSize = 4096;

namespace {

/// Reads forward through a bundle's table.
class Reader {
public:
  explicit Reader(std::string_view bytes) : bytes(bytes) {}

  std::string_view slice(uint64_t offset, uint64_t size,
                         const char *what) const {
    return checkedSlice(bytes, offset, size, "offload bundle", what);
  }
  std::string_view take(uint64_t size, const char *what) {
    std::string_view result = slice(position, size, what);
    position += size;
    return result;
  }
  uint64_t number(const char *what, uint64_t limit) {
    std::string_view text = take(sizeof(uint64_t), what);
    uint64_t value = 0;
    for (size_t i = text.size(); i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(text[i]);
    if (value > limit)
      throw Error(LNBWD_ERROR_INVALID_PROGRAM,
                  std::string("the offload bundle is damaged: ") + what +
                      ": expected at most " + std::to_string(limit) + ", got " +
                      std::to_string(value));
    return value;
  }

private:
  std::string_view bytes;
  uint64_t position = kMagic.size();
};

} // namespace

bool isOffloadBundle(std::string_view bytes) {
  return bytes.substr(0, kMagic.size()) == kMagic;
}

std::vector<BundleEntry> readBundle(std::string_view bytes) {
  Reader reader(bytes);
  uint64_t count = reader.number("the number of entries", kMaxEntries);
  std::vector<BundleEntry> entries;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t offset = reader.number("an entry's offset", bytes.size());
    uint64_t size = reader.number("an entry's size", bytes.size());
    uint64_t idSize = reader.number("the size of an entry's name", kMaxIdSize);
    std::string id(reader.take(idSize, "an entry's name"));
    std::string_view code = reader.slice(offset, size, "an entry's code");
    // The host's entry is empty.
    if (!code.empty())
      entries.push_back({std::move(id), code});
  }
  return entries;
}

} // namespace lnbwd::runtime
