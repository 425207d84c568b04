/*===- OldGlibc.c - Running with an older glibc than that of the build ----===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Linked into what the wheels have, and into nothing else. LLVM's and the C++
|* library's static libraries call arc4random where the glibc that they were
|* built with has it, which is 2.36; this one in its place lets them run with
|* 2.34. It is asked for seeds and names of temporary files.
|*
\*===----------------------------------------------------------------------===*/

#include <stdint.h>
#include <sys/random.h>

/* Not through <stdlib.h>, whose declaration would be of the newer glibc. */
__attribute__((visibility("hidden"))) uint32_t arc4random(void);

uint32_t arc4random(void) {
  uint32_t value = 0;
  /* So few bytes come whole; a signal may come before them. */
  while (getrandom(&value, sizeof(value), 0) != (ssize_t)sizeof(value)) {
  }
  return value;
}
