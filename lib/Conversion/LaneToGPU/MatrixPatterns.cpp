//===- MatrixPatterns.cpp - Fragments of matrices multiplied --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which elements of the sum an instruction multiplies does not matter as long
// as they are the same ones of both matrices: so lanes have whole blocks, and
// take them apart for as many instructions as they are enough for.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "lnbwd/Transforms/Lane/MatrixTiles.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lnbwd;
using lane::fragmentSize, lane::MatrixWave, lane::takePart;

/// AMD's instructions. A lane holds neighbours along the sum, of one row.
///
/// The matrices change places, so that a lane has neighbours of a row of the
/// result and not of a column; but not where lanes hold the same twice, whose
/// results are neighbours of neither.
static Value multiplyOnAMD(IndexBuilder &b, const MatrixWave &wave,
                           lane::MultiplyOp op) {
  bool isReplicated = wave.unit == MatrixUnit::ReplicatedWMMA;
  bool isWide = wave.unit == MatrixUnit::WideWMMA;
  bool hasMFMA = !isReplicated && !isWide && wave.unit != MatrixUnit::WMMA;
  Value lhs = op.getLhs(), rhs = op.getRhs(), sum = op.getSum();
  if (!isReplicated)
    std::swap(lhs, rhs);
  VectorType type = op.getLhs().getType();
  // How much of the sum an instruction multiplies.
  int64_t depth = isWide || wave.unit == MatrixUnit::WideMFMA ? 32 : 16;
  if (type.getElementType().isF32())
    depth = 4;
  int64_t elements = isReplicated ? depth : depth * fragmentSize / wave.lanes;
  constexpr auto size = uint32_t(fragmentSize);
  for (int64_t part = 0; part < type.getNumElements(); part += elements) {
    auto take = [&](Value vector) -> Value {
      if (elements == 1)
        return vector::ExtractOp::create(b, vector, part);
      return takePart(b, vector, part, elements);
    };
    Value ofRhs = take(rhs);
    Value ofLhs = take(lhs);
    if (hasMFMA)
      sum = amdgpu::MFMAOp::create(
          b, sum.getType(), size, size, uint32_t(depth), /*blocks=*/uint32_t(1),
          ofLhs, ofRhs, sum, /*cbsz=*/uint32_t(0), /*abid=*/uint32_t(0),
          amdgpu::MFMAPermB::none);
    else
      sum = amdgpu::WMMAOp::create(b, sum.getType(), size, size,
                                   uint32_t(depth), ofLhs, ofRhs, sum);
  }
  return sum;
}

/// mma.sync. Of either matrix a lane has two registers of each of two rows, 8
/// apart, that it multiplies at a time, and a block is two times two of them.
/// An instruction makes 8 columns, so that there are two for a fragment.
/// nvgpu.mma.sync knows no bf16, so that this is what it would become.
static Value multiplyByMmaSync(IndexBuilder &b, lane::MultiplyOp op) {
  bool isBF16 = op.getLhs().getType().getElementType().isBF16();
  // The four registers of either row: of f16 they are vectors.
  auto getRows = [&](Value vector) {
    std::array<SmallVector<Value>, 2> rows;
    for (int64_t i = 0; i < 8; ++i) {
      Value value = takePart(b, vector, i * 2, 2);
      if (isBF16)
        value = LLVM::BitcastOp::create(b, b.getI32Type(), value);
      rows[size_t(i / 4)].push_back(value);
    }
    return rows;
  };
  auto as = getRows(op.getLhs()), bs = getRows(op.getRhs());
  Type f32 = b.getF32Type();
  Type four =
      LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  NVVM::MMATypes type = isBF16 ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  auto sums = llvm::to_vector_of<Value>(
      vector::ToElementsOp::create(b, op.getSum()).getResults());
  for (size_t half : {0, 1})
    for (size_t i : {0, 2}) {
      Value part = NVVM::MmaOp::create(
          b, four, {as[0][i], as[1][i], as[0][i + 1], as[1][i + 1]},
          ArrayRef<Value>(bs[half]).slice(i, 2),
          ArrayRef<Value>(sums).slice(half * 4, 4),
          ArrayRef<int64_t>{16, 8, 16},
          /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
          std::array<NVVM::MMATypes, 2>{type, type},
          std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                         NVVM::MMALayout::col});
      for (int64_t of = 0; of < 4; ++of)
        sums[half * 4 + size_t(of)] = LLVM::ExtractValueOp::create(b, part, of);
    }
  return vector::FromElementsOp::create(b, op.getType(), sums);
}

static Value multiplyByFMA(IndexBuilder &b, lane::MultiplyOp op) {
  auto as = vector::ToElementsOp::create(b, op.getLhs());
  auto bs = vector::ToElementsOp::create(b, op.getRhs());
  Value added = vector::ExtractOp::create(b, op.getSum(), 0);
  for (auto [x, y] : llvm::zip_equal(as.getResults(), bs.getResults()))
    added = math::FmaOp::create(b, x, y, added);
  return vector::FromElementsOp::create(b, op.getType(), added);
}

static Lowered lowerMultiply(IndexBuilder &b, lane::MultiplyOp op,
                             const LaneOperands &operands) {
  auto wave = MatrixWave::get(op.getLhs().getType().getElementType(),
                              operands.converter.chip);
  if (wave.unit == MatrixUnit::None)
    return Values{multiplyByFMA(b, op)};
  return Values{wave.unit == MatrixUnit::MmaSync ? multiplyByMmaSync(b, op)
                                                 : multiplyOnAMD(b, wave, op)};
}

void lnbwd::populateLaneMatricesToGPUPatterns(
    RewritePatternSet &patterns, const LaneTypeConverter &converter) {
  addLanePatterns<lowerMultiply>(patterns, converter);
}
