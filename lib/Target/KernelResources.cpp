//===- KernelResources.cpp - What a compiled kernel takes -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AMD code objects carry a note of MessagePack with one map for each kernel;
// NVIDIA's assembler prints the figures.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Target/KernelResources.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MathExtras.h"

using namespace lnbwd;
namespace msgpack = llvm::msgpack;

std::string KernelResources::describeSpills() const {
  llvm::SmallVector<std::string> parts;
  auto add = [&](int64_t count, llvm::StringRef what) {
    if (count)
      parts.push_back(std::to_string(count) + " " + what.str());
  };
  add(spilledVectorRegisters, "vector registers");
  add(spilledScalarRegisters, "scalar registers");
  add(scratchBytes, "bytes of scratch memory a lane");
  return llvm::join(parts, ", ");
}

Occupancy lnbwd::getOccupancy(const KernelResources &resources, int64_t threads,
                              int64_t dynamicSharedMemoryBytes,
                              const ChipInfo &chip) {
  int64_t granule = chip.limits.registerGranule;
  int64_t registers = llvm::alignTo(
      uint64_t(std::max<int64_t>(1, resources.vectorRegisters)), granule);
  int64_t waves = llvm::divideCeil(threads, chip.waveSize);
  int64_t together = chip.limits.computeUnitsTogether;
  int64_t shared = resources.sharedMemoryBytes + dynamicSharedMemoryBytes;
  // A workgroup's registers are those of whole waves.
  std::pair<int64_t, llvm::StringRef> limits[] = {
      {together * chip.limits.computeUnitThreads / (waves * chip.waveSize),
       "threads"},
      {together * chip.registersPerComputeUnit /
           (registers * waves * chip.waveSize),
       "registers"},
      {shared ? together * chip.limits.computeUnitSharedMemoryBytes / shared
              : INT64_MAX,
       "shared memory"},
  };
  auto least = *llvm::min_element(limits, llvm::less_first());
  return {least.first, least.first * waves, least.second};
}

//===----------------------------------------------------------------------===//
// AMD
//===----------------------------------------------------------------------===//

static llvm::Error damaged(const llvm::Twine &what) {
  return llvm::createStringError("the code object's metadata is damaged: " +
                                 what);
}

static llvm::Expected<int64_t> readNumber(msgpack::MapDocNode map,
                                          llvm::StringRef key) {
  auto entry = map.find(key);
  // Chips without such registers have no count of them.
  if (entry == map.end())
    return 0;
  if (entry->second.getKind() == msgpack::Type::UInt)
    return int64_t(entry->second.getUInt());
  if (entry->second.getKind() == msgpack::Type::Int)
    return entry->second.getInt();
  return damaged("expected '" + key + "' to be a number");
}

static llvm::Expected<KernelResources> readKernel(msgpack::DocNode &node) {
  if (!node.isMap())
    return damaged("expected a kernel to be a map");
  msgpack::MapDocNode map = node.getMap();
  KernelResources kernel;
  auto name = map.find(".name");
  if (name == map.end() || !name->second.isString())
    return damaged("expected a kernel to have a name");
  kernel.name = name->second.getString().str();
  std::pair<llvm::StringRef, int64_t *> fields[] = {
      {".vgpr_count", &kernel.vectorRegisters},
      {".agpr_count", &kernel.accumulationRegisters},
      {".sgpr_count", &kernel.scalarRegisters},
      {".vgpr_spill_count", &kernel.spilledVectorRegisters},
      {".sgpr_spill_count", &kernel.spilledScalarRegisters},
      {".private_segment_fixed_size", &kernel.scratchBytes},
      {".group_segment_fixed_size", &kernel.sharedMemoryBytes},
  };
  for (auto [key, field] : fields) {
    llvm::Expected<int64_t> value = readNumber(map, key);
    if (!value)
      return value.takeError();
    *field = *value;
  }
  return kernel;
}

llvm::Expected<llvm::SmallVector<KernelResources>>
lnbwd::readAMDGPUResources(llvm::StringRef object) {
  using ELF = llvm::object::ELF64LE;
  llvm::Expected<llvm::object::ELFFile<ELF>> file =
      llvm::object::ELFFile<ELF>::create(object);
  if (!file)
    return file.takeError();
  llvm::Expected<llvm::object::ELFFile<ELF>::Elf_Phdr_Range> headers =
      file->program_headers();
  if (!headers)
    return headers.takeError();
  for (const auto &header : *headers) {
    if (header.p_type != llvm::ELF::PT_NOTE)
      continue;
    llvm::Error problem = llvm::Error::success();
    for (const auto &note : file->notes(header, problem)) {
      if (note.getName() != "AMDGPU" ||
          note.getType() != llvm::ELF::NT_AMDGPU_METADATA)
        continue;
      msgpack::Document document;
      if (!document.readFromBlob(note.getDescAsStringRef(header.p_align),
                                 /*Multi=*/false) ||
          !document.getRoot().isMap())
        return damaged("expected a map");
      msgpack::DocNode &list = document.getRoot().getMap()["amdhsa.kernels"];
      if (!list.isArray())
        return damaged("expected a list 'amdhsa.kernels'");
      llvm::SmallVector<KernelResources> kernels;
      for (msgpack::DocNode &node : list.getArray()) {
        llvm::Expected<KernelResources> kernel = readKernel(node);
        if (!kernel)
          return kernel.takeError();
        kernels.push_back(std::move(*kernel));
      }
      return kernels;
    }
    if (problem)
      return problem;
  }
  return damaged("expected a note of AMDGPU metadata");
}

//===----------------------------------------------------------------------===//
// NVIDIA
//===----------------------------------------------------------------------===//

/// The number before `what` in a line like "0 bytes stack frame, 8 bytes spill
/// stores", or 0.
static int64_t numberBefore(llvm::StringRef line, llvm::StringRef what) {
  size_t end = line.find(what);
  if (end == llvm::StringRef::npos)
    return 0;
  llvm::StringRef number = line.take_front(end).rtrim();
  number = number.take_back(number.size() -
                            (number.find_last_not_of("0123456789") + 1));
  int64_t value = 0;
  return number.getAsInteger(10, value) ? 0 : value;
}

llvm::SmallVector<KernelResources> lnbwd::readPtxasLog(llvm::StringRef log) {
  llvm::SmallVector<KernelResources> kernels;
  while (!log.empty()) {
    llvm::StringRef line;
    std::tie(line, log) = log.split('\n');
    if (llvm::StringRef entry = line.split("Compiling entry function '").second;
        !entry.empty()) {
      kernels.emplace_back();
      kernels.back().name = entry.take_until([](char c) { return c == '\''; });
    } else if (kernels.empty()) {
      continue;
    } else if (line.contains("spill stores")) {
      kernels.back().scratchBytes = numberBefore(line, " bytes stack frame");
      kernels.back().spilledVectorRegisters =
          (numberBefore(line, " bytes spill stores") +
           numberBefore(line, " bytes spill loads")) /
          4;
    } else if (line.contains(": Used ")) {
      kernels.back().vectorRegisters = numberBefore(line, " registers");
      kernels.back().sharedMemoryBytes = numberBefore(line, " bytes smem");
    }
  }
  return kernels;
}
