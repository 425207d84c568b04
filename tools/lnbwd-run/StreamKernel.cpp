//===- StreamKernel.cpp - Two reads, one write, in PTX --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamKernel.h"

#include "lnbwd/Chips/ChipNames.h"

namespace lnbwd::run {

constexpr int kVectorsPerWorkItem = 4;

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
    std::string bytes = number(v * 256 * static_cast<int>(kStreamVectorBytes));
    std::string guard = "@%p" + number(v) + " ";
    text += "  add.u64 %offset, %index, " + v256 + ";\n";
    text += "  setp.lt.s64 %p" + number(v) + ", %offset, %count;\n";
    text += "  " + guard + "ld.global.v4.b32 " + vectorOf("x", v) + ", [%a+" +
            bytes + "];\n";
    text += "  " + guard + "ld.global.v4.b32 " + vectorOf("y", v) + ", [%b+" +
            bytes + "];\n";
  }
  for (int v = 0; v < kVectorsPerWorkItem; ++v) {
    std::string bytes = number(v * 256 * static_cast<int>(kStreamVectorBytes));
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

} // namespace lnbwd::run
