//===- KernelTable.h - Loaded kernels by what they compute ------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What stands between an operator call and a launch: which kernel is loaded for
// this operation, these types and this device. Python loads kernels (it knows
// the caches and the compiler) and puts them here; a call that finds none asks
// Python once. Entries stay for the life of the process: a captured graph may
// refer to any of them.
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

/// The element type of a parameter that is not there.
constexpr int32_t kNoElement = -1;

/// Everything that decides which kernel runs a normalisation.
struct NormKey {
  NamedOperation operation;
  int64_t rowLength;
  int32_t element; ///< lnbwd_element of x
  int32_t weight;  ///< of the scale, or kNoElement
  int32_t bias;    ///< of the shift, or kNoElement
  /// Bits 0 to 2: whether dx, dweight and dbias are computed.
  uint32_t wants;
  double epsilon; ///< of a forward pass; below 0: none
  /// A GPU's index; below 0 a simulated chip (simulatedDevice).
  int32_t device;
  /// What rowsHint makes of M: kernels are chosen for a range of it, and right
  /// for all.
  int64_t rows;

  bool operator==(const NormKey &other) const {
    return operation == other.operation && rowLength == other.rowLength &&
           element == other.element && weight == other.weight &&
           bias == other.bias && wants == other.wants &&
           epsilon == other.epsilon && device == other.device &&
           rows == other.rows;
  }
};

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
};

/// A row program on a device: its operands in the order of the kernel's
/// arguments, inputs first. A null kernel does nothing.
struct Region {
  KernelHandle kernel;
  /// There is no kernel: PyTorch computes the program.
  bool isByTorch = false;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;

  /// Whether the rows are groups, so that a launch needs their number.
  bool hasGroups() const {
    for (const auto *operands : {&inputs, &outputs})
      for (const Operand &operand : *operands)
        if (operand.kind == LNBWD_ARGUMENT_GROUP_COLUMN)
          return true;
    return false;
  }
};

/// The kernel for `key`, loaded by Python if it was not yet.
/// Throws std::runtime_error with Python's words if it cannot be.
const KernelHandle &findKernel(const NormKey &key);

/// The kernel for `key`, or null if there is none: Python was told why, once,
/// and is not asked for it again, unless it said that it may work later. Throws
/// std::runtime_error if loading was interrupted.
const KernelHandle *tryToFindKernel(const NormKey &key);

/// The row program that `text` names, loaded by Python if it was not yet.
/// Throws std::runtime_error with Python's words if it cannot be.
const Region &findRegion(std::string_view text, int32_t device);

/// The number that stands for the simulated chip in `device` now, -2 or less;
/// -1 if no chip is simulated, for which Python has the words.
int32_t simulatedDevice();

} // namespace lnbwd::torch_operators

#endif // LNBWD_LIB_TORCH_KERNELTABLE_H
