//===- ReportPrinter.cpp - A report as text and as JSON -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both have the same figures; docs/report.md says what each means.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Report/Report.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace lnbwd;
namespace json = llvm::json;

namespace {
/// One class of instructions: its names in text and JSON.
struct CountField {
  llvm::StringRef text;
  llvm::StringRef key;
  InstructionClass kind;
  /// Left out of the text where there are none.
  bool isRare = false;
};
} // namespace

static constexpr CountField countFields[] = {
    {"matrix", "matrix", InstructionClass::Matrix, true},
    {"vector ALU", "vector_alu", InstructionClass::VectorALU},
    {"  of two operations", "dual_issue", InstructionClass::DualIssue, true},
    {"scalar ALU", "scalar_alu", InstructionClass::ScalarALU},
    {"vector memory", "vector_memory", InstructionClass::VectorMemory},
    {"scalar memory", "scalar_memory", InstructionClass::ScalarMemory},
    {"LDS", "lds", InstructionClass::LDS},
    {"barriers", "barrier", InstructionClass::Barrier},
    {"waits", "wait", InstructionClass::Wait},
    {"others", "other", InstructionClass::Other},
};

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static llvm::raw_ostream &startLine(llvm::raw_ostream &os,
                                    llvm::StringRef label) {
  return os << "  " << llvm::left_justify(label, 26);
}

static llvm::format_object<double> decimal(double value) {
  return llvm::format("%.2f", value);
}

static llvm::format_object<double> micros(double seconds) {
  return llvm::format("%.2f", seconds * 1e6);
}

static void printLoop(const ProductReport &product, llvm::raw_ostream &os) {
  startLine(os, "tiles") << product.tiles << " of " << product.tileRows << " x "
                         << product.tileColumns << "\n";
  if (!product.step)
    startLine(os, "adds") << product.parts
                          << " partial results of each element\n";
  else
    startLine(os, "loop") << product.iterations << " iterations of "
                          << product.step << " elements of the sum, in "
                          << product.parts
                          << (product.parts == 1 ? " part\n" : " parts\n");
}

/// Of a kernel of a product, the instructions of a wave per iteration of its
/// loop; of others, per element of the operation's row blocks, whatever the
/// kernel reads.
static void printInstructions(const CodeFigures &code,
                              const KernelReport &kernel, const Report &report,
                              llvm::raw_ostream &os) {
  const auto &product = kernel.product;
  double elements = double(report.rows) * double(report.rowLength) /
                    double(report.chip->waveSize);
  double iterations = 0;
  if (product)
    iterations =
        double(product->tiles) * double(product->iterations) *
        double(llvm::divideCeil(kernel.threads, report.chip->waveSize));
  startLine(os, "instructions")
      << (iterations > 0 ? "of waves, and of one per iteration of the loop\n"
          : product      ? "of waves\n"
                         : "of lanes, an element of the row blocks\n");
  for (const CountField &field : countFields) {
    double count = code.instructions[field.kind];
    if (!count && field.isRare)
      continue;
    llvm::raw_ostream &line = startLine(os, ("  " + field.text).str());
    if (!product)
      line << decimal(count / elements) << "\n";
    else if (iterations > 0)
      line << llvm::format("%.0f, ", count)
           << decimal(code.loopInstructions[field.kind] / iterations) << "\n";
    else
      line << llvm::format("%.0f\n", count);
  }
  if (!product)
    startLine(os, "barriers of the row loop")
        << decimal(code.barriersPerTile) << " per tile of rows\n";
  if (product && code.matrixMultiplyAdds > 0)
    startLine(os, "multiply-adds")
        << llvm::format("%.0f by matrix instructions, %.3f times the fewest",
                        code.matrixMultiplyAdds,
                        product->multiplyAdds > 0
                            ? code.matrixMultiplyAdds / product->multiplyAdds
                            : 0.0)
        << "\n";
}

static void printKernel(const KernelReport &kernel, const Report &report,
                        llvm::raw_ostream &os) {
  os << "\nkernel @" << kernel.name << "\n";
  if (!kernel.schedule.empty())
    startLine(os, "schedule") << kernel.schedule << "\n";
  if (const auto &product = kernel.product)
    printLoop(*product, os);
  startLine(os, "launch") << kernel.workgroups << " workgroups of "
                          << kernel.threads << " work-items\n";
  if (const auto &resources = kernel.resources) {
    startLine(os, "vector registers") << resources->vectorRegisters;
    if (resources->accumulationRegisters)
      os << ", " << resources->accumulationRegisters << " for accumulation";
    os << "\n";
    if (resources->scalarRegisters)
      startLine(os, "scalar registers") << resources->scalarRegisters << "\n";
    startLine(os, "spills")
        << (resources->spills() ? resources->describeSpills() : "none") << "\n";
    startLine(os, "shared memory")
        << resources->sharedMemoryBytes + kernel.dynamicSharedMemoryBytes
        << " bytes\n";
  }
  if (const auto &occupancy = kernel.occupancy)
    startLine(os, "occupancy")
        << occupancy->workgroups << " workgroups, " << occupancy->waves
        << " waves in "
        << (report.chip->limits.computeUnitsTogether == 2 ? "two compute units"
                                                          : "a compute unit")
        << ", limited by " << occupancy->limit << "\n";
  if (const auto &code = kernel.code) {
    printInstructions(*code, kernel, report, os);
    if (code->widestRowAccess) {
      startLine(os, kernel.product ? "accesses of the loop" : "row accesses")
          << code->narrowestRowAccess;
      if (code->narrowestRowAccess != code->widestRowAccess)
        os << " to " << code->widestRowAccess;
      os << " bytes a lane\n";
    }
    startLine(os, "bytes requested")
        << llvm::format("%.0f read, %.0f written", code->bytesRead,
                        code->bytesWritten)
        << "\n";
    if (code->sharedBytesRead || code->sharedBytesWritten)
      startLine(os, "  of shared memory")
          << llvm::format("%.0f read, %.0f written", code->sharedBytesRead,
                          code->sharedBytesWritten)
          << "\n";
  }
  startLine(os, "bytes by the plan")
      << llvm::format("%.0f", kernel.plannedBytes) << "\n";
  if (kernel.bytesInFlight)
    startLine(os, "bytes in flight")
        << llvm::format("%.0f", *kernel.bytesInFlight) << " a compute unit\n";
  startLine(os, "busiest compute unit")
      << decimal(kernel.imbalance) << " times the mean\n";
  startLine(os, "least time, us") << micros(kernel.memoryTime) << " for memory";
  if (kernel.vectorTime)
    os << ", " << micros(*kernel.vectorTime) << " for the vector ALU";
  if (kernel.latencyTime)
    os << ", " << micros(*kernel.latencyTime) << " for latency";
  if (kernel.matrixTime)
    os << ", " << micros(*kernel.matrixTime) << " for matrix instructions";
  else if (kernel.hasUnknownMatrixTime)
    os << ", unknown for matrix instructions";
  os << "\n";
  startLine(os, "bound by") << kernel.bound << "\n";
}

void Report::printText(llvm::raw_ostream &os) const {
  os << "@" << name << " for " << chip->name << " (" << chip->product << ", "
     << chip->computeUnits << " compute units), " << rows << " rows of "
     << rowLength << "\n";
  for (const KernelReport &kernel : kernels)
    printKernel(kernel, *this, os);
  os << "\nall kernels\n";
  double bytes = getBytes();
  startLine(os, "bytes") << llvm::format(
                                "%.0f, %.3f times the fewest possible", bytes,
                                minimalBytes > 0 ? bytes / minimalBytes : 0.0)
                         << "\n";
  if (std::optional<double> vector = getVectorPerElement())
    startLine(os, "vector ALU instructions")
        << decimal(*vector) << " of lanes, an element\n";
  startLine(os, "least time, us") << micros(getTime()) << "\n";
  startLine(os, "share of peak bandwidth")
      << llvm::format("%.1f %% of %d GB/s", getShareOfPeak() * 100,
                      int(chip->limits.gigabytesPerSecond))
      << " at most\n";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void printCounts(llvm::StringRef key, const InstructionCounts &counts,
                        json::OStream &stream) {
  stream.attributeObject(key, [&] {
    for (const CountField &field : countFields)
      stream.attribute(field.key, counts[field.kind]);
  });
}

static void printProduct(const ProductReport &product,
                         const KernelReport &kernel, json::OStream &stream) {
  stream.attributeObject("product", [&] {
    stream.attribute("tile_rows", product.tileRows);
    stream.attribute("tile_columns", product.tileColumns);
    stream.attribute("tiles", product.tiles);
    stream.attribute("parts", product.parts);
    stream.attribute("step", product.step);
    stream.attribute("iterations", product.iterations);
    stream.attribute("multiply_adds", product.multiplyAdds);
    std::string multiplied;
    if (product.multiplied)
      llvm::raw_string_ostream(multiplied) << product.multiplied;
    stream.attribute("multiplied_as", multiplied.empty()
                                          ? json::Value(nullptr)
                                          : json::Value(multiplied));
    if (kernel.code) {
      stream.attribute("matrix_multiply_adds", kernel.code->matrixMultiplyAdds);
      printCounts("loop_wave_instructions", kernel.code->loopInstructions,
                  stream);
    }
  });
}

static void printKernel(const KernelReport &kernel, json::OStream &stream) {
  auto optional = [&](llvm::StringRef key, std::optional<double> value) {
    stream.attribute(key, value ? json::Value(*value) : json::Value(nullptr));
  };
  stream.object([&] {
    stream.attribute("name", kernel.name);
    stream.attribute("schedule", kernel.schedule);
    stream.attribute("workgroups", kernel.workgroups);
    stream.attribute("threads", kernel.threads);
    stream.attribute("dynamic_shared_bytes", kernel.dynamicSharedMemoryBytes);
    if (const auto &resources = kernel.resources) {
      stream.attribute("vector_registers", resources->vectorRegisters);
      stream.attribute("accumulation_registers",
                       resources->accumulationRegisters);
      stream.attribute("scalar_registers", resources->scalarRegisters);
      stream.attribute("spilled_vector_registers",
                       resources->spilledVectorRegisters);
      stream.attribute("spilled_scalar_registers",
                       resources->spilledScalarRegisters);
      stream.attribute("scratch_bytes", resources->scratchBytes);
      stream.attribute("shared_bytes", resources->sharedMemoryBytes);
    }
    if (const auto &occupancy = kernel.occupancy)
      stream.attributeObject("occupancy", [&] {
        stream.attribute("workgroups", occupancy->workgroups);
        stream.attribute("waves", occupancy->waves);
        stream.attribute("limit", occupancy->limit);
      });
    if (const auto &code = kernel.code) {
      printCounts("wave_instructions", code->instructions, stream);
      stream.attribute("barriers_per_tile", code->barriersPerTile);
      stream.attribute("narrowest_row_access", code->narrowestRowAccess);
      stream.attribute("widest_row_access", code->widestRowAccess);
      stream.attribute("bytes_read", code->bytesRead);
      stream.attribute("bytes_written", code->bytesWritten);
      stream.attribute("shared_bytes_read", code->sharedBytesRead);
      stream.attribute("shared_bytes_written", code->sharedBytesWritten);
    }
    if (const auto &product = kernel.product)
      printProduct(*product, kernel, stream);
    stream.attribute("planned_bytes", kernel.plannedBytes);
    optional("bytes_in_flight", kernel.bytesInFlight);
    stream.attribute("imbalance", kernel.imbalance);
    stream.attribute("memory_seconds", kernel.memoryTime);
    optional("vector_seconds", kernel.vectorTime);
    optional("latency_seconds", kernel.latencyTime);
    optional("matrix_seconds", kernel.matrixTime);
    stream.attribute("seconds", kernel.time);
    stream.attribute("bound", kernel.bound);
  });
}

void Report::printJSON(llvm::raw_ostream &os) const {
  json::OStream stream(os, /*IndentSize=*/2);
  stream.object([&] {
    stream.attribute("name", name);
    stream.attribute("chip", chip->name);
    stream.attribute("rows", rows);
    stream.attribute("row_length", rowLength);
    stream.attribute("minimal_bytes", minimalBytes);
    stream.attribute("bytes", getBytes());
    std::optional<double> vector = getVectorPerElement();
    stream.attribute("vector_alu_per_element",
                     vector ? json::Value(*vector) : json::Value(nullptr));
    stream.attribute("seconds", getTime());
    stream.attribute("share_of_peak", getShareOfPeak());
    stream.attributeArray("kernels", [&] {
      for (const KernelReport &kernel : kernels)
        printKernel(kernel, stream);
    });
  });
  os << "\n";
}
