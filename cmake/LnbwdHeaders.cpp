// Empty: CMake compiles precompiled headers for a target, and a target has a
// source (LnbwdCompiler.cmake).
