//===- EarlyReads.cpp - Loads before a store without an order -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cases, by wave and instruction.
//
//===----------------------------------------------------------------------===//

#include "Check/EarlyReads.h"

#include "llvm/ADT/STLExtras.h"

using namespace lnbwd::sim;

static const EarlyReads::Case *findIn(const std::vector<EarlyReads::Case> &List,
                                      uint64_t Address, uint64_t Bytes) {
  const auto It = llvm::find_if(List, [&](const EarlyReads::Case &C) {
    return Address < C.Address + C.Bytes && C.Address < Address + Bytes;
  });
  return It == List.end() ? nullptr : &*It;
}

bool EarlyReads::note(Access Load, const Case &Of) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (Follows)
    return find(Load, Of.Address, Of.Bytes) != nullptr;
  std::vector<Case> &List = Cases[Load];
  if (findIn(List, Of.Address, Of.Bytes))
    return true;
  if (List.size() == Most)
    return false;
  List.push_back(Of);
  return true;
}

void EarlyReads::forget() {
  Follows = false;
  Cases.clear();
}

const EarlyReads::Case *EarlyReads::find(Access Load, uint64_t Address,
                                         uint64_t Bytes) const {
  if (!Follows)
    return nullptr;
  const auto It = Cases.find(Load);
  return It == Cases.end() ? nullptr : findIn(It->second, Address, Bytes);
}
