//===- LNBwdReference.td - All operations, to read ---------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What docs/reference/dialect.md is made of; no code is.
//
//===----------------------------------------------------------------------===//

include "lnbwd/Dialect/LNBwd/IR/LNBwdOps.td"
include "lnbwd/Dialect/LNBwd/IR/LNBwdProduct.td"
