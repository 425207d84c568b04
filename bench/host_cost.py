#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a normalisation costs the host: torch beside ours, forward and backward.

    python bench/host_cost.py                       # on the GPU that PyTorch has
    python bench/host_cost.py --device cpu          # with kernels that do nothing
    python bench/host_cost.py --routes              # also the ways to an autograd formula
    python bench/host_cost.py --compiled            # also what a region costs in a compiled graph

Three cases: the operator alone, below autograd, ATen's beside ours as torch.ops knows them; one
call of the function, with its backward pass; and a chain of modules, as in a model. One call of
lnbwd.layer_norm_linear, too, by each of its ways, beside torch's two functions. "overridden" is
the chain of torch's own modules with lnbwd.override_aten(), "patched" that of torch's modules after
lnbwd.patch, which calls it, too, on a GPU; "ours" has our modules alone. A time is that
of the host, from the call to its return, per norm: the device is waited for before, not within, so
that rows are to be few enough for the device to keep up. Ours and torch take turns in one run; the
table has medians, the ratio, and how many microseconds lie between.

--compiled: a chain of matrix products, each with a LayerNorm and a residual addition behind it, by
torch.compile and by its backend "lnbwd", and the products alone, per link; what is more than the
products is what Inductor's launches and ours cost. And one region by itself: as an operator, and as
the function that generated code calls, in C++ and in Python.

On the CPU ours launches a kernel that does nothing, and torch computes one short row: what is left
is what surrounds a launch. The launch itself, some 3 microseconds on a GPU, is missing on both
sides, so that ratios there are larger than on a GPU.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import sys
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[1]
if not os.environ.get("LNBWD_TEST_INSTALLED"):
    sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402

import lnbwd  # noqa: E402
from lnbwd import (  # noqa: E402
    compiler,
    launching,
    linear_passes,
    native,
    ops,
    product_choice,
    regions_op,
)
from lnbwd.operations import (  # noqa: E402
    LAYER_NORM,
    LAYER_NORM_LINEAR,
    OPERATIONS,
    RMS_NORM,
)
from lnbwd.regions_op import Operand  # noqa: E402
from lnbwd.spec import ROWS_HINTS  # noqa: E402

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
EPSILON = 1e-5
FULL = (True, True, True)
NONE = (False, False, False)


class NullKernel:
    """Stands in for a loaded kernel and launches nothing."""

    def workspace_size(self, rows: int) -> int:
        """They need none."""
        return 0

    def launch(self, addresses: list[int], rows: int, workspace: int, size: int,
               stream: int) -> None:
        """Does nothing."""


def use_null_kernels(n: int, dtype: torch.dtype) -> None:
    """Puts kernels that do nothing into the tables, for CPU tensors from here on."""
    chip = launching.DEFAULT_CHIP
    os.environ["LNBWD_SIMULATE"] = chip
    launching._launch_on_host_memory = (  # type: ignore[assignment]
        lambda kernel, rows, addresses, groups: kernel.launch(addresses, rows, 0, 0, 0))
    library = native.load()
    for op in native.OPERATIONS:
        bias = dtype if OPERATIONS[op].has("beta") else None
        is_forward = OPERATIONS[op].is_forward
        wants = NONE if is_forward else (True, True, bias is not None)
        epsilon = EPSILON if is_forward else None
        key = (op, n, dtype, dtype, bias, wants, epsilon)
        for rows in ROWS_HINTS:
            launching._loaded[(*key, chip, rows)] = NullKernel()  # type: ignore[assignment]
            if library is not None:
                native.add_kernel(*key, library.lnbwd_torch_simulated_device(), rows, None)


def use_null_regions() -> None:
    """Has row programs, whatever they are, launch nothing."""
    def load(program: regions_op.RegionProgram, device: torch.device,
             key: tuple[str, object]) -> NullKernel:
        kernel = NullKernel()
        regions_op._kernels[key] = kernel  # type: ignore[assignment]
        return kernel

    def add(text: str, number: int) -> None:
        program = regions_op.find_program(text)
        inputs, outputs = ([(o.kind, o.dtype, o.row_length) for o in group]
                           for group in (program.inputs, program.outputs))
        native.add_region(text, number, None, inputs, outputs, by_torch=False)

    regions_op._load = load  # type: ignore[assignment]
    native.loaders["region"] = add


def use_null_layers() -> None:
    """Has norms with a linear layer launch nothing."""
    class Kernel(NullKernel):
        def launch(self, *arguments: object) -> None:  # type: ignore[override]
            pass

    def load(source: str, tf32: bool, device: torch.device, key: linear_passes._Key,
             rows: int) -> linear_passes._Loaded:
        loaded = linear_passes._Loaded(Kernel(), ("x", "w"))  # type: ignore[arg-type]
        linear_passes._loaded[key] = loaded
        return loaded

    linear_passes._load = load


class Clock:
    """Times functions in turns."""

    def __init__(self, device: torch.device, repetitions: int) -> None:
        self.device = device
        self.repetitions = repetitions

    def wait(self) -> None:
        """Until the device has done what it was given."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def compare(self, functions: dict[str, Callable[[], list[float]]]) -> dict[str, list[float]]:
        """The medians of what each function returns (microseconds), over the repetitions."""
        times: dict[str, list[list[float]]] = {name: [] for name in functions}
        for function in functions.values():
            for _ in range(3):
                function()
        for _ in range(self.repetitions):
            for name, function in functions.items():
                self.wait()
                times[name].append(function())
        return {name: [statistics.median(column) for column in zip(*rows, strict=True)]
                for name, rows in times.items()}


def repeated(function: Callable[[], object], count: int) -> Callable[[], list[float]]:
    """Calls it ``count`` times; microseconds a call."""
    def run() -> list[float]:
        start = time.perf_counter()
        for _ in range(count):
            function()
        return [(time.perf_counter() - start) / count * 1e6]

    return run


def forward_and_backward(function: Callable[[], torch.Tensor], count: int, dy: torch.Tensor,
                         leaves: list[torch.Tensor],
                         wait: Callable[[], None]) -> Callable[[], list[float]]:
    """Runs it, and backward from its result; microseconds of each by ``count``."""
    def run() -> list[float]:
        for leaf in leaves:
            leaf.grad = None
        start = time.perf_counter()
        y = function()
        middle = time.perf_counter()
        wait()
        second = time.perf_counter()
        y.backward(dy)
        return [(middle - start) / count * 1e6, (time.perf_counter() - second) / count * 1e6]

    return run


def overridden(function: Callable[[], list[float]], device: torch.device) -> Callable[
        [], list[float]]:
    """Runs it while PyTorch's norms have our kernels."""
    def run() -> list[float]:
        with lnbwd.override_aten(device.type):
            return function()

    return run


def operator_cases(op: str, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor,
                   dy: torch.Tensor) -> dict[str, dict[str, Callable[[], object]]]:
    """The operators as torch.ops has them, below autograd."""
    shape = [x.shape[-1]]
    x, weight, bias = x.detach(), weight.detach(), bias.detach()
    if op == LAYER_NORM:
        theirs, ours = torch.ops.aten.native_layer_norm.default, torch.ops.lnbwd._layer_norm.default
        theirs_bwd = torch.ops.aten.native_layer_norm_backward.default
        ours_bwd = torch.ops.lnbwd._layer_norm_bwd.default
        _, mean, rstd = theirs(x, shape, weight, bias, EPSILON)
        _, ours_mean, ours_rstd = ours(x, shape, weight, bias, EPSILON)
        return {
            "forward": {"torch": lambda: theirs(x, shape, weight, bias, EPSILON),
                        "ours": lambda: ours(x, shape, weight, bias, EPSILON)},
            "backward": {"torch": lambda: theirs_bwd(dy, x, shape, mean, rstd, weight, bias, FULL),
                         "ours": lambda: ours_bwd(dy, x, ours_mean, ours_rstd, weight, bias, shape,
                                                  FULL)}}
    fused = torch.ops.aten._fused_rms_norm.default
    fused_bwd = torch.ops.aten._fused_rms_norm_backward.default
    ours, ours_bwd = torch.ops.lnbwd._rms_norm.default, torch.ops.lnbwd._rms_norm_bwd.default
    _, rstd = fused(x, shape, weight, EPSILON)
    _, ours_rstd = ours(x, shape, weight, EPSILON)
    cases: dict[str, dict[str, Callable[[], object]]] = {
        "forward": {"torch": lambda: fused(x, shape, weight, EPSILON),
                    "ours": lambda: ours(x, shape, weight, EPSILON)},
        "backward": {"ours": lambda: ours_bwd(dy, x, ours_rstd, weight, shape, FULL[:2])}}
    if x.is_cuda:  # There is none for the CPU.
        cases["backward"]["torch"] = lambda: fused_bwd(dy, x, shape, rstd, weight, FULL[:2])
    return cases


def route_cases(x: torch.Tensor, weight: torch.Tensor,
                bias: torch.Tensor) -> dict[str, Callable[[], torch.Tensor]]:
    """The ways to an autograd formula for LayerNorm, all with the same operator in C++ below."""
    shape = (x.shape[-1],)
    raw, raw_bwd = torch.ops.lnbwd._layer_norm.default, torch.ops.lnbwd._layer_norm_bwd.default

    def setup(ctx, inputs, output):  # type: ignore[no-untyped-def]
        x, _, weight, bias, _ = inputs
        ctx.save_for_backward(x, output[1], output[2], weight, bias)
        ctx.mark_non_differentiable(output[1], output[2])

    def formula(ctx, dy, *_):  # type: ignore[no-untyped-def]
        x, mean, rstd, weight, bias = ctx.saved_tensors
        dx, dweight, dbias = raw_bwd(dy, x, mean, rstd, weight, bias, shape, FULL)
        return dx, None, dweight, dbias, None

    @torch.library.custom_op("lnbwd_bench::custom", mutates_args=())
    def custom(x: torch.Tensor, shape: list[int], weight: torch.Tensor, bias: torch.Tensor,
               eps: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        y, mean, rstd = raw(x, shape, weight, bias, eps)
        return y, mean, rstd

    custom.register_autograd(formula, setup_context=setup)
    library = torch.library.Library("lnbwd_bench", "FRAGMENT")
    library.define("defined" + ops._LAYER_NORM)
    for key in ("CPU", "CUDA"):
        library.impl("defined", raw, key)
    torch.library.register_autograd("lnbwd_bench::defined", formula, setup_context=setup,
                                    lib=library)
    route_cases.library = library  # type: ignore[attr-defined]

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, shape, weight, bias, eps):  # type: ignore[no-untyped-def]
            y, mean, rstd = raw(x, shape, weight, bias, eps)
            ctx.save_for_backward(x, mean, rstd, weight, bias)
            return y

        backward = staticmethod(formula)

    def by_hand(x: lnbwd.Rows, weight: lnbwd.Columns, bias: lnbwd.Columns):  # type: ignore[no-untyped-def]
        centred = x - x.mean(-1, keepdim=True)
        rstd = torch.rsqrt(centred.square().mean(-1, keepdim=True) + EPSILON)
        return centred * rstd * weight + bias

    arguments = (x, shape, weight, bias, EPSILON)
    row_function = lnbwd.rowwise(by_hand)
    # On a GPU: for row programs there are no kernels that do nothing. Gradients are derived when
    # they are asked for, which takes the compiler.
    rowwise = ({"lnbwd.rowwise": lambda: row_function(x, weight, bias)}
               if x.is_cuda and compiler.available() else {})
    theirs = torch.nn.functional.layer_norm
    return {f"{theirs.__module__}.{theirs.__name__}":
                lambda: theirs(x, shape, weight, bias, EPSILON),
            "torch.library.custom_op": lambda: custom(*arguments)[0],
            "register_autograd": lambda: torch.ops.lnbwd_bench.defined(*arguments)[0],
            "autograd.Function with setup_context":
                lambda: ops._FUNCTIONS[LAYER_NORM].apply(*arguments)[0],
            "autograd.Function": lambda: Function.apply(*arguments),
            f"lnbwd.{LAYER_NORM}": lambda: lnbwd.layer_norm(x, shape, weight, bias, EPSILON),
            **rowwise}


REGION = """
func.func @region(%x: memref<?x{n}xf32>, %h: memref<?x{n}xbf16>, %b: memref<{n}xf32>,
                  %r: memref<?xf32>, %y: memref<?x{n}xbf16>, %z: memref<?x{n}xf32>,
                  %db: memref<{n}xf32>) {{
  lnbwd.rowwise @region rows(%x, %h : memref<?x{n}xf32>, memref<?x{n}xbf16>)
      columns(%b : memref<{n}xf32>) scalars(%r : memref<?xf32>)
      outs rows(%y, %z : memref<?x{n}xbf16>, memref<?x{n}xf32>)
      column_sums(%db : memref<{n}xf32>)
      attributes {{operand_names = ["x", "h", "b", "r", "y", "z", "db"]}} {{
  ^row(%xr: vector<{n}xf32>, %hr: vector<{n}xbf16>, %br: vector<{n}xf32>, %s: f32):
    %wide = arith.extf %hr : vector<{n}xbf16> to vector<{n}xf32>
    %sum = arith.addf %xr, %wide : vector<{n}xf32>
    %sv = vector.broadcast %s : f32 to vector<{n}xf32>
    %scaled = arith.mulf %sum, %sv : vector<{n}xf32>
    %z32 = arith.addf %scaled, %br : vector<{n}xf32>
    %y16 = arith.truncf %z32 : vector<{n}xf32> to vector<{n}xbf16>
    lnbwd.yield %y16, %z32, %z32 : vector<{n}xbf16>, vector<{n}xf32>, vector<{n}xf32>
  }}
  return
}}
"""


def region_cases(rows: int, n: int, device: torch.device) -> dict[str, Callable[[], object]]:
    """One region as generated code may run it, with the memory of its outputs: four inputs, three
    outputs, and a text as long as those of Inductor's regions."""
    f32, bf16 = torch.float32, torch.bfloat16
    inputs = [Operand("row_block", f32, n), Operand("row_block", bf16, n),
              Operand("column", f32, n), Operand("row_scalar", f32, 1)]
    outputs = [Operand("row_block", bf16, n), Operand("row_block", f32, n),
               Operand("column", f32, n)]
    text = f"host cost {n} " + "x" * 2000
    program = regions_op.register_program(
        text, inputs, outputs, regions_op.make_kernel_from_mlir(REGION.format(n=n)))
    regions_op.load_kernel(program, device)
    shapes = {"row_block": (rows, n), "column": (n,), "row_scalar": (rows,)}
    tensors = [torch.randn(shapes[o.kind], device=device).to(o.dtype) for o in inputs]
    operator = torch.ops.lnbwd._region.default
    allocate = getattr(torch._C._dynamo.guards, f"_empty_strided_{device.type}")
    sizes = [(shapes[o.kind], (n, 1) if o.kind == "row_block" else (1,), o.dtype) for o in outputs]

    def call(function: Callable[..., None]) -> Callable[[], object]:
        return lambda: function(rows, *tensors, *(allocate(*size) for size in sizes))

    cases: dict[str, Callable[[], object]] = {"operator": lambda: operator(tensors, text)}
    if native.make_region_call(text, device):
        cases["call"] = call(regions_op.region_call(text, str(device)))
    cases["call in Python"] = call(regions_op._PythonCall(text))
    return cases


class Chain(torch.nn.Module):
    """Products, each with a norm and a residual addition behind it unless they are to be alone."""

    def __init__(self, n: int, length: int, has_norms: bool) -> None:
        super().__init__()
        self.products = torch.nn.ModuleList(torch.nn.Linear(n, n, bias=False)
                                            for _ in range(length))
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(n, eps=EPSILON)
                                         for _ in range(length if has_norms else 0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """All layers, one behind the other."""
        for index, product in enumerate(self.products):
            y = product(x)
            x = x + self.norms[index](y) if len(self.norms) else y
        return x


def forced(way: str, function: Callable[[], list[float]]) -> Callable[[], list[float]]:
    """Runs it with the products of a way."""
    def run() -> list[float]:
        with product_choice.forced(way):
            return function()

    return run


def layer_cases(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor,
                wait: Callable[[], None]) -> dict[str, Callable[[], list[float]]]:
    """A norm with a linear layer behind it, forward and backward, torch's and ours by each way."""
    n = x.shape[-1]
    weight, bias, dy = (torch.randn(shape, dtype=x.dtype, device=x.device)
                        for shape in ((n, n), (n,), tuple(x.shape)))
    leaves = [x, gamma, beta, weight.requires_grad_(), bias.requires_grad_()]

    def by_torch() -> torch.Tensor:
        z = torch.nn.functional.layer_norm(x, (n,), gamma, beta, EPSILON)
        return torch.nn.functional.linear(z, weight, bias)

    def ours() -> torch.Tensor:
        return lnbwd.layer_norm_linear(x, (n,), gamma, beta, weight, bias, EPSILON)

    timed = forward_and_backward(ours, 1, dy, leaves, wait)
    ways = ["auto"] if x.is_cuda else []  # Which is one of the others, and the look-up.
    ways += [product_choice.KERNEL, product_choice.TORCH, product_choice.BRANCHES]
    return {"theirs": forward_and_backward(by_torch, 1, dy, leaves, wait),
            **{way: forced(way, timed) for way in ways}}


def compiled_chains(rows: int, n: int, dtype: torch.dtype, length: int,
                    clock: Clock) -> tuple[dict[str, dict[str, list[float]]], int]:
    """Microseconds of the host a link, forward and backward, in compiled graphs; and how many
    regions a link has that are ours."""
    import lnbwd.inductor

    os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")  # Each is to be compiled.
    # One row alone is no region.
    x, dy = (torch.randn(max(rows, 2), n, dtype=dtype, device=clock.device) for _ in range(2))
    x.requires_grad_()
    functions = {}
    lnbwd.inductor.decisions(clear=True)
    for case, who, backend in (("with norms", "torch", "inductor"), ("with norms", "ours", "lnbwd"),
                               ("products alone", "torch", "inductor")):
        model = Chain(n, length, case == "with norms").to(x.device, dtype)
        compiled = torch.compile(model, backend=backend)
        functions[f"{case}/{who}"] = forward_and_backward(
            lambda f=compiled: f(x), length, dy, [x, *model.parameters()], clock.wait)
    result: dict[str, dict[str, list[float]]] = {}
    for name, times in clock.compare(functions).items():
        case, _, who = name.partition("/")
        result.setdefault(case, {})[who] = times
    return result, sum(d.taken for d in lnbwd.inductor.decisions())


def measure(options: argparse.Namespace, device: torch.device) -> list[dict[str, object]]:
    """All rows of the table: op, case, pass, and microseconds by name."""
    clock = Clock(device, options.repetitions)
    dtype, n, length = TYPES[options.dtype], options.n, options.norms
    rows: list[dict[str, object]] = []

    def add(op: str, case: str, pass_: str, times: dict[str, float]) -> None:
        rows.append({"op": op, "case": case, "pass": pass_, **times})

    def tensor(*shape: int) -> torch.Tensor:
        return torch.randn(shape, dtype=dtype, device=device)

    for op in (LAYER_NORM, RMS_NORM):
        x, dy = tensor(options.rows, n).requires_grad_(), tensor(options.rows, n)
        weight, bias = tensor(n).requires_grad_(), tensor(n).requires_grad_()
        with torch.no_grad():
            for name, functions in operator_cases(op, x, weight, bias, dy).items():
                got = clock.compare({who: repeated(f, options.calls)
                                     for who, f in functions.items()})
                add(op, "operator", name, {who: times[0] for who, times in got.items()})
        call = {"torch": getattr(torch.nn.functional, op), "ours": getattr(lnbwd, op)}
        parameters = (weight, bias) if op == LAYER_NORM else (weight,)
        functions = {who: forward_and_backward(
            lambda f=f, x=x, parameters=parameters: f(x, (n,), *parameters, EPSILON), 1, dy,
            [x, *parameters], clock.wait) for who, f in call.items()}
        got = clock.compare({who: f for who, f in functions.items()})
        for index, name in enumerate(("forward", "backward")):
            add(op, "call", name, {who: times[index] for who, times in got.items()})
        if op == LAYER_NORM:
            got = clock.compare(layer_cases(x, weight, bias, clock.wait))
            theirs = got.pop("theirs")
            for way, times in got.items():
                for index, name in enumerate(("forward", "backward")):
                    add(LAYER_NORM_LINEAR, way, name,
                        {"torch": theirs[index], "ours": times[index]})
        kind = "LayerNorm" if op == LAYER_NORM else "RMSNorm"
        chains = {}
        for who, module in (("torch", torch.nn), ("ours", lnbwd.nn), ("patched", torch.nn)):
            model = torch.nn.Sequential(*(getattr(module, kind)(n, eps=EPSILON)
                                          for _ in range(length))).to(device, dtype)
            if who == "patched":  # Without what would concern the other chains.
                lnbwd.patch(model, override=False, quiet=True)
            chains[who] = forward_and_backward(lambda m=model, x=x: m(x), length, dy,
                                               [x, *model.parameters()], clock.wait)
        # F.rms_norm takes itself apart on the CPU.
        if native.load() and (x.is_cuda or op == LAYER_NORM):
            chains["overridden"] = overridden(chains["torch"], device)
            chains["patched"] = overridden(chains["patched"], device)
        else:
            del chains["patched"]
        got = clock.compare(chains)
        for index, name in enumerate(("forward", "backward")):
            add(op, f"chain of {length}", name, {who: times[index] for who, times in got.items()})
    if options.compiled:
        cases = {name: repeated(f, options.calls)
                 for name, f in region_cases(options.rows, n, device).items()}
        for name, (taken,) in clock.compare(cases).items():
            rows.append({"op": "region", "case": "region", "pass": name, "time": taken})
        found_by_case, taken_regions = compiled_chains(options.rows, n, dtype, length, clock)
        rows.append({"op": "compiled", "case": "region", "pass": "regions of the chain that are "
                     "ours", "time": float(taken_regions)})
        for case, found in found_by_case.items():
            for index, name in enumerate(("forward", "backward")):
                add("compiled", case, name, {who: times[index] for who, times in found.items()})
    if options.routes:
        leaves = [x, weight, bias]
        got = clock.compare({who: forward_and_backward(f, 1, dy, leaves, clock.wait)
                             for who, f in route_cases(x, weight, bias).items()})
        for who, times in got.items():
            rows.append({"op": LAYER_NORM, "case": "route", "pass": who, "forward": times[0],
                         "backward": times[1]})
    return rows


def table(rows: list[dict[str, object]]) -> str:
    """The rows for people: microseconds a norm."""
    lines = [f"{'':40}{'torch':>9}{'ours':>9}{'ratio':>8}{'us more':>9}{'overridden':>12}"
             f"{'ratio':>8}{'patched':>12}{'ratio':>8}"]
    for row in rows:
        if row["case"] in ("route", "region"):
            continue
        theirs = row.get("torch")
        line = f"{row['op']}, {row['case']}, {row['pass']}".ljust(40)
        line += f"{theirs:9.1f}" if theirs is not None else f"{'-':>9}"
        for who, width in (("ours", 9), ("overridden", 12), ("patched", 12)):
            taken = row.get(who)
            if not isinstance(taken, float):
                continue
            line += f"{taken:{width}.1f}"
            if isinstance(theirs, float):
                line += f"{taken / theirs:8.2f}"
                line += f"{taken - theirs:9.1f}" if who == "ours" else ""
        lines.append(line)
    regions = [row for row in rows if row["case"] == "region"]
    if regions:
        lines += ["", "one region, with the memory of its outputs"]
        lines += [f"{row['pass']:42}{row['time']:9.1f}" for row in regions]
    routes = [row for row in rows if row["case"] == "route"]
    if routes:
        lines += ["", f"{'routes of LayerNorm':42}{'forward':>9}{'backward':>10}"]
        lines += [f"{row['pass']:42}{row['forward']:9.1f}{row['backward']:10.1f}"
                  for row in routes]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """The command; the exit code is 0, or 2 for wrong arguments."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda", help="cuda, or cpu with kernels that do "
                        "nothing (default: cuda)")
    parser.add_argument("--rows", type=int, help="M (default: 512; 1 on the CPU)")
    parser.add_argument("--n", type=int, help="N (default: 768; 64 on the CPU)")
    parser.add_argument("--dtype", default="f32", choices=TYPES)
    parser.add_argument("--norms", type=int, default=24, help="modules of the chain")
    parser.add_argument("--calls", type=int, default=100, help="calls of an operator a time")
    parser.add_argument("--repetitions", type=int, default=100, help="times of each case")
    parser.add_argument("--routes", action="store_true", help="also the ways to autograd")
    parser.add_argument("--compiled", action="store_true",
                        help="also regions in compiled graphs, which takes a minute")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    if options.device not in ("cuda", "cpu"):
        parser.error(f"--device: expected cuda or cpu, got '{options.device}'")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device: PyTorch has no GPU here; use --device cpu")
    is_gpu = options.device == "cuda"
    options.rows = options.rows or (512 if is_gpu else 1)
    options.n = options.n or (768 if is_gpu else 64)
    for name in ("rows", "n", "norms", "calls", "repetitions"):
        if getattr(options, name) < 1:
            parser.error(f"--{name}: expected 1 or more, got {getattr(options, name)}")
    torch.set_num_threads(1)
    if is_gpu:
        device = torch.device("cuda", torch.cuda.current_device())
        machine = torch.cuda.get_device_name(device)
    else:
        device, machine = torch.device("cpu"), "null kernels on the CPU"
        use_null_kernels(options.n, TYPES[options.dtype])
        use_null_regions()
        use_null_layers()
    rows = measure(options, device)
    head = (f"{datetime.date.today()}, {machine}, {platform.processor() or platform.machine()}, "
            f"torch {torch.__version__}, Python {platform.python_version()}, operators in "
            f"{'C++' if native.load() else 'Python'}, {options.rows}x{options.n} {options.dtype}")
    print(head)
    print("microseconds of the host a norm, medians of", options.repetitions)
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps({"head": head, "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
