// What a field does with text that comes key by key: `fill` of a browser's driver would put all of it there at once.

import assert from 'node:assert/strict';
import { until } from './common.mjs';

/** Types it in place of what stands there, and leaves the focus where it is. */
export async function type(page, field, text) {
  await field.click();
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Backspace');
  await page.keyboard.type(text);
}

const draft = (page) => page.evaluate(() => JSON.parse(localStorage.getItem('romer.scenario')).scenario);
const isInvalid = async (field) => (await field.getAttribute('aria-invalid')) === 'true';

/** The screen is the emulator's, and its card of a → b is `there`; what is typed is taken back at the end. */
export async function numbersStay(page, there) {
  const loss = there.locator('details.stage', { hasText: 'Loss' }).first();
  await there.getByText('Loss', { exact: true }).first().click();
  const model = loss.getByLabel('Model', { exact: true }).first();
  /** What is typed stands there until the focus goes, then the number that it is; and that number is what is asked for. */
  async function stays(field, text, of, number, after = String(number)) {
    await type(page, field, text);
    await until(`${text} is ${number}`, async () => of(await draft(page)) === number);
    assert.equal(await field.inputValue(), text);
    await field.blur();
    await until(`${text} stands as ${after}`, async () => (await field.inputValue()) === after);
  }
  /** What is wrong stays and is marked, with and without the focus. */
  async function isRefused(field, text) {
    await type(page, field, text);
    await until(`${text} is marked`, () => isInvalid(field));
    await field.blur();
    await until(`${text} is marked once the focus is gone`, () => isInvalid(field));
    assert.equal(await field.inputValue(), text);
  }
  await model.selectOption('bernoulli');
  const probability = loss.getByLabel('Probability', { exact: true });
  const ofLoss = (scenario) => scenario.a_to_b?.loss?.probability;
  for (const [text, number] of [['.01', 0.01], ['.05', 0.05], ['1e-10', 1e-10], ['1e-05', 1e-5], ['0.010', 0.01], ['1', 1]]) await stays(probability, text, ofLoss, number);
  await stays(probability, '0.5 %', ofLoss, '0.5 %');
  for (const text of ['-0.5', '1e', '12', '0,05', '0x1', '1e-400']) await isRefused(probability, text);
  await model.selectOption('correlated');
  await stays(loss.getByLabel('Probability', { exact: true }), '.5', ofLoss, 0.5);
  for (const [text, number] of [['-0.5', -0.5], ['-.25', -0.25]]) await stays(loss.getByLabel('Correlation'), text, (scenario) => scenario.a_to_b?.loss?.correlation, number);
  await isRefused(loss.getByLabel('Correlation'), '-1.5');
  await model.selectOption('markov');
  const cell = loss.getByLabel('From state 1 to 1');
  for (const [text, number] of [['.05', 0.05], ['1e-10', 1e-10], ['0.970', 0.97]]) await stays(cell, text, (scenario) => scenario.a_to_b?.loss?.transition?.[0][0], number);
  for (const text of ['-0.5', '1/3']) await isRefused(cell, text);
  await stays(cell, '.97', (scenario) => scenario.a_to_b?.loss?.transition?.[0][0], 0.97);
  const lasts = loss.getByLabel('Duration of state 2');
  await stays(lasts, '1e3', (scenario) => scenario.a_to_b?.loss?.state?.[1].duration, 1000);
  await isRefused(lasts, '1.5');
  await stays(lasts, '25', (scenario) => scenario.a_to_b?.loss?.state?.[1].duration, 25);
  // On the way to 12 states stands 1, which costs none of them.
  await type(page, loss.getByLabel('States', { exact: true }), '12');
  await loss.getByLabel('From state 12 to 11').waitFor();
  assert.deepEqual([await lasts.inputValue(), await loss.getByLabel('From state 1 to 2').inputValue()], ['25', '0.03']);
  await model.selectOption('none');
  const seeds = [0, 1, 2, 3, 4, 5].map((place) => page.getByLabel(`Seed ${place + 1} of 6`, { exact: true }));
  await isRefused(seeds[5], '99999999999999999999');
  await isRefused(seeds[1], '4294967296');
  await until('each of several that are wrong is marked', async () => (await isInvalid(seeds[5])) && (await isInvalid(seeds[1])) && !(await isInvalid(seeds[0])));
  for (const place of [5, 1]) await seeds[place].fill('0');
}
