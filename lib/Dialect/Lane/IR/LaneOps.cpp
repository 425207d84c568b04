//===- LaneOps.cpp - Operations of the lane dialect -----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers, folds, and the form of lane.for_rows that people read.
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

#include "lnbwd/Dialect/Lane/IR/LaneInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "lnbwd/Dialect/Lane/IR/LaneOps.cpp.inc"

//===----------------------------------------------------------------------===//
// What several verifiers ask
//===----------------------------------------------------------------------===//

/// Says through `op` if `fragment` is not a fragment of rows of `element` at
/// `layout`, or its one access where `access` is given.
static LogicalResult verifyFragment(Operation *op, Type fragment,
                                    LayoutType layout, Type element,
                                    std::optional<int64_t> access) {
  if (access && (*access < 0 || *access >= layout.getAccesses()))
    return op->emitOpError("expected access to be below the accesses of a "
                           "fragment, ")
           << layout.getAccesses() << ", got " << *access;
  Type expected =
      access ? layout.getAccessType(element) : layout.getFragmentType(element);
  if (fragment == expected)
    return success();
  return op->emitOpError("expected ")
         << (access ? "an access of " : "a fragment of ") << expected
         << ", got " << fragment;
}

/// `memory` holds rows of `layout`, or, if it may, one vector of their length.
static LogicalResult verifyRows(Operation *op, Type memory, LayoutType layout,
                                bool isColumn) {
  auto type = cast<MemRefType>(memory);
  int64_t rank = isColumn ? 1 : 2;
  if (type.getRank() != rank || type.getShape().back() != layout.getRowLength())
    return op->emitOpError("expected a memref of rank ")
           << rank << " whose last dimension is the layout's row_length, "
           << layout.getRowLength() << ", got " << type;
  return success();
}

/// `values` are fragments, or all accesses of each: `count` fragments if that
/// is known. Their elements are those of `elementOf`.
static LogicalResult
verifyFragmentsOrAccesses(Operation *op, TypeRange values, LayoutType layout,
                          size_t count, function_ref<Type(size_t)> elementOf) {
  auto accesses = size_t(layout.getAccesses());
  bool isSplit = !values.empty() && cast<VectorType>(values[0]).getRank() == 1;
  size_t each = isSplit ? accesses : 1;
  if (values.size() != count * each)
    return op->emitOpError("expected ")
           << count << " fragments, or " << accesses
           << " accesses of each, got " << values.size() << " values";
  for (auto [i, type] : llvm::enumerate(values)) {
    std::optional<int64_t> access;
    if (isSplit)
      access = int64_t(i % each);
    if (failed(verifyFragment(op, type, layout, elementOf(i / each), access)))
      return failure();
  }
  return success();
}

static LogicalResult verifyKinds(Operation *op, ArrayAttr kinds,
                                 size_t values) {
  if (kinds.size() != values)
    return op->emitOpError("expected a kind for each of its ")
           << values << " operands, got " << kinds.size();
  for (Attribute kind : kinds) {
    vector::CombiningKind value =
        cast<vector::CombiningKindAttr>(kind).getValue();
    if (value != vector::CombiningKind::ADD &&
        value != vector::CombiningKind::MAXIMUMF)
      return op->emitOpError("expected the kinds add and maximumf, got ")
             << kind;
  }
  return success();
}

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
  if (auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                            : SplatElementsAttr())
    constant.setValueAttr(
        splat.resizeSplat(cast<ShapedType>(constant.getType())));
  return copy;
}

//===----------------------------------------------------------------------===//
// Places, loads and stores
//===----------------------------------------------------------------------===//

LogicalResult LayoutOp::verify() {
  LayoutType layout = getLayout().getType();
  bool isWhole = !layout.sharesRows();
  if (!getFirst() && !isWhole)
    return emitOpError("expected the first column of the workgroup: it has ")
           << layout.getWorkgroupColumns() << " of "
           << layout.getCoveredColumns() << " columns";
  if (getFirst() && isWhole)
    return emitOpError("expected no first column: the workgroup has the whole "
                       "row");
  return success();
}

LogicalResult InBoundsOp::verify() {
  LayoutType layout = getLayout().getType();
  auto access = int64_t(getAccess());
  if (access >= 0 && access < layout.getAccesses())
    return success();
  return emitOpError("expected access to be below the accesses of a fragment, ")
         << layout.getAccesses() << ", got " << access;
}

/// That `op` has a row where its columns depend on it.
template <typename Op> static LogicalResult verifyAlignedRow(Op op) {
  bool isAligned = op.getLayout().getType().isAligned();
  if (bool(op.getRow()) == isAligned)
    return success();
  return op.emitOpError(isAligned
                            ? "expected a row: where aligned rows begin differs"
                            : "expected no row: columns are those of any");
}

LogicalResult ColumnIndexOp::verify() {
  LayoutType layout = getLayout().getType();
  if (failed(verifyAlignedRow(*this)))
    return failure();
  return verifyFragment(*this, getType(), layout, getType().getElementType(),
                        getAccess());
}

LogicalResult ViewOp::verify() {
  auto memory = cast<MemRefType>(getMemory().getType());
  auto view = cast<MemRefType>(getView().getType());
  AffineMap map = view.getLayout().getAffineMap();
  if (view.getElementType() != memory.getElementType() ||
      view.getMemorySpace() != memory.getMemorySpace())
    return emitOpError("expected a view of the elements and the memory space "
                       "of ")
           << memory << ", got " << view;
  if (!isa<AffineMapAttr>(view.getLayout()) || map.getNumSymbols() ||
      map.getNumResults() != memory.getRank())
    return emitOpError("expected a layout without symbols that gives the ")
           << memory.getRank() << " indices of " << memory << ", got " << view;
  return success();
}

LogicalResult LoadColumnsOp::verify() {
  LayoutType layout = getLayout().getType();
  for (Type memory : getMemories().getTypes())
    if (failed(verifyRows(*this, memory, layout, /*isColumn=*/true)))
      return failure();
  return verifyFragmentsOrAccesses(
      *this, getFragments().getTypes(), layout, getMemories().size(),
      [&](size_t i) { return getElementTypeOrSelf(getMemories()[i]); });
}

/// What a load of rows has to be.
template <typename Op> static LogicalResult verifyLoad(Op op) {
  LayoutType layout = op.getLayout().getType();
  if (op.getMemories().size() != op.getFragments().size())
    return op.emitOpError("expected a result for each of its ")
           << op.getMemories().size() << " memories, got "
           << op.getFragments().size();
  for (auto [memory, fragment] :
       llvm::zip_equal(op.getMemories(), op.getFragments()))
    if (failed(verifyRows(op, memory.getType(), layout, /*isColumn=*/false)) ||
        failed(verifyFragment(op, fragment.getType(), layout,
                              getElementTypeOrSelf(memory), op.getAccess())))
      return failure();
  return success();
}

LogicalResult LoadOp::verify() { return verifyLoad(*this); }

LogicalResult ConvertLayoutOp::verify() {
  LayoutType from = getFrom().getType(), to = getTo().getType();
  auto turned = LayoutType::get(getContext(), to.getRowLength(), to.getLanes(),
                                to.getGroups(), to.getWidth(), to.getColumns(),
                                to.getSpan(), !to.getAcross());
  if (from != turned)
    return emitOpError("expected layouts that differ in across alone, got ")
           << from << " and " << to;
  for (Type fragment : getFragments().getTypes())
    if (failed(verifyFragment(*this, fragment, to,
                              getElementTypeOrSelf(fragment), std::nullopt)))
      return failure();
  return success();
}

LogicalResult GatherOp::verify() { return verifyLoad(*this); }

LogicalResult LoadPredicatedOp::verify() { return verifyLoad(*this); }

LogicalResult StoreOp::verify() {
  LayoutType layout = getLayout().getType();
  if (failed(
          verifyRows(*this, getMemory().getType(), layout, /*isColumn=*/false)))
    return failure();
  if (!getElement())
    return verifyFragment(*this, getFragment().getType(), layout,
                          getElementTypeOrSelf(getMemory()), getAccess());
  if (getAccess() && *getElement() < uint64_t(layout.getWidth()) &&
      getFragment().getType() ==
          VectorType::get({countAccessesAside()},
                          getElementTypeOrSelf(getMemory())))
    return success();
  return emitOpError("expected an element of accesses that lie side by side, "
                     "below ")
         << layout.getWidth() << ", got element " << *getElement() << " of "
         << getFragment().getType();
}

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

void lnbwd::lane::forEachCut(AffineMap map,
                             function_ref<void(int64_t, bool)> visit) {
  map.walkExprs([&](AffineExpr expr) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    auto constant = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS())
                           : AffineConstantExpr();
    if (!constant || binary.getKind() == AffineExprKind::Mul ||
        !binary.isFunctionOfDim(map.getNumDims() - 1))
      return;
    int64_t cut = constant.getValue();
    auto inner = dyn_cast<AffineBinaryOpExpr>(binary.getLHS());
    if (inner && inner.getKind() == AffineExprKind::FloorDiv)
      cut *= cast<AffineConstantExpr>(inner.getRHS()).getValue();
    visit(cut, binary.getKind() == AffineExprKind::Add);
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

/// What is asked for rows without a fragment for each lane.
template <typename Op>
static LogicalResult verifyMemories(Op op, StringRef to) {
  if (op.getMemories().empty())
    return op.emitOpError("expected memories to ") << to << ", got none";
  for (Type memory : op.getMemories().getTypes())
    if (failed(verifyRows(op, memory, op.getLayout().getType(),
                          /*isColumn=*/false)))
      return failure();
  return success();
}

LogicalResult PrefetchRowsOp::verify() {
  return verifyMemories(*this, "bring rows of");
}

LogicalResult DiscardOp::verify() { return verifyMemories(*this, "discard"); }

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

LogicalResult ForRowsOp::verify() {
  if (getOnce() && (getEntered() || getSumBlock()))
    return emitOpError("expected once without ")
           << (getEntered() ? getEnteredAttrName() : getSumBlockAttrName())
                  .getValue()
           << ", which is of loops with several iterations";
  if (bool(getWorkgroup()) != bool(getWorkgroups()))
    return emitOpError("expected both the workgroup and how many there are, "
                       "or neither");
  bool endsWhole = getLayout().getType().getGroups() == 1 && !getLastRowApart();
  if (!getWhole() && !getWorkgroup() && !endsWhole)
    return emitOpError("expected which workgroup of how many it is for, since "
                       "its last tile may be partial");
  return success();
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
// Sums
//===----------------------------------------------------------------------===//

LogicalResult FoldOp::verify() {
  LayoutType layout = getLayout().getType();
  Type element = Float32Type::get(getContext());
  if (failed(verifyAlignedRow(*this)))
    return failure();
  if (layout.isAligned() && getSlices())
    return emitOpError("expected rows that are not aligned where they have "
                       "slices, got ")
           << layout;
  if (failed(verifyKinds(*this, getKinds(), getFragments().size())))
    return failure();
  size_t each = size_t(getSlices().value_or(1));
  if (getPartials().size() != getFragments().size() * each)
    return emitOpError("expected ")
           << each << " results for each of its " << getFragments().size()
           << " fragments, got " << getPartials().size();
  for (Type fragment : getFragments().getTypes())
    if (failed(verifyFragment(*this, fragment, layout, element, std::nullopt)))
      return failure();
  for (Type partial : getPartials().getTypes())
    if (getSlices() && partial != element)
      return emitOpError("expected numbers of f32 of slices, got ") << partial;
    else if (!getSlices() && failed(verifyFragment(*this, partial, layout,
                                                   element, /*access=*/0)))
      return failure();
  return success();
}

LogicalResult ReduceOp::verify() {
  LayoutType layout = getLayout().getType();
  Type element = Float32Type::get(getContext());
  if (failed(verifyKinds(*this, getKinds(), getSums().size())))
    return failure();
  size_t each = size_t(getSlices().value_or(1));
  if (getSums().size() * each != getPartials().size())
    return emitOpError("expected a result for each ")
           << each << " of its " << getPartials().size()
           << " partial sums, got " << getSums().size();
  for (Type partial : getPartials().getTypes())
    if (partial != element &&
        (getSlices() || partial != layout.getAccessType(element)))
      return emitOpError("expected partial sums of ")
             << layout.getAccessType(element) << " or f32, got " << partial;
  auto phase = int64_t(getPhase());
  // The phases of a row are numbered without gaps.
  if (phase > 0 &&
      llvm::none_of((*this)->getBlock()->getOps<ReduceOp>(), [&](ReduceOp op) {
        return int64_t(op.getPhase()) == phase - 1;
      }))
    return emitOpError("expected phase ")
           << phase - 1 << " of the row before phase " << phase
           << ", got no lane.reduce of it in the block";
  return success();
}

/// That an operation, `sums` to `totals`, has a total for each of its sums.
template <typename Op> static LogicalResult verifyTotals(Op op) {
  LayoutType layout = op.getLayout().getType();
  if (op.getTotals().getTypes() != op.getSums().getTypes())
    return op.emitOpError("expected a total for each of its ")
           << op.getSums().size() << " sums, of its type";
  if (op.getSums().empty())
    return success();
  bool isSplit = cast<VectorType>(op.getSums()[0].getType()).getRank() == 1;
  size_t each = isSplit ? size_t(layout.getAccesses()) : 1;
  return verifyFragmentsOrAccesses(
      op, op.getSums().getTypes(), layout,
      llvm::divideCeil(op.getSums().size(), each),
      [&](size_t) { return Float32Type::get(op.getContext()); });
}

LogicalResult CombineGroupsOp::verify() { return verifyTotals(*this); }

LogicalResult AddLeavesOp::verify() { return verifyTotals(*this); }

LogicalResult StoreSumOp::verify() {
  LayoutType layout = getLayout().getType();
  if (failed(verifyRows(*this, getMemory().getType(), layout,
                        /*isColumn=*/!getRow())))
    return failure();
  return verifyFragment(*this, getSum().getType(), layout,
                        Float32Type::get(getContext()), getAccess());
}

//===----------------------------------------------------------------------===//
// Bytes in flight
//===----------------------------------------------------------------------===//

LogicalResult SendToPeersOp::verify() {
  LayoutType layout = getLayout().getType();
  if (!layout.sharesRows())
    return emitOpError(
               "expected a layout whose workgroup has a fragment of the "
               "row's columns, got ")
           << layout;
  return success();
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

LogicalResult StartCopiesOp::verify() {
  LayoutType layout = getLayout().getType();
  ArrayRef<Type> elements = getStages().getType().getElements();
  if (getMemories().size() != elements.size())
    return emitOpError("expected a memory for each of the stages' ")
           << elements.size() << " elements, got " << getMemories().size();
  for (auto [memory, element] : llvm::zip_equal(getMemories(), elements)) {
    auto type = cast<MemRefType>(memory.getType());
    if (type.getRank() != 2 || type.getElementType() != element ||
        type.getDimSize(1) != layout.getRowLength())
      return emitOpError("expected a memref of rank 2 of ")
             << element << " whose last dimension is the layout's row_length, "
             << layout.getRowLength() << ", got " << type;
    if (type.getStridesAndOffset().first !=
        SmallVector<int64_t>{layout.getRowLength(), 1})
      return emitOpError("expected rows that lie side by side, got ") << type;
  }
  return success();
}

LogicalResult ReceiveOp::verify() {
  LayoutType layout = getLayout().getType();
  ArrayRef<Type> elements = getStages().getType().getElements();
  if (getFragments().size() != elements.size())
    return emitOpError("expected a result for each of the stages' ")
           << elements.size() << " elements, got " << getFragments().size();
  for (auto [fragment, element] : llvm::zip_equal(getFragments(), elements))
    if (failed(verifyFragment(*this, fragment.getType(), layout, element,
                              getAccess())))
      return failure();
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
