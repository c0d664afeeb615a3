// Pulling a body of a live simulation: a point on it, a target under the pointer, and a line between them.
import * as THREE from 'three';
import type { Command } from './live';
import type { SceneView } from './scene';
import type { Stage } from './stage';

export class Puller {
  private held: {
    view: SceneView;
    body: number;
    local: THREE.Vector3;
    target: THREE.Vector3;
    plane: THREE.Plane;
  } | null = null;
  private line = new THREE.Group();
  private rod: THREE.Mesh;
  private ends: THREE.Mesh[];
  private timer = 0;
  private viewer = Math.random().toString(36).slice(2); // this page's hand, among those of others

  /** `mode` tells whether plain drags pull; ctrl and the right button always do. */
  constructor(
    private stage: Stage,
    private send: (command: Command) => void,
    private mode: () => boolean,
  ) {
    const material = new THREE.MeshBasicMaterial({
      color: '#f08c00',
      depthTest: false,
      transparent: true,
      opacity: 0.9,
    });
    this.rod = new THREE.Mesh(new THREE.CylinderGeometry(1, 1, 1, 10).rotateX(Math.PI / 2), material);
    const ball = new THREE.SphereGeometry(1, 20, 14);
    this.ends = [new THREE.Mesh(ball, material), new THREE.Mesh(ball, material)];
    for (const mesh of [this.rod, ...this.ends]) mesh.renderOrder = 10;
    this.line.add(this.rod, ...this.ends);
    const { canvas } = stage;
    // In the capture phase, so that the orbit controls do not see a drag that is ours.
    canvas.addEventListener('pointerdown', (event) => this.down(event), { capture: true });
    canvas.addEventListener('pointermove', (event) => this.move(event), { capture: true });
    for (const name of ['pointerup', 'pointercancel', 'lostpointercapture'] as const)
      canvas.addEventListener(name, (event) => this.up(event), { capture: true });
  }

  get active(): boolean {
    return this.held !== null;
  }

  private down(event: PointerEvent): void {
    if (this.held || !(event.button === 2 || (event.button === 0 && (event.ctrlKey || this.mode())))) return;
    const hit = this.stage.pick(event.clientX, event.clientY);
    if (!hit || hit.body < 0) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    this.stage.canvas.setPointerCapture(event.pointerId);
    const toEye = this.stage.camera.getWorldDirection(new THREE.Vector3());
    this.held = {
      view: hit.view,
      body: hit.body,
      local: hit.view.toLocal(hit.body, hit.point),
      target: hit.point.clone(),
      plane: new THREE.Plane().setFromNormalAndCoplanarPoint(toEye, hit.point),
    };
    hit.view.scene.add(this.line);
    this.tell();
    // Also while the pointer rests: the server forgets a pull that is not renewed.
    this.timer = window.setInterval(() => this.tell(), 50);
    this.update();
  }

  private move(event: PointerEvent): void {
    if (!this.held) return;
    event.stopImmediatePropagation();
    const at = this.stage.rayAt(event.clientX, event.clientY);
    if (at?.ray.ray.intersectPlane(this.held.plane, this.held.target)) this.update();
  }

  private up(event: PointerEvent): void {
    if (!this.held) return;
    event.stopImmediatePropagation();
    window.clearInterval(this.timer);
    this.held = null;
    this.line.removeFromParent();
    this.send({ type: 'release', viewer: this.viewer });
    this.stage.invalidate();
  }

  private tell(): void {
    if (!this.held) return;
    const { body, local, target } = this.held;
    this.send({ type: 'drag', viewer: this.viewer, body, local: local.toArray(), target: target.toArray() });
  }

  /** Draws the line anew; called when the body or the pointer moved. */
  update(): void {
    if (!this.held) return;
    const { view, body, local, target } = this.held;
    const grip = view.toWorld(body, local);
    const along = target.clone().sub(grip);
    const length = along.length();
    const thin = 0.0045 * view.size;
    this.rod.position.copy(grip).addScaledVector(along, 0.5);
    if (length > 0) this.rod.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), along.divideScalar(length));
    this.rod.scale.set(thin, thin, Math.max(length, 1e-6));
    this.ends[0].position.copy(grip);
    this.ends[1].position.copy(target);
    this.ends[0].scale.setScalar(2 * thin);
    this.ends[1].scale.setScalar(3 * thin);
    this.stage.invalidate();
  }
}
