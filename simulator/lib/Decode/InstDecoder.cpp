//===- InstDecoder.cpp - From machine code to Inst ------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which decoder an instruction is for; pairs of dual-issue operations, and
// register indexing of gfx9; scalar instructions but for loads.
//
//===----------------------------------------------------------------------===//

#include "Decode/CodeDecoder.h"

#include "Decode/Decoders.h"

#include "lnbwd/ISA/FactTable.h"
#include "lnbwd/ISA/InstructionRecord.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace lnbwd;
using namespace lnbwd::sim;

InstDecoder::InstDecoder(const SimulatedChip &Chip, unsigned WaveSize,
                         const ExecTable &Table)
    : Chip(Chip), Table(Table), Operands(WaveSize),
      Lanes({Chip, WaveSize, Table, Operands}), Scalars(Operands),
      Memory({Chip, WaveSize, Table, Operands}),
      Matrices({Chip, WaveSize, Table, Operands}),
      Conversions({Chip, WaveSize, Table, Operands}) {
  for (TableRef<LaneOpInfo> Ref : Table.LaneOps)
    for (unsigned K = 0; K < Ref.Size; ++K)
      for (StringRef Name : isa::canonicalNames(Ref.Begin[K].Names))
        LaneOps[Name] = &Ref.Begin[K];
  auto Add = [](TableRef<HandlerInfo> Ref, StringMap<Handler> &Handlers) {
    for (unsigned K = 0; K < Ref.Size; ++K)
      for (StringRef Name : isa::canonicalNames(Ref.Begin[K].Names))
        Handlers[Name] = Ref.Begin[K].Run;
  };
  Add(Table.CrossLane, CrossLaneOps);
  for (TableRef<HandlerInfo> Ref : Table.Scalar)
    Add(Ref, ScalarHandlers);
}

/// The halves of a pair, which LLVM describes as one instruction only.
static const isa::InstructionDescription NoDescription;

std::string
InstDecoder::decodeOne(StringRef Mnemonic,
                       const isa::InstructionDescription &Description,
                       const MachineOperands &From, Inst &I) {
  I.Record =
      &Records
           .try_emplace({&Description, Mnemonic.str()}, Mnemonic, Description)
           .first->second;
  std::string Name = I.Record->Name;
  if (I.Record->Facts.Flags & isa::FactSignsByNegLo) {
    Name += From.NegLow & 1 ? ":s" : ":u";
    Name += From.NegLow & 2 ? "s" : "u";
  }
  if (auto It = LaneOps.find(Name); It != LaneOps.end())
    return Lanes.decode(From, *It->second, I);
  if (ConversionDecoder::knows(Name))
    return Conversions.decode(From, I);
  if (auto It = CrossLaneOps.find(Name); It != CrossLaneOps.end()) {
    I.Run = It->second;
    return Lanes.decodeCrossLane(From, I);
  }
  if (auto It = ScalarHandlers.find(Name); It != ScalarHandlers.end()) {
    I.Run = It->second;
    return Scalars.decode(From, I);
  }
  if (I.Record->Facts.Class == isa::CountClass::Matrix)
    return Matrices.decode(From, I);
  return Memory.decode(From, I);
}

/// How many sources the operands list of one of a pair, of which one encoding
/// has masks, too.
unsigned InstDecoder::sourcesOf(StringRef Mnemonic, bool WithMasks) const {
  auto It = LaneOps.find(isa::canonicalMnemonic(Mnemonic));
  if (It == LaneOps.end())
    return 0;
  unsigned Count = 0;
  for (OperandType T : It->second->Src)
    Count += T != OperandType::None && (T != OperandType::Mask || WithMasks);
  return Count - bool(It->second->Flags & LaneAccumulate) -
         bool(isa::factsOf(Mnemonic).Flags & isa::FactBitTable);
}

std::string InstDecoder::decodeDual(StringRef X, StringRef Y,
                                    const MachineOperands &From,
                                    const Inst &Base,
                                    SmallVectorImpl<Inst> &Out) {
  Inst Halves[2] = {Base, Base};
  const bool IsLong = From.Words[0] >> 26 == 0x33; // VOPD3
  const unsigned OfX = sourcesOf(X, IsLong);
  if (From.Results != 2 || From.sources() != OfX + sourcesOf(Y, IsLong))
    return "it is not a pair of dual-issue operations";
  for (unsigned K = 0; K < 2; ++K) {
    MachineOperands Half;
    Half.Results = 1;
    Half.List.push_back(From.List[K]);
    const unsigned Begin = K ? OfX : 0, End = K ? From.sources() : OfX;
    for (unsigned Source = Begin; Source < End; ++Source)
      Half.List.push_back(From.source(Source));
    if (K) // the table of a logic function, which no first one has
      Half.Immediates = From.Immediates;
    Half.select({}, Base.Banks, Chip.AddressableVgprs);
    std::string Error = decodeOne(K ? Y : X, NoDescription, Half, Halves[K]);
    if (!Error.empty()) {
      Out.push_back(Halves[K]);
      return Error;
    }
    if (!Halves[K].Lane)
      return "it is not a pair of vector ALU operations";
  }
  // Both read their sources before either writes.
  auto Reads = [](const Inst &I, const Operand &Row) {
    for (unsigned K = 0; K < I.NumSrc; ++K)
      if (I.Src[K].Kind == OperandKind::VGPR &&
          I.Src[K].Reg < Row.Reg + Row.Dwords &&
          Row.Reg < I.Src[K].Reg + I.Src[K].Dwords)
        return true;
    return false;
  };
  bool YReadsX = Reads(Halves[1], Halves[0].Dst);
  bool XReadsY = Reads(Halves[0], Halves[1].Dst);
  if (!YReadsX) {
    Out.append({Halves[0], Halves[1]});
  } else if (!XReadsY) {
    Out.append({Halves[1], Halves[0]});
  } else if (Halves[0].Dst.Dwords > 1) {
    return notModelled("a pair that reads both of its wide results");
  } else {
    Inst Move = Base;
    MachineOperands Operands;
    Operands.Results = 1;
    Operands.List.resize(2);
    for (MachineOperand &O : Operands.List) {
      O.Kind = OperandKind::VGPR;
      O.Dwords = 1;
    }
    Operands.List[0].Reg = Halves[0].Dst.Reg;
    Operands.List[1].Reg = RowTemp0;
    std::string Error = decodeOne("v_mov_b32", NoDescription, Operands, Move);
    if (!Error.empty())
      return Error;
    Halves[0].Dst.Reg = RowTemp0;
    // The destination that is also a source stays a source.
    Out.append({Halves[0], Halves[1], Move});
  }
  for (unsigned K = 1; K < Out.size(); ++K)
    Out[K].Class = InstClass::Uncounted;
  return "";
}

std::string InstDecoder::decode(const isa::Disassembled &Read,
                                const isa::InstructionDescription &Description,
                                StringRef SecondName, MachineOperands &From,
                                const Inst &Base, SmallVectorImpl<Inst> &Out) {
  if (Description.Coded == isa::Encoding::Vopd)
    return decodeDual(Read.Mnemonic, SecondName, From, Base, Out);
  From.select(Base.Banks ? isa::factsOf(Read.Mnemonic)
                         : isa::InstructionFacts(),
              Base.Banks, Chip.AddressableVgprs);
  Inst I = Base;
  std::string Error = decodeOne(Read.Mnemonic, Description, From, I);
  if (!Error.empty()) {
    Out.push_back(I);
    return Error;
  }
  const uint32_t Flags = I.Record->Facts.Flags;
  if (Flags & isa::FactIndexesOn)
    Indexed = true;
  else if (Flags & isa::FactIndexesOff)
    Indexed = false;
  else if (Indexed && I.Class == InstClass::Vector) {
    if (!I.Lane)
      return "it is not modelled with register indexing";
    I.Inner = I.Run;
    I.Run = Table.RunIndexed;
  }
  Out.push_back(I);
  return "";
}

std::string ScalarDecoder::decode(const MachineOperands &From, Inst &I) {
  const isa::InstructionDescription &Description = I.Record->Description;
  const isa::OperandForm Form = I.Record->Facts.Form;
  I.Class = InstClass::Scalar;
  I.Imm = I.Encoding & 0xffff;
  if (Form == isa::OperandForm::Ignored) {
    if (I.Record->Facts.Cache != isa::CacheControl::None &&
        !From.Immediates.empty())
      I.CachePolicy = uint8_t(From.Immediates[0]);
    return "";
  }
  if (From.isClamped() || From.outputShift())
    return notModelled("a modifier of the result");

  unsigned Next = 0;
  std::string Error;
  if (Description.Results || Form == isa::OperandForm::FirstWritten) {
    if (From.List.empty())
      return OperandCount;
    Error = Operands.scalarDestination(From.List[Next++], I.Dst);
    if (!Error.empty())
      return Error;
  }
  const unsigned Left = unsigned(From.List.size()) - Next;
  switch (Form) {
  case isa::OperandForm::Ignored:
  case isa::OperandForm::ResultOnly:
    return "";
  case isa::OperandForm::GprIndex:
    // What is indexed is coded as the second source of a compare.
    I.Imm = I.Encoding >> 8 & 0xff;
    [[fallthrough]];
  case isa::OperandForm::SetRegister: {
    I.NumSrc = 1;
    // An immediate as wide as the register is none of the operands.
    MachineOperand Value;
    Operands.constant(
        Value, From.Immediates.empty() ? 0 : uint32_t(From.Immediates[0]));
    return Operands.source(Left ? From.List[Next] : Value, OperandType::B32,
                           I.Src[0]);
  }
  case isa::OperandForm::Immediate:
  case isa::OperandForm::Unsigned: {
    if (Left > 1)
      return OperandCount;
    if (Left)
      Error = Operands.source(From.List[Next], OperandType::B32, I.Src[0]);
    Operand &O = I.Src[Left];
    O.Kind = OperandKind::Constant;
    O.Dwords = 1;
    O.Value = Form == isa::OperandForm::Unsigned
                  ? uint64_t(I.Imm)
                  : uint64_t(uint32_t(int32_t(int16_t(I.Imm))));
    I.NumSrc = uint8_t(Left + 1);
    return Error;
  }
  case isa::OperandForm::Listed:
  case isa::OperandForm::FirstWritten:
    break;
  }
  if (Left > 4)
    return OperandCount;
  // Of barriers the number may be in M0, which is no operand then.
  if (Left == 0 && Description.ReadsM0) {
    I.Src[0].Kind = OperandKind::SGPR;
    I.Src[0].Reg = SlotM0;
    I.Src[0].Dwords = 1;
    I.NumSrc = 1;
  }
  const unsigned First = Form == isa::OperandForm::FirstWritten ? 1 : 0;
  for (unsigned K = 0; K < Left; ++K) {
    const MachineOperand &Source = From.List[Next + K];
    Operand &O = I.Src[K] = Source;
    if (O.Kind == OperandKind::VGPR || O.Kind == OperandKind::None)
      return "the operand '" + Source.Name.lower() + "' is not modelled";
    if (O.Kind == OperandKind::Constant) {
      O.Dwords = Description.sourceDwords(First + K) > 1 ? 2 : 1;
      O.Value = O.Dwords == 2 ? O.Value : uint32_t(O.Value);
      // LLVM takes the sources of conversions for integers.
      if (I.Record->Facts.Flags & isa::FactSourcesF16)
        O.Value = From.inlineFloat(K, OperandType::F16).value_or(O.Value);
    }
    I.NumSrc = uint8_t(K + 1);
  }
  return "";
}
