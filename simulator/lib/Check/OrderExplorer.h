//===- OrderExplorer.h - A launch in several orders -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether two accesses are ordered shows in most executions; whether they would
// have been, had another workgroup come first, only in some.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_ORDEREXPLORER_H
#define LNBWD_LIB_SIMULATOR_CHECK_ORDEREXPLORER_H

#include "Check/LaunchChecker.h"
#include "Core/Launch.h"

namespace lnbwd::sim {

/// Executes a launch that Checker observes. If nothing is found, its workgroups
/// order themselves and OtherOrders are wanted, it is executed in some orders
/// in which they overlap, too; memory and counters are then as after the first
/// time. False: the launch says what was found.
bool runChecked(Launch &L, LaunchChecker &Checker, unsigned Checks,
                bool OtherOrders);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_ORDEREXPLORER_H
