//===- Wave.h - State of a running wave -------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers and status of one wave, the workgroup it belongs to, and what all
// waves of a launch share.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_WAVE_H
#define LNBWD_LIB_SIMULATOR_CORE_WAVE_H

#include "Core/Instruction.h"
#include "Core/Memory.h"

#include <cstring>
#include <memory>
#include <vector>

namespace lnbwd::sim {

struct SimulatedChip;
struct Launch;
struct Wave;
class WaveObserver;

enum class WaveStatus : uint8_t {
  Running,
  AtBarrier,
  AtNamedBarrier,
  AtClusterBarrier,
  Ended,
  Faulted
};

/// Rows that execution functions use to prepare operands and results. One set
/// for each host thread, so that it stays in its cache.
struct LaneTemps {
  alignas(64) uint32_t Src[4][128];
  alignas(64) uint32_t Out[6 * 64];
  alignas(64) uint64_t Address[64];
  alignas(64) uint32_t Lanes[64];
};

/// Bits of Wave::Mode, which is the hardware's MODE register.
enum ModeBits : uint32_t {
  ModeRoundF32Shift = 0,
  ModeRoundF16F64Shift = 2,
  ModeDenormF32Shift = 4,
  ModeDenormF16F64Shift = 6,
  ModeDX10Clamp = 1u << 8,
  ModeIEEE = 1u << 9,
};

/// Numbers that belong to the counters of SimulatorAPI.h.
struct WaveCounters {
  uint64_t Pending[unsigned(InstClass::Count)] = {};
  uint64_t Issued[unsigned(InstClass::Count)] = {};
  uint64_t Lanes[unsigned(InstClass::Count)] = {};
  uint64_t Barriers = 0;
  uint64_t GlobalRead = 0;
  uint64_t GlobalWritten = 0;
  uint64_t LdsBytes = 0;
};

/// A barrier of CDNA5 that a part of a workgroup's waves share.
struct NamedBarrier {
  unsigned Members = 0, Signalled = 0;
};

struct Workgroup;

/// Workgroups of CDNA5 that are launched together.
struct Cluster {
  static constexpr unsigned Most = 16;
  uint64_t Number = 0;              ///< in the launch
  std::vector<Workgroup *> Members; ///< by rank; null: it has ended
  unsigned Signalled = 0;  ///< ranks that reached the barrier, a bit each
  unsigned Generation = 0; ///< barriers completed
};

struct Workgroup {
  static constexpr unsigned MostNamed = 16;
  uint32_t Id[3] = {};
  uint8_t *Lds = nullptr;
  uint32_t LdsSize = 0;
  std::vector<std::unique_ptr<Wave>> Waves;
  unsigned NumWaves = 0;
  unsigned Alive = 0;                ///< waves that have not ended
  unsigned Signalled = 0;            ///< waves that reached the current barrier
  unsigned Generation = 0;           ///< barriers completed
  NamedBarrier Named[MostNamed + 1]; ///< by number, from 1 on
  std::shared_ptr<Cluster> Of;       ///< null: the launch has no clusters
  unsigned Rank = 0;                 ///< in it
};

struct Wave {
  alignas(64) uint32_t S[NumScalarSlots];
  unsigned N = 64; ///< lanes
  uint64_t FullMask = ~0ull;
  uint32_t *V = nullptr; ///< NumVectorRows rows of N dwords
  const Inst *PC = nullptr;
  WaveStatus Status = WaveStatus::Running;
  uint32_t Mode = 0;
  bool SpecialFP = false; ///< rounding or denormals are not the default
  bool RoundsUp = false;  ///< Launch::RoundsUp
  LaneTemps *T = nullptr;
  Workgroup *WG = nullptr;
  Launch *L = nullptr;
  unsigned Index = 0; ///< in the workgroup
  unsigned BarrierGeneration = 0;
  unsigned Named = 0;           ///< the named barrier it has joined; 0: none
  bool NamedComplete = false;   ///< since then, or since the last wait for it
  bool ClusterComplete = false; ///< the cluster's barrier, since the last wait
  Region LastRegion = {0, 0};
  WaveObserver *Observer = nullptr; ///< of an observed launch, or null
  /// The observer wants the other waves of the workgroup to run before this one
  /// goes on; in a launch with interleaved waves: those of all workgroups.
  bool Yields = false;
  /// It wants to see what the present instruction has done.
  bool IsFollowed = true;
  /// What the observer takes for a look at memory that waits for others: once
  /// the wave comes back to it, or to before it, the others are to go on first.
  const Inst *Polled = nullptr;
  uint64_t Behind = 0; ///< the waves, by number, that have not had it yet

  /// Scratch memory: dword `o/4` of all lanes lies together.
  uint8_t *Scratch = nullptr;
  uint32_t ScratchSize = 0; ///< bytes for a lane
  /// Scratch memory, for kernels that reach it through a buffer descriptor.
  Region ScratchRegion = {0, 0};

  uint64_t CountedExec = 0;
  WaveCounters Count;

  uint32_t *row(unsigned R) { return V + size_t(R) * N; }
  uint64_t exec() const {
    uint64_t E;
    std::memcpy(&E, &S[SlotExec], 8);
    return E & FullMask;
  }
  uint64_t scalar64(unsigned Slot) const {
    uint64_t X;
    std::memcpy(&X, &S[Slot], 8);
    return X;
  }
  void setScalar64(unsigned Slot, uint64_t X) { std::memcpy(&S[Slot], &X, 8); }
  /// A lane mask is one register in wave32, two in wave64.
  void setMask(unsigned Slot, uint64_t X) {
    if (N == 64)
      setScalar64(Slot, X);
    else
      S[Slot] = uint32_t(X);
  }
  uint64_t mask(unsigned Slot) const {
    return N == 64 ? scalar64(Slot) : S[Slot];
  }
  void updateMode(uint32_t NewMode) {
    Mode = NewMode;
    SpecialFP = RoundsUp || (NewMode & 0xff) != 0xf0;
  }
  /// Moves what was issued under the current exec mask to the totals.
  void flushCounts(uint64_t NewExec);
};

/// The base addresses of the LDS and scratch apertures of flat addressing; no
/// host address lies there.
constexpr uint64_t SharedAperture = 0x0001000000000000ull;
constexpr uint64_t PrivateAperture = 0x0002000000000000ull;

/// CDNA5's descriptor of a buffer, whose size is in bytes.
struct WideBuffer {
  uint64_t Base, Records;
  bool IsPlain; ///< without a stride, in the order of its addresses
  explicit WideBuffer(const uint32_t *D)
      : Base(D[0] | uint64_t(D[1] & 0x1ffffff) << 32),
        Records(((D[3] & 0x3full) << 32 | D[2]) << 7 | D[1] >> 25),
        IsPlain(!(D[3] & 0x33fff000)) {}
};

/// Of CDNA5 private memory has such an address, with the lane's number in bits
/// 56:52, that no other differs from it in bits below 58 alone.
constexpr uint64_t LanePrivateBase = 1ull << 58 | PrivateAperture;
constexpr unsigned LanePrivateShift = 52;

inline bool inRegion(const Region &R, uint64_t Address, uint64_t Bytes) {
  return Address >= R.Begin && Address + Bytes <= R.End &&
         Address + Bytes >= Address;
}

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_WAVE_H
