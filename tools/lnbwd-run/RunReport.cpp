//===- RunReport.cpp - What a run prints ----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunReport.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <functional>

#include <nlohmann/json.hpp>

using nlohmann::ordered_json;

namespace lnbwd::run {

static __attribute__((format(printf, 1, 2))) std::string
print(const char *format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  return line;
}

/// 1234567 as "1,234,567".
static std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t i = text.size(); i > 3; i -= 3)
    text.insert(i - 3, ",");
  return text;
}

static std::string verdictOf(const OutputReport &output) {
  if (output.unwritten != 0)
    return grouped(output.unwritten) + " of " + grouped(output.elements) +
           " elements were not written";
  if (output.nonFiniteMismatches != 0)
    return grouped(output.nonFiniteMismatches) + " of " +
           grouped(output.elements) +
           " elements are NaN or infinite against the reference";
  if (output.compared && !(output.maxAbsoluteError <= output.allowedError))
    return "WRONG, most at element " + std::to_string(output.worstIndex);
  if (!output.repeatable)
    return "two runs differ";
  if (output.undecided != 0)
    return "ok; " + grouped(output.undecided) + " of " +
           grouped(output.elements) + " elements have no bound";
  return "ok";
}

static std::string formatOutputs(const RunReport &report) {
  size_t width = 8;
  for (const OutputReport &output : report.outputs)
    width = std::max(width, output.name.size() + 1);
  std::string text = print(
      "\n%-*s%-6s %14s %14s %14s  %s\n", static_cast<int>(width), "output",
      "type", "max abs error", "max rel error", "allowed", "verdict");
  for (const OutputReport &output : report.outputs) {
    // Nothing is relative to 0: the allowed error is then absolute.
    bool isRelative = output.largestReference != 0;
    std::string relative =
        isRelative ? print("%.3e", output.relativeError()) : "-";
    std::string allowed = isRelative
                              ? print("%.3e", output.allowedRelativeError())
                              : print("abs %.3e", output.allowedError);
    text += print("%-*s%-6s %14.3e %14s %14s  %s\n", static_cast<int>(width),
                  output.name.c_str(), getName(output.format),
                  output.maxAbsoluteError, relative.c_str(), allowed.c_str(),
                  verdictOf(output).c_str());
  }
  return text + "Errors against the float64 reference; relative: to the "
                "largest reference value of the output.\n";
}

static std::string formatTime(const TimeReport &time) {
  std::string text = print(
      "\ntime    median %.2f us, min %.2f us a launch (%d measurements of %d "
      "launches)\n",
      time.medianMicroseconds, time.minMicroseconds, time.repeats,
      time.launchesPerRepeat);
  text += print("        %.1f GB/s of the minimal %s bytes; launches rotate "
                "among %zu sets of %s bytes\n",
                time.gigabytesPerSecond,
                grouped(static_cast<uint64_t>(time.minimalBytes)).c_str(),
                time.bufferSets,
                grouped(static_cast<uint64_t>(time.bufferSetBytes)).c_str());
  return text;
}

static std::string formatCounters(const lnbwd_sim_counters &counters,
                                  const Problem &problem) {
  std::string text =
      "\ncounts of one launch (simulated time is not time; what a card would "
      "take is predicted):\n";
  auto line = [&](const char *name, uint64_t value) {
    text += print("  %-28s%20s\n", name, grouped(value).c_str());
  };
  line("wave instructions", counters.wave_instructions);
  line("  scalar", counters.scalar_instructions);
  line("  barriers", counters.barriers);
  line("lane instructions, vector", counters.vector_lane_instructions);
  line("  memory", counters.memory_lane_instructions);
  line("  LDS", counters.lds_lane_instructions);
  line("global bytes read", counters.global_bytes_read);
  line("global bytes written", counters.global_bytes_written);
  line("LDS bytes", counters.lds_bytes);
  line("workgroups", counters.workgroups);
  line("waves", counters.waves);
  double minimal = problem.minimalBytes();
  double elements =
      static_cast<double>(problem.rows) * static_cast<double>(problem.columns);
  if (minimal > 0)
    text += print("  global bytes over the minimal %s: %.3f\n",
                  grouped(static_cast<uint64_t>(minimal)).c_str(),
                  static_cast<double>(counters.global_bytes_read +
                                      counters.global_bytes_written) /
                      minimal);
  if (elements > 0)
    text += print("  vector lane instructions per element: %.2f\n",
                  static_cast<double>(counters.vector_lane_instructions) /
                      elements);
  return text;
}

/// JSON has no infinity: null stands for what is no number.
static ordered_json numberOrNull(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

static ordered_json outputJson(const OutputReport &output) {
  ordered_json json;
  json["name"] = output.name;
  json["type"] = getName(output.format);
  json["elements"] = output.elements;
  json["unwritten"] = output.unwritten;
  if (output.compared) {
    json["max_abs_error"] = numberOrNull(output.maxAbsoluteError);
    json["max_rel_error"] = numberOrNull(output.relativeError());
    json["allowed_abs_error"] = numberOrNull(output.allowedError);
    json["allowed_rel_error"] = numberOrNull(output.allowedRelativeError());
    json["largest_reference"] = numberOrNull(output.largestReference);
    json["worst_index"] = output.worstIndex;
    json["non_finite_mismatches"] = output.nonFiniteMismatches;
    json["undecided"] = output.undecided;
    json["repeatable"] = output.repeatable;
  }
  json["valid"] = output.isValid();
  return json;
}

static ordered_json timeJson(const TimeReport &time) {
  return {{"median_us", time.medianMicroseconds},
          {"min_us", time.minMicroseconds},
          {"repeats", time.repeats},
          {"launches_per_repeat", time.launchesPerRepeat},
          {"buffer_sets", time.bufferSets},
          {"buffer_set_bytes", time.bufferSetBytes},
          {"minimal_bytes", time.minimalBytes},
          {"gb_per_s", time.gigabytesPerSecond}};
}

static ordered_json countersJson(const lnbwd_sim_counters &counters,
                                 const Problem &problem) {
  return {{"wave_instructions", counters.wave_instructions},
          {"scalar_instructions", counters.scalar_instructions},
          {"vector_lane_instructions", counters.vector_lane_instructions},
          {"memory_lane_instructions", counters.memory_lane_instructions},
          {"lds_lane_instructions", counters.lds_lane_instructions},
          {"barriers", counters.barriers},
          {"global_bytes_read", counters.global_bytes_read},
          {"global_bytes_written", counters.global_bytes_written},
          {"lds_bytes", counters.lds_bytes},
          {"workgroups", counters.workgroups},
          {"waves", counters.waves},
          {"minimal_bytes", problem.minimalBytes()}};
}

bool RunReport::isValid() const {
  return complaints.empty() && std::all_of(outputs.begin(), outputs.end(),
                                           std::mem_fn(&OutputReport::isValid));
}

/// What the simulator's timing model says, for people.
static std::string summaryOf(const RunReport &report) {
  return ordered_json::parse(report.prediction)
      .at("summary")
      .get<std::string>();
}

std::string formatText(const RunReport &report, const Problem &problem,
                       const Options &options) {
  std::string text =
      print("kernel  %s for %s (%s), M = %lld, N = %lld, %s\n",
            report.operation.c_str(), report.chip.c_str(),
            report.format.c_str(), static_cast<long long>(problem.rows),
            static_cast<long long>(problem.columns), getName(problem.format()));
  text += print("device  %s, %s, %lld compute units, %s\n", report.device.name,
                report.device.arch,
                static_cast<long long>(report.device.compute_units),
                report.device.driver);
  text += print("inputs  %s, seed %llu, epsilon %g\n", initName(options.init),
                static_cast<unsigned long long>(options.seed), options.epsilon);
  if (options.predict)
    return text + "\n" + summaryOf(report) +
           "\nverdict predicted; nothing was checked\n";
  if (options.verify)
    text += formatOutputs(report);
  text += "\nchecks  ";
  std::string problems;
  for (const std::string &complaint : report.complaints)
    problems += (problems.empty() ? "" : "\n        ") + complaint;
  for (const OutputReport &output : report.outputs)
    if (!options.verify && !output.isValid())
      problems += (problems.empty() ? "" : "\n        ") + output.name + ": " +
                  verdictOf(output);
  if (problems.empty()) {
    problems = "every output written whole, guard bands untouched, inputs "
               "unchanged";
    if (options.verify)
      problems += ", two runs bitwise equal";
  }
  text += problems + "\n";
  if (report.time)
    text += formatTime(*report.time);
  if (report.counters)
    text += formatCounters(*report.counters, problem);
  if (!report.prediction.empty())
    text += "\n" + summaryOf(report);
  if (!report.checkedCounts.empty())
    text += "checked on the simulator: memory, registers, races, waits, "
            "limits\n";
  const char *verdict = "valid";
  if (!report.isValid())
    verdict = "WRONG";
  else if (!options.verify)
    verdict = "ran; its numbers were not compared (--verify does)";
  return text + "\nverdict " + verdict + "\n";
}

std::string formatJson(const RunReport &report, const Problem &problem,
                       const Options &options) {
  ordered_json json;
  json["kernel"] = report.kernelFile.empty() ? ordered_json(nullptr)
                                             : ordered_json(report.kernelFile);
  json["operation"] = report.operation;
  json["chip"] = report.chip;
  json["format"] = report.format;
  json["device"] = {{"name", report.device.name},
                    {"arch", report.device.arch},
                    {"driver", report.device.driver},
                    {"compute_units", report.device.compute_units},
                    {"simulated", report.device.is_simulated != 0}};
  json["m"] = problem.rows;
  json["n"] = problem.columns;
  json["type"] = getName(problem.format());
  json["init"] = initName(options.init);
  json["seed"] = options.seed;
  json["epsilon"] = options.epsilon;
  json["workspace_bytes"] = report.workspaceBytes;
  json["verified"] = options.verify;
  json["outputs"] = ordered_json::array();
  for (const OutputReport &output : report.outputs)
    json["outputs"].push_back(outputJson(output));
  json["complaints"] = report.complaints;
  if (report.time)
    json["time"] = timeJson(*report.time);
  if (report.counters)
    json["counters"] = countersJson(*report.counters, problem);
  if (!report.prediction.empty())
    json["prediction"] = ordered_json::parse(report.prediction);
  if (!report.checkedCounts.empty())
    json["checked"] = ordered_json::parse(report.checkedCounts);
  if (!options.predict)
    json["valid"] = report.isValid();
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

} // namespace lnbwd::run
