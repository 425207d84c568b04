//===- HipGraph.cpp - HIP: captured streams and graphs --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While a stream is captured, its launches, copies and fills become nodes of a
// graph, with the arguments that they had. A graph that is launched executes
// its nodes in the order of their capture. Capture follows one stream: what
// events would bring in from other streams is not captured, and graphs are not
// built node by node.
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Hip/HipState.h"

using namespace lnbwd::sim;

bool lnbwd::sim::isCaptured(hipStream_t Stream) {
  if (reinterpret_cast<uintptr_t>(Stream) <= 2)
    return false;
  std::lock_guard<std::mutex> Guard(state().Lock);
  return Stream->Capture != nullptr;
}

hipError_t lnbwd::sim::enqueue(const char *Function, hipStream_t Stream,
                               std::function<hipError_t()> Work) {
  if (!validStream(Stream))
    return noSuch(Function, "stream");
  if (!isCaptured(Stream))
    return Work();
  std::lock_guard<std::mutex> Guard(state().Lock);
  Stream->Capture->Nodes.push_back(std::move(Work));
  return finish(hipSuccess);
}

namespace {
/// A launch's arguments, copied: the caller's are gone when a graph runs.
struct KeptArguments {
  std::vector<std::vector<uint8_t>> Values;
  std::vector<uint8_t> Packed;
  bool HasParameters = false;
  bool HasExtra = false;
};
} // namespace

static std::vector<uint8_t> bytesAt(const void *From, size_t Size) {
  const auto *Bytes = static_cast<const uint8_t *>(From);
  return {Bytes, Bytes + Size};
}

/// Empty if the arguments could be copied; what is wrong with them otherwise.
static std::string keepArguments(const Kernel &K, void **Parameters,
                                 void **Extra, KeptArguments &Kept) {
  Kept.HasParameters = Parameters != nullptr;
  Kept.HasExtra = Extra != nullptr;
  if (Parameters)
    return readParameters(K, Parameters, [&](const auto &A, const void *Value) {
      Kept.Values.push_back(bytesAt(Value, A.Size));
    });
  PackedArguments Packed;
  std::string Problem = Extra ? readExtra(Extra, Packed) : "";
  if (Problem.empty())
    Kept.Packed = bytesAt(Packed.Bytes, Packed.Size);
  return Problem;
}

hipError_t lnbwd::sim::captureLaunch(
    const Kernel &K, hipStream_t Stream, void **Parameters, void **Extra,
    std::function<hipError_t(void **Parameters, void **Extra)> Launch) {
  KeptArguments Kept;
  std::string Problem = keepArguments(K, Parameters, Extra, Kept);
  if (!Problem.empty())
    return finish(hipErrorInvalidValue, "hipModuleLaunchKernel: kernel '" +
                                            K.shownName() + "': " + Problem);
  return enqueue("hipModuleLaunchKernel", Stream, [=]() mutable {
    std::vector<void *> Addresses;
    Addresses.reserve(Kept.Values.size() + 1);
    for (std::vector<uint8_t> &Value : Kept.Values)
      Addresses.push_back(Value.data());
    Addresses.push_back(nullptr);
    size_t Size = Kept.Packed.size();
    void *Packed[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, Kept.Packed.data(),
                      HIP_LAUNCH_PARAM_BUFFER_SIZE, &Size,
                      HIP_LAUNCH_PARAM_END};
    return Launch(Kept.HasParameters ? Addresses.data() : nullptr,
                  Kept.HasExtra ? Packed : nullptr);
  });
}

extern "C" {

hipError_t hipStreamBeginCapture(hipStream_t Stream, hipStreamCaptureMode) {
  if (!validStream(Stream))
    return noSuch("hipStreamBeginCapture", "stream");
  if (reinterpret_cast<uintptr_t>(Stream) <= 2)
    return refuse(__func__, "the default stream cannot be captured; create one",
                  hipErrorStreamCaptureUnsupported);
  if (isCaptured(Stream))
    return refuse(__func__, "the stream is being captured",
                  hipErrorIllegalState);
  std::lock_guard<std::mutex> Guard(state().Lock);
  Stream->Capture = std::make_unique<ihipGraph>();
  return finish(hipSuccess);
}

hipError_t hipStreamIsCapturing(hipStream_t Stream,
                                hipStreamCaptureStatus *Status) {
  if (!Status || !validStream(Stream))
    return refuse(__func__, "null pointer, or the stream does not exist");
  *Status = isCaptured(Stream) ? hipStreamCaptureStatusActive
                               : hipStreamCaptureStatusNone;
  return finish(hipSuccess);
}

hipError_t hipStreamEndCapture(hipStream_t Stream, hipGraph_t *Graph) {
  if (!Graph || !validStream(Stream))
    return refuse(__func__, "null pointer, or the stream does not exist");
  if (!isCaptured(Stream))
    return refuse(__func__, "the stream is not being captured",
                  hipErrorIllegalState);
  std::lock_guard<std::mutex> Guard(state().Lock);
  *Graph = Stream->Capture.release();
  state().Graphs.insert(*Graph);
  return finish(hipSuccess);
}

hipError_t hipGraphDestroy(hipGraph_t Graph) {
  return destroy(state().Graphs, Graph)
             ? finish(hipSuccess)
             : refuse(__func__, "the graph does not exist");
}

hipError_t hipGraphInstantiate(hipGraphExec_t *Exec, hipGraph_t Graph,
                               hipGraphNode_t *, char *, size_t) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  if (!Exec || !state().Graphs.count(Graph))
    return refuse(__func__, "null pointer, or the graph does not exist");
  *Exec = new hipGraphExec{Graph->Nodes};
  state().GraphExecs.insert(*Exec);
  return finish(hipSuccess);
}

hipError_t hipGraphExecDestroy(hipGraphExec_t Exec) {
  return destroy(state().GraphExecs, Exec)
             ? finish(hipSuccess)
             : refuse(__func__, "the graph does not exist");
}

hipError_t hipGraphLaunch(hipGraphExec_t Exec, hipStream_t Stream) {
  {
    std::lock_guard<std::mutex> Guard(state().Lock);
    if (!state().GraphExecs.count(Exec))
      return refuse(__func__, "the graph does not exist");
  }
  if (!validStream(Stream))
    return noSuch("hipGraphLaunch", "stream");
  if (isCaptured(Stream))
    return refuse(__func__,
                  "the stream is being captured; the simulator has no graphs "
                  "within graphs",
                  hipErrorStreamCaptureUnsupported);
  for (std::function<hipError_t()> &Node : Exec->Nodes)
    if (hipError_t Code = Node(); Code != hipSuccess)
      return Code;
  return finish(hipSuccess);
}

} // extern "C"
