//===- ProductKernel.cpp - What kernels of products share -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters, sizes and launches. Where a sum is taken apart, the parts are
// matrices side by side in a workspace, and a second kernel adds them in their
// order.
//
//===----------------------------------------------------------------------===//

#include "ProductKernel.h"

#include "../RowwiseToLane/KernelFrame.h"

#include "lnbwd/Analysis/ProductTiling.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Transforms/Lane/WorkgroupMemory.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// The region of an epilogue or a prologue
//===----------------------------------------------------------------------===//

Value ProductRegion::clampRow(Value row) {
  return b.smaller(row, b.subtract(rows, b.index(1)));
}

Value ProductRegion::clampColumn(Value column, int64_t width) {
  return b.smaller(column, b.index(columns - width));
}

Value ProductRegion::loadVector(Value buffer, ValueRange position,
                                int64_t width) {
  auto type = VectorType::get(
      {width}, cast<MemRefType>(buffer.getType()).getElementType());
  return vector::LoadOp::create(b, type, buffer, position,
                                /*nontemporal=*/false,
                                lane::getAccessAlignment(type));
}

SmallVector<Value> ProductRegion::loadColumns(Value column, int64_t width) {
  Value begin = clampColumn(column, width);
  return llvm::map_to_vector(buffers.columns, [&](Value buffer) {
    return loadVector(buffer, begin, width);
  });
}

SmallVector<Value> ProductRegion::loadRows(Value row, Value column,
                                           int64_t width) {
  SmallVector<Value> position{clampRow(row), clampColumn(column, width)};
  return llvm::map_to_vector(buffers.rows, [&](Value buffer) {
    return loadVector(buffer, position, width);
  });
}

void ProductRegion::copyOp(Operation &bodyOp, int64_t width,
                           IRMapping &mapping) {
  auto shorten = [&](Type type) -> Type {
    auto row = dyn_cast<VectorType>(type);
    return row ? VectorType::get({width}, row.getElementType()) : type;
  };
  if (auto constant = dyn_cast<arith::ConstantOp>(bodyOp)) {
    TypedAttr value = constant.getValue();
    if (auto splat = dyn_cast<SplatElementsAttr>(value))
      value = splat.resizeSplat(cast<VectorType>(shorten(splat.getType())));
    mapping.map(constant.getResult(), arith::ConstantOp::create(b, value));
    return;
  }
  Operation *copy = b.clone(bodyOp, mapping);
  for (Value result : copy->getResults())
    result.setType(shorten(result.getType()));
}

SmallVector<Value> ProductRegion::loadScalars(Value row) {
  Value position = clampRow(row);
  return llvm::map_to_vector(buffers.scalars, [&](Value buffer) -> Value {
    return memref::LoadOp::create(b, buffer, position);
  });
}

IRMapping ProductRegion::computeScalars(ValueRange numbers) {
  IRMapping mapping;
  Block &body = region.front();
  for (auto [argument, number] :
       llvm::zip_equal(body.getArguments().take_back(numbers.size()), numbers))
    mapping.map(argument, number);
  for (Operation &bodyOp : body.without_terminator())
    if (!hasRows(bodyOp))
      copyOp(bodyOp, /*width=*/1, mapping);
  return mapping;
}

Value ProductRegion::apply(Value first, const IRMapping &scalars,
                           ValueRange rowVectors, ValueRange columnVectors) {
  IRMapping mapping = scalars;
  Block &body = region.front();
  int64_t width = cast<VectorType>(first.getType()).getNumElements();
  SmallVector<Value> vectors{first};
  llvm::append_range(vectors, rowVectors);
  llvm::append_range(vectors, columnVectors);
  for (auto [argument, vector] :
       llvm::zip(body.getArguments().take_front(vectors.size()), vectors))
    mapping.map(argument, vector);
  for (Operation &bodyOp : body.without_terminator())
    if (hasRows(bodyOp))
      copyOp(bodyOp, width, mapping);
  return mapping.lookup(cast<ProductYieldOp>(body.getTerminator()).getRow());
}

//===----------------------------------------------------------------------===//
// Kernels and their launches
//===----------------------------------------------------------------------===//

/// The first parameters of a kernel: A, B and the result.
static constexpr size_t numMatrices = 3;
/// Work-items of a workgroup that adds parts, an element each.
static constexpr int64_t sumThreads = 256;

/// As far as a product has one: the launch needs the rows that a workgroup
/// makes, and the report the columns.
static ScheduleAttr getSchedule(MLIRContext *context, int64_t threads,
                                int64_t tileRows, int64_t tileColumns) {
  // As a schedule has it, the lanes of a row share the tile's columns.
  int64_t lanes = std::gcd(threads, tileColumns);
  return ScheduleAttr::get(
      context, lanes, /*row_groups=*/threads / lanes, /*vector_width=*/1,
      /*rows_per_workgroup=*/tileRows, /*workgroups_per_compute_unit=*/0,
      /*workgroups_per_row=*/1, tileColumns, /*prefetch=*/0, /*unroll=*/1,
      /*stages=*/0,
      /*dependent_launch=*/false, /*reload=*/false, /*row_splits=*/0,
      /*prefetch_before_dependency=*/false, /*early_trigger=*/false);
}

/// The first row of a matrix; of what has one dimension all that is static.
static SmallVector<int64_t> getFirstRow(Value buffer) {
  SmallVector<int64_t> shape(cast<MemRefType>(buffer.getType()).getShape());
  if (shape.size() == 2 || ShapedType::isDynamic(shape.front()))
    shape.front() = 1;
  return shape;
}

/// The buffer with its true number of rows, of which `launched` is the one that
/// is dynamic.
static Value getMatrix(IndexBuilder &b, Value buffer, int64_t rowCount,
                       Value launched) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t rowLength = type.getDimSize(1);
  auto matrix =
      MemRefType::get({rowCount, rowLength}, type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace());
  OpFoldResult count = b.getIndexAttr(rowCount);
  if (ShapedType::isDynamic(rowCount))
    count = launched;
  SmallVector<OpFoldResult> shape{count, b.getIndexAttr(rowLength)};
  SmallVector<OpFoldResult> strides{b.getIndexAttr(rowLength),
                                    b.getIndexAttr(1)};
  return memref::ReinterpretCastOp::create(b, matrix, buffer, b.getIndexAttr(0),
                                           shape, strides);
}

/// A number for each row.
static Value getNumbers(IndexBuilder &b, Value buffer, int64_t rowCount,
                        Value launched) {
  auto type = cast<MemRefType>(buffer.getType());
  auto numbers =
      MemRefType::get({rowCount}, type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace());
  OpFoldResult count = b.getIndexAttr(rowCount);
  if (ShapedType::isDynamic(rowCount))
    count = launched;
  return memref::ReinterpretCastOp::create(
      b, numbers, buffer, b.getIndexAttr(0), ArrayRef<OpFoldResult>{count},
      ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
}

gpu::GPUFuncOp ProductKernel::makeKernel(StringRef name, int64_t columnCount,
                                         int64_t threads,
                                         int64_t rowsOfWorkgroup,
                                         ProductLoopAttr loop,
                                         ValueRange buffers) {
  SmallVector<Type> parameters;
  for (Value buffer : buffers)
    parameters.push_back(getParameterType(buffer, getFirstRow(buffer)));
  parameters.push_back(b.getI64Type());
  auto function =
      gpu::GPUFuncOp::create(b, name, b.getFunctionType(parameters, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  // Only the kernel that adds parts goes around over nothing.
  ScheduleAttr schedule =
      getSchedule(b.getContext(), threads, rowsOfWorkgroup,
                  loop.getStep() ? frame.tileColumns : sumThreads);
  function->setAttr(kernelInfoAttr,
                    KernelInfoAttr::get(b.getContext(), b.getStringAttr(name),
                                        columnCount, schedule, loop));
  function.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  SymbolTable(module).insert(function);
  return function;
}

ProductRegion::Buffers ProductKernel::getRegionBuffers(
    gpu::GPUFuncOp function, size_t first, size_t numRows, size_t numColumns,
    size_t numScalars, int64_t rowCount, Value launched) {
  ProductRegion::Buffers buffers;
  auto next = [&]() -> Value {
    return function.getArgument(unsigned(first++));
  };
  for (size_t i = 0; i < numRows; ++i)
    buffers.rows.push_back(getMatrix(b, next(), rowCount, launched));
  for (size_t i = 0; i < numColumns; ++i)
    buffers.columns.push_back(next());
  for (size_t i = 0; i < numScalars; ++i)
    buffers.scalars.push_back(getNumbers(b, next(), rowCount, launched));
  return buffers;
}

void ProductKernel::addEpilogue(gpu::GPUFuncOp function, size_t first,
                                Value rowCount, Value launched) {
  epilogue.emplace(
      b, op.getEpilogue(),
      getRegionBuffers(function, first, op.getEpilogueRows().size(),
                       op.getEpilogueColumns().size(),
                       op.getEpilogueScalars().size(), sizes.rows, launched),
      rowCount, sizes.columns);
}

void ProductKernel::addPrologue(size_t first, Value launched) {
  auto type = cast<MemRefType>(op.getRowOperand().getType());
  prologue.emplace(b, op.getPrologue(),
                   getRegionBuffers(kernel, first, /*numRows=*/0,
                                    op.getPrologueColumns().size(),
                                    op.getPrologueScalars().size(),
                                    ShapedType::kDynamic, launched),
                   launched, type.getDimSize(1));
  (op.getLhsTransposed() ? rhs : lhs).prologue = &*prologue;
}

void ProductKernel::storePieces(ArrayRef<ResultPiece> pieces) {
  SmallVector<SmallVector<Value>> rowVectors(pieces.size()),
      columnVectors(pieces.size());
  for (auto [piece, ofRows, ofColumns] :
       llvm::zip_equal(pieces, rowVectors, columnVectors)) {
    if (!epilogue)
      break;
    int64_t width = cast<VectorType>(piece.sums.getType()).getNumElements();
    ofRows = epilogue->loadRows(piece.row, piece.column, width);
    ofColumns = piece.columns ? *piece.columns
                              : epilogue->loadColumns(piece.column, width);
  }
  for (auto [piece, ofRows, ofColumns] :
       llvm::zip_equal(pieces, rowVectors, columnVectors)) {
    Value isColumn = b.less(piece.column, columns);
    Value exists = b.both(b.less(piece.row, rows), isColumn);
    auto branch = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value vector = piece.sums, column = piece.column;
    if (epilogue)
      vector = epilogue->apply(vector, *piece.scalars, ofRows, ofColumns);
    if (frame.splits > 1)
      column = b.add(column, b.multiply(part, sizes.columns));
    vector::StoreOp::create(
        b, vector, result, ValueRange{piece.row, column},
        /*nontemporal=*/false,
        lane::getAccessAlignment(cast<VectorType>(vector.getType())));
  }
}

void ProductKernel::enterIfRows() {
  if (!ShapedType::isDynamic(sizes.rows))
    return;
  auto hasRows = scf::IfOp::create(b, b.less(b.index(0), rows),
                                   /*withElseRegion=*/false);
  b.setInsertionPointToStart(hasRows.thenBlock());
}

void ProductKernel::writeKernel(ValueRange buffers) {
  int64_t sum = ShapedType::isDynamic(sizes.depth) ? 0 : sizes.depth;
  kernel =
      makeKernel(op.getEntry(), sizes.columns, frame.threads, frame.tileRows,
                 ProductLoopAttr::get(b.getContext(), sum, frame.step,
                                      frame.splits, frame.multiplied),
                 buffers);
  // Not noalias, with which the code generators move loads to where they are
  // used, after the barrier.
  addMemory();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&kernel.getBody().front());
  Value launched = arith::IndexCastOp::create(
      b, b.getIndexType(), kernel.getArgument(unsigned(buffers.size())));
  auto size = [&](int64_t known) {
    return ShapedType::isDynamic(known) ? launched : b.index(known);
  };
  rows = size(sizes.rows);
  columns = size(sizes.columns);
  depth = size(sizes.depth);
  bool isLhsAlongRows = !op.getLhsTransposed();
  bool isRhsAlongRows = op.getRhsTransposed();
  auto matrix = [&](unsigned parameter, int64_t rowCount) {
    return getMatrix(b, kernel.getArgument(parameter), rowCount, launched);
  };
  lhs = {matrix(0, isLhsAlongRows ? sizes.rows : sizes.depth), isLhsAlongRows,
         rows, depth};
  rhs = {matrix(1, isRhsAlongRows ? sizes.columns : sizes.depth),
         isRhsAlongRows, columns, depth};
  result = matrix(2, sizes.rows);
  if (op.hasEpilogue() && frame.splits == 1)
    addEpilogue(kernel, numMatrices, rows, launched);
  if (op.hasPrologue())
    addPrologue(buffers.size() - op.getPrologueOperands().size(), launched);
  thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  firstRow = b.multiply(b.blockId(gpu::Dimension::x), frame.tileRows);
  firstColumn = b.multiply(b.blockId(gpu::Dimension::y), frame.tileColumns);
  writeBody();
  gpu::ReturnOp::create(b);
}

void ProductKernel::launch(OpBuilder &at, gpu::GPUFuncOp function,
                           gpu::KernelDim3 grid, int64_t threads,
                           ValueRange buffers, Value rowCount) {
  Location loc = op.getLoc();
  SmallVector<Value> arguments;
  for (auto [i, buffer] : llvm::enumerate(buffers))
    arguments.push_back(toParameter(
        at, loc, buffer,
        cast<MemRefType>(function.getArgument(unsigned(i)).getType())));
  arguments.push_back(
      arith::IndexCastOp::create(at, loc, at.getI64Type(), rowCount));
  Value one = arith::ConstantIndexOp::create(at, loc, 1);
  Value block = arith::ConstantIndexOp::create(at, loc, threads);
  gpu::LaunchFuncOp::create(at, loc, function, grid,
                            gpu::KernelDim3{block, one, one},
                            /*dynamicSharedMemorySize=*/Value(), arguments);
}

/// A work-item adds the parts of an element; a workgroup has some of a row.
void ProductKernel::writeSum(gpu::GPUFuncOp function) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&function.getBody().front());
  Value launched = arith::IndexCastOp::create(
      b, b.getIndexType(),
      function.getArgument(function.getNumArguments() - 1));
  Value from = getMatrix(b, function.getArgument(0), sizes.rows, launched);
  Value to = getMatrix(b, function.getArgument(1), sizes.rows, launched);
  Value count = launched;
  if (!ShapedType::isDynamic(sizes.rows))
    count = b.index(sizes.rows);
  Value row = b.blockId(gpu::Dimension::x);
  Value item = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  Value column =
      b.add(b.multiply(b.blockId(gpu::Dimension::y), sumThreads), item);
  Value isColumn = b.less(column, b.index(sizes.columns));
  Value exists = b.both(b.less(row, count), isColumn);
  auto branch = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard inBranch(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value sum;
    for (int64_t part = 0; part < frame.splits; ++part) {
      Value term = memref::LoadOp::create(
          b, from, ValueRange{row, b.add(column, part * sizes.columns)});
      sum = sum ? Value(arith::AddFOp::create(b, sum, term)) : term;
    }
    if (op.hasEpilogue()) {
      constexpr size_t firstOperand = 2;
      addEpilogue(function, firstOperand, count, launched);
      Value sums = vector::BroadcastOp::create(
          b, VectorType::get({1}, b.getF32Type()), sum);
      SmallVector<Value> ofColumns = epilogue->loadColumns(column, /*width=*/1);
      SmallVector<Value> ofRows = epilogue->loadRows(row, column, /*width=*/1);
      sums = epilogue->apply(sums, epilogue->computeScalars(row), ofRows,
                             ofColumns);
      sum = vector::ExtractOp::create(b, sums, int64_t(0));
    }
    memref::StoreOp::create(b, sum, to, ValueRange{row, column});
  }
  gpu::ReturnOp::create(b);
}

void ProductKernel::addSum(OpBuilder &at, Value parts, Value rowCount) {
  SmallVector<Value> buffers{parts, op.getOut()};
  llvm::append_range(buffers, op.getEpilogueOperands());
  gpu::GPUFuncOp function = makeKernel(
      (op.getEntry() + "_parts").str(), sizes.columns, sumThreads,
      /*rowsOfWorkgroup=*/1,
      ProductLoopAttr::get(b.getContext(), /*sum=*/0, /*step=*/0, frame.splits,
                           /*multiplied=*/Type()),
      buffers);
  writeSum(function);
  launch(at, function, getGrid(at, rowCount, sumThreads, 1, sumThreads, 1),
         sumThreads, buffers, rowCount);
}

/// Workgroups of so many work-items for all tiles of the result.
gpu::KernelDim3 ProductKernel::getGrid(OpBuilder &at, Value rowCount,
                                       int64_t threads, int64_t tileRows,
                                       int64_t tileColumns, int64_t parts) {
  Location loc = op.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(at, loc, value);
  };
  Value tiles;
  if (ShapedType::isDynamic(sizes.rows))
    tiles = WorkgroupCountOp::create(
        at, loc, rowCount, Value(),
        getSchedule(at.getContext(), threads, tileRows, tileColumns));
  else
    tiles = constant(llvm::divideCeil(sizes.rows, tileRows));
  return {tiles, constant(llvm::divideCeil(sizes.columns, tileColumns)),
          constant(parts)};
}

unsigned ProductKernel::convert() {
  OpBuilder at(op);
  Location loc = op.getLoc();
  Value rowCount = RowCountOp::create(at, loc, op.getLhs());
  SmallVector<Value> buffers{op.getLhs(), op.getRhs(), op.getOut()};
  bool isSplit = frame.splits > 1;
  if (isSplit) {
    SmallVector<Value> dynamicSizes;
    if (ShapedType::isDynamic(sizes.rows))
      dynamicSizes.push_back(rowCount);
    auto type = MemRefType::get({sizes.rows, frame.splits * sizes.columns},
                                at.getF32Type());
    buffers.back() = memref::AllocOp::create(at, loc, type, dynamicSizes);
  }
  Value written = buffers.back();
  if (!isSplit)
    llvm::append_range(buffers, op.getEpilogueOperands());
  llvm::append_range(buffers, op.getPrologueOperands());
  writeKernel(buffers);
  launch(at, kernel,
         getGrid(at, rowCount, frame.threads, frame.tileRows, frame.tileColumns,
                 frame.splits),
         frame.threads, buffers, rowCount);
  if (!isSplit)
    return 1;
  addSum(at, written, rowCount);
  memref::DeallocOp::create(at, loc, written);
  return 2;
}
