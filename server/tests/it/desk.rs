//! A desk: someone of a role, signed in to the console, who sends its forms as a browser without scripts does.

use axum::{
    body::Body,
    http::{Request, header},
};
use engine::operator::{self, NewOperator, Role};

use crate::house::{Answer, House, PASSWORD};

/// What parts the fields of a form with a file.
pub const BOUNDARY: &str = "cut";

/// Someone signed in to the console.
pub struct Desk<'h> {
    pub house: &'h House,
    session: String,
}

impl<'h> Desk<'h> {
    /// A new member of staff, named after the role.
    pub async fn of(house: &'h House, role: Role) -> Self {
        Self::named(house, role.as_str(), role).await
    }

    /// A new member of staff.
    pub async fn named(house: &'h House, name: &str, role: Role) -> Self {
        let mut conn = house.engine.pool().acquire().await.unwrap();
        let new = NewOperator {
            email: &format!("{name}@example.org"),
            name: "Anna Keller",
            role,
            password: PASSWORD,
        };
        operator::add(&mut conn, &house.engine, &new).await.unwrap();
        drop(conn);
        let password = PASSWORD.replace(' ', "+");
        let form = format!("email={name}%40example.org&password={password}");
        let answer = house.send(request("/sign-in", &[], &form)).await;
        let session = answer.header("set-cookie").split(';').next();
        Self {
            house,
            session: session.unwrap().to_owned(),
        }
    }

    /// Opens a page.
    pub async fn get(&self, path: &str) -> Answer {
        let request = Request::get(path).header(header::COOKIE, &self.session);
        self.house.send(request.body(Body::empty()).unwrap()).await
    }

    /// Sends a form.
    pub async fn post(&self, path: &str, form: &str) -> Answer {
        self.post_from(&[], path, form).await
    }

    /// Sends a form from wherever the headers say.
    pub async fn post_from(&self, from: &[(&str, &str)], path: &str, form: &str) -> Answer {
        let cookie = [("cookie", self.session.as_str())];
        let headers = [&cookie, from].concat();
        self.house.send(request(path, &headers, form)).await
    }

    /// Sends a form and opens the page it leads to: where that is, and what it says.
    pub async fn send(&self, path: &str, form: &str) -> (String, String) {
        let answer = self.post(path, form).await;
        assert_eq!(answer.status, 303, "{path}: {}", answer.text);
        let place = answer.header("location").to_owned();
        let page = self.get(&place).await;
        assert_eq!(page.status, 200, "{place}: {}", page.text);
        (place, page.text)
    }
}

/// A form that is sent; one with a file begins with its boundary.
pub fn request(path: &str, headers: &[(&str, &str)], form: &str) -> Request<Body> {
    let kind = match form.starts_with("--") {
        true => format!("multipart/form-data; boundary={BOUNDARY}"),
        false => "application/x-www-form-urlencoded".to_owned(),
    };
    let mut request = Request::post(path).header(header::CONTENT_TYPE, kind);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(form.to_owned())).unwrap()
}

/// What stands between two texts of a page.
pub fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    let from = text.find(before).unwrap_or_else(|| panic!("{text}")) + before.len();
    let rest = &text[from..];
    &rest[..rest.find(after).unwrap()]
}
