//===- HipTester.h - HIP calls of the tests ---------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small wrappers around the exported HIP functions.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_UNITTESTS_SIMULATOR_HIPTESTER_H
#define LNBWD_UNITTESTS_SIMULATOR_HIPTESTER_H

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>

#include "SimulatedChip.h"

#include "lnbwd/Simulator/SimulatorAPI.h"

#include "gtest/gtest.h"

#include <cstring>
#include <string>
#include <vector>

namespace lnbwd::sim {

inline std::string hipMessage(hipError_t Code) {
  return std::string(hipGetErrorName(Code)) + ": " + lnbwdSimLastErrorMessage();
}
#define EXPECT_HIP(CALL)                                                       \
  do {                                                                         \
    hipError_t Code = (CALL);                                                  \
    EXPECT_EQ(Code, hipSuccess) << hipMessage(Code);                           \
  } while (0)
#define ASSERT_HIP(CALL)                                                       \
  do {                                                                         \
    hipError_t Code = (CALL);                                                  \
    ASSERT_EQ(Code, hipSuccess) << hipMessage(Code);                           \
  } while (0)

/// The HIP device of a chip becomes the current one.
inline void useChip(const std::string &Chip) {
  for (unsigned K = 0; K < NumChips; ++K)
    if (Chip == Chips[K].Chip)
      EXPECT_HIP(hipSetDevice(int(K)));
}

/// A device buffer that holds elements of T.
template <typename T> class Buffer {
public:
  explicit Buffer(const std::vector<T> &Data) : Count(Data.size()) {
    EXPECT_HIP(hipMalloc(&Pointer, Count * sizeof(T)));
    EXPECT_HIP(hipMemcpy(Pointer, Data.data(), Count * sizeof(T),
                         hipMemcpyHostToDevice));
  }
  explicit Buffer(size_t Count) : Buffer(std::vector<T>(Count)) {}
  ~Buffer() { EXPECT_HIP(hipFree(Pointer)); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  std::vector<T> read() const {
    std::vector<T> Data(Count);
    EXPECT_HIP(hipMemcpy(Data.data(), Pointer, Count * sizeof(T),
                         hipMemcpyDeviceToHost));
    return Data;
  }
  void *get() const { return Pointer; }

private:
  void *Pointer = nullptr;
  size_t Count;
};

/// A loaded code object.
class LoadedModule {
public:
  explicit LoadedModule(const std::vector<uint8_t> &Bytes) {
    EXPECT_HIP(hipModuleLoadData(&Module, Bytes.data()));
  }
  ~LoadedModule() {
    if (Module) {
      EXPECT_HIP(hipModuleUnload(Module));
    }
  }
  LoadedModule(const LoadedModule &) = delete;
  LoadedModule &operator=(const LoadedModule &) = delete;
  hipFunction_t function(const char *Name) const {
    hipFunction_t F = nullptr;
    EXPECT_HIP(hipModuleGetFunction(&F, Module, Name));
    return F;
  }
  hipModule_t get() const { return Module; }

private:
  hipModule_t Module = nullptr;
};

/// Launches with the arguments given by value.
template <typename... Args>
hipError_t launch(hipFunction_t F, dim3 Grid, dim3 Block, unsigned Lds,
                  Args... Arguments) {
  void *Parameters[] = {static_cast<void *>(&Arguments)..., nullptr};
  return hipModuleLaunchKernel(F, Grid.x, Grid.y, Grid.z, Block.x, Block.y,
                               Block.z, Lds, nullptr, Parameters, nullptr);
}

} // namespace lnbwd::sim

#endif // LNBWD_UNITTESTS_SIMULATOR_HIPTESTER_H
