//===- CacheLevels.h - Where accesses find their lines ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before a compute unit is timed, the lines that recorded workgroups of one die
// touch go through models of the caches, in about the order in which the
// workgroups would touch them side by side.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_TIMING_CACHELEVELS_H
#define LNBWD_LIB_SIMULATOR_TIMING_CACHELEVELS_H

#include "Core/Launch.h"
#include "Timing/ClockInfo.h"
#include "Timing/TraceRecorder.h"

#include "llvm/ADT/ArrayRef.h"

namespace lnbwd::sim {

/// A recorded workgroup and the compute unit of the die that executes it.
struct PlacedWorkgroup {
  WorkgroupTrace *Trace;
  unsigned Unit;
};

/// What is known of a launch beside the recorded workgroups.
struct CacheConditions {
  uint64_t Workgroups = 1; ///< of the launch
  unsigned Units = 1;      ///< of the die that have recorded workgroups
  unsigned UnitsOfDie = 1; ///< that work
  unsigned Resident = 1;   ///< workgroups of a unit at a time
  /// Instructions that waves execute over those that were recorded of them: the
  /// rest of a long wave goes on as the recorded part does.
  double Continued = 1;
  /// Whether the memory-side cache holds what the launch before left: the same
  /// accesses again.
  bool Warm = false;
};

/// Bytes of a whole launch, by what was recorded.
struct Traffic {
  double Footprint = 0;   ///< each line once
  double L2 = 0;          ///< between L1 and L2
  double Far = 0;         ///< beyond the L2
  double Memory = 0;      ///< beyond the memory-side cache
  double HottestLine = 0; ///< atomics of the line that has the most of them
};

/// Sets the level of each line. The workgroups are in the order in which they
/// start; those of a unit follow one another.
Traffic assignLevels(llvm::ArrayRef<PlacedWorkgroup> Workgroups,
                     const CacheConditions &Conditions, const Launch &L,
                     const ClockInfo &C);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_TIMING_CACHELEVELS_H
