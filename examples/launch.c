/*===- launch.c - Launch a compiled kernel from C -----------------*- C -*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Loads a compiled kernel, launches it on M rows of zeros, and says how large
|* its buffers are: the runtime's C interface from start to end.
|*
|*   lnbwd-opt examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 \
|*     --emit=hsaco -o k.hsaco
|*   cc examples/launch.c -Iinclude -Lbuild/lib -llnbwd-runtime \
|*     -Wl,-rpath,$PWD/build/lib -o launch
|*   ./launch k.hsaco sim 64
|*
\*===----------------------------------------------------------------------===*/

#include "lnbwd/Runtime/lnbwd_runtime.h"

#include <stdio.h>
#include <stdlib.h>

/* Every call returns a status; lnbwd_last_error() has the sentence to it. */
#define CHECK(call)                                                            \
  do {                                                                         \
    lnbwd_status status = (call);                                              \
    if (status != LNBWD_SUCCESS) {                                             \
      fprintf(stderr, "%s: %s\n", lnbwd_status_name(status),                   \
              lnbwd_last_error());                                             \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s KERNEL DEVICE ROWS\n", argv[0]);
    return 2;
  }
  int64_t rows = strtoll(argv[3], NULL, 10);

  lnbwd_program *program;
  lnbwd_device *device;
  lnbwd_kernel *kernel;
  CHECK(lnbwd_program_from_file(argv[1], &program));
  CHECK(lnbwd_device_open(argv[2], lnbwd_program_chip(program), &device));
  CHECK(lnbwd_kernel_load(device, program, &kernel));

  /* The plan inside the file says which buffers a launch takes. */
  size_t count = lnbwd_program_argument_count(program);
  void **arguments = calloc(count, sizeof(void *));
  if (!arguments)
    return 1;
  for (size_t i = 0; i < count; ++i) {
    lnbwd_argument_info info;
    size_t bytes;
    CHECK(lnbwd_program_argument(program, i, &info));
    CHECK(lnbwd_program_argument_size(program, i, rows, 0, &bytes));
    CHECK(lnbwd_malloc(device, bytes, &arguments[i]));
    CHECK(lnbwd_memset(device, arguments[i], 0, bytes, NULL));
    printf("%-7s %s %zu bytes\n", info.name,
           info.access == LNBWD_ACCESS_READ ? "read " : "write", bytes);
  }
  size_t workspace_bytes;
  void *workspace;
  CHECK(lnbwd_kernel_workspace_size(kernel, rows, 0, &workspace_bytes));
  CHECK(lnbwd_malloc(device, workspace_bytes, &workspace));

  CHECK(lnbwd_kernel_launch(kernel, arguments, count, rows, 0, workspace,
                            workspace_bytes, /*stream=*/NULL));
  CHECK(lnbwd_synchronize(device, NULL));
  printf("launched on %s with %zu bytes of workspace\n", argv[2],
         workspace_bytes);

  for (size_t i = 0; i < count; ++i)
    CHECK(lnbwd_free(device, arguments[i]));
  CHECK(lnbwd_free(device, workspace));
  free(arguments);
  lnbwd_kernel_destroy(kernel);
  lnbwd_device_close(device);
  lnbwd_program_destroy(program);
  return 0;
}
