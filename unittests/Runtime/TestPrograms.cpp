//===- TestPrograms.cpp - Programs made up for the tests ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestPrograms.h"

#include <cstring>
#include <elf.h>
#include <vector>

using nlohmann::json;

namespace lnbwd::test {

testing::AssertionResult containsText(const char *textExpression, const char *,
                                      const std::string &text,
                                      const std::string &part) {
  if (text.find(part) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << textExpression << " is\n  " << text
                                     << "\nwhich does not contain\n  " << part;
}

json examplePlan() {
  return json::parse(R"({
  "format": "lnbwd-plan", "version": 1, "producer": "test",
  "name": "layer_norm_bwd", "chip": "gfx942", "wave_size": 64,
  "operation": {"name": "layer_norm_bwd", "operands": {"dy": 0, "x": 1,
    "gamma": 2, "mean": 3, "rstd": 4, "dx": 5, "dgamma": 6, "dbeta": 7}},
  "arguments": [
    {"name": "dy", "access": "read", "kind": "row_block",
     "element": "bf16", "row_length": 4096},
    {"name": "x", "access": "read", "kind": "row_block",
     "element": "bf16", "row_length": 4096},
    {"name": "gamma", "access": "read", "kind": "column",
     "element": "bf16", "row_length": 4096},
    {"name": "mean", "access": "read", "kind": "row_scalar",
     "element": "f32", "row_length": 1},
    {"name": "rstd", "access": "read", "kind": "row_scalar",
     "element": "f32", "row_length": 1},
    {"name": "dx", "access": "write", "kind": "row_block",
     "element": "bf16", "row_length": 4096},
    {"name": "dgamma", "access": "write", "kind": "column",
     "element": "f32", "row_length": 4096},
    {"name": "dbeta", "access": "write", "kind": "column",
     "element": "f32", "row_length": 4096}],
  "workgroup_counts": [
    {"rows_per_workgroup": 4, "workgroups_per_compute_unit": 2}],
  "workspace": [
    {"element": "f32", "row_length": 4096, "rows": {"workgroup_count": 0}},
    {"element": "f32", "row_length": 33, "rows": 1}],
  "kernels": [
    {"name": "main", "grid": [{"workgroup_count": 0}, 1, 1],
     "block": [256, 1, 1], "dynamic_shared_bytes": 0,
     "parameters": [{"argument": 0}, {"argument": 1}, {"argument": 2},
       {"argument": 3}, {"argument": 4}, {"argument": 5}, {"workspace": 0},
       {"workspace": 1}, {"rows": true}, {"workgroup_count": 0}]},
    {"name": "finalize", "grid": [128, 2, 1], "block": [64, 2, 1],
     "dynamic_shared_bytes": 512,
     "parameters": [{"workspace": 0}, {"workspace": 1}, {"argument": 6},
       {"argument": 7}, {"workgroup_count": 0}]}]
})");
}

json groupedPlan() {
  json text = examplePlan();
  for (int i : {2, 6})
    text["arguments"][i]["kind"] = "group_column";
  text["workgroup_counts"][0]["per_group"] = true;
  text["workspace"][0]["rows"]["groups"] = true;
  json &kernels = text["kernels"];
  kernels[0]["grid"][2] = {{"groups", true}};
  kernels[0]["parameters"][8] = {{"rows_per_group", true}};
  kernels[1]["grid"][0] = {{"workgroup_count", 0}, {"groups", true}};
  kernels[1]["parameters"][4] = {{"groups", true}};
  return text;
}

json exampleMetadata() {
  auto kernel = [](const char *name, int parameters) {
    json arguments = json::array();
    for (int i = 0; i < parameters; ++i)
      arguments.push_back(
          {{".value_kind", "by_value"}, {".size", 8}, {".offset", 8 * i}});
    arguments.push_back({{".value_kind", "hidden_block_count_x"},
                         {".size", 4},
                         {".offset", 8 * parameters}});
    return json{{".name", name},
                {".args", arguments},
                {".wavefront_size", 64},
                {".max_flat_workgroup_size", 256}};
  };
  return {{"amdhsa.kernels", {kernel("main", 10), kernel("finalize", 5)}},
          {"amdhsa.target", "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"},
          {"amdhsa.version", {1, 2}}};
}

std::string makeElf(const ElfContents &contents) {
  // Headers first, then each section's contents, then the section headers.
  std::string bytes(sizeof(Elf64_Ehdr), '\0');
  std::vector<Elf64_Shdr> sections(1, Elf64_Shdr{});
  auto addSection = [&](unsigned type, const std::string &data, unsigned link) {
    Elf64_Shdr section{};
    section.sh_type = type;
    section.sh_addr = 0x1000 * sections.size();
    section.sh_offset = bytes.size();
    section.sh_size = data.size();
    section.sh_link = link;
    sections.push_back(section);
    bytes += data;
  };
  auto rawBytes = [](const auto &object) {
    return std::string(reinterpret_cast<const char *>(&object), sizeof(object));
  };

  addSection(SHT_PROGBITS, "padding" + contents.plan, 0);
  addSection(SHT_STRTAB,
             std::string(1, '\0') + "other" + '\0' + contents.symbol + '\0', 0);
  Elf64_Sym other{};
  other.st_name = 1;
  Elf64_Sym symbol{};
  symbol.st_name = 7;
  symbol.st_shndx = 1;
  symbol.st_value = 0x1000 + std::strlen("padding");
  symbol.st_size = contents.plan.size();
  addSection(contents.inSymtab ? SHT_SYMTAB : SHT_DYNSYM,
             rawBytes(Elf64_Sym{}) + rawBytes(other) + rawBytes(symbol), 2);

  Elf64_Nhdr note{};
  note.n_namesz = 7;
  note.n_descsz = contents.metadata.size();
  note.n_type = 32;
  Elf64_Nhdr foreign{};
  foreign.n_namesz = 4;
  foreign.n_descsz = 2;
  foreign.n_type = 1;
  addSection(SHT_NOTE,
             rawBytes(foreign) + std::string("GNU\0ab\0\0", 8) +
                 rawBytes(note) + std::string("AMDGPU\0\0", 8) +
                 contents.metadata,
             0);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = contents.machine;
  header.e_flags = contents.flags;
  header.e_shoff = bytes.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = sections.size();
  std::memcpy(bytes.data(), &header, sizeof(header));
  for (const Elf64_Shdr &section : sections)
    bytes += rawBytes(section);
  return bytes;
}

std::string makeHsaco(const json &plan, const json &metadata) {
  ElfContents contents;
  contents.plan = plan.dump() + '\0';
  std::vector<uint8_t> packed = json::to_msgpack(metadata);
  contents.metadata.assign(packed.begin(), packed.end());
  return makeElf(contents);
}

std::string makePtx(const json &plan) {
  return "// made up\n// lnbwd-plan: " + plan.dump() +
         "\n.version 8.0\n.target sm_90\n.address_size 64\n";
}

} // namespace lnbwd::test
