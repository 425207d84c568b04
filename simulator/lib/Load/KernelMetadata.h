//===- KernelMetadata.h - Kernels' metadata ---------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the note in which a compiler describes a code object's kernels: their
// names, arguments, registers and sizes.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_LOAD_KERNELMETADATA_H
#define LNBWD_LIB_SIMULATOR_LOAD_KERNELMETADATA_H

#include "Core/Kernel.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <map>
#include <string>

namespace lnbwd::sim {

/// Adds the kernels that the note describes, by the symbols of their
/// descriptors. False, with an Error, if the note is not what it should be.
bool readKernelMetadata(llvm::ArrayRef<uint8_t> Note,
                        std::map<std::string, Kernel> &BySymbol,
                        std::string &Error);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_LOAD_KERNELMETADATA_H
