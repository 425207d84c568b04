//===- ArgumentFile.cpp - Kernel arguments from a JSON file ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace lnbwd::simtool;

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
