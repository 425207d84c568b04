//===- CodeAnalysis.h - What checks know of a program -----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Found out once for a program, when a checked launch first executes it: what
// each instruction does, which hazards there are, and what the program does
// with what it loads.
//
// Machine code does not say which loads are there for order: on most chips an
// atomic load is a plain one with a cache bit, in LDS a plain one. What becomes
// of the value tells: a flag decides where the wave goes, and is read again
// until it does; what is only stored or added up is data.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_CODEANALYSIS_H
#define LNBWD_LIB_SIMULATOR_CHECK_CODEANALYSIS_H

#include "Check/Effects.h"
#include "Check/HazardChecker.h"

#include <map>
#include <mutex>
#include <optional>

namespace lnbwd::sim {

/// A register that is read before the wait for it.
struct MissingWait {
  const Inst *Use, *Producer;
  uint16_t Register;
  bool Scalar;
  WaitCounter Counter;
  unsigned Most; ///< the count that a wait needs
};

/// The first one in what branches and fall-through from an entry reach; callees
/// and what computed branches lead to are not looked at (WaitChecker.cpp).
std::optional<MissingWait> findMissingWait(const InstructionTable &P,
                                           const CodeEffects &Effects,
                                           const Inst *Entry);

struct CodeAnalysis final : public CodeNotes {
  explicit CodeAnalysis(const InstructionTable &P);
  /// Those of a program; found out on first use.
  static const CodeAnalysis &of(const InstructionTable &P);

  /// findMissingWait of a kernel; found out on first use.
  std::optional<MissingWait> missingWait(const InstructionTable &P,
                                         const Inst *Entry) const;

  CodeEffects Effects;
  CodeHazards Hazards;

private:
  mutable std::mutex Lock;
  mutable std::map<const Inst *, std::optional<MissingWait>> Waits;
};

/// Whether a kernel with this entry has an instruction, in what its branches
/// reach, that takes what other waves release; with calls, whether the code
/// has.
bool mayTake(const InstructionTable &P, const CodeEffects &Effects,
             const Inst *Entry);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_CODEANALYSIS_H
