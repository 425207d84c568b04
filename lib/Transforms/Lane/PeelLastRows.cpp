//===- PeelLastRows.cpp - Take the partial tile out of the loop -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The row loop so needs no masks: they are in a copy of its body after it.
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"

#include "lnbwd/Analysis/ScheduleLimits.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Lane/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace lnbwd {
#define GEN_PASS_DEF_PEELLASTROWSPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
class PeelLastRows : public lnbwd::impl::PeelLastRowsPassBase<PeelLastRows> {
public:
  using PeelLastRowsPassBase::PeelLastRowsPassBase;

  void runOnOperation() override {
    FailureOr<const ChipInfo *> found = getChipOption(getOperation(), chip);
    if (failed(found))
      return signalPassFailure();
    SmallVector<lane::ForRowsOp> loops;
    getOperation()->walk([&](lane::ForRowsOp loop) { loops.push_back(loop); });
    for (lane::ForRowsOp loop : loops)
      if (lane::peelLastRows(loop, canDropLoads(**found)
                                       ? lane::OutOfBoundsRows::Dropped
                                       : lane::OutOfBoundsRows::Clamped))
        ++numPeeled;
  }
};
} // namespace
