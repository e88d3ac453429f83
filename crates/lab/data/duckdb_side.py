# Runs DuckDB for `farbird bench sql`: a line of standard input is a statement, as a text of JSON; a line of standard output is its
# rows, all cells as texts or null, or what DuckDB said. The one argument is the database file.
import json
import os
import signal
import sys

import duckdb

# Ctrl-C is the benchmark's affair, which ends this process.
signal.signal(signal.SIGINT, signal.SIG_IGN)
# Only replies go to standard output: DuckDB draws the progress of what takes long there.
replies = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
connection = duckdb.connect(sys.argv[1])
connection.execute("set enable_progress_bar = false")
for line in sys.stdin:
    try:
        result = connection.execute(json.loads(line))
        rows = result.fetchall() if result.description else []
        reply = {"rows": [[None if cell is None else str(cell) for cell in row] for row in rows]}
    except Exception as error:
        reply = {"error": str(error)}
    print(json.dumps(reply), file=replies, flush=True)
