// The live page against a stand-in for the simulator's server.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startMock } from '../tools/mock_server.mjs';
import { difference, launch, open, pixels, results, skip, until } from './browser.mjs';

describe('live', { skip }, () => {
  let browser, mock, page, context, complaints;
  before(async () => {
    browser = await launch();
    mock = await startMock();
    ({ page, context, complaints } = await open(browser, `http://127.0.0.1:${mock.port}/`, {
      viewport: { width: 1000, height: 640 },
    }));
    await until('the badge', async () => /live/.test(await page.textContent('.badge')));
  });
  after(async () => {
    await browser?.close();
    await mock?.stop();
  });
  const sent = (type) => mock.commands.filter((command) => command.type === type);

  test('follows the simulation', async () => {
    const early = await pixels(page);
    const time = await page.evaluate(() => window.almond.time);
    await page.waitForTimeout(900);
    assert.ok((await page.evaluate(() => window.almond.time)) > time);
    assert.ok(difference(early, await pixels(page)) > 0.005);
    assert.ok((await page.locator('.plot').count()) >= 3);
    assert.deepEqual(complaints, []);
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.waitForTimeout(1500);
    await page.screenshot({ path: join(results, 'desktop_light_live.png') });
    await page.setViewportSize({ width: 1000, height: 640 });
  });

  test('pauses, steps, starts again and runs', async () => {
    await page.keyboard.press('Space');
    await until('paused', async () => /paused/.test(await page.textContent('.badge')));
    await page.keyboard.press('ArrowRight');
    await until('a step', () => sent('step').length === 1);
    await page.click('[aria-label="Start again"]');
    await until('a reset', () => sent('reset').length === 1);
    await page.keyboard.press('Space');
    await until('running', async () => /live/.test(await page.textContent('.badge')));
  });

  test('sliders and choices are sent', async () => {
    await page.locator('input[data-name="friction"]').evaluate((input) => {
      input.value = '0.9';
      input.dispatchEvent(new Event('input'));
    });
    await until('the slider', () => sent('set').some((each) => each.name === 'friction' && each.value === 0.9));
    await page.locator('input[data-name="tolerance"]').evaluate((input) => {
      input.value = '-6';
      input.dispatchEvent(new Event('input'));
    });
    await until('the log slider', () => sent('set').some((each) => each.name === 'tolerance' && each.value === 1e-6));
    await page.selectOption('select[data-name="solver"]', 'pgs');
    await until('the choice', () => sent('set').some((each) => each.name === 'solver' && each.value === 'pgs'));
  });

  test('what another page sets is shown here, too', async () => {
    const other = await open(browser, `http://127.0.0.1:${mock.port}/`);
    await until('the other page', async () => /live/.test(await other.page.textContent('.badge')));
    await page.waitForTimeout(600); // a slider that was just moved keeps its place
    await other.page.selectOption('select[data-name="solver"]', 'canal');
    await other.page.locator('input[data-name="friction"]').evaluate((input) => {
      input.value = '0.3';
      input.dispatchEvent(new Event('input'));
    });
    await until('the choice', async () => (await page.inputValue('select[data-name="solver"]')) === 'canal');
    await until('the slider', async () => (await page.inputValue('input[data-name="friction"]')) === '0.3');
    await other.context.close();
    await page.click("text=The scene's own values");
    await until('the defaults', () => sent('defaults').length === 1);
  });

  /** Where a body is on the screen, found by trying: the page's own picking decides. */
  async function bodyOnScreen() {
    mock.world.paused = true;
    await page.waitForTimeout(300);
    const box = await page.locator('#view').boundingBox();
    for (let y = 0.3; y < 0.8; y += 0.04)
      for (let x = 0.15; x < 0.85; x += 0.04) {
        const at = { x: box.x + x * box.width, y: box.y + y * box.height };
        await page.mouse.click(at.x, at.y);
        if (await page.isVisible('.selection')) return at;
      }
    throw new Error('no body found');
  }

  test('bodies are pulled: with ctrl, with the right button, and in drag mode', async () => {
    const at = await bodyOnScreen();
    const pull = async (button) => {
      mock.commands.length = 0;
      await page.mouse.move(at.x, at.y);
      await page.mouse.down({ button });
      await page.mouse.move(at.x + 60, at.y - 80, { steps: 5 });
      await until('the pulls', () => sent('drag').length >= 3);
      await page.waitForTimeout(250);
      if (button === 'right') await page.screenshot({ path: join(results, 'desktop_light_drag.png') });
      await page.mouse.up({ button });
      await until('the release', () => sent('release').length === 1);
      await page.waitForTimeout(1000); // until the body is back where it was
      const drags = sent('drag');
      assert.ok(drags.length >= 3, 'repeated while held');
      const { body, local, target } = drags.at(-1);
      assert.ok(Number.isInteger(body) && local.length === 3 && target.length === 3);
      assert.ok(Math.hypot(...local) < 0.3, 'the grip lies on the body');
      assert.ok(Math.hypot(...target.map((c, k) => c - drags[0].target[k])) > 0.05, 'the target moved');
      assert.equal(mock.commands.at(-1).type, 'release');
      assert.ok(drags[0].viewer && mock.commands.at(-1).viewer === drags[0].viewer, 'the page says whose hand it is');
    };
    const camera = await page.evaluate(() => window.almond.camera());
    await page.keyboard.down('Control');
    await pull('left');
    await page.keyboard.up('Control');
    await pull('right');
    await page.keyboard.press('d');
    await pull('left');
    await page.keyboard.press('d');
    assert.deepEqual(await page.evaluate(() => window.almond.camera()), camera, 'the camera stayed');
    mock.world.paused = false;
  });

  test('looks into the present step', async () => {
    await page.keyboard.press('i');
    await page.click('text=Look into the present step');
    await until('the traces', async () => (await page.locator('#inside .plot').count()) === 2);
    const [, step] = /step (\d+)/.exec(await page.textContent('#inside h2'));
    await page.waitForTimeout(300); // the simulation goes on meanwhile
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Save problem')]);
    assert.equal(download.suggestedFilename(), `mock_step${step}.npz`);
    assert.match(await readFile(await download.path(), 'utf8'), new RegExp(`step ${step}$`));
    mock.forget();
    await page.click('text=Save problem');
    await until('the failure', async () => /\S/.test(await page.textContent('#inside .failure')));
    complaints.length = 0; // the browser tells of the refusal, too
    await page.keyboard.press('i');
  });

  test('a hidden page gives its connection back, and goes on when it is seen again', async () => {
    const hide = (hidden) =>
      page.evaluate((value) => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
    const open = mock.streams.size;
    await hide(true);
    await until('the end of the stream', () => mock.streams.size === open - 1);
    await page.waitForTimeout(500);
    assert.equal(mock.streams.size, open - 1, 'and does not try again meanwhile');
    const time = await page.evaluate(() => window.almond.time);
    await hide(false);
    await until('it goes on', async () => (await page.evaluate(() => window.almond.time)) > time);
    assert.equal(mock.streams.size, open);
  });

  test('takes another scene when told', async () => {
    mock.changeScene('Another');
    await until('the title', async () => (await page.textContent('h1')) === 'Another');
  });

  test('comes back after the server went away, and after a reload', async () => {
    const { port } = mock;
    await mock.stop();
    await until('the loss', async () => /lost/.test(await page.textContent('.badge')));
    mock = await startMock(port, 'Back again');
    await until('the return', async () => /live/.test(await page.textContent('.badge')));
    await until('the new title', async () => (await page.textContent('h1')) === 'Back again');
    await page.evaluate(() => window.almond.camera({ position: [2, 2, 2], target: [0, 0, 0] }));
    await page.keyboard.press('k');
    await page.reload();
    await until('after reload', async () => /live/.test(await page.textContent('.badge')));
    const { position } = await page.evaluate(() => window.almond.camera());
    assert.deepEqual(
      position.map((c) => Number(c.toFixed(4))),
      [2, 2, 2],
    );
    assert.equal(await page.getAttribute('.tool-cones', 'aria-pressed'), 'true');
    await context.close();
  });

  test('on a phone', async () => {
    const phone = await open(browser, `http://127.0.0.1:${mock.port}/`, {
      viewport: { width: 390, height: 844 },
      colorScheme: 'dark',
      hasTouch: true,
      isMobile: true,
      deviceScaleFactor: 2,
    });
    await until('the badge', async () => /live/.test(await phone.page.textContent('.badge')));
    await phone.page.waitForTimeout(500);
    await phone.page.screenshot({ path: join(results, 'phone_dark_live.png') });
    await phone.page.tap('.tool-panel');
    assert.ok(await phone.page.isVisible('.drawer-close'));
    await phone.page.waitForTimeout(300);
    await phone.page.screenshot({ path: join(results, 'phone_dark_controls.png') });
    await phone.page.tap('.drawer-close');
    assert.ok(!(await phone.page.isVisible('#panel')));
    await phone.context.close();
  });
});
