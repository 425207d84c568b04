/*===- lnbwd_runtime.h - Load and launch compiled kernels ---------*- C -*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* The C interface of the runtime: it reads a compiled kernel (.hsaco, .cubin,
|* .ptx) with the launch plan inside it, opens a device (AMD through HIP, NVIDIA
|* through the CUDA driver, or the simulator of AMD machine code) and launches.
|* The drivers are opened when a device is, so that neither is needed to build
|* or to link. Usable from C99, C++ and through a foreign-function interface.
|*
|* Conventions
|* - A function that can fail returns an lnbwd_status. On failure it leaves its
|*   output parameters alone, and lnbwd_last_error() gives the calling thread
|*   one line that says what was expected, what came and what to do.
|* - Sizes are bytes unless a name says otherwise. M is the number of rows.
|* - Of a program with arguments whose size depends on B or on M / B
|*   (lnbwd_argument_kind) the rows are B groups of M / B neighbouring ones
|*   each: B, `groups`, is a divisor of M, and 0 only where M is. Other programs
|*   take any B, and do not look at it.
|* - Handles may be used from several threads at once, but not be destroyed
|*   while another thread uses them. A kernel keeps its device and its program
|*   alive: the three may be destroyed in any order.
|* - The caller's current HIP device or CUDA context is left as it was.
|*
|* A launch from start to end, without the checks of the results:
|*
|*   lnbwd_program *program;
|*   lnbwd_device *device;
|*   lnbwd_kernel *kernel;
|*   lnbwd_program_from_file("layer_norm_bwd.hsaco", &program);
|*   lnbwd_device_open("sim", lnbwd_program_chip(program), &device);
|*   lnbwd_kernel_load(device, program, &kernel);
|*   size_t bytes;
|*   lnbwd_kernel_workspace_size(kernel, rows, 0, &bytes);
|*   ... lnbwd_malloc the workspace and the arguments ...
|*   lnbwd_kernel_launch(kernel, arguments, 8, rows, 0, workspace, bytes, NULL);
|*   lnbwd_synchronize(device, NULL);
|*
\*===----------------------------------------------------------------------===*/

#ifndef LNBWD_RUNTIME_LNBWD_RUNTIME_H
#define LNBWD_RUNTIME_LNBWD_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(LNBWD_RUNTIME_BUILD)
#define LNBWD_API __attribute__((visibility("default")))
#else
#define LNBWD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* C's names and typedefs, not those of the C++ code:
 * NOLINTBEGIN(readability-identifier-naming,modernize-use-using) */

/*===----------------------------------------------------------------------===*\
 * Errors
\*===----------------------------------------------------------------------===*/

/** What a call came to. The numbers are part of the interface. */
typedef enum lnbwd_status {
  LNBWD_SUCCESS = 0,
  /** A value that the caller passed is not allowed: a null or misaligned
   *  pointer, a wrong number of arguments, a negative M, a small workspace. */
  LNBWD_ERROR_INVALID_ARGUMENT = 1,
  /** The file cannot be read. */
  LNBWD_ERROR_FILE = 2,
  /** The bytes are no compiled kernel, are cut off, or carry no plan. */
  LNBWD_ERROR_INVALID_PROGRAM = 3,
  /** The plan is malformed, of an unknown version, or not that of the code. */
  LNBWD_ERROR_INVALID_PLAN = 4,
  /** The kernel was compiled for another chip than the device's. */
  LNBWD_ERROR_WRONG_CHIP = 5,
  /** There is no driver, or the driver has no such device. */
  LNBWD_ERROR_NO_DEVICE = 6,
  /** The device or the host has too little memory. */
  LNBWD_ERROR_OUT_OF_MEMORY = 7,
  /** A size does not fit in 63 bits, or a grid exceeds the device's limits. */
  LNBWD_ERROR_TOO_LARGE = 8,
  /** The driver refused a call; the message has its name and its words. */
  LNBWD_ERROR_DRIVER = 9,
  /** A mistake of this library. */
  LNBWD_ERROR_INTERNAL = 10
} lnbwd_status;

/** The library's version, "0.2.0". */
LNBWD_API const char *lnbwd_runtime_version(void);

/** The message of the calling thread's last failed call; empty if none failed.
 *  Valid until the thread's next failing call. */
LNBWD_API const char *lnbwd_last_error(void);

/** The name of a status, "LNBWD_ERROR_NO_DEVICE"; never null. */
LNBWD_API const char *lnbwd_status_name(lnbwd_status status);

/*===----------------------------------------------------------------------===*\
 * Programs: a compiled file and its launch plan, before any device
\*===----------------------------------------------------------------------===*/

typedef struct lnbwd_program lnbwd_program;

/** Whether a kernel reads or writes an argument. */
typedef enum lnbwd_access {
  LNBWD_ACCESS_READ = 0,
  LNBWD_ACCESS_WRITE = 1, /**< every element is written */
  LNBWD_ACCESS_READ_WRITE = 2
} lnbwd_access;

/** The shape of an argument, row-major and dense, for M rows in B groups. */
typedef enum lnbwd_argument_kind {
  LNBWD_ARGUMENT_ROW_BLOCK = 0,           /**< M x row_length */
  LNBWD_ARGUMENT_COLUMN = 1,              /**< row_length */
  LNBWD_ARGUMENT_ROW_SCALAR = 2,          /**< M */
  LNBWD_ARGUMENT_GROUP_COLUMN = 3,        /**< B x row_length */
  LNBWD_ARGUMENT_REPEATED_ROW_BLOCK = 4,  /**< M / B x row_length: each group
                                               has the same rows */
  LNBWD_ARGUMENT_REPEATED_ROW_SCALAR = 5, /**< M / B */
  LNBWD_ARGUMENT_GROUP_SCALAR = 6,        /**< B */
  LNBWD_ARGUMENT_NUMBER = 7               /**< 1 */
} lnbwd_argument_kind;

/** The type of an argument's elements. */
typedef enum lnbwd_element {
  LNBWD_ELEMENT_F16 = 0,
  LNBWD_ELEMENT_BF16 = 1,
  LNBWD_ELEMENT_F32 = 2,
  LNBWD_ELEMENT_I8 = 3, /**< a byte; of a mask 0 or 1 */
  LNBWD_ELEMENT_I32 = 4,
  LNBWD_ELEMENT_I64 = 5,
  LNBWD_ELEMENT_F8E4M3FN = 6,
  LNBWD_ELEMENT_F8E5M2 = 7,
  LNBWD_ELEMENT_F8E4M3FNUZ = 8,
  LNBWD_ELEMENT_F8E5M2FNUZ = 9,
  LNBWD_ELEMENT_F8E8M0FNU = 10,
  LNBWD_ELEMENT_I16 = 11,
  LNBWD_ELEMENT_SI8 = 12, /**< in no plan, which has I8 */
  LNBWD_ELEMENT_UI8 = 13  /**< in no plan, which has I8 */
} lnbwd_element;

/** One argument of a program. The name lives as long as the program. */
typedef struct lnbwd_argument_info {
  const char *name;
  lnbwd_access access;
  lnbwd_argument_kind kind;
  lnbwd_element element;
  int64_t row_length;
  int64_t row_stride; /**< elements from one row to the next, row_length or
                           more; 1 for row scalars */
  int64_t alignment;  /**< what its address has to be a multiple of, in bytes */
} lnbwd_argument_info;

/** Reads a compiled kernel from memory; the bytes are copied. Everything that
 *  can be checked without a device is: the file's format, the plan, and for AMD
 *  code that the code has the kernels and parameters that the plan names.
 *  `chip` is for offload bundles (one file for several chips, in clang's
 *  format) and may else be null: the entry is taken for that
 *  lnbwd_device_info.arch, "gfx942:sramecc+:xnack-" or "sm_90". For an NVIDIA
 *  device without an entry of its own that is the PTX of the latest chip before
 *  it. LNBWD_ERROR_WRONG_CHIP, with the entries there are, if none fits; a
 *  plain kernel is taken whatever its chip is. */
LNBWD_API lnbwd_status lnbwd_program_from_memory(const void *data, size_t size,
                                                 const char *chip,
                                                 lnbwd_program **program);
/** The same from a file, which is no bundle. */
LNBWD_API lnbwd_status lnbwd_program_from_file(const char *path,
                                               lnbwd_program **program);
/** Null is allowed. */
LNBWD_API void lnbwd_program_destroy(lnbwd_program *program);

/** The plan as it stands in the file: JSON, see docs/runtime.md. */
LNBWD_API const char *lnbwd_program_plan(const lnbwd_program *program);
/** The plan's name of the operation, "layer_norm_bwd". */
LNBWD_API const char *lnbwd_program_name(const lnbwd_program *program);
/** The chip that the program was compiled for, "gfx942" or "sm_90", with the
 *  settings of its target id if it has any, "gfx942:xnack+". */
LNBWD_API const char *lnbwd_program_chip(const lnbwd_program *program);
/** The format of the file: "hsaco", "cubin" or "ptx". */
LNBWD_API const char *lnbwd_program_format(const lnbwd_program *program);
/** The number of arguments that a launch takes. */
LNBWD_API size_t lnbwd_program_argument_count(const lnbwd_program *program);
/** Describes argument `index`. */
LNBWD_API lnbwd_status lnbwd_program_argument(const lnbwd_program *program,
                                              size_t index,
                                              lnbwd_argument_info *info);
/** The size of argument `index` for M = `rows` and B = `groups`, in bytes. */
LNBWD_API lnbwd_status lnbwd_program_argument_size(const lnbwd_program *program,
                                                   size_t index, int64_t rows,
                                                   int64_t groups,
                                                   size_t *bytes);

/*===----------------------------------------------------------------------===*\
 * Devices
\*===----------------------------------------------------------------------===*/

typedef struct lnbwd_device lnbwd_device;

/** What is fixed about a device. */
typedef struct lnbwd_device_info {
  char name[256];        /**< "NVIDIA H200" */
  char arch[64];         /**< "gfx942" or "sm_90" */
  char driver[256];      /**< "CUDA 13.0 (libcuda.so.1)" */
  int64_t compute_units; /**< or streaming multiprocessors: the plan's C
                              (docs/runtime.md), on RDNA twice what HIP's
                              multiProcessorCount says */
  int64_t wave_size;     /**< work-items of a wave (warp) */
  uint64_t memory_bytes; /**< of the device, all of it */
  uint64_t l2_bytes;     /**< 0 if the driver does not say */
  int is_simulated;      /**< 1: times mean nothing */
} lnbwd_device_info;

/** Opens a device.
 *  `spec` is one of
 *    "sim"         the simulated device whose chip is `chip`
 *    "sim:gfx942"  the simulated device of that chip
 *    "hip", "hip:I"    AMD device I, 0 if not given
 *    "cuda", "cuda:I"  NVIDIA device I, 0 if not given
 *  `chip` (lnbwd_program_chip) is used by "sim" alone and may else be null.
 *
 *  Environment: LNBWD_HIP_LIBRARY, LNBWD_CUDA_LIBRARY and LNBWD_SIM_LIBRARY
 *  name the library to open instead of the usual libamdhip64.so,
 *  libcuda.so.1, and liblnbwd-hip-sim.so beside this library. */
LNBWD_API lnbwd_status lnbwd_device_open(const char *spec, const char *chip,
                                         lnbwd_device **device);
/** Null is allowed. Memory from lnbwd_malloc is to be freed before. */
LNBWD_API void lnbwd_device_close(lnbwd_device *device);

LNBWD_API lnbwd_status lnbwd_device_get_info(const lnbwd_device *device,
                                             lnbwd_device_info *info);
/** The device's memory now, in bytes. Either pointer may be null. */
LNBWD_API lnbwd_status lnbwd_device_memory(const lnbwd_device *device,
                                           uint64_t *free_bytes,
                                           uint64_t *total_bytes);
/** Makes the device the calling thread's current one (hipSetDevice, or
 *  cuCtxSetCurrent of its primary context), for the driver's own functions. The
 *  functions of this header need no current device. */
LNBWD_API lnbwd_status lnbwd_device_make_current(const lnbwd_device *device);
/** A function of the driver library behind the device, by its name, or null.
 *  This is how the simulator's extra functions (SimulatorAPI.h) are reached,
 *  which are about the current device. */
LNBWD_API void *lnbwd_device_symbol(const lnbwd_device *device,
                                    const char *name);

/*===----------------------------------------------------------------------===*\
 * Kernels: a program on a device
\*===----------------------------------------------------------------------===*/

typedef struct lnbwd_kernel lnbwd_kernel;

/** Loads a program on a device, whose chip must be the program's. */
LNBWD_API lnbwd_status lnbwd_kernel_load(const lnbwd_device *device,
                                         const lnbwd_program *program,
                                         lnbwd_kernel **kernel);
/** Null is allowed. No launch of it may be under way. */
LNBWD_API void lnbwd_kernel_destroy(lnbwd_kernel *kernel);

/** The size of the workspace that a launch with M = `rows` and B = `groups`
 *  needs; may be 0. */
LNBWD_API lnbwd_status lnbwd_kernel_workspace_size(const lnbwd_kernel *kernel,
                                                   int64_t rows, int64_t groups,
                                                   size_t *bytes);

/** Enqueues all kernels of the plan, in order, on one stream, and returns.
 *
 *  arguments        device pointers in the plan's order, each aligned as
 *                   lnbwd_argument_info says; null only where the buffer is
 * empty (M = 0). A written row block may be a read one, row for row, unless the
 * plan says separate_buffers, as it does for programs with matrices:
 * LNBWD_ERROR_INVALID_ARGUMENT argument_count   their number rows, groups     M
 * and B, 0 or more workspace        device memory aligned to 256 bytes, of any
 * content; null only where the needed size is 0. Two launches that may run at
 * the same time need two. workspace_bytes  its size, at least
 * lnbwd_kernel_workspace_size's stream           hipStream_t or CUstream; null
 * is the default stream
 *
 *  Allocates nothing and does not wait for the device. */
LNBWD_API lnbwd_status lnbwd_kernel_launch(const lnbwd_kernel *kernel,
                                           void *const *arguments,
                                           size_t argument_count, int64_t rows,
                                           int64_t groups, void *workspace,
                                           size_t workspace_bytes,
                                           void *stream);

/*===----------------------------------------------------------------------===*\
 * Memory, waiting and time, so that a client needs no other library
\*===----------------------------------------------------------------------===*/

/** Device memory, aligned to 256 bytes. 0 bytes give a null pointer. */
LNBWD_API lnbwd_status lnbwd_malloc(const lnbwd_device *device, size_t bytes,
                                    void **pointer);
/** Null is allowed. */
LNBWD_API lnbwd_status lnbwd_free(const lnbwd_device *device, void *pointer);
/** Copies; both wait until the copy is done. */
LNBWD_API lnbwd_status lnbwd_copy_to_device(const lnbwd_device *device,
                                            void *destination,
                                            const void *source, size_t bytes);
LNBWD_API lnbwd_status lnbwd_copy_to_host(const lnbwd_device *device,
                                          void *destination, const void *source,
                                          size_t bytes);
/** Enqueues a copy within the device's memory. */
LNBWD_API lnbwd_status lnbwd_copy_on_device(const lnbwd_device *device,
                                            void *destination,
                                            const void *source, size_t bytes,
                                            void *stream);
/** Enqueues setting each byte to `value` (0 to 255). */
LNBWD_API lnbwd_status lnbwd_memset(const lnbwd_device *device, void *pointer,
                                    int value, size_t bytes, void *stream);
/** Waits for a stream (null: the default one), and reports what went wrong on
 *  the device since. */
LNBWD_API lnbwd_status lnbwd_synchronize(const lnbwd_device *device,
                                         void *stream);

typedef struct lnbwd_event lnbwd_event;

/** An event that notes the device's time when it is reached in a stream. */
LNBWD_API lnbwd_status lnbwd_event_create(const lnbwd_device *device,
                                          lnbwd_event **event);
/** Null is allowed. */
LNBWD_API void lnbwd_event_destroy(lnbwd_event *event);
LNBWD_API lnbwd_status lnbwd_event_record(lnbwd_event *event, void *stream);
/** Waits for `stop` and gives the time from `start` to it, in milliseconds. */
LNBWD_API lnbwd_status lnbwd_event_elapsed(lnbwd_event *start,
                                           lnbwd_event *stop,
                                           double *milliseconds);

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif /* LNBWD_RUNTIME_LNBWD_RUNTIME_H */
