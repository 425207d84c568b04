//===- LibraryDriver.cpp - Opening the library of a driver ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryDriver.h"

#include <cstdlib>
#include <dlfcn.h>

namespace lnbwd::runtime {

DriverLibrary::DriverLibrary(const char *variable,
                             std::vector<std::string> names,
                             const std::string &remedy) {
  if (std::string chosen = environment(variable); !chosen.empty())
    names = {chosen};
  for (int flags :
       {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
    for (const std::string &name : names) {
      handle = dlopen(name.c_str(), flags);
      if (handle) {
        foundName = name;
        return;
      }
    }
  }
  std::string tried;
  for (const std::string &name : names) {
    dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char *reason = dlerror();
    tried += "\n  " + std::string(reason ? reason : name.c_str());
  }
  throw Error(LNBWD_ERROR_NO_DEVICE,
              "cannot open the driver library; " + remedy + "; tried:" + tried);
}

void *DriverLibrary::symbol(const char *symbolName) const {
  return dlsym(handle, symbolName);
}

std::string ownFolder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&ownFolder), &info) || !info.dli_fname)
    return {};
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

std::string environment(const char *variable) {
  const char *value = std::getenv(variable);
  return value ? value : "";
}

} // namespace lnbwd::runtime
