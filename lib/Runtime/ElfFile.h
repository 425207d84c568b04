//===- ElfFile.h - Reading sections and symbols of an ELF file --*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Just enough ELF to find a symbol's bytes and the notes. The file is not
// trusted: every offset is checked against the file's end before it is used.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_RUNTIME_ELFFILE_H
#define LNBWD_LIB_RUNTIME_ELFFILE_H

#include <elf.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lnbwd::runtime {

/// A 64-bit little-endian ELF file in memory that somebody else owns.
class ElfFile {
public:
  /// Whether the bytes begin as every ELF file does.
  static bool isElf(std::string_view bytes);

  /// Reads the headers; throws an Error if the file is cut off or of a kind
  /// that GPUs do not use.
  explicit ElfFile(std::string_view bytes);

  unsigned machine() const { return header.e_machine; }

  /// The bytes that the symbol `name` stands for: its size's worth, or as far
  /// as its section reaches if it has no size. No value if there is no such
  /// symbol with bytes in the file.
  std::optional<std::string_view> symbolBytes(std::string_view name) const;

  /// The contents of the first note of that owner and type, if there is one.
  std::optional<std::string_view> note(std::string_view owner,
                                       unsigned type) const;

private:
  std::string_view slice(uint64_t offset, uint64_t size,
                         const char *what) const;
  template <typename T> T read(uint64_t offset, const char *what) const;
  std::optional<std::string_view> symbolIn(const Elf64_Shdr &table,
                                           std::string_view name) const;
  std::optional<std::string_view> contents(const Elf64_Sym &symbol) const;

  std::string_view bytes;
  Elf64_Ehdr header;
  std::vector<Elf64_Shdr> sections;
};

} // namespace lnbwd::runtime

#endif // LNBWD_LIB_RUNTIME_ELFFILE_H
