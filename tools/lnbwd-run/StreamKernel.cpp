//===- StreamKernel.cpp - Two reads and one write -------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamKernel.h"

#include "Failure.h"
#include "KernelCompiler.h"

#include "lnbwd/Chips/ChipNames.h"

namespace lnbwd::run {

/// The stream as a row program.
constexpr const char *kStreamMlir =
#include "stream.mlir.inc"
    ;

constexpr const char *kPlan =
    R"(// lnbwd-plan: {"format": "lnbwd-plan", "version": 1, "producer": "lnbwd-run", "name": "stream", "chip": ")" LNBWD_OLDEST_PTX_TARGET
    R"(", "wave_size": 32, "arguments": [{"name": "a", "access": "read", "kind": "row_block", "element": "f32", "row_length": 4}, {"name": "b", "access": "read", "kind": "row_block", "element": "f32", "row_length": 4}, {"name": "c", "access": "write", "kind": "row_block", "element": "f32", "row_length": 4}], "workgroup_counts": [{"rows_per_workgroup": 1024, "workgroups_per_compute_unit": 0}], "workspace": [], "kernels": [{"name": "stream", "grid": [{"workgroup_count": 0}, 1, 1], "block": [256, 1, 1], "dynamic_shared_bytes": 0, "parameters": [{"argument": 0}, {"argument": 1}, {"argument": 2}, {"rows": true}]}]}
)";

constexpr const char *kKernel = R"(.version 6.0
.target )" LNBWD_OLDEST_PTX_TARGET R"(
.address_size 64

.visible .entry stream(.param .u64 a, .param .u64 b, .param .u64 c,
                       .param .u64 vectors)
{
  .reg .u64 %a, %b, %c, %count, %index, %offset;
  .reg .u32 %t, %g;
  .reg .pred %p<4>;
  .reg .b64 %x<8>, %y<8>;

  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  ld.param.u64 %c, [c];
  ld.param.u64 %count, [vectors];
  cvta.to.global.u64 %a, %a;
  cvta.to.global.u64 %b, %b;
  cvta.to.global.u64 %c, %c;
  mov.u32 %t, %tid.x;
  mov.u32 %g, %ctaid.x;
  cvt.u64.u32 %index, %t;
  mad.wide.u32 %index, %g, 1024, %index;
  shl.b64 %offset, %index, 4;
  add.u64 %a, %a, %offset;
  add.u64 %b, %b, %offset;
  add.u64 %c, %c, %offset;
  add.u64 %offset, %index, 0;
  setp.lt.s64 %p0, %offset, %count;
  @%p0 ld.global.v2.b64 {%x0, %x1}, [%a+0];
  @%p0 ld.global.v2.b64 {%y0, %y1}, [%b+0];
  add.u64 %offset, %index, 256;
  setp.lt.s64 %p1, %offset, %count;
  @%p1 ld.global.v2.b64 {%x2, %x3}, [%a+4096];
  @%p1 ld.global.v2.b64 {%y2, %y3}, [%b+4096];
  add.u64 %offset, %index, 512;
  setp.lt.s64 %p2, %offset, %count;
  @%p2 ld.global.v2.b64 {%x4, %x5}, [%a+8192];
  @%p2 ld.global.v2.b64 {%y4, %y5}, [%b+8192];
  add.u64 %offset, %index, 768;
  setp.lt.s64 %p3, %offset, %count;
  @%p3 ld.global.v2.b64 {%x6, %x7}, [%a+12288];
  @%p3 ld.global.v2.b64 {%y6, %y7}, [%b+12288];
  xor.b64 %x0, %x0, %y0;
  xor.b64 %x1, %x1, %y1;
  @%p0 st.global.v2.b64 [%c+0], {%x0, %x1};
  xor.b64 %x2, %x2, %y2;
  xor.b64 %x3, %x3, %y3;
  @%p1 st.global.v2.b64 [%c+4096], {%x2, %x3};
  xor.b64 %x4, %x4, %y4;
  xor.b64 %x5, %x5, %y5;
  @%p2 st.global.v2.b64 [%c+8192], {%x4, %x5};
  xor.b64 %x6, %x6, %y6;
  xor.b64 %x7, %x7, %y7;
  @%p3 st.global.v2.b64 [%c+12288], {%x6, %x7};
  ret;
}
)";

std::string streamKernelPtx() { return std::string(kPlan) + kKernel; }

/// Refuses a program that does not read two arrays and write a third, all of
/// one size.
static void checkStream(const lnbwd_program *program, const std::string &chip,
                        const std::string &file) {
  auto refuse = [&](const std::string &problem) {
    throw UsageFailure("--stream: expected a kernel for " + chip +
                       " that reads two row blocks and writes a third of the "
                       "same size, got one " +
                       problem + " in '" + file + "'");
  };
  const std::string got = lnbwd_program_chip(program);
  if (got.substr(0, got.find(':')) != chip.substr(0, chip.find(':')))
    refuse("for " + got);
  const size_t count = lnbwd_program_argument_count(program);
  if (count != 3)
    refuse("with " + std::to_string(count) + " arguments");
  size_t first = 0;
  for (size_t i = 0; i < count; ++i) {
    lnbwd_argument_info argument;
    check(lnbwd_program_argument(program, i, &argument));
    size_t bytes = 0;
    check(lnbwd_program_argument_size(program, i, 1, 0, &bytes));
    first = i == 0 ? bytes : first;
    if (argument.kind != LNBWD_ARGUMENT_ROW_BLOCK || bytes != first ||
        argument.access != (i < 2 ? LNBWD_ACCESS_READ : LNBWD_ACCESS_WRITE))
      refuse(std::string("whose argument '") + argument.name +
             "' is something else");
  }
}

ProgramHandle loadStream(const Options &options, const std::string &chip) {
  if (!options.streamFile.empty()) {
    auto program = make<ProgramHandle>(lnbwd_program_from_file,
                                       options.streamFile.c_str());
    checkStream(program.get(), chip, options.streamFile);
    return program;
  }
  bool isAmd = chip.compare(0, 3, "gfx") == 0;
  if (isAmd && !hasCompiler())
    return nullptr;
  std::string code =
      isAmd ? compileMlir(kStreamMlir, chip, "") : streamKernelPtx();
  return make<ProgramHandle>(lnbwd_program_from_memory, code.data(),
                             code.size());
}

} // namespace lnbwd::run
