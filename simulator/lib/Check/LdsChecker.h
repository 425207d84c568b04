//===- LdsChecker.h - Accesses to LDS ---------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which bytes of LDS have been written, and what accesses cost.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_LDSCHECKER_H
#define LNBWD_LIB_SIMULATOR_CHECK_LDSCHECKER_H

#include "Check/LaunchShadow.h"
#include "Core/Wave.h"

#include "llvm/ADT/ArrayRef.h"

#include <memory>
#include <vector>

namespace lnbwd::sim {

/// How the addresses of an access lie to each other.
struct LdsPattern {
  uint64_t Mask = 0;
  unsigned Bytes = 0; ///< of a lane
  bool IsLoad = false;
  bool Meet = false;              ///< two lanes store to a byte
  bool OnePlace = false;          ///< all store to the same bytes
  unsigned Cycles = 0, Least = 0; ///< what the access costs, where that counts
  uint32_t A[64] = {};            ///< when it was found
  uint32_t Step = 0;              ///< the present ones lie so much further on
  unsigned Count = 0;
  LdsRun Runs[64]; ///< of the present ones
  llvm::ArrayRef<LdsRun> runs() const { return {Runs, Count}; }
};

/// What is said of a byte that ought to have been stored again.
inline constexpr const char *LdsUsedText =
    "what it holds is of an earlier operation: it was stored, and perhaps "
    "read, before other barriers than the last one";

/// What a wave does to LDS.
class LdsChecker {
public:
  LdsChecker(WorkgroupShadow &WG, Wave &W);
  /// Before an instruction that accesses LDS.
  void start(const Effects &E);
  /// One lane's access. False: the wave has been stopped.
  bool access(const Inst *I, uint32_t Address, unsigned Bytes, unsigned Lane,
              MemoryAccess Access);
  /// All lanes' access, if it is nothing that access() would have to look at.
  bool isPlain(const LdsPattern &P, MemoryAccess Access);
  /// The pattern of an access, until the next one.
  const LdsPattern &pattern(const Effects &E, const uint32_t *A, uint64_t Mask,
                            unsigned Bytes, bool IsLoad);

  uint32_t Missing = 0; ///< bytes of the lane's load that nobody has written
  bool Fresh = false;   ///< nor has anybody written any beside them
  bool SoFar = false;   ///< others may do so later
  bool Used = false;    ///< or it was read before an earlier barrier
  std::vector<LdsPiece> Filled; ///< by the present load to LDS

private:
  bool isPadding(uint32_t Address, unsigned Bytes) const;
  bool isThere(uint8_t &Known) const;
  uint32_t missingBytes(uint8_t *Known, unsigned Bytes) const;

  LaunchShadow &L;
  WorkgroupShadow &WG;
  Wave &W;
  uint8_t Stored = LdsDefined; ///< in Written, by the present instruction
  static constexpr size_t MostPatterns = 64;
  /// The latest ones, by instruction; a power of two of them.
  std::vector<std::unique_ptr<LdsPattern>> Patterns;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_LDSCHECKER_H
