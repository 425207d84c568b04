//===- CheckedRun.cpp - A whole HIP program under the checks --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program gets the simulator's library twice: preloaded, so that it wins
// over a library of ROCm's that the program names by its place, and under the
// names of that library in a folder of the search path, so that none has to be
// installed and no call gets past the simulator. What is found comes back in a
// file.
//
//===----------------------------------------------------------------------===//

#include "CheckedRun.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace llvm;

static raw_ostream &say() { return errs() << "lnbwd-sim: "; }

/// Where the library of the simulator is that this process uses.
static std::string simulatorLibrary() {
  // A function that this tool does not call: of those that it calls, the
  // address may be one of its own.
  Dl_info Info;
  void *Function = dlsym(RTLD_DEFAULT, "__hipRegisterFatBinary");
  if (!Function || !dladdr(Function, &Info))
    return "";
  SmallString<256> Path;
  return sys::fs::real_path(Info.dli_fname, Path) ? "" : Path.str().str();
}

/// Functions of HIP that a program uses and the simulator has never heard of:
/// the dynamic loader would end the program at the first call, or at once.
static std::vector<std::string> unknownFunctions(StringRef Program) {
  std::vector<std::string> Names;
  auto File = object::ObjectFile::createObjectFile(Program);
  if (!File) {
    consumeError(File.takeError());
    return Names; // A script, for example.
  }
  const auto *Elf = dyn_cast<object::ELFObjectFileBase>(File->getBinary());
  if (!Elf)
    return Names;
  for (const object::ELFSymbolRef Symbol : Elf->getDynamicSymbolIterators()) {
    Expected<StringRef> Name = Symbol.getName();
    Expected<uint32_t> Flags = Symbol.getFlags();
    if (!Name || !Flags) {
      consumeError(Name.takeError());
      consumeError(Flags.takeError());
      continue;
    }
    const bool IsHip = Name->starts_with("hip") || Name->starts_with("__hip");
    if (IsHip && (*Flags & object::SymbolRef::SF_Undefined) &&
        !dlsym(RTLD_DEFAULT, Name->str().c_str()))
      Names.push_back(Name->str());
  }
  return Names;
}

/// Puts a folder or file in front of a list in the environment.
static void prepend(const char *Variable, StringRef What) {
  const char *Before = std::getenv(Variable);
  std::string Text = What.str();
  if (Before && *Before)
    Text += std::string(":") + Before;
  setenv(Variable, Text.c_str(), /*overwrite=*/1);
}

namespace {
/// Deletes the folder at the end.
struct TemporaryFolder {
  SmallString<128> Path;
  ~TemporaryFolder() {
    if (!Path.empty())
      (void)sys::fs::remove_directories(Path);
  }
  std::string file(const Twine &Name) const {
    SmallString<128> File = Path;
    sys::path::append(File, Name);
    return File.str().str();
  }
};
} // namespace

/// The program's exit code, or 128 and a signal's number; -1: it could not be
/// started, and errno says why. As in a shell, the keyboard's signals are for
/// the program.
static int runAndWait(const char *Path, std::vector<const char *> &Command) {
  struct sigaction Ignore = {}, Interrupt, Quit;
  Ignore.sa_handler = SIG_IGN;
  sigaction(SIGINT, &Ignore, &Interrupt);
  sigaction(SIGQUIT, &Ignore, &Quit);
  const pid_t Child = fork();
  if (Child == 0) {
    sigaction(SIGINT, &Interrupt, nullptr);
    sigaction(SIGQUIT, &Quit, nullptr);
    execv(Path, const_cast<char **>(Command.data()));
    const std::string Text = std::string("lnbwd-sim: error: cannot run '") +
                             Path + "': " + std::strerror(errno) + "\n";
    [[maybe_unused]] const ssize_t Written =
        write(STDERR_FILENO, Text.data(), Text.size());
    _exit(2);
  }
  int Status = 0;
  pid_t Ended = Child;
  if (Child > 0)
    do
      Ended = waitpid(Child, &Status, 0);
    while (Ended < 0 && errno == EINTR);
  sigaction(SIGINT, &Interrupt, nullptr);
  sigaction(SIGQUIT, &Quit, nullptr);
  if (Ended < 0)
    return -1;
  return WIFSIGNALED(Status) ? 128 + WTERMSIG(Status) : WEXITSTATUS(Status);
}

namespace {
/// The records of a run, each with how often it was made.
struct Records {
  using Counted = std::vector<std::pair<std::string, unsigned>>;
  Counted Found, Missing, Refused, Checked;
};
} // namespace

static Records readRecords(StringRef File) {
  Records R;
  auto Buffer = MemoryBuffer::getFile(File);
  if (!Buffer)
    return R; // Nothing was reported.
  SmallVector<StringRef, 16> Lines;
  (*Buffer)->getBuffer().split(Lines, '\n', -1, /*KeepEmpty=*/false);
  for (size_t K = 0; K < Lines.size();) {
    auto [Kind, First] = Lines[K].split(": ");
    std::string Text = First.str();
    // What follows a record's first line is indented.
    for (++K; K < Lines.size() && Lines[K].starts_with("  "); ++K)
      Text += "\n" + Lines[K].str();
    Records::Counted &Where = Kind == "error"     ? R.Found
                              : Kind == "missing" ? R.Missing
                              : Kind == "refused" ? R.Refused
                                                  : R.Checked;
    auto Same = find_if(Where, [&](const auto &R) { return R.first == Text; });
    if (Same == Where.end())
      Where.push_back({Text, 1});
    else
      ++Same->second;
  }
  return R;
}

/// A text with the names of C++ kernels as they are in the source.
static std::string demangled(StringRef Text) {
  std::string Out;
  while (!Text.empty()) {
    const auto [Before, Rest] = Text.split("'_Z");
    Out += Before;
    if (Before.size() == Text.size())
      break;
    const auto [Name, After] = Rest.split('\'');
    Out += "'" + demangle(("_Z" + Name).str()) + "'";
    Text = After;
  }
  return Out;
}

static void print(StringRef Kind, const Records::Counted &Records) {
  for (const auto &[Text, Count] : Records) {
    say() << Kind << ": " << demangled(Text);
    if (Count > 1)
      errs() << " (" << Count << " times)";
    errs() << '\n';
  }
}

int lnbwd::simtool::runUnderChecks(StringRef Program,
                                   ArrayRef<const char *> Arguments) {
  constexpr int Found = 1, BadInput = 2;
  auto Path = sys::findProgramByName(Program);
  if (!Path) {
    say() << "error: cannot run '" << Program
          << "': " << Path.getError().message() << '\n';
    return BadInput;
  }
  const std::string Library = simulatorLibrary();
  TemporaryFolder Folder;
  if (Library.empty() ||
      sys::fs::createUniqueDirectory("lnbwd-sim", Folder.Path)) {
    say() << "error: cannot prepare the program's libraries\n";
    return BadInput;
  }
  for (const char *Suffix : {"", ".4", ".5", ".6", ".7"})
    if (sys::fs::create_link(Library,
                             Folder.file(Twine("libamdhip64.so") + Suffix))) {
      say() << "error: cannot write to '" << Folder.Path << "'\n";
      return BadInput;
    }
  prepend("LD_LIBRARY_PATH", Folder.Path);
  prepend("LD_PRELOAD", Library);
  const std::string Report = Folder.file("report");
  setenv("LNBWD_SIM_REPORT", Report.c_str(), /*overwrite=*/1);
  for (const std::string &Name : unknownFunctions(*Path))
    say() << "missing: the program uses " << Name
          << ", which the simulator does not have; it ends if it calls that\n";

  std::vector<const char *> Command = {Path->c_str()};
  Command.insert(Command.end(), Arguments.begin(), Arguments.end());
  Command.push_back(nullptr);
  errs().flush();
  const int Code = runAndWait(Path->c_str(), Command);
  if (Code < 0) {
    say() << "error: cannot run '" << Program << "': " << std::strerror(errno)
          << '\n';
    return BadInput;
  }
  const Records R = readRecords(Report);
  print("error", R.Found);
  print("missing", R.Missing);
  print("refused", R.Refused);
  print("checked", R.Checked);
  if (Code)
    say() << "the program ended "
          << (Code > 128 ? "by signal " + std::to_string(Code - 128)
                         : "with exit code " + std::to_string(Code))
          << '\n';
  const bool IsChecked = !R.Checked.empty() || !R.Found.empty();
  if (!IsChecked)
    say() << "error: nothing was checked: expected a launch of a kernel"
          << (std::getenv("LNBWD_SIM_KERNELS") ||
                      std::getenv("LNBWD_SIM_SKIP_LAUNCHES")
                  ? " that --kernels and --skip-launches leave"
                  : "")
          << ", got none\n";
  if (!R.Found.empty())
    return Found;
  if (!R.Missing.empty() || (!IsChecked && !Code))
    return BadInput;
  if (!R.Checked.empty() && !Code)
    say() << "clean\n";
  return Code;
}
