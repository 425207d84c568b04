//===- EarlyReads.h - Loads before a store without an order -----*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a block has fewer elements than the workgroup has lanes, several waves
// load it and one of them stores it. A load that happens to come before the
// store is a race if its value is used, which shows only later. So the launch
// is executed again, and what such a load gives counts as undefined there.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_EARLYREADS_H
#define LNBWD_LIB_SIMULATOR_CHECK_EARLYREADS_H

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace lnbwd::sim {

class EarlyReads {
public:
  /// A wave's index in its workgroup and the number of a memory instruction.
  using Access = std::pair<uint32_t, uint16_t>;
  /// Bytes that are read and then stored, by another wave of the workgroup.
  struct Case {
    uint64_t Address, Bytes;
    Access Store;
  };
  /// False: the race is to be reported at once.
  bool note(Access Load, const Case &Of);
  bool hasCases() const { return !Cases.empty(); }
  /// The launch is executed again: its loads are looked for, and no others
  /// noted.
  void follow() { Follows = true; }
  void forget();
  /// A case that a load is part of, or null.
  const Case *find(Access Load, uint64_t Address, uint64_t Bytes) const;

private:
  static constexpr size_t Most = 1024;
  bool Follows = false;
  std::mutex Lock; ///< of what follows, until the launch is executed again
  std::map<Access, std::vector<Case>> Cases;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_EARLYREADS_H
