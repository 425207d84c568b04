//===- CodeDecoder.cpp - From machine code to Inst ------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the disassembler over the code, has each instruction resolved and
// links the branches.
//
//===----------------------------------------------------------------------===//

#include "Decode/CodeDecoder.h"

#include "Core/Environment.h"
#include "Core/Execution.h"

#include "lnbwd/ISA/Disassembler.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace llvm;
using namespace lnbwd;
using namespace lnbwd::sim;

/// Turns a crash of the disassembler into "invalid".
static bool readSafely(CrashGuard &Guard, isa::Disassembler &D,
                       ArrayRef<uint8_t> Bytes, uint64_t Address,
                       isa::Disassembled &Out) {
  bool Valid = false;
  bool Survived = Guard.survives([&] { Valid = D.read(Bytes, Address, Out); });
  return Survived && Valid;
}

static const Inst *notExecutable(Wave &W, const Inst *I) {
  return faultNotExecutable(W, I);
}

/// Of what is no instruction.
static const isa::InstructionRecord Unknown;

static ArrayRef<uint8_t> bytesAt(uint64_t Address, uint64_t Size) {
  return {reinterpret_cast<const uint8_t *>(Address), size_t(Size)};
}

static std::string asData(uint32_t Word) {
  char Hex[32];
  std::snprintf(Hex, sizeof(Hex), ".long 0x%08x", Word);
  return Hex;
}

/// Banks of vector registers are a state of the wave. Code is decoded with
/// those that the instructions before it have set, and what jumps has the first
/// ones, as LLVM has it do; other code is not modelled.
static std::string nextBanks(const Inst &I, uint8_t &Banks) {
  const isa::InstructionDescription &D = I.Record->Description;
  const uint32_t Flags = I.Record->Facts.Flags;
  constexpr const char *Other = "another use of register banks";
  if (Flags & isa::FactWritesHardware) {
    // MODE has them in bits 19:12, in another order. An immediate sets them
    // whichever field it is for.
    const unsigned Field = unsigned(I.Imm), Offset = Field >> 6 & 31;
    const bool IsMode = (Field & 63) == 1;
    const uint64_t Value = I.Src[0].Value >> 12 & 0xff;
    const bool Changes = (Flags & isa::FactSetsBanks) &&
                         (Value >> 2 | (Value << 6 & 0xc0)) != Banks;
    if (IsMode && (Changes || (Offset < 20 && Offset + (Field >> 11) >= 12)))
      return notModelled(Other);
  } else if (Flags & isa::FactSetsBanks) {
    Banks = uint8_t(I.Imm);
  } else if (Banks && (D.IsBranch || D.IsCall || D.EndsWave || D.IsBarrier)) {
    if (!D.EndsWave)
      return notModelled(Other);
    Banks = 0;
  }
  return "";
}

DecodedCode::DecodedCode(const SimulatedChip &Chip, unsigned WaveSize,
                         ArrayRef<CodeRange> CodeRanges, const ExecTable &Table,
                         bool HasScratch)
    : InstructionTable(Chip, WaveSize, HasScratch),
      Decode(Chip, WaveSize, Table) {
  // Without one, all code is reported as not valid.
  auto Dis = isa::Disassembler::create(Chip.Chip, WaveSize);
  if (!Dis)
    consumeError(Dis.takeError());
  CrashGuard Guard;
  isa::Disassembled Read;
  for (const CodeRange &R : CodeRanges) {
    Index D;
    D.Where = R;
    llvm::sort(D.Where.Entries);
    D.Instructions.assign(size_t(R.Size / 4), -1);
    auto NextEntry = D.Where.Entries.begin();
    uint64_t Address = R.Address, End = R.Address + (R.Size & ~3ull);
    uint8_t Banks = 0;
    while (Address < End) {
      for (; NextEntry != D.Where.Entries.end() && *NextEntry <= Address;
           ++NextEntry)
        Banks = 0;
      uint64_t Limit = NextEntry == D.Where.Entries.end() ? End : *NextEntry;
      ArrayRef<uint8_t> Bytes =
          bytesAt(Address, std::min(Limit, End) - Address);
      Inst Base;
      Base.Address = Address;
      Base.Banks = Banks;
      std::memcpy(&Base.Encoding, Bytes.data(), 4);
      Listing Line;
      uint64_t Size = 4;
      D.Instructions[size_t((Address - R.Address) / 4)] = int32_t(Code.size());
      SmallVector<Inst, 3> Decoded;
      if (Dis && readSafely(Guard, **Dis, Bytes, Address, Read)) {
        Size = Read.Size;
        Base.Size = uint8_t(Size);
        const unsigned Number = Read.Code.getOpcode();
        auto [It, New] = Opcodes.try_emplace(Number);
        Opcode &O = It->second;
        if (New) {
          O.Description = (*Dis)->describe(Number);
          if (O.Description.Coded == isa::Encoding::Vopd)
            O.SecondName = (*Dis)->secondOfDual(Number);
        }
        MachineOperands Operands(Read, O.Description, (*Dis)->registers(),
                                 Bytes);
        Line.Problem = Decode.decode(Read, O.Description, O.SecondName,
                                     Operands, Base, Decoded);
        if (Line.Problem.empty() && Chip.AddressableVgprs > 256)
          Line.Problem = nextBanks(Decoded.front(), Banks);
        Line.Text = StringRef(Read.Text).trim().str();
      } else {
        Base.Size = 4;
        Line.Problem = "it is not a valid instruction";
        Line.Text = asData(Base.Encoding);
      }
      if (!Line.Problem.empty()) {
        Base.Run = notExecutable;
        Base.Record = Decoded.empty() ? &Unknown : Decoded.front().Record;
        Decoded.assign(1, Base);
      }
      Code.insert(Code.end(), Decoded.begin(), Decoded.end());
      Listings.insert(Listings.end(), Decoded.size(), Line);
      Address += Size;
    }
    // Running off the end of the code is caught, too.
    Inst Sentinel;
    Sentinel.Address = End;
    Sentinel.Run = notExecutable;
    Sentinel.Record = &Unknown;
    Code.push_back(Sentinel);
    Listings.push_back({asData(0), "the program ran past the end of its code"});
    Ranges.push_back(std::move(D));
  }
  // Branch displacements count dwords from the next instruction; the branches
  // with a fixed target are exactly the SOPP ones.
  for (Inst &I : Code) {
    bool IsSopp = (I.Encoding & 0xff800000) == 0xbf800000;
    if (IsSopp)
      I.Target = at(I.Address + 4 + uint64_t(int64_t(int16_t(I.Encoding)) * 4));
  }
}
