//===- Passes.td - Passes over kernels of the lane level ---*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes the passes, in the order in which the pipeline runs them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TRANSFORMS_LANE_PASSES_TD
#define LNBWD_TRANSFORMS_LANE_PASSES_TD

include "lnbwd/Target/PassOptions.td"
include "mlir/Pass/PassBase.td"

def ReloadPhasesPass
    : Pass<"lnbwd-reload-phases", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Read a row again in each of its phases";
  let description = [{
    Obeys `reload` of the schedule that the kernel's `lnbwd.kernel_info` has,
    which serves rows of any length: a row does not stay with its lanes. Each
    `lane.fold` becomes a loop over the row's columns, one access of each lane
    at a time, which loads what it needs, split already; so do the stores, all
    in one loop behind the last reduction, since they may be to rows that are
    read. Columns are loaded there as well. Kernels of other schedules are left
    alone.

    Fails on a loop with column sums, whose columns stay with a lane, and on
    parts that are neither loaded nor computed by pure operations. Goes before
    `lnbwd-peel-last-rows`.

    Before:

    ```mlir
    %place = lane.place : !lane.place<row_length = 65536, lanes = 256, groups = 1, width = 4>
    // In the loop over the rows:
    %x = lane.load %xs[%row] at %place : ... -> vector<64x4xf32>
    %share = lane.fold [#vector.kind<add>] %x at %place : ... -> vector<4xf32>
    %s = lane.reduce [#vector.kind<add>] %share at %place turn %turn phase 0 : ...
    %sv = vector.broadcast %s : f32 to vector<64x4xf32>
    %y = arith.mulf %x, %sv : vector<64x4xf32>
    lane.store %y, %ys[%row] at %place : ...
    ```

    After:

    ```mlir
    !tile = !lane.place<row_length = 65536, lanes = 256, groups = 1, width = 4, columns = 1024>

    %share = scf.for %column = %c0 to %c65536 step %c1024 iter_args(%sum = %zero) -> (vector<4xf32>) {
      %tile = lane.place from %column : !tile
      %x = lane.load %xs[%row] at %tile access 0 : ... -> vector<4xf32>
      %next = arith.addf %sum, %x fastmath<contract> : vector<4xf32>
      scf.yield %next : vector<4xf32>
    } {lane.part = #lane.part<reload>}
    %s = lane.reduce [#vector.kind<add>] %share at %place turn %turn phase 0 : ...
    scf.for %column = %c0 to %c65536 step %c1024 {
      %tile = lane.place from %column : !tile
      %x = lane.load %xs[%row] at %tile access 0 : ... -> vector<4xf32>
      %sv = vector.broadcast %s : f32 to vector<4xf32>
      %y = arith.mulf %x, %sv : vector<4xf32>
      lane.store %y, %ys[%row] at %tile access 0 : ...
    } {lane.part = #lane.part<reload>}
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [Statistic<"numReloaded", "reloaded", "Row loops changed">];
}

def SinkColumnsPass : Pass<"lnbwd-sink-columns", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Load vectors of columns where a row needs them";
  let description = [{
    In a kernel whose schedule gives each set of rows a workgroup of its own
    (`workgroups_per_compute_unit = 0`), where several waves share a row: what
    `lane.load_columns` loads ahead of the loop, and the row needs only behind
    a `lane.reduce`, is loaded right before that, by each group for itself.
    Until then its registers are free, and the compute unit holds more
    workgroups. Kernels that stay for further rows have their vectors once for
    all of them, and a wave that has its row to itself waits too short for the
    sum; both are left alone.

    Before:

    ```mlir
    %gamma = lane.load_columns %gammas at %place : ... -> vector<2x8xbf16>
    lane.for_rows %set = %begin to %rows step %step at %place attributes {once} : ... {
      ...
      %s = lane.reduce [#vector.kind<add>] %share at %place turn %turn phase 0 : ...
      ...
      %wide = arith.extf %gamma : vector<2x8xbf16> to vector<2x8xf32>
      ...
    }
    ```

    After:

    ```mlir
    lane.for_rows %set = %begin to %rows step %step at %place attributes {once} : ... {
      ...
      %s = lane.reduce [#vector.kind<add>] %share at %place turn %turn phase 0 : ...
      ...
      %gamma = lane.load_columns %gammas at %place each : ... -> vector<2x8xbf16>
      %wide = arith.extf %gamma : vector<2x8xbf16> to vector<2x8xf32>
      ...
    }
    ```
  }];
  let options = [ChipOption];
  let statistics = [Statistic<"numSunk", "sunk", "Vectors loaded later">];
}

def PrefetchFirstRowsPass
    : Pass<"lnbwd-prefetch-first-rows", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Bring the first rows near while the kernel before ends";
  let description = [{
    Obeys `early_rows` of the schedule that the kernel's `lnbwd.kernel_info`
    has. Such a kernel may start before the one before it has ended, and loads
    nothing ahead of `lane.await_previous_kernel`, since that one may still
    write what is loaded. To the cache where all writes of the chip meet rows
    may come at any time: those that a workgroup has on their way before its
    first turn is done, which are `stages` sets of rows, or one more than
    `prefetch`, or `unroll`. What says where they are goes ahead of the wait
    as well.

    Kernels of other schedules are left alone, and so are loops that wait within
    a turn, which load their rows before. Fails on whole sets, on a load of
    anything but the row of the loop's set, and where the loop's bounds need
    what is loaded behind the wait.

    Before:

    ```mlir
    %place = lane.place : !place
    lane.await_previous_kernel
    %gamma = lane.load_columns %gammas at %place : ... -> vector<2x8xbf16>
    %begin = arith.muli %workgroup, %c8 : index
    %step = arith.muli %workgroups, %c8 : index
    lane.for_rows %set = %begin to %rows step %step at %place for %workgroup of %workgroups : ... {
      %row = lane.row %set at %place : !place
      %x = lane.load %xs[%row] at %place : ... -> vector<2x8xbf16>
      ...
    }
    ```

    After, for `stages = 2`:

    ```mlir
    %place = lane.place : !place
    %begin = arith.muli %workgroup, %c8 : index
    %step = arith.muli %workgroups, %c8 : index
    lane.prefetch_rows %xs from %begin below %rows at %place : !place, memref<?x1024xbf16>
    %second = arith.addi %begin, %step : index
    lane.prefetch_rows %xs from %second below %rows at %place : !place, memref<?x1024xbf16>
    lane.await_previous_kernel
    %gamma = lane.load_columns %gammas at %place : ... -> vector<2x8xbf16>
    lane.for_rows %set = %begin to %rows step %step at %place for %workgroup of %workgroups : ... {
      %row = lane.row %set at %place : !place
      %x = lane.load %xs[%row] at %place : ... -> vector<2x8xbf16>
      ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numPrefetched", "prefetched", "Row loops whose first rows come early">,
  ];
}

def PipelineRowsPass
    : Pass<"lnbwd-pipeline-rows", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Have the loads of several sets of rows on their way";
  let description = [{
    Obeys `prefetch` and `unroll` of the schedule that the kernel's
    `lnbwd.kernel_info` has; a kernel of a schedule with neither is left alone.

    - `prefetch`: a turn loads the set that the next one works on, and hands it
      on as carried values. Of rows that are staged, the row scalars alone.
    - `prefetch` and `unroll = 2`: a turn works on two sets, and loads each of
      the next turn's two when the registers of one of its own are free.
    - `unroll` alone: a turn takes so many sets, and loads all before it works
      on the first.

    Where the body awaits the kernel before, behind some of its loads, a turn of
    several sets does so once, behind those of all sets; with `prefetch` it
    moves ahead of the loop.

    What is left has whole sets; docs/lowering.md shows each kind of loop, and
    what becomes of rows that do not exist. Fails behind `lnbwd-peel-last-rows`,
    on a load of anything but the row of the loop's set, and, with `unroll`
    alone, on a loop with row sums.

    Before:

    ```mlir
    lane.for_rows %set = %begin to %rows step %step at %place for %w of %ws : ... {
      %row = lane.row %set at %place : !place
      %x = lane.load %xs[%row] at %place : ... -> vector<1x8xf32>
      lane.store %x, %ys[%row] at %place : ...
    }
    ```

    After, for an AMD chip and `prefetch = 1`, where a workgroup has one group:

    ```mlir
    %any = arith.cmpi ult, %begin, %rows {lane.part = #lane.part<first_load>} : index
    %count = arith.select %any, %c1, %c0 {lane.part = #lane.part<first_load>} : index
    %first = lane.load_within %xs from %begin count %count at %place {lane.part = #lane.part<first_load>} : ...
    %none = lane.for_rows %set = %begin to %rows step %step at %place carrying(%x = %first)
        attributes {whole} : ... {
      %row = lane.row %set at %place : !place
      %next = arith.addi %set, %step : index
      %more = arith.cmpi ult, %next, %rows {lane.part = #lane.part<next_load>} : index
      %left = arith.select %more, %c1, %c0 {lane.part = #lane.part<next_load>} : index
      %ahead = lane.load_within %xs from %next count %left at %place {lane.part = #lane.part<next_load>} : ...
      lane.keep_order
      lane.store %x, %ys[%row] at %place : ...
      lane.keep_order
      lane.yield %ahead : vector<1x8xf32>
    }
    ```
  }];
  let options = [ChipOption];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
  let statistics = [Statistic<"numPipelined", "pipelined", "Row loops changed">];
}

def PeelLastRowsPass
    : Pass<"lnbwd-peel-last-rows", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Take the set that is not full out of the row loop";
  let description = [{
    A `lane.for_rows` over groups side by side may end with a set that has not
    all its rows. The loop goes over the whole sets alone; what it leaves goes
    to the last workgroup, which never has more whole sets than another. Groups
    without a row work on the last row there and keep nothing of it. A loop of
    one group has whole sets in any case.

    Before:

    ```mlir
    %sum = lane.for_rows %set = %begin to %rows step %step at %place
        for %workgroup of %workgroups sums(%s = %zero)
        : !lane.place<row_length = 512, lanes = 64, groups = 4, width = 8>, vector<1x8xf32> {
      %row = lane.row %set at %place : !lane.place<...>
      %x = lane.load %xs[%row] at %place : ... -> vector<1x8xf32>
      %t = lane.accumulate %s, %x : vector<1x8xf32>
      lane.yield %t : vector<1x8xf32>
    }
    ```

    After:

    ```mlir
    %sets = arith.divui %rows, %c4 : index
    %full = arith.muli %sets, %c4 : index
    %sum = lane.for_rows %set = %begin to %full step %step at %place sums(%s = %zero)
        attributes {whole} : !lane.place<...>, vector<1x8xf32> {...}
    %total = scf.if %is_last_workgroup_and_rows_are_left -> (vector<1x8xf32>) {
      %own = lane.row %full at %place : !lane.place<...>
      %exists = arith.cmpi ult, %own, %rows : index
      %row = arith.minui %own, %last : index
      %x = lane.load %xs[%row] at %place : ... -> vector<1x8xf32>
      %t = lane.accumulate %sum, %x if %exists : vector<1x8xf32>
      scf.yield %t : vector<1x8xf32>
    } else {
      scf.yield %sum : vector<1x8xf32>
    } {lane.part = #lane.part<tail>}
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [Statistic<"numPeeled", "peeled", "Row loops peeled">];
}

def StageRowsPass : Pass<"lnbwd-stage-rows", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Have rows brought to workgroup memory ahead of their turn";
  let description = [{
    Obeys `stages` of the schedule that the kernel's `lnbwd.kernel_info` has: so
    many sets of rows are on their way into workgroup memory, each into a stage
    of its own. A turn waits for its set and takes it out of its stage, in the
    place of a load; and the copies of the set that comes `stages` sets later
    start behind a barrier, behind which the stage is free. Without row sums
    that is right behind what is taken, with row sums at the turn's end, from
    where `lnbwd-hoist-copies` may move it. Which stage it is, and in which
    phase it is waited for, goes from turn to turn. Row scalars stay loads.

    Expects whole sets, with the last row apart where not all sets begin where a
    copy can, and one load of parts in the loop. Kernels of other schedules, and
    loops that load no rows, are left alone.

    Before:

    ```mlir
    %last = lane.for_rows %set = %begin to %full step %step at %place carrying(%turn = %first)
        attributes {whole} : !place, !lane.turn {
      %row = lane.row %set at %place : !place
      %x = lane.load %xs[%row] at %place : ... -> vector<2x8xbf16>
      ... // row sums
      lane.yield %next : !lane.turn
    }
    ```

    After, for `stages = 2`:

    ```mlir
    %stages = lane.stages at %place : !place, !lane.stages<2 of bf16>
    lane.start_copies %xs from %begin below %full to %stages[%c0] at %place : ...
    %second = arith.addi %begin, %step : index
    lane.start_copies %xs from %second below %full to %stages[%c1] at %place : ...
    %last:3 = lane.for_rows %set = %begin to %full step %step at %place
        carrying(%turn = %first, %stage = %c0, %phase = %c0_i32)
        attributes {whole} : !place, !lane.turn, index, i32 {
      %row = lane.row %set at %place : !place
      lane.await_stage %stages[%stage] phase %phase : !lane.stages<2 of bf16>
      %x = lane.receive %set from %stages[%stage] at %place : ... -> vector<2x8xbf16>
      ... // row sums
      lane.barrier
      lane.start_copies %xs from %later below %full to %stages[%stage] at %place : ...
      lane.yield %next, %following, %next_phase : !lane.turn, index, i32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numStaged", "staged", "Row loops staged">];
}

def SplitPartsPass : Pass<"lnbwd-split-parts", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Split parts of rows into their accesses";
  let description = [{
    In the place of each value of a part come values of its accesses. What is
    computed of an access is computed where it is first needed, by a load, a
    store, a sum or a `lane.fold`, which go through their accesses one after
    another: so few registers are held at a time. What a `lane.for_rows` carries
    beside its sums goes in the order of loads: access by access, over all parts
    of one load. `lane.fold` is done with by this. Fails, naming the operation,
    on a part that something else needs whole.

    Before:

    ```mlir
    %x = lane.load %xs[%row] at %place : ... -> vector<2x4xf32>
    %y = arith.mulf %x, %x : vector<2x4xf32>
    lane.store %y, %ys[%row] at %place : ...
    ```

    After:

    ```mlir
    %x0 = lane.load %xs[%row] at %place access 0 : ... -> vector<4xf32>
    %x1 = lane.load %xs[%row] at %place access 1 : ... -> vector<4xf32>
    %y0 = arith.mulf %x0, %x0 : vector<4xf32>
    lane.store %y0, %ys[%row] at %place access 0 : ...
    %y1 = arith.mulf %x1, %x1 : vector<4xf32>
    lane.store %y1, %ys[%row] at %place access 1 : ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [Statistic<"numSplit", "split", "Loads and stores split">];
}

def BlockColumnSumsPass
    : Pass<"lnbwd-block-column-sums", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Add up column sums in blocks of turns";
  let description = [{
    The rounding errors of a sum are of the size that it has grown to. A
    `lane.for_rows` with `sum_block` becomes a loop over blocks of that many
    turns around one over the turns of a block, which begins with sums of 0; the
    outer one adds them to totals. Around a loop that is surely entered it is an
    `scf.while` that tests at its end. A loop over staged rows stays one: it
    counts the turns of a block, and a branch at the end of the last one adds
    the sums to totals, which the loop carries. Expects whole sets.

    Before:

    ```mlir
    %sum = lane.for_rows %set = %begin to %end step %step at %place sums(%s = %zero)
        attributes {sum_block = 8 : i64, whole} : ... {...}
    ```

    After:

    ```mlir
    %sum = scf.for %first = %begin to %end step %block_step iter_args(%total = %zero) -> (...) {
      %next = arith.addi %first, %block_step : index
      %last = arith.minui %next, %end : index
      %block = lane.for_rows %set = %first to %last step %step at %place sums(%s = %zero)
          attributes {whole} : ... {...}
      %added = arith.addf %total, %block fastmath<contract> : vector<8xf32>
      scf.yield %added : vector<8xf32>
    } {lane.part = #lane.part<sum_block>}
    ```

    After, where the rows are staged:

    ```mlir
    %left:5 = lane.for_rows %set = %begin to %end step %step at %place
        carrying(%s = %zero, %stage = %c0, %phase = %c0_i32, %turn = %c0_i32, %total = %zero)
        attributes {whole} : ... {
      ... // %sum, what was yielded
      %next = arith.addi %turn, %c1_i32 : i32
      %is_last = arith.cmpi eq, %next, %c8_i32 : i32
      %now:3 = scf.if %is_last -> (vector<8xf32>, i32, vector<8xf32>) {
        %none = arith.subf %sum, %sum : vector<8xf32>
        %added = arith.addf %total, %sum fastmath<contract> : vector<8xf32>
        scf.yield %none, %c0_i32, %added : vector<8xf32>, i32, vector<8xf32>
      } else {
        scf.yield %sum, %next, %total : vector<8xf32>, i32, vector<8xf32>
      } {lane.part = #lane.part<sum_block>}
      lane.yield %now#0, %following, %next_phase, %now#1, %now#2 : ...
    }
    %sum = arith.addf %left#4, %left#0 fastmath<contract> : vector<8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [Statistic<"numBlocked", "blocked", "Row loops blocked">];
}

def LowerRowReductionsPass
    : Pass<"lnbwd-lower-row-reductions", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Lower sums over a row: elements, wave, workgroup memory, peers";
  let description = [{
    `lane.reduce` goes in three steps, each a pattern: over the elements of a
    lane's vector, by halves; over the lanes of a wave, by
    `gpu.subgroup_reduce`; and, where a row takes several waves, over these:
    each writes its sums to a slot of workgroup memory, and behind one barrier
    all lanes add up the slots in order. The memory has two halves, which rows
    use in turn, so that a wave that is a row ahead does not overwrite what
    another still reads; a `!lane.turn` becomes the place where the half begins.

    Where workgroups share rows, a fourth pattern takes the place of the third:
    each wave sends its sums to a slot in all of these workgroups, which
    barriers there count as they arrive, and each wave reads and adds up the
    slots of all. A `!lane.turn` is then the number of rows before. The
    workgroups wait for each other before the first row.

    Expects split parts, and whole waves where workgroups share rows. Fails
    where two reductions of the same phase differ.

    Before:

    ```mlir
    %s, %t = lane.reduce [#vector.kind<add>, #vector.kind<add>] %a, %b at %place
        turn %turn phase 0 : !lane.place<row_length = 512, lanes = 128, groups = 1, width = 4>,
        vector<4xf32>, vector<4xf32> -> f32, f32
    ```

    After, where a wave has 64 lanes:

    ```mlir
    // the elements of %a and %b, to %a1 and %b1
    %a2 = gpu.subgroup_reduce add %a1 : (f32) -> f32
    %b2 = gpu.subgroup_reduce add %b1 : (f32) -> f32
    %mine = vector.from_elements %a2, %b2 : vector<2xf32>
    vector.store %mine, %memory[%own] {alignment = 8 : i64} : ..., vector<2xf32>
    lane.barrier
    %first = vector.load %memory[%half] {alignment = 8 : i64} : ..., vector<2xf32>
    %second = vector.load %memory[%behind] {alignment = 8 : i64} : ..., vector<2xf32>
    %sums = arith.addf %first, %second fastmath<contract> : vector<2xf32>
    %s = vector.extract %sums[0] : f32 from vector<2xf32>
    %t = vector.extract %sums[1] : f32 from vector<2xf32>
    ```

    After, where the place has but `columns = 128`, for four workgroups of a
    wave of 32 lanes each:

    ```mlir
    %mine = vector.from_elements %a2, %b2 : vector<2xf32>
    lane.expect_bytes %barriers[%barrier], 32 : memref<4xi64, #gpu.address_space<workgroup>>
    lane.send_to_peers %mine to %memory[%own] counted by %barriers[%barrier] at %place : ...
    lane.await_bytes %barriers[%barrier] phase %phase : ...
    %slot = vector.load %memory[%of_lane] : ..., vector<2xf32>
    %a3 = vector.extract %exists_or_zero[0] : f32 from vector<2xf32>
    %s = gpu.subgroup_reduce add %a3 : (f32) -> f32
    ```
  }];
  let options = [ChipOption];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect"];
  let statistics = [
    Statistic<"numLowered", "lowered", "Reductions lowered">,
    Statistic<"numShared", "shared", "Of rows that workgroups share">,
  ];
}

def HoistCopiesPass : Pass<"lnbwd-hoist-copies", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Fill stages again as early in a turn as they are free";
  let description = [{
    A turn that sums over rows has the copies to its stage started at its end,
    behind a `lane.barrier`. Where the lanes meet at an earlier barrier, behind
    what they take out of the stage, the copies move behind the first such one,
    and need no other. Where sums are sent to peers first, the copies and their
    barrier move behind that: the copies start while the sums are on their way.

    Expects lowered row reductions; a turn in which they need no memory is left
    as it is. Fails on copies in a loop without a barrier before them.

    Before:

    ```mlir
    %x = lane.receive %set from %stages[%stage] at %place access 0 : ...
    vector.store %mine, %memory[%own] : ...
    lane.barrier
    %slot = vector.load %memory[%half] : ...
    lane.store %y, %ys[%row] at %place access 0 : ...
    lane.barrier
    lane.start_copies %xs from %later below %end to %stages[%stage] at %place : ...
    ```

    After:

    ```mlir
    %x = lane.receive %set from %stages[%stage] at %place access 0 : ...
    vector.store %mine, %memory[%own] : ...
    lane.barrier
    lane.start_copies %xs from %later below %end to %stages[%stage] at %place : ...
    %slot = vector.load %memory[%half] : ...
    lane.store %y, %ys[%row] at %place access 0 : ...
    ```
  }];
  let statistics = [
    Statistic<"numHoisted", "hoisted", "Copies that start earlier">,
    Statistic<"numMerged", "merged", "Barriers that another stands for">,
  ];
}

#endif // LNBWD_TRANSFORMS_LANE_PASSES_TD
