# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of ``device="cuda"`` in ordinary memory, without PyTorch built for a GPU.

A ``TorchFunctionMode`` sees each call of PyTorch in Python. It has tensors that are asked for on
the GPU made on the CPU, marks their storages, and answers for marked storages what a GPU would:
``tensor.device``, ``is_cuda``, copies between the two. Operators are those of the CPU. Kernels get
the storages' own addresses; each is a buffer of the simulator with the storage's bounds.
simulator/docs/pytest-plugin.md says how it looks from a test.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import math
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from .library import Library

_DEVICE = torch.device("cuda", 0)
_MARK = "_lnbwd_sim_buffer"
_GAPS = "_lnbwd_sim_gaps"
"""Of a copy: how many elements it has, and what is said of those that nobody has written."""
_SOURCES = "_lnbwd_sim_sources"
"""Of a copy: the addresses of the storages that it was copied from."""
_MOST_LAUNCHES = 4
"""That are kept for a comparison which fails."""

_MOST_FREED = 4096
_MOST_FREED_BYTES = 256 << 20
"""Of storages that are kept after their last tensor is gone."""


class Buffer:
    """What is known of a storage on the device. It keeps the storage, so that nothing else gets
    the memory before ``Device.collect`` has seen that no tensor has it any more."""

    def __init__(self, storage: Any, written: bool) -> None:
        self.storage = storage
        self.pointer, self.size = storage.data_ptr(), storage.nbytes()
        self.name = ""
        """What the last kernel calls it that it was an argument of."""
        self.written = written
        """Whether PyTorch may have written it: true of all but fresh ``torch.empty``."""
        self.registered = False
        self.launches = 0
        """How many had it."""
        self._trusted = written

    def is_gone(self) -> bool:
        """Whether only this has the storage: its object in Python, and that the storage."""
        return sys.getrefcount(self.storage) == 2 \
            and torch._C._storage_Use_Count(self.storage._cdata) == 1

    def register(self, library: Library, name: str) -> None:
        """Makes it a buffer of the simulator, under the name of an argument."""
        self.name = name
        if self.registered and self.written and not self._trusted:
            # PyTorch may have written what no kernel has: all of it counts as written.
            self.forget(library)
        if not self.registered:
            library.register(self.pointer, self.size)
            self._trusted = self.written
            library.describe(self.pointer, self.size, name, unwritten=not self.written)
            self.registered = True
        else:
            library.describe(self.pointer, self.size, name)

    def follow(self, library: Library) -> None:
        """The storage may have been resized."""
        now = self.storage.data_ptr(), self.storage.nbytes()
        if now != (self.pointer, self.size):
            self.forget(library)
            self.pointer, self.size = now

    def forget(self, library: Library) -> None:
        """It is no buffer of the simulator's any more."""
        if self.registered:
            library.unregister(self.pointer)
        self.registered = False


class Stride(int):
    """A stride of a tensor, or a number that was computed from one."""

    owner: Buffer | None
    """The storage of the tensor; None: the number was computed."""

    def __new__(cls, value: int, owner: Buffer | None = None) -> Stride:
        """A stride of a tensor in this storage."""
        made = super().__new__(cls, value)
        made.owner = owner
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return int, (int(self),)


def _computing(function: Callable[..., Any]) -> Callable[..., Any]:
    """An operator whose integer results are computed from a stride."""
    def result(self: int, *others: Any) -> Any:
        value = function(self, *others)
        return Stride(value) if type(value) is int else value
    return result


for _name in ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift"):
    for _method in (f"__{_name}__", f"__r{_name}__"):
        setattr(Stride, _method, _computing(getattr(int, _method)))


def tagged(strides: Any, owner: Buffer) -> Any:
    """The answer of ``stride()``, as strides of a storage."""
    if isinstance(strides, tuple):
        return tuple(Stride(stride, owner) for stride in strides)
    return Stride(strides, owner)


def untagged(names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
             ) -> tuple[list[Any], dict[str, Any], dict[str, Stride]]:
    """The arguments of a kernel with ordinary integers, and those that are strides, by name."""
    named = {**dict(zip(names, args, strict=False)), **kwargs}
    found = {name: named[name] for name in names if type(named.get(name)) is Stride}
    return ([int(arg) if type(arg) is Stride else arg for arg in args],
            {name: int(arg) if type(arg) is Stride else arg for name, arg in kwargs.items()}, found)


def _sources_of(tensor: torch.Tensor) -> frozenset[int]:
    """The addresses of a tensor's storage and of those that it was copied from."""
    storage = tensor.untyped_storage()
    known: frozenset[int] = getattr(storage, _SOURCES, frozenset())
    return known | {storage.data_ptr()}


@dataclass(frozen=True)
class Comparison:
    """The tensors that a test compared, as copies, and how."""

    sides: tuple[torch.Tensor, torch.Tensor]
    sources: tuple[frozenset[int], frozenset[int]]
    rtol: float
    atol: float

    @staticmethod
    def of(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
           ) -> Comparison | None:
        """The comparison of a call of PyTorch; None: all is equal, or it compares other things."""
        named = {**dict(zip(("input", "other", "rtol", "atol"), args, strict=False)), **kwargs}
        one, other = named.get("input"), named.get("other")
        if bool(result.all() if isinstance(result, torch.Tensor) else result) or not (
                isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)) or \
                one.shape != other.shape or not one.numel() or one.is_complex():
            return None
        tolerances = (0.0, 0.0) if name == "equal" else (
            named.get("rtol", 1e-5), named.get("atol", 1e-8))
        # Copies: the test may go on and write to them.
        return Comparison(
            (one.detach().to(torch.float64, copy=True),
             other.detach().to(torch.float64, copy=True)),
            (_sources_of(one), _sources_of(other)), *tolerances)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)


def _storage(tensor: torch.Tensor) -> Any:
    """The storage, whose Python object lives as long as itself; None: there is none."""
    try:
        storage = tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return None
    return storage if storage.device.type == "cpu" else None


def _is_gpu(device: Any) -> bool:
    if isinstance(device, bool):
        return False
    if isinstance(device, str):
        return device.split(":")[0] in ("cuda", "hip")
    return isinstance(device, int) or (isinstance(device, torch.device) and device.type == "cuda")


def _check_index(device: Any) -> None:
    index = device if isinstance(device, int) else torch.device(device).index
    if index:
        raise RuntimeError(f"HIP error: invalid device ordinal: expected cuda:0, got cuda:{index}; "
                           "a run simulates one device")


_GETTERS = {getattr(torch.Tensor, name).__get__: name for name in ("device", "is_cuda", "is_cpu")}
_FRESH = {torch.empty, torch.empty_like, torch.empty_strided, torch.empty_permuted,
          torch.Tensor.new_empty, torch.Tensor.new_empty_strided}
_ALIASING = {torch.as_tensor, torch.asarray}
# By name: functions that depend on each element, and such that copy each.
_COMPARING = {"allclose", "equal", "isclose", "item"}
_COPYING = {"bfloat16", "clone", "contiguous", "detach", "double", "float", "half", "int", "long"}
# Functions that write none of their arguments.
_PURE = {"__get__", "__getitem__", "__len__", "as_strided", "clone", "contiguous", "data_ptr",
         "detach", "dim", "element_size", "empty_like", "expand", "expand_as", "flatten",
         "full_like", "is_contiguous", "is_floating_point", "narrow", "ndimension", "nelement",
         "new_empty", "new_full", "new_ones", "new_tensor", "new_zeros", "numel", "ones_like",
         "permute", "rand_like", "randn_like", "requires_grad_", "reshape", "select", "size",
         "split", "squeeze", "storage_offset", "stride", "t", "transpose", "unsqueeze",
         "untyped_storage", "view", "view_as", "zeros_like"}


class Device(TorchFunctionMode):
    """The simulated device, while it is entered."""

    def __init__(self, library: Library) -> None:
        super().__init__()
        self.library = library
        self.kernel = ""
        """The last one that was launched."""
        self.report: Callable[[list[dict[str, Any]], str, tuple[int, ...]], None] | None = None
        self.buffers: dict[Buffer, None] = {}
        """In the order in which they were made."""
        self.strides: dict[str, Stride] = {}
        """Of the arguments of the launch, by name, those that are."""
        self.launches: collections.deque[Any] = collections.deque(maxlen=_MOST_LAUNCHES)
        """The last ones of the present test that can be repeated, by :mod:`.repeat`."""
        self.failed: Comparison | None = None
        """The last comparison of the present test that did."""
        self._scratch: str | None = None
        self._names: dict[Buffer, list[str]] = {}
        self._in_backward = False
        self._freed: collections.deque[Buffer] = collections.deque()
        self._freed_bytes = self._new_bytes = 0

    def begin_test(self) -> None:
        """What earlier tests have launched explains nothing of this one."""
        self.failed = None
        self.launches.clear()

    # What a storage is.

    def buffer(self, tensor: torch.Tensor) -> Buffer | None:
        """The buffer of a tensor on the device; None: it is on the CPU."""
        storage = _storage(tensor)
        found: Buffer | None = None if storage is None else getattr(storage, _MARK, None)
        if found is not None:
            found.follow(self.library)
        return found

    def mark(self, tensor: torch.Tensor, fresh: bool = False) -> None:
        """The tensor is on the device from now on."""
        storage = _storage(tensor)
        if storage is None or getattr(storage, _MARK, None) is not None:
            return
        if fresh and tensor.dtype is not torch.bool and storage.nbytes():
            # A NaN: what nobody writes shows in the results.
            storage.fill_(255)
        self._new_bytes += storage.nbytes()
        if self._new_bytes > _MOST_FREED_BYTES:
            self.collect()
        buffer = Buffer(storage, not fresh)
        setattr(storage, _MARK, buffer)
        self.buffers[buffer] = None
        if self._scratch and buffer.size:
            buffer.register(self.library, self._scratch)

    def _leave_behind(self, tensor: torch.Tensor, shape: Any) -> None:
        """Gives a tensor that is going to be larger another storage, so that the memory that it had
        counts as freed, and is kept."""
        buffer = self.buffer(tensor)
        with torch._C.DisableTorchFunction():
            shape = getattr(shape, "shape", (shape,) if isinstance(shape, int) else shape)
            if buffer is None or math.prod(shape) * tensor.element_size() <= buffer.size \
                    or torch._C._storage_Use_Count(buffer.storage._cdata) > 2:
                return  # It stays, or other tensors have it, too.
            tensor.data = torch.empty(0, dtype=tensor.dtype).set_(
                buffer.storage.clone(), tensor.storage_offset(), tensor.shape, tensor.stride())
        self.mark(tensor)

    def collect(self) -> None:
        """Makes storages that no tensor has memory that was freed. It is kept for a while, so that
        it is no other tensor's, and a kernel that uses it is found out."""
        for buffer in [buffer for buffer in self.buffers if buffer.is_gone()]:
            del self.buffers[buffer]
            buffer.follow(self.library)
            if buffer.size:
                buffer.register(self.library, buffer.name or "tensor")
                buffer.forget(self.library)
            self._freed.append(buffer)
            self._freed_bytes += buffer.size
        while len(self._freed) > _MOST_FREED or self._freed_bytes > _MOST_FREED_BYTES:
            oldest = self._freed.popleft()
            self._freed_bytes -= oldest.size
            delattr(oldest.storage, _MARK)
        self._new_bytes = 0

    @contextlib.contextmanager
    def scratch(self, name: str) -> Iterator[None]:
        """Tensors that are made on the device inside are buffers at once."""
        self._scratch = name
        try:
            yield
        finally:
            self._scratch = None

    def gaps(self, tensor: torch.Tensor) -> str:
        """What is to be said of elements of a tensor that neither a kernel nor PyTorch has
        written; empty: nothing, or the tensor is a part of a copy."""
        storage, buffer = _storage(tensor), self.buffer(tensor)
        elements, text = getattr(storage, _GAPS, (0, ""))
        if elements == tensor.numel() or buffer is None or buffer.written \
                or not buffer.registered or not tensor.is_contiguous():
            return str(text) if elements == tensor.numel() else ""
        count, first = self.library.count_unwritten(tensor.data_ptr(), tensor.nbytes,
                                                    tensor.element_size())
        return f"{count} of the {tensor.numel()} elements of the tensor '{buffer.name}' were " \
               f"never written, the first of them element {first}, and are compared or read" \
            if count > 0 else ""

    def _note_copy(self, tensor: torch.Tensor, copy: Any) -> None:
        text = self.gaps(tensor)
        if isinstance(copy, torch.Tensor) and _storage(copy) is not _storage(tensor):
            setattr(_storage(copy), _SOURCES, _sources_of(tensor))
            if text:
                setattr(_storage(copy), _GAPS, (copy.numel(), text))

    # What a call of PyTorch does.

    def __torch_function__(self, func: Callable[..., Any], types: Sequence[type],
                           args: Sequence[Any] = (),
                           kwargs: Mapping[str, Any] | None = None) -> Any:
        kwargs = dict(kwargs or {})
        getter = _GETTERS.get(func)
        if getter is not None:
            return self._answer(getter, func, args[0])
        name = getattr(func, "__name__", "")
        if func is torch.Tensor.stride and (owner := self.buffer(args[0])) is not None:
            return tagged(func(*args, **kwargs), owner)
        if func is torch.Tensor.get_device:
            return 0 if self.buffer(args[0]) else -1
        if func in (torch.Tensor.numpy, torch.Tensor.__array__) and self.buffer(args[0]):
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() "
                            "to copy the tensor to host memory first.")
        if func in (torch.Tensor.cuda, torch.Tensor.cpu, torch.Tensor.to):
            return self._move(func, args, kwargs)
        if func is torch.Tensor.pin_memory:
            return args[0]
        if func is torch.Tensor.record_stream:
            return None
        if "pin_memory" in kwargs:
            kwargs["pin_memory"] = False
        if func in (torch.Tensor.resize_, torch.Tensor.resize_as_):
            self._leave_behind(args[0], args[1] if len(args) == 2 else args[1:])
        device = kwargs.get("device")
        wanted = None if device is None else _is_gpu(device)
        if wanted:
            _check_index(device)
            kwargs["device"] = "cpu"
        inputs = [t for t in (*_tensors(args), *_tensors(list(kwargs.values())))]
        if name in _COMPARING and self.report is not None:
            for text in filter(None, map(self.gaps, inputs)):
                self.report([{"chip": self.library.chip, "kernel": self.kernel, "check": "memory",
                              "message": text, "count": 1, "stops": False}], text, ())
        if name not in _PURE:
            for tensor in inputs:
                buffer = self.buffer(tensor)
                if buffer is not None:
                    buffer.written = True
                if hasattr(_storage(tensor), _GAPS) and name not in _COMPARING | _COPYING:
                    delattr(_storage(tensor), _GAPS)
        if func is torch.Tensor.backward or func is torch.autograd.grad:
            with self._backward(any(self.buffer(t) for t in inputs)):
                result = func(*args, **kwargs)
        else:
            result = func(*args, **kwargs)
        if name in _COPYING and inputs:
            self._note_copy(inputs[0], result)
        if name in _COMPARING and name != "item" and self.launches:
            self.failed = Comparison.of(name, args, kwargs, result) or self.failed
        if wanted is None and not any(self.buffer(t) is not None for t in inputs):
            return result
        if wanted is False:
            return result
        if func in _ALIASING and isinstance(result, torch.Tensor) and not self.buffer(result):
            result = result.clone()
        for tensor in _tensors(result):
            self.mark(tensor, fresh=func in _FRESH)
        return result

    def _answer(self, getter: str, func: Callable[..., Any], tensor: torch.Tensor) -> Any:
        if self.buffer(tensor) is None:
            return func(tensor)
        return {"device": _DEVICE, "is_cuda": True, "is_cpu": False}[getter]

    def _move(self, func: Callable[..., Any], args: Sequence[Any],
              kwargs: dict[str, Any]) -> torch.Tensor:
        """``to``, ``cuda`` and ``cpu``: a copy if the tensor is on the other side."""
        tensor, rest = args[0], list(args[1:])
        here = self.buffer(tensor) is not None
        target = here
        if func is torch.Tensor.to:
            if rest and isinstance(rest[0], torch.Tensor):
                target = self.buffer(rest[0]) is not None
            elif rest and isinstance(rest[0], (str, int, torch.device)):
                target, device = _is_gpu(rest[0]), rest[0]
                if target:
                    _check_index(device)
                    rest[0] = "cpu"
            elif kwargs.get("device") is not None:
                target = _is_gpu(kwargs["device"])
                if target:
                    _check_index(kwargs["device"])
                    kwargs["device"] = "cpu"
        else:
            target = func is torch.Tensor.cuda
            if target and rest:
                _check_index(rest.pop(0) or 0)
            if target and kwargs.get("device") is not None:
                _check_index(kwargs["device"])
            for key in ("device", "non_blocking", "async"):
                kwargs.pop(key, None)
            func, rest = torch.Tensor.to, ["cpu"]
        result: torch.Tensor = func(tensor, *rest, **kwargs)
        if target != here and _storage(result) is _storage(tensor):
            result = result.clone()
        self._note_copy(tensor, result)
        if target:
            self.mark(result)
        return result

    # Code of the user's that PyTorch's engine calls.

    @contextlib.contextmanager
    def _backward(self, on_device: bool) -> Iterator[None]:
        before, self._in_backward = self._in_backward, on_device
        try:
            yield
        finally:
            self._in_backward = before

    def call_backward(self, function: Callable[..., Any], context: Any, *grads: Any) -> Any:
        """``backward`` of a ``torch.autograd.Function``: the engine calls it without the mode."""
        if self._in_backward:
            for grad in _tensors(grads):
                self.mark(grad)
        if any(mode is self for mode in _get_current_function_mode_stack()):
            return function(context, *grads)
        with self:
            return function(context, *grads)

    # What kernels may access.

    def describe_launch(self, arguments: Iterable[tuple[str, Any]]) -> None:
        """The arguments of a launch by name: their storages become buffers."""
        self._names = {}
        self.collect()
        for name, value in arguments:
            self.describe(name, value)
        for buffer in self._names:
            buffer.launches += 1

    def describe(self, name: str, value: Any) -> None:
        """One argument, or a part of one."""
        if isinstance(value, torch.Tensor):
            buffer = self.buffer(value)
            if buffer is not None and buffer.size:
                names = self._names.setdefault(buffer, [])
                names.append(name)
                buffer.register(self.library, ", ".join(names))
                if value.dtype in (torch.int64, torch.uint64):
                    self._describe_all()
        elif isinstance(value, (list, tuple)):
            parts = getattr(value, "_fields", None) or range(len(value))
            for part, item in zip(parts, value, strict=True):
                self.describe(f"{name}.{part}", item)
        elif self.holds_addresses(value):
            self._describe_all()
        elif hasattr(value, "base"):  # TensorDescriptor and TensorWrapper of Triton.
            self.describe(name, value.base)

    def holds_addresses(self, value: Any) -> bool:
        """Whether a number, or an integer of a tensor, is an address in a buffer."""
        if isinstance(value, torch.Tensor):
            if value.dtype not in (torch.int64, torch.uint64):
                return False
            with torch._C.DisableTorchFunction():
                return any(map(self.holds_addresses, value.unique().tolist()))
        return type(value) is int and value > 65536 and any(
            b.pointer <= value < b.pointer + b.size for b in self.buffers)

    def _describe_all(self) -> None:
        """An argument may hold addresses: kernels may access what is on the device."""
        for buffer in list(self.buffers):
            buffer.launches += 1
            if buffer.size and not buffer.registered:
                buffer.register(self.library, "tensor")


class Stream:
    """A stream; the simulator executes at once."""

    cuda_stream = 0
    stream_id = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.device = _DEVICE

    def synchronize(self) -> None:
        """Everything has been executed."""

    def wait_event(self, event: Any) -> None:
        """It has happened."""

    def wait_stream(self, stream: Any) -> None:
        """It has nothing left to do."""

    def query(self) -> bool:
        """Whether all work is done."""
        return True

    def record_event(self, event: Any = None) -> Any:
        """An event, now."""
        event = event or torch.cuda.Event()
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def _event_class(library: Library) -> type:
    class Event:
        """An event; its times are those of the simulator's clock, which predicts nothing."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._at = 0.0

        def record(self, stream: Any = None) -> None:
            """It happens now."""
            self._at = library.microseconds()

        def elapsed_time(self, end: Event) -> float:
            """Milliseconds up to another event."""
            return (end._at - self._at) / 1e3

        def synchronize(self) -> None:
            """It has happened."""

        def wait(self, stream: Any = None) -> None:
            """It has happened."""

        def query(self) -> bool:
            """Whether it has happened."""
            return True

    return Event


class _DeviceGuard:
    """``torch.cuda.device`` and ``device_of``: there is one device."""

    def __init__(self, device: Any = None) -> None:
        if device is not None and not isinstance(device, torch.Tensor):
            _check_index(device)
        self.idx = self.prev_idx = 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


class _Graph:
    """``torch.cuda.CUDAGraph``, which others have in annotations."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("the simulated device captures no graphs of PyTorch's; "
                                  "call the kernels directly")


class _Generator(torch.Generator):
    """Random numbers for the device are the CPU's."""

    def __new__(cls, device: Any = "cpu") -> _Generator:
        made: _Generator = super().__new__(
            cls, "cpu" if _is_gpu(device) else device)  # type: ignore[call-arg]
        return made


def _cuda_functions(library: Library) -> dict[str, Any]:
    """What ``torch.cuda`` has while the device is there."""
    known = library.properties()
    properties = types.SimpleNamespace(
        **{name: getattr(known, name) for name in known.__dataclass_fields__},
        shared_memory_per_block_optin=known.shared_memory_per_block,
        shared_memory_per_multiprocessor=known.shared_memory_per_block,
        max_threads_per_multi_processor=2048, regs_per_multiprocessor=65536, is_integrated=False,
        is_multi_gpu_board=False)

    def nothing(*args: Any, **kwargs: Any) -> None:
        pass

    def zero(*args: Any, **kwargs: Any) -> int:
        return 0

    def stream(*args: Any, **kwargs: Any) -> Stream:
        return args[0] if args and isinstance(args[0], Stream) else Stream()

    functions: dict[str, Any] = dict.fromkeys(
        ("synchronize", "empty_cache", "ipc_collect", "init", "_lazy_init", "_lazy_call",
         "set_stream", "reset_peak_memory_stats", "reset_max_memory_allocated",
         "reset_accumulated_memory_stats"), nothing)
    functions |= dict.fromkeys(
        ("current_device", "memory_allocated", "max_memory_allocated", "memory_reserved",
         "max_memory_reserved", "utilization", "_exchange_device", "_maybe_exchange_device"), zero)
    functions |= dict.fromkeys(
        ("is_available", "is_initialized", "is_bf16_supported", "is_tf32_supported"),
        lambda *args, **kwargs: True)
    functions |= dict.fromkeys(("current_stream", "default_stream", "stream"), stream)
    functions |= dict.fromkeys(("manual_seed", "manual_seed_all"),
                               lambda seed: torch.default_generator.manual_seed(seed))
    functions |= {
        "device_count": lambda: 1,
        "set_device": lambda device: _check_index(device),
        "get_device_name": lambda device=None: known.name,
        "get_device_capability": lambda device=None: (known.major, known.minor),
        "get_device_properties": lambda device=None: properties,
        "mem_get_info": lambda device=None: (known.total_memory, known.total_memory),
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
        "Stream": Stream, "ExternalStream": Stream, "Event": _event_class(library),
        "device": _DeviceGuard, "device_of": _DeviceGuard, "CUDAGraph": _Graph,
    }
    return functions


def activate(library: Library) -> Device:
    """Makes the device the one of this process, until it ends."""
    device = Device(library)
    for name, value in _cuda_functions(library).items():
        setattr(torch.cuda, name, value)
    torch.version.hip = "6.4.0"
    torch.Generator = _Generator  # type: ignore[misc]
    node = torch.autograd.function.BackwardCFunction
    apply = node.apply

    @functools.wraps(apply)
    def backward(self: Any, *grads: Any) -> Any:
        return device.call_backward(apply, self, *grads)

    node.apply = backward  # type: ignore[method-assign]
    device.__enter__()  # type: ignore[no-untyped-call]
    return device
