# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row programs of integers, and programs without inputs or row blocks, give the same bits as
PyTorch's operations."""

import pytest
import torch

from lnbwd import compiler
from lnbwd.ops import regions
from lnbwd.program.evaluation import evaluate
from lnbwd.program.mlir import mlir
from lnbwd.program.operands import COMPARISONS, INTEGERS, OUTPUT_KINDS, TYPES, Input, Output
from lnbwd.program.row_program import Builder, RowProgram

M, N = 5, 48


def check(program, inputs, device):
    """Compares a kernel with :func:`evaluate`."""
    assert RowProgram.from_text(program.text()) == program
    inputs = [tensor.to(device) for tensor in inputs]
    with torch.device(device):
        want = evaluate(program, inputs)
        outputs = [torch.empty_like(value.reshape(-1)) for value in want]
    regions.load_kernel(regions.register_row_program(program), torch.device(device))
    regions.region_call(program.text(), device)(program.rows, *inputs, *outputs)
    for output, value, got in zip(program.outputs, want, outputs, strict=True):
        assert torch.equal(got, value.reshape(-1)), (output, program.nodes[output.value])


def random(dtype, *shape):
    """Integers of all bits."""
    generator = torch.Generator().manual_seed(len(shape))
    return torch.randint(0, 256, (*shape, TYPES[dtype].itemsize), generator=generator,
                         dtype=torch.uint8).view(TYPES[dtype])[..., 0].contiguous()


def finish(builder, inputs, outputs):
    """A program of M rows."""
    return builder.finish(M, inputs, sorted(
        outputs, key=lambda output: OUTPUT_KINDS.index(output.kind)))


def of_two(builder, dtype):
    """Two row blocks of integers."""
    return [builder.add("integer", builder.add("input", place), dtype) for place in range(2)]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.compiler
def test_arithmetic(device, dtype):
    b = Builder(N)
    x, y = of_two(b, dtype)
    column, scalar = (b.add("integer", b.add("input", place), dtype) for place in (2, 3))
    bits = b.integer(int(INTEGERS[dtype][1:]) - 1)
    some, count = b.add("or", y, b.integer(1)), b.add("and", y, bits)
    values = [b.add(name, x, y) for name in ("add", "sub", "mul", "min", "max", "and", "or", "xor")]
    values += [b.add(name, x, some) for name in ("floordiv", "mod")]
    values += [b.add(name, x, count) for name in ("shl", "shr")]
    values += [b.add(name, x) for name in ("neg", "abs", "not")]
    values += [b.add("add", x, b.add("mul", column, scalar)),
               b.add("select", b.add("lt", x, y), x, b.integer(-3))]
    program = finish(b, [Input(kind, dtype) for kind in ("row", "row", "column", "scalar")],
                     [Output("row", dtype, value) for value in values])
    check(program, [random(dtype, M, N), random(dtype, M, N), random(dtype, N),
                    random(dtype, M)], device)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.compiler
def test_comparisons_and_conversions(device, dtype):
    b = Builder(N)
    x, y = of_two(b, dtype)
    values = [("i8", b.add(name, x, y)) for name in COMPARISONS]
    values += [(other, b.add("integer", x, other)) for other in INTEGERS]
    values += [("f32", b.add("float", x)), (dtype, b.add("integer", b.add("lt", x, y), dtype))]
    program = finish(b, [Input("row", dtype)] * 2,
                     [Output("row", other, value) for other, value in values])
    inputs = [random(dtype, M, N), random(dtype, M, N).flip(0)]
    inputs[1][0] = inputs[0][0]
    check(program, inputs, device)


@pytest.mark.parametrize("length", [7, 1000])
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.compiler
def test_sums_and_largest(device, dtype, length):
    """Exact beyond what float32 has: the sums of a few bits of all elements are."""
    b = Builder(length)
    x, y = of_two(b, dtype)
    smallest = b.add("not", b.add("row_max", b.add("not", x)))
    count = b.add("row_sum", b.add("integer", b.add("ne", x, y), dtype))
    program = finish(b, [Input("row", dtype)] * 2, [Output("scalar", dtype, value) for value in (
        b.add("row_sum", x), b.add("row_max", x), smallest, count)])
    x = random(dtype, M, length)
    x[0], x[1, 2:4] = torch.iinfo(x.dtype).max, torch.iinfo(x.dtype).max
    x[2, 3:] -= torch.iinfo(x.dtype).max
    y = x.clone()
    y[1, :5] ^= 1
    check(program, [x, y], device)


@pytest.mark.compiler
def test_exact_indices_and_constants(device):
    """Beyond 2^24; a constant has the type of the operands beside it."""
    b = Builder(N)
    index, row = (b.add("integer", node, "i64") for node in (
        b.add("index"), b.add("place", N, M)))
    number = b.add("add", b.add("mul", row, b.integer(2 ** 40 + 1)), index)
    program = finish(b, [], [
        Output("row", "i64", number), Output("row", "i32", number),
        Output("row", "i64", b.integer(2 ** 62 - 1)), Output("row", "i32", b.add("index")),
        Output("scalar", "i64", b.add("row_sum", number))])
    check(program, [], device)
    rows = torch.arange(M)[:, None]
    assert torch.equal(evaluate(program, [])[0], rows * (2 ** 40 + 1) + torch.arange(N))


@pytest.mark.compiler
def test_a_table_by_an_integer(device):
    b = Builder(N)
    index = b.add("integer", b.add("input", 0), "i32")
    half = b.add("take", b.add("input", 1), b.add("shr", index, b.integer(1)))
    program = finish(b, [Input("scalar", "i32"), Input("table", "f32", rows=3)],
                     [Output("row", "f32", half)])
    check(program, [torch.tensor([0, 5, 3, 1, 6], dtype=torch.int32),
                    torch.arange(3. * N).reshape(3, N)], device)


@pytest.mark.compiler
def test_without_inputs(device):
    """Fills, and masks of indices alone."""
    b = Builder(N)
    is_seen = b.add("le", b.add("index"), b.add("place", N, M))
    program = finish(b, [], [
        Output("row", "i8", is_seen), Output("row", "f32", b.constant(2.5)),
        Output("row", "bf16", b.add("select", is_seen, b.constant(0), b.constant(float("-inf"))))])
    check(program, [], device)


@pytest.mark.parametrize("kind", ["column", "part"])
@pytest.mark.compiler
def test_without_row_blocks(device, kind):
    """A row scalar says how many rows there are."""
    b = Builder(N)
    parts = ((N, 2 * M), (1, N)) if kind == "part" else ()
    program = b.finish(2 * M, [Input(kind, "f32", parts[1:])],
                       [Output("scalar", "f32", b.add("row_sum", b.add("input", 0)))])
    check(program, [torch.arange(float(N))], device)


def test_operands_of_several_types():
    b = Builder(N)
    x = b.add("input", 0)
    program = finish(b, [Input("row", "i64")], [
        Output("row", "f32", b.add("add", x, b.add("integer", x, "i64")))])
    with pytest.raises(ValueError, match=r"expected operands of one type for node 2, 'add', got f32"
                                         r" and i64; convert one by 'integer' or 'float'"):
        mlir(program)
    program = finish(b, [Input("row", "i64")], [Output("row", "f32", b.add("integer", x, "i64"))])
    with pytest.raises(ValueError, match="expected a number for what is written as row, got i64"):
        mlir(program)


@pytest.mark.compiler
def test_integers_are_constants_to_a_gradient():
    b = Builder(N)
    x = b.add("input", 0)
    whole = b.add("float", b.add("integer", x, "i32"))
    program = finish(b, [Input("row", "f32")], [Output("row", "f32", b.add("mul", x, whole))])
    assert compiler.differentiate(mlir(program)).mlir.count("arith.mulf") == 1


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i8", "i64", "ui8"])
@pytest.mark.compiler
def test_elements_of_tables(device, dtype):
    """An element for each integer of a row, and one for each row; the last one where there is
    none."""
    b = Builder(N)
    elements = b.add("input", 1)
    index = b.add("integer", b.add("input", 0), "i64")
    moved = b.add("add", index, b.add("integer", b.add("place", N, M), "i64"))
    largest = b.add("row_max", index)
    program = finish(b, [Input("row", "i64"), Input("elements", dtype, rows=100)], [
        Output("row", dtype, b.add("take", elements, moved)),
        Output("scalar", dtype, b.add("take", elements, largest))])
    indices = torch.randint(-3, 103, (M, N), generator=torch.Generator().manual_seed(1))
    given = torch.arange(100) % 2 == 0 if dtype == "i8" else torch.arange(100).to(TYPES[dtype])
    check(program, [indices, given], device)


def test_a_number_is_an_integer_or_a_float(device):
    """A number of 64 bits may be a divisor, and no seed."""
    b = Builder(16)
    quotient = b.add("div", b.add("input", 0), b.add("input", 1))
    program = b.finish(4, [Input("row", "f32"), Input("number", "i64")],
                       [Output("row", "f32", quotient)])
    text = regions.register_row_program(program).text
    x = torch.randn(4, 16, device=device)
    got, = regions.raw_region([x, torch.tensor([3], device=device)], text)
    torch.testing.assert_close(got, x / 3)
