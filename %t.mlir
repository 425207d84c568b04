module {
  func.func @kinds(%arg0: memref<?x?x8xbf16>, %arg1: memref<?x?x8xi8>, %arg2: memref<8xf32>, %arg3: memref<?x8xf32>, %arg4: memref<?x?xf32>, %arg5: memref<?x?x8xbf16>, %arg6: memref<?x?xf32>, %arg7: memref<8xf32>, %arg8: memref<?x8xf32>) attributes {lnbwd.program = "[{\22accumulate\22:true,\22inputs\22:[{\22argument\22:0,\22kind\22:\22row_block\22,\22type\22:\228xbf16\22},{\22argument\22:1,\22kind\22:\22row_block\22,\22type\22:\228xi8\22},{\22argument\22:2,\22kind\22:\22column\22,\22type\22:\228xf32\22},{\22argument\22:3,\22kind\22:\22group_column\22,\22type\22:\228xf32\22},{\22argument\22:4,\22kind\22:\22row_scalar\22,\22type\22:\22f32\22}],\22name\22:\22k\22,\22operations\22:[[\22arith.constant\22,\228xi8\22,{\22value\22:0}],[\22arith.constant\22,\228xf32\22,{\22value\22:\22-inf\22}],[\22arith.extf\22,\228xf32\22,0],[\22arith.cmpi\22,\228xi1\22,1,5,{\22predicate\22:\22ne\22}],[\22arith.select\22,\228xf32\22,8,7,6],[\22vector.reduction\22,\22f32\22,9,{\22kind\22:\22maximumf\22}],[\22math.exp\22,\228xf32\22,3,{\22approximate\22:true}],[\22vector.fma\22,\228xf32\22,2,11,7],[\22arith.addf\22,\22f32\22,10,4],[\22arith.truncf\22,\228xbf16\22,12]],\22outputs\22:[{\22argument\22:5,\22kind\22:\22row_block\22,\22type\22:\228xbf16\22,\22value\22:14},{\22argument\22:6,\22kind\22:\22row_scalar\22,\22type\22:\22f32\22,\22value\22:13},{\22argument\22:7,\22kind\22:\22column\22,\22type\22:\228xf32\22,\22value\22:12},{\22argument\22:8,\22kind\22:\22group_column\22,\22type\22:\228xf32\22,\22value\22:11}]}]"} {
    lnbwd.rowwise @k domain(m0, m1 | n) ins(%arg0[m0, m1, n] : memref<?x?x8xbf16>, %arg1[m0, m1, n] : memref<?x?x8xi8>, %arg2[n] : memref<8xf32>, %arg3[m0, n] : memref<?x8xf32>, %arg4[m0, m1] : memref<?x?xf32>) outs(%arg5[m0, m1, n] : memref<?x?x8xbf16>, %arg6[m0, m1] : memref<?x?xf32>, %arg7[n] add : memref<8xf32>, %arg8[m0, n] add : memref<?x8xf32>) attributes {accumulate} {
    ^bb0(%arg9: vector<8xbf16>, %arg10: vector<8xi8>, %arg11: vector<8xf32>, %arg12: vector<8xf32>, %arg13: f32):
      %cst = arith.constant dense<0> : vector<8xi8>
      %cst_0 = arith.constant dense<0xFF800000> : vector<8xf32>
      %0 = arith.extf %arg9 : vector<8xbf16> to vector<8xf32>
      %1 = arith.cmpi ne, %arg10, %cst : vector<8xi8>
      %2 = arith.select %1, %0, %cst_0 : vector<8xi1>, vector<8xf32>
      %3 = vector.reduction <maximumf>, %2 : vector<8xf32> into f32
      %4 = math.exp %arg12 fastmath<afn> : vector<8xf32>
      %5 = vector.fma %arg11, %4, %0 : vector<8xf32>
      %6 = arith.addf %3, %arg13 : f32
      %7 = arith.truncf %5 : vector<8xf32> to vector<8xbf16>
      lnbwd.yield %7, %6, %5, %4 : vector<8xbf16>, f32, vector<8xf32>, vector<8xf32>
    }
    return
  }
}

// -----
module {
  func.func @chain(%arg0: memref<4x8xf32>, %arg1: memref<6x8xf32>, %arg2: memref<6x8xf32>) attributes {lnbwd.program = "[{\22inputs\22:[{\22argument\22:0,\22kind\22:\22row_block\22,\22type\22:\228xf32\22},{\22argument\22:1,\22kind\22:\22column\22,\22type\22:\226x8xf32\22}],\22name\22:\22first\22,\22operations\22:[[\22lnbwd.linear\22,\226xf32\22,0,1]],\22outputs\22:[{\22buffer\22:0,\22kind\22:\22row_block\22,\22type\22:\226xf32\22,\22value\22:2}]},{\22inputs\22:[{\22buffer\22:0,\22kind\22:\22row_block\22,\22type\22:\226xf32\22},{\22argument\22:0,\22kind\22:\22row_block\22,\22type\22:\228xf32\22}],\22name\22:\22second\22,\22operations\22:[[\22vector.outerproduct\22,\226x8xf32\22,0,1]],\22outputs\22:[{\22argument\22:2,\22kind\22:\22column\22,\22type\22:\226x8xf32\22,\22value\22:2}]}]"} {
    %alloc = memref.alloc() : memref<4x6xf32>
    lnbwd.rowwise @first domain(m | n0, n1) ins(%arg0[m, n0] : memref<4x8xf32>, %arg1[n1, n0] : memref<6x8xf32>) outs(%alloc[m, n1] : memref<4x6xf32>) {
    ^bb0(%arg3: vector<8xf32>, %arg4: vector<6x8xf32>):
      %0 = lnbwd.linear %arg3, %arg4 : vector<8xf32>, vector<6x8xf32>
      lnbwd.yield %0 : vector<6xf32>
    }
    lnbwd.rowwise @second domain(m | n0, n1) ins(%alloc[m, n0] : memref<4x6xf32>, %arg0[m, n1] : memref<4x8xf32>) outs(%arg2[n0, n1] add : memref<6x8xf32>) {
    ^bb0(%arg3: vector<6xf32>, %arg4: vector<8xf32>):
      %0 = vector.outerproduct %arg3, %arg4 : vector<6xf32>, vector<8xf32>
      lnbwd.yield %0 : vector<6x8xf32>
    }
    memref.dealloc %alloc : memref<4x6xf32>
    return
  }
}

// -----
module {
  func.func @product(%arg0: memref<?x64xf32>, %arg1: memref<64x64xf32>, %arg2: memref<?x64xf32>) attributes {lnbwd.program = "[{\22unsupported\22:\22lnbwd.product\22}]"} {
    lnbwd.product @p lhs(%arg0 : memref<?x64xf32>) rhs(%arg1 : memref<64x64xf32>) outs(%arg2 : memref<?x64xf32>) attributes {rhs_transposed}
    return
  }
}

// -----
module {
  func.func @partial(%arg0: memref<?x8xf32>, %arg1: memref<?x8xf32>) attributes {lnbwd.program = "[{\22unsupported\22:\22partial sums\22}]"} {
    lnbwd.rowwise @k domain(m | n) ins(%arg0[m, n] : memref<?x8xf32>) outs(%arg1[*, n] add : memref<?x8xf32>) {
    ^bb0(%arg2: vector<8xf32>):
      lnbwd.yield %arg2 : vector<8xf32>
    }
    return
  }
}

// -----
module {
  func.func @named(%arg0: memref<?x8xf32>, %arg1: memref<?x8xf32>) attributes {lnbwd.operation = #lnbwd.operation<name = "rms_norm", epsilon = 1.000000e-05 : f64>} {
    lnbwd.rowwise @k domain(m | n) ins(%arg0[m, n] : memref<?x8xf32>) outs(%arg1[m, n] : memref<?x8xf32>) {
    ^bb0(%arg2: vector<8xf32>):
      lnbwd.yield %arg2 : vector<8xf32>
    }
    return
  }
  func.func private @declared(memref<?x8xf32>)
  func.func @nothing(%arg0: memref<?x8xf32>) {
    return
  }
}

// -----
module {
  func.func @places(%arg0: memref<?x8x2x4xf32>, %arg1: memref<8x2xf32>) attributes {lnbwd.program = "[{\22inputs\22:[{\22argument\22:0,\22kind\22:\22row_block\22,\22type\22:\228xf32\22},{\22argument\22:1,\22column\22:[[4,0,1,0,0]],\22kind\22:\22column\22,\22row\22:[[1,8,2,0,0]],\22row_length\22:16,\22type\22:\228xf32\22}],\22name\22:\22k\22,\22operations\22:[[\22arith.mulf\22,\228xf32\22,0,1]],\22outputs\22:[{\22argument\22:0,\22kind\22:\22row_block\22,\22type\22:\228xf32\22,\22value\22:2}]}]"} {
    lnbwd.rowwise @k domain(m0, m1 | n0, n1) ins(%arg0[m0, m1, n0, n1] : memref<?x8x2x4xf32>, %arg1[m1, n0] : memref<8x2xf32>) outs(%arg0[m0, m1, n0, n1] : memref<?x8x2x4xf32>) {
    ^bb0(%arg2: vector<8xf32>, %arg3: vector<8xf32>):
      %0 = arith.mulf %arg2, %arg3 : vector<8xf32>
      lnbwd.yield %0 : vector<8xf32>
    }
    return
  }
}

// -----
module {
  func.func @table(%arg0: memref<?xi64>, %arg1: memref<50x8xf32>, %arg2: memref<?x8xf32>) attributes {lnbwd.program = "[{\22inputs\22:[{\22argument\22:0,\22kind\22:\22row_scalar\22,\22type\22:\22i64\22},{\22argument\22:1,\22kind\22:\22column\22,\22type\22:\2250x8xf32\22}],\22name\22:\22k\22,\22operations\22:[[\22lnbwd.gather\22,\228xf32\22,1,0]],\22outputs\22:[{\22argument\22:2,\22kind\22:\22row_block\22,\22type\22:\228xf32\22,\22value\22:2}]}]"} {
    lnbwd.rowwise @k domain(m | n) ins(%arg0[m] : memref<?xi64>, %arg1[*, n] : memref<50x8xf32>) outs(%arg2[m, n] : memref<?x8xf32>) {
    ^bb0(%arg3: i64, %arg4: vector<50x8xf32>):
      %0 = lnbwd.gather %arg4[%arg3] : vector<50x8xf32>, i64
      lnbwd.yield %0 : vector<8xf32>
    }
    return
  }
}

// -----
module {
  func.func @strided(%arg0: memref<2x3x5x8xf32>, %arg1: memref<5x8xf32, strided<[100, 3]>>, %arg2: memref<2x5x3x8xf32>) attributes {lnbwd.program = "[{\22inputs\22:[{\22argument\22:0,\22kind\22:\22column\22,\22row\22:[[1,3,40,0,0],[3,5,8,0,0],[15,0,120,0,0]],\22row_length\22:240,\22type\22:\228xf32\22},{\22argument\22:1,\22column\22:[[1,0,3,0,0]],\22kind\22:\22column\22,\22row\22:[[3,5,100,0,0]],\22row_length\22:422,\22type\22:\228xf32\22}],\22name\22:\22k\22,\22operations\22:[[\22arith.mulf\22,\228xf32\22,0,1]],\22outputs\22:[{\22argument\22:2,\22kind\22:\22row_block\22,\22type\22:\228xf32\22,\22value\22:2}]}]"} {
    lnbwd.rowwise @k domain(m0, m1, m2 | n) ins(%arg0[m0, m2, m1, n] : memref<2x3x5x8xf32>, %arg1[m1, n] : memref<5x8xf32, strided<[100, 3]>>) outs(%arg2[m0, m1, m2, n] : memref<2x5x3x8xf32>) {
    ^bb0(%arg3: vector<8xf32>, %arg4: vector<8xf32>):
      %0 = arith.mulf %arg3, %arg4 : vector<8xf32>
      lnbwd.yield %0 : vector<8xf32>
    }
    return
  }
}

