"""usage: moto_server.py FOLDER: moto as a store of S3 that checks each signature, with botocore's code.

Prints a line: its port, and key and secret of a user who may read. Each file of FOLDER becomes an object of the bucket `bucket`, again
whenever it changes; `put NAME SIZE` is printed then. `%2F` in a name is a slash.
"""
import json
import os
import sys
import threading
import time
import urllib.parse
import urllib.request

os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = "none"
import boto3
from botocore.config import Config
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

folder = sys.argv[1]
application = DomainDispatcherApplication(create_backend_app)
# One request at a time: with threads, a signature in some thousands is compared with another request's.
server = make_server("127.0.0.1", 0, application)
threading.Thread(target=server.serve_forever, daemon=True).start()
endpoint = f"http://127.0.0.1:{server.port}"
iam = boto3.client("iam", endpoint_url=endpoint)
iam.create_user(UserName="reader")
allowed = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
iam.put_user_policy(
    UserName="reader", PolicyName="all", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [allowed]}))
key = iam.create_access_key(UserName="reader")["AccessKey"]
store = boto3.client(
    "s3", endpoint_url=endpoint, aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"],
    config=Config(s3={"addressing_style": "path"}))
store.create_bucket(Bucket="bucket")
# From now on nothing is allowed without a signature.
urllib.request.urlopen(urllib.request.Request(f"{endpoint}/moto-api/reset-auth", data=b"0", headers={"Content-Type": "text/plain"}, method="POST"))
known = {}


def put():
    for entry in os.scandir(folder):
        status = entry.stat()
        version = (status.st_mtime_ns, status.st_size)
        if not entry.is_file() or known.get(entry.name) == version:
            continue
        with open(entry.path, "rb") as file:
            store.put_object(Bucket="bucket", Key=urllib.parse.unquote(entry.name), Body=file.read())
        known[entry.name] = version
        print("put", entry.name, status.st_size, flush=True)


print(server.port, key["AccessKeyId"], key["SecretAccessKey"], flush=True)
while True:
    put()
    time.sleep(0.05)
