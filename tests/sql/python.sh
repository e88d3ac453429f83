# For `run` and `record`: the interpreter that tests/sql/install has made, or $SQL_PYTHON, told where Firebird's client library is.
python=${SQL_PYTHON:-$here/../../target/sql/venv/bin/python}
runtime=$("$python" -c 'import firebird.embedded.provider as provider; print(provider.FirebirdProvider().root)')
# The client library finds its messages and time zones here; its lock files go to a folder of their own.
FIREBIRD_LOCK=$(mktemp -d)
trap 'rm -rf "$FIREBIRD_LOCK"' EXIT
export FIREBIRD="$runtime" LD_LIBRARY_PATH="$runtime" FIREBIRD_LOCK
