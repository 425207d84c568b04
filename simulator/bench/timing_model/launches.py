# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a timed run of a benchmark is made of: launches of compiled kernels, and their arguments.

The arguments are those of ``lnbwd-sim --arg``; simulator/docs/checker.md describes them.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

CLOCKS = pathlib.Path(__file__).resolve().parents[2] / "lib" / "Timing" / "Clocks.json"
#: The chip of the cards that were measured.
CHIP = json.loads(CLOCKS.read_text())["sets"]["MI300X"]["chip"]
KERNELS = pathlib.Path(__file__).resolve().parent / "kernels"

#: As HIP's compiler is called by default, as far as it changes the code.
FLAGS = ("-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-nogpulib",
         "-mcode-object-version=5", "-O3", "-ffp-contract=fast",
         "-cl-fp32-correctly-rounded-divide-sqrt", "-w")


@dataclasses.dataclass(frozen=True)
class Buffer:
    """A buffer of ``count`` elements of ``type``.

    ``access`` is "in", "out" or "inout". What is timed does not depend on the contents of most
    buffers, which are zeros; ``contents`` makes those of the others, as a NumPy array, or where
    few elements are not zeros as a pair of them, indices and values.
    """

    name: str
    access: str
    type: str
    count: int
    contents: Callable[[], Any] | None = None

    @property
    def bytes(self) -> int:
        """Its size."""
        return self.count * int(self.type.lstrip("if")) // 8


@dataclasses.dataclass(frozen=True)
class Number:
    """An argument that is passed by value."""

    name: str
    type: str
    value: float


Argument = Buffer | Number


def contents_of(buffer: Buffer) -> Any:
    """What ``buffer.contents`` makes, as one array."""
    import numpy as np
    made = buffer.contents() if buffer.contents else np.zeros(buffer.count, np.uint32)
    if not isinstance(made, tuple):
        return made
    indices, values = made
    whole = np.zeros(buffer.count, values.dtype)
    whole[indices] = values
    return whole


@dataclasses.dataclass(frozen=True)
class Launch:
    """``repeat`` launches, one after another, of a kernel of ``kernels/<source>.cl``.

    ``grid`` counts workgroups, ``block`` work-items. ``loop`` names a number among the arguments
    in which the time is linear from some hundreds on: a long run is predicted from two short ones.
    ``alike`` names numbers that change what is computed but not the time, so that launches that
    differ only in them are predicted once.
    """

    source: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Argument, ...] = ()
    repeat: int = 1
    loop: str | None = None
    alike: tuple[str, ...] = ()

    def command(self, code: pathlib.Path, contents: pathlib.Path) -> list[str]:
        """lnbwd-sim's arguments for this launch of the code object ``code``.

        Files of buffers that are not zeros are written to the folder ``contents``.
        """
        words = [str(code), "--kernel", self.kernel, "--grid", ",".join(map(str, self.grid)),
                 "--block", ",".join(map(str, self.block))]
        for argument in self.arguments:
            if isinstance(argument, Number):
                text = f"{argument.type}={argument.value:g}" if argument.type[0] == "f" else \
                    f"{argument.type}={int(argument.value)}"
            else:
                text = f"{argument.access}:{argument.type}x{argument.count}"
                if argument.contents is not None:
                    path = contents / f"{self.source}-{self.kernel}-{argument.name}.bin"
                    contents_of(argument).tofile(path)
                    text += f"=@{path}"
            words += ["--arg", text]
        return words


@dataclasses.dataclass(frozen=True)
class Run:
    """One timed run of a benchmark, after an untimed one.

    ``pairs`` has the launches between one event and the next; the times of all pairs are added.
    ``uploads`` are the bytes of copies from pageable host memory inside the timed call,
    ``allocations`` counts device memory allocated and freed there, ``clears`` small buffers that
    the runtime sets to zero. ``host`` says that the time is the host's, from launch to
    synchronisation, and not that of events.
    """

    pairs: tuple[tuple[Launch, ...], ...]
    uploads: tuple[int, ...] = ()
    allocations: int = 0
    clears: int = 0
    host: bool = False

    def launches(self) -> list[Launch]:
        """All launches, in order."""
        return [launch for pair in self.pairs for launch in pair]

    def buffers(self) -> dict[str, Buffer]:
        """All buffers, by name; one name is one buffer in all launches."""
        found: dict[str, Buffer] = {}
        for launch in self.launches():
            for argument in launch.arguments:
                if isinstance(argument, Buffer):
                    found.setdefault(argument.name, argument)
        return found

    def bytes(self) -> int:
        """Bytes of all buffers."""
        return sum(buffer.bytes for buffer in self.buffers().values())


def one(launch: Launch) -> Run:
    """A run of one launch between two events."""
    return Run(((launch,),))


def find_clang() -> str | None:
    """A clang that can compile OpenCL C for AMD's chips, if there is one."""
    for name in ("clang-22", "clang"):
        path = shutil.which(name) or shutil.which(name, path="/usr/lib/llvm-22/bin")
        if path:
            return path
    return None


def compile_kernels(folder: pathlib.Path, sources: Sequence[str] | None = None,
                    chip: str = CHIP) -> dict[str, pathlib.Path]:
    """Compiles kernels/<source>.cl to code objects in ``folder``, all of them by default.

    Raises:
        FileNotFoundError: there is no clang.
        subprocess.CalledProcessError: clang refused a source; its messages were printed.
    """
    clang = find_clang()
    if clang is None:
        raise FileNotFoundError("expected clang-22 in PATH (Debian: clang-22)")
    objects = {}
    for path in sorted(KERNELS.glob("*.cl")):
        if sources is None or path.stem in sources:
            objects[path.stem] = folder / f"{path.stem}.hsaco"
            subprocess.run([clang, *FLAGS, f"-mcpu={chip}", str(path), "-o",
                            str(objects[path.stem])], check=True)
    return objects
