//===- KernelCompiler.cpp - Calling lnbwd-opt -----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "Handles.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace lnbwd::run {

/// Where the compiler has to be.
static std::string compilerPath() {
  const char *chosen = std::getenv("LNBWD_OPT");
  if (chosen && *chosen)
    return chosen;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() /
         "lnbwd-opt";
}

static std::string findCompiler() {
  std::string path = compilerPath();
  if (access(path.c_str(), X_OK) == 0)
    return path;
  throw Failure(BadInput, "the compiler '" + path +
                              "' cannot be run: " + std::strerror(errno) +
                              "; build lnbwd-opt, set LNBWD_OPT to it, or give "
                              "a compiled kernel file");
}

namespace {
/// A file in memory: whatever ends this program leaves nothing behind.
class MemoryFile {
public:
  MemoryFile() : descriptor(memfd_create("lnbwd-run", MFD_CLOEXEC)) {}
  ~MemoryFile() { close(descriptor); }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;

  const int descriptor;
};
} // namespace

/// Runs a program on `input` and returns what it writes; its messages go where
/// ours do.
static std::string runCompiler(const std::vector<std::string> &command,
                               const std::string &input) {
  std::vector<char *> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  MemoryFile in, out;
  auto fail = [&] {
    throw Failure(BadInput,
                  "cannot start '" + command[0] + "': " + std::strerror(errno));
  };
  if (pwrite(in.descriptor, input.data(), input.size(), 0) !=
      static_cast<ssize_t>(input.size()))
    fail();
  pid_t child = fork();
  if (child < 0)
    fail();
  if (child == 0) {
    // An interrupt ends the compiler with this program.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in.descriptor, STDIN_FILENO);
    dup2(out.descriptor, STDOUT_FILENO);
    execv(arguments[0], arguments.data());
    std::perror(arguments[0]);
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Failure(
        BadInput,
        "the compiler could not compile this kernel (" +
            (WIFSIGNALED(status)
                 ? "signal " + std::to_string(WTERMSIG(status))
                 : "exit code " + std::to_string(WEXITSTATUS(status))) +
            "); its message is above");
  std::string output(lseek(out.descriptor, 0, SEEK_END), '\0');
  if (pread(out.descriptor, output.data(), output.size(), 0) !=
      static_cast<ssize_t>(output.size()))
    throw Failure(BadInput,
                  std::string("cannot read what the compiler wrote: ") +
                      std::strerror(errno));
  return output;
}

std::string kernelMlir(const Options &options) {
  const std::string n = std::to_string(options.columns);
  auto typeOf = [&](const OperandInfo &operand) -> std::string {
    const RoleInfo &role = getInfo(operand.role);
    if (role.dims == kRowScalar)
      return "memref<?xf32>";
    const bool isRowBlock = role.dims == kRowBlock;
    Element element = isRowBlock ? options.format : options.parameterFormat;
    if (role.hasOwnElement)
      element = *options.residualFormat;
    else if (!isRowBlock && operand.isOutput && options.accumulate)
      element = Element::F32;
    std::string layout;
    if (isRowBlock && options.rowStride != 0)
      layout = ", strided<[" + std::to_string(options.rowStride) + ", 1]>";
    return (isRowBlock ? "memref<?x" : "memref<") + n + "x" + getName(element) +
           layout + ">";
  };

  const NamedOperationInfo &info = getInfo(options.operation);
  std::string signature, inputs, outputs;
  for (const OperandInfo &operand : info) {
    const std::string name = getInfo(operand.role).name;
    const auto &wanted = options.outputs;
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

std::string compileMlir(const std::string &mlir, const std::string &chip,
                        const std::string &schedule) {
  std::string pipeline = "chip=" + chip;
  if (!schedule.empty())
    pipeline += " schedule=" + schedule;
  bool isAmd = chip.compare(0, 3, "gfx") == 0;
  return runCompiler({findCompiler(), "-", "--lnbwd-pipeline=" + pipeline,
                      isAmd ? "--emit=hsaco" : "--emit=ptx"},
                     mlir);
}

} // namespace lnbwd::run
