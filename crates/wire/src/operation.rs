//! Operation codes: the first word of every packet.
//!
//! Uses nothing of ours. Source: wire-protocol.md, 6.2 and 11.1. Codes that no living program sends (exit, insert,
//! partial, repl_req ...) are left out: to a receiver they are unknown.

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        /// What a packet asks for or answers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum Operation {
            $($(#[$doc])* $name = $code,)*
        }

        impl Operation {
            /// The operation of a code, if there is one.
            pub const fn from_code(code: u32) -> Option<Operation> {
                match code {
                    $($code => Some(Operation::$name),)*
                    _ => None,
                }
            }
        }
    };
}

impl Operation {
    /// The word on the wire.
    pub const fn code(self) -> u32 {
        self as u32
    }
}

operations! {
    /// op_connect (1)
    Connect = 1,
    /// op_accept (3)
    Accept = 3,
    /// op_reject (4)
    Reject = 4,
    /// op_disconnect (6)
    Disconnect = 6,
    /// op_response (9)
    Response = 9,
    /// op_attach (19)
    Attach = 19,
    /// op_create (20)
    Create = 20,
    /// op_detach (21)
    Detach = 21,
    /// op_compile (22)
    Compile = 22,
    /// op_start (23)
    Start = 23,
    /// op_start_and_send (24)
    StartAndSend = 24,
    /// op_send (25)
    Send = 25,
    /// op_receive (26)
    Receive = 26,
    /// op_unwind (27)
    Unwind = 27,
    /// op_release (28)
    Release = 28,
    /// op_transaction (29)
    Transaction = 29,
    /// op_commit (30)
    Commit = 30,
    /// op_rollback (31)
    Rollback = 31,
    /// op_prepare (32)
    PrepareTransaction = 32,
    /// op_reconnect (33)
    Reconnect = 33,
    /// op_create_blob (34)
    CreateBlob = 34,
    /// op_open_blob (35)
    OpenBlob = 35,
    /// op_get_segment (36)
    GetSegment = 36,
    /// op_put_segment (37)
    PutSegment = 37,
    /// op_cancel_blob (38)
    CancelBlob = 38,
    /// op_close_blob (39)
    CloseBlob = 39,
    /// op_info_database (40)
    InfoDatabase = 40,
    /// op_info_request (41)
    InfoRequest = 41,
    /// op_info_transaction (42)
    InfoTransaction = 42,
    /// op_info_blob (43)
    InfoBlob = 43,
    /// op_batch_segments (44)
    BatchSegments = 44,
    /// op_que_events (48)
    QueueEvents = 48,
    /// op_cancel_events (49)
    CancelEvents = 49,
    /// op_commit_retaining (50)
    CommitRetaining = 50,
    /// op_prepare2 (51)
    PrepareTransaction2 = 51,
    /// op_event (52)
    Event = 52,
    /// op_connect_request (53)
    ConnectRequest = 53,
    /// op_aux_connect (54)
    AuxConnect = 54,
    /// op_ddl (55)
    Ddl = 55,
    /// op_open_blob2 (56)
    OpenBlob2 = 56,
    /// op_create_blob2 (57)
    CreateBlob2 = 57,
    /// op_get_slice (58)
    GetSlice = 58,
    /// op_put_slice (59)
    PutSlice = 59,
    /// op_slice (60)
    Slice = 60,
    /// op_seek_blob (61)
    SeekBlob = 61,
    /// op_allocate_statement (62)
    AllocateStatement = 62,
    /// op_execute (63)
    Execute = 63,
    /// op_exec_immediate (64)
    ExecuteImmediate = 64,
    /// op_fetch (65)
    Fetch = 65,
    /// op_fetch_response (66)
    FetchResponse = 66,
    /// op_free_statement (67)
    FreeStatement = 67,
    /// op_prepare_statement (68)
    PrepareStatement = 68,
    /// op_set_cursor (69)
    SetCursor = 69,
    /// op_info_sql (70)
    InfoSql = 70,
    /// op_dummy (71)
    Dummy = 71,
    /// op_response_piggyback (72)
    ResponsePiggyback = 72,
    /// op_start_and_receive (73)
    StartAndReceive = 73,
    /// op_start_send_and_receive (74)
    StartSendAndReceive = 74,
    /// op_exec_immediate2 (75)
    ExecuteImmediate2 = 75,
    /// op_execute2 (76)
    Execute2 = 76,
    /// op_sql_response (78)
    SqlResponse = 78,
    /// op_transact (79)
    Transact = 79,
    /// op_transact_response (80)
    TransactResponse = 80,
    /// op_drop_database (81)
    DropDatabase = 81,
    /// op_service_attach (82)
    ServiceAttach = 82,
    /// op_service_detach (83)
    ServiceDetach = 83,
    /// op_service_info (84)
    ServiceInfo = 84,
    /// op_service_start (85)
    ServiceStart = 85,
    /// op_rollback_retaining (86)
    RollbackRetaining = 86,
    /// op_update_account_info (87)
    UpdateAccountInfo = 87,
    /// op_authenticate_user (88)
    AuthenticateUser = 88,
    /// op_trusted_auth (90)
    TrustedAuthentication = 90,
    /// op_cancel (91)
    Cancel = 91,
    /// op_cont_auth (92)
    ContinueAuthentication = 92,
    /// op_ping (93)
    Ping = 93,
    /// op_accept_data (94)
    AcceptData = 94,
    /// op_abort_aux_connection (95)
    AbortAuxConnection = 95,
    /// op_crypt (96)
    Crypt = 96,
    /// op_crypt_key_callback (97)
    CryptKeyCallback = 97,
    /// op_cond_accept (98)
    ConditionalAccept = 98,
    /// op_batch_create (99)
    BatchCreate = 99,
    /// op_batch_msg (100)
    BatchMessages = 100,
    /// op_batch_exec (101)
    BatchExecute = 101,
    /// op_batch_rls (102)
    BatchRelease = 102,
    /// op_batch_cs (103)
    BatchCompletion = 103,
    /// op_batch_regblob (104)
    BatchRegisterBlob = 104,
    /// op_batch_blob_stream (105)
    BatchBlobStream = 105,
    /// op_batch_set_bpb (106)
    BatchSetBpb = 106,
    /// op_repl_data (107)
    ReplicationData = 107,
    /// op_batch_cancel (109)
    BatchCancel = 109,
    /// op_batch_sync (110)
    BatchSync = 110,
    /// op_info_batch (111)
    InfoBatch = 111,
    /// op_fetch_scroll (112)
    FetchScroll = 112,
    /// op_info_cursor (113)
    InfoCursor = 113,
    /// op_inline_blob (114)
    InlineBlob = 114,
}
