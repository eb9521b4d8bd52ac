"""Runs one command and prints its exit status, wall seconds, CPU seconds and peak memory in bytes.

usage: measure.py SECONDS FOLDER OUTPUT PROGRAM [ARGUMENT…]

A process of its own that imports little: Linux counts the memory of whoever starts a program into the peak of
that program. So a peak below that of this script, some 8 MiB, cannot be seen; the benchmark's does not count.
"""

import os
import signal
import sys
import time


def main():
    seconds, folder, output, *command = sys.argv[1:]
    os.chdir(folder)
    files = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    child = None

    def end_child(*_):
        if child is None:
            os._exit(1)  # nothing has begun
        os.kill(child, signal.SIGKILL)

    for number in (signal.SIGALRM, signal.SIGTERM):
        signal.signal(number, end_child)
    signal.alarm(int(seconds))
    start = time.perf_counter()
    # Python ignores SIGPIPE, and a child would inherit that.
    child = os.posix_spawn(command[0], command, os.environ, file_actions=files, setsigdef=[signal.SIGPIPE])
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    print(os.waitstatus_to_exitcode(status), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


main()
