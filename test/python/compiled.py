# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions compiled by torch.compile(backend="lnbwd"), held to themselves in float64.

A case is a function and its operands. A compilation takes seconds, so that the cases of a table are
compiled as one function; each has a test of its own.
"""

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from unittest import mock

import torch

import lnbwd
import lnbwd.inductor
from conftest import HAS_GPU
from lnbwd.core.base import settings
from lnbwd.inductor import Decision
from lnbwd.program.torch_internals import fusion

DEVICE = "cuda" if HAS_GPU else "cpu"
F32, BF16 = torch.float32, torch.bfloat16


class Case(NamedTuple):
    """A function and its operands. Gradients are those of operands that require them."""

    function: Callable[..., Any]
    operands: Sequence[torch.Tensor]


class Run(NamedTuple):
    """The results and gradients of a function, and the decisions about what computed them."""

    results: list[torch.Tensor]
    decisions: list[Decision]

    @property
    def taken(self) -> list[Decision]:
        return [one for one in self.decisions if one.taken]

    @property
    def reasons(self) -> list[str]:
        """Why nodes were left."""
        return [one.reason for one in self.decisions if not one.taken]

    @property
    def programs(self) -> list[Any]:
        return [program for one in self.taken for program in one.programs]


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = F32) -> torch.Tensor:
    """Random numbers, the same in each process."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def leaf(*shape: int, seed: int = 0, dtype: torch.dtype = F32) -> torch.Tensor:
    """Random numbers whose gradient is asked for."""
    return normal(*shape, seed=seed, dtype=dtype).requires_grad_()


def as_list(results: Any) -> list[torch.Tensor]:
    return [results] if isinstance(results, torch.Tensor) else [*results]


def evaluate(functions: Sequence[Callable[..., Any]], operands: Sequence[Sequence[torch.Tensor]],
             call: Callable[..., Any] | None = None) -> list[list[torch.Tensor]]:
    """Of each function the results and then the gradients of its operands, for gradients of the
    results that are the same in each call."""
    leaves = [[t.detach().requires_grad_(t.requires_grad) for t in given] for given in operands]
    call = call or (lambda *given: [as_list(f(*one)) for f, one in zip(
        functions, given, strict=True)])
    found = [as_list(one) for one in call(*leaves)]
    outputs = [(y, normal(*y.shape, seed=place).to(y)) for results in found
               for place, y in enumerate(results) if y.requires_grad]
    inputs = [t for given in leaves for t in given if t.requires_grad]
    gradients = iter(torch.autograd.grad(
        [y for y, _ in outputs], inputs, [dy for _, dy in outputs], allow_unused=True)
        if outputs else ())
    return [[*(y.detach() for y in results),
             *(g for g in (next(gradients) for t in given if t.requires_grad) if g is not None)]
            for results, given in zip(found, leaves, strict=True)]


def on_device(operands: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [t.detach().to(DEVICE).requires_grad_(t.requires_grad) for t in operands]


def wide(operands: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """In float64."""
    return [t.detach().double().requires_grad_(t.requires_grad) if t.is_floating_point() else t
            for t in operands]


@contextlib.contextmanager
def simulated():
    """Where kernels run: the GPU, where ours are taken without a comparison with Inductor's, or the
    CPU with the simulator."""
    with (mock.patch.object(settings.AUTOTUNE, "chosen", False) if HAS_GPU else lnbwd.simulate()):
        yield


def run(function: Callable[..., Any], *operands: torch.Tensor, dynamic: bool | None = None,
        **options: Any) -> Run:
    """Compiles a function and calls it, forward and backward."""
    return _run([function], [operands], dynamic, **options)[0]


def _run(functions: Sequence[Callable[..., Any]], operands: Sequence[Sequence[torch.Tensor]],
         dynamic: bool | None = None, **options: Any) -> list[Run]:
    def call(*given):
        return [as_list(f(*one)) for f, one in zip(functions, given, strict=True)]

    torch._dynamo.reset()
    # Small nodes are fused as large ones are.
    with simulated(), mock.patch.object(fusion, "LEAST_FUSED", 1):
        lnbwd.inductor.decisions(clear=True)
        compiled = torch.compile(call, backend="lnbwd", fullgraph=True, dynamic=dynamic, **options)
        found = evaluate(functions, [on_device(one) for one in operands], compiled)
        made = lnbwd.inductor.decisions(clear=True)
    return [Run(results, made) for results in found]


def check(function: Callable[..., Any], *operands: torch.Tensor, dynamic: bool | None = None,
          left: Sequence[str] = ()) -> Run:
    """Compiles and calls a function, and holds it to itself in float64. All nodes are taken, but
    for those that are left for these reasons."""
    result = run(function, *operands, dynamic=dynamic)
    assert_near(result.results, Case(function, operands))
    assert result.decisions and result.reasons == [*left], [*map(str, result.decisions)]
    return result


def assert_near(results: Sequence[torch.Tensor], case: Case) -> None:
    """Results and gradients are as near to float64's as those of PyTorch's own operations are."""
    operands = on_device(case.operands)
    [plain], [exact] = (evaluate([case.function], [one]) for one in (operands, wide(operands)))
    assert len(results) == len(exact)
    for place, (got, eager, want) in enumerate(zip(results, plain, exact, strict=True)):
        where = f"result {place} of {len(exact)}"
        assert (got.dtype, got.shape) == (eager.dtype, eager.shape), where
        if not got.is_floating_point():
            assert torch.equal(got, eager), where
            continue
        # Infinities and what is no number, where PyTorch has them.
        odd = ~eager.isfinite()
        torch.testing.assert_close(got[odd], eager[odd], rtol=0, atol=0, equal_nan=True)
        got, eager, want = (t.double().masked_fill(odd, 0) for t in (got, eager, want))
        error, bound = (got - want).norm(), (eager - want).norm()
        eps = torch.finfo(plain[place].dtype).eps
        assert error <= 2 * bound + 4 * eps * want.norm() + 1e-12, (
            f"{where}: the error is {error:.2e}, that of PyTorch's operations {bound:.2e}, of "
            f"{want.norm():.2e}")


class Table:
    """Cases that are compiled as one function, when the first is asked for.

    Args:
        cases: by their names.
    """

    def __init__(self, cases: Mapping[str, Case]) -> None:
        self.cases = dict(cases)

    @functools.cached_property
    def runs(self) -> dict[str, Run]:
        """Of each case its results; the decisions are those of all."""
        cases = self.cases.values()
        found = _run([case.function for case in cases], [case.operands for case in cases])
        return dict(zip(self.cases, found, strict=True))

    def check(self, name: str) -> None:
        """Holds a case to itself in float64."""
        assert_near(self.runs[name].results, self.cases[name])

    def left(self) -> list[str]:
        """The nodes that are left, with the reasons."""
        made = next(iter(self.runs.values())).decisions
        assert made
        return [str(one) for one in made if not one.taken]
