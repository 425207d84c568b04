//===- MachineCode.cpp - The instructions of a kernel ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's disassembler and its reader of line tables do the work. Classes are
// told by mnemonics, whose prefixes AMD's instruction sets give a meaning.
//
//===----------------------------------------------------------------------===//

#include "MachineCode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"

#include <map>
#include <vector>

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

/// Bytes of an access by the end of its mnemonic; 0 for what accesses none.
static int64_t getAccessBytes(StringRef mnemonic) {
  StringRef width = mnemonic.rsplit('_').second;
  return llvm::StringSwitch<int64_t>(width)
      .Cases({"dwordx16", "b512"}, 64)
      .Cases({"dwordx8", "b256"}, 32)
      .Cases({"dwordx4", "b128"}, 16)
      .Cases({"dwordx3", "b96"}, 12)
      .Cases({"dwordx2", "b64"}, 8)
      .Cases({"dword", "b32"}, 4)
      .Cases({"short", "ushort", "sshort", "b16", "u16", "i16", "hi", "d16"}, 2)
      .Cases({"byte", "ubyte", "sbyte", "b8", "u8", "i8"}, 1)
      .Default(0);
}

Instruction lnbwd::classify(StringRef text) {
  text = text.trim();
  StringRef mnemonic = text.take_until(llvm::isSpace);
  // The assembler's suffixes for an encoding say nothing of the operation;
  // "_e64_dpp" are two.
  for (StringRef suffix : {"_dpp", "_sdwa", "_e32", "_e64"})
    mnemonic.consume_back(suffix);
  auto startsWith = [&](std::initializer_list<StringRef> prefixes) {
    return llvm::any_of(prefixes, [&](StringRef prefix) {
      return mnemonic.starts_with(prefix);
    });
  };
  Instruction result;
  result.kind = InstructionClass::Other;
  if (startsWith({"v_"})) {
    result.kind = mnemonic == "v_nop" ? InstructionClass::Other
                                      : InstructionClass::VectorALU;
    result.isDual = startsWith({"v_dual_"});
  } else if (startsWith({"s_waitcnt", "s_wait_"})) {
    result.kind = InstructionClass::Wait;
  } else if (startsWith({"s_barrier"})) {
    // Newer chips arrive and wait in two instructions: one barrier.
    result.kind = mnemonic == "s_barrier_wait" ? InstructionClass::Wait
                                               : InstructionClass::Barrier;
  } else if (startsWith({"s_load_", "s_buffer_load_"})) {
    result.kind = InstructionClass::ScalarMemory;
    result.bytes = getAccessBytes(mnemonic);
  } else if (startsWith({"s_nop", "s_delay_alu", "s_clause", "s_sleep",
                         "s_endpgm", "s_set_inst_prefetch", "s_sendmsg",
                         "s_code_end", "s_dcache", "s_icache"})) {
    result.kind = InstructionClass::Other;
  } else if (startsWith({"s_"})) {
    result.kind = InstructionClass::ScalarALU;
  } else if (startsWith({"ds_"})) {
    result.kind = InstructionClass::LDS;
  } else if (startsWith({"global_", "flat_", "buffer_", "scratch_"})) {
    result.bytes = getAccessBytes(mnemonic);
    if (result.bytes)
      result.kind = InstructionClass::VectorMemory;
    result.isStore = mnemonic.contains("_store");
    result.isBounded = mnemonic.starts_with("buffer_");
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Parts as lines
//===----------------------------------------------------------------------===//

LogicalResult lnbwd::notePartsAsLines(ModuleOp module) {
  MLIRContext *context = module.getContext();
  auto atLine = [&](unsigned line) {
    return FileLineColLoc::get(context, "parts", line, 1);
  };
  module->setLoc(atLine(KernelPart().encode()));
  module->walk([&](LLVM::LLVMFuncOp function) {
    function->setLoc(atLine(KernelPart().encode()));
    function.walk([&](Operation *op) {
      if (op == function)
        return;
      if (std::optional<KernelPart> part = KernelPart::get(op->getLoc()))
        op->setLoc(atLine(part->encode()));
      else
        op->setLoc(UnknownLoc::get(context));
    });
  });
  PassManager pm(context);
  LLVM::DIScopeForLLVMFuncOpPassOptions options;
  options.emissionKind = LLVM::DIEmissionKind::LineTablesOnly;
  pm.addPass(LLVM::createDIScopeForLLVMFuncOpPass(options));
  return pm.run(module);
}

//===----------------------------------------------------------------------===//
// Disassembly
//===----------------------------------------------------------------------===//

namespace {
/// What LLVM needs to disassemble for one chip.
struct Disassembler {
  llvm::Triple triple{"amdgcn-amd-amdhsa"};
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis;
  std::unique_ptr<llvm::MCInstPrinter> printer;

  static llvm::Expected<std::unique_ptr<Disassembler>>
  create(const ChipInfo &chip);
};
} // namespace

llvm::Expected<std::unique_ptr<Disassembler>>
Disassembler::create(const ChipInfo &chip) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUDisassembler();
  auto result = std::make_unique<Disassembler>();
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(result->triple, message);
  if (!target)
    return llvm::createStringError(message);
  result->registers.reset(target->createMCRegInfo(result->triple));
  result->assembly.reset(target->createMCAsmInfo(
      *result->registers, result->triple, llvm::MCTargetOptions()));
  result->subtarget.reset(target->createMCSubtargetInfo(
      result->triple, chip.name,
      "+wavefrontsize" + std::to_string(chip.waveSize)));
  result->instructions.reset(target->createMCInstrInfo());
  result->context = std::make_unique<llvm::MCContext>(
      result->triple, result->assembly.get(), result->registers.get(),
      result->subtarget.get());
  result->disassembler.reset(
      target->createMCDisassembler(*result->subtarget, *result->context));
  result->analysis.reset(
      target->createMCInstrAnalysis(result->instructions.get()));
  result->printer.reset(target->createMCInstPrinter(
      result->triple, result->assembly->getAssemblerDialect(),
      *result->assembly, *result->instructions, *result->registers));
  if (!result->disassembler || !result->analysis || !result->printer)
    return llvm::createStringError("LLVM cannot disassemble for " + chip.name);
  return result;
}

static llvm::Expected<std::unique_ptr<llvm::object::ObjectFile>>
openObject(StringRef object) {
  return llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(object, "object"));
}

llvm::Expected<std::string> lnbwd::readCode(StringRef object) {
  auto file = openObject(object);
  if (!file)
    return file.takeError();
  for (const llvm::object::SectionRef &section : (*file)->sections())
    if (section.isText()) {
      llvm::Expected<StringRef> contents = section.getContents();
      if (!contents)
        return contents.takeError();
      return contents->str();
    }
  return std::string();
}

namespace {
/// An instruction with what the search for its part needs.
struct Decoded {
  uint64_t address;
  Instruction instruction;
  bool hasPart = false;
  /// Nothing flows on to the next instruction.
  bool endsFlow = false;
};
} // namespace

/// Instructions that the line table says nothing of belong to what is around
/// them in their block, since the code generator has put them there; a block of
/// none belongs to one that leads to it. `sources` has the branches to each
/// block that branches lead to, and an empty list for one behind a branch.
static void fillParts(MutableArrayRef<Decoded> code,
                      const std::map<uint64_t, std::vector<size_t>> &sources) {
  int64_t widest = 0;
  for (const Decoded &entry : code)
    if (entry.instruction.isBounded)
      widest = std::max(widest, entry.instruction.bytes);
  for (size_t begin = 0; begin < code.size();) {
    size_t end = begin + 1;
    while (end < code.size() && !sources.count(code[end].address))
      ++end;
    MutableArrayRef<Decoded> block = code.slice(begin, end - begin);
    auto *first = llvm::find_if(
        block, [](const Decoded &entry) { return entry.hasPart; });
    KernelPart part;
    if (first != block.end()) {
      part = first->instruction.part;
    } else if (begin > 0 && !code[begin - 1].endsFlow) {
      part = code[begin - 1].instruction.part;
    } else if (auto it = sources.find(code[begin].address);
               it != sources.end()) {
      for (size_t source : it->second)
        if (source < begin) {
          part = code[source].instruction.part;
          break;
        }
    }
    for (Decoded &entry : block) {
      if (entry.hasPart) {
        part = entry.instruction.part;
        continue;
      }
      // A neighbour of a load of scalars need not be one.
      entry.instruction.part = part;
      entry.instruction.part.scalars = false;
    }
    begin = end;
  }
  // Notes of loads that were moved may be lost: of bounded loads, those that
  // are narrower than the rows' are of scalars.
  for (Decoded &entry : code)
    if (entry.instruction.isBounded && entry.instruction.bytes < widest)
      entry.instruction.part.scalars = true;
}

llvm::Expected<SmallVector<Instruction>>
lnbwd::readInstructions(StringRef object, StringRef kernel,
                        const ChipInfo &chip) {
  auto file = openObject(object);
  if (!file)
    return file.takeError();
  auto disassembler = Disassembler::create(chip);
  if (!disassembler)
    return disassembler.takeError();
  std::unique_ptr<llvm::DWARFContext> lines =
      llvm::DWARFContext::create(**file);

  for (const llvm::object::ELFSymbolRef symbol :
       llvm::object::ELFObjectFileBase::elf_symbol_iterator_range(
           llvm::cast<llvm::object::ELFObjectFileBase>(file->get())
               ->symbols())) {
    llvm::Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    if (*name != kernel || symbol.getELFType() != llvm::ELF::STT_FUNC)
      continue;
    llvm::Expected<uint64_t> address = symbol.getAddress();
    if (!address)
      return address.takeError();
    llvm::Expected<llvm::object::section_iterator> section =
        symbol.getSection();
    if (!section)
      return section.takeError();
    llvm::Expected<StringRef> contents = (*section)->getContents();
    if (!contents)
      return contents.takeError();
    ArrayRef<uint8_t> bytes = llvm::arrayRefFromStringRef(*contents).slice(
        *address - (*section)->getAddress(), symbol.getSize());

    SmallVector<Decoded> code;
    std::map<uint64_t, std::vector<size_t>> sources;
    for (uint64_t offset = 0; offset < bytes.size();) {
      llvm::MCInst inst;
      uint64_t size = 0, here = *address + offset;
      if ((*disassembler)
              ->disassembler->getInstruction(inst, size, bytes.slice(offset),
                                             here, llvm::nulls()) !=
          llvm::MCDisassembler::Success)
        return llvm::createStringError("cannot disassemble kernel '" + kernel +
                                       "' at " + llvm::Twine(offset));
      std::string text;
      llvm::raw_string_ostream os(text);
      (*disassembler)
          ->printer->printInst(&inst, here, "", *(*disassembler)->subtarget,
                               os);
      Decoded decoded{here, classify(text)};
      std::optional<llvm::DILineInfo> line =
          lines->getLineInfoForAddress({here, (*section)->getIndex()});
      if (line && line->Line) {
        decoded.instruction.part = KernelPart::decode(line->Line);
        decoded.hasPart = true;
      }
      const llvm::MCInstrAnalysis &analysis = *(*disassembler)->analysis;
      decoded.endsFlow =
          analysis.isUnconditionalBranch(inst) || analysis.isReturn(inst);
      uint64_t target = 0;
      if (analysis.isBranch(inst)) {
        sources.try_emplace(here + size);
        if (analysis.evaluateBranch(inst, here, size, target))
          sources[target].push_back(code.size());
      }
      code.push_back(decoded);
      offset += size;
    }
    fillParts(code, sources);
    return llvm::to_vector(llvm::map_range(
        code, [](const Decoded &entry) { return entry.instruction; }));
  }
  return llvm::createStringError("the object has no kernel '" + kernel + "'");
}
