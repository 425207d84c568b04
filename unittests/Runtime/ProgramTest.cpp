//===- ProgramTest.cpp - Taking compiled files apart ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Error.h"
#include "TestPrograms.h"

#include "gtest/gtest.h"

#include <elf.h>
#include <random>

using namespace lnbwd::runtime;
using lnbwd::test::ElfContents;
using lnbwd::test::exampleMetadata;
using lnbwd::test::examplePlan;
using lnbwd::test::makeElf;
using lnbwd::test::makeHsaco;
using lnbwd::test::makePtx;
using nlohmann::json;

static std::string refusal(const std::string &bytes) {
  try {
    parseProgram(bytes);
  } catch (const Error &error) {
    return error.what();
  }
  return {};
}

/// The example's metadata with one value replaced.
static std::string refusalWith(const std::string &pointer, const json &value) {
  json metadata = exampleMetadata();
  metadata[json::json_pointer(pointer)] = value;
  return refusal(makeHsaco(examplePlan(), metadata));
}

static json cudaPlan() {
  json plan = examplePlan();
  plan["chip"] = "sm_90";
  plan["wave_size"] = 32;
  return plan;
}

namespace {

TEST(ProgramTest, FindsThePlanOfAnHsaco) {
  auto program = parseProgram(makeHsaco(examplePlan(), exampleMetadata()));
  EXPECT_EQ(program->format, CodeFormat::Hsaco);
  EXPECT_EQ(program->plan.chip, "gfx942");
  EXPECT_EQ(json::parse(program->plan.text), examplePlan());
}

TEST(ProgramTest, FindsThePlanOfACubin) {
  ElfContents contents;
  contents.machine = 190;
  contents.flags = 0;
  contents.inSymtab = true;
  contents.plan = cudaPlan().dump() + '\0';
  auto program = parseProgram(makeElf(contents));
  EXPECT_EQ(program->format, CodeFormat::Cubin);
  EXPECT_EQ(program->plan.chip, "sm_90");
}

TEST(ProgramTest, FindsThePlanOfPtx) {
  auto program = parseProgram(makePtx(cudaPlan()));
  EXPECT_EQ(program->format, CodeFormat::Ptx);
  EXPECT_EQ(program->plan.chip, "sm_90");
  // Lines may end as on other systems.
  std::string text = makePtx(cudaPlan());
  text.insert(text.find("\n.version"), "\r");
  EXPECT_EQ(parseProgram(text)->plan.chip, "sm_90");
}

TEST(ProgramTest, NamesWhatAForeignFileIs) {
  EXPECT_CONTAINS(refusal(""), "the file is empty");
  EXPECT_CONTAINS(refusal("hello"), "none of these");
  EXPECT_CONTAINS(refusal(std::string(100, '\0')), "none of these");
  EXPECT_CONTAINS(refusal(".version 8.0\n.target sm_90\n"),
                  "the PTX has no launch plan");
  // A plan behind a directive is not where the ABI has it.
  EXPECT_CONTAINS(refusal(".version 8.0\n// lnbwd-plan: {}\n"),
                  "the PTX has no launch plan");
  EXPECT_CONTAINS(refusal("__CLANG_OFFLOAD_BUNDLE__rest"),
                  "clang-offload-bundler");
  ElfContents contents;
  contents.machine = 62;
  EXPECT_CONTAINS(refusal(makeElf(contents)), "got machine 62");
}

TEST(ProgramTest, SaysWhenThereIsNoPlan) {
  ElfContents contents;
  contents.symbol = "other_data";
  contents.plan = std::string("{}") + '\0';
  EXPECT_CONTAINS(refusal(makeElf(contents)), "no data symbol 'lnbwd_plan'");
  contents.symbol = "lnbwd_plan";
  contents.plan = examplePlan().dump();
  EXPECT_CONTAINS(refusal(makeElf(contents)), "no zero byte ends it");
}

TEST(ProgramTest, ChecksTheCodeAgainstThePlan) {
  EXPECT_CONTAINS(refusalWith("/amdhsa.kernels/0/.name", "other"),
                  "it launches a kernel 'main', which the code does not "
                  "have");
  EXPECT_CONTAINS(refusalWith("/amdhsa.kernels/0/.wavefront_size", 32),
                  "waves of 32 work-items, the plan says 64");
  EXPECT_CONTAINS(
      refusalWith("/amdhsa.kernels/0/.max_flat_workgroup_size", 128),
      "up to 128 work-items, the plan launches 256");
  EXPECT_CONTAINS(refusalWith("/amdhsa.kernels/1/.args/0/.size", 4),
                  "parameter 0 in 4 bytes, expected 8");
  json metadata = exampleMetadata();
  metadata["amdhsa.kernels"][1][".args"].erase(0);
  EXPECT_CONTAINS(refusal(makeHsaco(examplePlan(), metadata)),
                  "takes 4 parameters, the plan passes 5");
}

TEST(ProgramTest, ChecksTheChipOfTheCode) {
  json plan = examplePlan();
  plan["chip"] = "gfx950";
  EXPECT_CONTAINS(
      refusal(makeHsaco(plan, exampleMetadata())),
      "the code is for gfx942:sramecc+:xnack-, the plan for gfx950");
  plan["chip"] = "sm_90";
  EXPECT_CONTAINS(refusal(makeHsaco(plan, exampleMetadata())),
                  "the code is for gfx942:sramecc+:xnack-, the plan for sm_90");
  plan["chip"] = "gfx942:xnack+";
  EXPECT_CONTAINS(refusal(makeHsaco(plan, exampleMetadata())),
                  "the code is for gfx942:sramecc+:xnack-, the plan for "
                  "gfx942:xnack+");
  EXPECT_CONTAINS(refusalWith("/amdhsa.target", "gfx942"), "names no chip");
  EXPECT_CONTAINS(refusal(makePtx(examplePlan())),
                  "expected a chip 'sm_...' in a ptx file");
}

TEST(ProgramTest, SurvivesDamagedMetadata) {
  for (const char *place :
       {"/amdhsa.kernels", "/amdhsa.kernels/0", "/amdhsa.kernels/0/.args",
        "/amdhsa.target", "/amdhsa.kernels/0/.args/0",
        "/amdhsa.kernels/0/.name", "/amdhsa.kernels/0/.wavefront_size",
        "/amdhsa.kernels/0/.args/0/.value_kind"})
    EXPECT_CONTAINS(refusalWith(place, -1.5), "metadata is damaged") << place;
  ElfContents contents;
  contents.plan = examplePlan().dump() + '\0';
  EXPECT_CONTAINS(refusal(makeElf(contents)), "metadata is damaged");
  // One byte a level: recursion would exhaust the stack.
  contents.metadata = std::string(1 << 20, '\x91');
  EXPECT_CONTAINS(refusal(makeElf(contents)), "nested deeper");
}

TEST(ProgramTest, RefusesEveryTruncation) {
  std::string hsaco = makeHsaco(examplePlan(), exampleMetadata());
  for (size_t size = 0; size < hsaco.size(); ++size)
    EXPECT_NE(refusal(hsaco.substr(0, size)), "") << size;
  std::string ptx = makePtx(cudaPlan());
  size_t planEnd = ptx.find("\n.version");
  for (size_t size = 0; size < planEnd; ++size)
    EXPECT_NE(refusal(ptx.substr(0, size)), "") << size;
}

TEST(ProgramTest, SurvivesRandomDamage) {
  const std::string hsaco = makeHsaco(examplePlan(), exampleMetadata());
  std::mt19937 random(1);
  // Headers and tables are the interesting part: half of the damage goes there.
  auto place = [&](size_t size) {
    size_t tables = 320 + sizeof(Elf64_Ehdr);
    bool inTables = random() % 2 == 0;
    size_t offset = random() % (inTables ? tables : size);
    return inTables && offset >= sizeof(Elf64_Ehdr) ? size - 1 - offset % tables
                                                    : offset;
  };
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = hsaco;
    for (unsigned count = 1 + random() % 4; count > 0; --count)
      damaged[place(damaged.size())] = static_cast<char>(random());
    accepted += refusal(damaged).empty() ? 1 : 0;
  }
  // Damage to what nothing reads goes unnoticed; most must not.
  EXPECT_LT(accepted, 16000);
}

TEST(ProgramTest, ReadsFilesOrSaysWhyNot) {
  try {
    readFile("/nonexistent/kernel.hsaco");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.getStatus(), LNBWD_ERROR_FILE);
    EXPECT_CONTAINS(error.what(), "cannot open '/nonexistent/kernel.hsaco'");
  }
  EXPECT_THROW(readFile("/"), Error);
}

} // namespace

/// Whether a program of that format and chip runs on a device.
static bool runs(CodeFormat format, const char *chip, const char *arch) {
  Program program;
  program.format = format;
  program.plan.chip = chip;
  try {
    checkChip(program, arch, "device");
    return true;
  } catch (const Error &error) {
    EXPECT_EQ(error.getStatus(), LNBWD_ERROR_WRONG_CHIP);
    EXPECT_CONTAINS(error.what(), std::string("compiled for ") + chip);
    EXPECT_CONTAINS(error.what(), arch);
    EXPECT_CONTAINS(error.what(), "compile it with chip=");
    return false;
  }
}

namespace {

TEST(ChipTest, AmdCodeRunsOnItsChipAlone) {
  EXPECT_TRUE(runs(CodeFormat::Hsaco, "gfx942", "gfx942"));
  EXPECT_TRUE(runs(CodeFormat::Hsaco, "gfx942", "gfx942:sramecc+:xnack-"));
  EXPECT_FALSE(runs(CodeFormat::Hsaco, "gfx942", "gfx950"));
  EXPECT_FALSE(runs(CodeFormat::Hsaco, "gfx942", "sm_90"));
}

TEST(ChipTest, ADeviceHasTheSettingsOfATargetId) {
  const char *device = "gfx942:sramecc+:xnack-";
  EXPECT_TRUE(runs(CodeFormat::Hsaco, "gfx942:xnack-", device));
  EXPECT_TRUE(runs(CodeFormat::Hsaco, "gfx942:sramecc+:xnack-", device));
  EXPECT_FALSE(runs(CodeFormat::Hsaco, "gfx942:xnack+", device));
  EXPECT_FALSE(runs(CodeFormat::Hsaco, "gfx942:sramecc-:xnack-", device));
  EXPECT_FALSE(runs(CodeFormat::Hsaco, "gfx942:foo+", device));
  EXPECT_FALSE(runs(CodeFormat::Hsaco, "gfx942:", device));
  // A device that says nothing of its settings.
  EXPECT_FALSE(runs(CodeFormat::Hsaco, "gfx942:xnack+", "gfx942"));
}

TEST(ChipTest, PtxRunsOnLaterChipsToo) {
  EXPECT_TRUE(runs(CodeFormat::Ptx, "sm_80", "sm_80"));
  EXPECT_TRUE(runs(CodeFormat::Ptx, "sm_80", "sm_90"));
  EXPECT_TRUE(runs(CodeFormat::Ptx, "sm_90", "sm_100"));
  EXPECT_FALSE(runs(CodeFormat::Ptx, "sm_90", "sm_80"));
  EXPECT_TRUE(runs(CodeFormat::Ptx, "sm_90a", "sm_90"));
  EXPECT_FALSE(runs(CodeFormat::Ptx, "sm_90a", "sm_100"));
  EXPECT_FALSE(runs(CodeFormat::Ptx, "sm_90", "gfx942"));
  EXPECT_FALSE(runs(CodeFormat::Ptx, "sm_x", "sm_90"));
}

TEST(ChipTest, CubinsRunWithinTheirGeneration) {
  EXPECT_TRUE(runs(CodeFormat::Cubin, "sm_80", "sm_86"));
  EXPECT_FALSE(runs(CodeFormat::Cubin, "sm_80", "sm_90"));
  EXPECT_FALSE(runs(CodeFormat::Cubin, "sm_86", "sm_80"));
}

} // namespace
