# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backend of torch.compile: Inductor, with scheduling classes of ours while it compiles."""

from __future__ import annotations

import copy
import functools
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.checkpoint import CheckpointPolicy

from ..core.base import settings
from ..core.base.batch_invariance import is_batch_invariant
from ..core.compile import compiler, tuning
from ..ops import launching
from ..program.graphs.reductions import compared
from . import torch_internals as internals
from .additions import sum_segments
from .scheduling import classes, count_programs


@functools.lru_cache(maxsize=1)
def _package_hash() -> bytes:
    """A hash of all sources of the package: a cached graph calls functions of several modules."""
    folder = pathlib.Path(__file__).resolve().parents[1]
    files = [*folder.rglob("*.py"), *folder.rglob("*.json")]
    return internals.get_hash_for_files(tuple(map(str, sorted(files))))


class Key(internals.CustomGraphPass):
    """A pass that changes no operation. It gives graphs other keys in Inductor's caches than
    Inductor alone does.

    Args:
        then: the pass or passes that the user had set, which run after it.
    """

    def __init__(self, then: Any = None) -> None:
        self._then = [*then] if isinstance(then, list | tuple) else [then] * (then is not None)

    def uuid(self) -> Any:
        """The key; None, with which Inductor caches nothing, if one of the user's passes has
        none."""
        then = [one.uuid() if isinstance(one, internals.CustomGraphPass) else None
                for one in self._then]
        return None if None in then else (
            _package_hash(), compiler.compiler_id(), launching.simulated_chip(),
            is_batch_invariant(), tuning.is_on(is_region=True), *then)

    def __call__(self, graph: torch.fx.Graph) -> None:
        """Runs the user's passes."""
        for one in self._then:
            one(graph)


def _kernel_devices() -> set[str]:
    """The types of devices for which there are kernels."""
    return {"cuda"} if launching.simulated_chip() is None else {"cuda", "cpu"}


class Sum(Key):
    """A pass over the graph before Inductor lowers it. It replaces additions of rows to places of a
    tensor by sums of segments, which have one order."""

    def __call__(self, graph: torch.fx.Graph) -> None:
        """Replaces these nodes, and runs the user's passes."""
        devices = _kernel_devices()
        sum_segments(graph, lambda values: values.device.type in devices
                     and internals.adds_in_order(values, devices))
        super().__call__(graph)


class Keep(Key):
    """A pass over forward and backward pass together. It keeps for the backward pass the values
    that are compared with their own largest elements, as in the gradient of amax: recomputed by
    another kernel, with other roundings, none might equal the largest."""

    def __call__(self, graph: torch.fx.Graph) -> None:
        """Marks these nodes, and runs the user's passes."""
        for node in compared(graph):
            node.meta.setdefault("recompute", CheckpointPolicy.MUST_SAVE)
        super().__call__(graph)


def _compile_inner(module: torch.fx.GraphModule, *arguments: Any, **options: Any) -> Any:
    def compile() -> Any:
        # Inductor changes the graph.
        return internals.compile_fx_inner(copy.deepcopy(module), *arguments, **options)

    with internals.registered(classes(), count_programs), internals.without_scatters():
        return internals.compile_again(compile)


def backend(model: torch.fx.GraphModule, example_inputs: Sequence[Any], *,
            mode: str | None = None, options: dict[str, Any] | None = None) -> Callable[..., Any]:
    """``torch.compile(model, backend="lnbwd")``: Inductor, with row programs of ours.

    Args:
        model, example_inputs: what torch.compile hands to a backend.
        mode, options: as for Inductor, which takes them.
    """
    devices = {value.device.type for value in example_inputs if isinstance(value, torch.Tensor)}
    is_simulated = launching.simulated_chip() is not None
    # (Beside a model on a GPU, a graph on the CPU is meant to be there.)
    if devices == {"cpu"} and not is_simulated and not torch.cuda.is_initialized():
        settings.warn_once(
            "a graph on the CPU", 'torch.compile(backend="lnbwd"): the tensors are on the CPU, for '
            "which there are no kernels, and torch.compile's own are used. Move the model and "
            "inputs to a GPU, or compile and call it in 'with lnbwd.simulate():'", UserWarning)
    patches = internals.options_of(mode, options)
    if is_simulated:
        patches = {**internals.lowering_options(), **patches}
    for name, of_ours in (("post_grad_custom_pre_pass", Sum), ("joint_custom_post_pass", Keep)):
        patches[name] = of_ours(patches.get(name) or internals.option(name))
    with internals.whole_embeddings(_kernel_devices()):
        return internals.compile_graph(model, example_inputs, _compile_inner, patches)


internals.register_backend("lnbwd", backend)
