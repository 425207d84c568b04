//===- FuzzOptions.cpp - The runner's command line ------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libFuzzer: arguments separated by newlines go through the runner's parser. It
// accepts them or throws a failure of its own.
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "Options.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// libFuzzer's name: NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<std::string> words = {"lnbwd-run", ""};
  for (size_t i = 0; i < size; ++i) {
    if (data[i] == '\n')
      words.emplace_back();
    else if (data[i])
      words.back() += static_cast<char>(data[i]);
  }
  std::vector<const char *> arguments;
  arguments.reserve(words.size());
  for (const std::string &word : words)
    arguments.push_back(word.c_str());
  try {
    lnbwd::run::parseOptions(static_cast<int>(arguments.size()),
                             arguments.data());
  } catch (const lnbwd::run::Failure &) {
  }
  return 0;
}
