//===- LdsChecker.cpp - Accesses to LDS -----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LDS is new for each workgroup: what no wave has written must not be read.
// Accesses of different waves to one place, one of them a write, need a barrier
// between them: the first wave has signalled it after its access, the second
// has passed it before its own. In which order the simulator happens to execute
// them does not matter.
//
//===----------------------------------------------------------------------===//

#include "Check/LdsChecker.h"

#include "Check/LdsBanks.h"
#include "Core/Execution.h"
#include "Core/LaneMask.h"

#include <algorithm>
#include <cstring>

using namespace lnbwd::sim;

constexpr uint32_t AtomicBit = LdsCell::AtomicBit;
constexpr uint32_t WaveBits = LdsCell::WaveBits;
constexpr uint32_t SignalBits = LdsCell::SignalBits;

/// Another wave's access that no barrier orders before one that has passed
/// `Passed` barriers.
static bool unordered(uint32_t Stamp, uint32_t Mine, unsigned Passed) {
  return Stamp && (Stamp & WaveBits) != Mine && (Stamp & SignalBits) >= Passed;
}

/// The bytes that hold nothing defined, of 16 at most.
static uint32_t missingBytes(const uint8_t *Written, unsigned Bytes) {
  uint32_t Missing = 0;
  for (unsigned K = 0; K < Bytes; ++K)
    Missing |= uint32_t(Written[K] != LdsDefined) << K;
  return Missing;
}

/// What an access takes along matters where it is used: beside what has been
/// written, in a dword of which a part has, or stored without being defined.
bool LdsChecker::isPadding(uint32_t Address, unsigned Bytes) const {
  const uint32_t Dword = Address & ~3u;
  for (unsigned K = 0; K < Bytes; ++K)
    if (WG.Written[Address + K] != LdsNeverWritten)
      return true;
  return Bytes < 4 && Dword + 4 <= WG.Written.size() &&
         missingBytes(&WG.Written[Dword], 4) != 15;
}

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
  if (L.memory()) {
    const unsigned Align = std::min<unsigned>(I->ElementBytes, 4);
    if (Address & (Align - 1))
      return Fault(Address,
                   "the address is not aligned to " + std::to_string(Align));
    uint8_t *Known = &WG.Written[Address];
    if (Access != MemoryAccess::Store) {
      Missing = missingBytes(Known, Bytes);
      const bool Padding = Missing && L.registers() &&
                           Access == MemoryAccess::Load &&
                           isPadding(Address, Bytes);
      if (Missing && !Padding)
        return Fault(Address + uint32_t(__builtin_ctz(Missing)),
                     "the memory was never written by this workgroup");
    }
    if (Access != MemoryAccess::Load)
      std::memset(Known, LdsDefined, Bytes);
  }
  if (!Touched.empty() && Touched.back().End == Address)
    Touched.back().End += Bytes;
  else
    Touched.emplace_back(Address, Address + Bytes);
  if (!L.races())
    return true;
  const uint32_t Mine = (W.Index + 1) << 24;
  const uint32_t Stamp = Mine | (WG.Signals[W.Index] & SignalBits);
  const unsigned First = Address >> WG.Granule,
                 Last = (Address + Bytes - 1) >> WG.Granule;
  for (unsigned C = First; C <= Last; ++C) {
    LdsCell &Cell = WG.Cells[C];
    bool BothAtomic =
        Access == MemoryAccess::Atomic && (Cell.Writer & AtomicBit);
    uint32_t Other = 0;
    bool OtherWrote = false;
    if (unordered(Cell.Writer & ~AtomicBit, Mine, Passed) && !BothAtomic) {
      Other = Cell.Writer;
      OtherWrote = true;
    } else if (unordered(Cell.OtherWriter & ~AtomicBit, Mine, Passed) &&
               Access != MemoryAccess::Atomic) {
      Other = Cell.OtherWriter;
      OtherWrote = true;
    } else if (Access != MemoryAccess::Load) {
      for (uint32_t Reader : Cell.Reader)
        if (unordered(Reader, Mine, Passed))
          Other = Reader;
    }
    if (__builtin_expect(Other != 0, 0))
      return Fault(C << WG.Granule,
                   "a race: wave " +
                       std::to_string(((Other & WaveBits) >> 24) - 1) +
                       (OtherWrote ? " has written it" : " has read it") +
                       ", and no barrier that both have reached, with their "
                       "accesses waited for, lies between");
    if (Access == MemoryAccess::Load) {
      uint32_t *R = Cell.Reader;
      if ((R[0] & WaveBits) == Mine || !R[0])
        R[0] = Stamp;
      else if ((R[1] & WaveBits) == Mine || !R[1])
        R[1] = Stamp;
      else
        R[(R[0] & SignalBits) <= (R[1] & SignalBits) ? 0 : 1] = Stamp;
    } else if (Access == MemoryAccess::Atomic) {
      // Of the other waves' atomics the one with the most barriers before it.
      if ((Cell.Writer & WaveBits) != Mine &&
          (!Cell.OtherWriter || (Cell.OtherWriter & WaveBits) == Mine ||
           (Cell.Writer & SignalBits) >= (Cell.OtherWriter & SignalBits)))
        Cell.OtherWriter = Cell.Writer;
      Cell.Writer = Stamp | AtomicBit;
    } else {
      Cell.Writer = Stamp;
      Cell.OtherWriter = 0;
    }
  }
  return true;
}

void LdsChecker::count(const uint32_t *A, uint64_t Mask, unsigned Bytes,
                       CheckCounts &Counts) const {
  unsigned Least;
  unsigned Cycles = bankCycles(A, Mask, Bytes, W.N, L.LdsBanks, Least);
  Counts.LdsCycles += Cycles;
  Counts.LdsConflictCycles += Cycles - Least;
}
