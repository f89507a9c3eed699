#!/usr/bin/env python3
"""A pull worker: asks for jobs, does them, says what became of them. It needs no address of its own.

    SPILLWAY_API_KEY=... examples/pullworker/worker.py [SERVER]

Python's standard library only. --once ends it when there is no more work.
"""
import json
import os
import sys
import time
import urllib.error
import urllib.request

ARGS = [a for a in sys.argv[1:] if a != "--once"]
ONCE = "--once" in sys.argv
SERVER = ARGS[0] if ARGS else "http://127.0.0.1:8080"


def call(path, body):
    """POSTs JSON; None for an empty answer."""
    headers = {"content-type": "application/json"}
    if os.environ.get("SPILLWAY_API_KEY"):
        headers["authorization"] = "Bearer " + os.environ["SPILLWAY_API_KEY"]
    request = urllib.request.Request(SERVER + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read()
        return json.loads(text) if text else None


def tag(job):
    """What becomes of one job. Long work would call /v1/leases/{lease}/extend before the deadline."""
    customer = job["data"]
    if not customer.get("email"):
        return {"index": job["index"], "status": "failed", "error": "no e-mail address"}
    return {"index": job["index"], "status": "ok", "value": customer.get("plan", "free")}


def main():
    done = 0
    while True:
        try:
            lease = call("/v1/leases", {"actions": ["tag"], "max": 100, "wait_ms": 1000 if ONCE else 10000})
            if lease is None:
                if ONCE and done:
                    break
                continue
            results = [tag(job) for job in lease["jobs"]]
            done += call("/v1/leases/%s/settle" % lease["lease"], {"results": results})["accepted"]
        except urllib.error.HTTPError as e:
            if e.code != 409:  # 409: the lease ran out and someone else has the jobs
                sys.exit("%s: %s" % (e, e.read().decode(errors="replace")))
        except OSError as e:
            print("the server does not answer (%s); trying again" % e, file=sys.stderr)
            time.sleep(1)
    print("%d jobs done" % done)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
