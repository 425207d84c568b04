//===- OutputFile.cpp - Files that are written whole ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A temporary file in the same folder, renamed when it is complete.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Support/OutputFile.h"

#include <cerrno>
#include <csignal>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/// As many as Linux follows.
static constexpr int mostLinks = 40;
/// Names for a temporary file that are tried.
static constexpr int mostNames = 100;

static std::error_code getLastError() {
  return {errno, std::generic_category()};
}

static std::error_code writeAll(int descriptor, std::string_view contents) {
  while (!contents.empty()) {
    ssize_t count = ::write(descriptor, contents.data(), contents.size());
    if (count >= 0)
      contents.remove_prefix(size_t(count));
    else if (errno != EINTR)
      return getLastError();
  }
  return {};
}

/// A network's file system may report a full disk only here.
static std::error_code closeAfter(std::error_code error, int descriptor) {
  if (::close(descriptor) != 0 && !error)
    return getLastError();
  return error;
}

static std::error_code writeInPlace(const std::string &path,
                                    std::string_view contents) {
  int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return getLastError();
  return closeAfter(writeAll(descriptor, contents), descriptor);
}

/// The file that a symbolic link stands for, whether or not it is there.
static std::error_code followLinks(std::string &path) {
  std::error_code error;
  for (int i = 0; i < mostLinks; ++i) {
    std::error_code none;
    if (!std::filesystem::is_symlink(path, none))
      return {};
    std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error)
      return error;
    // An absolute target stands for itself.
    path = std::filesystem::path(path).parent_path() / target;
  }
  return std::make_error_code(std::errc::too_many_symbolic_link_levels);
}

/// Creates a file beside `path`, with the permissions of new files.
static std::error_code openAside(const std::string &path, std::string &name,
                                 int &descriptor) {
  for (int i = 0; i < mostNames; ++i) {
    name = path + ".tmp" + std::to_string(::getpid()) + "-" + std::to_string(i);
    descriptor =
        ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0)
      return {};
    if (errno != EEXIST)
      break;
  }
  return getLastError();
}

std::error_code lnbwd::writeOutputFile(const std::string &path,
                                       std::string_view contents) {
  if (path == "/dev/stdout")
    return writeAll(STDOUT_FILENO, contents);
  // Links from here lead to what is open already.
  if (path.rfind("/dev/", 0) == 0 || path.rfind("/proc/", 0) == 0)
    return writeInPlace(path, contents);
  std::string target = path;
  if (std::error_code error = followLinks(target))
    return error;
  struct stat before = {};
  bool isThere = ::stat(target.c_str(), &before) == 0;
  if (isThere && !S_ISREG(before.st_mode))
    return writeInPlace(target, contents);
  if (isThere && ::access(target.c_str(), W_OK) != 0)
    return getLastError();

  std::string temporary;
  int descriptor = -1;
  if (std::error_code error = openAside(target, temporary, descriptor))
    return error;
  std::error_code error = writeAll(descriptor, contents);
  if (!error && isThere && ::fchmod(descriptor, before.st_mode & 07777) != 0)
    error = getLastError();
  error = closeAfter(error, descriptor);
  if (!error && ::rename(temporary.c_str(), target.c_str()) != 0)
    error = getLastError();
  if (error)
    ::unlink(temporary.c_str());
  return error;
}

void lnbwd::surviveFileSizeLimit() { std::signal(SIGXFSZ, SIG_IGN); }
