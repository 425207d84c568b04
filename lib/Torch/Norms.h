//===- Norms.h - Calls of normalisations ------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What PyTorch's operators and ours have in common: their arguments, the name
// of the row program that computes them, memory for the results, the launch.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TORCH_NORMS_H
#define LNBWD_LIB_TORCH_NORMS_H

#include "KernelTable.h"
#include "Tensors.h"
#include "lnbwd/Operations/Operations.h"

namespace lnbwd::torch_operators {

/// The number of a device in the table of programs.
int32_t deviceNumber(AtenTensorHandle tensor);

/// A call of an operator: its arguments by what they are. Those that the
/// operator does not have, or that were not given, are null.
struct NormCall {
  /// Takes the arguments off the operator's stack. PyTorch's own operators
  /// (`isAten`) have normalized_shape at another place in a backward pass, and
  /// RMSNorm's epsilon may be absent.
  NormCall(NamedOperation operation, bool isAten, StableIValue *stack);

  /// Puts the arguments back, for another operator that takes the same.
  void giveBack(StableIValue *stack);

  /// What keeps kernels from reading the arguments as they should be read;
  /// empty: nothing. lnbwd.functional has the words for users.
  std::string findMistake() const;

  /// Whether kernels have x's type, and rows have elements.
  bool isComputedByKernels() const { return element >= 0 && rowLength > 0; }

  /// Whether the result of a place is asked for: y and the statistics are, and
  /// of x, weight and bias the gradients in the mask, of what is there.
  bool isWanted(size_t result) const;
  bool isAnyWanted() const;

  /// The row program that computes it, loaded by Python if it was not yet.
  /// Where that cannot be: null for PyTorch's operators, which have another
  /// kernel, and else std::runtime_error with Python's words.
  const RowProgram *findProgram() const;

  /// Launches the program, null where nothing is wanted, and puts the results
  /// on the stack. For a gradient that is not wanted that is a tensor without
  /// elements, or for PyTorch's operators one that is not defined.
  void run(const RowProgram *program, StableIValue *stack) &&;

  const NamedOperationInfo &info;
  bool isAten;
  bool hasMean;
  size_t resultCount; ///< 3, or without a mean 2
  Tensor dy;
  Tensor x;
  Tensor mean;
  Tensor rstd;
  Tensor weight;
  Tensor bias;
  std::vector<int64_t> shape;
  std::vector<bool> mask;
  std::optional<double> givenEpsilon;
  /// What a kernel of a forward pass adds: the one that was given, or else what
  /// is put here; below 0 it is not known.
  double epsilon = -1;

  int32_t element;       ///< that of x (elementOf)
  int64_t rowLength = 0; ///< N; 0 if x's shape does not end in `shape`, too
  int64_t rows = 0;      ///< M

private:
  /// The name of the row program; python/lnbwd/norm_programs.py reads it.
  std::string programName() const;

  template <typename Visitor> void visitArguments(Visitor visit);
};

} // namespace lnbwd::torch_operators

#endif // LNBWD_LIB_TORCH_NORMS_H
