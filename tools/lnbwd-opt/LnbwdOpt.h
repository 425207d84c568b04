//===- LnbwdOpt.h - lnbwd-opt as a function ---------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the program's main function calls, by a C name, which the compiler's
// library exports where it holds the program.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_OPT_LNBWDOPT_H
#define LNBWD_TOOLS_LNBWD_OPT_LNBWDOPT_H

/// Runs lnbwd-opt with the arguments of a main function. Returns the exit code.
// NOLINTNEXTLINE(readability-identifier-naming): C's.
extern "C" int lnbwd_opt_main(int argc, char **argv);

#endif // LNBWD_TOOLS_LNBWD_OPT_LNBWDOPT_H
