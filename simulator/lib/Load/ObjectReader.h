//===- ObjectReader.h - What is in a code object ----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the bytes of a code object, copies its segments to memory, relocates
// them, and finds kernels, variables, functions and code in them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_LOAD_OBJECTREADER_H
#define LNBWD_LIB_SIMULATOR_LOAD_OBJECTREADER_H

#include "Core/InstructionTable.h"
#include "Core/Kernel.h"
#include "SimulatedChip.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lnbwd::sim {

/// A symbol of the code object that is data.
struct GlobalVariable {
  uint64_t Address = 0;
  uint64_t Size = 0;
};

/// What was found, at the addresses to which it was loaded.
struct ObjectContents {
  uint64_t Base = 0;
  std::map<std::string, Kernel> Kernels;
  std::map<std::string, GlobalVariable> Globals;
  /// The local ones, too; sorted by address.
  std::vector<DataSymbol> Data;
  /// Names by address relative to Base.
  std::map<uint64_t, std::string> Functions;
  std::vector<CodeRange> Code;
  /// Addresses and sizes of the segments that kernels must not write to.
  std::vector<std::pair<uint64_t, uint64_t>> ReadOnlyParts;
};

/// Gives memory for the image; null if there is none left.
using ImageAllocator = std::function<void *(uint64_t Size)>;

/// Returns false and says why in Error if this is not a code object for the
/// chip. The bytes need not outlive the call.
bool readObject(llvm::ArrayRef<uint8_t> Bytes, const SimulatedChip &Chip,
                const ImageAllocator &Allocate, ObjectContents &Contents,
                std::string &Error);

/// Copies bytes of an image of unknown size; false if they are not there.
using ObjectBytes =
    std::function<bool(uint64_t Offset, uint64_t Size, void *Out)>;
/// The bytes of an array, which has to outlive the result.
ObjectBytes bytesOf(llvm::ArrayRef<uint8_t> Bytes);

/// The number of bytes that an image's headers say it has, or 0 and an Error.
uint64_t objectExtent(const ObjectBytes &Read, std::string &Error);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_LOAD_OBJECTREADER_H
