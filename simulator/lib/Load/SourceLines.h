//===- SourceLines.h - Source locations of machine code ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The line table of a code object that was compiled with debug information.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_LOAD_SOURCELINES_H
#define LNBWD_LIB_SIMULATOR_LOAD_SOURCELINES_H

#include "Core/InstructionTable.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lnbwd::sim {

class SourceLines {
public:
  /// Null if the code object has no line table, or none that can be read.
  static std::unique_ptr<SourceLines> load(llvm::ArrayRef<uint8_t> Bytes);
  ~SourceLines();
  /// "file:line:column" of an address in the file, or nothing. Where functions
  /// were inlined: "file:line:column in function, inlined at file:line:column".
  std::string at(uint64_t Address) const;
  /// The same, function by function, with the files' folders.
  std::vector<SourceFrame> frames(uint64_t Address) const;
  /// "category: reason" of the __builtin_verbose_trap there, or nothing.
  std::string trapReason(uint64_t Address) const;

private:
  SourceLines();
  struct Impl;
  std::unique_ptr<Impl> TheImpl;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_LOAD_SOURCELINES_H
