//===- Passes.td - Passes over row programs ----------------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes the passes, in the order in which the pipeline runs them; then what
// takes row programs with matrices apart. Their products become kernels as row
// programs do, by lnbwd-distribute-rows (Conversion/Passes.td).
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TRANSFORMS_PASSES_TD
#define LNBWD_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DifferentiatePass : Pass<"lnbwd-differentiate", "::mlir::ModuleOp"> {
  let summary = "Derive the gradient of a forward pass";
  let description = [{
    Each function holds one forward operation: a named one, such as
    `lnbwd.layer_norm`, or a `lnbwd.rowwise` without outer sums. In its place comes a function `<name>_bwd` on memrefs with the
    gradient, a row program. Operands are named after the forward ones: `dy` is
    the adjoint of `y`, a row output, and `dx` the gradient with respect to `x`,
    an input, in the type of `x`; that of a matrix is an outer sum.

    The gradient takes the adjoints of the forward outputs, what it needs of the
    forward inputs, and the *saved* forward outputs; everything else is computed
    again. Named operations (and functions that state one in `lnbwd.operation`)
    save their statistics, `mean` and `rstd`; a row program saves nothing,
    unless `saved` says otherwise. Each output except saved row scalars has an
    adjoint, unless `of` names the outputs. That of a maximum over rows is shared by
    the elements that equal it, which a program of its own counts. It is an error
    if no output with an adjoint is left. An operation with the attribute `lnbwd.detach` counts as a
    constant.

    Adjoints are float32. Fails, naming the operation, on f64 arithmetic that a
    gradient goes through, and on operations that have no derivative here:
    docs/math.md lists those that have one, with what is taken at a kink.

    `simplify` rewrites the result as `lnbwd-simplify-row-algebra` does. The
    gradient of a named operation notes in `lnbwd.operation` which named
    gradient it is, if there is one.

    Before:

    ```mlir
    func.func @f(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
      lnbwd.rowwise @square domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>)
          attributes {operand_names = ["x", "y"]} {
      ^row(%xr: vector<512xf32>):
        %yr = arith.mulf %xr, %xr : vector<512xf32>
        lnbwd.yield %yr : vector<512xf32>
      }
      return
    }
    ```

    After:

    ```mlir
    func.func @f_bwd(%dy: memref<?x512xf32>, %x: memref<?x512xf32>, %dx: memref<?x512xf32>) {
      lnbwd.rowwise @square_bwd domain(m | n) ins(%dy[m, n] : memref<?x512xf32>, %x[m, n] : memref<?x512xf32>)
          outs(%dx[m, n] : memref<?x512xf32>) attributes {operand_names = ["dy", "x", "dx"]} {
      ^row(%dyr: vector<512xf32>, %xr: vector<512xf32>):
        %two = arith.constant dense<2.0> : vector<512xf32>
        %twice = arith.mulf %dyr, %two : vector<512xf32>
        %dxr = arith.mulf %xr, %twice : vector<512xf32>
        lnbwd.yield %dxr : vector<512xf32>
      }
      return
    }
    ```
  }];
  let options = [
    ListOption<"wrt", "wrt", "std::string",
               "Names of the inputs that gradients are wanted of; all if none is "
               "named">,
    ListOption<"of", "of", "std::string",
               "Names of the forward outputs that the loss depends on; by "
               "default all but row scalars that are saved">,
    ListOption<"saved", "saved", "std::string",
               "Names of the forward outputs that the gradient is given, or "
               "'none'; by default the statistics of a named operation, and "
               "nothing of a row program that somebody wrote">,
    Option<"simplify", "simplify", "bool", "true",
           "Simplify the gradient with the algebra of row sums">,
  ];
  let statistics = [
    Statistic<"numDifferentiated", "differentiated", "Forward passes derived">,
  ];
}

def SimplifyRowAlgebraPass : Pass<"lnbwd-simplify-row-algebra"> {
  let summary = "Rewrite row programs with the algebra of sums over a row";
  let description = [{
    What `lnbwd-differentiate` does to its results, as a pass of its own. Each
    value is read as a sum of monomials with row sums as atoms, so that equal
    expressions are one: a scalar factor leaves a row sum, the sum of
    `x - mean(x)` is 0, and that of the squares of a normalised row is
    `(1 - eps rstd^2) N`. Sums that are factors are not multiplied out. The
    program is then written anew, with sums of products as fused multiply-adds,
    and takes the place of the old one if it costs less; otherwise that stays as
    it is. docs/math.md has the form, the choice of what is computed once,
    and why this ends. Float32 numbers are treated as real ones, so results may
    round otherwise; infinities and NaNs may vanish.

    Before:

    ```mlir
    %sv = vector.broadcast %s : f32 to vector<512xf32>
    %t = arith.mulf %x, %sv : vector<512xf32>
    %r = vector.reduction <add>, %t : vector<512xf32> into f32
    ```

    After:

    ```mlir
    %0 = vector.reduction <add>, %x : vector<512xf32> into f32
    %r = arith.mulf %0, %s fastmath<contract> : f32
    ```
  }];
  let statistics = [
    Statistic<"numSimplified", "simplified", "Row programs simplified">,
  ];
}

def FixOrderPass : Pass<"lnbwd-fix-order", "::mlir::ModuleOp"> {
  let summary = "Fix the order of additions, whatever the schedule and the chip";
  let description = [{
    Marks the programs as `canonical`, which later passes keep to
    (docs/numerics.md), and fixes where row programs round: a product
    with `contract` that only an addition with `contract` uses becomes a fused
    multiply-add with it; all flags are dropped, so that nothing else is fused.
    Fails on products of matrices, whose sums have no such order.

    Before:

    ```mlir
    %p = arith.mulf %a, %b fastmath<contract> : vector<64xf32>
    %r = arith.addf %p, %c fastmath<contract> : vector<64xf32>
    ```

    After, in a program that is `canonical`:

    ```mlir
    %r = math.fma %a, %b, %c : vector<64xf32>
    ```
  }];
  let options = [
    Option<"order", "order", "std::string", "\"canonical\"",
           "The order: canonical">,
  ];
  let statistics = [
    Statistic<"numFused", "fused", "Multiply-adds written out">,
  ];
}

def LowerToRowwisePass : Pass<"lnbwd-lower-to-rowwise"> {
  let summary = "Lower named operations to row programs";
  let description = [{
    Replaces each named operation by a `lnbwd.rowwise` with the same operands,
    whose region spells out the formula of one row. Works on tensors and on
    memrefs; afterwards no named operation is left. A function with one named
    operation notes in `lnbwd.operation` which one it was, for the launch plan;
    the pass fails only where that attribute is there already and says
    something else.

    Before:

    ```mlir
    lnbwd.layer_norm_bwd dy(%dy : memref<?x512xf32>) x(%x : memref<?x512xf32>)
        mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
        outs dbeta(%dbeta : memref<512xf32>)
    ```

    After (and canonicalisation):

    ```mlir
    lnbwd.rowwise @layer_norm_bwd domain(m | n) ins(%dy[m, n] : memref<?x512xf32>)
        outs(%dbeta[n] add : memref<512xf32>)
        attributes {operand_names = ["dy", "dbeta"]} {
    ^bb0(%dy: vector<512xf32>):
      lnbwd.yield %dy : vector<512xf32>
    }
    ```
  }];
  let options = [
    Option<"textbook", "textbook", "bool", "false",
           "Compute LayerNorm's variance without correcting the mean's rounding, "
           "as textbooks do: what lnbwd-differentiate starts from">,
  ];
  let statistics = [Statistic<"numLowered", "lowered", "Named operations lowered">];
}

def DropArgumentResultsPass
    : Pass<"lnbwd-drop-argument-results", "::mlir::ModuleOp"> {
  let summary = "Drop results of functions that are arguments of theirs";
  let description = [{
    A function on tensors that is given its outputs, and returns them, returns
    after bufferization what its caller passed. Such results go, so that they do
    not become further arguments, with a copy to each. Upstream's
    `drop-equivalent-buffer-results` does the same for private functions alone.
    Functions that are called or referred to in the module are left alone.

    Before:

    ```mlir
    func.func @f(%x: memref<?x512xf32>, %dx: memref<?x512xf32>) -> memref<?x512xf32> {
      lnbwd.rowwise ...
      return %dx : memref<?x512xf32>
    }
    ```

    After:

    ```mlir
    func.func @f(%x: memref<?x512xf32>, %dx: memref<?x512xf32>) {
      lnbwd.rowwise ...
      return
    }
    ```
  }];
  let statistics = [Statistic<"numDropped", "dropped", "Results dropped">];
}

def SetChipPass : Pass<"lnbwd-set-chip", "::mlir::ModuleOp"> {
  let summary = "Say which chip a module is compiled for";
  let description = [{
    Sets upstream's `dlti.target_system_spec` of the module: the chip with its
    settings, as the option has it. All later passes read it there. A module
    that has another target is an error, and so is a module in it, whose
    functions no pass would compile.

    Before:

    ```mlir
    module {...}
    ```

    After, for `chip=NAME`:

    ```mlir
    module attributes {dlti.target_system_spec = #dlti.target_system_spec<
        "GPU" = #dlti.target_device_spec<"chip" = "NAME">>} {...}
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", "",
           "Chip to compile for; an unknown name is an error that lists the "
           "known ones">,
  ];
  let dependentDialects = ["::mlir::DLTIDialect"];
}

def SplitTwoPassPass : Pass<"lnbwd-split-two-pass"> {
  let summary = "Split a row program into its row outputs and its column sums";
  let description = [{
    The textbook's two passes: one row program that keeps the row blocks and row
    scalars, one that keeps the column sums. Each reads what it needs, so that
    rows are read twice; a program that fits the registers of a workgroup is
    faster whole. The columns come first, so that rows may be written over rows
    that both passes read. Row sums that the columns need (statistics that were
    not saved) are taken out first, into a third program `<name>_statistics`
    that leaves them in allocations of one number for each row: a pass over
    columns holds no whole row. A program with column sums alone is split only
    there. The rows read nothing that the columns write (`independent`):
    where a launch need not wait, they are worked on at the same time. Expects
    memrefs and no schedule yet. A program that reads no row block stays as it
    is.

    `mode`: `auto` splits the programs that no schedule can run whole on the
    chip, and those of few rows that were measured to take less time so, unless
    `schedule` sets fields; `always` splits every program that has both kinds of
    output, or column sums that need row sums; `never` leaves all as they are.

    Before:

    ```mlir
    lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>)
        outs(%y[m, n] : memref<?x512xf32>, %s[n] add : memref<512xf32>) {...}
    ```

    After:

    ```mlir
    lnbwd.rowwise @k_columns domain(m | n) ins(%x[m, n] : memref<?x512xf32>)
        outs(%s[n] add : memref<512xf32>) {...}
    lnbwd.rowwise @k_rows domain(m | n) ins(%x[m, n] : memref<?x512xf32>)
        outs(%y[m, n] : memref<?x512xf32>) {...}
    ```
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"auto\"",
           "When to split: auto, always or never">,
    Option<"schedule", "schedule", "std::string", "",
           "Fields that are set by hand: those of a whole program">,
    Option<"rows", "rows", "int64_t", "0",
           "Number of rows where the types do not say it; 0: not known">,
  ];
  let statistics = [Statistic<"numSplit", "split", "Row programs split">];
}

def SelectSchedulePass : Pass<"lnbwd-select-schedule"> {
  let summary = "Choose the schedule of each row program";
  let description = [{
    Gives each `lnbwd.rowwise` that has none a `#lnbwd.schedule` for the
    module's chip. `schedule` overrides single fields of the choice,
    `field=value` separated by commas; some fields follow from the others where
    it does not set them. A schedule that the module's attribute
    `lnbwd.rejected_schedules` has for the program's entry is not chosen: code
    emission has found that its kernel spills. A schedule that cannot run is an
    error that names the limit: threads, registers or shared memory. A schedule
    that is there already is checked and kept.

    The best schedule depends on the number of rows, M. Where the types do not
    say it, `rows` does, so that a program for any M is scheduled as one for
    that M would be.

    Before:

    ```mlir
    lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>)
        outs(%y[m, n] : memref<?x512xf32>) {...}
    ```

    After:

    ```mlir
    lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>)
        outs(%y[m, n] : memref<?x512xf32>)
        attributes {schedule = #lnbwd.schedule<threads_per_row = 64, ...>} {...}
    ```
  }];
  let options = [
    Option<"schedule", "schedule", "std::string", "",
           "Fields to set by hand, e.g. threads_per_row=64,row_groups=4; the "
           "fields are those of #lnbwd.schedule">,
    Option<"reproducible", "reproducible", "bool", "false",
           "Give programs with column sums a grid that depends on M alone, so "
           "that these have the same bits on devices with other numbers of "
           "compute units">,
    Option<"rows", "rows", "int64_t", "0",
           "Number of rows to choose schedules for where the types do not say "
           "it; 0: as many as move 128 MiB">,
    Option<"candidates", "candidates", "int64_t", "0",
           "So many of the schedules that the learned model finds best are named "
           "in remarks, with the microseconds that it predicts">,
  ];
  let statistics = [
    Statistic<"numSelected", "selected", "Schedules chosen by the learned model">,
  ];
}

def PrintScheduleFeaturesPass : Pass<"lnbwd-print-schedule-features"> {
  let summary = "Print what the model of schedules sees of some schedules";
  let description = [{
    Prints a line of numbers, separated by commas, for each `lnbwd.rowwise` and
    each line of the file `schedules`, which sets fields as the option
    `schedule` of `lnbwd-select-schedule` does. The first line names them:
    the least time in microseconds in which the memory moves all rows, that of a
    launch, then the features of `ScheduleFeatures.def`. The operations stay as
    they are.
  }];
  let options = [
    Option<"schedules", "schedules", "std::string", "",
           "A file with a schedule a line, as threads_per_row=64,row_groups=4">,
    Option<"rows", "rows", "int64_t", "0",
           "Number of rows where the types do not say it; 0: as many as move "
           "128 MiB">,
  ];
}

def SplitRowSumsPass : Pass<"lnbwd-split-row-sums"> {
  let summary = "Split row sums into partial sums of several workgroups (split-row reduction)";
  let description = [{
    A kernel whose workgroups hold whole rows fills a chip only if there are at
    least as many rows as workgroups. Of a program whose schedule has
    `row_splits` S, the row sums are computed before, in programs of their own:
    S workgroups share each row, and each writes the partial sums of its columns
    to buffers of S float32 numbers for each row. The remaining program has no
    row sums, so that its workgroups are distributed over columns instead of
    rows; it adds up the partial sums in order, so that every run gives the same
    bits. If one workgroup has all rows of its columns (`rows_per_workgroup` 0),
    column sums need no partial ones.

    Row sums that depend on others, as a variance depends on the mean, get a
    program after that of the others: `<name>_row_sums`, `<name>_row_sums_1` and
    so on. Each of them reads the inputs once more, from the last-level cache if
    they fit.

    Expects memrefs and schedules. The other fields of the schedule are those of
    the remaining program; the schedule of the row-sum programs follows from S.

    Before:

    ```mlir
    lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x65536xf32>)
        outs(%y[m, n] : memref<?x65536xf32>)
        attributes {schedule = #lnbwd.schedule<..., column_tile = 128, row_splits = 8>} {
    ^row(%xr: vector<65536xf32>):
      %s = vector.reduction <add>, %xr : vector<65536xf32> into f32
      %v = vector.broadcast %s : f32 to vector<65536xf32>
      %yr = arith.subf %xr, %v : vector<65536xf32>
      lnbwd.yield %yr : vector<65536xf32>
    }
    ```

    After:

    ```mlir
    %sums = memref.alloc(%m) {lnbwd.row_scalar = 8} : memref<?x8xf32>
    lnbwd.rowwise @k_row_sums domain(m | n) ins(%x[m, n] : memref<?x65536xf32>)
        outs(%sums[m, *] : memref<?x8xf32>)
        attributes {schedule = #lnbwd.schedule<..., column_tile = 8192>} {
    ^row(%xr: vector<65536xf32>):
      %s = vector.reduction <add>, %xr : vector<65536xf32> into f32
      lnbwd.yield %s : f32
    }
    lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x65536xf32>, %sums[m, *] : memref<?x8xf32>)
        outs(%y[m, n] : memref<?x65536xf32>)
        attributes {schedule = #lnbwd.schedule<..., column_tile = 128>} {
    ^row(%xr: vector<65536xf32>, %s: f32):
      %v = vector.broadcast %s : f32 to vector<65536xf32>
      %yr = arith.subf %xr, %v : vector<65536xf32>
      lnbwd.yield %yr : vector<65536xf32>
    }
    memref.dealloc %sums : memref<?x8xf32>
    ```
  }];
  let statistics = [
    Statistic<"numSplit", "split", "Row programs split">,
    Statistic<"numPrograms", "programs", "Programs of row sums created">,
  ];
}

def FinalizeColumnSumsPass : Pass<"lnbwd-finalize-column-sums"> {
  let summary = "Turn column sums into partial sums and a program that adds them";
  let description = [{
    Workgroups cannot add to one column sum without atomics, which would make
    the order, and so the result, change from run to run. Each workgroup writes
    its own row of float32 partial sums instead, and a second row program, whose
    rows are those partial sums, adds them in a fixed order. Expects schedules
    and memrefs; a program that one workgroup runs needs no partial sums and is
    left alone.

    The partial sums of a group sum lie group by group, in an allocation
    `[B, W, N]` for W workgroups a group; the program that adds them, named
    `<entry>_finalize_groups`, has them as B groups of W rows and one workgroup
    for each. A column sum of a program with groups has a partial sum of each of
    the B W workgroups.

    A product of matrices that sums over the rows (`lhs_transposed`) has few
    tiles where its result is small. It is then taken apart into as many as 16
    parts of the sum (split-K), until there are four workgroups for each compute
    unit: the program `<entry>_finalize`, whose rows are the parts, adds them in
    their order.

    Before:

    ```mlir
    lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xbf16>)
        outs(%s[n] add : memref<512xbf16>)
        attributes {schedule = #lnbwd.schedule<...>} {...}
    ```

    After:

    ```mlir
    %m = lnbwd.row_count %x : memref<?x512xbf16>
    %w = lnbwd.workgroup_count %m schedule <...>
    %p = memref.alloc(%w) : memref<?x512xf32>
    lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xbf16>)
        outs(%p[*, n] add : memref<?x512xf32>)
        attributes {schedule = #lnbwd.schedule<...>} {...}
    lnbwd.rowwise @k_finalize domain(m | n) ins(%p[m, n] : memref<?x512xf32>)
        outs(%s[n] add : memref<512xbf16>)
        attributes {schedule = #lnbwd.schedule<..., rows_per_workgroup = 0, ...>} {
    ^bb0(%r: vector<512xf32>):
      lnbwd.yield %r : vector<512xf32>
    }
    memref.dealloc %p : memref<?x512xf32>
    ```
  }];
  let statistics = [
    Statistic<"numFinalized", "finalized",
              "Row programs and products given partial sums">,
  ];
}

def SplitSumsPass : Pass<"lnbwd-split-sums"> {
  let summary = "Combine in programs of their own what is no column sum";
  let description = [{
    An output without column dimensions that is combined over rows, `[] add` or
    `[b] max`, becomes a row scalar in an allocation of one number for each row,
    and a column sum or group sum of a second program, `<name>_sum` or
    `<name>_sum_groups`, whose rows are those numbers.

    An output that has row dimensions without the first, `[t, n] add`, or lacks
    column dimensions, `[g, c] max`, becomes a row block or row scalar as well:
    `<name>_sum_1_3_rows` combines it over the dimensions after those from 1 to
    before 3, if there are some, and `<name>_sum_1_3` over those before. Expects
    memrefs and no schedule.

    Before:

    ```mlir
    lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%s[] max : memref<f32>) {...}
    ```

    After:

    ```mlir
    lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%r[m] : memref<?xf32>) {...}
    lnbwd.rowwise @k_sum domain(m | n) ins(%terms[m, n] : memref<?x1xf32>) outs(%all[n] max : memref<1xf32>) {...}
    ```
  }];
  let statistics = [Statistic<"numSplit", "split", "Row programs split">];
}

//===----------------------------------------------------------------------===//
// Products of matrices
//===----------------------------------------------------------------------===//

def SplitContractionsPass : Pass<"lnbwd-split-contractions"> {
  let summary = "Take products of matrices out of row programs";
  let description = [{
    A row program with matrices or outer sums becomes programs of one product
    each, and programs without any: those that make the rows which are
    multiplied (`<entry>_rows_0`), those that make row sums which programs of
    another row length need (`<entry>_row_sum_0`), and one for each row length
    among the outputs (`<entry>_of_64`, where there are several). An elementwise
    one that makes one row block and alone reads a product has that product in
    its region ([after a product](../row-programs.md#after-a-product)); others
    are `<entry>_matmul_0`. A program that is one product already stays as it
    is. A program that computes rows also writes the row scalars that it
    computes for them, such as statistics. Between the programs are allocations
    of one row, or one number, for each row. If an outer sum is more than one
    outer product, a further program over the rows of the matrix adds and rounds
    them.

    Expects memrefs and no schedule. Fails on row blocks that have more than two
    dimensions, on outer sums that accumulate, and on outputs that are inputs as
    well.

    Before:

    ```mlir
    lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<96x64xf32>)
        outs(%y[m, n1] : memref<?x96xf32>) {
    ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
      %z = math.tanh %xr : vector<64xf32>
      %p = lnbwd.linear %z, %wm : vector<64xf32>, vector<96x64xf32>
      %yr = math.exp %p : vector<96xf32>
      lnbwd.yield %yr : vector<96xf32>
    }
    ```

    After:

    ```mlir
    %m = lnbwd.row_count %x : memref<?x64xf32>
    %z = memref.alloc(%m) : memref<?x64xf32>
    lnbwd.rowwise @k_rows_0 domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%z[m, n] : memref<?x64xf32>) {
    ^row(%xr: vector<64xf32>):
      %zr = math.tanh %xr : vector<64xf32>
      lnbwd.yield %zr : vector<64xf32>
    }
    lnbwd.rowwise @k domain(m | n0, n1) ins(%z[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<96x64xf32>)
        outs(%y[m, n1] : memref<?x96xf32>) {
    ^row(%zr: vector<64xf32>, %wm: vector<96x64xf32>):
      %p = lnbwd.linear %zr, %wm : vector<64xf32>, vector<96x64xf32>
      %yr = math.exp %p : vector<96xf32>
      lnbwd.yield %yr : vector<96xf32>
    }
    memref.dealloc %z : memref<?x64xf32>
    ```
  }];
  let statistics = [
    Statistic<"numSplit", "split", "Row programs split">,
    Statistic<"numProducts", "products", "Products taken out">,
  ];
}

#endif // LNBWD_TRANSFORMS_PASSES_TD
