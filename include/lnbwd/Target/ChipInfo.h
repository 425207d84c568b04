//===- ChipInfo.h - The table of chips --------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that knows chips by name. All other code asks this table; a new
// chip is a new row of it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TARGET_CHIPINFO_H
#define LNBWD_TARGET_CHIPINFO_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace lnbwd {

/// The code generators that chips share.
enum class Backend { AMDGPU, NVPTX };

/// What a compute unit holds and how fast it is.
struct ChipLimits {
  /// Compute units whose registers and shared memory a workgroup can use: 2
  /// where they work in pairs, which then hold twice what follows.
  int64_t computeUnitsTogether;
  /// Registers are given to a lane in multiples of this.
  int64_t registerGranule;
  /// What a compute unit holds at most: work-items of all its workgroups, and
  /// bytes of their shared memory.
  int64_t computeUnitThreads;
  int64_t computeUnitSharedMemoryBytes;
  /// Peak of device memory, in 10^9 bytes a second.
  int64_t gigabytesPerSecond;
  /// The highest clock.
  int64_t megahertz;
  /// Work-items of a compute unit for which one clock does a vector
  /// instruction.
  int64_t vectorLanesPerClock;
};

/// What the workgroups of a chip can do beside working each for itself.
struct WorkgroupFeatures {
  /// Whether one instruction copies a block of device memory to shared memory,
  /// asynchronously, and counts its bytes on a barrier.
  bool hasBulkCopy = false;
  /// Whether a kernel can start before the one before it on its stream has
  /// ended, and wait for it later.
  bool hasEarlyStart = false;
  /// Workgroups that can be launched together, so that each reaches the shared
  /// memory of the others and all meet at one barrier; 1: there is no such
  /// thing.
  int64_t clusterWorkgroups = 1;
};

/// What the cost model aims at on chips of a kind, by measurement where such a
/// chip was at hand, else by counting.
struct ModelFigures {
  /// Work-items of one workgroup, and of all that a compute unit should hold,
  /// for rows that come through registers.
  int64_t workgroupThreads;
  int64_t computeUnitThreads;
  /// Elements of a row that a lane should have, at most, before the row takes
  /// more lanes; the more there are, the less the exchange of sums costs each.
  int64_t waveElements;
  /// Accesses of a lane to its row, likewise, once the row takes several waves.
  int64_t exchangeAccesses;
  /// Numbers that a work-item may add up to a row's sum behind an exchange
  /// before they show; 0: as many as there are.
  int64_t shortExchange;
  /// Sets of rows for one turn of the row loop where rows are prefetched to
  /// registers: 2 where LLVM would copy each of them once a row.
  int64_t prefetchUnroll;
  /// Float32 rows, beside those of the model's estimate, that the register
  /// allocator needs for rows that are widened.
  int64_t widenedRows;
  /// Bytes of rows in registers that should be in flight on a compute unit:
  /// what its memory delivers while one load is on its way. 0: the grid sees to
  /// it.
  int64_t registerBytesInFlight;
  /// Whether compiling for the chip always says if a kernel spills, so that a
  /// schedule may be tried whose registers the estimate finds too many.
  bool alwaysTellsSpills;
};

/// What the compiler needs to know of a chip.
struct ChipInfo {
  /// The name as LLVM's `-mcpu` takes it.
  llvm::StringRef name;
  /// A product that carries it, for people.
  llvm::StringRef product;
  Backend backend;
  /// Lanes of a wave (AMD) or warp (NVIDIA).
  int64_t waveSize;
  /// Compute units (streaming multiprocessors) of that product; on RDNA twice
  /// its workgroup processors, which HIP counts (docs/abi.md). Only the cost
  /// model uses it; a launch asks the device.
  int64_t computeUnits;
  int64_t maxThreadsPerWorkgroup;
  /// Shared memory (LDS) that one workgroup can declare statically, in bytes.
  int64_t sharedMemoryBytes;
  /// 32-bit registers that one lane can address.
  int64_t maxRegistersPerLane;
  /// 32-bit registers of a compute unit, over all lanes.
  int64_t registersPerComputeUnit;
  ModelFigures model;
  /// Whether float32 to bfloat16 is one instruction.
  bool hasBF16Pack;
  /// Shared memory that one workgroup can ask for at launch, in bytes.
  int64_t dynamicSharedMemoryBytes;
  WorkgroupFeatures workgroups;
  /// Features for LLVM beyond those that the name implies.
  llvm::StringRef features;
  /// What a compute unit of that product holds, and how fast it is.
  ChipLimits limits;
};

/// All chips, AMD's first, oldest first.
llvm::ArrayRef<ChipInfo> getChips();

/// The chip of this name, or null.
const ChipInfo *lookupChip(llvm::StringRef name);

/// The chip of this name; an unknown one is an error that lists the known ones.
mlir::FailureOr<const ChipInfo *>
lookupChip(llvm::StringRef name,
           llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The names of all chips, separated by ", ".
std::string listChips();

} // namespace lnbwd

#endif // LNBWD_TARGET_CHIPINFO_H
