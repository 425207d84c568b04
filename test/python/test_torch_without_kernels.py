# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models where kernels cannot be had: in an installation whose compiler does not load, and
with a damaged kernel cache. A model never fails because of that; one warning says what is amiss."""

import os

import loaded_python
import pytest
import torch
from compiled import Case, assert_near, normal, run

import lnbwd
from conftest import BUILD, HAS_GPU, ROOT
from lnbwd.core.base import errors
from lnbwd.core.base.errors import CacheWarning, LibraryError
from lnbwd.core.compile.store import KernelStore
from lnbwd.core.runtime import bindings
from lnbwd.ops import regions
from lnbwd.program.evaluation import evaluate
from lnbwd.program.operands import Input, Output
from lnbwd.program.row_program import Builder

pytestmark = [pytest.mark.compiler, pytest.mark.simulator,
              pytest.mark.skipif(HAS_GPU, reason="tests installations on the CPU")]

N = 56


def example(factor):
    """A row program whose text and kernel nobody else has: mask and rows in, one of each out."""
    b = Builder(N)
    mask, x, gamma = (b.add("input", i) for i in range(3))
    y = b.add("mul", b.add("select", mask, x, b.constant(0)), gamma)
    z = b.add("sub", y, b.add("mul", b.add("row_sum", y), b.constant(factor)))
    program = b.finish(None, [Input("row", "i8"), Input("row", "f32"), Input("column", "f32")],
                       [Output("row", "f32", z), Output("row", "i8", b.add("gt", z, x)),
                        Output("column_sum", "f32", y)])
    return program, [normal(2, 3, N) > -0.5, normal(2, 3, N, seed=1), normal(N, seed=2)]


def assert_evaluated(program, got, inputs):
    for g, w in zip(got, evaluate(program, inputs), strict=True):
        assert g.dtype == w.dtype
        torch.testing.assert_close(g, w, rtol=1e-5, atol=1e-5)


@pytest.fixture(autouse=True)
def fresh():
    errors.forget_warnings()
    with lnbwd.simulate():
        yield


@pytest.fixture
def refused(monkeypatch):
    """No kernel can be had."""
    def refuse(*_):
        raise LibraryError("there is no kernel; copy the cache's folder here")

    monkeypatch.setattr(KernelStore, "code_for", refuse)


@pytest.mark.parametrize("operator", ["region", "python"])
def test_pytorch_takes_the_place_of_kernels(refused, recwarn, operator):
    call = torch.ops.lnbwd.region if operator == "region" else regions.run_region
    for factor in (0.25, 0.75):
        program, inputs = example(factor + (operator == "python"))
        regions.register_row_program(program)
        for _ in range(2):
            assert_evaluated(program, call(inputs, program.text()), inputs)
    words = [str(w.message) for w in recwarn if w.category is RuntimeWarning]
    assert len(words) == 1
    assert "computed by PyTorch's operations" in words[0]
    assert "there is no kernel; copy the cache's folder here" in words[0]


def test_outputs_are_new_tensors(refused):
    """Even those that are an input, so that nothing that is written later changes them."""
    b = Builder(N)
    x = b.add("input", 0)
    program = b.finish(None, [Input("row", "f32")], [Output("row", "f32", x)])
    regions.register_row_program(program)
    tensor = torch.randn(3, N)
    with pytest.warns(RuntimeWarning, match="one after another"):
        y, = torch.ops.lnbwd.region([tensor], program.text())
    assert torch.equal(y, tensor) and y.data_ptr() != tensor.data_ptr()


def test_without_the_simulator():
    """Compiled inside of lnbwd.simulate(), called outside."""
    program, inputs = example(2.5)
    regions.register_row_program(program)
    simulations = lnbwd.ops.launching._simulated.copy()
    lnbwd.ops.launching._simulated.clear()
    lnbwd.ops.native.set_simulated_chip("")
    try:
        with pytest.warns(RuntimeWarning, match="on the CPU"):
            assert_evaluated(program, torch.ops.lnbwd.region(inputs, program.text()), inputs)
    finally:
        lnbwd.ops.launching._simulated.update(simulations)


def test_a_model_that_is_compiled_without_kernels_is_inductors(refused, recwarn, fresh_inductor):
    for factor in (1.5, 2.5):
        case = Case(lambda x: x * factor - (x * factor).mean(-1, keepdim=True),  # noqa: B023
                    [normal(6, N)])
        found = run(case.function, *case.operands)
        assert_near(found.results, case)
        assert not found.taken
        assert all(reason.startswith("no kernel: there is no kernel") for reason in found.reasons)
    words = [str(w.message) for w in recwarn if "lnbwd's cannot be had" in str(w.message)]
    assert len(words) == 1 and "copy the cache's folder here" in words[0]


def test_a_damaged_cache_entry(tmp_path, new_process):
    """It is compiled again, and replaced."""
    program, inputs = example(3.5)
    new_process(tmp_path)
    regions.register_row_program(program)
    assert_evaluated(program, regions.run_region(inputs, program.text()), inputs)
    entry, = tmp_path.rglob("*.kernel")
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-8] + b"damaged!")
    # As another process finds it; the kernels that are loaded stay alive.
    new_process()
    with pytest.warns(CacheWarning, match="the checksum is wrong"):
        assert_evaluated(program, regions.run_region(inputs, program.text()), inputs)
    assert entry.read_bytes() == whole


# --------------------------------------------------------------------------------------------------
# Installations
# --------------------------------------------------------------------------------------------------

SCRIPT = """
import sys, warnings
import torch, lnbwd.inductor
from lnbwd import compiler
import torch._inductor.config as config
config.compile_threads = 1
def function(x, h, gamma):
    stream = x + h
    var, mean = torch.var_mean(stream, -1, correction=0, keepdim=True)
    return stream, (stream - mean) * torch.rsqrt(var + 1e-5) * gamma
torch.manual_seed(0)
x, h, gamma = torch.randn(6, 64), torch.randn(6, 64), torch.randn(64)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    compiled = torch.compile(function, backend="lnbwd", fullgraph=True)
    for _ in range(2):
        got, want = compiled(x, h, gamma), function(x.double(), h.double(), gamma.double())
assert all((g.double() - w).norm() <= 1e-5 * w.norm() for g, w in zip(got, want))
print("compiler", compiler.available(),
      "taken", len([d for d in lnbwd.inductor.decisions() if d.taken]),
      "hits", torch._dynamo.utils.counters["inductor"]["fxgraph_cache_hit"])
print(*[w.message for w in caught if "lnbwd" in str(w.message) or "regions" in str(w.message)],
      sep="\\n")
"""


def broken_installation(folder, keeps_its_name):
    """The build's libraries, with a compiler that cannot be loaded: one for which there is no MLIR,
    which has the name that graphs in a cache were compiled by, or a file that is no library."""
    for path in (BUILD / "lib").glob("liblnbwd-*.so*"):
        if not path.name.startswith("liblnbwd-compiler"):
            (folder / path.name).symlink_to(path)
    whole = (BUILD / "lib" / "liblnbwd-compiler.so").read_bytes()
    (folder / "liblnbwd-compiler.so").write_bytes(
        whole.replace(b"\0libMLIR", b"\0libNone") if keeps_its_name else b"no library")
    return folder


def run_script(tmp_path, **environment):
    done = loaded_python.run(
        ["-c", SCRIPT],
        env={**os.environ, "LNBWD_SIMULATE": "gfx942", "PYTHONPATH": str(ROOT / "python"),
             "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"), **environment})
    assert done.returncode == 0, done.stderr
    first, *words = done.stdout.strip().splitlines()
    return first, words, "[lnbwd] taken: " in done.stderr


@pytest.mark.skipif(bool(os.environ.get("LNBWD_TEST_INSTALLED")), reason="needs a build folder")
def test_graphs_out_of_a_cache_without_a_compiler(tmp_path):
    """A second process finds graph and kernel where the first has left them. A graph with row
    programs, out of Inductor's cache, runs in an installation without kernels; one that is compiled
    there has none."""
    assert bindings.find_library("lnbwd-compiler") is not None
    for hits in (0, 1):
        assert run_script(tmp_path, LNBWD_CACHE_DIR=str(tmp_path / "kernels"),
                          LNBWD_LOG="regions") == (f"compiler True taken 1 hits {hits}", [], True)
    for keeps_its_name, expected in ((True, "compiler False taken 1 hits 1"),
                                     (False, "compiler False taken 0 hits 0")):
        folder = tmp_path / f"libraries-{keeps_its_name}"
        folder.mkdir()
        first, words, _ = run_script(
            tmp_path, LNBWD_CACHE_DIR=str(tmp_path / "empty"),
            LNBWD_LIBRARY_DIR=str(broken_installation(folder, keeps_its_name)))
        assert first == expected
        assert len(words) == 1 and "cannot load" in words[0], words
