//===- DropArgumentResults.cpp - Results that a caller passed in ----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cleans up after bufferization: a function that returns an output it was given
// has nothing to return.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/BitVector.h"

namespace lnbwd {
#define GEN_PASS_DEF_DROPARGUMENTRESULTSPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// The results of `function` that are the same argument at every return.
static llvm::BitVector findArgumentResults(func::FuncOp function) {
  llvm::BitVector found(function.getNumResults());
  auto returns = llvm::to_vector(function.getOps<func::ReturnOp>());
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto isArgument = [&](func::ReturnOp op) {
      Value value = op.getOperand(i);
      auto argument = dyn_cast<BlockArgument>(value);
      return argument && argument.getOwner() == &function.front() &&
             isa<MemRefType>(value.getType()) &&
             value == returns.front().getOperand(i);
    };
    found[i] = !returns.empty() && llvm::all_of(returns, isArgument);
  }
  return found;
}

namespace {
struct DropArgumentResults
    : lnbwd::impl::DropArgumentResultsPassBase<DropArgumentResults> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal() ||
          !SymbolTable::symbolKnownUseEmpty(function, module))
        continue;
      llvm::BitVector dropped = findArgumentResults(function);
      if (dropped.none())
        continue;
      for (auto op : function.getOps<func::ReturnOp>())
        op->eraseOperands(dropped);
      if (failed(function.eraseResults(dropped)))
        return signalPassFailure();
      numDropped += dropped.count();
    }
  }
};
} // namespace
