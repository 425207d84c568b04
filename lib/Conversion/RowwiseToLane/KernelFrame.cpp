//===- KernelFrame.cpp - What is around a kernel's body -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelFrame.h"

#include "lnbwd/Analysis/RowAccess.h"
#include "lnbwd/Analysis/RowPhases.h"
#include "lnbwd/Analysis/ScheduleLimits.h"
#include "lnbwd/Dialect/LNBwd/IR/RowLayout.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/LaunchPlan/LaunchNotes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace lnbwd;

/// Bytes to a multiple of which the shared memory of a launch is rounded up.
static constexpr int64_t sharedStepBytes = 16;

MemRefType lnbwd::getParameterType(Value buffer, ArrayRef<int64_t> shape) {
  auto type = cast<MemRefType>(buffer.getType());
  auto space =
      gpu::AddressSpaceAttr::get(type.getContext(), gpu::AddressSpace::Global);
  return MemRefType::get(shape, type.getElementType(),
                         MemRefLayoutAttrInterface(), space);
}

/// The first row of operand `index`, whatever its rank; all there is where that
/// does not depend on the launch.
static SmallVector<int64_t> getFirstRow(RowwiseOp op, unsigned index) {
  if (op.getForm(index).getAccess() == Access::Table)
    return llvm::to_vector(
        cast<VectorType>(op.getRegionType(index)).getShape());
  Dims dims = op.getForm(index).getDims();
  if (dims == kColumn)
    return {*getExtent(cast<ShapedType>(op->getOperand(index).getType()))};
  if (!dims.hasColumns)
    return {1};
  if (!dims.hasRows)
    return {op.getForm(index).getRowLength()};
  return {1, op.getForm(index).getRowLength()};
}

/// `buffer`, which has its own dimensions, with the shape of the kernel's rows,
/// which may begin with row `firstRow` of all.
static Value addView(OpBuilder &b, RowwiseOp op, unsigned index, Value buffer,
                     Value firstRow) {
  AffineMap map = op.getForm(index).getAccessMap();
  if (op.getForm(index).getRows() != RowDims::Some)
    firstRow = Value();
  if (map.isIdentity() && !firstRow)
    return buffer;
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> shape(map.getNumDims(), ShapedType::kDynamic);
  if (op.getForm(index).getColumnDims() > 0)
    shape.back() = op.getRowLength();
  auto view =
      MemRefType::get(shape, type.getElementType(), map, type.getMemorySpace());
  return lane::ViewOp::create(b, op.getLoc(), view, buffer, firstRow);
}

/// Casts `buffer` to a kernel's parameter, `type`, where it is launched.
static Value toParameter(IndexBuilder &b, Value buffer, MemRefType type) {
  auto source = cast<MemRefType>(buffer.getType());
  auto firstRow =
      MemRefType::get(type.getShape(), type.getElementType(),
                      MemRefLayoutAttrInterface(), source.getMemorySpace());
  if (firstRow != source)
    buffer = memref::ReinterpretCastOp::create(
        b, firstRow, buffer, /*offset=*/0, type.getShape(),
        firstRow.getStridesAndOffset().first);
  return memref::MemorySpaceCastOp::create(b, type, buffer);
}

gpu::GPUFuncOp lnbwd::addKernel(SymbolTable &symbols, Location loc,
                                SmallVector<Type> types, unsigned numCounts,
                                KernelInfoAttr info) {
  OpBuilder b(info.getContext());
  types.append(numCounts, b.getI64Type());
  auto kernel = gpu::GPUFuncOp::create(b, loc, info.getEntry(),
                                       b.getFunctionType(types, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel->setAttr(kernelInfoAttr, info);
  auto threads = int32_t(info.getSchedule()->getThreads());
  kernel.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({threads, 1, 1}));
  symbols.insert(kernel);
  return kernel;
}

void lnbwd::addLaunch(IndexBuilder &b, gpu::GPUFuncOp kernel,
                      ValueRange buffers, ValueRange counts,
                      gpu::KernelDim3 grid, Value sharedBytes) {
  SmallVector<Value> arguments;
  for (auto [buffer, parameter] : llvm::zip(buffers, kernel.getArguments()))
    arguments.push_back(
        toParameter(b, buffer, cast<MemRefType>(parameter.getType())));
  for (Value count : counts)
    arguments.push_back(arith::IndexCastOp::create(b, b.getI64Type(), count));
  auto getSize = [&](std::optional<ArrayRef<int32_t>> sizes) {
    auto get = [&](size_t i) { return b.index((*sizes)[i]); };
    return sizes ? std::optional(gpu::KernelDim3{get(0), get(1), get(2)})
                 : std::nullopt;
  };
  gpu::LaunchFuncOp::create(b, kernel, grid,
                            *getSize(kernel.getKnownBlockSize()), sharedBytes,
                            arguments, /*asyncTokenType=*/Type(),
                            /*asyncDependencies=*/ValueRange(),
                            getSize(kernel.getKnownClusterSize()));
}

Value lnbwd::fromParameter(IndexBuilder &b, Value parameter, OpFoldResult count,
                           int64_t stride, Value firstRow, OpFoldResult part) {
  auto type = cast<MemRefType>(parameter.getType());
  SmallVector<int64_t> shape(type.getShape()), strides{part ? stride : 1};
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(b.getContext(), shape);
  sizes.front() = count;
  shape.front() =
      isa<Value>(count) ? ShapedType::kDynamic : *getConstantIntValue(count);
  if (shape.size() == 2)
    strides.insert(strides.begin(), stride);
  OpFoldResult offset = part ? part : b.getIndexAttr(0);
  if (firstRow) {
    Value first = b(firstRow) * b.index(stride);
    offset =
        part ? b(first) + getValueOrCreateConstantIndexOp(b, b.getLoc(), part)
             : first;
  }
  MemRefLayoutAttrInterface layout;
  if (part || firstRow || (shape.size() == 2 && stride != shape[1]))
    layout = StridedLayoutAttr::get(
        b.getContext(),
        getConstantIntValue(offset).value_or(ShapedType::kDynamic), strides);
  auto result = MemRefType::get(shape, type.getElementType(), layout,
                                type.getMemorySpace());
  return memref::ReinterpretCastOp::create(
      b, result, parameter, offset, sizes,
      getAsIndexOpFoldResult(b.getContext(), strides));
}

/// Says of the parameters of `kernel` that are inputs of `op` what the code
/// generator may assume.
static void annotateInputs(RowwiseOp op, const ChipInfo &chip,
                           gpu::GPUFuncOp kernel) {
  Builder b(op.getContext());
  // Outputs may overwrite row blocks, never the columns; nor the scalars, but
  // whether to say so of them is the target's choice. With a scalar unit the
  // code generator then loads them once per wave. Where they are loaded ahead,
  // it would move loads that nothing can change to where they are used; so
  // would NVIDIA's assembler, after the next barrier.
  bool loadsAhead =
      op.getScheduleAttr()->prefetch || op.getScheduleAttr()->unroll > 1;
  bool scalarsToo = chip.hasScalarUnit && !loadsAhead;
  for (unsigned i = 0; i < op.getNumDpsInputs(); ++i) {
    OperandFormAttr form = op.getForm(i);
    Dims dims = form.getDims();
    bool isScalar = !dims.hasColumns;
    // So that loads of neighbouring parts become one.
    if (isScalar && form.getParts())
      kernel.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(accessBytes));
    bool isOutput = llvm::is_contained(op.getOutputs(), op->getOperand(i));
    if (dims == kRowBlock || (isScalar && !scalarsToo) || isOutput)
      continue;
    for (StringRef name : {LLVM::LLVMDialect::getNoAliasAttrName(),
                           LLVM::LLVMDialect::getReadonlyAttrName()})
      kernel.setArgAttr(i, name, b.getUnitAttr());
  }
}

/// The kernel of `op`, with an empty body.
static gpu::GPUFuncOp makeFunction(RowwiseOp op, const ChipInfo &chip,
                                   SymbolTable &symbols) {
  Builder b(op.getContext());
  SmallVector<Type> types;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    types.push_back(getParameterType(op->getOperand(i), getFirstRow(op, i)));
  // Quantised values wait for one maximum more, and until then lanes hold the
  // terms of column sums that LLVM has sunk behind the stores: LayerNorm's
  // gradient to float8 takes 128 registers without that, and 149 with it.
  bool noSinking = llvm::any_of(op.getRowOuts().getTypes(), [](Type rows) {
    return cast<ShapedType>(rows).getElementTypeBitWidth() <= 8;
  });
  gpu::GPUFuncOp kernel = addKernel(
      symbols, op.getLoc(), types, /*numCounts=*/2,
      KernelInfoAttr::get(op.getContext(), op.getEntryAttr(), op.getRowLength(),
                          *op.getSchedule(), ProductLoopAttr(),
                          op.getCanonical(), noSinking));
  if (auto split = int32_t(op.getScheduleAttr()->workgroupsPerRow); split > 1)
    kernel.setKnownClusterSizeAttr(b.getDenseI32ArrayAttr({1, split, 1}));
  annotateInputs(op, chip, kernel);
  return kernel;
}

/// Gives `frame` a memref for each part of operand `index`, a row scalar in
/// `parts` parts.
static void addParts(IndexBuilder &b, RowKernel &frame, unsigned index,
                     int64_t parts, Value firstRow) {
  // All parts are read, and each workgroup writes that of its columns.
  SmallVector<OpFoldResult> accessed;
  if (index >= frame.op.getNumDpsInputs())
    accessed.push_back(
        gpu::BlockIdOp::create(b, gpu::Dimension::y).getResult());
  else
    for (int64_t part = 0; part < parts; ++part)
      accessed.push_back(b.getIndexAttr(part));
  for (OpFoldResult part : accessed)
    frame.parts[index].push_back(
        fromParameter(b, frame.function.getArgument(index), frame.rows, parts,
                      firstRow, part));
  frame.buffers.push_back(frame.parts[index].front());
}

/// The kernel of `op`, with no more than its parameters in its body.
static RowKernel makeKernel(RowwiseOp op, const ChipInfo &chip,
                            SymbolTable &symbols) {
  gpu::GPUFuncOp kernel = makeFunction(op, chip, symbols);
  IndexBuilder b(op.getLoc(), op.getContext());
  b.setInsertionPointToEnd(&kernel.getBody().front());
  unsigned numOperands = op->getNumOperands();
  auto toIndex = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, b.getIndexType(), value);
  };
  // Of a program with groups all that the body sees are the rows and the
  // workgroups of one group: the buffers begin with the group's own.
  Value rows = toIndex(kernel.getArgument(numOperands));
  Value workgroups = toIndex(kernel.getArgument(numOperands + 1));
  Value group;
  if (op.hasGroups())
    group = gpu::BlockIdOp::create(b, gpu::Dimension::z);
  auto firstOfGroup = [&](Value perGroup) {
    return group ? b(group) * perGroup : Value();
  };
  Value firstRow = firstOfGroup(rows);
  RowKernel frame{op, kernel, {}, {}, rows, workgroups};
  frame.parts.resize(numOperands);
  for (unsigned i = 0; i < numOperands; ++i) {
    OperandFormAttr form = op.getForm(i);
    Dims dims = form.getDims();
    if (int64_t parts = dims.hasColumns ? 0 : form.getParts()) {
      addParts(b, frame, i, parts, firstRow);
      continue;
    }
    int64_t stride = dims.hasColumns ? form.getRowStride() : 1;
    OpFoldResult count = rows;
    Value first = dims.hasRows ? firstRow : group;
    if (form.isPartial()) {
      count = workgroups;
      first = firstOfGroup(workgroups);
    }
    if (!dims.hasGroups)
      first = Value();
    Value buffer = kernel.getArgument(i);
    // Of what has no rows, that of the group is all there is.
    if (!dims.hasRows)
      count =
          b.getIndexAttr(cast<MemRefType>(buffer.getType()).getShape().front());
    if (dims.hasRows || first)
      buffer = fromParameter(b, buffer, count, stride, first);
    frame.buffers.push_back(addView(b, op, i, buffer, firstRow));
  }
  return frame;
}

/// Shared memory to ask for at launch: that of the stages, or so much more that
/// a compute unit has no room for another workgroup than the schedule says. A
/// kernel that starts while the one before it still holds some compute units
/// would crowd onto the others otherwise.
static int64_t getLaunchedSharedBytes(RowwiseOp op, const Schedule &schedule,
                                      const ChipInfo &chip) {
  ScheduleResources resources = getResources(op, schedule, chip);
  int64_t workgroups = schedule.workgroupsPerComputeUnit;
  if (!resources.stagingBytes || !schedule.dependentLaunch || !workgroups)
    return resources.stagingBytes;
  int64_t room = chip.limits.computeUnitSharedMemoryBytes;
  // More than an equal part of one workgroup too many.
  int64_t crowded =
      llvm::alignTo(uint64_t(room / (workgroups + 1)), sharedStepBytes) +
      sharedStepBytes;
  bool fits =
      workgroups *
              (crowded + resources.sharedMemoryBytes + reservedSharedBytes) <=
          room &&
      crowded + resources.sharedMemoryBytes <= chip.dynamicSharedMemoryBytes;
  return fits ? std::max(crowded, resources.stagingBytes)
              : resources.stagingBytes;
}

/// Launches `kernel` for `op`.
static void launchRows(RowwiseOp op, const ChipInfo &chip,
                       gpu::GPUFuncOp kernel) {
  IndexBuilder b(op.getLoc(), op);
  const Schedule &schedule = *op.getSchedule();
  LaunchCounts counts = makeLaunchCounts(b, op);
  int64_t tile = schedule.columnTile;
  int64_t covered = getCoveredColumns(op.getRowLength(), schedule.vectorWidth);
  int64_t tiles =
      tile ? llvm::divideCeil(covered, tile) : schedule.workgroupsPerRow;
  Value stagingBytes;
  if (int64_t bytes = getLaunchedSharedBytes(op, schedule, chip))
    stagingBytes = b.int32(bytes);
  if (!counts.groups)
    counts.groups = b.index(1);
  lnbwd::addLaunch(
      b, kernel, op->getOperands(), {counts.rows, counts.workgroups},
      {counts.workgroups, b.index(tiles), counts.groups}, stagingBytes);
}

/// The memory that `operand`, a buffer or a view of one, is in.
static Value getMemory(Value operand) {
  auto view = operand.getDefiningOp<ViewLikeOpInterface>();
  return view ? view.getViewSource() : operand;
}

/// An independent program may read while the one before it writes.
static LogicalResult checkIndependence(RowwiseOp op) {
  RowwiseOp previous;
  for (Operation *node = op->getPrevNode(); node && !previous;
       node = node->getPrevNode())
    previous = dyn_cast<RowwiseOp>(node);
  if (!op.getIndependent() || !previous)
    return success();
  auto written = llvm::map_to_vector(previous.getOutputs(), getMemory);
  for (OpOperand *input : op.getDpsInputOperands())
    if (llvm::is_contained(written, getMemory(input->get())))
      return op.emitOpError("expected an independent program to read nothing "
                            "that '")
             << previous.getEntry() << "' before it writes, got operand "
             << input->getOperandNumber() << " ("
             << op.getOperandName(input->getOperandNumber())
             << "); leave 'independent' out";
  return success();
}

static LogicalResult check(RowwiseOp op, const ChipInfo &chip) {
  if (!op.hasPureBufferSemantics())
    return op.emitOpError("expected memrefs; run bufferization before");
  std::optional<ScheduleAttr> schedule = op.getSchedule();
  if (!schedule)
    return op.emitOpError(
        "expected a schedule; run lnbwd-select-schedule before");
  if (failed(checkSchedule(op, *schedule, chip,
                           [&] { return op.emitOpError(); })) ||
      failed(checkDistributable(op)) || failed(checkIndependence(op)))
    return failure();
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (op.getForm(i).getAccess() == Access::Scalar &&
        op.getForm(i).isPartial() &&
        !op->getOperand(i).getDefiningOp<memref::AllocOp>())
      return op.emitOpError("expected the split row scalar '")
             << op.getOperandName(i)
             << "' to be a memref.alloc in the function: a launch plan has no "
                "arguments of this kind";
  // One workgroup has all rows of a group at most.
  bool isWhole = (*schedule)->rowsPerWorkgroup == 0 &&
                 (op.getColumnSums().empty() || !op.hasGroups());
  if (!op.getAllSums().empty() && !op.hasPartialSums() && !isWhole)
    return op.emitOpError(
        "expected partial column sums, or one workgroup for all rows; run "
        "lnbwd-finalize-column-sums before");
  return success();
}

/// Notes on the argument of a function that `buffer` may be how a kernel
/// accesses it.
static void recordAccess(Value buffer, StringRef access) {
  auto argument = dyn_cast<BlockArgument>(getMemory(buffer));
  if (!argument)
    return;
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  unsigned number = argument.getArgNumber();
  auto known = ArgumentAttr::of(function, number);
  // An argument that one operand reads and another writes is both.
  if (known.getAccess() && known.getAccess() != access)
    access = "read_write";
  MLIRContext *context = function.getContext();
  function.setArgAttr(number, argumentAttr,
                      ArgumentAttr::get(context, known.getName(),
                                        known.getAliases(), known.getKind(),
                                        StringAttr::get(context, access),
                                        known.getRowRank()));
}

/// Notes the same for all operands of a row program.
static void recordArgumentAccess(RowwiseOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    StringRef access = op.isDpsInit(&operand) ? "write" : "read";
    if (op.getAccumulate() && op.isDpsInit(&operand) &&
        llvm::is_contained(op.getAllSums(), operand.get()))
      access = "read_write";
    recordAccess(operand.get(), access);
  }
}

/// A GPU module for the kernels of `function`.
static gpu::GPUModuleOp makeKernelModule(func::FuncOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  SymbolTable moduleSymbols(module);
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                  UnitAttr::get(module.getContext()));
  OpBuilder b(function);
  auto gpuModule =
      gpu::GPUModuleOp::create(b, function.getLoc(), function.getName());
  // The function keeps its name; a module beside it needs another.
  gpuModule.setName((function.getName() + "_kernels").str());
  moduleSymbols.insert(gpuModule, Block::iterator(function));
  return gpuModule;
}

FailureOr<unsigned> lnbwd::distributePrograms(
    ModuleOp module, const ChipInfo &chip,
    llvm::function_ref<void(const RowKernel &)> writeBody,
    llvm::function_ref<void(RowwiseOp, SymbolTable &)> replaceProduct) {
  unsigned numKernels = 0;
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    SmallVector<RowwiseOp> programs;
    function.walk([&](RowwiseOp op) { programs.push_back(op); });
    if (programs.empty())
      continue;
    for (RowwiseOp op : programs) {
      if (op->getParentOp() != function)
        return op.emitOpError(
            "expected to be at the top level of its function: "
            "a launch plan has no loops or branches");
      if (!op.getProduct() && failed(check(op, chip)))
        return failure();
      for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
        // Partial sums, of a leaf of the canonical order as rows.
        Value buffer = getMemory(operand);
        if (!isa<BlockArgument>(buffer) &&
            !buffer.getDefiningOp<memref::AllocOp>())
          return op.emitOpError("expected operand ")
                 << index << " (" << op.getOperandName(index)
                 << ") to be an argument of the function or a memref.alloc in "
                    "it: a launch plan has no other buffers";
      }
    }
    gpu::GPUModuleOp gpuModule = makeKernelModule(function);
    SymbolTable symbols(gpuModule);
    numKernels += programs.size();
    for (RowwiseOp op : programs) {
      if (failed(recordArgumentRoles(op)))
        return failure();
      recordArgumentAccess(op);
      if (op.getProduct()) {
        replaceProduct(op, symbols);
      } else {
        RowKernel kernel = makeKernel(op, chip, symbols);
        writeBody(kernel);
        launchRows(op, chip, kernel.function);
      }
      op.erase();
    }
  }
  return numKernels;
}
