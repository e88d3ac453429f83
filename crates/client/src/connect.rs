//! From a fresh connection to one on which an object (a database, the services manager) is attached.

use farbird_types::Result;
use farbird_wire::packet::{Reply, Request, Response};

use crate::core::{Shared, checked};
use crate::error;
use crate::login::{Login, Step};
use crate::options::ConnectOptions;

/// Logs in, as far as that is possible before an attach. The login that is given back goes on there.
///
/// `file` is what will be attached.
///
/// # Round trips
/// Three if the line is encrypted, else one; one more for each authentication plugin that the server does not know.
pub(crate) async fn log_in<'o>(
    shared: &Shared,
    file: &str,
    options: &'o ConnectOptions,
) -> Result<Option<Login<'o>>> {
    let mut login = Login::new(options)?;
    shared.lock().set_key_callback(options.key_callback.clone());
    let mut question = shared.ask(&login.connect_request(file))?;
    loop {
        match login.next(question.next().await?)? {
            Step::Send(request) => question = shared.ask(&request)?,
            Step::Done => {
                encrypt(shared, &login).await?;
                return Ok(None);
            }
            Step::AtAttach => return Ok(Some(login)),
        }
    }
}

/// Sends the request that attaches, and whatever the login still has to say.
pub(crate) async fn attach(shared: &Shared, login: Option<Login<'_>>, request: &Request) -> Result<Response> {
    let mut login = login;
    let mut question = shared.ask(request)?;
    loop {
        match (question.next().await?, &mut login) {
            (Reply::Response(response), login) => {
                let response = checked(response)?;
                if let Some(login) = login {
                    login.take_keys(&response.data)?;
                    encrypt(shared, login).await?;
                }
                return Ok(response);
            }
            (reply, Some(login)) => match login.next(reply)? {
                Step::Send(request) => question = shared.ask(&request)?,
                Step::Done | Step::AtAttach => return Err(error::unexpected("an attach")),
            },
            (_, None) => return Err(error::unexpected("an attach")),
        }
    }
}

async fn encrypt(shared: &Shared, login: &Login<'_>) -> Result<()> {
    if shared.lock().is_private() {
        return Ok(());
    }
    let Some(cipher) = login.cipher()? else { return Ok(()) };
    let ticket = shared.lock().ask_crypt(cipher.plugin, cipher.key, cipher.data)?;
    shared.question(ticket).response().await.map(|_| ())
}
