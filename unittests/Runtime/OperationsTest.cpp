//===- OperationsTest.cpp - The tables of named operations ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Operations/Operations.h"
#include "lnbwd/Runtime/lnbwd_runtime.h"

#include "gtest/gtest.h"

using namespace lnbwd;

namespace {

TEST(OperationsTest, EverythingIsFoundByItsName) {
  for (const NamedOperationInfo &info : kOperations) {
    EXPECT_EQ(findOperation(info.name), info.operation);
    EXPECT_EQ(&getInfo(info.operation), &info);
  }
  for (size_t i = 0; i < kRoleCount; ++i)
    EXPECT_EQ(findRole(kRoles[i].name), static_cast<Role>(i));
  EXPECT_FALSE(findOperation("softmax"));
  EXPECT_FALSE(findRole(""));
}

TEST(OperationsTest, AGradientAndItsForwardPassNameEachOther) {
  for (const NamedOperationInfo &info : kOperations) {
    ASSERT_TRUE(info.counterpart);
    const NamedOperationInfo &other = getInfo(*info.counterpart);
    EXPECT_EQ(other.counterpart, info.operation);
    EXPECT_NE(other.isForward, info.isForward);
  }
}

TEST(OperationsTest, InputsComeBeforeOutputs) {
  for (const NamedOperationInfo &info : kOperations) {
    bool areOutputs = false;
    for (const OperandInfo &operand : info) {
      EXPECT_GE(operand.isOutput, areOutputs) << info.name;
      areOutputs = operand.isOutput;
    }
  }
  const NamedOperationInfo &info = getInfo(NamedOperation::RmsNormBwd);
  EXPECT_TRUE(info.hasInput(Role::Y) && !info.hasOutput(Role::Y));
  EXPECT_FALSE(info.hasMean());
}

TEST(OperationsTest, KindsHaveTheRuntimesNumbers) {
  for (auto [name, kind] :
       {std::pair("row_block", LNBWD_ARGUMENT_ROW_BLOCK),
        std::pair("column", LNBWD_ARGUMENT_COLUMN),
        std::pair("row_scalar", LNBWD_ARGUMENT_ROW_SCALAR),
        std::pair("group_column", LNBWD_ARGUMENT_GROUP_COLUMN)})
    EXPECT_EQ(std::string_view(kKinds[kind].name), name);
}

} // namespace
