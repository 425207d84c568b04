func.func @f(%x: memref<?x256xf32, strided<[320, 1]>>, %y: memref<?x256xf32>) {
  lnbwd.rms_norm x(%x : memref<?x256xf32, strided<[320, 1]>>) outs y(%y : memref<?x256xf32>)
  return
}
