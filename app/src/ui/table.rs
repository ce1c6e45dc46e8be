//! Tables: captioned, scoped, scrolling in a region that has a name and takes focus. A row is a
//! link through its first cell. Paging is by key, never by number.

use leptos::prelude::*;

use super::{Glyph, Icon, LinkButton};

/// Which way a column is sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SortOrder {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

/// A column of a [`DataTable`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    label: String,
    num: bool,
    unseen: bool,
    sorted: Option<SortOrder>,
    sort_href: Option<String>,
}

impl Column {
    /// Words, from the left.
    pub fn text(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            num: false,
            unseen: false,
            sorted: None,
            sort_href: None,
        }
    }

    /// Figures, from the right; give the cells the class `num`.
    pub fn num(label: impl Into<String>) -> Self {
        Self {
            num: true,
            ..Self::text(label)
        }
    }

    /// A heading only assistive technology reads, for columns of buttons.
    pub fn unseen(label: impl Into<String>) -> Self {
        Self {
            unseen: true,
            ..Self::text(label)
        }
    }

    /// Sorted this way now.
    pub fn sorted(self, order: SortOrder) -> Self {
        Self {
            sorted: Some(order),
            ..self
        }
    }

    /// The heading is a link that sorts by this column.
    pub fn sort_href(self, href: impl Into<String>) -> Self {
        Self {
            sort_href: Some(href.into()),
            ..self
        }
    }
}

/// A table. Its children are the rows, `<tr>`; the first cell of each is `<th scope="row">`.
#[component]
pub fn DataTable(
    /// Unique on the page; names the scroll region.
    #[prop(into)]
    id: String,
    /// What the table lists and in which order.
    #[prop(into)]
    caption: String,
    /// Its columns, as many as a row has cells.
    columns: Vec<Column>,
    /// Rows of totals, for `<tfoot>`.
    #[prop(optional)]
    foot: Option<AnyView>,
    /// Tighter rows, for tables inside a page.
    #[prop(optional)]
    plain: bool,
    /// The rows.
    children: Children,
) -> AnyView {
    let caption_id = format!("{id}-caption");
    let heads = columns.into_iter().map(heading).collect_view();
    view! {
        <div class="table-region" id=id role="region" tabindex="0" aria-labelledby=caption_id>
            <table class="table" data-plain=plain.then_some("")>
                <caption id=caption_id.clone()><span class="unseen">{caption}</span></caption>
                <thead><tr>{heads}</tr></thead>
                <tbody>{children()}</tbody>
                {foot.map(|foot| view! { <tfoot>{foot}</tfoot> })}
            </table>
        </div>
    }
    .into_any()
}

fn heading(column: Column) -> impl IntoView {
    let sorted = column.sorted.map(|order| match order {
        SortOrder::Ascending => "ascending",
        SortOrder::Descending => "descending",
    });
    let label = match column.sort_href {
        Some(href) => view! { <a href=href>{column.label}</a> }.into_any(),
        None if column.unseen => view! { <span class="unseen">{column.label}</span> }.into_any(),
        None => column.label.into_any(),
    };
    view! { <th scope="col" class=column.num.then_some("num") aria-sort=sorted>{label}</th> }
}

/// The first cell of a row that leads somewhere: what it is, then muted detail.
#[component]
pub fn RowLink(
    /// Where the row leads.
    #[prop(into)]
    href: String,
    /// The muted second line.
    #[prop(optional)]
    detail: Option<AnyView>,
    /// The first line, and the link's name.
    children: Children,
) -> AnyView {
    view! {
        <th scope="row">
            <a class="row-link" href=href>{children()}</a>
            {detail.map(|detail| view! { <span class="detail">{detail}</span> })}
        </th>
    }
    .into_any()
}

/// Newer and older pages, and what this one shows.
#[component]
pub fn Pager(
    /// "50 jobs, 14:12 to 14:09", read out when it changes.
    #[prop(into)]
    shown: String,
    /// The page before, if there is one.
    #[prop(optional_no_strip, into)]
    newer: Option<String>,
    /// The page after, if there is one.
    #[prop(optional_no_strip, into)]
    older: Option<String>,
) -> AnyView {
    view! {
        <nav class="pager" aria-label="Pages">
            <span role="status">{shown}</span>
            <span class="links">
                {newer.map(|href| view! {
                    <LinkButton href small=true><Icon glyph=Glyph::Newer small=true/>"Newer"</LinkButton>
                })}
                {older.map(|href| view! {
                    <LinkButton href small=true>"Older"<Icon glyph=Glyph::Older small=true/></LinkButton>
                })}
            </span>
        </nav>
    }
    .into_any()
}
