"""Three Ray nodes on this machine do one run; one is killed while reads are aligned and one while
the output is finished.

    shard_ray.py SEQLOOM RUN OUTPUT [--kill-again] -- [options of align] ref.fa R1 R2

Prints what was started, lost and repeated as one line of JSON. With --kill-again the driver itself
is killed too, once reads are aligned, and started again.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

# On a machine that others use, too, a node may take long to start.
os.environ.setdefault("RAY_raylet_start_wait_time_s", "300")

from ray.cluster_utils import Cluster  # noqa: E402

DRIVER = pathlib.Path(__file__).resolve().parent.parent / "workflow" / "seqloom_ray.py"
NODE = {"num_cpus": 1, "object_store_memory": 80 << 20, "memory": 4 << 30}


def watch(process, on_event, events):
    for line in process.stdout:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        events.append(event)
        on_event(event, events)


def main():
    split = sys.argv.index("--")
    seqloom, run, output, *flags = sys.argv[1:split]
    head = {"num_cpus": 0, "object_store_memory": 80 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(**NODE) for _ in range(3)]
    cluster.wait_for_nodes()
    killed = []

    def kill_node(when):
        killed.append(when)
        threading.Thread(target=cluster.remove_node, args=(nodes.pop(), False)).start()

    def on_event(event, events):
        started = [it["task"] for it in events if it["event"] == "start"]
        aligned = [it for it in events if it["event"] == "done" and it["task"][0] == "a"]
        if "align" not in killed and len(started) >= 3:
            kill_node("align")
        if "--kill-again" in flags and "driver" not in killed and len(aligned) >= 2:
            killed.append("driver")
            process.send_signal(signal.SIGKILL)
        if "finish" not in killed and any(it.startswith("finish") for it in started):
            kill_node("finish")

    command = [sys.executable, DRIVER, "--run", run, "-o", output, "--address", cluster.address,
               "--seqloom", seqloom, "--", *sys.argv[split + 1:]]
    events, runs = [], 0
    while True:
        runs += 1
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        watch(process, on_event, events)
        code = process.wait()
        if code != -signal.SIGKILL:
            break
    count = {name: sum(it["event"] == name for it in events) for name in ("start", "done", "failed")}
    failed = [it for it in events if it["event"] == "failed"]
    print(json.dumps({"killed": killed, "driver_runs": runs, "exit_code": code, **count,
                      "failures": failed}), flush=True)
    cluster.shutdown()
    sys.exit(code)


if __name__ == "__main__":
    main()
