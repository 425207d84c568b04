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

// gfx9 has 512 registers for each of 4 SIMDs × 64 lanes; half of a lane's 512
// are accumulation registers, which ordinary arithmetic does not take. gfx11
// and gfx12 have 1536 for each of 2 SIMDs × 32 lanes.
static const ChipInfo chips[] = {
    {"gfx90a", "AMD Instinct MI210", Backend::AMDGPU, 64, 104, 1024, 64 * kibi,
     256, 128 * kibi, 512, 768, 16, 2, false, 64 * kibi, false, false, ""},
    {"gfx942", "AMD Instinct MI300X", Backend::AMDGPU, 64, 304, 1024, 64 * kibi,
     256, 128 * kibi, 512, 768, 16, 2, false, 64 * kibi, false, false, ""},
    {"gfx950", "AMD Instinct MI355X", Backend::AMDGPU, 64, 256, 1024,
     160 * kibi, 256, 128 * kibi, 512, 768, 16, 2, true, 160 * kibi, false,
     false, ""},
    {"gfx1100", "AMD Radeon RX 7900 XTX", Backend::AMDGPU, 32, 96, 1024,
     64 * kibi, 256, 96 * kibi, 512, 768, 16, 2, false, 64 * kibi, false, false,
     ""},
    {"gfx1201", "AMD Radeon RX 9070 XT", Backend::AMDGPU, 32, 64, 1024,
     64 * kibi, 256, 96 * kibi, 512, 768, 16, 2, false, 64 * kibi, false, false,
     ""},
    {"sm_80", "NVIDIA A100", Backend::NVPTX, 32, 108, 1024, 48 * kibi, 255,
     64 * kibi, 256, 1024, 8, 1, true, 163 * kibi, false, false, "+ptx80"},
    {"sm_90", "NVIDIA H100, H200", Backend::NVPTX, 32, 132, 1024, 48 * kibi,
     255, 64 * kibi, 256, 1024, 8, 1, true, 227 * kibi, true, true, "+ptx86"},
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
