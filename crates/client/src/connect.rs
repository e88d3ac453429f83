//! From an address to a link on which an object (a database, the services manager) is attached.

use std::net::{TcpStream, ToSocketAddrs};

use farbird_types::{Error, Result, isc};
use farbird_wire::packet::{CryptKeyCallback, Reply, Request, Response};

use crate::error;
use crate::link::{Link, checked};
use crate::login::{Login, Step};
use crate::options::ConnectOptions;

/// Connects and logs in, as far as that is possible before an attach. The login that is given back goes on there.
///
/// `file` is what will be attached.
///
/// # Round trips
/// Two, and one more if the line is encrypted.
pub(crate) fn log_in<'o>(
    host: &str,
    port: u16,
    file: &str,
    options: &'o ConnectOptions,
) -> Result<(Link, Option<Login<'o>>)> {
    let stream = open(host, port, options)?;
    let mut link = Link::new(stream, host.to_owned(), options.read_timeout)?;
    let mut login = Login::new(options)?;
    let mut ticket = link.send(&login.connect_request(file))?;
    loop {
        let reply = link.next(ticket)?;
        if answer_key_question(&mut link, &reply)? {
            continue;
        }
        match login.next(reply)? {
            Step::Send(request) => ticket = link.send(&request)?,
            Step::Done => {
                encrypt(&mut link, &login)?;
                return Ok((link, None));
            }
            Step::AtAttach => return Ok((link, Some(login))),
        }
    }
}

/// Sends the request that attaches, and whatever the login still has to say.
pub(crate) fn attach(link: &mut Link, login: Option<Login<'_>>, request: &Request) -> Result<Response> {
    let mut login = login;
    let mut ticket = link.send(request)?;
    loop {
        let reply = link.next(ticket)?;
        if answer_key_question(link, &reply)? {
            continue;
        }
        match (reply, &mut login) {
            (Reply::Response(response), login) => {
                let response = checked(response)?;
                if let Some(login) = login {
                    login.take_keys(&response.data)?;
                    encrypt(link, login)?;
                }
                return Ok(response);
            }
            (reply, Some(login)) => match login.next(reply)? {
                Step::Send(request) => ticket = link.send(&request)?,
                Step::Done | Step::AtAttach => return Err(error::unexpected("an attach")),
            },
            (_, None) => return Err(error::unexpected("an attach")),
        }
    }
}

fn open(host: &str, port: u16, options: &ConnectOptions) -> Result<TcpStream> {
    let failed = |error: &std::io::Error| error::network(host, isc::NET_CONNECT_ERR, error);
    let addresses = (host, port).to_socket_addrs().map_err(|error| failed(&error))?;
    let mut result = Err(Error::new(isc::NETWORK_ERROR).with(host).and(isc::NET_CONNECT_ERR));
    for address in addresses {
        match TcpStream::connect_timeout(&address, options.connect_timeout) {
            Ok(stream) => return Ok(stream),
            Err(error) => result = Err(failed(&error)),
        }
    }
    result
}

/// A server that opens an encrypted database may ask for its key. We hold none, and say so.
fn answer_key_question(link: &mut Link, reply: &Reply) -> Result<bool> {
    let Reply::CryptKeyCallback(question) = reply else { return Ok(false) };
    link.send_and_forget(&Request::CryptKeyCallback(CryptKeyCallback {
        data: Vec::new(),
        reply_length: question.reply_length,
    }))?;
    link.flush()?;
    Ok(true)
}

fn encrypt(link: &mut Link, login: &Login<'_>) -> Result<()> {
    let Some(cipher) = login.cipher()? else { return Ok(()) };
    let ticket = link.conversation().send_crypt(cipher.plugin, cipher.key, cipher.data)?;
    link.expect(ticket);
    link.response(ticket).map(|_| ())
}
