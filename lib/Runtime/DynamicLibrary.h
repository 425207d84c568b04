//===- DynamicLibrary.h - A library opened at run time ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_RUNTIME_DYNAMICLIBRARY_H
#define LNBWD_LIB_RUNTIME_DYNAMICLIBRARY_H

#include <string>
#include <vector>

namespace lnbwd::runtime {

/// A shared library that stays open until the process ends: drivers keep
/// threads and exit handlers of their own and do not survive being unloaded.
class DynamicLibrary {
public:
  /// Opens the library that the environment's `variable` names, or else the
  /// first of `names` that there is. One that the process has loaded
  /// already is preferred, so that a program which came with a driver of its
  /// own does not get a second one. Throws LNBWD_ERROR_NO_DEVICE with all that
  /// was tried, followed by `remedy`.
  DynamicLibrary(const char *variable, std::vector<std::string> names,
                 const std::string &remedy);

  /// The name by which the library was found.
  const std::string &name() const { return foundName; }
  /// That name without its folder.
  std::string fileName() const {
    return foundName.substr(foundName.rfind('/') + 1);
  }
  /// A function or variable of the library, or null.
  void *symbol(const char *symbolName) const;
  /// Sets `function` to the one so named; throws LNBWD_ERROR_NO_DEVICE if there
  /// is none.
  template <typename Function>
  void load(Function &function, const char *symbolName) const {
    function = reinterpret_cast<Function>(required(symbolName));
  }

private:
  void *required(const char *symbolName) const;

  void *handle = nullptr;
  std::string foundName;
};

/// The folder of the library or program that this code was linked into, with
/// a slash at its end; empty if it cannot be found.
std::string ownFolder();

/// The value of an environment variable, or an empty string.
std::string environment(const char *variable);

} // namespace lnbwd::runtime

#endif // LNBWD_LIB_RUNTIME_DYNAMICLIBRARY_H
