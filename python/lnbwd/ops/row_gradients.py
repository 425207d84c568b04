# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The row programs of calls of a row function, and of its derivatives.

The gradient is derived by the compiler (lnbwd-differentiate) from the row program of the forward
pass: one for each set of inputs that need a gradient and of outputs that have one, when it is first
asked for. What the forward pass keeps is what the gradient with respect to all inputs reads: of the
inputs, and of the outputs that the trace has for it. A gradient that is to have one itself is
PyTorch's, of the Python function, and so is all that torch.func's transforms make.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import re
import textwrap
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..core.base.errors import CompileError, LnbwdError, refusal
from ..core.compile import compiler
from ..core.compile.spec import GradientSpec, Source, hints_near
from ..core.compile.store import derive_gradient
from ..program.mlir import mlir
from ..program.row_program import RowProgram
from ..program.watching import Signature, Trace
from .choices import choices
from .region_programs import operand, register_program, register_row_program

_vjp: Any = torch.func.vjp


@dataclass(frozen=True)
class Forward:
    """A registered forward program: the tensor of the call that each input is, and the outputs that
    are results or saved. ``rest`` is its text for rows of one element, if the plan is flat."""

    program: RowProgram
    text: str
    rest: str
    inputs: tuple[int, ...]
    results: tuple[int, ...]
    saved: tuple[int, ...]


@dataclass(frozen=True)
class Gradient:
    """A registered derived program. Each input is at a place in what the backward pass has at hand,
    a gradient for each result, then what was kept; each output is the gradient of a tensor of the
    call. ``text`` is empty where the gradient is 0, ``rest`` as of a forward program."""

    mlir: str
    text: str
    rest: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Plan:
    """How calls of a row function with one signature are computed: by kernels whose schedules are
    chosen for so many rows, or by PyTorch. ``is_flat``: the function is elementwise, and its
    programs have other rows than the calls."""

    def __init__(self, function: Callable[..., Any], call: Callable[[Sequence[Tensor]], Any],
                 signature: Signature, trace: Trace, rows: int, is_by_torch: bool,
                 is_flat: bool = False) -> None:
        self.function = function
        self.trace = trace
        self.rows = rows
        self.is_by_torch = is_by_torch
        self.is_flat = is_flat
        self.parts = [trace.parts if kind in ("row", "column") else 1
                      for kind in signature.kinds.values()]
        self.call = call if trace.parts == 1 else lambda parts: call(self._joined(parts))
        signature = trace.signature
        self.length = signature.length
        self.kinds = list(signature.kinds.values())
        self.names = list(signature.kinds)
        self.dtypes = list(signature.dtypes.values())
        self.count = len(self.kinds)
        self.first = self.kinds.index("row")
        self.part_shapes: dict[int, tuple[int, ...]] = {
            place: signature.parts[name][0] for place, name in enumerate(self.names)
            if name in signature.parts}
        # The compiler adds up gradients along neighbouring dimensions, of which one is left.
        self.has_gradient = [
            kind != "number" and signature.dtypes[name].is_floating_point
            and (kind != "part" or not signature.parts[name][1] or (
                signature.parts[name][0] != () and len(signature.parts[name][1]) == 1))
            for name, kind in signature.kinds.items()]
        self.is_derived = [bool(sources) for sources in trace.sources]
        self.constant_results = functools.cache(self._constant_results)
        self.has_numbers = any(kind not in ("row", "scalar") for kind in trace.shapes)
        self._lock = threading.RLock()
        self._trainings: dict[bool, tuple[Forward, tuple[int, ...]]] = {}
        self._gradients: dict[Any, Gradient] = {}

    def _constant_results(self, needs: tuple[bool, ...]) -> list[int]:
        """The results that need no gradient where tensors of the call do, whose truth values end
        ``needs``."""
        wanted = set(itertools.compress(self.names, needs[-self.count:]))
        return [place for place, sources in enumerate(self.trace.sources)
                if not wanted & sources]

    def _forward(self, saved: Sequence[int]) -> Forward:
        """The forward program with some of the values that may be saved."""
        trace = self.trace
        outputs = sorted({*trace.results, *saved})
        places = {old: new for new, old in enumerate(outputs)}
        program = dataclasses.replace(trace.program.with_outputs(outputs), expected_rows=self.rows)
        text = register_row_program(program).text
        rest = register_row_program(dataclasses.replace(
            program, length=1, expected_rows=choices.usual_length)).text if self.is_flat else ""
        return Forward(program, text, rest, tuple(self.names.index(name) for name in trace.inputs),
                        tuple(places[old] for old in trace.results),
                        tuple(places[old] for old in saved))

    @functools.cached_property
    def inference(self) -> Forward:
        """The forward program that keeps nothing."""
        return self._forward(())

    def training(self, saves: bool = True) -> tuple[Forward, tuple[int, ...]]:
        """The forward program that saves values for the gradient, and the tensors of the call that
        are kept. Without ``saves`` only these tensors are kept."""
        found = self._trainings.get(saves)
        if found is not None:
            return found
        with self._lock:
            if not any(self.is_derived):
                found = self._trainings[saves] = self.inference, ()
                return found
            saved = self.trace.saved if saves else ()
            everything = self._forward(saved)
            derived = itertools.compress(everything.results, self.is_derived)
            names = self._derive(everything, tuple(derived), [
                place for place, tensor in enumerate(everything.inputs)
                if self.has_gradient[tensor]]).operands
            saved = tuple(old for old, new in zip(saved, everything.saved, strict=True)
                          if f"out{new}" in names)
            kept = tuple(tensor for place, tensor in enumerate(everything.inputs)
                         if f"arg{place}" in names)
            found = self._trainings[saves] = self._forward(saved), kept
            return found

    def _derive(self, forward: Forward, of: Sequence[int], wrt: Sequence[int]) -> compiler.Gradient:
        program = dataclasses.replace(forward.program, expected_rows=None)
        try:
            return derive_gradient(GradientSpec(
                mlir(program, is_exact=True), tuple(f"arg{place}" for place in wrt),
                tuple(f"out{place}" for place in of),
                tuple(f"out{place}" for place in forward.saved) or ("none",)))
        except CompileError as error:
            raise CompileError(str(refusal(self.function, None, str(error))),
                               error.diagnostics) from None

    def gradient(self, of: tuple[bool, ...], wrt: tuple[bool, ...]) -> Gradient:
        """The gradient of some results with respect to some tensors of the call, from the values
        that :meth:`training` keeps. ``wrt`` ends in a truth value for each tensor."""
        found = self._gradients.get((of, wrt))
        if found is not None:
            return found
        with self._lock:
            forward, kept = self.training()
            results = [out for out, has, is_derived in zip(forward.results, of, self.is_derived,
                                                           strict=True) if has and is_derived]
            wanted = [place for place, tensor in enumerate(forward.inputs)
                      if wrt[tensor - self.count]]
            if not results or not wanted:
                found = self._gradients[of, wrt] = Gradient("", "", "", (), ())
                return found
            try:
                derived = self._derive(forward, results, wanted)
            except CompileError as error:
                without = [self.names[tensor] for tensor in (forward.inputs[i] for i in wanted)
                           if not self.has_gradient[tensor]]
                if without:
                    raise LnbwdError(
                        f"{self.function.__name__}: {without[0]} requires a gradient; expected of "
                        "lnbwd.Parts that do neighbouring dimensions: pass it expanded as rows, or "
                        "detached") from error
                raise
            at_hand = [f"dout{out}" for out in forward.results]
            at_hand += [f"arg{forward.inputs.index(tensor)}" for tensor in kept]
            at_hand += [f"out{out}" for out in forward.saved]
            reads = [name for name in derived.operands if not name.startswith("darg")]
            writes = [int(name[4:]) for name in derived.operands if name.startswith("darg")]
            name = self._register(derived, forward.program, self.rows)
            rest = ""
            if self.is_flat and name:
                of_one = dataclasses.replace(
                    forward, program=dataclasses.replace(forward.program, length=1))
                rest = self._register(self._derive(of_one, results, wanted), of_one.program,
                                      choices.usual_length)
            found = self._gradients[of, wrt] = Gradient(
                derived.mlir, name, rest, tuple(at_hand.index(name) for name in reads),
                tuple(forward.inputs[place] for place in writes))
            return found

    def gradient_by_torch(self, of: tuple[bool, ...], wrt: tuple[bool, ...], shape: torch.Size,
                          at_hand: Sequence[Tensor | None]) -> list[Tensor]:
        """Computes :meth:`gradient` by PyTorch's operations in float32."""
        gradient = self.gradient(of, wrt)
        if gradient.text:  # (Otherwise it reads nothing that differs from row to row.)
            self.check_kept()
        grads = [grad for grad in at_hand[:len(of)] if grad is not None]
        kept = dict(zip(self.training()[1], at_hand[len(of):], strict=False))
        tensors = [grads[0].new_zeros(self.shape_of(place, shape)) if tensor is None
                   else tensor.float() if tensor.is_floating_point() else tensor
                   for place in range(self.count) for tensor in (kept.get(place),)]

        def call(*inputs: Tensor) -> tuple[Tensor, ...]:
            changed = dict(zip(gradient.outputs, inputs, strict=True))
            results = self.call([changed.get(place, t) for place, t in enumerate(tensors)])
            results = results if isinstance(results, tuple) else (results,)
            return tuple(result for result, has in zip(results, of, strict=True) if has)

        results, pull = _vjp(call, *(tensors[place] for place in gradient.outputs))
        found = pull(tuple(grad.to(one.dtype) for grad, one in zip(grads, results, strict=True)))
        return [one.to(self.dtypes[place])
                for place, one in zip(gradient.outputs, found, strict=True)]

    @staticmethod
    def _register(derived: compiler.Gradient, program: RowProgram, rows: int) -> str:
        """Registers a gradient for so many rows; its name, or "": it is 0, or the same for all."""
        operands = {f"arg{place}": operand(i, program.length)
                    for place, i in enumerate(program.inputs)}
        for place, o in enumerate(program.outputs):
            operands |= dict.fromkeys((f"out{place}", f"dout{place}"), operand(o, program.length))
        inputs = [operands[name] for name in derived.operands if not name.startswith("darg")]
        if not any(one.has_all_rows for one in inputs):
            return ""
        digest = hashlib.sha256(derived.mlir.encode()).hexdigest()[:16]
        stem = f"rows{program.length}_bwd {digest}"
        register_program(
            f"{stem} {rows}", inputs,
            [operands[name[1:]] for name in derived.operands if name.startswith("darg")],
            Source(derived.mlir, rows),
            stand_ins=lambda: (f"{stem} {other}" for other in hints_near(rows)))
        return f"{stem} {rows}"

    def mlir(self) -> str:
        """The forward program and its gradient, as --split-input-file separates them."""
        forward, _ = self.training()
        gradient = self.gradient((True,) * len(forward.results), tuple(self.has_gradient))
        # Without its module: lnbwd-opt compiles no function of a module within one.
        text = re.sub(r"\Amodule \{\n(.*)^\}\s*\Z", lambda found: textwrap.dedent(found[1]),
                      gradient.mlir, flags=re.DOTALL | re.MULTILINE)
        return f"{mlir(forward.program)}\n// -----\n\n{text}"

    def shape_of(self, tensor: int, shape: torch.Size) -> Sequence[int]:
        """The shape of a tensor of the call; ``shape`` is the shape of the first rows."""
        kind = self.kinds[tensor]
        if kind == "part":
            return self.part_shapes[tensor]
        return shape if kind == "row" else shape[-1:] if kind == "column" else (*shape[:-1], 1)

    def _joined(self, parts: Sequence[Tensor]) -> list[Tensor]:
        """The tensors of a call from their parts."""
        left = iter(parts)
        return [next(left) if count == 1 else torch.cat([next(left) for _ in range(count)], -1)
                for count in self.parts]

    def check_kept(self) -> None:
        """Raises an error if the gradient does not follow from the tensors that are kept."""
        missing = set(self.training(saves=False)[1]) - set(self.training()[1])
        if missing:
            names = ", ".join(f"'{self.names[place]}'" for place in sorted(missing))
            raise LnbwdError(f"{self.function.__name__}: create_graph=True, for second "
                             f"derivatives, needs {names}, of which something else is saved; "
                             "expected saved=() in lnbwd.rowwise")
