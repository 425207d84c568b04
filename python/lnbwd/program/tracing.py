# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a Python function over rows to a row program; :mod:`.row_functions` is for users.

The function is run once on tensors that have types and shapes but no elements, its leading
dimensions symbols, and what it does is written down (make_fx) in the operations that Inductor's
decompositions leave, which :mod:`.graphs.conversion` makes nodes of a row program. While it
runs, each call of PyTorch is seen (:class:`.Watch`): that tells on which line an operation stands,
which casts the function asks for, what it takes out of the gradient, where it looks at data.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.fx import Node

from ..core.base.errors import refusal
from . import watching
from .graphs.conversion import Conversion, Unsupported, UnsupportedOperation, check
from .graphs.nodes import (
    DTYPES,
    ELEMENTS,
    FLOATS,
    INTEGERS,
    SCALARS,
    Domain,
    is_constant,
    is_index,
    is_random,
    is_view,
    kind_of,
    known,
    product,
    sum_kind,
)
from .graphs.reductions import turn_to_maxima
from .operands import CONDITIONS, INPUT_KINDS, OUTPUT_KINDS, Output
from .row_program import RowProgram, operands_of, reached
from .torch_internals.eager import is_operator
from .watching import Label, Signature, Trace, Watch, alone

aten, prims = torch.ops.aten, torch.ops.prims

# Nodes that are constants to whoever derives the gradient.
_CONSTANT = CONDITIONS | {"detach", "integer"}

_PARTS = ("takes a part of each row; expected parts of one length, of parameters that nothing uses "
          "whole; or pass the parts as parameters, as in f(*x.chunk(2, -1))")


def _make_functional(node: Node, order: Mapping[Node, int]) -> None:
    """Replaces operations in place on results of PyTorch's own functions."""
    schema = node.target._schema  # type: ignore[union-attr]
    if not schema.is_mutable:
        return
    changed = node.args[0]
    packet = getattr(aten, schema.name.split("::")[1].rstrip("_"), None)
    overload = getattr(packet, schema.overload_name or "default", None)
    if (overload is None or not isinstance(changed, Node) or changed.op == "placeholder"
            or any(user is not node and (is_view(user) or order[user] > order[node])
                   for user in changed.users)):
        raise Unsupported("changes a tensor in place")
    node.target = overload


def _part(node: Node) -> tuple[Node, int, int] | None:
    """The node of whose rows a node takes a part, the part's first element and its length."""
    source: Any
    dim: Any
    start: Any
    if node.target is operator.getitem:
        split: Any = node.args[0]
        if not isinstance(split, Node) or kind_of(split) != "split":
            return None
        source, dim = split.args[0], split.args[2] if len(split.args) > 2 else 0
        start = sum(part.shape[-1] for part in split.meta["val"][:node.args[1]])
    elif node.target is aten.slice.Tensor:
        given = dict(enumerate(node.args))
        source, dim, start = node.args[0], given.get(1, 0), given.get(2) or 0
        if given.get(4, 1) != 1:
            return None
    else:
        return None
    shape = source.meta["val"].shape
    if dim % len(shape) != len(shape) - 1:
        return None
    return source, start % shape[-1], node.meta["val"].shape[-1]


def _cut(graph: torch.fx.Graph, signature: Signature) -> tuple[int, Signature]:
    """Makes each part of rows and columns a parameter, where a function uses nothing else of them
    and all parts have one length; how many parts there are, and the signature with these."""
    nodes = dict(zip(signature.kinds, (n for n in graph.nodes if n.op == "placeholder"),
                     strict=True))
    wholes = {node for name, node in nodes.items() if signature.kinds[name] in ("row", "column")}
    found = {node: part for node in graph.nodes
             if (part := _part(node)) is not None and part[0] in wholes}
    lengths = {length for _, _, length in found.values()}
    length = lengths.pop() if lengths else 0
    users = {user for whole in wholes for user in whole.users}
    if (lengths or not length or signature.length % length
            or any(start % length for _, start, _ in found.values())
            or not all(user in found or (kind_of(user) == "split" and all(
                part in found for part in user.users)) for user in users)):
        return 1, signature
    count = signature.length // length
    kinds, dtypes = dict[str, str](), dict[str, torch.dtype]()
    for name, node in nodes.items():
        kind, dtype = signature.kinds[name], signature.dtypes[name]
        if node not in wholes:
            kinds[name], dtypes[name] = kind, dtype
            continue
        value, parts = node.meta["val"], []
        for place in range(count):
            with graph.inserting_before(node):
                parts.append(graph.placeholder(f"{node.name}_{place}"))
            parts[-1].meta["val"] = value.new_empty((*value.shape[:-1], length))
            kinds[f"{name}[{place}]"], dtypes[f"{name}[{place}]"] = kind, dtype
        for taken, (source, start, _) in found.items():
            if source is node:
                taken.replace_all_uses_with(parts[start // length])
    for node in dict.fromkeys((*found, *users, *wholes)):
        graph.erase_node(node)
    return count, dataclasses.replace(signature, kinds=kinds, dtypes=dtypes, length=length)


def _column_numbers(conversion: Conversion, node: Node) -> int:
    """The number of each column, which torch.arange of the row length gives."""
    length = conversion.domain.length
    if (node.target is not aten.arange.default or node.args[0] != length
            or node.meta["val"].dtype != torch.float32 or length > 2 ** 24):
        raise UnsupportedOperation(f"{node.target} gives other numbers")
    return conversion.builder.add("index")


def _partial(node: Node, domain: Domain) -> str | None:
    """The output for a node that combines rows along some of their first dimensions."""
    if node.target not in (aten.sum.dim_IntList, aten.amax.default) or len(node.args) != 2:
        return None
    source: Any = node.args[0]
    along: Any = node.args[1]
    shape = source.meta["val"].shape
    dims = sorted(d % len(shape) for d in ([along] if isinstance(along, int) else along))
    is_number = bool(dims) and dims[-1] == len(shape) - 1
    first = dims[:-1] if is_number else dims
    if (domain.length == 1 or domain.role(source.meta["val"]) != "row"
            or not 0 < len(first) < len(shape) - 1 or first != list(range(len(first)))):
        return None
    return ("part_total" if is_number else "part") + (
        "_max" if node.target is aten.amax.default else "" if is_number else "_sum")


def _combined(node: Node, domain: Domain) -> tuple[str, bool | None] | None:
    """The output for a node that combines rows, maybe in another type, and the condition for it."""
    value = node.meta.get("val")
    if not isinstance(value, Tensor):
        return None
    if value.dtype == torch.bool:
        found = node.target in (aten.ne.Scalar, aten.logical_not.default) and _combined(
            node.args[0], domain)  # type: ignore[arg-type]
        return (found[0], found[1] is None) if found else None
    if value.dtype not in DTYPES:
        return None
    if node.target is prims.convert_element_type.default:
        return _combined(node.args[0], domain)  # type: ignore[arg-type]
    if value.dim() == 1 and (kind := sum_kind(node, domain)):
        return kind, None
    kind = _partial(node, domain) if value.dim() else known(node.target).total
    return (kind, None) if kind else None


def _sources(conversion: Conversion, node: Node) -> frozenset[int]:
    """The inputs with respect to which a value has a gradient."""
    made = conversion.builder.nodes
    used = reached([conversion.value(node)], lambda index: () if made[index][0] in _CONSTANT
                   else operands_of(made[index]))
    return frozenset(made[index][1] for index in used if made[index][0] == "input")


def _convert(conversion: Conversion, node: Node, label: Label, order: Mapping[Node, int],
             has_detached: bool) -> None:
    """Makes the value of a node, using its label."""
    conversion.over = None  # (Where the node before stood.)
    if node.op == "get_attr":
        raise Unsupported("reads a tensor that is no parameter; expected parameters and numbers")
    if is_operator(node.target):
        _make_functional(node, order)
    if kind_of(node) == "columns":
        conversion.values[node] = _column_numbers(conversion, node)
        return
    if node.target is prims.inductor_random.default and node.args[1] in conversion.values:
        conversion.values[node] = conversion.builder.add(
            "random", conversion.values[node.args[1]])  # type: ignore[index]
        return
    if found := _combined(node, conversion.domain):
        source: Any = node.args[0]
        conversion.values[node] = conversion.value(source)
        if "total" in found[0] and conversion.domain.role(source.meta["val"]) == "row":
            conversion.values[node] = conversion.builder.add(
                "row_max" if found[0].endswith("_max") else "row_sum", conversion.values[node])
        return
    if any(_combined(used, conversion.domain) for used in node.all_input_nodes):
        raise Unsupported("uses a combination of all rows; expected it to be returned unchanged")
    if sum_kind(node, conversion.domain):
        raise Unsupported("sums over the rows; expected no operation that mixes rows")
    source = node.args[0].meta.get("val") if isinstance(node.args[0], Node) else None
    is_cast = node.target is prims.convert_element_type.default and isinstance(source, Tensor)
    is_power = is_cast and source.dtype == torch.float8_e8m0fnu
    if not is_power:
        check(node, conversion.domain)
    if is_power or (is_cast and source.dtype in FLOATS and node.meta["val"].dtype in FLOATS):
        # Values are float32, whatever PyTorch's type for them is, but where the function itself
        # asks for another one.
        value = conversion.value(node.args[0])
        to = node.meta["val"].dtype
        if label.is_cast and to != torch.float32:
            value = conversion.builder.add("round", value, FLOATS[to])
        conversion.values[node] = value
    else:
        conversion.convert(node)
    value = conversion.values[node]
    is_alias = node.target in (aten.alias.default, aten.detach.default)
    is_condition = isinstance(node.meta["val"], Tensor) and node.meta["val"].dtype == torch.bool
    if (label.is_detached or (is_alias and has_detached)) and not is_condition:
        def detach(v: int) -> int:
            return conversion.builder.add("detach", v)

        conversion.values[node] = (tuple(map(detach, value)) if isinstance(value, tuple)
                                   else detach(value))


def _arrange(program: RowProgram, results: Sequence[Output],
             extras: Sequence[Output]) -> tuple[RowProgram, tuple[int, ...], tuple[int, ...]]:
    """The program with results and saved values in order, one for both if equal; their places."""
    outputs = list(results)
    saved = []
    for extra in extras:
        if extra not in outputs:
            outputs.append(extra)
        saved.append(outputs.index(extra))
    order = sorted(range(len(outputs)), key=lambda place: OUTPUT_KINDS.index(outputs[place].kind))
    places = {old: new for new, old in enumerate(order)}
    return (dataclasses.replace(program, outputs=tuple(outputs[old] for old in order)),
            tuple(places[place] for place in range(len(results))),
            tuple(sorted({places[place] for place in saved})))


def _why(node: Node, call: str) -> str:
    """The reason why a call is refused, if no row program has one of its nodes."""
    if is_random(node):
        return watching.RANDOM
    if kind_of(node) in ("split", "part"):
        return _PARTS
    if call == "arange":
        return ("gives other numbers than those of the columns; expected "
                "torch.arange(x.shape[-1], dtype=torch.float32), of 2^24 at most")
    if call in watching.SUMS_OF_ROWS:
        return "goes over more than a row; expected the last dimension alone, dim=-1"
    return f"is not supported in row functions; supported are: {watching.SUPPORTED}"


class _Result(NamedTuple):
    """A result of a function, or a saved value: the output, and its entry in :class:`Trace`."""

    output: Output
    shape: str | tuple[int, int | None]
    condition: bool | None
    sources: frozenset[int] = frozenset()


def _result(conversion: Conversion, node: Node, rows: Tensor) -> _Result:
    """A tensor that a function returns. Raises Unsupported, with the expected type and shape."""
    domain, value = conversion.domain, node.meta["val"]
    if found := _combined(node, domain):
        kind, condition = found
        is_number = "total" in kind
        first = rows.dim() - is_number - value.dim()
        return _Result(
            Output(kind, DTYPES.get(value.dtype, "f32"), conversion.values[node]),
            (first, -1 if is_number else None) if kind.startswith("part")
            else "column" if value.dim() else "total", condition,
            frozenset() if condition is not None else _sources(conversion, node))
    role, shape = domain.role(value), list(value.shape)
    block = domain.repeats(value) or 1 if role == "lead" else 1
    kind = ("row" if role in ("row", "lead") else "scalar" if len(shape) == rows.dim()
            else "number")
    expected = [*rows.shape[:-1], *{"row": [domain.length // block], "scalar": [1],
                                    "number": []}[kind]]
    types = ELEMENTS if role == "row" else DTYPES if role == "lead" else SCALARS
    if (role not in ("row", "lead", "scalar") or value.dtype not in types or shape != expected
            or (value.dtype in INTEGERS and not is_index(node))):
        raise Unsupported(f"{str(value.dtype).replace('torch.', '')} {shape}; expected rows "
                          f"{list(rows.shape)} or row scalars {[*rows.shape[:-1], 1]} of a "
                          "floating-point type or bool, or where a row's largest element is")
    output = Output("row" if role == "lead" else role, types[value.dtype], conversion.value(node),
                    block)
    return _Result(output, kind, None,
                   _sources(conversion, node) if value.is_floating_point() else frozenset())


def _convert_all(conversion: Conversion, graph: torch.fx.Graph, watch: Watch,
                 parameters: Mapping[Node, str], signature: Signature,
                 refuse: Callable[[Node, str], TypeError]) -> None:
    """Makes the values of all nodes, those of parameters that are used first."""
    nodes, domain = list(graph.nodes), conversion.domain
    order = {node: place for place, node in enumerate(nodes)}
    given = {n: signature.input(name) for n, name in parameters.items() if n.users}
    kinds = {n: i.kind if i else domain.role(n.meta["val"]) or "row" for n, i in given.items()}
    for node in sorted(given, key=lambda n: INPUT_KINDS.index(kinds[n])):
        given_as = given[node]
        # In one way, so that it has one gradient.
        conversion.values[node] = (conversion.read(node) if given_as is None
                                   else conversion.input(node, given_as))
    unlabelled = Label(None, "")
    for node in nodes:
        if (node.op in ("placeholder", "output") or is_constant(node)
                or isinstance(node.meta.get("val"), (torch.SymInt, int))):
            continue
        label = watch.labels.get(node, unlabelled)
        try:
            _convert(conversion, node, label, order, watch.has_detached)
        except UnsupportedOperation:
            raise refuse(node, _why(node, label.call)) from None
        except Unsupported as error:
            reason = str(error)
            raise refuse(node, reason if "expected" in reason
                         else f"{reason}; {watching.EXPECTED}") from None


@alone
def trace(function: Callable[..., Any], call: Callable[[Sequence[Tensor]], Any],
          signature: Signature, saved: Sequence[str] | None) -> Trace:
    """Makes a function a row program. ``call`` runs it on tensors in the order of
    ``signature.kinds``; ``saved`` names variables whose values the gradient may be given; None: the
    statistics (:meth:`RowProgram.statistics`). A TypeError, with the line of the function and what
    was expected there, if it is none."""
    module, watch, (count, is_tuple) = watching.run_function(function, call, signature, saved or ())
    parts, signature = _cut(module.graph, signature)
    parameters = dict(zip((n for n in module.graph.nodes if n.op == "placeholder"),
                          signature.kinds, strict=True))
    rows = next(n.meta["val"] for n, name in parameters.items() if signature.kinds[name] == "row")
    domain = Domain(product(rows.shape[:-1]), signature.length)
    names = [str(size) for size in rows.shape[:-1]]

    def refuse(node: Node, reason: str) -> TypeError:
        label = watch.labels.get(node)
        line, call = (label.line, label.call) if label else (None, node.target)
        return refusal(function, line, f"{call} {watching.readable_sizes(reason, names)}")

    turn_to_maxima(module.graph, lambda most: _combined(most, domain))
    conversion = Conversion(domain)
    _convert_all(conversion, module.graph, watch, parameters, signature, refuse)
    conversion.over = None
    found: list[_Result] = []
    for place, node in enumerate(module.graph.output_node().args[0]):  # type: ignore[arg-type]
        try:
            found.append(_result(conversion, node, rows))
        except Unsupported as error:
            what = ["it returns", *(f"saved: {name!r} is" for name in saved or ())]
            raise refuse(node, f"is what {what[max(place + 1 - count, 0)]}, {error}") from None
    results, extras = found[:count], [one.output for one in found[count:]]
    builder = conversion.builder
    needed = builder.needed(one.output.value for one in results)
    program, read = builder.finish(None, [place for _, place in conversion.inputs], [
        *(one.output for one in results),
        *(extra for extra in extras if extra.value in needed)]).without_unused_inputs()
    if all(not i.dims.has_rows for i in program.inputs):
        raise refusal(function, None, "none of its results depends on its rows")
    compared = program.compared_maxima()
    program, places, kept = _arrange(program, program.outputs[:count], [
        Output("scalar", "f32", value) for value in program.statistics()] if saved is None else [
        output for output in program.outputs[count:] if output.value not in compared])
    # The gradient of a maximum compares with it.
    kept = tuple(sorted({*kept, *(place for place, one in zip(places, results, strict=True)
                                  if one.sources
                                  and program.outputs[place].kind.endswith("_max"))}))
    reads = [parameters[node] for node, _ in conversion.inputs]
    return Trace(program, tuple(reads[place] for place in read), places,
                 tuple(one.shape for one in results), tuple(one.condition for one in results),
                 tuple(frozenset(reads[place] for place in one.sources) for one in results),
                 is_tuple, kept, parts, signature)
