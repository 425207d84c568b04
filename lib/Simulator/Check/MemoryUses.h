//===- MemoryUses.h - What a program does with what it loads ----*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Machine code does not say which loads are there for order: on most chips an
// atomic load is a plain one with a cache bit, in LDS a plain one. What becomes
// of the value tells: a flag decides where the wave goes, and is read again
// until it does; what is only stored or added up is data. Found out once for a
// program.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_MEMORYUSES_H
#define LNBWD_LIB_SIMULATOR_CHECK_MEMORYUSES_H

#include "Check/CacheModel.h"

#include <cstdint>

namespace lnbwd::sim {

class Program;
struct ProgramEffects;

struct MemoryUse {
  CacheUse Cache;
  /// Numbers the memory instructions of a program; LastId: all that are beyond.
  uint16_t Id = 0;
  /// A load or an atomic whose value decides a branch or becomes an address, or
  /// of which that cannot be told.
  bool Decides = false;
  /// One in a loop that does nothing but wait for that value.
  bool Spins = false;
  /// Whose loop drops the caches that the load looks into.
  bool Refreshes = false;
  /// A load whose value a compare-and-swap checks later.
  bool IsGuess = false;
  /// An atomic that spins without being given what it has returned: it waits
  /// for a value, a lock for example, instead of working on one.
  bool IsLock = false;
  /// A store of what was made of a load from the same place.
  bool Changes = false;
};
constexpr uint16_t LastMemoryId = (1u << 12) - 1; ///< Moment::IdBits

/// Fills in MemoryUse of all instructions.
void findMemoryUses(const Program &P, ProgramEffects &Effects);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_MEMORYUSES_H
