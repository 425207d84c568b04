//===- LaneSumOps.td - Sums of lanes -----------------------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines the operations that combine what lanes have: a row's sums over the
// lanes that share it, turn by turn, and the columns' sums over the groups of a
// workgroup.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LANE_IR_LANESUMOPS_TD
#define LNBWD_DIALECT_LANE_IR_LANESUMOPS_TD

include "lnbwd/Dialect/Lane/IR/LaneDialect.td"
include "mlir/Dialect/Vector/IR/VectorAttributes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Lane_Kinds : TypedArrayAttrBase<Vector_CombiningKindAttr,
                                    "array of #vector.kind<add> and <maximumf>">;

//===----------------------------------------------------------------------===//
// Sums over a row
//===----------------------------------------------------------------------===//

def Lane_FirstTurnOp : Lane_Op<"first_turn", [Pure]> {
  let summary = "The turn before all rows";
  let description = [{
    Example:

    ```mlir
    %first = lane.first_turn : !lane.turn
    ```
  }];
  let results = (outs Lane_Turn:$turn);
  let assemblyFormat = "attr-dict `:` type($turn)";
}

def Lane_NextTurnOp : Lane_Op<"next_turn", [Pure]> {
  let summary = "The turn of the row that follows";
  let description = [{
    Example:

    ```mlir
    %next = lane.next_turn %turn : !lane.turn
    ```
  }];
  let arguments = (ins Lane_Turn:$turn);
  let results = (outs Lane_Turn:$next);
  let assemblyFormat = "$turn attr-dict `:` type($turn)";
}

def Lane_FoldOp : Lane_Op<"fold", [Pure]> {
  let summary = "Combine a lane's accesses, element by element";
  let description = [{
    Of each of `parts` the accesses that exist, combined as its entry of `kinds`
    says: a lane's share of row sums and row maxima. One operation for all of a
    phase, so that an access can be done with before the next one is begun.

    Example:

    ```mlir
    %a, %b = lane.fold [#vector.kind<add>, #vector.kind<maximumf>] %x, %y at %place
        : !lane.place<...>, vector<2x8xf32>, vector<2x8xf32>
        -> vector<8xf32>, vector<8xf32>
    ```
  }];
  let arguments = (ins Lane_Kinds:$kinds,
                       Variadic<VectorOfAnyRankOf<[F32]>>:$parts,
                       Lane_Place:$place);
  let results = (outs Variadic<VectorOfAnyRankOf<[F32]>>:$shares);
  let assemblyFormat = [{
    $kinds $parts `at` $place attr-dict `:` type($place) `,` type($parts) `->`
    type($shares)
  }];
  let hasVerifier = 1;
}

def Lane_ReduceOp : Lane_Op<"reduce"> {
  let summary = "All row sums of a phase, over all lanes of the row";
  let description = [{
    Combines each of `shares`, which are a lane's vectors of `width` elements or
    its numbers, over their elements and then over all lanes that share a row:
    as its entry of `kinds` says, in an order that is fixed by the place. All
    lanes of the group get the results. Where the workgroup has but a share of
    the row's columns, it is the lanes of all workgroups that share the row,
    the last of which may have fewer columns. With `own_columns`, it is the
    lanes of the workgroup alone: the sums are those of its own columns.

    `phase` numbers the phases of the row program, from 0 and without gaps in a
    block: reductions of the same phase use the same memory in turns, where they
    use memory.

    Example:

    ```mlir
    %sum, %largest = lane.reduce [#vector.kind<add>, #vector.kind<maximumf>] %a, %b
        at %place turn %turn phase 0
        : !lane.place<...>, vector<8xf32>, vector<8xf32> -> f32, f32
    ```
  }];
  let arguments = (ins Lane_Kinds:$kinds, Variadic<AnyType>:$shares,
                       Lane_Place:$place, Lane_Turn:$turn, I64Attr:$phase,
                       UnitAttr:$own_columns);
  let results = (outs Variadic<F32>:$sums);
  let assemblyFormat = [{
    $kinds $shares `at` $place `turn` $turn `phase` $phase
    (`own_columns` $own_columns^)? attr-dict `:`
    type($place) `,` type($shares) `->` type($sums)
  }];
  let extraClassDeclaration = [{
    /// Workgroups whose lanes are combined.
    int64_t getPeers() {
      return getOwnColumns() ? 1 : getPlace().getType().getPeers();
    }
    /// Whether workgroups have to meet.
    bool isShared() { return getPeers() > 1; }
  }];
  let hasVerifier = 1;
}

def Lane_BarrierOp : Lane_Op<"barrier"> {
  let summary = "A barrier of the workgroup, for its memory";
  let description = [{
    What the lanes have written to workgroup memory before can be seen behind
    it. Of device memory nothing is said, whose accesses need not end before.

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

def Lane_CombineGroupsOp : Lane_Op<"combine_groups"> {
  let summary = "Add up column sums over the groups of a workgroup";
  let description = [{
    The totals, in the lanes of the first group; what the others get is of no
    use. `radix` groups' sums, a power of two, are added in one step: a fixed
    order. Split, all accesses of the first sum come first, then those of the
    second, and so on.

    Example:

    ```mlir
    %a, %b = lane.combine_groups %s, %t at %place radix 8
        : !lane.place<...>, vector<2x8xf32>, vector<2x8xf32>
        -> vector<2x8xf32>, vector<2x8xf32>
    ```
  }];
  let arguments = (ins Variadic<VectorOfAnyRankOf<[F32]>>:$sums,
                       Lane_Place:$place, I64Attr:$radix);
  let results = (outs Variadic<VectorOfAnyRankOf<[F32]>>:$totals);
  let assemblyFormat = [{
    $sums `at` $place `radix` $radix attr-dict `:` type($place) `,` type($sums)
    `->` type($totals)
  }];
  let hasVerifier = 1;
}

def Lane_StoreSumOp : Lane_Op<"store_sum"> {
  let summary = "Store a column sum, once a workgroup";
  let description = [{
    Writes `sum` of the first group to `memory`, rounded to its elements: to its
    row `row`, where it has several, as partial sums. With `accumulate` it is
    added to what is there. With `access`, that one access alone.

    Example:

    ```mlir
    lane.store_sum %dgamma, %partials[%workgroup] at %place
        : !lane.place<...>, vector<2x8xf32>, memref<?x1024xf32>
    ```
  }];
  let arguments = (ins VectorOfAnyRankOf<[F32]>:$sum,
                       Arg<AnyMemRef, "", [MemRead, MemWrite]>:$memory,
                       Optional<Index>:$row, Lane_Place:$place,
                       OptionalAttr<I64Attr>:$access, UnitAttr:$accumulate);
  let assemblyFormat = [{
    $sum `,` $memory (`[` $row^ `]`)? `at` $place (`access` $access^)?
    (`accumulate` $accumulate^)? attr-dict `:` type($place) `,` type($sum) `,`
    type($memory)
  }];
  let hasVerifier = 1;
}

#endif // LNBWD_DIALECT_LANE_IR_LANESUMOPS_TD
