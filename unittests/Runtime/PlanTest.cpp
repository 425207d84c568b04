//===- PlanTest.cpp - The launch plan's parser and sizes ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Runtime/Plan.h"
#include "Error.h"
#include "TestPrograms.h"

#include "gtest/gtest.h"

#include <limits>

using namespace lnbwd::runtime;
using lnbwd::test::examplePlan;
using lnbwd::test::groupedPlan;
using nlohmann::json;

/// The message with which a plan is refused; empty if it is taken.
static std::string refusal(const std::string &text) {
  try {
    parsePlan(text);
  } catch (const Error &error) {
    EXPECT_EQ(error.getStatus(), LNBWD_ERROR_INVALID_PLAN);
    return error.what();
  }
  return {};
}

/// The example with one value replaced or added.
static std::string refusalWith(const std::string &pointer, const json &value) {
  json plan = examplePlan();
  plan[json::json_pointer(pointer)] = value;
  return refusal(plan.dump());
}

static std::string refusalWithout(const std::string &pointer) {
  json plan = examplePlan();
  plan = plan.patch({{{"op", "remove"}, {"path", pointer}}});
  return refusal(plan.dump());
}

namespace {

TEST(PlanTest, ReadsTheExample) {
  Plan plan = parsePlan(examplePlan().dump());
  EXPECT_EQ(plan.name, "layer_norm_bwd");
  EXPECT_EQ(plan.chip, "gfx942");
  EXPECT_EQ(plan.waveSize, 64);
  ASSERT_EQ(plan.arguments.size(), 8U);
  EXPECT_EQ(plan.arguments[3].name, "mean");
  EXPECT_EQ(plan.arguments[3].kind, LNBWD_ARGUMENT_ROW_SCALAR);
  EXPECT_EQ(plan.arguments[5].access, LNBWD_ACCESS_WRITE);
  EXPECT_EQ(plan.arguments[5].element, LNBWD_ELEMENT_BF16);
  ASSERT_EQ(plan.kernels.size(), 2U);
  EXPECT_EQ(plan.kernels[0].grid[0].kind, PlanValue::Kind::WorkgroupCount);
  EXPECT_EQ(plan.kernels[1].grid[1].index, 2);
  EXPECT_EQ(plan.kernels[1].block[1], 2U);
  EXPECT_EQ(plan.kernels[1].dynamicSharedBytes, 512U);
  EXPECT_EQ(plan.kernels[0].parameters[7].kind, PlanValue::Kind::Workspace);
  EXPECT_EQ(plan.kernels[0].parameters[7].index, 1);
  EXPECT_EQ(plan.kernels[0].parameters[8].kind, PlanValue::Kind::Rows);
}

TEST(PlanTest, ReadsBytes) {
  json text = examplePlan();
  text["arguments"][0]["element"] = "i8";
  Plan plan = parsePlan(text.dump());
  EXPECT_EQ(plan.arguments[0].element, LNBWD_ELEMENT_I8);
  EXPECT_EQ(elementSize(LNBWD_ELEMENT_I8), 1);
}

TEST(PlanTest, ReadsConstants) {
  json text = examplePlan();
  text["kernels"][1]["parameters"][4] = {{"constant", 5000000000}};
  Plan plan = parsePlan(text.dump());
  EXPECT_EQ(plan.kernels[1].parameters[4].kind, PlanValue::Kind::Constant);
  EXPECT_EQ(plan.kernels[1].parameters[4].index, 5000000000);
}

TEST(PlanTest, LeavesTheOperationToOthers) {
  json text = examplePlan();
  text.erase("operation");
  EXPECT_EQ(parsePlan(text.dump()).arguments.size(), 8U);
  EXPECT_CONTAINS(refusalWith("/operation", json::array()),
                  "plan.operation: expected an object, got []");
}

TEST(PlanTest, ReadsDependentLaunch) {
  json text = examplePlan();
  EXPECT_FALSE(parsePlan(text.dump()).kernels[1].dependentLaunch);
  text["kernels"][1]["dependent_launch"] = true;
  EXPECT_TRUE(parsePlan(text.dump()).kernels[1].dependentLaunch);
  EXPECT_CONTAINS(refusalWith("/kernels/1/dependent_launch", 1),
                  "expected true");
}

TEST(PlanTest, ReadsTheAlignmentOfArguments) {
  json text = examplePlan();
  EXPECT_EQ(parsePlan(text.dump()).arguments[2].alignment, 16);
  text["arguments"][2]["alignment"] = 8;
  EXPECT_EQ(parsePlan(text.dump()).arguments[2].alignment, 8);
  EXPECT_CONTAINS(refusalWith("/arguments/2/alignment", 32),
                  "expected an integer from 1 to 16, got 32");
  EXPECT_CONTAINS(refusalWith("/arguments/2/alignment", 12),
                  "expected a power of two, got 12");
}

TEST(PlanTest, ReadsTheDistanceBetweenRows) {
  json text = examplePlan();
  Plan dense = parsePlan(text.dump());
  EXPECT_EQ(dense.arguments[1].rowStride, dense.arguments[1].rowLength);
  int64_t length = dense.arguments[1].rowLength;
  text["arguments"][1]["row_stride"] = length + 64;
  Plan apart = parsePlan(text.dump());
  EXPECT_EQ(apart.arguments[1].rowStride, length + 64);
  EXPECT_EQ(apart.argumentBytes(1, 3),
            dense.argumentBytes(1, 3) + int64_t{3 * 64 * 2});
  EXPECT_CONTAINS(refusalWith("/arguments/1/row_stride", length - 1),
                  "expected an integer of " + std::to_string(length));
  EXPECT_CONTAINS(refusalWith("/arguments/2/row_stride", length),
                  "expected a row_block to have it");
}

TEST(PlanTest, ReadsAWorkspaceOfOneNumberForEachRow) {
  json text = examplePlan();
  text["workspace"][0]["rows"] = {{"rows", true}};
  text["workspace"][0]["row_length"] = 1;
  Plan plan = parsePlan(text.dump());
  EXPECT_EQ(plan.workspaces[0].rows.kind, PlanValue::Kind::Rows);
  const int64_t counts[] = {7, 7};
  EXPECT_EQ(plan.workspaceBytes(0, 1000, counts), 4000);
  EXPECT_CONTAINS(refusalWith("/workspace/0/rows", json{{"rows", 1}}),
                  "expected true");
}

TEST(PlanTest, AFixedGridIsTheSameOnEveryDevice) {
  json text = examplePlan();
  text["workgroup_counts"][0] = {{"rows_per_workgroup", 4},
                                 {"workgroups_per_compute_unit", 0},
                                 {"max_workgroups", 100}};
  Plan plan = parsePlan(text.dump());
  for (int64_t computeUnits : {1, 64, 304}) {
    EXPECT_EQ(plan.workgroupCount(0, 0, computeUnits), 1);
    EXPECT_EQ(plan.workgroupCount(0, 12, computeUnits), 3);
    EXPECT_EQ(plan.workgroupCount(0, 100000, computeUnits), 100);
  }
  EXPECT_CONTAINS(refusalWith("/workgroup_counts/0/max_workgroups", 0),
                  "expected an integer from 1");
}

TEST(PlanTest, HasTheLeastWorkgroupsOnSmallDevices) {
  json text = examplePlan();
  text["workgroup_counts"][0] = {{"rows_per_workgroup", 1},
                                 {"workgroups_per_compute_unit", 1},
                                 {"workgroups_per_row", 8},
                                 {"least_workgroups", 4}};
  Plan plan = parsePlan(text.dump());
  for (auto [rows, computeUnits, count] :
       {std::array{0, 16, 1}, {3, 16, 3}, {99, 16, 4}, {99, 132, 16}})
    EXPECT_EQ(plan.workgroupCount(0, rows, computeUnits), count);
}

TEST(PlanTest, ReadsGroupsOfRows) {
  Plan plan = parsePlan(groupedPlan().dump());
  EXPECT_EQ(plan.groupArgument(), &plan.arguments[2]);
  EXPECT_EQ(parsePlan(examplePlan().dump()).groupArgument(), nullptr);
  EXPECT_EQ(plan.argumentBytes(2, {60, 6}), 6 * 4096 * 2);
  EXPECT_EQ(plan.argumentBytes(0, {60, 6}), 60 * 4096 * 2);
  // max(1, min(ceil(M / B / 4), 2 * C / B))
  EXPECT_EQ(plan.workgroupCount(0, {60, 6}, 304), 3);
  EXPECT_EQ(plan.workgroupCount(0, {60, 60}, 304), 1);
  EXPECT_EQ(plan.workgroupCount(0, {60000, 6}, 304), 101);
  EXPECT_EQ(plan.workgroupCount(0, {100000, 1000}, 304), 1);
  EXPECT_EQ(plan.workgroupCount(0, {0, 0}, 304), 1);
  const int64_t counts[] = {3};
  EXPECT_EQ(plan.workspaceBytes(0, {60, 6}, counts), 3 * 6 * 4096 * 4);
  auto evaluate = [&](const PlanValue &value) {
    return value.evaluate({60, 6}, counts, "");
  };
  EXPECT_EQ(evaluate(plan.kernels[0].grid[0]), 3);
  EXPECT_EQ(evaluate(plan.kernels[0].grid[2]), 6);
  EXPECT_EQ(evaluate(plan.kernels[1].grid[0]), 18);
  EXPECT_EQ(plan.kernels[0].parameters[8].kind, PlanValue::Kind::RowsPerGroup);
  EXPECT_EQ(plan.kernels[1].parameters[4].kind, PlanValue::Kind::Constant);
  EXPECT_TRUE(plan.kernels[1].parameters[4].timesGroups);
}

TEST(PlanTest, RefusesSizesThatAreNoGroups) {
  Plan plan = parsePlan(groupedPlan().dump());
  auto sizeRefusal = [&](LaunchSize size) -> std::string {
    try {
      plan.checkSize(size);
    } catch (const Error &error) {
      EXPECT_EQ(error.getStatus(), LNBWD_ERROR_INVALID_ARGUMENT);
      return error.what();
    }
    return "";
  };
  for (LaunchSize size : {LaunchSize(60, 6), LaunchSize(0, 6), LaunchSize(0, 0),
                          LaunchSize(7, 1), LaunchSize(7, 7)})
    EXPECT_EQ(sizeRefusal(size), "");
  EXPECT_CONTAINS(sizeRefusal({60, 7}),
                  "M, the number of rows: expected a multiple of B, the number "
                  "of groups of rows, 7, got 60");
  EXPECT_CONTAINS(sizeRefusal({60, 0}), "of groups of rows, 0, got 60");
  EXPECT_CONTAINS(sizeRefusal({60, -1}),
                  "(of 'gamma'): expected 0 or more, got -1");
  EXPECT_CONTAINS(sizeRefusal({-1, 1}), "expected 0 or more, got -1");
  // Where there are no groups nobody looks at their number.
  parsePlan(examplePlan().dump()).checkSize({60, 7});
}

TEST(PlanTest, KnowsSizesByTheDimensionsOfAKind) {
  // 60 rows in 6 groups, of a row length of 48, in f32.
  const std::pair<const char *, int64_t> kinds[] = {
      {"row_block", 60 * 48},
      {"column", 48},
      {"row_scalar", 60},
      {"group_column", 6 * 48},
      {"repeated_row_block", 10 * 48},
      {"repeated_row_scalar", 10},
      {"group_scalar", 6},
      {"number", 1}};
  for (auto [kind, elements] : kinds) {
    json text = groupedPlan();
    json &argument = text["arguments"][0];
    bool hasColumns = elements % 48 == 0;
    argument["kind"] = kind;
    argument["element"] = "f32";
    argument["row_length"] = hasColumns ? 48 : 1;
    EXPECT_EQ(parsePlan(text.dump()).argumentBytes(0, {60, 6}), 4 * elements)
        << kind;
    if (!hasColumns)
      EXPECT_CONTAINS(refusalWith("/arguments/0",
                                  [&] {
                                    argument["row_length"] = 48;
                                    return argument;
                                  }()),
                      std::string("expected 1 for a ") + kind);
  }
}

TEST(PlanTest, RefusesGroupsWithoutGroupColumns) {
  for (const char *place :
       {"/workgroup_counts/0/per_group", "/kernels/0/grid/2",
        "/workspace/0/rows", "/kernels/0/parameters/8"}) {
    json value = groupedPlan()[json::json_pointer(place)];
    EXPECT_CONTAINS(refusalWith(place, value),
                    "expected an argument of a kind that has the groups")
        << place;
  }
}

TEST(PlanTest, RefusesTextThatIsNoJson) {
  EXPECT_CONTAINS(refusal(""), "not valid JSON");
  EXPECT_CONTAINS(refusal("{\"format\":"), "not valid JSON");
  EXPECT_CONTAINS(refusal("[1]"), "expected an object");
  EXPECT_CONTAINS(refusal("{\"format\": 1, \"format\": 2}"),
                  "key 'format' given twice");
  EXPECT_CONTAINS(refusal(std::string(100000, '[')), "nested deeper");
  EXPECT_CONTAINS(refusal("{\"a\": \"\xff\"}"), "not valid JSON");
}

TEST(PlanTest, RefusesOtherFormatsAndVersions) {
  EXPECT_CONTAINS(refusalWith("/format", "other"),
                  "plan.format: expected 'lnbwd-plan', got 'other'");
  EXPECT_CONTAINS(refusalWith("/version", 2),
                  "reads version 1, the file has version 2");
  EXPECT_CONTAINS(refusalWith("/version", "1"), "expected an integer");
  EXPECT_CONTAINS(refusalWithout("/version"), "the key 'version' is missing");
}

TEST(PlanTest, RefusesUnknownKeysEverywhere) {
  for (const char *place :
       {"/extra", "/arguments/0/extra", "/workgroup_counts/0/extra",
        "/workspace/0/extra", "/workspace/0/rows/extra", "/kernels/0/extra",
        "/kernels/0/parameters/0/extra", "/kernels/0/grid/0/extra"})
    EXPECT_CONTAINS(refusalWith(place, 1), "unknown key 'extra'") << place;
}

TEST(PlanTest, RefusesMissingKeysEverywhere) {
  for (const char *place : {"/format",
                            "/producer",
                            "/name",
                            "/chip",
                            "/wave_size",
                            "/arguments",
                            "/workgroup_counts",
                            "/workspace",
                            "/kernels",
                            "/arguments/0/name",
                            "/arguments/0/access",
                            "/arguments/0/kind",
                            "/arguments/0/element",
                            "/arguments/0/row_length",
                            "/workgroup_counts/0/rows_per_workgroup",
                            "/workgroup_counts/0/workgroups_per_compute_unit",
                            "/workspace/0/element",
                            "/workspace/0/row_length",
                            "/workspace/0/rows",
                            "/kernels/0/name",
                            "/kernels/0/grid",
                            "/kernels/0/block",
                            "/kernels/0/dynamic_shared_bytes",
                            "/kernels/0/parameters"})
    EXPECT_CONTAINS(refusalWithout(place), "is missing") << place;
}

TEST(PlanTest, RefusesValuesOutOfRange) {
  struct {
    const char *place;
    json value;
    const char *message;
  } cases[] = {
      {"/wave_size", 48, "plan.wave_size: expected 32 or 64, got 48"},
      {"/wave_size", 128, "from 32 to 64, got 128"},
      {"/name", "", "expected a non-empty string"},
      {"/chip", std::string("gfx\0x", 5), "without zero characters"},
      {"/arguments/0/access", "both",
       "expected one of 'read', 'write', 'read_write', got \"both\""},
      {"/arguments/0/kind", 3, "expected one of 'row_block'"},
      {"/arguments/0/element", "f64",
       "expected one of 'f16', 'bf16', 'f32', 'i8'"},
      {"/arguments/0/row_length", 0, "of 1 or more, got 0"},
      {"/arguments/0/row_length", 1.5, "expected an integer"},
      {"/arguments/0/row_length", 18446744073709551615U, "expected an integer"},
      {"/arguments/3/row_length", 2, "expected 1 for a row_scalar, got 2"},
      {"/arguments/1/name", "dy", "a second argument named 'dy'"},
      {"/workgroup_counts/0/rows_per_workgroup", 0, "of 1 or more, got 0"},
      {"/workgroup_counts/0/workgroups_per_compute_unit", -1, "got -1"},
      {"/workspace/0/rows", {{"workgroup_count", 1}}, "from 0 to 0, got 1"},
      {"/workspace/0/rows", "M", "expected an integer"},
      {"/kernels", json::array(), "expected 1 to 64 entries, got 0"},
      {"/kernels/0/grid", {1, 1}, "expected 3 to 3 entries, got 2"},
      {"/kernels/0/grid/1", 0, "from 1 to 2147483647, got 0"},
      {"/kernels/0/grid/1", 4294967296, "got 4294967296"},
      {"/kernels/0/block/0", 1025, "from 1 to 1024, got 1025"},
      {"/kernels/0/block",
       {1024, 2, 1},
       "expected at most 1024 work-items, got 2048"},
      {"/kernels/0/dynamic_shared_bytes", -1, "got -1"},
      {"/kernels/0/parameters/0", {{"argument", 8}}, "from 0 to 7, got 8"},
      {"/kernels/0/parameters/0", {{"argument", -1}}, "from 0 to 7, got -1"},
      {"/kernels/0/parameters/0", {{"workspace", 2}}, "from 0 to 1, got 2"},
      {"/kernels/0/parameters/0", {{"constant", -1}}, "of 0 or more, got -1"},
      {"/kernels/0/parameters/0", {{"rows", false}}, "expected true"},
      {"/kernels/0/parameters/0", json::object(), "expected one of the keys"},
      {"/kernels/0/parameters/0",
       {{"rows", true}, {"argument", 0}},
       "unknown key 'rows'"},
  };
  for (const auto &test : cases)
    EXPECT_CONTAINS(refusalWith(test.place, test.value), test.message)
        << test.place;
}

TEST(PlanTest, RefusesMoreThanALaunchHoldsRoomFor) {
  json parameters = json::array();
  for (size_t i = 0; i <= kMaxParameters; ++i)
    parameters.push_back({{"rows", true}});
  EXPECT_CONTAINS(refusalWith("/kernels/0/parameters", parameters),
                  "expected 0 to 64 entries, got 65");
}

TEST(PlanTest, WorkgroupCountFollowsTheAbiPage) {
  Plan plan = parsePlan(examplePlan().dump());
  // max(1, min(ceil(M / 4), 2 * C))
  EXPECT_EQ(plan.workgroupCount(0, 0, 304), 1);
  EXPECT_EQ(plan.workgroupCount(0, 1, 304), 1);
  EXPECT_EQ(plan.workgroupCount(0, 4, 304), 1);
  EXPECT_EQ(plan.workgroupCount(0, 5, 304), 2);
  EXPECT_EQ(plan.workgroupCount(0, 1000000, 304), 608);
  EXPECT_EQ(plan.workgroupCount(0, std::numeric_limits<int64_t>::max(), 304),
            608);
  // Workgroups that share rows count as one, rounded down.
  plan.workgroupCounts[0].workgroupsPerRow = 8;
  EXPECT_EQ(plan.workgroupCount(0, 1000000, 132), 33);
  EXPECT_EQ(plan.workgroupCount(0, 1000000, 1), 1);
  plan.workgroupCounts[0].workgroupsPerRow = 1;
  plan.workgroupCounts[0].workgroupsPerComputeUnit = 0;
  EXPECT_EQ(plan.workgroupCount(0, 1000000, 304), 250000);
}

TEST(PlanTest, SizesBeyondFourGibibytesAreExact) {
  Plan plan = parsePlan(examplePlan().dump());
  // 2^20 * 4096 elements are 2^32.
  EXPECT_EQ(plan.argumentBytes(0, 1 << 20), int64_t(1) << 33);
  EXPECT_EQ(plan.argumentBytes(2, 1 << 20), 8192);
  EXPECT_EQ(plan.argumentBytes(3, 1 << 20), int64_t(1) << 22);
  EXPECT_EQ(plan.argumentBytes(0, 0), 0);
}

TEST(PlanTest, SizesBeyond63BitsAreErrors) {
  Plan plan = parsePlan(examplePlan().dump());
  int64_t largest = std::numeric_limits<int64_t>::max();
  // 2^50 rows of 8192 bytes are 2^63.
  EXPECT_EQ(plan.argumentBytes(0, (int64_t(1) << 50) - 1),
            ((int64_t(1) << 50) - 1) * 8192);
  for (int64_t rows : {int64_t(1) << 50, largest})
    try {
      plan.argumentBytes(0, rows);
      FAIL() << rows;
    } catch (const Error &error) {
      EXPECT_EQ(error.getStatus(), LNBWD_ERROR_TOO_LARGE);
      EXPECT_CONTAINS(error.what(), "does not fit in 63 bits");
    }
}

TEST(PlanTest, BuffersAreSeparateWhereThePlanSaysSo) {
  json plan = examplePlan();
  EXPECT_FALSE(parsePlan(plan.dump()).separateBuffers);
  plan["separate_buffers"] = true;
  EXPECT_TRUE(parsePlan(plan.dump()).separateBuffers);
  EXPECT_CONTAINS(refusalWith("/separate_buffers", false),
                  "plan.separate_buffers: expected true, got false");
}

TEST(SizeTest, ArithmeticDoesNotWrap) {
  int64_t largest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(checkedMultiply(3, 5, "size"), 15);
  EXPECT_EQ(checkedMultiply(largest, 1, "size"), largest);
  EXPECT_THROW(checkedMultiply(largest, 2, "size"), Error);
  EXPECT_THROW(checkedMultiply(int64_t(1) << 32, int64_t(1) << 31, "size"),
               Error);
  EXPECT_EQ(checkedAdd(largest - 1, 1, "size"), largest);
  EXPECT_THROW(checkedAdd(largest, 1, "size"), Error);
  EXPECT_EQ(ceilDivide(0, 4), 0);
  EXPECT_EQ(ceilDivide(1, 4), 1);
  EXPECT_EQ(ceilDivide(largest, 1), largest);
  EXPECT_EQ(ceilDivide(largest, 2), (int64_t(1) << 62));
  EXPECT_EQ(checkedAlign(257, 256, "size"), 512);
  EXPECT_THROW(checkedAlign(largest, 256, "size"), Error);
}

} // namespace
