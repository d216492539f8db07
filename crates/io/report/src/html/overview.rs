//! The parts of the page that everyone reads.

use crate::words::Words;
use romer_record::document::{Measurement, Summary};

use crate::escape::markup;
use crate::number::{maybe_time, percent};
use crate::setup;
use crate::sure::{MedianInterval, farther};
use crate::table::{MeasuredPath, Scale, ways};
use crate::words;

pub(super) fn heading(m: &Measurement, target: &str, page: &mut String) {
    let partial = if m.partial { format!(" · partial: {}", Words::PAGE.ending(m)) } else { String::new() };
    let when = [Words::PAGE.moment(&m.started), Words::PAGE.traffic(&m.traffic)];
    let when: Vec<String> = when.into_iter().filter(|text| !text.is_empty()).collect();
    let figures: Vec<String> =
        Words::PAGE.figures(m).iter().map(|line| format!("<span>{}</span>", markup(line))).collect();
    page.push_str(&format!(
        "<header><div class=\"title\"><h1>Path to {}</h1>{}</div>\n<p class=\"when\">{}{partial}</p>\n<p class=\"verdict\">{}</p></header>\n",
        markup(target),
        judged(m.limits.iter().map(|limit| limit.passed)),
        markup(&when.join(" · ")),
        figures.join("\n"),
    ));
}

/// Whether all of several limits held, as a badge: nothing where none was stated.
pub(crate) fn judged(held: impl Iterator<Item = bool>) -> String {
    let held: Vec<bool> = held.collect();
    let failed = held.iter().filter(|held| !**held).count();
    match (held.len(), failed) {
        (0, _) => String::new(),
        (all, 0) => format!(" <span class=\"badge good\">PASS {all}/{all}</span>"),
        (all, failed) => format!(" <span class=\"badge bad\">FAIL {failed}/{all}</span>"),
    }
}

/// The streams of the page, a row for each direction, with links to their articles.
pub(super) fn streams(measurements: &[&Measurement], page: &mut String) {
    let mut rows = String::new();
    for (index, m) in measurements.iter().enumerate() {
        for (place, way) in ways(m).into_iter().enumerate() {
            let direction = way.results(m);
            let name = match place {
                0 => format!(
                    "<a href=\"#stream-{index}\">{}</a>{}",
                    markup(&words::heading(measurements, index)),
                    judged(m.limits.iter().map(|limit| limit.passed))
                ),
                _ => String::new(),
            };
            let first = |text: String| if place == 0 { text } else { String::new() };
            let (traffic, findings) = (first(markup(&m.traffic.model)), first(m.findings.len().to_string()));
            let voice = m.voice.iter().find(|voice| voice.direction == way.in_document());
            let mos = voice.and_then(|voice| voice.playout.mos);
            let lost = direction.loss.ratio;
            rows.push_str(&format!(
                "<tr><th>{name}</th><td>{traffic}</td><td class=\"key {}\">{}</td><td>{}</td><td>{}</td><td class=\"{}\">{}</td><td>{}</td><td>{findings}</td></tr>\n",
                class(way),
                markup(&way.label(m)),
                maybe_time(direction.delay_ns.median, true),
                maybe_time(direction.delay_ns.p99, true),
                if lost.is_some_and(|ratio| ratio > 0.0) { "bad" } else { "" },
                lost.map_or_else(|| "unknown".to_owned(), percent),
                mos.map_or_else(|| Words::PAGE.absent().to_owned(), |mos| format!("{mos:.2}")),
            ));
        }
    }
    let mut targets: Vec<&str> = measurements.iter().map(|m| m.target.as_str()).collect();
    targets.dedup();
    let started = measurements.first().map_or_else(String::new, |m| Words::PAGE.moment(&m.started));
    page.push_str(&format!(
        "<header><h1>{}: {} streams</h1>\n<p class=\"when\">{}</p></header>\n",
        markup(&targets.join(", ")),
        measurements.len(),
        markup(&started)
    ));
    page.push_str(&format!(
        "<section class=\"streams\"><h2>Results</h2>\n<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr><th>stream</th><th>traffic</th>\
         <th>direction</th><th>median</th><th>p99</th><th>loss</th><th>MOS</th><th>findings</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div></section>\n"
    ));
}

/// Warnings that bear on the figures, and events of the path.
pub(super) fn warnings(m: &Measurement, page: &mut String) {
    let (warnings, _) = setup::warnings(m);
    let texts = warnings.into_iter().chain(Words::PAGE.events(m, false));
    let items = items(texts);
    if !items.is_empty() {
        page.push_str(&format!("<section class=\"note\"><ul>{items}</ul></section>\n"));
    }
}

fn items(texts: impl Iterator<Item = String>) -> String {
    texts.map(|text| format!("<li>{}</li>", markup(&text))).collect()
}

/// Findings, with what was found of the clocks' steps.
pub(super) fn findings(m: &Measurement, page: &mut String) {
    let patterns = m.findings.iter().map(|finding| Words::PAGE.finding(m, finding));
    let losses = Words::PAGE.losses(m).into_iter().map(|(direction, losses)| {
        let direction = direction.map_or_else(String::new, |direction| format!(", {direction}"));
        format!("Loss{direction}: {losses}")
    });
    let clocks = m.clock.events.iter().filter_map(|event| Words::PAGE.clock_set(event));
    let items = items(patterns.chain(losses).chain(clocks));
    if items.is_empty() {
        return;
    }
    page.push_str(&format!("<section><h2>Findings</h2>\n<ul class=\"found\">{items}</ul>\n"));
    // A TTL that changed, changed: nothing was inferred of that.
    let inferred = m.findings.iter().filter(|finding| finding.false_alarm_probability.is_some()).count();
    if inferred > 0 {
        let of = if inferred == m.findings.len() { "" } else { " (except changes of the TTL)" };
        page.push_str(&format!(
            "<p class=\"when\">False-alarm probability of each pattern{of}: at most 1e-6.</p>"
        ));
    }
    page.push_str("</section>\n");
}

/// The rating of a call in each direction, and of other jitter buffers.
pub(super) fn voice(m: &Measurement, page: &mut String) {
    let rated = m.voice.iter().map(|voice| Words::PAGE.voice(m, voice));
    let unrated = m.voice_unrated.iter().map(|unrated| Words::PAGE.unrated(m, unrated));
    let rows = items(rated.chain(unrated));
    if rows.is_empty() {
        return;
    }
    page.push_str(&format!("<section><h2>Voice quality</h2>\n<ul class=\"found\">{rows}</ul>\n"));
    let buffers: Vec<String> =
        m.voice.iter().filter_map(|voice| Words::PAGE.jitter_buffers(m, voice)).collect();
    if !buffers.is_empty() {
        page.push_str(&format!(
            "<p class=\"when\">With other jitter buffers: {}.</p>",
            markup(&buffers.join("; "))
        ));
    }
    page.push_str("</section>\n");
}

pub(super) fn class(way: MeasuredPath) -> &'static str {
    match way {
        MeasuredPath::Forward => "forward",
        MeasuredPath::Reverse => "reverse",
        MeasuredPath::RoundTrip => "round",
    }
}

/// The table of three rows: what the delay is, how sure that is, how it spreads.
pub(super) fn table(m: &Measurement, page: &mut String) {
    let scale = Scale::for_measurement(m);
    let ways = ways(m);
    if ways.iter().all(|way| way.results(m).delay_ns.count == 0) {
        return;
    }
    let end = ways.iter().filter_map(|way| way.results(m).delay_ns.p99).fold(0.0, f64::max);
    page.push_str(&format!(
        "<section><h2>Delay, {}</h2>\n<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr><th>direction</th><th>median</th>\
         <th class=\"range\">spread, 0 to {}</th><th class=\"less\">min</th><th class=\"less\">p95</th><th>p99</th>\
         <th class=\"max\">max</th><th class=\"less\"><abbr title=\"absolute delay variation between consecutive \
         packets, 95th percentile (RFC 3393)\">|IPDV| p95</abbr></th><th>loss</th></tr></thead>\n<tbody>\n",
        scale.unit.name(true),
        scale.number(Some(end)).unwrap_or_default()
    ));
    for way in ways {
        row(m, way, scale, end, page);
    }
    page.push_str(
        "</tbody></table></div>\n<p class=\"when\">± is the larger side of the 95 % confidence interval of the median. (≤ x) is the \
         upper end of an interval that is wider than the median.<span class=\"less\"> Box: middle half of the packets. Line: minimum to \
         p99. Mark: median.</span></p></section>\n",
    );
}

fn row(m: &Measurement, way: MeasuredPath, scale: Scale, end: f64, page: &mut String) {
    let direction = way.results(m);
    let delay = &direction.delay_ns;
    let number = |nanos: Option<f64>| scale.number(nanos).unwrap_or_else(|| Words::PAGE.absent().to_owned());
    let sure = match MedianInterval::from_summary(delay) {
        Some(MedianInterval::Within(half)) => Some(format!("± {}", scale.spread(half))),
        Some(MedianInterval::Between(ends)) => {
            delay.median.map(|median| format!("({})", farther(ends, median, true)))
        }
        Some(MedianInterval::NotKnown) | None => None,
    };
    let half =
        sure.map_or_else(String::new, |sure| format!(" <span class=\"half\">{}</span>", markup(&sure)));
    let lost = direction.loss.ratio.map_or_else(|| "unknown".to_owned(), percent);
    let lost_class = if direction.loss.ratio.is_some_and(|ratio| ratio > 0.0) { "bad" } else { "" };
    page.push_str(&format!(
        "<tr><th class=\"key {}\">{}</th><td>{}{half}</td><td class=\"range\">{}</td><td class=\"less\">{}</td>\
         <td class=\"less\">{}</td><td>{}</td><td class=\"max\">{}</td><td class=\"less\">{}</td><td class=\"{lost_class}\">{lost}</td></tr>\n",
        class(way),
        markup(&way.label(m)),
        number(delay.median),
        range(delay, end, way).unwrap_or_default(),
        number(delay.min),
        number(delay.p95),
        number(delay.p99),
        number(delay.max),
        number(direction.jitter_ns.delay_difference.p95),
    ));
}

/// The spread as a picture: line, box, median with its interval.
fn range(delay: &Summary, end: f64, way: MeasuredPath) -> Option<String> {
    if end <= 0.0 {
        return None;
    }
    let at = |nanos: f64| (nanos / end * 400.0).clamp(0.0, 400.0);
    let (min, p25, p75, p99) = (at(delay.min?), at(delay.p25?), at(delay.p75?), at(delay.p99?));
    let median = at(delay.median?);
    let colour = format!("var(--{})", class(way));
    let sure = delay.median_interval.map_or_else(String::new, |[low, high]| {
        let (low, high) = (at(low), at(high));
        format!("<path d=\"M{low:.1} 15H{high:.1}M{low:.1} 13v4M{high:.1} 13v4\" stroke=\"{colour}\" stroke-width=\"1.5\"/>")
    });
    Some(format!(
        "<svg viewBox=\"0 0 400 18\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <path d=\"M0 7H400\" stroke=\"var(--line)\"/><path d=\"M{min:.1} 7H{p99:.1}\" stroke=\"{colour}\" stroke-width=\"2\"/>\
         <rect x=\"{p25:.1}\" y=\"2\" width=\"{:.1}\" height=\"10\" rx=\"2\" fill=\"{colour}\" opacity=\".45\"/>\
         <path d=\"M{median:.1} 1v12\" stroke=\"{colour}\" stroke-width=\"3\"/>{sure}</svg>",
        (p75 - p25).max(1.5)
    ))
}

pub(super) fn limits(m: &Measurement, page: &mut String) {
    if m.limits.is_empty() {
        return;
    }
    page.push_str("<section><h2>Limits</h2>\n<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th>limit</th><th>measured</th><th>verdict</th></tr></thead><tbody>\n");
    for limit in &m.limits {
        let verdict =
            if limit.passed { "<td class=\"good\">passed</td>" } else { "<td class=\"bad\">failed</td>" };
        let value = Words::PAGE.limit_value(limit).unwrap_or_else(|| Words::PAGE.absent().to_owned());
        page.push_str(&format!(
            "<tr><th><code>{}</code></th><td>{value}</td>{verdict}</tr>\n",
            markup(&limit.limit)
        ));
    }
    page.push_str("</tbody></table></div></section>\n");
}

/// How accurate the delays are.
pub(super) fn accuracy(m: &Measurement, page: &mut String) {
    let mut items = vec![("Clocks", Words::PAGE.clock(m))];
    items.extend(Words::PAGE.delay_definition(m).map(|text| ("Delay definition", text)));
    items.extend(m.calibration_phase.iter().map(|phase| ("Phases", Words::PAGE.calibration_phase(phase))));
    items.extend(Words::PAGE.calibration(m).map(|text| ("Baseline", text)));
    items.extend(Words::PAGE.clock_events(m).into_iter().map(|text| ("Clock event", text)));
    list("Accuracy", &items, page);
}

fn list(title: &str, items: &[(&str, String)], page: &mut String) {
    list_with(title, items, "", page);
}

/// The same with more of them, as markup.
fn list_with(title: &str, items: &[(&str, String)], more: &str, page: &mut String) {
    page.push_str(&format!("<section><h2>{title}</h2>\n<dl>\n"));
    for (name, text) in items {
        page.push_str(&format!("<dt>{name}</dt><dd>{}</dd>\n", markup(text)));
    }
    page.push_str(&format!("{more}</dl></section>\n"));
}

/// What was measured with, where and how; and the command that does it again.
pub(super) fn setup(m: &Measurement, page: &mut String) {
    let mut items = about(m);
    items.push(("Time stamps", Words::PAGE.stamps(m)));
    items.extend(Words::PAGE.location_error(m).map(|text| ("User space", text)));
    let (_, warnings) = setup::warnings(m);
    let notes = Words::PAGE.events(m, true).into_iter().chain(warnings);
    items.extend(notes.map(|text| ("Note", text)));
    list("Test setup", &items, page);
    if !m.metadata.command.is_empty() {
        page.push_str(&format!(
            "<section><h2>Reproduce</h2>\n<pre><code>{}</code></pre></section>\n",
            markup(&m.metadata.command)
        ));
    }
}

/// The same of one of several runs, under its own title. A file has no command but the one that made the whole page.
pub(super) fn setup_of(m: &Measurement, title: &str, of_page: &str, page: &mut String) {
    let command = &m.metadata.command;
    let command = if command.is_empty() || command == of_page {
        String::new()
    } else {
        format!("<dt>Reproduce</dt><dd><code>{}</code></dd>\n", markup(command))
    };
    list_with(&markup(title), &about(m), &command, page);
}

fn about(m: &Measurement) -> Vec<(&'static str, String)> {
    let meta = &m.metadata;
    let mut items: Vec<(&'static str, String)> = Vec::new();
    items.extend(meta.comment.clone().map(|comment| ("Comment", comment)));
    items.push(("Traffic", format!("{}; {}", Words::PAGE.traffic(&m.traffic), m.traffic.protocol)));
    if let Some(seed) = m.traffic.seed {
        items.push(("Seed", seed.map(|part| part.to_string()).join(",")));
    }
    let host = [meta.host.as_str(), meta.kernel.as_str()].map(str::trim);
    let host = host.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ");
    items.extend(Some(host).filter(|host| !host.is_empty()).map(|host| ("Host", host)));
    items.extend(meta.nic_driver.clone().map(|driver| ("Network driver", driver)));
    items.extend(meta.clock_source.clone().map(|source| ("Clock source", source)));
    items.extend(meta.responder_software.clone().map(|software| ("Responder", software)));
    items.extend(Words::PAGE.route(meta).map(|route| ("Route", route)));
    items.extend(m.ended.as_ref().map(|ended| ("Ended", Words::PAGE.moment(ended))));
    items
}
