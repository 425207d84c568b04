//===- lnbwd-sim.cpp - Runs a kernel under the simulator's checks ---------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For anybody's AMD code object: loads it, launches one kernel with the
// arguments of the command line under all checks, and says what was found, what
// was counted and what the outputs hold.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "CheckedRun.h"

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>

#include "lnbwd/Simulator/CheckNames.h"
#include "lnbwd/Simulator/SimulatorAPI.h"
#include "lnbwd/Support/OutputFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <initializer_list>

using namespace llvm;
using namespace lnbwd::simtool;

static cl::OptionCategory Category("lnbwd-sim options");
static cl::opt<std::string> CodeFile(cl::Positional, cl::desc("CODE"),
                                     cl::cat(Category));
static cl::opt<std::string> KernelName("kernel", cl::desc("the kernel's name"),
                                       cl::value_desc("NAME"),
                                       cl::cat(Category));
static cl::opt<std::string>
    ProgramName("program", cl::value_desc("APP ..."), cl::cat(Category),
                cl::desc("instead of a kernel: run this HIP program with all "
                         "that follows as its arguments,\nunder the checks"));
static cl::opt<std::string> ChipName(
    "chip", cl::value_desc("NAME"), cl::cat(Category),
    cl::desc("the chip to run on, where CODE is for several: a bundle, "
             "or code for a generic\ntarget, of which the first chip "
             "is taken. With --program the chip of the one\ndevice "
             "that it sees; by default the first one that it has code "
             "for"));
static cl::opt<std::string>
    GridText("grid", cl::desc("workgroups: X or X,Y or X,Y,Z (1)"),
             cl::value_desc("N"), cl::init("1"), cl::cat(Category));
static cl::opt<std::string>
    BlockText("block", cl::desc("work-items of a workgroup (64)"),
              cl::value_desc("N"), cl::init("64"), cl::cat(Category));
static cl::opt<unsigned> Lds("lds", cl::desc("bytes of dynamic LDS (0)"),
                             cl::init(0), cl::cat(Category));
static cl::list<std::string> ArgumentTexts(
    "arg", cl::value_desc("ARG"), cl::cat(Category),
    cl::desc(
        "an argument, in order: TYPE=NUMBER, bytes:HEX, in:TYPExCOUNT[=FILL],\n"
        "inout:TYPExCOUNT[=FILL][>FILE] or out:TYPExCOUNT[>FILE]; TYPE i8 "
        "to i64,\nf16, bf16, f32, f64; FILL a number, iota, random[:SEED] "
        "or @FILE"));
static cl::opt<std::string>
    ArgumentFile("args-file", cl::value_desc("FILE"), cl::cat(Category),
                 cl::desc("instead of --arg: a JSON file with an array of the "
                          "arguments, in order, each\nan object with the keys "
                          "type and value, bytes, or kind, type, count, fill, "
                          "values\nand save, see simulator/docs/checker.md"));
static cl::opt<std::string>
    CheckNames("check", cl::init("all"), cl::cat(Category),
               cl::value_desc("NAMES"),
               cl::desc("memory, registers, races, waits, limits, counts, "
                        "alignment, hazards, all or none (all)"));
static cl::opt<unsigned>
    Orders("shuffle-waves", cl::init(0), cl::cat(Category), cl::value_desc("N"),
           cl::desc("run again in N other orders of waves and workgroups, and "
                    "compare the outputs\nand the errors (0)"));
static cl::opt<std::string> ToleranceText(
    "tolerance", cl::value_desc("R[,A]"), cl::cat(Category),
    cl::desc("for --shuffle-waves: elements x and y of f16, bf16, f32 and f64 "
             "are alike if\n|x - y| <= R * max(|x|, |y|) + A, as sums in "
             "another order are; integers\nhave to be equal. By default all "
             "are compared bit by bit"));
static cl::opt<unsigned>
    MostErrors("max-errors", cl::init(10), cl::cat(Category),
               cl::value_desc("N"),
               cl::desc("stop a launch after N different errors, 1 or more "
                        "(10); races are\ncollected, most other errors stop "
                        "it at once"));
static cl::opt<uint64_t>
    MostInstructions("max-instructions", cl::init(0), cl::cat(Category),
                     cl::value_desc("N"),
                     cl::desc("stop a launch that executes more instructions, "
                              "all waves together; 0: never\n(4294967296 and "
                              "1048576 for each wave that has begun)"));
static cl::opt<std::string> Kernels(
    "kernels", cl::value_desc("PATTERNS"), cl::cat(Category),
    cl::desc("with --program: check only launches of kernels with one of these "
             "names, patterns of a\nshell separated by commas; others are "
             "executed without checks"));
static cl::opt<uint64_t> SkipLaunches(
    "skip-launches", cl::init(0), cl::cat(Category), cl::value_desc("N"),
    cl::desc("with --program: execute the first N launches that would be "
             "checked without checks (0)"));
static cl::opt<uint64_t>
    Sample("sample", cl::init(1), cl::cat(Category), cl::value_desc("N"),
           cl::desc("check each N-th workgroup, and the last; all are "
                    "executed (1)"));
static cl::opt<bool>
    Leaks("leaks", cl::cat(Category),
          cl::desc("with --program: device memory that it does not free is an "
                   "error"));
static cl::opt<std::string> SavedErrors(
    "save-errors", cl::value_desc("FILE"), cl::cat(Category),
    cl::desc("write the errors there, a line of JSON for each; python -m "
             "lnbwd_sim report reads\nthem, with suppressions, and makes "
             "SARIF of them"));
static cl::opt<bool>
    Time("time", cl::cat(Category),
         cl::desc("predict how long the launch takes on a card; of its "
                  "workgroups only some\nare executed, unchecked, and no "
                  "outputs are reported"));
static cl::opt<std::string> TimeOptions(
    "time-options", cl::cat(Category), cl::value_desc("TEXT"),
    cl::desc("for --time: product=NAME;caches=warm;PARAMETER=NUMBER;..., see "
             "simulator/docs/simulator.md"));
static cl::opt<std::string>
    TraceFile("trace", cl::cat(Category), cl::value_desc("FILE"),
              cl::desc("with --time: leave a timeline for Perfetto there"));
static cl::opt<unsigned> Show("show", cl::init(8), cl::cat(Category),
                              cl::value_desc("N"),
                              cl::desc("elements of each output to print (8)"));
static cl::opt<bool>
    ShowCounts("counts", cl::cat(Category),
               cl::desc("print the counts, too, as JSON; --json always "
                        "does"));
static cl::opt<bool> Json("json", cl::cat(Category),
                          cl::desc("print one JSON object instead of text"));

namespace {
/// As lnbwd-run's: what was found, bad input.
enum ExitCode { Clean = 0, Found = 1, BadInput = 2 };
} // namespace

static ExitCode complain(const Twine &Text) {
  errs() << "lnbwd-sim: error: " << Text << '\n';
  return BadInput;
}

/// The three numbers of an option; says what is wrong with them.
static bool parseSizes(const cl::opt<std::string> &Option, uint32_t Sizes[3]) {
  SmallVector<StringRef, 3> Parts;
  StringRef(Option).split(Parts, ',');
  bool Good = Parts.size() <= 3;
  for (unsigned K = 0; K < 3; ++K) {
    Sizes[K] = 1;
    if (K < Parts.size())
      Good &= !Parts[K].trim().getAsInteger(10, Sizes[K]) && Sizes[K] != 0;
  }
  if (!Good)
    complain("--" + Option.ArgStr +
             ": expected one to three numbers of 1 or more separated by "
             "commas, got '" +
             Option + "'");
  return Good;
}

static void setVariable(const char *Name, const std::string &Value) {
  setenv(Name, Value.c_str(), /*overwrite=*/1);
}

/// Has the errors that follow written to the file of --save-errors, which is
/// empty then; says what is wrong with it.
static bool beginSavedErrors() {
  if (SavedErrors.empty())
    return true;
  if (std::error_code Wrong = lnbwd::writeOutputFile(SavedErrors, "")) {
    complain("--save-errors: cannot write '" + SavedErrors +
             "': " + Wrong.message());
    return false;
  }
  setVariable("LNBWD_SIM_ERRORS", SavedErrors);
  return true;
}

/// Saves an error that only comparing outputs has shown.
static void saveError(const std::string &Text) {
  if (SavedErrors.empty())
    return;
  std::error_code Wrong;
  raw_fd_ostream OS(SavedErrors, Wrong, sys::fs::OF_Append);
  if (Wrong)
    return; // Said before.
  OS << json::Value(json::Object{{"chip", ""},
                                 {"kernel", KernelName.getValue()},
                                 {"check", "memory"},
                                 {"message", json::fixUTF8(Text)},
                                 {"count", 1},
                                 {"stops", false}})
     << '\n';
}

/// Those that a kernel's launch and a program share.
static void setVariables() {
  if (MostInstructions.getNumOccurrences())
    setVariable("LNBWD_SIM_MAX_INSTRUCTIONS", std::to_string(MostInstructions));
  if (Sample.getNumOccurrences())
    setVariable("LNBWD_SIM_SAMPLE", std::to_string(Sample));
}

/// The checks that --check names; says what is wrong with it.
static std::optional<unsigned> parseChecks() {
  unsigned Checks = 0;
  for (StringRef Part : split(CheckNames, ',')) {
    std::optional<unsigned> Bits = lnbwd::sim::checkBits(Part.trim());
    if (!Bits) {
      complain("--check: expected " + std::string(lnbwd::sim::ListOfChecks) +
               ", got '" + CheckNames + "'");
      return std::nullopt;
    }
    Checks |= *Bits;
  }
  return Checks;
}

static std::string hipText(hipError_t Code) {
  return std::string(hipGetErrorName(Code)) + ": " + lnbwdSimLastErrorMessage();
}

/// Whether the arguments are what the kernel takes; says what is wrong.
static bool argumentsFit(hipFunction_t Function,
                         const std::vector<Argument> &Arguments) {
  unsigned Count = 0;
  int IsBuffer = 0;
  int64_t Bytes = lnbwdSimKernelArgument(Function, 0, &IsBuffer);
  if (Bytes == -2)
    return true; // No metadata: the launch says so.
  std::string All;
  for (; Bytes >= 0;
       Bytes = lnbwdSimKernelArgument(Function, ++Count, &IsBuffer))
    All += (Count ? ", " : "; its arguments: ") + std::to_string(Count) + ": " +
           (IsBuffer ? "a pointer" : std::to_string(Bytes) + " bytes");
  if (Count != Arguments.size()) {
    complain("kernel '" + KernelName + "' takes " + Twine(Count) +
             " arguments, got " + Twine(Arguments.size()) + "; give one " +
             (ArgumentFile.empty() ? "--arg" : "object of --args-file") +
             " for each, in order" + All);
    return false;
  }
  for (unsigned K = 0; K < Count; ++K) {
    const Argument &A = Arguments[K];
    const int64_t Size = lnbwdSimKernelArgument(Function, K, &IsBuffer);
    const int64_t Given = A.ByValue ? int64_t(A.ByValue)
                          : A.What == Argument::Number
                              ? int64_t(elementBytes(A.Type))
                              : 8;
    const char *Wanted =
        IsBuffer ? ", a pointer: in:, inout:, out: or i64=0" : "";
    // A structure by value starts with the number; the rest is zeros.
    if (Given == Size || (A.What == Argument::Number && !A.ByValue && Size > 8))
      continue;
    complain(A.Where + ": argument " + Twine(K) + " of kernel '" + KernelName +
             "' has " + Twine(Size) + " bytes" + Wanted + "; got " +
             Twine(Given) + All);
    return false;
  }
  return true;
}

namespace {
/// What a launch has left in an argument.
struct Result {
  std::vector<uint8_t> Bytes; ///< none of a number
  /// Elements of an output that the kernel has not written, and the first one;
  /// 0 if that is not known.
  uint64_t Unwritten = 0, FirstUnwritten = 0;
  /// By element, as far as they are shown.
  std::vector<bool> ShownIsUnwritten;
};
} // namespace

/// Finds out which elements of an output were never written, if memory is
/// checked.
static void findUnwritten(const Argument &A, Result &R) {
  if (A.What != Argument::Out)
    return;
  const unsigned Size = elementBytes(A.Type);
  const int64_t Count =
      lnbwdSimCountUnwritten(A.Device, A.Bytes.size(), Size, &R.FirstUnwritten);
  if (Count <= 0)
    return;
  R.Unwritten = uint64_t(Count);
  for (size_t K = 0; K < Show && (K + 1) * Size <= A.Bytes.size(); ++K)
    R.ShownIsUnwritten.push_back(
        lnbwdSimCountUnwritten(static_cast<uint8_t *>(A.Device) + K * Size,
                               Size, Size, nullptr) > 0);
}

/// What to say besides of a launch that has just ended with an access beyond
/// the LDS of its workgroup, if dynamic LDS could have been meant.
static std::string hintOfLds(uint64_t Needed, hipFunction_t Function) {
  int Own = 0, Most = 0;
  if (!Needed ||
      hipFuncGetAttribute(&Own, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                          Function) != hipSuccess ||
      hipFuncGetAttribute(&Most,
                          HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                          Function) != hipSuccess)
    return "";
  const uint64_t Dynamic = Needed - uint64_t(Own);
  if (Needed < uint64_t(Own) || Dynamic > uint64_t(Most))
    return ""; // No size would help.
  return "; if the kernel has dynamic LDS, this access needs --lds " +
         std::to_string(Dynamic) + " or more, which is " + std::to_string(Lds) +
         " here";
}

/// One launch from the same contents. What the arguments hold then, or a
/// message.
static Expected<std::vector<Result>> launch(hipFunction_t Function,
                                            std::vector<Argument> &Arguments,
                                            const uint32_t Grid[3],
                                            const uint32_t Block[3]) {
  auto Fail = [](hipError_t Code) {
    return createStringError(inconvertibleErrorCode(), hipText(Code));
  };
  std::vector<void *> Parameters;
  unsigned Number = 0;
  for (Argument &A : Arguments) {
    if (A.What == Argument::Number) {
      Parameters.push_back(A.Bytes.data());
    } else {
      hipError_t Code = hipSuccess;
      if (!A.Bytes.empty())
        Code = hipMemcpy(A.Device, A.Bytes.data(), A.Bytes.size(),
                         hipMemcpyHostToDevice);
      if (Code != hipSuccess)
        return Fail(Code);
      unsigned Flags = A.What == Argument::In    ? LNBWD_SIM_BUFFER_READ_ONLY
                       : A.What == Argument::Out ? LNBWD_SIM_BUFFER_UNWRITTEN
                                                 : 0;
      std::string Name = "argument " + std::to_string(Number);
      lnbwdSimDescribeBuffer(A.Device, A.Size, Name.c_str(), Flags);
      Parameters.push_back(&A.Device);
    }
    ++Number;
  }
  Parameters.push_back(nullptr);
  hipError_t Code = hipModuleLaunchKernel(Function, Grid[0], Grid[1], Grid[2],
                                          Block[0], Block[1], Block[2], Lds,
                                          nullptr, Parameters.data(), nullptr);
  if (Code != hipSuccess) {
    const uint64_t Needed = lnbwdSimLdsNeeded();
    const std::string Text = hipText(Code);
    return createStringError(inconvertibleErrorCode(),
                             Text + hintOfLds(Needed, Function));
  }
  std::vector<Result> Outputs;
  for (Argument &A : Arguments) {
    Outputs.emplace_back();
    if (A.What == Argument::Number)
      continue;
    Outputs.back().Bytes.resize(A.Bytes.size());
    if ((Code = hipMemcpy(Outputs.back().Bytes.data(), A.Device, A.Bytes.size(),
                          hipMemcpyDeviceToHost)) != hipSuccess)
      return Fail(Code);
    findUnwritten(A, Outputs.back());
  }
  return Outputs;
}

/// The elements to print; nothing for those that were never written.
static std::vector<std::optional<std::string>> shown(const Argument &A,
                                                     const Result &R) {
  std::vector<std::optional<std::string>> Values;
  const unsigned Size = elementBytes(A.Type);
  for (size_t K = 0; K < Show && (K + 1) * Size <= R.Bytes.size(); ++K)
    if (K < R.ShownIsUnwritten.size() && R.ShownIsUnwritten[K])
      Values.emplace_back();
    else
      Values.push_back(formatElement(A.Type, &R.Bytes[K * Size]));
  return Values;
}

/// What is wrong with what the launch left, besides its order.
static void addUnwritten(const std::vector<Argument> &Arguments,
                         const std::vector<Result> &Outputs,
                         std::vector<std::string> &Problems) {
  for (size_t K = 0; K < Outputs.size(); ++K) {
    const Result &R = Outputs[K];
    if (!R.Unwritten)
      continue;
    const uint64_t All = R.Bytes.size() / elementBytes(Arguments[K].Type);
    Problems.push_back(
        "argument " + std::to_string(K) + ": " + std::to_string(R.Unwritten) +
        " of its " + std::to_string(All) +
        " elements were never written, the first of them element " +
        std::to_string(R.FirstUnwritten) +
        "; a buffer that the kernel need not fill is inout:, and elements "
        "stored with undefined bits count as never written");
  }
}

static ExitCode report(const std::vector<Argument> &Arguments,
                       const std::vector<Result> &Outputs,
                       const std::string &Counts, const std::string &Summary,
                       const std::vector<std::string> &Problems) {
  ExitCode Code = Problems.empty() ? Clean : Found;
  if (Json) {
    auto Parsed = json::parse(Counts);
    json::OStream J(outs(), 2);
    J.object([&] {
      J.attribute("kernel", KernelName.getValue());
      J.attribute("clean", Problems.empty());
      if (!Summary.empty())
        J.attribute("checked", json::fixUTF8(Summary));
      if (!Problems.empty())
        J.attribute("problem", json::fixUTF8(join(Problems, "\n")));
      J.attributeArray("outputs", [&] {
        for (size_t K = 0; K < Outputs.size(); ++K)
          if (Arguments[K].What > Argument::In)
            J.object([&] {
              J.attribute("argument", int64_t(K));
              J.attributeArray("values", [&] {
                for (const auto &Value : shown(Arguments[K], Outputs[K]))
                  J.value(Value ? json::Value(*Value) : json::Value(nullptr));
              });
              if (Outputs[K].Unwritten)
                J.attribute("never_written", int64_t(Outputs[K].Unwritten));
            });
      });
      if (Parsed)
        J.attribute("counts", *Parsed);
      else
        consumeError(Parsed.takeError());
    });
    outs() << '\n';
    return Code;
  }
  for (const std::string &Problem : Problems)
    outs() << "error: " << Problem << '\n';
  if (Problems.empty())
    outs() << "clean\n";
  if (!Summary.empty())
    outs() << "checked: " << Summary << '\n';
  for (size_t K = 0; K < Outputs.size(); ++K) {
    if (Arguments[K].What <= Argument::In)
      continue;
    outs() << "argument " << K << ':';
    for (const auto &Value : shown(Arguments[K], Outputs[K]))
      outs() << ' ' << Value.value_or("(never written)");
    outs() << '\n';
  }
  if (ShowCounts)
    outs() << "counts: " << Counts << '\n';
  return Code;
}

/// Predicts the launch instead of executing all of it.
static ExitCode predict(hipFunction_t Function,
                        std::vector<Argument> &Arguments,
                        const uint32_t Grid[3], const uint32_t Block[3]) {
  std::string Options = TimeOptions;
  if (!TraceFile.empty())
    Options += ";timeline";
  if (lnbwdSimSetTiming(Options.c_str()))
    return complain(StringRef("--time-options: ") + lnbwdSimLastErrorMessage());
  if (Error E = launch(Function, Arguments, Grid, Block).takeError())
    return complain(toString(std::move(E)));
  const std::string Found = lnbwdSimGetTimingJson();
  Expected<json::Value> Parsed = json::parse(Found);
  if (!Parsed)
    return complain(toString(Parsed.takeError()));
  const json::Object &O = *Parsed->getAsObject();
  if (const json::Array *Warnings = O.getArray("warnings"))
    for (const json::Value &V : *Warnings)
      errs() << "lnbwd-sim: warning: " << V.getAsString().value_or("") << '\n';
  if (Json) {
    outs() << Found << '\n';
  } else {
    outs() << O.getString("summary").value_or("");
    const json::Object &L = *O.getArray("launches")->front().getAsObject();
    outs() << "slowest instructions, of all waves' time:\n";
    for (const json::Value &V : *L.getArray("slowest")) {
      const json::Object &H = *V.getAsObject();
      outs() << format("%5.1f %%  ", H.getNumber("share").value_or(0) * 100)
             << H.getString("at").value_or("") << "  "
             << H.getString("instruction").value_or("") << "  "
             << H.getString("source").value_or("") << '\n';
    }
  }
  if (TraceFile.empty())
    return Clean;
  if (std::error_code Wrong =
          lnbwd::writeOutputFile(TraceFile, lnbwdSimGetTimelineJson()))
    return complain("cannot write '" + TraceFile + "': " + Wrong.message());
  return Clean;
}

static ExitCode run() {
  if (hipInit(0) != hipSuccess)
    return complain(lnbwdSimLastErrorMessage());
  uint32_t Grid[3], Block[3];
  if (!parseSizes(GridText, Grid) || !parseSizes(BlockText, Block))
    return BadInput;
  const std::optional<unsigned> Checks = parseChecks();
  if (!Checks)
    return BadInput;
  for (const cl::Option *Option : std::initializer_list<const cl::Option *>{
           &Kernels, &SkipLaunches, &Leaks})
    if (Option->getNumOccurrences())
      return complain("--" + Option->ArgStr + ": expected --program, too");
  unsetenv("LNBWD_SIM_LEAKS"); // The buffers are the tool's.
  if (!beginSavedErrors())
    return BadInput;
  if (MostErrors == 0)
    return complain("--max-errors: expected a number of 1 or more, got '0'");
  if (Sample == 0)
    return complain("--sample: expected a number of 1 or more, got '0'");
  setVariables();
  Tolerance Allowed;
  if (ToleranceText.getNumOccurrences()) {
    const std::optional<Tolerance> Given = parseTolerance(ToleranceText);
    if (!Given)
      return complain("--tolerance: expected R or R,A, numbers of 0 or more, "
                      "got '" +
                      ToleranceText + "'");
    if (!Orders)
      return complain("--tolerance: expected --shuffle-waves, too");
    Allowed = *Given;
  }
  std::vector<Argument> Arguments;
  if (!ArgumentFile.empty()) {
    if (!ArgumentTexts.empty())
      return complain("expected --arg or --args-file, got both");
    auto Read = readArguments(ArgumentFile, /*WithZeros=*/!Time);
    if (!Read)
      return complain(toString(Read.takeError()));
    Arguments = std::move(*Read);
  }
  for (const std::string &Text : ArgumentTexts) {
    Expected<Argument> A = parseArgument(Text, /*WithZeros=*/!Time);
    if (!A)
      return complain(toString(A.takeError()));
    Arguments.push_back(std::move(*A));
  }
  const int Device = lnbwdSimChooseDevice(CodeFile.c_str(), ChipName.c_str());
  if (Device < 0)
    return complain(lnbwdSimLastErrorMessage());
  if (!Time && (!TraceFile.empty() || !TimeOptions.empty()))
    return complain("--trace and --time-options: expected --time, too");
  // What no workgroup touches costs the host nothing.
  if (Time)
    setenv("LNBWD_SIM_MEMORY_MB", "1000000", /*overwrite=*/0);
  hipModule_t Module;
  hipFunction_t Function;
  hipError_t Code = hipSetDevice(Device);
  lnbwdSimSetChecks(Time ? 0 : *Checks);
  lnbwdSimSetMaxErrors(MostErrors);
  if (Code == hipSuccess)
    Code = hipModuleLoad(&Module, CodeFile.c_str());
  if (Code == hipSuccess)
    Code = hipModuleGetFunction(&Function, Module, KernelName.c_str());
  for (Argument &A : Arguments)
    if (A.What != Argument::Number && Code == hipSuccess)
      Code = hipMalloc(&A.Device, A.Size);
  if (Code != hipSuccess)
    return complain(hipText(Code));

  if (!argumentsFit(Function, Arguments))
    return BadInput;
  if (Time)
    return predict(Function, Arguments, Grid, Block);
  auto Outputs = launch(Function, Arguments, Grid, Block);
  const std::string Counts = lnbwdSimGetCountsJson();
  std::string Summary = lnbwdSimGetCheckSummary();
  if (!Summary.empty() && Orders)
    Summary +=
        "; in " + std::to_string(Orders + 1) + " orders" +
        (Allowed.isNone() ? ""
                          : ", whose floating-point outputs are compared "
                            "with --tolerance " +
                                ToleranceText);
  std::vector<std::string> Problems;
  std::string First; // what was found in the usual order
  if (!Outputs) {
    First = toString(Outputs.takeError());
    if (StringRef(First).starts_with("hipErrorInvalidValue"))
      return complain(First);
    Problems.push_back(First);
  } else {
    addUnwritten(Arguments, *Outputs, Problems);
  }
  // Those that a launch is executed in by itself are the same for each seed.
  lnbwdSimSetOtherOrders(!Outputs);
  for (unsigned Seed = 1; Seed <= Orders; ++Seed) {
    lnbwdSimSetShuffle(Seed);
    auto Again = launch(Function, Arguments, Grid, Block);
    const std::string Order =
        " in order " + std::to_string(Seed) + " of --shuffle-waves";
    if (!Again) {
      const std::string Said = toString(Again.takeError());
      if (First.empty())
        Problems.push_back("only" + Order + ": " + Said);
      else
        continue;
      break;
    }
    if (!Outputs) {
      Problems.push_back("no error" + Order +
                         ": the fault depends on the order");
      break;
    }
    bool Differs = false;
    for (size_t K = 0; K < Outputs->size(); ++K) {
      const std::string How = describeDifference(
          Arguments[K].Type, (*Outputs)[K].Bytes, (*Again)[K].Bytes, Allowed);
      if (How.empty())
        continue;
      Problems.push_back(
          "argument " + std::to_string(K) +
          " depends on the order of waves and workgroups:" + Order + " " + How);
      Differs = true;
    }
    if (Differs)
      break;
  }
  lnbwdSimSetShuffle(0);
  lnbwdSimSetOtherOrders(1);
  // What a launch says the library saves.
  for (const std::string &Problem : Problems)
    if (Problem != First)
      saveError(Problem);
  if (!Outputs)
    return report(Arguments, {}, Counts, Summary, Problems);
  for (size_t K = 0; K < Outputs->size(); ++K) {
    if (Arguments[K].File.empty())
      continue;
    const std::vector<uint8_t> &Written = (*Outputs)[K].Bytes;
    std::string_view Bytes(reinterpret_cast<const char *>(Written.data()),
                           Written.size());
    if (std::error_code Wrong =
            lnbwd::writeOutputFile(Arguments[K].File, Bytes))
      return complain("cannot write '" + Arguments[K].File +
                      "': " + Wrong.message());
  }
  return report(Arguments, *Outputs, Counts, Summary, Problems);
}

/// The options that --program has a use for.
static ExitCode runProgram(ArrayRef<const char *> Arguments) {
  if (!parseChecks())
    return BadInput;
  for (const auto &[Name, Option] : cl::getRegisteredOptions())
    if (Option->getNumOccurrences() &&
        is_contained(Option->Categories, &Category) &&
        !is_contained({"program", "chip", "check", "max-errors",
                       "max-instructions", "kernels", "skip-launches", "sample",
                       "leaks", "save-errors"},
                      Name))
      return complain("--" + Name + ": not with --program");
  if (!CodeFile.empty())
    return complain("expected CODE or --program, got both");
  setVariable("LNBWD_SIM_CHECK", CheckNames);
  setVariable("LNBWD_SIM_MAX_ERRORS", std::to_string(MostErrors));
  if (!ChipName.empty())
    setVariable("LNBWD_SIM_CHIP", ChipName);
  if (!Kernels.empty())
    setVariable("LNBWD_SIM_KERNELS", Kernels);
  if (SkipLaunches.getNumOccurrences())
    setVariable("LNBWD_SIM_SKIP_LAUNCHES", std::to_string(SkipLaunches));
  setVariables();
  if (!beginSavedErrors())
    return BadInput;
  // Wrong values are said here and not by the program.
  if (hipInit(0) != hipSuccess)
    return complain(lnbwdSimLastErrorMessage());
  if (Leaks)
    setVariable("LNBWD_SIM_LEAKS", "1");
  return ExitCode(runUnderChecks(ProgramName, Arguments));
}

int main(int Argc, char **Argv) {
  // What follows the program's name is the program's.
  ArrayRef<const char *> Own(Argv, size_t(Argc)), Arguments;
  for (size_t K = 1; K + 1 < Own.size(); ++K)
    if (StringRef(Own[K]) == "--program" || StringRef(Own[K]) == "-program") {
      Arguments = Own.drop_front(K + 2);
      Own = Own.take_front(K + 2);
      break;
    }

  lnbwd::surviveFileSizeLimit();
  cl::HideUnrelatedOptions(Category);
  cl::AddExtraVersionPrinter(
      [](raw_ostream &OS) { OS << "lnbwd " LNBWD_VERSION "\n"; });
  if (!cl::ParseCommandLineOptions(
          int(Own.size()), Own.data(),
          "runs a kernel of an AMD code object, or a whole HIP program, on the "
          "simulator, under its checks\n\n  exit code: 0 clean, 1 errors, 2 "
          "bad input; of a program without errors its own\n",
          &errs()))
    return BadInput;
  if (ProgramName.getNumOccurrences())
    return runProgram(Arguments);
  if (CodeFile.empty())
    return complain("expected CODE and --kernel, or --program");
  return run();
}
