//===- Decoder.cpp - From machine code to Inst ----------------------------===//
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

#include "Decode/ProgramDecoder.h"

#include "Core/CrashGuard.h"
#include "Core/Execution.h"

#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

using namespace llvm;
using namespace lnbwd::sim;

static void initializeTarget() {
  static std::once_flag Once;
  std::call_once(Once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
}

namespace {
/// LLVM's disassembler and printer for one chip and wave size.
class Disassembler {
public:
  Disassembler(const ChipInfo &Chip, unsigned WaveSize) {
    initializeTarget();
    Triple TT("amdgcn-amd-amdhsa");
    std::string Error;
    const Target *T = TargetRegistry::lookupTarget(TT, Error);
    if (!T)
      return; // Reported as undecodable code.
    std::string Features;
    if (Chip.Generation > 9) {
      // Both wave sizes exist from gfx10 on; the choice changes how masks
      // print. Real true16 is what the hardware does with 16-bit operands
      // (v0.l, v0.h), whether the compiler makes use of it or not.
      Features = WaveSize == 32 ? "+wavefrontsize32,-wavefrontsize64"
                                : "-wavefrontsize32,+wavefrontsize64";
      Features += ",+real-true16";
    }
    MRI.reset(T->createMCRegInfo(TT));
    MAI.reset(T->createMCAsmInfo(*MRI, TT, MCTargetOptions()));
    MII.reset(T->createMCInstrInfo());
    STI.reset(T->createMCSubtargetInfo(TT, Chip.Chip, Features));
    Context = std::make_unique<MCContext>(TT, MAI.get(), MRI.get(), STI.get());
    Dis.reset(T->createMCDisassembler(*STI, *Context));
    Printer.reset(T->createMCInstPrinter(TT, 0, *MAI, *MII, *MRI));
  }

  /// The text of the instruction at the start of the bytes and its size; false
  /// if there is none.
  bool run(ArrayRef<uint8_t> Bytes, uint64_t Address, std::string &Text,
           uint64_t &Size, InstDescription &Description) {
    if (!Dis)
      return false;
    MCInst MI;
    Size = 0;
    if (Dis->getInstruction(MI, Size, Bytes, Address, nulls()) !=
            MCDisassembler::Success ||
        Size == 0 || Size > Bytes.size())
      return false;
    Text.clear();
    raw_string_ostream OS(Text);
    Printer->printInst(&MI, Address, "", *STI, OS);
    Description = describe(MII->get(MI.getOpcode()));
    return true;
  }

private:
  /// Whether one of the registers has the name, or is a half of what has it.
  bool names(ArrayRef<MCPhysReg> Registers, StringRef Name) const {
    return any_of(Registers, [&](MCPhysReg R) {
      StringRef This = MRI->getName(R);
      return This == Name ||
             (This.consume_front(Name) && (This == "_LO" || This == "_HI"));
    });
  }
  InstDescription describe(const MCInstrDesc &D) const {
    const ArrayRef<MCPhysReg> Uses = D.implicit_uses(),
                              Defs = D.implicit_defs();
    InstDescription R;
    R.ReadsScc = names(Uses, "SCC");
    R.WritesScc = names(Defs, "SCC");
    R.ReadsVcc = names(Uses, "VCC");
    R.ReadsM0 = names(Uses, "M0");
    R.WritesM0 = names(Defs, "M0");
    R.ReadsExec = names(Uses, "EXEC");
    R.WritesExec = names(Defs, "EXEC");
    for (unsigned K = D.getNumDefs(); K < D.getNumOperands(); ++K)
      R.ReadsResult |= D.getOperandConstraint(K, MCOI::TIED_TO) == 0;
    R.IsBranch = D.isBranch();
    R.IsCall = D.isCall();
    R.MayLoad = D.mayLoad();
    R.MayStore = D.mayStore();
    return R;
  }

  std::unique_ptr<MCRegisterInfo> MRI;
  std::unique_ptr<MCAsmInfo> MAI;
  std::unique_ptr<MCInstrInfo> MII;
  std::unique_ptr<MCSubtargetInfo> STI;
  std::unique_ptr<MCContext> Context;
  std::unique_ptr<MCDisassembler> Dis;
  std::unique_ptr<MCInstPrinter> Printer;
};

} // namespace

/// Turns a crash of the disassembler into "invalid".
static bool decodeSafely(CrashGuard &Guard, Disassembler &D,
                         ArrayRef<uint8_t> Bytes, uint64_t Address,
                         std::string &Text, uint64_t &Size,
                         InstDescription &Description) {
  bool Valid = false;
  bool Survived = Guard.survives(
      [&] { Valid = D.run(Bytes, Address, Text, Size, Description); });
  return Survived && Valid;
}

static ArrayRef<uint8_t> bytesAt(uint64_t Address, uint64_t Size) {
  return {reinterpret_cast<const uint8_t *>(Address), size_t(Size)};
}

static const Inst *notExecutable(Wave &W, const Inst *I) {
  return faultNotExecutable(W, I);
}

static std::string asData(uint32_t Word) {
  char Hex[32];
  std::snprintf(Hex, sizeof(Hex), ".long 0x%08x", Word);
  return Hex;
}

DecodedProgram::DecodedProgram(const ChipInfo &Chip, unsigned WaveSize,
                               ArrayRef<CodeRange> CodeRanges,
                               const ExecTable &Table)
    : Program(Chip, WaveSize), Decode(Chip, WaveSize, Table) {
  Disassembler Dis(Chip, WaveSize);
  CrashGuard Guard;
  for (const CodeRange &R : CodeRanges) {
    Index D;
    D.Where = R;
    llvm::sort(D.Where.Entries);
    D.Instructions.assign(size_t(R.Size / 4), -1);
    auto NextEntry = D.Where.Entries.begin();
    uint64_t Address = R.Address, End = R.Address + (R.Size & ~3ull);
    while (Address < End) {
      while (NextEntry != D.Where.Entries.end() && *NextEntry <= Address)
        ++NextEntry;
      uint64_t Limit = NextEntry == D.Where.Entries.end() ? End : *NextEntry;
      ArrayRef<uint8_t> Bytes =
          bytesAt(Address, std::min(Limit, End) - Address);
      Inst Base;
      Base.Address = Address;
      std::memcpy(&Base.Encoding, Bytes.data(), 4);
      Listing Line;
      std::string Text;
      uint64_t Size = 4;
      D.Instructions[size_t((Address - R.Address) / 4)] = int32_t(Code.size());
      SmallVector<Inst, 3> Decoded;
      if (decodeSafely(Guard, Dis, Bytes, Address, Text, Size,
                       Line.Description)) {
        Base.Size = uint8_t(Size);
        Line.Problem = Decode.decode(Text, Base, Decoded);
        Line.Text = StringRef(Text).trim().str();
      } else {
        Base.Size = 4;
        Line.Problem = "it is not a valid instruction";
        Line.Text = asData(Base.Encoding);
        Line.Description = {};
        Size = 4;
      }
      if (!Line.Problem.empty()) {
        Base.Run = notExecutable;
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
    Code.push_back(Sentinel);
    Listings.push_back(
        {asData(0), "the program ran past the end of its code", {}});
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
