//===- FragmentAccesses.h - What accesses of fragments become ---*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What takes several accesses of a fragment at once: the largest elements of
// blocks, and stores to views in which accesses lie side by side or lanes share
// elements.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_LANE_FRAGMENTACCESSES_H
#define LNBWD_LIB_TRANSFORMS_LANE_FRAGMENTACCESSES_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"

namespace lnbwd {

/// The largest elements of the blocks that `accesses` of a group of lanes have,
/// each of them some of a block: of a lane's own, and then of its lanes. The
/// schedule sees to it that neighbours of a lane are of one block, of whole
/// blocks, or each of another, and that the lanes of a block are those of one
/// wave.
mlir::Value takeBlockMax(mlir::OpBuilder &b, BlockMaxOp op,
                         mlir::ValueRange accesses, int64_t accessColumns);

/// The accesses of which the same elements lie side by side in what `op`
/// writes, in their order there, the first of all of them first.
llvm::SmallVector<int64_t> getAccessesAside(lane::StoreOp op);

/// The bits of a column's number by which lanes differ that write the same, and
/// as many or more by which what one lane writes differs; none where lanes do
/// not share.
std::pair<llvm::SmallVector<int64_t>, llvm::SmallVector<int64_t>>
getSharedBits(lane::StoreOp op);

/// Has lanes that would write the same to `op`'s view write some of it each:
/// the result is a view in which the bits `lanes` of a column's number take the
/// part of the first of `own`, and whether this lane has each of `lanes`.
std::pair<mlir::Value, llvm::SmallVector<mlir::Value>>
shareView(lane::StoreOp op, llvm::ArrayRef<int64_t> lanes,
          llvm::ArrayRef<int64_t> own);

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_LANE_FRAGMENTACCESSES_H
