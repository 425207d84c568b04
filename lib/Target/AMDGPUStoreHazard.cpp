//===- AMDGPUStoreHazard.cpp - A wait state that LLVM's backend misses ----===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On gfx942 and gfx950 two wait states lie between a store of more than 8 bytes
// and what overwrites its data. Where a block ends in two branches, LLVM 22
// counts both, but the conditional one alone is executed if it is taken.
//
//===----------------------------------------------------------------------===//

#include "BackendSupport.h"

#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

namespace {

class StoreHazard : public llvm::MachineFunctionPass {
public:
  static char ID;
  StoreHazard() : MachineFunctionPass(ID) {}

  bool runOnMachineFunction(llvm::MachineFunction &function) override {
    const llvm::TargetSubtargetInfo &target = function.getSubtarget();
    if (!target.checkFeatures("+gfx940-insts"))
      return false;
    const llvm::TargetInstrInfo &info = *target.getInstrInfo();
    auto opcodes = llvm::seq(0u, info.getNumOpcodes());
    unsigned nop = *llvm::find_if(
        opcodes, [&](unsigned code) { return info.getName(code) == "S_NOP"; });
    bool isChanged = false;
    for (llvm::MachineBasicBlock &block : function) {
      auto branch = block.getFirstTerminator();
      if (branch == block.begin() || branch == block.end() ||
          std::next(branch) == block.end() || !isWideStore(*std::prev(branch)))
        continue;
      llvm::BuildMI(block, branch, branch->getDebugLoc(), info.get(nop))
          .addImm(0);
      isChanged = true;
    }
    return isChanged;
  }

private:
  static bool isWideStore(const llvm::MachineInstr &instruction) {
    return llvm::any_of(
        instruction.memoperands(), [](const llvm::MachineMemOperand *op) {
          return op->isStore() && op->getAddrSpace() != 3 &&
                 (!op->getSize().hasValue() ||
                  op->getSize().getValue().getKnownMinValue() > 8);
        });
  }
};

char StoreHazard::ID;

} // namespace

void lnbwd::addMissedWaitStates(llvm::TargetPassConfig &config) {
  config.insertPass(&llvm::PostRAHazardRecognizerID, new StoreHazard);
}
