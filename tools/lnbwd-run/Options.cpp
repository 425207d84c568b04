//===- Options.cpp - The command line -------------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "Handles.h"

#include "lnbwd/Chips/ChipNames.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>
#include <sstream>
#include <vector>

namespace lnbwd::run {

/// N of Composable Kernel's example 53, whose M is the default here.
constexpr int64_t exampleColumns = 512;

bool isCompiledIn(const OperandInfo &operand, const Options &options) {
  const NamedOperationInfo &info = getInfo(options.operation);
  if (getInfo(operand.role).hasOwnElement)
    return options.residualFormat.has_value();
  if (operand.isOutput)
    return true;
  const bool isFromOutput = options.statistics == "output";
  switch (operand.role) {
  case Role::X:
    return info.isForward || !isFromOutput;
  case Role::Y:
    return isFromOutput;
  case Role::Gamma:
    return options.hasGamma;
  case Role::Beta:
    return options.hasBeta && (info.isForward || isFromOutput);
  case Role::Mean:
    return options.statistics == "saved";
  case Role::Rstd:
    return options.statistics != "recomputed";
  default:
    return true;
  }
}

template <typename Integer>
static Integer parseInteger(const std::string &option, const std::string &text,
                            Integer minimum) {
  Integer value = 0;
  const char *end = text.data() + text.size();
  auto [position, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || position != end || value < minimum)
    throw UsageFailure(option + ": expected an integer of " +
                       std::to_string(minimum) + " or more, got '" + text +
                       "'");
  return value;
}

using String = const std::string &;

[[noreturn]] static void unexpected(String name, String expected, String text) {
  throw UsageFailure(name + ": expected " + expected + ", got '" + text + "'");
}

static void setEpsilon(Options &o, String name, String text) {
  char *end = nullptr;
  o.epsilon = std::strtod(text.c_str(), &end);
  if (*end != 0 || !std::isfinite(o.epsilon) || o.epsilon < 0)
    unexpected(name, "a number of 0 or more", text);
}

static void setOutputs(Options &o, String, String text) {
  o.outputs.clear();
  std::istringstream stream(text + ",");
  for (std::string name; std::getline(stream, name, ',');)
    o.outputs.push_back(name);
}

namespace {

/// The values that an option may have, by their names.
template <typename Value>
using Choices = std::vector<std::pair<std::string, Value>>;

/// One option: its name, the name of its value ("" if it takes none), what it
/// does, and what sets it.
struct Option {
  const char *name;
  const char *value;
  std::string help;
  std::function<void(Options &, String name, String value)> apply;
};

} // namespace

/// The names of choices, with commas, and `last` before the last one.
template <typename Value>
static std::string listNames(const Choices<Value> &choices,
                             const char *last = ", ") {
  std::string names;
  for (const auto &choice : choices)
    names += (&choice == &choices.front()  ? ""
              : &choice == &choices.back() ? last
                                           : ", ") +
             choice.first;
  return names;
}

/// Sets a flag.
static auto set(bool Options::*member, bool to = true) {
  return [=](Options &o, String, String) { o.*member = to; };
}

/// Sets a text, which is checked later if at all.
static auto set(std::string Options::*member) {
  return [=](Options &o, String, String value) { o.*member = value; };
}

/// Sets a number of at least so many.
template <typename Integer>
static auto set(Integer Options::*member, Integer least) {
  return [=](Options &o, String name, String value) {
    o.*member = parseInteger(name, value, least);
  };
}

/// Sets one of several values.
template <typename Member, typename Value>
static auto set(Member Options::*member, const Choices<Value> &choices,
                const std::string &expected) {
  return [=](Options &o, String name, String text) {
    for (const auto &[choice, value] : choices)
      if (text == choice) {
        o.*member = value;
        return;
      }
    unexpected(name, expected, text);
  };
}

/// Those of a table, whose entries have names.
template <typename Table, typename Entry, typename Value>
static Choices<Value> makeChoices(const Table &table, Value Entry::*value) {
  Choices<Value> choices;
  for (const auto &entry : table)
    choices.emplace_back(entry.name, entry.*value);
  return choices;
}

static const std::vector<Option> &runOptions() {
  static const auto inits =
      makeChoices(initDescriptions(), &InitDescription::init);
  static const std::vector<Option> options = {
      {"--m", "M", "number of rows (1024)", set(&Options::rows, int64_t(0))},
      {"--groups", "B",
       "number of groups of rows, a divisor of M, where the kernel has groups "
       "(1)",
       set(&Options::groups, int64_t(0))},
      {"--device", "D",
       "sim, sim:CHIP, hip, hip:I, cuda or cuda:I (sim for gfx chips, cuda "
       "for sm ones)",
       set(&Options::device)},
      {"--init", "HOW", "how the inputs are filled, see below (normal)",
       set(&Options::init, inits, "one of " + listNames(inits))},
      {"--seed", "S", "seed of the random inputs (1)",
       set(&Options::seed, uint64_t(0))},
      {"--eps", "E", "epsilon of rstd = 1/sqrt(variance + epsilon) (1e-5)",
       setEpsilon},
      {"--in-place", "", "lay dx over dy, or the sum over the residual",
       set(&Options::inPlace)},
      {"--verify", "", "compare with a float64 reference on the host",
       set(&Options::verify)},
      {"--time", "",
       "time it; on the simulator count instructions and bytes, and predict "
       "the time",
       set(&Options::time)},
      {"--predict", "",
       "on the simulator: predict the time and execute no more than that needs",
       set(&Options::predict)},
      {"--time-options", "TEXT",
       "of the prediction: product=NAME;caches=warm;PARAMETER=NUMBER;...",
       set(&Options::timeOptions)},
      {"--trace", "FILE", "leave a timeline of the prediction for Perfetto",
       set(&Options::traceFile)},
      {"--check", "",
       "on the simulator: check memory, registers, races and waits",
       set(&Options::check)},
      {"--shuffle-waves", "SEED",
       "on the simulator: run again in another order of waves and workgroups, "
       "and compare bit by bit",
       set(&Options::shuffleSeed, uint64_t(0))},
      {"--json", "", "print one JSON object instead of a table",
       set(&Options::json)},
      {"--help", "", "print this text", set(&Options::help)},
      {"--version", "", "print the version", set(&Options::version)},
  };
  return options;
}

static const std::vector<Option> &compileOptions() {
  static const auto operations =
      makeChoices(kOperations, &NamedOperationInfo::operation);
  static const Choices<std::string> statistics = {
      {"saved", "saved"}, {"recomputed", "recomputed"}, {"output", "output"}};
  static const Choices<Element> formats = {
      {"f16", Element::F16}, {"bf16", Element::BF16}, {"f32", Element::F32}};
  static const std::string formatNames = listNames(formats, " or ");
  static const std::vector<Option> options = {
      {"--n", "N", "number of columns, the normalised dimension",
       set(&Options::columns, int64_t(1))},
      {"--op", "OP",
       listNames(operations, " or ") + " (" + getName(Options().operation) +
           ")",
       set(&Options::operation, operations, "one of " + listNames(operations))},
      {"--statistics", "HOW",
       "of a gradient: saved, recomputed from x, or from the output (saved)",
       set(&Options::statistics, statistics,
           "one of " + listNames(statistics))},
      {"--residual", "T",
       "with a residual and the sum, or dsum and dresidual, of that type",
       set(&Options::residualFormat, formats, formatNames)},
      {"--zero-centred-gamma", "", "1 + gamma in the place of gamma",
       set(&Options::zeroCentredGamma)},
      {"--accumulate", "", "add dgamma and dbeta, of f32, to what is there",
       set(&Options::accumulate)},
      {"--row-stride", "S", "elements from row to row (N)",
       set(&Options::rowStride, int64_t(1))},
      {"--dtype", "T",
       "type of x, y, dy and dx, and of w, out and dout: f16, bf16 or f32 "
       "(f32)",
       set(&Options::format, formats, formatNames)},
      {"--param-dtype", "T",
       "type of gamma, beta, dgamma and dbeta, and of b, db and dw (that of "
       "--dtype)",
       set(&Options::parameterFormat, formats, formatNames)},
      {"--chip", "CHIP",
       "chip to compile for, e.g. " LNBWD_DEFAULT_SIMULATED_CHIP
       " or " LNBWD_DEFAULT_GPU,
       set(&Options::chip)},
      {"--schedule", "TEXT", "schedule to compile with (the compiler's choice)",
       set(&Options::schedule)},
      {"--no-gamma", "", "compile for gamma = 1",
       set(&Options::hasGamma, false)},
      {"--no-beta", "", "compile for beta = 0", set(&Options::hasBeta, false)},
      {"--outputs", "LIST",
       "which outputs to compute, as in dx,dgamma (all; mean, rstd and sum are "
       "outputs too)",
       setOutputs},
      {"--keep", "FILE", "leave the compiled kernel in FILE",
       set(&Options::keepFile)},
  };
  return options;
}

static const Option *findOption(const std::string &name) {
  for (const auto *options : {&runOptions(), &compileOptions()})
    for (const Option &option : *options)
      if (name == option.name)
        return &option;
  return nullptr;
}

/// Sets what Composable Kernel's examples take as three numbers.
static void applyExampleNumbers(const std::string *numbers,
                                const std::set<std::string> &given,
                                Options &options) {
  static const Choices<bool> flags = {{"0", false}, {"1", true}};
  static const Choices<Init> inits = {
      {"0", Init::Zeros}, {"1", Init::Integers}, {"2", Init::Uniform}};
  for (const char *name : {"--verify", "--init", "--time"})
    if (given.count(name))
      throw UsageFailure(std::string("expected ") + name +
                         " or the numbers VERIFY INIT TIME, got both");
  set(&Options::verify, flags, "0 or 1")(options, "VERIFY", numbers[0]);
  set(&Options::init, inits, "0, 1 or 2")(options, "INIT", numbers[1]);
  set(&Options::time, flags, "0 or 1")(options, "TIME", numbers[2]);
}

static void refuseIf(bool isWrong, const std::string &message) {
  if (isWrong)
    throw UsageFailure(message);
}

/// Refuses options that the operation does not have, and outputs likewise.
static void checkOperation(const std::set<std::string> &given,
                           const Options &options) {
  const NamedOperationInfo &info = getInfo(options.operation);
  std::set<std::string> known;
  std::string names;
  for (const OperandInfo &operand : info)
    if (const char *name = getInfo(operand.role).name;
        operand.isOutput && isCompiledIn(operand, options)) {
      known.insert(name);
      names += (names.empty() ? "" : ",") + std::string(name);
    }
  for (const std::string &output : options.outputs)
    refuseIf(!known.count(output), "--outputs: expected some of " + names +
                                       " separated by commas, got '" + output +
                                       "'");
  const std::string op = info.name;
  for (const std::string name : {"--statistics", "--accumulate"})
    refuseIf(info.isForward && given.count(name),
             name + " is for a gradient, and --op " + op +
                 " is a forward pass");
  refuseIf(options.rowStride != 0 && options.rowStride < options.columns,
           "--row-stride: expected at least the " +
               std::to_string(options.columns) + " of --n, got " +
               std::to_string(options.rowStride));
}

/// Fills in what the combination of options leaves open, and refuses those
/// that contradict each other.
static void completeOptions(const std::vector<std::string> &positional,
                            const std::set<std::string> &given,
                            Options &options) {
  const size_t count = positional.size();
  const bool hasNumbers = count == 3 || count == 4;
  refuseIf(
      count > 1 && !hasNumbers,
      "expected a kernel file, the numbers VERIFY INIT TIME, or both, got " +
          std::to_string(count) + " arguments");
  if (hasNumbers)
    applyExampleNumbers(&positional[count - 3], given, options);
  if (count == 1 || count == 4) {
    options.kernelFile = positional[0];
  } else if (hasNumbers) {
    if (!given.count("--n"))
      options.columns = exampleColumns;
    if (!given.count("--chip"))
      options.chip = LNBWD_DEFAULT_SIMULATED_CHIP;
  }
  options.epsilonGiven = given.count("--eps") != 0;
  for (const std::string name : {"--time-options", "--trace"})
    refuseIf(given.count(name) && !options.time && !options.predict,
             name + ": expected --time or --predict, too");
  refuseIf(given.count("--shuffle-waves") && options.shuffleSeed == 0,
           "--shuffle-waves: expected a seed of 1 or more, got '0'");
  for (const std::string name :
       {"--time", "--verify", "--check", "--shuffle-waves"})
    refuseIf(given.count(name) && options.predict,
             name + " executes every workgroup, which --predict does not; "
                    "leave one of them out");
  if (!options.kernelFile.empty()) {
    const std::string &file = options.kernelFile;
    refuseIf(std::filesystem::path(file).extension() == ".mlir",
             "expected a compiled kernel, got '" + file +
                 "'; compile it: lnbwd-opt " + file +
                 " --lnbwd-pipeline=\"chip=" LNBWD_DEFAULT_SIMULATED_CHIP
                 "\" --emit=hsaco -o K.hsaco");
    for (const Option &option : compileOptions())
      refuseIf(given.count(option.name),
               std::string(option.name) + " is for compiling a kernel, and '" +
                   file + "' is compiled already");
    return;
  }
  refuseIf(options.columns == 0 || options.chip.empty(),
           std::string("expected a kernel file, or --n and --chip to compile "
                       "one, got ") +
               (options.columns == 0 ? "no --n" : "no --chip"));
  if (!given.count("--param-dtype"))
    options.parameterFormat = options.format;
  checkOperation(given, options);
}

static void appendHelp(std::string &text, const std::vector<Option> &options) {
  for (const Option &option : options) {
    std::string line = std::string("  ") + option.name;
    if (*option.value)
      line += std::string(" ") + option.value;
    line.resize(std::max<size_t>(line.size() + 1, 22), ' ');
    text += line + option.help + "\n";
  }
}

Options parseOptions(int argc, const char *const *argv) {
  Options options;
  std::vector<std::string> positional;
  std::set<std::string> given;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.size() < 2 || argument[0] != '-') {
      positional.push_back(argument);
      continue;
    }
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    if (name == "-h")
      name = "--help";
    const Option *option = findOption(name);
    if (!option)
      throw UsageFailure("unknown option '" + name + "'");
    std::string value;
    if (*option->value == 0) {
      if (equals != std::string::npos)
        throw UsageFailure(name + " takes no value");
    } else if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (i + 1 < argc) {
      value = argv[++i];
    } else {
      throw UsageFailure(name + ": expected a value (" + option->value + ")");
    }
    if (*option->value != 0 && value.empty())
      throw UsageFailure(name + ": expected a value (" + option->value +
                         "), got an empty one");
    option->apply(options, name, value);
    given.insert(name);
  }
  if (!options.help && !options.version)
    completeOptions(positional, given, options);
  return options;
}

std::string helpText() {
  std::string text =
      R"(lnbwd-run: run a compiled kernel and check its results

usage: lnbwd-run KERNEL [options]                 a .hsaco, .cubin or .ptx file
       lnbwd-run --n N --chip CHIP [options]      compile one first
       lnbwd-run [KERNEL] VERIFY INIT TIME        Composable Kernel's numbers: 0|1,
                                                  0 zeros|1 integers|2 uniform, 0|1

Options (defaults in brackets):
)";
  appendHelp(text, runOptions());
  text += "\nWithout a kernel file, one is compiled by lnbwd-opt beside this "
          "program (or\nthe one that the environment's LNBWD_OPT names):\n";
  appendHelp(text, compileOptions());
  text += "\nInputs (--init); mean, rstd and y are computed from x:\n";
  for (const InitDescription &init : initDescriptions()) {
    std::string line = std::string("  ") + init.name;
    line.resize(22, ' ');
    text += line + init.help + "\n";
  }
  return text + "\nExit code: 0 valid, 1 wrong numbers, 2 bad usage or input, "
                "3 no such device.\n";
}

} // namespace lnbwd::run
