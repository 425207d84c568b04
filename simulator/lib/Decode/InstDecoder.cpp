//===- InstDecoder.cpp - From assembly text to Inst -----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which decoder an instruction is for; pairs of dual-issue operations, and
// register indexing of gfx9.
//
//===----------------------------------------------------------------------===//

#include "Decode/InstDecoder.h"

#include "Decode/AsmText.h"

#include "lnbwd/ISA/Mnemonics.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace lnbwd;
using namespace lnbwd::sim;

InstDecoder::InstDecoder(const SimulatedChip &Chip, unsigned WaveSize,
                         const ExecTable &Table)
    : Table(Table), Operands(WaveSize), Lanes(Chip, WaveSize, Table, Operands),
      Scalars(Operands), Memory(Table, Operands),
      Matrices(Chip, WaveSize, Table, Operands),
      Conversions(Chip, Table, Operands) {
  for (unsigned T = 0; T < Table.NumLaneOpTables; ++T)
    for (unsigned K = 0; K < Table.LaneOps[T].Size; ++K)
      LaneOps[Table.LaneOps[T].Begin[K].Name] = &Table.LaneOps[T].Begin[K];
  for (unsigned K = 0; K < Table.CrossLane.Size; ++K)
    CrossLaneOps[Table.CrossLane.Begin[K].Name] = Table.CrossLane.Begin[K].Run;
  for (TableRef<HandlerInfo> Ref : Table.Scalar)
    for (unsigned K = 0; K < Ref.Size; ++K)
      ScalarHandlers[Ref.Begin[K].Name] = Ref.Begin[K].Run;
}

/// The halves of a pair, which LLVM describes as one instruction only.
static const isa::InstructionDescription NoDescription;

std::string InstDecoder::decodeOne(
    StringRef Text, const isa::InstructionDescription &Description, Inst &I) {
  AsmText Asm = AsmText::parse(Text);
  I.Record = &Records
                  .try_emplace({&Description, Asm.Mnemonic.str()}, Asm.Mnemonic,
                               Description)
                  .first->second;
  std::string Name = I.Record->Name;
  if (I.Record->Facts.Flags & isa::FactSignsInText) {
    const bool SignedA = Text.contains("neg_lo:[1,"),
               SignedB =
                   Text.contains("neg_lo:[0,1") || Text.contains("neg_lo:[1,1");
    Name += SignedA ? SignedB ? ":ss" : ":su" : SignedB ? ":us" : ":uu";
    llvm::erase_if(Asm.Modifiers, [](StringRef M) {
      return M.starts_with("neg_lo:") || M.starts_with("op_sel_hi:");
    });
  }
  if (auto It = LaneOps.find(Name); It != LaneOps.end())
    return Lanes.decode(Asm, *It->second, I);
  if (ConversionDecoder::knows(Name))
    return Conversions.decode(Asm, I);
  if (auto It = CrossLaneOps.find(Name); It != CrossLaneOps.end()) {
    I.Run = It->second;
    return Lanes.decodeCrossLane(Asm, I);
  }
  if (auto It = ScalarHandlers.find(Name); It != ScalarHandlers.end()) {
    I.Run = It->second;
    return Scalars.decode(Asm, I);
  }
  if (I.Record->Facts.Class == isa::CountClass::Matrix)
    return Matrices.decode(Asm, I);
  return Memory.decode(Asm, I);
}

std::string InstDecoder::decodeDual(StringRef X, StringRef Y, const Inst &Base,
                                    SmallVectorImpl<Inst> &Out) {
  Inst Halves[2] = {Base, Base};
  for (unsigned K = 0; K < 2; ++K) {
    const std::string Text = isa::singleOfDual((K ? Y : X).trim());
    if (Text.empty())
      return "it is not a pair of dual-issue operations";
    std::string Error = decodeOne(Text, NoDescription, Halves[K]);
    if (!Error.empty())
      return Error;
    if (!Halves[K].Lane)
      return "it is not a pair of vector ALU operations";
  }
  // Both read their sources before either writes.
  auto Reads = [](const Inst &I, unsigned Row) {
    for (unsigned K = 0; K < I.NumSrc; ++K)
      if (I.Src[K].Kind == OperandKind::VGPR && I.Src[K].Reg == Row)
        return true;
    return false;
  };
  bool YReadsX = Reads(Halves[1], Halves[0].Dst.Reg);
  bool XReadsY = Reads(Halves[0], Halves[1].Dst.Reg);
  if (!YReadsX) {
    Out.append({Halves[0], Halves[1]});
  } else if (!XReadsY) {
    Out.append({Halves[1], Halves[0]});
  } else {
    Inst Move = Base;
    std::string Error = decodeOne("v_mov_b32 v0, v0", NoDescription, Move);
    if (!Error.empty())
      return Error;
    Move.Dst.Reg = Halves[0].Dst.Reg;
    Move.Src[0].Reg = RowTemp0;
    Halves[0].Dst.Reg = RowTemp0;
    // The destination that is also a source stays a source.
    Out.append({Halves[0], Halves[1], Move});
  }
  for (unsigned K = 1; K < Out.size(); ++K)
    Out[K].Class = InstClass::Uncounted;
  return "";
}

std::string InstDecoder::decode(StringRef Text,
                                const isa::InstructionDescription &Description,
                                const Inst &Base, SmallVectorImpl<Inst> &Out) {
  size_t Pair = Text.find(" :: ");
  if (Pair != StringRef::npos)
    return decodeDual(Text.substr(0, Pair), Text.substr(Pair + 4), Base, Out);
  Inst I = Base;
  std::string Error = decodeOne(Text, Description, I);
  if (!Error.empty())
    return Error;
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
