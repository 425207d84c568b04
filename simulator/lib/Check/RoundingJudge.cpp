//===- RoundingJudge.cpp - Values that differ in rounding -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of each instruction the cases that differ most.
//
//===----------------------------------------------------------------------===//

#include "Check/RoundingJudge.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

using namespace lnbwd::sim;

/// Cases of an instruction; how many times what rounding up changes two values
/// may differ; and beside that in relation to them, four units in the last
/// place.
constexpr unsigned MostCases = 32;
constexpr float TimesTheChange = 16, Least = 0x1p-21f;
/// By how much, in relation, two may differ that rounding up does not change,
/// as if both were rounded up already: a difference of products nearly cancels.
constexpr float MostUnmoved = 0x1p-10f;

static float floatOf(uint32_t Bits) {
  float Value;
  std::memcpy(&Value, &Bits, sizeof(Value));
  return Value;
}

float RoundingJudge::Case::difference() const {
  return std::fabs(X - Y) / std::max(std::fabs(X), std::fabs(Y));
}

bool RoundingJudge::Case::differsInRounding() const {
  const float Change = std::fabs(UpX - X) + std::fabs(UpY - Y);
  return IsThere &&
         std::fabs(X - Y) <= TimesTheChange * Change +
                                 Least * std::max(std::fabs(X), std::fabs(Y));
}

bool RoundingJudge::Case::isUnmoved() const {
  return IsThere && UpX == X && UpY == Y && difference() <= MostUnmoved;
}

bool RoundingJudge::accepts(const Place &At, uint32_t X, uint32_t Y) {
  if (X == Y && TheStage != Stage::Compares)
    return true;
  Case New = {At, floatOf(X), floatOf(Y)};
  // Which of two an addition returns depends on the order of its operands.
  if (std::isnan(New.X) && std::isnan(New.Y))
    return true;
  auto IsNumber = [](float Value) { return !Value || std::isnormal(Value); };
  if (X != Y && !(IsNumber(New.X) && IsNumber(New.Y)))
    return false;
  std::lock_guard<std::mutex> Guard(Lock);
  if (TheStage == Stage::Judged)
    return Good.count(At.Instruction);
  if (TheStage == Stage::Compares) {
    for (Case &C : Cases)
      if (C.At == At) {
        C.UpX = New.X;
        C.UpY = New.Y;
        C.IsThere = true;
      }
    return true;
  }
  Case *LeastOf = nullptr;
  unsigned Count = 0;
  for (Case &C : Cases)
    if (C.At.Instruction == At.Instruction) {
      ++Count;
      if (!LeastOf || C.difference() < LeastOf->difference())
        LeastOf = &C;
    }
  if (Count < MostCases)
    Cases.push_back(New);
  else if (New.difference() > LeastOf->difference())
    *LeastOf = New;
  return true;
}

bool RoundingJudge::judge() {
  std::map<uint16_t, int> Balance;
  std::set<uint16_t> Bad;
  for (const Case &C : Cases)
    if (C.differsInRounding())
      ++Balance[C.At.Instruction];
    else if (C.isUnmoved())
      --Balance[C.At.Instruction];
    else
      Bad.insert(C.At.Instruction);
  for (const auto &[Instruction, Count] : Balance)
    if (Count <= 0)
      Bad.insert(Instruction);
    else if (!Bad.count(Instruction))
      Good.insert(Instruction);
  TheStage = Stage::Judged;
  return Bad.empty();
}
