//===- Failure.h - How the runner ends early --------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runner's exit codes, and the exception that ends a run with one of them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_FAILURE_H
#define LNBWD_TOOLS_LNBWD_RUN_FAILURE_H

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

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_FAILURE_H
