//===- ProductToGPU.cpp - Products of matrices to kernels -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One plain tiled kernel for all chips, types and sizes. A work-item has 4 x 4
// elements of the result that lie 16 apart, so that neighbours read neighbours
// of a tile in workgroup memory, whose rows are one element longer than they
// need to be: then columns of it are in different banks, too.
//
//===----------------------------------------------------------------------===//

#include "../RowwiseToLane/KernelFrame.h"

#include "lnbwd/Conversion/Passes.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdProduct.h"
#include "lnbwd/LaunchPlan/ProductRoles.h"
#include "lnbwd/Transforms/Lane/WorkgroupMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/MathExtras.h"

namespace lnbwd {
#define GEN_PASS_DEF_PRODUCTTOGPUPASS
#include "lnbwd/Conversion/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// Elements of a side of a workgroup's tile, of a work-item's, and how many
/// columns of A are in workgroup memory at once.
static constexpr int64_t tileSize = 64, itemSize = 4, depthSize = 16;
static constexpr int64_t itemsPerSide = tileSize / itemSize;
static constexpr int64_t threads = itemsPerSide * itemsPerSide;
static constexpr int64_t tileStride = tileSize + 1;

/// As far as a product has one: what the launch needs is its number of rows for
/// each workgroup.
static ScheduleAttr getProductSchedule(MLIRContext *context) {
  return ScheduleAttr::get(
      context, threads, /*row_groups=*/1, /*vector_width=*/1, tileSize,
      /*workgroups_per_compute_unit=*/0, /*workgroups_per_row=*/1,
      /*column_tile=*/0, /*prefetch=*/0, /*unroll=*/1, /*stages=*/0,
      /*early_start=*/false, /*reload=*/false);
}

namespace {
/// A matrix as the kernel reads it: element (i, l) of A, or (j, l) of B, l
/// being what is summed over.
struct Source {
  Value buffer;
  /// Whether l counts the columns of the buffer.
  bool isAlongRows;
  /// How many i or j, and l there are.
  Value size, depth;
};

class ProductWriter {
public:
  ProductWriter(ProductOp op, gpu::GPUModuleOp module)
      : op(op), sizes(op.getSizes()), module(module),
        b(op.getLoc(), op.getContext()) {}

  void writeKernel();
  void addLaunch();

private:
  MemRefType getParameterType(Value buffer);
  /// The buffer with its true number of rows.
  Value getMatrix(unsigned parameter, int64_t rows);
  /// Brings a tile of `tileSize` by `depthSize` elements to `memory`, the part
  /// of all work-items.
  void fillTile(const Source &source, Value memory, Value first, Value depth);
  SmallVector<Value> multiplyTiles(ValueRange accumulators);
  void storeResult(Value result, ValueRange accumulators, Value rows,
                   Value columns);

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value multiply(Value x, int64_t y) {
    return arith::MulIOp::create(b, x, index(y));
  }
  Value less(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y);
  }
  Value zero() { return arith::ConstantOp::create(b, b.getF32FloatAttr(0)); }
  /// The body of `if (condition)`; what it yields, or 0 where it is not so.
  Value loadWhere(Value condition, Value buffer, ValueRange position);

  ProductOp op;
  ProductOp::Sizes sizes;
  gpu::GPUModuleOp module;
  ImplicitLocOpBuilder b;
  gpu::GPUFuncOp kernel;
  Value launched, thread, itemRow, itemColumn, tileA, tileB;
};
} // namespace

MemRefType ProductWriter::getParameterType(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Global);
  return MemRefType::get({1, type.getDimSize(1)}, type.getElementType(),
                         MemRefLayoutAttrInterface(), space);
}

Value ProductWriter::getMatrix(unsigned parameter, int64_t rows) {
  Value buffer = kernel.getArgument(parameter);
  auto type = cast<MemRefType>(buffer.getType());
  int64_t columns = type.getDimSize(1);
  auto result =
      MemRefType::get({rows, columns}, type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace());
  OpFoldResult count = b.getIndexAttr(rows);
  if (ShapedType::isDynamic(rows))
    count = launched;
  SmallVector<OpFoldResult> shape{count, b.getIndexAttr(columns)};
  SmallVector<OpFoldResult> strides{b.getIndexAttr(columns), b.getIndexAttr(1)};
  return memref::ReinterpretCastOp::create(b, result, buffer, b.getIndexAttr(0),
                                           shape, strides);
}

Value ProductWriter::loadWhere(Value condition, Value buffer,
                               ValueRange position) {
  auto branch = scf::IfOp::create(b, b.getF32Type(), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value value = memref::LoadOp::create(b, buffer, position);
  if (!value.getType().isF32())
    value = arith::ExtFOp::create(b, b.getF32Type(), value);
  scf::YieldOp::create(b, value);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, zero());
  return branch.getResult(0);
}

void ProductWriter::fillTile(const Source &source, Value memory, Value first,
                             Value depth) {
  // Neighbouring work-items take neighbouring elements of the buffer.
  int64_t inner = source.isAlongRows ? depthSize : tileSize;
  for (int64_t part = 0; part < tileSize * depthSize; part += threads) {
    Value element = add(thread, index(part));
    Value fast = arith::RemUIOp::create(b, element, index(inner));
    Value slow = arith::DivUIOp::create(b, element, index(inner));
    Value side = source.isAlongRows ? slow : fast;
    Value along = source.isAlongRows ? fast : slow;
    Value i = add(first, side), l = add(depth, along);
    Value exists =
        arith::AndIOp::create(b, less(i, source.size), less(l, source.depth));
    SmallVector<Value> position{i, l};
    if (!source.isAlongRows)
      std::swap(position[0], position[1]);
    Value value = loadWhere(exists, source.buffer, position);
    memref::StoreOp::create(b, value, memory,
                            add(multiply(along, tileStride), side));
  }
}

SmallVector<Value> ProductWriter::multiplyTiles(ValueRange accumulators) {
  auto loop =
      scf::ForOp::create(b, index(0), index(depthSize), index(1), accumulators);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value row = multiply(loop.getInductionVar(), tileStride);
  auto loadSide = [&](Value memory, Value item) {
    SmallVector<Value> values;
    for (int64_t i = 0; i < itemSize; ++i)
      values.push_back(memref::LoadOp::create(
          b, memory, add(add(row, item), index(i * itemsPerSide))));
    return values;
  };
  SmallVector<Value> as = loadSide(tileA, itemRow);
  SmallVector<Value> bs = loadSide(tileB, itemColumn);
  SmallVector<Value> sums;
  for (int64_t i = 0; i < itemSize * itemSize; ++i)
    sums.push_back(math::FmaOp::create(b, as[size_t(i / itemSize)],
                                       bs[size_t(i % itemSize)],
                                       loop.getRegionIterArg(unsigned(i))));
  scf::YieldOp::create(b, sums);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void ProductWriter::storeResult(Value result, ValueRange accumulators,
                                Value rows, Value columns) {
  Value firstRow =
      add(multiply(gpu::BlockIdOp::create(b, gpu::Dimension::x), tileSize),
          itemRow);
  Value firstColumn =
      add(multiply(gpu::BlockIdOp::create(b, gpu::Dimension::y), tileSize),
          itemColumn);
  for (int64_t i = 0; i < itemSize * itemSize; ++i) {
    Value row = add(firstRow, index(i / itemSize * itemsPerSide));
    Value column = add(firstColumn, index(i % itemSize * itemsPerSide));
    Value exists =
        arith::AndIOp::create(b, less(row, rows), less(column, columns));
    auto branch = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    memref::StoreOp::create(b, accumulators[size_t(i)], result,
                            ValueRange{row, column});
  }
}

void ProductWriter::writeKernel() {
  SmallVector<Type> parameters;
  for (Value buffer : op->getOperands())
    parameters.push_back(getParameterType(buffer));
  parameters.push_back(b.getI64Type());
  kernel = gpu::GPUFuncOp::create(b, op.getEntry(),
                                  b.getFunctionType(parameters, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel->setAttr(kernelInfoAttr,
                  KernelInfoAttr::get(b.getContext(), op.getEntryAttr(),
                                      sizes.columns,
                                      getProductSchedule(b.getContext())));
  kernel.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({threads, 1, 1}));
  SymbolTable(module).insert(kernel);
  for (unsigned i : {0, 1})
    for (StringRef name : {LLVM::LLVMDialect::getNoAliasAttrName(),
                           LLVM::LLVMDialect::getReadonlyAttrName()})
      kernel.setArgAttr(i, name, b.getUnitAttr());
  tileA =
      lane::addWorkgroupMemory(kernel, tileStride * depthSize, b.getF32Type());
  tileB =
      lane::addWorkgroupMemory(kernel, tileStride * depthSize, b.getF32Type());

  b.setInsertionPointToEnd(&kernel.getBody().front());
  launched =
      arith::IndexCastOp::create(b, b.getIndexType(), kernel.getArgument(3));
  auto size = [&](int64_t known) {
    return ShapedType::isDynamic(known) ? launched : index(known);
  };
  Value rows = size(sizes.rows), columns = size(sizes.columns),
        depth = size(sizes.depth);
  bool isLhsAlongRows = !op.getLhsTransposed();
  bool isRhsAlongRows = op.getRhsTransposed();
  Source lhs{getMatrix(0, isLhsAlongRows ? sizes.rows : sizes.depth),
             isLhsAlongRows, rows, depth};
  Source rhs{getMatrix(1, isRhsAlongRows ? sizes.columns : sizes.depth),
             isRhsAlongRows, columns, depth};
  Value result = getMatrix(2, sizes.rows);

  thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  itemRow = arith::DivUIOp::create(b, thread, index(itemsPerSide));
  itemColumn = arith::RemUIOp::create(b, thread, index(itemsPerSide));
  Value firstRow =
      multiply(gpu::BlockIdOp::create(b, gpu::Dimension::x), tileSize);
  Value firstColumn =
      multiply(gpu::BlockIdOp::create(b, gpu::Dimension::y), tileSize);
  SmallVector<Value> accumulators(itemSize * itemSize, zero());
  auto loop =
      scf::ForOp::create(b, index(0), depth, index(depthSize), accumulators);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    fillTile(lhs, tileA, firstRow, loop.getInductionVar());
    fillTile(rhs, tileB, firstColumn, loop.getInductionVar());
    gpu::BarrierOp::create(b);
    SmallVector<Value> sums = multiplyTiles(loop.getRegionIterArgs());
    gpu::BarrierOp::create(b);
    scf::YieldOp::create(b, sums);
  }
  storeResult(result, loop.getResults(), rows, columns);
  gpu::ReturnOp::create(b);
}

void ProductWriter::addLaunch() {
  OpBuilder at(op);
  Location loc = op.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(at, loc, value);
  };
  Value rowCount = RowCountOp::create(at, loc, op.getLhs());
  Value tiles;
  if (ShapedType::isDynamic(sizes.rows))
    tiles = WorkgroupCountOp::create(at, loc, rowCount, Value(),
                                     getProductSchedule(at.getContext()));
  else
    tiles = constant(llvm::divideCeil(sizes.rows, tileSize));
  SmallVector<Value> arguments;
  for (auto [i, buffer] : llvm::enumerate(op->getOperands()))
    arguments.push_back(toParameter(
        at, loc, buffer,
        cast<MemRefType>(kernel.getArgument(unsigned(i)).getType())));
  arguments.push_back(
      arith::IndexCastOp::create(at, loc, at.getI64Type(), rowCount));
  Value one = constant(1);
  gpu::LaunchFuncOp::create(
      at, loc, kernel,
      gpu::KernelDim3{tiles,
                      constant(llvm::divideCeil(sizes.columns, tileSize)), one},
      gpu::KernelDim3{constant(threads), one, one},
      /*dynamicSharedMemorySize=*/Value(), arguments);
}

namespace {
class ProductToGPU : public lnbwd::impl::ProductToGPUPassBase<ProductToGPU> {
public:
  using ProductToGPUPassBase::ProductToGPUPassBase;

  void runOnOperation() override {
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (failed(convert(function)))
        return signalPassFailure();
  }

private:
  LogicalResult convert(func::FuncOp function) {
    SmallVector<ProductOp> products;
    function.walk([&](ProductOp op) { products.push_back(op); });
    if (products.empty())
      return success();
    gpu::GPUModuleOp module;
    function.walk([&](gpu::LaunchFuncOp launch) {
      module = getOperation().lookupSymbol<gpu::GPUModuleOp>(
          launch.getKernelModuleName());
    });
    if (!module)
      module = makeKernelModule(function);
    for (ProductOp op : products) {
      if (op->getParentOp() != function)
        return op.emitOpError("expected to be at the top level of its "
                              "function: a launch plan has no loops or "
                              "branches");
      if (failed(recordProductRoles(op)))
        return failure();
      recordAccess(op.getLhs(), "read");
      recordAccess(op.getRhs(), "read");
      recordAccess(op.getOut(), "write");
      ProductWriter writer(op, module);
      writer.writeKernel();
      writer.addLaunch();
      op.erase();
      ++numKernels;
    }
    return success();
  }
};
} // namespace
