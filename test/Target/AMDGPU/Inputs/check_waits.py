# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds that the row loops of a kernel wait for the rows that they work on and not
for those that they load ahead.

check_waits.py FILE KERNEL

FILE is assembly. In the kernel's loops that load by buffer loads and store, each
wait for vector loads before the last store must leave the loads of one set of
rows in flight. Copies from turn to turn are after the last store and may wait
for what they copy. Prints one line for each loop, and one for each wait that does
not hold.
"""

import re
import sys


def read_blocks(path, kernel):
    """The kernel's basic blocks: instructions, and the numbers of the blocks that
    may follow."""
    blocks, labels, inside = [[]], {}, False
    with open(path, encoding="utf-8") as file:
        for line in file:
            text = line.split(";")[0].strip()
            if text == kernel + ":":
                inside = True
            elif inside and text.startswith(".Lfunc_end"):
                break
            elif inside and (label := re.fullmatch(r"(\.LBB\w+):", text)):
                blocks.append([])
                labels[label[1]] = len(blocks) - 1
            elif inside and text and not text.startswith("."):
                blocks[-1].append(text)
                if re.match(r"s_c?branch", text):
                    blocks.append([])
    following = []
    for number, block in enumerate(blocks):
        last = block[-1].split() if block else [""]
        after = [] if last[0] in ("s_branch", "s_endpgm") else [number + 1]
        if last[0].startswith(("s_branch", "s_cbranch")):
            after.append(labels[last[1]])
        following.append([other for other in after if other < len(blocks)])
    return blocks, following


def find_loops(following):
    """Sets of blocks that reach each other."""
    reached = []
    for start in range(len(following)):
        seen, work = set(), list(following[start])
        while work:
            block = work.pop()
            if block not in seen:
                seen.add(block)
                work += following[block]
        reached.append(seen)
    loops = {frozenset(other for other in reached[block] if block in reached[other])
             for block in range(len(following)) if block in reached[block]}
    return sorted(loops, key=min)


def get_waits(text):
    """The number of vector loads that a wait leaves in flight, if it is one."""
    if match := re.match(r"s_waitcnt .*vmcnt\((\d+)\)", text):
        return int(match[1])
    if match := re.match(r"s_wait_loadcnt (\w+)", text):
        return int(match[1], 0)
    if match := re.match(r"s_wait_loadcnt_dscnt (\w+)", text):
        return int(match[1], 0) >> 8
    return None


def main():
    path, kernel = sys.argv[1:]
    blocks, following = read_blocks(path, kernel)
    wrong = found = 0
    for loop in find_loops(following):
        texts = [text for block in loop for text in blocks[block]]
        stores = [text for text in texts if re.match(r"(global|buffer)_store", text)]
        loads = [block for block in loop
                 for text in blocks[block] if re.match(r"buffer_load_(dwordx|b(64|96|128))", text)]
        if not stores or not loads:
            continue
        # Each tile of rows is loaded in one block, beside what another does.
        ahead = min(loads.count(block) for block in set(loads))
        found += 1
        print(f"{kernel}: a row loop that loads {ahead} vectors ahead")
        for block in loop:
            last = max((place for place, text in enumerate(blocks[block])
                        if re.match(r"(global|buffer)_store", text)), default=-1)
            copies = len(set(loads)) == 1
            for place, text in enumerate(blocks[block]):
                left = get_waits(text)
                if left is None or left >= ahead or (copies and place > last):
                    continue
                wrong += 1
                print(f"waits for rows loaded ahead: {text}")
    print(f"{found} row loops, {wrong} waits too many")
    return wrong != 0 or not found


if __name__ == "__main__":
    sys.exit(main())
