//===- Prediction.cpp - What was predicted of launches --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums and texts.
//
//===----------------------------------------------------------------------===//

#include "Timing/TimedLaunch.h"

#include "Timing/ComputeUnit.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <set>
#include <utility>

using namespace lnbwd::sim;
using llvm::StringRef;

double Prediction::microseconds() const {
  double Sum = 0;
  for (const LaunchPrediction &P : Launches)
    Sum += P.Microseconds + Clock.GapMicroseconds;
  return Sum;
}

double Prediction::eventMicroseconds() const {
  if (Launches.empty())
    return Clock.FloorMicroseconds;
  return std::max(Clock.FloorMicroseconds, Clock.BaseMicroseconds +
                                               microseconds() -
                                               Clock.GapMicroseconds);
}

WaitTimes Prediction::waits() const {
  WaitTimes Sum;
  for (const LaunchPrediction &P : Launches)
    Sum.add(P.Waits, P.Microseconds / std::max(1e-9, P.Waits.total()));
  return Sum;
}

static void waitsJson(llvm::json::OStream &J, const WaitTimes &Waits) {
  const double Total = std::max(1e-9, Waits.total());
  J.attributeObject("wave_time", [&] {
    for (unsigned K = 0; K < unsigned(WaitReason::Count); ++K)
      J.attribute(reasonName(WaitReason(K)), Waits.By[K] / Total);
  });
}

static void launchJson(llvm::json::OStream &J, const LaunchPrediction &P) {
  J.object([&] {
    J.attribute("kernel", P.Kernel);
    J.attribute("predicted_us", P.Microseconds);
    J.attribute("workgroups", int64_t(P.Workgroups));
    J.attribute("resident_workgroups", int64_t(P.Resident));
    J.attribute("workgroups_in_time", int64_t(P.InDetail));
    J.attribute("workgroups_recorded", int64_t(P.Recorded));
    if (!P.Events.empty()) {
      J.attribute("timeline_events", int64_t(P.EventCount));
      J.attribute("timeline_events_left_out", int64_t(P.EventsLeftOut));
    }
    waitsJson(J, P.Waits);
    J.attributeObject("bytes", [&] {
      J.attribute("footprint", P.Bytes.Footprint);
      J.attribute("l1_to_l2", P.Bytes.L2);
      J.attribute("beyond_l2", P.Bytes.Far);
      J.attribute("memory", P.Bytes.Memory);
    });
    J.attributeArray("slowest", [&] {
      for (const HotInstruction &H : P.Hot)
        J.object([&] {
          J.attribute("instruction", H.Text);
          J.attribute("at", H.Place);
          if (!H.Source.empty())
            J.attribute("source", llvm::json::fixUTF8(H.Source));
          J.attribute("share", H.Share);
        });
    });
  });
}

std::string Prediction::summary() const {
  const WaitTimes Waits = waits();
  double Footprint = 0;
  for (const LaunchPrediction &P : Launches)
    Footprint += P.Bytes.Footprint;
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  const double Time = microseconds();
  OS << llvm::format("predicted %.1f us on ", Time) << Clock.label()
     << llvm::format(", %.0f %% of the stream\n",
                     Footprint / std::max(1e-9, Time) / Clock.MemoryGigabytes *
                         0.1);
  OS << "waves:";
  const double Total = std::max(1e-9, Waits.total());
  for (unsigned K = 0; K < unsigned(WaitReason::Count); ++K)
    OS << (K ? ", " : " ")
       << (WaitReason(K) == WaitReason::Working ? "" : "wait for ")
       << reasonName(WaitReason(K))
       << llvm::format(" %.0f %%", Waits.By[K] / Total * 100);
  OS << '\n';
  return Text;
}

std::string Prediction::json() const {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  llvm::json::OStream J(OS, 2);
  const WaitTimes Waits = waits();
  double Footprint = 0;
  for (const LaunchPrediction &P : Launches)
    Footprint += P.Bytes.Footprint;
  J.object([&] {
    J.attribute("summary", summary());
    J.attribute("model", Clock.Product);
    J.attribute("calibrated", Clock.Calibrated);
    if (Clock.HeldOutPercent > 0)
      J.attribute("held_out_error_percent", Clock.HeldOutPercent);
    J.attribute("predicted_us", microseconds());
    J.attribute("predicted_event_us", eventMicroseconds());
    J.attribute("stream_gigabytes_per_second", Clock.MemoryGigabytes);
    J.attribute("footprint_bytes", Footprint);
    waitsJson(J, Waits);
    if (const std::vector<std::string> Texts = warnings(); !Texts.empty())
      J.attributeArray("warnings", [&] {
        for (const std::string &Text : Texts)
          J.value(Text);
      });
    J.attributeArray("launches", [&] {
      for (const LaunchPrediction &P : Launches)
        launchJson(J, P);
    });
  });
  return Text;
}

std::string Prediction::timeline() const {
  std::string Text;
  for (const LaunchPrediction &P : Launches)
    if (!P.Events.empty())
      Text += (Text.empty() ? "" : ",\n") + P.Events;
  if (Text.empty())
    return Text;
  std::string File;
  llvm::raw_string_ostream OS(File);
  llvm::json::Array Notes;
  for (const std::string &Warning : warnings())
    Notes.push_back(Warning);
  OS << "{\"displayTimeUnit\":\"ns\",\"otherData\":"
     << llvm::json::Value(llvm::json::Object{{"summary", summary()},
                                             {"warnings", std::move(Notes)}})
     << ",\"traceEvents\":[\n"
     << Text << "\n]}\n";
  return File;
}

std::vector<std::string> Prediction::warnings() const {
  std::vector<std::string> Texts;
  for (const LaunchPrediction &P : Launches)
    if (P.EventsLeftOut)
      Texts.push_back("the timeline has the first " +
                      std::to_string(P.EventCount) + " events of '" + P.Kernel +
                      "' and leaves out " + std::to_string(P.EventsLeftOut) +
                      "; --time-options=timeline=" +
                      std::to_string(P.EventCount + P.EventsLeftOut) +
                      " keeps all of them, fewer workgroups have fewer");
  return Texts;
}

std::string lnbwd::sim::parseTimingOptions(const std::string &Text,
                                           const char *Chip,
                                           TimingOptions &Options) {
  llvm::SmallVector<StringRef, 8> Parts;
  StringRef(Text).split(Parts, ';', -1, /*KeepEmpty=*/false);
  std::string Product, Replaced;
  Options = TimingOptions();
  for (StringRef Part : Parts) {
    auto [Name, Value] = Part.split('=');
    if (Name == "product")
      Product = Value.str();
    else if (Name == "caches" && (Value == "warm" || Value == "cold"))
      Options.Warm = Value == "warm";
    else if (Name == "caches")
      return "caches: expected warm or cold, got '" + Value.str() + "'";
    else if (Part == "timeline")
      Options.WithTimeline = true;
    else if (Name == "timeline") {
      if (Value.getAsInteger(10, Options.MostEvents) || !Options.MostEvents)
        return "timeline: expected a number of events, 1 or more, got '" +
               Value.str() + "'";
    } else
      Replaced += Part.str() + ",";
  }
  const ClockInfo *C = clockOf(Chip, Product);
  if (!C) {
    std::string Known;
    for (const ClockInfo &Row : clocks())
      if (StringRef(Chip) == Row.Chip)
        Known += (Known.empty() ? "" : ", ") + std::string(Row.Product);
    if (Known.empty())
      return "times of " + std::string(Chip) + " are not predicted";
    return "product: expected one that carries " + std::string(Chip) + " (" +
           Known + "), got '" + Product + "'";
  }
  Options.Clock = *C;
  std::string Problem = replaceParameters(Options.Clock, Replaced);
  // What was changed by hand has no known error.
  if (!Replaced.empty())
    Options.Clock.HeldOutPercent = 0;
  return Problem;
}

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
