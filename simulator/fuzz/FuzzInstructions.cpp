//===- FuzzInstructions.cpp - Machine code from anywhere ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libFuzzer: bytes become the instructions of a kernel, which is executed under
// the simulator's checks. Whatever they are, the launch ends, with or without a
// message, and touches no memory of the host but its buffers. The first byte
// names the chip, the second the checks, the third the order of execution.
//
//===----------------------------------------------------------------------===//

#include "Assembler/Assembler.h"
#include "Check/LaunchChecker.h"
#include "Check/ShadowMemory.h"
#include "Core/Launch.h"
#include "Load/CodeObject.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

using namespace lnbwd::sim;

/// Dwords of instructions; what the input does not fill is s_endpgm.
constexpr size_t MostDwords = 512;
constexpr uint32_t EndProgram9 = 0xbf810000, EndProgram11 = 0xbfb00000;

namespace {
/// A code object with room for the instructions.
struct Template {
  std::vector<uint8_t> Bytes;
  size_t CodeAt = 0;
};
} // namespace

static Template makeTemplate(const SimulatedChip &Chip) {
  const uint32_t Mark = 0xbf800001; // s_nop 1
  KernelText K;
  K.Body = "\t.fill " + std::to_string(MostDwords) + ", 4, 0xbf800001\n";
  K.KernargBytes = 16;
  K.LdsBytes = 1024;
  K.ScratchBytes = 64;
  K.Vgprs = 96;
  Template T;
  std::string Error;
  T.Bytes = assembleCodeObject(kernelText(K, Chip.Chip), Chip.Chip, 5, Error);
  std::vector<uint8_t> Room;
  for (size_t N = 0; N < MostDwords; ++N)
    Room.insert(Room.end(), reinterpret_cast<const uint8_t *>(&Mark),
                reinterpret_cast<const uint8_t *>(&Mark) + sizeof(Mark));
  auto At = llvm::search(T.Bytes, Room);
  if (At == T.Bytes.end()) {
    std::fprintf(stderr, "no room for code: %s\n", Error.c_str());
    std::abort();
  }
  T.CodeAt = size_t(At - T.Bytes.begin());
  return T;
}

// libFuzzer's name: NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  if (Size < 7)
    return 0;
  static const std::vector<Template> Templates = [] {
    setenv("LNBWD_SIM_THREADS", "1", 1);
    std::vector<Template> All;
    All.reserve(NumChips);
    for (const SimulatedChip &Chip : Chips)
      All.push_back(makeTemplate(Chip));
    return All;
  }();
  const SimulatedChip &Chip = Chips[Data[0] % NumChips];
  const unsigned Checks =
      Data[1] & 1 ? Data[1] & 127 : unsigned(LNBWD_SIM_CHECK_ALL);
  const uint64_t Shuffle = Data[2];
  const Template &T = Templates[Data[0] % NumChips];
  std::vector<uint8_t> Bytes = T.Bytes;
  const uint32_t End = Chip.Generation == 9 ? EndProgram9 : EndProgram11;
  for (size_t N = 0; N < MostDwords; ++N)
    std::memcpy(&Bytes[T.CodeAt + 4 * N], &End, 4);
  std::memcpy(&Bytes[T.CodeAt], Data + 3,
              std::min(Size - 3, 4 * (MostDwords - 1)) / 4 * 4);

  DeviceMemory Memory;
  DeviceShadows Shadows(Memory);
  Shadows.setChecked(true);
  auto Allocate = [&](uint64_t Count) {
    return Memory.allocate(size_t(Count), 0, BufferKind::Code);
  };
  std::string Error;
  auto Object =
      CodeObject::create({Bytes.data(), Bytes.size()}, Chip, Allocate, Error);
  if (!Object)
    std::abort();
  for (const auto &Part : Object->readOnlyParts())
    Shadows.protect(Part.first, Part.second, "code object");
  uint64_t Segment[3] = {};
  for (unsigned K = 0; K < 2; ++K) {
    void *Buffer = Memory.allocate(4096, 0, BufferKind::Device);
    Segment[K] = reinterpret_cast<uint64_t>(Buffer);
    std::memset(Buffer, 0, 4096);
    if (K == 0)
      Shadows.wrote(Segment[0], 4096);
  }
  Launch L;
  L.TheKernel = Object->kernel("k");
  L.Code = &Object->code(L.TheKernel->WaveSize);
  L.Symbols = Object.get();
  L.Grid[0] = 3;
  L.Block[0] = 96;
  L.LdsSize = 1024;
  alignas(64) uint8_t Packet[256] = {};
  L.Kernarg = reinterpret_cast<uint64_t>(Segment);
  L.DispatchPacket = L.Queue = reinterpret_cast<uint64_t>(Packet);
  L.Limit = InstructionLimit::of(20000);
  L.Shuffle = Shuffle;
  L.Regions = Memory.snapshot();
  L.Regions.push_back({L.Kernarg, L.Kernarg + sizeof(Segment)});
  L.Regions.push_back({L.Queue, L.Queue + sizeof(Packet)});
  L.sortRegions();
  std::optional<LaunchChecker> Checker;
  if (Checks)
    L.Observer = &Checker.emplace(L, Checks);
  if (!run(L) && L.Error.empty())
    std::abort();
  return 0;
}
