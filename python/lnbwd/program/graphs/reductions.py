# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions of reductions, positions, comparisons with largest elements; any() as a largest."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.fx.node import map_arg
from torch.utils.checkpoint import CheckpointPolicy

from ..operands import COMPARISONS
from ..row_program import reached
from .conversion import LARGEST_EXACT, Conversion, Unsupported, converts, pick
from .nodes import is_block_max, is_view, known, of_kinds, row_sum_axis, sum_kind, summed_dims

aten, prims = torch.ops.aten, torch.ops.prims


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
    if known(node.target).place is not None:
        return _place_of_largest(c, node, value)
    if known(node.target).kind == "norm":
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
    """The position of the first of a row's largest elements (a NaN counts as one), or of its
    smallest, or that element and its position. The gradient belongs to that element only."""
    if c.domain.length > LARGEST_EXACT:
        raise Unsupported("gives numbers that float32 does not have")
    b = c.builder
    sized = b.add("neg", value) if node.target in (aten.argmin.default, aten.min.dim) else value
    is_it = b.add("or", b.add("eq", sized, b.add("detach", b.add("row_max", sized))),
                  b.add("ne", sized, sized))
    place = b.add("select", is_it, b.add("neg", b.add("index")), b.constant(-math.inf))
    first = b.add("detach", b.add("neg", b.add("row_max", place)))
    if known(node.target).place == 0:
        return first
    return pick(c, value, b.add("eq", b.add("index"), first)), first


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


@converts(*of_kinds("softmax"))
def _softmax(c: Conversion, node: Node) -> int:
    """softmax, log_softmax and logsumexp, which PyTorch's decompositions write with the row's
    largest element, which counts as a constant, since the results do not depend on it."""
    b = c.builder
    found = summed_dims(node)
    if found is None or found[0] != [found[1] - 1] or (
            node.args[0].meta["val"].shape[-1] != c.domain.length):  # type: ignore[union-attr]
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


@converts(operator.getitem)
def _getitem(c: Conversion, node: Node) -> int:
    pair = c.values.get(node.args[0])  # type: ignore[arg-type]
    if not isinstance(pair, tuple):
        raise Unsupported("takes a part of something that is no pair of numbers of a row")
    return int(pair[node.args[1]])  # type: ignore[index]


@converts(*of_kinds("reduction", "norm"))
def _sum(c: Conversion, node: Node) -> Any:
    return _check_row(c, node) if sum_kind(node, c.domain) else _row_sum(c, node)


_LARGEST = (aten.amax.default, aten.amin.default, aten.max.default, aten.min.default)
_COMPARISONS = {getattr(aten, name).Tensor for name in COMPARISONS}


def compared(graph: Graph) -> set[Node]:
    """The tensors that are compared with their own largest or smallest elements, here or by the
    backward pass, as in the gradient of amax, which divides by the number of these. Recomputed with
    other roundings, none might be equal."""
    return {base for target in _LARGEST
            for node in graph.find_nodes(op="call_function", target=target, sort=False) if (
                base := _base_of_size(node.args[0])
            ).meta.get("recompute") is CheckpointPolicy.MUST_SAVE or any(
                user.target in _COMPARISONS
                for one in reached([node], lambda one: filter(is_view, one.users))
                for user in one.users)}


def _base_of_size(node: Node) -> Node:
    """The node whose elements, or whose sizes, a node has."""
    while is_view(node) or node.target is aten.abs.default:
        node = node.args[0]  # type: ignore[assignment]
    return node


def _new_node(graph: Graph, target: Any, arguments: tuple[Any, ...], **options: Any) -> Node:
    """A call with its fake value. The graph has none that fails."""
    value = target(*map_arg(arguments, lambda n: n.meta["val"]), **options)
    node = graph.call_function(target, arguments, options)
    node.meta["val"] = value
    return node


def turn_to_maxima(graph: Graph, combines: Callable[[Node], Any]) -> None:
    """Turns any() over rows into the largest of ones and zeros, which kernels combine."""
    for node in list(graph.nodes):
        if node.target not in (aten.any.dim, aten.any.dims, aten.any.default):
            continue
        source, *rest = node.args
        with graph.inserting_before(node), source.meta["val"].fake_mode:
            is_true = _new_node(graph, aten.ne.Scalar, (source, 0))
            term = _new_node(graph, prims.convert_element_type.default, (is_true, torch.float32))
            most = _new_node(graph, aten.amax.default, (term, *rest), **node.kwargs)
            new = _new_node(graph, aten.ne.Scalar, (most, 0))
        if combines(most):
            node.replace_all_uses_with(new)
            graph.erase_node(node)
        else:
            for unused in (new, most, term, is_true):
                graph.erase_node(unused)
