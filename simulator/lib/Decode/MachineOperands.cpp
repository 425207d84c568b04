//===- MachineOperands.cpp - Instructions, taken apart --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers by LLVM's numbers, and the fields of encodings.
//
//===----------------------------------------------------------------------===//

#include "Decode/Decoders.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCExpr.h"
#include "llvm/MC/MCRegisterInfo.h"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace llvm;
using namespace lnbwd;
using namespace lnbwd::sim;
using isa::Encoding;
using isa::OperandRole;

namespace {
struct NamedRegister {
  StringLiteral Name;
  uint16_t Slot;
  uint8_t Dwords;
};
} // namespace

/// Each half of a pair has its name with "_LO" or "_HI", too.
constexpr NamedRegister NamedRegisters[] = {
    {"VCC", SlotVCC, 2},
    {"EXEC", SlotExec, 2},
    {"M0", SlotM0, 1},
    {"SCC", SlotSCC, 1},
    {"SRC_SCC", SlotSCC, 1},
    {"FLAT_SCR", SlotFlatScratch, 2},
    {"SRC_FLAT_SCRATCH_BASE", SlotFlatScratch, 2},
    {"XNACK_MASK", SlotXnackMask, 2},
    {"SRC_SHARED_BASE", SlotSharedBase, 2},
    {"SRC_SHARED_LIMIT", SlotSharedLimit, 2},
    {"SRC_PRIVATE_BASE", SlotPrivateBase, 2},
    {"SRC_PRIVATE_LIMIT", SlotPrivateLimit, 2},
};

/// Of names that only differ by how a generation codes a register.
static StringRef withoutGeneration(StringRef Name) {
  const auto [Front, End] = Name.rsplit('_');
  const bool Has = End.starts_with("gfx") || End == "vi" || End == "ci";
  return Has ? Front : Name;
}

/// What LLVM calls a register, which may be a tuple: "SGPR4_SGPR5".
static Operand registerNamed(StringRef Name) {
  Operand O;
  O.Kind = OperandKind::SGPR;
  O.Dwords = 1;
  if (Name.starts_with("SGPR_NULL")) {
    O.Kind = OperandKind::Constant;
    O.Reg = SlotNull;
    return O;
  }
  StringRef Pair = Name;
  const bool IsHigh = Pair.consume_back("_HI");
  const bool IsHalf = IsHigh || Pair.consume_back("_LO");
  for (const NamedRegister &R : NamedRegisters)
    if (IsHalf ? Pair == R.Name && R.Dwords == 2 : Name == R.Name) {
      O.Reg = uint16_t(R.Slot + IsHigh);
      // The base of scratch memory has no other name as a pair.
      O.Dwords = IsHigh || (IsHalf && !Name.starts_with("SRC_")) ? 1 : R.Dwords;
      return O;
    }
  if (Name.consume_back("_HI16"))
    O.Mods = ModHigh;
  else
    Name.consume_back("_LO16");
  const StringRef First = Name.split('_').first;
  const StringRef Bank = First.take_until(isDigit);
  unsigned Number = 0;
  if (First.drop_front(Bank.size()).getAsInteger(10, Number))
    return {};
  O.Reg = uint16_t(Number);
  O.Dwords = uint8_t(Name.count('_') + 1);
  if (Bank == "VGPR" || Bank == "AGPR") {
    O.Kind = OperandKind::VGPR;
    O.Reg += Bank == "AGPR" ? RowAGPR0 : 0;
    return Number + O.Dwords > (Bank == "AGPR" ? 256 : RowTemp0) ? Operand()
                                                                 : O;
  }
  if (Bank == "TTMP")
    O.Reg += SlotTTMP0;
  return Bank == "TTMP" || (Bank == "SGPR" && Number + O.Dwords <= SlotVCC)
             ? O
             : Operand();
}

namespace {
struct KnownRegister {
  Operand Meaning;
  MCRegister General; ///< the one that register classes have
};
} // namespace

/// The registers by LLVM's numbers, which are the same for all chips.
static const KnownRegister &registerOf(MCRegister R,
                                       const MCRegisterInfo &All) {
  static const std::vector<KnownRegister> Table = [&] {
    StringMap<unsigned> Numbers;
    for (unsigned K = 1; K < All.getNumRegs(); ++K)
      Numbers[All.getName(K)] = K;
    std::vector<KnownRegister> T(All.getNumRegs());
    for (unsigned K = 1; K < All.getNumRegs(); ++K) {
      const StringRef Name = withoutGeneration(All.getName(K));
      T[K].Meaning = registerNamed(Name);
      const auto It = Numbers.find(Name);
      T[K].General = It == Numbers.end() ? K : It->second;
    }
    return T;
  }();
  return Table[R.id()];
}

static MachineOperand operandOf(const MCOperand &From, int Class,
                                const MCRegisterInfo &Registers) {
  MachineOperand O;
  if (From.isReg()) {
    O.Name = Registers.getName(From.getReg());
    const KnownRegister &R = registerOf(From.getReg(), Registers);
    // The disassembler reads registers that are of another class.
    if (Class < 0 || O.Name.starts_with("SRC_") || R.Meaning.Reg == SlotNull ||
        Registers.getRegClass(unsigned(Class)).contains(R.General))
      static_cast<Operand &>(O) = R.Meaning;
    return O;
  }
  int64_t Value = 0;
  if (From.isExpr() ? !From.getExpr()->evaluateAsAbsolute(Value)
                    : !From.isImm())
    return O;
  O.Kind = OperandKind::Constant;
  O.Value = From.isImm() ? uint64_t(From.getImm()) : uint64_t(Value);
  return O;
}

MachineOperands::MachineOperands(const isa::Disassembled &Read,
                                 const isa::InstructionDescription &Description,
                                 const MCRegisterInfo &Registers,
                                 ArrayRef<uint8_t> Bytes)
    : Coded(Description.Coded), IsDpp(Description.IsDpp) {
  const size_t Size = std::min<size_t>(Read.Size, sizeof(Words));
  std::memcpy(Words, Bytes.data(), Size);
  const MCInst &Code = Read.Code;
  const bool Packed = Coded == Encoding::Vop3P;
  int64_t Modifiers = 0;
  auto Set = [&](uint8_t &Bits, isa::SourceModifier Bit) {
    if (Modifiers & Bit)
      Bits |= uint8_t(1u << sources());
  };
  const unsigned Known =
      std::min(Code.getNumOperands(), Description.MostOperands);
  for (unsigned K = 0; K < Known; ++K) {
    const MCOperand &From = Code.getOperand(K);
    switch (Description.Roles[K]) {
    case OperandRole::Immediate:
      if (From.isImm())
        Immediates.push_back(From.getImm());
      continue;
    case OperandRole::Modifiers:
      Modifiers = From.isImm() ? From.getImm() : 0;
      continue;
    case OperandRole::Tied:
      // Fields of its own may choose a part of the result.
      Set(Half, isa::ModifierHalf);
      continue;
    case OperandRole::Result:
      ++Results;
      List.push_back(
          operandOf(From, Description.RegisterClasses[K], Registers));
      continue;
    case OperandRole::Register:
      // Some encodings of DPP have their immediates in the wrong order.
      if (!From.isReg() && IsDpp)
        continue;
      break;
    case OperandRole::Source:
      break;
    }
    if (From.isReg() && !From.getReg())
      continue;
    if (!From.isReg() && Description.Roles[K] == OperandRole::Register) {
      // An encoding that the disassembler reads and no chip knows.
      List.emplace_back().Name = "a constant";
      continue;
    }
    MachineOperand O =
        operandOf(From, Description.RegisterClasses[K], Registers);
    Set(Half, isa::ModifierHalf);
    if (Packed) {
      Set(HalfHigh, isa::ModifierHalfHigh);
      Set(NegLow, isa::ModifierNeg);
      Set(NegHigh, isa::ModifierAbs);
    } else {
      ResultHigh |= sources() == 0 && (Modifiers & isa::ModifierHalfHigh);
      O.Mods |= (Modifiers & isa::ModifierNeg ? ModNeg : 0) |
                (Modifiers & isa::ModifierAbs ? ModAbs : 0) |
                (Modifiers & isa::ModifierSext ? ModSext : 0);
    }
    List.push_back(O);
    Modifiers = 0;
  }
}

void MachineOperands::select(const isa::InstructionFacts &Facts, unsigned Banks,
                             unsigned Vgprs) {
  const isa::MemoryFacts &M = Facts.Memory;
  const bool IsBuffer = M.Descriptor,
             StoresFirst = M.Space == isa::MemorySpace::Scratch &&
                           M.Access == isa::MemoryAccess::Store,
             LdsFirst = M.Asynchronous && M.Access == isa::MemoryAccess::Load,
             CountsAll = M.Space == isa::MemorySpace::None;
  constexpr unsigned Result = 3, None = 4;
  unsigned Source = 0;
  for (unsigned K = 0; K < List.size(); ++K) {
    MachineOperand &O = List[K];
    const bool IsSource = K >= Results;
    // Of two results the second one is the first source, too.
    const unsigned Plain = !IsSource ? (K ? 0 : Result) : Source;
    const bool First = Source == 0;
    const unsigned Place = IsBuffer          ? (K ? 0 : Result)
                           : StoresFirst     ? (First ? 1 : 0)
                           : LdsFirst        ? (First ? Result : 0)
                           : Source < Result ? Plain
                                             : None;
    // Memory instructions do not count other operands.
    Source += IsSource && (CountsAll || O.Kind == OperandKind::VGPR);
    if (O.Kind != OperandKind::VGPR || O.Name.starts_with("AGPR"))
      continue;
    if (Place < None)
      O.Reg = uint16_t(O.Reg + 256 * (Banks >> 2 * Place & 3));
    if (O.Reg + O.Dwords > Vgprs)
      O.Kind = OperandKind::None;
  }
}

bool MachineOperands::isClamped() const {
  switch (Coded) {
  case Encoding::Vop3:
  case Encoding::Vop3P:
    return Words[0] >> 15 & 1;
  case Encoding::Sdwa:
    return Words[1] >> 13 & 1;
  default:
    return false;
  }
}

int MachineOperands::outputShift() const {
  const unsigned Field = Coded == Encoding::Vop3   ? Words[1] >> 27 & 3
                         : Coded == Encoding::Sdwa ? Words[1] >> 14 & 3
                                                   : 0;
  return Field == 3 ? -1 : int(Field);
}

unsigned MachineOperands::firstSource() const {
  return Words[Coded == Encoding::Other ? 0 : 1] & 0x1ff;
}

namespace {
struct InlineFloat {
  uint16_t F16, BF16;
  uint32_t F32;
  uint64_t F64;
};
} // namespace

/// The sources from 240 on, without those that are their negatives.
constexpr InlineFloat InlineFloats[] = {
    {0x3800, 0x3f00, 0x3f000000, 0x3fe0000000000000ull},
    {0x3c00, 0x3f80, 0x3f800000, 0x3ff0000000000000ull},
    {0x4000, 0x4000, 0x40000000, 0x4000000000000000ull},
    {0x4400, 0x4080, 0x40800000, 0x4010000000000000ull},
    {0x3118, 0x3e22, 0x3e22f983, 0x3fc45f306dc9c882ull}, // 1 / (2 pi)
};

std::optional<uint64_t> MachineOperands::inlineFloat(unsigned K,
                                                     OperandType Type) const {
  const bool IsVector = Coded != Encoding::Other;
  const unsigned Code =
      IsVector ? Words[1] >> 9 * K & 0x1ff : Words[0] >> 8 * K & 0xff;
  if (Code < 240 || Code > 248)
    return std::nullopt;
  const InlineFloat &F = InlineFloats[(Code - 240) / 2];
  const bool Negative = Code & 1;
  switch (Type) {
  case OperandType::F16:
  case OperandType::PkF16:
    return F.F16 | (Negative ? 0x8000u : 0);
  case OperandType::BF16:
  case OperandType::PkBF16:
    return F.BF16 | (Negative ? 0x8000u : 0);
  case OperandType::F64:
    return F.F64 | (Negative ? 1ull << 63 : 0);
  default:
    return F.F32 | (Negative ? 0x80000000u : 0);
  }
}
