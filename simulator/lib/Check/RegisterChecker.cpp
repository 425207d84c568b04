//===- RegisterChecker.cpp - Uses of what is not defined ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The uses of registers that matter, what loads and stores move, and why a
// register is not defined, in words. A value that is not defined may be moved
// about, as compilers do with what will not be used; it must not become an
// address, be stored to global memory, or decide where a wave continues or
// which lanes are active. What instructions make of it is in RegisterFlow.cpp
// and RegisterFill.cpp.
//
//===----------------------------------------------------------------------===//

#include "Check/RegisterChecker.h"

#include "Core/Execution.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <utility>

using namespace lnbwd::sim;

void VectorBits::start(unsigned RowsDefined) {
  for (unsigned Row = 0; Row < NumVectorRows; ++Row)
    Rows[Row] = {Row < RowsDefined ? ~0ull : 0, 0, 0};
}

void VectorBits::missing(unsigned Row, uint32_t *Out, unsigned N) const {
  for (unsigned Lane = 0; Lane < N; ++Lane)
    Out[Lane] = missing(Row, Lane);
}

void VectorBits::copy(unsigned Row, unsigned From, uint64_t Lanes) {
  const uint64_t Parts = Rows[From].Partly & Lanes;
  set(Row, Lanes, Rows[From].Whole);
  Rows[Row].Partly |= Parts;
  for (unsigned Lane : LaneMask(Parts))
    Bits[size_t(Row) * 64 + Lane] = Bits[size_t(From) * 64 + Lane];
}

void VectorBits::set(unsigned Row, uint64_t Lanes, const uint32_t *Missing) {
  if (!Bits)
    Bits.reset(new uint32_t[size_t(NumVectorRows) * 64]);
  for (unsigned Lane : LaneMask(Lanes)) {
    const uint64_t Bit = 1ull << Lane;
    set(Row, Bit, Missing[Lane] ? 0 : Bit);
    if (Missing[Lane] && ~Missing[Lane])
      Rows[Row].Partly |= Bit;
    Bits[size_t(Row) * 64 + Lane] = Missing[Lane];
  }
}

std::string lnbwd::sim::registerName(const SimulatedChip &Chip,
                                     unsigned Register, bool Scalar) {
  if (!Scalar) {
    if (Register >= RowAGPR0 && Chip.HasAgprs)
      return "a" + std::to_string(Register - RowAGPR0);
    return "v" + std::to_string(Register);
  }
  switch (Register) {
  case SlotVCC:
    return "vcc_lo";
  case SlotVCC + 1:
    return "vcc_hi";
  case SlotExec:
    return "exec_lo";
  case SlotExec + 1:
    return "exec_hi";
  case SlotM0:
    return "m0";
  case SlotSCC:
    return "scc";
  default:
    break;
  }
  if (Register >= SlotTTMP0 && Register < SlotTTMP0 + 16)
    return "ttmp" + std::to_string(Register - SlotTTMP0);
  return "s" + std::to_string(Register);
}

uint32_t lnbwd::sim::sdwaField(Sdwa Sel) {
  if (Sel <= Sdwa::Byte3)
    return 0xffu << unsigned(Sel) * 8;
  return Sel == Sdwa::Word0 ? 0xffffu : Sel == Sdwa::Word1 ? 0xffff0000u : ~0u;
}

std::string RegisterChecker::explain(const Source &S, unsigned Register,
                                     bool Scalar) const {
  const std::string Name = registerName(*W.L->Chip, Register, Scalar);
  if (!S.I)
    return Name + " was never written";
  const std::string Other = registerName(*W.L->Chip, S.Register, S.Scalar);
  const std::string Place =
      W.L->Symbols->symbolize(S.I->Address) + ": " + W.L->Code->text(S.I);
  switch (S.From) {
  case Origin::NeverWritten:
  case Origin::Race: // reportRaces() speaks of it
    break;
  case Origin::InactiveLane:
    return Name + " depends on " + Other +
           " of a lane that was not active when it was read, at " + Place +
           (S.I->Class == InstClass::LDS
                ? " (hardware gives 0 there; HIP's shuffles promise nothing)"
                : "");
  case Origin::UsedLds:
    return Name + " depends on " + Other + ", which was loaded from byte " +
           std::to_string(S.Address) + " of LDS at " + Place + "; " +
           LdsUsedText;
  case Origin::Memory:
    if (S.Space == MemorySpace::Scratch)
      return Name + " depends on " + Other +
             ", which was loaded from scratch memory that was never written, "
             "at " +
             Place;
    std::string Where = "byte " + std::to_string(S.Address) + " of LDS";
    if (S.Space != MemorySpace::Lds) {
      const Region *R = findRegion(W, S.Address, 1);
      const auto *Shadow =
          static_cast<const BufferShadow *>(R ? R->Notes : nullptr);
      Where =
          "byte " + std::to_string(S.Address - (R ? R->Begin : 0)) +
          " of the buffer" +
          (Shadow && !Shadow->Name.empty() ? " '" + Shadow->Name + "'" : "");
    }
    return Name + " depends on " + Other + ", which was loaded at " + Place +
           ", where " + Where + " was never written" +
           (S.Space == MemorySpace::Lds ? " by this workgroup" : "") +
           (S.SoFar ? " so far; if another wave is to write it, a barrier "
                      "between the two is missing"
                    : "");
  }
  return Name + " depends on " + Other +
         ", which was never written before it was read at " + Place;
}

/// The first source that is not defined, or what the result keeps.
RegisterChecker::Source RegisterChecker::blame(const Inst *I, const Effects &E,
                                               uint64_t Lanes) const {
  for (const RegisterSpan &S : E.VectorRead)
    for (unsigned K = 0; K < S.Count; ++K)
      if (Lanes & ~Vectors.defined(S.First + K))
        return blameRow(I, S.First + K);
  for (const RegisterSpan &S : E.ScalarRead)
    for (unsigned K = 0; K < S.Count; ++K)
      if (ScalarMissing[S.First + K])
        return blameScalar(I, S.First + K);
  if (E.ReadsScc && ScalarMissing[SlotSCC])
    return blameScalar(I, SlotSCC);
  for (const RegisterSpan &S : E.VectorWrite)
    for (unsigned K = 0; K < S.Count; ++K)
      if (Lanes & ~Vectors.defined(S.First + K))
        return blameRow(I, S.First + K);
  return blameScalar(I, SlotSCC);
}

/// Why a register that is not defined, in some lane, is not: what was noted, or
/// that it was never written before it was read.
RegisterChecker::Source RegisterChecker::blameRegister(const Inst *I,
                                                       unsigned Register,
                                                       bool Scalar) const {
  Source From = Scalar ? ScalarWhy[Register] : Why[Register];
  if (!From.I) {
    From.I = I;
    From.Register = uint16_t(Register);
    From.Scalar = Scalar;
  }
  return From;
}

RegisterChecker::Source
RegisterChecker::blameInactive(const Inst *I, unsigned Register) const {
  Source From;
  From.I = I;
  From.Register = uint16_t(Register);
  From.From = Origin::InactiveLane;
  return From;
}

void RegisterChecker::start(unsigned ScalarsSet, unsigned VectorsSet) {
  Vectors.start(VectorsSet);
  llvm::fill(Why, Source());
  llvm::fill(ScalarWhy, Source());
  for (unsigned K = 0; K < NumScalarSlots; ++K)
    ScalarMissing[K] = K < ScalarsSet || K >= SlotExec ? 0 : ~0u;
  ScalarMissing[SlotSCC] = 1;
  ScalarMissing[SlotM0] = ~0u;
  if (L.Generation >= 12) {
    ScalarMissing[SlotGroupX] = ScalarMissing[SlotGroupYZ] = 0;
    ScalarMissing[SlotCluster] = W.L->Chip->isCdna5() ? 0 : ~0u;
    ScalarMissing[SlotWaveId] = ~WaveIdBits;
  }
  summarizeScalars();
  ScratchWritten.assign(size_t(W.ScratchSize) + 4, 0);
  ScratchBits.clear();
  Incomplete = 0;
  ScalarLoadMissing = 0;
  Races.clear();
  RacesMatter = false;
}

void RegisterChecker::summarizeScalars() {
  ScalarsMissing = 0;
  for (uint16_t Slot : L.TheEffects.ScalarSlots)
    if (ScalarMissing[Slot])
      ScalarsMissing |= bitsOf({Slot, 1});
}

/// A use of what is not defined. True: the wave goes on, and it is defined now.
bool RegisterChecker::undefined(const Inst *I, int Lane, const char *Use,
                                const Source &S, unsigned Register,
                                bool Scalar) {
  if (S.From == Origin::Race)
    return reportRaces();
  return faultCheck(W, "registers", I, Lane,
                    std::string(Use) +
                        " is not defined: " + explain(S, Register, Scalar));
}

/// From now on the wave's races are reported at once, and what it has loaded
/// counts as defined.
bool RegisterChecker::reportRaces() {
  RacesMatter = true;
  for (unsigned Row = 0; Row < NumVectorRows; ++Row)
    if (Why[Row].From == Origin::Race)
      Vectors.set(Row, ~0ull, ~0ull);
  for (unsigned Slot = 0; Slot < NumScalarSlots; ++Slot)
    if (ScalarWhy[Slot].From == Origin::Race)
      setScalar(Slot, 0);
  bool Good = true;
  for (const Race &R : std::exchange(Races, {}))
    for (unsigned K = 0; K < R.Count && Good; ++K)
      Good = reportError(W, "races", R.I, R.Other, R.Lane, R.MergeKey,
                         [&] { return R.Text; });
  return Good;
}

/// What an instruction stores in these lanes.
bool RegisterChecker::checkRaces(const Effects &E, uint64_t Lanes) {
  if (Races.empty())
    return true;
  for (unsigned K = 1; K < 4; ++K)
    for (unsigned R = 0; R < E.VectorRead[K].Count; ++R) {
      const unsigned Row = E.VectorRead[K].First + R;
      if ((Lanes & ~Vectors.defined(Row)) && Why[Row].From == Origin::Race)
        return reportRaces();
    }
  return true;
}

bool RegisterChecker::awaitUse(const AccessRange &R, uint64_t Address,
                               uint64_t Bytes, const Inst *Other,
                               const std::string &MergeKey,
                               llvm::function_ref<std::string()> Text) {
  const bool IsScalar = R.E->Space == MemorySpace::Scalar;
  if (!L.registers() || RacesMatter ||
      ((IsScalar ? ScalarLoadMissing != 0 : Incomplete != 0) &&
       LoadFrom != Origin::Race))
    return false;
  const uint64_t Begin = Address - R.Address;
  const uint64_t Last = std::min(Begin + Bytes, R.Bytes) - 1;
  const int Lane = IsScalar ? -1 : R.Lane + int(Begin / R.LaneBytes);
  auto Known = llvm::find_if(Races, [&](const Race &K) {
    return K.I == R.I && K.Other == Other && K.MergeKey == MergeKey;
  });
  if (Known == Races.end())
    Known = Races.insert(Known, {R.I, Other, Lane, MergeKey, Text(), 0});
  ++Known->Count;
  if (IsScalar) {
    scalarLoadedMissing(llvm::maskTrailingOnes<uint32_t>(Last / 4 + 1) &
                            llvm::maskTrailingZeros<uint32_t>(Begin / 4),
                        R.Address, Origin::Race);
    return true;
  }
  for (int K = Lane, End = R.Lane + int(Last / R.LaneBytes) + 1; K < End; ++K)
    loadedMissing(K, (1u << R.LaneBytes) - 1, MemorySpace::Global, R.Address,
                  /*Fresh=*/true, /*SoFar=*/false, Origin::Race);
  return true;
}

bool RegisterChecker::requireVector(const Inst *I, RegisterSpan S,
                                    uint64_t Exec, const char *Use) {
  for (unsigned K = 0; K < S.Count; ++K) {
    uint64_t Missing = Exec & ~Vectors.defined(S.First + K);
    if (!Missing)
      continue;
    if (!undefined(I, __builtin_ctzll(Missing), Use, Why[S.First + K],
                   S.First + K, false))
      return false;
  }
  return true;
}

bool RegisterChecker::requireScalar(const Inst *I, RegisterSpan S,
                                    const char *Use) {
  for (unsigned K = 0; K < S.Count; ++K)
    if (ScalarMissing[S.First + K] &&
        !undefined(I, -1, Use, ScalarWhy[S.First + K], S.First + K, true))
      return false;
  return true;
}

/// Whether any bit is set is known where one that is defined is.
bool RegisterChecker::branchOnVcc(const Inst *I) {
  const uint8_t Dwords = W.N == 64 ? 2 : 1;
  for (unsigned K = 0; K < Dwords; ++K)
    if (W.S[SlotVCC + K] & ~ScalarMissing[SlotVCC + K])
      return true;
  return requireScalar(I, {SlotVCC, Dwords}, "the branch's condition");
}

/// The uses that matter.
bool RegisterChecker::checkDefined(const Inst *I, const Effects &E,
                                   uint64_t Exec) {
  if (E.BranchOnScc && ScalarMissing[SlotSCC])
    return requireScalar(I, {SlotSCC, 1}, "the branch's condition");
  if (E.BranchOnVcc)
    return branchOnVcc(I);
  if (E.How == Flow::ScalarIndexed)
    return requireScalar(I, {SlotM0, 1}, "the register's number");
  bool Memory = E.Access != MemoryAccess::None;
  if (E.NeedsScalars && (Exec || !Memory || E.Space == MemorySpace::Scalar))
    for (const RegisterSpan &S : E.ScalarRead)
      if (S.Count &&
          !requireScalar(I, S, Memory ? "the address" : "the jump's target"))
        return false;
  if (!Memory || !Exec || E.Space == MemorySpace::Scalar)
    return true;
  if (!requireVector(I, E.VectorRead[0], Exec, "the address") ||
      (E.Asynchronous &&
       !requireVector(I, E.VectorRead[1], Exec, "the address in LDS")))
    return false;
  // What becomes of it there nobody follows.
  if (E.Space != MemorySpace::Global && !checkRaces(E, Exec))
    return false;
  return E.Space != MemorySpace::Lds || E.Access != MemoryAccess::Atomic ||
         checkStored(I, E, Exec);
}

/// The bits of a data register that a store takes.
static uint32_t storedBits(const Inst *I) {
  const unsigned Up = I->Flags & FlagHigh16 ? 16 : 0;
  return I->ElementBytes == 1   ? 0xffu << Up
         : I->ElementBytes == 2 ? 0xffffu << Up
                                : ~0u;
}

/// Whether there is a byte of which a part is missing, which is no padding.
static bool splitsBytes(uint32_t Missing) {
  for (unsigned K = 0; K < 4; ++K) {
    const uint32_t Byte = Missing >> 8 * K & 0xff;
    if (Byte && Byte != 0xff)
      return true;
  }
  return false;
}

/// Copies of memory whose padding nobody has written, and the fourth dword of
/// vectors of three.
bool RegisterChecker::mayStore(const Inst *I, const Effects &E, unsigned Lane,
                               unsigned &Culprit) const {
  const uint32_t Used = storedBits(I);
  bool AnyDefined = false, AnyMissing = false, Copied = true, Fourth = true;
  for (unsigned K = 1; K < 4; ++K) {
    const RegisterSpan S = E.VectorRead[K];
    for (unsigned R = 0; R < S.Count; ++R) {
      const uint32_t Missing = Vectors.missing(S.First + R, Lane) & Used;
      AnyDefined |= Missing != Used;
      if (!Missing)
        continue;
      if (!AnyMissing || !Why[S.First + R].Copied)
        Culprit = S.First + R;
      AnyMissing = true;
      const Source &Reason = Why[S.First + R];
      Copied &= Reason.Copied && !splitsBytes(Missing);
      AnyDefined |= I->ElementBytes < 4 && Reason.Space != MemorySpace::Scratch;
      Fourth &= S.Count == 4 && R == 3;
    }
  }
  return !AnyMissing ||
         (E.Access == MemoryAccess::Store && AnyDefined && (Copied || Fourth));
}

bool RegisterChecker::checkStored(const Inst *I, const Effects &E,
                                  uint64_t Lanes) {
  if (!checkRaces(E, Lanes))
    return false;
  for (uint64_t Left = Lanes & incompleteStored(E); Left; Left &= Left - 1) {
    const unsigned Lane = unsigned(__builtin_ctzll(Left));
    unsigned Culprit = 0;
    if (!mayStore(I, E, Lane, Culprit) &&
        !undefined(I, int(Lane), "the value stored", Why[Culprit], Culprit,
                   false))
      return false;
  }
  return true;
}

uint64_t RegisterChecker::incompleteStored(const Effects &E) const {
  uint64_t Lanes = 0;
  for (unsigned K = 1; K < 4; ++K) {
    RegisterSpan S = E.VectorRead[K];
    for (unsigned R = 0; R < S.Count; ++R)
      Lanes |= ~Vectors.defined(S.First + R);
  }
  return Lanes;
}

/// A byte is missing if all of its bits are.
static uint32_t wholeBytes(uint32_t Missing) {
  uint32_t Bytes = 0;
  for (unsigned K = 0; K < 4; ++K)
    Bytes |= uint32_t((Missing >> 8 * K & 0xff) == 0xff) << K;
  return Bytes;
}

uint32_t RegisterChecker::missingBytes(const Inst *I, const Effects &E,
                                       unsigned Operand, unsigned Lane) const {
  const RegisterSpan S = E.VectorRead[Operand];
  const unsigned Up = I->Flags & FlagHigh16 ? 2 : 0;
  uint32_t Bytes = 0;
  for (unsigned R = 0; R < S.Count && R < 8; ++R)
    Bytes |= wholeBytes(Vectors.missing(S.First + R, Lane)) << 4 * R;
  return I->ElementBytes < 4 ? Bytes >> Up & ((1u << I->ElementBytes) - 1)
                             : Bytes;
}

void RegisterChecker::loadedMissing(unsigned Lane, uint32_t Bytes,
                                    MemorySpace Space, uint64_t Address,
                                    bool Fresh, bool SoFar, Origin From) {
  if (!(Incomplete >> Lane & 1))
    LoadMissing[Lane] = 0;
  if (!Incomplete) {
    LoadSpace = Space;
    LoadAddress = Address;
    LoadFresh = LoadSoFar = false;
    LoadFrom = From;
  }
  LoadFresh |= Fresh;
  LoadSoFar |= SoFar;
  Incomplete |= 1ull << Lane;
  LoadMissing[Lane] |= Bytes;
}

void RegisterChecker::scalarLoadedMissing(uint32_t Dwords, uint64_t Address,
                                          Origin From) {
  ScalarLoadMissing |= Dwords;
  LoadAddress = Address;
  LoadFrom = From;
}

/// The bits of a register that a load gives, of which some bytes are missing.
static uint32_t missingOf(const Inst *I, uint32_t Bytes) {
  uint32_t Bits = 0;
  for (unsigned K = 0; K < 4; ++K)
    Bits |= (Bytes >> K & 1 ? 0xffu : 0) << 8 * K;
  if (I->ElementBytes >= 4)
    return Bits;
  const unsigned Width = I->ElementBytes * 8;
  Bits &= (1u << Width) - 1;
  if ((I->Flags & FlagSigned) && (Bits >> (Width - 1)))
    Bits |= ~0u << Width;
  if (!(I->Flags & FlagD16))
    return Bits;
  return I->Flags & FlagHigh16 ? Bits << 16 : Bits & 0xffff;
}

void RegisterChecker::loaded(const Inst *I, const Effects &E) {
  const uint64_t Exec = W.exec();
  RegisterSpan S = E.VectorWrite[0];
  // A load of 16 bits into a half keeps the other one.
  const uint32_t Kept = I->Flags & FlagD16 && I->ElementBytes < 4
                            ? I->Flags & FlagHigh16 ? 0xffffu : ~0xffffu
                            : 0;
  for (unsigned K = 0; K < S.Count; ++K) {
    const unsigned Row = S.First + K;
    const uint64_t Partial =
        Exec & (Incomplete | (Kept ? ~Vectors.defined(Row) : 0));
    Vectors.written(Row, Exec);
    if (__builtin_expect(!Partial, 1)) {
      Vectors.set(Row, Exec, ~0ull);
      continue;
    }
    uint32_t Missing[64];
    bool FromMemory = false;
    for (unsigned Lane : LaneMask(Partial)) {
      uint32_t Loaded = Incomplete >> Lane & 1 && K < 8
                            ? missingOf(I, LoadMissing[Lane] >> 4 * K & 15)
                            : 0;
      for (const PartialByte &P : LoadBits)
        if (P.Lane == Lane && P.Byte / 4u == K)
          Loaded |= uint32_t(P.Missing) << 8 * (P.Byte % 4);
      FromMemory |= Loaded != 0;
      Missing[Lane] = Loaded | (Vectors.missing(Row, Lane) & Kept);
    }
    Vectors.set(Row, Exec & ~Partial, ~0ull);
    Vectors.set(Row, Partial, Missing);
    if (FromMemory)
      Why[Row] = {I,         uint16_t(Row), false,       LoadFrom,
                  LoadSpace, !LoadFresh,    LoadAddress, LoadSoFar};
  }
  for (const RegisterSpan &To : E.ScalarWrite)
    for (unsigned K = 0; K < To.Count; ++K) {
      const unsigned Slot = To.First + K;
      setScalar(Slot, ScalarLoadMissing >> K & 1 ? ~0u : 0);
      if (ScalarMissing[Slot])
        ScalarWhy[Slot] = {I,          uint16_t(Slot),      true,
                           LoadFrom,   MemorySpace::Global, true,
                           LoadAddress};
    }
  ScalarLoadMissing = 0;
}

/// Bytes of scratch memory of which a part is missing, as of bit fields.
void RegisterChecker::scratchBits(const Inst *I, const Effects &E,
                                  unsigned Lane, size_t Byte, unsigned K,
                                  bool Incomplete) {
  const uint64_t Key = uint64_t(Byte) * 64 + Lane;
  if (E.Access == MemoryAccess::Load) {
    if (ScratchBits.empty())
      return;
    const auto It = ScratchBits.find(Key);
    if (It == ScratchBits.end())
      return;
    loadedMissing(Lane, 0, MemorySpace::Scratch, Byte);
    LoadBits.push_back({uint8_t(Lane), uint8_t(K), It->second});
    return;
  }
  if (!Incomplete) {
    if (!ScratchBits.empty())
      ScratchBits.erase(Key);
    return;
  }
  const RegisterSpan Data = E.VectorRead[1];
  const unsigned From = (I->Flags & FlagHigh16 ? 2 : 0) + K;
  const uint8_t Missing = uint8_t(
      Vectors.missing(Data.First + std::min(From / 4, Data.Count - 1u), Lane) >>
      8 * (From % 4));
  if (Missing && Missing != 0xff)
    ScratchBits[Key] = Missing;
  else
    ScratchBits.erase(Key);
}

/// The lanes that load bytes which they have not written.
static uint64_t scratchMissing(const uint64_t *Written, uint64_t Lanes,
                               unsigned Bytes) {
  uint64_t Missing = 0;
  for (unsigned K = 0; K < Bytes; ++K)
    Missing |= Lanes & ~Written[K];
  return Missing;
}

/// All lanes store registers, of which Partial lack something: mostly whole
/// dwords, as of the registers that others are spilled to. Returns the lanes
/// that are to be looked at one by one.
uint64_t RegisterChecker::scratchStored(uint64_t *Written, uint64_t Lanes,
                                        unsigned Bytes, RegisterSpan Data,
                                        uint64_t Partial) const {
  uint64_t OneByOne = 0;
  for (unsigned K = 0; K < Bytes; ++K) {
    uint64_t Gone = 0;
    if (Partial && Data.Count) {
      const unsigned Row = Data.First + std::min(K / 4, Data.Count - 1u);
      Gone = Lanes & ~Vectors.defined(Row);
      OneByOne |= Lanes & Vectors.partlyDefined(Row);
    }
    Written[K] = (Written[K] | Lanes) & ~Gone;
  }
  return OneByOne;
}

bool RegisterChecker::scratch(const Inst *I, const Effects &E,
                              const uint64_t *A, uint64_t Mask,
                              unsigned Bytes) {
  const unsigned Align = I->ElementBytes;
  const bool Load = E.Access == MemoryAccess::Load;
  const RegisterSpan Data = E.VectorRead[1];
  const uint64_t Partial = Load || !L.registers() ? 0 : incompleteStored(E);
  if (!Mask)
    return true;
  if (!checkRaces(E, Mask))
    return false;
  const uint64_t First = A[__builtin_ctzll(Mask)];
  uint64_t Differing = 0, Misaligned = 0;
  for (unsigned Lane : LaneMask(Mask)) {
    Differing |= A[Lane] ^ First;
    Misaligned |= A[Lane] & (Align - 1);
  }
  if (L.memory() && Misaligned)
    for (unsigned Lane : LaneMask(Mask))
      if (A[Lane] & (Align - 1))
        return faultCheck(W, "registers", I, int(Lane),
                          "scratch access of " + std::to_string(Bytes) +
                              " bytes at " + std::to_string(A[Lane]) +
                              " is not aligned to " + std::to_string(Align));
  // All lanes at once, most often: what lies at one address lies together.
  if (!Differing && First + Bytes <= ScratchWritten.size() &&
      ScratchBits.empty()) {
    uint64_t *Written = &ScratchWritten[size_t(First)];
    Mask = Load ? scratchMissing(Written, Mask, Bytes)
                : scratchStored(Written, Mask, Bytes, Data, Mask & Partial);
  }
  for (unsigned Lane : LaneMask(Mask)) {
    const uint64_t Bit = 1ull << Lane;
    const bool Incomplete = (Partial & Bit) && Data.Count;
    const uint32_t Gone = Incomplete ? missingBytes(I, E, 1, Lane) : 0;
    uint32_t Missing = 0;
    for (unsigned K = 0; K < Bytes; ++K) {
      const size_t Byte = size_t(A[Lane]) + K;
      if (Byte >= ScratchWritten.size())
        break;
      uint64_t &Written = ScratchWritten[Byte];
      if (Load)
        Missing |= uint32_t(!(Written & Bit)) << K;
      else
        Written = Gone >> K & 1 ? Written & ~Bit : Written | Bit;
      scratchBits(I, E, Lane, Byte, K, Incomplete);
    }
    if (Missing)
      loadedMissing(Lane, Missing, MemorySpace::Scratch, A[Lane]);
  }
  return true;
}
