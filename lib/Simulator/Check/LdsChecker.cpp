//===- LdsChecker.cpp - Accesses to LDS -----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LDS is new for each workgroup: what no wave has written must not be read.
//
//===----------------------------------------------------------------------===//

#include "Check/LdsChecker.h"

#include "Core/Execution.h"

#include <algorithm>
#include <cstring>

using namespace lnbwd::sim;

bool LdsChecker::access(const Inst *I, uint32_t Address, unsigned Bytes,
                        unsigned Lane, MemoryAccess Access) {
  auto Fault = [&](uint32_t Where, const std::string &Text) {
    return faultCheck(W, I, int(Lane),
                      std::string("LDS ") +
                          (Access == MemoryAccess::Load    ? "read"
                           : Access == MemoryAccess::Store ? "write"
                                                           : "atomic") +
                          " of " + std::to_string(Bytes) + " bytes at " +
                          std::to_string(Where) + " of " +
                          std::to_string(W.WG->LdsSize) + ": " + Text);
  };
  // In the mode that HSA sets, hardware performs them all the same.
  const unsigned Align = std::min<unsigned>(I->ElementBytes, 4);
  if (L.alignment() && (Address & (Align - 1)))
    return Fault(Address,
                 "the address is not aligned to " + std::to_string(Align));
  if (L.memory()) {
    uint8_t *Known = &WG.Written[Address];
    if (Access != MemoryAccess::Store)
      for (unsigned K = 0; K < Bytes; ++K)
        if (!Known[K])
          return Fault(Address + K,
                       "the memory was never written by this workgroup");
    if (Access != MemoryAccess::Load)
      std::memset(Known, 1, Bytes);
  }
  return true;
}

/// Cycles that the banks of LDS need for an access: lanes are served in groups
/// that ask for a dword of each bank at most; two dwords of one bank in a group
/// take two cycles, the same dword is handed to all.
static unsigned bankCycles(const uint32_t *A, uint64_t Mask, unsigned Bytes,
                           unsigned N, unsigned Banks, unsigned &Least) {
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
    uint32_t Known[64][4];
    uint8_t Count[64] = {};
    unsigned Worst = 1;
    for (uint64_t Left = Lanes; Left; Left &= Left - 1) {
      uint32_t First = A[Begin + unsigned(__builtin_ctzll(Left))] / 4;
      for (unsigned K = 0; K < Dwords; ++K) {
        uint32_t Dword = First + K;
        unsigned Bank = Dword % Banks, Seen = 0;
        while (Seen < Count[Bank] && Seen < 4 && Known[Bank][Seen] != Dword)
          ++Seen;
        if (Seen < Count[Bank] && Seen < 4)
          continue;
        if (Count[Bank] < 4)
          Known[Bank][Count[Bank]] = Dword;
        ++Count[Bank];
        Worst = std::max<unsigned>(Worst, Count[Bank]);
      }
    }
    Cycles += Worst;
    ++Least;
  }
  return Cycles;
}

void LdsChecker::count(const uint32_t *A, uint64_t Mask, unsigned Bytes,
                       CheckCounts &Counts) const {
  unsigned Least;
  unsigned Cycles = bankCycles(A, Mask, Bytes, W.N, L.LdsBanks, Least);
  Counts.LdsCycles += Cycles;
  Counts.LdsConflictCycles += Cycles - Least;
}
