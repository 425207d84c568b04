//===- FewRows.cpp - Row programs that one workgroup takes ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Limits are those of a workgroup's memory, and of the registers: the code is
// written out for each element that a work-item has.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/FewRows.h"

#include "CostTerms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace lnbwd;

/// Rows at once, where they are not known to be fewer.
static constexpr int64_t mostRows = 16;
/// Work-items of the workgroup, at most.
static constexpr int64_t mostThreads = 512;
/// Elements of a row block's iteration, and of a matrix, for each work-item.
static constexpr int64_t mostElements = 8, mostMatrixElements = 16;
/// A launch between others takes 1 to 2 us, of which several are saved. Each
/// multiply-add reads two words of workgroup memory, of which a compute unit
/// has 32 a cycle: so many are made in some 2.5 us.
static constexpr int64_t mostMultiplyAdds = 65536;

static int64_t getLength(Value row) {
  return cast<VectorType>(row.getType()).getDimSize(0);
}

std::optional<SmallVector<OuterTerm>> lnbwd::getOuterTerms(RowwiseOp op,
                                                           unsigned index) {
  SmallVector<OuterTerm> terms;
  unsigned first =
      unsigned(op.getNumDpsInits()) - unsigned(op.getOuterSums().size());
  SmallVector<Value> open{op.getYielded(first + index)};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (matchPattern(value, m_AnyZeroFloat()))
      continue;
    if (auto sum = value.getDefiningOp<arith::AddFOp>()) {
      open.push_back(sum.getRhs());
      open.push_back(sum.getLhs());
      continue;
    }
    auto product = value.getDefiningOp<vector::OuterProductOp>();
    if (!product || product.getKind() != vector::CombiningKind::ADD ||
        !isa<VectorType>(product.getOperandTypeRHS()))
      return std::nullopt;
    terms.push_back({product.getLhs(), product.getRhs()});
    if (Value added = product.getAcc())
      open.push_back(added);
  }
  return terms;
}

llvm::SetVector<Value> lnbwd::getSharedRows(RowwiseOp op) {
  llvm::SetVector<Value> shared;
  for (Operation &bodyOp : op.getBody().front().without_terminator()) {
    if (Value row = getSummedRow(&bodyOp))
      shared.insert(row);
    if (auto product = dyn_cast<LinearOp>(bodyOp))
      shared.insert(product.getRow());
  }
  size_t firstSum = op.getRowOuts().size() + op.getScalarOuts().size();
  for (size_t i = 0; i < op.getAllSums().size(); ++i)
    shared.insert(op.getYielded(unsigned(firstSum + i)));
  for (unsigned i = 0; i < op.getOuterSums().size(); ++i)
    if (auto terms = getOuterTerms(op, i))
      for (const OuterTerm &term : *terms) {
        shared.insert(term.left);
        shared.insert(term.right);
      }
  return shared;
}

/// What no shape helps with; empty if there is nothing.
static std::string getObstacle(RowwiseOp op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!op.hasPureBufferSemantics())
    os << "expected memrefs; run bufferization before";
  else if (op.hasGroups())
    os << "expected no groups of rows";
  else if (llvm::any_of(op.getScalars(), [](Value scalar) {
             return cast<ShapedType>(scalar.getType()).getRank() == 0;
           }))
    os << "expected a number for each row, none for all";
  else if (op.hasPartialSums() || op.getAccumulate())
    os << "expected sums that are neither partial nor accumulate";
  for (unsigned i = 0; i < op.getOuterSums().size() && text.empty(); ++i)
    if (!getOuterTerms(op, i))
      os << "expected outer sum " << i
         << " to be of vector.outerproduct and arith.addf";
  for (Operation &bodyOp : op.getBody().front().without_terminator()) {
    if (!text.empty())
      break;
    if (isa<LinearOp, vector::OuterProductOp, vector::FMAOp>(bodyOp) ||
        getSummedRow(&bodyOp) || matchPattern(&bodyOp, m_Constant()))
      continue;
    auto spread = dyn_cast<vector::BroadcastOp>(bodyOp);
    if (spread && !isa<VectorType>(spread.getSourceType()))
      continue;
    if (bodyOp.getNumRegions() != 0 || bodyOp.getNumResults() != 1 ||
        !OpTrait::hasElementwiseMappableTraits(&bodyOp))
      os << "expected elementwise operations beside products and sums, got "
         << bodyOp.getName();
  }
  return text;
}

namespace {
/// What there is of a program, whatever the shape.
struct Sizes {
  /// Elements of the longest row, and of the largest matrix or outer sum.
  int64_t row = 1, matrix = 0;
  /// Float32 elements of workgroup memory: for each row, and once.
  int64_t sharedOfRow = 0, shared = 0;
};
} // namespace

static Sizes getSizes(RowwiseOp op) {
  Sizes sizes;
  auto addRow = [&](Type type) {
    auto vector = dyn_cast<VectorType>(type);
    if (vector && vector.getRank() == 1)
      sizes.row = std::max(sizes.row, vector.getDimSize(0));
  };
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    addRow(op.getRegionType(i));
  for (Operation &bodyOp : op.getBody().front().without_terminator())
    for (Type type : bodyOp.getResultTypes())
      addRow(type);
  for (Value row : getSharedRows(op))
    sizes.sharedOfRow += getFewRowsStride(getLength(row));
  for (Value matrix : op.getMatrices()) {
    auto type = cast<MemRefType>(matrix.getType());
    sizes.matrix = std::max(sizes.matrix, type.getNumElements());
    sizes.shared += type.getDimSize(0) * getFewRowsStride(type.getDimSize(1));
  }
  for (Value sum : op.getOuterSums())
    sizes.matrix = std::max(sizes.matrix,
                            cast<MemRefType>(sum.getType()).getNumElements());
  return sizes;
}

FewRowsForm lnbwd::chooseFewRowsForm(RowwiseOp op, const ChipInfo &chip,
                                     int64_t rows, std::string &obstacle) {
  obstacle = getObstacle(op);
  if (!obstacle.empty())
    return {};
  Sizes sizes = getSizes(op);
  int64_t threadLimit = std::min(mostThreads, chip.maxThreadsPerWorkgroup);
  llvm::raw_string_ostream os(obstacle);
  if (sizes.row > mostElements * threadLimit)
    os << "expected rows of at most " << mostElements * threadLimit
       << " elements, " << mostElements << " for each of " << threadLimit
       << " work-items, got " << sizes.row;
  else if (sizes.matrix > mostMatrixElements * threadLimit)
    os << "expected matrices of at most " << mostMatrixElements * threadLimit
       << " elements, " << mostMatrixElements << " for each of " << threadLimit
       << " work-items, got " << sizes.matrix;
  else if (int64_t least = floatBytes * (sizes.sharedOfRow + sizes.shared);
           least > chip.sharedMemoryBytes)
    os << "expected the matrices, and what is multiplied or summed of one row, "
          "to take at most "
       << chip.sharedMemoryBytes << " bytes, the shared memory of " << chip.name
       << ", got " << least;
  if (!obstacle.empty())
    return {};

  FewRowsForm form;
  form.rows = mostRows;
  if (rows > 0)
    form.rows = std::min(mostRows, int64_t(llvm::PowerOf2Ceil(uint64_t(rows))));
  auto bytes = [&] {
    return floatBytes * (form.rows * sizes.sharedOfRow + sizes.shared);
  };
  while (form.rows > 1 && (form.rows * sizes.row > mostElements * threadLimit ||
                           bytes() > chip.sharedMemoryBytes))
    form.rows /= 2;
  int64_t elements = std::max(form.rows * sizes.row, sizes.matrix);
  form.threads = std::clamp(int64_t(llvm::PowerOf2Ceil(uint64_t(elements))),
                            chip.waveSize, threadLimit);
  form.bytes = bytes();
  return form;
}

bool lnbwd::isFewRowsFaster(RowwiseOp op, int64_t rows) {
  if (rows <= 0)
    return false;
  // Of each row.
  int64_t count = 0;
  for (Operation &bodyOp : op.getBody().front().without_terminator())
    if (auto product = dyn_cast<LinearOp>(bodyOp))
      count += product.getMatrix().getType().getNumElements();
  for (Value sum : op.getOuterSums())
    count += cast<MemRefType>(sum.getType()).getNumElements();
  return count > 0 && count <= mostMultiplyAdds / rows;
}
