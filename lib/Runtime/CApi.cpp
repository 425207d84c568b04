//===- CApi.cpp - The runtime's C interface -------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function of lnbwd_runtime.h in terms of the classes behind it. No
// exception leaves this file: guarded() turns each into a status and keeps its
// message for lnbwd_last_error().
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "Error.h"
#include "LoadedKernel.h"
#include "Program.h"
#include "lnbwd/Chips/ChipNames.h"

#include <cstring>
#include <new>

using namespace lnbwd::runtime;

struct lnbwd_program {
  std::shared_ptr<const Program> program;
};
struct lnbwd_device {
  std::shared_ptr<const Driver> driver;
};
struct lnbwd_kernel {
  LoadedKernel kernel;
};
struct lnbwd_event {
  std::shared_ptr<const Driver> driver;
  void *event;
};

namespace {

thread_local std::string lastError;

} // namespace

static lnbwd_status failed(lnbwd_status status, const char *message) noexcept {
  try {
    lastError = message;
  } catch (...) {
    lastError.clear();
  }
  return status;
}

template <typename Function>
static lnbwd_status guarded(Function &&function) noexcept {
  try {
    function();
    return LNBWD_SUCCESS;
  } catch (const Error &error) {
    return failed(error.getStatus(), error.what());
  } catch (const std::bad_alloc &) {
    return failed(LNBWD_ERROR_OUT_OF_MEMORY, "the host is out of memory");
  } catch (const std::exception &error) {
    return failed(LNBWD_ERROR_INTERNAL, error.what());
  } catch (...) {
    return failed(LNBWD_ERROR_INTERNAL, "unknown exception");
  }
}

/// Refuses null handles and output pointers, each followed by its name.
template <typename... Rest>
static void require(const void *pointer, const char *what, Rest... rest) {
  if (!pointer)
    throw Error(LNBWD_ERROR_INVALID_ARGUMENT,
                std::string(what) + ": expected a pointer, got null");
  if constexpr (sizeof...(rest) != 0)
    require(rest...);
}

static const Driver &driverOf(const lnbwd_device *device) {
  require(device, "device");
  return *device->driver;
}

[[noreturn]] static void badSpec(const std::string &spec) {
  throw Error(LNBWD_ERROR_INVALID_ARGUMENT,
              "device: expected 'sim', 'sim:CHIP', 'hip', 'hip:I', 'cuda' or "
              "'cuda:I' with a device number I, got '" +
                  spec + "'");
}

/// The number behind "hip:" or "cuda:"; 0 if there is none.
static int deviceIndex(const std::string &spec, size_t colon) {
  if (colon == std::string::npos)
    return 0;
  std::string digits = spec.substr(colon + 1);
  if (digits.empty() || digits.size() > 4 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    badSpec(spec);
  return std::stoi(digits);
}

/// By a specification such as "hip:1"; see lnbwd_device_open.
static std::shared_ptr<Driver> openDevice(const std::string &spec,
                                          const std::string &chip) {
  size_t colon = spec.find(':');
  std::string kind = spec.substr(0, colon);
  if (kind == "hip")
    return openHipDevice(deviceIndex(spec, colon));
  if (kind == "cuda")
    return openCudaDevice(deviceIndex(spec, colon));
  if (kind != "sim")
    badSpec(spec);
  if (colon != std::string::npos) {
    if (colon + 1 == spec.size())
      badSpec(spec);
    return openSimulatedDevice(spec.substr(colon + 1));
  }
  if (chip.empty())
    throw Error(LNBWD_ERROR_INVALID_ARGUMENT,
                "device 'sim': pass the program's chip too, or name one, as in "
                "'sim:" LNBWD_DEFAULT_SIMULATED_CHIP "'");
  return openSimulatedDevice(chip);
}

/// Has `run` copy `bytes` bytes, unless there are none.
template <typename Run>
static lnbwd_status copy(const lnbwd_device *device, const void *destination,
                         const void *source, size_t bytes, Run run) {
  return guarded([&] {
    const Driver &driver = driverOf(device);
    if (bytes == 0)
      return;
    require(destination, "destination", source, "source");
    run(driver);
  });
}

// Named as in the header: NOLINTBEGIN(readability-identifier-naming)
extern "C" {

const char *lnbwd_runtime_version(void) { return LNBWD_VERSION; }

const char *lnbwd_last_error(void) { return lastError.c_str(); }

const char *lnbwd_status_name(lnbwd_status status) {
  // C lets a caller pass any number; in C++ it may not even be looked at as an
  // lnbwd_status.
  int value;
  static_assert(sizeof(value) == sizeof(status));
  std::memcpy(&value, &status, sizeof(value));
  switch (value) {
#define LNBWD_STATUS_NAME(NAME)                                                \
  case NAME:                                                                   \
    return #NAME;
    LNBWD_STATUS_NAME(LNBWD_SUCCESS)
    LNBWD_STATUS_NAME(LNBWD_ERROR_INVALID_ARGUMENT)
    LNBWD_STATUS_NAME(LNBWD_ERROR_FILE)
    LNBWD_STATUS_NAME(LNBWD_ERROR_INVALID_PROGRAM)
    LNBWD_STATUS_NAME(LNBWD_ERROR_INVALID_PLAN)
    LNBWD_STATUS_NAME(LNBWD_ERROR_WRONG_CHIP)
    LNBWD_STATUS_NAME(LNBWD_ERROR_NO_DEVICE)
    LNBWD_STATUS_NAME(LNBWD_ERROR_OUT_OF_MEMORY)
    LNBWD_STATUS_NAME(LNBWD_ERROR_TOO_LARGE)
    LNBWD_STATUS_NAME(LNBWD_ERROR_DRIVER)
    LNBWD_STATUS_NAME(LNBWD_ERROR_INTERNAL)
#undef LNBWD_STATUS_NAME
  }
  return "unknown status";
}

lnbwd_status lnbwd_program_from_memory(const void *data, size_t size,
                                       const char *chip,
                                       lnbwd_program **program) {
  return guarded([&] {
    require(program, "program");
    if (size != 0)
      require(data, "data");
    std::string_view bytes(static_cast<const char *>(data), size);
    *program = new lnbwd_program{chip ? parseProgramForChip(bytes, chip)
                                      : parseProgram(std::string(bytes))};
  });
}

lnbwd_status lnbwd_program_from_file(const char *path,
                                     lnbwd_program **program) {
  return guarded([&] {
    require(path, "path", program, "program");
    try {
      *program = new lnbwd_program{parseProgram(readFile(path))};
    } catch (const Error &error) {
      // Only what the reader says has the file's name already.
      if (error.getStatus() == LNBWD_ERROR_FILE)
        throw;
      throw Error(error.getStatus(), std::string(path) + ": " + error.what());
    }
  });
}

void lnbwd_program_destroy(lnbwd_program *program) { delete program; }

const char *lnbwd_program_plan(const lnbwd_program *program) {
  return program ? program->program->plan.text.c_str() : "";
}

const char *lnbwd_program_name(const lnbwd_program *program) {
  return program ? program->program->plan.name.c_str() : "";
}

const char *lnbwd_program_chip(const lnbwd_program *program) {
  return program ? program->program->plan.chip.c_str() : "";
}

const char *lnbwd_program_format(const lnbwd_program *program) {
  return program ? formatName(program->program->format) : "";
}

size_t lnbwd_program_argument_count(const lnbwd_program *program) {
  return program ? program->program->plan.arguments.size() : 0;
}

static void requireIndex(size_t index, size_t count) {
  if (index >= count)
    throw Error(LNBWD_ERROR_INVALID_ARGUMENT,
                "index: expected one below " + std::to_string(count) +
                    ", got " + std::to_string(index));
}

lnbwd_status lnbwd_program_argument(const lnbwd_program *program, size_t index,
                                    lnbwd_argument_info *info) {
  return guarded([&] {
    require(program, "program", info, "info");
    const auto &arguments = program->program->plan.arguments;
    requireIndex(index, arguments.size());
    const PlanArgument &argument = arguments[index];
    *info = {argument.name.c_str(), argument.access,    argument.kind,
             argument.element,      argument.rowLength, argument.rowStride,
             argument.alignment};
  });
}

lnbwd_status lnbwd_program_argument_size(const lnbwd_program *program,
                                         size_t index, int64_t rows,
                                         int64_t groups, size_t *bytes) {
  return guarded([&] {
    require(program, "program", bytes, "bytes");
    const Plan &plan = program->program->plan;
    requireIndex(index, plan.arguments.size());
    LaunchSize size(rows, groups);
    plan.checkSize(size);
    *bytes = static_cast<size_t>(plan.argumentBytes(index, size));
  });
}

lnbwd_status lnbwd_device_open(const char *spec, const char *chip,
                               lnbwd_device **device) {
  return guarded([&] {
    require(spec, "spec", device, "device");
    *device = new lnbwd_device{openDevice(spec, chip ? chip : "")};
  });
}

void lnbwd_device_close(lnbwd_device *device) { delete device; }

lnbwd_status lnbwd_device_get_info(const lnbwd_device *device,
                                   lnbwd_device_info *info) {
  return guarded([&] {
    const Driver &driver = driverOf(device);
    require(info, "info");
    *info = driver.info();
  });
}

lnbwd_status lnbwd_device_memory(const lnbwd_device *device,
                                 uint64_t *free_bytes, uint64_t *total_bytes) {
  return guarded([&] {
    MemoryInfo memory = driverOf(device).memory();
    if (free_bytes)
      *free_bytes = memory.freeBytes;
    if (total_bytes)
      *total_bytes = memory.totalBytes;
  });
}

lnbwd_status lnbwd_device_make_current(const lnbwd_device *device) {
  return guarded([&] { driverOf(device).makeCurrent(); });
}

void *lnbwd_device_symbol(const lnbwd_device *device, const char *name) {
  return device && name ? device->driver->symbol(name) : nullptr;
}

lnbwd_status lnbwd_kernel_load(const lnbwd_device *device,
                               const lnbwd_program *program,
                               lnbwd_kernel **kernel) {
  return guarded([&] {
    require(device, "device", program, "program", kernel, "kernel");
    *kernel = new lnbwd_kernel{LoadedKernel(device->driver, program->program)};
  });
}

void lnbwd_kernel_destroy(lnbwd_kernel *kernel) { delete kernel; }

lnbwd_status lnbwd_kernel_workspace_size(const lnbwd_kernel *kernel,
                                         int64_t rows, int64_t groups,
                                         size_t *bytes) {
  return guarded([&] {
    require(kernel, "kernel", bytes, "bytes");
    *bytes = static_cast<size_t>(
        kernel->kernel.workspaceSize(LaunchSize(rows, groups)));
  });
}

lnbwd_status lnbwd_kernel_launch(const lnbwd_kernel *kernel,
                                 void *const *arguments, size_t argument_count,
                                 int64_t rows, int64_t groups, void *workspace,
                                 size_t workspace_bytes, void *stream) {
  return guarded([&] {
    require(kernel, "kernel");
    kernel->kernel.launch(arguments, argument_count, LaunchSize(rows, groups),
                          workspace, workspace_bytes, stream);
  });
}

lnbwd_status lnbwd_malloc(const lnbwd_device *device, size_t bytes,
                          void **pointer) {
  return guarded([&] {
    const Driver &driver = driverOf(device);
    require(pointer, "pointer");
    *pointer = bytes == 0 ? nullptr : driver.allocate(bytes);
  });
}

lnbwd_status lnbwd_free(const lnbwd_device *device, void *pointer) {
  return guarded([&] {
    const Driver &driver = driverOf(device);
    if (pointer)
      driver.release(pointer);
  });
}

lnbwd_status lnbwd_copy_to_device(const lnbwd_device *device, void *destination,
                                  const void *source, size_t bytes) {
  return copy(device, destination, source, bytes, [&](const Driver &driver) {
    driver.copyToDevice(destination, source, bytes);
  });
}

lnbwd_status lnbwd_copy_to_host(const lnbwd_device *device, void *destination,
                                const void *source, size_t bytes) {
  return copy(device, destination, source, bytes, [&](const Driver &driver) {
    driver.copyToHost(destination, source, bytes);
  });
}

lnbwd_status lnbwd_copy_on_device(const lnbwd_device *device, void *destination,
                                  const void *source, size_t bytes,
                                  void *stream) {
  return copy(device, destination, source, bytes, [&](const Driver &driver) {
    driver.copyOnDevice(destination, source, bytes, stream);
  });
}

lnbwd_status lnbwd_memset(const lnbwd_device *device, void *pointer, int value,
                          size_t bytes, void *stream) {
  return guarded([&] {
    const Driver &driver = driverOf(device);
    if (value < 0 || value > 255)
      throw Error(LNBWD_ERROR_INVALID_ARGUMENT,
                  "value: expected a byte from 0 to 255, got " +
                      std::to_string(value));
    if (bytes == 0)
      return;
    require(pointer, "pointer");
    driver.setBytes(pointer, value, bytes, stream);
  });
}

lnbwd_status lnbwd_synchronize(const lnbwd_device *device, void *stream) {
  return guarded([&] { driverOf(device).synchronize(stream); });
}

lnbwd_status lnbwd_event_create(const lnbwd_device *device,
                                lnbwd_event **event) {
  return guarded([&] {
    const Driver &driver = driverOf(device);
    require(event, "event");
    *event = new lnbwd_event{device->driver, driver.createEvent()};
  });
}

void lnbwd_event_destroy(lnbwd_event *event) {
  if (!event)
    return;
  event->driver->destroyEvent(event->event);
  delete event;
}

lnbwd_status lnbwd_event_record(lnbwd_event *event, void *stream) {
  return guarded([&] {
    require(event, "event");
    event->driver->recordEvent(event->event, stream);
  });
}

lnbwd_status lnbwd_event_elapsed(lnbwd_event *start, lnbwd_event *stop,
                                 double *milliseconds) {
  return guarded([&] {
    require(start, "start", stop, "stop", milliseconds, "milliseconds");
    if (start->driver != stop->driver)
      throw Error(LNBWD_ERROR_INVALID_ARGUMENT,
                  "events: expected two of one device");
    *milliseconds =
        start->driver->elapsedMilliseconds(start->event, stop->event);
  });
}

} // extern "C"
// NOLINTEND(readability-identifier-naming)
