//===- ClockInfo.cpp - Parameters of the timing model ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table.
//
//===----------------------------------------------------------------------===//

#include "Timing/ClockInfo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace lnbwd::sim;
using llvm::StringRef;

static const ClockInfo Table[] = {
#define GET_CLOCK_ROWS
#include "lnbwd/Chips/SimulatorClocks.inc"
};

llvm::ArrayRef<ClockInfo> lnbwd::sim::clocks() { return Table; }

const ClockInfo *lnbwd::sim::clockOf(StringRef Chip, StringRef Product) {
  for (const ClockInfo &C : Table)
    if (Chip == C.Chip && (Product.empty() || Product == C.Product))
      return &C;
  return nullptr;
}

std::string ClockInfo::label() const {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  OS << Product;
  if (!Calibrated)
    OS << " (uncalibrated)";
  else if (HeldOutPercent > 0)
    OS << llvm::format(" (model error on held-out kernels: %.0f %%)",
                       HeldOutPercent);
  else
    OS << " (model error not known)";
  return Text;
}

namespace {
struct NamedNumber {
  const char *Name;
  double ClockInfo::*Member;
};
} // namespace

std::string lnbwd::sim::replaceParameters(ClockInfo &C, StringRef Text) {
  static const NamedNumber Numbers[] = {
#define GET_CLOCK_NUMBERS
#include "lnbwd/Chips/SimulatorClocks.inc"
  };
  llvm::SmallVector<StringRef, 8> Parts;
  Text.split(Parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef Part : Parts) {
    const std::pair<StringRef, StringRef> Setting = Part.split('=');
    const StringRef Name = Setting.first, Value = Setting.second;
    const NamedNumber *Found = llvm::find_if(
        Numbers, [&](const NamedNumber &N) { return Name == N.Name; });
    double Number;
    if (Found == std::end(Numbers))
      return "there is no parameter '" + Name.str() +
             "' of the timing model; simulator/docs/simulator.md lists "
             "them";
    if (Value.getAsDouble(Number) || !(Number >= 0))
      return "expected a number of 0 or more for '" + Name.str() + "', got '" +
             Value.str() + "'";
    C.*Found->Member = Number;
  }
  return "";
}
