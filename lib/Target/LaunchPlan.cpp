//===- LaunchPlan.cpp - What a launcher needs to know ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the plan off the function: its arguments, its allocations and its
// launches. Nothing is remembered from earlier passes, so what is launched is
// what the IR says.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Target/LaunchPlan.h"

#include "lnbwd/Config.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <optional>

using namespace mlir;
using namespace lnbwd;
namespace json = llvm::json;

namespace {
class PlanBuilder {
public:
  PlanBuilder(func::FuncOp function, const ChipInfo &chip)
      : function(function), chip(chip) {}

  FailureOr<std::string> build();

private:
  LogicalResult addArgument(unsigned number);
  LogicalResult addLaunch(gpu::LaunchFuncOp launch);
  FailureOr<json::Value> makeParameter(gpu::LaunchFuncOp launch, Value value);
  FailureOr<json::Value> makeCount(Operation *user, Value value);
  FailureOr<int64_t> addWorkgroupCount(WorkgroupCountOp count);
  FailureOr<int64_t> addWorkspace(memref::AllocOp alloc);
  std::optional<json::Object> makeOperation();

  func::FuncOp function;
  const ChipInfo &chip;
  json::Array arguments, workgroupCounts, workspace, kernels;
  /// Schedules that a workgroup count was made for; equal ones share it.
  SmallVector<std::array<int64_t, 4>> knownCounts;
  DenseMap<Operation *, int64_t> knownAllocs;
};
} // namespace

static StringRef getElementName(Type type) {
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (type.isInteger(8))
    return "i8";
  return "f32";
}

/// What a buffer is to the launcher follows from its shape: the row length is
/// static and the number of rows is not.
static StringRef getKind(MemRefType type) {
  if (type.getRank() == 1 && !type.isDynamicDim(0))
    return "column";
  if (type.getRank() >= 1 && !type.isDynamicDim(type.getRank() - 1))
    return "row_block";
  return "row_scalar";
}

LogicalResult PlanBuilder::addArgument(unsigned number) {
  auto type = dyn_cast<MemRefType>(function.getArgumentTypes()[number]);
  auto isElement = [](Type element) {
    return element.isF16() || element.isBF16() || element.isF32() ||
           element.isInteger(8);
  };
  if (!type || !isElement(type.getElementType()))
    return function.emitError("expected argument ")
           << number << " to be a memref of f16, bf16, f32 or i8, got "
           << function.getArgumentTypes()[number];
  auto text = [&](StringRef attribute, std::string otherwise) {
    auto attr = function.getArgAttrOfType<StringAttr>(number, attribute);
    return attr ? attr.str() : otherwise;
  };
  // The kernels know what the buffer is to them; the shape alone cannot tell a
  // row scalar [M] with static M from a column.
  std::string kind = text(argumentKindAttr, getKind(type).str());
  auto rowRank =
      function.getArgAttrOfType<IntegerAttr>(number, argumentRowRankAttr);
  int64_t length = kind == "row_scalar"
                       ? 1
                       : ShapedType::getNumElements(type.getShape().take_back(
                             rowRank ? size_t(rowRank.getInt()) : 1));
  json::Object argument{
      {"name", text(argumentNameAttr, "argument" + std::to_string(number))},
      {"access", text(argumentAccessAttr, "read")},
      {"kind", kind},
      {"element", getElementName(type.getElementType())},
      {"row_length", length},
  };
  if (kind == "row_block" && !type.getLayout().isIdentity()) {
    auto [strides, offset] = type.getStridesAndOffset();
    size_t leading = strides.size() - (rowRank ? size_t(rowRank.getInt()) : 1);
    if (leading > 0)
      argument["row_stride"] = strides[leading - 1];
  }
  arguments.push_back(std::move(argument));
  return success();
}

FailureOr<int64_t> PlanBuilder::addWorkgroupCount(WorkgroupCountOp count) {
  if (!count.getRowCount().getDefiningOp<RowCountOp>())
    return count.emitOpError("expected the rows of an lnbwd.row_count");
  ScheduleAttr schedule = count.getSchedule();
  int64_t fixed = count.getFixedWorkgroups();
  std::array<int64_t, 4> key{schedule.getRowsPerWorkgroup(),
                             fixed ? 0 : schedule.getWorkgroupsPerComputeUnit(),
                             fixed, schedule.getWorkgroupsPerRow()};
  auto *known = llvm::find(knownCounts, key);
  if (known == knownCounts.end()) {
    json::Object rule{{"rows_per_workgroup", key[0]},
                      {"workgroups_per_compute_unit", key[1]}};
    if (fixed)
      rule["max_workgroups"] = fixed;
    if (schedule.getWorkgroupsPerRow() > 1)
      rule["workgroups_per_row"] = schedule.getWorkgroupsPerRow();
    workgroupCounts.push_back(std::move(rule));
    knownCounts.push_back(key);
    return int64_t(knownCounts.size()) - 1;
  }
  return known - knownCounts.begin();
}

FailureOr<int64_t> PlanBuilder::addWorkspace(memref::AllocOp alloc) {
  auto [known, inserted] =
      knownAllocs.try_emplace(alloc, int64_t(workspace.size()));
  if (!inserted)
    return known->second;
  auto type = alloc.getType();
  if (alloc->hasAttr(rowScalarAttr)) {
    workspace.push_back(json::Object{
        {"element", getElementName(type.getElementType())},
        {"row_length", 1},
        {"rows", json::Object{{"rows", true}}},
    });
    return known->second;
  }
  if (type.getRank() < 2 || alloc.getDynamicSizes().size() != 1 ||
      !type.isDynamicDim(0))
    return alloc.emitOpError("expected a workspace of one row for each "
                             "workgroup, or of one number for each row "
                             "(lnbwd.row_scalar), got ")
           << type;
  FailureOr<json::Value> rows =
      makeCount(alloc, alloc.getDynamicSizes().front());
  if (failed(rows))
    return failure();
  workspace.push_back(json::Object{
      {"element", getElementName(type.getElementType())},
      {"row_length", ShapedType::getNumElements(type.getShape().drop_front())},
      {"rows", std::move(*rows)},
  });
  return known->second;
}

/// A number of the plan: a constant, the row count, or a workgroup count. The
/// rows of a workspace are the workgroups it was allocated for.
FailureOr<json::Value> PlanBuilder::makeCount(Operation *user, Value value) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  IntegerAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return json::Value(constant.getInt());
  if (auto count = value.getDefiningOp<WorkgroupCountOp>()) {
    if (count.getSchedule().getRowsPerWorkgroup() == 0)
      return json::Value(1);
    FailureOr<int64_t> index = addWorkgroupCount(count);
    if (failed(index))
      return failure();
    return json::Value(json::Object{{"workgroup_count", *index}});
  }
  if (auto count = value.getDefiningOp<RowCountOp>()) {
    if (auto alloc = count.getSource().getDefiningOp<memref::AllocOp>())
      if (alloc.getDynamicSizes().size() == 1)
        return makeCount(user, alloc.getDynamicSizes().front());
    return json::Value(json::Object{{"rows", true}});
  }
  return user->emitOpError(
      "expected a number that a launch plan can express: a "
      "constant, a row count or a workgroup count");
}

FailureOr<json::Value> PlanBuilder::makeParameter(gpu::LaunchFuncOp launch,
                                                  Value value) {
  if (!isa<MemRefType>(value.getType())) {
    FailureOr<json::Value> count = makeCount(launch, value);
    if (succeeded(count) && count->getAsInteger())
      return json::Value(json::Object{{"constant", *count->getAsInteger()}});
    return count;
  }
  while (Operation *cast = value.getDefiningOp()) {
    if (!isa<memref::ReinterpretCastOp, memref::MemorySpaceCastOp>(cast))
      break;
    value = cast->getOperand(0);
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    return json::Value(
        json::Object{{"argument", int64_t(argument.getArgNumber())}});
  auto alloc = value.getDefiningOp<memref::AllocOp>();
  if (!alloc)
    return launch.emitOpError("expected buffers that are arguments of the "
                              "function or allocations in it");
  FailureOr<int64_t> index = addWorkspace(alloc);
  if (failed(index))
    return failure();
  return json::Value(json::Object{{"workspace", *index}});
}

LogicalResult PlanBuilder::addLaunch(gpu::LaunchFuncOp launch) {
  json::Array parameters, grid, block;
  for (Value operand : launch.getKernelOperands()) {
    FailureOr<json::Value> parameter = makeParameter(launch, operand);
    if (failed(parameter))
      return failure();
    parameters.push_back(std::move(*parameter));
  }
  gpu::KernelDim3 gridSize = launch.getGridSizeOperandValues();
  gpu::KernelDim3 blockSize = launch.getBlockSizeOperandValues();
  for (auto [list, size] :
       {std::pair(&grid, gridSize), std::pair(&block, blockSize)})
    for (Value dim : {size.x, size.y, size.z}) {
      FailureOr<json::Value> count = makeCount(launch, dim);
      if (failed(count))
        return failure();
      list->push_back(std::move(*count));
    }
  int64_t dynamicBytes = 0;
  if (Value size = launch.getDynamicSharedMemorySize()) {
    IntegerAttr constant;
    if (!matchPattern(size, m_Constant(&constant)))
      return launch.emitOpError("expected a constant size of dynamic shared "
                                "memory");
    dynamicBytes = constant.getInt();
  }
  json::Object kernel{
      {"name", launch.getKernelName().getValue()},
      {"grid", std::move(grid)},
      {"block", std::move(block)},
      {"dynamic_shared_bytes", dynamicBytes},
      {"parameters", std::move(parameters)},
  };
  if (launch->hasAttr(earlyStartAttr))
    kernel["early_start"] = true;
  kernels.push_back(std::move(kernel));
  return success();
}

/// The operation that the function says it computes, and which argument is
/// which of its operands. With a value for each of the operation's options that
/// the arguments do not show.
std::optional<json::Object> PlanBuilder::makeOperation() {
  auto operation = function->getAttrOfType<NamedOperationAttr>(operationAttr);
  if (!operation)
    return std::nullopt;
  json::Object result{{"name", operation.getName().getValue()}};
  if (FloatAttr epsilon = operation.getEpsilon())
    result["epsilon"] = epsilon.getValueAsDouble();
  if (operation.getZeroCentredGamma())
    result["zero_centred_gamma"] = true;
  json::Object operands;
  ArrayRef<StringLiteral> known = operation.getKnownOperands();
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto add = [&](StringAttr name) {
      if (name && llvm::is_contained(known, name.getValue()))
        operands[name.getValue()] = int64_t(i);
    };
    add(function.getArgAttrOfType<StringAttr>(i, argumentNameAttr));
    if (auto aliases =
            function.getArgAttrOfType<ArrayAttr>(i, argumentAliasesAttr))
      for (auto alias : aliases.getAsRange<StringAttr>())
        add(alias);
  }
  result["operands"] = std::move(operands);
  return result;
}

FailureOr<std::string> PlanBuilder::build() {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (failed(addArgument(i)))
      return failure();
  if (function.getNumResults() != 0)
    return function.emitError(
        "expected no results: a launch plan has none, and "
        "outputs are arguments");
  if (!function.getBody().hasOneBlock())
    return function.emitError(
        "expected no branches: a launch plan has one sequence of launches");
  for (Operation &op : function.getBody().front()) {
    if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op)) {
      if (failed(addLaunch(launch)))
        return failure();
      continue;
    }
    // What a launcher would not do must not be in the function.
    if (!isa<memref::AllocOp, memref::DeallocOp, func::ReturnOp>(op) &&
        !isPure(&op))
      return op.emitOpError("cannot be part of a launch plan: expected "
                            "launches of kernels, their "
                            "allocations and operations without effects");
  }

  // Written field by field: a plan reads in the order of docs/abi.md.
  std::string text;
  llvm::raw_string_ostream os(text);
  json::OStream stream(os);
  stream.object([&] {
    stream.attribute("format", "lnbwd-plan");
    stream.attribute("version", 1);
    stream.attribute("producer", "lnbwd " LNBWD_VERSION);
    stream.attribute("name", function.getName());
    stream.attribute("chip", chip.name);
    stream.attribute("wave_size", chip.waveSize);
    if (std::optional<json::Object> operation = makeOperation())
      stream.attribute("operation", std::move(*operation));
    stream.attribute("arguments", std::move(arguments));
    stream.attribute("workgroup_counts", std::move(workgroupCounts));
    stream.attribute("workspace", std::move(workspace));
    stream.attribute("kernels", std::move(kernels));
  });
  return text;
}

FailureOr<std::string> lnbwd::buildLaunchPlan(func::FuncOp function,
                                              const ChipInfo &chip) {
  return PlanBuilder(function, chip).build();
}
