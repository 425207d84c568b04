//===- ElfFile.cpp - Reading sections and symbols of an ELF file ----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElfFile.h"

#include "Error.h"

#include <cstring>

namespace lnbwd::runtime {

bool ElfFile::isElf(std::string_view bytes) {
  return bytes.substr(0, SELFMAG) == std::string_view(ELFMAG, SELFMAG);
}

std::string_view ElfFile::slice(uint64_t offset, uint64_t size,
                                const char *what) const {
  return checkedSlice(bytes, offset, size, "ELF file", what);
}

template <typename T> T ElfFile::read(uint64_t offset, const char *what) const {
  T value;
  std::memcpy(&value, slice(offset, sizeof(T), what).data(), sizeof(T));
  return value;
}

ElfFile::ElfFile(std::string_view bytes) : bytes(bytes), header() {
  slice(0, EI_NIDENT, "the ELF identification");
  if (!isElf(bytes) || bytes[EI_CLASS] != ELFCLASS64 ||
      bytes[EI_DATA] != ELFDATA2LSB)
    throw Error(LNBWD_ERROR_INVALID_PROGRAM,
                "expected a 64-bit little-endian ELF file");
  header = read<Elf64_Ehdr>(0, "the ELF header");
  if (header.e_shnum == 0 || header.e_shoff == 0)
    throw Error(LNBWD_ERROR_INVALID_PROGRAM,
                "the ELF file has no section headers, so that the launch plan "
                "cannot be found; was it stripped of them?");
  if (header.e_shentsize != sizeof(Elf64_Shdr))
    throw Error(LNBWD_ERROR_INVALID_PROGRAM,
                "the ELF file is damaged: expected section headers of " +
                    std::to_string(sizeof(Elf64_Shdr)) + " bytes, got " +
                    std::to_string(header.e_shentsize));
  // The whole table first: a file that was cut off fails here, at once.
  slice(header.e_shoff, uint64_t(header.e_shnum) * sizeof(Elf64_Shdr),
        "the section header table");
  sections.reserve(header.e_shnum);
  for (uint64_t i = 0; i < header.e_shnum; ++i)
    sections.push_back(read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr),
                                        "a section header"));
}

std::optional<std::string_view>
ElfFile::contents(const Elf64_Sym &symbol) const {
  // The special indices (undefined, absolute, common) have no section.
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections.size())
    return std::nullopt;
  const Elf64_Shdr &section = sections[symbol.st_shndx];
  if (section.sh_type == SHT_NOBITS)
    return std::nullopt;
  std::string_view data =
      slice(section.sh_offset, section.sh_size, "a section's contents");
  // Values are addresses in linked files and offsets in relocatable ones,
  // whose sections have the address 0.
  if (symbol.st_value < section.sh_addr ||
      symbol.st_value - section.sh_addr > section.sh_size)
    return std::nullopt;
  data.remove_prefix(symbol.st_value - section.sh_addr);
  if (symbol.st_size == 0)
    return data;
  if (symbol.st_size > data.size())
    return std::nullopt;
  return data.substr(0, symbol.st_size);
}

std::optional<std::string_view> ElfFile::symbolIn(const Elf64_Shdr &table,
                                                  std::string_view name) const {
  if (table.sh_link >= sections.size())
    return std::nullopt;
  const Elf64_Shdr &stringSection = sections[table.sh_link];
  std::string_view strings =
      slice(stringSection.sh_offset, stringSection.sh_size, "the string table");
  std::string_view symbols =
      slice(table.sh_offset, table.sh_size, "the symbol table");
  for (size_t offset = 0; symbols.size() - offset >= sizeof(Elf64_Sym);
       offset += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbols.data() + offset, sizeof(symbol));
    if (symbol.st_name >= strings.size())
      continue;
    std::string_view candidate = strings.substr(symbol.st_name);
    candidate = candidate.substr(0, candidate.find('\0'));
    if (candidate != name)
      continue;
    if (auto data = contents(symbol))
      return data;
  }
  return std::nullopt;
}

std::optional<std::string_view>
ElfFile::symbolBytes(std::string_view name) const {
  for (unsigned type : {SHT_DYNSYM, SHT_SYMTAB})
    for (const Elf64_Shdr &section : sections)
      if (section.sh_type == type)
        if (auto data = symbolIn(section, name))
          return data;
  return std::nullopt;
}

std::optional<std::string_view> ElfFile::note(std::string_view owner,
                                              unsigned type) const {
  for (const Elf64_Shdr &section : sections) {
    if (section.sh_type != SHT_NOTE)
      continue;
    std::string_view data =
        slice(section.sh_offset, section.sh_size, "a note section");
    while (data.size() >= sizeof(Elf64_Nhdr)) {
      Elf64_Nhdr note;
      std::memcpy(&note, data.data(), sizeof(note));
      data.remove_prefix(sizeof(note));
      // Both parts are padded to four bytes; the last one need not be.
      uint64_t nameSize = (uint64_t(note.n_namesz) + 3) & ~uint64_t(3);
      if (nameSize > data.size() || note.n_descsz > data.size() - nameSize)
        break;
      std::string_view name = data.substr(0, note.n_namesz);
      name = name.substr(0, name.find('\0'));
      std::string_view contents = data.substr(nameSize, note.n_descsz);
      if (name == owner && note.n_type == type)
        return contents;
      uint64_t contentsSize = (uint64_t(note.n_descsz) + 3) & ~uint64_t(3);
      data.remove_prefix(
          std::min<uint64_t>(data.size(), nameSize + contentsSize));
    }
  }
  return std::nullopt;
}

} // namespace lnbwd::runtime
