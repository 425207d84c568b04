/*===- lnbwd_compiler.h - Compile to machine code -----------------*- C -*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* The C interface of the compiler: MLIR text in, machine code with its launch
|* plan out, by the same driver as lnbwd-opt. Usable from C99, C++ and through a
|* foreign-function interface. All functions may be called from several threads
|* at once; a result belongs to one thread at a time.
|*
|*   lnbwd_compile_options options = {sizeof(options)};
|*   lnbwd_compilation *result;
|*   options.chip = "gfx942";
|*   if (lnbwd_compile(text, strlen(text), &options, &result) != 0)
|*     fputs(lnbwd_compilation_diagnostics(result), stderr);
|*   else
|*     lnbwd_compilation_get(result, "code", &data, &size);
|*   lnbwd_compilation_destroy(result);
|*
\*===----------------------------------------------------------------------===*/

#ifndef LNBWD_COMPILER_LNBWD_COMPILER_H
#define LNBWD_COMPILER_LNBWD_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#if defined(LNBWD_COMPILER_BUILD)
#define LNBWD_COMPILER_API __attribute__((visibility("default")))
#else
#define LNBWD_COMPILER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* C's names and typedefs, not those of the C++ code:
 * NOLINTBEGIN(readability-identifier-naming,modernize-use-using) */

/** What a call came to. The numbers are part of the interface. */
typedef enum lnbwd_compiler_status {
  LNBWD_COMPILER_SUCCESS = 0,
  /** The source or the options are wrong; the diagnostics say how. */
  LNBWD_COMPILER_ERROR_INPUT = 1,
  /** A null pointer, a structure of an unknown size, a number out of range, or
   *  a part that the compilation does not have. */
  LNBWD_COMPILER_ERROR_ARGUMENT = 2
} lnbwd_compiler_status;

/** The compiler's version, "0.2.0". */
LNBWD_COMPILER_API const char *lnbwd_compiler_version(void);
/** The version of LLVM behind it, "22.1.8". */
LNBWD_COMPILER_API const char *lnbwd_compiler_llvm_version(void);

/** How to compile. Zero everything but `size` for the defaults. */
typedef struct lnbwd_compile_options {
  /** sizeof(lnbwd_compile_options) */
  size_t size;
  /** The chip, "gfx942", or a target id with settings of the device,
   *  "gfx942:sramecc+:xnack-" (docs/runtime.md); needed. */
  const char *chip;
  /** Options of lnbwd-pipeline beside chip: "schedule=threads_per_row=128
   *  two-pass=always". Null: none. */
  const char *pipeline_options;
  /** "hsaco", "ptx", "cubin", or a text ("mlir", "llvm", "isa", "report",
   *  "report-json"), as lnbwd-opt --emit. Null: hsaco or ptx, whichever the
   *  chip has. */
  const char *format;
  /** What diagnostics call the source. Null: "input". */
  const char *source_name;
  /** The folder that takes the IR after each stage. Null: it is not kept. */
  const char *save_temps;
  /** The number of rows that the formats "report" and "report-json" are for. */
  int64_t report_rows;
} lnbwd_compile_options;

/** The outcome of a compilation or of a bundling. */
typedef struct lnbwd_compilation lnbwd_compilation;

/** Compiles one function. A result is made whether this succeeds or not, unless
 *  LNBWD_COMPILER_ERROR_ARGUMENT is returned. */
LNBWD_COMPILER_API lnbwd_compiler_status
lnbwd_compile(const char *source, size_t source_size,
              const lnbwd_compile_options *options, lnbwd_compilation **result);

/** Of what to derive the gradient, as lnbwd-differentiate's options of these
 *  names have it: names of operands, separated by commas. Zero everything but
 *  `size` for the defaults. */
typedef struct lnbwd_differentiate_options {
  /** sizeof(lnbwd_differentiate_options) */
  size_t size;
  /** The inputs that gradients are wanted of. Null: all. */
  const char *wrt;
  /** The outputs that the loss depends on. Null: all but the row scalars that
   *  are saved. */
  const char *of;
  /** The outputs that the gradient is given, or "none". Null: the statistics of
   *  a named operation. */
  const char *saved;
  /** What diagnostics call the source. Null: "input". */
  const char *source_name;
} lnbwd_differentiate_options;

/** Derives the gradient of the forward operation of each function, for no chip
 *  yet: MLIR in, MLIR out, the result's "code". A result is made whether this
 *  succeeds or not, unless LNBWD_COMPILER_ERROR_ARGUMENT is returned. */
LNBWD_COMPILER_API lnbwd_compiler_status lnbwd_differentiate(
    const char *source, size_t source_size,
    const lnbwd_differentiate_options *options, lnbwd_compilation **result);

/** Errors and warnings with lines of the source, one text; empty if there were
 *  none. Lives as long as the result. */
LNBWD_COMPILER_API const char *
lnbwd_compilation_diagnostics(const lnbwd_compilation *result);

/** One part of a successful compilation, which lives as long as it:
 *    "code"   what was asked for: machine code with its launch plan
 *    "llvm"   LLVM IR after optimisation
 *    "isa"    the target's assembly (for NVIDIA the PTX)
 *  Texts are not ended by a zero byte. */
LNBWD_COMPILER_API lnbwd_compiler_status
lnbwd_compilation_get(const lnbwd_compilation *result, const char *part,
                      const void **data, size_t *size);

/** Null is allowed. */
LNBWD_COMPILER_API void lnbwd_compilation_destroy(lnbwd_compilation *result);

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif /* LNBWD_COMPILER_LNBWD_COMPILER_H */
