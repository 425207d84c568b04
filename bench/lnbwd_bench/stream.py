# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stream: kernels that read and write arrays and do nothing else, the roof of an operation
that reads and writes as many: two reads and one write for LayerNorm backward.

For NVIDIA written as PTX text with a launch plan (docs/runtime.md), so that the driver compiles
them, the runtime launches them the way it launches ours, and nothing else has a hand in the result.
Each combines the arrays that it reads with exclusive or, 16 bytes an access, and writes that to all
others. For AMD, whose driver takes machine code alone, a row program, compiled in several
schedules.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from lnbwd.core.base import chip_table, operations

VECTOR_BYTES = 16

# The names of arrays, and of the registers that hold what was read of them.
_ARRAYS, _READ = "abcdefgh", "xyzuvw"
# Columns of AMD's row program: 16 bytes for each of 256 work-items.
_COLUMNS = 1024


@dataclass(frozen=True, order=True)
class Traffic:
    """How many arrays of one size a kernel reads, and how many it writes, each once."""

    reads: int
    writes: int

    def __post_init__(self) -> None:
        if not (1 <= self.reads <= len(_READ) and 1 <= self.writes <= len(_ARRAYS) - self.reads):
            raise ValueError(f"expected 1 to {len(_READ)} arrays to read, and to write at least "
                             f"one and at most {len(_ARRAYS)} in all, got {self.reads} and "
                             f"{self.writes}")

    def __str__(self) -> str:
        return (f"{self.reads} read{'s' * (self.reads > 1)}, "
                f"{self.writes} write{'s' * (self.writes > 1)}")

    @property
    def arrays(self) -> str:
        """A letter for each array, those that are read first."""
        return _ARRAYS[:self.reads + self.writes]


def schedules() -> list[str]:
    """The schedules that are tried on AMD, as the pipeline takes them; the first one is the
    compiler's own. Rows of :func:`stream_mlir` are 16 bytes for each of 256 work-items."""
    result = [""]
    for groups, unroll in ((1, 1), (1, 4), (2, 2), (4, 1), (4, 2)):
        for workgroups in (0, 8):
            result.append(f"threads_per_row=256,row_groups={groups},vector_width=4,"
                          f"rows_per_workgroup={groups * unroll},prefetch=0,unroll={unroll},"
                          f"workgroups_per_compute_unit={workgroups}")
    return result


@dataclass(frozen=True)
class StreamVariant:
    """One launch shape of the stream: work-items of a workgroup; 16-byte accesses to each array
    that a work-item has in flight at once; workgroups for each multiprocessor that take pieces in
    turn, or 0 for one workgroup a piece; whether accesses have the hints of data used once."""

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


def stream_mlir(traffic: Traffic) -> str:
    """The stream as a row program, for AMD's chips: sums of float32."""
    row = f"vector<{_COLUMNS}xf32>"
    arrays = dict.fromkeys(traffic.arrays, f"memref<?x{_COLUMNS}xf32>")
    accesses = [operations.Access(name, "m, n", type_) for name, type_ in arrays.items()]
    read = dict.fromkeys(_READ[:traffic.reads], row)
    region, [total, *names] = operations.Region(), [f"%{name}" for name in read]
    for name in names:
        total = region.op("arith.addf", row, total, name)
    return operations.write_function("stream", arrays, operations.rowwise(
        "stream", "m | n", accesses[:traffic.reads], accesses[traffic.reads:], read, region.lines,
        [(total, row)] * traffic.writes))


def _plan(variant: StreamVariant, traffic: Traffic) -> str:
    rows = [{"name": name, "access": "read" if index < traffic.reads else "write",
             "kind": "row_block", "element": "f32", "row_length": VECTOR_BYTES // 4}
            for index, name in enumerate(traffic.arrays)]
    return json.dumps({
        "format": "lnbwd-plan", "version": 1, "producer": "lnbwd benchmark", "name": "stream",
        "chip": chip_table.PTX, "wave_size": 32, "arguments": rows,
        "workgroup_counts": [{"rows_per_workgroup": variant.threads * variant.vectors,
                              "workgroups_per_compute_unit": variant.workgroups}],
        "workspace": [],
        "kernels": [{"name": "stream", "grid": [{"workgroup_count": 0}, 1, 1],
                     "block": [variant.threads, 1, 1], "dynamic_shared_bytes": 0,
                     "parameters": [*({"argument": index} for index in range(len(rows))),
                                    {"rows": True}, {"workgroup_count": 0}]}]})


def stream_ptx(variant: StreamVariant, traffic: Traffic) -> str:
    """The kernel as PTX for all chips. A launch's M is the number of 16-byte vectors."""
    load = "ld.global.nc.L1::no_allocate.v4.b32" if variant.streaming else "ld.global.v4.b32"
    store = "st.global.cs.v4.b32" if variant.streaming else "st.global.v4.b32"
    piece = variant.threads * variant.vectors
    arrays = traffic.arrays
    sources, targets = arrays[:traffic.reads], arrays[traffic.reads:]
    pointers = ", ".join([f"%{name}" for name in arrays] + [f"%p{name}" for name in arrays])
    registers = [f"  .reg .u64 {pointers}, %count, %piece, %step, %index, %offset;",
                 "  .reg .u32 %t, %g;", "  .reg .pred %more;"]
    body = [*(f"  ld.param.u64 %{name}, [{name}];" for name in arrays),
            "  ld.param.u64 %count, [vectors];", "  ld.param.u64 %step, [workgroups];",
            *(f"  cvta.to.global.u64 %{name}, %{name};" for name in arrays),
            "  mov.u32 %t, %tid.x;", "  mov.u32 %g, %ctaid.x;",
            f"  mul.wide.u32 %piece, %g, {piece};", "  cvt.u64.u32 %index, %t;",
            "  add.u64 %index, %index, %piece;", f"  mul.lo.u64 %step, %step, {piece};",
            "turn:", "  shl.b64 %offset, %index, 4;",
            *(f"  add.u64 %p{name}, %{name}, %offset;" for name in arrays)]
    held = {(name, vector): [f"%{register}{vector}_{i}" for i in range(4)]
            for name, register in zip(sources, _READ, strict=False)
            for vector in range(variant.vectors)}
    for vector in range(variant.vectors):
        registers.append(f"  .reg .pred %p{vector};")
        registers += [f"  .reg .b32 {', '.join(held[name, vector])};" for name in sources]
        place = vector * variant.threads
        body += [f"  add.u64 %offset, %index, {place};",
                 f"  setp.lt.s64 %p{vector}, %offset, %count;"]
        body += [f"  @%p{vector} {load} {{{', '.join(held[name, vector])}}}, "
                 f"[%p{name}+{place * VECTOR_BYTES}];" for name in sources]
    for vector in range(variant.vectors):
        combined = held[sources[0], vector]
        body += [f"  xor.b32 {register}, {register}, {other};" for name in sources[1:]
                 for register, other in zip(combined, held[name, vector], strict=True)]
        body += [f"  @%p{vector} {store} [%p{name}+{vector * variant.threads * VECTOR_BYTES}], "
                 f"{{{', '.join(combined)}}};" for name in targets]
    if variant.workgroups:
        # The first work-item of a piece decides for all: a piece begins at its index less its own.
        body += ["  add.u64 %index, %index, %step;", "  add.u64 %piece, %piece, %step;",
                 "  setp.lt.s64 %more, %piece, %count;", "  @%more bra turn;"]
    parameters = ", ".join(f".param .u64 {name}" for name in arrays)
    return "\n".join([f"// lnbwd-plan: {_plan(variant, traffic)}", ".version 7.4",
                      f".target {chip_table.PTX}", ".address_size 64", "",
                      f".visible .entry stream({parameters},",
                      "                       .param .u64 vectors, .param .u64 workgroups)",
                      f".maxntid {variant.threads}, 1, 1", "{", *registers, *body, "  ret;", "}",
                      ""])
