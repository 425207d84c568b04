//===- HazardChecker.h - Wait states that are missing -----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pairs of instructions between which a program has to leave so many wait
// states, because the chip does not wait by itself: one table, by chip. A wait
// state is an instruction, or one of the N + 1 of `s_nop N`. The checker knows
// what a wave has executed in the last wait states, and whether the next
// instruction comes too early for it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_HAZARDCHECKER_H
#define LNBWD_LIB_SIMULATOR_CHECK_HAZARDCHECKER_H

#include "Check/Effects.h"
#include "Core/Wave.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lnbwd::sim {

/// The parts that an instruction can play in a hazard.
enum HazardRole : uint32_t {
  RoleVector = 1u << 0,       ///< vector ALU, matrices included
  RoleWritesVgpr = 1u << 1,   ///< vector ALU, not a matrix
  RoleWritesSgpr = 1u << 2,   ///< vector ALU with a scalar result
  RoleWritesExec = 1u << 3,   ///< vector ALU that sets EXEC
  RoleTrans = 1u << 4,        ///< the transcendental unit
  RolePartialWrite = 1u << 5, ///< a result in a byte or the upper half
  RoleDot = 1u << 6,          ///< dot products
  RoleMatrix = 1u << 7,
  RoleDouble = 1u << 8, ///< matrices of f64
  RoleMemory = 1u << 9, ///< vector memory and LDS
  RoleVectorMemory = 1u << 10,
  RoleDpp = 1u << 11,
  RoleDivFmas = 1u << 12,
  RoleLaneSelect = 1u << 13, ///< a lane number in a scalar register
  RoleReadLane = 1u << 14,
  RoleWriteLane = 1u << 15,
  RoleSetReg = 1u << 16,
  RoleGetReg = 1u << 17,
  RoleWritesM0 = 1u << 18,  ///< scalar ALU
  RoleReadsM0 = 1u << 19,   ///< messages, relative moves, loads to LDS
  RoleWideStore = 1u << 20, ///< more than two dwords from registers
  RoleFma64 = 1u << 21,
  RoleSwapsLanes = 1u << 22, ///< v_permlane*_swap
  RoleAccRead = 1u << 23,
  RoleAccWrite = 1u << 24,
  RoleReadsSgpr = 1u << 25, ///< vector ALU with a scalar source
};

/// What the rules have to know of an instruction.
struct HazardFacts {
  uint32_t Roles = 0;
  uint32_t Produces = 0;  ///< rules, by bit, whose first instruction it may be
  uint32_t Consumes = 0;  ///< and whose second
  uint8_t WaitStates = 1; ///< that it takes
  uint8_t Passes = 0;     ///< of a matrix instruction
  bool Xdl = false;       ///< a matrix instruction not in full precision
};

/// Two instructions of a wave, one after the other.
struct HazardPair {
  const Inst *First, *Second;
  const Effects *FirstEffects, *SecondEffects;
  const HazardFacts *FirstFacts, *SecondFacts;
  bool IsGfx940, IsGfx950; ///< the second is one of the first
  bool DoubleBetween;      ///< a matrix instruction of f64 lies between
  /// Of the result of the first, what no matrix instruction between the two has
  /// overwritten at its beginning or end.
  RegisterSpan Result;
};

/// Chips, by bit.
enum HazardChips : uint8_t {
  ChipGfx908 = 1,
  ChipGfx90a = 2,
  ChipGfx942 = 4,
  ChipGfx950 = 8,
  ChipGfx9 = 15,
  ChipGfx90aOn = ChipGfx90a | ChipGfx942 | ChipGfx950,
  ChipGfx940On = ChipGfx942 | ChipGfx950,
};

struct HazardRule {
  uint8_t Chips;
  uint32_t First, Second; ///< roles, of which one is enough
  uint8_t Most;           ///< the most wait states that are ever needed
  /// Wait states that the pair needs between; 0: no hazard, look further back.
  unsigned (*Needs)(const HazardPair &);
  const char *What; ///< "v1, which FIRST has written, is read by ..."
};

/// What chips from gfx10 on do not wait for.
enum NewerHazards : uint8_t {
  NewerTrans = 1,    ///< vector ALU reads after the transcendental unit
  NewerMatrix = 2,   ///< one matrix instruction multiplies another one's result
  NewerPermlane = 4, ///< v_permlane after v_cmpx
  NewerSgpr = 8,     ///< scalar registers that vector and scalar ALU share
  NewerForwarding = 16, ///< results of both sides of a write of EXEC
  NewerBeside = 32,     ///< the vector ALU works beside a matrix instruction
};

/// The hazards of a program's chip, and what its instructions are to them.
struct CodeHazards {
  CodeHazards(const InstructionTable &P, const CodeEffects &Effects);
  std::vector<HazardRule> Rules;  ///< of gfx9; those that can apply
  std::vector<HazardFacts> Facts; ///< of each instruction, if there are rules
  uint8_t Newer = 0;              ///< NewerHazards
  bool IsGfx940 = false, IsGfx950 = false;
};

class HazardChecker {
public:
  HazardChecker(const CodeEffects &Code, const CodeHazards &Hazards, Wave &W)
      : Begin(Code.Begin), W(W), Hazards(Hazards) {}
  void start();
  /// The next instruction of the wave. False: the wave has been stopped.
  [[gnu::always_inline]] bool check(const Inst *I, const Effects &E) {
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
  bool checkBeside(const Inst *I, const Effects &E);
  /// Vector instructions so far; both halves of a pair have as many before.
  uint64_t before(const Inst *I) const {
    return Vectors - (I->Class == InstClass::Uncounted);
  }
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
  struct MatrixResult {
    const Inst *I = nullptr;
    const Effects *E = nullptr;
    uint64_t Vectors = 0;
  };
  MatrixResult Products[8]; ///< the youngest, by Matrices
  uint64_t Matrices = 0;    ///< matrix instructions so far
  const Inst *LastExecWrite = nullptr;
  struct SharedWrite {
    const Inst *I = nullptr;
    uint64_t Scalars = 0;
  };
  bool ReadByVectors[NumSharedScalars / 2];  ///< pairs
  uint64_t MayBeRead = 0;                    ///< by their numbers modulo 64
  SharedWrite Overwritten[NumSharedScalars]; ///< by the scalar ALU
  uint64_t MayBeOverwritten = 0;             ///< by their numbers modulo 64
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
