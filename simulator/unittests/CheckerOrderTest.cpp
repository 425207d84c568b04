//===- CheckerOrderTest.cpp - Order between waves, and races without ------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs/order-*.c, compiled for chips of each family, with optimisation and
// without: kernels with a fault of order are caught and their twins run clean,
// in several orders of waves and on one to four host threads. Skipped where
// there is no clang beside LLVM's tools.
//
//===----------------------------------------------------------------------===//

#include "CheckedKernels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdlib>
#include <optional>
#include <tuple>
#include <vector>

using namespace lnbwd::sim;

namespace {
struct Case {
  const char *Name;
  unsigned Workgroups, Waves;
  /// Chips and levels whose code has no such fault, since the compiler cannot
  /// be kept from the wait there, or, at O0, where what becomes of the value is
  /// not known because it is kept in memory, or where no order that is tried
  /// has the two at the same time. Of those without a fault: whose code does
  /// not differ from that of one.
  const char *NotOn = "";
};

// Of each, NAME_fault is caught and NAME_clean is not.
constexpr Case GlobalPairs[] = {
    {"flag_before_data", 4, 1},
    {"ticket_before_sums", 8, 1},
    {"second_grid_barrier", 6, 2},
    {"ticket_without_barrier", 4, 3},
    {"unlock_too_early", 6, 1, "gfx90a-O0"},
    {"flag_too_early", 4, 1, "gfx90a-O0"},
    {"flag_behind_a_barrier_too_early", 4, 2,
     "gfx1030-O0 gfx1030-O2 gfx90a-O0"},
    {"zeroed_while_others_add", 4, 1},
    {"atomic_behind_own_store", 5, 1},
    {"volatile_data", 4, 1},
    {"stale_read", 4, 1},
    {"version_without_release", 4, 1, "gfx90a-O0"},
    {"version_without_acquire", 4, 1},
    {"scope_too_narrow", 4, 1},
    {"sums_read_without_acquire", 4, 1},
    {"flag_stored_plainly", 4, 1,
     "gfx90a-O0 gfx90a-O2 gfx1030-O0 gfx1030-O2 gfx1100-O0 gfx1100-O2"},
    {"flag_overwritten_plainly", 4, 1,
     "gfx90a-O0 gfx90a-O2 gfx1030-O0 gfx1030-O2 gfx1100-O0 gfx1100-O2"},
    {"lock_opened_plainly", 4, 1,
     "gfx90a-O0 gfx90a-O2 gfx1030-O0 gfx1030-O2 gfx1100-O0 gfx1100-O2"},
    {"atomics_of_one_workgroup", 4, 1,
     "gfx90a-O0 gfx90a-O2 gfx942-O0 gfx942-O2 gfx1030-O0 gfx1030-O2 gfx1100-O0 "
     "gfx1100-O2"},
    {"stale_scalar_read", 4, 1},
    {"scalar_read_behind_own_stores", 3, 2},
    {"compare_swap_as_store", 4, 1, "gfx1030-O0 gfx1100-O0 gfx1201-O0"},
    {"read_beside_atomics", 4, 1, "gfx1030-O0 gfx1100-O0 gfx1201-O0"},
    {"chain_of_three", 4, 1},
    {"read_before_it_is_overwritten", 2, 1},
    {"flag_polled_too_late", 3, 1},
    {"two_flags_one_waited", 4, 1},
    {"neighbours_without_order", 6, 2},
    {"everybody_stores_its_number", 4, 1},
    {"other_waves_atomics", 4, 4,
     "gfx1030-O0 gfx1030-O2 gfx90a-O0 gfx942-O0 gfx1100-O0 gfx1201-O0"},
    {"other_waves_atomics_read_by_a_load", 4, 4,
     "gfx90a-O0 gfx942-O0 gfx1030-O0 gfx1030-O2 gfx1100-O0 gfx1201-O0"},
    {"volatile_counter", 6, 1, "gfx942-O0 gfx1201-O0"},
    {"volatile_counter_anywhere", 6, 1,
     "gfx90a-O0 gfx942-O0 gfx1030-O0 gfx1100-O0 gfx1201-O0"},
    {"waves_through_global", 1, 4},
    {"waves_overwrite_global", 1, 4},
    {"wave_flag_in_global", 1, 2},
    {"one_value_differs", 6, 1},
    {"lanes_count", 1, 1},
    {"lanes_count_in_lds", 1, 1},
    {"lanes_store_different_values", 1, 1},
};
constexpr Case LdsPairs[] = {
    {"lds_no_barrier", 2, 4},
    {"lds_volatile_tree", 2, 8},
    {"lds_overwritten_too_early", 2, 4},
    {"lds_store_under_way", 2, 4,
     "gfx90a-O0 gfx90a-O2 gfx942-O0 gfx942-O2 gfx1030-O0 gfx1030-O2 gfx1100-O0 "
     "gfx1201-O0"},
    {"lds_zeroed_while_others_add", 1, 4},
    {"lds_atomic_behind_own_store", 1, 4},
    {"lds_flag_before_data", 1, 3},
    {"lds_sum_read_too_early", 1, 4},
    {"lds_sort_step", 1, 4},
    {"lds_global_data_behind_lds_flag", 1, 2},
    {"lds_ring_overrun", 1, 3},
    {"barrier_missed", 1, 4},
    {"barriers_passed_less_often", 1, 4},
};
constexpr Case Alone[] = {
    {"sense_reversing_barrier", 6, 2},
    {"many_arrive", 12, 1},
    {"lds_add_of_doubles", 1, 4},
    {"global_add_of_floats", 4, 2},
    {"packed_in_lds", 1, 4},
    {"bytes_in_global", 8, 1},
    {"packed_in_global", 4, 2},
    {"same_value", 8, 1},
    {"same_values_by_many", 8, 1},
    {"same_value_read_back", 6, 2},
    {"same_value_in_lds", 1, 4},
    {"waves_leave", 1, 4},
    {"waves_leave_behind_a_barrier", 1, 4},
    {"waves_leave_with_their_results", 1, 4},
    {"waves_with_rows_of_their_own", 1, 4},
    {"flags_of_waves_with_fewer_rows", 1, 4},
    {"spin_lock_by_exchange", 8, 1},
    {"spin_lock_in_lds", 1, 4},
    {"look_back", 16, 1},
    {"last_one_reads_volatile", 40, 1},
    {"queue_by_atomics", 8, 1},
    {"producer_consumer_ring", 1, 3},
    {"double_buffer", 1, 4},
    {"slot_in_lds", 1, 2},
    {"counter_reset_by_the_last", 6, 2},
    {"flags_of_all_lanes", 8, 1},
    {"progress_counter", 6, 2},
    {"ticket_behind_fences", 6, 4},
    {"many_waves_count_in_lds", 2, 8},
    {"flags_of_many_waves_in_lds", 2, 8},
    {"one_sum_of_floats", 8, 1},
    // Where a store's bits say that it is atomic.
    {"flag_tried_once", 6, 1,
     "gfx90a-O0 gfx90a-O2 gfx1030-O0 gfx1030-O2 gfx1100-O0 gfx1100-O2"},
    {"any_of_many_atomic_stores", 6, 2,
     "gfx90a-O0 gfx90a-O2 gfx1030-O0 gfx1030-O2 gfx1100-O0 gfx1100-O2"},
};

// Found where workgroups overlap in time.
constexpr Case TurnPairs[] = {
    {"one_of_two_arrivals", 3, 1},
    {"arrivals_counted_twice", 4, 1},
    {"mailbox_overwritten", 2, 1},
    {"ring_credit_off_by_one", 2, 1},
    {"refilled_without_asking", 4, 1},
    {"initialised_by_the_first", 4, 1},
    {"lock_looked_at_then_taken", 4, 1},
    {"waits_for_a_while", 4, 1,
     "gfx90a-O0 gfx942-O0 gfx1030-O0 gfx1100-O0 gfx1201-O0"},
    {"lock_tried_a_few_times", 4, 1},
    {"reader_looks_then_enters", 4, 1},
    {"place_before_element", 4, 1},
    {"one_copy_for_all_steps", 4, 2},
    {"last_one_unlocks_early", 5, 1},
    {"ticket_called_too_early", 4, 1},
    {"sequence_lock_of_plain_data", 3, 1},
    {"made_by_whoever_finds_nothing", 4, 1},
    {"slot_given_back_too_early", 2, 1},
    {"afterthought_behind_the_flag", 4, 1, "gfx90a-O0 gfx1030-O0 gfx1100-O0"},
    {"lds_one_of_two_arrivals", 1, 4},
    {"lds_unlocked_too_early", 1, 4},
    {"lds_ring_credit_off_by_one", 1, 2},
};
constexpr Case TurnAlone[] = {
    {"ticket_lock", 5, 1},
    {"queue_lock", 5, 1},
    {"readers_and_writers", 6, 1},
    {"ring_between_workgroups", 2, 1},
    {"slots_with_turns", 8, 1},
    {"asks_for_the_end_first", 4, 1},
    {"look_back_over_sums", 8, 1},
    {"made_once", 5, 1},
    {"lock_tried_once", 5, 1},
    {"rows_drawn_by_number", 4, 2},
    {"rounds_of_flags", 5, 2},
    {"barrier_of_generations", 4, 2},
    {"two_may_enter", 5, 1},
    {"value_with_its_flag", 4, 1},
    {"works_until_told_to_stop", 4, 1},
    {"wave_front", 4, 2},
    {"two_locks_in_order", 6, 1},
    {"highest_as_a_flag", 5, 1},
    {"tree_of_pairs", 8, 1},
};

// Of each family several, so that neighbours here are of the same.
constexpr llvm::StringLiteral OrderChips[] = {"gfx90a", "gfx942", "gfx1030",
                                              "gfx1100", "gfx1201"};

class CheckerOrderTest
    : public CheckedKernels<std::tuple<std::string, std::string>> {
protected:
  void SetUp() override {
    Level = std::get<1>(GetParam());
    if (const char *Text = std::getenv("LNBWD_SIM_THREADS"))
      ThreadsBefore = Text;
    load("order-global", std::get<0>(GetParam()), Level);
  }
  void TearDown() override {
    CheckedKernels::TearDown();
    lnbwdSimSetShuffle(0);
    lnbwdSimSetOtherOrders(1);
    if (ThreadsBefore.empty())
      unsetenv("LNBWD_SIM_THREADS");
    else
      setenv("LNBWD_SIM_THREADS", ThreadsBefore.c_str(), 1);
  }
  /// What is said of a kernel in an order of waves, or "", on one to four
  /// threads of the host round-robin. What threads do between a check and its
  /// store: CheckerTimeTest.
  std::string run(const std::string &Name, const Case &C, unsigned Order) {
    lnbwdSimSetShuffle(Order);
    setenv("LNBWD_SIM_THREADS", std::to_string(1 + Order % 4).c_str(), 1);
    for (void *B : Buffers)
      EXPECT_HIP(hipMemset(B, 0, Bytes));
    return launchOnBuffers(Name, C.Workgroups, C.Waves);
  }
  /// The same of the orders below Orders, with the further ones that each of
  /// these launches would be executed in where it is clean: since they do not
  /// depend on Order (OtherOrdersAreTheSameForEachShuffle), only the first one
  /// is executed in them, and what was said then is so for all. Calls Each.
  template <typename F>
  void runInOrders(const std::string &Name, const Case &C, unsigned Orders,
                   F Each) {
    std::optional<std::string> Overlapping;
    for (unsigned Order = 0; Order < Orders; ++Order) {
      lnbwdSimSetOtherOrders(!Overlapping);
      std::string Said = run(Name, C, Order);
      if (!Overlapping && (Said.empty() || isOfOtherOrders(Said)))
        Overlapping = Said;
      Each(Order, Said.empty() ? *Overlapping : Said);
    }
    lnbwdSimSetOtherOrders(1);
  }
  static bool isOfOtherOrders(const std::string &Said) {
    return llvm::StringRef(Said).contains(
        "in which workgroups overlap in time");
  }
  bool isLeftOut(const Case &C) const {
    return llvm::StringRef(C.NotOn).contains(Chip + "-" + Level);
  }
  /// Calls Each for the pairs of all files.
  template <typename F> void forPairs(F Each) {
    for (const Case &C : GlobalPairs)
      Each(C);
    use("order-lds", Level);
    for (const Case &C : LdsPairs)
      Each(C);
    use("order-interleaved", Level);
    for (const Case &C : TurnPairs)
      Each(C);
  }
  void expectClean(const Case &C) {
    if (isLeftOut(C))
      ++Kernels; // Those that follow are in the same turn on all chips.
    else
      expectCleanInOrders(C.Name, C);
  }
  /// In all orders on a part of the chips, in which each family is, and on the
  /// others in one order; each chip has all orders for every second kernel. In
  /// a full run, each for all.
  void expectCleanInOrders(const std::string &Name, const Case &C) {
    auto ExpectClean = [&](unsigned Order, llvm::StringRef Said) {
      EXPECT_EQ(Said, "") << C.Name << " in order " << Order << " of " << Chip;
    };
    const size_t Place = llvm::find(OrderChips, Chip) - std::begin(OrderChips);
    const size_t Number = Kernels++;
    if (isFullRun() || (Place + Number) % 2 == 0)
      return runInOrders(Name, C, orders(), ExpectClean);
    const unsigned Order = Number / 2 % orders();
    lnbwdSimSetOtherOrders(0);
    ExpectClean(Order, run(Name, C, Order));
    lnbwdSimSetOtherOrders(1);
  }
  /// One for each number of threads; in a full run, more.
  unsigned orders() const { return isFullRun() && Level == "O2" ? 20 : 4; }

  std::string Level, ThreadsBefore;
  /// How many kernels without a fault there were.
  size_t Kernels = 0;
};
} // namespace

TEST_P(CheckerOrderTest, FaultsAreCaughtInEveryOrder) {
  forPairs([this](const Case &C) {
    if (isLeftOut(C))
      return;
    runInOrders(std::string(C.Name) + "_fault", C, orders(),
                [&](unsigned Order, llvm::StringRef Said) {
                  EXPECT_TRUE(Said.contains("a race: ") ||
                              Said.contains("a stale read: ") ||
                              Said.contains("a barrier missed: ") ||
                              Said.contains("never written"))
                      << C.Name << " in order " << Order << " of " << Chip
                      << ": " << Said.str();
                });
  });
}

TEST_P(CheckerOrderTest, TwinsAreClean) {
  forPairs([this](const Case &C) {
    expectCleanInOrders(std::string(C.Name) + "_clean", C);
  });
}

TEST_P(CheckerOrderTest, TrickyOnesAreClean) {
  use("order-tricky", Level);
  for (const Case &C : Alone)
    expectClean(C);
  use("order-interleaved", Level);
  for (const Case &C : TurnAlone)
    expectClean(C);
}

TEST_P(CheckerOrderTest, BothInstructionsAreNamed) {
  const std::string Said = run("waves_through_global_fault", {"", 1, 4}, 0);
  // Whichever of the two comes second is where it is found.
  for (const char *Part :
       {" of 4 bytes at ", "of this workgroup wave ",
        " it in the same launch, with global_",
        "and neither a barrier nor an atomic orders the two; at "
        "waves_through_global_fault+0x"})
    EXPECT_NE(Said.find(Part), std::string::npos) << Said;
}

TEST_P(CheckerOrderTest, ErrorsAreGatheredAndCounted) {
  use("order-lds", Level);
  lnbwdSimSetMaxErrors(8);
  const std::string Said = run("lds_sum_read_too_early_fault", {"", 6, 4}, 0);
  lnbwdSimSetMaxErrors(1);
  EXPECT_NE(Said.find(" times)"), std::string::npos) << Said;
  const std::string Summary = lnbwdSimGetCheckSummary();
  EXPECT_NE(Summary.find("kernel 'lds_sum_read_too_early_fault', 6 of 6 "
                         "workgroups: checked for memory, registers, races"),
            std::string::npos)
      << Summary;
}

TEST_P(CheckerOrderTest, OtherOrdersAreReported) {
  EXPECT_EQ(run("flag_before_data_clean", {"", 4, 1}, 0), "");
  const std::string Summary = lnbwdSimGetCheckSummary();
  EXPECT_NE(Summary.find("; in 8 other orders, too"), std::string::npos)
      << Summary;
  EXPECT_EQ(Summary.find("of which"), std::string::npos) << Summary;
  lnbwdSimSetOtherOrders(0);
  EXPECT_EQ(run("flag_before_data_clean", {"", 4, 1}, 0), "");
  const std::string Unwanted = lnbwdSimGetCheckSummary();
  EXPECT_NE(Unwanted.find("; not in other orders, which were not requested"),
            std::string::npos)
      << Unwanted;
}

// Whoever leaves them out of a launch that was executed in them with another
// shuffle relies on that.
TEST_P(CheckerOrderTest, OtherOrdersAreTheSameForEachShuffle) {
  use("order-interleaved", Level);
  unsigned Compared = 0;
  for (const Case &C : TurnPairs) {
    const std::string Name = std::string(C.Name) + "_fault";
    const std::string Usual = run(Name, C, 0), Shuffled = run(Name, C, 7);
    // Others are found before, in an order that depends on the shuffle.
    if (isLeftOut(C) || !isOfOtherOrders(Usual) || !isOfOtherOrders(Shuffled))
      continue;
    EXPECT_EQ(Usual, Shuffled) << Name;
    // None of these is found without them.
    lnbwdSimSetOtherOrders(0);
    EXPECT_EQ(run(Name, C, 0), "") << Name;
    EXPECT_EQ(run(Name, C, 7), "") << Name;
    lnbwdSimSetOtherOrders(1);
    if (++Compared == 5)
      break;
  }
  EXPECT_EQ(Compared, 5u);
}

/// Code that is not optimised, which takes longest, is of one chip, and of
/// all in a full run.
static std::vector<std::tuple<std::string, std::string>> orderTargets() {
  std::vector<std::tuple<std::string, std::string>> Targets;
  for (llvm::StringRef Chip : OrderChips)
    for (const char *Level : {"O0", "O2"})
      if (Level == llvm::StringRef("O2") || isFullRun() || Chip == "gfx1201")
        Targets.push_back({Chip.str(), Level});
  return Targets;
}

INSTANTIATE_TEST_SUITE_P(Families, CheckerOrderTest,
                         ::testing::ValuesIn(orderTargets()),
                         [](const auto &Info) {
                           return std::get<0>(Info.param) + "_" +
                                  std::get<1>(Info.param);
                         });
