//===- HipLaunch.cpp - HIP: launches --------------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launch: its limits, the kernel argument segment with the hidden arguments
// that the metadata names, the checks, and the translation of what went wrong.
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Hip/HipState.h"

#include "Check/LaunchChecker.h"
#include "Core/InstructionTable.h"
#include "Core/Launch.h"
#include "Core/Wave.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cstring>

using namespace lnbwd::sim;

namespace {
/// The packet that launches a kernel; kernels read block and grid sizes there.
struct DispatchPacket {
  uint16_t Header, Setup;
  uint16_t WorkgroupSize[3];
  uint16_t Reserved0;
  uint32_t GridSize[3];
  uint32_t PrivateSegmentSize, GroupSegmentSize;
  uint64_t KernelObject, KernargAddress, Reserved1, CompletionSignal;
};
} // namespace

static_assert(sizeof(DispatchPacket) == 64, "layout fixed by HSA");

namespace {
/// What a launch needs in memory beside the user's buffers.
struct LaunchMemory {
  alignas(64) uint8_t Queue[256] = {};
  alignas(64) DispatchPacket Packet = {};
  std::vector<uint64_t> Kernarg;
};
} // namespace

static void store(std::vector<uint64_t> &Segment, uint32_t Offset,
                  uint64_t Value, uint32_t Size) {
  if (Size <= 8 && uint64_t(Offset) + Size <= Segment.size() * 8)
    std::memcpy(reinterpret_cast<uint8_t *>(Segment.data()) + Offset, &Value,
                Size);
}

/// Fills a hidden argument; false if its kind is not known.
static bool fillHidden(const KernelArgument &A, const Launch &L,
                       LaunchMemory &M, uint32_t DynamicLds) {
  llvm::StringRef Kind = A.Kind;
  auto Dimension = [&](const uint32_t *Values) {
    char Last = Kind.back();
    return Values[Last == 'x' ? 0 : Last == 'y' ? 1 : 2];
  };
  uint64_t Value = 0;
  if (Kind.starts_with("hidden_block_count_"))
    Value = Dimension(L.Grid);
  else if (Kind.starts_with("hidden_group_size_"))
    Value = Dimension(L.Block);
  else if (Kind.starts_with("hidden_remainder_") ||
           Kind.starts_with("hidden_global_offset_"))
    Value = 0; // Grids are whole workgroups and start at 0.
  else if (Kind == "hidden_grid_dims")
    Value = L.Grid[2] * L.Block[2] > 1 ? 3 : L.Grid[1] * L.Block[1] > 1 ? 2 : 1;
  else if (Kind == "hidden_dynamic_lds_size")
    Value = DynamicLds;
  else if (Kind == "hidden_shared_base")
    Value = SharedAperture >> 32;
  else if (Kind == "hidden_private_base")
    Value = PrivateAperture >> 32;
  else if (Kind == "hidden_queue_ptr")
    Value = reinterpret_cast<uint64_t>(M.Queue);
  else if (const uint64_t Service = hostServiceAddress(Kind))
    Value = Service;
  else if (Kind != "hidden_none" && Kind != "hidden_multigrid_sync_arg" &&
           Kind != "hidden_default_queue" && Kind != "hidden_completion_action")
    return false; // The others are null: there are no such services.
  store(M.Kernarg, A.Offset, Value, A.Size);
  return true;
}

/// Copies the explicit arguments. Empty if all is well.
static std::string fillArguments(const Kernel &K, void **Parameters,
                                 void **Extra, LaunchMemory &M) {
  auto *Segment = reinterpret_cast<uint8_t *>(M.Kernarg.data());
  if (Parameters) {
    std::string Beyond;
    unsigned Next = 0;
    const std::string Problem =
        readParameters(K, Parameters, [&](const auto &A, const void *Value) {
          if (uint64_t(A.Offset) + A.Size <= M.Kernarg.size() * 8)
            std::memcpy(Segment + A.Offset, Value, A.Size);
          else if (Beyond.empty())
            Beyond = "the kernel's metadata places argument " +
                     std::to_string(Next) +
                     " beyond the kernel argument segment";
          ++Next;
        });
    return Problem.empty() ? Beyond : Problem;
  }
  uint64_t Needed = 0;
  for (const KernelArgument &A : K.Arguments)
    if (!A.hidden())
      Needed = std::max(Needed, uint64_t(A.Offset) + A.Size);
  if (!Extra)
    return Needed ? "the kernel takes arguments, but neither kernelParams nor "
                    "extra gives any"
                  : "";
  PackedArguments Packed;
  if (std::string Problem = readExtra(Extra, Packed); !Problem.empty())
    return Problem;
  if (!Packed.Bytes || Packed.Size < Needed)
    return "extra gives " + std::to_string(Packed.Size) +
           " bytes of arguments, the kernel takes " + std::to_string(Needed);
  std::memcpy(Segment, Packed.Bytes,
              std::min(Packed.Size, M.Kernarg.size() * 8));
  return "";
}

static std::string triple(const uint32_t *V) {
  return "(" + std::to_string(V[0]) + ", " + std::to_string(V[1]) + ", " +
         std::to_string(V[2]) + ")";
}

/// What the chip cannot run, in words; empty if it can.
static std::string checkLimits(const SimulatedChip &Chip, const Kernel &K,
                               const Launch &L, size_t Lds) {
  uint64_t Items = uint64_t(L.Block[0]) * L.Block[1] * L.Block[2];
  for (unsigned D = 0; D < 3; ++D) {
    if (!L.Grid[D] || !L.Block[D])
      return "grid " + triple(L.Grid) + " and block " + triple(L.Block) +
             " must not have a dimension of 0";
    if (L.Block[D] > 1024)
      return "block " + triple(L.Block) + " has a dimension above 1024";
    if (uint64_t(L.Grid[D]) * L.Block[D] > 0xffffffffull)
      return "grid " + triple(L.Grid) + " of blocks " + triple(L.Block) +
             " has 2^32 work-items or more in one dimension";
  }
  if (L.Grid[1] > 65535 || L.Grid[2] > 65535)
    return "grid " + triple(L.Grid) +
           " has more than 65535 workgroups in y "
           "or z";
  if (Items > 1024)
    return "a block of " + std::to_string(Items) +
           " work-items is above the chip's limit of 1024";
  if (Items > K.MaxFlatWorkgroupSize)
    return "a block of " + std::to_string(Items) + " work-items is above the " +
           std::to_string(K.MaxFlatWorkgroupSize) +
           " that the kernel was compiled for (.max_flat_workgroup_size)";
  // What the register that tells the hardware of a wave's scratch can hold.
  const uint64_t MostScratch = Chip.Generation >= 12   ? 0x3ffff * 256ull
                               : Chip.Generation == 11 ? 0x7fff * 256ull
                                                       : 0x1fff * 1024ull;
  if (uint64_t(K.ScratchSize) * K.WaveSize > MostScratch)
    return std::to_string(K.ScratchSize) +
           " bytes of scratch for each of a wave's " +
           std::to_string(K.WaveSize) + " lanes are above the " +
           std::to_string(MostScratch) + " of a wave on " + Chip.Chip;
  for (unsigned D = 0; L.ClusterDims[0] && D < 3; ++D)
    if (!Chip.isCdna5() || !L.ClusterDims[D] || L.Grid[D] % L.ClusterDims[D] ||
        L.ClusterDims[D] > Cluster::Most || L.together() > Cluster::Most)
      return "a cluster of " + triple(L.ClusterDims) +
             " workgroups is not possible in a grid of " + triple(L.Grid) +
             " on " + Chip.Chip +
             (Chip.isCdna5()
                  ? ": expected at most " + std::to_string(Cluster::Most) +
                        " workgroups that divide the grid"
                  : "");
  if (Lds > Chip.LdsBytes)
    return std::to_string(Lds) + " bytes of LDS (" + std::to_string(K.LdsSize) +
           " static) are above the " + std::to_string(Chip.LdsBytes) +
           " of a workgroup on " + Chip.Chip;
  return "";
}

/// Predicts a launch, keeps what was found and moves the device's clock on by
/// it. False: it failed.
static bool predictLaunch(Launch &L, const TimingOptions &Timing, int Device) {
  double Begin;
  size_t Number;
  {
    std::lock_guard<std::mutex> Guard(state().Lock);
    Begin = state().Predicted[Device].microseconds();
    Number = state().Predicted[Device].Launches.size();
  }
  LaunchPrediction P;
  if (!predict(L, Timing, Begin, unsigned(Number), P))
    return false;
  std::lock_guard<std::mutex> Guard(state().Lock);
  state().Predicted[Device].Launches.push_back(std::move(P));
  state().Clock[Device] += state().Predicted[Device].microseconds() - Begin;
  return true;
}

namespace {
struct LaunchShape {
  uint32_t Grid[3], Block[3];
  uint32_t ClusterDims[3]; ///< 0: what the kernel states
  uint32_t DynamicLds;
};
} // namespace

static hipError_t launchReported(hipFunction_t Function,
                                 const LaunchShape &Shape, hipStream_t Stream,
                                 void **Parameters, void **Extra);

static hipError_t launchKernel(hipFunction_t Function, const LaunchShape &Shape,
                               hipStream_t Stream, void **Parameters,
                               void **Extra) {
  const ihipModuleSymbol_t *F = checkFunction(Function);
  if (!F)
    return finish(hipErrorInvalidDeviceFunction,
                  "hipModuleLaunchKernel: the function does not exist");
  if (!validStream(Stream))
    return noSuch("hipModuleLaunchKernel", "stream");
  const Kernel &K = *F->TheKernel;
  std::string Prefix =
      "hipModuleLaunchKernel: kernel '" + K.shownName() + "': ";
  const SimulatedChip &Chip = Chips[F->Owner->Device];
  if (Parameters && Extra)
    return finish(hipErrorInvalidValue,
                  Prefix + "expected kernelParams or extra, got both");
  if (isCaptured(Stream))
    return captureLaunch(
        K, Stream, Parameters, Extra, [=](void **Parameters, void **Extra) {
          return launchReported(Function, Shape, nullptr, Parameters, Extra);
        });

  Launch L;
  const CodeObject &Object = *F->Owner->Object;
  L.Code = &Object.code(K.WaveSize);
  L.Symbols = &Object;
  L.TheKernel = &K;
  std::memcpy(L.Grid, Shape.Grid, sizeof(L.Grid));
  std::memcpy(L.Block, Shape.Block, sizeof(L.Block));
  // 1024 is LLVM's word for a size that the code does not know.
  const uint32_t Stated = K.ClusterDims[0] == 1024 ? 0 : K.ClusterDims[0];
  std::memcpy(L.ClusterDims,
              Shape.ClusterDims[0] || !Stated ? Shape.ClusterDims
                                              : K.ClusterDims,
              sizeof(L.ClusterDims));
  if (Stated &&
      std::memcmp(L.ClusterDims, K.ClusterDims, sizeof(L.ClusterDims)) != 0)
    return finish(hipErrorInvalidConfiguration,
                  Prefix + "a cluster of " + triple(L.ClusterDims) +
                      " workgroups is asked for, but the kernel was compiled "
                      "for " +
                      triple(K.ClusterDims) + " (.cluster_dims)");
  if (L.together() == 1)
    L.ClusterDims[0] = 0;
  size_t Lds = size_t(K.LdsSize) + Shape.DynamicLds;
  std::string Problem = checkLimits(Chip, K, L, Lds);
  if (!Problem.empty())
    return finish(hipErrorInvalidConfiguration, Prefix + Problem);
  L.LdsSize = uint32_t(Lds);
  unsigned Checks;
  bool OtherOrders, IsFiltered;
  std::optional<TimingOptions> Timing;
  {
    std::lock_guard<std::mutex> Guard(state().Lock);
    Timing = state().Timing[F->Owner->Device];
    // What is not executed in full cannot be checked.
    Checks = Timing ? 0 : state().Checks;
    IsFiltered = Checks && !passesFilter(K);
    if (IsFiltered)
      Checks = 0;
    L.Shuffle = state().Shuffle;
    OtherOrders = state().OtherOrders;
    L.MostErrors = state().MostErrors;
    L.LdsKeptAt = state().LdsKeptAt;
    L.LdsKeptForOnce = state().LdsKeptForOnce;
  }
  if (Checks & LNBWD_SIM_CHECK_LIMITS)
    Problem = checkKernelLimits(Chip, K, L.Block, Lds);
  if (!Problem.empty())
    return finish(hipErrorInvalidConfiguration, Prefix + Problem);

  auto M = std::make_unique<LaunchMemory>();
  // Compilers read the segment in whole lines.
  M->Kernarg.assign((size_t(K.KernargSize) + 63) / 64 * 8 + 8, 0);
  Problem = fillArguments(K, Parameters, Extra, *M);
  if (!Problem.empty())
    return finish(hipErrorInvalidValue, Prefix + Problem);
  for (const KernelArgument &A : K.Arguments)
    if (A.hidden() && !fillHidden(A, L, *M, Shape.DynamicLds))
      return finish(hipErrorNotSupported, Prefix + "the hidden argument '" +
                                              A.Kind + "' is not known");
  // Where a kernel looks for the apertures' high halves on chips without
  // registers for them.
  const uint32_t Apertures[2] = {uint32_t(SharedAperture >> 32),
                                 uint32_t(PrivateAperture >> 32)};
  std::memcpy(M->Queue + 0x40, Apertures, sizeof(Apertures));

  L.Kernarg = reinterpret_cast<uint64_t>(M->Kernarg.data());
  L.DispatchPacket = reinterpret_cast<uint64_t>(&M->Packet);
  L.Queue = reinterpret_cast<uint64_t>(M->Queue);
  for (unsigned D = 0; D < 3; ++D) {
    M->Packet.WorkgroupSize[D] = uint16_t(L.Block[D]);
    M->Packet.GridSize[D] = L.Grid[D] * L.Block[D];
  }
  M->Packet.Setup = 3;
  M->Packet.PrivateSegmentSize = K.ScratchSize;
  M->Packet.GroupSegmentSize = L.LdsSize;
  M->Packet.KernelObject = K.Descriptor;
  M->Packet.KernargAddress = L.Kernarg;
  Problem = InstructionLimit::fromEnvironment(L.Limit);
  if (!Problem.empty())
    return finish(hipErrorInvalidValue, Prefix + Problem);
  {
    std::lock_guard<std::mutex> Guard(state().Lock);
    L.Regions = state().Memory.snapshot();
    L.Freed = state().Memory.freed();
  }
  std::vector<std::unique_ptr<BufferShadow>> Shadows;
  auto AddRegion = [&](const void *P, size_t Size, size_t Written,
                       const char *Name) {
    uint64_t Begin = reinterpret_cast<uint64_t>(P);
    BufferShadow *Shadow = nullptr;
    if (Checks) {
      Shadows.push_back(std::make_unique<BufferShadow>(Begin, Size, false));
      Shadow = Shadows.back().get();
      Shadow->mark(Begin, Written, true);
      Shadow->Name = Name;
      Shadow->ReadOnly = true;
    }
    L.Regions.push_back({Begin, Begin + Size, Shadow});
  };
  // What lies behind the arguments is nobody's, though there is memory.
  size_t Taken = K.KernargSize;
  for (const KernelArgument &A : K.Arguments)
    Taken = std::max(Taken, size_t(A.Offset) + A.Size);
  const size_t Segment = M->Kernarg.size() * 8;
  AddRegion(M->Kernarg.data(), Segment,
            K.HasMetadata ? std::min(Taken, Segment) : Segment,
            "kernel arguments");
  AddRegion(M->Queue, sizeof(M->Queue), sizeof(M->Queue), "queue");
  AddRegion(&M->Packet, sizeof(M->Packet), sizeof(M->Packet),
            "dispatch packet");
  L.sortRegions();

  std::optional<LaunchChecker> Checker;
  if (Checks)
    Checker.emplace(L, Checks);
  bool Good = (Timing   ? predictLaunch(L, *Timing, F->Owner->Device)
               : Checks ? runChecked(L, *Checker, Checks, OtherOrders)
                        : run(L)) &&
              L.CheckErrors.empty();
  if (Good && (Checks & LNBWD_SIM_CHECK_WAITS))
    Good = !failMissingWait(L);
  if (!Timing) {
    lnbwd_sim_counters Counted = {};
    L.addCounters(Counted);
    advanceClock(F->Owner->Device, LaunchMicroseconds,
                 Counted.global_bytes_read + Counted.global_bytes_written);
  }
  std::string Summary;
  {
    std::lock_guard<std::mutex> Guard(state().Lock);
    state().CheckErrors = errorsJson(L);
    // What such a launch has stored nobody knows: it may be anything.
    for (const Region &R : L.Regions)
      if (IsFiltered && R.Notes)
        state().Shadows.wrote(R.Begin, R.End - R.Begin);
    if (Checks) {
      state().Summary = Summary = Checker->summary(state().Memory.snapshot());
      state().CheckedLaunch = Checker->AccessesOf;
      state().CheckedWaves = L.WavesPerWorkgroup;
      state().CheckedModule = F->Owner;
      state().CheckedCode = L.Code;
    }
    L.addCounters(state().Counters[F->Owner->Device]);
    if (Checks & LNBWD_SIM_CHECK_COUNTS)
      Checker->addCounts(state().Counts[F->Owner->Device]);
  }
  if (!Summary.empty())
    report("checked", Summary);
  if (Good)
    return finish(hipSuccess);
  hipError_t Code = hipErrorLaunchFailure;
  if (!L.CheckErrors.empty())
    return finish(Code, L.report(), L.LdsNeeded);
  if (L.Failure == LaunchFailure::IllegalAddress)
    Code = hipErrorIllegalAddress;
  else if (L.Failure == LaunchFailure::TimeOut)
    Code = hipErrorLaunchTimeOut;
  else if (L.Failure == LaunchFailure::OutOfMemory)
    Code = hipErrorOutOfMemory;
  return finish(Code, L.Error, L.LdsNeeded);
}

static hipError_t launchReported(hipFunction_t Function,
                                 const LaunchShape &Shape, hipStream_t Stream,
                                 void **Parameters, void **Extra) {
  {
    std::lock_guard<std::mutex> Guard(state().Lock);
    state().CheckErrors = "[]";
  }
  const hipError_t Code =
      launchKernel(Function, Shape, Stream, Parameters, Extra);
  if (Code != hipSuccess) {
    report("error", lnbwdSimLastErrorMessage());
    const ihipModuleSymbol_t *F = checkFunction(Function);
    saveErrors(F ? F->TheKernel->shownName() : "",
               F ? Chips[F->Owner->Device].Chip : "", Shape.Grid);
  }
  return Code;
}

extern "C" {

hipError_t hipModuleLaunchKernel(hipFunction_t Function, unsigned int GridX,
                                 unsigned int GridY, unsigned int GridZ,
                                 unsigned int BlockX, unsigned int BlockY,
                                 unsigned int BlockZ, unsigned int DynamicLds,
                                 hipStream_t Stream, void **Parameters,
                                 void **Extra) {
  return launchReported(
      Function,
      {{GridX, GridY, GridZ}, {BlockX, BlockY, BlockZ}, {}, DynamicLds}, Stream,
      Parameters, Extra);
}

hipError_t hipDrvLaunchKernelEx(const LaunchConfig *Config,
                                hipFunction_t Function, void **Parameters,
                                void **Extra) {
  if (!Config || (Config->NumAttributes && !Config->Attributes))
    return refuse(__func__, "null pointer");
  LaunchShape Shape = {};
  std::memcpy(Shape.Grid, Config->Grid, sizeof(Shape.Grid));
  std::memcpy(Shape.Block, Config->Block, sizeof(Shape.Block));
  Shape.DynamicLds = Config->DynamicLds;
  bool Cooperates = false;
  for (unsigned K = 0; K < Config->NumAttributes; ++K) {
    const LaunchAttribute &A = Config->Attributes[K];
    if (A.Id == LaunchAttribute::Cooperative)
      Cooperates = A.Value[0] != 0;
    else if (A.Id == LaunchAttribute::ClusterDimension)
      std::memcpy(Shape.ClusterDims, A.Value, sizeof(Shape.ClusterDims));
    else
      return refuse(__func__, "a launch attribute is not modelled",
                    hipErrorNotSupported);
  }
  if (Cooperates)
    return refuse(__func__, "cooperative launches are not modelled here",
                  hipErrorNotSupported);
  return launchReported(Function, Shape, Config->Stream, Parameters, Extra);
}

} // extern "C"
