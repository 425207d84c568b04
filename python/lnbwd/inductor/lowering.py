# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Inductor makes of ``lnbwd::_region``: a call without the dispatcher, into buffers whose
memory it plans (docs/torch-compile.md). The lists, text, allocations and checks of an operator's
call cost the host more than a launch of Triton's. The graph, and with it the keys of all caches,
stay as they were; the program is a text in the code, so that another process can run it.
"""

from __future__ import annotations

import functools
import hashlib
import logging
from collections.abc import Sequence
from typing import Any

import torch
from torch._inductor import ir, lowering
from torch._inductor.scheduler import NopKernelSchedulerNode, Scheduler
from torch._inductor.utils import convert_shape_to_inductor, sympy_product
from torch._inductor.virtualized import V
from torch.fx import Node
from torch.utils._pytree import tree_leaves
from torch.utils._sympy.functions import FloorDiv

from .. import regions_op
from ..launching import MemoryOrder
from .explanations import DECISIONS, Decision, as_text, of_text

log = logging.getLogger("lnbwd.regions")


class RegionCall(ir.ExternKernel):
    """A call of a row program that writes into buffers which are there already."""

    def __init__(self, text: str, sizes: Sequence[Any], inputs: Sequence[Any],
                 outputs: Sequence[Any]) -> None:
        self.device = outputs[0].get_device()
        buffers: list[Any] = [self.unwrap_storage_for_input(self.realize_input(t))
                              for t in (*inputs, *outputs)]
        # M and B are among the arguments, so that their symbols are known to be needed.
        super().__init__(None, ir.NoneLayout(device=self.device), buffers, tuple(sizes))
        self.text = text
        self.ready = buffers[:len(inputs)]
        # Of those that are no inputs, too.
        self.allocated = [t for t in buffers[len(inputs):]
                          if t.get_name() not in {r.get_name() for r in self.ready}]
        self.mutation_outputs = [ir.MutationOutput(ir.NoneLayout(device=self.device), t, self)
                                 for t in outputs]
        V.graph.register_operation(self)

    def get_outputs(self) -> list[Any]:
        """The buffers as they are after the call."""
        return list(self.mutation_outputs)

    def get_device(self) -> torch.device:
        """Where the tensors are."""
        device: torch.device = self.device
        return device

    def codegen(self, wrapper: Any) -> None:
        """Writes the call, and before it, once a module, the function that is called."""
        tensors, orders = zip(*map(_reference, self.inputs), strict=True)
        declared = f"{self.text!r}, {str(self.device)!r}" + f", {orders!r}" * any(orders)
        name = f"lnbwd_region_{hashlib.sha256(declared.encode()).hexdigest()[:16]}"
        wrapper.add_import_once("import lnbwd.inductor")
        wrapper.add_import_once("from lnbwd.regions_op import region_call as lnbwd_region_call")
        definition = f"{name} = lnbwd_region_call({declared})"
        if definition not in wrapper.header.getvalue():
            wrapper.header.writeline(definition)
        arguments = [*map(wrapper.codegen_sizevar, self.constant_args), *tensors]
        wrapper.writeline(f"{name}({', '.join(arguments)})")


def _kernels(nodes: Sequence[Any], made: Sequence[Decision]) -> list[Decision]:
    """What became of each node that Inductor's scheduler fused, or calls, and that is no region's;
    ``made`` is about regions."""
    left = {name: one.reason for one in made if not one.taken for name in one.nodes}
    source = {name: node for node in nodes for name in node.get_buffer_names()}
    beside = set[Any]()
    for node in nodes:
        for both in ({node, source.get(one.name, node)} for one in node.unmet_dependencies):
            if any(isinstance(one.node, RegionCall) for one in both):
                beside |= both
    result = []
    for node in nodes:
        parts = [one.node for one in node.get_nodes()]
        names = [one.name for one in sorted({origin for part in parts for origin in part.origins})]
        if not names or isinstance(node, NopKernelSchedulerNode) or isinstance(
                node.node, RegionCall | ir.MultiOutput):
            continue
        if node.is_template() or node.is_extern():
            reason = f"calls {getattr(parts[0], 'python_kernel_name', None) or 'a template'}"
        elif reasons := [left[name] for name in names if name in left]:
            reason = reasons[-1]
        else:
            reason = "reduces what no region has" if node.is_reduction() else "has no reduction"
        result.append(Decision(f"{len(names)} nodes to {names[-1]}", False, reason
                               + ", beside a region" * (node in beside), 0, 0, None, (*names,),
                               node.get_name()))
    return result


def _explain() -> None:
    """Writes lines that call :func:`.explanations.explain` where the module is loaded, behind the
    regions' kernels: no pass sees a graph that comes out of a cache. What the scheduler has fused
    is known when it has written its code."""
    text = V.graph.graph.output_node().meta.get(DECISIONS)
    if text is None or V.graph.cpp_wrapper:
        return
    texts = [text]
    try:
        texts.append(as_text(_kernels(V.graph.scheduler.nodes, of_text(text))))
    except Exception as error:  # Of a version of Inductor that is not known.
        log.warning("torch.compile's kernels are not explained: %s", error, exc_info=True)
    wrapper = V.graph.wrapper_code
    wrapper.add_import_once("import lnbwd.inductor")
    for text in texts:
        wrapper.header.writeline(f"lnbwd.inductor.explanations.explain({text!r})")


def _reference(buffer: Any) -> tuple[str, MemoryOrder]:
    """A tensor whose memory is what a region gets, which is row-major as the region sees it, and
    the order of the tensor's own dimensions in it. Where a view begins where its buffer does, the
    buffer will do, and no view is made."""
    if isinstance(buffer, ir.ReinterpretView) and buffer.layout.offset == 0:
        name = str(buffer.get_name())
        whole = V.graph.get_buffer(name)
        if whole.get_dtype() == buffer.get_dtype() and (
                order := _order(whole.get_size(), whole.get_stride())) is not None:
            return name, order
    return str(buffer.codegen_reference()), ()


def _order(sizes: Sequence[Any], strides: Sequence[Any]) -> MemoryOrder | None:
    """The order of a tensor's dimensions in memory, empty if it is row-major; None if the memory
    has gaps, or the order is not known for all sizes."""
    known_equal = V.graph.sizevars.statically_known_equals
    ones = [dim for dim, size in enumerate(sizes) if known_equal(size, 1)]
    left = [dim for dim in range(len(sizes)) if dim not in ones]
    found: list[int] = []
    distance: Any = 1
    while left:
        dim = next((dim for dim in reversed(left) if known_equal(strides[dim], distance)), None)
        if dim is None:
            return None
        left.remove(dim)
        found.insert(0, dim)
        distance = distance * sizes[dim]
    return () if found == sorted(found) else (*ones, *found)


def _lower(inputs: Sequence[Any], text: str) -> list[Any]:
    program = regions_op.find_program(text)
    values = V.graph.current_node.meta["val"]
    measure = next((place for kind in ("row_block", "row_scalar")
                    for place, operand in enumerate(program.inputs) if operand.kind == kind), None)
    sizes = [program.rows if measure is None else V.graph.sizevars.simplify(
        FloorDiv(sympy_product(inputs[measure].get_size()), program.inputs[measure].row_length))]
    if program.has_groups:
        shapes = [*(t.get_size() for t in inputs),
                  *(convert_shape_to_inductor(value.size()) for value in values)]
        sizes.append(program.groups or next(V.graph.sizevars.simplify(
            FloorDiv(sympy_product(shape), operand.row_length)) for shape, operand in zip(
                shapes, [*program.inputs, *program.outputs], strict=True)
            if operand.kind in ("group_column", "group_scalar")))
    dense = [ir.ExternKernel.require_contiguous(t) for t in inputs]
    places = _overwritten(program, dense)
    outputs = []
    for place, value in zip(places, values, strict=True):
        shape = convert_shape_to_inductor(value.size())
        outputs.append(lowering.empty_strided(shape, None, dtype=value.dtype, device=value.device)
                       if place is None else lowering.lowerings[torch.ops.aten.view.default](
                           dense[place], shape))
    _allocate_late(RegionCall(text, sizes, dense, outputs))
    return outputs


def _overwritten(program: regions_op.RegionProgram, inputs: Sequence[Any]) -> list[int | None]:
    """For each output the input whose buffer it takes, of row blocks of one type; None: none. A
    kernel reads a row before it writes it (docs/runtime.md)."""
    free = [place for place, operand in enumerate(program.inputs)
            if operand.kind == "row_block" and _is_last_use(inputs, place)]
    result: list[int | None] = []
    for output in program.outputs:
        found = next((place for place in free if output.kind == "row_block"
                      and output.dtype == program.inputs[place].dtype), None)
        if found is not None:
            free.remove(found)
        result.append(found)
    return result


def _is_last_use(inputs: Sequence[Any], place: int) -> bool:
    """Whether an input is a whole buffer of the graph's own, or one that the forward pass saved for
    this graph alone, that nothing reads after the node that is being lowered, and that is no other
    input as well."""
    name = ir.try_get_name(inputs[place])
    buffer = V.graph.try_get_buffer(name) if name is not None else None
    given = V.graph.graph_inputs_original.get(name)
    if (buffer is None or name in V.graph.constants
            or (given is not None and not isinstance(given, ir.DonatedBuffer))
            or name in V.graph.never_reuse_buffers
            or type(buffer.get_layout()) not in (ir.FixedLayout, ir.FlexibleLayout)
            or not V.graph.sizevars.statically_known_equals(
                sympy_product(buffer.get_size()), sympy_product(inputs[place].get_size()))
            or [ir.try_get_name(other) for other in inputs].count(name) != 1):
        return False
    later: set[Node] = set()
    node = V.graph.current_node.next
    while node.op != "root":
        later.add(node)
        node = node.next
    return not any(user in later and name in map(ir.try_get_name, tree_leaves(value))
                   for node, value in V.graph.env.items() for user in node.users)


def _allocate_late(call: RegionCall) -> None:
    """Has the outputs' memory taken when the inputs are there: a buffer without content depends on
    nothing, and Inductor might take it for the last region where the graph begins."""
    given = {*V.graph.graph_inputs, *V.graph.constants}
    ready = [name for name in (t.get_name() for t in call.ready) if name not in given]
    for output in call.allocated:
        V.graph.additional_buffer_deps[output.get_operation_name()].update(ready)


@functools.lru_cache(maxsize=1)
def register() -> None:
    """Has Inductor make calls of this kind from here on, in this process, and explain its graphs.

    Where Inductor generates C++, which cannot call them, and where something goes wrong in here,
    the operator stays an operator.
    """
    operator = torch.ops.lnbwd._region.default
    as_operator = lowering.fallback_handler(operator, add_to_fallback_set=False)

    def lower(inputs: Sequence[Any], text: str) -> Any:
        if not V.graph.cpp_wrapper:
            try:
                return _lower(inputs, text)
            except Exception as error:
                log.warning("a region is called as an operator: %s: %s", type(error).__name__,
                            error)
                log.info("the error was", exc_info=True)
        return as_operator(inputs, text)

    lowering.register_lowering(operator, type_promotion_kind=None)(lower)

    codegen = Scheduler.codegen

    @functools.wraps(codegen)
    def generate(scheduler: Scheduler) -> None:
        codegen(scheduler)
        try:
            _explain()
        except Exception as error:
            log.warning("a graph's code has no decisions: %s: %s", type(error).__name__, error)

    Scheduler.codegen = generate  # type: ignore[assignment, method-assign]
