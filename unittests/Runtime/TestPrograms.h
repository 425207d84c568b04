//===- TestPrograms.h - Programs made up for the tests ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled files put together byte by byte, so that the readers are tested
// without a compiler and with every kind of damage.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_UNITTESTS_RUNTIME_TESTPROGRAMS_H
#define LNBWD_UNITTESTS_RUNTIME_TESTPROGRAMS_H

#include <nlohmann/json.hpp>

#include "gtest/gtest.h"

#include <string>

/// Expects a message to have certain words in it.
#define EXPECT_CONTAINS(TEXT, PART)                                            \
  EXPECT_PRED_FORMAT2(lnbwd::test::containsText, TEXT, PART)

namespace lnbwd::test {

/// What EXPECT_CONTAINS checks.
testing::AssertionResult containsText(const char *textExpression,
                                      const char *partExpression,
                                      const std::string &text,
                                      const std::string &part);

/// The plan of docs/runtime.md's example.
nlohmann::json examplePlan();

/// The plan of docs/runtime.md's example with gamma and dgamma for each group
/// of rows.
nlohmann::json groupedPlan();

/// What a code object says about its kernels, fitting that plan.
nlohmann::json exampleMetadata();

/// What a made-up ELF file holds.
struct ElfContents {
  unsigned machine = 224; // EM_AMDGPU
  unsigned flags = 0x4c;  // gfx942
  bool inSymtab = false;  // the symbol in .symtab instead of .dynsym
  std::string symbol = "lnbwd_plan";
  std::string plan; // with the zero that ends it
  std::string metadata;
};

/// An ELF file with a plan and metadata.
std::string makeElf(const ElfContents &contents);

/// A valid hsaco with these.
std::string makeHsaco(const nlohmann::json &plan,
                      const nlohmann::json &metadata);

/// PTX with this plan.
std::string makePtx(const nlohmann::json &plan);

} // namespace lnbwd::test

#endif // LNBWD_UNITTESTS_RUNTIME_TESTPROGRAMS_H
