//! A summary of many runs: the mean, the minimum and the maximum of each variable over runs with equal settings.

use super::sta::VariableTable;

/// The keys of a `.sta` file that describe what a run requests.
const SETTINGS: [&str; 5] = ["service", "size", "token rate", "bucket depth", "calibration packets"];
/// The column of a table that names files.
const FILE: &str = "file";

/// The keys of `table` by which its files are grouped if nothing else is requested: service, size, token rate, bucket depth and
/// calibration packets, as far as the files have them.
pub fn settings(table: &VariableTable) -> Vec<String> {
    let columns = &table.columns;
    let settings = SETTINGS.iter().filter(|key| columns.iter().any(|column| column == **key));
    settings.map(|key| (*key).to_owned()).collect()
}

/// Groups the files of `table` by the values of `keys`, in the order of the files. The result has a row for each group and variable:
/// the values, the variable, the number of files that have it, and their mean, minimum and maximum.
///
/// A variable is a column whose values are all finite numbers. The mean has one decimal more than the values.
///
/// # Errors
/// The first of `keys` that no file has.
pub fn summarise(table: &VariableTable, keys: &[String]) -> Result<VariableTable, String> {
    let place = |key: &String| {
        table.columns.iter().position(|column| column == key && column != FILE).ok_or_else(|| key.clone())
    };
    let places: Vec<usize> = keys.iter().map(place).collect::<Result<_, _>>()?;
    let cell = |row: &[String], place: usize| row.get(place).cloned().unwrap_or_default();
    let mut groups: Vec<(Vec<String>, Vec<&[String]>)> = Vec::new();
    for row in &table.rows {
        let row = row.as_slice();
        let values: Vec<String> = places.iter().map(|place| cell(row, *place)).collect();
        match groups.iter_mut().find(|(known, _)| *known == values) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((values, vec![row])),
        }
    }
    let variables: Vec<usize> = (0..table.columns.len())
        .filter(|place| table.columns.get(*place).is_some_and(|column| column != FILE))
        .filter(|place| !places.contains(place) && is_variable(table, *place))
        .collect();
    let mut rows = Vec::new();
    for (values, files) in &groups {
        for place in &variables {
            let cells: Vec<String> =
                files.iter().map(|row| cell(row, *place)).filter(|cell| !cell.is_empty()).collect();
            if let Some(figures) = figures(&cells) {
                let name = table.columns.get(*place).cloned().unwrap_or_default();
                let row = values.iter().cloned().chain([name, cells.len().to_string()]);
                rows.push(row.chain(figures).collect());
            }
        }
    }
    let names = ["variable", "files", "mean", "min", "max"].map(str::to_owned);
    Ok(VariableTable { columns: keys.iter().cloned().chain(names).collect(), rows })
}

/// Whether all cells of a column that are not empty are finite numbers, and there are some.
fn is_variable(table: &VariableTable, place: usize) -> bool {
    let mut cells =
        table.rows.iter().filter_map(|row| row.get(place)).filter(|cell| !cell.is_empty()).peekable();
    cells.peek().is_some() && cells.all(|cell| number(cell).is_some())
}

fn number(cell: &str) -> Option<f64> {
    cell.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// Mean, minimum and maximum of cells with numbers; the last two as the files have them.
fn figures(cells: &[String]) -> Option<[String; 3]> {
    let value = |cell: &&String| number(cell).unwrap_or_default();
    let by_value = |one: &&String, other: &&String| value(one).total_cmp(&value(other));
    let (min, max) = (cells.iter().min_by(by_value)?, cells.iter().max_by(by_value)?);
    #[expect(clippy::cast_precision_loss, reason = "a folder has far fewer than 2^53 files")]
    let mean = cells.iter().map(|cell| value(&cell) / cells.len() as f64).sum::<f64>();
    let decimals = cells.iter().map(|cell| decimals(cell)).max().unwrap_or(0) + 1;
    Some([format!("{mean:.decimals$}"), min.clone(), max.clone()])
}

/// Digits behind the decimal point.
fn decimals(cell: &str) -> usize {
    let behind = cell.split_once('.').map_or("", |(_, behind)| behind);
    behind.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::super::sta::File;
    use super::*;

    fn table() -> VariableTable {
        let file = |name: &str, text: &str| File::read(name, text).unwrap();
        VariableTable::from_files(&[
            file("a.sta", "run: a\nservice: guaranteed\nsize: 64\nlost: 0\ndelay max us: 10.5\n"),
            file("b.sta", "run: b\nservice: best-effort\nsize: 64\nlost: 109\ndelay max us: 460000.0\n"),
            file("c.sta", "run: c\nservice: guaranteed\nsize: 64\nlost: 3\ndelay max us: 9.5\n"),
            file("d.sta", "run: d\nservice: guaranteed\nsize: 64\nlost: 2\n"),
        ])
        .unwrap()
    }

    /// Runs with equal settings are repeats of one another; each variable has its figures over them.
    #[test]
    fn repeats_have_figures() {
        let table = table();
        let keys = settings(&table);
        assert_eq!(keys, ["service", "size"]);
        let summary = summarise(&table, &keys).unwrap();
        assert_eq!(summary.columns, ["service", "size", "variable", "files", "mean", "min", "max"]);
        assert_eq!(
            summary.csv().lines().skip(1).collect::<Vec<_>>(),
            [
                "guaranteed,64,lost,3,1.7,0,3",
                "guaranteed,64,delay max us,2,10.00,9.5,10.5",
                "best-effort,64,lost,1,109.0,109,109",
                "best-effort,64,delay max us,1,460000.00,460000.0,460000.0",
            ]
        );
    }

    /// Other keys give other groups; a file without the key is in a group of its own. A key that no file has is refused.
    #[test]
    fn keys_choose_groups() {
        let lost = |keys: &[&str]| -> Vec<String> {
            let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
            let summary = summarise(&table(), &keys).unwrap();
            let rows = summary.rows.iter().filter(|row| row.contains(&"lost".to_owned()));
            rows.map(|row| row.join(" ")).collect()
        };
        assert_eq!(lost(&[]), ["lost 4 28.5 0 109"]);
        assert_eq!(lost(&["delay max us"]).last().unwrap(), " lost 1 2.0 2 2");
        for key in ["rate", "file"] {
            assert_eq!(summarise(&table(), &[key.to_owned()]), Err(key.to_owned()));
        }
    }

    /// What is no number, in any file, is no variable.
    #[test]
    fn words_are_no_variables() {
        let file = |name: &str, text: &str| File::read(name, text).unwrap();
        let table =
            VariableTable::from_files(&[file("a", "x: 1\ny: inf\nz: 2\n"), file("b", "x: one\nz:\n")]);
        let summary = summarise(&table.unwrap(), &[]).unwrap();
        assert_eq!(summary.rows, [["z", "1", "2.0", "2", "2"]]);
    }
}
