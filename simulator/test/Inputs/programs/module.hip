//===- module.hip - A kernel of a code object that is loaded by name ------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Its argument is the file; says of an error no more than most programs do.
//
//===----------------------------------------------------------------------===//

#include <hip/hip_runtime.h>

#include <cstdio>

int main(int, char **Argv) {
  hipModule_t Module;
  const hipError_t Code = hipModuleLoad(&Module, Argv[1]);
  std::printf("HIP: %s\n", hipGetErrorString(Code));
  return Code == hipSuccess ? 0 : 3;
}
