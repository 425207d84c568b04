//===- LdsBanks.cpp - How long LDS takes for an access --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As many lanes at a time as there are banks for their dwords.
//
//===----------------------------------------------------------------------===//

#include "Check/LdsBanks.h"

#include <algorithm>

using namespace lnbwd::sim;

static constexpr unsigned MostBanks = 64;

unsigned lnbwd::sim::bankCycles(const uint32_t *A, uint64_t Mask,
                                unsigned Bytes, unsigned N, unsigned Banks,
                                unsigned &Least) {
  const unsigned Dwords = std::max(1u, Bytes / 4);
  const unsigned Group = std::max(1u, Banks / Dwords);
  unsigned Cycles = 0;
  Least = 0;
  for (unsigned Begin = 0; Begin < N; Begin += Group) {
    uint64_t Lanes = Mask >> Begin;
    if (Group < 64)
      Lanes &= (1ull << Group) - 1;
    if (!Lanes)
      continue;
    // Mostly the lanes of a group lie side by side, or ask for the same.
    const unsigned Low = Begin + unsigned(__builtin_ctzll(Lanes));
    uint32_t Before = A[Low];
    unsigned Beside = 0, Same = 0;
    for (uint64_t Rest = Lanes & (Lanes - 1); Rest; Rest &= Rest - 1) {
      const uint32_t X = A[Begin + unsigned(__builtin_ctzll(Rest))];
      Beside += X == Before + Bytes;
      Same += X == A[Low];
      Before = X;
    }
    const unsigned Others = unsigned(__builtin_popcountll(Lanes)) - 1;
    if (Same == Others || Beside == Others) {
      ++Cycles;
      ++Least;
      continue;
    }
    // At most as many dwords as the group's lanes ask for, all in one bank.
    uint32_t Known[MostBanks][MostBanks];
    uint8_t Count[MostBanks] = {};
    unsigned Worst = 1;
    for (uint64_t Left = Lanes; Left; Left &= Left - 1) {
      uint32_t First = A[Begin + unsigned(__builtin_ctzll(Left))] / 4;
      for (unsigned K = 0; K < Dwords; ++K) {
        uint32_t Dword = First + K;
        unsigned Bank = Dword % Banks, Seen = 0;
        while (Seen < Count[Bank] && Known[Bank][Seen] != Dword)
          ++Seen;
        if (Seen < Count[Bank])
          continue;
        Known[Bank][Count[Bank]++] = Dword;
        Worst = std::max<unsigned>(Worst, Count[Bank]);
      }
    }
    Cycles += Worst;
    ++Least;
  }
  return Cycles;
}
