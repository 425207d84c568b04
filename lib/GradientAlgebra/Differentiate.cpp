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

#include "lnbwd/GradientAlgebra/Differentiate.h"
#include "Adjoints.h"
#include "StableExponentials.h"

#include "lnbwd/GradientAlgebra/Simplify.h"

#include "lnbwd/Dialect/LNBwd/IR/ProgramOperands.h"
#include "lnbwd/Dialect/LNBwd/IR/RowBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace lnbwd;

/// Whether operand `index` has no gradient: a mask, integers, or a table.
static bool isConstant(RowwiseOp op, unsigned index) {
  return isa<IntegerType>(getElementTypeOrSelf(op.getOperand(index))) ||
         op.getForm(index).getAccess() == Access::Table;
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
  /// What one program of the gradient writes and a later one reads.
  struct Carried {
    Place written, read;
  };
  /// Of a maximum over rows with an adjoint: how many elements it is; and where
  /// other programs may round the elements in another way, these and it.
  struct Ties {
    Carried counts;
    std::optional<Carried> elements, largest;
  };
  SmallVector<std::optional<Ties>> ties;
};

/// A program that is differentiated, and what the options say of its inputs and
/// outputs.
class Differentiation {
public:
  Differentiation(RowwiseOp forward, const GradientOptions &options)
      : forward(forward), options(options) {}

  GradientOperands makeOperands();
  LogicalResult fillGradient(RowwiseOp gradient, GradientOperands &operands);

  bool isWanted(unsigned input) {
    return options.wrt.empty()
               ? !isConstant(forward, input)
               : llvm::is_contained(options.wrt, forward.getOperandName(input));
  }
  /// Whether output `index` is handed to the gradient.
  bool isSaved(unsigned index) {
    unsigned operand = forward.getNumDpsInputs() + index;
    if (forward.getReduction(operand) != Reduction::None)
      return hasTies(index) && isSameElsewhere(forward.getYielded(index));
    if (options.saved.empty())
      return options.savesStatistics && index >= forward.getRowOuts().size();
    return llvm::is_contained(options.saved, forward.getOperandName(operand));
  }
  /// Whether a loss may depend on output `index`, which masks and other
  /// integers are not. If the options do not say so, a row output that is saved
  /// is an output all the same, and a row scalar that is saved was put out to
  /// be saved.
  bool hasAdjoint(unsigned index) {
    unsigned operand = forward.getNumDpsInputs() + index;
    if (isConstant(forward, operand))
      return false;
    if (!options.of.empty())
      return llvm::is_contained(options.of, forward.getOperandName(operand));
    return index < forward.getRowOuts().size() ||
           forward.getReduction(operand) != Reduction::None || !isSaved(index);
  }
  /// Whether output `index` is the largest over rows, of which the gradient
  /// finds the elements again: it is saved if these are the same there.
  bool hasTies(unsigned index) {
    return forward.getReduction(forward.getNumDpsInputs() + index) ==
               Reduction::Maximum &&
           hasAdjoint(index);
  }

  RowwiseOp forward;
  const GradientOptions &options;

private:
  std::pair<Value, Value>
  shareAmongLargest(OpBuilder &b, GradientOperands &operands, Value yielded,
                    Value adjoint, std::optional<GradientOperands::Place> saved,
                    const GradientOperands::Ties &ties);
};

} // namespace

/// The names that the options may use.
static void listNames(InFlightDiagnostic &diag, RowwiseOp forward,
                      unsigned begin, unsigned end) {
  for (unsigned i = begin; i < end; ++i)
    diag << (i == begin ? "" : ", ") << forward.getOperandName(i);
}

static LogicalResult checkNames(RowwiseOp forward,
                                const GradientOptions &options) {
  unsigned numInputs = forward.getNumDpsInputs();
  auto check = [&](StringRef option, ArrayRef<std::string> names,
                   unsigned begin, unsigned end, bool mayBeNone) {
    for (const std::string &name : names) {
      bool known = mayBeNone && name == "none";
      for (unsigned i = begin; i < end; ++i)
        known |= forward.getOperandName(i) == name;
      if (known)
        continue;
      InFlightDiagnostic diag = forward.emitOpError("expected the option ")
                                << option << " to name some of ";
      listNames(diag, forward, begin, end);
      return LogicalResult(diag << ", got '" << name << "'");
    }
    return success();
  };
  if (failed(check("wrt", options.wrt, 0, numInputs, false)) ||
      failed(check("of", options.of, numInputs, forward->getNumOperands(),
                   false)) ||
      failed(check("saved", options.saved, numInputs, forward->getNumOperands(),
                   true)))
    return failure();
  for (unsigned i = numInputs; i < forward->getNumOperands(); ++i)
    if (forward.getReduction(i) == Reduction::Add &&
        llvm::is_contained(options.saved, forward.getOperandName(i)))
      return forward.emitOpError(
                 "expected the option saved to name outputs of all rows, got ")
             << forward.getOperandName(i) << ", a sum over rows";
  if (options.saved.size() > 1 && llvm::is_contained(options.saved, "none"))
    return forward.emitOpError(
        "expected the option saved to be 'none' alone or names of outputs, got "
        "both");
  return success();
}

/// A gradient of nothing would be 0 whatever the program computes.
static LogicalResult checkSeeds(Differentiation &differentiation) {
  RowwiseOp forward = differentiation.forward;
  unsigned numOutputs = unsigned(forward.getNumDpsInits());
  for (unsigned i = 0; i < numOutputs; ++i)
    if (differentiation.hasAdjoint(i))
      return success();
  InFlightDiagnostic diag = forward.emitOpError(
      "expected an output that the loss depends on, but all (");
  listNames(diag, forward, forward.getNumDpsInputs(),
            forward->getNumOperands());
  diag << ") are integers, or row scalars that are saved, which have no "
          "adjoint; ";
  if (numOutputs == 1)
    return diag << "write saved=none";
  return diag << "write saved=none, or name in saved those that the loss does "
                 "not depend on";
}

/// What the largest over rows, which a program yields as `value`, is the
/// largest of: elements of rows, or numbers of rows.
static Value getMaximised(Value value) {
  Operation *producer = value.getDefiningOp();
  return producer && isRowMaximum(producer) ? producer->getOperand(0) : value;
}

GradientOperands Differentiation::makeOperands() {
  GradientOperands operands;
  operands.all = ProgramOperands(unsigned(forward.getNumRowDims()));
  auto add = [&](unsigned index, bool isOutput, const Twine &prefix) {
    auto type = cast<ShapedType>(forward.getOperand(index).getType());
    if (!isa<MemRefType>(type))
      type = MemRefType::get(type.getShape(), type.getElementType());
    bool isSum = isOutput && index < forward.getNumDpsInputs() &&
                 forward.getForm(index).getSplit();
    return operands.all.add(isOutput, type, forward.getMap(index),
                            (prefix + forward.getOperandName(index)).str(),
                            isSum ? Reduction::Add : Reduction::None);
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
        addIf(hasAdjoint(i), numInputs + i, false, "d"));
  for (unsigned i = 0; i < numInputs; ++i)
    operands.inputs.push_back(add(i, false, ""));
  for (unsigned i = 0; i < numOutputs; ++i)
    operands.saved.push_back(addIf(isSaved(i), numInputs + i, false, ""));
  for (unsigned i = 0; i < numInputs; ++i)
    operands.gradients.push_back(addIf(isWanted(i), i, true, "d"));
  for (unsigned i = 0; i < numOutputs; ++i) {
    operands.outputs.push_back(add(numInputs + i, true, "forward "));
    operands.ties.emplace_back();
    if (!hasTies(i))
      continue;
    std::string name = forward.getOperandName(numInputs + i);
    Type f32 = Float32Type::get(forward.getContext());
    AffineMap map = forward.getMap(numInputs + i);
    auto carry = [&](ArrayRef<int64_t> shape, AffineMap map, StringRef suffix,
                     Reduction reduction) {
      auto type = MemRefType::get(shape, f32);
      return GradientOperands::Carried{
          operands.all.add(true, type, map, name + suffix.str(), reduction),
          operands.all.add(false, type, map, name + suffix.str())};
    };
    auto shape = cast<ShapedType>(forward.getOperand(numInputs + i).getType())
                     .getShape();
    GradientOperands::Ties &ties = operands.ties.back().emplace(
        GradientOperands::Ties{carry(shape, map, "_ties", Reduction::Add),
                               std::nullopt, std::nullopt});
    Value value = forward.getYielded(i);
    if (isSameElsewhere(value))
      continue;
    bool isRow = isa<VectorType>(getMaximised(value).getType());
    unsigned numDims =
        isRow ? map.getNumDims() : unsigned(forward.getNumRowDims());
    SmallVector<int64_t> sizes = forward.getDimSizes();
    ties.elements = carry(
        ArrayRef(sizes).take_front(numDims),
        AffineMap::getMultiDimIdentityMap(map.getNumDims(), map.getContext())
            .getMajorSubMap(numDims),
        "_elements", Reduction::None);
    ties.largest = carry(shape, map, "_again", Reduction::Maximum);
  }
  return operands;
}

/// Divides `adjoint`, that of the maximum `yielded`, among the elements that
/// are the largest, those of all rows one by one. Of a NaN there are none, and
/// 0 / 0 is NaN again. Returns the elements, and the adjoint of each.
std::pair<Value, Value>
Differentiation::shareAmongLargest(OpBuilder &b, GradientOperands &operands,
                                   Value yielded, Value adjoint,
                                   std::optional<GradientOperands::Place> saved,
                                   const GradientOperands::Ties &ties) {
  Location loc = forward.getLoc();
  RowBuilder rows(loc, b);
  Value elements = getMaximised(yielded), value = elements, largest;
  bool isOfRow = elements != yielded;
  auto spreadOverRow = [&](RowValue number) {
    return isOfRow ? spread(number, forward.getRowLength()) : number;
  };
  if (ties.elements) {
    operands.all.setResult(ties.elements->written, elements);
    operands.all.setResult(ties.largest->written, yielded);
    value = operands.all.getArgument(ties.elements->read);
    largest = operands.all.getArgument(ties.largest->read);
  } else {
    largest = operands.all.getArgument(*saved);
    Type element = getElementTypeOrSelf(largest.getType());
    if (!element.isF32())
      value = widen(
          rows,
          arith::TruncFOp::create(
              b, loc,
              elements.getType().isF32()
                  ? element
                  : Type(cast<VectorType>(elements.getType()).clone(element)),
              value));
  }
  Value isLargest = compare(arith::CmpFPredicate::OEQ, RowValue(&rows, value),
                            spreadOverRow(widen(rows, largest)));
  Value shares = arith::UIToFPOp::create(b, loc, elements.getType(), isLargest);
  operands.all.setResult(ties.counts.written,
                         isOfRow ? rowSum({&rows, shares}).value : shares);
  Value share = arith::DivFOp::create(
      b, loc, adjoint, operands.all.getArgument(ties.counts.read));
  return {elements,
          arith::MulFOp::create(b, loc, shares, spreadOverRow({&rows, share}))};
}

/// Copies the forward region, seeds the outputs' adjoints, and yields those of
/// the inputs, and the forward outputs.
LogicalResult Differentiation::fillGradient(RowwiseOp gradient,
                                            GradientOperands &operands) {
  Block &from = forward.getBody().front();
  Block &to = gradient.getBody().front();
  OpBuilder b = OpBuilder::atBlockEnd(&to);
  Location loc = forward.getLoc();
  RowBuilder rows(loc, b);

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

  Adjoints adjoints(b, getDerivativeRules(), to, wanted);
  for (auto [output, place, saved, ties] : llvm::zip_equal(
           outputs, operands.adjoints, operands.saved, operands.ties)) {
    if (!place)
      continue;
    Value adjoint = widen(rows, operands.all.getArgument(*place));
    if (ties)
      std::tie(output, adjoint) =
          shareAmongLargest(b, operands, output, adjoint, saved, *ties);
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
  // Largest elements that were taken again may now be the forward pass's.
  for (Operation &op : gradient.getBody().front())
    if (isRowMaximum(&op))
      op.removeDiscardableAttr(detachAttr);
}

/// Constants that come in have no gradient.
static LogicalResult checkConstants(RowwiseOp forward,
                                    const GradientOptions &options) {
  for (unsigned index = 0; index < forward.getNumDpsInputs(); ++index) {
    std::string name = forward.getOperandName(index);
    if (!isConstant(forward, index) || !llvm::is_contained(options.wrt, name))
      continue;
    InFlightDiagnostic diag = forward.emitOpError(
        "expected the option wrt to name inputs of f16, bf16 or f32, got ");
    if (forward.getForm(index).getAccess() == Access::Table)
      return diag << name
                  << ", a table, whose gradient is a scatter that no "
                     "row program has";
    return diag << name << " of "
                << getElementTypeOrSelf(forward.getOperand(index))
                << ", which has no gradient";
  }
  return success();
}

/// What several groups of rows share, or all rows a number, has a sum for its
/// gradient that not every program has.
static LogicalResult checkShared(Differentiation &differentiation) {
  RowwiseOp forward = differentiation.forward;
  for (unsigned i = 0; i < forward.getNumDpsInputs(); ++i) {
    OperandFormAttr form = forward.getForm(i);
    if (form.getSplit() && differentiation.isWanted(i) && !form.getKept())
      return forward.emitOpError(
                 "expected the option wrt to name inputs that have all row "
                 "dimensions, columns, or neighbouring dimensions without the "
                 "first, all static from these on, in dense buffers in the "
                 "order of the domain; got ")
             << forward.getOperandName(i) << " of "
             << forward.getOperand(i).getType() << " with "
             << AffineMapAttr::get(forward.getMap(i))
             << "; name others, or repeat it for all rows";
  }
  return success();
}

LogicalResult lnbwd::checkDifferentiable(RowwiseOp forward,
                                         const GradientOptions &options) {
  Differentiation differentiation(forward, options);
  if (failed(checkConstants(forward, options)) ||
      failed(checkShared(differentiation)))
    return failure();
  if (!forward.getOuterSums().empty())
    return forward.emitOpError("expected no outer sums in a program that is "
                               "differentiated");
  return failure(failed(checkNames(forward, options)) ||
                 failed(checkSeeds(differentiation)));
}

FailureOr<SmallVector<CarriedBuffer>> lnbwd::writeGradient(
    RewriterBase &rewriter, RowwiseOp forward, const GradientOptions &options,
    const RowSimplifier &simplifier, function_ref<Value(Type)> makeBuffer) {
  auto simplifyProgram = [&](RowwiseOp op) {
    if (options.simplify)
      simplifier.normalize(op);
    else
      simplifier.canonicalize(op);
  };
  Differentiation differentiation(forward, options);
  GradientOperands operands = differentiation.makeOperands();
  RowwiseOp gradient =
      operands.all.create(rewriter, forward.getLoc(),
                          (forward.getEntry() + "_bwd").str(), {}, makeBuffer);
  if (failed(differentiation.fillGradient(gradient, operands)))
    return failure();
  simplifyProgram(gradient);
  useSavedValues(gradient, operands);

  // The forward outputs have served.
  llvm::BitVector keep(gradient.getNumDpsInits(), true);
  for (GradientOperands::Place place : operands.outputs)
    keep.reset(operands.all.getOutput(place));
  // What counts the largest elements goes before the rest, and what computes
  // them before that.
  llvm::BitVector elements(gradient.getNumDpsInits()), counts = elements;
  SmallVector<CarriedBuffer> carried;
  auto carry = [&](const GradientOperands::Carried &both,
                   llvm::BitVector &outputs) {
    unsigned output = operands.all.getOutput(both.written);
    auto read = cast<BlockArgument>(operands.all.getArgument(both.read));
    outputs.set(output);
    carried.push_back({gradient.getOperand(gradient.getNumDpsInputs() + output),
                       gradient.getOperand(read.getArgNumber())});
  };
  for (const auto &ties : operands.ties) {
    if (!ties)
      continue;
    carry(ties->counts, counts);
    if (ties->elements) {
      carry(*ties->elements, elements);
      carry(*ties->largest, elements);
    }
  }
  rewriter.setInsertionPoint(gradient);
  auto makeProgram = [&](const llvm::BitVector &outputs, StringRef suffix) {
    if (outputs.none())
      return;
    RowwiseOp program = cloneWithOperands(
        rewriter, gradient, llvm::BitVector(gradient.getNumDpsInputs(), true),
        outputs);
    program.setEntry((gradient.getEntry() + suffix).str());
    simplifyProgram(program);
  };
  makeProgram(elements, "_elements");
  makeProgram(counts, "_ties");
  makeProgram(keep.reset(counts).reset(elements), "");
  rewriter.eraseOp(gradient);
  return carried;
}
