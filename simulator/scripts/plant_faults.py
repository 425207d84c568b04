# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plants faults in Triton kernels and counts which of them a checked run reports.

  plant_faults.py --chip CHIP... [--per-class N] [--tests N] [--seed N] [--json FILE] TEST...

TEST is what pytest takes: files, or tests of them; --tests draws some. Each runs once as it is;
what its kernels are compiled to has the places where a fault can be. Of each class, --per-class
places are drawn for each chip. Each is planted alone, and its test runs again under the plugin:

  check       a check reports it
  test        no check does; the test's own comparison fails
  unread      what the test compares is the same, bit by bit; only other memory is not
  equivalent  nothing can: the reason is given
  missed      none of these

Where a run shows nothing, these are tried: whether the machine code is the same; whether the
place is executed (a trap there); whether there is another wave, for what waves share; whether
what the kernels leave in memory is the same, bit by bit, in the usual order and, where that may
matter, in others.
A wait that is missing changes no result on the simulator: the last is tried only for a wait in
front of a barrier, without the barrier.
"""

from __future__ import annotations

import argparse
import ast
import collections
import ctypes
import dataclasses
import functools
import hashlib
import importlib.util
import itertools
import json
import os
import pathlib
import pickle
import random
import re
import resource
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

SIMULATOR = pathlib.Path(__file__).resolve().parents[1]
if importlib.util.find_spec("lnbwd_sim") is None:
    sys.path.insert(0, str(SIMULATOR / "python"))

ORDERS = 6
"""Orders in which a kernel is executed that seems to be as it was."""
SECONDS, INSTRUCTIONS = 120, 1 << 23
"""The most that a run of a test may take of the processor, and a launch, which a check then
reports."""
TRAPS = {"llir": '  call void asm sideeffect "s_trap 2", ""()\n', "amdgcn": "\ts_trap 2\n"}


@dataclasses.dataclass(frozen=True)
class Site:
    """A place for a fault: a line of the text of a stage, or a node of the source."""

    fault: str
    stage: str
    kernel: str
    number: int
    """Of the text of that kernel and stage, in the order of compilation."""
    line: int
    text: str = ""
    others: tuple[int, ...] = ()
    """Lines that are removed besides."""


# What is done to a line: None, if the line is no place for the fault.

def _removed(pattern: str) -> Callable[[str], str | None]:
    def edit(line: str) -> str | None:
        return "" if re.match(pattern, line) else None
    return edit


def _replaced(pattern: str, by: Callable[[re.Match[str]], str]) -> Callable[[str], str | None]:
    def edit(line: str) -> str | None:
        found = re.match(pattern, line)
        return None if found is None else by(found)
    return edit


def _relaxed_wait(line: str) -> str | None:
    """The first counter of a wait is one more, or the wait is gone if that is no limit."""
    if re.match(r"\s+s_wait_(idle|event|alu)|\s+s_waitcnt_(depctr|expcnt)", line):
        return None
    if found := re.match(r"(\s+s_wait(?:cnt \w+\(|cnt_vscnt null, |_\w+ )(?:0x)?)(\d+)(.*)", line):
        return f"{found[1]}{int(found[2]) + 1}{found[3]}\n"
    return None


def _plain(found: re.Match[str]) -> str:
    """A load, an operation and a store in place of an atomic of LLVM's IR."""
    result, op, pointer, kind, value = found.groups()
    if op not in ("fadd", "add", "sub", "or", "and", "xor"):
        return found[0]
    one = f"{pointer.rsplit('%')[-1]}.{zlib.crc32(found[0].encode())}"
    result = result or f"%plain.{one}"
    return (f"  %old.{one} = load {kind}, {pointer}\n"
            f"  %new.{one} = {op} {kind} %old.{one}, {value}\n"
            f"  store {kind} %new.{one}, {pointer}\n  {result} = freeze {kind} %old.{one}\n")


def _guard(found: re.Match[str]) -> str:
    return f"{found[1]}s_mov_b{found[2]} {found[3]}, exec{'_lo' if found[2] == '32' else ''}\n"


LINES: dict[str, dict[str, Callable[[str], str | None]]] = {
    "llir": {
        "barrier removed": _removed(r"\s+(tail )?call void @llvm\.amdgcn\.s\.barrier"),
        "fence removed": _removed(r"\s+fence "),
        "LDS write removed": _removed(r"\s+store .*ptr addrspace\(3\)"),
        "no atomic": _replaced(
            r"  (?:(%\S+) = )?atomicrmw (?:volatile )?(\w+) (ptr(?: addrspace\(\d\))? [%@]\S+), "
            r"(\w+) ([^ ,]+) .*", _plain),
        "stride": _replaced(r"(\s+%\S+ = (?:shl|mul)[a-z ]* i32 %\S+, )(\d+)(.*)",
                            lambda m: f"{m[1]}{int(m[2]) + 1}{m[3]}\n"),
        "mask removed": _replaced(r"(\s+%\S+ = )select i1 %\S+, i32 (%\S+), i32 -2147483648(.*)",
                                  lambda m: f"{m[1]}or i32 {m[2]}, 0{m[3]}\n"),
        "guard removed": _replaced(r"(\s+br i1 )%[^,]+(, label .*)",
                                   lambda m: f"{m[1]}true{m[2]}\n"),
    },
    "amdgcn": {
        "barrier removed": _removed(r"\s+s_barrier(_wait)?\b"),
        "wait removed": _removed(r"\s+s_wait(cnt|cnt_vscnt|_\w+cnt\w*) "),
        "wait relaxed": _relaxed_wait,
        "LDS write removed": _removed(r"\s+ds_(write|store)\w+ "),
        "stride": _replaced(r"(\s+v_lshlrev_b32(?:_e32)? v\d+, )(\d+)(, v\d+.*)",
                            lambda m: f"{m[1]}{int(m[2]) + 1}{m[3]}\n"),
        "guard removed": _replaced(r"(\s+)s_and_saveexec_b(32|64) (s\S+), .*", _guard),
        "no wait states": _removed(r"\s+s_nop "),
    },
}


class _Source(ast.NodeVisitor):
    """The places of the source, in order; with ``at``, the text with that one changed."""

    def __init__(self, at: int | None = None) -> None:
        self.sites: list[tuple[str, int, str]] = []
        self.at = at
        self.arguments: set[str] = set()
        self.factors: list[str] = []

    def _site(self, fault: str, node: ast.AST, change: Callable[[], None]) -> None:
        self.sites.append((fault, getattr(node, "lineno", 0), ast.unparse(node)))
        if self.at == len(self.sites) - 1:
            change()

    def visit_Call(self, node: ast.Call) -> None:
        """Masks, atomics, barriers."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        masked = [k for k in node.keywords if k.arg in ("mask", "other", "boundary_check")]
        if name in ("load", "store") and any(k.arg != "other" for k in masked):
            def unmask() -> None:
                node.keywords = [k for k in node.keywords if k not in masked]
            self._site("mask removed", node, unmask)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Bounds."""
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Lt):
            def widen() -> None:
                node.ops[0] = ast.LtE()
            self._site("bound one too high", node, widen)
        self.generic_visit(node)

    def products(self, sum_: ast.AST) -> list[ast.BinOp]:
        """The offsets in a sum: of a position by an argument, or what is computed from one."""
        sides = [sum_.left, sum_.right] if isinstance(sum_, ast.BinOp) else \
            [sum_.value] if isinstance(sum_, ast.AugAssign) else []
        return [side for side in sides if isinstance(sum_.op, ast.Add)  # type: ignore[attr-defined]
                and isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult)
                and any(isinstance(n, ast.Name) and n.id in self.arguments
                        for n in ast.walk(side.right)) and "load(" not in ast.unparse(side)]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """What its offsets are multiplied by: a stride may be taken for another one."""
        self.arguments = {argument.arg for argument in node.args.args}
        self.factors = sorted({side.right.id for sum_ in ast.walk(node)
                               for side in self.products(sum_) if isinstance(side.right, ast.Name)})
        self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> None:
        """Strides: a product in a sum."""
        for side in self.products(node):
            def wider(product: ast.BinOp = side) -> None:
                product.right = ast.BinOp(product.right, ast.Add(), ast.Constant(1))
            self._site("stride", side, wider)
            if isinstance(side.right, ast.Name) and len(self.factors) > 1:
                def other(factor: ast.Name = side.right) -> None:
                    factor.id = self.factors[self.factors.index(factor.id) - 1]
                self._site("another stride", side, other)
        super().generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Statements: an atomic whose result is not used, a barrier."""
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            if call.func.attr == "atomic_add":
                where, what = ast.unparse(call.args[0]), ast.unparse(call.args[1])
                mask = next((f", mask={ast.unparse(k.value)}" for k in call.keywords
                             if k.arg == "mask"), "")
                text = f"tl.store({where}, tl.load({where}{mask}) + {what}{mask})"

                def plain() -> None:
                    node.value = ast.parse(text, mode="eval").body
                self._site("no atomic", call, plain)
            if call.func.attr in ("debug_barrier", "store"):
                def drop() -> None:
                    node.value = ast.Constant(None)
                self._site("barrier removed" if call.func.attr == "debug_barrier" else
                           "store removed", call, drop)
        self.generic_visit(node)


def of_source(text: str) -> list[tuple[str, int, str]]:
    """The places in a kernel's source: fault, line, text."""
    visitor = _Source()
    visitor.visit(ast.parse(text))
    return visitor.sites


def change_source(text: str, index: int) -> str:
    """The source with one of them."""
    tree = ast.parse(text)
    _Source(index).visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree))


# A run of one test in a process of its own.

@dataclasses.dataclass
class Run:
    """What a run of a test showed."""

    outcome: str = "none"
    checks: list[str] = dataclasses.field(default_factory=list)
    detail: str = ""
    texts: dict[tuple[str, str], list[str]] = dataclasses.field(default_factory=dict)
    """By stage and kernel; of the source there is one text."""
    digests: list[str] = dataclasses.field(default_factory=list)
    compared: list[str] = dataclasses.field(default_factory=list)
    warps: dict[str, int] = dataclasses.field(default_factory=dict)
    planted: bool = False
    compiled: bool = True


def _digest_of(tensor: Any) -> str:
    """Of its storage."""
    storage = tensor.untyped_storage()
    data = ctypes.string_at(storage.data_ptr(), storage.nbytes()) if storage.nbytes() else b""
    return hashlib.sha256(data).hexdigest()[:16]


class Planter:
    """A plugin of pytest: records what is compiled, and plants a fault."""

    def __init__(self, site: Site | None, trap: bool = False) -> None:
        self.site, self.trap = site, trap
        self.run = Run()
        self._last: Callable[[], None] = lambda: None

    def changed(self, stage: str, kernel: str, text: str) -> str:
        """The text of a stage, with the fault if it belongs there."""
        kept = self.run.texts.setdefault((stage, kernel), [])
        kept.append(text)
        site = self.site
        if site is None or (site.stage, site.kernel, site.number) != (stage, kernel, len(kept) - 1):
            return text
        self.run.planted = True
        if stage == "source":
            return change_source(text, site.line)
        lines = text.splitlines(keepends=True)
        if self.trap:
            lines.insert(site.line, TRAPS[stage])
        else:
            lines[site.line] = LINES[stage][site.fault](lines[site.line]) or ""
            for line in site.others:
                lines[line] = ""
        return "".join(lines)

    def hook(self, *given: Any) -> Any:
        """Triton's hook for stages."""
        if not given:
            return "plant", "plant"
        stages = given[1]
        for stage in LINES:
            stages[stage] = self._wrap(stage, stages[stage])
        assemble = stages["hsaco"]

        def last(src: Any, metadata: Any) -> Any:
            self.run.texts.setdefault(("final", metadata["name"]), []).append(str(src))
            self.run.warps[metadata["name"]] = metadata["num_warps"]
            self.run.compiled = False
            made = assemble(src, metadata)
            self.run.compiled = True
            return made

        stages["hsaco"] = last
        return None

    def _wrap(self, stage: str, make: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def run(src: Any, metadata: Any) -> Any:
            self.run.compiled = False
            made = str(make(src, metadata))
            name = re.search(r"define amdgpu_kernel void @(\w+)|^\s+\.globl\s+(\w+)", made, re.M)
            kernel = (name[1] or name[2]) if name else ""
            made = self.changed(stage, kernel, made)
            self.run.compiled = True
            return made
        return run

    def pytest_configure(self, config: pytest.Config) -> None:
        """After the plugin for chips has made its driver."""
        from lnbwd_sim import torch_device
        from triton import knobs
        from triton.runtime.jit import JITFunction

        knobs.runtime.add_stages_inspection_hook = self.hook
        init: Any = JITFunction.__init__

        def made(function: Any, fn: Any, *args: Any, **kwargs: Any) -> None:
            init(function, fn, *args, **kwargs)
            if "/triton/" in fn.__code__.co_filename:
                return
            text = self.changed("source", fn.__name__, function.src)
            if text != function.src:
                function._unsafe_update_src(text)

        JITFunction.__init__ = made
        of = torch_device.Comparison.of

        def compared(name: str, args: Any, kwargs: Any, result: Any) -> Any:
            self.run.compared += [_digest_of(arg) for arg in args
                                  if hasattr(arg, "untyped_storage")]
            return of(name, args, kwargs, result)

        setattr(torch_device.Comparison, "of", staticmethod(compared))  # noqa: B010
        describe = torch_device.Device.describe_launch
        memory: list[Any] = []

        def describe_launch(device: Any, arguments: Any) -> None:
            arguments = list(arguments)
            self._digest(memory)
            memory[:] = [value for _, value in arguments if hasattr(value, "untyped_storage")]
            describe(device, arguments)

        setattr(torch_device.Device, "describe_launch", describe_launch)  # noqa: B010
        self._last = lambda: self._digest(memory)

    def _digest(self, memory: list[Any]) -> None:
        self.run.digests += map(_digest_of, memory)
        memory.clear()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """What came of the test."""
        if report.when == "call" or report.failed:
            self._last()
            if self.run.outcome != "failed":
                self.run.outcome = report.outcome
                self.run.detail = str(report.longrepr)[-400:] if report.failed else ""
            found = getattr(report, "lnbwd_sim_errors", [])
            self.run.checks = sorted({*self.run.checks,
                                      *(f["check"] or f["message"][:60] for f in found)})

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that does not load."""
        if report.failed:
            self.run.outcome, self.run.detail = "failed", str(report.longrepr)[-400:]
            self.run.compiled = False


def _forked(work: Callable[[], Any]) -> Any:
    """What a function returns in a process of its own; None, if that ends or takes too long."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        with tempfile.TemporaryDirectory() as cache, os.fdopen(writing, "wb") as out:
            # One thread: it adds up what atomics add in the same order each time.
            os.environ |= {"TRITON_CACHE_DIR": cache, "TRITON_ALWAYS_COMPILE": "1",
                           "LNBWD_SIM_THREADS": "1",
                           "LNBWD_SIM_MAX_INSTRUCTIONS": str(INSTRUCTIONS)}
            pickle.dump(work(), out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else None


def run_test(chip: str, test: str, site: Site | None = None, trap: bool = False,
             order: int | None = None, checked: bool = True) -> Run:
    """Runs a test in a forked process."""
    def work() -> Run:
        from lnbwd_sim import library, pytest_plugin
        if order is not None:
            os.environ["LNBWD_SIM_SHUFFLE"] = str(order + 1)
        if not checked:
            setattr(library.Library.__init__, "__defaults__", (0,))  # noqa: B010
        planter = Planter(site, trap)
        pytest.main(["-q", *(f"-pno:{name}" for name in ("cacheprovider", "xdist", "amdgpu")),
                     "--amdgpu", chip, test],
                    plugins=[pytest_plugin, planter])
        return planter.run

    run: Run | None = _forked(work)
    return run or Run(outcome="failed", detail="the process ended or took too long", planted=True)


def sites_of(run: Run) -> Iterator[Site]:
    """All places for faults in what a run compiled."""
    for (stage, kernel), texts in run.texts.items():
        for number, text in enumerate(texts):
            if stage == "source":
                if kernel in {k for s, k in run.texts if s == "final"}:
                    for index, (fault, _, code) in enumerate(of_source(text)):
                        yield Site(fault, stage, kernel, number, index, code)
            elif stage in LINES:
                # In front of a message to the chip a wait state is no wait for a result.
                text = re.sub(r"\ts_nop 0(?=\n\ts_sendmsg)", "\t;", text)
                for index, line in enumerate(text.splitlines()):
                    for fault, edit in LINES[stage].items():
                        changed = edit(line + "\n")
                        if changed is not None and changed.strip() != line.strip():
                            yield Site(fault, stage, kernel, number, index, line.strip())


SHARED = ("barrier removed", "fence removed")
VALUES = ("stride", "another stride", "mask removed", "bound one too high", "store removed")
"""What changes a result in any order."""


def _code(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not re.match(r"\s*(\.loc|\.L|;)", line))


def judge(chip: str, test: str, site: Site, good: Run) -> tuple[str, str]:
    """What comes of a fault, and the check or the reason."""
    run = run_test(chip, test, site)
    if not run.planted:
        return "not planted", "not compiled again"
    if not run.compiled or "CompilationError" in run.detail:
        return "not planted", run.detail[-120:]
    if run.checks:
        return "check", ", ".join(run.checks)
    if run.outcome != "passed":
        return "test", run.detail[-120:]
    before, after = ([_code(text) for text in of.texts.get(("final", site.kernel), [])]
                     for of in (good, run))
    if before == after:
        return "equivalent", "the same machine code"
    if site.stage != "source":
        probe = run_test(chip, test, site, trap=True)
        if probe.outcome == "passed":
            return "equivalent", "not executed"
    if site.fault in SHARED and good.warps.get(site.kernel) == 1:
        return "equivalent", "one wave"
    without = ""
    if site.fault.startswith("no wait"):
        before = [line for line in good.texts[site.stage, site.kernel][site.number].splitlines()[
            :site.line] if re.match(r"\s+[a-z]", line)]
        # For LLVM the bit that has a packed operation take the first factor's upper half is one
        # that has a result written to an upper half. Where that factor is one number, it adds none.
        if site.text == "s_nop 0" and before and re.match(r"\s+v_pk_", before[-1]):
            return "equivalent", "a packed operation writes whole registers"
        return "missed", ""
    if site.fault.startswith("wait"):
        # What it releases: without the barrier behind it, too, nothing is ordered there.
        text = good.texts[site.stage, site.kernel][site.number].splitlines()
        behind = [k for k in range(site.line + 1, min(site.line + 8, len(text)))
                  if re.match(r"\s+s_barrier", text[k])]
        if not behind:
            return "missed", ""
        site = dataclasses.replace(site, others=tuple(behind))
        without = " without the barrier"
        run = run_test(chip, test, site)
    if run.digests != good.digests:
        if run.compared and run.compared == good.compared and not without:
            return "unread", "other memory"
        return "missed", "other results" + without
    if site.fault in VALUES:
        return "equivalent", "the same results"
    for order in range(ORDERS):
        usual = in_order(chip, test, order)
        run = run_test(chip, test, site, order=order, checked=False)
        if run.outcome != "passed" or (usual.digests == good.digests != run.digests):
            return "missed", f"other results in order {order}{without}"
    return "equivalent", f"the same results in {ORDERS} orders{without}"


@functools.cache
def in_order(chip: str, test: str, order: int) -> Run:
    """The test as it is."""
    return run_test(chip, test, order=order, checked=False)


def collected(files: list[str]) -> list[str]:
    """All tests of what pytest was given."""
    found: list[str] = []

    class Collector:
        def pytest_collection_finish(self, session: pytest.Session) -> None:
            found.extend(f"{session.config.rootpath / item.nodeid}" for item in session.items)

    def work() -> list[str]:
        pytest.main(["-q", "--collect-only", "-p", "no:cacheprovider", *files],
                    plugins=[Collector()])
        return found

    return list(_forked(work) or [])


def draw_sites(places: list[tuple[str, Site]], most: int, draw: random.Random
               ) -> list[tuple[str, Site]]:
    """Some of the places of a class: as many of each test as of the others."""
    by_test = collections.defaultdict(list)
    for test, site in places:
        by_test[test].append(site)
    for sites in by_test.values():
        draw.shuffle(sites)
    turns = sorted(by_test)
    draw.shuffle(turns)
    drawn: list[tuple[str, Site]] = []
    while turns and len(drawn) < most:
        for test in list(turns):
            if not by_test[test]:
                turns.remove(test)
            elif len(drawn) < most:
                drawn.append((test, by_test[test].pop()))
    return drawn


def main() -> int:
    """Runs all and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chip", action="append", required=True)
    parser.add_argument("--per-class", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", type=int, help="draw so many of the tests")
    parser.add_argument("--fault", action="append", help="only this class; may be given again")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("test", nargs="+")
    options = parser.parse_args()
    from lnbwd_sim.library import library_path
    if not library_path().exists():
        parser.error(f"expected the simulator's library at {library_path()}; set "
                     "LNBWD_SIM_LIBRARY to build/lib/liblnbwd-hip-sim.so, or install lnbwd-sim")
    # Once, for all processes that are forked: torch.testing loads sympy, and what Triton is made of
    # is a part of each kernel's key.
    import sympy  # noqa: F401
    import torch
    import triton.backends.amd.compiler
    import triton.runtime.cache
    triton.runtime.cache.triton_key()
    torch.set_num_threads(1)
    draw = random.Random(options.seed)
    table: dict[tuple[str, str], collections.Counter[str]] = collections.defaultdict(
        collections.Counter)
    entries = []
    tests = collected(options.test)
    tests = draw.sample(tests, min(options.tests or len(tests), len(tests)))
    for chip in options.chip:
        runs, places = {}, collections.defaultdict(list)
        for test in tests:
            run = runs[test] = run_test(chip, test)
            if run.outcome != "passed" or run.checks:
                print(f"{chip} {test}: left out: {run.outcome} {run.checks} {run.detail[-200:]}")
                continue
            for site in sites_of(run):
                places[site.stage, site.fault].append((test, site))
        classes = [draw_sites(found, options.per_class, draw)
                   for (_, fault), found in sorted(places.items())
                   if not options.fault or fault in options.fault]
        # One of each class after the other, so that a run may be cut short.
        for test, site in filter(None, itertools.chain(*itertools.zip_longest(*classes))):
            outcome, why = judge(chip, test, site, runs[test])
            table[site.stage, site.fault][outcome] += 1
            entries.append({"chip": chip, "test": test, **dataclasses.asdict(site),
                            "outcome": outcome, "why": why})
            if outcome != "check":
                print(f"{chip} {outcome}: {site.stage}, {site.fault}: {test}: {site.kernel}:"
                      f"{site.line + 1}: {site.text[:90]}: {why}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(entries, indent=1))
    columns = ("check", "test", "missed", "unread", "equivalent", "not planted")
    print(f"{'':28}" + "".join(f"{name:>12}" for name in columns))
    for (stage, fault), counts in sorted(table.items()):
        print(f"{stage + ', ' + fault:28}" + "".join(f"{counts[name]:>12}" for name in columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
