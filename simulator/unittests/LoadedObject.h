//===- LoadedObject.h - A code object without HIP ---------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_UNITTESTS_SIMULATOR_LOADEDOBJECT_H
#define LNBWD_UNITTESTS_SIMULATOR_LOADEDOBJECT_H

#include "Assembler/Assembler.h"
#include "WaveTester.h"

#include "gtest/gtest.h"

#include <memory>
#include <string>
#include <vector>

namespace lnbwd::sim {

/// A code object and the memory that it is loaded to.
struct LoadedObject {
  LoadedObject(const KernelText &K, const std::string &Chip) {
    std::string Error;
    std::vector<uint8_t> Bytes =
        assembleCodeObject(kernelText(K, Chip), Chip, 5, Error, K.WaveSize);
    EXPECT_FALSE(Bytes.empty()) << Error;
    Object = CodeObject::create(
        {Bytes.data(), Bytes.size()}, chipNamed(Chip),
        [&](uint64_t Size) {
          Image.resize(size_t(Size / 16 + 1));
          return static_cast<void *>(Image.data());
        },
        Error);
    EXPECT_TRUE(Object) << Error;
  }
  struct alignas(16) Piece {
    uint8_t Bytes[16];
  };
  std::vector<Piece> Image;
  std::unique_ptr<CodeObject> Object;
};

} // namespace lnbwd::sim

#endif // LNBWD_UNITTESTS_SIMULATOR_LOADEDOBJECT_H
