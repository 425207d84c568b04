//===- DifferentiateFunctions.cpp - Gradients in the place of functions ---===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes of each function with one forward operation the function of its
// gradient: its arguments, its buffers, and the named operation that it is.
//
//===----------------------------------------------------------------------===//

#include "RowPrograms.h"

#include "lnbwd/GradientAlgebra/Differentiate.h"
#include "lnbwd/GradientAlgebra/Simplify.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/BitVector.h"

namespace lnbwd {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
struct Differentiate : lnbwd::impl::DifferentiatePassBase<Differentiate> {
  using DifferentiatePassBase::DifferentiatePassBase;

  void runOnOperation() override;

private:
  LogicalResult differentiate(func::FuncOp function);

  /// Of named operations.
  FrozenRewritePatternSet textbookLowerings;
  RowSimplifier simplifier;
};
} // namespace

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

/// Puts one allocation in the place of two arguments of `entry`, what a program
/// writes and what a later one reads.
static void carryInBuffer(IRRewriter &rewriter, Block &entry, Value written,
                          Value read) {
  auto type = cast<MemRefType>(written.getType());
  auto program = cast<RowwiseOp>(*written.user_begin());
  Location loc = program.getLoc();
  unsigned index = written.use_begin()->getOperandNumber();
  rewriter.setInsertionPointToStart(&entry);
  auto numRows = unsigned(program.getNumRowDims());
  SmallVector<Value> dynamic;
  int64_t ofRow = 1;
  for (auto [result, size] :
       llvm::zip_equal(program.getMap(index).getResults(), type.getShape())) {
    if (cast<AffineDimExpr>(result).getPosition() >= numRows)
      ofRow *= size;
    for (unsigned i = 0; ShapedType::isDynamic(size) && i < index; ++i)
      if (std::optional<unsigned> position =
              program.getMap(i).getResultPosition(result)) {
        dynamic.push_back(memref::DimOp::create(
            rewriter, loc, program.getOperand(i), int64_t(*position)));
        break;
      }
  }
  auto alloc = memref::AllocOp::create(rewriter, loc, type, dynamic);
  // (There are as many groups as rows at most.)
  if (!type.hasStaticShape())
    alloc->setAttr(rowScalarAttr, rewriter.getI64IntegerAttr(ofRow));
  written.replaceAllUsesWith(alloc);
  read.replaceAllUsesWith(alloc);
  rewriter.setInsertionPoint(entry.getTerminator());
  memref::DeallocOp::create(rewriter, loc, alloc);
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
  bool savesStatistics =
      named || function->getAttrOfType<NamedOperationAttr>(operationAttr);
  GradientOptions options{wrt, of, saved, simplify, savesStatistics};
  if (failed(checkDifferentiable(forward, options)))
    return failure();

  IRRewriter rewriter(&getContext());
  rewriter.setInsertionPointAfter(function);
  Location loc = function.getLoc();
  auto backward =
      func::FuncOp::create(rewriter, loc, (function.getName() + "_bwd").str(),
                           rewriter.getFunctionType({}, {}));
  Block *entry = backward.addEntryBlock();
  rewriter.setInsertionPointToEnd(entry);
  rewriter.setInsertionPoint(func::ReturnOp::create(rewriter, loc));
  FailureOr<SmallVector<CarriedBuffer>> carried =
      writeGradient(rewriter, forward, options, simplifier,
                    [&](Type type) { return entry->addArgument(type, loc); });
  if (failed(carried))
    return failure();
  (void)dropUnneeded(backward);
  for (auto [written, read] : *carried)
    carryInBuffer(rewriter, *entry, written, read);
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
