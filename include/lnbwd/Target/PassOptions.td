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

#endif // LNBWD_TARGET_PASSOPTIONS_TD
