//! Information items, by the names of Firebird's API without their prefixes.
//!
//! Source: wire-protocol.md, 11.6.

/// Items of every reply.
pub mod common {
    #![allow(missing_docs)]
    pub const END: u8 = 1;
    pub const TRUNCATED: u8 = 2;
    pub const ERROR: u8 = 3;
    pub const DATA_NOT_READY: u8 = 4;
    pub const LENGTH: u8 = 126;
    pub const FLAG_END: u8 = 127;
}

/// isc_info_ and fb_info_: about an attachment.
pub mod database {
    #![allow(missing_docs)]
    pub const DB_ID: u8 = 4;
    pub const READS: u8 = 5;
    pub const WRITES: u8 = 6;
    pub const FETCHES: u8 = 7;
    pub const MARKS: u8 = 8;
    pub const IMPLEMENTATION: u8 = 11;
    pub const ISC_VERSION: u8 = 12;
    pub const BASE_LEVEL: u8 = 13;
    pub const PAGE_SIZE: u8 = 14;
    pub const NUM_BUFFERS: u8 = 15;
    pub const LIMBO: u8 = 16;
    pub const CURRENT_MEMORY: u8 = 17;
    pub const MAX_MEMORY: u8 = 18;
    pub const WINDOW_TURNS: u8 = 19;
    pub const LICENSE: u8 = 20;
    pub const ALLOCATION: u8 = 21;
    pub const ATTACHMENT_ID: u8 = 22;
    pub const READ_SEQ_COUNT: u8 = 23;
    pub const READ_IDX_COUNT: u8 = 24;
    pub const INSERT_COUNT: u8 = 25;
    pub const UPDATE_COUNT: u8 = 26;
    pub const DELETE_COUNT: u8 = 27;
    pub const BACKOUT_COUNT: u8 = 28;
    pub const PURGE_COUNT: u8 = 29;
    pub const EXPUNGE_COUNT: u8 = 30;
    pub const SWEEP_INTERVAL: u8 = 31;
    pub const ODS_VERSION: u8 = 32;
    pub const ODS_MINOR_VERSION: u8 = 33;
    pub const NO_RESERVE: u8 = 34;
    pub const LOGFILE: u8 = 35;
    pub const CUR_LOGFILE_NAME: u8 = 36;
    pub const CUR_LOG_PART_OFFSET: u8 = 37;
    pub const NUM_WAL_BUFFERS: u8 = 38;
    pub const WAL_BUFFER_SIZE: u8 = 39;
    pub const WAL_CKPT_LENGTH: u8 = 40;
    pub const WAL_CUR_CKPT_INTERVAL: u8 = 41;
    pub const WAL_PRV_CKPT_FNAME: u8 = 42;
    pub const WAL_PRV_CKPT_POFFSET: u8 = 43;
    pub const WAL_RECV_CKPT_FNAME: u8 = 44;
    pub const WAL_RECV_CKPT_POFFSET: u8 = 45;
    pub const WAL_GRPC_WAIT_USECS: u8 = 47;
    pub const WAL_NUM_IO: u8 = 48;
    pub const WAL_AVG_IO_SIZE: u8 = 49;
    pub const WAL_NUM_COMMITS: u8 = 50;
    pub const WAL_AVG_GRPC_SIZE: u8 = 51;
    pub const FORCED_WRITES: u8 = 52;
    pub const USER_NAMES: u8 = 53;
    pub const PAGE_ERRORS: u8 = 54;
    pub const RECORD_ERRORS: u8 = 55;
    pub const BPAGE_ERRORS: u8 = 56;
    pub const DPAGE_ERRORS: u8 = 57;
    pub const IPAGE_ERRORS: u8 = 58;
    pub const PPAGE_ERRORS: u8 = 59;
    pub const TPAGE_ERRORS: u8 = 60;
    pub const SET_PAGE_BUFFERS: u8 = 61;
    pub const DB_SQL_DIALECT: u8 = 62;
    pub const DB_READ_ONLY: u8 = 63;
    pub const DB_SIZE_IN_PAGES: u8 = 64;
    pub const ATT_CHARSET: u8 = 101;
    pub const DB_CLASS: u8 = 102;
    pub const FIREBIRD_VERSION: u8 = 103;
    pub const OLDEST_TRANSACTION: u8 = 104;
    pub const OLDEST_ACTIVE: u8 = 105;
    pub const OLDEST_SNAPSHOT: u8 = 106;
    pub const NEXT_TRANSACTION: u8 = 107;
    pub const DB_PROVIDER: u8 = 108;
    pub const ACTIVE_TRANSACTIONS: u8 = 109;
    pub const ACTIVE_TRAN_COUNT: u8 = 110;
    pub const CREATION_DATE: u8 = 111;
    pub const DB_FILE_SIZE: u8 = 112;
    pub const PAGE_CONTENTS: u8 = 113;
    pub const FB_IMPLEMENTATION: u8 = 114;
    pub const PAGE_WARNS: u8 = 115;
    pub const RECORD_WARNS: u8 = 116;
    pub const BPAGE_WARNS: u8 = 117;
    pub const DPAGE_WARNS: u8 = 118;
    pub const IPAGE_WARNS: u8 = 119;
    pub const PPAGE_WARNS: u8 = 120;
    pub const TPAGE_WARNS: u8 = 121;
    pub const PIP_ERRORS: u8 = 122;
    pub const PIP_WARNS: u8 = 123;
    pub const PAGES_USED: u8 = 124;
    pub const PAGES_FREE: u8 = 125;
    pub const SES_IDLE_TIMEOUT_DB: u8 = 129;
    pub const SES_IDLE_TIMEOUT_ATT: u8 = 130;
    pub const SES_IDLE_TIMEOUT_RUN: u8 = 131;
    pub const CONN_FLAGS: u8 = 132;
    pub const CRYPT_KEY: u8 = 133;
    pub const CRYPT_STATE: u8 = 134;
    pub const STATEMENT_TIMEOUT_DB: u8 = 135;
    pub const STATEMENT_TIMEOUT_ATT: u8 = 136;
    pub const PROTOCOL_VERSION: u8 = 137;
    pub const CRYPT_PLUGIN: u8 = 138;
    pub const CREATION_TIMESTAMP_TZ: u8 = 139;
    pub const WIRE_CRYPT: u8 = 140;
    pub const FEATURES: u8 = 141;
    pub const NEXT_ATTACHMENT: u8 = 142;
    pub const NEXT_STATEMENT: u8 = 143;
    pub const DB_GUID: u8 = 144;
    pub const DB_FILE_ID: u8 = 145;
    pub const REPLICA_MODE: u8 = 146;
    pub const USERNAME: u8 = 147;
    pub const SQLROLE: u8 = 148;
    pub const PARALLEL_WORKERS: u8 = 149;
    pub const WIRE_OUT_PACKETS: u8 = 150;
    pub const WIRE_IN_PACKETS: u8 = 151;
    pub const WIRE_OUT_BYTES: u8 = 152;
    pub const WIRE_IN_BYTES: u8 = 153;
    pub const WIRE_SND_PACKETS: u8 = 154;
    pub const WIRE_RCV_PACKETS: u8 = 155;
    pub const WIRE_SND_BYTES: u8 = 156;
    pub const WIRE_RCV_BYTES: u8 = 157;
    pub const WIRE_ROUNDTRIPS: u8 = 158;
    pub const MAX_BLOB_CACHE_SIZE: u8 = 159;
    pub const MAX_INLINE_BLOB_SIZE: u8 = 160;
    pub const COUNTS_SCOPE_ATT: u8 = 161;
    pub const COUNTS_SCOPE_DB: u8 = 162;
}

/// isc_info_: about a BLR request.
pub mod request {
    #![allow(missing_docs)]
    pub const NUMBER_MESSAGES: u8 = 4;
    pub const MAX_MESSAGE: u8 = 5;
    pub const MAX_SEND: u8 = 6;
    pub const MAX_RECEIVE: u8 = 7;
    pub const STATE: u8 = 8;
    pub const MESSAGE_NUMBER: u8 = 9;
    pub const MESSAGE_SIZE: u8 = 10;
    pub const REQUEST_COST: u8 = 11;
    pub const ACCESS_PATH: u8 = 12;
    pub const REQ_SELECT_COUNT: u8 = 13;
    pub const REQ_INSERT_COUNT: u8 = 14;
    pub const REQ_UPDATE_COUNT: u8 = 15;
    pub const REQ_DELETE_COUNT: u8 = 16;
}

/// isc_info_blob_: about an open blob.
pub mod blob {
    #![allow(missing_docs)]
    pub const NUM_SEGMENTS: u8 = 4;
    pub const MAX_SEGMENT: u8 = 5;
    pub const TOTAL_LENGTH: u8 = 6;
    pub const TYPE: u8 = 7;
}

/// isc_info_tra_: about a transaction.
pub mod transaction {
    #![allow(missing_docs)]
    pub const TRA_ID: u8 = 4;
    pub const TRA_OLDEST_INTERESTING: u8 = 5;
    pub const TRA_OLDEST_SNAPSHOT: u8 = 6;
    pub const TRA_OLDEST_ACTIVE: u8 = 7;
    pub const TRA_ISOLATION: u8 = 8;
    pub const TRA_ACCESS: u8 = 9;
    pub const TRA_LOCK_TIMEOUT: u8 = 10;
    pub const TRA_DBPATH: u8 = 11;
    pub const TRA_SNAPSHOT_NUMBER: u8 = 12;
}

/// isc_info_sql_: about a statement.
pub mod sql {
    #![allow(missing_docs)]
    pub const SELECT: u8 = 4;
    pub const BIND: u8 = 5;
    pub const NUM_VARIABLES: u8 = 6;
    pub const DESCRIBE_VARS: u8 = 7;
    pub const DESCRIBE_END: u8 = 8;
    pub const SQLDA_SEQ: u8 = 9;
    pub const MESSAGE_SEQ: u8 = 10;
    pub const TYPE: u8 = 11;
    pub const SUB_TYPE: u8 = 12;
    pub const SCALE: u8 = 13;
    pub const LENGTH: u8 = 14;
    pub const NULL_IND: u8 = 15;
    pub const FIELD: u8 = 16;
    pub const RELATION: u8 = 17;
    pub const OWNER: u8 = 18;
    pub const ALIAS: u8 = 19;
    pub const SQLDA_START: u8 = 20;
    pub const STMT_TYPE: u8 = 21;
    pub const GET_PLAN: u8 = 22;
    pub const RECORDS: u8 = 23;
    pub const BATCH_FETCH: u8 = 24;
    pub const RELATION_ALIAS: u8 = 25;
    pub const EXPLAIN_PLAN: u8 = 26;
    pub const STMT_FLAGS: u8 = 27;
    pub const STMT_TIMEOUT_USER: u8 = 28;
    pub const STMT_TIMEOUT_RUN: u8 = 29;
    pub const STMT_BLOB_ALIGN: u8 = 30;
    pub const EXEC_PATH_BLR_BYTES: u8 = 31;
    pub const EXEC_PATH_BLR_TEXT: u8 = 32;
    pub const RELATION_SCHEMA: u8 = 33;
}

/// isc_info_sql_stmt_: kinds of statement.
pub mod statement_type {
    #![allow(missing_docs)]
    pub const SELECT: u8 = 1;
    pub const INSERT: u8 = 2;
    pub const UPDATE: u8 = 3;
    pub const DELETE: u8 = 4;
    pub const DDL: u8 = 5;
    pub const GET_SEGMENT: u8 = 6;
    pub const PUT_SEGMENT: u8 = 7;
    pub const EXEC_PROCEDURE: u8 = 8;
    pub const START_TRANS: u8 = 9;
    pub const COMMIT: u8 = 10;
    pub const ROLLBACK: u8 = 11;
    pub const SELECT_FOR_UPD: u8 = 12;
    pub const SET_GENERATOR: u8 = 13;
    pub const SAVEPOINT: u8 = 14;
}

/// About a batch.
pub mod batch {
    #![allow(missing_docs)]
    pub const BUFFER_BYTES_SIZE: u8 = 10;
    pub const DATA_BYTES_SIZE: u8 = 11;
    pub const BLOBS_BYTES_SIZE: u8 = 12;
    pub const BLOB_ALIGNMENT: u8 = 13;
    pub const BLOB_HEADER: u8 = 14;
}

/// About a cursor.
pub mod cursor {
    #![allow(missing_docs)]
    pub const RECORD_COUNT: u8 = 10;
}

/// What only a Farbird server answers: for the origin of a farlink (docs/wire.md, "What an origin asks"). Firebird's own items are all
/// below 200; a Firebird server answers these by isc_info_error.
pub mod farlink {
    /// op_info_sql: what a prepared statement reads, if it does nothing else. No bytes if it does more; else a byte 1 and the numbers
    /// of the relations, each in 4 bytes.
    pub const STATEMENT_READS: u8 = 240;
    /// op_info_database: names the database in commit notices, in 4 bytes.
    pub const DATABASE_NUMBER: u8 = 241;
    /// op_info_database: where its commits are, as a number.
    pub const COMMIT_POINT: u8 = 242;
    /// op_info_database: 1 if beginning or ending a transaction does more than that.
    pub const STRICT_TRANSACTIONS: u8 = 243;
    /// op_info_database, as the first item, the number of the program's process behind it in 4 bytes if it has said one: the program has
    /// attached by what was attached ahead.
    pub const ATTACHED_BY: u8 = 244;
    /// op_info_transaction, as the first item, 16 bytes behind it: they name the transaction's next commit.
    pub const COMMIT_NAME: u8 = 245;
}
