//===- ScheduleTrees.h - The learned model of schedules ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradient-boosted trees that predict the time of a scheduled row program and
// its registers. bench/chooser/train.py makes them; there is a file for each
// family of chips, ScheduleTrees.FAMILY.trees, which says what it was trained
// on.
// A file that the environment's LNBWD_MODEL names is read in its place.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_SCHEDULETREES_H
#define LNBWD_ANALYSIS_SCHEDULETREES_H

#include "lnbwd/Analysis/ScheduleFeatures.h"

namespace lnbwd {

/// Why the trees of `chip` cannot be used: LNBWD_MODEL names a file without
/// some, or the features are not those that they were trained on. Empty if they
/// can.
llvm::StringRef getModelError(const ChipInfo &chip);

/// Microseconds of one call of a row program with each of some schedules, its
/// finalising kernel included, if its operands are in no cache.
llvm::SmallVector<double, 0>
predictMicroseconds(const ProgramFacts &program,
                    llvm::ArrayRef<ScheduleFeatures> schedules,
                    const ChipInfo &chip);

/// Registers of a lane over those that it can have: above 1, the kernel spills.
double predictRegisterShare(const ScheduleFeatures &schedule,
                            const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_SCHEDULETREES_H
