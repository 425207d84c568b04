//===- Plan.cpp - The launch plan -----------------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parser is strict: a key that it does not know may change what a launch
// has to do, so it is an error, as docs/runtime.md demands.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Runtime/Plan.h"

#include "Error.h"
#include "Json.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

using nlohmann::json;

namespace lnbwd::runtime {

constexpr int64_t kPlanVersion = 1;
constexpr int64_t kMostAlignment = 16;
constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

[[noreturn]] static void fail(const std::string &where,
                              const std::string &what) {
  throw Error(LNBWD_ERROR_INVALID_PLAN, "launch plan: " + where + ": " + what);
}

/// What stands at a place of the plan, short enough for a message.
static std::string describe(const json &value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 60)
    text = text.substr(0, 57) + "...";
  return text;
}

static int64_t readInteger(const json &value, const std::string &where,
                           int64_t minimum, int64_t maximum) {
  bool fits = value.is_number_integer();
  if (value.is_number_unsigned())
    fits = value.get<uint64_t>() <= static_cast<uint64_t>(kMaxInt64);
  if (fits) {
    auto number = value.get<int64_t>();
    if (number >= minimum && number <= maximum)
      return number;
  }
  std::string range = " of " + std::to_string(minimum) + " or more";
  if (maximum != kMaxInt64)
    range =
        " from " + std::to_string(minimum) + " to " + std::to_string(maximum);
  fail(where, "expected an integer" + range + ", got " + describe(value));
}

static std::string readString(const json &value, const std::string &where) {
  if (!value.is_string() || value.get_ref<const std::string &>().empty())
    fail(where, "expected a non-empty string, got " + describe(value));
  const auto &text = value.get_ref<const std::string &>();
  if (text.find('\0') != std::string::npos)
    fail(where, "expected a string without zero characters");
  return text;
}

/// Which entry of a table has the name that stands there, as a number of the C
/// interface.
template <typename Enum, typename Table>
static Enum readChoice(const json &value, const std::string &where,
                       const Table &table) {
  std::string names;
  for (const auto &entry : table) {
    if (value.is_string() && value.get_ref<const std::string &>() == entry.name)
      return static_cast<Enum>(&entry - std::begin(table));
    names += (names.empty() ? "'" : "', '") + std::string(entry.name);
  }
  fail(where, "expected one of " + names + "', got " + describe(value));
}

static const json &readArray(const json &value, const std::string &where,
                             size_t minimum, size_t maximum) {
  if (!value.is_array())
    fail(where, "expected an array, got " + describe(value));
  if (value.size() < minimum || value.size() > maximum)
    fail(where, "expected " + std::to_string(minimum) + " to " +
                    std::to_string(maximum) + " entries, got " +
                    std::to_string(value.size()));
  return value;
}

namespace {

/// An object with exactly the keys that its reader asks for.
class PlanReader {
public:
  PlanReader(const json &value, std::string where)
      : value(value), where(std::move(where)) {
    if (!value.is_object())
      fail(this->where, "expected an object, got " + describe(value));
  }

  const json &get(const char *key) {
    known.insert(key);
    auto it = value.find(key);
    if (it == value.end())
      fail(where, "the key '" + std::string(key) + "' is missing");
    return *it;
  }
  bool has(const char *key) const { return value.contains(key); }
  std::string at(const char *key) const { return where + "." + key; }

  std::string string(const char *key) { return readString(get(key), at(key)); }
  int64_t integer(const char *key, int64_t minimum,
                  int64_t maximum = kMaxInt64) {
    return readInteger(get(key), at(key), minimum, maximum);
  }
  /// The same, or `otherwise` if there is no such key.
  int64_t integerOr(const char *key, int64_t otherwise, int64_t minimum,
                    int64_t maximum = kMaxInt64) {
    return has(key) ? integer(key, minimum, maximum) : otherwise;
  }
  /// An index into a list of `count` entries.
  int64_t index(const char *key, size_t count) {
    if (count == 0)
      fail(at(key), "refers to a list that is empty");
    return integer(key, 0, static_cast<int64_t>(count) - 1);
  }
  /// Whether there is a key, whose value can only be true.
  bool flag(const char *key) {
    if (has(key) && get(key) != json(true))
      fail(at(key), "expected true, got " + describe(get(key)));
    return has(key);
  }
  const json &array(const char *key, size_t minimum, size_t maximum) {
    return readArray(get(key), at(key), minimum, maximum);
  }

  void finish() const {
    for (const auto &item : value.items())
      if (known.count(item.key()) == 0)
        fail(where, "unknown key '" + item.key() +
                        "'; this file needs a newer lnbwd runtime");
  }

private:
  const json &value;
  std::string where;
  std::set<std::string> known;
};

} // namespace

static std::string indexed(const std::string &name, size_t index) {
  return name + "[" + std::to_string(index) + "]";
}

/// By lnbwd_access.
static constexpr struct {
  const char *name;
} kAccesses[] = {{"read"}, {"write"}, {"read_write"}};

/// Reads a flag that has to do with groups of rows, so that the plan has to
/// have some.
static bool readGroups(PlanReader &reader, const char *key, const Plan &plan) {
  bool isSet = reader.flag(key);
  if (isSet && !plan.groupArgument())
    fail(reader.at(key), "expected an argument of a kind that has the groups, "
                         "such as group_column, got none");
  return isSet;
}

/// Reads the numbers of rows, if they are there: of the kernel, for those of
/// the launch.
static RowRatio readRatio(PlanReader &reader) {
  if (!reader.has("ratio"))
    return {};
  const json &numbers = reader.array("ratio", 2, 2);
  return {readInteger(numbers[0], reader.at("ratio"), 1, kMaxInt32),
          readInteger(numbers[1], reader.at("ratio"), 1, kMaxInt32)};
}

static PlanValue readParameter(const json &value, const std::string &where,
                               const Plan &plan) {
  using Kind = PlanValue::Kind;
  PlanReader reader(value, where);
  PlanValue parameter;
  if (reader.has("argument"))
    parameter = {Kind::Argument,
                 reader.index("argument", plan.arguments.size())};
  else if (reader.has("workspace"))
    parameter = {Kind::Workspace,
                 reader.index("workspace", plan.workspaces.size())};
  else if (reader.has("workgroup_count"))
    parameter = {Kind::WorkgroupCount,
                 reader.index("workgroup_count", plan.workgroupCounts.size()),
                 readGroups(reader, "groups", plan)};
  else if (readGroups(reader, "rows_per_group", plan))
    parameter.kind = Kind::RowsPerGroup;
  else if (reader.has("constant"))
    parameter.index = reader.integer("constant", 0);
  else if (reader.flag("rows"))
    parameter = {Kind::Rows, 0, false, readRatio(reader)};
  else if (readGroups(reader, "groups", plan))
    parameter = {Kind::Constant, 1, /*timesGroups=*/true};
  else
    fail(where, "expected one of the keys 'argument', 'workspace', 'rows', "
                "'rows_per_group', 'workgroup_count', 'constant', 'groups', "
                "got " +
                    describe(value));
  reader.finish();
  return parameter;
}

/// Reads a number of workgroups, or of a workspace's rows.
static PlanValue readCount(const json &value, const std::string &where,
                           const Plan &plan, int64_t minimum, int64_t maximum,
                           bool mayBeRows = false) {
  using Kind = PlanValue::Kind;
  if (!value.is_object())
    return {Kind::Constant, readInteger(value, where, minimum, maximum)};
  bool isKnown = value.contains("workgroup_count") ||
                 value.contains("groups") ||
                 (mayBeRows && value.contains("rows"));
  if (!isKnown)
    fail(where, "the key 'workgroup_count' is missing");
  return readParameter(value, where, plan);
}

static PlanKernel readKernel(const json &value, const std::string &where,
                             const Plan &plan) {
  PlanReader reader(value, where);
  PlanKernel kernel;
  kernel.name = reader.string("name");
  const json &grid = reader.array("grid", 3, 3);
  const json &block = reader.array("block", 3, 3);
  int64_t workItems = 1;
  for (size_t i = 0; i < 3; ++i) {
    kernel.grid[i] =
        readCount(grid[i], indexed(reader.at("grid"), i), plan, 1, kMaxInt32);
    kernel.block[i] = static_cast<uint32_t>(
        readInteger(block[i], indexed(reader.at("block"), i), 1, 1024));
    workItems *= kernel.block[i];
  }
  if (workItems > 1024)
    fail(reader.at("block"),
         "expected at most 1024 work-items, got " + std::to_string(workItems));
  kernel.dynamicSharedBytes = static_cast<uint32_t>(
      reader.integer("dynamic_shared_bytes", 0, kMaxInt32));
  kernel.dependentLaunch = reader.flag("dependent_launch");
  const json &parameters = reader.array("parameters", 0, kMaxParameters);
  for (size_t i = 0; i < parameters.size(); ++i)
    kernel.parameters.push_back(readParameter(
        parameters[i], indexed(reader.at("parameters"), i), plan));
  reader.finish();
  return kernel;
}

#define LNBWD_ELEMENT(name, torch)                                             \
  static_assert(static_cast<int>(Element::name) == LNBWD_ELEMENT_##name);
#include "lnbwd/Operations/Operations.h.inc"
#undef LNBWD_ELEMENT

static lnbwd_element readElement(PlanReader &reader) {
  return readChoice<lnbwd_element>(reader.get("element"), reader.at("element"),
                                   kElements);
}

static PlanArgument readArgument(const json &value, const std::string &where) {
  PlanReader reader(value, where);
  PlanArgument argument;
  argument.name = reader.string("name");
  argument.access = readChoice<lnbwd_access>(reader.get("access"),
                                             reader.at("access"), kAccesses);
  argument.kind = readChoice<lnbwd_argument_kind>(reader.get("kind"),
                                                  reader.at("kind"), kKinds);
  argument.element = readElement(reader);
  argument.rowLength = reader.integer("row_length", 1);
  const Dims &dims = argument.dims();
  if (!dims.hasColumns && argument.rowLength != 1)
    fail(reader.at("row_length"), std::string("expected 1 for a ") +
                                      getName(dims) + ", got " +
                                      std::to_string(argument.rowLength));
  if (reader.has("row_stride") && (!dims.hasRows || !dims.hasColumns))
    fail(reader.at("row_stride"), "expected a row_block to have it");
  argument.rowStride =
      reader.integerOr("row_stride", argument.rowLength, argument.rowLength);
  // A number may be an element of another tensor.
  argument.alignment = reader.integerOr("alignment",
                                        argument.kind == LNBWD_ARGUMENT_NUMBER
                                            ? elementSize(argument.element)
                                            : kMostAlignment,
                                        1, kMostAlignment);
  if ((argument.alignment & (argument.alignment - 1)) != 0)
    fail(reader.at("alignment"),
         "expected a power of two, got " + std::to_string(argument.alignment));
  reader.finish();
  return argument;
}

static PlanWorkgroupCount readWorkgroupCount(const json &document,
                                             const std::string &where,
                                             const Plan &plan) {
  PlanReader reader(document, where);
  int64_t rows = reader.integer("rows_per_workgroup", 1);
  int64_t limit = reader.integer("workgroups_per_compute_unit", 0, kMaxInt32);
  int64_t most = reader.integerOr("max_workgroups", 0, 1, kMaxInt32);
  int64_t least = reader.integerOr("least_workgroups", 1, 1, kMaxInt32);
  int64_t perRow = reader.integerOr("workgroups_per_row", 1, 1, kMaxInt32);
  bool perGroup = readGroups(reader, "per_group", plan);
  RowRatio ratio = readRatio(reader);
  reader.finish();
  return {rows, limit, most, least, perRow, perGroup, ratio};
}

static PlanWorkspace readWorkspace(const json &document,
                                   const std::string &where, const Plan &plan) {
  PlanReader reader(document, where);
  PlanWorkspace workspace;
  workspace.element = readElement(reader);
  workspace.rowLength = reader.integer("row_length", 1);
  workspace.rows = readCount(reader.get("rows"), reader.at("rows"), plan, 0,
                             kMaxInt64, /*mayBeRows=*/true);
  reader.finish();
  return workspace;
}

static Plan readPlan(const json &document, const std::string &text) {
  PlanReader reader(document, "plan");
  // Format and version come first: of a newer version nothing else can be
  // judged.
  std::string format = reader.string("format");
  if (format != "lnbwd-plan")
    fail(reader.at("format"), "expected 'lnbwd-plan', got '" + format + "'");
  int64_t version = reader.integer("version", 0);
  if (version != kPlanVersion)
    fail(reader.at("version"),
         "this runtime reads version " + std::to_string(kPlanVersion) +
             ", the file has version " + std::to_string(version) +
             "; compile the kernel again with the lnbwd-opt of this release, "
             "or take the runtime of the release that made it");

  Plan plan;
  plan.text = text;
  (void)reader.string("producer");
  plan.name = reader.string("name");
  plan.chip = reader.string("chip");
  plan.waveSize = reader.integer("wave_size", 32, 64);
  if (plan.waveSize != 32 && plan.waveSize != 64)
    fail(reader.at("wave_size"),
         "expected 32 or 64, got " + std::to_string(plan.waveSize));

  const json &arguments = reader.array("arguments", 0, kMaxArguments);
  std::set<std::string> names;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string where = indexed("plan.arguments", i);
    plan.arguments.push_back(readArgument(arguments[i], where));
    if (!names.insert(plan.arguments.back().name).second)
      fail(where + ".name",
           "a second argument named '" + plan.arguments.back().name + "'");
  }

  // A launch needs none of these: whoever does checks what they say.
  if (document.contains("operation"))
    PlanReader(reader.get("operation"), reader.at("operation"));
  if (document.contains("program"))
    (void)reader.array("program", 1, std::numeric_limits<size_t>::max());

  plan.separateBuffers = reader.flag("separate_buffers");

  const json &counts = reader.array("workgroup_counts", 0, kMaxWorkgroupCounts);
  for (size_t i = 0; i < counts.size(); ++i)
    plan.workgroupCounts.push_back(readWorkgroupCount(
        counts[i], indexed("plan.workgroup_counts", i), plan));

  const json &workspaces = reader.array("workspace", 0, kMaxWorkspaces);
  for (size_t i = 0; i < workspaces.size(); ++i)
    plan.workspaces.push_back(
        readWorkspace(workspaces[i], indexed("plan.workspace", i), plan));

  const json &kernels = reader.array("kernels", 1, kMaxKernels);
  for (size_t i = 0; i < kernels.size(); ++i)
    plan.kernels.push_back(
        readKernel(kernels[i], indexed("plan.kernels", i), plan));
  reader.finish();
  return plan;
}

int64_t elementSize(lnbwd_element element) {
  return static_cast<int64_t>(getInfo(static_cast<Element>(element)).bytes);
}

const PlanArgument *Plan::groupArgument() const {
  for (const PlanArgument &argument : arguments)
    if (argument.dims().tellsGroups())
      return &argument;
  return nullptr;
}

void Plan::checkSize(LaunchSize size) const {
  auto invalid = [](const std::string &message) {
    throw Error(LNBWD_ERROR_INVALID_ARGUMENT, message);
  };
  if (size.rows < 0)
    invalid("M, the number of rows: expected 0 or more, got " +
            std::to_string(size.rows));
  const PlanArgument *argument = groupArgument();
  if (!argument)
    return;
  if (size.groups < 0)
    invalid("B, the number of groups of rows (of '" + argument->name +
            "'): expected 0 or more, got " + std::to_string(size.groups));
  if (size.groups == 0 ? size.rows != 0 : size.rows % size.groups != 0)
    invalid("M, the number of rows: expected a multiple of B, the number of "
            "groups of rows, " +
            std::to_string(size.groups) + ", got " + std::to_string(size.rows) +
            "; all groups have the same number of rows");
}

int64_t RowRatio::scale(int64_t rows) const {
  int64_t scaled = checkedMultiply(rows, times, "rows");
  if (scaled % over != 0)
    throw Error(LNBWD_ERROR_INVALID_ARGUMENT,
                "M, the number of rows: expected a multiple of " +
                    std::to_string(over / std::gcd(over, times)) +
                    ", so that all row dimensions are whole, got " +
                    std::to_string(rows));
  return scaled / over;
}

int64_t Plan::workgroupCount(size_t index, LaunchSize size,
                             int64_t computeUnits, int64_t clusters) const {
  const PlanWorkgroupCount &rule = workgroupCounts[index];
  // Groups share what there is.
  int64_t rows =
      rule.perGroup ? size.rowsPerGroup() : rule.ratio.scale(size.rows);
  int64_t groups = rule.perGroup ? std::max<int64_t>(size.groups, 1) : 1;
  int64_t tiles = ceilDivide(rows, rule.rowsPerWorkgroup), count = tiles;
  if (rule.workgroupsPerComputeUnit != 0)
    count = std::min(count, checkedMultiply(rule.workgroupsPerComputeUnit,
                                            computeUnits, "workgroup count") /
                                rule.workgroupsPerRow / groups);
  for (int64_t most : {rule.maxWorkgroups, clusters})
    if (most != 0)
      count = std::min(count, most / groups);
  return std::max<int64_t>({count, std::min(tiles, rule.leastWorkgroups), 1});
}

int64_t Plan::argumentBytes(size_t index, LaunchSize size) const {
  const PlanArgument &argument = arguments[index];
  int64_t elements =
      checkedMultiply(argument.dims().countRows(size.rows, size.groups),
                      argument.rowStride, argument.name.c_str());
  return checkedMultiply(elements, elementSize(argument.element),
                         argument.name.c_str());
}

int64_t PlanValue::evaluate(LaunchSize size, const int64_t *workgroupCounts,
                            const char *what) const {
  int64_t count = index;
  if (kind == Kind::Rows)
    count = ratio.scale(size.rows);
  else if (kind == Kind::RowsPerGroup)
    count = size.rowsPerGroup();
  else if (kind == Kind::WorkgroupCount)
    count = workgroupCounts[index];
  return timesGroups ? checkedMultiply(count, size.groups, what) : count;
}

int64_t Plan::workspaceBytes(size_t index, LaunchSize size,
                             const int64_t *workgroupCounts) const {
  const PlanWorkspace &workspace = workspaces[index];
  int64_t count = workspace.rows.evaluate(size, workgroupCounts, "workspace");
  return checkedMultiply(
      checkedMultiply(count, workspace.rowLength, "workspace"),
      elementSize(workspace.element), "workspace");
}

Plan parsePlan(const std::string &text) {
  json document;
  try {
    document = parseJsonText(text);
  } catch (const std::exception &error) {
    throw Error(LNBWD_ERROR_INVALID_PLAN,
                std::string("launch plan: not valid JSON: ") + error.what());
  }
  return readPlan(document, text);
}

} // namespace lnbwd::runtime
