//===- ShadowMemory.cpp - What is known of each byte ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cells and their pages, the journal, and the shadows of buffers, in which a
// bit a byte says what has been written.
//
//===----------------------------------------------------------------------===//

#include "Check/ShadowMemory.h"

#include "Core/Environment.h"
#include "Core/Execution.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>
#include <thread>

using namespace lnbwd::sim;

static bool sameWave(uint64_t A, uint64_t B) {
  return Epoch::of(A).wave() == Epoch::of(B).wave();
}

void AccessSet::addToOthers(uint64_t M) {
  Others.raise(Epoch::of(M).wave(), {0, Epoch::of(M).clock(), 0});
  OneOfOthers = M;
}

void Accesses::add(uint64_t New, llvm::function_ref<bool(uint64_t)> IsOrdered,
                   llvm::function_ref<void(uint64_t, AccessSet &)> GaveUp) {
  AccessSet *C = own();
  if (!C) {
    if (!Bits || sameWave(Bits, New) || IsOrdered(Bits)) {
      Bits = New;
      return;
    }
    C = new AccessSet;
    C->Epochs.push_back(Bits);
    C->Epochs.push_back(New);
    Bits = reinterpret_cast<uint64_t>(C) | 1;
    return;
  }
  for (uint64_t &Old : C->Epochs)
    if (sameWave(Old, New)) {
      Old = New;
      return;
    }
  if (C->Epochs.size() >= AccessSet::Most) {
    llvm::erase_if(C->Epochs, IsOrdered);
    if (C->Epochs.size() >= AccessSet::Most) {
      const size_t Half = AccessSet::Most / 2;
      for (size_t K = 0; K < Half; ++K)
        GaveUp(C->Epochs[K], *C);
      C->Epochs.erase(C->Epochs.begin(), C->Epochs.begin() + Half);
    }
  }
  C->Epochs.push_back(New);
}

Accesses Accesses::copy() const {
  Accesses A;
  A.Bits = Bits;
  if (AccessSet *C = accessSet()) {
    auto *New = new AccessSet(*C);
    New->Users = 1;
    A.Bits = reinterpret_cast<uint64_t>(New) | 1;
  }
  return A;
}

AccessSet *Accesses::own() {
  AccessSet *C = accessSet();
  if (C && C->Users > 1)
    *this = copy();
  return accessSet();
}

ShadowCell ShadowCell::copy() const {
  ShadowCell C;
  C.Writes = Writes.copy();
  C.Reads = Reads.copy();
  C.Atomics = Atomics.copy();
  return C;
}

void ShadowPage::forget() {
  if (Cells)
    for (uint32_t K = 0; K < count(); ++K)
      for (Accesses *A : {&Cells[K].Writes, &Cells[K].Reads, &Cells[K].Atomics})
        A->clear();
  LeftOut = false;
}

CellBudget &CellBudget::get() {
  static CellBudget *Budget = [] {
    auto *B = new CellBudget;
    B->Most = RacesVariable.read().value_or(4096) << 20;
    return B;
  }();
  return *Budget;
}

void ShadowPage::uncount() {
  CellBudget::get().Bytes -= BytesCounted;
  BytesCounted = 0;
}

/// Makes the cells smaller, or makes the first ones, and the room for values.
bool ShadowPage::grow(unsigned Need, bool Counted, bool WithValues) {
  const bool Finer = !Cells || Granule > Need;
  const uint32_t New = Finer ? PageBytes >> Need : count();
  if (LeftOut)
    return false;
  if (Counted) {
    CellBudget &Budget = CellBudget::get();
    const uint64_t Bytes = uint64_t(New) * sizeof(ShadowCell) +
                           (Values || WithValues ? PageBytes : 0);
    const bool Fits =
        Budget.Bytes.fetch_add(Bytes) + Bytes - BytesCounted <= Budget.Most;
    uncount();
    if (!Fits) {
      Budget.Bytes -= Bytes;
      LeftOut = IsNew = true;
      Cells.reset();
      Values.reset();
      return false;
    }
    BytesCounted = Bytes;
  }
  if (WithValues && !Values)
    Values.reset(new uint8_t[PageBytes]);
  if (!Finer)
    return true;
  std::unique_ptr<ShadowCell[]> Made(new ShadowCell[New]);
  if (Cells) {
    const unsigned Step = unsigned(Granule) - Need;
    for (uint32_t K = 0; K < New; ++K)
      Made[K] = Cells[K >> Step].copy();
  }
  Cells = std::move(Made);
  Granule = uint8_t(Need);
  return true;
}

ShadowCell *ShadowPage::present(uint32_t From, uint32_t To, uint32_t &Count) {
  if (!Cells)
    return nullptr;
  const uint32_t First = From >> Granule;
  Count = ((To - 1) >> Granule) + 1 - First;
  return &Cells[First];
}

/// What a journal may keep. A launch that stores more is a long one, of which
/// no other order is tried.
constexpr uint64_t MostKept = 256ull << 20;

static uint64_t nextNumber() {
  static std::atomic<uint64_t> Last{0};
  return ++Last;
}

MemoryJournal::MemoryJournal() : Number(nextNumber()) {}

void MemoryJournal::giveUp() {
  std::lock_guard<std::mutex> Guard(Lock);
  Whole = false;
}

void MemoryJournal::keep(void *Memory, uint32_t Bytes, uint64_t *Known,
                         uint32_t Words) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (!Whole)
    return;
  if (BytesKept + Bytes > MostKept) {
    Whole = false;
    return;
  }
  BytesKept += Bytes;
  Page P = {static_cast<uint8_t *>(Memory), Bytes, Known, Words, nullptr};
  P.Kept.reset(new uint8_t[Bytes + 8ull * Words]);
  std::memcpy(P.Kept.get(), Memory, Bytes);
  std::memcpy(P.Kept.get() + Bytes, Known, 8ull * Words);
  Pages.push_back(std::move(P));
}

void MemoryJournal::swap() {
  for (Page &P : Pages) {
    std::swap_ranges(P.Memory, P.Memory + P.Bytes, P.Kept.get());
    auto *Known = reinterpret_cast<uint8_t *>(P.Known);
    std::swap_ranges(Known, Known + 8ull * P.Words, P.Kept.get() + P.Bytes);
  }
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

template <typename F>
bool BufferShadow::forPages(uint64_t Address, uint64_t Count, F Function) {
  uint64_t From = Address - begin(), To = From + Count;
  while (From < To) {
    const uint64_t Start = From & ~(PageBytes - 1);
    const uint64_t End = std::min(To, Start + PageBytes);
    Page &P = page(From);
    PageGuard Guard(P);
    if (!Function(P, begin() + Start, uint32_t(From - Start),
                  uint32_t(End - Start)))
      return false;
    From = End;
  }
  return true;
}

ShadowProblem BufferShadow::access(uint64_t Address, uint64_t Count, bool Reads,
                                   bool Writes, bool PartlyWritten) {
  ShadowProblem Problem;
  auto Touches = [&](const std::pair<uint64_t, uint64_t> &Part) {
    return Address < Part.second && Address + Count > Part.first;
  };
  if (Writes && (ReadOnly || llvm::any_of(ReadOnlyParts, Touches))) {
    Problem.What = ShadowProblem::ReadOnly;
    Problem.Address = Address;
    return Problem;
  }
  forPages(Address, Count,
           [&](Page &P, uint64_t PageAddress, uint32_t From, uint32_t To) {
             bool Any = false;
             uint64_t Missing = ~0ull;
             forWords(From, To, [&](uint64_t Word, uint64_t Mask) {
               uint64_t Have = P.Written[Word] & Mask;
               Any |= Have != 0;
               if (Have != Mask && Missing == ~0ull && Reads)
                 Missing = Word * 64 + uint64_t(__builtin_ctzll(Mask & ~Have));
               if (Writes)
                 P.Written[Word] |= Mask;
             });
             if (Missing == ~0ull || (PartlyWritten && Any))
               return true;
             Problem.What = ShadowProblem::NeverWritten;
             Problem.Address = PageAddress + Missing;
             return false;
           });
  return Problem;
}

void BufferShadow::keep(uint64_t Address, uint64_t Count,
                        MemoryJournal &Journal) {
  forPages(
      Address, Count, [&](Page &P, uint64_t PageAddress, uint32_t, uint32_t) {
        if (P.KeptIn == Journal.number())
          return true;
        P.KeptIn = Journal.number();
        const uint64_t End = begin() + bytes();
        Journal.keep(reinterpret_cast<void *>(PageAddress),
                     uint32_t(std::min<uint64_t>(PageBytes, End - PageAddress)),
                     P.Written, uint32_t(PageBytes / 64));
        return true;
      });
}

bool BufferShadow::cells(uint64_t Address, uint64_t Count,
                         uint32_t LaunchNumber, bool WithValues,
                         std::atomic<uint64_t> &LeftOut,
                         llvm::function_ref<bool(const CellRun &)> Function) {
  // Nobody may write to a read-only buffer, so that reads need no record.
  if (ReadOnly)
    return true;
  return forPages(
      Address, Count,
      [&](Page &P, uint64_t PageAddress, uint32_t From, uint32_t To) {
        const bool IsNew = P.LaunchNumber != LaunchNumber;
        if (IsNew) {
          P.Cells.forget();
          P.LaunchNumber = LaunchNumber;
        }
        uint32_t Number;
        ShadowCell *Cells =
            P.Cells.cells(From, To, Number, /*Counted=*/true, WithValues);
        uint8_t *Values = P.Cells.values();
        if (Cells)
          return Function({Cells, Number, P.Cells.granule(), PageAddress + From,
                           Values ? Values + From : nullptr});
        if (P.Cells.isNewlyLeftOut())
          ++LeftOut;
        return true;
      });
}

void BufferShadow::presentCells(
    uint64_t Address, uint64_t Count, uint32_t LaunchNumber,
    llvm::function_ref<void(ShadowCell *, uint32_t)> Function) {
  forPages(Address, Count, [&](Page &P, uint64_t, uint32_t From, uint32_t To) {
    uint32_t Number;
    if (P.LaunchNumber == LaunchNumber)
      if (ShadowCell *Cells = P.Cells.present(From, To, Number))
        Function(Cells, Number);
    return true;
  });
}

template <typename F>
void BufferShadow::forAccesses(uint32_t LaunchNumber, uint64_t Begin,
                               uint64_t End, F Function) const {
  const size_t Behind = pagesOf(std::min(End, bytes()), PageLog);
  for (size_t Number = Begin >> PageLog; Number < Behind; ++Number) {
    Page *P = Pages[Number].load(std::memory_order_acquire);
    if (!P)
      continue;
    PageGuard Guard(*P); // Another launch may be at it.
    uint32_t Count = 0;
    ShadowCell *Cells = P->LaunchNumber == LaunchNumber
                            ? P->Cells.present(0, PageBytes, Count)
                            : nullptr;
    for (uint32_t K = 0; K < Count; ++K)
      Function((Number << PageLog) + (K << P->Cells.granule()),
               uint64_t(1) << P->Cells.granule(), Cells[K]);
  }
}

/// 1 read, 2 written.
static unsigned waysOf(const ShadowCell &C) {
  return (C.Reads.empty() ? 0 : 1) |
         (C.Writes.empty() && C.Atomics.empty() ? 0 : 2);
}

BufferShadow::Gaps BufferShadow::gaps(uint32_t LaunchNumber) const {
  // By what was done: reads, writes.
  Gaps Found[2];
  uint64_t Covered[2] = {};
  forAccesses(LaunchNumber, 0, bytes(),
              [&](uint64_t At, uint64_t Count, const ShadowCell &C) {
                const unsigned Ways = waysOf(C);
                for (unsigned Way = 0; Way < 2; ++Way) {
                  if (!(Ways >> Way & 1))
                    continue;
                  if (!Covered[Way])
                    Found[Way].Begin = At;
                  Found[Way].End = At + Count;
                  Covered[Way] += Count;
                }
              });
  const bool Writes = Covered[1] != 0;
  Gaps &G = Found[Writes];
  G.Writes = Writes;
  G.Bytes = G.End - G.Begin - Covered[Writes];
  return G;
}

void BufferShadow::accesses(uint64_t Address, uint64_t Count,
                            uint32_t LaunchNumber, uint8_t *Ways) const {
  std::fill_n(Ways, Count, uint8_t(0));
  const uint64_t Begin = Address - begin(), End = Begin + Count;
  forAccesses(LaunchNumber, Begin, End,
              [&](uint64_t At, uint64_t Bytes, const ShadowCell &C) {
                const unsigned Has = waysOf(C);
                for (uint64_t K = std::max(At, Begin);
                     K < std::min(At + Bytes, End); ++K)
                  Ways[K - Begin] = uint8_t(Has);
              });
}

/// Calls Function with each of the accesses; false: there are others that are
/// not known one by one.
template <typename F> static bool forMoments(const Accesses &A, F Function) {
  const AccessSet *Several = A.accessSet();
  if (A.single())
    Function(Epoch::of(A.epoch()));
  else if (Several)
    for (uint64_t M : Several->Epochs)
      Function(Epoch::of(M));
  return !Several || Several->Others.empty();
}

void BufferShadow::accessors(uint64_t Address, uint64_t Count,
                             uint64_t ElementBytes, uint32_t LaunchNumber,
                             bool Writes, unsigned WavesPerWorkgroup,
                             uint32_t One, uint32_t *Groups) const {
  std::fill_n(Groups, Count, 0u);
  auto IsAmongOthers = [&](const Accesses &A) {
    const uint64_t First = uint64_t(One - 1) * WavesPerWorkgroup + 1;
    if (One && One != SeveralGroups)
      for (unsigned K = 0; K < WavesPerWorkgroup; ++K)
        if (A.accessSet()->Others.at(uint32_t(First + K)).Write)
          return true;
    return false;
  };
  const uint64_t Begin = Address - begin();
  forAccesses(LaunchNumber, Begin, Begin + Count * ElementBytes,
              [&](uint64_t At, uint64_t Bytes, const ShadowCell &C) {
                const uint64_t From = At > Begin ? At - Begin : 0;
                const uint64_t To = At + Bytes > Begin ? At + Bytes - Begin : 0;
                uint32_t Group = 0;
                auto Add = [&](Epoch M) {
                  const uint32_t It = (M.wave() - 1) / WavesPerWorkgroup + 1;
                  if (Group && Group != It)
                    Group = Group == One || It == One ? One : SeveralGroups;
                  else
                    Group = It;
                };
                for (const Accesses *A : {&C.Reads, &C.Writes, &C.Atomics})
                  if ((A != &C.Reads) == Writes && !forMoments(*A, Add) &&
                      (!One || Group != One))
                    Group = IsAmongOthers(*A) ? One : SeveralGroups;
                for (uint64_t K = (From + ElementBytes - 1) / ElementBytes;
                     K < Count && K * ElementBytes < To; ++K)
                  Groups[K] = Group;
              });
}

Epoch BufferShadow::accessAt(uint64_t Address, uint32_t LaunchNumber,
                             bool Writes) const {
  Epoch Found;
  const uint64_t Offset = Address - begin();
  forAccesses(LaunchNumber, Offset, Offset + 1,
              [&](uint64_t At, uint64_t Bytes, const ShadowCell &C) {
                if (Offset < At || Offset - At >= Bytes)
                  return;
                for (const Accesses *A : {&C.Reads, &C.Writes, &C.Atomics})
                  if ((A != &C.Reads) == Writes)
                    forMoments(*A, [&](Epoch M) { Found = M; });
              });
  return Found;
}

std::string BufferShadow::describe(const char *Verb, uint64_t Count,
                                   uint64_t Address) const {
  return std::string(Verb) + " of " + std::to_string(Count) + " bytes at " +
         hex(Address) + ", byte " + std::to_string(Address - begin()) + " of " +
         (Name.empty() ? "the buffer at " + hex(begin())
                       : "the buffer '" + Name + "'") +
         " of " + std::to_string(bytes()) + " bytes";
}

void DeviceShadows::setChecked(bool On) {
  if (!On)
    return Memory.setNotesMaker({});
  Memory.setNotesMaker([](uint64_t Begin, size_t Size, BufferKind Kind) {
    // Other memory than a device's comes with its contents.
    return std::make_shared<BufferShadow>(Begin, Size,
                                          Kind != BufferKind::Device);
  });
}

BufferShadow *DeviceShadows::shadowAt(uint64_t Address) const {
  uint64_t Begin;
  const DeviceMemory::Buffer *B = Memory.find(Address, Begin);
  // Nobody else makes notes.
  return B ? static_cast<BufferShadow *>(B->Notes.get()) : nullptr;
}

void DeviceShadows::wrote(uint64_t Address, uint64_t Bytes, uint64_t From) {
  BufferShadow *Shadow = shadowAt(Address);
  if (!Shadow || !Bytes)
    return;
  BufferShadow &To = *Shadow;
  uint64_t First = std::max(Address, To.begin());
  uint64_t Last = std::min(Address + Bytes, To.begin() + To.bytes());
  if (First >= Last)
    return;
  const BufferShadow *Source = From ? shadowAt(From) : nullptr;
  if (!Source)
    return To.mark(First, Last - First, true);
  for (uint64_t A = First; A < Last; ++A) {
    uint64_t Other = From + (A - Address);
    const BufferShadow &S = *Source;
    bool Known = Other >= S.begin() && Other < S.begin() + S.bytes();
    To.mark(A, 1, !Known || S.written(Other));
  }
}

bool DeviceShadows::describe(uint64_t Address, uint64_t Bytes,
                             const std::string &Name, bool ReadOnly,
                             bool Unwritten) {
  uint64_t Begin;
  const DeviceMemory::Buffer *B = Memory.find(Address, Begin);
  if (!B || Bytes > B->Size - (Address - Begin))
    return false;
  BufferShadow *Shadow = shadowAt(Address);
  if (!Shadow || Shadow->begin() != Address || Shadow->bytes() != Bytes) {
    auto New = std::make_shared<BufferShadow>(Address, Bytes, true);
    Shadow = New.get();
    Memory.setNotes(Begin, std::move(New));
  }
  Shadow->Name = Name;
  Shadow->ReadOnly = ReadOnly;
  if (Unwritten)
    Shadow->mark(Address, Bytes, false);
  return true;
}

void DeviceShadows::protect(uint64_t Address, uint64_t Bytes,
                            const std::string &Name) {
  BufferShadow *Shadow = shadowAt(Address);
  if (!Shadow)
    return;
  Shadow->Name = Name;
  Shadow->ReadOnlyParts.emplace_back(Address, Address + Bytes);
}
