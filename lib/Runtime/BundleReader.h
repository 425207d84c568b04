//===- BundleReader.h - Reading a file for several chips --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clang's offload bundle format: a magic text, the number of entries, and for
// each its offset, size and name, all numbers 64 bits, little-endian.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_RUNTIME_BUNDLEREADER_H
#define LNBWD_LIB_RUNTIME_BUNDLEREADER_H

#include <string>
#include <string_view>
#include <vector>

namespace lnbwd::runtime {

/// A file in a bundle, whose bytes it is a part of.
struct BundleEntry {
  std::string id;
  std::string_view code;
};

bool isOffloadBundle(std::string_view bytes);

/// The files of a bundle, without empty ones. Throws an Error that says what is
/// wrong with the bytes.
std::vector<BundleEntry> readBundle(std::string_view bytes);

} // namespace lnbwd::runtime

#endif // LNBWD_LIB_RUNTIME_BUNDLEREADER_H
