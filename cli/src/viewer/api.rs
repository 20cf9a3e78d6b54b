//! Which request gets which answer.

use super::{
    access::{Access, check, text},
    answer::{Refusal, data},
    measurement::Measurement,
    message::{self, Limits},
    policies::PolicyPool,
    work::Queue,
};
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri, header},
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

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

/// Answers that take milliseconds, at the same time; the others wait for their turn.
const MOST_QUICK: usize = 8;
/// Measurements at the same time: they leave the other cores to the pages that play.
const MOST_MEASURING: usize = 1;

/// Every path, and who answers there.
pub(crate) fn router(pool: Arc<PolicyPool>, access: Access) -> Router {
    let (quick, measuring) = (Queue::new(MOST_QUICK), Queue::new(MOST_MEASURING));
    let api = Router::new()
        .route("/api/run", described(quick.clone()))
        .route("/api/start", told(quick.clone(), PolicyPool::start))
        .route("/api/show", told(quick.clone(), PolicyPool::show))
        .route("/api/step", told(quick, PolicyPool::step))
        .route("/api/measure", measured(measuring));
    let with_asset = |router: Router<_>, (path, content_type, text): (&str, &'static str, _)| {
        router
            .route(path, get(move || async move { ([(header::CONTENT_TYPE, content_type)], text) }))
    };
    ASSETS
        .into_iter()
        .fold(api, with_asset)
        .fallback(nowhere)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(Arc::new(access), check))
        .with_state(pool)
}

async fn nowhere(uri: Uri) -> Refusal {
    Refusal(StatusCode::NOT_FOUND, format!("there is no {}", uri.path()))
}

async fn wrong_method(method: Method, uri: Uri) -> Refusal {
    Refusal(StatusCode::METHOD_NOT_ALLOWED, format!("{} does not take {method}", uri.path()))
}

/// Answers with the run, unless the page knows it already.
fn described(queue: Queue) -> MethodRouter<Arc<PolicyPool>> {
    get(move |State(pool): State<Arc<PolicyPool>>, headers: HeaderMap| async move {
        let describe = move || -> Result<Response, Refusal> {
            let (value, tag) = pool.description();
            let known = text(&headers, &header::IF_NONE_MATCH).is_some_and(|known| known == tag);
            let answer =
                if known { StatusCode::NOT_MODIFIED.into_response() } else { data(&value) };
            Ok(([(header::ETAG, tag)], answer).into_response())
        };
        queue.work(describe).await
    })
}

/// Answers the message of a body.
fn told<T: DeserializeOwned + Limits + Send + 'static>(
    queue: Queue,
    answer: fn(&PolicyPool, &T) -> Result<Value, Refusal>,
) -> MethodRouter<Arc<PolicyPool>> {
    post(move |State(pool): State<Arc<PolicyPool>>, headers: HeaderMap, body: Bytes| async move {
        let message = read(&headers, &body)?;
        let value = queue.work(move || answer(&pool, &message)).await?;
        Ok::<_, Refusal>(data(&value))
    })
}

/// Answers with a measurement.
fn measured(queue: Queue) -> MethodRouter<Arc<PolicyPool>> {
    post(move |State(pool): State<Arc<PolicyPool>>, headers: HeaderMap, body: Bytes| async move {
        let measurement = Measurement::new(read(&headers, &body)?);
        let advance = move |measurement: &mut Measurement| pool.advance(measurement);
        let measurement = queue.work_in_turns(measurement, advance).await?;
        Ok::<_, Refusal>(data(&measurement.answer()))
    })
}

fn read<T: DeserializeOwned + Limits>(headers: &HeaderMap, body: &Bytes) -> Result<T, Refusal> {
    // A foreign page cannot send this type without asking first, and we never consent.
    let sent = text(headers, &header::CONTENT_TYPE).unwrap_or_default();
    if !sent.starts_with("application/json") {
        let text = "send Content-Type: application/json";
        return Err(Refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, text.into()));
    }
    message::read(body).map_err(Refusal::bad)
}
