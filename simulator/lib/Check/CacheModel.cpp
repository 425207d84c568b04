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

using namespace lnbwd;
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

CacheUse lnbwd::sim::cacheUse(const isa::InstructionFacts &Facts,
                              StringRef Text, const SimulatedChip &Chip) {
  llvm::SmallVector<StringRef, 12> Words;
  Text.split(Words, ' ', -1, /*KeepEmpty=*/false);
  auto Has = [&](StringRef Word) { return llvm::is_contained(Words, Word); };
  const unsigned Scope = scopeOf(Words);
  CacheUse Use;
  switch (Facts.Cache) {
  case isa::CacheControl::DropMarked:
    if (!Has("sc1"))
      return Use;
    [[fallthrough]];
  case isa::CacheControl::Drop:
    Use.DropsNear = Use.DropsFar = true;
    return Use;
  case isa::CacheControl::DropScalar:
    Use.DropsScalar = true;
    return Use;
  case isa::CacheControl::DropNear:
    Use.DropsNear = true;
    return Use;
  case isa::CacheControl::DropFar:
    Use.DropsFar = true;
    return Use;
  case isa::CacheControl::DropScope:
    Use.DropsNear = Scope >= 1;
    Use.DropsFar = Scope >= 2;
    return Use;
  case isa::CacheControl::WriteBack:
    Use.WritesBack = Has("sc1");
    return Use;
  case isa::CacheControl::None:
    break;
  }
  if (Chip.Generation >= 12) {
    // Atomics are executed in the L2, whatever their scope. Where LLVM makes
    // one of an atomic of the source, the scope shows how far that orders; in
    // those of intrinsics, which have no order, it shows nothing.
    const bool IsOfIntrinsic = Facts.Memory.Descriptor &&
                               Facts.Memory.Access == isa::MemoryAccess::Atomic;
    Use.PassesNear = Scope >= 1 || IsOfIntrinsic;
    Use.PassesFar = Use.Coherent = Scope >= 2 || IsOfIntrinsic;
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
