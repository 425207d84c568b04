//===- LdsBanks.h - How long LDS takes for an access ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes that meet in a bank of LDS take turns.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_LDSBANKS_H
#define LNBWD_LIB_SIMULATOR_CHECK_LDSBANKS_H

#include <cstdint>

namespace lnbwd::sim {

/// Cycles that the banks of LDS need for an access: lanes are served in groups
/// that ask for a dword of each bank at most; two dwords of one bank in a group
/// take two cycles, the same dword is handed to all.
unsigned bankCycles(const uint32_t *A, uint64_t Mask, unsigned Bytes,
                    unsigned N, unsigned Banks, unsigned &Least);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_LDSBANKS_H
