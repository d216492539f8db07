// Through every screen of the console, against the real server, a real emulator and real packets.
//
// Waits for conditions, never for a time; whatever fails ends it with exit code 1.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { browse, conclude, PATIENCE, prefix, serve, TOKEN, until } from './common.mjs';
import { applying, benchmarkFaults, chains, endsPassing, endsWithItsEmulation, keysOfScenarios, linesOfTraces, longTraces, overlaysOfStreams, sameNotes } from './keeping.mjs';
import { closesLoops, continuesFromLoops } from './loops.mjs';
import { numbersStay } from './typing.mjs';

const shots = process.env.ROMER_SCREENSHOTS;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const step = (text) => console.log(`- ${text}`);

async function clean(page, what) {
  await page.evaluate(axe);
  // All rules that are on by themselves: those of WCAG and of good practice.
  const found = await page.evaluate(() => globalThis.axe.run(document, { iframes: false }));
  const words = found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => `${node.html.slice(0, 160)} (${node.any[0]?.message ?? node.failureSummary ?? ''})`).slice(0, 3).join(' | ')}`);
  assert.deepEqual(words, [], `axe finds fault with ${what}`);
}

async function shot(page, name, from) {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  await page.evaluate((at) => globalThis.scrollTo(0, at ? document.querySelector(at).getBoundingClientRect().top + globalThis.scrollY - 90 : 0), from);
  await page.screenshot({ path: join(shots, `console-${name}.png`), fullPage: false });
}

/** Pictures of a call over a path with periodic spikes: its report, and the list of runs. */
async function pictures(page, context) {
  step('a call is measured for the pictures');
  const spikes = '[a_to_b.delay]\nfixed = "12ms"\nvariable = { model = "uniform", low = "0ms", high = "4ms" }\n[a_to_b.loss]\nprobability = "1%"\n[b_to_a.delay]\nfixed = "9ms"\n[[timeline]]\nat = "1900ms"\na_to_b.delay = { fixed = "50ms" }\n[[timeline]]\nat = "1960ms"\na_to_b.delay = { fixed = "12ms", variable = { model = "uniform", low = "0ms", high = "4ms" } }\n[timeline_repeat]\nevery = "2s"\n';
  const put = await page.evaluate(async (toml) => (await fetch('/api/scenario', { method: 'PUT', headers: { 'Content-Type': 'application/json', 'If-Match': '*' }, body: JSON.stringify({ toml }) })).text(), spikes);
  const asked = { targets: ['198.18.0.3'], traffic: 'g711', duration: '40s', comment: 'call over the emulated path', limits: ['forward.loss.ratio<2%', 'round_trip.delay_ns.p99<150ms'] };
  const { id } = await page.evaluate(async (body) => (await fetch('/api/measurements', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })).json(), JSON.stringify(asked));
  const call = await until('the call is over', () => page.evaluate(async (one) => { const job = await (await fetch(`/api/measurements/${one}`)).json(); return job.state === 'running' ? null : job; }, id));
  assert.equal(call.state, 'done', `${put} ${JSON.stringify(call)}`);
  const tab = await context.newPage();
  await tab.setViewportSize({ width: 1280, height: 1160 });
  await tab.goto(`http://127.0.0.1:8800/api/runs/${call.run}/report.html`);
  await tab.locator('.live svg').first().waitFor();
  await tab.screenshot({ path: join(shots, 'report.png') });
  await tab.close();
  // The run with the hostile comment is for the test, not for pictures.
  await page.evaluate(async () => {
    const hostile = (await (await fetch('/api/runs')).json()).filter((one) => one.comment?.includes('\u202e'));
    for (const one of hostile) await fetch(`/api/runs/${one.name}`, { method: 'DELETE' });
  });
  await open(page, 'Runs');
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByLabel('Filter', { exact: true }).fill('');
  await page.getByRole('button', { name: `Open ${call.run}`, exact: true }).click();
  await page.frameLocator('iframe >> visible=true').getByText('Voice quality').first().waitFor();
  await shot(page, 'runs');
}

const SCREENS = ['Emulator', 'Live', 'Measure', 'Loop', 'Runs', 'Benchmark', 'Doctor'];
const open = async (page, screen) => {
  await page.getByRole('navigation').getByRole('link', { name: screen }).click();
  await page.getByRole('heading', { level: 1, name: screen }).waitFor();
};

async function run() {
  let server = serve();
  const url = /http:\S+/.exec(await server.line)[0];
  assert.equal(url, `http://127.0.0.1:8800/#token=${TOKEN}`);

  const browser = await browse();
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: 'light' });
  context.setDefaultTimeout(PATIENCE);
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: 'http://127.0.0.1:8800' });
  const page = await context.newPage();
  const faults = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    // Lost connections are told by the browser itself; policies that are broken are ours to mend.
    if (message.type() === 'error' && /Content Security Policy|Refused to|is not a|undefined/.test(message.text())) faults.push(message.text());
  });

  step('a page without the token shows nothing but how to get in');
  await page.goto('http://127.0.0.1:8800/');
  await page.getByRole('heading', { name: 'This page needs its token' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Start' }).count(), 0, 'nothing of the screens is shown');
  await clean(page, 'the locked page');

  step('the address that was printed opens it, and the token leaves the address');
  // In the tab that asks for it: only the fragment changes. And again in a page that is open, also with a wrong one.
  for (const address of [url, url, url.replace(TOKEN, 'wrong')]) {
    await page.evaluate((to) => void (location.href = to), address);
    await until('the token has left the address', () => !page.url().includes('token'));
    await page.getByText('connected to').waitFor();
  }

  step('an emulation starts, with what the screen shows');
  await page.getByLabel('Port a', { exact: true }).fill(`${prefix}E/e0`);
  await page.getByLabel('Port b', { exact: true }).fill(`${prefix}E/e1`);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('switch', { name: /Impairment: ON \(none configured\)/ }).waitFor();

  step('a wrong value is told beside its field, and stays');
  const there = page.locator('.card', { has: page.getByRole('heading', { name: 'a → b', exact: true }) }).first();
  await there.getByText('Delay', { exact: true }).first().click();
  const delay = there.locator('details.stage', { hasText: 'Delay' }).first();
  await delay.getByLabel('Model', { exact: true }).first().selectOption('plain');
  await delay.getByLabel('Fixed part').fill('20');
  await delay.getByText(/unit/).first().waitFor();
  assert.equal(await delay.getByLabel('Fixed part').inputValue(), '20');
  await until('the field is marked', async () => (await delay.getByLabel('Fixed part').getAttribute('aria-invalid')) === 'true');
  await delay.getByLabel('Fixed part').fill('20ms');

  step('what is typed key by key stays as it is typed, and is marked where it is wrong');
  await numbersStay(page, there);

  step('a Markov loss is edited as a matrix, and its overall rate follows');
  await there.getByText('Loss', { exact: true }).first().click();
  const loss = there.locator('details.stage', { hasText: 'Loss' }).first();
  await loss.getByLabel('Model', { exact: true }).first().selectOption('markov');
  const entries = [['From state 1 to 1', '0.95'], ['From state 1 to 2', '0.05'], ['From state 2 to 1', '0.9'], ['From state 2 to 2', '0.1']];
  await loss.getByLabel('From state 1 to 1').fill('0.9');
  await loss.getByText(/sums to/).first().waitFor();
  for (const [label, value] of entries) await loss.getByLabel(label).fill(value);
  await loss.getByLabel('States', { exact: true }).fill('65');
  await loss.getByText('write a whole number from 1 to 64; the chain still has 2').waitFor();
  assert.equal(await loss.getByLabel('States', { exact: true }).getAttribute('aria-invalid'), 'true');
  await page.getByRole('region', { name: 'Apply' }).getByText('a → b › Loss › States: write a whole number').waitFor();
  assert(await page.getByRole('button', { name: /^Apply/ }).isDisabled(), 'a chain is not applied while its states stand open');
  await loss.getByLabel('States', { exact: true }).fill('2');
  await loss.getByLabel('Duration of state 2').fill('2');
  // Visits 0.9 to 0.05; weighted by 1 and 2 packets, a tenth.
  await loss.getByText('overall loss rate is 10 %').waitFor();
  await clean(page, 'the emulator');

  step('all that is wrong is told at once, each beside its field');
  const bar = page.getByRole('region', { name: 'Apply' });
  const reorder = there.locator('details.stage', { hasText: 'Reorder' }).first();
  await there.getByText('Reorder', { exact: true }).first().click();
  await reorder.getByLabel('Model', { exact: true }).first().selectOption('markov');
  await reorder.locator('[data-displacement]').first().waitFor();
  await reorder.getByLabel('Duration of state 2').fill('0');
  await delay.getByLabel('Fixed part').fill('20');
  await page.getByText(/and 1 more, each beside its field/).waitFor();
  await until('both are marked', async () => (await reorder.getByLabel('Duration of state 2').getAttribute('aria-invalid')) === 'true' && (await delay.getByLabel('Fixed part').getAttribute('aria-invalid')) === 'true');
  await delay.getByLabel('Fixed part').fill('20ms');
  await reorder.getByLabel('Model', { exact: true }).first().selectOption('none');
  await until('all is right again, which is a step', async () => (await delay.getByLabel('Fixed part').getAttribute('aria-invalid')) === 'false');
  await loss.getByLabel('Model', { exact: true }).first().selectOption('four-state');
  await loss.getByRole('img', { name: /Transition graph of 4 states/ }).waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await loss.getByText('overall loss rate is 10 %').waitFor();

  step('Apply is a line until it is unfolded, says what changes, and the emulator takes it');
  const tall = () => bar.evaluate((one) => one.getBoundingClientRect().height);
  assert((await tall()) <= 80, `the bar is ${await tall()} pixels tall`);
  await page.setViewportSize({ width: 360, height: 740 });
  await until('the bar is small on a telephone', async () => (await tall()) <= 110).catch(async () => assert.fail(`the bar is ${await tall()} pixels tall: ${await bar.innerText()}`));
  await page.setViewportSize({ width: 1280, height: 800 });
  const headTall = await page.locator('header').evaluate((one) => one.getBoundingClientRect().height);
  assert(headTall <= 64, `the head of the page is ${headTall} pixels tall while packets pass`);
  await page.setViewportSize({ width: 1440, height: 900 });
  await bar.getByRole('button', { name: 'Show changes' }).click();
  await page.getByText('a → b › Loss › Model: nothing → Markov chain').waitFor();
  await page.getByRole('button', { name: /^Apply \d+ change/ }).click();
  await page.getByText('Applied.').waitFor();
  await page.getByRole('switch', { name: /Impairment: ON$/ }).waitFor();
  const inForce = await page.evaluate(async () => (await fetch('/api/scenario')).json());
  assert.equal(inForce.scenario.a_to_b.loss.model, 'markov');
  assert.equal(inForce.scenario.a_to_b.delay.fixed, '20ms');
  await shot(page, 'emulator');

  step('undo and redo go back and forth');
  await until('there is something to undo', () => page.getByRole('button', { name: 'Undo' }).isEnabled());
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('button', { name: 'Redo' }).click();
  await page.getByText('The emulator uses these settings.').or(page.getByText('Applied.')).first().waitFor();

  step('another seed waits for the next start and is told so, and what is no seed is marked');
  const seed = page.getByLabel('Seed 1 of 6', { exact: true });
  await seed.fill('7');
  await page.getByText('Not applied: this run uses').waitFor();
  await seed.fill('abc');
  await until('the field is marked', async () => (await seed.getAttribute('aria-invalid')) === 'true');
  assert(await page.getByRole('button', { name: /^Apply/ }).isDisabled(), 'what cannot be applied is not offered');
  await seed.fill('0');
  await until('it is as it was', async () => (await seed.getAttribute('aria-invalid')) === 'false');

  step('a measurement is started from the page, and its loss agrees with what was asked for');
  await open(page, 'Measure');
  await page.getByLabel('Target', { exact: true }).fill('198.18.0.3');
  await page.getByText('More', { exact: true }).click();
  await page.getByLabel('Packets', { exact: true }).fill('3000');
  await page.getByLabel('Interval', { exact: true }).fill('2ms');
  await page.getByLabel('Comment', { exact: true }).fill('from the browser');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await until('delays of both ways and their jitter are drawn while it runs', async () => {
    const titles = await page.locator('section[aria-label=Measure] [data-live] figcaption strong').allInnerTexts();
    return ['Round-trip delay', 'Forward delay', 'Reverse delay', 'Jitter'].every((title) => titles.some((one) => one.startsWith(title)));
  });
  const job = await until('the measurement ends', () =>
    page.evaluate(async () => {
      const [last] = await (await fetch('/api/measurements')).json();
      return last && last.state !== 'running' ? last : null;
    }),
  );
  assert.equal(job.state, 'done', JSON.stringify(job));
  await page.frameLocator('iframe').getByText('Packets').first().waitFor();
  await shot(page, 'measure', '[data-live]');
  await clean(page, 'a measurement');
  const opened = await page.evaluate(async (name) => (await fetch(`/api/runs/${name}`)).json(), job.run);
  const measured = opened.measurements[0];
  // The loss of 3,000 probes of this chain has a standard deviation below 0.01: 0.06 is beyond one in a million.
  const ratio = measured.forward.loss.ratio;
  assert(Math.abs(ratio - 0.1) < 0.06, `asked for 10 % of loss, measured ${ratio}`);
  assert.equal(measured.reverse.packets.lost ?? 0, 0);
  assert(measured.forward.delay_ns.min >= 20e6, `asked for 20 ms, measured ${measured.forward.delay_ns.min}`);

  step('what was drawn of a measurement is there again after a reload');
  const drawn = (of) => of.locator('section[aria-label=Measure] [data-live] figcaption strong').allInnerTexts();
  const fresh = await context.newPage();
  await fresh.goto('http://127.0.0.1:8800/#measure');
  const titles = (await drawn(page)).join();
  await until('all of its curves are drawn again', async () => (await drawn(fresh)).join() === titles);
  await fresh.close();
  const points = await page.evaluate(async (id) => (await (await fetch(`/api/measurements/${id}/intervals`)).json()).length, job.id);
  assert(points >= 3, `${points} intervals are kept`);

  step('delays, jitter and losses of packets that go both ways at once are drawn while they go');
  await page.getByLabel('Direction', { exact: true }).selectOption('both');
  await page.getByLabel('Comment', { exact: true }).fill('both ways at once');
  await page.getByLabel('Limits', { exact: true }).fill('round_trip.delay_ns.p99<1ms');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByText(/in this direction; write forward.delay_ns.p99 or reverse/).first().waitFor();
  await page.getByLabel('Limits', { exact: true }).fill('forward.delay_ns.p99<1ms\nforward.delay_ns.p99<1ms');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await until('curves of both ways are drawn', async () => {
    const now = await drawn(page);
    return ['Forward delay', 'Reverse delay', 'Jitter', 'Lost'].every((title) => now.some((one) => one.startsWith(title)));
  });
  const twofold = await until('it ends', () =>
    page.evaluate(async () => {
      const [last] = await (await fetch('/api/measurements')).json();
      return last.request.direction === 'both' && last.state !== 'running' ? last : null;
    }),
  );
  const [counted] = twofold.streams;
  assert(counted.returned <= counted.sent && counted.returned > counted.sent / 2, JSON.stringify(counted));
  assert.match(twofold.command, /--direction both .*--live-delays/);
  const both = (await page.evaluate(async (id) => (await fetch(`/api/measurements/${id}/intervals`)).json(), twofold.id)).filter((one) => one.forward.sent > 500);
  assert(both.length > 0 && both.every((one) => one.forward.median_ns === null || one.forward.median_ns >= 20e6), JSON.stringify(both));
  const { forward, reverse } = both.at(-1);
  // More than 500 probes of this chain, as above: a standard deviation below 0.02.
  assert(Math.abs(1 - forward.arrived / forward.sent - 0.1) < 0.1 && reverse.sent > 0 && reverse.arrived === reverse.sent, JSON.stringify(both.at(-1)));
  await page.getByText('done, 2 limits failed').first().waitFor();
  // What is written twice is told twice, and draws both screens all the same.
  await until('both are told', async () => (await page.getByText(/^Limit failed: forward.delay_ns.p99<1ms, measured/).count()) === 2);
  await open(page, 'Runs');
  await until('both are listed', async () => (await page.locator('tr', { hasText: 'both ways at once' }).locator('.mid .limit').count()) === 2);
  await page.locator('tr', { hasText: 'both ways at once' }).locator('.mid').getByText('FAIL', { exact: true }).waitFor();
  await open(page, 'Measure');
  const [listed] = await page.evaluate(async () => (await fetch('/api/runs')).json());
  assert.equal(listed.failed_limits.length, 2, JSON.stringify(listed));
  await page.getByLabel('Limits', { exact: true }).fill('');
  await clean(page, 'a measurement of both ways at once');
  assert.equal(await page.evaluate(async (name) => (await fetch(`/api/runs/${name}`, { method: 'DELETE' })).status, twofold.run), 204);
  await page.getByLabel('Direction', { exact: true }).selectOption('round_trip');

  step('Live shows the ledger, balanced, and the loss');
  await open(page, 'Live');
  await page.getByRole('row', { name: /a → b/ }).first().waitFor();
  assert.match(await page.locator('tr[data-way=a_to_b]').innerText(), /0 ✓/);
  const shown = Number.parseFloat(await page.locator('tr[data-way=a_to_b] [data-loss]').innerText());
  assert(Math.abs(shown - 10) < 6, `Live shows ${shown} % of loss`);
  await until('curves are drawn', () => page.locator('.uplot').count().then((count) => count >= 6));
  await page.getByRole('button', { name: 'Sample packets' }).click();
  await page.getByRole('heading', { name: /^Samples: / }).waitFor();
  const saved = async (button) => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).first().click()]);
    return readFileSync(await download.path(), 'utf8');
  };
  // The measurement is among these seconds: 3,000 probes within some of them.
  const [head, ...seconds] = (await saved('Download CSV')).trim().split('\n');
  const column = (name) => seconds.map((line) => Number(line.split(',')[head.split(',').indexOf(name)]));
  assert(Math.max(...column('a_to_b.received_pps')) > 0 && Math.max(...column('a_to_b.received_l2_bps')) > 0, head);
  assert(Math.max(...column('a_to_b.lost_model_pps')) > 0 && column('a_to_b.balance_packets').every((value) => value === 0), head);
  assert(head.split(',').includes('b_to_a.lost_queue_pps'), head);
  const snapshot = JSON.parse(await saved('Save snapshot'));
  assert.deepEqual([snapshot.schema, snapshot.a_to_b.lost.model > 0], ['romer/emulation/1', true]);
  const chart = page.getByRole('group', { name: /^Packets a → b: plus and minus zoom/ });
  await chart.focus();
  await page.keyboard.press('+');
  await chart.locator('xpath=..').getByText('visible range: 50 %').waitFor();
  await page.keyboard.press('0');
  await chart.locator('xpath=..').getByText('visible range: 100 %').waitFor();
  // Dragged, it says how much is seen as well.
  const plotArea = await chart.locator('.u-over').boundingBox();
  await page.mouse.move(plotArea.x + plotArea.width * 0.5, plotArea.y + plotArea.height / 2);
  await page.mouse.down();
  await page.mouse.move(plotArea.x + plotArea.width * 0.75, plotArea.y + plotArea.height / 2, { steps: 5 });
  await page.mouse.up();
  await chart.locator('xpath=..').getByText(/^visible range: 2\d %$/).waitFor();
  await chart.focus();
  await page.keyboard.press('0');
  await page.locator('[data-lost=a_to_b]').getByText(/Since the start: model \d+/).waitFor();
  const asked_ = { targets: ['198.18.0.3'], count: 1500, interval: '5ms' };
  const { id: passing } = await page.evaluate(async (body) => (await fetch('/api/measurements', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })).json(), JSON.stringify(asked_));
  const received = async () => (await page.evaluate(async () => (await fetch('/api/statistics')).json())).a_to_b.received;
  const fewer = await received();
  await until('packets pass', async () => (await received()) > fewer);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('Paused: the values are of').waitFor();
  const ledger = () => page.getByRole('region', { name: 'Packet counts' }).innerText();
  const stood = await ledger();
  const then = await received();
  await until('more have passed', async () => (await received()) > then + 300);
  assert.equal(await ledger(), stood, 'the ledger is paused as well');
  await page.getByRole('button', { name: 'Resume' }).click();
  await until('it goes on', async () => (await ledger()) !== stood);
  const over = await until('it ends', () => page.evaluate(async (id) => { const job = await (await fetch(`/api/measurements/${id}`)).json(); return job.state === 'running' ? null : job.run; }, passing));
  assert.equal(await page.evaluate(async (name) => (await fetch(`/api/runs/${name}`, { method: 'DELETE' })).status, over), 204);
  const whole = [page.getByRole('region', { name: 'Summaries' }), page.locator('.card', { has: page.getByRole('heading', { name: /^Samples: / }) })];
  for (const one of whole) {
    const [wide, room] = await one.evaluate((box) => [box.getBoundingClientRect().width, document.querySelector('main section:not([hidden])').getBoundingClientRect().width]);
    assert(wide > room * 0.9, `summaries or samples have ${wide} of ${room} pixels`);
  }
  await shot(page, 'live');
  await clean(page, 'the live figures');

  step('the master switch is the server\'s: two pages agree, a reload keeps it, and the scenario stays');
  await page.getByRole('switch').click();
  await page.getByRole('switch', { name: /Impairment: OFF/ }).waitFor();
  const kept_ = await page.evaluate(async () => (await fetch('/api/scenario')).json());
  assert.deepEqual([kept_.impairments_off, kept_.scenario.a_to_b.loss.model], [true, 'markov']);
  const second = await context.newPage();
  await second.goto('http://127.0.0.1:8800/#runs');
  await second.getByRole('switch', { name: /Impairment: OFF/ }).waitFor();
  await second.reload();
  await second.getByRole('switch', { name: /Impairment: OFF/ }).click();
  await page.getByRole('switch', { name: /Impairment: ON$/ }).waitFor();
  assert.equal((await page.evaluate(async () => (await fetch('/api/scenario')).json())).impairments_off, false);
  await second.close();
  await open(page, 'Emulator');

  step('a change by somebody else is told as theirs, what was typed stays, and nothing is overwritten unseen');
  await delay.getByLabel('Fixed part').fill('21ms');
  await page.getByText('a → b › Delay › Fixed part: 20ms → 21ms').waitFor().catch(async () => assert.fail(await bar.innerText()));
  await page.evaluate(() => fetch('/api/scenario', { method: 'PUT', headers: { 'Content-Type': 'application/json', 'If-Match': '*' }, body: '{"toml":"[b_to_a.delay]\\nfixed = \\"5ms\\"\\n"}' }));
  const stale = await page.evaluate(async () => (await fetch('/api/scenario', { method: 'PUT', headers: { 'Content-Type': 'application/json', 'If-Match': '"1-1"' }, body: '{"toml":""}' })).status);
  assert.equal(stale, 412);
  const theirs = page.locator('[data-foreign]');
  const those = page.locator('[aria-label="Changes of another client"]');
  await theirs.getByText('Another client changed the scenario').waitFor();
  // It may stand among those that are folded away.
  await those.getByText('b → a › Delay › Fixed part: nothing → 5ms').waitFor({ state: 'attached' });
  assert.equal(await delay.getByLabel('Fixed part').inputValue(), '21ms');
  await clean(page, 'a change by somebody else');
  // The tag that the page knows is not theirs: the server refuses.
  await page.getByRole('button', { name: /^Apply \d+ change/ }).click();
  await page.getByText('Not applied').waitFor();
  assert.equal((await page.evaluate(async () => (await fetch('/api/scenario')).json())).scenario.b_to_a.delay.fixed, '5ms');
  await theirs.getByRole('button', { name: 'Keep mine' }).click();
  await until('theirs is no longer pending', () => theirs.count().then((count) => count === 0));
  assert.equal(await delay.getByLabel('Fixed part').inputValue(), '21ms');
  await page.evaluate(() => fetch('/api/scenario', { method: 'PUT', headers: { 'Content-Type': 'application/json', 'If-Match': '*' }, body: '{"toml":"[b_to_a.delay]\\nfixed = \\"6ms\\"\\n"}' }));
  await those.getByText('b → a › Delay › Fixed part: 5ms → 6ms').waitFor();
  await theirs.getByRole('button', { name: 'Use their version' }).click();
  await page.getByText('The screen shows the settings of the emulator.').waitFor();
  const mine = page.locator('.card', { has: page.getByRole('heading', { name: 'b → a', exact: true }) }).first();
  await until('theirs is on the screen', () => mine.getByLabel('Fixed part').inputValue().then((text) => text === '6ms'));

  step('Runs lists it, filters, and shows its report');
  await open(page, 'Runs');
  await page.getByRole('cell', { name: 'from the browser' }).waitFor();
  await page.getByLabel('Filter', { exact: true }).fill('nothing like it');
  await page.getByText('No run matches the filter').waitFor();
  await page.getByLabel('Filter', { exact: true }).fill('browser');
  await page.getByRole('button', { name: /^Open / }).click();
  const runsScreen = page.locator('section[aria-label=Runs]');
  await runsScreen.frameLocator('iframe').getByText('Packets').first().waitFor();
  // What was opened is seen, not only there, and what stands out of it is in the list.
  await until('the details are in view', () => runsScreen.locator('.details h2').evaluate((one) => { const { top } = one.getBoundingClientRect(); return top >= 0 && top < 200 && document.activeElement === one; }));
  const entry = await runsScreen.getByRole('row', { name: /from the browser/ }).innerText();
  assert(/\b2\d(\.\d+)? ms/.test(entry) && /\b(\d|1\d)(\.\d+)? %/.test(entry) && /complete/.test(entry), entry);
  // The report's own script works within the page: it makes the buttons that save its data.
  await runsScreen.frameLocator('iframe').locator('#data button').first().waitFor();

  step('it stands beside the emulation that it passed through');
  const beside = runsScreen.locator('[data-beside]');
  await beside.getByRole('row', { name: /^Loss forward \(a → b\) 10 %/ }).waitFor();
  await beside.getByText(/packets that the emulator received a → b were not probes/).waitFor();
  // Asked for, done and measured: the mean delay is 20 ms and what the emulator adds, the rate that of the probes.
  const cells = async (name) => beside.getByRole('row', { name }).getByRole('cell').allInnerTexts();
  const [askedDelay, didDelay, measuredDelay] = await cells(/^Mean delay forward \(a → b\)/);
  assert.equal(askedDelay, '20 ms');
  assert(Number.parseFloat(didDelay) >= 20 && didDelay.endsWith(' ms'), didDelay);
  assert(Number.parseFloat(measuredDelay) >= 20, measuredDelay);
  const [askedRate, didRate, measuredRate] = await cells(/^Rate forward \(a → b\)/);
  assert.equal(askedRate, 'no limit');
  assert(/bit\/s$/.test(didRate) && /bit\/s$/.test(measuredRate), `${didRate}, ${measuredRate}`);
  await beside.getByLabel('Emulation').selectOption('now');
  await beside.getByText('the current scenario').waitFor();
  await beside.getByLabel('Emulation').selectOption('kept');
  await beside.getByText('the scenario at the start of the measurement').waitFor();

  step('its packets are saved as other programs read them');
  for (const [name, begins] of [['Document (JSON)', '{'], ['Packets (CSV)', 'sequence,size'], ['Packets (Parquet)', 'PAR1'], ['Packets (Qtcp .raw)', ''], ['Packets (Qtcp .sta)', '']]) {
    const [download] = await Promise.all([page.waitForEvent('download'), runsScreen.getByRole('link', { name, exact: true }).click()]);
    const content = readFileSync(await download.path(), 'latin1');
    assert(content.length > 50 && content.startsWith(begins), `${name}: ${content.slice(0, 60)}`);
  }
  await clean(page, 'the runs');

  step('two runs are laid over each other, five are not, and one is deleted');
  const again = await page.evaluate(async () => (await (await fetch('/api/measurements', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"targets":["198.18.0.3"],"count":50,"interval":"5ms","comment":"once more","stamp":"user","seed":[1,2,3,4,5,6],"traffic":"poisson"}' })).json()).id);
  await until('it ends', () => page.evaluate(async (id) => (await (await fetch(`/api/measurements/${id}`)).json()).state === 'done', again));
  await page.getByLabel('Filter', { exact: true }).fill('');
  await page.getByRole('cell', { name: 'once more' }).waitFor();
  const ticks = runsScreen.getByRole('checkbox');
  await until('both are listed', () => ticks.count().then((count) => count === 2));
  await ticks.nth(0).check();
  await ticks.nth(1).check();
  await page.getByRole('button', { name: 'Overlay 2' }).click();
  await page.getByRole('heading', { name: 'Differences' }).waitFor();
  const sides = await runsScreen.locator('dl.sides').innerText();
  assert(/A\s+\S+, to 198\.18\.0\.3\S*, started \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/.test(sides) && sides.includes('once more'), sides);
  await until('their curves are drawn', () => runsScreen.locator('.uplot').count().then((count) => count >= 1));
  await clean(page, 'an overlay');
  await overlaysOfStreams(page, runsScreen);
  step('at 768 pixels every column of the runs is seen');
  await page.setViewportSize({ width: 768, height: 900 });
  const list = runsScreen.getByRole('region', { name: 'List of runs', exact: true });
  await until('the list fits', () => list.evaluate((one) => one.scrollWidth <= one.clientWidth)).catch(async () => {
    assert.fail(`the list has ${await list.evaluate((one) => `${one.scrollWidth} of ${one.clientWidth} pixels: ${one.innerText}`)}`);
  });
  await page.setViewportSize({ width: 1440, height: 900 });
  const row = runsScreen.getByRole('row', { name: /once more/ });
  await row.getByRole('button', { name: /^Delete / }).click();
  await row.getByRole('button', { name: 'Delete permanently' }).click();
  await until('it is gone', () => ticks.count().then((count) => count === 1));

  step('a benchmark is planned, foreseen, run through the emulator, and shown');
  await open(page, 'Benchmark');
  await page.getByLabel('Transmit port').fill(`${prefix}A/t0`);
  await page.getByLabel('Receive port').fill(`${prefix}B/t1`);
  await page.getByLabel('Frame sizes').fill('64');
  await page.getByLabel('Loads').fill('5%,10%');
  await page.getByLabel('Trial', { exact: true }).fill('500ms');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('2 trials').first().waitFor();
  const bench = page.locator('section[aria-label=Benchmark]');
  await page.getByLabel('Repeats', { exact: true }).fill('3');
  await until('a forecast of another plan is gone', async () => (await bench.getByText('2 trials').count()) === 0);
  await page.getByLabel('Repeats', { exact: true }).fill('1');
  await bench.getByRole('button', { name: 'Start', exact: true }).click();
  const benchmark = await until('the benchmark ends', () =>
    page.evaluate(async () => {
      const [last] = await (await fetch('/api/benchmarks')).json();
      return last && last.state !== 'running' ? last : null;
    }),
  );
  assert.equal(benchmark.state, 'done', JSON.stringify(benchmark));
  // A trial in which this machine stalled the tester is repeated, and has a point of its own.
  const loads = new Set(benchmark.points.map((point) => Math.round(point.intended_percent)));
  assert.deepEqual([...loads].sort((a, b) => a - b), [5, 10]);
  await bench.frameLocator('iframe').getByText('load-sweep').first().waitFor();
  await until('its curves are drawn', () => bench.locator('.uplot').count().then((found) => found >= 2));
  await shot(page, 'benchmark');
  for (const folded of ['The plan of this form', 'Show plan']) await bench.getByText(folded, { exact: true }).click();
  await clean(page, 'a benchmark with its plans unfolded');
  await clean(page, 'a benchmark');

  step('a benchmark lies among the runs, and a fault of its form stands beside its field');
  await open(page, 'Runs');
  await runsScreen.getByRole('cell', { name: 'load-sweep', exact: true }).waitFor();
  await runsScreen.getByRole('row', { name: /load-sweep/ }).getByRole('button', { name: /^Open / }).click();
  await runsScreen.frameLocator('iframe').getByText('load-sweep').first().waitFor();
  await open(page, 'Benchmark');
  await page.getByLabel('Loads').fill('5x');
  await page.getByRole('button', { name: 'Preview' }).click();
  await until('the field is marked', async () => (await page.getByLabel('Loads').getAttribute('aria-invalid')) === 'true');
  await page.getByLabel('Loads').fill('5%,10%');
  await benchmarkFaults(page);

  step('a plan with commands is refused, and stays on the screen');
  await bench.getByRole('button', { name: 'Write the plan by hand' }).click();
  const written = bench.getByLabel('Plan', { exact: true });
  const commands = `${await written.inputValue()}\n[[case]]\nname = "x"\ncommand = "true"\n`;
  await written.fill(commands);
  await bench.getByRole('button', { name: 'Start', exact: true }).click();
  await bench.getByText('may run no command').first().waitFor();
  assert.equal(await written.inputValue(), commands);
  await written.fill('procedure = "load-swep"\n');
  await bench.getByRole('button', { name: 'Preview' }).click();
  await bench.getByText('line 1').first().waitFor();
  await bench.getByRole('button', { name: 'Back to the form' }).click();

  step('Doctor says in words what this machine can do');
  await open(page, 'Doctor');
  await page.locator('article').nth(5).waitFor();
  await shot(page, 'doctor');
  await clean(page, 'the doctor');

  step('presets, flows and a timeline are put in force, remembered, and copied');
  await open(page, 'Emulator');
  await page.getByLabel('Preset').selectOption('wpt-3g');
  await page.getByRole('button', { name: 'Load preset' }).first().click();
  await page.getByRole('button', { name: 'Add a flow' }).or(page.getByText('Flows', { exact: true })).first().click();
  if (!(await page.getByRole('heading', { name: 'Flow 1' }).isVisible())) await page.getByRole('button', { name: 'Add a flow' }).click();
  await page.getByLabel('DSCP', { exact: true }).fill('46');
  await page.getByText('Timeline', { exact: true }).first().click();
  await page.getByRole('button', { name: 'Add a step' }).click();
  await page.getByRole('button', { name: /^Apply \d+ change/ }).click();
  await page.getByText('Applied.').waitFor();
  const put = (await page.evaluate(async () => (await fetch('/api/scenario')).json())).scenario;
  assert.deepEqual([put.flow[0].match.dscp, put.timeline[0].at, Boolean(put.a_to_b.rate)], [46, '10s', true]);
  await page.getByText('Command line, file and API equivalent').click();
  await page.getByRole('button', { name: 'Copy: Command' }).click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^romer emulate --port a=\S+E\/e0 --port b=\S+E\/e1 --scenario scenario.toml/);
  await page.getByRole('button', { name: 'Copy: scenario.toml' }).click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /\[\[flow\]\]/);
  await page.getByText('History', { exact: true }).click();
  await page.locator('ol.history li').last().getByRole('button', { name: 'Restore' }).click();
  await until('the first scenario is on the screen', () => page.getByRole('button', { name: /^Apply \d+ change/ }).isEnabled());

  step('the delay that packets get at a rate is told in all, with the part of its queue');
  await page.evaluate(() => fetch('/api/scenario', { method: 'PUT', headers: { 'Content-Type': 'application/json', 'If-Match': '*' }, body: '{"toml":"[a_to_b.rate]\\nlimit = \\"200kbit\\"\\nlayer = \\"l2\\"\\n"}' }));
  // Nothing is said of an emulation: what runs here is kept with it.
  const slow = await page.evaluate(async () => (await (await fetch('/api/measurements', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"targets":["198.18.0.3"],"count":300,"interval":"12ms","size":"300B","comment":"at a\u202erate"}' })).json()).id);
  await open(page, 'Live');
  await page.locator('[data-delay=a_to_b]').getByText('of which rate queue').waitFor();
  const run = await until('it ends', () => page.evaluate(async (id) => { const one = await (await fetch(`/api/measurements/${id}`)).json(); return one.state === 'done' ? one.run : null; }, slow));
  const through = await page.evaluate(async (name) => (await fetch(`/api/runs/${name}`)).json(), run);
  const [did, probes] = [through.emulated.a_to_b, through.measurements[0].forward];
  const [inAll, queued, arrived] = [did.total_delay_mean_ns, did.rate_queue_mean_ns, probes.delay_ns];
  // Probes come faster than they may leave: their delay grows to hundreds of milliseconds, nearly all of it in the queue. What
  // the session said besides passed too, in no queue before the first probe and in the whole of it behind the last: without the
  // probes, what the emulator counted is between none and that for each.
  const others = did.transmitted - probes.packets.received;
  const left = inAll * did.transmitted - arrived.mean * probes.packets.received;
  const [spare, most] = [0.01 * arrived.mean * probes.packets.received, others * arrived.max];
  assert(queued > 50e6 && inAll >= queued && others > 0 && left > -spare && left < most + spare, `${inAll} in all, ${queued} in the queue, of ${did.transmitted}; ${arrived.mean} measured of ${probes.packets.received}`);
  const actual = page.getByRole('row', { name: /^total delay, arrival to departure a → b/ });
  await actual.waitFor();
  await page.getByRole('row', { name: /wait in the rate queue \(packets with a rate limit\) a → b/ }).waitFor();
  await open(page, 'Runs');
  await runsScreen.getByRole('cell', { name: 'at a⟨U+202E⟩rate' }).waitFor();
  await open(page, 'Emulator');
  await theirs.getByRole('button', { name: 'Use their version' }).click();
  await page.getByText('The screen shows the settings of the emulator.').waitFor();

  step('a trace is entered, and its lines count as changes; other pages and the master switch keep it');
  await open(page, 'Emulator');
  await page.getByRole('button', { name: 'Reset', exact: true }).click();
  await page.getByRole('button', { name: 'Add a trace' }).click();
  await page.getByRole('button', { name: /^Apply \d+ change/ }).click();
  await page.getByText('Applied.').waitFor().catch(async (error) => {
    throw new Error(`${await page.locator('.bar').innerText()}: ${error}`);
  });
  const lines = 'port,loss,duplication,reorder_distance,delay_us\n1,0,0,0,30000\n2,0,0,0,30000\n';
  await page.getByLabel('File: content').fill(lines.replace('30000', '-1'));
  await page.getByText('Trace › File is not right yet').waitFor();
  await until('its line is told once, and as what it is', () => page.getByText('delay_us is "-1"').count().then((count) => count === 1));
  await page.getByLabel('File: content').fill(lines);
  await page.getByRole('button', { name: 'File: copy its lines' }).click();
  await until('its lines are copied', () => page.evaluate(() => navigator.clipboard.readText()).then((text) => text === lines));
  const [trace] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'File: save its lines' }).click()]);
  assert.deepEqual([trace.suggestedFilename(), readFileSync(await trace.path(), 'utf8')], ['trace.csv', lines]);
  await page.getByRole('button', { name: 'Apply 1 change' }).click();
  await page.getByText('The emulator uses these settings.').or(page.getByText('Applied.')).first().waitFor();
  const kept = () => page.evaluate(async () => (await fetch('/api/scenario/files')).json());
  await until('the lines are in force', async () => Object.values(await kept()).includes(lines));
  await page.getByRole('switch').click();
  await page.getByRole('switch', { name: /Impairment: OFF/ }).waitFor();
  await page.getByRole('switch').click();
  await page.getByRole('switch', { name: /Impairment: ON$/ }).waitFor();
  assert.deepEqual(Object.values(await kept()), [lines]);
  const other = await browser.newContext({ viewport: { width: 360, height: 740 }, colorScheme: 'dark' });
  other.setDefaultTimeout(PATIENCE);
  const telephone = await other.newPage();
  await telephone.goto(url);
  await telephone.getByText('connected to').waitFor();
  await open(telephone, 'Emulator');
  await until('the lines are there as well', () => telephone.getByLabel('File: content').inputValue().then((text) => text === lines));
  await telephone.evaluate(() => document.querySelectorAll('main details').forEach((one) => (one.open = true)));
  await until('it fits a telephone while packets pass', () => telephone.evaluate(() => document.documentElement.scrollWidth <= 360));
  await clean(telephone, 'the emulator with everything unfolded, dark and narrow');
  await other.close();

  step('lines of traces, keys and durations are kept; Apply fits; what stands here already is no news');
  for (const work of [linesOfTraces, longTraces, sameNotes, keysOfScenarios, chains, applying]) await work(page);

  step('what counts packets is a whole number');
  await open(page, 'Measure');
  const before = await page.evaluate(async () => (await (await fetch('/api/measurements')).json()).length);
  await page.getByLabel('Packets', { exact: true }).fill('1,000');
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByText('"1,000" is not a whole number').waitFor();
  assert.equal(await page.evaluate(async () => (await (await fetch('/api/measurements')).json()).length), before);
  await page.getByLabel('Packets', { exact: true }).fill('3000');
  const target = page.getByLabel('Target', { exact: true });
  const named = await target.inputValue();
  await target.fill('');
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByText('name a host that runs romer respond').waitFor();
  await target.fill(named);

  if (shots) await pictures(page, context);

  step('an emulation that is stopped is a run, with its page');
  await open(page, 'Emulator');
  await endsPassing(page);
  await open(page, 'Runs');
  await page.getByLabel('Filter', { exact: true }).fill('emulation');
  await runsScreen.getByRole('button', { name: /^Open / }).first().click();
  await runsScreen.frameLocator('iframe').getByRole('heading', { name: 'Results', exact: true }).waitFor();
  await runsScreen.frameLocator('iframe').getByText('the master switch was off at the end').waitFor();

  step('reports in a tab of their own are as clean, in light and in dark');
  const reports = await page.evaluate(async () => (await (await fetch('/api/runs')).json()).filter((run) => run.state === 'complete').map((run) => [run.kind, `/api/runs/${run.name}/report.html`]));
  for (const kind of ['measurement', 'benchmark', 'emulation']) {
    const [, address] = reports.find(([of]) => of === kind) ?? assert.fail(`there is no ${kind}`);
    const tab = await context.newPage();
    for (const colorScheme of ['light', 'dark']) {
      await tab.emulateMedia({ colorScheme });
      await tab.goto(`http://127.0.0.1:8800${address}`);
      await tab.evaluate(() => document.querySelectorAll('details').forEach((folded) => (folded.open = true)));
      await clean(tab, `the report of a ${kind}, ${colorScheme}`);
    }
    await tab.close();
  }
  await page.getByLabel('Filter', { exact: true }).fill('');

  step('the page of an emulation that ends asks before it does, and says so');
  await endsWithItsEmulation(browser);

  step('the server is killed and comes back; the page goes on, with what was typed');
  await open(page, 'Measure');
  await page.getByLabel('Target', { exact: true }).fill('far.example');
  server.child.kill('SIGKILL');
  await page.getByText('connection lost, trying again').waitFor();
  const measuring = page.locator('section[aria-label=Measure]');
  await measuring.getByRole('button', { name: 'Start', exact: true }).click();
  const silence = measuring.getByText('Is romer still running?');
  await silence.waitFor();
  server = serve();
  await server.line;
  await page.getByText('connected to').waitFor();
  await until('what is not so any more is not told', async () => (await silence.count()) === 0);
  assert.equal(await page.getByLabel('Target', { exact: true }).inputValue(), 'far.example');
  await open(page, 'Emulator');
  await page.getByRole('heading', { name: 'No packets pass through an emulator yet' }).waitFor();

  step('a loop is closed, judged, drawn, and its scenario is opened in the emulator');
  await open(page, 'Loop');
  await closesLoops(page);
  await clean(page, 'a closed loop');
  await open(page, 'Runs');
  await continuesFromLoops(page);

  step('every screen fits a telephone, in the dark as well');
  await page.setViewportSize({ width: 360, height: 740 });
  await page.getByLabel('Colours').selectOption('dark');
  for (const screen of SCREENS) {
    await open(page, screen);
    const wide = () => page.evaluate(() => document.documentElement.scrollWidth);
    // Charts follow the width when they are next drawn.
    let last = 0;
    await until(`${screen} fits`, async () => (last = await wide()) <= 360).catch(async () => {
      const found = await page.evaluate(() =>
        [...document.querySelectorAll('main *')]
          .filter((one) => one.getBoundingClientRect().right > 361 && one.getClientRects().length > 0)
          .map((one) => `${one.tagName}.${one.className}`)
          .slice(0, 12),
      );
      assert.fail(`${screen} is ${last} pixels wide: ${found.join(' ')}`);
    });
    if (screen === 'Runs') {
      const edges = await page.getByRole('button', { name: /^(Open|Delete) / }).evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right));
      assert(edges.length > 0 && edges.every((right) => right <= 360), `what is done with runs ends at ${edges.join(', ')}`);
    }
    await clean(page, `${screen}, dark and narrow`);
    if (['Measure', 'Runs', 'Benchmark'].includes(screen)) await shot(page, `narrow-${screen.toLowerCase()}`);
  }

  step('it fills a wall of 3840 pixels, with text that can be read');
  await page.setViewportSize({ width: 3840, height: 2160 });
  for (const screen of SCREENS) {
    await open(page, screen);
    assert((await page.evaluate(() => document.documentElement.scrollWidth)) <= 3840, screen);
  }
  assert((await page.evaluate(() => Number.parseFloat(getComputedStyle(document.documentElement).fontSize))) > 20);

  step('all of it is reached with the keyboard');
  await page.setViewportSize({ width: 1440, height: 900 });
  // A fresh page: the keyboard begins at its top. The session that the browser holds opens it.
  await page.goto('http://127.0.0.1:8800/');
  await page.getByText('connected to').waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to content');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Live' }).waitFor();

  assert.deepEqual(faults, [], 'the page has faults');
  await browser.close();
}

await conclude(run, 'the console does what it should');
