# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the operations of a PyTorch graph to those of a row program.

Which value is rounded when: as in torch.compile's own kernels. All is computed in float32, and a
value is rounded to its type where it is written. Within a kernel it is rounded if it is written as
well (``regions.py``), or if Inductor's option ``emulate_precision_casts`` asks for that.
"""

from __future__ import annotations

import concurrent.futures
import functools
import math
import operator
from typing import Any

import torch
import torch._inductor.config
from torch._inductor import inductor_prims
from torch.fx import Node

from ..rowprogram import COMPARISONS, Input, RowProgram, operands_of
from .conversion import (
    HANDLERS,
    LARGEST_EXACT,
    TABLES,
    WINDOWS,
    Conversion,
    Unsupported,
    UnsupportedOperation,
    converts,
    describe,
    from_begin,
    is_misplaced,
    is_possible,
    is_power,
    reads_by_itself,
    spread_over,
)
from .domains import (
    DTYPES,
    ELEMENTS,
    FLOATS,
    INTEGERS,
    SMALL,
    Domain,
    is_permuted,
    memory_order,
    memory_shape,
    same,
)
from .fusion import base_of, is_in_memory
from .nodes import (
    CONSTANTS,
    INDICES,
    NORM,
    NUMBERS,
    OF_INTEGERS,
    ROW_SUMS,
    SOFTMAXES,
    STORED,
    VIEWS,
    WITH_INDICES,
    is_block_max,
    is_constant,
    is_index,
    is_seed,
    is_view,
    row_sum_axis,
    sources,
    sum_kind,
    summed_dims,
)

aten, prims = torch.ops.aten, torch.ops.prims

_COMPARISONS = {getattr(getattr(aten, name), kind): name for name in COMPARISONS
                for kind in ("Tensor", "Scalar")}

_NUMBERS = {
    aten.neg.default: "neg", aten.abs.default: "abs", aten.exp.default: "exp",
    aten.exp2.default: "exp2", aten.expm1.default: "expm1", aten.log.default: "log",
    aten.log2.default: "log2", aten.log1p.default: "log1p", aten.sqrt.default: "sqrt",
    aten.rsqrt.default: "rsqrt", aten.tanh.default: "tanh", aten.erf.default: "erf",
    aten.floor.default: "floor", aten.ceil.default: "ceil", aten.trunc.default: "trunc",
    aten.round.default: "roundeven", aten.sin.default: "sin", aten.cos.default: "cos",
    aten.maximum.default: "max", aten.minimum.default: "min", **_COMPARISONS}
"""Operations of all their arguments as numbers."""

_CONDITIONS = {
    aten.logical_and.default: "and", aten.logical_or.default: "or",
    aten.logical_xor.default: "xor", aten.bitwise_and.Tensor: "and",
    aten.bitwise_or.Tensor: "or", aten.bitwise_xor.Tensor: "xor",
    aten.logical_not.default: "not", aten.bitwise_not.default: "not"}
"""Those of all their arguments as conditions."""

# Those that take a factor for the second operand, alpha.
_SUMS_OF_TWO = {aten.add.Tensor: "add", aten.add.Scalar: "add", aten.sub.Tensor: "sub",
                aten.sub.Scalar: "sub"}


@converts(*_NUMBERS)
def _of_numbers(c: Conversion, node: Node) -> int:
    return c.builder.add(_NUMBERS[node.target], *map(c.number, node.args))


@converts(*_CONDITIONS)
def _of_conditions(c: Conversion, node: Node) -> int:
    return c.builder.add(_CONDITIONS[node.target],  # type: ignore[index]
                         *map(c.condition, node.args))


@converts(aten.mul.Tensor, aten.mul.Scalar)
def _product(c: Conversion, node: Node) -> int:
    is_and = node.meta["val"].dtype == torch.bool
    first, second = map(c.condition if is_and else c.number, node.args)
    made = c.builder.nodes[first]
    if is_scale(node) and made[0] == "div":  # A reciprocal: one quotient is rounded once.
        return c.builder.add("div", second, made[2])
    return c.builder.add("and" if is_and else "mul", first, second)


@converts(aten.div.Tensor, aten.div.Scalar)
def _quotient(c: Conversion, node: Node) -> int:
    first, second = map(c.number, node.args)
    if second in c.inverses:
        return c.builder.add("mul", first, c.inverses[second])
    divisor = c.builder.number(second)
    # Exact for powers of two alone.
    if divisor and math.frexp(abs(divisor))[0] == 0.5:
        return c.multiply(first, 1 / divisor)
    return c.builder.add("div", first, second)


@converts(*_SUMS_OF_TWO)
def _sum_of_two(c: Conversion, node: Node) -> int:
    alpha = node.kwargs.get("alpha", 1)
    if not isinstance(alpha, (int, float)):
        raise Unsupported(f"has the factor {alpha}")
    second = c.multiply(c.number(node.args[1]), alpha)
    return c.builder.add(_SUMS_OF_TWO[node.target],  # type: ignore[index]
                         c.number(node.args[0]), second)


@converts(*([prims.fma.default] if hasattr(prims, "fma") else []))
def _fma(c: Conversion, node: Node) -> int:
    # The product is not rounded: the compiler contracts it with the sum.
    first, second, addend = (c.number(argument) for argument in node.args[:3])
    return c.builder.add("add", c.builder.add("mul", first, second), addend)


@converts(aten.addcmul.default)
def _addcmul(c: Conversion, node: Node) -> int:
    addend, first, second = map(c.number, node.args)
    factor: Any = node.kwargs.get("value", 1)
    product = c.multiply(c.builder.add("mul", first, second), factor)
    return c.builder.add("add", addend, product)


@converts(aten.where.self)
def _select(c: Conversion, node: Node) -> int:
    condition, *values = node.args[:3]
    return c.builder.add("select", c.condition(condition), *map(c.number, values))


def _is_exact(argument: Any) -> bool:
    """Whether an operand of a comparison is an integer, or integers, that float32 has."""
    while isinstance(argument, Node) and is_view(argument):
        argument = argument.args[0]
    if isinstance(argument, Node) and is_constant(argument):
        argument = argument.args[CONSTANTS[argument.target]]  # type: ignore[index]
    if isinstance(argument, Node):
        return argument.target is NUMBERS or is_index(argument)
    return isinstance(argument, int) and abs(argument) < LARGEST_EXACT


@converts(NUMBERS)
def _column_numbers(c: Conversion, node: Node) -> int:
    options = {"start": 0, "step": 1, **node.kwargs}
    if node.args[0] != c.domain.length or (options["start"], options["step"]) != (0, 1) or (
            c.domain.length > LARGEST_EXACT):
        raise Unsupported("gives other numbers than those of the columns")
    return c.builder.add("index")


@converts(aten.gather.default)
def _gather(c: Conversion, node: Node) -> int:
    """The element of each row that an index says: of all the others, 0 is added to it."""
    values, dim, index = node.args[:3]
    shape = values.meta["val"].shape  # type: ignore[union-attr]
    if (dim not in (-1, len(shape) - 1) or not same(shape[-1], c.domain.length)
            or c.domain.role(node.meta["val"]) != "scalar" or c.domain.length == 1):
        raise Unsupported("takes other elements than one of each row")
    value = _check_row(c, node)
    return _pick(c, value, c.builder.add("eq", c.builder.add("index"), c.value(index)))


def _pick(c: Conversion, value: int, is_it: int) -> int:
    """The element of a row where a condition holds. Of what is computed with sums over the row, it
    is computed of the operand's element, which is picked while those are added up: long rows are
    read once less."""
    b = c.builder
    if c.follows_from_sum(value) and not c.is_trial:
        inputs = tuple(operand for _, operand in c.inputs)
        rows = RowProgram(b.length, None, inputs, tuple(b.nodes), ()).is_row()
        *others, last = sorted(operands_of(b.nodes[value]), key=rows.__getitem__)
        if not any(rows[other] for other in others) and not c.is_condition(last):
            picked = _pick(c, last, is_it)
            name, *operands = b.nodes[value]
            return b.add(name, *(picked if one == last else one for one in operands))
    return b.add("row_sum", b.add("select", is_it, value, b.constant(0)))


@converts(*TABLES)
def _embedding(c: Conversion, node: Node) -> int:
    """A row of a table for each index. PyTorch promises nothing for an index outside of the table,
    for which the kernel takes the last row."""
    table: Any = node.args[0]
    value, element = table.meta["val"], DTYPES.get(table.meta["val"].dtype)
    if (element is None or value.dim() != 2 or not isinstance(value.shape[0], int)
            or not same(value.shape[1], c.domain.length) or not value.is_contiguous()
            or any(node.args[3:]) or c.domain.role(node.meta["val"]) != "row"):
        raise Unsupported("takes other rows than those of a dense table")
    rows = c.input(table, Input("table", element, rows=int(value.shape[0])))
    return c.builder.add("take", rows, c.value(node.args[1]))


@converts(*VIEWS)
def _view(c: Conversion, node: Node) -> int:
    source: Any = node.args[0]
    before, after = source.meta["val"], node.meta["val"]
    if spread_over(node, c.domain) is None:
        # What is not viewed but copied has a contiguous result.
        if STORED in source.meta and not _is_viewed(node, before):
            raise UnsupportedOperation("is a view of what is stored in another order")
        has_order = None not in (memory_order(before), memory_order(after))
        if (not has_order if node.target is aten.permute.default
                else is_permuted(before) != is_permuted(after)):
            raise UnsupportedOperation("changes the order of elements")
    if node.target is aten.as_strided.default and not (
            before.is_contiguous() and after.is_contiguous()
            and same(before.numel(), after.numel())):
        raise Unsupported("takes some elements of a tensor")
    if node.target is aten.clone.default and base_of(source) not in c.values and not (
            c.over is None or c.is_trial or is_in_memory(source)):
        return c.moved(source, {})
    value = c.value(source)
    return c.condition(source) if after.dtype == torch.bool else value


def _is_viewed(node: Node, value: torch.Tensor) -> bool:
    """Whether a view of a value lies as a node does."""
    try:
        with value.fake_mode:  # type: ignore[attr-defined]
            view = node.target(value, *node.args[1:], **node.kwargs)  # type: ignore[operator]
    except (RuntimeError, ValueError):  # It would be a copy.
        return False
    return bool(view.stride() == node.meta["val"].stride())


@converts(prims.convert_element_type.default)
def _cast(c: Conversion, node: Node) -> int:
    to = node.meta["val"].dtype
    source = node.args[0].meta["val"].dtype  # type: ignore[union-attr]
    if source not in (*ELEMENTS, *INTEGERS, torch.float64) or to not in (*ELEMENTS, torch.float64):
        raise Unsupported(f"converts from {source} to {to}")
    if to == torch.bool:
        return c.condition(node.args[0])
    value = c.number(node.args[0])
    is_rounded = torch._inductor.config.emulate_precision_casts or to.itemsize == 1
    if to in (source, torch.float32) or source == torch.bool or not is_rounded:
        return value
    return c.round(value, to)


@converts(aten.pow.Tensor_Scalar, aten.square.default)
def _power(c: Conversion, node: Node) -> int:
    exponent = 2 if node.target is aten.square.default else node.args[1]
    if not isinstance(exponent, (int, float)) or not math.isfinite(exponent):
        raise Unsupported(f"has the exponent {exponent}")
    return c.builder.power(c.number(node.args[0]), exponent)


@converts(aten.sign.default)
def _sign(c: Conversion, node: Node) -> int:
    """0 of 0 and of a NaN, as PyTorch has it."""
    b, value = c.builder, c.number(node.args[0])
    zero = b.constant(0)
    rest = b.add("select", b.add("lt", value, zero), b.constant(-1), zero)
    return b.add("select", b.add("gt", value, zero), b.constant(1), rest)


@converts(aten.reciprocal.default)
def _reciprocal(c: Conversion, node: Node) -> int:
    return c.builder.add("div", c.builder.constant(1), c.number(node.args[0]))


@converts(aten.sigmoid.default)
def _sigmoid(c: Conversion, node: Node) -> int:
    one = c.builder.constant(1)
    power = c.builder.add("exp", c.builder.add("neg", c.number(node.args[0])))
    return c.builder.add("div", one, c.builder.add("add", one, power))


@converts(aten.relu.default)
def _relu(c: Conversion, node: Node) -> int:
    # Not the larger of two: the slope is 0 at 0, and a NaN stays one.
    value, zero = c.number(node.args[0]), c.builder.constant(0)
    return c.builder.add("select", c.builder.add("le", value, zero), zero, value)


@functools.cache
def clamp_has_slopes_at_bounds() -> bool:
    """Whether the gradient of PyTorch's clamp, by numbers, is 1 at the bounds, as it is up to 2.13,
    and not 0."""
    def slope() -> bool:
        x = torch.zeros((), dtype=torch.float32, device="cpu", requires_grad=True)
        return bool(torch.autograd.grad(x.clamp(min=0), x)[0])

    # A thread of its own is in none of the caller's modes, transforms and hooks.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(slope).result()


@converts(aten.clamp.default, aten.clamp_min.default, aten.clamp_max.default)
def _clamp(c: Conversion, node: Node) -> int:
    value = c.number(node.args[0])
    # The comparison that says that the result is the bound, which has no slope.
    below, above = ("lt", "gt") if clamp_has_slopes_at_bounds() else ("le", "ge")
    names = {aten.clamp_min.default: (below,), aten.clamp_max.default: (above,)}
    bounds = names.get(node.target, (below, above))  # type: ignore[call-overload]
    given = list(node.args[1:]) + [None] * (len(bounds) - len(node.args) + 1)
    for position, (name, bound) in enumerate(zip(bounds, given, strict=False)):
        if bound is None:
            bound = node.kwargs.get(("min", "max")[position])
        if bound is not None:
            limit = c.number(bound)
            value = c.builder.add("select", c.builder.add(name, value, limit), limit, value)
    return value


def _check_row(c: Conversion, node: Node) -> int:
    value = node.args[0].meta.get("val")  # type: ignore[union-attr]
    if c.domain.role(value) != "row":
        raise Unsupported("sums over something else than a row")
    return c.number(node.args[0])


def _row_sum(c: Conversion, node: Node) -> Any:
    if is_block_max(node, c.domain):
        return c.builder.add("block_max", _check_row(c, node),
                             c.domain.repeats(node.meta["val"]), 1)
    if row_sum_axis(node) != c.domain:
        raise Unsupported(f"does not sum over rows of {c.domain}")
    value = _check_row(c, node)
    if node.target is aten.amax.default:
        return c.builder.add("row_max", value)
    if node.target in (aten.any.dim, aten.any.dims):
        zero = c.builder.constant(0)
        if not c.is_condition(c.value(node.args[0])):
            # A NaN is not 0.
            value = c.builder.add("select", c.builder.add("eq", value, zero), zero,
                                  c.builder.constant(1))
        return c.builder.add("ne", c.builder.add("row_max", value), zero)
    if node.target is aten.amin.default:
        return c.builder.add("neg", c.builder.add("row_max", c.builder.add("neg", value)))
    if node.target in INDICES or node.target in WITH_INDICES:
        return _place_of_largest(c, node, value)
    if node.target is NORM:
        return _norm(c, node, value)
    if node.target is aten.sum.dim_IntList:
        return c.builder.add("row_sum", value)
    mean = c.mean(value)
    if node.target is aten.mean.dim:
        return mean
    correction = node.kwargs.get("correction", 1)
    if not isinstance(correction, (int, float)) or correction >= c.domain.length:
        raise Unsupported(f"has the correction {correction}")
    centred = c.builder.add("sub", value, mean)
    total = c.builder.add("row_sum", c.builder.add("mul", centred, centred))
    variance = c.multiply(total, 1 / (c.domain.length - correction))
    return (variance, mean) if node.target is aten.var_mean.correction else variance


def _place_of_largest(c: Conversion, node: Node, value: int) -> Any:
    """The number of the first of a row's largest elements, of which a NaN is one, or of its
    smallest, or that element and its number. The element's gradient is its own alone."""
    if c.domain.length > LARGEST_EXACT:
        raise Unsupported("gives numbers that float32 does not have")
    b = c.builder
    sized = b.add("neg", value) if node.target in (aten.argmin.default, aten.min.dim) else value
    is_it = b.add("or", b.add("eq", sized, b.add("detach", b.add("row_max", sized))),
                  b.add("ne", sized, sized))
    place = b.add("select", is_it, b.add("neg", b.add("index")), b.constant(-math.inf))
    first = b.add("detach", b.add("neg", b.add("row_max", place)))
    if node.target in INDICES:
        return first
    return _pick(c, value, b.add("eq", b.add("index"), first)), first


def _norm(c: Conversion, node: Node, value: int) -> int:
    """The p-norm of a row. Its gradient is 0 where it is 0, as PyTorch has it: there a root has
    none. The same holds of an element that is 0, for powers below 1."""
    b = c.builder
    order = node.args[1] if len(node.args) > 1 else 2
    if not isinstance(order, (int, float)) or math.isnan(order):
        raise Unsupported(f"has the order {order}")
    zero, one = b.constant(0), b.constant(1)
    if order == 0:
        return b.add("row_sum", b.add("select", b.add("eq", value, zero), zero, one))
    size = b.add("abs", value)
    if order == math.inf:
        return b.add("row_max", size)
    if order == -math.inf:
        return b.add("neg", b.add("row_max", b.add("neg", size)))
    if order == 1:
        return b.add("row_sum", size)
    if order == 2:
        terms = b.add("mul", value, value)
    elif 0 < order < 1:
        is_zero = b.add("eq", value, zero)
        terms = b.power(b.add("select", is_zero, one, size), order)
        terms = b.add("select", is_zero, zero, terms)
    else:
        terms = b.power(size, order)
    total = b.add("row_sum", terms)
    is_zero = b.add("eq", total, zero)
    root = b.power(b.add("select", is_zero, one, total), 1 / order)
    return b.add("select", is_zero, zero if order > 0 else b.constant(math.inf), root)


@converts(*SOFTMAXES)
def _softmax(c: Conversion, node: Node) -> int:
    """softmax, log_softmax and logsumexp, which PyTorch's decompositions write with the row's
    largest element. None of them depends on what is taken off, so it counts as a constant."""
    b = c.builder
    found = summed_dims(node)
    if found is None or found[0] != [found[1] - 1] or (
            memory_shape(node.args[0].meta["val"])[-1] != c.domain.length):  # type: ignore[union-attr]
        raise Unsupported("does not go over the row")
    value = _check_row(c, node)
    largest = b.add("detach", b.add("row_max", value))
    if node.target is aten.logsumexp.default:
        # Where all elements are -inf, or one is inf, nothing is taken off.
        infinite = b.add("eq", b.add("abs", largest), b.constant(math.inf))
        largest = b.add("select", infinite, b.constant(0), largest)
    shifted = b.add("sub", value, largest)
    exponential = b.add("exp", shifted)
    total = b.add("row_sum", exponential)
    if node.target is aten._softmax.default:
        return b.add("div", exponential, total)
    if node.target is aten._log_softmax.default:
        return b.add("sub", shifted, b.add("log", total))
    return b.add("add", b.add("log", total), largest)


@converts(inductor_prims.random)
def _random(c: Conversion, node: Node) -> int:
    """The numbers that Inductor draws in the kernel of a reduction: by the place of each element in
    its tensor."""
    seed, mode = node.args[1:3]
    if (mode != "rand" or any(node.kwargs.values()) or not isinstance(seed, Node)
            or not is_seed(seed) or c.domain.role(node.meta["val"]) != "row"):
        raise Unsupported(f"draws {describe(node.meta['val'])} by {mode}")
    return c.builder.add("random", c.input(seed, Input("number", "i64")))


@converts(operator.getitem)
def _getitem(c: Conversion, node: Node) -> int:
    pair = c.values.get(node.args[0])  # type: ignore[arg-type]
    if not isinstance(pair, tuple):
        raise Unsupported("takes a part of something that is no pair of numbers of a row")
    return int(pair[node.args[1]])  # type: ignore[index]


def _column_sum(c: Conversion, node: Node) -> int:
    if sum_kind(node, c.domain) is None:
        raise Unsupported(f"does not sum over the rows of {c.domain}")
    value = _check_row(c, node)
    if node.target is aten.mean.dim:
        before, after = node.args[0].meta["val"], node.meta["val"]  # type: ignore[union-attr]
        return c.multiply(value, after.numel() / before.numel())
    return value


def _inside(c: Conversion, node: Node, dim: int, begin: int, end: int) -> int | None:
    """Whether an index of a node is one of some; None if all are."""
    b = c.builder
    first, count = c.first_digit(dim)
    if begin % count or end % count:
        raise Unsupported("puts a part of what is joined to one dimension")
    result: int | None = None
    if begin > 0:
        result = b.add("ge", first, b.constant(begin // count))
    if end < node.meta["val"].shape[dim]:
        is_before = b.add("lt", first, b.constant(end // count))
        result = is_before if result is None else b.add("and", result, is_before)
    return result


@converts(aten.cat.default)
def _cat(c: Conversion, node: Node) -> int:
    """Tensors one behind the other: each where its indices are."""
    arguments: Any = (*node.args, node.kwargs.get("dim", 0))
    rank = node.meta["val"].dim()
    dim: int = arguments[1] % rank
    begin, pieces = 0, []
    for part in arguments[0]:
        if part.meta["val"].dim() != rank or not isinstance(
                size := part.meta["val"].shape[dim], int):
            raise Unsupported("joins tensors of unknown sizes")
        pieces.append((begin + size, c.moved(part, {dim: -begin})))
        begin += size
    result = pieces.pop()[1]
    for end, value in reversed(pieces):
        result = c.builder.add("select", _inside(c, node, dim, 0, end), value, result)
    return result


@converts(*WINDOWS - {aten.cat.default})
def _put(c: Conversion, node: Node) -> int:
    """A tensor put into another, or among equal numbers."""
    arguments: Any = node.args
    rank = node.meta["val"].dim()
    begins: dict[int, Any]
    missing = None
    if node.target is aten.constant_pad_nd.default:
        source, amounts = arguments[:2]
        around = arguments[2] if len(arguments) > 2 else 0
        begins = {rank - 1 - i: amounts[2 * i] for i in range(len(amounts) // 2)}
    else:
        around, source, *where = arguments
        options: Any = dict(zip(("dim", "start", "end", "step"), where, strict=False))
        options |= node.kwargs
        dim = options.get("dim", 0) % rank
        if node.target is aten.select_scatter.default:
            missing, options = dim, {"start": options.get("index", options.get("start"))}
        if options.get("step", 1) != 1:
            raise Unsupported("puts elements apart")
        begins = {dim: from_begin(node, dim, options.get("start"))}
    shape = list(source.meta["val"].shape)
    if missing is not None:
        shape.insert(missing, 1)
    if not all(isinstance(number, int) for number in (*begins.values(), *shape)):
        raise Unsupported("puts a tensor of unknown size")
    value = c.moved(source, {dim: -begin for dim, begin in begins.items()}, missing)
    inside = None
    for dim, begin in begins.items():
        found = _inside(c, node, dim, begin, begin + shape[dim])
        if found is not None:
            inside = found if inside is None else c.builder.add("and", inside, found)
    return value if inside is None else c.builder.add(
        "select", inside, value, c.number(around))


@converts(*ROW_SUMS.keys() - SOFTMAXES)
def _sum(c: Conversion, node: Node) -> Any:
    return _column_sum(c, node) if sum_kind(node, c.domain) else _row_sum(c, node)


_SCALES = (prims.convert_element_type.default, aten.clamp_min.default, aten.reciprocal.default,
           aten.mul.Tensor)
"""What a scale of float8 is made with in float64, one after another: a number over the largest
magnitude, which is rounded to float32 once. The product is one with the reciprocal."""


def is_scale(node: Node) -> bool:
    """Whether a node is a step of such a scale."""
    if node.target not in _SCALES or node.meta["val"].dtype != torch.float64:
        return False
    source, *others = node.args
    if node.target is aten.mul.Tensor and (
            not isinstance(source, Node) or source.target is not aten.reciprocal.default):
        return False
    return not any(isinstance(other, Node) for other in others) and isinstance(source, Node) and (
        source.meta["val"].dtype in DTYPES if node.target is _SCALES[0] else is_scale(source)
        and _SCALES.index(source.target) < _SCALES.index(node.target))


def is_supported(node: Node, domain: Domain) -> bool:
    """Whether a node can be part of a row program over the domain, its operands being parts of it
    or coming from outside."""
    return is_possible(check, node, domain)


def _is_of_columns(value: torch.Tensor, over: Any, domain: Domain) -> bool:
    """Whether a tensor of as many elements as a row, spread over group columns, has one for each
    column: numbers of groups may be as many."""
    assert domain.groups is not None
    place = Domain(domain.groups, domain.length).place(value, over)
    return place is not None and place.kind == "column"


def is_elsewhere(node: Node, domain: Domain) -> bool:
    """Whether a node gives a tensor that is no part of the domain: most nodes of a graph are of
    other domains."""
    value = node.meta.get("val")
    return (isinstance(value, torch.Tensor) and node.target not in ROW_SUMS
            and domain.role(value) in (None, "number"))


def check(node: Node, domain: Domain) -> None:
    """Raises :class:`Unsupported`, with the reason, if :func:`is_supported` does not hold."""
    if node.op != "call_function" or is_constant(node):
        raise Unsupported(f"is a {node.op}")
    if is_power(node, domain):
        return
    if node.target not in HANDLERS:
        raise UnsupportedOperation(f"{node.target} is no operation of row programs")
    value = node.meta.get("val")
    is_sum = node.target in ROW_SUMS
    if node.target is operator.getitem:
        pair = node.args[0]
        if (not isinstance(pair, Node) or row_sum_axis(pair) != domain
                or pair.target not in (aten.var_mean.correction, *WITH_INDICES)):
            raise Unsupported("takes a part of a tuple")
        return
    if is_elsewhere(node, domain):
        raise Unsupported(f"gives {describe(value)}, which is no row block, row scalar or column "
                          f"of {domain}")
    results = value if isinstance(value, tuple) else (value,)
    for result in results:
        role = domain.role(result)
        if not isinstance(result, torch.Tensor) or not (
                result.dtype in ELEMENTS or (role != "row" and is_scale(node))
                or (result.dtype in INTEGERS and (
                    node.target in OF_INTEGERS or node.target in INDICES
                    or (node.target in WITH_INDICES and result is results[1])))):
            raise Unsupported(f"gives {describe(result)}")
    role = domain.role(results[0])
    trial = Conversion(domain, is_trial=True)
    if reads_by_itself(node):
        if role != "row":
            raise Unsupported(f"gives {describe(results[0])}")
        trial.convert(node)
        return
    for source in sources(node):
        source_value = source.meta["val"]
        if is_constant(source) or is_seed(source):
            continue
        if not isinstance(source_value, torch.Tensor):
            raise Unsupported("takes a tuple")
        kind = domain.role(source_value)
        over = spread_over(node, domain)
        if over is not None:
            place = domain.place(source_value, over)
            kind = place.kind if place else None
            if kind == "lead" and is_misplaced(source, over, domain):
                raise Unsupported(f"spreads {source.name} in its own way")
        if kind is None or (kind == "number" and source_value.dtype not in SMALL):
            raise Unsupported(f"reads {describe(source_value)}")
        if over is None and not is_sum and kind not in (role, "number") and not (
                (role, kind) == ("group_column", "column") and _is_of_columns(
                    source_value, value, domain)) and node.target is not aten.gather.default:
            raise Unsupported(f"makes a {role} of a {kind}")
        is_step = is_scale(source) and (is_scale(node) or node.target is _SCALES[0])
        if source_value.dtype == torch.bool:
            trial.values[source] = trial.builder.add("eq", trial.builder.constant(0),
                                                     trial.builder.constant(0))
        elif source_value.dtype in FLOATS or is_step or (source_value.dtype in INTEGERS and (
                node.target in OF_INTEGERS or node.target is aten.gather.default
                or node.target is prims.convert_element_type.default
                or (node.target in _COMPARISONS and any(map(_is_exact, node.args))))):
            trial.values[source] = trial.builder.add("input", len(trial.values))
        else:
            raise Unsupported(f"reads elements of {source_value.dtype}")
    trial.convert(node)
