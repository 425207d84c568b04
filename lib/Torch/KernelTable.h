//===- KernelTable.h - Loaded row programs by their names -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What stands between an operator call and a launch: which kernel is loaded for
// this row program and this device. Python loads kernels (it knows the caches
// and the compiler) and puts them here. A call that finds none is Python's, as
// is all else that is unusual (Tensors.h, callPython). Entries stay for the
// life of the process: a captured graph may refer to any of them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TORCH_KERNELTABLE_H
#define LNBWD_LIB_TORCH_KERNELTABLE_H

#include "Tensors.h"
#include "lnbwd/Operations/Operations.h"
#include "lnbwd/Runtime/lnbwd_runtime.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lnbwd::torch_operators {

/// The number of rows that stands for `rows` in the choice of a schedule: by
/// ratio the nearest power of two from 64 to 2^20 or, up to 1024, one and a
/// half times that (python/lnbwd/core/compile/spec.py has the same for
/// operators in Python; a test compares them).
int64_t rowsHint(int64_t rows);

/// One tensor of a row program.
struct Operand {
  int32_t kind; ///< lnbwd_argument_kind
  int32_t element;
  int64_t rowLength;
  int64_t alignment; ///< in bytes

  const Dims &dims() const { return kKinds[kind].dims; }
  int64_t elementCount(int64_t rows, int64_t groups = 1) const {
    return rowLength * dims().countRows(rows, groups);
  }
};

/// A row program whose kernel is loaded on a device: its operands in the order
/// of the kernel's arguments, inputs first.
struct RowProgram {
  const lnbwd_kernel *kernel = nullptr;
  /// For the simulator, whose memory is not the host's.
  const lnbwd_device *device = nullptr;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;

  /// Whether the rows are groups, so that a launch needs their number.
  bool hasGroups() const {
    for (const auto *operands : {&inputs, &outputs})
      for (const Operand &operand : *operands)
        if (operand.dims().tellsGroups())
          return true;
    return false;
  }
};

/// The row program of that name in a place (findPlace); null if it is not in
/// the table.
const RowProgram *lookUpProgram(std::string_view name, int32_t place);

/// The number that stands for a device and the order of additions now: that of
/// the GPU `index`, or below 0 of the simulated chip.
int32_t findPlace(int32_t index);

/// New outputs of a program without groups. What has rows has the dimensions
/// `rows`, followed by `columns` or where it has none by so many of size 1 as
/// `ones`; no columns: one dimension.
std::vector<Tensor> makeOutputs(const RowProgram &program, Sizes rows,
                                Device device, Sizes columns, size_t ones);

/// Runs a kernel on tensors in the order of its arguments, given by their
/// addresses, all dense and on one device: on a GPU on PyTorch's current stream
/// with a workspace of PyTorch's allocator, on the CPU on the simulator, to
/// which they are copied and back. Of a row program with groups of rows,
/// `groups` is their number.
/// Throws std::runtime_error with the runtime's words.
void launch(const RowProgram &program, int64_t rows,
            const std::vector<void *> &addresses, Device device,
            int64_t groups = 1);

} // namespace lnbwd::torch_operators

#endif // LNBWD_LIB_TORCH_KERNELTABLE_H
