//===- LaunchChecker.h - The checks of a launch -----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What AMD's users have no compute-sanitizer for. A checked launch carries,
// beside the state of each wave, what is known of it: which lanes of which
// register were ever written, which loads have not been waited for, and who
// touched LDS and global memory last.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_LAUNCHCHECKER_H
#define LNBWD_LIB_SIMULATOR_CHECK_LAUNCHCHECKER_H

#include "Check/LaunchShadow.h"
#include "Check/Resources.h"
#include "Core/Launch.h"

#include <memory>
#include <string>

namespace lnbwd::sim {

/// The observer that checks a launch.
class LaunchChecker final : public LaunchObserver {
public:
  /// Code, kernel and grid of the launch are set. Checks are bits of
  /// SimulatorAPI.h.
  LaunchChecker(const Launch &L, unsigned Checks);
  /// Whether what is found may depend on which of its workgroups overlap.
  bool dependsOnOrder() const;
  /// Has what the launch stores to kept before it does; null: no longer.
  void keepMemory(MemoryJournal *In) { Shadow.Journal = In; }
  /// Has what differs in rounding alone judged; null: nothing does.
  void judgeRounding(RoundingJudge *By) { Shadow.Rounding = By; }
  /// Has loads noted that come before a store without an order.
  void noteEarlyReads(EarlyReads *In) { Shadow.Early = In; }
  /// Whether there may be some whose use can be followed.
  bool mayReadEarly() const {
    return Shadow.races() && Shadow.registers() &&
           uint64_t(L.Block[0]) * L.Block[1] * L.Block[2] >
               L.TheKernel->WaveSize;
  }
  /// Whether there may be something to judge.
  bool mayDifferInRounding() const { return Shadow.races() && L.LdsSize; }
  std::unique_ptr<WorkgroupObserver> observe(Workgroup &WG) override;
  /// Adds what was counted to the totals of a device, once the launch is over.
  void addCounts(NamedCounts &Totals) const;

  /// What was checked and what was not, in a line; `Buffers` are those that
  /// there still are, since other launches' may be gone.
  std::string summary(const RegionTable &Buffers) const;
  /// The last execution of the launch, whose accesses the buffers' shadows
  /// have; 0: it was cut.
  uint32_t AccessesOf = 0;
  unsigned OtherOrders = 0;    ///< in which it was executed besides
  unsigned OtherOrdersCut = 0; ///< and those of them not to the end
  /// There would have been some, but memory could not be put back.
  bool OtherOrdersLeftOut = false;
  /// Values in LDS that may differ in rounding alone were not judged.
  bool RoundingLeftOut = false;
  /// Nor was what loads give that come before a store without an order.
  bool EarlyReadsLeftOut = false;
  /// Or the client has put them off.
  bool OtherOrdersUnwanted = false;

private:
  const Launch &L;
  LaunchShadow Shadow;
};

/// Executes a launch that Checker observes. Whether two accesses are ordered
/// shows in most executions; whether they would have been, had another
/// workgroup come first, only in some. So if nothing is found, its workgroups
/// order themselves and OtherOrders are wanted, it is executed in some orders
/// in which they overlap, too; memory and counters are then as after the first
/// time. False: the launch says what was found.
bool runChecked(Launch &L, LaunchChecker &Checker, unsigned Checks,
                bool OtherOrders);

/// Of a launch that has ended without an error: whether its kernel reads a
/// register before the wait for it in what was not executed. If so, the launch
/// says where.
bool failMissingWait(Launch &L);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_LAUNCHCHECKER_H
