//! Bodies that pages send: a form, or JSON from their script. The two are answered differently.

use crate::app::App;
use crate::body::{check_media_type, parse, read_body};
use crate::problem::Problem;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{Method, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::de::DeserializeOwned;

/// A body, and whether a form sent it. A form is answered with a redirect to a page.
pub(super) struct FormOrJson<T> {
    pub(super) body: T,
    pub(super) by_form: bool,
}

impl<T: DeserializeOwned> FromRequest<App> for FormOrJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        const FORM: &str = "application/x-www-form-urlencoded";
        let by_form = check_media_type(request.headers(), &["application/json", FORM])? == FORM;
        let bytes = read_body(request, app).await?;
        if !by_form {
            return Ok(FormOrJson { body: parse(&bytes)?, by_form });
        }
        let mut form = Request::new(Body::from(bytes));
        *form.method_mut() = Method::POST;
        form.headers_mut().insert(header::CONTENT_TYPE, axum::http::HeaderValue::from_static(FORM));
        let axum::Form(body) = axum::Form::from_request(form, &())
            .await
            .map_err(|error: axum::extract::rejection::FormRejection| Problem::unusable(error.body_text()))?;
        Ok(FormOrJson { body, by_form })
    }
}

/// The redirect after a form.
pub(super) fn redirect(path: &str) -> Response {
    Redirect::to(path).into_response()
}
