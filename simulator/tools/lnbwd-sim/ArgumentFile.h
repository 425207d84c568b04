//===- ArgumentFile.h - Kernel arguments from a JSON file -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "--args-file": an array with an object for each argument, in order.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_SIM_ARGUMENTFILE_H
#define LNBWD_TOOLS_LNBWD_SIM_ARGUMENTFILE_H

#include "Arguments.h"

namespace lnbwd::simtool {

/// Understands, with TYPE and FILL as --arg has them,
///   {"type": TYPE, "value": NUMBER}
///   {"bytes": "HEX" or "@FILE"}
///   {"kind": "in", "type": TYPE, "count": N, "fill": FILL}
///   {"kind": "inout", "type": TYPE, "values": [NUMBER, ...], "save": FILE}
///   {"kind": "out", "type": TYPE, "count": N, "save": FILE}
/// A number may be a string, "0x7f" or "nan". An Error names the line of what
/// is no JSON, or the place of what is not as above: "args.json: [2].type".
llvm::Expected<std::vector<Argument>> readArguments(llvm::StringRef Path,
                                                    bool WithZeros);

} // namespace lnbwd::simtool

#endif // LNBWD_TOOLS_LNBWD_SIM_ARGUMENTFILE_H
