//===- CheckedKernels.h - Compiled kernels under all checks -----*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the tests of checked kernels in C share: three buffers, which each
// kernel takes, and launches that tell what was found.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_UNITTESTS_SIMULATOR_CHECKEDKERNELS_H
#define LNBWD_UNITTESTS_SIMULATOR_CHECKEDKERNELS_H

#include "HipTester.h"
#include "TestKernels.h"
#include "WaveTester.h"

#include <memory>
#include <string>

namespace lnbwd::sim {

/// Tests of the kernels of a file of Inputs/ on a chip, skipped where they were
/// not compiled.
template <typename Param>
class CheckedKernels : public ::testing::TestWithParam<Param> {
protected:
  /// Loads Inputs/<Source>.c as it was compiled for a chip at a level.
  void load(const std::string &Source, const std::string &OnChip,
            const std::string &Level) {
    Chip = OnChip;
    useChip(Chip);
    const auto Code = testKernels(Source + "-" + Chip + "-" + Level);
    if (Code.empty())
      GTEST_SKIP() << NoTestKernels;
    Before = lnbwdSimGetChecks();
    lnbwdSimSetChecks(LNBWD_SIM_CHECK_ALL);
    Module = std::make_unique<LoadedModule>(Code);
    for (void *&B : Buffers)
      EXPECT_HIP(hipMalloc(&B, Bytes));
  }
  /// And then those of another file, for the same chip.
  void use(const std::string &Source, const std::string &Level) {
    Module = std::make_unique<LoadedModule>(
        testKernels(Source + "-" + Chip + "-" + Level));
  }
  void TearDown() override {
    if (!Module)
      return;
    for (void *B : Buffers)
      EXPECT_HIP(hipFree(B));
    Module.reset();
    lnbwdSimSetChecks(Before);
  }
  /// What is said of a launch, or "".
  std::string launchOnBuffers(const std::string &Name, unsigned Workgroups,
                              unsigned Waves) {
    const unsigned Wave = isGfx9(Chip) ? 64 : 32;
    const hipError_t Code =
        launch(Module->function(Name.c_str()), dim3(Workgroups),
               dim3(Waves * Wave), 0, Buffers[0], Buffers[1], Buffers[2]);
    return Code == hipSuccess ? "" : lnbwdSimLastErrorMessage();
  }

  static constexpr size_t Bytes = 16384;
  std::string Chip;
  std::unique_ptr<LoadedModule> Module;
  void *Buffers[3] = {};

private:
  unsigned Before = 0;
};

} // namespace lnbwd::sim

#endif // LNBWD_UNITTESTS_SIMULATOR_CHECKEDKERNELS_H
