/*===- SimulatorAPI.h - What the simulator offers beyond HIP ------*- C -*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* The simulator is a shared library that exports HIP's own functions, so that
|* a program talks to it as it talks to a real device. This header declares the
|* few functions that it exports besides: counts and diagnostics, which a real
|* device does not give. A client finds them with dlsym; plain C, no LLVM.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LNBWD_SIMULATOR_SIMULATORAPI_H
#define LNBWD_SIMULATOR_SIMULATORAPI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C's names and typedefs, not those of the C++ code:
 * NOLINTBEGIN(readability-identifier-naming,modernize-use-using) */

/** What was executed since the last reset. One "lane-instruction" is one
 *  instruction in one active lane. */
typedef struct lnbwd_sim_counters {
  uint64_t wave_instructions; /**< instructions issued, all classes, per wave */
  uint64_t scalar_instructions; /**< scalar ALU and control flow, per wave */
  uint64_t vector_lane_instructions; /**< vector ALU, per active lane */
  uint64_t memory_lane_instructions; /**< vector memory, per active lane */
  uint64_t lds_lane_instructions;    /**< LDS, per active lane */
  uint64_t barriers;                 /**< barriers, per wave */
  uint64_t global_bytes_read; /**< bytes asked for by vector and scalar loads */
  uint64_t global_bytes_written; /**< bytes asked for by stores */
  uint64_t lds_bytes;            /**< LDS bytes read and written */
  uint64_t workgroups;
  uint64_t waves;
} lnbwd_sim_counters;

/** Sets all counters of the current device to zero. */
void lnbwdSimResetCounters(void);
/** Copies the counters of the current device to `counters`. */
void lnbwdSimGetCounters(lnbwd_sim_counters *counters);
/** The text behind the last error of the calling thread's last failed HIP call
 *  ("v_foo_f32 at 0x1a40 of kernel k is not implemented for gfx942"); empty if
 *  there was none. Valid until the thread's next HIP call. */
const char *lnbwdSimLastErrorMessage(void);

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif /* LNBWD_SIMULATOR_SIMULATORAPI_H */
