//===- HipErrorReports.cpp - What launches report, part by part -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The errors of a launch, and its accesses, as JSON, for clients that show
// them in their own way.
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Hip/HipState.h"

#include "Check/CodeAnalysis.h"
#include "Core/Environment.h"
#include "Core/Launch.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>
#include <utility>

using namespace lnbwd::sim;
namespace json = llvm::json;

/// The members that describe an instruction.
static json::Object describe(const InstructionTable &Code,
                             const Symbolizer &Symbols, const Inst *I) {
  json::Array Frames;
  for (const SourceFrame &F : Symbols.sourceFrames(I->Address))
    Frames.push_back(json::Object{{"file", json::fixUTF8(F.File)},
                                  {"line", F.Line},
                                  {"column", F.Column},
                                  {"function", json::fixUTF8(F.Function)}});
  return json::Object{{"instruction", json::fixUTF8(Code.text(I))},
                      {"at", json::fixUTF8(Symbols.symbolize(I->Address))},
                      {"source", std::move(Frames)}};
}

static json::Object describe(const Launch &L, const std::string &Message,
                             const ErrorDetails &Parts, uint64_t Count,
                             bool Stops) {
  json::Object O{{"chip", L.Chip->Chip},
                 {"kernel", json::fixUTF8(L.TheKernel->shownName())},
                 {"message", json::fixUTF8(Message)},
                 {"check", Parts.Check},
                 {"count", int64_t(Count)},
                 {"stops", Stops}};
  if (!Parts.I)
    return O;
  O["cause"] = json::fixUTF8(Parts.Cause);
  if (Parts.Wave != ErrorDetails::NoWave) {
    O["workgroup"] =
        json::Array{Parts.Workgroup[0], Parts.Workgroup[1], Parts.Workgroup[2]};
    O["wave"] = Parts.Wave;
  }
  if (Parts.Lane >= 0)
    O["lane"] = Parts.Lane;
  O["where"] = describe(*L.Code, *L.Symbols, Parts.I);
  if (Parts.Other)
    O["other"] = describe(*L.Code, *L.Symbols, Parts.Other);
  return O;
}

std::string lnbwd::sim::errorsJson(const Launch &L) {
  json::Array List;
  // The launch was stopped behind the last one of as many as are gathered.
  const bool Full = L.CheckErrors.size() >= L.MostErrors;
  for (const CheckError &F : L.CheckErrors)
    List.push_back(describe(L, F.Text, F.Parts, F.Count,
                            Full && &F == &L.CheckErrors.back()));
  if (!L.Error.empty())
    List.push_back(describe(L, L.Error, L.ErrorParts, 1, /*Stops=*/true));
  return llvm::formatv("{0}", json::Value(std::move(List))).str();
}

/// Appends an error to the saved ones.
static void save(json::Object Error) {
  const char *Name = std::getenv("LNBWD_SIM_ERRORS");
  if (!Name || !*Name)
    return;
  const std::string Line =
      llvm::formatv("{0}\n", json::Value(std::move(Error))).str();
  const int File = open(Name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (File < 0 || write(File, Line.data(), Line.size()) < 0)
    reportAlways("error", "LNBWD_SIM_ERRORS: cannot write to '" +
                              std::string(Name) + "'");
  if (File >= 0)
    close(File);
}

static json::Object withoutPlace(const std::string &Kernel,
                                 const std::string &Chip, const char *Check,
                                 const std::string &Message) {
  return json::Object{{"chip", Chip},   {"kernel", json::fixUTF8(Kernel)},
                      {"check", Check}, {"message", json::fixUTF8(Message)},
                      {"count", 1},     {"stops", false}};
}

void lnbwd::sim::saveErrors(const std::string &Kernel, const char *Chip,
                            const uint32_t Grid[3]) {
  auto Parsed = json::parse(lnbwdSimGetErrorsJson());
  json::Array *List = Parsed ? Parsed->getAsArray() : nullptr;
  if (!Parsed)
    llvm::consumeError(Parsed.takeError());
  json::Array Refused;
  if (!List || List->empty()) {
    Refused.push_back(
        withoutPlace(Kernel, Chip, "", lnbwdSimLastErrorMessage()));
    List = &Refused;
  }
  for (json::Value &Error : *List) {
    json::Object Line = std::move(*Error.getAsObject());
    Line["grid"] = json::Array{Grid[0], Grid[1], Grid[2]};
    save(std::move(Line));
  }
}

/// By the address of a buffer, the calls that led to its allocation.
static std::map<uint64_t, std::vector<void *>> &allocations() {
  static auto *All = new std::map<uint64_t, std::vector<void *>>();
  return *All;
}

void lnbwd::sim::noteAllocation(const void *Pointer) {
  if (!LeaksVariable.read().value_or(0))
    return;
  std::vector<void *> Calls(16);
  Calls.resize(size_t(backtrace(Calls.data(), int(Calls.size()))));
  allocations()[reinterpret_cast<uint64_t>(Pointer)] = std::move(Calls);
}

/// " at FILE:LINE" of the program's call that has allocated a buffer, or its
/// function and file; nothing if the buffer was not allocated by hipMalloc.
static std::string placeOfAllocation(uint64_t Begin) {
  Dl_info Mine = {};
  dladdr(reinterpret_cast<void *>(&placeOfAllocation), &Mine);
  for (void *Return : allocations()[Begin]) {
    Dl_info Info = {};
    link_map *Loaded = nullptr;
    void *Call = static_cast<char *>(Return) - 1;
    if (!dladdr1(Call, &Info, reinterpret_cast<void **>(&Loaded),
                 RTLD_DL_LINKMAP) ||
        Info.dli_fbase == Mine.dli_fbase)
      continue;
    auto File = llvm::MemoryBuffer::getFile(Info.dli_fname);
    const auto Lines = File ? SourceLines::load(llvm::arrayRefFromStringRef(
                                  (*File)->getBuffer()))
                            : nullptr;
    std::string Line =
        Lines ? Lines->at(reinterpret_cast<uint64_t>(Call) - Loaded->l_addr)
              : "";
    if (Line.empty())
      Line = (Info.dli_sname ? Info.dli_sname + std::string(" in ") : "") +
             Info.dli_fname;
    return " at " + Line;
  }
  return "";
}

/// Device memory that the program has not freed: at the end of the process,
/// after the destructors of the program.
[[gnu::destructor]] static void reportLeaks() {
  if (!LeaksVariable.read().value_or(0))
    return;
  std::string Text;
  uint64_t Bytes = 0;
  unsigned Count = 0;
  {
    std::lock_guard<std::mutex> Guard(state().Lock);
    for (const Region &R : state().Memory.snapshot()) {
      uint64_t Begin;
      const DeviceMemory::Buffer *B = state().Memory.find(R.Begin, Begin);
      if (!B || !B->Storage || B->Kind == BufferKind::Code)
        continue;
      constexpr unsigned Most = 8;
      if (Count < Most)
        Text += (Count ? ", " : "") + std::to_string(B->Size) +
                placeOfAllocation(Begin);
      else if (Count == Most)
        Text += ", ...";
      Bytes += B->Size;
      ++Count;
    }
  }
  if (!Count)
    return;
  Text = std::to_string(Count) +
         (Count == 1 ? " buffer of device memory was"
                     : " buffers of device memory were") +
         " not freed, " + std::to_string(Bytes) + " bytes: " + Text +
         "; expected hipFree for each before the program ends";
  report("error", Text);
  save(withoutPlace("", "", "leaks", Text));
}

extern "C" const char *lnbwdSimGetErrorsJson(void) {
  static thread_local std::string Text;
  std::lock_guard<std::mutex> Guard(state().Lock);
  Text = state().CheckErrors;
  return Text.c_str();
}

extern "C" const char *lnbwdSimGetAccessJson(const void *Pointer, int Writes) {
  static thread_local std::string Text;
  std::lock_guard<std::mutex> Guard(state().Lock);
  Text = "null";
  const uint64_t Address = reinterpret_cast<uint64_t>(Pointer);
  const BufferShadow *S = state().Shadows.shadowAt(Address);
  if (!S || Address < S->begin() || Address - S->begin() >= S->bytes() ||
      !state().CheckedModule)
    return Text.c_str();
  const Epoch M = S->accessAt(Address, state().CheckedLaunch, Writes != 0);
  const InstructionTable &Code = *state().CheckedCode;
  const auto &List = CodeAnalysis::of(Code).Effects.MemoryInstructions;
  if (M.Bits && M.id() < List.size())
    Text = llvm::formatv(
               "{0}", json::Value(describe(Code, *state().CheckedModule->Object,
                                           List[M.id()])))
               .str();
  return Text.c_str();
}

// lnbwd-sim --program gives a file for this; each record is appended in one
// write, so that records of several processes do not mix.

static const char *reportFile() {
  const char *Name = std::getenv("LNBWD_SIM_REPORT");
  return Name && *Name ? Name : nullptr;
}

bool lnbwd::sim::isReported() { return reportFile() != nullptr; }

/// Appends to a file, or to "stderr".
static void append(const char *Name, const char *Kind,
                   const std::string &Text) {
  const bool IsConsole = std::strcmp(Name, "stderr") == 0;
  // Lines that follow the first of a record are indented.
  std::string Record =
      (IsConsole ? "lnbwd-sim: " : "") + std::string(Kind) + ": ";
  for (char C : Text)
    Record += C == '\n' ? std::string("\n  ") : std::string(1, C);
  Record += '\n';
  const int File =
      IsConsole ? STDERR_FILENO
                : open(Name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (File < 0)
    return;
  // If nobody takes it there is nobody left to tell.
  [[maybe_unused]] const ssize_t Written =
      write(File, Record.data(), Record.size());
  if (!IsConsole)
    close(File);
}

void lnbwd::sim::report(const char *Kind, const std::string &Text) {
  if (const char *Name = reportFile())
    append(Name, Kind, Text);
}

void lnbwd::sim::reportAlways(const char *Kind, const std::string &Text) {
  if (isReported())
    return report(Kind, Text);
  // Never destroyed: other static objects may still call HIP functions.
  static auto *Lock = new std::mutex;
  static auto *Said = new std::set<std::string>;
  std::lock_guard<std::mutex> Guard(*Lock);
  if (Said->insert(Text).second)
    append("stderr", Kind, Text);
}

hipError_t lnbwd::sim::finishFault(hipError_t Code, std::string Message) {
  report("error", Message);
  return finish(Code, std::move(Message));
}

int lnbwd::sim::missingFunction(const char *Name) {
  report("missing", Name);
  return finish(hipErrorNotSupported,
                std::string(Name) + ": the simulator does not have it");
}
