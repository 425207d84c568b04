//===- MemoryDecoder.cpp - Decoding of memory instructions ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is accessed the name says (ISA/MemoryNames.cpp); here are the operands,
// and what the fields of each encoding say of the address.
//
//===----------------------------------------------------------------------===//

#include "Decode/Decoders.h"

#include "lnbwd/ISA/InstructionRecord.h"

#include "llvm/Support/MathExtras.h"

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

/// Takes over offset and cache policy, which LLVM has in this order.
std::string MemoryDecoder::modifiers(const MachineOperands &From,
                                     Inst &I) const {
  const auto &Given = From.Immediates;
  I.Imm = Given.empty() ? 0 : Given[0];
  const uint64_t Policy = Given.size() < 2 ? 0 : uint64_t(Given[1]);
  I.CachePolicy = uint8_t(Policy & 31);
  if (Policy >> 11 & 1)
    I.Flags |= FlagScaleOffset;
  if (Chip.MatrixGeneration == 2 && (Policy & PolicySc1))
    return notModelled("scc");
  return "";
}

/// The offset of an instruction that has one vector address or none.
static void signOffset(const MemoryFacts &Facts, unsigned Generation, Inst &I) {
  if (Facts.Space != MemorySpace::Flat || Generation >= 12)
    I.Imm = SignExtend64(uint64_t(I.Imm), Generation >= 12   ? 24
                                          : Generation == 10 ? 12
                                                             : 13);
}

/// Offset, and where a generation has the bits of offen and idxen.
static void bufferAddress(const MachineOperands &From, unsigned Generation,
                          Inst &I) {
  bool Offen, Idxen;
  if (Generation >= 12) {
    I.Imm = SignExtend64<24>(uint64_t(I.Imm));
    Offen = From.Words[1] >> 30 & 1;
    Idxen = From.Words[1] >> 31 & 1;
  } else if (Generation == 11) {
    Offen = From.Words[1] >> 22 & 1;
    Idxen = From.Words[1] >> 23 & 1;
  } else {
    Offen = From.Words[0] >> 12 & 1;
    Idxen = From.Words[0] >> 13 & 1;
  }
  I.Flags |= (Offen ? FlagOffen : 0u) | (Idxen ? FlagIdxen : 0u);
}

std::string MemoryDecoder::decodeVector(const MachineOperands &From,
                                        const MemoryFacts &Facts, Inst &I) {
  I.Class = InstClass::VectorMemory;
  const bool Flat = Facts.Space == MemorySpace::Flat,
             Scratch = Facts.Space == MemorySpace::Scratch,
             Buffer = Facts.Descriptor;
  const bool IsLoad = Facts.Access == MemoryAccess::Load,
             IsStore = Facts.Access == MemoryAccess::Store,
             IsAtomic = Facts.Access == MemoryAccess::Atomic;
  if (IsAtomic && Scratch)
    return NotImplemented;
  std::string Error = modifiers(From, I);
  if (!Error.empty())
    return Error;
  if (Buffer)
    bufferAddress(From, Chip.Generation, I);
  else
    signOffset(Facts, Chip.Generation, I);
  const bool ToLds = IsLoad && !From.Results;
  if (ToLds || Facts.FromLds)
    I.Flags |= FlagLds;
  if (IsAtomic && From.Results)
    I.Flags |= FlagReturn;

  // Vector registers are the data, where that is a result or comes first, the
  // address, if there is one, and what others store.
  SmallVector<const MachineOperand *, 4> Vectors, Others;
  for (const MachineOperand &O : From.List)
    (O.Kind == OperandKind::VGPR ? Vectors : Others).push_back(&O);
  unsigned Next = 0;
  if (Facts.Asynchronous && IsLoad) { // the address in LDS
    if (Vectors.empty() || !ToLds)
      return NotImplemented;
    I.Src[1] = *Vectors[Next++];
  }
  if (From.Results || (Buffer && !ToLds) || (Scratch && IsStore)) {
    if (Vectors.empty())
      return OperandCount;
    Operand &First = Scratch && IsStore ? I.Src[1] : I.Dst;
    First = *Vectors[Next++];
    if (Buffer && !IsLoad)
      I.Src[1] = I.Dst;
  }
  const bool StoresLast = !IsLoad && !Buffer && !Scratch;
  if (Next + 1 + StoresLast == Vectors.size())
    I.Src[0] = *Vectors[Next++];
  else if (!Buffer && !Scratch)
    return OperandCount;
  if (StoresLast && Next < Vectors.size())
    I.Src[1] = *Vectors[Next++];
  if (Next != Vectors.size() || (StoresLast && !I.Src[1].Dwords))
    return OperandCount;
  // A load of a texture may say in one more register which part is there.
  const Operand &Data = IsLoad ? I.Dst : I.Src[1];
  if (!IsAtomic && !(I.Flags & FlagLds) && !Facts.TransposedBits &&
      Data.Dwords != (Facts.bytes() + 3) / 4)
    return notModelled("tfe");
  if (Buffer) {
    if (Others.size() != 2)
      return OperandCount;
    Error = Operands.source(*Others[0], OperandType::B32, I.Src[2]);
    if (Error.empty())
      Error = Operands.source(*Others[1], OperandType::B32, I.Src[3]);
    if (!Error.empty())
      return Error;
    if (I.Src[2].Kind != OperandKind::SGPR || I.Src[2].Dwords != 4)
      return "the buffer descriptor is not in four scalar registers";
    if (I.Src[0].Kind == OperandKind::None &&
        (I.Flags & (FlagOffen | FlagIdxen)))
      return OperandCount;
  } else if (Others.size() == 1) {
    Error = Operands.source(*Others[0], OperandType::B32, I.Src[2]);
    if (!Error.empty())
      return Error;
    if (I.Src[2].Kind == OperandKind::Constant && !Scratch)
      I.Src[2] = {}; // null
    if (!Scratch && I.Src[2].Kind == OperandKind::SGPR && I.Src[2].Dwords != 2)
      return "the scalar address is not in two scalar registers";
  } else if (!Others.empty()) {
    return OperandCount;
  }
  if (!Buffer && !Scratch) {
    unsigned Need = I.Src[2].Kind == OperandKind::SGPR ? 1 : 2;
    if (I.Src[0].Dwords != Need)
      return "the address has an unexpected width";
  }
  I.NumSrc = 4;
  if (Chip.isCdna5())
    I.Flags |= FlagSignedOffset;
  takeHalves(IsLoad, I);

  if ((I.Flags & FlagLds) && !Buffer) {
    if (Flat || Scratch)
      return NotImplemented;
    I.Run = Table.Memory[unsigned(Facts.Multicast ? MemoryOp::ClusterLoadToLds
                                  : ToLds         ? MemoryOp::LoadToLds
                                                  : MemoryOp::StoreFromLds)];
    return "";
  }
  if (Facts.Multicast) {
    I.Run = Table.Memory[unsigned(MemoryOp::ClusterLoad)];
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

std::string MemoryDecoder::decodeLds(const MachineOperands &From,
                                     const MemoryFacts &Facts, Inst &I) {
  I.Class = InstClass::LDS;
  I.Imm = I.Encoding & 0xffff;
  I.Offset0 = uint8_t(I.Encoding);
  I.Offset1 = uint8_t(I.Encoding >> 8);
  const bool HasShare = Chip.Generation < 12 && Chip.MatrixGeneration < 2;
  if (HasShare && (I.Encoding >> (Chip.Generation == 9 ? 16 : 17) & 1))
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
  const auto &Ops = From.List;
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

/// The groups of a tensor's descriptor. The last two may be missing.
std::string MemoryDecoder::decodeTensor(const MachineOperands &From, Inst &I) {
  I.Class = InstClass::VectorMemory;
  I.Flags |= FlagLds;
  I.NumSrc = 4;
  I.Run = Table.Memory[unsigned(MemoryOp::CopyTensor)];
  if (From.List.size() != 2 && From.List.size() != 4)
    return OperandCount;
  if (!From.Immediates.empty())
    I.CachePolicy = uint8_t(From.Immediates.back() & 31);
  for (size_t K = 0; K < From.List.size(); ++K) {
    std::string Error =
        Operands.source(From.List[K], OperandType::B32, I.Src[K]);
    if (!Error.empty())
      return Error;
    if (I.Src[K].Kind != OperandKind::SGPR ||
        I.Src[K].Dwords != (K == 1 ? 8 : 4))
      return "the descriptor is not in scalar registers of the right number";
  }
  return "";
}

std::string MemoryDecoder::decodeScalarLoad(const MachineOperands &From,
                                            const MemoryFacts &Facts, Inst &I) {
  I.Class = InstClass::ScalarMemory;
  const bool Buffer = Facts.Descriptor;
  if (From.List.size() < 2 || From.List.size() > 3)
    return OperandCount;
  std::string Error = Operands.scalarDestination(From.List[0], I.Dst);
  if (Error.empty())
    Error = Operands.source(From.List[1], OperandType::B32, I.Src[0]);
  if (!Error.empty())
    return Error;
  if (I.Src[0].Kind != OperandKind::SGPR || I.Src[0].Dwords != (Buffer ? 4 : 2))
    return "the address is not in scalar registers of the right number";
  if (From.List.size() > 2) {
    Error = Operands.source(From.List[2], OperandType::B32, I.Src[1]);
    if (!Error.empty())
      return Error;
  }
  // The cache policy is the last one.
  if (From.Immediates.size() > 1)
    Error = modifiers(From, I);
  I.NumSrc = 2;
  I.Run = Table.Memory[unsigned(Buffer ? MemoryOp::ScalarBufferLoad
                                       : MemoryOp::ScalarLoad)];
  return Error;
}

std::string MemoryDecoder::decode(const MachineOperands &From, Inst &I) {
  const MemoryFacts &Facts = I.Record->Facts.Memory;
  if (!Facts.ElementBytes)
    return NotImplemented;
  if (Facts.TransposedBits) {
    const bool Lds = Facts.Space == MemorySpace::Lds;
    I.ElementBytes = Facts.ElementBytes;
    I.Elements = Facts.Elements;
    std::string Error =
        Lds ? decodeLds(From, Facts, I) : decodeVector(From, Facts, I);
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
  if (Facts.Tensor)
    return decodeTensor(From, I);
  switch (Facts.Space) {
  case MemorySpace::None:
    return NotImplemented;
  case MemorySpace::Scalar:
    return decodeScalarLoad(From, Facts, I);
  case MemorySpace::Lds:
    return decodeLds(From, Facts, I);
  default:
    return decodeVector(From, Facts, I);
  }
}
