//===- FinalizeColumnSums.cpp - Partial sums and their sum ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives each workgroup its own row of partial sums and adds a row program over
// those rows. The finalising kernel is thus an ordinary row program: it has no
// lowering of its own. For group sums it is one with groups, of as many rows as
// a group has workgroups; for a product that sums over the rows, one whose rows
// are partial products.
//
//===----------------------------------------------------------------------===//

#include "RowPrograms.h"

#include "lnbwd/LaunchPlan/LaunchNotes.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Analysis/ScheduleCandidates.h"
#include "lnbwd/Analysis/ScheduleChoice.h"
#include "lnbwd/Analysis/ScheduleLimits.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Lane/IndexBuilder.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace lnbwd {
#define GEN_PASS_DEF_FINALIZECOLUMNSUMSPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
/// The partial sums of a program: those of all workgroups for each column sum,
/// and group by group for each group sum.
struct Partials {
  SmallVector<Value> columns, groups;
};
} // namespace

/// Gives `memory`, of partial sums group by group, a dimension for each of
/// those of the groups: all but the first have the sizes `inner`.
static Value splitGroups(IndexBuilder &b, Value memory, Value groups,
                         Value workgroups, ArrayRef<int64_t> inner) {
  auto shape = llvm::to_vector(cast<MemRefType>(memory.getType()).getShape());
  Value first = b(groups) / ShapedType::getNumElements(inner);
  SmallVector<OpFoldResult> sizes{first};
  SmallVector<ReassociationIndices> dims{
      llvm::to_vector(llvm::seq<int64_t>(int64_t(inner.size()) + 1))};
  shape.insert(shape.begin() + 1, inner.begin(), inner.end());
  for (size_t i = 1; i < shape.size(); ++i) {
    if (ShapedType::isDynamic(shape[i]))
      sizes.push_back(workgroups);
    else
      sizes.push_back(b.getIndexAttr(shape[i]));
    if (i > inner.size())
      dims.push_back({int64_t(i)});
  }
  return memref::ExpandShapeOp::create(
      b, MemRefType::get(shape, b.getF32Type()), memory, dims, sizes);
}

/// Adds, before `op`, one allocation of partial sums for each of its sums.
static Partials allocatePartials(RowwiseOp op) {
  IndexBuilder b(op.getLoc(), op);
  LaunchCounts counts = makeLaunchCounts(b, op);
  SmallVector<int64_t> columns = op.getRowBlockShape();
  columns.erase(columns.begin(), columns.end() - op.getRowRank());
  int64_t parts = countLeafParts(op, op.getScheduleAttr()->rowGroups);
  auto allocate = [&](ValueRange sizes) -> Value {
    SmallVector<int64_t> shape(sizes.size(), ShapedType::kDynamic);
    if (parts > 1)
      shape.push_back(parts);
    if (op.getOwnRows()) {
      // The finalising program's rows are its own as well.
      IntegerAttr workgroups;
      (void)matchPattern(counts.workgroups, m_Constant(&workgroups));
      shape = {workgroups.getInt()};
      sizes = {};
    }
    llvm::append_range(shape, columns);
    auto type = MemRefType::get(shape, b.getF32Type());
    Value memory = memref::AllocOp::create(b, type, sizes);
    if (parts <= 1)
      return memory;
    // A row for each part of a leaf. Only leaves are counted at launch.
    Value rows = b(sizes.front()) * parts;
    shape.erase(shape.begin() + 1);
    auto rowsType = MemRefType::get(shape, b.getF32Type());
    SmallVector<OpFoldResult> lengths{rows}, strides;
    for (int64_t length : ArrayRef(shape).drop_front())
      lengths.push_back(b.getIndexAttr(length));
    for (int64_t stride : rowsType.getStridesAndOffset().first)
      strides.push_back(b.getIndexAttr(stride));
    return memref::ReinterpretCastOp::create(
        b, rowsType, memory, b.getIndexAttr(0), lengths, strides);
  };
  Partials partials;
  if (parts) {
    // A workgroup has several leaves.
    Schedule fields;
    fields.rowsPerWorkgroup = std::max(getLeafRows(op.getRowLength()),
                                       op.getScheduleAttr()->rowsPerWorkgroup);
    fields.workgroupsPerComputeUnit = 0;
    if (op.getOwnRows())
      counts.workgroups = b.index(
          llvm::divideCeil(*op.getStaticRowCount(), fields.rowsPerWorkgroup));
    else
      counts.workgroups = WorkgroupCountOp::create(
          b, counts.workgroups.getDefiningOp()->getOperand(0), counts.groups,
          ScheduleAttr::get(op.getContext(), fields), /*fixed_workgroups=*/0,
          countLeafParts(op, fields.rowGroups));
  }
  Value workgroups = counts.workgroups;
  if (counts.groups && !op.getColumnSums().empty())
    workgroups = b(workgroups) * counts.groups;
  for (size_t i = 0; i < op.getColumnSums().size(); ++i)
    partials.columns.push_back(allocate(workgroups));
  SmallVector<int64_t> sizes = op.getDimSizes();
  for (size_t i = 0; i < op.getGroupSums().size(); ++i) {
    Value memory = allocate({counts.groups, counts.workgroups});
    if (int64_t inner = op.getNumGroupDims() - 1)
      memory = splitGroups(b, memory, counts.groups, counts.workgroups,
                           ArrayRef(sizes).slice(1, size_t(inner)));
    partials.groups.push_back(memory);
  }
  return partials;
}

/// Adds, at the insertion point, the program that combines the rows of
/// `partials`, which have `numRows` dimensions, into `sums`, operands of `op`.
static RowwiseOp addSum(OpBuilder &builder, RowwiseOp op, StringRef suffix,
                        ValueRange partials, unsigned numRows,
                        OperandRange sums) {
  unsigned first = sums.getBeginOperandIndex();
  auto rank = unsigned(cast<MemRefType>(partials.front().getType()).getRank());
  auto all = AffineMap::getMultiDimIdentityMap(rank, builder.getContext());
  return addCombination(
      builder, op, op.getEntry() + suffix, "_partials",
      llvm::to_vector(llvm::seq(first, first + unsigned(sums.size()))),
      partials, sums, numRows, all.dropResult(numRows - 1));
}

/// Adds, at the insertion point, the program that sums the rows of `partials`
/// into `sums`, which are column sums or group sums of `op`.
static RowwiseOp addFinalize(OpBuilder &builder, RowwiseOp op,
                             ValueRange partials, OperandRange sums) {
  // Of a group sum, the groups and their partial sums are the rows.
  bool isOfGroups = sums == op.getGroupSums();
  RowwiseOp finalize = addSum(
      builder, op, isOfGroups ? "_finalize_groups" : "_finalize", partials,
      isOfGroups ? unsigned(op.getNumGroupDims()) + 1 : 1, sums);
  finalize.setAccumulate(op.getAccumulate());
  finalize.setOwnRows(op.getOwnRows());
  if (int64_t parts = countLeafParts(op, op.getScheduleAttr()->rowGroups))
    finalize.setLeaves(parts);
  return finalize;
}

/// Whether the workgroups of `op` leave partial sums: where one workgroup takes
/// all rows of a column sum, or of a group for a group sum, it has the whole.
static bool needsPartials(RowwiseOp op) {
  return op.getScheduleAttr()->rowsPerWorkgroup != 0 ||
         (op.hasGroups() && !op.getColumnSums().empty());
}

/// Gives `sum`, the program that adds what `op` leaves, its schedule.
static LogicalResult setSchedule(RowwiseOp sum, RowwiseOp op,
                                 const ChipInfo &chip) {
  Schedule schedule =
      *chooseSchedule({sum, chip, /*rows=*/0, /*splits=*/0, /*summed=*/op});
  sum.setScheduleAttr(ScheduleAttr::get(op.getContext(), schedule));
  return checkSchedule(sum, schedule, chip, [&] { return sum.emitOpError(); });
}

/// Takes a product that sums over the rows apart where its result has too few
/// tiles for all compute units, and adds the program that sums the parts in
/// their order. Null where it stays whole.
static RowwiseOp splitProduct(IRRewriter &rewriter, RowwiseOp op,
                              const ChipInfo &chip) {
  OperandRange sums = op.getOuterSums();
  SmallVector<int64_t> shape{chooseProductParts(op, chip)};
  if (shape.front() == 1)
    return {};
  llvm::append_range(
      shape, cast<VectorType>(op.getRegionType(sums.getBeginOperandIndex()))
                 .getShape());
  rewriter.setInsertionPoint(op);
  Value partials = memref::AllocOp::create(
      rewriter, op.getLoc(), MemRefType::get(shape, rewriter.getF32Type()));
  rewriter.setInsertionPointAfter(op);
  RowwiseOp sum =
      addSum(rewriter, op, "_finalize", partials, /*numRows=*/1, sums);
  sum.setOwnRows(true);
  memref::DeallocOp::create(rewriter, op.getLoc(), partials);
  rewriter.modifyOpInPlace(op, [&] { op.makeSumsPartial(partials); });
  return sum;
}

namespace {
struct FinalizeColumnSums
    : lnbwd::impl::FinalizeColumnSumsPassBase<FinalizeColumnSums> {
  void runOnOperation() override {
    FailureOr<const ChipInfo *> found = getChip(getOperation());
    if (failed(found))
      return signalPassFailure();
    FailureOr<SmallVector<RowwiseOp>> programs =
        collectPrograms(getOperation(), [](RowwiseOp op) -> FailureOr<bool> {
          if (op.getAllSums().empty() || op.hasPartialSums())
            return false;
          if (!op.getSchedule() || !op.hasPureBufferSemantics())
            return op.emitOpError("expected memrefs and a schedule; run "
                                  "bufferization and lnbwd-select-schedule "
                                  "before");
          return needsPartials(op);
        });
    if (failed(programs))
      return signalPassFailure();

    IRRewriter rewriter(&getContext());
    for (RowwiseOp op : *programs) {
      Partials partials = allocatePartials(op);
      rewriter.setInsertionPointAfter(op);
      for (auto [values, sums] :
           {std::pair(ArrayRef(partials.columns), op.getColumnSums()),
            std::pair(ArrayRef(partials.groups), op.getGroupSums())}) {
        if (values.empty())
          continue;
        RowwiseOp finalize = addFinalize(rewriter, op, values, sums);
        if (failed(setSchedule(finalize, op, **found)))
          return signalPassFailure();
        for (Value partial : values) {
          if (auto view = partial.getDefiningOp<ViewLikeOpInterface>())
            partial = view.getViewSource();
          memref::DeallocOp::create(rewriter, op.getLoc(), partial);
        }
      }
      rewriter.modifyOpInPlace(op, [&] {
        op.makeSumsPartial(llvm::to_vector(
            llvm::concat<Value>(partials.columns, partials.groups)));
      });
      ++numFinalized;
    }
    SmallVector<RowwiseOp> products;
    getOperation()->walk([&](RowwiseOp op) {
      if (op.getProduct() && !op.getOuterSums().empty() &&
          !op.getForm(op.getNumOperands() - 1).isPartial())
        products.push_back(op);
    });
    for (RowwiseOp op : products) {
      RowwiseOp sum = splitProduct(rewriter, op, **found);
      if (sum && failed(setSchedule(sum, op, **found)))
        return signalPassFailure();
      numFinalized += bool(sum);
    }
  }
};
} // namespace
