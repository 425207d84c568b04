//===- Interrupt.cpp - Launches that SIGINT ends --------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A handler in front of the process's own one. It touches atomics alone, which
// is all that a handler may do.
//
//===----------------------------------------------------------------------===//

#include "Core/Interrupt.h"

#include <atomic>
#include <csignal>
#include <mutex>

using namespace lnbwd::sim;

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
