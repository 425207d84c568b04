//===- ClockTree.cpp - What is known of the waves of a launch -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node that only one clock uses is changed in place; others are copied first.
//
//===----------------------------------------------------------------------===//

#include "Check/ClockTree.h"

#include <algorithm>

using namespace lnbwd::sim;

void ClockTree::drop(Node *N, unsigned Level) {
  if (!N || N->Users.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  if (Level == 0) {
    delete static_cast<Leaf *>(N);
    return;
  }
  auto *I = static_cast<Inner *>(N);
  for (Node *Child : I->Children)
    drop(Child, Level - 1);
  delete I;
}

/// Makes the node this clock's own.
void ClockTree::own(Node *&N, unsigned Level) {
  if (N && N->Users.load(std::memory_order_acquire) == 1)
    return;
  if (Level == 0) {
    auto *New = new Leaf;
    if (N)
      std::copy_n(static_cast<Leaf *>(N)->Entries, Fan, New->Entries);
    drop(N, Level);
    N = New;
    return;
  }
  auto *New = new Inner;
  if (N)
    for (unsigned K = 0; K < Fan; ++K)
      New->Children[K] = keep(static_cast<Inner *>(N)->Children[K]);
  drop(N, Level);
  N = New;
}

void ClockTree::grow(unsigned Level) {
  while (Levels < Level) {
    if (Root) {
      auto *New = new Inner;
      New->Children[0] = Root;
      Root = New;
    }
    ++Levels;
  }
}

Known ClockTree::at(uint32_t Wave) const {
  const Node *N = Root;
  if (Wave >> Log * (Levels + 1))
    return {};
  for (unsigned Level = Levels; N && Level; --Level)
    N = static_cast<const Inner *>(N)
            ->Children[Wave >> Log * Level & (Fan - 1)];
  return N ? static_cast<const Leaf *>(N)->Entries[Wave & (Fan - 1)] : Known();
}

static void raiseTo(Known &Mine, const Known &To) {
  Mine.Read = std::max(Mine.Read, To.Read);
  Mine.Write = std::max(Mine.Write, To.Write);
  Mine.Issued = std::max(Mine.Issued, To.Issued);
}

void ClockTree::raise(uint32_t Wave, const Known &To) {
  unsigned Level = 0;
  while (Wave >> Log * (Level + 1))
    ++Level;
  grow(Level);
  Node **Place = &Root;
  for (unsigned Step = Levels;; --Step) {
    own(*Place, Step);
    if (!Step)
      break;
    Place =
        &static_cast<Inner *>(*Place)->Children[Wave >> Log * Step & (Fan - 1)];
  }
  raiseTo(static_cast<Leaf *>(*Place)->Entries[Wave & (Fan - 1)], To);
}

void ClockTree::join(Node *&Mine, Node *Other, unsigned Level) {
  if (!Other || Mine == Other)
    return;
  if (!Mine) {
    Mine = keep(Other);
    return;
  }
  if (Level) {
    // Children that are the same on both sides need no node of one's own.
    const auto *From = static_cast<const Inner *>(Other);
    if (std::equal(From->Children, From->Children + Fan,
                   static_cast<Inner *>(Mine)->Children))
      return;
    own(Mine, Level);
    auto *To = static_cast<Inner *>(Mine);
    for (unsigned K = 0; K < Fan; ++K)
      join(To->Children[K], From->Children[K], Level - 1);
    return;
  }
  own(Mine, 0);
  for (unsigned K = 0; K < Fan; ++K)
    raiseTo(static_cast<Leaf *>(Mine)->Entries[K],
            static_cast<Leaf *>(Other)->Entries[K]);
}

/// Whether there is nothing in Other that is not here, as far as that can be
/// told by nodes in the same place.
bool ClockTree::knows(const Node *Mine, const Node *Other, unsigned Level) {
  if (!Other || Mine == Other)
    return true;
  if (!Mine)
    return false;
  for (unsigned K = 0; K < Fan; ++K) {
    if (Level) {
      if (!knows(static_cast<const Inner *>(Mine)->Children[K],
                 static_cast<const Inner *>(Other)->Children[K], Level - 1))
        return false;
      continue;
    }
    const Known &My = static_cast<const Leaf *>(Mine)->Entries[K];
    const Known &Theirs = static_cast<const Leaf *>(Other)->Entries[K];
    if (My.Read < Theirs.Read || My.Write < Theirs.Write ||
        My.Issued < Theirs.Issued)
      return false;
  }
  return true;
}

bool ClockTree::knows(const ClockTree &Other) const {
  if (Levels < Other.Levels)
    return false;
  const Node *Mine = Root;
  for (unsigned Level = Levels; Mine && Level > Other.Levels; --Level)
    Mine = static_cast<const Inner *>(Mine)->Children[0];
  return knows(Mine, Other.Root, Other.Levels);
}

bool ClockTree::join(const ClockTree &Other) {
  // A wave that waits hears the same again and again.
  if (!Other.Root || knows(Other))
    return false;
  if (!Root) {
    *this = Other;
    return true;
  }
  grow(Other.Levels);
  // The other one lies in the first child of each level that it lacks.
  Node **Place = &Root;
  for (unsigned Level = Levels; Level > Other.Levels; --Level) {
    own(*Place, Level);
    Place = &static_cast<Inner *>(*Place)->Children[0];
  }
  join(*Place, Other.Root, Other.Levels);
  return true;
}

bool ClockTree::forEach(
    const Node *N, const Node *Other, unsigned Level, uint32_t First,
    llvm::function_ref<bool(uint32_t, const Known &)> Function) {
  if (!N || N == Other)
    return true;
  for (unsigned K = 0; K < Fan; ++K) {
    const uint32_t Wave = First + (K << Log * Level);
    if (Level) {
      if (!forEach(static_cast<const Inner *>(N)->Children[K],
                   Other ? static_cast<const Inner *>(Other)->Children[K]
                         : nullptr,
                   Level - 1, Wave, Function))
        return false;
      continue;
    }
    const Known &E = static_cast<const Leaf *>(N)->Entries[K];
    if (!(E == Known()) && !Function(Wave, E))
      return false;
  }
  return true;
}

bool ClockTree::forEachBeside(
    const ClockTree &Other,
    llvm::function_ref<bool(uint32_t, const Known &)> Function) const {
  return forEach(Root, Other.Levels == Levels ? Other.Root : nullptr, Levels, 0,
                 Function);
}
