# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's HIP backend on the simulator: its own compiler, launcher and cache.

Only three things differ: the HIP library that the driver loads, what is done before and after a
launch, and the autotuner, which measures nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import pathlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import triton
from triton import knobs
from triton.backends.amd.driver import HIPDriver, HIPLauncher
from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.errors import OutOfResources

from .fidelity import Fidelity
from .kernel_warnings import NO_WARNINGS, KernelWarnings
from .library import Library, environment, library_path
from .offsets import NO_OFFSETS, Offsets
from .repeat import repeat_of
from .torch_device import Device, untagged
from .ttgir import UNKNOWN, Facts, use_of_lds

Report = Callable[[list[dict[str, Any]], str, tuple[int, ...]], None]
"""Takes the errors of a launch (lnbwdSimGetErrorsJson), the text of its error, its grid."""

_INSTRUCTION = re.compile(r"^\s+((?:v|s|ds|global|flat|buffer|scratch)_\w+)", re.M)


class AutotuneRounds:
    """Which configuration autotuned kernels take, of those that fit the chip."""

    def __init__(self, wants_all: bool) -> None:
        self.wants_all = wants_all
        self.index = 0
        """The number of the configuration, or the last one of kernels with fewer."""
        self.most = 1
        """Configurations of the kernel with the most, of those that ran."""

    def choose(self, fits: Callable[[Any], bool], configs: list[Any]) -> Any:
        """One of them. None of them fits: the first one, whose launch says why."""
        fitting = (config for config in configs if fits(config))
        if not self.wants_all:
            return next(fitting, configs[0])
        usable = list(fitting) or configs[:1]
        self.most = max(self.most, len(usable))
        return usable[min(self.index, len(usable) - 1)]


def _link_library() -> None:
    """Triton takes a library of HIP's name only; the path is a part of what it compiles."""
    library = library_path().resolve()
    digest = hashlib.sha256(str(library).encode()).hexdigest()[:16]
    folder = pathlib.Path(knobs.cache.dir) / f"lnbwd-sim-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "libamdhip64.so"
    with contextlib.suppress(FileExistsError):
        link.symlink_to(library)
    os.environ["TRITON_LIBHIP_PATH"] = str(link)


def mnemonics(assembly: str) -> set[str]:
    """The instructions in a kernel's assembly, without the suffixes of encodings."""
    return {re.sub(r"_(e32|e64|dpp|sdwa|e64_dpp)$", "", name)
            for name in _INSTRUCTION.findall(assembly)}


def activate(library: Library, device: Device, report: Report, rounds: AutotuneRounds,
             fidelity: Fidelity) -> None:
    """Makes the simulator Triton's active driver; ``fidelity`` gets the instructions of each
    kernel."""
    _link_library()
    device.report = report
    lds: dict[Any, tuple[str | None, bool]] = {}
    facts: dict[Any, Facts] = {}
    offsets: dict[Any, Offsets] = {}
    warnings: dict[Any, KernelWarnings] = {}
    """Of functions."""
    sampled = os.environ.get("LNBWD_SIM_SAMPLE", "1") != "1"

    class Launcher(HIPLauncher):  # type: ignore[misc]
        """Describes the arguments to the simulator, and reports what a launch found."""

        def __init__(self, src: Any, metadata: Any) -> None:
            super().__init__(src, metadata)
            function = getattr(src, "fn", None)
            self._name = getattr(metadata, "name", "")
            self._names = getattr(function, "arg_names", [f"argument {k}" for k in range(256)])
            self._constant = [kind == "constexpr" for kind in src.signature.values()]

        def __call__(self, grid_x: int, grid_y: int, grid_z: int, stream: Any, function: Any,
                     kernel_metadata: Any, launch_metadata: Any, enter_hook: Any, exit_hook: Any,
                     *args: Any) -> None:
            device.kernel = self._name
            grid = (grid_x, grid_y, grid_z)
            known = facts.get(function, UNKNOWN)
            entry = {"chip": library.chip, "kernel": self._name, "count": 1, "stops": False}

            def launch(args: Sequence[Any], hook: Any = None) -> str:
                library.describe_lds(*lds.get(function, (None, False)))
                device.describe_launch(zip(self._names, args, strict=False))
                try:
                    with device.scratch("scratch"):
                        super(Launcher, self).__call__(
                            *grid, stream, function, kernel_metadata, launch_metadata, hook, None,
                            *args)
                except RuntimeError as error:
                    if "Triton Error [HIP]" not in str(error):
                        raise
                    # The traceback of interest is that of the launch.
                    return library.message()
                return ""

            strides = None if sampled or known.is_random \
                or known.bounds & device.strides.keys() else {
                    self._names.index(name): stride for name, stride in device.strides.items()}
            repeat = repeat_of(device, self._name, grid, self._names, args, self._constant, strides,
                               launch)
            # One thread's order is its own, so that sums of atomics are repeated exactly.
            with environment("LNBWD_SIM_THREADS", "1") if repeat and repeat.rows.pitches \
                    and known.has_atomics else contextlib.nullcontext():
                problem = launch(args, enter_hook)
                found = library.errors() if problem else []
                if repeat and not problem:
                    device.launches.append(repeat)
                    if problem := repeat.difference():
                        found = [{**entry, "check": "strides", "message": problem}]
            if not any(one["check"] == "memory" for one in found) and (
                    overflow := offsets.get(function, NO_OFFSETS).overflow(
                        grid, dict(zip(self._names, args, strict=False)))):
                text, where = overflow
                problem = problem or text
                found.append({**entry, "check": "memory", "message": text, "cause": text,
                              "where": where})
            warnings.get(function, NO_WARNINGS).warn(
                self._name, dict(zip(self._names, args, strict=False)))
            # Triton's launcher would call it with the error of a failed launch still set.
            if exit_hook is not None:
                exit_hook(launch_metadata)
            if problem:
                report(found, problem, grid)

    class Driver(HIPDriver):  # type: ignore[misc]
        """Triton's own driver with these launches."""

        def __init__(self) -> None:
            super().__init__()
            self.launcher_cls = Launcher
            # One stream, and torch.cuda as torch_device has it.
            self.get_current_stream = lambda index: 0

        def get_benchmarker(self) -> Callable[..., Any]:
            return _run_once

        def get_empty_cache_for_benchmark(self) -> Any:
            return torch.empty(0, device="cuda")

    def loaded(module: Any, function: Any, name: str, files: dict[str, str], digest: str) -> None:
        for file, path in files.items():
            if file.endswith(".ttgir"):
                ttgir = pathlib.Path(path).read_text(encoding="utf-8")
                lds[function] = use_of_lds(ttgir)
                facts[function] = Facts.of(ttgir)
                offsets[function] = Offsets(ttgir)
                warnings[function] = KernelWarnings(ttgir)
            if file.endswith(".amdgcn"):
                fidelity.kernels.setdefault(name, set()).update(
                    mnemonics(pathlib.Path(path).read_text(encoding="utf-8")))

    knobs.runtime.kernel_load_end_hook.add(loaded)
    triton.runtime.driver.set_active(Driver())
    testing: Any = importlib.import_module("triton.testing")
    testing.do_bench = testing.do_bench_cudagraph = _run_once
    _patch_run(device)
    _patch_autotuner(rounds)


def _patch_run(device: Device) -> None:
    """Keeps which arguments are strides, and gives Triton ordinary integers."""
    from triton.runtime.jit import JITFunction

    run = JITFunction.run

    def run_untagged(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        args, kwargs, strides = untagged(self.arg_names, args, kwargs)  # type: ignore[assignment]
        device.strides = strides
        try:
            return run(self, *args, grid=grid, warmup=warmup, **kwargs)
        except RuntimeError as error:
            if "PassManager" in str(error) and hasattr(error, "add_note"):
                error.add_note(
                    f"Triton {triton.__version__} does not compile it for {device.library.chip}. "
                    "If it has written 'unsupported target', it refuses the chip: give --amdgpu "
                    "another one")
            raise
        finally:
            device.strides = {}

    JITFunction.run = run_untagged


def _run_once(fn: Callable[[], Any], *args: Any, quantiles: Any = None,
              return_mode: str = "mean", **kwargs: Any) -> Any:
    """``do_bench``: one run, by the simulator's clock, which predicts nothing."""
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    fn()
    last.record()
    time = first.elapsed_time(last)
    if quantiles is not None:
        return [time] * len(quantiles)
    return [time] if return_mode == "all" else time


@contextlib.contextmanager
def _nargs(tuner: Any, args: tuple[Any, ...]) -> Iterator[None]:
    tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
    try:
        yield
    finally:
        tuner.nargs = None


def _patch_autotuner(rounds: AutotuneRounds) -> None:
    """The autotuner takes a configuration that fits the chip, by its number, and runs it alone."""
    from triton.runtime.autotuner import Autotuner

    run = Autotuner.run

    def choose(self: Any, *args: Any, **kwargs: Any) -> Any:
        meta = {name: value for name, value in kwargs.items() if name != "warmup"}
        with _nargs(self, args):
            configs = self.prune_configs(kwargs) if len(self.configs) > 1 else self.configs

            def fits(config: Any) -> bool:
                try:
                    kernel = self.fn.warmup(*args, **{**meta, **config.all_kwargs()})
                    if kernel is not None:
                        kernel._init_handles()
                except (OutOfResources, CompileTimeAssertionFailure):
                    return False
                return True

            chosen = configs[0] if len(configs) == 1 else rounds.choose(fits, configs)
        before, self.configs = self.configs, [chosen]
        prune = self.early_config_prune, self.perf_model
        self.early_config_prune = self.perf_model = None
        try:
            return run(self, *args, **kwargs)
        finally:
            self.configs = before
            self.early_config_prune, self.perf_model = prune

    Autotuner.run = choose
