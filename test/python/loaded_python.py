# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs Python programs in processes that begin with PyTorch imported.

A test of what a process finds when it begins (its environment, an empty memory, what others left on
disk) would otherwise pay seconds for the import of PyTorch and of its compiler each time. Here one
server for each process of tests imports them once, nothing of lnbwd, and each program runs in a
fork of it: with its own arguments, environment, standard streams and end of the interpreter.
What PyTorch reads from the environment when it is imported cannot differ, which is checked.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence

_SECONDS = 600
# Read when something is compiled or at a thread pool's start, not when PyTorch is imported.
_READ_LATER = {"TORCHINDUCTOR_CACHE_DIR"}
_server: _Server | None = None


class _Server:
    """The process that imports, and forks."""

    def __init__(self) -> None:
        self.environment = dict(os.environ)
        self.process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, **request: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the server of loaded processes has ended, expected an answer")
        return json.loads(line)

    def has_answer(self, seconds: float) -> bool:
        return bool(select.select([self.process.stdout], [], [], seconds)[0])


def _of_import(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items()
            if name.startswith("TORCH") and name not in _READ_LATER}


class Program:
    """A program that runs: what :func:`start` gives."""

    def __init__(self, arguments: list[str], pid: int, folder: tempfile.TemporaryDirectory) -> None:
        self._arguments, self._pid, self._folder = arguments, pid, folder
        self._has_ended = False

    def wait(self, seconds: float = _SECONDS) -> subprocess.CompletedProcess[str]:
        """What subprocess.run would give. One that takes longer is killed, which is an error."""
        assert _server is not None and not self._has_ended
        _server.ask(wait=self._pid)
        is_late = not _server.has_answer(seconds)
        if is_late:
            os.kill(self._pid, signal.SIGKILL)
        answer = _server.answer()
        self._has_ended = True
        out, err = ((pathlib.Path(self._folder.name) / name).read_text()
                    for name in ("out", "err"))
        self._folder.cleanup()
        if is_late:
            raise subprocess.TimeoutExpired(self._arguments, seconds, out, err)
        return subprocess.CompletedProcess(self._arguments, answer["code"], out, err)

    def end(self) -> None:
        """Kills the program if nobody has waited for its end."""
        if not self._has_ended:
            os.kill(self._pid, signal.SIGKILL)
            self.wait()


def start(arguments: Sequence[object], *, env: dict[str, str] | None = None, input: str = "",
          cwd: str | os.PathLike[str] | None = None) -> Program:
    """Starts a program, given as Python takes it: ["-c", TEXT, ...], ["-m", MODULE, ...] or
    [FILE, ...]."""
    global _server
    if _server is None:
        _server = _Server()
    environment = dict(os.environ if env is None else env)
    if _of_import(environment) != _of_import(_server.environment):
        raise ValueError("env: expected PyTorch's variables to be "
                         f"{_of_import(_server.environment)}, got {_of_import(environment)}: start "
                         "a process of its own")
    words = [os.fspath(word) for word in arguments]
    folder = tempfile.TemporaryDirectory(prefix="lnbwd-test-program-")
    pathlib.Path(folder.name, "in").write_text(input)
    _server.ask(arguments=words, environment=environment, folder=folder.name,
                cwd=os.fspath(cwd) if cwd is not None else os.getcwd())
    answer = _server.answer()
    return Program(words, answer["pid"], folder)


def run(arguments: Sequence[object], *, env: dict[str, str] | None = None, input: str = "",
        cwd: str | os.PathLike[str] | None = None, timeout: float = _SECONDS
        ) -> subprocess.CompletedProcess[str]:
    """As subprocess.run with text that is captured; the program as :func:`start` takes it."""
    return start(arguments, env=env, input=input, cwd=cwd).wait(timeout)


def close() -> None:
    """Ends the server."""
    global _server
    if _server is not None:
        _server.process.communicate("")
        _server = None


# --------------------------------------------------------------------------------------------------
# The server
# --------------------------------------------------------------------------------------------------


def _serve() -> dict | None:
    """Answers requests until there are no more; in a fork, gives what it is to run."""
    with os.fdopen(os.dup(1), "w") as answers:
        for line in sys.stdin:
            request = json.loads(line)
            if "wait" in request:
                _, status = os.waitpid(request["wait"], 0)
                answer = {"code": os.waitstatus_to_exitcode(status)}
            else:
                pid = os.fork()
                if pid == 0:
                    return request
                answer = {"pid": pid}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
    return None


def _become(request: dict) -> None:
    """Gives a fork the standard streams, the environment and the paths of its program."""
    for place, (name, flags) in enumerate((("in", os.O_RDONLY), ("out", os.O_WRONLY | os.O_CREAT),
                                           ("err", os.O_WRONLY | os.O_CREAT))):
        file = os.open(os.path.join(request["folder"], name), flags, 0o600)
        os.dup2(file, place)
        os.close(file)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 (it stays open to the end)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    if torch.cuda._is_in_bad_fork():  # The imports have asked for a card, which no fork may use.
        os.execv(sys.executable, [sys.executable, *request["arguments"]])
    first, *rest = request["arguments"]
    folder = {"-c": "", "-m": os.getcwd()}.get(first, os.path.dirname(os.path.abspath(first)))
    path = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.path[:] = [folder, *path, *_paths]
    sys.argv[:] = [first, *rest] if first not in ("-c", "-m") else [first, *rest[1:]]


def _execute(arguments: list[str]) -> None:
    import runpy
    import types

    if arguments[0] == "-m":
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        module = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(arguments[1], "<string>", "exec"), module.__dict__)
    else:
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    # This folder is not of the programs' path, nor what the server's own environment adds.
    _added = {os.path.dirname(os.path.abspath(__file__)),
              *os.environ.get("PYTHONPATH", "").split(os.pathsep)}
    _paths = [entry for entry in sys.path if entry not in _added]
    # Programs need not look for garbage in all of PyTorch when they end, which takes a second, nor
    # nanobind say that it stays: this is the last that is called.
    atexit.register(lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), 2))
    # A fork may use a card only if the imports do not ask CUDA whether there is one.
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    import torch
    import torch._dynamo
    import torch._inductor.compile_fx

    gc.freeze()
    _request = _serve()
    if _request is not None:
        _become(_request)
        _execute(_request["arguments"])
