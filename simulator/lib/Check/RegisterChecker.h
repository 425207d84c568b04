//===- RegisterChecker.h - Registers never written --------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which bits of which lanes of which register, and which bytes of scratch
// memory, were ever written, and what that says of results.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_REGISTERCHECKER_H
#define LNBWD_LIB_SIMULATOR_CHECK_REGISTERCHECKER_H

#include "Check/LaunchShadow.h"
#include "Core/Instruction.h"
#include "Core/Wave.h"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace lnbwd::sim {

/// The missing bits of the vector rows of a wave: those that nothing has been
/// computed into. Most rows are defined or undefined as a whole, so that a lane
/// mask says it; the others have a row of bits of their own.
class VectorBits {
public:
  /// The first rows of a new wave are defined, the others are not.
  void start(unsigned RowsDefined);

  /// The lanes of a row in which no bit is missing.
  uint64_t defined(unsigned Row) const { return Rows[Row].Whole; }
  /// Those in which some bits are missing and others are not.
  uint64_t partlyDefined(unsigned Row) const { return Rows[Row].Partly; }
  /// The missing bits of a lane.
  uint32_t missing(unsigned Row, unsigned Lane) const {
    if (Rows[Row].Whole >> Lane & 1)
      return 0;
    return Rows[Row].Partly >> Lane & 1 ? Bits[Row * 64 + Lane] : ~0u;
  }
  /// Those of the first N lanes.
  void missing(unsigned Row, uint32_t *Out, unsigned N) const;
  /// In the lanes, all bits become defined where Good has the lane, and
  /// missing elsewhere.
  void set(unsigned Row, uint64_t Lanes, uint64_t Good) {
    RowLanes &R = Rows[Row];
    R.Whole = (R.Whole & ~Lanes) | (Good & Lanes);
    R.Partly &= ~Lanes;
  }
  /// In the lanes, what is missing in another row becomes missing.
  void copy(unsigned Row, unsigned From, uint64_t Lanes);
  /// In the lanes, the bits of Missing become missing, and no others.
  void set(unsigned Row, uint64_t Lanes, const uint32_t *Missing);

  /// A result went to these lanes, and to no others: what the others hold is
  /// older, and nothing that an active lane may ask for.
  void written(unsigned Row, uint64_t Lanes) { Rows[Row].Old = ~Lanes; }
  void writtenToo(unsigned Row, unsigned Lane) {
    Rows[Row].Old &= ~(1ull << Lane);
  }
  uint64_t old(unsigned Row) const { return Rows[Row].Old; }

private:
  struct RowLanes {
    uint64_t Whole = 0, Partly = 0, Old = 0;
  };
  RowLanes Rows[NumVectorRows];
  /// 64 for each row; made when a lane first needs them.
  std::unique_ptr<uint32_t[]> Bits;
};

/// "v5" or "s4"-like name of one register.
std::string registerName(const SimulatedChip &Chip, unsigned Register,
                         bool Scalar);

/// The bits of a register that SDWA selects.
uint32_t sdwaField(Sdwa Sel);

/// The registers and the scratch memory of a wave. What returns a bool returns
/// false if it has stopped the wave.
class RegisterChecker {
public:
  enum class Origin : uint8_t {
    NeverWritten,
    Memory,       ///< loaded from memory that was never written
    UsedLds,      ///< loaded from LDS that others have read (Launch)
    InactiveLane, ///< taken from a lane that was not active
    Race          ///< loaded while another wave stored there
  };

  RegisterChecker(LaunchShadow &L, Wave &W) : L(L), W(W) {}
  /// A new wave starts with the first scalar and vector registers set.
  void start(unsigned ScalarsSet, unsigned VectorsSet);
  /// What an instruction needs to be defined, before it executes.
  bool checkDefined(const Inst *I, const Effects &E, uint64_t Exec);
  /// The data of a store or atomic whose address is known to be global. A copy
  /// of memory that was written in part may be stored: what was missing there
  /// is missing here (missingBytes).
  bool checkStored(const Inst *I, const Effects &E, uint64_t Lanes);
  /// Whether an instruction leaves all as it is: it reads and writes only
  /// scalars, all of which are defined.
  bool isKeptBy(const Effects &E) const {
    return E.IsScalar && !(E.ScalarsUsed & ScalarsMissing);
  }
  /// What an instruction that accesses no memory makes of its result, before it
  /// executes.
  bool propagate(const Inst *I, const Effects &E, uint64_t Exec);
  /// Another instruction is about to access memory.
  void startAccess() {
    Incomplete = 0;
    LoadBits.clear();
  }
  /// Of what the present load brings to a lane, the bytes of the mask were
  /// never written; the first of them is at Address, which is what it is in
  /// global memory, LDS or scratch. Fresh: nothing beside them has been written
  /// either; SoFar: another wave may do so later.
  void loadedMissing(unsigned Lane, uint32_t Bytes, MemorySpace Space,
                     uint64_t Address, bool Fresh = false, bool SoFar = false,
                     Origin From = Origin::Memory);
  /// The dwords of the mask are undefined in the present scalar load: never
  /// written, or From says why. Address: of the first of them.
  void scalarLoadedMissing(uint32_t Dwords, uint64_t Address,
                           Origin From = Origin::Memory);
  /// An instruction that accesses memory has written its results.
  void loaded(const Inst *I, const Effects &E);
  /// An access to scratch memory.
  bool scratch(const Inst *I, const Effects &E, const uint64_t *A,
               uint64_t Mask, unsigned Bytes);
  /// The present load races with a store of the workgroup, which has come
  /// first, over the Bytes at Address. Whether that matters shows where the
  /// value is used; the race is reported then (reportError). False: it is to be
  /// reported at once.
  bool awaitUse(const AccessRange &R, uint64_t Address, uint64_t Bytes,
                const Inst *Other, const std::string &MergeKey,
                llvm::function_ref<std::string()> Text);
  /// The lanes in which something of what E stores is missing.
  uint64_t incompleteStored(const Effects &E) const;
  /// The bytes of a source operand of a store that are missing in a lane.
  uint32_t missingBytes(const Inst *I, const Effects &E, unsigned Operand,
                        unsigned Lane) const;

private:
  struct Source { ///< why a register is not defined
    const Inst *I = nullptr;
    uint16_t Register = 0;
    bool Scalar = false;
    Origin From = Origin::NeverWritten;
    MemorySpace Space = MemorySpace::None;
    /// As it came from memory, where something was written; nothing computed
    /// from it.
    bool Copied = false;
    uint64_t Address = 0;
    bool SoFar = false; ///< another wave may have been about to write it
  };
  /// What differs between executions with undefined bits filled differently.
  struct Difference {
    unsigned Count = 0; ///< vector rows
    uint16_t Row[4];
    uint32_t Bits[4][64];
    uint32_t Scalar[NumScalarSlots];
  };

  uint64_t scratchStored(uint64_t *Written, uint64_t Lanes, unsigned Bytes,
                         RegisterSpan Data, uint64_t Partial) const;
  void scratchBits(const Inst *I, const Effects &E, unsigned Lane, size_t Byte,
                   unsigned K, bool Incomplete);
  bool requireVector(const Inst *I, RegisterSpan S, uint64_t Exec,
                     const char *Use);
  bool requireScalar(const Inst *I, RegisterSpan S, const char *Use);
  bool branchOnVcc(const Inst *I);
  bool undefined(const Inst *I, int Lane, const char *Use, const Source &S,
                 unsigned Register, bool Scalar);
  bool reportRaces();
  bool checkRaces(const Effects &E, uint64_t Lanes);
  bool mayStore(const Inst *I, const Effects &E, unsigned Lane,
                unsigned &Culprit) const;

  // What is defined, and why not.
  bool scalarDefined(RegisterSpan S) const {
    for (unsigned K = 0; K < S.Count; ++K)
      if (ScalarMissing[S.First + K])
        return false;
    return true;
  }
  bool scalarSourcesDefined(const Effects &E) const {
    if (!E.ReadsScalars || !(E.ScalarsUsed & ScalarsMissing))
      return true;
    for (const RegisterSpan &S : E.ScalarRead)
      if (!scalarDefined(S))
        return false;
    return !E.ReadsScc || !ScalarMissing[SlotSCC];
  }
  std::string explain(const Source &S, unsigned Register, bool Scalar) const;
  Source blame(const Inst *I, const Effects &E, uint64_t Lanes) const;
  Source blameRegister(const Inst *I, unsigned Register, bool Scalar) const;
  Source blameRow(const Inst *I, unsigned Register) const {
    return blameRegister(I, Register, /*Scalar=*/false);
  }
  Source blameScalar(const Inst *I, unsigned Slot) const {
    return blameRegister(I, Slot, /*Scalar=*/true);
  }
  Source blameInactive(const Inst *I, unsigned Register) const;
  void define(RegisterSpan S, uint64_t Lanes, uint64_t Good,
              const Source &Reason);
  void define(RegisterSpan S, uint64_t Lanes) {
    for (unsigned K = 0; K < S.Count; ++K) {
      Vectors.set(S.First + K, Lanes, ~0ull);
      Vectors.written(S.First + K, Lanes);
    }
  }
  void setScalar(unsigned Slot, uint32_t Missing) {
    if (ScalarMissing[Slot] == Missing)
      return;
    ScalarMissing[Slot] = Missing;
    summarizeScalars();
  }
  void summarizeScalars();
  void defineScalar(RegisterSpan S, uint32_t Missing, const Source &Reason);
  bool scalarResults(const Inst *I, const Effects &E, bool Good);
  bool newExec(const Inst *I, const Source &Reason);

  // How definedness follows (RegisterFlow.cpp).
  uint64_t definedLanes(const Inst *I, const Effects &E, unsigned K,
                        uint64_t Exec, uint64_t &Writable) const {
    uint64_t Good = ~0ull;
    const RegisterSpan V = E.VectorRead[K], S = E.ScalarRead[K];
    for (unsigned R = 0; R < V.Count; ++R)
      Good &= Vectors.defined(V.First + R);
    for (unsigned R = 0; R < S.Count; ++R)
      Good &= ScalarMissing[S.First + R] ? 0 : ~0ull;
    return K == 0 && (I->Flags & FlagDpp)
               ? movedLanes(I, V, Good, Exec, Writable)
               : Good;
  }
  uint64_t movedLanes(const Inst *I, RegisterSpan V, uint64_t Good,
                      uint64_t Exec, uint64_t &Writable) const;
  bool usesOnlyDefined(const Inst *I, const Effects &E, uint64_t Exec) const;
  bool propagateLanes(const Inst *I, const Effects &E, uint64_t Exec);
  bool propagateScalars(const Inst *I, const Effects &E);
  void propagateAnyLane(const Inst *I, const Effects &E, uint64_t Exec);
  void propagateMoves(const Inst *I, const Effects &E, uint64_t Exec);
  void propagateSwap(const Inst *I, const Effects &E, uint64_t Exec);
  void propagateMatrix(const Inst *I, const Effects &E);
  void propagateConversion(const Inst *I, const Effects &E, uint64_t Exec);
  void propagateReadLane(const Inst *I, const Effects &E, uint64_t Exec);
  void propagateWriteLane(const Inst *I, const Effects &E);
  void propagateIndexed(const Effects &E, const Inst *I);

  // By filling what is missing (RegisterFill.cpp).
  void fill(const Inst *I, const Effects &E, uint64_t Exec, Difference &D);
  bool propagateByFilling(const Inst *I, const Effects &E, uint64_t Exec);

  LaunchShadow &L;
  Wave &W;
  VectorBits Vectors;
  uint32_t ScalarMissing[NumScalarSlots]; ///< bits; of SCC only the lowest
  /// The slots, of those that the code uses, of which bits are missing
  /// (bitsOf).
  uint64_t ScalarsMissing = 0;
  Source Why[NumVectorRows];
  Source ScalarWhy[NumScalarSlots];
  std::vector<uint64_t> ScratchWritten; ///< lanes, for each byte
  /// The missing bits of bytes that are written in part; by byte and lane.
  std::unordered_map<uint64_t, uint8_t> ScratchBits;
  // Of the present load:
  uint64_t Incomplete = 0; ///< lanes of which something is missing
  uint32_t LoadMissing[64];
  struct PartialByte {
    uint8_t Lane, Byte, Missing;
  };
  std::vector<PartialByte> LoadBits;
  uint32_t ScalarLoadMissing = 0;
  MemorySpace LoadSpace = MemorySpace::None;
  bool LoadFresh = false, LoadSoFar = false;
  Origin LoadFrom = Origin::Memory;
  uint64_t LoadAddress = 0;
  struct Race { ///< what is said of it, and how often
    const Inst *I, *Other;
    int Lane;
    std::string MergeKey, Text;
    unsigned Count;
  };
  std::vector<Race> Races;  ///< whose values nothing has used so far
  bool RacesMatter = false; ///< something has used one
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_REGISTERCHECKER_H
