# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Workgroups that share a row, for ptx_machine: the instructions of clusters, and bulk copies of
bytes.

The workgroups of a cluster take turns: one goes on until its threads wait for what others send.
What is sent arrives like a copy, when nothing else can go on; the other workgroup's memory keeps
what it was until then. Copies begin, end and are counted in units of 16 bytes.
"""

import re

import numpy as np

COPY_UNIT = 16
# Within so many bytes a copy's bytes lie in memory as where they are put.
PLACE_UNIT = 32
# Addresses of the memory of workgroups of a cluster: their number, from 1 on, above these bits.
PEER_BITS = 40
# The barrier of a cluster, where others have the address of one in shared memory.
MEETING = -1


class Clusters:
    """Part of a Workgroup."""

    def join(self, peers, rank, meeting):
        """Makes it number `rank` of the workgroups `peers`, which all meet at a barrier."""
        self.peers, self.rank = peers, rank
        self.barriers[MEETING] = meeting

    def do_barrier_cluster(self, parts, mask):
        meeting = self.barriers[MEETING]
        if parts[2] == "arrive":
            # The threads that arrive wait for the phase that this is the end of.
            self.met[mask] = meeting.phase
            meeting.missing -= int(mask.sum())
            meeting.settle()
            return
        for thread in np.flatnonzero(mask):
            if meeting.phase == self.met[thread]:
                self.waits[int(thread)] = MEETING, meeting.phase

    def do_mapa(self, parts, operands, mask):
        assert parts[1:] == ["shared::cluster", "u64"]
        addresses = self.value(operands[1]).astype(np.uint64)
        ranks = self.value(operands[2]).astype(np.uint64) + np.uint64(1)
        self.set(operands[0], addresses | ranks << np.uint64(PEER_BITS), mask)

    def send(self, operands, mask):
        """st.async of numbers of 32 bits."""
        registers = re.findall(r"%\w+", operands[1])
        values = np.stack([self.value(r).astype(np.uint32)[mask] for r in registers], axis=1)
        data = np.ascontiguousarray(values).view(np.uint8)
        places, barriers = (self.address(operands[i])[mask] for i in (0, 2))
        assert (places >> PEER_BITS == barriers >> PEER_BITS).all(), "two different workgroups"
        local = (1 << PEER_BITS) - 1
        for place, barrier, each in zip(places, barriers, data, strict=True):
            peer = self.peers[(int(place) >> PEER_BITS) - 1]
            peer.pending.append((int(barrier) & local, np.array([int(place) & local]), each[None]))

    def copy_bytes(self, operands, mask):
        """cp.async.bulk of neighbouring bytes."""
        to, source, barrier = (int(self.address(operands[i])[mask][0]) for i in (0, 1, 3))
        size = self._single(operands[2], mask)
        assert mask.sum() == 1 and size > 0
        assert not (to % COPY_UNIT or source % COPY_UNIT or size % COPY_UNIT), "no whole units"
        if len(self.peers) > 1:
            assert (to - source) % PLACE_UNIT == 0, "a place that makes the copy slow"
        data = self.memory.read(np.array([source]), size)
        places = np.array([to])
        self.shared.write(places, np.full_like(data, 0xFF))
        self.pending.append((barrier, places, data))


def run_cluster(workgroups, meeting):
    """Runs workgroups that wait for one another."""
    for rank, workgroup in enumerate(workgroups):
        workgroup.join(workgroups, rank, meeting)
    left = [workgroup.turns() for workgroup in workgroups]
    while left:
        # A turn that did nothing yields False.
        moved = [next(turns, None) for turns in left]
        assert any(each is not False for each in moved), "workgroups that wait for ever"
        left = [turns for turns, each in zip(left, moved, strict=True) if each is not None]
    for workgroup in workgroups:
        assert not workgroup.pending, "something is in flight to a workgroup that has ended"
