//===- KernelResources.cpp - What a compiled kernel takes -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AMD code objects carry a note of MessagePack with one map for each kernel,
// which LLVM reads; NVIDIA's assembler prints the figures.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Target/KernelResources.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Frontend/Offloading/Utility.h"
#include "llvm/Support/MathExtras.h"

using namespace lnbwd;

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
  // A SIMD has whole waves.
  std::pair<int64_t, llvm::StringRef> limits[] = {
      {together * chip.limits.computeUnitThreads / (waves * chip.waveSize),
       "threads"},
      {chip.limits.simdsTogether * (chip.registersPerSimdLane / registers) /
           waves,
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

llvm::Expected<llvm::StringMap<KernelResources>>
lnbwd::readAMDGPUResources(llvm::StringRef object) {
  using Metadata = llvm::offloading::amdgpu::AMDGPUKernelMetaData;
  llvm::StringMap<Metadata> metadata;
  uint16_t abiVersion = 0;
  if (llvm::Error error = llvm::offloading::amdgpu::getAMDGPUMetaDataFromImage(
          llvm::MemoryBufferRef(object, "object"), metadata, abiVersion))
    return error;
  // Chips without such registers have no count of them.
  auto orNone = [](uint32_t count) {
    return count == Metadata::KInvalidValue ? 0 : int64_t(count);
  };
  llvm::StringMap<KernelResources> kernels;
  for (const auto &[name, kernel] : metadata)
    kernels[name] = {name.str(),
                     orNone(kernel.VGPRCount),
                     orNone(kernel.AGPRCount),
                     orNone(kernel.SGPRCount),
                     orNone(kernel.VGPRSpillCount),
                     orNone(kernel.SGPRSpillCount),
                     orNone(kernel.PrivateSegmentSize),
                     orNone(kernel.GroupSegmentList)};
  return kernels;
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
