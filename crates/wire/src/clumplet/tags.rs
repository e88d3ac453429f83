//! Tags of parameter blocks, by the names of Firebird's API without their prefixes.
//!
//! Source: wire-protocol.md, 11.2 to 11.5.

/// isc_dpb_: database parameter block.
pub mod dpb {
    #![allow(missing_docs)]
    pub const VERSION1: u8 = 1;
    pub const VERSION2: u8 = 2;
    pub const CDD_PATHNAME: u8 = 1;
    pub const ALLOCATION: u8 = 2;
    pub const JOURNAL: u8 = 3;
    pub const PAGE_SIZE: u8 = 4;
    pub const NUM_BUFFERS: u8 = 5;
    pub const BUFFER_LENGTH: u8 = 6;
    pub const DEBUG: u8 = 7;
    pub const GARBAGE_COLLECT: u8 = 8;
    pub const VERIFY: u8 = 9;
    pub const SWEEP: u8 = 10;
    pub const ENABLE_JOURNAL: u8 = 11;
    pub const DISABLE_JOURNAL: u8 = 12;
    pub const DBKEY_SCOPE: u8 = 13;
    pub const NUMBER_OF_USERS: u8 = 14;
    pub const TRACE: u8 = 15;
    pub const NO_GARBAGE_COLLECT: u8 = 16;
    pub const DAMAGED: u8 = 17;
    pub const LICENSE: u8 = 18;
    pub const SYS_USER_NAME: u8 = 19;
    pub const ENCRYPT_KEY: u8 = 20;
    pub const ACTIVATE_SHADOW: u8 = 21;
    pub const SWEEP_INTERVAL: u8 = 22;
    pub const DELETE_SHADOW: u8 = 23;
    pub const FORCE_WRITE: u8 = 24;
    pub const BEGIN_LOG: u8 = 25;
    pub const QUIT_LOG: u8 = 26;
    pub const NO_RESERVE: u8 = 27;
    pub const USER_NAME: u8 = 28;
    pub const PASSWORD: u8 = 29;
    pub const PASSWORD_ENC: u8 = 30;
    pub const SYS_USER_NAME_ENC: u8 = 31;
    pub const INTERP: u8 = 32;
    pub const ONLINE_DUMP: u8 = 33;
    pub const OLD_FILE_SIZE: u8 = 34;
    pub const OLD_NUM_FILES: u8 = 35;
    pub const OLD_FILE: u8 = 36;
    pub const OLD_START_PAGE: u8 = 37;
    pub const OLD_START_SEQNO: u8 = 38;
    pub const OLD_START_FILE: u8 = 39;
    pub const DROP_WALFILE: u8 = 40;
    pub const OLD_DUMP_ID: u8 = 41;
    pub const WAL_BACKUP_DIR: u8 = 42;
    pub const WAL_CHKPTLEN: u8 = 43;
    pub const WAL_NUMBUFS: u8 = 44;
    pub const WAL_BUFSIZE: u8 = 45;
    pub const WAL_GRP_CMT_WAIT: u8 = 46;
    pub const LC_MESSAGES: u8 = 47;
    pub const LC_CTYPE: u8 = 48;
    pub const CACHE_MANAGER: u8 = 49;
    pub const SHUTDOWN: u8 = 50;
    pub const ONLINE: u8 = 51;
    pub const SHUTDOWN_DELAY: u8 = 52;
    pub const RESERVED: u8 = 53;
    pub const OVERWRITE: u8 = 54;
    pub const SEC_ATTACH: u8 = 55;
    pub const DISABLE_WAL: u8 = 56;
    pub const CONNECT_TIMEOUT: u8 = 57;
    pub const DUMMY_PACKET_INTERVAL: u8 = 58;
    pub const GBAK_ATTACH: u8 = 59;
    pub const SQL_ROLE_NAME: u8 = 60;
    pub const SET_PAGE_BUFFERS: u8 = 61;
    pub const WORKING_DIRECTORY: u8 = 62;
    pub const SQL_DIALECT: u8 = 63;
    pub const SET_DB_READONLY: u8 = 64;
    pub const SET_DB_SQL_DIALECT: u8 = 65;
    pub const GFIX_ATTACH: u8 = 66;
    pub const GSTAT_ATTACH: u8 = 67;
    pub const SET_DB_CHARSET: u8 = 68;
    pub const GSEC_ATTACH: u8 = 69;
    pub const ADDRESS_PATH: u8 = 70;
    pub const PROCESS_ID: u8 = 71;
    pub const NO_DB_TRIGGERS: u8 = 72;
    pub const TRUSTED_AUTH: u8 = 73;
    pub const PROCESS_NAME: u8 = 74;
    pub const TRUSTED_ROLE: u8 = 75;
    pub const ORG_FILENAME: u8 = 76;
    pub const UTF8_FILENAME: u8 = 77;
    pub const EXT_CALL_DEPTH: u8 = 78;
    pub const AUTH_BLOCK: u8 = 79;
    pub const CLIENT_VERSION: u8 = 80;
    pub const REMOTE_PROTOCOL: u8 = 81;
    pub const HOST_NAME: u8 = 82;
    pub const OS_USER: u8 = 83;
    pub const SPECIFIC_AUTH_DATA: u8 = 84;
    pub const AUTH_PLUGIN_LIST: u8 = 85;
    pub const AUTH_PLUGIN_NAME: u8 = 86;
    pub const CONFIG: u8 = 87;
    pub const NOLINGER: u8 = 88;
    pub const RESET_ICU: u8 = 89;
    pub const MAP_ATTACH: u8 = 90;
    pub const SESSION_TIME_ZONE: u8 = 91;
    pub const SET_DB_REPLICA: u8 = 92;
    pub const SET_BIND: u8 = 93;
    pub const DECFLOAT_ROUND: u8 = 94;
    pub const DECFLOAT_TRAPS: u8 = 95;
    pub const CLEAR_MAP: u8 = 96;
    pub const UPGRADE_DB: u8 = 97;
    pub const PARALLEL_WORKERS: u8 = 100;
    pub const WORKER_ATTACH: u8 = 101;
    pub const MAX_BLOB_CACHE_SIZE: u8 = 103;
    pub const MAX_INLINE_BLOB_SIZE: u8 = 104;
    pub const OWNER: u8 = 102;
    pub const SEARCH_PATH: u8 = 105;
    pub const BLR_REQUEST_SEARCH_PATH: u8 = 106;
    pub const GBAK_RESTORE_HAS_SCHEMA: u8 = 107;
    /// Not Firebird's: an origin of a farlink attaches before its program has asked for it (docs/wire.md, "What an origin asks").
    pub const FARLINK_AHEAD: u8 = 240;
}

/// isc_tpb_: transaction parameter block.
pub mod tpb {
    #![allow(missing_docs)]
    pub const VERSION1: u8 = 1;
    pub const VERSION3: u8 = 3;
    pub const CONSISTENCY: u8 = 1;
    pub const CONCURRENCY: u8 = 2;
    pub const SHARED: u8 = 3;
    pub const PROTECTED: u8 = 4;
    pub const EXCLUSIVE: u8 = 5;
    pub const WAIT: u8 = 6;
    pub const NOWAIT: u8 = 7;
    pub const READ: u8 = 8;
    pub const WRITE: u8 = 9;
    pub const LOCK_READ: u8 = 10;
    pub const LOCK_WRITE: u8 = 11;
    pub const VERB_TIME: u8 = 12;
    pub const COMMIT_TIME: u8 = 13;
    pub const IGNORE_LIMBO: u8 = 14;
    pub const READ_COMMITTED: u8 = 15;
    pub const AUTOCOMMIT: u8 = 16;
    pub const REC_VERSION: u8 = 17;
    pub const NO_REC_VERSION: u8 = 18;
    pub const RESTART_REQUESTS: u8 = 19;
    pub const NO_AUTO_UNDO: u8 = 20;
    pub const LOCK_TIMEOUT: u8 = 21;
    pub const READ_CONSISTENCY: u8 = 22;
    pub const AT_SNAPSHOT_NUMBER: u8 = 23;
    pub const AUTO_RELEASE_TEMP_BLOBID: u8 = 24;
    pub const LOCK_TABLE_SCHEMA: u8 = 25;
}

/// isc_bpb_: blob parameter block; TYPE_ and STORAGE_ are values.
pub mod bpb {
    #![allow(missing_docs)]
    pub const VERSION1: u8 = 1;
    pub const SOURCE_TYPE: u8 = 1;
    pub const TARGET_TYPE: u8 = 2;
    pub const TYPE: u8 = 3;
    pub const SOURCE_INTERP: u8 = 4;
    pub const TARGET_INTERP: u8 = 5;
    pub const FILTER_PARAMETER: u8 = 6;
    pub const STORAGE: u8 = 7;
    pub const TYPE_SEGMENTED: u8 = 0;
    pub const TYPE_STREAM: u8 = 1;
    pub const STORAGE_MAIN: u8 = 0;
    pub const STORAGE_TEMP: u8 = 2;
}

/// Tags of the batch parameter block (version byte 1, wide clumplets) and values of BLOB_POLICY.
pub mod batch {
    #![allow(missing_docs)]
    pub const VERSION1: u8 = 1;
    pub const MULTIERROR: u8 = 1;
    pub const RECORD_COUNTS: u8 = 2;
    pub const BUFFER_BYTES_SIZE: u8 = 3;
    pub const BLOB_POLICY: u8 = 4;
    pub const DETAILED_ERRORS: u8 = 5;
    pub const BLOB_NONE: u8 = 0;
    pub const BLOB_ID_ENGINE: u8 = 1;
    pub const BLOB_ID_USER: u8 = 2;
    pub const BLOB_STREAM: u8 = 3;
}

/// isc_spb_: service parameter block, of attaching and of starting services.
pub mod spb {
    #![allow(missing_docs)]
    pub const VERSION1: u8 = 1;
    pub const CURRENT_VERSION: u8 = 2;
    pub const VERSION3: u8 = 3;
    pub const USER_NAME: u8 = 28;
    pub const SYS_USER_NAME: u8 = 19;
    pub const SYS_USER_NAME_ENC: u8 = 31;
    pub const PASSWORD: u8 = 29;
    pub const PASSWORD_ENC: u8 = 30;
    pub const CONNECT_TIMEOUT: u8 = 57;
    pub const DUMMY_PACKET_INTERVAL: u8 = 58;
    pub const SQL_ROLE_NAME: u8 = 60;
    pub const COMMAND_LINE: u8 = 105;
    pub const DBNAME: u8 = 106;
    pub const VERBOSE: u8 = 107;
    pub const OPTIONS: u8 = 108;
    pub const ADDRESS_PATH: u8 = 109;
    pub const PROCESS_ID: u8 = 110;
    pub const TRUSTED_AUTH: u8 = 111;
    pub const PROCESS_NAME: u8 = 112;
    pub const TRUSTED_ROLE: u8 = 113;
    pub const VERBINT: u8 = 114;
    pub const AUTH_BLOCK: u8 = 115;
    pub const AUTH_PLUGIN_NAME: u8 = 116;
    pub const AUTH_PLUGIN_LIST: u8 = 117;
    pub const UTF8_FILENAME: u8 = 118;
    pub const CLIENT_VERSION: u8 = 119;
    pub const REMOTE_PROTOCOL: u8 = 120;
    pub const HOST_NAME: u8 = 121;
    pub const OS_USER: u8 = 122;
    pub const CONFIG: u8 = 123;
    pub const EXPECTED_DB: u8 = 124;

    /// isc_action_svc_: what a service does.
    pub mod action {
        pub const BACKUP: u8 = 1;
        pub const RESTORE: u8 = 2;
        pub const REPAIR: u8 = 3;
        pub const ADD_USER: u8 = 4;
        pub const DELETE_USER: u8 = 5;
        pub const MODIFY_USER: u8 = 6;
        pub const DISPLAY_USER: u8 = 7;
        pub const PROPERTIES: u8 = 8;
        pub const ADD_LICENSE: u8 = 9;
        pub const REMOVE_LICENSE: u8 = 10;
        pub const DB_STATS: u8 = 11;
        pub const GET_IB_LOG: u8 = 12;
        pub const GET_FB_LOG: u8 = 12;
        pub const NBAK: u8 = 20;
        pub const NREST: u8 = 21;
        pub const TRACE_START: u8 = 22;
        pub const TRACE_STOP: u8 = 23;
        pub const TRACE_SUSPEND: u8 = 24;
        pub const TRACE_RESUME: u8 = 25;
        pub const TRACE_LIST: u8 = 26;
        pub const SET_MAPPING: u8 = 27;
        pub const DROP_MAPPING: u8 = 28;
        pub const DISPLAY_USER_ADM: u8 = 29;
        pub const VALIDATE: u8 = 30;
        pub const NFIX: u8 = 31;
    }

    /// isc_info_svc_: what a service is asked.
    pub mod info {
        pub const SVR_DB_INFO: u8 = 50;
        pub const GET_LICENSE: u8 = 51;
        pub const GET_LICENSE_MASK: u8 = 52;
        pub const GET_CONFIG: u8 = 53;
        pub const VERSION: u8 = 54;
        pub const SERVER_VERSION: u8 = 55;
        pub const IMPLEMENTATION: u8 = 56;
        pub const CAPABILITIES: u8 = 57;
        pub const USER_DBPATH: u8 = 58;
        pub const GET_ENV: u8 = 59;
        pub const GET_ENV_LOCK: u8 = 60;
        pub const GET_ENV_MSG: u8 = 61;
        pub const LINE: u8 = 62;
        pub const TO_EOF: u8 = 63;
        pub const TIMEOUT: u8 = 64;
        pub const GET_LICENSED_USERS: u8 = 65;
        pub const LIMBO_TRANS: u8 = 66;
        pub const RUNNING: u8 = 67;
        pub const GET_USERS: u8 = 68;
        pub const AUTH_BLOCK: u8 = 69;
        pub const STDIN: u8 = 78;
    }

    /// isc_spb_sec_: users.
    pub mod user {
        pub const USERID: u8 = 5;
        pub const GROUPID: u8 = 6;
        pub const USERNAME: u8 = 7;
        pub const PASSWORD: u8 = 8;
        pub const GROUPNAME: u8 = 9;
        pub const FIRSTNAME: u8 = 10;
        pub const MIDDLENAME: u8 = 11;
        pub const LASTNAME: u8 = 12;
        pub const ADMIN: u8 = 13;
    }

    /// isc_spb_bkp_: backup tags, and option bits from IGNORE_CHECKSUMS on.
    pub mod backup {
        pub const FILE: u8 = 5;
        pub const FACTOR: u8 = 6;
        pub const LENGTH: u8 = 7;
        pub const SKIP_DATA: u8 = 8;
        pub const STAT: u8 = 15;
        pub const KEYHOLDER: u8 = 16;
        pub const KEYNAME: u8 = 17;
        pub const CRYPT: u8 = 18;
        pub const INCLUDE_DATA: u8 = 19;
        pub const PARALLEL_WORKERS: u8 = 21;
        pub const IGNORE_CHECKSUMS: u8 = 1;
        pub const IGNORE_LIMBO: u8 = 2;
        pub const METADATA_ONLY: u8 = 4;
        pub const NO_GARBAGE_COLLECT: u8 = 8;
        pub const OLD_DESCRIPTIONS: u8 = 16;
        pub const NON_TRANSPORTABLE: u8 = 32;
        pub const CONVERT: u8 = 64;
        pub const EXPAND: u8 = 128;
        pub const NO_TRIGGERS: u32 = 32768;
        pub const ZIP: u32 = 65536;
        pub const DIRECT_IO: u32 = 131072;
    }

    /// isc_spb_res_: restore tags and option bits.
    pub mod restore {
        pub const SKIP_DATA: u8 = 8;
        pub const INCLUDE_DATA: u8 = 19;
        pub const BUFFERS: u8 = 9;
        pub const PAGE_SIZE: u8 = 10;
        pub const LENGTH: u8 = 11;
        pub const ACCESS_MODE: u8 = 12;
        pub const FIX_FSS_DATA: u8 = 13;
        pub const FIX_FSS_METADATA: u8 = 14;
        pub const KEYHOLDER: u8 = 16;
        pub const KEYNAME: u8 = 17;
        pub const CRYPT: u8 = 18;
        pub const STAT: u8 = 15;
        pub const PARALLEL_WORKERS: u8 = 21;
        pub const METADATA_ONLY: u8 = 4;
        pub const DEACTIVATE_IDX: u32 = 256;
        pub const NO_SHADOW: u32 = 512;
        pub const NO_VALIDITY: u32 = 1024;
        pub const ONE_AT_A_TIME: u32 = 2048;
        pub const REPLACE: u32 = 4096;
        pub const CREATE: u32 = 8192;
        pub const USE_ALL_SPACE: u32 = 16384;
        pub const DIRECT_IO: u32 = 131072;
        pub const REPLICA_MODE: u8 = 20;
        pub const AM_READONLY: u8 = 39;
        pub const AM_READWRITE: u8 = 40;
        pub const RM_NONE: u8 = 0;
        pub const RM_READONLY: u8 = 1;
        pub const RM_READWRITE: u8 = 2;
    }

    /// isc_spb_prp_: database properties, tags and option bits.
    pub mod properties {
        pub const PAGE_BUFFERS: u8 = 5;
        pub const SWEEP_INTERVAL: u8 = 6;
        pub const SHUTDOWN_DB: u8 = 7;
        pub const DENY_NEW_ATTACHMENTS: u8 = 9;
        pub const DENY_NEW_TRANSACTIONS: u8 = 10;
        pub const RESERVE_SPACE: u8 = 11;
        pub const WRITE_MODE: u8 = 12;
        pub const ACCESS_MODE: u8 = 13;
        pub const SET_SQL_DIALECT: u8 = 14;
        pub const ACTIVATE: u32 = 256;
        pub const DB_ONLINE: u32 = 512;
        pub const NOLINGER: u32 = 1024;
        pub const FORCE_SHUTDOWN: u8 = 41;
        pub const ATTACHMENTS_SHUTDOWN: u8 = 42;
        pub const TRANSACTIONS_SHUTDOWN: u8 = 43;
        pub const SHUTDOWN_MODE: u8 = 44;
        pub const ONLINE_MODE: u8 = 45;
        pub const REPLICA_MODE: u8 = 46;
        pub const SM_NORMAL: u8 = 0;
        pub const SM_MULTI: u8 = 1;
        pub const SM_SINGLE: u8 = 2;
        pub const SM_FULL: u8 = 3;
        pub const RES_USE_FULL: u8 = 35;
        pub const RES: u8 = 36;
        pub const WM_ASYNC: u8 = 37;
        pub const WM_SYNC: u8 = 38;
        pub const AM_READONLY: u8 = 39;
        pub const AM_READWRITE: u8 = 40;
        pub const RM_NONE: u8 = 0;
        pub const RM_READONLY: u8 = 1;
        pub const RM_READWRITE: u8 = 2;
    }

    /// isc_spb_rpr_: repair tags and option bits.
    pub mod repair {
        pub const COMMIT_TRANS: u8 = 15;
        pub const ROLLBACK_TRANS: u8 = 34;
        pub const RECOVER_TWO_PHASE: u8 = 17;
        pub const COMMIT_TRANS_64: u8 = 49;
        pub const ROLLBACK_TRANS_64: u8 = 50;
        pub const RECOVER_TWO_PHASE_64: u8 = 51;
        pub const PAR_WORKERS: u8 = 52;
        pub const VALIDATE_DB: u8 = 1;
        pub const SWEEP_DB: u8 = 2;
        pub const MEND_DB: u8 = 4;
        pub const LIST_LIMBO_TRANS: u8 = 8;
        pub const CHECK_DB: u8 = 16;
        pub const IGNORE_CHECKSUM: u8 = 32;
        pub const KILL_SHADOWS: u8 = 64;
        pub const FULL: u8 = 128;
        pub const ICU: u32 = 2048;
        pub const UPGRADE_DB: u32 = 4096;
    }

    /// isc_spb_tra_: transactions in limbo.
    pub mod limbo {
        pub const ID: u8 = 18;
        pub const STATE: u8 = 21;
        pub const STATE_LIMBO: u8 = 22;
        pub const STATE_COMMIT: u8 = 23;
        pub const STATE_ROLLBACK: u8 = 24;
        pub const STATE_UNKNOWN: u8 = 25;
        pub const HOST_SITE: u8 = 26;
        pub const REMOTE_SITE: u8 = 27;
        pub const DB_PATH: u8 = 28;
        pub const ADVISE: u8 = 29;
        pub const ADVISE_COMMIT: u8 = 30;
        pub const ADVISE_ROLLBACK: u8 = 31;
        pub const ADVISE_UNKNOWN: u8 = 33;
        pub const ID_64: u8 = 46;
    }

    /// isc_spb_val_: online validation.
    pub mod validate {
        pub const TAB_INCL: u8 = 1;
        pub const TAB_EXCL: u8 = 2;
        pub const IDX_INCL: u8 = 3;
        pub const IDX_EXCL: u8 = 4;
        pub const LOCK_TIMEOUT: u8 = 5;
    }

    /// isc_spb_sts_: statistics.
    pub mod statistics {
        pub const TABLE: u8 = 64;
        pub const DATA_PAGES: u8 = 1;
        pub const DB_LOG: u8 = 2;
        pub const HDR_PAGES: u8 = 4;
        pub const IDX_PAGES: u8 = 8;
        pub const SYS_RELATIONS: u8 = 16;
        pub const RECORD_VERSIONS: u8 = 32;
        pub const NOCREATION: u8 = 128;
        pub const ENCRYPTION: u32 = 256;
    }

    /// isc_spb_nbk_: nbackup.
    pub mod nbackup {
        pub const LEVEL: u8 = 5;
        pub const FILE: u8 = 6;
        pub const DIRECT: u8 = 7;
        pub const GUID: u8 = 8;
        pub const CLEAN_HISTORY: u8 = 9;
        pub const KEEP_DAYS: u8 = 10;
        pub const KEEP_ROWS: u8 = 11;
        pub const NO_TRIGGERS: u8 = 1;
        pub const INPLACE: u8 = 2;
        pub const SEQUENCE: u8 = 4;
    }

    /// isc_spb_trc_: trace.
    pub mod trace {
        pub const ID: u8 = 1;
        pub const NAME: u8 = 2;
        pub const CFG: u8 = 3;
    }
}
