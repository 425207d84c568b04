//===- HostTables.cpp - What this host can run ----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asks the processor.
//
//===----------------------------------------------------------------------===//

#include "Execute/ExecTable.h"

#include "llvm/ADT/StringRef.h"

#include <cstdlib>

using namespace llvm;
using namespace lnbwd::sim;

std::vector<const ExecTable *> lnbwd::sim::runnableExecTables() {
  std::vector<const ExecTable *> Tables = {&baseline::execTable()};
#if LNBWD_SIM_HAVE_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2"))
    Tables.push_back(&avx2::execTable());
#endif
  return Tables;
}

const ExecTable &lnbwd::sim::hostExecTable() {
  static const ExecTable &Chosen = []() -> const ExecTable & {
    std::vector<const ExecTable *> Tables = runnableExecTables();
    if (const char *Wanted = std::getenv("LNBWD_SIM_ISA"))
      for (const ExecTable *T : Tables)
        if (StringRef(Wanted) == T->Name)
          return *T;
    return *Tables.back();
  }();
  return Chosen;
}
