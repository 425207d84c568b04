# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd.layer_norm_linear and lnbwd.rms_norm_linear on the simulator, beside PyTorch in float64."""

import pytest

torch = pytest.importorskip("torch")

from cases import diagonal  # noqa: E402

import lnbwd  # noqa: E402
from lnbwd import operations  # noqa: E402
from lnbwd.core.compile.store import KernelStore  # noqa: E402
from lnbwd.functional import linear, linear_layers  # noqa: E402

CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")


def reference(arguments, dy, eps):
    """The result and the gradients in float64, of what the arguments hold."""
    exact = {name: value.detach().double().requires_grad_() for name, value in arguments.items()}
    k = exact["x"].shape[-1]
    z = torch.nn.functional.layer_norm(exact["x"], (k,), exact.get("norm_weight"),
                                       exact.get("norm_bias"), eps)
    y = torch.nn.functional.linear(z, exact["weight"], exact.get("bias"))
    y.backward(dy.double())
    return y.detach(), {name: value.grad for name, value in exact.items()}


def make(shape, k, n, dtype=torch.float32, absent=(), seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = {"x": (*shape, k), "norm_weight": (k,), "norm_bias": (k,), "weight": (n, k),
              "bias": (n,)}
    arguments = {}
    for name, size in shapes.items():
        if name not in absent:
            value = torch.randn(size, generator=generator)
            scale = k ** -0.5 if name == "weight" else 1
            arguments[name] = (value * scale).to(dtype).requires_grad_()
    dy = torch.randn((*shape, n), generator=generator).to(dtype)
    return arguments, dy


def call(arguments, eps=1e-5):
    k = arguments["x"].shape[-1]
    return lnbwd.layer_norm_linear(
        arguments["x"], (k,), arguments.get("norm_weight"), arguments.get("norm_bias"),
        arguments["weight"], arguments.get("bias"), eps)


def check(arguments, dy, tolerance):
    y = call(arguments)
    y.backward(dy)
    expected, gradients = reference(arguments, dy, 1e-5)
    results = {"y": (y.detach(), expected),
               **{name: (value.grad, gradients[name]) for name, value in arguments.items()}}
    for name, (actual, exact) in results.items():
        assert actual.shape == exact.shape
        error = (actual.double() - exact).abs().max()
        assert error <= tolerance * max(1, exact.abs().max()), name


WAYS = ("kernel", "torch")


@pytest.mark.parametrize("chip,way", [
    pytest.param(chip, way, marks=[] if place == k % 2 else [pytest.mark.full])
    for k, chip in enumerate(CHIPS) for place, way in enumerate(WAYS)])
def test_the_puzzle(chip, way):
    """Batch 4, sequence 4, hidden 8, out 16, float32: within 2e-6 of float64."""
    arguments, dy = make((4, 4), 8, 16)
    with lnbwd.simulate(chip), linear.forced(way):
        check(arguments, dy, 2e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [
    (torch.float32, 2e-6), (torch.bfloat16, 1.6e-2), (torch.float16, 2e-3)])
def test_types_and_ragged_sizes(dtype, tolerance):
    arguments, dy = make((33,), 48, 70, dtype)
    with lnbwd.simulate():
        check(arguments, dy, tolerance)


@pytest.mark.parametrize("absent,way", diagonal(
    [("bias",), ("norm_weight", "norm_bias"), ("norm_bias", "bias")], WAYS))
def test_what_may_be_absent(absent, way):
    arguments, dy = make((5,), 16, 24, absent=absent)
    with lnbwd.simulate(), linear.forced(way):
        check(arguments, dy, 2e-6)


@pytest.mark.parametrize("wanted,way", diagonal(
    [("x",), ("weight",), ("norm_weight", "norm_bias"), ("bias",)], WAYS))
def test_only_some_gradients(wanted, way):
    arguments, dy = make((5,), 16, 24)
    _, gradients = reference(arguments, dy, 1e-5)
    for name, value in arguments.items():
        value.requires_grad_(name in wanted)
    with lnbwd.simulate(), linear.forced(way):
        call(arguments).backward(dy)
    for name, value in arguments.items():
        if name not in wanted:
            assert value.grad is None
            continue
        error = (value.grad.double() - gradients[name]).abs().max()
        assert error <= 2e-6 * max(1, gradients[name].abs().max()), name


@pytest.mark.parametrize("way", WAYS)
def test_rms_norm(way):
    arguments, dy = make((2, 9), 24, 40, absent=("norm_bias",))
    exact = {name: value.detach().double().requires_grad_() for name, value in arguments.items()}
    z = torch.nn.functional.rms_norm(exact["x"], (24,), exact["norm_weight"], 2.0 ** -23)
    expected = torch.nn.functional.linear(z, exact["weight"], exact["bias"])
    expected.backward(dy.double())
    with lnbwd.simulate(), linear.forced(way):
        y = lnbwd.rms_norm_linear(arguments["x"], 24, arguments["norm_weight"], arguments["weight"],
                                  arguments["bias"])
        y.backward(dy)
    assert (y - expected).abs().max() <= 2e-6 * max(1, expected.abs().max())
    for name, value in arguments.items():
        error = (value.grad.double() - exact[name].grad).abs().max()
        assert error <= 2e-6 * max(1, exact[name].grad.abs().max()), name


@pytest.mark.parametrize("way", WAYS)
def test_a_second_call_writes_and_derives_nothing(way, monkeypatch):
    """What a call's tensors do not decide is kept: texts, gradients, loaded kernels."""
    def refuse(*arguments, **keywords):
        raise AssertionError("made again")

    with lnbwd.simulate(), linear.forced(way):
        check(*make((5,), 24, 10), 2e-6)
        monkeypatch.setattr(operations, "mlir", refuse)
        monkeypatch.setattr(linear_layers, "derive_gradient", refuse)
        monkeypatch.setattr(KernelStore, "get", refuse)
        check(*make((7,), 24, 10), 2e-6)


def test_rows_of_any_shape_and_strides():
    arguments, dy = make((2, 3, 5), 24, 10)
    arguments["x"] = torch.randn(2, 5, 24, 3).permute(0, 3, 1, 2).requires_grad_()
    with lnbwd.simulate():
        check(arguments, dy, 2e-6)


@pytest.mark.parametrize("way", ["kernel", "torch"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_without_gradients(shape, way):
    """The same bits by the shorter way, and a tangent is never lost on it."""
    arguments, _ = make(shape, 16, 24)
    with lnbwd.simulate(), linear.forced(way):
        y = call(arguments)
        with torch.no_grad():
            assert torch.equal(call(arguments), y.detach())
        constants = {name: value.detach() for name, value in arguments.items()}
        assert torch.equal(call(constants), y.detach()) and not call(constants).requires_grad
        with torch.autograd.forward_ad.dual_level():
            constants["bias"] = torch.autograd.forward_ad.make_dual(
                constants["bias"], torch.ones_like(constants["bias"]))
            with pytest.raises((RuntimeError, NotImplementedError)):
                call(constants)


def test_dispatch_modes_see_the_product():
    """What watches operators is not passed by."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Record(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    seen = []
    arguments, _ = make((3,), 16, 24)
    with lnbwd.simulate(), Record():
        call(arguments)
    assert any("mm" in name for name in seen)


def test_modules_are_taken_over():
    norm, linear = torch.nn.LayerNorm(16), torch.nn.Linear(16, 24)
    module = lnbwd.nn.LayerNormLinear(norm, linear)
    x = torch.randn(6, 16)
    with lnbwd.simulate():
        y = module(x)
    assert module.linear.weight is linear.weight
    assert (y - linear(norm(x))).abs().max() < 1e-5
    with pytest.raises(ValueError, match="expected one that normalises the last dimension alone"):
        lnbwd.nn.LayerNormLinear(torch.nn.LayerNorm(8), linear)


def test_the_normalised_rows_are_not_kept():
    arguments, _ = make((6,), 16, 24)
    with lnbwd.simulate():
        y = call(arguments)
    node = y.grad_fn
    while not hasattr(node, "saved_tensors"):
        node = node.next_functions[0][0]
    shapes = sorted(tuple(tensor.shape) for tensor in node.saved_tensors)
    assert shapes == sorted([(6, 16), (24, 16), (6,), (6,), (16,), (16,), (24,)])


def kept_bytes(arguments, function):
    """What autograd keeps beside the parameters, each piece of memory once."""
    parameters = {value.untyped_storage().data_ptr() for name, value in arguments.items()
                  if name != "x"}
    kept = {}

    def note(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        y = function(arguments)
    del y
    return sum(kept.values())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_a_row_less_is_kept_than_by_pytorch(dtype):
    """The normalised rows; mean and rstd are of float32 here, of PyTorch's types there."""
    m, k, n = 40, 96, 64
    arguments, _ = make((m,), k, n, dtype)

    def by_torch(tensors):
        z = torch.nn.functional.layer_norm(tensors["x"], (k,), tensors["norm_weight"],
                                           tensors["norm_bias"])
        return torch.nn.functional.linear(z, tensors["weight"], tensors["bias"])

    with lnbwd.simulate():
        ours = kept_bytes(arguments, call)
    theirs = kept_bytes(arguments, by_torch)
    statistics = 2 * 4 * m
    assert ours == m * k * dtype.itemsize + statistics
    assert theirs - ours >= m * k * dtype.itemsize - statistics


@pytest.mark.parametrize(("change", "error", "message"), [
    ({"weight": torch.zeros(24, 15)}, ValueError,
     r"weight: expected the shape \[N, 16\], as many columns as normalized_shape says, got "
     r"\[24, 15\]"),
    ({"weight": torch.zeros(24, 16, dtype=torch.bfloat16)}, TypeError,
     "weight: expected the type of input, torch.float32, got torch.bfloat16"),
    ({"norm_weight": torch.zeros(15)}, ValueError,
     r"norm_weight: expected the shape \[16\], got \[15\]"),
    ({"bias": torch.zeros(23)}, ValueError, r"bias: expected the shape \[24\], got \[23\]"),
    ({"x": torch.zeros(6, 16, dtype=torch.int32)}, TypeError,
     "input: expected float16, bfloat16, float32 or float64, got torch.int32"),
    ({"x": torch.zeros(6, 15)}, ValueError, "weight: expected the shape"),
    ({"x": torch.zeros(6, 16).numpy()}, TypeError, "input: expected a tensor, got ndarray"),
    ({"weight": None}, TypeError, "weight: expected a tensor, got NoneType"),
    ({"norm_bias": 0.0}, TypeError, "norm_bias: expected a tensor or None, got float"),
    ({"bias": (0.0,) * 24}, TypeError, "bias: expected a tensor or None, got tuple"),
])
def test_mistakes_are_named(change, error, message):
    arguments, _ = make((6,), 16, 24)
    with lnbwd.simulate(), pytest.raises(error, match=message):
        call({**arguments, **change})


def bf16_errors(seed, way):
    """Root mean squares of the errors of ours and of PyTorch's two operations, by name."""
    arguments, dy = make((64,), 96, 100, torch.bfloat16, seed=seed)
    expected, gradients = reference(arguments, dy, 1e-5)
    theirs = {name: value.detach().clone().requires_grad_() for name, value in arguments.items()}
    z = torch.nn.functional.layer_norm(theirs["x"], (96,), theirs["norm_weight"],
                                       theirs["norm_bias"])
    y = torch.nn.functional.linear(z, theirs["weight"], theirs["bias"])
    y.backward(dy)
    with lnbwd.simulate(), linear.forced(way):
        ours = call(arguments)
        ours.backward(dy)

    def error(actual, exact):
        return float((actual.detach().double() - exact).square().mean().sqrt())

    return {"y": (error(ours, expected), error(y, expected)),
            **{name: (error(arguments[name].grad, exact), error(theirs[name].grad, exact))
               for name, exact in gradients.items()}}


def test_errors_of_bf16_are_no_larger_than_torchs():
    """Both multiply rows of bf16, but dz, of which dx and the norm's gradients are made, is rounded
    by PyTorch alone. What both round once, of the same float32 numbers but for their last bits, is
    as wrong as PyTorch's."""
    for name, (ours, theirs) in bf16_errors(0, "kernel").items():
        assert ours <= theirs * (1.001 if name in ("y", "bias") else 1), name


def test_errors_of_bf16_by_pytorchs_product():
    """The same roundings as PyTorch's, at the same places."""
    for name, (ours, theirs) in bf16_errors(0, "torch").items():
        assert ours <= theirs * 1.01, name


@pytest.mark.parametrize("way", WAYS)
def test_two_runs_are_the_same_bits(way):
    results = []
    for _ in range(2):
        arguments, dy = make((33,), 48, 70, torch.bfloat16)
        with lnbwd.simulate(), linear.forced(way):
            y = call(arguments)
            y.backward(dy)
        results.append([y.detach(), *(value.grad for value in arguments.values())])
    assert all(torch.equal(first, second) for first, second in zip(*results, strict=True))


# ------------------------------------------------------------------------------------- the choice


@pytest.fixture
def calls(monkeypatch):
    """What choices on a GPU that is not there call."""
    monkeypatch.setattr(linear, "_loaded", set())
    monkeypatch.setattr(linear, "is_capturing", lambda device: False)
    return []


def choose(calls, rows=512, source="a program", device="cuda:0"):
    return linear.choose(
        source, torch.device(device), (rows, 768, 2304),
        {way: lambda x, way=way: calls.append((way, x)) for way in WAYS}, "an argument")


@pytest.mark.parametrize(("rows", "way"), [(512, "kernel"), (2048, "torch")])
def test_a_call_of_large_sizes_has_the_vendors_products(rows, way, calls):
    assert choose(calls, rows) == way


def test_a_graph_has_the_vendors_products(calls, monkeypatch):
    """Whatever the host takes for them."""
    monkeypatch.setattr(linear, "is_capturing", lambda device: True)
    assert choose(calls) == "torch"
    assert not calls


def test_kernels_of_a_graph_are_loaded_by_the_first_call(calls):
    for rows in (512, 512, 500):
        choose(calls, rows)
    assert calls == [("torch", "an argument")]
    choose(calls, 8192)  # Which loads them itself.
    assert len(calls) == 1
    choose(calls, 512, "another program")
    choose(calls, 512, device="cuda:1")
    assert len(calls) == 3


def test_the_way_of_a_graph_is_called_with_all_that_it_takes(monkeypatch):
    def choose(one, device, sizes, ways, *arguments):
        results.append(ways["torch"](*arguments))
        return "kernel"

    results = []
    monkeypatch.setattr(linear, "choose", choose)
    with lnbwd.simulate():
        check(*make((5,), 24, 10), 2e-6)
    assert [sorted(found) for found in results] == [
        ["mean", "out", "rstd"], ["db", "dbeta", "dgamma", "dw", "dx"]]


def test_the_smallest_sizes_and_simulated_devices_have_kernels(calls, monkeypatch):
    ways = dict.fromkeys(WAYS, lambda: None)
    for is_captured in (False, True):
        monkeypatch.setattr(linear, "is_capturing", lambda device, is_=is_captured: is_)
        assert linear.choose("a", torch.device("cuda", 0), (16, 16, 8), ways) == "kernel"
    assert choose(calls, device="cpu") == "kernel"


def test_the_choice_can_be_made_by_hand(calls):
    for way in WAYS:
        with linear.forced(way):
            assert choose(calls) == way
    assert not calls
    with pytest.raises(ValueError, match="whose: expected one of 'auto', 'kernel', 'torch', "
                                         "got 'both'"), linear.forced("both"):
        pass


# ---------------------------------------------------------------------------------- torch.compile


def test_torch_compile():
    """One graph, of PyTorch's operations."""
    arguments, dy = make((2, 9), 24, 40)
    graphs = []

    def backend(graph, inputs):
        graphs.append([node.target for node in graph.graph.nodes if node.op == "call_function"])
        return graph

    with lnbwd.simulate():
        compiled = torch.compile(lambda values: call(values) * 2, backend=backend, fullgraph=True)
        y = compiled(arguments)
        y.backward(dy / 2)
    expected, gradients = reference(arguments, dy, 1e-5)
    assert torch.nn.functional.linear in graphs[0] or torch._C._nn.linear in graphs[0]
    assert (y / 2 - expected).abs().max() <= 2e-6 * expected.abs().max()
    for name, value in arguments.items():
        error = (value.grad.double() - gradients[name]).abs().max()
        assert error <= 2e-6 * max(1, gradients[name].abs().max()), name


def test_second_derivatives_and_transforms():
    arguments, dy = make((6,), 16, 24)
    names = list(arguments)

    def of_penalty(layer, tensors):
        y = layer(dict(zip(names, tensors, strict=True)))
        grads = torch.autograd.grad((y * dy.to(y.dtype)).sum(), tensors, create_graph=True)
        return torch.autograd.grad(sum(g.square().sum() for g in grads), tensors,
                                   materialize_grads=True)

    def by_torch(values):
        z = torch.nn.functional.layer_norm(values["x"], (16,), values["norm_weight"],
                                           values["norm_bias"], 1e-5)
        return torch.nn.functional.linear(z, values["weight"], values["bias"])

    wide = [t.detach().double().requires_grad_() for t in arguments.values()]
    with lnbwd.simulate():
        got = of_penalty(call, list(arguments.values()))
        y, = torch.vmap(lambda x: call(arguments | {"x": x}))(arguments["x"][None])
        torch.testing.assert_close(y, call(arguments), rtol=1e-5, atol=1e-5)
    for name, ours, want in zip(names, got, of_penalty(by_torch, wide), strict=True):
        error = (ours.double() - want).abs().max()
        assert error <= 1e-5 * max(1, want.abs().max()), name
