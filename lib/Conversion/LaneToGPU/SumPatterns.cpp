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
    Value base = b.multiply(number, int64_t(sums.size()) * columns);
    Value ofSum = b.index(int64_t(s) * columns);
    return b.add(b.add(base, column), ofSum);
  };
  // The sums of the group that lies `first` behind an owner; the last owners
  // may have none there.
  auto takeTerm = [&](size_t s, int64_t first) -> Value {
    Value number = b.add(layout.group, first - owners);
    Value inBounds;
    if (count - first < owners) {
      inBounds = b.below(layout.group, b.index(count - first));
      number = b.select(inBounds, number, b.index(0));
    }
    Value term = emitLoad(b, type, memory, getSlot(number, s));
    if (!inBounds)
      return term;
    return b.select(
        inBounds, term,
        lane::makeNeutralPartial(b, lane::isMaximum(kinds, s), type));
  };

  Value behind = b.subtract(layout.group, b.index(owners));
  b.when(b.below(behind, b.index(count - owners)), [&] {
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
  llvm::copy(b.choose(b.below(layout.group, b.index(owners)), add,
                      [&] { return Values(sums); }),
             sums.begin());
}

/// Memory for so many numbers of sums. In the canonical order a kernel adds up
/// groups, and leaves, at several places, which share the memory of `name`: of
/// groups, a barrier follows each that does not end the kernel.
static Value getSumMemory(Operation *op, StringRef name, int64_t count,
                          bool isShared) {
  auto kernel = op->getParentOfType<gpu::GPUFuncOp>();
  Type element = Float32Type::get(op->getContext());
  if (!isShared)
    return lane::addWorkgroupMemory(kernel, count, element);
  auto memories = kernel.getWorkgroupAttributions();
  for (auto [i, memory] : llvm::enumerate(memories))
    if (kernel.getWorkgroupAttributionAttr(unsigned(i), name))
      return memory;
  Value memory = lane::addWorkgroupMemory(kernel, count, element);
  kernel.setWorkgroupAttributionAttr(unsigned(memories.size()), name,
                                     UnitAttr::get(op->getContext()));
  return memory;
}

/// `sum` and that of the lane whose number differs in the bit `distance`.
static Value addOther(IndexBuilder &b, bool isMaximum, Value sum,
                      int64_t distance, int64_t waveSize) {
  auto type = cast<VectorType>(sum.getType());
  Values added;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    Value element = vector::ExtractOp::create(b, sum, i);
    Value other =
        gpu::ShuffleOp::create(b, element, int32_t(distance), int32_t(waveSize),
                               gpu::ShuffleMode::XOR)
            .getShuffleResult();
    added.push_back(lane::combineByPairs(b, isMaximum, {element, other}));
  }
  return vector::FromElementsOp::create(b, type, added);
}

static Lowered lowerCombineGroups(IndexBuilder &b, lane::CombineGroupsOp op,
                                  const LaneOperands &ofLanes) {
  LaneOperands layout = ofLanes;
  int64_t accesses = layout.type.getAccesses();
  int64_t groups = layout.type.getGroups();
  Values totals(op.getSums());
  if (op.getNeighborsFirst()) {
    int64_t waveSize = layout.converter.chip.waveSize;
    int64_t lanes = layout.type.getLanes();
    int64_t waves = countCombinedGroups(groups, lanes, waveSize);
    for (int64_t distance = lanes; distance < lanes * groups / waves;
         distance *= 2)
      for (auto [i, total] : llvm::enumerate(totals))
        total =
            addOther(b, lane::isMaximum(op.getKinds(), i / size_t(accesses)),
                     total, distance, waveSize);
    // The first of them has it from here on.
    int64_t ofWave = groups / waves;
    layout.group = b.select(b.isZero(b.remainder(layout.group, ofWave)),
                            b.divide(layout.group, ofWave), b.index(waves));
    groups = waves;
  }
  if (groups == 1)
    return totals;
  auto radix = int64_t(op.getRadix());
  int64_t numSums = int64_t(op.getSums().size()) / accesses;
  int64_t slots = groups - llvm::divideCeil(groups, radix);
  Value memory = getSumMemory(op, "lane.sums",
                              slots * numSums * layout.type.getAccessColumns(),
                              /*isShared=*/op.getNeighborsFirst());
  Value column = b.multiply(layout.lane, layout.type.getWidth());
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
    return b.add(first, int64_t(sum) * distance / int64_t(sums.size()));
  };
  auto isOne = [&](Value bits) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                 b.remainder(bits, 2), b.index(0));
  };
  Values initial{isLast ? leaf : b.remainder(leaf, int64_t(1) << levels),
                 place};
  llvm::append_range(initial, sums);
  auto loop = scf::WhileOp::create(
      b, TypeRange(ValueRange(initial)), initial,
      [&](OpBuilder &, Location, ValueRange state) {
        Value more = isLast ? b.below(b.index(0), state[0]) : isOne(state[0]);
        scf::ConditionOp::create(b, more, state);
      },
      [&](OpBuilder &, Location, ValueRange state) {
        Values next{b.divide(state[0], 2), b.add(state[1], distance)};
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
    b.when(b.below(free, b.add(place, levels * distance)), [&] {
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
    return getSumMemory(op, "lane.leaves", count, /*isShared=*/true);
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
  Value column = b.multiply(layout.lane, layout.type.getWidth());
  if (op.getEach()) {
    column = b.add(column, b.multiply(layout.group, columns));
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
  addLanePatterns<lowerCombineGroups, lowerAddLeaves, lowerStoreSum>(patterns,
                                                                     converter);
}
