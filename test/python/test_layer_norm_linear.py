# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd.layer_norm_linear and lnbwd.rms_norm_linear on the simulator, beside PyTorch in float64."""

import pytest

torch = pytest.importorskip("torch")

import lnbwd  # noqa: E402

CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")


def reference(arguments, dy, eps):
    """The result and the gradients in float64, of what the arguments hold."""
    exact = {name: value.detach().double().requires_grad_() for name, value in arguments.items()}
    k = exact["x"].shape[-1]
    z = torch.nn.functional.layer_norm(exact["x"], (k,), exact.get("ln_weight"),
                                       exact.get("ln_bias"), eps)
    y = torch.nn.functional.linear(z, exact["weight"], exact.get("bias"))
    y.backward(dy.double())
    return y.detach(), {name: value.grad for name, value in exact.items()}


def make(shape, k, n, dtype=torch.float32, absent=(), seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = {"x": (*shape, k), "ln_weight": (k,), "ln_bias": (k,), "weight": (n, k), "bias": (n,)}
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
        arguments["x"], (k,), arguments.get("ln_weight"), arguments.get("ln_bias"),
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


@pytest.mark.parametrize("chip", CHIPS)
def test_the_puzzle(chip):
    """Batch 4, sequence 4, hidden 8, out 16, float32: within 2e-6 of float64."""
    arguments, dy = make((4, 4), 8, 16)
    with lnbwd.simulate(chip):
        check(arguments, dy, 2e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [
    (torch.float32, 2e-6), (torch.bfloat16, 1.6e-2), (torch.float16, 2e-3)])
def test_types_and_ragged_sizes(dtype, tolerance):
    arguments, dy = make((33,), 48, 70, dtype)
    with lnbwd.simulate():
        check(arguments, dy, tolerance)


@pytest.mark.parametrize("absent", [("bias",), ("ln_weight", "ln_bias"), ("ln_bias", "bias")])
def test_what_may_be_absent(absent):
    arguments, dy = make((5,), 16, 24, absent=absent)
    with lnbwd.simulate():
        check(arguments, dy, 2e-6)


@pytest.mark.parametrize("wanted", [("x",), ("weight",), ("ln_weight", "ln_bias"), ("bias",)])
def test_only_some_gradients(wanted):
    arguments, dy = make((5,), 16, 24)
    _, gradients = reference(arguments, dy, 1e-5)
    for name, value in arguments.items():
        value.requires_grad_(name in wanted)
    with lnbwd.simulate():
        call(arguments).backward(dy)
    for name, value in arguments.items():
        if name not in wanted:
            assert value.grad is None
            continue
        error = (value.grad.double() - gradients[name]).abs().max()
        assert error <= 2e-6 * max(1, gradients[name].abs().max()), name


def test_rms_norm():
    arguments, dy = make((2, 9), 24, 40, absent=("ln_bias",))
    exact = {name: value.detach().double().requires_grad_() for name, value in arguments.items()}
    z = torch.nn.functional.rms_norm(exact["x"], (24,), exact["ln_weight"], 1e-5)
    expected = torch.nn.functional.linear(z, exact["weight"], exact["bias"])
    expected.backward(dy.double())
    with lnbwd.simulate():
        y = lnbwd.rms_norm_linear(arguments["x"], 24, arguments["ln_weight"], arguments["weight"],
                                  arguments["bias"])
        y.backward(dy)
    assert (y - expected).abs().max() <= 2e-6 * max(1, expected.abs().max())
    for name, value in arguments.items():
        error = (value.grad.double() - exact[name].grad).abs().max()
        assert error <= 2e-6 * max(1, exact[name].grad.abs().max()), name


def test_modules_are_taken_over():
    norm, linear = torch.nn.LayerNorm(16), torch.nn.Linear(16, 24)
    module = lnbwd.nn.LayerNormLinear.from_modules(norm, linear)
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


@pytest.mark.parametrize(("change", "error", "message"), [
    ({"weight": torch.zeros(24, 15)}, ValueError,
     r"weight: expected the shape \[N, 16\], as many columns as normalized_shape says, got "
     r"\[24, 15\]"),
    ({"weight": torch.zeros(24, 16, dtype=torch.bfloat16)}, TypeError,
     "weight: expected the type of x, torch.float32, got torch.bfloat16"),
    ({"ln_weight": torch.zeros(15)}, ValueError,
     r"ln_weight: expected the shape \[16\], got \[15\]"),
    ({"bias": torch.zeros(23)}, ValueError, r"bias: expected the shape \[24\], got \[23\]"),
    ({"x": torch.zeros(6, 16, dtype=torch.int32)}, TypeError,
     "x: expected float16, bfloat16 or float32, got torch.int32"),
    ({"x": torch.zeros(6, 15)}, ValueError, "weight: expected the shape"),
])
def test_mistakes_are_named(change, error, message):
    arguments, _ = make((6,), 16, 24)
    with lnbwd.simulate(), pytest.raises(error, match=message):
        call({**arguments, **change})


def test_errors_of_bf16_are_no_larger_than_torchs():
    """The gradient multiplies unrounded rows, where PyTorch's has those of bf16."""
    arguments, dy = make((64,), 96, 100, torch.bfloat16)
    expected, gradients = reference(arguments, dy, 1e-5)
    theirs = {name: value.detach().clone().requires_grad_() for name, value in arguments.items()}
    z = torch.nn.functional.layer_norm(theirs["x"], (96,), theirs["ln_weight"], theirs["ln_bias"])
    y = torch.nn.functional.linear(z, theirs["weight"], theirs["bias"])
    y.backward(dy)
    with lnbwd.simulate():
        ours = call(arguments)
        ours.backward(dy)

    def error(actual, exact):
        return float((actual.detach().double() - exact).abs().max())

    assert error(ours, expected) <= error(y, expected)
    for name, exact in gradients.items():
        assert error(arguments[name].grad, exact) <= error(theirs[name].grad, exact), name
