//! Answers: data, and mistakes told as `{"error": …}`.

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

/// What every answer tells the browser: keep to this page, ask again, run nothing from elsewhere.
const RULES: [(HeaderName, &str); 6] = [
    (header::CACHE_CONTROL, "no-cache"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
         img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
];

/// Why a request has no answer: its status, and words.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) StatusCode, pub(crate) String);

impl Refusal {
    /// The client's mistake.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self(StatusCode::BAD_REQUEST, message.into())
    }

    /// Our own mistake.
    pub(crate) fn ours() -> Self {
        let text = "the program made a mistake; please report it";
        Self(StatusCode::INTERNAL_SERVER_ERROR, text.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, data(&json!({ "error": self.1 }))).into_response()
    }
}

/// Data.
pub(crate) fn data(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// Puts the rules on an answer.
pub(crate) fn rule(headers: &mut HeaderMap) {
    for (name, value) in RULES {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
