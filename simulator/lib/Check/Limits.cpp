//===- Limits.cpp - Launches that a chip would refuse ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernel descriptors against their metadata, and both against the chip.
//
//===----------------------------------------------------------------------===//

#include "Check/Limits.h"

#include <algorithm>

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
    Vgprs = std::min(All, 256u);
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
