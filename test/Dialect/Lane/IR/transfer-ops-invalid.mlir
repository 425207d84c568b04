// RUN: lnbwd-opt %s --split-input-file --verify-diagnostics

func.func @f(%b: memref<4xi64>) {
  // expected-error@+1 {{operand #0 must be barriers, a memref of i64 in workgroup memory, of rank 1 and a known size, but got 'memref<4xi64>'}}
  lane.init_byte_barriers %b : memref<4xi64>
  return
}

// -----

func.func @f(%b: memref<?xi64, #gpu.address_space<workgroup>>, %i: index, %phase: i32) {
  // expected-error@+1 {{must be barriers, a memref of i64 in workgroup memory, of rank 1 and a known size}}
  lane.await_bytes %b[%i] phase %phase : memref<?xi64, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f(%b: memref<4xi64, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error@+1 {{attribute 'bytes' failed to satisfy constraint: 32-bit signless integer attribute whose value is positive}}
  lane.expect_bytes %b[%i], 0 : memref<4xi64, #gpu.address_space<workgroup>>
  return
}

// -----

!layout = !lane.layout<row_length = 1000, lanes = 8, groups = 4, width = 4>

func.func @f(%b: memref<4xi64, #gpu.address_space<workgroup>>, %m: memref<8xf32, #gpu.address_space<workgroup>>, %i: index, %s: vector<1xf32>, %layout: !layout) {
  // expected-error@+1 {{failed to verify that workgroups share rows}}
  lane.send_to_peers %s to %m[%i] counted by %b[%i] at %layout : !layout, vector<1xf32>, memref<8xf32, #gpu.address_space<workgroup>>, memref<4xi64, #gpu.address_space<workgroup>>
  return
}

// -----

// expected-error@+1 {{expected at least 2 stages, got 1}}
func.func @f(%s: !lane.stages<1 of f32>) {
  return
}

// -----

// expected-error@+1 {{expected elements of whole bytes, got 'i1'}}
func.func @f(%s: !lane.stages<2 of i1>) {
  return
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 1, width = 8>

func.func @f(%s: !lane.stages<2 of f32, f32>, %a: memref<?x256xf32>, %i: index, %layout: !layout) {
  // expected-error@+1 {{failed to verify that there is a memory for each of the stages' elements, whose rows lie side by side}}
  lane.start_copies %a from %i below %i to %s[%i] at %layout : !layout, !lane.stages<2 of f32, f32>, memref<?x256xf32>
  return
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 1, width = 8>

func.func @f(%s: !lane.stages<2 of f32>, %a: memref<?x256xbf16>, %i: index, %layout: !layout) {
  // expected-error@+1 {{failed to verify that there is a memory for each of the stages' elements, whose rows lie side by side}}
  lane.start_copies %a from %i below %i to %s[%i] at %layout : !layout, !lane.stages<2 of f32>, memref<?x256xbf16>
  return
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 1, width = 8>
!apart = memref<?x256xf32, strided<[512, 1]>>

func.func @f(%s: !lane.stages<2 of f32>, %a: !apart, %i: index, %layout: !layout) {
  // expected-error@+1 {{failed to verify that there is a memory for each of the stages' elements, whose rows lie side by side}}
  lane.start_copies %a from %i below %i to %s[%i] at %layout : !layout, !lane.stages<2 of f32>, !apart
  return
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 1, width = 8>

func.func @f(%s: !lane.stages<2 of f32, f32>, %i: index, %layout: !layout) {
  // expected-error@+1 {{failed to verify that results are a lane's fragments of the rows, or that access of each}}
  %x = lane.receive %i from %s[%i] at %layout : !layout, !lane.stages<2 of f32, f32> -> vector<1x8xf32>
  return
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 1, width = 8>

func.func @f(%s: !lane.stages<2 of f32>, %i: index, %layout: !layout) {
  // expected-error@+1 {{failed to verify that results are a lane's fragments of the rows, or that access of each}}
  %x = lane.receive %i from %s[%i] at %layout : !layout, !lane.stages<2 of f32> -> vector<8xf32>
  return
}

// -----

!layout = !lane.layout<row_length = 1001, lanes = 64, groups = 1, width = 1>

func.func @f(%i: index, %layout: !layout) {
  // expected-error@+1 {{failed to verify that it is said which workgroup of how many it is for where the last tile may be partial}}
  lane.for_rows %tile = %i to %i step %i at %layout attributes {last_row_apart} : !layout {
  }
  return
}
