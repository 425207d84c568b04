//===- WaitLimits.cpp - What an instruction waits for ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the generations keep the fields of s_waitcnt.
//
//===----------------------------------------------------------------------===//

#include "Check/WaitLimits.h"

using namespace lnbwd::sim;

// The largest number that the hardware's counter holds; issuing waits then.
unsigned lnbwd::sim::counterMaximum(WaitCounter C, unsigned Generation) {
  if (Generation == 9)
    return C == WaitLds ? 15 : 63;
  return C == WaitScalar ? 31 : 63;
}

WaitLimits lnbwd::sim::waitLimits(const Inst &I, WaitKind Kind,
                                  unsigned Generation) {
  const unsigned X = unsigned(I.Imm) & 0xffff;
  WaitLimits Limits;
  unsigned *Most = Limits.Most;
  switch (Kind) {
  case WaitKind::None:
    break;
  case WaitKind::Combined:
    if (Generation <= 10) {
      Most[WaitLoad] = (X & 15) | (X >> 14 & 3) << 4;
      Most[WaitLds] = X >> 8 & (Generation == 9 ? 15 : 63);
    } else {
      Most[WaitLoad] = X >> 10 & 63;
      Most[WaitLds] = X >> 4 & 63;
    }
    break;
  case WaitKind::Load:
    Most[WaitLoad] = X;
    break;
  case WaitKind::Store:
    Most[WaitStore] = X;
    break;
  case WaitKind::Lds:
    Most[WaitLds] = X;
    break;
  case WaitKind::Scalar:
    Most[WaitScalar] = X;
    break;
  case WaitKind::LoadLds:
    Most[WaitLoad] = X >> 8 & 63;
    Most[WaitLds] = X & 63;
    break;
  case WaitKind::StoreLds:
    Most[WaitStore] = X >> 8 & 63;
    Most[WaitLds] = X & 63;
    break;
  case WaitKind::Idle:
    for (unsigned &M : Limits.Most)
      M = 0;
    break;
  }
  return Limits;
}
