# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A backend of torch.compile: Inductor, with scheduling classes of ours while it compiles."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch

import lnbwd
from lnbwd import launching

from . import torch_internals as internals
from .scheduling import classes


def rows_scheduling() -> contextlib.AbstractContextManager[None]:
    """Has the graphs that this thread compiles meanwhile scheduled by our classes."""
    return internals.registered(classes())


@lru_cache(maxsize=1)
def _sources_hash() -> bytes:
    """A hash of this folder and of the package, whose functions generated code calls."""
    folders = [pathlib.Path(file).resolve().parent for file in (__file__, lnbwd.__file__)]
    return internals.get_hash_for_files(tuple(
        str(path) for folder in folders for path in sorted(folder.rglob("*.py"))))


class pass_key(internals.CustomGraphPass):
    """Changes no graph, but gives it another key in Inductor's caches than Inductor alone does.

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
            __name__, _sources_hash(), launching.simulated_chip(), *then)

    def __call__(self, graph: torch.fx.Graph) -> None:
        """Runs the user's passes."""
        for one in self._then:
            one(graph)


def _inner_compile(*arguments: Any, **options: Any) -> Any:
    with rows_scheduling():
        return internals.compile_fx_inner(*arguments, **options)


def backend(model: torch.fx.GraphModule, example_inputs: Sequence[Any], *,
            mode: str | None = None, options: dict[str, Any] | None = None) -> Callable[..., Any]:
    """``torch.compile(model, backend=lnbwd_bench.fused_nodes.backend)``.

    Args:
        model, example_inputs: what torch.compile hands to a backend.
        mode, options: as for Inductor, which takes them.
    """
    wrapper = torch._TorchCompileInductorWrapper(mode, dict(options or {}), None)
    patches = {**internals.fusion_options(
        launching.simulated_chip() is not None), **wrapper.config}
    then = patches.get("post_grad_custom_pre_pass")
    patches["post_grad_custom_pre_pass"] = pass_key(then)
    result: Any = internals.compile_fx(
        model, example_inputs, inner_compile=_inner_compile, config_patches=patches)
    return result  # type: ignore[no-any-return]
