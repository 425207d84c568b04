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
include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.td"
include "mlir/IR/EnumAttr.td"

def LNBwd_ScheduleAttr : LNBwd_Attr<"Schedule", "schedule"> {
  let summary = "How a row program is spread over workgroups and lanes";
  let description = [{
    All choices of the compiler about one row program. The lanes of a row split
    its columns between them, `vector_width` neighbouring ones at a time; a
    workgroup works on `row_groups` rows at once, and then on the next ones that
    fall to it.

    | field | unit | values | default | chips of | meaning |
    |---|---|---|---|---|---|
}] # !interleave(!foreach(entry, LNBwd_ScheduleFields, entry.row), "\n") # [{

    Example:

    ```mlir
    #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 8,
                    rows_per_workgroup = 8, workgroups_per_compute_unit = 4>
    ```
  }];
  let parameters = (ins
    AttrParameter<"::lnbwd::Schedule", "", "const ::lnbwd::Schedule &">:$value
  );
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    const ::lnbwd::Schedule *operator->() const { return &getValue(); }
    operator const ::lnbwd::Schedule &() const { return getValue(); }
  }];
}

def LNBwd_Reduction : I32EnumAttr<"Reduction",
    "how an output combines the rows that its map does not tell apart", [
    // There are none: it has all row dimensions.
    I32EnumAttrCase<"None", 0, "none">,
    // Added up in float32, in a fixed order.
    I32EnumAttrCase<"Add", 1, "add">,
    // The largest in float32; NaN if one is. All such outputs of a program are.
    I32EnumAttrCase<"Maximum", 2, "max">]> {
  let cppNamespace = "::lnbwd";
  let genSpecializedAttr = 0;
}

def LNBwd_ReductionAttr :
    EnumAttr<LNBwd_Dialect, LNBwd_Reduction, "reduction"> {
  let assemblyFormat = "`<` $value `>`";
}

def LNBwd_ReductionArrayAttr : TypedArrayAttrBase<LNBwd_ReductionAttr,
    "array of reductions, one for each output">;

def LNBwd_Access : I32EnumAttr<"Access", "what an operand is to a kernel", [
    // Elements of each row.
    I32EnumAttrCase<"Row", 0, "row">,
    // Elements that all rows, or those of a group, share or are combined in.
    I32EnumAttrCase<"Column", 1, "column">,
    I32EnumAttrCase<"GroupColumn", 2, "group_column">,
    // One number.
    I32EnumAttrCase<"Scalar", 3, "scalar">,
    // A factor of products, or their sum.
    I32EnumAttrCase<"Matrix", 4, "matrix">,
    // What indices take rows or elements of.
    I32EnumAttrCase<"Table", 5, "table">]> {
  let cppNamespace = "::lnbwd";
  let genSpecializedAttr = 0;
}

def LNBwd_RowDims : I32EnumAttr<"RowDims",
    "which row dimensions an operand has", [
    I32EnumAttrCase<"All", 0, "all">,
    I32EnumAttrCase<"None", 1, "none">,
    I32EnumAttrCase<"OfGroup", 2, "of_group">,
    // Those that are not of the groups.
    I32EnumAttrCase<"WithinGroup", 3, "within_group">,
    // Others, or any of a strided operand: its rows are found by their number.
    I32EnumAttrCase<"Some", 4, "some">]> {
  let cppNamespace = "::lnbwd";
  let genSpecializedAttr = 0;
}

def LNBwd_OperandFormAttr : LNBwd_Attr<"OperandForm", "operand_form"> {
  let summary = "What an operand is to the kernel of its program";
  let description = [{
    To a kernel a program has groups, rows and columns, whatever the dimensions
    of its domain. The form says which of these an operand has, and where its
    elements are. It follows from the maps and the types of all operands; passes
    ask nothing else.

    | field | meaning |
    |---|---|
    | `access` | a row block, a column, ... |
    | `rows` | which row dimensions it has |
    | `column_dims`, `row_length` | how many column dimensions it has, and elements for each row |
    | `row_stride` | elements from one row to the next |
    | `parts` | partial sums: so many for each row, or -1, one for each workgroup |
    | `strided` | it lies in memory in another way than its dimensions in the domain's order, dense but for the distance between rows |
    | `split`, `kept` | a sum with its map takes programs of its own, as of some row dimensions that are not the last, or of columns; such a sum keeps the domain's dimensions from the first number of `kept` to before the second, of as many as the third that its terms have: what follows them is combined first. Without `kept` there are no such programs |
    | `row_index`, `column_index` | where it has the row, or column, of a number, if that is not at this number |

    An index is a sum of terms of five numbers each, divisor, modulus, factor,
    shift and wrap: the number divided by the divisor, modulo the modulus, plus
    the shift modulo the wrap, times the factor. A modulus or wrap of 0 is none.

    Example (a column of 8 elements, each of which 4 columns share):

    ```mlir
    #lnbwd.operand_form<access = column, rows = none, column_dims = 1, row_length = 8,
                        row_stride = 8, column_index = [4, 0, 1, 0, 0]>
    ```
  }];
  let parameters = (ins
    EnumParameter<LNBwd_Access>:$access,
    EnumParameter<LNBwd_RowDims>:$rows,
    "int64_t":$column_dims,
    "int64_t":$row_length,
    "int64_t":$row_stride,
    DefaultValuedParameter<"int64_t", "0">:$parts,
    DefaultValuedParameter<"bool", "false">:$strided,
    DefaultValuedParameter<"bool", "false">:$split,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$kept,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$row_index,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$column_index
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// `parts` of partial sums, one for each workgroup.
    static constexpr int64_t partsOfWorkgroups = -1;
    bool isPartial() const { return getParts() != 0; }
    /// The dimensions that it has to a launch.
    ::lnbwd::Dims getDims() const;
    /// The terms of its indices; none where the number is the index.
    ::llvm::SmallVector<::lnbwd::IndexTerm> getRowTerms() const;
    ::llvm::SmallVector<::lnbwd::IndexTerm> getColumnTerms() const;
    bool isPlain() const { return !getRowIndex() && !getColumnIndex(); }
    /// The same as a map from (row, column) of what has rows, (column) of what
    /// has one for a workgroup, or (row) of a row scalar to the indices of the
    /// kernel's buffer: the operand's own (row, column), (column) or (row); one
    /// index in all where it has but `Some` row dimensions.
    ::mlir::AffineMap getAccessMap() const;
  }];
}

def LNBwd_OperandFormArrayAttr : TypedArrayAttrBase<LNBwd_OperandFormAttr,
    "array of operand forms, one for each operand">;

def LNBwd_ProductLoopAttr : LNBwd_Attr<"ProductLoop", "product_loop"> {
  let summary = "The trip count of a kernel of a product";
  let description = [{
    `parts` workgroups reduce over `sum` elements (0: the number of rows),
    `step` of them per iteration. Matrix instructions multiply as `multiplied`;
    without it there are none.

    Example:

    ```mlir
    #lnbwd.product_loop<sum = 768, step = 64, parts = 1, multiplied = bf16>
    ```
  }];
  let parameters = (ins "int64_t":$sum, "int64_t":$step, "int64_t":$parts,
                        OptionalParameter<"::mlir::Type">:$multiplied);
  let assemblyFormat = "`<` struct(params) `>`";
}

def LNBwd_KernelInfoAttr : LNBwd_Attr<"KernelInfo", "kernel_info"> {
  let summary = "What a kernel was made of";
  let description = [{
    Stays with a kernel down to LLVM's dialect, as its attribute
    `lnbwd.kernel_info`: the row program's `entry`, its row length and its
    schedule, of a kernel that makes a product its loop, whether its sums are
    canonical, and whether LLVM must sink no instruction to where its result is
    used. The launch plan, code emission and the report ask for them.

    Example:

    ```mlir
    #lnbwd.kernel_info<entry = "layer_norm_bwd", row_length = 1024, schedule = <...>>
    ```
  }];
  let parameters = (ins
    "::mlir::StringAttr":$entry,
    "int64_t":$row_length,
    "ScheduleAttr":$schedule,
    OptionalParameter<"ProductLoopAttr">:$product,
    DefaultValuedParameter<"bool", "false">:$canonical,
    DefaultValuedParameter<"bool", "false">:$no_sinking
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

def LNBwd_ArgumentAttr : LNBwd_Attr<"Argument", "argument"> {
  let summary = "An argument of a function, for its launch plan";
  let description = [{
    The attribute `lnbwd.argument` of an argument. The lowerings add what is
    left out.

    | field | meaning |
    |---|---|
    | `name`, `aliases` | the operand's name; those of the other operands that it is |
    | `kind` | its dimensions, as a launch plan says it: `"row_block"`, `"row_scalar"`, `"column"`, `"group_column"`, ... |
    | `access` | `"read"`, `"write"` or `"read_write"` |
    | `row_rank` | how many dimensions a row has; left out: one |

    Example:

    ```mlir
    #lnbwd.argument<name = "dy", aliases = ["dx"], kind = "row_block", access = "read_write">
    ```
  }];
  let parameters = (ins
    OptionalParameter<"::mlir::StringAttr">:$name,
    OptionalParameter<"::mlir::ArrayAttr">:$aliases,
    OptionalParameter<"::mlir::StringAttr">:$kind,
    OptionalParameter<"::mlir::StringAttr">:$access,
    DefaultValuedParameter<"int64_t", "0">:$row_rank
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// What is noted on argument `number` of `function`; without any field where
    /// nothing is.
    static ArgumentAttr of(::mlir::FunctionOpInterface function,
                           unsigned number);
  }];
}

#endif // LNBWD_DIALECT_LNBWD_IR_LNBWDATTRS_TD
