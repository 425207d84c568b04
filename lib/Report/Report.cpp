//===- Report.cpp - What a compiled kernel costs --------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each instruction counts as often as its part of the kernel runs, which the
// schedule and the launch plan say exactly; docs/report.md has the formulas.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Report/Report.h"

#include "MachineCode.h"

#include "lnbwd/Analysis/ScheduleLimits.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;
namespace json = llvm::json;

/// What a load from device memory takes at least, in seconds, for the bound by
/// latency: an assumption, the same for all chips.
static constexpr double loadLatency = 800e-9;

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
    return llvm::is_contained<StringRef>({"column", "group_column"},
                                         *argument.getString("kind"));
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
    bool isRead = argument.getString("access") == "read";
    return getRowBytes(argument) *
           double(isColumn(argument) ? (isRead ? workgroups : 1) : kernelRows);
  }

  const json::Object &getArgument(int64_t index) const {
    return *(*plan.getArray("arguments"))[index].getAsObject();
  }

  static double getRowBytes(const json::Object &buffer) {
    int64_t bytes =
        llvm::StringSwitch<int64_t>(buffer.getString("element").value_or(""))
            .Case("f32", 4)
            .Case("i8", 1)
            .Default(2);
    return double(*buffer.getInteger("row_length")) * double(bytes);
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

/// One kernel's launch: how often its parts run.
struct KernelRuns {
  ScheduleAttr schedule;
  int64_t waveSize;
  int64_t rows;
  int64_t rowLength;
  /// The grid.
  int64_t workgroups;
  int64_t tiles;

  int64_t getThreads() const { return schedule.getThreads(); }
  int64_t getSets() const { return rows / schedule.getRowGroups(); }
  bool hasTail() const { return rows % schedule.getRowGroups() != 0; }
  /// The share of the rows of a turn that exist, in a loop without prefetch
  /// that takes several sets a turn and masks the others.
  double getLoaded() const {
    bool masks = schedule.getUnroll() > 1 && !schedule.getPrefetch();
    double places = getRuns({lane::PartKind::Row}) / double(tiles) *
                    double(schedule.getUnroll() * schedule.getRowGroups());
    return masks && places > 0 ? double(rows) / places : 1;
  }
  int64_t getStarted() const { return std::min(workgroups, getSets()); }

  /// Workgroups times sets, or whatever the part is run for.
  double getRuns(const KernelPart &part) const;
  /// getRuns, and the runs whose loads are dropped, for want of such a set.
  double getIssues(const KernelPart &part) const;
  /// The share of the bytes of a run that a bounded load brings, where rows
  /// are missing from a set.
  double getBounded(const KernelPart &part) const {
    if (part.kind == lane::PartKind::Tail)
      return double(rows % schedule.getRowGroups()) /
             double(schedule.getRowGroups());
    return 1;
  }
  /// Waves, and lanes, of one workgroup that take part.
  double getLanes(const KernelPart &part) const {
    return double(part.groups
                      ? int64_t(part.groups) * schedule.getThreadsPerRow()
                      : getThreads());
  }
  double getWaves(const KernelPart &part) const {
    return double(llvm::divideCeil(uint64_t(getLanes(part)), waveSize));
  }
};
} // namespace

double KernelRuns::getRuns(const KernelPart &part) const {
  int64_t sets = getSets();
  // With two sets a turn, a workgroup with an odd number begins one more turn.
  int64_t least = sets / workgroups, more = sets % workgroups;
  int64_t firsts = more * llvm::divideCeil(least + 1, 2) +
                   (workgroups - more) * llvm::divideCeil(least, 2);
  bool paired = schedule.getUnroll() == 2;
  int64_t runs = 0;
  switch (part.kind) {
  case lane::PartKind::Setup:
    runs = workgroups;
    break;
  case lane::PartKind::FirstLoad:
    runs = getStarted();
    break;
  case lane::PartKind::Row:
    runs = paired ? firsts : sets;
    // A turn of a loop without prefetch masks the rows that do not exist.
    if (schedule.getUnroll() > 1 && !schedule.getPrefetch()) {
      int64_t all = sets + (hasTail() ? 1 : 0);
      int64_t fewer = all / workgroups, longer = all % workgroups;
      runs =
          longer * llvm::divideCeil(fewer + 1, schedule.getUnroll()) +
          (workgroups - longer) * llvm::divideCeil(fewer, schedule.getUnroll());
    }
    break;
  case lane::PartKind::FirstSecondLoad:
    runs = std::clamp<int64_t>(sets - workgroups, 0, workgroups);
    break;
  case lane::PartKind::SecondRow:
    runs = sets - firsts;
    break;
  case lane::PartKind::SecondLoad:
    runs =
        sets - firsts - std::clamp<int64_t>(sets - workgroups, 0, workgroups);
    break;
  case lane::PartKind::NextLoad:
    runs = (paired ? firsts : sets) - getStarted();
    break;
  case lane::PartKind::Tail:
    runs = hasTail() ? 1 : 0;
    break;
  case lane::PartKind::SumBlock: {
    auto getBlocks = [&](int64_t workgroupSets) {
      return llvm::divideCeil(workgroupSets, schedule.getUnroll() *
                                                 getSumBlockTurns(schedule));
    };
    bool masks = schedule.getUnroll() > 1 && !schedule.getPrefetch();
    int64_t all = sets + (masks && hasTail() ? 1 : 0);
    runs = all % workgroups * getBlocks(all / workgroups + 1) +
           (workgroups - all % workgroups) * getBlocks(all / workgroups);
    break;
  }
  }
  int64_t turns =
      part.reload ? llvm::divideCeil(rowLength, schedule.getChunkColumns()) : 1;
  return double(runs) * double(turns) * double(tiles);
}

double KernelRuns::getIssues(const KernelPart &part) const {
  KernelPart around = part;
  switch (part.kind) {
  case lane::PartKind::FirstSecondLoad:
    around.kind = lane::PartKind::FirstLoad;
    break;
  case lane::PartKind::SecondLoad:
  case lane::PartKind::NextLoad:
    around.kind = lane::PartKind::Row;
    break;
  default:
    break;
  }
  return getRuns(around);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

constexpr size_t numPartKinds = lane::getMaxEnumValForPartKind() + 1;

static bool isRowLoop(const KernelPart &part) {
  return part.kind == lane::PartKind::Row ||
         part.kind == lane::PartKind::SecondRow;
}

/// How many copies of the row loop's body the code generator has made, of which
/// each runs for its share of the sets. There is one copy of the loads before
/// the loop, or behind it, to compare with.
static double countCopies(ArrayRef<Instruction> code) {
  std::array<int64_t, numPartKinds> loads{};
  auto getLoads = [&](lane::PartKind kind) { return loads[size_t(kind)]; };
  for (const Instruction &instruction : code)
    if (instruction.kind == InstructionClass::VectorMemory &&
        !instruction.isStore && !instruction.part.scalars)
      ++loads[size_t(instruction.part.kind)];
  int64_t once = getLoads(lane::PartKind::FirstLoad);
  if (!once)
    once = getLoads(lane::PartKind::Tail);
  int64_t inLoop = std::max(getLoads(lane::PartKind::Row),
                            getLoads(lane::PartKind::NextLoad));
  return once && inLoop > once ? double(inLoop) / double(once) : 1;
}

static CodeFigures evaluate(ArrayRef<Instruction> code,
                            const KernelRuns &launch) {
  CodeFigures figures;
  // Stores of columns that do not exist are masked; loads go elsewhere.
  int64_t covered =
      launch.schedule.getColumnTile()
          ? launch.rowLength
          : llvm::alignTo(launch.rowLength, launch.schedule.getChunkColumns());
  double stored = double(launch.rowLength) / double(covered);
  double rowBarriers = 0;
  std::array<int64_t, numPartKinds> ahead{};
  double copies = countCopies(code);
  for (const Instruction &instruction : code) {
    const KernelPart &part = instruction.part;
    double runs = launch.getRuns(part), issues = launch.getIssues(part);
    if (part.kind == lane::PartKind::Row ||
        part.kind == lane::PartKind::NextLoad) {
      runs /= copies;
      issues /= copies;
    }
    double waves = issues * launch.getWaves(part);
    auto count = [&](double InstructionCounts::*field) {
      figures.instructions.*field += waves;
    };
    switch (instruction.kind) {
    case InstructionClass::VectorALU:
      count(&InstructionCounts::vectorALU);
      if (instruction.isDual)
        count(&InstructionCounts::dualIssue);
      break;
    case InstructionClass::ScalarALU:
      count(&InstructionCounts::scalarALU);
      break;
    case InstructionClass::VectorMemory: {
      count(&InstructionCounts::vectorMemory);
      // Of a wave that works on one row, one lane loads the row's scalars.
      bool once = part.scalars && instruction.isBounded &&
                  launch.schedule.getThreadsPerRow() % launch.waveSize == 0;
      double lanes = once ? launch.getWaves(part) : launch.getLanes(part);
      double bytes = runs * lanes * double(instruction.bytes);
      if (instruction.isBounded)
        bytes *= launch.getBounded(part);
      if (instruction.isStore)
        figures.bytesWritten += bytes * stored;
      else
        figures.bytesRead +=
            bytes * (part.kind == lane::PartKind::Row ? launch.getLoaded() : 1);
      if (part.scalars || part.kind == lane::PartKind::Setup)
        break;
      if (!instruction.isStore && part.kind != lane::PartKind::Tail)
        ahead[size_t(part.kind)] += instruction.bytes;
      int64_t &narrowest = figures.narrowestRowAccess;
      narrowest = narrowest ? std::min(narrowest, instruction.bytes)
                            : instruction.bytes;
      figures.widestRowAccess =
          std::max(figures.widestRowAccess, instruction.bytes);
      break;
    }
    case InstructionClass::ScalarMemory:
      count(&InstructionCounts::scalarMemory);
      // Kernel arguments are not what the operation reads.
      if (part.kind != lane::PartKind::Setup)
        figures.bytesRead += waves * double(instruction.bytes);
      break;
    case InstructionClass::LDS:
      count(&InstructionCounts::lds);
      break;
    case InstructionClass::Barrier:
      count(&InstructionCounts::barrier);
      if (isRowLoop(part))
        rowBarriers += runs;
      break;
    case InstructionClass::Wait:
      count(&InstructionCounts::wait);
      break;
    case InstructionClass::Other:
      count(&InstructionCounts::other);
      break;
    }
  }
  if (int64_t sets = launch.getSets() * launch.tiles)
    figures.barriersPerSet = rowBarriers / double(sets);
  figures.bytesAhead = int64_t(double(*llvm::max_element(ahead)) / copies);
  return figures;
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

/// Fills in the times that the parts of a kernel take at least.
static void predict(KernelReport &kernel, const KernelRuns *launch,
                    const ChipInfo &chip) {
  auto units = double(chip.computeUnits);
  double peak = double(chip.limits.gigabytesPerSecond) * 1e9;
  double bytes = kernel.plannedBytes;
  if (kernel.code)
    bytes = kernel.code->bytesRead + kernel.code->bytesWritten;
  kernel.memoryTime = bytes / peak;

  auto perUnit = double(llvm::divideCeil(kernel.workgroups, chip.computeUnits));
  if (launch) {
    double mean = double(launch->rows) /
                  double(launch->schedule.getRowGroups()) *
                  double(launch->tiles) / units;
    auto most = double(llvm::divideCeil(
        llvm::divideCeil(launch->rows, launch->schedule.getRowGroups()),
        launch->workgroups));
    kernel.imbalance = mean > 0 ? most * perUnit / mean : 1;
  }
  if (kernel.code) {
    double clocks = kernel.code->instructions.vectorALU *
                    double(chip.waveSize) /
                    double(chip.limits.vectorLanesPerClock) / units;
    kernel.vectorTime =
        clocks / (double(chip.limits.megahertz) * 1e6) * kernel.imbalance;
    if (kernel.occupancy) {
      double resident = std::min(double(kernel.occupancy->workgroups) /
                                     double(chip.limits.computeUnitsTogether),
                                 perUnit);
      kernel.bytesInFlight =
          resident * double(kernel.threads) * double(kernel.code->bytesAhead);
      if (*kernel.bytesInFlight > 0)
        kernel.latencyTime = kernel.code->bytesRead / units /
                             *kernel.bytesInFlight * loadLatency *
                             kernel.imbalance;
    }
  }
  kernel.time = kernel.memoryTime;
  kernel.bound = "memory";
  auto consider = [&](std::optional<double> time, StringRef name) {
    if (time && *time > kernel.time) {
      kernel.time = *time;
      kernel.bound = name;
    }
  };
  consider(kernel.vectorTime, "vector ALU");
  consider(kernel.latencyTime, "latency");
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
    rows = getStaticRowCount(cast<ShapedType>(type), rank ? rank.getInt() : 1);
    if (!rows)
      return std::nullopt;
  }
  return rows;
}

FailureOr<Report> lnbwd::buildReport(ModuleOp lowered, const Emission &emission,
                                     const EmitOptions &options, int64_t rows) {
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
    report.rowLength =
        std::max(report.rowLength, *argument.getInteger("row_length"));
  }

  // The code of the object again, with a line table that says which part is
  // which.
  std::string withParts;
  SmallVector<KernelPart> parts;
  if ((*chip)->backend == Backend::AMDGPU && !emission.object.empty()) {
    OwningOpRef<ModuleOp> noted = lowered.clone();
    FailureOr<SmallVector<KernelPart>> lines = notePartsAsLines(*noted);
    if (failed(lines))
      return failure();
    parts = std::move(*lines);
    EmitOptions quiet = options;
    quiet.onIntermediate = nullptr;
    FailureOr<Emission> again =
        TargetBackend::get((*chip)->backend)
            .emit(*noted->getOps<gpu::GPUModuleOp>().begin(), EmitFormat::HSACO,
                  quiet);
    if (failed(again))
      return failure();
    withParts = std::move(again->object);
  }

  for (const json::Value &value : *plan.getArray("kernels")) {
    const json::Object &entry = *value.getAsObject();
    KernelReport kernel;
    kernel.name = entry.getString("name")->str();
    const json::Array &grid = *entry.getArray("grid");
    const json::Array &parameters = *entry.getArray("parameters");
    int64_t workgroups = reader.getNumber(grid[0]);
    int64_t tiles = reader.getNumber(grid[1]);
    kernel.workgroups = workgroups * tiles;
    kernel.threads = reader.getNumber((*entry.getArray("block"))[0]);
    kernel.dynamicSharedMemoryBytes = *entry.getInteger("dynamic_shared_bytes");
    // The last two parameters are the kernel's rows and its workgroups.
    int64_t kernelRows = reader.getNumber(parameters[parameters.size() - 2]);
    for (const json::Value &parameter : parameters)
      kernel.plannedBytes += reader.getBytes(parameter, kernelRows, workgroups);

    for (const KernelResources &resources : emission.kernels)
      if (resources.name == kernel.name)
        kernel.resources = resources;
    if (kernel.resources)
      kernel.occupancy = getOccupancy(*kernel.resources, kernel.threads,
                                      kernel.dynamicSharedMemoryBytes, **chip);
    std::optional<KernelRuns> launch;
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(kernel.name);
    if (auto info = function->getAttrOfType<KernelInfoAttr>(kernelInfoAttr)) {
      launch = KernelRuns{info.getSchedule(),  (*chip)->waveSize, kernelRows,
                          info.getRowLength(), workgroups,        tiles};
      llvm::raw_string_ostream os(kernel.schedule);
      os << info.getSchedule();
    }
    if (launch && !withParts.empty()) {
      llvm::Expected<SmallVector<Instruction>> code =
          readInstructions(withParts, kernel.name, parts, **chip);
      if (!code)
        return module.emitError() << llvm::toString(code.takeError());
      kernel.code = evaluate(*code, *launch);
    }
    predict(kernel, launch ? &*launch : nullptr, **chip);
    report.kernels.push_back(std::move(kernel));
  }
  return report;
}

double Report::getBytes() const {
  double bytes = 0;
  for (const KernelReport &kernel : kernels)
    bytes += kernel.code ? kernel.code->bytesRead + kernel.code->bytesWritten
                         : kernel.plannedBytes;
  return bytes;
}

std::optional<double> Report::getVectorPerElement() const {
  double instructions = 0;
  for (const KernelReport &kernel : kernels) {
    if (!kernel.code)
      return std::nullopt;
    instructions += kernel.code->instructions.vectorALU;
  }
  return instructions * double(chip->waveSize) /
         (double(rows) * double(rowLength));
}

double Report::getTime() const {
  double time = 0;
  for (const KernelReport &kernel : kernels)
    time += kernel.time;
  return time;
}

double Report::getShareOfPeak() const {
  double time = getTime();
  return time > 0 ? minimalBytes / time /
                        (double(chip->limits.gigabytesPerSecond) * 1e9)
                  : 0;
}
