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

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>

#include "lnbwd/Simulator/SimulatorAPI.h"

#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace llvm;
using namespace lnbwd::simtool;

static cl::OptionCategory Category("lnbwd-sim options");
static cl::opt<std::string> CodeFile(cl::Positional, cl::Required,
                                     cl::desc("CODE.hsaco"), cl::cat(Category));
static cl::opt<std::string> KernelName("kernel", cl::desc("the kernel's name"),
                                       cl::value_desc("NAME"), cl::Required,
                                       cl::cat(Category));
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
    cl::desc("an argument, in order: TYPE=NUMBER, in:TYPExCOUNT[=FILL],\n"
             "inout:TYPExCOUNT[=FILL][>FILE] or out:TYPExCOUNT[>FILE]; TYPE i8 "
             "to i64,\nf16, bf16, f32, f64; FILL a number, iota, random[:SEED] "
             "or @FILE"));
static cl::opt<std::string>
    CheckNames("check", cl::init("all"), cl::cat(Category),
               cl::value_desc("NAMES"),
               cl::desc("memory, registers, races, waits, limits, counts, "
                        "alignment, all or none (all)"));
static cl::opt<uint64_t>
    Shuffle("shuffle-waves", cl::init(0), cl::cat(Category),
            cl::value_desc("SEED"),
            cl::desc("run again in another order, and compare the outputs"));
static cl::opt<uint64_t>
    MostInstructions("max-instructions", cl::init(0), cl::cat(Category),
                     cl::value_desc("N"),
                     cl::desc("stop a launch that executes more instructions, "
                              "all waves together (0: none is stopped)"));
static cl::opt<unsigned> Show("show", cl::init(8), cl::cat(Category),
                              cl::value_desc("N"),
                              cl::desc("elements of each output to print (8)"));
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

static bool parseSizes(StringRef Text, uint32_t Sizes[3]) {
  SmallVector<StringRef, 3> Parts;
  Text.split(Parts, ',');
  if (Parts.size() > 3)
    return false;
  for (unsigned K = 0; K < 3; ++K) {
    Sizes[K] = 1;
    if (K < Parts.size() &&
        (Parts[K].trim().getAsInteger(10, Sizes[K]) || Sizes[K] == 0))
      return false;
  }
  return true;
}

static bool parseChecks(StringRef Text, unsigned &Checks) {
  struct CheckName {
    const char *Name;
    unsigned Bits;
  };
  constexpr CheckName Names[] = {
      {"all", LNBWD_SIM_CHECK_ALL},
      {"none", 0},
      {"memory", LNBWD_SIM_CHECK_MEMORY},
      {"registers", LNBWD_SIM_CHECK_REGISTERS},
      {"races", LNBWD_SIM_CHECK_RACES},
      {"waits", LNBWD_SIM_CHECK_WAITS},
      {"limits", LNBWD_SIM_CHECK_LIMITS},
      {"counts", LNBWD_SIM_CHECK_COUNTS},
      {"alignment", LNBWD_SIM_CHECK_ALIGNMENT},
  };
  Checks = 0;
  SmallVector<StringRef, 8> Parts;
  Text.split(Parts, ',');
  for (StringRef Part : Parts) {
    const CheckName *Name = find_if(
        Names, [&](const CheckName &N) { return Part.trim() == N.Name; });
    if (Name == std::end(Names))
      return false;
    Checks |= Name->Bits;
  }
  return true;
}

/// The device whose chip the code object is for, by the ELF header's flags.
static int deviceFor(MemoryBufferRef File) {
  // What is behind the header is the loader's to check.
  auto Object =
      object::ObjectFile::createELFObjectFile(File, /*InitContent=*/false);
  if (!Object) {
    consumeError(Object.takeError());
    return -1;
  }
  if ((*Object)->getArch() != Triple::amdgcn)
    return -1;
  auto Chip = (*Object)->tryGetCPUName();
  int Count = 0;
  if (hipGetDeviceCount(&Count) != hipSuccess)
    return -1;
  for (int D = 0; D < Count; ++D) {
    hipDeviceProp_t P;
    if (hipGetDeviceProperties(&P, D) == hipSuccess &&
        Chip == StringRef(P.gcnArchName).split(':').first)
      return D;
  }
  return -1;
}

/// What a file is that is not a code object for one of the chips.
static std::string describeFile(MemoryBufferRef File) {
  StringRef Bytes = File.getBuffer();
  if (Bytes.starts_with("__CLANG_OFFLOAD_BUNDLE__") ||
      Bytes.starts_with("CCOB"))
    return "a bundle of code objects, of which clang-offload-bundler -unbundle "
           "takes one out";
  auto Object = object::ObjectFile::createELFObjectFile(File);
  if (!Object) {
    consumeError(Object.takeError());
    return "no ELF file";
  }
  if ((*Object)->getArch() != Triple::amdgcn)
    return "an ELF file for " +
           Triple::getArchTypeName((*Object)->getArch()).str();
  if (auto Name = (*Object)->tryGetCPUName())
    return "a code object for " + Name->str();
  return "a code object for an unknown chip";
}

static std::string hipText(hipError_t Code) {
  return std::string(hipGetErrorName(Code)) + ": " + lnbwdSimLastErrorMessage();
}

/// Whether the arguments are what the kernel takes; says what is wrong.
static bool argumentsFit(hipFunction_t Function,
                         const std::vector<Argument> &Arguments) {
  unsigned Count = 0;
  int IsBuffer = 0;
  if (lnbwdSimKernelArgument(Function, 0, &IsBuffer) == -2)
    return true; // No metadata: the launch says so.
  while (lnbwdSimKernelArgument(Function, Count, &IsBuffer) >= 0)
    ++Count;
  if (Count != Arguments.size()) {
    complain("kernel '" + KernelName + "' takes " + Twine(Count) +
             " arguments, got " + Twine(Arguments.size()) +
             "; give one --arg for each, in order");
    return false;
  }
  for (unsigned K = 0; K < Count; ++K) {
    const Argument &A = Arguments[K];
    const int64_t Size = lnbwdSimKernelArgument(Function, K, &IsBuffer);
    const int64_t Given =
        A.What == Argument::Number ? int64_t(elementBytes(A.Type)) : 8;
    const char *Wanted =
        IsBuffer ? ", a pointer: in:, inout:, out: or i64=0" : "";
    // A structure by value starts with the number; the rest is zeros.
    if (Given == Size || (A.What == Argument::Number && Size > 8))
      continue;
    complain("--arg " + ArgumentTexts[K] + ": argument " + Twine(K) +
             " of kernel '" + KernelName + "' has " + Twine(Size) + " bytes" +
             Wanted + "; got " + Twine(Given));
    return false;
  }
  return true;
}

/// One launch from the same contents. The outputs' contents, or a message.
static Expected<std::vector<std::vector<uint8_t>>>
launch(hipFunction_t Function, std::vector<Argument> &Arguments,
       const uint32_t Grid[3], const uint32_t Block[3]) {
  auto Fail = [](hipError_t Code) {
    return createStringError(inconvertibleErrorCode(), hipText(Code));
  };
  std::vector<void *> Parameters;
  unsigned Number = 0;
  for (Argument &A : Arguments) {
    if (A.What == Argument::Number) {
      Parameters.push_back(A.Bytes.data());
    } else {
      hipError_t Code = hipMemcpy(A.Device, A.Bytes.data(), A.Bytes.size(),
                                  hipMemcpyHostToDevice);
      if (Code != hipSuccess)
        return Fail(Code);
      unsigned Flags = A.What == Argument::In    ? LNBWD_SIM_BUFFER_READ_ONLY
                       : A.What == Argument::Out ? LNBWD_SIM_BUFFER_UNWRITTEN
                                                 : 0;
      std::string Name = "argument " + std::to_string(Number);
      lnbwdSimDescribeBuffer(A.Device, A.Bytes.size(), Name.c_str(), Flags);
      Parameters.push_back(&A.Device);
    }
    ++Number;
  }
  Parameters.push_back(nullptr);
  hipError_t Code = hipModuleLaunchKernel(Function, Grid[0], Grid[1], Grid[2],
                                          Block[0], Block[1], Block[2], Lds,
                                          nullptr, Parameters.data(), nullptr);
  if (Code != hipSuccess)
    return Fail(Code);
  std::vector<std::vector<uint8_t>> Outputs;
  for (Argument &A : Arguments) {
    Outputs.emplace_back(A.What == Argument::Number ? 0 : A.Bytes.size());
    if (A.What != Argument::Number &&
        (Code = hipMemcpy(Outputs.back().data(), A.Device, A.Bytes.size(),
                          hipMemcpyDeviceToHost)) != hipSuccess)
      return Fail(Code);
  }
  return Outputs;
}

static std::vector<std::string> shown(const Argument &A,
                                      const std::vector<uint8_t> &Bytes) {
  std::vector<std::string> Values;
  const unsigned Size = elementBytes(A.Type);
  for (size_t K = 0; K < Show && (K + 1) * Size <= Bytes.size(); ++K)
    Values.push_back(formatElement(A.Type, &Bytes[K * Size]));
  return Values;
}

static ExitCode report(const std::vector<Argument> &Arguments,
                       const std::vector<std::vector<uint8_t>> &Outputs,
                       const std::string &Counts, const std::string &Problem) {
  ExitCode Result = Problem.empty() ? Clean : Found;
  if (Json) {
    auto Parsed = json::parse(Counts);
    json::OStream J(outs(), 2);
    J.object([&] {
      J.attribute("kernel", KernelName.getValue());
      J.attribute("clean", Problem.empty());
      if (!Problem.empty())
        J.attribute("problem", json::fixUTF8(Problem));
      J.attributeArray("outputs", [&] {
        for (size_t K = 0; K < Outputs.size(); ++K)
          if (Arguments[K].What > Argument::In)
            J.object([&] {
              J.attribute("argument", int64_t(K));
              J.attribute("values",
                          json::Array(shown(Arguments[K], Outputs[K])));
            });
      });
      if (Parsed)
        J.attribute("counts", *Parsed);
      else
        consumeError(Parsed.takeError());
    });
    outs() << '\n';
    return Result;
  }
  for (size_t K = 0; K < Outputs.size(); ++K) {
    if (Arguments[K].What <= Argument::In)
      continue;
    outs() << "argument " << K << ':';
    for (const std::string &Value : shown(Arguments[K], Outputs[K]))
      outs() << ' ' << Value;
    outs() << '\n';
  }
  if (!Problem.empty()) {
    outs() << "found: " << Problem << '\n';
    return Result;
  }
  outs() << "counts: " << Counts << "\nclean\n";
  return Result;
}

static ExitCode run() {
  uint32_t Grid[3], Block[3];
  unsigned Checks;
  if (!parseSizes(GridText, Grid))
    return complain("--grid: expected one to three numbers of 1 or more "
                    "separated by commas, got '" +
                    GridText + "'");
  if (!parseSizes(BlockText, Block))
    return complain("--block: expected one to three numbers of 1 or more "
                    "separated by commas, got '" +
                    BlockText + "'");
  if (!parseChecks(CheckNames, Checks))
    return complain("--check: expected all, none, or some of memory, "
                    "registers, races, waits, limits, counts and alignment, "
                    "got '" +
                    CheckNames + "'");
  std::vector<Argument> Arguments;
  for (const std::string &Text : ArgumentTexts) {
    Expected<Argument> A = parseArgument(Text);
    if (!A)
      return complain(toString(A.takeError()));
    Arguments.push_back(std::move(*A));
  }
  auto File = MemoryBuffer::getFile(CodeFile, /*IsText=*/false,
                                    /*RequiresNullTerminator=*/false);
  if (!File)
    return complain("cannot read '" + CodeFile +
                    "': " + File.getError().message());
  int Device = deviceFor((*File)->getMemBufferRef());
  if (Device < 0)
    return complain("'" + CodeFile + "' is " +
                    describeFile((*File)->getMemBufferRef()) +
                    "; expected an AMD code object for a chip that the "
                    "simulator has (gfx90a, gfx942, gfx950, gfx1100, gfx1201)");
  hipModule_t Module;
  hipFunction_t Function;
  hipError_t Code = hipSetDevice(Device);
  lnbwdSimSetChecks(Checks);
  if (MostInstructions)
    setenv("LNBWD_SIM_MAX_INSTRUCTIONS",
           std::to_string(MostInstructions).c_str(), 1);
  if (Code == hipSuccess)
    Code = hipModuleLoad(&Module, CodeFile.c_str());
  if (Code == hipSuccess)
    Code = hipModuleGetFunction(&Function, Module, KernelName.c_str());
  for (Argument &A : Arguments)
    if (A.What != Argument::Number && Code == hipSuccess)
      Code = hipMalloc(&A.Device, A.Bytes.size());
  if (Code != hipSuccess)
    return complain(hipText(Code));

  if (!argumentsFit(Function, Arguments))
    return BadInput;
  auto Outputs = launch(Function, Arguments, Grid, Block);
  std::string Counts = lnbwdSimGetCountsJson();
  if (!Outputs) {
    std::string Text = toString(Outputs.takeError());
    if (StringRef(Text).starts_with("hipErrorInvalidValue"))
      return complain(Text);
    return report(Arguments, {}, Counts, Text);
  }
  std::string Problem;
  if (Shuffle) {
    lnbwdSimSetShuffle(Shuffle);
    auto Again = launch(Function, Arguments, Grid, Block);
    if (!Again)
      return report(Arguments, *Outputs, Counts, toString(Again.takeError()));
    for (size_t K = 0; K < Outputs->size(); ++K)
      if ((*Again)[K] != (*Outputs)[K])
        Problem = "argument " + std::to_string(K) +
                  " depends on the order of waves and workgroups: it differs "
                  "with --shuffle-waves " +
                  std::to_string(Shuffle);
  }
  for (size_t K = 0; K < Outputs->size(); ++K) {
    if (Arguments[K].File.empty())
      continue;
    std::error_code Wrong;
    raw_fd_ostream Out(Arguments[K].File, Wrong);
    Out.write(reinterpret_cast<const char *>((*Outputs)[K].data()),
              (*Outputs)[K].size());
    Out.close();
    if (Wrong || Out.has_error()) {
      std::string Why = Wrong ? Wrong.message() : Out.error().message();
      Out.clear_error(); // It has been said; the destructor need not.
      return complain("cannot write '" + Arguments[K].File + "': " + Why);
    }
  }
  return report(Arguments, *Outputs, Counts, Problem);
}

int main(int Argc, char **Argv) {
  cl::HideUnrelatedOptions(Category);
  if (!cl::ParseCommandLineOptions(
          Argc, Argv,
          "runs a kernel of an AMD code object on the simulator, under its "
          "checks\n\n  exit code: 0 clean, 1 something was found, 2 bad "
          "input\n",
          &errs()))
    return BadInput;
  return run();
}
