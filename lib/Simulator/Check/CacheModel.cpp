//===- CacheModel.cpp - What bits and instructions do to caches -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bits have other names and meanings in each family.
//
//===----------------------------------------------------------------------===//

#include "Check/CacheModel.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace lnbwd::sim;
using llvm::StringRef;

CacheModel::CacheModel(const SimulatedChip &Chip, bool WorkgroupProcessors)
    : SharedNear(Chip.Generation == 9 || !WorkgroupProcessors),
      KeepsStores(Chip.HasL2PerDie), HasNear(Chip.Generation >= 10),
      MarksStores(Chip.HasL2PerDie || Chip.Generation >= 12),
      MarksAtomics(Chip.Generation >= 12) {}

/// Scopes of gfx12, from the narrowest on.
static unsigned scopeOf(llvm::ArrayRef<StringRef> Words) {
  if (llvm::is_contained(Words, "scope:SCOPE_SE"))
    return 1;
  if (llvm::is_contained(Words, "scope:SCOPE_DEV"))
    return 2;
  return llvm::is_contained(Words, "scope:SCOPE_SYS") ? 3 : 0;
}

CacheUse lnbwd::sim::cacheUse(StringRef Text, const SimulatedChip &Chip) {
  llvm::SmallVector<StringRef, 12> Words;
  Text.split(Words, ' ', -1, /*KeepEmpty=*/false);
  CacheUse Use;
  if (Words.empty())
    return Use;
  auto Has = [&](StringRef Word) { return llvm::is_contained(Words, Word); };
  const StringRef Name = Words[0];
  const unsigned Scope = scopeOf(Words);
  if (Name == "buffer_wbinvl1" || Name == "buffer_wbinvl1_vol" ||
      (Name == "buffer_inv" && Has("sc1"))) {
    Use.DropsNear = Use.DropsFar = true;
  } else if (Name == "s_dcache_inv" || Name == "s_dcache_inv_vol") {
    Use.DropsScalar = true;
  } else if (Name == "buffer_gl0_inv") {
    Use.DropsNear = true;
  } else if (Name == "buffer_gl1_inv") {
    Use.DropsFar = true;
  } else if (Name == "global_inv" || Name == "global_wbinv") {
    Use.DropsNear = Scope >= 1;
    Use.DropsFar = Scope >= 2;
  } else if (Name == "buffer_wbl2") {
    Use.WritesBack = Has("sc1");
  } else if (Chip.Generation >= 12) {
    Use.PassesNear = Scope >= 1;
    Use.PassesFar = Use.Coherent = Scope >= 2;
  } else if (Chip.HasL2PerDie) {
    Use.PassesNear = true;
    Use.PassesFar = Use.Coherent = Use.WritesThrough = Has("sc1");
  } else if (Chip.Generation == 10) {
    Use.PassesNear = Has("glc");
    Use.PassesFar = Use.Coherent = Has("glc") && Has("dlc");
  } else {
    Use.PassesNear = Use.PassesFar = Has("glc");
    // Both bits: data that is not worth a place in the caches.
    Use.Coherent = Has("glc") && !Has("slc");
  }
  return Use;
}
