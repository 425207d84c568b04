//===- CheckerRedzoneTest.cpp - From one variable into the next -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs/redzones.c, compiled by clang: the last element of a table is clean,
// the one after it is told. Skipped where there is no clang.
//
//===----------------------------------------------------------------------===//

#include "CheckerTester.h"
#include "TestKernels.h"

#include <memory>

using namespace lnbwd::sim;

namespace {
class CheckerRedzones : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    useChip(GetParam());
    const auto Code = testKernels("redzones-" + GetParam() + "-O2");
    if (Code.empty())
      GTEST_SKIP() << NoTestKernels;
    Before = lnbwdSimGetChecks();
    lnbwdSimSetChecks(LNBWD_SIM_CHECK_ALL);
    Module = std::make_unique<LoadedModule>(Code);
    EXPECT_HIP(hipMalloc(&Y, 1024));
    EXPECT_HIP(hipMemset(Y, 0, 1024));
  }
  void TearDown() override {
    (void)hipFree(Y);
    if (Module)
      lnbwdSimSetChecks(Before);
  }
  std::string run(const char *Name, unsigned N) {
    hipError_t Error =
        launch(Module->function(Name), dim3(1), dim3(32), 0, Y, N);
    return Error == hipSuccess ? "" : lnbwdSimLastErrorMessage();
  }
  std::unique_ptr<LoadedModule> Module;
  unsigned Before = 0;
  void *Y = nullptr;
};
} // namespace

TEST_P(CheckerRedzones, Vectors) {
  EXPECT_CLEAN(run("load_item", 32));
  EXPECT_SAYS(run("load_item", 33),
              "lane 31: access of 4 bytes, 256 bytes from the beginning of the "
              "variable 'First' of 256 bytes, is outside of it");
  EXPECT_CLEAN(run("store_item", 32));
  EXPECT_SAYS(run("store_item", 40), "the variable 'First' of 256 bytes");
}

TEST_P(CheckerRedzones, Scalars) {
  EXPECT_CLEAN(run("load_uniform", 3));
  EXPECT_SAYS(run("load_uniform", 4), "the variable 'Third' of 16 bytes");
}

INSTANTIATE_TEST_SUITE_P(Chips, CheckerRedzones,
                         ::testing::Values("gfx90a", "gfx942", "gfx1100",
                                           "gfx1201"),
                         [](const auto &Info) { return Info.param; });
