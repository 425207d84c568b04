//===- SplitFragments.cpp - Split fragments of rows into their accesses ---===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementwise operations are copied on demand: the order of what demands them,
// access by access, is the order in which a lane works through its fragment.
//
//===----------------------------------------------------------------------===//

#include "FragmentAccesses.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Transforms/Lane/Passes.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

namespace lnbwd {
#define GEN_PASS_DEF_SPLITFRAGMENTSPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

static VectorType getAccessType(VectorType fragment) {
  return VectorType::get({fragment.getDimSize(1)}, fragment.getElementType());
}

/// How many accesses the fragments that `op` takes or gives have; 0 if there
/// are none.
static int64_t countAccesses(Operation *op) {
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (VectorType fragment = lane::asFragment(type))
        return fragment.getDimSize(0);
  return 0;
}

namespace {
/// What stands instead of a value: an access of it, or itself.
struct Piece {
  size_t value;
  std::optional<int64_t> access;
};
} // namespace

/// In which order values of `types` are split: fragments of a run access by
/// access, as loads go, and runs one after another. The last values are in
/// `runs` of so many fragments, each other value is its own.
static SmallVector<Piece> getPieces(TypeRange types, ArrayRef<size_t> runs) {
  size_t single =
      types.size() - std::accumulate(runs.begin(), runs.end(), size_t(0));
  SmallVector<size_t> lengths(single, 1);
  llvm::append_range(lengths, runs);
  SmallVector<Piece> pieces;
  size_t first = 0;
  for (size_t length : lengths) {
    VectorType fragment = lane::asFragment(types[first]);
    if (!fragment)
      pieces.push_back({first, std::nullopt});
    for (int64_t access = 0; fragment && access < fragment.getDimSize(0);
         ++access)
      for (size_t value = first; value < first + length; ++value)
        pieces.push_back({value, access});
    first += length;
  }
  return pieces;
}

static SmallVector<Type> splitTypes(TypeRange types,
                                    ArrayRef<size_t> runs = {}) {
  SmallVector<Type> split;
  for (const Piece &piece : getPieces(types, runs)) {
    Type type = types[piece.value];
    split.push_back(piece.access ? getAccessType(lane::asFragment(type))
                                 : type);
  }
  return split;
}

/// The operation that `value` comes of, as it was or packed, perhaps by way of
/// loops that carry it.
static Operation *getSource(Value value) {
  while (true) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto loop =
        argument
            ? dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp())
            : LoopLikeOpInterface();
    OpOperand *initial = loop ? loop.getTiedLoopInit(argument) : nullptr;
    if (initial)
      value = initial->get();
    else if (auto packed = value.getDefiningOp<vector::BitCastOp>())
      value = packed.getSource();
    else
      return value.getDefiningOp();
  }
}

/// The runs of what `loop` carries beside its sums: fragments of one load are
/// one.
static SmallVector<size_t> getRuns(lane::ForRowsOp loop) {
  SmallVector<size_t> runs;
  Value before;
  for (Value value : loop.getCarried()) {
    VectorType fragment = lane::asFragment(value.getType());
    VectorType fragmentBefore =
        before ? lane::asFragment(before.getType()) : VectorType();
    if (fragment && fragmentBefore &&
        fragment.getDimSize(0) == fragmentBefore.getDimSize(0) &&
        getSource(value) == getSource(before))
      ++runs.back();
    else
      runs.push_back(1);
    before = value;
  }
  return runs;
}

/// Whether an access of the result needs that access alone of each operand.
static bool isElementwise(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (isa<lane::LoadElementsOp>(op))
    return true;
  return op->getNumResults() == 1 && isMemoryEffectFree(op) &&
         (OpTrait::hasElementwiseMappableTraits(op) ||
          isa<vector::FMAOp, vector::BroadcastOp, vector::BitCastOp,
              lane::UndefinedRowOp, lane::ColumnIndexOp, BlockMaxOp>(op));
}

namespace {
/// The accesses of fragments: makes those of elementwise operations when they
/// are first needed.
class KnownAccesses {
public:
  KnownAccesses(MLIRContext *context) : b(context) {}

  /// Access `access` of a fragment.
  Value get(Value fragment, int64_t access);
  /// All accesses of those of `values` that are fragments, and the other
  /// values, in the order of getPieces().
  SmallVector<Value> getAll(ValueRange values, ArrayRef<size_t> runs = {});
  /// Element `element` of several accesses.
  Value getAcross(Value fragment, ArrayRef<int64_t> accesses, int64_t element);
  /// A copy of `op` for this access, with the same of each fragment among its
  /// operands.
  Operation *cloneForAccess(Operation *op, int64_t access);
  /// Notes the next access of a fragment.
  void add(Value fragment, Value access) { known[fragment].push_back(access); }
  /// Notes `accesses` as those of the fragments among `values`, in that order,
  /// and puts the others instead of the values that are no fragments.
  void setAll(ValueRange values, ValueRange accesses,
              ArrayRef<size_t> runs = {});
  /// Erases what was split; something that still uses it is an error, as is
  /// what could not be split, which was reported.
  LogicalResult eraseSplit();

  OpBuilder b;
  /// Whether something could not be split; the first such thing was reported.
  bool hasFailed = false;
  /// Whether blocks of neighbouring columns were met.
  bool hasBlocks = false;
  /// Operations that were split, without users.
  llvm::SetVector<Operation *> done;

private:
  /// Notes the largest elements of the blocks that access `access` has some of,
  /// for all accesses that have.
  void splitBlocks(BlockMaxOp op, int64_t access);

  /// Accesses of fragments as far as they are known.
  DenseMap<Value, SmallVector<Value>> known;
};

/// Splits the operations that demand accesses, or that fragments go through.
class Splitter {
public:
  Splitter(KnownAccesses &known) : known(known), b(known.b) {}

  /// Splits all fragments of `block` and of the blocks within.
  void splitBlock(Block &block);

  unsigned numSplit = 0;

private:
  void split(Operation *op);
  void splitAccesses(lane::AccessOpInterface op);
  void splitAccesses(lane::StoreOp op);
  void splitAccesses(lane::FoldOp op);
  void splitSlices(ImplicitLocOpBuilder &b, lane::FoldOp op);
  Operation *splitTogether(Operation *op, ArrayRef<size_t> runs = {});
  void splitRegions(Operation *op);

  KnownAccesses &known;
  OpBuilder &b;
  /// The runs of what the loops that were split carry.
  DenseMap<Operation *, SmallVector<size_t>> runsOf;
};
} // namespace

void KnownAccesses::setAll(ValueRange values, ValueRange accesses,
                           ArrayRef<size_t> runs) {
  for (auto [piece, access] :
       llvm::zip_equal(getPieces(values.getTypes(), runs), accesses)) {
    Value value = values[piece.value];
    if (piece.access)
      known[value].push_back(access);
    else
      value.replaceAllUsesWith(access);
  }
}

SmallVector<Value> KnownAccesses::getAll(ValueRange values,
                                         ArrayRef<size_t> runs) {
  SmallVector<Value> accesses;
  for (const Piece &piece : getPieces(values.getTypes(), runs)) {
    Value value = values[piece.value];
    accesses.push_back(piece.access ? get(value, *piece.access) : value);
  }
  return accesses;
}

Value KnownAccesses::get(Value fragment, int64_t access) {
  auto &accesses = known[fragment];
  accesses.resize(size_t(lane::asFragment(fragment.getType()).getDimSize(0)));
  if (accesses[size_t(access)])
    return accesses[size_t(access)];

  VectorType type = getAccessType(lane::asFragment(fragment.getType()));
  Operation *producer = fragment.getDefiningOp();
  if (!producer || !isElementwise(producer)) {
    if (!hasFailed)
      emitError(fragment.getLoc(),
                "fragment cannot be split into its accesses: expected a splat "
                "constant, or what an elementwise operation makes");
    hasFailed = true;
    return lane::UndefinedRowOp::create(b, fragment.getLoc(), type);
  }
  done.insert(producer);

  // A value that belongs to a block around this one is needed in others, too.
  OpBuilder::InsertionGuard guard(b);
  if (producer->getBlock() != b.getInsertionBlock())
    b.setInsertionPoint(producer);
  if (auto blocks = dyn_cast<BlockMaxOp>(producer)) {
    splitBlocks(blocks, access);
    return known[fragment][size_t(access)];
  }
  Value result = cloneForAccess(producer, access)->getResult(0);
  return known[fragment][size_t(access)] = result;
}

Operation *KnownAccesses::cloneForAccess(Operation *op, int64_t access) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (lane::asFragment(operand.getType()))
      mapping.map(operand, get(operand, access));
  Operation *copy = lane::cloneForPart(b, op, mapping, [](Type type) -> Type {
    VectorType fragment = lane::asFragment(type);
    return fragment ? getAccessType(fragment) : type;
  });
  if (auto numbered = dyn_cast<lane::AccessOpInterface>(copy))
    numbered.setAccess(uint64_t(access));
  return copy;
}

void KnownAccesses::splitBlocks(BlockMaxOp op, int64_t access) {
  // All layouts of a kernel have the same lanes.
  int64_t columns = 0;
  op->getParentOfType<gpu::GPUFuncOp>().walk([&](lane::LayoutOp layout) {
    columns = layout.getLayout().getType().getAccessColumns();
    return WalkResult::interrupt();
  });
  int64_t apart = std::max<int64_t>(1, int64_t(op.getStride()) / columns);
  int64_t count = std::max<int64_t>(1, op.getSpan() / columns / apart);
  int64_t first = access / (apart * count) * apart * count + access % apart;
  SmallVector<Value> rows;
  for (int64_t i = 0; i < count; ++i)
    rows.push_back(get(op.getRow(), first + i * apart));
  Value largest = takeBlockMax(b, op, rows, columns);
  for (int64_t i = 0; i < count; ++i)
    known[op.getResult()][size_t(first + i * apart)] = largest;
  hasBlocks = true;
}

Value KnownAccesses::getAcross(Value fragment, ArrayRef<int64_t> accesses,
                               int64_t element) {
  auto type = VectorType::get({int64_t(accesses.size())},
                              getElementTypeOrSelf(fragment.getType()));
  // Narrow elements are packed when they are made.
  if (auto narrow = fragment.getDefiningOp<arith::TruncFOp>()) {
    Value wide = getAcross(narrow.getIn(), accesses, element);
    done.insert(narrow);
    return arith::TruncFOp::create(b, narrow.getLoc(), type, wide);
  }
  SmallVector<Value> elements;
  for (int64_t i : accesses)
    elements.push_back(vector::ExtractOp::create(b, fragment.getLoc(),
                                                 get(fragment, i), element));
  return vector::FromElementsOp::create(b, fragment.getLoc(), type, elements);
}

LogicalResult KnownAccesses::eraseSplit() {
  if (hasFailed)
    return failure();
  for (Operation *op : done)
    for (Operation *user : op->getUsers())
      if (!done.contains(user))
        return user->emitOpError(
            "needs a fragment whole, which cannot be split");
  for (Operation *op : done)
    op->dropAllReferences();
  for (Operation *op : done) {
    op->dropAllUses();
    op->erase();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What demands accesses
//===----------------------------------------------------------------------===//

/// One operation for each access.
void Splitter::splitAccesses(lane::AccessOpInterface op) {
  for (int64_t i = 0, accesses = countAccesses(op); i < accesses; ++i) {
    Operation *access = known.cloneForAccess(op, i);
    for (auto [fragment, part] :
         llvm::zip_equal(op->getResults(), access->getResults()))
      known.add(fragment, part);
    ++numSplit;
  }
}

/// One operation for all accesses of all fragments.
Operation *Splitter::splitTogether(Operation *op, ArrayRef<size_t> runs) {
  OperationState state(op->getLoc(), op->getName(),
                       known.getAll(op->getOperands(), runs),
                       splitTypes(op->getResultTypes(), runs), op->getAttrs());
  for (unsigned i = 0; i < op->getNumRegions(); ++i)
    state.addRegion();
  Operation *split = b.create(state);
  ++numSplit;
  return split;
}

void Splitter::splitAccesses(lane::StoreOp op) {
  SmallVector<int64_t> aside = getAccessesAside(op), lanes, own;
  if (aside.size() == 1)
    std::tie(lanes, own) = getSharedBits(op);
  if (aside.size() == 1 && lanes.empty())
    return splitAccesses(cast<lane::AccessOpInterface>(*op));
  Value memory = op.getMemory();
  SmallVector<Value> hasBit;
  // What a lane writes itself, of what it would share.
  int64_t others = -1;
  if (!lanes.empty()) {
    std::tie(memory, hasBit) = shareView(op, lanes, own);
    others = std::accumulate(own.begin() + lanes.size(), own.end(), 0);
  }
  lane::LayoutType layout = op.getLayout().getType();
  int64_t columns = layout.getAccessColumns();
  auto choose = [&](auto self, int64_t column, size_t bit) -> Value {
    if (bit < lanes.size()) {
      Value second = self(self, column + own[bit], bit + 1);
      return arith::SelectOp::create(b, op.getLoc(), hasBit[bit], second,
                                     self(self, column, bit + 1));
    }
    SmallVector<int64_t> accesses = llvm::to_vector(llvm::map_range(
        aside, [&](int64_t access) { return access + column / columns; }));
    return known.getAcross(op.getFragment(), accesses, column % columns);
  };
  for (int64_t i = 0; i < layout.getAccesses(); ++i)
    // Elements of one access lie apart where those of several lie together.
    for (int64_t e = 0; e < layout.getWidth(); ++e) {
      int64_t column = i * columns + e;
      if ((i & aside.back()) || (column & ~others))
        continue;
      lane::StoreOp::create(b, op.getLoc(), choose(choose, column, 0), memory,
                            op.getRow(), op.getLayout(), op.getInBounds(),
                            b.getI64IntegerAttr(i), b.getI64IntegerAttr(e));
      ++numSplit;
    }
}

/// Elements first, products by multiply-adds, then the accesses of each slice,
/// by halves.
void Splitter::splitSlices(ImplicitLocOpBuilder &b, lane::FoldOp op) {
  int64_t accesses = op.getLayout().getType().getAccesses();
  auto slices = int64_t(*op.getSlices());
  int64_t each =
      slices == 1 ? accesses
                  : getSliceColumns(op.getLayout().getType().getRowLength()) /
                        op.getLayout().getType().getAccessColumns();
  SmallVector<SmallVector<Value>> sliced(op.getPartials().size());
  for (int64_t i = 0; i < accesses; ++i)
    for (auto [p, fragment] : llvm::enumerate(op.getFragments())) {
      Value found = known.get(fragment, i);
      bool isMaximum = lane::isMaximum(op.getKinds(), p);
      if (auto product = found.getDefiningOp<arith::MulFOp>();
          product && !isMaximum)
        found = lane::combineProducts(b, product.getLhs(), product.getRhs());
      Value combined =
          lane::makeTerm(b, op.getLayout(), op.getRow(), i, isMaximum, found);
      sliced[p * size_t(slices) + size_t(i / each)].push_back(
          lane::combineElements(b, isMaximum, combined));
    }
  for (auto [i, partial] : llvm::enumerate(op.getPartials()))
    partial.replaceAllUsesWith(lane::combineByHalves(
        b, lane::isMaximum(op.getKinds(), i / size_t(slices)), sliced[i]));
}

void Splitter::splitAccesses(lane::FoldOp op) {
  ImplicitLocOpBuilder at(op.getLoc(), op);
  if (op.getSlices())
    return splitSlices(at, op);
  SmallVector<Value> partials(op.getFragments().size());
  for (int64_t i = 0; i < op.getLayout().getType().getAccesses(); ++i)
    for (auto [p, fragment] : llvm::enumerate(op.getFragments())) {
      Value found = known.get(fragment, i);
      bool isMaximum = lane::isMaximum(op.getKinds(), p);
      Value term =
          lane::makeTerm(at, op.getLayout(), op.getRow(), i, isMaximum, found);
      Value &partial = partials[p];
      partial =
          partial ? lane::combinePartials(at, isMaximum, partial, term) : term;
    }
  op.getPartials().replaceAllUsesWith(partials);
}

//===----------------------------------------------------------------------===//
// What fragments go through
//===----------------------------------------------------------------------===//

/// A loop or branch that fragments go into, from iteration to iteration, or out
/// of.
void Splitter::splitRegions(Operation *op) {
  auto loop = dyn_cast<lane::ForRowsOp>(op);
  SmallVector<size_t> runs;
  if (loop)
    runs = getRuns(loop);
  Operation *split = splitTogether(op, runs);
  if (loop) {
    auto count = [](TypeRange types) {
      return int32_t(splitTypes(types).size());
    };
    auto &sizes =
        cast<lane::ForRowsOp>(split).getProperties().operandSegmentSizes;
    sizes[sizes.size() - 2] = count(loop.getSums().getTypes());
    sizes.back() = count(loop.getCarried().getTypes());
  }
  runsOf[split] = runs;
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), split->getRegions()))
    for (Block &block : llvm::make_early_inc_range(from)) {
      auto *moved = new Block();
      to.push_back(moved);
      SmallVector<Type> types = splitTypes(block.getArgumentTypes(), runs);
      moved->addArguments(types,
                          SmallVector<Location>(types.size(), op->getLoc()));
      moved->getOperations().splice(moved->end(), block.getOperations());
      known.setAll(ValueRange(block.getArguments()),
                   ValueRange(moved->getArguments()), runs);
      splitBlock(*moved);
    }
  known.setAll(op->getResults(), split->getResults(), runs);
}

void Splitter::split(Operation *op) {
  bool hasFragments = countAccesses(op) != 0;
  if (op->getNumRegions()) {
    if (!hasFragments) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          splitBlock(block);
      return;
    }
    if (!isa<RegionBranchOpInterface>(op)) {
      if (!known.hasFailed)
        op->emitOpError("cannot be split: expected an operation with "
                        "RegionBranchOpInterface where fragments go into or "
                        "out of regions");
      known.hasFailed = true;
      return;
    }
    known.done.insert(op);
    return splitRegions(op);
  }
  if (!hasFragments)
    return;
  if (isa<RegionBranchTerminatorOpInterface>(op)) {
    op->setOperands(
        known.getAll(op->getOperands(), runsOf.lookup(op->getParentOp())));
    return;
  }
  // Elementwise operations are split where their result is first needed.
  if (isElementwise(op)) {
    known.done.insert(op);
    return;
  }
  llvm::TypeSwitch<Operation *>(op)
      .Case<lane::StoreOp, lane::FoldOp, lane::AccessOpInterface>([&](auto op) {
        known.done.insert(op);
        splitAccesses(op);
      })
      .Case<lane::LoadColumnsOp, lane::CombineGroupsOp, lane::ShareSumsOp,
            lane::AddLeavesOp>([&](auto op) {
        known.done.insert(op);
        known.setAll(op->getResults(), splitTogether(op)->getResults());
      });
}

void Splitter::splitBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(&op);
    split(&op);
  }
}

/// Does elementwise operations on what is the same in all elements of an access
/// once.
static LogicalResult sinkBroadcasts(gpu::GPUFuncOp kernel) {
  RewritePatternSet patterns(kernel.getContext());
  vector::populateSinkVectorOpsPatterns(patterns);
  GreedyRewriteConfig config;
  config.enableFolding(false);
  config.enableConstantCSE(false);
  return applyPatternsGreedily(kernel, std::move(patterns), config);
}

namespace {
struct SplitFragments : lnbwd::impl::SplitFragmentsPassBase<SplitFragments> {
  void runOnOperation() override {
    KnownAccesses known(&getContext());
    Splitter splitter(known);
    splitter.splitBlock(getOperation().getBody().front());
    if (failed(known.eraseSplit()))
      return signalPassFailure();
    numSplit += splitter.numSplit;
    // What follows from a block's largest element is one for a lane.
    if (known.hasBlocks && failed(sinkBroadcasts(getOperation())))
      return signalPassFailure();
  }
};
} // namespace
