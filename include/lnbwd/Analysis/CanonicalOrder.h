//===- CanonicalOrder.h - Sums that no schedule changes ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of additions of a canonical program: it depends on the program
// alone (docs/numerics.md). Here are its numbers.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_CANONICALORDER_H
#define LNBWD_ANALYSIS_CANONICALORDER_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

namespace lnbwd {

/// Whether the column sums of `op` are added up in leaves.
bool hasLeaves(RowwiseOp op);
/// Partial sums of a leaf of `op` where a workgroup has so many row groups; 0
/// if it is not canonical.
int64_t countLeafParts(RowwiseOp op, int64_t groups);

/// Columns of a slice of a row: each has a sum of its own, and these are added
/// by pairs.
int64_t getSliceColumns(int64_t rowLength);

/// Rows of a leaf of the tree of a column sum, and its chains: each row's
/// successor in a chain is so many rows after it.
int64_t getLeafRows(int64_t rowLength);
int64_t getLeafChains(int64_t rowLength);
/// Partial sums of a leaf where a workgroup takes as many of its chains as it
/// has row groups, and rows that each workgroup has at least: every partial sum
/// has one.
int64_t getLeafParts(int64_t rowLength, int64_t groups);
int64_t getLeastLeafRows(int64_t rowLength, int64_t groups);
/// Leaves, a power of two, that a workgroup with so many rows at least adds up
/// before it stores their sum.
int64_t countLeavesTogether(int64_t rowLength, int64_t rowsPerWorkgroup);
/// Levels of the tree over them, where sums wait for their neighbours: enough
/// for any batch where a workgroup has all rows, which 0 says.
int64_t countWaitingLevels(int64_t rowLength, int64_t rowsPerWorkgroup);

/// Levels of the tree of each group that adds up leaves: 65536 times eight or
/// more.
inline constexpr int64_t groupLevels = 16;

/// How the lanes of all groups share sums of columns: each has one of `parts`
/// of an access, of one of `accesses`, powers of two that divide the groups.
struct SharedAccesses {
  int64_t parts, accesses;
};
/// The same for groups that have so many accesses of `width` elements.
SharedAccesses shareAccesses(int64_t groups, int64_t width, int64_t accesses);
/// Of so many sums those that one step adds up, where groups write `columns`
/// columns of each to workgroup memory: all, or one.
int64_t countSharedSums(int64_t sums, int64_t groups, int64_t columns);
/// Bytes in workgroup memory of column sums that one step adds up, at most.
inline constexpr int64_t combineBytes = 32 * 1024;

/// Slices of `columns` columns of such a row, which begin with one.
int64_t countSlices(int64_t rowLength, int64_t columns);
/// Columns of each of `split` workgroups that share a row: whole slices, so
/// that the sum of a workgroup is one of their tree. Fewer workgroups may have
/// all.
int64_t getSharedSlices(int64_t rowLength, int64_t split);

/// Numbers that each row sum exchanges in a workgroup of `columns` columns: one
/// for each slice and lane where there are several waves, and one for each wave
/// of all `workgroups` that share the row.
int64_t countCanonicalSlots(int64_t rowLength, int64_t columns, int64_t lanes,
                            int64_t waveSize, int64_t workgroups);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_CANONICALORDER_H
