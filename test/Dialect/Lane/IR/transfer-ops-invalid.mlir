// RUN: lnbwd-opt %s --split-input-file --verify-diagnostics

func.func @f(%b: memref<4xi64>) {
  // expected-error@+1 {{expected barriers to be a memref of i64 in workgroup memory, of rank 1 and a known size, got 'memref<4xi64>'}}
  lane.init_byte_barriers %b : memref<4xi64>
  return
}

// -----

func.func @f(%b: memref<?xi64, #gpu.address_space<workgroup>>, %i: index, %phase: i32) {
  // expected-error@+1 {{expected barriers to be a memref of i64 in workgroup memory, of rank 1 and a known size}}
  lane.await_bytes %b[%i] phase %phase : memref<?xi64, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f(%b: memref<4xi64, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error@+1 {{expected bytes to be at least 1, got 0}}
  lane.expect_bytes %b[%i], 0 : memref<4xi64, #gpu.address_space<workgroup>>
  return
}

// -----

!place = !lane.place<row_length = 1000, lanes = 8, groups = 4, width = 4, columns = 32>

func.func @f(%b: memref<4xi64, #gpu.address_space<workgroup>>, %m: memref<8xf32, #gpu.address_space<workgroup>>, %i: index, %s: vector<1xf32>, %place: !place) {
  // expected-error@+1 {{expected a place whose workgroup has an equal share of the row's columns, got '!lane.place<row_length = 1000, lanes = 8, groups = 4, width = 4, columns = 32>'}}
  lane.send_to_peers %s to %m[%i] counted by %b[%i] at %place : !place, vector<1xf32>, memref<8xf32, #gpu.address_space<workgroup>>, memref<4xi64, #gpu.address_space<workgroup>>
  return
}

// -----

!place = !lane.place<row_length = 1000, lanes = 8, groups = 4, width = 4, columns = 32>

func.func @f(%x: f32, %turn: !lane.turn, %place: !place) {
  // expected-error@+1 {{expected the columns of a workgroup to divide the row, got '!lane.place<row_length = 1000, lanes = 8, groups = 4, width = 4, columns = 32>'}}
  %s = lane.reduce [#vector.kind<add>] %x at %place turn %turn phase 0 : !place, f32 -> f32
  return
}
