//===- LNBwdOps.cpp - Operations of the lnbwd dialect ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers, effects and small helpers of the operations. Folds and
// canonicalisations are in LNBwdFolds.cpp.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace lnbwd;

#define GET_OP_CLASSES
#include "lnbwd/Dialect/LNBwd/IR/LNBwdOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Shared by the operations in destination style
//===----------------------------------------------------------------------===//

/// Outputs are a consecutive range at the end of the operands. The segment
/// sizes follow when the range is written to.
static MutableOperandRange getTrailingOperands(Operation *op, unsigned count) {
  return MutableOperandRange(op, op->getNumOperands() - count, count);
}

/// Memrefs are read (inputs) and written (outputs); tensors have no effects.
static void
addEffects(DestinationStyleOpInterface op,
           SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
               &effects,
           bool readsOutputs = false) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (!op.isDpsInit(&operand) || readsOutputs)
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

/// A name without a dialect's prefix that is no option is a misspelt one, which
/// would otherwise be ignored.
static LogicalResult verifyOptionNames(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef name = attribute.getName();
    if (name.contains('.'))
      continue;
    InFlightDiagnostic diag = op->emitOpError("has no option '") << name << "'";
    llvm::SmallVector<StringRef> known;
    for (StringAttr option : op->getName().getAttributeNames())
      if (option != "operandSegmentSizes")
        known.push_back(option);
    diag << "; expected one of ";
    llvm::interleaveComma(known, diag);
    return diag << ", or a name with a dialect's prefix";
  }
  return success();
}

/// Every output has a memref of its own.
static LogicalResult verifyDistinctOutputs(DestinationStyleOpInterface op) {
  llvm::SmallDenseSet<Value> outputs;
  for (OpOperand &output : op.getDpsInitsMutable())
    if (isa<MemRefType>(output.get().getType()) &&
        !outputs.insert(output.get()).second)
      return op->emitOpError("expected a buffer of its own for each output, "
                             "got two in operand ")
             << output.getOperandNumber() << " of type "
             << output.get().getType() << "; pass another buffer";
  return success();
}

/// All operands are tensors, each output giving a result, or all are memrefs.
static LogicalResult verifyTensorsOrMemRefs(DestinationStyleOpInterface op) {
  if (!op.hasPureTensorSemantics() && !op.hasPureBufferSemantics())
    return op->emitOpError(
        "expected all operands to be tensors or all to be memrefs, got some of "
        "each; bufferize the tensors, or wrap the memrefs in "
        "bufferization.to_tensor");
  size_t expected = op.hasPureTensorSemantics() ? op.getNumDpsInits() : 0;
  if (op->getNumResults() != expected)
    return op->emitOpError("expected ")
           << expected << " results, one for each tensor output, got "
           << op->getNumResults();
  return success();
}

/// Elements from one row of `type` to the next, if its last `rowRank`
/// dimensions are dense and its rows lie at one distance from each other, known
/// now and no shorter than a row.
static std::optional<int64_t> getStaticRowStride(ShapedType type,
                                                 int64_t rowRank) {
  int64_t length = 1;
  for (int64_t dim : type.getShape().take_back(rowRank))
    length *= dim;
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || memref.getLayout().isIdentity())
    return length;
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(memref.getStridesAndOffset(strides, offset)) || offset != 0)
    return std::nullopt;
  int64_t dense = 1;
  size_t leading = strides.size() - size_t(rowRank);
  for (size_t i = strides.size(); i-- > leading;) {
    if (strides[i] != dense)
      return std::nullopt;
    dense *= type.getDimSize(unsigned(i));
  }
  if (leading == 0)
    return length;
  int64_t stride = strides[leading - 1];
  if (ShapedType::isDynamic(stride) || stride < length)
    return std::nullopt;
  // Further leading dimensions must go on at the same distance.
  int64_t expected = stride;
  for (size_t i = leading - 1; i-- > 0;) {
    if (type.isDynamicDim(unsigned(i + 1)))
      return std::nullopt;
    expected *= type.getDimSize(unsigned(i + 1));
    if (strides[i] != expected)
      return std::nullopt;
  }
  return stride;
}

/// Memrefs are dense, but for the distance between the rows of row blocks.
static LogicalResult verifyLayouts(DestinationStyleOpInterface op,
                                   int64_t rowRank, ArrayRef<Value> rowBlocks) {
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type || type.getLayout().isIdentity())
      continue;
    if (!llvm::is_contained(rowBlocks, operand))
      return op->emitOpError("expected memrefs with the identity layout, but "
                             "for row blocks, got ")
             << type << "; copy it into a dense buffer";
    SmallVector<int64_t> strides;
    int64_t offset = 0;
    if (succeeded(type.getStridesAndOffset(strides, offset)) && offset != 0)
      return op->emitOpError("expected a buffer that begins with its first "
                             "row, got ")
             << type << "; leave the offset out, and pass a pointer to where "
             << "the first row is";
    if (!getStaticRowStride(type, rowRank))
      return op->emitOpError("expected dense rows, each a static distance "
                             "behind the one before, as in "
                             "memref<?x512xf32, strided<[1024, 1]>>, got ")
             << type
             << "; compile for the distance (a kernel for each that occurs), "
                "or copy the rows into a dense buffer";
  }
  return success();
}

static bool isRowElement(Type type) {
  return type.isF16() || type.isBF16() || type.isF32();
}

static LogicalResult verifyRowElement(Operation *op, StringRef name,
                                      ShapedType type) {
  if (isRowElement(type.getElementType()))
    return success();
  return op->emitOpError("expected the elements of ")
         << name << " to be f16, bf16 or f32, got " << type.getElementType();
}

/// The row blocks of a row program may be bytes as well.
static LogicalResult verifyRowElementOrByte(Operation *op, StringRef name,
                                            ShapedType type) {
  Type element = type.getElementType();
  if (isRowElement(element) || element.isSignlessInteger(8))
    return success();
  InFlightDiagnostic diag = op->emitOpError("expected the elements of ")
                            << name << " to be f16, bf16, f32 or i8, got "
                            << element;
  if (element.isInteger(1))
    diag << "; booleans lie in memory as bytes of 0 and 1: take i8, and "
            "arith.cmpi ne with 0, or arith.extui on the way out";
  return diag;
}

/// Whether a dimension can be at run time what is expected of it. The number of
/// rows may be dynamic on either side; the row length, which is static where it
/// is expected, must be so everywhere if `isRowLength`.
static bool compatible(int64_t dim, int64_t expected, bool isRowLength) {
  if (isRowLength && !ShapedType::isDynamic(expected))
    return dim == expected;
  return ShapedType::isDynamic(dim) || ShapedType::isDynamic(expected) ||
         dim == expected;
}

/// The last `rowDims` dimensions are those of a row.
static LogicalResult verifyShape(Operation *op, StringRef name, ShapedType type,
                                 ArrayRef<int64_t> expected, int64_t rowDims,
                                 StringRef explanation) {
  ArrayRef<int64_t> shape = type.getShape();
  bool matches = shape.size() == expected.size();
  for (size_t i = 0; matches && i < shape.size(); ++i)
    matches =
        compatible(shape[i], expected[i], i + size_t(rowDims) >= shape.size());
  if (matches)
    return success();
  InFlightDiagnostic diag = op->emitOpError("expected ")
                            << name << " to have the shape [";
  llvm::interleave(
      expected,
      [&](int64_t dim) {
        if (ShapedType::isDynamic(dim))
          diag << "?";
        else
          diag << dim;
      },
      [&] { diag << ", "; });
  return diag << "] (" << explanation << "), got " << type;
}

/// Bounds what is computed from row lengths, with room to multiply.
static constexpr int64_t maxRowLength = std::numeric_limits<int32_t>::max();

/// A row block has at least the dimensions of a row, and these are static.
static LogicalResult
verifyRowBlock(Operation *op, StringRef name, ShapedType type, int64_t rowRank,
               LogicalResult (*verifyElement)(Operation *, StringRef,
                                              ShapedType) = verifyRowElement) {
  if (rowRank < 1)
    return op->emitOpError("expected a row to have at least one dimension, got "
                           "row_rank ")
           << rowRank;
  if (type.getRank() < rowRank) {
    InFlightDiagnostic diag = op->emitOpError("expected ")
                              << name << " to have at least ";
    if (rowRank == 1)
      return diag << "one dimension, got " << type;
    return diag << rowRank << " dimensions, those of a row, got " << type;
  }
  StringRef which =
      rowRank == 1 ? "the last dimension of " : "the dimensions of a row of ";
  int64_t length = 1;
  for (int64_t dim : type.getShape().take_back(size_t(rowRank))) {
    if (ShapedType::isDynamic(dim) || dim < 1)
      return op->emitOpError("expected ")
             << which << name
             << " to be static and at least 1 (a kernel is compiled for one "
                "row length), got "
             << type;
    if (dim > maxRowLength / length)
      return op->emitOpError("expected ")
             << which << name << " to be at most " << maxRowLength
             << (rowRank == 1 ? "" : " together") << ", got " << type;
    length *= dim;
  }
  return verifyElement(op, name, type);
}

//===----------------------------------------------------------------------===//
// The normalisations and their gradients
//===----------------------------------------------------------------------===//

/// How many of the optional outputs are there.
static unsigned countPresent(ArrayRef<Value> values) {
  return llvm::count_if(values, [](Value value) { return bool(value); });
}

namespace {
/// Checks the operands of a normalisation against its row block `x` (or `y`,
/// where that is what was given).
class NormVerifier {
public:
  NormVerifier(Operation *op, int64_t rowRank, StringRef inputName, Value input)
      : op(op), rowRank(rowRank), inputName(inputName),
        input(cast<ShapedType>(input.getType())) {
    rowBlocks.push_back(input);
  }

  LogicalResult verifyInput() {
    return verifyRowBlock(op, inputName, input, rowRank);
  }
  /// A row block, if it is there; of the input's element or of any.
  LogicalResult verifyRows(StringRef name, Value value, bool likeInput) {
    if (!value)
      return success();
    rowBlocks.push_back(value);
    auto type = cast<ShapedType>(value.getType());
    if (failed(verifyShape(op, name, type, input.getShape(), rowRank,
                           ("that of " + inputName).str())))
      return failure();
    if (!likeInput)
      return verifyRowElement(op, name, type);
    if (type.getElementType() != input.getElementType())
      return op->emitOpError("expected the elements of ")
             << name << " to be those of " << inputName << ", "
             << input.getElementType() << ", got " << type.getElementType();
    return success();
  }
  /// A column, if it is there.
  LogicalResult verifyColumn(StringRef name, Value value,
                             bool accumulates = false) {
    if (!value)
      return success();
    auto type = cast<ShapedType>(value.getType());
    std::string which =
        rowRank == 1 ? "the last dimension of " : "the dimensions of a row of ";
    if (failed(verifyShape(op, name, type,
                           input.getShape().take_back(size_t(rowRank)), rowRank,
                           which + inputName.str())))
      return failure();
    if (accumulates && !type.getElementType().isF32())
      return op->emitOpError("expected the elements of ")
             << name << " to be f32 where it accumulates, got "
             << type.getElementType();
    if (type.getElementType() != input.getElementType() &&
        !type.getElementType().isF32())
      return op->emitOpError("expected the elements of ")
             << name << " to be f32 or those of " << inputName << ", "
             << input.getElementType() << ", got " << type.getElementType();
    return success();
  }
  /// A statistic, if it is there.
  LogicalResult verifyStatistic(StringRef name, Value value) {
    if (!value)
      return success();
    auto type = cast<ShapedType>(value.getType());
    if (failed(verifyShape(op, name, type,
                           input.getShape().drop_back(size_t(rowRank)), 0,
                           ("the leading dimensions of " + inputName).str())))
      return failure();
    if (!type.getElementType().isF32())
      return op->emitOpError("expected the elements of ")
             << name << " to be f32 (statistics are never kept in less), got "
             << type.getElementType();
    return success();
  }
  LogicalResult verifyEpsilon(const APFloat &epsilon) {
    if (epsilon.isFinite() && !epsilon.isNegative())
      return success();
    return op->emitOpError("expected epsilon to be a number of 0 or more, got ")
           << epsilon.convertToDouble();
  }
  LogicalResult verifyBuffers() {
    auto destination = cast<DestinationStyleOpInterface>(op);
    if (failed(verifyOptionNames(op)) ||
        failed(verifyTensorsOrMemRefs(destination)) ||
        failed(verifyDistinctOutputs(destination)))
      return failure();
    return verifyLayouts(destination, rowRank, rowBlocks);
  }

private:
  Operation *op;
  int64_t rowRank;
  StringRef inputName;
  ShapedType input;
  SmallVector<Value> rowBlocks;
};
} // namespace

/// The part of the two forward operations' verifiers that is alike.
template <typename OpTy>
static LogicalResult verifyForward(OpTy op, NormVerifier &verifier) {
  return success(
      succeeded(verifier.verifyInput()) &&
      succeeded(verifier.verifyEpsilon(op.getEpsilon())) &&
      succeeded(verifier.verifyRows("residual", op.getResidual(), false)) &&
      succeeded(verifier.verifyRows("y", op.getY(), true)) &&
      succeeded(verifier.verifyRows("sum", op.getSum(), false)) &&
      succeeded(verifier.verifyColumn("gamma", op.getGamma())) &&
      succeeded(verifier.verifyStatistic("rstd", op.getRstd())));
}

/// The part of the two gradients' verifiers that is alike.
template <typename OpTy>
static LogicalResult verifyBackward(OpTy op, NormVerifier &verifier) {
  if (op.getY() && !op.getRstd())
    return op.emitOpError(
        "expected rstd with y: it cannot be computed from the "
        "output");
  if (op.getAccumulate() && op.getDgamma() == Value() &&
      op.getDpsInits().size() == countPresent({op.getDx(), op.getDresidual()}))
    return op.emitOpError("expected a gradient of a column to accumulate "
                          "into, got neither dgamma nor dbeta; leave "
                          "accumulate out, or ask for one");
  bool accumulates = op.getAccumulate();
  return success(
      succeeded(verifier.verifyInput()) &&
      succeeded(verifier.verifyEpsilon(op.getEpsilon())) &&
      succeeded(verifier.verifyRows("dy", op.getDy(), true)) &&
      succeeded(verifier.verifyRows("dsum", op.getDsum(), false)) &&
      succeeded(verifier.verifyRows("dx", op.getDx(), true)) &&
      succeeded(verifier.verifyRows("dresidual", op.getDresidual(), false)) &&
      succeeded(verifier.verifyColumn("gamma", op.getGamma())) &&
      succeeded(verifier.verifyColumn("dgamma", op.getDgamma(), accumulates)) &&
      succeeded(verifier.verifyStatistic("rstd", op.getRstd())));
}

/// Exactly one of x and y; whichever it is comes with its name.
template <typename OpTy>
static FailureOr<std::pair<StringRef, Value>> getInput(OpTy op) {
  if (bool(op.getX()) == bool(op.getY()))
    return op.emitOpError("expected either x or y, got ")
           << (op.getX() ? "both; leave out the one that the gradient is not "
                           "to be computed from"
                         : "neither; give x, what was normalised, or y, the "
                           "output");
  return op.getX() ? std::pair<StringRef, Value>("x", op.getX())
                   : std::pair<StringRef, Value>("y", op.getY());
}

MutableOperandRange LayerNormOp::getDpsInitsMutable() {
  return getTrailingOperands(
      getOperation(), countPresent({getY(), getSum(), getMean(), getRstd()}));
}

LogicalResult LayerNormOp::verify() {
  if (getDpsInits().empty())
    return emitOpError("expected at least one of the outputs y, sum, mean and "
                       "rstd");
  NormVerifier verifier(*this, getRowRank(), "x", getX());
  if (failed(verifyForward(*this, verifier)) ||
      failed(verifier.verifyColumn("beta", getBeta())) ||
      failed(verifier.verifyStatistic("mean", getMean())))
    return failure();
  return verifier.verifyBuffers();
}

MutableOperandRange RmsNormOp::getDpsInitsMutable() {
  return getTrailingOperands(getOperation(),
                             countPresent({getY(), getSum(), getRstd()}));
}

LogicalResult RmsNormOp::verify() {
  if (getDpsInits().empty())
    return emitOpError("expected at least one of the outputs y, sum and rstd");
  NormVerifier verifier(*this, getRowRank(), "x", getX());
  if (failed(verifyForward(*this, verifier)))
    return failure();
  return verifier.verifyBuffers();
}

MutableOperandRange LayerNormBwdOp::getDpsInitsMutable() {
  return getTrailingOperands(
      getOperation(),
      countPresent({getDx(), getDresidual(), getDgamma(), getDbeta()}));
}

LogicalResult LayerNormBwdOp::verify() {
  if (getDpsInits().empty())
    return emitOpError("expected at least one of the outputs dx, dresidual, "
                       "dgamma and dbeta");
  FailureOr<std::pair<StringRef, Value>> input = getInput(*this);
  if (failed(input))
    return failure();
  if (getX() && getBeta())
    return emitOpError("expected beta only with y, the output that it is in");
  if (getX() && bool(getMean()) != bool(getRstd()))
    return emitOpError("expected mean and rstd together, or neither for "
                       "statistics that are computed again");
  if (getY() && getMean())
    return emitOpError("expected no mean with y, which is centred already");
  NormVerifier verifier(*this, getRowRank(), input->first, input->second);
  if (failed(verifyBackward(*this, verifier)) ||
      failed(verifier.verifyColumn("beta", getBeta())) ||
      failed(verifier.verifyColumn("dbeta", getDbeta(), getAccumulate())) ||
      failed(verifier.verifyStatistic("mean", getMean())))
    return failure();
  return verifier.verifyBuffers();
}

MutableOperandRange RmsNormBwdOp::getDpsInitsMutable() {
  return getTrailingOperands(
      getOperation(), countPresent({getDx(), getDresidual(), getDgamma()}));
}

LogicalResult RmsNormBwdOp::verify() {
  if (getDpsInits().empty())
    return emitOpError("expected at least one of the outputs dx, dresidual and "
                       "dgamma");
  FailureOr<std::pair<StringRef, Value>> input = getInput(*this);
  if (failed(input))
    return failure();
  NormVerifier verifier(*this, getRowRank(), input->first, input->second);
  if (failed(verifyBackward(*this, verifier)))
    return failure();
  return verifier.verifyBuffers();
}

void LayerNormOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffects(*this, effects);
}

void RmsNormOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffects(*this, effects);
}

void LayerNormBwdOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffects(*this, effects, getAccumulate());
}

void RmsNormBwdOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffects(*this, effects, getAccumulate());
}

//===----------------------------------------------------------------------===//
// RowwiseOp
//===----------------------------------------------------------------------===//

MutableOperandRange RowwiseOp::getDpsInitsMutable() {
  return getTrailingOperands(getOperation(), getRowOuts().size() +
                                                 getScalarOuts().size() +
                                                 getAllSums().size());
}

void RowwiseOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffects(*this, effects, getAccumulate());
}

Value RowwiseOp::getRowBlock() {
  return getRows().empty() ? getRowOuts().front() : getRows().front();
}

std::optional<int64_t> lnbwd::getStaticRowCount(ShapedType type,
                                                int64_t rowRank) {
  int64_t count = 1;
  for (int64_t size : type.getShape().drop_back(size_t(rowRank)))
    if (ShapedType::isDynamic(size) || llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

std::optional<int64_t> RowwiseOp::getStaticRowCount() {
  return lnbwd::getStaticRowCount(cast<ShapedType>(getRowBlock().getType()),
                                  getRowRank());
}

int64_t RowwiseOp::getRowLength() {
  auto shape = cast<ShapedType>(getRowBlock().getType()).getShape();
  return ShapedType::getNumElements(shape.take_back(size_t(getRowRank())));
}

int64_t RowwiseOp::getRowStride(unsigned index) {
  auto type = cast<ShapedType>(getOperand(index).getType());
  return getStaticRowStride(type, getRowRank()).value_or(getRowLength());
}

std::string RowwiseOp::getOperandName(unsigned index) {
  if (std::optional<ArrayAttr> names = getOperandNames())
    return cast<StringAttr>((*names)[index]).str();
  return "operand" + std::to_string(index);
}

Value RowwiseOp::getYielded(unsigned index) {
  return cast<YieldOp>(getBody().front().getTerminator()).getValues()[index];
}

OperandRange RowwiseOp::getAllColumns() {
  return getOperation()->getOperands().slice(
      getRows().size(), getColumns().size() + getGroupColumns().size());
}

OperandRange RowwiseOp::getAllSums() {
  return getOperation()->getOperands().take_back(getColumnSums().size() +
                                                 getGroupSums().size());
}

Value RowwiseOp::getGroupOperand() {
  for (OperandRange range : {getGroupColumns(), getGroupSums()})
    if (!range.empty())
      return range.front();
  return {};
}

std::optional<int64_t> RowwiseOp::getStaticGroupCount() {
  if (!getGroupOperand())
    return 1;
  for (OperandRange range : {getGroupColumns(), getGroupSums()})
    for (Value value : range)
      if (auto type = cast<ShapedType>(value.getType()); !type.isDynamicDim(0))
        return type.getDimSize(0);
  return std::nullopt;
}

std::optional<int64_t> RowwiseOp::getStaticGroupRows() {
  std::optional<int64_t> rows = getStaticRowCount();
  std::optional<int64_t> groups = getStaticGroupCount();
  if (!rows || !groups)
    return std::nullopt;
  return *groups == 0 ? 0 : *rows / *groups;
}

bool RowwiseOp::hasPartialSums() {
  auto rankIsAbove = [](int64_t rank) {
    return [rank](Value value) {
      return cast<ShapedType>(value.getType()).getRank() > rank;
    };
  };
  auto rowRank = int64_t(getRowRank());
  return llvm::any_of(getColumnSums(), rankIsAbove(rowRank)) ||
         llvm::any_of(getGroupSums(), rankIsAbove(rowRank + 1));
}

Value lnbwd::getSummedRow(Operation *op) {
  if (auto sum = dyn_cast<vector::ReductionOp>(op))
    if ((sum.getKind() == vector::CombiningKind::ADD ||
         sum.getKind() == vector::CombiningKind::MAXIMUMF) &&
        !sum.getAcc() && sum.getDest().getType().isF32())
      return sum.getVector();
  if (auto element = dyn_cast<vector::ExtractOp>(op)) {
    VectorType row = element.getSourceVectorType();
    if (row.getShape() == ArrayRef<int64_t>{1} &&
        row.getElementType().isF32() &&
        element.getStaticPosition() == ArrayRef<int64_t>{0})
      return element.getSource();
  }
  return {};
}

bool lnbwd::isRowMaximum(Operation *op) {
  auto reduction = dyn_cast<vector::ReductionOp>(op);
  return reduction && reduction.getKind() == vector::CombiningKind::MAXIMUMF;
}

bool RowwiseOp::hasRowSums() {
  return llvm::any_of(getBody().front(),
                      [](Operation &op) { return bool(getSummedRow(&op)); });
}

unsigned RowwiseOp::getRowElementBits() {
  unsigned bits = 0;
  for (ValueRange values : {ValueRange(getRows()), ValueRange(getRowOuts())})
    for (Value value : values)
      bits = std::max(
          bits, cast<ShapedType>(value.getType()).getElementTypeBitWidth());
  return bits;
}

void RowwiseOp::getAsmBlockArgumentNames(Region &region,
                                         OpAsmSetValueNameFn setName) {
  if (region.empty() || !getOperandNames())
    return;
  for (BlockArgument arg : region.getArguments())
    if (arg.getArgNumber() < getOperandNames()->size())
      setName(arg, getOperandName(arg.getArgNumber()));
}

/// The groups of rows: the shapes of group columns, and that all operands agree
/// on a number of groups that divides the number of rows.
static LogicalResult verifyGroups(RowwiseOp op, ArrayRef<int64_t> rowShape) {
  SmallVector<int64_t> shape{ShapedType::kDynamic};
  llvm::append_range(shape, rowShape);
  for (Value value : op.getGroupColumns()) {
    auto type = cast<ShapedType>(value.getType());
    if (failed(verifyShape(op, "a group column", type, shape, op.getRowRank(),
                           "one row for each group of rows")) ||
        failed(verifyRowElement(op, "a group column", type)))
      return failure();
  }
  std::optional<int64_t> groups;
  for (OperandRange range : {op.getGroupColumns(), op.getGroupSums()})
    for (Value value : range) {
      auto type = cast<ShapedType>(value.getType());
      if (type.getRank() == 0 || type.isDynamicDim(0))
        continue;
      int64_t count = type.getDimSize(0);
      if (groups && *groups != count)
        return op.emitOpError("expected all group columns and group sums to "
                              "have the same number of groups, got ")
               << *groups << " and " << count;
      groups = count;
    }
  std::optional<int64_t> rows = op.getStaticRowCount();
  if (groups && rows && (*groups == 0 ? *rows != 0 : *rows % *groups != 0))
    return op.emitOpError("expected the number of rows to be a multiple of the "
                          "number of groups, ")
           << *groups << ", got " << *rows
           << " rows; all groups have the same number of rows";
  return success();
}

/// Column sums and group sums: their shapes and elements, and that all are
/// partial or none.
static LogicalResult verifySums(RowwiseOp op, ArrayRef<int64_t> rowShape) {
  int64_t rowRank = op.getRowRank();
  // What tells partial sums, and how many dimensions more they have.
  std::optional<bool> partial;
  auto verify = [&](Value value, int64_t leading, StringRef name,
                    StringRef rows) -> LogicalResult {
    auto type = cast<ShapedType>(value.getType());
    bool isPartial = type.getRank() == rowRank + leading + 1;
    SmallVector<int64_t> shape(size_t(leading + isPartial),
                               ShapedType::kDynamic);
    llvm::append_range(shape, rowShape);
    std::string what = (isPartial ? "a partial " : "a ") + name.str();
    std::string why = rows.str();
    if (isPartial)
      why = "one row for each workgroup" +
            std::string(leading ? " of each group" : "");
    if (failed(verifyShape(op, what, type, shape, rowRank, why)))
      return failure();
    if (isPartial && !type.getElementType().isF32())
      return op.emitOpError("expected partial ")
             << name << "s to be f32, got " << type;
    if (!isPartial && failed(verifyRowElement(op, what, type)))
      return failure();
    if (op.getAccumulate() && !type.getElementType().isF32())
      return op.emitOpError("expected ")
             << name << "s that accumulate to be f32, got " << type;
    if (partial && *partial != isPartial)
      return op.emitOpError("expected all column sums and group sums to be "
                            "partial or none");
    partial = isPartial;
    return success();
  };
  for (Value value : op.getColumnSums())
    if (failed(verify(value, 0, "column sum", "one row")))
      return failure();
  for (Value value : op.getGroupSums())
    if (failed(verify(value, 1, "group sum", "one row for each group of rows")))
      return failure();
  if (op.getAccumulate() && (!partial || *partial))
    return op.emitOpError("expected column sums or group sums, and none "
                          "partial, to accumulate into");
  return success();
}

LogicalResult RowwiseOp::verify() {
  if (getRows().empty() && getRowOuts().empty())
    return emitOpError("expected at least one row block, read or written: it "
                       "gives the number of rows");
  if (getDpsInits().empty())
    return emitOpError("expected at least one output");

  int64_t rowRank = getRowRank();
  auto first = cast<ShapedType>(getRowBlock().getType());
  if (failed(verifyRowBlock(*this, "the first row block", first, rowRank,
                            verifyRowElementOrByte)))
    return failure();
  ArrayRef<int64_t> rowShape = first.getShape().take_back(size_t(rowRank));
  SmallVector<Value> rowBlocks;
  for (ValueRange values : {ValueRange(getRows()), ValueRange(getRowOuts())})
    for (Value value : values) {
      auto type = cast<ShapedType>(value.getType());
      if (failed(verifyShape(*this, "a row block", type, first.getShape(),
                             rowRank, "that of the first row block")) ||
          failed(verifyRowBlock(*this, "a row block", type, rowRank,
                                verifyRowElementOrByte)))
        return failure();
      rowBlocks.push_back(value);
    }
  for (Value value : getColumns()) {
    auto type = cast<ShapedType>(value.getType());
    if (failed(verifyShape(*this, "a column operand", type, rowShape, rowRank,
                           "one row")) ||
        failed(verifyRowElement(*this, "a column operand", type)))
      return failure();
  }
  for (ValueRange values :
       {ValueRange(getScalars()), ValueRange(getScalarOuts())})
    for (Value value : values) {
      auto type = cast<ShapedType>(value.getType());
      if (failed(verifyShape(*this, "a row scalar", type,
                             first.getShape().drop_back(size_t(rowRank)), 0,
                             "the leading dimensions of the row blocks")) ||
          failed(verifyRowElement(*this, "a row scalar", type)))
        return failure();
    }
  if (failed(verifyGroups(*this, rowShape)) ||
      failed(verifySums(*this, rowShape)))
    return failure();
  auto fixed = int64_t(getFixedWorkgroups());
  if (fixed < 0 || fixed > std::numeric_limits<int32_t>::max())
    return emitOpError("expected fixed_workgroups from 0 to ")
           << std::numeric_limits<int32_t>::max() << ", got " << fixed;
  if (std::optional<ArrayAttr> names = getOperandNames())
    if (names->size() != getNumOperands())
      return emitOpError("expected operand_names to name ")
             << getNumOperands() << " operands, got " << names->size();
  if (failed(verifyOptionNames(*this)) ||
      failed(verifyTensorsOrMemRefs(*this)) ||
      failed(verifyDistinctOutputs(*this)))
    return failure();
  return verifyLayouts(*this, rowRank, rowBlocks);
}

LogicalResult RowwiseOp::verifyRegions() {
  Block &block = getBody().front();
  int64_t length = getRowLength();
  auto rowOf = [&](Value value) -> Type {
    return VectorType::get({length}, getElementTypeOrSelf(value.getType()));
  };

  SmallVector<Type> arguments;
  for (Value value : getRows())
    arguments.push_back(rowOf(value));
  for (Value value : getAllColumns())
    arguments.push_back(rowOf(value));
  for (Value value : getScalars())
    arguments.push_back(getElementTypeOrSelf(value.getType()));
  if (block.getNumArguments() != arguments.size())
    return emitOpError("expected the region to have ")
           << arguments.size() << " arguments, one for each input, got "
           << block.getNumArguments();
  for (auto [index, expected] : llvm::enumerate(arguments))
    if (block.getArgument(index).getType() != expected)
      return emitOpError("expected argument ")
             << index << " of the region to be " << expected << ", got "
             << block.getArgument(index).getType();

  SmallVector<Type> outputs;
  for (Value value : getRowOuts())
    outputs.push_back(rowOf(value));
  for (Value value : getScalarOuts())
    outputs.push_back(getElementTypeOrSelf(value.getType()));
  for (size_t i = 0; i < getAllSums().size(); ++i)
    outputs.push_back(
        VectorType::get({length}, Float32Type::get(getContext())));
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getValues().size() != outputs.size())
    return yield.emitOpError("expected ")
           << outputs.size() << " values, one for each output, got "
           << yield.getValues().size();
  for (auto [index, expected] : llvm::enumerate(outputs))
    if (yield.getValues()[index].getType() != expected)
      return yield.emitOpError("expected value ")
             << index << " to be " << expected << ", got "
             << yield.getValues()[index].getType();
  return success();
}

//===----------------------------------------------------------------------===//
// GroupCountOp
//===----------------------------------------------------------------------===//

LogicalResult GroupCountOp::verify() {
  auto type = cast<ShapedType>(getSource().getType());
  if (type.getRank() < 2)
    return emitOpError(
               "expected a group column or group sum, of two dimensions "
               "or more, got ")
           << type;
  return success();
}
