//===- RowPrograms.h - What passes over row programs begin with -*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which programs a pass takes, how it makes others of them, and how it cleans
// up behind itself.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_ROWPROGRAMS_H
#define LNBWD_LIB_TRANSFORMS_ROWPROGRAMS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <string>

namespace lnbwd {

/// The row programs below `root` that `isTaken` says are, in their order; where
/// it fails, it has reported why.
mlir::FailureOr<llvm::SmallVector<RowwiseOp>>
collectPrograms(mlir::Operation *root,
                llvm::function_ref<mlir::FailureOr<bool>(RowwiseOp)> isTaken);

/// Whether `op` is free of matrices and outer sums, or one product: what is
/// scheduled has one row length. Says what it found otherwise.
llvm::LogicalResult checkNoContractions(RowwiseOp op);

/// Whether `op` reads none of `outputs`, which programs that it is split
/// `where` write one after the other. Says what it found otherwise.
llvm::LogicalResult checkNotRead(RowwiseOp op, mlir::ValueRange outputs,
                                 llvm::StringRef where);

/// Drops what was left in copies of row programs below `root` and nothing
/// needs, by their canonicalisations.
llvm::LogicalResult dropUnneeded(mlir::Operation *root);

/// Calls `goesOn` with `values` and, of those that it is true for, with what
/// they are computed from, in the order of the operands; with each once.
void walkBack(mlir::ValueRange values,
              llvm::function_ref<bool(mlir::Value)> goesOn);

/// Gives `part`, one of the programs that `op` is split into, over as many
/// rows, those attributes of `op` that are true of it. One that reads what
/// another part writes, which `readsParts` says, is not independent of the
/// program before it.
void inheritAttributes(RowwiseOp part, RowwiseOp op, bool readsParts);

/// A value of a region, and where it is in memory: for each row, or for all; or
/// by the domain of its program, where it has a map.
struct PlacedValue {
  mlir::Value value, buffer;
  std::string name;
  bool hasRows = true;
  mlir::AffineMap map = {};
  Reduction reduction = Reduction::None;
};

/// Writes a program that computes `outputs`, values of the region of `op`. It
/// reads what is `given` and the operands of `op`, as far as it needs them, and
/// if there is no other row block one of `length` columns, which says how many
/// rows there are. Null if there is none of that length. Where `outputs` have
/// maps, the program has the domain of `op`, and all of its inputs.
RowwiseOp writeProgram(mlir::OpBuilder &b, RowwiseOp op,
                       const llvm::Twine &entry,
                       llvm::ArrayRef<PlacedValue> given,
                       llvm::ArrayRef<PlacedValue> outputs, int64_t length);

/// `count` buffers of a float32 number for each element of the first `numDims`
/// dimensions of `op`, or of `parts` where that is not 0.
llvm::SmallVector<mlir::Value> allocateTerms(mlir::RewriterBase &rewriter,
                                             RowwiseOp op, size_t count,
                                             unsigned numDims,
                                             int64_t parts = 0);

/// Adds a program over the dimensions of the buffers `from`, the first
/// `numRows` those of rows, that combines them into `to`, which have `map`, as
/// operands `numbers` of `op` are combined: rows with one another or, into row
/// scalars, what each row has. The names of inputs end with `suffix`.
RowwiseOp addCombination(mlir::OpBuilder &b, RowwiseOp op,
                         const llvm::Twine &entry, llvm::StringRef suffix,
                         llvm::ArrayRef<unsigned> numbers,
                         mlir::ValueRange from, mlir::ValueRange to,
                         unsigned numRows, mlir::AffineMap map);

struct RowSumPrograms {
  /// Computes the sums.
  RowwiseOp sums;
  /// What is left of the program: it reads them.
  RowwiseOp rest;
};

/// Replaces `op` by a program with `suffix` after its name, whose outputs are
/// `sums`, operations of its region, and one that is given them as row scalars:
/// in buffers of one number for each row, or of `parts` where that is not 0.
/// The buffers are allocated before, and added to `allocations`. Neither
/// program has a schedule. What one of them does not need is left in it for
/// canonicalisation.
RowSumPrograms hoistRowSums(mlir::RewriterBase &rewriter, RowwiseOp op,
                            llvm::ArrayRef<mlir::Operation *> sums,
                            llvm::StringRef suffix, int64_t parts,
                            llvm::SmallVectorImpl<mlir::Value> &allocations);

/// What `function` computes, if the only operation of this dialect in it is a
/// named one; null otherwise.
NamedOperationAttr describeNamedOperation(mlir::FunctionOpInterface function);

/// The patterns of lnbwd-lower-to-rowwise.
void populateLowerToRowwisePatterns(mlir::RewritePatternSet &patterns,
                                    bool textbook);

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_ROWPROGRAMS_H
