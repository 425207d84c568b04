//===- Timeline.cpp - What happened when, for a viewer --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A process is a launch, a thread is a wave.
//
//===----------------------------------------------------------------------===//

#include "Timing/Timeline.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <set>
#include <utility>

using namespace lnbwd::sim;

const char *lnbwd::sim::reasonName(WaitReason R) {
  switch (R) {
  case WaitReason::Memory:
    return "memory";
  case WaitReason::Scalar:
    return "scalar memory";
  case WaitReason::Lds:
    return "LDS";
  case WaitReason::Barrier:
    return "barrier";
  case WaitReason::Registers:
    return "registers";
  case WaitReason::Issue:
    return "issue";
  case WaitReason::Working:
    return "working";
  case WaitReason::Count:
    break;
  }
  return "unknown";
}

std::string Timeline::json(const InstructionTable &P, const Symbolizer &Names,
                           const ClockInfo &C, const std::string &Launch,
                           unsigned Process, double Begin) const {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  const char *Separator = "";
  auto Put = [&](llvm::json::Object O) {
    OS << Separator << llvm::json::Value(std::move(O));
    Separator = ",\n";
  };
  auto Name = [&](const char *What, int64_t Thread, const std::string &Value) {
    Put(llvm::json::Object{{"ph", "M"},
                           {"name", What},
                           {"pid", Process},
                           {"tid", Thread},
                           {"args", llvm::json::Object{{"name", Value}}}});
  };
  auto ThreadOf = [](const TimelineEvent &E) {
    return int64_t(E.Workgroup) * 64 + E.Wave;
  };
  Name("process_name", 0, Launch);
  std::set<int64_t> Known;
  for (const TimelineEvent &E : Events) {
    const int64_t Thread = ThreadOf(E);
    if (Known.insert(Thread).second)
      Name("thread_name", Thread,
           "workgroup " + std::to_string(E.Workgroup) + ", wave " +
               std::to_string(E.Wave));
    const Inst &I = P.instructions()[E.Instruction];
    const bool Works = E.Reason == WaitReason::Working;
    Put(llvm::json::Object{
        {"ph", "X"},
        {"name",
         Works ? P.text(&I) : std::string("wait: ") + reasonName(E.Reason)},
        {"cat", reasonName(E.Reason)},
        {"pid", Process},
        {"tid", Thread},
        {"ts", Begin + C.nanoseconds(E.Begin) * 1e-3},
        {"dur", C.nanoseconds(E.End - E.Begin) * 1e-3},
        {"args", llvm::json::Object{{"at", Names.symbolize(I.Address)},
                                    {"instruction", P.text(&I)},
                                    {"source", Names.sourceLine(I.Address)}}}});
  }
  if (LeftOut && !Events.empty())
    Put(llvm::json::Object{
        {"ph", "i"},
        {"s", "p"},
        {"name", "the timeline ends here: " + std::to_string(LeftOut) +
                     " further events are left out"},
        {"pid", Process},
        {"tid", ThreadOf(Events.back())},
        {"ts", Begin + C.nanoseconds(Events.back().End) * 1e-3}});
  return Text;
}
