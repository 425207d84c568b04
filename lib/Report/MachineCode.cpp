//===- MachineCode.cpp - The instructions of a kernel ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's disassembler and its reader of line tables do the work. Classes follow
// from the records of instructions, which the simulator reads, too.
//
//===----------------------------------------------------------------------===//

#include "MachineCode.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/ISA/Disassembler.h"
#include "lnbwd/ISA/Mnemonics.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

#include <map>
#include <vector>

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

Instruction lnbwd::classify(const isa::InstructionRecord &record, bool isDual) {
  const isa::InstructionFacts &facts = record.Facts;
  Instruction result;
  result.kind = InstructionClass::Other;
  result.isDual = isDual;
  if (facts.Class == isa::CountClass::Wait ||
      facts.Barrier == isa::BarrierKind::Wait) {
    // Newer chips arrive and wait in two instructions: one barrier.
    result.kind = InstructionClass::Wait;
    return result;
  }
  if (facts.Class == isa::CountClass::Barrier) {
    result.kind = InstructionClass::Barrier;
    return result;
  }
  switch (facts.Where) {
  case isa::Unit::Vector:
    if (facts.Class == isa::CountClass::Matrix) {
      result.kind = InstructionClass::Matrix;
      result.multiplyAdds = facts.MultiplyAdds;
    } else if (!(facts.Flags & isa::FactNoEffect)) {
      result.kind = InstructionClass::VectorALU;
    }
    break;
  case isa::Unit::Scalar:
    if (facts.Class != isa::CountClass::OtherScalar)
      result.kind = InstructionClass::ScalarALU;
    break;
  case isa::Unit::ScalarMemory:
    result.kind = InstructionClass::ScalarMemory;
    result.bytes = facts.Memory.bytes();
    break;
  case isa::Unit::Lds:
    result.kind = InstructionClass::LDS;
    result.bytes = facts.Memory.bytes();
    result.isStore = facts.Memory.Access == isa::MemoryAccess::Store;
    break;
  case isa::Unit::VectorMemory:
    result.bytes = facts.Memory.bytes();
    if (result.bytes)
      result.kind = InstructionClass::VectorMemory;
    result.isStore = facts.Memory.Access == isa::MemoryAccess::Store;
    result.isBounded = facts.Memory.Descriptor;
    break;
  case isa::Unit::Other:
    break;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Parts as lines
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<KernelPart>> lnbwd::notePartsAsLines(ModuleOp module) {
  MLIRContext *context = module.getContext();
  llvm::SetVector<lane::PartAttr> parts;
  auto getLine = [&](lane::PartAttr part) {
    parts.insert(part);
    auto line = unsigned(llvm::find(parts, part) - parts.begin()) + 1;
    return FileLineColLoc::get(context, "parts", line, 1);
  };
  auto setup = lane::PartAttr::get(context, lane::PartKind::Setup);
  module->setLoc(getLine(setup));
  module->walk([&](LLVM::LLVMFuncOp function) {
    function->setLoc(getLine(setup));
    // Around a loop that is no row loop nothing is noted, and all of it runs
    // once: what is stored after must not be taken for the loop's.
    auto info = function->getAttrOfType<KernelInfoAttr>(kernelInfoAttr);
    bool hasProduct = info && info.getProduct();
    function.walk([&](Operation *op) {
      if (op == function)
        return;
      if (lane::PartAttr part = lane::getNotedPart(op->getLoc()))
        op->setLoc(getLine(part));
      else if (hasProduct)
        op->setLoc(getLine(setup));
      else
        op->setLoc(UnknownLoc::get(context));
    });
  });
  PassManager pm(context);
  LLVM::DIScopeForLLVMFuncOpPassOptions options;
  options.emissionKind = LLVM::DIEmissionKind::LineTablesOnly;
  pm.addPass(LLVM::createDIScopeForLLVMFuncOpPass(options));
  if (failed(pm.run(module)))
    return failure();
  return llvm::map_to_vector(parts, [](lane::PartAttr part) {
    return KernelPart{*part.getKind(), part.getReload(), part.getScalars(),
                      part.getGroups()};
  });
}

//===----------------------------------------------------------------------===//
// Disassembly
//===----------------------------------------------------------------------===//

namespace {
/// An instruction with what the search for its part needs.
struct Decoded {
  uint64_t address;
  Instruction instruction;
  bool hasPart = false;
  /// Nothing flows on to the next instruction.
  bool endsFlow = false;
  /// On the way around the loop over rows, which a wave with rows never goes.
  bool isDetour = false;
};
} // namespace

/// Whether a block that begins at `begin`, and which the line table says
/// nothing of, is reached only from before a loop over rows, on a way around
/// it: there a wave without any rows has its sums made zero. `sources` has the
/// branches to it.
static bool isDetour(ArrayRef<Decoded> code, size_t begin,
                     ArrayRef<size_t> sources) {
  if (begin == 0 || !code[begin - 1].endsFlow || sources.empty())
    return false;
  auto isOfLoop = [](const Decoded &entry) {
    return entry.hasPart && entry.instruction.part.kind == lane::PartKind::Row;
  };
  return llvm::all_of(sources, [&](size_t source) {
    if (source < begin)
      return llvm::any_of(code.slice(source, begin - source), isOfLoop);
    // The loop is what comes where the branch is not taken.
    ArrayRef<Decoded> behind = code.drop_front(source);
    auto next = llvm::find_if(behind.drop_front(), [](const Decoded &entry) {
      return entry.hasPart;
    });
    return next != behind.end() && isOfLoop(*next);
  });
}

/// Instructions that the line table says nothing of belong to what is around
/// them in their block, since the code generator has put them there; a block of
/// none belongs to one that leads to it. `sources` has the branches to each
/// block that branches lead to, and an empty list for one after a branch.
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
      bool isAround = isDetour(code, begin, it->second);
      for (Decoded &entry : block)
        entry.isDetour = isAround;
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

/// Notes go with what an operation is, not with where the code generator puts
/// what it adds: copies at the end of an iteration are the loop's, and what is
/// made zero before it is not. Blocks on a way from a block to itself with some
/// of the row loop on it are in that loop.
static void
placeInLoops(MutableArrayRef<Decoded> code,
             const std::map<uint64_t, std::vector<size_t>> &sources) {
  SmallVector<size_t> begins, blockOf(code.size());
  for (size_t i = 0; i < code.size(); ++i) {
    if (i == 0 || sources.count(code[i].address))
      begins.push_back(i);
    blockOf[i] = begins.size() - 1;
  }
  auto getBlock = [&](size_t block) {
    size_t end = block + 1 < begins.size() ? begins[block + 1] : code.size();
    return code.slice(begins[block], end - begins[block]);
  };
  // Of each block those that lead to it.
  SmallVector<llvm::BitVector> leading(begins.size(),
                                       llvm::BitVector(begins.size()));
  for (size_t block = 0; block < begins.size(); ++block) {
    SmallVector<size_t> left{block};
    while (!left.empty()) {
      size_t begin = begins[left.pop_back_val()];
      SmallVector<size_t> before;
      if (begin > 0 && !code[begin - 1].endsFlow)
        before.push_back(begin - 1);
      if (auto it = sources.find(code[begin].address); it != sources.end())
        llvm::append_range(before, it->second);
      for (size_t source : before)
        if (!leading[block].test(unsigned(blockOf[source]))) {
          leading[block].set(unsigned(blockOf[source]));
          left.push_back(blockOf[source]);
        }
    }
  }
  auto isOf = [](lane::PartKind kind) {
    return [=](const Decoded &entry) {
      return entry.hasPart && entry.instruction.part.kind == kind;
    };
  };
  SmallVector<lane::PartKind> kinds;
  for (const Decoded &entry : code)
    kinds.push_back(entry.instruction.part.kind);
  for (size_t block = 0; block < begins.size(); ++block) {
    bool isInLoop = false, addsBlocks = false;
    for (size_t other = 0; other < begins.size(); ++other) {
      if (!leading[block].test(unsigned(other)) ||
          !leading[other].test(unsigned(block)))
        continue;
      isInLoop |= llvm::any_of(getBlock(other), isOf(lane::PartKind::Row));
      addsBlocks |=
          llvm::any_of(getBlock(other), isOf(lane::PartKind::SumBlock));
    }
    bool hasMemory = llvm::any_of(getBlock(block), [](const Decoded &entry) {
      return entry.instruction.kind == InstructionClass::VectorMemory &&
             entry.instruction.part.kind == lane::PartKind::Row;
    });
    for (auto [i, entry] : llvm::enumerate(getBlock(block))) {
      lane::PartKind &kind = kinds[begins[block] + i];
      bool isOfLoop =
          kind == lane::PartKind::Row || kind == lane::PartKind::SumBlock;
      if (isInLoop && kind == lane::PartKind::Setup)
        kind = addsBlocks ? lane::PartKind::SumBlock : lane::PartKind::Row;
      else if (!isInLoop && !hasMemory && isOfLoop)
        kind = lane::PartKind::Setup;
    }
  }
  for (auto [entry, kind] : llvm::zip_equal(code, kinds))
    entry.instruction.part.kind = kind;
}

llvm::Expected<SmallVector<Instruction>>
lnbwd::readInstructions(StringRef object, StringRef kernel,
                        ArrayRef<KernelPart> parts, const ChipInfo &chip) {
  auto disassembler = isa::Disassembler::create(chip.name, chip.waveSize);
  if (!disassembler)
    return disassembler.takeError();
  // What was just emitted can be read.
  using llvm::cantFail;
  std::unique_ptr<llvm::object::ObjectFile> file =
      cantFail(llvm::object::ObjectFile::createELFObjectFile(
          llvm::MemoryBufferRef(object, "object")));
  std::unique_ptr<llvm::DWARFContext> lines = llvm::DWARFContext::create(*file);

  for (const llvm::object::SymbolRef &symbol : file->symbols()) {
    if (cantFail(symbol.getName()) != kernel ||
        cantFail(symbol.getType()) != llvm::object::SymbolRef::ST_Function)
      continue;
    uint64_t address = cantFail(symbol.getAddress());
    llvm::object::section_iterator section = cantFail(symbol.getSection());
    ArrayRef<uint8_t> bytes =
        llvm::arrayRefFromStringRef(cantFail(section->getContents()))
            .slice(address - section->getAddress(),
                   llvm::object::ELFSymbolRef(symbol).getSize());

    SmallVector<Decoded> code;
    std::map<uint64_t, std::vector<size_t>> sources;
    for (uint64_t offset = 0; offset < bytes.size();) {
      isa::Disassembled inst;
      uint64_t here = address + offset;
      if (!(*disassembler)->read(bytes.slice(offset), here, inst))
        return llvm::createStringError("cannot disassemble kernel '" + kernel +
                                       "' at " + llvm::Twine(offset));
      StringRef text = StringRef(inst.Text).trim();
      isa::InstructionRecord record(text.take_until(llvm::isSpace),
                                    (*disassembler)->describe(inst.Opcode));
      Decoded decoded{here, classify(record, isa::isDual(text))};
      std::optional<llvm::DILineInfo> line =
          lines->getLineInfoForAddress({here, section->getIndex()});
      if (line && line->Line) {
        decoded.instruction.part = parts[line->Line - 1];
        decoded.hasPart = true;
      }
      decoded.endsFlow = inst.EndsFlow;
      if (inst.IsBranch) {
        sources.try_emplace(here + inst.Size);
        if (inst.Target)
          sources[*inst.Target].push_back(code.size());
      }
      code.push_back(decoded);
      offset += inst.Size;
    }
    fillParts(code, sources);
    placeInLoops(code, sources);
    llvm::erase_if(code, [](const Decoded &entry) { return entry.isDetour; });
    return llvm::to_vector(llvm::map_range(
        code, [](const Decoded &entry) { return entry.instruction; }));
  }
  return llvm::createStringError("the object has no kernel '" + kernel + "'");
}
