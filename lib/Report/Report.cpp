//===- Report.cpp - What a compiled kernel costs --------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the launch plan says for a number of rows, and what that comes to;
// docs/report.md has the formulas.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Report/Report.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Dialect/LNBwd/IR/RowLayout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace lnbwd;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// The launch plan for a number of rows
//===----------------------------------------------------------------------===//

namespace {
/// Reads numbers of a plan; the plan was made by this program. Where rows are
/// groups, they are taken for one.
class PlanReader {
public:
  PlanReader(const json::Object &plan, int64_t rows, const ChipInfo &chip)
      : plan(plan), rows(rows), chip(chip) {}

  /// A constant, the row count, or a workgroup count.
  int64_t getNumber(const json::Value &value) const {
    if (std::optional<int64_t> constant = value.getAsInteger())
      return *constant;
    const json::Object &object = *value.getAsObject();
    if (std::optional<int64_t> constant = object.getInteger("constant"))
      return *constant;
    if (std::optional<int64_t> count = object.getInteger("workgroup_count"))
      return getWorkgroups(*count);
    return object.get("groups") ? 1 : rows;
  }

  /// Whether an argument is read by each workgroup, and not by row.
  static bool isColumn(const json::Object &argument) {
    return !getInfo(*findKind(*argument.getString("kind"))).hasRows;
  }

  /// The bytes of a parameter in a kernel of `kernelRows` rows and `workgroups`
  /// workgroups; 0 for one that is no buffer.
  double getBytes(const json::Value &parameter, int64_t kernelRows,
                  int64_t workgroups) const {
    const json::Object &object = *parameter.getAsObject();
    if (std::optional<int64_t> index = object.getInteger("workspace")) {
      const json::Object &buffer =
          *(*plan.getArray("workspace"))[*index].getAsObject();
      return double(getNumber(*buffer.get("rows"))) * getRowBytes(buffer);
    }
    std::optional<int64_t> index = object.getInteger("argument");
    if (!index)
      return 0;
    const json::Object &argument = getArgument(*index);
    if (!isColumn(argument))
      return getRowBytes(argument) * double(kernelRows);
    if (argument.getString("access") != "read" || workgroups == 1)
      return getRowBytes(argument);
    // Of a table, and of what is spread over row blocks, a workgroup reads a
    // row for each of its own.
    int64_t length = *argument.getInteger("row_length");
    double ofRows =
        double(kernelRows * getRowLength()) * double(getElementBytes(argument));
    double ofAll = getRowBytes(argument) * double(workgroups);
    return length > getRowLength() ? std::min(ofAll, ofRows) : ofAll;
  }

  /// The elements of the longest row block.
  int64_t getRowLength() const {
    int64_t length = 0;
    for (const json::Value &value : *plan.getArray("arguments"))
      if (!isColumn(*value.getAsObject()))
        length =
            std::max(length, *value.getAsObject()->getInteger("row_length"));
    return length;
  }

  /// The elements of a parameter that is a buffer.
  double getElements(const json::Value &parameter, int64_t kernelRows) const {
    const json::Object &object = *parameter.getAsObject();
    std::optional<int64_t> index = object.getInteger("workspace");
    const json::Object &buffer =
        index ? *(*plan.getArray("workspace"))[*index].getAsObject()
              : getArgument(*object.getInteger("argument"));
    return getBytes(parameter, kernelRows, /*workgroups=*/1) /
           double(getElementBytes(buffer));
  }

  const json::Object &getArgument(int64_t index) const {
    return *(*plan.getArray("arguments"))[index].getAsObject();
  }

  static int64_t getElementBytes(const json::Object &buffer) {
    return int64_t(getInfo(*findElement(*buffer.getString("element"))).bytes);
  }

  static double getRowBytes(const json::Object &buffer) {
    return double(*buffer.getInteger("row_length")) *
           double(getElementBytes(buffer));
  }

private:
  int64_t getWorkgroups(int64_t index) const {
    const json::Object &count =
        *(*plan.getArray("workgroup_counts"))[index].getAsObject();
    int64_t workgroups =
        llvm::divideCeil(rows, *count.getInteger("rows_per_workgroup"));
    int64_t perUnit = *count.getInteger("workgroups_per_compute_unit");
    if (perUnit)
      workgroups = std::min(
          workgroups, perUnit * chip.computeUnits /
                          count.getInteger("workgroups_per_row").value_or(1));
    if (std::optional<int64_t> most = count.getInteger("max_workgroups"))
      workgroups = std::min(workgroups, *most);
    return std::max<int64_t>(1, workgroups);
  }

  const json::Object &plan;
  int64_t rows;
  const ChipInfo &chip;
};
} // namespace

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

/// The load of the busiest compute unit over the mean, for a kernel of `rows`
/// rows in a grid of `workgroups` by `tiles`.
static double getImbalance(const KernelReport &kernel, ScheduleAttr schedule,
                           int64_t rows, int64_t workgroups, int64_t tiles,
                           const ChipInfo &chip) {
  auto units = double(chip.computeUnits);
  if (kernel.product) {
    auto pieces = double(kernel.product->tiles * kernel.product->parts);
    return pieces > 0 ? std::ceil(pieces / units) * units / pieces : 1;
  }
  auto groups = double(schedule.getRowGroups());
  double mean = double(rows) / groups * double(tiles) / units;
  auto most = double(llvm::divideCeil(
      llvm::divideCeil(rows, schedule.getRowGroups()), workgroups));
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
  int64_t rate = multiplied.isTF32()  ? chip.matrix.tf32PerClock
                 : multiplied.isF32() ? chip.matrix.singlePerClock
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
static std::optional<int64_t>
getStaticRows(ModuleOp module, const PlanReader &plan, StringRef name) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  std::optional<int64_t> rows;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    if (plan.getArgument(int64_t(i)).getString("kind") != "row_block")
      continue;
    auto rank = function.getArgAttrOfType<IntegerAttr>(unsigned(i),
                                                       argumentRowRankAttr);
    rows = getRowLayout(cast<ShapedType>(type), rank ? rank.getInt() : 1).count;
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
  if (report.step)
    report.iterations = llvm::divideCeil(sum, report.step);
  report.tileColumns = info.getSchedule().getColumnTile();
  report.tileRows = info.getSchedule().getRowsPerWorkgroup();
  int64_t rows = int64_t(elements) / info.getRowLength();
  report.tiles =
      int64_t(llvm::divideCeil(rows, report.tileRows) *
              llvm::divideCeil(info.getRowLength(), report.tileColumns));
  if (report.step)
    report.multiplyAdds = elements * double(sum);
  report.multiplied = loop.getMultiplied();
  return report;
}

/// The tiles of a kernel that makes a product, or adds its parts, and its
/// bytes: each of the matrices that it multiplies is read once for each tile of
/// the other one, and all else is there once.
static void readProduct(KernelInfoAttr info, const json::Array &parameters,
                        int64_t rows, const PlanReader &reader,
                        KernelReport &kernel) {
  auto getBytes = [&](size_t index) {
    return reader.getBytes(parameters[index], rows, /*workgroups=*/1);
  };
  // Two matrices and the parts of their product, or the parts and their sum.
  bool adds = info.getProduct().getStep() == 0;
  double elements = reader.getElements(parameters[adds ? 1 : 2], rows);
  if (!adds)
    elements /= double(info.getProduct().getParts());
  kernel.product = getProductReport(info, rows, elements);
  for (size_t i = 0; i < parameters.size(); ++i)
    kernel.plannedBytes += getBytes(i);
  if (adds || !kernel.product->tiles)
    return;
  auto columnTiles = double(
      llvm::divideCeil(info.getRowLength(), kernel.product->tileColumns));
  double rowTiles = double(kernel.product->tiles) / columnTiles;
  kernel.plannedBytes +=
      getBytes(0) * (columnTiles - 1) + getBytes(1) * (rowTiles - 1);
}

FailureOr<Report> lnbwd::buildReport(ModuleOp lowered, const Emission &emission,
                                     int64_t rows) {
  auto module = *lowered.getOps<gpu::GPUModuleOp>().begin();
  FailureOr<const ChipInfo *> chip = TargetBackend::getChip(module);
  if (failed(chip))
    return failure();
  auto planText = module->getAttrOfType<StringAttr>(launchPlanAttr);
  if (!planText)
    return module.emitOpError(
        "has no launch plan to report on; run lnbwd-attach-launch-plan before");
  llvm::Expected<json::Value> parsed = json::parse(planText.getValue());
  if (!parsed)
    return module.emitOpError("has a launch plan that is no JSON: ")
           << llvm::toString(parsed.takeError());
  const json::Object &plan = *parsed->getAsObject();

  Report report;
  report.name = plan.getString("name")->str();
  report.chip = *chip;
  if (rows == 0) {
    std::optional<int64_t> known =
        getStaticRows(lowered, PlanReader(plan, 0, **chip), report.name);
    if (!known)
      return module.emitError("the report depends on the number of rows, which "
                              "@")
             << report.name << " does not have; give it by --rows=NUMBER";
    rows = *known;
  }
  report.rows = rows;
  PlanReader reader(plan, rows, **chip);
  for (const json::Value &value : *plan.getArray("arguments")) {
    const json::Object &argument = *value.getAsObject();
    bool isColumn = PlanReader::isColumn(argument);
    report.minimalBytes +=
        PlanReader::getRowBytes(argument) * double(isColumn ? 1 : rows);
  }
  // A matrix is one column of all its elements.
  report.rowLength = reader.getRowLength();

  for (const json::Value &value : *plan.getArray("kernels")) {
    const json::Object &entry = *value.getAsObject();
    KernelReport kernel;
    kernel.name = entry.getString("name")->str();
    const json::Array &grid = *entry.getArray("grid");
    const json::Array &parameters = *entry.getArray("parameters");
    int64_t workgroups = reader.getNumber(grid[0]);
    int64_t tiles = reader.getNumber(grid[1]) * reader.getNumber(grid[2]);
    kernel.workgroups = workgroups * tiles;
    kernel.threads = reader.getNumber((*entry.getArray("block"))[0]);
    kernel.dynamicSharedMemoryBytes = *entry.getInteger("dynamic_shared_bytes");
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(kernel.name);
    auto info = function->getAttrOfType<KernelInfoAttr>(kernelInfoAttr);
    bool isProduct = info && info.getProduct();
    // The last two parameters are the kernel's rows and its workgroups; a
    // product has the rows alone.
    int64_t kernelRows =
        reader.getNumber(parameters[parameters.size() - (isProduct ? 1 : 2)]);
    if (isProduct)
      readProduct(info, parameters, kernelRows, reader, kernel);
    else
      for (const json::Value &parameter : parameters)
        kernel.plannedBytes +=
            reader.getBytes(parameter, kernelRows, workgroups);

    for (const KernelResources &resources : emission.kernels)
      if (resources.name == kernel.name)
        kernel.resources = resources;
    if (kernel.resources)
      kernel.occupancy = getOccupancy(*kernel.resources, kernel.threads,
                                      kernel.dynamicSharedMemoryBytes, **chip);
    if (info)
      kernel.imbalance = getImbalance(kernel, info.getSchedule(), kernelRows,
                                      workgroups, tiles, **chip);
    if (info && !isProduct) {
      llvm::raw_string_ostream os(kernel.schedule);
      os << info.getSchedule();
    }
    predict(kernel, **chip);
    report.bytes += kernel.plannedBytes;
    report.time += kernel.time;
    report.kernels.push_back(std::move(kernel));
  }
  return report;
}

double Report::getShareOfPeak() const {
  return time > 0 ? minimalBytes / time /
                        (double(chip->limits.gigabytesPerSecond) * 1e9)
                  : 0;
}
