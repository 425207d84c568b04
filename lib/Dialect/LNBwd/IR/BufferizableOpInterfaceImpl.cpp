//===- BufferizableOpInterfaceImpl.cpp - Row programs on memrefs ----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells one-shot bufferization how a row program on tensors becomes one on
// memrefs: operand by operand, its outputs written in place.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace lnbwd;

namespace {
struct RowwiseOpInterface
    : DstBufferizableOpInterfaceExternalModel<RowwiseOpInterface, RowwiseOp> {
  /// Outputs are written, and read only where sums are added to them.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return cast<DestinationStyleOpInterface>(op).isDpsInput(&operand) ||
           cast<RowwiseOp>(op).getAccumulate();
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto rowwise = cast<RowwiseOp>(op);
    if (rowwise.hasPureBufferSemantics())
      return success();
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    SmallVector<Value> buffers;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    OperationState newState(op->getLoc(), op->getName());
    newState.addOperands(buffers);
    newState.addAttributes(op->getAttrs());
    newState.propertiesAttr = op->getPropertiesAsAttribute();
    newState.addRegion()->takeBody(rowwise.getBody());
    auto onMemRefs = cast<RowwiseOp>(rewriter.create(newState));
    onMemRefs.updateForms();
    replaceOpWithBufferizedValues(
        rewriter, op, llvm::to_vector_of<Value>(onMemRefs.getDpsInits()));
    return success();
  }
};
} // namespace

void lnbwd::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, LNBwdDialect *) {
    RowwiseOp::attachInterface<RowwiseOpInterface>(*context);
  });
}
