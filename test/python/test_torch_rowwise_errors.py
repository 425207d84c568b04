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
from lnbwd.program import tracing, watching

pytestmark = pytest.mark.compiler

WEIGHT = torch.ones(N)


def sums_rows(x: Rows):
    y = x * 2
    return y - y.sum(0)  # HERE: sub uses a combination of all rows; expected it to be returned


def uses_all_rows(x: Rows):
    return x - x.sum()  # HERE: sub uses a combination of all rows; expected it to be returned


def smallest_of_rows(x: Rows):
    y = x.amin(0)  # HERE: amin does not sum over rows of Mx48; expected operations on
    return x * 2, y


def transposes(x: Rows):
    return x.t().contiguous().t()  # HERE: t is not supported in row functions; supported are: +


def multiplies(x: Rows):
    return x @ torch.ones(N, N)  # HERE: matmul is not supported in row functions


def rolls(x: Rows):
    y = torch.roll(x, 1, -1)  # HERE: roll is not supported in row functions
    return x + y


def accumulates(x: Rows):
    return x.cumsum(-1)  # HERE: cumsum is not supported in row functions; supported are: +


def takes_the_mean_of_all(x: Rows):
    return x / x.mean()  # HERE: mean goes over more than a row; expected the last dimension alone


def regroups(x: Rows):
    return x.view(-1, 8).softmax(-1).view(x.shape)  # HERE: softmax does not go over the row


def splits(x: Rows):
    a, b = x.chunk(2, -1)  # HERE: chunk takes a part of each row; expected parts of one length
    return torch.softmax(x, -1)[:, :24] * a * b


def splits_what_it_computed(x: Rows):
    a, b = x.exp().split(24, -1)  # HERE: split takes a part of each row; expected parts
    return a * b


def takes_unequal_parts(x: Rows):
    return x[..., :16].sum(-1) + x[..., 16:].sum(-1)  # HERE: indexing takes a part of each row


def takes_parts_between(x: Rows):
    return x[..., 12:36] * x[..., :24]  # HERE: indexing takes a part of each row


def takes_no_part(x: Rows):
    return x[..., 48:]  # HERE: indexing takes a part of each row; expected parts of one length


def takes_every_other(x: Rows):
    return x[..., ::2] * x[..., 1::2]  # HERE: indexing takes a part of each row


def branches(x: Rows):
    if x.sum() > 0:  # HERE: __bool__ looks at a tensor's elements
        return x
    return -x


def reads_an_element(x: Rows):
    return x * x.max().item()  # HERE: item looks at a tensor's elements


def drops_a_dimension_of_one_row(x: Rows):
    return x.sum(-1, keepdim=True).squeeze()  # HERE: squeeze drops a dimension of one row


def counts_rows(x: Rows):
    return x / x.shape[0]  # HERE: div computes with the number of rows


def asks_for_the_number_of_rows(x: Rows):  # HERE: it depends on the number of rows, M <= 3
    return x if x.shape[0] > 3 else -x


def draws_numbers(x: Rows):
    return x + torch.rand_like(x)  # HERE: rand_like draws random numbers, which is not supported


def drops_out(x: Rows):
    return torch.nn.functional.dropout(x, 0.25)  # HERE: dropout draws random numbers, which is not


def takes_another_tensor(x: Rows):
    return x * WEIGHT  # HERE: mul fails: it takes a tensor that is no parameter of the function


def changes_its_argument(x: Rows):
    x += 1  # HERE: add_ changes a parameter in place; expected a new tensor
    return x


def takes_a_power(x: Rows, z: Rows):
    return x ** z  # HERE: pow is not supported in row functions; supported are: +, -, *, /, ** with


def takes_an_infinite_power(x: Rows):
    return x ** float("inf")  # HERE: pow has the exponent inf; expected operations on the elements


def raises_a_number(x: Rows):
    return 2 ** x  # HERE: ** with an exponent that is no constant is not supported in row functions


def multiplies_up(x: Rows):
    return x.prod(-1)  # HERE: prod is not supported in row functions


def widens(x: Rows):
    return x.double()  # HERE: double gives float64 [M, 48]


def has_another_length(x: Rows, g: Columns):
    return x * g[:5]  # HERE: mul fails: The size of tensor a (48) must match


def returns_nothing(x: Rows):
    x * 2  # HERE: it returns nothing; expected a tensor of rows, or a tuple of them


def returns_a_number(x: Rows):  # HERE: it returns a float; expected a tensor of rows
    return 3.0


def returns_a_list(x: Rows):
    y = x * 2
    return [y]  # HERE: it returns a list; expected a tensor of rows


def returns_a_column(x: Rows, g: Columns):
    return g * 2  # HERE: mul is what it returns, float32 [48]; expected rows [M, 48] or row scalars


def returns_a_double(x: Rows):
    return x.double()  # HERE: double gives float64 [M, 48]; expected operations


def depends_on_nothing(x: Rows):  # HERE: none of its results depends on its rows
    return torch.zeros_like(x)


def numbers_in_integers(x: Rows):
    return x * torch.arange(48)  # HERE: arange gives other numbers than those of the columns; expe


def numbers_from_one(x: Rows):
    return x * torch.arange(1.0, 49.0)  # HERE: arange gives other numbers than those of the colum


REFUSED = [sums_rows, uses_all_rows, smallest_of_rows, transposes, multiplies, rolls, accumulates,
           takes_the_mean_of_all, regroups, splits, splits_what_it_computed, takes_unequal_parts,
           takes_parts_between, drops_a_dimension_of_one_row,
           takes_no_part, takes_every_other, branches, reads_an_element, counts_rows,
           asks_for_the_number_of_rows, draws_numbers, drops_out, takes_another_tensor,
           changes_its_argument, takes_a_power,
           takes_an_infinite_power, raises_a_number, multiplies_up, widens,
           has_another_length, returns_nothing, returns_a_number, returns_a_list, returns_a_column,
           returns_a_double, depends_on_nothing, numbers_in_integers, numbers_from_one]


def expected_words(function):
    """File, line, text and reason, by the function's comment."""
    lines, start = inspect.getsourcelines(function)
    offset, line = next((i, line) for i, line in enumerate(lines) if "# HERE: " in line)
    text, reason = line.strip().split("# HERE: ")
    shown = "" if offset == 0 else re.escape(f": `{text.strip()}")
    return re.escape(f"{__file__}:{start + offset}") + shown + ".*" + re.escape(
        f"{function.__name__} is not a row function: ") + ".*" + re.escape(reason)


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_is_not_a_row_function(function):
    """On the CPU as well, where PyTorch would compute it."""
    with pytest.raises(TypeError, match=expected_words(function)):
        lnbwd.rowwise(function)(*tensors_of(function, (4,)))


def test_sums_over_some_of_the_rows():
    def centred(x: Rows):
        return x - x.mean(1, keepdim=True) + x.sum(1, keepdim=True)

    with pytest.raises(TypeError, match="centred is not a row function: mean "):
        lnbwd.rowwise(centred)(torch.ones(2, 3, N))


@pytest.mark.parametrize("name", watching.FUNCTIONS + watching.SUMS_OF_ROWS)
def test_what_a_message_says_is_supported_is(name):
    def function(x: Rows):
        more = {"clamp": (0.0, 1.0), "maximum": (2 * x,), "minimum": (2 * x,)}.get(name, ())
        if name in watching.SUMS_OF_ROWS:
            result = getattr(torch, name)(x, dim=-1)
            return result[0] if name in ("max", "min") else (
                torch.where(result[..., None], x, 0.0) if name in ("all", "any") else result)
        return torch.where(x > 0, x, 1.0) if name == "where" else getattr(torch, name)(x, *more)

    signature = watching.Signature({"x": "row"}, {"x": torch.float32}, N, 2)
    trace = tracing.trace(function, lambda tensors: function(*tensors), signature, None)
    assert trace.program.nodes


def test_dropout_that_drops_nothing():
    def function(x: Rows, p: float, training: bool):
        return torch.nn.functional.dropout(x, p, training) * 2

    x = torch.ones(2, N)
    for p, training in ((0.5, False), (0.0, True)):
        assert torch.equal(lnbwd.rowwise(function)(x, p, training), 2 * x)
    with pytest.raises(TypeError, match=r"draw them outside and pass them as a parameter annotated "
                                        r"lnbwd\.Rows"):
        lnbwd.rowwise(function)(x, 0.5, True)


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
    (no_rows, "expected at least one parameter annotated lnbwd.Rows"),
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
    ((X, 3.0, G, S), {}, TypeError, "r: expected a tensor, got float"),
    ((X.numpy(), X, G, S), {}, TypeError, "x: expected a tensor, got ndarray"),
    ((X, X, None, S), {}, TypeError, "g: expected a tensor, got NoneType"),
    ((X, X, G.int(), S), {}, TypeError, r"g: expected float16.*got torch.int32; convert it"),
    ((X, X, G, S, G), {}, TypeError, "eps: expected a number, a bool or a str, got Tensor"),
    ((X, torch.ones(4, N + 1), G, S), {}, ValueError, r"r: expected the shape \[4, 48\].*got \[4"),
    ((X, X[:2], G, S), {}, ValueError, r"r: expected the shape \[4, 48\].*got \[2, 48\]"),
    ((X, X, G[:5], S), {}, ValueError, r"g: expected the shape \[48\] .*got \[5\]"),
    ((X, X, G, S[:, 0]), {}, ValueError, r"s: expected the shape \[4, 1\] .*got \[4\]"),
    ((X, X, G.to("meta"), S), {}, ValueError, "g: expected a tensor on cpu like x, got one on m"),
    ((torch.tensor(1.0), X, G, S), {}, ValueError, r"x: expected one dimension or more, got none"),
    ((X.view(1, 1, 1, 1, 1, 4, N),) * 2 + (G, S.view(1, 1, 1, 1, 1, 4, 1)), {}, ValueError,
     "x: expected at most 6 dimensions, got 7; flatten the leading ones")])
def test_arguments(args, options, error, words):
    place = rf"all_kinds \({re.escape(__file__)}:{inspect.getsourcelines(all_kinds)[1]}\): "
    function = lnbwd.rowwise(all_kinds)
    function(X, X, G, S)
    function(X, X, G, S, 1.0)
    with pytest.raises(error, match=place + ".*" + words):
        function(*args, **options)


@pytest.mark.parametrize("total", [lambda x: x.sum(0), lambda x: x.amax((0,))])
def test_one_dimension_has_no_rows_to_add(total):
    """PyTorch adds the elements there."""
    def function(x: Rows):
        return total(x)

    lnbwd.rowwise(function)(X)
    with pytest.raises(ValueError, match=r"x: expected two dimensions or more.*pass x\[None\]"):
        lnbwd.rowwise(function)(X[0])


def test_constants_that_change_are_warned_of():
    function = lnbwd.rowwise(all_kinds)
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        for place in range(70):
            function._plan([X, X, G, S, float(place), False], None)
    assert len([w for w in record if "compiled for 64 sets of types" in str(w.message)]) == 1
