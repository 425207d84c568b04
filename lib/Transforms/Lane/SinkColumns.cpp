//===- SinkColumns.cpp - Load vectors of columns where a row needs them ---===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A workgroup with one tile of rows uses a vector of columns once. Loaded
// ahead, it stays in registers while the row's sums are formed, and the compute
// unit has room for fewer workgroups, which are what keeps its memory busy.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Transforms/Lane/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"

namespace lnbwd {
#define GEN_PASS_DEF_SINKCOLUMNSPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// The operation of `loop` that needs `fragment` first, if all that need it are
/// of the loop, and it comes after a sum over the row; or null.
static Operation *getFirstUser(lane::ForRowsOp loop, Value fragment) {
  Block &body = loop.getBody().front();
  Operation *first = nullptr;
  for (Operation *user : fragment.getUsers()) {
    Operation *inBody = body.findAncestorOpInBlock(*user);
    if (!inBody)
      return nullptr;
    if (!first || inBody->isBeforeInBlock(first))
      first = inBody;
  }
  auto sums = body.getOps<lane::ReduceOp>();
  bool isBehindSum =
      first && !sums.empty() && (*sums.begin())->isBeforeInBlock(first);
  return isBehindSum ? first : nullptr;
}

/// Loads those fragments of `load` in `loop` that it needs after a sum. Returns
/// how many those were.
static unsigned sinkInto(lane::ForRowsOp loop, lane::LoadColumnsOp load) {
  // All fragments, and not their accesses: the level splits them further down.
  if (load.getFragments().size() != load.getMemories().size())
    return 0;
  unsigned count = 0;
  SmallVector<Value> memories, fragments;
  for (auto [memory, fragment] :
       llvm::zip_equal(load.getMemories(), load.getFragments())) {
    Operation *user = getFirstUser(loop, fragment);
    if (!user) {
      memories.push_back(memory);
      fragments.push_back(fragment);
      continue;
    }
    // A group whose row does not exist may not come there.
    OpBuilder b(user);
    auto sunk =
        lane::LoadColumnsOp::create(b, load.getLoc(), fragment.getType(),
                                    memory, load.getLayout(), /*each=*/true);
    fragment.replaceAllUsesWith(sunk.getFragments().front());
    ++count;
  }
  if (!count)
    return 0;
  if (!fragments.empty()) {
    OpBuilder b(load);
    auto left = lane::LoadColumnsOp::create(
        b, load.getLoc(), TypeRange(ValueRange(fragments)), memories,
        load.getLayout(), load.getEach());
    for (auto [fragment, replacement] :
         llvm::zip_equal(fragments, left.getFragments()))
      fragment.replaceAllUsesWith(replacement);
  }
  load.erase();
  return count;
}

namespace {
class SinkColumns : public lnbwd::impl::SinkColumnsPassBase<SinkColumns> {
  void runOnOperation() override {
    Region &body = getOperation().getBody();
    for (auto loop : body.getOps<lane::ForRowsOp>())
      if (loop.getLateColumns())
        for (auto load :
             llvm::make_early_inc_range(body.getOps<lane::LoadColumnsOp>()))
          numLateLoads += sinkInto(loop, load);
  }
};
} // namespace
