# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backend of torch.compile: caches, processes, threads, options, errors, the log, memory.
Inductor's own backend does not change."""

import collections
import importlib
import json
import os
import threading
import types
import warnings

import loaded_python
import pytest
import sympy
import torch
import torch.nn.functional as F
from compiled import DEVICE, Case, assert_near, check, leaf, normal, on_device, run, simulated
from torch._dynamo import compiled_autograd
from torch._inductor import ir
from torch._inductor.custom_graph_pass import CustomGraphPass
from torch._inductor.utils import fresh_cache, run_and_get_code
from torch._inductor.virtualized import V
from torch.utils._sympy.functions import FloorDiv, ModularIndexing

import lnbwd
from conftest import HAS_GPU, ROOT
from lnbwd import inductor
from lnbwd.core.base import errors
from lnbwd.inductor import scheduling
from lnbwd.inductor.places import Digits, NeedsCut, NotConvertible
from lnbwd.inductor.scheduling import classes, count_programs
from lnbwd.ops import regions
from lnbwd.program.torch_internals import graph as internals
from lnbwd.program.torch_internals.registration import registered

backends = importlib.import_module("lnbwd.inductor.backend")  # The package has a function so.
pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("fresh_inductor")]
X = sympy.Symbol("x", integer=True)


def centred(x):
    return x - x.mean(-1, keepdim=True)


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


# --------------------------------------------------------------------------------------------------
# Caches, processes, threads
# --------------------------------------------------------------------------------------------------


def as_compared(decisions):
    """A cache may have the backward pass first."""
    return sorted((d.kernel, d.taken, d.reason, d.nodes, *(p.text() for p in d.programs))
                  for d in decisions)


def step_of_a_process():
    """A training step, with its decisions."""
    def function(ids, table, weight):
        return F.layer_norm(F.embedding(ids, table), (64,), weight).exp()

    # The table's gradient is summed by atomic additions, which no row program has.
    tensors = [torch.arange(32) * 7 % 50, leaf(50, 64), leaf(64, seed=1)]
    step = run(function, *tensors)
    assert_near(step.results, Case(function, tensors))
    return as_compared(step.decisions)


def main():
    """What a process of test_processes does: prints its decisions, and how many graphs the caches
    had."""
    made = step_of_a_process()
    print(json.dumps([made, torch._dynamo.utils.counters["inductor"]["fxgraph_cache_hit"]]))


def test_processes():
    """Two processes have the graphs of this one out of caches, with calls in C++ and in Python, and
    the same decisions: what is taken and what is left, forward and backward."""
    made = step_of_a_process()
    assert {taken for _, taken, *_ in made} == {True, False}
    for native in ("1", "0"):
        process = loaded_python.run([__file__], env={
            **os.environ, "LNBWD_NATIVE": native, "PYTHONPATH": str(ROOT / "python")})
        assert process.returncode == 0, process.stderr
        found, hits = json.loads(process.stdout.splitlines()[-1])
        assert found == json.loads(json.dumps(made)) and hits == 2


def is_ours(function, *tensors):
    _, [code] = run_and_get_code(function, *tensors)
    return "lnbwd" in code


def test_inductor_stays(device):
    """Backends side by side, in one process and in threads, whatever a cache has."""
    def function(x):
        return (x * 2).softmax(-1)

    x = torch.randn(32, 64, device=device)
    for backend in ("inductor", "lnbwd") * 2:
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
    with registered(classes(), count_programs):
        inside.set()
        done.wait()
    thread.join()
    assert found == [False]


def test_inductor_after_an_error(device):
    """The registration ends with an error, too."""
    from torch._inductor.codegen.common import device_codegens

    before = device_codegens[DEVICE]
    with pytest.raises(ZeroDivisionError), registered(classes(), count_programs):
        assert device_codegens[DEVICE] is not before
        raise ZeroDivisionError
    assert device_codegens[DEVICE] is before


def test_programs_of_a_graph_are_compiled_side_by_side(monkeypatch):
    """And each once."""
    loads, threads = collections.Counter(), set()
    load = regions._load

    def counted(program, *others):
        loads[program.text] += 1
        threads.add(threading.get_ident())
        return load(program, *others)

    def function(x, y, z):
        return centred(x), centred(y), z.exp().sum((0, 1)), (z * 2).softmax(-1)

    monkeypatch.setattr(regions, "_load", counted)
    found = check(function, normal(6, 72), normal(6, 72, seed=1), normal(2, 3, 72, seed=2))
    assert set(loads) == {program.text() for program in found.programs}
    assert set(loads.values()) == {1}
    assert threading.get_ident() not in threads


# --------------------------------------------------------------------------------------------------
# Options
# --------------------------------------------------------------------------------------------------


class Noted(CustomGraphPass):
    """A pass of a user's, without a name: its graphs are never taken from a cache."""

    def __init__(self):
        self.seen = []

    def __call__(self, graph):
        self.seen.append([str(node.target) for node in graph.nodes])

    def uuid(self):
        return None


@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.skipif(
    not hasattr(torch._inductor.custom_graph_pass, "get_custom_graph_passes"),
    reason="this version of Inductor takes one pass"))])
def test_options_of_inductor_stay(device, count):
    """The user's own passes run, and wrong options are refused as ever."""
    mine = Noted()
    made = run(centred, normal(6, 64), options={
        "post_grad_custom_pre_pass": mine if count == 1 else [mine] * count})
    assert len(mine.seen) == count and made.taken
    with pytest.raises(Exception, match="no_such_option"):
        torch.compile(lambda x: x + 1, backend="lnbwd", options={"no_such_option": 1})(
            torch.ones(4, device=device))


def test_graphs_have_a_key_of_ours():
    """Which says what generated code depends on, and has the keys of the user's passes."""
    plain = backends.Key().uuid()
    assert plain == backends.Key().uuid() is not None
    assert backends.Key(then=Noted()).uuid() is None
    for other in (lnbwd.batch_invariant(), lnbwd.simulate("gfx1100")):
        with other:
            assert backends.Key().uuid() != plain


def test_generated_cpp_is_left_to_inductor(monkeypatch):
    monkeypatch.setattr(internals, "writes_cpp", lambda: True)
    x = on_device([normal(6, 64)])
    with simulated():
        got, [code] = run_and_get_code(torch.compile(centred, backend="lnbwd"), *x)
    torch.testing.assert_close(got, centred(*x))
    assert "lnbwd" not in code


FLEX = """
import torch, lnbwd.inductor
from torch.nn.attention.flex_attention import flex_attention

def function(q, k, v):
    y = flex_attention((q * 1.5).tanh(), k, v, score_mod=lambda s, b, h, i, j: s - (i - j).abs())
    return torch.nn.functional.layer_norm(y + q, (16,))

torch._inductor.config.cpp.vec_isa_ok = True  # (See test/conftest.py.)
x = [torch.randn(1, 2, 128, 16) for _ in range(3)]
torch.testing.assert_close(torch.compile(function, backend="lnbwd")(*x), function(*x))
assert sum(made.taken for made in lnbwd.inductor.decisions()) >= 2
"""


@pytest.mark.skipif(HAS_GPU, reason="templates of the CPU")
def test_templates_are_left_to_inductor():
    """In a process of its own: vector instructions, which they need, are off in this one."""
    done = loaded_python.run(["-c", FLEX], env={
        **os.environ, "LNBWD_SIMULATE": "gfx942", "PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 0, done.stderr


# --------------------------------------------------------------------------------------------------
# Errors, warnings, the log
# --------------------------------------------------------------------------------------------------


def two_norms(x, w, gamma):
    y = F.rms_norm(x, (64,)) @ w
    return F.layer_norm(y, (96,), gamma), y


def test_an_error_of_ours_is_no_error_of_the_model(monkeypatch):
    """The node where it occurs is Inductor's, the others are not, and one warning says so."""
    calls_of = scheduling.calls_of

    def fail_for_one(nodes):
        calls = calls_of(nodes)
        if calls[0].program.length == 96:
            raise RuntimeError("a mistake")
        return calls

    errors.forget_warnings()
    monkeypatch.setattr(scheduling, "calls_of", fail_for_one)
    case = Case(two_norms, (normal(6, 64), normal(64, 96, seed=1), normal(96, seed=2)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            with fresh_cache():
                found = run(case.function, *case.operands)
            assert_near(found.results, case)
            assert set(found.reasons) == {"an error in lnbwd: RuntimeError: a mistake"}
            assert [program.length for program in found.programs] == [64]
    assert sum("a mistake" in str(w.message) for w in caught) == 1


def test_what_does_not_compile():
    """Longer rows than any chip's workgroup holds."""
    def function(x):
        xhat = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)
        return xhat, xhat.sum(0)

    found = run(function, normal(2, 150_000))
    assert_near(found.results, Case(function, (normal(2, 150_000),)))
    assert all(reason.startswith("no kernel: ") for reason in found.reasons)


@pytest.mark.parametrize("where", ["cpu", "cuda:0"])
def test_a_number_on_the_cpu_has_no_address_for_a_gpu(where):
    layout = ir.FixedLayout(torch.device(where), torch.float32, [], [])
    graph = types.SimpleNamespace(
        try_get_buffer=lambda name: ir.InputBuffer(name=name, layout=layout),
        scheduler=types.SimpleNamespace(mutation_real_name={}))
    node = types.SimpleNamespace(
        get_device=lambda: torch.device("cuda:0"),
        read_writes=types.SimpleNamespace(reads=[types.SimpleNamespace(name="number")]))
    with V.set_graph_handler(graph):
        assert internals.is_elsewhere([node]) == (where == "cpu")


@pytest.mark.gpu
def test_a_number_on_the_cpu():
    """Inductor's own kernels get its value."""
    def function(x, number):
        return (x * number).softmax(-1)

    x, number = normal(5, 64).cuda(), torch.tensor(2.0)
    got = torch.compile(function, backend="lnbwd")(x, number)
    torch.testing.assert_close(got, function(x, number))


def test_types_that_no_row_has():
    """Nothing of float64 is taken."""
    def function(x):
        return x - x.sum(-1, keepdim=True)

    x = normal(4, 64, dtype=torch.float64)
    found = run(function, x)
    assert not found.taken and found.reasons
    torch.testing.assert_close(found.results[0].cpu(), function(x))


@pytest.mark.simulator
@pytest.mark.skipif(HAS_GPU, reason="a graph on the CPU is meant to be there")
def test_a_model_on_the_cpu_is_warned_of_once(monkeypatch):
    monkeypatch.setenv("LNBWD_SIMULATE", "0")
    monkeypatch.setattr(backends.internals, "compile_graph", lambda model, *_, **__: model)
    errors.forget_warnings()
    x = normal(2, 64)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for factor in (2, 3):
            torch.compile(lambda x: x / x.sum(-1, keepdim=True) * factor,  # noqa: B023
                          backend="lnbwd")(x)
        [word] = [str(w.message) for w in caught if "lnbwd" in str(w.message)]
        assert "the tensors are on the CPU" in word and "'with lnbwd.simulate():'" in word
        errors.forget_warnings()
        with lnbwd.simulate():
            torch.compile(lambda x: x / x.sum(-1, keepdim=True), backend="lnbwd")(x)
        assert sum("lnbwd" in str(w.message) for w in caught) == 1


SCRIPT = """
import torch, lnbwd.inductor
x = torch.randn(6, 64)
torch.compile(lambda x: (x - x.mean(-1, keepdim=True)).sin(), backend="lnbwd", fullgraph=True)(x)
"""


@pytest.mark.parametrize("log, says", [
    ("regions", "[lnbwd] taken: "), ("region", "LNBWD_LOG: expected 'regions', got 'region'")])
def test_the_log(log, says):
    done = loaded_python.run(["-c", SCRIPT], env={
        **os.environ, "LNBWD_LOG": log, "LNBWD_SIMULATE": "gfx942",
        "PYTHONPATH": str(ROOT / "python")})
    assert (done.returncode == 0) == (log == "regions")
    assert says in done.stderr


# --------------------------------------------------------------------------------------------------
# Memory
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0, 1])
def test_updates_in_place(offset):
    """The tensors may be parts of one that holds all parameters."""
    def step(p, g, m, v):
        m.lerp_(g, 0.1)
        v.mul_(0.999).addcmul_(g, g, value=0.001)
        p.mul_(1 - 1e-3).addcdiv_(m, v.sqrt() + 1e-8, value=-1e-2)

    tensors = on_device([normal(40, 64, seed=seed) for seed in range(4)])
    tensors = [torch.empty(40 * 64 + offset, device=t.device)[offset:].view_as(t).copy_(t)
               for t in tensors]
    tensors[3].abs_()
    exact = [t.double() for t in tensors]
    step(*exact)
    with simulated():
        torch.compile(step, backend="lnbwd")(*tensors)
    [made] = inductor.decisions(clear=True)
    assert made.taken
    for mine, want in zip(tensors, exact, strict=True):
        torch.testing.assert_close(mine.double(), want, rtol=1e-5, atol=1e-6)


def entropy(x, w, target):
    return F.cross_entropy(x @ w, target)


def test_a_graph_that_is_retained():
    """The gradient of logits takes their memory, but for a pass that may be called again."""
    leaves = [one.requires_grad_() for one in on_device([normal(5, 64), normal(64, 64, seed=1)])]
    target = torch.arange(5, device=DEVICE)
    with simulated():
        loss = torch.compile(entropy, backend="lnbwd")(*leaves, target)
        grads = [torch.autograd.grad(loss, leaves, retain_graph=True) for _ in range(2)]
    want = torch.autograd.grad(entropy(*leaves, target), leaves)
    for one in grads:
        torch.testing.assert_close(one, want, rtol=1e-4, atol=1e-5)


def test_compiled_autograd_with_hooks():
    """Hooks are inputs of its graph, behind those of the backward pass that Inductor counts."""
    def gradient(wrap):
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.RMSNorm(64)).to(DEVICE)
        model.load_state_dict(state)
        model[1].weight.register_hook(lambda grad: grad * 2)
        wrap(model)(x).square().sum().backward()
        return [one.grad for one in model.parameters()]

    [x] = on_device([normal(5, 64)])
    state = {"0.weight": normal(64, 64, seed=1), "0.bias": normal(64), "1.weight": normal(64)}
    want = gradient(lambda model: model)
    with simulated(), compiled_autograd._enable(torch.compile(backend="eager")):
        found = gradient(lambda model: torch.compile(model, backend="lnbwd"))
    torch.testing.assert_close(found, want, rtol=1e-4, atol=1e-4)


def test_what_is_returned_twice_has_memory_of_its_own():
    def function(x, y):
        p = torch.softmax(x, -1)
        return p * 2, (p * 2).view(4, 2, 32), x / 1.0, (y * y).sum(0), (y * y).sum(0).view(8, 8)

    found = check(function, normal(4, 64), normal(5, 64, seed=1))
    for one in found.results:
        others = [other.clone() for other in found.results if other is not one]
        one.zero_()
        assert all(map(torch.equal, others, (o for o in found.results if o is not one)))


def test_more_operands_than_a_launch_has():
    """Inductor computes the node, and nothing fails."""
    case = Case(lambda *given: sum(given).exp().sum(0),
                [normal(4, 64, seed=seed) / 16 for seed in range(70)])
    found = run(case.function, *case.operands)
    assert_near(found.results, case)
    assert not any(reason.startswith("no kernel") for reason in found.reasons), found.reasons


if __name__ == "__main__":
    main()
