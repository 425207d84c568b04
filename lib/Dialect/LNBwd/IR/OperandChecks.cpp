//===- OperandChecks.cpp - What verifiers ask of operands -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the operations in destination style ask of their operands alike: shapes,
// elements, layouts, effects.
//
//===----------------------------------------------------------------------===//

#include "OperandChecks.h"

#include "lnbwd/Dialect/LNBwd/IR/RowLayout.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace lnbwd;

void lnbwd::detail::addEffects(
    DestinationStyleOpInterface op,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects,
    bool readsOutputs) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (!op.isDpsInit(&operand) || readsOutputs)
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

LogicalResult lnbwd::detail::verifyOptionNames(Operation *op) {
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

LogicalResult
lnbwd::detail::verifyRowRatio(Operation *op,
                              std::optional<ArrayRef<int64_t>> ratio) {
  if (!ratio ||
      (ratio->size() == 2 && ratio->front() >= 1 && ratio->back() >= 1))
    return success();
  return op->emitOpError("expected row_ratio to be two numbers of at least 1, "
                         "as in array<i64: 8, 1>, got ")
         << Builder(op).getDenseI64ArrayAttr(*ratio);
}

LogicalResult
lnbwd::detail::verifyDistinctOutputs(DestinationStyleOpInterface op) {
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

LogicalResult
lnbwd::detail::verifyTensorsOrMemRefs(DestinationStyleOpInterface op) {
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

LogicalResult lnbwd::detail::verifyLayouts(DestinationStyleOpInterface op,
                                           int64_t rowRank,
                                           ArrayRef<Value> rowBlocks) {
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
    if (!getRowLayout(type, rowRank).stride)
      return op->emitOpError("expected dense rows, each a static distance "
                             "after the one before, as in "
                             "memref<?x512xf32, strided<[1024, 1]>>, got ")
             << type
             << "; compile for the distance (a kernel for each that occurs), "
                "or copy the rows into a dense buffer";
  }
  return success();
}

std::optional<Element> lnbwd::getElement(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return findElement(name);
}

LogicalResult lnbwd::detail::verifyRowElement(Operation *op, StringRef name,
                                              ShapedType type,
                                              const Dims *dims) {
  auto isAllowed = [&](const ElementInfo &info) {
    return dims ? info.isOf(*dims) : info.use == ElementUse::Float;
  };
  std::optional<Element> element = getElement(type.getElementType());
  if (element && isAllowed(getInfo(*element)))
    return success();
  SmallVector<StringRef> names;
  for (const ElementInfo &info : kElements)
    if (isAllowed(info))
      names.push_back(info.name);
  InFlightDiagnostic diag =
      op->emitOpError("expected the elements of ")
      << name << " to be " << llvm::join(ArrayRef(names).drop_back(), ", ")
      << " or " << names.back() << ", got " << type.getElementType();
  if (element == Element::I1)
    diag << "; booleans lie in memory as bytes of 0 and 1: take i8, and "
            "arith.cmpi ne with 0, or arith.extui on the way out";
  return diag;
}

LogicalResult lnbwd::detail::verifyShape(Operation *op, StringRef name,
                                         ShapedType type,
                                         ArrayRef<int64_t> expected,
                                         int64_t rowDims,
                                         StringRef explanation) {
  // The number of rows may be dynamic on either side; a row is static.
  ArrayRef<int64_t> shape = type.getShape();
  if (succeeded(verifyCompatibleShape(shape, expected)) &&
      !ShapedType::isDynamicShape(shape.take_back(size_t(rowDims))))
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

LogicalResult lnbwd::detail::verifyRowBlock(Operation *op, StringRef name,
                                            ShapedType type, int64_t rowRank) {
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
  return verifyRowElement(op, name, type);
}
