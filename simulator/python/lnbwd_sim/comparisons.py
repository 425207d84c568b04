# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why a comparison of a test failed: what was stored by which line, from what, and what would be
right.

A kernel that takes an element for another one computes what another kernel would be right to
compute. But a test that compares says what is right. Then the launch is repeated on tensors whose
elements are exchanged: where that makes wrong results right, the exchange is what the kernel does.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from .findings import access, relative
from .library import SEVERAL, Library
from .pieces import sides_of
from .repairs import Call, Repair, repairs_of

_MOST_BYTES = 16 << 20
"""Of all storages of a launch that is kept."""
_MOST_LAUNCHES = 4
_MOST_REPEATED = 480
_MOST_INSTRUCTIONS = 1 << 25
"""Of the repeated launches for one comparison, of waves."""
_MOST_INDICES = 12
"""Of a dimension, that are tried."""
_LEAST_RIGHT = 8
"""Elements that become right, and times as many as by chance."""
_MOST_OF_ALL = 0.8
"""Of the wrong elements."""
_LEAST_OF_INDEX = 0.25
"""Of those that indices which are tried explain."""
_MOST_PITCHES = 16
_MOST_DIMENSIONS = 4
"""Of a tensor whose dimensions are exchanged."""


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
                 launch: Callable[[Sequence[Any]], str], call: Call | None) -> None:
        self.kernel, self.grid, self.names, self.call = kernel, grid, names, call
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

    @property
    def numbers(self) -> set[int]:
        """Sizes, and what else it says of them."""
        return {arg for arg in self._args if type(arg) is int and arg > 0} | {
            size for view in self._views.values() for size in view[3]}

    def storage_of(self, argument: int) -> int:
        """The address of an argument's storage."""
        return self._views[argument][0]

    def accesses(self, storages: frozenset[int]) -> bool:
        """Whether one of some storages is an argument's."""
        return not storages.isdisjoint(self._bytes)

    def run(self, edit: Callable[[dict[int, torch.Tensor]], None] | None = None,
            launch: Callable[[Sequence[Any]], str] | None = None) -> dict[int, torch.Tensor]:
        """Repeats it, or launches another kernel. The tensors afterwards, by the argument; empty:
        it had findings."""
        with torch._C.DisableTorchFunction():
            copies = {pointer: bytes_.clone() for pointer, bytes_ in self._bytes.items()}
            tensors = {k: torch.empty(0, dtype=dtype).set_(
                copies[pointer].untyped_storage(), offset, shape, strides)
                for k, (pointer, dtype, offset, shape, strides) in self._views.items()}
            if edit is not None:
                edit(tensors)
            for tensor in tensors.values():
                self._mark(tensor)
        problem = (launch or self._launch)([
            tensors.get(k, arg) for k, arg in enumerate(self._args)])
        return {} if problem else tensors


def replay_of(kernel: str, grid: tuple[int, ...], names: Sequence[str], args: Sequence[Any],
              constant: Sequence[bool], mark: Callable[[torch.Tensor], None],
              launch: Callable[[Sequence[Any]], str], call: Call | None = None) -> Replay | None:
    """How to repeat a launch, before it; None: its arguments are too large, or of other kinds."""
    with torch._C.DisableTorchFunction():
        if not all(is_constant or arg is None or isinstance(arg, (int, float)) or (
                isinstance(arg, torch.Tensor) and not arg.is_complex())
                for arg, is_constant in zip(args, constant, strict=False)):
            return None
        sizes = {arg.untyped_storage().data_ptr(): arg.untyped_storage().nbytes()
                 for arg in args if isinstance(arg, torch.Tensor)}
    return None if sum(sizes.values()) > _MOST_BYTES else \
        Replay(kernel, grid, names, args, mark, launch, call)


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
class Guess:
    """How a kernel may read a tensor, or a part of it."""

    text: str
    """The same of all parts."""
    least: float
    """The share of wrong elements that become right at least where that is made up for, of all
    parts together."""
    apply: Callable[[torch.Tensor], None]
    """Makes up for it: moves the elements of the tensor."""


def _exchanges(tensor: torch.Tensor, numbers: set[int]) -> Iterator[Guess]:
    """All elements in another order."""
    large = [k for k, size in enumerate(tensor.shape) if size > 1]
    for k in large:
        yield Guess(f"with dimension {k} backwards", _MOST_OF_ALL, partial(_flip, k=k))
    if tensor.is_contiguous() and 1 < len(large) <= _MOST_DIMENSIONS:
        for order in itertools.permutations(range(tensor.dim())):
            if [k for k in order if k in large] != large:
                yield Guess(f"as if its dimensions were in the order {list(order)}", _MOST_OF_ALL,
                            partial(_reorder, order=order))
                yield Guess(f"in the order of dimensions {list(order)}", _MOST_OF_ALL,
                            partial(_order_back, order=order))
    for k, part in itertools.product(large, sorted(numbers)):
        if 1 < part < tensor.shape[k] and tensor.shape[k] % part == 0:
            yield Guess(f"as if {part} indices of dimension {k} that are side by side were "
                        f"{tensor.shape[k] // part} apart", _MOST_OF_ALL,
                        partial(_interleave, k=k, part=part))
            yield Guess(f"as if indices of dimension {k} that are {part} apart were side by side",
                        _MOST_OF_ALL, partial(_interleave, k=k, part=tensor.shape[k] // part))
    for k, by in itertools.product(large, (-1, 1)):
        if tensor.shape[k] > 2:
            yield Guess(f"1 {'further' if by > 0 else 'before'} in dimension {k}", _MOST_OF_ALL,
                        partial(_shift, k=k, by=by))


def _fills(tensor: torch.Tensor, numbers: set[int]) -> Iterator[Guess]:
    """One index of a dimension in place of all others: right, whichever of them is read."""
    for k, size in enumerate(tensor.shape):
        step = -(-size // _MOST_INDICES)
        for at in range(step // 2, size, step) if size > 1 else ():
            yield Guess(f"at another index of dimension {k}", _LEAST_OF_INDEX / step,
                        partial(_fill, k=k, at=at))


def _shifts(tensor: torch.Tensor, numbers: set[int]) -> Iterator[Guess]:
    """Each part of a dimension as far from its place as another one."""
    for k, size in enumerate(tensor.shape):
        for by in range(1, min(size, _MOST_INDICES)):
            yield Guess(f"elsewhere in dimension {k}", _LEAST_OF_INDEX,
                        partial(_shift, k=k, by=-by))


def _pitches(tensor: torch.Tensor, numbers: set[int]) -> Iterator[Guess]:
    """One index of a dimension where another distance between them would have it."""
    found = {number * other for number in numbers for other in numbers | {1}}
    room = tensor.untyped_storage().nbytes() // tensor.element_size() - tensor.storage_offset()
    for k, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        at = size // 2
        end = 1 + sum((n - 1) * step for d, (n, step) in enumerate(
            zip(tensor.shape, tensor.stride(), strict=True)) if d != k)
        near = sorted((abs(pitch - stride), pitch) for pitch in found | {stride - 1, stride + 1}
                      if pitch not in (0, stride) and at * pitch + end <= room)
        for _, pitch in near[:_MOST_PITCHES] if size > 1 else ():
            yield Guess(f"with {pitch} for the distance {stride} in dimension {k}",
                        _LEAST_OF_INDEX / size, partial(_place, k=k, at=at, pitch=pitch))


def _flip(tensor: torch.Tensor, k: int) -> None:
    tensor.copy_(tensor.flip(k))


def _reorder(tensor: torch.Tensor, order: Sequence[int]) -> None:
    tensor.copy_(tensor.permute(*order).clone().reshape(tensor.shape))


def _order_back(tensor: torch.Tensor, order: Sequence[int]) -> None:
    back = sorted(range(len(order)), key=order.__getitem__)
    tensor.copy_(tensor.clone().view([tensor.shape[k] for k in order]).permute(back))


def _interleave(tensor: torch.Tensor, k: int, part: int) -> None:
    tensor.copy_(tensor.unflatten(k, (-1, part)).transpose(k, k + 1).flatten(k, k + 1).clone())


def _shift(tensor: torch.Tensor, k: int, by: int) -> None:
    tensor.copy_(tensor.roll(by, k))


def _fill(tensor: torch.Tensor, k: int, at: int) -> None:
    tensor.copy_(tensor.select(k, at).clone().unsqueeze(k).expand_as(tensor))


def _place(tensor: torch.Tensor, k: int, at: int, pitch: int) -> None:
    part = tensor.select(k, at)
    tensor.as_strided(part.shape, part.stride(), tensor.storage_offset() + at * pitch).copy_(
        part.clone())


@dataclass(frozen=True)
class Explanation:
    """What is known of a comparison that failed."""

    replay: Replay
    lines: list[str]
    cause: str
    """Why the results are wrong, if that is known; otherwise empty."""
    where: dict[str, Any]
    """What has read, or stored, what is wrong: "where" and "other" of lnbwdSimGetFindingsJson."""


class _Explainer:
    """A launch that has computed one side of a comparison."""

    def __init__(self, library: Library, replay: Replay, comparison: Comparison, argument: int,
                 expected: torch.Tensor) -> None:
        self.library, self.replay, self.comparison = library, replay, comparison
        self.argument, self.expected = argument, expected
        self.left = min(_MOST_REPEATED, _MOST_INSTRUCTIONS // max(library.instructions(), 1))

    def values(self, edit: Callable[[dict[int, torch.Tensor]], None] | None = None
               ) -> torch.Tensor | None:
        """The results of a repeated launch."""
        self.left -= 1
        after = self.replay.run(edit) if self.left >= 0 else {}
        with torch._C.DisableTorchFunction():
            return after[self.argument].double().reshape(self.expected.shape) if after else None

    def repaired(self, wrong: torch.Tensor, arguments: Sequence[int], guess: Guess
                 ) -> tuple[torch.Tensor, int] | None:
        """Which wrong elements become right with other elements of arguments, and how many may by
        chance; None: none are, or it cannot be said."""
        def edit(tensors: dict[int, torch.Tensor]) -> None:
            for k in arguments:
                guess.apply(tensors[k])

        found = self.values(edit)
        if found is None:
            return None
        with torch._C.DisableTorchFunction():
            there, here = self.expected[wrong], found[wrong]
            right = self.comparison.agrees(here, there)
            # What agrees by chance differs by any part of what the test allows.
            error = (here - there).abs()[right]
            allowed = self.comparison.atol + self.comparison.rtol * there.abs()[right]
            if not right.any() or 2 * int((error <= allowed / 4).sum()) < len(error):
                return None
            others = (there.roll(len(there) * k // 7) for k in range(1, 7))
            return right, max(int(self.comparison.agrees(here, other).sum()) for other in others)

    def parts(self, wrong: torch.Tensor, arguments: Sequence[int], guesses: Iterable[Guess]
              ) -> Iterator[tuple[Sequence[int], Guess, int]]:
        """The guesses that explain more than chance does, with how many wrong elements."""
        right: dict[str, torch.Tensor] = {}
        by_chance: collections.Counter[str] = collections.Counter()
        known = {}
        for guess in guesses:
            if (one := self.repaired(wrong, arguments, guess)) is not None:
                right[guess.text] = right.get(guess.text, torch.zeros_like(one[0])) | one[0]
                by_chance[guess.text] += one[1]
                known[guess.text] = guess
        for text, guess in known.items():
            count = int(right[text].sum())
            if count >= max(_LEAST_RIGHT * (1 + by_chance[text]), guess.least * int(wrong.sum())):
                yield arguments, guess, count

    def cause(self, wrong: torch.Tensor, tensors: Mapping[int, torch.Tensor]
              ) -> tuple[Sequence[int], Guess, int] | None:
        """Arguments, how the kernel may read them, and how many wrong elements become right if that
        is made up for."""
        tensors = {k: tensor for k, tensor in tensors.items() if k != self.argument}
        numbers = self.replay.numbers
        alike: dict[Any, list[int]] = {}
        for k, tensor in tensors.items():
            alike.setdefault((tensor.shape, tensor.stride(), tensor.storage_offset(),
                              tensor.untyped_storage().nbytes()), []).append(k)
        choices = [[k] for k in tensors] + [ks for ks in alike.values() if len(ks) > 1]
        for guesses in (_exchanges, _fills, _shifts, _pitches):
            found = [one for ks in choices
                     for one in self.parts(wrong, ks, guesses(tensors[ks[0]], numbers))]
            # An index that is read at a wrong place shows in the table that it is for, too.
            best = max(found, default=None, key=lambda one: (
                not tensors[one[0][0]].is_floating_point(), one[2]))
            if best is not None:
                return best
        return None

    def repair(self, wrong: torch.Tensor) -> Repair | None:
        """The first edit of the source with which all elements are right, of several."""
        if self.replay.call is None or len(self.expected[wrong].unique()) < 2:
            return None
        for repair in repairs_of(self.replay.call):
            self.left -= 1
            after = self.replay.run(launch=partial(
                repair.launch, grid=self.replay.grid)) if self.left >= 0 else {}
            with torch._C.DisableTorchFunction():
                if after and bool(self.comparison.agrees(
                        after[self.argument].double().reshape(self.expected.shape),
                        self.expected).all()):
                    return repair
        return None

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

    def moved(self, found: torch.Tensor, wrong: torch.Tensor, dtype: torch.dtype) -> str:
        """Wrong elements that are right at another place."""
        order = self.expected.flatten().argsort()
        known = self.expected.flatten()[order]
        values = found[wrong]

        def places(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            near = torch.searchsorted(known, values).clamp(1, len(known) - 1)
            near = torch.where(values - known[near - 1] < known[near] - values, near - 1, near)
            return near, torch.isclose(known[near], values, rtol=1e-5, atol=1e-9)

        near, same = places(values)
        # What differs in rounding alone is where it should be; what is right at the other place,
        # too, is the same by chance.
        same &= ~torch.isclose(self.expected[wrong], values, rtol=1e-5, atol=1e-9)
        same &= wrong.flatten()[order[near]]
        distinct = values.unique()
        between = ((distinct + distinct.roll(1)) / 2).to(dtype).double()
        if len(known) < 2 or 2 * same.sum() < len(values) or \
                10 * places(between)[1].sum() > len(between) or \
                len(values[same].unique()) < _LEAST_RIGHT or bool((known == known.round()).all()):
            return ""  # So they are by chance, too.
        at = wrong.nonzero()[same].tolist()
        shape = self.expected.shape
        there = [[int(n) for n in torch.unravel_index(order[k], shape)] for k in near[same][:3]]
        pairs = ", ".join(f"{here} has what {other} should" for here, other
                          in zip(at[:3], there, strict=True))
        return f"{len(at)} of {len(values)} wrong elements are what others should be: {pairs}"

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
                return Explanation(self.replay, lines, cause, {})
        cause = self.moved(found, wrong, tensor.dtype)
        places = [where] if cause else []
        if best := self.cause(wrong, after):
            ks, guess, right = best
            read = " and ".join(f"'{names[k]}'" for k in ks)
            cause += (f"{'; or ' if cause else ''}{read} {'is' if len(ks) == 1 else 'are'} read "
                      f"{guess.text}: where elements are moved accordingly, {right} of "
                      f"{int(wrong.sum())} wrong elements of '{names[self.argument]}' become right")
            places.insert(0, loads[ks[0]][1] if ks[0] in loads else None)
        elif not cause and (repair := self.repair(wrong)):
            cause = (f"with {repair.text} all {wrong.numel()} elements of "
                     f"'{names[self.argument]}' are right")
            places.append({"instruction": repair.text, "at": self.replay.kernel, "source": [
                {"file": repair.file, "line": repair.line, "column": 0, "function": ""}]})
        known = dict(zip(("where", "other"), filter(None, places), strict=False))
        return Explanation(self.replay, lines, cause, known)


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
