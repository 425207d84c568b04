//===- FactTable.cpp - The table of instructions --------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each instruction is declared once, in a row of Instructions/*.def, which has
// all that is known of it but LLVM's own description:
//
//   LANE(FACTS, NAMES, RESULT, SOURCES, FLAGS, KERNEL, ...)   LaneOpInfo
//   HANDLER(FACTS, NAMES, FUNCTION)                           HandlerInfo
//
// Names are separated by spaces; another name of the same instruction follows
// "=". Here the facts are taken from it, and nothing else is looked at; a file
// of Execute takes the rest, so that a kernel is written in its row.
//
// Loads, stores, matrix instructions and conversions of small formats are
// declared by the grammar of their names. What has neither follows from its
// family: it may be counted and timed, but is not executed.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/ISA/FactTable.h"

#include "lnbwd/ISA/InstructionRecord.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <string>

using namespace llvm;
using namespace lnbwd::isa;

static constexpr InstructionFacts facts(Unit Where, CountClass Class, Flow How,
                                        OperandForm Form) {
  InstructionFacts F;
  F.Where = Where;
  F.Class = Class;
  F.How = How;
  F.Form = Form;
  return F;
}
static constexpr InstructionFacts vector(CountClass Class, Flow How) {
  return facts(Unit::Vector, Class, How, OperandForm::Listed);
}
static constexpr InstructionFacts crossLane(Flow How) {
  return vector(CountClass::CrossLane, How);
}
static constexpr InstructionFacts throughLds(Flow How) {
  return facts(Unit::Lds, CountClass::CrossLane, How, OperandForm::Listed);
}
static constexpr InstructionFacts scalar(CountClass Class, Flow How,
                                         OperandForm Form) {
  return facts(Unit::Scalar, Class, How, Form);
}
static constexpr InstructionFacts barrier(BarrierKind Kind, OperandForm Form) {
  InstructionFacts F = scalar(CountClass::Barrier, Flow::None, Form);
  F.Barrier = Kind;
  return F;
}
static constexpr InstructionFacts wait(WaitKind Kind) {
  InstructionFacts F =
      scalar(CountClass::Wait, Flow::None, OperandForm::Ignored);
  F.Waits = Kind;
  return F;
}
static constexpr InstructionFacts answered(OperandForm Form) {
  InstructionFacts F = scalar(CountClass::ScalarAlu, Flow::ScalarAll, Form);
  F.Memory.Space = MemorySpace::Scalar;
  F.Memory.Access = MemoryAccess::Load;
  return F;
}

static constexpr InstructionFacts operator|(InstructionFacts F, FactFlag Flag) {
  F.Flags |= Flag;
  return F;
}
static constexpr InstructionFacts operator|(InstructionFacts F,
                                            OperandForm Form) {
  F.Form = Form;
  return F;
}
static constexpr InstructionFacts operator|(InstructionFacts F, Pace Takes) {
  F.Takes = Takes;
  return F;
}
static constexpr InstructionFacts operator|(InstructionFacts F,
                                            CacheControl Cache) {
  F.Cache = Cache;
  return F;
}

static constexpr InstructionFacts
    Alu = vector(CountClass::VectorAlu, Flow::Lane),
    // One result of a slower unit.
    Transcendental = vector(CountClass::Transcendental, Flow::Lane),
    // Bits of the sources moved, combined and put beside each other: a bit of
    // the result depends on few of theirs.
    Bits = vector(CountClass::VectorAlu, Flow::Bits),
    Copies = Bits | FactCopies,
    Select = vector(CountClass::VectorAlu, Flow::Select),
    Scalar =
        scalar(CountClass::ScalarAlu, Flow::ScalarAll, OperandForm::Listed),
    ScalarBits =
        scalar(CountClass::ScalarAlu, Flow::ScalarBits, OperandForm::Listed),
    ScalarIndexed =
        scalar(CountClass::ScalarAlu, Flow::ScalarIndexed, OperandForm::Listed),
    Immediate = Scalar | OperandForm::Immediate,
    NoOperands = Scalar | OperandForm::Ignored,
    // Scalar results of the unit for transcendental functions.
    PseudoScalar = vector(CountClass::ScalarAlu, Flow::ScalarAll),
    // Hints, messages, hardware registers, caches and the end.
    Other =
        scalar(CountClass::OtherScalar, Flow::ScalarAll, OperandForm::Ignored);

namespace {
struct Entry {
  InstructionFacts Facts;
  StringLiteral Names; ///< separated by spaces
};
} // namespace

/// Instructions by name, each with its later names.
static constexpr Entry Entries[] = {
#define LANE(FACTS, NAMES, ...) {FACTS, NAMES},
#define HANDLER(FACTS, NAMES, ...) {FACTS, NAMES},
#include "Instructions/Compare.def"
#include "Instructions/Control.def"
#include "Instructions/Convert.def"
#include "Instructions/CrossLane.def"
#include "Instructions/Double.def"
#include "Instructions/Float.def"
#include "Instructions/Half.def"
#include "Instructions/Integer.def"
#include "Instructions/Scalar.def"
#include "Instructions/ScalarFloat.def"
#undef LANE
#undef HANDLER
};

/// What others are by the first part of their name; the first that fits.
static constexpr Entry Families[] = {
    {vector(CountClass::Matrix, Flow::Matrix),
     "v_mfma_ v_smfmac_ v_wmma_ v_swmmac_"},
    {PseudoScalar, "v_s_"},
    {Alu, "v_"},
    {wait(WaitKind::None), "s_waitcnt s_wait_"},
    {Other | FactNoEffect,
     "s_prefetch_ s_buffer_prefetch_ s_dcache_ s_icache_"},
    {Other, "s_sendmsg s_getreg_ s_setreg_"},
    {NoOperands, "s_cbranch_"},
    {Scalar, "s_"},
};

namespace {
/// What names of a pattern say, whatever their entry or family is.
struct Trait {
  uint32_t Flags;
  Pace Takes;
  StringLiteral Names;  ///< with "*" for anything
  StringLiteral Except; ///< of these, those that do not have it
};
} // namespace

static constexpr Trait Traits[] = {
    {FactUsesM0, Pace::Plain, "s_sendmsg* s_movrel* ds_*addtid*", ""},
    {FactPermutes, Pace::Plain, "v_permlane*", ""},
    {FactDot, Pace::Plain, "v_dot*", ""},
    {FactKeepsAddress, Pace::Plain,
     "*_add* *_sub* *_mov_* *_mad_u64* *cndmask* *cselect* *readfirstlane* "
     "*_accvgpr_*",
     ""},
    {FactSourcesF16, Pace::Plain, "s_*_f16 v_s_*_f16", "s_cvt_hi*"},
    {0, Pace::Wide, "v_pk_* v_*_f64*", "v_pk_mov* v_cvt_*"},
};

/// A star of the pattern stands for any part of the name.
static bool matches(StringRef Pattern, StringRef Name) {
  const auto [Head, Tail] = Pattern.split('*');
  if (!Name.consume_front(Head))
    return false;
  if (Head.size() == Pattern.size())
    return Name.empty();
  if (Tail.empty())
    return true;
  for (size_t K = 0; K <= Name.size(); ++K)
    if (matches(Tail, Name.drop_front(K)))
      return true;
  return false;
}
static SmallVector<StringRef, 8> partsOf(StringRef Names,
                                         char Separator = ' ') {
  SmallVector<StringRef, 8> Parts;
  Names.split(Parts, Separator, -1, /*KeepEmpty=*/false);
  return Parts;
}

static bool matchesOne(StringRef Patterns, StringRef Name) {
  return any_of(partsOf(Patterns),
                [&](StringRef Pattern) { return matches(Pattern, Name); });
}

static void addTraits(InstructionFacts &F, StringRef Name) {
  for (const Trait &T : Traits) {
    if (!matchesOne(T.Names, Name) || matchesOne(T.Except, Name))
      continue;
    F.Flags |= T.Flags;
    if (T.Takes != Pace::Plain)
      F.Takes = T.Takes;
  }
}

/// Class and unit of a memory instruction.
static InstructionFacts memory(const MemoryFacts &M) {
  const bool Store = M.Access == MemoryAccess::Store,
             Load = M.Access == MemoryAccess::Load;
  InstructionFacts F;
  switch (M.Space) {
  case MemorySpace::Scalar:
    F = facts(Unit::ScalarMemory, CountClass::ScalarLoad, Flow::ScalarAll,
              OperandForm::Listed);
    break;
  case MemorySpace::Lds:
    F = facts(Unit::Lds,
              Store  ? CountClass::LdsStore
              : Load ? CountClass::LdsLoad
                     : CountClass::LdsAtomic,
              Flow::None, OperandForm::Listed);
    break;
  case MemorySpace::Scratch:
    F = facts(Unit::VectorMemory,
              Store ? CountClass::ScratchStore : CountClass::ScratchLoad,
              Flow::None, OperandForm::Listed);
    break;
  default:
    F = facts(Unit::VectorMemory,
              Store  ? CountClass::GlobalStore
              : Load ? CountClass::GlobalLoad
                     : CountClass::GlobalAtomic,
              Flow::None, OperandForm::Listed);
    break;
  }
  F.Memory = M;
  return F;
}

namespace {
struct Listed {
  StringRef Canonical;
  const InstructionFacts *Facts;
};
} // namespace

/// The entries by each of their names.
static const StringMap<Listed> &byName() {
  static const StringMap<Listed> ByName = [] {
    StringMap<Listed> Map;
    for (const Entry &E : Entries)
      for (StringRef Instruction : partsOf(E.Names)) {
        const auto Names = partsOf(Instruction.split(':').first, '=');
        for (StringRef Name : Names)
          Map.try_emplace(Name, Listed{Names.front(), &E.Facts});
      }
    return Map;
  }();
  return ByName;
}

StringRef lnbwd::isa::withoutEncoding(StringRef Mnemonic) {
  for (StringRef Suffix : {"_e64_dpp", "_dpp", "_sdwa", "_e32", "_e64"})
    if (Mnemonic.consume_back(Suffix))
      break;
  return Mnemonic;
}

std::string lnbwd::isa::canonicalMnemonic(StringRef Mnemonic) {
  std::string Name = withoutEncoding(Mnemonic).str();
  // One of a pair is what it is alone.
  if (StringRef Single = Name; Single.consume_front("v_dual_"))
    Name = "v_" + Single.str();
  const auto It = byName().find(Name);
  return It == byName().end() ? Name : It->second.Canonical.str();
}

/// What a name's own entry, the grammar of memory or its family says.
static InstructionFacts mainFacts(StringRef Name) {
  if (auto It = byName().find(Name); It != byName().end())
    return *It->second.Facts;
  if (MemoryFacts M = memoryFacts(Name); M.Space != MemorySpace::None)
    return memory(M);
  for (const Entry &E : Families)
    for (StringRef Prefix : partsOf(E.Names))
      if (Name.starts_with(Prefix))
        return E.Facts;
  return {};
}

InstructionFacts lnbwd::isa::factsOf(StringRef Mnemonic) {
  const std::string Name = canonicalMnemonic(Mnemonic);
  InstructionFacts F = mainFacts(Name);
  addTraits(F, Name);
  return F;
}

std::vector<StringRef> lnbwd::isa::canonicalNames(StringRef Row) {
  std::vector<StringRef> All;
  for (StringRef Instruction : partsOf(Row))
    All.push_back(Instruction.split('=').first);
  return All;
}

std::vector<StringRef> lnbwd::isa::listedNames() {
  std::vector<StringRef> All;
  for (const auto &Name : byName())
    All.push_back(Name.first());
  return All;
}

std::vector<StringRef> lnbwd::isa::listedPatterns() {
  std::vector<StringRef> All;
  for (const Trait &T : Traits)
    for (StringRef Patterns : {T.Names, T.Except})
      llvm::append_range(All, partsOf(Patterns));
  return All;
}

bool lnbwd::isa::matchesPattern(StringRef Pattern, StringRef Name) {
  return matches(Pattern, Name);
}

InstructionRecord::InstructionRecord(StringRef Mnemonic,
                                     const InstructionDescription &Description)
    : Mnemonic(withoutEncoding(Mnemonic)), Name(canonicalMnemonic(Mnemonic)),
      Facts(factsOf(Mnemonic)), Description(Description) {
  // LLVM knows best what branches.
  if (Facts.Where == Unit::Scalar &&
      (Description.IsBranch || Description.IsCall))
    Facts.Class = CountClass::Branch;
}
