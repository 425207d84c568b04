//===- HipStreams.cpp - HIP: streams and events ---------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Execution is synchronous: a stream is a handle to compare with, an event the
// time on the device's clock at which it was recorded.
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Hip/HipState.h"

using namespace lnbwd::sim;

int lnbwd::sim::deviceOf(hipStream_t Stream) {
  return reinterpret_cast<uintptr_t>(Stream) <= 2 ? currentDevice()
                                                  : Stream->Device;
}

extern "C" {

hipError_t hipStreamCreateWithFlags(hipStream_t *Stream, unsigned int Flags) {
  if (!Stream || Flags > hipStreamNonBlocking)
    return refuse(__func__, "null pointer or unknown flags");
  return keep(state().Streams, new ihipStream_t{currentDevice(), nullptr},
              Stream);
}

hipError_t hipStreamCreate(hipStream_t *Stream) {
  return hipStreamCreateWithFlags(Stream, hipStreamDefault);
}

hipError_t hipStreamDestroy(hipStream_t Stream) {
  return destroy(state().Streams, Stream) ? finish(hipSuccess)
                                          : noSuch(__func__, "stream");
}

hipError_t hipStreamSynchronize(hipStream_t Stream) {
  if (!validStream(Stream))
    return noSuch("hipStreamSynchronize", "stream");
  if (isCaptured(Stream))
    return refuse(__func__, "the stream is being captured",
                  hipErrorStreamCaptureUnsupported);
  return finish(hipSuccess);
}

hipError_t hipStreamQuery(hipStream_t Stream) {
  return validStream(Stream) ? finish(hipSuccess) : noSuch(__func__, "stream");
}

static bool validEvent(hipEvent_t Event) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  return state().Events.count(Event) != 0;
}

hipError_t hipStreamWaitEvent(hipStream_t Stream, hipEvent_t Event,
                              unsigned int) {
  if (!validStream(Stream))
    return noSuch("hipStreamWaitEvent", "stream");
  if (!validEvent(Event))
    return noSuch("hipStreamWaitEvent", "event");
  return finish(hipSuccess);
}

hipError_t hipEventCreateWithFlags(hipEvent_t *Event, unsigned) {
  if (!Event)
    return finish(hipErrorInvalidValue, "hipEventCreate: null pointer");
  return keep(state().Events, new ihipEvent_t, Event);
}

hipError_t hipEventCreate(hipEvent_t *Event) {
  return hipEventCreateWithFlags(Event, 0);
}

hipError_t hipEventDestroy(hipEvent_t Event) {
  return destroy(state().Events, Event) ? finish(hipSuccess)
                                        : noSuch(__func__, "event");
}

hipError_t hipEventRecord(hipEvent_t Event, hipStream_t Stream) {
  if (!validEvent(Event))
    return noSuch("hipEventRecord", "event");
  if (!validStream(Stream))
    return noSuch("hipEventRecord", "stream");
  // In a capture an event orders work, which is in order here, and gets no
  // time.
  Event->Recorded = !isCaptured(Stream);
  if (!Event->Recorded)
    return finish(hipSuccess);
  const int Device = deviceOf(Stream);
  advanceClock(Device, EventMicroseconds, 0);
  std::lock_guard<std::mutex> Guard(state().Lock);
  Event->Microseconds = state().Clock[Device];
  return finish(hipSuccess);
}

hipError_t hipEventSynchronize(hipEvent_t Event) {
  return validEvent(Event) ? finish(hipSuccess)
                           : noSuch("hipEventSynchronize", "event");
}

hipError_t hipEventQuery(hipEvent_t Event) {
  return validEvent(Event) ? finish(hipSuccess)
                           : noSuch("hipEventQuery", "event");
}

hipError_t hipEventElapsedTime(float *Milliseconds, hipEvent_t Start,
                               hipEvent_t Stop) {
  if (!Milliseconds)
    return refuse(__func__, "null pointer");
  if (!validEvent(Start) || !validEvent(Stop))
    return noSuch("hipEventElapsedTime", "event");
  if (!Start->Recorded || !Stop->Recorded)
    return refuse(__func__, "an event has not been recorded",
                  hipErrorInvalidHandle);
  *Milliseconds = float((Stop->Microseconds - Start->Microseconds) / 1e3);
  return finish(hipSuccess);
}

hipError_t hipStreamCreateWithPriority(hipStream_t *Stream, unsigned Flags,
                                       int) {
  return hipStreamCreateWithFlags(Stream, Flags);
}

hipError_t hipDeviceGetStreamPriorityRange(int *Least, int *Greatest) {
  if (Least)
    *Least = 0;
  if (Greatest)
    *Greatest = 0;
  return finish(hipSuccess);
}

hipError_t hipStreamGetFlags(hipStream_t Stream, unsigned *Flags) {
  if (!Flags || !validStream(Stream))
    return refuse(__func__, "null pointer or no stream", hipErrorInvalidHandle);
  *Flags = hipStreamDefault;
  return finish(hipSuccess);
}

hipError_t hipStreamGetPriority(hipStream_t Stream, int *Priority) {
  if (!Priority || !validStream(Stream))
    return refuse(__func__, "null pointer or no stream", hipErrorInvalidHandle);
  *Priority = 0;
  return finish(hipSuccess);
}

hipError_t hipStreamAddCallback(hipStream_t Stream,
                                hipStreamCallback_t Callback, void *Data,
                                unsigned) {
  if (!Callback)
    return refuse(__func__, "no function");
  return enqueue("hipStreamAddCallback", Stream, [=] {
    Callback(Stream, hipSuccess, Data);
    return finish(hipSuccess);
  });
}

hipError_t hipLaunchHostFunc(hipStream_t Stream, hipHostFn_t Function,
                             void *Data) {
  if (!Function)
    return refuse(__func__, "no function");
  return enqueue("hipLaunchHostFunc", Stream, [=] {
    Function(Data);
    return finish(hipSuccess);
  });
}

} // extern "C"
