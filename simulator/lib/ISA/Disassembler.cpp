//===- Disassembler.cpp - LLVM's view of AMD machine code -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sets up LLVM's MC layer.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/ISA/Disassembler.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCSchedule.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstring>
#include <mutex>

using namespace llvm;
using namespace lnbwd::isa;

static void initializeTarget() {
  static std::once_flag Once;
  std::call_once(Once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
}

Expected<std::unique_ptr<Machine>> Machine::create(StringRef Chip,
                                                   unsigned WaveSize) {
  initializeTarget();
  auto M = std::make_unique<Machine>();
  M->TT = Triple("amdgcn-amd-amdhsa");
  std::string Error;
  M->Target = TargetRegistry::lookupTarget(M->TT, Error);
  if (!M->Target)
    return createStringError(Error);
  M->Registers.reset(M->Target->createMCRegInfo(M->TT));
  M->Assembly.reset(
      M->Target->createMCAsmInfo(*M->Registers, M->TT, M->Options));
  M->Instructions.reset(M->Target->createMCInstrInfo());
  auto Subtarget = [&](StringRef Name, StringRef Features) {
    M->Subtarget.reset(M->Target->createMCSubtargetInfo(M->TT, Name, Features));
  };
  // LLVM takes any name, and says on stderr that it does not know it.
  Subtarget("", "");
  if (!M->Subtarget->isCPUStringValid(Chip))
    return createStringError("LLVM does not know the chip '" + Chip + "'");
  Subtarget(Chip, "");
  // Both wave sizes exist from gfx10 on; the choice changes how masks print.
  // Real true16 is what gfx11's hardware and later does with 16-bit operands
  // (v0.l, v0.h), whether the compiler makes use of it or not.
  std::string Features;
  if (M->Subtarget->checkFeatures("+gfx10-insts"))
    Features = WaveSize == 64 ? "-wavefrontsize32,+wavefrontsize64"
                              : "+wavefrontsize32,-wavefrontsize64";
  if (M->Subtarget->checkFeatures("+gfx11-insts"))
    Features += ",+real-true16";
  if (!Features.empty())
    Subtarget(Chip, Features);
  return M;
}

struct Disassembler::Impl {
  std::unique_ptr<Machine> M;
  std::unique_ptr<MCContext> Context;
  std::unique_ptr<MCDisassembler> Dis;
  std::unique_ptr<MCInstPrinter> Printer;
  bool HasScaledWmma = false;
};

Disassembler::Disassembler() : TheImpl(std::make_unique<Impl>()) {}
Disassembler::~Disassembler() = default;

Expected<std::unique_ptr<Disassembler>>
Disassembler::create(StringRef Chip, unsigned WaveSize) {
  auto M = Machine::create(Chip, WaveSize);
  if (!M)
    return M.takeError();
  std::unique_ptr<Disassembler> D(new Disassembler);
  Impl &I = *D->TheImpl;
  I.M = std::move(*M);
  const Target &T = *I.M->Target;
  I.HasScaledWmma = I.M->Subtarget->checkFeatures("+gfx1250-insts");
  I.Context = std::make_unique<MCContext>(
      I.M->TT, I.M->Assembly.get(), I.M->Registers.get(), I.M->Subtarget.get());
  I.Dis.reset(T.createMCDisassembler(*I.M->Subtarget, *I.Context));
  I.Printer.reset(T.createMCInstPrinter(I.M->TT, 0, *I.M->Assembly,
                                        *I.M->Instructions, *I.M->Registers));
  if (!I.Dis || !I.Printer)
    return createStringError("LLVM cannot disassemble for " + Chip);
  return D;
}

static StringRef mnemonicOf(const MCInstPrinter &Printer, const MCInst &Code) {
  // Operands that are the same in all of its kind may follow the name.
  return StringRef(Printer.getMnemonic(Code).first).take_until([](char C) {
    return C == ' ';
  });
}

/// The scales of CDNA5's WMMA have the field of a third source, which nothing
/// reads. LLVM 22 decodes only v0 there, which it writes itself; the LLVM of
/// Triton 3.9 writes 0.
static bool setUnreadSource(ArrayRef<uint8_t> Bytes, uint8_t (&Changed)[16]) {
  if (Bytes.size() < sizeof(Changed) || Bytes[3] != 0xcc ||
      (Bytes[2] != 0x35 && Bytes[2] != 0x3a))
    return false;
  std::memcpy(Changed, Bytes.data(), sizeof(Changed));
  Changed[6] &= 3;
  Changed[7] = uint8_t((Changed[7] & ~7u) | 4);
  return true;
}

bool Disassembler::read(ArrayRef<uint8_t> Bytes, uint64_t Address,
                        Disassembled &Out) {
  Impl &I = *TheImpl;
  auto Decode = [&](ArrayRef<uint8_t> From) {
    Out.Code.clear();
    Out.Size = 0;
    return I.Dis->getInstruction(Out.Code, Out.Size, From, Address, nulls()) ==
               MCDisassembler::Success &&
           Out.Size != 0 && Out.Size <= From.size();
  };
  uint8_t Changed[16];
  if (!Decode(Bytes) &&
      !(I.HasScaledWmma && setUnreadSource(Bytes, Changed) && Decode(Changed)))
    return false;
  Out.Text.clear();
  raw_string_ostream OS(Out.Text);
  I.Printer->printInst(&Out.Code, Address, "", *I.M->Subtarget, OS);
  Out.Mnemonic = mnemonicOf(*I.Printer, Out.Code);
  return true;
}

// Numbers of LLVM's AMDGPU backend that its headers do not publish. The test
// InstructionRecord.DescriptionsOfLLVM fails if they are others.
namespace {
enum TargetFlag : uint64_t {
  TargetVop3 = 1ull << 10,
  TargetVop3P = 1ull << 12,
  TargetSdwa = 1ull << 14,
  TargetDpp = 1ull << 15,
  TargetMai = 1ull << 54,
};
constexpr unsigned OperandSourceModifiers = 45;
} // namespace

static Encoding encodingOf(const MCInstrDesc &D, StringRef Name) {
  const uint64_t Flags = D.TSFlags;
  return Flags & TargetMai             ? Encoding::Mai
         : Flags & TargetVop3P         ? Encoding::Vop3P
         : Flags & TargetVop3          ? Encoding::Vop3
         : Flags & TargetSdwa          ? Encoding::Sdwa
         : Name.starts_with("V_DUAL_") ? Encoding::Vopd
                                       : Encoding::Other;
}

static OperandRole roleOf(const MCInstrDesc &D, unsigned K, bool IsRegister) {
  if (K < D.getNumDefs())
    return OperandRole::Result;
  if (D.getOperandConstraint(K, MCOI::TIED_TO) >= 0)
    return OperandRole::Tied;
  const unsigned Type = D.operands()[K].OperandType;
  if (Type == OperandSourceModifiers)
    return OperandRole::Modifiers;
  if (Type == MCOI::OPERAND_REGISTER)
    return OperandRole::Register;
  // Those of the backend's own types that are no register are constants.
  return IsRegister || Type >= MCOI::OPERAND_FIRST_TARGET
             ? OperandRole::Source
             : OperandRole::Immediate;
}

/// Sets how long a matrix instruction takes.
static void setPasses(const Machine &M, unsigned Opcode,
                      InstructionDescription &R) {
  const MCSchedModel &Model = M.Subtarget->getSchedModel();
  unsigned Class = M.Instructions->get(Opcode).getSchedClass();
  const MCSchedClassDesc *Desc = Model.getSchedClassDesc(Class);
  MCInst Any;
  Any.setOpcode(Opcode);
  // What decides among variants only LLVM's compiler sees.
  while (Desc->isVariant()) {
    R.PassesVary = true;
    Class = M.Subtarget->resolveVariantSchedClass(
        Class, &Any, M.Instructions.get(), Model.getProcessorID());
    if (!Class)
      return;
    Desc = Model.getSchedClassDesc(Class);
  }
  if (Desc->NumWriteLatencyEntries)
    R.Passes = uint8_t(M.Subtarget->getWriteLatencyEntry(Desc, 0)->Cycles);
}

InstructionDescription Disassembler::describe(unsigned Opcode) const {
  const Machine &M = *TheImpl->M;
  const MCInstrDesc &D = M.Instructions->get(Opcode);
  // Whether one of the registers has the name, or is a half of what has it.
  auto Names = [&](ArrayRef<MCPhysReg> Registers, StringRef Name) {
    return any_of(Registers, [&](MCPhysReg R) {
      StringRef This = M.Registers->getName(R);
      return This == Name ||
             (This.consume_front(Name) && (This == "_LO" || This == "_HI"));
    });
  };
  const ArrayRef<MCPhysReg> Uses = D.implicit_uses(), Defs = D.implicit_defs();
  InstructionDescription R;
  R.ReadsScc = Names(Uses, "SCC");
  R.WritesScc = Names(Defs, "SCC");
  R.Coded = encodingOf(D, M.Instructions->getName(Opcode));
  R.IsDpp = D.TSFlags & TargetDpp;
  if (R.Coded == Encoding::Mai)
    setPasses(M, Opcode, R);
  R.ReadsVcc = Names(Uses, "VCC");
  R.WritesVcc = Names(Defs, "VCC");
  R.ReadsM0 = Names(Uses, "M0");
  R.WritesM0 = Names(Defs, "M0");
  R.ReadsExec = Names(Uses, "EXEC");
  R.WritesExec = Names(Defs, "EXEC");
  for (unsigned K = D.getNumDefs(); K < D.getNumOperands(); ++K)
    R.ReadsResult |= D.getOperandConstraint(K, MCOI::TIED_TO) == 0;
  R.IsBranch = D.isBranch();
  R.IsDirect = D.isBranch() && any_of(D.operands(), [](const MCOperandInfo &O) {
                 return O.OperandType == MCOI::OPERAND_PCREL;
               });
  R.IsBarrier = D.isBarrier();
  R.EndsWave = D.isReturn();
  R.IsCall = D.isCall();
  R.MayLoad = D.mayLoad();
  R.MayStore = D.mayStore();
  R.Results = uint8_t(D.getNumDefs());
  const unsigned Mode = M.Subtarget->getHwMode(MCSubtargetInfo::HwMode_RegInfo);
  const ArrayRef<MCOperandInfo> Operands = D.operands();
  for (unsigned K = 0; K < std::min<size_t>(Operands.size(), R.MostOperands);
       ++K) {
    const int Class = M.Instructions->getOpRegClassID(Operands[K], Mode);
    R.RegisterClasses[K] = int16_t(Class);
    if (Class >= 0)
      R.OperandDwords[K] = uint8_t(
          (M.Registers->getRegClass(unsigned(Class)).getSizeInBits() + 31) /
          32);
    R.Roles[K] = roleOf(D, K, Class >= 0);
  }
  return R;
}

std::string Disassembler::secondOfDual(unsigned Opcode) const {
  // V_DUAL_first_X_second_chip, with the encodings of some behind their names.
  // Its name is what it is called as a first one; LLVM's own may be another
  // chip's.
  const MCInstrInfo &All = *TheImpl->M->Instructions;
  auto [Second, Chip] = All.getName(Opcode).split("_X_").second.rsplit('_');
  auto DropEncoding = [](StringRef &Name) {
    return Name.consume_back("_e32") || Name.consume_back("_e64") ||
           Name.consume_back("_e96");
  };
  while (DropEncoding(Second))
    ;
  for (unsigned K = 0; K < All.getNumOpcodes(); ++K) {
    auto [First, Rest] = All.getName(K).split("_X_");
    DropEncoding(First);
    if (Rest.empty() || !First.consume_front("V_DUAL_") || First != Second ||
        !Rest.ends_with(Chip))
      continue;
    MCInst Other;
    Other.setOpcode(K);
    return mnemonicOf(*TheImpl->Printer, Other).str();
  }
  return Second.empty() ? "" : "v_dual_" + Second.lower();
}

const MCRegisterInfo &Disassembler::registers() const {
  return *TheImpl->M->Registers;
}
