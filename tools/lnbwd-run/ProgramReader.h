//===- ProgramReader.h - What a plan says of a program ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the key `program` of a launch plan (docs/runtime.md).
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_PROGRAMREADER_H
#define LNBWD_TOOLS_LNBWD_RUN_PROGRAMREADER_H

#include "Problem.h"

#include <string>

namespace lnbwd::run {

/// Adds the row programs of `plan`, the plan's text, to the problem whose
/// arguments it describes; none if it has none. Throws a Failure that names an
/// operation which the reference does not know.
void readPrograms(const std::string &plan, Problem &problem);

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_PROGRAMREADER_H
