//===- KernelPart.h - Which part of a kernel an operation is in -*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of a row program's kernel that run differently often. The lowering
// notes them in the locations of the operations that it makes, which stay with
// them down to the machine code: the report counts instructions by them. They
// change nothing in the code.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TARGET_KERNELPART_H
#define LNBWD_TARGET_KERNELPART_H

#include "mlir/IR/Location.h"

#include <optional>

namespace lnbwd {

struct KernelPart {
  enum Kind : unsigned {
    /// Once a workgroup.
    Setup,
    /// Once a workgroup, if it has a set of rows: loads of the first set.
    FirstLoad,
    /// Once a set of rows. Where the row loop takes two sets a turn: the first.
    Row,
    /// The second set of a turn.
    SecondRow,
    /// Loads for the second set of the next turn.
    SecondLoad,
    /// Loads for the set that the next turn begins with.
    NextLoad,
    /// Once in the launch, if the last set is not full.
    Tail,
    /// Once a workgroup, if it has two sets of rows: loads of the second.
    FirstSecondLoad,
    /// Once a block of turns of a workgroup, around those: the block's sums are
    /// added to totals.
    SumBlock,
  };
  Kind kind = Setup;
  /// The number of row groups that take part; 0: all.
  unsigned groups = 0;
  /// Loads of row scalars.
  bool scalars = false;
  /// Inside the loop over a row that is read again.
  bool reload = false;

  /// `location` with a note of this part.
  mlir::Location note(mlir::Location location) const;
  /// The part that was noted, if any.
  static std::optional<KernelPart> get(mlir::Location location);

  /// The part as one number from 1 on, for line tables, and back.
  unsigned encode() const;
  static KernelPart decode(unsigned code);
};

} // namespace lnbwd

#endif // LNBWD_TARGET_KERNELPART_H
