# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What lnbwd.rowwise refuses, and that it names the line.

Each line that is to be named ends in the comment HERE; where there is none, it is the function's
first line.
"""

import inspect
import re
import warnings

import pytest
import torch
from row_cases import N, tensors_of

import lnbwd
from lnbwd import Columns, Rows, Scalars

pytestmark = pytest.mark.compiler

WEIGHT = torch.ones(N)


def sums_rows(x: Rows):
    y = x * 2
    return y - y.sum(0)  # HERE: sum sums over the rows; expected no operation that mixes rows


def transposes(x: Rows):
    return x.t().contiguous().t()  # HERE: t gives float32 [48, M], which is no row block


def multiplies(x: Rows):
    return x @ torch.ones(N, N)  # HERE: matmul aten.mm.default is no operation of row programs


def rolls(x: Rows):
    y = torch.roll(x, 1, -1)  # HERE: roll gives int64 [48]; expected arithmetic on the elements
    return x + y


def accumulates(x: Rows):
    return x.cumsum(-1)  # HERE: cumsum aten.cumsum.default is no operation of row programs


def takes_the_mean_of_all(x: Rows):
    return x / x.mean()  # HERE: mean gives float32 [], which is no row block, row scalar or column


def regroups(x: Rows):
    return x.view(-1, 8).softmax(-1).view(x.shape)  # HERE: view gives float32 [6*M, 8]


def splits(x: Rows):
    a, b = x.chunk(2, -1)  # HERE: chunk gives list, which is no row block
    return a * b


def branches(x: Rows):
    if x.sum() > 0:  # HERE: __bool__ looks at a tensor's elements
        return x
    return -x


def reads_an_element(x: Rows):
    return x * x.max().item()  # HERE: item looks at a tensor's elements


def counts_rows(x: Rows):
    return x / x.shape[0]  # HERE: div computes with the number of rows


def asks_for_the_number_of_rows(x: Rows):  # HERE: it depends on the number of rows, M <= 3
    return x if x.shape[0] > 3 else -x


def draws_numbers(x: Rows):
    return x + torch.rand_like(x)  # HERE: rand_like aten.rand.default is no operation


def takes_another_tensor(x: Rows):
    return x * WEIGHT  # HERE: mul fails: it takes a tensor that is no parameter of the function


def changes_its_argument(x: Rows):
    x += 1  # HERE: add_ changes a parameter in place; expected a new tensor
    return x


def takes_a_power(x: Rows):
    return x ** 1.7  # HERE: pow expected a power of 0, 1/2, 1, 2, 3 or 4, got 1.7


def widens(x: Rows):
    return x.double()  # HERE: double gives float64 [M, 48]


def has_another_length(x: Rows, g: Columns):
    return x * g[:5]  # HERE: mul fails: The size of tensor a (48) must match


def returns_nothing(x: Rows):
    x * 2  # HERE: it returns nothing; expected a tensor of rows, or a tuple of such


def returns_a_number(x: Rows):  # HERE: it returns a float; expected a tensor of rows
    return 3.0


def returns_a_list(x: Rows):
    y = x * 2
    return [y]  # HERE: it returns a list; expected a tensor of rows


def returns_a_column(x: Rows, g: Columns):
    return g * 2  # HERE: mul is what it returns, float32 [48]; expected rows [M, 48] or row scalars


def returns_a_condition(x: Rows):
    return x > 0  # HERE: gt is what it returns, bool [M, 48]


def depends_on_nothing(x: Rows):  # HERE: none of its results depends on its rows
    return torch.zeros_like(x)


REFUSED = [sums_rows, transposes, multiplies, rolls, accumulates, takes_the_mean_of_all, regroups,
           splits, branches, reads_an_element, counts_rows, asks_for_the_number_of_rows,
           draws_numbers, takes_another_tensor, changes_its_argument, takes_a_power, widens,
           has_another_length, returns_nothing, returns_a_number, returns_a_list, returns_a_column,
           returns_a_condition, depends_on_nothing]


def expected_words(function):
    """File, line, text and reason, by the function's comment."""
    lines, start = inspect.getsourcelines(function)
    offset, line = next((i, line) for i, line in enumerate(lines) if "# HERE: " in line)
    text, reason = line.strip().split("# HERE: ")
    shown = "" if offset == 0 else re.escape(f": `{text.strip()}")
    return re.escape(f"{__file__}:{start + offset}") + shown + ".*" + re.escape(
        f"{function.__name__} is no function over rows: ") + ".*" + re.escape(reason)


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_is_no_function_over_rows(function):
    """On the CPU as well, where PyTorch would compute it."""
    with pytest.raises(TypeError, match=expected_words(function)):
        lnbwd.rowwise(function)(*tensors_of(function, (4,)))


def test_sums_over_some_of_the_rows():
    def centred(x: Rows):
        return x - x.mean(1, keepdim=True) + x.sum(1, keepdim=True)

    with pytest.raises(TypeError, match="centred is no function over rows: mean "):
        lnbwd.rowwise(centred)(torch.ones(2, 3, N))


def test_a_largest_element_has_no_gradient(device):
    @lnbwd.rowwise
    def relative(x: Rows):
        return x / x.amax(-1, keepdim=True)

    x = torch.rand(3, N, device=device) + 0.5
    torch.testing.assert_close(relative(x), x / x.amax(-1, keepdim=True))
    line = inspect.getsourcelines(relative.function)[1] + 2
    with pytest.raises(TypeError, match=rf"{re.escape(__file__)}:{line}: `return x / x.amax.*the "
                                        r"largest element of a row has no gradient here.*detach"):
        relative(x.requires_grad_())


def test_an_error_of_the_functions_own(device):
    @lnbwd.rowwise
    def raises(x: Rows, eps: float = 0.0):
        if eps < 0:
            raise KeyError("mine")
        return x + eps

    with pytest.raises(KeyError, match="mine"):
        raises(torch.ones(2, N, device=device), -1.0)


def test_names_that_are_not_there(device):
    @lnbwd.rowwise(saved=["g"])
    def double(x: Rows):
        h = x * 2
        return h

    with pytest.raises(TypeError, match=r"saved: expected names of its variables that are tensors, "
                                        r"of x, h, got 'g'"):
        double(torch.ones(2, N, device=device))
    with pytest.raises(TypeError, match=r"saved: expected names of variables, \['rstd'\], got 'h'"):
        lnbwd.rowwise(saved="h")


def no_annotation(x: Rows, y):
    return x


def wrong_annotation(x: torch.Tensor):
    return x


def two_kinds(x: Rows | Columns):
    return x


def unknown_annotation(x: "NoSuchName"):  # noqa: F821
    return x


def no_rows(g: Columns):
    return g


def any_number(*x: Rows):
    return x[0]


@pytest.mark.parametrize("function,words", [
    (no_annotation, "its parameter 'y' has no annotation; expected lnbwd.Rows"),
    (wrong_annotation, "its parameter 'x' is annotated <class 'torch.Tensor'>; expected"),
    (two_kinds, "its parameter 'x' is annotated .*expected lnbwd.Rows"),
    (unknown_annotation, "its parameter 'x' has an annotation that cannot be read, 'NoSuchName'"),
    (no_rows, "none of its parameters is annotated lnbwd.Rows"),
    (any_number, "its parameter 'x' takes any number of arguments"),
    (torch.add, "lnbwd.rowwise: expected a Python function")], ids=lambda v: getattr(
        v, "__name__", ""))
def test_annotations(function, words):
    place = "" if function is torch.add else (
        rf"{re.escape(__file__)}:{inspect.getsourcelines(function)[1]}: {function.__name__}.*")
    with pytest.raises(TypeError, match=place + words):
        lnbwd.rowwise(function)


def all_kinds(x: Rows, r: Rows, g: Columns, s: Scalars, eps: float = 1e-5, *, flag: bool = False):
    return x * r * g * s + eps


X, G, S = torch.ones(4, N), torch.ones(N), torch.ones(4, 1)


@pytest.mark.parametrize("args,options,error,words", [
    ((X, X, G), {}, TypeError, "the argument 's' is missing"),
    ((X, X, G, S, 1.0, True), {}, TypeError, "expected at most 5 arguments by position, got 6"),
    ((X, X, G, S), {"gamma": G}, TypeError, "unexpected or second argument 'gamma'"),
    ((X, X, G, S), {"x": X}, TypeError, "unexpected or second argument 'x'"),
    ((X, 3.0, G, S), {}, TypeError, r"r: expected a tensor \(lnbwd.Rows\), got float"),
    ((X.numpy(), X, G, S), {}, TypeError, "x: expected a tensor .*got ndarray"),
    ((X, X, None, S), {}, TypeError, "g: expected a tensor .*got NoneType"),
    ((X, X, G.int(), S), {}, TypeError, r"g: expected float16.*got torch.int32; convert it"),
    ((X, X, G, S, G), {}, TypeError, "eps: expected a number, a bool or a str, got Tensor"),
    ((X, torch.ones(4, N + 1), G, S), {}, ValueError, r"r: expected the shape \[4, 48\].*got \[4"),
    ((X, X[:2], G, S), {}, ValueError, r"r: expected the shape \[4, 48\].*got \[2, 48\]"),
    ((X, X, G[:5], S), {}, ValueError, r"g: expected the shape \[48\] .*got \[5\]"),
    ((X, X, G, S[:, 0]), {}, ValueError, r"s: expected the shape \[4, 1\] .*got \[4\]"),
    ((X, X, G.to("meta"), S), {}, ValueError, "g: expected a tensor on cpu like x, got one on m"),
    ((X[:, :0], X[:, :0], G[:0], S), {}, ValueError, r"x: expected rows of one element or more"),
    ((torch.tensor(1.0), X, G, S), {}, ValueError, r"x: expected rows of one element or more"),
    ((X.view(1, 1, 1, 1, 1, 4, N),) * 2 + (G, S.view(1, 1, 1, 1, 1, 4, 1)), {}, ValueError,
     "x: expected at most 6 dimensions, got 7; flatten the leading ones")])
def test_arguments(args, options, error, words):
    place = rf"all_kinds \({re.escape(__file__)}:{inspect.getsourcelines(all_kinds)[1]}\): "
    function = lnbwd.rowwise(all_kinds)
    function(X, X, G, S)
    function(X, X, G, S, 1.0)
    with pytest.raises(error, match=place + ".*" + words):
        function(*args, **options)


def test_constants_that_change_are_warned_of():
    function = lnbwd.rowwise(all_kinds)
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        for place in range(70):
            function._plan([X, X, G, S, float(place), False], None)
    assert len([w for w in record if "compiled for 64 sets of types" in str(w.message)]) == 1
