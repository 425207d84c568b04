# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executes the PTX of kernels with products, of row programs whose rows workgroups share, or
without sums over rows in registers, workgroup by workgroup: what their instructions mean by
NVIDIA's manual of PTX, for want of a GPU. It knows the instructions of such kernels alone.

Registers are arrays over the threads of a workgroup. The threads whose next instruction is the
first in the text go on; those at a barrier wait for all others that have not ended. A copy to
shared memory arrives when it is waited for and not before: until then there are numbers that are
none. Accesses to global memory outside of the buffers are errors, and so are those of a thread that
still has to wait for the preceding kernel.
"""

import json
import re

import numpy as np

from device import encode
from ptx_barriers import Barrier, Barriers
from ptx_clusters import Clusters, run_cluster

WARP = 32
GUARD = 4096
# Buffers begin at multiples of so many bytes, as a device allocates them.
LINE = 256
# Of float16, bfloat16 and float32 no number.
POISON = 0xFF
# Instructions behind which threads may be elsewhere, or others may go on.
LEAVES = {"bra", "ret", "bar", "barrier", "mbarrier"}
UNSIGNED = {"b16": np.uint16, "u16": np.uint16, "s16": np.int16, "b32": np.uint32, "u32": np.uint32,
            "s32": np.int32, "b64": np.uint64, "u64": np.uint64, "s64": np.int64, "f32": np.float32}


class Memory:
    """Bytes, and which of them belong to something."""

    def __init__(self, size):
        self.bytes = np.zeros(size, np.uint8)
        self.exists = np.zeros(size, bool)

    def _places(self, addresses, count):
        places = addresses.astype(np.int64)[:, None] + np.arange(count)
        assert (places >= 0).all() and (places < len(self.bytes)).all(), "outside of all memory"
        assert self.exists[places].all(), "outside of the buffers"
        assert (addresses % min(count, 16) == 0).all(), "not aligned"
        return places

    def read(self, addresses, count):
        return self.bytes[self._places(addresses, count)]

    def write(self, addresses, values):
        self.bytes[self._places(addresses, values.shape[1])] = values


def _decode(bits, kind):
    """Numbers of 16 bits, as float32."""
    if kind == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.view(np.float16).astype(np.float32)


class Kernel:
    """One entry of a PTX file."""

    def __init__(self, text, name):
        body = text[text.index(f".entry {name}("):]
        # Workgroups of a cluster, in the grid's second dimension.
        shared = re.search(r"\.reqnctapercluster 1, (\d+), 1", body[:body.index("{")])
        self.cluster = int(shared[1]) if shared else 1
        self.parameters = re.findall(r"\.param [^,)]*?(\w+)\s*[,)]", body[:body.index("{")])
        body = body[body.index("{") + 1:]
        depth, end = 1, 0
        while depth:  # Braces of operands are within the body's.
            depth += {"{": 1, "}": -1}.get(body[end], 0)
            end += 1
        self.code, self.labels, self.static = [], {}, {}
        size, scope, scopes = 0, "", 0
        lines = [line.split("//")[0].strip() for line in body[:end - 1].split("\n")]
        # A statement ends with its semicolon, a label with its line.
        for line in map(str.strip, re.split(r";\s*|(?<=:)\s+", " ".join(lines))):
            # Labels between braces of a statement's own are known there alone.
            while line[:1] in ("{", "}"):
                scopes += line[0] == "{"
                scope = f" of {scopes}" if line[0] == "{" else ""
                line = line[1:].strip()
            if match := re.match(r"\.shared \.align (\d+) \.b8 (\w+)\[(\d+)\]", line):
                size = -(-size // int(match[1])) * int(match[1])
                self.static[match[2]] = size
                size += int(match[3])
            elif line.endswith(":"):
                self.labels[line[:-1] + scope] = len(self.code)
            elif line and not line.startswith("."):
                self.code.append(self._parse(line, scope))
        # The same with the words of each instruction's name.
        self.steps = [(guard, name.split("."), operands) for guard, name, operands in self.code]
        self.static_size = size
        self.waits = any(name == "griddepcontrol.wait" for _, name, _ in self.code)
        # Memory that the launch asks for is after that of the kernel.
        for match in re.finditer(r"\.extern \.shared \.align (\d+) .*? (\w+)\[\];", text):
            self.static_size = -(-size // int(match[1])) * int(match[1])
            self.static[match[2]] = self.static_size

    @staticmethod
    def _parse(line, scope):
        guard = None
        if line.startswith("@"):
            guard, line = line.split(None, 1)
        name, rest = (*line.split(None, 1), "")[:2]
        operands = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s{}\[\]]+", rest)
        if name.startswith("bra") and scope:
            operands = [operand + scope for operand in operands]
        return guard, name.strip(), operands


class Workgroup(Barriers, Clusters):
    """The threads of one workgroup at work."""

    def __init__(self, kernel, arguments, memory, block, threads, launched_bytes, prefetched=None):
        super().__init__()
        self.kernel, self.arguments, self.memory = kernel, arguments, memory
        self.block, self.threads = block, threads
        self.shared = Memory(kernel.static_size + launched_bytes)
        self.shared.exists[:] = True
        self.shared.bytes[:] = POISON
        self.registers = {}
        self.prefetched = [] if prefetched is None else prefetched
        # Which threads know that the preceding kernel has ended.
        self.awaited = np.full(threads, not kernel.waits)
        self.next = np.zeros(threads, np.int64)
        # Which barrier of the workgroup a thread waits at.
        self.barred = np.full(threads, -1)
        # Which meeting of its cluster a thread has arrived at.
        self.met = np.zeros(threads, np.int64)

    def value(self, operand, kind="b64"):
        """An operand's value for all threads."""
        found = self.registers.get(operand)
        if found is not None:
            return found
        if operand.startswith("%tid.x"):
            return np.arange(self.threads).astype(np.uint32)
        if operand == "%laneid":
            return (np.arange(self.threads) % 32).astype(np.uint32)
        if operand.startswith("%ctaid."):
            number = self.block["xyz".index(operand[-1])]
            return np.full(self.threads, number, np.uint32)
        assert not operand.startswith("%"), f"{operand} was never written"
        if operand.startswith("0f"):
            return np.full(self.threads, int(operand[2:], 16), np.uint32)
        number = self.kernel.static[operand] if operand in self.kernel.static else int(operand, 0)
        return np.full(self.threads, number & (2 ** 64 - 1), np.uint64)

    def address(self, operand):
        base, _, offset = operand[1:-1].partition("+")
        return self.value(base).astype(np.int64) + int(offset or 0)

    def set(self, name, values, mask):
        if mask.all():
            self.registers[name] = values
            return
        old = self.registers.get(name)
        if old is None:
            old = np.zeros(self.threads, values.dtype)
        elif old.dtype != values.dtype:
            # Other threads keep their bits.
            old = old.astype(values.dtype)
        self.registers[name] = np.where(mask, values, old)

    def _first(self, free):
        """The first instruction of those threads, and whose it is. Lanes that exchange values
        wait for all of their warp, which may be the whole workgroup."""
        while True:
            place = self.next[free].min()
            here = free & (self.next == place)
            if not self.kernel.code[place][1].startswith("shfl."):
                return place, here
            warp = min(WARP, len(here))
            whole = here.reshape(-1, warp).all(axis=1).repeat(warp)
            if whole.any():
                return place, whole
            free = free & ~here

    def run(self):
        """Runs a workgroup that shares no rows."""
        for _ in self.turns():
            raise AssertionError("it waits for others")

    def turns(self):
        """Goes on as far as it can without others of its cluster, and yields whether it did."""
        end = len(self.kernel.code)
        moved = False
        barriers = self.barred
        while True:
            ready = self.runnable() & (self.next < end) & (barriers < 0)
            if not ready.any() and self.waits:
                yield moved
                moved = False
                continue
            moved = True
            if not ready.any():
                waiting = barriers[barriers >= 0]
                if not waiting.size:
                    assert (self.next == end).all(), "threads that wait for ever"
                    return
                gone = (self.next == end) & (barriers < 0)
                assert (waiting == waiting[0]).all() and (gone | (barriers >= 0)).all(), \
                    "a barrier for some"
                barriers[:] = -1
                continue
            place, here = self._first(ready)
            # The same threads go on up to where others are, or where a thread may leave them. Those
            # behind wait for their warps.
            others = self.next[ready & (self.next > place)]
            until = others.min() if others.size else end
            while True:
                parts = self._step(place, here)
                place += 1
                if (place >= until or parts[0] in LEAVES
                        or self.kernel.code[place][1].startswith("shfl.")):
                    break

    def _step(self, place, here):
        """One instruction of some threads, by its words."""
        guard, parts, operands = self.kernel.steps[place]
        mask = here
        if guard:
            held = self.registers[guard.lstrip("@!")].astype(bool)
            mask = here & (~held if "!" in guard else held)
        self.next[here] = place + 1
        if parts[0] == "bra":
            self.next[mask] = self.kernel.labels[operands[0]]
        elif parts[0] == "ret":
            self.next[mask] = len(self.kernel.code)
        elif parts[0] == "fence" or parts[:2] == ["bar", "warp"]:
            pass
        elif parts[:2] == ["barrier", "cluster"]:
            self.do_barrier_cluster(parts, mask)
        elif parts[0] in ("bar", "barrier"):
            self.barred[mask] = place
        elif not guard or mask.any() or parts[0] == "cp":
            getattr(self, "do_" + parts[0])(parts, operands, mask)
        return parts

    # ------------------------------------------------------------------------------- instructions

    def _read(self, operands, kind):
        """Operands as numbers of a kind; registers of floats are their bits."""
        if kind == "f32":
            return [self.value(o).astype(np.uint32, copy=False).view(np.float32)
                    for o in operands]
        return [self.value(o).astype(UNSIGNED[kind], copy=False) for o in operands]

    def _binary(self, parts, operands, mask, function):
        values = self._read(operands[1:], parts[-1])
        result = function(*values).astype(UNSIGNED[parts[-1]], copy=False)
        self.set(operands[0], result.view(np.uint32) if parts[-1] == "f32" else result, mask)

    def do_griddepcontrol(self, parts, operands, mask):
        """Kernels run one after another; what may start when is looked at alone."""
        if parts[1] == "wait":
            self.awaited |= mask

    def _global(self, mask):
        """The memory of the device, which threads see that have waited."""
        assert self.awaited[mask].all(), "before the preceding kernel has ended"
        return self.memory

    def do_fma(self, parts, operands, mask):
        self._binary(parts, operands, mask,
                     lambda a, b, c: a.astype(np.float64) * b.astype(np.float64) + c)

    def do_rcp(self, parts, operands, mask):
        self._binary(parts, operands, mask, lambda a: np.float32(1) / a)

    def do_sqrt(self, parts, operands, mask):
        self._binary(parts, operands, mask, np.sqrt)

    def do_abs(self, parts, operands, mask):
        self._binary(parts, operands, mask, np.abs)

    def do_neg(self, parts, operands, mask):
        self._binary(parts, operands, mask, np.negative)

    def do_add(self, parts, operands, mask):
        self._binary(parts, operands, mask, lambda a, b: a + b)

    def do_sub(self, parts, operands, mask):
        self._binary(parts, operands, mask, lambda a, b: a - b)

    def do_mul(self, parts, operands, mask):
        if parts[1] == "wide":
            a, b = (self.value(o).astype(UNSIGNED[parts[2]]) for o in operands[1:])
            self.set(operands[0], a.astype(np.uint64) * b.astype(np.uint64), mask)
            return
        if parts[1] == "hi":
            a, b = (self.value(o).astype(UNSIGNED[parts[2]]) for o in operands[1:])
            bits = 8 * a.dtype.itemsize
            high = [int(x) * int(y) >> bits for x, y in zip(a, b, strict=True)]
            self.set(operands[0], np.array(high, a.dtype), mask)
            return
        self._binary(parts, operands, mask, lambda a, b: a * b)

    def do_mad(self, parts, operands, mask):
        if parts[1] == "wide":
            a, b = (self.value(o).astype(UNSIGNED[parts[2]]) for o in operands[1:3])
            c = self.value(operands[3]).astype(np.uint64)
            self.set(operands[0], a.astype(np.uint64) * b.astype(np.uint64) + c, mask)
            return
        self._binary(parts, operands, mask, lambda a, b, c: a * b + c)

    def do_and(self, parts, operands, mask):
        if parts[-1] == "pred":
            self.set(operands[0], self.value(operands[1]) & self.value(operands[2]), mask)
            return
        self._binary(parts, operands, mask, lambda a, b: a & b)

    def do_or(self, parts, operands, mask):
        if parts[-1] == "pred":
            self.set(operands[0], self.value(operands[1]) | self.value(operands[2]), mask)
            return
        self._binary(parts, operands, mask, lambda a, b: a | b)

    def do_xor(self, parts, operands, mask):
        self._binary(parts, operands, mask, lambda a, b: a ^ b)

    def do_not(self, parts, operands, mask):
        self.set(operands[0], ~self.value(operands[1]), mask)

    def do_shl(self, parts, operands, mask):
        self._binary(parts, operands, mask, lambda a, b: a << b)

    def do_shr(self, parts, operands, mask):
        self._binary(parts, operands, mask, lambda a, b: a >> b)

    def do_min(self, parts, operands, mask):
        self._binary(parts, operands, mask, np.minimum)

    def do_max(self, parts, operands, mask):
        self._binary(parts, operands, mask, np.maximum)

    def do_div(self, parts, operands, mask):
        self._binary(parts, operands, mask, lambda a, b: a // np.maximum(b, 1))

    def do_rem(self, parts, operands, mask):
        self._binary(parts, operands, mask, lambda a, b: a % np.maximum(b, 1))

    def do_bfe(self, parts, operands, mask):
        self._binary(parts, operands, mask,
                     lambda a, at, count: (a >> at) & ((np.uint64(1) << count) - np.uint64(1)))

    def do_setp(self, parts, operands, mask):
        a, b = self._read(operands[1:], parts[-1])
        function = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "eq": np.equal,
                    "ge": np.greater_equal, "ne": np.not_equal}[parts[1]]
        self.set(operands[0], function(a, b), mask)

    def do_selp(self, parts, operands, mask):
        kind = {"f32": np.uint32}.get(parts[-1]) or UNSIGNED[parts[-1]]
        a, b = (self.value(o).astype(kind) for o in operands[1:3])
        self.set(operands[0], np.where(self.value(operands[3]), a, b), mask)

    def do_prmt(self, parts, operands, mask):
        both = np.stack([self.value(o).astype(np.uint32) for o in operands[1:3]], axis=1)
        source = np.ascontiguousarray(both).view(np.uint8)
        places = self.value(operands[3]).astype(np.int64)[:, None] >> np.arange(0, 16, 4) & 15
        assert (places < 8).all()
        chosen = np.take_along_axis(source, places, axis=1)
        self.set(operands[0], np.ascontiguousarray(chosen).view(np.uint32)[:, 0], mask)

    def do_mov(self, parts, operands, mask):
        if operands[1].startswith("{"):
            names = re.findall(r"%\w+|\b\d+\b", operands[1])
            each = np.dtype(f"u{np.dtype(UNSIGNED[parts[-1]]).itemsize // len(names)}")
            values = np.stack([self.value(name).astype(each) for name in names], axis=1)
            whole = np.ascontiguousarray(values).view(UNSIGNED[parts[-1]])[:, 0]
            self.set(operands[0], whole, mask)
            return
        if operands[0].startswith("{"):
            names = re.findall(r"%\w+|_", operands[0])
            each = np.dtype(f"u{np.dtype(UNSIGNED[parts[-1]]).itemsize // len(names)}")
            whole = self.value(operands[1]).astype(UNSIGNED[parts[-1]])
            values = np.ascontiguousarray(whole[:, None]).view(each)
            for i, name in enumerate(names):
                if name != "_":
                    self.set(name, values[:, i].copy(), mask)
            return
        kind = {"f32": np.uint32, "pred": bool}.get(parts[-1]) or UNSIGNED[parts[-1]]
        self.set(operands[0], self.value(operands[1]).astype(kind), mask)

    def do_cvt(self, parts, operands, mask):
        to, source = parts[-2:]
        if source in ("bf16", "f16"):
            narrow = self.value(operands[1]).astype(np.uint16)
            self.set(operands[0], _decode(narrow, source).view(np.uint32), mask)
            return
        if to in ("bf16x2", "f16x2"):
            high, low = (encode(self.value(operand).astype(np.uint32).view(np.float32), to[:-2])
                         for operand in operands[1:])
            self.set(operands[0], high.astype(np.uint32) << np.uint32(16) | low, mask)
            return
        if to in ("bf16", "f16"):
            number = self.value(operands[1]).astype(np.uint32).view(np.float32)
            self.set(operands[0], encode(number, to), mask)
            return
        number = self.value(operands[1]).astype(UNSIGNED[source])
        if to == "f32":
            self.set(operands[0], number.astype(np.float32).view(np.uint32), mask)
            return
        self.set(operands[0], number.astype(UNSIGNED[to]), mask)

    def do_cvta(self, parts, operands, mask):
        self.set(operands[0], self.value(operands[1]).astype(np.uint64), mask)

    def do_ld(self, parts, operands, mask):
        if parts[1] == "param":
            values = self.arguments[self.kernel.parameters.index(operands[1][1:-1])]
            self.set(operands[0], np.full(self.threads, values, np.uint64), mask)
            return
        registers = re.findall(r"%\w+", operands[0])
        kind = np.dtype({"f32": np.uint32}.get(parts[-1]) or UNSIGNED[parts[-1]])
        memory = self._global(mask) if "global" in parts else self.shared
        data = memory.read(self.address(operands[1])[mask], kind.itemsize * len(registers))
        for i, register in enumerate(registers):
            values = np.zeros(self.threads, kind)
            part = data[:, i * kind.itemsize:(i + 1) * kind.itemsize]
            values[mask] = np.ascontiguousarray(part).view(kind)[:, 0]
            self.set(register, values, mask)

    def do_st(self, parts, operands, mask):
        kind = {"f32": np.uint32}.get(parts[-1]) or UNSIGNED[parts[-1]]
        if parts[1] == "async":
            self.send(operands, mask)
            return
        memory = self._global(mask) if "global" in parts else self.shared
        values = [self.value(r).astype(kind)[mask]
                  for r in re.findall(r"%\w+|0f\w+|\b\d+\b", operands[1])]
        data = np.ascontiguousarray(np.stack(values, axis=1)).view(np.uint8)
        memory.write(self.address(operands[0])[mask], data)

    def _prefetch(self, operands, mask):
        """Units of 16 bytes, each of which has a byte of a buffer at least."""
        for begin, size in zip(self.address(operands[0])[mask], self.value(operands[1])[mask],
                               strict=True):
            begin, size = int(begin), int(size)
            assert begin % 16 == 0 and size % 16 == 0 and size, "no whole units"
            assert self.memory.exists[begin:begin + size].reshape(-1, 16).any(axis=1).all(), \
                "outside of the buffers"
            self.prefetched.append((begin, begin + size))

    def do_discard(self, parts, operands, mask):
        """What was there is no number any more."""
        addresses, size = self.address(operands[0])[mask], int(operands[1], 0)
        assert not (addresses % size).any(), "not aligned"
        self._global(mask).write(addresses, np.full((len(addresses), size), POISON, np.uint8))

    def do_cp(self, parts, operands, mask):
        if parts[2:4] == ["bulk", "prefetch"]:
            self._prefetch(operands, mask)
        else:
            assert parts[2] == "bulk"
            if mask.any():
                self.copy_bytes(operands, mask)

    def do_ldmatrix(self, parts, operands, mask):
        assert mask.all() and "x4" in parts
        rows = self.shared.read(self.address(operands[1]), 16).view(np.uint16)
        rows = rows.reshape(-1, 4, 8, 8)  # Of a warp: matrix, row, element.
        pairs = np.ascontiguousarray(rows).view(np.uint32).reshape(-1, 4, WARP)
        for i, register in enumerate(re.findall(r"%\w+", operands[0])):
            self.set(register, pairs[:, i].reshape(-1), mask)

    def do_mma(self, parts, operands, mask):
        assert mask.all()
        assert parts[3] == "m16n8k16"
        d, a, b, c = (re.findall(r"%\w+|0f\w+", operand) for operand in operands)
        warps = self.threads // WARP

        def tile(registers, shape, kind):
            """8 rows of 4 lanes each, a register's elements side by side."""
            bits = np.stack([self.value(r).astype(np.uint32) for r in registers])
            values = _decode(bits.view(np.uint16), kind)
            rows, columns = shape
            values = values.reshape(columns, rows, warps, 8, -1)
            return values.transpose(2, 1, 3, 0, 4).reshape(warps, 8 * rows, -1)

        left, right = tile(a, (2, 2), parts[-3]), tile(b, (1, 2), parts[-2])
        product = left @ right.transpose(0, 2, 1)  # [warps, 16, 8]
        parts_of = product.reshape(warps, 2, 8, 4, 2).transpose(1, 4, 0, 2, 3).reshape(4, -1)
        for i, (to, old) in enumerate(zip(d, c, strict=True)):
            total = self.value(old).astype(np.uint32).view(np.float32) + parts_of[i]
            self.set(to, total.astype(np.float32).view(np.uint32), mask)


def launch(text, rows, inputs, prefetched=None):
    """Runs all kernels of a PTX file.

    Args:
        text: the file, with its launch plan.
        rows: M.
        inputs: bytes of the buffers that are read, by name.
        prefetched: a list that takes the parts of buffers that kernels have brought to a cache: the
            buffer's name, and the first byte and that after the last, which may lie outside.

    Returns:
        The bytes of the buffers that are written, by name.
    """
    plan = json.loads(re.search(r"^// lnbwd-plan: (.*)$", text, re.M)[1])
    sizes = {"f32": 4, "bf16": 2, "f16": 2}

    def size_of(buffer, count):
        length = buffer.get("row_stride", buffer["row_length"])
        return count * length * sizes[buffer.get("element", "f32")]

    def number(value):
        if isinstance(value, int):
            return value
        if "workgroup_count" in value:
            count = plan["workgroup_counts"][value["workgroup_count"]]
            return max(1, -(-rows // count["rows_per_workgroup"]))
        return value.get("constant", rows)

    buffers, total = [], GUARD
    arguments = [(argument, size_of(argument, rows if argument["kind"].startswith("row_") else 1))
                 for argument in plan["arguments"]]
    workspace = [(buffer, size_of(buffer, number(buffer["rows"]))) for buffer in plan["workspace"]]
    for _, size in arguments + workspace:
        buffers.append((total, size))
        total += -(-size // LINE) * LINE + GUARD
    memory = Memory(total)
    for (buffer, _), (begin, size) in zip(arguments + workspace, buffers, strict=True):
        memory.exists[begin:begin + size] = True
        memory.bytes[begin:begin + size] = POISON
        if buffer.get("access") == "read":
            memory.bytes[begin:begin + size] = np.frombuffer(inputs[buffer["name"]], np.uint8)
    blocks = []
    for entry in plan["kernels"]:
        kernel = Kernel(text, entry["name"])
        values = []
        for parameter in entry["parameters"]:
            if "argument" in parameter:
                values.append(buffers[parameter["argument"]][0])
            elif "workspace" in parameter:
                values.append(buffers[len(arguments) + parameter["workspace"]][0])
            else:
                values.append(number(parameter))
        x, y, z = map(number, entry["grid"])
        threads = entry["block"][0]
        for i, j, k in np.ndindex(x, y // kernel.cluster, z):
            workgroups = [
                Workgroup(kernel, values, memory, (i, kernel.cluster * j + rank, k), threads,
                          entry["dynamic_shared_bytes"], blocks)
                for rank in range(kernel.cluster)]
            # Threads that do not take part have any numbers.
            with np.errstate(all="ignore"):
                if kernel.cluster > 1:
                    run_cluster(workgroups, Barrier(kernel.cluster * threads))
                else:
                    workgroups[0].run()
    if prefetched is not None:
        prefetched += [(buffer["name"], first - begin, behind - begin) for first, behind in blocks
                       for (buffer, _), (begin, size) in zip(arguments + workspace, buffers,
                                                             strict=True)
                       if begin - 16 < first < begin + size]
    return {argument["name"]: memory.bytes[begin:begin + size].tobytes()
            for (argument, _), (begin, size) in zip(arguments, buffers[:len(arguments)],
                                                    strict=True)
            if argument["access"] != "read"}
