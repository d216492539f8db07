//! The representations of metrics, and which of them a client prefers.

/// A representation of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus text, version 0.0.4; histograms have fixed buckets.
    Text,
    /// OpenMetrics text, version 1.0.0; histograms have fixed buckets.
    OpenMetrics,
    /// Prometheus protobuf, length-delimited; histograms have native and fixed buckets.
    Protobuf,
}

impl Format {
    /// The value of `Content-Type`.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }

    /// The representation that a value of `Accept` prefers: the greatest `q`, of equal ones the first; text if there is none.
    pub fn accepted(accept: &str) -> Self {
        let mut best = (Self::Text, 0.0);
        for item in accept.split(',') {
            let mut parts = item.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default().to_ascii_lowercase();
            let parameters: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
            let parameter = |name: &str| {
                let found = parameters.iter().find(|(key, _)| key.trim().eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.trim().trim_matches('"'))
            };
            let is = |name: &str, value: &str| parameter(name).is_none_or(|given| given == value);
            let format = match media.as_str() {
                "application/vnd.google.protobuf"
                    if parameter("proto") == Some("io.prometheus.client.MetricFamily")
                        && parameter("encoding") == Some("delimited") =>
                {
                    Self::Protobuf
                }
                "application/openmetrics-text" if is("version", "1.0.0") => Self::OpenMetrics,
                "text/plain" if is("version", "0.0.4") => Self::Text,
                "text/*" | "*/*" => Self::Text,
                _ => continue,
            };
            let quality = parameter("q").and_then(|q| q.parse::<f64>().ok()).unwrap_or(1.0);
            if quality > best.1 {
                best = (format, quality);
            }
        }
        best.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The representation by the values of `Accept` that Prometheus 2.42 and others send.
    #[test]
    fn clients_get_what_they_prefer() {
        let protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,\
                        application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        let text = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                    text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (accept, format) in [
            (protobuf, Format::Protobuf),
            (text, Format::OpenMetrics),
            ("", Format::Text),
            ("*/*", Format::Text),
            (
                "text/plain;version=0.0.4;q=0.9, application/openmetrics-text;version=1.0.0;q=0.2",
                Format::Text,
            ),
            ("application/openmetrics-text; version=0.0.1", Format::Text),
            (
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
                Format::Text,
            ),
            ("text/html,application/xhtml+xml,*/*;q=0.8", Format::Text),
            (";;;q=,,=", Format::Text),
        ] {
            assert_eq!(Format::accepted(accept), format, "{accept}");
        }
    }
}
