# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times many schedules of many row programs: what a cost model is made from.

A *problem* is a row program of some kind, an element type, M and N, drawn at random. For each, the
schedule that the model chooses and those that lnbwd-tune would try are compiled and timed in turns.
sweep.py is the command.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import math
import pathlib
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import torch

from lnbwd import _chips, compiler, errors, runtime, schedule
from lnbwd.operations import LAYER_NORM, LAYER_NORM_BWD, OPERATIONS, RMS_NORM, RMS_NORM_BWD
from lnbwd.spec import KernelSpec

from .machine import current_gpu
from .shapes import Shape

FORMAT, VERSION = "lnbwd-sweep", 1
# Counts up where the compiler makes other kernels of schedules that there were before, so that a
# fit can leave out what is no more. Files without it are of the first.
KERNELS = 4
# The fields of a schedule, in the order in which a record has them.
FIELDS = tuple(schedule.FIELDS)

# What the name of a backward pass without column sums ends in.
DX = "_dx"
# How often a kind is drawn. Those that are no operation are regions of regions.py, of bfloat16, or
# a backward pass without column sums (DX); what is drawn 0 times has to be asked for.
KINDS = {LAYER_NORM_BWD: 5, RMS_NORM_BWD: 2, LAYER_NORM: 3, RMS_NORM: 2,
         "norm_backward": 3, "norm_forward": 2, "gelu_backward": 2, "rms_backward": 1,
         LAYER_NORM_BWD + DX: 0, RMS_NORM_BWD + DX: 0, "rms_forward": 0}
_DTYPES = ("bf16", "bf16", "f16", "f32")
_ROWS, _LENGTHS, _BYTES = (64, 600_000), (128, 16384), (3e6, 1.2e9)
_ODD_SHARE, _EVEN_STEPS = 0.12, (64, 64, 64, 8)
# Rounds of turns, and how many schedules stay for the next ones; calls between two events.
_ROUNDS = ((3, 12), (5, 6), (12, 6))
_CALLS = 6
# Times of the model's schedule and of the best one, once more.
_AGAIN_ROUNDS = 20
_SPIN_CYCLES_A_CALL = 20_000
# Rows of the tensors that a region is traced with; no N is as small.
_TRACED_ROWS = 48
# Bytes of inputs that calls rotate among, so that none finds its own in a cache.
_ROTATED_BYTES = 400_000_000

ELEMENTS = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


@dataclasses.dataclass(frozen=True)
class Problem:
    """A row program on a number of rows.

    Attributes:
        kind: a key of KINDS.
        dtype: of the row blocks; regions mix types, and have "bf16".
        m, n: rows, and elements of a row.
        source: MLIR for any number of rows.
    """

    kind: str
    dtype: str
    m: int
    n: int
    source: str

    def static_source(self) -> str:
        """MLIR with the number of rows in the types."""
        return self.source.replace("<?x", f"<{self.m}x")


def _region_source(kind: str, n: int) -> str:
    from torch._inductor.decomposition import select_decomp_table
    from torch.fx.experimental.proxy_tensor import make_fx

    import regions
    from lnbwd.inductor import regions as found

    function, operands = regions.REGIONS[kind]
    traced = make_fx(function, decomposition_table=select_decomp_table(), tracing_mode="fake")(
        *regions.make(operands, _TRACED_ROWS, n, "cpu", 0))
    traced.graph.eliminate_dead_code()
    region, = found.find_regions(traced.graph)
    found.convert(region)
    assert region.program
    return str(region.program.mlir()).replace(f"<{_TRACED_ROWS}x", "<?x")


def operation_of(kind: str) -> str:
    """The operation that a kind is of, or a region's own name."""
    return kind.removesuffix(DX)


def has_sums(kind: str) -> bool:
    """Whether a kind of program has column sums."""
    return kind.endswith(("_bwd", "_backward"))


def source_of(kind: str, dtype: str, n: int, chip: str) -> str:
    """MLIR of a kind of row program, for any number of rows."""
    operation = operation_of(kind)
    if operation not in OPERATIONS:
        return _region_source(kind, n)
    is_forward = OPERATIONS[operation].is_forward
    has_sums = not is_forward and kind == operation
    has_shift = OPERATIONS[operation].has("beta")
    return KernelSpec(op=operation, n=n, dtype=dtype, chip=chip, weight_dtype=dtype,
                      bias_dtype=dtype if has_shift else "", want_dx=not is_forward,
                      want_dweight=has_sums, want_dbias=has_shift and has_sums,
                      format="ptx", epsilon=1e-5 if is_forward else None).mlir()


def draw(seed: int, count: int, chip: str, among: Collection[str] = ()) -> Iterator[Problem]:
    """Random problems, the same for the same seed: N and the bytes of a row block log-uniform. Of
    the kinds ``among``, if there are any, each is drawn as often."""
    generator = random.Random(seed)
    kinds = [kind for kind, weight in KINDS.items() for _ in range(weight)]
    if among:
        kinds = [kind for kind in KINDS if kind in among]
    made = 0
    while made < count:
        kind = generator.choice(kinds)
        dtype = generator.choice(_DTYPES) if operation_of(kind) in OPERATIONS else "bf16"
        n = int(2 ** generator.uniform(*map(math.log2, _LENGTHS)))
        step = 1 if generator.random() < _ODD_SHARE else generator.choice(_EVEN_STEPS)
        n = n | 1 if step == 1 else max(_LENGTHS[0], n // step * step)
        size = 2 ** generator.uniform(*map(math.log2, _BYTES))
        # Some three accesses to an element of the type.
        m = int(size / (3 * n * ELEMENTS[dtype].itemsize))
        if generator.random() < 0.5:
            m = m // 64 * 64
        if not _ROWS[0] <= m <= _ROWS[1]:
            continue
        made += 1
        yield Problem(kind, dtype, m, n, source_of(kind, dtype, n, chip))


def problems_of(shapes: Iterable[Shape], kinds: Iterable[str], chip: str) -> Iterator[Problem]:
    """The problems of some kinds on given shapes; regions of bfloat16 alone."""
    kinds = list(kinds)
    for shape in shapes:
        for kind in kinds:
            if operation_of(kind) in OPERATIONS or shape.dtype == "bf16":
                yield Problem(kind, shape.dtype, shape.m, shape.n,
                              source_of(kind, shape.dtype, shape.n, chip))


def parse_schedule(text: str) -> list[int]:
    """The fields of a printed schedule, in the order of FIELDS."""
    given = schedule.parse_printed(text)
    return [given.get(field.name, field.default or 0) for field in schedule.FIELDS.values()]


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A compiled schedule. ``origin`` is "model", "dynamic" (the model's choice where the number of
    rows is not known) or "tried"."""

    origin: str
    schedule: str
    code: bytes


def compile_one(source: str, chip: str, overrides: str, origin: str) -> Candidate | str:
    """Compiles one schedule; why not, if it cannot run, or spills where another one would not."""
    options = "tuned-schedules=off" + (f" schedule={overrides}" if overrides else "")
    code_format = "cubin" if _chips.is_nvidia(chip) else "hsaco"
    with tempfile.TemporaryDirectory(prefix="lnbwd-sweep-") as folder:
        try:
            compiled = compiler.compile_mlir(source, chip, pipeline_options=options,
                                             format=code_format, save_temps=folder)
        except errors.LnbwdError as error:
            return re.sub(r"\d+", "N", str(error).splitlines()[0])[:100]
        schedules = schedule.of_programs(schedule.last_stage(pathlib.Path(folder)))
    if len(schedules) != 1:
        return f"{len(schedules)} row programs"
    if overrides and re.search(r"kernel @\S+ spills", compiled.diagnostics):
        return "spills"
    return Candidate(origin, schedules[0], compiled.code)


# A problem, its candidates, and how often others were refused, by reason.
Compiled = tuple[Problem, list[Candidate], dict[str, int]]


def compile_candidates(problem: Problem, chip: str, count: int, jobs: concurrent.futures.Executor,
                       choose: Callable[[list[int]], Iterable[Mapping[str, int]]]
                       ) -> tuple[list[Candidate], dict[str, int]]:
    """The model's choices and up to ``count`` others, of ``choose`` (given the model's fields);
    and how often others were refused, by reason."""
    static = problem.static_source()
    first = [jobs.submit(compile_one, static, chip, "", "model"),
             jobs.submit(compile_one, problem.source, chip, "", "dynamic")]
    found = [result for result in (job.result() for job in first)
             if isinstance(result, Candidate)]
    refused: dict[str, int] = {}
    if not found:
        return found, {str(first[0].result()): 1}
    seen = {found[0].schedule}
    others = [jobs.submit(compile_one, static, chip,
                          schedule.overrides(fields), "tried")
              for fields in choose(parse_schedule(found[0].schedule))]
    for job in others:
        result = job.result()
        if isinstance(result, Candidate) and result.schedule not in seen:
            seen.add(result.schedule)
            if len(found) < count + 2:
                found.append(result)
        else:
            reason = result if isinstance(result, str) else "the same as another"
            refused[reason] = refused.get(reason, 0) + 1
    return found, refused


def ranked(problem: Problem, chip: str, count: int) -> list[dict[str, int]]:
    """The fields of the schedules that the compiler's cost model finds best, the best first."""
    compiled = compiler.compile_mlir(problem.static_source(), chip, format="mlir",
                                     pipeline_options=f"tuned-schedules=off candidates={count}")
    return [dict(zip(FIELDS, parse_schedule(text), strict=True))
            for text in schedule.ranked(compiled.diagnostics)]


class GpuTimer:
    """Times kernels of one problem in turns on PyTorch's current GPU."""

    def __init__(self, problem: Problem, programs: list[runtime.Program]) -> None:
        self._m = problem.m
        device = runtime.Device.open(current_gpu())
        self.kernels = [runtime.Kernel(device, program) for program in programs]
        self._stream = int(torch.cuda.current_stream().cuda_stream)
        arguments = programs[0].arguments
        size = sum(argument.row_length * (1 if argument.kind == "column" else self._m)
                   * ELEMENTS[argument.element].itemsize for argument in arguments)
        sets = max(2, min(8, _ROTATED_BYTES // size + 1))
        self._sets = [[self._operand(argument) for argument in arguments] for _ in range(sets)]
        self._pointers = [[operand.data_ptr() for operand in operands] for operands in self._sets]
        most = max(kernel.workspace_size(self._m) for kernel in self.kernels)
        self._workspace = torch.empty(max(most, 16), dtype=torch.uint8, device="cuda")
        self._turn = 0
        for index in range(len(self.kernels)):
            self._launch(index)
        torch.cuda.synchronize()

    def _operand(self, argument: runtime.Argument) -> torch.Tensor:
        shape = {"row_block": (self._m, argument.row_length), "column": (argument.row_length,),
                 "row_scalar": (self._m,)}[argument.kind]
        value = torch.randn(shape, device="cuda")
        if argument.kind == "row_scalar":
            value = value.abs() + 0.5
        return value.to(ELEMENTS[argument.element])

    def _launch(self, index: int) -> None:
        self._turn = (self._turn + 1) % len(self._sets)
        self.kernels[index].launch(self._pointers[self._turn], self._m, self._workspace.data_ptr(),
                                   self._workspace.numel(), self._stream)

    def __call__(self, alive: list[int], rounds: int) -> dict[int, list[float]]:
        """Microseconds a call of each kernel in ``alive``, ``rounds`` of them."""
        pending = []
        for _ in range(rounds):
            for index in alive:
                start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                # The device waits until the host has enqueued the calls.
                torch.cuda._sleep((_CALLS + 3) * _SPIN_CYCLES_A_CALL)
                start.record()
                for _ in range(_CALLS):
                    self._launch(index)
                stop.record()
                pending.append((index, start, stop))
        torch.cuda.synchronize()
        times: dict[int, list[float]] = {index: [] for index in alive}
        for index, start, stop in pending:
            times[index].append(start.elapsed_time(stop) * 1e3 / _CALLS)
        return times


def contest(count: int, keep: set[int],
            timer: Callable[[list[int], int], Mapping[int, list[float]]],
            ) -> list[tuple[float, int]]:
    """Times ``count`` kernels, the slower ones fewer times.

    Args:
        count: kernels.
        keep: those that are timed in every round.
        timer: gives microseconds of some kernels, so many of each.

    Returns:
        for each kernel the median of its last rounds, and how many those were.
    """
    alive = list(range(count))
    result = [(math.nan, 0)] * count
    for rounds, left in _ROUNDS:
        times = timer(alive, rounds)
        for index in alive:
            result[index] = (round(statistics.median(times[index]), 3), rounds)
        ranked = sorted(alive, key=lambda index: result[index][0])
        alive = sorted({*ranked[:left], *keep})
    return result


def row_bytes(program: runtime.Program) -> tuple[int, int]:
    """Bytes of an element of all row blocks that a program reads, and that it writes."""
    blocks = [argument for argument in program.arguments if argument.kind == "row_block"]
    return (sum(ELEMENTS[block.element].itemsize for block in blocks if block.access == "read"),
            sum(ELEMENTS[block.element].itemsize for block in blocks if block.access != "read"))


def measure(problem: Problem, candidates: list[Candidate], refused: dict[str, int],
            make_timer: Callable[[Problem, list[runtime.Program]], Any]) -> dict[str, Any]:
    """The record of one problem."""
    programs = [runtime.Program.from_bytes(candidate.code) for candidate in candidates]
    read, written = row_bytes(programs[0])
    origins = [candidate.origin for candidate in candidates]
    fixed = {index for index, origin in enumerate(origins) if origin != "tried"}
    timer = make_timer(problem, programs)
    times = contest(len(programs), fixed, timer)
    best = min(range(len(times)), key=lambda index: times[index][0])
    again = {}
    if "model" in origins:
        pair = {"model": origins.index("model"), "best": best}
        taken = timer(sorted(set(pair.values())), _AGAIN_ROUNDS)
        again = {"again": {name: round(statistics.median(taken[index]), 3)
                           for name, index in pair.items()}}
    columns = [argument for argument in programs[0].arguments
               if argument.kind == "column" and argument.access != "read"]
    return {"kind": problem.kind, "dtype": problem.dtype, "m": problem.m, "n": problem.n,
            "bytes_read": read, "bytes_written": written, "column_sums": len(columns),
            "refused": refused, **again, "candidates": [
                {"origin": origin, "schedule": parse_schedule(candidate.schedule), "us": us,
                 "rounds": rounds}
                for origin, candidate, (us, rounds)
                in zip(origins, candidates, times, strict=True)]}


def summary(record: Mapping[str, Any]) -> str:
    """A line for people."""
    shape = f"{record['kind']:15} {record['dtype']:4} {record['m']:6}x{record['n']:<6}"
    known = {candidate["origin"]: candidate["us"] for candidate in record["candidates"]}
    if "model" not in known:
        return f"{shape} the model's schedule was refused: {record['refused']}"
    best = min(candidate["us"] for candidate in record["candidates"])
    rate = (record["m"] * record["n"] * (record["bytes_read"] + record["bytes_written"])
            / best / 1e3)
    return (f"{shape} model {known['model']:8.1f} us, dynamic {known.get('dynamic', math.nan):8.1f}"
            f", best {best:8.1f} ({best / known['model']:.2f}), {rate:5.0f} GB/s of "
            f"{len(record['candidates'])}")


def compile_all(problems: Iterable[Problem], chip: str, count: int, jobs: int, deadline: float,
                choose: Callable[[Problem, list[int]], Iterable[Mapping[str, int]]],
                say: Callable[[str], None] = print) -> Iterator[Compiled]:
    """Compiles up to ``count`` schedules beside the model's for each problem, until the clock
    (time.monotonic) passes ``deadline``; ``say`` is told what is left out."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for problem in problems:
            if time.monotonic() > deadline:
                break
            candidates, refused = compile_candidates(
                problem, chip, count, pool, functools.partial(choose, problem))
            if candidates:
                yield problem, candidates, refused
            else:
                say(f"{problem.kind} {problem.m}x{problem.n} is left out: {refused}")


def measure_all(compiled: Iterable[Compiled], deadline: float,
                make_timer: Callable[[Problem, list[runtime.Program]], Any] = GpuTimer,
                say: Callable[[str], None] = print) -> list[dict[str, Any]]:
    """The records of what was compiled, until the clock passes ``deadline``."""
    records = []
    for problem, candidates, refused in compiled:
        if time.monotonic() > deadline:
            break
        records.append(measure(problem, candidates, refused, make_timer))
        say(summary(records[-1]))
    return records


def sweep(problems: Iterable[Problem], chip: str, count: int, jobs: int, deadline: float,
          choose: Callable[[Problem, list[int]], Iterable[Mapping[str, int]]],
          make_timer: Callable[[Problem, list[runtime.Program]], Any] = GpuTimer,
          say: Callable[[str], None] = print) -> list[dict[str, Any]]:
    """The records of problems, each compiled, then timed, until the clock passes ``deadline``."""
    return measure_all(compile_all(problems, chip, count, jobs, deadline, choose, say), math.inf,
                       make_timer, say)


def shape_of(problem: Problem) -> Shape:
    """As lnbwd-tune has it."""
    return Shape(problem.m, problem.n, problem.dtype)
