//===- TensorLaunch.h - From tensors to a launch ----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TORCH_TENSORLAUNCH_H
#define LNBWD_LIB_TORCH_TENSORLAUNCH_H

#include "KernelTable.h"
#include "Tensors.h"

namespace lnbwd::torch_operators {

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

#endif // LNBWD_LIB_TORCH_TENSORLAUNCH_H
