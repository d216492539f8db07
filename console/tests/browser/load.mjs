// What the console costs: the server's processor time and the page's own, with one page of live charts, and whether fifty
// pages at once miss a second: some of them in a browser, on their live charts, the others readers of the same stream of
// events. Prints figures beside each other; judges one thing only, that each page heard every second that there was. Writes
// them as console.json and console.md into the folder ROMER_RESULTS, where that is given and it measured a minute or more.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import { ADDRESS, browse, conclude, prefix, serve, TOKEN, until } from './common.mjs';

const SECONDS = Number(process.env.ROMER_SECONDS ?? 60);
const PAGES = 50;
/** How many of them a browser shows. */
const SHOWN = 5;
const RESULTS = process.env.ROMER_RESULTS;
const rest = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** Seconds of a core that a process has used. */
function used(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Listens to the events, and gives what came when `end` is called. */
function listen() {
  const ticks = [];
  let missed = 0;
  let text = '';
  const call = request(`http://${ADDRESS}/api/events`, { headers: { Authorization: `Bearer ${TOKEN}` } }, (answer) => {
    answer.setEncoding('utf8');
    answer.on('data', (piece) => {
      text += piece;
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        if (/^event: missed$/m.test(event)) missed++;
        const data = /^event: tick$/m.test(event) ? /^data: (.*)$/m.exec(event) : null;
        if (data) ticks.push(JSON.parse(data[1]).at_ms);
      }
    });
    answer.on('error', () => undefined);
  });
  call.on('error', () => undefined);
  call.end();
  return () => {
    call.destroy();
    return { ticks, missed };
  };
}

/** A page of the browser on its live charts, and what it hears, as `listen` gives it. */
async function watch(context, url) {
  const page = await context.newPage();
  await page.addInitScript(() => {
    globalThis.heard = { ticks: [], missed: 0 };
    const Source = globalThis.EventSource;
    globalThis.EventSource = class extends Source {
      constructor(...given) {
        super(...given);
        this.addEventListener('tick', (event) => globalThis.heard.ticks.push(JSON.parse(event.data).at_ms));
        this.addEventListener('missed', () => globalThis.heard.missed++);
      }
    };
  });
  await page.goto(url);
  await page.getByText('connected to').waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'Live' }).click();
  await until('curves are drawn', () => page.locator('.uplot').count().then((count) => count >= 6));
  return () => page.evaluate(() => globalThis.heard);
}

/** The figures beside those of the other parts. */
function publish(found) {
  const percent = (share) => `${(share * 100).toFixed(2)} %`;
  const { machine, shares } = found;
  const page = `# What the console costs

Written by \`make bench\`; [README.md](../README.md) says how it is measured and how to read it.

|  |  |
| --- | --- |
| software | ${machine.software} |
| kernel | ${machine.kernel} |
| processor | ${machine.cores} cores, ${machine.processor} |
| looked at | ${found.seconds} s for each line |
| load average before | ${machine.load_before.toFixed(2)} |

## Processor time, of one core

| | share |
| --- | ---: |
| server and emulator, no page | ${percent(shares.alone)} |
| with one page of live charts | ${percent(shares.one_page)} |
| with ${found.pages} pages | ${percent(shares.many_pages)} |
| the page's own tasks | ${percent(shares.page_tasks)} |
| of which scripts | ${percent(shares.page_scripts)} |

## ${found.pages} pages at once, ${found.pages_in_browser} of them in a browser

| | |
| --- | ---: |
| seconds from the first that all heard to the last | ${found.told.expected} |
| of these, told to the page that heard fewest | ${found.told.fewest} |
| told to the page that heard most | ${found.told.most} |
| pages that were told of missed events | ${found.told.pages_that_missed} |
`;
  writeFileSync(join(RESULTS, 'console.json'), `${JSON.stringify(found, null, 2)}\n`);
  writeFileSync(join(RESULTS, 'console.md'), page);
}

async function run() {
  const load = loadavg()[0];
  const server = serve();
  const url = /http:\S+/.exec(await server.line)[0];
  const pid = server.child.pid;
  const answer = await fetch(`http://${ADDRESS}/api/emulation`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ a: `${prefix}E/e0`, b: `${prefix}E/e1`, scenario: { toml: '[a_to_b.delay]\nfixed = "5ms"\n' } }),
  });
  assert.equal(answer.status, 201, await answer.text());

  await rest(2);
  let before = used(pid);
  await rest(SECONDS);
  const alone = (used(pid) - before) / SECONDS;

  const browser = await browse();
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  await page.goto(url);
  await page.getByText('connected to').waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'Live' }).click();
  await until('curves are drawn', () => page.locator('.uplot').count().then((count) => count >= 6));
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const tasks = async () => Object.fromEntries((await session.send('Performance.getMetrics')).metrics.map((one) => [one.name, one.value]));
  const [from, start] = [await tasks(), used(pid)];
  await rest(SECONDS);
  const to = await tasks();
  const one = (used(pid) - start) / SECONDS;
  await page.close();

  const shown = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const pages = [];
  for (let number = 0; number < SHOWN; number++) pages.push(await watch(shown, number === 0 ? url : `http://${ADDRESS}/`));
  for (let number = SHOWN; number < PAGES; number++) pages.push(listen());
  await rest(2);
  const begun = Date.now();
  before = used(pid);
  await rest(SECONDS);
  const many = (used(pid) - before) / SECONDS;
  const ended = Date.now();
  const heard = await Promise.all(pages.map((end) => end()));
  await browser.close();
  // The same seconds for all: from what the last one heard first to what the first one heard last.
  // What each is told of the past at its beginning does not count.
  const first = Math.max(begun, ...heard.map((one) => one.ticks[0]));
  const last = Math.min(ended, ...heard.map((one) => one.ticks.at(-1)));
  const within = heard.map((one) => one.ticks.filter((at) => at >= first && at <= last).length);

  // A second that no page heard leaves a gap in all of them.
  const seen = heard[0].ticks.filter((at) => at >= first && at <= last);
  const expected = Math.round((seen.at(-1) - seen[0]) / 1000) + 1;
  const about = await (await fetch(`http://${ADDRESS}/api/about`, { headers: { Authorization: `Bearer ${TOKEN}` } })).json();
  const share = (key) => (to[key] - from[key]) / SECONDS;
  const found = {
    schema: 'romer/console-cost/1',
    machine: { measured: new Date().toISOString(), software: about.software, kernel: release(), processor: cpus()[0].model, cores: cpus().length, load_before: load },
    seconds: SECONDS,
    pages: PAGES,
    pages_in_browser: SHOWN,
    shares: { alone, one_page: one, many_pages: many, page_tasks: share('TaskDuration'), page_scripts: share('ScriptDuration') },
    told: { expected, fewest: Math.min(...within), most: Math.max(...within), pages_that_missed: heard.filter((one) => one.missed > 0).length },
  };

  const percent = (share) => `${(share * 100).toFixed(2)} %`;
  console.log(`over ${SECONDS} s each, of one core, the emulator's threads included`);
  console.log(`  server and emulator, no page      ${percent(alone)}`);
  console.log(`  with one page of live charts      ${percent(one)}`);
  console.log(`  with ${PAGES} pages, ${SHOWN} in a browser    ${percent(many)}`);
  console.log(`  the page's own tasks              ${percent(found.shares.page_tasks)}, scripts ${percent(found.shares.page_scripts)}`);
  console.log(`  seconds told to ${PAGES} pages: ${found.told.fewest} to ${found.told.most} of ${expected}; pages that were told of missed events: ${heard.filter((one) => one.missed > 0).length}`);
  assert(expected >= SECONDS - 2, `the seconds told are ${expected} of ${SECONDS}: some were told to nobody`);
  assert.deepEqual([Math.min(...within), Math.max(...within)], [expected, expected], 'a second was missed');
  assert(heard.every((one) => one.missed === 0), 'a page was told that it missed events');
  if (RESULTS && SECONDS >= 60) publish(found);
}

await conclude(run, 'no page missed a second');
