"""An FTP server (RFC 959) that serves a folder and goes wrong as the name of a file says.

    /usr/bin/python3 ftp_server.py FOLDER [FAULT]…

It prints its port, and then each command, a line each. A fault is NAME=WORD, for the file of that name; `*` is for all:

    no-size, no-mdtm, no-rest   the command is refused
    size=N                      SIZE says N
    silent                      RETR is never answered
    cut=N                       the data connection ends after N bytes, with 426
    quiet-cut=N                 the same, with 226
    no-226                      nothing follows the data
    close                       the control connection ends in place of 226
    reply=CODE                  RETR is refused with that code
    reply-once=CODE             the same, the first time
    ignore-rest                 REST is accepted, and the data starts at 0
    foreign-pasv                the data connection is said to be at 192.0.2.1 (only PASV)
    greeting=CODE               each connection is greeted so, and closed
    greeting-after=N            the connections after N at a time are greeted with 421
    banner                      the greeting has lines of an HTTP answer in it
    listing=TEXT                LIST answers with this text, `|` for a line end
    login                       only user "me" with password "right" may log in
"""

import os
import socket
import sys
import threading
import time

folder = sys.argv[1]
faults = [fault.split("=", 1) for fault in sys.argv[2:]]
lock = threading.Lock()
seen = set()
open_count = 0


def fault(name, word):
    """The value behind `word`, "" without one; None without the fault."""
    for file, text in faults:
        kind, _, value = text.partition("=")
        if file in ("*", name) and kind == word:
            return value
    return None


def once(key):
    with lock:
        first = key not in seen
        seen.add(key)
        return first


class Session(threading.Thread):
    def __init__(self, control):
        super().__init__(daemon=True)
        self.control, self.place, self.rest, self.listener, self.user = control, "/", 0, None, ""

    def say(self, text):
        self.control.sendall(text.encode() + b"\r\n")

    def run(self):
        global open_count
        with lock:
            open_count += 1
            count = open_count
        try:
            self.serve(count)
        except OSError:
            pass
        finally:
            with lock:
                open_count -= 1
            self.control.close()

    def serve(self, count):
        most = fault("*", "greeting-after")
        code = fault("*", "greeting") or (most is not None and count > int(most) and "421")
        if code:
            return self.say(f"{code} too many connections")
        if fault("*", "banner") is not None:
            self.say("220-HTTP/1.1 301 Moved\r\nHTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\n\r\n220 hello")
        else:
            self.say("220 hello")
        for line in self.control.makefile("rb"):
            text = line.rstrip(b"\r\n").decode("latin-1")
            with lock:
                print(text, flush=True)
            verb, _, argument = text.partition(" ")
            if not getattr(self, "do_" + verb.lower(), self.unknown)(argument.encode("latin-1").decode("utf-8", "replace")):
                return

    def unknown(self, _):
        self.say("500 unknown")
        return True

    def done(self, text):
        self.say(text)
        return True

    def do_user(self, name):
        self.user = name
        return self.done("331 password")

    def do_pass(self, password):
        wrong = fault("*", "login") is not None and (self.user, password) != ("me", "right")
        return self.done("530 login incorrect" if wrong else "230 in")

    def do_pwd(self, _):
        return self.done('257 "/"')

    def do_type(self, _):
        return self.done("200 type")

    def do_quit(self, _):
        self.say("221 bye")
        return False

    def path(self, name):
        return os.path.normpath(os.path.join(self.place, name))

    def real(self, name):
        return folder + self.path(name)

    def do_cwd(self, name):
        if not os.path.isdir(self.real(name)):
            return self.done("550 no such folder")
        self.place = self.path(name)
        return self.done("250 there")

    def do_size(self, name):
        said = fault(os.path.basename(name), "size")
        if fault(os.path.basename(name), "no-size") is not None or not os.path.isfile(self.real(name)):
            return self.done("550 no size")
        return self.done(f"213 {said or os.path.getsize(self.real(name))}")

    def do_mdtm(self, name):
        if fault(os.path.basename(name), "no-mdtm") is not None or not os.path.isfile(self.real(name)):
            return self.done("550 no time")
        return self.done("213 " + time.strftime("%Y%m%d%H%M%S", time.gmtime(os.path.getmtime(self.real(name)))))

    def do_rest(self, offset):
        if fault("*", "no-rest") is not None:
            return self.done("502 no")
        self.rest = int(offset)
        return self.done("350 restarting")

    def listen(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        return self.listener.getsockname()[1]

    def do_epsv(self, _):
        if fault("*", "foreign-pasv") is not None:
            return self.done("500 no")
        return self.done(f"229 passive (|||{self.listen()}|)")

    def do_pasv(self, _):
        port = self.listen()
        return self.done(f"227 passive (192,0,2,1,{port // 256},{port % 256})")

    def do_list(self, name):
        listing = fault("*", "listing")
        lines = [listing.replace("|", "\r\n")] if listing is not None else []
        for entry in sorted(os.scandir(self.real(name or ".")), key=lambda entry: entry.name):
            if listing is None:
                kind = "d" if entry.is_dir() else "-"
                lines.append(f"{kind}rw-r--r-- 1 ftp ftp {entry.stat().st_size:10} Jan  2 2024 {entry.name}\r\n")
        self.say("150 names")
        connection, _ = self.listener.accept()
        connection.sendall("".join(lines).encode())
        connection.close()
        return self.done("226 done")

    def do_retr(self, path):
        name = os.path.basename(path)
        start, self.rest = self.rest, 0
        refusal = fault(name, "reply") or (once(("reply", name)) and fault(name, "reply-once"))
        if refusal:
            return self.done(f"{refusal} refused")
        if not os.path.isfile(self.real(path)):
            return self.done("550 no such file")
        if fault(name, "silent") is not None:
            time.sleep(3600)
        with open(self.real(path), "rb") as file:
            data = file.read()
        if fault(name, "ignore-rest") is None:
            data = data[start:]
        quiet, loud = fault(name, "quiet-cut"), fault(name, "cut")
        cut = quiet or (loud and once(("cut", name)) and loud)
        self.say("150 here it comes")
        connection, _ = self.listener.accept()
        connection.sendall(data[:int(cut)] if cut else data)
        connection.close()
        self.listener.close()
        if fault(name, "no-226") is not None:
            time.sleep(3600)
        if fault(name, "close") is not None:
            return False
        return self.done("426 aborted" if cut and not quiet else "226 complete")


server = socket.create_server(("127.0.0.1", 0), backlog=128)
print(server.getsockname()[1], flush=True)
while True:
    Session(server.accept()[0]).start()
