"""Records `dlm get` on a terminal, from the demo's server: an asciicast (version 2), and a moment of it as SVG.

usage: record.py DLM FOLDER
"""
import fcntl
import html
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time

import pyte

from terminal import Screen

COLUMNS, ROWS = 100, 22
CELL, LINE = 8.4, 19
COLOURS = {
    "default": "#d7dae0", "red": "#f07178", "green": "#a5d6a7", "brown": "#e6c07b", "cyan": "#6cb6ff",
    "brightblack": "#7d8590",
}


def serve(dlm):
    """Starts the demo's server, far away and slow. Its process, and its addresses."""
    words = [dlm, "demo", "--serve", "--latency", "150", "--connection-rate", "110K"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    addresses = []
    for line in server.stdout:
        if not line.startswith("http"):
            break
        addresses.append(line.strip())
    return server, addresses


def record(command, folder):
    """Runs a command on a terminal. All that it writes, each with its time."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        keep = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        keep.update({f"XDG_{name}_HOME": f"{folder}/{name}" for name in ("CACHE", "STATE", "CONFIG")})
        os.execve(command[0], command, keep)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    start = time.monotonic()
    written = []
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        written.append((time.monotonic() - start, data))
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status not in (0, 1):
        sys.exit(f"dlm ended with {status}")
    return written


def moment(written, prompt):
    """The screen when a bit more than half has come."""
    screen = Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    stream.feed(prompt)
    for _, data in written:
        # pyte has no dim text, but a colour that looks like it.
        stream.feed(re.sub(rb"\x1b\[((?:0;)?)2m", lambda found: b"\x1b[" + found[1] + b"90m", data))
        total = re.search(r"^ +\d+/\d+.* (\d+)%", "\n".join(screen.texts()), re.MULTILINE)
        running = sum(bool(re.match(r"  \S+ .*%", line)) for line in screen.texts())
        if total and int(total[1]) >= 55 and running >= 5:
            return screen
    sys.exit("the run was over before half of it was seen")


def svg(screen):
    rows = [row for row in range(ROWS) if screen.text(screen.buffer[row], COLUMNS)]
    height = (rows[-1] + 1) * LINE + 24
    width = COLUMNS * CELL + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}">',
        '<rect width="100%" height="100%" rx="8" fill="#1b1f27"/>',
        '<g font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14">',
    ]
    for row in rows:
        line = screen.buffer[row]
        column = 0
        while column < COLUMNS:
            first, cell = column, line[column]
            text = ""
            while column < COLUMNS and (line[column].fg, line[column].bold) == (cell.fg, cell.bold):
                text += line[column].data
                column += 1
            weight = ' font-weight="bold"' if cell.bold else ""
            # Only what stands between wide gaps, each at its place: browsers differ in what they make of blanks.
            for piece in re.finditer(r"\S+( \S+)*", text):
                start, length = (first + piece.start()) * CELL, len(piece[0]) * CELL
                parts.append(
                    f'<text x="{12 + start:.1f}" y="{26 + row * LINE}" textLength="{length:.1f}" '
                    f'lengthAdjust="spacingAndGlyphs" fill="{COLOURS.get(cell.fg, COLOURS["default"])}"{weight}>'
                    f"{html.escape(piece[0])}</text>")
    return "\n".join(parts + ["</g>", "</svg>", ""])


def main():
    dlm, target = sys.argv[1:]
    prompt = "$ dlm get urls.txt -d files\r\n".encode()
    with tempfile.TemporaryDirectory() as folder:
        server, addresses = serve(dlm)
        try:
            missing = addresses[0].rsplit("/", 1)[0] + "/archives/moved.tar.gz"
            with open(f"{folder}/urls.txt", "w", encoding="utf-8") as file:
                file.write("\n".join(addresses + [missing]) + "\n")
            written = record([dlm, "get", "urls.txt", "-d", "files"], folder)
        finally:
            server.terminate()
            server.wait()
    with open(f"{target}/display.cast", "w", encoding="utf-8") as file:
        file.write(json.dumps({"version": 2, "width": COLUMNS, "height": ROWS, "title": "dlm get"}) + "\n")
        events = [(0.0, prompt)] + [(at + 0.8, data) for at, data in written]
        rest = b""
        for at, data in events:
            # A character may have come in two pieces.
            data = rest + data
            text = data.decode("utf-8", errors="ignore")
            rest = data[len(text.encode()):]
            file.write(json.dumps([round(at, 3), "o", text], ensure_ascii=False) + "\n")
    with open(f"{target}/display.svg", "w", encoding="utf-8") as file:
        file.write(svg(moment(written, prompt)))


if __name__ == "__main__":
    main()
