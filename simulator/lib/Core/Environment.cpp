//===- Environment.cpp - The process around the simulator -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Environment.h"

#include "llvm/ADT/StringRef.h"

#include <atomic>
#include <csignal>
#include <cstdlib>

using namespace lnbwd::sim;

const NumberVariable lnbwd::sim::MaxErrorsVariable = {
    "LNBWD_SIM_MAX_ERRORS", 1, UINT32_MAX,
    "a number of errors from 1 to 2^32 - 1"};
const NumberVariable lnbwd::sim::InstructionsVariable = {
    "LNBWD_SIM_MAX_INSTRUCTIONS", 0, UINT64_MAX,
    "a number of instructions, or 0 for no limit"};
const NumberVariable lnbwd::sim::LeaksVariable = {
    "LNBWD_SIM_LEAKS", 0, 1,
    "1 for errors of device memory that is not freed, or 0"};
const NumberVariable lnbwd::sim::MemoryVariable = {
    "LNBWD_SIM_MEMORY_MB", 1, uint64_t(1) << 40,
    "the memory of a device in MiB, from 1 to 2^40"};
const NumberVariable lnbwd::sim::RacesVariable = {
    "LNBWD_SIM_RACES_MB", 0, uint64_t(1) << 40,
    "the memory for the check of races in MiB, from 0 to 2^40"};
const NumberVariable lnbwd::sim::RoundingVariable = {
    "LNBWD_SIM_ROUNDING", 0, 1,
    "1 for smaller results where a card may round otherwise, or 0"};
const NumberVariable lnbwd::sim::SampleVariable = {
    "LNBWD_SIM_SAMPLE", 1, UINT64_MAX,
    "a number N of 1 or more, to check each N-th workgroup"};
const NumberVariable lnbwd::sim::ShuffleVariable = {
    "LNBWD_SIM_SHUFFLE", 0, UINT64_MAX, "a seed, or 0 for the usual order"};
const NumberVariable lnbwd::sim::SkipLaunchesVariable = {
    "LNBWD_SIM_SKIP_LAUNCHES", 0, UINT64_MAX,
    "a number of launches that are not checked"};
const NumberVariable lnbwd::sim::ThreadsVariable = {
    "LNBWD_SIM_THREADS", 1, 256, "a number of host threads from 1 to 256"};

std::optional<uint64_t> NumberVariable::read(std::string &Problem) const {
  const char *Text = std::getenv(Name);
  if (!Text)
    return std::nullopt;
  uint64_t Number;
  if (!llvm::StringRef(Text).getAsInteger(10, Number) && Number >= Least &&
      Number <= Most)
    return Number;
  Problem = std::string(Name) + ": expected " + What + ", got '" + Text + "'";
  return std::nullopt;
}

std::optional<uint64_t> NumberVariable::read() const {
  std::string Problem;
  return read(Problem);
}

std::string lnbwd::sim::problemOfNumbers() {
  std::string Problem;
  for (const NumberVariable *Variable :
       {&MaxErrorsVariable, &InstructionsVariable, &LeaksVariable,
        &MemoryVariable, &RacesVariable, &RoundingVariable, &SampleVariable,
        &ShuffleVariable, &SkipLaunchesVariable, &ThreadsVariable})
    if (!Variable->read(Problem) && !Problem.empty())
      break;
  return Problem;
}

// A handler in front of the process's own one. It touches atomics alone, which
// is all that a handler may do.

using PlainHandler = void (*)(int);
using InfoHandler = void (*)(int, siginfo_t *, void *);

static std::atomic<uint32_t> Count{0};
static_assert(std::atomic<uint32_t>::is_always_lock_free &&
                  std::atomic<PlainHandler>::is_always_lock_free,
              "used in a signal handler");
/// What the process had installed: one of the two.
static std::atomic<PlainHandler> Plain{nullptr};
static std::atomic<InfoHandler> Info{nullptr};

static std::mutex Lock; ///< of what follows
static unsigned Scopes = 0;
static bool Installed = false;
static struct sigaction Before;

static void note(int Signal, siginfo_t *Details, void *Context) {
  Count.fetch_add(1, std::memory_order_relaxed);
  if (InfoHandler H = Info.load())
    H(Signal, Details, Context);
  else if (PlainHandler P = Plain.load())
    P(Signal);
}

InterruptScope::InterruptScope() {
  std::lock_guard<std::mutex> Guard(Lock);
  if (Scopes++ || sigaction(SIGINT, nullptr, &Before) != 0)
    return;
  const bool TakesInfo = Before.sa_flags & SA_SIGINFO;
  if (!TakesInfo &&
      (Before.sa_handler == SIG_DFL || Before.sa_handler == SIG_IGN))
    return;
  Info = TakesInfo ? Before.sa_sigaction : nullptr;
  Plain = TakesInfo ? nullptr : Before.sa_handler;
  struct sigaction Mine = Before;
  Mine.sa_flags |= SA_SIGINFO;
  Mine.sa_sigaction = note;
  Installed = sigaction(SIGINT, &Mine, nullptr) == 0;
}

InterruptScope::~InterruptScope() {
  std::lock_guard<std::mutex> Guard(Lock);
  if (--Scopes || !Installed)
    return;
  Installed = false;
  // Whoever has replaced the handler meanwhile has the last word.
  struct sigaction Now;
  if (sigaction(SIGINT, nullptr, &Now) == 0 && (Now.sa_flags & SA_SIGINFO) &&
      Now.sa_sigaction == note)
    sigaction(SIGINT, &Before, nullptr);
}

uint32_t lnbwd::sim::interrupts() {
  return Count.load(std::memory_order_relaxed);
}
