#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the trees that choose schedules from a sweep of timed schedules.

  train.py docs/sweeps/{schedules,regions,graphs}-nvidia.jsonl.xz --out ScheduleTrees.nvidia.trees
  train.py docs/sweeps/{schedules,regions,graphs}-nvidia.jsonl.xz --held-out 5   regrets, in folds

Needs LightGBM and NumPy. A sweep has a JSON object a line. The first one of the first sweep says
what it is: "chip", its "family", "about": where times are from. Others are problems: "program",
MLIR with one lnbwd.rowwise; "rows", its M; "schedules", each as the option `schedule` takes it; and
"us", the microseconds of each. In the place of "us" it may have "registers" of a lane, each over
those that a lane can have if all SIMDs have as many waves. A problem counts as often as its
"weight" says, 1 by itself, and may be of another "chip" of the family. "timed": "graph" says that
its times are without those of the host.
"""

from __future__ import annotations

import argparse
import json
import lzma
import pathlib
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import lightgbm
import numpy as np

# The trees that predict times of a family, or registers, their leaves, and their learning rate.
TREES = {"nvidia": (600, 100, 0.05), "amd": (240, 47, 0.07), "registers": (90, 15, 0.1)}
# By how much logarithms of times differ that a choice tells apart, and how much it counts over
# each time.
CHOICE = {"nvidia": (0.04, 3000.0), "amd": (0.06, 1000.0)}
# A time beyond the best by more, as a logarithm, may be a fault of timing.
BEYOND = 1.0
# What says how long all schedules of a program take: trees and leaves, of features of the program.
LEVEL, PROGRAM_FEATURES = (40, 31, 0.1), 12
# Those after are of time.
REGISTER_FEATURES = 46
# Microseconds of a problem that counts half, and shorter ones less: the host is in their timings.
# In predicted ones and graphs it is not.
HALF_US = {"nvidia": 10.0, "amd": 0.0}
ROOT = pathlib.Path(__file__).resolve().parents[2]
FEATURES = "lib/Analysis/ScheduleFeatures.cpp"


class Samples(NamedTuple):
    """Features, logarithms to predict and weights; ``problem`` counts the programs."""

    features: np.ndarray[Any, Any]
    target: np.ndarray[Any, Any]
    problem: np.ndarray[Any, Any]
    weight: np.ndarray[Any, Any]


def features_of(opt: str, chip: str, problem: dict[str, Any]) -> tuple[str, np.ndarray[Any, Any]]:
    """The names and features of a problem's schedules, the roofline's and a launch's time first."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(problem["schedules"]))
        file.flush()
        text = subprocess.run(
            [opt, f"--lnbwd-set-chip=chip={problem.get('chip', chip)}", "-o", "/dev/null",
             f"--lnbwd-print-schedule-features=rows={problem['rows']} schedules={file.name}"],
            input=problem["program"], capture_output=True, text=True, check=True).stdout
    names, *lines = text.splitlines()
    return names.split(",", 2)[2], np.array([line.split(",") for line in lines], dtype=np.float32)


def read(opt: str, chip: str, problems: list[dict[str, Any]], key: str,
         half: float = 0.0) -> tuple[str, Samples]:
    """The samples of those problems that have ``key``. One whose least is ``half`` counts half."""
    problems = [problem for problem in problems if key in problem]
    if not problems:
        raise SystemExit(f"error: expected problems with '{key}' in the sweeps, got none")
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda problem: features_of(opt, chip, problem), problems))
    columns = [
        (values[:, 2:],
         np.log(np.array(problem[key]) / (values[:, 0] + values[:, 1] if key == "us" else 1)),
         np.full(len(values), index),
         np.full(len(values), problem.get("weight", 1.0) / (
             1 + (half * (problem.get("timed") != "graph") / min(problem[key])) ** 2)))
        for index, (problem, (_, values)) in enumerate(zip(problems, found, strict=True))]
    return found[0][0], Samples(*map(np.concatenate, zip(*columns, strict=True)))


def train(samples: Samples, trees: int, leaves: int, rate: float,
          objective: Any = "l2") -> lightgbm.Booster:
    """Trees for some samples."""
    return lightgbm.train(
        {"objective": objective, "num_leaves": leaves, "learning_rate": rate,
         "min_data_in_leaf": 20, "feature_fraction": 0.7, "bagging_fraction": 0.8,
         "bagging_freq": 1, "num_threads": 1, "deterministic": True, "force_row_wise": True,
         "seed": 1, "verbose": -1},
        lightgbm.Dataset(samples.features, samples.target, weight=samples.weight), trees)


def train_times(samples: Samples, family: str) -> tuple[lightgbm.Booster, lightgbm.Booster]:
    """Trees that choose, and others for the level of a problem's times: their sum predicts times.

    Times say with which probability each schedule of a problem is chosen, by the exponential of
    their logarithms, and trees learn the cross entropy: where a slow schedule seems fast, this is
    what costs, not by how much two slow ones differ. It says nothing of the level, which is
    learned from features that all schedules of a problem share: it changes no order."""
    problem, weight = samples.problem, samples.weight
    sharp, counts = CHOICE[family]
    best = np.full(problem.max() + 1, np.inf)
    np.minimum.at(best, problem, samples.target)
    target = best[problem] + np.minimum(samples.target - best[problem], BEYOND)

    def shares(times: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        least = np.full(problem.max() + 1, np.inf)
        np.minimum.at(least, problem, times)
        share = np.exp((least[problem] - times) / sharp)
        return np.asarray(share / np.bincount(problem, share)[problem])

    goal = shares(target)

    def objective(found: np.ndarray[Any, Any], _: Any) -> tuple[Any, Any]:
        share = shares(found)
        steep = np.maximum(share * (1 - share), goal * (1 - goal))
        return (weight * (found - target + counts * sharp * (goal - share)),
                weight * (1 + counts * steep))

    choice = train(samples._replace(target=target), *TREES[family], objective)
    left = target - np.asarray(choice.predict(samples.features))
    features = np.where(np.arange(samples.features.shape[1]) < PROGRAM_FEATURES,
                        samples.features, 0)
    return choice, train(
        samples._replace(features=features, target=left, weight=weight * goal), *LEVEL)


def regrets(samples: Samples, family: str, folds: int) -> np.ndarray[Any, Any]:
    """The time of the choice over that of the best, for each problem, by trees of other ones."""
    found: np.ndarray[Any, Any] = np.empty(samples.problem.max() + 1)
    fold = np.random.default_rng(1).integers(0, folds, samples.problem.max() + 1)
    of = fold[samples.problem]
    for held in range(folds):
        choice, *_ = train_times(Samples(*(part[of != held] for part in samples)), family)
        for number in np.flatnonzero(fold == held):
            mine = samples.problem == number
            target = samples.target[mine]
            chosen = np.asarray(choice.predict(samples.features[mine])).argmin()
            found[number] = np.exp(target[chosen] - target.min())
    return found


def tables(*models: lightgbm.Booster) -> Iterator[str]:
    """A line for each tree, with its nodes as ScheduleTrees.cpp reads them: threshold and feature,
    and then both children, or the value of a leaf."""

    def visit(node: dict[str, Any]) -> list[str]:
        if "leaf_value" in node:
            return [f"{node['leaf_value']:.5f}".replace("-0.", "-.").removeprefix("0")]
        return [f"{node['threshold']:.5g},{node['split_feature']}",
                *visit(node["left_child"]), *visit(node["right_child"])]

    for model in models:
        for tree in model.dump_model()["tree_info"]:
            yield " ".join(visit(tree["tree_structure"]))


def main() -> None:
    """Trains and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sweep", type=pathlib.Path, nargs="+", help="the first says what")
    parser.add_argument("--opt", default=str(ROOT / "build/bin/lnbwd-opt"), help="the compiler")
    parser.add_argument("--held-out", type=int, metavar="FOLDS", help="print the regret")
    parser.add_argument("--out", type=pathlib.Path, help="the file of trees")
    options = parser.parse_args()
    about, *problems = [{**json.loads(line), "sweep": place}
                        for place, sweep in enumerate(options.sweep)
                        for line in lzma.decompress(sweep.read_bytes()).splitlines()]
    chip, family = about["chip"], about["family"]
    names, times = read(options.opt, chip, problems, "us", HALF_US[family])
    def size_of(problem: np.ndarray[Any, Any]) -> str:
        return f"{len(problem):,} schedules of {len(np.unique(problem)):,} row programs"
    if options.held_out:
        found = regrets(times, family, options.held_out)
        for sweep in range(len(options.sweep)):
            of = np.array([problem["sweep"] == sweep for problem in problems if "us" in problem])
            median, p95 = np.percentile(found[of], (50, 95)).round(4)
            size = size_of(times.problem[of[times.problem]])
            print(json.dumps({"trees": family, "sweep": size, "median": median, "p95": p95}))
    if options.out:
        _, registers = read(options.opt, chip, problems, "registers")
        blob = subprocess.check_output(["git", "hash-object", ROOT / FEATURES], text=True)[:10]
        options.out.write_text("\n".join([
            f"# {', '.join(s.name for s in options.sweep)}, {size_of(times.problem)}: "
            f"{about['about']}.",
            f"# {FEATURES} was {blob} (git log --find-object). By bench/chooser/train.py.",
            f"features {names}",
            f"{family} times", *tables(*train_times(times, family)),
            f"{family} registers", *tables(train(registers._replace(
                features=registers.features[:, :REGISTER_FEATURES]), *TREES["registers"])), ""]))


if __name__ == "__main__":
    main()
