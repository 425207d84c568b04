//===- BundleWriter.h - One file for several chips --------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes clang's offload bundle format, which hipModuleLoadData takes as it is
// and clang-offload-bundler --list shows. LLVM has a reader of it only.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TARGET_BUNDLEWRITER_H
#define LNBWD_TARGET_BUNDLEWRITER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace lnbwd {

/// The code of one chip.
struct BundleEntry {
  llvm::StringRef chip;
  llvm::StringRef code;
};

/// The bundle of the entries, in their order, after the empty entry for the
/// host that readers expect. An error for a chip that is unknown or comes
/// twice, or for no entry at all.
llvm::Expected<std::string>
writeOffloadBundle(llvm::ArrayRef<BundleEntry> entries);

} // namespace lnbwd

#endif // LNBWD_TARGET_BUNDLEWRITER_H
