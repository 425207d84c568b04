//===- MemoryDecoder.cpp - Decoding of memory instructions ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names of memory instructions are systematic: kind of memory, direction,
// type. They are taken apart here instead of being listed.
//
//===----------------------------------------------------------------------===//

#include "Decode/MemoryDecoder.h"

#include "lnbwd/ISA/InstructionRecord.h"

using namespace llvm;
using namespace lnbwd;
using namespace lnbwd::sim;
using isa::MemoryAccess;
using isa::MemoryFacts;
using isa::MemorySpace;

/// gfx11 and gfx12 name the half of a 16-bit data register.
static void takeHalves(bool IsLoad, Inst &I) {
  if (!IsLoad && (I.Src[1].Mods & ModHigh))
    I.Flags |= FlagHigh16;
  if (IsLoad && (I.Dst.Mods & ModHigh))
    I.Flags |= FlagD16 | FlagHigh16;
}

std::string MemoryDecoder::modifiers(const AsmText &Asm, Inst &I) {
  for (StringRef M : Asm.Modifiers) {
    auto [Name, Value] = M.split(':');
    if (Name == "offset") {
      int64_t Offset;
      if (Value.getAsInteger(0, Offset))
        return "the modifier '" + M.str() + "' is not modelled";
      I.Imm = Offset;
    } else if (M == "offen") {
      I.Flags |= FlagOffen;
    } else if (M == "idxen") {
      I.Flags |= FlagIdxen;
    } else if (M == "lds") {
      I.Flags |= FlagLds;
    } else if (M == "glc" || M == "sc0" || M == "th:TH_ATOMIC_RETURN" ||
               (Name == "th" && Value.starts_with("TH_ATOMIC") &&
                Value.contains("RETURN"))) {
      I.Flags |= FlagReturn;
    } else if (M != "slc" && M != "dlc" && M != "sc1" && M != "nt" &&
               M != "nv" && Name != "th" && Name != "scope") {
      return "the modifier '" + M.str() + "' is not modelled";
    }
  }
  return "";
}

std::string MemoryDecoder::decodeVector(const AsmText &Asm,
                                        const MemoryFacts &Facts, Inst &I) {
  I.Class = InstClass::VectorMemory;
  const bool Flat = Facts.Space == MemorySpace::Flat,
             Scratch = Facts.Space == MemorySpace::Scratch,
             Buffer = Facts.Descriptor;
  std::string Error = modifiers(Asm, I);
  if (!Error.empty())
    return Error;
  const bool IsLoad = Facts.Access == MemoryAccess::Load,
             IsStore = Facts.Access == MemoryAccess::Store,
             IsAtomic = Facts.Access == MemoryAccess::Atomic;
  if (IsAtomic && Scratch)
    return NotImplemented;
  const bool ToLds = IsLoad && (I.Flags & FlagLds);
  if (!IsAtomic)
    I.Flags &= ~uint32_t(FlagReturn);

  // Where each operand is: data (result or stored), address, scalar address;
  // buffers have the descriptor and a scalar offset.
  const auto &Ops = Asm.Operands;
  unsigned Next = 0;
  auto Vector = [&](Operand &O, bool MayBeOff) -> std::string {
    if (Next >= Ops.size())
      return OperandCount;
    std::string E = Operands.source(Ops[Next++], OperandType::B32, O);
    if (!E.empty())
      return E;
    if (O.Kind == OperandKind::VGPR ||
        (MayBeOff && O.Kind == OperandKind::None))
      return "";
    return "an operand is not a vector register";
  };
  bool DataFirst = Buffer || IsLoad || (IsAtomic && (I.Flags & FlagReturn));
  if (IsLoad && !ToLds) {
    Error = Vector(I.Dst, false);
  } else if (Buffer && !ToLds) {
    Error = Vector(I.Src[1], false);
    I.Dst = I.Src[1];
  } else if (IsAtomic && DataFirst) {
    Error = Vector(I.Dst, false);
  }
  if (Error.empty())
    Error = Vector(I.Src[0], Buffer || Scratch);
  if (Error.empty() && !IsLoad && !Buffer)
    Error = Vector(I.Src[1], false);
  if (!Error.empty())
    return Error;
  if (Buffer) {
    if (Next + 2 != Ops.size())
      return OperandCount;
    Error = Operands.source(Ops[Next], OperandType::B32, I.Src[2]);
    if (Error.empty())
      Error = Operands.source(Ops[Next + 1], OperandType::B32, I.Src[3]);
    if (!Error.empty())
      return Error;
    if (I.Src[2].Kind != OperandKind::SGPR || I.Src[2].Dwords != 4)
      return "the buffer descriptor is not in four scalar registers";
    if (I.Src[0].Kind == OperandKind::None &&
        (I.Flags & (FlagOffen | FlagIdxen)))
      return OperandCount;
  } else if (!Flat || Next < Ops.size()) {
    if (Next + 1 != Ops.size())
      return OperandCount;
    Error = Operands.source(Ops[Next], OperandType::B32, I.Src[2]);
    if (!Error.empty())
      return Error;
    if (I.Src[2].Kind == OperandKind::Constant && !Scratch)
      I.Src[2].Kind = OperandKind::None; // null
    if (!Scratch && I.Src[2].Kind == OperandKind::SGPR && I.Src[2].Dwords != 2)
      return "the scalar address is not in two scalar registers";
  }
  if (!Buffer && !Scratch) {
    unsigned Need = I.Src[2].Kind == OperandKind::SGPR ? 1 : 2;
    if (I.Src[0].Dwords != Need)
      return "the address has an unexpected width";
  }
  I.NumSrc = 4;
  takeHalves(IsLoad, I);

  if (ToLds && !Buffer) {
    if (Flat || Scratch)
      return NotImplemented;
    I.Run = Table.Memory[unsigned(MemoryOp::LoadToLds)];
    return "";
  }
  // By what is done, as in the enumeration.
  const MemoryOp First = Buffer    ? MemoryOp::BufferLoad
                         : Flat    ? MemoryOp::FlatLoad
                         : Scratch ? MemoryOp::ScratchLoad
                                   : MemoryOp::GlobalLoad;
  const unsigned Step = IsLoad ? 0 : IsStore ? 1 : 2;
  I.Run = Table.Memory[unsigned(First) + Step];
  return "";
}

std::string MemoryDecoder::decodeLds(const AsmText &Asm,
                                     const MemoryFacts &Facts, Inst &I) {
  I.Class = InstClass::LDS;
  I.Imm = I.Encoding & 0xffff;
  I.Offset0 = uint8_t(I.Encoding);
  I.Offset1 = uint8_t(I.Encoding >> 8);
  for (StringRef M : Asm.Modifiers)
    if (M == "gds")
      return "global data share is not modelled";

  // The result, if there is one, the address, and what is stored.
  const bool IsLoad = Facts.Access == MemoryAccess::Load;
  MemoryOp Op;
  bool HasResult = IsLoad;
  unsigned Sources = IsLoad ? 1 : 2;
  if (Facts.Access == MemoryAccess::Atomic) {
    Op = MemoryOp::DsAtomic;
    HasResult = Facts.Returns;
    if (Facts.Atomic == AtomicOp::CompareSwap ||
        Facts.Atomic == AtomicOp::MaskedOr)
      ++Sources;
  } else if (Facts.Pair) {
    Op = IsLoad ? MemoryOp::DsLoad2 : MemoryOp::DsStore2;
    Sources += IsLoad ? 0 : 1;
  } else {
    Op = IsLoad ? MemoryOp::DsLoad : MemoryOp::DsStore;
  }
  I.Run = Table.Memory[unsigned(Op)];
  const auto &Ops = Asm.Operands;
  if (Ops.size() != Sources + (HasResult ? 1 : 0))
    return OperandCount;
  unsigned Next = 0;
  std::string Error;
  if (HasResult)
    Error = Operands.source(Ops[Next++], OperandType::B32, I.Dst);
  for (unsigned K = 0; K < Sources && Error.empty(); ++K) {
    Error = Operands.source(Ops[Next++], OperandType::B32, I.Src[K]);
    if (Error.empty() && I.Src[K].Kind != OperandKind::VGPR)
      Error = "an operand is not a vector register";
  }
  I.NumSrc = uint8_t(Sources);
  if (!Facts.Pair && Facts.Access != MemoryAccess::Atomic)
    takeHalves(IsLoad, I);
  return Error;
}

std::string MemoryDecoder::decodeScalarLoad(const AsmText &Asm,
                                            const MemoryFacts &Facts, Inst &I) {
  I.Class = InstClass::ScalarMemory;
  const bool Buffer = Facts.Descriptor;
  if (Asm.Operands.size() != 3)
    return OperandCount;
  std::string Error = Operands.scalarDestination(Asm.Operands[0], I.Dst);
  if (Error.empty())
    Error = Operands.source(Asm.Operands[1], OperandType::B32, I.Src[0]);
  if (!Error.empty())
    return Error;
  if (I.Src[0].Kind != OperandKind::SGPR || I.Src[0].Dwords != (Buffer ? 4 : 2))
    return "the address is not in scalar registers of the right number";
  StringRef Offset = Asm.Operands[2];
  int64_t Number;
  if (!Offset.getAsInteger(0, Number)) {
    I.Imm = Number;
  } else {
    Error = Operands.source(Offset, OperandType::B32, I.Src[1]);
    if (!Error.empty())
      return Error;
  }
  I.NumSrc = 2;
  Error = modifiers(Asm, I);
  I.Run = Table.Memory[unsigned(Buffer ? MemoryOp::ScalarBufferLoad
                                       : MemoryOp::ScalarLoad)];
  return Error;
}

std::string MemoryDecoder::decode(const AsmText &Asm, Inst &I) {
  const MemoryFacts &Facts = I.Record->Facts.Memory;
  if (!Facts.ElementBytes)
    return NotImplemented;
  if (Facts.TransposedBits) {
    const bool Lds = Facts.Space == MemorySpace::Lds;
    I.ElementBytes = Facts.ElementBytes;
    I.Elements = Facts.Elements;
    std::string Error =
        Lds ? decodeLds(Asm, Facts, I) : decodeVector(Asm, Facts, I);
    if (Error.empty() && I.Dst.Dwords != Facts.Elements)
      return "a transposed load in waves of 64 is not modelled";
    I.Run = Table.Memory[unsigned(Lds ? MemoryOp::DsLoadTransposed
                                      : MemoryOp::GlobalLoadTransposed)];
    return Error;
  }
  I.ElementBytes = Facts.ElementBytes;
  I.Elements = Facts.Elements;
  auto Set = [&](bool Condition, InstFlag Flag) {
    if (Condition)
      I.Flags |= Flag;
  };
  Set(Facts.Signed, FlagSigned);
  Set(Facts.KeepsHalf, FlagD16);
  Set(Facts.HighHalf, FlagHigh16);
  Set(Facts.ToLds, FlagLds);
  Set(Facts.Stride64, FlagStride64);
  Set(Facts.Returns, FlagReturn);
  Set(Facts.CompareFirst, FlagCompareFirst);
  switch (Facts.Space) {
  case MemorySpace::None:
    return NotImplemented;
  case MemorySpace::Scalar:
    return decodeScalarLoad(Asm, Facts, I);
  case MemorySpace::Lds:
    return decodeLds(Asm, Facts, I);
  default:
    return decodeVector(Asm, Facts, I);
  }
}
