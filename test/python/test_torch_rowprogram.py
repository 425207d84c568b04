# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row programs as objects: what they are as MLIR and as text, and that kernels of random ones give
what PyTorch computes in float64."""

import random

import pytest
import torch
from cases import diagonal

from lnbwd import LnbwdError, compiler
from lnbwd.ops import region_programs, regions
from lnbwd.program.evaluation import evaluate
from lnbwd.program.mlir import mlir
from lnbwd.program.operands import COMPARISONS, Input, Output
from lnbwd.program.row_program import Builder, RowProgram

N = 48


def root_mean_square():
    b = Builder(N)
    x, gamma = b.add("input", 0), b.add("input", 1)
    mean = b.add("mul", b.add("row_sum", b.power(x, 2)), b.constant(1 / N))
    rstd = b.add("rsqrt", b.add("add", mean, b.constant(1e-5)))
    y = b.add("mul", b.add("mul", x, rstd), gamma)
    return b.finish(None, [Input("row", "bf16"), Input("column", "f32")],
                    [Output("row", "bf16", y), Output("scalar", "f32", rstd)])


def test_mlir():
    program = root_mean_square()
    name = program.name()
    assert mlir(program) == f"""\
func.func @{name}(%arg0: memref<?x48xbf16>, %arg1: memref<48xf32>, %out0: memref<?x48xbf16>, \
%out1: memref<?xf32>) {{
  lnbwd.rowwise @{name} domain(m | n)
      ins(%arg0[m, n] : memref<?x48xbf16>, %arg1[n] : memref<48xf32>)
      outs(%out0[m, n] : memref<?x48xbf16>, %out1[m] : memref<?xf32>)
      attributes {{operand_names = ["arg0", "arg1", "out0", "out1"]}} {{
  ^row(%in0: vector<48xbf16>, %in1: vector<48xf32>):
    %0 = arith.extf %in0 : vector<48xbf16> to vector<48xf32>
    %1 = arith.mulf %0, %0 fastmath<contract> : vector<48xf32>
    %2 = vector.reduction <add>, %1 : vector<48xf32> into f32
    %3 = arith.constant 2.083333395e-02 : f32
    %4 = arith.mulf %2, %3 fastmath<contract> : f32
    %5 = arith.constant 9.999999747e-06 : f32
    %6 = arith.addf %4, %5 fastmath<contract> : f32
    %7 = math.rsqrt %6 : f32
    %8 = vector.broadcast %7 : f32 to vector<48xf32>
    %9 = arith.mulf %0, %8 fastmath<contract> : vector<48xf32>
    %10 = arith.mulf %9, %in1 fastmath<contract> : vector<48xf32>
    %11 = arith.truncf %10 : vector<48xf32> to vector<48xbf16>
    lnbwd.yield %11, %7 : vector<48xbf16>, f32
  }}
  return
}}
"""


def gelu(b, x, tanh=False):
    """Half of x times 1 + erf(x / sqrt(2)), or its approximation by tanh."""
    inner = b.add("mul", x, b.constant(0.7071067811865476))
    if tanh:
        cube = b.add("mul", b.power(x, 3), b.constant(0.044715))
        inner = b.add("mul", b.add("add", x, cube), b.constant(0.7978845608028654))
    one = b.add("add", b.add("tanh" if tanh else "erf", inner), b.constant(1))
    return b.add("mul", b.add("mul", x, b.constant(0.5)), one)


def slope(b, x):
    """1 - tanh(x)^2, as in the gradient of GELU's approximation."""
    return b.add("sub", b.constant(1), b.power(b.add("tanh", x), 2))


def sigmoid(b, x):
    return b.add("div", b.constant(1), b.add("add", b.constant(1), b.add("exp", b.add("neg", x))))


@pytest.mark.parametrize("make,outputs,expected", [
    (gelu, ["row bf16"], {"erf": True}),
    (gelu, ["row f16", "column_sum f32"], {"erf": True}),
    (gelu, ["row f32"], {"erf": False}),
    (gelu, ["row bf16", "row f32"], {"erf": False}),
    (gelu, ["row bf16", "scalar f32"], {"erf": False}),
    (gelu, ["scalar bf16"], {"erf": True}),
    (gelu, ["column_sum f32"], {"erf": False}),
    (slope, ["row bf16"], {"tanh": True}),
    (sigmoid, ["row bf16"], {"exp": True}),
    (sigmoid, ["row f32"], {"exp": False}),
    # Its result is near 0 where x is.
    (lambda b, x: b.add("tanh", x), ["row bf16"], {"tanh": False}),
    (lambda b, x: b.add("add", b.add("tanh", x), b.constant(0.1)), ["row bf16"], {"tanh": False}),
    (lambda b, x: b.add("mul", b.add("erf", x), x), ["row bf16"], {"erf": False}),
    # What is decided by it is not rounded, and what is rounded before is.
    (lambda b, x: b.add("select", b.add("gt", b.add("exp", x), b.constant(1)), x, b.constant(0)),
     ["row bf16"], {"exp": False}),
    (lambda b, x: b.add("round", b.add("exp", x), "bf16"), ["row f32"], {"exp": True}),
    # One number a row: nothing is gained.
    (lambda b, x: b.add("mul", x, b.add("exp", b.add("row_sum", x))), ["row bf16"],
     {"exp": False}),
    (lambda b, x: b.add("mul", b.add("log", x), b.add("rsqrt", x)), ["row bf16"],
     {"log": False, "rsqrt": False})])
def test_cheap_functions(make, outputs, expected):
    """A function has its cheaper form where all that it leads to is rounded to 16 bits."""
    b = Builder(N)
    x = b.add("input", 0)
    value = make(b, x)
    row_sum = b.add("row_sum", value)
    program = b.finish(None, [Input("row", "f32")], [
        Output(*output.split(), row_sum if output.startswith("scalar") else value)
        for output in outputs])
    text = mlir(program)
    for name, is_cheap in expected.items():
        line, = (line for line in text.splitlines() if f"math.{name} " in line)
        assert ("fastmath<afn>" in line) == is_cheap, line


@pytest.mark.parametrize("dtype,is_cheap", [("bf16", True), ("f32", False)])
def test_exponentials_of_short_rows_are_cheap_in_a_sum(dtype, is_cheap):
    b = Builder(N)
    terms = b.add("exp", b.add("input", 0))
    program = b.finish(None, [Input("row", dtype)], [
        Output("row", "bf16", terms), Output("scalar", "f32", b.add("row_sum", terms))])
    assert ("fastmath<afn>" in mlir(program)) == is_cheap
    product = b.finish(None, [Input("row", dtype)], [
        Output("scalar", "f32", b.add("row_sum", b.add("mul", terms, b.add("input", 0))))])
    assert "fastmath<afn>" not in mlir(product)


@pytest.mark.parametrize("name", ["gelu", "tanh", "slope", "sigmoid"])
@pytest.mark.compiler
def test_errors_of_cheap_functions(device, name):
    """They are small beside a rounding to 16 bits: of each element, but for an error of 5e-7 times
    x where 1 + erf(x) or 1 + tanh(x) is nearly 0; and beside the terms of a sum over all rows."""
    b = Builder(1024)
    x = b.add("input", 0)
    y = (gelu(b, x, name == "tanh") if name in ("gelu", "tanh")
         else (slope if name == "slope" else sigmoid)(b, x))
    program = b.finish(None, [Input("row", "f32")], [Output("row", "f16", y),
                                                     Output("column_sum", "f32", y)])
    assert "fastmath<afn>" in mlir(program)
    values = torch.linspace(-12, 12, 4096).reshape(4, 1024).to(device)
    rows, sums = run(program, [values])
    exact, exact_sums = evaluate(program, [values], torch.float64, rounds=False)
    bound = 2.0 ** -11 * 1.01 * exact.abs() + 6e-7 * values.abs().clamp(min=1) + 2.0 ** -25
    assert ((rows.double() - exact).abs() <= bound).all()
    terms = exact.abs().sum(0) + 1e-6 * values.abs().sum(0)
    assert ((sums.double() - exact_sums).abs() <= 2e-6 * terms.clamp(min=1)).all()


def test_a_value_written_as_a_row_and_as_a_scalar():
    b = Builder(N)
    total = b.add("row_sum", b.add("input", 0))
    text = mlir(b.finish(None, [Input("row", "bf16")],
                         [Output("row", "bf16", total), Output("scalar", "bf16", total)]))
    assert compiler.compile_mlir(text, "gfx942").code


def test_text():
    program = root_mean_square()
    assert RowProgram.from_text(program.text()) == program


def adaptive(groups=None, rows=None):
    """y = x * (1 + scale[b]) + shift + h, and sums of dy and dy * x over all rows and groups."""
    b = Builder(N)
    x, h, dy, scale = (b.add("input", i) for i in (0, 1, 2, 4))
    factor = b.add("add", b.constant(1), scale)
    y = b.add("add", b.add("mul", x, factor), b.add("input", 3))
    return b.finish(
        rows, [Input("row", "bf16"), Input("row", "f32"), Input("row", "f32"),
               Input("column", "f32"), Input("group_column", "f32")],
        [Output("row", "bf16", b.add("add", y, h)), Output("column_sum", "f32", dy),
         Output("group_sum", "f32", b.add("mul", dy, x)), Output("group_sum", "bf16", dy)], groups)


def test_groups_as_mlir():
    program = adaptive(groups=3)
    text = mlir(program)
    assert "%arg4[b, n] : memref<3x48xf32>)" in text
    assert ("%out1[n] add : memref<48xf32>, "
            "%out2[b, n] add : memref<3x48xf32>, %out3[b, n] add : memref<3x48xbf16>)") in text
    assert "%arg4[b, n] : memref<?x48xf32>)" in mlir(adaptive())
    assert program.name().startswith("rows48_map_columns_groups_")
    assert not root_mean_square().has_groups


@pytest.mark.parametrize("groups", [None, 3])
def test_groups_as_text(groups):
    program = adaptive(groups)
    assert RowProgram.from_text(program.text()) == program


@pytest.mark.parametrize("is_static,shape", diagonal(
    [False, True], [(1, 5), (3, 1), (2, 40), (3, 7)]))
@pytest.mark.compiler
def test_groups_compute(device, is_static, shape):
    groups, group_rows = shape
    program = adaptive(groups, groups * group_rows) if is_static else adaptive()
    generator = torch.Generator().manual_seed(1)

    def random(*shape):
        return torch.randn(shape, generator=generator).to(device)

    rows = random(3, groups, group_rows, N)
    x, h, dy = rows[0].bfloat16(), rows[1], rows[2]
    column, scale = random(N), random(groups, 1, N)
    got = run(program, [x, h, dy, column, scale])
    want = evaluate(program, [x, h, dy, column, scale], torch.float64, rounds=False)
    wide = x.double()
    torch.testing.assert_close(want[0], (wide * (1 + scale.double()) + column + h).reshape(-1, N))
    torch.testing.assert_close(want[2], (dy * wide).sum(1))
    assert [t.shape for t in got] == [t.shape for t in want]
    for actual, expected in zip(got, want, strict=True):
        tolerance = 2e-6 if actual.dtype == torch.float32 else 2 ** -8
        assert (actual - expected).abs().max() <= tolerance * max(1, expected.abs().max()) * 4


@pytest.mark.parametrize("rows", [0, 6])
@pytest.mark.parametrize("make", [root_mean_square, adaptive])
def test_programs_are_one_graph(make, rows):
    """As torch.compile takes them, where they are measured against its kernels."""
    program = make()
    counts = {"row": (3, rows // 3, N), "column": (N,), "group_column": (3, N)}
    inputs = [torch.ones(counts[i.kind]) for i in program.inputs]
    torch._dynamo.reset()
    compiled = torch.compile(lambda given: evaluate(program, given), backend="eager",
                             fullgraph=True)
    for got, want in zip(compiled(inputs), evaluate(program, inputs), strict=True):
        assert torch.equal(got, want)


@pytest.mark.compiler
def test_some_columns_of_groups(device):
    """A number for each group and each 16 columns."""
    b = Builder(N)
    program = b.finish(6, [Input("row", "f32"), Input("group_column", "f32", ((16, 3),))],
                       [Output("row", "f32", b.add("mul", b.add("input", 0), b.add("input", 1)))],
                       groups=2)
    assert RowProgram.from_text(program.text()) == program
    assert "%arg1[b, n0] : memref<2x3xf32>" in mlir(program)
    x, scale = torch.randn(6, N).to(device), torch.randn(2, 3).to(device)
    want = x * scale.repeat_interleave(3, 0).repeat_interleave(16, 1)
    for got in (run(program, [x, scale]), evaluate(program, [x, scale])):
        assert torch.equal(got[0], want)


def test_groups_of_outputs_alone():
    """Their number is the first dimension of the first row block."""
    b = Builder(N)
    program = b.finish(None, [Input("row", "f32")], [Output("group_sum", "f32", b.add("input", 0))])
    x = torch.randn(4, 3, N)
    got, = evaluate(program, [x])
    torch.testing.assert_close(got, x.sum(1))


@pytest.mark.compiler
def test_groups_of_outputs_alone_compute(device):
    b = Builder(N)
    program = b.finish(None, [Input("row", "f32")], [Output("group_sum", "f32", b.add("input", 0))])
    x = torch.randint(-8, 8, (4, 3, N)).float().to(device)
    got, = run(program, [x])
    assert torch.equal(got, x.sum(1))


@pytest.mark.compiler
def test_the_largest_of_rows(device):
    """Of all, and of those of each group, beside sums."""
    b = Builder(N)
    x = b.add("input", 0)
    program = b.finish(None, [Input("row", "f32")],
                       [Output("row", "f16", x), Output("column_max", "f32", x),
                        Output("group_max", "bf16", b.add("abs", x)),
                        Output("column_sum", "f32", x), Output("group_sum", "f32", x)])
    x = torch.randn(4, 9, N, generator=torch.Generator().manual_seed(1)).to(device)
    x[1, 2, 3], x[2, 2, 4], x[0, 0, 3] = torch.nan, -torch.inf, torch.inf
    for got in (run(program, [x]), evaluate(program, [x])):
        torch.testing.assert_close(
            got[1:3], [x.amax((0, 1)), x.abs().amax(1).bfloat16()], rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(got[3:], [x.sum((0, 1)), x.sum(1)], equal_nan=True)


@pytest.mark.compiler
def test_groups_that_do_not_divide_the_rows(device):
    program = adaptive()
    x = torch.zeros(7, N, device=device)
    with pytest.raises(RuntimeError, match="expected a multiple of B"):
        run(program, [x.bfloat16(), x, x, x[0], x[:3]])


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format":"other"}',
                                  '{"format":"lnbwd-row-program 1"}'])
def test_text_that_is_none(text):
    with pytest.raises(ValueError, match=r"row[- ]program"):
        RowProgram.from_text(text)


def test_statistics():
    """Row scalars that follow from sums and that rows are computed with."""
    program = root_mean_square()
    assert [program.nodes[i][0] for i in program.statistics()] == ["rsqrt"]
    b = Builder(N)
    x, s = b.add("input", 0), b.add("input", 1)
    total = b.add("row_sum", x)
    condition = b.add("lt", total, s)
    y = b.add("select", condition, b.add("mul", x, s), x)
    program = b.finish(None, [Input("row", "f32"), Input("scalar", "f32")],
                       [Output("row", "f32", y), Output("scalar", "f32", total)])
    assert program.statistics() == []
    b = Builder(N)
    x = b.add("input", 0)
    y = b.add("sub", x, b.add("log", b.add("row_sum", b.add("exp", x))))
    program = b.finish(None, [Input("row", "f32")], [Output("row", "f32", y)])
    assert [program.nodes[i][0] for i in program.statistics()] == ["row_sum", "log"]


def test_some_outputs_and_inputs():
    b = Builder(N)
    x, z = b.add("input", 0), b.add("input", 1)
    program = b.finish(None, [Input("row", "f32"), Input("row", "bf16")],
                       [Output("row", "f32", b.add("neg", z)), Output("row", "f32", x)])
    program, read = program.with_outputs([0]).without_unused_inputs()
    assert read == [1]
    assert program == RowProgram(N, None, (Input("row", "bf16"),), (("input", 0), ("neg", 0)),
                                 (Output("row", "f32", 1),))


@pytest.mark.compiler
def test_what_is_detached_has_no_gradient():
    b = Builder(N)
    x = b.add("input", 0)
    y = b.add("mul", x, b.add("detach", x))
    program = b.finish(None, [Input("row", "f32")], [Output("row", "f32", y)])
    text = compiler.differentiate(mlir(program)).mlir
    assert text.count("arith.mulf") == 1
    values = torch.rand(2, N)
    assert torch.equal(evaluate(program, [values])[0], values * values)


def test_what_nothing_needs_is_left_out():
    b = Builder(N)
    x, _ = b.add("input", 0), b.add("exp", b.constant(3))
    program = b.finish(None, [Input("row", "f32")], [Output("row", "f32", b.add("neg", x))])
    assert program.nodes == (("input", 0), ("neg", 0))


def test_equal_nodes_are_one():
    b = Builder(N)
    assert b.constant(1) == b.constant(1.0)
    assert b.constant(0.0) != b.constant(-0.0)
    x = b.add("input", 0)
    assert b.power(x, 2) == b.add("mul", x, x)


def test_powers():
    b = Builder(N)
    x = b.add("input", 0)
    powers = (-4, -3, -0.5, 0, 0.5, 1, 3, 4, 2.5, -7)
    outputs = [Output("row", "f32", b.power(x, p)) for p in powers]
    program = b.finish(None, [Input("row", "f32")], outputs)
    assert [node[0] for node in program.nodes].count("pow") == 2
    assert RowProgram.from_text(program.text()) == program
    values = torch.rand(2, N, dtype=torch.float64) + 0.5
    for got, power in zip(evaluate(program, [values], torch.float64, rounds=False), powers,
                          strict=True):
        assert torch.allclose(got, values ** power)


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 1e39, -0.0, 1e-45])
@pytest.mark.compiler
def test_constants(device, number):
    b = Builder(N)
    x = b.add("input", 0)
    value = b.add("mul", b.add("min", x, b.constant(1)), b.constant(number))
    program = b.finish(None, [Input("row", "f32")], [Output("row", "f32", value)])
    x = torch.full((2, N), 2.0, device=device)
    got, = run(program, [x])
    want = torch.full((2, N), number, dtype=torch.float64, device=device).to(torch.float32)
    assert torch.equal(got, want) or (
        number != number and got.isnan().all())


@pytest.mark.parametrize("kind", ["column", "group_column"])
@pytest.mark.compiler
def test_numbers_of_columns(device, kind):
    b = Builder(N)
    x, scale = b.add("input", 0), b.add("input", 1)
    value = b.add("add", b.add("mul", x, b.add("index")), scale)
    program = b.finish(None, [Input("row", "f32"), Input(kind, "f32")],
                       [Output("row", "f32", value)])
    inputs = [torch.full((6, N), 2.0, device=device), torch.ones((2, N)[kind == "column":],
                                                                 device=device)]
    want = (1 + 2 * torch.arange(N, device=device)).expand(6, N).float()
    assert torch.equal(run(program, inputs)[0], want)
    assert torch.equal(evaluate(program, inputs)[0], want)


@pytest.mark.compiler
def test_the_column_of_a_number(device):
    b = Builder(N)
    is_column = b.add("eq", b.add("input", 0), b.add("index"))
    value = b.add("select", is_column, b.constant(1), b.constant(0))
    program = b.finish(None, [Input("scalar", "f32")], [Output("row", "f32", value)])
    numbers = torch.tensor([0, 7, N - 1, N, 2.5, -0.0, -1, -0.5, 1e30, float("inf"), float("nan"),
                            float("-inf")], device=device)
    want = (numbers[:, None] == torch.arange(N, device=device)).float()
    assert torch.equal(run(program, [numbers])[0], want)
    assert torch.equal(evaluate(program, [numbers])[0], want)


def embedding(dtype="f32"):
    """A token's row and its place's, times a scale, and the sum of each row: the place is the
    token's number, rounded down to a third."""
    b = Builder(N)
    ids, tokens, places = b.add("input", 0), b.add("input", 1), b.add("input", 2)
    place = b.add("floor", b.add("div", ids, b.constant(3)))
    value = b.add("add", b.add("take", tokens, ids), b.add("take", places, place))
    return b.finish(None, [Input("scalar", "i64"), Input("table", dtype, rows=30),
                           Input("table", "f32", rows=7)],
                    [Output("row", "f32", value), Output("scalar", "f32", b.add("row_sum", value)),
                     Output("column_sum", "f32", value)])


def test_the_text_of_tables():
    program = embedding("bf16")
    assert RowProgram.from_text(program.text()) == program
    assert '["table","bf16",30]' in program.text()
    text = mlir(program)
    assert "%arg1[*, n] : memref<30x48xbf16>" in text
    assert "lnbwd.gather %in1[%in0] : vector<30x48xbf16>, i64" in text


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.compiler
def test_tables(device, dtype):
    program = embedding(dtype)
    generator = torch.Generator().manual_seed(1)
    # Few values, whose sums are exact. A table ends with what is beyond it.
    tokens = torch.randint(-8, 9, (30, N), generator=generator).to(
        {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[dtype]).to(device)
    places = torch.randint(-8, 9, (7, N), generator=generator).float().to(device)
    ids = torch.tensor([3, 29, 0, 20, 3, 30, -1], device=device)
    taken = tokens.float()[[3, 29, 0, 20, 3, 29, 29]] + places[[1, 6, 0, 6, 1, 6, 6]]
    for got in (run(program, [ids, tokens, places]), evaluate(program, [ids, tokens, places])):
        for value, want in zip(got, (taken, taken.sum(1), taken.sum(0)), strict=True):
            assert torch.equal(value, want)


def run(program, inputs):
    text = program.text()
    return torch.ops.lnbwd.region(inputs, text)


def random_program(seed):
    """A straight-line program in which nothing grows beyond reason."""
    rng = random.Random(seed)
    b = Builder(N)
    inputs = [Input("row", rng.choice(["f32", "bf16", "f16"])) for _ in range(rng.randint(1, 3))]
    inputs += [Input("column", "f32")] * rng.randint(0, 2) + [Input("scalar", "f32")]
    values = [b.add("input", i) for i in range(len(inputs))]
    rows = [v for v, i in zip(values, inputs, strict=True) if i.kind == "row"]
    for _ in range(rng.randint(4, 14)):
        kind = rng.randrange(8)
        first, second = rng.choice(values), rng.choice(values)
        if kind == 0:
            # Bounded before it is summed, so that the sum has digits.
            bounded = b.add("tanh", rng.choice(rows))
            value = b.add("mul", b.add("row_sum", bounded), b.constant(1 / N))
        elif kind == 1:
            value = b.add(rng.choice(["tanh", "erf", "neg", "abs"]), first)
        elif kind == 2:
            value = b.add("rsqrt", b.add("add", b.add("mul", first, first), b.constant(0.5)))
        elif kind == 3:
            value = b.add("exp", b.add("neg", b.add("abs", first)))
        elif kind == 4:
            condition = b.add(rng.choice(sorted(COMPARISONS)), first, b.constant(0.25))
            value = b.add("select", condition, first, second)
        elif kind == 5:
            value = b.add(rng.choice(["max", "min"]), first, second)
        else:
            value = b.add(rng.choice(["add", "sub", "mul"]), first, b.add("tanh", second))
        values.append(value)
        rows.append(b.add("add", value, rng.choice(rows)))
    outputs = [Output("row", "f32", rows[-1]), Output("row", "bf16", rng.choice(rows)),
               Output("scalar", "f32", b.add("row_sum", b.add("tanh", rng.choice(rows)))),
               Output("column_sum", "f32", rng.choice(rows))]
    return b.finish(rng.choice([None, 7]), inputs, outputs[:rng.randint(1, 3)] + outputs[3:])


def arguments(program, m, seed, device):
    generator = torch.Generator().manual_seed(seed)
    types = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
    shapes = {"row": (m, N), "column": (N,), "scalar": (m,)}
    return [torch.randn(shapes[i.kind], generator=generator).to(types[i.dtype]).to(device)
            for i in program.inputs]


def is_discontinuous(program):
    return any(node[0] == "select" for node in program.nodes)


@pytest.mark.parametrize("seed", [
    pytest.param(seed, marks=[] if seed < 3 else [pytest.mark.full]) for seed in range(24)])
@pytest.mark.compiler
def test_random_programs(device, seed):
    program = random_program(seed)
    if not any(i.kind == "row" for i in program.inputs):
        pytest.skip("it reads no rows")
    m = 7
    inputs = arguments(program, m, seed, device)
    got = run(program, inputs)
    want = evaluate(program, inputs, torch.float64, rounds=False)
    plain = evaluate(program, inputs)
    for g, w, p, output in zip(got, want, plain, program.outputs, strict=True):
        assert g.dtype == p.dtype
        # What PyTorch's float32 operations give, and the output's rounding, are the measure; a
        # comparison may fall the other way for one element of them.
        bound = max(4 * (p.double() - w).abs().max().item(), 1e-5 * w.abs().max().item(), 1e-6)
        if output.dtype == "bf16":
            bound = max(bound, 2.0 ** -8 * w.abs().max().item())
        wrong = ((g.double() - w).abs() > bound).sum().item()
        assert wrong <= (1 if is_discontinuous(program) else 0), output


def test_a_process_that_knows_the_text_alone(device):
    """A compiled graph out of a cache brings nothing else along."""
    program = random_program(3)
    text = program.text()
    region_programs._programs.pop(text, None)
    inputs = arguments(program, 5, 3, device)
    assert len(torch.ops.lnbwd.region(inputs, text)) == len(program.outputs)
    with pytest.raises(LnbwdError, match="is not registered in this process"):
        regions.find_program("no program")
