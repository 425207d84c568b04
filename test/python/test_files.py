# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that the package writes, whole or not at all, and reads."""

import errno
import os
import resource
import stat

import pytest

from lnbwd.core.base.files import write_whole


def limited(size):
    """For the part of a test that may write files of so many bytes."""
    class Limit:
        def __enter__(self):
            self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, self.before[1]))

        def __exit__(self, *_):
            resource.setrlimit(resource.RLIMIT_FSIZE, self.before)
    return Limit()


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    file = tmp_path / "table.json"
    file.write_text("precious")
    with limited(1000), pytest.raises(OSError) as caught:
        write_whole(file, "x" * 2000)
    assert caught.value.errno == errno.EFBIG
    assert file.read_text() == "precious"
    assert os.listdir(tmp_path) == ["table.json"]


def test_nothing_is_left_where_nothing_was(tmp_path):
    with limited(1000), pytest.raises(OSError):
        write_whole(tmp_path / "new", b"x" * 2000)
    assert os.listdir(tmp_path) == []


def test_permissions_and_links_stay(tmp_path):
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to("file")
    write_whole(link, "new")
    assert link.is_symlink() and file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    dangling = tmp_path / "dangling"
    dangling.symlink_to("later")
    write_whole(dangling, "there")
    assert dangling.is_symlink() and (tmp_path / "later").read_text() == "there"


def test_new_files_have_the_usual_permissions(tmp_path):
    mask = os.umask(0o027)
    try:
        write_whole(tmp_path / "file", "text")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_devices_are_written_to_in_place():
    write_whole("/dev/null", "text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(OSError) as caught:
        write_whole("/dev/full", "text")
    assert caught.value.errno == errno.ENOSPC
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
