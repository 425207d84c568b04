/*===- main.c - A client of the installed runtime -----------------*- C -*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* A C99 program that knows the runtime by its installed header alone. Launches
|* the kernel file of its first argument on the device of its second, with dy =
|* 1: each element of dbeta is then M.
|*
\*===----------------------------------------------------------------------===*/

#include <lnbwd/Runtime/lnbwd_runtime.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 5
#define MAX_ARGUMENTS 64

static void check(lnbwd_status status, const char *what) {
  if (status == LNBWD_SUCCESS)
    return;
  fprintf(stderr, "%s: %s: %s\n", what, lnbwd_status_name(status),
          lnbwd_last_error());
  exit(1);
}

int main(int argc, char **argv) {
  lnbwd_program *program = NULL;
  lnbwd_device *device = NULL;
  lnbwd_kernel *kernel = NULL;
  void *arguments[MAX_ARGUMENTS] = {NULL};
  void *workspace = NULL;
  size_t workspace_bytes = 0;
  size_t count;
  size_t i;
  int result = 1;

  if (argc == 1) {
    printf("%s\n", lnbwd_runtime_version());
    return 0;
  }
  if (argc != 3) {
    fprintf(stderr, "usage: %s KERNEL DEVICE\n", argv[0]);
    return 2;
  }
  check(lnbwd_program_from_file(argv[1], &program), "program");
  check(lnbwd_device_open(argv[2], lnbwd_program_chip(program), &device),
        "device");
  check(lnbwd_kernel_load(device, program, &kernel), "kernel");
  check(lnbwd_kernel_workspace_size(kernel, ROWS, 0, &workspace_bytes), "size");
  check(lnbwd_malloc(device, workspace_bytes, &workspace), "workspace");

  count = lnbwd_program_argument_count(program);
  if (count > MAX_ARGUMENTS)
    return 2;
  for (i = 0; i < count; ++i) {
    lnbwd_argument_info info;
    size_t bytes;
    size_t j;
    float *host;
    check(lnbwd_program_argument(program, i, &info), "argument");
    check(lnbwd_program_argument_size(program, i, ROWS, 0, &bytes), "size");
    check(lnbwd_malloc(device, bytes, &arguments[i]), "argument");
    host = malloc(bytes);
    for (j = 0; j < bytes / sizeof(float); ++j)
      host[j] = strcmp(info.name, "dy") == 0 ? 1.0f : 0.5f;
    check(lnbwd_copy_to_device(device, arguments[i], host, bytes), "copy");
    free(host);
  }
  check(lnbwd_kernel_launch(kernel, arguments, count, ROWS, 0, workspace,
                            workspace_bytes, NULL),
        "launch");
  check(lnbwd_synchronize(device, NULL), "synchronize");

  for (i = 0; i < count; ++i) {
    lnbwd_argument_info info;
    float value = 0;
    check(lnbwd_program_argument(program, i, &info), "argument");
    if (strcmp(info.name, "dbeta") == 0) {
      check(lnbwd_copy_to_host(device, &value, arguments[i], sizeof(value)),
            "copy");
      printf("dbeta[0] = %g\n", value);
      result = value == ROWS ? 0 : 1;
    }
    check(lnbwd_free(device, arguments[i]), "free");
  }
  check(lnbwd_free(device, workspace), "free");
  lnbwd_kernel_destroy(kernel);
  lnbwd_program_destroy(program);
  lnbwd_device_close(device);
  return result;
}
