//===- IterationModel.h - What persistent rows in registers cost *- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time of a scheduled row program on a chip whose rows come through
// registers, where workgroups stay for all of their rows, from the iterations
// of the compute unit that has the most to do. Its parameters were fitted to
// times that the simulator's model predicts for a card; no card was measured.
// docs/schedules.md says what the terms are.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_ITERATIONMODEL_H
#define LNBWD_ANALYSIS_ITERATIONMODEL_H

#include "lnbwd/Analysis/CostModel.h"

namespace lnbwd {

/// What the model knows of a product: fitted to predicted times, and read from
/// CostParameters.json, which has the same names.
struct IterationParameters {
  /// A launch with its finalising one, whatever they do; what each element of a
  /// lane adds to its start.
  double launchUs, elementUs;
  /// Device memory in 10^12 bytes a second, and the part of it that a compute
  /// unit can have to itself.
  double bandwidth, unitBandwidth;
  /// What an iteration waits for its rows beside the time that they take to
  /// come. The work of one tile of rows: where waves exchange sums, and the
  /// part of its own instructions that it waits for. How fast neighbours hide a
  /// workgroup's work where nothing is loaded ahead, as an exponent of their
  /// number.
  double loadUs, exchangeUs, issueShare, besideExponent;
  /// Instructions of a wave for a tile of rows: in any case, and for an
  /// operation on an element of 16 bits and of more.
  double rowInstructions, narrowInstructions, wideInstructions;
  /// Registers of a lane that vector instructions reach, and the instructions
  /// that each further one takes to be moved.
  double reachedRegisters, movedInstructions;
  /// The combination of rows side by side: each doubling of them, and each
  /// element of a lane.
  double combineUs, combinedUs;
  /// A partial row of sums, from the first kernel to the second: the least time
  /// for one, the rates at which they are written and read, in 10^12 bytes a
  /// second.
  double partialUs, partialWriteBandwidth, partialReadBandwidth;
  /// How sharply the slower of instructions and iterations rules, and the
  /// slower of an iteration's work and its load.
  double limitExponent, iterationExponent;
};

/// The parameters of `chip`, or null if nobody has any.
const IterationParameters *getIterationParameters(const ChipInfo &chip);

/// What a program and its schedule take.
struct IterationNeeds {
  /// Numbers that the program reads or writes for a row.
  double scalars;
  /// Registers of a lane, by estimate, and workgroups that a compute unit has
  /// room for.
  double registers, room;
};

/// Microseconds of one call of a row program with column sums, its finalising
/// kernel included, whose operands are in no cache.
double predictMicroseconds(const ProgramCosts &program,
                           const IterationNeeds &needs,
                           const ScheduleFields &schedule, const ChipInfo &chip,
                           const IterationParameters &parameters);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_ITERATIONMODEL_H
