//===- StreamKernel.h - Two reads, one write, in PTX ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel that says how fast the device's memory is for this kind of work:
// it reads two arrays and writes a third, and does nothing else. A hand-written
// PTX program with a launch plan like any other, so that the runtime launches
// it.
//
// M counts 16-byte vectors. Each of the 256 work-items of a workgroup takes
// four, 256 apart, and asks for all eight before it uses any.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_STREAMKERNEL_H
#define LNBWD_TOOLS_LNBWD_RUN_STREAMKERNEL_H

#include <string>

namespace lnbwd::run {

/// Bytes of one of the vectors that M counts.
constexpr size_t kStreamVectorBytes = 16;

/// The program's text.
std::string streamKernelPtx();

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_STREAMKERNEL_H
