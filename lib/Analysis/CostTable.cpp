//===- CostTable.cpp - The table of fitted parameters ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of parameters, CostParameters.json; its "origin" says where they
// come from.
//
//===----------------------------------------------------------------------===//

#include "CostTable.h"

using namespace lnbwd;

static constexpr llvm::StringLiteral table =
#include "CostParameters.inc"
    ;

static llvm::json::Value readTable() {
  llvm::Expected<llvm::json::Value> document = llvm::json::parse(table);
  if (!document)
    llvm::report_fatal_error(document.takeError());
  return std::move(*document);
}

const llvm::json::Object &lnbwd::getCostSection(llvm::StringRef section) {
  static const llvm::json::Value document = readTable();
  const llvm::json::Object *found = document.getAsObject()->getObject(section);
  if (!found)
    llvm::report_fatal_error("CostParameters.json: no " + section);
  return *found;
}
