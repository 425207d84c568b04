//===- OperandChecks.h - What verifiers ask of operands ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the operations in destination style ask of their operands alike: shapes,
// elements, layouts, effects. All checks say what they miss.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_DIALECT_LNBWD_IR_OPERANDCHECKS_H
#define LNBWD_LIB_DIALECT_LNBWD_IR_OPERANDCHECKS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include <limits>

namespace lnbwd::detail {

/// Memrefs are read (inputs, and with `readsOutputs` outputs) and written
/// (outputs); tensors have no effects.
void addEffects(mlir::DestinationStyleOpInterface op,
                llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<
                    mlir::MemoryEffects::Effect>> &effects,
                bool readsOutputs = false);

/// A name without a dialect's prefix that is no option is a misspelt one, which
/// would otherwise be ignored.
llvm::LogicalResult verifyOptionNames(mlir::Operation *op);

/// A ratio, if there is one, is of two numbers of at least 1.
llvm::LogicalResult
verifyRowRatio(mlir::Operation *op,
               std::optional<llvm::ArrayRef<int64_t>> ratio);

/// Every output has a memref of its own.
llvm::LogicalResult verifyDistinctOutputs(mlir::DestinationStyleOpInterface op);

/// All operands are tensors, each output giving a result, or all are memrefs.
llvm::LogicalResult
verifyTensorsOrMemRefs(mlir::DestinationStyleOpInterface op);

/// Memrefs are dense, but for the distance between the rows of row blocks.
llvm::LogicalResult verifyLayouts(mlir::DestinationStyleOpInterface op,
                                  int64_t rowRank,
                                  llvm::ArrayRef<mlir::Value> rowBlocks);

/// An element that an input of those dimensions may have; without `dims`, a
/// float. Errors call the operand `name`, here and below.
llvm::LogicalResult verifyRowElement(mlir::Operation *op, llvm::StringRef name,
                                     mlir::ShapedType type,
                                     const Dims *dims = nullptr);

/// The shape is `expected`, as `explanation` says why. The last `rowDims`
/// dimensions are those of a row.
llvm::LogicalResult verifyShape(mlir::Operation *op, llvm::StringRef name,
                                mlir::ShapedType type,
                                llvm::ArrayRef<int64_t> expected,
                                int64_t rowDims, llvm::StringRef explanation);

/// Bounds what is computed from row lengths, with room to multiply.
inline constexpr int64_t maxRowLength = std::numeric_limits<int32_t>::max();

/// A row block has at least the dimensions of a row, and these are static.
llvm::LogicalResult verifyRowBlock(mlir::Operation *op, llvm::StringRef name,
                                   mlir::ShapedType type, int64_t rowRank);

/// The name of dimension `dim` of a domain as it is printed.
std::string getDimName(unsigned dim, unsigned numRows, unsigned numDims);

/// The domain, operands and maps of a row program.
mlir::ParseResult parseRowwiseOperands(
    mlir::OpAsmParser &parser,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &inputs,
    llvm::SmallVectorImpl<mlir::Type> &inputTypes,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &outputs,
    llvm::SmallVectorImpl<mlir::Type> &outputTypes, mlir::ArrayAttr &maps,
    mlir::IntegerAttr &numRowDims, mlir::ArrayAttr &reductions,
    mlir::ArrayAttr &forms);
void printRowwiseOperands(mlir::OpAsmPrinter &printer, RowwiseOp op,
                          mlir::OperandRange inputs, mlir::TypeRange,
                          mlir::OperandRange outputs, mlir::TypeRange,
                          mlir::ArrayAttr maps, mlir::IntegerAttr numRowDims,
                          mlir::ArrayAttr reductions, mlir::ArrayAttr forms);

} // namespace lnbwd::detail

#endif // LNBWD_LIB_DIALECT_LNBWD_IR_OPERANDCHECKS_H
