//===- ConcurrencyTest.cpp - Many threads at once -------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads compile the same and different kernels, load them, and run them on
// simulated devices that they share, each with memory of its own. What each
// gets has to be what one thread alone got, bit by bit.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Compiler/lnbwd_compiler.h"
#include "lnbwd/Runtime/lnbwd_runtime.h"

#include "gtest/gtest.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {
struct Work {
  std::string chip;
  int columns;
};
using Bytes = std::vector<char>;
} // namespace

static void expectGood(lnbwd_status status) {
  EXPECT_EQ(status, LNBWD_SUCCESS) << lnbwd_last_error();
}

/// LayerNorm backward of rows of so many f32 columns.
static std::string sourceOf(int columns) {
  std::string n = std::to_string(columns);
  std::string block = "memref<?x" + n + "xf32>",
              column = "memref<" + n + "xf32>";
  return "func.func @k(%dy: " + block + ", %x: " + block +
         ", %gamma: " + column +
         ", %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: " + block +
         ", %dgamma: " + column + ", %dbeta: " + column +
         ") {\n lnbwd.layer_norm_bwd dy(%dy : " + block + ") x(%x : " + block +
         ") gamma(%gamma : " + column +
         ") mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>) outs "
         "dx(%dx : " +
         block + ") dgamma(%dgamma : " + column + ") dbeta(%dbeta : " + column +
         ")\n return\n}\n";
}

/// The code of a kernel.
static Bytes codeOf(const Work &work) {
  std::string source = sourceOf(work.columns);
  lnbwd_compile_options options = {};
  options.size = sizeof(options);
  options.chip = work.chip.c_str();
  lnbwd_compilation *result = nullptr;
  const void *data = nullptr;
  size_t size = 0;
  EXPECT_EQ(lnbwd_compile(source.data(), source.size(), &options, &result), 0)
      << lnbwd_compilation_diagnostics(result);
  EXPECT_EQ(lnbwd_compilation_get(result, "code", &data, &size), 0);
  const char *begin = static_cast<const char *>(data);
  Bytes code(begin, begin + size);
  lnbwd_compilation_destroy(result);
  return code;
}

/// Loads and launches once; the outputs one after the other.
static Bytes launch(const Work &work, const Bytes &code) {
  constexpr int64_t rows = 13;
  lnbwd_program *program = nullptr;
  lnbwd_device *device = nullptr;
  lnbwd_kernel *kernel = nullptr;
  expectGood(
      lnbwd_program_from_memory(code.data(), code.size(), nullptr, &program));
  expectGood(lnbwd_device_open("sim", work.chip.c_str(), &device));
  expectGood(lnbwd_kernel_load(device, program, &kernel));
  if (!kernel)
    return {};
  size_t workspaceSize = 0;
  expectGood(lnbwd_kernel_workspace_size(kernel, rows, 0, &workspaceSize));
  void *workspace = nullptr;
  expectGood(lnbwd_malloc(device, workspaceSize + 16, &workspace));
  std::vector<void *> pointers;
  std::vector<size_t> sizes;
  std::vector<bool> written;
  for (size_t i = 0; i < lnbwd_program_argument_count(program); ++i) {
    lnbwd_argument_info info;
    expectGood(lnbwd_program_argument(program, i, &info));
    size_t size = 0;
    expectGood(lnbwd_program_argument_size(program, i, rows, 0, &size));
    void *pointer = nullptr;
    expectGood(lnbwd_malloc(device, size, &pointer));
    std::vector<float> values(size / sizeof(float));
    for (size_t k = 0; k < values.size(); ++k)
      values[k] = static_cast<float>((k * 7 + i * 3) % 19) * 0.25f - 2.0f;
    expectGood(lnbwd_copy_to_device(device, pointer, values.data(), size));
    pointers.push_back(pointer);
    sizes.push_back(size);
    written.push_back(info.access == LNBWD_ACCESS_WRITE);
  }
  expectGood(lnbwd_kernel_launch(kernel, pointers.data(), pointers.size(), rows,
                                 0, workspace, workspaceSize, nullptr));
  expectGood(lnbwd_synchronize(device, nullptr));
  Bytes outputs;
  for (size_t i = 0; i < pointers.size(); ++i) {
    Bytes contents(sizes[i]);
    expectGood(
        lnbwd_copy_to_host(device, contents.data(), pointers[i], sizes[i]));
    if (written[i])
      outputs.insert(outputs.end(), contents.begin(), contents.end());
    expectGood(lnbwd_free(device, pointers[i]));
  }
  expectGood(lnbwd_free(device, workspace));
  lnbwd_kernel_destroy(kernel);
  lnbwd_device_close(device);
  lnbwd_program_destroy(program);
  return outputs;
}

TEST(Concurrency, CompileAndLaunch) {
  std::vector<Work> works;
  for (const char *chip : {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"})
    works.push_back({chip, 96});
  std::vector<Bytes> codes;
  std::vector<Bytes> expected;
  for (const Work &work : works) {
    codes.push_back(codeOf(work));
    expected.push_back(launch(work, codes.back()));
    ASSERT_FALSE(expected.back().empty());
  }
  std::atomic<int> different{0};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (size_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (size_t turn = 0; turn < 4; ++turn) {
        size_t i = (t + turn * 3) % works.size();
        // Every other thread compiles anew.
        Bytes code = t % 2 ? codeOf(works[i]) : codes[i];
        different += code != codes[i];
        different += launch(works[i], code) != expected[i];
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(different, 0);
}

namespace {
struct Request {
  std::string chip, format, options, source;
};
} // namespace

/// Status, diagnostics and result of one compilation, one after the other.
static std::string compileOnce(const Request &request) {
  lnbwd_compile_options options = {};
  options.size = sizeof(options);
  options.chip = request.chip.c_str();
  options.pipeline_options = request.options.c_str();
  options.format = request.format.empty() ? nullptr : request.format.c_str();
  options.report_rows = 64;
  lnbwd_compilation *result = nullptr;
  const void *data = nullptr;
  size_t size = 0;
  lnbwd_compiler_status status = lnbwd_compile(
      request.source.data(), request.source.size(), &options, &result);
  std::string text = std::to_string(status) + ": ";
  text += lnbwd_compilation_diagnostics(result);
  if (lnbwd_compilation_get(result, "code", &data, &size) ==
      LNBWD_COMPILER_SUCCESS)
    text.append(static_cast<const char *>(data), size);
  lnbwd_compilation_destroy(result);
  return text;
}

/// A row program of the user's own: every row times gamma.
static std::string rowwiseSource(int columns) {
  std::string n = std::to_string(columns);
  std::string block = "memref<?x" + n + "xf32>",
              column = "memref<" + n + "xf32>", row = "vector<" + n + "xf32>";
  return "func.func @f(%x: " + block + ", %gamma: " + column +
         ", %y: " + block +
         ") {\n lnbwd.rowwise @f domain(m | n) ins(%x[m, n] : " + block +
         ", %gamma[n] : " + column + ") outs(%y[m, n] : " + block +
         ") attributes {operand_names = [\"x\", \"gamma\", \"y\"]} {\n"
         " ^bb0(%a: " +
         row + ", %g: " + row + "):\n  %0 = arith.mulf %a, %g : " + row +
         "\n  lnbwd.yield %0 : " + row + "\n }\n return\n}\n";
}

// Many contexts at once, most of them for different chips, formats and
// options, some with sources or options that are refused: every result and
// every message is what one thread alone gets.
TEST(Concurrency, CompileEverything) {
  std::vector<Request> requests;
  for (const char *chip : {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"})
    requests.push_back({chip, "", "", sourceOf(768)});
  requests.push_back({"sm_90", "ptx", "", sourceOf(1024)});
  requests.push_back({"gfx942", "report-json", "", sourceOf(4096)});
  requests.push_back({"gfx942", "isa", "two-pass=always", sourceOf(512)});
  requests.push_back({"gfx942", "", "debug-info=true", sourceOf(96)});
  requests.push_back({"gfx1201", "llvm", "", rowwiseSource(512)});
  requests.push_back({"gfx942", "", "", "func.func @k("});
  requests.push_back({"gfx942", "", "schedule=nonsense", sourceOf(96)});
  requests.push_back({"gfx000", "", "", sourceOf(96)});
  std::vector<std::string> expected;
  expected.reserve(requests.size());
  for (const Request &request : requests)
    expected.push_back(compileOnce(request));
  for (size_t i = 0; i + 3 < requests.size(); ++i)
    EXPECT_EQ(expected[i].substr(0, 3), "0: ") << expected[i].substr(0, 500);
  for (size_t i = requests.size() - 3; i < requests.size(); ++i)
    EXPECT_EQ(expected[i].substr(0, 3), "1: ") << expected[i].substr(0, 500);
  std::atomic<size_t> next{0};
  std::atomic<int> different{0};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (size_t t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      // Each request twice at about the same time.
      for (size_t i; (i = next.fetch_add(1)) < 4 * requests.size();)
        different += compileOnce(requests[i / 2 % requests.size()]) !=
                     expected[i / 2 % requests.size()];
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(different, 0);
}
