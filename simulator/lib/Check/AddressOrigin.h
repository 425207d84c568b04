//===- AddressOrigin.h - The argument an address is made from ---*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A report of a wrong address names the argument that the kernel has made it
// from. That is found out from the code, backwards, for the report alone, so
// that correct launches do not pay for it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_ADDRESSORIGIN_H
#define LNBWD_LIB_SIMULATOR_CHECK_ADDRESSORIGIN_H

#include "Check/Effects.h"
#include "Core/Launch.h"

namespace lnbwd::sim {

/// The buffer of the argument that a memory instruction's address is the sum of
/// and of numbers. Null if there is none, or several, or it cannot be told.
const Region *argumentOf(const Launch &L, const CodeEffects &Code,
                         const Inst *I);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_ADDRESSORIGIN_H
