// A line around the selected body: its shapes once more, a little larger, seen from within.
import * as THREE from 'three';

export class Outline {
  readonly group = new THREE.Group();
  private material = new THREE.MeshBasicMaterial({ side: THREE.BackSide, toneMapped: false });
  private parts: { geom: number; mesh: THREE.Mesh; grow: THREE.Matrix4 }[] = [];

  constructor(private size: number) {}

  paint(dark: boolean): void {
    this.material.color.set(dark ? '#ffffff' : '#14181f');
  }

  /** `local` holds the geoms' twelve numbers, whose columns carry the scale of the shape. */
  add(geom: number, geometry: THREE.BufferGeometry, local: Float32Array): void {
    geometry.computeBoundingBox();
    const box = geometry.boundingBox!;
    const centre = box.getCenter(new THREE.Vector3());
    const extent = box.getSize(new THREE.Vector3());
    const thickness = 0.0035 * this.size;
    const factor = (k: number, length: number) => {
      const o = 12 * geom + k;
      const world = length * Math.hypot(local[o], local[o + 3], local[o + 6]);
      return world > 0 ? 1 + (2 * thickness) / world : 1;
    };
    const grow = new THREE.Matrix4()
      .makeTranslation(centre)
      .scale(new THREE.Vector3(factor(0, extent.x), factor(1, extent.y), factor(2, extent.z)))
      .multiply(new THREE.Matrix4().makeTranslation(centre.negate()));
    const mesh = new THREE.Mesh(geometry, this.material);
    mesh.matrixAutoUpdate = false;
    mesh.frustumCulled = false;
    this.parts.push({ geom, mesh, grow });
    this.group.add(mesh);
  }

  /** `place` writes a geom's matrix. */
  update(place: (geom: number, out: Float32Array) => void): void {
    for (const { geom, mesh, grow } of this.parts) {
      place(geom, mesh.matrix.elements as unknown as Float32Array);
      mesh.matrix.multiply(grow);
    }
  }

  clear(): void {
    this.group.clear();
    this.parts = [];
  }

  dispose(): void {
    this.clear();
    this.material.dispose();
  }
}
