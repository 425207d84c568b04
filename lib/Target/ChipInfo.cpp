//===- ChipInfo.cpp - The table of chips ----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of the table, from the vendors' public data sheets and from LLVM's
// descriptions of the targets.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Target/ChipInfo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace lnbwd;

static constexpr int64_t kibi = 1024;

// What a compute unit holds and how fast it is, by product. gfx11 and gfx12
// share 128 KiB of shared memory between two compute units, over which the
// waves of a workgroup spread. A vector instruction takes a gfx9 wave four
// clocks on one of the four SIMDs, a gfx11 or gfx12 wave one clock on one of
// two.
//
// Peaks are the vendors' own figures: AMD's data sheets of the MI210 (4096 bits
// at 3.2 Gb/s), MI300X (5.3 TB/s) and MI355X (8 TB/s) and its product pages of
// the two Radeons (960 and 640 GB/s); NVIDIA's data sheets of the A100 40GB
// (1555 GB/s) and of the H200 SXM (4.8 TB/s). Clocks are the highest that they
// name.
static constexpr ChipLimits mi210 = {1, 8, 2048, 64 * kibi, 1638, 1700, 64};
static constexpr ChipLimits mi300x = {1, 8, 2048, 64 * kibi, 5300, 2100, 64};
static constexpr ChipLimits mi355x = {1, 8, 2048, 160 * kibi, 8000, 2400, 64};
static constexpr ChipLimits rx7900xtx = {2, 24, 1024, 64 * kibi, 960, 2500, 64};
static constexpr ChipLimits rx9070xt = {2, 24, 1024, 64 * kibi, 640, 2970, 64};
static constexpr ChipLimits a100 = {1, 8, 2048, 164 * kibi, 1555, 1410, 64};
static constexpr ChipLimits h200 = {1, 8, 2048, 228 * kibi, 4800, 1980, 128};

// Hopper has bulk copies, programmatic dependent launches, and clusters of the
// size that all of its products can launch.
static constexpr WorkgroupFeatures alone = {};
static constexpr WorkgroupFeatures hopper = {true, true, 8};

// What the cost model aims at: for AMD's chips by counts of the emitted code,
// for NVIDIA's by measurement on an H200. LLVM needs more registers than ptxas
// to widen rows; AMD's objects always say whether they spill, NVIDIA's only
// where ptxas is at hand.
static constexpr ModelFigures amd = {512, 768, 16, 4, 0, 2, 2, 32 * kibi, true};
static constexpr ModelFigures nvidia = {256, 1024, 8, 2, 0, 1, 0, 0, false};
static constexpr ModelFigures clusters = {256, 1024, 8, 2, 32, 1, 0, 0, false};

// gfx9 has 512 registers for each of 4 SIMDs × 64 lanes; half of a lane's 512
// are accumulation registers, which ordinary arithmetic does not take. gfx11
// and gfx12 have 1536 for each of 2 SIMDs × 32 lanes.
static const ChipInfo chips[] = {
    {"gfx90a", "AMD Instinct MI210", Backend::AMDGPU, 64, 104, 1024, 64 * kibi,
     256, 128 * kibi, amd, false, 64 * kibi, alone, "", mi210},
    {"gfx942", "AMD Instinct MI300X", Backend::AMDGPU, 64, 304, 1024, 64 * kibi,
     256, 128 * kibi, amd, false, 64 * kibi, alone, "", mi300x},
    {"gfx950", "AMD Instinct MI355X", Backend::AMDGPU, 64, 256, 1024,
     160 * kibi, 256, 128 * kibi, amd, true, 160 * kibi, alone, "", mi355x},
    {"gfx1100", "AMD Radeon RX 7900 XTX", Backend::AMDGPU, 32, 96, 1024,
     64 * kibi, 256, 96 * kibi, amd, false, 64 * kibi, alone, "", rx7900xtx},
    {"gfx1201", "AMD Radeon RX 9070 XT", Backend::AMDGPU, 32, 64, 1024,
     64 * kibi, 256, 96 * kibi, amd, false, 64 * kibi, alone, "", rx9070xt},
    {"sm_80", "NVIDIA A100", Backend::NVPTX, 32, 108, 1024, 48 * kibi, 255,
     64 * kibi, nvidia, true, 163 * kibi, alone, "+ptx80", a100},
    {"sm_90", "NVIDIA H100, H200", Backend::NVPTX, 32, 132, 1024, 48 * kibi,
     255, 64 * kibi, clusters, true, 227 * kibi, hopper, "+ptx86", h200},
};

llvm::ArrayRef<ChipInfo> lnbwd::getChips() { return chips; }

const ChipInfo *lnbwd::lookupChip(llvm::StringRef name) {
  const ChipInfo *chip = llvm::find_if(
      chips, [&](const ChipInfo &entry) { return entry.name == name; });
  return chip == std::end(chips) ? nullptr : chip;
}

mlir::FailureOr<const ChipInfo *>
lnbwd::lookupChip(llvm::StringRef name,
                  llvm::function_ref<mlir::InFlightDiagnostic()> emitError) {
  if (const ChipInfo *chip = lookupChip(name))
    return chip;
  if (name.empty())
    return emitError() << "expected the option chip, one of: " << listChips();
  return emitError() << "unknown chip '" << name
                     << "', expected one of: " << listChips();
}

std::string lnbwd::listChips() {
  return llvm::join(
      llvm::map_range(chips, [](const ChipInfo &chip) { return chip.name; }),
      ", ");
}
