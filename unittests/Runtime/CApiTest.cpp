//===- CApiTest.cpp - The runtime through its C interface -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches on drivers that only write down what they are asked for, so that
// every number that reaches a driver is checked, and every refusal.
//
//===----------------------------------------------------------------------===//

#include "TestPrograms.h"
#include "lnbwd/Runtime/lnbwd_runtime.h"

#include "gtest/gtest.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <unistd.h>
#include <utility>
#include <vector>

using lnbwd::test::exampleMetadata;
using lnbwd::test::examplePlan;
using lnbwd::test::groupedPlan;
using lnbwd::test::makeHsaco;
using lnbwd::test::makePtx;
using nlohmann::json;

namespace {

/// Sets an environment variable for the time of a test.
class Environment {
public:
  Environment(const char *name, const char *value) : name(name) {
    setenv(name, value, 1);
  }
  ~Environment() { unsetenv(name); }
  Environment(const Environment &) = delete;
  Environment &operator=(const Environment &) = delete;

private:
  const char *name;
};

} // namespace

static json cudaPlan() {
  json plan = examplePlan();
  plan["chip"] = "sm_80";
  plan["wave_size"] = 32;
  return plan;
}

static lnbwd_program *makeProgram(const std::string &bytes) {
  lnbwd_program *program = nullptr;
  EXPECT_EQ(
      lnbwd_program_from_memory(bytes.data(), bytes.size(), nullptr, &program),
      LNBWD_SUCCESS)
      << lnbwd_last_error();
  return program;
}

namespace {

class CApiTest : public testing::Test {
protected:
  CApiTest()
      : hipLibrary("LNBWD_HIP_LIBRARY", FAKE_HIP_LIBRARY),
        cudaLibrary("LNBWD_CUDA_LIBRARY", FAKE_CUDA_LIBRARY) {}
  ~CApiTest() override { close(); }

  /// Gives everything back, so that a test may start again.
  void close() {
    unload();
    lnbwd_device_close(std::exchange(device, nullptr));
  }
  void unload() {
    lnbwd_kernel_destroy(std::exchange(kernel, nullptr));
    lnbwd_program_destroy(std::exchange(program, nullptr));
  }

  void open(const char *spec) {
    ASSERT_EQ(lnbwd_device_open(spec, nullptr, &device), LNBWD_SUCCESS)
        << lnbwd_last_error();
  }
  void load(const std::string &bytes) {
    program = makeProgram(bytes);
    ASSERT_NE(program, nullptr);
    ASSERT_EQ(lnbwd_kernel_load(device, program, &kernel), LNBWD_SUCCESS)
        << lnbwd_last_error();
  }
  void loadExample() {
    open("hip");
    load(makeHsaco(examplePlan(), exampleMetadata()));
    notes();
  }
  std::string notes(const char *function = "fakeHipNotes") {
    auto get = reinterpret_cast<const char *(*)()>(
        lnbwd_device_symbol(device, function));
    EXPECT_NE(get, nullptr);
    return get ? get() : "";
  }
  /// Made-up device addresses: argument i at 0x10000 * (i + 1).
  static std::vector<void *> arguments() {
    std::vector<void *> result;
    for (uintptr_t i = 1; i <= 8; ++i)
      result.push_back(reinterpret_cast<void *>(i * 0x10000));
    return result;
  }
  static void *workspace() { return reinterpret_cast<void *>(0x900000); }
  lnbwd_status launch(int64_t rows, const std::vector<void *> &pointers,
                      void *space, size_t bytes, void *stream = nullptr) {
    return lnbwd_kernel_launch(kernel, pointers.data(), pointers.size(), rows,
                               0, space, bytes, stream);
  }

  Environment hipLibrary;
  Environment cudaLibrary;
  lnbwd_device *device = nullptr;
  lnbwd_program *program = nullptr;
  lnbwd_kernel *kernel = nullptr;
};

TEST_F(CApiTest, DescribesTheProgram) {
  loadExample();
  EXPECT_STREQ(lnbwd_program_name(program), "layer_norm_bwd");
  EXPECT_STREQ(lnbwd_program_chip(program), "gfx942");
  EXPECT_STREQ(lnbwd_program_format(program), "hsaco");
  EXPECT_EQ(json::parse(lnbwd_program_plan(program)), examplePlan());
  ASSERT_EQ(lnbwd_program_argument_count(program), 8U);
  lnbwd_argument_info info;
  ASSERT_EQ(lnbwd_program_argument(program, 6, &info), LNBWD_SUCCESS);
  EXPECT_STREQ(info.name, "dgamma");
  EXPECT_EQ(info.access, LNBWD_ACCESS_WRITE);
  EXPECT_EQ(info.kind, LNBWD_ARGUMENT_COLUMN);
  EXPECT_EQ(info.element, LNBWD_ELEMENT_F32);
  EXPECT_EQ(info.row_length, 4096);
  EXPECT_EQ(info.row_stride, 4096);
  size_t bytes = 0;
  ASSERT_EQ(lnbwd_program_argument_size(program, 0, 10, 0, &bytes),
            LNBWD_SUCCESS);
  EXPECT_EQ(bytes, 10U * 4096 * 2);
  EXPECT_EQ(lnbwd_program_argument(program, 8, &info),
            LNBWD_ERROR_INVALID_ARGUMENT);
  EXPECT_CONTAINS(lnbwd_last_error(), "expected one below 8, got 8");
  EXPECT_EQ(lnbwd_program_argument_size(program, 0, -1, 0, &bytes),
            LNBWD_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(lnbwd_program_argument_size(
                program, 0, std::numeric_limits<int64_t>::max(), 0, &bytes),
            LNBWD_ERROR_TOO_LARGE);
}

TEST_F(CApiTest, DescribesTheDevice) {
  open("hip:0");
  lnbwd_device_info info;
  ASSERT_EQ(lnbwd_device_get_info(device, &info), LNBWD_SUCCESS);
  EXPECT_STREQ(info.name, "Fake card");
  EXPECT_STREQ(info.arch, "gfx942:sramecc+:xnack-");
  EXPECT_EQ(info.compute_units, 304);
  EXPECT_EQ(info.wave_size, 64);
  EXPECT_EQ(info.l2_bytes, uint64_t(4) << 20);
  EXPECT_EQ(info.memory_bytes, uint64_t(1) << 31);
  EXPECT_EQ(info.is_simulated, 0);
  uint64_t free = 0;
  ASSERT_EQ(lnbwd_device_memory(device, &free, nullptr), LNBWD_SUCCESS);
  EXPECT_EQ(free, uint64_t(1) << 30);
}

// From gfx10 on, HIP counts workgroup processors, or compute units on request.
TEST_F(CApiTest, CountsTheComputeUnitsOfRdna) {
  Environment mode("FAKE_HIP", "rdna");
  open("hip");
  lnbwd_device_info info;
  ASSERT_EQ(lnbwd_device_get_info(device, &info), LNBWD_SUCCESS);
  EXPECT_STREQ(info.arch, "gfx1100");
  EXPECT_EQ(info.compute_units, 96);
}

TEST_F(CApiTest, CountsTheComputeUnitsOfRdnaOneByOne) {
  Environment mode("FAKE_HIP", "rdna-units");
  Environment wgp("GPU_ENABLE_WGP_MODE", "0");
  open("hip");
  lnbwd_device_info info;
  ASSERT_EQ(lnbwd_device_get_info(device, &info), LNBWD_SUCCESS);
  EXPECT_EQ(info.compute_units, 96);
}

TEST_F(CApiTest, ReadsTheLayoutOfRocm6Too) {
  Environment mode("FAKE_HIP", "layout-6");
  open("hip");
  lnbwd_device_info info;
  ASSERT_EQ(lnbwd_device_get_info(device, &info), LNBWD_SUCCESS);
  EXPECT_STREQ(info.arch, "gfx942:sramecc+:xnack-");
}

TEST_F(CApiTest, LaunchesAllKernelsInOrder) {
  loadExample();
  size_t bytes = 0;
  ASSERT_EQ(lnbwd_kernel_workspace_size(kernel, 9, 0, &bytes), LNBWD_SUCCESS);
  // 9 rows are 3 workgroups: 3 rows of 4096 floats, then 33 floats.
  EXPECT_EQ(bytes, 3U * 4096 * 4 + 256);
  ASSERT_EQ(launch(9, arguments(), workspace(), bytes,
                   reinterpret_cast<void *>(0x77)),
            LNBWD_SUCCESS)
      << lnbwd_last_error();
  EXPECT_EQ(notes(),
            "main device 0 grid 3,1,1 block 256,1,1 shared 0 stream 77 "
            "parameters 10000 20000 30000 40000 50000 60000 900000 90c000 9 "
            "3\n"
            "finalize device 0 grid 128,2,1 block 64,2,1 shared 512 stream 77 "
            "parameters 900000 90c000 70000 80000 3\n");
  // The caller's own device is current again.
  auto current = reinterpret_cast<int (*)()>(
      lnbwd_device_symbol(device, "fakeHipCurrentDevice"));
  EXPECT_EQ(current(), 3);
  ASSERT_EQ(lnbwd_device_make_current(device), LNBWD_SUCCESS);
  EXPECT_EQ(current(), 0);
  auto setDevice = reinterpret_cast<int (*)(int)>(
      lnbwd_device_symbol(device, "hipSetDevice"));
  setDevice(3);
}

TEST_F(CApiTest, TheGridIsBoundByTheComputeUnits) {
  loadExample();
  size_t bytes = 0;
  ASSERT_EQ(lnbwd_kernel_workspace_size(kernel, 1 << 30, 0, &bytes),
            LNBWD_SUCCESS);
  EXPECT_EQ(bytes, 608U * 4096 * 4 + 256);
  ASSERT_EQ(launch(1 << 30, arguments(), workspace(), bytes), LNBWD_SUCCESS);
  EXPECT_CONTAINS(notes(), "grid 608,1,1");
}

TEST_F(CApiTest, LaunchesProgramsWithGroupsOfRows) {
  open("hip");
  load(makeHsaco(groupedPlan(), exampleMetadata()));
  notes();
  lnbwd_argument_info info;
  ASSERT_EQ(lnbwd_program_argument(program, 6, &info), LNBWD_SUCCESS);
  EXPECT_EQ(info.kind, LNBWD_ARGUMENT_GROUP_COLUMN);
  size_t bytes = 0;
  ASSERT_EQ(lnbwd_program_argument_size(program, 6, 60, 5, &bytes),
            LNBWD_SUCCESS);
  EXPECT_EQ(bytes, 5U * 4096 * 4);
  // 12 rows a group are 3 workgroups: 5 times 3 rows of 4096 floats.
  ASSERT_EQ(lnbwd_kernel_workspace_size(kernel, 60, 5, &bytes), LNBWD_SUCCESS);
  EXPECT_EQ(bytes, 5U * 3 * 4096 * 4 + 256);
  auto launchGrouped = [&](int64_t rows, int64_t groups) {
    return lnbwd_kernel_launch(kernel, arguments().data(), 8, rows, groups,
                               workspace(), bytes, nullptr);
  };
  ASSERT_EQ(launchGrouped(60, 5), LNBWD_SUCCESS) << lnbwd_last_error();
  EXPECT_EQ(notes(),
            "main device 0 grid 3,1,5 block 256,1,1 shared 0 stream 0 "
            "parameters 10000 20000 30000 40000 50000 60000 900000 93c000 c "
            "3\n"
            "finalize device 0 grid 15,2,1 block 64,2,1 shared 512 stream 0 "
            "parameters 900000 93c000 70000 80000 5\n");
  // No groups: nothing is left to do.
  ASSERT_EQ(launchGrouped(0, 0), LNBWD_SUCCESS) << lnbwd_last_error();
  EXPECT_EQ(notes(), "");
  auto refused = [&](lnbwd_status status, const char *message) {
    EXPECT_EQ(status, LNBWD_ERROR_INVALID_ARGUMENT);
    EXPECT_CONTAINS(lnbwd_last_error(), message);
  };
  refused(launchGrouped(60, 7), "expected a multiple of B");
  refused(launchGrouped(60, -1), "expected 0 or more, got -1");
  refused(launch(60, arguments(), workspace(), bytes),
          "expected a multiple of B, the number of groups of rows, 0, got 60");
  refused(lnbwd_kernel_workspace_size(kernel, 60, 0, &bytes),
          "expected a multiple of B");
  refused(lnbwd_program_argument_size(program, 6, 60, 0, &bytes),
          "expected a multiple of B");
  // More groups than a grid holds.
  bytes = std::numeric_limits<size_t>::max();
  EXPECT_EQ(launchGrouped(int64_t{1} << 31, int64_t{1} << 31),
            LNBWD_ERROR_TOO_LARGE);
  EXPECT_EQ(notes(), "");
}

TEST_F(CApiTest, NoRowsNeedNoRowBuffers) {
  loadExample();
  std::vector<void *> pointers = arguments();
  for (size_t i : {0, 1, 3, 4, 5})
    pointers[i] = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(lnbwd_kernel_workspace_size(kernel, 0, 0, &bytes), LNBWD_SUCCESS);
  ASSERT_EQ(launch(0, pointers, workspace(), bytes), LNBWD_SUCCESS)
      << lnbwd_last_error();
  EXPECT_CONTAINS(notes(), "grid 1,1,1");
}

TEST_F(CApiTest, RefusesWrongLaunches) {
  loadExample();
  size_t bytes = 0;
  ASSERT_EQ(lnbwd_kernel_workspace_size(kernel, 9, 0, &bytes), LNBWD_SUCCESS);
  auto refused = [&](lnbwd_status status, const char *message) {
    EXPECT_EQ(status, LNBWD_ERROR_INVALID_ARGUMENT);
    EXPECT_CONTAINS(lnbwd_last_error(), message);
  };
  std::vector<void *> pointers = arguments();
  pointers.pop_back();
  refused(launch(9, pointers, workspace(), bytes), "expected 8, got 7");
  refused(launch(-1, arguments(), workspace(), bytes),
          "expected 0 or more, got -1");
  pointers = arguments();
  pointers[5] = nullptr;
  refused(launch(9, pointers, workspace(), bytes),
          "argument 5 ('dx'): expected 73728 bytes of device memory, got a "
          "null pointer");
  pointers[5] = reinterpret_cast<void *>(0x60008);
  refused(launch(9, pointers, workspace(), bytes),
          "argument 5 ('dx'): expected a pointer aligned to 16 bytes, got one "
          "8 bytes beyond");
  refused(launch(9, arguments(), workspace(), bytes - 1),
          "workspace: expected 49408 bytes or more for 9 rows, got 49407");
  refused(launch(9, arguments(), nullptr, bytes), "got a null pointer");
  refused(launch(9, arguments(), reinterpret_cast<void *>(0x900010), bytes),
          "aligned to 256 bytes");
  refused(lnbwd_kernel_launch(kernel, nullptr, 8, 9, 0, workspace(), bytes,
                              nullptr),
          "a null pointer for the array");
  refused(lnbwd_kernel_launch(nullptr, nullptr, 0, 9, 0, nullptr, 0, nullptr),
          "kernel: expected a pointer, got null");
  EXPECT_EQ(launch(std::numeric_limits<int64_t>::max(), arguments(),
                   workspace(), bytes),
            LNBWD_ERROR_TOO_LARGE);
  EXPECT_EQ(notes(), "");
}

// dx over dy is what a row program allows, and no program with matrices.
TEST_F(CApiTest, RefusesOverlappingBuffersWhereTheyMustBeSeparate) {
  loadExample();
  size_t bytes = 0;
  ASSERT_EQ(lnbwd_kernel_workspace_size(kernel, 4, 0, &bytes), LNBWD_SUCCESS);
  std::vector<void *> inPlace = arguments();
  inPlace[5] = inPlace[0];
  EXPECT_EQ(launch(4, inPlace, workspace(), bytes), LNBWD_SUCCESS);
  unload();

  json plan = examplePlan();
  plan["separate_buffers"] = true;
  load(makeHsaco(plan, exampleMetadata()));
  notes();
  EXPECT_EQ(launch(4, arguments(), workspace(), bytes), LNBWD_SUCCESS)
      << lnbwd_last_error();
  notes();
  auto refused = [&](const std::vector<void *> &pointers, const char *who) {
    EXPECT_EQ(launch(4, pointers, workspace(), bytes),
              LNBWD_ERROR_INVALID_ARGUMENT);
    EXPECT_CONTAINS(lnbwd_last_error(), who);
    EXPECT_EQ(notes(), "");
  };
  refused(inPlace, "argument 5 ('dx'), which is written, overlaps argument 0 "
                   "('dy'): expected a buffer of its own");
  // By its last row, from below and from above.
  for (intptr_t distance : {0x7ff0, -0x7ff0}) {
    std::vector<void *> pointers = arguments();
    pointers[5] = static_cast<char *>(pointers[1]) + distance;
    refused(pointers, "argument 5 ('dx'), which is written, overlaps argument "
                      "1 ('x')");
  }
  // Two outputs.
  std::vector<void *> pointers = arguments();
  pointers[7] = pointers[6];
  refused(pointers, "argument 6 ('dgamma'), which is written, overlaps "
                    "argument 7 ('dbeta')");
  // Side by side, and of no rows, nothing overlaps.
  pointers = arguments();
  pointers[5] = static_cast<char *>(pointers[1]) + 0x8000;
  EXPECT_EQ(launch(4, pointers, workspace(), bytes), LNBWD_SUCCESS)
      << lnbwd_last_error();
  EXPECT_EQ(launch(0, inPlace, workspace(), bytes), LNBWD_SUCCESS)
      << lnbwd_last_error();
}

TEST_F(CApiTest, RowsMayLieBetweenTheRowsOfAnotherArgument) {
  json plan = examplePlan();
  plan["separate_buffers"] = true;
  for (int i : {0, 5})
    plan["arguments"][i]["row_stride"] = 8192;
  open("hip");
  load(makeHsaco(plan, exampleMetadata()));
  size_t bytes = 0;
  ASSERT_EQ(lnbwd_kernel_workspace_size(kernel, 2, 0, &bytes), LNBWD_SUCCESS);
  for (intptr_t distance : {0x2000, -0x2000, 0x2010, 0x1ff0, -0x1ff0}) {
    std::vector<void *> pointers = arguments();
    pointers[5] = static_cast<char *>(pointers[0]) + distance;
    lnbwd_status expected =
        distance % 0x2000 == 0 ? LNBWD_SUCCESS : LNBWD_ERROR_INVALID_ARGUMENT;
    EXPECT_EQ(launch(2, pointers, workspace(), bytes), expected) << distance;
  }
}

TEST_F(CApiTest, RefusesGridsBeyondTheDevice) {
  json plan = examplePlan();
  plan["workgroup_counts"][0]["workgroups_per_compute_unit"] = 0;
  plan["workspace"][0]["rows"] = 1;
  open("hip");
  load(makeHsaco(plan, exampleMetadata()));
  notes();
  // 2^24 workgroups of 256 work-items are one more than 32 bits count.
  EXPECT_EQ(launch(int64_t(1) << 26, arguments(), workspace(), 1 << 20),
            LNBWD_ERROR_TOO_LARGE);
  EXPECT_CONTAINS(lnbwd_last_error(),
                  "needs 16777216 workgroups of 256 work-items");
  EXPECT_EQ(notes(), "");
  EXPECT_EQ(launch((int64_t(1) << 26) - 4, arguments(), workspace(), 1 << 20),
            LNBWD_SUCCESS);
}

TEST_F(CApiTest, ReportsWhatTheDriverSays) {
  loadExample();
  size_t bytes = 0;
  ASSERT_EQ(lnbwd_kernel_workspace_size(kernel, 9, 0, &bytes), LNBWD_SUCCESS);
  {
    Environment mode("FAKE_HIP", "broken");
    EXPECT_EQ(launch(9, arguments(), workspace(), bytes), LNBWD_ERROR_DRIVER);
    EXPECT_CONTAINS(lnbwd_last_error(), "hipModuleLaunchKernel of 'main' "
                                        "failed: hipErrorLaunchFailure");
  }
  Environment mode("FAKE_HIP", "full");
  void *pointer = nullptr;
  EXPECT_EQ(lnbwd_malloc(device, 123, &pointer), LNBWD_ERROR_OUT_OF_MEMORY);
  EXPECT_CONTAINS(lnbwd_last_error(), "hipMalloc of 123 bytes failed");
}

TEST_F(CApiTest, RefusesProgramsForOtherChips) {
  open("hip");
  program = makeProgram(makePtx(cudaPlan()));
  EXPECT_EQ(lnbwd_kernel_load(device, program, &kernel),
            LNBWD_ERROR_WRONG_CHIP);
  EXPECT_CONTAINS(lnbwd_last_error(),
                  "compiled for sm_80 (ptx), the device 'Fake card' is gfx942");
}

TEST_F(CApiTest, HandlesMayDieInAnyOrder) {
  loadExample();
  lnbwd_program_destroy(std::exchange(program, nullptr));
  auto get = reinterpret_cast<const char *(*)()>(
      lnbwd_device_symbol(device, "fakeHipNotes"));
  lnbwd_device_close(std::exchange(device, nullptr));
  size_t bytes = 0;
  ASSERT_EQ(lnbwd_kernel_workspace_size(kernel, 9, 0, &bytes), LNBWD_SUCCESS);
  EXPECT_EQ(launch(9, arguments(), workspace(), bytes), LNBWD_SUCCESS);
  get();
  lnbwd_kernel_destroy(std::exchange(kernel, nullptr));
  EXPECT_STREQ(get(), "unload\n");
}

TEST_F(CApiTest, MemoryAndEventsWork) {
  for (const char *spec : {"hip", "cuda"}) {
    open(spec);
    void *first = nullptr;
    void *second = nullptr;
    ASSERT_EQ(lnbwd_malloc(device, 8, &first), LNBWD_SUCCESS);
    ASSERT_EQ(lnbwd_malloc(device, 8, &second), LNBWD_SUCCESS);
    ASSERT_EQ(lnbwd_copy_to_device(device, first, "1234567", 8), LNBWD_SUCCESS);
    ASSERT_EQ(lnbwd_copy_on_device(device, second, first, 8, nullptr),
              LNBWD_SUCCESS);
    ASSERT_EQ(lnbwd_memset(device, second, 'x', 2, nullptr), LNBWD_SUCCESS);
    ASSERT_EQ(lnbwd_synchronize(device, nullptr), LNBWD_SUCCESS);
    char text[8];
    ASSERT_EQ(lnbwd_copy_to_host(device, text, second, 8), LNBWD_SUCCESS);
    EXPECT_STREQ(text, "xx34567");
    EXPECT_EQ(lnbwd_memset(device, second, 256, 2, nullptr),
              LNBWD_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(lnbwd_copy_to_device(device, nullptr, text, 8),
              LNBWD_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(lnbwd_copy_to_device(device, nullptr, nullptr, 0), LNBWD_SUCCESS);
    EXPECT_EQ(lnbwd_free(device, first), LNBWD_SUCCESS);
    EXPECT_EQ(lnbwd_free(device, second), LNBWD_SUCCESS);
    EXPECT_EQ(lnbwd_free(device, nullptr), LNBWD_SUCCESS);
    void *none = &first;
    EXPECT_EQ(lnbwd_malloc(device, 0, &none), LNBWD_SUCCESS);
    EXPECT_EQ(none, nullptr);

    lnbwd_event *start = nullptr;
    lnbwd_event *stop = nullptr;
    ASSERT_EQ(lnbwd_event_create(device, &start), LNBWD_SUCCESS);
    ASSERT_EQ(lnbwd_event_create(device, &stop), LNBWD_SUCCESS);
    EXPECT_EQ(lnbwd_event_record(start, nullptr), LNBWD_SUCCESS);
    EXPECT_EQ(lnbwd_event_record(stop, nullptr), LNBWD_SUCCESS);
    double milliseconds = 0;
    EXPECT_EQ(lnbwd_event_elapsed(start, stop, &milliseconds), LNBWD_SUCCESS);
    EXPECT_GT(milliseconds, 1);
    lnbwd_event_destroy(start);
    lnbwd_event_destroy(stop);
    lnbwd_event_destroy(nullptr);
    lnbwd_device_close(std::exchange(device, nullptr));
  }
}

TEST_F(CApiTest, CudaLaunchesInThePrimaryContext) {
  open("cuda:0");
  EXPECT_CONTAINS(notes("fakeCudaNotes"), "retain\n");
  lnbwd_device_info info;
  ASSERT_EQ(lnbwd_device_get_info(device, &info), LNBWD_SUCCESS);
  EXPECT_STREQ(info.arch, "sm_90");
  EXPECT_CONTAINS(info.driver, "CUDA 12.4");
  json plan = cudaPlan();
  plan["kernels"][1]["dynamic_shared_bytes"] = 100000;
  load(makePtx(plan));
  EXPECT_EQ(notes("fakeCudaNotes"), "finalize attribute 8 = 100000\n");
  size_t bytes = 0;
  ASSERT_EQ(lnbwd_kernel_workspace_size(kernel, 9, 0, &bytes), LNBWD_SUCCESS);
  ASSERT_EQ(
      launch(9, arguments(), workspace(), bytes, reinterpret_cast<void *>(0x5)),
      LNBWD_SUCCESS)
      << lnbwd_last_error();
  EXPECT_EQ(notes("fakeCudaNotes"),
            "main grid 3,1,1 block 256,1,1 shared 0 stream 5 first parameter "
            "10000\n"
            "finalize grid 128,2,1 block 64,2,1 shared 100000 stream 5 first "
            "parameter 900000\n");
  auto current = reinterpret_cast<void *(*)()>(
      lnbwd_device_symbol(device, "fakeCudaCurrentContext"));
  EXPECT_EQ(current(), nullptr);
}

// An early start needs cuLaunchKernelEx; a driver without it starts later.
TEST_F(CApiTest, CudaLaunchesDependentKernelsWhereItCan) {
  json plan = cudaPlan();
  plan["kernels"][1]["dependent_launch"] = true;
  for (const char *library : {FAKE_CUDA_LIBRARY, FAKE_OLD_CUDA_LIBRARY}) {
    Environment chosen("LNBWD_CUDA_LIBRARY", library);
    open("cuda");
    load(makePtx(plan));
    notes("fakeCudaNotes");
    size_t bytes = 0;
    ASSERT_EQ(lnbwd_kernel_workspace_size(kernel, 9, 0, &bytes), LNBWD_SUCCESS);
    ASSERT_EQ(launch(9, arguments(), workspace(), bytes), LNBWD_SUCCESS);
    std::string main = "main grid 3,1,1 block 256,1,1 shared 0 stream 0 first "
                       "parameter 10000\n";
    std::string finalize = "finalize grid 128,2,1 block 64,2,1 shared 512 "
                           "stream 0 first parameter 900000\n";
    bool isOld = library == std::string(FAKE_OLD_CUDA_LIBRARY);
    EXPECT_EQ(notes("fakeCudaNotes"),
              main + (isOld ? "" : "attribute 6 = 1 ") + finalize);
    close();
  }
}

// Workgroups that share rows are launched no more than the device holds at
// once, where the driver can tell, but for the least that the plan asks for.
TEST_F(CApiTest, CudaBoundsClustersByTheDevice) {
  json plan = cudaPlan();
  plan["workgroup_counts"][0]["rows_per_workgroup"] = 1;
  plan["workgroup_counts"][0]["workgroups_per_row"] = 4;
  plan["kernels"][0]["grid"][1] = 4;
  for (int64_t least : {1, 5}) {
    plan["workgroup_counts"][0]["least_workgroups"] = least;
    for (const char *library : {FAKE_CUDA_LIBRARY, FAKE_OLD_CUDA_LIBRARY}) {
      bool isOld = library == std::string(FAKE_OLD_CUDA_LIBRARY);
      Environment chosen("LNBWD_CUDA_LIBRARY", library);
      open("cuda");
      notes("fakeCudaNotes");
      load(makePtx(plan));
      std::string loaded = notes("fakeCudaNotes");
      EXPECT_EQ(loaded.find("main clusters of 4\n") != std::string::npos,
                !isOld)
          << loaded;
      size_t bytes = 0;
      ASSERT_EQ(lnbwd_kernel_workspace_size(kernel, 9, 0, &bytes),
                LNBWD_SUCCESS);
      ASSERT_EQ(launch(9, arguments(), workspace(), bytes), LNBWD_SUCCESS);
      EXPECT_CONTAINS(notes("fakeCudaNotes"), isOld ? "main grid 9,4,1 block"
                                              : least == 1
                                                  ? "main grid 2,4,1 block"
                                                  : "main grid 5,4,1 block");
      close();
    }
  }
}

TEST_F(CApiTest, CudaShowsThePtxCompilersWords) {
  open("cuda");
  program = makeProgram(makePtx(cudaPlan()) + "broken");
  EXPECT_EQ(lnbwd_kernel_load(device, program, &kernel), LNBWD_ERROR_DRIVER);
  EXPECT_CONTAINS(lnbwd_last_error(), "CUDA_ERROR_INVALID_PTX");
  EXPECT_CONTAINS(lnbwd_last_error(), "line 7; fatal: broken");
  lnbwd_program_destroy(program);
  json plan = cudaPlan();
  plan["kernels"][0]["name"] = "missing";
  program = makeProgram(makePtx(plan));
  EXPECT_EQ(lnbwd_kernel_load(device, program, &kernel), LNBWD_ERROR_DRIVER);
  EXPECT_CONTAINS(lnbwd_last_error(), "cuModuleGetFunction of 'missing'");
  EXPECT_CONTAINS(notes("fakeCudaNotes"), "unload");
}

TEST_F(CApiTest, SaysWhatIsMissingForADevice) {
  auto refused = [&](const char *spec, const char *chip, lnbwd_status status,
                     const char *message) {
    lnbwd_device *none = nullptr;
    EXPECT_EQ(lnbwd_device_open(spec, chip, &none), status) << spec;
    EXPECT_CONTAINS(lnbwd_last_error(), message);
    EXPECT_EQ(none, nullptr);
  };
  for (const char *spec : {"", "gpu", "hip:", "hip:x", "hip:-1", "hip:1:2",
                           "hip:99999", "cuda:1x", "sim:"})
    refused(spec, nullptr, LNBWD_ERROR_INVALID_ARGUMENT, "expected 'sim'");
  refused("sim", nullptr, LNBWD_ERROR_INVALID_ARGUMENT, "sim:gfx942");
  refused("hip:1", nullptr, LNBWD_ERROR_NO_DEVICE, "there is no device hip:1");
  refused("cuda:1", nullptr, LNBWD_ERROR_NO_DEVICE,
          "there is no device cuda:1");
  {
    Environment mode("FAKE_HIP", "no-device");
    refused("hip", nullptr, LNBWD_ERROR_NO_DEVICE, "hipErrorNoDevice");
  }
  {
    Environment library("LNBWD_HIP_LIBRARY", "/nonexistent/libamdhip64.so");
    refused("hip", nullptr, LNBWD_ERROR_NO_DEVICE,
            "/nonexistent/libamdhip64.so");
  }
  {
    Environment library("LNBWD_HIP_LIBRARY", FAKE_CUDA_LIBRARY);
    refused("hip", nullptr, LNBWD_ERROR_NO_DEVICE, "has no function hipInit");
  }
  {
    Environment library("LNBWD_CUDA_LIBRARY", "/nonexistent/libcuda.so");
    refused("cuda", nullptr, LNBWD_ERROR_NO_DEVICE, "install NVIDIA's driver");
  }
  // Any HIP library serves as the simulator here: what counts is the chip.
  Environment library("LNBWD_SIM_LIBRARY", FAKE_HIP_LIBRARY);
  refused("sim", "gfx90a", LNBWD_ERROR_NO_DEVICE,
          "the simulator has no chip 'gfx90a'; it has gfx942");
  refused("sim:gfx1100", "gfx942", LNBWD_ERROR_NO_DEVICE, "no chip 'gfx1100'");
  ASSERT_EQ(lnbwd_device_open("sim", "gfx942", &device), LNBWD_SUCCESS);
  lnbwd_device_info info;
  ASSERT_EQ(lnbwd_device_get_info(device, &info), LNBWD_SUCCESS);
  EXPECT_EQ(info.is_simulated, 1);
}

TEST_F(CApiTest, ProgramsComeFromFilesWithTheirNameInEveryError) {
  lnbwd_program *none = nullptr;
  EXPECT_EQ(lnbwd_program_from_file("/nonexistent", &none), LNBWD_ERROR_FILE);
  std::string path =
      testing::TempDir() + "lnbwd-capi-test-" + std::to_string(getpid());
  std::ofstream(path) << "text";
  EXPECT_EQ(lnbwd_program_from_file(path.c_str(), &none),
            LNBWD_ERROR_INVALID_PROGRAM);
  EXPECT_CONTAINS(lnbwd_last_error(), path);
  std::ofstream(path, std::ios::binary)
      << makeHsaco(examplePlan(), exampleMetadata());
  EXPECT_EQ(lnbwd_program_from_file(path.c_str(), &program), LNBWD_SUCCESS);
  std::remove(path.c_str());
  EXPECT_EQ(lnbwd_program_from_file(nullptr, &none),
            LNBWD_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(lnbwd_program_from_memory(nullptr, 4, nullptr, &none),
            LNBWD_ERROR_INVALID_ARGUMENT);
}

TEST_F(CApiTest, NullHandlesAreErrorsOrNothing) {
  lnbwd_program_destroy(nullptr);
  lnbwd_device_close(nullptr);
  lnbwd_kernel_destroy(nullptr);
  EXPECT_STREQ(lnbwd_program_plan(nullptr), "");
  EXPECT_STREQ(lnbwd_program_chip(nullptr), "");
  EXPECT_EQ(lnbwd_program_argument_count(nullptr), 0U);
  EXPECT_EQ(lnbwd_device_symbol(nullptr, "x"), nullptr);
  lnbwd_device_info info;
  EXPECT_EQ(lnbwd_device_get_info(nullptr, &info),
            LNBWD_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(lnbwd_synchronize(nullptr, nullptr), LNBWD_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(lnbwd_status_name(LNBWD_ERROR_WRONG_CHIP),
               "LNBWD_ERROR_WRONG_CHIP");
  EXPECT_STREQ(lnbwd_status_name(static_cast<lnbwd_status>(99)),
               "unknown status");
  EXPECT_STRNE(lnbwd_runtime_version(), "");
}

} // namespace
