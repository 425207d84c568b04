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
#include "StreamProgram.h"

#include "lnbwd/Chips/ChipNames.h"

namespace lnbwd::run {

constexpr int kVectorsPerWorkItem = 4;
/// Bytes of one of the vectors that M counts in PTX.
constexpr int kVectorBytes = 16;

constexpr const char *kPlan =
    R"(// lnbwd-plan: {"format": "lnbwd-plan", "version": 1, "producer": "lnbwd-run", "name": "stream", "chip": ")" LNBWD_OLDEST_PTX_TARGET
    R"(", "wave_size": 32, "arguments": [{"name": "a", "access": "read", "kind": "row_block", "element": "f32", "row_length": 4}, {"name": "b", "access": "read", "kind": "row_block", "element": "f32", "row_length": 4}, {"name": "c", "access": "write", "kind": "row_block", "element": "f32", "row_length": 4}], "workgroup_counts": [{"rows_per_workgroup": 1024, "workgroups_per_compute_unit": 0}], "workspace": [], "kernels": [{"name": "stream", "grid": [{"workgroup_count": 0}, 1, 1], "block": [256, 1, 1], "dynamic_shared_bytes": 0, "parameters": [{"argument": 0}, {"argument": 1}, {"argument": 2}, {"rows": true}]}]}
)";

constexpr const char *kHead = R"(.version 6.0
.target )" LNBWD_OLDEST_PTX_TARGET R"(
.address_size 64

.visible .entry stream(.param .u64 a, .param .u64 b, .param .u64 c,
                       .param .u64 vectors)
{
  .reg .u64 %a, %b, %c, %count, %index, %offset, %block;
  .reg .u32 %t, %g;
)";

constexpr const char *kAddresses = R"(
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
  mul.wide.u32 %block, %g, 1024;
  add.u64 %index, %index, %block;
  shl.b64 %offset, %index, 4;
  add.u64 %a, %a, %offset;
  add.u64 %b, %b, %offset;
  add.u64 %c, %c, %offset;
)";

static std::string number(int value) { return std::to_string(value); }

/// The registers of one vector: "{%x0_0, %x0_1, %x0_2, %x0_3}".
static std::string vectorOf(const char *name, int vector) {
  std::string text = "{";
  for (int i = 0; i < 4; ++i)
    text += (i ? ", %" : "%") + std::string(name) + number(vector) + "_" +
            number(i);
  return text + "}";
}

std::string streamKernelPtx() {
  std::string text = std::string(kPlan) + kHead;
  for (int v = 0; v < kVectorsPerWorkItem; ++v) {
    text += "  .reg .pred %p" + number(v) + ";\n";
    for (const char *name : {"x", "y"})
      for (int i = 0; i < 4; ++i)
        text += "  .reg .b32 %" + std::string(name) + number(v) + "_" +
                number(i) + ";\n";
  }
  text += kAddresses;
  for (int v = 0; v < kVectorsPerWorkItem; ++v) {
    std::string v256 = number(v * 256);
    std::string bytes = number(v * 256 * kVectorBytes);
    std::string guard = "@%p" + number(v) + " ";
    text += "  add.u64 %offset, %index, " + v256 + ";\n";
    text += "  setp.lt.s64 %p" + number(v) + ", %offset, %count;\n";
    text += "  " + guard + "ld.global.v4.b32 " + vectorOf("x", v) + ", [%a+" +
            bytes + "];\n";
    text += "  " + guard + "ld.global.v4.b32 " + vectorOf("y", v) + ", [%b+" +
            bytes + "];\n";
  }
  for (int v = 0; v < kVectorsPerWorkItem; ++v) {
    std::string bytes = number(v * 256 * kVectorBytes);
    for (int i = 0; i < 4; ++i) {
      std::string suffix = number(v) + "_" + number(i);
      text +=
          "  xor.b32 %x" + suffix + ", %x" + suffix + ", %y" + suffix + ";\n";
    }
    text += "  @%p" + number(v) + " st.global.v4.b32 [%c+" + bytes + "], " +
            vectorOf("x", v) + ";\n";
  }
  return text + "  ret;\n}\n";
}

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
    check(lnbwd_program_argument_size(program, i, 1, &bytes));
    first = i == 0 ? bytes : first;
    if (argument.kind != LNBWD_ARGUMENT_ROW_BLOCK || bytes != first ||
        argument.access != (i < 2 ? LNBWD_ACCESS_READ : LNBWD_ACCESS_WRITE))
      refuse(std::string("whose argument '") + argument.name +
             "' is something else");
  }
}

ProgramHandle loadStream(const Options &options, const std::string &chip) {
  if (!options.streamFile.empty()) {
    ProgramHandle program = loadProgram(options.streamFile);
    checkStream(program.get(), chip, options.streamFile);
    return program;
  }
  if (chip.compare(0, 3, "gfx") == 0) {
    if (!hasCompiler())
      return nullptr;
    return readProgram(compileMlir(kStreamMlir, chip, ""));
  }
  return readProgram(streamKernelPtx());
}

} // namespace lnbwd::run
