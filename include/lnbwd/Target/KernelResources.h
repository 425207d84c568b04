//===- KernelResources.h - What a compiled kernel takes ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers, memory and spills of a kernel, read back from what the code
// generator made: the schedule model estimates them, the object has them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TARGET_KERNELRESOURCES_H
#define LNBWD_TARGET_KERNELRESOURCES_H

#include "lnbwd/Target/ChipInfo.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <string>

namespace lnbwd {

/// What one kernel takes, as its object says. What a target does not have is 0.
struct KernelResources {
  std::string name;
  /// 32-bit registers of a lane, accumulation registers included.
  int64_t vectorRegisters = 0;
  int64_t accumulationRegisters = 0;
  /// Registers that a wave's lanes share.
  int64_t scalarRegisters = 0;
  /// AMD: registers that were spilled. NVIDIA: 32-bit words that are stored or
  /// loaded for that, over the whole kernel.
  int64_t spilledVectorRegisters = 0;
  int64_t spilledScalarRegisters = 0;
  /// Memory of a lane of its own, in bytes.
  int64_t scratchBytes = 0;
  /// Shared memory (LDS) of a workgroup that the kernel declares, in bytes.
  int64_t sharedMemoryBytes = 0;

  /// Whether memory is accessed for registers. Scalar ones go to vector ones.
  bool spills() const { return spilledVectorRegisters || scratchBytes; }
  /// What is spilled, for messages: "12 vector registers, 48 bytes of scratch".
  std::string describeSpills() const;
};

/// How many workgroups of a kernel a compute unit, or a pair that works
/// together, holds, and why not more.
struct Occupancy {
  int64_t workgroups = 0;
  /// Waves of them all.
  int64_t waves = 0;
  /// "threads", "registers" or "shared memory".
  llvm::StringRef limit;
};

/// The occupancy of workgroups of `threads` work-items that ask for
/// `dynamicSharedMemoryBytes` at launch.
Occupancy getOccupancy(const KernelResources &resources, int64_t threads,
                       int64_t dynamicSharedMemoryBytes, const ChipInfo &chip);

/// Reads the metadata note of an AMD code object: what its kernels take, by
/// name.
llvm::Expected<llvm::StringMap<KernelResources>>
readAMDGPUResources(llvm::StringRef object);

/// Reads what `ptxas -v` has written.
llvm::SmallVector<KernelResources> readPtxasLog(llvm::StringRef log);

} // namespace lnbwd

#endif // LNBWD_TARGET_KERNELRESOURCES_H
