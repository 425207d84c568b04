//===- InterleavedScheduler.h - Workgroups that overlap in time -*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes a launch in an order in which its waves take turns.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_INTERLEAVEDSCHEDULER_H
#define LNBWD_LIB_SIMULATOR_CORE_INTERLEAVEDSCHEDULER_H

#include "Core/Launch.h"

namespace lnbwd::sim {

/// Executes what there is of a launch whose Turns say how, on this host thread.
/// As many workgroups as MostResident may run at a time where they wait for
/// each other.
void workInterleaved(Launch &L, size_t MostResident);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_INTERLEAVEDSCHEDULER_H
