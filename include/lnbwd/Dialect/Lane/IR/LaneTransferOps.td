//===- LaneTransferOps.td - Bytes on their way -------------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines the operations that have bytes brought to workgroup memory while the
// lanes work on, and wait for them: sums that other workgroups send, and rows
// that bulk copies bring.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LANE_IR_LANETRANSFEROPS_TD
#define LNBWD_DIALECT_LANE_IR_LANETRANSFEROPS_TD

include "lnbwd/Dialect/Lane/IR/LaneDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Barriers that count bytes
//===----------------------------------------------------------------------===//

class Lane_ByteBarrierOp<string mnemonic> : Lane_Op<mnemonic> {
  let hasVerifier = 1;
}

def Lane_InitByteBarriersOp : Lane_ByteBarrierOp<"init_byte_barriers"> {
  let summary = "Prepare barriers that count the bytes that arrive";
  let description = [{
    Each element of `barriers`, which are `i64` in workgroup memory, becomes a
    barrier. It lets through who waits for it when all bytes have arrived that
    were announced to it, and counts anew from then on. One lane of the
    workgroup does this; the others see it behind the next barrier of the
    workgroup, or of its peers.

    Example:

    ```mlir
    lane.init_byte_barriers %barriers : memref<4xi64, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins AnyMemRef:$barriers);
  let assemblyFormat = "$barriers attr-dict `:` type($barriers)";
}

def Lane_ExpectBytesOp : Lane_ByteBarrierOp<"expect_bytes"> {
  let summary = "Announce bytes to a barrier that counts them";
  let description = [{
    `bytes` are to arrive before element `index` of `barriers` lets anybody
    through. They may be on their way already. One lane of the workgroup does
    this.

    Example:

    ```mlir
    lane.expect_bytes %barriers[%index], 128 : memref<4xi64, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins AnyMemRef:$barriers, Index:$index, I32Attr:$bytes);
  let assemblyFormat = [{
    $barriers `[` $index `]` `,` $bytes attr-dict `:` type($barriers)
  }];
}

def Lane_AwaitBytesOp : Lane_ByteBarrierOp<"await_bytes"> {
  let summary = "Wait until all announced bytes have arrived";
  let description = [{
    All lanes wait for element `index` of `barriers`, and see what has arrived
    behind it. `phase` is 0 the first time that the barrier is waited for, then
    1, then 0, and so on.

    Example:

    ```mlir
    lane.await_bytes %barriers[%index] phase %phase
        : memref<4xi64, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins AnyMemRef:$barriers, Index:$index, I32:$phase);
  let assemblyFormat = [{
    $barriers `[` $index `]` `phase` $phase attr-dict `:` type($barriers)
  }];
}

//===----------------------------------------------------------------------===//
// Workgroups that share rows
//===----------------------------------------------------------------------===//

def Lane_ArriveAtPeersOp : Lane_Op<"arrive_at_peers"> {
  let summary = "Tell the workgroups that share a row that this one is here";
  let description = [{
    The first half of a barrier of the workgroups that share rows, which the
    chip starts together; `lane.await_peers` is the other.

    Example:

    ```mlir
    lane.arrive_at_peers
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Lane_AwaitPeersOp : Lane_Op<"await_peers"> {
  let summary = "Wait until all workgroups that share a row are there";
  let description = [{
    Behind this, what all of them have written to their workgroup memory before
    `lane.arrive_at_peers` can be seen, and each may send to all others.

    Example:

    ```mlir
    lane.await_peers
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Lane_SendToPeersOp : Lane_ByteBarrierOp<"send_to_peers"> {
  let summary = "Send a wave's numbers to all workgroups that share the row";
  let description = [{
    Each wave writes `numbers`, which are the same in all its lanes, to `memory`
    from element `slot` on, in the workgroup memory of each workgroup that
    shares the row, its own among them. There, element `index` of `barriers`
    counts the bytes. Lane p of the wave sends to workgroup p.

    Example:

    ```mlir
    lane.send_to_peers %sums to %memory[%slot] counted by %barriers[%index] at %place
        : !lane.place<row_length = 8192, lanes = 64, groups = 4, width = 8, columns = 2048>,
          vector<2xf32>, memref<64xf32, #gpu.address_space<workgroup>>,
          memref<2xi64, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1], [F32]>:$numbers,
                       MemRefRankOf<[F32], [1]>:$memory, Index:$slot,
                       AnyMemRef:$barriers, Index:$index, Lane_Place:$place);
  let assemblyFormat = [{
    $numbers `to` $memory `[` $slot `]` `counted` `by` $barriers `[` $index `]`
    `at` $place attr-dict `:` type($place) `,` type($numbers) `,` type($memory)
    `,` type($barriers)
  }];
}

//===----------------------------------------------------------------------===//
// Rows that come through workgroup memory
//===----------------------------------------------------------------------===//

def Lane_StagesOp : Lane_Op<"stages"> {
  let summary = "Places in workgroup memory for sets of rows on their way";
  let description = [{
    Lays the stages out in the memory that the launch asks for, for sets of rows
    as those at `place`, and has the workgroup see them empty.

    Example:

    ```mlir
    %stages = lane.stages at %place : !lane.place<...>, !lane.stages<3 of bf16, bf16>
    ```
  }];
  let arguments = (ins Lane_Place:$place);
  let results = (outs Lane_Stages:$stages);
  let assemblyFormat = [{
    `at` $place attr-dict `:` type($place) `,` type($stages)
  }];
}

def Lane_StartCopiesOp : Lane_Op<"start_copies"> {
  let summary = "Have a set of rows brought to a stage";
  let description = [{
    Unless row `set` is at or beyond `end`, one lane starts the copies of the
    workgroup's columns of the set's rows, which begin with row `set`, from
    `memories` to stage number `stage`. All rows of a set below `end` exist,
    and, where rows do not all begin where a copy can, one more behind them,
    into which a copy may reach. The caller sees to it that all lanes have
    received what was in the stage, by a barrier of the workgroup.

    Example:

    ```mlir
    lane.start_copies %dys, %xs from %set below %end to %stages[%stage] at %place
        : !lane.place<...>, !lane.stages<3 of bf16, bf16>, memref<?x1024xbf16>, memref<?x1024xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyMemRef>:$memories, Index:$set, Index:$end,
                       Lane_Stages:$stages, Index:$stage, Lane_Place:$place);
  let assemblyFormat = [{
    $memories `from` $set `below` $end `to` $stages `[` $stage `]` `at` $place
    attr-dict `:` type($place) `,` type($stages) `,` type($memories)
  }];
  let hasVerifier = 1;
}

def Lane_AwaitStageOp : Lane_Op<"await_stage"> {
  let summary = "Wait until a set of rows has arrived in its stage";
  let description = [{
    All lanes wait for the copies to stage number `stage`. `phase` is 0 the
    first time that the stage is waited for, then 1, then 0, and so on.

    Example:

    ```mlir
    lane.await_stage %stages[%stage] phase %phase : !lane.stages<3 of bf16, bf16>
    ```
  }];
  let arguments = (ins Lane_Stages:$stages, Index:$stage, I32:$phase);
  let assemblyFormat = [{
    $stages `[` $stage `]` `phase` $phase attr-dict `:` type($stages)
  }];
}

def Lane_ReceiveOp : Lane_Op<"receive", [MemoryEffects<[MemRead]>]> {
  let summary = "Take a lane's part of a row out of a stage";
  let description = [{
    The lane's part of its row of the set that begins with row `set`, which lies
    in stage number `stage`: one result for each of the stages' elements. With
    `access`, that one access alone. Only behind `lane.await_stage`.

    Example:

    ```mlir
    %dy, %x = lane.receive %set from %stages[%stage] at %place
        : !lane.place<...>, !lane.stages<3 of bf16, bf16> -> vector<2x8xbf16>, vector<2x8xbf16>
    ```
  }];
  let arguments = (ins Index:$set, Lane_Stages:$stages, Index:$stage,
                       Lane_Place:$place, OptionalAttr<I64Attr>:$access);
  let results = (outs Variadic<AnyVectorOfAnyRank>:$parts);
  let assemblyFormat = [{
    $set `from` $stages `[` $stage `]` `at` $place (`access` $access^)?
    attr-dict `:` type($place) `,` type($stages) `->` type($parts)
  }];
  let hasVerifier = 1;
}

#endif // LNBWD_DIALECT_LANE_IR_LANETRANSFEROPS_TD
