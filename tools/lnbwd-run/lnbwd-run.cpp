//===- lnbwd-run.cpp - Run a compiled kernel and check it -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runner's main program: reads or compiles a kernel, runs it with traps
// set, compares it with the float64 reference, times it and reports.
// docs/runner.md describes it from the outside.
//
//===----------------------------------------------------------------------===//

#include "GuardedLaunch.h"
#include "Options.h"
#include "Problem.h"
#include "RunReport.h"
#include "Simulator.h"
#include "Verification.h"

#include "lnbwd/Support/OutputFile.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <optional>

using namespace lnbwd::run;

/// Runs once, or with --verify twice and compares; fills in the outputs.
static void runAndCheck(GuardedLaunch &guarded, const Problem &problem,
                        const Options &options, Simulator &simulator,
                        RunReport &report) {
  simulator.resetCounts();
  auto outputs = guarded.run(kFirstPoison, report.complaints);
  report.checkedCounts = simulator.counts();
  if (options.time && report.device.is_simulated)
    report.counters = simulator.counters();
  if (options.shuffleSeed != 0) {
    simulator.shuffle(options.shuffleSeed);
    auto shuffled = guarded.run(kFirstPoison, report.complaints);
    simulator.shuffle(0);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] != shuffled[i])
        report.complaints.push_back(
            "the output '" + problem.arguments[i].outputName() +
            "' depends on the order of waves and workgroups: it differs with "
            "--shuffle-waves " +
            std::to_string(options.shuffleSeed));
  }
  std::vector<std::vector<char>> again;
  if (options.verify) {
    // The simulator's checks have had the same instructions in the same order.
    simulator.endChecks();
    again = guarded.run(kSecondPoison, report.complaints);
    report.outputs = compareWithReference(problem, outputs);
  } else {
    for (const Argument &argument : problem.arguments)
      if (argument.isOutput())
        report.outputs.emplace_back(argument);
  }
  size_t next = 0;
  for (size_t i = 0; i < problem.arguments.size(); ++i) {
    const Argument &argument = problem.arguments[i];
    if (!argument.isOutput())
      continue;
    OutputReport &output = report.outputs[next++];
    // What holds an input has no pattern that could be left, and of float8
    // every byte is a number.
    bool hasPattern = argument.access == LNBWD_ACCESS_WRITE &&
                      !argument.placedOver &&
                      !lnbwd::getInfo(argument.format).saturates();
    if (hasPattern)
      output.unwritten = countPoison(outputs[i], argument.format, kFirstPoison);
    if (!options.verify)
      continue;
    if (hasPattern)
      output.unwritten =
          std::max(output.unwritten,
                   countPoison(again[i], argument.format, kSecondPoison));
    // What was not written differs by the poison; that is said already.
    output.repeatable = output.unwritten != 0 || outputs[i] == again[i];
  }
}

/// The epsilon of a kernel that computes statistics is compiled in.
static void reconcileEpsilon(const Problem &problem, Options &options) {
  if (!problem.operation.epsilon)
    return;
  if (options.epsilonGiven && options.epsilon != *problem.operation.epsilon) {
    char text[128];
    std::snprintf(text, sizeof(text),
                  "--eps: the kernel computes its statistics with the epsilon "
                  "that it was compiled with: expected %g, got %g",
                  *problem.operation.epsilon, options.epsilon);
    throw UsageFailure(std::string(text) + "; leave the option out");
  }
  options.epsilon = *problem.operation.epsilon;
}

/// Compiles the kernel of the options, and leaves it where --keep says.
static ProgramHandle compileKernel(const Options &options) {
  std::string code =
      compileMlir(kernelMlir(options), options.chip, options.schedule);
  if (!options.keepFile.empty())
    if (std::error_code error = lnbwd::writeOutputFile(options.keepFile, code))
      throw Failure(BadInput, "cannot write '" + options.keepFile +
                                  "': " + error.message());
  return make<ProgramHandle>(lnbwd_program_from_memory, code.data(),
                             code.size(), nullptr);
}

/// What is known of a run before it is launched.
static RunReport beginReport(lnbwd_program *program, const Options &options,
                             const GuardedLaunch &guarded,
                             const lnbwd_device_info &device) {
  RunReport report;
  report.operation = lnbwd_program_name(program);
  report.chip = lnbwd_program_chip(program);
  report.format = lnbwd_program_format(program);
  report.kernelFile = options.kernelFile;
  report.workspaceBytes = guarded.workspaceSize();
  report.device = device;
  return report;
}

static int run(Options options) {
  ProgramHandle program = options.kernelFile.empty()
                              ? compileKernel(options)
                              : make<ProgramHandle>(lnbwd_program_from_file,
                                                    options.kernelFile.c_str());
  Problem problem =
      describeProblem(program.get(), options.rows, options.groups);
  if (options.groups != 1 && !problem.hasGroups())
    throw UsageFailure("--groups: expected a kernel with an argument whose "
                       "size depends on the groups of rows, got one without");
  // Programs also say what they leave out of a buffer.
  if (!problem.operation.isKnown())
    try {
      readPrograms(lnbwd_program_plan(program.get()), problem);
    } catch (const Failure &) {
      if (options.verify)
        throw;
      problem.programs.clear();
    }
  if (options.verify)
    requireReference(problem);
  if (options.inPlace)
    placeInPlace(problem);
  reconcileEpsilon(problem, options);

  std::string chip = lnbwd_program_chip(program.get());
  std::string spec = options.device;
  if (spec.empty())
    spec = chip.compare(0, 3, "gfx") == 0 ? "sim" : "cuda";
  auto device =
      make<DeviceHandle>(lnbwd_device_open, spec.c_str(), chip.c_str());
  auto kernel =
      make<KernelHandle>(lnbwd_kernel_load, device.get(), program.get());
  lnbwd_device_info info;
  check(lnbwd_device_get_info(device.get(), &info));
  // Before the host computes inputs that the device could not hold.
  GuardedLaunch::checkMemory(device.get(), kernel.get(), problem);
  fillProblem(problem, options);
  Simulator simulator(device.get(), options.check);
  GuardedLaunch guarded(device.get(), kernel.get(), problem, simulator);

  RunReport report = beginReport(program.get(), options, guarded, info);
  if (!options.predict)
    runAndCheck(guarded, problem, options, simulator, report);
  else if (!info.is_simulated)
    throw UsageFailure("--predict: expected the simulator (--device sim), got "
                       "a device that can be measured (--time)");
  if (info.is_simulated && (options.predict || options.time)) {
    report.prediction = simulator.predict([&] { guarded.launch(); }, options);
  } else if (options.time) {
    if (!options.timeOptions.empty() || !options.traceFile.empty())
      throw UsageFailure("--time-options, --trace: expected the simulator "
                         "(--device sim), which predicts; got a device that "
                         "is measured");
    report.time = measureTime(device.get(), kernel.get(), problem, guarded);
  }

  std::string text = options.json ? formatJson(report, problem, options)
                                  : formatText(report, problem, options);
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) != 0)
    throw Failure(BadInput, "cannot write the report to standard output");
  return report.isValid() ? Valid : WrongNumbers;
}

static int complain(ExitCode code, const char *message) {
  std::fprintf(stderr, "lnbwd-run: error: %s\n", message);
  return code;
}

int main(int argc, char **argv) {
  lnbwd::surviveFileSizeLimit();
  try {
    Options options = parseOptions(argc, argv);
    if (options.help) {
      std::fputs(helpText().c_str(), stdout);
      return Valid;
    }
    if (options.version) {
      std::printf("lnbwd-run %s\n", lnbwd_runtime_version());
      return Valid;
    }
    return run(options);
  } catch (const Failure &failure) {
    return complain(failure.exitCode(), failure.what());
  } catch (const std::exception &error) {
    bool isMemory = dynamic_cast<const std::bad_alloc *>(&error) ||
                    dynamic_cast<const std::length_error *>(&error);
    return complain(BadInput,
                    isMemory ? "this machine's memory does not suffice; take a "
                               "smaller --m"
                             : error.what());
  }
}
