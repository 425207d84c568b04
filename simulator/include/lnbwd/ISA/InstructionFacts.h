//===- InstructionFacts.h - What an AMD instruction is ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is known of an instruction from its name: everything that the decoder,
// the checks and the clock tell instructions apart by. FactTable.h says where
// it comes from.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ISA_INSTRUCTIONFACTS_H
#define LNBWD_ISA_INSTRUCTIONFACTS_H

#include <cstdint>

namespace llvm {
class StringRef;
} // namespace llvm

namespace lnbwd::isa {

/// What part of a compute unit executes it.
enum class Unit : uint8_t {
  Other, ///< not known
  Scalar,
  ScalarMemory,
  Vector,
  VectorMemory,
  Lds,
};

/// Kinds of instructions that counts tell apart.
enum class CountClass : uint8_t {
  VectorAlu,
  Transcendental,
  Matrix,
  CrossLane,
  ScalarAlu,
  Branch,
  Wait,
  Barrier,
  OtherScalar,
  ScalarLoad,
  GlobalLoad,
  GlobalStore,
  GlobalAtomic,
  ScratchLoad,
  ScratchStore,
  LdsLoad,
  LdsStore,
  LdsAtomic,
  Count
};

/// How the definedness of a result follows from that of the sources.
enum class Flow : uint8_t {
  None,          ///< no result, or one that is always defined
  Lane,          ///< lane by lane, numbers computed from numbers
  Bits,          ///< lane by lane, bits put beside each other or combined
  Select,        ///< lane by lane; the source that the mask chooses
  AnyLane,       ///< crosses lanes; defined if any active lane of the source is
  Moves,         ///< values move between lanes as they are
  Matrix,        ///< sums of products over lanes
  Swap,          ///< the two rows change places
  ReadLane,      ///< one lane to a scalar
  WriteLane,     ///< a scalar to one lane
  ScalarAll,     ///< scalar, numbers computed from numbers
  ScalarBits,    ///< scalar, bits moved or combined
  ScalarIndexed, ///< from or to a register at a distance of M0
};

enum class MemorySpace : uint8_t { None, Global, Flat, Scratch, Lds, Scalar };
enum class MemoryAccess : uint8_t { None, Load, Store, Atomic };

enum class AtomicOp : uint8_t {
  Swap,
  CompareSwap,
  Add,
  Sub,
  ReverseSub,
  SMin,
  UMin,
  SMax,
  UMax,
  And,
  Or,
  Xor,
  Inc,
  Dec,
  AddF32,
  AddF64,
  MinF32,
  MaxF32,
  MinF64,
  MaxF64,
  PkAddF16,
  PkAddBF16,
  SubClamp,
  CondSub,
  MaskedOr, ///< clears the bits of one operand, sets those of another
  Arrive,   ///< at a barrier in LDS
};

/// What a memory instruction accesses.
struct MemoryFacts {
  MemorySpace Space = MemorySpace::None;
  MemoryAccess Access = MemoryAccess::None;
  AtomicOp Atomic = AtomicOp::Swap;
  uint8_t ElementBytes = 0;  ///< 0: a form that is not known
  uint8_t Elements = 0;      ///< consecutive elements of a lane, or of the wave
  bool Descriptor = false;   ///< through a descriptor, which has bounds
  bool Signed = false;       ///< a small element is sign-extended
  bool KeepsHalf = false;    ///< a 16-bit load that keeps the other half
  bool HighHalf = false;     ///< the data is in the high half of a register
  bool ToLds = false;        ///< a load that goes to LDS
  bool FromLds = false;      ///< a store that comes from LDS
  bool Tensor = false;       ///< of a tile that scalar registers describe
  bool Asynchronous = false; ///< under a counter of its own, by lane addresses
  bool Multicast = false;    ///< for the workgroups of a cluster that M0 names
  bool Pair = false;         ///< two LDS accesses with an offset each
  bool Stride64 = false;     ///< whose offsets count 64 elements
  bool Returns = false;      ///< the name says that an atomic has a result
  bool CompareFirst = false; ///< the value to compare with is the first source
  uint8_t TransposedBits = 0; ///< of elements that a load transposes; 0: none
  bool LanesMakeRows = false; ///< such a load has rows of 16 in several lanes

  /// Bytes of a lane, or of the wave for scalar memory.
  unsigned bytes() const {
    return unsigned(ElementBytes) * Elements * (Pair ? 2 : 1);
  }
};

/// What an instruction of that name accesses. Its space is None if the name is
/// not that of a load, store or atomic; its elements have no bytes if it is of
/// a kind that is not known.
MemoryFacts memoryFacts(llvm::StringRef Name);

/// What an s_wait instruction is about.
enum class WaitKind : uint8_t {
  None,
  Combined, ///< s_waitcnt with all counters in its immediate
  Load,
  Store,
  Lds,
  Scalar,
  LoadLds,  ///< s_wait_loadcnt_dscnt
  StoreLds, ///< s_wait_storecnt_dscnt
  Async,    ///< s_wait_asynccnt
  Tensor,   ///< s_wait_tensorcnt
  Address,  ///< s_wait_xcnt
  Idle,
};

enum class BarrierKind : uint8_t { None, Full, Signal, Wait };

/// Which operands of a scalar instruction are to be resolved.
enum class OperandForm : uint8_t {
  Listed,       ///< a result, if it has one, and sources
  FirstWritten, ///< a result that LLVM takes for a source, and sources
  Ignored,      ///< nothing, or what has no effect
  Immediate,    ///< the last source is a signed 16-bit immediate
  Unsigned,     ///< the last source is an unsigned 16-bit immediate
  SetRegister,  ///< a hardware register and a source
  ResultOnly,   ///< a result; the rest is in the immediate
  GprIndex,     ///< a source, and what is indexed in the second byte
};

/// How long a vector ALU instruction of no slower class occupies its unit.
enum class Pace : uint8_t {
  Plain,
  Wide,        ///< not back to back: packed, and of f64
  Product,     ///< a product of 32 bits
  LongProduct, ///< and one with a sum of 64 bits
};

/// What a cache control instruction does; how far, its bits and scope may say.
enum class CacheControl : uint8_t {
  None,
  Drop,       ///< drops both caches
  DropMarked, ///< both, if sc1 is there
  DropNear,   ///< that of a compute unit
  DropFar,    ///< that of several
  DropScope,  ///< those within the scope
  DropScalar, ///< that of scalar loads
  WriteBack,  ///< makes other dies see what is stored, if sc1 is there
  WriteScope, ///< the same, if the scope is the device's or wider
};

enum FactFlag : uint32_t {
  FactNoEffect = 1,         ///< a hint, or nothing at all
  FactExchanges = 2,        ///< its source is a result, too
  FactScatters = 4,         ///< lanes say where their values go
  FactKeepsResult = 8,      ///< may leave its result, or parts of it, as it was
  FactKeepsM0 = 16,         ///< writes a part of M0
  FactIndexedResult = 32,   ///< ScalarIndexed: not the source but the result
  FactCacheWrite = 64,      ///< a write-back that is counted like a store
  FactCacheLoad = 128,      ///< an invalidation that is counted like a load
  FactCopies = 256,         ///< Bits: puts pieces of memory together for a copy
  FactSetsBanks = 1u << 9,  ///< of vector registers, from here on
  FactIdles = 1u << 12,     ///< a wait state; a scalar one says of how many
  FactAwaitsAlu = 1u << 13, ///< waits for results that are under way
  FactWritesHardware = 1u << 14, ///< registers of the hardware
  FactReadsHardware = 1u << 15,
  FactUsesM0 = 1u << 16,           ///< in a way that no operand shows
  FactSelectsLane = 1u << 17,      ///< by a scalar register
  FactFetchesInactive = 1u << 18,  ///< from lanes that are not active, too
  FactPermutes = 1u << 19,         ///< v_permlane*
  FactDot = 1u << 20,              ///< sums of products within a lane
  FactDivides = 1u << 21,          ///< a division's last step, which reads VCC
  FactFusesF64 = 1u << 22,         ///< product and sum of f64
  FactReadsAccumulator = 1u << 23, ///< and does no more
  FactWritesAccumulator = 1u << 24,
  FactKeepsAddress = 1u << 25, ///< of an address it may make one nearby
  FactSourcesF16 = 1u << 26,   ///< scalar: inline constants are of f16
  FactSignsByNegLo = 1u << 27, ///< neg_lo says which factors are signed
  FactBitTable = 1u << 28,     ///< a modifier is the table of a logic function
  FactIndexesOn = 1u << 29,    ///< gfx9's indexing of registers from here on
  FactIndexesOff = 1u << 30,   ///< and no longer
};

struct InstructionFacts {
  Unit Where = Unit::Other;
  CountClass Class = CountClass::ScalarAlu;
  Flow How = Flow::None;
  WaitKind Waits = WaitKind::None;
  BarrierKind Barrier = BarrierKind::None;
  OperandForm Form = OperandForm::Listed;
  Pace Takes = Pace::Plain;
  CacheControl Cache = CacheControl::None;
  uint32_t Flags = 0;
  MemoryFacts Memory;
};

} // namespace lnbwd::isa

#endif // LNBWD_ISA_INSTRUCTIONFACTS_H
