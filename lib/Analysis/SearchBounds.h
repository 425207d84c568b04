//===- SearchBounds.h - What both searches for schedules go by --*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers that the cost model's search has in common with the tuner's
// (python/lnbwd/schedule_space.py), as LNBwdSchedule.td declares them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_ANALYSIS_SEARCHBOUNDS_H
#define LNBWD_LIB_ANALYSIS_SEARCHBOUNDS_H

#include <array>
#include <cstdint>

namespace lnbwd {
#include "SearchBounds.h.inc"
} // namespace lnbwd

#endif // LNBWD_LIB_ANALYSIS_SEARCHBOUNDS_H
