//! The report of a reproduction as one HTML file: figures and tables, nothing else to fetch.

use super::reproduction::{pictures, tables};
use crate::report::export_table::ExportTable;
use cgcmarl_paper::reproduction::Results;
use std::fmt::Write as _;

const PAGE: &str = include_str!("../../../../viewer/comparison.html");
const STYLE: &str = include_str!("../../../../viewer/style.css");

/// The page of a reproduction.
pub(crate) fn comparison_page(results: &Results) -> anyhow::Result<String> {
    let mut body = String::new();
    for (name, picture) in pictures(results) {
        body += &card(&name, &format!("<figure class=\"paper\">{}</figure>", picture.to_svg()?));
    }
    for table in tables(results) {
        body += &card(table.name, &html_table(&table));
    }
    Ok(PAGE.replace("{{style}}", STYLE).replace("{{body}}", &body))
}

fn card(title: &str, content: &str) -> String {
    format!("<section class=\"card long\">\n<h2>{}</h2>\n{content}\n</section>\n", escaped(title))
}

fn html_table(table: &ExportTable) -> String {
    let mut html = format!("<p class=\"note\">{}</p>\n", escaped(&table.caption));
    html += "<div class=\"scroll\"><table>\n<thead><tr>";
    for name in &table.head {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escaped(name));
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in table.texts() {
        let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
        let _ = writeln!(html, "<tr><td>{}</td></tr>", cells.join("</td><td>"));
    }
    html + "</tbody></table></div>"
}

/// Text that HTML shows as it is.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_every_cell_and_no_markup_of_its_own() {
        let sample = ExportTable {
            name: "methods",
            caption: "a < b".into(),
            head: vec!["N".into(), "<b>".into()],
            rows: vec![vec!["3".into(), crate::report::export_table::Cell::Spread(0.5, 0.25, 2)]],
        };
        let html = html_table(&sample);
        assert!(html.contains("a &lt; b") && html.contains("&lt;b&gt;"), "{html}");
        assert!(html.contains("<tr><td>3</td><td>0.50 ± 0.25</td></tr>"), "{html}");
    }

    #[test]
    fn an_empty_comparison_is_a_whole_page() {
        let page = comparison_page(&Results::default()).unwrap();
        assert!(page.ends_with("</html>\n") && !page.contains("{{"), "{page}");
    }
}
