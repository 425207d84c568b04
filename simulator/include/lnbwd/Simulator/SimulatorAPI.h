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
/** If the calling thread's last HIP call was a launch, and that ended with an
 *  access outside of the LDS of its workgroup: how many bytes of LDS, static
 * and dynamic, that access would have needed. Otherwise 0. */
uint64_t lnbwdSimLdsNeeded(void);

/** What launches are checked for; see simulator/docs/checker.md. */
enum {
  LNBWD_SIM_CHECK_MEMORY = 1,     /**< use after free, reads of memory never
                                       written, writes to inputs, alignment that
                                       hardware needs */
  LNBWD_SIM_CHECK_REGISTERS = 2,  /**< registers read before written */
  LNBWD_SIM_CHECK_RACES = 4,      /**< LDS, global memory, barriers */
  LNBWD_SIM_CHECK_WAITS = 8,      /**< results used before waited for */
  LNBWD_SIM_CHECK_LIMITS = 16,    /**< what the chip would refuse */
  LNBWD_SIM_CHECK_COUNTS = 32,    /**< no check: the counts of
                                       lnbwdSimGetCountsJson */
  LNBWD_SIM_CHECK_ALIGNMENT = 64, /**< global and LDS accesses that are not
                                       aligned to a dword or their element,
                                       which hardware performs all the same; not
                                       in "all" */
  LNBWD_SIM_CHECK_HAZARDS = 128,  /**< wait states that the chip does not keep
                                       by itself */
  LNBWD_SIM_CHECK_ALL = 63 + 128
};

/** The value of an enumerator of this header by its name, so that clients in
 *  other languages need not repeat it; -1: there is none. */
int64_t lnbwdSimConstant(const char *name);

/** What hipGetDeviceProperties says of the current device, as a JSON object
 *  whose members have torch.cuda's names. Valid until the thread's next
 *  call. */
const char *lnbwdSimGetPropertiesJson(void);

/** Chooses the checks (an or of the above; 0: none) of all launches from now
 *  on. Buffers that exist already count as written. The start value is that of
 *  LNBWD_SIM_CHECK in the environment. */
void lnbwdSimSetChecks(unsigned checks);
unsigned lnbwdSimGetChecks(void);

/** Executes waves and workgroups of later launches in an unusual order, which
 *  the seed decides; 0: the usual order. The start value is that of
 *  LNBWD_SIM_SHUFFLE. */
void lnbwdSimSetShuffle(uint64_t seed);

/** Whether later checked launches whose workgroups order themselves are
 *  executed in other orders, too, in which workgroups overlap in time; not 0 at
 *  first. They do not depend on the shuffle: of the same launch with the same
 *  memory, shuffled in several ways, once is enough. */
void lnbwdSimSetOtherOrders(int wanted);

/** How many different errors a checked launch gathers before it is stopped;
 *  the message of the error has a line for each, with how often it happened.
 *  Races are gathered; what makes the rest of a run meaningless stops it at
 *  once. The start value is that of LNBWD_SIM_MAX_ERRORS, or 1. */
void lnbwdSimSetMaxErrors(unsigned count);

/** What the last checked launch of the process was checked for and what was
 *  left out, in a line of text. Valid until the thread's next call. */
const char *lnbwdSimGetCheckSummary(void);

/** What the last launch of the process reported, as a JSON array. A member has
 *  "message", the text of lnbwdSimLastErrorMessage, "chip", "kernel", "check"
 *  (its name; empty for what needs no check), "count" and "stops" (whether the
 *  launch ended there, so that its outputs are not complete). If an
 *  instruction is to blame, there are "cause", "workgroup", "wave", perhaps
 *  "lane", and "where", and of two that race "other": "instruction", "at" (an
 *  offset in a function) and "source", the innermost function first ("file",
 *  "line", "column", "function"). Empty also for a launch that was refused.
 *  Valid until the thread's next call. */
const char *lnbwdSimGetErrorsJson(void);

enum {
  LNBWD_SIM_BUFFER_READ_ONLY = 1, /**< kernels must not write to it */
  LNBWD_SIM_BUFFER_UNWRITTEN = 2  /**< its contents count as never written */
};

/** Says what `bytes` bytes at `pointer` are to the checked launches that
 *  follow: a name for messages and counts, and the flags above. If they are a
 *  part of a buffer, kernels may access this part only. Returns 0, or -1 if the
 *  bytes are not in one buffer. */
int lnbwdSimDescribeBuffer(const void *pointer, uint64_t bytes,
                           const char *name, unsigned flags);

/** Says of the checked launches that follow how they use LDS: what is stored
 *  there is read before the third barrier after it, and not again once there
 *  has been a barrier after a read; then it counts as never written. That takes
 *  line tables and LNBWD_SIM_CHECK_RACES. `others` are the places in the
 *  source, as "LINE:COLUMN" with commas, that are not like that: what they
 *  store may be read after any number of barriers, and, unless `once` is set,
 *  again and again. Null: nothing is known, which is the default. */
void lnbwdSimDescribeLds(const char *others, int once);

/** How many of the elements of `element_bytes` bytes from `pointer` on have a
 *  byte that neither a kernel nor the host has written since the buffer was
 *  allocated or described as LNBWD_SIM_BUFFER_UNWRITTEN; `first`, if not null,
 *  is the number of the first one. A rest of `bytes` that is no whole element
 *  is left out. -1 if that is not known: LNBWD_SIM_CHECK_MEMORY is off, or the
 *  bytes are not in one buffer. */
int64_t lnbwdSimCountUnwritten(const void *pointer, uint64_t bytes,
                               uint64_t element_bytes, uint64_t *first);

/** What the last launch checked with LNBWD_SIM_CHECK_RACES has done to each of
 *  the bytes from `pointer` on: bit 0 of its byte of `ways` is set where it was
 *  read, bit 1 where it was written, also by an atomic. A read before the
 *  launch's last write may be left out. -1: the bytes are not in one buffer. */
int lnbwdSimGetAccesses(const void *pointer, uint64_t bytes, uint8_t *ways);

/** Who has done that to each of the `count` elements of `element_bytes` bytes
 *  from `pointer` on, as far as it is for their first bytes: `workgroups` gets
 *  the number of the workgroup that has read them, or, if `writes` is set, has
 *  written them, plus 1; 0: none has; UINT32_MAX: several have, which `one`, if
 *  not 0, is none of; otherwise it is `one`. Of stores that are ordered it is
 *  the last one. -1: the bytes are not in one buffer. */
int lnbwdSimGetAccessors(const void *pointer, uint64_t count,
                         uint64_t element_bytes, int writes, uint32_t one,
                         uint32_t *workgroups);

/** An instruction that has done that to the byte at `pointer`, as "where" of
 *  lnbwdSimGetErrorsJson; "null" if that is not known. Valid until the
 *  thread's next call. */
const char *lnbwdSimGetAccessJson(const void *pointer, int writes);

/** The device, for hipSetDevice, that can run the code of a file: a code object
 *  for a chip, or for a generic target (the first chip that it stands for), or
 *  a bundle for several chips. `chip` is the name of the chip to take; null or
 *  "": the only one that there is code for, or the one that LNBWD_SIM_CHIP
 *  leaves. -1 with a message in lnbwdSimLastErrorMessage: the file cannot be
 *  read, it has no code for the chip or for any chip, or for several where none
 *  is named. */
int lnbwdSimChooseDevice(const char *path, const char *chip);

/** The number of bytes that a kernel's explicit argument `index` takes, by the
 *  code object's metadata, and whether that is a pointer to global memory. -1:
 *  there is no such argument; -2: the kernel has no metadata. `function`: a
 *  hipFunction_t. */
int64_t lnbwdSimKernelArgument(void *function, unsigned index, int *is_buffer);

/** What checked launches with LNBWD_SIM_CHECK_COUNTS counted on the current
 *  device since lnbwdSimResetCounters, as JSON. Valid until the thread's next
 *  call. */
const char *lnbwdSimGetCountsJson(void);

/** From now on launches are predicted: how long they would take on a card.
 *  Only those workgroups are executed that this needs, so that outputs are not
 *  complete. `options`, separated by semicolons: "product=NAME" (by default the
 *  first one of the chip), "caches=warm" or "caches=cold" (whether a launch
 *  finds in the memory-side cache what the one before left; cold), "timeline"
 *  and "timeline=EVENTS" (of a launch, at most; 400000), and parameters of the
 *  model, "NAME=NUMBER"; simulator/docs/simulator.md has them.
 *  Null: launches are executed again. Of the current device. Returns 0, or -1
 *  with a message in lnbwdSimLastErrorMessage. */
int lnbwdSimSetTiming(const char *options);

/** What was predicted of launches on the current device since
 *  lnbwdSimSetTiming, as JSON. Valid until the thread's next call. */
const char *lnbwdSimGetTimingJson(void);

/** The timeline of these launches, a file for Perfetto; empty if none was asked
 *  for. Where a launch has more events than it may have, the file and
 * "warnings" of lnbwdSimGetTimingJson say so. Valid until the thread's next
 * call. */
const char *lnbwdSimGetTimelineJson(void);

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif /* LNBWD_SIMULATOR_SIMULATORAPI_H */
