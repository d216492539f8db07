// A closed loop through its screen: what is refused, the phases, the verdict, and the ways on from there.

import assert from 'node:assert/strict';
import { until } from './common.mjs';

/** Closes the loop of the laboratory's path, and opens its scenario in the emulator. */
export async function closesLoops(page) {
  const screen = page.locator('section[aria-label=Loop]');
  const start = screen.getByRole('button', { name: 'Start', exact: true });
  const target = screen.getByLabel('Target', { exact: true });
  await target.fill('198.18.0.3 198.18.0.4');
  await start.click();
  await screen.locator('.field', { has: page.getByText('Target', { exact: true }) }).getByText('name one host').waitFor();
  assert.equal(await target.getAttribute('aria-invalid'), 'true');
  await target.fill('198.18.0.3');
  await screen.getByLabel('Duration', { exact: true }).fill('5s');
  await start.click();
  await screen.getByRole('listitem').filter({ hasText: 'Measure the path' }).waitFor();
  assert(await start.isDisabled(), 'one loop runs at a time');
  const job = await until('the loop is closed', () => page.evaluate(async () => {
    const [one] = await (await fetch('/api/loops')).json();
    return one && one.state !== 'running' ? one : null;
  }));
  assert.equal(job.state, 'done', JSON.stringify(job));
  await screen.getByText(/^(The emulation (reproduces|does not reproduce) the path\.|Undecided: )/).waitFor();
  const figures = screen.getByRole('region', { name: 'Figures of the loop' });
  for (const direction of ['forward', 'reverse']) await figures.getByRole('row', { name: new RegExp(`^delay median ${direction} `) }).waitFor();
  const titles = () => screen.locator('[data-loop-charts] figcaption strong').allInnerTexts();
  await until('both runs are drawn', async () => {
    const drawn = await titles();
    return ['Delay, forward', 'Delay over time, forward', 'Delay, reverse', 'Delay over time, reverse'].every((title) => drawn.includes(title));
  });
  await screen.frameLocator('iframe').getByRole('heading', { name: 'Path and emulation' }).waitFor();
  for (const name of ['Run of the path', 'Run of the emulation', 'Report in a tab']) {
    const address = await screen.getByRole('link', { name, exact: true }).getAttribute('href');
    assert.equal(await page.evaluate(async (at) => (await fetch(at)).status, address), 200, `${name}: ${address}`);
  }
}

/** The loop is among the runs, with its verdict; its scenario becomes the draft of the emulator. */
export async function continuesFromLoops(page) {
  const runs = page.locator('section[aria-label=Runs]');
  await runs.getByRole('button', { name: 'Refresh' }).click();
  await runs.getByLabel('Filter', { exact: true }).fill('loop');
  const entry = runs.getByRole('row', { name: /198\.18\.0\.3/ }).first();
  // The words for narrow screens are there as well, and hidden.
  await until('the list has the verdict', async () => /\b(not reproduced|reproduced|undecided)\b/.test(await entry.innerText()));
  await entry.getByRole('button', { name: /^Open / }).click();
  await runs.getByRole('button', { name: 'Open the scenario in the emulator' }).click();
  await page.getByRole('heading', { level: 1, name: 'Emulator' }).waitFor();
  await until('the draft is the scenario of the loop', () => page.evaluate(() => {
    const { scenario } = JSON.parse(localStorage.getItem('romer.scenario') ?? '{}');
    return Boolean(scenario && (scenario.flow?.length > 0 || scenario.a_to_b));
  }));
  await page.getByRole('navigation').getByRole('link', { name: 'Runs' }).click();
  await runs.getByLabel('Filter', { exact: true }).fill('');
}
