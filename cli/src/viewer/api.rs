//! Which request gets which answer, and who may ask.

use super::{
    cast::{Cast, Refusal},
    http::{Request, Response},
    message::{self, Limits},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::net::{IpAddr, SocketAddr};

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The page's files.
const ASSETS: [(&str, &str, &str); 7] = [
    ("/", HTML, include_str!("../../../viewer/view.html")),
    ("/style.css", STYLE, include_str!("../../../viewer/style.css")),
    ("/arena.js", SCRIPT, include_str!("../../../viewer/arena.js")),
    ("/charts.js", SCRIPT, include_str!("../../../viewer/charts.js")),
    ("/theatre.js", SCRIPT, include_str!("../../../viewer/theatre.js")),
    ("/measure.js", SCRIPT, include_str!("../../../viewer/measure.js")),
    ("/view.js", SCRIPT, include_str!("../../../viewer/view.js")),
];

/// Who may ask: those who reached us under one of our own names.
pub(crate) struct Door {
    address: SocketAddr,
    host: String,
}

impl Door {
    /// The door of a server at an address that was asked for under a name.
    pub(crate) fn new(address: SocketAddr, host: &str) -> Self {
        Self { address, host: host.to_ascii_lowercase() }
    }

    /// Refuses foreign names (a page elsewhere that points its name at us) and foreign origins.
    fn check(&self, request: &Request) -> Result<(), Refusal> {
        let port = format!(":{}", self.address.port());
        let name = request.host.strip_suffix(&port).unwrap_or(&request.host);
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let known = bare == "localhost"
            || bare == self.host
            || bare.parse::<IpAddr>().is_ok_and(|ip| {
                ip == self.address.ip() || (self.address.ip().is_unspecified() || ip.is_loopback())
            });
        if !known {
            return Err((403, format!("this server is not called {:?}", request.host)));
        }
        match &request.origin {
            Some(origin) if *origin != format!("http://{}", request.host) => {
                Err((403, format!("requests from {origin:?} are refused")))
            }
            _ => Ok(()),
        }
    }
}

/// Answers a request.
pub(crate) fn answer(cast: &Cast, door: &Door, request: &Request) -> Response {
    let refusal = |(status, message): Refusal| Response::refusal(status, &message);
    if let Err(refused) = door.check(request) {
        return refusal(refused);
    }
    let path = request.path.split('?').next().unwrap_or_default();
    let asset = ASSETS.iter().find(|(name, ..)| *name == path);
    match (request.method.as_str(), path, asset) {
        ("GET", _, Some((_, content_type, text))) => Response::asset(content_type, text),
        ("GET", "/api/run", _) => describe(cast, request),
        ("POST", "/api/start", _) => told(post(request, |message| cast.start(&message))),
        ("POST", "/api/step", _) => told(post(request, |message| cast.step(&message))),
        ("POST", "/api/measure", _) => told(post(request, |message| cast.measure(&message))),
        (_, "/api/run" | "/api/start" | "/api/step" | "/api/measure", _) | (_, _, Some(_)) => {
            refusal((405, format!("{} does not take {}", path, request.method)))
        }
        _ => refusal((404, format!("there is no {path}"))),
    }
}

fn describe(cast: &Cast, request: &Request) -> Response {
    let (data, tag) = cast.description();
    if request.known_tag.as_ref() == Some(&tag) {
        return Response { tag: Some(tag), ..Response::data(304, vec![]) };
    }
    Response { tag: Some(tag), ..Response::json(&data) }
}

fn post<T: DeserializeOwned + Limits>(
    request: &Request,
    answer: impl FnOnce(T) -> Result<Value, Refusal>,
) -> Result<Value, Refusal> {
    // A foreign page cannot send this type without asking first, and we never consent.
    if !request.content_type.starts_with("application/json") {
        return Err((415, "send Content-Type: application/json".into()));
    }
    answer(message::read(&request.body).map_err(|error| (400, error))?)
}

fn told(result: Result<Value, Refusal>) -> Response {
    match result {
        Ok(value) => Response::json(&value),
        Err((status, message)) => Response::refusal(status, &message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(host: &str, origin: Option<&str>) -> u16 {
        let door = Door::new("127.0.0.1:8000".parse().unwrap(), "127.0.0.1");
        let origin = origin.map(Into::into);
        let request = Request { host: host.into(), origin, ..Request::default() };
        door.check(&request).map_or_else(|(status, _)| status, |()| 200)
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
