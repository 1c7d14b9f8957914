#!/usr/bin/env python3
"""One run of `seqloom align` on a Ray cluster.

    seqloom_ray.py --run RUN -o out.bam [--address auto] -- [options of align] ref.fa R1.fq.gz R2.fq.gz

The graph is what `seqloom shard tasks` prints, which is shards alone while the input is scanned:
they are started as they appear. Tasks that may share a loaded index go to one warm
process per node (`seqloom shard align --shard -`); all others are processes of their own. Records
go through files of the run directory, which all nodes must see: a node that is lost costs the tasks
that it was at. The same command again goes on where the last one ended.

Exit codes of a task: 2 and 3 end the run; others are tried again, three times, on another node if
there is one. Lines of JSON on standard output say what was started and what came of it.
"""

import argparse
import collections
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import ray
from ray.exceptions import RayActorError, RayError, WorkerCrashedError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

MOST_RETRIES = 3
NO_RETRY = (2, 3)


def die_with_parent():
    """In the child: the process ends when the worker that started it does."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def run_command(command):
    """Exit code, and what the command said."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          preexec_fn=die_with_parent)
    return done.returncode, done.stderr.strip() or done.stdout.strip()


class Warm:
    """A process that keeps the index loaded and is told numbers of shards."""

    def __init__(self, command):
        self.command, self.process = command, None

    def do(self, shard):
        if self.process is None or self.process.poll() is not None:
            # What it says goes to the worker's log.
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, text=True,
                                            preexec_fn=die_with_parent)
        try:
            self.process.stdin.write(f"{shard}\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            code = self.process.wait()
            self.process = None
            return code or 1, "the process ended without an answer"
        answer = json.loads(answer)
        return answer["exit_code"], answer.get("error") or ""


class Failed(Exception):
    """A task that cannot be done."""


class Driver:
    """Starts what is ready; everything that it must remember is in the run directory."""

    def __init__(self, options, planning):
        self.options, self.planning = options, planning
        self.tasks, self.done, self.open = {}, set(), []
        self.attempts = collections.Counter()
        self.shunned = {}
        self.running = {}
        self.idle, self.workers = [], {}
        self.run_command = ray.remote(max_retries=0)(run_command)
        self.Warm = ray.remote(max_restarts=0)(Warm)

    def is_done(self, task):
        return os.path.exists(os.path.join(self.options.run, task["done"]))

    def say(self, event, **what):
        print(json.dumps({"event": event, **what}), flush=True)

    def cores(self, task, most=None):
        """Threads of a task: no more than some node has, or it would wait for ever."""
        if most is None:
            most = max((cpus for _, cpus in self.nodes()), default=1)
        return max(1, min(task["cores"], self.options.cores or task["cores"], most))

    @staticmethod
    def nodes():
        """Those that are alive and compute, with their cores."""
        found = [(node["NodeID"], int(node["Resources"].get("CPU", 0)))
                 for node in ray.nodes() if node["Alive"]]
        return [(node, cpus) for node, cpus in found if cpus >= 1]

    def look(self):
        """Takes what the plan has now; no longer, once that has ended."""
        code = self.planning.poll()
        if code not in (None, 0):
            sys.exit(code)
        for task in listed(self.options):
            name = task["id"]
            if name not in self.tasks:
                self.tasks[name] = task
                (self.done.add if self.is_done(task) else self.open.append)(name)
        if code == 0:
            self.planning = None

    def go(self):
        while self.planning or self.open or self.running:
            if self.planning:
                self.look()
            self.start_ready()
            if self.running:
                finished, _ = ray.wait(list(self.running), num_returns=1,
                                       timeout=1 if self.planning else None)
                for reference in finished:
                    self.finished(reference)
            elif self.planning:
                time.sleep(1)
            elif self.open:
                raise Failed("no task can be started: is the cluster gone?")

    def start_ready(self):
        self.add_workers()
        for name in list(self.open):
            task = self.tasks[name]
            if not all(need in self.done for need in task["needs"]):
                continue
            if task["verb"] == "align":
                if self.idle:
                    self.open.remove(name)
                    self.start_warm(name, self.idle.pop())
            else:
                self.stop_workers()
                self.open.remove(name)
                self.start_cold(name, task)

    def add_workers(self):
        """A warm process on each node that has none, while there are shards to align."""
        if not any(self.tasks[name]["verb"] == "align" for name in self.open):
            return
        task = next(task for task in self.tasks.values() if task["verb"] == "align")
        for identity, cpus in self.nodes():
            if identity in self.workers:
                continue
            cores = self.cores(task, cpus)
            command = [self.options.seqloom, "shard", "align", "--run", self.options.run,
                       "--shard", "-", "--quiet", "-t", str(cores)]
            where = NodeAffinitySchedulingStrategy(node_id=identity, soft=False)
            worker = self.Warm.options(num_cpus=cores, memory=task["memory_floor_bytes"],
                                       scheduling_strategy=where).remote(command)
            self.workers[identity] = worker
            self.idle.append(identity)

    def stop_workers(self):
        """The cores of those that have nothing more to align are free for others."""
        if self.planning or any(self.tasks[name]["verb"] == "align" for name in self.open):
            return
        for node in self.idle:
            ray.kill(self.workers[node])
        self.idle = []

    def start_warm(self, name, node):
        shard = name.rsplit("/", 1)[1]
        self.say("start", task=name, node=node)
        self.running[self.workers[node].do.remote(int(shard))] = (name, node)

    def start_cold(self, name, task):
        command = [self.options.seqloom, "shard", task["verb"], *task["arguments"], "--quiet",
                   "-t", str(self.cores(task))]
        where = "SPREAD"
        nodes = [node for node, _ in self.nodes() if node != self.shunned.get(name)]
        if name in self.shunned and nodes:
            where = NodeAffinitySchedulingStrategy(node_id=nodes[0], soft=True)
        self.say("start", task=name)
        reference = self.run_command.options(
            num_cpus=self.cores(task), memory=task["memory_floor_bytes"],
            scheduling_strategy=where).remote(command)
        self.running[reference] = (name, None)

    def finished(self, reference):
        name, node = self.running.pop(reference)
        try:
            code, text = ray.get(reference)
        except (RayActorError, WorkerCrashedError, RayError) as error:
            code, text = 1, f"its node or worker was lost: {type(error).__name__}"
            self.workers.pop(node, None)
            node = None
        if node is not None:
            self.idle.append(node)
        if code == 0 and self.is_done(self.tasks[name]):
            self.done.add(name)
            self.say("done", task=name)
            return
        self.say("failed", task=name, exit_code=code, error=text)
        self.attempts[name] += 1
        if code in NO_RETRY or self.attempts[name] > MOST_RETRIES:
            raise Failed(f"{name}: {text}")
        self.shunned[name] = node
        self.open.insert(0, name)


def listed(options):
    """All tasks that are known of the run; none before the plan has a head."""
    if not os.path.exists(os.path.join(options.run, "plan.head.json")):
        return []
    command = [options.seqloom, "shard", "tasks", "--run", options.run]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in lines.splitlines()]


def once(command):
    """A step of the driver's own."""
    code = subprocess.run(command, preexec_fn=die_with_parent).returncode
    if code != 0:
        sys.exit(code)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", required=True, help="run directory, seen by all nodes")
    parser.add_argument("-o", "--output", required=True, help="BAM file")
    parser.add_argument("--gather", action="append", default=[], metavar="OPTION",
                        help="further option of `seqloom shard gather`, such as --gather=--md5")
    parser.add_argument("--address", help="Ray cluster [default: one of this machine alone]")
    parser.add_argument("--seqloom", default="seqloom", help="the program")
    parser.add_argument("--cores", type=int, default=0, help="threads of a task at most")
    parser.add_argument("align", nargs="*", help="options and files of `seqloom shard plan`")
    options = parser.parse_args()
    options.run = os.path.abspath(options.run)
    return options


def main():
    options = arguments()
    if options.address:
        ray.init(address=options.address, log_to_driver=False)
    else:
        # Sockets have names of at most 107 bytes: a short folder, whatever TMPDIR is.
        ray.init(_temp_dir=tempfile.mkdtemp(prefix="sl", dir="/tmp"), log_to_driver=False,
                 include_dashboard=False)
    plan = [options.seqloom, "shard", "plan", "--run", options.run, *options.align]
    planning = subprocess.Popen(plan if options.align else ["true"], preexec_fn=die_with_parent)
    try:
        Driver(options, planning).go()
    except Failed as error:
        sys.exit(f"seqloom_ray: {error}")
    once([options.seqloom, "shard", "gather", "--run", options.run, "-o", options.output,
          *options.gather])


if __name__ == "__main__":
    main()
