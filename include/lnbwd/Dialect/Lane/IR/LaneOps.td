//===- LaneOps.td - Operations of the lane dialect ---------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines the operations, in the order in which a kernel has them: where a lane
// stands, what it loads and stores, and the walk over the rows. What it adds up
// and what is sent to it have files of their own.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LANE_IR_LANEOPS_TD
#define LNBWD_DIALECT_LANE_IR_LANEOPS_TD

include "lnbwd/Dialect/Lane/IR/LaneDialect.td"
include "lnbwd/Dialect/Lane/IR/LaneSumOps.td"
include "lnbwd/Dialect/Lane/IR/LaneTransferOps.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

def Lane_PlaceOp : Lane_Op<"place", [Pure]> {
  let summary = "Where this lane stands";
  let description = [{
    The group of this lane and its columns. Those of its workgroup begin with
    column `first`, or with the row's first.

    Example:

    ```mlir
    %place = lane.place : !lane.place<row_length = 1024, lanes = 64, groups = 8, width = 8>
    %tile = lane.place from %column
        : !lane.place<row_length = 1024, lanes = 8, groups = 40, width = 4, columns = 32>
    ```
  }];
  let arguments = (ins Optional<Index>:$first);
  let results = (outs Lane_Place:$place);
  let assemblyFormat = "(`from` $first^)? attr-dict `:` type($place)";
  let hasVerifier = 1;
}

def Lane_RowOp : Lane_Op<"row", [Pure]> {
  let summary = "The row of this lane in a set";
  let description = [{
    The row that the group of `place` works on in the set whose first row is
    `set`.

    Example:

    ```mlir
    %row = lane.row %set at %place : !lane.place<...>
    ```
  }];
  let arguments = (ins Index:$set, Lane_Place:$place);
  let results = (outs Index:$row);
  let assemblyFormat = "$set `at` $place attr-dict `:` type($place)";
}

class Lane_PlaceQueryOp<string mnemonic> : Lane_Op<mnemonic, [Pure]> {
  let arguments = (ins Lane_Place:$place);
  let results = (outs Index:$result);
  let assemblyFormat = "$place attr-dict `:` type($place)";
}

def Lane_GroupOp : Lane_PlaceQueryOp<"group"> {
  let summary = "The number of this lane's group in its workgroup";
  let description = [{
    Example:

    ```mlir
    %group = lane.group %place : !lane.place<...>
    ```
  }];
}

def Lane_LaneOp : Lane_PlaceQueryOp<"lane"> {
  let summary = "The number of this lane among those that share its row";
  let description = [{
    Example:

    ```mlir
    %lane = lane.lane %place : !lane.place<...>
    ```
  }];
}

def Lane_ExistsOp : Lane_Op<"exists", [Pure]> {
  let summary = "Whether the columns of an access exist";
  let description = [{
    Only for accesses that may lie beyond the row's end, or the workgroup's
    columns.

    Example:

    ```mlir
    %exists = lane.exists %place access 1 : !lane.place<...>
    ```
  }];
  let arguments = (ins Lane_Place:$place, I64Attr:$access);
  let results = (outs I1:$result);
  let assemblyFormat = "$place `access` $access attr-dict `:` type($place)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Kernels in a row
//===----------------------------------------------------------------------===//

def Lane_AwaitPreviousKernelOp : Lane_Op<"await_previous_kernel"> {
  let summary = "Wait until the kernel before has ended";
  let description = [{
    Of a kernel that may start before the one before it on its stream has ended:
    behind this, all that the other has written can be seen.

    Example:

    ```mlir
    lane.await_previous_kernel
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Lane_AllowNextKernelOp : Lane_Op<"allow_next_kernel"> {
  let summary = "Let the next kernel of the stream start";
  let description = [{
    Where the chip can start a kernel before the one before it has ended. The
    next kernel may come to the compute units when all workgroups of this one
    have come here or have ended; it waits for the end of this one by
    `lane.await_previous_kernel`. That holds for all that is before as well if
    this kernel waits, no matter whether ahead of this operation or behind it.

    Example:

    ```mlir
    lane.allow_next_kernel
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Lane_PrefetchRowsOp : Lane_Op<"prefetch_rows"> {
  let summary = "Have a set of rows brought to the cache of all compute units";
  let description = [{
    The rows of the set that begins with row `set`, below row `end`, of each of
    `memories`: of them the columns of this workgroup. Nothing waits for it, and
    nothing can be seen of it but time: memory may be meant that another kernel
    still writes, since that cache is where the chip's writes meet.

    Example:

    ```mlir
    lane.prefetch_rows %dys, %xs from %set below %rows at %place
        : !lane.place<...>, memref<?x1024xbf16>, memref<?x1024xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyMemRef>:$memories, Index:$set, Index:$end,
                       Lane_Place:$place);
  let assemblyFormat = [{
    $memories `from` $set `below` $end `at` $place attr-dict `:` type($place)
    `,` type($memories)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

def Lane_LoadColumnsOp : Lane_Op<"load_columns", [
    MemoryEffects<[MemRead]>]> {
  let summary = "Load column operands, once a workgroup";
  let description = [{
    The lane's part of each of `memories`, vectors of a row's length that are
    the same for all rows. How the groups of a workgroup come to them is the
    target's choice: each by itself, or one for all. With `each`, it is each by
    itself, and not all lanes need to come here.

    The results are one part for each memory; split, all accesses of the first
    memory, then those of the second, and so on.

    Example:

    ```mlir
    %gamma, %beta = lane.load_columns %g, %b at %place
        : !lane.place<...>, memref<1024xbf16>, memref<1024xbf16>
        -> vector<2x8xbf16>, vector<2x8xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyMemRef>:$memories, Lane_Place:$place,
                       UnitAttr:$each);
  let results = (outs Variadic<AnyVectorOfAnyRank>:$parts);
  let assemblyFormat = [{
    $memories `at` $place (`each` $each^)? attr-dict `:` type($place) `,`
    type($memories) `->` type($parts)
  }];
  let hasVerifier = 1;
}

def Lane_LoadOp : Lane_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "Load a lane's part of a row of row blocks";
  let description = [{
    The lane's part of row `row` of each of `memories`. The row must exist. With
    `access`, that one access alone.

    Example:

    ```mlir
    %dy, %x = lane.load %dys, %xs[%row] at %place
        : !lane.place<...>, memref<?x1024xbf16>, memref<?x1024xbf16>
        -> vector<2x8xbf16>, vector<2x8xbf16>
    %x1 = lane.load %xs[%row] at %place access 1
        : !lane.place<...>, memref<?x1024xbf16> -> vector<8xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyMemRef>:$memories, Index:$row,
                       Lane_Place:$place, OptionalAttr<I64Attr>:$access);
  let results = (outs Variadic<AnyVectorOfAnyRank>:$parts);
  let assemblyFormat = [{
    $memories `[` $row `]` `at` $place (`access` $access^)? attr-dict `:`
    type($place) `,` type($memories) `->` type($parts)
  }];
  let hasVerifier = 1;
}

def Lane_LoadScalarOp : Lane_Op<"load_scalar", [
    MemoryEffects<[MemRead]>, TypesMatchWith<"result is the memory's element",
    "memory", "scalar",
    "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "Load the number that belongs to a row";
  let description = [{
    Element `row` of `memory`: the same in all lanes of a group.

    Example:

    ```mlir
    %mean = lane.load_scalar %means[%row] : memref<?xf32>
    ```
  }];
  let arguments = (ins MemRefRankOf<[AnyType], [1]>:$memory, Index:$row);
  let results = (outs AnyType:$scalar);
  let assemblyFormat = "$memory `[` $row `]` attr-dict `:` type($memory)";
}

def Lane_LoadWithinOp : Lane_Op<"load_within", [MemoryEffects<[MemRead]>]> {
  let summary = "Load a lane's part of a row that may not exist";
  let description = [{
    The lane's part of its row of the set that begins with row `set`, of each of
    `memories`. The first `count` rows of the set exist; the loads of the others
    are dropped, without a branch, and what they give is of no use. So is all
    that is given where `count` is 0. With `access`, that one access alone.

    For targets that have such loads: AMD's.

    Example:

    ```mlir
    %dy, %x = lane.load_within %dys, %xs from %set count %count at %place
        : !lane.place<...>, memref<?x1024xbf16>, memref<?x1024xbf16>
        -> vector<2x8xbf16>, vector<2x8xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyMemRef>:$memories, Index:$set, Index:$count,
                       Lane_Place:$place, OptionalAttr<I64Attr>:$access);
  let results = (outs Variadic<AnyVectorOfAnyRank>:$parts);
  let assemblyFormat = [{
    $memories `from` $set `count` $count `at` $place (`access` $access^)?
    attr-dict `:` type($place) `,` type($memories) `->` type($parts)
  }];
  let hasVerifier = 1;
}

def Lane_LoadScalarWithinOp : Lane_Op<"load_scalar_within", [
    MemoryEffects<[MemRead]>, TypesMatchWith<"result is the memory's element",
    "memory", "scalar",
    "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "Load the number of a row that may not exist";
  let description = [{
    The same as `lane.load_within` for the element of `memory` that belongs to
    the lane's row. The number is there for the lanes that have it from
    `lane.share_scalar` alone.

    Example:

    ```mlir
    %mean = lane.load_scalar_within %means from %set count %count at %place
        : !lane.place<...>, memref<?xf32>
    ```
  }];
  let arguments = (ins MemRefRankOf<[AnyType], [1]>:$memory, Index:$set,
                       Index:$count, Lane_Place:$place);
  let results = (outs AnyType:$scalar);
  let assemblyFormat = [{
    $memory `from` $set `count` $count `at` $place attr-dict `:` type($place)
    `,` type($memory)
  }];
}

def Lane_ShareScalarOp : Lane_Op<"share_scalar", [
    AllTypesMatch<["scalar", "shared"]>]> {
  let summary = "Give a row's number to all lanes of its group";
  let description = [{
    What `lane.load_scalar_within` has loaded, in all lanes. It waits for the
    load.

    Example:

    ```mlir
    %shared = lane.share_scalar %mean at %place : !lane.place<...>, f32
    ```
  }];
  let arguments = (ins AnyType:$scalar, Lane_Place:$place);
  let results = (outs AnyType:$shared);
  let assemblyFormat = [{
    $scalar `at` $place attr-dict `:` type($place) `,` type($scalar)
  }];
}

def Lane_RowValue : AnyTypeOf<[
    VectorOfRankAndType<[1, 2], [AnyFloat, AnySignlessInteger]>, AnyFloat,
    AnySignlessInteger],
    "a lane's part of a row, an access of it or a row's number">;

def Lane_NoRowOp : Lane_Op<"no_row", [Pure]> {
  let summary = "Stands for what would be loaded of a row that does not exist";
  let description = [{
    What a branch yields where another loads: a lane's part of a row, one access
    of it, or the row's number. Nothing may look at it, so that it costs no
    instruction. Its bits are no number, and may be others for each user; the
    LLVM level has `llvm.mlir.poison` for that.

    Example:

    ```mlir
    %next = scf.if %exists -> (vector<2x8xbf16>) {
      %x = lane.load %xs[%row] at %place
          : !lane.place<...>, memref<?x1024xbf16> -> vector<2x8xbf16>
      scf.yield %x : vector<2x8xbf16>
    } else {
      %none = lane.no_row : vector<2x8xbf16>
      scf.yield %none : vector<2x8xbf16>
    }
    ```
  }];
  let results = (outs Lane_RowValue:$value);
  let assemblyFormat = "attr-dict `:` type($value)";
}

def Lane_KeepOrderOp : Lane_Op<"keep_order"> {
  let summary = "What is before is issued before what is behind";
  let description = [{
    Example:

    ```mlir
    lane.keep_order
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Lane_StoreOp : Lane_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "Store a lane's part of a row";
  let description = [{
    Writes `part` to row `row` of `memory`, unless `exists` is false; with
    `access`, that one access alone. Columns beyond the row's end, or the
    workgroup's columns, are not written.

    Example:

    ```mlir
    lane.store %y, %ys[%row] at %place if %exists
        : !lane.place<...>, vector<2x8xbf16>, memref<?x1024xbf16>
    ```
  }];
  let arguments = (ins AnyVectorOfAnyRank:$part, AnyMemRef:$memory, Index:$row,
                       Lane_Place:$place, Optional<I1>:$exists,
                       OptionalAttr<I64Attr>:$access);
  let assemblyFormat = [{
    $part `,` $memory `[` $row `]` `at` $place (`access` $access^)?
    (`if` $exists^)? attr-dict `:` type($place) `,` type($part) `,`
    type($memory)
  }];
  let hasVerifier = 1;
}

def Lane_StoreScalarOp : Lane_Op<"store_scalar", [
    MemoryEffects<[MemWrite]>, TypesMatchWith<"value is the memory's element",
    "memory", "scalar",
    "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "Store the number that belongs to a row";
  let description = [{
    Writes `scalar`, which is the same in all lanes of the group, to element
    `row` of `memory`, once, unless `exists` is false: by the lane that has the
    row's first columns. With `own_columns`, each workgroup that has some of the
    row's columns writes, to a memory of its own: by the lane that has the first
    of them.

    Example:

    ```mlir
    lane.store_scalar %rstd, %rstds[%row] at %place : !lane.place<...>, memref<?xf32>
    ```
  }];
  let arguments = (ins AnyType:$scalar, MemRefRankOf<[AnyType], [1]>:$memory,
                       Index:$row, Lane_Place:$place, Optional<I1>:$exists,
                       UnitAttr:$own_columns);
  let assemblyFormat = [{
    $scalar `,` $memory `[` $row `]` `at` $place (`if` $exists^)?
    (`own_columns` $own_columns^)? attr-dict `:` type($place) `,` type($memory)
  }];
}

def Lane_DiscardOp : Lane_Op<"discard"> {
  let summary = "Give up what rows hold, which nobody reads any more";
  let description = [{
    From here on the columns of this workgroup in the first `rows` rows of
    `memories` hold anything: a cache that has what was written there need not
    bring it to memory. The lanes of the workgroup share the work, so that a
    barrier has to be between all their loads of these rows and this. Where the
    chip cannot do it, or it is of no use, nothing is done.

    Example:

    ```mlir
    lane.discard %dgammas, %dbetas rows %rows at %place
        : !lane.place<...>, memref<?x1024xf32>, memref<?x1024xf32>
    ```
  }];
  let arguments = (ins Arg<Variadic<AnyMemRef>, "", [MemWrite]>:$memories,
                       Index:$rows, Lane_Place:$place);
  let assemblyFormat = [{
    $memories `rows` $rows `at` $place attr-dict `:` type($place) `,`
    type($memories)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The walk over the rows
//===----------------------------------------------------------------------===//

def Lane_ForRowsOp : Lane_Op<"for_rows", [
    AttrSizedOperandSegments, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Loop over the sets of rows that fall to a workgroup";
  let description = [{
    Runs the region for the sets whose first rows are `begin`, `begin + step`,
    ... below `end`: that row is the region's first argument. Group g of the
    workgroup works on row `set + g`; rows at or beyond `end` do not exist. With
    `whole`, there are none such: all sets have all their rows. Without, and
    with several groups, the loop says which it is of the workgroups that share
    the rows (`for %workgroup of %workgroups`, numbers from 0 on). With
    `entered`, there surely is a first set, so that the loop may test at the end
    of a turn whether there is another. With `once`, there is no second one: the
    grid has a workgroup for each set, and the loop is none.

    `sums` are column sums: each turn may add to them by `lane.accumulate`, and
    nothing else. With `sum_block = n`, each is the total of sums over n turns,
    so that the error of a long sum stays small. A turn may add to a sum below a
    condition, by an `scf.if` that yields the sum otherwise. With
    `last_row_apart`, the last row is in no whole set, since accesses to one may
    reach into the row behind it. `carried` are other values that go from turn
    to turn. The region's other arguments, the operands of its `lane.yield` and
    the results are the sums and then the carried values.

    Example:

    ```mlir
    %sum, %turns = lane.for_rows %set = %begin to %rows step %step at %place
        for %workgroup of %workgroups sums(%s = %zero) carrying(%t = %first)
        : !lane.place<...>, vector<2x8xf32>, !lane.turn {
      ...
      lane.yield %next, %following : vector<2x8xf32>, !lane.turn
    }
    ```
  }];
  let arguments = (ins
    Index:$begin, Index:$end, Index:$step, Lane_Place:$place,
    Optional<Index>:$workgroup, Optional<Index>:$workgroups,
    Variadic<AnyVectorOfAnyRank>:$sums, Variadic<AnyType>:$carried,
    UnitAttr:$whole, UnitAttr:$entered, UnitAttr:$once,
    OptionalAttr<I64Attr>:$sum_block, UnitAttr:$last_row_apart);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$begin, "::mlir::Value":$end,
                                 "::mlir::Value":$step, "::mlir::Value":$place,
                                 "::mlir::Value":$workgroup,
                                 "::mlir::Value":$workgroups,
                                 "::mlir::ValueRange":$sums,
                                 "::mlir::ValueRange":$carried)>];
  let extraClassDeclaration = [{
    /// The first row of the turn's set.
    ::mlir::BlockArgument getSet() { return getBody().getArgument(0); }
    /// What goes from turn to turn: sums, then carried values.
    ::mlir::Block::BlockArgListType getStateArguments() {
      return getBody().getArguments().drop_front();
    }
    ::mlir::OperandRange getState() {
      return getOperands().take_back(getNumResults());
    }
    YieldOp getYield();
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Lane_YieldOp : Lane_Op<"yield", [Pure, Terminator, ReturnLike,
                                     HasParent<"ForRowsOp">]> {
  let summary = "End a turn with what the next one is given";
  let description = [{
    The sums and carried values of the enclosing `lane.for_rows`.

    Example:

    ```mlir
    lane.yield %sum : vector<2x8xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ /* no values */ }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Lane_AccumulateOp : Lane_Op<"accumulate", [
    Pure, AllTypesMatch<["sum", "term", "result"]>]> {
  let summary = "Add a row's term to a column sum";
  let description = [{
    `sum + term`, or `sum` where `exists` is false. The addition may be fused
    with the multiplication that `term` comes from.

    Example:

    ```mlir
    %next = lane.accumulate %sum, %term if %exists : vector<2x8xf32>
    ```
  }];
  let arguments = (ins VectorOfAnyRankOf<[F32]>:$sum,
                       VectorOfAnyRankOf<[F32]>:$term, Optional<I1>:$exists);
  let results = (outs VectorOfAnyRankOf<[F32]>:$result);
  let assemblyFormat = [{
    $sum `,` $term (`if` $exists^)? attr-dict `:` type($result)
  }];
}

#endif // LNBWD_DIALECT_LANE_IR_LANEOPS_TD
