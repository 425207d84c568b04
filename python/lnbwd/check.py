# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``python -m lnbwd.check``: forward and gradients against PyTorch autograd, as a table.

Each case runs with lnbwd on the GPU or on the simulator, and with torch.nn.functional in float64;
the table has the largest error of the output and of each gradient, what is allowed, and a verdict.
The first cases are that of a well-known tutorial: LayerNorm and a linear layer after it, for which
1e-4 is allowed for the output and for each of the five gradients; once with PyTorch's linear layer
and once with both in one operation, by kernels of ours.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

try:
    import torch
except ModuleNotFoundError as missing:
    if __name__ != "__main__":
        raise
    raise SystemExit(f"error: lnbwd.check: {missing}; it compares with PyTorch: pip install torch "
                     "numpy") from None
from torch import Tensor

from .core.base.errors import LnbwdError
from .core.compile.spec import words
from .functional import linear, norms
from .ops import launching
from .ops.launching import DEFAULT_CHIP
from .ops.norms import NORMS

__all__ = ["Row", "main", "run_checks"]

_DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
# One rounding of a 16-bit result and a little for the float32 arithmetic before it; for float32
# some 16 roundings (docs/numerics.md).
_ALLOWED = {torch.float32: 1e-6, torch.bfloat16: 4e-3, torch.float16: 6e-4}
# Products add their terms one by one, each sum rounded by half a unit at most: after so many terms
# a walk of that step has gone the square root of their number.
_ROUNDING = 2.0**-24
_TUTORIAL_ALLOWED = 1e-4
_EPS = 1e-5
# Outputs of the linear layers but the tutorial's.
_OUTPUTS = 96


class Row(NamedTuple):
    """One line of the table: the case, "output" or the tensor of the gradient, the largest error,
    the largest error over the largest reference value, and the allowed error."""

    case: str
    quantity: str
    absolute: float
    relative: float
    allowed: float

    @property
    def is_right(self) -> bool:
        """The verdict. An error that is not a number is not right."""
        return self.absolute <= self.allowed


def _largest_term(dy: Tensor, input: Tensor, weight: Tensor, bias: Tensor | None = None,
                  norm_weight: Tensor | None = None, **others: Tensor) -> float:
    """The largest term of a norm's input gradient: in a row of one element the terms cancel."""
    wdy = dy * weight if norm_weight is None else dy @ weight * norm_weight
    centred = input if bias is None else input - input.mean(-1, keepdim=True)
    return float((wdy * torch.rsqrt(centred.square().mean(-1, keepdim=True) + _EPS)).abs().max())


def _compare(case: str, function: Callable[..., Tensor], wide: Callable[..., Tensor],
             inputs: dict[str, Tensor], allowed: float | None, terms: int = 0,
             rounded: Callable[..., Tensor] | None = None) -> Iterator[Row]:
    """Runs ``function`` on the inputs and ``wide`` on them in float64 on the CPU. Without
    ``allowed`` it follows from the types, the most terms of a product among them, terms that
    cancel, and the change of results by ``rounded``, which rounds the factors of a product."""
    expected_inputs = {name: t.detach().double().cpu().requires_grad_()
                       for name, t in inputs.items()}
    with linear.forced(linear.KERNEL):
        output = function(**inputs)
        generator = torch.Generator().manual_seed(1)
        dy = torch.randn(output.shape, generator=generator).to(output.dtype)
        output.backward(dy.to(output.device))

    def results(reference: Callable[..., Tensor]) -> list[Tensor]:
        y = reference(**expected_inputs)
        return [y.detach(), *torch.autograd.grad(y, list(expected_inputs.values()), dy.double())]

    wanted = results(wide)
    walk = _ROUNDING * math.sqrt(terms)
    for name, actual, reference, other in zip(
            ["output", *inputs], [output.detach(), *(t.grad for t in inputs.values())],
            wanted, results(rounded or wide), strict=True):
        assert actual is not None
        size = float(reference.abs().max())
        error = float((actual.double().cpu() - reference).abs().max())
        limit = (_ALLOWED[actual.dtype] + walk) * max(size, 1.0) + float(
            (other - reference).abs().max())
        if name == "input":
            limit = max(limit, (4 * _ROUNDING + walk) * _largest_term(
                dy.double(), **{key: t.detach() for key, t in expected_inputs.items()}))
        yield Row(case, name if name == "output" else f"gradient of {name}", error,
                  error / size if size else error, limit if allowed is None else allowed)


def run_checks(device: torch.device, rows: int, lengths: Sequence[int],
               dtypes: Sequence[str]) -> Iterator[Row]:
    """Runs all cases on a device (the CPU: within :func:`lnbwd.simulate`), those but the tutorial's
    with so many rows, of these lengths and types; gives line by line."""
    generator = torch.Generator().manual_seed(0)

    def random(name: str, *shape: int, dtype: torch.dtype) -> Tensor:
        t = torch.randn(shape, generator=generator)
        if name == "input":  # Signs alternate, so that no short row has a variance of almost 0.
            t = (t.abs() + 0.5) * (1 - torch.arange(shape[-1]) % 2 * 2)
        return t.to(dtype).to(device).requires_grad_()

    def two(norm: Callable[..., Tensor]) -> Callable[..., Tensor]:
        return lambda input, norm_weight, norm_bias, weight, bias: torch.nn.functional.linear(
            norm(input, tuple(norm_weight.shape), norm_weight, norm_bias, _EPS), weight, bias)

    def one_operation(input: Tensor, **others: Any) -> Tensor:
        return linear.layer_norm_linear(input, input.shape[-1:], **others)

    def operands(leading: Sequence[int], n: int, outputs: int,
                 dtype: torch.dtype) -> dict[str, Tensor]:
        shapes = {"input": (*leading, n), "norm_weight": (n,), "norm_bias": (n,),
                  "weight": (outputs, n), "bias": (outputs,)}
        return {name: random(name, *shape, dtype=dtype) for name, shape in shapes.items()}

    def rounded(*arguments: Any) -> Tensor:
        y = torch.nn.functional.layer_norm(*arguments)
        return y + (y.to(dtype) - y).detach()

    both = two(torch.nn.functional.layer_norm)
    sizes = "batch 4, sequence 4, hidden 8, output 16"
    for title, function in (("LayerNorm + Linear", two(norms.layer_norm)),
                            ("LayerNorm + Linear in one", one_operation)):
        yield from _compare(f"{title}, {sizes}", function, both,
                            operands((4, 4), 8, 16, torch.float32), _TUTORIAL_ALLOWED)
    for name in dtypes:
        dtype = _DTYPES[name]
        for n in lengths:
            shapes = {"input": (rows, n), "weight": (n,), "bias": (n,)}
            for norm in NORMS.values():
                given = {k: random(k, *shapes[k], dtype=dtype)
                         for k in list(shapes)[:1 + norm.count]}
                ours, theirs = (
                    functools.partial(getattr(module, norm.name), normalized_shape=(n,), eps=_EPS)
                    for module in (norms, torch.nn.functional))
                yield from _compare(f"{norm.name}, {rows} x {n}, {name}", ours, theirs, given, None)
        n = lengths[0]
        yield from _compare(f"LayerNorm + Linear in one, {rows} x {n} to {_OUTPUTS}, {name}",
                            one_operation, both, operands((rows,), n, _OUTPUTS, dtype), None,
                            max(rows, n, _OUTPUTS), two(rounded))


def _print_checks(device: torch.device, rows: int, lengths: Sequence[int],
                  types: Sequence[str]) -> int:
    """Prints a table of the cases; gives 1 if one is wrong, else 0."""
    info = launching.open_device(device).info
    print(f"lnbwd on {info.name} ({info.arch}, {info.compute_units} compute units, "
          f"{info.driver})\nagainst torch {torch.__version__}, float64 autograd")
    wrong = total = 0
    case = ""
    for row in run_checks(device, rows, lengths, types):
        if row.case != case:
            case = row.case
            print(f"\n{case}\n  {'':24} {'max abs error':>14} {'max rel error':>14} "
                  f"{'allowed':>11}  verdict")
        total += 1
        wrong += not row.is_right
        print(f"  {row.quantity:24} {row.absolute:14.3e} {row.relative:14.3e} "
              f"{row.allowed:11.3e}  {'ok' if row.is_right else 'WRONG'}", flush=True)
    print(f"\nverdict: {total - wrong} of {total} right"
          + ("" if not wrong else f", {wrong} WRONG"))
    return 1 if wrong else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; gives its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m lnbwd.check",
        description="Compares norms, forward and gradients, with PyTorch autograd in float64. Exit "
                    "code: 0 if all is right, 1 if not, 2 if it could not run.")
    parser.add_argument("--device", default="",
                        help="gpu, sim or sim:CHIP (default: a GPU if PyTorch has one, else sim)")
    parser.add_argument("--rows", type=int, help="rows of a case (default: 512 on a GPU, else 12)")
    parser.add_argument("--n", type=words,
                        help="row lengths (default: 1024,4096 on a GPU, else 64,257)")
    parser.add_argument("--dtype", type=words, default=list(_DTYPES),
                        help="types, of f32,bf16,f16 (default: all)")
    options = parser.parse_args(arguments)
    on_gpu = options.device == "gpu" or (not options.device and torch.cuda.is_available())
    if options.device not in ("", "gpu", "sim") and not options.device.startswith("sim:"):
        parser.error(f"--device: expected gpu, sim or sim:CHIP, got {options.device!r}")
    if unknown := [name for name in options.dtype if name not in _DTYPES]:
        parser.error(f"--dtype: expected {', '.join(_DTYPES)}, got {unknown[0]!r}")
    lengths = options.n or (["1024", "4096"] if on_gpu else ["64", "257"])
    if not all(text.isdecimal() and 0 < int(text) < 2**31 for text in lengths):
        parser.error(f"--n: expected numbers from 1 to {2**31 - 1}, got {','.join(lengths)!r}")
    rows = options.rows if options.rows is not None else 512 if on_gpu else 12
    if not 0 < rows < 2**31:
        parser.error(f"--rows: expected 1 to {2**31 - 1}, got {rows}")
    if on_gpu and not torch.cuda.is_available():
        print("error: --device gpu: PyTorch has no GPU here; use --device sim", file=sys.stderr)
        return 2

    device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else (
        torch.device("cpu"))
    try:
        with contextlib.nullcontext() if on_gpu else launching.simulate(
                options.device.partition(":")[2] or DEFAULT_CHIP):
            return _print_checks(device, rows, [int(text) for text in lengths], options.dtype)
    except LnbwdError as error:
        print(f"error: {error}", file=sys.stderr)
    except RuntimeError as error:
        if not any(word in str(error) for word in ("to allocate", "overflowed")):
            raise
        print(f"error: a case does not fit in memory: expected smaller --rows and --n, got {rows} "
              f"and {','.join(lengths)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
