//! Asks the catalogue what a query names (`definitions`), and tells whoever waits for it.

use std::sync::Arc;

use farbird_wire::clumplet::tpb;
use farbird_wire::info::{common, sql};
use farbird_wire::message::MessageForm;
use farbird_wire::packet::{BufferLength, Execute, Fetch, Output, Reply, Request, StatementText};
use farbird_wire::protocol::{FETCH_END_OF_CURSOR, Handle, free_statement};

use super::conversation::Conversation;
use super::definitions::{Asker, DefinitionStep, Found, LookUp, Query, ROW, catalogue_query};
use super::objects::Named;
use super::work::Purpose;
use crate::message::Tell;

/// Most things that one round may find.
const ROWS_MAX: u16 = 200;
/// Most texts of which is kept what was found.
const KNOWN_MAX: usize = 1_000;
/// READ COMMITTED, read only, without waiting.
const OWN_TPB: [u8; 5] = [tpb::VERSION3, tpb::READ_COMMITTED, tpb::REC_VERSION, tpb::READ, tpb::NOWAIT];

impl Conversation {
    /// Looks up what a query that was just prepared names.
    pub(super) fn look_up(&mut self, query: Query, asker: Asker) {
        // One that the edge describes from its cache was looked up with its text.
        let known = self.definitions.known.get(&query).copied();
        let is_repeated = matches!(asker, Asker::Edge { told: None, .. });
        if let Some(is_plain) = known.filter(|_| is_repeated) {
            return self.found(query, asker, is_plain);
        }
        let mut look_up = LookUp::new(query, asker);
        if !look_up.add_names_of(&look_up.query.clone()) {
            return self.found(look_up.query, look_up.asker, false);
        }
        self.definitions.look_ups.push_back(look_up);
        if self.definitions.look_ups.len() == 1 {
            self.begin_round();
        }
    }

    fn begin_round(&mut self) {
        let begin = Request::StartTransaction { database: Handle::NONE, tpb: OWN_TPB.to_vec() };
        self.transmit_look_up(&begin, DefinitionStep::Begin);
        self.transmit_look_up(&Request::AllocateStatement(Handle::NONE), DefinitionStep::Allocate);
        self.draw_out();
    }

    fn transmit_look_up(&mut self, request: &Request, step: DefinitionStep) {
        self.transmit(request, Named::default(), Purpose::Definitions(step));
    }

    /// A request of a look-up is answered.
    pub(super) fn definitions_replied(
        &mut self,
        step: DefinitionStep,
        reply: &Reply,
        packets: &[u8],
        object: Handle,
    ) {
        let Some(look_up) = self.definitions.look_ups.front_mut() else { return };
        let is_success = match reply {
            Reply::Response(response) => response.status.is_success(),
            _ => true,
        };
        look_up.has_failed |= !is_success;
        let made = is_success.then_some(object);
        match step {
            DefinitionStep::Begin => look_up.transaction = made,
            DefinitionStep::Allocate => {
                look_up.statement = made;
                self.ask_catalogue();
            }
            DefinitionStep::Prepare | DefinitionStep::Execute => {}
            DefinitionStep::Fetch => {
                let is_whole =
                    matches!(reply, Reply::FetchResponse(fetch) if fetch.status == FETCH_END_OF_CURSOR);
                look_up.has_failed |= !is_whole;
                let form = MessageForm::of_sql(self.line.version());
                let found = if look_up.has_failed { Found::More } else { look_up.understand(packets, form) };
                self.end_round(&found);
            }
        }
    }

    /// Asks for the names, in one flight with the end of the transaction.
    fn ask_catalogue(&mut self) {
        let Some(look_up) = self.definitions.look_ups.front() else { return };
        let (transaction, statement) = (look_up.transaction, look_up.statement);
        let sql = catalogue_query(&look_up.names);
        if let (Some(transaction), Some(statement)) = (transaction, statement) {
            let [prepare, execute, fetch] = catalogue_requests(transaction, statement, sql);
            self.transmit_look_up(&prepare, DefinitionStep::Prepare);
            self.transmit_look_up(&execute, DefinitionStep::Execute);
            self.transmit_look_up(&fetch, DefinitionStep::Fetch);
        }
        if let Some(statement) = statement {
            let free = Request::FreeStatement { statement, option: free_statement::DROP };
            self.transmit(&free, Named::default(), Purpose::Ignored);
        }
        if let Some(transaction) = transaction {
            self.transmit(&Request::Commit(transaction), Named::default(), Purpose::Ignored);
        }
        if transaction.is_none() || statement.is_none() {
            self.end_round(&Found::More);
        }
    }

    fn end_round(&mut self, found: &Found) {
        let is_plain = match found {
            Found::Names => return self.begin_round(),
            Found::Plain => true,
            Found::More => false,
        };
        let Some(look_up) = self.definitions.look_ups.pop_front() else { return };
        self.definitions.has_triggers |= look_up.found_triggers;
        self.found(look_up.query, look_up.asker, is_plain);
        if self.definitions.is_asking() {
            self.begin_round();
        }
    }

    fn found(&mut self, query: Query, asker: Asker, is_plain: bool) {
        if self.definitions.known.len() >= KNOWN_MAX {
            self.definitions.known.clear();
        }
        self.definitions.known.insert(query, is_plain);
        match asker {
            Asker::Edge { statement, described, told } => {
                // Which relations matters for commit notices alone, and there are none.
                let reads = is_plain.then(Vec::new);
                self.tell(Tell::Statement { statement, described, reads });
                if let Some((id, packets)) = told {
                    self.tell(Tell::Reply { id, packets });
                }
            }
            Asker::Ahead(number) => self.ahead_looked_up(number, is_plain),
        }
    }
}

fn catalogue_requests(transaction: Handle, statement: Handle, sql: String) -> [Request; 3] {
    let prepare = StatementText {
        transaction,
        statement,
        dialect: 3,
        sql: sql.into_bytes(),
        items: vec![sql::STMT_TYPE, common::END],
        buffer_length: BufferLength(64),
        flags: 0,
    };
    let execute = Execute {
        statement,
        transaction,
        input_blr: Vec::new(),
        message_number: 0,
        message: None,
        timeout_ms: 0,
        cursor_flags: 0,
        inline_blob_bytes: 0,
    };
    let output = Output::new(Some(Arc::clone(&ROW)));
    let fetch = Fetch { statement, output, count: ROWS_MAX };
    [Request::Prepare(prepare), Request::Execute(execute), Request::Fetch(fetch)]
}
