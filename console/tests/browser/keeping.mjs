// What the page keeps: the lines of traces, keys that a scenario has, durations; and what it asks before it ends.

import assert from 'node:assert/strict';
import { PATIENCE, prefix, start, until } from './common.mjs';

const card = (page, title) => page.locator('.card', { has: page.getByRole('heading', { name: title, exact: true }) }).first();
const draft = (page) => page.evaluate(() => JSON.parse(localStorage.getItem('romer.scenario')).scenario);
const applied = async (page) => {
  await page.getByRole('button', { name: /^Apply \d+ change/ }).click();
  await page.getByText('Applied.').waitFor();
};
const reset = (page) => page.getByRole('button', { name: 'Reset', exact: true }).click();
const stage = async (page, name, model) => {
  const there = card(page, 'a → b');
  const found = there.locator('details.stage', { hasText: name }).first();
  if (!(await found.evaluate((one) => one.open))) await found.locator('summary').first().click();
  await found.getByLabel('Model', { exact: true }).first().selectOption(model);
  return found;
};

/** Undo, redo and history bring the lines of a trace back as they were. */
export async function linesOfTraces(page) {
  await reset(page);
  const there = card(page, 'a → b');
  await there.getByText('Trace: recorded packets').click();
  await there.getByRole('button', { name: 'Add a trace' }).click();
  const content = there.getByLabel('File: content');
  const [first, other] = ['10\n20\n30\n40\n', '5\n10\n'];
  const shows = (text) => until(`the lines are ${JSON.stringify(text)}`, async () => (await content.count()) === 1 && (await content.inputValue()) === text);
  await content.fill(first);
  await applied(page);
  const { version } = await page.evaluate(async () => (await fetch('/api/scenario')).json());
  await content.fill(other);
  await page.getByRole('button', { name: 'Apply 1 change' }).waitFor();
  const [undo, redo] = ['Undo', 'Redo'].map((name) => page.getByRole('button', { name }));
  await undo.click();
  await shows(first);
  await redo.click();
  await shows(other);
  await applied(page);
  await reset(page);
  await applied(page);
  for (const [number, lines] of [[version, first], [version + 1, other]]) {
    if (!(await page.locator('ol.history').isVisible())) await page.getByText('History', { exact: true }).click();
    await page.locator('ol.history li', { hasText: `number ${number}` }).getByRole('button', { name: 'Restore' }).click();
    await shows(lines);
  }
  await applied(page);
  assert.deepEqual(Object.values(await page.evaluate(async () => (await fetch('/api/scenario/files')).json())), [other]);
}

/** A long file is not edited on the page, and is applied all the same; what is too large for the server is refused at once. */
export async function longTraces(page) {
  await reset(page);
  const there = card(page, 'a → b');
  await there.getByText('Trace: recorded packets').click();
  await there.getByRole('button', { name: 'Add a trace' }).click();
  const choose = (name, lines) => there.getByLabel('File: choose').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(lines) });
  await choose('huge.trace', '1000000\n'.repeat(2_200_000));
  await there.getByText(/huge\.trace takes 1\d\.\d MB to send; a scenario holds at most 16\.7 MB of files/).waitFor();
  await choose('long.trace', Array.from({ length: 40_000 }, (_, i) => `${100_000 + 10 * i}\n`).join(''));
  await there.getByText('0.3 MB, 40\u202f000 lines: too long to be edited here.').waitFor();
  assert.equal(await there.getByLabel('File: content').count(), 0);
  await applied(page);
  assert.equal((await page.evaluate(async () => (await fetch('/api/scenario/files')).json()))['long.trace'].length, 280_000);
}

/** What is told of several flows alike is told of each. */
export async function sameNotes(page) {
  await reset(page);
  const normal = '{ variable = { model = "normal", mean = "1ms", stddev = "1ms" } }';
  const flow = `[[flow]]\nmatch = { protocol = "icmp" }\na_to_b.delay = ${normal}\n`;
  const toml = `a_to_b.delay = ${normal}\n${flow}${flow}`;
  const status = await page.evaluate(async (body) => (await fetch('/api/scenario', { method: 'PUT', headers: { 'Content-Type': 'application/json', 'If-Match': '*' }, body })).status, JSON.stringify({ toml }));
  assert.equal(status, 200);
  await page.getByRole('button', { name: 'Revert to running settings' }).click();
  const notes = page.locator('#apply-more');
  await until('the notes are there', async () => {
    if (await notes.isVisible()) return (await notes.innerText()).includes('15.8655 %');
    // They may be unfolded from before, and come by themselves.
    const show = page.getByRole('button', { name: /^Show/ });
    if (await show.isVisible()) await show.click();
    return false;
  });
  for (const place of ['a_to_b.delay', 'flow[1].a_to_b.delay', 'flow[2].a_to_b.delay']) await notes.getByText(`${place}: normal distribution truncated at 0 (15.8655 %`, { exact: false }).first().waitFor();
}

/** What a scenario may have can be set, and what was set of a model is there again. */
export async function keysOfScenarios(page) {
  await reset(page);
  const rate = await stage(page, 'Rate', 'limit');
  const queue = rate.locator('fieldset');
  await queue.getByLabel('Model', { exact: true }).selectOption('red');
  await queue.getByLabel('Size', { exact: true }).fill('64KiB');
  for (const [label, text] of [['Low', '4KiB'], ['High', '12KiB'], ['Probability', '0.05'], ['Weight', '.004']]) await queue.getByLabel(label, { exact: true }).fill(text);
  await queue.getByLabel('Model', { exact: true }).selectOption('tail-drop');
  await queue.getByLabel('Model', { exact: true }).selectOption('red');
  const asked = { discipline: 'red', low: '4KiB', high: '12KiB', probability: 0.05, weight: 0.004, bytes: '64KiB' };
  await until('the keys of RED are there', async () => JSON.stringify(Object.entries((await draft(page)).a_to_b?.rate?.queue ?? {}).sort()) === JSON.stringify(Object.entries(asked).sort()));
  const delay = await stage(page, 'Delay', 'plain');
  await delay.locator('fieldset').first().getByLabel('Model', { exact: true }).first().selectOption('correlated');
  const inner = delay.locator('fieldset fieldset');
  await inner.getByLabel('Model', { exact: true }).selectOption('empirical');
  await inner.getByLabel('File: content').fill('10ms\n12ms\n30ms\n');
  await applied(page);
  const { scenario } = await page.evaluate(async () => (await fetch('/api/scenario')).json());
  assert.deepEqual([scenario.a_to_b.delay.variable.distribution.model, scenario.a_to_b.rate.queue.weight], ['empirical', 0.004]);
  await stage(page, 'Delay', 'none');
  const trace = card(page, 'b → a').locator('details.trace');
  await trace.locator('summary').click();
  await trace.getByRole('button', { name: 'Add a trace' }).click();
  await trace.getByLabel('Format').selectOption('measurement');
  await trace.getByLabel('Fixed part').fill('3ms');
  await trace.getByLabel('Direction of the log').selectOption('forward');
  await trace.getByLabel('Order').selectOption('independent');
  await until('the keys of the trace are there', async () => {
    const { fixed, direction, order } = (await draft(page)).b_to_a?.trace ?? {};
    return fixed === '3ms' && direction === 'forward' && order === 'independent';
  });
  await reset(page);
}

/** Durations of each kind, a diagonal that can be completed, and a bad spell that does not end. */
export async function chains(page) {
  const loss = await stage(page, 'Loss', 'markov');
  const lasts = loss.getByLabel('Duration of state 2');
  await lasts.fill('25');
  await loss.getByLabel('Duration unit').selectOption('time');
  await lasts.fill('3s');
  for (const [kind, text] of [['packets', '25'], ['time', '3s'], ['packets', '25']]) {
    await loss.getByLabel('Duration unit').selectOption(kind);
    await until(`${kind} are as they were`, async () => (await lasts.inputValue()) === text);
  }
  const complete = loss.getByRole('button', { name: 'Complete the diagonal' });
  await loss.getByLabel('From state 1 to 2').fill('1.5');
  await loss.getByText('each entry is a probability').waitFor();
  assert.equal(await complete.count(), 0, 'a row that no diagonal completes');
  await loss.getByLabel('From state 1 to 2').fill('.25');
  await complete.click();
  await until('the row sums to 1', async () => (await loss.getByLabel('From state 1 to 1').inputValue()) === '0.75');
  assert.match(await loss.getByLabel('From state 1 to 1').evaluate((one) => document.getElementById(one.getAttribute('aria-describedby')).textContent), /A row sums to 1/);
  await stage(page, 'Loss', 'gilbert-elliott');
  await loss.getByLabel('r: bad to good').fill('0');
  await loss.getByText('a burst never ends').waitFor();
  await reset(page);
}

/** Apply fits a telephone with many changes, and what somebody else applied that stands here already is no news. */
export async function applying(page) {
  await page.getByLabel('Preset').selectOption('wpt-3g');
  await page.getByRole('button', { name: 'Load preset' }).first().click();
  await page.getByRole('button', { name: /^Apply \d+ changes$/ }).waitFor();
  await stage(page, 'Loss', 'four-state');
  await page.getByRole('button', { name: /^Apply \d\d changes$/ }).waitFor();
  await page.setViewportSize({ width: 360, height: 740 });
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth);
  await until('it fits a telephone', async () => (await wide()) <= 360).catch(async () => assert.fail(`${await wide()} pixels: ${await page.getByRole('region', { name: 'Apply' }).innerText()}`));
  await page.setViewportSize({ width: 1440, height: 900 });
  await until('what is chosen is remembered', async () => (await draft(page)).a_to_b?.loss?.model === 'four-state');
  const status = await page.evaluate(async () => {
    const { scenario } = JSON.parse(localStorage.getItem('romer.scenario'));
    return (await fetch('/api/scenario', { method: 'PUT', headers: { 'Content-Type': 'application/json', 'If-Match': '*' }, body: JSON.stringify({ scenario }) })).status;
  });
  assert.equal(status, 200);
  await page.getByText('Applied.').waitFor();
  assert.equal(await page.locator('[data-foreign]').count(), 0);
  await reset(page);
}

/** A port that is not there is marked, and an error in what is folded away opens it. */
export async function benchmarkFaults(page) {
  const bench = page.locator('section[aria-label=Benchmark]');
  const [port, look] = [page.getByLabel('Receive port'), bench.getByRole('button', { name: 'Preview' })];
  const right = await port.inputValue();
  await port.fill(`${prefix}B/nope`);
  await look.click();
  await until('the port is marked', async () => (await port.getAttribute('aria-invalid')) === 'true');
  assert.doesNotMatch(await bench.innerText(), /--source/);
  await port.fill(right);
  const source = page.getByLabel('Source address');
  await bench.getByText(/^More: addresses/).click();
  await source.fill('nowhere');
  await bench.getByText(/^More: addresses/).click();
  await look.click();
  await until('it is opened, and marked', async () => (await source.isVisible()) && (await source.getAttribute('aria-invalid')) === 'true');
  await source.fill('');
  const destination = page.getByLabel('Destination address');
  await destination.fill('fe80::1');
  await look.click();
  await until('an address of one link is marked', async () => (await destination.getAttribute('aria-invalid')) === 'true');
  await destination.fill('');
  const labels = page.getByLabel('Labels of the device');
  await labels.fill('nolabel');
  await look.click();
  await bench.getByText('"nolabel" is no label').waitFor();
  await labels.fill('');
}

/** An emulation that ends while its master switch is off keeps what was asked for. */
export async function endsPassing(page) {
  const asked = '[a_to_b.delay]\nfixed = "7ms"\n';
  const status = await page.evaluate(async (toml) => (await fetch('/api/scenario', { method: 'PUT', headers: { 'Content-Type': 'application/json', 'If-Match': '*' }, body: JSON.stringify({ toml }) })).status, asked);
  assert.equal(status, 200);
  await page.getByRole('switch', { name: /Impairment: ON$/ }).click();
  await page.getByRole('switch', { name: /Impairment: OFF/ }).waitFor();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.getByText('Its results are stored as the run').waitFor();
  const { emulation } = await page.evaluate(async () => {
    const { run } = await (await fetch('/api/emulation')).json();
    return (await fetch(`/api/runs/${run}`)).json();
  });
  assert.equal(emulation.scenario, asked);
  assert.match(emulation.impairments_off_since, /^\d{4}-\d\d-\d\dT/);
  assert.ok(!emulation.warnings.some((warning) => warning.code === 'scenario-empty'));
}

/** Runs of several targets are laid over each other stream by stream, and too many are refused in words; then both are taken away. */
export async function overlaysOfStreams(page, runs) {
  const ids = [];
  for (const comment of ['first pair', 'second pair']) {
    const id = await page.evaluate(async (words) => (await (await fetch('/api/measurements', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ targets: ['198.18.0.3', '198.18.0.3'], count: 50, interval: '5ms', comment: words, emulated: null }) })).json()).id, comment);
    ids.push(await until('it ends', () => page.evaluate(async (one) => {
      const job = await (await fetch(`/api/measurements/${one}`)).json();
      return job.state === 'done' ? job.run : null;
    }, id)));
    await page.getByRole('cell', { name: comment }).waitFor();
  }
  const ticks = runs.getByRole('checkbox');
  for (const tick of await ticks.all()) await tick.uncheck();
  for (const id of ids) await runs.getByRole('checkbox', { name: `Overlay ${id}`, exact: true }).check();
  await runs.getByRole('button', { name: 'Overlay 2' }).click();
  const figures = runs.getByRole('region', { name: 'Figures of the overlay' });
  await until('each stream has its rows', async () => (await figures.getByRole('rowheader', { name: /, to 198\.18\.0\.3/ }).count()) === 12);
  await until('each is compared', async () => (await runs.getByRole('heading', { name: /^Differences, to 198\.18\.0\.3/ }).count()) === 2);
  await ticks.last().check();
  await runs.getByRole('button', { name: 'Overlay 3' }).click();
  await runs.getByText('At most 4 streams can be overlaid; these runs have 5').waitFor();
  // With the keyboard: the focus stays among the runs.
  const focus = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.tagName);
  for (const id of ids) {
    await runs.getByRole('button', { name: `Delete ${id}`, exact: true }).press('Enter');
    await until('the focus is on what keeps it', async () => (await focus()) === `Cancel: ${id}`);
    await page.keyboard.press('Enter');
    await until('the focus is where it was', async () => (await focus()) === `Delete ${id}`);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Delete permanently' }).press('Enter');
    await until('the focus is on the next run', async () => (await focus())?.startsWith('Delete ') && (await focus()) !== `Delete ${id}`);
  }
  for (const tick of await ticks.all()) await tick.uncheck();
}

/** The page of `romer emulate --api` ends with it: that is asked, and told. */
export async function endsWithItsEmulation(browser) {
  const { child } = start(['emulate', '--port', `a=${prefix}E/e0`, '--port', `b=${prefix}E/e1`, '--delay', '5ms', '--api', '127.0.0.1:8870']);
  let text = '';
  child.stdout.on('data', (piece) => (text += piece));
  const url = await until('the address is told', () => /http:\S+/.exec(text)?.[0]);
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.goto(url);
  await page.getByText('connected to').waitFor();
  const stop = page.getByRole('button', { name: 'Stop', exact: true });
  await stop.click();
  await page.getByText('This ends romer emulate').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(child.exitCode, null);
  await stop.click();
  await page.getByRole('button', { name: 'End both' }).click();
  await page.getByRole('alert').getByText('The emulation has ended, and with it this server').waitFor();
  assert.doesNotMatch(await page.locator('body').innerText(), /as soon as romer runs again|does not answer/);
  await context.close();
}
