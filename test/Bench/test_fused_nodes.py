# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/lnbwd_bench/fused_nodes: Inductor's fused nodes as row programs compute the same, out of
caches and in threads too, and Inductor's own backend stays as it is; bench/fused_nodes.py checks
some of the patterns of docs/results.
"""

import json
import os
import pathlib
import subprocess
import sys
import threading

import pytest

pytest.importorskip("torch")

import sympy
import torch
import torch.nn.functional as F
from torch._inductor.utils import fresh_cache, run_and_get_code
from torch.utils._pytree import tree_leaves
from torch.utils._sympy.functions import FloorDiv, ModularIndexing

import fused_nodes as command
import lnbwd
from lnbwd_bench import fused_nodes
from lnbwd_bench.fused_nodes.places import Digits, NeedsCut, NotConvertible

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = ROOT / "docs/results/fused-nodes.jsonl.xz"
CHECKED = (575, 951, 1137, 1201, 1226)
"""Lines of the file: nodes of each kind, some of several programs, with few elements."""

BF16, F32 = torch.bfloat16, torch.float32
CASES = {}
OF_INTEGERS = {}
X = sympy.Symbol("x", integer=True)


def case(dtype):
    """A case of elements of this type: a function of tensors, and their shapes."""
    def add(function):
        CASES[function.__name__] = (dtype, *function())

    return add


@case(F32)
def rotary():
    def function(x, frequencies):
        angle = torch.arange(8)[:, None] * torch.cat([frequencies, frequencies])
        turned = torch.cat([-x[..., 8:], x[..., :8]], -1)
        return x * angle.cos() + turned * angle.sin()

    return function, [(2, 4, 8, 16), (8,)]


@case(BF16)
def padded():
    return lambda x: F.pad(x, (2, 3, 1, 0)).exp(), [(4, 6, 8)]


@case(F32)
def causal_softmax():
    def function(x):
        place = torch.arange(16)
        return torch.where(place[:, None] >= place, x, float("-inf")).softmax(-1)

    return function, [(2, 3, 16, 16)]


@case(BF16)
def layer_norm_gelu():
    return lambda x, w, b: F.gelu(F.layer_norm(x, (64,), w, b)), [(32, 64), (64,), (64,)]


@case(F32)
def group_norm_silu():
    return lambda x, w, b: F.silu(F.group_norm(x, 4, w, b)), [(2, 16, 8, 8), (16,), (16,)]


@case(F32)
def heads_of_samples():
    def function(x, scale, shift):
        return (x * scale[:, None, :, None] + shift[..., None, None]).flatten(2).softmax(-1)

    return function, [(4, 6, 8, 16), (4, 8), (4, 6)]


@case(BF16)
def means_of_means():
    return lambda x: x.mean(-1) * x.mean((0, 1))[None, :8].sum(-1, keepdim=True), [(4, 8, 64)]


def of_integers(*tensors):
    """A case of these tensors: a function whose results have the same bits."""
    def add(function):
        OF_INTEGERS[function.__name__] = function, tensors

    return add


def integers(dtype, *shape):
    """Integers of all bits."""
    generator = torch.Generator().manual_seed(len(shape))
    return torch.randint(0, 256, (*shape, dtype.itemsize), generator=generator,
                         dtype=torch.uint8).view(dtype)[..., 0].contiguous()


@of_integers(integers(torch.int64, 32, 64), integers(torch.int64, 64))
def wide(x, y):
    return (x * y ^ (x >> 3)) & (y | x), x < y, torch.minimum(x, y), torch.where(x > y, x, y - 1)


@of_integers(integers(torch.int32, 32, 64), integers(torch.int32, 32, 1))
def divided(x, y):
    return x // 7 + x % 5, x.to(torch.int16), x.long() + 2 ** 40, (x * 1000).to(torch.int8), y.abs()


@of_integers(integers(torch.int8, 32, 64), integers(torch.uint8, 64))
def narrow(x, y):
    return x + x, x * x, y >> 4, y + 200, x.float() * y, -x, ~y


@of_integers(integers(torch.int64, 32, 64))
def reduced(x):
    return (x & 1).ne(0).sum(-1), x.sum(-1), x.amax(-1), x.amin(-1), (x >> 40).sum()


@of_integers(torch.linspace(-200, 200, 512).reshape(8, 64))
def rounded(x):
    return x.to(torch.int32), x.round().clamp(-128, 127).to(torch.int8), (x * 9).long()


@of_integers()
def filled():
    return torch.zeros(8, 64), torch.arange(4096) * 2 ** 40, torch.ones(64, 64).tril()


@of_integers(integers(torch.int64, 16, 64))
def positions(x):
    return (x & 1).ne(1).int() * torch.arange(64) + 1


@of_integers(torch.arange(480.).reshape(4, 10, 12))
def padded_by_reflection(x):
    return F.pad(x, (2, 2), mode="reflect") * 2, F.pad(x, (3, 2), mode="replicate") * 2, x.flip(1)


@of_integers(torch.arange(512.).reshape(8, 64), integers(torch.int64, 64) % 64)
def elements_at_indices(x, columns):
    return x[:, columns] * 2, x.gather(1, columns[:8, None])[:, 0] + 1


@of_integers(torch.arange(480.).reshape(30, 16), torch.arange(480.).reshape(20, 24))
def rows_of_two_lengths(x, y):
    return (x + y.reshape(30, 16)).amax(-1), x * (torch.arange(480) // 7).reshape(30, 16)


def tensors_of(shapes, dtype):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def results(function, tensors, gradient=None):
    tensors = [t.clone().requires_grad_() for t in tensors]
    result = function(*tensors)
    if gradient is None:
        gradient = torch.randn(result.shape, generator=torch.Generator().manual_seed(2))
    gradients = torch.autograd.grad(result, tensors, gradient.to(result), allow_unused=True)
    return [result, *(g for g in gradients if g is not None)]


def test_digits_of_indices():
    """Divisions fall on cuts, and say which cut is missing."""
    def runs(expression, *cuts):
        digits = Digits(768, cuts)
        variables = {X: digits.range(1, 768, 1)}
        return digits.runs(digits.form(expression, variables.__getitem__))

    assert runs(2 * X) == [(1, 768, 2)]
    with pytest.raises(NeedsCut) as needed:
        runs(ModularIndexing(X, 1, 64))
    assert needed.value.cut == 64
    assert runs(ModularIndexing(X, 1, 64), 64) == [(1, 64, 1)]
    assert runs(5 * FloorDiv(X, 64) + ModularIndexing(X, 1, 64), 64) == [(64, 12, 5), (1, 64, 1)]
    assert runs(64 * FloorDiv(X, 64) + ModularIndexing(X, 1, 64), 64) == [(1, 768, 1)]
    with pytest.raises(NeedsCut):
        runs(FloorDiv(X, 7))
    with pytest.raises(NotConvertible, match="no dimensions"):
        runs(FloorDiv(X, 7), 7)
    with pytest.raises(NotConvertible, match="with a carry"):
        runs(FloorDiv(X + 1, 64), 64)
    with pytest.raises(NotConvertible, match="no dimensions"):
        Digits(768, [64, 96])


@pytest.mark.parametrize("name", CASES)
def test_results(name):
    dtype, function, shapes = CASES[name]
    tensors = tensors_of(shapes, dtype)
    want = results(function, [t.double() for t in tensors])
    eager = results(function, tensors)
    torch._dynamo.reset()
    with lnbwd.simulate(), fresh_cache():
        fused_nodes.decisions(clear=True)
        got = results(torch.compile(function, backend=fused_nodes.backend), tensors)
        made = fused_nodes.decisions(clear=True)
    for mine, theirs, exact in zip(got, eager, want, strict=True):
        error, eagers = ((one.double() - exact).norm() for one in (mine, theirs))
        assert error <= 2 * eagers + (4 * torch.finfo(dtype).eps) * exact.norm()
    assert made and all(one.taken for one in made), [one.reason for one in made]


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_integers(name):
    function, tensors = OF_INTEGERS[name]
    torch._dynamo.reset()
    with lnbwd.simulate(), fresh_cache():
        fused_nodes.decisions(clear=True)
        got = torch.compile(function, backend=fused_nodes.backend)(*tensors)
        made = fused_nodes.decisions(clear=True)
    for mine, want in zip(tree_leaves(got), tree_leaves(function(*tensors)), strict=True):
        assert mine.dtype == want.dtype and torch.equal(mine, want)
    assert made and all(one.taken for one in made), [one.reason for one in made]


def test_updates_in_place():
    def step(p, g, m, v):
        m.lerp_(g, 0.1)
        v.mul_(0.999).addcmul_(g, g, value=0.001)
        p.mul_(1 - 1e-3).addcdiv_(m, v.sqrt() + 1e-8, value=-1e-2)

    tensors = tensors_of([(40, 64)] * 4, F32)
    tensors[3].abs_()
    exact = [t.double() for t in tensors]
    step(*exact)
    torch._dynamo.reset()
    with lnbwd.simulate(), fresh_cache():
        fused_nodes.decisions(clear=True)
        torch.compile(step, backend=fused_nodes.backend)(*tensors)
        [made] = fused_nodes.decisions(clear=True)
    assert made.taken
    for mine, want in zip(tensors, exact, strict=True):
        torch.testing.assert_close(mine.double(), want, rtol=1e-5, atol=1e-6)


def test_dropout():
    torch.manual_seed(0)
    x = torch.randn(32, 64, requires_grad=True)
    torch._dynamo.reset()
    with lnbwd.simulate(), fresh_cache():
        fused_nodes.decisions(clear=True)
        y = torch.compile(lambda x: F.dropout(x.softmax(-1), 0.3),
                          backend=fused_nodes.backend)(x)
        [gradient] = torch.autograd.grad(y, x, y.detach())
        assert all(one.taken for one in fused_nodes.decisions(clear=True))
    mask = y != 0
    assert 0.6 < mask.float().mean() < 0.8
    exact = x.detach().double().requires_grad_()
    want = exact.softmax(-1) * mask / 0.7
    [gradient_wanted] = torch.autograd.grad(want, exact, y.detach().double())
    torch.testing.assert_close(y.double(), want, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(gradient.double(), gradient_wanted, rtol=1e-5, atol=1e-6)


def training_step():
    """The largest error of a result or gradient. The table's gradient is summed by atomic
    additions, which no row program has."""
    torch.manual_seed(0)
    tensors = tensors_of([(50, 64), (64,), (64,), (64, 64)], F32)
    ids = torch.randint(0, 50, (32,))

    def function(table, weight, bias, matrix):
        x = F.embedding(ids, table)
        return x + F.gelu(F.layer_norm(x, (64,), weight, bias) @ matrix)

    exact = results(function, [t.double() for t in tensors])
    found = results(torch.compile(function, backend=fused_nodes.backend), tensors)
    return max(((mine - want).norm() / want.norm()).item()
               for mine, want in zip(found, exact, strict=True))


def main():
    """What a process of test_processes does: prints the error of a training step, how many nodes it
    decided about, and how many graphs the caches had."""
    with lnbwd.simulate():
        error = training_step()
    print(json.dumps([error, len(fused_nodes.decisions()),
                      torch._dynamo.utils.counters["inductor"]["fxgraph_cache_hit"]]))


def test_processes():
    """Two processes have the graphs of this one out of caches, with calls in C++ and in Python."""
    torch._dynamo.reset()
    with fresh_cache():
        with lnbwd.simulate():
            fused_nodes.decisions(clear=True)
            assert training_step() < 1e-5
            assert {one.taken for one in fused_nodes.decisions(clear=True)} == {True, False}
        path = os.pathsep.join(str(ROOT / one) for one in ("python", "bench"))
        for native in ("1", "0"):
            process = subprocess.run(
                [sys.executable, "-W", "ignore", __file__], capture_output=True, text=True,
                check=False, env={**os.environ, "LNBWD_NATIVE": native, "PYTHONPATH": path})
            assert process.returncode == 0, process.stderr
            error, decisions, hits = json.loads(process.stdout.splitlines()[-1])
            assert error < 1e-5 and (decisions, hits) == (0, 2)


def is_ours(function, *tensors):
    _, [code] = run_and_get_code(function, *tensors)
    return "lnbwd" in code


def test_inductor_stays():
    """Backends side by side, in one process and in threads, whatever a cache has."""
    def function(x):
        return (x * 2).softmax(-1)

    x = torch.randn(32, 64)
    with lnbwd.simulate(), fresh_cache():
        for backend in ("inductor", fused_nodes.backend) * 2:
            torch._dynamo.reset()
            assert is_ours(torch.compile(function, backend=backend), x) == (backend != "inductor")
        torch._dynamo.reset()
        found, inside, done = [], threading.Event(), threading.Event()

        def compile_meanwhile():
            inside.wait()
            try:
                found.append(is_ours(torch.compile(
                    lambda x: x.softmax(-1).exp(), backend="inductor"), x))
            finally:
                done.set()

        thread = threading.Thread(target=compile_meanwhile)
        thread.start()
        with fused_nodes.rows_scheduling():
            inside.set()
            done.wait()
        thread.join()
        assert found == [False]


def test_inductor_after_an_error():
    """The registration ends with an error, too."""
    from torch._inductor.codegen.common import device_codegens

    before = device_codegens["cpu"]
    with lnbwd.simulate(), pytest.raises(ZeroDivisionError), fused_nodes.rows_scheduling():
        assert device_codegens["cpu"] is not before
        raise ZeroDivisionError
    assert device_codegens["cpu"] is before


def test_check(monkeypatch, capsys):
    """Programs of the file of fused nodes, computed by PyTorch's operations."""
    rows = command._read(FILE)
    assert {command.kind_of(rows[line]) for line in CHECKED} == {
        "pointwise", "reduction", "mix-order"}
    monkeypatch.setattr("sys.argv", ["fused_nodes.py", "check", str(FILE), "--only",
                                     *map(str, CHECKED)])
    assert command.main() == 0
    assert capsys.readouterr().out == f"{len(CHECKED)} right, 0 wrong\n"


if __name__ == "__main__":
    main()
