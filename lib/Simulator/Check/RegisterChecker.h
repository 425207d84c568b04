//===- RegisterChecker.h - Use of registers never written -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which lanes of which register, and which dwords of scratch memory, were ever
// written, and what that says of results.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_REGISTERCHECKER_H
#define LNBWD_LIB_SIMULATOR_CHECK_REGISTERCHECKER_H

#include "Check/LaunchChecks.h"
#include "Core/Wave.h"

#include <string>
#include <vector>

namespace lnbwd::sim {

/// "v5" or "s4"-like name of one register.
std::string registerName(unsigned Register, bool Scalar);

/// The registers and the scratch memory of a wave. What returns a bool returns
/// false if it has stopped the wave.
class RegisterChecker {
public:
  RegisterChecker(LaunchChecks &L, Wave &W) : L(L), W(W) {}
  /// A new wave starts with the first scalar and vector registers set.
  void start(unsigned ScalarsSet, unsigned VectorsSet);
  /// What an instruction needs to be defined, before it executes.
  bool checkDefined(const Inst *I, const Effects &E, uint64_t Exec);
  /// The data of a store or atomic whose address is known to be global.
  bool checkStored(const Inst *I, const Effects &E, uint64_t Lanes);
  /// What an instruction that accesses no memory makes of its result, before it
  /// executes.
  bool propagate(const Inst *I, const Effects &E, uint64_t Exec);
  /// Another instruction is about to access memory.
  void startAccess() { LoadedScratch = false; }
  /// An instruction that accesses memory has written its results.
  void loaded(const Inst *I, const Effects &E);
  /// An access to scratch memory.
  bool scratch(const Inst *I, const Effects &E, const uint64_t *A,
               uint64_t Mask, unsigned Bytes);
  /// A lane of an instruction that may access scratch has accessed other
  /// memory.
  void loadedElsewhere(unsigned Lane);
  /// The lanes in which a value that E stores is not defined.
  uint64_t undefinedStored(const Effects &E) const;

private:
  struct Source { ///< why a register is not defined
    const Inst *I = nullptr;
    uint16_t Register = 0;
    bool Scalar = false;
    bool Scratch = false; ///< loaded from scratch that was never written
  };

  bool requireVector(const Inst *I, RegisterSpan S, uint64_t Exec,
                     const char *Use);
  bool requireScalar(const Inst *I, RegisterSpan S, const char *Use);
  uint64_t definedLanes(const Inst *I, const Effects &E, unsigned K,
                        uint64_t Exec, uint64_t &Writable) const;
  bool scalarDefined(RegisterSpan S) const;
  void define(RegisterSpan S, uint64_t Lanes, uint64_t Defined, const Inst *I,
              const Effects &E);
  void define(RegisterSpan S, uint64_t Lanes, uint64_t Defined,
              const Source &Reason);
  void defineScalar(RegisterSpan S, bool Defined, const Inst *I,
                    const Effects &E);
  Source blame(const Inst *I, const Effects &E, uint64_t Exec) const;
  Source blameRow(const Inst *I, unsigned Register) const;
  void propagateMoves(const Inst *I, const Effects &E, uint64_t Exec);
  void propagateMatrix(const Inst *I, const Effects &E);
  std::string explain(const Source &S, unsigned Register, bool Scalar) const;

  LaunchChecks &L;
  Wave &W;
  uint64_t Defined[NumVectorRows];
  uint8_t ScalarIsDefined[NumScalarSlots];
  Source Why[NumVectorRows];
  Source ScalarWhy[NumScalarSlots];
  std::vector<uint64_t> ScratchDefined; ///< lanes, for each dword
  bool LoadedScratch = false;
  uint64_t ScratchLoaded[4]; ///< lanes that the present load found defined
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_REGISTERCHECKER_H
