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

#include "Check/LaunchChecks.h"
#include "Core/Wave.h"

#include <vector>

namespace lnbwd::sim {

/// What a wave does to LDS.
class LdsChecker {
public:
  LdsChecker(WorkgroupChecks &WG, Wave &W) : L(WG.L), WG(WG), W(W) {}
  /// One lane's access. False: the wave has been stopped.
  bool access(const Inst *I, uint32_t Address, unsigned Bytes, unsigned Lane,
              MemoryAccess Access);
  /// Counts the cycles of an access.
  void count(const uint32_t *A, uint64_t Mask, unsigned Bytes,
             CheckCounts &Counts) const;

  uint32_t Missing = 0; ///< bytes of the lane's load that nobody has written
  std::vector<LdsPiece> Filled; ///< by the present load to LDS

private:
  bool isPadding(uint32_t Address, unsigned Bytes) const;

  LaunchChecks &L;
  WorkgroupChecks &WG;
  Wave &W;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_LDSCHECKER_H
