// What replays and live pages have in common: the stage, the settings, selection, and the parts of the page around it.
import * as THREE from 'three';
import { ViewLabels } from './compare';
import { byId, h, save, short } from './dom';
import { InsidePanel, type InsideActions } from './inside';
import { Panel } from './panel';
import { Stage } from './stage';
import { Store, type Settings } from './store';
import { helpOverlay, Legend, Toolbar, typing } from './toolbar';
import { backdrop, isDark } from './backdrop';
import type { World } from './world';

export class App {
  readonly store = new Store();
  readonly stage: Stage;
  readonly panel: Panel;
  worlds: World[] = [];
  inside: InsidePanel | null = null;
  selected: { world: number; body: number } | null = null;
  onTheme: () => void = () => {};
  private legend: Legend;
  private labels: ViewLabels | null = null;
  private status = h('div', { class: 'status' });
  private title = h('h1');
  private badge = h('div', { class: 'selection', hidden: true });
  private cameraTouched = false;

  constructor(readonly live: boolean) {
    const place = byId('stage');
    // On small screens the picture comes first.
    const low = window.innerHeight < 480;
    if (window.innerWidth < 700 || low) this.store.set({ panel: false });
    if (low) this.store.set({ plots: false });
    this.stage = new Stage(place.querySelector('canvas')!);
    place.append(h('div', { class: 'title' }, this.title, this.status), this.badge);
    this.legend = new Legend(place);
    new Toolbar(place, this.store, live, () => this.resetView());
    helpOverlay(document.body, this.store, live);
    this.panel = new Panel(byId('panel'), this.store);
    this.store.on((settings) => this.applySettings(settings));
    this.stage.onFrame = () => this.labels?.place();
    this.stage.controls.addEventListener('start', () => (this.cameraTouched = true));
    new ResizeObserver(() => {
      this.stage.fitPlace();
      if (!this.cameraTouched) this.frameAll();
      this.stage.render(); // at once: a resized canvas is empty until drawn
    }).observe(place);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.applySettings(this.store.value);
      this.onTheme();
    });
    this.listen();
  }

  addInside(actions: Omit<InsideActions, 'close' | 'highlight'>): void {
    this.inside = new InsidePanel(byId('inside'), () => this.worlds, {
      ...actions,
      close: () => this.store.set({ inside: false }),
      highlight: (world, contact) => {
        world.marks.highlight(world.contacts, contact);
        this.stage.invalidate();
      },
    });
  }

  setWorlds(worlds: World[], title: string): void {
    for (const world of this.worlds) world.dispose();
    this.select(null);
    this.worlds = worlds;
    this.stage.views = worlds.map((world) => world.view);
    this.title.textContent = title;
    document.title = title ? `${title} – Almond` : 'Almond';
    if (worlds.length > 1) this.labels = new ViewLabels(byId('stage'), this.stage, worlds);
    this.title.parentElement!.classList.toggle('compare', worlds.length > 1);
    this.applySettings(this.store.value);
    if (!this.cameraTouched) this.frameAll();
    this.followEach();
  }

  /** Of recordings that say which body to follow, each picture follows its own. */
  private followEach(): void {
    const [first] = this.worlds;
    if (!first || this.worlds.some(({ replay }) => replay.follow < 0 || replay.follow !== first.replay.follow)) return;
    const radius = Math.max(...first.extent.balls.map(([, , , r]) => r), 0);
    const { x, y, z } = first.view.bodyPosition(first.replay.follow);
    this.stage.frame([[x, y, z, 3 * radius]], first.view.up);
    this.stage.follow(first.view, first.replay.follow, true);
    this.keepCamera();
  }

  private frameAll(): void {
    if (!this.worlds.length) return;
    const balls = this.worlds.flatMap((world) => world.extent.balls);
    this.stage.frame(balls, this.worlds[0].view.up);
  }

  resetView(): void {
    this.stage.follow(null, -1);
    this.cameraTouched = false;
    this.frameAll();
    this.followEach();
    this.showSelection();
  }

  /** Whether the camera is still where the page put it. */
  get framed(): boolean {
    return !this.cameraTouched;
  }

  /** The camera was put somewhere on purpose: do not frame the scene again. */
  keepCamera(): void {
    this.cameraTouched = true;
  }

  private applySettings(settings: Settings): void {
    const body = document.body;
    body.classList.toggle('no-panel', !settings.panel);
    body.classList.toggle('no-plots', !settings.plots);
    body.classList.toggle('no-inside', !settings.inside);
    body.classList.toggle('no-ui', !settings.ui);
    body.classList.toggle('drag-mode', settings.drag);
    const dark = isDark(settings.background);
    const { background, floor } = backdrop(settings.background);
    for (const world of this.worlds) {
      world.view.scene.background = background;
      world.view.paint(floor, dark);
      world.setLook(settings);
    }
    if (settings.inside) this.inside?.update();
    this.refresh();
    this.stage.invalidate();
  }

  /** After the moment shown has changed. */
  momentChanged(): void {
    this.stage.posesChanged();
    if (this.store.value.inside) this.inside?.update();
    this.refresh();
  }

  private refresh(): void {
    const [world] = this.worlds;
    if (!world) return;
    const several = this.worlds.length > 1;
    const any = this.worlds.some((each) => each.replay.contacts || each.contacts.count);
    const untold = this.worlds.some((each) => each.untold);
    this.legend.update(this.store.value, world.marks.range, any, untold);
    const parts = [`step ${world.step}`];
    if (any && !several) {
      parts.push(`${world.contacts.count} contact${world.contacts.count === 1 ? '' : 's'}`);
      if (world.contacts.count && !Number.isNaN(world.residual))
        parts.push(`residual ${short(world.residual)}\u00a0N\u00a0s`);
    }
    this.status.textContent = several ? '' : parts.join('  ·  ');
  }

  select(selection: { world: number; body: number } | null): void {
    if (!selection && this.stage.following >= 0) this.stage.follow(null, -1);
    this.selected = selection;
    this.worlds.forEach((world, i) => world.view.select(selection?.world === i ? selection.body : -1));
    if (selection && this.store.value.inside) this.inside?.choose(selection.world);
    this.showSelection();
    this.stage.invalidate();
  }

  follow(on = this.stage.following < 0): void {
    if (!this.selected) return;
    this.stage.follow(on ? this.worlds[this.selected.world].view : null, this.selected.body);
    this.keepCamera();
    this.showSelection();
  }

  private showSelection(): void {
    this.badge.hidden = !this.selected;
    if (!this.selected) return;
    const body = this.worlds[this.selected.world].replay.bodies[this.selected.body];
    this.badge.replaceChildren(
      h('span', { class: 'name' }, body.name || `body ${this.selected.body}`),
      h('span', { class: 'soft' }, `${short(body.mass)} kg`),
      h(
        'button',
        {
          class: 'chip',
          title: 'Follow (t)',
          'aria-pressed': String(this.stage.following >= 0),
          onclick: () => this.follow(),
        },
        'follow',
      ),
      h('button', { class: 'chip', 'aria-label': 'Deselect', onclick: () => this.select(null) }, '×'),
    );
  }

  private listen(): void {
    const { canvas } = this.stage;
    let press = { x: 0, y: 0, id: -1 };
    canvas.addEventListener(
      'pointerdown',
      (event) => (press = { x: event.clientX, y: event.clientY, id: event.pointerId }),
    );
    canvas.addEventListener('pointerup', (event) => {
      const still = Math.hypot(event.clientX - press.x, event.clientY - press.y) < 5 && press.id === event.pointerId;
      if (!still || event.button !== 0) return;
      const hit = this.stage.pick(event.clientX, event.clientY);
      this.select(hit && hit.body >= 0 ? { world: hit.index, body: hit.body } : null);
    });
    canvas.addEventListener('dblclick', (event) => {
      const at = this.stage.rayAt(event.clientX, event.clientY);
      if (!at) return;
      const ground = at.ray.ray.intersectPlane(new THREE.Plane(at.view.up, 0), new THREE.Vector3());
      const point = at.view.pick(at.ray)?.point ?? ground;
      if (point) this.stage.focus(point);
      this.keepCamera();
    });
    canvas.addEventListener('contextmenu', (event) => event.preventDefault());
    window.addEventListener('keydown', (event) => {
      if (event.key === 't' && !typing(event) && !event.ctrlKey && !event.metaKey) this.follow();
    });
    // A button that was clicked would take the space bar for itself.
    window.addEventListener('pointerup', () => {
      const active = document.activeElement;
      if (active instanceof HTMLButtonElement) setTimeout(() => active.blur());
    });
  }

  /** A picture at twice the size of the canvas. */
  savePicture(): void {
    const { canvas } = this.stage;
    this.stage.resize(2 * canvas.clientWidth, 2 * canvas.clientHeight);
    this.stage.render();
    canvas.toBlob((blob) => {
      if (blob) save(`${(this.title.textContent || 'almond').replace(/[^\w-]+/g, '_')}.png`, blob);
    });
    this.stage.resize();
    this.stage.render();
  }

  run(tick: (elapsed: number) => void): void {
    let last = performance.now();
    const loop = (now: number) => {
      const elapsed = Math.min(0.1, Math.max(0, (now - last) / 1000)); // a page that was hidden does not jump ahead
      last = now;
      tick(elapsed);
      this.stage.tick(now);
      requestAnimationFrame(loop);
    };
    requestAnimationFrame(loop);
  }
}
