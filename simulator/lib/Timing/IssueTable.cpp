//===- IssueTable.cpp - How long instructions occupy what -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By class and pace of the instruction's record.
//
//===----------------------------------------------------------------------===//

#include "Timing/IssueTable.h"

#include "Core/MatrixShape.h"

#include "llvm/Support/ErrorHandling.h"

#include <algorithm>

using namespace lnbwd;
using namespace lnbwd::sim;

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
