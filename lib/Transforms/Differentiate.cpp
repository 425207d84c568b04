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
#include "RowAlgebra.h"
#include "RowForms.h"
#include "RowPrograms.h"
#include "StableExponentials.h"

#include "lnbwd/Dialect/LNBwd/IR/ProgramOperands.h"
#include "lnbwd/Dialect/LNBwd/IR/RowBuilder.h"
#include "lnbwd/Dialect/LNBwd/IR/RowLayout.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringExtras.h"

namespace lnbwd {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// The gradient
//===----------------------------------------------------------------------===//

/// Whether the gradient of input `index` is a sum that no row program has: over
/// some row dimensions alone, or over columns.
static bool isSplitSum(RowwiseOp op, unsigned index) {
  using RowDims = RowwiseOp::RowDims;
  bool isScalar = op.getAccess(index) == RowwiseOp::Access::Scalar;
  AffineMap map = op.getMap(index);
  if (map.getNumResults() ==
      (isScalar ? unsigned(op.getNumRowDims()) : map.getNumDims()))
    return false;
  RowDims rows = op.getRowDims(index);
  return rows == RowDims::WithinGroup || rows == RowDims::Some ||
         !op.getPlace(index).isPlain();
}

namespace {
/// The dimensions that a gradient has: from `first` to before `last` of the
/// domain, of `all` that its terms have.
struct KeptDims {
  unsigned first, last, all;
};
} // namespace

/// Those of input `index`, if its sum can be split: what comes after them is
/// summed first, then what is before.
static std::optional<KeptDims> findKeptDims(RowwiseOp op, unsigned index) {
  AffineMap map = op.getMap(index);
  auto numRows = unsigned(op.getNumRowDims());
  if (map.getNumResults() == 0 || op.hasContractions() || op.isStrided(index))
    return std::nullopt;
  KeptDims kept{map.getDimPosition(0), 0,
                op.countColumnDims(index) ? map.getNumDims() : numRows};
  kept.last = map.getDimPosition(map.getNumResults() - 1) + 1;
  SmallVector<int64_t> sizes = op.getDimSizes();
  bool isNeighbouring = kept.last - kept.first == map.getNumResults();
  if (kept.first == 0 || !isNeighbouring ||
      llvm::is_contained(ArrayRef(sizes).drop_front(kept.first),
                         ShapedType::kDynamic))
    return std::nullopt;
  return kept;
}

/// Whether operand `index` has no gradient: a mask, integers, or a table.
static bool isConstant(RowwiseOp op, unsigned index) {
  return isa<IntegerType>(getElementTypeOrSelf(op.getOperand(index))) ||
         op.getAccess(index) == RowwiseOp::Access::Table;
}

namespace {

/// The operands of the gradient: what each is to the forward program.
struct GradientOperands {
  using Place = ProgramOperands::Place;
  ProgramOperands all;
  /// The forward inputs, and the gradients of those of which one is wanted.
  SmallVector<Place> inputs;
  SmallVector<std::optional<Place>> gradients;
  /// Of each forward output its adjoint, the saved value, and the output
  /// itself, which goes in the end.
  SmallVector<std::optional<Place>> adjoints, saved;
  SmallVector<Place> outputs;
  /// Of each maximum over rows with an adjoint how many elements it is, which
  /// one program writes and the other reads.
  SmallVector<std::optional<std::pair<Place, Place>>> ties;
};

class Differentiate : public lnbwd::impl::DifferentiatePassBase<Differentiate> {
public:
  using DifferentiatePassBase::DifferentiatePassBase;

  void runOnOperation() override;

private:
  LogicalResult differentiate(func::FuncOp function);
  LogicalResult checkNames(RowwiseOp op);
  LogicalResult checkSeeds(RowwiseOp op);
  GradientOperands makeOperands(RowwiseOp forward);
  LogicalResult fillGradient(RowwiseOp forward, RowwiseOp gradient,
                             GradientOperands &operands);

  void simplifyProgram(RowwiseOp op) const {
    if (simplify)
      simplifier.normalize(op);
    else
      simplifier.canonicalize(op);
  }
  LogicalResult checkShared(RowwiseOp op);
  bool isWanted(RowwiseOp op, unsigned input) {
    return wrt.empty() ? !isConstant(op, input)
                       : llvm::is_contained(wrt, op.getOperandName(input));
  }
  /// Whether output `index` is handed to the gradient.
  bool isSaved(RowwiseOp op, unsigned index) {
    unsigned operand = op.getNumDpsInputs() + index;
    if (op.getReduction(operand) != Reduction::None)
      return hasTies(op, index);
    if (saved.empty())
      return savesStatistics && index >= op.getRowOuts().size();
    return llvm::is_contained(saved, op.getOperandName(operand));
  }
  /// Whether a loss may depend on output `index`, which masks and other
  /// integers are not. If the options do not say so, a row output that is saved
  /// is an output all the same, and a row scalar that is saved was put out to
  /// be saved.
  bool hasAdjoint(RowwiseOp op, unsigned index) {
    if (isConstant(op, op.getNumDpsInputs() + index))
      return false;
    if (!of.empty())
      return llvm::is_contained(
          of, op.getOperandName(op.getNumDpsInputs() + index));
    return index < op.getRowOuts().size() ||
           op.getReduction(op.getNumDpsInputs() + index) != Reduction::None ||
           !isSaved(op, index);
  }
  /// Whether output `index` is the largest over rows, of which the gradient
  /// finds the elements again.
  bool hasTies(RowwiseOp op, unsigned index) {
    return op.getReduction(op.getNumDpsInputs() + index) ==
               Reduction::Maximum &&
           hasAdjoint(op, index);
  }

  /// Whether the row scalars of the program at hand are the statistics of a
  /// named operation, or of a function that says it computes one, which are
  /// saved unless the options say otherwise.
  bool savesStatistics = false;
  /// Of named operations.
  FrozenRewritePatternSet textbookLowerings;
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
  for (unsigned i = numInputs; i < op->getNumOperands(); ++i)
    if (op.getReduction(i) == Reduction::Add &&
        llvm::is_contained(saved, op.getOperandName(i)))
      return op.emitOpError("expected the option saved to name outputs of all "
                            "rows, got ")
             << op.getOperandName(i) << ", a sum over rows";
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
  diag << ") are integers, or row scalars that are saved, which have no "
          "adjoint; ";
  if (numOutputs == 1)
    return diag << "write saved=none";
  return diag << "write saved=none, or name in saved those that the loss does "
                 "not depend on";
}

/// The map of the first `count` dimensions of the domain of `like`.
static AffineMap getFirstDims(unsigned count, AffineMap like) {
  return AffineMap::getMultiDimIdentityMap(like.getNumDims(), like.getContext())
      .getMajorSubMap(count);
}

GradientOperands Differentiate::makeOperands(RowwiseOp forward) {
  SmallVector<int64_t> sizes = forward.getDimSizes();
  GradientOperands operands{ProgramOperands(unsigned(forward.getNumRowDims())),
                            {},
                            {},
                            {},
                            {},
                            {},
                            {}};
  auto add = [&](unsigned index, bool isOutput, const Twine &prefix) {
    auto type = cast<ShapedType>(forward.getOperand(index).getType());
    if (!isa<MemRefType>(type))
      type = MemRefType::get(type.getShape(), type.getElementType());
    return operands.all.add(isOutput, type, forward.getMap(index),
                            (prefix + forward.getOperandName(index)).str());
  };
  auto addIf = [&](bool isThere, unsigned index, bool isOutput,
                   StringRef prefix) -> std::optional<GradientOperands::Place> {
    if (!isThere)
      return std::nullopt;
    return add(index, isOutput, prefix);
  };
  auto numInputs = unsigned(forward.getNumDpsInputs());
  auto numOutputs = unsigned(forward.getNumDpsInits());
  for (unsigned i = 0; i < numOutputs; ++i)
    operands.adjoints.push_back(
        addIf(hasAdjoint(forward, i), numInputs + i, false, "d"));
  for (unsigned i = 0; i < numInputs; ++i)
    operands.inputs.push_back(add(i, false, ""));
  for (unsigned i = 0; i < numOutputs; ++i)
    operands.saved.push_back(
        addIf(isSaved(forward, i), numInputs + i, false, ""));
  for (unsigned i = 0; i < numInputs; ++i) {
    if (!isWanted(forward, i) || !isSplitSum(forward, i)) {
      operands.gradients.push_back(addIf(isWanted(forward, i), i, true, "d"));
      continue;
    }
    // The terms of the sum, for now.
    unsigned all = findKeptDims(forward, i)->all;
    auto type = MemRefType::get(ArrayRef(sizes).take_front(all),
                                Float32Type::get(forward.getContext()));
    operands.gradients.push_back(
        operands.all.add(true, type, getFirstDims(all, forward.getMap(i)),
                         "d" + forward.getOperandName(i)));
  }
  for (unsigned i = 0; i < numOutputs; ++i) {
    operands.outputs.push_back(add(numInputs + i, true, "forward "));
    operands.ties.emplace_back();
    if (!hasTies(forward, i))
      continue;
    auto type = cast<ShapedType>(forward.getOperand(numInputs + i).getType());
    auto addCount = [&](bool isOutput) {
      return operands.all.add(
          isOutput,
          MemRefType::get(type.getShape(), Float32Type::get(type.getContext())),
          forward.getMap(numInputs + i),
          forward.getOperandName(numInputs + i) + "_ties");
    };
    operands.ties.back() = {addCount(false), addCount(true)};
  }
  return operands;
}

/// Copies the forward region, seeds the outputs' adjoints, and yields those of
/// the inputs, and the forward outputs.
LogicalResult Differentiate::fillGradient(RowwiseOp forward, RowwiseOp gradient,
                                          GradientOperands &operands) {
  Block &from = forward.getBody().front();
  Block &to = gradient.getBody().front();
  OpBuilder b = OpBuilder::atBlockEnd(&to);
  Location loc = forward.getLoc();
  RowBuilder rows(b, loc, forward.getRowLength());

  IRMapping mapping;
  for (auto [argument, place] :
       llvm::zip_equal(from.getArguments(), operands.inputs))
    mapping.map(argument, operands.all.getArgument(place));
  for (Operation &op : from)
    b.clone(op, mapping);
  SmallVector<Value> wanted;
  for (auto [argument, place] :
       llvm::zip_equal(from.getArguments(), operands.gradients))
    if (place)
      wanted.push_back(mapping.lookup<Value>(argument));

  stabiliseExponentials(to, findActiveValues(to, wanted));
  SmallVector<Operation *> operations;
  for (Operation &op : to.without_terminator())
    operations.push_back(&op);
  Operation *yield = to.getTerminator();
  SmallVector<Value> outputs(yield->getOperands());
  yield->erase();

  Adjoints adjoints(b, to, wanted);
  for (auto [output, place, saved, ties] : llvm::zip_equal(
           outputs, operands.adjoints, operands.saved, operands.ties)) {
    if (!place)
      continue;
    Value adjoint = rows.widen(operands.all.getArgument(*place));
    if (ties) {
      // The elements that are the largest share its adjoint evenly, those of
      // all rows one by one. Of a NaN there are none, and 0 / 0 is NaN again.
      Operation *producer = output.getDefiningOp();
      bool isOfRow = producer && isRowMaximum(producer);
      if (isOfRow)
        output = producer->getOperand(0);
      auto spread = [&](Value number) {
        return isOfRow ? rows.spread(number) : number;
      };
      Value largest = operands.all.getArgument(*saved), value = output;
      Type element = getElementTypeOrSelf(largest.getType());
      if (!element.isF32())
        value = rows.widen(arith::TruncFOp::create(
            b, loc,
            output.getType().isF32()
                ? element
                : Type(cast<VectorType>(output.getType()).clone(element)),
            value));
      Value isLargest =
          arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, value,
                                spread(rows.widen(largest)));
      Value shares =
          arith::UIToFPOp::create(b, loc, output.getType(), isLargest);
      operands.all.setResult(ties->second,
                             isOfRow ? rows.rowSum(shares) : shares);
      Value share = arith::DivFOp::create(
          b, loc, adjoint, operands.all.getArgument(ties->first));
      adjoint = arith::MulFOp::create(b, loc, shares, spread(share));
    }
    adjoints.add(output, adjoint);
  }
  if (failed(adjoints.propagate(operations)))
    return failure();

  for (auto [argument, place] :
       llvm::zip_equal(from.getArguments(), operands.gradients)) {
    if (!place)
      continue;
    Value adjoint = adjoints.get(mapping.lookup<Value>(argument));
    // Sums are rounded once all rows are in them.
    Type type = gradient.getRegionType(unsigned(gradient.getNumDpsInputs()) +
                                       operands.all.getOutput(*place));
    if (adjoint.getType() != type)
      adjoint = arith::TruncFOp::create(b, loc, type, adjoint);
    operands.all.setResult(*place, adjoint);
  }
  for (auto [output, place] : llvm::zip_equal(outputs, operands.outputs))
    operands.all.setResult(place, output);
  operands.all.yield(b, loc);
  return success();
}

/// Puts the arguments that hold saved values in the place of the values.
static void useSavedValues(RowwiseOp gradient, GradientOperands &operands) {
  OpBuilder b = OpBuilder::atBlockBegin(&gradient.getBody().front());
  for (auto [saved, output, ties] :
       llvm::zip_equal(operands.saved, operands.outputs, operands.ties)) {
    if (!saved || ties)
      continue;
    Value argument = operands.all.getArgument(*saved);
    Value value = gradient.getYielded(operands.all.getOutput(output));
    if (auto narrow = value.getDefiningOp<arith::TruncFOp>()) {
      value = narrow.getIn();
      argument = arith::ExtFOp::create(b, gradient.getLoc(), value.getType(),
                                       argument);
    }
    if (!isa<BlockArgument>(value) && !matchPattern(value, m_Constant()))
      value.replaceAllUsesWith(argument);
  }
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

/// Constants that come in have no gradient.
static LogicalResult checkConstants(RowwiseOp op, ArrayRef<std::string> wrt) {
  for (unsigned index = 0; index < op.getNumDpsInputs(); ++index) {
    std::string name = op.getOperandName(index);
    if (!isConstant(op, index) || !llvm::is_contained(wrt, name))
      continue;
    InFlightDiagnostic diag = op.emitOpError(
        "expected the option wrt to name inputs of f16, bf16 or f32, got ");
    if (op.getAccess(index) == RowwiseOp::Access::Table)
      return diag << name
                  << ", a table, whose gradient is a scatter that no "
                     "row program has";
    return diag << name << " of " << getElementTypeOrSelf(op.getOperand(index))
                << ", which has no gradient";
  }
  return success();
}

/// Whether a value is the same in each program that computes it: it is not
/// rounded, or in one way. (Products and sums may be fused, sums ordered.)
static bool isSameElsewhere(Value value, bool mayRound = true) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return true;
  if (isa<arith::MulFOp, arith::AddFOp, arith::SubFOp>(op)) {
    if (!std::exchange(mayRound, false))
      return false;
  } else if (!isa<arith::ConstantOp, arith::ExtFOp, arith::TruncFOp,
                  arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp,
                  arith::SelectOp, arith::CmpFOp, math::AbsFOp,
                  vector::BroadcastOp>(op) &&
             !isRowMaximum(op)) {
    return false;
  }
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return isSameElsewhere(operand, mayRound);
  });
}

/// What several groups of rows share, or all rows a number, has a sum for its
/// gradient that not every program has.
LogicalResult Differentiate::checkShared(RowwiseOp op) {
  for (unsigned i = 0; i < op.getNumDpsInputs(); ++i) {
    if (isSplitSum(op, i) && isWanted(op, i) && !findKeptDims(op, i))
      return op.emitOpError("expected the option wrt to name inputs that have "
                            "all row dimensions, columns, or neighbouring "
                            "dimensions without the first, all static from "
                            "these on, in dense buffers in the order of the "
                            "domain; got ")
             << op.getOperandName(i) << " of " << op.getOperand(i).getType()
             << " with " << AffineMapAttr::get(op.getMap(i))
             << "; name others, or repeat it for all rows";
  }
  return success();
}

/// Adds, at the end of the function of `gradient`, the programs that sum up the
/// terms that it writes as `argument`, the gradient of input `index` of
/// `forward`: a sum over the dimensions after those that are kept, of rows of
/// these, and one over the dimensions before, of columns.
static LogicalResult splitSum(IRRewriter &rewriter, RowwiseOp forward,
                              unsigned index, RowwiseOp gradient,
                              BlockArgument argument) {
  KeptDims kept = *findKeptDims(forward, index);
  Location loc = gradient.getLoc();
  SmallVector<int64_t> sizes = forward.getDimSizes();
  auto numRows = unsigned(forward.getNumRowDims());
  auto count = [&](unsigned begin, unsigned end) {
    return begin < end ? ShapedType::getNumElements(
                             ArrayRef(sizes).slice(begin, end - begin))
                       : 1;
  };
  std::string name = "d" + forward.getOperandName(index);

  // A buffer of the first dimensions of the domain.
  auto allocate = [&](unsigned numDims) -> Value {
    SmallVector<Value> dynamic;
    for (unsigned dim = 0; dim < numDims; ++dim) {
      if (!ShapedType::isDynamic(sizes[dim]))
        continue;
      for (unsigned i = 0; i < gradient.getNumDpsInputs(); ++i)
        if (std::optional<unsigned> position =
                gradient.getMap(i).getResultPosition(
                    getAffineDimExpr(dim, gradient.getContext()))) {
          dynamic.push_back(memref::DimOp::create(
              rewriter, loc, gradient.getOperand(i), int64_t(*position)));
          break;
        }
    }
    auto type = MemRefType::get(ArrayRef(sizes).take_front(numDims),
                                rewriter.getF32Type());
    if (dynamic.size() != size_t(type.getNumDynamicDims()))
      return {};
    auto alloc = memref::AllocOp::create(rewriter, loc, type, dynamic);
    alloc->setAttr(rowScalarAttr,
                   rewriter.getI64IntegerAttr(count(numRows, numDims)));
    return alloc;
  };
  // A program over `terms`, of which each row has the dimensions from `rank`
  // on, in one of the ways to sum.
  auto addProgram = [&](Value terms, unsigned rank, unsigned numDims, Value sum,
                        bool ofRows, StringRef suffix) {
    MLIRContext *context = rewriter.getContext();
    auto all = AffineMap::getMultiDimIdentityMap(numDims, context);
    ProgramOperands operands(rank);
    auto input = operands.addInput(terms, all, name + "_terms");
    auto output =
        operands.addOutput(sum,
                           ofRows ? all.getMajorSubMap(rank)
                                  : all.getMinorSubMap(numDims - kept.first),
                           name, ofRows ? Reduction::None : Reduction::Add);
    RowwiseOp program = operands.create(
        rewriter, loc, (forward.getEntry() + "_bwd_" + name + suffix).str());
    program->setAttr(rowRatioAttr,
                     rewriter.getDenseI64ArrayAttr(
                         {count(numRows, rank), count(rank, numRows)}));
    OpBuilder body = OpBuilder::atBlockEnd(&program.getBody().front());
    Value value = operands.getArgument(input);
    if (ofRows)
      value = vector::ReductionOp::create(body, loc, vector::CombiningKind::ADD,
                                          value);
    operands.setResult(output, value);
    operands.yield(body, loc);
  };

  rewriter.setInsertionPoint(gradient);
  SmallVector<Value> buffers{allocate(kept.all)};
  if (!buffers.front())
    return forward.emitOpError("expected the option wrt to name inputs that "
                               "the outputs depend on, got ")
           << forward.getOperandName(index);
  argument.replaceAllUsesWith(buffers.front());
  if (kept.last != kept.all)
    buffers.push_back(allocate(kept.last));
  rewriter.setInsertionPoint(gradient->getBlock()->getTerminator());
  if (kept.last != kept.all)
    addProgram(buffers[0], kept.last, kept.all, buffers[1], /*ofRows=*/true,
               "_rows");
  Block *entry = argument.getOwner();
  auto type = cast<ShapedType>(forward.getOperand(index).getType());
  Value sum = entry->insertArgument(
      argument.getArgNumber(),
      MemRefType::get(type.getShape(), type.getElementType()), loc);
  entry->eraseArgument(argument.getArgNumber());
  addProgram(buffers.back(), kept.first, kept.last, sum, /*ofRows=*/false, "");
  for (Value buffer : buffers)
    memref::DeallocOp::create(rewriter, loc, buffer);
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
  if (failed(checkConstants(forward, wrt)) || failed(checkShared(forward)))
    return failure();
  if (!forward.getOuterSums().empty())
    return forward.emitOpError("expected no outer sums in a program that is "
                               "differentiated");
  for (unsigned i = 0; i < unsigned(forward.getNumDpsInits()); ++i) {
    unsigned operand = forward.getNumDpsInputs() + i;
    if (hasTies(forward, i) &&
        (!cast<ShapedType>(forward.getOperand(operand).getType())
              .hasStaticShape() ||
         !isSameElsewhere(forward.getYielded(i))))
      return forward.emitOpError(
                 "expected maxima over rows, of a static number of groups, of "
                 "inputs or of one product or sum of them, whose elements the "
                 "gradient finds again, got ")
             << forward.getOperandName(operand)
             << "; write the rows, and take the maximum of these";
  }
  savesStatistics = named || function->hasAttr(operationAttr);
  if (failed(checkNames(forward)) || failed(checkSeeds(forward)))
    return failure();

  IRRewriter rewriter(&getContext());
  rewriter.setInsertionPointAfter(function);
  Location loc = function.getLoc();
  auto backward =
      func::FuncOp::create(rewriter, loc, (function.getName() + "_bwd").str(),
                           rewriter.getFunctionType({}, {}));
  Block *entry = backward.addEntryBlock();
  rewriter.setInsertionPointToEnd(entry);
  GradientOperands operands = makeOperands(forward);
  RowwiseOp gradient = operands.all.create(
      rewriter, forward.getLoc(), (forward.getEntry() + "_bwd").str(), {},
      [&](Type type) { return entry->addArgument(type, loc); });
  backward.setFunctionType(
      rewriter.getFunctionType(entry->getArgumentTypes(), {}));
  func::ReturnOp::create(rewriter, loc);
  if (failed(fillGradient(forward, gradient, operands)))
    return failure();
  simplifyProgram(gradient);
  useSavedValues(gradient, operands);

  // The forward outputs have served.
  llvm::BitVector keep(gradient.getNumDpsInits(), true);
  for (GradientOperands::Place place : operands.outputs)
    keep.reset(operands.all.getOutput(place));
  // What counts the largest elements goes first.
  llvm::BitVector counts(gradient.getNumDpsInits());
  SmallVector<Value> buffers;
  rewriter.setInsertionPoint(gradient);
  for (const auto &ties : operands.ties) {
    if (!ties)
      continue;
    unsigned output = operands.all.getOutput(ties->second);
    counts.set(output);
    Value read = gradient.getOperand(
        cast<BlockArgument>(operands.all.getArgument(ties->first))
            .getArgNumber());
    Value written = gradient.getOperand(gradient.getNumDpsInputs() + output);
    buffers.push_back(memref::AllocOp::create(
        rewriter, loc, cast<MemRefType>(read.getType())));
    read.replaceAllUsesWith(buffers.back());
    written.replaceAllUsesWith(buffers.back());
  }
  auto makeProgram = [&](const llvm::BitVector &outputs, StringRef suffix) {
    RowwiseOp program = cloneWithOperands(
        rewriter, gradient, llvm::BitVector(gradient.getNumDpsInputs(), true),
        outputs);
    program.setEntry((gradient.getEntry() + suffix).str());
    simplifyProgram(program);
  };
  if (counts.any())
    makeProgram(counts, "_ties");
  makeProgram(keep.reset(counts), "");
  rewriter.eraseOp(gradient);
  (void)dropUnneeded(backward);
  rewriter.setInsertionPoint(entry->getTerminator());
  for (Value buffer : buffers)
    memref::DeallocOp::create(rewriter, loc, buffer);
  SmallVector<RowwiseOp> gradients(entry->getOps<RowwiseOp>());
  for (unsigned i = 0; i < forward.getNumDpsInputs(); ++i) {
    if (!isWanted(forward, i) || !isSplitSum(forward, i))
      continue;
    RowwiseOp program = gradients.back();
    for (unsigned j = program.getNumDpsInputs(); j < program.getNumOperands();
         ++j)
      if (program.getOperandName(j) == "d" + forward.getOperandName(i) &&
          failed(splitSum(rewriter, forward, i, program,
                          cast<BlockArgument>(program.getOperand(j)))))
        return failure();
  }
  backward.setFunctionType(
      rewriter.getFunctionType(entry->getArgumentTypes(), {}));

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

void Differentiate::runOnOperation() {
  RewritePatternSet textbook(&getContext());
  populateLowerToRowwisePatterns(textbook, /*textbook=*/true);
  textbookLowerings = std::move(textbook);
  simplifier = RowSimplifier(&getContext());
  for (auto function :
       llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
    if (failed(differentiate(function)))
      return signalPassFailure();
}
