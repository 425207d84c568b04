//===- RaceReports.cpp - What is said of a race ---------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both accesses, and what is missing between them.
//
//===----------------------------------------------------------------------===//

#include "Check/RaceChecker.h"

#include "Core/Execution.h"
#include "Core/Launch.h"

#include <string>

using namespace lnbwd::sim;

std::string RaceChecker::waveName(uint64_t M, bool IsLds) const {
  const uint32_t From = Moment::of(M).wave();
  if (From - First < NumWaves)
    return std::string(IsLds ? "" : "of this workgroup ") + "wave " +
           std::to_string(From - First);
  const uint64_t N = (From - 1) / NumWaves;
  const Launch &Of = *W.L;
  return "workgroup (" + std::to_string(N % Of.Grid[0]) + ", " +
         std::to_string(N / Of.Grid[0] % Of.Grid[1]) + ", " +
         std::to_string(N / Of.Grid[0] / Of.Grid[1]) + ")" +
         (NumWaves > 1 ? ", wave " + std::to_string((From - 1) % NumWaves) + ","
                       : "");
}

/// What drops the caches in the way of a load.
static const char *cacheRemedy(const Launch &L, bool InNear) {
  if (L.Chip->Generation >= 12)
    return InNear ? "global_inv scope:SCOPE_SE, or a wider scope,"
                  : "global_inv scope:SCOPE_DEV";
  if (L.Chip->Generation >= 10)
    return InNear ? "buffer_gl0_inv" : "buffer_gl1_inv";
  return L.Chip->HasL2PerDie ? "buffer_inv sc1" : "buffer_wbinvl1_vol";
}

/// Whether the two may be atomic in the source and no read-modify-writes, so
/// that machine code does not say it: one element each, and no bits for it.
bool RaceChecker::mayBeAtomic(const AccessRange &R, const Conflict &C) const {
  if (C.Stale || R.Bytes != R.LaneBytes || R.LaneBytes > 8)
    return false;
  if (R.isLds() || Moment::of(C.Other).wave() - First < NumWaves)
    return true;
  auto MayBe = [&](const MemoryUse &Use, bool Loads) {
    return Use.Cache.Coherent || !(Loads || Caches.MarksStores);
  };
  return MayBe(R.E->Use, R.Access == MemoryAccess::Load) &&
         MayBe(useOf(C.Other), !C.Wrote);
}

bool RaceChecker::report(const AccessRange &R, uint64_t Address, uint64_t Bytes,
                         const Conflict &C) {
  Reported = Mark;
  const Moment Where = Moment::of(C.Other);
  const int Lane = R.Lane < 0 || !R.LaneBytes
                       ? R.Lane
                       : R.Lane + int((Address - R.Address) / R.LaneBytes);
  const auto &List = L.TheEffects.MemoryInstructions;
  const Inst *Other = Where.id() < List.size() ? List[Where.id()] : nullptr;
  // Neither lanes nor elements, of which a line may access many, nor which of
  // the two accesses the simulator has executed first.
  const std::string Group =
      "race " + (R.isLds() ? "LDS" : std::to_string(R.Shadow->begin())) +
      (Other ? "" : " with " + std::to_string(Where.id())) +
      (C.Missed   ? " missed"
       : C.Stale  ? " stale"
       : C.Narrow ? " narrow"
                  : "");
  auto Text = [&] {
    const char *Verb = R.Access == MemoryAccess::Load    ? "read"
                       : R.Access == MemoryAccess::Store ? "write"
                                                         : "atomic";
    const uint64_t OfLane = R.LaneBytes ? R.LaneBytes : R.Bytes;
    std::string Text;
    if (R.isLds())
      Text = std::string("LDS ") + Verb + " of " + std::to_string(OfLane) +
             " bytes at " + std::to_string(Address) + " of " +
             std::to_string(W.WG->LdsSize) + ": ";
    else
      Text = R.Shadow->describe(Verb, OfLane, Address) + ": ";
    Text += (C.Missed  ? "a barrier missed: "
             : C.Stale ? "a stale read: "
                       : "a race: ") +
            waveName(C.Other, R.isLds()) +
            (C.Later   ? " writes"
             : C.Wrote ? " has written"
                       : " has read") +
            " it" + (C.Later ? " later" : "") +
            (R.isLds() ? "" : " in the same launch");
    if (Other)
      Text += ", with " + describeInstruction(W, Other);
    const bool Mine = Where.wave() - First < NumWaves;
    const uint32_t Issued = Mine ? All.Local[Where.wave() - First].Issued
                                 : All.Remote.at(Where.wave()).Issued;
    if (C.Missed)
      return Text +
             ", and has ended without reaching the barrier before this read as "
             "often as this wave: " +
             describeInstruction(W, PassedBy);
    const std::string Atomic =
        mayBeAtomic(R, C)
            ? "; if both are atomic in the source, which this machine "
              "code does not show, this is no race"
            : "";
    if (C.Stale)
      return Text + ", and the two are ordered, but " +
             (C.Scalar ? "the cache of scalar loads" : "a cache") +
             " may still hold the old value: " +
             (C.Scalar ? "s_dcache_inv" : cacheRemedy(*W.L, C.Near)) +
             " is missing after the acquire";
    if (C.Narrow)
      return Text +
             ", and both synchronize workgroups, but one of them does not have "
             "device scope: " +
             (L.Generation >= 12 ? "scope:SCOPE_DEV" : "sc1") + " is missing";
    const std::string Counter =
        counterName(R.isLds()                      ? WaitLds
                    : C.Wrote || L.Generation == 9 ? Waits.storeCounter()
                                                   : WaitLoad,
                    L.Generation);
    if (Where.clock() <= Issued && R.isLds())
      return Text +
             "; the access was still in flight when that wave signalled the "
             "barrier between the two: a wait for " +
             Counter + " of 0 is missing before the barrier";
    if (Where.clock() <= Issued)
      return Text + ", and the " + (C.Wrote ? "store" : "load") +
             " was still in flight" +
             (Caches.KeepsStores && C.Wrote ? ", or not written back," : "") +
             " when the atomic or store that releases it was issued: " +
             (Caches.KeepsStores && C.Wrote ? "buffer_wbl2 sc1, or a wait for "
                                            : "a wait for ") +
             Counter + " of 0" + (Caches.KeepsStores && C.Wrote ? "," : "") +
             " is missing before that";
    if (R.isLds())
      return Text +
             ", and no barrier that both waves have reached orders the two" +
             Atomic;
    return Text +
           (Mine ? ", and neither a barrier nor an atomic orders the two"
                 : ", and no atomic orders the two") +
           Atomic;
  };
  // Where a block has fewer elements than the workgroup has lanes, Triton has
  // several waves load the same ones, and all but one drop what comes of it.
  const uint64_t Offset = Address - R.Address;
  if (R.Access == MemoryAccess::Load && !R.isLds() && Lane >= 0 &&
      !R.E->ToLds && !isOfOthers(C.Other) && C.Wrote &&
      !(C.Stale || C.Narrow || C.Missed) &&
      Registers.awaitUse(
          R, unsigned(Lane),
          unsigned(R.Lane) +
              (std::min(Offset + Bytes, R.Bytes) - 1) / R.LaneBytes + 1,
          Other, Group, Text))
    return true;
  return noteFinding(W, "races", R.I, Other, Lane, Group, Text);
}
