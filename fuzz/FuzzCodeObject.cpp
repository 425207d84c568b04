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

#include "Checker/Checker.h"
#include "CodeObject.h"

#include <cstdlib>
#include <memory>

using namespace lnbwd::sim;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size)
    return 0;
  const ChipInfo &chip = Chips[data[0] % NumChips];
  std::unique_ptr<void, decltype(&std::free)> image(nullptr, std::free);
  auto allocate = [&](uint64_t bytes) -> void * {
    if (bytes > 1 << 24)
      return nullptr;
    image.reset(std::aligned_alloc(256, size_t((bytes + 255) / 256 * 256)));
    return image.get();
  };
  std::string error;
  auto object = CodeObject::load({data + 1, size - 1}, chip, allocate, error);
  if (!object) {
    if (error.empty())
      std::abort();
    return 0;
  }
  for (const std::string &name : object->kernelNames()) {
    const Kernel *kernel = object->kernel(name);
    const uint32_t block[3] = {64, 1, 1};
    checkKernelLimits(chip, *kernel, block, kernel->LdsSize);
    object->program(kernel->WaveSize).effects();
    object->sourceLine(kernel->Entry);
  }
  return 0;
}
