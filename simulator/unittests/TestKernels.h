//===- TestKernels.h - Kernels that clang has compiled ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code objects that the build makes of Inputs/*.c, where there is a clang
// beside LLVM's tools; and whether all cases are wanted or a sample.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_UNITTESTS_SIMULATOR_TESTKERNELS_H
#define LNBWD_UNITTESTS_SIMULATOR_TESTKERNELS_H

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace lnbwd::sim {

/// The bytes of NAME.hsaco; none if it was not compiled.
inline std::vector<uint8_t> testKernels(const std::string &Name) {
  std::ifstream File(LNBWD_SIM_TEST_KERNELS "/" + Name + ".hsaco",
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(File),
          std::istreambuf_iterator<char>()};
}
/// Whether scripts/test.sh --full runs the tests.
inline bool isFullRun() { return std::getenv("LNBWD_TEST_FULL") != nullptr; }
inline const char *const NoTestKernels =
    "the kernels were not compiled: no clang beside LLVM's tools";

} // namespace lnbwd::sim

#endif // LNBWD_UNITTESTS_SIMULATOR_TESTKERNELS_H
