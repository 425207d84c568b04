//===- AsyncProduct.cpp - Products of tiles that are copied ahead ---------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Workgroup memory has tiles of several stages, and copies of all but one are
// on their way while that one is multiplied:
//
//   start the copies of the first stages but one
//   for each tile:
//     wait for its copies, and for all others to have read the tile before
//     start the copies of a later tile, to where that one was
//     multiply fragment by fragment
//
// Each element of the result is a sum in the order of these tiles, and in a
// tile in that of the instructions.
//
//===----------------------------------------------------------------------===//

#include "AsyncTile.h"
#include "MatrixProduct.h"

#include "lnbwd/Analysis/ProductTiling.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace lnbwd;

namespace {
class AsyncProduct : public MatrixProduct {
public:
  AsyncProduct(ProductOp op, gpu::GPUModuleOp module, const ChipInfo &chip)
      : MatrixProduct(
            op, module, chip,
            getStageBytes(*op.getTiling()) * op.getTiling()->getStages(), {}) {}

protected:
  void addMemory() override {}
  void writeBody() override;

private:
  /// Fragments of both matrices, of 16 l.
  struct Fragments {
    SmallVector<Value> as, bs;
  };

  void placeTiles();
  /// Starts the copies of the tiles that begin with `at`, as one group.
  void copyTiles(Value at, const Range &range, Value stage);
  Fragments loadFragments(int64_t step, Value stage);

  int64_t getStageElements() const {
    return tileA->getElements() + tileB->getElements();
  }

  std::optional<AsyncTile> tileA, tileB;
};
} // namespace

/// The tiles of A and B of a stage lie behind one another.
void AsyncProduct::placeTiles() {
  tileA.emplace(b,
                AsyncTile::Layout{tiling.getRows(), tiling.getDepth(), element,
                                  frame.threads},
                /*isRhs=*/false);
  tileB.emplace(b,
                AsyncTile::Layout{tiling.getColumns(), tiling.getDepth(),
                                  element, frame.threads},
                /*isRhs=*/true);
  auto space = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto bytes = MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                               MemRefLayoutAttrInterface(), space);
  Value memory = gpu::DynamicSharedMemoryOp::create(b, bytes);
  auto view = [&](int64_t begin) -> Value {
    int64_t elements = getStageElements() * tiling.getStages() - begin;
    auto type = MemRefType::get({elements}, element,
                                MemRefLayoutAttrInterface(), space);
    constexpr int64_t elementBytes = 2;
    return memref::ViewOp::create(b, type, memory,
                                  b.index(begin * elementBytes),
                                  /*sizes=*/ValueRange());
  };
  tileA->setSource(lhs, view(0), firstRow, thread);
  tileB->setSource(rhs, view(tileA->getElements()), firstColumn, thread);
  tileA->setFragments(waveRow, lane, getRowFragments());
  tileB->setFragments(waveColumn, lane, getColumnFragments());
}

void AsyncProduct::copyTiles(Value at, const Range &range, Value stage) {
  tileA->copy(at, range.end, stage);
  tileB->copy(at, range.end, stage);
  // nvgpu's operation for groups wants a token of each copy.
  NVVM::CpAsyncCommitGroupOp::create(b);
}

AsyncProduct::Fragments AsyncProduct::loadFragments(int64_t step, Value stage) {
  Fragments fragments;
  for (int64_t i = 0; i < getRowFragments(); ++i)
    fragments.as.push_back(tileA->load(i, step, stage));
  for (int64_t j = 0; j < getColumnFragments(); ++j)
    fragments.bs.push_back(tileB->load(j, step, stage));
  return fragments;
}

void AsyncProduct::writeBody() {
  placeWave();
  placeTiles();
  Range range = getRange();
  int64_t ahead = tiling.getStages() - 1, step = tiling.getDepth();
  int64_t lastStage = ahead * getStageElements();
  for (int64_t i = 0; i < ahead; ++i)
    copyTiles(b.add(range.begin, i * step), range,
              b.index(i * getStageElements()));

  // The stage that is multiplied, and the one that was before.
  SmallVector<Value> carried{b.index(0), b.index(lastStage)};
  llvm::append_range(carried, makeZeroSums());
  auto loop =
      scf::ForOp::create(b, range.begin, range.end, b.index(step), carried);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value stage = loop.getRegionIterArgs()[0];
    Value before = loop.getRegionIterArgs()[1];
    SmallVector<Value> sums(loop.getRegionIterArgs().drop_front(2));
    NVVM::CpAsyncWaitGroupOp::create(b, uint32_t(ahead - 1));
    gpu::BarrierOp::create(b);
    // Fragments are read while the ones before are multiplied.
    int64_t numSteps = step / fragmentSize;
    Fragments next = loadFragments(0, stage);
    for (int64_t i = 0; i < numSteps; ++i) {
      Fragments now = std::move(next);
      if (i + 1 < numSteps)
        next = loadFragments(i + 1, stage);
      if (i == 0)
        copyTiles(b.add(loop.getInductionVar(), ahead * step), range, before);
      multiplyFragments(now.as, now.bs, sums);
    }
    Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, stage,
                                         b.index(lastStage));
    Value following = arith::SelectOp::create(b, isLast, b.index(0),
                                              b.add(stage, getStageElements()));
    SmallVector<Value> results{following, stage};
    llvm::append_range(results, sums);
    scf::YieldOp::create(b, results);
  }
  markLoop(loop);
  storeResult(loop.getResults().drop_front(2));
}

std::unique_ptr<ProductKernel> lnbwd::makeAsyncKernel(ProductOp op,
                                                      gpu::GPUModuleOp module,
                                                      const ChipInfo &chip) {
  return std::make_unique<AsyncProduct>(op, module, chip);
}
