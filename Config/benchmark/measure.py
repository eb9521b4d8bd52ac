"""Runs one command and prints its exit status, wall seconds, CPU seconds and peak memory in bytes.

usage: measure.py SECONDS FOLDER OUTPUT PROGRAM [ARGUMENT…]

OUTPUT is a file. Behind `terminal:` it gets what a terminal of 120 columns and 40 rows was sent.

A process of its own that imports little: Linux counts the memory of whoever starts a program into the peak of
that program. So a peak below that of this script, some 8 MiB, cannot be seen; the benchmark's does not count.
"""

import os
import signal
import sys
import time

TERMINAL = "terminal:"


def main():
    seconds, folder, output, *command = sys.argv[1:]
    os.chdir(folder)
    in_terminal = output.startswith(TERMINAL)
    if in_terminal:
        # Opened by the leader of a new session, it becomes the terminal that the command is in front of.
        files = [(os.POSIX_SPAWN_OPEN, 0, open_terminal(output[len(TERMINAL):]), os.O_RDWR, 0), (os.POSIX_SPAWN_DUP2, 0, 1)]
    else:
        files = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        ]
    files.append((os.POSIX_SPAWN_DUP2, 1, 2))
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
    child = os.posix_spawn(command[0], command, os.environ, file_actions=files, setsid=in_terminal,
                           setsigdef=[signal.SIGPIPE])
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    print(os.waitstatus_to_exitcode(status), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def open_terminal(output):
    """A terminal's path. What is written to it is read at once, into that file."""
    import fcntl
    import struct
    import termios
    import threading

    reader, writer = os.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))

    def drain():
        with open(output, "ab", buffering=0) as file:
            while text := os.read(reader, 65536):
                file.write(text)

    threading.Thread(target=drain, daemon=True).start()
    return os.ttyname(writer)


main()
