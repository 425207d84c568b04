//===- ContractionTerms.h - What products of matrices are made of -*- C++ -*-=//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the algebra of row programs with matrices sees in their operations:
// which values are the same in all rows, and what a row is the product, or the
// sum of products, of. A value that is the same in all rows is called
// *invariant* here: it depends on columns and constants alone, and leaves a sum
// over the rows.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_CONTRACTIONTERMS_H
#define LNBWD_LIB_TRANSFORMS_CONTRACTIONTERMS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Dialect/LNBwd/IR/RowBuilder.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

namespace lnbwd {

/// A row, as a number times rows, invariant rows, and scalars of its row.
struct Factors {
  llvm::SmallVector<mlir::Value> rows, invariants, scalars;
  double coefficient = 1;

  bool isInvariant() const { return rows.empty() && scalars.empty(); }
  /// Whether what is not invariant is the same in `other`.
  bool hasSameRow(const Factors &other) const;
};

/// The invariant values of a row program, and what its rows are made of.
class ContractionTerms {
public:
  /// Looks at the region of `op` as it is now.
  explicit ContractionTerms(RowwiseOp op);

  bool isInvariant(mlir::Value value) const {
    return invariants.contains(value);
  }
  /// What the product of `rows` is the product of, taken apart as far as it
  /// goes.
  Factors getFactors(mlir::ValueRange rows) const;
  /// What `row` is the sum of: at most one term that is not invariant, and
  /// invariant ones. A sum of several rows that are not stays whole, as one
  /// factor.
  llvm::SmallVector<Factors> getTerms(mlir::Value row) const;

private:
  void addFactors(mlir::Value row, Factors &factors) const;

  llvm::DenseSet<mlir::Value> invariants;
};

/// The programs below `root` that have products of matrices or outer sums.
/// Fails where one is not as both passes on them expect it: on memrefs, and
/// without a schedule.
mlir::FailureOr<llvm::SmallVector<RowwiseOp>>
getProgramsWithContractions(mlir::Operation *root);

/// Writes rows times scalars, as one would write xhat: null if there are none.
mlir::Value buildRowPart(RowBuilder &rows, const Factors &factors);

/// A row before it was widened: a product and an outer product of the same row
/// may have it in two types.
mlir::Value getNarrow(mlir::Value row);

/// A copy of `value`, of a region, and of what it depends on: all but what
/// `mapping` has.
mlir::Value copySlice(mlir::OpBuilder &body, mlir::Value value,
                      mlir::IRMapping &mapping);

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_CONTRACTIONTERMS_H
