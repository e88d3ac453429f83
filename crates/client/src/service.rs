//! The services manager of a server: the connection with it, and how it is asked. What it does is in `service_*.rs`.
//!
//! Source: FirebirdSQL/firebird doc/README.services_extension.

use farbird_types::Result;
use farbird_wire::clumplet::{ClumpletWriter, spb};
use farbird_wire::info::common;
use farbird_wire::packet::{Attach, BufferLength, Request};
use farbird_wire::protocol::Handle;

use crate::connect;
use crate::core::{Question, Shared};
use crate::error;
use crate::login::Login;
use crate::options::ConnectOptions;

/// What is attached.
const SERVICE_MANAGER: &str = "service_mgr";
/// Room for an answer: the largest that Firebird's services know.
const ROOM: BufferLength = BufferLength(65_000);

/// A connection with a server's services manager. One service runs at a time.
#[derive(Debug)]
pub struct Services {
    pub(crate) shared: Shared,
}

impl Services {
    /// Attaches the services manager on a connection whose bytes are moved by a driver of the caller's: see
    /// [`crate::core`].
    ///
    /// # Round trips
    /// Four, or two if the line is not encrypted; one more for each authentication plugin that the server does not know.
    ///
    /// # Errors
    /// `isc_login` for a wrong password.
    pub async fn attach_over(shared: &Shared, options: &ConnectOptions) -> Result<Services> {
        let login = connect::log_in(shared, SERVICE_MANAGER, options).await?;
        let is_old = login.as_ref().is_some_and(Login::is_before_plugins);
        let mut items = if is_old { ClumpletWriter::old_spb_attach() } else { ClumpletWriter::spb_attach() };
        items.text(spb::USER_NAME, &options.user);
        if let Some(role) = &options.role {
            items.text(spb::SQL_ROLE_NAME, role);
        }
        items.text(spb::PROCESS_NAME, &options.program);
        if let Some(login) = &login {
            login.service_items(&mut items);
        }
        let request = Request::ServiceAttach(Attach {
            database: Handle::NONE,
            file: SERVICE_MANAGER.as_bytes().to_vec(),
            parameters: items.into_bytes(),
        });
        connect::attach(shared, login, &request).await?;
        Ok(Services { shared: shared.clone() })
    }

    /// Takes leave.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn close(self) -> Result<()> {
        self.shared.response(&Request::ServiceDetach(Handle::NONE)).await?;
        // A server that has answered may have closed the connection already.
        if self.shared.send(&Request::Disconnect).is_ok() {
            self.shared.lock().flush();
        }
        Ok(())
    }

    pub(crate) fn ask_service(&self, send_items: Vec<u8>, receive_items: &[u8]) -> Result<Question> {
        let question = self.shared.ask(&Request::ServiceInformation {
            service: Handle::NONE,
            incarnation: 0,
            send_items,
            receive_items: receive_items.to_vec(),
            buffer_length: ROOM,
        })?;
        self.shared.lock().flush();
        Ok(question)
    }

    pub(crate) async fn answer(&self, question: Question) -> Result<Answer> {
        let response = question.response().await?;
        Answer::parse(&response.data).ok_or_else(|| error::unexpected("a service"))
    }
}

/// What a service answered.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Bytes or a line that it said.
    pub(crate) bytes: Vec<u8>,
    /// How many bytes it waits for.
    pub(crate) wanted: usize,
    /// Whether it may have more to say although it said nothing.
    pub(crate) goes_on: bool,
}

impl Answer {
    /// `None` if it is not what was asked for.
    fn parse(data: &[u8]) -> Option<Answer> {
        let mut answer = Answer::default();
        let mut rest = data;
        while let Some((&item, after)) = rest.split_first() {
            rest = after;
            match item {
                common::END => break,
                common::TRUNCATED | common::DATA_NOT_READY | spb::info::TIMEOUT => answer.goes_on = true,
                spb::info::LINE | spb::info::TO_EOF => {
                    let (length, after) = rest.split_first_chunk()?;
                    let (bytes, after) = after.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
                    answer.bytes.extend_from_slice(bytes);
                    rest = after;
                }
                spb::info::STDIN => {
                    let (number, after) = rest.split_first_chunk()?;
                    answer.wanted = u32::from_le_bytes(*number) as usize;
                    rest = after;
                }
                _ => return None,
            }
        }
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_understood_and_nonsense_is_refused() {
        let heard = Answer::parse(&[63, 2, 0, b'a', b'b', 2, 1, 9, 9]);
        assert_eq!(heard, Some(Answer { bytes: b"ab".to_vec(), wanted: 0, goes_on: true }));
        let asked = Answer::parse(&[78, 0, 1, 0, 0, 62, 0, 0, 4, 1]);
        assert_eq!(asked, Some(Answer { bytes: Vec::new(), wanted: 256, goes_on: true }));
        for nonsense in [&[62, 9, 0, 1][..], &[78, 1, 2], &[99]] {
            assert_eq!(Answer::parse(nonsense), None);
        }
    }
}
