//===- KernelTable.h - Loaded row programs by their names -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What stands between an operator call and a launch: which kernel is loaded for
// this row program and this device. A program is known by a text; that of a
// normalisation names the operation, its types and what else decides its kernel
// (Norms.cpp). Python loads kernels (it knows the caches and the compiler) and
// puts them here; a call that finds none asks Python once. Entries stay for the
// life of the process: a captured graph may refer to any of them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TORCH_KERNELTABLE_H
#define LNBWD_LIB_TORCH_KERNELTABLE_H

#include "lnbwd/Operations/Operations.h"
#include "lnbwd/Runtime/lnbwd_runtime.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lnbwd::torch_operators {

/// The number of rows that stands for `rows` in the choice of a schedule: the
/// nearest power of two by ratio, 64 to 2^20 (python/lnbwd/spec.py has the same
/// for operators in Python; a test compares them).
int64_t rowsHint(int64_t rows);

/// A kernel that is loaded. A null `kernel` launches nothing: with that,
/// bench/host_cost.py times what surrounds a launch.
struct KernelHandle {
  const lnbwd_kernel *kernel = nullptr;
  /// For the simulator, whose memory is not the host's.
  const lnbwd_device *device = nullptr;
  const lnbwd_program *program = nullptr;
};

/// One tensor of a row program.
struct Operand {
  int32_t kind; ///< lnbwd_argument_kind
  int32_t element;
  int64_t rowLength;

  const KindInfo &kindInfo() const {
    return getInfo(static_cast<OperandKind>(kind));
  }
};

/// A row program on a device: its operands in the order of the kernel's
/// arguments, inputs first. A null kernel does nothing.
struct RowProgram {
  KernelHandle kernel;
  /// There is no kernel: PyTorch computes the program.
  bool isByTorch = false;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;

  /// Whether the rows are groups, so that a launch needs their number.
  bool hasGroups() const {
    for (const auto *operands : {&inputs, &outputs})
      for (const Operand &operand : *operands)
        if (operand.kindInfo().tellsGroups())
          return true;
    return false;
  }
};

/// The row program of that name on a device, a GPU's index or below 0 a
/// simulated chip (simulatedDevice); null if it is not in the table.
const RowProgram *lookUpProgram(std::string_view text, int32_t device);

/// Puts a row program into the table. One of the same name is replaced, but
/// stays for launches that have it.
void addProgram(std::string text, int32_t device, RowProgram program);

/// The row program that `text` names, loaded by Python if it was not yet.
/// Throws std::runtime_error with Python's words if it cannot be.
const RowProgram &findProgram(std::string_view text, int32_t device);

/// The same, or null if there is none: Python was told why, once, and is not
/// asked for it again, unless it said that it may work later. Throws
/// std::runtime_error if loading was interrupted.
const RowProgram *tryToFindProgram(std::string_view text, int32_t device);

/// The number that stands for the simulated chip in `device` now, -2 or less;
/// -1 if no chip is simulated, for which Python has the words.
int32_t simulatedDevice();

} // namespace lnbwd::torch_operators

#endif // LNBWD_LIB_TORCH_KERNELTABLE_H
