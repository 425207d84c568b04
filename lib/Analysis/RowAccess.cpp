//===- RowAccess.cpp - How lanes access rows ------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements RowAccess.h.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/RowAccess.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Analysis/StageLayout.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

/// Accesses of a row that are worth the partial ones at its ends.
static constexpr int64_t leastAlignedAccesses = 4;
/// Columns of rows that are summed, at least, where they are aligned.
static constexpr int64_t leastSummedColumns = 512;

/// Rows are aligned where accesses would have less than half of their bytes.
/// Not where rows are summed and not written: bulk copies bring them at once
/// whatever the width. On an H100 softmaxes of 647 to 50257 columns took 0.85
/// to 1.0 of the time with wide accesses, one of 407 columns 1.24, and cross
/// entropies of 50257 columns 1.0 to 1.38.
int64_t lnbwd::chooseAccessWidth(RowwiseOp op, const ChipInfo &chip) {
  int64_t width = chooseVectorWidth(op), bits = op.getRowElementBits();
  int64_t widest = accessBytes * 8 / bits;
  bool isWorthIt =
      2 * width < widest && op.getRowLength() >= leastAlignedAccesses * widest;
  if (op.hasRowSums())
    isWorthIt &=
        !op.getRowOuts().empty() && op.getRowLength() >= leastSummedColumns;
  return isWorthIt && canAlignRows(op, chip) ? widest : width;
}

SmallVector<unsigned> lnbwd::getRowOperands(RowwiseOp op) {
  SmallVector<unsigned> operands;
  for (OperandRange rows : {op.getRows(), op.getRowOuts()})
    for (unsigned i = 0; i < rows.size(); ++i)
      operands.push_back(rows.getBeginOperandIndex() + i);
  return operands;
}

int64_t lnbwd::getCoveredColumns(int64_t length, int64_t width) {
  if (length % width == 0)
    return length;
  return int64_t(llvm::alignTo(uint64_t(length + width - 1), uint64_t(width)));
}

/// Whether lanes have to lie along the row, an access of each beginning at a
/// multiple of its width.
static bool fixesColumnsOfLanes(RowwiseOp op) {
  return !op.getTables().empty() || op.getCanonical() ||
         !op.getBody().getOps<BlockMaxOp>().empty();
}

bool lnbwd::canAlignRows(RowwiseOp op, const ChipInfo &chip) {
  bool hasColumns = !op.getAllColumns().empty() || !op.getAllSums().empty();
  auto operands = llvm::seq<unsigned>(0, op->getNumOperands());
  bool isSplit = llvm::any_of(
      operands, [&](unsigned i) { return op.getForm(i).getParts() > 0; });
  return !hasColumns && !isSplit && !op.hasGroups() &&
         !fixesColumnsOfLanes(op) && !chip.dropsLoads &&
         llvm::all_of(getRowOperands(op), [&](unsigned operand) {
           return op.getForm(operand).isPlain() &&
                  op.getForm(operand).getRowStride() == op.getRowLength();
         });
}

/// Calls `visit` with the elements of a piece that lies together, of each
/// operand whose rows are in several.
static void forEachPiece(RowwiseOp op, function_ref<void(int64_t)> visit) {
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    AffineMap map = op.getMap(i);
    if (map.getNumResults() < map.getNumDims())
      continue;
    for (const IndexTerm &term : op.getForm(i).getColumnTerms())
      if (term.divisor == 1 && term.factor == 1 && term.modulus > 0)
        visit(term.modulus);
  }
}

int64_t lnbwd::chooseVectorWidth(RowwiseOp op) {
  int64_t width = accessBytes * 8 / op.getRowElementBits();
  auto divides = [&](int64_t distance) {
    while (distance % width != 0)
      width /= 2;
  };
  divides(op.getRowLength());
  for (BlockMaxOp blocks : op.getBody().getOps<BlockMaxOp>())
    if (blocks.getStride() != 1)
      divides(int64_t(blocks.getStride()));
  for (unsigned operand : getRowOperands(op))
    if (op.getForm(operand).isPlain())
      divides(op.getForm(operand).getRowStride());
  // An access that leaves its piece goes element by element. (Pieces that have
  // no power of two go so anyway.)
  forEachPiece(op, [&](int64_t elements) {
    if (elements % 2 == 0)
      divides(elements);
  });
  return width;
}

bool lnbwd::hasOddPieces(RowwiseOp op) {
  bool isOdd = false;
  forEachPiece(op, [&](int64_t elements) { isOdd |= elements % 2 != 0; });
  return isOdd;
}

bool lnbwd::mayTakeLanesAcross(RowwiseOp op) {
  if (fixesColumnsOfLanes(op))
    return false;
  // Rows that neighbours have as well are on no side.
  SmallVector<unsigned> operands = getRowOperands(op);
  auto onSides = llvm::count_if(operands, [&](unsigned operand) {
    SmallVector<IndexTerm> terms = op.getForm(operand).getRowTerms();
    return terms.empty() || llvm::any_of(terms, [](const auto &term) {
             return term.divisor == 1;
           });
  });
  return 2 * int64_t(getAcrossBlocks(op).size()) > onSides;
}

/// Bytes of neighbours that lie side by side, at most `most` elements of so
/// many bytes, where a number's place is the sum of `terms`.
static int64_t getBytesAside(ArrayRef<IndexTerm> terms, int64_t elementBytes,
                             int64_t most) {
  for (const IndexTerm &term : terms)
    if (term.divisor == 1 && term.factor == 1)
      return elementBytes * (term.modulus ? term.modulus : most);
  return 0;
}

/// Bytes of an element of a row block that lies across; 0 of others.
static int64_t getBytesAcross(RowwiseOp op, unsigned operand) {
  OperandFormAttr form = op.getForm(operand);
  SmallVector<IndexTerm> columns = form.getColumnTerms();
  // What a row has once for several columns is no matter of accesses.
  bool isOfColumns = llvm::any_of(columns, [](const auto &term) {
    return term.divisor == 1 && term.factor > 0;
  });
  auto type = cast<ShapedType>(op->getOperand(operand).getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  bool isAcross =
      isOfColumns && bytes > 0 &&
      getBytesAside(form.getRowTerms(), bytes, sectorBytes) >= sectorBytes &&
      getBytesAside(columns, bytes, op.getRowLength()) < sectorBytes;
  return isAcross ? bytes : 0;
}

SmallVector<AcrossBlock> lnbwd::getAcrossBlocks(RowwiseOp op) {
  SmallVector<AcrossBlock> blocks;
  for (unsigned operand : getRowOperands(op))
    if (int64_t bytes = getBytesAcross(op, operand))
      blocks.push_back({operand, bytes});
  return blocks;
}

/// How lanes access rows that lie across, with elements of so many bytes.
static RowAccess getAcrossAccess(int64_t bytes, int64_t lanes, int64_t groups,
                                 const ChipInfo &chip) {
  int64_t rowsOfWave = std::min(groups, chip.waveSize / lanes);
  if (rowsOfWave * bytes >= sectorBytes)
    return RowAccess::Aside;
  return groups * bytes >= sectorBytes && llvm::isPowerOf2_64(uint64_t(groups))
             ? RowAccess::Transposed
             : RowAccess::Apart;
}

RowAccess lnbwd::getRowAccess(RowwiseOp op, unsigned operand,
                              const Schedule &schedule, const ChipInfo &chip) {
  int64_t bytes = getBytesAcross(op, operand);
  if (!bytes || schedule.lanesAcross || schedule.reload)
    return RowAccess::Aside;
  return getAcrossAccess(bytes, schedule.threadsPerRow, schedule.rowGroups,
                         chip);
}

int64_t lnbwd::countBlocks(ArrayRef<AcrossBlock> blocks, RowAccess access,
                           int64_t lanes, int64_t groups,
                           const ChipInfo &chip) {
  return llvm::count_if(blocks, [&](const AcrossBlock &block) {
    return getAcrossAccess(block.elementBytes, lanes, groups, chip) == access;
  });
}

int64_t lnbwd::getTransposedPitch(int64_t columns, int64_t width) {
  return (llvm::divideCeil(columns, width) | 1) * width;
}

int64_t lnbwd::getTransposedBytes(int64_t columns, int64_t width, int64_t rows,
                                  int64_t elementBytes) {
  return int64_t(llvm::alignTo(
      uint64_t(rows * getTransposedPitch(columns, width) * elementBytes),
      accessBytes));
}

int64_t lnbwd::getSharedColumns(int64_t length, int64_t split, int64_t width) {
  if (length % (split * width) == 0)
    return length / split;
  // Parts that are not equal begin with a copy of 16-bit elements.
  return int64_t(llvm::alignTo(llvm::divideCeil(uint64_t(length), split),
                               uint64_t(std::max(width, bulkCopyUnit / 2))));
}

int64_t lnbwd::getWorkgroupColumns(RowwiseOp op, const Schedule &schedule) {
  if (schedule.columnTile)
    return schedule.columnTile;
  int64_t width = schedule.vectorWidth;
  int64_t split = schedule.workgroupsPerRow;
  return split > 1 && op.getCanonical()
             ? getSharedSlices(op.getRowLength(), split)
             : getSharedColumns(getCoveredColumns(op.getRowLength(), width),
                                split, width);
}

int64_t lnbwd::getChunks(RowwiseOp op, const Schedule &schedule) {
  return llvm::divideCeil(getWorkgroupColumns(op, schedule),
                          schedule.getChunkColumns());
}

int64_t lnbwd::countExchangeSlots(int64_t lanes, int64_t groups, bool isAcross,
                                  int64_t peers, int64_t waveSize) {
  if (!isAcross)
    return llvm::divideCeil(lanes, waveSize) * peers;
  int64_t ofWave = std::max<int64_t>(1, waveSize / groups);
  return llvm::divideCeil(lanes, ofWave) + (peers > 1 ? peers : 0);
}

bool lnbwd::keepsRowSums(RowwiseOp op, const Schedule &schedule) {
  return op.hasRowSums() && !schedule.rowSplits;
}

int64_t lnbwd::getColumnBits(OperandRange operands) {
  int64_t bits = 0;
  for (Value value : operands)
    bits += cast<ShapedType>(value.getType()).getElementTypeBitWidth();
  return bits;
}
