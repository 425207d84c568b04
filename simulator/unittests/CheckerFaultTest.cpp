//===- CheckerFaultTest.cpp - Faults of all classes but order -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs/faults.c, compiled for chips of each family: what is said of kernels
// with a fault, and that their twins run clean. Skipped where there is no clang
// beside LLVM's tools.
//
//===----------------------------------------------------------------------===//

#include "CheckedKernels.h"

#include "llvm/ADT/StringRef.h"

#include <numeric>
#include <vector>

using namespace lnbwd::sim;

namespace {
struct Case {
  const char *Name;
  unsigned Workgroups, Waves;
  const char *Says = "";
  /// Chips of other families have no such fault.
  bool OnGfx9 = false;
};

// Of each, NAME_fault is told so and NAME_clean is not.
constexpr Case Pairs[] = {
    {"read_past_end", 1, 1, "is outside of every buffer"},
    {"read_before_begin", 1, 1, "is outside of every buffer"},
    {"write_past_end", 1, 1, "is outside of every buffer"},
    {"wide_read_past_end", 1, 1, "is outside of every buffer"},
    {"uniform_read_past_end", 1, 1, "is outside of every buffer"},
    {"index_from_memory", 1, 1, "is outside of every buffer"},
    {"row_too_long", 1, 1, "is outside of every buffer"},
    {"null_from_memory", 1, 1, "is outside of every buffer"},
    {"input_overwritten", 1, 1,
     "'data' of 16384 bytes: the buffer is read-only"},
    {"arguments_overwritten", 1, 1,
     "'kernel arguments' of 128 bytes: the buffer is read-only"},
    {"constants_overwritten", 1, 1, "of it is read-only to kernels"},
    {"output_read_first", 1, 1, "never written"},
    {"row_not_filled", 1, 2, "never written"},
    {"misaligned_atomic", 1, 1, "is not aligned to its size"},
    {"lds_partly_set", 1, 2, "never written"},
    {"lds_filled_too_short", 1, 2, "never written"},
    {"lds_one_too_many", 1, 2, "outside of the workgroup's 1024 bytes"},
    {"lds_index_from_memory", 1, 2, "outside of the workgroup's 1024 bytes"},
    {"scratch_partly_set", 1, 1, "not defined"},
    {"scratch_past_end", 1, 1, "is outside of the lane's "},
    {"undefined_stored", 1, 1, "the value stored is not defined"},
    {"undefined_address", 1, 1, "is not defined"},
    {"undefined_branch", 1, 1, "is not defined"},
    {"undefined_loop_count", 1, 1, "is not defined"},
    {"undefined_in_a_sum", 1, 1, "the value stored is not defined"},
    {"undefined_in_a_product", 1, 1, "the value stored is not defined"},
    {"undefined_choice", 1, 1, "the value stored is not defined"},
    {"undefined_added_by_atomic", 1, 1, "is not defined"},
    {"undefined_through_lds", 1, 2, "is not defined"},
    {"undefined_upper_half", 1, 1, "the value stored is not defined"},
    {"undefined_in_one_lane_of_a_shuffle", 1, 1, "lane that was not active"},
    {"load_not_waited_for", 1, 1, "has been waited for"},
    {"wait_leaves_one_too_many", 1, 1, "has been waited for"},
    {"result_overwritten_too_early", 1, 1, "waited for"},
    {"lds_load_not_waited_for", 1, 1, "has been waited for"},
    {"scalar_load_not_waited_for", 1, 1, "has been waited for"},
    {"base_address_from_the_vector_alu", 1, 1, "a hazard: ", true},
    {"lane_number_from_the_vector_alu", 1, 1, "a hazard: ", true},
    {"dpp_of_a_new_value", 1, 1, "a hazard: ", true},
};
constexpr Case Alone[] = {
    {"inactive_lanes_have_no_address", 1, 1},
    {"undefined_times_zero", 1, 1},
    {"null_that_nobody_follows", 1, 1},
    {"last_elements_at_once", 1, 1},
    {"bytes_read_as_words", 1, 2},
    {"sum_by_shuffles", 1, 2},
    {"trips_differ", 1, 1},
    {"barrier_in_a_uniform_branch", 2, 2},
    {"array_set_by_a_loop", 1, 1},
    {"only_what_was_set_is_used", 1, 1},
};

class CheckerFaults : public CheckedKernels<std::string> {
protected:
  void SetUp() override {
    load("faults", GetParam(), "O2");
    if (Module) {
      EXPECT_EQ(lnbwdSimDescribeBuffer(Buffers[0], Bytes, "data",
                                       LNBWD_SIM_BUFFER_READ_ONLY),
                0);
    }
  }
  std::string run(const std::string &Name, const Case &C) {
    std::vector<uint32_t> Numbers(Bytes / 4);
    std::iota(Numbers.begin(), Numbers.end(), 0u);
    for (unsigned K = 0; K < 2; ++K)
      EXPECT_HIP(
          hipMemcpy(Buffers[K], Numbers.data(), Bytes, hipMemcpyHostToDevice));
    EXPECT_EQ(lnbwdSimDescribeBuffer(Buffers[2], Bytes, "out",
                                     LNBWD_SIM_BUFFER_UNWRITTEN),
              0);
    return launchOnBuffers(Name, C.Workgroups, C.Waves);
  }
};
} // namespace

TEST_P(CheckerFaults, AreReported) {
  for (const Case &C : Pairs) {
    if (C.OnGfx9 && !isGfx9(GetParam()))
      continue;
    const std::string Said = run(std::string(C.Name) + "_fault", C);
    EXPECT_TRUE(llvm::StringRef(Said).contains(C.Says))
        << C.Name << ": " << Said;
  }
}

TEST_P(CheckerFaults, TwinsAndTrickyOnesAreClean) {
  for (const Case &C : Pairs)
    EXPECT_EQ(run(std::string(C.Name) + "_clean", C), "") << C.Name;
  for (const Case &C : Alone)
    EXPECT_EQ(run(C.Name, C), "") << C.Name;
}

INSTANTIATE_TEST_SUITE_P(Families, CheckerFaults,
                         ::testing::Values("gfx90a", "gfx942", "gfx1030",
                                           "gfx1100", "gfx1201"),
                         [](const auto &Info) { return Info.param; });
