# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The instructions of four waves, tensor copies and the barriers that count their bytes, for
ptx_machine.

A thread that waits for a barrier does not go on before the barrier's phase has ended. A copy
arrives when nothing else can go on: before that there are numbers that are none in its place. What
wgmma and tensor copies make of addresses is written down here a second time, from the manual's
tables and not from the compiler's code.
"""

import re

import numpy as np

# What tensormap.replace calls the types, and bytes of their elements.
ELEMENTS = {6: "f16", 10: "bf16"}
ELEMENT_BYTES = 2
SWIZZLE_128 = 3


def _decode(bits, kind):
    """Numbers of 16 bits, as float32."""
    if kind == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.view(np.float16).astype(np.float32)


def swizzled(addresses):
    """Bits 4 to 6 of an address, exclusive-ored with bits 7 to 9."""
    return addresses ^ (addresses >> 7 & 7) << 4


class Barrier:
    """An mbarrier: a phase ends when all have arrived, and all bytes."""

    def __init__(self, count):
        self.count, self.missing, self.bytes, self.phase = count, count, 0, 0

    def settle(self):
        assert self.missing >= 0, "more arrivals than the barrier counts"
        if self.missing == 0 and self.bytes == 0:
            self.phase, self.missing = self.phase ^ 1, self.count


class WarpGroups:
    """Part of a Workgroup."""

    def __init__(self):
        self.barriers, self.maps, self.pending = {}, {}, []
        # What a thread waits for: a barrier's address and a parity.
        self.waits = {}
        # The workgroups of its cluster, if it is one of several.
        self.peers = []

    def runnable(self):
        """Which threads do not wait for a barrier; copies arrive where there is no other way."""
        end = len(self.kernel.code)
        while True:
            for thread, (address, parity) in list(self.waits.items()):
                if self.barriers[address].phase != parity:
                    del self.waits[thread]
            free = np.ones(self.threads, bool)
            free[list(self.waits)] = False
            moving = free & (self.next < end) & (self.barred < 0)
            if moving.any() or not self.waits:
                return free
            if self.peers and not self.pending:
                return free
            assert self.pending, "all threads wait for barriers and nothing is on its way"
            barrier, places, data = self.pending.pop(0)
            self.shared.write(places, data)
            self.barriers[barrier].bytes -= data.size
            self.barriers[barrier].settle()

    def _single(self, operand, mask):
        """The value of an operand that is the same for all threads of the mask."""
        values = np.unique(self.value(operand)[mask])
        assert len(values) == 1, "expected the same value in all threads"
        return int(values[0])

    # ------------------------------------------------------------------------------- instructions

    def do_shfl(self, parts, operands, mask):
        assert parts[2] == "bfly"
        lanes = np.arange(self.threads) ^ int(operands[2], 0)
        assert mask[lanes[mask]].all(), "the other lane is elsewhere"
        self.set(operands[0].split("|")[0], self.value(operands[1])[lanes], mask)

    def do_mbarrier(self, parts, operands, mask):
        if parts[1] == "init":
            address = int(self.address(operands[0])[mask][0])
            assert mask.sum() == 1 and address not in self.barriers
            self.barriers[address] = Barrier(self._single(operands[1], mask))
        elif parts[1] == "try_wait":
            addresses, parities = self.address(operands[1]), self.value(operands[2])
            for thread in np.flatnonzero(mask):
                address, parity = int(addresses[thread]), int(parities[thread])
                if self.barriers[address].phase == parity:
                    self.waits[int(thread)] = address, parity
            # It goes on when it is true.
            self.set(operands[0], np.ones(self.threads, bool), mask)
        else:
            assert parts[1] == "arrive"
            place = next(i for i, o in enumerate(operands) if o.startswith("["))
            for thread in np.flatnonzero(mask):
                barrier = self.barriers[int(self.address(operands[place])[thread])]
                if "expect_tx" in parts:
                    barrier.bytes += int(self.value(operands[place + 1])[thread])
                barrier.missing -= 1
                barrier.settle()

    def do_tensormap(self, parts, operands, mask):
        if parts[1] == "cp_fenceproxy":
            assert mask.sum() == 32, "expected a whole wave"
            to, source = (int(self.address(o)[mask][0]) for o in operands[:2])
            self.maps[to] = dict(self.maps[source])
            return
        assert parts[1:3] == ["replace", "tile"] and mask.sum() == 1
        address = int(self.address(operands[0])[mask][0])
        if address not in self.maps:
            # Other fields than those that are replaced have to be 0.
            zeros = self.shared.read(np.array([address]), 128)
            assert not zeros.any()
        numbers = [self._single(o, mask) for o in operands[1:]]
        self.maps.setdefault(address, {})[(parts[3], *numbers[:-1])] = numbers[-1]

    def copy_tensor(self, operands, mask):
        """cp.async.bulk.tensor.2d of a swizzled box."""
        assert mask.sum() == 1
        to, barrier = (int(self.address(o)[mask][0]) for o in (operands[0], operands[2]))
        name, *coordinates = re.findall(r"%\w+|-?\b\d+\b", operands[1])
        fields = self.maps[self._single(name, mask)]
        column, row = (np.int32(np.uint32(self._single(c, mask) & 0xFFFFFFFF))
                       for c in coordinates)
        assert fields["rank",] == 1 and fields["elemtype",] in ELEMENTS
        assert fields["swizzle_mode",] == SWIZZLE_128 and fields["interleave_layout",] == 0
        assert fields["fill_mode",] == 0
        assert fields["element_stride", 0] == fields["element_stride", 1] == 1
        width, height = fields["box_dim", 0], fields["box_dim", 1]
        assert width * ELEMENT_BYTES <= 128 and height <= 256 and to % 128 == 0
        stride = fields["global_stride", 0]
        assert stride % 16 == 0 and fields["global_address",] % 16 == 0
        rows = int(row) + np.arange(height)
        columns = int(column) + np.arange(width)
        exists = ((rows >= 0) & (rows < fields["global_dim", 1]))[:, None] & (
            (columns >= 0) & (columns < fields["global_dim", 0]))
        addresses = fields["global_address",] + rows[:, None] * stride + columns * ELEMENT_BYTES
        data = np.zeros((*exists.shape, ELEMENT_BYTES), np.uint8)
        data[exists] = self.memory.read(addresses[exists], ELEMENT_BYTES)
        places = swizzled(to + np.arange(height)[:, None] * width * ELEMENT_BYTES
                          + np.arange(width) * ELEMENT_BYTES).ravel()
        data = data.reshape(-1, ELEMENT_BYTES)
        self.shared.write(places, np.full_like(data, 0xFF))
        self.pending.append((barrier, places, data))

    def _operand(self, descriptor, size, depth, turned, kind):
        """A matrix [size, depth] that a descriptor names."""
        start, leading, stride = ((descriptor >> bit & 0x3FFF) * 16 for bit in (0, 16, 32))
        assert descriptor >> 62 == 1, "expected the swizzle of 128 bytes"
        i, k = np.meshgrid(np.arange(size), np.arange(depth), indexing="ij")
        if turned:
            places = i % 64 * ELEMENT_BYTES + i // 64 * leading + k % 8 * 128 + k // 8 * stride
        else:
            places = i % 8 * 128 + i // 8 * stride + k * ELEMENT_BYTES
        data = self.shared.read(swizzled(start + places.ravel()), ELEMENT_BYTES)
        return _decode(np.ascontiguousarray(data).view(np.uint16)[:, 0], kind).reshape(
            size, depth)

    def do_wgmma(self, parts, operands, mask):
        if parts[1] != "mma_async":
            return
        shape = re.fullmatch(r"m64n(\d+)k16", parts[4])
        columns = int(shape[1])
        registers = re.findall(r"%\w+", operands[0])
        assert len(registers) == columns // 2 and mask.sum() % 128 == 0
        turned_a, turned_b = (int(o, 0) for o in operands[-2:])
        for first in range(0, self.threads, 128):
            group = np.arange(first, first + 128)
            if not mask[group].any():
                continue
            here = np.zeros(self.threads, bool)
            here[group] = True
            assert mask[group].all()
            a, b = (self._single(o, here) for o in operands[1:3])
            left = self._operand(a, 64, 16, turned_a, parts[6])
            right = self._operand(b, columns, 16, turned_b, parts[7])
            product = (left @ right.T).astype(np.float32)
            # Waves have 16 rows, lanes two neighbours of every eighth row and column.
            values = product.reshape(4, 2, 8, columns // 8, 4, 2).transpose(3, 1, 5, 0, 2, 4)
            for register, value in zip(registers, values.reshape(len(registers), 128), strict=True):
                total = np.zeros(self.threads, np.float32)
                old = self.value(register).astype(np.uint32).view(np.float32)
                total[group] = old[group] + value
                self.set(register, total.view(np.uint32), here)
