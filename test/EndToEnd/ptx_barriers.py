# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The barriers that count the bytes of copies, for ptx_machine.

A thread that waits for a barrier does not go on before the barrier's phase has ended. A copy
arrives when nothing else can go on: before that there are numbers that are none in its place.
"""

import numpy as np


class Barrier:
    """An mbarrier: a phase ends when all have arrived, and all bytes."""

    def __init__(self, count):
        self.count, self.missing, self.bytes, self.phase = count, count, 0, 0

    def settle(self):
        assert self.missing >= 0, "more arrivals than the barrier counts"
        if self.missing == 0 and self.bytes == 0:
            self.phase, self.missing = self.phase ^ 1, self.count


class Barriers:
    """Part of a Workgroup."""

    def __init__(self):
        self.barriers, self.pending = {}, []
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
            assert self.pending, "all threads wait for barriers and nothing is in flight"
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
