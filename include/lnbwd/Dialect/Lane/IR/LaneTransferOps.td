//===- LaneTransferOps.td - Bytes in flight ----------------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines the operations for asynchronous transfers to workgroup memory: sums
// that other workgroups send, and rows that bulk copies bring.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LANE_IR_LANETRANSFEROPS_TD
#define LNBWD_DIALECT_LANE_IR_LANETRANSFEROPS_TD

include "lnbwd/Dialect/Lane/IR/LaneDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Barriers that count bytes
//===----------------------------------------------------------------------===//

def Lane_ByteBarriers : ConfinedType<MemRefRankOf<[I64], [1]>, [
    HasStaticShapePred,
    CPred<"::mlir::gpu::GPUDialect::hasWorkgroupMemoryAddressSpace("
          "::llvm::cast<::mlir::MemRefType>($_self))">
  ], "barriers, a memref of i64 in workgroup memory, of rank 1 and a known size">;

def Lane_InitByteBarriersOp : Lane_Op<"init_byte_barriers"> {
  let summary = "Initialise barriers that count transferred bytes";
  let description = [{
    Each element of `barriers`, which are `i64` in workgroup memory, becomes a
    transaction barrier (NVIDIA's `mbarrier`): a phase completes when all bytes
    announced to it have arrived, and the next phase begins. One lane of the
    workgroup executes this; the barriers are visible to the others after the
    next barrier of the workgroup, or of its cluster.

    Example:

    ```mlir
    lane.init_byte_barriers %barriers : memref<4xi64, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins Lane_ByteBarriers:$barriers);
  let assemblyFormat = "$barriers attr-dict `:` type($barriers)";
}

def Lane_ExpectBytesOp : Lane_Op<"expect_bytes"> {
  let summary = "Announce bytes to a transaction barrier";
  let description = [{
    `bytes` have to arrive before the phase of element `index` of `barriers`
    completes. They may already be in flight. One lane of the workgroup executes
    this.

    Example:

    ```mlir
    lane.expect_bytes %barriers[%index], 128 : memref<4xi64, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins Lane_ByteBarriers:$barriers, Index:$index,
                       ConfinedAttr<I32Attr, [IntPositive]>:$bytes);
  let assemblyFormat = [{
    $barriers `[` $index `]` `,` $bytes attr-dict `:` type($barriers)
  }];
}

def Lane_AwaitBytesOp : Lane_Op<"await_bytes"> {
  let summary = "Wait until all announced bytes have arrived";
  let description = [{
    All lanes wait until the phase of element `index` of `barriers` completes;
    the bytes are visible to the operations that follow. `phase` is the parity
    of the phase: 0 for the first wait, then 1, then 0, and so on.

    Example:

    ```mlir
    lane.await_bytes %barriers[%index] phase %phase
        : memref<4xi64, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins Lane_ByteBarriers:$barriers, Index:$index, I32:$phase);
  let assemblyFormat = [{
    $barriers `[` $index `]` `phase` $phase attr-dict `:` type($barriers)
  }];
}

//===----------------------------------------------------------------------===//
// Workgroups of a cluster, which share rows
//===----------------------------------------------------------------------===//

def Lane_SendToPeersOp : Lane_Op<"send_to_peers", [
    Lane_That<"workgroups share rows", "getLayout().getType().sharesRows()">]> {
  let summary = "Send a wave's numbers to all workgroups that share the row";
  let description = [{
    Each wave writes `numbers`, which are the same in all its lanes, to `memory`
    from element `slot` on, in the workgroup memory of each workgroup that
    shares the row, including its own. Element `index` of `barriers` there
    counts the bytes. Lane p of the wave sends to workgroup p. Where lanes go
    across rows, lane p of each group sends to workgroup p instead.

    Example:

    ```mlir
    lane.send_to_peers %sums to %memory[%slot] counted by %barriers[%index] at %layout
        : !lane.layout<row_length = 8192, lanes = 64, groups = 4, width = 8, columns = 2048>,
          vector<2xf32>, memref<64xf32, #gpu.address_space<workgroup>>,
          memref<2xi64, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1], [F32]>:$numbers,
                       MemRefRankOf<[F32], [1]>:$memory, Index:$slot,
                       Lane_ByteBarriers:$barriers, Index:$index, Lane_Layout:$layout);
  let assemblyFormat = [{
    $numbers `to` $memory `[` $slot `]` `counted` `by` $barriers `[` $index `]`
    `at` $layout attr-dict `:` type($layout) `,` type($numbers) `,` type($memory)
    `,` type($barriers)
  }];
}

//===----------------------------------------------------------------------===//
// Multi-buffered rows in workgroup memory
//===----------------------------------------------------------------------===//

def Lane_StagesOp : Lane_Op<"stages"> {
  let summary = "Buffers in workgroup memory for tiles of rows in flight";
  let description = [{
    Lays out the stages in the dynamic workgroup memory of the launch, for tiles
    of rows with `layout`, and initialises their barriers.

    Example:

    ```mlir
    %stages = lane.stages at %layout : !lane.layout<...>, !lane.stages<3 of bf16, bf16>
    ```
  }];
  let arguments = (ins Lane_Layout:$layout);
  let results = (outs Lane_Stages:$stages);
  let assemblyFormat = [{
    `at` $layout attr-dict `:` type($layout) `,` type($stages)
  }];
}

def Lane_StartCopiesOp : Lane_Op<"start_copies", [
    Lane_MemoriesHoldRows<>, Lane_That<
    "there is a memory for each of the stages' elements, whose rows lie side by side",
    "areCopied(*this)">]> {
  let summary = "Start the copies of a tile of rows to a stage";
  let description = [{
    If row `tile` is below `end`, one lane starts the bulk copies of the
    workgroup's columns of the tile's rows, which begin with row `tile`, from
    `memories` to stage number `stage`. All rows of a tile below `end` are in
    bounds, and, where not all rows begin at a multiple of the copies'
    alignment, so is one more row, into which a copy may reach. A barrier of the
    workgroup has to separate it from the operations that receive the stage's
    previous tile.

    Example:

    ```mlir
    lane.start_copies %dys, %xs from %tile below %end to %stages[%stage] at %layout
        : !lane.layout<...>, !lane.stages<3 of bf16, bf16>, memref<?x1024xbf16>, memref<?x1024xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyMemRef>:$memories, Index:$tile, Index:$end,
                       Lane_Stages:$stages, Index:$stage, Lane_Layout:$layout);
  let assemblyFormat = [{
    $memories `from` $tile `below` $end `to` $stages `[` $stage `]` `at` $layout
    attr-dict `:` type($layout) `,` type($stages) `,` type($memories)
  }];
}

def Lane_AwaitStageOp : Lane_Op<"await_stage"> {
  let summary = "Wait until a tile of rows has arrived in its stage";
  let description = [{
    All lanes wait for the copies to stage number `stage`. `phase` is the parity
    of the stage's barrier: 0 for the first wait, then 1, then 0, and so on.

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

def Lane_ReceiveOp : Lane_Op<"receive", [
    MemoryEffects<[MemRead]>, AccessOpInterface,
    Lane_FragmentsOf<"getStages().getType().getElements()">]> {
  let summary = "Load a lane's fragment of a row from a stage";
  let description = [{
    The lane's fragment of its row of the tile that begins with row `tile`,
    which is in stage number `stage`: one result for each of the stages'
    elements. With `access`, only that access. `lane.await_stage` has to precede
    it.

    Example:

    ```mlir
    %dy, %x = lane.receive %tile from %stages[%stage] at %layout
        : !lane.layout<...>, !lane.stages<3 of bf16, bf16> -> vector<2x8xbf16>, vector<2x8xbf16>
    ```
  }];
  let arguments = (ins Index:$tile, Lane_Stages:$stages, Index:$stage,
                       Lane_Layout:$layout, OptionalAttr<I64Attr>:$access);
  let results = (outs Variadic<AnyVectorOfAnyRank>:$fragments);
  let assemblyFormat = [{
    $tile `from` $stages `[` $stage `]` `at` $layout (`access` $access^)?
    attr-dict `:` type($layout) `,` type($stages) `->` type($fragments)
  }];
}

#endif // LNBWD_DIALECT_LANE_IR_LANETRANSFEROPS_TD
