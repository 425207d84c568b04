//===- RowAccess.h - How lanes access rows ----------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How wide the accesses of lanes to rows can be, and where elements of
// neighbouring rows lie side by side, and how lanes and workgroups share them.
// The choice of schedules asks, and the lowering to lanes.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_ROWACCESS_H
#define LNBWD_ANALYSIS_ROWACCESS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h"
#include "lnbwd/Target/ChipInfo.h"

namespace lnbwd {

/// Bytes of the widest access of one lane, of a sector of memory, and of a line
/// of the cache.
inline constexpr int64_t accessBytes = 16, sectorBytes = 32, lineBytes = 128;

/// Numbers of the operands of `op` that are row blocks, those it reads first.
llvm::SmallVector<unsigned> getRowOperands(RowwiseOp op);

/// Columns that accesses of `width` elements to a row of `length` cover. Where
/// they do not divide it, rows are aligned: accesses begin with the multiple of
/// `width` before a row, and as many columns are covered wherever that is.
int64_t getCoveredColumns(int64_t length, int64_t width);
/// Whether rows of `op` may be aligned on `chip`: all begin alike, and no lane
/// has the same columns of all rows. Not on AMD's chips, whose loads of
/// partial accesses branch: by the simulator's clock kernels took up to twice
/// as long.
bool canAlignRows(RowwiseOp op, const ChipInfo &chip);

/// Elements of the widest access that all rows of `op` are aligned to.
int64_t chooseVectorWidth(RowwiseOp op);
/// The same for schedules that are searched: the widest access of all where
/// that one is narrow and it is better to align the rows.
int64_t chooseAccessWidth(RowwiseOp op, const ChipInfo &chip);
/// Whether rows lie in pieces of an odd number of elements, each of which then
/// is an access with an address of its own.
bool hasOddPieces(RowwiseOp op);
/// Whether lanes of `op` may go across rows: of most rows elements of
/// neighbours lie side by side in sectors, as those of the channels of
/// channels-last images, and nothing depends on which lane has which column.
bool mayTakeLanesAcross(RowwiseOp op);

/// How lanes access a row block: `Aside` where those of a wave have elements
/// that lie side by side. Of one that lies across these are the elements of
/// neighbouring rows. It is `Transposed` in shared memory where a tile of rows
/// has a sector of them, but not a wave: lanes go across the rows where they
/// load or store it, and along them elsewhere. Elements that are `Apart` are
/// accessed each by itself.
enum class RowAccess { Aside, Transposed, Apart };
RowAccess getRowAccess(RowwiseOp op, unsigned operand, const Schedule &schedule,
                       const ChipInfo &chip);
/// A row block that lies across, and the bytes of its elements.
struct AcrossBlock {
  unsigned operand;
  int64_t elementBytes;
};
llvm::SmallVector<AcrossBlock> getAcrossBlocks(RowwiseOp op);
/// How many of these lanes of so many a row and rows a tile access so.
int64_t countBlocks(llvm::ArrayRef<AcrossBlock> blocks, RowAccess access,
                    int64_t lanes, int64_t groups, const ChipInfo &chip);
/// From one row of a transposed tile in shared memory to the next, in elements:
/// an odd number of accesses, so that those of neighbouring rows are in
/// different banks.
int64_t getTransposedPitch(int64_t columns, int64_t width);
/// Bytes of such a tile of `rows` rows.
int64_t getTransposedBytes(int64_t columns, int64_t width, int64_t rows,
                           int64_t elementBytes);

/// Columns of each of `split` workgroups that share rows of `length` columns:
/// equal parts where accesses of `width` elements divide them; else as many
/// accesses and whole copies as an equal part needs, so that the last workgroup
/// has a few columns fewer than the others, or, in short rows, none.
int64_t getSharedColumns(int64_t length, int64_t split, int64_t width);

/// Whether the kernel of `op` itself computes its row sums: with `row_splits`
/// others do.
bool keepsRowSums(RowwiseOp op, const Schedule &schedule);

/// Columns of a row that one workgroup covers; the last of a row may have
/// fewer.
int64_t getWorkgroupColumns(RowwiseOp op, const Schedule &schedule);

/// Accesses that each lane makes to cover its columns of one row. A schedule
/// with `reload` takes them one after another; all others hold them at once.
int64_t getChunks(RowwiseOp op, const Schedule &schedule);

/// Slots in which `lanes` lanes of a row exchange their sums: one for each wave
/// of each of `peers` workgroups. Lanes that go across rows of `groups` groups
/// have one for each part of the row that a wave has, and one for each peer.
int64_t countExchangeSlots(int64_t lanes, int64_t groups, bool isAcross,
                           int64_t peers, int64_t waveSize);

/// Bits that the operands' elements of one column take in memory.
int64_t getColumnBits(mlir::OperandRange operands);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_ROWACCESS_H
