# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A norm with the linear layer after it as row programs: texts, gradients and kernels,
each made once."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from ..core.base import operations
from ..core.base.operations import LAYER_NORM
from ..core.compile.compiler import Gradient as DerivedGradient
from ..core.compile.spec import GradientSpec
from ..core.compile.store import Source, derive_gradient
from ..ops import regions
from ..ops.regions import Registered
from ..program.builder import Draft
from ..program.element_types import ELEMENT_NAMES, TYPES
from ..program.operands import Input

INPUTS = ("x", "w", "gamma", "beta", "b")
"""What a gradient may be wanted of, in the order of the operator's results."""

_MAX_LAYERS = 4096
kept = functools.lru_cache(_MAX_LAYERS)


class _Region:
    """The region of a row program of a layer, whose results are those of out and the statistics
    that it computes, by their names. Its argument of an operand is named like it, "%x_"."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self.results: dict[str, str] = {}
        self._lines: list[str] = []

    def add(self, operation: str) -> str:
        """Writes an operation; gives its result."""
        name = f"%{len(self._lines)}"
        self._lines.append(f"    {name} = {operation}\n")
        return name

    def vector(self, name: str) -> str:
        """The type of an operand in the region."""
        row = self.layer.rows["x" if name == "z" else name][1]
        return f"vector<{'x'.join(map(str, row))}x{self.layer.element(name)}>" if row else "f32"

    def widened(self, name: str) -> str:
        """An operand's row in float32."""
        type_ = self.vector(name)
        wide = type_.rpartition("x")[0] + "xf32>"
        value = f"%{name}_"
        return value if type_ == wide else self.add(f"arith.extf {value} : {type_} to {wide}")

    def narrowed(self, value: str, length: int) -> str:
        """A row in the layer's type."""
        dtype = self.layer.dtype
        return value if dtype == "f32" else self.add(
            f"arith.truncf {value} : vector<{length}xf32> to vector<{length}x{dtype}>")

    def multiply(self, z: str) -> None:
        """out of the normalised row, which is of the layer's type."""
        n = self.layer.n
        out = self.add(f"lnbwd.linear {z}, %w_ : {self.vector('x')}, {self.vector('w')}")
        if "b" in self.layer.rows:
            out = self.add(
                f"arith.addf {out}, {self.widened('b')} fastmath<contract> : vector<{n}xf32>")
        self.results["out"] = self.narrowed(out, n)

    def write(self, inputs: Sequence[str]) -> str:
        """The row program of these inputs."""
        maps = {"x": "m, k", "z": "m, k", "gamma": "k", "beta": "k", "b": "n", "w": "n, k",
                "out": "m, n", "mean": "m", "rstd": "m"}
        outputs = [name for name in self.layer.rows if name in self.results]

        def listed(names: Sequence[str]) -> str:
            return ", ".join(f"%{name}[{maps[name]}] : {self.layer.types[name]}" for name in names)

        names = ", ".join(f'"{name}"' for name in (*inputs, *outputs))
        arguments = ", ".join(f"%{name}_: {self.vector(name)}" for name in inputs)
        return (f"  lnbwd.rowwise @{self.layer.norm}_linear domain(m | k, n)\n"
                f"      ins({listed(inputs)}) outs({listed(outputs)})\n"
                f"      attributes {{operand_names = [{names}]}} {{\n"
                f"  ^row({arguments}):\n{''.join(self._lines)}    lnbwd.yield "
                + ", ".join(self.results[name] for name in outputs) + " : "
                + ", ".join(map(self.vector, outputs)) + "\n  }\n")


@dataclass(frozen=True, eq=False)
class Layer:
    """What the kernels of a call depend on.

    Attributes:
        norm: the norm's operation.
        k, n: the length of a normalised row, and of a row of the result.
        dtype: of x, the weight and the result.
        columns: the types of gamma, beta and b, those that are there.
    """

    norm: str
    k: int
    n: int
    dtype: str
    columns: tuple[tuple[str, str], ...]
    epsilon: float

    @property
    def statistics(self) -> tuple[str, ...]:
        """The numbers for each row that the forward pass puts out."""
        return ("mean", "rstd") if self.norm == LAYER_NORM else ("rstd",)

    def element(self, name: str) -> str:
        """The type of an operand's elements, or of a gradient's."""
        return "f32" if name in ("mean", "rstd") else dict(self.columns).get(
            name if name in INPUTS else name.removeprefix("d"), self.dtype)

    @functools.cached_property
    def rows(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """The operands of the forward pass, in order: what each is to a launch, and the dimensions
        of a row."""
        k, n = self.k, self.n
        columns = {"gamma": (k,), "beta": (k,), "b": (n,), "w": (n, k)}
        return {"x": ("row_block", (k,)),
                **{name: ("column", row) for name, row in columns.items()
                   if name == "w" or name in dict(self.columns)},
                "out": ("row_block", (n,)),
                **{name: ("row_scalar", ()) for name in self.statistics}}

    @functools.cached_property
    def types(self) -> dict[str, str]:
        """Their types, and that of z, the normalised rows."""
        types = {name: operations.buffer_type(kind, self.element(name), row)
                 for name, (kind, row) in self.rows.items()}
        return {**types, "z": types["x"]}

    def _function(self, body: str) -> str:
        arguments = ", ".join(f"%{name}: {self.types[name]}" for name in self.rows)
        return f"func.func @{self.norm}_linear({arguments}) {{\n{body}  return\n}}\n"

    @functools.cached_property
    def text(self) -> str:
        """The forward pass, of out and the statistics, as MLIR: the norm, and the product of the
        rows that it writes."""
        def listed(names: Iterable[str]) -> str:
            return " ".join(f"{'y' if name == 'z' else name}(%{name} : {self.types[name]})"
                            for name in names)

        region = _Region(self)
        region.multiply("%z_")
        inputs = [name for name in ("x", "gamma", "beta") if name in self.rows]
        return self._function(
            f"  %m = lnbwd.row_count %x : {self.types['x']}\n"
            f"  %z = memref.alloc(%m) : {self.types['z']}\n"
            f"  lnbwd.{self.norm} {listed(inputs)} outs {listed(('z', *self.statistics))} "
            f"{{epsilon = {self.epsilon:.17e} : f64}}\n"
            + region.write(["z", *(n for n in ("b", "w") if n in self.rows)])
            + f"  memref.dealloc %z : {self.types['z']}\n")

    @functools.cached_property
    def formula(self) -> str:
        """The forward pass as one row program, whose gradient is derived: statistics as textbooks
        have them."""
        region, k = _Region(self), self.k
        row = f"vector<{k}xf32>"
        over = region.add(f"arith.constant {1 / k:.17e} : f32")
        epsilon = region.add(f"arith.constant {self.epsilon:.17e} : f32")

        def mean(value: str) -> str:
            total = region.add(f"vector.reduction <add>, {value} : {row} into f32")
            return region.add(f"arith.mulf {total}, {over} fastmath<contract> : f32")

        def combine(operation: str, left: str, right: str) -> str:
            return region.add(f"arith.{operation}f {left}, {right} fastmath<contract> : {row}")

        def spread(number: str) -> str:
            return region.add(f"vector.broadcast {number} : f32 to {row}")

        z = region.widened("x")
        if self.norm == LAYER_NORM:
            region.results["mean"] = mean(z)
            z = combine("sub", z, spread(region.results["mean"]))
        square = mean(combine("mul", z, z))
        moved = region.add(f"arith.addf {square}, {epsilon} fastmath<contract> : f32")
        region.results["rstd"] = region.add(f"math.rsqrt {moved} : f32")
        z = combine("mul", z, spread(region.results["rstd"]))
        if "gamma" in self.rows:
            z = combine("mul", region.widened("gamma"), z)
        if "beta" in self.rows:
            z = combine("add", z, region.widened("beta"))
        region.multiply(region.narrowed(z, k))
        return self._function(region.write(
            [name for name in ("x", "gamma", "beta", "b", "w") if name in self.rows]))

    def operand(self, name: str) -> regions.Operand:
        """What an operand is to the operator of row programs."""
        kind, row = self.rows[name if name in self.rows else name.removeprefix("d")]
        return regions.Operand(kind, TYPES[self.element(name)], math.prod(row))

    def register(self, source: str, names: Iterable[str], written: Sequence[str],
                 hint: int) -> Registered:
        """A program of kernels of ours, from MLIR: the names of its arguments, in order, those that
        are outputs among them, and the number of rows of calls."""
        inputs, outputs = (tuple(name for name in names if (name in written) == group)
                           for group in (False, True))
        text = f"{source}// {hint} rows\n"
        regions.register_program(text, [*map(self.operand, inputs)],
                                 [*map(self.operand, outputs)], Source(source, hint))
        return Registered(text, None, inputs, outputs)

    @kept
    def program(self, hint: int) -> Registered:
        """The forward pass by kernels of ours."""
        return self.register(self.text, list(self.rows), ("out", *self.statistics), hint)

    @kept
    def bias_program(self, hint: int) -> Registered:
        """The column sums of dout, added up in float32 and rounded once. By kernels of ours:
        PyTorch's sum over the rows takes longer than the product beside it where rows are some
        hundred."""
        p = Draft(self.n, {"dout": Input("row", self.dtype)})
        p.write("db", "column_sum", dict(self.columns)["b"], p.values["dout"])
        return regions.register_draft(p, None, hint)

    @kept
    def gradient(self, wanted: tuple[str, ...]) -> Gradient:
        """The gradient with respect to some inputs, given the statistics."""
        return Gradient(self, wanted)


@dataclass(frozen=True, eq=False)
class Gradient:
    """A layer's gradient with respect to some of :data:`INPUTS`."""

    layer: Layer
    wanted: tuple[str, ...]

    @functools.cached_property
    def spec(self) -> GradientSpec:
        """What its text is kept by."""
        return GradientSpec(self.layer.formula, self.wanted, ("out",), self.layer.statistics)

    @functools.cached_property
    def derived(self) -> DerivedGradient:
        """The derived gradient."""
        return derive_gradient(self.spec)

    @kept
    def program(self, hint: int) -> Registered:
        """The gradient by kernels of ours."""
        return self.layer.register(self.derived.mlir, self.derived.operands,
                                   ["d" + name for name in self.wanted], hint)


@functools.lru_cache(_MAX_LAYERS)
def find_layer(norm: str, k: int, n: int, dtype: torch.dtype,
               columns: tuple[tuple[str, torch.dtype], ...], epsilon: float) -> Layer:
    """The layer of these sizes and types, the same object each time."""
    names = ELEMENT_NAMES
    return Layer(norm, k, n, names[dtype], tuple((name, names[given]) for name, given in columns),
                 epsilon)
