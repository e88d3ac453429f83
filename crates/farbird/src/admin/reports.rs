//! The questions of `farbird admin` and of the status page. What they do not show of others' attachments is decided by the server: as to
//! any query, by who asks. The asking attachment leaves itself out.

use super::report::{Column, Report, Shows};

const fn column(key: &'static str, head: &'static str, shows: Shows) -> Column {
    Column { key, head, shows }
}

/// How the database is, in one line.
pub(crate) static DATABASE: Report = Report {
    name: "database",
    title: "Database",
    columns: &[
        column("name", "name", Shows::Text),
        column("owner", "owner", Shows::Text),
        column("size_bytes", "size", Shows::Bytes),
        column("attachments", "attachments", Shows::Number),
        column("transactions", "transactions", Shows::Number),
        column("running_statements", "running", Shows::Number),
        column("lock_waits", "waiting", Shows::Number),
        column("read_only", "read only", Shows::Flag),
        column("server_version", "Farbird", Shows::Text),
    ],
    sql: "select trim(d.mon$database_name), trim(d.mon$owner),
            (select f.farbird$value from farbird$figures f where f.farbird$name = 'FILE_BYTES'),
            (select count(*) from mon$attachments a where a.mon$attachment_id <> current_connection),
            (select count(*) from mon$transactions t where t.mon$attachment_id <> current_connection),
            (select count(*) from mon$statements s where s.mon$state = 1 and s.mon$attachment_id <> current_connection),
            (select count(*) from farbird$lock_waits),
            d.mon$read_only, s.farbird$version
          from mon$database d cross join farbird$server s",
    nothing: "Nothing is known.",
};

/// Who is attached.
pub(crate) static ATTACHMENTS: Report = Report {
    name: "attachments",
    title: "Attachments",
    columns: &[
        column("attachment", "id", Shows::Number),
        column("user", "user", Shows::Text),
        column("role", "role", Shows::Text),
        column("address", "address", Shows::Text),
        column("running", "running", Shows::Flag),
        column("connected_ms", "connected", Shows::Time),
        column("transactions", "transactions", Shows::Number),
        column("memory_bytes", "memory", Shows::Bytes),
        column("temporary_bytes", "temporary", Shows::Bytes),
        column("encrypted", "encrypted", Shows::Flag),
        column("program", "program", Shows::Text),
    ],
    sql: "select a.mon$attachment_id, trim(a.mon$user), trim(a.mon$role), a.mon$remote_address, a.mon$state,
            datediff(millisecond from a.mon$timestamp to current_timestamp),
            (select count(*) from mon$transactions t where t.mon$attachment_id = a.mon$attachment_id),
            m.mon$memory_used, x.farbird$temporary_used, a.mon$wire_encrypted, a.mon$remote_process
          from mon$attachments a
          left join mon$memory_usage m on m.mon$stat_id = a.mon$stat_id
          left join farbird$temporary_space x on x.farbird$stat_id = a.mon$stat_id
          where a.mon$attachment_id <> current_connection
          order by a.mon$attachment_id",
    nothing: "Nobody else is attached.",
};

/// What runs, the longest first, then cursors that are open.
pub(crate) static STATEMENTS: Report = Report {
    name: "statements",
    title: "Statements that run or have open cursors, the longest first",
    columns: &[
        column("attachment", "attachment", Shows::Number),
        column("statement", "statement", Shows::Number),
        column("user", "user", Shows::Text),
        column("state", "state", Shows::Text),
        column("running_ms", "for", Shows::Time),
        column("transaction", "transaction", Shows::Number),
        column("memory_bytes", "memory", Shows::Bytes),
        column("temporary_bytes", "temporary", Shows::Bytes),
        column("sql", "text", Shows::Sql),
    ],
    sql: "select s.mon$attachment_id, s.mon$statement_id, trim(a.mon$user),
            case s.mon$state when 1 then 'running' when 2 then 'cursor' else 'idle' end,
            datediff(millisecond from s.mon$timestamp to current_timestamp), s.mon$transaction_id,
            m.mon$memory_used, x.farbird$temporary_used,
            cast(substring(s.mon$sql_text from 1 for 1000) as varchar(1000) character set utf8)
          from mon$statements s
          left join mon$attachments a on a.mon$attachment_id = s.mon$attachment_id
          left join mon$memory_usage m on m.mon$stat_id = s.mon$stat_id
          left join farbird$temporary_space x on x.farbird$stat_id = s.mon$stat_id
          where s.mon$state <> 0 and s.mon$attachment_id <> current_connection
          order by 5 desc",
    nothing: "Nothing runs.",
};

/// Transactions, the oldest first, and for which of them old versions are kept.
pub(crate) static TRANSACTIONS: Report = Report {
    name: "transactions",
    title: "Transactions, the oldest first",
    columns: &[
        column("transaction", "id", Shows::Number),
        column("attachment", "attachment", Shows::Number),
        column("user", "user", Shows::Text),
        column("age_ms", "age", Shows::Time),
        column("isolation", "isolation", Shows::Text),
        column("read_only", "read only", Shows::Flag),
        column("running", "running", Shows::Flag),
        column("locked_rows", "locked rows", Shows::Number),
        column("commits_since", "commits since", Shows::Number),
        column("holds_sweep", "holds the sweep", Shows::Flag),
    ],
    sql: "select t.mon$transaction_id, t.mon$attachment_id, trim(a.mon$user),
            datediff(millisecond from t.mon$timestamp to current_timestamp),
            case t.mon$isolation_mode when 0 then 'table stability' when 1 then 'snapshot' else 'read committed' end,
            t.mon$read_only, t.mon$state, coalesce(l.locked, 0), f.farbird$commits_since, f.farbird$holds_sweep
          from mon$transactions t
          left join mon$attachments a on a.mon$attachment_id = t.mon$attachment_id
          left join farbird$transactions f on f.farbird$transaction_id = t.mon$transaction_id
          left join (select farbird$transaction_id id, sum(farbird$rows) locked from farbird$locks group by 1) l
            on l.id = t.mon$transaction_id
          where t.mon$attachment_id <> current_connection
          order by t.mon$transaction_id",
    nothing: "No transaction is open.",
};

/// Who waits for whom.
pub(crate) static LOCK_WAITS: Report = Report {
    name: "lock_waits",
    title: "Who waits for whom, the longest first",
    columns: &[
        column("waiting_attachment", "waits", Shows::Number),
        column("waiting_user", "user", Shows::Text),
        column("waiting_transaction", "transaction", Shows::Number),
        column("holding_attachment", "for", Shows::Number),
        column("holding_user", "user", Shows::Text),
        column("holding_transaction", "transaction", Shows::Number),
        column("awaited", "what", Shows::Text),
        column("table", "table", Shows::Text),
        column("waited_ms", "since", Shows::Time),
        column("sql", "waiting statement", Shows::Sql),
    ],
    sql: "select w.farbird$attachment_id, trim(a.mon$user), w.farbird$transaction_id,
            w.farbird$holder_attachment_id, trim(h.mon$user), w.farbird$holder_transaction_id,
            lower(w.farbird$awaited), trim(w.farbird$relation_name), w.farbird$waited_ms,
            (select first 1 cast(substring(s.mon$sql_text from 1 for 1000) as varchar(1000) character set utf8)
             from mon$statements s where s.mon$attachment_id = w.farbird$attachment_id and s.mon$state = 1)
          from farbird$lock_waits w
          left join mon$attachments a on a.mon$attachment_id = w.farbird$attachment_id
          left join mon$attachments h on h.mon$attachment_id = w.farbird$holder_attachment_id
          order by w.farbird$waited_ms desc",
    nothing: "Nobody waits.",
};

/// What is locked.
pub(crate) static LOCKS: Report = Report {
    name: "locks",
    title: "What transactions have locked",
    columns: &[
        column("attachment", "attachment", Shows::Number),
        column("user", "user", Shows::Text),
        column("transaction", "transaction", Shows::Number),
        column("table", "table", Shows::Text),
        column("level", "table locked for", Shows::Text),
        column("rows", "rows", Shows::Number),
    ],
    sql: "select l.farbird$attachment_id, trim(a.mon$user), l.farbird$transaction_id, trim(l.farbird$relation_name),
            lower(l.farbird$level), l.farbird$rows
          from farbird$locks l
          left join mon$attachments a on a.mon$attachment_id = l.farbird$attachment_id
          where l.farbird$attachment_id is distinct from current_connection
          order by l.farbird$transaction_id, l.farbird$relation_name",
    nothing: "Nothing is locked.",
};

/// What tables take.
pub(crate) static TABLE_SIZES: Report = Report {
    name: "tables",
    title: "Tables, the largest first",
    columns: &[
        column("table", "table", Shows::Text),
        column("rows", "rows", Shows::Number),
        column("bytes", "rows take", Shows::Bytes),
        column("index_bytes", "indexes take", Shows::Bytes),
        column("exact", "exact", Shows::Flag),
    ],
    sql: "select trim(s.farbird$relation_name), s.farbird$rows, s.farbird$bytes, coalesce(i.taken, 0), s.farbird$exact
          from farbird$statistics s
          left join (select farbird$relation_name name, sum(farbird$bytes) taken
                     from farbird$statistics where farbird$index_name is not null group by 1) i
            on i.name = s.farbird$relation_name
          where s.farbird$index_name is null and s.farbird$field_name is null
          order by s.farbird$bytes + coalesce(i.taken, 0) desc",
    nothing: "Nothing is known of any table yet: the sweep looks at them when it has the time.",
};

/// What indexes take.
pub(crate) static INDEX_SIZES: Report = Report {
    name: "indexes",
    title: "Indexes, the largest first",
    columns: &[
        column("table", "table", Shows::Text),
        column("index", "index", Shows::Text),
        column("entries", "entries", Shows::Number),
        column("bytes", "takes", Shows::Bytes),
    ],
    sql: "select trim(farbird$relation_name), trim(farbird$index_name), farbird$rows, farbird$bytes
          from farbird$statistics where farbird$index_name is not null and farbird$bytes is not null
          order by farbird$bytes desc",
    nothing: "Nothing is known of any index yet: the sweep looks at them when it has the time.",
};

/// Who has taken how much memory and temporary space.
pub(crate) static MEMORY: Report = Report {
    name: "memory",
    title: "Memory and temporary space of statements",
    columns: &[
        column("of", "of", Shows::Text),
        column("attachment", "attachment", Shows::Number),
        column("user", "user", Shows::Text),
        column("memory_bytes", "memory", Shows::Bytes),
        column("memory_max_bytes", "at most", Shows::Bytes),
        column("temporary_bytes", "temporary", Shows::Bytes),
        column("temporary_max_bytes", "at most", Shows::Bytes),
    ],
    sql: "select case m.mon$stat_group when 0 then 'database' else 'attachment' end, a.mon$attachment_id, trim(a.mon$user),
            m.mon$memory_used, m.mon$max_memory_used, x.farbird$temporary_used, x.farbird$max_temporary_used
          from mon$memory_usage m
          join farbird$temporary_space x on x.farbird$stat_id = m.mon$stat_id
          left join mon$attachments a on a.mon$stat_id = m.mon$stat_id
          where m.mon$stat_group = 0
             or m.mon$stat_group = 1 and a.mon$attachment_id is distinct from current_connection
          order by m.mon$stat_group, m.mon$memory_used desc",
    nothing: "Nothing is known.",
};

/// What is in memory of the file, and how often that helped.
pub(crate) static CACHE: Report = Report {
    name: "cache",
    title: "Cache",
    columns: &[
        column("pages_max_bytes", "room for pages", Shows::Bytes),
        column("page_reads", "pages read", Shows::Number),
        column("page_read_bytes", "bytes read", Shows::Bytes),
        column("block_hits", "blocks found", Shows::Number),
        column("block_misses", "not found", Shows::Number),
        column("blocks", "blocks kept", Shows::Number),
        column("unpacked_bytes", "unpacked", Shows::Bytes),
    ],
    sql: "select max(decode(farbird$name, 'CACHE_BYTES_MAX', farbird$value)),
            max(decode(farbird$name, 'PAGE_READS', farbird$value)),
            max(decode(farbird$name, 'PAGE_READ_BYTES', farbird$value)),
            max(decode(farbird$name, 'BLOCK_CACHE_HITS', farbird$value)),
            max(decode(farbird$name, 'BLOCK_CACHE_MISSES', farbird$value)),
            max(decode(farbird$name, 'BLOCK_CACHE_BLOCKS', farbird$value)),
            max(decode(farbird$name, 'BLOCK_CACHE_UNPACKED_BYTES', farbird$value))
          from farbird$figures",
    nothing: "Nothing is known.",
};

/// What the sweep does.
pub(crate) static SWEEP: Report = Report {
    name: "sweep",
    title: "Sweep",
    columns: &[
        column("state", "state", Shows::Text),
        column("last_commit", "last commit", Shows::Number),
        column("oldest_snapshot", "oldest snapshot", Shows::Number),
        column("behind_commits", "commits between", Shows::Number),
        column("steps", "steps", Shows::Number),
        column("rounds", "rounds", Shows::Number),
        column("failures", "failures", Shows::Number),
    ],
    sql: "select case when max(decode(farbird$name, 'SWEEP_FAILING', farbird$value)) = 1 then 'failing'
                      when max(decode(farbird$name, 'SWEEP_WORKING', farbird$value)) = 1 then 'working'
                      else 'idle' end,
            max(decode(farbird$name, 'LAST_COMMIT', farbird$value)),
            max(decode(farbird$name, 'SWEEP_HORIZON', farbird$value)),
            max(decode(farbird$name, 'SWEEP_BEHIND_COMMITS', farbird$value)),
            max(decode(farbird$name, 'SWEEP_STEPS', farbird$value)),
            max(decode(farbird$name, 'SWEEP_ROUNDS', farbird$value)),
            max(decode(farbird$name, 'SWEEP_FAILURES', farbird$value))
          from farbird$figures",
    nothing: "Nothing is known.",
};

/// For whom old versions are kept.
pub(crate) static SWEEP_HOLDERS: Report = Report {
    name: "held_by",
    title: "Transactions for which it keeps old versions",
    columns: &[
        column("transaction", "transaction", Shows::Number),
        column("attachment", "attachment", Shows::Number),
        column("user", "user", Shows::Text),
        column("age_ms", "age", Shows::Time),
        column("commits_since", "commits since", Shows::Number),
        column("program", "program", Shows::Text),
    ],
    sql: "select f.farbird$transaction_id, f.farbird$attachment_id, trim(a.mon$user),
            datediff(millisecond from t.mon$timestamp to current_timestamp), f.farbird$commits_since, a.mon$remote_process
          from farbird$transactions f
          left join mon$transactions t on t.mon$transaction_id = f.farbird$transaction_id
          left join mon$attachments a on a.mon$attachment_id = f.farbird$attachment_id
          where f.farbird$holds_sweep and f.farbird$attachment_id is distinct from current_connection
          order by f.farbird$transaction_id",
    nothing: "None.",
};

/// All figures by their names.
pub(crate) static FIGURES: Report = Report {
    name: "figures",
    title: "Figures, counted since the database was opened",
    columns: &[column("name", "name", Shows::Text), column("value", "value", Shows::Number)],
    sql: "select lower(farbird$name), farbird$value from farbird$figures",
    nothing: "There are none.",
};

/// The backups that the server makes by itself.
pub(crate) static BACKUPS: Report = Report {
    name: "backups",
    title: "Scheduled backups",
    columns: &[
        column("schedule", "schedule", Shows::Text),
        column("state", "state", Shows::Text),
        column("at", "when", Shows::Moment),
        column("bytes", "size", Shows::Bytes),
        column("rows", "rows", Shows::Number),
        column("duration_ms", "took", Shows::Time),
        column("file", "file", Shows::Text),
        column("message", "message", Shows::Text),
    ],
    sql: "select farbird$schedule, lower(farbird$state), cast(farbird$made_at as varchar(60)), farbird$bytes, farbird$rows,
            farbird$duration_ms, farbird$file_name, farbird$message
          from farbird$backups",
    nothing: "The server makes none of this database, or they are not yours to see ([backups] in its settings: docs/backup.md).",
};
