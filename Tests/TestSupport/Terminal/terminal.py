"""A real terminal for a test: a pseudo-terminal whose screen is kept by pyte, and a small shell with job control.

usage: terminal.py FOLDER COLUMNS ROWS COMMAND [ARGUMENT...]

The command runs as a shell's job: in a process group of its own, in a session that the terminal controls. When it stops,
the shell takes the terminal back, and notes the terminal's mode in that moment.

Requests come as lines of JSON on standard input. The answer to request N is written to FOLDER/N, and then "N" to
standard output. FOLDER/bytes gets all that the terminal was sent.
"""
import base64
import collections
import fcntl
import json
import os
import re
import selectors
import signal
import struct
import sys
import termios
import time

import pyte


class Screen(pyte.HistoryScreen):
    """Resizes as xterm does: without reflow, and lines leave at the top only when the cursor would leave below."""

    def resize(self, lines=None, columns=None):
        lines, columns = lines or self.lines, columns or self.columns
        excess = self.lines - lines
        if excess > 0:
            above = max(0, excess - (self.lines - 1 - self.cursor.y))
            for row in range(above):
                self.history.top.append(self.buffer[row])
            rows = {row - above: self.buffer[row] for row in list(self.buffer) if above <= row < above + lines}
            self.buffer.clear()
            self.buffer.update(rows)
            self.cursor.y -= above
        if columns < self.columns:
            for line in self.buffer.values():
                for column in [column for column in line if column >= columns]:
                    del line[column]
        self.lines, self.columns = lines, columns
        self.cursor.x = min(self.cursor.x, columns - 1)
        self.set_margins()
        self.dirty.update(range(lines))

    @staticmethod
    def text(line, columns):
        """A wide character's right half is an empty cell."""
        return "".join(line[column].data for column in range(columns)).rstrip()

    def texts(self):
        return [self.text(self.buffer[row], self.columns) for row in range(self.lines)]

    def scrolled(self):
        return [self.text(line, self.columns) for line in self.history.top]


def mode(descriptor):
    """All of a terminal's mode, to be compared."""
    flags = termios.tcgetattr(descriptor)
    return " ".join([f"{flag:o}" for flag in flags[:6]] + [b"".join(
        c if isinstance(c, bytes) else bytes([c]) for c in flags[6]).hex()])


def shell(slave, orders, reports, command):
    """The job's shell: takes orders ("fg", "bg", "kill N") and reports how the job fares. Never returns."""
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    ready, go = os.pipe()
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        for number in (signal.SIGTTOU, signal.SIGHUP, signal.SIGPIPE, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        os.read(ready, 1)
        for target in (0, 1, 2):
            os.dup2(slave, target)
        os.closerange(3, 256)
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(2, f"{command[0]}: {error.strerror}\r\n".encode())
        os._exit(127)
    try:
        os.setpgid(job, job)
    except OSError:
        pass
    os.tcsetpgrp(slave, job)
    os.write(go, b"g")

    def report(**event):
        os.write(reports, (json.dumps(event) + "\n").encode())

    report(event="started", job=job)
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    waiting = selectors.DefaultSelector()
    waiting.register(wake, selectors.EVENT_READ)
    waiting.register(orders, selectors.EVENT_READ)
    alive = True
    while True:
        for key, _ in waiting.select(timeout=0.2):
            data = os.read(key.fd, 4096)
            if key.fd == wake:
                continue
            if not data:
                if alive:
                    os.killpg(job, signal.SIGKILL)
                os._exit(0)
            for order in data.decode().split():
                if not alive:
                    continue
                if order == "fg":
                    os.tcsetpgrp(slave, job)
                if order in ("fg", "bg"):
                    os.killpg(job, signal.SIGCONT)
                else:
                    os.kill(job, int(order))
        while alive:
            pid, status = os.waitpid(job, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                break
            found = mode(slave)
            os.tcsetpgrp(slave, os.getpgrp())
            if os.WIFSTOPPED(status):
                report(event="stopped", mode=found)
            else:
                alive = False
                code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
                report(event="ended", mode=found, status=code)


class Terminal:
    def __init__(self, folder, columns, rows, command):
        self.folder = folder
        self.screen = Screen(columns, rows, history=100000, ratio=0.5)
        self.stream = pyte.ByteStream(self.screen)
        self.master, self.slave = os.openpty()
        os.set_blocking(self.master, False)
        self.set_size(columns, rows)
        self.mode_before = mode(self.slave)
        self.record = open(os.path.join(folder, "bytes"), "wb")
        self.received = []  # (time, count of bytes)
        self.frames = collections.deque(maxlen=400)  # the screen at the end of each synchronized frame
        self.frame_count = 0
        self.partial = b""
        self.stops = []
        self.status = None
        self.mode_after = None
        self.pending = {}
        order_read, self.orders = os.pipe()
        self.reports, report_write = os.pipe()
        if os.fork() == 0:
            os.closerange(0, 1)
            for descriptor in (self.orders, self.reports, self.master):
                os.close(descriptor)
            shell(self.slave, order_read, report_write, command)
        os.close(order_read)
        os.close(report_write)

    def set_size(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def take(self, data):
        """Feeds the screen frame by frame, so that each finished frame can be looked at."""
        self.record.write(data)
        self.record.flush()
        self.received.append((time.monotonic(), len(data)))
        end = b"\x1b[?2026l"
        data = self.partial + data
        self.partial = b""
        # The end of a frame may arrive in two pieces.
        for length in range(min(len(end) - 1, len(data)), 0, -1):
            if data.endswith(end[:length]):
                data, self.partial = data[:-length], data[-length:]
                break
        while True:
            frame, found, rest = data.partition(end)
            self.stream.feed(frame + found)
            if not found:
                return
            data = rest
            self.frame_count += 1
            self.frames.append(self.screen.texts())

    def look(self):
        screen = self.screen
        most, window, total = 0, collections.deque(), 0
        for at, count in self.received:
            window.append((at, count))
            total += count
            while window[0][0] < at - 1:
                total -= window.popleft()[1]
            most = max(most, total)
        return {
            "lines": screen.texts(), "scrolled": screen.scrolled(), "columns": screen.columns,
            "row": screen.cursor.y, "column": screen.cursor.x, "isCursorShown": not screen.cursor.hidden,
            "mode": mode(self.slave), "modeBefore": self.mode_before, "modesAtStops": self.stops,
            "modeAfter": self.mode_after, "status": self.status, "frames": self.frame_count,
            "bytes": sum(count for _, count in self.received), "mostBytesInASecond": most,
        }

    def is_met(self, request):
        what = request.get("until")
        if what == "ended":
            return self.status is not None
        if what == "stops":
            return len(self.stops) >= request["count"]
        if what == "frames":
            return self.frame_count >= request["count"]
        text = "\n".join(self.screen.scrolled() * bool(request.get("everywhere")) + self.screen.texts())
        return (re.search(request["text"], text, re.MULTILINE) is not None) != bool(request.get("absent"))

    def answer(self, request, failure=None):
        result = {"failure": failure, "screen": self.look()}
        if request["op"] == "frames":
            result["shown"] = list(self.frames)
        path = os.path.join(self.folder, str(request["id"]))
        with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
            json.dump(result, file)
        sys.stdout.write(f"{request['id']}\n")
        sys.stdout.flush()

    def serve(self, request):
        op = request["op"]
        if op == "type":
            os.write(self.master, base64.b64decode(request["keys"]))
        elif op == "resize":
            self.screen.resize(request["rows"], request["columns"])
            # The kernel tells the foreground's processes (SIGWINCH).
            if request["told"]:
                self.set_size(request["columns"], request["rows"])
        elif op == "order":
            os.write(self.orders, (request["order"] + "\n").encode())
        elif op == "print":
            # What a shell would write between two jobs.
            os.write(self.slave, request["text"].encode())
        elif op == "wait" and not self.is_met(request):
            self.pending[request["id"]] = (request, time.monotonic() + request["limit"])
            return
        self.answer(request)

    def check_pending(self):
        now = time.monotonic()
        for number, (request, deadline) in list(self.pending.items()):
            isMet = self.is_met(request)
            if isMet or now > deadline:
                del self.pending[number]
                self.answer(request, None if isMet else "waited in vain")

    def report(self, event):
        if event["event"] == "stopped":
            self.drain()
            self.stops.append(event["mode"])
        elif event["event"] == "ended":
            self.drain()
            self.status, self.mode_after = event["status"], event["mode"]

    def drain(self):
        """What was written so far; before the job ended or stopped, all of it."""
        try:
            while data := os.read(self.master, 65536):
                self.take(data)
        except OSError:
            pass

    def run(self):
        waiting = selectors.DefaultSelector()
        for descriptor in (self.master, self.reports, 0):
            waiting.register(descriptor, selectors.EVENT_READ)
        texts = {self.reports: b"", 0: b""}
        while True:
            for key, _ in waiting.select(timeout=0.1):
                if key.fd == self.master:
                    self.drain()
                    continue
                data = os.read(key.fd, 65536)
                if not data:
                    if key.fd == 0:
                        return
                    waiting.unregister(key.fd)
                    continue
                *lines, texts[key.fd] = (texts[key.fd] + data).split(b"\n")
                for line in lines:
                    (self.serve if key.fd == 0 else self.report)(json.loads(line))
            self.check_pending()


if __name__ == "__main__":
    Terminal(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]).run()
