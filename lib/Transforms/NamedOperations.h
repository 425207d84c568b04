//===- NamedOperations.h - Named operations and their patterns --*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the lowering of named operations and their differentiation share.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_NAMEDOPERATIONS_H
#define LNBWD_LIB_TRANSFORMS_NAMEDOPERATIONS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace lnbwd {

/// What `function` computes, if the only operation of this dialect in it is a
/// named one; null otherwise.
NamedOperationAttr describeNamedOperation(mlir::FunctionOpInterface function);

/// The patterns of lnbwd-lower-to-rowwise.
void populateLowerToRowwisePatterns(mlir::RewritePatternSet &patterns,
                                    bool textbook);

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_NAMEDOPERATIONS_H
