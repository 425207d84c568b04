//===- Norms.h - Launches of normalisations ---------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What PyTorch's operators and ours have in common behind their arguments:
// which kernel it is, memory for its results, the launch.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TORCH_NORMS_H
#define LNBWD_LIB_TORCH_NORMS_H

#include "KernelTable.h"
#include "Tensors.h"

namespace lnbwd::torch_operators {

/// What the launch of a normalisation needs beside its tensors.
struct Norm {
  NormKey key;
  int64_t rows;
};

/// The number of a device in the kernels' tables.
int32_t deviceNumber(AtenTensorHandle tensor);

/// Whether kernels have x's type, and rows have elements.
bool isComputedByKernels(AtenTensorHandle x, const std::vector<int64_t> &shape);

/// Of a backward pass without gradients, and of a forward pass without epsilon.
Norm describe(NamedOperation operation, const Tensor &x,
              const std::vector<int64_t> &shape, const Tensor &weight,
              const Tensor &bias);

struct ForwardResults {
  Tensor y;
  Tensor mean; ///< null for RMSNorm
  Tensor rstd;
};

/// Puts y, mean if there is one and rstd on the stack, as an operator's
/// results.
void giveResults(StableIValue *stack, ForwardResults results);

/// Puts x, normalized_shape and what there can be of weight and bias on the
/// stack, as an operator's arguments; returns the place behind them.
StableIValue *giveArguments(StableIValue *stack, bool hasBias, Tensor x,
                            const std::vector<int64_t> &shape, Tensor weight,
                            Tensor bias);

/// Runs a forward pass; statistics come in the shape `statistics`.
ForwardResults runForward(const KernelHandle &kernel, const Norm &norm,
                          Tensor x, Tensor weight, Tensor bias,
                          const std::vector<int64_t> &statistics);

/// Null: not asked for (NormKey::wants).
struct BackwardResults {
  Tensor dx;
  Tensor dweight;
  Tensor dbias;
};

/// Runs a backward pass; `mean` is null for RMSNorm.
BackwardResults runBackward(const KernelHandle &kernel, const Norm &norm,
                            Tensor dy, Tensor x, Tensor mean, Tensor rstd,
                            Tensor weight, const Tensor &bias);

/// The gradients that are wanted, as bits of NormKey::wants.
constexpr uint32_t kWantsX = 1;
constexpr uint32_t kWantsWeight = 2;
constexpr uint32_t kWantsBias = 4;

/// The gradients that are asked for, of what is there. `mask` has a value for
/// each of x, weight and, if there can be one, bias.
uint32_t wantsOf(const std::vector<bool> &mask, const Tensor &weight,
                 const Tensor &bias);

} // namespace lnbwd::torch_operators

#endif // LNBWD_LIB_TORCH_NORMS_H
