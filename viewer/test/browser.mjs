// What the tests share: a browser if there is one, pages from files, and a look at the pixels.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { page as makePage } from '../tools/encode.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
export const results = join(root, 'test-results');
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome', 'microsoft-edge'];

function findBrowser() {
  if (process.env.CHROMIUM) return existsSync(process.env.CHROMIUM) ? process.env.CHROMIUM : null;
  for (const name of names) {
    try {
      return execFileSync('which', [name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    } catch {
      // not this one
    }
  }
  return null;
}

const path = findBrowser();
/** For node:test: a sentence where the tests cannot run here, otherwise false. */
export const skip = path ? false : 'no Chromium or Chrome found: install one, or name it in CHROMIUM';

export function launch() {
  // Software rendering, so that the tests need no graphics card.
  const args = ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--no-sandbox'];
  return chromium.launch({ executablePath: path, args });
}

/** Writes a page with these replays and returns its address. */
export async function write(name, blobs) {
  await mkdir(results, { recursive: true });
  const file = join(results, name);
  await writeFile(file, makePage(await readFile(join(root, 'dist', 'index.html'), 'utf8'), blobs));
  return `file://${file}`;
}

/** Opens a page and keeps account of its complaints and of what it fetches. */
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 760, height: 520 }, ...options });
  const page = await context.newPage();
  const complaints = [];
  const requests = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith('data:')) requests.push(request.url());
  });
  await page.goto(url);
  return { page, context, complaints, requests };
}

export const ready = (page) => page.evaluate(() => window.almond.ready);

/** Waits for a condition; software rendering can be slow. */
export async function until(what, check, limit = 20000) {
  const end = Date.now() + limit;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`${what}: not within ${limit} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A small fingerprint of the picture: shrunk, the colours of its pixels. */
export function pixels(page) {
  return page.evaluate(() => {
    window.almond.render();
    const source = document.getElementById('view');
    const canvas = document.createElement('canvas');
    canvas.width = 120;
    canvas.height = 80;
    const g = canvas.getContext('2d');
    g.drawImage(source, 0, 0, canvas.width, canvas.height);
    return Array.from(g.getImageData(0, 0, canvas.width, canvas.height).data);
  });
}

/** The share of pixels that differ visibly. */
export function difference(a, b) {
  let count = 0;
  for (let i = 0; i < a.length; i += 4)
    if (Math.abs(a[i] - b[i]) + Math.abs(a[i + 1] - b[i + 1]) + Math.abs(a[i + 2] - b[i + 2]) > 24) ++count;
  return count / (a.length / 4);
}

/** How many different colours there are: a blank canvas has one, a gradient few. */
export function colors(a) {
  const seen = new Set();
  for (let i = 0; i < a.length; i += 4) seen.add((a[i] >> 3) * 4096 + (a[i + 1] >> 3) * 64 + (a[i + 2] >> 3));
  return seen.size;
}
