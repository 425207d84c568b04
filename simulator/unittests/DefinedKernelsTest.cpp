//===- DefinedKernelsTest.cpp - Compiled kernels with undefined parts -----===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs/defined.c, compiled by clang: kernels that have something undefined
// and do not use it run clean, those that do are told what it is. Skipped where
// there is no clang beside LLVM's tools.
//
//===----------------------------------------------------------------------===//

#include "CheckerTester.h"
#include "TestKernels.h"

#include <memory>
#include <sstream>
#include <tuple>

using namespace lnbwd::sim;

namespace {
class DefinedKernels
    : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
protected:
  void SetUp() override {
    const auto &[Chip, Level] = GetParam();
    useChip(Chip);
    const auto Code = testKernels("defined-" + Chip + "-" + Level);
    if (Code.empty())
      GTEST_SKIP() << NoTestKernels;
    Module = std::make_unique<LoadedModule>(Code);
    Before = lnbwdSimGetChecks();
    lnbwdSimSetChecks(LNBWD_SIM_CHECK_ALL);
    for (void *&P : Buffers)
      EXPECT_HIP(hipMalloc(&P, Bytes));
  }
  void TearDown() override {
    for (void *P : Buffers)
      (void)hipFree(P);
    if (Module)
      lnbwdSimSetChecks(Before);
  }
  template <typename... Args> std::string run(const char *Name, Args... Rest) {
    // One wave of every chip, so that a shuffle finds all lanes in it.
    hipError_t Error =
        launch(Module->function(Name), dim3(1), dim3(32), 0, Rest...);
    return Error == hipSuccess ? "" : lnbwdSimLastErrorMessage();
  }
  void *fill(unsigned K) {
    EXPECT_HIP(hipMemset(Buffers[K], 1, Bytes));
    return Buffers[K];
  }
  static constexpr size_t Bytes = 4096;
  std::unique_ptr<LoadedModule> Module;
  unsigned Before = 0;
  void *Buffers[3] = {};
};
} // namespace

TEST_P(DefinedKernels, Padding) {
  auto *X = static_cast<char *>(Buffers[0]);
  for (size_t K = 0; K < 64; ++K) {
    EXPECT_HIP(hipMemset(X + 16 * K, 1, 2));
    EXPECT_HIP(hipMemset(X + 16 * K + 4, 0, 12));
  }
  EXPECT_CLEAN(run("copy_padded", Buffers[0], Buffers[1], Buffers[2]));
  EXPECT_CLEAN(run("padded_in_scratch", Buffers[1], Buffers[2], 3));
}

TEST_P(DefinedKernels, VectorsOfThree) {
  auto *X = static_cast<char *>(Buffers[0]);
  for (size_t K = 0; K < 64; ++K)
    EXPECT_HIP(hipMemset(X + 16 * K, 0, 12));
  EXPECT_CLEAN(run("vectors_of_three", Buffers[0], Buffers[1], Buffers[2]));
}

TEST_P(DefinedKernels, PartsOfRegisters) {
  EXPECT_CLEAN(run("bit_fields", Buffers[0], 3));
  EXPECT_SAYS(run("bit_fields_bad", Buffers[0], 3),
              "the value stored is not defined");
  EXPECT_CLEAN(run("halves", fill(1), Buffers[0]));
  EXPECT_SAYS(run("halves_bad", fill(1), Buffers[0]),
              "the value stored is not defined");
  EXPECT_CLEAN(run("bytes", fill(1), Buffers[0]));
  EXPECT_CLEAN(run("wide_products", fill(1), Buffers[0], uint64_t(7)));
}

TEST_P(DefinedKernels, Control) {
  EXPECT_CLEAN(run("chosen", fill(1), Buffers[0], 20));
  EXPECT_SAYS(run("chosen_bad", fill(1), Buffers[0], 20),
              "the value stored is not defined");
  EXPECT_CLEAN(run("search", fill(1), Buffers[0], 20));
  EXPECT_SAYS(run("search_bad", fill(1), Buffers[0], 20),
              "the value stored is not defined");
}

TEST_P(DefinedKernels, Lanes) {
  EXPECT_CLEAN(run("neighbours", fill(1), Buffers[0], 20));
  EXPECT_SAYS(run("neighbours_bad", fill(1), Buffers[0], 20),
              "of a lane that was not active");
  EXPECT_CLEAN(run("from_a_lane", fill(1), Buffers[0]));
}

static std::vector<std::tuple<std::string, std::string>> definedTargets() {
  std::vector<std::tuple<std::string, std::string>> Targets;
  std::istringstream Text(LNBWD_SIM_DEFINED_TARGETS);
  for (std::string Chip, Level; Text >> Chip >> Level;)
    Targets.push_back({Chip, Level});
  return Targets;
}

// Without clang there are none.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DefinedKernels);
INSTANTIATE_TEST_SUITE_P(Chips, DefinedKernels,
                         ::testing::ValuesIn(definedTargets()),
                         [](const auto &Info) {
                           return std::get<0>(Info.param) + "_" +
                                  std::get<1>(Info.param);
                         });
