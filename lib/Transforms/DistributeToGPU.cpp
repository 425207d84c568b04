//===- DistributeToGPU.cpp - Row programs to kernels and launches ---------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The frame around the kernels: a GPU module for each function, a kernel with
// its bare parameters for each row program, and the launch in its place. The
// bodies are RowKernelEmitter's.
//
//===----------------------------------------------------------------------===//

#include "ArgumentRoles.h"
#include "LaunchCounts.h"
#include "RowKernelEmitter.h"
#include "TargetOps.h"

#include "lnbwd/Target/LaunchPlan.h"
#include "lnbwd/Transforms/Passes.h"
#include "lnbwd/Transforms/ScheduleLimits.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/SymbolTable.h"

namespace lnbwd {
#define GEN_PASS_DEF_DISTRIBUTETOGPUPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
class DistributeToGPU
    : public lnbwd::impl::DistributeToGPUPassBase<DistributeToGPU> {
public:
  using DistributeToGPUPassBase::DistributeToGPUPassBase;

  void runOnOperation() override;

private:
  LogicalResult check(RowwiseOp op);
  LogicalResult distribute(func::FuncOp function);
  void distribute(RowwiseOp op, gpu::GPUModuleOp module, SymbolTable &symbols);
  gpu::GPUFuncOp makeKernel(RowwiseOp op, gpu::GPUModuleOp module,
                            SymbolTable &symbols);

  const ChipInfo *info = nullptr;
};
} // namespace

/// Operand `index` as a kernel parameter: device memory, typed as its first row
/// whatever its rank. The true number of rows is known from the row count
/// alone, and a static type is what makes the parameter a bare pointer.
static MemRefType getParameterType(RowwiseOp op, unsigned index) {
  auto buffer = cast<MemRefType>(op->getOperand(index).getType());
  auto space = gpu::AddressSpaceAttr::get(buffer.getContext(),
                                          gpu::AddressSpace::Global);
  SmallVector<int64_t> shape;
  switch (getOperandKind(op, index)) {
  case OperandKind::RowBlock:
    shape = {1, op.getRowLength()};
    break;
  case OperandKind::RowScalar:
    shape = {1};
    break;
  case OperandKind::Column:
  case OperandKind::GroupColumn:
    shape = {op.getRowLength()};
    break;
  }
  return MemRefType::get(shape, buffer.getElementType(),
                         MemRefLayoutAttrInterface(), space);
}

/// Casts `buffer` to its parameter type, in the function that launches.
static Value toParameter(OpBuilder &b, Location loc, Value buffer,
                         MemRefType type) {
  auto source = cast<MemRefType>(buffer.getType());
  auto firstRow =
      MemRefType::get(type.getShape(), type.getElementType(),
                      MemRefLayoutAttrInterface(), source.getMemorySpace());
  if (firstRow != source) {
    SmallVector<int64_t> strides(type.getRank(), 1);
    if (type.getRank() == 2)
      strides[0] = type.getDimSize(1);
    buffer = memref::ReinterpretCastOp::create(b, loc, firstRow, buffer,
                                               /*offset=*/0, type.getShape(),
                                               strides);
  }
  return memref::MemorySpaceCastOp::create(b, loc, type, buffer);
}

/// Gives a parameter its true number of rows back, in the kernel. With
/// `firstRow`, which may be null, it begins there; of a group column, that row
/// is all there is.
static Value fromParameter(OpBuilder &b, Location loc, Value parameter,
                           OperandKind kind, int64_t stride, Value count,
                           Value firstRow) {
  if (kind == OperandKind::Column)
    return parameter;
  auto type = cast<MemRefType>(parameter.getType());
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<OpFoldResult> sizes;
  SmallVector<int64_t> strides{1};
  if (kind == OperandKind::GroupColumn) {
    sizes = {b.getIndexAttr(shape[0])};
  } else {
    shape[0] = ShapedType::kDynamic;
    sizes = {count};
  }
  if (kind == OperandKind::RowBlock) {
    sizes.push_back(b.getIndexAttr(shape[1]));
    strides.insert(strides.begin(), stride);
  }
  OpFoldResult offset = b.getIndexAttr(0);
  if (firstRow) {
    Value distance = arith::ConstantIndexOp::create(b, loc, stride);
    offset = arith::MulIOp::create(b, loc, firstRow, distance).getResult();
  }
  MemRefLayoutAttrInterface layout;
  if (firstRow || (shape.size() == 2 && stride != shape[1]))
    layout = StridedLayoutAttr::get(
        b.getContext(), firstRow ? ShapedType::kDynamic : 0, strides);
  auto result = MemRefType::get(shape, type.getElementType(), layout,
                                type.getMemorySpace());
  return memref::ReinterpretCastOp::create(
      b, loc, result, parameter, offset, sizes,
      getAsIndexOpFoldResult(b.getContext(), strides));
}

gpu::GPUFuncOp DistributeToGPU::makeKernel(RowwiseOp op,
                                           gpu::GPUModuleOp module,
                                           SymbolTable &symbols) {
  Location loc = op.getLoc();
  OpBuilder b(op.getContext());
  SmallVector<Type> parameters;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    parameters.push_back(getParameterType(op, i));
  parameters.append(2, b.getI64Type());

  auto kernel = gpu::GPUFuncOp::create(b, loc, op.getEntry(),
                                       b.getFunctionType(parameters, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel->setAttr(kernelInfoAttr,
                  KernelInfoAttr::get(op.getContext(), op.getEntryAttr(),
                                      op.getRowLength(), *op.getSchedule()));
  auto threads = int32_t(op.getSchedule()->getThreads());
  kernel.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({threads, 1, 1}));
  if (auto split = int32_t(op.getSchedule()->getWorkgroupsPerRow()); split > 1)
    kernel.setKnownClusterSizeAttr(b.getDenseI32ArrayAttr({1, split, 1}));
  // Outputs may overwrite row blocks, never the columns; nor the scalars, but
  // whether to say so of them is the target's choice. Where they are loaded
  // ahead, the code generator would move loads that nothing can change to where
  // they are used.
  const TargetOps &target = TargetOps::get(info->backend);
  bool scalarsToo =
      target.avoidsRepeatedReads() && !dropsLoads(*op.getSchedule(), target);
  for (unsigned i = 0; i < op.getNumDpsInputs(); ++i) {
    OperandKind kind = getOperandKind(op, i);
    if (kind == OperandKind::RowBlock ||
        (kind == OperandKind::RowScalar && !scalarsToo))
      continue;
    for (StringRef name : {LLVM::LLVMDialect::getNoAliasAttrName(),
                           LLVM::LLVMDialect::getReadonlyAttrName()})
      kernel.setArgAttr(i, name, b.getUnitAttr());
  }
  symbols.insert(kernel);

  b.setInsertionPointToEnd(&kernel.getBody().front());
  unsigned numOperands = op->getNumOperands();
  auto toIndex = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
  };
  // Of a program with groups all that the emitter sees are the rows and the
  // workgroups of one group: the buffers begin with the group's own.
  Value rows = toIndex(kernel.getArgument(numOperands));
  Value workgroups = toIndex(kernel.getArgument(numOperands + 1));
  Value group;
  if (op.getGroupOperand())
    group = gpu::BlockIdOp::create(b, loc, gpu::Dimension::z);
  auto firstOfGroup = [&](Value perGroup) -> Value {
    return group ? arith::MulIOp::create(b, loc, group, perGroup) : Value();
  };
  Value firstRow = firstOfGroup(rows);
  SmallVector<Value> buffers;
  for (unsigned i = 0; i < numOperands; ++i) {
    bool isPartial =
        op.hasPartialSums() && i >= numOperands - op.getAllSums().size();
    OperandKind kind = getOperandKind(op, i);
    int64_t stride = 1;
    Value count = rows, first = firstRow;
    if (kind == OperandKind::RowBlock)
      stride = op.getRowStride(i);
    if (isPartial) {
      count = workgroups;
      first = firstOfGroup(workgroups);
    }
    if (kind == OperandKind::GroupColumn) {
      stride = op.getRowLength();
      first = group;
    }
    buffers.push_back(fromParameter(b, loc, kernel.getArgument(i), kind, stride,
                                    count, first));
  }
  RowKernelEmitter(op, *info, kernel, buffers, rows, workgroups).emit();
  return kernel;
}

void DistributeToGPU::distribute(RowwiseOp op, gpu::GPUModuleOp module,
                                 SymbolTable &symbols) {
  gpu::GPUFuncOp kernel = makeKernel(op, module, symbols);
  ++numKernels;

  OpBuilder b(op);
  Location loc = op.getLoc();
  ScheduleAttr schedule = *op.getSchedule();
  LaunchCounts counts = makeLaunchCounts(b, op);
  int64_t tile = schedule.getColumnTile();
  int64_t tiles = tile ? llvm::divideCeil(op.getRowLength(), tile)
                       : schedule.getWorkgroupsPerRow();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  Value one = constant(1);
  SmallVector<Value> arguments;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    arguments.push_back(
        toParameter(b, loc, op->getOperand(i),
                    cast<MemRefType>(kernel.getArgument(i).getType())));
  for (Value count : {counts.rows, counts.workgroups})
    arguments.push_back(
        arith::IndexCastOp::create(b, loc, b.getI64Type(), count));
  Value stagingBytes;
  if (int64_t bytes = getLaunchedSharedBytes(op, schedule, *info))
    stagingBytes = arith::ConstantIntOp::create(b, loc, bytes, 32);
  std::optional<gpu::KernelDim3> clusterSize;
  if (schedule.getWorkgroupsPerRow() > 1)
    clusterSize = gpu::KernelDim3{one, constant(tiles), one};
  auto launch = gpu::LaunchFuncOp::create(
      b, loc, kernel,
      gpu::KernelDim3{counts.workgroups, constant(tiles),
                      counts.groups ? counts.groups : one},
      gpu::KernelDim3{constant(schedule.getThreads()), one, one}, stagingBytes,
      arguments, /*asyncTokenType=*/Type(), /*asyncDependencies=*/ValueRange(),
      clusterSize);
  if (schedule.getEarlyStart())
    launch->setAttr(earlyStartAttr, b.getUnitAttr());
}

LogicalResult DistributeToGPU::check(RowwiseOp op) {
  if (!op.hasPureBufferSemantics())
    return op.emitOpError("expected memrefs; run bufferization before");
  std::optional<ScheduleAttr> schedule = op.getSchedule();
  if (!schedule)
    return op.emitOpError(
        "expected a schedule; run lnbwd-select-schedule before");
  if (failed(checkSchedule(op, *schedule, *info,
                           [&] { return op.emitOpError(); })) ||
      failed(checkDistributable(op)))
    return failure();
  // One workgroup has all rows of a group at most.
  bool isWhole = schedule->getRowsPerWorkgroup() == 0 &&
                 (op.getColumnSums().empty() || !op.getGroupOperand());
  if (!op.getAllSums().empty() && !op.hasPartialSums() && !isWhole)
    return op.emitOpError(
        "expected partial column sums, or one workgroup for all rows; run "
        "lnbwd-finalize-column-sums before");
  return success();
}

/// Notes on a function's arguments how its programs access them.
static void recordArgumentAccess(RowwiseOp op, func::FuncOp function) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand.get());
    if (!argument)
      continue;
    unsigned number = argument.getArgNumber();
    auto known =
        function.getArgAttrOfType<StringAttr>(number, argumentAccessAttr);
    StringRef access = op.isDpsInit(&operand) ? "write" : "read";
    if (op.getAccumulate() && op.isDpsInit(&operand) &&
        llvm::is_contained(op.getAllSums(), operand.get()))
      access = "read_write";
    // An argument that one operand reads and another writes is both.
    if (known && known != access)
      access = "read_write";
    function.setArgAttr(number, argumentAccessAttr,
                        StringAttr::get(op.getContext(), access));
  }
}

LogicalResult DistributeToGPU::distribute(func::FuncOp function) {
  SmallVector<RowwiseOp> programs;
  function.walk([&](RowwiseOp op) { programs.push_back(op); });
  if (programs.empty())
    return success();
  for (RowwiseOp op : programs) {
    if (op->getParentOp() != function)
      return op.emitOpError("expected to be at the top level of its function: "
                            "a launch plan has no loops or branches");
    if (failed(check(op)))
      return failure();
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      if (!isa<BlockArgument>(operand) &&
          !operand.getDefiningOp<memref::AllocOp>())
        return op.emitOpError("expected operand ")
               << index << " (" << op.getOperandName(index)
               << ") to be an argument of the function or a memref.alloc in "
                  "it: a launch plan has no other buffers";
  }

  auto module = getOperation();
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                  UnitAttr::get(&getContext()));
  OpBuilder b(function);
  auto gpuModule =
      gpu::GPUModuleOp::create(b, function.getLoc(), function.getName());
  // The function keeps its name; a module beside it needs another.
  SymbolTable moduleSymbols(module);
  gpuModule.setName((function.getName() + "_kernels").str());
  moduleSymbols.insert(gpuModule, Block::iterator(function));
  SymbolTable symbols(gpuModule);
  for (RowwiseOp op : programs) {
    if (failed(recordArgumentRoles(op)))
      return failure();
    recordArgumentAccess(op, function);
    distribute(op, gpuModule, symbols);
    op.erase();
  }
  return success();
}

void DistributeToGPU::runOnOperation() {
  FailureOr<const ChipInfo *> found =
      lookupChip(chip, [&] { return emitError(getOperation().getLoc()); });
  if (failed(found))
    return signalPassFailure();
  info = *found;
  for (auto function :
       llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
    if (failed(distribute(function)))
      return signalPassFailure();
}
