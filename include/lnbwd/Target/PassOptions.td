//===- PassOptions.td - Options that many passes have ------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options that several passes have, once for all files that describe passes.
// What is checked of them: PassOptions.h.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TARGET_PASSOPTIONS_TD
#define LNBWD_TARGET_PASSOPTIONS_TD

include "mlir/Pass/PassBase.td"

def ChipOption
    : Option<"chip", "chip", "std::string", /*default=*/"",
             "Chip to compile for; an unknown name is an error that lists the "
             "known ones">;

/// Of a pass over products.
def ProductRowsOption
    : Option<"rows", "rows", "int64_t", /*default=*/"0",
             "Number of rows M to choose for; 0: unknown">;

#endif // LNBWD_TARGET_PASSOPTIONS_TD
