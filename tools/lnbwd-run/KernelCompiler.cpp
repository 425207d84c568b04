//===- KernelCompiler.cpp - Calling lnbwd-opt -----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCompiler.h"

#include "Failure.h"

#include "lnbwd/Support/OutputFile.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char **environ;

namespace lnbwd::run {

/// Files that lie in the temporary folder.
constexpr const char *kInputName = "/kernel.mlir";
constexpr const char *kOutputName = "/kernel.out";

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// What the signal handler needs, in memory that it may touch.
static char folderToRemove[PATH_MAX];
static char inputToRemove[PATH_MAX];
static char outputToRemove[PATH_MAX];
static volatile pid_t compilerToStop = 0;

/// Ends the compiler, removes the files and lets the signal take its course.
static void cleanUpAndDie(int signal) {
  if (compilerToStop > 0) {
    kill(compilerToStop, SIGKILL);
    waitpid(compilerToStop, nullptr, 0);
  }
  unlink(inputToRemove);
  unlink(outputToRemove);
  rmdir(folderToRemove);
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  raise(signal);
}

static void copyPath(char (&to)[PATH_MAX], const std::string &path) {
  if (path.size() >= sizeof(to))
    throw Failure(BadInput, "the temporary folder's path is too long");
  std::memcpy(to, path.c_str(), path.size() + 1);
}

static std::string executableFolder() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0)
    return {};
  std::string text(path, static_cast<size_t>(length));
  return text.substr(0, text.rfind('/') + 1);
}

/// Where the compiler has to be.
static std::string compilerPath() {
  const char *chosen = std::getenv("LNBWD_OPT");
  return chosen && *chosen ? chosen : executableFolder() + "lnbwd-opt";
}

bool hasCompiler() { return access(compilerPath().c_str(), X_OK) == 0; }

static std::string findCompiler() {
  std::string path = compilerPath();
  if (hasCompiler())
    return path;
  throw Failure(BadInput, "the compiler '" + path +
                              "' cannot be run: " + std::strerror(errno) +
                              "; build lnbwd-opt, set LNBWD_OPT to it, or give "
                              "a compiled kernel file");
}

static void writeFile(const std::string &path, const std::string &contents) {
  if (std::error_code error = writeOutputFile(path, contents))
    throw Failure(BadInput, "cannot write '" + path + "': " + error.message());
}

static std::string readFile(const std::string &path) {
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    throw Failure(BadInput,
                  "cannot open '" + path + "': " + std::strerror(errno));
  std::string contents;
  char buffer[1 << 16];
  while (size_t count = std::fread(buffer, 1, sizeof(buffer), file))
    contents.append(buffer, count);
  std::fclose(file);
  return contents;
}

/// Runs a program and waits for it; its messages go where ours do.
static void runCompiler(const std::vector<std::string> &command) {
  std::vector<char *> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  int error = posix_spawn(&child, command[0].c_str(), nullptr, nullptr,
                          arguments.data(), environ);
  if (error != 0)
    throw Failure(BadInput,
                  "cannot start '" + command[0] + "': " + std::strerror(error));
  compilerToStop = child;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  compilerToStop = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return;
  throw Failure(BadInput,
                "the compiler could not compile this kernel (" +
                    (WIFSIGNALED(status)
                         ? "signal " + std::to_string(WTERMSIG(status))
                         : "exit code " + std::to_string(WEXITSTATUS(status))) +
                    "); its message is above");
}

std::string kernelMlir(const Options &options) {
  auto rowBlock = [&](const std::string &n, reference::FloatFormat format) {
    std::string layout;
    if (options.rowStride != 0)
      layout = ", strided<[" + std::to_string(options.rowStride) + ", 1]>";
    return "memref<?x" + n + "x" + reference::formatName(format) + layout + ">";
  };
  auto column = [&](const std::string &n, reference::FloatFormat format) {
    return "memref<" + n + "x" + reference::formatName(format) + ">";
  };
  auto lengthOf = [&](Extent extent) {
    const std::string n = std::to_string(options.columns);
    const std::string o = std::to_string(options.outputColumns);
    return extent == Extent::Row      ? n
           : extent == Extent::Output ? o
                                      : o + "x" + n;
  };
  auto typeOf = [&](const OperandInfo &operand) {
    const RoleInfo &role = getInfo(operand.role);
    const std::string n = lengthOf(role.extent);
    if (role.kind == OperandKind::RowBlock)
      return rowBlock(n, role.hasOwnElement ? *options.residualFormat
                                            : options.format);
    if (operand.role == Role::W)
      return column(n, options.format);
    if (role.kind == OperandKind::Column)
      return column(n, operand.isOutput && options.accumulate
                           ? reference::FloatFormat::F32
                           : options.parameterFormat);
    return std::string("memref<?xf32>");
  };

  const NamedOperationInfo &info = getInfo(options.operation);
  std::string signature, inputs, outputs;
  for (const OperandInfo &operand : info) {
    const std::string name = getInfo(operand.role).name;
    const auto &wanted = options.outputs;
    // NOLINTNEXTLINE(llvm-use-ranges): the runner is free of LLVM.
    auto found = std::find(wanted.begin(), wanted.end(), name);
    if (!isCompiledIn(operand, options) ||
        (operand.isOutput && !wanted.empty() && found == wanted.end()))
      continue;
    const std::string type = typeOf(operand);
    signature += (signature.empty() ? "" : ", ") + ("%" + name) + ": " + type;
    (operand.isOutput ? outputs : inputs) +=
        " " + name + "(%" + name + " : " + type + ")";
  }
  std::string attributes;
  auto attribute = [&](bool isThere, const std::string &text) {
    if (isThere)
      attributes += (attributes.empty() ? " {" : ", ") + text;
  };
  char epsilon[64];
  std::snprintf(epsilon, sizeof(epsilon), "epsilon = %.17e : f64",
                options.epsilon);
  attribute(options.epsilonGiven, epsilon);
  attribute(options.zeroCentredGamma, "zero_centred_gamma");
  attribute(options.accumulate, "accumulate");
  return std::string("func.func @") + info.name + "(" + signature +
         ") {\n  lnbwd." + info.name + inputs + " outs" + outputs + attributes +
         (attributes.empty() ? "" : "}") + "\n  return\n}\n";
}

TemporaryFolder::TemporaryFolder() {
  const char *place = std::getenv("TMPDIR");
  std::string pattern =
      std::string(place && *place ? place : "/tmp") + "/lnbwd-run-XXXXXX";
  if (!mkdtemp(pattern.data()))
    throw Failure(BadInput, "cannot make a temporary folder '" + pattern +
                                "': " + std::strerror(errno));
  folder = pattern;
  copyPath(folderToRemove, folder);
  copyPath(inputToRemove, folder + kInputName);
  copyPath(outputToRemove, folder + kOutputName);
  for (int signal : kSignals) {
    struct sigaction action{};
    action.sa_handler = cleanUpAndDie;
    sigaction(signal, &action, nullptr);
  }
}

TemporaryFolder::~TemporaryFolder() {
  for (int signal : kSignals)
    std::signal(signal, SIG_DFL);
  unlink(inputToRemove);
  unlink(outputToRemove);
  rmdir(folder.c_str());
}

std::string compileMlir(const std::string &mlir, const std::string &chip,
                        const std::string &schedule,
                        const TemporaryFolder &folder) {
  std::string compiler = findCompiler();
  std::string input = folder.path() + kInputName;
  std::string output = folder.path() + kOutputName;
  writeFile(input, mlir);
  std::string pipeline = "chip=" + chip;
  if (!schedule.empty())
    pipeline += " schedule=" + schedule;
  bool isAmd = chip.compare(0, 3, "gfx") == 0;
  runCompiler({compiler, input, "--lnbwd-pipeline=" + pipeline,
               isAmd ? "--emit=hsaco" : "--emit=ptx", "-o", output});
  return output;
}

std::string compileKernel(const Options &options,
                          const TemporaryFolder &folder) {
  std::string output =
      compileMlir(kernelMlir(options), options.chip, options.schedule, folder);
  if (!options.keepFile.empty())
    writeFile(options.keepFile, readFile(output));
  return output;
}

} // namespace lnbwd::run
