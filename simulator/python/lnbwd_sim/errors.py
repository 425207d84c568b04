# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors as tests and CI show them: text, suppressions, SARIF, annotations.

Nothing here needs PyTorch, Triton or pytest.
"""

from __future__ import annotations

import fnmatch
import hashlib
import importlib
import json
import linecache
import os
import pathlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

# pytest needs tomli, too, where Python has no tomllib.
tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

RULES: dict[str, str] = {
    "memory": "An access outside of every buffer, or memory that was never written",
    "registers": "A value that nothing has computed is stored, used as an address, or decides",
    "races": "Two accesses to the same bytes that nothing orders",
    "waits": "A result is used before the wait for it",
    "hazards": "Two instructions too close to each other",
    "limits": "More than the chip has, or than the kernel allocates",
    "alignment": "An access that is not aligned to its element",
    "leaks": "Device memory that the program does not free",
    "strides": "Results change where rows are further apart and the stride with them",
    "execution": "The launch cannot go on, or was refused",
}
"""The checks, as rules of a report; ``execution`` is what needs no check."""


STOPPED = "a suppressed error has stopped the launch, so its results are not complete"


@dataclass(frozen=True)
class Place:
    """A line of the source."""

    file: str
    line: int
    column: int = 0
    function: str = ""

    def text(self) -> str:
        """The line itself, if the file is there."""
        return linecache.getline(self.file, self.line).strip()


@dataclass(frozen=True)
class Access:
    """An instruction that is to blame, and the lines it comes from, the innermost first."""

    instruction: str
    at: str
    frames: tuple[Place, ...] = ()

    @property
    def place(self) -> Place | None:
        """The line of the user's: the innermost one that is not in Triton itself."""
        for frame in self.frames:
            if "/triton/language/" not in frame.file:
                return frame
        return self.frames[-1] if self.frames else None


@dataclass(frozen=True)
class CheckError:
    """What a launch reported once, however often it happened."""

    chip: str
    kernel: str
    check: str
    message: str
    cause: str
    count: int = 1
    stops: bool = False
    wave: str = ""
    where: Access | None = None
    other: Access | None = None
    grid: tuple[int, ...] = ()
    test: str = ""
    suppressed: str | None = None
    """Why it does not count."""

    @property
    def place(self) -> Place | None:
        """The line to show it at."""
        return self.where.place if self.where else None

    def describe(self) -> str:
        """Some lines of text."""
        times = f" ({self.count} times)" if self.count > 1 else ""
        lines = [f"{self.chip} {self.check}: {self.cause}{times}"]
        for title, access in (("at", self.where), ("with", self.other)):
            if access is None:
                continue
            if access.place is not None:
                lines.append(f"  {title} {relative(access.place.file)}:{access.place.line}: "
                             f"{access.place.text()}".rstrip())
                title = "  "
            lines.append(f"  {title} {access.at}: {access.instruction}")
        lines.append(f"  kernel {self.kernel}" + (f", grid {self.grid}" if self.grid else "")
                     + (f", {self.wave}" if self.wave else ""))
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """A form that JSON has, for reports of other processes."""
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> CheckError:
        """The error of such a form."""
        def access(entry: Mapping[str, Any] | None) -> Access | None:
            return None if entry is None else Access(
                entry["instruction"], entry["at"],
                tuple(Place(**frame) for frame in entry["frames"]))
        return CheckError(**{**data, "where": access(data["where"]), "other": access(data["other"]),
                          "grid": tuple(data["grid"])})


def relative(file: str) -> str:
    """The path from the current folder, for a file in it."""
    path = os.path.relpath(file) if os.path.isabs(file) else file
    return file if path.startswith("..") else path


def access(part: Mapping[str, Any] | None) -> Access | None:
    """An instruction, as ``lnbwdSimGetErrorsJson`` has it."""
    return None if part is None else Access(
        part["instruction"], part["at"],
        tuple(Place(frame["file"], frame["line"], frame["column"], frame["function"])
              for frame in part["source"]))


def parse(entry: Mapping[str, Any], grid: tuple[int, ...] = (), test: str = "") -> CheckError:
    """An error of ``lnbwdSimGetErrorsJson``."""
    wave = ""
    if "workgroup" in entry:
        wave = f"workgroup {tuple(entry['workgroup'])}, wave {entry['wave']}"
        wave += f", lane {entry['lane']}" if "lane" in entry else ""
    return CheckError(entry["chip"], entry["kernel"], entry["check"] or "execution",
                   entry["message"], entry.get("cause", entry["message"]), entry["count"],
                   entry["stops"], wave, access(entry.get("where")), access(entry.get("other")),
                   grid, test)


class SuppressionError(ValueError):
    """A file of suppressions is not as it should be."""


@dataclass
class Suppression:
    """What an error has to match, by patterns of the shell, and why it does not count."""

    reason: str
    patterns: dict[str, str]

    def matches(self, error: CheckError) -> bool:
        """Whether all patterns fit; ``source`` is matched with "FILE:LINE"."""
        place = error.place
        values = {"check": error.check, "chip": error.chip, "kernel": error.kernel,
                  "message": error.message,
                  "source": f"{place.file}:{place.line}" if place else ""}
        return all(fnmatch.fnmatchcase(values[key], pattern)
                   for key, pattern in self.patterns.items())

    def __str__(self) -> str:
        return ", ".join(f"{key} {pattern!r}" for key, pattern in self.patterns.items())


_KEYS = ("check", "chip", "kernel", "message", "source")


def read_suppressions(path: pathlib.Path) -> list[Suppression]:
    """Those of a TOML file: tables ``[[suppress]]`` with a reason and patterns."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("suppress", [])
    except OSError as error:
        raise SuppressionError(f"{path}: expected a file with tables [[suppress]], got: "
                               f"{error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise SuppressionError(f"{path}: expected TOML, got: {error}") from error
    result = []
    for number, table in enumerate(tables, 1):
        where = f"{path}: [[suppress]] {number}"
        patterns = {key: value for key, value in table.items() if key != "reason"}
        unknown = sorted(set(patterns) - set(_KEYS))
        if unknown:
            raise SuppressionError(f"{where}: expected {', '.join(_KEYS)} and reason, "
                                   f"got {', '.join(unknown)}")
        if not str(table.get("reason", "")).strip():
            raise SuppressionError(f"{where}: expected a reason, got none")
        if not patterns:
            raise SuppressionError(f"{where}: expected one of {', '.join(_KEYS)}, got none")
        result.append(Suppression(table["reason"], {k: str(v) for k, v in patterns.items()}))
    return result


def suppress(error: CheckError, suppressions: Iterable[Suppression]) -> CheckError:
    """The error, with the reason of the first suppression that it matches."""
    for entry in suppressions:
        if entry.matches(error):
            return CheckError(**{**vars(error), "suppressed": entry.reason})
    return error


def annotation(error: CheckError, level: str = "error") -> str:
    """A line that GitHub shows in the source (a workflow command)."""
    def escape(text: str, more: str = "") -> str:
        for char in "%\r\n" + more:
            text = text.replace(char, f"%{ord(char):02X}")
        return text
    properties = []
    if error.place is not None:
        properties = [f"file={escape(relative(error.place.file), ',:')}",
                      f"line={error.place.line}"]
        if error.place.column:
            properties.append(f"col={error.place.column}")
    properties.append("title=" + escape(f"{error.chip} {error.check}", ",:"))
    return f"::{level} {','.join(properties)}::{escape(error.describe())}"


def _location(place: Place, message: str = "") -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": place.line}
    if place.column:
        region["startColumn"] = place.column
    path = pathlib.PurePath(relative(place.file)).as_posix()
    uri = ("file://" if path.startswith("/") else "") + path
    result: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": uri},
                                                   "region": region}}
    if message:
        result["message"] = {"text": message}
    return result


def _fingerprint(error: CheckError) -> str:
    """The same in each run: no addresses or numbers of waves, and, since code
    above them moves, the text of the lines where there is one."""
    parts = [error.check, error.kernel, error.cause]
    for access in (error.where, error.other):
        place = access.place if access else None
        parts += [relative(place.file), linecache.getline(place.file, place.line).strip()
                  or str(place.line)] if place else [""]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _result(error: CheckError) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": error.check, "level": "error",
        "message": {"text": error.describe()},
        "partialFingerprints": {"lnbwdSim/v1": _fingerprint(error)},
        "properties": {"chip": error.chip, "kernel": error.kernel, "test": error.test,
                       "count": error.count},
    }
    # GitHub shows no result that has no place: without debug information, it is the test's.
    place = error.place or (Place(error.test.split("::")[0], 1) if error.test else None)
    if place is not None:
        result["locations"] = [_location(place)]
    if error.other is not None and error.other.place is not None:
        result["relatedLocations"] = [_location(error.other.place, error.other.instruction)]
    if error.suppressed is not None:
        result["suppressions"] = [{"kind": "external", "justification": error.suppressed}]
    return result


def write_log(file: pathlib.Path, log: Mapping[str, Any]) -> None:
    """Writes SARIF, with the folder, as pytest does for --junitxml."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(log, indent=1), encoding="utf-8")


def sarif(runs: Sequence[Sarif]) -> dict[str, Any]:
    """A SARIF 2.1.0 log with a run for each chip."""
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
            "runs": [run.to_dict() for run in runs]}


@dataclass
class Sarif:
    """What a SARIF log says of one chip."""

    chip: str
    errors: list[CheckError] = field(default_factory=list)
    properties: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """A run of the log."""
        rules = [{"id": name, "shortDescription": {"text": text}} for name, text in RULES.items()]
        return {"tool": {"driver": {"name": "lnbwd-sim", "rules": rules}},
                "automationDetails": {"id": f"lnbwd-sim/{self.chip}/"},
                "properties": {"chip": self.chip, **self.properties},
                "results": [_result(error) for error in self.errors]}
