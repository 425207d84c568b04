# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row programs as Inductor's generated code calls them: the function, and the code."""

import functools
import gc
import itertools
import pathlib
import sysconfig
import weakref

import pytest
import torch
from torch._inductor.custom_graph_pass import CustomGraphPass
from torch._inductor.utils import run_and_get_code, run_fw_bw_and_get_code

import lnbwd
from lnbwd.ops import launching, native, regions
from lnbwd.ops.regions import Operand
from lnbwd.program.operands import Input, Output
from lnbwd.program.row_program import Builder

pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("fresh_inductor")]
F32, BF16 = torch.float32, torch.bfloat16
N = 64
SOURCE = f"""
func.func @shifted(%x: memref<?x{N}xf32>, %b: memref<{N}xf32>, %y: memref<?x{N}xbf16>,
                   %db: memref<{N}xf32>) {{
  lnbwd.rowwise @shifted domain(m | n) ins(%x[m, n] : memref<?x{N}xf32>, %b[n] : memref<{N}xf32>)
      outs(%y[m, n] : memref<?x{N}xbf16>, %db[n] add : memref<{N}xf32>)
      attributes {{operand_names = ["x", "b", "y", "db"]}} {{
  ^row(%xr: vector<{N}xf32>, %br: vector<{N}xf32>):
    %sum = arith.addf %xr, %br : vector<{N}xf32>
    %out = arith.truncf %sum : vector<{N}xf32> to vector<{N}xbf16>
    lnbwd.yield %out, %sum : vector<{N}xbf16>, vector<{N}xf32>
  }}
  return
}}
"""
PROGRAM = "shifted for a call"


@pytest.fixture(params=["library", "python"])
def call(request, device):
    """The function in C++, and the one in Python that stands in for it."""
    regions.register_program(
        PROGRAM, [Operand("row_block", F32, N), Operand("column", F32, N)],
        [Operand("row_block", BF16, N), Operand("column", F32, N)],
        SOURCE)
    where = str(device)
    in_python = functools.partial(regions.call_in_python, PROGRAM)
    if request.param == "python":
        return in_python
    if native.make_region_call(PROGRAM, device, in_python) is None:
        pytest.skip("the package has no library for this")
    return regions.region_call(PROGRAM, where)


def tensors(device, rows=5):
    generator = torch.Generator().manual_seed(rows)
    x, b = torch.randn(rows, N, generator=generator), torch.randn(N, generator=generator)
    return [x.to(device), b.to(device), torch.full((rows, N), torch.nan).bfloat16().to(device),
            torch.full((N,), torch.nan).to(device)]


def assert_right(x, b, y, db):
    torch.testing.assert_close(y, (x + b).bfloat16())
    torch.testing.assert_close(db, (x + b).sum(0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [5, 1, 0])
def test_a_call_computes(device, call, rows):
    arguments = tensors(device, rows)
    assert call(rows, *arguments) is None
    assert_right(*arguments)


def test_operands_between_multiples_of_16_are_copied(device, call):
    x, b, y, _ = tensors(device)
    memory = torch.full((2, N + 2), 7.0, device=device)
    shifted, sums = memory[:, 1:-1]
    shifted.copy_(b)
    assert shifted.data_ptr() % 16 and sums.data_ptr() % 16
    call(5, x, shifted, y, sums)
    assert_right(x, b, y, sums)
    assert memory[1, 0] == memory[1, -1] == 7


# 16 rows of 96: 12 of each 24 elements in memory.
PIECES = ('{"format":"lnbwd-row-program 1","length":96,"rows":16,"inputs":[["part","bf16",'
          '[12,128,24],[1,12,1]]],"nodes":[["input",0]],"outputs":[["row","f32",0]]}')


@pytest.mark.parametrize("is_native", [False, True])
def test_a_part_is_copied_only_between_its_accesses(device, is_native, monkeypatch):
    memory = torch.arange(128 * 24 + 8, device=device).bfloat16()
    launched = []
    launch = launching.launch_kernel
    monkeypatch.setattr(launching, "launch_kernel", lambda kernel, rows, tensors, groups: (
        launched.append(tensors[0].data_ptr()), launch(kernel, rows, tensors, groups)))
    in_python = functools.partial(regions.call_in_python, PIECES)
    call = native.make_region_call(PIECES, device, in_python) if is_native else in_python
    if call is None:
        pytest.skip("the package has no library for this")
    regions.load_kernel(regions.find_program(PIECES), device)
    for offset in (4, 3):
        x = memory[offset:][:127 * 24 + 12]
        y = torch.full((16, 96), torch.nan, device=device)
        call(16, x, y)
        torch.testing.assert_close(
            y.view(128, 12), x.as_strided((128, 12), (24, 1)).float(), rtol=0, atol=0)
        # The library hands over what has to be copied.
        took = [address == x.data_ptr() for address in launched]
        assert took == ([] if is_native else [True]) if offset == 4 else took == [False]
        launched.clear()


def test_wrong_arguments_of_a_call(device, call):
    x, b, y, db = tensors(device)
    with pytest.raises(TypeError, match="expected the number of rows, 2 inputs and 2 outputs, got "
                                        "4 arguments"):
        call(5, x, b, y)
    with pytest.raises((TypeError, AttributeError)):
        call(5, x, "b", y, db)
    with pytest.raises(TypeError):
        call("5", x, b, y, db)
    call(5, x, b, y, db)
    assert_right(x, b, y, db)


def test_a_call_of_what_nobody_knows(device):
    for unknown in (regions.region_call("nobody", str(device)),
                    functools.partial(regions.call_in_python, "nobody")):
        with pytest.raises(RuntimeError, match="'nobody' is not registered in this process"):
            unknown(5, *tensors(device))


def test_a_call_keeps_no_tensors(device, call):
    arguments = tensors(device)
    call(5, *arguments)
    with pytest.raises(TypeError):
        call(5, *arguments[:3])
    left = [weakref.ref(t) for t in arguments]
    del arguments
    gc.collect()
    assert all(reference() is None for reference in left)


@pytest.mark.simulator
def test_a_call_follows_the_simulated_chip(call, monkeypatch):
    """One function, two chips, and an error where there is none."""
    monkeypatch.delenv("LNBWD_SIMULATE", raising=False)
    cpu = torch.device("cpu")
    here = regions.region_call(PROGRAM, "cpu")
    for chip in ("gfx942", "gfx1100", "gfx942"):
        with lnbwd.simulate(chip):
            arguments = tensors(cpu)
            here(5, *arguments)
            assert_right(*arguments)


# --------------------------------------------------------------------------------------------------
# The memory that a call declares
# --------------------------------------------------------------------------------------------------

@pytest.fixture(params=["library", "python", "evaluation"])
def declared(request, device):
    """Makes a call's function for orders of its input and its output, on each road. The program
    subtracts from each row its mean."""
    builder = Builder(N)
    x = builder.add("input", 0)
    y = builder.add("sub", x, builder.add("mul", builder.add("row_sum", x),
                                          builder.constant(1 / N)))
    program = builder.finish(None, [Input("row", "f32")], [Output("row", "f32", y)])
    text = regions.register_row_program(program).text
    if request.param == "evaluation":
        request.getfixturevalue("no_kernels")
    elif request.param == "library" and native.make_region_call(text, device, print) is None:
        pytest.skip("the package has no library for this")

    def make(orders=()):
        if request.param != "library":
            return functools.partial(regions.call_in_python, text, orders=orders)
        regions.load_kernel(regions.find_program(text), device)
        return regions.region_call(text, str(device), orders)

    return make


def image(device, offset=0):
    """Channels last, at an address so many elements behind a multiple of 16 bytes."""
    memory = torch.empty(6 * N + offset, device=device)[offset:]
    values = torch.randn(6 * N, generator=torch.Generator().manual_seed(3))
    return memory.copy_(values).view(2, 3, N).permute(2, 0, 1)


@pytest.mark.parametrize("offset", [0, 1])
def test_memory_in_a_declared_order(device, declared, offset):
    """It is read and written where it lies, wherever that is."""
    call = declared(((1, 2, 0), (2, 0, 1)))
    x = image(device, offset)
    y = torch.full((3, 2, N), torch.nan, device=device).permute(1, 2, 0)
    call(6, x, y)
    rows = x.permute(1, 2, 0).reshape(6, N)
    torch.testing.assert_close(y.permute(2, 0, 1).reshape(6, N), rows - rows.mean(-1, keepdim=True))


def test_memory_in_another_order_is_an_error(device, declared):
    """Whatever the road: not an answer for the rows of some other tensor."""
    rows, right = image(device).permute(1, 2, 0).reshape(6, N), torch.empty(6, N, device=device)
    for orders, arguments in (
            ((), (rows.t(), right)), ((), (rows, torch.empty(N, 6, device=device).t())),
            ((), (rows.t(),)), ((), (torch.empty(6, 2 * N, device=device)[:, ::2], right)),
            (((1, 0), ()), (rows, right)), (((1, 2, 0), ()), (rows, right))):
        with pytest.raises(ValueError, match="expected 384 elements without gaps"):
            declared(orders)(6, *arguments)
    with pytest.raises(ValueError, match="expected 384 elements without gaps, in row-major order, "
                                         "got a tensor of shape"):
        declared()(6, rows.t(), right)
    declared()(6, rows, right)
    torch.testing.assert_close(right, rows - rows.mean(-1, keepdim=True))


# --------------------------------------------------------------------------------------------------
# Inductor's code
# --------------------------------------------------------------------------------------------------


class NoCache(CustomGraphPass):
    """A pass without a name: graphs that it is part of are never taken from a cache."""

    def __call__(self, graph):
        pass

    def uuid(self):
        return None


def compiled_code(function, *arguments):
    """What the function gives, compiled, and the code that Inductor generated for it."""
    compiled = torch.compile(function, backend="lnbwd",
                             options={"post_grad_custom_pre_pass": NoCache(),
                                      "compile_threads": 1})
    got, (code, *_) = run_and_get_code(compiled, *arguments)
    return got, code, compiled


def calls(code):
    """The lines that call a row program."""
    return [line.strip() for line in code.splitlines() if line.strip().startswith("lnbwd_rows_")
            and "lnbwd_region_call(" not in line]


def norm(x, h, gamma):
    stream = x + h
    var, mean = torch.var_mean(stream, -1, correction=0, keepdim=True)
    return stream, (stream - mean) * torch.rsqrt(var + 1e-5) * gamma, var


def operands(device, rows=6, n=N):
    generator = torch.Generator().manual_seed(rows)
    return [torch.randn(shape, generator=generator).to(device) for shape in ((rows, n),) * 2 +
            ((n,),)]


def assert_is(got, want):
    for g, w in zip(got, want, strict=True):
        torch.testing.assert_close(g, w, rtol=1e-5, atol=1e-5)


def test_generated_code_calls_without_the_dispatcher(device):
    arguments = operands(device)
    got, code, _ = compiled_code(norm, *arguments)
    assert_is(got, norm(*arguments))
    line, = calls(code)
    assert line.split("(")[1].startswith("6, ")  # M is a number.
    assert "torch.ops.lnbwd" not in code
    # What is called is made once, where the module is loaded, from the program's text.
    assert code.count("= lnbwd_region_call('{") == 1
    assert f"'{device}')" in code


def test_a_program_that_is_called_twice_is_made_once(device):
    def function(x, w):
        for _ in range(2):
            x = centred(x) @ w
        return x

    x, w, _ = operands(device, N)
    _, code, _ = compiled_code(function, x, w)
    assert len(calls(code)) == 2 and code.count("= lnbwd_region_call('{") == 1


def test_rows_that_are_a_symbol_are_computed_at_the_call(device):
    arguments = operands(device)
    for rows in arguments[:2]:
        torch._dynamo.mark_dynamic(rows, 0)
    got, code, compiled = compiled_code(norm, *arguments)
    line, = calls(code)
    assert not line.split("(")[1].split(",")[0].isdigit()
    assert_is(got, norm(*arguments))
    other = operands(device, 11)
    assert_is(compiled(*other), norm(*other))


def overwritten(code):
    """For each call the buffers that it both reads and writes."""
    found = []
    for line in calls(code):
        names = line.split("(")[1].rstrip(")").split(", ")
        found.append([name for name in dict.fromkeys(names) if names.count(name) > 1])
    return found


def centred(x):
    return x - x.mean(-1, keepdim=True)


def test_an_output_takes_the_place_of_what_nothing_else_needs(device):
    def function(x, w):
        return centred((x @ w).view(2, -1, N)).view(-1, N) @ w

    x, w, _ = operands(device, N)
    got, code, _ = compiled_code(function, x, w)
    assert [len(names) for names in overwritten(code)] == [1]
    torch.testing.assert_close(got, function(x, w), rtol=1e-3, atol=1e-3)


STILL_NEEDED = {
    "an argument": lambda x, w: (centred(x),),
    "a result": lambda x, w: (p := x @ w, centred(p)),
    "a view of a result": lambda x, w: ((p := x @ w).view(-1), centred(p)),
    "read later": lambda x, w: (q := centred(p := x @ w) @ w, (p * q) @ w),
    "read later by a view": lambda x, w: (centred(p := x @ w) @ w, p.t() @ w),
    "read later by another region": lambda x, w: (
        q := centred(p := x @ w) @ w, centred(p * q)),
    "an alias that does nothing": lambda x, w: (centred((p := x @ w).to(x.dtype)) @ w, p @ w),
    "other rows of one buffer": lambda x, w: (centred((p := x @ w)[1:]) * 2 + centred(p[:-1]),),
    "of another type": lambda x, w: (centred(x @ w).bfloat16(),),
}


@pytest.mark.parametrize("case", STILL_NEEDED)
def test_what_is_still_needed_is_not_overwritten(device, case):
    function = STILL_NEEDED[case]
    x, w, _ = operands(device, N)
    got, code, _ = compiled_code(function, x, w)
    assert overwritten(code)[0] == []
    for g, want in zip(got, function(x, w), strict=True):
        torch.testing.assert_close(g, want, rtol=1e-2 if g.dtype == torch.bfloat16 else 1e-3,
                                   atol=2e-3)


def test_a_row_that_two_regions_read_is_overwritten_by_the_last(device):
    def function(x, w):
        p = x @ w
        return centred(p) @ w, centred(p * 2).exp() @ w

    x, w, _ = operands(device, N)
    got, code, _ = compiled_code(function, x * 0.01, w)
    assert len(overwritten(code)) <= 2
    for g, want in zip(got, function(x * 0.01, w), strict=True):
        torch.testing.assert_close(g, want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("is_returned", [False, True])
def test_what_was_saved_for_the_backward_pass_alone_is_overwritten(device, is_returned):
    """Logits, by their gradient. What the caller has as well is not."""
    def function(x, w, target):
        logits = x @ w
        loss = torch.nn.functional.cross_entropy(logits, target)
        return (loss, logits) if is_returned else (loss,)

    x, w, _ = operands(device, N)
    target = (torch.arange(N) % 7).to(device)
    leaf, want = x.clone().requires_grad_(), x.clone().requires_grad_()
    compiled = torch.compile(function, backend="lnbwd", options={
        "post_grad_custom_pre_pass": NoCache(), "compile_threads": 1})
    _, (_, code) = run_fw_bw_and_get_code(lambda: compiled(leaf, w, target)[0])
    function(want, w, target)[0].backward()
    torch.testing.assert_close(leaf.grad, want.grad, rtol=1e-3, atol=1e-4)
    assert [len(names) for names in overwritten(code)] == [0 if is_returned else 1]


def test_inputs_that_begin_within_another_tensor(device):
    """Rows out of the middle of a product, at an address that is no multiple of 16."""
    def function(x, w, gamma):
        product = (x @ w).reshape(-1)
        rows = product[3:3 + 5 * N].reshape(5, N)
        return norm(rows, rows, gamma)

    x, w, gamma = operands(device, N)
    got, code, _ = compiled_code(function, x, w, gamma)
    assert len(calls(code)) == 1
    for g, w_ in zip(got, function(x, w, gamma), strict=True):
        torch.testing.assert_close(g, w_, rtol=1e-3, atol=1e-3)


def test_inputs_that_are_not_dense_are_copied(device):
    def function(x, h, gamma):
        return norm(x[:, ::2], h[:, :N], gamma)

    x, h = (torch.randn(6, 2 * N, device=device) for _ in range(2))
    gamma = torch.randn(N, device=device)
    got, _, _ = compiled_code(function, x, h, gamma)
    assert_is(got, function(x, h, gamma))


def test_memory_is_taken_where_a_region_stands(device):
    """Not for all regions where the graph begins, though what has no content depends on
    nothing."""
    def function(x, gamma, w):
        for _ in range(4):
            x = norm(x, x, gamma)[1] @ w
        return x

    x, w, gamma = operands(device, N)
    _, code, _ = compiled_code(function, x, gamma, w)
    lines = [line.strip() for line in code.splitlines()]
    places = [place for place, line in enumerate(lines) if line in calls(code)]
    assert len(places) == 4
    for before, place in itertools.pairwise(places):
        output = lines[place].rstrip(")").split(", ")[-1]
        made = next(i for i, line in enumerate(lines) if line.startswith(f"{output} = "))
        assert before < made < place


@pytest.mark.skipif(native.load() is None, reason="no operators in C++ here")
@pytest.mark.skipif(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists(),
                    reason="no headers of Python here")
def test_the_library_has_the_function(device):
    """It is built where there are headers, and used then."""
    made = regions.region_call("any", str(device))
    assert type(made).__name__ == "builtin_function_or_method"
