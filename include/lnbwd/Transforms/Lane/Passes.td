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

include "mlir/Pass/PassBase.td"

def ReloadPhasesPass
    : Pass<"lnbwd-reload-phases", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Load a row again in each of its phases";
  let description = [{
    Implements `reload` of a `lane.for_rows`, which allows rows of any length:
    rows are not kept in registers. Each `lane.fold` becomes a loop over the
    row's columns, one access of each lane per iteration, which loads its
    operands, already split. The stores go to one such loop after the last
    reduction, since they may write rows that are read. Columns are loaded in
    these loops as well. Other loops are left alone.

    Fails on a loop with column sums, which are carried for all columns, and on
    fragments that are neither loaded nor computed by pure operations. Runs
    before `lnbwd-pipeline-rows`.

    Before:

    ```mlir
    %layout = lane.layout : !lane.layout<row_length = 65536, lanes = 256, groups = 1, width = 4>
    // In the loop over the rows:
    %x = lane.load %xs[%row] at %layout : ... -> vector<64x4xf32>
    %partial = lane.fold [#vector.kind<add>] %x at %layout : ... -> vector<4xf32>
    %s = lane.reduce [#vector.kind<add>] %partial at %layout iteration %iteration phase 0 : ...
    %sv = vector.broadcast %s : f32 to vector<64x4xf32>
    %y = arith.mulf %x, %sv : vector<64x4xf32>
    lane.store %y, %ys[%row] at %layout : ...
    ```

    After:

    ```mlir
    !column_tile = !lane.layout<row_length = 65536, lanes = 256, groups = 1, width = 4, columns = 1024>

    %partial = scf.for %column = %c0 to %c65536 step %c1024 iter_args(%sum = %zero) -> (vector<4xf32>) {
      %column_tile = lane.layout from %column : !column_tile
      %x = lane.load %xs[%row] at %column_tile access 0 : ... -> vector<4xf32>
      %next = arith.addf %sum, %x fastmath<contract> : vector<4xf32>
      scf.yield %next : vector<4xf32>
    }
    %s = lane.reduce [#vector.kind<add>] %partial at %layout iteration %iteration phase 0 : ...
    scf.for %column = %c0 to %c65536 step %c1024 {
      %column_tile = lane.layout from %column : !column_tile
      %x = lane.load %xs[%row] at %column_tile access 0 : ... -> vector<4xf32>
      %sv = vector.broadcast %s : f32 to vector<4xf32>
      %y = arith.mulf %x, %sv : vector<4xf32>
      lane.store %y, %ys[%row] at %column_tile access 0 : ...
    }
    ```
  }];
  let statistics = [Statistic<"numReloaded", "reloaded", "Row loops changed">];
}

def PipelineRowsPass
    : Pass<"lnbwd-pipeline-rows", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Keep loads of several tiles of rows in flight, and make tiles full";
  let description = [{
    Implements `prefetch` and `unroll` of a `lane.for_rows`, and gives all loops
    full tiles.

    - `prefetch`: an iteration loads the tile of the next one, and passes it on as
      loop-carried values. Of staged rows, only the row scalars are prefetched.
    - `prefetch` and `unroll = 2`: an iteration processes two tiles, and loads
      each of the next iteration's two when the registers of one of its own are
      free.
    - `unroll` alone: an iteration processes several tiles, and loads all of them
      before it processes the first.

    Where the body waits for the preceding kernel, after some of its loads, an
    iteration of several tiles waits once, after those loads of all tiles; with
    `prefetch` the wait moves before the loop.

    Fails on full tiles, on a load of anything but the row of the loop's tile,
    and, with `unroll` alone, on a loop with row reductions.

    Before:

    ```mlir
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws attributes {prefetch} : ... {
      %row = lane.row %tile at %layout : !layout
      %x = lane.load %xs[%row] at %layout : ... -> vector<1x8xf32>
      lane.store %x, %ys[%row] at %layout : ...
    }
    ```

    After, for an AMD chip, where a workgroup has one group:

    ```mlir
    %any = arith.cmpi ult, %begin, %rows : index
    %count = arith.select %any, %c1, %c0 : index
    %first = lane.load_predicated %xs from %begin count %count at %layout : ...
    %none = lane.for_rows %tile = %begin to %rows step %step at %layout carrying(%x = %first)
        attributes {whole} : ... {
      %row = lane.row %tile at %layout : !layout
      %next = arith.addi %tile, %step : index
      %more = arith.cmpi ult, %next, %rows : index
      %left = arith.select %more, %c1, %c0 : index
      %ahead = lane.load_predicated %xs from %next count %left at %layout : ...
      rocdl.sched.barrier 0
      lane.store %x, %ys[%row] at %layout : ...
      rocdl.sched.barrier 0
      lane.yield %ahead : vector<1x8xf32>
    }
    ```

    The last tile of a loop over several groups may be partial. But for `unroll`
    alone, the loop then runs over the full tiles, and the last workgroup, which
    never has more of them than another, processes the rest in a copy of the
    body. Groups whose row is out of bounds store nothing; on AMD's chips their
    loads are dropped, on others they load the last row.

    Before:

    ```mlir
    %sum = lane.for_rows %tile = %begin to %rows step %step at %layout
        for %workgroup of %workgroups sums(%s = %zero)
        : !lane.layout<row_length = 512, lanes = 64, groups = 4, width = 8>, vector<1x8xf32> {
      %row = lane.row %tile at %layout : !lane.layout<...>
      %x = lane.load %xs[%row] at %layout : ... -> vector<1x8xf32>
      %t = lane.accumulate %s, %x : vector<1x8xf32>
      lane.yield %t : vector<1x8xf32>
    }
    ```

    After:

    ```mlir
    %tiles = arith.divui %rows, %c4 : index
    %full = arith.muli %tiles, %c4 : index
    %sum = lane.for_rows %tile = %begin to %full step %step at %layout sums(%s = %zero)
        attributes {whole} : !lane.layout<...>, vector<1x8xf32> {...}
    %total = scf.if %is_last_workgroup_and_rows_are_left -> (vector<1x8xf32>) {
      %own = lane.row %full at %layout : !lane.layout<...>
      %in_bounds = arith.cmpi ult, %own, %rows : index
      %row = arith.minui %own, %last : index
      %x = lane.load %xs[%row] at %layout : ... -> vector<1x8xf32>
      %t = lane.accumulate %sum, %x if %in_bounds : vector<1x8xf32>
      scf.yield %t : vector<1x8xf32>
    } else {
      scf.yield %sum : vector<1x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::ROCDL::ROCDLDialect"];
  let statistics = [
    Statistic<"numPipelined", "pipelined", "Row loops pipelined">,
    Statistic<"numPeeled", "peeled", "Row loops peeled">
  ];
}

def StageRowsPass : Pass<"lnbwd-stage-rows", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Copy rows asynchronously to multi-buffered workgroup memory";
  let description = [{
    Implements `stages` of a `lane.for_rows`: the pipeline depth, the number of
    tiles of rows in flight to workgroup memory, each with a stage (buffer) of
    its own. An iteration waits for its tile and loads it from its stage instead
    of from device memory; then, after a barrier, which frees the stage, the
    copies of the tile that is `stages` tiles ahead start. Without row
    reductions they start right after the loads from the stage; with row
    reductions at the end of the iteration, from where
    `lnbwd-lower-row-reductions` may move them. The loop carries the index of the stage and the parity of its
    barrier. Row scalars are loaded as before.

    Expects full tiles, with the last row apart where not all tiles have the
    alignment of copies, and one load of fragments in the loop. Kernels of other
    schedules, and loops that load no rows, are left alone.

    Before:

    ```mlir
    %last = lane.for_rows %tile = %begin to %full step %step at %layout carrying(%iteration = %first)
        attributes {whole} : !layout, !lane.iteration {
      %row = lane.row %tile at %layout : !layout
      %x = lane.load %xs[%row] at %layout : ... -> vector<2x8xbf16>
      ... // row sums
      lane.yield %next : !lane.iteration
    }
    ```

    After, for `stages = 2`:

    ```mlir
    %stages = lane.stages at %layout : !layout, !lane.stages<2 of bf16>
    lane.start_copies %xs from %begin below %full to %stages[%c0] at %layout : ...
    %second = arith.addi %begin, %step : index
    lane.start_copies %xs from %second below %full to %stages[%c1] at %layout : ...
    %last:3 = lane.for_rows %tile = %begin to %full step %step at %layout
        carrying(%iteration = %first, %stage = %c0, %phase = %c0_i32)
        attributes {whole} : !layout, !lane.iteration, index, i32 {
      %row = lane.row %tile at %layout : !layout
      lane.await_stage %stages[%stage] phase %phase : !lane.stages<2 of bf16>
      %x = lane.receive %tile from %stages[%stage] at %layout : ... -> vector<2x8xbf16>
      ... // row sums
      lane.barrier
      lane.start_copies %xs from %later below %full to %stages[%stage] at %layout : ...
      lane.yield %next, %following, %next_phase : !lane.iteration, index, i32
    }
    ```
  }];
  let statistics = [Statistic<"numStaged", "staged", "Row loops staged">];
}

def SplitFragmentsPass : Pass<"lnbwd-split-fragments", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Split fragments of rows into their accesses";
  let description = [{
    Replaces each fragment by one value for each of its accesses. Loads, stores,
    sums and `lane.fold` process one access after another, and the arithmetic of
    an access is cloned to its first use: so few registers are live at a time.
    The loop-carried values of a `lane.for_rows`, except its sums, are ordered
    as they are loaded: access by access, over all fragments of one load. Lowers
    `lane.fold` and `lnbwd.block_max`. Where the same elements of several
    accesses lie side by side in a view, these are stored together; where lanes
    have the same elements of a view, each stores some of them. Fails on an
    operation that needs a whole fragment.

    Before:

    ```mlir
    %x = lane.load %xs[%row] at %layout : ... -> vector<2x4xf32>
    %y = arith.mulf %x, %x : vector<2x4xf32>
    lane.store %y, %ys[%row] at %layout : ...
    ```

    After:

    ```mlir
    %x0 = lane.load %xs[%row] at %layout access 0 : ... -> vector<4xf32>
    %x1 = lane.load %xs[%row] at %layout access 1 : ... -> vector<4xf32>
    %y0 = arith.mulf %x0, %x0 : vector<4xf32>
    lane.store %y0, %ys[%row] at %layout access 0 : ...
    %y1 = arith.mulf %x1, %x1 : vector<4xf32>
    lane.store %y1, %ys[%row] at %layout access 1 : ...
    ```
  }];
  let statistics = [Statistic<"numSplit", "split", "Operations split">];
}

def BlockColumnSumsPass
    : Pass<"lnbwd-block-column-sums", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Add up column sums in blocks of iterations";
  let description = [{
    The rounding errors of a sum are proportional to its size. A `lane.for_rows`
    with `sum_block` becomes a loop over blocks of that many iterations around a
    loop over the iterations of a block, whose sums begin at 0; the outer loop
    adds them to totals. A loop over staged rows remains one loop: it counts the
    iterations of a block, and a branch at the end of the last one adds the sums
    to loop-carried totals. Expects full tiles.

    Before:

    ```mlir
    %sum = lane.for_rows %tile = %begin to %end step %step at %layout sums(%s = %zero)
        attributes {sum_block = 8 : i64, whole} : ... {...}
    ```

    After:

    ```mlir
    %sum = lane.for_rows %first = %begin to %end step %block_step at %layout
        carrying(%total = %zero) attributes {whole} : ... {
      %next = arith.addi %first, %block_step : index
      %last = arith.minui %next, %end : index
      %block = lane.for_rows %tile = %first to %last step %step at %layout sums(%s = %zero)
          attributes {whole} : ... {...}
      %added = arith.addf %total, %block fastmath<contract> : vector<8xf32>
      lane.yield %added : vector<8xf32>
    }
    ```

    After, where the rows are staged:

    ```mlir
    %left:5 = lane.for_rows %tile = %begin to %end step %step at %layout
        carrying(%s = %zero, %stage = %c0, %phase = %c0_i32, %iteration = %c0_i32, %total = %zero)
        attributes {whole} : ... {
      ... // %sum, what was yielded
      %next = arith.addi %iteration, %c1_i32 : i32
      %is_last = arith.cmpi eq, %next, %c8_i32 : i32
      %now:3 = scf.if %is_last -> (vector<8xf32>, i32, vector<8xf32>) {
        %none = arith.subf %sum, %sum : vector<8xf32>
        %added = arith.addf %total, %sum fastmath<contract> : vector<8xf32>
        scf.yield %none, %c0_i32, %added : vector<8xf32>, i32, vector<8xf32>
      } else {
        scf.yield %sum, %next, %total : vector<8xf32>, i32, vector<8xf32>
      }
      lane.yield %now#0, %following, %next_phase, %now#1, %now#2 : ...
    }
    %sum = arith.addf %left#4, %left#0 fastmath<contract> : vector<8xf32>
    ```
  }];
  let statistics = [Statistic<"numBlocked", "blocked", "Row loops blocked">];
}

def LowerLayoutConversionsPass
    : Pass<"lnbwd-lower-layout-conversions", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Lower layout conversions to stores and loads of workgroup memory";
  let description = [{
    The lanes store the fragments of a `lane.convert_layout` as a tile of rows in
    workgroup memory, by the one layout, and load theirs by the other. The
    barrier ahead keeps the tile from being overwritten while it is read. All
    conversions of a kernel use the same memory. From one row of the tile to the
    next there is an odd number of accesses, so that lanes that go across the
    rows access different banks.

    Runs after the passes that copy the body of a loop, which would predicate
    these stores, and before `lnbwd-split-fragments`.

    Before:

    ```mlir
    %x = lane.convert_layout %loaded from %across to %layout : ..., vector<1x4xf32>
    ```

    After, for 16 rows of 32 columns:

    ```mlir
    lane.barrier
    %group = lane.group %across : ...
    lane.store %loaded, %tile[%group] at %tile_across
        : !lane.layout<row_length = 32, lanes = 8, groups = 16, width = 4, across = true>,
          vector<1x4xf32>, memref<16x32xf32, strided<[36, 1]>, #gpu.address_space<workgroup>>
    lane.barrier
    %own = lane.group %layout : ...
    %x = lane.load %tile[%own] at %tile_layout
        : !lane.layout<row_length = 32, lanes = 8, groups = 16, width = 4>,
          memref<16x32xf32, strided<[36, 1]>, #gpu.address_space<workgroup>> -> vector<1x4xf32>
    ```
  }];
  let statistics = [
    Statistic<"numLowered", "num-lowered", "Layout conversions lowered">,
  ];
}

def LowerRowReductionsPass
    : Pass<"lnbwd-lower-row-reductions", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Lower reductions over a row: elements, wave, workgroup, cluster";
  let description = [{
    `lane.reduce` is lowered in three steps: over the elements of a lane's vector, by
    halves; over the lanes of a wave, by `gpu.subgroup_reduce`; and, where
    several waves share a row, over the waves: each writes its sums to a slot of
    workgroup memory, and after one barrier all lanes add up the slots in order.
    There are two exchange buffers, which consecutive rows alternate between, so
    that a wave that is one row ahead does not overwrite what another still
    reads; a `!lane.iteration` becomes the offset of the buffer.

    Where the workgroups of a cluster share rows, another step replaces the
    third: each wave sends its sums to a slot in all of these workgroups, where
    transaction barriers count the bytes, and each wave adds up the slots of
    all. A `!lane.iteration` is then the number of preceding rows. The
    workgroups synchronise before the first row.

    Copies to a stage start at the end of an iteration, after a `lane.barrier`.
    If a barrier of an exchange follows the loads from the stage, the copies move
    after the first one and need no other. If sums are sent to peers first, the
    copies and their barrier move after that, and start while the sums are in
    flight.

    Expects split fragments, and whole waves where workgroups share rows. Fails
    if two reductions of the same phase differ, and on copies in a loop without a
    preceding barrier.

    Before:

    ```mlir
    %s, %t = lane.reduce [#vector.kind<add>, #vector.kind<add>] %a, %b at %layout
        iteration %iteration phase 0 : !lane.layout<row_length = 512, lanes = 128, groups = 1, width = 4>,
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
    %second = vector.load %memory[%after] {alignment = 8 : i64} : ..., vector<2xf32>
    %sums = arith.addf %first, %second fastmath<contract> : vector<2xf32>
    %s = vector.extract %sums[0] : f32 from vector<2xf32>
    %t = vector.extract %sums[1] : f32 from vector<2xf32>
    ```

    After, where the layout has `columns = 128`, for four workgroups of one wave
    of 32 lanes each:

    ```mlir
    %mine = vector.from_elements %a2, %b2 : vector<2xf32>
    lane.expect_bytes %barriers[%barrier], 32 : memref<4xi64, #gpu.address_space<workgroup>>
    lane.send_to_peers %mine to %memory[%own] counted by %barriers[%barrier] at %layout : ...
    lane.await_bytes %barriers[%barrier] phase %phase : ...
    %slot = vector.load %memory[%of_lane] : ..., vector<2xf32>
    %a3 = vector.extract %exists_or_zero[0] : f32 from vector<2xf32>
    %s = gpu.subgroup_reduce add %a3 : (f32) -> f32
    ```

    Copies, before and after:

    ```mlir
    %x = lane.receive %tile from %stages[%stage] at %layout access 0 : ...
    lane.barrier // of the exchange
    %slot = vector.load %memory[%half] : ...
    lane.barrier
    lane.start_copies %xs from %later below %end to %stages[%stage] at %layout : ...
    ```
    ```mlir
    %x = lane.receive %tile from %stages[%stage] at %layout access 0 : ...
    lane.barrier
    lane.start_copies %xs from %later below %end to %stages[%stage] at %layout : ...
    %slot = vector.load %memory[%half] : ...
    ```
  }];
  let dependentDialects = ["::mlir::amdgpu::AMDGPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
  let statistics = [
    Statistic<"numLowered", "lowered", "Reductions lowered">,
    Statistic<"numShared", "shared", "Reductions of rows that workgroups share">,
  ];
}

#endif // LNBWD_TRANSFORMS_LANE_PASSES_TD
