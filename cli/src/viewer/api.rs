//! Which request gets which answer, and who may ask.

use super::{
    answer::{Refusal, data},
    message::{self, Limits},
    policies::PolicyPool,
    server::aside,
};
use axum::{
    Router,
    body::Bytes,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, Method, StatusCode, Uri, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The page's files.
const ASSETS: [(&str, &str, &str); 7] = [
    ("/", HTML, include_str!("../../../viewer/view.html")),
    ("/style.css", STYLE, include_str!("../../../viewer/style.css")),
    ("/drawing.js", SCRIPT, include_str!("../../../viewer/drawing.js")),
    ("/charts.js", SCRIPT, include_str!("../../../viewer/charts.js")),
    ("/playback.js", SCRIPT, include_str!("../../../viewer/playback.js")),
    ("/measure.js", SCRIPT, include_str!("../../../viewer/measure.js")),
    ("/view.js", SCRIPT, include_str!("../../../viewer/view.js")),
];

/// Who may ask: those who reached us under one of our own names.
pub(crate) struct Access {
    address: SocketAddr,
    host: String,
}

impl Access {
    /// The access of a server at an address that was asked for under a name.
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

/// Every path, and who answers there.
pub(crate) fn router(pool: Arc<PolicyPool>, access: Access) -> Router {
    let api = Router::new()
        .route("/api/run", get(describe))
        .route("/api/start", told(PolicyPool::start))
        .route("/api/step", told(PolicyPool::step))
        .route("/api/measure", told(PolicyPool::measure));
    let with_asset = |router: Router<_>, (path, content_type, text): (&str, &'static str, _)| {
        router
            .route(path, get(move || async move { ([(header::CONTENT_TYPE, content_type)], text) }))
    };
    ASSETS
        .into_iter()
        .fold(api, with_asset)
        .fallback(nowhere)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(Arc::new(access), enter))
        .with_state(pool)
}

async fn enter(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    access.check(request.headers())?;
    Ok(next.run(request).await)
}

async fn nowhere(uri: Uri) -> Refusal {
    Refusal(StatusCode::NOT_FOUND, format!("there is no {}", uri.path()))
}

async fn wrong_method(method: Method, uri: Uri) -> Refusal {
    Refusal(StatusCode::METHOD_NOT_ALLOWED, format!("{} does not take {method}", uri.path()))
}

async fn describe(
    State(pool): State<Arc<PolicyPool>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    aside(move || {
        let (value, tag) = pool.description();
        let known = text(&headers, &header::IF_NONE_MATCH).is_some_and(|known| known == tag);
        let answer = if known { StatusCode::NOT_MODIFIED.into_response() } else { data(&value) };
        Ok(([(header::ETAG, tag)], answer).into_response())
    })
    .await
}

/// Answers the message of a body.
fn told<T: DeserializeOwned + Limits + 'static>(
    answer: fn(&PolicyPool, &T) -> Result<Value, Refusal>,
) -> MethodRouter<Arc<PolicyPool>> {
    post(move |State(pool): State<Arc<PolicyPool>>, headers: HeaderMap, body: Bytes| async move {
        // A foreign page cannot send this type without asking first, and we never consent.
        let sent = text(&headers, &header::CONTENT_TYPE).unwrap_or_default();
        if !sent.starts_with("application/json") {
            let text = "send Content-Type: application/json";
            return Err(Refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, text.into()));
        }
        let read = move || answer(&pool, &message::read(&body).map_err(Refusal::bad)?);
        aside(read).await.map(|value| data(&value))
    })
}

/// A header in lower case.
fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
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
