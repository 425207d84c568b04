# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile with row programs: the graph pass, and the backend that runs it.

The pass sees each graph after differentiation and before Inductor makes kernels of it. It puts one
operator, ``lnbwd::_region``, in the place of every region that is a row program, compiles, and is
worth it; whatever else there is stays as it was. A region that is left is logged with the reason,
and nothing that goes wrong in here ends a compilation: the region or graph is Inductor's then.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import logging
import pathlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._inductor import config
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files
from torch._inductor.pattern_matcher import stable_topological_sort
from torch.fx import Graph, GraphModule, Node
from torch.utils.checkpoint import CheckpointPolicy

from .. import compiler, launching, regions_op, tuning
from ..batch_invariance import is_batch_invariant
from ..errors import CompileError, LnbwdError
from ..graphs.conversion import Unsupported
from ..graphs.maxima import compared
from ..graphs.nodes import count_users, mark_seeds
from ..rowprogram import RowProgram
from .estimates import Estimate, estimate
from .explanations import DECISIONS, Decision, expect, record, set_up_log
from .grafting import copy_of, graft
from .measuring import Measurements, copied
from .orders import settled
from .partial_sums import Split, merge, split
from .powers import mark_powers
from .regions import (
    Region,
    convert,
    find_regions,
    mark_memory,
    normalised,
    without_region,
)
from .replacing import replace
from .rewrites import restore, simplify
from .surroundings import Surroundings, is_padded_in_place, surroundings

try:
    from torch._inductor.custom_graph_pass import CustomPartitionerFn
except ImportError:  # An older PyTorch, which does not ask for one.
    class CustomPartitionerFn:  # type: ignore[no-redef]
        """What divides forward and backward pass."""

try:
    from torch._inductor.custom_graph_pass import CustomInferenceAwareGraphPass
except ImportError:  # Likewise.
    class CustomInferenceAwareGraphPass(CustomGraphPass):  # type: ignore[no-redef]
        """A pass that is told whether a graph is one of inference."""

log = logging.getLogger("lnbwd.regions")


# --------------------------------------------------------------------------------------------------
# Programs and their kernels
# --------------------------------------------------------------------------------------------------


def register(text: str) -> regions_op.RegionProgram:
    """Makes the row program in a text known to ``lnbwd::region``."""
    return regions_op.register_row_program(RowProgram.from_text(text), is_tuned=True)


def resolve(text: str) -> regions_op.RegionProgram | None:
    """The row program in a text that a compiled graph out of a cache brings along; None if this
    version cannot read it."""
    try:
        return register(text)
    except ValueError:
        return None


regions_op.resolvers.append(resolve)


_warned: set[str] = set()


def _warn_once(what: str, reason: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warns of each thing once in a process."""
    if what not in _warned:
        _warned.add(what)
        warnings.warn(f"{what}: {reason}", category, stacklevel=3)


def _report(error: Exception) -> str:
    """Tells of an error of ours, which is being handled; why something is left."""
    reason = f"an error in lnbwd: {type(error).__name__}: {error}"
    _warn_once("torch.compile's own kernels are used in the place of some of lnbwd's",
               f"{reason}. LNBWD_LOG=regions shows where; please report it")
    log.info("the error was", exc_info=True)
    return reason


@functools.lru_cache(maxsize=1)
def _register_lowering() -> None:
    """Has Inductor call regions without the dispatcher; where this version of it does not have
    what that takes, they stay operators."""
    try:
        from . import lowering

        lowering.register()
    except Exception as error:
        log.warning("regions are called as operators: %s: %s", type(error).__name__, error)


def _can_run_on(device: torch.device) -> str:
    """Why no kernel can run on a device; empty if one can."""
    if torch._inductor.config.cpp_wrapper:
        return "Inductor generates C++ (cpp_wrapper), which cannot call it"
    if device.type == "cuda":
        return ""
    if device.type == "cpu":
        return "" if launching.simulated_chip() else "the tensors are on the CPU"
    return f"the tensors are on {device.type}"


# --------------------------------------------------------------------------------------------------
# The pass
# --------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1)
def _package_hash() -> bytes:
    """A hash of all sources of the package. Generated code calls functions of several modules, and
    what those call decides what a graph out of a cache computes."""
    folder = pathlib.Path(__file__).resolve().parents[1]
    files = [*folder.rglob("*.py"), *folder.rglob("*.json")]
    return get_hash_for_files(tuple(map(str, sorted(files))))


class _Pass(CustomGraphPass):
    """What the passes have in common: a name for caches, no failure, a pass of the user's behind.

    Args:
        then: the pass or passes that the user had set, which run after it.
    """

    def __init__(self, then: Any = None) -> None:
        self._then = [*then] if isinstance(then, list | tuple) else [then] * (then is not None)

    def uuid(self) -> Any:
        """Names what graphs become: a hash of the package, the compiler's version, what says where
        kernels run. None if a pass after this one has no such name."""
        then = [one.uuid() if isinstance(one, CustomGraphPass) else None for one in self._then]
        return None if None in then else (
            _package_hash(), compiler.compiler_id(), launching.simulated_chip(),
            is_batch_invariant(), *then)

    def __call__(self, graph: Graph, is_inference: bool = False) -> None:
        """Changes ``graph`` in place.

        Args:
            graph: the graph.
            is_inference: whether it is a function's only graph, and no pass of a training step.
        """
        set_up_log()
        is_collected = gc.isenabled()
        gc.disable()  # Each full collection goes through all that Inductor has.
        try:
            # Inductor's own passes leave nodes in front of their operands.
            stable_topological_sort(graph)
            self._run(graph, is_inference)
        except Exception as error:  # A model never fails because of a region.
            record([Decision("a whole graph", False, _report(error), 0, 0, None)])
        finally:
            if is_collected:
                gc.enable()
        for one in self._then:
            if isinstance(one, CustomInferenceAwareGraphPass):
                one(graph, is_inference)
            else:
                one(graph)

    def _run(self, graph: Graph, is_inference: bool) -> None:
        raise NotImplementedError


def _is_worth(moved: Estimate) -> bool:
    """Whether a region is taken: torch.compile's kernels have no order that a batch keeps."""
    return moved.is_worth or is_batch_invariant()


_Ahead = dict[str, regions_op.Loading]
"""The kernels that are loaded ahead, by the texts of their programs."""


class RegionPass(_Pass, CustomInferenceAwareGraphPass):
    """A pass of Inductor's (``post_grad_custom_pre_pass``) that makes regions row programs.

    Args:
        then: another pass that runs after it.
        measurements: times of regions, which decide in the place of the estimate where there are
            any.
    """

    def __init__(self, then: Any = None, measurements: Measurements | None = None) -> None:
        super().__init__(then)
        self._measurements = measurements or Measurements()

    def uuid(self) -> Any:
        """The name of any pass, and whether it measures."""
        name = super().uuid()
        return None if name is None else (*name, tuning.is_on(is_region=True))

    def _run(self, graph: Graph, is_inference: bool) -> None:
        _register_lowering()
        changed, copies = copy_of(graph)
        if is_inference:
            mark_seeds(changed)
        made = self._change(changed)
        if any(one.taken for one in made):
            graft(graph, changed, copies)
            graph.lint()
        record(made)
        graph.output_node().meta[DECISIONS] = expect(made)

    def _change(self, graph: Graph) -> list[Decision]:
        """Puts programs in the place of regions, and tells of all regions, and reductions without
        one."""
        splits = self._prepare(graph)
        ahead: _Ahead = {}
        taken = set[str]()
        try:
            with settled(graph):
                regions = find_regions(graph, [node for one in splits for node in one.combining()])
                alone = without_region(graph, regions)
                self._compile_ahead(graph, regions, splits, ahead)
                # The last first: what it computes anew, no region before has to write for it.
                made = [self._decide(graph, region, splits, ahead) for region in reversed(regions)]
                taken = {program.text() for region, one in zip(reversed(regions), made, strict=True)
                         for program in region.programs if one.taken}
        finally:
            for text, loading in ahead.items():
                loading.search(text in taken)
            self._measurements.stop()
            merge(graph, splits)
            restore(graph)
        if config.max_autotune or config.max_autotune_gemm:  # Inductor times products.
            regions_op.finish_loading()
        return [*made[::-1], *(Decision(node.name, False, reason, 0, 0, None, (node.name,))
                               for node, reason in alone)]

    def _prepare(self, graph: Graph) -> list[Split]:
        """Has a graph be what regions are found in; gives the reductions that were split."""
        if _can_run_on_any(graph):
            simplify(graph)
            mark_powers(graph)
        return split(graph)

    def may_take_any(self, graph: Graph) -> bool:
        """Whether some region of a graph may be taken, if its times are good where they decide."""
        changed, _ = copy_of(graph)
        splits = self._prepare(changed)
        with settled(changed):
            for region in find_regions(changed, [n for one in splits for n in one.combining()]):
                with contextlib.suppress(Unsupported):
                    self._look_at(region, splits)
                    return True
        return False

    def _compile_ahead(self, graph: Graph, regions: Sequence[Region],
                       splits: Sequence[Split], ahead: _Ahead) -> None:
        """Has what regions need compiled side by side: their programs, by their texts, and what is
        timed. On a copy of the graph all regions are taken that may be; what is different by the
        time of its turn is compiled then."""
        found = []
        copy, regions, splits = copied(graph, regions, splits)
        for region in reversed(regions):
            with contextlib.suppress(Exception):  # It fails again when its turn has come.
                around, moved, gain = self._look_at(region, splits)
                spec = self._measurements.consider(around, gain) if gain else None
                found.append((region, spec, spec is None or moved.is_worth))
                replace(copy, region)
        chosen = self._measurements.choose(copy)
        # What is timed first: others are loaded while Inductor compiles the graph.
        for region, spec, is_worth in sorted(found, key=lambda one: one[1] not in chosen):
            for program in region.programs:
                text = program.text()
                if text not in ahead and (is_worth or spec in chosen):
                    ahead[text] = regions_op.load_later(
                        register(text), region.inputs[0].meta["val"].device)
                    if spec in chosen:  # The others are searched for while Inductor goes on.
                        ahead[text].search()
        self._measurements.start()
        self._measurements.start_rest()

    def _look_at(self, region: Region, splits: Sequence[Split]
                 ) -> tuple[Surroundings, Estimate, float]:
        """Makes a region's program, and those of what follows if that is worth it; gives what is
        around it, what it moves, and the bytes that it may save, 0 if it is not to be timed.

        Raises:
            Unsupported: it is left; says why.
        """
        try:
            for one in (*region.then, region):
                # What followed from a region that was taken before may be a result of that.
                one.nodes = [node for node in one.nodes if not node._erased]
            region.then = [one for one in region.then if one.nodes]
            for one in (*region.then, region):
                convert(one)
            in_memory = region.rounded.union(region.inputs)
            for one in region.then:  # They may compute again what the region writes or reads.
                if not in_memory.isdisjoint({*one.shared} - one.rounded):
                    convert(one, in_memory)
            if is_padded_in_place(region):
                raise Unsupported("torch.compile pads its rows in place for a product")
            if reason := _can_run_on(region.inputs[0].meta["val"].device):
                raise Unsupported(reason)
            around = surroundings(region, splits)
            moved = estimate(around)
            if moved.is_sure or not self._measurements.may_find(region, moved):
                if not _is_worth(moved):
                    raise Unsupported(f"it would move {moved}")
                return around, moved, 0
            if not (gain := self._measurements.gain(region, moved)):
                raise Unsupported(f"it is too small to be timed, and would move {moved}")
            return around, moved, gain
        except Unsupported:
            if not region.then:
                raise
            region.then = []
            return self._look_at(region, splits)

    def _decide(self, graph: Graph, region: Region, splits: Sequence[Split],
                ahead: _Ahead) -> Decision:
        """Takes a region, or leaves it: what goes wrong with one is no matter of the others."""
        taken = False
        try:
            reason, taken = self._take(graph, region, splits, ahead), True
        except Unsupported as error:
            reason = str(error)
        except CompileError as error:
            reason = f"it does not compile: {error}"
        except LnbwdError as error:
            _warn_once("torch.compile's own kernels are used, since lnbwd's cannot be had",
                       str(error))
            reason = f"there is no kernel: {error}"
        except Exception as error:
            reason = _report(error)
        return Decision(region.describe(), taken, reason, len(region.row_sums),
                        len(region.column_sums), region.program,
                        tuple(n.name for one in (region, *region.then) for n in one.nodes))

    def _take(self, graph: Graph, region: Region, splits: Sequence[Split],
              ahead: _Ahead) -> str:
        """Puts a region's program in its place, and gives the reason.

        Raises:
            Unsupported: it is left; says why.
        """
        around, moved, gain = self._look_at(region, splits)
        device = region.inputs[0].meta["val"].device
        times = self._measurements.find(around) if gain else None
        for text in (program.text() for program in region.programs):
            if text not in ahead or not ahead[text].compiled.result():
                regions_op.load_kernel(register(text), device)
        if times is None:
            verb, reason, is_worth = "move", str(moved), _is_worth(moved)
        else:
            verb, reason, is_worth = "take", str(times), times.is_worth(moved.is_part)
        if not is_worth and region.then:
            region.then = []
            return self._take(graph, region, splits, ahead)
        if not is_worth:
            raise Unsupported(f"it would {verb} {reason}")
        replace(graph, region)
        return reason


class RecomputePass(_Pass):
    """A pass of Inductor's over forward and backward pass together (``joint_custom_post_pass``),
    which has the backward pass compute xhat of each norm again: from x, which is kept anyway or
    follows from what is, that is two operations in a kernel that waits for memory.

    Where x is computed by no region, it is kept, as it is written anyway then. So is the mean,
    which costs the host some 3 microseconds where a CUDA graph is replayed: PyTorch decides about
    row blocks so small that this is no gain, and what is compared with its own largest elements is
    not computed again.
    """

    def _run(self, graph: Graph, is_inference: bool) -> None:
        count_users(graph)
        mark_memory(graph)
        if _can_run_on_any(graph):
            for node in compared(graph):
                _choose(node, CheckpointPolicy.MUST_SAVE)
            again, kept = normalised(graph)
            for policy, nodes in ((CheckpointPolicy.MUST_RECOMPUTE, again),
                                  (CheckpointPolicy.MUST_SAVE, kept)):
                for node in nodes:
                    if not (torch._inductor.config.triton.cudagraphs and _is_small(node)):
                        _choose(node, policy)


_CHOSEN = "lnbwd_chosen"
"""Under this name a node says that it is :class:`RecomputePass` that keeps or recomputes it."""


def _choose(node: Node, policy: CheckpointPolicy) -> None:
    """Has PyTorch keep or recompute a node, unless the user says what to do."""
    if "recompute" not in node.meta:
        node.meta["recompute"], node.meta[_CHOSEN] = policy, True


class Partition(CustomPartitionerFn):
    """Inductor's partition (``custom_partitioner_fn``) of both passes as :class:`RecomputePass`
    wants it, or as torch.compile has it, if no region of that may be taken.

    Args:
        then: another partition, one that the user had set, in the place of PyTorch's.
    """

    def __init__(self, then: Any = None) -> None:
        self._then = then

    def uuid(self) -> Any:
        """The name of any pass, and of that partition."""
        name = RecomputePass().uuid()
        return name if self._then is None else (*name, self._then.uuid())

    def __call__(self, gm: GraphModule, joint_inputs: Sequence[object], **kwargs: Any
                 ) -> tuple[GraphModule, GraphModule]:
        """Gives the forward and the backward pass."""
        partition = self._then or min_cut_rematerialization_partition
        graph, _ = copy_of(gm.graph)
        chosen = [node for node in graph.nodes if node.meta.pop(_CHOSEN, False)]
        if not chosen:
            return partition(gm, joint_inputs, **kwargs)
        for node in chosen:
            del node.meta["recompute"]
        plain = GraphModule(gm, graph, type(gm).__name__)
        plain.meta = dict(gm.meta)
        parts: tuple[GraphModule, GraphModule] = partition(gm, joint_inputs, **kwargs)
        try:
            if any(RegionPass().may_take_any(part.graph) for part in parts):
                return parts
        except Exception as error:
            record([Decision("a whole graph", False, _report(error), 0, 0, None)])
        return partition(plain, joint_inputs, **kwargs)


def _is_small(node: Node) -> bool:
    """Whether a row block is too small to matter to a GPU's memory."""
    value: torch.Tensor = node.meta["val"]
    count = value.numel()
    return isinstance(count, int) and count * value.element_size() < 4 << 20


def _can_run_on_any(graph: Graph) -> bool:
    """Whether kernels can run where the graph's tensors are."""
    devices = {node.meta["val"].device for node in graph.nodes
               if isinstance(node.meta.get("val"), torch.Tensor)}
    return any(not _can_run_on(device) for device in devices)


pass_ = RegionPass
"""For those who put options of Inductor together themselves: ``torch.compile(model,
options={"post_grad_custom_pre_pass": lnbwd.inductor.pass_()})``."""


def backend(model: torch.fx.GraphModule, example_inputs: Sequence[Any], *,
            mode: str | None = None, options: dict[str, Any] | None = None) -> Callable[..., Any]:
    """``torch.compile(model, backend="lnbwd")``: Inductor, with row programs of ours.

    Args:
        model, example_inputs: what torch.compile hands to a backend.
        mode, options: as for Inductor, which takes them.
    """
    devices = {value.device.type for value in example_inputs if isinstance(value, torch.Tensor)}
    # (Beside a model on a GPU, a graph on the CPU is meant to be there.)
    if (devices == {"cpu"} and launching.simulated_chip() is None
            and not torch.cuda.is_initialized()):
        _warn_once('torch.compile(backend="lnbwd")', "the tensors are on the CPU, for which there "
                   "are no kernels, and torch.compile's own are used. Move the model and inputs "
                   "to a GPU, or compile and call it in 'with lnbwd.simulate():'", UserWarning)
    options = dict(options or {})
    hooks = {"post_grad_custom_pre_pass": pass_, "joint_custom_post_pass": RecomputePass,
             "custom_partitioner_fn": Partition}
    hooks = {key: hook for key, hook in hooks.items() if hasattr(torch._inductor.config, key)}
    behind = {key: options.pop(key, None) or getattr(torch._inductor.config, key) for key in hooks}
    wrapper = torch._TorchCompileInductorWrapper(mode, options, None)
    wrapper.config.update({key: hook(behind[key]) for key, hook in hooks.items()})
    # What is there already is no garbage of this: each full collection would go through it all.
    is_frozen = bool(gc.get_freeze_count())
    if not is_frozen:
        gc.freeze()
    try:
        result: Callable[..., Any] = wrapper(model, example_inputs)
    finally:
        if not is_frozen:
            gc.unfreeze()
    return result


# An installed package has an entry point of this name, by which PyTorch registers what it loads: it
# takes no name twice.
if "lnbwd" not in torch._dynamo.list_backends(exclude_tags=()):
    torch._dynamo.register_backend(backend, name="lnbwd")
