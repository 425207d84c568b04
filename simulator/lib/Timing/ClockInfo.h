//===- ClockInfo.h - Parameters of the timing model -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row for a product, or for a chip without one that was measured. Members
// and rows are made of Clocks.json; simulator/docs/simulator.md has them
// with their units and origins.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_TIMING_CLOCKINFO_H
#define LNBWD_LIB_SIMULATOR_TIMING_CLOCKINFO_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace lnbwd::sim {

struct ClockInfo {
  const char *Chip;    ///< as the compiler names it
  const char *Product; ///< as the model is named
  bool Calibrated;     ///< fitted to times of this product
#define GET_CLOCK_MEMBERS
#include "lnbwd/Chips/SimulatorClocks.inc"

  /// The product and how far the model is off on it, or that it is
  /// "uncalibrated": what stands beside every figure.
  std::string label() const;
  /// Nanoseconds of so many clocks.
  double nanoseconds(double Clocks) const { return Clocks * 1e3 / Megahertz; }
  /// Bytes of a clock at a rate in 10^9 bytes a second.
  double bytesPerClock(double Gigabytes) const {
    return Gigabytes * 1e3 / Megahertz;
  }
};

llvm::ArrayRef<ClockInfo> clocks();

/// The parameters of a chip: those of the product of that name, which has to
/// carry the chip, or without a name the first ones. Null if there are none.
const ClockInfo *clockOf(llvm::StringRef Chip, llvm::StringRef Product = "");

/// Replaces parameters, given as "name=number,...". Returns what is wrong with
/// the text, or nothing.
std::string replaceParameters(ClockInfo &C, llvm::StringRef Text);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_TIMING_CLOCKINFO_H
