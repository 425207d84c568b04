//===- Arguments.cpp - Kernel arguments on the command line ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's APFloat does the conversions of all floating-point types.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>
#include <optional>

using namespace llvm;
using namespace lnbwd::simtool;

/// No simulated device has more.
constexpr uint64_t MostBytes = 1ull << 32;
/// What an output holds before the launch, as the simulator's registers do.
constexpr uint8_t Poison[] = {0xf5, 0xff, 0xf5, 0x7f};
/// The largest kernel argument segment.
constexpr size_t MostArgumentBytes = 4096;

unsigned lnbwd::simtool::elementBytes(Element E) {
  switch (E) {
  case Element::I8:
    return 1;
  case Element::I16:
  case Element::F16:
  case Element::BF16:
    return 2;
  case Element::I32:
  case Element::F32:
    return 4;
  case Element::I64:
  case Element::F64:
    return 8;
  }
  return 4;
}

static const fltSemantics *semantics(Element E) {
  switch (E) {
  case Element::F16:
    return &APFloat::IEEEhalf();
  case Element::BF16:
    return &APFloat::BFloat();
  case Element::F32:
    return &APFloat::IEEEsingle();
  case Element::F64:
    return &APFloat::IEEEdouble();
  default:
    return nullptr;
  }
}

static std::optional<Element> parseType(StringRef S) {
  return StringSwitch<std::optional<Element>>(S)
      .Case("i8", Element::I8)
      .Case("i16", Element::I16)
      .Case("i32", Element::I32)
      .Case("i64", Element::I64)
      .Case("f16", Element::F16)
      .Case("bf16", Element::BF16)
      .Case("f32", Element::F32)
      .Case("f64", Element::F64)
      .Default(std::nullopt);
}

static uint64_t floatBits(Element E, double Value) {
  APFloat F(Value);
  bool Inexact;
  F.convert(*semantics(E), APFloat::rmNearestTiesToEven, &Inexact);
  return F.bitcastToAPInt().getZExtValue();
}

/// The bits of a number; nothing if it is not one of the type.
static std::optional<uint64_t> parseNumber(Element E, StringRef Text) {
  if (semantics(E)) {
    double Value;
    if (Text.getAsDouble(Value))
      return std::nullopt;
    return floatBits(E, Value);
  }
  unsigned Bits = 8 * elementBytes(E);
  int64_t Signed;
  uint64_t Unsigned;
  if (!Text.getAsInteger(0, Signed)) {
    bool Fits = Bits == 64 ||
                (Signed >= -(1ll << (Bits - 1)) && Signed < (1ll << Bits));
    return Fits ? std::optional<uint64_t>(uint64_t(Signed)) : std::nullopt;
  }
  if (Bits == 64 && !Text.getAsInteger(0, Unsigned))
    return Unsigned;
  return std::nullopt;
}

static Error wrong(StringRef Text, const Twine &What) {
  return createStringError(inconvertibleErrorCode(),
                           "--arg " + Text + ": " + What);
}

static Error fill(Argument &A, uint64_t Count, StringRef Fill, StringRef Text) {
  const unsigned Size = elementBytes(A.Type);
  A.Bytes.resize(size_t(Count * Size));
  auto Put = [&](uint64_t K, uint64_t Bits) {
    std::memcpy(&A.Bytes[size_t(K * Size)], &Bits, Size);
  };
  const bool IsFloat = semantics(A.Type) != nullptr;
  if (Fill == "iota") {
    for (uint64_t K = 0; K < Count; ++K)
      Put(K, IsFloat ? floatBits(A.Type, double(K)) : K);
    return Error::success();
  }
  if (Fill == "random" || Fill.consume_front("random:")) {
    uint64_t State = 1;
    if (Fill != "random" && Fill.getAsInteger(10, State))
      return wrong(Text, "expected random or random:SEED");
    for (uint64_t K = 0; K < Count; ++K) {
      // splitmix64
      uint64_t X = State += 0x9e3779b97f4a7c15ull;
      X = (X ^ X >> 30) * 0xbf58476d1ce4e5b9ull;
      X = (X ^ X >> 27) * 0x94d049bb133111ebull;
      X ^= X >> 31;
      Put(K,
          IsFloat ? floatBits(A.Type, double(X >> 11) * 0x1p-52 - 1) : X % 100);
    }
    return Error::success();
  }
  if (Fill.consume_front("@")) {
    auto File = MemoryBuffer::getFile(Fill, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
    if (!File)
      return wrong(Text,
                   "cannot read '" + Fill + "': " + File.getError().message());
    if ((*File)->getBufferSize() != A.Bytes.size())
      return wrong(Text, "expected a file of " + Twine(A.Bytes.size()) +
                             " bytes, got " + Twine((*File)->getBufferSize()));
    std::memcpy(A.Bytes.data(), (*File)->getBufferStart(), A.Bytes.size());
    return Error::success();
  }
  std::optional<uint64_t> Bits = parseNumber(A.Type, Fill);
  if (!Bits)
    return wrong(Text, "expected a number, iota, random, random:SEED or @FILE "
                       "after '=', got '" +
                           Fill + "'");
  for (uint64_t K = 0; K < Count; ++K)
    Put(K, *Bits);
  return Error::success();
}

/// The bytes of a structure: pairs of hexadecimal digits, which commas may
/// part, or all of a file.
static Expected<Argument> parseBytes(StringRef Value, StringRef Text) {
  Argument A;
  if (Value.consume_front("@")) {
    auto File = MemoryBuffer::getFile(Value, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
    if (!File)
      return wrong(Text,
                   "cannot read '" + Value + "': " + File.getError().message());
    const StringRef Bytes = (*File)->getBuffer();
    A.Bytes.assign(Bytes.bytes_begin(), Bytes.bytes_end());
  } else {
    std::string Digits;
    for (char C : Value)
      if (C != ',')
        Digits += C;
    std::string Bytes;
    if (!tryGetFromHex(Digits, Bytes) || Digits.size() % 2)
      return wrong(Text, "expected pairs of hexadecimal digits or @FILE after "
                         "'bytes:', got '" +
                             Value + "'");
    A.Bytes.assign(Bytes.begin(), Bytes.end());
  }
  if (A.Bytes.empty() || A.Bytes.size() > MostArgumentBytes)
    return wrong(Text, "expected 1 to " + Twine(MostArgumentBytes) +
                           " bytes, got " + Twine(A.Bytes.size()));
  A.Type = Element::I8;
  A.ByValue = A.Bytes.size();
  A.Bytes.resize(MostArgumentBytes);
  return A;
}

Expected<Argument> lnbwd::simtool::parseArgument(StringRef Text,
                                                 bool WithZeros) {
  Argument A;
  auto [Kind, Rest] = Text.split(':');
  if (Kind == "bytes")
    return parseBytes(Rest, Text);
  bool IsBuffer = Kind == "in" || Kind == "out" || Kind == "inout";
  if (!IsBuffer) {
    auto [TypeName, Value] = Text.split('=');
    std::optional<Element> Type = parseType(TypeName);
    if (!Type || Value.empty())
      return wrong(Text,
                   "expected TYPE=NUMBER, in:TYPExCOUNT[=FILL], "
                   "inout:TYPExCOUNT[=FILL], out:TYPExCOUNT or bytes:HEX");
    A.Type = *Type;
    std::optional<uint64_t> Bits = parseNumber(*Type, Value);
    if (!Bits)
      return wrong(Text, "expected a number of type " + TypeName + ", got '" +
                             Value + "'");
    // A kernel may take more than was given: it reads zeros behind it.
    A.Bytes.resize(MostArgumentBytes);
    std::memcpy(A.Bytes.data(), &*Bits, elementBytes(*Type));
    return A;
  }
  A.What = Kind == "in"    ? Argument::In
           : Kind == "out" ? Argument::Out
                           : Argument::InOut;
  auto [Head, File] = Rest.split('>');
  A.File = File.str();
  auto [Shape, Fill] = Head.split('=');
  auto [TypeName, CountText] = Shape.split('x');
  std::optional<Element> Type = parseType(TypeName);
  uint64_t Count;
  if (!Type || CountText.getAsInteger(10, Count) || Count == 0)
    return wrong(Text, "expected TYPExCOUNT, for example f32x1024, got '" +
                           Shape + "'");
  A.Type = *Type;
  if (Count > MostBytes / elementBytes(*Type))
    return wrong(Text, "expected a buffer of 4 GiB at most");
  A.Size = Count * elementBytes(*Type);
  if (A.What == Argument::Out) {
    if (!Fill.empty())
      return wrong(Text, "an output has no contents; use inout");
    if (!WithZeros)
      return A;
    A.Bytes.resize(size_t(Count * elementBytes(*Type)));
    for (size_t K = 0; K < A.Bytes.size(); ++K)
      A.Bytes[K] = Poison[K % sizeof(Poison)];
    return A;
  }
  if (!WithZeros && (Fill.empty() || Fill == "0"))
    return A;
  if (Error E = fill(A, Count, Fill.empty() ? "0" : Fill, Text))
    return E;
  return A;
}

std::string lnbwd::simtool::formatElement(Element Type, const uint8_t *Bytes) {
  const unsigned Size = elementBytes(Type);
  uint64_t Bits = 0;
  std::memcpy(&Bits, Bytes, Size);
  if (const fltSemantics *S = semantics(Type)) {
    SmallString<32> Text;
    APFloat(*S, APInt(8 * Size, Bits)).toString(Text, 9);
    return Text.str().str();
  }
  unsigned Unused = 64 - 8 * Size;
  return std::to_string(int64_t(Bits << Unused) >> Unused);
}
