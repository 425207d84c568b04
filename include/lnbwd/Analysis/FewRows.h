//===- FewRows.h - Row programs that one workgroup takes --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row program with matrices is otherwise many kernels, each of which takes
// longer to launch than to run where rows are few and short. One workgroup can
// do all of it then, in a single kernel: a few rows at a time lie in workgroup
// memory, and what products, row sums and sums over rows need of each other
// they read there. Here is the one place that says which programs it can take,
// in which shape, and where it is worth it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_FEWROWS_H
#define LNBWD_ANALYSIS_FEWROWS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"

#include "llvm/ADT/SetVector.h"

#include <string>

namespace lnbwd {

/// How one workgroup works through a row program.
struct FewRowsForm {
  /// Work-items, a power of two.
  int64_t threads = 0;
  /// Rows that are in workgroup memory at once; others come in further
  /// iterations.
  int64_t rows = 0;
  /// Workgroup memory.
  int64_t bytes = 0;
};

/// Float32 elements from one row of `length` in workgroup memory to the next:
/// an odd number, so that lanes that read a column are in different banks.
inline int64_t getFewRowsStride(int64_t length) { return length | 1; }

/// An outer product among the terms of an outer sum.
struct OuterTerm {
  mlir::Value left, right;
};

/// The terms that the region yields for outer sum `index` (counted among the
/// outer sums), in the order in which they are added. Null products, splats of
/// 0, are left out; nothing where a value is none of `vector.outerproduct`,
/// `arith.addf` and such a splat.
std::optional<llvm::SmallVector<OuterTerm>> getOuterTerms(RowwiseOp op,
                                                          unsigned index);

/// The rows of the region that go through workgroup memory: what is multiplied,
/// summed, or summed up over the rows.
llvm::SetVector<mlir::Value> getSharedRows(RowwiseOp op);

/// The shape in which one workgroup of `chip` takes `op`, chosen for so many
/// rows (0: unknown; any number is right). Where it cannot, an empty form, and
/// `obstacle` says which limit does not hold.
FewRowsForm chooseFewRowsForm(RowwiseOp op, const ChipInfo &chip, int64_t rows,
                              std::string &obstacle);

/// Whether one workgroup is expected to be faster than the kernels that `op`
/// otherwise becomes, for so many rows; never where these are unknown (0).
bool isFewRowsFaster(RowwiseOp op, int64_t rows);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_FEWROWS_H
