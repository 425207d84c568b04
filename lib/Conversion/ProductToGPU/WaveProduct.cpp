//===- WaveProduct.cpp - What matrix instructions expect ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AMD's instructions, NVIDIA's, and fused multiply-adds. Which elements of the
// sum an instruction multiplies does not matter as long as they are the same
// ones of both matrices: so lanes read whole blocks, and take them apart for as
// many instructions as they are enough for.
//
//===----------------------------------------------------------------------===//

#include "WaveProduct.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace lnbwd;

static bool isMFMA(const ChipInfo &chip) {
  return chip.matrixUnit == MatrixUnit::MFMA ||
         chip.matrixUnit == MatrixUnit::WideMFMA;
}

Type lnbwd::getMultipliedType(ProductOp op, const ChipInfo &chip) {
  Type lhs = cast<MemRefType>(op.getLhs().getType()).getElementType();
  Type rhs = cast<MemRefType>(op.getRhs().getType()).getElementType();
  if (op.getPrecision() == Precision::TF32)
    return chip.matrix.hasTF32Products ? FloatTF32Type::get(op.getContext())
                                       : Type();
  bool isFlushed = lhs.isF16() && chip.matrix.flushesSubnormals;
  if (lhs == rhs && !lhs.isF32() && !isFlushed)
    return chip.matrixUnit == MatrixUnit::None ? Type() : lhs;
  // The others would round float32 to tf32, or have no instruction at all.
  return isMFMA(chip) ? Float32Type::get(op.getContext()) : Type();
}

static Value takePart(IndexBuilder &b, Value vector, int64_t begin,
                      int64_t elements) {
  return vector::ExtractStridedSliceOp::create(b, vector, begin, elements,
                                               /*strides=*/1);
}

namespace {
/// A lane holds neighbours along the sum, of one row.
///
/// The matrices change places, so that a lane has neighbours of a row of the
/// result and not of a column; but not where lanes hold the same twice, whose
/// results are neighbours of neither.
class AMDProduct : public WaveProduct {
public:
  AMDProduct(IndexBuilder &b, const ChipInfo &chip, Type multiplied, Value lane)
      : WaveProduct(b, lane), hasMFMA(isMFMA(chip)),
        isReplicated(chip.matrixUnit == MatrixUnit::ReplicatedWMMA),
        isTF32(multiplied.isTF32()), depth(getDepth(chip, multiplied)),
        groups(isReplicated ? 1 : chip.waveSize / fragmentSize),
        resultElements(fragmentSize * fragmentSize / chip.waveSize) {}

  int64_t getFragmentBlocks() override { return isReplicated ? 2 : groups; }

  std::pair<Value, Value> getFirstBlock(bool /*isRhs*/) override {
    return {b.remainder(lane, fragmentSize),
            b.remainder(b.divide(lane, fragmentSize), groups)};
  }

  SmallVector<std::pair<int64_t, int64_t>, 2> getBlocks() override {
    if (isReplicated)
      return {{0, 0}, {0, 1}};
    return {{0, 0}};
  }

  SmallVector<Value> makeZeros() override {
    return {b.zero(VectorType::get({resultElements}, b.getF32Type()))};
  }

  SmallVector<Value> multiply(ValueRange lhsBlocks, ValueRange rhsBlocks,
                              ValueRange sums) override {
    Value lhs = join(lhsBlocks), rhs = join(rhsBlocks), sum = sums.front();
    if (!isReplicated)
      std::swap(lhs, rhs);
    int64_t elements = cast<VectorType>(lhs.getType()).getNumElements();
    int64_t elementsAtOnce = depth / groups;
    for (int64_t part = 0; part < elements; part += elementsAtOnce) {
      auto take = [&](Value vector) -> Value {
        if (elementsAtOnce == 1)
          return vector::ExtractOp::create(b, vector, part);
        return takePart(b, vector, part, elementsAtOnce);
      };
      Value ofRhs = take(rhs);
      sum = multiplyOnce(take(lhs), ofRhs, sum);
    }
    return {sum};
  }

  SmallVector<ResultRun> getRuns(ValueRange sums) override {
    Value sum = sums.front();
    Value inRow = b.remainder(lane, fragmentSize);
    Value group = b.divide(lane, fragmentSize);
    if (!isReplicated)
      return {{sum, inRow, b.multiply(group, resultElements)}};
    SmallVector<ResultRun> runs;
    for (int64_t i = 0; i < resultElements; ++i) {
      int64_t rowsApart = fragmentSize / resultElements;
      runs.push_back(
          {takePart(b, sum, i, 1), b.add(group, i * rowsApart), inRow});
    }
    return runs;
  }

  void emitBarrier() override { amdgpu::LDSBarrierOp::create(b); }

private:
  /// How much of the sum an instruction multiplies.
  static int64_t getDepth(const ChipInfo &chip, Type multiplied) {
    if (multiplied.isTF32())
      return 8;
    if (multiplied.isF32())
      return 4;
    return chip.matrixUnit == MatrixUnit::WideMFMA ? 32 : 16;
  }

  Value join(ValueRange blocks) {
    if (!isReplicated)
      return blocks.front();
    int64_t elements =
        cast<VectorType>(blocks.front().getType()).getNumElements();
    return vector::ShuffleOp::create(
        b, blocks[0], blocks[1],
        llvm::to_vector(llvm::seq<int64_t>(2 * elements)));
  }

  Value multiplyOnce(Value lhs, Value rhs, Value sum) {
    constexpr auto size = uint32_t(fragmentSize);
    if (hasMFMA)
      return amdgpu::MFMAOp::create(
          b, sum.getType(), size, size, uint32_t(depth), /*blocks=*/uint32_t(1),
          lhs, rhs, sum, /*cbsz=*/uint32_t(0),
          /*abid=*/uint32_t(0), amdgpu::MFMAPermB::none,
          /*reducePrecision=*/isTF32);
    return amdgpu::WMMAOp::create(b, sum.getType(), size, size, uint32_t(depth),
                                  lhs, rhs, sum);
  }

  bool hasMFMA, isReplicated, isTF32;
  int64_t depth;
  /// Groups of 16 lanes that hold different blocks.
  int64_t groups;
  /// Of a fragment, in each lane.
  int64_t resultElements;
};

/// mma.sync. Of either matrix a lane has two registers of each of two rows, 8
/// apart, that it multiplies at a time, and a block is two times two of them.
/// An instruction makes 8 columns, so that there are two for a fragment.
class MmaSyncProduct : public WaveProduct {
public:
  MmaSyncProduct(IndexBuilder &b, Type multiplied, Value lane)
      : WaveProduct(b, lane), multiplied(multiplied) {}

  int64_t getFragmentBlocks() override { return 4; }

  std::pair<Value, Value> getFirstBlock(bool /*isRhs*/) override {
    return {b.divide(lane, 4), b.remainder(lane, 4)};
  }

  SmallVector<std::pair<int64_t, int64_t>, 2> getBlocks() override {
    return {{0, 0}, {8, 0}};
  }

  SmallVector<Value> makeZeros() override {
    return SmallVector<Value>(8, b.zero(b.getF32Type()));
  }

  /// nvgpu.mma.sync knows no bf16, so that this is what it would become.
  SmallVector<Value> multiply(ValueRange lhs, ValueRange rhs,
                              ValueRange sums) override {
    SmallVector<Value> as[] = {getRegisters(lhs[0]), getRegisters(lhs[1])};
    SmallVector<Value> bs[] = {getRegisters(rhs[0]), getRegisters(rhs[1])};
    Type f32 = b.getF32Type();
    Type four =
        LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
    NVVM::MMATypes type = multiplied.isTF32()  ? NVVM::MMATypes::tf32
                          : multiplied.isF16() ? NVVM::MMATypes::f16
                                               : NVVM::MMATypes::bf16;
    SmallVector<Value> results(sums);
    for (size_t half : {0, 1})
      for (size_t i : {0, 2}) {
        Value sum = NVVM::MmaOp::create(
            b, four, {as[0][i], as[1][i], as[0][i + 1], as[1][i + 1]},
            ArrayRef<Value>(bs[half]).slice(i, 2),
            ArrayRef<Value>(results).slice(half * 4, 4),
            ArrayRef<int64_t>{16, 8, multiplied.isTF32() ? 8 : 16},
            /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
            std::array<NVVM::MMATypes, 2>{type, type},
            std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                           NVVM::MMALayout::col});
        for (int64_t of = 0; of < 4; ++of)
          results[half * 4 + size_t(of)] =
              LLVM::ExtractValueOp::create(b, sum, of);
      }
    return results;
  }

  SmallVector<ResultRun> getRuns(ValueRange sums) override {
    Value row = b.divide(lane, 4);
    Value column = b.multiply(b.remainder(lane, 4), 2);
    auto pair = VectorType::get({2}, b.getF32Type());
    SmallVector<ResultRun> runs;
    for (int64_t i = 0; i < 4; ++i)
      runs.push_back({vector::FromElementsOp::create(
                          b, pair, sums.slice(size_t(i) * 2, 2)),
                      b.add(row, i % 2 * 8), b.add(column, i / 2 * 8)});
    return runs;
  }

private:
  /// The four registers of a block, as the instruction has them: of f16
  /// vectors; of tf32 numbers that are rounded already, since what other bits
  /// do is not said.
  SmallVector<Value> getRegisters(Value block) {
    SmallVector<Value> registers;
    for (int64_t i = 0; i < 4; ++i) {
      Value value;
      if (multiplied.isTF32())
        value = NVVM::ConvertFloatToTF32Op::create(
            b, b.getI32Type(), vector::ExtractOp::create(b, block, i),
            NVVM::FPRoundingMode::RNA);
      else
        value = takePart(b, block, i * 2, 2);
      if (multiplied.isBF16())
        value = LLVM::BitcastOp::create(b, b.getI32Type(), value);
      registers.push_back(value);
    }
    return registers;
  }

  Type multiplied;
};

/// Fused multiply-adds in float32, for any chip: the workgroup is one wave, of
/// a work-item for each element of a fragment.
class FmaProduct : public WaveProduct {
public:
  FmaProduct(IndexBuilder &b, Value lane) : WaveProduct(b, lane) {}

  int64_t getFragmentBlocks() override { return 1; }

  std::pair<Value, Value> getFirstBlock(bool isRhs) override {
    return {isRhs ? b.remainder(lane, fragmentSize)
                  : b.divide(lane, fragmentSize),
            b.index(0)};
  }

  SmallVector<Value> makeZeros() override { return {b.zero(b.getF32Type())}; }

  SmallVector<Value> multiply(ValueRange lhs, ValueRange rhs,
                              ValueRange sums) override {
    auto as = vector::ToElementsOp::create(b, lhs.front());
    auto bs = vector::ToElementsOp::create(b, rhs.front());
    Value sum = sums.front();
    for (auto [x, y] : llvm::zip_equal(as.getResults(), bs.getResults()))
      sum = math::FmaOp::create(b, x, y, sum);
    return {sum};
  }

  SmallVector<ResultRun> getRuns(ValueRange sums) override {
    auto one = VectorType::get({1}, b.getF32Type());
    return {{vector::BroadcastOp::create(b, one, sums.front()),
             b.divide(lane, fragmentSize), b.remainder(lane, fragmentSize)}};
  }
};
} // namespace

std::unique_ptr<WaveProduct> WaveProduct::make(IndexBuilder &b,
                                               const ChipInfo &chip,
                                               Type multiplied, Value lane) {
  if (!multiplied)
    return std::make_unique<FmaProduct>(b, lane);
  if (chip.matrixUnit == MatrixUnit::MmaSync)
    return std::make_unique<MmaSyncProduct>(b, multiplied, lane);
  return std::make_unique<AMDProduct>(b, chip, multiplied, lane);
}
