//===- LaneOps.cpp - Operations of the lane dialect -----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the definitions ask of operations, folds, and the form of lane.for_rows
// that people read.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

#include <numeric>

using namespace mlir;
using namespace lnbwd::lane;

//===----------------------------------------------------------------------===//
// What the operations' definitions ask
//===----------------------------------------------------------------------===//

using Layout = TypedValue<LayoutType>;

/// What a lane has of a row of `element`, or of its one access where `access`
/// is given; null if there is none of that number.
static Type getRowType(Layout layout, Type element,
                       std::optional<uint64_t> access) {
  LayoutType type = layout.getType();
  if (!access)
    return type.getFragmentType(getElementTypeOrSelf(element));
  return *access < uint64_t(type.getAccesses())
             ? Type(type.getAccessType(getElementTypeOrSelf(element)))
             : Type();
}

/// Whether `memories` hold rows of `layout`, or, with rank 1, one vector of
/// their length each.
static bool holdRows(TypeRange memories, Layout layout, int64_t rank = 2) {
  return llvm::all_of(memories, [&](Type memory) {
    auto type = cast<MemRefType>(memory);
    return type.getRank() == rank &&
           type.getShape().back() == layout.getType().getRowLength();
  });
}

/// Whether `values` are what a lane has of a row of each of `elements`.
static bool areOfRows(TypeRange values, Layout layout, TypeRange elements,
                      std::optional<uint64_t> access = std::nullopt) {
  return llvm::equal(values, elements, [&](Type value, Type element) {
    return value == getRowType(layout, element, access);
  });
}

static bool areSplit(TypeRange values) {
  return !values.empty() && cast<VectorType>(values[0]).getRank() == 1;
}

/// The same, or all accesses of each.
static bool areOfRowsOrSplit(TypeRange values, Layout layout,
                             TypeRange elements) {
  if (!areSplit(values))
    return areOfRows(values, layout, elements);
  SmallVector<Type> expected;
  for (Type element : elements)
    for (int64_t i = 0; i < layout.getType().getAccesses(); ++i)
      expected.push_back(getRowType(layout, element, uint64_t(i)));
  return values == TypeRange(expected);
}

/// Whether there is a total of its type for each of `sums`.
static bool areTotals(TypeRange totals, TypeRange sums, Layout layout) {
  size_t each = areSplit(sums) ? size_t(layout.getType().getAccesses()) : 1;
  SmallVector<Type> elements(llvm::divideCeil(sums.size(), each),
                             Float32Type::get(layout.getContext()));
  return totals == sums && areOfRowsOrSplit(sums, layout, elements);
}

/// Whether a workgroup has the same columns of a row in as many lanes of both,
/// and an access of one layout is one, or several, of the other.
static bool haveSameColumns(LayoutType layout, LayoutType shared) {
  return layout.getLanes() * layout.getGroups() ==
             shared.getLanes() * shared.getGroups() &&
         layout.getRowLength() == shared.getRowLength() &&
         layout.getColumns() == shared.getColumns() && !layout.isAligned() &&
         !shared.isAligned() &&
         shared.getAccessColumns() % layout.getAccessColumns() == 0;
}

/// Whether `sums` are fragments of one layout, and `totals` of another; or all
/// are split.
static bool areShared(TypeRange totals, Layout shared, TypeRange sums,
                      Layout layout) {
  auto accesses = size_t(layout.getType().getAccesses());
  auto sharedAccesses = size_t(shared.getType().getAccesses());
  return areTotals(sums, sums, layout) && areTotals(totals, totals, shared) &&
         (areSplit(sums)
              ? sums.size() * sharedAccesses == totals.size() * accesses
              : sums.size() == totals.size());
}

/// Whether `partials` are accesses, or numbers, of float32.
static bool arePartials(TypeRange partials, Layout layout, bool mayBeAccesses,
                        bool mayBeNumbers) {
  Type number = Float32Type::get(layout.getContext());
  Type access = layout.getType().getAccessType(number);
  return llvm::all_of(partials, [&](Type partial) {
    return (mayBeAccesses && partial == access) ||
           (mayBeNumbers && partial == number);
  });
}

/// The phases of a row are numbered without gaps.
static bool isPhaseNext(ReduceOp op) {
  uint64_t phase = op.getPhase();
  return phase == 0 ||
         llvm::any_of(op->getBlock()->getOps<ReduceOp>(), [&](ReduceOp other) {
           return other.getPhase() == phase - 1;
         });
}

static bool isViewLayout(MemRefType view, MemRefType memory) {
  AffineMap map = view.getLayout().getAffineMap();
  return isa<AffineMapAttr>(view.getLayout()) && map.getNumSymbols() == 0 &&
         map.getNumResults() == memory.getRank();
}

static bool areTurned(LayoutType from, LayoutType to) {
  return from == LayoutType::get(to.getContext(), to.getRowLength(),
                                 to.getLanes(), to.getGroups(), to.getWidth(),
                                 to.getColumns(), to.getSpan(),
                                 !to.getAcross());
}

static bool isStored(StoreOp op) {
  Type element = getElementTypeOrSelf(op.getMemory());
  if (!op.getElement())
    return op.getFragment().getType() ==
           getRowType(op.getLayout(), element, op.getAccess());
  return op.getAccess() &&
         *op.getElement() < uint64_t(op.getLayout().getType().getWidth()) &&
         op.getFragment().getType() ==
             VectorType::get({op.countAccessesAside()}, element);
}

/// Whether rows lie side by side and are of the stages' elements.
static bool areCopied(StartCopiesOp op) {
  return llvm::equal(
      op.getMemories().getTypes(), op.getStages().getType().getElements(),
      [&](Type memory, Type element) {
        auto type = cast<MemRefType>(memory);
        return type.getElementType() == element &&
               type.getStridesAndOffset().first ==
                   SmallVector<int64_t>{op.getLayout().getType().getRowLength(),
                                        1};
      });
}

#include "lnbwd/Dialect/Lane/IR/LaneInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "lnbwd/Dialect/Lane/IR/LaneOps.cpp.inc"

bool lnbwd::lane::isMaximum(ArrayAttr kinds, size_t index) {
  return cast<vector::CombiningKindAttr>(kinds[index]).getValue() ==
         vector::CombiningKind::MAXIMUMF;
}

//===----------------------------------------------------------------------===//
// Parts of rows
//===----------------------------------------------------------------------===//

Operation *lnbwd::lane::cloneForPart(OpBuilder &b, Operation *op,
                                     IRMapping &mapping,
                                     function_ref<Type(Type)> convert) {
  Operation *copy = b.clone(*op, mapping);
  for (Value result : copy->getResults())
    result.setType(convert(result.getType()));
  auto constant = dyn_cast<arith::ConstantOp>(copy);
  auto type =
      constant ? dyn_cast<ShapedType>(constant.getType()) : ShapedType();
  if (!type)
    return copy;
  if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
    constant.setValueAttr(splat.resizeSplat(type));
  else if (!isa<ShapedType>(op->getResult(0).getType()))
    constant.setValueAttr(
        DenseElementsAttr::get(type, Attribute(constant.getValue())));
  return copy;
}

//===----------------------------------------------------------------------===//
// Places, loads and stores
//===----------------------------------------------------------------------===//

/// The bits of the widest access to memory.
static constexpr int64_t accessBits = 128;

int64_t lnbwd::lane::locateColumn(AffineMap map, int64_t column) {
  auto index = IndexType::get(map.getContext());
  SmallVector<Attribute> at(map.getNumDims(), IntegerAttr::get(index, 0));
  at.back() = IntegerAttr::get(index, column);
  SmallVector<Attribute> place;
  (void)map.constantFold(at, place);
  return cast<IntegerAttr>(place.back()).getInt();
}

/// How many columns in a row have the same value of an expression of one, which
/// rises by 1 after them.
static int64_t countEqualColumns(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  auto constant = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS())
                         : AffineConstantExpr();
  if (!constant || binary.getKind() == AffineExprKind::Mul)
    return 1;
  int64_t count = countEqualColumns(binary.getLHS());
  return binary.getKind() == AffineExprKind::FloorDiv
             ? count * constant.getValue()
             : count;
}

void lnbwd::lane::forEachCut(AffineMap map,
                             function_ref<void(int64_t, bool)> visit) {
  map.walkExprs([&](AffineExpr expr) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    auto constant = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS())
                           : AffineConstantExpr();
    if (!constant || binary.getKind() == AffineExprKind::Mul ||
        !binary.isFunctionOfDim(map.getNumDims() - 1))
      return;
    visit(constant.getValue() * countEqualColumns(binary.getLHS()),
          binary.getKind() == AffineExprKind::Add);
  });
}

std::optional<int64_t> lnbwd::lane::getStep(AffineMap map, int64_t bit) {
  bool isSeparate = true;
  forEachCut(map, [&](int64_t cut, bool isMove) {
    bool isBelow = !isMove && cut <= bit && llvm::isPowerOf2_64(uint64_t(cut));
    isSeparate &= isBelow || cut % (2 * bit) == 0;
  });
  if (!isSeparate)
    return std::nullopt;
  return locateColumn(map, bit) - locateColumn(map, 0);
}

int64_t StoreOp::countAccessesAside() {
  auto view = getMemory().getDefiningOp<ViewOp>();
  LayoutType layout = getLayout().getType();
  int64_t columns = layout.getAccessColumns(), length = layout.getRowLength();
  if (!view || !llvm::isPowerOf2_64(uint64_t(columns)) ||
      length != columns * layout.getAccesses())
    return 1;
  auto memory = cast<MemRefType>(getMemory().getType());
  AffineMap map = memory.getLayout().getAffineMap();
  if (map.getNumResults() > 1 || getStep(map, 1).value_or(0) <= 1)
    return 1;
  auto isAside = [&](int64_t step) {
    for (int64_t bit = columns; bit < length; bit *= 2)
      if (getStep(map, bit) == step)
        return true;
    return false;
  };
  int64_t count = 1, most = accessBits / memory.getElementTypeBitWidth();
  while (count < most && isAside(count))
    count *= 2;
  // All else begins at multiples of so many.
  AffineExpr row =
      map.getResult(0).replace(getAffineDimExpr(1, map.getContext()),
                               getAffineConstantExpr(0, map.getContext()));
  count = std::gcd(count, row.getLargestKnownDivisor());
  for (int64_t bit = 1; bit < length; bit *= 2)
    if (std::optional<int64_t> step = getStep(map, bit);
        !step || bit < columns || *step >= count)
      count = std::gcd(count, step.value_or(1));
  return count;
}

//===----------------------------------------------------------------------===//
// The loop over the rows
//===----------------------------------------------------------------------===//

void ForRowsOp::build(OpBuilder &builder, OperationState &state, Value begin,
                      Value end, Value step, Value layout, Value workgroup,
                      Value workgroups, ValueRange sums, ValueRange carried) {
  state.addOperands({begin, end, step, layout});
  for (Value number : {workgroup, workgroups})
    if (number)
      state.addOperands(number);
  state.addOperands(sums);
  state.addOperands(carried);
  state.getOrAddProperties<Properties>().setOperandSegmentSizes(
      {1, 1, 1, 1, workgroup ? 1 : 0, workgroups ? 1 : 0, int32_t(sums.size()),
       int32_t(carried.size())});
  state.addTypes(sums.getTypes());
  state.addTypes(carried.getTypes());
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(state.addRegion());
  body->addArgument(builder.getIndexType(), state.location);
  for (Type type : state.types)
    body->addArgument(type, state.location);
}

/// `keyword(%argument = %initial, ...)`, if it is there.
static ParseResult
parseInitials(OpAsmParser &parser, StringRef keyword,
              SmallVectorImpl<OpAsmParser::Argument> &arguments,
              SmallVectorImpl<OpAsmParser::UnresolvedOperand> &initials) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  return parser.parseAssignmentList(arguments, initials);
}

ParseResult ForRowsOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  SmallVector<OpAsmParser::Argument> arguments(1);
  SmallVector<OpAsmParser::UnresolvedOperand> bounds(3), numbers, sums, carried;
  OpAsmParser::UnresolvedOperand layout;
  arguments[0].type = builder.getIndexType();
  if (parser.parseArgument(arguments[0]) || parser.parseEqual() ||
      parser.parseOperand(bounds[0]) || parser.parseKeyword("to") ||
      parser.parseOperand(bounds[1]) || parser.parseKeyword("step") ||
      parser.parseOperand(bounds[2]) || parser.parseKeyword("at") ||
      parser.parseOperand(layout))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("for"))) {
    numbers.resize(2);
    if (parser.parseOperand(numbers[0]) || parser.parseKeyword("of") ||
        parser.parseOperand(numbers[1]))
      return failure();
  }
  if (parseInitials(parser, "sums", arguments, sums) ||
      parseInitials(parser, "carrying", arguments, carried) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  SMLoc typesLoc;
  SmallVector<Type> types;
  if (parser.parseColon() || parser.getCurrentLocation(&typesLoc) ||
      parser.parseTypeList(types))
    return failure();
  if (types.size() != arguments.size())
    return parser.emitError(typesLoc, "expected ")
           << arguments.size()
           << " types, of the layout and of what goes from iteration to "
              "iteration, got "
           << types.size();
  ArrayRef<Type> state = ArrayRef(types).drop_front();
  for (auto [argument, type] :
       llvm::zip_equal(MutableArrayRef(arguments).drop_front(), state))
    argument.type = type;
  if (parser.resolveOperands(bounds, builder.getIndexType(), result.operands) ||
      parser.resolveOperand(layout, types[0], result.operands) ||
      parser.resolveOperands(numbers, builder.getIndexType(),
                             result.operands) ||
      parser.resolveOperands(sums, state.take_front(sums.size()), typesLoc,
                             result.operands) ||
      parser.resolveOperands(carried, state.drop_front(sums.size()), typesLoc,
                             result.operands) ||
      parser.parseRegion(*result.addRegion(), arguments))
    return failure();
  ensureTerminator(*result.regions[0], builder, result.location);
  result.addTypes(state);
  int32_t each = numbers.empty() ? 0 : 1;
  llvm::copy(
      ArrayRef<int32_t>{1, 1, 1, 1, each, each, int32_t(sums.size()),
                        int32_t(carried.size())},
      result.getOrAddProperties<Properties>().operandSegmentSizes.begin());
  return success();
}

void ForRowsOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getTile() << " = " << getBegin() << " to " << getEnd()
          << " step " << getStep() << " at " << getLayout();
  if (getWorkgroup())
    printer << " for " << getWorkgroup() << " of " << getWorkgroups();
  ValueRange arguments(getRegionIterArgs());
  auto printInitials = [&](StringRef keyword, ValueRange values,
                           ValueRange initials) {
    if (values.empty())
      return;
    printer << ' ' << keyword << '(';
    llvm::interleaveComma(
        llvm::zip_equal(values, initials), printer, [&](auto pair) {
          printer << std::get<0>(pair) << " = " << std::get<1>(pair);
        });
    printer << ')';
  };
  printInitials("sums", arguments.take_front(getSums().size()), getSums());
  printInitials("carrying", arguments.drop_front(getSums().size()),
                getCarried());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getOperandSegmentSizesAttrName()});
  printer << " : " << getLayout().getType();
  for (Type type : getInits().getTypes())
    printer << ", " << type;
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!getInits().empty());
}

YieldOp ForRowsOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

std::optional<MutableArrayRef<OpOperand>> ForRowsOp::getYieldedValuesMutable() {
  return getYield().getValuesMutable();
}

void ForRowsOp::getSuccessorRegions(RegionBranchPoint point,
                                    SmallVectorImpl<RegionSuccessor> &regions) {
  bool isEntry = point.isParent();
  if (isEntry || !getOnce())
    regions.emplace_back(&getBody(), getRegionIterArgs());
  if (!isEntry || !getEntered())
    regions.emplace_back(getOperation(), getResults());
}

/// Whether `value` is `sum` and what was added to it, on all ways here.
static bool isAccumulated(Value value, Value sum) {
  if (value == sum)
    return true;
  if (auto added = value.getDefiningOp<AccumulateOp>())
    return isAccumulated(added.getSum(), sum);
  auto branch = value.getDefiningOp<scf::IfOp>();
  if (!branch)
    return false;
  unsigned number = cast<OpResult>(value).getResultNumber();
  return isAccumulated(branch.thenYield().getOperand(number), sum) &&
         isAccumulated(branch.elseYield().getOperand(number), sum);
}

LogicalResult ForRowsOp::verifyRegions() {
  // The types of sums and carried values are what the interfaces compare.
  if (!getTile().getType().isIndex())
    return emitOpError("expected the region's first argument to be an index, "
                       "got ")
           << getTile().getType();
  ValueRange yielded = getYieldedValues();
  // A sum takes part in nothing but additions: a block of iterations can begin
  // anew.
  for (auto [sum, next] :
       llvm::zip(getRegionIterArgs().take_front(getSums().size()), yielded)) {
    for (Operation *user : sum.getUsers())
      if (!isa<AccumulateOp, YieldOp, scf::YieldOp>(user))
        return emitOpError("expected its sums to be used by lane.accumulate "
                           "alone, got ")
               << user->getName();
    if (!isAccumulated(next, sum))
      return getYield().emitOpError(
          "expected a sum to be yielded as lane.accumulate left it");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Folds and canonical forms. (lane.row has none, not even of a single group:
// passes know the loads of a row by it.)
//===----------------------------------------------------------------------===//

/// The one index below `count`, if there is but one.
static OpFoldResult foldIndex(Operation *op, int64_t count) {
  return count == 1 ? OpFoldResult(Builder(op).getIndexAttr(0))
                    : OpFoldResult();
}

OpFoldResult GroupOp::fold(FoldAdaptor) {
  return foldIndex(*this, getLayout().getType().getGroups());
}

OpFoldResult LaneOp::fold(FoldAdaptor) {
  return foldIndex(*this, getLayout().getType().getLanes());
}

OpFoldResult InBoundsOp::fold(FoldAdaptor) {
  if (getLayout().getType().mayExceed(int64_t(getAccess())))
    return {};
  return BoolAttr::get(getContext(), true);
}

/// Loads of a tile that has no row.
template <typename Op>
static LogicalResult dropLoads(Op op, PatternRewriter &rewriter) {
  if (!matchPattern(op.getCount(), m_Zero()))
    return failure();
  SmallVector<Value> undefined;
  for (Type type : op->getResultTypes())
    undefined.push_back(UndefinedRowOp::create(rewriter, op.getLoc(), type));
  rewriter.replaceOp(op, undefined);
  return success();
}

namespace {
/// A condition that is known.
struct DecidePredicate : OpInterfaceRewritePattern<PredicatedOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(PredicatedOpInterface op,
                                PatternRewriter &rewriter) const override {
    MutableOperandRange inBounds = op.getInBoundsMutable();
    if (inBounds.empty())
      return failure();
    if (matchPattern(inBounds[0].get(), m_One()))
      rewriter.modifyOpInPlace(op, [&] { inBounds.clear(); });
    else if (matchPattern(inBounds[0].get(), m_Zero()) && op->use_empty())
      rewriter.eraseOp(op);
    else
      return failure();
    return success();
  }
};
} // namespace

void LaneDialect::getCanonicalizationPatterns(
    RewritePatternSet &patterns) const {
  patterns.add<DecidePredicate>(getContext());
  patterns.add(dropLoads<LoadPredicatedOp>);
  patterns.add(dropLoads<LoadScalarPredicatedOp>);
}

OpFoldResult AccumulateOp::fold(FoldAdaptor adaptor) {
  auto inBounds = dyn_cast_or_null<BoolAttr>(adaptor.getInBounds());
  return inBounds && !inBounds.getValue() ? getSum() : OpFoldResult();
}

/// The sums of one group.
LogicalResult CombineGroupsOp::fold(FoldAdaptor,
                                    SmallVectorImpl<OpFoldResult> &totals) {
  if (getLayout().getType().getGroups() > 1)
    return failure();
  totals.assign(getSums().begin(), getSums().end());
  return success();
}
