//===- Handles.h - The C interface with owners ------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime's C interface, with handles that destroy themselves and failures
// as exceptions, which end a run with an exit code. The runner uses nothing of
// the runtime but this interface.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_HANDLES_H
#define LNBWD_TOOLS_LNBWD_RUN_HANDLES_H

#include "lnbwd/Runtime/lnbwd_runtime.h"

#include <memory>
#include <stdexcept>
#include <string>

namespace lnbwd::run {

/// The exit codes; docs/runner.md.
enum ExitCode { Valid = 0, WrongNumbers = 1, BadInput = 2, NoDevice = 3 };

/// Ends the run with a message on standard error.
class Failure : public std::runtime_error {
public:
  Failure(ExitCode code, const std::string &message)
      : std::runtime_error(message), code(code) {}
  ExitCode exitCode() const { return code; }

private:
  ExitCode code;
};

/// A mistake in the command line: the message ends with a pointer to --help.
class UsageFailure : public Failure {
public:
  explicit UsageFailure(const std::string &message)
      : Failure(BadInput, message + "\nSee lnbwd-run --help.") {}
};

/// Throws if a call failed: code 3 for a missing device, `code` otherwise.
inline void check(lnbwd_status status, ExitCode code = BadInput) {
  if (status == LNBWD_SUCCESS)
    return;
  throw Failure(status == LNBWD_ERROR_NO_DEVICE ? NoDevice : code,
                lnbwd_last_error());
}

template <auto Destroy> struct Destroyer {
  template <typename T> void operator()(T *handle) const { Destroy(handle); }
};

template <typename T, auto Destroy>
using Handle = std::unique_ptr<T, Destroyer<Destroy>>;
using ProgramHandle = Handle<lnbwd_program, lnbwd_program_destroy>;
using DeviceHandle = Handle<lnbwd_device, lnbwd_device_close>;
using KernelHandle = Handle<lnbwd_kernel, lnbwd_kernel_destroy>;
using EventHandle = Handle<lnbwd_event, lnbwd_event_destroy>;

/// What a function of the runtime makes of its arguments.
template <typename Result, typename Function, typename... Arguments>
Result make(Function *function, Arguments... arguments) {
  typename Result::pointer made = nullptr;
  check(function(arguments..., &made));
  return Result(made);
}

struct MemoryDestroyer {
  const lnbwd_device *device;
  void operator()(char *memory) const { lnbwd_free(device, memory); }
};
using DeviceMemory = std::unique_ptr<char, MemoryDestroyer>;

inline DeviceMemory allocate(const lnbwd_device *device, size_t bytes) {
  void *memory = nullptr;
  check(lnbwd_malloc(device, bytes, &memory));
  return {static_cast<char *>(memory), {device}};
}

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_HANDLES_H
