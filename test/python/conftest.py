# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the package and the libraries under test are, and on what the kernels run.

The package is the checkout's, with the libraries of LNBWD_BUILD_DIR (build/ in the checkout
otherwise), unless an installed one is to be tested (LNBWD_TEST_INSTALLED=1). Tests of kernels take
the fixture ``device``: the GPU if PyTorch has one, else the CPU with the simulator switched on.
A GPU without a compiler beside it needs a cache with every kernel that the tests use: with
LNBWD_TEST_RECORD=FILE a run leaves a list of them (pack_for_device.py).
"""

import dataclasses
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import loaded_python
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")).resolve()

if not os.environ.get("LNBWD_TEST_INSTALLED"):
    sys.path.insert(0, str(ROOT / "python"))
    os.environ.setdefault("LNBWD_LIBRARY_DIR", str(BUILD / "lib"))
_scratch = tempfile.TemporaryDirectory(prefix="lnbwd-test-cache-")
os.environ.setdefault("LNBWD_CACHE_DIR", os.environ.get("LNBWD_TEST_CACHE", _scratch.name))

try:
    import torch
except ImportError:
    torch = None
    collect_ignore_glob = ["test_torch*.py"]
else:
    torch.set_num_threads(1 if "PYTEST_XDIST_WORKER" in os.environ else 2)

HAS_GPU = torch is not None and torch.cuda.is_available()


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a GPU that PyTorch can use")
    config.addinivalue_line("markers", "compiler: needs the compiler half")
    config.addinivalue_line("markers", "simulator: needs the simulator of AMD machine code")
    config.addinivalue_line("markers", "full: runs with --full alone")


def pytest_unconfigure():
    loaded_python.close()


def pytest_collection_modifyitems(config, items):
    from lnbwd import compiler
    from lnbwd.core.runtime import bindings

    if not config.getoption("full", default=False):
        left_out = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("full")]

    has_simulator = bindings.find_library("lnbwd-hip-sim") is not None
    for item in items:
        if item.get_closest_marker("simulator") and not has_simulator:
            item.add_marker(pytest.mark.skip(reason="no simulator here"))
        if item.get_closest_marker("gpu") and not HAS_GPU:
            item.add_marker(pytest.mark.skip(reason="PyTorch has no GPU here"))
        if item.get_closest_marker("compiler") and not compiler.available():
            item.add_marker(pytest.mark.skip(reason="no compiler here"))


@pytest.fixture(scope="session")
def build() -> pathlib.Path:
    return BUILD


@pytest.fixture
def device():
    """Where kernels run: a CUDA or ROCm device, or the CPU with its simulator."""
    if HAS_GPU:
        yield torch.device("cuda", torch.cuda.current_device())
        return
    import lnbwd

    with lnbwd.simulate():
        yield torch.device("cpu")


def forget_kernels(monkeypatch, folder=None):
    """Forgets the kernels in memory until ``monkeypatch`` is undone."""
    from lnbwd.core.compile import cache, store

    kept = cache.KernelCache(folder or store.kernel_cache().folder)
    monkeypatch.setattr(store, "_store", store.KernelStore(kept))
    if torch is not None:
        from lnbwd.ops import regions

        monkeypatch.setattr(regions, "_kernels", {})


@pytest.fixture(scope="module", autouse=True)
def no_kernels_of_other_files():
    """A file's tests find no kernel in memory that another file's tests have loaded: which files
    share a process is chance."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        forget_kernels(monkeypatch)
        yield


@pytest.fixture
def new_process(monkeypatch):
    """A function that forgets the kernels in memory, as a process that has just begun has none;
    those that are loaded stay alive. It may have another folder for the cache on disk."""
    return functools.partial(forget_kernels, monkeypatch)


@pytest.fixture
def no_compiler(monkeypatch):
    """An installation without the compiler."""
    from lnbwd import compiler

    monkeypatch.setattr(compiler, "compiler_id", lambda: None)
    monkeypatch.setattr(compiler, "available", lambda: False)


@pytest.fixture
def no_kernels(monkeypatch):
    """No kernel is found, so that PyTorch's operations compute row programs."""
    from lnbwd.ops import regions

    monkeypatch.setattr(regions, "find_kernel", lambda *_: None)


@pytest.fixture
def fresh_inductor():
    """Inductor and this backend remember nothing of other tests."""
    import lnbwd.inductor

    torch._dynamo.reset()
    lnbwd.inductor.decisions(clear=True)
    with torch._inductor.utils.fresh_cache():
        yield
    torch._dynamo.reset()


@pytest.fixture(scope="session", autouse=True)
def record_kernels():
    """With LNBWD_TEST_RECORD, the kernels that tests ask for are written into that file. They run
    all the same: a test that failed would not get to what it asks for next."""
    path = os.environ.get("LNBWD_TEST_RECORD")
    if not path or torch is None:
        yield
        return
    from lnbwd.core.compile.store import KernelStore

    code_for = KernelStore.code_for
    wanted = {}

    def record(self, make, chip):
        wanted[json.dumps({**dataclasses.asdict(make(chip, "")), "chip": "", "format": ""})] = True
        return code_for(self, make, chip)

    KernelStore.code_for = record
    yield
    KernelStore.code_for = code_for
    pathlib.Path(path).write_text(json.dumps([json.loads(text) for text in wanted]))


@pytest.fixture(scope="session")
def opt_compile(tmp_path_factory):
    """Compiles MLIR text by lnbwd-opt, without the package's compiler half; gives the bytes."""
    folder = tmp_path_factory.mktemp("opt")
    if not (BUILD / "bin" / "lnbwd-opt").exists():
        pytest.skip("no lnbwd-opt in the build")

    def compile_text(text: str, chip: str) -> bytes:
        output = folder / "kernel"
        form = "ptx" if chip.startswith("sm_") else "hsaco"
        subprocess.run([BUILD / "bin" / "lnbwd-opt", "-", f"--lnbwd-pipeline=chip={chip}",
                        f"--emit={form}", "-o", output], input=text, text=True, check=True)
        return output.read_bytes()

    return compile_text
