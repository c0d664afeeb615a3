// Decides what this page is: a replay, a comparison of several, or the window into a running simulation.
import { applyHash, makeApi } from './api';
import { App } from './app';
import { videoRecorder } from './capture';
import { factsTable, seriesSpecs, shareScales } from './compare';
import { byId, h } from './dom';
import { PlotDock } from './dock';
import { FormatError, type Replay } from './format';
import { startLive } from './live_page';
import { Player } from './player';
import { Timeline } from './timeline';
import { typing } from './toolbar';
import { unpackBase64 } from './unpack';
import { World } from './world';

async function start(): Promise<void> {
  const scripts = [...document.querySelectorAll('script[type="application/x-almond-replay"]')];
  if (scripts.length) startReplay(await unpackAll(scripts));
  else if (location.protocol.startsWith('http')) startLive();
  else throw new FormatError('this page has no replay in it; "almond" writes pages that have one');
  byId('loading').remove();
}

async function unpackAll(scripts: Element[]): Promise<Replay[]> {
  const bar = byId('loading').querySelector<HTMLElement>('.progress')!;
  const replays: Replay[] = [];
  for (const [i, script] of scripts.entries()) {
    const text = script.textContent ?? '';
    replays.push(
      await unpackBase64(text, (fraction) => {
        bar.style.setProperty('--done', `${(100 * (i + fraction)) / scripts.length}%`);
      }),
    );
    script.remove(); // the text is as large as the file, and not needed again
  }
  return replays;
}

function startReplay(replays: Replay[]): void {
  const app = new App(false);
  const worlds = replays.map((replay) => new World(replay));
  shareScales(worlds);
  const player = new Player(worlds.map((world) => world.clip));
  const dock = new PlotDock(byId('plots'), (t) => {
    player.playing = false;
    player.seek(t);
  });
  const timeline = new Timeline(byId('bar'), player);
  app.addInside({
    seek: (t) => {
      player.playing = false;
      player.seek(t);
    },
  });
  app.setWorlds(worlds, worlds.length > 1 ? '' : replays[0].title);
  dock.setSeries(seriesSpecs(worlds, [player.begin, Math.max(player.end, player.begin + 1e-6)]));
  if (dock.empty) app.store.set({ plots: false });
  app.onTheme = () => dock.redraw();

  const actions = {
    select: (world: number, body: number) => app.select({ world, body }),
    picture: () => app.savePicture(),
    video: videoRecorder(app, player),
  };
  app.panel.addView(
    actions,
    replays.some((replay) => !!replay.contacts),
  );
  app.panel.section('Scene', true, factsTable(worlds));
  worlds.forEach((world, i) =>
    app.panel.addBodies(i, world.replay.bodies, actions, worlds.length > 1 ? `Bodies of ${i + 1}` : 'Bodies'),
  );

  player.onChange = () => {
    for (const world of worlds) world.showTime(player.time);
    timeline.update();
    dock.setTime(player.time);
    app.momentChanged();
  };
  playerKeys(player);
  window.almond = makeApi(app, player, ready);
  const plays = applyHash(app, player);
  window.addEventListener('hashchange', () => player.play(applyHash(app, player)));
  player.play(plays);
  app.stage.resize();
  app.stage.render();
  app.run((elapsed) => player.advance(elapsed));
}

function playerKeys(player: Player): void {
  const actions: Record<string, (event: KeyboardEvent) => void> = {
    ' ': () => player.play(),
    ArrowLeft: (event) => player.stepFrames(event.shiftKey ? -10 : -1),
    ArrowRight: (event) => player.stepFrames(event.shiftKey ? 10 : 1),
    Home: () => player.seek(player.begin),
    End: () => player.seek(player.end),
    ArrowUp: () => player.faster(1),
    ArrowDown: () => player.faster(-1),
  };
  window.addEventListener('keydown', (event) => {
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action(event);
  });
}

function showError(error: unknown): void {
  const known = error instanceof FormatError;
  const message = (error instanceof Error && error.message) || String(error);
  const webgl = /webgl/i.test(message);
  const heading = webgl ? 'This browser shows no 3D pictures' : 'This replay cannot be shown';
  const advice = webgl
    ? 'WebGL is switched off or not available. Another browser, or hardware acceleration switched on in its settings, helps.'
    : known
      ? 'If the file was sent by mail or copied, try to get it again; otherwise write it anew.'
      : 'Something unexpected went wrong while it was read.';
  document.getElementById('loading')?.remove();
  document.body.classList.add('failed');
  document.body.append(
    h(
      'div',
      { class: 'overlay', id: 'error', role: 'alert' },
      h(
        'div',
        { class: 'card' },
        h('h2', {}, heading),
        h('p', {}, `${message[0].toUpperCase()}${message.slice(1)}.`),
        h('p', { class: 'soft' }, advice),
      ),
    ),
  );
}

let fulfil: () => void = () => {};
let refuse: (error: unknown) => void = () => {};
const ready = new Promise<void>((resolve, reject) => {
  fulfil = resolve;
  refuse = reject;
});
ready.catch(() => {}); // told to the user by the panel; scripts that await it still see it
window.almond = { ready } as Window['almond'];

start().then(fulfil, (error) => {
  showError(error);
  refuse(error);
});
