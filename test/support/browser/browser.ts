// The control page in a headless Chromium, beside a shop and a Redis of the test file's own.
import { existsSync } from 'node:fs';
import { afterAll, expect } from '@jest/globals';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { startOwnRedis, type OwnRedis } from '../redis/own-redis.js';
import { buildShop, shopData, startProcess, type ShopProcess } from './shop.js';
import { patiently } from '../faults/wait.js';

const ARGS =
  '--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';

/** Host names that lead to this machine, for apps and for other sites. */
const NAMES = '--host-resolver-rules=MAP *.internal 127.0.0.1, MAP *.example 127.0.0.1';

/** A promise, so that pages which open at once share the browser. */
let browser: Promise<Browser> | undefined;

afterAll(async () => (await browser)?.close());

/** A running shop, and its replies to calls. */
export class RunningShop {
  process!: ShopProcess;
  url!: string;
  /** The printed link, which lets a browser in. */
  link!: string;

  constructor(
    readonly redis: OwnRedis,
    private readonly env: Record<string, string>,
    private readonly flags: string[],
  ) {}

  /** Starts the shop, or restarts a killed shop at the same address. */
  async start(): Promise<void> {
    const port = this.url === undefined ? '0' : new URL(this.url).port;
    const args = ['examples/shop/dist/main.js', '--port', port, ...this.flags];
    this.process = startProcess('node', args, this.env);
    const [link, url] = await this.process.prints(/The shop is open: (\S+)\/\?token=\S+/);
    this.url = url!;
    this.link = link.replace(/^.*: /, '');
  }

  get<Reply>(path: string): Promise<Reply> {
    return this.ask(path);
  }

  post<Reply>(path: string, form: Record<string, string> = {}): Promise<Reply> {
    return this.ask(path, { method: 'POST', body: new URLSearchParams(form) });
  }

  /** Returns the ids of the jobs. */
  async enqueue(form: Record<string, string>): Promise<string[]> {
    return (await this.post<{ enqueued: string[] }>('/enqueue', form)).enqueued;
  }

  private async ask<Reply>(path: string, request?: RequestInit): Promise<Reply> {
    const response = await fetch(this.url + path, request);
    expect([path, response.status]).toEqual([path, 200]);
    return (await response.json()) as Reply;
  }
}

/** Starts a shop whose claims expire soon; `flags` are those of its command line. */
export async function startShop(flags: string[] = []): Promise<RunningShop> {
  buildShop();
  // Writes survive a restart.
  const redis = await startOwnRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  const seeded = flags.includes('--seeds') && { REDIS_THROWAWAY: 'yes' };
  const env = { SHOP_DATA: shopData(), REDIS_URL: redis.url, ...seeded };
  const defaults = ['--visibility-ms', '2000', '--reclaim-ms', '500', '--workers', '2', '--first-jobs'];
  const shop = new RunningShop(redis, env, [...defaults, ...flags]);
  await shop.start();
  return shop;
}

export interface ControlPage extends Page {
  /** Errors of the page's scripts, and requests that its policy refused. */
  complaints: string[];
}

/** Opens the control page and waits until it is live. */
export async function openPage(url: string, options: BrowserContextOptions = {}): Promise<ControlPage> {
  const page = await openAny(url, options);
  await says(page, '#connection', 'Live');
  return page;
}

/** Opens a page in a context of its own. */
export async function openAny(url: string, options: BrowserContextOptions = {}): Promise<ControlPage> {
  browser ??= chromium.launch({ executablePath: chromiumPath(), args: [...ARGS.split(' '), NAMES] });
  const context = await (await browser).newContext({ viewport: { width: 1360, height: 1000 }, ...options });
  const page = Object.assign(await context.newPage(), { complaints: [] as string[] });
  page.setDefaultTimeout(20_000);
  page.on('pageerror', (error) => page.complaints.push(error.message));
  page.on('console', (message) => {
    // The browser logs every response other than 200; the tests look at the page's reaction.
    const answered = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !answered) page.complaints.push(message.text());
  });
  await page.goto(url);
  return page;
}

/** Waits until an element's text matches. Playwright itself looks twice a second, and may miss what one snapshot shows. */
export async function says(page: Page, selector: string, text: string | RegExp, timeoutMs = 20_000): Promise<void> {
  const matches = page.locator(selector).filter({ hasText: text }).first();
  try {
    await patiently(() => matches.isVisible(), { timeoutMs, what: `${selector} says ${text}` });
  } catch (error) {
    const found = await page.locator(selector).allTextContents();
    throw new Error(`${(error as Error).message}; found ${JSON.stringify(found)}`, { cause: error });
  }
}

/** Waits until this many worker processes run without jobs. */
export async function workersRun(page: Page, count: number): Promise<void> {
  const running = page.locator('#workers > li[data-state=running]');
  await patiently(async () => (await running.count()) === count, { timeoutMs: 60_000 });
}

/** Returns the number of a tile: `Completed`. */
export async function numberOf(page: Page, name: string): Promise<number> {
  const text = await page.locator('#numbers div', { hasText: name }).locator('dd').textContent();
  return Number(text!.replaceAll(',', ''));
}

/** Returns the texts in a job's row, by column. */
export async function rowOf(page: Page, list: string, id: string) {
  const row = page.locator(`.${list} .rows li[data-job="${id}"]`);
  const [label, attempts, outcome] = await Promise.all(
    ['label', 'attempts', 'outcome'].map((part) => row.locator(`.${part}`).textContent()),
  );
  const bad = await row.locator('.outcome').evaluate((node) => node.classList.contains('bad'));
  return { label, attempts, outcome, bad };
}

/** Presses Reset and confirms. */
export async function reset(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Reset' }).click();
  await page.getByRole('button', { name: 'Delete and stop' }).click();
}

/** Sets a slider as a hand on the arrow keys does, in one go. */
export async function slide(page: Page, id: string, value: number): Promise<void> {
  await page.locator(`#${id}`).fill(String(value));
}

function chromiumPath(): string {
  const path = process.env.CHROMIUM_PATH || '/usr/bin/chromium';
  if (!existsSync(path)) {
    throw new Error(`No Chromium at ${path}: apt-get install chromium, or set CHROMIUM_PATH.`);
  }
  return path;
}
