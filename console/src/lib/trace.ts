// The seed's traces, looked at line by line while they are entered.

export interface LineFault {
  line: number;
  why: string;
}

const COLUMNS = ['port', 'loss', 'duplication', 'reorder_distance', 'delay_us'];

/** What is wrong with a trace of lines `port,loss,duplication,reorder_distance,delay_us`: at most ten faults. */
export function phamFaults(text: string): LineFault[] {
  const faults: LineFault[] = [];
  let entries = 0;
  text.split(/\r?\n/).forEach((raw, i) => {
    const line = raw.trim();
    const fault = (why: string) => faults.push({ line: i + 1, why });
    if (line === '' || line.startsWith('#') || faults.length >= 10) return;
    const fields = line.split(',').map((field) => field.trim());
    if (i === 0 && fields[0] === 'port') return;
    if (fields.length !== 5) return void fault(`has ${fields.length} fields; write ${COLUMNS.join(',')}`);
    entries++;
    const bad = fields.findIndex((field) => !/^\d+(\.\d+)?$/.test(field));
    if (bad >= 0) return void fault(`${COLUMNS[bad]} is not a number: ${fields[bad]}`);
    if (fields[0] !== '1' && fields[0] !== '2') fault('port is 1 (a) or 2 (b)');
    else if (fields[1] !== '0' && fields[1] !== '1') fault('loss is 0 or 1');
  });
  if (entries === 0 && faults.length === 0) faults.push({ line: 1, why: 'there is no entry; write one line for each packet' });
  return faults;
}
