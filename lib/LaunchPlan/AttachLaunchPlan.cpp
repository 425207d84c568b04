//===- AttachLaunchPlan.cpp - What a launcher needs to know ---------------===//
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

#include "lnbwd/Config.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Dialect/LNBwd/IR/RowLayout.h"
#include "lnbwd/LaunchPlan/Passes.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Target/TargetBackend.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace lnbwd {
#define GEN_PASS_DEF_ATTACHLAUNCHPLANPASS
#include "lnbwd/LaunchPlan/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;
namespace json = llvm::json;

/// Where a grid ends that its schedule does not bound: CUDA counts workgroups
/// in 31 bits, HIP work-items in 32.
static constexpr int64_t mostWorkgroups = (int64_t(1) << 31) - 1,
                         mostWorkItems = (int64_t(1) << 32) - 1;

/// What the address of an argument is a multiple of at least, unless the plan
/// says less.
static constexpr int64_t mostAlignment = 16;

/// The bytes of a number or vector.
static int64_t getBytes(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  int64_t count = vector ? vector.getNumElements() : 1;
  return count * getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8;
}

/// Adds `ratio`, unless it is that of the launch's own rows.
static void addRatio(json::Object &object, DenseI64ArrayAttr ratio) {
  if (ratio && ratio[0] != ratio[1])
    object["ratio"] = json::Array{ratio[0], ratio[1]};
}

namespace {
class PlanBuilder {
public:
  PlanBuilder(func::FuncOp function, const TargetId &target)
      : function(function), target(target) {}

  FailureOr<std::string> build();

private:
  LogicalResult addArgument(unsigned number);
  LogicalResult addLaunch(gpu::LaunchFuncOp launch);
  FailureOr<json::Value> makeParameter(gpu::LaunchFuncOp launch, Value value);
  std::optional<json::Value> evaluate(Value value);
  FailureOr<json::Value> makeCount(Operation *user, Value value);
  int64_t addWorkgroupCount(WorkgroupCountOp count);
  FailureOr<int64_t> addWorkspace(memref::AllocOp alloc);
  std::optional<json::Object> makeOperation();
  void noteBuffers(gpu::LaunchFuncOp launch);
  void noteAlignments(gpu::LaunchFuncOp launch, gpu::GPUFuncOp kernel);

  func::FuncOp function;
  const TargetId &target;
  json::Array arguments, workgroupCounts, workspace, kernels;
  /// Whether a row may be read after others have been written.
  bool needsSeparateBuffers = false;
  /// Of each argument, what its address is a multiple of in the launches so
  /// far.
  SmallVector<int64_t> alignments;
  /// The written row blocks that the launches so far take.
  DenseSet<unsigned> rowsWritten;
  DenseMap<Operation *, int64_t> knownAllocs;
  llvm::StringSet<> names;
};
} // namespace

/// What a buffer is to the launcher follows from its shape: the row length is
/// static and the number of rows is not.
static Dims getDims(MemRefType type) {
  if (type.getRank() == 1 && !type.isDynamicDim(0))
    return kColumn;
  if (type.getRank() >= 1 && !type.isDynamicDim(type.getRank() - 1))
    return kRowBlock;
  return kRowScalar;
}

LogicalResult PlanBuilder::addArgument(unsigned number) {
  auto type = dyn_cast<MemRefType>(function.getArgumentTypes()[number]);
  std::optional<Element> element =
      type ? getElement(type.getElementType()) : std::nullopt;
  if (!element || !getInfo(*element).bytes)
    return function.emitError("expected argument ")
           << number
           << " to be a memref of f16, bf16, f32, a float of 8 bits, i8, i32 "
              "or "
              "i64, got "
           << function.getArgumentTypes()[number];
  auto text = [](StringAttr attribute, const std::string &otherwise) {
    return attribute ? attribute.str() : otherwise;
  };
  // The kernels know what the buffer is to them; the shape alone cannot tell a
  // row scalar [M] with static M from a column.
  auto noted = ArgumentAttr::of(function, number);
  StringAttr kind = noted.getKind();
  Dims dims = kind ? *findDims(kind.getValue()) : getDims(type);
  int64_t rank = dims.hasColumns ? std::max<int64_t>(noted.getRowRank(), 1) : 0;
  RowLayout rows = getRowLayout(type, rank);
  // A matrix is a column of all its elements: its size is no launch's choice.
  if (dims == kColumn)
    rows.length = getExtent(type).value_or(rows.length);
  // Two operations may have one name for operands of their own.
  std::string name = text(noted.getName(), "argument" + std::to_string(number));
  while (!names.insert(name).second)
    name += "_" + std::to_string(number);
  json::Object argument{
      {"name", name},
      {"access", text(noted.getAccess(), "read")},
      {"kind", getName(dims)},
      {"element", getName(*element)},
      {"row_length", rows.length},
  };
  if (dims.hasRows && !type.getLayout().isIdentity() && rows.stride)
    argument["row_stride"] = *rows.stride;
  arguments.push_back(std::move(argument));
  return success();
}

int64_t PlanBuilder::addWorkgroupCount(WorkgroupCountOp count) {
  const Schedule &schedule = count.getSchedule();
  int64_t fixed = count.getFixedWorkgroups();
  // The kernel's loop takes the rows beyond; where it has none, a launch of
  // more is refused. Clusters are bounded at launch, unless each of them has a
  // leaf of its own.
  auto least = int64_t(count.getLeafParts());
  bool isBounded = schedule.workgroupsPerRow > 1 && !least;
  if (!fixed && !schedule.workgroupsPerComputeUnit && !isBounded &&
      !schedule.takesOneTile(fixed))
    fixed = std::min(mostWorkgroups, mostWorkItems / schedule.getThreads());
  json::Object rule{{"rows_per_workgroup", schedule.rowsPerWorkgroup},
                    {"workgroups_per_compute_unit",
                     fixed ? 0 : schedule.workgroupsPerComputeUnit}};
  if (fixed)
    rule["max_workgroups"] = fixed;
  if (schedule.workgroupsPerRow > 1)
    rule["workgroups_per_row"] = schedule.workgroupsPerRow;
  if (least > 1 && !fixed)
    rule["least_workgroups"] = least;
  if (count.getGroupCount())
    rule["per_group"] = true;
  if (auto rows = count.getRowCount().getDefiningOp<RowCountOp>())
    addRatio(rule, rows.getRowRatioAttr());
  // Schedules of equal rules share one.
  json::Value wanted(std::move(rule));
  auto known = llvm::find(workgroupCounts, wanted);
  if (known == workgroupCounts.end()) {
    workgroupCounts.push_back(std::move(wanted));
    return int64_t(workgroupCounts.size()) - 1;
  }
  return known - workgroupCounts.begin();
}

FailureOr<int64_t> PlanBuilder::addWorkspace(memref::AllocOp alloc) {
  auto [known, inserted] =
      knownAllocs.try_emplace(alloc, int64_t(workspace.size()));
  int64_t index = known->second;
  if (!inserted)
    return index;
  auto type = alloc.getType();
  size_t leading = alloc.getDynamicSizes().size();
  auto add = [&](int64_t rowLength, json::Value rows) {
    workspace.push_back(
        json::Object{{"element", getName(*getElement(type.getElementType()))},
                     {"row_length", rowLength},
                     {"rows", std::move(rows)}});
    return index;
  };
  if (Attribute isOfRows = alloc->getAttr(rowScalarAttr)) {
    auto parts = dyn_cast<IntegerAttr>(isOfRows);
    return add(parts ? parts.getInt() : 1, json::Object{{"rows", true}});
  }
  // What is computed once for all rows has the same size in every launch.
  if (type.hasStaticShape())
    return add(type.getNumElements(), 1);
  // Group by group, the workgroups are a dimension of their own.
  if (leading < 1 || leading > 2 || type.getRank() <= int64_t(leading) ||
      !llvm::all_of(type.getShape().take_front(leading), ShapedType::isDynamic))
    return alloc.emitOpError("expected a workspace of one row for each "
                             "workgroup, or of one number for each row "
                             "(lnbwd.row_scalar), got ")
           << type;
  FailureOr<json::Value> rows = makeCount(alloc, alloc);
  if (failed(rows))
    return failure();
  return add(ShapedType::getNumElements(type.getShape().drop_front(leading)),
             std::move(*rows));
}

/// The product of two numbers of a plan, if a plan can express it.
static std::optional<json::Value> multiply(std::optional<json::Value> lhs,
                                           std::optional<json::Value> rhs) {
  if (!lhs || !rhs)
    return std::nullopt;
  if (*lhs == json::Value(1))
    return rhs;
  if (*rhs == json::Value(1))
    return lhs;
  const json::Value groups = json::Object{{"groups", true}};
  if (*lhs == groups)
    std::swap(lhs, rhs);
  json::Object *count = lhs->getAsObject();
  if (*rhs != groups || !count)
    return std::nullopt;
  if (count->get("rows_per_group"))
    return json::Object{{"rows", true}};
  if (!count->get("workgroup_count") || !count->insert({"groups", true}).second)
    return std::nullopt;
  return lhs;
}

/// The buffer that `value` is all of.
static Value getBuffer(Value value) {
  while (isa_and_nonnull<memref::CastOp, memref::ReinterpretCastOp,
                         memref::ExpandShapeOp, memref::MemorySpaceCastOp>(
      value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// What a number is at launch, if a plan can express it: a constant, the row
/// count, or a workgroup count, of a group or of all. Of an allocation, its
/// rows: those of a workspace are the workgroups that it was allocated for.
std::optional<json::Value> PlanBuilder::evaluate(Value value) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  IntegerAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constant.getInt();
  if (auto count = value.getDefiningOp<WorkgroupCountOp>()) {
    if (count.getSchedule()->rowsPerWorkgroup == 0)
      return 1;
    return json::Object{{"workgroup_count", addWorkgroupCount(count)}};
  }
  if (value.getDefiningOp<GroupCountOp>())
    return json::Object{{"groups", true}};
  if (auto count = value.getDefiningOp<RowCountOp>()) {
    json::Object rows{{"rows", true}};
    if (count.getRowRatio()) {
      addRatio(rows, count.getRowRatioAttr());
      return rows;
    }
    // One workgroup for each group is a static size, after a cast.
    auto alloc = getBuffer(count.getSource()).getDefiningOp<memref::AllocOp>();
    if (alloc && !alloc->hasAttr(rowScalarAttr))
      return evaluate(alloc);
    return rows;
  }
  if (auto alloc = value.getDefiningOp<memref::AllocOp>()) {
    std::optional<json::Value> rows = 1;
    for (Value size : alloc.getDynamicSizes())
      rows = multiply(std::move(rows), evaluate(size));
    return rows;
  }
  if (auto product = value.getDefiningOp<arith::MulIOp>())
    return multiply(evaluate(product.getLhs()), evaluate(product.getRhs()));
  auto quotient = value.getDefiningOp<arith::DivUIOp>();
  if (!quotient || !quotient.getRhs().getDefiningOp<GroupCountOp>())
    return std::nullopt;
  std::optional<json::Value> count = evaluate(quotient.getLhs());
  json::Object *object = count ? count->getAsObject() : nullptr;
  if (object && object->get("rows"))
    return json::Object{{"rows_per_group", true}};
  if (!object || !object->erase("groups"))
    return std::nullopt;
  return object->empty() ? json::Value(1) : *count;
}

FailureOr<json::Value> PlanBuilder::makeCount(Operation *user, Value value) {
  if (std::optional<json::Value> count = evaluate(value))
    return std::move(*count);
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
  value = getBuffer(value);
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

/// A row program reads a row before it writes it, so that an output may lie
/// over an input; not so a launch that reads what an earlier one has written
/// over.
void PlanBuilder::noteBuffers(gpu::LaunchFuncOp launch) {
  SmallVector<unsigned> written;
  for (Value operand : launch.getKernelOperands()) {
    auto argument = dyn_cast<BlockArgument>(getBuffer(operand));
    if (!argument || !isa<MemRefType>(argument.getType()))
      continue;
    unsigned number = argument.getArgNumber();
    const json::Object &described = *arguments[number].getAsObject();
    if (described.getString("kind") != getName(kRowBlock))
      continue;
    if (described.getString("access") != "write" &&
        llvm::any_of(rowsWritten,
                     [&](unsigned other) { return other != number; }))
      needsSeparateBuffers = true;
    if (described.getString("access") != "read")
      written.push_back(number);
  }
  rowsWritten.insert_range(written);
}

/// What the address of `memory` has to be a multiple of: the bytes of the
/// widest access, or all that any instruction needs for what is not a load.
static int64_t getAlignment(Value memory) {
  int64_t alignment = 1;
  for (Operation *user : memory.getUsers()) {
    int64_t own = mostAlignment;
    if (isa<ViewLikeOpInterface>(user) && user->getNumResults() == 1)
      own = getAlignment(user->getResult(0));
    else if (isa<memref::LoadOp, vector::LoadOp>(user))
      own = getBytes(user->getResult(0).getType());
    else if (isa<memref::DimOp>(user))
      own = 1;
    alignment = std::max(alignment, own);
  }
  return alignment;
}

/// A part of a buffer may begin anywhere, and would be copied to where it is
/// aligned.
void PlanBuilder::noteAlignments(gpu::LaunchFuncOp launch,
                                 gpu::GPUFuncOp kernel) {
  for (auto [operand, parameter] :
       llvm::zip_equal(launch.getKernelOperands(), kernel.getArguments())) {
    auto argument = dyn_cast<BlockArgument>(getBuffer(operand));
    auto type = argument ? dyn_cast<MemRefType>(argument.getType()) : nullptr;
    if (!type)
      continue;
    int64_t &alignment = alignments[argument.getArgNumber()];
    bool isStrided = !type.getLayout().isIdentity();
    alignment = std::max(alignment,
                         isStrided ? getAlignment(parameter) : mostAlignment);
  }
}

LogicalResult PlanBuilder::addLaunch(gpu::LaunchFuncOp launch) {
  auto kernelFunction = SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(
      launch, launch.getKernel());
  KernelInfoAttr info =
      kernelFunction
          ? kernelFunction->getAttrOfType<KernelInfoAttr>(kernelInfoAttr)
          : KernelInfoAttr();
  // Not so a product, of which other workgroups read while one writes.
  needsSeparateBuffers |= info && info.getProduct();
  noteBuffers(launch);
  if (kernelFunction)
    noteAlignments(launch, kernelFunction);
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
  if (info && info.getSchedule()->dependentLaunch)
    kernel["dependent_launch"] = true;
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
  const NamedOperationInfo &info = getInfo(operation.getOperation());
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    // An output that nobody uses is not computed, and so no operand.
    auto argument = ArgumentAttr::of(function, i);
    bool isWritten = argument.getAccess() && argument.getAccess() != "read";
    auto add = [&](StringAttr name) {
      std::optional<Role> role =
          name ? findRole(name.getValue()) : std::nullopt;
      if (role && (info.hasInput(*role) || (isWritten && info.has(*role))))
        operands[name.getValue()] = int64_t(i);
    };
    add(argument.getName());
    if (argument.getAliases())
      for (auto alias : argument.getAliases().getAsRange<StringAttr>())
        add(alias);
  }
  result["operands"] = std::move(operands);
  return result;
}

FailureOr<std::string> PlanBuilder::build() {
  alignments.resize(function.getNumArguments());
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
    if (auto count = dyn_cast<WorkgroupCountOp>(op)) {
      if (!count.getRowCount().getDefiningOp<RowCountOp>())
        return count.emitOpError("expected the rows of an lnbwd.row_count");
      if (count.getGroupCount() &&
          !count.getGroupCount().getDefiningOp<GroupCountOp>())
        return count.emitOpError("expected the groups of an lnbwd.group_count");
    }
    if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op)) {
      if (failed(addLaunch(launch)))
        return failure();
      continue;
    }
    // What a launcher would not do must not be in the function.
    if (!isa<memref::AllocOp, memref::DeallocOp, func::ReturnOp>(op) &&
        !isMemoryEffectFree(&op))
      return op.emitOpError("cannot be part of a launch plan: expected "
                            "launches of kernels, their "
                            "allocations and operations without effects");
  }

  for (auto [argument, alignment] : llvm::zip_equal(arguments, alignments)) {
    json::Object &described = *argument.getAsObject();
    if (described.getString("kind") == getName(kColumn) && alignment &&
        alignment < mostAlignment)
      described["alignment"] = alignment;
  }

  // Written field by field: a plan reads in the order of docs/runtime.md.
  std::string text;
  llvm::raw_string_ostream os(text);
  json::OStream stream(os);
  stream.object([&] {
    stream.attribute("format", "lnbwd-plan");
    stream.attribute("version", 1);
    stream.attribute("producer", "lnbwd " LNBWD_VERSION);
    stream.attribute("name", function.getName());
    stream.attribute("chip", target.str());
    stream.attribute("wave_size", target.chip->waveSize);
    if (std::optional<json::Object> operation = makeOperation())
      stream.attribute("operation", std::move(*operation));
    if (needsSeparateBuffers)
      stream.attribute("separate_buffers", true);
    stream.attribute("arguments", std::move(arguments));
    stream.attribute("workgroup_counts", std::move(workgroupCounts));
    stream.attribute("workspace", std::move(workspace));
    stream.attribute("kernels", std::move(kernels));
    if (auto program = function->getAttrOfType<StringAttr>(operationAttr)) {
      stream.attributeBegin("program");
      stream.rawValue(program.getValue());
      stream.attributeEnd();
    }
  });
  return text;
}

/// The plan as a constant that the linker keeps and a loader finds by name.
static void addPlanSymbol(gpu::GPUModuleOp module, StringRef plan,
                          const TargetBackend &backend) {
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  std::string text = plan.str();
  text.push_back('\0');
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), text.size());
  auto global = LLVM::GlobalOp::create(
      b, module.getLoc(), type, /*isConstant=*/true, LLVM::Linkage::External,
      launchPlanSymbol, b.getStringAttr(text), /*alignment=*/1,
      backend.getConstantAddressSpace());
  if (std::optional<StringRef> section = backend.getPlanSection()) {
    global.setSection(*section);
    global.setVisibility_(LLVM::Visibility::Protected);
  }
}

namespace {
struct AttachLaunchPlan
    : lnbwd::impl::AttachLaunchPlanPassBase<AttachLaunchPlan> {
  void runOnOperation() override {
    FailureOr<TargetId> target = getTarget(getOperation());
    if (failed(target))
      return signalPassFailure();
    const TargetBackend &backend = TargetBackend::get(target->chip->backend);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      gpu::GPUModuleOp module;
      function.walk([&](gpu::LaunchFuncOp launch) {
        module = getOperation().lookupSymbol<gpu::GPUModuleOp>(
            launch.getKernelModuleName());
      });
      if (!module)
        continue;
      if (!getLaunchPlan(module).empty()) {
        function.emitError("expected the kernels of one function in a GPU "
                           "module, and @")
            << module.getName() << " has a launch plan already";
        return signalPassFailure();
      }
      FailureOr<std::string> plan = PlanBuilder(function, *target).build();
      if (failed(plan))
        return signalPassFailure();
      addPlanSymbol(module, *plan, backend);
      ++numPlans;
    }
  }
};
} // namespace
