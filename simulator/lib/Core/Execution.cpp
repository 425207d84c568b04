//===- Execution.cpp - What execution functions ask of a launch -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The messages that end a launch.
//
//===----------------------------------------------------------------------===//

#include "Core/Execution.h"

#include "Core/InstructionTable.h"
#include "Core/Launch.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

using namespace lnbwd::sim;

void Wave::flushCounts(uint64_t NewExec) {
  unsigned Active = unsigned(__builtin_popcountll(CountedExec));
  for (unsigned K = 0; K < unsigned(InstClass::Count); ++K) {
    Count.Issued[K] += Count.Pending[K];
    Count.Lanes[K] += Count.Pending[K] * Active;
    Count.Pending[K] = 0;
  }
  CountedExec = NewExec;
}

/// What is said of an instruction of a wave.
static std::string message(const Wave &W, const Inst *I, int Lane,
                           const std::string &Text) {
  const Launch &L = *W.L;
  char Place[160];
  int Length =
      std::snprintf(Place, sizeof(Place), ", workgroup (%u, %u, %u), wave %u",
                    W.WG->Id[0], W.WG->Id[1], W.WG->Id[2], W.Index);
  if (Lane >= 0)
    std::snprintf(Place + Length, sizeof(Place) - size_t(Length), ", lane %d",
                  Lane);
  std::string Message = std::string(L.Chip->Chip) + ": kernel '" +
                        L.TheKernel->shownName() + "'" + Place + ": " + Text;
  Message +=
      "; at " + L.Symbols->symbolize(I->Address) + ": " + L.Code->text(I);
  std::string Source = L.Symbols->sourceLine(I->Address);
  if (!Source.empty())
    Message += "; from " + Source;
  return Message;
}

static void end(Wave &W) {
  W.Status = WaveStatus::Faulted;
  W.PC = nullptr;
}

static ErrorDetails partsOf(const Wave &W, const char *Check, const Inst *I,
                            const Inst *Other, int Lane,
                            const std::string &Cause) {
  ErrorDetails Parts = {Check, I, Other, {}, W.Index, Lane, Cause};
  std::copy(std::begin(W.WG->Id), std::end(W.WG->Id), Parts.Workgroup);
  return Parts;
}

static const Inst *stop(Wave &W, const char *Check, const Inst *I, int Lane,
                        LaunchFailure Kind, const std::string &Text,
                        uint64_t LdsNeeded = 0) {
  end(W);
  W.L->fail(Kind, message(W, I, Lane, Text),
            partsOf(W, Check, I, nullptr, Lane, Text), LdsNeeded);
  return nullptr;
}

/// Addresses below are taken for null pointers with an index or an offset.
constexpr uint64_t NullPage = 65536;

std::string lnbwd::sim::hex(uint64_t X) {
  char Text[32];
  std::snprintf(Text, sizeof(Text), "0x%llx", (unsigned long long)X);
  return Text;
}

const Inst *lnbwd::sim::fault(Wave &W, const Inst *I, int Lane,
                              const char *Text) {
  return stop(W, "", I, Lane, LaunchFailure::BadInstruction, Text);
}

const Inst *lnbwd::sim::faultTrap(Wave &W, const Inst *I, unsigned Number) {
  const std::string Reason = W.L->Symbols->trapReason(I->Address);
  return stop(W, "", I, -1, LaunchFailure::BadInstruction,
              "the kernel executed s_trap " + std::to_string(Number) +
                  (Reason.empty() ? "" : ", for '" + Reason + "'"));
}

const Inst *lnbwd::sim::faultNotExecutable(Wave &W, const Inst *I) {
  return stop(W, "", I, -1, LaunchFailure::BadInstruction,
              W.L->Code->text(I) +
                  " cannot be executed: " + W.L->Code->problem(I));
}

const Inst *lnbwd::sim::faultAddress(Wave &W, const Inst *I, int Lane,
                                     uint64_t Address, unsigned Bytes,
                                     bool Write) {
  if (const HostService *S = hostServiceAt(Address))
    return stop(W, "memory", I, Lane, LaunchFailure::IllegalAddress,
                std::string(S->What) +
                    " in a kernel is not simulated: the access goes to the "
                    "host's buffer (" +
                    S->Argument + ")");
  const Region *From = W.Observer ? W.Observer->argumentOf(I) : nullptr;
  const FreedRegion *Freed = nullptr;
  for (const FreedRegion &R : W.L->Freed)
    if (Address >= R.Begin && Address < R.End)
      Freed = &R;
  return stop(
      W, "memory", I, Lane, LaunchFailure::IllegalAddress,
      std::string(Write ? "write" : "read") + " of " + std::to_string(Bytes) +
          " bytes at " + hex(Address) +
          (Freed ? " is a use after free: it was in " +
                       (Freed->Name.empty()
                            ? "a buffer"
                            : "the buffer '" + Freed->Name + "'") +
                       " of " + std::to_string(Freed->End - Freed->Begin) +
                       " bytes at " + hex(Freed->Begin) +
                       " until that was freed; "
                 : " is outside of every buffer: ") +
          (Address < NullPage ? "the address is, or is near, a null pointer"
                              : describeNearest(W.L->Regions, Address, From)));
}

const Inst *lnbwd::sim::faultLds(Wave &W, const Inst *I, int Lane,
                                 uint64_t Address, unsigned Bytes) {
  return stop(W, "memory", I, Lane, LaunchFailure::IllegalAddress,
              "LDS access of " + std::to_string(Bytes) + " bytes at " +
                  hex(Address) + " is outside of the workgroup's " +
                  std::to_string(W.WG->LdsSize) + " bytes",
              /*LdsNeeded=*/Address + Bytes);
}

const Inst *lnbwd::sim::faultScratch(Wave &W, const Inst *I, int Lane,
                                     uint64_t Address, unsigned Bytes) {
  return stop(W, "memory", I, Lane, LaunchFailure::IllegalAddress,
              "scratch access of " + std::to_string(Bytes) + " bytes at " +
                  hex(Address) + " is outside of the lane's " +
                  std::to_string(W.ScratchSize) + " bytes");
}

const Inst *lnbwd::sim::faultOffset(Wave &W, const Inst *I, int Lane,
                                    int32_t Offset) {
  return stop(W, "memory", I, Lane, LaunchFailure::IllegalAddress,
              "the offset " + std::to_string(Offset) +
                  " from a buffer's base is negative, or has overflowed 32 "
                  "bits: hardware takes it for one beyond the buffer, gives 0 "
                  "for a load and drops a store");
}

bool lnbwd::sim::faultCheck(Wave &W, const char *Check, const Inst *I, int Lane,
                            const std::string &Text) {
  stop(W, Check, I, Lane, LaunchFailure::CheckFailed, Text);
  return false;
}

bool lnbwd::sim::stopLaunch(Wave &W) {
  end(W);
  W.L->Stop.store(true);
  return false;
}

bool lnbwd::sim::reportError(Wave &W, const char *Check, const Inst *I,
                             const Inst *Other, int Lane,
                             const std::string &MergeKey,
                             llvm::function_ref<std::string()> Text) {
  std::string One = W.L->placeOf(I), Two = Other ? W.L->placeOf(Other) : "";
  if (Two < One)
    std::swap(One, Two);
  if (W.L->addError(One + " and " + Two + ": " + MergeKey,
                    [&](ErrorDetails &Parts) {
                      const std::string Cause = Text();
                      Parts = partsOf(W, Check, I, Other, Lane, Cause);
                      return message(W, I, Lane, Cause);
                    }))
    return true;
  end(W);
  return false;
}

std::string lnbwd::sim::describeInstruction(const Wave &W, const Inst *I) {
  std::string Text =
      W.L->Code->text(I) + " at " + W.L->Symbols->symbolize(I->Address);
  std::string Source = W.L->Symbols->sourceLine(I->Address);
  return Source.empty() ? Text : Text + " (" + Source + ")";
}

unsigned lnbwd::sim::generationOf(const Wave &W) {
  return W.L->Chip->Generation;
}
bool lnbwd::sim::isCdna5(const Wave &W) { return W.L->Chip->isCdna5(); }
unsigned lnbwd::sim::vgprsOf(const Wave &W) {
  return W.L->Chip->AddressableVgprs;
}
bool lnbwd::sim::isGfx9(const Wave &W) { return generationOf(W) == 9; }

int lnbwd::sim::barrierNumber(const Wave &W, const Inst *I, unsigned *Members) {
  // The source operand of a signal, the immediate of a wait.
  const Operand &O = I->Src[0];
  if (!I->NumSrc)
    return int16_t(I->Imm);
  if (O.Kind != OperandKind::SGPR)
    return int32_t(uint32_t(O.Value));
  if (Members)
    *Members = W.S[O.Reg] >> 16 & 0x7f;
  return int32_t(W.S[O.Reg] << 26) >> 26;
}

bool lnbwd::sim::joinMulticast(Wave &W, const Inst *I, uint32_t Mask) {
  if (!W.WG->Of || !Mask || (Mask >> W.WG->Rank & 1))
    return true;
  fault(W, I, -1,
        "a load for other workgroups of the cluster than the wave's own is not "
        "modelled");
  return false;
}

const Inst *lnbwd::sim::instructionAt(const Wave &W, uint64_t Address) {
  return W.L->Code->at(Address);
}

const Region *lnbwd::sim::findRegion(const Wave &W, uint64_t Address,
                                     uint64_t Bytes) {
  if (inRegion(W.ScratchRegion, Address, Bytes))
    return &W.ScratchRegion;
  const Region *R = findRegion(W.L->Regions, Address);
  return R && inRegion(*R, Address, Bytes) ? R : nullptr;
}
