//! As much of HTTP/1.1 as the page needs, with a bound on everything a client can send or withhold.

use std::{
    borrow::Cow,
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

/// Most bytes of a request before its body.
const MOST_HEAD: usize = 16 * 1024;
/// Most bytes of a body: a situation of the largest team takes a tenth of that.
pub(crate) const MOST_BODY: usize = 64 * 1024;
/// A request that has begun must arrive, and an answer be taken, within this time.
const PATIENCE: Duration = Duration::from_secs(10);
/// A connection may be silent between requests for this long.
const SILENCE: Duration = Duration::from_secs(60);

/// What a client asked for.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) host: String,
    pub(crate) origin: Option<String>,
    pub(crate) content_type: String,
    pub(crate) known_tag: Option<String>,
    pub(crate) close: bool,
    pub(crate) body: Vec<u8>,
}

/// What it gets.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) tag: Option<String>,
    pub(crate) body: Cow<'static, [u8]>,
}

impl Response {
    /// A part of the page.
    pub(crate) fn asset(content_type: &'static str, text: &'static str) -> Self {
        Self { status: 200, content_type, tag: None, body: Cow::Borrowed(text.as_bytes()) }
    }

    /// Data.
    pub(crate) fn json(value: &impl serde::Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => Self::data(200, body),
            Err(error) => Self::refusal(500, &error.to_string()),
        }
    }

    /// A mistake, told as `{"error": …}`.
    pub(crate) fn refusal(status: u16, message: &str) -> Self {
        Self::data(status, serde_json::json!({ "error": message }).to_string().into_bytes())
    }

    /// Data that is written already.
    pub(crate) fn data(status: u16, body: Vec<u8>) -> Self {
        let body = Cow::Owned(body);
        Self { status, content_type: "application/json", tag: None, body }
    }

    fn reason(&self) -> &'static str {
        match self.status {
            200 => "OK",
            304 => "Not Modified",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            413 => "Content Too Large",
            415 => "Unsupported Media Type",
            431 => "Request Header Fields Too Large",
            503 => "Service Unavailable",
            _ => "Internal Server Error",
        }
    }

    fn head(&self, close: bool) -> String {
        let tag = self.tag.as_ref().map_or(String::new(), |tag| format!("ETag: {tag}\r\n"));
        format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{tag}Cache-Control: no-cache\r\n\
             Connection: {}\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
             Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
             Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; \
             connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'\r\n\r\n",
            self.status,
            self.reason(),
            self.content_type,
            self.body.len(),
            if close { "close" } else { "keep-alive" },
        )
    }

    /// Sends the answer; a client that does not take it loses its connection.
    pub(crate) fn send(&self, stream: &mut TcpStream, close: bool) -> std::io::Result<()> {
        let mut message = self.head(close).into_bytes();
        message.extend_from_slice(&self.body);
        let deadline = Instant::now() + PATIENCE;
        let mut rest = &message[..];
        while !rest.is_empty() {
            stream.set_write_timeout(Some(until(deadline)?))?;
            match stream.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => rest = &rest[n..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        stream.flush()
    }
}

/// Why there is no request.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The client has gone, or fell silent between requests.
    Gone,
    /// It sent something that cannot be answered otherwise.
    Refused(u16, String),
}

/// Waits for the next request of a connection.
pub(crate) fn receive(stream: &mut TcpStream) -> Result<Request, Trouble> {
    let mut bytes = Vec::new();
    let mut deadline = Instant::now() + SILENCE;
    let (mut request, head_length, body_length) = loop {
        if bytes.len() > MOST_HEAD {
            return Err(Trouble::Refused(431, "the request's head is too long".into()));
        }
        read_some(stream, &mut bytes, deadline)?;
        if let Some(found) = parse_head(&bytes)? {
            break found;
        }
        deadline = deadline.min(Instant::now() + PATIENCE);
    };
    let deadline = Instant::now() + PATIENCE;
    while bytes.len() < head_length + body_length {
        read_some(stream, &mut bytes, deadline)?;
    }
    request.body = bytes[head_length..head_length + body_length].to_vec();
    // Requests that were sent without waiting for an answer are not kept.
    request.close |= bytes.len() > head_length + body_length;
    Ok(request)
}

fn read_some(
    stream: &mut TcpStream,
    bytes: &mut Vec<u8>,
    deadline: Instant,
) -> Result<(), Trouble> {
    let mut buffer = [0; 4096];
    let slow = if bytes.is_empty() {
        Trouble::Gone
    } else {
        Trouble::Refused(408, "the request did not arrive in time".into())
    };
    let Ok(left) = until(deadline) else { return Err(slow) };
    stream.set_read_timeout(Some(left)).map_err(|_| Trouble::Gone)?;
    match stream.read(&mut buffer) {
        Ok(0) => Err(Trouble::Gone),
        Ok(n) => {
            bytes.extend_from_slice(&buffer[..n]);
            Ok(())
        }
        Err(error) => match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Err(slow),
            ErrorKind::Interrupted => Ok(()),
            _ => Err(Trouble::Gone),
        },
    }
}

/// The request without its body, the length of its head and of its body; `None` while incomplete.
fn parse_head(bytes: &[u8]) -> Result<Option<(Request, usize, usize)>, Trouble> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Request::new(&mut headers);
    let refused = |status, text: &str| Err(Trouble::Refused(status, text.into()));
    let head_length = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return refused(400, &format!("not an HTTP request: {error}")),
    };
    let mut request = Request {
        method: parsed.method.unwrap_or_default().into(),
        path: parsed.path.unwrap_or_default().into(),
        close: parsed.version == Some(0),
        ..Request::default()
    };
    let mut body_length = 0;
    for header in parsed.headers {
        let value = String::from_utf8_lossy(header.value).trim().to_owned();
        match header.name.to_ascii_lowercase().as_str() {
            "host" => request.host = value.to_ascii_lowercase(),
            "origin" => request.origin = Some(value.to_ascii_lowercase()),
            "content-type" => request.content_type = value.to_ascii_lowercase(),
            "if-none-match" => request.known_tag = Some(value),
            "connection" => request.close |= value.eq_ignore_ascii_case("close"),
            "transfer-encoding" => return refused(400, "send the body with a Content-Length"),
            "content-length" => match value.parse() {
                Ok(length) if length <= MOST_BODY => body_length = length,
                Ok(_) => return refused(413, &format!("a body has at most {MOST_BODY} bytes")),
                Err(_) => return refused(400, "Content-Length is not a number"),
            },
            _ => {}
        }
    }
    Ok(Some((request, head_length, body_length)))
}

fn until(deadline: Instant) -> std::io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_taken_apart_once_it_is_whole() {
        let text = b"POST /api/step HTTP/1.1\r\nHost: LocalHost:80\r\nContent-Length: 2\r\n\r\n{}";
        assert!(parse_head(&text[..40]).unwrap().is_none());
        let (request, head, body) = parse_head(text).unwrap().unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/api/step"));
        assert_eq!((request.host.as_str(), head, body), ("localhost:80", text.len() - 2, 2));
    }

    #[test]
    fn what_cannot_be_bounded_is_refused() {
        let status = |text: &str| match parse_head(text.as_bytes()) {
            Err(Trouble::Refused(status, _)) => status,
            other => panic!("{other:?}"),
        };
        assert_eq!(status("POST / HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n"), 413);
        assert_eq!(status("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), 400);
        assert_eq!(status("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
        assert_eq!(status("\u{0}\r\n\r\n"), 400);
    }
}
