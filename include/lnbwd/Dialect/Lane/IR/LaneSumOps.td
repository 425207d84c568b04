//===- LaneSumOps.td - Sums of lanes -----------------------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines the reductions: of a row over the lanes that share it, and of column
// sums over the groups of a workgroup.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LANE_IR_LANESUMOPS_TD
#define LNBWD_DIALECT_LANE_IR_LANESUMOPS_TD

include "lnbwd/Dialect/Lane/IR/LaneDialect.td"
include "mlir/Dialect/Vector/IR/VectorAttributes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Lane_Kind : Attr<And<[
    Vector_CombiningKindAttr.predicate,
    CPred<"::llvm::is_contained({::mlir::vector::CombiningKind::ADD, "
          "::mlir::vector::CombiningKind::MAXIMUMF}, "
          "::llvm::cast<::mlir::vector::CombiningKindAttr>($_self).getValue())">]>>;
def Lane_Kinds : TypedArrayAttrBase<Lane_Kind,
                                    "array of #vector.kind<add> and <maximumf>">;

//===----------------------------------------------------------------------===//
// Sums over a row
//===----------------------------------------------------------------------===//

def Lane_FirstIterationOp : Lane_Op<"first_iteration", [Pure]> {
  let summary = "The iteration of the first row";
  let description = [{
    Example:

    ```mlir
    %first = lane.first_iteration : !lane.iteration
    ```
  }];
  let results = (outs Lane_Iteration:$iteration);
  let assemblyFormat = "attr-dict `:` type($iteration)";
}

def Lane_NextIterationOp : Lane_Op<"next_iteration", [Pure]> {
  let summary = "The iteration of the next row";
  let description = [{
    Example:

    ```mlir
    %next = lane.next_iteration %iteration : !lane.iteration
    ```
  }];
  let arguments = (ins Lane_Iteration:$iteration);
  let results = (outs Lane_Iteration:$next);
  let assemblyFormat = "$iteration attr-dict `:` type($iteration)";
}

def Lane_FoldOp : Lane_Op<"fold", [
    Pure, AttrSizedOperandSegments, Lane_RowWhereAligned, Lane_That<
    "rows that have slices are not aligned",
    "!getSlices() || !getLayout().getType().isAligned()">,
    Lane_That<
    "there is a kind for each of its fragments",
    "getKinds().size() == getFragments().size()">,
    Lane_That<
    "it takes fragments of rows",
    "areOfRows(getFragments().getTypes(), getLayout(), getFragments().getTypes())">,
    Lane_That<
    "there is an access, or with slices a number for each of them, of each fragment",
    "getPartials().size() == getFragments().size() * getSlices().value_or(1) && "
    "arePartials(getPartials().getTypes(), getLayout(), "
    "/*mayBeAccesses=*/!getSlices(), /*mayBeNumbers=*/getSlices().has_value())">]> {
  let summary = "Combine a lane's accesses elementwise";
  let description = [{
    Combines the in-bounds accesses of each of `fragments` as its entry of
    `kinds` says: a lane's partial row sums and row maxima. One operation for
    all of a phase, so that an access can be consumed before the next one is
    loaded. Where rows are aligned, `row` says which of a partial access's
    elements are of the row.

    With `slices`, accesses are not combined elementwise: the order is that of
    docs/numerics.md. Of each fragment there are as many results,
    numbers, as the workgroup's columns have slices.

    Example:

    ```mlir
    %a, %b = lane.fold [#vector.kind<add>, #vector.kind<maximumf>] %x, %y at %layout
        : !lane.layout<...>, vector<2x8xf32>, vector<2x8xf32>
        -> vector<8xf32>, vector<8xf32>
    ```
  }];
  let arguments = (ins Lane_Kinds:$kinds,
                       Variadic<VectorOfAnyRankOf<[F32]>>:$fragments,
                       Lane_Layout:$layout, Optional<Index>:$row,
                       OptionalAttr<I64Attr>:$slices);
  let results = (outs Variadic<AnyTypeOf<[
      F32, VectorOfAnyRankOf<[F32]>]>>:$partials);
  let assemblyFormat = [{
    $kinds $fragments `at` $layout (`row` $row^)? (`slices` $slices^)? attr-dict
    `:` type($layout) `,` type($fragments) `->` type($partials)
  }];
}

def Lane_ReduceOp : Lane_Op<"reduce", [
    Lane_That<
    "there is a kind for each of its sums", "getKinds().size() == getSums().size()">,
    Lane_That<
    "there is a number or an access, or with slices a number for each of them, of each sum",
    "getPartials().size() == getSums().size() * getSlices().value_or(1) && "
    "arePartials(getPartials().getTypes(), getLayout(), "
    "/*mayBeAccesses=*/!getSlices(), /*mayBeNumbers=*/true)">,
    Lane_That<
    "the block has a lane.reduce of the phase before", "isPhaseNext(*this)">]> {
  let summary = "All reductions of a phase over the lanes of a row";
  let description = [{
    Reduces each of `partials`, a lane's vectors of `width` elements or numbers,
    over their elements and then over all lanes that share the row, as its entry
    of `kinds` says. The order is fixed by the layout. All lanes of the group
    get the results. Where the workgroup has only some of the row's columns,
    these are the lanes of all workgroups of the cluster, the last of which may
    have fewer columns. With `own_columns`, only the lanes of the workgroup are
    reduced: the sums are those of its own columns. With `slices`, each sum has
    so many partials, numbers, one for each slice of the workgroup's columns.

    `phase` numbers the phases of the row program, from 0 and without gaps in a
    block: reductions of the same phase use the same exchange buffers, if any,
    which `iteration` selects.

    Example:

    ```mlir
    %sum, %largest = lane.reduce [#vector.kind<add>, #vector.kind<maximumf>] %a, %b
        at %layout iteration %iteration phase 0
        : !lane.layout<...>, vector<8xf32>, vector<8xf32> -> f32, f32
    ```
  }];
  let arguments = (ins Lane_Kinds:$kinds, Variadic<AnyType>:$partials,
                       Lane_Layout:$layout, Lane_Iteration:$iteration,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$phase,
                       UnitAttr:$own_columns, OptionalAttr<I64Attr>:$slices);
  let results = (outs Variadic<F32>:$sums);
  let assemblyFormat = [{
    $kinds $partials `at` $layout `iteration` $iteration `phase` $phase
    (`own_columns` $own_columns^)? (`slices` $slices^)? attr-dict `:`
    type($layout) `,` type($partials) `->` type($sums)
  }];
  let extraClassDeclaration = [{
    /// Workgroups whose lanes are combined.
    int64_t getPeers() {
      return getOwnColumns() ? 1 : getLayout().getType().getPeers();
    }
    /// Whether workgroups exchange partial results.
    bool isShared() { return getPeers() > 1; }
  }];
}

def Lane_BarrierOp : Lane_Op<"barrier"> {
  let summary = "A barrier of the workgroup, for its memory";
  let description = [{
    What the lanes have written to workgroup memory before it is visible to all
    of them after it. It does not order accesses to device memory.

    Example:

    ```mlir
    lane.barrier
    ```
  }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Column sums
//===----------------------------------------------------------------------===//

def Lane_CombineGroupsOp : Lane_Op<"combine_groups", [
    Lane_TotalOfEachSum, Lane_KindOfEachSum]> {
  let summary = "Reduce column sums over the groups of a workgroup";
  let description = [{
    The totals, in the lanes of the first group; the other groups' results are
    undefined. Each step adds the sums of `radix` groups, a power of two: the
    order is fixed. Split, all accesses of the first sum come first, then those
    of the second, and so on. `kinds` says which of the sums are the largest
    instead.

    Example:

    ```mlir
    %a, %b = lane.combine_groups [#vector.kind<add>, #vector.kind<maximumf>] %s, %t
        at %layout radix 8
        : !lane.layout<...>, vector<2x8xf32>, vector<2x8xf32>
        -> vector<2x8xf32>, vector<2x8xf32>
    ```
  }];
  let arguments = (ins Lane_Kinds:$kinds, Variadic<VectorOfAnyRankOf<[F32]>>:$sums,
                       Lane_Layout:$layout,
                       ConfinedAttr<I64Attr, [IntMinValue<2>, IntPowerOf2]>:$radix);
  let results = (outs Variadic<VectorOfAnyRankOf<[F32]>>:$totals);
  let assemblyFormat = [{
    $kinds $sums `at` $layout `radix` $radix
    attr-dict `:` type($layout) `,` type($sums)
    `->` type($totals)
  }];
  let hasFolder = 1;
}

def Lane_ShareSumsOp : Lane_Op<"share_sums", [
    Lane_KindOfEachSum, Lane_That<
    "the lanes of its layouts are as many, and have the same columns of a row",
    "haveSameColumns(getLayout().getType(), getShared().getType())">,
    Lane_That<
    "there is a total for each of its sums, a fragment of the shared layout",
    "areShared(getTotals().getTypes(), getShared(), getSums().getTypes(), getLayout())">]> {
  let summary = "Reduce column sums over the groups, a share for each lane";
  let description = [{
    The totals, as fragments of `shared`: the same lanes, of which more, mostly
    all of the workgroup, share a row. So each lane adds up a part of the
    columns. The canonical order of sums: groups are added by pairs of
    neighbours. `kinds` and split sums are as those of lane.combine_groups.

    Example:

    ```mlir
    // !layout = !lane.layout<row_length = 1024, lanes = 64, groups = 4, width = 8>
    // !shared = !lane.layout<row_length = 1024, lanes = 256, groups = 1, width = 2>
    %a = lane.share_sums [#vector.kind<add>] %s at %layout to %shared
        : !layout, !shared, vector<2x8xf32> -> vector<2x2xf32>
    ```
  }];
  let arguments = (ins Lane_Kinds:$kinds, Variadic<VectorOfAnyRankOf<[F32]>>:$sums,
                       Lane_Layout:$layout, Lane_Layout:$shared);
  let results = (outs Variadic<VectorOfAnyRankOf<[F32]>>:$totals);
  let assemblyFormat = [{
    $kinds $sums `at` $layout `to` $shared attr-dict `:` type($layout) `,`
    type($shared) `,` type($sums) `->` type($totals)
  }];
}

def Lane_AddLeavesOp : Lane_Op<"add_leaves", [
    Lane_TotalOfEachSum, Lane_KindOfEachSum]> {
  let summary = "Add the column sums of neighbouring leaves";
  let description = [{
    Is executed for one leaf of the canonical order after the other. What has no
    neighbour yet waits in workgroup memory. If `leaf`, the number of the leaf,
    is the last of 2^`levels`, the result is their sum by pairs of neighbours, in
    the lanes of the first group; all other results are undefined. With `last`
    all leaves have been added, `leaf` is how many they are, and the result is
    the sum of what waits and of `sums`, which are 0. With `each` every group has
    leaves of its own. `kinds` and split ones are as those of
    lane.combine_groups.

    Example:

    ```mlir
    %a, %b = lane.add_leaves [#vector.kind<add>, #vector.kind<add>] %s, %t leaf %leaf at %layout levels 2
        : !lane.layout<...>, vector<2x8xf32>, vector<2x8xf32>
        -> vector<2x8xf32>, vector<2x8xf32>
    ```
  }];
  let arguments = (ins Lane_Kinds:$kinds, Variadic<VectorOfAnyRankOf<[F32]>>:$sums,
                       Index:$leaf, Lane_Layout:$layout,
                       ConfinedAttr<I64Attr, [IntPositive]>:$levels,
                       UnitAttr:$last, UnitAttr:$each);
  let results = (outs Variadic<VectorOfAnyRankOf<[F32]>>:$totals);
  let assemblyFormat = [{
    $kinds $sums `leaf` $leaf `at` $layout `levels` $levels (`last` $last^)? (`each` $each^)?
    attr-dict `:`
    type($layout) `,` type($sums) `->` type($totals)
  }];
}

def Lane_StoreSumOp : Lane_Op<"store_sum", [
    AccessOpInterface, Lane_That<
    "its memory is a memref of rank 1, or with a row 2, whose last dimension is the "
    "layout's row_length",
    "holdRows(::mlir::Type(getMemory().getType()), getLayout(), getRow() ? 2 : 1)">,
    Lane_That<
    "the sum is a fragment, or that access of it",
    "getSum().getType() == getRowType(getLayout(), getSum().getType(), getAccess())">]> {
  let summary = "Store a column sum, once per workgroup";
  let description = [{
    Writes `sum` of the first group to `memory`, rounded to its element type: to
    row `row`, where `memory` has several, as partial sums. With `accumulate` it
    is added to the present value. With `access`, only that access.

    Example:

    ```mlir
    lane.store_sum %dgamma, %partials[%workgroup] at %layout
        : !lane.layout<...>, vector<2x8xf32>, memref<?x1024xf32>
    ```
  }];
  let arguments = (ins VectorOfAnyRankOf<[F32]>:$sum,
                       Arg<AnyMemRef, "", [MemRead, MemWrite]>:$memory,
                       Optional<Index>:$row, Lane_Layout:$layout,
                       OptionalAttr<I64Attr>:$access, UnitAttr:$accumulate);
  let assemblyFormat = [{
    $sum `,` $memory (`[` $row^ `]`)? `at` $layout (`access` $access^)?
    (`accumulate` $accumulate^)? attr-dict `:` type($layout) `,` type($sum) `,`
    type($memory)
  }];
}

#endif // LNBWD_DIALECT_LANE_IR_LANESUMOPS_TD
