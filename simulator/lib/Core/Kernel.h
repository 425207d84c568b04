//===- Kernel.h - A kernel of a code object ---------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a launch has to know of a kernel: its descriptor and metadata.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_KERNEL_H
#define LNBWD_LIB_SIMULATOR_CORE_KERNEL_H

#include "llvm/Demangle/Demangle.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lnbwd::sim {

/// One entry of a kernel's `.args` metadata.
struct KernelArgument {
  uint32_t Offset = 0;
  uint32_t Size = 0;
  std::string Kind; ///< `.value_kind`
  bool hidden() const { return Kind.rfind("hidden_", 0) == 0; }
};

struct Kernel {
  std::string Name;        ///< its symbol
  uint64_t Descriptor = 0; ///< address in the loaded image
  uint64_t Entry = 0;      ///< first instruction that executes

  // From the descriptor.
  uint32_t LdsSize = 0;
  uint32_t ScratchSize = 0; ///< bytes for a work-item
  uint32_t KernargSize = 0;
  uint32_t Rsrc1 = 0, Rsrc2 = 0, Rsrc3 = 0;
  uint16_t Properties = 0;
  uint16_t PreloadLength = 0; ///< dwords of kernel arguments in SGPRs
  uint16_t PreloadOffset = 0; ///< dwords
  unsigned WaveSize = 64;

  // From the metadata.
  bool HasMetadata = false;
  std::vector<KernelArgument> Arguments;
  uint32_t MaxFlatWorkgroupSize = 1024;
  uint32_t VgprCount = 256;
  uint32_t AgprCount = 256;
  uint32_t SgprCount = 104;
  bool DynamicStack = false;
  uint32_t RequiredBlock[3] = {}; ///< 0: any
  uint32_t ClusterDims[3] = {};   ///< workgroups of a cluster; 0: not stated
  /// What the descriptor says as well; -1: not stated.
  int64_t MetadataLds = -1, MetadataScratch = -1, MetadataKernarg = -1,
          MetadataWaveSize = -1;

  /// Its name as it is in the source, for messages.
  std::string shownName() const { return llvm::demangle(Name); }
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_KERNEL_H
