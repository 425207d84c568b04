// RUN: lnbwd-opt %s --split-input-file --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_90},gpu.module(gpu.func(lnbwd-split-fragments,lnbwd-convert-lane-to-gpu),canonicalize,cse))' | FileCheck %s

!layout = !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 4>
!memory = memref<?x128xf32, #gpu.address_space<global>>
gpu.module @kernels {
  // What four columns share is loaded once.
  // CHECK-LABEL: gpu.func @repeated
  // CHECK:         %[[CHANNEL:.*]] = arith.divui %{{.*}}, %c16
  // CHECK:         %[[ONE:.*]] = memref.load %{{.*}}[%[[CHANNEL]]] : memref<8xf32,
  // CHECK:         vector.broadcast %[[ONE]] : f32 to vector<4xf32>
  gpu.func @repeated(%g: memref<8xf32, #gpu.address_space<global>>, %y: !memory, %row: index) kernel {
    %layout = lane.layout : !layout
    %view = lane.view %g : memref<8xf32, #gpu.address_space<global>>
        to memref<128xf32, affine_map<(d0) -> (d0 floordiv 16)>, #gpu.address_space<global>>
    %f = lane.load_columns %view at %layout : !layout,
        memref<128xf32, affine_map<(d0) -> (d0 floordiv 16)>, #gpu.address_space<global>> -> vector<1x4xf32>
    lane.store %f, %y[%row] at %layout : !layout, vector<1x4xf32>, !memory
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 4>
!memory = memref<?x128xf32, #gpu.address_space<global>>
gpu.module @kernels {
  // Four columns within 16 lie side by side.
  // CHECK-LABEL: gpu.func @side_by_side
  // CHECK:         %[[PLACE:.*]] = arith.remui %{{.*}}, %c16
  // CHECK:         vector.load %{{.*}}[%[[PLACE]]] {{.*}}: memref<16xf32, {{.*}}, vector<4xf32>
  gpu.func @side_by_side(%g: memref<16xf32, #gpu.address_space<global>>, %y: !memory, %row: index) kernel {
    %layout = lane.layout : !layout
    %view = lane.view %g : memref<16xf32, #gpu.address_space<global>>
        to memref<128xf32, affine_map<(d0) -> (d0 mod 16)>, #gpu.address_space<global>>
    %f = lane.load_columns %view at %layout : !layout,
        memref<128xf32, affine_map<(d0) -> (d0 mod 16)>, #gpu.address_space<global>> -> vector<1x4xf32>
    lane.store %f, %y[%row] at %layout : !layout, vector<1x4xf32>, !memory
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 4>
!memory = memref<?x128xf32, #gpu.address_space<global>>
gpu.module @kernels {
  // Pieces of two, one load of all.
  // CHECK-LABEL: gpu.func @pieces
  // CHECK:         %[[PIECE:.*]] = arith.divui %{{.*}}, %c2
  // CHECK:         %[[PIECES:.*]] = vector.load %{{.*}}[%{{.*}}, %[[PIECE]]] {{.*}}, vector<2xf32>
  // CHECK:         %[[ALL:.*]]:2 = vector.to_elements %[[PIECES]]
  // CHECK:         vector.from_elements %[[ALL]]#0, %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#1
  gpu.func @pieces(%g: memref<?x64xf32, #gpu.address_space<global>>, %y: !memory, %row: index) kernel {
    %layout = lane.layout : !layout
    %view = lane.view %g : memref<?x64xf32, #gpu.address_space<global>>
        to memref<?x128xf32, affine_map<(d0, d1) -> (d0, d1 floordiv 2)>, #gpu.address_space<global>>
    %f = lane.load %view[%row] at %layout : !layout,
        memref<?x128xf32, affine_map<(d0, d1) -> (d0, d1 floordiv 2)>, #gpu.address_space<global>> -> vector<1x4xf32>
    lane.store %f, %y[%row] at %layout : !layout, vector<1x4xf32>, !memory
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 4>
!memory = memref<?x128xf32, #gpu.address_space<global>>
!elements = memref<65536xf32, #gpu.address_space<global>>
!view = memref<?x128xf32, affine_map<(d0, d1) -> (d0 * 63 + d1 floordiv 2)>, #gpu.address_space<global>>
gpu.module @kernels {
  // Pieces of two in rows that begin anywhere: each column by itself.
  // CHECK-LABEL: gpu.func @apart
  // CHECK-COUNT-4: memref.load
  // CHECK:         vector.from_elements
  gpu.func @apart(%g: !elements, %y: !memory, %row: index) kernel {
    %layout = lane.layout : !layout
    %view = lane.view %g : !elements to !view
    %f = lane.load %view[%row] at %layout : !layout, !view -> vector<1x4xf32>
    lane.store %f, %y[%row] at %layout : !layout, vector<1x4xf32>, !memory
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 4>
!memory = memref<?x128xf32, #gpu.address_space<global>>
!blocks = memref<?x4xf32, #gpu.address_space<global>>
gpu.module @kernels {
  // The lane that has the first of 32 columns writes their number.
  // CHECK-LABEL: gpu.func @number_of_a_block
  // CHECK:         %[[PLACE:.*]] = arith.remui %[[COLUMN:.*]], %c32
  // CHECK:         %[[FIRST:.*]] = arith.cmpi eq, %[[PLACE]], %c0
  // CHECK:         scf.if %[[FIRST]] {
  // CHECK:           %[[BLOCK:.*]] = arith.divui %[[COLUMN]], %c32
  // CHECK:           memref.store %{{.*}}, %{{.*}}[%{{.*}}, %[[BLOCK]]]
  gpu.func @number_of_a_block(%x: !memory, %y: !blocks, %row: index) kernel {
    %layout = lane.layout : !layout
    %view = lane.view %y : !blocks
        to memref<?x128xf32, affine_map<(d0, d1) -> (d0, d1 floordiv 32)>, #gpu.address_space<global>>
    %f = lane.load %x[%row] at %layout : !layout, !memory -> vector<1x4xf32>
    lane.store %f, %view[%row] at %layout : !layout, vector<1x4xf32>,
        memref<?x128xf32, affine_map<(d0, d1) -> (d0, d1 floordiv 32)>, #gpu.address_space<global>>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 4>
!memory = memref<?x128xf32, #gpu.address_space<global>>
!pairs = memref<?x64xf32, #gpu.address_space<global>>
!view = memref<?x128xf32, affine_map<(d0, d1) -> (d0, d1 floordiv 2)>, #gpu.address_space<global>>
gpu.module @kernels {
  // The numbers of the blocks of an access lie side by side.
  // CHECK-LABEL: gpu.func @numbers_of_pairs
  // CHECK:         %[[FIRSTS:.*]] = vector.shuffle %{{.*}}, %{{.*}} [0, 2] : vector<4xf32>, vector<4xf32>
  // CHECK:         %[[PAIR:.*]] = arith.divui %{{.*}}, %c2
  // CHECK:         vector.store %[[FIRSTS]], %{{.*}}[%{{.*}}, %[[PAIR]]] {{.*}} vector<2xf32>
  // CHECK-NOT:     memref.store
  gpu.func @numbers_of_pairs(%x: !memory, %y: !pairs, %row: index) kernel {
    %layout = lane.layout : !layout
    %view = lane.view %y : !pairs to !view
    %f = lane.load %x[%row] at %layout : !layout, !memory -> vector<1x4xf32>
    lane.store %f, %view[%row] at %layout : !layout, vector<1x4xf32>, !view
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 4>
!memory = memref<?x128xf32, #gpu.address_space<global>>
!elements = memref<65536xf32, #gpu.address_space<global>>
!view = memref<?x128xf32, affine_map<(d0, d1) -> (d0 * 130 + d1)>, #gpu.address_space<global>>
gpu.module @kernels {
  // Rows of which every other one begins in the middle of an access.
  // CHECK-LABEL: gpu.func @half_aligned
  // CHECK-COUNT-2: vector.load {{.*}}, vector<2xf32>
  // CHECK:         vector.from_elements
  gpu.func @half_aligned(%x: !elements, %y: !memory, %row: index) kernel {
    %layout = lane.layout : !layout
    %view = lane.view %x : !elements to !view
    %f = lane.load %view[%row] at %layout : !layout, !view -> vector<1x4xf32>
    lane.store %f, %y[%row] at %layout : !layout, vector<1x4xf32>, !memory
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 4>
!memory = memref<?x128xf32, #gpu.address_space<global>>
!elements = memref<65536xf32, #gpu.address_space<global>>
!view = memref<?x128xf32, affine_map<(d0, d1) -> (d0 * 131 + d1)>, #gpu.address_space<global>>
gpu.module @kernels {
  // Rows that begin anywhere, and columns that lie apart.
  // CHECK-LABEL: gpu.func @unaligned
  // CHECK-COUNT-4: memref.load
  // CHECK:         vector.from_elements
  gpu.func @unaligned(%x: !elements, %y: !memory, %row: index) kernel {
    %layout = lane.layout : !layout
    %view = lane.view %x : !elements to !view
    %f = lane.load %view[%row] at %layout : !layout, !view -> vector<1x4xf32>
    lane.store %f, %y[%row] at %layout : !layout, vector<1x4xf32>, !memory
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 4>
!memory = memref<?x128xf32, #gpu.address_space<global>>
!elements = memref<65536xf32, #gpu.address_space<global>>
!view = memref<?x128xf32, affine_map<(d0, d1) -> (d0 * 4 + d1 * 8)>, #gpu.address_space<global>>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @strided
  // CHECK-COUNT-4: memref.load
  // CHECK:         vector.from_elements
  gpu.func @strided(%x: !elements, %y: !memory, %row: index) kernel {
    %layout = lane.layout : !layout
    %view = lane.view %x : !elements to !view
    %f = lane.load %view[%row] at %layout : !layout, !view -> vector<1x4xf32>
    lane.store %f, %y[%row] at %layout : !layout, vector<1x4xf32>, !memory
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 4>
!memory = memref<?x128xf32, #gpu.address_space<global>>
!elements = memref<65536xf32, #gpu.address_space<global>>
!view = memref<?x128xf32, affine_map<(d0, d1) -> (d0 * 16 + d1 mod 16 + (d1 floordiv 16) * 512)>, #gpu.address_space<global>>
gpu.module @kernels {
  // Pieces of a row that lie apart, each aligned.
  // CHECK-LABEL: gpu.func @pieces
  // CHECK:         vector.load {{.*}}, vector<4xf32>
  // CHECK-NOT:     vector.from_elements
  gpu.func @pieces(%x: !elements, %y: !memory, %row: index) kernel {
    %layout = lane.layout : !layout
    %view = lane.view %x : !elements to !view
    %f = lane.load %view[%row] at %layout : !layout, !view -> vector<1x4xf32>
    lane.store %f, %y[%row] at %layout : !layout, vector<1x4xf32>, !memory
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 4>
!memory = memref<?x128xf32, #gpu.address_space<global>>
!elements = memref<65536xf32, #gpu.address_space<global>>
!half = memref<?x128xf32, affine_map<(d0, d1) -> (d0 * 130 + d1)>, #gpu.address_space<global>>
!apart = memref<?x128xf32, affine_map<(d0, d1) -> (d0 + d1 * 8)>, #gpu.address_space<global>>
!number = memref<?xf32, affine_map<(d0) -> (d0 * 3)>, #gpu.address_space<global>>
gpu.module @kernels {
  // What is written goes as far together as it is aligned, here from the third
  // row of all on.
  // CHECK-LABEL: gpu.func @written
  // CHECK:         %[[ROW:.*]] = arith.addi %{{.*}}, %c2
  // CHECK:         arith.muli %[[ROW]], %c130
  // CHECK:         vector.shuffle %{{.*}} [0, 1]
  // CHECK:         vector.store {{.*}}, vector<2xf32>
  // CHECK:         vector.shuffle %{{.*}} [2, 3]
  // CHECK:         vector.store {{.*}}, vector<2xf32>
  // CHECK-COUNT-4: memref.store
  // CHECK:         arith.muli %{{.*}}, %c3
  // CHECK:         memref.store
  gpu.func @written(%x: !memory, %y: !elements, %row: index, %s: f32) kernel {
    %layout = lane.layout : !layout
    %first = arith.constant 2 : index
    %f = lane.load %x[%row] at %layout : !layout, !memory -> vector<1x4xf32>
    %half = lane.view %y from %first : !elements to !half
    lane.store %f, %half[%row] at %layout : !layout, vector<1x4xf32>, !half
    %apart = lane.view %y : !elements to !apart
    lane.store %f, %apart[%row] at %layout : !layout, vector<1x4xf32>, !apart
    %number = lane.view %y : !elements to !number
    lane.store_scalar %s, %number[%row] at %layout : !layout, !number
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 4>
!memory = memref<?x128xf32, #gpu.address_space<global>>
!elements = memref<65536xf32, #gpu.address_space<global>>
!view = memref<?x128xf32, affine_map<(d0, d1) -> (d0 * 128 + (d1 floordiv 32) * 32 + (((d1 floordiv 16) mod 2 + 1) mod 2) * 16 + d1 mod 16)>, #gpu.address_space<global>>
gpu.module @kernels {
  // Halves of 32 columns in the place of each other: four columns are of one.
  // CHECK-LABEL: gpu.func @halves
  // CHECK:         vector.load {{.*}}, vector<4xf32>
  // CHECK-NOT:     memref.load
  gpu.func @halves(%x: !elements, %y: !memory, %row: index) kernel {
    %layout = lane.layout : !layout
    %view = lane.view %x : !elements to !view
    %f = lane.load %view[%row] at %layout : !layout, !view -> vector<1x4xf32>
    lane.store %f, %y[%row] at %layout : !layout, vector<1x4xf32>, !memory
    gpu.return
  }
}
