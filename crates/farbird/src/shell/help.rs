//! HELP: what the shell can do, and how.

/// Words about a topic; about all of them in short for no topic.
pub(super) fn about(topic: &str) -> String {
    let topic = topic.trim_end_matches(';').trim();
    if topic.is_empty() {
        return OVERVIEW.to_owned();
    }
    let found = TOPICS.iter().find(|(names, _)| names.contains(&topic));
    match found {
        Some((_, text)) => (*text).to_owned(),
        None => {
            let names: Vec<&str> = TOPICS.iter().filter_map(|(names, _)| names.first().copied()).collect();
            format!("no help about {topic}. Topics: {}\n", names.join(", "))
        }
    }
}

/// The topics, for completion.
pub(super) fn topics() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().filter_map(|(names, _)| names.first().copied())
}

const OVERVIEW: &str = "\
Statements end with ;   SELECT ...;  INSERT ...;  CREATE TABLE ...;   any statement of Firebird's SQL
COMMIT;  ROLLBACK;      end the transaction. CREATE, ALTER and DROP commit by themselves, with what was done before
SET TERM ^;             another terminator, for bodies of procedures and triggers

\\d                      tables and views        \\d NAME     what a table, view, procedure ... is
\\dt \\dv \\di \\ds         tables, views, indexes, sequences
\\dp \\df \\dy \\dD         procedures, functions, triggers, domains; with a NAME: its source
\\z  \\du  \\l            grants, users, the database                    SHOW ...;  the same in isql's words
\\x                      a line per column       \\f FORMAT   table, expanded, csv, json, markdown
\\timing                 how long it takes       \\wire       what goes over the wire
EXPLAIN SELECT ...;     the plan                EXPLAIN ANALYZE SELECT ...;  what it did: runs it
SET PLAN;               the plan of each statement
\\i FILE                 run a script            \\o FILE     results go to a file
\\c DATABASE [USER]      another database        CONNECT 'name';  CREATE DATABASE 'name';  the same in isql's words
\\bind 1 'text' null      parameters of the next statement, for its ?s
\\gdesc SELECT ...        its columns and parameters    \\! COMMAND   a command of the operating system
\\conninfo               where you are           \\set        all settings
\\q                      commit and leave        QUIT;       roll back and leave

HELP SHOW, HELP SET, HELP TRANSACTIONS, HELP OUTPUT, HELP SCRIPTS, HELP KEYS say more.
";

const TOPICS: &[(&[&str], &str)] = &[
    (
        &["SHOW", "\\D"],
        "\
SHOW what there is. A name stands as in SQL: in upper case unless it is in double quotes.

SHOW TABLES; VIEWS; SYSTEM;         tables, views, tables of the system
SHOW TABLE name;                    columns, constraints, indexes, triggers      \\d name
SHOW VIEW name;                     columns and source
SHOW INDEXES [table | name];        indexes                                      \\di
SHOW PROCEDURES | PROCEDURE name;   with a name: parameters and source           \\dp
SHOW FUNCTIONS | FUNCTION name;                                                  \\df
SHOW TRIGGERS | TRIGGER name;       of all tables, of one, or one with its source
SHOW SEQUENCES [name];              with their values; GENERATORS is the same    \\ds
SHOW DOMAINS [name];                                                             \\dD
SHOW EXCEPTIONS [name];  PACKAGES [name];  COLLATIONS;  CHECKS [table];  DEPENDENCIES [name];
SHOW COMMENTS [object];  FILTERS;  MAPPINGS;  PUBLICATIONS;  SECCLASSES;
SHOW GRANTS [object];  ROLES;  USERS;                                            \\z  \\du
SHOW DATABASE;  VERSION;  SQL DIALECT;                                           \\l
",
    ),
    (
        &["SET"],
        "\
SET alone tells all settings. A switch without ON or OFF goes to its other position.

SET TERM ^;               what ends a statement
SET AUTODDL ON | OFF      whether CREATE, ALTER, DROP commit at once
SET BAIL ON | OFF         whether a script ends at its first error
SET COUNT ON | OFF        how many rows a statement changed (one more round trip over a wire)
SET ECHO ON | OFF         each statement before its result
SET FORMAT name           table, expanded, csv, json, markdown                     \\f name
SET LIST ON | OFF         a line per column                                        \\x
SET HEADING ON | OFF      names of the columns
SET NULL 'text'           what stands for NULL in tables                           \\null text
SET BLOBDISPLAY ALL | OFF | subtype     which BLOBs are shown rather than their ids
SET MAXROWS count         rows of a result that are shown; 0 for all
SET PAGER ON | OFF        whether long results go through PAGER, or less           \\pager
SET PLAN ON | OFF         the plan before each result
SET PLANONLY ON | OFF     the plan and no result
SET STATS ON | OFF        how long a statement takes                               \\timing
SET NAMES name            character set of the next CONNECT to a server; UTF8 unless --charset says another
SET SQL DIALECT 1 | 2 | 3      that of statements, and of a database that CREATE DATABASE makes
SET PER_TABLE_STATS ON | OFF   rows of each table that a statement has read and changed
SET WIRE_STATS ON | OFF   round trips, packets and bytes of a statement            \\wire

Other SETs (SET TRANSACTION, SET ROLE, SET TIME ZONE, SET GENERATOR ...) are the database's.
",
    ),
    (
        &["TRANSACTIONS", "COMMIT", "ROLLBACK", "TRANSACTION"],
        "\
A transaction begins with the first statement that needs one and lasts until COMMIT or ROLLBACK. It sees the database as
of its beginning (SNAPSHOT): COMMIT before you look for what others have done since. The prompt shows SQL*> while
something is changed and not committed; \\conninfo says whether a transaction is open.

SET TRANSACTION READ COMMITTED;  SET TRANSACTION READ ONLY;  ...    begin one of another kind
COMMIT RETAIN;                                                     commit and go on with the same view
SAVEPOINT a;  ROLLBACK TO SAVEPOINT a;                             undo a part
SET AUTODDL OFF;                                                   CREATE, ALTER, DROP wait for COMMIT too

\\q, EXIT and Ctrl-D commit; QUIT rolls back.
",
    ),
    (
        &["OUTPUT", "FORMAT"],
        "\
\\f table | expanded | csv | json | markdown     how results look; \\x switches expanded on and off
\\o FILE                                         results are added to a file; \\o brings them back
\\pager                                          long results go through PAGER, or less -SRFX: arrow keys, / to search, q

Rows are shown as they come; of a table the first hundred are looked at for the widths of its columns. Text BLOBs are shown
as text, others as hexadecimal digits unless they are text, up to 1 MiB. farbird export writes CSV, JSON lines and Parquet.
",
    ),
    (
        &["SCRIPTS", "INPUT", "CONNECT"],
        "\
CONNECT 'database' USER 'name' PASSWORD 'password';      goes on with another database; what was done is committed
CREATE DATABASE 'database' PAGE_SIZE 8192 DEFAULT CHARACTER SET UTF8;   makes one and goes on with it
DROP DATABASE;           deletes the one that is connected to

\\i FILE, INPUT FILE;     runs a script, which may run others
farbird sql DB -i FILE   the same from outside; -i - reads standard input; --continue goes on behind errors

A script ends at its first error, which is told with its line; what was not committed is then rolled back.
Exit codes: 0 done, 1 a statement failed, 2 could not run, 130 interrupted.
",
    ),
    (
        &["KEYS", "EDITING"],
        "\
Enter         runs what the terminator ends, else begins a new line       Alt-Enter   a new line in any case
Tab           completes keywords, tables, columns, procedures             Ctrl-R      searches the history
Up, Down      earlier and later statements                                Ctrl-A, Ctrl-E   begin, end of the line
Ctrl-C        stops the statement that runs; at the prompt it clears the line
Ctrl-D        commits and leaves
Ctrl-O        opens the statement in VISUAL or EDITOR

The history is kept in the user's data folder; statements with passwords and lines that begin with a space are not.
",
    ),
];
