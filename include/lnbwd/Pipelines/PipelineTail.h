//===- PipelineTail.h - The rest of a pipeline ------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Goes on after a pass, with what --save-temps kept of it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_PIPELINES_PIPELINETAIL_H
#define LNBWD_PIPELINES_PIPELINETAIL_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/Error.h"

#include <string>

namespace lnbwd {

/// What a run of `pass` is called that is the `time`-th of it in a pipeline,
/// from 1: "cse", "cse-2". The stages of --save-temps have these names.
std::string getStageName(llvm::StringRef pass, unsigned time);

/// Leaves out of `pipeline`, as OpPassManager prints it, all passes up to the
/// one that getStageName calls `stage`. The error lists the passes if none is.
llvm::Expected<std::string> keepPassesBehind(llvm::StringRef pipeline,
                                             llvm::StringRef stage);

} // namespace lnbwd

#endif // LNBWD_PIPELINES_PIPELINETAIL_H
