//===- CostTable.h - The table of fitted parameters -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads CostParameters.json, which is a part of the library: a section for each
// model, and in it a set of numbers for each chip.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_ANALYSIS_COSTTABLE_H
#define LNBWD_LIB_ANALYSIS_COSTTABLE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/JSON.h"

#include <utility>

namespace lnbwd {

/// The sets of a section, by chip. What is wrong with them is our own mistake.
const llvm::json::Object &getCostSection(llvm::StringRef section);

/// A section as parameters of type `T`; `names` has the member of each number.
template <typename T, size_t N>
llvm::StringMap<T>
readCostSection(llvm::StringRef section,
                const std::pair<llvm::StringLiteral, double T::*> (&names)[N]) {
  llvm::StringMap<T> result;
  for (const auto &[chip, value] : getCostSection(section)) {
    const llvm::json::Object *values = value.getAsObject();
    T &parameters = result[llvm::StringRef(chip)];
    for (auto [name, field] : names) {
      std::optional<double> number = values->getNumber(name);
      if (!number)
        llvm::report_fatal_error("CostParameters.json: no " + name);
      parameters.*field = *number;
    }
  }
  return result;
}

} // namespace lnbwd

#endif // LNBWD_LIB_ANALYSIS_COSTTABLE_H
