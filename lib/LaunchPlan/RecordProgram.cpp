//===- RecordProgram.cpp - Write down what a function computes ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Row programs as data that a reader without MLIR interprets. Every operation
// is written as it is, known to that reader or not: it says which it does not
// know.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/RowLayout.h"
#include "lnbwd/LaunchPlan/Passes.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace lnbwd {
#define GEN_PASS_DEF_RECORDPROGRAMPASS
#include "lnbwd/LaunchPlan/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;
namespace json = llvm::json;

/// "f32" of a scalar, "512xbf16" of a row, "96x64xf32" of a matrix.
static std::string describeType(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto vector = dyn_cast<VectorType>(type)) {
    for (int64_t size : vector.getShape())
      os << size << "x";
    type = vector.getElementType();
  }
  os << type;
  return text;
}

/// JSON has neither infinities nor NaN.
static json::Value describeNumber(const APFloat &value) {
  double number = value.convertToDouble();
  if (value.isFinite())
    return number;
  return value.isNaN() ? "nan" : value.isNegative() ? "-inf" : "inf";
}

/// The value of a constant whose elements are equal; null of any other.
static json::Value describeConstant(Attribute value) {
  if (auto splat = dyn_cast<SplatElementsAttr>(value))
    value = splat.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(value))
    return describeNumber(number.getValue());
  if (auto number = dyn_cast<IntegerAttr>(value))
    return number.getType().isInteger(1) ? int64_t(number.getValue().isOne())
                                         : number.getInt();
  return nullptr;
}

/// What an operation's name, type and operands do not say of it.
static json::Object describeAttributes(Operation &op) {
  json::Object result;
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](arith::ConstantOp constant) {
        result["value"] = describeConstant(constant.getValue());
      })
      .Case([&](vector::ReductionOp reduction) {
        result["kind"] = vector::stringifyCombiningKind(reduction.getKind());
      })
      .Case([&](arith::CmpFOp compare) {
        result["predicate"] =
            arith::stringifyCmpFPredicate(compare.getPredicate());
      })
      .Case([&](arith::CmpIOp compare) {
        result["predicate"] =
            arith::stringifyCmpIPredicate(compare.getPredicate());
      })
      .Case([&](IndexOp index) {
        // By IndexOp::Number.
        static constexpr StringLiteral numbers[] = {"row", "row_of_group",
                                                    "group", "column"};
        IndexOp::Formula formula = index.getFormula();
        result["number"] = numbers[size_t(formula.number)];
        result["divisor"] = formula.divisor;
        result["modulus"] = formula.modulus;
      })
      .Case([&](BlockMaxOp blocks) {
        result["divisor"] = int64_t(blocks.getStride());
        result["modulus"] = int64_t(blocks.getSize());
      })
      .Case([&](LinearOp linear) {
        if (linear.getTransposed())
          result["transposed"] = true;
      });
  // The flag with which an operation is computed less exactly.
  if (auto fast = dyn_cast<arith::ArithFastMathInterface>(op))
    if (arith::FastMathFlagsAttr flags = fast.getFastMathFlagsAttr())
      if (bitEnumContainsAny(flags.getValue(), arith::FastMathFlags::afn))
        result["approximate"] = true;
  return result;
}

namespace {
/// Writes the programs of one function.
class Recorder {
public:
  /// Notes what `op`, an operation of the function, computes.
  void add(Operation &op);
  json::Array take() { return std::move(programs); }

private:
  json::Object describeOperand(RowwiseOp op, unsigned index);

  json::Array programs;
  /// The function's allocations, numbered as they are met.
  DenseMap<Value, int64_t> buffers;
};
} // namespace

json::Object Recorder::describeOperand(RowwiseOp op, unsigned index) {
  Value value = op->getOperand(index);
  Dims dims = op.getForm(index).getDims();
  json::Object result{{"kind", getName(dims)},
                      {"type", describeType(op.getRegionType(index))}};
  OperandFormAttr form = op.getForm(index);
  auto describeIndex = [&](StringRef key, ArrayRef<IndexTerm> terms) {
    if (terms.empty())
      return;
    json::Array all;
    for (const IndexTerm &term : terms)
      all.push_back(json::Array{term.divisor, term.modulus, term.factor,
                                term.shift, term.wrap});
    result[key] = std::move(all);
  };
  describeIndex("row", form.getRowTerms());
  describeIndex("column", form.getColumnTerms());
  if (!form.isPlain())
    result["row_length"] = dims == kColumn
                               ? *getExtent(cast<ShapedType>(value.getType()))
                               : op.getForm(index).getRowLength();
  if (auto argument = dyn_cast<BlockArgument>(value))
    result["argument"] = int64_t(argument.getArgNumber());
  else
    result["buffer"] =
        buffers.try_emplace(value, int64_t(buffers.size())).first->second;
  return result;
}

/// Why `op` cannot be written as a program, or nothing.
static StringRef findObstacle(RowwiseOp op) {
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (op.getForm(i).isPartial())
      return op.getForm(i).getAccess() == Access::Scalar ? "split row scalars"
                                                         : "partial sums";
  for (Value value : op->getOperands())
    if (!isa<BlockArgument>(value) && !value.getDefiningOp<memref::AllocOp>())
      return "views of buffers";
  return "";
}

void Recorder::add(Operation &op) {
  auto program = dyn_cast<RowwiseOp>(op);
  // What launches nothing computes nothing.
  if (!program)
    return;
  if (StringRef obstacle = findObstacle(program); !obstacle.empty()) {
    programs.push_back(json::Object{{"unsupported", obstacle}});
    return;
  }
  unsigned numInputs = program.getNumDpsInputs();
  json::Array inputs, operations, outputs;
  for (unsigned i = 0; i < numInputs; ++i)
    inputs.push_back(describeOperand(program, i));
  // Values are numbered: inputs first, then each operation's result.
  DenseMap<Value, int64_t> numbers;
  Block &body = program.getBody().front();
  for (BlockArgument argument : body.getArguments())
    numbers[argument] = argument.getArgNumber();
  for (Operation &inner : body.without_terminator()) {
    json::Array operation{inner.getName().getStringRef(),
                          inner.getNumResults() == 1
                              ? describeType(inner.getResult(0).getType())
                              : std::string()};
    for (Value operand : inner.getOperands())
      operation.push_back(numbers.lookup(operand));
    if (json::Object attributes = describeAttributes(inner);
        !attributes.empty())
      operation.push_back(std::move(attributes));
    operations.push_back(std::move(operation));
    for (Value result : inner.getResults())
      numbers[result] = int64_t(numbers.size());
  }
  for (unsigned i = 0; i < program.getNumDpsInits(); ++i) {
    json::Object output = describeOperand(program, numInputs + i);
    output["value"] = numbers.lookup(program.getYielded(i));
    if (program.getReduction(numInputs + i) == Reduction::Maximum)
      output["maximum"] = true;
    else if (program.getReduction(numInputs + i) == Reduction::Add &&
             output.get("row"))
      output["sum"] = true;
    outputs.push_back(std::move(output));
  }
  json::Object result{{"name", program.getEntry()},
                      {"inputs", std::move(inputs)},
                      {"operations", std::move(operations)},
                      {"outputs", std::move(outputs)}};
  if (program.getAccumulate())
    result["accumulate"] = true;
  if (std::optional<ArrayRef<int64_t>> ratio = program.getRowRatio())
    result["ratio"] = json::Array{ratio->front(), ratio->back()};
  if (program.getOwnRows())
    result["own_rows"] = *program.getStaticRowCount();
  programs.push_back(std::move(result));
}

namespace {
struct RecordProgram : lnbwd::impl::RecordProgramPassBase<RecordProgram> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isDeclaration() || function->hasAttr(operationAttr))
      return;
    Recorder recorder;
    for (Operation &op : function.getBody().front())
      recorder.add(op);
    json::Array programs = recorder.take();
    if (programs.empty())
      return;
    std::string text;
    llvm::raw_string_ostream(text) << json::Value(std::move(programs));
    function->setAttr(operationAttr, StringAttr::get(&getContext(), text));
    ++numRecorded;
  }
};
} // namespace
