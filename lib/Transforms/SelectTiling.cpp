//===- SelectTiling.cpp - Choose tiles of products ------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What selecting schedules is for row programs. Which tiles are chosen is
// lib/Analysis/ProductTiling.cpp's to say.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ProductTiling.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Passes.h"

namespace lnbwd {
#define GEN_PASS_DEF_SELECTTILINGPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
class SelectTiling : public lnbwd::impl::SelectTilingPassBase<SelectTiling> {
public:
  using SelectTilingPassBase::SelectTilingPassBase;

  void runOnOperation() override {
    FailureOr<const ChipInfo *> found = getChipOption(getOperation(), chip);
    if (failed(found) || failed(checkRowsOption(getOperation(), rows)))
      return signalPassFailure();
    WalkResult result = getOperation()->walk([&](ProductOp op) {
      if (op.getTiling())
        return WalkResult::advance();
      TilingAttr tiling = chooseTiling(op, **found, rows);
      if (!tiling)
        return WalkResult(checkPrecision(op, **found));
      op.setTilingAttr(tiling);
      ++numTiled;
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
