#!/usr/bin/env python3
"""An HTTP worker: answers a batch of jobs per POST, and checks who sent it.

    SECRET=whsec_... examples/httpworker/worker.py [PORT]

Python's standard library only. The port is printed when it listens; 0 takes a free one.
"""
import base64
import hashlib
import hmac
import http.server
import json
import os
import sys
import time

SECRET = os.environ.get("SECRET", "whsec_c3BpbGx3YXktZXhhbXBsZS1zZWNyZXQ=")
KEY = base64.b64decode(SECRET.removeprefix("whsec_"))
TOLERANCE = 300  # seconds, as Standard Webhooks says


def signed(headers, body):
    """Whether the body was signed with our secret in the last five minutes."""
    ident, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not at.isdigit() or abs(time.time() - int(at)) > TOLERANCE:
        return False
    mac = hmac.new(KEY, b".".join([ident.encode(), at.encode(), body]), hashlib.sha256)
    want = "v1," + base64.b64encode(mac.digest()).decode()
    return any(hmac.compare_digest(want, got) for got in headers.get("webhook-signature", "").split())


def tag(job):
    """What becomes of one job. job["key"] never changes: use it to make the work idempotent."""
    customer = job["data"]
    if not customer.get("email"):
        return {"index": job["index"], "status": "failed", "error": "no e-mail address"}
    return {"index": job["index"], "status": "ok", "value": customer.get("plan", "free")}


class Worker(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps the connection open between batches

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not signed(self.headers, body):
            return self.answer(401, {"error": "not signed with our secret"})
        self.answer(200, {"results": [tag(job) for job in json.loads(body)["jobs"]]})

    def answer(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 9000), Worker)
    print(server.server_address[1], flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
