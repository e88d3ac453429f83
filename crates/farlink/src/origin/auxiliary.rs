//! The second connection to the server, on which events come: the conversation's owner makes it.

use farbird_wire::packet::Response;

use super::conversation::Conversation;
use super::work::AuxiliaryStep;
use crate::message::Tell;

impl Conversation {
    /// What is to be done about the second connection, if anything is.
    pub fn take_auxiliary(&mut self) -> Option<AuxiliaryStep> {
        self.auxiliary.take()
    }

    /// What the server has said on the second connection.
    pub fn auxiliary_came(&mut self, bytes: &[u8]) {
        self.tell(Tell::Auxiliary { bytes: bytes.to_vec(), is_over: false });
    }

    /// The second connection is over, or could not be made.
    pub fn auxiliary_over(&mut self) {
        self.tell(Tell::Auxiliary { bytes: Vec::new(), is_over: true });
    }

    /// The server waits for the second connection: op_connect_request is answered.
    pub(super) fn auxiliary_offered(&mut self, response: &Response) {
        // An address as sockets have it: the family, then the port.
        if let [_, _, high, low, ..] = response.data[..] {
            self.auxiliary = Some(AuxiliaryStep::Connect(u16::from_be_bytes([high, low])));
        }
    }
}
