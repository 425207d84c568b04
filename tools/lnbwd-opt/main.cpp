//===- main.cpp - The program lnbwd-opt -----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Apart from lnbwd-opt.cpp, which is in the compiler's library where that has
// LLVM linked into it.
//
//===----------------------------------------------------------------------===//

// NOLINTNEXTLINE(readability-identifier-naming): C's.
extern "C" int lnbwd_opt_main(int argc, char **argv);

int main(int argc, char **argv) { return lnbwd_opt_main(argc, argv); }
