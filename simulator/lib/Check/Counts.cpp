//===- Counts.cpp - What a checked launch counts --------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums, and their form in JSON.
//
//===----------------------------------------------------------------------===//

#include "Check/Counts.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace lnbwd::sim;

static const char *countClassName(CountClass C) {
  switch (C) {
  case CountClass::VectorAlu:
    return "vector_alu";
  case CountClass::Transcendental:
    return "transcendental";
  case CountClass::Matrix:
    return "matrix";
  case CountClass::CrossLane:
    return "cross_lane";
  case CountClass::ScalarAlu:
    return "scalar_alu";
  case CountClass::Branch:
    return "branch";
  case CountClass::Wait:
    return "wait";
  case CountClass::Barrier:
    return "barrier";
  case CountClass::OtherScalar:
    return "other_scalar";
  case CountClass::ScalarLoad:
    return "scalar_load";
  case CountClass::GlobalLoad:
    return "global_load";
  case CountClass::GlobalStore:
    return "global_store";
  case CountClass::GlobalAtomic:
    return "global_atomic";
  case CountClass::ScratchLoad:
    return "scratch_load";
  case CountClass::ScratchStore:
    return "scratch_store";
  case CountClass::LdsLoad:
    return "lds_load";
  case CountClass::LdsStore:
    return "lds_store";
  case CountClass::LdsAtomic:
    return "lds_atomic";
  case CountClass::Count:
    break;
  }
  return "unknown";
}

void BufferCounts::add(const BufferCounts &Other) {
  Accesses += Other.Accesses;
  BytesRead += Other.BytesRead;
  BytesWritten += Other.BytesWritten;
  Lines64 += Other.Lines64;
  Lines128 += Other.Lines128;
}

void CheckCounts::add(const CheckCounts &Other) {
  for (unsigned K = 0; K < unsigned(CountClass::Count); ++K)
    Issued[K] += Other.Issued[K];
  PossibleLanes += Other.PossibleLanes;
  InactiveLanes += Other.InactiveLanes;
  PartialInstructions += Other.PartialInstructions;
  LdsCycles += Other.LdsCycles;
  LdsConflictCycles += Other.LdsConflictCycles;
  if (Buffers.size() < Other.Buffers.size())
    Buffers.resize(Other.Buffers.size());
  for (size_t K = 0; K < Other.Buffers.size(); ++K)
    Buffers[K].add(Other.Buffers[K]);
}

std::string NamedCounts::json() const {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  llvm::json::OStream J(OS, 2);
  J.object([&] {
    J.attributeObject("instructions", [&] {
      for (unsigned K = 0; K < unsigned(CountClass::Count); ++K)
        J.attribute(countClassName(CountClass(K)), Total.Issued[K]);
    });
    J.attributeObject("divergence", [&] {
      J.attribute("active_lanes", Total.PossibleLanes - Total.InactiveLanes);
      J.attribute("possible_lanes", Total.PossibleLanes);
      J.attribute("instructions_with_inactive_lanes",
                  Total.PartialInstructions);
    });
    J.attributeObject("lds", [&] {
      J.attribute("access_cycles", Total.LdsCycles);
      J.attribute("bank_conflict_cycles", Total.LdsConflictCycles);
    });
    J.attributeArray("buffers", [&] {
      for (auto &Entry : Buffers)
        J.object([&] {
          const BufferCounts &B = Entry.second;
          J.attribute("name", Entry.first);
          J.attribute("accesses", B.Accesses);
          J.attribute("bytes_read", B.BytesRead);
          J.attribute("bytes_written", B.BytesWritten);
          J.attribute("lines_64", B.Lines64);
          J.attribute("lines_128", B.Lines128);
        });
    });
  });
  return Text;
}
