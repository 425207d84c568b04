# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which wrong element a failed comparison has first: the line that stored it, and what the
workgroup had read."""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .findings import access, relative
from .library import SEVERAL, Library
from .pieces import sides_of

_MOST_BYTES = 16 << 20
"""Of all storages of a launch that is kept."""
_MOST_LAUNCHES = 4
_SOURCES = "_lnbwd_sim_sources"


def note_copy(tensor: torch.Tensor, copy: torch.Tensor) -> None:
    """The elements of a tensor are those of another one."""
    storage = copy.untyped_storage()
    if storage.data_ptr() != tensor.untyped_storage().data_ptr():
        setattr(storage, _SOURCES, sources_of(tensor))


def sources_of(tensor: torch.Tensor) -> frozenset[int]:
    """The addresses of the storages that a tensor has, and was copied from."""
    storage = tensor.untyped_storage()
    known: frozenset[int] = getattr(storage, _SOURCES, frozenset())
    return known | {storage.data_ptr()}


@dataclass(frozen=True)
class Comparison:
    """What a test has compared, and how."""

    sides: tuple[torch.Tensor, torch.Tensor]
    sources: tuple[frozenset[int], frozenset[int]]
    """Theirs (``sources_of``)."""
    rtol: float
    atol: float

    @staticmethod
    def of(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
           ) -> Comparison | None:
        """Of a call of PyTorch; None: all is equal, or it compares other things."""
        named = {**dict(zip(("input", "other", "rtol", "atol"), args, strict=False)), **kwargs}
        one, other = named.get("input"), named.get("other")
        if bool(result.all() if isinstance(result, torch.Tensor) else result) or not (
                isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)) or \
                one.shape != other.shape or not one.numel() or one.is_complex():
            return None
        # Copies: the test may go on and write to them.
        sources = sources_of(one), sources_of(other)
        sides = one.detach().to(torch.float64, copy=True), other.detach().to(
            torch.float64, copy=True)
        if name == "equal":
            return Comparison(sides, sources, 0.0, 0.0)
        return Comparison(sides, sources, named.get("rtol", 1e-5), named.get("atol", 1e-8))

    def agrees(self, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        """Which elements the test takes for equal."""
        return torch.isclose(one, other, rtol=self.rtol, atol=self.atol, equal_nan=True)


class Replay:
    """A launch that can be repeated on copies of its storages as they were before. It has none of
    its tensors, which may be freed."""

    def __init__(self, kernel: str, grid: tuple[int, ...], names: Sequence[str],
                 args: Sequence[Any], mark: Callable[[torch.Tensor], None],
                 launch: Callable[[Sequence[Any]], str]) -> None:
        self.kernel, self.grid, self.names = kernel, grid, names
        self._mark, self._launch = mark, launch
        self._bytes: dict[int, torch.Tensor] = {}
        """By the address of a storage."""
        self._views: dict[int, tuple[int, torch.dtype, int, torch.Size, tuple[int, ...]]] = {}
        """Storage, type, offset, shape and strides of the arguments that are tensors."""
        with torch._C.DisableTorchFunction():
            for k, arg in enumerate(args):
                if isinstance(arg, torch.Tensor) and arg.numel():
                    storage = arg.untyped_storage()
                    if storage.data_ptr() not in self._bytes:
                        self._bytes[storage.data_ptr()] = torch.empty(0, dtype=torch.uint8).set_(
                            storage).clone()
                    self._views[k] = (storage.data_ptr(), arg.dtype, int(arg.storage_offset()),
                                      arg.shape, arg.stride())
        self._args = [None if k in self._views else arg for k, arg in enumerate(args)]

    def storage_of(self, argument: int) -> int:
        """The address of an argument's storage."""
        return self._views[argument][0]

    def accesses(self, storages: frozenset[int]) -> bool:
        """Whether one of some storages is an argument's."""
        return not storages.isdisjoint(self._bytes)

    def run(self) -> dict[int, torch.Tensor]:
        """Repeats it. The tensors afterwards, by the argument; empty: it had findings."""
        with torch._C.DisableTorchFunction():
            copies = {pointer: bytes_.clone() for pointer, bytes_ in self._bytes.items()}
            tensors = {k: torch.empty(0, dtype=dtype).set_(
                copies[pointer].untyped_storage(), offset, shape, strides)
                for k, (pointer, dtype, offset, shape, strides) in self._views.items()}
            for tensor in tensors.values():
                self._mark(tensor)
        problem = self._launch([tensors.get(k, arg) for k, arg in enumerate(self._args)])
        return {} if problem else tensors


def replay_of(kernel: str, grid: tuple[int, ...], names: Sequence[str], args: Sequence[Any],
              constant: Sequence[bool], mark: Callable[[torch.Tensor], None],
              launch: Callable[[Sequence[Any]], str]) -> Replay | None:
    """How to repeat a launch, before it; None: its arguments are too large, or of other kinds."""
    with torch._C.DisableTorchFunction():
        if not all(is_constant or arg is None or isinstance(arg, (int, float)) or (
                isinstance(arg, torch.Tensor) and not arg.is_complex())
                for arg, is_constant in zip(args, constant, strict=False)):
            return None
        sizes = {arg.untyped_storage().data_ptr(): arg.untyped_storage().nbytes()
                 for arg in args if isinstance(arg, torch.Tensor)}
    return None if sum(sizes.values()) > _MOST_BYTES else \
        Replay(kernel, grid, names, args, mark, launch)


class Launches(collections.deque[Replay]):
    """The last ones of a test."""

    def __init__(self) -> None:
        super().__init__(maxlen=_MOST_LAUNCHES)
        self.are_all = True
        """Of the test."""
        self.older: set[int] = set()
        """The storages that launches of other tests may have stored to."""

    def note(self, replay: Replay | None) -> None:
        """A launch; None: it cannot be repeated."""
        self.are_all &= replay is not None and len(self) < _MOST_LAUNCHES
        if replay is not None:
            self.append(replay)

    def begin(self, older: set[int]) -> None:
        """Another test begins."""
        self.clear()
        self.are_all, self.older = True, older

    def one_accesses(self, storages: frozenset[int]) -> bool:
        """Whether no other launch than one can have stored to some storages."""
        return self.are_all and storages.isdisjoint(self.older) and sum(
            other.accesses(storages) for other in self) == 1


@dataclass(frozen=True)
class Explanation:
    """What is known of a comparison that failed."""

    replay: Replay
    lines: list[str]
    cause: str
    """That no launch stores what is wrong, in words; otherwise empty."""


class _Explainer:
    """A launch that has computed one side of a comparison."""

    def __init__(self, library: Library, replay: Replay, comparison: Comparison, argument: int,
                 expected: torch.Tensor) -> None:
        self.library, self.replay, self.comparison = library, replay, comparison
        self.argument, self.expected = argument, expected

    def left_out(self, tensor: torch.Tensor, wrong: torch.Tensor) -> str:
        """Wrong elements that the launch, which has been the last one, has not stored. A tensor
        that it only reads may be what is expected, if it stands second."""
        is_read, stored = (_accessed(self.library, tensor, writes) for writes in (False, True))
        if is_read is None or stored is None or bool(stored.reshape(wrong.shape)[wrong].any()):
            return ""
        name = self.replay.names[self.argument]
        if bool(stored.any()):
            return f"no launch stores {_region(wrong)} of '{name}'; what is stored of it is right"
        if not bool(is_read.any()):
            return f"no launch reads or stores '{name}'"
        return "" if self.expected is self.comparison.sides[0] else \
            f"no launch stores '{name}', which has what PyTorch has put there"

    def explain(self, after: Mapping[int, torch.Tensor], found: torch.Tensor, is_alone: bool
                ) -> Explanation:
        """What is known; the launch has been the last one, and the only one with this argument if
        ``is_alone``."""
        wrong = ~self.comparison.agrees(found, self.expected)
        first, tensor, names = wrong.nonzero()[0].tolist(), after[self.argument], self.replay.names
        lines = [f"{int(wrong.sum())} of the {wrong.numel()} elements of '{names[self.argument]}' "
                 f"are wrong ({_region(wrong)}), the first of them {first}: "
                 f"{found[tuple(first)]:.6g}, expected {self.expected[tuple(first)]:.6g}"]
        at = _address(tensor, wrong.reshape(tensor.shape))
        where = self.library.access(at, True)
        groups = self.library.accessors(at, 1, tensor.element_size(), True) or b""
        group = int.from_bytes(groups, "little")
        loads = _loads(self.library, after, group) if group else {}
        if group:
            by = "several workgroups" if group == SEVERAL else f"workgroup {group - 1}"
            lines.append(f"  stored by {by}{_line(where)}")
            lines += [f"  which has read {region} of '{names[k]}'{_line(place)}"
                      for k, (region, place) in loads.items()]
        else:
            lines.append("  not stored by this launch")
            if is_alone and (cause := self.left_out(tensor, wrong)):
                return Explanation(self.replay, lines, cause)
        return Explanation(self.replay, lines, "")


def _line(where: Mapping[str, Any] | None) -> str:
    found = access(where)
    place = found.place if found else None
    return f" at {relative(place.file)}:{place.line}: {place.text()}" if place else ""


def _region(part: torch.Tensor) -> str:
    """Some elements of a tensor, in words."""
    if bool(part.all()):
        return "all"
    is_product, sides = sides_of(part)
    spans = [(int(side.nonzero()[0]), int(side.nonzero()[-1]) + 1) for side in sides]
    if not is_product or any(int(side.sum()) != end - begin
                             for side, (begin, end) in zip(sides, spans, strict=True)):
        return f"{int(part.sum())} elements from {part.nonzero()[0].tolist()} on"
    return "[" + ", ".join(":" if end - begin == len(side) else f"{begin}:{end}" for side, (
        begin, end) in zip(sides, spans, strict=True)) + "]"


def _address(tensor: torch.Tensor, part: torch.Tensor) -> int:
    """That of the first of some elements."""
    steps = zip(part.nonzero()[0].tolist(), tensor.stride(), strict=True)
    return int(tensor.untyped_storage().data_ptr() + tensor.element_size() * (
        tensor.storage_offset() + sum(n * step for n, step in steps)))


def _accessed(library: Library, tensor: torch.Tensor, writes: bool) -> torch.Tensor | None:
    """The workgroup that has accessed each element (``Library.accessors``)."""
    size, storage = tensor.element_size(), tensor.untyped_storage()
    known = library.accessors(storage.data_ptr(), storage.nbytes() // size, size, writes)
    return None if known is None else (
        torch.frombuffer(known, dtype=torch.int32).long() & SEVERAL).as_strided(
        tensor.shape, tensor.stride(), tensor.storage_offset())


def _loads(library: Library, after: Mapping[int, torch.Tensor], group: int
           ) -> dict[int, tuple[str, dict[str, Any] | None]]:
    """By the argument: what a workgroup has read, and an instruction that has."""
    found = {}
    for k, tensor in after.items():
        groups = _accessed(library, tensor, False)
        if groups is not None:
            read = groups == (group if bool((groups == group).any()) else SEVERAL)
            if bool(read.any()):
                found[k] = _region(read), library.access(_address(tensor, read), False)
    return found


def explain(library: Library, launches: Launches, comparison: Comparison
            ) -> Explanation | None:
    """Of a comparison that failed; None: no launch that is kept has computed a side of it."""
    for replay in reversed(launches):
        after = replay.run()
        known = [((replay.storage_of(k) not in comparison.sources[at], *_use(library, after[k])),
                  k, at) for k in after for at in (0, 1) if _agree(after[k], comparison.sides[at])]
        if known:
            (is_other, *_), k, at = min(known)
            return _Explainer(library, replay, comparison, k, comparison.sides[1 - at]).explain(
                after, comparison.sides[at],
                not is_other and launches.one_accesses(comparison.sources[at]))
    return None


def _agree(result: torch.Tensor, side: torch.Tensor) -> bool:
    """Whether a tensor is what a test has compared."""
    with torch._C.DisableTorchFunction():
        return result.numel() == side.numel() and bool(torch.isclose(
            result.to(torch.float64).reshape(side.shape), side, equal_nan=True).all())


def _use(library: Library, tensor: torch.Tensor) -> tuple[bool, bool]:
    """Of two tensors that a test compares, the less is the result: what is stored, or not read."""
    is_read, stored = (groups is not None and bool(groups.any()) for groups in (
        _accessed(library, tensor, writes) for writes in (False, True)))
    return not stored, is_read
