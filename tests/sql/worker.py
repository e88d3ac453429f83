"""Runs scripts in processes of their own: one that never comes back, or takes its client library down, costs that script only."""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import script as scripts

SCRIPT_SECONDS_MAX = 120


def run_all(chosen, dsn_of, user, password, jobs):
    """The answers of each script, in order: (script, lists of lines, or what went wrong as a text)."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from zip(chosen, pool.map(lambda script: run_one(script, dsn_of(script), user, password), chosen))


def run_one(script, dsn, user, password):
    with tempfile.TemporaryFile("w+") as output:
        arguments = [sys.executable, __file__, str(script.path), dsn, user, password]
        try:
            done = subprocess.run(arguments, stdout=output, timeout=SCRIPT_SECONDS_MAX, env=os.environ)
        except subprocess.TimeoutExpired:
            return answers_of(output), f"no end within {SCRIPT_SECONDS_MAX} seconds"
        answers = answers_of(output)
        wrong = f"ended with exit code {done.returncode}" if done.returncode or len(answers) < len(script.statements) else None
        return answers, wrong


def answers_of(output):
    output.seek(0)
    return [json.loads(line) for line in output if line.endswith("\n")]


def main():
    import pathlib

    from side import Side

    path, dsn, user, password = sys.argv[1:]
    script = scripts.read(pathlib.Path(path))
    side = Side(dsn, user, password, script)
    for statement in script.statements:
        print(json.dumps(side.answer(statement.text)), flush=True)
    side.close()


if __name__ == "__main__":
    main()
