//===- ShadowMemory.cpp - What is known of each byte of a buffer ----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cell is 64 bits for each piece: the low half says who wrote it, the high
// half who read it, in the present launch.
//
//===----------------------------------------------------------------------===//

#include "Check/ShadowMemory.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <thread>

using namespace lnbwd::sim;

constexpr uint32_t AtomicBit = 0x80000000;
/// Atomics that have written a piece were compare-and-swaps, all of them.
constexpr uint32_t CompareSwapBit = 0x40000000;
/// A store that had not been waited for when an atomic handed it on.
constexpr uint32_t UnderWayBit = 0x20000000;
constexpr uint32_t KindBits = AtomicBit | CompareSwapBit | UnderWayBit;

void GlobalOrder::atomic(uint64_t Address, WorkgroupMark Me, WorkgroupSet &Seen,
                         bool Takes) {
  if (!Words)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  WorkgroupSet &R = Released[Address];
  R.resize(Words);
  Seen.resize(Words);
  if (Takes)
    for (size_t K = 0; K < Words; ++K)
      Seen[K] |= R[K];
  for (size_t K = 0; K < Words; ++K)
    R[K] |= Seen[K];
  R[Me / 64] |= 1ull << Me % 64;
}

class BufferShadow::PageGuard {
public:
  explicit PageGuard(Page &P) : P(P) {
    while (P.Lock.test_and_set(std::memory_order_acquire))
      std::this_thread::yield();
  }
  ~PageGuard() { P.Lock.clear(std::memory_order_release); }
  PageGuard(const PageGuard &) = delete;
  PageGuard &operator=(const PageGuard &) = delete;

private:
  Page &P;
};

/// The bits [From, To) of a 64-bit word.
static uint64_t bitsBetween(uint64_t From, uint64_t To) {
  uint64_t High = To >= 64 ? ~0ull : (1ull << To) - 1;
  return High & ~((1ull << From) - 1);
}

/// Calls F(Word, Mask) for the words that hold the bits [From, To).
template <typename F>
static void forWords(uint64_t From, uint64_t To, F Function) {
  while (From < To) {
    uint64_t Word = From / 64, End = std::min(To, (Word + 1) * 64);
    Function(Word, bitsBetween(From % 64, End - Word * 64));
    From = End;
  }
}

static size_t pagesOf(uint64_t Bytes, unsigned Log) {
  return size_t((Bytes + (1ull << Log) - 1) >> Log);
}

BufferShadow::BufferShadow(uint64_t Begin, uint64_t Bytes, bool Written)
    : BufferNotes(Begin, Bytes), Default(Written),
      Pages(new std::atomic<Page *>[pagesOf(Bytes, PageLog)] {}) {}

BufferShadow::~BufferShadow() {
  for (size_t K = 0; K < pagesOf(bytes(), PageLog); ++K)
    delete Pages[K].load();
}

BufferShadow::Page &BufferShadow::page(uint64_t Offset) {
  std::atomic<Page *> &Slot = Pages[size_t(Offset >> PageLog)];
  if (Page *P = Slot.load(std::memory_order_acquire))
    return *P;
  auto New = std::make_unique<Page>();
  if (Default)
    std::fill_n(New->Written, PageBytes / 64, ~0ull);
  Page *Expected = nullptr;
  if (Slot.compare_exchange_strong(Expected, New.get()))
    return *New.release();
  return *Expected; // Another thread was faster.
}

void BufferShadow::mark(uint64_t Address, uint64_t Count, bool Written) {
  uint64_t From = Address - begin(), To = From + Count;
  while (From < To) {
    Page &P = page(From);
    uint64_t Start = From & ~(PageBytes - 1);
    uint64_t End = std::min(To, Start + PageBytes);
    PageGuard Guard(P);
    forWords(From - Start, End - Start, [&](uint64_t Word, uint64_t Mask) {
      P.Written[Word] =
          Written ? P.Written[Word] | Mask : P.Written[Word] & ~Mask;
    });
    From = End;
  }
}

bool BufferShadow::written(uint64_t Address) const {
  uint64_t Offset = Address - begin();
  const Page *P = Pages[size_t(Offset >> PageLog)].load();
  uint64_t In = Offset & (PageBytes - 1);
  return P ? P->Written[In / 64] >> In % 64 & 1 : Default;
}

uint64_t BufferShadow::nextByte(uint64_t Address, uint64_t End,
                                bool Written) const {
  while (Address < End) {
    const uint64_t Offset = Address - begin(), In = Offset & (PageBytes - 1);
    const Page *P = Pages[size_t(Offset >> PageLog)].load();
    if (!P) {
      if (Default == Written)
        return Address;
      Address += PageBytes - In;
      continue;
    }
    const uint64_t Bits = Written ? P->Written[In / 64] : ~P->Written[In / 64];
    if (const uint64_t Rest = Bits >> In % 64)
      return std::min(End, Address + uint64_t(__builtin_ctzll(Rest)));
    Address += 64 - In % 64;
  }
  return End;
}

uint64_t BufferShadow::countUnwritten(uint64_t Address, uint64_t Elements,
                                      uint64_t ElementBytes,
                                      uint64_t &First) const {
  const uint64_t End = Address + Elements * ElementBytes;
  uint64_t Count = 0;
  uint64_t Next = 0; // the first element that has not been looked at
  for (uint64_t At = Address; At < End;) {
    const uint64_t From = nextByte(At, End, /*Written=*/false);
    if (From == End)
      break;
    const uint64_t To = nextByte(From, End, /*Written=*/true);
    // A run may begin in the element in which the one before it ended.
    const uint64_t FirstOfRun = std::max(Next, (From - Address) / ElementBytes);
    const uint64_t BehindRun = (To - Address - 1) / ElementBytes + 1;
    if (!Count)
      First = FirstOfRun;
    Count += BehindRun - std::min(FirstOfRun, BehindRun);
    Next = BehindRun;
    At = To;
  }
  return Count;
}

static bool writes(GlobalAccess Kind) {
  return Kind != GlobalAccess::Read && Kind != GlobalAccess::CoherentRead;
}

/// Who is to blame if an access to a piece that another workgroup wrote or read
/// is a race; 0: nobody. Writers with one of the bits Harmless are not.
static WorkgroupMark conflict(uint32_t Mark, const BufferShadow::Access &A,
                              uint32_t Harmless) {
  WorkgroupMark Other = Mark & ~KindBits;
  if (!Other || Other == A.Me || (Mark & Harmless))
    return 0;
  if (A.Order->gaveUp())
    return 0;
  if (Mark & UnderWayBit)
    return Other;
  if (Other == BufferShadow::Many)
    return A.Seen->empty() ? Other : 0;
  return GlobalOrder::contains(*A.Seen, Other) ? 0 : Other;
}

ShadowProblem BufferShadow::accessPage(Page &P, uint64_t PageAddress,
                                       uint64_t From, uint64_t To,
                                       const Access &A) {
  PageGuard Guard(P);
  ShadowProblem Problem;
  bool Writes = writes(A.Kind);
  if (A.CheckWritten) {
    bool Any = false;
    uint64_t Missing = ~0ull;
    forWords(From, To, [&](uint64_t Word, uint64_t Mask) {
      uint64_t Have = P.Written[Word] & Mask;
      Any |= Have != 0;
      if (Have != Mask && Missing == ~0ull && A.Kind != GlobalAccess::Write)
        Missing = Word * 64 + uint64_t(__builtin_ctzll(Mask & ~Have));
      if (Writes)
        P.Written[Word] |= Mask;
    });
    if (Missing != ~0ull && !(A.PartlyWritten && Any)) {
      Problem.What = ShadowProblem::NeverWritten;
      Problem.Address = PageAddress + Missing;
      return Problem;
    }
  }
  // Nobody may write to a read-only buffer, so that reads need no record.
  if (!A.CheckRaces || ReadOnly)
    return Problem;
  const size_t NumCells = size_t(PageBytes >> A.Granule);
  if (!P.Cells || P.CellsGranule != A.Granule) {
    P.Cells.reset(new uint64_t[NumCells]);
    P.CellsGranule = A.Granule;
    P.Epoch = A.Epoch - 1;
  }
  if (P.Epoch != A.Epoch) {
    std::fill_n(P.Cells.get(), NumCells, 0);
    P.Epoch = A.Epoch;
  }
  uint64_t *Cells = P.Cells.get();
  const uint64_t First = From >> A.Granule,
                 End = (To + (1u << A.Granule) - 1) >> A.Granule;
  auto Fail = [&](uint64_t Cell, WorkgroupMark Other, bool Wrote) {
    Problem.What = ShadowProblem::Race;
    Problem.Address = PageAddress + (Cell << A.Granule);
    Problem.Other = Other;
    Problem.OtherWrote = Wrote;
    Problem.NotWaited = Wrote && (uint32_t(Cells[Cell]) & UnderWayBit);
    return Problem;
  };
  const uint32_t Me = A.Me;
  if (A.Kind == GlobalAccess::Read) {
    for (uint64_t C = First; C < End; ++C) {
      uint32_t Writer = uint32_t(Cells[C]), Reader = uint32_t(Cells[C] >> 32);
      if (Writer && Writer != Me)
        if (WorkgroupMark Other = conflict(Writer, A, CompareSwapBit))
          return Fail(C, Other, true);
      uint32_t NewReader = Reader == 0 || Reader == Me ? Me : Many;
      Cells[C] = uint64_t(NewReader) << 32 | Writer;
    }
    return Problem;
  }
  if (A.Kind == GlobalAccess::CoherentRead) {
    // Whoever wrote it has handed on what it did before.
    for (uint64_t C = First; C < End; ++C) {
      WorkgroupMark Writer = uint32_t(Cells[C]) & ~KindBits;
      if (Writer && Writer != Me && Writer != Many && A.Order->tracks()) {
        A.Seen->resize(A.Order->words());
        (*A.Seen)[Writer / 64] |= 1ull << Writer % 64;
      }
    }
    return Problem;
  }
  bool IsAtomic = A.Kind != GlobalAccess::Write;
  bool IsCompareSwap = A.Kind == GlobalAccess::CompareSwap;
  for (uint64_t C = First; C < End; ++C) {
    uint32_t Writer = uint32_t(Cells[C]), Reader = uint32_t(Cells[C] >> 32);
    if (Writer && Writer != Me)
      if (WorkgroupMark Other = conflict(Writer, A, IsAtomic ? AtomicBit : 0))
        return Fail(C, Other, true);
    // Atomics that the chip lacks become a plain read and compare-and-swaps
    // that check it, so that reads between those are guesses, not races.
    if (Reader && Reader != Me && !IsCompareSwap)
      if (WorkgroupMark Other = conflict(Reader, A, 0))
        return Fail(C, Other, false);
    uint32_t NewWriter = Me;
    if (IsAtomic) {
      WorkgroupMark Old = Writer & ~KindBits;
      NewWriter = AtomicBit | (Old == 0 || Old == Me ? Me : Many);
      if (IsCompareSwap && (Old == 0 || (Writer & CompareSwapBit)))
        NewWriter |= CompareSwapBit;
    }
    uint32_t KeptReader = Reader == Me || IsCompareSwap ? Reader : 0;
    Cells[C] = uint64_t(KeptReader) << 32 | NewWriter;
  }
  return Problem;
}

ShadowProblem BufferShadow::access(uint64_t Address, uint64_t Count,
                                   const Access &A) {
  bool Writes = writes(A.Kind);
  auto Touches = [&](const std::pair<uint64_t, uint64_t> &Part) {
    return Address < Part.second && Address + Count > Part.first;
  };
  if (Writes && A.CheckWritten &&
      (ReadOnly || llvm::any_of(ReadOnlyParts, Touches))) {
    ShadowProblem Problem;
    Problem.What = ShadowProblem::ReadOnly;
    Problem.Address = Address;
    return Problem;
  }
  uint64_t From = Address - begin(), To = From + Count;
  while (From < To) {
    uint64_t Start = From & ~(PageBytes - 1);
    uint64_t End = std::min(To, Start + PageBytes);
    ShadowProblem Problem =
        accessPage(page(From), begin() + Start, From - Start, End - Start, A);
    if (Problem.What != ShadowProblem::None)
      return Problem;
    From = End;
  }
  return {};
}

void BufferShadow::markUnderWay(uint64_t Address, uint64_t Count,
                                const Access &A, bool UnderWay) {
  uint64_t From = Address - begin(), To = From + Count;
  while (From < To) {
    uint64_t Start = From & ~(PageBytes - 1);
    uint64_t End = std::min(To, Start + PageBytes);
    Page &P = page(From);
    PageGuard Guard(P);
    if (P.Cells && P.Epoch == A.Epoch && P.CellsGranule == A.Granule)
      for (uint64_t C = (From - Start) >> A.Granule,
                    Last = (End - 1 - Start) >> A.Granule;
           C <= Last; ++C)
        if ((uint32_t(P.Cells[C]) & ~UnderWayBit) == A.Me)
          P.Cells[C] = UnderWay ? P.Cells[C] | UnderWayBit
                                : P.Cells[C] & ~uint64_t(UnderWayBit);
    From = End;
  }
}
