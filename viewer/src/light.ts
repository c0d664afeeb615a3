// Sky, sun and its shadows.
import * as THREE from 'three';

export class Light {
  readonly group = new THREE.Group();
  private sun = new THREE.DirectionalLight(0xffffff, 2.5);
  private sky = new THREE.HemisphereLight(0xffffff, 0xb8b4ac, 1.35);

  constructor(
    private up: THREE.Vector3,
    private size: number,
  ) {
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.autoUpdate = false; // only when something moved, not when the camera did
    this.sun.shadow.radius = 3;
    this.sun.shadow.bias = -0.0002;
    this.sky.position.copy(up);
    const fill = new THREE.DirectionalLight(0xdfe8ff, 0.5);
    fill.position.copy(aside(up, -1.2, 0.4, 0.5));
    this.group.add(this.sun, this.sun.target, this.sky, fill);
  }

  paint(dark: boolean): void {
    this.sky.intensity = dark ? 1.0 : 1.35;
    this.sky.groundColor.set(dark ? '#4a4d55' : '#b8b4ac');
  }

  moved(): void {
    this.sun.shadow.needsUpdate = true;
  }

  /** Points the shadows at the place looked at; `ranges` are the bodies' distances from it. */
  aim(target: THREE.Vector3, ranges: number[]): void {
    const { shadow } = this.sun;
    const reach = this.reach(ranges);
    const texel = (2 * reach) / shadow.mapSize.x;
    const snap = (v: number) => Math.round(v / (8 * texel)) * 8 * texel; // else the edges crawl while following
    const centre = new THREE.Vector3(snap(target.x), snap(target.y), snap(target.z));
    const same = shadow.camera.right === reach;
    if (same && this.sun.target.position.equals(centre)) return;
    this.moved();
    this.sun.target.position.copy(centre);
    this.sun.position.copy(
      aside(this.up, 0.55, -0.35, 1)
        .multiplyScalar(4 * reach)
        .add(centre),
    );
    if (same) return;
    const { camera } = shadow;
    camera.left = camera.bottom = -reach;
    camera.right = camera.top = reach;
    camera.near = 0.5 * reach;
    camera.far = 8 * reach;
    camera.updateProjectionMatrix();
    shadow.normalBias = 1.5 * texel;
  }

  /** Half the width of the shadow map, in coarse steps so that it rarely changes. */
  private reach(ranges: number[]): number {
    const least = 0.6 * this.size;
    let far = least;
    for (const d of ranges) if (d < 2.5 * this.size) far = Math.max(far, d + 0.1 * this.size);
    return least * Math.pow(1.5, Math.ceil(Math.log(far / least) / Math.log(1.5)));
  }

  dispose(): void {
    this.sun.dispose();
  }
}

/** A direction given along two horizontal axes and up, whatever up is. */
export function aside(up: THREE.Vector3, x: number, y: number, z: number): THREE.Vector3 {
  const turn = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 0, 1), up);
  return new THREE.Vector3(x, y, z).applyQuaternion(turn).normalize();
}
