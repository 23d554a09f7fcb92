"""Starts moto's S3 with files of a folder in a bucket, and a user whose credentials it checks.

Usage: `python moto_here.py FOLDER`, in an environment with moto. It prints a line of JSON (the
port, and keys of a user that may read and of one that may not), and ends with its standard input.
"""

import json
import os
import sys
from pathlib import Path
from urllib.request import Request, urlopen

# boto3 signs with these while moto checks nothing.
os.environ |= {
    "AWS_ACCESS_KEY_ID": "first",
    "AWS_SECRET_ACCESS_KEY": "first",
    "AWS_DEFAULT_REGION": "eu-west-1",
}

import boto3
from moto.server import ThreadedMotoServer

POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}],
}


def main(folder: Path) -> None:
    """Serve until the end of standard input."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    at = {"endpoint_url": f"http://127.0.0.1:{port}", "region_name": "eu-west-1"}
    s3, iam = boto3.client("s3", **at), boto3.client("iam", **at)
    s3.create_bucket(Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    for path in folder.rglob("*"):
        if path.is_file():
            s3.upload_file(str(path), "bucket", str(path.relative_to(folder)))
    users = []
    for name, policy in (("reader", POLICY), ("nobody", None)):
        iam.create_user(UserName=name)
        if policy is not None:
            iam.put_user_policy(UserName=name, PolicyName="all", PolicyDocument=json.dumps(policy))
        key = iam.create_access_key(UserName=name)["AccessKey"]
        users.append({"key": key["AccessKeyId"], "secret": key["SecretAccessKey"]})
    # From now on, requests must be signed by one of the users.
    text = {"Content-Type": "text/plain"}
    urlopen(Request(f"http://127.0.0.1:{port}/moto-api/reset-auth", b"0", text)).close()
    print(json.dumps({"port": port, "users": users}), flush=True)
    sys.stdin.read()
    server.stop()


main(Path(sys.argv[1]))
