//===- MemoryNames.cpp - Names of memory instructions ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names of memory instructions are made of parts: the kind of memory, what
// is done to it, and the type, of which each generation has its own spelling.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/ISA/InstructionFacts.h"

#include "llvm/ADT/StringSwitch.h"

#include <optional>
#include <string>

using namespace llvm;
using namespace lnbwd::isa;

namespace {
enum TypeFlag : uint8_t { Signed = 1, KeepsHalf = 2, HighHalf = 4 };
struct MemoryType {
  uint8_t Bytes;
  uint8_t Elements;
  unsigned Flags;
};
} // namespace

static std::optional<MemoryType> dwords(StringRef S) {
  return StringSwitch<std::optional<MemoryType>>(S)
      .Cases({"dword", "b32"}, MemoryType{4, 1, 0})
      .Cases({"dwordx2", "b64"}, MemoryType{4, 2, 0})
      .Cases({"dwordx3", "b96"}, MemoryType{4, 3, 0})
      .Cases({"dwordx4", "b128"}, MemoryType{4, 4, 0})
      .Cases({"dwordx8", "b256"}, MemoryType{4, 8, 0})
      .Cases({"dwordx16", "b512"}, MemoryType{4, 16, 0})
      .Default(std::nullopt);
}

static std::optional<MemoryType> loadType(StringRef S) {
  constexpr unsigned High = KeepsHalf | HighHalf;
  return StringSwitch<std::optional<MemoryType>>(S)
      .Cases({"tr_b64", "tr8_b64", "tr4_b64"}, MemoryType{4, 2, 0})
      .Cases({"b64_tr_b16", "b64_tr_b8", "b64_tr_b4"}, MemoryType{4, 2, 0})
      .Cases({"b96_tr_b6", "tr6_b96"}, MemoryType{4, 3, 0})
      .Cases({"tr_b128", "tr16_b128"}, MemoryType{4, 4, 0})
      .Cases({"ubyte", "u8", "b8"}, MemoryType{1, 1, 0})
      .Cases({"sbyte", "i8"}, MemoryType{1, 1, Signed})
      .Cases({"ushort", "u16"}, MemoryType{2, 1, 0})
      .Cases({"sshort", "i16"}, MemoryType{2, 1, Signed})
      .Cases({"short_d16", "d16_b16", "u16_d16"}, MemoryType{2, 1, KeepsHalf})
      .Cases({"short_d16_hi", "d16_hi_b16", "u16_d16_hi"},
             MemoryType{2, 1, High})
      .Cases({"ubyte_d16", "d16_u8", "u8_d16"}, MemoryType{1, 1, KeepsHalf})
      .Cases({"ubyte_d16_hi", "d16_hi_u8", "u8_d16_hi"}, MemoryType{1, 1, High})
      .Cases({"sbyte_d16", "d16_i8", "i8_d16"},
             MemoryType{1, 1, KeepsHalf | Signed})
      .Cases({"sbyte_d16_hi", "d16_hi_i8", "i8_d16_hi"},
             MemoryType{1, 1, High | Signed})
      .Default(dwords(S));
}

static std::optional<MemoryType> storeType(StringRef S) {
  return StringSwitch<std::optional<MemoryType>>(S)
      .Cases({"byte", "b8"}, MemoryType{1, 1, 0})
      .Cases({"short", "b16"}, MemoryType{2, 1, 0})
      .Cases({"byte_d16_hi", "d16_hi_b8", "b8_d16_hi"},
             MemoryType{1, 1, HighHalf})
      .Cases({"short_d16_hi", "d16_hi_b16", "b16_d16_hi"},
             MemoryType{2, 1, HighHalf})
      .Default(dwords(S));
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
                       .Case("atomic_barrier_arrive_b64",
                             AtomicType{AtomicOp::Arrive, 8})
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
                .Case("mskor", AtomicOp::MaskedOr)
                .Case("inc", AtomicOp::Inc)
                .Case("dec", AtomicOp::Dec)
                .Default(std::nullopt);
  if (!Op)
    return std::nullopt;
  return AtomicType{*Op, Bytes};
}

static std::optional<MemoryType> scalarType(StringRef S) {
  return StringSwitch<std::optional<MemoryType>>(S)
      .Case("u8", MemoryType{1, 1, 0})
      .Case("i8", MemoryType{1, 1, Signed})
      .Case("u16", MemoryType{2, 1, 0})
      .Case("i16", MemoryType{2, 1, Signed})
      .Default(dwords(S));
}

static void setType(MemoryFacts &M, const std::optional<MemoryType> &T) {
  if (!T)
    return;
  M.ElementBytes = T->Bytes;
  M.Elements = T->Elements;
  M.Signed = (T->Flags & Signed) != 0;
  M.KeepsHalf = (T->Flags & KeepsHalf) != 0;
  M.HighHalf = (T->Flags & HighHalf) != 0;
}

/// A load's type, and the bits of the elements if it transposes. gfx12 has two
/// sizes of such loads from global memory, and leaves that of elements to them.
static void setLoad(MemoryFacts &M, StringRef S) {
  setType(M, loadType(S));
  // CDNA5's names, from either memory.
  StringRef Bits = S;
  if (M.ElementBytes && Bits.consume_front("tr") &&
      !Bits.consumeInteger(10, M.TransposedBits))
    return;
  const size_t At = S.find("tr_b");
  if (!M.ElementBytes || At == StringRef::npos)
    return;
  M.LanesMakeRows = M.Space == MemorySpace::Lds;
  if (M.LanesMakeRows)
    S.substr(At + 4).getAsInteger(10, M.TransposedBits);
  else
    M.TransposedBits = uint8_t(M.bytes());
}

static void setAtomic(MemoryFacts &M, StringRef S) {
  M.Access = MemoryAccess::Atomic;
  if (std::optional<AtomicType> T = atomicType(S)) {
    M.Atomic = T->Op;
    M.ElementBytes = T->Bytes;
    M.Elements = 1;
  }
}

/// What follows "ds_".
static void setLds(MemoryFacts &M, StringRef Name) {
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

  M.Stride64 = S.starts_with("read2st64_") || S.starts_with("write2st64_");
  const bool Load2 = S.consume_front("read2st64_") || S.consume_front("read2_");
  if (Load2 || S.consume_front("write2st64_") || S.consume_front("write2_")) {
    M.Access = Load2 ? MemoryAccess::Load : MemoryAccess::Store;
    M.Pair = true;
    if (S == "b32" || S == "b64")
      setType(M, loadType(S));
    return;
  }
  if (S.consume_front("read_")) {
    M.Access = MemoryAccess::Load;
    return setLoad(M, S);
  }
  if (S.consume_front("write_")) {
    M.Access = MemoryAccess::Store;
    return setType(M, storeType(S));
  }
  // "add_rtn_u32", "pk_add_rtn_f16".
  if (size_t At = Text.find("_rtn"); At != std::string::npos) {
    M.Returns = true;
    Text.erase(At, 4);
  }
  M.CompareFirst = StringRef(Text).starts_with("cmpst_");
  setAtomic(M, Text);
}

MemoryFacts lnbwd::isa::memoryFacts(StringRef Name) {
  MemoryFacts M;
  M.Descriptor = Name.consume_front("s_buffer_load_");
  if (M.Descriptor || Name.consume_front("s_load_")) {
    M.Space = MemorySpace::Scalar;
    M.Access = MemoryAccess::Load;
    setType(M, scalarType(Name));
    return M;
  }
  if (Name.consume_front("ds_")) {
    M.Space = MemorySpace::Lds;
    setLds(M, Name);
    return M;
  }
  M.Tensor = Name.consume_front("tensor_");
  if (M.Tensor) {
    M.Space = MemorySpace::Global;
    M.ToLds = Name == "load_to_lds";
    M.FromLds = Name == "store_from_lds";
    M.Access = M.ToLds ? MemoryAccess::Load : MemoryAccess::Store;
    M.ElementBytes = M.Elements = M.ToLds || M.FromLds;
    return M;
  }
  M.Descriptor = Name.consume_front("buffer_");
  M.Multicast = Name.consume_front("cluster_");
  if (M.Descriptor || M.Multicast || Name.consume_front("global_"))
    M.Space = MemorySpace::Global;
  else if (Name.consume_front("flat_"))
    M.Space = MemorySpace::Flat;
  else if (Name.consume_front("scratch_"))
    M.Space = MemorySpace::Scratch;
  else
    return M;
  if (Name.consume_front("load_")) {
    M.Access = MemoryAccess::Load;
    M.Asynchronous = Name.consume_front("async_to_lds_");
    M.ToLds = M.Asynchronous || Name.consume_front("lds_");
    setLoad(M, Name);
  } else if (Name.consume_front("store_")) {
    M.Access = MemoryAccess::Store;
    M.Asynchronous = M.FromLds = Name.consume_front("async_from_lds_");
    setType(M, storeType(Name));
  } else if (Name.consume_front("atomic_")) {
    setAtomic(M, Name);
  }
  return M;
}
