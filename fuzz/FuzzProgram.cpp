//===- FuzzProgram.cpp - Compiled files and plans from anywhere -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libFuzzer: bytes that claim to be a compiled file go through the runtime's
// loader and its plan reader. They are refused, or their plan answers every
// question.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Runtime/lnbwd_runtime.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>

// libFuzzer's name: NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lnbwd_program *program = nullptr;
  if (lnbwd_program_from_memory(data, size, nullptr, &program) !=
      LNBWD_SUCCESS) {
    // A refusal says why.
    if (program || !*lnbwd_last_error())
      std::abort();
    return 0;
  }
  for (size_t i = 0; i < lnbwd_program_argument_count(program); ++i) {
    lnbwd_argument_info info;
    if (lnbwd_program_argument(program, i, &info) != LNBWD_SUCCESS)
      std::abort();
    for (int64_t rows : {int64_t(0), int64_t(1), int64_t(1) << 40}) {
      size_t bytes = 0;
      lnbwd_program_argument_size(program, i, rows, /*groups=*/1, &bytes);
    }
  }
  lnbwd_program_destroy(program);
  return 0;
}
