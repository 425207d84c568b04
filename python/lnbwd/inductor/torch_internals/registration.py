# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Has Inductor call scheduling classes of ours, in the threads that compile with them."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._inductor import config, ir, lowering, scheduler
from torch._inductor.codegen import common
from torch._inductor.compile_fx import compile_fx

from .attempts import CountPrograms, own
from .fusion import fuse_more_nodes
from .lowering import keep_sums_whole, keep_two_steps, shift_variance


def register_backend(name: str, backend: Callable[..., Any]) -> None:
    """Makes a backend known to torch.compile. In an installed package PyTorch registers it by an
    entry point of its name, and takes no name twice."""
    if name not in torch._dynamo.list_backends(exclude_tags=()):
        torch._dynamo.register_backend(backend, name=name)


def options_of(mode: str | None, options: dict[str, Any] | None) -> dict[str, Any]:
    """Inductor's options that torch.compile's ``mode`` and ``options`` stand for."""
    wrapper = torch._TorchCompileInductorWrapper(mode, dict(options or {}), None)
    return dict(wrapper.config)


def option(name: str) -> Any:
    """The present value of one of Inductor's options."""
    return getattr(config, name)


def compile_graph(model: torch.fx.GraphModule, inputs: Sequence[Any],
                  inner_compile: Callable[..., Any],
                  options: dict[str, Any]) -> Callable[..., Any]:
    """Compiles a graph and its backward pass as Inductor does, with a function that compiles each.
    The backward pass is compiled at once, so that measurements take no memory beside saved
    tensors."""
    with torch._functorch.config.patch(force_non_lazy_backward_lowering=True):
        result: Any = compile_fx(model, inputs, inner_compile=inner_compile, config_patches=options)
    return result  # type: ignore[no-any-return]


_lock = threading.Lock()
_entered = 0
_before: dict[str, Any] = {}


@contextlib.contextmanager
def registered(classes: dict[str, Callable[[Any], Any]],
               count_programs: CountPrograms) -> Iterator[None]:
    """Has Inductor schedule graphs that this thread compiles by classes of ours, one for each type
    of device. Other threads have Inductor's, and so has this one afterwards.

    Args:
        classes: the classes.
        count_programs: how many row programs compute nodes; None: these cannot. Nodes are fused,
            beside those that Inductor fuses by itself, if that makes the programs fewer.
    """
    global _entered
    common.init_backend_registration()
    with _lock:
        _entered += 1
        if _entered == 1:
            _enter(classes)
    before = [getattr(own, name, None) for name in ("classes", "count_programs")]
    own.classes, own.count_programs = classes, count_programs
    try:
        yield
    finally:
        own.classes, own.count_programs = before
        with _lock:
            _entered -= 1
            if _entered == 0:
                _leave()


def _replace(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Replaces a function until :func:`_leave`."""
    original = getattr(owner, name, None)
    if original is not None:  # An older version may have none.
        _replaced.append((owner, name, owner.__dict__[name]))
        made = make(original)
        is_static = isinstance(owner.__dict__[name], staticmethod | classmethod)
        setattr(owner, name, staticmethod(made) if is_static else made)


_replaced: list[tuple[Any, str, Any]] = []


def _enter(classes: dict[str, Callable[[Any], Any]]) -> None:
    for device in classes:
        entry = _before[device] = common.device_codegens[device]

        def choose(of: Any, device: str = device, original: Any = entry.scheduling) -> Any:
            found = getattr(own, "classes", None) or {}
            return found.get(device, original)(of)

        common.device_codegens[device] = dataclasses.replace(entry, scheduling=choose)
    # A graph of row programs alone needs no Triton.
    _replace(scheduler, "has_triton", lambda original: lambda: (
        getattr(own, "classes", None) is not None or original()))
    _replace(ir.Reduction, "num_splits", keep_sums_whole)
    _replace(lowering, "use_two_step_variance", keep_two_steps)
    _replace(lowering, "var_mean_sum_", shift_variance)
    _replace(scheduler.Scheduler, "fuse_nodes", fuse_more_nodes)


def _leave() -> None:
    while _replaced:
        owner, name, original = _replaced.pop()
        setattr(owner, name, original)
    common.device_codegens.update(_before)
    _before.clear()
