// A stand-in for the simulator's live server, for tests and for work on the page: `node tools/mock_server.mjs [port]`.
// A few bodies go round in circles; one that is dragged goes where it is pulled.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { blob, Sections } from './encode.mjs';

const viewer = join(dirname(fileURLToPath(import.meta.url)), '..', 'dist', 'index.html');
const count = 6;

function scene(title) {
  const sections = new Sections();
  const geom = (body, kind, size) => ({
    name: body < 0 ? 'floor' : `part${body}`,
    body,
    role: 'both',
    kind,
    size,
    position: [0, 0, 0],
    quaternion: [1, 0, 0, 0],
    color: null,
  });
  const { p, q } = poses(0, null);
  const series = (name, unit, log) => ({ name, unit, log, values: sections.add('f32', []) });
  const header = {
    title,
    facts: [['made by', 'a mock server']],
    dt: 1 / 240,
    gravity: [0, 0, -9.81],
    up: [0, 0, 1],
    bodies: Array.from({ length: count }, (_, i) => ({ name: `part${i}`, parent: -1, mass: 1 + i, com: [0, 0, 0] })),
    meshes: [],
    geoms: [
      geom(-1, 'plane', []),
      ...Array.from({ length: count }, (_, i) =>
        i % 2 ? geom(i, 'sphere', [0.15]) : geom(i, 'box', [0.14, 0.14, 0.14]),
      ),
    ],
    frames: {
      count: 1,
      step: sections.add('u32', [0]),
      time: sections.add('f64', [0]),
      position: sections.add('i32', p, { scale: 1e-5 }),
      quaternion: sections.add('i16', q, { scale: 1 / 32767 }),
    },
    series: [series('residual', 'N s', true), series('energy', 'J', false), series('step time', 'ms', false)],
    series_time: sections.add('f64', []),
  };
  return blob(header, sections);
}

function poses(time, drag) {
  const p = [];
  const q = [];
  for (let i = 0; i < count; ++i) {
    const a = time + (2 * Math.PI * i) / count;
    const round = [0.6 * Math.cos(a), 0.6 * Math.sin(a), 0.15];
    p.push(...(drag?.body === i ? round.map((c, k) => c + 0.3 * (drag.target[k] - c)) : round));
    q.push(Math.cos(a / 2), 0, 0, Math.sin(a / 2));
  }
  return { p, q };
}

/** Starts the server; `commands` collects what the page sends. */
export async function startMock(port = 0, title = 'Mock') {
  const commands = [];
  const streams = new Set();
  const world = { step: 0, paused: false, drag: null, title };
  const message = () => {
    const time = world.step / 240;
    const { p, q } = poses(time, world.drag);
    const contacts = Array.from({ length: count }, (_, i) => {
      const at = p.slice(3 * i, 3 * i + 3);
      return [
        at[0],
        at[1],
        0,
        0,
        0,
        1,
        2 * Math.sin(time + i),
        1,
        9.81 * (1 + i),
        1 + (i % 2),
        10 ** (-9 - i / 2),
        0.6,
        0,
        i + 1,
      ];
    });
    const values = {
      residual: 10 ** (-9 + Math.sin(3 * time)),
      contacts: count,
      iterations: 4,
      'step time': 0.4 + 0.1 * Math.sin(time),
      energy: 20 + Math.cos(time),
    };
    const status = 'solved';
    return { step: world.step, time, paused: world.paused, p, q, contacts, values, status, real_time: 0.98 };
  };
  const act = (command) => {
    commands.push(command);
    if (command.type === 'set') {
      for (const each of [...controls.choices, ...controls.sliders])
        if (each.name === command.name) each.value = command.value;
      for (const stream of streams) stream.write(`event: controls\ndata: ${JSON.stringify(controls)}\n\n`);
    }
    if (command.type === 'play') world.paused = false;
    if (command.type === 'pause') world.paused = true;
    if (command.type === 'step') world.step += 1;
    if (command.type === 'reset') world.step = 0;
    if (command.type === 'drag') world.drag = command;
    if (command.type === 'release' && world.drag?.viewer === command.viewer) world.drag = null;
  };
  const controls = {
    choices: [{ name: 'solver', label: 'Solver', values: ['auto', 'canal', 'pgs'], value: 'auto' }],
    sliders: [
      {
        name: 'tolerance',
        label: 'Tolerance',
        unit: '',
        min: 1e-12,
        max: 1e-2,
        log: true,
        value: 1e-8,
        group: 'solver',
      },
      { name: 'friction', label: 'Friction', unit: '', min: 0, max: 1.5, log: false, value: 0.6, group: 'world' },
      { name: 'gravity', label: 'Gravity', unit: 'm/s²', min: -20, max: 20, log: false, value: 9.81, group: 'world' },
      { name: 'hip', label: 'Hip', unit: 'rad', min: -1.5, max: 1.5, log: false, value: 0.2, group: 'drives' },
    ],
  };
  let opened = -1;
  const inside = (step) => ({
    step,
    file: `mock_step${step}.npz`,
    traces: [
      {
        solver: 'auto',
        status: 'solved',
        iterations: [0, 1, 2, 3],
        time_ms: [0.1, 0.2, 0.3, 0.4],
        residual: [1, 1e-3, 1e-6, 1e-10],
      },
    ],
    contacts: [{ names: 'floor | part1', mode: 'stick', gap_mm: 0, normal_force: 19.6, residual: 3e-10 }],
  });

  const server = createServer(async (request, response) => {
    const answer = (type, body, headers = {}) => {
      response.writeHead(200, { 'Content-Type': type, ...headers });
      response.end(body);
    };
    const json = (value) => answer('application/json', JSON.stringify(value));
    if (request.url === '/') answer('text/html', await readFile(viewer));
    else if (request.url === '/api/scene') answer('application/octet-stream', gzipSync(scene(world.title)));
    else if (request.url === '/api/controls') json(controls);
    else if (request.url === '/api/step') json(inside((opened = world.step)));
    else if (request.url === `/api/problem.npz?step=${opened}`)
      answer('application/octet-stream', `PK not a real problem, step ${opened}`);
    else if (request.url === '/api/stream') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
      streams.add(response);
      request.on('close', () => streams.delete(response));
    } else if (request.url === '/api/command' && request.method === 'POST') {
      let text = '';
      for await (const part of request) text += part;
      act(JSON.parse(text));
      json({ ok: true });
    } else {
      response.writeHead(404);
      response.end();
    }
  });
  const timer = setInterval(() => {
    if (!world.paused) world.step += 8;
    const text = `data: ${JSON.stringify(message())}\n\n`;
    for (const stream of streams) stream.write(text);
  }, 1000 / 30);
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port: server.address().port,
    commands,
    world,
    streams,
    /** Tells the pages that the scene is another one now. */
    changeScene(title) {
      world.title = title;
      for (const stream of streams) stream.write('event: scene\ndata: {}\n\n');
    },
    forget: () => (opened = -1),
    async stop() {
      clearInterval(timer);
      for (const stream of streams) stream.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const mock = await startMock(Number(process.argv[2] ?? 8765));
  console.log(`http://127.0.0.1:${mock.port}/`);
}
