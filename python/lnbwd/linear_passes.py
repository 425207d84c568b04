# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The two passes of a norm with a linear layer after it, and the ways through either.

``kernel`` has all of a pass computed by kernels of ours; ``torch`` and ``branches`` have PyTorch's
products with row programs of ours around them. All read and keep the same tensors. Whatever does
not depend on a call's tensors is made once and kept: texts, gradients, loaded kernels.
:mod:`lnbwd.product_choice` says which way is taken, and docs/layer-norm-linear.md counts what each
of them moves.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from . import _chips, native, operations, ops, product_choice, regions_op, runtime, schedule
from .compiler import Gradient as DerivedGradient
from .kernels import derive_gradient
from .launching import is_capturing, load_code
from .operations import LAYER_NORM, OPERATIONS, ROLES, Operation
from .rowprogram import Builder, Input, Output, RowProgram
from .spec import DTYPES, GradientSpec, ProgramSpec, rows_hint

__all__ = ["INPUTS", "Layer", "backward", "find_layer", "forward"]

INPUTS = ("x", "w", "gamma", "beta", "b")
"""What a gradient may be wanted of, in the order of the operator's results."""

_MAX_LAYERS = 4096
_TYPES = {name: dtype for dtype, name in native.ELEMENT_NAMES.items()}


class _Program(NamedTuple):
    """A program of kernels of ours: its name, and those of its operands, in order."""

    text: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Layer:
    """What the kernels of a call depend on.

    Attributes:
        norm: the norm's operation, LayerNorm's or RMSNorm's.
        k, n: the length of a normalised row, and of a row of the result.
        dtype: of x, the weight and the result: "f16", "bf16" or "f32".
        columns: the types of gamma, beta and b, those that are there.
        epsilon: what is added to the variance, or to the mean square.
        tf32: whether what products multiply may be rounded from float32 to tf32.
    """

    norm: str
    k: int
    n: int
    dtype: str
    columns: tuple[tuple[str, str], ...]
    epsilon: float
    tf32: bool = False

    @functools.cached_property
    def name(self) -> str:
        """Tells its forward pass from others."""
        return f"{self.text}// tf32\n" if self.tf32 else self.text

    @functools.cached_property
    def name_without_statistics(self) -> str:
        """The same of the pass that no gradient follows."""
        return f"{self.name}// without statistics\n"

    @functools.cached_property
    def statistics(self) -> tuple[str, ...]:
        """The numbers for each row that the forward pass puts out."""
        return ("mean", "rstd") if self.norm == LAYER_NORM else ("rstd",)

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """Those of :data:`INPUTS` that are there."""
        present = {"x", "w", *dict(self.columns)}
        return tuple(name for name in INPUTS if name in present)

    def _elements(self, op: Operation) -> dict[str, str]:
        """The types of an operation's operands, of those that the layer has."""
        columns = dict(self.columns)
        return {operand.name: "f32" if operand.role.kind == "row_scalar"
                else columns.get(operand.name, self.dtype) for operand in op.operands
                if operand.name not in ("gamma", "beta", "b", "residual", "sum")
                or operand.name in columns}

    def _mlir(self, op: Operation, elements: Mapping[str, str]) -> str:
        types = {name: operations.buffer_type(ROLES[name].kind, element,
                                              ROLES[name].row(self.k, self.n))
                 for name, element in elements.items()}
        return operations.mlir(op.name, types, [f"epsilon = {self.epsilon:.17e} : f64"])

    @functools.cached_property
    def text(self) -> str:
        """The forward pass, of out and the statistics, as MLIR."""
        op = OPERATIONS[self.norm + "_linear"]
        return self._mlir(op, self._elements(op))

    @functools.cached_property
    def _programs(self) -> dict[int, _Program]:
        return {}

    def program(self, rows: int) -> _Program:
        """The forward pass by kernels of ours, for a call of so many rows."""
        hint = rows_hint(rows)
        program = self._programs.get(hint)
        if program is None:
            op = OPERATIONS[self.norm + "_linear"]
            elements = self._elements(op)
            program = self._programs[hint] = _register(
                self.text, self, [o.name for o in op.operands if o.name in elements],
                ("out", *self.statistics), hint)
        return program

    def operand(self, name: str) -> regions_op.Operand:
        """What an operand is to the operator of row programs."""
        role = ROLES[name]
        element = "f32" if role.kind == "row_scalar" else dict(self.columns).get(
            name if name in INPUTS else name.removeprefix("d"), self.dtype)
        return regions_op.Operand(role.kind, _TYPES[element], 1 if role.kind == "row_scalar"
                                  else math.prod(role.row(self.k, self.n)))

    @functools.cached_property
    def _norms(self) -> dict[tuple[int, bool], str]:
        return {}

    def norm_text(self, rows: int, with_statistics: bool) -> str:
        """The norm alone, in front of PyTorch's product, for a call of so many rows, as the text
        that :mod:`lnbwd.regions_op` knows it by."""
        key = (rows_hint(rows), with_statistics)
        text = self._norms.get(key)
        if text is None:
            text = self._norms[key] = self._register_norm(*key)
        return text

    def norm_source(self, with_statistics: bool) -> str:
        """The norm alone as MLIR."""
        return self._mlir(OPERATIONS[self.norm], self._norm_elements(with_statistics))

    def _norm_elements(self, with_statistics: bool) -> dict[str, str]:
        return {name: element for name, element in self._elements(OPERATIONS[self.norm]).items()
                if with_statistics or name not in self.statistics}

    def _register_norm(self, hint: int, with_statistics: bool) -> str:
        source, elements = self.norm_source(with_statistics), self._norm_elements(with_statistics)

        def make_kernel(device: runtime.Device) -> runtime.Kernel:
            options = before_product(device.chip, self.k, DTYPES[self.dtype], hint)
            return regions_op.make_kernel_from_mlir(source, options, rows=hint)(device)

        def operands(is_output: bool) -> list[regions_op.Operand]:
            return [self.operand(operand.name) for operand in OPERATIONS[self.norm].operands
                    if operand.is_output == is_output and operand.name in elements]

        return regions_op.register_program(f"{source}// {hint} rows, before a product\n",
                                           operands(False), operands(True), make_kernel).text

    @functools.cached_property
    def _gradients(self) -> dict[tuple[str, ...], Gradient]:
        return {}

    def gradient(self, wanted: Sequence[str]) -> Gradient:
        """The gradient with respect to some inputs, given the statistics."""
        key = tuple(wanted)
        gradient = self._gradients.get(key)
        if gradient is None:
            gradient = self._gradients.setdefault(key, Gradient(self, key))
        return gradient


@dataclass(frozen=True)
class Gradient:
    """A layer's gradient.

    Attributes:
        layer: the layer.
        wanted: the inputs that it is taken with respect to, some of :data:`INPUTS`.
    """

    layer: Layer
    wanted: tuple[str, ...]

    @functools.cached_property
    def name(self) -> str:
        """Tells it from others; known before it is derived."""
        return f"{self.layer.name}// {','.join(self.wanted)}\n"

    @functools.cached_property
    def spec(self) -> GradientSpec:
        """What its text is kept by."""
        return GradientSpec(self.layer.text, self.wanted, ("out",), self.layer.statistics)

    @functools.cached_property
    def _derived(self) -> DerivedGradient:
        return derive_gradient(self.spec)

    @property
    def text(self) -> str:
        """The derived gradient as MLIR."""
        return self._derived.mlir

    @functools.cached_property
    def _programs(self) -> dict[int, _Program]:
        return {}

    def program(self, rows: int) -> _Program:
        """The gradient by kernels of ours, for a call of so many rows."""
        hint = rows_hint(rows)
        program = self._programs.get(hint)
        if program is None:
            program = self._programs[hint] = _register(
                self.text, self.layer, self._derived.operands,
                ["d" + name for name in self.wanted], hint)
        return program

    @functools.cached_property
    def norm_inputs(self) -> tuple[str, ...]:
        """Those of the wanted inputs that are the norm's own."""
        return tuple(name for name in ("x", "gamma", "beta") if name in self.wanted)

    @functools.cached_property
    def _texts(self) -> dict[tuple[str, int], str]:
        return {}

    def text_of(self, program: Callable[[int], RowProgram], rows: int) -> str:
        """One of the programs below for a call of so many rows, as the text that
        :mod:`lnbwd.regions_op` knows it by."""
        key = (program.__name__, rows_hint(rows))
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = regions_op.register_row_program(program(key[1])).text
        return text

    def bias_program(self, hint: int) -> RowProgram:
        """The column sums of dout, its schedule chosen for so many rows."""
        layer = self.layer
        build = Builder(layer.n)
        output = Output("column_sum", dict(layer.columns)["b"], build.add("input", 0))
        program = build.finish(None, [Input("row", layer.dtype)], [output])
        return dataclasses.replace(program, expected_rows=hint)

    def rows_program(self, hint: int) -> RowProgram:
        """What is after the product dz, its schedule chosen for so many rows: of dz, x, gamma,
        beta and the statistics it makes z again, and the gradients of the norm's inputs, in one
        pass over the rows."""
        layer = self.layer
        columns = [(name, dtype) for name, dtype in layer.columns if name != "b"]
        inputs = [("dz", Input("row", layer.dtype)), ("x", Input("row", layer.dtype)),
                  *((name, Input("column", dtype)) for name, dtype in columns),
                  *((name, Input("scalar", "f32")) for name in layer.statistics)]
        build = Builder(layer.k)
        value = {name: build.add("input", index) for index, (name, _) in enumerate(inputs)}

        def mul(first: int, second: int) -> int:
            return build.add("mul", first, second)

        def mean(row: int) -> int:
            return mul(build.add("row_sum", row), build.constant(1 / layer.k))

        centred = build.add("sub", value["x"], value["mean"]) if "mean" in value else value["x"]
        xhat = mul(centred, value["rstd"])
        z = mul(xhat, value["gamma"]) if "gamma" in value else xhat
        z = build.add("add", z, value["beta"]) if "beta" in value else z
        weighted = mul(value["dz"], value["gamma"]) if "gamma" in value else value["dz"]
        inner = build.add("sub", weighted, mul(xhat, mean(mul(weighted, xhat))))
        if layer.norm == LAYER_NORM:
            inner = build.add("sub", inner, mean(weighted))
        sums = {"gamma": mul(value["dz"], xhat), "beta": value["dz"]}
        outputs = [Output("row", layer.dtype, z)]
        if "x" in self.wanted:
            outputs.append(Output("row", layer.dtype, mul(value["rstd"], inner)))
        outputs += [Output("column_sum", dtype, sums[name]) for name, dtype in columns
                    if name in self.wanted]
        program = build.finish(None, [given for _, given in inputs], outputs)
        return dataclasses.replace(program, expected_rows=hint)


@functools.lru_cache(_MAX_LAYERS)
def find_layer(norm: str, k: int, n: int, dtype: torch.dtype, gamma: torch.dtype | None,
               beta: torch.dtype | None, b: torch.dtype | None, epsilon: float,
               tf32: bool = False) -> Layer:
    """The layer of these sizes and types, the same object each time."""
    columns = tuple((name, native.ELEMENT_NAMES[given]) for name, given in
                    (("gamma", gamma), ("beta", beta), ("b", b)) if given is not None)
    return Layer(norm, k, n, native.ELEMENT_NAMES[dtype], columns, epsilon, tf32)


# --------------------------------------------------------------------------------------------------
# By kernels of ours
# --------------------------------------------------------------------------------------------------


def _register(source: str, layer: Layer, operands: Iterable[str], written: Collection[str],
              hint: int) -> _Program:
    """A program of kernels of ours for calls with so many rows.

    Args:
        source: the program as MLIR.
        layer: the layer.
        operands: the names of its arguments, in order.
        written: those that are outputs.
        hint: for calls with this :func:`lnbwd.spec.rows_hint`.
    """
    def make_kernel(device: runtime.Device) -> runtime.Kernel:
        has_tf32 = layer.tf32 and _chips.has_tf32_products(device.chip)
        # Of programs with matrices all chips' kernels depend on the number of rows: how a sum is
        # taken apart.
        return load_code(lambda chip, format: ProgramSpec(
            source, chip, "float32-products=tf32" if has_tf32 else "", format, hint), device)

    names = tuple(operands)
    inputs, outputs = ([layer.operand(name) for name in names if (name in written) == is_output]
                       for is_output in (False, True))
    text = f"{source}// {hint} rows{', tf32' if layer.tf32 else ''}\n"
    return _Program(regions_op.register_program(text, inputs, outputs, make_kernel).text, names)


def _run(program: _Program, tensors: Mapping[str, Tensor]) -> None:
    """Launches a program on tensors by the names of its operands."""
    x = tensors["x"]
    _call_of(program.text, x.device)(x.shape[0], *[tensors[name] for name in program.names])


def _forward_by_kernels(layer: Layer, known: dict[str, Tensor], _: bool) -> dict[str, Tensor]:
    x = known["x"]
    rows = x.shape[0]
    rstd = x.new_empty(rows, dtype=torch.float32)
    results = {"out": x.new_empty(rows, layer.n), "rstd": rstd}
    if layer.norm == LAYER_NORM:
        results["mean"] = torch.empty_like(rstd)
    _run(layer.program(rows), known | results)
    return results


def _backward_by_kernels(gradient: Gradient, known: dict[str, Tensor]) -> dict[str, Tensor]:
    gradients = {"d" + name: torch.empty_like(known[name]) for name in gradient.wanted}
    _run(gradient.program(known["x"].shape[0]), known | gradients)
    return gradients


# --------------------------------------------------------------------------------------------------
# By PyTorch's products
# --------------------------------------------------------------------------------------------------


# The chip that the fields below were measured on; rows up to which each set of them has a workgroup
# of its own, columns of a lane, and idle lanes.
_MEASURED_CHIP, _MOST_APART_ROWS, _MOST_APART_COLUMNS, _MOST_IDLE = _chips.GPU, 2048, 64, 1.34


def before_product(chip: str, k: int, element_bytes: int, rows: int) -> str:
    """The options of lnbwd-pipeline for a norm that a product of PyTorch's follows.

    A kernel that starts before the one in front of it has ended gains among kernels that all do so.
    The vendor's products do not, and between them it takes half a microsecond longer on an H200.
    Without an early start there is nothing to be ahead of where rows are few, and a wave for each
    row is the fastest.
    """
    if chip != _MEASURED_CHIP:
        return ""
    fields = {schedule.DEPENDENT_LAUNCH: 0, schedule.PREFETCH_BEFORE_DEPENDENCY: 0,
              schedule.EARLY_TRIGGER: 0}

    def padded(width: int) -> int:
        return -(-k // (32 * width)) * 32 * width

    widths = [size // element_bytes for size in (16, 8) if k % (size // element_bytes) == 0]
    width = min(widths, key=padded, default=0)  # Of those that are as good the wider.
    if (width and rows <= _MOST_APART_ROWS and padded(width) <= 32 * _MOST_APART_COLUMNS
            and padded(width) <= _MOST_IDLE * k):
        fields |= {schedule.THREADS_PER_ROW: 32, schedule.ROW_GROUPS: 4,
                   schedule.VECTOR_WIDTH: width, schedule.ROWS_PER_WORKGROUP: 4,
                   schedule.WORKGROUPS_PER_COMPUTE_UNIT: 0, schedule.PREFETCH: 0,
                   schedule.UNROLL: 1, schedule.STAGES: 0}
    return f"schedule={schedule.overrides(fields)}"


def _normalise(layer: Layer, known: Mapping[str, Tensor],
               with_statistics: bool = False) -> tuple[Tensor, ...]:
    """The normalised rows, and the statistics if they are wanted."""
    x, gamma, beta = known["x"], known.get("gamma"), known.get("beta")
    if layer.k == 0:
        norm = ops.NORMS[layer.norm]
        empty = x.new_zeros(x.shape[0], dtype=torch.float32)
        return (torch.empty_like(x), *[empty] * norm.count)
    rows = x.shape[0]
    text = layer.norm_text(rows, with_statistics)
    if not with_statistics and not regions_op.is_loaded(text, x) and is_capturing(x.device):
        # Nothing can be loaded; the kernel of a training step does as well.
        with_statistics, text = True, layer.norm_text(rows, True)
    outputs = [torch.empty_like(x)]
    if with_statistics:
        outputs.append(x.new_empty(rows, dtype=torch.float32))
        if layer.norm == LAYER_NORM:
            outputs.append(torch.empty_like(outputs[1]))
    inputs = [x] if gamma is None else [x, gamma]
    if beta is not None:
        inputs.append(beta)
    _call_of(text, x.device)(rows, *inputs, *outputs)
    return tuple(outputs)


def _forward_by_torch(layer: Layer, known: Mapping[str, Tensor],
                      with_statistics: bool) -> dict[str, Tensor]:
    z, *statistics = _normalise(layer, known, with_statistics)
    b = known.get("b")
    if b is not None and b.dtype != z.dtype:
        b = b.to(z.dtype)
    results = {"out": torch.nn.functional.linear(z, known["w"], b)}
    if with_statistics:
        results |= zip(layer.statistics, statistics, strict=True)
    return results


def _norm_gradients(gradient: Gradient, known: Mapping[str, Tensor],
                    dz: Tensor) -> dict[str, Tensor]:
    """The gradients of the norm's inputs by our kernel of them."""
    layer = gradient.layer
    norm = ops.NORMS[layer.norm]
    names = ("x", "gamma", "beta")[:1 + norm.count]
    results: Sequence[Tensor] = norm.raw_bwd(
        dz, known["x"], *(known[name] for name in layer.statistics),
        *(known.get(name) for name in names[1:]), (layer.k,),
        [name in gradient.wanted for name in names])
    return {"d" + name: result for name, result in zip(names, results, strict=True)
            if name in gradient.wanted}


def _bias_gradient(gradient: Gradient, known: Mapping[str, Tensor], db: Tensor) -> None:
    """The column sums of dout, added up in float32 and rounded once. By kernels of ours: PyTorch's
    sum over the rows takes longer than the product beside it where rows are some hundred."""
    dout = known["dout"]
    rows = dout.shape[0]
    _call_of(gradient.text_of(gradient.bias_program, rows), dout.device)(rows, dout, db)


def _backward_by_torch(gradient: Gradient, known: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """One kernel after another. What makes dx of dz reads x, and so makes z as well, which the
    product after it multiplies: x is read once."""
    layer, wanted, dout = gradient.layer, gradient.wanted, known["dout"]
    gradients = {}
    if "b" in wanted:
        gradients["db"] = torch.empty_like(known["b"])
        _bias_gradient(gradient, known, gradients["db"])
    if not gradient.norm_inputs:
        if "w" in wanted:
            gradients["dw"] = dout.t() @ _normalise(layer, known)[0]
        return gradients
    dz = dout @ known["w"]
    if "w" not in wanted:
        return gradients | _norm_gradients(gradient, known, dz)
    x = known["x"]
    outputs = {"z": torch.empty_like(x),
               **{"d" + name: torch.empty_like(known[name]) for name in gradient.norm_inputs}}
    inputs = (known[name] for name in ("x", "gamma", "beta", *layer.statistics) if name in known)
    rows = x.shape[0]
    call = _call_of(gradient.text_of(gradient.rows_program, rows), x.device)
    call(rows, dz, *inputs, *outputs.values())
    gradients["dw"] = dout.t() @ outputs.pop("z")
    return gradients | outputs


_call_of = functools.lru_cache(_MAX_LAYERS)(
    lambda text, device: regions_op.region_call(text, str(device)))


_streams = threading.local()


def _side_stream(device: torch.device) -> torch.cuda.Stream:
    """The stream beside the current one; one each for a thread, since each stream has a workspace
    of the vendor's products, and what one thread captures is not to be another's."""
    known: dict[torch.device, torch.cuda.Stream] = _streams.__dict__.setdefault("known", {})
    stream = known.get(device)
    if stream is None:
        stream = known[device] = torch.cuda.Stream(device)
    return stream


class _Branch:
    """What is started in a ``with`` statement runs beside what the current stream gets after it,
    until :meth:`join`. On a simulated device all is done in order."""

    def __init__(self, device: torch.device) -> None:
        self._side = None
        if device.type == "cuda":
            self._current, self._side = torch.cuda.current_stream(device), _side_stream(device)
            self._context = torch.cuda.stream(self._side)

    def __enter__(self) -> None:
        if self._side is not None:
            self._side.wait_stream(self._current)
            self._context.__enter__()

    def __exit__(self, *error: object) -> None:
        if self._side is not None:
            self._context.__exit__(*error)

    def join(self) -> None:
        """Has the current stream wait for the branch."""
        if self._side is not None:
            self._current.wait_stream(self._side)


def _backward_by_branches(gradient: Gradient, known: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What dw and db need, and what the norm's gradients need, side by side: neither waits for the
    other, and where rows are few none of the products fills the device. It reads x once more."""
    wanted, dout = gradient.wanted, known["dout"]
    if not gradient.norm_inputs or ("w" not in wanted and "b" not in wanted):
        return _backward_by_torch(gradient, known)
    # All that outlives the branch is memory of the current stream, which waits for the branch.
    gradients = {"d" + name: torch.empty_like(known[name]) for name in ("w", "b") if name in wanted}
    branch = _Branch(dout.device)
    try:
        with branch:
            if "w" in wanted:
                torch.mm(dout.t(), _normalise(gradient.layer, known)[0], out=gradients["dw"])
            if "b" in wanted:
                _bias_gradient(gradient, known, gradients["db"])
        gradients |= _norm_gradients(gradient, known, dout @ known["w"])
    finally:
        branch.join()
    return gradients


# --------------------------------------------------------------------------------------------------
# Either pass
# --------------------------------------------------------------------------------------------------


_FORWARD = {product_choice.KERNEL: _forward_by_kernels, product_choice.TORCH: _forward_by_torch}
_BACKWARD = {product_choice.KERNEL: _backward_by_kernels, product_choice.TORCH: _backward_by_torch,
             product_choice.BRANCHES: _backward_by_branches}


def forward(layer: Layer, known: dict[str, Tensor],
            with_statistics: bool = True) -> dict[str, Tensor]:
    """The result and the statistics, by the way that is chosen.

    Args:
        layer: the layer.
        known: its tensors, dense, by the names of the operands; x of two dimensions.
        with_statistics: whether a gradient may be asked for later.

    Returns:
        "out" and the statistics of the layer, which may be left out where they are not wanted.
    """
    x = known["x"]
    name = layer.name if with_statistics else layer.name_without_statistics
    way = product_choice.choose(name, x.device, x.shape[0], _FORWARD, layer, known,
                                with_statistics)
    return _FORWARD[way](layer, known, with_statistics)


def backward(layer: Layer, known: dict[str, Tensor],
             wanted: Sequence[str]) -> dict[str, Tensor]:
    """Gradients, by the way that is chosen.

    Args:
        layer: the layer.
        known: its tensors, dout and the statistics, as :func:`forward` takes them.
        wanted: one or more of :data:`INPUTS` that are there.

    Returns:
        "dx", "dw", ..., those that are wanted.
    """
    x, gradient = known["x"], layer.gradient(wanted)
    way = product_choice.choose(gradient.name, x.device, x.shape[0], _BACKWARD, gradient, known)
    return _BACKWARD[way](gradient, known)
