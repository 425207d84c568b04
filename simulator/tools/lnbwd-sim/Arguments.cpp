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
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace llvm;
using namespace lnbwd::simtool;

/// No simulated device has more.
constexpr uint64_t MostBytes = 1ull << 32;
/// What an output holds before the launch, as the simulator's registers do.
constexpr uint8_t Poison[] = {0xf5, 0xff, 0xf5, 0x7f};
/// The largest kernel argument segment.
constexpr size_t MostArgumentBytes = 4096;

/// By Element.
constexpr StringRef TypeNames[] = {"i8",  "i16",  "i32", "i64",
                                   "f16", "bf16", "f32", "f64"};
constexpr uint8_t TypeBytes[] = {1, 2, 4, 8, 2, 2, 4, 8};

unsigned lnbwd::simtool::elementBytes(Element E) {
  return TypeBytes[size_t(E)];
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

std::optional<Element> lnbwd::simtool::parseType(StringRef Text) {
  const auto *Name = find(TypeNames, Text);
  if (Name == std::end(TypeNames))
    return std::nullopt;
  return Element(Name - std::begin(TypeNames));
}

StringRef lnbwd::simtool::typeName(Element E) { return TypeNames[size_t(E)]; }

static uint64_t floatBits(Element E, double Value) {
  APFloat F(Value);
  bool Inexact;
  F.convert(*semantics(E), APFloat::rmNearestTiesToEven, &Inexact);
  return F.bitcastToAPInt().getZExtValue();
}

std::optional<uint64_t> lnbwd::simtool::parseNumber(Element E, StringRef Text) {
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

Error lnbwd::simtool::wrong(const Twine &Where, const Twine &What) {
  return createStringError(inconvertibleErrorCode(), Where + ": " + What);
}

void lnbwd::simtool::setElement(Argument &A, uint64_t K, uint64_t Bits) {
  const unsigned Size = elementBytes(A.Type);
  std::memcpy(&A.Bytes[size_t(K * Size)], &Bits, Size);
}

static Error fill(Argument &A, uint64_t Count, StringRef Fill) {
  auto Put = [&](uint64_t K, uint64_t Bits) { setElement(A, K, Bits); };
  const bool IsFloat = semantics(A.Type) != nullptr;
  if (Fill == "iota") {
    for (uint64_t K = 0; K < Count; ++K)
      Put(K, IsFloat ? floatBits(A.Type, double(K)) : K);
    return Error::success();
  }
  if (Fill == "random" || Fill.consume_front("random:")) {
    uint64_t State = 1;
    if (Fill != "random" && Fill.getAsInteger(10, State))
      return wrong(A.Where, "expected random or random:SEED");
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
      return wrong(A.Where,
                   "cannot read '" + Fill + "': " + File.getError().message());
    if ((*File)->getBufferSize() != A.Bytes.size())
      return wrong(A.Where, "expected a file of " + Twine(A.Bytes.size()) +
                                " bytes, got " +
                                Twine((*File)->getBufferSize()));
    std::memcpy(A.Bytes.data(), (*File)->getBufferStart(), A.Bytes.size());
    return Error::success();
  }
  std::optional<uint64_t> Bits = parseNumber(A.Type, Fill);
  if (!Bits)
    return wrong(A.Where, "expected a number, iota, random, random:SEED or "
                          "@FILE as fill, got '" +
                              Fill + "'");
  for (uint64_t K = 0; K < Count; ++K)
    Put(K, *Bits);
  return Error::success();
}

Argument lnbwd::simtool::numberArgument(Element Type, uint64_t Bits,
                                        const Twine &Where) {
  Argument A;
  A.Where = Where.str();
  A.Type = Type;
  // A kernel may take more than was given: it reads zeros behind it.
  A.Bytes.resize(MostArgumentBytes);
  setElement(A, 0, Bits);
  return A;
}

Expected<Argument> lnbwd::simtool::bytesArgument(StringRef Value,
                                                 const Twine &Where) {
  Argument A;
  A.Where = Where.str();
  if (Value.consume_front("@")) {
    auto File = MemoryBuffer::getFile(Value, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
    if (!File)
      return wrong(Where,
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
      return wrong(Where, "expected pairs of hexadecimal digits or @FILE as "
                          "bytes, got '" +
                              Value + "'");
    A.Bytes.assign(Bytes.begin(), Bytes.end());
  }
  if (A.Bytes.empty() || A.Bytes.size() > MostArgumentBytes)
    return wrong(Where, "expected 1 to " + Twine(MostArgumentBytes) +
                            " bytes, got " + Twine(A.Bytes.size()));
  A.Type = Element::I8;
  A.ByValue = A.Bytes.size();
  A.Bytes.resize(MostArgumentBytes);
  return A;
}

std::optional<Argument::Kind> lnbwd::simtool::parseKind(StringRef Text) {
  return StringSwitch<std::optional<Argument::Kind>>(Text)
      .Case("in", Argument::In)
      .Case("out", Argument::Out)
      .Case("inout", Argument::InOut)
      .Default(std::nullopt);
}

Expected<Argument> lnbwd::simtool::bufferArgument(Argument::Kind Kind,
                                                  Element Type, uint64_t Count,
                                                  StringRef Fill,
                                                  bool WithZeros,
                                                  const Twine &Where) {
  Argument A;
  A.Where = Where.str();
  A.What = Kind;
  A.Type = Type;
  if (Count > MostBytes / elementBytes(Type))
    return wrong(Where, "expected a buffer of 4 GiB at most");
  A.Size = Count * elementBytes(Type);
  if (Kind == Argument::Out && !Fill.empty())
    return wrong(Where, "an output has no contents; use inout");
  if (!WithZeros && (Fill.empty() || Fill == "0"))
    return A;
  A.Bytes.resize(size_t(A.Size));
  if (Kind == Argument::Out)
    for (size_t K = 0; K < A.Bytes.size(); ++K)
      A.Bytes[K] = Poison[K % sizeof(Poison)];
  else if (Error E = fill(A, Count, Fill.empty() ? "0" : Fill))
    return E;
  return A;
}

Expected<Argument> lnbwd::simtool::parseArgument(StringRef Text,
                                                 bool WithZeros) {
  const std::string Where = ("--arg " + Text).str();
  auto [KindName, Rest] = Text.split(':');
  if (KindName == "bytes")
    return bytesArgument(Rest, Where);
  const std::optional<Argument::Kind> Kind = parseKind(KindName);
  if (!Kind) {
    auto [TypeName, Value] = Text.split('=');
    std::optional<Element> Type = parseType(TypeName);
    if (!Type || Value.empty())
      return wrong(Where,
                   "expected TYPE=NUMBER, in:TYPExCOUNT[=FILL], "
                   "inout:TYPExCOUNT[=FILL], out:TYPExCOUNT or bytes:HEX");
    std::optional<uint64_t> Bits = parseNumber(*Type, Value);
    if (!Bits)
      return wrong(Where, "expected a number of type " + TypeName + ", got '" +
                              Value + "'");
    return numberArgument(*Type, *Bits, Where);
  }
  auto [Head, File] = Rest.split('>');
  auto [Shape, Fill] = Head.split('=');
  auto [TypeName, CountText] = Shape.split('x');
  std::optional<Element> Type = parseType(TypeName);
  uint64_t Count;
  if (!Type || CountText.getAsInteger(10, Count) || Count == 0)
    return wrong(Where, "expected TYPExCOUNT, for example f32x1024, got '" +
                            Shape + "'");
  Expected<Argument> A =
      bufferArgument(*Kind, *Type, Count, Fill, WithZeros, Where);
  if (A)
    A->File = File.str();
  return A;
}

bool lnbwd::simtool::isFloat(Element E) { return semantics(E) != nullptr; }

/// The bits of an element, the other ones zero.
static uint64_t bitsOf(Element Type, const uint8_t *Bytes) {
  uint64_t Bits = 0;
  std::memcpy(&Bits, Bytes, elementBytes(Type));
  return Bits;
}

double lnbwd::simtool::elementValue(Element Type, const uint8_t *Bytes) {
  APFloat Value(*semantics(Type),
                APInt(8 * elementBytes(Type), bitsOf(Type, Bytes)));
  bool Loses;
  Value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &Loses);
  return Value.convertToDouble();
}

std::string lnbwd::simtool::formatElement(Element Type, const uint8_t *Bytes) {
  const unsigned Size = elementBytes(Type);
  const uint64_t Bits = bitsOf(Type, Bytes);
  if (const fltSemantics *S = semantics(Type)) {
    SmallString<32> Text;
    APFloat(*S, APInt(8 * Size, Bits)).toString(Text, 9);
    return Text.str().str();
  }
  unsigned Unused = 64 - 8 * Size;
  return std::to_string(int64_t(Bits << Unused) >> Unused);
}

/// A value as a message shows it, a long one not in full.
static std::string shown(const json::Value &V) {
  std::string Text = formatv("{0}", V).str();
  if (Text.size() > 40)
    Text = Text.substr(0, 37) + "...";
  return Text;
}

/// A JSON number as --arg would have it, or a string as it is.
static std::optional<std::string> numberText(const json::Value &V) {
  if (auto Text = V.getAsString())
    return Text->str();
  if (V.kind() == json::Value::Number)
    return formatv("{0}", V).str();
  return std::nullopt;
}

namespace {
/// One object of the file.
class ArgumentReader {
public:
  ArgumentReader(const json::Object &O, const Twine &Where, bool WithZeros)
      : O(O), Where(Where.str()), WithZeros(WithZeros) {}

  Expected<Argument> read() const {
    if (O.get("bytes"))
      return readBytes();
    if (O.get("kind"))
      return readBuffer();
    return readNumber();
  }

private:
  const json::Object &O;
  const std::string Where;
  const bool WithZeros;

  std::string at(StringRef Key) const { return (Where + "." + Key).str(); }

  /// Refuses keys that mean nothing here.
  Error allow(ArrayRef<StringRef> Keys) const {
    for (const auto &[Key, Value] : O)
      if (!is_contained(Keys, StringRef(Key)))
        return wrong(at(Key), "expected no key but " + join(Keys, ", ") +
                                  " in such an argument");
    return Error::success();
  }

  Expected<Element> type() const {
    const json::Value *V = O.get("type");
    const auto Name = V ? V->getAsString() : std::nullopt;
    if (const auto Type = Name ? parseType(*Name) : std::nullopt)
      return *Type;
    return wrong(at("type"),
                 "expected i8, i16, i32, i64, f16, bf16, f32 or f64, got " +
                     (V ? shown(*V) : "nothing"));
  }

  Expected<uint64_t> number(Element Type, const json::Value *V,
                            const Twine &Place) const {
    const auto Text = V ? numberText(*V) : std::nullopt;
    if (const auto Bits = Text ? parseNumber(Type, *Text) : std::nullopt)
      return *Bits;
    return wrong(Place, "expected a number that fits the type, got " +
                            (V ? shown(*V) : "nothing"));
  }

  /// A key whose value is a string, which may be missing.
  Expected<std::string> text(StringRef Key) const {
    const json::Value *V = O.get(Key);
    if (!V)
      return "";
    if (auto Text = V->getAsString(); Text && !Text->empty())
      return Text->str();
    return wrong(at(Key), "expected a string, got " + shown(*V));
  }

  Expected<Argument> readBytes() const {
    if (Error E = allow({"bytes"}))
      return E;
    Expected<std::string> Value = text("bytes");
    if (!Value)
      return Value.takeError();
    return bytesArgument(*Value, at("bytes"));
  }

  Expected<Argument> readNumber() const {
    if (Error E = allow({"type", "value"}))
      return E;
    Expected<Element> Type = type();
    if (!Type)
      return Type.takeError();
    Expected<uint64_t> Bits = number(*Type, O.get("value"), at("value"));
    if (!Bits)
      return Bits.takeError();
    return numberArgument(*Type, *Bits, Where);
  }

  Expected<Argument> readBuffer() const {
    const auto KindName = O.getString("kind");
    const auto Kind = KindName ? parseKind(*KindName) : std::nullopt;
    if (!Kind)
      return wrong(at("kind"), "expected \"in\", \"inout\" or \"out\", got " +
                                   shown(*O.get("kind")));
    SmallVector<StringRef> Keys = {"kind", "type", "count"};
    if (*Kind != Argument::Out)
      Keys.append({"fill", "values"});
    if (*Kind != Argument::In)
      Keys.push_back("save");
    if (Error E = allow(Keys))
      return E;
    Expected<Element> Type = type();
    if (!Type)
      return Type.takeError();
    Expected<std::string> Save = text("save");
    if (!Save)
      return Save.takeError();
    Expected<Argument> A =
        O.get("values") ? readValues(*Kind, *Type) : readFilled(*Kind, *Type);
    if (A)
      A->File = *Save;
    return A;
  }

  Expected<Argument> readFilled(Argument::Kind Kind, Element Type) const {
    const json::Value *CountValue = O.get("count");
    const auto Count = CountValue ? CountValue->getAsUINT64() : std::nullopt;
    if (!Count || !*Count)
      return wrong(at("count"),
                   "expected the number of elements, 1 or more, got " +
                       (CountValue ? shown(*CountValue) : "nothing"));
    const json::Value *FillValue = O.get("fill");
    const auto Fill = FillValue ? numberText(*FillValue) : std::string();
    if (!Fill)
      return wrong(at("fill"), "expected a number, \"iota\", \"random\", "
                               "\"random:SEED\" or \"@FILE\", got " +
                                   shown(*FillValue));
    return bufferArgument(Kind, Type, *Count, *Fill, WithZeros, Where);
  }

  Expected<Argument> readValues(Argument::Kind Kind, Element Type) const {
    const json::Array *Values = O.getArray("values");
    if (!Values || Values->empty())
      return wrong(at("values"), "expected an array of numbers, got " +
                                     shown(*O.get("values")));
    for (StringRef Other : {"count", "fill"})
      if (O.get(Other))
        return wrong(at(Other), "expected values, or count and fill; got both");
    Expected<Argument> A = bufferArgument(Kind, Type, Values->size(), "0",
                                          /*WithZeros=*/true, Where);
    if (!A)
      return A;
    for (const auto &[K, V] : enumerate(*Values)) {
      Expected<uint64_t> Bits =
          number(Type, &V, at("values") + "[" + Twine(K) + "]");
      if (!Bits)
        return Bits.takeError();
      setElement(*A, K, *Bits);
    }
    return A;
  }
};
} // namespace

Expected<std::vector<Argument>> lnbwd::simtool::readArguments(StringRef Path,
                                                              bool WithZeros) {
  auto File = MemoryBuffer::getFile(Path, /*IsText=*/true);
  if (!File)
    return wrong("--args-file",
                 "cannot read '" + Path + "': " + File.getError().message());
  Expected<json::Value> Root = json::parse((*File)->getBuffer());
  if (!Root)
    // "[LINE:COLUMN, byte=N]: ..."
    return wrong(Path, toString(Root.takeError()));
  const json::Array *Entries = Root->getAsArray();
  if (!Entries)
    return wrong(Path, "expected an array with an object for each argument, "
                       "got " +
                           shown(*Root));
  std::vector<Argument> Arguments;
  for (const auto &[K, Entry] : enumerate(*Entries)) {
    const std::string Where = (Path + ": [" + Twine(K) + "]").str();
    const json::Object *O = Entry.getAsObject();
    if (!O)
      return wrong(Where, "expected an object, as {\"type\": \"f32\", "
                          "\"value\": 1}, got " +
                              shown(Entry));
    Expected<Argument> A = ArgumentReader(*O, Where, WithZeros).read();
    if (!A)
      return A.takeError();
    Arguments.push_back(std::move(*A));
  }
  return Arguments;
}

std::optional<Tolerance> lnbwd::simtool::parseTolerance(StringRef Text) {
  SmallVector<StringRef, 2> Parts;
  Text.split(Parts, ',');
  double Numbers[2] = {};
  if (Parts.size() > 2)
    return std::nullopt;
  for (size_t K = 0; K < Parts.size(); ++K)
    if (Parts[K].trim().getAsDouble(Numbers[K]) || !(Numbers[K] >= 0) ||
        std::isinf(Numbers[K]))
      return std::nullopt;
  return Tolerance{Numbers[0], Numbers[1]};
}

/// How far two numbers lie apart by the larger one; infinite if there is no
/// such number.
static double relativeDistance(double X, double Y) {
  const double Distance =
      std::fabs(X - Y) / std::max(std::fabs(X), std::fabs(Y));
  return std::isnan(Distance) ? INFINITY : Distance;
}

static bool isAllowed(double X, double Y, const Tolerance &Allowed) {
  if (std::isnan(X) || std::isnan(Y))
    return std::isnan(X) && std::isnan(Y);
  if (X == Y)
    return true;
  return std::fabs(X - Y) <=
         Allowed.Relative * std::max(std::fabs(X), std::fabs(Y)) +
             Allowed.Absolute;
}

std::string lnbwd::simtool::describeDifference(Element Type,
                                               ArrayRef<uint8_t> Usual,
                                               ArrayRef<uint8_t> Other,
                                               const Tolerance &Allowed) {
  if (Usual == Other)
    return "";
  const unsigned Size = elementBytes(Type);
  const bool Floats = isFloat(Type);
  uint64_t Differing = 0;
  size_t Worst = 0;
  double Farthest = -1;
  for (size_t K = 0; (K + 1) * Size <= Usual.size(); ++K) {
    const uint8_t *A = &Usual[K * Size], *B = &Other[K * Size];
    if (!std::memcmp(A, B, Size))
      continue;
    double Distance = 0;
    if (Floats) {
      const double X = elementValue(Type, A), Y = elementValue(Type, B);
      if (!Allowed.isNone() && isAllowed(X, Y, Allowed))
        continue;
      Distance = relativeDistance(X, Y);
    }
    ++Differing;
    if (Distance > Farthest) {
      Farthest = Distance;
      Worst = K;
    }
  }
  if (!Differing)
    return "";
  std::string Text;
  raw_string_ostream OS(Text);
  OS << Differing << " of its " << Usual.size() / Size << ' ' << typeName(Type)
     << " elements differ";
  if (Floats && !Allowed.isNone())
    OS << " by more than --tolerance";
  OS << (Differing == 1 ? ", element "
         : Floats       ? ", most of all element "
                        : ", the first one element ")
     << Worst << ": " << formatElement(Type, &Usual[Worst * Size])
     << " in the usual order, " << formatElement(Type, &Other[Worst * Size])
     << " in this one";
  if (Floats && std::isfinite(Farthest))
    OS << format("; their relative difference is %.2g, and --tolerance allows "
                 "for sums that are rounded in another order",
                 Farthest);
  return Text;
}
