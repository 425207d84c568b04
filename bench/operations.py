#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times every operation of the family on an NVIDIA GPU, beside PyTorch's where it has one.

Like layer_norm_bwd.py, on rotating buffers and with the device's events; a row for each operation
and each way to it that costs something: recomputed statistics, from the output, a gradient that
the compiler derived, a grid that is the same on every device.

  operations.py compile --out KERNELS [--chip sm_90] [--shapes 8192x4096 ...]   where the compiler is
  operations.py run --kernels KERNELS [--out FILE]                              where the GPU is
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import sys
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "test" / "EndToEnd"),
                str(pathlib.Path(__file__).resolve().parent)]

import chips  # noqa: E402
import family  # noqa: E402
from lnbwd.operations import (  # noqa: E402
    LAYER_NORM,
    LAYER_NORM_BWD,
    RMS_NORM,
    RMS_NORM_BWD,
)
from lnbwd_bench.shapes import Shape, parse_shape, shape_argument  # noqa: E402

SHAPES = ("4096x1024", "8192x4096", "16384x2048", "65536x768")
CHIP = chips.GPU


def variants(shape: Shape, chip: str) -> dict[str, family.Case]:
    """What is timed, by name."""
    def case(op: str, **options: Any) -> family.Case:
        return family.Case(op, chip, shape.dtype, shape.n, **options)

    return {
        LAYER_NORM: case(LAYER_NORM),
        f"{LAYER_NORM}, residual": case(LAYER_NORM, residual=shape.dtype),
        RMS_NORM: case(RMS_NORM),
        LAYER_NORM_BWD: case(LAYER_NORM_BWD),
        f"{LAYER_NORM_BWD}, recomputed": case(LAYER_NORM_BWD, statistics="recomputed"),
        f"{LAYER_NORM_BWD}, from output": case(LAYER_NORM_BWD, statistics="output"),
        f"{LAYER_NORM_BWD}, reproducible": case(LAYER_NORM_BWD, pipeline="reproducible=true"),
        f"{LAYER_NORM_BWD}, derived": case(LAYER_NORM_BWD, derived=True),
        RMS_NORM_BWD: case(RMS_NORM_BWD),
        f"{RMS_NORM_BWD}, derived": case(RMS_NORM_BWD, derived=True),
    }


def compile_main(options: argparse.Namespace) -> int:
    build = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", SOURCE / "build"))
    options.out.mkdir(parents=True, exist_ok=True)
    kernels = []
    for shape in options.shapes:
        for name, case in variants(shape, options.chip).items():
            file = family.compile_case(build, case, options.out)
            kernels.append({"name": name, "m": shape.m, "n": shape.n, "dtype": shape.dtype,
                            "chip": options.chip, "file": file.name})
    (options.out / "operations.json").write_text(json.dumps(kernels, indent=1) + "\n")
    print(f"{len(kernels)} kernels in {options.out}")
    return 0


def torch_call(torch: Any, name: str, tensors: dict[str, Any], n: int) -> Any:
    """PyTorch's operator for what is timed, or None."""
    aten = torch.ops.aten
    get = tensors.get
    if name == LAYER_NORM:
        return lambda: aten.native_layer_norm(get("x"), [n], get("gamma"), get("beta"), 1e-5)
    if name == RMS_NORM and hasattr(aten, "_fused_rms_norm"):
        return lambda: aten._fused_rms_norm(get("x"), [n], get("gamma"), 1e-5)
    if name == LAYER_NORM_BWD:
        beta = torch.zeros_like(tensors["gamma"])
        return lambda: aten.native_layer_norm_backward(
            get("dy"), get("x"), [n], get("mean")[:, None], get("rstd")[:, None], get("gamma"),
            beta, [True, True, True])
    if name == RMS_NORM_BWD and hasattr(aten, "_fused_rms_norm_backward"):
        return lambda: aten._fused_rms_norm_backward(
            get("dy"), get("x"), [n], get("rstd")[:, None], get("gamma"), [True, True])
    return None


def run_main(options: argparse.Namespace) -> int:
    import torch

    from lnbwd import runtime
    from lnbwd_bench.machine import GpuMachine
    from lnbwd_bench.timing import Candidate, SlotCounter, summary, time_events

    types = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
    machine = GpuMachine()
    machine.calibrate()
    results = []
    for entry in json.loads((options.kernels / "operations.json").read_text()):
        shape = Shape(entry["m"], entry["n"], entry["dtype"])
        case = variants(shape, entry["chip"])[entry["name"]]
        program = runtime.Program.from_file(options.kernels / entry["file"])
        kernel = runtime.Kernel(machine.ours, program)
        arguments = case.arguments()
        size_of = {"row_block": shape.m * shape.n, "column": shape.n, "row_scalar": shape.m}
        moved = sum(size_of[kind] * types[element].itemsize for _, kind, element, _ in arguments)
        count = max(2, -(-5 * machine.l2_bytes // moved) + 1)
        sets, pointers, workspaces = [], [], []
        for _ in range(count):
            tensors = {}
            for name, kind, element, _ in arguments:
                dims = {"row_block": (shape.m, shape.n), "column": (shape.n,),
                        "row_scalar": (shape.m,)}[kind]
                value = torch.randn(dims, device=machine.device).to(types[element])
                tensors[name] = value.abs() + 0.5 if name in ("rstd", "gamma") else value
            sets.append(tensors)
            pointers.append([tensors[argument.name].data_ptr() for argument in program.arguments])
            workspaces.append(torch.empty(max(kernel.workspace_size(shape.m), 1),
                                          dtype=torch.uint8, device=machine.device))

        def ours(slot: int) -> None:
            kernel.launch(pointers[slot], shape.m, workspaces[slot].data_ptr(),
                          workspaces[slot].numel(), machine.stream())

        candidates = [Candidate("ours", ours)]
        calls = [torch_call(torch, entry["name"], tensors, shape.n) for tensors in sets]
        if calls[0]:
            candidates.append(Candidate("torch", lambda slot: calls[slot]()))
        time_events(machine, candidates, SlotCounter(count), options.repetitions)
        row = {**entry, "bytes": moved,
               **{c.name: summary(c.times["events"]) for c in candidates}}
        results.append(row)
        text = f"{entry['name']:30} {shape!s:>16}"
        for candidate in candidates:
            microseconds = row[candidate.name]["median_us"]
            text += f"  {candidate.name} {microseconds:8.1f} us {moved / microseconds / 1e3:6.0f} GB/s"
        print(text, flush=True)
        del sets, calls
        machine.release_memory()
    if options.out:
        document = {"date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
                    "command": [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]],
                    "machine": machine.describe(), "repetitions": options.repetitions,
                    "results": results}
        options.out.write_text(json.dumps(document, indent=1) + "\n")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    compiling = commands.add_parser("compile")
    compiling.add_argument("--out", type=pathlib.Path, required=True)
    compiling.add_argument("--chip", default=CHIP, help=f"chip to compile for (default {CHIP})")
    compiling.add_argument("--shapes", type=shape_argument, nargs="+",
                           default=[parse_shape(text) for text in SHAPES])
    running = commands.add_parser("run")
    running.add_argument("--kernels", type=pathlib.Path, required=True)
    running.add_argument("--out", type=pathlib.Path, help="file for the numbers, JSON")
    running.add_argument("--repetitions", type=int, default=30)
    options = parser.parse_args()
    return compile_main(options) if options.command == "compile" else run_main(options)


if __name__ == "__main__":
    sys.exit(main())
