# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The private names of PyTorch that operators and row functions use.

Where a version of PyTorch lacks a name, the substitute here takes its place, and one warning says
what is lost. What takes long to import is imported by the function that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn.modules.batchnorm import _BatchNorm as BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm as InstanceNorm

from ...core.base.errors import warn_once

__all__ = ["BatchNorm", "InstanceNorm"]


def _find(owner: Any, name: str, substitute: Any, lost: str = "") -> Any:
    """A private name of PyTorch, or its substitute, with a warning about the loss."""
    found = getattr(owner, name, None)
    if found is None and lost:
        warn_once(name, f"PyTorch {torch.__version__} has no {owner.__name__}.{name}: {lost}; "
                  "please report it, or use a version that docs/install.md names")
    return substitute if found is None else found


def raw(operator: Any) -> Callable[..., Any]:
    """An operator's function in C++, without a frame of Python in between."""
    function: Callable[..., Any] = getattr(operator, "_op", operator)
    return function


transforms_are_active: Callable[[], bool] = _find(
    torch._C, "_are_functorch_transforms_active", lambda: False,
    "functions of lnbwd fail inside of torch.func's transforms")
"""Whether a transform of torch.func is being computed."""

is_traced: Callable[[], bool] = _find(torch.jit, "is_tracing", lambda: False)
"""Whether torch.jit.trace writes calls down: sizes are tensors then, and PyTorch's operations
compute everything. (PyTorch does not say its type.)"""

is_batched: Callable[[Tensor], bool] = _find(
    torch._C._functorch, "is_legacy_batchedtensor", lambda _: False,
    "functions of lnbwd fail in torch.autograd.grad(is_grads_batched=True)")
"""Whether a gradient is a batch of gradients, by ``is_grads_batched=True``, which is no transform
of torch.func."""

count_dispatch_modes: Callable[[], int] = _find(
    torch._C, "_len_torch_dispatch_stack", lambda: 1,
    "each call of a row program goes through PyTorch's dispatcher, which takes the host longer")
"""How many dispatch modes are entered."""

is_graph_retained: Callable[[], bool] = _find(
    torch._C._autograd, "_get_current_graph_task_keep_graph", lambda: True,
    "backward passes of compiled models copy what they write to")
"""Whether the backward pass that runs may be called again."""

stream_of: Callable[[int], int] = _find(
    torch._C, "_cuda_getCurrentRawStream",  # A build for the CPU has none.
    lambda index: torch.cuda.current_stream(index).cuda_stream)
"""The handle of the current stream of a GPU, without making an object of it."""

reshaped: Callable[..., Tensor] = raw(torch.ops.aten._unsafe_view.default)
"""A tensor in another shape that is no view to autograd, so that a result of an autograd.Function
may be changed in place, as by ReLU(inplace=True)."""

_find(forward_ad, "_current_level", 0, "forward-mode differentiation of lnbwd's functions gives no "
      "derivative, and no error")


def is_forward_mode() -> bool:
    """Whether derivatives in forward mode may be asked for."""
    return getattr(forward_ad, "_current_level", -1) >= 0


def has_autocast_kernel(operator: str) -> bool:
    """Whether autocast on a GPU has a kernel of an operator of ATen."""
    look: Callable[..., object] = _find(
        torch._C, "_dispatch_has_kernel_for_dispatch_key", lambda *_: False,
        "under autocast norms compute in the type of their input")
    return bool(look(f"aten::{operator}", "AutocastCUDA"))


def call_without_warnings(function: Callable[[], object]) -> object:
    """Calls a function that calls C++. PyTorch's own warnings within it become Python's, which can
    be filtered, and are not lines on standard error."""
    call: Any = _find(torch._C, "_disabled_torch_function_impl", lambda function, *_: function())
    return call(function, (), (), {})


def call_kernel(kernel: Any, dispatch_key: str, arguments: Sequence[Any]) -> Any:
    """Calls a kernel of torch.library.get_kernel for a dispatch key."""
    key = torch._C.DispatchKey.__members__[dispatch_key]
    return kernel.call_boxed(torch._C.DispatchKeySet(key), *arguments)


def formula_of(operator: Any) -> Callable[..., Any]:
    """The operations that PyTorch makes of an operator that has no kernel."""
    formula: Callable[..., Any] = torch._decomp.get_decompositions([operator])[operator]
    return formula


def schema_of(operator: Any) -> str:
    """An operator's name, arguments and results, as text."""
    return str(operator._schema)


def is_operator(target: object) -> bool:
    """Whether a node of a graph calls an operator."""
    return isinstance(target, torch._ops.OpOverload)


def sharding_schema(*arguments: Any, **options: Any) -> Any:
    """The key by which DTensor finds the sharding of a call again."""
    from torch.distributed.tensor._op_schema import RuntimeSchemaInfo

    return RuntimeSchemaInfo(*arguments, **options)


def graph_in_progress() -> torch.fx.Graph:
    """The graph that :func:`traced` is making."""
    from torch.fx.experimental.proxy_tensor import get_proxy_mode

    mode = get_proxy_mode()
    assert mode is not None
    graph: torch.fx.Graph = mode.tracer.graph
    return graph


class Tracer:
    """Traces functions over tensors whose sizes are symbols, on stand-ins without memory."""

    def __init__(self) -> None:
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        self._environment = ShapeEnv()
        self._mode = FakeTensorMode(shape_env=self._environment)

    def stand_in(self, tensor: Tensor) -> Tensor:
        """A stand-in for tensors like this. All dimensions but the last are symbols; dimensions of
        one size have the same symbol."""
        from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext

        sizes = ([DimDynamic.DUCK] * (tensor.dim() - 1) + [DimDynamic.STATIC])[-tensor.dim():]
        return self._mode.from_tensor(tensor, symbolic_context=StatelessSymbolicContext(
            dynamic_sizes=sizes if tensor.dim() else []))

    def trace(self, function: Callable[..., Any], arguments: Sequence[Tensor],
              decompositions: dict[Any, Callable[..., Any]]) -> torch.fx.GraphModule:
        """The graph of a function, of operations that have no decomposition."""
        from torch.fx.experimental.proxy_tensor import make_fx

        with self._mode:
            return make_fx(torch.func.functionalize(function), decompositions)(*arguments)

    @property
    def conditions(self) -> list[str]:
        """The conditions on the symbols."""
        return [str(guard.expr) for guard in self._environment.guards]


def decompositions(*beside: Any) -> dict[Any, Callable[..., Any]]:
    """The decompositions of Inductor and of other operators."""
    from torch._decomp import get_decompositions
    from torch._inductor.decomposition import select_decomp_table

    return {**get_decompositions(beside), **select_decomp_table()}
