func.func @nothing(%x: memref<?x64xf32>) {
  return
}
