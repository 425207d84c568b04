//===- LaneLoopOps.td - The loop over the rows -------------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines the loop over the rows of a kernel, its end, and the sums that it
// carries.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LANE_IR_LANELOOPOPS_TD
#define LNBWD_DIALECT_LANE_IR_LANELOOPOPS_TD

include "lnbwd/Dialect/Lane/IR/LaneDialect.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Lane_ForRowsOp : Lane_Op<"for_rows", [
    AttrSizedOperandSegments, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">,
    LoopLikeOpInterface, DeclareOpInterfaceMethods<RegionBranchOpInterface>,
    Lane_That<
    "once is without entered and sum_block, which are of loops with several iterations",
    "!getOnce() || !(getEntered() || getSumBlock())">,
    Lane_That<
    "there are both the workgroup and how many there are, or neither",
    "bool(getWorkgroup()) == bool(getWorkgroups())">,
    Lane_That<
    "it is said which workgroup of how many it is for where the last tile may be partial",
    "getWhole() || getWorkgroup() || "
    "(getLayout().getType().getGroups() == 1 && !getLastRowApart())">]> {
  let summary = "Loop over the tiles of rows of a workgroup";
  let description = [{
    Executes the region for the tiles whose first rows are `begin`, `begin +
    step`, ... below `end`: that row is the region's first argument. Group g of
    the workgroup processes row `tile + g`; rows at or beyond `end` are out of
    bounds. With `whole`, all tiles are full. Without, and with several groups,
    the loop says which workgroup of how many it runs in (`for %workgroup of
    %workgroups`, numbers from 0 on). With `entered`, the trip count is at least
    one, so that the loop may test at the end of an iteration. With `once`, it
    is at most one: the grid has a workgroup for each tile.

    `sums` are column sums: an iteration may only add to them, by
    `lane.accumulate`. With `sum_block = n`, each is the total of sums over n
    iterations, so that the error of a long sum stays small. An iteration may
    add to a sum conditionally, by an `scf.if` that yields the sum otherwise.
    With `last_row_apart`, the last row is in no full tile, since accesses to a
    full tile may reach into the row that follows. With `reload`, rows are to be
    loaded again in each phase; with `stages = n`, rows through n stages in workgroup memory;
    with `prefetch`, a tile ahead; with `unroll = n`, n tiles an iteration.
    `carried` are other loop-carried values. The region's other arguments, the
    operands of its `lane.yield` and the results are the sums and then the
    carried values.

    Example:

    ```mlir
    %sum, %iterations = lane.for_rows %tile = %begin to %rows step %step at %layout
        for %workgroup of %workgroups sums(%s = %zero) carrying(%t = %first)
        : !lane.layout<...>, vector<2x8xf32>, !lane.iteration {
      ...
      lane.yield %next, %following : vector<2x8xf32>, !lane.iteration
    }
    ```
  }];
  let arguments = (ins
    Index:$begin, Index:$end, Index:$step, Lane_Layout:$layout,
    Optional<Index>:$workgroup, Optional<Index>:$workgroups,
    Variadic<AnyVectorOfAnyRank>:$sums, Variadic<AnyType>:$carried,
    UnitAttr:$whole, UnitAttr:$entered, UnitAttr:$once,
    OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$sum_block,
    UnitAttr:$last_row_apart, UnitAttr:$reload,
    OptionalAttr<ConfinedAttr<I64Attr, [IntMinValue<2>]>>:$stages,
    UnitAttr:$prefetch,
    OptionalAttr<ConfinedAttr<I64Attr, [IntMinValue<2>]>>:$unroll);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$begin, "::mlir::Value":$end,
                                 "::mlir::Value":$step, "::mlir::Value":$layout,
                                 "::mlir::Value":$workgroup,
                                 "::mlir::Value":$workgroups,
                                 "::mlir::ValueRange":$sums,
                                 "::mlir::ValueRange":$carried)>];
  let extraClassDeclaration = [{
    /// The first row of the iteration's tile.
    ::mlir::BlockArgument getTile() { return getBody().getArgument(0); }
    /// Whether all tiles are full, and sums have no blocks.
    bool isPlain() { return getWhole() && !getSumBlock(); }

    // LoopLikeOpInterface: sums, then carried values, are what goes from
    // iteration to iteration.
    ::llvm::SmallVector<::mlir::Region *> getLoopRegions() {
      return {&getBody()};
    }
    ::llvm::MutableArrayRef<::mlir::OpOperand> getInitsMutable() {
      return (*this)->getOpOperands().take_back(getNumResults());
    }
    ::mlir::Block::BlockArgListType getRegionIterArgs() {
      return getBody().getArguments().drop_front();
    }
    std::optional<::llvm::MutableArrayRef<::mlir::OpOperand>>
    getYieldedValuesMutable();
    std::optional<::mlir::ResultRange> getLoopResults() { return getResults(); }
    // RegionBranchOpInterface.
    ::mlir::OperandRange getEntrySuccessorOperands(::mlir::RegionSuccessor) {
      return getInits();
    }

    YieldOp getYield();
  }];
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def Lane_YieldOp : Lane_Op<"yield", [Pure, Terminator, ReturnLike,
                                     HasParent<"ForRowsOp">]> {
  let summary = "Yield the loop-carried values of an iteration";
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

def Lane_MultiplyOp : Lane_Op<"multiply", [
    Pure, AllTypesMatch<["lhs", "rhs"]>, AllTypesMatch<["sum", "result"]>]> {
  let summary = "Add a product of fragments of matrices to one of the result";
  let description = [{
    What a lane has of a fragment of 16 x 16 elements, to which the wave adds
    the product of 16 rows of A and 16 rows of B, the columns of the result. Of
    these a lane has blocks of 16 bytes along the sum. How fragments lie in the
    lanes depends on the chip's instruction (`MatrixWave` in
    `lnbwd/Transforms/Lane/MatrixTiles.h`).

    Example:

    ```mlir
    %next = lane.multiply %a, %b, %sum : vector<8xbf16>, vector<4xf32>
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1], [F32, F16, BF16]>:$lhs,
                       VectorOfRankAndType<[1], [F32, F16, BF16]>:$rhs,
                       VectorOfRankAndType<[1], [F32]>:$sum);
  let results = (outs VectorOfRankAndType<[1], [F32]>:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $sum attr-dict `:` type($lhs) `,` type($sum)
  }];
}

def Lane_AccumulateOp : Lane_Op<"accumulate", [
    Pure, AccessOpInterface, PredicatedOpInterface,
    AllTypesMatch<["sum", "term", "result"]>]> {
  let summary = "Add a row's term to a column sum";
  let description = [{
    `sum + term`, or `sum` where `in_bounds` is false. The addition may be fused
    with the multiplication that `term` comes from; with `fused` it is. With
    `maximum`, the larger of both instead.

    Example:

    ```mlir
    %next = lane.accumulate %sum, %term if %in_bounds : vector<2x8xf32>
    ```
  }];
  let arguments = (ins VectorOfAnyRankOf<[F32]>:$sum,
                       VectorOfAnyRankOf<[F32]>:$term, Optional<I1>:$in_bounds,
                       UnitAttr:$maximum, UnitAttr:$fused);
  let results = (outs VectorOfAnyRankOf<[F32]>:$result);
  let assemblyFormat = [{
    (`maximum` $maximum^)? (`fused` $fused^)? $sum `,` $term (`if` $in_bounds^)? attr-dict `:` type($result)
  }];
  let hasFolder = 1;
}

#endif // LNBWD_DIALECT_LANE_IR_LANELOOPOPS_TD
