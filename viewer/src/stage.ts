// The canvas: renderer, one camera for all views, their places in the grid, and what lies under the pointer.
import * as THREE from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import type { Ball } from './clip';
import { aside } from './light';
import type { Hit, SceneView } from './scene';

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface CameraPose {
  position?: ArrayLike<number>;
  target?: ArrayLike<number>;
  fov?: number;
}

export class Stage {
  readonly renderer: THREE.WebGLRenderer;
  readonly camera = new THREE.PerspectiveCamera(32, 1, 0.01, 100);
  readonly controls: OrbitControls;
  views: SceneView[] = [];
  onFrame: () => void = () => {}; // after the layout of the views changed
  private width = 1;
  private height = 1;
  private fixed = false;
  private dirty = true;
  private followed: { view: SceneView; body: number; last: THREE.Vector3; each: boolean } | null = null;
  private glide: { from: THREE.Vector3; to: THREE.Vector3; start: number } | null = null;

  constructor(readonly canvas: HTMLCanvasElement) {
    // The buffer is kept so that scripts can read a picture after the frame it was drawn in.
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true, preserveDrawingBuffer: true });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.renderer.toneMapping = THREE.NeutralToneMapping;
    this.renderer.toneMappingExposure = 1.0;
    this.camera.up.set(0, 0, 1);
    this.camera.position.set(3, -4, 2);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.15;
    this.controls.addEventListener('change', () => this.invalidate());
    this.controls.addEventListener('start', () => (this.glide = null));
  }

  invalidate(): void {
    this.dirty = true;
  }

  setUp(up: THREE.Vector3): void {
    if (this.camera.up.equals(up)) return;
    this.camera.up.copy(up);
    // The controls take the axis they turn about when they are made.
    const controls = this.controls as unknown as { _quat: THREE.Quaternion; _quatInverse: THREE.Quaternion };
    controls._quat.setFromUnitVectors(up, new THREE.Vector3(0, 1, 0));
    controls._quatInverse.copy(controls._quat).invert();
  }

  /** A size in pixels for pictures and videos; without one the canvas fills its place. */
  resize(width?: number, height?: number): void {
    this.fixed = width !== undefined && height !== undefined;
    const place = this.canvas.parentElement!.getBoundingClientRect();
    this.width = Math.max(1, Math.round(this.fixed ? width! : place.width));
    this.height = Math.max(1, Math.round(this.fixed ? height! : place.height));
    this.renderer.setPixelRatio(this.fixed ? 1 : Math.min(window.devicePixelRatio || 1, 2));
    this.renderer.setSize(this.width, this.height, true);
    this.onFrame();
    this.invalidate();
  }

  fitPlace(): void {
    if (!this.fixed) this.resize();
  }

  /** Where view i lies on the canvas, from the top left [CSS pixels]. */
  rect(i: number): Rect {
    const count = Math.max(1, this.views.length);
    let columns = 1;
    let best = Infinity;
    for (let c = 1; c <= count; ++c) {
      const rows = Math.ceil(count / c);
      const shape = Math.abs(Math.log(this.width / c / (this.height / rows) / 1.2)) + 0.3 * (c * rows - count);
      if (shape < best) {
        best = shape;
        columns = c;
      }
    }
    const rows = Math.ceil(count / columns);
    const width = this.width / columns;
    const height = this.height / rows;
    return { x: (i % columns) * width, y: Math.floor(i / columns) * height, width, height };
  }

  /** Looks at the balls from a three-quarter view, as near as nearly all of them fit. */
  frame(balls: Ball[], up: THREE.Vector3): void {
    this.setUp(up);
    const back = aside(up, 0.62, -0.72, 0.4);
    const right = new THREE.Vector3().crossVectors(up, back).normalize();
    const above = new THREE.Vector3().crossVectors(back, right);
    const seen = (balls.length ? balls : [[0, 0, 0.5, 0.6]]).map(([x, y, z, r]) => {
      const at = new THREE.Vector3(x, y, z);
      return { across: at.dot(right), along: at.dot(above), near: at.dot(back), r };
    });
    const cut = seen.length > 100 ? 0.015 : 0;
    const middle = (of: (s: (typeof seen)[0]) => number) => {
      const low = quantile(
        seen.map((s) => of(s) - s.r),
        cut,
      );
      return (
        0.5 *
        (low +
          quantile(
            seen.map((s) => of(s) + s.r),
            1 - cut,
          ))
      );
    };
    const [across, along, near] = [middle((s) => s.across), middle((s) => s.along), middle((s) => s.near)];
    const { width, height } = this.rect(0);
    const tanY = Math.tan((this.camera.fov * Math.PI) / 360);
    const tanX = (tanY * (width - (this.width < 700 ? 100 : 0))) / height; // room for the buttons on small screens
    const needed = seen.map(
      (s) =>
        s.near - near + Math.max((Math.abs(s.along - along) + s.r) / tanY, (Math.abs(s.across - across) + s.r) / tanX),
    );
    const distance = quantile(needed, 1 - 2 * cut);
    const centre = new THREE.Vector3().addScaledVector(right, across).addScaledVector(above, along);
    centre.addScaledVector(back, near);
    this.glide = null;
    this.controls.target.copy(centre);
    this.camera.position.copy(centre).addScaledVector(back, 1.18 * distance);
    this.controls.update();
    this.invalidate();
  }

  setCamera(pose: CameraPose): void {
    this.glide = null;
    if (pose.fov) this.camera.fov = pose.fov;
    if (pose.target) this.controls.target.fromArray(Array.from(pose.target));
    if (pose.position) this.camera.position.fromArray(Array.from(pose.position));
    this.controls.update();
    this.invalidate();
  }

  /** Moves the point looked at, the camera going along. */
  focus(point: THREE.Vector3): void {
    this.glide = { from: this.controls.target.clone(), to: point.clone(), start: performance.now() };
    this.invalidate();
  }

  /** `each`: every view keeps its own body of that number in place. */
  follow(view: SceneView | null, body: number, each = false): void {
    this.followed = view && body >= 0 ? { view, body, last: view.bodyPosition(body), each } : null;
    if (this.followed) this.focus(this.followed.last);
  }

  get following(): number {
    return this.followed ? this.followed.body : -1;
  }

  /** Once per picture of the browser; draws only when something changed. */
  tick(now: number): void {
    if (this.glide) {
      const s = Math.min(1, (now - this.glide.start) / 300);
      const smooth = s * s * (3 - 2 * s);
      this.shift(this.glide.from.clone().lerp(this.glide.to, smooth).sub(this.controls.target));
      if (s >= 1) this.glide = null;
    }
    this.controls.update();
    if (this.dirty) this.render();
  }

  /** Keeps the followed body in place on the screen; called when the poses changed. */
  posesChanged(): void {
    if (this.followed) {
      const at = this.followed.view.bodyPosition(this.followed.body);
      const step = at.clone().sub(this.followed.last);
      this.shift(step);
      this.glide?.from.add(step);
      this.glide?.to.add(step);
      this.followed.last.copy(at);
    }
    this.invalidate();
  }

  private shift(step: THREE.Vector3): void {
    this.controls.target.add(step);
    this.camera.position.add(step);
    this.invalidate();
  }

  /** Does something with the camera where this view has it. */
  private seenFrom<T>(view: SceneView, act: () => T): T {
    if (!this.followed?.each || view === this.followed.view) return act();
    const step = view.bodyPosition(this.followed.body).sub(this.followed.last);
    this.camera.position.add(step);
    this.controls.target.add(step);
    this.camera.updateMatrixWorld();
    const result = act();
    this.camera.position.sub(step);
    this.controls.target.sub(step);
    this.camera.updateMatrixWorld();
    return result;
  }

  render(): void {
    this.dirty = false;
    const distance = this.camera.position.distanceTo(this.controls.target);
    this.camera.near = distance / 100;
    this.camera.far = distance * 60;
    this.renderer.setScissorTest(this.views.length > 1);
    this.views.forEach((view, i) => {
      const { x, y, width, height } = this.rect(i);
      const bottom = this.height - y - height;
      this.renderer.setViewport(x, bottom, width, height);
      this.renderer.setScissor(x, bottom, width, height);
      this.camera.aspect = width / height;
      this.camera.updateProjectionMatrix();
      this.seenFrom(view, () => {
        view.aim(this.controls.target, distance);
        this.renderer.render(view.scene, this.camera);
      });
    });
  }

  /** The view under a point of the window, and the ray from the eye through it. */
  rayAt(clientX: number, clientY: number): { view: SceneView; index: number; ray: THREE.Raycaster } | null {
    const place = this.canvas.getBoundingClientRect();
    const x = ((clientX - place.left) * this.width) / place.width;
    const y = ((clientY - place.top) * this.height) / place.height;
    for (let i = 0; i < this.views.length; ++i) {
      const rect = this.rect(i);
      if (x < rect.x || x >= rect.x + rect.width || y < rect.y || y >= rect.y + rect.height) continue;
      this.camera.aspect = rect.width / rect.height;
      this.camera.updateProjectionMatrix();
      const ray = new THREE.Raycaster();
      const device = new THREE.Vector2(((x - rect.x) / rect.width) * 2 - 1, 1 - ((y - rect.y) / rect.height) * 2);
      this.seenFrom(this.views[i], () => ray.setFromCamera(device, this.camera));
      return { view: this.views[i], index: i, ray };
    }
    return null;
  }

  pick(clientX: number, clientY: number): (Hit & { view: SceneView; index: number }) | null {
    const at = this.rayAt(clientX, clientY);
    const hit = at?.view.pick(at.ray);
    return at && hit ? { ...hit, view: at.view, index: at.index } : null;
  }
}

function quantile(values: number[], share: number): number {
  values.sort((a, b) => a - b);
  return values[Math.round(share * (values.length - 1))];
}
