//===- HipProgramTest.cpp - What compiled HIP programs need ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bundles of code objects, whole and damaged, and the functions that programs
// call beside those of the runner. Whole programs: test/Tools.
//
//===----------------------------------------------------------------------===//

#include "HipTester.h"
#include "LoadedObject.h"
#include "WaveTester.h"

#include "Hip/DeviceProperties.h"

#include "llvm/Object/OffloadBundle.h"
#include "llvm/Support/MemoryBuffer.h"

#include <random>

using namespace lnbwd::sim;

static std::vector<uint8_t> objectFor(const std::string &Chip) {
  KernelText K;
  K.Body = "s_endpgm\n";
  std::string Error;
  auto Code = assembleCodeObject(kernelText(K, Chip), Chip, 5, Error);
  EXPECT_FALSE(Code.empty()) << Error;
  return Code;
}

using Entries = std::vector<std::pair<std::string, std::vector<uint8_t>>>;

static std::vector<uint8_t> bundle(const Entries &Objects) {
  std::vector<uint8_t> Head, Body;
  auto Number = [&](uint64_t Value) {
    for (unsigned K = 0; K < 8; ++K)
      Head.push_back(uint8_t(Value >> 8 * K));
  };
  auto Text = [&](const std::string &S) {
    Head.insert(Head.end(), S.begin(), S.end());
  };
  size_t Begin = 24 + 8;
  for (const auto &[Name, Code] : Objects)
    Begin += 24 + Name.size();
  Text("__CLANG_OFFLOAD_BUNDLE__");
  Number(Objects.size());
  for (const auto &[Name, Code] : Objects) {
    Number(Begin + Body.size());
    Number(Code.size());
    Number(Name.size());
    Text(Name);
    Body.insert(Body.end(), Code.begin(), Code.end());
  }
  Head.insert(Head.end(), Body.begin(), Body.end());
  return Head;
}

static std::vector<uint8_t> twoChips() {
  return bundle(
      {{"host-x86_64-unknown-linux-gnu-", {}},
       {"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", {1, 2, 3}},
       {"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", objectFor("gfx90a")},
       {"hipv4-amdgcn-amd-amdhsa--gfx1100", objectFor("gfx1100")}});
}

/// What hipModuleLoadData says of an image; "" if it can be loaded.
static std::string problem(const std::vector<uint8_t> &Image) {
  hipModule_t Module;
  if (hipModuleLoadData(&Module, Image.data()) != hipSuccess)
    return hipMessage(hipPeekAtLastError());
  EXPECT_HIP(hipModuleUnload(Module));
  return "";
}

TEST(Program, BundlesHoldTheChipsObject) {
  const auto Image = twoChips();
  for (const char *Chip : {"gfx90a", "gfx1100"}) {
    useChip(Chip);
    EXPECT_EQ(problem(Image), "") << Chip;
  }
  useChip("gfx942");
  EXPECT_NE(problem(Image).find(
                "hipErrorNoBinaryForGpu: hipModuleLoadData: there is no code "
                "for gfx942:sramecc+:xnack-, but the device is that; there is "
                "code for: gfx90a:xnack+, gfx90a:xnack-, gfx1100"),
            std::string::npos)
      << problem(Image);
}

TEST(Program, DamagedBundles) {
  useChip("gfx90a");
  const auto Plain = twoChips();
  std::vector<std::vector<uint8_t>> Images = {Plain};
  const auto Buffer = llvm::MemoryBuffer::getMemBuffer(
      llvm::StringRef(reinterpret_cast<const char *>(Plain.data()),
                      Plain.size()),
      "", false);
  for (unsigned Version : {2, 3}) {
    auto Folded = llvm::object::CompressedOffloadBundle::compress(
        llvm::compression::Params(llvm::compression::Format::Zlib), *Buffer,
        uint16_t(Version));
    ASSERT_TRUE(bool(Folded));
    Images.emplace_back((*Folded)->getBufferStart(), (*Folded)->getBufferEnd());
  }
  std::mt19937 Random(1);
  for (const auto &Image : Images) {
    EXPECT_EQ(problem(Image), "");
    for (unsigned K = 0; K < 100; ++K) {
      auto Damaged = Image;
      // The magic stays; mostly what follows it is hit.
      const size_t Reach = K % 2 ? 200 : Image.size();
      for (unsigned N = 0; N < 1 + K % 3; ++N)
        Damaged[4 + Random() % (std::min(Reach, Image.size()) - 4)] =
            uint8_t(Random());
      if (K % 5 == 0)
        Damaged.resize(8 + Random() % (Image.size() - 8));
      Damaged.resize(Damaged.size() + (1 << 16));
      (void)problem(Damaged); // It ends.
    }
  }
}

TEST(Program, NewerPropertiesAreTheSame) {
  hipDeviceProp_t Old;
  DevicePropertiesR0600 New;
  for (int Device = 0; Device < int(NumChips); ++Device) {
    ASSERT_HIP(hipGetDeviceProperties(&Old, Device));
    ASSERT_HIP(hipGetDevicePropertiesR0600(&New, Device));
    EXPECT_STREQ(New.GcnArchName, Old.gcnArchName);
    EXPECT_STREQ(New.Name, Old.name);
    EXPECT_EQ(New.WarpSize, Old.warpSize);
    EXPECT_EQ(New.MultiProcessorCount, Old.multiProcessorCount);
    EXPECT_EQ(New.SharedMemPerBlock, Old.sharedMemPerBlock);
  }
  EXPECT_EQ(hipGetDevicePropertiesR0600(&New, -1), hipErrorInvalidDevice);
}

TEST(Program, MemoryOfAllKinds) {
  useChip("gfx942");
  int *Managed;
  ASSERT_HIP(hipMallocManaged(reinterpret_cast<void **>(&Managed), 64, 1));
  Managed[3] = 7;
  hipPointerAttribute_t Attributes;
  ASSERT_HIP(hipPointerGetAttributes(&Attributes, Managed));
  EXPECT_TRUE(Attributes.isManaged);
  void *Device;
  ASSERT_HIP(hipHostGetDevicePointer(&Device, Managed, 0));
  EXPECT_EQ(Device, Managed);
  EXPECT_HIP(hipFree(Managed));
  EXPECT_EQ(hipFree(Managed), hipErrorInvalidValue);

  size_t Pitch;
  ASSERT_HIP(hipMallocPitch(&Device, &Pitch, 10, 3));
  EXPECT_EQ(Pitch, 128u);
  const char Rows[] = "abcdefghijklmnopqrstuvwxyz012";
  char Back[31] = {};
  EXPECT_HIP(
      hipMemcpy2D(Device, Pitch, Rows, 10, 10, 3, hipMemcpyHostToDevice));
  EXPECT_HIP(
      hipMemcpy2D(Back, 10, Device, Pitch, 10, 3, hipMemcpyDeviceToHost));
  EXPECT_STREQ(Back, Rows);
  EXPECT_EQ(hipMemcpy2D(Device, Pitch, Rows, 4, 10, 3, hipMemcpyHostToDevice),
            hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy2D(Device, Pitch, Rows, 10, 10, 4, hipMemcpyHostToDevice),
            hipErrorInvalidValue);
  EXPECT_HIP(hipMemset2D(Device, Pitch, 'z', 2, 2));
  EXPECT_HIP(
      hipMemcpy2D(Back, 10, Device, Pitch, 10, 3, hipMemcpyDeviceToHost));
  EXPECT_STREQ(Back, "zzcdefghijzzmnopqrstuvwxyz012");
  EXPECT_HIP(hipFree(Device));
}

TEST(Program, WhatIsMissingSaysItsName) {
  hipPitchedPtr Pitched;
  EXPECT_EQ(hipMalloc3D(&Pitched, hipExtent{1, 1, 1}), hipErrorNotSupported);
  EXPECT_STREQ(lnbwdSimLastErrorMessage(),
               "hipMalloc3D: the simulator does not have it");
  int Kernel = 0;
  EXPECT_EQ(hipLaunchKernel(&Kernel, dim3(1), dim3(1), nullptr, 0, nullptr),
            hipErrorInvalidDeviceFunction);
  EXPECT_EQ(hipMemcpyToSymbol(&Kernel, &Kernel, 4, 0, hipMemcpyHostToDevice),
            hipErrorInvalidSymbol);
}
