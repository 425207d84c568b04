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

constexpr ErrorName ErrorNames[] = {
    {hipSuccess, "hipSuccess", "no error"},
    {hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {hipErrorNotInitialized, "hipErrorNotInitialized", "initialization error"},
    {hipErrorInvalidConfiguration, "hipErrorInvalidConfiguration",
     "invalid configuration argument"},
    {hipErrorInvalidDevicePointer, "hipErrorInvalidDevicePointer",
     "invalid device pointer"},
    {hipErrorInvalidMemcpyDirection, "hipErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {hipErrorInvalidDeviceFunction, "hipErrorInvalidDeviceFunction",
     "invalid device function"},
    {hipErrorNoDevice, "hipErrorNoDevice",
     "no ROCm-capable device is detected"},
    {hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {hipErrorInvalidImage, "hipErrorInvalidImage",
     "device kernel image is invalid"},
    {hipErrorNoBinaryForGpu, "hipErrorNoBinaryForGpu",
     "no kernel image is available for execution on the device"},
    {hipErrorInvalidKernelFile, "hipErrorInvalidKernelFile",
     "invalid kernel file"},
    {hipErrorFileNotFound, "hipErrorFileNotFound", "file not found"},
    {hipErrorInvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    {hipErrorInvalidSymbol, "hipErrorInvalidSymbol", "invalid device symbol"},
    {hipErrorMissingConfiguration, "hipErrorMissingConfiguration",
     "__global__ function call is not configured"},
    {hipErrorCooperativeLaunchTooLarge, "hipErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {hipErrorNotFound, "hipErrorNotFound", "named symbol not found"},
    {hipErrorNotReady, "hipErrorNotReady", "device not ready"},
    {hipErrorIllegalAddress, "hipErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {hipErrorLaunchOutOfResources, "hipErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {hipErrorLaunchTimeOut, "hipErrorLaunchTimeOut",
     "the launch timed out and was terminated"},
    {hipErrorLaunchFailure, "hipErrorLaunchFailure",
     "unspecified launch failure"},
    {hipErrorNotSupported, "hipErrorNotSupported", "operation not supported"},
    {hipErrorIllegalState, "hipErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {hipErrorStreamCaptureUnsupported, "hipErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {hipErrorUnknown, "hipErrorUnknown", "unknown error"},
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
