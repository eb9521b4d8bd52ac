"""A server of the benchmark's own on loopback, from its start to its end."""

import contextlib
import socket
import subprocess
import time


class Server:
    """A running program; `with` waits until it serves, and ends it."""

    def __init__(self, command, **streams):
        # In a session of its own: Ctrl-C is for the benchmark, which ends the server; and Apache signals its whole
        # process group when it ends.
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **streams)

    def prepare(self):
        """Returns when it serves; called by `with`."""
        raise NotImplementedError

    def __enter__(self):
        try:
            self.prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        # No SIGINT: what was started in the background by a shell may have it ignored.
        self.process.terminate()
        self.process.wait()

    def wait_for(self, port, log):
        """Returns when the port takes connections; else says what stands in the log."""
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        words = log.read_text() if log.exists() else ""
        raise RuntimeError(f"{self.process.args[0]} did not start: {words}")


def free_ports(count):
    """Ports that are free now: all are held until each is known, so that no two are the same."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for held in sockets:
            held.bind(("127.0.0.1", 0))
        return [held.getsockname()[1] for held in sockets]
