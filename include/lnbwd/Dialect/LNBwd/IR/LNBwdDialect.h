//===- LNBwdDialect.h - The lnbwd dialect -----------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declares the dialect, its attributes and its operations.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_LNBWDDIALECT_H
#define LNBWD_DIALECT_LNBWD_IR_LNBWDDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h"
#include "lnbwd/Operations/Operations.h"

namespace mlir {
class FunctionOpInterface;
} // namespace mlir

namespace lnbwd {
class NormOpInterface;
class RowBody;
class RowBuilder;

/// A number divided by `divisor`, modulo `modulus` if that is not 0, plus
/// `shift` modulo `wrap` if that is not 0, times `factor`.
struct IndexTerm {
  int64_t divisor, modulus, factor, shift = 0, wrap = 0;
};

/// What all named operations do alike; NormOpInterface has the words for it.
namespace detail {
/// The operand of that role; null if there is none.
mlir::Value getNormOperand(mlir::Operation *op, Role role, bool isOutput);
mlir::MutableOperandRange getNormInits(NormOpInterface op);
llvm::LogicalResult verifyNorm(NormOpInterface op);
void addNormEffects(NormOpInterface op,
                    llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<
                        mlir::MemoryEffects::Effect>> &effects);
/// Write the regions of the row programs of named operations, by the names of
/// their formulas.
namespace bodies {
void norm(RowBuilder &b, RowBody &body);
void normGradient(RowBuilder &b, RowBody &body);
} // namespace bodies
} // namespace detail
} // namespace lnbwd

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h.inc"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "lnbwd/Dialect/LNBwd/IR/LNBwdAttrs.h.inc"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdInterfaces.h.inc"

#define GET_OP_CLASSES
#include "lnbwd/Dialect/LNBwd/IR/LNBwdOps.h.inc"

namespace llvm {
class BitVector;
} // namespace llvm
namespace mlir {
class RewriterBase;
} // namespace mlir

namespace lnbwd {
//===----------------------------------------------------------------------===//
// Attributes of other operations; the dialect's description says what each may
// be, and LNBwdAttributes.cpp verifies it.
//===----------------------------------------------------------------------===//

/// The attribute of a kernel that says what it was made of, a KernelInfoAttr.
inline constexpr llvm::StringLiteral kernelInfoAttr = "lnbwd.kernel_info";
/// The attribute of a function that says what it computes: a
/// NamedOperationAttr, or the key `program` of the launch plan, a string of
/// JSON.
inline constexpr llvm::StringLiteral operationAttr = "lnbwd.operation";
/// The attribute of a module with the schedules that its row programs must not
/// be given, since they made a kernel spill: a dictionary of arrays of
/// ScheduleAttr, by the programs' entries.
inline constexpr llvm::StringLiteral rejectedSchedulesAttr =
    "lnbwd.rejected_schedules";
/// The attribute of a function's arguments, an ArgumentAttr.
inline constexpr llvm::StringLiteral argumentAttr = "lnbwd.argument";
/// The attribute of an allocation of row scalars, or of split ones: how many
/// partial sums for each row.
inline constexpr llvm::StringLiteral rowScalarAttr = "lnbwd.row_scalar";
/// The attribute of operations whose results count as constants where a
/// gradient is derived.
inline constexpr llvm::StringLiteral detachAttr = "lnbwd.detach";

/// Takes the flags that allow rounding otherwise off all that is in `root`.
void dropFastMath(mlir::Operation *root);

/// The element type of the tables that is `type`; none if it is no such.
std::optional<Element> getElement(mlir::Type type);

/// Inserts a copy of `op` that has only the inputs and outputs that are set in
/// `keepInput` and `keepOutput`, and of the region what those outputs need.
RowwiseOp cloneWithOperands(mlir::RewriterBase &rewriter, RowwiseOp op,
                            const llvm::BitVector &keepInput,
                            const llvm::BitVector &keepOutput);

/// The row that `op`, of the region of a row program, sums up or takes the
/// largest element of; null if it does neither. A sum of rows of length 1
/// counts in both its forms: upstream folds `vector.reduction` of one element
/// to `vector.extract`.
mlir::Value getSummedRow(mlir::Operation *op);
/// Whether `op`, for which getSummedRow gives a row, takes its largest element.
bool isRowMaximum(mlir::Operation *op);

/// A row of f16 or bf16 before it was widened; any other one as it is.
mlir::Value getNarrowRow(mlir::Value row);

/// Whether an operation takes or gives rows.
bool hasRows(mlir::Operation &op);
/// Whether `op` can be done on any part of a row, as all of a row program but
/// its row sums can, and what may be in a product's epilogue: it is
/// elementwise, a splat constant, `vector.broadcast` of a scalar, or a pure
/// operation on scalars.
bool isRowElementOp(mlir::Operation &op);

/// Lets one-shot bufferization turn row programs on tensors into row programs
/// on memrefs.
void registerBufferizableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);
} // namespace lnbwd

#endif // LNBWD_DIALECT_LNBWD_IR_LNBWDDIALECT_H
