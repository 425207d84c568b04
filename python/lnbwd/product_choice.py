# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whose product of matrices a norm with a linear layer is computed by.

There are two ways through either pass, which keep the same tensors: kernels of ours for all of it,
or PyTorch's product, which is the vendor's, with our norm kernels around it. Which is faster
depends on the sizes and on the device, so it is measured when a shape is first used, and kept in
memory and in the cache of kernels. docs/layer-norm-linear.md has what was seen.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping

import torch

from . import compiler, kernels
from .errors import LnbwdError
from .launching import is_capturing, open_device
from .spec import ChoiceSpec, rows_hint

__all__ = ["KERNEL", "TORCH", "choose", "forced", "use_product"]

KERNEL, TORCH = "kernel", "torch"
_WAYS = (KERNEL, TORCH)
_VARIABLE = "LNBWD_PRODUCT"
_ROUNDS, _BATCH_US, _MOST_CALLS = 7, 500.0, 50

_known: dict[ChoiceSpec, str] = {}
_lock = threading.RLock()


def _of_environment() -> str:
    value = os.environ.get(_VARIABLE, "") or "auto"
    if value not in ("auto", *_WAYS):
        raise LnbwdError(f"the environment variable {_VARIABLE}: expected 'auto', 'kernel' or "
                         f"'torch', got {value!r}")
    return value


_whose = _of_environment()


def use_product(whose: str) -> None:
    """Chooses the products of :func:`lnbwd.layer_norm_linear`, from now on.

    It holds for the whole process; at first it is what LNBWD_PRODUCT in the environment says, which
    is read at the import, or "auto".

    Args:
        whose: "kernel" for ours, "torch" for PyTorch's with our norm kernels around them, or
            "auto": what is faster, measured when a shape is first used on a device. On a simulated
            device, where times say nothing, "auto" is "kernel".
    """
    global _whose
    if whose not in ("auto", *_WAYS):
        raise ValueError(f"whose: expected 'auto', 'kernel' or 'torch', got {whose!r}")
    _whose = whose


@contextlib.contextmanager
def forced(whose: str) -> Iterator[None]:
    """:func:`use_product` until the ``with`` statement ends."""
    before = _whose
    use_product(whose)
    try:
        yield
    finally:
        use_product(before)


def _batch(call: Callable[[], object], count: int) -> tuple[torch.cuda.Event, torch.cuda.Event]:
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(count):
        call()
    stop.record()
    return start, stop


def _measure(ways: Mapping[str, Callable[[], object]], device: torch.device) -> dict[str, float]:
    """Microseconds of a call of each, in turns; those that cannot run are left out.

    Raises:
        LnbwdError: none can.
    """
    able: dict[str, Callable[[], object]] = {}
    failure: Exception | None = None
    for way, call in ways.items():
        try:
            call()  # Compiles, and loads modules.
            able[way] = call
        except (LnbwdError, RuntimeError) as error:
            failure = error
            warnings.warn(f"a norm and a linear layer by {way!r} was not measured: {error}",
                          RuntimeWarning, stacklevel=2)
    if not able:
        raise LnbwdError(f"a norm and a linear layer: neither way runs: {failure}") from failure
    with torch.cuda.device(device):
        times: dict[str, list[float]] = {way: [] for way in able}
        first = {way: _batch(call, 2) for way, call in able.items()}
        torch.cuda.synchronize(device)
        longest = max(start.elapsed_time(stop) * 500 for start, stop in first.values())
        count = int(min(_MOST_CALLS, max(1, _BATCH_US // max(longest, 1.0))))
        pending = [(way, _batch(call, count)) for _ in range(_ROUNDS)
                   for way, call in able.items()]
        torch.cuda.synchronize(device)
        for way, (start, stop) in pending:
            times[way].append(start.elapsed_time(stop) * 1e3 / count)
    return {way: statistics.median(values) for way, values in times.items()}


def _read(data: bytes | None) -> str | None:
    """The way of a result from the cache; None if there is none that can be used."""
    if data is None:
        return None
    try:
        way = json.loads(data)["way"]
    except (ValueError, KeyError, TypeError):
        return None
    return way if way in _WAYS else None


def choose(source: str, device: torch.device, rows: int,
           ways: Mapping[str, Callable[[], object]]) -> str:
    """The way that a pass is to go.

    Args:
        source: the program that our kernels are compiled from: with the number of rows and the
            device it says what is measured.
        device: where the tensors are.
        rows: M of the call; a result holds for its range (``spec.rows_hint``).
        ways: of each way, a call that does what it would do. They are called where nothing is
            known yet.
    """
    if _whose != "auto":
        return _whose
    if device.type != "cuda":
        return KERNEL
    target = open_device(device)
    spec = ChoiceSpec(source, target.chip, target.info.name, torch.__version__, rows_hint(rows))
    with _lock:
        way = _known.get(spec)
        if way is not None:
            return way
        if is_capturing(device):  # Nothing is measured meanwhile; what is certain to be fast.
            return TORCH
        cache, identity = kernels.kernel_cache(), compiler.compiler_id()
        way = _read(cache.load(spec, identity))
        if way is None:
            times = _measure(ways, device)
            way = min(times, key=lambda name: times[name])
            if identity is not None:
                cache.store(spec, identity, json.dumps({"way": way, "us": times}).encode())
        _known[spec] = way
        return way
