//===- LNBwdProduct.cpp - Products of matrices as kernels -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifier and the small questions of `lnbwd.product`.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/LNBwdProduct.h"
#include "OperandChecks.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace lnbwd;

#define GET_OP_CLASSES
#include "lnbwd/Dialect/LNBwd/IR/LNBwdProductOps.cpp.inc"

ProductOp::Sizes ProductOp::getSizes() {
  auto lhs = cast<MemRefType>(getLhs().getType());
  auto rhs = cast<MemRefType>(getRhs().getType());
  if (getLhsTransposed())
    return {lhs.getDimSize(1), rhs.getDimSize(1), ShapedType::kDynamic};
  return {ShapedType::kDynamic, rhs.getDimSize(getRhsTransposed() ? 0 : 1),
          lhs.getDimSize(1)};
}

std::string ProductOp::getOperandName(unsigned index) {
  if (std::optional<ArrayAttr> names = getOperandNames())
    return cast<StringAttr>((*names)[index]).str();
  return "operand" + std::to_string(index);
}

LogicalResult ProductOp::verify() {
  if (getLhsTransposed() && getRhsTransposed())
    return emitOpError("expected lhs_transposed or rhs_transposed, got both");
  for (auto [name, value] : {std::pair(StringRef("lhs"), getLhs()),
                             std::pair(StringRef("rhs"), getRhs()),
                             std::pair(StringRef("the output"), getOut())}) {
    auto type = cast<MemRefType>(value.getType());
    if (type.getRank() != 2 || !type.getLayout().isIdentity())
      return emitOpError("expected ")
             << name << " to be a dense memref of two dimensions, got " << type;
    if (failed(detail::verifyRowElement(*this, name, type)))
      return failure();
  }
  auto lhs = cast<MemRefType>(getLhs().getType());
  auto rhs = cast<MemRefType>(getRhs().getType());
  auto out = cast<MemRefType>(getOut().getType());
  if (!out.getElementType().isF32())
    return emitOpError("expected an output of f32, got ") << out;
  // What is summed over, and what the result has of each side.
  unsigned lhsSum = getLhsTransposed() ? 0 : 1;
  unsigned rhsSum = getRhsTransposed() ? 1 : 0;
  auto agree = [](int64_t a, int64_t b) {
    return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
  };
  if (!agree(lhs.getDimSize(lhsSum), rhs.getDimSize(rhsSum)))
    return emitOpError("expected dimension ")
           << lhsSum << " of lhs and dimension " << rhsSum
           << " of rhs to have the same size, got " << lhs << " and " << rhs;
  if (!agree(out.getDimSize(0), lhs.getDimSize(1 - lhsSum)) ||
      !agree(out.getDimSize(1), rhs.getDimSize(1 - rhsSum)))
    return emitOpError("expected the output to have the other dimensions of ")
           << lhs << " and " << rhs << ", got " << out;
  bool isStatic =
      !lhs.isDynamicDim(1) && !rhs.isDynamicDim(1) && !out.isDynamicDim(1) &&
      (getLhsTransposed() ? !out.isDynamicDim(0) : !rhs.isDynamicDim(0));
  if (!isStatic)
    return emitOpError("expected all sizes but the number of rows, M, to be "
                       "static, got ")
           << lhs << ", " << rhs << " and " << out;
  if (std::optional<ArrayAttr> names = getOperandNames())
    if (names->size() != 3)
      return emitOpError("expected operand_names to name 3 operands, got ")
             << names->size();
  return success();
}
