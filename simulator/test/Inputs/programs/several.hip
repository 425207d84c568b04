//===- several.hip - Most of the programs beside it as one ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most of what a build takes is to read HIP's headers: this one builds all of
// them at once. Its first argument names the program.
//
//===----------------------------------------------------------------------===//

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace histogram {
#include "histogram.hip"
}
namespace faults {
#include "host-faults.hip"
}
namespace pools {
#include "pools.hip"
}
namespace reduction {
#include "reduction.hip"
}
namespace streams {
#include "streams.hip"
}
namespace transpose {
#include "transpose.hip"
}

int main(int Count, char **Arguments) {
  const std::string Name = Count > 1 ? Arguments[1] : "";
  if (Name == "histogram")
    return histogram::main();
  if (Name == "faults")
    return faults::main(Count - 1, Arguments + 1);
  if (Name == "pools")
    return pools::main(Count - 1, Arguments + 1);
  if (Name == "reduction")
    return reduction::main();
  if (Name == "streams")
    return streams::main();
  if (Name == "transpose")
    return transpose::main();
  std::fprintf(stderr, "no program '%s'\n", Name.c_str());
  return 9;
}
