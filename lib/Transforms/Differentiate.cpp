//===- Differentiate.cpp - The gradient of a row program ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient's region begins as a copy of the forward one, followed by the
// adjoints. While it is simplified it still yields the forward outputs: what is
// known of a saved value (that it is the mean, say) is known from how it was
// computed. At last the saved values take the place of their computations, and
// what only those needed goes.
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"
#include "DerivativeRules.h"
#include "NamedOperations.h"
#include "ProgramOperands.h"
#include "RowAlgebra.h"
#include "RowPrograms.h"
#include "SavedProducts.h"
#include "StableExponentials.h"
#include "lnbwd/LaunchPlan/ArgumentRoles.h"

#include "lnbwd/Dialect/LNBwd/IR/RowBuilder.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringExtras.h"

namespace lnbwd {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// Whether `operand` is a mask, which has no gradient.
static bool holdsBytes(Value operand) {
  return getElementTypeOrSelf(operand.getType()).isInteger(8);
}

namespace {

/// The operands of the gradient, in order, each an argument of its function.
class GradientOperands : public OperandGroups {
public:
  /// Adds an operand named `name`, of the type of `like`, as a memref.
  unsigned add(Group group, const Twine &name, Value like) {
    auto type = cast<ShapedType>(like.getType());
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref)
      memref = MemRefType::get(type.getShape(), type.getElementType());
    groups[group].push_back({name.str(), memref});
    return unsigned(groups[group].size()) - 1;
  }
  unsigned size(Group group) const { return unsigned(groups[group].size()); }
  /// The place of an operand among all.
  unsigned place(Group group, unsigned index) const {
    for (unsigned g = 0; g < group; ++g)
      index += size(Group(g));
    return index;
  }
  SmallVector<Type> types() const {
    SmallVector<Type> result;
    for (const auto &group : groups)
      for (const auto &entry : group)
        result.push_back(entry.second);
    return result;
  }
  SmallVector<StringRef> names() const {
    SmallVector<StringRef> result;
    for (const auto &group : groups)
      for (const auto &entry : group)
        result.push_back(entry.first);
    return result;
  }

private:
  SmallVector<std::pair<std::string, MemRefType>> groups[groupCount];
};

class Differentiate : public lnbwd::impl::DifferentiatePassBase<Differentiate> {
public:
  using DifferentiatePassBase::DifferentiatePassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    DifferentiatePassBase::getDependentDialects(registry);
    registerDerivativeRules(registry);
  }
  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  LogicalResult differentiate(func::FuncOp function);
  LogicalResult checkNames(RowwiseOp op);
  LogicalResult checkSeeds(RowwiseOp op);
  LogicalResult fillGradient(RowwiseOp forward, RowwiseOp gradient);
  LogicalResult useSavedValues(RowwiseOp forward, RowwiseOp gradient);
  SmallVector<Value> getSavedRows(RowwiseOp forward, RowwiseOp gradient);

  void simplifyProgram(RowwiseOp op) const {
    if (simplify)
      simplifier.normalize(op);
    else
      simplifier.canonicalize(op);
  }
  LogicalResult checkShared(RowwiseOp op);
  bool isWanted(RowwiseOp op, unsigned input) {
    return wrt.empty() ? !holdsBytes(op.getOperand(input))
                       : llvm::is_contained(wrt, op.getOperandName(input));
  }
  /// Whether output `index` is handed to the gradient.
  bool isSaved(RowwiseOp op, unsigned index) {
    if (saved.empty())
      return savesStatistics && index >= op.getRowOuts().size();
    return llvm::is_contained(saved,
                              op.getOperandName(op.getNumDpsInputs() + index));
  }
  /// Whether a loss may depend on output `index`. If the options do not say so,
  /// a row output that is saved is an output all the same, and a row scalar
  /// that is saved was put out to be saved.
  bool hasAdjoint(RowwiseOp op, unsigned index) {
    if (!of.empty())
      return llvm::is_contained(
          of, op.getOperandName(op.getNumDpsInputs() + index));
    return index < op.getRowOuts().size() || !isSaved(op, index);
  }
  unsigned countAdjointRows(RowwiseOp op) {
    unsigned count = 0;
    for (unsigned i = 0; i < op.getRowOuts().size(); ++i)
      count += hasAdjoint(op, i);
    return count;
  }

  /// Whether the row scalars of the program at hand are the statistics of a
  /// named operation, or of a function that says it computes one, which are
  /// saved unless the options say otherwise.
  bool savesStatistics = false;
  /// Of named operations; of the gradient's program.
  FrozenRewritePatternSet textbookLowerings, canonicalizations;
  RowSimplifier simplifier;
};

} // namespace

/// The names that the options may use.
static void listNames(InFlightDiagnostic &diag, RowwiseOp op, unsigned begin,
                      unsigned end) {
  for (unsigned i = begin; i < end; ++i)
    diag << (i == begin ? "" : ", ") << op.getOperandName(i);
}

LogicalResult Differentiate::checkNames(RowwiseOp op) {
  unsigned numInputs = op.getNumDpsInputs();
  auto check = [&](StringRef option, ArrayRef<std::string> names,
                   unsigned begin, unsigned end, bool mayBeNone) {
    for (const std::string &name : names) {
      bool known = mayBeNone && name == "none";
      for (unsigned i = begin; i < end; ++i)
        known |= op.getOperandName(i) == name;
      if (known)
        continue;
      InFlightDiagnostic diag = op.emitOpError("expected the option ")
                                << option << " to name some of ";
      listNames(diag, op, begin, end);
      return LogicalResult(diag << ", got '" << name << "'");
    }
    return success();
  };
  if (failed(check("wrt", wrt, 0, numInputs, false)) ||
      failed(check("of", of, numInputs, op->getNumOperands(), false)) ||
      failed(check("saved", saved, numInputs, op->getNumOperands(), true)))
    return failure();
  if (saved.size() > 1 && llvm::is_contained(saved, "none"))
    return op.emitOpError("expected the option saved to be 'none' alone or "
                          "names of outputs, got both");
  return success();
}

/// A gradient of nothing would be 0 whatever the program computes.
LogicalResult Differentiate::checkSeeds(RowwiseOp op) {
  unsigned numOutputs = unsigned(op.getNumDpsInits());
  for (unsigned i = 0; i < numOutputs; ++i)
    if (hasAdjoint(op, i))
      return success();
  InFlightDiagnostic diag =
      op.emitOpError("expected an output that the loss depends on, but all (");
  listNames(diag, op, op.getNumDpsInputs(), op->getNumOperands());
  diag << ") are row scalars that are saved, which have no adjoint; ";
  if (numOutputs == 1)
    return diag << "write saved=none";
  return diag << "write saved=none, or name in saved those that the loss does "
                 "not depend on";
}

/// Copies the forward region, seeds the outputs' adjoints, and yields those of
/// the inputs, then the forward outputs.
LogicalResult Differentiate::fillGradient(RowwiseOp forward,
                                          RowwiseOp gradient) {
  Block &from = forward.getBody().front();
  Block &to = gradient.getBody().front();
  OpBuilder b = OpBuilder::atBlockEnd(&to);
  Location loc = forward.getLoc();
  RowBuilder rows(b, loc, forward.getRowLength());

  // Block arguments of the gradient: adjoints, then the forward inputs, group
  // by group; see differentiate().
  unsigned numRowOuts = unsigned(forward.getRowOuts().size());
  unsigned numScalarOuts = unsigned(forward.getScalarOuts().size());
  unsigned numAdjointRows = countAdjointRows(forward);
  unsigned numAdjointScalars = 0;
  for (unsigned i = 0; i < numScalarOuts; ++i)
    numAdjointScalars += hasAdjoint(forward, numRowOuts + i);
  IRMapping mapping;
  unsigned next = numAdjointRows, source = 0;
  for (unsigned i = 0; i < forward.getRows().size(); ++i)
    mapping.map(from.getArgument(source++), to.getArgument(next++));
  next = unsigned(gradient.getRows().size());
  for (unsigned i = 0; i < forward.getAllColumns().size(); ++i)
    mapping.map(from.getArgument(source++), to.getArgument(next++));
  unsigned firstAdjointScalar = next;
  next += numAdjointScalars;
  for (unsigned i = 0; i < forward.getScalars().size(); ++i)
    mapping.map(from.getArgument(source++), to.getArgument(next++));
  // Saved scalars are between these and the matrices.
  next = to.getNumArguments() - unsigned(forward.getMatrices().size());
  for (unsigned i = 0; i < forward.getMatrices().size(); ++i)
    mapping.map(from.getArgument(source++), to.getArgument(next++));

  for (Operation &op : from)
    b.clone(op, mapping);
  SmallVector<Value> wanted;
  for (unsigned i = 0; i < forward.getNumDpsInputs(); ++i)
    if (isWanted(forward, i))
      wanted.push_back(mapping.lookup<Value>(from.getArgument(i)));

  stabiliseExponentials(to, findActiveValues(to, wanted));
  SmallVector<Operation *> operations;
  for (Operation &op : to.without_terminator())
    operations.push_back(&op);
  Operation *yield = to.getTerminator();
  SmallVector<Value> outputs(yield->getOperands());
  yield->erase();

  Adjoints adjoints(b, to, wanted, annotate);
  unsigned adjointRow = 0, adjointScalar = firstAdjointScalar;
  for (auto [i, output] : llvm::enumerate(outputs)) {
    if (!hasAdjoint(forward, unsigned(i)))
      continue;
    unsigned &place = i < numRowOuts ? adjointRow : adjointScalar;
    adjoints.add(output, rows.widen(to.getArgument(place++)));
  }
  if (failed(adjoints.propagate(operations)))
    return failure();

  // Outputs: rows, scalars and columns of which gradients are wanted; between
  // them the forward outputs.
  SmallVector<Value> results;
  auto addGradients = [&](OperandRange range, bool isSum) {
    for (unsigned i = 0; i < range.size(); ++i) {
      unsigned input = range.getBeginOperandIndex() + i;
      if (!isWanted(forward, input))
        continue;
      Value argument = mapping.lookup<Value>(from.getArgument(input));
      Value adjoint = adjoints.get(argument);
      Type element = getElementTypeOrSelf(argument.getType());
      if (!isSum && !element.isF32())
        adjoint = arith::TruncFOp::create(b, loc, argument.getType(), adjoint);
      results.push_back(adjoint);
    }
  };
  if (!forward.getRows().empty())
    addGradients(forward.getRows(), false);
  llvm::append_range(results, ArrayRef(outputs).take_front(numRowOuts));
  if (!forward.getScalars().empty())
    addGradients(forward.getScalars(), false);
  llvm::append_range(results, ArrayRef(outputs).drop_front(numRowOuts));
  if (!forward.getAllColumns().empty())
    addGradients(forward.getAllColumns(), true);
  if (!forward.getMatrices().empty())
    addGradients(forward.getMatrices(), true);
  YieldOp::create(b, loc, results);
  return success();
}

/// What the gradient's region computes of saved row outputs, before it is
/// rounded to their type.
SmallVector<Value> Differentiate::getSavedRows(RowwiseOp forward,
                                               RowwiseOp gradient) {
  unsigned numRowOuts = unsigned(forward.getRowOuts().size());
  unsigned first = unsigned(gradient.getRowOuts().size()) - numRowOuts;
  SmallVector<Value> rows;
  for (unsigned i = 0; i < numRowOuts; ++i) {
    if (!isSaved(forward, i))
      continue;
    Value value = gradient.getYielded(first + i);
    if (auto narrow = value.getDefiningOp<arith::TruncFOp>())
      value = narrow.getIn();
    if (value.getDefiningOp())
      rows.push_back(value);
  }
  return rows;
}

/// Puts the arguments that hold saved values in the place of the values.
LogicalResult Differentiate::useSavedValues(RowwiseOp forward,
                                            RowwiseOp gradient) {
  Block &body = gradient.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  OpBuilder b = OpBuilder::atBlockBegin(&body);
  unsigned numRowOuts = unsigned(forward.getRowOuts().size());
  unsigned numOuts = numRowOuts + unsigned(forward.getScalarOuts().size());
  // Saved rows follow the forward rows; saved scalars end the scalars.
  unsigned savedRow =
      countAdjointRows(forward) + unsigned(forward.getRows().size());
  unsigned savedScalar =
      body.getNumArguments() - unsigned(gradient.getMatrices().size());
  for (unsigned i = numRowOuts; i < numOuts; ++i)
    savedScalar -= isSaved(forward, i);
  // Where forward outputs stand among the yielded values.
  unsigned firstRow = unsigned(gradient.getRowOuts().size()) - numRowOuts;
  unsigned firstScalar =
      unsigned(gradient.getRowOuts().size() + gradient.getScalarOuts().size()) -
      unsigned(forward.getScalarOuts().size());
  for (unsigned i = 0; i < numOuts; ++i) {
    if (!isSaved(forward, i))
      continue;
    bool isRow = i < numRowOuts;
    Value argument = body.getArgument(isRow ? savedRow++ : savedScalar++);
    Value value =
        yield.getValues()[isRow ? firstRow + i : firstScalar + i - numRowOuts];
    if (auto narrow = value.getDefiningOp<arith::TruncFOp>()) {
      value = narrow.getIn();
      argument =
          arith::ExtFOp::create(b, forward.getLoc(), value.getType(), argument);
    }
    if (isa<BlockArgument>(value) || matchPattern(value, m_Constant()))
      continue;
    value.replaceAllUsesWith(argument);
  }
  return success();
}

/// The named operation of which the derived function is a form, if there is
/// one: the gradient of a normalisation without a residual (x is the sum then),
/// of its row output, with all statistics saved or none.
static NamedOperationAttr describeGradient(func::FuncOp function,
                                           NamedOperationAttr forward,
                                           RowwiseOp gradient) {
  if (!forward)
    return {};
  std::optional<NamedOperation> counterpart =
      getInfo(forward.getOperation()).counterpart;
  if (!counterpart)
    return {};
  const NamedOperationInfo &info = getInfo(*counterpart);
  std::array<bool, kRoleCount> isThere{};
  for (OpOperand &operand : gradient->getOpOperands()) {
    std::optional<Role> role =
        findRole(gradient.getOperandName(operand.getOperandNumber()));
    if (!role || !info.find(*role, gradient.isDpsInit(&operand)))
      return {};
    isThere[size_t(*role)] = true;
  }
  auto has = [&](Role role) { return isThere[size_t(role)]; };
  for (const OperandInfo &operand : info)
    if (!operand.isOptional && !has(operand.role))
      return {};
  bool isSaved = has(Role::Rstd);
  if (!has(Role::X) || has(Role::Y) || has(Role::Dsum) ||
      (info.hasMean() && isSaved != has(Role::Mean)))
    return {};
  return NamedOperationAttr::get(function.getContext(), *counterpart,
                                 isSaved ? FloatAttr() : forward.getEpsilon(),
                                 forward.getZeroCentredGamma());
}

/// Bytes that are put out would have to come back as an adjoint, and those that
/// come in have none.
static LogicalResult checkBytes(RowwiseOp op, ArrayRef<std::string> wrt) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!holdsBytes(operand.get()))
      continue;
    std::string name = op.getOperandName(operand.getOperandNumber());
    if (op.isDpsInit(&operand))
      return op.emitOpError("expected row outputs of f16, bf16 or f32 in a "
                            "program that is differentiated, got ")
             << name << " of i8; leave the mask to a program of its own";
    if (llvm::is_contained(wrt, name))
      return op.emitOpError("expected the option wrt to name inputs of f16, "
                            "bf16 or f32, got ")
             << name << " of i8, which has no gradient";
  }
  return success();
}

/// What several groups of rows share, or all rows a number, would have a sum
/// for its gradient that no row program has.
LogicalResult Differentiate::checkShared(RowwiseOp op) {
  for (unsigned i = 0; i < op.getNumDpsInputs(); ++i) {
    bool isShared = op.getAccess(i) == RowwiseOp::Access::Row ||
                    op.getAccess(i) == RowwiseOp::Access::Scalar;
    if (isShared && !op.variesWithGroup(i) && isWanted(op, i))
      return op.emitOpError("expected the option wrt to name inputs that have "
                            "all row dimensions, or columns, got ")
             << op.getOperandName(i) << " with "
             << AffineMapAttr::get(op.getMap(i))
             << "; name others, or repeat it for all rows";
  }
  return success();
}

LogicalResult Differentiate::differentiate(func::FuncOp function) {
  // What is derived from a named operation has a name as well.
  NamedOperationAttr named = describeNamedOperation(function);
  // Named operations first, in the form that textbooks have.
  walkAndApplyPatterns(function, textbookLowerings);
  SmallVector<RowwiseOp> programs;
  function.walk([&](RowwiseOp op) { programs.push_back(op); });
  if (programs.empty())
    return success();
  if (programs.size() > 1)
    return programs[1].emitOpError("expected one forward operation in a "
                                   "function that is differentiated");
  RowwiseOp forward = programs.front();
  if (failed(checkBytes(forward, wrt)) || failed(checkShared(forward)))
    return failure();
  if (!forward.getAllSums().empty() || !forward.getOuterSums().empty())
    return forward.emitOpError("expected no column sums, group sums or outer "
                               "sums in a program that is differentiated");
  savesStatistics = named || function->hasAttr(operationAttr);
  if (failed(checkNames(forward)) || failed(checkSeeds(forward)))
    return failure();

  using G = GradientOperands;
  G operands;
  unsigned numInputs = forward.getNumDpsInputs();
  auto nameOf = [&](OperandRange range, unsigned i) {
    return forward.getOperandName(range.getBeginOperandIndex() + i);
  };
  auto addAll = [&](G::Group group, OperandRange range, StringRef prefix,
                    function_ref<bool(unsigned)> isThere) {
    for (unsigned i = 0; i < range.size(); ++i)
      if (isThere(range.getBeginOperandIndex() + i))
        operands.add(group, prefix + nameOf(range, i), range[i]);
  };
  auto always = [](unsigned) { return true; };
  auto saves = [&](unsigned operand) {
    return isSaved(forward, operand - numInputs);
  };
  auto seeds = [&](unsigned operand) {
    return hasAdjoint(forward, operand - numInputs);
  };
  auto wants = [&](unsigned operand) { return isWanted(forward, operand); };
  addAll(G::Rows, forward.getRowOuts(), "d", seeds);
  addAll(G::Rows, forward.getRows(), "", always);
  addAll(G::Rows, forward.getRowOuts(), "", saves);
  addAll(G::Columns, forward.getColumns(), "", always);
  addAll(G::GroupColumns, forward.getGroupColumns(), "", always);
  addAll(G::Scalars, forward.getScalarOuts(), "d", seeds);
  addAll(G::Scalars, forward.getScalars(), "", always);
  addAll(G::Scalars, forward.getScalarOuts(), "", saves);
  addAll(G::Matrices, forward.getMatrices(), "", always);
  addAll(G::RowOuts, forward.getRows(), "d", wants);
  addAll(G::RowOuts, forward.getRowOuts(), "forward ", always);
  addAll(G::ScalarOuts, forward.getScalars(), "d", wants);
  addAll(G::ScalarOuts, forward.getScalarOuts(), "forward ", always);
  addAll(G::ColumnSums, forward.getColumns(), "d", wants);
  addAll(G::GroupSums, forward.getGroupColumns(), "d", wants);
  addAll(G::OuterSums, forward.getMatrices(), "d", wants);

  IRRewriter rewriter(&getContext());
  rewriter.setInsertionPointAfter(function);
  Location loc = function.getLoc();
  auto backward =
      func::FuncOp::create(rewriter, loc, (function.getName() + "_bwd").str(),
                           rewriter.getFunctionType(operands.types(), {}));
  Block *entry = backward.addEntryBlock();
  rewriter.setInsertionPointToEnd(entry);
  ValueRange arguments = entry->getArguments();
  auto take = [&](G::Group group) {
    return arguments.slice(operands.place(group, 0), operands.size(group));
  };
  auto gradient = RowwiseOp::create(
      rewriter, forward.getLoc(), TypeRange(),
      (forward.getEntry() + "_bwd").str(), take(G::Rows), take(G::Columns),
      take(G::GroupColumns), take(G::Scalars), take(G::Matrices),
      take(G::RowOuts), take(G::ScalarOuts), take(G::ColumnSums),
      take(G::GroupSums), take(G::OuterSums),
      rewriter.getStrArrayAttr(operands.names()), ScheduleAttr(),
      forward.getRowRank(), /*accumulate=*/false);
  func::ReturnOp::create(rewriter, loc);
  {
    OpBuilder::InsertionGuard guard(rewriter);
    Block *body = rewriter.createBlock(&gradient.getBody());
    for (unsigned i = 0; i < gradient.getNumDpsInputs(); ++i)
      body->addArgument(gradient.getRegionType(i),
                        gradient.getOperand(i).getLoc());
    if (failed(fillGradient(forward, gradient)))
      return failure();
  }
  if (!annotate) {
    simplifyProgram(gradient);
    if (simplify && forward.hasContractions())
      useSavedProducts(gradient, getSavedRows(forward, gradient));
  }
  if (failed(useSavedValues(forward, gradient)))
    return failure();

  // The forward outputs have served.
  llvm::BitVector keep(gradient.getNumDpsInits(), true);
  unsigned numRowOuts = operands.size(G::RowOuts);
  for (unsigned i = 0; i < forward.getRowOuts().size(); ++i)
    keep.reset(numRowOuts - 1 - i);
  for (unsigned i = 0; i < forward.getScalarOuts().size(); ++i)
    keep.reset(numRowOuts + operands.size(G::ScalarOuts) - 1 - i);
  rewriter.setInsertionPoint(gradient);
  RowwiseOp final = cloneWithOperands(
      rewriter, gradient, llvm::BitVector(gradient.getNumDpsInputs(), true),
      keep);
  rewriter.eraseOp(gradient);
  if (!annotate)
    simplifyProgram(final);
  (void)applyPatternsGreedily(backward, canonicalizations);

  llvm::BitVector unused(backward.getNumArguments());
  for (BlockArgument argument : backward.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  (void)backward.eraseArguments(unused);
  backward.walk([&](RowwiseOp op) {
    if (NamedOperationAttr described = describeGradient(function, named, op))
      backward->setAttr(operationAttr, described);
  });
  ++numDifferentiated;
  function.erase();
  return success();
}

LogicalResult Differentiate::initialize(MLIRContext *context) {
  RewritePatternSet textbook(context);
  populateLowerToRowwisePatterns(textbook, /*textbook=*/true);
  textbookLowerings = std::move(textbook);
  canonicalizations = getCanonicalizations<RowwiseOp>(context);
  simplifier = RowSimplifier(context);
  return success();
}

void Differentiate::runOnOperation() {
  for (auto function :
       llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
    if (failed(differentiate(function)))
      return signalPassFailure();
}
