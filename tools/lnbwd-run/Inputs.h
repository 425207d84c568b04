//===- Inputs.h - What the kernel is fed with -------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inputs of a run, on the host: filled by a rule that depends on the seed
// and the element's place alone, not on the number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_INPUTS_H
#define LNBWD_TOOLS_LNBWD_RUN_INPUTS_H

#include "lnbwd/Reference/FloatFormat.h"

#include <cstdint>
#include <vector>

namespace lnbwd::run {

/// How the inputs are filled.
enum class Init {
  Normal,
  Uniform,
  Integers,
  Zeros,
  Ones,
  Arange,
  LargeMean,
  TinyVariance,
  Huge,
  Denormal,
  NonFinite
};

struct InitDescription {
  Init init;
  const char *name;
  const char *help;
};

const std::vector<InitDescription> &initDescriptions();
const char *initName(Init init);

/// The inputs by name.
enum class Input { Dy, X, Gamma };

/// Fills `array`, [rows, columns] of `format`, with what `init` says for that
/// input. Gamma has one row.
void fillInput(Init init, uint64_t seed, Input input,
               reference::FloatFormat format, int64_t rows, int64_t columns,
               void *array);

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_INPUTS_H
