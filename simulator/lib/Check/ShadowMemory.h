//===- ShadowMemory.h - What is known of each byte of a buffer --*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Beside each buffer of global memory: which bytes have been written since it
// was allocated, and, during a launch, which workgroup wrote or read each piece
// of it. Pages are locked one by one, so that host threads can run workgroups
// side by side.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_SHADOWMEMORY_H
#define LNBWD_LIB_SIMULATOR_CHECK_SHADOWMEMORY_H

#include "Check/AccessCells.h"
#include "Check/MemoryJournal.h"
#include "Check/VectorClock.h"
#include "Core/Memory.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lnbwd::sim {

/// What an access did wrong.
struct ShadowProblem {
  enum Kind : uint8_t { None, NeverWritten, ReadOnly } What = None;
  uint64_t Address = 0;
};

class BufferShadow final : public BufferNotes {
public:
  /// Written: the contents count as written already.
  BufferShadow(uint64_t Begin, uint64_t Bytes, bool Written);
  ~BufferShadow() override;

  /// Bytes that the host has written, or (false) given back.
  void mark(uint64_t Address, uint64_t Bytes, bool Written);
  bool written(uint64_t Address) const;
  /// How many of the elements of so many bytes from Address on have a byte that
  /// was never written, and the number of the first one.
  uint64_t countUnwritten(uint64_t Address, uint64_t Elements,
                          uint64_t ElementBytes, uint64_t &First) const;

  /// One access of [Address, Address + Bytes). PartlyWritten: a scalar load may
  /// run over the end of what it is for.
  ShadowProblem access(uint64_t Address, uint64_t Bytes, bool Reads,
                       bool Writes, bool PartlyWritten);

  /// Something will be stored there: what is there now is kept.
  void keep(uint64_t Address, uint64_t Bytes, MemoryJournal &Journal);

  /// Calls Function for the cells of the bytes in the launch that Epoch
  /// numbers; false if one of the calls was. WithValues: with room for what is
  /// stored there. LeftOut counts pages that have no cells.
  bool cells(uint64_t Address, uint64_t Bytes, uint32_t Epoch, bool WithValues,
             std::atomic<uint64_t> &LeftOut,
             llvm::function_ref<bool(const CellRun &)> Function);
  /// For those that there are.
  void presentCells(uint64_t Address, uint64_t Bytes, uint32_t Epoch,
                    llvm::function_ref<void(Cell *, uint32_t)> Function);
  /// What a launch has left out between the first and the last byte that it has
  /// written, or, of a buffer where it has written none, read.
  struct Gaps {
    bool Writes = false;
    uint64_t Bytes = 0; ///< left out
    uint64_t Begin = 0, End = 0;
  };
  Gaps gaps(uint32_t Epoch) const;
  /// What a launch has done to each byte: 1 read, 2 written.
  void accesses(uint64_t Address, uint64_t Bytes, uint32_t Epoch,
                uint8_t *Ways) const;
  /// The number, plus 1, of the workgroup that has read, or (Writes) written,
  /// the first byte of each element; 0: none has. Of several it is One if that
  /// is among them, otherwise SeveralGroups.
  void accessors(uint64_t Address, uint64_t Count, uint64_t ElementBytes,
                 uint32_t Epoch, bool Writes, unsigned WavesPerWorkgroup,
                 uint32_t One, uint32_t *Groups) const;
  static constexpr uint32_t SeveralGroups = ~0u;
  /// An access to the byte, or none.
  Moment accessAt(uint64_t Address, uint32_t Epoch, bool Writes) const;
  /// "write of 4 bytes at 0x1000, byte 0 of the buffer 'x' of 64 bytes".
  std::string describe(const char *Verb, uint64_t Bytes,
                       uint64_t Address) const;

  bool ReadOnly = false; ///< kernels must not write to it
  /// Nor to these parts: begin and end addresses.
  std::vector<std::pair<uint64_t, uint64_t>> ReadOnlyParts;

private:
  static constexpr unsigned PageLog = CellPage::PageLog;
  static constexpr uint64_t PageBytes = 1u << PageLog;
  struct Page {
    std::atomic_flag Lock = ATOMIC_FLAG_INIT;
    uint32_t Epoch = 0;
    uint64_t KeptIn = 0; ///< the last journal that has kept it
    uint64_t Written[PageBytes / 64] = {};
    CellPage Cells;
  };
  class PageGuard;
  /// The page of an offset, made on first use.
  Page &page(uint64_t Offset);
  /// The first byte of [Address, End) that is, or is not, written; End if there
  /// is none.
  uint64_t nextByte(uint64_t Address, uint64_t End, bool Written) const;
  /// Calls Function(offset, bytes, cell) for the cells of a launch, in their
  /// order, on the pages of these offsets.
  template <typename F>
  void forAccesses(uint32_t Epoch, uint64_t Begin, uint64_t End,
                   F Function) const;
  /// Calls Function(page, its address, From, To) for the parts of the bytes.
  template <typename F>
  bool forPages(uint64_t Address, uint64_t Count, F Function);

  bool Default; ///< whether bytes of pages not made yet are written
  std::unique_ptr<std::atomic<Page *>[]> Pages;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_SHADOWMEMORY_H
