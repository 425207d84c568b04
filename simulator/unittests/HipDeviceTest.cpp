//===- HipDeviceTest.cpp - Devices, memory and streams of HIP -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the exported functions say of the simulated devices, and their memory,
// streams and events.
//
//===----------------------------------------------------------------------===//

#include "HipTester.h"

#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <thread>

using namespace lnbwd::sim;

TEST(HipDevice, Properties) {
  int Count = 0;
  EXPECT_HIP(hipInit(0));
  EXPECT_HIP(hipGetDeviceCount(&Count));
  ASSERT_EQ(Count, int(NumChips));
  // Of the wave32 chips HIP counts workgroup processors, pairs of compute
  // units.
  struct Expectation {
    const char *Arch;
    int Units, WaveSize;
    unsigned LdsBytes;
  };
  const std::map<std::string, Expectation> Expected = {
      {"gfx908", {"gfx908:sramecc+:xnack-", 120, 64, 65536}},
      {"gfx90a", {"gfx90a:sramecc+:xnack-", 104, 64, 65536}},
      {"gfx942", {"gfx942:sramecc+:xnack-", 304, 64, 65536}},
      {"gfx950", {"gfx950:sramecc+:xnack-", 256, 64, 163840}},
      {"gfx1030", {"gfx1030", 40, 32, 65536}},
      {"gfx1100", {"gfx1100", 48, 32, 65536}},
      {"gfx1201", {"gfx1201", 32, 32, 65536}}};
  for (int D = 0; D < Count; ++D) {
    hipDeviceProp_t P;
    ASSERT_HIP(hipGetDeviceProperties(&P, D));
    auto It = Expected.find(Chips[D].Chip);
    if (It == Expected.end())
      continue;
    EXPECT_STREQ(P.gcnArchName, It->second.Arch);
    EXPECT_EQ(P.multiProcessorCount, It->second.Units);
    EXPECT_EQ(P.warpSize, It->second.WaveSize);
    EXPECT_EQ(P.major, int(Chips[D].Generation));
    EXPECT_EQ(P.minor, It->first == "gfx942"    ? 4
                       : It->first == "gfx950"  ? 5
                       : It->first == "gfx1030" ? 3
                                                : 0);
    EXPECT_EQ(P.maxThreadsPerBlock, 1024);
    EXPECT_EQ(P.sharedMemPerBlock, It->second.LdsBytes);
    EXPECT_NE(std::string(P.name).find("(simulated)"), std::string::npos);
    int Value = 0;
    EXPECT_HIP(hipDeviceGetAttribute(&Value,
                                     hipDeviceAttributeMultiprocessorCount, D));
    EXPECT_EQ(Value, It->second.Units);
    EXPECT_HIP(hipDeviceGetAttribute(
        &Value, hipDeviceAttributePhysicalMultiProcessorCount, D));
    EXPECT_EQ(Value, It->second.Units);
    EXPECT_EQ(P.maxThreadsPerMultiProcessor,
              It->first == "gfx908" ? 2560 : 2048);
    setenv("GPU_ENABLE_WGP_MODE", "0", 1);
    EXPECT_HIP(hipDeviceGetAttribute(&Value,
                                     hipDeviceAttributeMultiprocessorCount, D));
    EXPECT_EQ(Value, int(Chips[D].unitsTogether()) * It->second.Units);
    unsetenv("GPU_ENABLE_WGP_MODE");
    char Name[64];
    EXPECT_HIP(hipDeviceGetName(Name, sizeof(Name), D));
    EXPECT_STREQ(Name, P.name);
    size_t Bytes = 0;
    EXPECT_HIP(hipDeviceTotalMem(&Bytes, D));
    EXPECT_EQ(Bytes, P.totalGlobalMem);
  }
  hipDeviceProp_t P;
  EXPECT_EQ(hipGetDeviceProperties(&P, int(NumChips)), hipErrorInvalidDevice);
  EXPECT_NE(std::string(lnbwdSimLastErrorMessage())
                .find("devices 0 to " + std::to_string(NumChips - 1)),
            std::string::npos);
  EXPECT_EQ(hipSetDevice(-1), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetLastError(), hipSuccess);
  EXPECT_STREQ(hipGetErrorName(hipErrorIllegalAddress),
               "hipErrorIllegalAddress");
}

TEST(HipDevice, CurrentDeviceBelongsToTheThread) {
  EXPECT_HIP(hipSetDevice(3));
  int Other = -1;
  std::thread([&] { EXPECT_HIP(hipGetDevice(&Other)); }).join();
  EXPECT_EQ(Other, 0);
  int Mine = -1;
  EXPECT_HIP(hipGetDevice(&Mine));
  EXPECT_EQ(Mine, 3);
}

TEST(HipMemory, AllocateCopyFill) {
  EXPECT_HIP(hipSetDevice(1));
  size_t Free0, Free1, Total;
  EXPECT_HIP(hipMemGetInfo(&Free0, &Total));
  {
    Buffer<uint32_t> B(std::vector<uint32_t>{1, 2, 3, 4});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(B.get()) % 256, 0u);
    EXPECT_HIP(hipMemGetInfo(&Free1, &Total));
    EXPECT_EQ(Free0 - Free1, 16u);
    EXPECT_HIP(hipMemset(B.get(), 0xab, 4));
    EXPECT_HIP(hipMemsetD32(static_cast<uint32_t *>(B.get()) + 2, 77, 2));
    EXPECT_EQ(B.read(), (std::vector<uint32_t>{0xabababab, 2, 77, 77}));
    // Ranges that run over the end, host pointers as device pointers.
    EXPECT_EQ(hipMemset(B.get(), 0, 17), hipErrorInvalidValue);
    EXPECT_NE(std::string(lnbwdSimLastErrorMessage()).find("run over the end"),
              std::string::npos);
    uint32_t Host[8];
    EXPECT_EQ(hipMemcpy(Host, Host + 4, 16, hipMemcpyHostToDevice),
              hipErrorInvalidValue);
    hipPointerAttribute_t A;
    EXPECT_HIP(hipPointerGetAttributes(&A, B.get()));
    EXPECT_EQ(A.memoryType, hipMemoryTypeDevice);
    EXPECT_EQ(A.device, 1);
    EXPECT_EQ(hipPointerGetAttributes(&A, Host), hipErrorInvalidValue);
  }
  EXPECT_HIP(hipMemGetInfo(&Free1, &Total));
  EXPECT_EQ(Free0, Free1);
  void *P;
  EXPECT_EQ(hipMalloc(&P, Total + 1), hipErrorOutOfMemory);
  EXPECT_NE(std::string(lnbwdSimLastErrorMessage()).find("LNBWD_SIM_MEMORY_MB"),
            std::string::npos);
  EXPECT_EQ(hipFree(&P), hipErrorInvalidValue);
  EXPECT_HIP(hipFree(nullptr));
  EXPECT_HIP(hipHostMalloc(&P, 64, 0));
  hipPointerAttribute_t A;
  EXPECT_HIP(hipPointerGetAttributes(&A, P));
  EXPECT_EQ(A.memoryType, hipMemoryTypeHost);
  EXPECT_EQ(hipFree(P), hipErrorInvalidValue);
  EXPECT_HIP(hipHostFree(P));
}

TEST(HipMemory, RegisteredHostMemory) {
  std::vector<float> Host(64, 1.0f);
  const size_t Bytes = Host.size() * sizeof(float);
  EXPECT_HIP(hipHostRegister(Host.data(), Bytes, 0));
  EXPECT_EQ(hipHostRegister(Host.data() + 1, 4, 0),
            hipErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(hipHostRegister(nullptr, 4, 0), hipErrorInvalidValue);
  void *Device = nullptr;
  EXPECT_HIP(hipHostGetDevicePointer(&Device, Host.data(), 0));
  EXPECT_EQ(Device, Host.data());
  // Nothing beyond it belongs to it, and HIP does not free it.
  EXPECT_EQ(hipHostGetDevicePointer(&Device, Host.data() + 64, 0),
            hipErrorInvalidValue);
  EXPECT_EQ(hipHostFree(Host.data()), hipErrorInvalidValue);
  EXPECT_HIP(hipMemset(Host.data(), 0, Bytes));
  EXPECT_EQ(Host.back(), 0.0f);
  EXPECT_HIP(hipHostUnregister(Host.data()));
  EXPECT_EQ(hipHostUnregister(Host.data()), hipErrorHostMemoryNotRegistered);
  EXPECT_EQ(hipHostGetDevicePointer(&Device, Host.data(), 0),
            hipErrorInvalidValue);
}

TEST(HipMemory, PointerAttributes) {
  Buffer<float> B(16);
  auto *Inside = static_cast<char *>(B.get()) + 8;
  void *Device = nullptr, *Start = nullptr;
  size_t Size = 0;
  EXPECT_HIP(hipPointerGetAttribute(
      &Device, HIP_POINTER_ATTRIBUTE_DEVICE_POINTER, Inside));
  EXPECT_EQ(Device, Inside);
  EXPECT_HIP(hipPointerGetAttribute(
      &Start, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR, Inside));
  EXPECT_EQ(Start, B.get());
  EXPECT_HIP(
      hipPointerGetAttribute(&Size, HIP_POINTER_ATTRIBUTE_RANGE_SIZE, Inside));
  EXPECT_EQ(Size, 64u);
  EXPECT_EQ(hipPointerGetAttribute(&Device, HIP_POINTER_ATTRIBUTE_HOST_POINTER,
                                   Inside),
            hipErrorInvalidValue);
  float Stack = 0;
  EXPECT_EQ(hipPointerGetAttribute(
                &Device, HIP_POINTER_ATTRIBUTE_DEVICE_POINTER, &Stack),
            hipErrorInvalidValue);
}

/// As a client does that knows no more than the library's name.
TEST(HipDevice, FunctionsByName) {
  void *Library = dlopen(nullptr, RTLD_LAZY);
  auto Lookup = reinterpret_cast<hipError_t (*)(const char *, void **, int,
                                                uint64_t, int *)>(
      dlsym(Library, "hipGetProcAddress"));
  ASSERT_TRUE(Lookup);
  int Version = 0, Status = -1;
  EXPECT_HIP(hipDriverGetVersion(&Version));
  EXPECT_GE(Version, 60000000);
  void *Function = nullptr, *Old = nullptr;
  EXPECT_HIP(Lookup("hipMalloc", &Function, Version, 0, &Status));
  EXPECT_EQ(Status, 0);
  EXPECT_EQ(Function, dlsym(Library, "hipMalloc"));
  EXPECT_HIP(Lookup("hipGetDeviceProperties", &Function, Version, 0, nullptr));
  EXPECT_EQ(Function, dlsym(Library, "hipGetDevicePropertiesR0600"));
  EXPECT_HIP(Lookup("hipGetDeviceProperties", &Old, 500, 0, nullptr));
  EXPECT_NE(Function, Old);
  EXPECT_EQ(Lookup("hipNoSuchFunction", &Function, Version, 0, &Status),
            hipErrorInvalidValue);
  EXPECT_EQ(Status, 1);
  EXPECT_EQ(Function, nullptr);
}

TEST(HipDevice, StreamsAndEvents) {
  hipStream_t S;
  hipEvent_t A, B;
  ASSERT_HIP(hipStreamCreate(&S));
  ASSERT_HIP(hipEventCreate(&A));
  ASSERT_HIP(hipEventCreateWithFlags(&B, 0));
  float Time = -1;
  EXPECT_EQ(hipEventElapsedTime(&Time, A, B), hipErrorInvalidHandle);
  EXPECT_HIP(hipEventRecord(A, S));
  EXPECT_HIP(hipEventRecord(B, S));
  EXPECT_HIP(hipEventSynchronize(B));
  EXPECT_HIP(hipEventQuery(B));
  EXPECT_HIP(hipEventElapsedTime(&Time, A, B));
  EXPECT_GE(Time, 0.0f);
  EXPECT_HIP(hipStreamWaitEvent(S, B, 0));
  EXPECT_HIP(hipStreamSynchronize(S));
  EXPECT_HIP(hipStreamSynchronize(nullptr));
  EXPECT_HIP(hipDeviceSynchronize());
  EXPECT_HIP(hipEventDestroy(A));
  EXPECT_HIP(hipEventDestroy(B));
  EXPECT_HIP(hipStreamDestroy(S));
  EXPECT_EQ(hipStreamDestroy(S), hipErrorInvalidHandle);
  EXPECT_EQ(hipEventQuery(A), hipErrorInvalidHandle);
}
