"""Runs scripts at a real Firebird and writes NAME.expected beside each NAME.sql."""

import argparse
import sys

import script as scripts
import worker


def main():
    parser = argparse.ArgumentParser(prog="tests/sql/record", description=__doc__)
    parser.add_argument("names", nargs="*", help="CHAPTER or CHAPTER/NAME; all without")
    parser.add_argument("--target", required=True, help="HOST/PORT:FOLDER of a Firebird server")
    parser.add_argument("--user", default="SYSDBA")
    parser.add_argument("--password", required=True)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    wrong = 0
    dsn_of = lambda script: f"{options.target}/{script.name.replace('/', '-')}.fdb"
    for script, (answers, problem) in worker.run_all(
            scripts.all_scripts(options.names), dsn_of, options.user, options.password, options.jobs):
        if problem:
            wrong += 1
            print(f"{script.name}: {problem}, {len(answers)} of {len(script.statements)} statements answered")
            continue
        scripts.write_expected(script, answers)
        print(f"{script.name}: {len(answers)} statements")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
