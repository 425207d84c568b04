//===- Backends.h - The backends, for the folder alone ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Others reach a backend through TargetBackend::get.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TARGET_BACKENDS_H
#define LNBWD_LIB_TARGET_BACKENDS_H

#include "lnbwd/Target/TargetBackend.h"

namespace lnbwd {

const TargetBackend &getAMDGPUBackend();
const TargetBackend &getNVPTXBackend();

} // namespace lnbwd

#endif // LNBWD_LIB_TARGET_BACKENDS_H
