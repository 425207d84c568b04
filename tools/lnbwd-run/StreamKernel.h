//===- StreamKernel.h - Two reads and one write -----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel that says how fast the device's memory is for this kind of work:
// it reads two arrays and writes a third, and does nothing else. It has a
// launch plan like any other, so that the runtime launches it; M counts rows of
// a few bytes or some thousand, whatever it was made for.
//
// For NVIDIA it is a PTX program written by hand, which the driver compiles.
// Each of the 256 work-items of a workgroup takes four vectors of 16 bytes, 256
// apart, and asks for all eight before it uses any. For AMD, whose driver takes
// machine code alone, it is the row program stream.mlir, compiled by lnbwd-opt
// where that is at hand, or before, on another machine (--stream).
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_STREAMKERNEL_H
#define LNBWD_TOOLS_LNBWD_RUN_STREAMKERNEL_H

#include "Handles.h"
#include "Options.h"

#include <string>

namespace lnbwd::run {

/// The program in PTX.
std::string streamKernelPtx();

/// The program for a chip: the file of --stream, or the above. Null for AMD
/// where neither that option nor a compiler is there.
ProgramHandle loadStream(const Options &options, const std::string &chip);

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_STREAMKERNEL_H
