//===- RunnerTest.cpp - The runner as a process ---------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exit codes, messages and what is left behind. Kernels that make one mistake
// each run on the simulator, and the runner has to find the mistake; these
// tests are skipped where the simulator or the compiler of the test kernels is
// missing.
//
//===----------------------------------------------------------------------===//

#include "TestPrograms.h"

#include "lnbwd/Chips/ChipNames.h"

#include "gtest/gtest.h"

#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using lnbwd::test::exampleMetadata;
using lnbwd::test::examplePlan;
using lnbwd::test::makeHsaco;
using nlohmann::json;

extern char **environ;

namespace {

struct Result {
  int exitCode = -1;
  std::string output;
  std::string errors;
};

} // namespace

static std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

namespace {

/// Each test has a folder of its own, which also holds the temporary files of
/// the programs it starts.
class RunnerTest : public testing::Test {
protected:
  RunnerTest() {
    std::string pattern = testing::TempDir() + "lnbwd-runner-test-XXXXXX";
    folder = mkdtemp(pattern.data());
    mkdir(temporaryFolder().c_str(), 0700);
    environment["TMPDIR"] = temporaryFolder();
    // Nothing of the machine that the tests run on may be found.
    environment["LNBWD_HIP_LIBRARY"] = "/nonexistent/libamdhip64.so";
    environment["LNBWD_CUDA_LIBRARY"] = "/nonexistent/libcuda.so";
    environment["LNBWD_OPT"] = "/nonexistent/lnbwd-opt";
  }
  ~RunnerTest() override {
    EXPECT_EQ(entries(temporaryFolder()), std::vector<std::string>())
        << "temporary files were left behind";
    std::string command = "rm -rf '" + folder + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }

  std::string temporaryFolder() const { return folder + "/tmp"; }

  static std::vector<std::string> entries(const std::string &path) {
    std::vector<std::string> names;
    DIR *directory = opendir(path.c_str());
    while (dirent *entry = directory ? readdir(directory) : nullptr) {
      std::string name = entry->d_name;
      if (name != "." && name != "..")
        names.push_back(name);
    }
    if (directory)
      closedir(directory);
    return names;
  }

  /// A file in the test's folder.
  std::string write(const std::string &name, const std::string &contents) {
    std::string path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << contents;
    return path;
  }
  /// A script to run in place of the compiler.
  void setCompiler(const std::string &script) {
    std::string path = write("lnbwd-opt", "#!/bin/sh\n" + script);
    chmod(path.c_str(), 0700);
    environment["LNBWD_OPT"] = path;
  }

  pid_t start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), LNBWD_RUN);
    std::vector<char *> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string &argument : arguments)
      argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_t child = fork();
    if (child != 0)
      return child;
    for (const auto &[name, value] : environment)
      setenv(name.c_str(), value.c_str(), 1);
    for (auto [descriptor, name] :
         {std::pair<int, const char *>{1, "/out"}, {2, "/err"}}) {
      int file =
          open((folder + name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      dup2(file, descriptor);
    }
    execv(LNBWD_RUN, argv.data());
    _exit(127);
  }
  Result wait(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    Result result;
    result.exitCode =
        WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    result.output = readFile(folder + "/out");
    result.errors = readFile(folder + "/err");
    return result;
  }
  Result run(const std::vector<std::string> &arguments) {
    return wait(start(arguments));
  }
  void expectFailure(const std::vector<std::string> &arguments, int exitCode,
                     const std::string &message) {
    Result result = run(arguments);
    EXPECT_EQ(result.exitCode, exitCode) << result.errors;
    EXPECT_CONTAINS(result.errors, message);
    EXPECT_EQ(result.output, "");
  }

  std::string folder;
  std::map<std::string, std::string> environment;
};

TEST_F(RunnerTest, HelpAndVersionSucceed) {
  Result help = run({"--help"});
  EXPECT_EQ(help.exitCode, 0);
  EXPECT_CONTAINS(help.output, "usage: lnbwd-run");
  Result version = run({"--version"});
  EXPECT_EQ(version.exitCode, 0);
  EXPECT_CONTAINS(version.output, "lnbwd-run ");
}

TEST_F(RunnerTest, BadInputIsExitCode2) {
  expectFailure({}, 2, "See lnbwd-run --help.");
  expectFailure({"--frobnicate"}, 2, "unknown option");
  expectFailure({"/nonexistent.hsaco"}, 2, "cannot open");
  expectFailure({write("text", "hello")}, 2, "none of these");
  std::string hsaco = makeHsaco(examplePlan(), exampleMetadata());
  expectFailure({write("cut", hsaco.substr(0, hsaco.size() / 2))}, 2,
                "cut off");
  expectFailure({write("k.hsaco", hsaco), "--device", "gpu"}, 2,
                "expected 'sim'");
  auto refusal = [&](const json &plan, const std::string &message) {
    expectFailure(
        {write("other.hsaco", makeHsaco(plan, exampleMetadata())), "--verify"},
        2, message);
  };
  json plan = examplePlan();
  plan["operation"]["operands"]["weights"] = 2;
  refusal(plan, "layer_norm_bwd has no operand 'weights'");
  plan = examplePlan();
  plan["operation"]["operands"]["x"] = 5;
  refusal(plan,
          "argument 'dx', the operand 'x' of layer_norm_bwd, is not read");
  plan = examplePlan();
  plan["operation"]["operands"]["gamma"] = 3;
  refusal(plan, "argument 'mean', the operand 'gamma' of layer_norm_bwd, has "
                "another shape");
  plan = examplePlan();
  plan["operation"]["operands"].erase("mean");
  refusal(plan, "layer_norm_bwd has 'rstd' without 'mean'");
  plan = examplePlan();
  plan["operation"]["operands"].erase("dbeta");
  refusal(plan, "has no output that argument 'dbeta' could be");
  auto operation = [&](const char *pointer, const json &value,
                       const std::string &message) {
    json damaged = examplePlan();
    damaged["operation"][json::json_pointer(pointer)] = value;
    refusal(damaged, message);
  };
  operation("/epsilon", -1, "expected epsilon to be 0 or more, got -1");
  operation("/zero_centred_gamma", 1, "expected zero_centred_gamma to be true");
  operation("/operands/dx", 8, "there is no argument 8");
  operation("/operands/dx", -1, "expected a number of 0 or more, got -1");
  operation("/operands", json::array(),
            "expected 'operands' to be an object, got []");
  operation("/extra", 1, "unknown key 'extra'");
  for (const char *key : {"name", "operands"}) {
    plan = examplePlan();
    plan["operation"].erase(key);
    refusal(plan, std::string("expected an object with the key '") + key + "'");
  }
  plan = examplePlan();
  plan["operation"]["name"] = "softmax";
  refusal(
      plan,
      "--verify: expected a launch plan that says what the kernels compute");
}

// A plan's program comes from a file: whatever it says ends in a message.
TEST_F(RunnerTest, DamagedProgramsAreExitCode2) {
  json good = json::parse(R"([{"name": "p",
    "inputs": [{"argument": 0, "kind": "row_block", "type": "4096xbf16"},
               {"argument": 2, "kind": "column", "type": "4096xbf16"}],
    "operations": [["arith.extf", "4096xf32", 0], ["arith.extf", "4096xf32", 1],
                   ["arith.mulf", "4096xf32", 2, 3]],
    "outputs": [{"argument": 6, "kind": "column", "type": "4096xf32",
                 "value": 4}]}])");
  auto refusal = [&](const char *pointer, const json &value,
                     const std::string &message) {
    json plan = examplePlan();
    plan.erase("operation");
    plan["program"] = good;
    if (pointer)
      plan["program"][json::json_pointer(pointer)] = value;
    std::string file =
        write("program.hsaco", makeHsaco(plan, exampleMetadata()));
    if (message.empty()) {
      // Right as it is; the fake driver performs nothing.
      environment["LNBWD_HIP_LIBRARY"] = FAKE_HIP_LIBRARY;
      EXPECT_EQ(run({file, "--verify", "--m=3", "--device=hip"}).exitCode, 1);
      return;
    }
    expectFailure({file, "--verify"}, 2, message);
  };
  refusal(nullptr, {}, "");
  refusal("/0", 7, "expected an object with the key 'name', got 7");
  refusal("/0", {{"unsupported", "partial sums"}},
          "does not interpret 'partial sums'");
  refusal("/0/inputs", 7, "expected 'inputs' to be an array");
  refusal("/0/inputs/0/kind", "row", "no operand of the kind 'row'");
  refusal("/0/inputs/0/type", "4096xf64", "there is no type '4096xf64'");
  refusal("/0/inputs/0/type", "4095xbf16",
          "argument 'dy' is no row_block of 4095xbf16");
  refusal("/0/inputs/0/argument", 3, "argument 'mean' is no row_block");
  refusal("/0/inputs/0/argument", 8, "there is no argument 8");
  refusal("/0/inputs/0/argument", -1, "expected a number of 0 or more, got -1");
  refusal("/0/inputs/0",
          {{"buffer", 1ULL << 40}, {"kind", "column"}, {"type", "1xf32"}},
          "too many buffers");
  refusal("/0/outputs/0/argument", 2, "writes an argument that is only read");
  refusal("/0/outputs/0/value", 5, "is not what its kind says");
  refusal("/0/operations/2", {"arith.mulf"},
          "expected an operation as an array");
  refusal("/0/operations/2/0", "math.sinh",
          "operation 2 of 'p', 'math.sinh', is none that the reference knows");
  refusal("/0/operations/2/1", "tuple<>",
          "no operation 'arith.mulf' that makes");
  refusal("/0/operations/2/3", 4, "not computed before it");
  refusal("/0/operations/2/3", {{"axis", 1}}, "there is no attribute 'axis'");
  refusal("/0/operations/2",
          {"arith.constant", "4096xf32", {{"value", "many"}}},
          "expected a number, got 'many'");
  refusal("/0/own_rows", "all", "expected a number of 0 or more");
  json plan = examplePlan();
  plan["program"] = json::object();
  expectFailure({write("object.hsaco", makeHsaco(plan, exampleMetadata()))}, 2,
                "plan.program: expected an array, got {}");
}

TEST_F(RunnerTest, NoDeviceIsExitCode3) {
  std::string kernel =
      write("k.hsaco", makeHsaco(examplePlan(), exampleMetadata()));
  expectFailure({kernel, "--device", "hip"}, 3, "libamdhip64");
  expectFailure({kernel, "--device", "cuda"}, 3, "libcuda");
  environment["LNBWD_SIM_LIBRARY"] = "/nonexistent/sim.so";
  expectFailure({kernel}, 3, "LNBWD_ENABLE_SIMULATOR");
  environment["LNBWD_HIP_LIBRARY"] = FAKE_HIP_LIBRARY;
  environment["FAKE_HIP"] = "no-device";
  expectFailure({kernel, "--device", "hip"}, 3, "hipErrorNoDevice");
  environment["FAKE_HIP"] = "";
  expectFailure({kernel, "--device", "hip:1"}, 3, "no device hip:1");
  expectFailure({kernel, "--groups", "3", "--m", "3"}, 2,
                "--groups: expected a kernel with an argument whose size "
                "depends on the groups of rows, got one without");
}

// The libamdhip64 of the machine, whatever it is: without a card it must end in
// a clear error as well.
TEST_F(RunnerTest, TheRealHipLibraryDoesNotCrash) {
  environment["LNBWD_HIP_LIBRARY"] = "";
  std::string kernel =
      write("k.hsaco", makeHsaco(examplePlan(), exampleMetadata()));
  Result result = run({kernel, "--device", "hip:77"});
  EXPECT_EQ(result.exitCode, 3) << result.errors;
  EXPECT_CONTAINS(result.errors, "error:");
}

TEST_F(RunnerTest, TooManyRowsAreExitCode2) {
  environment["LNBWD_HIP_LIBRARY"] = FAKE_HIP_LIBRARY;
  std::string kernel =
      write("k.hsaco", makeHsaco(examplePlan(), exampleMetadata()));
  expectFailure({kernel, "--device", "hip", "--m", "1000000"}, 2,
                "the device has 1.00 GiB free; take a smaller --m");
  expectFailure({kernel, "--device", "hip", "--m", "9000000000000000000"}, 2,
                "does not fit in 63 bits");
}

// The fake driver performs nothing: all outputs keep their poison.
TEST_F(RunnerTest, OutputsThatAreNotWrittenAreExitCode1) {
  environment["LNBWD_HIP_LIBRARY"] = FAKE_HIP_LIBRARY;
  std::string kernel =
      write("k.hsaco", makeHsaco(examplePlan(), exampleMetadata()));
  for (const char *option : {"--verify", "--seed=2"}) {
    Result result = run({kernel, "--device", "hip", "--m", "3", option});
    EXPECT_EQ(result.exitCode, 1) << result.errors;
    EXPECT_CONTAINS(result.output,
                    "12,288 of 12,288 elements were not written");
    EXPECT_CONTAINS(result.output, "verdict WRONG");
  }
  environment["FAKE_HIP"] = "broken";
  Result result = run({kernel, "--device", "hip", "--m", "3"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_CONTAINS(result.errors, "hipErrorLaunchFailure");
}

// The fake driver's every event lies 1.5 ms after the one before.
TEST_F(RunnerTest, TimesLaunchesOnRealDevices) {
  environment["LNBWD_HIP_LIBRARY"] = FAKE_HIP_LIBRARY;
  environment["FAKE_HIP"] = "small";
  std::string kernel =
      write("k.hsaco", makeHsaco(examplePlan(), exampleMetadata()));
  Result result =
      run({kernel, "--device", "hip", "--m", "3", "--time", "--json"});
  EXPECT_EQ(result.exitCode, 1) << result.errors;
  json time = json::parse(result.output)["time"];
  EXPECT_GE(time["repeats"], 30);
  EXPECT_EQ(time["median_us"], 1500.0 / time["launches_per_repeat"].get<int>());
  EXPECT_EQ(time["min_us"], time["median_us"]);
  // dy, x and dx of 3 rows, gamma, dgamma and dbeta, mean and rstd.
  EXPECT_EQ(time["minimal_bytes"], 3 * 3 * 8192 + 8192 + 2 * 16384 + 2 * 12);
  EXPECT_GT(time["buffer_sets"], 100);
  EXPECT_FALSE(json::parse(result.output).contains("counters"));
  result = run({kernel, "--device", "hip", "--m", "3", "--time"});
  EXPECT_CONTAINS(result.output, "us a launch");
}

TEST_F(RunnerTest, TheCompilersFailureIsExitCode2) {
  std::vector<std::string> arguments = {"--n",    "64",     "--chip",
                                        "gfx942", "--keep", folder + "/kept"};
  expectFailure(arguments, 2, "'/nonexistent/lnbwd-opt' cannot be run");
  setCompiler("echo 'cannot compile this' >&2; exit 1\n");
  expectFailure(arguments, 2, "cannot compile this");
  setCompiler("kill -9 $$\n");
  expectFailure(arguments, 2, "signal 9");
  EXPECT_NE(access((folder + "/kept").c_str(), F_OK), 0);
  setCompiler("exit 0\n");
  expectFailure(arguments, 2, "the file is empty");
}

TEST_F(RunnerTest, KeepsTheCompiledKernelWholeOrNotAtAll) {
  setCompiler("printf '%s\\n' \"$@\" >'" + folder + "/arguments'\ncat >'" +
              folder + "/input'\nprintf kernel\n");
  expectFailure({"--n", "64", "--chip", "sm_90", "--keep", folder + "/kept",
                 "--schedule", "a=1,b=2"},
                2, "none of these");
  EXPECT_EQ(readFile(folder + "/kept"), "kernel");
  EXPECT_CONTAINS(readFile(folder + "/input"), "lnbwd.layer_norm_bwd dy(");
  EXPECT_CONTAINS(readFile(folder + "/arguments"),
                  "--lnbwd-pipeline=chip=sm_90 schedule=a=1,b=2\n--emit=ptx\n");
  expectFailure(
      {"--n", "64", "--chip", "gfx942", "--keep", folder + "/missing/kept"}, 2,
      "cannot write '" + folder + "/missing/kept'");
  EXPECT_CONTAINS(readFile(folder + "/arguments"), "--emit=hsaco\n");
}

TEST_F(RunnerTest, AnInterruptLeavesNothingBehind) {
  setCompiler("touch '" + folder + "/started'\nexec sleep 60\n");
  for (int signal : {SIGINT, SIGTERM}) {
    pid_t child = start({"--n", "64", "--chip", "gfx942"});
    for (int i = 0; i < 1000; ++i) {
      if (access((folder + "/started").c_str(), F_OK) == 0)
        break;
      usleep(10000);
    }
    kill(child, signal);
    EXPECT_EQ(wait(child).exitCode, -signal);
    unlink((folder + "/started").c_str());
  }
}

TEST_F(RunnerTest, AReportThatCannotBeWrittenIsAnError) {
  pid_t child = fork();
  if (child == 0) {
    int full = open("/dev/full", O_WRONLY);
    dup2(full, 1);
    int errors = open((folder + "/err").c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(errors, 2);
    setenv("LNBWD_HIP_LIBRARY", FAKE_HIP_LIBRARY, 1);
    std::string kernel =
        write("k.hsaco", makeHsaco(examplePlan(), exampleMetadata()));
    execl(LNBWD_RUN, LNBWD_RUN, kernel.c_str(), "--device", "hip", "--m", "1",
          nullptr);
    _exit(127);
  }
  Result result = wait(child);
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_CONTAINS(result.errors, "cannot write the report");
}

/// Kernels of layer_norm_bwd.cl on the simulator.
class RunnerSimulatorTest : public RunnerTest {
protected:
  void SetUp() override {
    if (std::string(TEST_KERNELS).empty())
      GTEST_SKIP() << "built without the simulator, or clang was not found";
  }
  static std::string kernel(const std::string &name) {
    return std::string(TEST_KERNELS) + "/" + name + ".hsaco";
  }
  Result verify(const std::string &name, const std::string &rows = "19") {
    return run({kernel(name), "--m", rows, "--verify"});
  }
};

TEST_F(RunnerSimulatorTest, TheRightKernelIsValidOnEveryChip) {
  std::istringstream names(LNBWD_SIMULATED_CHIPS);
  for (std::string chip; std::getline(names >> std::ws, chip, ',');)
    for (const char *rows : {"0", "1", "19"}) {
      Result result = verify(chip, rows);
      EXPECT_EQ(result.exitCode, 0) << chip << " " << rows << "\n"
                                    << result.output << result.errors;
      EXPECT_CONTAINS(result.output, "verdict valid");
    }
}

TEST_F(RunnerSimulatorTest, EveryKindOfInputIsValid) {
  for (const char *init :
       {"normal", "uniform", "integers", "zeros", "ones", "arange",
        "large-mean", "tiny-variance", "huge", "denormal", "non-finite"}) {
    Result result =
        run({kernel("gfx942"), "--m", "19", "--verify", "--init", init});
    EXPECT_EQ(result.exitCode, 0) << init << "\n"
                                  << result.output << result.errors;
  }
}

TEST_F(RunnerSimulatorTest, EveryMistakeIsFound) {
  std::pair<const char *, const char *> mistakes[] = {
      {"formula", "WRONG, most at element"},
      {"unwritten", "1 of 3,648 elements were not written"},
      {"nan", "1 of 3,648 elements are NaN or infinite"},
      {"overrun", "4 bytes after 'dgamma' were overwritten"},
      {"workspace-overrun", "4 bytes after 'workspace' were overwritten"},
      {"input", "the input 'x' was changed, first at byte 2"},
      {"unstable", "two runs differ"},
  };
  // The simulator's checks would stop some of them before the runner sees them.
  environment["LNBWD_SIM_CHECK"] = "none";
  for (const auto &[name, words] : mistakes) {
    Result result = verify(std::string("mistake-") + name);
    EXPECT_EQ(result.exitCode, 1) << name << "\n" << result.errors;
    EXPECT_CONTAINS(result.output, words);
    EXPECT_CONTAINS(result.output, "verdict WRONG");
  }
}

TEST_F(RunnerSimulatorTest, ChecksNameTheInstruction) {
  std::pair<const char *, const char *> mistakes[] = {
      {"overrun", "the nearest buffer 'dgamma' is at"},
      {"race", "of the buffer 'dgamma' of 768 bytes: a race: workgroup"},
      {"workspace-overrun", "the nearest buffer 'workspace' is at"},
      {"input", "of the buffer 'x' of 14592 bytes: the buffer is read-only"},
  };
  environment["LNBWD_SIM_CHECK"] = "all";
  for (const auto &[name, words] : mistakes) {
    Result result = verify(std::string("mistake-") + name);
    EXPECT_EQ(result.exitCode, 1) << name << "\n" << result.output;
    EXPECT_CONTAINS(result.errors, words);
    EXPECT_CONTAINS(result.errors, "global_store");
  }
}

TEST_F(RunnerSimulatorTest, AFaultIsAnErrorAndNoCrash) {
  Result result = verify("mistake-fault");
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_CONTAINS(result.errors, "lnbwd-run: error:");
}

TEST_F(RunnerSimulatorTest, TheJsonHasWhatTheTableHas) {
  Result result =
      run({kernel("gfx942"), "--m", "19", "--verify", "--time", "--json"});
  ASSERT_EQ(result.exitCode, 0) << result.errors;
  json report = json::parse(result.output);
  EXPECT_EQ(report["valid"], true);
  EXPECT_EQ(report["m"], 19);
  EXPECT_EQ(report["n"], 192);
  EXPECT_EQ(report["type"], "f32");
  EXPECT_EQ(report["device"]["simulated"], true);
  ASSERT_EQ(report["outputs"].size(), 3U);
  for (const json &output : report["outputs"]) {
    EXPECT_EQ(output["valid"], true);
    EXPECT_LE(output["max_rel_error"], output["allowed_rel_error"]);
  }
  EXPECT_FALSE(report.contains("time"));
  // At least every byte of dy and x is read, and every byte of dx written.
  EXPECT_GE(report["counters"]["global_bytes_read"], 2 * 19 * 192 * 4);
  EXPECT_GE(report["counters"]["global_bytes_written"], 19 * 192 * 4);
  EXPECT_GT(report["counters"]["wave_instructions"], 0);
}

TEST_F(RunnerSimulatorTest, SimulatedTimeIsNotTime) {
  Result result = run({kernel("gfx942"), "--m", "19", "--time"});
  ASSERT_EQ(result.exitCode, 0) << result.errors;
  EXPECT_CONTAINS(result.output, "simulated time is not time");
  // The one figure is a prediction, and says so.
  const size_t figure = result.output.find(" us ");
  ASSERT_NE(figure, std::string::npos);
  const size_t line = result.output.rfind('\n', figure) + 1;
  EXPECT_EQ(result.output.compare(line, 10, "predicted "), 0);
  EXPECT_CONTAINS(result.output, " us on MI300X (");
  EXPECT_EQ(result.output.find(" us ", figure + 1), std::string::npos);
}

TEST_F(RunnerSimulatorTest, PredictionsAreOfAProduct) {
  Result result = run({kernel("gfx942"), "--m", "19", "--time", "--json",
                       "--time-options", "product=MI300A"});
  ASSERT_EQ(result.exitCode, 0) << result.errors;
  const json report = json::parse(result.output);
  EXPECT_EQ(report["prediction"]["model"], "MI300A");
  EXPECT_GT(report["prediction"]["predicted_us"], 0);
  EXPECT_FALSE(report.contains("time"));
  expectFailure({kernel("gfx942"), "--m", "19", "--time", "--time-options",
                 "product=none"},
                2, "expected one that carries gfx942");
  result = run({kernel("gfx942"), "--m", "19", "--predict"});
  ASSERT_EQ(result.exitCode, 0) << result.errors;
  EXPECT_CONTAINS(result.output, "predicted ");
  EXPECT_CONTAINS(result.output, "nothing was checked");
  expectFailure({kernel("gfx942"), "--predict", "--verify"}, 2,
                "--verify executes every workgroup");
  expectFailure({kernel("gfx942"), "--m", "19", "--trace", "t.json"}, 2,
                "--trace: expected --time or --predict, too");
}

TEST_F(RunnerSimulatorTest, WrongDevicesAndPlansAreExitCode2) {
  expectFailure({kernel("gfx942"), "--device", "sim:gfx1100"}, 2,
                "compiled for gfx942");
  expectFailure({kernel("plan-chip")}, 2,
                "the code is for gfx942, the plan for gfx950");
  expectFailure({kernel("plan-version")}, 2, "the file has version 2");
  expectFailure({kernel("plan-kernel")}, 2,
                "it launches a kernel 'finish', which the code does not have");
  expectFailure({kernel("plan-parameters")}, 2,
                "takes 5 parameters, the plan passes 6");
  expectFailure({kernel("gfx942"), "--device", "sim:gfx000"}, 3,
                "the simulator has no chip 'gfx000'");
}

} // namespace
