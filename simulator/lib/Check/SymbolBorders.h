//===- SymbolBorders.h - Where device variables end -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The variables of a code object lie in its image one after the other, and all
// of it may be accessed. An address that is made from the beginning of one of
// them, though, has to stay in it: which registers hold such addresses is
// followed through additions and moves.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_SYMBOLBORDERS_H
#define LNBWD_LIB_SIMULATOR_CHECK_SYMBOLBORDERS_H

#include "Check/Effects.h"
#include "Core/InstructionTable.h"
#include "Core/Wave.h"

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace lnbwd::sim {

/// The addresses that a wave's registers hold.
class SymbolBorders {
public:
  explicit SymbolBorders(Wave &W) : W(W) {}
  /// A new wave. Symbols are sorted by address.
  void start(llvm::ArrayRef<DataSymbol> Variables);
  bool anything() const { return !Symbols.empty(); }
  /// An instruction has been executed, with these lanes.
  void after(const Inst *I, const Effects &E, uint64_t Exec);
  /// Whether the lanes' accesses stay in the variable that their address is
  /// made from. False: the wave has been stopped.
  bool check(const Inst *I, const Effects &E, const uint64_t *A, uint64_t Mask,
             unsigned Bytes) const;
  /// Whether a scalar load, which compilers may widen, meets its variable.
  bool checkScalar(const Inst *I, const Effects &E, uint64_t Address,
                   unsigned Bytes) const;

private:
  /// The variable that the low half of an address belongs to: its number plus
  /// 1, or 0; of a vector row in these lanes.
  struct Owner {
    uint32_t Symbol = 0;
    uint64_t Lanes = 0;
  };
  uint32_t startingAt(uint64_t Address) const;
  Owner ownerOf(const Effects &E) const;
  bool fault(const Inst *I, int Lane, uint64_t Address, unsigned Bytes,
             uint32_t Symbol) const;

  Wave &W;
  llvm::ArrayRef<DataSymbol> Symbols;
  std::vector<Owner> Rows;
  std::vector<uint32_t> Slots;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_SYMBOLBORDERS_H
