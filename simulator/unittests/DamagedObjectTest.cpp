//===- DamagedObjectTest.cpp - Code objects with random damage ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled kernels of which bytes were changed or cut off are refused, or run
// under all checks to some end: nothing crashes, and nothing runs for ever.
// LNBWD_SIM_DAMAGED is how many there are for each chip, LNBWD_SIM_DAMAGED_SEED
// the first one's number, which is printed if that is set: thousands are for
// whoever looks for faults, the same few for every run of the tests.
//
//===----------------------------------------------------------------------===//

#include "HipTester.h"
#include "TestKernels.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace lnbwd::sim;

namespace {
class DamagedObjects : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    const auto Object =
        testKernels("defined-" + std::string(GetParam()) + "-O2");
    Code.assign(Object.begin(), Object.end());
    if (Code.empty())
      GTEST_SKIP() << NoTestKernels;
    useChip(GetParam());
    Before = lnbwdSimGetChecks();
    lnbwdSimSetChecks(LNBWD_SIM_CHECK_ALL);
    if (const char *Limit = std::getenv(LimitVariable))
      LimitBefore = Limit;
    setenv(LimitVariable, "20000", 1);
    EXPECT_HIP(hipMalloc(&Memory, Bytes));
    EXPECT_HIP(hipMemset(Memory, 0, Bytes));
  }
  void TearDown() override {
    if (!Memory)
      return;
    (void)hipFree(Memory);
    lnbwdSimSetChecks(Before);
    if (LimitBefore.empty())
      unsetenv(LimitVariable);
    else
      setenv(LimitVariable, LimitBefore.c_str(), 1);
  }
  std::vector<char> damaged(std::mt19937 &Random) const;
  void run(const std::vector<char> &Object, std::mt19937 &Random);

  static constexpr const char *LimitVariable = "LNBWD_SIM_MAX_INSTRUCTIONS";
  static constexpr size_t Bytes = 4096;
  std::vector<char> Code;
  std::string LimitBefore;
  unsigned Before = 0;
  void *Memory = nullptr;
};
} // namespace

std::vector<char> DamagedObjects::damaged(std::mt19937 &Random) const {
  std::vector<char> Object = Code;
  auto Below = [&](size_t Limit) { return size_t(Random()) % Limit; };
  if (Below(10) == 0)
    Object.resize(Below(Object.size()));
  // The headers, notes and descriptors at the beginning, or anything.
  const size_t End =
      Below(2) ? Object.size() : std::min<size_t>(Object.size(), 0x1000);
  for (size_t Left = 1 + Below(8); Left && End; --Left) {
    char &Byte = Object[Below(End)];
    switch (Below(4)) {
    case 0:
      Byte = char(Random());
      break;
    case 1:
      Byte = char(Byte ^ (1 << Below(8)));
      break;
    case 2:
      Byte = 0;
      break;
    default:
      Byte = char(0xff);
      break;
    }
  }
  return Object;
}

void DamagedObjects::run(const std::vector<char> &Object,
                         std::mt19937 &Random) {
  // The end of the object is the end of what may be read, as in a file: the
  // size is in its headers, which are damaged, too.
  std::vector<char> Padded = Object;
  Padded.resize(Object.size() + (1 << 16));
  hipModule_t Module = nullptr;
  if (hipModuleLoadData(&Module, Padded.data()) != hipSuccess)
    return;
  static const char *const Names[] = {
      "copy_padded", "bit_fields", "halves", "chosen",
      "search",      "neighbours", "bytes",  "padded_in_scratch"};
  hipFunction_t Function = nullptr;
  if (hipModuleGetFunction(&Function, Module, Names[Random() % 8]) ==
      hipSuccess) {
    void *Arguments[32];
    std::fill_n(Arguments, 32, Memory);
    size_t Size = sizeof(Arguments);
    void *Extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, Arguments,
                     HIP_LAUNCH_PARAM_BUFFER_SIZE, &Size, HIP_LAUNCH_PARAM_END};
    (void)hipModuleLaunchKernel(Function, 2, 1, 1, 64, 1, 1, 0, nullptr,
                                nullptr, Extra);
  }
  EXPECT_HIP(hipModuleUnload(Module));
}

TEST_P(DamagedObjects, EndSomehow) {
  const char *Count = std::getenv("LNBWD_SIM_DAMAGED");
  const char *Seed = std::getenv("LNBWD_SIM_DAMAGED_SEED");
  const unsigned First = Seed ? unsigned(std::atoi(Seed)) : 1;
  const unsigned Number = Count         ? unsigned(std::atoi(Count))
                          : isFullRun() ? 1000
                                        : 10;
  for (unsigned K = First; K < First + Number; ++K) {
    if (Seed) {
      std::printf("%u\n", K);
      std::fflush(stdout);
    }
    std::mt19937 Random(K);
    run(damaged(Random), Random);
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, DamagedObjects,
                         ::testing::Values("gfx90a", "gfx942", "gfx950",
                                           "gfx1100", "gfx1201"),
                         [](const auto &Info) {
                           return std::string(Info.param);
                         });
