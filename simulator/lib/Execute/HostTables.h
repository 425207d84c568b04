//===- HostTables.h - What this host can run --------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses among the variants of the execution functions.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_EXECUTE_HOSTTABLES_H
#define LNBWD_LIB_SIMULATOR_EXECUTE_HOSTTABLES_H

#include "Core/Operation.h"

#include <vector>

namespace lnbwd::sim {

/// The table for this host's processor. LNBWD_SIM_ISA=baseline|avx2 chooses
/// another one that it can run.
const ExecTable &hostExecTable();
/// All tables that this host's processor can run; the tests go through them.
std::vector<const ExecTable *> runnableExecTables();

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_EXECUTE_HOSTTABLES_H
