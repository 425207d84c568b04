//===- TraceRecorder.h - The observer that records traces -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Records what the workgroups of a launch do. It only looks, and stops nothing.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_TIMING_TRACERECORDER_H
#define LNBWD_LIB_SIMULATOR_TIMING_TRACERECORDER_H

#include "Core/Launch.h"
#include "Core/Observer.h"
#include "Timing/ClockInfo.h"
#include "Timing/Trace.h"

#include <map>
#include <memory>
#include <mutex>

namespace lnbwd::sim {

class TraceRecorder final : public LaunchObserver {
public:
  /// MostSteps is the limit of a wave.
  TraceRecorder(const Launch &L, const ClockInfo &C, size_t MostSteps)
      : L(L), C(C), MostSteps(MostSteps) {}
  std::unique_ptr<WorkgroupObserver> observe(Workgroup &WG) override;

  /// What was recorded, by the workgroups' numbers.
  std::map<uint64_t, std::unique_ptr<WorkgroupTrace>> Traces;

private:
  friend class WorkgroupRecorder;
  const Launch &L;
  const ClockInfo &C;
  size_t MostSteps;
  std::mutex Lock; ///< of Traces
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_TIMING_TRACERECORDER_H
