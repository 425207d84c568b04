//===- Scheduler.h - Execution of a launch ----------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the workgroups of a launch on the host's cores, one after the other or
// in turns.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_SCHEDULER_H
#define LNBWD_LIB_SIMULATOR_CORE_SCHEDULER_H

#include "Core/Launch.h"

namespace lnbwd::sim {

/// Executes everything. False: the launch's Failure and Error say what went
/// wrong.
bool run(Launch &L);

/// Host threads that a launch uses: all cores, or LNBWD_SIM_THREADS.
unsigned hostThreads();

/// Executes what there is of a launch whose Turns say how, on this host thread.
/// As many workgroups as MostResident may run at a time where they wait for
/// each other.
void workInterleaved(Launch &L, size_t MostResident);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_SCHEDULER_H
