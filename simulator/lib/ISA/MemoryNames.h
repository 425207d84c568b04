//===- MemoryNames.h - Names of memory instructions -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes the names of loads, stores and atomics apart.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_ISA_MEMORYNAMES_H
#define LNBWD_LIB_ISA_MEMORYNAMES_H

#include "lnbwd/ISA/InstructionFacts.h"

#include "llvm/ADT/StringRef.h"

namespace lnbwd::isa {

/// What an instruction of that name accesses. Its space is None if the name is
/// not that of a load, store or atomic; its elements have no bytes if it is of
/// a kind that is not known.
MemoryFacts memoryFacts(llvm::StringRef Name);

} // namespace lnbwd::isa

#endif // LNBWD_LIB_ISA_MEMORYNAMES_H
