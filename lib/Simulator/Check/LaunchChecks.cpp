//===- LaunchChecks.cpp - What the checks of a launch share ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Set-up.
//
//===----------------------------------------------------------------------===//

#include "Check/LaunchChecks.h"

#include "Check/Limits.h"

#include "llvm/ADT/STLExtras.h"

#include <atomic>

using namespace lnbwd::sim;

static uint32_t nextEpoch() {
  static std::atomic<uint32_t> Last{0};
  return ++Last;
}

LaunchChecks::LaunchChecks(const Launch &L, const CodeChecks &Code,
                           unsigned Checks)
    : TheEffects(Code.Effects), Hazards(Code.Hazards), Checks(Checks),
      Epoch(nextEpoch()), Order(uint64_t(L.Grid[0]) * L.Grid[1] * L.Grid[2],
                                TheEffects.Synchronises),
      Generation(L.Code->chip().Generation), LdsBanks(L.Code->chip().LdsBanks) {
  allocatedRegisters(L.Code->chip(), *L.TheKernel, VgprLimit, AgprLimit,
                     SgprLimit);
}

WorkgroupChecks::WorkgroupChecks(LaunchChecks &L, unsigned NumWaves,
                                 uint32_t LdsBytes)
    : L(L), Granule(L.TheEffects.LdsGranule), Written(LdsBytes),
      Cells((LdsBytes >> Granule) + 1), Signals(NumWaves) {}

void WorkgroupChecks::start(WorkgroupMark Number) {
  Me = Number;
  Seen.clear();
  Early.clear();
  llvm::fill(Written, 0);
  llvm::fill(Cells, LdsCell());
  llvm::fill(Signals, 0);
}
