# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A norm and the linear layer after it as row programs: texts, gradients, kernels."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from ..core.base import operations
from ..core.base.operations import LAYER_NORM
from ..core.compile.compiler import Gradient as DerivedGradient
from ..core.compile.spec import GradientSpec, Source
from ..core.compile.store import derive_gradient
from ..ops import regions
from ..ops.regions import Registered
from ..program.builder import Draft, Value
from ..program.mlir import Writer
from ..program.operands import ELEMENT_NAMES, TYPES, Input, Output
from ..program.row_program import Builder

INPUTS = ("x", "w", "gamma", "beta", "b")
"""The operands of a gradient, in the order of the operator's results."""

_MAX_LAYERS = 4096
kept = functools.lru_cache(_MAX_LAYERS)


_DIMS = {"x": "m, k", "z": "m, k", "gamma": "k", "beta": "k", "b": "n", "w": "n, k", "out": "m, n",
         "mean": "m", "rstd": "m"}


@dataclass(frozen=True, eq=False)
class Layer:
    """What the kernels of a call depend on: the norm, the lengths of a normalised row and of a row
    of the result, the type of both and of the weight, and those of gamma, beta and b."""

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
        """The operands of the forward pass, in order: each one's kind, and a row's dimensions."""
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

    def _function(self, *body: str) -> str:
        return operations.write_function(
            f"{self.norm}_linear", {name: self.types[name] for name in self.rows}, *body)

    def _vector(self, name: str, element: str = "") -> str:
        """The type of an operand in the region, or of the same in another type."""
        row = self.rows["x" if name == "z" else name][1]
        element = element or self.element(name)
        return f"vector<{'x'.join(map(str, row))}x{element}>" if row else element

    def _product(self, region: operations.Region, z: str, arguments: dict[str, str],
                 known: dict[str, str]) -> str:
        """The row program of the product of a row, ``z`` in the region that computes it, with the
        other inputs by their names there, and the statistics that the region has computed."""
        row, narrow = self._vector("out", "f32"), self._vector("out")
        arguments = arguments | {f"{name}_": name for name in ("b", "w") if name in self.rows}
        out = region.op("lnbwd.linear", f"{self._vector('x')}, {self._vector('w')}", z, "%w_")
        if "b" in self.rows:
            bias = "%b_" if self.element("b") == "f32" else region.cast(
                "arith.extf", "%b_", self._vector("b"), row)
            out = region.op("arith.addf", row, out, f"{bias} fastmath<contract>")
        results = known | {"out": out if narrow == row else region.cast(
            "arith.truncf", out, row, narrow)}
        inputs, outputs = (
            [operations.Access(name, _DIMS[name], self.types[name]) for name in names]
            for names in (arguments.values(), [name for name in self.rows if name in results]))
        return operations.rowwise(
            f"{self.norm}_linear", "m | k, n", inputs, outputs,
            {argument: self._vector(name) for argument, name in arguments.items()}, region.lines,
            [(results[one.name], self._vector(one.name)) for one in outputs])

    @functools.cached_property
    def text(self) -> str:
        """The forward pass as MLIR: the norm, and the product of the rows that it writes."""
        types = self.types
        inputs = [(name, name, types[name]) for name in ("x", "gamma", "beta") if name in self.rows]
        outputs = [(role, name, types[name]) for role, name in (
            ("y", "z"), *((name, name) for name in self.statistics))]
        return self._function(
            f"  %m = lnbwd.row_count %x : {types['x']}",
            f"  %z = memref.alloc(%m) : {types['z']}",
            operations.named(self.norm, inputs, outputs, [f"epsilon = {self.epsilon:.17e} : f64"]),
            self._product(operations.Region(), "%z_", {"z_": "z"}, {}),
            f"  memref.dealloc %z : {types['z']}")

    @functools.cached_property
    def formula(self) -> str:
        """The forward pass as one row program, for the gradient, with textbooks' statistics."""
        names: list[str] = [name for name in ("x", "gamma", "beta") if name in self.rows]
        builder, outputs = Builder(self.k), []

        def read(name: str) -> Value:
            return Value(builder, builder.add("input", names.index(name)))

        z = read("x")
        if self.norm == LAYER_NORM:
            mean = z.mean()
            outputs.append(Output("scalar", "f32", mean.index))
            z = z - mean
        rstd = ((z * z).mean() + self.epsilon).rsqrt()
        outputs.append(Output("scalar", "f32", rstd.index))
        z = z * rstd
        z = read("gamma") * z if "gamma" in names else z
        z = z + read("beta") if "beta" in names else z
        region = Writer(builder.finish(
            None, [Input("row" if name == "x" else "column", self.element(name)) for name in names],
            [Output("row", self.dtype, z.index), *outputs]), is_exact=True)
        [(normalised, _), *statistics] = region.results()
        return self._function(self._product(
            region, normalised, dict(zip(region.arguments(), names, strict=True)),
            {name: value for name, (value, _) in zip(self.statistics, statistics, strict=True)}))

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
        PyTorch's sum over some hundred rows takes longer than the product beside it."""
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
