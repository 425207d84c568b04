//===- Resources.cpp - What a launch takes of a chip ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernel descriptors against their metadata, and both against the chip; banks
// of LDS, where lanes that meet take turns; sums of counts, and their form in
// JSON.
//
//===----------------------------------------------------------------------===//

#include "Check/Resources.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <iterator>

using namespace lnbwd::sim;

void lnbwd::sim::allocatedRegisters(const SimulatedChip &Chip, const Kernel &K,
                                    unsigned &Vgprs, unsigned &Agprs,
                                    unsigned &Sgprs) {
  // Waves of 64 of a chip whose usual waves have 32 lanes get half as many.
  const unsigned Granule =
      Chip.VgprEncodingGranule * Chip.WaveSize / K.WaveSize;
  const unsigned All = ((K.Rsrc1 & 63) + 1) * Granule;
  if (Chip.UnifiedVgprs) {
    unsigned Offset = ((K.Rsrc3 & 63) + 1) * 4;
    Vgprs = std::min({All, Offset, 256u});
    Agprs = All > Offset ? std::min(All - Offset, 256u) : 0;
  } else {
    Vgprs = std::min(All, Chip.AddressableVgprs);
    // A file of their own, of the same size.
    Agprs = Chip.HasAgprs ? Vgprs : 0;
  }
  // From gfx10 on every wave has all of them.
  Sgprs = Chip.Generation == 9 ? ((K.Rsrc1 >> 6 & 15) / 2 + 1) * 16 : 106;
}

static std::string number(uint64_t X) { return std::to_string(X); }

WaveRoom lnbwd::sim::roomForWaves(const SimulatedChip &Chip, const Kernel &K) {
  unsigned Vgprs, Agprs, Sgprs;
  allocatedRegisters(Chip, K, Vgprs, Agprs, Sgprs);
  uint64_t Allocated = Vgprs;
  if (Chip.UnifiedVgprs)
    Allocated = ((K.Rsrc1 & 63) + 1) * 8;
  Allocated =
      (Allocated + Chip.VgprGranule - 1) / Chip.VgprGranule * Chip.VgprGranule;
  uint64_t Registers = Chip.VgprsPerLane;
  if (Chip.WaveSize == 32 && K.WaveSize == 64)
    Registers /= 2;
  return {
      unsigned(Allocated),
      unsigned(std::min<uint64_t>(
          Chip.MaxWavesPerSimd, Registers / std::max<uint64_t>(Allocated, 1)))};
}

std::string lnbwd::sim::checkKernelLimits(const SimulatedChip &Chip,
                                          const Kernel &K,
                                          const uint32_t Block[3],
                                          uint64_t LdsBytes) {
  if (K.HasMetadata) {
    auto Differ = [](const char *What, uint64_t Metadata, uint64_t Descriptor) {
      return std::string("the metadata's ") + What + " is " + number(Metadata) +
             ", but the kernel descriptor's is " + number(Descriptor);
    };
    if (K.MetadataLds >= 0 && uint64_t(K.MetadataLds) != K.LdsSize)
      return Differ(".group_segment_fixed_size", uint64_t(K.MetadataLds),
                    K.LdsSize);
    if (K.MetadataScratch >= 0 && uint64_t(K.MetadataScratch) != K.ScratchSize)
      return Differ(".private_segment_fixed_size", uint64_t(K.MetadataScratch),
                    K.ScratchSize);
    if (K.MetadataKernarg >= 0 && uint64_t(K.MetadataKernarg) != K.KernargSize)
      return Differ(".kernarg_segment_size", uint64_t(K.MetadataKernarg),
                    K.KernargSize);
    for (const KernelArgument &A : K.Arguments)
      if (uint64_t(A.Offset) + A.Size > K.KernargSize)
        return "the metadata places an argument of " + number(A.Size) +
               " bytes at " + number(A.Offset) +
               " of the kernel argument segment, which has only " +
               number(K.KernargSize);
    if (K.MetadataWaveSize >= 0 && uint64_t(K.MetadataWaveSize) != K.WaveSize)
      return Differ(".wavefront_size", uint64_t(K.MetadataWaveSize),
                    K.WaveSize);
    for (unsigned D = 0; D < 3; ++D)
      if (K.RequiredBlock[0] && K.RequiredBlock[D] != Block[D])
        return "the block is (" + number(Block[0]) + ", " + number(Block[1]) +
               ", " + number(Block[2]) +
               "), but the kernel was compiled for exactly (" +
               number(K.RequiredBlock[0]) + ", " + number(K.RequiredBlock[1]) +
               ", " + number(K.RequiredBlock[2]) + ") (.reqd_workgroup_size)";
  }
  const WaveRoom Room = roomForWaves(Chip, K);
  const uint64_t Allocated = Room.Registers, PerSimd = Room.PerSimd;
  uint64_t Items = uint64_t(Block[0]) * Block[1] * Block[2];
  uint64_t Waves = (Items + K.WaveSize - 1) / K.WaveSize;
  // Workgroups of the wave32 chips may spread over the two compute units of a
  // workgroup processor.
  uint64_t Simds = uint64_t(Chip.unitsTogether()) * Chip.SimdsPerCU;
  if (Waves > PerSimd * Simds)
    return "a block of " + number(Items) + " work-items (" + number(Waves) +
           " waves) with " + number(Allocated) +
           " vector registers does not fit on " + Chip.Chip + ": at most " +
           number(PerSimd * Simds) + " such waves do";
  if (LdsBytes > Chip.LdsBytes)
    return number(LdsBytes) + " bytes of LDS are above the " +
           number(Chip.LdsBytes) + " of a workgroup on " + Chip.Chip;
  return "";
}

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

/// By CountClass.
static constexpr const char *CountClassNames[] = {
    "vector_alu",    "transcendental", "matrix",        "cross_lane",
    "scalar_alu",    "branch",         "wait",          "barrier",
    "other_scalar",  "scalar_load",    "global_load",   "global_store",
    "global_atomic", "scratch_load",   "scratch_store", "lds_load",
    "lds_store",     "lds_atomic"};
static_assert(std::size(CountClassNames) == size_t(CountClass::Count));

void BufferCounts::add(const BufferCounts &Other) {
  Accesses += Other.Accesses;
  BytesRead += Other.BytesRead;
  BytesWritten += Other.BytesWritten;
  Lines64 += Other.Lines64;
  Lines128 += Other.Lines128;
}

void CheckCounts::add(const CheckCounts &Other) {
  for (unsigned K = 0; K < unsigned(CountClass::Count); ++K)
    Issued[K] += Other.Issued[K];
  PossibleLanes += Other.PossibleLanes;
  InactiveLanes += Other.InactiveLanes;
  PartialInstructions += Other.PartialInstructions;
  LdsCycles += Other.LdsCycles;
  LdsConflictCycles += Other.LdsConflictCycles;
  if (Buffers.size() < Other.Buffers.size())
    Buffers.resize(Other.Buffers.size());
  for (size_t K = 0; K < Other.Buffers.size(); ++K)
    Buffers[K].add(Other.Buffers[K]);
}

std::string NamedCounts::json() const {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  llvm::json::OStream J(OS, 2);
  J.object([&] {
    J.attributeObject("instructions", [&] {
      for (unsigned K = 0; K < unsigned(CountClass::Count); ++K)
        J.attribute(CountClassNames[K], Total.Issued[K]);
    });
    J.attributeObject("divergence", [&] {
      J.attribute("active_lanes", Total.PossibleLanes - Total.InactiveLanes);
      J.attribute("possible_lanes", Total.PossibleLanes);
      J.attribute("instructions_with_inactive_lanes",
                  Total.PartialInstructions);
    });
    J.attributeObject("lds", [&] {
      J.attribute("access_cycles", Total.LdsCycles);
      J.attribute("bank_conflict_cycles", Total.LdsConflictCycles);
    });
    J.attributeArray("buffers", [&] {
      for (auto &Entry : Buffers)
        J.object([&] {
          const BufferCounts &B = Entry.second;
          J.attribute("name", Entry.first);
          J.attribute("accesses", B.Accesses);
          J.attribute("bytes_read", B.BytesRead);
          J.attribute("bytes_written", B.BytesWritten);
          J.attribute("lines_64", B.Lines64);
          J.attribute("lines_128", B.Lines128);
        });
    });
  });
  return Text;
}
