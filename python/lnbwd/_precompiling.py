# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Filling the kernel cache ahead of time."""

from __future__ import annotations

import concurrent.futures
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from . import compiler, kernels
from .cache import KernelCache
from .errors import LibraryError, LnbwdError
from .spec import GradientSpec, KernelSpec, ProgramSpec, Spec, whole_number


@dataclass(frozen=True)
class Precompiled:
    """One kernel, or derived gradient, that :func:`precompile` saw to.

    Attributes:
        spec: the kernel or the gradient.
        was_cached: whether it was there already.
        size: of its code, in bytes.
        seconds: that it took.
    """

    spec: Spec | GradientSpec
    was_cached: bool
    size: int
    seconds: float


def precompile(requests: Iterable[Spec | GradientSpec | Mapping[str, Any]], *,
               cache: str | os.PathLike[str] | None = None, jobs: int | None = None,
               progress: Callable[[Precompiled], None] | None = None) -> list[Precompiled]:
    """Compiles kernels into the cache on disk, so that later runs find them there, on machines
    without a compiler too (copy the folder, and name it by LNBWD_CACHE_DIR).

    Args:
        requests: kernels: the arguments of :func:`lnbwd.compile` as a dict each, with ``chip`` or
            ``chips``, or a :class:`KernelSpec` or :class:`lnbwd.spec.ProgramSpec`.
        cache: the cache's folder; None: the usual one.
        jobs: how many are compiled at once, 1 or more; None: as many as there are processors.
        progress: called after each, in the calling thread.

    Returns:
        What was done, in the order of the requests.

    Raises:
        ValueError, CompileError: a request is wrong.
        LnbwdError: there is no compiler, or the cache cannot be written.

    Example:
        >>> lnbwd.precompile([dict(op="layer_norm_bwd", n=n, dtype="bf16", chip="sm_90")
        ...                   for n in (1024, 4096)])
    """
    threads = (os.cpu_count() or 1) if jobs is None else whole_number(
        "jobs", jobs, 1, "the number of compilations at once, 1 or more")
    specs: list[Spec | GradientSpec] = []
    for request in requests:
        if isinstance(request, (KernelSpec, ProgramSpec, GradientSpec)):
            specs.append(request)
            continue
        if not isinstance(request, Mapping):
            raise TypeError("requests: expected dicts with the arguments of lnbwd.compile, got "
                            f"{type(request).__name__}")
        arguments = dict(request)
        chips = arguments.pop("chips", ()) or [arguments.pop("chip", "")]
        arguments.pop("chip", None)
        specs += [kernels.make_spec(**{**arguments, "chip": chip}) for chip in chips]
    identity = compiler.compiler_id()
    if identity is None or not compiler.available():
        raise LibraryError("there is no compiler in this installation: precompile where there is "
                           "one, and copy the cache's folder")
    target = kernels.kernel_cache() if cache is None else KernelCache(cache)
    if target.folder is None:
        raise LnbwdError("cache: expected a folder, but the kernel cache is switched off "
                         "(LNBWD_CACHE_DIR=off)")

    def one(spec: Spec | GradientSpec) -> Precompiled:
        start = time.perf_counter()
        code = target.load(spec, identity)
        was_cached = code is not None
        if code is None:
            code = kernels.compiled(spec).code
            if not target.store(spec, identity, code):
                raise LnbwdError(f"cache: {target.folder} cannot be written")
        return Precompiled(spec, was_cached, len(code), time.perf_counter() - start)

    results = []
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for done in pool.map(one, specs):  # An error cancels what has not begun.
            results.append(done)
            if progress:
                progress(done)
    return results
