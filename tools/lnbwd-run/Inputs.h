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

#include "lnbwd/Operations/Operations.h"
#include "lnbwd/Reference/FloatFormat.h"

#include <cstdint>
#include <optional>
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

/// In the order of the enumeration.
const std::vector<InitDescription> &initDescriptions();
const char *initName(Init init);

struct FillOptions {
  /// Elements from row to row; 0: dense. What is between rows stays.
  int64_t stride = 0;
  /// Of an argument that is no operand of an operation, its place among them:
  /// no two have the same numbers.
  size_t place = 0;
  /// What a random gamma lies around.
  double gammaCentre = 1;
  /// Of indices into a table, its rows; else 0.
  uint64_t tableRows = 0;
  /// Where Init::NonFinite puts its NaN and infinity.
  Role nonFinite = Role::Dy;
};

/// Fills `array`, [rows, columns] of `format`, with what `init` says for an
/// input of that role, which has random numbers of its own; without a role it
/// is one of a kernel of which nothing is known. Columns have one row.
void fillInput(Init init, uint64_t seed, std::optional<Role> input,
               Element format, int64_t rows, int64_t columns, void *array,
               const FillOptions &options = {});

/// Fills what lies between rows with NaNs, which a kernel that reads there
/// would spread.
void fillGaps(Element format, int64_t rowLength, int64_t rowStride,
              std::vector<char> &contents);

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_INPUTS_H
