//===- Report.cpp - What a compiled kernel costs --------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the launch plan says for a number of rows, and what that comes to;
// docs/runner.md has the formulas.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Report/Report.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Dialect/LNBwd/IR/RowLayout.h"
#include "lnbwd/Runtime/Plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// The launch plan for a number of rows
//===----------------------------------------------------------------------===//

namespace {
/// The numbers of a plan for so many rows. Where rows are groups, they are
/// taken for one.
class PlanNumbers {
public:
  PlanNumbers(const runtime::Plan &plan, int64_t rows, const ChipInfo &chip)
      : plan(plan), size(rows, /*groups=*/1) {
    for (size_t i = 0; i < plan.workgroupCounts.size(); ++i)
      workgroupCounts.push_back(
          plan.workgroupCount(i, size, chip.computeUnits));
    for (const runtime::PlanArgument &argument : plan.arguments)
      if (argument.dims().hasRows)
        rowLength = std::max(rowLength, argument.rowLength);
  }

  /// A constant, the row count, or a workgroup count.
  int64_t get(const runtime::PlanValue &value) const {
    return value.evaluate(size, workgroupCounts.data(), "the report");
  }
  /// The elements of the longest row block; a matrix is one column of all its
  /// elements.
  int64_t getRowLength() const { return rowLength; }

  /// The bytes of a parameter in a kernel of `kernelRows` rows and `workgroups`
  /// workgroups; 0 for one that is no buffer.
  double getBytes(const runtime::PlanValue &parameter, int64_t kernelRows,
                  int64_t workgroups) const {
    auto index = size_t(parameter.index);
    if (parameter.kind == runtime::PlanValue::Kind::Workspace)
      return double(plan.workspaceBytes(index, size, workgroupCounts.data()));
    if (parameter.kind != runtime::PlanValue::Kind::Argument)
      return 0;
    const runtime::PlanArgument &argument = plan.arguments[index];
    double ofRow = getRowBytes(argument);
    if (argument.dims().hasRows)
      return ofRow * double(kernelRows);
    if (argument.access != LNBWD_ACCESS_READ || workgroups == 1)
      return ofRow;
    // Of a table, and of what is spread over row blocks, a workgroup reads a
    // row for each of its own.
    double ofRows = double(kernelRows * rowLength) *
                    double(runtime::elementSize(argument.element));
    double ofAll = ofRow * double(workgroups);
    return argument.rowLength > rowLength ? std::min(ofAll, ofRows) : ofAll;
  }
  /// The elements of a parameter that is a buffer.
  double getElements(const runtime::PlanValue &parameter,
                     int64_t kernelRows) const {
    auto index = size_t(parameter.index);
    lnbwd_element element =
        parameter.kind == runtime::PlanValue::Kind::Workspace
            ? plan.workspaces[index].element
            : plan.arguments[index].element;
    return getBytes(parameter, kernelRows, /*workgroups=*/1) /
           double(runtime::elementSize(element));
  }
  static double getRowBytes(const runtime::PlanArgument &argument) {
    return double(argument.rowLength) *
           double(runtime::elementSize(argument.element));
  }

private:
  const runtime::Plan &plan;
  runtime::LaunchSize size;
  SmallVector<int64_t> workgroupCounts;
  int64_t rowLength = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

/// The load of the busiest compute unit over the mean, for a kernel of `rows`
/// rows in a grid of `workgroups` by `tiles`.
static double getImbalance(const KernelReport &kernel, const Schedule &schedule,
                           int64_t rows, int64_t workgroups, int64_t tiles,
                           const ChipInfo &chip) {
  auto units = double(chip.computeUnits);
  if (kernel.product) {
    auto pieces = double(kernel.product->tiles * kernel.product->parts);
    return pieces > 0 ? std::ceil(pieces / units) * units / pieces : 1;
  }
  auto groups = double(schedule.rowGroups);
  double mean = double(rows) / groups * double(tiles) / units;
  auto most = double(
      llvm::divideCeil(llvm::divideCeil(rows, schedule.rowGroups), workgroups));
  auto perUnit = double(llvm::divideCeil(kernel.workgroups, chip.computeUnits));
  return mean > 0 ? most * perUnit / mean : 1;
}

/// Fills in the times that the parts of a kernel take at least.
static void predict(KernelReport &kernel, const ChipInfo &chip) {
  kernel.memoryTime =
      kernel.plannedBytes / (double(chip.limits.gigabytesPerSecond) * 1e9);
  kernel.time = kernel.memoryTime;
  kernel.bound = "memory";
  if (!kernel.product || !kernel.product->multiplied)
    return;
  // Operations of a compute unit in a clock; 0: not known.
  Type multiplied = kernel.product->multiplied;
  int64_t rate = multiplied.isF32() ? chip.matrix.singlePerClock
                                    : chip.matrix.halfPerClock;
  if (!rate)
    return;
  double clocks = 2 * kernel.product->multiplyAdds /
                  (double(rate) * double(chip.computeUnits));
  kernel.matrixTime =
      clocks / (double(chip.limits.megahertz) * 1e6) * kernel.imbalance;
  if (*kernel.matrixTime > kernel.time) {
    kernel.time = *kernel.matrixTime;
    kernel.bound = "matrix instructions";
  }
}

/// The rows of the function's row blocks, if all have the same static number.
static std::optional<int64_t> getStaticRows(ModuleOp module,
                                            const runtime::Plan &plan) {
  auto function = module.lookupSymbol<func::FuncOp>(plan.name);
  std::optional<int64_t> rows;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    if (plan.arguments[i].kind != LNBWD_ARGUMENT_ROW_BLOCK)
      continue;
    int64_t rank = ArgumentAttr::of(function, unsigned(i)).getRowRank();
    rows =
        getRowLayout(cast<ShapedType>(type), std::max<int64_t>(rank, 1)).count;
    if (!rows)
      return std::nullopt;
  }
  return rows;
}

/// The tiles of a kernel for a result of so many elements, which is launched
/// for `launchedRows` rows.
static ProductReport getProductReport(KernelInfoAttr info, int64_t launchedRows,
                                      double elements) {
  ProductLoopAttr loop = info.getProduct();
  ProductReport report;
  report.parts = loop.getParts();
  report.step = loop.getStep();
  int64_t sum = loop.getSum() ? loop.getSum() : launchedRows;
  report.iterations = llvm::divideCeil(sum, report.step);
  report.tileColumns = info.getSchedule()->columnTile;
  report.tileRows = info.getSchedule()->rowsPerWorkgroup;
  int64_t rows = int64_t(elements) / info.getRowLength();
  report.tiles =
      int64_t(llvm::divideCeil(rows, report.tileRows) *
              llvm::divideCeil(info.getRowLength(), report.tileColumns));
  report.multiplyAdds = elements * double(sum);
  report.multiplied = loop.getMultiplied();
  return report;
}

/// The tiles of a kernel that makes a product, and its bytes: each of the
/// matrices that it multiplies is read once for each tile of the other one, and
/// all else is there once.
static void readProduct(KernelInfoAttr info,
                        ArrayRef<runtime::PlanValue> parameters, int64_t rows,
                        const PlanNumbers &numbers, KernelReport &kernel) {
  auto getBytes = [&](size_t index) {
    return numbers.getBytes(parameters[index], rows, /*workgroups=*/1);
  };
  // Two matrices and the parts of their product.
  double elements = numbers.getElements(parameters[2], rows) /
                    double(info.getProduct().getParts());
  kernel.product = getProductReport(info, rows, elements);
  for (size_t i = 0; i < parameters.size(); ++i)
    kernel.plannedBytes += getBytes(i);
  if (!kernel.product->tiles)
    return;
  auto columnTiles = double(
      llvm::divideCeil(info.getRowLength(), kernel.product->tileColumns));
  double rowTiles = double(kernel.product->tiles) / columnTiles;
  kernel.plannedBytes +=
      getBytes(0) * (columnTiles - 1) + getBytes(1) * (rowTiles - 1);
}

/// The report of a module with that plan. The plan's reader throws what is
/// wrong with it.
static FailureOr<Report> makeReport(ModuleOp lowered, gpu::GPUModuleOp module,
                                    const runtime::Plan &plan,
                                    const Emission &emission, int64_t rows,
                                    const ChipInfo &chip) {
  Report report;
  report.name = plan.name;
  report.chip = &chip;
  if (rows == 0) {
    std::optional<int64_t> known = getStaticRows(lowered, plan);
    if (!known)
      return module.emitError("the report depends on the number of rows, which "
                              "@")
             << report.name << " does not have; give it by --rows=NUMBER";
    rows = *known;
  }
  report.rows = rows;
  PlanNumbers numbers(plan, rows, chip);
  for (const runtime::PlanArgument &argument : plan.arguments)
    report.minimalBytes += PlanNumbers::getRowBytes(argument) *
                           double(argument.dims().hasRows ? rows : 1);
  report.rowLength = numbers.getRowLength();

  for (const runtime::PlanKernel &entry : plan.kernels) {
    KernelReport kernel;
    kernel.name = entry.name;
    int64_t workgroups = numbers.get(entry.grid[0]);
    int64_t tiles = numbers.get(entry.grid[1]) * numbers.get(entry.grid[2]);
    kernel.workgroups = workgroups * tiles;
    kernel.threads = entry.block[0];
    kernel.dynamicSharedMemoryBytes = entry.dynamicSharedBytes;
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(kernel.name);
    auto info = function->getAttrOfType<KernelInfoAttr>(kernelInfoAttr);
    bool isProduct = info && info.getProduct();
    // The last two parameters are the kernel's rows and its workgroups; a
    // product has the rows alone.
    ArrayRef<runtime::PlanValue> parameters = entry.parameters;
    int64_t kernelRows =
        numbers.get(parameters[parameters.size() - (isProduct ? 1 : 2)]);
    if (isProduct)
      readProduct(info, parameters, kernelRows, numbers, kernel);
    else
      for (const runtime::PlanValue &parameter : parameters)
        kernel.plannedBytes +=
            numbers.getBytes(parameter, kernelRows, workgroups);

    for (const KernelResources &resources : emission.kernels)
      if (resources.name == kernel.name)
        kernel.resources = resources;
    if (kernel.resources)
      kernel.occupancy = getOccupancy(*kernel.resources, kernel.threads,
                                      kernel.dynamicSharedMemoryBytes, chip);
    if (info)
      kernel.imbalance = getImbalance(kernel, info.getSchedule(), kernelRows,
                                      workgroups, tiles, chip);
    if (info && !isProduct) {
      llvm::raw_string_ostream os(kernel.schedule);
      os << info.getSchedule();
    }
    predict(kernel, chip);
    report.bytes += kernel.plannedBytes;
    report.time += kernel.time;
    report.kernels.push_back(std::move(kernel));
  }
  return report;
}

FailureOr<Report> lnbwd::buildReport(ModuleOp lowered, const Emission &emission,
                                     int64_t rows) {
  auto module = *lowered.getOps<gpu::GPUModuleOp>().begin();
  FailureOr<const ChipInfo *> chip = TargetBackend::getChip(module);
  if (failed(chip))
    return failure();
  std::string plan = getLaunchPlan(module);
  if (plan.empty())
    return module.emitOpError(
        "has no launch plan to report on; run lnbwd-attach-launch-plan before");
  try {
    return makeReport(lowered, module, runtime::parsePlan(plan), emission, rows,
                      **chip);
  } catch (const std::exception &error) {
    return module.emitOpError("cannot be reported on: ") << error.what();
  }
}

double Report::getShareOfPeak() const {
  return time > 0 ? minimalBytes / time /
                        (double(chip->limits.gigabytesPerSecond) * 1e9)
                  : 0;
}
