//===- GraphTest.cpp - Captured streams, graphs and times of events -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is captured runs when its graph is launched and not before, with the
// arguments that it was given; and events read the device's clock.
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Hip/HipState.h"

#include "Assembler/Assembler.h"
#include "HipTester.h"
#include "LoadedObject.h"
#include "WaveTester.h"

using namespace lnbwd::sim;

/// A kernel `k` that stores its second argument at its first.
static std::vector<uint8_t> storingKernel() {
  KernelText K;
  K.KernargBytes = 16;
  K.Body = "s_load_dwordx4 s[4:7], s[0:1], 0x0\n"
           "s_waitcnt lgkmcnt(0)\n"
           "v_mov_b32 v1, 0\nv_mov_b32 v2, s6\n"
           "global_store_dword v1, v2, s[4:5]\n";
  std::string Error;
  auto Bytes = assembleCodeObject(kernelText(K, "gfx942"), "gfx942", 5, Error,
                                  K.WaveSize);
  EXPECT_FALSE(Bytes.empty()) << Error;
  return Bytes;
}

namespace {
class GraphTest : public ::testing::Test {
protected:
  void SetUp() override {
    useChip("gfx942");
    ASSERT_HIP(hipStreamCreate(&Stream));
  }
  void TearDown() override { EXPECT_HIP(hipStreamDestroy(Stream)); }

  /// What is captured by `Work`, ready to be launched.
  template <typename Callable> hipGraphExec_t capture(Callable Work) {
    hipGraph_t Graph = nullptr;
    hipGraphExec_t Exec = nullptr;
    EXPECT_HIP(hipStreamBeginCapture(Stream, hipStreamCaptureModeGlobal));
    Work();
    EXPECT_HIP(hipStreamEndCapture(Stream, &Graph));
    EXPECT_HIP(hipGraphInstantiate(&Exec, Graph, nullptr, nullptr, 0));
    EXPECT_HIP(hipGraphDestroy(Graph));
    return Exec;
  }

  hipStream_t Stream = nullptr;
};
} // namespace

TEST_F(GraphTest, RunsWhatWasCapturedWhenItIsLaunched) {
  LoadedModule M(storingKernel());
  Buffer<uint32_t> Out(2), Copy(2);
  hipFunction_t Function = M.function("k");
  hipGraphExec_t Exec = capture([&] {
    void *Pointer = Out.get();
    uint64_t Value = 17;
    void *Parameters[] = {&Pointer, &Value};
    EXPECT_HIP(hipModuleLaunchKernel(Function, 1, 1, 1, 1, 1, 1, 0, Stream,
                                     Parameters, nullptr));
    // What the caller has is gone before the graph runs.
    Pointer = nullptr;
    Value = 0;
    EXPECT_HIP(hipMemcpyAsync(Copy.get(), Out.get(), 8, hipMemcpyDeviceToDevice,
                              Stream));
    EXPECT_HIP(hipMemsetAsync(Out.get(), 0xff, 4, Stream));
    hipStreamCaptureStatus Status;
    EXPECT_HIP(hipStreamIsCapturing(Stream, &Status));
    EXPECT_EQ(Status, hipStreamCaptureStatusActive);
    EXPECT_EQ(hipStreamSynchronize(Stream), hipErrorStreamCaptureUnsupported);
  });
  EXPECT_EQ(Copy.read()[0], 0u);
  for (int Turn = 0; Turn < 2; ++Turn) {
    EXPECT_HIP(hipGraphLaunch(Exec, Stream));
    EXPECT_HIP(hipStreamSynchronize(Stream));
    EXPECT_EQ(Copy.read(), (std::vector<uint32_t>{17, 0}));
    EXPECT_EQ(Out.read(), (std::vector<uint32_t>{0xffffffff, 0}));
  }
  EXPECT_HIP(hipGraphExecDestroy(Exec));
  EXPECT_EQ(hipGraphLaunch(Exec, Stream), hipErrorInvalidValue);
}

TEST_F(GraphTest, KeepsArgumentsThatAreGivenAsABuffer) {
  LoadedModule M(storingKernel());
  Buffer<uint32_t> Out(1);
  hipFunction_t Function = M.function("k");
  hipGraphExec_t Exec = capture([&] {
    uint64_t Arguments[] = {reinterpret_cast<uint64_t>(Out.get()), 5};
    size_t Size = sizeof(Arguments);
    void *Extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, Arguments,
                     HIP_LAUNCH_PARAM_BUFFER_SIZE, &Size, HIP_LAUNCH_PARAM_END};
    EXPECT_HIP(hipModuleLaunchKernel(Function, 1, 1, 1, 1, 1, 1, 0, Stream,
                                     nullptr, Extra));
    Arguments[1] = 0;
  });
  EXPECT_HIP(hipGraphLaunch(Exec, Stream));
  EXPECT_EQ(Out.read()[0], 5u);
  EXPECT_HIP(hipGraphExecDestroy(Exec));
}

TEST_F(GraphTest, RefusesWhatIsNoArrayOfArguments) {
  LoadedModule M(storingKernel());
  hipFunction_t Function = M.function("k");
  uint64_t Arguments[] = {0, 0};
  size_t Size = sizeof(Arguments);
  std::vector<void *> Endless;
  for (unsigned K = 0; K < 5; ++K)
    Endless.insert(Endless.end(), {HIP_LAUNCH_PARAM_BUFFER_POINTER, Arguments});
  void *Unknown[] = {&Size, &Size, HIP_LAUNCH_PARAM_END};
  void *NoSize[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, Arguments,
                    HIP_LAUNCH_PARAM_BUFFER_SIZE, nullptr,
                    HIP_LAUNCH_PARAM_END};
  // A launch and a capture of one say the same.
  auto Refused = [&](void **Extra, const std::string &Problem) {
    for (hipStream_t On : {hipStream_t(nullptr), Stream}) {
      EXPECT_EQ(hipModuleLaunchKernel(Function, 1, 1, 1, 1, 1, 1, 0, On,
                                      nullptr, Extra),
                hipErrorInvalidValue);
      EXPECT_EQ(lnbwdSimLastErrorMessage(),
                "hipModuleLaunchKernel: kernel 'k': " + Problem);
    }
  };
  hipGraphExec_t Exec = capture([&] {
    Refused(Endless.data(), "extra is not ended by HIP_LAUNCH_PARAM_END");
    Refused(Unknown, "extra has an unknown entry");
    Refused(NoSize, "extra has a null pointer after "
                    "HIP_LAUNCH_PARAM_BUFFER_SIZE; expected one to a size_t");
  });
  EXPECT_HIP(hipGraphExecDestroy(Exec));
}

TEST_F(GraphTest, RefusesWhatCannotBeCaptured) {
  hipGraph_t Graph;
  EXPECT_EQ(hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal),
            hipErrorStreamCaptureUnsupported);
  EXPECT_EQ(hipStreamEndCapture(Stream, &Graph), hipErrorIllegalState);
  hipGraphExec_t Exec = capture([&] {
    EXPECT_EQ(hipStreamBeginCapture(Stream, hipStreamCaptureModeGlobal),
              hipErrorIllegalState);
  });
  EXPECT_HIP(hipGraphLaunch(Exec, Stream));
  EXPECT_HIP(hipGraphExecDestroy(Exec));
}

TEST_F(GraphTest, EventsReadTheDevicesClock) {
  LoadedModule M(storingKernel());
  Buffer<uint32_t> Out(1);
  hipEvent_t Start, Stop;
  ASSERT_HIP(hipEventCreate(&Start));
  ASSERT_HIP(hipEventCreate(&Stop));
  auto Time = [&](int Launches, size_t Copied) {
    Buffer<uint8_t> From(Copied + 1), To(Copied + 1);
    EXPECT_HIP(hipEventRecord(Start, Stream));
    for (int I = 0; I < Launches; ++I)
      EXPECT_HIP(
          launch(M.function("k"), dim3(1), dim3(1), 0, Out.get(), uint64_t(1)));
    if (Copied)
      EXPECT_HIP(hipMemcpyAsync(To.get(), From.get(), Copied,
                                hipMemcpyDeviceToDevice, Stream));
    EXPECT_HIP(hipEventRecord(Stop, Stream));
    float Milliseconds = 0;
    EXPECT_HIP(hipEventElapsedTime(&Milliseconds, Start, Stop));
    return Milliseconds * 1e3;
  };
  EXPECT_NEAR(Time(0, 0), EventMicroseconds, 0.1);
  EXPECT_NEAR(Time(10, 0), 10 * LaunchMicroseconds + EventMicroseconds, 0.5);
  // Eight megabytes are read and written at the peak of the MI300X.
  EXPECT_NEAR(Time(0, 8 << 20),
              CopyMicroseconds + EventMicroseconds + 2 * (8 << 20) / 5.3e6,
              0.5);
  // Of an event in a capture nothing is known.
  float Milliseconds = 0;
  hipGraphExec_t Exec =
      capture([&] { EXPECT_HIP(hipEventRecord(Start, Stream)); });
  EXPECT_EQ(hipEventElapsedTime(&Milliseconds, Start, Stop),
            hipErrorInvalidHandle);
  EXPECT_HIP(hipGraphExecDestroy(Exec));
  EXPECT_HIP(hipEventDestroy(Start));
  EXPECT_HIP(hipEventDestroy(Stop));
}
