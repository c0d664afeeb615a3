// How long the page's own script takes for one frame: poses, contacts, curves and the calls that draw them, without the
// drawing itself, which is waited for between frames and not counted. A graphics card draws such scenes in a few ms.
//
//   npm run frame-time -- replay.html ...
import { resolve } from 'node:path';
import { launch, open, ready, skip } from '../test/browser.mjs';

const frames = 100;

const pages = process.argv.slice(2);
if (!pages.length || skip) {
  console.error(skip || 'frame_time.mjs: expected replays, as almond run --replay writes them');
  process.exit(2);
}
const browser = await launch();
for (const file of pages) {
  const { page } = await open(browser, `file://${resolve(file)}#t=0`, { viewport: { width: 480, height: 480 } });
  await ready(page);
  const times = await page.evaluate((count) => {
    const { almond } = window;
    const gl = document.getElementById('view').getContext('webgl2');
    const pixel = new Uint8Array(4);
    const times = [];
    for (let i = 0; i < count; ++i) {
      const t = almond.begin + (almond.duration * (i + 0.5)) / count;
      const began = performance.now();
      almond.seek(t);
      almond.render();
      times.push(performance.now() - began);
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel); // until it is drawn
    }
    return times.slice(count / 10).sort((a, b) => a - b); // the first ones compile
  }, frames);
  const at = (share) => times[Math.floor(share * (times.length - 1))].toFixed(1);
  console.log(`${file}: median ${at(0.5)} ms, p95 ${at(0.95)} ms, max ${at(1)} ms of script per frame`);
  await page.context().close();
}
await browser.close();
