// Sample replays without the simulator: `node tools/sample.mjs [folder]` writes pages to look at and to test with.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { blob, page, Sections } from './encode.mjs';
import { dice, fill, simulate } from './pile.mjs';

/** A lumpy stone: a refined icosahedron whose corners were moved in and out. */
function stone(radius, roll) {
  const t = (1 + Math.sqrt(5)) / 2;
  let points = [];
  for (const s of [-1, 1]) for (const r of [-t, t]) points.push([0, s, r], [s, r, 0], [r, 0, s]);
  points = points.map((p) => p.map((c) => c / Math.hypot(...p)));
  const edge = Math.min(...points.slice(1).map((p) => Math.hypot(...p.map((c, k) => c - points[0][k])))) * 1.01;
  const near = (a, b) => Math.hypot(...points[a].map((c, k) => c - points[b][k])) < edge;
  let triangles = [];
  for (let a = 0; a < 12; ++a)
    for (let b = a + 1; b < 12; ++b)
      for (let c = b + 1; c < 12; ++c) if (near(a, b) && near(b, c) && near(a, c)) triangles.push([a, b, c]);
  const middle = new Map();
  const between = (a, b) => {
    const key = Math.min(a, b) * 1000 + Math.max(a, b);
    if (!middle.has(key)) {
      const m = points[a].map((c, k) => c + points[b][k]);
      middle.set(key, points.push(m.map((c) => c / Math.hypot(...m))) - 1);
    }
    return middle.get(key);
  };
  triangles = triangles.flatMap(([a, b, c]) => {
    const [x, y, z] = [between(a, b), between(b, c), between(c, a)];
    return [
      [a, x, z],
      [x, b, y],
      [z, y, c],
      [x, y, z],
    ];
  });
  points = points.map((p) => p.map((c) => c * radius * (0.82 + 0.3 * roll())));
  triangles = triangles.map(([a, b, c]) => {
    const [p, q, r] = [points[a], points[b], points[c]];
    const u = q.map((x, k) => x - p[k]);
    const v = r.map((x, k) => x - p[k]);
    const outward =
      (u[1] * v[2] - u[2] * v[1]) * p[0] + (u[2] * v[0] - u[0] * v[2]) * p[1] + (u[0] * v[1] - u[1] * v[0]) * p[2];
    return outward > 0 ? [a, b, c] : [a, c, b];
  });
  return { points, triangles };
}

/** The falling pile; `variant` 1 slides more and says so, `residuals: false` tells none, as other engines. */
export function pile({ variant = 0, seconds = 2.5, residuals: told = true } = {}) {
  const roll = dice(11);
  const mu = variant ? 0.15 : 0.7;
  const rock = stone(0.1, roll);
  const kinds = [
    ['box', [0.1, 0.07, 0.06]],
    ['sphere', [0.09]],
    ['capsule', [0.055, 0.09]],
    ['cylinder', [0.08, 0.09]],
    ['cone', [0.1, 0.1]],
    ['ellipsoid', [0.13, 0.08, 0.08]],
    ['mesh', []],
  ];
  const bodies = Array.from({ length: 21 }, (_, i) => {
    const [kind, size] = kinds[i % kinds.length];
    const q = [roll() - 0.5, roll() - 0.5, roll() - 0.5, roll() - 0.5];
    const n = Math.hypot(...q);
    const angle = (2 * Math.PI * ((i % 7) + 0.5 * Math.floor(i / 7))) / 6;
    const layer = Math.floor(i / 7);
    const out = i % 7 ? 0.27 + 0.04 * roll() : 0;
    return {
      name: `${kind}${Math.floor(i / kinds.length)}`,
      kind,
      size,
      mass: 0.4 + 0.6 * roll(),
      balls: fill(kind, size, kind === 'mesh' ? rock.points : []),
      p: [out * Math.cos(angle), out * Math.sin(angle), 0.22 + 0.3 * layer + 0.06 * roll()],
      q: q.map((c) => c / n),
      w: [4 * (roll() - 0.5), 4 * (roll() - 0.5), 4 * (roll() - 0.5)],
    };
  });

  const sections = new Sections();
  const geoms = [
    {
      name: 'floor',
      body: -1,
      role: 'both',
      kind: 'plane',
      size: [],
      position: [0, 0, 0],
      quaternion: [1, 0, 0, 0],
      color: null,
    },
  ];
  const geomOf = new Map();
  bodies.forEach((body, i) => {
    geomOf.set(body, geoms.length);
    const common = { body: i, position: [0, 0, 0], quaternion: [1, 0, 0, 0], color: null };
    if (body.kind === 'mesh') {
      geoms.push({ ...common, name: `${body.name} hull`, role: 'collision', kind: 'sphere', size: [0.1] });
      geoms.push({
        ...common,
        name: body.name,
        role: 'visual',
        kind: 'mesh',
        mesh: 0,
        size: [],
        color: [0.62, 0.58, 0.54, 1],
      });
    } else geoms.push({ ...common, name: body.name, role: 'both', kind: body.kind, size: body.size });
  });

  const frames = { step: [], time: [], p: [], q: [] };
  const contacts = { start: [0], position: [], normal: [], force: [], mode: [], residual: [], mu: [], geoms: [] };
  const names = ['residual', 'contacts', 'iterations', 'step time', 'energy', 'penetration'];
  const series = { time: [], values: Object.fromEntries(names.map((name) => [name, []])) };
  let step = 0;
  simulate(bodies, {
    mu,
    seconds,
    interval: 1 / 240,
    report(time, all, touching) {
      const residuals = touching.map(() => 10 ** (-12 + 3.5 * roll() + (variant ? 1 : 0)));
      const energy = all.reduce(
        (sum, b) => sum + b.mass * (9.81 * b.p[2] + 0.5 * (b.v[0] ** 2 + b.v[1] ** 2 + b.v[2] ** 2)),
        0,
      );
      const iterations = touching.length ? 3 + Math.floor(0.1 * touching.length + 6 * roll()) : 0;
      series.time.push(time);
      const { values } = series;
      values.residual.push(Math.hypot(...residuals));
      values.contacts.push(touching.length);
      values.iterations.push(iterations);
      values['step time'].push(0.05 + 0.012 * touching.length * (0.8 + 0.4 * roll()));
      values.energy.push(energy);
      values.penetration.push(1000 * Math.max(1e-9, ...touching.map((c) => -c.gap)));
      if (step % 4 === 0) {
        frames.step.push(step);
        frames.time.push(time);
        for (const b of all) {
          frames.p.push(...b.p);
          frames.q.push(...b.q);
        }
        touching.forEach((c, i) => {
          contacts.position.push(...c.point);
          contacts.normal.push(...c.normal);
          contacts.force.push(...c.force);
          contacts.mode.push(c.mode);
          contacts.residual.push(residuals[i]);
          contacts.mu.push(mu);
          contacts.geoms.push(c.a ? geomOf.get(c.a) : 0, geomOf.get(c.b));
        });
        contacts.start.push(contacts.mode.length);
      }
      ++step;
    },
  });

  const count = frames.step.length;
  const n = bodies.length;
  const units = { 'step time': 'ms', energy: 'J', penetration: 'mm', residual: 'N s' };
  const logged = ['residual', 'step time', 'penetration'];
  const header = {
    title: variant ? 'Falling pile, slippery' : 'Falling pile',
    facts: [
      ['bodies', String(n)],
      ['friction', String(mu)],
      ['time step', '1/240 s'],
      ['steps', String(step)],
      ['solver', variant ? 'pgs' : 'auto'],
      ['tolerance', '1e-8'],
      ['made by', 'tools/sample.mjs'],
    ],
    dt: 1 / 240,
    gravity: [0, 0, -9.81],
    up: [0, 0, 1],
    bodies: bodies.map((b) => ({ name: b.name, parent: -1, mass: Number(b.mass.toFixed(3)), com: [0, 0, 0] })),
    meshes: [
      { positions: sections.add('f32', rock.points.flat()), indices: sections.add('u32', rock.triangles.flat()) },
    ],
    geoms,
    frames: {
      count,
      step: sections.add('u32', frames.step),
      time: sections.add('f64', frames.time),
      position: sections.add('i32', frames.p, { scale: 1e-5, delta: 3 * n, shuffle: true }),
      quaternion: sections.add('i16', frames.q, { scale: 1 / 32767, delta: 4 * n, shuffle: true }),
    },
    contacts: {
      start: sections.add('u32', contacts.start),
      position: sections.add('f32', contacts.position),
      normal: sections.add('i16', contacts.normal, { scale: 1 / 32767 }),
      force: sections.add('f32', contacts.force),
      mode: sections.add('u8', contacts.mode),
      ...(told ? { residual: sections.add('f32', contacts.residual) } : {}),
      mu: sections.add('f32', contacts.mu),
      geoms: sections.add('u32', contacts.geoms),
    },
    series: (told ? names : names.slice(1)).map((name) => ({
      name,
      unit: units[name] ?? '',
      log: logged.includes(name),
      values: sections.add('f32', series.values[name]),
    })),
    series_time: sections.add('f64', series.time),
    inside: [120, 300].filter((k) => k < step).map((k) => record(k, sections, roll)),
  };
  return { blob: blob(header, sections), header, frames, contacts, series };
}

function record(step, sections, roll) {
  const trace = (solver, rate, perIteration, count) => {
    const iterations = Array.from({ length: count }, (_, i) => i);
    return {
      solver,
      status: rate < 0.5 ? 'solved' : 'iteration limit',
      iterations,
      time_ms: iterations.map((i) => perIteration * (i + 1)),
      residual: iterations.map((i) => 0.3 * rate ** i * (0.6 + 0.8 * roll())),
    };
  };
  return {
    step,
    file: `pile_step${step}.npz`,
    data: sections.add('u8', Buffer.from(`PK\u0003\u0004 not a real problem, step ${step}`)),
    traces: [trace('auto', 0.18, 0.11, 14), trace('canal', 0.42, 0.06, 26), trace('pgs', 0.9, 0.012, 90)],
    contacts: Array.from({ length: 9 }, (_, i) => ({
      names: `box${i % 3} | ${i % 2 ? 'floor' : 'cone1'}`,
      mode: ['stick', 'slip', 'open'][i % 3],
      gap_mm: 1e-4 * (roll() - 0.5),
      normal_force: 20 * roll(),
      residual: 10 ** (-9 - 3 * roll()),
    })),
  };
}

/** Many spheres that bob up and down: what large scenes cost. */
export function crowd(count = 10000, frames = 20) {
  const sections = new Sections();
  const side = Math.ceil(Math.sqrt(count));
  const p = [];
  const q = [];
  for (let f = 0; f < frames; ++f)
    for (let i = 0; i < count; ++i) {
      const x = (i % side) - side / 2;
      const y = Math.floor(i / side) - side / 2;
      p.push(0.1 * x, 0.1 * y, 0.3 + 0.2 * Math.sin(0.3 * x + 0.35 * f) * Math.cos(0.25 * y));
      q.push(1, 0, 0, 0);
    }
  const geom = (i) => ({
    name: '',
    body: i,
    role: 'both',
    kind: 'sphere',
    size: [0.045],
    position: [0, 0, 0],
    quaternion: [1, 0, 0, 0],
    color: null,
  });
  const header = {
    title: `${count} spheres`,
    facts: [['bodies', String(count)]],
    dt: 0.05,
    gravity: [0, 0, -9.81],
    up: [0, 0, 1],
    bodies: Array.from({ length: count }, (_, i) => ({ name: `ball${i}`, parent: -1, mass: 1, com: [0, 0, 0] })),
    meshes: [],
    geoms: [
      { ...geom(-1), kind: 'plane', size: [], name: 'floor' },
      ...Array.from({ length: count }, (_, i) => geom(i)),
    ],
    frames: {
      count: frames,
      step: sections.add(
        'u32',
        Array.from({ length: frames }, (_, f) => f),
      ),
      time: sections.add(
        'f64',
        Array.from({ length: frames }, (_, f) => 0.05 * f),
      ),
      position: sections.add('i32', p, { scale: 1e-5, delta: 3 * count, shuffle: true }),
      quaternion: sections.add('i16', q, { scale: 1 / 32767, delta: 4 * count, shuffle: true }),
    },
    series: [],
  };
  return { blob: blob(header, sections), header };
}

const here = fileURLToPath(import.meta.url);
if (process.argv[1] === here) {
  const root = join(dirname(here), '..');
  const folder = process.argv[2] ?? join(root, 'test-results');
  const viewer = await readFile(join(root, 'dist', 'index.html'), 'utf8');
  await mkdir(folder, { recursive: true });
  const [first, second] = [pile(), pile({ variant: 1 })];
  await writeFile(join(folder, 'pile.html'), page(viewer, [first.blob]));
  await writeFile(join(folder, 'compare.html'), page(viewer, [first.blob, second.blob]));
  await writeFile(join(folder, 'crowd.html'), page(viewer, [crowd().blob]));
  console.log(`pile.html, compare.html and crowd.html are in ${folder}`);
}
