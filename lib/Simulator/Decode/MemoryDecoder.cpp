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

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace lnbwd::sim;

namespace {
struct MemoryType {
  uint8_t Bytes;
  uint8_t Elements;
  uint32_t Flags;
};
} // namespace

static std::optional<MemoryType> loadType(StringRef S) {
  constexpr uint32_t High = FlagD16 | FlagHigh16;
  return StringSwitch<std::optional<MemoryType>>(S)
      .Cases({"dword", "b32"}, MemoryType{4, 1, 0})
      .Cases({"dwordx2", "b64"}, MemoryType{4, 2, 0})
      .Cases({"dwordx3", "b96"}, MemoryType{4, 3, 0})
      .Cases({"dwordx4", "b128"}, MemoryType{4, 4, 0})
      .Cases({"ubyte", "u8"}, MemoryType{1, 1, 0})
      .Cases({"sbyte", "i8"}, MemoryType{1, 1, FlagSigned})
      .Cases({"ushort", "u16"}, MemoryType{2, 1, 0})
      .Cases({"sshort", "i16"}, MemoryType{2, 1, FlagSigned})
      .Cases({"short_d16", "d16_b16", "u16_d16"}, MemoryType{2, 1, FlagD16})
      .Cases({"short_d16_hi", "d16_hi_b16", "u16_d16_hi"},
             MemoryType{2, 1, High})
      .Cases({"ubyte_d16", "d16_u8", "u8_d16"}, MemoryType{1, 1, FlagD16})
      .Cases({"ubyte_d16_hi", "d16_hi_u8", "u8_d16_hi"}, MemoryType{1, 1, High})
      .Cases({"sbyte_d16", "d16_i8", "i8_d16"},
             MemoryType{1, 1, FlagD16 | FlagSigned})
      .Cases({"sbyte_d16_hi", "d16_hi_i8", "i8_d16_hi"},
             MemoryType{1, 1, High | FlagSigned})
      .Default(std::nullopt);
}

static std::optional<MemoryType> storeType(StringRef S) {
  return StringSwitch<std::optional<MemoryType>>(S)
      .Cases({"dword", "b32"}, MemoryType{4, 1, 0})
      .Cases({"dwordx2", "b64"}, MemoryType{4, 2, 0})
      .Cases({"dwordx3", "b96"}, MemoryType{4, 3, 0})
      .Cases({"dwordx4", "b128"}, MemoryType{4, 4, 0})
      .Cases({"byte", "b8"}, MemoryType{1, 1, 0})
      .Cases({"short", "b16"}, MemoryType{2, 1, 0})
      .Cases({"byte_d16_hi", "d16_hi_b8", "b8_d16_hi"},
             MemoryType{1, 1, FlagHigh16})
      .Cases({"short_d16_hi", "d16_hi_b16", "b16_d16_hi"},
             MemoryType{2, 1, FlagHigh16})
      .Default(std::nullopt);
}

namespace {
struct AtomicType {
  AtomicOp Op;
  uint8_t Bytes;
};
} // namespace

/// The rest of an atomic's name, in gfx9's form ("smin_x2") or the later one
/// ("min_i64").
static std::optional<AtomicType> atomicType(StringRef S) {
  if (auto Known = StringSwitch<std::optional<AtomicType>>(S)
                       .Case("add_f32", AtomicType{AtomicOp::AddF32, 4})
                       .Case("add_f64", AtomicType{AtomicOp::AddF64, 8})
                       .Cases({"min_f32", "min_num_f32"},
                              AtomicType{AtomicOp::MinF32, 4})
                       .Cases({"max_f32", "max_num_f32"},
                              AtomicType{AtomicOp::MaxF32, 4})
                       .Case("min_f64", AtomicType{AtomicOp::MinF64, 8})
                       .Case("max_f64", AtomicType{AtomicOp::MaxF64, 8})
                       .Case("pk_add_f16", AtomicType{AtomicOp::PkAddF16, 4})
                       .Case("pk_add_bf16", AtomicType{AtomicOp::PkAddBF16, 4})
                       .Cases({"csub_u32", "csub", "sub_clamp_u32"},
                              AtomicType{AtomicOp::SubClamp, 4})
                       .Case("cond_sub_u32", AtomicType{AtomicOp::CondSub, 4})
                       .Default(std::nullopt))
    return Known;
  uint8_t Bytes = 4;
  bool Signed = false, Unsigned = false;
  if (S.consume_back("_x2") || S.consume_back("_b64"))
    Bytes = 8;
  else if (S.consume_back("_u64")) {
    Bytes = 8;
    Unsigned = true;
  } else if (S.consume_back("_i64")) {
    Bytes = 8;
    Signed = true;
  } else if (S.consume_back("_u32")) {
    Unsigned = true;
  } else if (S.consume_back("_i32")) {
    Signed = true;
  } else {
    S.consume_back("_b32");
  }
  if (S == "min" && (Signed || Unsigned))
    return AtomicType{Signed ? AtomicOp::SMin : AtomicOp::UMin, Bytes};
  if (S == "max" && (Signed || Unsigned))
    return AtomicType{Signed ? AtomicOp::SMax : AtomicOp::UMax, Bytes};
  auto Op = StringSwitch<std::optional<AtomicOp>>(S)
                .Cases({"swap", "wrxchg", "storexchg"}, AtomicOp::Swap)
                .Cases({"cmpswap", "cmpst", "cmpstore"}, AtomicOp::CompareSwap)
                .Case("add", AtomicOp::Add)
                .Case("sub", AtomicOp::Sub)
                .Case("rsub", AtomicOp::ReverseSub)
                .Case("smin", AtomicOp::SMin)
                .Case("umin", AtomicOp::UMin)
                .Case("smax", AtomicOp::SMax)
                .Case("umax", AtomicOp::UMax)
                .Case("and", AtomicOp::And)
                .Case("or", AtomicOp::Or)
                .Case("xor", AtomicOp::Xor)
                .Case("inc", AtomicOp::Inc)
                .Case("dec", AtomicOp::Dec)
                .Default(std::nullopt);
  if (!Op)
    return std::nullopt;
  return AtomicType{*Op, Bytes};
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

std::string MemoryDecoder::decodeVector(const AsmText &Asm, StringRef Space,
                                        StringRef Name, Inst &I) {
  I.Class = InstClass::VectorMemory;
  bool Flat = Space == "flat", Scratch = Space == "scratch",
       Buffer = Space == "buffer";
  std::string Error = modifiers(Asm, I);
  if (!Error.empty())
    return Error;
  bool IsLoad = Name.consume_front("load_");
  bool IsStore = !IsLoad && Name.consume_front("store_");
  bool IsAtomic = !IsLoad && !IsStore && Name.consume_front("atomic_");
  if (!IsLoad && !IsStore && !IsAtomic)
    return NotImplemented;
  bool ToLds = IsLoad && (Name.consume_front("lds_") || (I.Flags & FlagLds));
  if (ToLds)
    I.Flags |= FlagLds;

  if (IsAtomic) {
    std::optional<AtomicType> T = atomicType(Name);
    if (!T || Scratch)
      return NotImplemented;
    I.Op = uint8_t(T->Op);
    I.ElementBytes = T->Bytes;
    I.Elements = 1;
  } else {
    std::optional<MemoryType> T = IsLoad ? loadType(Name) : storeType(Name);
    if (!T)
      return NotImplemented;
    I.ElementBytes = T->Bytes;
    I.Elements = T->Elements;
    I.Flags |= T->Flags;
    I.Flags &= ~uint32_t(FlagReturn);
  }

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
  // gfx11 and gfx12 name the half of a 16-bit data register.
  if (!IsLoad && (I.Src[1].Mods & ModHigh))
    I.Flags |= FlagHigh16;
  if (IsLoad && (I.Dst.Mods & ModHigh))
    I.Flags |= FlagD16 | FlagHigh16;

  MemoryOp Op;
  if (ToLds && !Buffer) {
    if (Flat || Scratch)
      return NotImplemented;
    Op = MemoryOp::LoadToLds;
  } else if (Buffer) {
    Op = IsLoad    ? MemoryOp::BufferLoad
         : IsStore ? MemoryOp::BufferStore
                   : MemoryOp::BufferAtomic;
  } else if (Flat) {
    Op = IsLoad    ? MemoryOp::FlatLoad
         : IsStore ? MemoryOp::FlatStore
                   : MemoryOp::FlatAtomic;
  } else if (Scratch) {
    Op = IsLoad ? MemoryOp::ScratchLoad : MemoryOp::ScratchStore;
  } else {
    Op = IsLoad    ? MemoryOp::GlobalLoad
         : IsStore ? MemoryOp::GlobalStore
                   : MemoryOp::GlobalAtomic;
  }
  I.Run = Table.Memory[unsigned(Op)];
  return "";
}

std::string MemoryDecoder::decodeLds(const AsmText &Asm, StringRef Name,
                                     Inst &I) {
  I.Class = InstClass::LDS;
  I.Imm = I.Encoding & 0xffff;
  I.Offset0 = uint8_t(I.Encoding);
  I.Offset1 = uint8_t(I.Encoding >> 8);
  for (StringRef M : Asm.Modifiers)
    if (M == "gds")
      return "global data share is not modelled";

  // gfx11's names become gfx9's.
  std::string Text = Name.str();
  auto Replace = [&](StringRef From, StringRef To) {
    if (StringRef(Text).starts_with(From))
      Text = To.str() + Text.substr(From.size());
  };
  Replace("load_2addr_stride64_", "read2st64_");
  Replace("load_2addr_", "read2_");
  Replace("load_", "read_");
  Replace("store_2addr_stride64_", "write2st64_");
  Replace("store_2addr_", "write2_");
  Replace("store_", "write_");
  StringRef S = Text;

  const auto &Ops = Asm.Operands;
  auto Take = [&](bool HasResult, unsigned Sources) -> std::string {
    if (Ops.size() != Sources + (HasResult ? 1 : 0))
      return OperandCount;
    unsigned Next = 0;
    if (HasResult) {
      std::string E = Operands.source(Ops[Next++], OperandType::B32, I.Dst);
      if (!E.empty())
        return E;
    }
    for (unsigned K = 0; K < Sources; ++K) {
      std::string E = Operands.source(Ops[Next++], OperandType::B32, I.Src[K]);
      if (!E.empty())
        return E;
      if (I.Src[K].Kind != OperandKind::VGPR)
        return "an operand is not a vector register";
    }
    I.NumSrc = uint8_t(Sources);
    return "";
  };
  auto Set = [&](MemoryOp Op) { I.Run = Table.Memory[unsigned(Op)]; };

  bool Stride64 = S.starts_with("read2st64_") || S.starts_with("write2st64_");
  if (S.consume_front("read2st64_") || S.consume_front("read2_")) {
    if (S != "b32" && S != "b64")
      return NotImplemented;
    I.Elements = S == "b64" ? 2 : 1;
    I.ElementBytes = 4;
    if (Stride64)
      I.Flags |= FlagStride64;
    Set(MemoryOp::DsLoad2);
    return Take(true, 1);
  }
  if (S.consume_front("write2st64_") || S.consume_front("write2_")) {
    if (S != "b32" && S != "b64")
      return NotImplemented;
    I.Elements = S == "b64" ? 2 : 1;
    I.ElementBytes = 4;
    if (Stride64)
      I.Flags |= FlagStride64;
    Set(MemoryOp::DsStore2);
    return Take(false, 3);
  }
  bool IsLoad = S.consume_front("read_");
  if (IsLoad || S.consume_front("write_")) {
    std::optional<MemoryType> T = IsLoad ? loadType(S) : storeType(S);
    if (!T)
      return NotImplemented;
    I.ElementBytes = T->Bytes;
    I.Elements = T->Elements;
    I.Flags |= T->Flags;
    Set(IsLoad ? MemoryOp::DsLoad : MemoryOp::DsStore);
    std::string Error = Take(IsLoad, IsLoad ? 1 : 2);
    if (!IsLoad && (I.Src[1].Mods & ModHigh))
      I.Flags |= FlagHigh16;
    if (IsLoad && (I.Dst.Mods & ModHigh))
      I.Flags |= FlagD16 | FlagHigh16;
    return Error;
  }
  // Atomics: "add_rtn_u32", "pk_add_rtn_f16".
  std::string Plain = S.str();
  bool Returns = false;
  if (size_t At = Plain.find("_rtn"); At != std::string::npos) {
    Returns = true;
    Plain.erase(At, 4);
  }
  std::optional<AtomicType> T = atomicType(Plain);
  if (!T)
    return NotImplemented;
  I.Op = uint8_t(T->Op);
  I.ElementBytes = T->Bytes;
  I.Elements = 1;
  if (Returns)
    I.Flags |= FlagReturn;
  if (StringRef(Plain).starts_with("cmpst_"))
    I.Flags |= FlagOpSel; // compare value first
  Set(MemoryOp::DsAtomic);
  return Take(Returns, T->Op == AtomicOp::CompareSwap ? 3 : 2);
}

std::string MemoryDecoder::decodeScalarLoad(const AsmText &Asm, StringRef Name,
                                            Inst &I) {
  I.Class = InstClass::ScalarMemory;
  bool Buffer = Name.consume_front("s_buffer_load_");
  if (!Buffer && !Name.consume_front("s_load_"))
    return NotImplemented;
  struct Size {
    uint8_t Bytes, Elements;
    bool Signed;
  };
  auto S = StringSwitch<std::optional<Size>>(Name)
               .Cases({"dword", "b32"}, Size{4, 1, false})
               .Cases({"dwordx2", "b64"}, Size{4, 2, false})
               .Cases({"dwordx3", "b96"}, Size{4, 3, false})
               .Cases({"dwordx4", "b128"}, Size{4, 4, false})
               .Cases({"dwordx8", "b256"}, Size{4, 8, false})
               .Cases({"dwordx16", "b512"}, Size{4, 16, false})
               .Case("u8", Size{1, 1, false})
               .Case("i8", Size{1, 1, true})
               .Case("u16", Size{2, 1, false})
               .Case("i16", Size{2, 1, true})
               .Default(std::nullopt);
  if (!S)
    return NotImplemented;
  I.ElementBytes = S->Bytes;
  I.Elements = S->Elements;
  if (S->Signed)
    I.Flags |= FlagSigned;
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

std::string MemoryDecoder::decode(const AsmText &Asm, StringRef Name, Inst &I) {
  if (Name.starts_with("s_"))
    return decodeScalarLoad(Asm, Name, I);
  if (Name.consume_front("ds_"))
    return decodeLds(Asm, Name, I);
  for (StringRef Space : {"global", "flat", "scratch", "buffer"})
    if (Name.starts_with(Space) && Name.substr(Space.size()).starts_with("_"))
      return decodeVector(Asm, Space, Name.drop_front(Space.size() + 1), I);
  return NotImplemented;
}
