//===- LaneLayout.h - Where lanes stand, in numbers -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each lane.layout of a kernel means: computed once, where the operation
// stands, for all that ask. A cast carries the numbers to them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_LANETOGPU_PLACENUMBERS_H
#define LNBWD_LIB_CONVERSION_LANETOGPU_PLACENUMBERS_H

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"

#include <optional>

namespace lnbwd {

/// The columns of one access.
struct AccessColumns {
  /// The first of them.
  mlir::Value column;
  /// `column`, moved to a place in the row where `in_bounds` is false.
  mlir::Value loadColumn;
  /// `loadColumn`, counted from the first column of the workgroup.
  mlir::Value ownColumn;
  /// Whether they are in bounds; null if they always do.
  mlir::Value inBounds;
};

/// A layout in numbers.
struct LaneLayout {
  lane::LayoutType type;
  /// The lane among those of its row; its group.
  mlir::Value lane;
  mlir::Value group;
  /// The workgroup's first column; null if that is the row's.
  mlir::Value first;
  llvm::SmallVector<AccessColumns> accesses;
};

/// The numbers that computeLayouts() noted for the layout `value`; nothing
/// where it did not.
std::optional<LaneLayout> lookupLayout(mlir::Value value);

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_LANETOGPU_PLACENUMBERS_H
