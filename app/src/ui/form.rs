//! Forms: label above, hint below, the error beside the field and once more in the summary. They
//! post plainly and come back with what was typed.

use leptos::prelude::*;

use super::{Glyph, Icon};

/// Why a field was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldError {
    /// The field's name.
    pub field: String,
    /// What to do about it.
    pub message: String,
}

/// A form that changes something: a plain POST, answered by a redirect.
#[component]
pub fn Form(
    /// Where it posts.
    #[prop(into)]
    action: String,
    /// What went wrong last time.
    #[prop(optional)]
    errors: Vec<FieldError>,
    /// What that means: the heading over the errors.
    #[prop(default = "Nothing was changed".into(), into)]
    refusal: String,
    /// The fields and buttons.
    children: Children,
) -> AnyView {
    view! {
        <form class="form" method="post" action=action novalidate>
            <ErrorSummary errors title=refusal/>
            {children()}
        </form>
    }
    .into_any()
}

/// Everything that was refused, first on the page and linked to its field.
#[component]
pub fn ErrorSummary(
    /// The errors; none draws nothing.
    errors: Vec<FieldError>,
    /// What they mean together.
    #[prop(default = "Nothing was changed".into(), into)]
    title: String,
) -> AnyView {
    (!errors.is_empty())
        .then(|| {
            let items = errors.into_iter().map(|error| {
                let href = format!("#field-{}", error.field);
                view! { <li><a href=href>{error.message}</a></li> }
            });
            view! {
                <section class="error-summary" role="alert" tabindex="-1" autofocus>
                    <h2><Icon glyph=Glyph::StateStop/>{title}</h2>
                    <ul>{items.collect_view()}</ul>
                </section>
            }
        })
        .into_any()
}

/// The frame of a field: label, control, hint, error, tied together by ids.
fn framed(
    name: &str,
    label: String,
    hint: Option<String>,
    error: Option<String>,
    control: AnyView,
) -> AnyView {
    view! {
        <div class="field">
            <label for=format!("field-{name}")>{label}</label>
            {control}
            {hint.map(|hint| view! { <p class="hint" id=format!("hint-{name}")>{hint}</p> })}
            {error.map(|error| view! {
                <p class="wrong" id=format!("wrong-{name}")>
                    <Icon glyph=Glyph::StateStop small=true/>
                    {error}
                </p>
            })}
        </div>
    }
    .into_any()
}

/// The ids that describe a control, if any do.
fn described_by(name: &str, hint: bool, error: bool) -> Option<String> {
    match (hint, error) {
        (true, true) => Some(format!("hint-{name} wrong-{name}")),
        (true, false) => Some(format!("hint-{name}")),
        (false, true) => Some(format!("wrong-{name}")),
        (false, false) => None,
    }
}

/// A one-line field.
#[component]
pub fn Field(
    /// Its name in the form; also the tail of its id, `field-{name}`.
    #[prop(into)]
    name: String,
    /// Its label.
    #[prop(into)]
    label: String,
    /// What it holds.
    #[prop(optional, into)]
    value: String,
    /// `text`, `email`, `password`, `date`, `search` …
    #[prop(default = "text")]
    kind: &'static str,
    /// The browser's autofill token, or `off`.
    #[prop(optional)]
    autocomplete: Option<&'static str>,
    /// Which keyboard a phone shows: `decimal`, `numeric` …
    #[prop(optional)]
    inputmode: Option<&'static str>,
    /// Must be filled.
    #[prop(optional)]
    required: bool,
    /// An example of what to type.
    #[prop(optional, into)]
    placeholder: Option<String>,
    /// Longest value.
    #[prop(optional)]
    maxlength: Option<u16>,
    /// Helps before.
    #[prop(optional, into)]
    hint: Option<String>,
    /// Helps after.
    #[prop(optional_no_strip, into)]
    error: Option<String>,
) -> AnyView {
    let control = view! {
        <input
            id=format!("field-{name}")
            name=name.clone()
            type=kind
            value=value
            autocomplete=autocomplete
            inputmode=inputmode
            required=required
            placeholder=placeholder
            maxlength=maxlength.map(|most| most.to_string())
            aria-invalid=error.is_some().then_some("true")
            aria-describedby=described_by(&name, hint.is_some(), error.is_some())
        />
    };
    framed(&name, label, hint, error, control.into_any())
}

/// One choice of a [`SelectField`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// What is submitted.
    pub value: String,
    /// What is read.
    pub label: String,
}

impl Choice {
    /// A choice from its value and words.
    pub fn new(value: impl Into<String>, label: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            label: label.into(),
        }
    }
}

/// A field with few answers.
#[component]
pub fn SelectField(
    /// Its name in the form.
    #[prop(into)]
    name: String,
    /// Its label.
    #[prop(into)]
    label: String,
    /// The answers, in order.
    choices: Vec<Choice>,
    /// The value that is chosen.
    #[prop(optional, into)]
    selected: String,
    /// Helps before.
    #[prop(optional, into)]
    hint: Option<String>,
    /// Helps after.
    #[prop(optional_no_strip, into)]
    error: Option<String>,
) -> AnyView {
    let choices = choices.into_iter().map(|choice| {
        let chosen = choice.value == selected;
        view! { <option value=choice.value selected=chosen>{choice.label}</option> }
    });
    let control = view! {
        <select
            id=format!("field-{name}")
            name=name.clone()
            aria-invalid=error.is_some().then_some("true")
            aria-describedby=described_by(&name, hint.is_some(), error.is_some())
        >
            {choices.collect_view()}
        </select>
    };
    framed(&name, label, hint, error, control.into_any())
}

/// A field of several lines, and the only place a `<textarea>` may be written.
///
/// Leptos 0.8 renders a textarea's children unescaped, so a rejected reason that is shown again
/// could close the element and open a script. The text is encoded here, by hand.
#[component]
pub fn Textarea(
    /// Its name in the form.
    #[prop(into)]
    name: String,
    /// Its label.
    #[prop(into)]
    label: String,
    /// What it holds.
    #[prop(optional, into)]
    value: String,
    /// Lines shown.
    #[prop(default = 4)]
    rows: u8,
    /// Must be filled.
    #[prop(optional)]
    required: bool,
    /// Longest text.
    #[prop(default = 500)]
    maxlength: u16,
    /// Helps before.
    #[prop(optional, into)]
    hint: Option<String>,
    /// Helps after.
    #[prop(optional_no_strip, into)]
    error: Option<String>,
) -> AnyView {
    let control = view! {
        <textarea
            id=format!("field-{name}")
            name=name.clone()
            rows=rows.to_string()
            maxlength=maxlength.to_string()
            required=required
            aria-invalid=error.is_some().then_some("true")
            aria-describedby=described_by(&name, hint.is_some(), error.is_some())
            inner_html=encoded(&value)
        ></textarea>
    };
    framed(&name, label, hint, error, control.into_any())
}

/// Encodes text for the inside of a `<textarea>`. The newline in front is the one a parser drops.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    out.push('\n');
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_cannot_close_its_textarea() {
        let value = "</textarea><script>alert(1)</script> & more";
        let html = view! { <Textarea name="reason" label="Reason" value/> }.to_html();
        assert!(!html.contains("<script"), "{html}");
        assert_eq!(html.matches("</textarea>").count(), 1, "{html}");
        assert!(
            html.contains("&lt;/textarea&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; more"),
            "{html}"
        );
    }

    #[test]
    fn text_and_attributes_of_other_fields_are_escaped() {
        let payload = r#""><script>alert(1)</script>"#;
        let html = view! {
            <Field name="q" label=payload value=payload hint=payload error=Some(payload.to_owned())/>
        }
        .to_html();
        assert!(!html.contains("<script"), "{html}");
    }

    #[test]
    fn an_error_is_tied_to_its_field() {
        let html = view! {
            <Field name="amount" label="Amount" error=Some("Enter a positive amount".to_owned())/>
        }
        .to_html();
        assert!(
            html.contains(r#"aria-describedby="wrong-amount""#),
            "{html}"
        );
        assert!(html.contains(r#"aria-invalid="true""#), "{html}");
        assert!(html.contains(r#"id="wrong-amount""#), "{html}");
    }
}
