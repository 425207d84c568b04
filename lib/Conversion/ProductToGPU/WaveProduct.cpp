//===- WaveProduct.cpp - What matrix instructions expect ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AMD's instructions, NVIDIA's, and fused multiply-adds.
//
//===----------------------------------------------------------------------===//

#include "WaveProduct.h"

#include "lnbwd/Analysis/ProductTiling.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace lnbwd;

static Value takePart(IndexBuilder &b, Value vector, int64_t begin,
                      int64_t elements) {
  return vector::ExtractStridedSliceOp::create(
      b, vector, ArrayRef<int64_t>{begin}, ArrayRef<int64_t>{elements},
      ArrayRef<int64_t>{1});
}

//===----------------------------------------------------------------------===//
// AMD
//===----------------------------------------------------------------------===//

namespace {
/// A lane holds neighbours along the sum, of one row. Which of them an
/// instruction multiplies does not matter as long as they are the same ones of
/// both matrices: so a lane reads whole blocks, and takes them apart for as
/// many instructions as they are enough for.
///
/// The matrices change places, so that a lane has neighbours of a row of the
/// result and not of a column; but not where lanes hold the same twice, whose
/// results are neighbours of neither.
class AMDProduct : public WaveProduct {
public:
  AMDProduct(IndexBuilder &b, const ChipInfo &chip, Type multiplied)
      : b(b), isMFMA(chip.matrixUnit == MatrixUnit::MFMA ||
                     chip.matrixUnit == MatrixUnit::WideMFMA),
        isReplicated(chip.matrixUnit == MatrixUnit::ReplicatedWMMA),
        isTF32(multiplied.isTF32()),
        depth(getMatrixInstruction(chip, multiplied)->depth),
        groups(isReplicated ? 1 : chip.waveSize / fragmentSize),
        resultElements(fragmentSize * fragmentSize / chip.waveSize) {}

  int64_t getFragmentBlocks() const override { return groups * itemBlocks(); }

  Value getOffset(OperandTile &tile, Value row, Value lane,
                  bool /*isRhs*/) override {
    Value group = b.remainder(b.divide(lane, fragmentSize), groups);
    Value block = b.multiply(group, itemBlocks());
    return tile.getOffset(b.add(row, b.remainder(lane, fragmentSize)), block);
  }

  Value load(OperandTile &tile, Value place, int64_t row,
             int64_t block) override {
    Value first = tile.readBlock(place, row, block);
    if (!isReplicated)
      return first;
    Value second = tile.readBlock(place, row, block + 1);
    auto order =
        llvm::to_vector(llvm::seq<int64_t>(2 * tile.getBlockElements()));
    return vector::ShuffleOp::create(b, first, second, order);
  }

  SmallVector<Value> makeZeros() override {
    return {b.zero(VectorType::get({resultElements}, b.getF32Type()))};
  }

  SmallVector<Value> multiply(Value lhs, Value rhs, ValueRange sums) override {
    if (!isReplicated)
      std::swap(lhs, rhs);
    int64_t elements = cast<VectorType>(lhs.getType()).getNumElements();
    int64_t elementsAtOnce = depth / groups;
    Value sum = sums.front();
    for (int64_t part = 0; part < elements; part += elementsAtOnce) {
      auto take = [&](Value vector) -> Value {
        if (elementsAtOnce == elements)
          return vector;
        if (elementsAtOnce == 1)
          return vector::ExtractOp::create(b, vector, part);
        return takePart(b, vector, part, elementsAtOnce);
      };
      Value ofRhs = take(rhs);
      sum = multiplyOnce(take(lhs), ofRhs, sum);
    }
    return {sum};
  }

  SmallVector<ResultRun> getRuns(ValueRange sums, Value lane) override {
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
  void keepOrder() override { ROCDL::SchedBarrier::create(b, /*mask=*/0); }

private:
  int64_t itemBlocks() const { return isReplicated ? 2 : 1; }

  Value multiplyOnce(Value lhs, Value rhs, Value sum) {
    constexpr auto size = uint32_t(fragmentSize);
    if (isMFMA)
      return amdgpu::MFMAOp::create(
          b, sum.getType(), size, size, uint32_t(depth), /*blocks=*/uint32_t(1),
          lhs, rhs, sum, /*cbsz=*/uint32_t(0),
          /*abid=*/uint32_t(0), amdgpu::MFMAPermB::none,
          /*reducePrecision=*/isTF32);
    return amdgpu::WMMAOp::create(b, sum.getType(), size, size, uint32_t(depth),
                                  lhs, rhs, sum);
  }

  IndexBuilder &b;
  bool isMFMA, isReplicated, isTF32;
  int64_t depth;
  /// Groups of 16 lanes that hold different blocks.
  int64_t groups;
  /// Of a fragment, in each lane.
  int64_t resultElements;
};
} // namespace

//===----------------------------------------------------------------------===//
// NVIDIA
//===----------------------------------------------------------------------===//

namespace {
/// mma.sync, whose operands come by ldmatrix: that reads four matrices of 8
/// rows and a block each, whose rows' addresses the lanes give, 8 to a matrix.
/// An instruction makes 8 columns, so that there are two for a fragment.
class MmaSyncProduct : public WaveProduct {
public:
  MmaSyncProduct(IndexBuilder &b, const ChipInfo &chip, Type multiplied)
      : b(b), instruction(*getMatrixInstruction(chip, multiplied)),
        multiplied(multiplied), element(getTileType(multiplied)) {}

  int64_t getFragmentBlocks() const override { return 2; }

  /// The order of the four is that of the instruction's registers: of A rows
  /// first, of B blocks first.
  Value getOffset(OperandTile &tile, Value row, Value lane,
                  bool isRhs) override {
    Value inMatrix = b.remainder(lane, 8);
    Value even = b.remainder(b.divide(lane, 8), 2);
    Value half = b.divide(lane, 16);
    if (isRhs)
      std::swap(even, half);
    Value inFragment = b.add(inMatrix, b.multiply(even, 8));
    return tile.getOffset(b.add(row, inFragment), half);
  }

  Value load(OperandTile &tile, Value place, int64_t row,
             int64_t block) override {
    int64_t elements = 32 / element.getIntOrFloatBitWidth();
    auto type = VectorType::get({4, elements}, element);
    Value fragment = nvgpu::LdMatrixOp::create(
        b, type, tile.getMemory(), tile.getElement(place, row, block),
        /*transpose=*/false, /*numTiles=*/4);
    return multiplied.isTF32() ? round(fragment) : fragment;
  }

  SmallVector<Value> makeZeros() override {
    return SmallVector<Value>(8, b.zero(b.getF32Type()));
  }

  /// nvgpu.mma.sync knows no bf16, so that this is what it would become.
  SmallVector<Value> multiply(Value lhs, Value rhs, ValueRange sums) override {
    SmallVector<Value> as = getRegisters(lhs), bs = getRegisters(rhs);
    Type f32 = b.getF32Type();
    Type four =
        LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
    NVVM::MMATypes type = multiplied.isTF32()  ? NVVM::MMATypes::tf32
                          : multiplied.isF16() ? NVVM::MMATypes::f16
                                               : NVVM::MMATypes::bf16;
    SmallVector<Value> results;
    for (size_t half : {0, 1}) {
      Value sum = NVVM::MmaOp::create(
          b, four, as, ArrayRef<Value>(bs).slice(half * 2, 2),
          sums.slice(half * 4, 4),
          ArrayRef<int64_t>{instruction.rows, instruction.columns,
                            instruction.depth},
          /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
          std::array<NVVM::MMATypes, 2>{type, type},
          std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                         NVVM::MMALayout::col});
      for (int64_t i = 0; i < 4; ++i)
        results.push_back(LLVM::ExtractValueOp::create(b, sum, i));
    }
    return results;
  }

  SmallVector<ResultRun> getRuns(ValueRange sums, Value lane) override {
    Value row = b.divide(lane, 4);
    Value column = b.multiply(b.remainder(lane, 4), 2);
    auto pair = VectorType::get({2}, b.getF32Type());
    SmallVector<ResultRun> runs;
    for (int64_t i = 0; i < int64_t(sums.size()) / 2; ++i)
      runs.push_back({vector::FromElementsOp::create(
                          b, pair, sums.slice(size_t(i) * 2, 2)),
                      b.add(row, i % 2 * 8), b.add(column, i / 2 * 8)});
    return runs;
  }

  void emitBarrier() override { gpu::BarrierOp::create(b); }
  void keepOrder() override {}

private:
  /// As the instruction has them: two elements each, or one of float32.
  SmallVector<Value> getRegisters(Value fragment) {
    SmallVector<Value> registers;
    for (int64_t i = 0; i < 4; ++i) {
      Value bits = vector::ExtractOp::create(b, fragment, i);
      if (multiplied.isBF16())
        bits = LLVM::BitcastOp::create(b, b.getI32Type(), bits);
      registers.push_back(bits);
    }
    return registers;
  }

  /// The instruction takes numbers that are tf32 already, as i32: what other
  /// bits do is not said.
  Value round(Value fragment) {
    SmallVector<Value> numbers;
    for (int64_t i = 0; i < 4; ++i) {
      Value number =
          vector::ExtractOp::create(b, fragment, ArrayRef<int64_t>{i, 0});
      numbers.push_back(NVVM::ConvertFloatToTF32Op::create(
          b, b.getI32Type(), number, NVVM::FPRoundingMode::RNA));
    }
    auto type = VectorType::get({4}, b.getI32Type());
    return vector::FromElementsOp::create(b, type, numbers);
  }

  IndexBuilder &b;
  MatrixInstruction instruction;
  /// What elements are multiplied as, and what they are in a fragment.
  Type multiplied, element;
};
} // namespace

//===----------------------------------------------------------------------===//
// Without matrix instructions
//===----------------------------------------------------------------------===//

namespace {
/// Fused multiply-adds in float32, for any chip: the workgroup is one wave, of
/// a work-item for each element of a fragment.
class FmaProduct : public WaveProduct {
public:
  explicit FmaProduct(IndexBuilder &b) : b(b) {}

  int64_t getFragmentBlocks() const override { return 1; }

  Value getOffset(OperandTile &tile, Value row, Value lane,
                  bool isRhs) override {
    Value inFragment =
        isRhs ? b.remainder(lane, fragmentSize) : b.divide(lane, fragmentSize);
    return tile.getOffset(b.add(row, inFragment), b.index(0));
  }

  Value load(OperandTile &tile, Value place, int64_t row,
             int64_t block) override {
    return tile.readBlock(place, row, block);
  }

  SmallVector<Value> makeZeros() override { return {b.zero(b.getF32Type())}; }

  SmallVector<Value> multiply(Value lhs, Value rhs, ValueRange sums) override {
    Value sum = sums.front();
    int64_t elements = cast<VectorType>(lhs.getType()).getNumElements();
    for (int64_t i = 0; i < elements; ++i) {
      Value ofLhs = vector::ExtractOp::create(b, lhs, i);
      Value ofRhs = vector::ExtractOp::create(b, rhs, i);
      sum = math::FmaOp::create(b, ofLhs, ofRhs, sum);
    }
    return {sum};
  }

  SmallVector<ResultRun> getRuns(ValueRange sums, Value lane) override {
    auto one = VectorType::get({1}, b.getF32Type());
    return {{vector::BroadcastOp::create(b, one, sums.front()),
             b.divide(lane, fragmentSize), b.remainder(lane, fragmentSize)}};
  }

  void emitBarrier() override { gpu::BarrierOp::create(b); }
  void keepOrder() override {}

private:
  IndexBuilder &b;
};
} // namespace

std::unique_ptr<WaveProduct>
WaveProduct::make(IndexBuilder &b, const ChipInfo &chip, Type multiplied) {
  if (!multiplied)
    return std::make_unique<FmaProduct>(b);
  if (chip.matrixUnit == MatrixUnit::MmaSync)
    return std::make_unique<MmaSyncProduct>(b, chip, multiplied);
  return std::make_unique<AMDProduct>(b, chip, multiplied);
}
