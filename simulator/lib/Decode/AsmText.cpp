//===- AsmText.cpp - Printed instructions, taken apart --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splitting of assembly text and reading of its operands.
//
//===----------------------------------------------------------------------===//

#include "Decode/AsmText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cstring>

using namespace llvm;
using namespace lnbwd::sim;

AsmText AsmText::parse(StringRef Text) {
  AsmText Result;
  Text = Text.trim();
  size_t End = Text.find_first_of(" \t");
  Result.Mnemonic = Text.substr(0, End);
  if (End == StringRef::npos)
    return Result;
  StringRef Rest = Text.substr(End).ltrim();
  bool AfterComma = true;
  while (!Rest.empty()) {
    // One token: up to a comma or a space outside of brackets.
    int Depth = 0;
    size_t I = 0;
    for (; I < Rest.size(); ++I) {
      char C = Rest[I];
      if (C == '(' || C == '[')
        ++Depth;
      else if (C == ')' || C == ']')
        --Depth;
      else if (Depth == 0 && (C == ',' || C == ' ' || C == '\t'))
        break;
    }
    StringRef Token = Rest.substr(0, I);
    if (!Token.empty()) {
      if (AfterComma)
        Result.Operands.push_back(Token);
      else
        Result.Modifiers.push_back(Token);
    }
    Rest = Rest.substr(I).ltrim();
    AfterComma = Rest.consume_front(",");
    Rest = Rest.ltrim();
  }
  return Result;
}

bool lnbwd::sim::parseBitList(StringRef Value, SmallVectorImpl<unsigned> &Out) {
  if (!Value.consume_front("[") || !Value.consume_back("]"))
    return false;
  SmallVector<StringRef, 8> Parts;
  Value.split(Parts, ',');
  for (StringRef P : Parts) {
    unsigned X;
    if (P.trim().getAsInteger(0, X))
      return false;
    Out.push_back(X);
  }
  return true;
}

namespace {
struct InlineFloat {
  const char *Text;
  uint16_t F16;
  uint16_t BF16;
  uint32_t F32;
  uint64_t F64;
};
} // namespace

constexpr InlineFloat InlineFloats[] = {
    {"0.5", 0x3800, 0x3f00, 0x3f000000, 0x3fe0000000000000ull},
    {"1.0", 0x3c00, 0x3f80, 0x3f800000, 0x3ff0000000000000ull},
    {"2.0", 0x4000, 0x4000, 0x40000000, 0x4000000000000000ull},
    {"4.0", 0x4400, 0x4080, 0x40800000, 0x4010000000000000ull},
    // 1 / (2 pi), printed with the digits of each type.
    {"0.15915494", 0x3118, 0x3e22, 0x3e22f983, 0x3fc45f306dc9c882ull},
    {"0.15915494309189532", 0x3118, 0x3e22, 0x3e22f983, 0x3fc45f306dc9c882ull},
    {"0.15915494309189535", 0x3118, 0x3e22, 0x3e22f983, 0x3fc45f306dc9c882ull},
    {"0.1592", 0x3118, 0x3e22, 0x3e22f983, 0x3fc45f306dc9c882ull},
};

static bool is64(OperandType T) {
  return T == OperandType::B64 || T == OperandType::F64 ||
         T == OperandType::PkF32 || T == OperandType::PkB32;
}

static std::optional<uint64_t> parseConstant(StringRef Text, OperandType T) {
  if (Text.contains('.')) {
    bool Negative = Text.consume_front("-");
    for (const InlineFloat &F : InlineFloats) {
      if (Text != F.Text)
        continue;
      switch (T) {
      case OperandType::F16:
      case OperandType::PkF16:
        return F.F16 | (Negative ? 0x8000u : 0);
      case OperandType::BF16:
      case OperandType::PkBF16:
        return F.BF16 | (Negative ? 0x8000u : 0);
      case OperandType::F64:
      case OperandType::B64:
        return F.F64 | (Negative ? 1ull << 63 : 0);
      case OperandType::I16:
        return std::nullopt; // The ISA has no such operand.
      default:
        return F.F32 | (Negative ? 0x80000000u : 0);
      }
    }
    return std::nullopt;
  }
  bool Literal64 = Text.starts_with("lit64(");
  if ((Literal64 || Text.starts_with("lit(")) && Text.ends_with(")"))
    Text = Text.drop_front(Literal64 ? 6 : 4).drop_back(1);
  bool Hex = Text.starts_with("0x");
  int64_t Signed;
  uint64_t Value;
  if (!Text.getAsInteger(0, Signed))
    Value = uint64_t(Signed);
  else if (Text.getAsInteger(0, Value))
    return std::nullopt;
  if (T == OperandType::F64 && Hex && !Literal64 && isUInt<32>(Value))
    return Value << 32; // The literal is the high dword.
  return is64(T) ? Value : uint64_t(uint32_t(Value));
}

/// Reads "7" or "[4:5]" after a register letter.
static bool parseRange(StringRef Text, unsigned &First, unsigned &Count) {
  if (Text.consume_front("[")) {
    if (!Text.consume_back("]"))
      return false;
    auto [A, B] = Text.split(':');
    unsigned Last;
    if (A.getAsInteger(10, First))
      return false;
    if (B.empty())
      Last = First;
    else if (B.getAsInteger(10, Last))
      return false;
    Count = Last - First + 1;
    return Last >= First && Count <= 32;
  }
  Count = 1;
  return !Text.getAsInteger(10, First);
}

namespace {
struct NamedRegister {
  const char *Name;
  uint16_t Slot;
  uint8_t Dwords;
};
} // namespace

/// Each half of a pair has its name with "_lo" or "_hi", too.
constexpr NamedRegister NamedRegisters[] = {
    {"vcc", SlotVCC, 2},
    {"exec", SlotExec, 2},
    {"m0", SlotM0, 1},
    {"scc", SlotSCC, 1},
    {"src_scc", SlotSCC, 1},
    {"flat_scratch", SlotFlatScratch, 2},
    {"xnack_mask", SlotXnackMask, 2},
    {"src_shared_base", SlotSharedBase, 2},
    {"src_shared_limit", SlotSharedLimit, 2},
    {"src_private_base", SlotPrivateBase, 2},
    {"src_private_limit", SlotPrivateLimit, 2},
    {"shared_base", SlotSharedBase, 2},
    {"shared_limit", SlotSharedLimit, 2},
    {"private_base", SlotPrivateBase, 2},
    {"private_limit", SlotPrivateLimit, 2},
};

std::optional<Operand> lnbwd::sim::parseOperand(StringRef Text,
                                                OperandType Type) {
  Operand O;
  // Modifiers around the register: -x, |x|, -|x|, neg(x), abs(x), sext(x).
  for (;;) {
    if (Text.size() > 1 && Text[0] == '-' && !isDigit(Text[1])) {
      O.Mods ^= ModNeg;
      Text = Text.drop_front();
    } else if (Text.starts_with("|") && Text.ends_with("|") &&
               Text.size() > 2) {
      O.Mods |= ModAbs;
      Text = Text.drop_front().drop_back();
    } else if (Text.starts_with("neg(") && Text.ends_with(")")) {
      O.Mods ^= ModNeg;
      Text = Text.drop_front(4).drop_back();
    } else if (Text.starts_with("abs(") && Text.ends_with(")")) {
      O.Mods |= ModAbs;
      Text = Text.drop_front(4).drop_back();
    } else if (Text.starts_with("sext(") && Text.ends_with(")")) {
      O.Mods |= ModSext;
      Text = Text.drop_front(5).drop_back();
    } else {
      break;
    }
  }
  if (Text == "off")
    return O;
  if (Text == "null") {
    O.Kind = OperandKind::Constant;
    O.Reg = SlotNull;
    O.Dwords = is64(Type) ? 2 : 1;
    return O;
  }
  StringRef Pair = Text;
  const bool IsHigh = Pair.consume_back("_hi");
  const bool IsHalf = IsHigh || Pair.consume_back("_lo");
  for (const NamedRegister &R : NamedRegisters)
    if (IsHalf ? Pair == R.Name && R.Dwords == 2 : Text == R.Name) {
      O.Kind = OperandKind::SGPR;
      O.Reg = uint16_t(R.Slot + IsHigh);
      O.Dwords = IsHalf ? 1 : R.Dwords;
      return O;
    }
  StringRef Number = Text;
  unsigned First, Count;
  if (Number.consume_front("ttmp")) {
    if (!parseRange(Number, First, Count) || First + Count > 16)
      return std::nullopt;
    O.Kind = OperandKind::SGPR;
    O.Reg = uint16_t(SlotTTMP0 + First);
    O.Dwords = uint8_t(Count);
    return O;
  }
  if (Text.size() > 1 && (isDigit(Text[1]) || Text[1] == '[')) {
    char Letter = Text[0];
    if (Letter == 'v' || Letter == 'a') {
      Number = Text.drop_front();
      if (Number.consume_back(".h"))
        O.Mods |= ModHigh;
      else
        Number.consume_back(".l");
      if (!parseRange(Number, First, Count) || First + Count > 256)
        return std::nullopt;
      O.Kind = OperandKind::VGPR;
      O.Reg = uint16_t(First + (Letter == 'a' ? RowAGPR0 : 0));
      O.Dwords = uint8_t(Count);
      return O;
    }
    if (Letter == 's') {
      if (!parseRange(Text.drop_front(), First, Count) ||
          First + Count > SlotVCC)
        return std::nullopt;
      O.Kind = OperandKind::SGPR;
      O.Reg = uint16_t(First);
      O.Dwords = uint8_t(Count);
      return O;
    }
  }
  std::optional<uint64_t> Value = parseConstant(Text, Type);
  if (!Value)
    return std::nullopt;
  O.Kind = OperandKind::Constant;
  O.Value = *Value;
  O.Dwords = is64(Type) ? 2 : 1;
  return O;
}
