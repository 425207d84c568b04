// RUN: lnbwd-opt %s --split-input-file --verify-diagnostics

// Attributes of this dialect on other operations, each with a value that it
// cannot have, or where it does not belong.

// expected-error@+1 {{expected kind to be a kind of operand, such as "row_block", "row_scalar", "column" or "group_column", got "rowblock"}}
func.func private @f(memref<?x8xf32> {lnbwd.argument = #lnbwd.argument<kind = "rowblock">})

// -----

// expected-error@+1 {{'func.func' op expected lnbwd.argument of argument 1 to be as in #lnbwd.argument<name = "x">, got "row_block"}}
func.func private @f(memref<?x8xf32>, memref<?x8xf32> {lnbwd.argument = "row_block"})

// -----

// expected-error@+1 {{expected access to be "read", "write" or "read_write", got "readwrite"}}
func.func private @f(memref<?x8xf32> {lnbwd.argument = #lnbwd.argument<access = "readwrite">})

// -----

// expected-error@+1 {{expected name to be a name, got ""}}
func.func private @f(memref<?x8xf32> {lnbwd.argument = #lnbwd.argument<name = "">})

// -----

// expected-error@+1 {{expected aliases to be names, an array of strings, got ["a", 1]}}
func.func private @f(memref<?x8xf32> {lnbwd.argument = #lnbwd.argument<aliases = ["a", 1]>})

// -----

// expected-error@+1 {{expected row_rank to be at least 1, got -1}}
func.func private @f(memref<?x8xf32> {lnbwd.argument = #lnbwd.argument<row_rank = -1>})

// -----

// expected-error@+1 {{expected row_rank of argument 0 to be at most 2, the dimensions of 'memref<?x8xf32>', got 3}}
func.func private @f(memref<?x8xf32> {lnbwd.argument = #lnbwd.argument<row_rank = 3>})

// -----

// expected-error@+1 {{unknown attribute 'lnbwd.role', expected one of lnbwd.operation, lnbwd.kernel_info, lnbwd.rejected_schedules, lnbwd.row_scalar, lnbwd.detach on an operation, or lnbwd.argument on an argument}}
func.func private @f(memref<?x8xf32> {lnbwd.role = "row_block"})

// -----

// expected-error@+1 {{expected lnbwd.detach on an operation, got it on an argument}}
func.func private @f(memref<?x8xf32> {lnbwd.detach})

// -----

// expected-error@+1 {{expected lnbwd.argument on an argument of a function, got it on a result}}
func.func private @f() -> (tensor<?x8xf32> {lnbwd.argument = #lnbwd.argument<kind = "row_block">})

// -----

// expected-error@+1 {{expected lnbwd.argument on an argument of a function, got it on an operation}}
func.func private @f(memref<?x8xf32>) attributes {lnbwd.argument = #lnbwd.argument<kind = "row_block">}

// -----

// expected-error@+1 {{unknown attribute 'lnbwd.opration'}}
func.func private @f(memref<?x8xf32>) attributes {lnbwd.opration = 1}

// -----

// expected-error@+1 {{expected lnbwd.kernel_info to be as in #lnbwd.kernel_info<entry = "k", row_length = 1024, schedule = <...>>, got "k"}}
func.func private @f(memref<?x8xf32>) attributes {lnbwd.kernel_info = "k"}

// -----

// expected-error@+1 {{'builtin.module' op expected lnbwd.rejected_schedules to be a dictionary of arrays of #lnbwd.schedule<...>, got {k = [1]}}}
module attributes {lnbwd.rejected_schedules = {k = [1]}} {
}

// -----

// expected-error@+1 {{expected lnbwd.rejected_schedules on a module; leave it out here}}
func.func private @f() attributes {lnbwd.rejected_schedules = {}}

// -----

func.func @f(%m: index) {
  // expected-error@+1 {{'memref.alloc' op expected lnbwd.row_scalar to be without a value, or the number of its parts, 64-bit, at least 1, got false}}
  %0 = memref.alloc(%m) {lnbwd.row_scalar = false} : memref<?xf32>
  return
}

// -----

func.func @f(%a: f32) -> f32 {
  // expected-error@+1 {{'arith.negf' op expected lnbwd.detach to be without a value, got "no"}}
  %0 = arith.negf %a {lnbwd.detach = "no"} : f32
  return %0 : f32
}

// -----

// expected-error@+1 {{expected lnbwd.operation to be as in #lnbwd.operation<name = "...", epsilon = 1.0e-5 : f64>, or the programs of a launch plan, a string with an array of JSON, got "{}"}}
func.func private @f() attributes {lnbwd.operation = "{}"}
