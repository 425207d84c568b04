//===- ClockTree.h - What is known of the waves of a launch -----*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vector clock over all waves of a launch, of which there may be millions. It
// is a tree of small vectors whose nodes are shared between clocks and copied
// when one of them changes, so that releasing a clock costs a pointer, and
// joining two that have much in common costs what they differ by.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_CLOCKTREE_H
#define LNBWD_LIB_SIMULATOR_CHECK_CLOCKTREE_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <atomic>
#include <cstdint>
#include <utility>

namespace lnbwd::sim {

/// What has come through of another wave: the numbers of the last of its memory
/// instructions that are over, reads and writes by themselves, and of the last
/// one that had been issued when it released that.
struct Known {
  uint32_t Read = 0, Write = 0, Issued = 0;
  bool operator==(const Known &O) const {
    return Read == O.Read && Write == O.Write && Issued == O.Issued;
  }
};

/// Known, by the number of the wave; all zeros where nothing is known.
class ClockTree {
public:
  ClockTree() = default;
  ClockTree(const ClockTree &O) : Root(O.Root), Levels(O.Levels) { keep(Root); }
  ClockTree(ClockTree &&O) noexcept : Root(O.Root), Levels(O.Levels) {
    O.Root = nullptr;
  }
  ClockTree &operator=(ClockTree O) noexcept {
    std::swap(Root, O.Root);
    std::swap(Levels, O.Levels);
    return *this;
  }
  ~ClockTree() { drop(Root, Levels); }

  bool empty() const { return !Root; }
  Known at(uint32_t Wave) const;
  /// Each number becomes the greater one.
  void raise(uint32_t Wave, const Known &To);
  /// Learns what Other knows. False: that was nothing new.
  bool join(const ClockTree &Other);
  /// Calls Function for all that is known, unless it lies in a part that is the
  /// same in Other, until that returns false. False if it did.
  bool forEachBeside(
      const ClockTree &Other,
      llvm::function_ref<bool(uint32_t, const Known &)> Function) const;

private:
  static constexpr unsigned Log = 4;
  static constexpr unsigned Fan = 1u << Log;
  struct Node {
    std::atomic<uint32_t> Users{1};
  };
  struct Leaf : Node {
    Known Entries[Fan];
  };
  struct Inner : Node {
    Node *Children[Fan] = {};
  };

  static Node *keep(Node *N) {
    if (N)
      N->Users.fetch_add(1, std::memory_order_relaxed);
    return N;
  }
  static void drop(Node *N, unsigned Level);
  static void own(Node *&N, unsigned Level);
  static void join(Node *&Mine, Node *Other, unsigned Level);
  static bool knows(const Node *Mine, const Node *Other, unsigned Level);
  bool knows(const ClockTree &Other) const;
  static bool forEach(const Node *N, const Node *Other, unsigned Level,
                      uint32_t First,
                      llvm::function_ref<bool(uint32_t, const Known &)> F);
  void grow(unsigned Level);

  Node *Root = nullptr;
  unsigned Levels = 0; ///< 0: the root is a leaf
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_CLOCKTREE_H
