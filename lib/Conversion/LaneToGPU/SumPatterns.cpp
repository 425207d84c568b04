//===- SumPatterns.cpp - Column sums of a workgroup -----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

/// One level of a tree over workgroup memory that adds up an access of all
/// column sums: of `count` groups, whose sums are `sums`, the first `owners`
/// take the sums of the others. Levels are few, since each costs barriers.
static void combine(IndexBuilder &b, const LaneLayout &layout, ArrayAttr kinds,
                    Value memory, Value column, MutableArrayRef<Value> sums,
                    int64_t count, int64_t owners) {
  VectorType type = layout.type.getAccessType(b.getF32Type());
  // Where a group that gives its sums away puts sum `s`.
  auto getSlot = [&](Value number, size_t s) {
    int64_t columns = layout.type.getAccessColumns();
    Value base = b(number) * (int64_t(sums.size()) * columns);
    Value ofSum = b.index(int64_t(s) * columns);
    return b(base) + column + ofSum;
  };
  // The sums of the group that lies `first` behind an owner; the last owners
  // may have none there.
  auto takeTerm = [&](size_t s, int64_t first) -> Value {
    Value number = b(layout.group) + (first - owners);
    Value inBounds;
    if (count - first < owners) {
      inBounds = b(layout.group) < count - first;
      number = b.select(inBounds, number, b.index(0));
    }
    Value term = emitLoad(b, type, memory, getSlot(number, s));
    if (!inBounds)
      return term;
    return b.select(
        inBounds, term,
        lane::makeNeutralPartial(b, lane::isMaximum(kinds, s), type));
  };

  Value behind = b(layout.group) - owners;
  b.when(b(behind) < count - owners, [&] {
    for (auto [s, sum] : llvm::enumerate(sums))
      emitStore(b, sum, memory, getSlot(behind, s));
  });
  lane::BarrierOp::create(b);
  auto add = [&] {
    Values added;
    for (auto [s, sum] : llvm::enumerate(sums)) {
      Values terms{sum};
      for (int64_t first = owners; first < count; first += owners)
        terms.push_back(takeTerm(s, first));
      added.push_back(
          lane::combineByPairs(b, lane::isMaximum(kinds, s), terms));
    }
    return added;
  };
  llvm::copy(
      b.choose(b(layout.group) < owners, add, [&] { return Values(sums); }),
      sums.begin());
}

/// Memory for so many numbers of sums. In the canonical order a kernel adds up
/// groups, and leaves, at several places, which share the memory of `name`: of
/// groups, a barrier follows each that does not end the kernel.
static Value getSumMemory(Operation *op, StringRef name, int64_t count) {
  auto kernel = op->getParentOfType<gpu::GPUFuncOp>();
  Type element = Float32Type::get(op->getContext());
  auto memories = kernel.getWorkgroupAttributions();
  for (auto [i, memory] : llvm::enumerate(memories))
    if (kernel.getWorkgroupAttributionAttr(unsigned(i), name))
      return memory;
  Value memory = lane::addWorkgroupMemory(kernel, count, element);
  kernel.setWorkgroupAttributionAttr(unsigned(memories.size()), name,
                                     UnitAttr::get(op->getContext()));
  return memory;
}

static Lowered lowerCombineGroups(IndexBuilder &b, lane::CombineGroupsOp op,
                                  const LaneOperands &layout) {
  int64_t accesses = layout.type.getAccesses();
  int64_t groups = layout.type.getGroups();
  Values totals(op.getSums());
  if (groups == 1)
    return totals;
  auto radix = int64_t(op.getRadix());
  int64_t numSums = int64_t(op.getSums().size()) / accesses;
  int64_t slots = groups - llvm::divideCeil(groups, radix);
  Value memory = lane::addWorkgroupMemory(
      op->getParentOfType<gpu::GPUFuncOp>(),
      slots * numSums * layout.type.getAccessColumns(), b.getF32Type());
  Value column = b(layout.lane) * layout.type.getWidth();
  bool isWritten = false;
  for (int64_t c = 0; c < accesses; ++c) {
    SmallVector<Value> sums;
    for (int64_t s = 0; s < numSums; ++s)
      sums.push_back(totals[size_t(s * accesses + c)]);
    for (int64_t count = groups; count > 1;) {
      // What was read in the step before must not be overwritten yet.
      if (isWritten)
        lane::BarrierOp::create(b);
      isWritten = true;
      int64_t owners = llvm::divideCeil(count, radix);
      combine(b, layout, op.getKinds(), memory, column, sums, count, owners);
      count = owners;
    }
    for (int64_t s = 0; s < numSums; ++s)
      totals[size_t(s * accesses + c)] = sums[size_t(s)];
  }
  return totals;
}

/// All groups put as many accesses in workgroup memory as an access of the
/// shared layout has, of which each lane adds up its part.
static Lowered lowerShareSums(IndexBuilder &b, lane::ShareSumsOp op,
                              const LaneOperands &operands) {
  LaneLayout layout(op.getLayout().getType(), operands.get(op.getLayout()));
  LaneLayout shared(op.getShared().getType(), operands.get(op.getShared()));
  int64_t groups = layout.type.getGroups();
  int64_t accesses = layout.type.getAccesses();
  int64_t sharedAccesses = shared.type.getAccesses();
  int64_t ofAccess = layout.type.getAccessColumns();
  int64_t columns = shared.type.getAccessColumns();
  auto numSums = int64_t(op.getSums().size()) / accesses;
  int64_t together = countSharedSums(numSums, groups, columns);
  Value memory = getSumMemory(op, "lane.sums", groups * together * columns);
  Value own = b(layout.lane) * layout.type.getWidth() +
              b(layout.group) * (together * columns);
  Value first = b(shared.lane) * shared.type.getWidth();
  VectorType type = shared.type.getAccessType(b.getF32Type());
  auto isMaximum = [&](int64_t sum) {
    return lane::isMaximum(op.getKinds(), size_t(sum));
  };
  // Totals of the sums from `sum` on that lie in memory.
  auto forEachSum = [&](int64_t sum, auto getTotal) {
    return llvm::map_to_vector(llvm::seq(std::min(together, numSums - sum)),
                               [&](int64_t s) { return getTotal(sum, s); });
  };
  auto addGroups = [&](int64_t sum, int64_t s) {
    Values terms;
    for (int64_t group = 0; group < groups; ++group)
      terms.push_back(emitLoad(b, type, memory,
                               b(first) + (group * together + s) * columns));
    return lane::combineByPairs(b, isMaximum(sum + s), terms);
  };
  auto addNone = [&](int64_t sum, int64_t s) {
    return lane::makeNeutralPartial(b, isMaximum(sum + s), type);
  };

  Value isFirstGroup = emitIsFirstGroup(b, shared);
  Values totals(size_t(numSums * sharedAccesses));
  for (int64_t access = 0; access < sharedAccesses; ++access) {
    int64_t begin = access * columns / ofAccess;
    int64_t end = std::min(begin + columns / ofAccess, accesses);
    for (int64_t sum = 0; sum < numSums; sum += together) {
      // What was read in the step before must not be overwritten yet.
      if (access + sum > 0)
        lane::BarrierOp::create(b);
      forEachSum(sum, [&](int64_t, int64_t s) {
        for (int64_t i = begin; i < end; ++i)
          emitStore(b, op.getSums()[size_t((sum + s) * accesses + i)], memory,
                    b(own) + (s * columns + (i - begin) * ofAccess));
        return s;
      });
      lane::BarrierOp::create(b);
      auto add = [&] { return Values(forEachSum(sum, addGroups)); };
      auto none = [&] { return Values(forEachSum(sum, addNone)); };
      Values added = isFirstGroup ? b.choose(isFirstGroup, add, none) : add();
      for (auto [s, total] : llvm::enumerate(added))
        totals[(size_t(sum) + s) * size_t(sharedAccesses) + size_t(access)] =
            total;
    }
  }
  return totals;
}

/// The sums of a leaf with what waits at the levels of its last ones in binary:
/// it is the neighbour of the lower sums. At the next level, whose places are
/// `distance` apart from `place` on, they wait themselves. In the end, after
/// all leaves, nothing does.
static Values addWaiting(IndexBuilder &b, lane::AddLeavesOp op, Value memory,
                         Value place, int64_t distance) {
  ValueRange sums = op.getSums();
  Value leaf = op.getLeaf();
  auto levels = int64_t(op.getLevels());
  bool isLast = op.getLast();
  auto getSlot = [&](Value first, size_t sum) {
    return b(first) + int64_t(sum) * distance / int64_t(sums.size());
  };
  auto isOne = [&](Value bits) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, b(bits) % 2,
                                 b.index(0));
  };
  Values initial{isLast ? leaf : b(leaf) % (int64_t(1) << levels), place};
  llvm::append_range(initial, sums);
  auto loop = scf::WhileOp::create(
      b, TypeRange(ValueRange(initial)), initial,
      [&](OpBuilder &, Location, ValueRange state) {
        Value more = isLast ? b.index(0) < state[0] : isOne(state[0]);
        scf::ConditionOp::create(b, more, state);
      },
      [&](OpBuilder &, Location, ValueRange state) {
        Values next{b(state[0]) / 2, b(state[1]) + distance};
        ValueRange before = state.drop_front(2);
        auto add = [&] {
          Values all;
          for (auto [i, sum] : llvm::enumerate(before)) {
            Value waits = emitLoad(b, cast<VectorType>(sum.getType()), memory,
                                   getSlot(state[1], i));
            size_t kind = i * op.getKinds().size() / sums.size();
            all.push_back(lane::combinePartials(
                b, lane::isMaximum(op.getKinds(), kind), waits, sum));
          }
          return all;
        };
        next.append(
            b.choose(isOne(state[0]), add, [&] { return Values(before); }));
        scf::YieldOp::create(b, next);
      });
  Values totals(loop.getResults().drop_front(2));
  Value free = loop.getResult(1);
  if (!isLast)
    b.when(b(free) < b(place) + levels * distance, [&] {
      for (auto [i, total] : llvm::enumerate(totals))
        emitStore(b, total, memory, getSlot(free, i));
    });
  return totals;
}

/// Memory for so many numbers of sums that wait: behind that of stages, which
/// the launch asks for, where there are any.
static Value getWaitingMemory(IndexBuilder &b, lane::AddLeavesOp op,
                              int64_t stageBytes, int64_t count) {
  if (stageBytes == 0)
    return getSumMemory(op, "lane.leaves", count);
  Value bytes = gpu::DynamicSharedMemoryOp::create(
      b, lane::getWorkgroupType(ShapedType::kDynamic, b.getI8Type()));
  return memref::ViewOp::create(
      b, lane::getWorkgroupType(count, b.getF32Type()), bytes,
      b.index(stageBytes), /*sizes=*/ValueRange());
}

static Lowered lowerAddLeaves(IndexBuilder &b, lane::AddLeavesOp op,
                              const LaneOperands &layout) {
  auto levels = int64_t(op.getLevels()), count = int64_t(op.getSums().size());
  int64_t columns = layout.type.getAccessColumns();
  Value column = b(layout.lane) * layout.type.getWidth();
  if (op.getEach()) {
    column = b(column) + b(layout.group) * columns;
    columns *= layout.type.getGroups();
  }
  Value memory = getWaitingMemory(b, op, layout.converter.stageBytes,
                                  levels * count * columns);
  auto add = [&] { return addWaiting(b, op, memory, column, count * columns); };
  Value isFirstGroup = op.getEach() ? Value() : emitIsFirstGroup(b, layout);
  if (!isFirstGroup)
    return add();
  return b.choose(isFirstGroup, add, [&] { return Values(op.getSums()); });
}

static Lowered lowerStoreSum(IndexBuilder &b, lane::StoreSumOp op,
                             const LaneOperands &layout) {
  const AccessColumns &access = layout.accesses[*op.getAccess()];
  Buffer memory = layout.getBuffer(op.getMemory());
  VectorType type = layout.type.getAccessType(memory.type.getElementType());
  Value isFirstGroup = emitIsFirstGroup(b, layout);
  auto store = [&] {
    SmallVector<Value> indices;
    if (op.getRow())
      indices.push_back(op.getRow());
    indices.push_back(access.column);
    Value sum = op.getSum();
    if (op.getAccumulate())
      sum = lane::combinePartials(b, /*isMaximum=*/false, sum,
                                  emitLoad(b, type, memory, indices));
    if (!type.getElementType().isF32())
      sum = arith::TruncFOp::create(b, type, sum);
    emitStore(b, sum, memory, indices);
  };
  b.when(b.both(isFirstGroup, access.inBounds), store);
  return Values();
}

void lnbwd::populateLaneSumsToGPUPatterns(RewritePatternSet &patterns,
                                          const LaneTypeConverter &converter) {
  addLanePatterns<lowerCombineGroups, lowerShareSums, lowerAddLeaves,
                  lowerStoreSum>(patterns, converter);
}
