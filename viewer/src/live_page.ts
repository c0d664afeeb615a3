// The page of a running simulation.
import { applyHash, makeApi } from './api';
import { App } from './app';
import { factsTable } from './compare';
import { ControlRows, LiveBar } from './controls';
import { PlotDock } from './dock';
import { byId } from './dom';
import { Puller } from './drag';
import { History } from './history';
import { contactsOf, LiveLink, type LiveState } from './live';
import type { Settings } from './store';
import { typing } from './toolbar';
import { World } from './world';

const memory = 'almond view';

export function startLive(): void {
  const app = new App(true);
  const dock = new PlotDock(byId('plots'));
  let history = new History([]);
  let world: World | null = null;
  let rows: ControlRows | null = null;
  let newest: LiveState | null = null;
  let plotted = 0;

  const link = new LiveLink('', {
    scene(replay, controls) {
      const same = world?.replay.title === replay.title && world.replay.bodies.length === replay.bodies.length;
      const { selected } = app;
      world = new World(replay);
      if (!same) history = new History(replay.series);
      app.setWorlds([world], replay.title);
      if (same) app.select(selected); // a page that was hidden comes back as it was
      rows = new ControlRows(controls, send);
      fillPanel(app, world, rows);
      newest = null;
    },
    controls: (controls) => rows?.update(controls),
    state(state) {
      newest = state;
      bar.update(state);
      // Every state counts for the plots, also those between two pictures.
      if (state.values) history.add(state.time, state.values);
    },
    link(connected) {
      bar.link(connected);
      document.body.classList.toggle('disconnected', !connected);
    },
  });
  const send = link.send.bind(link);
  const bar = new LiveBar(byId('bar'), send);
  const puller = new Puller(app.stage, send, () => app.store.value.drag);
  app.addInside({ seek: () => {}, fetchRecord: () => link.step(), fetchProblem: (step) => link.problem(step) });
  app.onTheme = () => dock.redraw();

  window.addEventListener('keydown', (event) => {
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === ' ') bar.toggle();
    else if (event.key === 'ArrowRight') send({ type: 'step' });
    else return;
    event.preventDefault();
  });

  remember(app);
  let arrived: () => void = () => {};
  window.almond = makeApi(app, null, new Promise((resolve) => (arrived = resolve)));
  applyHash(app, null);
  app.stage.resize();
  link.start();
  app.run(() => {
    if (!newest || !world || newest.p.length !== 3 * world.replay.bodies.length) return;
    world.showLive(newest, contactsOf(newest.contacts ?? []));
    const { time } = newest;
    newest = null;
    puller.update();
    app.momentChanged();
    arrived();
    const now = performance.now();
    if (now - plotted > 100 && app.store.value.plots) {
      // Ten times a second is enough for curves, and leaves the time to the picture.
      plotted = now;
      dock.setSeries(history.specs());
      dock.setTime(time);
    }
  });
}

function fillPanel(app: App, world: World, rows: ControlRows): void {
  app.panel.clear();
  for (const { title, content } of rows.groups) app.panel.section(title, true, ...content);
  const actions = {
    select: (index: number, body: number) => app.select({ world: index, body }),
    picture: () => app.savePicture(),
    video: null,
  };
  app.panel.addView(actions, true);
  if (world.replay.facts.length) app.panel.section('Scene', false, factsTable([world]));
  app.panel.addBodies(0, world.replay.bodies, actions);
}

/** Camera and settings outlive a reload. */
function remember(app: App): void {
  try {
    const saved = JSON.parse(sessionStorage.getItem(memory) ?? 'null');
    if (saved) {
      app.store.set(saved.settings as Partial<Settings>);
      if (saved.camera) {
        app.stage.setCamera(saved.camera);
        app.keepCamera();
      }
    }
    window.addEventListener('pagehide', () => {
      const camera = window.almond!.camera();
      sessionStorage.setItem(memory, JSON.stringify({ settings: app.store.value, camera: app.framed ? null : camera }));
    });
  } catch {
    // Storage can be forbidden; the page then begins anew each time.
  }
}
