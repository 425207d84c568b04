# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stream: kernels of two reads and one write, the roof of LayerNorm backward.

For NVIDIA written as PTX text with a launch plan (docs/abi.md), so that the driver compiles them,
the runtime launches them the way it launches ours, and nothing else has a hand in the result. Each
combines two arrays with exclusive or, 16 bytes an access. For AMD, whose driver takes machine code
alone, the row program of lnbwd-run (stream.mlir), compiled in several schedules.
"""

from __future__ import annotations

import json
import pathlib
from dataclasses import dataclass

from lnbwd import _chips

VECTOR_BYTES = 16

# The row program, where the compiler is.
SOURCE = pathlib.Path(__file__).resolve().parents[2] / "tools" / "lnbwd-run" / "stream.mlir"


def schedules() -> list[str]:
    """The schedules that are tried on AMD, as the pipeline takes them; the first one is the
    compiler's own. Rows of 1024 float32 are 16 bytes for each of 256 work-items."""
    result = [""]
    for groups, unroll in ((1, 1), (1, 4), (2, 2), (4, 1), (4, 2)):
        for workgroups in (0, 8):
            result.append(f"threads_per_row=256,row_groups={groups},vector_width=4,"
                          f"rows_per_workgroup={groups * unroll},prefetch=0,unroll={unroll},"
                          f"workgroups_per_compute_unit={workgroups}")
    return result


@dataclass(frozen=True)
class StreamVariant:
    """One launch shape of the stream.

    Attributes:
        threads: work-items of a workgroup.
        vectors: 16-byte accesses to each array that a work-item has in flight at once.
        workgroups: workgroups for each multiprocessor that take pieces in turn; 0: one workgroup
            for each piece.
        streaming: whether loads and stores carry the hints of data that is used once.
    """

    threads: int
    vectors: int
    workgroups: int = 0
    streaming: bool = False

    def __str__(self) -> str:
        grid = f"{self.workgroups} a multiprocessor" if self.workgroups else "one a piece"
        hint = ", streaming hints" if self.streaming else ""
        return f"{self.threads} threads x {self.vectors} vectors, {grid}{hint}"


def variants() -> list[StreamVariant]:
    """The launch shapes that are tried."""
    result = [StreamVariant(threads, vectors, 0, streaming)
              for threads in (256, 512, 1024) for vectors in (1, 2, 4, 8)
              for streaming in (False, True) if threads * vectors <= 4096]
    result += [StreamVariant(threads, vectors, 2048 // threads, True)
               for threads in (256, 512, 1024) for vectors in (2, 4) if threads * vectors <= 2048]
    return result


def _plan(variant: StreamVariant) -> str:
    rows = [{"name": name, "access": access, "kind": "row_block", "element": "f32",
             "row_length": VECTOR_BYTES // 4}
            for name, access in (("a", "read"), ("b", "read"), ("c", "write"))]
    return json.dumps({
        "format": "lnbwd-plan", "version": 1, "producer": "lnbwd benchmark", "name": "stream",
        "chip": _chips.PTX, "wave_size": 32, "arguments": rows,
        "workgroup_counts": [{"rows_per_workgroup": variant.threads * variant.vectors,
                              "workgroups_per_compute_unit": variant.workgroups}],
        "workspace": [],
        "kernels": [{"name": "stream", "grid": [{"workgroup_count": 0}, 1, 1],
                     "block": [variant.threads, 1, 1], "dynamic_shared_bytes": 0,
                     "parameters": [{"argument": 0}, {"argument": 1}, {"argument": 2},
                                    {"rows": True}, {"workgroup_count": 0}]}]})


def stream_ptx(variant: StreamVariant) -> str:
    """The kernel as PTX for all chips. A launch's M is the number of 16-byte vectors."""
    load = "ld.global.nc.L1::no_allocate.v4.b32" if variant.streaming else "ld.global.v4.b32"
    store = "st.global.cs.v4.b32" if variant.streaming else "st.global.v4.b32"
    piece = variant.threads * variant.vectors
    registers = ["  .reg .u64 %a, %b, %c, %pa, %pb, %pc, %count, %piece, %step, %index, %offset;",
                 "  .reg .u32 %t, %g;", "  .reg .pred %more;"]
    body = ["  ld.param.u64 %a, [a];", "  ld.param.u64 %b, [b];", "  ld.param.u64 %c, [c];",
            "  ld.param.u64 %count, [vectors];", "  ld.param.u64 %step, [workgroups];",
            "  cvta.to.global.u64 %a, %a;", "  cvta.to.global.u64 %b, %b;",
            "  cvta.to.global.u64 %c, %c;", "  mov.u32 %t, %tid.x;", "  mov.u32 %g, %ctaid.x;",
            f"  mul.wide.u32 %piece, %g, {piece};", "  cvt.u64.u32 %index, %t;",
            "  add.u64 %index, %index, %piece;", f"  mul.lo.u64 %step, %step, {piece};",
            "turn:", "  shl.b64 %offset, %index, 4;", "  add.u64 %pa, %a, %offset;",
            "  add.u64 %pb, %b, %offset;", "  add.u64 %pc, %c, %offset;"]
    names = {}
    for vector in range(variant.vectors):
        registers.append(f"  .reg .pred %p{vector};")
        for array in "xy":
            names[array, vector] = [f"%{array}{vector}_{i}" for i in range(4)]
            registers.append(f"  .reg .b32 {', '.join(names[array, vector])};")
        place = vector * variant.threads
        body += [f"  add.u64 %offset, %index, {place};",
                 f"  setp.lt.s64 %p{vector}, %offset, %count;"]
        for array, pointer in (("x", "pa"), ("y", "pb")):
            body.append(f"  @%p{vector} {load} {{{', '.join(names[array, vector])}}}, "
                        f"[%{pointer}+{place * VECTOR_BYTES}];")
    for vector in range(variant.vectors):
        body += [f"  xor.b32 {x}, {x}, {y};"
                 for x, y in zip(names["x", vector], names["y", vector], strict=True)]
        body.append(f"  @%p{vector} {store} [%pc+{vector * variant.threads * VECTOR_BYTES}], "
                    f"{{{', '.join(names['x', vector])}}};")
    if variant.workgroups:
        # The first work-item of a piece decides for all: a piece begins at its index less its own.
        body += ["  add.u64 %index, %index, %step;", "  add.u64 %piece, %piece, %step;",
                 "  setp.lt.s64 %more, %piece, %count;", "  @%more bra turn;"]
    return "\n".join([f"// lnbwd-plan: {_plan(variant)}", ".version 7.4", f".target {_chips.PTX}",
                      ".address_size 64", "",
                      ".visible .entry stream(.param .u64 a, .param .u64 b, .param .u64 c,",
                      "                       .param .u64 vectors, .param .u64 workgroups)",
                      f".maxntid {variant.threads}, 1, 1", "{", *registers, *body, "  ret;", "}",
                      ""])
