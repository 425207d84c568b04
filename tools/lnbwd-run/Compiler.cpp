//===- Compiler.cpp - Calling lnbwd-opt -----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compiler.h"

#include "Failure.h"

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

static std::string findCompiler() {
  const char *chosen = std::getenv("LNBWD_OPT");
  std::string path =
      chosen && *chosen ? chosen : executableFolder() + "lnbwd-opt";
  if (access(path.c_str(), X_OK) == 0)
    return path;
  throw Failure(BadInput, "the compiler '" + path +
                              "' cannot be run: " + std::strerror(errno) +
                              "; build lnbwd-opt, set LNBWD_OPT to it, or give "
                              "a compiled kernel file");
}

/// Writes a file; false, with errno set, if that fails.
static bool writeFile(const std::string &path, const std::string &contents) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    return false;
  bool good =
      std::fwrite(contents.data(), 1, contents.size(), file) == contents.size();
  int error = errno;
  if (std::fclose(file) != 0 && good)
    return false;
  errno = error;
  return good;
}

[[noreturn]] static void cannotWrite(const std::string &path, int error) {
  throw Failure(BadInput,
                "cannot write '" + path + "': " + std::strerror(error));
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

/// Writes a file whole or not at all: beside its place first, then renamed.
static void keepFile(const std::string &path, const std::string &contents) {
  std::string temporary = path + ".tmp" + std::to_string(getpid());
  if (writeFile(temporary, contents) &&
      std::rename(temporary.c_str(), path.c_str()) == 0)
    return;
  int error = errno;
  unlink(temporary.c_str());
  cannotWrite(path, error);
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
  const std::string n = std::to_string(options.columns);
  const std::string format = reference::formatName(options.format);
  const std::string parameterFormat =
      reference::formatName(options.parameterFormat);
  const std::string rowBlock = "memref<?x" + n + "x" + format + ">";
  const std::string column = "memref<" + n + "x" + parameterFormat + ">";
  const std::string rowScalar = "memref<?xf32>";

  std::string signature;
  std::string operands;
  auto add = [&](const std::string &name, const std::string &type) {
    signature += (signature.empty() ? "" : ", ") + ("%" + name) + ": " + type;
    operands += " " + name + "(%" + name + " : " + type + ")";
  };
  add("dy", rowBlock);
  add("x", rowBlock);
  if (options.hasGamma)
    add("gamma", column);
  add("mean", rowScalar);
  add("rstd", rowScalar);
  operands += " outs";
  if (options.wantsDx)
    add("dx", rowBlock);
  if (options.wantsDgamma)
    add("dgamma", column);
  if (options.wantsDbeta)
    add("dbeta", column);
  return "func.func @layer_norm_bwd(" + signature +
         ") {\n  lnbwd.layer_norm_bwd" + operands + "\n  return\n}\n";
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

std::string compileKernel(const Options &options,
                          const TemporaryFolder &folder) {
  std::string compiler = findCompiler();
  std::string input = folder.path() + kInputName;
  std::string output = folder.path() + kOutputName;
  if (!writeFile(input, kernelMlir(options)))
    cannotWrite(input, errno);
  std::string pipeline = "chip=" + options.chip;
  if (!options.schedule.empty())
    pipeline += " schedule=" + options.schedule;
  bool isAmd = options.chip.compare(0, 3, "gfx") == 0;
  runCompiler({compiler, input, "--lnbwd-pipeline=" + pipeline,
               isAmd ? "--emit=hsaco" : "--emit=ptx", "-o", output});
  std::string compiled = readFile(output);
  if (!options.keepFile.empty())
    keepFile(options.keepFile, compiled);
  return output;
}

} // namespace lnbwd::run
