//! Who may ask: those who reached us under one of our own names, from our own page.

use super::answer::Refusal;
use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, StatusCode, header},
    middleware::Next,
    response::Response,
};
use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

/// The names of a server.
pub(crate) struct Access {
    address: SocketAddr,
    host: String,
}

impl Access {
    /// Those of a server at an address that was asked for under a name.
    pub(crate) fn new(address: SocketAddr, host: &str) -> Self {
        Self { address, host: host.to_ascii_lowercase() }
    }

    /// Refuses foreign names (a page elsewhere that points its name at us) and foreign origins.
    fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = text(headers, &header::HOST).unwrap_or_default();
        let port = format!(":{}", self.address.port());
        let name = host.strip_suffix(&port).unwrap_or(&host);
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let known = bare == "localhost"
            || bare == self.host
            || bare.parse::<IpAddr>().is_ok_and(|ip| {
                ip == self.address.ip() || (self.address.ip().is_unspecified() || ip.is_loopback())
            });
        let forbidden = |message| Err(Refusal(StatusCode::FORBIDDEN, message));
        if !known {
            return forbidden(format!("this server is not called {host:?}"));
        }
        match text(headers, &header::ORIGIN) {
            Some(origin) if origin != format!("http://{host}") => {
                forbidden(format!("requests from {origin:?} are refused"))
            }
            _ => Ok(()),
        }
    }
}

/// Lets a request through that may ask.
pub(super) async fn check(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    access.check(request.headers())?;
    Ok(next.run(request).await)
}

/// A header in lower case.
pub(super) fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(host: &str, origin: Option<&str>) -> u16 {
        let access = Access::new("127.0.0.1:8000".parse().unwrap(), "127.0.0.1");
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        access.check(&headers).map_or_else(|Refusal(status, _)| status.as_u16(), |()| 200)
    }

    #[test]
    fn only_our_own_names_and_pages_may_ask() {
        assert_eq!(status("127.0.0.1:8000", None), 200);
        assert_eq!(status("localhost:8000", Some("http://localhost:8000")), 200);
        assert_eq!(status("[::1]:8000", None), 200);
        assert_eq!(status("evil.example:8000", None), 403);
        assert_eq!(status("192.168.1.7:8000", None), 403);
        assert_eq!(status("localhost:8000", Some("http://evil.example")), 403);
        assert_eq!(status("localhost:8000", Some("null")), 403);
    }
}
