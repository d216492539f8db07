// What the programs that drive a browser against the console share: the server, waiting, the token.
//
// They run within host A of a laboratory (`scripts/console` makes it): the emulator takes the ports of host E, and host B
// answers.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

export const romer = process.env.ROMER;
export const prefix = process.env.ROMER_PREFIX;
assert(romer && prefix, '`scripts/console` starts this, with ROMER and ROMER_PREFIX');
// Generous: the machine may have much else to do.
export const PATIENCE = 90_000;
export const TOKEN = '0123456789abcdef0123456789abcdef0123456789abcdef';
export const ADDRESS = '127.0.0.1:8800';
// Pictures show where runs are stored: then it is a folder of a fixed name, which must not exist yet.
const PICTURED = '/srv/lab';
if (process.env.ROMER_SCREENSHOTS) mkdirSync(PICTURED);
const folder = process.env.ROMER_SCREENSHOTS ? PICTURED : mkdtempSync(join(tmpdir(), 'romer-console-'));
writeFileSync(join(folder, 'token'), `${TOKEN}\n`, { mode: 0o600 });
const started = [];

export function start(arguments_) {
  const child = spawn(romer, arguments_, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, XDG_STATE_HOME: folder, HOME: folder },
  });
  started.push(child);
  let text = '';
  const line = new Promise((resolve, reject) => {
    child.stdout.on('data', (piece) => {
      text += piece;
      if (text.includes('\n')) resolve(text);
    });
    child.on('exit', (code) => reject(new Error(`romer ${arguments_.join(' ')} ended with ${code}`)));
  });
  line.catch(() => undefined);
  return { child, line };
}

/** The console, at [`ADDRESS`]. */
export const serve = () => start(['console', '--listen', ADDRESS, '--token-file', join(folder, 'token')]);

export const browse = () => chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });

export async function until(what, condition) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Does it, ends what was started, and the program with it: exit code 1 where it failed. */
export async function conclude(run, words) {
  let code = 0;
  try {
    await run();
    console.log(words);
  } catch (error) {
    console.error(error);
    code = 1;
  }
  for (const child of started) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
  process.exit(code);
}
