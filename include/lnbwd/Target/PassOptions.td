//===- PassOptions.td - Options that many passes have ------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The option that names the chip, once for all files that describe passes.
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
