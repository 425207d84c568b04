//===- HipErrors.cpp - HIP: what a thread remembers, names of errors ------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The current device, the last error and the text after it, each for the
// calling thread.
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Hip/HipState.h"

#include <algorithm>
#include <string>
#include <utility>

using namespace lnbwd::sim;

namespace {
struct ThreadState {
  int Device = -1; ///< none has been asked for
  hipError_t LastError = hipSuccess;
  std::string Message;
  uint64_t LdsNeeded = 0;
};
} // namespace

static ThreadState &thread() {
  static thread_local ThreadState State;
  return State;
}

namespace {
struct ErrorName {
  hipError_t Code;
  const char *Name;
  const char *Text;
};
} // namespace

#define NAMED(CODE, TEXT) {CODE, #CODE, TEXT}
constexpr ErrorName ErrorNames[] = {
    NAMED(hipSuccess, "no error"),
    NAMED(hipErrorInvalidValue, "invalid argument"),
    NAMED(hipErrorOutOfMemory, "out of memory"),
    NAMED(hipErrorNotInitialized, "initialization error"),
    NAMED(hipErrorInvalidConfiguration, "invalid configuration argument"),
    NAMED(hipErrorInvalidDevicePointer, "invalid device pointer"),
    NAMED(hipErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    NAMED(hipErrorInvalidDeviceFunction, "invalid device function"),
    NAMED(hipErrorNoDevice, "no ROCm-capable device is detected"),
    NAMED(hipErrorInvalidDevice, "invalid device ordinal"),
    NAMED(hipErrorInvalidImage, "device kernel image is invalid"),
    NAMED(hipErrorNoBinaryForGpu,
          "no kernel image is available for execution on the device"),
    NAMED(hipErrorInvalidKernelFile, "invalid kernel file"),
    NAMED(hipErrorFileNotFound, "file not found"),
    NAMED(hipErrorInvalidHandle, "invalid resource handle"),
    NAMED(hipErrorInvalidSymbol, "invalid device symbol"),
    NAMED(hipErrorMissingConfiguration,
          "__global__ function call is not configured"),
    NAMED(hipErrorCooperativeLaunchTooLarge,
          "too many blocks in cooperative launch"),
    NAMED(hipErrorNotFound, "named symbol not found"),
    NAMED(hipErrorNotReady, "device not ready"),
    NAMED(hipErrorIllegalAddress, "an illegal memory access was encountered"),
    NAMED(hipErrorLaunchOutOfResources,
          "too many resources requested for launch"),
    NAMED(hipErrorLaunchTimeOut, "the launch timed out and was terminated"),
    NAMED(hipErrorLaunchFailure, "unspecified launch failure"),
    NAMED(hipErrorNotSupported, "operation not supported"),
    NAMED(hipErrorIllegalState,
          "the operation cannot be performed in the present state"),
    NAMED(hipErrorStreamCaptureUnsupported,
          "operation not permitted when stream is capturing"),
    NAMED(hipErrorUnknown, "unknown error"),
};

int &lnbwd::sim::currentDevice() {
  int &Device = thread().Device;
  if (Device < 0)
    Device = std::max(0, state().OnlyDevice);
  return Device;
}

hipError_t lnbwd::sim::finish(hipError_t Code, std::string Message,
                              uint64_t LdsNeeded) {
  ThreadState &T = thread();
  T.Message = std::move(Message);
  T.LdsNeeded = LdsNeeded;
  if (Code != hipSuccess)
    T.LastError = Code;
  return Code;
}

hipError_t lnbwd::sim::refuse(const char *Function, const std::string &Why,
                              hipError_t Code) {
  return finish(Code, std::string(Function) + ": " + Why);
}

hipError_t lnbwd::sim::noSuch(const char *Function, const char *What) {
  return finish(hipErrorInvalidHandle,
                std::string(Function) + ": the " + What + " does not exist");
}

extern "C" {

const char *hipGetErrorName(hipError_t Code) {
  for (const ErrorName &E : ErrorNames)
    if (E.Code == Code)
      return E.Name;
  return "hipErrorUnknown";
}

const char *hipGetErrorString(hipError_t Code) {
  for (const ErrorName &E : ErrorNames)
    if (E.Code == Code)
      return E.Text;
  return "unknown error";
}

hipError_t hipGetLastError() {
  hipError_t Code = thread().LastError;
  thread().LastError = hipSuccess;
  return Code;
}

hipError_t hipPeekAtLastError() { return thread().LastError; }

const char *lnbwdSimLastErrorMessage(void) { return thread().Message.c_str(); }

uint64_t lnbwdSimLdsNeeded(void) { return thread().LdsNeeded; }

} // extern "C"
