# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pytest plugin: ``pytest --amdgpu gfx942`` runs a file's Triton kernels on a simulated chip.

README.md describes the options.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from .errors import (
    STOPPED,
    CheckError,
    Sarif,
    Suppression,
    SuppressionError,
    annotation,
    parse,
    read_suppressions,
    sarif,
    suppress,
    write_log,
)
from .fidelity import Fidelity
from .report import summary, total

_SESSION = pytest.StashKey["Session"]()
_LIST = "lnbwd_sim_errors"


class KernelFault(RuntimeError):
    """A launch with errors."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("amdgpu", "Triton kernels on a simulated AMD chip")
    group.addoption("--amdgpu", action="append", metavar="CHIP[,CHIP]",
                    help="run kernels on this simulated chip (gfx942, gfx1201, ...) under all "
                         "checks; with several, one run for each")
    group.addoption("--amdgpu-suppressions", type=pathlib.Path, metavar="FILE",
                    help="a TOML file with [[suppress]] tables: errors that do not count, "
                         "and why")
    group.addoption("--amdgpu-sarif", type=pathlib.Path, metavar="FILE",
                    help="write the errors as SARIF")
    group.addoption("--amdgpu-save-errors", type=pathlib.Path, metavar="FILE",
                    help="append the errors of launches to a file, a line of JSON for each, "
                         "which python -m lnbwd_sim report reads")
    group.addoption("--amdgpu-kernels", metavar="PATTERN[,PATTERN]",
                    help="check only launches of kernels with one of these names, patterns of "
                         "the shell; others are executed without checks")
    group.addoption("--amdgpu-skip-launches", type=int, default=0, metavar="N",
                    help="execute the first N launches that would be checked without checks")
    group.addoption("--amdgpu-sample", type=int, metavar="N",
                    help="check each N-th workgroup, and the last; all are executed")
    group.addoption("--amdgpu-annotations", action="store_true",
                    default=bool(os.environ.get("GITHUB_ACTIONS")),
                    help="print ::error lines for GitHub; by default where GITHUB_ACTIONS is set")
    group.addoption("--amdgpu-autotune", choices=("first", "all"), default="first",
                    help="the configuration of autotuned kernels: the first that fits the chip "
                         "(the default), or each test once for each configuration")
    group.addoption("--amdgpu-rounding", action="store_true",
                    help="make results that are right only within rounding (transcendental and "
                         "matrix instructions) a unit in the last place smaller")


def _chips(config: pytest.Config) -> list[str]:
    given: list[str] = config.getoption("--amdgpu") or []
    names = (chip.strip() for part in given for chip in part.split(","))
    return list(dict.fromkeys(filter(None, names)))


@dataclasses.dataclass
class Session:
    """What the plugin keeps during a run on one chip."""

    chip: str
    suppressions: list[Suppression]
    coverage: pathlib.Path
    fidelity: Fidelity = dataclasses.field(default_factory=Fidelity)
    errors: list[CheckError] = dataclasses.field(default_factory=list)
    """All of the run."""
    current: list[CheckError] = dataclasses.field(default_factory=list)
    """Those of the present test."""
    test: str = ""
    rounds: Any = None
    device: Any = None
    checked_nothing: bool = False
    saved: pathlib.Path | None = None
    """The file of --amdgpu-save-errors."""

    def report(self, entries: list[dict[str, Any]], problem: str, grid: tuple[int, ...]) -> None:
        """Takes the errors of a launch; raises unless all are suppressed."""
        if not entries:
            entries = [{"chip": self.chip, "kernel": "", "check": "", "message": problem,
                        "count": 1, "stops": True}]
        if self.saved is not None:
            with self.saved.open("a", encoding="utf-8") as file:
                for entry in entries:
                    file.write(json.dumps({**entry, "grid": grid, "test": self.test}) + "\n")
        found = [suppress(parse(entry, grid, self.test), self.suppressions) for entry in entries]
        self.current += found
        counted = [f for f in found if f.suppressed is None]
        stopped = [f for f in found if f.suppressed is not None and f.stops]
        if counted:
            raise KernelFault("\n" + "\n".join(f.describe() for f in counted))
        if stopped:
            raise KernelFault(f"{STOPPED}:\n{stopped[0].describe()}")

    def explain(self) -> list[str]:
        """A report on the first wrong element of the last comparison that failed; empty: none did,
        or no kernel computed what it compared. An element that was never written is an error."""
        if self.device is None or self.device.failed is None:
            return []
        from .library import environment
        from .repeat import explain
        try:
            with environment("LNBWD_SIM_SAMPLE", "1"):
                known = explain(self.device.library, self.device.launches, self.device.failed)
        except RuntimeError as error:  # The test's own error is what has to be shown.
            return [f"the launch cannot be repeated: {error}"]
        if known is None:
            return []
        repeat, lines, problem = known
        if problem:
            self.current.append(suppress(parse(
                {"chip": self.chip, "kernel": repeat.kernel, "check": "memory", "count": 1,
                 "stops": False, "message": problem}, repeat.grid, self.test), self.suppressions))
            lines.append(self.current[-1].describe())
        return lines


# Several chips: a process for each.

def _with_suffix(argument: str, option: str, chip: str) -> str | None:
    """The argument with the chip in the name of its file."""
    if not argument.startswith(option + "="):
        return None
    path = pathlib.Path(argument[len(option) + 1:])
    return f"{option}={path.with_name(f'{path.stem}-{chip}{path.suffix}')}"


def command_lines(arguments: list[str], chips: list[str], sarif_of: dict[str, pathlib.Path]
                  ) -> Iterator[tuple[str, list[str]]]:
    """The arguments of the run of each chip."""
    rest: list[str] = []
    skip = False
    for number, argument in enumerate(arguments):
        if skip:
            skip = False
        elif argument in ("--amdgpu", "--amdgpu-sarif"):
            skip = True
        elif argument in ("--junitxml", "--junit-xml"):
            rest.append(f"--junitxml={arguments[number + 1]}")
            skip = True
        elif not argument.startswith(("--amdgpu=", "--amdgpu-sarif=")):
            rest.append(argument)
    for chip in chips:
        own = [_with_suffix(a, "--junitxml", chip) or _with_suffix(a, "--junit-xml", chip) or a
               for a in rest]
        more = [f"--amdgpu={chip}"]
        if chip in sarif_of:
            more.append(f"--amdgpu-sarif={sarif_of[chip]}")
        yield chip, more + own


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Runs pytest once for each of several chips."""
    chips = _chips(config)
    if len(chips) < 2:
        return None
    for chip in chips:
        # Before the first run: a chip that is misspelt. A process loads the library for one chip.
        checked = subprocess.run(
            [sys.executable, "-c", "import sys; from lnbwd_sim.library import Library; "
             "Library(sys.argv[1])", chip], capture_output=True, text=True, check=False)
        if checked.returncode:
            problem = checked.stderr.strip().splitlines()[-1].partition("Error: ")[2]
            raise pytest.UsageError(f"--amdgpu: {problem}")
    log: pathlib.Path | None = config.getoption("--amdgpu-sarif")
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        files = {chip: pathlib.Path(folder) / f"{chip}.sarif" for chip in chips} if log else {}
        for chip, arguments in command_lines(list(config.invocation_params.args), chips, files):
            print(f"==== {chip} ====", flush=True)
            code = subprocess.run([sys.executable, "-m", "pytest", *arguments],
                                  cwd=config.invocation_params.dir, check=False).returncode
            worst = max(worst, code)
        if log:
            runs = [run for file in files.values() if file.exists()
                    for run in json.loads(file.read_text(encoding="utf-8"))["runs"]]
            write_log(log, {**sarif([]), "runs": runs})
    return worst


# One chip.

def pytest_configure(config: pytest.Config) -> None:
    """Makes the simulated chip the GPU of PyTorch and Triton, before tests are imported."""
    chips = _chips(config)
    if len(chips) != 1:
        return
    file: pathlib.Path | None = config.getoption("--amdgpu-suppressions")
    try:
        suppressions = read_suppressions(file) if file else []
    except SuppressionError as error:
        raise pytest.UsageError(f"--amdgpu-suppressions: {error}; correct the file, or leave out "
                                "the option") from error
    handle, name = tempfile.mkstemp(prefix="lnbwd-sim-", suffix=".coverage")
    os.close(handle)
    saved: pathlib.Path | None = config.getoption("--amdgpu-save-errors")
    session = Session(chips[0], suppressions, pathlib.Path(name),
                      saved=saved.absolute() if saved else None)
    config.stash[_SESSION] = session
    os.environ["LNBWD_SIM_COVERAGE"] = name
    if config.getoption("--amdgpu-rounding"):
        os.environ["LNBWD_SIM_ROUNDING"] = "1"
    if kernels := config.getoption("--amdgpu-kernels"):
        os.environ["LNBWD_SIM_KERNELS"] = kernels
    if skipped := config.getoption("--amdgpu-skip-launches"):
        os.environ["LNBWD_SIM_SKIP_LAUNCHES"] = str(skipped)
    if (sample := config.getoption("--amdgpu-sample")) is not None:
        os.environ["LNBWD_SIM_SAMPLE"] = str(sample)
    try:
        from . import torch_device, triton_driver
        from .library import Library, SimulatorError
    except ModuleNotFoundError as error:
        raise pytest.UsageError(f"--amdgpu needs {error.name}, which is not installed; "
                                "pip install triton torch") from error
    try:
        library = Library(session.chip)
    except SimulatorError as error:
        raise pytest.UsageError(f"--amdgpu: {error}") from error
    device = session.device = torch_device.activate(library)
    session.rounds = triton_driver.AutotuneRounds(config.getoption("--amdgpu-autotune") == "all")
    try:
        triton_driver.activate(library, device, session.report, session.rounds,
                               session.fidelity)
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        raise pytest.UsageError(f"--amdgpu: Triton's driver, which a C compiler and Python's "
                                f"headers make (Debian: gcc, python3-dev): {error}") from error


def pytest_collection_finish(session: pytest.Session) -> None:
    """Takes FlyDSL's launches, where a test's file has imported it."""
    run = session.config.stash.get(_SESSION, None)
    if run is not None and "flydsl.compiler" in sys.modules:
        from . import flydsl_driver
        flydsl_driver.activate(run.device, run.report)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Removes the temporary file."""
    if _SESSION in config.stash:
        config.stash[_SESSION].coverage.unlink(missing_ok=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Errors belong to the test that runs."""
    session = item.config.stash.get(_SESSION, None)
    if session is not None:
        session.test = item.nodeid
        session.current.clear()
        if session.device is not None:
            session.device.begin_test()
        if session.rounds is not None:
            session.rounds.index, session.rounds.most = 0, 1
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """With --amdgpu-autotune=all, calls the test once more for each further configuration."""
    result = yield
    session = pyfuncitem.config.stash.get(_SESSION, None)
    if session is None or session.rounds is None:
        return result
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    while session.rounds.index + 1 < session.rounds.most:
        session.rounds.index += 1
        try:
            pyfuncitem.obj(**arguments)
        except Exception as error:
            error.add_note(f"with configuration {session.rounds.index} of the autotuned kernels") \
                if hasattr(error, "add_note") else None
            raise
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]
                              ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test with errors fails, also if it caught the exception."""
    report = yield
    session = item.config.stash.get(_SESSION, None)
    if session is None:
        return report
    if report.outcome == "failed" and not session.current and (lines := session.explain()):
        report.sections.append(("the comparison that failed", "\n".join(lines)))
    if not session.current:
        return report
    found, session.current = session.current, []
    setattr(report, _LIST, [error.to_dict() for error in found])
    counted = [error for error in found if error.suppressed is None]
    if counted and report.outcome == "passed":
        report.outcome = "failed"
        report.longrepr = "\n".join(error.describe() for error in counted)
    elif counted and call.excinfo is not None:
        # The launch and what was found; the frames between belong to Triton, or to PyTorch's
        # assert_close, which wraps exceptions.
        here = [entry for entry in call.excinfo.traceback if entry.path == item.path]
        for error in (call.excinfo.value, call.excinfo.value.__cause__):
            if here and isinstance(error, KernelFault):
                report.longrepr = (f"{here[-1].path}:{here[-1].lineno + 1}: "
                                   f"{str(here[-1].statement).strip()}\n{error}")
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Gathers the errors, also those of other processes (pytest-xdist)."""
    if _active is not None:
        _active.errors += [CheckError.from_dict(data) for data in getattr(report, _LIST, [])]


_active: Session | None = None


def pytest_sessionstart(session: pytest.Session) -> None:
    """Errors go to the run that has begun."""
    global _active
    _active = session.config.stash.get(_SESSION, None)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hands what a worker of pytest-xdist executed to the process that reports, whose run fails if
    no kernel was executed."""
    if _active is None:
        return
    # Errors of the import of a file.
    _active.errors += _active.current
    _active.current = []
    _active.fidelity.read(_active.coverage)
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["lnbwd_sim_fidelity"] = json.dumps({
            "executed": sorted(_active.fidelity.executed),
            "missing": sorted(_active.fidelity.missing),
            "kernels": {k: sorted(v) for k, v in _active.fidelity.kernels.items()}})
        return
    if not _active.fidelity.executed and session.exitstatus == pytest.ExitCode.OK \
            and not session.config.getoption("collectonly"):
        _active.checked_nothing = True
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    log: pathlib.Path | None = session.config.getoption("--amdgpu-sarif")
    if log:
        run = Sarif(_active.chip, _active.errors, {"fidelity": _active.fidelity.to_dict()})
        write_log(log, sarif([run]))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    """Takes what a worker of pytest-xdist executed."""
    output = getattr(node, "workeroutput", None) or {}
    if _active is not None and "lnbwd_sim_fidelity" in output:
        _active.fidelity.merge(json.loads(output["lnbwd_sim_fidelity"]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter,
                            config: pytest.Config) -> None:
    """The errors of all tests, once each, and what the simulator executed."""
    if _active is None:
        return
    write = terminalreporter.write_line
    terminalreporter.section(f"simulated {_active.chip}")
    counted = [f for f in _active.errors if f.suppressed is None]
    for error in counted:
        place = f"{error.place.file}:{error.place.line}: " if error.place else ""
        write(f"{place}{error.check}: kernel {error.kernel}, in {error.test or 'import'}")
    for line in summary(_active.errors, _active.suppressions):
        write(line)
    if _active.checked_nothing:
        write("error: nothing was checked: expected a test that launches a kernel, got none")
    write(total(_active.errors))
    for line in _active.fidelity.lines():
        write(line)
    if config.getoption("--amdgpu-annotations"):
        for error in counted:
            write(annotation(error))
