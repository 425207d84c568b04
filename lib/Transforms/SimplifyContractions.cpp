//===- SimplifyContractions.cpp - Parameters need no pass over rows -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is the same in all rows leaves the sums over the rows, and what is
// multiplied by a matrix changes sides. A row program with matrices becomes up
// to three: one over the rows of a matrix before it, which multiplies columns,
// the program itself, and one over the rows of a matrix after it, which makes
// the gradients of the parameters of a few sums over all rows.
// docs/layer-norm-linear.md derives each rewrite.
//
//===----------------------------------------------------------------------===//

#include "ContractionTerms.h"
#include "RowForms.h"
#include "RowPrograms.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Dialect/LNBwd/IR/ProgramOperands.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/CSE.h"

namespace lnbwd {
#define GEN_PASS_DEF_SIMPLIFYCONTRACTIONSPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// The one product with a matrix among `factors`, taken out of them; null if
/// there is none or several.
static LinearOp takeProduct(Factors &factors) {
  LinearOp product;
  for (Value row : factors.rows)
    if (auto linear = row.getDefiningOp<LinearOp>()) {
      if (product)
        return {};
      product = linear;
    }
  if (product)
    llvm::erase(factors.rows, product.getResult());
  return product;
}

static Value scaleBy(RowBuilder &rows, Value row, double coefficient) {
  return coefficient == 1
             ? row
             : rows.mul(row, rows.spread(rows.constant(coefficient)));
}

/// sum(W^T u * c) is sum(u * W c), where c is the same in all rows: W c is
/// computed once, and the sum is known before the product.
static unsigned moveSumsBeforeProducts(RowwiseOp op) {
  ContractionTerms terms(op);
  IRRewriter rewriter(op.getContext());
  unsigned count = 0;
  for (auto sum : llvm::make_early_inc_range(
           op.getBody().front().getOps<vector::ReductionOp>())) {
    Value row = getRowOfSum(sum);
    Factors factors = row ? terms.getFactors(row) : Factors();
    LinearOp product = takeProduct(factors);
    if (!product || !factors.rows.empty() ||
        terms.isInvariant(product.getRow()))
      continue;
    Location loc = sum.getLoc();
    rewriter.setInsertionPoint(sum);
    RowBuilder rows(rewriter, loc, product.getType().getDimSize(0));
    Value column;
    for (Value factor : factors.invariants)
      column = column ? rows.mul(column, factor) : factor;
    if (!column)
      column = rows.spread(rows.constant(1));
    Value moved = LinearOp::create(rewriter, loc, column, product.getMatrix(),
                                   !product.getTransposed());
    Value result = rows.rowSum(rows.mul(rows.widen(product.getRow()), moved));
    for (Value scalar : factors.scalars)
      result = rows.mul(result, scalar);
    if (factors.coefficient != 1)
      result = rows.mul(result, rows.constant(factors.coefficient));
    rewriter.replaceOp(sum, result);
    ++count;
  }
  return count;
}

namespace {
/// A sum over the rows that the program is to leave: of u times scalars (a
/// column sum), or of the outer product of u and a row (an outer sum).
struct NewSum {
  Value u;
  Factors row;
  /// That row, where the program has it as a value.
  Value known;
  /// Where it is, [R] or [R, C], of float32.
  Value buffer;
  std::string name;

  bool isOuter() const { return !row.rows.empty(); }
};

/// A term of a parameter's gradient: such a sum times what is invariant.
struct ParameterTerm {
  unsigned sum;
  Factors factors;
};

/// An output that becomes one of the program over the rows of a matrix.
struct ParameterOutput {
  /// Among the program's outputs.
  unsigned output;
  /// The matrix that its terms are multiplied by, element by element, and
  /// summed over its rows; null where the output is a matrix itself.
  Value matrix;
  SmallVector<ParameterTerm> terms;
  /// [R, C].
  VectorType shape;
};

/// Takes one row program apart.
class ParameterSplitter {
public:
  explicit ParameterSplitter(RowwiseOp op)
      : op(op), terms(op), b(op), loc(op.getLoc()) {}

  /// Finds what leaves the program; whether there is anything.
  bool analyse();
  /// Replaces the program.
  void split();

  unsigned countHoisted() const { return unsigned(products.size()); }
  unsigned countOutputs() const { return unsigned(parameters.size()); }

private:
  void analyseOuterSum(unsigned output);
  void analyseColumnSum(unsigned output);
  bool canHoist(LinearOp product);
  Value findRow(const Factors &row);
  std::optional<unsigned> findSum(Value u, const Factors &row);
  /// The sum of `u` and `row`.
  unsigned getSum(Value u, const Factors &row);

  void hoist(LinearOp product, unsigned index);
  void writeProgram();
  void writeParameters(VectorType shape);
  Value writeTerm(OpBuilder &body, const ParameterTerm &term, Value matrix,
                  VectorType row, ArrayRef<Value> sumValues,
                  IRMapping &mapping);

  /// The columns that `value`, an invariant one, depends on become operands.
  void addColumns(
      Value value, ProgramOperands &operands,
      SmallVectorImpl<std::pair<Value, ProgramOperands::Place>> &columns);
  Value getYielded(unsigned output) { return op.getYielded(output); }
  Value getOutputBuffer(unsigned output) {
    return op.getOperand(op.getNumDpsInputs() + output);
  }
  std::string getOutputName(unsigned output) {
    return op.getOperandName(op.getNumDpsInputs() + output);
  }
  Value allocate(ArrayRef<int64_t> shape) {
    Value buffer =
        memref::AllocOp::create(b, loc, MemRefType::get(shape, b.getF32Type()));
    allocations.push_back(buffer);
    return buffer;
  }

  RowwiseOp op;
  ContractionTerms terms;
  OpBuilder b;
  Location loc;
  SmallVector<NewSum, 2> sums;
  SmallVector<ParameterOutput> parameters;
  /// Products of columns with a matrix, and where their values are put.
  SmallVector<std::pair<LinearOp, Value>> products;
  SmallVector<Value> allocations;
};
} // namespace

Value ParameterSplitter::findRow(const Factors &row) {
  for (auto product : op.getBody().front().getOps<arith::MulFOp>()) {
    if (!isRow(product.getType()))
      continue;
    Factors factors = terms.getFactors(product.getResult());
    if (factors.invariants.empty() && factors.coefficient == 1 &&
        factors.hasSameRow(row))
      return product.getResult();
  }
  return {};
}

std::optional<unsigned> ParameterSplitter::findSum(Value u,
                                                   const Factors &row) {
  for (auto [index, sum] : llvm::enumerate(sums))
    if (sum.u == u && sum.row.hasSameRow(row))
      return unsigned(index);
  return std::nullopt;
}

unsigned ParameterSplitter::getSum(Value u, const Factors &row) {
  if (std::optional<unsigned> known = findSum(u, row))
    return *known;
  NewSum sum{u, row, findRow(row), Value(), std::string()};
  sum.row.invariants.clear();
  sum.row.coefficient = 1;
  sums.push_back(sum);
  return unsigned(sums.size()) - 1;
}

/// Whether both rows of an outer product are of one narrow type: it is a
/// product of matrices of that type. T would either be one of float32, which
/// costs more, or round r, which column sums of the program have in float32.
static bool isNarrow(vector::OuterProductOp outer) {
  Type type = getElementTypeOrSelf(getNarrow(outer.getLhs()).getType());
  Type other = getElementTypeOrSelf(getNarrow(outer.getRhs()).getType());
  return type == other && !type.isF32();
}

/// Sum of u (x) (r c + d) is T diag(c) + s (x) d, with T the sum of u (x) r and
/// s that of u; not of rows that the program rounds.
void ParameterSplitter::analyseOuterSum(unsigned output) {
  SmallVector<Value> pending{getYielded(output)};
  SmallVector<std::pair<Value, Factors>> found;
  bool hasInvariants = false;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (isa_and_nonnull<arith::AddFOp>(op)) {
      pending.append({op->getOperand(1), op->getOperand(0)});
      continue;
    }
    auto outer = dyn_cast_or_null<vector::OuterProductOp>(op);
    if (!outer || outer.getAcc() || isNarrow(outer))
      return;
    for (const Factors &term : terms.getTerms(outer.getRhs())) {
      found.emplace_back(getNarrow(outer.getLhs()), term);
      hasInvariants |= !term.invariants.empty() || term.isInvariant();
    }
  }
  if (!hasInvariants)
    return;
  ParameterOutput parameter{
      output, Value(), {}, cast<VectorType>(getYielded(output).getType())};
  for (auto &[u, term] : found)
    parameter.terms.push_back({getSum(u, term), term});
  parameters.push_back(parameter);
}

/// The sum over the rows of (W^T u) r c is the sum over o of W[o,:] T[o,:] c,
/// where T, the sum of u (x) r, is there; without r, W[o,:] s[o] c.
void ParameterSplitter::analyseColumnSum(unsigned output) {
  Factors factors = terms.getFactors(getYielded(output));
  LinearOp product = takeProduct(factors);
  if (!product || !product.getTransposed())
    return;
  Value u = getNarrow(product.getRow());
  if (!factors.rows.empty() && !findSum(u, factors))
    return;
  parameters.push_back({output,
                        product.getMatrix(),
                        {{getSum(u, factors), factors}},
                        product.getMatrix().getType()});
}

/// Columns that are multiplied by a transposed matrix are row scalars of the
/// program that does it, so they must be operands as they are.
bool ParameterSplitter::canHoist(LinearOp product) {
  return terms.isInvariant(product.getRow()) &&
         (!product.getTransposed() ||
          isa<BlockArgument>(getNarrow(product.getRow())));
}

bool ParameterSplitter::analyse() {
  for (auto product : op.getBody().front().getOps<LinearOp>())
    if (canHoist(product))
      products.emplace_back(product, Value());
  if (op.getAccumulate())
    return !products.empty();
  unsigned numOutputs = unsigned(op.getNumDpsInits());
  unsigned firstOuter = numOutputs - unsigned(op.getOuterSums().size());
  unsigned firstColumn =
      unsigned(op.getRowOuts().size() + op.getScalarOuts().size());
  for (unsigned i = firstOuter; i < numOutputs; ++i)
    analyseOuterSum(i);
  for (unsigned i = 0; i < op.getColumnSums().size(); ++i)
    analyseColumnSum(firstColumn + i);
  return !products.empty() || !parameters.empty();
}

void ParameterSplitter::addColumns(
    Value value, ProgramOperands &operands,
    SmallVectorImpl<std::pair<Value, ProgramOperands::Place>> &columns) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned number = argument.getArgNumber();
    columns.emplace_back(
        argument, operands.addInput(op.getOperand(number), /*hasRows=*/false,
                                    op.getOperandName(number)));
    return;
  }
  for (Value operand : value.getDefiningOp()->getOperands())
    addColumns(operand, operands, columns);
}

/// A program over the rows of the matrix: W c is a row sum for each, W^T c the
/// sum of all of them times a scalar.
void ParameterSplitter::hoist(LinearOp product, unsigned index) {
  using P = ProgramOperands;
  P operands;
  auto matrix = cast<BlockArgument>(product.getMatrix());
  P::Place weight =
      operands.addInput(op.getOperand(matrix.getArgNumber()), /*hasRows=*/true,
                        op.getOperandName(matrix.getArgNumber()));
  Value buffer = allocate(product.getType().getShape());
  std::string name = "product_" + std::to_string(index);
  Value row = product.getRow(), column = getNarrow(row);
  bool isTransposed = product.getTransposed();
  SmallVector<std::pair<Value, P::Place>> columns;
  P::Place scalar{};
  if (isTransposed) {
    unsigned number = cast<BlockArgument>(column).getArgNumber();
    scalar = operands.addInput(op.getOperand(number), /*hasRows=*/true,
                               op.getOperandName(number));
  } else {
    addColumns(row, operands, columns);
  }
  P::Place output = operands.addOutput(buffer, /*hasRows=*/!isTransposed, name);
  RowwiseOp program = operands.create(
      b, loc, (op.getEntry() + "_product_" + Twine(index)).str());
  setOwnRows(program);
  OpBuilder body = OpBuilder::atBlockEnd(&program.getBody().front());
  RowBuilder rows(body, loc, product.getMatrix().getType().getDimSize(1));
  Value weights = rows.widen(operands.getArgument(weight));
  Value result;
  if (isTransposed) {
    Value factor = rows.widen(operands.getArgument(scalar));
    result = rows.mul(weights, rows.spread(factor));
  } else {
    IRMapping mapping;
    for (auto [value, place] : columns)
      mapping.map(value, operands.getArgument(place));
    Value factor = rows.widen(copySlice(body, row, mapping));
    result = rows.rowSum(rows.mul(weights, factor));
  }
  operands.setResult(output, result);
  operands.yield(body, loc);
  products[index].second = buffer;
}

/// The program without the outputs that left it, with the sums that they need.
void ParameterSplitter::writeProgram() {
  SmallVector<PlacedValue> columns, outputs;
  for (auto [index, entry] : llvm::enumerate(products))
    columns.push_back({entry.first.getResult(), entry.second,
                       "product_" + std::to_string(index), /*hasRows=*/false});
  auto numInputs = unsigned(op.getNumDpsInputs());
  for (unsigned i = 0; i < unsigned(op.getNumDpsInits()); ++i)
    if (llvm::none_of(parameters, [&](const ParameterOutput &parameter) {
          return parameter.output == i;
        }))
      outputs.push_back({getYielded(i), getOutputBuffer(i), getOutputName(i),
                         op.getMap(numInputs + i).isFunctionOfDim(0)});
  OpBuilder body(op.getBody().front().getTerminator());
  for (auto [index, sum] : llvm::enumerate(sums)) {
    SmallVector<int64_t> shape{cast<VectorType>(sum.u.getType()).getDimSize(0)};
    if (sum.isOuter())
      shape.push_back(
          cast<VectorType>(sum.row.rows.front().getType()).getDimSize(0));
    sum.buffer = allocate(shape);
    sum.name =
        (sum.isOuter() ? "outer_sum_" : "column_sum_") + std::to_string(index);
    RowBuilder rows(body, loc, shape.back());
    Value result = rows.widen(sum.u);
    if (sum.isOuter()) {
      Value v = sum.known ? sum.known : buildRowPart(rows, sum.row);
      auto type = VectorType::get(shape, b.getF32Type());
      result =
          vector::OuterProductOp::create(body, loc, type, result, v, Value());
    } else if (Value scale = buildRowPart(rows, sum.row)) {
      result = rows.mul(result, scale);
    }
    outputs.push_back({result, sum.buffer, sum.name, /*hasRows=*/false});
  }
  lnbwd::writeProgram(b, op, op.getEntry(), columns, outputs,
                      op.getRowLength());
}

/// One term for one row of the matrices: an outer sum's row, or a column sum's
/// element, times what is invariant, and the matrix' row.
Value ParameterSplitter::writeTerm(OpBuilder &body, const ParameterTerm &term,
                                   Value matrix, VectorType row,
                                   ArrayRef<Value> sumValues,
                                   IRMapping &mapping) {
  RowBuilder rows(body, loc, row.getDimSize(0));
  Value value = sumValues[term.sum];
  if (!isa<VectorType>(value.getType()))
    value = rows.spread(value);
  for (Value factor : term.factors.invariants)
    value = rows.mul(value, rows.widen(copySlice(body, factor, mapping)));
  value = scaleBy(rows, value, term.factors.coefficient);
  return matrix ? rows.mul(matrix, value) : value;
}

/// The program over the rows of all matrices of one shape.
void ParameterSplitter::writeParameters(VectorType shape) {
  using P = ProgramOperands;
  P operands;
  SmallVector<std::optional<P::Place>> sumPlaces(sums.size());
  SmallVector<std::pair<Value, P::Place>> columns, matrices;
  SmallVector<std::pair<const ParameterOutput *, P::Place>> outputs;
  for (const ParameterOutput &parameter : parameters) {
    if (parameter.shape.getShape() != shape.getShape())
      continue;
    for (const ParameterTerm &term : parameter.terms) {
      const NewSum &sum = sums[term.sum];
      sumPlaces[term.sum] =
          operands.addInput(sum.buffer, /*hasRows=*/true, sum.name);
      for (Value factor : term.factors.invariants)
        addColumns(factor, operands, columns);
    }
    if (parameter.matrix) {
      unsigned number = cast<BlockArgument>(parameter.matrix).getArgNumber();
      matrices.emplace_back(parameter.matrix,
                            operands.addInput(op.getOperand(number),
                                              /*hasRows=*/true,
                                              op.getOperandName(number)));
    }
    outputs.emplace_back(&parameter,
                         operands.addOutput(getOutputBuffer(parameter.output),
                                            /*hasRows=*/!parameter.matrix,
                                            getOutputName(parameter.output)));
  }
  RowwiseOp program =
      operands.create(b, loc, (op.getEntry() + "_parameters").str());
  setOwnRows(program);
  OpBuilder body = OpBuilder::atBlockEnd(&program.getBody().front());
  auto row = VectorType::get({shape.getDimSize(1)}, b.getF32Type());
  RowBuilder rows(body, loc, row.getDimSize(0));
  IRMapping mapping;
  for (auto [value, place] : columns)
    mapping.map(value, operands.getArgument(place));
  for (auto [value, place] : matrices)
    mapping.map(value, operands.getArgument(place));
  SmallVector<Value> sumValues(sums.size());
  for (auto [value, place] : llvm::zip_equal(sumValues, sumPlaces))
    if (place)
      value = operands.getArgument(*place);

  for (auto [parameter, place] : outputs) {
    Value matrix;
    if (parameter->matrix)
      matrix = rows.widen(mapping.lookup(parameter->matrix));
    Value total;
    for (const ParameterTerm &term : parameter->terms) {
      Value value = writeTerm(body, term, matrix, row, sumValues, mapping);
      total = total ? rows.add(total, value) : value;
    }
    Type element =
        getElementTypeOrSelf(getOutputBuffer(parameter->output).getType());
    if (!matrix && !element.isF32())
      total = arith::TruncFOp::create(body, loc, row.clone(element), total);
    operands.setResult(place, total);
  }
  operands.yield(body, loc);
}

void ParameterSplitter::split() {
  for (unsigned i = 0; i < products.size(); ++i)
    hoist(products[i].first, i);
  writeProgram();
  SmallVector<VectorType> shapes;
  for (const ParameterOutput &parameter : parameters)
    if (llvm::none_of(shapes, [&](VectorType known) {
          return known.getShape() == parameter.shape.getShape();
        }))
      shapes.push_back(parameter.shape);
  for (VectorType shape : shapes)
    writeParameters(shape);
  for (Value allocation : allocations)
    memref::DeallocOp::create(b, loc, allocation);
  op.erase();
}

namespace {
class SimplifyContractions
    : public lnbwd::impl::SimplifyContractionsPassBase<SimplifyContractions> {
public:
  using SimplifyContractionsPassBase::SimplifyContractionsPassBase;

  void runOnOperation() override {
    FailureOr<SmallVector<RowwiseOp>> programs =
        getProgramsWithContractions(getOperation());
    if (failed(programs))
      return signalPassFailure();
    for (RowwiseOp op : *programs) {
      numMoved += moveSumsBeforeProducts(op);
      ParameterSplitter splitter(op);
      if (!splitter.analyse())
        continue;
      numHoisted += splitter.countHoisted();
      numParameters += splitter.countOutputs();
      splitter.split();
    }
    if (programs->empty())
      return;
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
    if (failed(dropUnneeded(getOperation(), /*inProducts=*/true)))
      signalPassFailure();
  }
};
} // namespace
