//===- LaunchTester.h - Kernels for the tests of launches -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pieces of kernels in the spelling of each generation, for launches through
// HIP.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_UNITTESTS_SIMULATOR_LAUNCHTESTER_H
#define LNBWD_UNITTESTS_SIMULATOR_LAUNCHTESTER_H

#include "Assembler/Assembler.h"
#include "HipTester.h"
#include "WaveTester.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lnbwd::sim {

/// Assembles a kernel named k.
inline std::vector<uint8_t> build(const KernelText &K,
                                  const std::string &Chip) {
  std::string Error;
  auto Bytes =
      assembleCodeObject(kernelText(K, Chip), Chip, 5, Error, K.WaveSize);
  EXPECT_FALSE(Bytes.empty()) << Error;
  return Bytes;
}

/// "load the first argument to s[4:5], the workgroup's number is in s3".
inline std::string prologue(const std::string &Chip) {
  std::string S = isGfx9(Chip) ? "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                               : "s_load_b64 s[4:5], s[0:1], 0x0\n";
  S += isGfx12(Chip) ? "s_wait_kmcnt 0x0\n" : "s_waitcnt lgkmcnt(0)\n";
  S += std::string("s_mov_b32 s3, ") + (isGfx12(Chip) ? "ttmp9" : "s2") + "\n";
  return S;
}
inline std::string storeDword(const std::string &Chip) {
  return isGfx9(Chip) ? "global_store_dword " : "global_store_b32 ";
}
inline std::string barrier(const std::string &Chip) {
  return isGfx12(Chip) ? "s_barrier_signal -1\ns_barrier_wait -1\n"
                       : "s_barrier\n";
}
inline std::string waitLds(const std::string &Chip) {
  return isGfx12(Chip) ? "s_wait_dscnt 0x0\n" : "s_waitcnt lgkmcnt(0)\n";
}
inline std::string add(const std::string &Chip) {
  return isGfx9(Chip) ? "v_add_u32 " : "v_add_nc_u32 ";
}

} // namespace lnbwd::sim

#endif // LNBWD_UNITTESTS_SIMULATOR_LAUNCHTESTER_H
