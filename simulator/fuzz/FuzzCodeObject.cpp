//===- FuzzCodeObject.cpp - AMD code objects from anywhere ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libFuzzer: bytes go through the simulator's loader for the chip that the
// first byte names, then through the decoder and the checker's view of
// instructions.
//
//===----------------------------------------------------------------------===//

#include "Check/CodeAnalysis.h"
#include "Check/Resources.h"
#include "Load/CodeObject.h"

#include <cstdlib>
#include <memory>

using namespace lnbwd::sim;

// libFuzzer's name: NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  if (!Size)
    return 0;
  const SimulatedChip &Chip = Chips[Data[0] % NumChips];
  std::unique_ptr<void, decltype(&std::free)> Image(nullptr, std::free);
  auto Allocate = [&](uint64_t Bytes) -> void * {
    if (Bytes > 1 << 24)
      return nullptr;
    Image.reset(std::aligned_alloc(256, size_t((Bytes + 255) / 256 * 256)));
    return Image.get();
  };
  std::string Error;
  auto Object = CodeObject::create({Data + 1, Size - 1}, Chip, Allocate, Error);
  if (!Object) {
    if (Error.empty())
      std::abort();
    return 0;
  }
  for (const std::string &Name : Object->kernelNames()) {
    const Kernel *K = Object->kernel(Name);
    const uint32_t Block[3] = {64, 1, 1};
    checkKernelLimits(Chip, *K, Block, K->LdsSize);
    CodeAnalysis::of(Object->code(K->WaveSize));
    Object->sourceLine(K->Entry);
  }
  return 0;
}
