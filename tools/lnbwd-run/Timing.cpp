//===- Timing.cpp - How fast a kernel is ----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches rotate among several copies of all buffers, together much larger
// than the device's caches, so that no launch finds its inputs there. A
// measurement is a batch of launches between two events: long enough that the
// events' own cost and resolution do not show. All batches are enqueued ahead
// of the device, so that it never waits for the host (unless a launch is
// shorter than the host takes to enqueue it).
//
//===----------------------------------------------------------------------===//

#include "Timing.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace lnbwd::run {

constexpr int kRepeats = 50;
constexpr int kMinRepeats = 30;
constexpr int kMaxBufferSets = 1024;
constexpr double kBatchMicroseconds = 200;
constexpr double kTotalMicroseconds = 4e6;
/// Caches behind the L2 that drivers do not tell of (256 MiB on AMD's MI300)
/// are to be exceeded too.
constexpr double kMinRotationBytes = double(1 << 30);
constexpr size_t kAlignment = 512;

/// Enqueues launch number `index`.
using Launch = std::function<void(size_t index)>;

static double elapsedMicroseconds(const EventHandle &start,
                                  const EventHandle &stop) {
  double milliseconds = 0;
  check(lnbwd_event_elapsed(start.get(), stop.get(), &milliseconds),
        WrongNumbers);
  return milliseconds * 1e3;
}

static Measurement measure(const lnbwd_device *device, const Launch &launch) {
  size_t index = 0;
  auto enqueue = [&](int count) {
    for (int i = 0; i < count; ++i)
      launch(index++);
  };
  // Warm up, then find out how long a launch takes, roughly.
  auto start = make<EventHandle>(lnbwd_event_create, device);
  auto stop = make<EventHandle>(lnbwd_event_create, device);
  enqueue(5);
  check(lnbwd_event_record(start.get(), nullptr));
  enqueue(5);
  check(lnbwd_event_record(stop.get(), nullptr));
  double estimate = std::max(elapsedMicroseconds(start, stop) / 5, 0.5);

  Measurement result;
  result.launchesPerRepeat = static_cast<int>(
      std::clamp(std::ceil(kBatchMicroseconds / estimate), 1.0, 200.0));
  result.repeats = static_cast<int>(
      std::clamp(kTotalMicroseconds / (estimate * result.launchesPerRepeat),
                 double(kMinRepeats), double(kRepeats)));
  std::vector<EventHandle> events;
  for (int i = 0; i <= result.repeats; ++i)
    events.push_back(make<EventHandle>(lnbwd_event_create, device));

  // The first batch only keeps the device busy while the host runs ahead.
  enqueue(2 * result.launchesPerRepeat);
  check(lnbwd_event_record(events[0].get(), nullptr));
  for (int i = 1; i <= result.repeats; ++i) {
    enqueue(result.launchesPerRepeat);
    check(lnbwd_event_record(events[i].get(), nullptr));
  }
  check(lnbwd_synchronize(device, nullptr), WrongNumbers);

  std::vector<double> times;
  for (int i = 1; i <= result.repeats; ++i)
    times.push_back(elapsedMicroseconds(events[i - 1], events[i]) /
                    result.launchesPerRepeat);
  std::sort(times.begin(), times.end());
  result.minMicroseconds = times.front();
  result.medianMicroseconds =
      (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
  return result;
}

static size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

namespace {

/// Copies of all arguments and workspaces in one piece of device memory.
class BufferSets {
public:
  BufferSets(const lnbwd_device *device, const Problem &problem,
             const GuardedLaunch &guarded, uint64_t l2Bytes)
      : setBytes(sizeOfSet(problem, guarded)),
        count(countSets(device, l2Bytes, setBytes)),
        memory(allocate(device, setBytes * count)), pointers(count) {
    for (size_t set = 0; set < count; ++set) {
      char *address = memory.get() + set * setBytes;
      for (size_t i = 0; i < problem.arguments.size(); ++i) {
        pointers[set].push_back(address);
        if (problem.arguments[i].placedOver)
          continue;
        check(lnbwd_copy_on_device(device, address, guarded.pointers()[i],
                                   problem.arguments[i].bytes, nullptr));
        address += aligned(problem.arguments[i].bytes);
      }
      for (size_t i = 0; i < problem.arguments.size(); ++i)
        if (auto place = problem.arguments[i].placedOver)
          pointers[set][i] = pointers[set][*place];
      workspaces.push_back(address);
      check(lnbwd_memset(device, address, 0xff, guarded.workspaceSize(),
                         nullptr));
    }
    check(lnbwd_synchronize(device, nullptr));
  }

  size_t size() const { return count; }
  size_t bytesOfSet() const { return setBytes; }
  const std::vector<void *> &arguments(size_t index) const {
    return pointers[index % count];
  }
  void *workspace(size_t index) const { return workspaces[index % count]; }

private:
  static size_t sizeOfSet(const Problem &problem,
                          const GuardedLaunch &guarded) {
    size_t bytes = aligned(guarded.workspaceSize());
    for (const Argument &argument : problem.arguments)
      bytes += aligned(argument.bytes);
    return std::max(bytes, kAlignment);
  }
  static size_t countSets(const lnbwd_device *device, uint64_t l2Bytes,
                          size_t setBytes) {
    uint64_t free = 0;
    check(lnbwd_device_memory(device, &free, nullptr));
    double wanted =
        std::max(5.0 * static_cast<double>(l2Bytes), kMinRotationBytes);
    double sets = std::ceil(wanted / static_cast<double>(setBytes)) + 1;
    double fitting = std::floor(0.6 * static_cast<double>(free) /
                                static_cast<double>(setBytes));
    if (fitting < 1)
      throw Failure(BadInput, "the device's memory does not suffice for a "
                              "second set of buffers, which --time needs; take "
                              "a smaller --m");
    return static_cast<size_t>(
        std::min({sets, fitting, double(kMaxBufferSets)}));
  }

  size_t setBytes;
  size_t count;
  DeviceMemory memory;
  std::vector<std::vector<void *>> pointers;
  std::vector<void *> workspaces;
};

} // namespace

/// Rates in decimal gigabytes a second.
static double rate(double bytes, double microseconds) {
  return bytes / microseconds / 1e3;
}

/// The stream as a row program.
constexpr const char *kStreamMlir =
#include "stream.mlir.inc"
    ;

/// Refuses a program that does not read two arrays and write a third, all of
/// one size.
static void checkStream(const lnbwd_program *program, const std::string &chip,
                        const std::string &file) {
  auto refuse = [&](const std::string &problem) {
    throw UsageFailure("--stream: expected a kernel for " + chip +
                       " that reads two row blocks and writes a third of the "
                       "same size, got one " +
                       problem + " in '" + file + "'");
  };
  const std::string got = lnbwd_program_chip(program);
  if (got.substr(0, got.find(':')) != chip.substr(0, chip.find(':')))
    refuse("for " + got);
  const size_t count = lnbwd_program_argument_count(program);
  if (count != 3)
    refuse("with " + std::to_string(count) + " arguments");
  size_t first = 0;
  for (size_t i = 0; i < count; ++i) {
    lnbwd_argument_info argument;
    check(lnbwd_program_argument(program, i, &argument));
    size_t bytes = 0;
    check(lnbwd_program_argument_size(program, i, 1, 0, &bytes));
    first = i == 0 ? bytes : first;
    if (argument.kind != LNBWD_ARGUMENT_ROW_BLOCK || bytes != first ||
        argument.access != (i < 2 ? LNBWD_ACCESS_READ : LNBWD_ACCESS_WRITE))
      refuse(std::string("whose argument '") + argument.name +
             "' is something else");
  }
}

ProgramHandle loadStream(const Options &options, const std::string &chip) {
  if (!options.streamFile.empty()) {
    auto program = make<ProgramHandle>(lnbwd_program_from_file,
                                       options.streamFile.c_str());
    checkStream(program.get(), chip, options.streamFile);
    return program;
  }
  if (!hasCompiler())
    return nullptr;
  std::string code = compileMlir(kStreamMlir, chip, "");
  return make<ProgramHandle>(lnbwd_program_from_memory, code.data(),
                             code.size(), nullptr);
}

/// The rates of the stream kernel over arrays larger than any cache, and over
/// the kernel's own arrays.
static void measureStream(const lnbwd_device *device,
                          const lnbwd_program *program, const Problem &problem,
                          const BufferSets &sets, TimeReport &report) {
  auto kernel = make<KernelHandle>(lnbwd_kernel_load, device, program);
  size_t rowBytes = 0;
  check(lnbwd_program_argument_size(program, 0, 1, 0, &rowBytes));

  // `array` gives the address of array `place` for a launch.
  auto measureArrays = [&](const std::function<void *(size_t, size_t)> &array,
                           size_t bytes) {
    auto rows = static_cast<int64_t>(bytes / rowBytes);
    Measurement measurement = measure(device, [&](size_t index) {
      void *arguments[] = {array(index, 0), array(index, 1), array(index, 2)};
      check(lnbwd_kernel_launch(kernel.get(), arguments, 3, rows, 0, nullptr, 0,
                                nullptr));
    });
    return rate(3.0 * static_cast<double>(rowBytes) * static_cast<double>(rows),
                measurement.medianMicroseconds);
  };

  // Three arrays of one size.
  const Role roles[] = {Role::Dy, Role::X, Role::Dx};
  const Argument *dx = problem.find(Role::Dx);
  bool areAlike =
      std::all_of(std::begin(roles), std::end(roles), [&](Role role) {
        const Argument *argument = problem.find(role);
        return dx && argument && argument->bytes == dx->bytes;
      });
  if (areAlike && dx->bytes >= rowBytes)
    report.sameSizeStreamGigabytesPerSecond = measureArrays(
        [&](size_t index, size_t place) {
          return sets.arguments(index)[*problem.place(roles[place])];
        },
        dx->bytes);

  uint64_t free = 0;
  check(lnbwd_device_memory(device, &free, nullptr));
  size_t bytes =
      std::min<size_t>(size_t(1) << 30, free / 4) / kAlignment * kAlignment;
  if (bytes < rowBytes)
    return;
  DeviceMemory arrays = allocate(device, 3 * bytes);
  check(lnbwd_memset(device, arrays.get(), 0x3c, 3 * bytes, nullptr));
  report.streamGigabytesPerSecond = measureArrays(
      [&](size_t, size_t place) { return arrays.get() + place * bytes; },
      bytes);
}

TimeReport measureTime(const lnbwd_device *device, const lnbwd_kernel *kernel,
                       const lnbwd_program *stream, const Problem &problem,
                       const GuardedLaunch &guarded) {
  lnbwd_device_info info;
  check(lnbwd_device_get_info(device, &info));
  BufferSets sets(device, problem, guarded, info.l2_bytes);

  TimeReport report;
  static_cast<Measurement &>(report) = measure(device, [&](size_t index) {
    const std::vector<void *> &arguments = sets.arguments(index);
    check(lnbwd_kernel_launch(kernel, arguments.data(), arguments.size(),
                              problem.rows, problem.groups,
                              sets.workspace(index), guarded.workspaceSize(),
                              nullptr),
          WrongNumbers);
  });
  report.bufferSets = sets.size();
  report.bufferSetBytes = static_cast<double>(sets.bytesOfSet());
  report.minimalBytes = problem.minimalBytes();
  report.gigabytesPerSecond =
      rate(report.minimalBytes, report.medianMicroseconds);
  if (stream)
    measureStream(device, stream, problem, sets, report);
  return report;
}

} // namespace lnbwd::run
