//===- Comparison.cpp - Outputs of two orders of execution ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Comparison.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace llvm;
using namespace lnbwd::simtool;

std::optional<Tolerance> lnbwd::simtool::parseTolerance(StringRef Text) {
  SmallVector<StringRef, 2> Parts;
  Text.split(Parts, ',');
  double Numbers[2] = {};
  if (Parts.size() > 2)
    return std::nullopt;
  for (size_t K = 0; K < Parts.size(); ++K)
    if (Parts[K].trim().getAsDouble(Numbers[K]) || !(Numbers[K] >= 0) ||
        std::isinf(Numbers[K]))
      return std::nullopt;
  return Tolerance{Numbers[0], Numbers[1]};
}

/// How far two numbers lie apart by the larger one; infinite if there is no
/// such number.
static double relativeDistance(double X, double Y) {
  const double Distance =
      std::fabs(X - Y) / std::max(std::fabs(X), std::fabs(Y));
  return std::isnan(Distance) ? INFINITY : Distance;
}

static bool isAllowed(double X, double Y, const Tolerance &Allowed) {
  if (std::isnan(X) || std::isnan(Y))
    return std::isnan(X) && std::isnan(Y);
  if (X == Y)
    return true;
  return std::fabs(X - Y) <=
         Allowed.Relative * std::max(std::fabs(X), std::fabs(Y)) +
             Allowed.Absolute;
}

std::string lnbwd::simtool::describeDifference(Element Type,
                                               ArrayRef<uint8_t> Usual,
                                               ArrayRef<uint8_t> Other,
                                               const Tolerance &Allowed) {
  if (Usual == Other)
    return "";
  const unsigned Size = elementBytes(Type);
  const bool Floats = isFloat(Type);
  uint64_t Differing = 0;
  size_t Worst = 0;
  double Farthest = -1;
  for (size_t K = 0; (K + 1) * Size <= Usual.size(); ++K) {
    const uint8_t *A = &Usual[K * Size], *B = &Other[K * Size];
    if (!std::memcmp(A, B, Size))
      continue;
    double Distance = 0;
    if (Floats) {
      const double X = elementValue(Type, A), Y = elementValue(Type, B);
      if (!Allowed.isNone() && isAllowed(X, Y, Allowed))
        continue;
      Distance = relativeDistance(X, Y);
    }
    ++Differing;
    if (Distance > Farthest) {
      Farthest = Distance;
      Worst = K;
    }
  }
  if (!Differing)
    return "";
  std::string Text;
  raw_string_ostream OS(Text);
  OS << Differing << " of its " << Usual.size() / Size << ' ' << typeName(Type)
     << " elements differ";
  if (Floats && !Allowed.isNone())
    OS << " by more than --tolerance";
  OS << (Differing == 1 ? ", element "
         : Floats       ? ", most of all element "
                        : ", the first one element ")
     << Worst << ": " << formatElement(Type, &Usual[Worst * Size])
     << " in the usual order, " << formatElement(Type, &Other[Worst * Size])
     << " in this one";
  if (Floats && std::isfinite(Farthest))
    OS << format("; their relative difference is %.2g, and --tolerance allows "
                 "for sums that are rounded in another order",
                 Farthest);
  return Text;
}
