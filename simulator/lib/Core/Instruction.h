//===- Instruction.h - Decoded AMD machine instructions ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The form in which the simulator executes code. The decoder turns `.text` into
// an array of Inst once; everything that depends on the instruction alone (the
// function that executes it, register numbers, constants spread over the lanes,
// the lane permutation of DPP, branch targets) is resolved there, so that the
// execution functions only touch registers and memory.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_INSTRUCTION_H
#define LNBWD_LIB_SIMULATOR_CORE_INSTRUCTION_H

#include "lnbwd/ISA/InstructionFacts.h"

#include "llvm/Support/Compiler.h"

#include <array>
#include <cstdint>

namespace lnbwd::isa {
struct InstructionRecord;
} // namespace lnbwd::isa

namespace lnbwd::sim {

// Execute compiles this once for each host instruction set: no function may be
// left that the linker could take one of for all, so that all are inlined.

/// The numbers of the bits that are set, in order:
///   for (unsigned L : LaneMask(Exec))
class LaneMask {
public:
  LLVM_ATTRIBUTE_ALWAYS_INLINE explicit LaneMask(uint64_t Bits) : Bits(Bits) {}

  class Iterator {
  public:
    LLVM_ATTRIBUTE_ALWAYS_INLINE explicit Iterator(uint64_t Left)
        : Left(Left) {}
    LLVM_ATTRIBUTE_ALWAYS_INLINE unsigned operator*() const {
      return unsigned(__builtin_ctzll(Left));
    }
    LLVM_ATTRIBUTE_ALWAYS_INLINE Iterator &operator++() {
      Left &= Left - 1;
      return *this;
    }
    LLVM_ATTRIBUTE_ALWAYS_INLINE bool operator!=(const Iterator &Other) const {
      return Left != Other.Left;
    }

  private:
    uint64_t Left;
  };
  LLVM_ATTRIBUTE_ALWAYS_INLINE Iterator begin() const { return Iterator(Bits); }
  LLVM_ATTRIBUTE_ALWAYS_INLINE Iterator end() const { return Iterator(0); }

private:
  uint64_t Bits;
};

struct Wave;
struct Inst;
struct MatrixShape;     // Core/MatrixShape.h
struct SmallConversion; // likewise

/// Executes one instruction and returns the next one, or null when the wave
/// stops (end of program, barrier, fault); Wave::Status then says why.
using Handler = const Inst *(*)(Wave &, const Inst *);

/// Computes one vector instruction for all N lanes (N is 32 or 64). Every row
/// (one register across the lanes) is N dwords; a 64-bit value has its high
/// dword N dwords after its low dword. A lane mask is a row of 0 or ~0. The
/// rows of the destination come first, a mask that is written comes after them.
using LaneKernel = void (*)(uint32_t *D, const uint32_t *const *S, unsigned N);

/// How an instruction interprets an operand: decides the value of an inline
/// constant, the width, and what negation and absolute value mean.
enum class OperandType : uint8_t {
  None,
  B32, ///< 32 bits, integer or untyped
  B64, ///< 64 bits, integer or untyped
  F32,
  F64,
  I16,   ///< the low half of a register
  F16,   ///< the low half of a register
  BF16,  ///< the low half of a register
  PkI16, ///< two 16-bit integers in one register
  PkF16, ///< two f16 in one register
  PkBF16,
  PkF32, ///< two f32 in a register pair
  PkB32, ///< two dwords in a register pair
  Mix,   ///< f32, or one half of a register as f16 (v_fma_mix)
  Mask,  ///< one bit a lane, in scalar registers
};

/// Their short names, for tables.
namespace operand_types {
inline constexpr OperandType B32 = OperandType::B32, B64 = OperandType::B64,
                             F32 = OperandType::F32, F64 = OperandType::F64,
                             I16 = OperandType::I16, F16 = OperandType::F16,
                             BF16 = OperandType::BF16, Mix = OperandType::Mix,
                             PkI16 = OperandType::PkI16,
                             PkF16 = OperandType::PkF16,
                             PkBF16 = OperandType::PkBF16,
                             PkF32 = OperandType::PkF32,
                             PkB32 = OperandType::PkB32,
                             Mask = OperandType::Mask;
} // namespace operand_types

/// How many registers a value of the type takes.
static constexpr unsigned rowsOf(OperandType T) {
  switch (T) {
  case OperandType::B64:
  case OperandType::F64:
  case OperandType::PkF32:
  case OperandType::PkB32:
    return 2;
  case OperandType::None:
  case OperandType::Mask:
    return 0;
  default:
    return 1;
  }
}

/// Where scalar registers live in Wave::S. Slots below 106 are s0 to s105.
enum ScalarSlot : uint16_t {
  SlotVCC = 106,
  SlotTTMP0 = 108,
  // What gfx12 finds in these when a wave starts.
  SlotCluster = SlotTTMP0 + 6, ///< CDNA5: the place in the cluster, its size
  SlotGroupYZ = SlotTTMP0 + 7, ///< Y; with Z enabled 16 bits of it, Z above
  SlotWaveId = SlotTTMP0 + 8,  ///< the wave's number in WaveIdBits
  SlotGroupX = SlotTTMP0 + 9,
  SlotM0 = 124,
  SlotExec = 126,
  SlotFlatScratch = 128,
  SlotXnackMask = 130,
  SlotSharedBase = 132,
  SlotSharedLimit = 134,
  SlotPrivateBase = 136,
  SlotPrivateLimit = 138,
  SlotSCC = 140,
  SlotNull = 142, ///< written, never read: reading null gives a constant 0
  /// A scalar destination may be up to sixteen dwords wide.
  NumScalarSlots = 160
};

/// Where SlotWaveId has the number of a wave in its workgroup.
constexpr unsigned WaveIdShift = 25;
constexpr uint32_t WaveIdBits = 0x1fu << WaveIdShift;

/// Vector rows: v0 to v255, then a0 to a255 or, of chips without them, v256 to
/// v1023, then rows for the decoder's use.
enum VectorRow : uint16_t {
  RowAGPR0 = 256,
  RowTemp0 = 1024,
  NumVectorRows = 1028
};

/// Mask is a lane mask in scalar registers, which becomes a row of 0 or ~0.
enum class OperandKind : uint8_t { None, VGPR, SGPR, Constant, Mask };

enum OperandModifier : uint8_t {
  ModNeg = 1,
  ModAbs = 2,
  ModSext = 4,
  ModHigh = 8, ///< the high half of a 16-bit register operand (v0.h)
};

/// Sub-dword selection of SDWA.
enum class Sdwa : uint8_t { Byte0, Byte1, Byte2, Byte3, Word0, Word1, Dword };

struct Operand {
  OperandKind Kind = OperandKind::None;
  uint8_t Dwords = 0;
  uint8_t Mods = 0;
  Sdwa Sel = Sdwa::Dword;
  uint16_t Reg = 0;
  /// The bits of a constant.
  uint64_t Value = 0;
  /// The constant once per lane: N low dwords, then N high dwords.
  const uint32_t *Lanes = nullptr;
};

/// What the counters tell apart.
enum class InstClass : uint8_t {
  Scalar,
  ScalarMemory,
  Vector,
  VectorMemory,
  LDS,
  Uncounted, ///< the second half of an instruction decoded into two
  Count
};

enum InstFlag : uint32_t {
  FlagClamp = 1u << 0,
  FlagSdwa = 1u << 1,
  FlagDpp = 1u << 2,
  FlagDppBoundCtrl = 1u << 3,
  FlagDppFetchInactive = 1u << 4,
  FlagDstHigh = 1u << 5,      ///< a 16-bit result goes to the high half
  FlagDstZeroHigh = 1u << 6,  ///< a 16-bit result clears the other half
  FlagPreserve = 1u << 7,     ///< SDWA keeps the unselected bits
  FlagSdwaSext = 1u << 8,     ///< SDWA sign-extends into the unselected bits
  FlagCompareFirst = 1u << 9, ///< an atomic compares with its first source
  FlagReturn = 1u << 10,      ///< an atomic that returns the old value
  FlagOffen = 1u << 11,
  FlagIdxen = 1u << 12,
  FlagLds = 1u << 13,    ///< loads to LDS, stores from there, not registers
  FlagHigh16 = 1u << 14, ///< d16_hi: memory data in the high half
  FlagSigned = 1u << 15,
  FlagD16 = 1u << 16, ///< a 16-bit load that keeps the other half
  FlagStride64 = 1u << 17,
  FlagFlushes = 1u << 19,    ///< subnormals count as 0, whatever the mode says
  FlagRoundsDown = 1u << 20, ///< inexact results are smaller (RoundingVariable)
  FlagScaleOffset = 1u << 21,  ///< the address register counts accesses
  FlagSignedOffset = 1u << 22, ///< the one beside a scalar address is signed
};

/// What LLVM calls glc, slc and dlc; of gfx940 on sc0, nt and sc1. From gfx12
/// on three bits of a temporal hint, and two of the scope.
enum CachePolicyBit : uint8_t {
  PolicyGlc = 1,
  PolicySlc = 2,
  PolicyDlc = 4,
  PolicySc1 = 16,
};
constexpr unsigned PolicyScopeShift = 3;

struct LaneOpInfo;

/// A lane permutation. Lanes that have no source are not in Valid, and their
/// From is 0.
struct DppPattern {
  uint8_t From[64];
  uint64_t Valid;
  bool WithinRows; ///< From lies in the lane's own sixteen
};

struct Inst {
  Handler Run = nullptr;
  Handler Inner = nullptr; ///< what Run stands in front of, where it does
  LaneKernel Kernel = nullptr;
  const LaneOpInfo *Lane = nullptr;
  const Inst *Target = nullptr; ///< of a direct branch
  /// What it is; of a half of a dual-issue pair, what that half is. Never null
  /// in a program.
  const isa::InstructionRecord *Record = nullptr;

  Operand Dst;
  Operand Dst2; ///< the scalar result beside a vector one (carry, mask)
  Operand Src[4];

  int64_t Imm = 0;      ///< memory offset, or the 16-bit immediate
  uint64_t Address = 0; ///< of the instruction, in the loaded image
  uint32_t Flags = 0;
  uint32_t Encoding = 0; ///< the first dword
  uint8_t NumSrc = 0;
  InstClass Class = InstClass::Scalar;
  uint8_t Size = 0; ///< bytes

  uint8_t OpSel = 0;
  uint8_t OpSelHi = 0;
  uint8_t NegLo = 0;
  uint8_t NegHi = 0;
  int8_t Omod = 0; ///< the result is multiplied by 2^Omod
  Sdwa DstSel = Sdwa::Dword;
  uint8_t CachePolicy = 0; ///< CachePolicyBit, or TH and scope of gfx12

  /// For DPP: which lane each lane reads, and the lanes that the row and bank
  /// masks let write their result.
  const DppPattern *Dpp = nullptr;
  uint64_t DppEnabled = ~0ull;
  const MatrixShape *Matrix = nullptr;
  const SmallConversion *Conversion = nullptr;

  uint8_t ElementBytes = 0; ///< of a memory access, per element
  uint8_t Elements = 0;     ///< consecutive elements a lane accesses
  uint8_t Offset0 = 0;
  uint8_t Offset1 = 0;
  /// The banks of its vector registers, as s_set_vgpr_msb has them: two bits
  /// for each of three sources and the result.
  uint8_t Banks = 0;
};

enum LaneOpFlag : uint16_t {
  LaneMaskResult = 1,     ///< the only result is a lane mask (compare)
  LaneExecResult = 2,     ///< the mask also goes to EXEC (v_cmpx)
  LaneExtraMask = 4,      ///< a mask besides the vector result (carry)
  LaneAccumulate = 8,     ///< the destination is also the last source
  LaneImplicitVCC = 16,   ///< VCC is the last source
  LanePreservesHigh = 32, ///< keeps the high half on gfx9, as on later chips
  LaneHighResult = 64,    ///< v_fma_mixhi: the result goes to the high half
  LaneFloat = 128,        ///< depends on rounding and denormal mode
  LaneMatrixUnit = 256,   ///< flushes subnormals where matrix instructions do
  LaneMixesBFloat = 512,  ///< halves of OperandType::Mix are bf16
};

/// Vector instructions that do the same in every lane.
struct LaneOpInfo {
  const char *Names; ///< isa::canonicalNames
  OperandType Dst;
  OperandType Src[4]; ///< the others: OperandType::None
  uint16_t Flags;
  LaneKernel Kernel;
  /// With MODE.IEEE clear, where it differs, or null.
  LaneKernel Alternative = nullptr;
  LaneKernel Clamped = nullptr; ///< integer saturation under `clamp`, or null
};

/// Instructions with an execution function of their own.
struct HandlerInfo {
  const char *Names;
  Handler Run;
};

enum class MemoryOp : uint8_t {
  GlobalLoad,
  GlobalStore,
  GlobalAtomic,
  FlatLoad,
  FlatStore,
  FlatAtomic,
  ScratchLoad,
  ScratchStore,
  BufferLoad,
  BufferStore,
  BufferAtomic,
  LoadToLds,
  ClusterLoad,
  ClusterLoadToLds,
  StoreFromLds,
  CopyTensor,
  GlobalLoadTransposed,
  ScalarLoad,
  ScalarBufferLoad,
  DsLoad,
  DsStore,
  DsLoad2,
  DsLoadTransposed,
  DsStore2,
  DsAtomic,
  Count
};

using isa::AtomicOp;

template <typename T> struct TableRef {
  const T *Begin = nullptr;
  unsigned Size = 0;

  TableRef() = default;
  template <unsigned N>
  constexpr TableRef(const T (&Table)[N]) : Begin(Table), Size(N) {}
};

/// What executes the instruction set, as the decoder finds it: operations by
/// name, and the drivers in front of them.
struct ExecTable {
  const char *Name;
  TableRef<LaneOpInfo> LaneOps[6];
  TableRef<HandlerInfo> CrossLane;
  TableRef<HandlerInfo> Scalar[3];
  /// No modifiers at all, or only DPP; by the number of sources.
  std::array<Handler, 5> RunLane, RunLaneDpp;
  Handler RunLaneSlow; ///< SDWA, modifiers, unusual float mode
  Handler RunWide;     ///< results of several rows, no modifiers
  Handler RunMask;     ///< compares without modifiers
  Handler RunMatrix;
  Handler RunConversion; ///< to and from formats of 4 to 8 bits
  Handler RunIndexed;    ///< under s_set_gpr_idx_on; calls Inst::Inner
  Handler Memory[unsigned(MemoryOp::Count)];
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_INSTRUCTION_H
