// The decoder against the writer of tools/encode.mjs: every number comes back, and damage is named.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { blob, Sections } from '../tools/encode.mjs';
import { pile } from '../tools/sample.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
let unpackBase64, unpackBytes, Clip, sample;

before(async () => {
  const out = join(root, 'test-results', 'decoder.mjs');
  await mkdir(dirname(out), { recursive: true });
  const contents = "export * from './unpack'; export { Clip } from './clip';";
  await build({
    stdin: { contents, resolveDir: join(root, 'src'), loader: 'ts' },
    bundle: true,
    format: 'esm',
    outfile: out,
    logLevel: 'error',
  });
  ({ unpackBase64, unpackBytes, Clip } = await import(pathToFileURL(out)));
  sample = pile({ seconds: 0.6 });
});

const near = (a, b, tolerance) => assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);

test('poses, contacts and series come back as they were written', async () => {
  const replay = await unpackBase64(gzipSync(sample.blob).toString('base64'));
  const { frames, contacts, series, header } = sample;
  assert.equal(replay.frames, frames.step.length);
  assert.deepEqual(Array.from(replay.step), frames.step);
  assert.deepEqual(Array.from(replay.time), frames.time);
  frames.p.forEach((value, i) => near(replay.position[i] * replay.positionScale, value, 0.6e-5));
  frames.q.forEach((value, i) => near(replay.quaternion[i] / 32767, value, 1 / 32767));
  assert.deepEqual(Array.from(replay.contactStart), contacts.start);
  contacts.force.forEach((value, i) => near(replay.contacts.force[i], value, 1e-6 * Math.abs(value)));
  contacts.normal.forEach((value, i) => near(replay.contacts.normal[i], value, 1 / 32767));
  assert.deepEqual(Array.from(replay.contacts.mode), contacts.mode);
  assert.deepEqual(
    replay.series.map((each) => each.name),
    header.series.map((each) => each.name),
  );
  assert.equal(replay.series[0].values.length, series.time.length);
  assert.equal(new TextDecoder().decode(replay.inside[0].data).slice(0, 2), 'PK');
});

test('differences wrap around the integer range', async () => {
  const values = [2147483000, -2147483000, 5, -32768, 32767, 0];
  const sections = new Sections();
  const one = (type, list, options) => sections.add(type, list, options);
  const header = {
    bodies: [{ name: 'a', parent: -1, mass: 1, com: [0, 0, 0] }],
    frames: {
      count: 2,
      step: one('u32', [0, 1]),
      time: one('f64', [0, 1]),
      position: one('i32', values, { delta: 3, shuffle: true }),
      quaternion: one('i16', [32767, 0, 0, 0, -32767, 0, 0, 1], { delta: 4, shuffle: true }),
    },
  };
  const replay = await unpackBytes(new Uint8Array(blob(header, sections)));
  assert.deepEqual(Array.from(replay.position), values);
  assert.deepEqual(Array.from(replay.quaternion), [32767, 0, 0, 0, -32767, 0, 0, 1]);
});

test('between frames bodies go straight and turn the short way', async () => {
  const sections = new Sections();
  const half = Math.SQRT1_2;
  const header = {
    bodies: [{ name: 'a', parent: -1, mass: 1, com: [0, 0, 0] }],
    frames: {
      count: 2,
      step: sections.add('u32', [0, 1]),
      time: sections.add('f64', [0, 2]),
      position: sections.add('i32', [0, 0, 0, 4, 0, -2], { scale: 1e-5 }),
      // The second is the turn by 90 degrees about z, written with the other sign.
      quaternion: sections.add('i16', [1, 0, 0, 0, -half, 0, 0, -half], { scale: 1 / 32767 }),
    },
  };
  const clip = new Clip(await unpackBytes(new Uint8Array(gzipSync(blob(header, sections)))));
  const p = new Float32Array(3);
  const q = new Float32Array(4);
  clip.pose(1, p, q);
  [2, 0, -1].forEach((value, i) => near(p[i], value, 1e-5));
  const sign = Math.sign(q[0]);
  [Math.cos(Math.PI / 8), 0, 0, Math.sin(Math.PI / 8)].forEach((value, i) => near(sign * q[i], value, 1e-4));
});

test('damage is refused with a reason', async () => {
  const packed = gzipSync(sample.blob).toString('base64');
  const bytes = (change) => {
    const copy = Buffer.from(sample.blob);
    return new Uint8Array(change(copy) ?? copy);
  };
  const cases = [
    [() => unpackBase64(packed.slice(0, packed.length / 2)), /incomplete or damaged/],
    [() => unpackBase64(`${packed.slice(0, 400)}!!${packed.slice(402)}`), /not base64/],
    [() => unpackBase64('bm90IGd6aXA='), /incomplete or damaged/],
    [() => unpackBytes(bytes((b) => void b.write('nonsense'))), /does not begin with "almondR1"/],
    [() => unpackBytes(bytes((b) => void b.write('almondR9'))), /version 9/],
    [() => unpackBytes(bytes((b) => b.subarray(0, 40))), /cut off or damaged/],
    [() => unpackBytes(bytes((b) => b.subarray(0, b.length - 4000))), /cut off or damaged/],
    [() => unpackBytes(bytes((b) => void b.write('x', 12))), /not valid JSON/],
    [() => unpackBytes(new Uint8Array(0)), /not an Almond replay/],
  ];
  for (const [run, pattern] of cases) await assert.rejects(run, pattern);
});
