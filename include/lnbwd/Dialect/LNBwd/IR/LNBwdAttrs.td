//===- LNBwdAttrs.td - Attributes of the lnbwd dialect -----*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines the schedule, the one place where all choices about how a row program
// is spread over a GPU are written down, and what functions and kernels say
// about themselves.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_LNBWDATTRS_TD
#define LNBWD_DIALECT_LNBWD_IR_LNBWDATTRS_TD

include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.td"

def LNBwd_ScheduleAttr : LNBwd_Attr<"Schedule", "schedule"> {
  let summary = "How a row program is spread over workgroups and lanes";
  let description = [{
    All choices of the compiler about one row program. The lanes of a row split
    its columns between them, `vector_width` neighbouring ones at a time; a
    workgroup works on `row_groups` rows at once, and then on the next ones that
    fall to it.

    | field | meaning |
    |---|---|
    | `threads_per_row` | lanes that share one row: a power of two up to the wave size, or a multiple of the wave size |
    | `row_groups` | rows that a workgroup works on side by side; a workgroup has `threads_per_row` × `row_groups` work-items |
    | `vector_width` | elements of one access; divides the row length |
    | `rows_per_workgroup` | the fewest rows worth a workgroup of their own; 0: one workgroup takes all rows |
    | `workgroups_per_compute_unit` | upper bound of the grid, times the device's compute units: workgroups are persistent and take further rows in turn; 0: no bound. Workgroups that share a row count as one, for so many compute units |
    | `workgroups_per_row` | workgroups that split the columns of a row evenly between them and exchange its sums: 1, or a power of two up to what the chip launches together as one cluster |
    | `column_tile` | columns that one workgroup covers, a multiple of `threads_per_row` × `vector_width`; 0: the whole row. Only for programs without row sums |
    | `prefetch` | sets of rows whose loads into registers are in flight while the current one is worked on: 0 or 1 |
    | `unroll` | sets of rows that one turn of the row loop works on: 1; with `prefetch` also 2, with which prefetched registers are used where they were loaded instead of being copied; without, for programs without row sums, also 2, 4 or 8, all of which are loaded before the first is worked on. Not with `stages` or `reload` |
    | `stages` | sets of rows that asynchronous bulk copies keep in flight in shared memory: 0 (rows come through registers), or 2 and more. Only for chips that have such copies |
    | `early_start` | the kernel may start before the one before it on the stream has ended, whatever that is, and waits before its first access to memory. Only for chips that can launch so, where each kernel lets the next one start when its own rows are done |
    | `reload` | the row does not stay in registers: every phase between two row sums reads it again, which serves any row length. Only for programs without column sums |

    Example:

    ```mlir
    #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 8,
                    rows_per_workgroup = 8, workgroups_per_compute_unit = 4>
    ```
  }];
  let parameters = (ins
    "int64_t":$threads_per_row,
    "int64_t":$row_groups,
    "int64_t":$vector_width,
    "int64_t":$rows_per_workgroup,
    "int64_t":$workgroups_per_compute_unit,
    DefaultValuedParameter<"int64_t", "1">:$workgroups_per_row,
    DefaultValuedParameter<"int64_t", "0">:$column_tile,
    DefaultValuedParameter<"int64_t", "0">:$prefetch,
    DefaultValuedParameter<"int64_t", "1">:$unroll,
    DefaultValuedParameter<"int64_t", "0">:$stages,
    DefaultValuedParameter<"bool", "false">:$early_start,
    DefaultValuedParameter<"bool", "false">:$reload
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Work-items of a workgroup.
    int64_t getThreads() const { return getThreadsPerRow() * getRowGroups(); }
    /// Columns that the lanes of one row cover with one access each.
    int64_t getChunkColumns() const {
      return getThreadsPerRow() * getVectorWidth();
    }
  }];
}

def LNBwd_KernelInfoAttr : LNBwd_Attr<"KernelInfo", "kernel_info"> {
  let summary = "What a kernel was made of";
  let description = [{
    Stays with a kernel down to LLVM's dialect, as its attribute
    `lnbwd.kernel_info`: the row program's `entry`, its row length and its
    schedule. Code emission and the report ask for them.

    Example:

    ```mlir
    #lnbwd.kernel_info<entry = "layer_norm_bwd", row_length = 1024, schedule = <...>>
    ```
  }];
  let parameters = (ins
    "::mlir::StringAttr":$entry,
    "int64_t":$row_length,
    "ScheduleAttr":$schedule
  );
  let assemblyFormat = "`<` struct(params) `>`";
}

def LNBwd_NamedOperationAttr : LNBwd_Attr<"NamedOperation", "operation"> {
  let summary = "What a function computes, for those who check it";
  let description = [{
    The attribute `lnbwd.operation` of a function: the named operation that its
    kernels compute, whatever the row programs look like. Lowering a named
    operation sets it, and the launch plan carries it, so that `lnbwd-run
    --verify` knows which reference to compare with. A function with a row
    program written by hand may state it too; the operands' roles are the
    `operand_names` of the row program.

    | field | meaning |
    |---|---|
    | `name` | a named operation without the dialect's prefix, as in `rms_norm_bwd` |
    | `epsilon` | where the kernel computes statistics: what it adds to the variance |
    | `zero_centred_gamma` | `1 + gamma` stands in the place of `gamma` |

    Everything else (how the statistics come, the residual, accumulation, types,
    strides) the arguments say.

    Example:

    ```mlir
    #lnbwd.operation<name = "rms_norm", epsilon = 1.0e-5 : f64>
    ```
  }];
  let parameters = (ins
    "::mlir::StringAttr":$name,
    OptionalParameter<"::mlir::FloatAttr">:$epsilon,
    DefaultValuedParameter<"bool", "false">:$zero_centred_gamma
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let builders = [
    AttrBuilder<(ins "::lnbwd::NamedOperation":$operation,
                     "::mlir::FloatAttr":$epsilon, "bool":$zero_centred_gamma), [{
      return $_get($_ctxt,
                   ::mlir::StringAttr::get($_ctxt, ::lnbwd::getName(operation)),
                   epsilon, zero_centred_gamma);
    }]>
  ];
  let extraClassDeclaration = [{
    /// The name as what it stands for.
    ::lnbwd::NamedOperation getOperation() const {
      return *findOperation(getName().getValue());
    }
  }];
}

#endif // LNBWD_DIALECT_LNBWD_IR_LNBWDATTRS_TD
