"""Storage that speaks S3 (GET, HEAD, ListObjectsV2), and checks each signature with code of its own.

    /usr/bin/python3 s3_server.py FOLDER [FAULT]…

It prints its port, and then each request: status, path with query, and whether it was signed. FOLDER has a folder for
each bucket. The login is the access key `AK/+key` with the secret `SK/+secret`; without `anonymous`, one is needed.

    anonymous       requests without a signature are answered, too
    token=TEXT      the session token that a request must have
    region=NAME     the bucket's region, by which signatures are checked; others get a 301 that names it
    skew            the clock is wrong
    page=N          keys in a page of a listing
    expire-after=N  after N requests the login has expired, until the token ends with another letter
    payer           x-amz-request-payer is needed
    tag=TEXT        behind the MD5 in an object's tag
    encryption=TEXT how objects are encrypted
    corrupt         the last byte of each object is another one
"""

import hashlib
import hmac
import http.server
import os
import sys
import threading
import urllib.parse
from xml.sax.saxutils import escape

folder = sys.argv[1]
faults = dict((fault.split("=", 1) + [""])[:2] for fault in sys.argv[2:])
KEY, SECRET = "AK/+key", "SK/+secret"
lock = threading.Lock()
count = 0


def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def refuse(self, status, code, message="no"):
        text = f'<?xml version="1.0"?>\n<Error><Code>{code}</Code><Message>{message}</Message></Error>'
        self.answer(status, text.encode(), {"Content-Type": "application/xml"})

    def answer(self, status, body, headers=None):
        signed = "signed" if "Authorization" in self.headers else "open"
        with lock:
            print(status, self.path, signed, flush=True)
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def problem(self):
        """Why the request is refused; None if it is not."""
        authorization = self.headers.get("Authorization")
        if authorization is None:
            return None if "anonymous" in faults else (403, "AccessDenied", "Access Denied")
        fields = dict(part.strip().split("=", 1) for part in authorization.split(" ", 1)[1].split(","))
        key, day, region, service, end = fields["Credential"].rsplit("/", 4)
        if key != KEY:
            return 403, "InvalidAccessKeyId", "The key does not exist"
        path, _, query = self.path.partition("?")
        values = sorted((name, value) for name, _, value in (item.partition("=") for item in query.split("&") if item))
        names = fields["SignedHeaders"].split(";")
        canonical = "\n".join([
            self.command, path, "&".join(f"{name}={value}" for name, value in values),
            *(f"{name}:{self.headers[name].strip()}" for name in names), "", ";".join(names),
            self.headers["x-amz-content-sha256"]])
        text = "\n".join(["AWS4-HMAC-SHA256", self.headers["x-amz-date"], f"{day}/{region}/{service}/{end}",
                          hashlib.sha256(canonical.encode()).hexdigest()])
        secret = b"AWS4" + SECRET.encode()
        for part in (day, region, service, end):
            secret = sign(secret, part)
        if not hmac.compare_digest(sign(secret, text).hex(), fields["Signature"]):
            return 403, "SignatureDoesNotMatch", "The signature does not match &amp; so on"
        # The path is in the one form that a signature may have.
        if urllib.parse.quote(urllib.parse.unquote_to_bytes(path), safe="/-._~") != path:
            return 403, "SignatureDoesNotMatch", "the path is not canonical"
        if "token" in faults and self.headers.get("x-amz-security-token") != faults["token"]:
            return 403, "InvalidToken", "The token is wrong"
        if "skew" in faults:
            return 403, "RequestTimeTooSkewed", "The difference is too large"
        if "payer" in faults and self.headers.get("x-amz-request-payer") != "requester":
            return 403, "AccessDenied", "Access Denied"
        return None

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        global count
        with lock:
            count += 1
            number = count
        problem = self.problem()
        if problem:
            return self.refuse(*problem)
        after = faults.get("expire-after")
        if after and number > int(after) and not self.headers.get("x-amz-security-token", "").endswith("2"):
            return self.refuse(400, "ExpiredToken", "The token has expired")
        path, _, query = self.path.partition("?")
        bucket, _, key = urllib.parse.unquote(path[1:]).partition("/")
        values = dict(urllib.parse.parse_qsl(query))
        if values.get("list-type") == "2":
            return self.list(bucket, values)
        name = f"{folder}/{bucket}/{key.replace('/', '%2F')}"
        if "versionId" in values:
            name += "." + values["versionId"]
        if not os.path.isfile(name):
            return self.refuse(404, "NoSuchKey", "The key does not exist")
        with open(name, "rb") as file:
            data = file.read()
        tag = '"' + hashlib.md5(data).hexdigest() + faults.get("tag", "") + '"'
        headers = {"ETag": tag, "Last-Modified": "Tue, 02 Jan 2024 03:04:05 GMT", "Accept-Ranges": "bytes"}
        if "encryption" in faults:
            headers["x-amz-server-side-encryption"] = faults["encryption"]
        if "corrupt" in faults:
            data = data[:-1] + bytes([data[-1] ^ 1])
        if self.headers.get("If-None-Match") == tag:
            return self.answer(304, b"", headers)
        wanted = self.headers.get("Range")
        if wanted and self.headers.get("If-Range", tag) == tag:
            first, _, last = wanted.split("=")[1].partition("-")
            end = int(last) + 1 if last else len(data)
            headers["Content-Range"] = f"bytes {first}-{end - 1}/{len(data)}"
            return self.answer(206, data[int(first):end], headers)
        self.answer(200, data, headers)

    def list(self, bucket, values):
        prefix, start = values.get("prefix", ""), values.get("continuation-token", "")
        keys = sorted(name.replace("%2F", "/") for name in os.listdir(f"{folder}/{bucket}"))
        keys = [key for key in keys if key.startswith(prefix) and key > start]
        size = int(faults.get("page", 1000))
        page, more = keys[:size], keys[size:]
        files = [key for key in page if "/" not in key[len(prefix):]]
        folders = sorted({key[:key.index("/", len(prefix)) + 1] for key in page if "/" in key[len(prefix):]})
        text = "".join(f"<Contents><Key>{escape(key)}</Key><Size>1</Size></Contents>" for key in files)
        text += "".join(f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in folders)
        if more:
            text += f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>"
        body = f'<?xml version="1.0"?><ListBucketResult><Prefix>{escape(prefix)}</Prefix>{text}</ListBucketResult>'
        self.answer(200, body.encode(), {"Content-Type": "application/xml"})

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
