//===- ClockInfo.cpp - Parameters of the timing model ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table; and of instructions, by class and pace of their records, how long
// they occupy something.
//
//===----------------------------------------------------------------------===//

#include "Timing/ClockInfo.h"

#include "Core/MatrixShape.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace lnbwd;
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

/// Operations that a matrix unit does in a clock with elements of this type.
static double matrixRate(MatrixType Source, const ClockInfo &C) {
  switch (Source) {
  case MatrixType::F16:
  case MatrixType::BF16:
    return C.MatrixFlopsPerClock;
  case MatrixType::XF32:
    return C.MatrixXF32FlopsPerClock;
  case MatrixType::F32:
    return C.MatrixSingleFlopsPerClock;
  case MatrixType::F64:
    return C.MatrixDoubleFlopsPerClock;
  case MatrixType::I8:
  case MatrixType::FP8:
  case MatrixType::BF8:
  case MatrixType::FP8Fnuz:
  case MatrixType::BF8Fnuz:
    return C.MatrixByteFlopsPerClock;
  case MatrixType::I4:
  case MatrixType::FP6:
  case MatrixType::BF6:
  case MatrixType::FP4:
    return C.MatrixSmallFlopsPerClock;
  case MatrixType::I32:
    break;
  }
  llvm_unreachable("not a type of factors");
}

/// Clocks of a matrix instruction: its operations over the unit's rate.
static unsigned matrixClocks(const Inst &I, const ClockInfo &C) {
  if (!I.Matrix)
    return unsigned(C.VectorClocks) * 4;
  const MatrixShape &M = *I.Matrix;
  // Of two types the one of more bits sets the pace, and a sparse product takes
  // the time of what is kept.
  const MatrixType Slower = bitsOf(M.A) < bitsOf(M.B) ? M.B : M.A;
  const double Flops = 2.0 * M.M * M.M * M.keptK() * M.Blocks;
  return std::max(8u, unsigned(Flops / matrixRate(Slower, C)));
}

static IssueFacts factsOf(const Inst &I, const Effects &E, const ClockInfo &C,
                          unsigned Generation) {
  IssueFacts F;
  const unsigned Vector = unsigned(C.VectorClocks),
                 Scalar = unsigned(C.ScalarClocks);
  F.Busy = F.Gap = F.Result = uint16_t(Scalar);
  const isa::InstructionFacts &Facts = I.Record->Facts;
  F.HasAccess = E.Access != MemoryAccess::None;
  switch (I.Class) {
  case InstClass::Vector:
  case InstClass::Uncounted:
    F.To = Port::Vector;
    F.Busy = F.Gap = uint16_t(Vector);
    F.Result = uint16_t(std::max(C.VectorResultClocks, C.VectorClocks));
    if (E.Counted == CountClass::Matrix) {
      F.Busy = F.Result = uint16_t(matrixClocks(I, C));
    } else if (E.Counted == CountClass::Transcendental ||
               Facts.Takes == isa::Pace::Product) {
      F.Busy = F.Gap = F.Result = uint16_t(C.TranscendentalClocks);
    } else if (Facts.Takes == isa::Pace::LongProduct) {
      F.Busy = F.Gap = F.Result = uint16_t(C.LongProductClocks);
    } else if (Facts.Takes == isa::Pace::Wide) {
      F.Gap = F.Result = uint16_t(C.WideClocks);
    }
    return F;
  case InstClass::VectorMemory:
    F.To = Port::VectorMemory;
    return F;
  case InstClass::ScalarMemory:
    F.To = Port::ScalarMemory;
    return F;
  case InstClass::LDS:
    F.To = Port::Lds;
    F.Permutes = !I.ElementBytes;
    return F;
  default:
    break;
  }
  if (E.Waits != WaitKind::None) {
    F.IsWait = true;
    F.Waits = waitLimits(I, E.Waits, Generation);
    return F;
  }
  if (E.Barrier != BarrierKind::None) {
    // Of a split barrier the wait is what takes time.
    F.IsBarrier = E.Barrier != BarrierKind::Signal;
    return F;
  }
  F.IsEnd = I.Record->Description.EndsWave;
  if (Facts.Flags & isa::FactIdles)
    F.Gap = uint16_t(Scalar * (1 + (unsigned(I.Imm) & 15)));
  if (E.Counted == CountClass::Branch || I.Record->Description.IsBranch) {
    F.To = Port::Branch;
    F.IsBranch = true;
  } else if (E.Counted == CountClass::ScalarAlu) {
    F.To = Port::Scalar;
  }
  return F;
}

IssueTable::IssueTable(const InstructionTable &P, const ClockInfo &C)
    : Code(P.instructions()), TheEffects(CodeAnalysis::of(P).Effects) {
  for (const Inst &I : P.instructions())
    List.push_back(I.Size
                       ? factsOf(I, TheEffects.of(&I), C, P.chip().Generation)
                       : IssueFacts());
}
