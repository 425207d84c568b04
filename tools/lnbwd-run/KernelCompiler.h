//===- KernelCompiler.h - Calling lnbwd-opt ---------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_KERNELCOMPILER_H
#define LNBWD_TOOLS_LNBWD_RUN_KERNELCOMPILER_H

#include "Options.h"

#include <string>

namespace lnbwd::run {

/// The kernel that the options describe, as MLIR: the text that
/// lnbwd.operations.mlir writes (docs/adding.md says why there are two).
std::string kernelMlir(const Options &options);

/// A folder of its own for temporary files; it and all in it are removed when
/// the object dies, and also when the process is interrupted.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::string &path() const { return folder; }

private:
  std::string folder;
};

/// Whether there is an lnbwd-opt to compile with.
bool hasCompiler();

/// Compiles MLIR by lnbwd-opt for a chip, with a schedule if it is not empty,
/// and returns the path of the result in `folder`.
std::string compileMlir(const std::string &mlir, const std::string &chip,
                        const std::string &schedule,
                        const TemporaryFolder &folder);

/// Compiles the kernel by lnbwd-opt and returns the path of the result in
/// `folder`. Leaves a copy where --keep says.
std::string compileKernel(const Options &options,
                          const TemporaryFolder &folder);

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_KERNELCOMPILER_H
