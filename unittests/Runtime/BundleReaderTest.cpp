//===- BundleReaderTest.cpp - Reading a file for several chips ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The entry that a device gets, and bytes that are no bundle or half of one.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "Error.h"
#include "TestPrograms.h"

#include <random>

using namespace lnbwd::runtime;
using namespace lnbwd::test;

static std::string number(uint64_t value) {
  std::string text;
  for (int i = 0; i < 8; ++i)
    text += static_cast<char>(value >> (8 * i));
  return text;
}

using Entries = std::vector<std::pair<std::string, std::string>>;

static std::string makeBundle(const Entries &entries) {
  std::string table = "__CLANG_OFFLOAD_BUNDLE__" + number(entries.size());
  size_t offset = table.size();
  for (const auto &[id, code] : entries)
    offset += 24 + id.size();
  std::string codes;
  for (const auto &[id, code] : entries) {
    table += number(offset + codes.size()) + number(code.size()) +
             number(id.size()) + id;
    codes += code;
  }
  return table + codes;
}

static std::string ptxFor(const std::string &chip) {
  nlohmann::json plan = examplePlan();
  plan["chip"] = chip;
  plan["wave_size"] = 32;
  return makePtx(plan);
}

static std::string twoKinds() {
  return makeBundle({{"host-x86_64-unknown-linux-gnu-", ""},
                     {"hip-nvptx64-nvidia-cuda--sm_90", ptxFor("sm_90")},
                     {"hipv4-amdgcn-amd-amdhsa--gfx942",
                      makeHsaco(examplePlan(), exampleMetadata())},
                     {"hip-nvptx64-nvidia-cuda--sm_80", ptxFor("sm_80")}});
}

static std::string chosen(const std::string &chip) {
  return parseProgramForChip(twoKinds(), chip)->plan.chip;
}

static std::string refusal(const std::string &bytes, const std::string &chip) {
  try {
    (void)parseProgramForChip(bytes, chip);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(BundleReaderTest, TakesTheEntryOfTheDevice) {
  EXPECT_EQ(chosen("gfx942:sramecc+:xnack-"), "gfx942");
  EXPECT_EQ(chosen("sm_90"), "sm_90");
  EXPECT_EQ(chosen("sm_80"), "sm_80");
  // PTX of the latest chip before it.
  EXPECT_EQ(chosen("sm_100"), "sm_90");
  EXPECT_EQ(chosen("sm_86"), "sm_80");
}

TEST(BundleReaderTest, NamesTheEntriesWhereNoneFits) {
  EXPECT_CONTAINS(refusal(twoKinds(), "gfx90a:xnack-"),
                  "no entry of the offload bundle is for gfx90a:xnack-; it "
                  "has: hip-nvptx64-nvidia-cuda--sm_90, "
                  "hipv4-amdgcn-amd-amdhsa--gfx942");
  EXPECT_CONTAINS(refusal(twoKinds(), "gfx90a"), "compile with chip=gfx90a");
  EXPECT_CONTAINS(refusal(makeBundle({}), "gfx942"), "it has: none");
}

TEST(BundleReaderTest, TakesAPlainProgramAsItIs) {
  EXPECT_EQ(parseProgramForChip(ptxFor("sm_80"), "gfx942")->plan.chip, "sm_80");
}

TEST(BundleReaderTest, RefusesWhatIsCutOff) {
  std::string bundle = twoKinds();
  for (size_t size = 24; size < bundle.size(); size += 7)
    EXPECT_NE(refusal(bundle.substr(0, size), "sm_80"), "") << size;
}

TEST(BundleReaderTest, SurvivesDamage) {
  std::string bundle = twoKinds();
  std::mt19937 random(1);
  size_t refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = bundle;
    damaged[24 + random() % 200] = static_cast<char>(random());
    refused += !refusal(damaged, "gfx942").empty();
  }
  EXPECT_GT(refused, 200u);
}
