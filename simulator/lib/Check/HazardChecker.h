//===- HazardChecker.h - Wait states that are missing -----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a wave has executed in the last wait states, and whether the next
// instruction comes too early for it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_HAZARDCHECKER_H
#define LNBWD_LIB_SIMULATOR_CHECK_HAZARDCHECKER_H

#include "Check/HazardRules.h"
#include "Check/LaunchChecks.h"
#include "Core/Wave.h"

#include <algorithm>
#include <string>

namespace lnbwd::sim {

class HazardChecker {
public:
  /// Scalar registers that vector and scalar ALU share, VCC included.
  static constexpr unsigned NumShared = SlotVCC + 2;

  HazardChecker(const LaunchChecks &L, Wave &W)
      : Begin(L.TheEffects.Begin), W(W), Hazards(L.Hazards) {}
  void start();
  /// The next instruction of the wave. False: the wave has been stopped.
  bool check(const Inst *I, const Effects &E) {
    if (Hazards.Newer)
      return checkNewer(I, E);
    if (Hazards.Rules.empty())
      return true;
    const HazardFacts &F = Hazards.Facts[size_t(I - Begin)];
    if (F.Consumes && !checkRules(I, E, F))
      return false;
    if (F.Produces)
      note(I, E, F);
    Now += F.WaitStates;
    return true;
  }

private:
  bool checkRules(const Inst *I, const Effects &E, const HazardFacts &F);
  bool checkRule(unsigned Rule, const Inst *I, const Effects &E,
                 const HazardFacts &F);
  void note(const Inst *I, const Effects &E, const HazardFacts &F);
  bool checkNewer(const Inst *I, const Effects &E);
  bool checkVector(const Inst *I, const Effects &E);
  bool checkShared(const Inst *I, const Effects &E);
  void noteShared(const Effects &E);
  void dropVectorResults();
  void dropOverwritten();
  bool checkForwarding(const Inst *I, const Effects &E);
  bool newerFault(const Inst *I, const Inst *First, const std::string &What,
                  const std::string &Remedy);

  const Inst *Begin;
  Wave &W;
  const CodeHazards &Hazards;
  uint64_t Now = 0; ///< in wait states
  static constexpr unsigned Kept = 32;
  struct Past {
    const Inst *I = nullptr;
    const Effects *E = nullptr;
    const HazardFacts *F = nullptr;
    uint64_t Time = 0;
  };
  Past History[Kept]; ///< instructions that rules begin with
  unsigned Next = 0;
  uint64_t Last[32]; ///< of each rule, when its first instruction was executed

  // gfx10 to gfx12.
  uint64_t Vectors = 0;         ///< vector instructions so far
  uint64_t Transcendentals = 0; ///< of them those of the transcendental unit
  uint64_t Scalars = 0;         ///< scalar ALU instructions that have a result
  struct TransResult {
    const Inst *I = nullptr;
    RegisterSpan Result;
    uint64_t Vectors = 0;
  };
  TransResult Slow[2];              ///< the youngest
  const Inst *LastMatrix = nullptr; ///< no vector instruction has followed
  const Effects *LastMatrixEffects = nullptr;
  const Inst *LastExecWrite = nullptr;
  struct SharedWrite {
    const Inst *I = nullptr;
    uint64_t Scalars = 0;
  };
  bool ReadByVectors[NumShared / 2];  ///< pairs
  SharedWrite Overwritten[NumShared]; ///< by the scalar ALU
  struct VectorResult {
    const Inst *I = nullptr;
    RegisterSpan Result;
    uint64_t Vectors = 0, ExecWrites = 0;
  };
  static constexpr unsigned Forwarded = 8; ///< instructions back
  VectorResult Results[Forwarded];         ///< by Vectors
  uint64_t ExecWrites = 0;                 ///< by the scalar ALU
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_HAZARDCHECKER_H
