//===- HipReport.cpp - Reports for programs that do not ask -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// lnbwd-sim --program gives a file for this; each record is appended in one
// write, so that records of several processes do not mix.
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Hip/HipState.h"

#include "Hip/HipMissing.h"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <unistd.h>
#include <utility>

using namespace lnbwd::sim;

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
