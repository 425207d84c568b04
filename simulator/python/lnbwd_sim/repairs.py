# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which edit of a kernel's source may make wrong results right.

Offsets are sums of products. One product at a time gets another factor of the kernel, and a
position without a factor gets one; a bound is one lower, and a loop begins at 0.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_MOST = 40
"""Edits of a kernel, each of which is compiled."""


@dataclasses.dataclass(frozen=True)
class Call:
    """How a kernel was called, apart from its arguments."""

    function: Any
    """Triton's ``JITFunction``."""
    options: Mapping[str, Any]
    launch: Callable[..., Any]
    """Launches a function with such arguments, and raises what is found."""


@dataclasses.dataclass(frozen=True)
class Repair:
    """An edit of the source."""

    call: Call
    text: str
    file: str
    line: int

    def launch(self, args: Any, grid: tuple[int, ...]) -> str:
        """Compiles and launches the edited kernel; why it cannot, in words."""
        try:
            self.call.launch(self.call.function, args, grid=grid, **self.call.options)
        except Exception as error:  # Whatever Triton says of an edit.
            return str(error) or type(error).__name__
        return ""


class _Replace(ast.NodeTransformer):
    """One node by another one."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        """A node."""
        return self.new if node is self.old else self.generic_visit(node)


def repairs_of(call: Call) -> Iterator[Repair]:
    """The edits of a kernel, each with a function of its own."""
    function = call.function
    tree = ast.parse(function.src)
    head = next(k for k, line in enumerate(function.raw_src) if line.lstrip().startswith("def "))
    for old, new in itertools.islice(_edits(
            list(ast.walk(tree)), set(function.arg_names)), _MOST):
        copies: dict[int, Any] = {}
        edited = copy.deepcopy(tree, copies)
        edited = ast.fix_missing_locations(_Replace(copies[id(old)], new).visit(edited))
        made = type(function)(function.fn, do_not_specialize=function.do_not_specialize,
                              noinline=function.noinline)
        made._unsafe_update_src(ast.unparse(edited))
        yield Repair(dataclasses.replace(call, function=made),
                     f"'{ast.unparse(new)}' for '{ast.unparse(old)}'",
                     function.fn.__code__.co_filename,
                     function.starting_line_number + head + old.lineno - 1)


def _edits(nodes: list[ast.AST], arguments: set[str]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Nodes, and what stands there instead."""
    terms = [side for sum_ in nodes if isinstance(sum_, (ast.BinOp, ast.AugAssign))
             and isinstance(sum_.op, ast.Add)
             for field in ("left", "right", "value")
             if isinstance(side := getattr(sum_, field, None), ast.expr)]
    products = [term for term in terms if isinstance(term, ast.BinOp)
                and isinstance(term.op, ast.Mult)]
    factors = sorted({name.id for product in products for name in ast.walk(product.right)
                      if isinstance(name, ast.Name)} & arguments)
    for node in nodes:
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.LtE):
            yield node, ast.Compare(node.left, [ast.Lt()], node.comparators)
        if isinstance(node, ast.Call) and len(node.args) == 3 and \
                ast.unparse(node.func).endswith("range") and ast.unparse(node.args[0]) != "0":
            yield node, ast.Call(node.func, [ast.Constant(0), *node.args[1:]], node.keywords)
    for product, name in itertools.product(products, factors):
        if not (isinstance(product.right, ast.Name) and product.right.id == name):
            yield product, ast.BinOp(product.left, ast.Mult(), ast.Name(name))
    for term in terms:
        if isinstance(term, (ast.Name, ast.Subscript)):
            yield from ((term, ast.BinOp(term, ast.Mult(), ast.Name(name))) for name in factors)
