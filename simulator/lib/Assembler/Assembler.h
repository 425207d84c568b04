//===- Assembler.h - Code objects from assembly text ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the simulator's tests and benchmark: assembles AMDGPU text in the process
// through LLVM's MC layer and links it with lld. Not part of the simulator.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_ASSEMBLER_ASSEMBLER_H
#define LNBWD_LIB_SIMULATOR_ASSEMBLER_ASSEMBLER_H

#include <cstdint>
#include <string>
#include <vector>

namespace lnbwd::sim {

/// The bytes of a relocatable object; empty, with the diagnostics in Error, if
/// the text does not assemble. WaveSize 0 is the chip's usual one.
std::vector<uint8_t> assembleObject(const std::string &Text,
                                    const std::string &Chip, unsigned WaveSize,
                                    std::string &Error);

/// The contents of `.text` alone, as assembleObject assembles them.
std::vector<uint8_t> assembleText(const std::string &Text,
                                  const std::string &Chip, unsigned WaveSize,
                                  std::string &Error);

/// A code object: assembled and linked. Version is the code object version.
std::vector<uint8_t> assembleCodeObject(const std::string &Text,
                                        const std::string &Chip,
                                        unsigned Version, std::string &Error,
                                        unsigned WaveSize = 0);

/// What assembleKernel needs to know besides the instructions.
struct KernelText {
  std::string Name = "k";
  std::string Body;          ///< instructions, without the ending s_endpgm
  unsigned KernargBytes = 0; ///< pointers of 8 bytes each
  unsigned LdsBytes = 0;
  unsigned ScratchBytes = 0;
  unsigned Vgprs = 64;
  unsigned Sgprs = 64;
  unsigned MaxFlatWorkgroupSize = 1024;
  unsigned WorkItemDimensions = 3; ///< of the work-item's number in v0 (to v2)
  unsigned WaveSize = 0;           ///< 0: the chip's usual one
  unsigned DenormModeF32 = 3;      ///< 3 keeps denormals, as compilers ask for
  /// More lines of the .amdhsa_kernel block, and of the metadata's .args.
  std::string Directives;
  std::string Arguments;
};

/// The whole file for one kernel that has its argument segment's address in
/// s[0:1] and, except on gfx12, the workgroup's x in s2.
std::string kernelText(const KernelText &K, const std::string &Chip,
                       unsigned Version = 5);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_ASSEMBLER_ASSEMBLER_H
